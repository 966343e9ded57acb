//! Estimates the number of pages by measuring text.

use std::collections::HashMap;

use super::anchors::{HeadingAnchors, LEVELS};
use super::paper::{paper, turned, turned_width};
use super::sections::word_sections;
use super::tables::{self, PADDING, points};
use crate::Document;
use crate::document::{Block, Inline, Table};
use crate::package::fitting::Rooms;
use crate::package::measure::{Face, lines};
use crate::package::text::{DEPTH, begins_page, caption_of, flat, plain, rows};

/// The height of a line of body text and the space after a paragraph, in points.
const LINE: f64 = 14.5;
const AFTER: f64 = 7.0;
/// The height of a line in a table, in font sizes.
const TABLE_LEADING: f64 = 1.35;

/// The estimated number of pages. It is accurate enough for a limit, not exact.
pub fn pages(document: &Document) -> usize {
    let (width, height) = paper(document);
    let [top, right, bottom, left] = document.meta.margins();
    let room = (height - top - bottom) as f64 / 20.0;
    let width = (width - left - right) as f64 / 20.0;
    let notes: f64 = document.notes.iter().map(|note| blocks(note, width, 0)).sum();
    let mut points = blocks(&document.blocks, width, 0) + notes * 0.9;
    if document.meta.contents {
        points += HeadingAnchors::of(document).all.len() as f64 * 18.0;
    }
    let cover = usize::from(document.meta.cover);
    (points / room).ceil().max(1.0) as usize + cover
}

/// The estimated pages of all headings, in the order of [`HeadingAnchors`].
pub fn pages_of_headings(document: &Document) -> Vec<usize> {
    counted(document).found
}

/// The estimated pages of all captions by their text.
pub fn pages_of_captions(document: &Document) -> HashMap<String, usize> {
    counted(document).captions
}

/// The height of the table of contents, in points.
fn contents_height(document: &Document) -> f64 {
    let headings = HeadingAnchors::of(document).all;
    match headings.iter().filter(|heading| heading.level <= LEVELS).count() {
        count if document.meta.contents && count > 0 => count as f64 * CONTENTS_LINE + 40.0,
        _ => 0.0,
    }
}

/// Whether the table of contents ends its page: if there is a cover, or if it is longer than the page
/// on which it begins. A document that begins with a page break needs no other.
pub fn contents_end_page(document: &Document) -> bool {
    let listed = contents_height(document);
    let begins_page = |block: &Block| matches!(block, Block::Comment(text) if begins_page(text));
    let is_long =
        document.meta.cover || TITLE + listed > room(document, document.meta.page.landscape);
    listed > 0.0 && is_long && !document.blocks.first().is_some_and(begins_page)
}

fn counted(document: &Document) -> PageCount<'_> {
    let listed = contents_height(document);
    let (found, captions) = (Vec::new(), HashMap::new());
    let room = room(document, document.meta.page.landscape);
    let mut pages = PageCount { document, room, page: 1, used: 0.0, found, captions };
    if document.meta.cover {
        pages.turn();
        pages.take(listed);
    } else {
        pages.take(TITLE + listed);
    }
    if contents_end_page(document) {
        pages.turn();
    }
    for (at, section) in word_sections(document).into_iter().enumerate() {
        if at > 0 {
            pages.turn();
        }
        pages.room = self::room(document, section.is_landscape);
        let width = points(turned_width(document, section.is_landscape));
        for block in &document.blocks[section.blocks] {
            pages.block(block, width);
        }
    }
    pages
}

/// The height of the text on a page, in points.
fn room(document: &Document, is_landscape: bool) -> f64 {
    let [top, _, bottom, _] = document.meta.margins();
    points(turned(document, is_landscape).1 - top - bottom)
}

/// The height of the title above the text, in points.
const TITLE: f64 = 80.0;
/// The height of a line of the table of contents, in points.
const CONTENTS_LINE: f64 = 18.0;
/// A heading stays with that much of the text below it.
const BELOW_HEADING: f64 = 60.0;

