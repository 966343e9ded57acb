//! The labels of the list items of tagged PDFs.

use std::collections::HashMap;

/// Letters that are bullets in symbol fonts, and the bullet of the second level in Word.
const BULLETS: &str = "olnquvwüÜØàè";

/// The bullets, numbers and terms of list items, by the number of their block.
#[derive(Default)]
pub struct Labels(HashMap<usize, String>);

impl Labels {
    /// Adds text to the label of an item, after a space if it stands apart.
    pub fn push(&mut self, block: Option<usize>, is_apart: bool, text: &str) {
        let Some(block) = block else { return };
        let label = self.0.entry(block).or_default();
        if is_apart && !label.is_empty() {
            label.push(' ');
        }
        label.push_str(text);
    }

    /// The text of an item, after its term if it has one. The rest of the item may follow later.
    pub fn text(&mut self, block: usize, text: String) -> String {
        match self.0.get(&block) {
            Some(label) if !is_mark(label) => {
                let explained = explained(label, &text);
                self.0.remove(&block);
                explained
            }
            _ => text,
        }
    }

    /// The number of an item in a numbered list, where it counts as `counted`.
    pub fn number(&self, block: usize, counted: Option<u64>) -> Option<u64> {
        let label = self.0.get(&block);
        let own = label.and_then(|label| label.trim().trim_end_matches('.').parse().ok());
        counted.map(|counted| own.unwrap_or(counted))
    }
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
}
