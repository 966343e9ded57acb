//! The first page as a picture, for where a chat shows one. Of the Office formats there is none here:
//! how their pages look is for the reader's program to say.

use std::panic::{AssertUnwindSafe, catch_unwind};

use typst::utils::Scalar;
use typst_layout::PagedDocument;
use typst_render::RenderOptions;

/// An A4 page becomes 744 by 1052 pixels.
const PIXELS_PER_POINT: f64 = 1.25;

/// As PNG. No picture is no reason to have no document.
pub fn first_page(pages: &PagedDocument) -> Option<Vec<u8>> {
    let options =
        RenderOptions { pixel_per_pt: Scalar::new(PIXELS_PER_POINT), ..RenderOptions::default() };
    let page = pages.pages().first()?;
    let pixels = catch_unwind(AssertUnwindSafe(|| typst_render::render(page, &options))).ok()?;
    pixels.encode_png().ok()
}
