//! Sets cells, appends rows and adds sheets in an existing workbook. Formats, charts and everything
//! else stay.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeSet;

use super::{
    Change, EditError, Edited,
    book::{Book, NativeTable},
    cells::{Address, CellArea, CellValue, LAST_COLUMN, LAST_ROW, letters},
    formulas, invalid,
    parts::PackageParts,
    sheet::{self, GrownRows},
    tree::TreeElement,
};
use crate::read::limits;

/// The maximum number of cells that one edit sets.
pub const CELLS: usize = 5_000;

/// The maximum number of rows that one edit appends.
pub const ROWS: usize = 5_000;

/// The changes of a workbook. New sheets come first, then cells, then rows.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct WorkbookEdit {
    /// Sheets to add after the others.
    #[serde(default)]
    pub sheets: Vec<NewSheet>,
    /// Cells to set.
    #[serde(default)]
    pub cells: Vec<NewCell>,
    /// Rows to append.
    #[serde(default)]
    pub rows: Vec<NewRows>,
}

/// A sheet to add.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct NewSheet {
    /// Its name.
    pub name: String,
    /// Its rows from the top, each a list of cells.
    pub rows: Vec<Vec<Value>>,
}

/// A cell to set.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct NewCell {
    /// The sheet; by default the first.
    pub sheet: Option<String>,
    /// Such as `B2`.
    pub cell: String,
    /// A number, a text, a formula, true, false, or null to clear it.
    pub value: Value,
}

/// Rows to append.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct NewRows {
    /// The sheet; by default the first.
    pub sheet: Option<String>,
    /// The native table; by default the sheet's rows.
    pub table: Option<String>,
    /// Each a list of cells, or an object by column names. Columns without a value take the formula
    /// of the row above.
    pub rows: Vec<Value>,
}

/// Edits a workbook.
pub fn edit(file: &[u8], edit: &WorkbookEdit) -> Result<Edited, EditError> {
    let count =
        edit.cells.len() + edit.sheets.iter().flat_map(|s| &s.rows).map(Vec::len).sum::<usize>();
    limits::within(count as u64, CELLS as u64, "cells to set")?;
    let rows = edit.rows.iter().map(|rows| rows.rows.len()).sum::<usize>();
    limits::within(rows as u64, ROWS as u64, "rows to append")?;
    let parts = PackageParts::open(file)?;
    if !parts.has("xl/workbook.xml") {
        return invalid("Only .xlsx workbooks are edited.");
    }
    let mut book = Book::open(parts)?;
    let mut changes = Vec::new();
    for new in &edit.sheets {
        add_sheet(&mut book, new, &mut changes)?;
    }
    let mut changed = BTreeSet::new();
    for new in &edit.cells {
        changed.extend(set_cell(&mut book, new, &mut changes)?);
    }
    for sheet in changed {
        sheet::measure(book.root(sheet)?);
    }
    for new in &edit.rows {
        append(&mut book, new, &mut changes)?;
    }
    let mut warnings = Vec::new();
    if changes.is_empty() {
        return Ok(Edited { bytes: file.to_vec(), ..Edited::default() });
    }
    if book.forget_results()? {
        warnings.push(
            "The results of formulas are computed when the file is opened in a spreadsheet \
             program; until then they are empty."
                .into(),
        );
    }
    Ok(Edited { bytes: book.finish()?, name: None, changes, warnings })
}

fn add_sheet(book: &mut Book, new: &NewSheet, changes: &mut Vec<Change>) -> Result<(), EditError> {
    let at = book.add_sheet(&new.name)?;
    let names = book.names();
    for (number, row) in (1..).zip(&new.rows) {
        for (column, value) in (1..).zip(row) {
            let value = CellValue::of(value, |source| formulas::checked(source, &names))?;
            book.set(at, Address { row: number, column }, &value)?;
        }
        let shown: Vec<_> = row.iter().map(plain).collect();
        changes.push(Change::added(format!("{}!{number}", new.name), &shown.join(" | ")));
    }
    if new.rows.is_empty() {
        changes.push(Change::added("sheets", &new.name));
    }
    Ok(())
}

