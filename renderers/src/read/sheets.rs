//! Excel: each sheet as a table. Cells are stored sparsely, so that a single cell far from the
//! others does not allocate all cells before it.

use calamine::{Data, Reader as _, SheetVisible, Sheets, open_workbook_auto_from_rs};
use std::{collections::BTreeMap, fmt::Display, io::Cursor};

use super::{
    archive::Archive,
    asides::{self, AsideComment, Comments},
    chart, limits,
    reading::{Kind, ReadError, Reading},
    tables::MERGED,
    words::{EdgeTexts, Words},
    workbook::{Rows, SheetCells, Workbook},
};
use crate::counted::counted;

/// The minimum number of cells that are shown of each sheet of a large workbook.
const MIN_CELLS: usize = 500;
/// What the reader of older and binary workbooks does not return.
const UNFORMATTED: &str = "Number formats, links, merged cells, and hidden rows and columns of .xls \
                           and .xlsb workbooks are not read: 12.5 % is 0.125.";

pub fn read(kind: Kind, bytes: &[u8]) -> Result<Reading, ReadError> {
    if kind == Kind::Xlsx {
        return workbook(Archive::open(bytes)?);
    }
    if kind != Kind::Xls {
        Archive::open(bytes)?.check_all()?;
    }
    let mut reading = Reading::of(kind, String::new());
    let mut words = Words::default();
    let mut book = open_workbook_auto_from_rs(Cursor::new(bytes)).map_err(damaged)?;
    let sheets = book.sheets_metadata().to_vec();
    let mut budget = CellBudget::of(sheets.len());
    for sheet in sheets {
        reading.pages += 1;
        let is_hidden = sheet.visible != SheetVisible::Visible;
        words.heading(2, &title(&sheet.name, is_hidden));
        match cells(&mut book, &sheet.name, budget.next_sheet()) {
            Ok(cells) => words.table(&budget.rows(&sheet.name, &cells, &mut reading.warnings))?,
            Err(too_large @ ReadError::TooLarge(_)) => return Err(too_large),
            Err(problem) => {
                let name = sheet.name;
                reading.warnings.push(format!("The sheet {name} could not be read. {problem}"));
            }
        }
    }
    reading.warnings.append(&mut budget.sizes);
    reading.warnings.push(UNFORMATTED.into());
    reading.markdown = words.finish();
    Ok(reading)
}

/// The name of a sheet, with a mark if it is not shown.
pub fn title(name: &str, is_hidden: bool) -> String {
    if is_hidden { format!("{name} (hidden)") } else { name.to_owned() }
}

/// The warning about a sheet with too many columns.
pub fn skipped_columns(name: &str) -> String {
    format!("Columns of the sheet {name} after the 256th were skipped.")
}

/// Reads a workbook since 2007.
pub fn workbook(mut archive: Archive) -> Result<Reading, ReadError> {
    let book = Workbook::open(&mut archive)?;
    if book.sheets.is_empty() {
        return Err(damaged("it has no sheets"));
    }
    let mut reading = Reading::of(Kind::Xlsx, String::new());
    let mut words = Words::default();
    let mut budget = CellBudget::of(book.sheets.len());
    let (mut uncalculated, mut has_merged) = (0, false);
    let mut edges = EdgeTexts::default();
    for sheet in &book.sheets {
        reading.pages += 1;
        words.heading(2, &title(&sheet.name, sheet.is_hidden));
        let cells = match book.cells(&mut archive, sheet, budget.next_sheet()) {
            Ok(cells) => cells,
            Err(too_large @ ReadError::TooLarge(_)) => return Err(too_large),
            Err(problem) => {
                let name = &sheet.name;
                reading.warnings.push(format!("The sheet {name} could not be read. {problem}"));
                continue;
            }
        };
        uncalculated += cells.uncalculated;
        has_merged |= cells.has_merged;
        words.table(&budget.rows(&sheet.name, &cells, &mut reading.warnings))?;
        let last = cells.rows.last_key_value().map_or(0, |(row, _)| row + 1);
        for note in cells.hidden.notes(last, cells.width) {
            words.paragraph(&note);
        }
        cells.edges.into_iter().for_each(|text| edges.add(text));
    }
    reading.warnings.append(&mut budget.sizes);
    if uncalculated > 0 {
        reading.warnings.push(counted(
            uncalculated,
            "formula has no calculated value and is shown as a formula.",
            "formulas have no calculated value and are shown as formulas.",
        ));
    }
    reading.warnings.extend(has_merged.then(|| MERGED.to_owned()));
    chart::all(&mut archive, "xl/charts/", &mut words)?;
    asides::diagrams(&mut archive, "xl/", &mut words)?;
    asides::shapes(&mut archive, "xl/drawings/drawing", &mut words)?;
    write_comments(&mut archive, &book, &mut words)?;
    words.edges(&edges);
    reading.markdown = words.finish();
    Ok(reading)
}

