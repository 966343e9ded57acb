//! The logical order of right-to-left text, which a PDF draws from left to right.

use std::borrow::Cow;

use unicode_bidi::{BidiClass, BidiInfo, Level, bidi_class};

/// Whether the text has letters of a script that is written from right to left.
pub fn has_rtl(text: &str) -> bool {
    text.chars().any(is_rtl)
}

fn is_rtl(c: char) -> bool {
    matches!(bidi_class(c), BidiClass::R | BidiClass::AL)
}

/// Whether most of the letters are right-to-left.
pub fn is_mostly_rtl(text: &str) -> bool {
    let letters = text.chars().filter(|c| c.is_alphabetic()).count();
    text.chars().filter(|c| is_rtl(*c)).count() * 2 > letters
}

/// The text without the characters that open and close embedded directions. They are invisible, and
/// could show a reader another order than that of the text.
pub fn without_controls(text: &str) -> Cow<'_, str> {
    if text.contains(is_control) { text.replace(is_control, "").into() } else { text.into() }
}

fn is_control(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// A text in the order of reading, from the order from left to right. Reordering for display (UAX
/// 9, rule L2) is its own inverse for a line with one level of embedding.
pub fn logical(visual: &str) -> String {
    if !has_rtl(visual) {
        return visual.to_owned();
    }
    let level = if is_mostly_rtl(visual) { Level::rtl() } else { Level::ltr() };
    let info = BidiInfo::new(visual, Some(level));
    let lines = info.paragraphs.iter();
    lines.map(|line| info.reorder_line(line, line.range.clone())).collect()
}

/// The text of one glyph in the order from left to right.
pub fn visual_cluster(text: &str) -> String {
    if text.chars().nth(1).is_some() && has_rtl(text) {
        text.chars().rev().collect()
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_and_numbers_stand_as_they_are_read() {
        let reversed = |text: &str| text.chars().rev().collect::<String>();
        let (word, year) = ("\u{5e9}\u{5dc}\u{5d5}\u{5dd}", "\u{5d1}\u{5e9}\u{5e0}\u{5ea}");
        assert_eq!(logical("plain (text) 12"), "plain (text) 12");
        assert_eq!(logical(&reversed(word)), word);
        let visual = format!("{} 2026 {}", reversed(word), reversed(year));
        assert_eq!(logical(&visual), format!("{year} 2026 {word}"));
        let visual = format!("the word {} means it", reversed(word));
        assert_eq!(logical(&visual), format!("the word {word} means it"));
        assert_eq!(visual_cluster("لا"), "ال");
        assert_eq!(visual_cluster("fi"), "fi");
    }

    #[test]
    fn characters_of_embedded_directions_are_dropped() {
        assert_eq!(
            without_controls("a\u{202b}b\u{202c} \u{2067}c\u{2069}\u{200f}"),
            "ab c\u{200f}"
        );
    }
}
