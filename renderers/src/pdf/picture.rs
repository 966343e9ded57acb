//! The first page as a picture, for previews in chats. There is no preview of Office files, whose
//! layout depends on the reader's program.

use std::panic::{AssertUnwindSafe, catch_unwind};

use typst::utils::Scalar;
use typst_layout::PagedDocument;
use typst_render::RenderOptions;

/// An A4 page becomes 744 by 1052 pixels.
const PIXELS_PER_POINT: f64 = 1.25;

/// The page as PNG. A failure does not affect the document.
pub fn first_page(pages: &PagedDocument) -> Option<Vec<u8>> {
    let options =
        RenderOptions { pixel_per_pt: Scalar::new(PIXELS_PER_POINT), ..RenderOptions::default() };
    let page = pages.pages().first()?;
    let pixels = catch_unwind(AssertUnwindSafe(|| typst_render::render(page, &options))).ok()?;
    pixels.encode_png().ok()
}
