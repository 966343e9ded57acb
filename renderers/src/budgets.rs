//! What a source may ask for at most.

/// The largest Markdown, in bytes.
pub const SOURCE_BYTES: usize = 8 * 1024 * 1024;
/// Blocks and inlines inside each other, counted together; what is deeper becomes plain text.
pub const NESTING: usize = 24;
/// Charts of one document.
pub const CHARTS: usize = 64;
/// Cells of all tables together.
pub const TABLE_CELLS: usize = 200_000;
/// Columns of one table.
pub const TABLE_COLUMNS: usize = 256;
