//! `extract_document`: the text of a document of the workspace as Markdown, page by page. The
//! document is read in the sandbox, because it is untrusted.

use async_trait::async_trait;
use renderers::read::{Kind, Reading, limits};
use sandbox::{Job, Sandbox, SandboxLimits, Work, profile::Profile, run};
use schemars::JsonSchema;
use secrecy::SecretString;
use serde::Deserialize;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use std::{sync::Arc, time::Duration};
use tokio_util::sync::CancellationToken;

use super::{editing::ending, office::Office, reader::DocumentReader};
use crate::{
    agent::catalog::{Confinement, Domain, Subject, ToolSpec},
    tools::{
        Context, Output, Tool, ToolError,
        contract::{
            arguments::{parse, schema},
            overflow,
        },
        files::page::{Pager, Range, TextPage},
        workspace,
    },
};

/// The timeout for text recognition in one document.
const RECOGNISE_FOR: Duration = Duration::from_secs(90);
const TIMEOUT: Duration = Duration::from_mins(2);

/// The header and the page together are within the limit of a result.
const PAGE_CHARS: usize = overflow::LIMIT_CHARS - 2500;
const MAX_WARNINGS: usize = 10;

/// Writes the text of a picture, or of the first pages of a PDF, to standard output.
const RECOGNISE: &str = r#"
command -v tesseract >/dev/null || exit 3
export OMP_THREAD_LIMIT=1
languages=$(tesseract --list-langs 2>/dev/null | tail -n +2 | grep -v '^osd$' | paste -sd + -)
cd /tmp
cat >document
if [ "$1" = pdf ]; then
    command -v pdftoppm >/dev/null || exit 4
    pdftoppm -r 150 -l 10 -png document page
else
    mv document page
fi
for page in page*; do
    tesseract "$page" stdout -l "$languages" 2>/dev/null
done
"#;

/// `extract_document`
pub struct ExtractDocument {
    pub sandbox: Arc<Sandbox>,
    /// The passwords that are tried for protected documents.
    pub passwords: Vec<SecretString>,
    /// For formats before 2007; `None` if LibreOffice is not installed.
    pub office: Option<Arc<Office>>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Arguments {
    /// Path in the workspace.
    #[serde(alias = "file_path", alias = "filePath")]
    path: String,
    /// Line of the text to start from, counted from 1.
    #[serde(default, alias = "start_line")]
    #[schemars(range(min = 1))]
    start_line: Option<u64>,
    /// Character within that line to start from, counted from 1.
    #[serde(default, alias = "start_column")]
    #[schemars(range(min = 1))]
    start_column: Option<u64>,
}

#[async_trait]
impl Tool for ExtractDocument {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            subject: Some(Subject::Path("path")),
            timeout: TIMEOUT,
            // The document may contain untrusted content.
            untrusted: true,
            domain: Domain::Container(Confinement::OWN),
            ..ToolSpec::read_only(
                "extract_document",
                "Reads a document of the workspace as Markdown: PDF, Word, Excel, PowerPoint, \
                 OpenDocument, RTF, HTML, e-mail, CSV, JSON, text, and pictures where text \
                 recognition is installed. The first line of the result is JSON about it; then \
                 come the lines, each as `number│ text`. Continue with nextStartLine and \
                 nextStartColumn, if given.",
                schema::<Arguments>(),
            )
        }
    }

    async fn run(&self, arguments: Value, context: &Context) -> Result<Output, ToolError> {
        let Arguments { path, start_line, start_column } = parse(arguments)?;
        let opened = path.clone();
        let bytes = workspace::beneath(context, move |workspace, _| {
            workspace.bytes(&opened, limits::INPUT_BYTES as u64)
        })
        .await?;
        let reading = self.reading(&path, bytes, context).await?;
        let (line, column) = (start_line.unwrap_or(1), start_column.unwrap_or(1));
        format_page(&path, &reading, line, column).map(Output::text)
    }
}

