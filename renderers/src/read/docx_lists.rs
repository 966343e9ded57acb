//! The lists of a Word file: which of their levels are numbered, and their numbers.

use std::collections::HashMap;

use super::{
    archive::Archive,
    reading::ReadError,
    words::ItemMark,
    xml::{XmlElement, XmlNode, walk},
};

const LEVELS: usize = 9;

/// The lists of a file, and how far they have been counted.
#[derive(Default)]
pub struct WordLists {
    kinds: HashMap<String, ListKind>,
    lists: HashMap<String, WordList>,
    /// The last number of each level. Lists of one kind are counted together, unless they begin
    /// with a number of their own.
    counts: HashMap<String, [Option<u64>; LEVELS]>,
}

/// An abstract numbering.
#[derive(Default)]
struct ListKind {
    is_numbered: [bool; LEVELS],
    /// For levels of tasks, whether they are done.
    tasks: [Option<bool>; LEVELS],
    starts: [Option<u64>; LEVELS],
}

#[derive(Default)]
struct WordList {
    kind: String,
    starts: [Option<u64>; LEVELS],
}

impl WordLists {
    pub fn read(archive: &mut Archive) -> Result<Self, ReadError> {
        let mut reader = ListReader::default();
        if let Some(xml) = archive.part("word/numbering.xml")? {
            // A document with damaged lists is still read.
            let _ = walk(&xml, |node| {
                if let XmlNode::Open(element) = node {
                    reader.element(element);
                }
                Ok(())
            });
        }
        Ok(reader.found)
    }

    /// Counts a paragraph of a list and returns what it begins with.
    pub fn mark(&mut self, id: &str, level: usize) -> ItemMark {
        let task = self.kind_of(id).and_then(|kind| kind.tasks[level.min(LEVELS - 1)]);
        let number = self.count(id, level);
        let counted = number.map_or(ItemMark::Bullet, ItemMark::Number);
        task.map_or(counted, ItemMark::Task)
    }

    fn kind_of(&self, id: &str) -> Option<&ListKind> {
        self.kinds.get(&self.lists.get(id)?.kind)
    }

    /// Counts a paragraph of a list and returns its number, if that level is numbered.
    fn count(&mut self, id: &str, level: usize) -> Option<u64> {
        let level = level.min(LEVELS - 1);
        let list = self.lists.get(id)?;
        let kind = self.kinds.get(&list.kind)?;
        let is_own = list.starts.iter().any(Option::is_some);
        let key = if is_own { id.to_owned() } else { format!("kind {}", list.kind) };
        let counts = self.counts.entry(key).or_default();
        let first = list.starts[level].or(kind.starts[level]).unwrap_or(1);
        let number = counts[level].map_or(first, |last| last.saturating_add(1));
        counts[level] = Some(number);
        counts[level + 1..].fill(None);
        kind.is_numbered[level].then_some(number)
    }
}

/// Reads `word/numbering.xml`, where the kinds precede the lists.
#[derive(Default)]
struct ListReader {
    found: WordLists,
    kind: String,
    /// The list that is being read; none among the kinds.
    list: Option<String>,
    level: usize,
}

impl ListReader {
    fn element(&mut self, element: &XmlElement) {
        let attribute = |name: &str| element.attribute(name).unwrap_or_default().to_owned();
        let start = || element.number("val").map(|start| start as u64);
        match (element.name.as_str(), &self.list) {
            ("abstractNum", _) => (self.kind, self.list) = (attribute("abstractNumId"), None),
            ("lvl" | "lvlOverride", _) => {
                self.level = element.number("ilvl").unwrap_or(0).min(LEVELS - 1);
            }
            ("numFmt", None) => {
                let is_numbered = !matches!(attribute("val").as_str(), "bullet" | "none");
                let level = self.level;
                self.kind().is_numbered[level] = is_numbered;
            }
            ("lvlText", None) => {
                let level = self.level;
                self.kind().tasks[level] = task(&attribute("val"));
            }
            ("start", None) => {
                let level = self.level;
                self.kind().starts[level] = start();
            }
            ("num", _) => self.list = Some(attribute("numId")),
            ("abstractNumId", Some(list)) => {
                self.found.lists.entry(list.clone()).or_default().kind = attribute("val");
            }
            ("startOverride", Some(list)) => {
                self.found.lists.entry(list.clone()).or_default().starts[self.level] = start();
            }
            _ => {}
        }
    }

    fn kind(&mut self) -> &mut ListKind {
        self.found.kinds.entry(self.kind.clone()).or_default()
    }
}

/// Whether the task with this bullet is done; `None` if it is no box.
pub fn task(bullet: &str) -> Option<bool> {
    match bullet {
        "☐" => Some(false),
        "☒" | "☑" => Some(true),
        _ => None,
    }
}
