//! The state of a rendering.

use std::collections::{HashMap, HashSet};

use super::directions;
use super::images::Pictures;
use super::marks::grounded;
use crate::Document;
use crate::document::{Anchors, Block, Page, PageSize, each_block_of};
use crate::package::look;
use crate::package::measure::{self, Face};
use crate::package::warnings::Warnings;
use crate::rendered::Warning;

/// The font size of the template, in points.
pub const POINTS: f64 = 10.5;

/// One pass over a document.
pub struct Drawing<'a> {
    pub document: &'a Document,
    pub pictures: &'a Pictures,
    /// Heading numbers by anchor.
    pub anchors: HashMap<String, usize>,
    pub seen_notes: HashSet<usize>,
    /// The anchors of all captions.
    pub caption_anchors: HashSet<&'a str>,
    /// The captions that links can lead to.
    pub seen_captions: HashSet<String>,
    pub note_place: NotePlace,
    /// Footnotes that follow the block that is drawn.
    pub held_notes: Vec<usize>,
    /// The available width and height for a picture, in points.
    pub room: PrintArea,
    /// The font size, in points.
    pub points: f64,
    /// The font families for the text of charts, in SVG syntax.
    pub faces: String,
    /// Whether any text is right-to-left.
    pub rtl: bool,
    /// Whether most of the text is.
    pub is_mostly_rtl: bool,
    /// The number of the next heading.
    pub headings: usize,
    /// The number of the first heading of each footnote, after those of the text.
    pub note_headings: Vec<usize>,
    /// The number of blocks around the current content.
    pub depth: usize,
    /// The number of lists around the current block.
    pub lists: usize,
    /// The levels of the enclosing headings. PDF/UA allows a heading to be at most one level deeper
    /// than its parent, so levels that an author skips are not counted.
    pub above: Vec<u8>,
    pub warnings: Warnings,
}

impl<'a> Drawing<'a> {
    pub fn new(document: &'a Document, pictures: &'a Pictures) -> Self {
        let (mut names, mut anchors) = (Anchors::default(), HashMap::new());
        number_headings(&document.blocks, &mut names, &mut anchors);
        let mut note_headings = Vec::with_capacity(document.notes.len());
        for note in &document.notes {
            note_headings.push(anchors.len());
            number_headings(note, &mut names, &mut anchors);
        }
        Drawing {
            document,
            pictures,
            anchors,
            seen_notes: HashSet::new(),
            caption_anchors: document.captions.values().map(String::as_str).collect(),
            seen_captions: HashSet::new(),
            note_place: NotePlace::Here,
            held_notes: Vec::new(),
            room: room(document),
            points: POINTS,
            faces: String::new(),
            rtl: directions::any_rtl(document),
            is_mostly_rtl: look::is_mostly_rtl(document),
            headings: 0,
            note_headings,
            depth: 0,
            lists: 0,
            above: Vec::new(),
            warnings: Warnings::default(),
        }
    }

    /// Draws with that font size.
    pub fn sized<T>(&mut self, points: f64, draw: impl FnOnce(&mut Self) -> T) -> T {
        let before = std::mem::replace(&mut self.points, points);
        let drawn = draw(self);
        self.points = before;
        drawn
    }

    /// `text`, with break opportunities in words that would overflow their line or cell.
    pub fn breakable(&self, text: &str, voice: TextVoice) -> String {
        let (face, scale, around) = match voice {
            // Noto Sans is slightly wider than the font that is measured.
            TextVoice::Text => (Face::Text, 1.15, 0.0),
            TextVoice::Code => (Face::Code, 0.88, 0.0),
            TextVoice::CodeBlock => (Face::Code, 0.784, 16.0),
        };
        let room = ((self.room.width - around) * 1_000.0 / (self.points * scale)) as u32;
        breakable(text, face, room)
    }

    pub fn warn(&mut self, warning: impl Into<Warning>) {
        self.warnings.add(warning);
    }
}

/// Numbers the headings of some blocks, after those that have a number.
fn number_headings(blocks: &[Block], names: &mut Anchors, anchors: &mut HashMap<String, usize>) {
    each_block_of(blocks, &mut |block| {
        if let Block::Heading { content, .. } = block {
            anchors.insert(names.next(content), anchors.len());
        }
    });
}

/// Where the footnotes of a text are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotePlace {
    /// At their references.
    Here,
    /// After the block, with their references: Typst draws the header of a table on each page.
    After,
    /// After the block, with references in it: Typst draws headings in the contents as well.
    Mentioned,
}

