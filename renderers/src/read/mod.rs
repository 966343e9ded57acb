//! Converts documents from untrusted sources to Markdown.
//!
//! - [`kind`]: detects the type of a file by its content first and its name second
//! - [`limits`]: limits that are checked before anything is built
//! - `reading`: the result or error of a conversion
//! - `archive`, `links`, `xml`: parts of a package, their relationships, and XML parsing without
//!   entities
//! - `chart`: charts of Office files as tables; `asides`: their diagrams and comments; `equations`
//! - `words`: paragraphs, formatting, lists and tables as Markdown; `line_starts`: what is escaped in
//!   them; `item_labels`: the labels of numbered items; `tables`: tables being read
//! - [`view`]: pictures for vision models
//! - `unlock`: documents that are protected by a password
//! - `docx` with `docx_chunks`, `docx_frames`, `docx_lists`, `docx_paragraphs`, `docx_styles` and
//!   `symbol_fonts`,
//!   `pptx` with `pptx_lists`, `odf` with `odf_comments`, `odf_edges`, `odf_hidden`, `odf_lists`, `odf_sheets`,
//!   `odf_styles` and `odf_tables`, `sheets` with `sheet_edges`, the `workbook`, its `styles`, `cell_texts`
//!   and `hidden` parts, `pdf` with its `fonts`, `tags`, `tag_cells`, `pdf_annotations`, `pdf_blocks`,
//!   `pdf_marks`, `pdf_state`, `labels`, `printed_labels`, `printed_lists`, `bidi`, `transform`, `lines`, `overlaps` and `grid`,
//!   `html` with `html_hidden`, `html_lists`, `html_marks` and `html_tables`, `email`, `rtf` with `rtf_tokens`,
//!   `rtf_places`, `rtf_tables`, `rtf_rows`, `rtf_changes`, `rtf_notes`, `rtf_fields` and `rtf_fonts`, `rows`,
//!   `charset`: one file per format
//!
//! Parsers of third-party formats occasionally panic, overflow or loop: call this in a separate
//! process with memory and time limits.

pub(crate) mod archive;
mod asides;
mod bidi;
mod cell_texts;
pub mod charset;
mod chart;
mod docx;
mod docx_chunks;
mod docx_frames;
mod docx_lists;
mod docx_paragraphs;
mod docx_styles;
mod email;
mod equations;
mod fonts;
mod grid;
mod hidden;
pub mod html;
mod html_hidden;
mod html_lists;
mod html_marks;
mod html_tables;
mod item_labels;
pub mod kind;
mod labels;
pub mod limits;
mod line_starts;
mod lines;
pub(crate) mod links;
mod odf;
mod odf_comments;
mod odf_edges;
mod odf_hidden;
mod odf_lists;
mod odf_sheets;
mod odf_styles;
mod odf_tables;
mod overlaps;
mod pdf;
mod pdf_annotations;
mod pdf_blocks;
mod pdf_marks;
mod pdf_state;
pub(crate) mod pptx;
mod pptx_lists;
mod printed_labels;
mod printed_lists;
mod reading;
mod rows;
mod rtf;
mod rtf_changes;
mod rtf_fields;
mod rtf_fonts;
mod rtf_notes;
mod rtf_places;
mod rtf_rows;
mod rtf_tables;
mod rtf_tokens;
mod sheet_edges;
pub(crate) mod sheets;
mod styles;
mod symbol_fonts;
mod tables;
mod tag_cells;
mod tags;
#[cfg(test)]
mod tests;
mod transform;
mod unlock;
pub mod view;
mod words;
pub(crate) mod workbook;
pub(crate) mod xml;

pub use reading::{Kind, ReadError, Reading};

/// Converts a document to Markdown. `name` is the file name, used if the content is ambiguous. A
/// panic in a parser is reported as a damaged file.
pub fn to_markdown(name: &str, bytes: &[u8]) -> Result<Reading, ReadError> {
    to_markdown_with(name, bytes, &[])
}

/// Like [`to_markdown`]. If the document is protected, the passwords are tried in their order.
pub fn to_markdown_with(
    name: &str,
    bytes: &[u8],
    passwords: &[String],
) -> Result<Reading, ReadError> {
    std::panic::catch_unwind(|| read(name, bytes, passwords)).unwrap_or_else(|_| {
        Err(ReadError::Damaged("The document is damaged and could not be parsed.".into()))
    })
}

fn read(name: &str, bytes: &[u8], passwords: &[String]) -> Result<Reading, ReadError> {
    limits::input(bytes)?;
    let opened = unlock::office(bytes, passwords)?;
    let bytes = opened.as_deref().unwrap_or(bytes);
    if bytes.is_empty() && kind::is_binary(name) {
        return Err(ReadError::Damaged("The file is empty: it has 0 bytes.".into()));
    }
    let kind = kind::of(name, bytes)?;
    let mut reading = match kind {
        Kind::Pdf => pdf::read(bytes, passwords),
        Kind::Docx => docx::read(bytes),
        Kind::Pptx => pptx::read(bytes),
        Kind::Xlsx | Kind::Xlsb | Kind::Xls => sheets::read(kind, bytes),
        Kind::Odt | Kind::Ods | Kind::Odp => odf::read(kind, bytes),
        Kind::Html => {
            let page = html::page(&charset::decode_page(bytes, None));
            page.map(|page| Reading { warnings: page.warnings, ..Reading::of(kind, page.markdown) })
        }
        Kind::Email => email::read(bytes),
        Kind::Rtf => rtf::read(bytes),
        Kind::Csv => Ok(rows::csv(&charset::decode(bytes))),
        Kind::Json => Ok(rows::json(&charset::decode(bytes))),
        Kind::Text => Ok(Reading::of(kind, charset::decode(bytes))),
        Kind::Picture => picture(bytes),
    }?;
    // The text of a program or a log stays as it is.
    if kind != Kind::Text {
        reading.markdown = bidi::without_controls(&reading.markdown).into_owned();
    }
    Ok(limits::output(reading))
}

/// Pictures have no text, but are checked before they are decoded.
fn picture(bytes: &[u8]) -> Result<Reading, ReadError> {
    let reader = image::ImageReader::new(std::io::Cursor::new(bytes)).with_guessed_format();
    let size = reader.ok().and_then(|reader| reader.into_dimensions().ok());
    let (width, height) = size.ok_or_else(|| {
        ReadError::Damaged("The size of the picture cannot be determined.".into())
    })?;
    limits::pixels(width, height)?;
    Ok(Reading { pages: 1, pictures: 1, ..Reading::of(Kind::Picture, String::new()) })
}
