//! Reads untrusted documents and pages in a sandboxed process.

use renderers::read::{Reading, html::Element};
use sandbox::{Sandbox, SandboxLimits, run};
use secrecy::SecretString;
use serde::de::DeserializeOwned;
use std::time::Duration;
use tokio::process::Command;

use crate::tools::{
    ToolError,
    documents::confined_jobs::{ConfinedJob, reader_input},
};

/// The timeout for reading one document.
const READ_FOR: Duration = Duration::from_secs(10);

/// Reads a document. If the contents do not determine the format, the name does. If it is protected,
/// the passwords are tried.
pub async fn document(
    sandbox: &Sandbox,
    name: &str,
    bytes: &[u8],
    passwords: &[SecretString],
) -> Result<Reading, ToolError> {
    let reader = ConfinedJob::Read(name.to_owned()).command(sandbox, SandboxLimits::DOCUMENT)?;
    read(name, reader, reader_input(passwords, bytes)).await
}

/// The elements of a page with one of these ids or classes.
pub async fn elements(
    sandbox: &Sandbox,
    marks: &[&str],
    page: String,
) -> Result<Vec<Element>, ToolError> {
    let marks = marks.iter().map(|&mark| mark.to_owned()).collect();
    let finder = ConfinedJob::Find(marks).command(sandbox, SandboxLimits::DOCUMENT)?;
    read("the page", finder, page.into_bytes()).await
}

async fn read<T: DeserializeOwned>(
    name: &str,
    reader: Command,
    bytes: Vec<u8>,
) -> Result<T, ToolError> {
    let ended = run::to_its_end(reader, bytes, READ_FOR).await?;
    let failed = |why: &str| ToolError::ExecutionFailed(format!("{name} was not read: {why}"));
    if ended.timed_out {
        return Err(failed("it takes longer than 10 s. Ask for a smaller one"));
    }
    if let Ok(read) = serde_json::from_slice::<Result<T, String>>(&ended.stdout.head) {
        return read.map_err(|why| failed(&why));
    }
    tracing::debug!(code = ended.code, said = ended.stderr.text(), "a document reader crashed");
    Err(failed(
        "it exceeds the limits for memory (256 MiB), time or nesting, or is damaged. Ask for a \
            smaller one, or for another format",
    ))
}
