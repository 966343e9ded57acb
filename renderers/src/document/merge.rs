//! Cells of a table that extend over several rows or columns.

use std::collections::HashMap;
use std::ops::Range;

use super::Table;

/// A cell that extends over several rows or columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Merge {
    /// The row of the cell; the header is row 0.
    pub row: usize,
    /// The column of the cell.
    pub column: usize,
    /// The number of rows.
    pub rows: usize,
    /// The number of columns.
    pub columns: usize,
}

/// How a cell takes part in a merge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CellSpan {
    /// The cell stands for itself.
    Single,
    /// The cell extends over others.
    First(Merge),
    /// The cell is covered by one to its left.
    CoveredLeft(Merge),
    /// The cell is covered by one in its column.
    CoveredAbove(Merge),
}

impl CellSpan {
    /// The number of columns of the cell; zero if another to its left covers it.
    pub fn columns(self) -> usize {
        match self {
            Self::Single => 1,
            Self::First(merge) | Self::CoveredAbove(merge) => merge.columns,
            Self::CoveredLeft(_) => 0,
        }
    }
}

impl Merge {
    /// The row and column of each cell.
    pub fn cells(self) -> impl Iterator<Item = (usize, usize)> {
        let columns = self.column..self.column + self.columns;
        (self.row..self.row + self.rows).flat_map(move |row| columns.clone().map(move |c| (row, c)))
    }

    /// The part in these rows and columns, counted from their start.
    pub fn within(self, rows: Range<usize>, columns: Range<usize>) -> Option<Self> {
        let (row, rows) = clipped(self.row, self.rows, &rows)?;
        let (column, columns) = clipped(self.column, self.columns, &columns)?;
        (rows * columns > 1).then_some(Self { row, column, rows, columns })
    }
}

/// The part of `count` places from `from` that is in the range.
fn clipped(from: usize, count: usize, range: &Range<usize>) -> Option<(usize, usize)> {
    let (begin, end) = (from.max(range.start), (from + count).min(range.end));
    (begin < end).then(|| (begin - range.start, end - begin))
}

/// The cells of a table that take part in a merge, by row and column.
#[derive(Debug, Default)]
pub struct Spans(HashMap<(usize, usize), CellSpan>);

impl Spans {
    /// How the cell takes part in a merge; the header is row 0.
    pub fn at(&self, row: usize, column: usize) -> CellSpan {
        self.0.get(&(row, column)).copied().unwrap_or(CellSpan::Single)
    }
}

impl Table {
    /// The merges by their cells.
    pub fn spans(&self) -> Spans {
        let span = |merge: Merge, (row, column): (usize, usize)| match (row, column) {
            _ if column > merge.column => CellSpan::CoveredLeft(merge),
            _ if row > merge.row => CellSpan::CoveredAbove(merge),
            _ => CellSpan::First(merge),
        };
        let cells = self
            .merges
            .iter()
            .flat_map(|merge| merge.cells().map(move |cell| (cell, span(*merge, cell))));
        Spans(cells.collect())
    }

    /// The number of rows of the header and of the cells that begin in it, at least one.
    pub fn header_rows(&self) -> usize {
        let own = 1 + self.more_header_rows;
        let of_header = self.merges.iter().filter(|merge| merge.row < own);
        let rows = of_header.map(|merge| merge.row + merge.rows).max().unwrap_or(1);
        rows.max(own).clamp(1, self.rows.len().max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_merge_is_clipped_to_a_part_of_the_table() {
        let merge = Merge { row: 1, column: 1, rows: 3, columns: 2 };
        let clipped = merge.within(2..9, 0..2);
        assert_eq!(clipped, Some(Merge { row: 0, column: 1, rows: 2, columns: 1 }));
        assert_eq!(merge.within(0..2, 0..2), None, "a single cell");
        assert_eq!(merge.within(4..9, 0..9), None);
        assert_eq!(merge.cells().count(), 6);
    }
}
