//! Writes a native table: header, filter, typed cells, checked formulas.

use std::collections::{BTreeSet, HashMap};

use rust_xlsxwriter::{
    Format, Formula, Table as Native, TableColumn, TableStyle, Worksheet, XlsxError,
};

use super::cells::{self, Typed};
use super::column::{Notation, notations};
use super::directives::{self, Directive};
use super::formula::{self, Grid, Tops, Value};
use super::look::{self, Column};
use super::merged::{HeaderRow, is_native};
use super::pages::{CellContent, Computed, Meaning, Pages, Read, TablePlace, WrittenTable};
use super::runs::{RunStyle, Runs, formula_source};
use super::sheet::SheetCell;
use super::totals::TotalRow;

use crate::document::{Align, Inline, Table};
use crate::package::cell_escapes;
use crate::rendered::Warning;

/// The number of formulas named in a warning.
const NAMED: usize = 5;
/// The maximum length of the name of a column, in UTF-16 units.
const NAME_UNITS: usize = 255;
/// Wider text is wrapped, and the column gets this width.
pub const WRAP_WIDTH: usize = 57;

impl Pages<'_> {
    /// Writes the table at `top`, and the requested totals below it.
    pub fn table(
        &mut self,
        sheet: &mut Worksheet,
        top: u32,
        table: &Table,
        directives: &[Directive],
    ) -> Result<(), XlsxError> {
        let read = self.tables.pop_front().unwrap_or_default();
        let Some(last) = table.header.len().checked_sub(1) else { return Ok(()) };
        let bottom = top + table.rows.len() as u32;
        let names = self.names(table);
        let columns = columns(table, &read);
        let header_row = HeaderRow { table, names: &names, columns: &columns };
        if table.rows.is_empty() || !is_native(table) {
            self.plain_header(sheet, top, header_row)?;
        } else {
            let column = |name: &String| TableColumn::new().set_header(cell_escapes::stored(name));
            let named: Vec<TableColumn> = names.iter().map(column).collect();
            let native = Native::new().set_columns(&named).set_style(TableStyle::Medium2);
            sheet.add_table(top, 0, bottom, last as u16, &native)?;
            self.native_header(sheet, top, header_row)?;
        }
        if top == 0 {
            let rows = table.header_rows() as u32;
            sheet.set_freeze_panes(rows, 0)?;
            sheet.set_repeat_rows(0, rows - 1)?;
        }
        self.tops.here = top;
        let written = WrittenTable { table, names: &names, read: &read, top, bottom };
        self.rows(sheet, written, &columns)?;
        self.more_header_rows(sheet, top, table, &columns)?;
        self.apply_directives(sheet, written, directives)?;
        self.grid.here += 1;
        Ok(())
    }

    fn apply_directives(
        &mut self,
        sheet: &mut Worksheet,
        written: WrittenTable<'_>,
        directives: &[Directive],
    ) -> Result<(), XlsxError> {
        let WrittenTable { table, names, read, top, bottom } = written;
        let mut below = bottom;
        // A cell has one note, which replaces the one before.
        let mut notes: HashMap<u16, Vec<&str>> = HashMap::new();
        for directive in directives {
            let at = match directive.column() {
                Some(column) => {
                    let named = |name: &String| name.eq_ignore_ascii_case(column);
                    let Some(at) = names.iter().position(named) else {
                        self.warn(format!("There is no column “{}” to format.", short(column)));
                        continue;
                    };
                    at as u16
                }
                None => 0,
            };
            let rows = top + table.header_rows() as u32..=bottom;
            match directive {
                Directive::Total(total, _) => {
                    below += 1;
                    let (total, headers) = (*total, table.header_rows());
                    let total_row = TotalRow { total, headers, names, row: below, top, bottom };
                    self.total(sheet, total_row, read)?;
                }
                Directive::Note { text, .. } => {
                    let notes = notes.entry(at).or_default();
                    notes.push(text);
                    if !directives::add_note(sheet, top, at, &notes.join("\n"))? {
                        let name = short(&names[usize::from(at)]);
                        self.warn(format!("The column “{name}” has too many notes."));
                    }
                }
                _ if rows.is_empty() => {}
                Directive::Format { rule, .. } => {
                    let accent = look::color(self.look.accent.lightened(0.45));
                    rule.apply(sheet, &rows, at, accent)?;
                }
                Directive::Choices { values, .. } => {
                    directives::choose(sheet, &rows, at, values)?;
                }
            }
        }
        Ok(())
    }

    /// Excel requires column names to be unique and not empty.
    fn names(&mut self, table: &Table) -> Vec<String> {
        let mut used = BTreeSet::new();
        // The last number of each name, since many columns may have the same.
        let mut numbers: HashMap<String, usize> = HashMap::new();
        let mut names = Vec::new();
        for (at, cell) in table.header.iter().enumerate() {
            let runs = Runs::read(cell);
            self.has_math |= runs.has_math;
            for (url, _) in &runs.images {
                self.warn(Warning::PictureInHeader { name: url.clone() });
            }
            let text = cells::within(&runs.text(), NAME_UNITS).to_owned();
            let base = if text.is_empty() { format!("Column {}", at + 1) } else { text.clone() };
            let mut name = base.clone();
            if !is_native(table) {
                names.push(name);
                continue;
            }
            let number = numbers.entry(base.to_lowercase()).or_insert(1);
            while !used.insert(name.to_lowercase()) {
                *number += 1;
                let suffix = format!(" ({number})");
                name = cells::within(&base, NAME_UNITS - suffix.len()).to_owned() + &suffix;
            }
            if !text.is_empty() && name != runs.text() {
                let (from, to) = (short(&runs.text()), short(&name));
                self.warn(format!("The column “{from}” is named “{to}”."));
            }
            names.push(name);
        }
        names
    }

    /// Types the cells of a table and adds them to the grid.
    pub fn read(&mut self, table: &Table) -> Read {
        for (column, cell) in table.header.iter().enumerate() {
            self.grid.set(0, column as u16, text_value(&Runs::read(cell).text()));
        }
        let notations = notations(table, self.document.meta.language.as_deref());
        self.report_dates(table, &notations);
        let mut read = Vec::with_capacity(table.rows.len());
        for (at, row) in table.rows.iter().enumerate() {
            let mut line = Vec::with_capacity(row.len());
            for (column, cell) in row.iter().enumerate().take(table.header.len()) {
                let (runs, meaning) = match &table.given {
                    _ if at + 1 < table.header_rows() => (Runs::of_text(cell), None),
                    Some(given) if given.texts.contains(&(at, column)) => (Runs::read(cell), None),
                    Some(_) => self.typed(cell, notations[column]),
                    None => self.meaning(cell, notations[column]),
                };
                let (row, column) = (at as u32 + 1, column as u16);
                remember(&mut self.grid, row, column, &runs, meaning.as_ref());
                line.push((runs, meaning));
            }
            read.push(line);
        }
        read
    }

    fn report_dates(&mut self, table: &Table, notations: &[Notation]) {
        for (notation, name) in notations.iter().zip(&table.header) {
            if let Some(warning) = notation.report(&short(&Runs::read(name).text())) {
                self.warn(warning);
            }
        }
    }

    /// The cells below the header, and the heights of all rows below its first one.
    fn rows(
        &mut self,
        sheet: &mut Worksheet,
        written: WrittenTable<'_>,
        columns: &[Column],
    ) -> Result<(), XlsxError> {
        let WrittenTable { table, read, top, .. } = written;
        let of_header = table.header_rows() - 1;
        for (at, line) in read.iter().enumerate() {
            let cells = line.iter().enumerate().filter(|_| at >= of_header);
            for (column, (runs, meaning)) in cells {
                let place = TablePlace { top, row: at as u32 + 1, column: column as u16 };
                let content =
                    CellContent { runs, meaning: meaning.as_ref(), column: columns[column] };
                self.cell(sheet, place, content)?;
            }
            let runs: Vec<_> = line.iter().map(|(runs, _)| runs).collect();
            self.row_height(sheet, top + at as u32 + 1, &runs)?;
        }
        Ok(())
    }

    fn meaning(&mut self, cell: &[Inline], notation: Notation) -> (Runs, Option<Meaning>) {
        let Some(source) = formula_source(cell) else { return self.typed(cell, notation) };
        match formula::parse(&source) {
            Ok(formula) => (Runs::read(cell), Some(Meaning::Formula(formula))),
            Err(why) => {
                self.not_a_formula(&source, &why);
                (spelled(source), None)
            }
        }
    }

    /// Only a cell in a single style, without links or code, can be typed.
    fn typed(&mut self, cell: &[Inline], notation: Notation) -> (Runs, Option<Meaning>) {
        let runs = self.cell_runs(cell);
        let plain = runs.style().is_some_and(|style| !style.code && !style.link);
        let typed = if plain { notation.read(&runs.text()) } else { Typed::Text };
        (runs, (typed != Typed::Text).then_some(Meaning::Typed(typed)))
    }

    fn not_a_formula(&mut self, source: &str, why: &str) {
        let named = self.formulas_named;
        self.formulas_named += 1;
        if named < NAMED {
            self.warn(format!("“{}” is kept as text: {why}.", short(source)));
        } else {
            self.lose("Further cells that begin with = stay text.");
        }
    }

    fn cell(
        &mut self,
        sheet: &mut Worksheet,
        place: TablePlace,
        content: CellContent<'_>,
    ) -> Result<(), XlsxError> {
        let CellContent { runs, meaning, column: kind } = content;
        let (row, column) = (place.top + place.row, place.column);
        let style = runs.style().unwrap_or_default();
        // Numbers are right-aligned unless the author chose an alignment.
        let format = look::cell(style, &self.look, kind.chosen, false);
        match meaning {
            None if runs.pieces.is_empty() => {}
            None => {
                let wraps = runs.width() > WRAP_WIDTH || runs.text().contains('\n');
                let format = look::cell(style, &self.look, kind.chosen, wraps);
                let format = look::apart(format, kind);
                self.text(sheet, SheetCell { row, column }, runs, &format)?;
            }
            Some(Meaning::Typed(Typed::Bool(truth))) => {
                // Excel needs no format here; LibreOffice would show 1 and 0.
                let format = format.set_num_format("\"TRUE\";\"TRUE\";\"FALSE\"");
                sheet.write_boolean_with_format(row, column, *truth, &format)?;
            }
            Some(Meaning::Typed(Typed::Number { value, format: number })) => {
                let format = format.set_num_format(number);
                sheet.write_number_with_format(row, column, *value, &format)?;
            }
            Some(Meaning::Typed(Typed::Moment { serial, format: moment })) => {
                let format = format.set_num_format(*moment);
                sheet.write_number_with_format(row, column, *serial, &format)?;
            }
            Some(Meaning::Typed(Typed::Text)) => {}
            Some(Meaning::Formula(formula)) => {
                let value = self.grid.compute(place.row, column);
                let number = self.grid.format(place.row, column);
                let format = number.map_or(format.clone(), |number| format.set_num_format(number));
                self.formula(sheet, place, Computed { formula, value }, &format)?;
            }
        }
        Ok(())
    }

    fn formula(
        &mut self,
        sheet: &mut Worksheet,
        place: TablePlace,
        computed: Computed<'_>,
        format: &Format,
    ) -> Result<(), XlsxError> {
        let Computed { formula, value } = computed;
        let (row, column) = (place.top + place.row, place.column);
        let unknown = self.grid.unknown_sheet(formula).map(short);
        if let (Some(value), None) = (value, &unknown) {
            let formula = Formula::new(format!("={}", formula.write(&self.tops)));
            let formula = formula.set_result(self.result(&value));
            sheet.write_formula_with_format(row, column, formula, format)?;
            return Ok(());
        }
        if unknown.is_none() && formula::is_volatile(formula) {
            // Computed by the program that opens the file; it must not show another value.
            let source = Formula::new(format!("={}", formula.write(&self.tops))).set_result("");
            let format = match self.grid.kind(formula).format(None) {
                Some(moment) => format.clone().set_num_format(moment),
                None => format.clone(),
            };
            sheet.write_formula_with_format(row, column, source, &format)?;
            return Ok(());
        }
        let source = format!("={}", formula.write(&Tops::default()));
        let why = unknown.map_or_else(
            || {
                "it is a circular reference, references too many cells, or the texts of all \
                 formulas are too long"
                    .to_owned()
            },
            |name| format!("no sheet with a table is named “{name}”"),
        );
        self.not_a_formula(&source, &why);
        self.text(sheet, SheetCell { row, column }, &spelled(source), format)
    }
}

