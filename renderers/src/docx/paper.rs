//! The paper size and the width of a line of text.

use crate::Document;
use crate::document::PageSize;

/// The paper width and height in twips.
pub fn paper(document: &Document) -> (i64, i64) {
    let page = document.meta.page;
    let (width, height) = match page.size {
        PageSize::A4 => (11_906, 16_838),
        PageSize::Letter => (12_240, 15_840),
    };
    if page.landscape { (height, width) } else { (width, height) }
}

/// The paper of a section.
pub fn turned(document: &Document, is_landscape: bool) -> (i64, i64) {
    let (width, height) = paper(document);
    if is_landscape == document.meta.page.landscape { (width, height) } else { (height, width) }
}

/// The width of a line of text on the paper of a section.
pub fn section_width(document: &Document, is_landscape: bool) -> i64 {
    if is_landscape == document.meta.page.landscape {
        return text_width(document);
    }
    turned_width(document, is_landscape)
}

/// The gap between two text columns.
pub const GUTTER: i64 = 482;

pub fn page_width(document: &Document) -> i64 {
    turned_width(document, document.meta.page.landscape)
}

/// The width between the margins on the paper of a section.
pub fn turned_width(document: &Document, is_landscape: bool) -> i64 {
    let [_, right, _, left] = document.meta.margins();
    turned(document, is_landscape).0 - left - right
}

/// The width of a line of text: the page, or one of its two columns.
pub fn text_width(document: &Document) -> i64 {
    let width = page_width(document);
    if document.meta.page.two_columns { (width - GUTTER) / 2 } else { width }
}