/// The cells of a workbook that may still be shown.
pub struct CellBudget {
    left: usize,
    /// The number of sheets that follow.
    others: usize,
    /// Warnings about sheets of which only some rows are shown.
    pub sizes: Vec<String>,
}

impl CellBudget {
    /// The budget of a workbook with that number of sheets.
    pub fn of(sheets: usize) -> Self {
        Self { left: limits::CELLS, others: sheets, sizes: Vec::new() }
    }

    /// The maximum number of cells of the next sheet.
    pub fn next_sheet(&mut self) -> usize {
        self.others = self.others.saturating_sub(1);
        self.left.saturating_sub(self.others * MIN_CELLS).max(MIN_CELLS.min(self.left))
    }

    /// The rows of a sheet within the budget.
    fn rows(
        &mut self,
        name: &str,
        cells: &SheetCells,
        warnings: &mut Vec<String>,
    ) -> Vec<Vec<String>> {
        let rows = table(&cells.rows, self.left, warnings, name);
        self.left -= rows.len() * rows.iter().map(Vec::len).max().unwrap_or(0);
        if cells.is_cut || rows.len() < cells.rows.len() {
            let [height, width] = [cells.height, cells.width].map(|count| count as usize);
            self.report(CutSheet { name, height, width, shown: rows.len() });
        }
        rows
    }

    pub fn take(&mut self, cells: usize) {
        self.left = self.left.saturating_sub(cells);
    }

    pub fn report(&mut self, sheet: CutSheet<'_>) {
        let CutSheet { name, height, width, shown } = sheet;
        self.sizes.push(format!(
            "The sheet {name} has {height} rows and {width} columns; only the first {shown} rows \
             with values are shown."
        ));
    }
}

/// The size of a sheet, and the number of its rows that are shown.
pub struct CutSheet<'n> {
    pub name: &'n str,
    pub height: usize,
    pub width: usize,
    pub shown: usize,
}

/// Writes the comments of all sheets, each after its sheet and cell.
fn write_comments(
    archive: &mut Archive,
    book: &Workbook,
    words: &mut Words,
) -> Result<(), ReadError> {
    let mut people = archive.names();
    people.retain(|part| part.starts_with("xl/persons/"));
    let mut comments = Comments::of(archive, &people)?;
    let mut lines = Vec::new();
    for sheet in &book.sheets {
        let name = quoted(&sheet.name);
        for comment in comments.of_part(archive, &sheet.part)? {
            let cell = comment.cell.as_deref().map(|cell| format!("{name}!{cell}"));
            lines.push(format!("{}: {}", cell.unwrap_or(name.clone()), comment.with_author()));
        }
    }
    let others = comments.others(archive, "xl/")?;
    lines.extend(others.iter().map(AsideComment::with_author));
    if !lines.is_empty() {
        words.heading(2, "Comments");
    }
    for line in lines {
        words.paragraph(&line);
    }
    Ok(())
}

/// The name of a sheet as references to its cells write it.
fn quoted(name: &str) -> String {
    let is_plain = name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '.'));
    if is_plain { name.to_owned() } else { format!("'{}'", name.replace('\'', "''")) }
}

/// The cells of a sheet of another format, at most `limit`.
fn cells(
    book: &mut Sheets<Cursor<&[u8]>>,
    name: &str,
    limit: usize,
) -> Result<SheetCells, ReadError> {
    let mut found = FoundCells {
        cells: SheetCells::default(),
        left: limit,
        bytes_left: limits::MARKDOWN_BYTES,
    };
    if let Sheets::Xlsb(book) = book {
        let mut reader = book.worksheet_cells_reader(name).map_err(damaged)?;
        let (row, column) = reader.dimensions().end;
        found.end(row, column);
        while let Some(cell) = reader.next_cell().map_err(damaged)? {
            let (row, column) = cell.get_position();
            if !found.add(row, column, &Data::from(cell.get_value().clone())) {
                break;
            }
        }
        return Ok(found.cells);
    }
    let range = book.worksheet_range(name).map_err(damaged)?;
    let (row, column) = range.end().unwrap_or_default();
    found.end(row, column);
    for (row, column, value) in range.used_cells() {
        if !found.add(row as u32, column as u32, value) {
            break;
        }
    }
    Ok(found.cells)
}

