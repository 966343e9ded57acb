//! Markdown to the model: CommonMark, GFM, notes, alerts, math, description lists, front matter.
//!
//! - `reader`: the state of a parser run; `losses`: content that was dropped
//! - [`front_matter`]: the text between the first two `---` lines
//! - [`blocks`], [`inlines`]: converts the tree of comrak, at most
//!   [`NESTING`](crate::budgets::NESTING) levels deep
//! - [`html`], [`tags`]: raw HTML becomes text, links, pictures and formatting; [`entities`]:
//!   character references in it
//! - [`pictures`]: the width of pictures, and pictures side by side; [`embedded`]: pictures whose
//!   address is their data
//! - [`captions`]: numbers of figures and tables; [`heading_ids`]: ids of headings
//! - [`html_blocks`], [`html_lists`], [`html_table`], [`figures`]: blocks of raw HTML become lists,
//!   tables, captions and other blocks
//! - [`brackets`]: formulas in `\\( … \\)`; [`slide_settings`]: front matter of single slides;
//!   [`slots`]: columns of Slidev
//! - [`columns`]: fenced divs become columns
//! - [`mend`]: repairs content that CommonMark would drop; [`references`]: reference links that comrak
//!   would drop
//! - [`citations`]: reported, since they are not supported
//! - [`clean`]: removes control characters and unsafe links

mod blocks;
mod brackets;
mod captions;
mod citations;
pub(crate) mod clean;
mod columns;
mod embedded;
mod entities;
mod figures;
mod front_matter;
mod heading_ids;
mod html;
mod html_blocks;
mod html_lists;
mod html_table;
mod inlines;
mod losses;
mod mend;
mod pictures;
mod reader;
mod references;
mod slide_settings;
mod slots;
mod tags;

use std::collections::HashSet;
use std::sync::Arc;

use comrak::nodes::{Node, NodeValue};
use comrak::{Arena, Options};

use crate::Document;
use crate::budgets::{SOURCE_BYTES, TABLE_CELLS, TABLE_COLUMNS};
use crate::document::Inline;
use crate::rendered::RenderError;

/// Parses CommonMark + GFM with front matter. Content that the model cannot represent is listed in
/// [`Document::warnings`]; only a source over a limit is an error.
pub fn read(source: &str) -> Result<Document, RenderError> {
    if source.len() > SOURCE_BYTES {
        return Err(RenderError::TooLarge(format!(
            "The text has {} bytes; the limit is {SOURCE_BYTES}. Split it into several documents.",
            source.len()
        )));
    }
    let (source, removed) = clean::source(source);
    let mut losses = losses::Losses::default();
    losses.controls(removed);
    let (meta, body) = front_matter::split(&source, &mut losses);
    let body = slide_settings::apart(body, &mut losses);
    let body = slots::to_columns(&body);
    let body = columns::apart(&body);
    let body = brackets::to_dollars(&body);
    let references = Arc::new(references::References::of(&body));
    let (arena, options) = (Arena::new(), options(&references));
    let mut mending = mend::Mending::of(&body);
    let mut root = comrak::parse_document(&arena, mending.text(), &options);
    check_tables(root)?;
    while mending.mends(root) {
        root = comrak::parse_document(&arena, mending.text(), &options);
        check_tables(root)?;
    }
    mending.report(&mut losses);
    if references.settle(mending.text(), &extensions()) {
        root = comrak::parse_document(&arena, mending.text(), &options);
    }
    references.report(&mut losses);
    let mut reader = reader::Reader::new(root, mending.text(), losses);
    let mut blocks = columns::gather(reader.blocks(root, 0));
    let (comments, notes) = (reader.comment_notes(), reader.notes());
    blocks.append(&mut reader.orphans);
    let mut document = Document {
        meta,
        blocks,
        notes,
        comments,
        warnings: reader.losses.warnings(),
        widths: reader.widths,
        heights: reader.heights,
        ..Document::default()
    };
    captions::number(&mut document, &reader.names);
    embedded::settle(&mut document);
    heading_ids::resolve(&mut document);
    citations::report(&mut document);
    Ok(document)
}

/// The URLs of the pictures in a document whose data is not in [`Document::assets`], each once, in the
/// order of their first use, so that the caller can add it.
pub fn image_urls(document: &Document) -> Vec<String> {
    let (mut urls, mut seen) = (Vec::new(), HashSet::new());
    document.each_inline(&mut |inline| {
        if let Inline::Image { url, .. } = inline
            && !document.assets.contains_key(url)
            && seen.insert(url.clone())
        {
            urls.push(url.clone());
        }
    });
    urls
}

fn options(references: &Arc<references::References>) -> Options<'static> {
    let mut options = extensions();
    options.parse.broken_link_callback = Some(references.clone());
    options
}

fn extensions() -> Options<'static> {
    let mut options = Options::default();
    options.extension.strikethrough = true;
    options.extension.table = true;
    options.extension.autolink = true;
    options.extension.tasklist = true;
    options.extension.footnotes = true;
    options.extension.description_lists = true;
    options.extension.alerts = true;
    options.extension.math_dollars = true;
    options.extension.highlight = true;
    options.extension.cjk_friendly_emphasis = true;
    options.parse.leave_footnote_definitions = true;
    options
}

/// Rows with missing cells are filled up, so that 8 kB of source could otherwise create two million
/// cells.
fn check_tables(root: Node) -> Result<(), RenderError> {
    let mut cells = 0_usize;
    for node in root.descendants() {
        if let NodeValue::Table(table) = &node.data().value {
            if table.num_columns > TABLE_COLUMNS {
                return Err(RenderError::TooLarge(format!(
                    "A table has {} columns; the limit is {TABLE_COLUMNS}. Split the table.",
                    table.num_columns
                )));
            }
            cells = cells.saturating_add(table.num_columns.saturating_mul(table.num_rows + 1));
        }
    }
    if cells > TABLE_CELLS {
        return Err(RenderError::TooLarge(format!(
            "The tables have {cells} cells; the limit is {TABLE_CELLS}. Split the document."
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
