//! Our Markdown: as formatting for the platforms, cut to fit, and foreign text made harmless in it.
//!
//! - [`format`]: Markdown → text and [`Span`]s
//! - [`discord`]: Markdown → Discord's dialect of it
//! - [`split`]: Markdown → parts, none of which is longer than a limit once it is formatted
//! - [`Unit`]: what each platform counts

use std::fmt::Write;

mod discord;
mod fence;
mod format;
mod split;
mod table;
mod unit;

pub use discord::discord;
pub use format::{Formatted, Span, Style, format};
pub use split::{cut, split, split_off};
pub use unit::Unit;

/// Foreign text, so that it reads the same when it stands in our Markdown: every character that
/// could mean something there gets a backslash. Indentation becomes no-break spaces, because
/// Markdown would make code of it or drop it.
pub fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len() + text.len() / 8);
    let mut indenting = true;
    for c in text.chars() {
        match c {
            '\n' => indenting = true,
            ' ' if indenting => {
                escaped.push('\u{a0}');
                continue;
            }
            '\t' if indenting => {
                escaped.push_str("\u{a0}\u{a0}\u{a0}\u{a0}");
                continue;
            }
            _ => indenting = false,
        }
        if c.is_ascii_punctuation() {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}

/// Text in which nothing hides: control, direction, zero-width and other unseen characters are
/// spelled out as `‹U+202E›`. Line feeds and tabs stay. A person who decides by what they read
/// must see all of it, in the order in which it will be used.
pub fn neutralise(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if is_unseen(c) {
            // Writing to a string cannot fail.
            let _ = write!(shown, "‹U+{:04X}›", u32::from(c));
        } else {
            shown.push(c);
        }
    }
    shown
}

/// Unicode's control and format characters, its line separators, and the letters and marks that
/// are drawn as nothing.
fn is_unseen(c: char) -> bool {
    if c.is_control() {
        return !matches!(c, '\n' | '\t');
    }
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{600}'..='\u{605}' | '\u{61c}' | '\u{6dd}' | '\u{70f}'
        | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{2800}' | '\u{3164}' | '\u{fe00}'..='\u{fe0d}' | '\u{feff}' | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// S18
    #[test]
    fn deceptive_characters_are_spelled_out() {
        assert_eq!(neutralise("rm \u{202e}txt.exe"), "rm ‹U+202E›txt.exe");
        assert_eq!(neutralise("a\u{200b}b\u{7}c\u{e0041}"), "a‹U+200B›b‹U+0007›c‹U+E0041›");
        assert_eq!(neutralise("line\nnext\tcell é 你 👍🏽"), "line\nnext\tcell é 你 👍🏽");
    }

    #[test]
    fn escaped_text_reads_the_same_and_formats_nothing() {
        for text in
            ["*a* _b_ `c` [d](http://e.f)", "1. x\n- y\n# z\n> q", "a | b\n--|--", "&amp; <b>"]
        {
            let formatted = format(&escape(text));
            assert_eq!(formatted.text, text);
            assert_eq!(formatted.spans, []);
        }
    }

    fn without_blanks(text: &str) -> String {
        text.chars().filter(|c| !c.is_whitespace() && *c != '\u{a0}' && !c.is_control()).collect()
    }

    proptest! {
        /// S18
        #[test]
        fn whatever_is_escaped_is_literal(text in "(?s)[ -~\n\té你👍]{0,200}") {
            let formatted = format(&escape(&text));
            prop_assert_eq!(without_blanks(&formatted.text), without_blanks(&text));
            prop_assert!(formatted.spans.is_empty());
        }

        /// S18
        #[test]
        fn nothing_unseen_is_left(text in any::<String>()) {
            prop_assert!(!neutralise(&text).chars().any(is_unseen));
        }
    }
}
