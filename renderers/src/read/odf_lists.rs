//! The lists of an OpenDocument file: which of their levels are numbered, and their numbers.

use std::collections::{HashMap, HashSet};

use super::xml::XmlElement;

/// Lists deeper than this are read as lists of this depth.
const LEVELS: usize = 9;

/// The styles of lists, and the lists that are open.
#[derive(Default)]
pub struct OdfLists {
    /// The style that is being read.
    style: String,
    /// The numbered levels of styles, counted from one.
    numbered: HashSet<(String, usize)>,
    open: Vec<OdfList>,
    /// The last number of each outermost list that has ended, by its style.
    ended: HashMap<String, u64>,
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
            "list-style" => name().clone_into(&mut self.style),
            "list-level-style-number" if element.attribute("num-format") != Some("") => {
                let level = element.number("level").unwrap_or(1);
                if level <= LEVELS + 1 {
                    self.numbered.insert((self.style.clone(), level));
                }
            }
            _ => {}
        }
    }

    /// Begins a list. An inner list has the style of the outer one, unless it names its own.
    pub fn open(&mut self, element: &XmlElement) {
        let own = element.attribute("style-name").map(str::to_owned);
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

    /// The number of a paragraph, if it is the first of an item of a numbered list.
    pub fn number(&mut self) -> Option<u64> {
        let level = self.open.len().min(LEVELS + 1);
        let list = self.open.last_mut().filter(|list| list.begins)?;
        list.begins = false;
        self.numbered.contains(&(list.style.clone(), level)).then_some(list.last)
    }
}
