//! The labels of list items as they are printed: `1.`, `b)`, `(iv)`, `2.1.` and bullets.

use super::words::ItemMark;
use crate::package::numerals::Numerals;

/// Bullets that begin an item.
const SIGNS: [&str; 12] =
    ["•", "◦", "▪", "‣", "●", "○", "–", "-", "o", "\u{f0b7}", "\u{f0a7}", "\u{e00a}"];
/// Bullets that begin other lines as well, such as those of a dialogue.
const DASHES: [&str; 2] = ["–", "-"];
/// A letter that is a bullet in Word, and a word in some languages.
const LETTER: &str = "o";
/// The maximum length of a label. A longer text is not looked through.
const LABEL_BYTES: usize = 64;
/// The largest number of an item, in digits.
const DIGITS: usize = 3;
/// The largest number of an item in Roman numerals.
const ROMAN: u64 = 99;

/// The label at the beginning of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PrintedLabel {
    Bullet(String),
    Ordinal(OrdinalLabel),
}

/// A label that counts, such as `2.a)`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrdinalLabel {
    /// As it is printed.
    text: String,
    /// What precedes its last part.
    before: String,
    /// The last part, which counts.
    last: String,
    after: Option<char>,
}

/// A part of a label as a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct LabelNumber {
    numerals: Numerals,
    value: u64,
}

impl PrintedLabel {
    /// The label that is this word; `None` if it may be a word of the text.
    pub fn of(word: &str) -> Option<Self> {
        if SIGNS.contains(&word) {
            return Some(Self::Bullet(word.to_owned()));
        }
        OrdinalLabel::of(word).map(Self::Ordinal)
    }

    /// How Markdown writes it.
    pub fn mark(&self) -> ItemMark {
        match self {
            Self::Bullet(_) => ItemMark::Bullet,
            Self::Ordinal(label) => label.mark(),
        }
    }

    /// Whether it is the label of the item after the one with the other label.
    pub fn follows(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Ordinal(label), Self::Ordinal(other)) => label.follows(other),
            _ => self == other,
        }
    }

    /// Whether it may be that of the first item of a list.
    pub fn is_first(&self) -> bool {
        match self {
            Self::Bullet(_) => true,
            Self::Ordinal(label) => numbers(&label.last).any(|number| number.value == 1),
        }
    }

    /// Whether a line that begins with it is an item, even without others.
    pub fn is_certain(&self) -> bool {
        matches!(self, Self::Bullet(sign) if !DASHES.contains(&sign.as_str()))
    }

    /// Whether it is no label where nothing but its position says so.
    pub fn is_word(&self) -> bool {
        matches!(self, Self::Bullet(sign) if sign == LETTER)
    }
}

impl OrdinalLabel {
    fn of(word: &str) -> Option<Self> {
        if word.len() > LABEL_BYTES {
            return None;
        }
        let inner = word.strip_prefix('(');
        let core = inner.unwrap_or(word);
        let after = core.chars().next_back().filter(|sign| matches!(sign, '.' | ')'));
        let core = core.strip_suffix(['.', ')']).unwrap_or(core);
        let parts: Vec<&str> = core.split('.').collect();
        let is_counted = parts.iter().all(|part| numbers(part).next().is_some());
        // A letter and a dot may be an abbreviation, and a number alone is one of the text.
        let is_label = match parts.as_slice() {
            [_] => after.is_some(),
            parts => parts.iter().any(|part| part.starts_with(|c: char| c.is_ascii_digit())),
        };
        if !is_counted || !is_label || (inner.is_some() && after != Some(')')) {
            return None;
        }
        let last = (*parts.last()?).to_owned();
        let before = word.strip_suffix(['.', ')']).unwrap_or(word).strip_suffix(&last)?.to_owned();
        Some(Self { text: word.to_owned(), before, last, after })
    }

    fn mark(&self) -> ItemMark {
        let number = self.last.parse().ok().filter(|_| self.before.is_empty());
        number.map_or_else(|| ItemMark::Label(self.text.clone()), ItemMark::Number)
    }

