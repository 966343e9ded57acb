//! Renders documents to files and reads files back. Markdown or rows become one [`Document`], which
//! four back ends draw.
//!
//! - [`document`]: the model shared by all formats
//! - [`budgets`]: upper limits for a source
//! - [`markdown`]: Markdown (CommonMark + GFM, front matter) to the model
//! - [`rows`]: CSV and JSON rows to the model; `records`, `json_columns`: reading them
//! - [`brand`]: a company's template, read as plain data
//! - [`chart`]: charts from fenced blocks, and as vector pictures
//! - [`highlight`]: colours of code
//! - [`latex`]: formulas, for the formats that support them
//! - `package`: code shared by Word and PowerPoint: the zip of parts, text widths, appearance,
//!   pictures
//! - `color`: colours of themes and templates; `number_text`: numbers in the formats of spreadsheets
//! - `rendered`: the result of a rendering; `counted`: numbers with their nouns
//! - [`pdf`], [`docx`], [`pptx`], [`xlsx`]: one folder per format, one file per concern
//! - [`read`]: uploaded files to Markdown
//! - [`edit`]: changes existing files
//!
//! This crate reads no file, clock or network: pictures are passed as bytes, and the same input
//! gives the same bytes on every machine. Content that cannot be drawn is listed in
//! [`Rendered::warnings`].

#![warn(missing_docs)]

pub mod brand;
pub mod budgets;
pub mod chart;
mod color;
mod counted;
pub mod document;
pub mod docx;
pub mod edit;
pub mod highlight;
mod json_columns;
pub mod latex;
pub mod markdown;
mod number_text;
mod package;
pub mod pdf;
pub mod pptx;
pub mod read;
mod records;
mod rendered;
pub mod rows;
pub mod xlsx;

pub use document::Document;
pub use pdf::fontset::Fonts;
pub use rendered::{RenderError, Rendered, Warning};

/// The four output formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// Word (ECMA-376 WordprocessingML).
    Docx,
    /// Excel (ECMA-376 SpreadsheetML).
    Xlsx,
    /// PowerPoint (ECMA-376 PresentationML).
    Pptx,
    /// PDF with tags for screen readers.
    Pdf,
}

impl Format {
    /// The format for a format name or file extension.
    pub fn of(name: &str) -> Option<Self> {
        [Self::Docx, Self::Xlsx, Self::Pptx, Self::Pdf].into_iter().find(|f| f.ending() == name)
    }

    /// The file extension, without a dot.
    pub fn ending(self) -> &'static str {
        match self {
            Self::Docx => "docx",
            Self::Xlsx => "xlsx",
            Self::Pptx => "pptx",
            Self::Pdf => "pdf",
        }
    }
}

/// Whether the Office files of `document` contain rasterized text, which needs fonts: vector
/// pictures and charts.
pub fn has_vectors(document: &Document) -> bool {
    let mut has =
        document.assets.values().chain(&document.logo).any(|b| package::vector::is_svg(b));
    document.each_block(&mut |block| has |= matches!(block, document::Block::Chart(_)));
    has
}

/// Renders `document` with the built-in fonts.
pub fn render(document: &Document, format: Format) -> Result<Rendered, RenderError> {
    render_with(document, format, &Fonts::default())
}

/// Renders `document` with `fonts`. Office files only name fonts, which the reader's program
/// provides; there, `fonts` are used only for the raster fallback of vector pictures.
pub fn render_with(
    document: &Document,
    format: Format,
    fonts: &Fonts,
) -> Result<Rendered, RenderError> {
    // Only workbooks compute.
    let computed = if format == Format::Xlsx { None } else { xlsx::computed(document) };
    let document = computed.as_ref().unwrap_or(document);
    match format {
        Format::Docx => docx::render(document, fonts),
        Format::Xlsx => xlsx::render(document, fonts),
        Format::Pptx => pptx::render(document, fonts),
        Format::Pdf => pdf::render_with(document, fonts),
    }
}
