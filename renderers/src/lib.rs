//! Documents to bytes, and back. Markdown or rows become one [`Document`]; four back ends draw from it.
//!
//! - [`document`]: the model that all formats share
//! - [`budgets`]: what a source may ask for at most
//! - [`markdown`]: Markdown (CommonMark + GFM, front matter) to the model
//! - [`rows`]: CSV and JSON rows to the model
//! - [`brand`]: a company's template, read as plain data
//! - [`chart`]: charts from fenced blocks, and as vector pictures
//! - [`latex`]: formulas, for the formats that draw them
//! - `package`: what Word and PowerPoint share: the zip of parts, text widths, looks, pictures
//! - [`pdf`], [`docx`], [`pptx`], [`xlsx`]: a folder per format, a file per concern
//! - [`read`]: the way back, from whatever people upload to Markdown
//!
//! Nothing here reads a file, a clock or the network: pictures come in as bytes, and the same input
//! gives the same bytes on every machine. What cannot be drawn is named in [`Rendered::warnings`].

pub mod brand;
pub mod budgets;
pub mod chart;
mod color;
pub mod document;
pub mod docx;
pub mod latex;
pub mod markdown;
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
pub use rendered::{RenderError, Rendered};

/// The four formats, by the extension of their files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    Docx,
    Xlsx,
    Pptx,
    Pdf,
}

impl Format {
    /// The format of that name or ending.
    pub fn of(name: &str) -> Option<Self> {
        [Self::Docx, Self::Xlsx, Self::Pptx, Self::Pdf].into_iter().find(|f| f.ending() == name)
    }

    /// What its files' names end with, without a dot.
    pub fn ending(self) -> &'static str {
        match self {
            Self::Docx => "docx",
            Self::Xlsx => "xlsx",
            Self::Pptx => "pptx",
            Self::Pdf => "pdf",
        }
    }
}

/// Whether Office files of `document` carry pixels of texts, which need fonts: those of vector pictures
/// and of charts.
pub fn has_vectors(document: &Document) -> bool {
    let mut has =
        document.assets.values().chain(&document.logo).any(|b| package::vector::is_svg(b));
    document.each_block(&mut |block| has |= matches!(block, document::Block::Chart(_)));
    has
}

/// Draws `document` as a file of that format, with the fonts that come with the program.
pub fn render(document: &Document, format: Format) -> Result<Rendered, RenderError> {
    render_with(document, format, &Fonts::default())
}

/// Draws `document` with `fonts`. The Office formats name fonts, and the reader's program brings them:
/// there, only the pixels behind vector pictures are drawn with these.
pub fn render_with(
    document: &Document,
    format: Format,
    fonts: &Fonts,
) -> Result<Rendered, RenderError> {
    match format {
        Format::Docx => docx::render(document, fonts),
        Format::Xlsx => xlsx::render(document, fonts),
        Format::Pptx => pptx::render(document, fonts),
        Format::Pdf => pdf::render_with(document, fonts),
    }
}
