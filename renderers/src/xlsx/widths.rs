//! Widths of columns, in characters.

use super::cells::{self, Typed};
use super::directives::Directive;
use super::plan::PlannedPart;
use super::runs::Runs;
use super::signs::Signs;
use crate::document::{Inline, Table};

/// The minimum column width.
const NARROWEST: usize = 8;
const WIDEST: usize = 60;
/// Longer text is wrapped over several columns.
pub const LINE_WIDTH: usize = 90;

/// Column widths by the widest cell in each table column; `width_of` is that of a cell.
pub fn widths(parts: &[PlannedPart], width_of: &dyn Fn(&[Inline]) -> usize) -> Vec<usize> {
    let mut widths: Vec<usize> = Vec::new();
    for part in parts {
        if let PlannedPart::Chart(chart) = part {
            widths.resize(widths.len().max(chart.series.len() + 1), NARROWEST);
            let names = chart.series.iter().zip(1..).map(|(series, column)| (&series.name, column));
            let first = std::iter::once(&chart.corner).chain(&chart.categories);
            for (name, column) in first.map(|name| (name, 0)).chain(names) {
                let width = name.chars().count() + 3;
                widths[column] = widths[column].max(width).min(WIDEST);
            }
        }
        if let PlannedPart::Table(table, directives) = part {
            let Table { header, rows, .. } = table;
            widths.resize(widths.len().max(header.len()), NARROWEST);
            let spans = table.spans();
            for (at, row) in std::iter::once(header).chain(rows).enumerate() {
                for (column, (width, cell)) in widths.iter_mut().zip(row).enumerate() {
                    if spans.at(at, column).columns() == 1 {
                        *width = (*width).max(width_of(cell) + 3).min(WIDEST);
                    }
                }
            }
            for merge in table.merges.iter().filter(|merge| merge.columns > 1) {
                let row = merge.row.checked_sub(1).map_or(Some(header), |at| rows.get(at));
                let cell = row.and_then(|row| row.get(merge.column));
                let wanted = cell.map_or(0, |cell| Runs::read(cell).width() + 3);
                let end = (merge.column + merge.columns).min(widths.len());
                let columns = &mut widths[merge.column.min(end)..end];
                let missing = wanted.min(WIDEST).saturating_sub(columns.iter().sum());
                let each = missing.div_ceil(columns.len().max(1));
                for width in columns {
                    *width += each;
                }
            }
            if directives.iter().any(|directive| matches!(directive, Directive::Total(..))) {
                let first = rows.first().into_iter().flatten();
                for (width, cell) in widths.iter_mut().zip(first) {
                    *width = (*width + growth(cell, rows.len())).min(WIDEST);
                }
            }
        }
    }
    widths
}

/// The number of additional characters that the sum of `rows` numbers may need.
fn growth(cell: &[Inline], rows: usize) -> usize {
    // In either notation.
    let signs = Signs::Either(Some(','));
    let is_number = matches!(cells::read(&Runs::read(cell).text(), signs), Typed::Number { .. });
    let digits = rows.checked_ilog10().map_or(0, |digits| digits as usize + 1);
    if is_number { digits + digits.div_ceil(3) } else { 0 }
}

/// The last column and the total width of the columns that a line of text needs.
pub fn span(widths: &[usize]) -> (u16, usize) {
    let mut width = 0;
    let mut column = 0;
    loop {
        width += widths.get(column).copied().unwrap_or(NARROWEST);
        if width >= LINE_WIDTH || column >= 30 {
            return (column.max(1) as u16, width);
        }
        column += 1;
    }
}
