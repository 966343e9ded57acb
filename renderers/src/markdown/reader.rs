//! The state of a parser run.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use comrak::nodes::{Node, NodeValue};

use super::heading_ids;
use super::losses::Losses;
use crate::document::{Block, COMMENT_NAME, PictureWidth};

/// Converts one tree; collects the footnotes it references and the content it drops.
pub struct Reader<'a> {
    pub losses: Losses,
    pub definitions: HashMap<String, Node<'a>>,
    /// Names of footnotes in the order of their first reference.
    pub mentioned: Vec<String>,
    /// The index of each of these names.
    pub numbers: HashMap<String, usize>,
    /// Footnotes in footnotes are not supported: they become a number.
    pub in_note: bool,
    /// Comments of the current paragraph; they follow it.
    pub comments: Vec<String>,
    /// Footnotes that only other footnotes reference; they are appended to the text.
    pub orphans: Vec<Block>,
    /// The width of pictures by their URL.
    pub widths: BTreeMap<String, PictureWidth>,
    /// The maximum height of pictures by their URL, in pixels.
    pub heights: BTreeMap<String, f64>,
    /// The names of pictures by their URL, for references to them.
    pub names: BTreeMap<String, String>,
    /// The number of charts so far, valid or not.
    pub charts: usize,
    /// The cells of all HTML tables so far.
    pub html_cells: usize,
    /// The first lines of headings with braces that are no id.
    pub escaped_ids: HashSet<usize>,
}

impl<'a> Reader<'a> {
    /// A reader of the tree that `source` was parsed to.
    pub fn new(root: Node<'a>, source: &str, losses: Losses) -> Self {
        let mut definitions = HashMap::new();
        for node in root.descendants() {
            if let NodeValue::FootnoteDefinition(note) = &node.data().value {
                definitions.entry(note.name.clone()).or_insert(node);
            }
        }
        Reader {
            losses,
            definitions,
            mentioned: Vec::new(),
            numbers: HashMap::new(),
            in_note: false,
            comments: Vec::new(),
            orphans: Vec::new(),
            widths: BTreeMap::new(),
            heights: BTreeMap::new(),
            names: BTreeMap::new(),
            charts: 0,
            html_cells: 0,
            escaped_ids: heading_ids::escaped(root, source),
        }
    }

    /// The index of a footnote, if it exists and the current text is not a footnote itself.
    pub fn note(&mut self, name: &str) -> Option<usize> {
        if self.in_note || !self.definitions.contains_key(name) {
            return None;
        }
        if let Some(known) = self.numbers.get(name) {
            return Some(*known);
        }
        let number = self.mentioned.len();
        self.numbers.insert(name.to_owned(), number);
        self.mentioned.push(name.to_owned());
        Some(number)
    }

    /// The footnotes that are comments.
    pub fn comment_notes(&self) -> BTreeSet<usize> {
        let names = self.mentioned.iter().enumerate();
        names.filter(|(_, name)| name.starts_with(COMMENT_NAME)).map(|(index, _)| index).collect()
    }
}
