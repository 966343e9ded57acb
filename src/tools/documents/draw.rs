//! Where documents are drawn: in a confined process each, few at a time, whose breakdown breaks nothing.

use std::{path::PathBuf, sync::Arc, time::Duration};
use tokio::sync::Semaphore;

use super::order::{Answer, Order};
use crate::tools::{
    ToolError,
    sandbox::{
        Limits, Sandbox,
        run::{self, Ended},
    },
};

/// Each may take a gigabyte and a half.
const AT_ONCE: usize = 2;

/// The longest that one may take; the tool is allowed a little more.
const WAIT: Duration = Duration::from_secs(100);

/// Draws. What one drawing may take can be set lower.
pub struct Press {
    turns: Semaphore,
    place: Place,
    pub limits: Limits,
    pub wait: Duration,
}

enum Place {
    /// With the fonts of these folders.
    Apart(Arc<Sandbox>, Vec<PathBuf>),
    /// In this process, where tests look into what is asked.
    #[cfg(test)]
    Here(fn(Order) -> (Answer, Vec<u8>)),
}

impl Press {
    pub fn new(sandbox: Arc<Sandbox>, fonts: Vec<PathBuf>) -> Self {
        Self::at(Place::Apart(sandbox, fonts))
    }

    #[cfg(test)]
    pub fn here(answer: fn(Order) -> (Answer, Vec<u8>)) -> Self {
        Self::at(Place::Here(answer))
    }

    fn at(place: Place) -> Self {
        let turns = Semaphore::new(AT_ONCE);
        Self { turns, place, limits: Limits::DRAWING, wait: WAIT }
    }

    /// What the process answers, and the bytes that follow; what it refuses is an error.
    pub async fn ask(&self, order: Order) -> Result<(Answer, Vec<u8>), ToolError> {
        let (answer, bytes) = match &self.place {
            Place::Apart(sandbox, fonts) => self.ask_apart(sandbox, fonts, &order).await?,
            #[cfg(test)]
            Place::Here(answer) => answer(order),
        };
        match answer {
            Answer::Refused(why) => Err(ToolError::ExecutionFailed(why)),
            answer => Ok((answer, bytes)),
        }
    }

    async fn ask_apart(
        &self,
        sandbox: &Sandbox,
        fonts: &[PathBuf],
        order: &Order,
    ) -> Result<(Answer, Vec<u8>), ToolError> {
        let _turn = self.turns.acquire().await.expect("the semaphore is never closed");
        let command = sandbox.drawer(fonts, self.limits)?;
        let order = serde_json::to_vec(order).expect("an order is plain text and numbers");
        let mut ended = run::to_its_end(command, order, self.wait).await?;
        let line = ended.stdout.head.iter().position(|byte| *byte == b'\n');
        let said = line.map(|end| &ended.stdout.head[..end]).and_then(|line| {
            let answer = serde_json::from_slice(line).ok()?;
            (ended.stdout.is_whole() && ended.code == Some(0)).then_some(answer)
        });
        if let (Some(answer), Some(end)) = (said, line) {
            return Ok((answer, ended.stdout.head.split_off(end + 1)));
        }
        tracing::debug!(code = ended.code, said = ended.stderr.text(), "a drawing broke down");
        Err(ToolError::ExecutionFailed(self.why(&ended)))
    }

    /// Why there is no file, and what to do.
    fn why(&self, ended: &Ended) -> String {
        let said = ended.stderr.text();
        let why = if said.contains("memory allocation of") {
            let most = self.limits.memory_bytes >> 20;
            format!("it takes more than {most} MiB of memory. Make it shorter, or split it")
        } else if said.contains("overflowed its stack") {
            "its text is nested too deeply. Make it flatter".to_owned()
        } else if said.contains("panicked") {
            "this text is more than the renderer can take. Simplify it".to_owned()
        } else if ended.stdout.total_bytes > run::KEPT_BYTES as u64 {
            "the file would be over 20 MB. Make it shorter, or split it".to_owned()
        } else {
            let most = self.limits.cpu_seconds;
            format!("it takes longer than {most} s. Make it shorter, or split it")
        };
        format!("The document could not be drawn: {why}.")
    }
}
