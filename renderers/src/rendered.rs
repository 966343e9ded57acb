//! The result of a rendering: a file or an error.

/// A file, and warnings about lost content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rendered {
    /// The contents of the file.
    pub bytes: Vec<u8>,
    /// The number of pages, slides or sheets.
    pub pages: usize,
    /// One sentence each, for the user and the model; empty if nothing was lost.
    pub warnings: Vec<String>,
}

/// The reason why there is no file.
#[derive(Debug, thiserror::Error, Clone, PartialEq, Eq)]
pub enum RenderError {
    /// The input exceeds a limit; the sentence names the limit and the figure.
    #[error("{0}")]
    TooLarge(String),
    /// The input cannot be rendered; the sentence says what to change.
    #[error("{0}")]
    Invalid(String),
}
