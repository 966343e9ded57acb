//! A native table: header, filter, typed cells, checked formulas.

use std::collections::BTreeSet;

use rust_xlsxwriter::{
    Format, Formula, Table as Native, TableColumn, TableStyle, Worksheet, XlsxError,
};

use super::cells::{self, Typed};
use super::formula::{self, Grid, Value};
use super::look;
use super::runs::{Runs, Style, formula_source};
use super::sheet::Pages;
use crate::document::{Align, Inline, Table};

/// How many formulas that stay text are named.
const NAMED: usize = 5;
/// Text wider than this is wrapped in its cell, whose column is no wider.
const WRAP_WIDTH: usize = 57;

/// A cell that is not plain text.
enum Meaning {
    Typed(Typed),
    Formula(formula::Expr),
}

impl Pages<'_> {
    /// Writes the table at `top` and returns the row below it.
    pub fn table(
        &mut self,
        sheet: &mut Worksheet,
        top: u32,
        table: &Table,
    ) -> Result<u32, XlsxError> {
        let Some(last) = table.header.len().checked_sub(1) else { return Ok(top) };
        let bottom = top + table.rows.len() as u32;
        let names = self.names(table);
        if table.rows.is_empty() {
            for (column, name) in names.iter().enumerate() {
                let format = look::header(align(table, column));
                sheet.write_string_with_format(top, column as u16, name, &format)?;
            }
        } else {
            let columns: Vec<TableColumn> = names
                .iter()
                .enumerate()
                .map(|(at, name)| {
                    let format = look::header(align(table, at));
                    TableColumn::new().set_header(name).set_header_format(format)
                })
                .collect();
            let native = Native::new().set_columns(&columns).set_style(TableStyle::Medium2);
            sheet.add_table(top, 0, bottom, last as u16, &native)?;
        }
        if top == 0 {
            sheet.set_freeze_panes(1, 0)?;
            sheet.set_repeat_rows(0, 0)?;
        }
        self.rows(sheet, top, table)?;
        Ok(bottom + 1)
    }

    /// Excel wants each name once and none empty.
    fn names(&mut self, table: &Table) -> Vec<String> {
        let mut used = BTreeSet::new();
        let mut names = Vec::new();
        for (at, cell) in table.header.iter().enumerate() {
            let runs = Runs::read(cell);
            self.has_math |= runs.has_math;
            let text: String = runs.text().chars().take(255).collect();
            let base = if text.is_empty() { format!("Column {}", at + 1) } else { text.clone() };
            let mut name = base.clone();
            let mut number = 1;
            while !used.insert(name.to_lowercase()) {
                number += 1;
                name = format!("{base} ({number})");
            }
            if !text.is_empty() && name != runs.text() {
                let (from, to) = (short(&runs.text()), short(&name));
                self.warn(format!("The column “{from}” is named “{to}”."));
            }
            names.push(name);
        }
        names
    }

    fn rows(&mut self, sheet: &mut Worksheet, top: u32, table: &Table) -> Result<(), XlsxError> {
        let mut grid = Grid::default();
        let mut meanings = Vec::with_capacity(table.rows.len());
        for (column, cell) in table.header.iter().enumerate() {
            grid.set(0, column as u16, text_value(Runs::read(cell).text()));
        }
        for (at, row) in table.rows.iter().enumerate() {
            let mut line = Vec::with_capacity(row.len());
            for (column, cell) in row.iter().enumerate().take(table.header.len()) {
                let (runs, meaning) = self.meaning(cell);
                remember(&mut grid, (at as u32 + 1, column as u16), &runs, meaning.as_ref());
                line.push((runs, meaning));
            }
            meanings.push(line);
        }
        for (at, line) in meanings.iter().enumerate() {
            for (column, (runs, meaning)) in line.iter().enumerate() {
                let place = Place { top, row: at as u32 + 1, column: column as u16 };
                let align = align(table, column);
                self.cell(sheet, place, (runs, meaning.as_ref(), align), &mut grid)?;
            }
            // Not every program makes room for wrapped text of its own.
            let lines = line.iter().map(|(runs, _)| lines(runs)).max().unwrap_or(1);
            if lines > 1 {
                sheet.set_row_height(top + at as u32 + 1, (lines * 15).min(400) as f64)?;
            }
        }
        Ok(())
    }

    /// Only a cell in one style, without links or code, can be more than text.
    fn meaning(&mut self, cell: &[Inline]) -> (Runs, Option<Meaning>) {
        let runs = Runs::read(cell);
        if let Some(source) = formula_source(cell) {
            return match formula::parse(&source) {
                Ok(formula) => (runs, Some(Meaning::Formula(formula))),
                Err(why) => {
                    self.not_a_formula(&source, &why);
                    (spelled(source), None)
                }
            };
        }
        for (url, _) in &runs.images {
            self.warn(format!("The picture {url} stands in a cell, which can hold no picture."));
        }
        let plain = runs.style().is_some_and(|style| !style.code && !style.link);
        let typed = if plain { cells::read(&runs.text()) } else { Typed::Text };
        (runs, (typed != Typed::Text).then_some(Meaning::Typed(typed)))
    }

    fn not_a_formula(&mut self, source: &str, why: &str) {
        let named = self.formulas_named;
        self.formulas_named += 1;
        if named < NAMED {
            self.warn(format!("“{}” stays text, not a formula: {why}.", short(source)));
        } else {
            self.lose("Further cells that begin with = stay text.");
        }
    }

    fn cell(
        &mut self,
        sheet: &mut Worksheet,
        place: Place,
        (runs, meaning, align): (&Runs, Option<&Meaning>, Align),
        grid: &mut Grid,
    ) -> Result<(), XlsxError> {
        let (row, column) = (place.top + place.row, place.column);
        let style = runs.style().unwrap_or_default();
        // Numbers stand at the end of their cells unless the author says otherwise.
        let chosen = (align != Align::Start).then_some(align);
        let format = look::cell(style, chosen, false);
        match meaning {
            None if runs.pieces.is_empty() => {}
            None => {
                let wraps = runs.width() > WRAP_WIDTH || runs.text().contains('\n');
                let format = look::cell(style, chosen, wraps);
                self.text(sheet, (row, column), runs, &format)?;
            }
            Some(Meaning::Typed(Typed::Bool(truth))) => {
                // Excel needs no format here; LibreOffice would show 1 and 0.
                let format = format.set_num_format("\"TRUE\";\"TRUE\";\"FALSE\"");
                sheet.write_boolean_with_format(row, column, *truth, &format)?;
            }
            Some(Meaning::Typed(Typed::Number { value, format: shown })) => {
                let format = format.set_num_format(shown);
                sheet.write_number_with_format(row, column, *value, &format)?;
            }
            Some(Meaning::Typed(Typed::Moment { serial, format: shown })) => {
                let format = format.set_num_format(*shown);
                sheet.write_number_with_format(row, column, *serial, &format)?;
            }
            Some(Meaning::Typed(Typed::Text)) => {}
            Some(Meaning::Formula(formula)) => {
                let value = grid.compute(place.row, column);
                self.formula(sheet, place, (formula, value), &format)?;
            }
        }
        Ok(())
    }

    fn formula(
        &mut self,
        sheet: &mut Worksheet,
        place: Place,
        (formula, value): (&formula::Expr, Option<Value>),
        format: &Format,
    ) -> Result<(), XlsxError> {
        let (row, column) = (place.top + place.row, place.column);
        if let Some(value) = value {
            let formula = Formula::new(format!("={}", formula.write(place.top)));
            let formula = formula.set_result(shown(&value));
            sheet.write_formula_with_format(row, column, formula, format)?;
            return Ok(());
        }
        let source = format!("={}", formula.write(0));
        self.not_a_formula(&source, "it goes in circles or looks at too many cells");
        self.text(sheet, (row, column), &spelled(source), format)
    }
}

