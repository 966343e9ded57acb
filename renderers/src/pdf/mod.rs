//! Renders documents as PDF: tagged (PDF/UA-1) and archivable (PDF/A-2a) if the content allows it.
//!
//! - `drawing`: the state of a rendering
//! - [`blocks`], [`inlines`], [`images`], [`formula`]: the model as Typst *content*. Text is never
//!   parsed as Typst, so it cannot contain code
//! - [`tables`]: tables, whose font size depends on their width
//! - [`notes`]: footnotes of headings, and those that would strand a heading
//! - [`directions`]: text direction
//! - [`lengths`]: splits very long paragraphs and code; [`marks`]: combining marks without a letter
//! - `template.typ`: the constant layout
//! - `layout`: the rounds of the layout
//! - [`world`]: the files that Typst can read: the template and the fonts
//! - [`fontset`], [`fonts`], [`scripts`]: available fonts, font selection, missing characters
//! - [`picture`]: a preview of the first page
//! - [`export`]: standards and fallback; [`compact`]: object streams
//!
//! Typst caches layout results without limit, so each job ends with an eviction.

mod blocks;
mod compact;
mod directions;
mod drawing;
mod export;
mod fonts;
pub(crate) mod fontset;
mod formula;
pub(crate) mod images;
mod inlines;
mod layout;
mod lengths;
mod marks;
mod notes;
mod picture;
mod scripts;
mod tables;
mod world;

use typst::foundations::Content;
use typst_layout::PagedDocument;

pub use fonts::wanted;

use crate::Document;
use crate::document::{Block, each_block_of, plain_text};
use crate::package::text::begins_page;
use crate::package::{limits, text};
use crate::rendered::{RenderError, Rendered};
use fontset::Fonts;

/// The maximum number of pages.
pub const PAGES: usize = 500;
/// The maximum number of table cells; a cell is a hundred times more expensive in Typst than in a
/// worksheet.
pub const CELLS: usize = 50_000;
/// More characters than this cannot fit on [`PAGES`] pages, so they are rejected before layout.
const CHARACTERS: usize = PAGES * 4_000;
/// The least height of a line of code, in points.
const CODE_LINE: f64 = 13.0;

/// Renders with the bundled fonts: Latin, Greek, Cyrillic, mathematics.
pub fn render(document: &Document) -> Result<Rendered, RenderError> {
    render_with(document, &Fonts::default())
}

/// Renders with `fonts`. The same document and fonts give the same bytes.
pub fn render_with(document: &Document, fonts: &Fonts) -> Result<Rendered, RenderError> {
    drawn(document, fonts, |_| ()).map(|(rendered, ())| rendered)
}

/// Also returns the first page as a PNG, if it can be created.
pub fn render_and_show(
    document: &Document,
    fonts: &Fonts,
) -> Result<(Rendered, Option<Vec<u8>>), RenderError> {
    let computed = crate::xlsx::computed(document);
    drawn(computed.as_ref().unwrap_or(document), fonts, picture::first_page)
}

fn drawn<T>(
    document: &Document,
    fonts: &Fonts,
    and: impl FnOnce(&PagedDocument) -> T,
) -> Result<(Rendered, T), RenderError> {
    check(document)?;
    let drawn = draw(document, fonts, and);
    typst::comemo::evict(0);
    drawn
}

fn check(document: &Document) -> Result<(), RenderError> {
    let (mut cells, mut characters, mut lines) = (0, 0, 0);
    let mut columns = 0;
    document.each_block(&mut |block| match block {
        Block::Table(table) => {
            cells += table.header.len() * (table.rows.len() + 1);
            columns = columns.max(text::columns(table));
        }
        Block::Code { text, .. } => {
            characters += text.chars().count();
            lines += text.lines().count();
        }
        _ => {}
    });
    document.each_inline(&mut |inline| {
        if let crate::document::Inline::Text(text) | crate::document::Inline::Code(text) = inline {
            characters += text.chars().count();
        }
    });
    limits::page_columns(columns)?;
    if cells > CELLS {
        return Err(RenderError::TooLarge(format!(
            "The tables have {cells} cells; the limit of a PDF is {CELLS}. Create a workbook (xlsx) instead."
        )));
    }
    let most_lines = PAGES * code_lines(document);
    let texts = texts(&document.blocks);
    if characters > CHARACTERS
        || lines > most_lines
        || texts > most_lines
        || broken_pages(document) > PAGES
    {
        return Err(RenderError::TooLarge(format!(
            "The text would fill more than {PAGES} pages, the limit. Split it into several files."
        )));
    }
    Ok(())
}

/// The number of texts and formulas with at least one line each, except for those in columns side by
/// side. A line of text is higher than one of code.
fn texts(blocks: &[Block]) -> usize {
    let (mut count, mut beside) = (0_usize, 0);
    each_block_of(blocks, &mut |block| match block {
        Block::Heading { content, .. } | Block::Paragraph(content) => {
            count += usize::from(!plain_text(content).trim().is_empty());
        }
        Block::Math(_) => count += 1,
        Block::Columns(columns) => {
            beside += columns.iter().map(|inside| texts(inside)).sum::<usize>();
        }
        _ => {}
    });
    count.saturating_sub(beside)
}

/// The number of page breaks with a text before them.
fn broken_pages(document: &Document) -> usize {
    let begins = |block: &Block| matches!(block, Block::Comment(text) if begins_page(text));
    let is_text = |block: &Block| matches!(block, Block::Heading { .. } | Block::Paragraph(_));
    document.blocks.windows(2).filter(|two| is_text(&two[0]) && begins(&two[1])).count()
}

/// The maximum number of lines of code on a page.
fn code_lines(document: &Document) -> usize {
    let columns = if document.meta.page.two_columns { 2 } else { 1 };
    let room = [drawing::room(document), drawing::turned_room(document)];
    let height = room.map(|room| room.height + drawing::CAPTION).into_iter().fold(0.0, f64::max);
    (height / CODE_LINE).ceil().max(1.0) as usize * columns
}

/// A picture that Typst cannot draw fails the whole document, so the second attempt is made without
/// pictures.
fn draw<T>(
    document: &Document,
    fonts: &Fonts,
    and: impl FnOnce(&PagedDocument) -> T,
) -> Result<(Rendered, T), RenderError> {
    let mut warnings = document.warnings.clone();
    if document.meta.title.is_none() && document.meta.subtitle.is_some() {
        warnings.push("The subtitle is not shown, because there is no title.".into());
    }
    let pictures = images::load(&document.assets);
    let mut body = blocks::body(document, &pictures, fonts);
    let pages = match lay_out(document, fonts, body.content) {
        Ok(pages) => pages,
        Err(first) if pictures.is_empty() => return Err(RenderError::Invalid(first)),
        Err(first) => {
            warnings.push(format!("The pictures were omitted: {first}").into());
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
    // Nothing is held longer than it is needed: the layout, its cache and the objects of the file
    // take hundreds of megabytes each for a long document.
    typst::comemo::evict(0);
    let missing = fonts.missing(document);
    let exported = export::write(&pages, &missing, &mut warnings)?;
    let also = and(&pages);
    drop(pages);
    Ok((Rendered { bytes: exported.finish()?, pages: count, warnings }, also))
}

fn lay_out(document: &Document, fonts: &Fonts, body: Content) -> Result<PagedDocument, String> {
    let world = world::World::new(document, fonts, body);
    layout::lay_out(&world).map_err(|errors| export::reason(&errors))
}

#[cfg(test)]
mod tests;
