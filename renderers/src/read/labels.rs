//! The labels of list items, as tagged PDFs and RTF files have them.

use std::collections::{HashMap, HashSet};

use super::{printed_labels::PrintedLabel, words::ItemMark};

/// Letters that are bullets in symbol fonts, and the bullet of the second level in Word.
const BULLETS: &str = "olnquvwüÜØàè";

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
    pub mark: ItemMark,
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
        let counted = counted.map_or(ItemMark::Bullet, ItemMark::Number);
        match self.labels.get(&block) {
            Some(label) if is_mark(label) => {
                LabelledItem { mark: mark(label).unwrap_or(counted), text }
            }
            // The rest of the item may follow later.
            Some(term) => {
                let text = explained(term, &text);
                self.labels.remove(&block);
                LabelledItem { mark: counted, text }
            }
            // LibreOffice writes no labels, and does not say which lists are numbered.
            None => {
                let own = begins.then(|| own_mark(&text)).flatten();
                own.unwrap_or(LabelledItem { mark: counted, text })
            }
        }
    }
}

/// An item that begins with its bullet or number.
fn own_mark(text: &str) -> Option<LabelledItem> {
    let (mark, rest) = text.split_once(' ')?;
    let mark = PrintedLabel::of(mark)?.mark();
    Some(LabelledItem { mark, text: rest.to_owned() })
}

/// Whether a label is a number or letter with punctuation. Some fonts map bullets to letters.
pub fn is_number(label: &str) -> bool {
    let is_alone = label.chars().nth(1).is_none();
    label.contains(|c: char| if is_alone { c.is_numeric() } else { c.is_alphanumeric() })
}

/// The mark of an item whose file has only its label.
pub fn written_mark(label: &str) -> ItemMark {
    mark(label).filter(|_| is_number(label)).unwrap_or(ItemMark::Bullet)
}

/// The mark of an item with this label; `None` for a bullet.
fn mark(label: &str) -> Option<ItemMark> {
    let label = label.trim();
    let number = label.trim_end_matches(['.', ')']).parse().ok();
    let is_counted = label.contains(char::is_alphanumeric) && !BULLETS.contains(label);
    let kept = || is_counted.then(|| ItemMark::Label(label.to_owned()));
    number.map(ItemMark::Number).or_else(kept)
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
        || PrintedLabel::of(label).is_some()
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
        for mark in
            ["•", "–", "", "\u{f0b7}", "o", "ü", "1.", "2.1", "(3)", "a)", "iv.", "XII)", "1.a)"]
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
    fn the_label_of_an_item_is_kept_if_markdown_lacks_it() {
        let mut labels = Labels::default();
        for (label, counted, wanted) in [
            ("•", None, ItemMark::Bullet),
            ("•", Some(2), ItemMark::Number(2)),
            ("o", None, ItemMark::Bullet),
            ("4.", None, ItemMark::Number(4)),
            ("5)", Some(9), ItemMark::Number(5)),
            ("a.", Some(1), ItemMark::Label("a.".to_owned())),
            ("(3) ", None, ItemMark::Label("(3)".to_owned())),
            ("[Sm26]", None, ItemMark::Bullet),
        ] {
            labels.push(Some(1), false, label);
            assert_eq!(labels.item(1, counted, "text".to_owned()).mark, wanted, "{label}");
            labels.labels.clear();
        }
    }

    #[test]
    fn an_item_without_a_label_begins_with_its_mark() {
        let mut labels = Labels::default();
        let mut item = |block: usize, text: &str| {
            let item = labels.item(block, None, text.to_owned());
            format!("{} {}", item.mark.written(), item.text)
        };
        assert_eq!(item(1, "• First point"), "- First point");
        assert_eq!(item(1, "• kept"), "- • kept");
        assert_eq!(item(2, "12. Counted"), "12. Counted");
        assert_eq!(item(3, "2026 was good"), "- 2026 was good");
        assert_eq!(item(4, "b) Lettered"), "b) Lettered");
        assert_eq!(item(5, "(1) Counted"), "(1) Counted");
    }
}
