//! The rows of an RTF table, with the definitions that say which of their cells are merged.
//!
//! There are two notations. The parts of a merged cell may be cells of their own that are marked
//! (`\clmrg`, `\clvmrg`). Most programs write a cell over several columns as a single wide one, of
//! which only the right edge (`\cellx`) tells its width.

use super::{
    limits,
    tables::{MERGED_LEFT, MERGED_UP},
};

/// Edges at this distance are the same, in twips: programs round them.
const SAME_EDGE: i32 = 40;

/// The definition of the cells of a row. It applies to the rows that follow, until the next one.
#[derive(Debug, Clone, Default)]
pub struct RtfRowDefinition {
    cells: Vec<CellDefinition>,
    /// The cell whose right edge follows.
    open: CellDefinition,
}

#[derive(Debug, Clone, Copy, Default)]
struct CellDefinition {
    /// The mark of a cell that is a part of a merged cell.
    part: Option<&'static str>,
    /// The right edge, in twips.
    right: i32,
}

impl RtfRowDefinition {
    /// Reads a control word; others than those of definitions have no effect.
    pub fn read(&mut self, name: &str, number: Option<i32>) {
        match name {
            "trowd" => *self = Self::default(),
            "clmrg" => self.open.part = self.open.part.or(Some(MERGED_LEFT)),
            // As in other formats, all cells of the lower rows belong to the row above.
            "clvmrg" => self.open.part = Some(MERGED_UP),
            "cellx" if self.cells.len() < limits::COLUMNS => {
                self.open.right = number.unwrap_or(0);
                self.cells.push(std::mem::take(&mut self.open));
            }
            _ => {}
        }
    }
}

/// The texts of a row, and the definitions of its cells.
#[derive(Debug)]
pub struct RtfRow {
    cells: Vec<String>,
    /// Not more than there are cells: a definition may be that of many rows.
    defined: Vec<CellDefinition>,
    /// Whether each cell has a definition, and none is left over.
    is_defined: bool,
}

impl RtfRow {
    pub fn of(mut cells: Vec<String>, definition: &RtfRowDefinition) -> Self {
        let defined = &definition.cells;
        // LibreOffice ends more cells than the row has, if one of them contains a table.
        let is_surplus = |cells: &[String]| {
            !defined.is_empty()
                && cells.len() > defined.len()
                && cells.last().is_some_and(String::is_empty)
        };
        while is_surplus(&cells) {
            cells.pop();
        }
        let is_defined = defined.len() == cells.len();
        let defined = defined.iter().take(cells.len()).copied().collect();
        Self { cells, defined, is_defined }
    }

    /// The right edges of the cells, from the left; none if the definition is not that of the cells.
    fn edges(&self) -> Vec<i32> {
        let edges: Vec<i32> = self.defined.iter().map(|cell| cell.right).collect();
        let is_ascending = edges.windows(2).all(|pair| pair[0].saturating_add(SAME_EDGE) < pair[1]);
        if self.is_defined && is_ascending { edges } else { Vec::new() }
    }

    /// The texts with the marks of merged cells. `columns` are the right edges of the table's columns.
    fn marked(self, columns: &[i32]) -> RtfMarkedRow {
        let widths = widths(&self.edges(), columns);
        let mut row = RtfMarkedRow::default();
        for (at, text) in self.cells.into_iter().enumerate() {
            let part = self.defined.get(at).and_then(|cell| cell.part);
            let part = part.filter(|_| text.is_empty());
            let more = widths.get(at).map_or(0, |width| width - 1);
            row.has_merged |= part.is_some() || more > 0;
            row.cells.push(part.map_or(text, str::to_owned));
            let mark = part.filter(|mark| *mark == MERGED_UP).unwrap_or(MERGED_LEFT);
            row.cells.extend(std::iter::repeat_n(mark.to_owned(), more));
        }
        row
    }
}

/// The texts of a row with the marks of merged cells, if there are any.
#[derive(Debug, Default)]
pub struct RtfMarkedRow {
    pub cells: Vec<String>,
    pub has_merged: bool,
}

/// The rows of a table with the marks of merged cells. The row with the most cells decides about the
/// columns. Rows whose edges are not among its edges are left as they are, because people also move
/// the border of a cell that is not merged.
pub fn marked(rows: Vec<RtfRow>) -> Vec<RtfMarkedRow> {
    let columns = rows.iter().map(RtfRow::edges).max_by_key(Vec::len).unwrap_or_default();
    // A table over the limit is refused when it is written.
    let is_within = columns.len().saturating_mul(rows.len()) <= limits::CELLS;
    let columns = if is_within { columns } else { Vec::new() };
    rows.into_iter().map(|row| row.marked(&columns)).collect()
}

/// The number of columns of each cell with these right edges; none if the edges do not match.
fn widths(edges: &[i32], columns: &[i32]) -> Vec<usize> {
    let mut widths = Vec::new();
    let mut rest = columns;
    for edge in edges {
        let is_same = |column: &i32| column.abs_diff(*edge) <= SAME_EDGE.unsigned_abs();
        let Some(at) = rest.iter().position(is_same) else { return Vec::new() };
        widths.push(at + 1);
        rest = &rest[at + 1..];
    }
    widths
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file cannot repeat a long definition in an unlimited number of rows.
    #[test]
    fn a_row_keeps_the_definitions_of_its_cells() {
        let mut definition = RtfRowDefinition::default();
        for right in 1..=200 {
            definition.read("cellx", Some(right * 100));
        }
        let row = |cells: usize| RtfRow::of(vec!["x".to_owned(); cells], &definition);
        for cells in [1, 199, 200] {
            assert_eq!(row(cells).defined.len(), cells);
        }
        assert_eq!((row(199).edges().len(), row(200).edges().len()), (0, 200));
    }

    #[test]
    fn the_width_of_a_cell_is_the_number_of_its_columns() {
        let columns = [1_000, 2_000, 3_000, 4_000];
        for (edges, wanted) in [
            (&columns[..], &[1, 1, 1, 1][..]),
            (&[2_000, 3_000, 4_000], &[2, 1, 1]),
            (&[1_010, 3_990], &[1, 3]),
            (&[1_000, 2_500, 4_000], &[]),
            (&[4_000, 5_000], &[]),
        ] {
            assert_eq!(widths(edges, &columns), wanted, "{edges:?}");
        }
    }
}
