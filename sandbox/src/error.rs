//! Why a program does not run in the sandbox.

use std::{io, path::PathBuf};
use thiserror::Error;

/// Why a program was not started in the sandbox. It is never started without one instead.
#[derive(Debug, Error)]
pub enum SandboxError {
    /// This machine lacks what the sandbox requires; the text says what, and how to install it.
    #[error("{0}")]
    Missing(String),
    /// The program cannot be started.
    #[error("the program cannot be started: {0}")]
    NotStarted(io::Error),
    /// The proxy for the network access of the program cannot be opened.
    #[error("there is no network access: {0}")]
    NoNetwork(io::Error),
    /// The private folder of a server cannot be created.
    #[error("{}: {problem}", .folder.display())]
    NoFolder {
        /// The folder.
        folder: PathBuf,
        /// Why it cannot be created.
        problem: io::Error,
    },
}
