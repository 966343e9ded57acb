//! The document as PDF: tagged (PDF/UA-1) and archivable (PDF/A-2a) wherever its content allows.
//!
//! - [`blocks`], [`inlines`], [`images`], [`formula`]: the model as Typst *content*. No text is ever
//!   parsed as Typst, so nothing in it can be code
//! - [`directions`]: from left to right or from right to left
//! - [`lengths`]: very long paragraphs, cut; [`marks`]: marks without a letter
//! - `template.typ`: how it looks; constant
//! - [`world`]: what Typst may read, which is the template and the fonts
//! - [`fontset`], [`fonts`], [`scripts`]: which fonts there are, which are wanted, which characters they
//!   lack
//! - [`picture`]: the first page, to be looked at
//! - [`export`]: the standards, the fall back, and object streams
//!
//! Typst keeps what it has laid out for ever unless told otherwise; each job ends with an eviction.

mod blocks;
mod directions;
mod drawing;
mod export;
mod fonts;
pub(crate) mod fontset;
mod formula;
pub(crate) mod images;
mod inlines;
mod lengths;
mod marks;
mod picture;
mod scripts;
mod world;

use typst::foundations::Content;
use typst_layout::PagedDocument;

pub use fonts::wanted;

use crate::Document;
use crate::rendered::{RenderError, Rendered};
use fontset::Fonts;

/// The most pages of one file.
pub const PAGES: usize = 500;
/// The most cells of all tables; a cell costs Typst a hundred times what it costs a worksheet.
pub const CELLS: usize = 50_000;
/// More characters than this cannot fit [`PAGES`], so they are refused before they are laid out.
const CHARACTERS: usize = PAGES * 4_000;

/// Draws with the fonts that come with the program: Latin, Greek, Cyrillic, mathematics.
pub fn render(document: &Document) -> Result<Rendered, RenderError> {
    render_with(document, &Fonts::default())
}

/// Draws with `fonts`. The same document and fonts give the same bytes.
pub fn render_with(document: &Document, fonts: &Fonts) -> Result<Rendered, RenderError> {
    drawn(document, fonts, |_| ()).map(|(rendered, ())| rendered)
}

/// The same, and the first page as a picture (PNG) where it can be made.
pub fn render_and_show(
    document: &Document,
    fonts: &Fonts,
) -> Result<(Rendered, Option<Vec<u8>>), RenderError> {
    drawn(document, fonts, picture::first_page)
}

fn drawn<T>(
    document: &Document,
    fonts: &Fonts,
    and: impl FnOnce(&PagedDocument) -> T,
) -> Result<(Rendered, T), RenderError> {
    check(document)?;
    let drawn = draw(document, fonts).map(|(rendered, pages)| (rendered, and(&pages)));
    typst::comemo::evict(0);
    drawn
}

fn check(document: &Document) -> Result<(), RenderError> {
    let (mut cells, mut characters) = (0, 0);
    document.each_block(&mut |block| match block {
        crate::document::Block::Table(table) => {
            cells += table.header.len() * (table.rows.len() + 1);
        }
        crate::document::Block::Code { text, .. } => characters += text.chars().count(),
        _ => {}
    });
    document.each_inline(&mut |inline| {
        if let crate::document::Inline::Text(text) | crate::document::Inline::Code(text) = inline {
            characters += text.chars().count();
        }
    });
    if cells > CELLS {
        return Err(RenderError::TooLarge(format!(
            "The tables have {cells} cells; a PDF may have {CELLS}. Make it a workbook (xlsx)."
        )));
    }
    if characters > CHARACTERS {
        return Err(RenderError::TooLarge(format!(
            "The text would fill more than {PAGES} pages, the limit. Split it into several files."
        )));
    }
    Ok(())
}

/// A picture that Typst cannot draw fails the whole document, so the second try goes without any.
fn draw(document: &Document, fonts: &Fonts) -> Result<(Rendered, PagedDocument), RenderError> {
    let mut warnings = document.warnings.clone();
    if document.meta.title.is_none() && document.meta.subtitle.is_some() {
        warnings.push("A subtitle is shown below a title only, and there is no title.".into());
    }
    let pictures = images::load(&document.assets);
    let mut body = blocks::body(document, &pictures, fonts);
    let pages = match lay_out(document, fonts, body.content) {
        Ok(pages) => pages,
        Err(first) if pictures.is_empty() => return Err(RenderError::Invalid(first)),
        Err(first) => {
            warnings.push(format!("The pictures were left out: {first}"));
            body = blocks::body(document, &images::Pictures::default(), fonts);
            lay_out(document, fonts, body.content).map_err(RenderError::Invalid)?
        }
    };
    warnings.append(&mut body.warnings);
    let count = pages.pages().len();
    if count > PAGES {
        return Err(RenderError::TooLarge(format!(
            "The document has {count} pages; the limit is {PAGES}. Split it into several files."
        )));
    }
    let missing = fonts.missing(document);
    let bytes = export::write(&pages, &missing, &mut warnings)?;
    Ok((Rendered { bytes, pages: count, warnings }, pages))
}

fn lay_out(document: &Document, fonts: &Fonts, body: Content) -> Result<PagedDocument, String> {
    let world = world::World::new(document, fonts, body);
    typst::compile::<PagedDocument>(&world).output.map_err(|errors| export::reason(&errors))
}

#[cfg(test)]
mod tests;