/// Sets a cell. Returns the sheet, if it has changed.
fn set_cell(
    book: &mut Book,
    new: &NewCell,
    changes: &mut Vec<Change>,
) -> Result<Option<usize>, EditError> {
    let at = book.sheet(new.sheet.as_deref())?;
    let Some(address) = Address::parse(&new.cell) else {
        return invalid(format!("{:.20} is not a cell such as B2.", new.cell));
    };
    let value = book.value(at, address, &new.value)?;
    let content = book.content(at, address)?;
    if content.is(&value) {
        return Ok(None);
    }
    let tables = book.tables(at)?;
    let is_header = |table: &&NativeTable| {
        let is_first = table.area.from.row == address.row && table.area.has(address);
        is_first && table.hidden_header.is_none()
    };
    if let Some(table) = tables.iter().find(is_header) {
        return invalid(format!(
            "{address} names a column of the table {}, which formulas may use: rename it in a \
             spreadsheet program.",
            table.name
        ));
    }
    book.set(at, address, &value)?;
    let place = format!("{}!{address}", book.sheets[at].0);
    let (mut before, mut after) = (content.shown(), value.shown());
    if before == after {
        before.extend([" (", content.kind(), ")"]);
        after.extend([" (", value.kind(), ")"]);
    }
    changes.push(Change::of(place, &before, &after));
    Ok(Some(at))
}

/// Where rows are appended.
struct Target {
    sheet: usize,
    /// The columns, counted from 1.
    first: u32,
    last: u32,
    /// The row of the column names, which may be hidden above the first row.
    top: u32,
    /// The row above the new ones.
    above: u32,
    /// The names of the columns.
    header: Vec<String>,
    table: Option<NativeTable>,
}

fn target(book: &mut Book, new: &NewRows) -> Result<Target, EditError> {
    let (sheet, table) = if let Some(name) = &new.table {
        let (sheet, table) = book.table(name)?;
        (sheet, Some(table))
    } else {
        let sheet = book.sheet(new.sheet.as_deref())?;
        let last = sheet::used(book.root(sheet)?).map_or(0, |area| area.to.row);
        let tables = book.tables(sheet)?;
        (sheet, tables.into_iter().find(|table| table.area.to.row == last))
    };
    let used = sheet::used(book.root(sheet)?);
    let area = match (&table, used) {
        (Some(table), _) => table.area,
        (None, Some(used)) => used,
        (None, None) => {
            let first = Address { row: 1, column: 1 };
            CellArea { from: first, to: first }
        }
    };
    if let Some(table) = &table {
        if table.has_totals {
            return invalid(format!(
                "The table {} has a total row, below which rows cannot be appended: set its cells, \
                 or remove the total row first.",
                table.name
            ));
        }
        let below = |at: Address| {
            at.row > area.to.row && (area.from.column..=area.to.column).contains(&at.column)
        };
        if let Some(at) = book.first_content(sheet, below)? {
            return invalid(format!(
                "There is content below the table {} in {at}, which new rows would overwrite.",
                table.name
            ));
        }
    }
    let hidden = table.as_ref().and_then(|table| table.hidden_header.clone());
    let top = area.from.row - u32::from(hidden.is_some());
    let mut header = hidden.unwrap_or_default();
    if header.is_empty() {
        for column in area.from.column..=area.to.column {
            header.push(book.shown(sheet, Address { row: area.from.row, column })?);
        }
    }
    let above = if used.is_none() && table.is_none() { 0 } else { area.to.row };
    let (first, last) = (area.from.column, area.to.column);
    Ok(Target { sheet, first, last, top, above, header, table })
}

