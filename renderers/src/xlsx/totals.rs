//! Total rows below tables, computed from the visible rows.

use rust_xlsxwriter::{FormatBorder, Formula, Worksheet, XlsxError};

use super::column_total::{ColumnTotal, TotalCell};
use super::directives::{Directive, Total};
use super::look;
use super::pages::{Pages, Read};
use super::runs::Runs;
use super::table::short;
use crate::document::{Inline, Table};

/// A total row of a table whose header begins in row `top` and that ends in row `bottom`.
pub struct TotalRow<'a> {
    pub total: Total,
    /// The number of rows of the header.
    pub headers: usize,
    /// The names of all columns.
    pub names: &'a [String],
    pub row: u32,
    pub top: u32,
    pub bottom: u32,
}

impl Pages<'_> {
    /// Writes a total row.
    pub fn total(
        &mut self,
        sheet: &mut Worksheet,
        total_row: TotalRow<'_>,
        read: &Read,
    ) -> Result<(), XlsxError> {
        let TotalRow { total, headers, names, row, top, bottom } = total_row;
        let columns = read.iter().map(Vec::len).max().unwrap_or(0);
        let name = total.name(self.document.meta.language.as_deref());
        let (mut is_named, mut is_explained) = (false, false);
        for column in 0..columns {
            let at = column as u16;
            let ColumnTotal { value, problem } = self.grid.column_total(row - top, at);
            let format = look::text(&self.look).set_bold().set_border_top(FormatBorder::Thin);
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

    /// Makes the totals below a table known to formulas, before any formula is computed. Unknown names
    /// of columns are reported.
    pub fn survey_totals(&mut self, table: &Table, directives: &[Directive]) {
        let totals = directives.iter().filter_map(|directive| match directive {
            Directive::Total(total, names) => Some((*total, names)),
            _ => None,
        });
        for (at, (total, names)) in totals.enumerate() {
            let (columns, unknown) = columns(table, names);
            for sentence in unknown {
                self.warn(sentence);
            }
            let (first, last) = (table.header_rows() as u32, table.rows.len() as u32);
            let row = last + 1 + at as u32;
            for column in columns {
                let (is_named, column) = (!names.is_empty(), column as u16);
                self.grid.set_total(row, TotalCell { total, is_named, column, first, last });
            }
        }
    }
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
        last_row(&format!("<!-- total: sum -->\n\n| N | A |\n|---|---|\n{rows}"))
    }

    /// The last row of the last table, and the warnings.
    fn last_row(source: &str) -> (String, Vec<String>) {
        let document = markdown::read(source).unwrap();
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
            (&["¥1,000", "JPY 50,000"], "¥51,000"),
            (&["¥1,000", "CNY 500"], "¥1,500"),
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
    fn dashes_are_empty_cells_of_a_total() {
        for cells in [&["$5", "–", "-"][..], &["$2", "—", "$3"], &["$5", "−", ""]] {
            assert_eq!(summed(cells), ("| Total | $5 |".to_owned(), vec![]), "{cells:?}");
        }
    }

    #[test]
    fn hours_and_durations_that_are_computed_from_times_are_added_up() {
        let source = |total: &str, hours: &str, last: &str| {
            let row = |row: u32| {
                let fill = |formula: &str| formula.replace('#', &row.to_string());
                format!("| {} | {} |\n", fill(hours), fill(last))
            };
            format!(
                "<!-- total: {total} -->\n\n| Day | Start | End | Hours | Pay |\n\
                 |---|---|---|---|---|\n| Mon | 09:00 | 17:30 {}| Tue | 09:00 | 16:00 {}",
                row(2),
                row(3)
            )
        };
        for (total, hours, last, row) in [
            ("sum", "=(C#-B#)*24", "=D#*20", "| Total |  |  | 15.5 | 310 |"),
            ("sum", "=C#-B#", "=D#*24*20", "| Total |  |  | 15:30:00 | 310 |"),
            ("sum", "=C#-B#", "=D#/D4", "| Total |  |  | 15:30:00 | 1 |"),
            ("average", "=C#-B#", "x", "| Average |  |  | 7:45:00 |  |"),
            ("sum of Hours", "1:30", "x", "| Total |  |  | 3:00:00 |  |"),
            ("max of End", "1:30", "x", "| Maximum |  | 17:30:00 |  |  |"),
        ] {
            let (found, warnings) = last_row(&source(total, hours, last));
            assert_eq!((found.as_str(), warnings), (row, vec![]), "{total}: {hours}, {last}");
        }
    }

    #[test]
    fn formulas_refer_to_the_totals_that_are_written() {
        let source = |cell: &str| {
            format!(
                "<!-- total: sum -->\n\n| N | A |\n|---|---|\n| x | {cell} |\n\n\
                 ## B\n\n| N | A |\n|---|---|\n| x | =IF(ISBLANK(Sheet1!B3),\"blank\",Sheet1!B3) |\n"
            )
        };
        for (cell, shown) in [
            ("=1+1", "2"),
            ("=IF(1=1,\"y\",2)", "blank"),
            ("=DATE(2026,3,5)", "blank"),
            ("=IF(1=1,25%,0)", "0.25"),
            ("=SUBTOTAL(9,A2)+1", "blank"),
        ] {
            let (found, _) = last_row(&source(cell));
            assert_eq!(found, format!("| x | {shown} |"), "{cell}");
        }
    }

    #[test]
    fn named_columns_without_a_total_are_reported() {
        let rows = "| Item | Share | Due | Name | Rate | Open | Mixed |\n\
                    |---|---|---|---|---|---|---|\n\
                    | a | 25% | 2026-03-05 | Ann | =1/0 | - | =DATE(2026,3,5) |\n\
                    | b | 75% | 2026-03-06 | 5 | 2 |  | 7 |\n\
                    | c | 10% | 2026-03-07 | Bob | 3 |  | 8 |\n";
        let (row, warnings) = last_row(&format!(
            "<!-- total: sum of Share, Due, Name, Rate, Open, Mixed -->\n\n{rows}"
        ));
        assert_eq!(row, "| Total |  |  |  |  |  |  |");
        let why = [
            ("Share", "percentages are not added up: use average, min or max"),
            ("Due", "dates are not added up: use min or max"),
            ("Name", "most of its cells are not numbers"),
            ("Rate", "it has the error #DIV/0!"),
            ("Open", "it has no numbers"),
            ("Mixed", "it mixes dates, times and other numbers"),
        ];
        let why =
            why.map(|(name, why)| format!("The column “{name}” has no total, because {why}."));
        assert_eq!(warnings, why);
        let (row, warnings) = last_row(&format!("<!-- total: max of Share, Due -->\n\n{rows}"));
        assert_eq!(row, "| Maximum | 75% | 2026-03-07 |  |  |  |  |");
        assert_eq!(warnings, Vec::<String>::new());
        let (row, _) = last_row(&format!("<!-- total: count of Name, Open -->\n\n{rows}"));
        assert_eq!(row, "| Count |  |  | 3 |  | 1 |  |");
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
    fn the_sign_of_yen_and_renminbi_is_that_of_the_language_or_of_the_only_code() {
        let (row, warnings) = summed(&["¥1,000", "JPY 50,000", "CNY 500"]);
        assert_eq!(row, "| Total |  |");
        assert!(warnings[0].ends_with("different currencies: ¥, JPY, CNY."), "{warnings:?}");
        for (language, code, total) in [
            ("zh", "CNY", Some("| 合计 | ¥1,500 |")),
            ("zh", "JPY", None),
            ("ja", "JPY", Some("| 合計 | ¥1,500 |")),
            ("ja-JP", "CNY", None),
        ] {
            let (row, warnings) = last_row(&format!(
                "---\nlang: {language}\n---\n\n<!-- total: sum -->\n\n| N | A |\n|---|---|\n\
                 | x | ¥1,000 |\n| y | {code} 500 |\n"
            ));
            assert_eq!(warnings.is_empty(), total.is_some(), "{language}: {warnings:?}");
            assert!(total.is_none_or(|total| row == total), "{language}: {row}");
        }
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
