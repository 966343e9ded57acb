//! Budgets of the readers, which hold before anything is built.

use super::reading::{ReadError, Reading};

pub const INPUT_BYTES: usize = 32 << 20;
/// Parts of a package.
pub const ENTRIES: usize = 5_000;
/// All parts of a package, unpacked.
pub const UNPACKED_BYTES: u64 = 96 << 20;
/// How many times larger than packed a part may be; text in XML comes to about a hundred.
pub const RATIO: u64 = 250;
/// Below this no ratio is suspicious.
pub const SMALL_BYTES: u64 = 4 << 20;
/// Elements inside one another.
pub const DEPTH: usize = 256;
pub const PAGES: usize = 2_000;
pub const CELLS: usize = 200_000;
pub const COLUMNS: usize = 256;
/// Text that one page may unpack to.
pub const PAGE_BYTES: usize = 16 << 20;
pub const MARKDOWN_BYTES: usize = 8 << 20;
pub const PIXELS: u64 = 40_000_000;

pub fn input(bytes: &[u8]) -> Result<(), ReadError> {
    within(bytes.len() as u64, INPUT_BYTES as u64, "bytes")
}

pub fn pixels(width: u32, height: u32) -> Result<(), ReadError> {
    within(u64::from(width) * u64::from(height), PIXELS, "pixels in the picture")
}

pub fn depth(depth: usize) -> Result<(), ReadError> {
    within(depth as u64, DEPTH as u64, "elements inside one another")
}

pub fn within(count: u64, most: u64, what: &str) -> Result<(), ReadError> {
    if count <= most {
        return Ok(());
    }
    Err(ReadError::TooLarge(format!(
        "The document has {count} {what}; the limit is {most}. Ask for a smaller one."
    )))
}

/// The reading, cut at what may be handed on.
pub fn output(mut reading: Reading) -> Reading {
    if reading.markdown.len() > MARKDOWN_BYTES {
        let mut at = MARKDOWN_BYTES;
        while !reading.markdown.is_char_boundary(at) {
            at -= 1;
        }
        reading.markdown.truncate(at);
        reading.warnings.push("The text is cut after 8 MB.".into());
    }
    reading
}