fn align(table: &Table, column: usize) -> Align {
    table.align.get(column).copied().unwrap_or_default()
}

/// How many lines a cell takes in the widest column.
fn lines(runs: &Runs) -> usize {
    runs.text().lines().map(|line| super::runs::width(line).div_ceil(WRAP_WIDTH).max(1)).sum()
}

/// A cell of a table whose header stands in row `top` of the sheet; its own rows count from there.
#[derive(Clone, Copy)]
struct Place {
    top: u32,
    row: u32,
    column: u16,
}

fn remember(grid: &mut Grid, (row, column): (u32, u16), runs: &Runs, meaning: Option<&Meaning>) {
    match meaning {
        Some(Meaning::Formula(formula)) => grid.set_formula(row, column, formula.clone()),
        Some(Meaning::Typed(Typed::Bool(truth))) => grid.set(row, column, Value::Bool(*truth)),
        Some(Meaning::Typed(Typed::Number { value, .. } | Typed::Moment { serial: value, .. })) => {
            grid.set(row, column, Value::Number(*value));
        }
        _ => grid.set(row, column, text_value(runs.text())),
    }
}

fn text_value(text: String) -> Value {
    if text.is_empty() { Value::Blank } else { Value::Text(text) }
}

fn shown(value: &Value) -> String {
    match value {
        Value::Error(error) => (*error).to_owned(),
        value => value.text().unwrap_or_default(),
    }
}

fn spelled(text: String) -> Runs {
    let run = super::runs::Run { text, style: Style::default() };
    Runs { pieces: vec![run], ..Runs::default() }
}

fn short(text: &str) -> String {
    if text.chars().count() <= 40 {
        return text.to_owned();
    }
    text.chars().take(40).chain(['…']).collect()
}
