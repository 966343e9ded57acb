//! Page settings.

/// The paper of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Page {
    /// Its size.
    pub size: PageSize,
    /// Whether the longer edge is horizontal.
    pub landscape: bool,
    /// Whether the text is set in two columns.
    pub two_columns: bool,
}

/// A size of paper.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PageSize {
    /// 210 × 297 mm (ISO 216).
    #[default]
    A4,
    /// 8.5 × 11 inches (ANSI A).
    Letter,
}
