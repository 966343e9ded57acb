//! What this binary does in the sandbox itself, because the input is untrusted: reading, viewing
//! and rendering. Each job runs in a process of its own.

use renderers::read::{self, ReadError};
use sandbox::{Sandbox, SandboxError, SandboxLimits};
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};
use std::{io, path::PathBuf};
use tokio::process::Command;

use super::{blob::Blob, protocol};

/// A job, which reads standard input and writes to standard output.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum ConfinedJob {
    /// Read the document with this name, and write JSON. The input is that of [`reader_input`].
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

/// The input of [`ConfinedJob::Read`]: a line of JSON with the passwords that are tried, which must
/// not be seen in arguments, and the document.
pub fn reader_input(passwords: &[SecretString], document: &[u8]) -> Vec<u8> {
    let passwords: Vec<_> = passwords.iter().map(ExposeSecret::expose_secret).collect();
    let mut input = serde_json::to_vec(&passwords).expect("passwords are plain text");
    input.push(b'\n');
    input.extend_from_slice(document);
    input
}

/// Does the job in the process that was started for it, once the process is confined.
pub fn perform(description: &str, input: &[u8]) -> io::Result<Vec<u8>> {
    Ok(match serde_json::from_str(description)? {
        ConfinedJob::Read(name) => {
            let end = input.iter().position(|byte| *byte == b'\n');
            let (passwords, document) = input.split_at(end.ok_or(io::ErrorKind::InvalidInput)?);
            let passwords: Vec<String> = serde_json::from_slice(passwords)?;
            encode(&read::to_markdown_with(&name, &document[1..], &passwords))
        }
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
