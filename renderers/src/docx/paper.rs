//! The paper, and what of it a line of text has.

use crate::Document;
use crate::document::PageSize;

/// Width and height of the paper in twips.
pub fn paper(document: &Document) -> (i64, i64) {
    let page = document.meta.page;
    let (width, height) = match page.size {
        PageSize::A4 => (11_906, 16_838),
        PageSize::Letter => (12_240, 15_840),
    };
    if page.landscape { (height, width) } else { (width, height) }
}

/// Between two columns of text.
pub const GUTTER: i64 = 482;

pub fn page_width(document: &Document) -> i64 {
    let [_, right, _, left] = document.meta.margins();
    paper(document).0 - left - right
}

/// What a line of the text has: the page, or one of its two columns.
pub fn text_width(document: &Document) -> i64 {
    let width = page_width(document);
    if document.meta.page.two_columns { (width - GUTTER) / 2 } else { width }
}
