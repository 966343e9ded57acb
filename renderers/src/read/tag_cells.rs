//! The places of the cells of a tagged table, which follow from the order of its elements and the
//! spans of those before.

use super::limits;

/// The maximum number of rows of a merged cell.
const ROWS: usize = 100_000;

/// The place of a cell in its table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TaggedCell {
    /// The number of the table.
    pub table: usize,
    pub row: usize,
    pub column: usize,
    /// The size of the cell, in rows and columns.
    pub rows: usize,
    pub columns: usize,
    pub is_header: bool,
    /// The number of the paragraph within it.
    pub line: usize,
}

/// The cells of the open table so far.
#[derive(Default)]
pub struct CellPlaces {
    /// The number of the table; none outside of tables.
    table: Option<usize>,
    /// The number of rows that have begun.
    rows: usize,
    column: usize,
    /// For each column, the first row after the last cell in it.
    free_from: Vec<usize>,
}

impl CellPlaces {
    pub fn of(table: usize) -> Self {
        Self { table: Some(table), ..Self::default() }
    }

    pub fn begin_row(&mut self) {
        self.rows += 1;
        self.column = 0;
    }

    /// The next cell of the row, with its columns and rows; `None` if it is none of a table, or
    /// beyond the limit of columns.
    pub fn add(&mut self, [columns, rows]: [usize; 2]) -> Option<TaggedCell> {
        let (table, row) = (self.table?, self.rows.checked_sub(1)?);
        while self.free_from.get(self.column).is_some_and(|free| *free > row) {
            self.column += 1;
        }
        let column = self.column;
        let room = limits::COLUMNS.checked_sub(column).filter(|room| *room > 0)?;
        // A cell ends before a column that a cell of a row above takes.
        let below = self.free_from.get(column..).unwrap_or_default();
        let free = below.iter().position(|free| *free > row).unwrap_or(room).min(room);
        let (columns, rows) = (columns.clamp(1, free), rows.clamp(1, ROWS));
        self.column += columns;
        self.free_from.resize(self.free_from.len().max(self.column), 0);
        self.free_from[column..self.column].fill(row + rows);
        Some(TaggedCell { table, row, column, rows, columns, is_header: false, line: 0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_begin_beside_those_that_reach_down() {
        let mut cells = CellPlaces::of(1);
        assert_eq!(cells.add([1, 1]), None, "no row");
        let mut places = Vec::new();
        for row in [&[[1, 2], [2, 1]][..], &[[1, 1], [1, 1]], &[[300, 1], [1, 1]]] {
            cells.begin_row();
            for spans in row {
                places.push(cells.add(*spans).map(|cell| (cell.row, cell.column, cell.columns)));
            }
        }
        let wanted =
            [(0, 0, 1), (0, 1, 2), (1, 1, 1), (1, 2, 1), (2, 0, 256)].map(Some).into_iter();
        assert_eq!(places, wanted.chain([None]).collect::<Vec<_>>());
        assert_eq!(CellPlaces::default().add([1, 1]), None, "no table");
    }

    #[test]
    fn no_two_cells_are_at_the_same_place() {
        let mut cells = CellPlaces::of(1);
        let mut taken = std::collections::HashSet::new();
        for row in 0..20 {
            cells.begin_row();
            let spans: &[[usize; 2]] = if row % 2 == 0 { &[[1, 1], [1, 5]] } else { &[[4, 2]] };
            for spans in spans {
                let cell = cells.add(*spans).expect("there are enough columns");
                for at in cell.row..cell.row + cell.rows {
                    for column in cell.column..cell.column + cell.columns {
                        assert!(taken.insert((at, column)), "{cell:?}");
                    }
                }
            }
        }
    }
}
