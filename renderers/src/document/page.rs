//! Page settings.

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Page {
    pub size: PageSize,
    pub landscape: bool,
    /// Whether the text is set in two columns.
    pub two_columns: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PageSize {
    #[default]
    A4,
    Letter,
}
