//! The labels of the list items of tagged PDFs.

use std::collections::{HashMap, HashSet};

/// Letters that are bullets in symbol fonts, and the bullet of the second level in Word.
const BULLETS: &str = "olnquvwüÜØàè";

/// Bullets that begin an item without a label.
const SIGNS: [&str; 10] = ["•", "◦", "▪", "‣", "–", "-", "o", "\u{f0b7}", "\u{f0a7}", "\u{e00a}"];
/// The largest number that begins an item without a label, in digits.
const DIGITS: usize = 3;

/// The bullets, numbers and terms of list items, by the number of their block.
#[derive(Default)]
pub struct Labels {
    labels: HashMap<usize, String>,
    /// The items whose first text has been read.
    begun: HashSet<usize>,
}

/// An item as it is written.
#[derive(Debug, PartialEq, Eq)]
pub struct LabelledItem {
    pub number: Option<u64>,
    pub text: String,
}

impl Labels {
    /// Adds text to the label of an item, after a space if it stands apart.
    pub fn push(&mut self, block: Option<usize>, is_apart: bool, text: &str) {
        let Some(block) = block else { return };
        let label = self.labels.entry(block).or_default();
        if is_apart && !label.is_empty() {
            label.push(' ');
        }
        label.push_str(text);
    }

    /// The next text of an item, which counts as `counted` in a numbered list.
    pub fn item(&mut self, block: usize, counted: Option<u64>, text: String) -> LabelledItem {
        let begins = self.begun.insert(block);
        if self.labels.contains_key(&block) {
            let number = self.number(block, counted);
            return LabelledItem { number, text: self.text(block, text) };
        }
        // LibreOffice writes no labels, and does not say which lists are numbered.
        let own = begins.then(|| own_mark(&text)).flatten();
        own.unwrap_or(LabelledItem { number: counted, text })
    }

    /// The text of an item, after its term if it has one. The rest of the item may follow later.
    fn text(&mut self, block: usize, text: String) -> String {
        match self.labels.get(&block) {
            Some(label) if !is_mark(label) => {
                let explained = explained(label, &text);
                self.labels.remove(&block);
                explained
            }
            _ => text,
        }
    }

    fn number(&self, block: usize, counted: Option<u64>) -> Option<u64> {
        let label = self.labels.get(&block);
        let own = label.and_then(|label| label.trim().trim_end_matches('.').parse().ok());
        counted.map(|counted| own.unwrap_or(counted))
    }
}

/// An item that begins with its bullet or number.
fn own_mark(text: &str) -> Option<LabelledItem> {
    let (mark, rest) = text.split_once(' ')?;
    let digits = mark.trim_end_matches(['.', ')']);
    let is_number = mark.len() == digits.len() + 1 && digits.len() <= DIGITS;
    let number = digits.parse().ok().filter(|_| is_number);
    let is_known = number.is_some() || SIGNS.contains(&mark);
    is_known.then(|| LabelledItem { number, text: rest.to_owned() })
}

/// Whether a label is a number or a bullet; others are words of the text, like the term of a
/// definition.
fn is_mark(label: &str) -> bool {
    let label = label.trim();
    let core = label.trim_matches(|c: char| !c.is_alphanumeric());
    let is_punctuated = label.ends_with(['.', ')', ':', ']']);
    let is_letter = core.chars().count() == 1 && (is_punctuated || BULLETS.contains(core));
    let is_roman = |c: char| "ivxlcdm".contains(c.to_ascii_lowercase());
    !core.contains(char::is_alphabetic)
        || is_letter
        || (is_punctuated && core.chars().all(is_roman))
}

/// The text of an item after the term that it explains.
fn explained(term: &str, text: &str) -> String {
    let term = term.split_whitespace().collect::<Vec<_>>().join(" ");
    let colon = if term.ends_with([':', '.', '?', '!']) { "" } else { ":" };
    format!("{term}{colon} {text}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_no_marks() {
        for mark in ["•", "–", "", "\u{f0b7}", "o", "ü", "1.", "2.1", "(3)", "a)", "iv.", "XII)"]
        {
            assert!(is_mark(mark), "{mark}");
        }
        for term in ["Term", "Two words", "x", "mix", "C", "Version 2"] {
            assert!(!is_mark(term), "{term}");
        }
        assert_eq!(explained("Two  words ", "meaning"), "Two words: meaning");
        assert_eq!(explained("Why?", "So."), "Why? So.");
    }

    #[test]
    fn an_item_without_a_label_begins_with_its_mark() {
        let mut labels = Labels::default();
        let mut item = |block: usize, text: &str| {
            let item = labels.item(block, None, text.to_owned());
            (item.number, item.text)
        };
        assert_eq!(item(1, "• First point"), (None, "First point".to_owned()));
        assert_eq!(item(1, "• kept"), (None, "• kept".to_owned()));
        assert_eq!(item(2, "12. Counted"), (Some(12), "Counted".to_owned()));
        assert_eq!(item(3, "2026 was good"), (None, "2026 was good".to_owned()));
    }
}
