//! Joins surrogate pairs whose halves arrive in different pieces of a text.

use super::json::{INVALID, MARK};

/// Turns the marks of [`super::json`] into characters.
#[derive(Debug)]
pub(super) struct Joiner {
    /// The first half of a pair, whose second half may come with the next piece.
    held: Option<u16>,
    /// Whether anything was lost.
    pub is_lossy: bool,
    /// Replaces what was lost.
    replacement: char,
}

impl Default for Joiner {
    fn default() -> Self {
        Self { held: None, is_lossy: false, replacement: char::REPLACEMENT_CHARACTER }
    }
}

impl Joiner {
    /// Uses a mark as the replacement.
    pub fn marking() -> Self {
        Self { replacement: MARK, ..Self::default() }
    }

    /// The text of a piece, except for half a pair at its end.
    pub fn push(&mut self, piece: &str) -> String {
        if self.held.is_none() && !piece.contains(MARK) {
            return piece.to_owned();
        }
        let mut text = String::with_capacity(piece.len());
        let mut rest = piece;
        while let Some(letter) = rest.chars().next() {
            rest = &rest[letter.len_utf8()..];
            if letter != MARK {
                self.flush(&mut text);
                text.push(letter);
                continue;
            }
            let stands_for = rest.get(..4).unwrap_or_default();
            if let Some(unit) = unit(stands_for) {
                rest = &rest[4..];
                self.unit(unit, &mut text);
                continue;
            }
            rest = rest.strip_prefix(INVALID).unwrap_or(rest);
            self.flush(&mut text);
            self.is_lossy = true;
            text.push(self.replacement);
        }
        text
    }

    /// The rest of the text.
    pub fn finish(&mut self) -> String {
        let mut text = String::new();
        self.flush(&mut text);
        text
    }

    fn unit(&mut self, unit: u16, text: &mut String) {
        if (0xd800..=0xdbff).contains(&unit) {
            self.flush(text);
            self.held = Some(unit);
            return;
        }
        let units = self.held.take().into_iter().chain([unit]);
        for letter in char::decode_utf16(units) {
            self.is_lossy |= letter.is_err();
            text.push(letter.unwrap_or(self.replacement));
        }
    }

    fn flush(&mut self, text: &mut String) {
        if self.held.take().is_some() {
            self.is_lossy = true;
            text.push(self.replacement);
        }
    }
}

/// The half of a pair that a mark represents.
fn unit(digits: &str) -> Option<u16> {
    let unit = u16::from_str_radix(digits, 16).ok()?;
    (0xd800..=0xdfff).contains(&unit).then_some(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joined(pieces: &[&str]) -> (String, bool) {
        let mut joiner = Joiner::default();
        let mut text: String = pieces.iter().map(|piece| joiner.push(piece)).collect();
        text.push_str(&joiner.finish());
        (text, joiner.is_lossy)
    }

    #[test]
    fn halves_are_joined_across_pieces_and_others_are_replaced() {
        let [high, low] = ["d83d", "de00"].map(|half| format!("{MARK}{half}"));
        assert_eq!(joined(&["a", &high, "", &low, "b"]), ("a😀b".into(), false));
        assert_eq!(joined(&[&format!("{high}{low}")]), ("😀".into(), false));
        assert_eq!(joined(&[&high, "b"]), ("\u{fffd}b".into(), true));
        assert_eq!(joined(&[&low, &high]), ("\u{fffd}\u{fffd}".into(), true));
        assert_eq!(joined(&["a", &format!("{MARK}{INVALID}b")]), ("a\u{fffd}b".into(), true));
        assert_eq!(joined(&[&format!("{MARK}é")]), ("\u{fffd}é".into(), true));
    }
}