impl ExtractDocument {
    /// The extracted text, from the cache or newly extracted. It is cached, so that the next page
    /// is fast.
    async fn reading(
        &self,
        path: &str,
        bytes: Vec<u8>,
        context: &Context,
    ) -> Result<Reading, ToolError> {
        let name = path.rsplit('/').next().unwrap_or(path).to_owned();
        // The extension determines how the same bytes are read.
        let digest = Sha256::new().chain_update(ending(&name)).chain_update([0_u8]);
        let digest = hex::encode(digest.chain_update(&bytes).finalize());
        let kept = format!(".countersign/extracted/{digest}.json");
        let (from, limit) = (kept.clone(), 2 * limits::MARKDOWN_BYTES as u64);
        let before = workspace::beneath(context, move |workspace, _| workspace.bytes(&from, limit));
        let before = before.await.ok().and_then(|before| serde_json::from_slice(&before).ok());
        let mut reading = if let Some(reading) = before {
            reading
        } else {
            let (passwords, office) = (&self.passwords, self.office.as_deref());
            let reader = DocumentReader { sandbox: &self.sandbox, passwords, office };
            let reading = reader.read(&name, &bytes).await?;
            keep(&kept, &reading, context).await;
            reading
        };
        if reading.pictures > 0 && self.recognise(&mut reading, bytes).await {
            keep(&kept, &reading, context).await;
        }
        Ok(reading)
    }

    /// Adds text recognised in pictures, or why there is none. Returns whether the result is final;
    /// a failure may be temporary.
    async fn recognise(&self, reading: &mut Reading, bytes: Vec<u8>) -> bool {
        match self.recognised(reading.kind, bytes).await {
            Ok(text) if text.trim().is_empty() => {
                reading.warnings.push("No text was recognised in its pictures.".into());
            }
            Ok(text) => {
                reading.markdown += "\n\n## Recognised in pictures\n\n";
                reading.markdown += text.trim();
                reading.warnings.push("Recognised text has errors.".into());
            }
            Err(why) => {
                reading.warnings.push(why);
                return false;
            }
        }
        reading.pictures = 0;
        true
    }

    async fn recognised(&self, kind: Kind, bytes: Vec<u8>) -> Result<String, String> {
        let kind = if kind == Kind::Pdf { "pdf" } else { "picture" };
        let program = ["/bin/sh", "-c", RECOGNISE, "recognise", kind].map(str::to_owned).to_vec();
        let cell = Profile::around(Job::new(Work::Program(program), Some(SandboxLimits::PICTURES)));
        let without =
            |why: &str| format!("It shows pictures whose text was not recognised: {why}.");
        let failed = |error| without(&ToolError::from(error).to_string());
        let command = self.sandbox.confined_command(&cell).map_err(failed)?;
        let ended = run::to_its_end(command, bytes, RECOGNISE_FOR).await;
        match ended {
            Ok(ended) if ended.code == Some(3) => {
                Err(without("tesseract is missing (apt-get install tesseract-ocr)"))
            }
            Ok(ended) if ended.code == Some(4) => {
                Err(without("pdftoppm is missing (apt-get install poppler-utils)"))
            }
            Ok(ended) if ended.timed_out && ended.stdout.head.is_empty() => {
                Err(without("it took too long"))
            }
            Ok(ended) => Ok(ended.stdout.text().replace('\u{c}', "\n")),
            Err(error) => Err(failed(error)),
        }
    }
}

async fn keep(at: &str, reading: &Reading, context: &Context) {
    let (at, text) = (at.to_owned(), serde_json::to_vec(reading).unwrap_or_default());
    let keep = move |workspace: &workspace::Workspace, stop: &CancellationToken| {
        workspace.replace(&at, &text, stop)
    };
    if let Err(problem) = workspace::beneath(context, keep).await {
        tracing::debug!(%problem, "could not cache an extracted text");
    }
}

/// One line of JSON, and the lines of this page.
fn format_page(
    path: &str,
    reading: &Reading,
    start_line: u64,
    start_column: u64,
) -> Result<String, ToolError> {
    let range = Range { start_line, start_column, end_line: u64::MAX, max_chars: PAGE_CHARS };
    let mut pager = Pager::new(range);
    pager.feed(&reading.markdown);
    let page: TextPage = pager.finish();
    if start_line > page.total_lines.max(1) {
        return Err(ToolError::InvalidParameters(format!(
            "line {start_line} is past the end: {path} has {} lines of text",
            page.total_lines
        )));
    }
    let mut about = json!({
        "path": path,
        "kind": reading.kind,
        "total_lines": page.total_lines,
        "lines_shown": page.lines_shown,
    });
    if reading.pages > 0 {
        about["pages"] = reading.pages.into();
    }
    let warnings: Vec<&String> = reading.warnings.iter().take(MAX_WARNINGS).collect();
    if !warnings.is_empty() {
        about["warnings"] = json!(warnings);
    }
    if let Some(next) = page.next {
        about["nextStartLine"] = next.line.into();
        if let Some(column) = next.column {
            about["nextStartColumn"] = column.into();
        }
    }
    Ok(format!("{about}\n{}", page.content))
}
