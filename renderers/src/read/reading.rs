//! The result of a conversion: the document's type and text, or an error.

use serde::{Deserialize, Serialize};

/// The type of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// PDF.
    Pdf,
    /// Word since 2007.
    Docx,
    /// Excel since 2007.
    Xlsx,
    /// Excel since 2007, in its binary form.
    Xlsb,
    /// Excel before 2007.
    Xls,
    /// PowerPoint since 2007.
    Pptx,
    /// OpenDocument text.
    Odt,
    /// OpenDocument spreadsheet.
    Ods,
    /// OpenDocument presentation.
    Odp,
    /// A web page.
    Html,
    /// A message as defined by RFC 5322.
    Email,
    /// Rich Text Format.
    Rtf,
    /// Comma-separated values.
    Csv,
    /// JSON.
    Json,
    /// Any other text.
    Text,
    /// A picture, which has no text.
    Picture,
}

/// The content of a document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reading {
    /// The type of the file, by its contents.
    pub kind: Kind,
    /// The text as Markdown.
    pub markdown: String,
    /// The number of pages, sheets or slides, if the type has any.
    pub pages: usize,
    /// The number of pages with pictures and without text, which would need OCR.
    pub pictures: usize,
    /// Warnings about dropped content, one sentence each.
    pub warnings: Vec<String>,
}

/// The reason why a document cannot be read; each sentence says what can be done.
#[derive(Debug, thiserror::Error, Clone, PartialEq, Eq)]
pub enum ReadError {
    /// It exceeds a limit.
    #[error("{0}")]
    TooLarge(String),
    /// It is damaged or of another type.
    #[error("{0}")]
    Damaged(String),
    /// There is no reader for it.
    #[error("{0}")]
    Unknown(String),
}

impl Reading {
    /// A reading without pages and warnings.
    pub fn of(kind: Kind, markdown: String) -> Self {
        Self { kind, markdown, pages: 0, pictures: 0, warnings: Vec::new() }
    }
}
