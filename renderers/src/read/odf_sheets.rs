//! The rows and columns of an OpenDocument sheet: their positions, and which of them are hidden.

use super::{hidden::HiddenParts, xml::XmlElement};

/// The position in the open sheet.
#[derive(Default)]
pub struct OdfSheet {
    hidden: HiddenParts,
    /// The number of columns that have been declared.
    declared: u32,
    /// The number of rows up to the open one, and of cells in it.
    row: u32,
    column: u32,
    /// The last row and column with a value.
    height: u32,
    width: u32,
}

impl OdfSheet {
    pub fn add_column(&mut self, element: &XmlElement) {
        let first = self.declared.saturating_add(1);
        self.declared = self.declared.saturating_add(count(element, "number-columns-repeated"));
        if is_hidden(element) {
            self.hidden.add_columns(first, self.declared);
        }
    }

    pub fn begin_row(&mut self, element: &XmlElement) {
        let first = self.row.saturating_add(1);
        self.row = self.row.saturating_add(count(element, "number-rows-repeated"));
        self.column = 0;
        if is_hidden(element) {
            self.hidden.add_rows(first, self.row);
        }
    }

    pub fn end_cell(&mut self, wide: usize, is_empty: bool) {
        self.column = self.column.saturating_add(u32::try_from(wide).unwrap_or(u32::MAX));
        if !is_empty {
            self.height = self.row;
            self.width = self.width.max(self.column);
        }
    }

    /// Sentences about hidden rows and columns.
    pub fn notes(&self) -> Vec<String> {
        self.hidden.notes(self.height, self.width)
    }
}

fn count(element: &XmlElement, name: &str) -> u32 {
    element.number(name).map_or(1, |count| u32::try_from(count).unwrap_or(u32::MAX))
}

/// Hidden by hand, or by a filter.
fn is_hidden(element: &XmlElement) -> bool {
    matches!(element.attribute("visibility"), Some("collapse" | "filter"))
}
