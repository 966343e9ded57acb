//! The first words of a text, for a placeholder.

use unicode_segmentation::UnicodeSegmentation;

use super::format::{Formatted, Span, Style};

/// The maximum number of words and characters of an opening.
const OPENING_WORDS: usize = 6;
const OPENING_CHARS: usize = 60;

/// The first words of a plain text with an ellipsis, always less than the whole text. `None` if it
/// is too short to show a part of it.
fn words_of(text: &str) -> Option<String> {
    let words: Vec<_> = text.split_whitespace().take(OPENING_WORDS + 1).collect();
    let (last, before) = words.split_last()?;
    if before.is_empty() {
        let half = last.graphemes(true).count() / 2;
        let kept: String = last.graphemes(true).take(half.min(OPENING_CHARS)).collect();
        return (half > 0).then(|| kept + "…");
    }
    let mut kept = before[0].chars().take(OPENING_CHARS).collect::<String>();
    for word in &before[1..] {
        if kept.chars().count() + 1 + word.chars().count() > OPENING_CHARS {
            break;
        }
        kept.push(' ');
        kept.push_str(word);
    }
    Some(kept + " …")
}

/// The opening of a formatted text, up to its first code: as plain text, a platform would show URLs
/// in code as links, and names as mentions.
pub fn opening(formatted: &Formatted) -> Option<String> {
    let is_code = |span: &&Span| matches!(span.style, Style::Code | Style::Pre { .. });
    let Some(code) = formatted.spans.iter().find(is_code) else { return words_of(&formatted.text) };
    let before: Vec<u16> = formatted.text.encode_utf16().take(code.offset).collect();
    let shown = format!("{} …", String::from_utf16_lossy(&before));
    Some(words_of(&shown).unwrap_or_else(|| "…".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_opening_is_less_than_the_text() {
        for (text, shown) in [
            ("", None),
            ("x", None),
            ("👍🏽", None),
            ("OK", Some("O…")),
            ("Hello.", Some("Hel…")),
            ("hello Ann", Some("hello …")),
            ("One two\n three four five six seven", Some("One two three four five six …")),
        ] {
            assert_eq!(words_of(text).as_deref(), shown, "{text}");
        }
        let long = "a".repeat(500);
        let of_long = |text: &str| words_of(text).expect("an opening").chars().count();
        assert_eq!((of_long(&long), of_long(&format!("{long} b"))), (61, 62));
        assert_eq!(of_long(&format!("b {long} c")), 3);
    }
}