/// Blocks on pages.
struct PageCount<'d> {
    document: &'d Document,
    room: f64,
    page: usize,
    used: f64,
    /// The pages of the headings.
    found: Vec<usize>,
    /// The pages of the captions.
    captions: HashMap<String, usize>,
}

impl PageCount<'_> {
    fn block(&mut self, block: &Block, width: f64) {
        let high = height(block, width, 0);
        match block {
            Block::Comment(text) if begins_page(text) => self.turn(),
            Block::Heading { .. } => self.keep(high + BELOW_HEADING),
            Block::Chart(_) | Block::Math(_) => self.keep(high),
            Block::Paragraph(content) if matches!(content[..], [Inline::Image { .. }]) => {
                self.keep(high);
            }
            Block::Table(table) if table.rows.len() <= 12 => self.keep(high),
            _ => {}
        }
        self.note(block, 0);
        self.take(high);
    }

    /// Begins a page if less than `high` is left.
    fn keep(&mut self, high: f64) {
        if self.used > 0.0 && self.used + high > self.room && high < self.room {
            self.turn();
        }
    }

    fn turn(&mut self) {
        (self.page, self.used) = (self.page + 1, 0.0);
    }

    fn take(&mut self, high: f64) {
        self.used += high;
        let full = (self.used / self.room).floor();
        self.page += full as usize;
        self.used -= full * self.room;
    }

    /// Notes the page of the headings and captions in a block.
    fn note(&mut self, block: &Block, depth: usize) {
        if depth > DEPTH {
            return;
        }
        let mut all = |blocks: &[Block]| blocks.iter().for_each(|b| self.note(b, depth + 1));
        match block {
            Block::Heading { .. } => self.found.push(self.page),
            Block::Paragraph(_) => {
                let caption = caption_of(block);
                let caption = caption.filter(|text| self.document.captions.contains_key(text));
                if let Some(caption) = caption {
                    self.captions.entry(caption).or_insert(self.page);
                }
            }
            Block::Quote { blocks, .. } => all(blocks),
            Block::Columns(columns) => columns.iter().for_each(|column| all(column)),
            Block::List(list) => list.items.iter().for_each(|item| all(&item.blocks)),
            Block::Definitions(terms) => terms.iter().for_each(|item| all(&item.description)),
            _ => {}
        }
    }
}

/// The height of some blocks in points.
fn blocks(blocks: &[Block], width: f64, depth: usize) -> f64 {
    if depth > DEPTH {
        return flat(blocks).len() as f64 * (LINE + AFTER);
    }
    blocks.iter().map(|block| height(block, width.max(60.0), depth)).sum()
}

fn height(block: &Block, width: f64, depth: usize) -> f64 {
    match block {
        Block::Heading { .. } => 36.0,
        Block::Paragraph(content) => match &content[..] {
            [Inline::Image { .. }] => 220.0,
            _ => text(content, width, 11.0) * LINE + AFTER,
        },
        Block::List(list) => {
            list.items.iter().map(|item| blocks(&item.blocks, width - 21.0, depth + 1)).sum()
        }
        Block::Table(table) => table_height(table, width),
        Block::Code { text, .. } => {
            let room = (width * 1000.0 / 9.5) as u32;
            lines(text, Face::Code, room) as f64 * 12.0 + 20.0
        }
        Block::Quote { blocks: inside, .. } => blocks(inside, width - 20.0, depth + 1) + 20.0,
        Block::Definitions(terms) => {
            let width = width - 28.0;
            terms.iter().map(|item| LINE + blocks(&item.description, width, depth + 1)).sum()
        }
        Block::Columns(columns) => {
            let share = width / columns.len().max(1) as f64 - 14.0;
            columns.iter().map(|inside| blocks(inside, share, depth + 1)).fold(0.0, f64::max)
        }
        Block::Chart(_) => 270.0,
        Block::Math(_) => 40.0,
        Block::Break => 20.0,
        Block::Comment(_) => 0.0,
    }
}

