//! Combining marks without a base letter.

use std::borrow::Cow;

use unicode_general_category::{GeneralCategory, get_general_category};

/// Adds a no-break space as the base of combining marks that follow a space, as described in
/// Unicode 2.11. Typst fails on such a mark after a plain space if no font has it.
pub fn grounded(text: &str) -> Cow<'_, str> {
    let stands = |at: usize| text[at + 1..].starts_with(is_mark);
    if !text.match_indices(' ').any(|(at, _)| stands(at)) {
        return Cow::Borrowed(text);
    }
    let ground = |(at, c)| if c == ' ' && stands(at) { '\u{a0}' } else { c };
    Cow::Owned(text.char_indices().map(ground).collect())
}

pub fn is_mark(c: char) -> bool {
    !c.is_ascii()
        && matches!(
            get_general_category(c),
            GeneralCategory::NonspacingMark
                | GeneralCategory::EnclosingMark
                | GeneralCategory::SpacingMark
        )
}