/// The cells of a sheet that are not more than the limit.
struct FoundCells {
    cells: SheetCells,
    left: usize,
    bytes_left: usize,
}

impl FoundCells {
    /// Notes the last row and column of the sheet.
    fn end(&mut self, row: u32, column: u32) {
        self.cells.height = row.saturating_add(1);
        self.cells.width = column.saturating_add(1);
    }

    /// Adds a cell; `false` if it is over the limit. The row that it would complete is left out.
    fn add(&mut self, row: u32, column: u32, value: &Data) -> bool {
        if *value == Data::Empty {
            return true;
        }
        let text = shown(value);
        let bytes_left = self.bytes_left.checked_sub(text.len());
        let (Some(left), Some(bytes_left)) = (self.left.checked_sub(1), bytes_left) else {
            self.cells.is_cut = true;
            if self.cells.rows.len() > 1 {
                self.cells.rows.remove(&row);
            }
            return false;
        };
        (self.left, self.bytes_left) = (left, bytes_left);
        self.cells.rows.entry(row).or_default().insert(column, text);
        true
    }
}

/// The first rows, at most `max_cells`. Skips rows without a value and columns before the first value.
fn table(
    rows: &Rows,
    max_cells: usize,
    warnings: &mut Vec<String>,
    name: &str,
) -> Vec<Vec<String>> {
    let columns = rows.values().flat_map(BTreeMap::keys);
    let first = columns.clone().min().copied().unwrap_or(0);
    let last = columns.max().copied().unwrap_or(0);
    let limit = first.saturating_add(limits::COLUMNS as u32 - 1);
    if last > limit {
        warnings.push(skipped_columns(name));
    }
    let until = |row: &BTreeMap<u32, String>| {
        row.range(..=limit).next_back().map_or(first, |(column, _)| *column)
    };
    // A table takes all cells up to its widest row. Only those that are shown are made: few values far
    // to the right are many cells.
    let width = rows.values().map(until).max().map_or(1, |last| (last - first) as usize + 1);
    let line = |row: &BTreeMap<u32, String>| {
        let columns = first..=until(row);
        columns.map(|column| row.get(&column).cloned().unwrap_or_default()).collect()
    };
    rows.values().take(max_cells / width).map(line).collect()
}

pub(crate) fn shown(value: &Data) -> String {
    match value {
        Data::Empty => String::new(),
        Data::String(text) | Data::DateTimeIso(text) | Data::DurationIso(text) => text.clone(),
        Data::Bool(is) => is.to_string().to_uppercase(),
        Data::DateTime(moment) if moment.is_datetime() => {
            let (year, month, day, hour, minute, second, _) = moment.to_ymd_hms_milli();
            let date = format!("{year:04}-{month:02}-{day:02}");
            let time = format!("{hour:02}:{minute:02}:{second:02}");
            match (hour, minute, second) {
                // Serial numbers below one are times without a date.
                _ if moment.as_f64() < 1.0 => time,
                (0, 0, 0) => date,
                _ => format!("{date} {time}"),
            }
        }
        other => other.to_string(),
    }
}

fn damaged(error: impl Display) -> ReadError {
    ReadError::Damaged(format!("The workbook is damaged or protected: {error}."))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows with values in these columns.
    fn sheet(rows: &[&[u32]]) -> Rows {
        let row = |columns: &&[u32]| columns.iter().map(|at| (*at, at.to_string())).collect();
        (0..).zip(rows.iter().map(row)).collect()
    }

    #[test]
    fn only_the_cells_that_are_shown_are_made() {
        let mut warnings = Vec::new();
        let mut shown = |rows: &Rows, max_cells: usize| table(rows, max_cells, &mut warnings, "S");
        let wide = sheet(&[&[7], &[262], &[262], &[]]);
        let widths = |rows: Vec<Vec<String>>| rows.iter().map(Vec::len).collect::<Vec<_>>();
        assert_eq!(widths(shown(&wide, 600)), [1, 256]);
        assert_eq!(widths(shown(&wide, 2_000)), [1, 256, 256, 1]);
        let far = sheet(&[&[u32::MAX - 1, u32::MAX]]);
        assert_eq!(widths(shown(&far, 10)), [2]);
        assert_eq!(warnings, Vec::<String>::new());
    }
}