/// The height of a table with the columns and the font size that it has in the file.
fn table_height(table: &Table, width: f64) -> f64 {
    let fitting = tables::fit(table, Rooms { upright: width, landscape: None });
    if !fitting.parts.is_empty() {
        return fitting.parts.iter().map(|part| table_height(part, width)).sum();
    }
    let size = fitting.points;
    let columns = tables::twips(table, (width * 20.0) as i64, (size * 2.0) as i64, &[]);
    let high = |row: &Vec<Vec<Inline>>| {
        let cells = row.iter().zip(&columns);
        let lines = cells.map(|(cell, width)| text(cell, points(width - PADDING).max(6.0), size));
        lines.fold(1.0, f64::max) * size * TABLE_LEADING + 6.0
    };
    rows(table).map(high).sum::<f64>() + AFTER
}

fn text(content: &[Inline], width: f64, points: f64) -> f64 {
    lines(&plain(content), Face::Text, (width * 1000.0 / points) as u32) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_have_the_pages_on_which_they_are() {
        let text = "word ".repeat(2_000);
        let source = format!("# A\n\n{text}\n\n> # B\n\n<!-- pagebreak -->\n\n# C\n");
        let document = crate::markdown::read(&source).unwrap();
        let pages = pages_of_headings(&document);
        assert_eq!(pages, [1, 3, 4]);
    }

    #[test]
    fn long_contents_have_pages_of_their_own() {
        let of = |count: usize| {
            let source = format!("---\ntitle: T\ncontents: true\n---\n{}", "# A\n".repeat(count));
            pages_of_headings(&crate::markdown::read(&source).unwrap())[0]
        };
        assert_eq!([of(20), of(60)], [1, 3]);
    }

    #[test]
    fn a_page_break_after_the_contents_counts_once() {
        let of = |meta: &str, count: usize| {
            let front = format!("---\ntitle: T\ncontents: true\n{meta}---\n");
            let source = format!("{front}<!-- pagebreak -->\n\n{}", "# A\n".repeat(count));
            let document = crate::markdown::read(&source).unwrap();
            (pages_of_headings(&document)[0], contents_end_page(&document))
        };
        assert_eq!([of("", 20), of("", 60)], [(2, false), (3, false)]);
        assert_eq!([of("cover: true\n", 20), of("cover: true\n", 60)], [(3, false), (4, false)]);
    }

    #[test]
    fn sections_and_columns_of_tables_count() {
        let of = |source: &str| pages_of_headings(&crate::markdown::read(source).unwrap());
        let source = "# A\n\n<!-- landscape -->\n\n# B\n\n<!-- portrait -->\n\n# C\n";
        assert_eq!(of(source), [1, 2, 3]);
        let wide = format!("{}\n{}\n", "|Revenue".repeat(14), "|-".repeat(14));
        let source = format!("# A\n\ntext\n\n{wide}{}\n\n# B\n", "|333,466".repeat(14));
        assert_eq!(of(&source), [1, 3]);
        let row = format!("|1|2|3|{}|\n", "many words ".repeat(30));
        let source = format!("# A\n\n|a|b|c|d|\n|-|-|-|-|\n{}\n# B\n", row.repeat(10));
        assert_eq!(of(&source), [1, 2]);
    }

    #[test]
    fn captions_have_the_pages_on_which_they_are() {
        let source = "<!-- figures -->\n\n\\newpage\n\n![One](a.png){#fig:a}\n\n\\newpage\n\nTable: Two {#tbl:b}\n\n|x|\n|-|\n|1|\n";
        let pages = pages_of_captions(&crate::markdown::read(source).unwrap());
        assert_eq!([pages["Figure 1: One"], pages["Table 1: Two"]], [2, 3]);
    }

    #[test]
    fn longer_texts_have_more_pages() {
        let of = |count: usize| {
            let paragraph = Block::Paragraph(vec![Inline::Text("word ".repeat(200))]);
            pages(&Document { blocks: vec![paragraph; count], ..Document::default() })
        };
        assert_eq!((of(0), of(1)), (1, 1));
        assert!((10..40).contains(&of(60)), "{}", of(60));
    }
}