/// The alignment of the columns. Headers are aligned with their numbers, and text after
/// right-aligned numbers gets an indent. Truth values are centred, as Excel does with them.
fn columns(table: &Table, read: &Read) -> Vec<Column> {
    let mut columns: Vec<Column> = Vec::new();
    let spans = table.spans();
    for at in 0..table.header.len() {
        let body = read.iter().enumerate().skip(table.header_rows() - 1);
        // Cells over several columns say nothing about one of them.
        let body = body.filter(|(row, _)| spans.at(row + 1, at).columns() == 1);
        let cells = body.filter_map(|(_, line)| line.get(at));
        let mut cells = cells.filter(|(runs, _)| !runs.pieces.is_empty()).peekable();
        let has_cells = cells.peek().is_some();
        let is_logical = has_cells && cells.clone().all(|(_, meaning)| is_bool(meaning.as_ref()));
        let chosen = table.align.get(at).copied().filter(|align| *align != Align::Start);
        let chosen = chosen.or(is_logical.then_some(Align::Center));
        let counts = has_cells && cells.all(|(_, meaning)| meaning.as_ref().is_some_and(is_number));
        let align = chosen.unwrap_or(if counts { Align::End } else { Align::Start });
        let is_apart = align == Align::Start && columns.last().is_some_and(|column| column.ends());
        columns.push(Column { chosen, align, is_apart });
    }
    columns
}

