//! Bytes to Markdown: the way back, for documents that anybody may have made.
//!
//! - [`kind`]: what a file is, by its content first and its name second
//! - [`limits`]: budgets, which hold before anything is built
//! - `reading`: what comes of it, or why nothing does
//! - `archive`, `links`, `xml`: parts of a package, who refers to whom, and walking through them, with
//!   entities off
//! - `chart`: what charts of Office files show, as tables; `asides`: their diagrams and comments
//! - `words`: paragraphs, marks, lists and tables as Markdown
//! - [`view`]: a picture as a model is shown it
//! - `docx`, `pptx`, `odf`, `sheets`, `pdf` with its `fonts` and `grid`, `html`, `email`, `rtf`, `rows`, `charset`: a file per format
//!
//! Parsers of other people's formats panic, overflow and loop now and then: call this in a process
//! of its own, with limits on its memory and time.

pub(crate) mod archive;
mod asides;
pub mod charset;
mod chart;
mod docx;
mod email;
mod fonts;
mod grid;
pub mod html;
pub mod kind;
pub mod limits;
pub(crate) mod links;
mod odf;
mod pdf;
mod pptx;
mod reading;
mod rows;
mod rtf;
mod sheets;
#[cfg(test)]
mod tests;
pub mod view;
mod words;
pub(crate) mod xml;

pub use reading::{Kind, ReadError, Reading};

/// The document as Markdown. `name` is the file's name, which decides where the content does not.
/// A parser that breaks down has found damage.
pub fn to_markdown(name: &str, bytes: &[u8]) -> Result<Reading, ReadError> {
    std::panic::catch_unwind(|| read(name, bytes)).unwrap_or_else(|_| {
        Err(ReadError::Damaged("The document is damaged: its reader broke down.".into()))
    })
}

fn read(name: &str, bytes: &[u8]) -> Result<Reading, ReadError> {
    limits::input(bytes)?;
    let kind = kind::of(name, bytes)?;
    let reading = match kind {
        Kind::Pdf => pdf::read(bytes),
        Kind::Docx => docx::read(bytes),
        Kind::Pptx => pptx::read(bytes),
        Kind::Xlsx | Kind::Xlsb | Kind::Xls => sheets::read(kind, bytes),
        Kind::Odt | Kind::Ods | Kind::Odp => odf::read(kind, bytes),
        Kind::Html => {
            html::page(&charset::decode_page(bytes, None)).map(|text| Reading::of(kind, text))
        }
        Kind::Email => email::read(bytes),
        Kind::Rtf => rtf::read(bytes),
        Kind::Csv => Ok(rows::csv(&charset::decode(bytes))),
        Kind::Json => Ok(rows::json(&charset::decode(bytes))),
        Kind::Text => Ok(Reading::of(kind, charset::decode(bytes))),
        Kind::Picture => picture(bytes),
    }?;
    Ok(limits::output(reading))
}

/// Nothing to read yet, but checked before anybody unpacks it.
fn picture(bytes: &[u8]) -> Result<Reading, ReadError> {
    let reader = image::ImageReader::new(std::io::Cursor::new(bytes)).with_guessed_format();
    let size = reader.ok().and_then(|reader| reader.into_dimensions().ok());
    let (width, height) =
        size.ok_or_else(|| ReadError::Damaged("The picture does not say how large it is.".into()))?;
    limits::pixels(width, height)?;
    Ok(Reading { pages: 1, pictures: 1, ..Reading::of(Kind::Picture, String::new()) })
}