fn append(book: &mut Book, new: &NewRows, changes: &mut Vec<Change>) -> Result<(), EditError> {
    if new.rows.is_empty() {
        return Ok(());
    }
    let target = target(book, new)?;
    let name = book.names()[target.sheet].clone();
    let to = target.above.saturating_add(new.rows.len() as u32);
    if to > LAST_ROW {
        return Err(EditError::TooLarge("The sheet has no room for these rows.".into()));
    }
    for (number, row) in (target.above + 1..).zip(&new.rows) {
        let values = columns(row, &target)?;
        let mut shown = Vec::new();
        let end = target.last.max(target.first + (values.len() as u32).saturating_sub(1));
        if end > LAST_COLUMN {
            return Err(EditError::TooLarge("The sheet has no room for these columns.".into()));
        }
        for column in target.first..=end {
            let given = values.get((column - target.first) as usize).unwrap_or(&Value::Null);
            shown.push(put(book, &target, Address { row: number, column }, given)?);
        }
        keep_height(book.root(target.sheet)?, target.above, number);
        changes.push(Change::added(format!("{name}!{number}"), &shown.join(" | ")));
    }
    let root = book.root(target.sheet)?;
    if target.above > 0 {
        let (first, last) = (target.top.saturating_add(1), target.above);
        sheet::grow(root, GrownRows { first, last, to });
    }
    sheet::measure(root);
    book.grow_names(target.sheet, target.above, to)?;
    target.table.map_or(Ok(()), |table| book.grow_table(&table, to))
}

/// Sets a cell of a new row: the value, or the formula of the row above, in its format.
fn put(book: &mut Book, to: &Target, at: Address, given: &Value) -> Result<String, EditError> {
    let source = Address { row: to.above, ..at };
    let above = sheet::cell(book.root(to.sheet)?, source).cloned();
    // Column names have a format of their own.
    let above = above.filter(|_| to.top != to.above);
    let formula = above.as_ref().filter(|_| given.is_null());
    let formula = formula.and_then(|cell| book.formula(to.sheet, cell, source));
    let kind = above.as_ref().and_then(|cell| cell.child("f")?.attribute("t"));
    let is_array = formula.is_some() && kind.as_deref() == Some("array");
    let style = above.and_then(|cell| cell.attribute("s"));
    if let Some(style) = style {
        sheet::cell_mut(book.root(to.sheet)?, at).set("s", &style);
    } else if given.is_null() && formula.is_none() {
        return Ok(String::new());
    }
    let value = match formula {
        Some(formula) => {
            let rows = i64::from(at.row) - i64::from(source.row);
            CellValue::Formula(formulas::shifted(&formula, rows, 0))
        }
        None => book.value(to.sheet, at, given)?,
    };
    book.set(to.sheet, at, &value)?;
    // An ordinary formula would compute with one cell of each area.
    if is_array && let Some(f) = sheet::cell_mut(book.root(to.sheet)?, at).child_mut("f") {
        f.set("t", "array");
        f.set("ref", &at.to_string());
    }
    Ok(value.shown())
}

fn keep_height(root: &mut TreeElement, from: u32, to: u32) {
    let height = sheet::row(root, from).and_then(|row| {
        let is_set = row.attribute("customHeight")?;
        Some((row.attribute("ht")?, is_set))
    });
    if let Some((height, is_set)) = height {
        let row = sheet::row_mut(root, to);
        row.set("ht", &height);
        row.set("customHeight", &is_set);
    }
}

/// The values of a row by column.
fn columns(row: &Value, target: &Target) -> Result<Vec<Value>, EditError> {
    let width = target.header.len();
    match row {
        Value::Array(cells) if target.table.is_some() && cells.len() > width => {
            invalid(format!("A row has {} cells; the table has {width} columns.", cells.len()))
        }
        Value::Array(cells) => {
            limits::within(cells.len() as u64, limits::COLUMNS as u64, "cells in a row")?;
            Ok(cells.clone())
        }
        Value::Object(cells) => {
            let mut values = vec![Value::Null; width];
            for (name, value) in cells {
                let is_it = |header: &String| header.trim().eq_ignore_ascii_case(name.trim());
                let Some(at) = target.header.iter().position(is_it) else {
                    let first = letters(target.first);
                    return invalid(format!(
                        "There is no column “{name:.60}”. The columns from {first} on are: {}.",
                        target.header.join(", ")
                    ));
                };
                values[at] = value.clone();
            }
            Ok(values)
        }
        _ => invalid("A row is a list of cells, or an object by column names."),
    }
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(
        || if value.is_null() { String::new() } else { value.to_string() },
        str::to_owned,
    )
}