fn is_number(meaning: &Meaning) -> bool {
    !matches!(meaning, Meaning::Typed(Typed::Text | Typed::Bool(_)))
}

fn is_bool(meaning: Option<&Meaning>) -> bool {
    matches!(meaning, Some(Meaning::Typed(Typed::Bool(_))))
}

fn remember(grid: &mut Grid, row: u32, column: u16, runs: &Runs, meaning: Option<&Meaning>) {
    match meaning {
        Some(Meaning::Formula(formula)) => grid.set_formula(row, column, formula.clone()),
        Some(Meaning::Typed(Typed::Bool(truth))) => grid.set(row, column, Value::Bool(*truth)),
        Some(Meaning::Typed(Typed::Number { value, format })) => {
            grid.set_number(row, column, *value, format);
        }
        Some(Meaning::Typed(Typed::Moment { serial, format })) => {
            grid.set_moment(row, column, *serial, format);
        }
        _ => grid.set(row, column, text_value(&runs.text())),
    }
}

/// The text as the cell has it.
fn text_value(text: &str) -> Value {
    match cells::fitting(text) {
        "" => Value::Blank,
        text => Value::Text(text.to_owned()),
    }
}

fn spelled(text: String) -> Runs {
    let run = super::runs::Run { text, style: RunStyle::default() };
    Runs { pieces: vec![run], ..Runs::default() }
}

pub fn short(text: &str) -> String {
    if text.chars().count() <= 40 {
        return text.to_owned();
    }
    text.chars().take(40).chain(['…']).collect()
}
