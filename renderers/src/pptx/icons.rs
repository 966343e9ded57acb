//! Small pictures within a line, such as icons.

use super::items::SlideItem;
use crate::document::{Inline, each_in};

/// A picture that is not higher than this is a part of the line if its paragraph has words. Others
/// follow their paragraph.
const ICON_PIXELS: u32 = 48;

pub fn is_icon(item: &SlideItem<'_>) -> bool {
    matches!(item, SlideItem::Picture { picture, side: false, .. } if picture.height <= ICON_PIXELS)
}

/// Whether a paragraph has anything but pictures.
pub fn has_words(content: &[Inline]) -> bool {
    let mut found = false;
    each_in(content, &mut |inline| {
        found |= match inline {
            Inline::Text(text) | Inline::Code(text) => !text.trim().is_empty(),
            Inline::Math(_) => true,
            _ => false,
        }
    });
    found
}
