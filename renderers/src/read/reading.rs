//! What comes of reading: what a document is and says, or why it says nothing.

use serde::{Deserialize, Serialize};

/// What a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    Pdf,
    Docx,
    Xlsx,
    Xlsb,
    Xls,
    Pptx,
    Odt,
    Ods,
    Odp,
    Html,
    Email,
    Rtf,
    Csv,
    Json,
    Text,
    Picture,
}

/// What a document says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reading {
    pub kind: Kind,
    pub markdown: String,
    /// Pages, sheets or slides, where there are such.
    pub pages: usize,
    /// Pages that show pictures and no text: what they say has yet to be recognised.
    pub pictures: usize,
    /// What was left out; one sentence each.
    pub warnings: Vec<String>,
}

/// Why a document says nothing; each sentence says what can be done.
#[derive(Debug, thiserror::Error, Clone, PartialEq, Eq)]
pub enum ReadError {
    /// It is over a budget.
    #[error("{0}")]
    TooLarge(String),
    /// It is not what it says it is.
    #[error("{0}")]
    Damaged(String),
    /// There is no reader for it.
    #[error("{0}")]
    Unknown(String),
}

impl Reading {
    pub fn of(kind: Kind, markdown: String) -> Self {
        Self { kind, markdown, pages: 0, pictures: 0, warnings: Vec::new() }
    }
}
