//! Markdown for the platforms: conversion to their formatting, splitting, and escaping of other
//! people's text.
//!
//! - [`format()`]: Markdown → text and [`Span`]s
//! - [`discord`]: Markdown → Discord's dialect of it
//! - `table`: tables as lines of equal width
//! - [`split`]: Markdown → parts, each of which fits a limit once it is formatted; `fence`: what is
//!   repeated after a cut; [`opening()`]: the first words
//! - [`Unit`] in `unit`: the unit in which each platform counts

use std::fmt::Write;

mod discord;
mod fence;
mod format;
mod opening;
mod split;
mod table;
mod unit;

pub use discord::discord;
pub use format::{Formatted, Span, Style, format};
pub use opening::opening;
pub use split::{cut, split, split_off};
pub use unit::Unit;

/// Escapes other people's text for Markdown: every character that could have a meaning gets a
/// backslash. Indentation becomes no-break spaces, because Markdown would drop it or turn it into
/// code.
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

/// Makes invisible characters visible: control, direction, zero-width and other invisible
/// characters become `‹U+202E›`. Line feeds and tabs are kept. A person who decides by a text must
/// see all of it, in the order in which it will be used.
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

/// Prepares other people's text for a person who decides by it: in addition to [`neutralise`],
/// makes every unusual space visible, and variation selectors that follow no emoji.
pub fn reveal(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut before = ' ';
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        let hidden = match c {
            '\u{fe0e}' | '\u{fe0f}' => {
                let keycap =
                    matches!(before, '0'..='9' | '#' | '*') && rest.peek() == Some(&'\u{20e3}');
                !keycap && !is_emoji(before)
            }
            _ => is_unseen(c) || is_odd_space(c),
        };
        if hidden {
            let _ = write!(shown, "‹U+{:04X}›", u32::from(c));
        } else {
            shown.push(c);
        }
        before = c;
    }
    shown
}

/// Spaces that are invisible, or look like the ordinary space.
fn is_odd_space(c: char) -> bool {
    matches!(
        c,
        '\u{a0}' | '\u{1680}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}'
    )
}

/// Characters that a variation selector turns into an emoji, or a letter.
fn is_emoji(c: char) -> bool {
    matches!(c,
        '\u{a9}' | '\u{ae}' | '\u{203c}' | '\u{2049}' | '\u{2122}' | '\u{2139}'
        | '\u{2194}'..='\u{21aa}' | '\u{231a}'..='\u{23ff}' | '\u{24c2}'
        | '\u{25aa}'..='\u{27bf}' | '\u{2934}' | '\u{2935}' | '\u{2b05}'..='\u{2b55}'
        | '\u{3030}' | '\u{303d}' | '\u{3297}' | '\u{3299}' | '\u{1f000}'..='\u{1faff}')
}

/// Unicode's control and format characters, its line separators, and invisible letters and marks.
fn is_unseen(c: char) -> bool {
    if c.is_control() {
        return !matches!(c, '\n' | '\t');
    }
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{600}'..='\u{605}' | '\u{61c}' | '\u{6dd}' | '\u{70f}'
        | '\u{890}' | '\u{891}' | '\u{8e2}' | '\u{110bd}' | '\u{110cd}'
        | '\u{13430}'..='\u{1343f}'
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

    /// Proves S18.
    #[test]
    fn deceptive_characters_are_spelled_out() {
        assert_eq!(neutralise("rm \u{202e}txt.exe"), "rm ‹U+202E›txt.exe");
        assert_eq!(neutralise("a\u{200b}b\u{7}c\u{e0041}"), "a‹U+200B›b‹U+0007›c‹U+E0041›");
        assert_eq!(neutralise("line\nnext\tcell é 你 👍🏽"), "line\nnext\tcell é 你 👍🏽");
    }

    /// Proves S18.
    #[test]
    fn spaces_and_selectors_that_mislead_are_spelled_out() {
        assert_eq!(reveal("rm\u{a0}-rf\u{2003}x\u{3000}"), "rm‹U+00A0›-rf‹U+2003›x‹U+3000›");
        assert_eq!(reveal("a\u{fe0f}b\u{fe0e}"), "a‹U+FE0F›b‹U+FE0E›");
        assert_eq!(reveal("1\u{fe0f}x"), "1‹U+FE0F›x");
        assert_eq!(reveal("\u{890}\u{13430}"), "‹U+0890›‹U+13430›");
        for fine in ["❤\u{fe0f} 1\u{fe0f}\u{20e3} ☎\u{fe0e} 👍🏽", "line\nnext\tcell é 你"]
        {
            assert_eq!(reveal(fine), fine);
        }
        assert_eq!(reveal("❤\u{fe0f}\u{fe0f}"), "❤\u{fe0f}‹U+FE0F›");
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
        /// Proves S18.
        #[test]
        fn whatever_is_escaped_is_literal(text in "(?s)[ -~\n\té你👍]{0,200}") {
            let formatted = format(&escape(&text));
            prop_assert_eq!(without_blanks(&formatted.text), without_blanks(&text));
            prop_assert!(formatted.spans.is_empty());
        }

        /// Proves S18.
        #[test]
        fn invisible_characters_are_removed(text in any::<String>()) {
            prop_assert!(!neutralise(&text).chars().any(is_unseen));
            prop_assert!(!reveal(&text).chars().any(|c| is_unseen(c) || is_odd_space(c)));
        }
    }
}
