//! Limits of the readers, which are checked before anything is built.

use super::reading::{ReadError, Reading};

/// The maximum size of a file.
pub const INPUT_BYTES: usize = 32 << 20;
/// The maximum number of parts in a package.
pub const ENTRIES: usize = 5_000;
/// The maximum size of all unpacked parts.
pub const UNPACKED_BYTES: u64 = 96 << 20;
/// The maximum compression ratio of a part; XML text reaches about a hundred.
pub const RATIO: u64 = 250;
/// The ratio of smaller parts is not checked.
pub const SMALL_BYTES: u64 = 4 << 20;
/// The maximum nesting of elements.
pub const DEPTH: usize = 256;
/// The maximum number of pages or slides.
pub const PAGES: usize = 2_000;
/// The maximum number of cells of all tables together.
pub const CELLS: usize = 200_000;
/// The maximum number of columns of a table.
pub const COLUMNS: usize = 256;
/// The maximum size of the unpacked text of a page.
pub const PAGE_BYTES: usize = 16 << 20;
/// The maximum size of the resulting Markdown; the rest is cut.
pub const MARKDOWN_BYTES: usize = 8 << 20;
/// The maximum length of names that are repeated in the text, such as those of sheets and of the
/// authors of comments, and of names and labels that many elements may share, such as styles.
pub const NAME_CHARS: usize = 200;
/// The maximum length of the target of a link, which many links may share.
pub const URL_BYTES: usize = 4_096;
/// The maximum number of pixels of a picture.
pub const PIXELS: u64 = 40_000_000;

/// Checks the size of a file.
pub fn input(bytes: &[u8]) -> Result<(), ReadError> {
    within(bytes.len() as u64, INPUT_BYTES as u64, "bytes")
}

/// Checks the size of a picture.
pub fn pixels(width: u32, height: u32) -> Result<(), ReadError> {
    within(u64::from(width) * u64::from(height), PIXELS, "pixels in the picture")
}

/// Checks the nesting of elements.
pub fn depth(depth: usize) -> Result<(), ReadError> {
    within(depth as u64, DEPTH as u64, "levels of nested elements")
}

/// Fails with [`ReadError::TooLarge`] if there are more than `limit`; `what` is counted.
pub fn within(count: u64, limit: u64, what: &str) -> Result<(), ReadError> {
    if count <= limit {
        return Ok(());
    }
    Err(ReadError::TooLarge(format!(
        "The document has {count} {what}; the limit is {limit}. Ask for a smaller document."
    )))
}

/// A name of a file, cut at the maximum length.
pub fn name(name: &str) -> String {
    name.chars().take(NAME_CHARS).collect()
}

/// Truncates the reading to the maximum output size.
pub fn output(mut reading: Reading) -> Reading {
    if reading.markdown.len() > MARKDOWN_BYTES {
        let mut at = MARKDOWN_BYTES;
        while !reading.markdown.is_char_boundary(at) {
            at -= 1;
        }
        reading.markdown.truncate(at);
        reading.warnings.push("The text was cut after 8 MB.".into());
    }
    reading
}
