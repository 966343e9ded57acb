//! The lists of a Word file: which of their levels are numbered, and the labels of their items.

use std::collections::HashMap;

use super::{
    archive::Archive,
    item_labels::{LabelNumerals, item_mark},
    limits,
    reading::ReadError,
    words::ItemMark,
    xml::{XmlElement, XmlNode, walk},
};
use crate::package::numerals::Numerals;

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
    levels: [WordLevel; LEVELS],
}

#[derive(Default)]
struct WordLevel {
    /// `None` where the level is not numbered.
    numerals: Option<LabelNumerals>,
    /// The label, with `%1` to `%9` for the numbers of the levels.
    text: Option<String>,
    /// Whether all numbers of the label are digits.
    is_legal: bool,
    start: Option<u64>,
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
        let level = level.min(LEVELS - 1);
        let Some(list) = self.lists.get(id) else { return ItemMark::Bullet };
        let Some(kind) = self.kinds.get(&list.kind) else { return ItemMark::Bullet };
        let is_own = list.starts.iter().any(Option::is_some);
        let key = if is_own { id.to_owned() } else { format!("kind {}", list.kind) };
        let counts = self.counts.entry(key).or_default();
        let first = |level: usize| list.starts[level].or(kind.levels[level].start).unwrap_or(1);
        let number = counts[level].map_or(first(level), |last| last.saturating_add(1));
        counts[level] = Some(number);
        counts[level + 1..].fill(None);
        let own = &kind.levels[level];
        if let Some(done) = own.text.as_deref().and_then(task) {
            return ItemMark::Task(done);
        }
        if own.numerals.is_none() {
            return ItemMark::Bullet;
        }
        let numbers = std::array::from_fn(|at| counts[at].unwrap_or_else(|| first(at)));
        item_mark(&kind.label(level, &numbers), level, number)
    }
}

impl ListKind {
    /// The label of an item, given the last numbers of all levels.
    fn label(&self, level: usize, numbers: &[u64; LEVELS]) -> String {
        let own = &self.levels[level];
        let Some(pattern) = &own.text else { return format!("{}.", numbers[level]) };
        let mut label = String::new();
        let mut signs = pattern.chars().peekable();
        while let Some(sign) = signs.next() {
            let digit = signs.peek().and_then(|next| next.to_digit(10));
            let other = digit.filter(|digit| sign == '%' && *digit > 0);
            let Some(other) = other.map(|digit| digit as usize - 1) else {
                label.push(sign);
                continue;
            };
            signs.next();
            let numerals = self.levels[other].numerals.filter(|_| !own.is_legal);
            label.push_str(&numerals.unwrap_or(LabelNumerals::DIGITS).write(numbers[other]));
        }
        label
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
        let attribute = |name: &str| limits::name(element.attribute(name).unwrap_or_default());
        let start = || element.number("val").map(|start| start as u64);
        match (element.name.as_str(), &self.list) {
            ("abstractNum", _) => (self.kind, self.list) = (attribute("abstractNumId"), None),
            ("lvl" | "lvlOverride", _) => {
                self.level = element.number("ilvl").unwrap_or(0).min(LEVELS - 1);
            }
            ("numFmt", None) => self.level().numerals = numerals(&attribute("val")),
            ("lvlText", None) => self.level().text = Some(attribute("val")),
            ("isLgl", None) => self.level().is_legal = element.is_on(),
            ("start", None) => self.level().start = start(),
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

    fn level(&mut self) -> &mut WordLevel {
        let kind = self.found.kinds.entry(self.kind.clone()).or_default();
        &mut kind.levels[self.level]
    }
}

/// How a level with this number format is counted; `None` if it is not. Numbers in words and of
/// other scripts are written as digits.
fn numerals(format: &str) -> Option<LabelNumerals> {
    let is_upper = format.starts_with("upper");
    let numerals = match format {
        "bullet" | "none" => return None,
        "lowerLetter" | "upperLetter" => Numerals::Letters,
        "lowerRoman" | "upperRoman" => Numerals::Roman,
        _ => Numerals::Digits,
    };
    Some(LabelNumerals { numerals, is_upper, repeats: true })
}

/// Whether the task with this bullet is done; `None` if it is no box.
pub fn task(bullet: &str) -> Option<bool> {
    match bullet {
        "☐" => Some(false),
        "☒" | "☑" => Some(true),
        _ => None,
    }
}
