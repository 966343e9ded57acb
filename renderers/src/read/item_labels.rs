//! The labels of numbered items, as Word, PowerPoint and OpenDocument files describe them.

use super::words::ItemMark;
use crate::package::numerals::Numerals;

/// How the number of an item is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LabelNumerals {
    pub numerals: Numerals,
    pub is_upper: bool,
    /// Whether `z` is followed by `aa` and `bb`, as in Office, and not by `aa` and `ab`.
    pub repeats: bool,
}

impl LabelNumerals {
    pub const DIGITS: Self = Self { numerals: Numerals::Digits, is_upper: false, repeats: false };

    pub fn write(self, number: u64) -> String {
        let text = match number {
            27..=780 if self.numerals == Numerals::Letters && self.repeats => {
                let letter = self.numerals.write((number - 1) % 26 + 1);
                letter.repeat(((number - 1) / 26 + 1) as usize)
            }
            _ => self.numerals.write(number),
        };
        if self.is_upper { text.to_uppercase() } else { text }
    }
}

/// The mark of an item with this label, whose list is in `level` other lists. Where the label is the
/// one that such a list has in every document of the renderers, the number is enough.
pub fn item_mark(label: &str, level: usize, number: u64) -> ItemMark {
    let label = label.trim();
    let bare = label.strip_suffix(['.', ')']).unwrap_or(label);
    let usual = Numerals::of(level).write(number);
    if label.is_empty() {
        ItemMark::Bullet
    } else if bare == number.to_string() || label.strip_suffix('.') == Some(usual.as_str()) {
        ItemMark::Number(number)
    } else {
        ItemMark::Label(label.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_unusual_labels_are_kept() {
        for (label, level, number) in [("3.", 0, 3), ("3)", 0, 3), ("3", 2, 3), ("c.", 1, 3)] {
            assert_eq!(item_mark(label, level, number), ItemMark::Number(number), "{label}");
        }
        for (label, level) in
            [("c.", 0), ("c)", 1), ("(3)", 0), ("2.3", 1), ("C.", 1), ("Article 3:", 0)]
        {
            assert_eq!(item_mark(label, level, 3), ItemMark::Label(label.to_owned()));
        }
        assert_eq!(item_mark(" ", 0, 3), ItemMark::Bullet);
    }

    #[test]
    fn letters_after_the_last_are_written_as_in_the_program() {
        let office = LabelNumerals { numerals: Numerals::Letters, is_upper: true, repeats: true };
        assert_eq!(
            [1, 26, 27, 28, 53].map(|number| office.write(number)),
            ["A", "Z", "AA", "BB", "AAA"]
        );
        let odf = LabelNumerals { repeats: false, ..office };
        assert_eq!([26, 27, 28].map(|number| odf.write(number)), ["Z", "AA", "AB"]);
    }
}
