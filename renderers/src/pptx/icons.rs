//! Small pictures within a sentence, such as icons.

use super::items::SlideItem;
use crate::document::Inline;

/// The parts of a paragraph that are not pictures.
#[derive(Debug, Clone, Copy, Default)]
pub struct IconWords {
    pub all: usize,
    /// Those before the current picture.
    pub before: usize,
}

impl IconWords {
    /// Whether the current picture has words before and after it.
    pub fn are_around(self) -> bool {
        (1..self.all).contains(&self.before)
    }
}

/// A picture that is not higher than this is a part of the sentence if it has words around it.
/// Others follow their paragraph.
const ICON_PIXELS: u32 = 48;

pub fn is_icon(item: &SlideItem<'_>) -> bool {
    matches!(item, SlideItem::Picture { picture, side: false, .. } if picture.height <= ICON_PIXELS)
}

pub fn is_word(inline: &Inline) -> bool {
    match inline {
        Inline::Text(text) | Inline::Code(text) => !text.trim().is_empty(),
        Inline::Math(_) => true,
        _ => false,
    }
}
