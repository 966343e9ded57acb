//! What this binary does in the sandbox itself, because the input is untrusted: reading, viewing
//! and rendering. Each job runs in a process of its own.

use renderers::read::{self, ReadError};
use sandbox::{Sandbox, SandboxError, SandboxLimits};
use serde::{Deserialize, Serialize};
use std::{io, path::PathBuf};
use tokio::process::Command;

use super::{blob::Blob, protocol};

/// A job, which reads standard input and writes to standard output.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum ConfinedJob {
    /// Read the document with this name, and write JSON.
    Read(String),
    /// Find elements with one of these ids or classes in the page, and write JSON.
    Find(Vec<String>),
    /// Decode the picture for a model, and write JSON.
    View,
    /// Render what is requested, with the fonts of these folders.
    Draw(Vec<PathBuf>),
}

impl ConfinedJob {
    /// The process: inside bubblewrap if possible, otherwise one that can neither open files (but
    /// fonts) or sockets nor start processes.
    pub fn command(
        &self,
        sandbox: &Sandbox,
        limits: SandboxLimits,
    ) -> Result<Command, SandboxError> {
        let description = serde_json::to_string(self).expect("a job is plain text");
        let fonts = if let Self::Draw(fonts) = self { &fonts[..] } else { &[] };
        sandbox.own_job(description, limits, fonts)
    }
}

/// Does the job in the process that was started for it, once the process is confined.
pub fn perform(description: &str, input: &[u8]) -> io::Result<Vec<u8>> {
    Ok(match serde_json::from_str(description)? {
        ConfinedJob::Read(name) => encode(&read::to_markdown(&name, input)),
        ConfinedJob::Find(marks) => {
            encode(&read::html::marked(&String::from_utf8_lossy(input), &marks))
        }
        ConfinedJob::View => encode(&read::view::view(input).map(Blob)),
        ConfinedJob::Draw(fonts) => protocol::answer(input, &fonts),
    })
}

/// The result, or a sentence that says why there is none.
fn encode(read: &Result<impl Serialize, ReadError>) -> Vec<u8> {
    let output = read.as_ref().map_err(ToString::to_string);
    serde_json::to_vec(&output).expect("what was read is plain text and numbers")
}
