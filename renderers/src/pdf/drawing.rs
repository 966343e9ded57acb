//! The state of one drawing.

use std::collections::{HashMap, HashSet};

use super::directions;
use super::images::Pictures;
use crate::Document;
use crate::document::{Anchors, Block, PageSize};

/// The longest word that a line of text, of code surely, holds.
pub const WORD_CHARS: usize = 48;

/// One pass over a document.
pub struct Drawing<'a> {
    pub document: &'a Document,
    pub pictures: &'a Pictures,
    /// Numbers of headings by their anchors.
    pub anchors: HashMap<String, usize>,
    pub seen_notes: HashSet<usize>,
    /// Whether marks of notes wait in `held_notes`.
    pub holds_notes: bool,
    pub held_notes: Vec<usize>,
    /// Width and height for a picture, in points.
    pub room: (f64, f64),
    /// Longer words get places to break, so that they do not run out of their page or cell.
    pub word: usize,
    /// Fonts for the texts of charts, as SVG names them.
    pub faces: String,
    /// Whether anything runs from right to left.
    pub rtl: bool,
    pub headings: usize,
    /// The levels of the headings that the text stands under: PDF/UA lets a heading be at most one
    /// deeper than the one above it, so levels that an author skips do not count.
    pub above: Vec<u8>,
    pub warnings: Vec<String>,
}

impl<'a> Drawing<'a> {
    pub fn new(document: &'a Document, pictures: &'a Pictures) -> Self {
        let mut names = Anchors::default();
        let mut anchors = HashMap::new();
        document.each_block(&mut |block| {
            if let Block::Heading { content, .. } = block {
                anchors.insert(names.next(content), anchors.len());
            }
        });
        Drawing {
            document,
            pictures,
            anchors,
            seen_notes: HashSet::new(),
            holds_notes: false,
            held_notes: Vec::new(),
            room: room(document),
            word: WORD_CHARS,
            faces: String::new(),
            rtl: directions::any_rtl(document),
            headings: 0,
            above: Vec::new(),
            warnings: Vec::new(),
        }
    }

    pub fn warn(&mut self, sentence: String) {
        if !self.warnings.contains(&sentence) {
            self.warnings.push(sentence);
        }
    }
}

/// The page without its margins, in points; a picture keeps a line for what is below it.
fn room(document: &Document) -> (f64, f64) {
    let (width, height) = match document.meta.page.size {
        PageSize::A4 => (595.2, 841.8),
        PageSize::Letter => (612.0, 792.0),
    };
    let (width, height) =
        if document.meta.page.landscape { (height, width) } else { (width, height) };
    let [top, right, bottom, left] = document.meta.margins().map(|twips| twips as f64 / 20.0);
    let text = width - left - right;
    // Typst keeps a twenty-fifth of the text apart from the other column.
    let text = if document.meta.page.two_columns { text * 0.48 } else { text };
    (text, height - top - bottom - 60.0)
}
