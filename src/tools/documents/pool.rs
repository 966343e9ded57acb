//! Renders documents, each in a sandboxed process, with limited concurrency; a crash affects only
//! one document.

use renderers::{Rendered, edit::Edited};
use sandbox::{
    Sandbox, SandboxLimits,
    run::{self, ProgramResult},
};
use std::{mem, path::PathBuf, sync::Arc, time::Duration};
use tokio::sync::Semaphore;

use super::{
    confined_jobs::ConfinedJob,
    edit_protocol::{EditRequest, EditedFile},
    protocol::{self, Names, RenderOptions, RenderRequest, RenderResponse},
};
use crate::tools::ToolError;

/// The maximum number of concurrent renderings. Each process may use 1.5 GB.
const AT_ONCE: usize = 2;

/// The timeout of one rendering. The tool's own timeout is slightly longer.
const WAIT: Duration = Duration::from_secs(100);

/// The pool. The limits of a rendering can be lowered.
pub struct RenderPool {
    turns: Semaphore,
    place: RunsIn,
    pub limits: SandboxLimits,
    pub wait: Duration,
    /// The maximum file size in bytes. For chats, it is what can be sent.
    pub max_bytes: usize,
}

/// A rendered document.
pub struct RenderedDocument {
    pub file: Rendered,
    pub title: Option<String>,
    /// The first page as PNG, if requested and possible.
    pub picture: Option<Vec<u8>>,
}

enum RunsIn {
    /// In a sandboxed process, with the fonts of these folders.
    Apart(Arc<Sandbox>, Vec<PathBuf>),
    /// In this process, for tests that inspect the request.
    #[cfg(test)]
    Here(fn(RenderRequest) -> (RenderResponse, Vec<u8>)),
}

impl RenderPool {
    pub fn new(sandbox: Arc<Sandbox>, fonts: Vec<PathBuf>) -> Self {
        Self::at(RunsIn::Apart(sandbox, fonts))
    }

    #[cfg(test)]
    pub fn here(answer: fn(RenderRequest) -> (RenderResponse, Vec<u8>)) -> Self {
        Self::at(RunsIn::Here(answer))
    }

    fn at(place: RunsIn) -> Self {
        let turns = Semaphore::new(AT_ONCE);
        Self {
            turns,
            place,
            limits: SandboxLimits::DRAWING,
            wait: WAIT,
            max_bytes: run::KEPT_BYTES,
        }
    }

    /// The real renderer, but in this process.
    #[cfg(test)]
    pub fn real() -> Self {
        Self::here(|order| {
            let mut answer = protocol::answer(&protocol::encode(order), &[]);
            let end = answer.iter().position(|byte| *byte == b'\n').expect("a line comes first");
            let bytes = answer.split_off(end + 1);
            (serde_json::from_slice(&answer).expect("we wrote it"), bytes)
        })
    }

    /// The files that these texts refer to.
    pub async fn names(&self, texts: Vec<String>) -> Result<Names, ToolError> {
        // Every reference contains one of these. Names of HTML elements have any case.
        let names_any = |text: &String| {
            ["![", "emplate"].iter().any(|word| text.contains(word))
                || text.as_bytes().windows(4).any(|word| word.eq_ignore_ascii_case(b"<img"))
        };
        if !texts.iter().any(names_any) {
            return Ok(Names { pictures: vec![Vec::new(); texts.len()], template: None });
        }
        match self.ask(RenderRequest::Names(texts)).await? {
            (RenderResponse::Names(names), _) => Ok(names),
            _ => Err(odd()),
        }
    }

    /// Renders the requested file.
    pub async fn draw(&self, options: RenderOptions) -> Result<RenderedDocument, ToolError> {
        let (answer, mut bytes) = self.ask(RenderRequest::File(Box::new(options))).await?;
        let RenderResponse::File { title, pages, warnings, picture_bytes } = answer else {
            return Err(odd());
        };
        let end = bytes.len().checked_sub(picture_bytes).ok_or_else(odd)?;
        let picture = Some(bytes.split_off(end)).filter(|picture| !picture.is_empty());
        Ok(RenderedDocument { file: Rendered { bytes, pages, warnings }, title, picture })
    }

