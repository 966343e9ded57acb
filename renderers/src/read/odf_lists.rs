//! The lists of an OpenDocument file: which of their levels are numbered, and the labels of their
//! items.

use std::collections::HashMap;

use super::{
    item_labels::{LabelNumerals, item_mark},
    limits,
    words::ItemMark,
    xml::XmlElement,
};
use crate::package::numerals::Numerals;

/// The last level that has a style of its own, counted from one. Deeper lists have that style.
const DEEPEST: usize = 10;

/// The styles of lists, and the lists that are open.
#[derive(Default)]
pub struct OdfLists {
    /// The style that is being read.
    style: String,
    /// The numbered levels, by the name of their style.
    styles: HashMap<String, HashMap<usize, NumberedLevel>>,
    open: Vec<OdfList>,
    /// The last number of each outermost list that has ended, by its style.
    ended: HashMap<String, u64>,
}

/// A numbered level of a style.
struct NumberedLevel {
    numerals: LabelNumerals,
    prefix: String,
    suffix: String,
    /// How many numbers the label has: those of the outer levels are before its own.
    shown: usize,
}

impl NumberedLevel {
    /// The level that an element describes; `None` if it shows no number.
    fn read(element: &XmlElement) -> Option<Self> {
        let attribute = |name: &str| limits::name(element.attribute(name).unwrap_or_default());
        let format = element.attribute("num-format").unwrap_or("1");
        let numerals = match format {
            "" => return None,
            "a" | "A" => Numerals::Letters,
            "i" | "I" => Numerals::Roman,
            _ => Numerals::Digits,
        };
        let is_upper = matches!(format, "A" | "I");
        let repeats = element.attribute("num-letter-sync") == Some("true");
        Some(Self {
            numerals: LabelNumerals { numerals, is_upper, repeats },
            prefix: attribute("num-prefix"),
            suffix: attribute("num-suffix"),
            shown: element.number("display-levels").unwrap_or(1),
        })
    }
}

struct OdfList {
    style: String,
    last: u64,
    /// Whether the next paragraph is the first of its item.
    begins: bool,
}

impl OdfLists {
    /// Reads an element of the styles.
    pub fn read_style(&mut self, element: &XmlElement) {
        let name = || element.attribute("name").unwrap_or_default();
        match element.name.as_str() {
            "list-style" => self.style = limits::name(name()),
            "list-level-style-number" => {
                let level = element.number("level").unwrap_or(1);
                if let Some(numbered) = NumberedLevel::read(element).filter(|_| level <= DEEPEST) {
                    self.styles.entry(self.style.clone()).or_default().insert(level, numbered);
                }
            }
            _ => {}
        }
    }

    /// Begins a list. An inner list has the style of the outer one, unless it names its own.
    pub fn open(&mut self, element: &XmlElement) {
        let own = element.attribute("style-name").map(limits::name);
        let outer = self.open.last().map(|list| list.style.clone());
        let style = own.or(outer).unwrap_or_default();
        let continues = element.attribute("continue-numbering") == Some("true")
            || element.attribute("continue-list").is_some();
        let before = continues.then(|| self.ended.get(&style).copied()).flatten();
        self.open.push(OdfList { style, last: before.unwrap_or(0), begins: false });
    }

    pub fn item(&mut self, element: &XmlElement) {
        if let Some(list) = self.open.last_mut() {
            let start = element.number("start-value").map(|start| start as u64);
            list.last = start.unwrap_or(list.last.saturating_add(1));
            list.begins = true;
        }
    }

    pub fn close(&mut self) {
        if let Some(list) = self.open.pop().filter(|_| self.open.is_empty()) {
            self.ended.insert(list.style, list.last);
        }
    }

    /// The depth of the innermost list; `None` outside of lists.
    pub fn depth(&self) -> Option<usize> {
        self.open.len().checked_sub(1)
    }

    /// The mark of a paragraph. Only the first of an item of a numbered list has its number.
    pub fn mark(&mut self) -> ItemMark {
        let depth = self.open.len();
        let Some(list) = self.open.last_mut() else { return ItemMark::Bullet };
        let (begins, number) = (std::mem::take(&mut list.begins), list.last);
        let levels = self.styles.get(&list.style);
        let level = |level: usize| levels.and_then(|levels| levels.get(&level.min(DEEPEST)));
        let Some(own) = level(depth).filter(|_| begins) else { return ItemMark::Bullet };
        let shown = (1..=depth).skip(depth.saturating_sub(own.shown.max(1)));
        let numbers = shown.filter_map(|at| {
            let last = self.open.get(at - 1)?.last;
            Some(level(at)?.numerals.write(last))
        });
        let numbers: Vec<String> = numbers.collect();
        let label = [own.prefix.as_str(), &numbers.join("."), &own.suffix].concat();
        item_mark(&label, depth - 1, number)
    }
}
