//! The state of one reading.

use std::collections::HashMap;

use comrak::nodes::{Node, NodeValue};

use super::losses::Losses;
use crate::document::Block;

/// Reads one tree; remembers which notes it met, and what it could not keep.
pub struct Reader<'a> {
    pub losses: Losses,
    pub definitions: HashMap<String, Node<'a>>,
    /// Names of notes in the order of their first mention.
    pub mentioned: Vec<String>,
    /// A note in a note has no place on a page: it becomes a number there.
    pub in_note: bool,
    /// Comments of the paragraph that is being read; they follow it.
    pub comments: Vec<String>,
    /// Notes that only other notes mention: they stand at the end of the text.
    pub orphans: Vec<Block>,
    /// Charts so far, drawn or not.
    pub charts: usize,
}

impl<'a> Reader<'a> {
    pub fn new(root: Node<'a>, losses: Losses) -> Self {
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
            in_note: false,
            comments: Vec::new(),
            orphans: Vec::new(),
            charts: 0,
        }
    }

    /// The index of a note, if there is one of that name and this is no note itself.
    pub fn note(&mut self, name: &str) -> Option<usize> {
        let known = self.mentioned.iter().position(|mentioned| mentioned == name);
        if known.is_some() || self.in_note || !self.definitions.contains_key(name) {
            return known.filter(|_| !self.in_note);
        }
        self.mentioned.push(name.to_owned());
        Some(self.mentioned.len() - 1)
    }
}
