//! Total rows below tables, computed from the visible rows.

use rust_xlsxwriter::{Format, FormatBorder, Formula, Worksheet, XlsxError};

use super::cells::Typed;
use super::computed::is_summable;
use super::directives::{Directive, Total};
use super::formula::{Cell, Expr, Value};
use super::number_format::Counted;
use super::pages::{Meaning, Pages, Read};
use super::runs::Runs;
use super::table::short;
use crate::document::{Inline, Table};

/// A total row of a table whose header begins in row `top` and that ends in row `bottom`.
pub struct TotalRow<'a> {
    pub total: Total,
    /// The number of rows of the header.
    pub headers: usize,
    pub columns: &'a [usize],
    /// The names of all columns.
    pub names: &'a [String],
    pub row: u32,
    pub top: u32,
    pub bottom: u32,
}

/// The total of a column, and what it leaves out.
#[derive(Default)]
pub struct ColumnTotal {
    /// The total and its number format.
    pub value: Option<(f64, String)>,
    pub problem: Option<TotalProblem>,
}

/// What a total does not count.
pub enum TotalProblem {
    /// Cells that are no numbers, with an example.
    Texts { count: usize, example: String },
    /// The amounts cannot be added up.
    Currencies(Vec<&'static str>),
    /// Some numbers are percentages.
    Percentages,
}

impl TotalProblem {
    /// The warning about a total of this column.
    pub fn sentence(&self, column: &str) -> String {
        match self {
            Self::Texts { count: 1, example } => format!(
                "The total of the column “{column}” leaves out 1 cell that is not a number: \
                 “{example}”."
            ),
            Self::Texts { count, example } => format!(
                "The total of the column “{column}” leaves out {count} cells that are not numbers, \
                 such as “{example}”."
            ),
            Self::Currencies(currencies) => format!(
                "The column “{column}” has no total, because its amounts are in different \
                 currencies: {}.",
                currencies.join(", ")
            ),
            Self::Percentages => format!(
                "The column “{column}” has no total, because only some of its numbers are \
                 percentages."
            ),
        }
    }
}

impl Pages<'_> {
    /// Writes a total row.
    pub fn total(
        &mut self,
        sheet: &mut Worksheet,
        total_row: TotalRow<'_>,
        read: &Read,
    ) -> Result<(), XlsxError> {
        let TotalRow { total, headers, columns: wanted, names, row, top, bottom } = total_row;
        let columns = read.iter().map(Vec::len).max().unwrap_or(0);
        let name = total.name(self.document.meta.language.as_deref());
        let (mut is_named, mut is_explained) = (false, false);
        for column in 0..columns {
            let is_wanted = wanted.contains(&column);
            let column_total = is_wanted.then(|| self.sum(read, headers, column, total));
            let ColumnTotal { value, problem } = column_total.unwrap_or_default();
            let format = Format::new().set_bold().set_border_top(FormatBorder::Thin);
            let at = column as u16;
            is_explained |= value.is_some() || problem.is_some();
            if let Some(problem) = problem {
                self.warn(problem.sentence(&short(names.get(column).map_or("", String::as_str))));
            }
            if let Some((value, shown)) = value {
                let format = format.set_num_format(shown);
                let from = rust_xlsxwriter::utility::row_col_to_cell(top + headers as u32, at);
                let to = rust_xlsxwriter::utility::row_col_to_cell(bottom, at);
                let formula = Formula::new(format!("=SUBTOTAL({},{from}:{to})", total.subtotal()));
                let formula = formula.set_result(value.to_string());
                sheet.write_formula_with_format(row, at, formula, &format)?;
            } else if is_named {
                sheet.write_blank(row, at, &format)?;
            } else {
                is_named = true;
                sheet.write_string_with_format(row, at, name, &format)?;
            }
        }
        if !is_explained {
            self.warn(no_numbers(name));
        }
        Ok(())
    }

    /// The columns of a total. Unknown names are reported.
    pub fn total_columns(&mut self, table: &Table, names: &[String]) -> Vec<usize> {
        let (columns, unknown) = columns(table, names);
        for sentence in unknown {
            self.warn(sentence);
        }
        columns
    }

