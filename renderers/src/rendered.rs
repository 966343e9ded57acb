//! What comes of drawing: a file, or why there is none.

/// A file, and what was lost on the way to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rendered {
    pub bytes: Vec<u8>,
    /// Pages, slides or sheets.
    pub pages: usize,
    /// One sentence each, for the person and the model; empty when nothing was lost.
    pub warnings: Vec<String>,
}

/// Why there is no file.
#[derive(Debug, thiserror::Error, Clone, PartialEq, Eq)]
pub enum RenderError {
    /// The input is over a budget; the sentence says which, and the figure.
    #[error("{0}")]
    TooLarge(String),
    /// The input cannot be drawn; the sentence says what to change.
    #[error("{0}")]
    Invalid(String),
}
