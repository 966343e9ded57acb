//! Upper limits for a source document.

/// The maximum size of the Markdown, in bytes.
pub const SOURCE_BYTES: usize = 8 * 1024 * 1024;
/// The maximum nesting of blocks and inlines, counted together. Deeper content becomes plain text.
pub const NESTING: usize = 24;
/// The maximum number of charts per document.
pub const CHARTS: usize = 64;
/// The maximum number of cells of all tables together.
pub const TABLE_CELLS: usize = 200_000;
/// The maximum number of columns per table, which is Excel's limit.
pub const TABLE_COLUMNS: usize = 16_384;
/// The maximum number of columns of a table on pages and slides.
pub const PAGE_COLUMNS: usize = 256;