    /// Makes the totals below a table known to formulas, before any formula is computed.
    pub fn survey_totals(&mut self, table: &Table, read: &Read, directives: &[Directive]) {
        let totals = directives.iter().filter_map(|directive| match directive {
            Directive::Total(total, names) => Some((*total, names)),
            _ => None,
        });
        for (at, (total, names)) in totals.enumerate() {
            let columns = self.total_columns(table, names);
            let columns = columns
                .into_iter()
                .filter(|column| is_summable(read, table.header_rows(), *column, total));
            for column in columns {
                let cell = |row: usize| Cell {
                    row: row as u32,
                    column: column as u16,
                    row_is_fixed: false,
                    column_is_fixed: false,
                };
                let range = Expr::Range(cell(table.header_rows()), cell(table.rows.len()));
                let code = Expr::Number(f64::from(total.subtotal()));
                let formula = Expr::Call("SUBTOTAL", vec![code, range]);
                let row = (table.rows.len() + 1 + at) as u32;
                self.grid.set_formula(row, column as u16, formula);
            }
        }
    }

    /// The total of a numeric column. Like SUBTOTAL it ignores cells that are not numbers, if they
    /// are the minority. Percentages are not summed.
    pub fn sum(&mut self, read: &Read, headers: usize, column: usize, total: Total) -> ColumnTotal {
        let Some(cells) = self.totalled(read, headers, column) else {
            return ColumnTotal::default();
        };
        let TotalledCells { values, texts, counted } = cells;
        if values.is_empty() || values.len() < texts.len() {
            return ColumnTotal::default();
        }
        if total == Total::Count {
            // Counts the cells that are not empty.
            let count = (values.len() + texts.len()) as f64;
            return ColumnTotal { value: Some((count, "0".to_owned())), problem: None };
        }
        if counted.currencies.len() > 1 {
            let problem = Some(TotalProblem::Currencies(counted.currencies));
            return ColumnTotal { value: None, problem };
        }
        if counted.has_some_percentages() {
            return ColumnTotal { value: None, problem: Some(TotalProblem::Percentages) };
        }
        let value = total.of(&values);
        let format = counted.format(value).unwrap_or_else(|| "General".to_owned());
        if !value.is_finite() || (total == Total::Sum && format.contains('%')) {
            return ColumnTotal::default();
        }
        // A text with digits may be an amount.
        let has_digits = |text: &&String| text.contains(|c: char| c.is_ascii_digit());
        let mut texts = texts.iter().filter(|text| !text.trim().is_empty());
        let count = texts.clone().count();
        let example = texts.clone().find(has_digits).or(texts.next());
        let problem = example.map(|example| TotalProblem::Texts { count, example: short(example) });
        ColumnTotal { value: Some((value, format)), problem }
    }

    /// The cells of a column; `None` if it has an error, a date or a time.
    fn totalled(&mut self, read: &Read, headers: usize, column: usize) -> Option<TotalledCells> {
        let mut cells = TotalledCells::default();
        for (at, row) in read.iter().enumerate().skip(headers - 1) {
            let Some((runs, meaning)) = row.get(column) else { continue };
            match meaning {
                Some(Meaning::Typed(Typed::Number { value, format })) => {
                    cells.counted.see(format);
                    cells.values.push(*value);
                }
                Some(Meaning::Formula(formula)) => {
                    let value = self.grid.compute(at as u32 + 1, column as u16);
                    let kind = self.grid.kind(formula);
                    let format = self.grid.format(at as u32 + 1, column as u16);
                    match value? {
                        Value::Number(_) if !kind.is_plain() => return None,
                        Value::Number(value) => {
                            if let Some(format) = format {
                                cells.counted.see(&format);
                            }
                            cells.values.push(value);
                        }
                        Value::Error(_) => return None,
                        Value::Text(text) => cells.texts.push(text),
                        value => cells.texts.push(value.text().unwrap_or_default()),
                    }
                }
                Some(Meaning::Typed(Typed::Moment { .. })) => return None,
                None if runs.pieces.is_empty() => {}
                _ => cells.texts.push(runs.text()),
            }
        }
        Some(cells)
    }
}