    fn follows(&self, other: &Self) -> bool {
        let is_upper = |label: &Self| label.last.contains(|c: char| c.is_ascii_uppercase());
        let is_next = |number: LabelNumber| {
            let last = LabelNumber { value: number.value.saturating_sub(1), ..number };
            numbers(&other.last).any(|number| number == last)
        };
        self.before == other.before
            && self.after == other.after
            && is_upper(self) == is_upper(other)
            && numbers(&self.last).any(is_next)
    }
}

/// What a part of a label may count as. A letter may be a Roman numeral as well.
fn numbers(part: &str) -> impl Iterator<Item = LabelNumber> {
    let is_mixed = part.contains(|c: char| c.is_ascii_uppercase())
        && part.contains(|c: char| c.is_ascii_lowercase());
    let part = if is_mixed { String::new() } else { part.to_ascii_lowercase() };
    let is_digits = part.len() <= DIGITS && part.bytes().all(|byte| byte.is_ascii_digit());
    let digits = part.parse().ok().filter(|_| is_digits);
    let [counted, repeated] = letters(&part);
    let roman = (1..=ROMAN).find(|value| Numerals::Roman.write(*value) == part);
    [
        (Numerals::Digits, digits),
        (Numerals::Letters, counted),
        (Numerals::Letters, repeated),
        (Numerals::Roman, roman),
    ]
    .into_iter()
    .filter_map(|(numerals, value)| Some(LabelNumber { numerals, value: value? }))
}

/// The number of one or two letters. After `z` programs write `aa`, `ab` or `aa`, `bb`.
fn letters(part: &str) -> [Option<u64>; 2] {
    let number = |letter: u8| u64::from(letter - b'a') + 1;
    match part.as_bytes() {
        [one] if one.is_ascii_lowercase() => [Some(number(*one)), None],
        [one, two] if one.is_ascii_lowercase() && two.is_ascii_lowercase() => {
            [Some(26 * number(*one) + number(*two)), (one == two).then(|| 26 + number(*one))]
        }
        _ => [None, None],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn label(word: &str) -> PrintedLabel {
        PrintedLabel::of(word).unwrap()
    }

    #[test]
    fn only_labels_that_markdown_lacks_are_kept() {
        for (word, number) in [("1.", 1), ("12)", 12), ("007.", 7)] {
            assert_eq!(label(word).mark(), ItemMark::Number(number), "{word}");
        }
        for word in ["a.", "B)", "iv.", "XII)", "(1)", "(a)", "2.1", "2.1.", "1.a)", "bb."] {
            assert_eq!(label(word).mark(), ItemMark::Label(word.to_owned()), "{word}");
        }
        assert_eq!(label("•").mark(), ItemMark::Bullet);
        for word in
            ["a", "7", "2026.", "(see)", "(1", "e.g.", "end.", "iiii.", "Iv.", "1.2.2026", ""]
        {
            assert_eq!(PrintedLabel::of(word), None, "{word}");
        }
        assert!(PrintedLabel::of(&"1.".repeat(LABEL_BYTES / 2)).is_some());
        assert_eq!(PrintedLabel::of(&"1.".repeat(LABEL_BYTES)), None);
    }

    #[test]
    fn the_next_label_counts_on() {
        for [one, next] in [
            ["1.", "2."],
            ["a)", "b)"],
            ["h.", "i."],
            ["iii.", "iv."],
            ["(IX)", "(X)"],
            ["z.", "aa."],
            ["aa.", "ab."],
            ["aa.", "bb."],
            ["2.1.", "2.2."],
            ["•", "•"],
        ] {
            assert!(label(next).follows(&label(one)), "{one} {next}");
            assert!(next == one || !label(one).follows(&label(next)), "{next} {one}");
        }
        for [one, next] in
            [["1.", "2)"], ["a.", "B."], ["1.", "3."], ["2.1.", "3.2."], ["•", "–"], ["a.", "ii."]]
        {
            assert!(!label(next).follows(&label(one)), "{one} {next}");
        }
        assert!(["1.", "(a)", "i.", "I)", "2.1"].iter().all(|word| label(word).is_first()));
        assert!(!label("b.").is_first());
    }
}