    /// Edits files.
    pub async fn edit(&self, request: EditRequest) -> Result<Vec<Edited>, ToolError> {
        let (answer, mut bytes) = self.ask(RenderRequest::Edit(Box::new(request))).await?;
        let failed = || ToolError::ExecutionFailed("The file could not be edited.".into());
        let RenderResponse::Edited(files) = answer else { return Err(failed()) };
        let mut edited = Vec::new();
        for EditedFile { edited: file, size_bytes } in files {
            if size_bytes > bytes.len() {
                return Err(failed());
            }
            let rest = bytes.split_off(size_bytes);
            edited.push(Edited { bytes: mem::replace(&mut bytes, rest), ..file });
        }
        Ok(edited)
    }

    /// Sends a request to a process. Returns its answer and the bytes that follow; a refusal is an
    /// error.
    pub async fn ask(&self, order: RenderRequest) -> Result<(RenderResponse, Vec<u8>), ToolError> {
        let (answer, bytes) = match &self.place {
            RunsIn::Apart(sandbox, fonts) => self.ask_apart(sandbox, fonts, order).await?,
            #[cfg(test)]
            RunsIn::Here(answer) => answer(order),
        };
        match answer {
            RenderResponse::Refused(why) => Err(ToolError::ExecutionFailed(why)),
            answer => Ok((answer, bytes)),
        }
    }

    async fn ask_apart(
        &self,
        sandbox: &Sandbox,
        fonts: &[PathBuf],
        order: RenderRequest,
    ) -> Result<(RenderResponse, Vec<u8>), ToolError> {
        let _turn = self.turns.acquire().await.expect("the semaphore is never closed");
        let command = ConfinedJob::Draw(fonts.to_vec()).command(sandbox, self.limits)?;
        let order = protocol::encode(order);
        let mut ended = run::keeping(self.max_bytes, command, order, self.wait).await?;
        let line = ended.stdout.head.iter().position(|byte| *byte == b'\n');
        let said = line.map(|end| &ended.stdout.head[..end]).and_then(|line| {
            let answer = serde_json::from_slice(line).ok()?;
            (ended.stdout.is_whole() && ended.code == Some(0)).then_some(answer)
        });
        if let (Some(answer), Some(end)) = (said, line) {
            return Ok((answer, ended.stdout.head.split_off(end + 1)));
        }
        tracing::debug!(code = ended.code, said = ended.stderr.text(), "a renderer crashed");
        Err(ToolError::ExecutionFailed(self.why(&ended)))
    }

    /// The reason why there is no file, and what to do about it.
    fn why(&self, ended: &ProgramResult) -> String {
        let said = ended.stderr.text();
        let why = if said.contains("memory allocation of") {
            let limit = self.limits.memory_bytes >> 20;
            format!("it takes more than {limit} MiB of memory. Make it shorter, or split it")
        } else if said.contains("overflowed its stack") {
            "its text is nested too deeply. Reduce the nesting".to_owned()
        } else if said.contains("panicked") {
            "this text exceeds the renderer's limits. Simplify it".to_owned()
        } else if ended.stdout.total_bytes > self.max_bytes as u64 {
            // One megabyte is reserved for the message around the file.
            let limit = (self.max_bytes >> 20) - 1;
            format!("the file would be over {limit} MB. Make it shorter, or split it")
        } else {
            let limit = self.limits.cpu_seconds;
            format!("it takes longer than {limit} s. Make it shorter, or split it")
        };
        format!("The document could not be rendered: {why}.")
    }
}

fn odd() -> ToolError {
    ToolError::ExecutionFailed(
        "The document could not be rendered: the renderer's answer is not valid.".into(),
    )
}