/// The cells of a column with a total.
#[derive(Default)]
struct TotalledCells {
    values: Vec<f64>,
    /// The cells that are no numbers.
    texts: Vec<String>,
    counted: Counted,
}

/// The columns of a total: those that are named, or all after the first, which is the label of the
/// row even if it is numeric. Also returns a sentence for each unknown name.
pub fn columns(table: &Table, names: &[String]) -> (Vec<usize>, Vec<String>) {
    let count = table.header.len();
    if names.is_empty() {
        return ((usize::from(count > 1)..count).collect(), Vec::new());
    }
    let (mut columns, mut unknown) = (Vec::new(), Vec::new());
    for name in names {
        let is_named = |cell: &Vec<Inline>| Runs::read(cell).text().eq_ignore_ascii_case(name);
        match table.header.iter().position(is_named) {
            Some(column) => columns.push(column),
            None => unknown.push(format!("There is no column “{name}” for a total.")),
        }
    }
    (columns, unknown)
}

/// The sentence about a total that adds nothing up.
pub fn no_numbers(name: &str) -> String {
    format!("There is no numeric column for the total “{name}”.")
}

#[cfg(test)]
mod tests {
    use crate::{Format, markdown, read, render};

    /// The last row of a table with a sum of these cells, and the warnings.
    fn summed(cells: &[&str]) -> (String, Vec<String>) {
        let rows: Vec<String> = cells.iter().map(|cell| format!("| x | {cell} |\n")).collect();
        let rows = rows.concat();
        let source = format!("<!-- total: sum -->\n\n| N | A |\n|---|---|\n{rows}");
        let document = markdown::read(&source).unwrap();
        let workbook = render(&document, Format::Xlsx).unwrap();
        let word = render(&document, Format::Docx).unwrap();
        let sentences = |warnings: &[crate::Warning]| -> Vec<String> {
            warnings.iter().map(ToString::to_string).collect()
        };
        assert_eq!(sentences(&workbook.warnings), sentences(&word.warnings), "{source}");
        let read = read::to_markdown("a.xlsx", &workbook.bytes).unwrap().markdown;
        (read.lines().last().unwrap().to_owned(), sentences(&workbook.warnings))
    }

    #[test]
    fn amounts_are_added_up_wherever_their_signs_are() {
        for (cells, total) in [
            (&["1,000 €", "(500) €", "20 €"][..], "520 €"),
            (&["1,000.00 €", "(500 €)"], "500.00 €"),
            (&["£1,000", "£-5", "-£5"], "£990"),
            (&["$1,000", "$(500)"], "$500"),
            (&["USD 1,000", "USD -5"], "USD 995"),
            (&["1,000", "1,000-", "2"], "2"),
            (&["100 €", "EUR 50"], "150 €"),
        ] {
            assert_eq!(summed(cells), (format!("| Total | {total} |"), vec![]), "{cells:?}");
        }
    }

    #[test]
    fn cells_that_a_total_leaves_out_are_reported() {
        let (row, warnings) = summed(&["100", "n/a", "approx. 500", "3"]);
        assert_eq!(row, "| Total | 103 |");
        assert_eq!(
            warnings,
            ["The total of the column “A” leaves out 2 cells that are not numbers, such as \
              “approx. 500”."]
        );
        let (row, warnings) = summed(&["1.00 €", "1.5 Mio. €", ""]);
        assert_eq!(row, "| Total | 1.00 € |");
        assert_eq!(
            warnings,
            ["The total of the column “A” leaves out 1 cell that is not a number: “1.5 Mio. €”."]
        );
    }

    #[test]
    fn percentages_are_not_added_to_other_numbers() {
        let (row, warnings) = summed(&["10 %", "5", "20 %"]);
        assert_eq!(row, "| Total |  |");
        let sentence = "The column “A” has no total, because only some of its numbers are \
                        percentages.";
        assert_eq!(warnings, [sentence]);
    }

    #[test]
    fn amounts_in_different_currencies_have_no_total() {
        let (row, warnings) = summed(&["100 €", "50 $"]);
        assert_eq!(row, "| Total |  |");
        assert_eq!(
            warnings,
            ["The column “A” has no total, because its amounts are in different currencies: €, $."]
        );
    }
}