/// The role of a text, which decides its size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextVoice {
    Text,
    Code,
    CodeBlock,
}

/// Inserts zero-width spaces, which the template treats as break opportunities, into words wider
/// than `room` (in thousandths of an em). A word ends at a regular break opportunity (space,
/// hyphen, Han character).
fn breakable(text: &str, face: Face, room: u32) -> String {
    let text = &*grounded(text);
    let ends_word = |c: char| c.is_whitespace() || c == '-' || c as u32 >= 0x2e80;
    let width = |word: &str| measure::width(word.trim_end(), face);
    if width(text) <= room || text.split_inclusive(ends_word).all(|word| width(word) <= room) {
        return text.to_owned();
    }
    let mut broken = String::with_capacity(text.len() * 2);
    for word in text.split_inclusive(ends_word) {
        let wide = width(word).max(1) as usize;
        let fitting = word.chars().count() * room as usize / wide;
        let step = if wide > room as usize { (fitting / 2).max(2) } else { usize::MAX };
        for (at, c) in word.chars().enumerate() {
            if at > 0 && at % step == 0 {
                broken.push('\u{200b}');
            }
            broken.push(c);
        }
    }
    broken
}

/// The space for pictures and tables, in points.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PrintArea {
    pub width: f64,
    pub height: f64,
}

impl PrintArea {
    /// The space within something that takes some of the width, which stays positive.
    pub fn narrowed(self, by: f64) -> Self {
        Self { width: (self.width - by).max(8.0), ..self }
    }
}

/// The room of a page with the other orientation.
pub fn turned_room(document: &Document) -> PrintArea {
    let mut page = document.meta.page;
    page.landscape = !page.landscape;
    room_of(page, document)
}

/// The room of a page.
pub fn room(document: &Document) -> PrintArea {
    room_of(document.meta.page, document)
}

/// What is reserved for the caption of a picture, in points.
pub const CAPTION: f64 = 60.0;

/// The page without its margins and the caption of a picture, in points.
fn room_of(page: Page, document: &Document) -> PrintArea {
    let (width, height) = match page.size {
        PageSize::A4 => (595.2, 841.8),
        PageSize::Letter => (612.0, 792.0),
    };
    let (width, height) = if page.landscape { (height, width) } else { (width, height) };
    let [top, right, bottom, left] = document.meta.margins().map(|twips| twips as f64 / 20.0);
    let text = width - left - right;
    // Typst uses 4 % of the width as the gap between columns.
    let text = if page.two_columns { text * 0.48 } else { text };
    PrintArea { width: text, height: height - top - bottom - CAPTION }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Inline;

    #[test]
    fn headings_of_footnotes_do_not_count_for_those_of_the_text() {
        let source = "a[^n]\n\n# B\n\n[^n]: note\n\n    # In\n";
        let document = crate::markdown::read(source).unwrap();
        let pictures = Pictures::default();
        let mut drawing = Drawing::new(&document, &pictures);
        assert_eq!([drawing.anchors["b"], drawing.anchors["in"]], [0, 1]);
        drawing.blocks(&document.blocks);
        assert_eq!((drawing.headings, drawing.seen_notes.len()), (1, 1));
    }

    #[test]
    fn a_page_break_in_a_footnote_is_ignored_outside_of_blocks_too() {
        let source = "a[^n]\n\n[^n]: note\n\n    <!-- pagebreak -->\n\n    more\n";
        let document = crate::markdown::read(source).unwrap();
        let pictures = Pictures::default();
        let mut drawing = Drawing::new(&document, &pictures);
        drawing.inlines(&[Inline::Footnote(0)]);
        assert_eq!((drawing.depth, drawing.warnings.list().len()), (0, 1));
    }

    #[test]
    fn words_without_room_get_places_to_break_and_others_stay() {
        let code = |text: &str, letters: u32| breakable(text, Face::Code, letters * 602);
        assert_eq!(code("a short text", 6), "a short text");
        assert_eq!(code("中文中文中文中文CJK-12中文", 8), "中文中文中文中文CJK-12中文");
        assert_eq!(code("ab xxxxxxxxxx", 8), "ab xxxx\u{200b}xxxx\u{200b}xx");
        assert_eq!(code(&"x".repeat(48), 48).matches('\u{200b}').count(), 0);
        assert_eq!(code(&"x".repeat(60), 48).matches('\u{200b}').count(), 2);
        assert!(code("xxxxxx", 0).contains('\u{200b}'));
    }
}
