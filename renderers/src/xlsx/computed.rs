//! The values of formulas and the rows of totals, for the formats that do not compute.

use std::collections::HashMap;

use super::column::{Notation, notations};
use super::column_total::ColumnTotal;
use super::directives::{self, Directive, Total};
use super::formula::{self, Expr, Value};
use super::pages::{Meaning, Pages, Read};
use super::plan::{self, PlannedPart};
use super::runs::{Runs, formula_source};
use super::table::short;
use super::totals;
use crate::Document;
use crate::counted::counted;
use crate::document::{Block, Definition, Inline, Item, List, Table};
use crate::number_text;
use crate::pdf::fontset::Fonts;
use crate::rendered::Warning;

/// Tables by their address in the original document.
type ComputedTables = HashMap<*const Table, Table>;

/// The number of formulas named in warnings.
const NAMED: usize = 5;

/// The document with computed values in place of formulas, and with its totals as rows; `None` if
/// it has neither. Formulas and totals without a value are listed in its warnings.
pub fn computed(document: &Document) -> Option<Document> {
    let mut has_any = false;
    document.each_block(&mut |block| has_any |= has_formulas(block));
    if !has_any {
        return None;
    }
    let (tables, failures) = tables(document);
    let blocks = |blocks: &[Block]| replaced(blocks, &tables);
    Some(Document {
        blocks: blocks(&document.blocks),
        notes: document.notes.iter().map(|note| blocks(note)).collect(),
        warnings: [document.warnings.clone(), failures.warnings()].concat(),
        ..document.clone()
    })
}

fn has_formulas(block: &Block) -> bool {
    match block {
        Block::Comment(text) => matches!(directives::read(text), Some(Ok(Directive::Total(..)))),
        Block::Table(table) if table.given.is_none() => {
            table.rows.iter().flatten().any(|cell| formula_source(cell).is_some())
        }
        _ => false,
    }
}

/// The tables as a workbook would compute them.
fn tables(document: &Document) -> (ComputedTables, Failures) {
    // Warnings of workbooks are about cells, which the other formats do not have.
    let (fonts, mut unused, mut tables) = (Fonts::default(), Vec::new(), ComputedTables::new());
    let plan = plan::plan(document);
    let mut pages = Pages::without_pictures(document, &fonts, &mut unused);
    pages.survey(&plan.sheets);
    let mut computation = Computation { pages, failures: Failures::default() };
    for part in plan.sheets.iter().flat_map(|sheet| &sheet.parts) {
        if let PlannedPart::Table(table, directives) = part {
            let read = computation.pages.tables.pop_front().unwrap_or_default();
            let shown = computation.shown(table, &read, directives);
            tables.insert(std::ptr::from_ref(*table), shown);
            computation.pages.grid.here += 1;
        }
    }
    (tables, computation.failures)
}

/// The formulas and totals without a value.
#[derive(Default)]
struct Failures {
    formulas: Vec<String>,
    unnamed: usize,
    totals: Vec<String>,
}

impl Failures {
    fn formula(&mut self, source: &str, why: &str) {
        let sentence = format!("“{}” is kept as text: {why}.", short(source));
        if self.formulas.contains(&sentence) {
            return;
        }
        if self.formulas.len() < NAMED {
            self.formulas.push(sentence);
        } else {
            self.unnamed += 1;
        }
    }

    fn total(&mut self, sentence: String) {
        if !self.totals.contains(&sentence) {
            self.totals.push(sentence);
        }
    }

    fn warnings(mut self) -> Vec<Warning> {
        if self.unnamed > 0 {
            let (one, several) =
                ("more formula is kept as text.", "more formulas are kept as text.");
            let more = counted(self.unnamed, one, several);
            self.formulas.push(more);
        }
        self.formulas.into_iter().chain(self.totals).map(Warning::from).collect()
    }
}

/// Computes the tables one after the other.
struct Computation<'d> {
    pages: Pages<'d>,
    failures: Failures,
}

impl Computation<'_> {
    fn shown(&mut self, table: &Table, read: &Read, directives: &[Directive]) -> Table {
        let mut shown = table.clone();
        let notations = notations(table, self.pages.document.meta.language.as_deref());
        for (at, row) in read.iter().enumerate() {
            for (column, (runs, meaning)) in row.iter().enumerate() {
                let Some(Meaning::Formula(formula)) = meaning else { continue };
                let source = || formula_source(&table.rows[at][column]).unwrap_or_default();
                let value = match self.value(formula, at as u32 + 1, column as u16) {
                    Ok(value) => value,
                    Err(why) => {
                        self.failures.formula(&source(), &why);
                        continue;
                    }
                };
                let format = self.pages.grid.format(at as u32 + 1, column as u16);
                let text = text(&value, format.as_deref(), notations.get(column).copied());
                shown.rows[at][column] = styled(text, runs);
            }
        }
        self.report_unread(table);
        for directive in directives {
            if let Directive::Total(total, names) = directive {
                let row = shown.rows.len() as u32 + 1;
                let wanted = WantedTotal { total: *total, names, row };
                shown.rows.push(self.total_row(table, wanted, &notations));
            }
        }
        shown
    }

    /// The value of a formula, or why it has none.
    fn value(&mut self, formula: &Expr, row: u32, column: u16) -> Result<Value, String> {
        if let Some(sheet) = self.pages.grid.unknown_sheet(formula) {
            return Err(format!("no sheet with a table is named “{}”", short(sheet)));
        }
        self.pages.grid.compute(row, column).ok_or_else(|| {
            if formula::is_volatile(formula) {
                "its value depends on the time at which the file is opened".to_owned()
            } else {
                "it refers to a formula without a value, to itself or to too many cells, or the \
                 texts of all formulas are too long"
                    .to_owned()
            }
        })
    }

    /// Reports the cells that begin as a formula but are none.
    fn report_unread(&mut self, table: &Table) {
        if table.given.is_some() {
            return;
        }
        for cell in table.rows.iter().skip(table.header_rows() - 1).flatten() {
            if let Some(source) = formula_source(cell)
                && let Err(why) = formula::parse(&source)
            {
                self.failures.formula(&source, &why);
            }
        }
    }

    fn total_row(
        &mut self,
        table: &Table,
        wanted: WantedTotal<'_>,
        notations: &[Notation],
    ) -> Vec<Vec<Inline>> {
        let mut row = Vec::new();
        let (mut is_named, mut is_explained) = (false, false);
        let (_, unknown) = totals::columns(table, wanted.names);
        for sentence in unknown {
            self.failures.total(sentence);
        }
        let name = wanted.total.name(self.pages.document.meta.language.as_deref());
        for column in 0..table.header.len() {
            let ColumnTotal { value, problem } =
                self.pages.grid.column_total(wanted.row, column as u16);
            is_explained |= value.is_some() || problem.is_some();
            if let Some(problem) = problem {
                let name = Runs::read(&table.header[column]).text();
                self.failures.total(problem.sentence(&short(&name)));
            }
            let text = match value {
                Some((value, format)) => {
                    let notation = notations.get(column).copied();
                    text(&Value::Number(value), Some(&format), notation)
                }
                None if is_named => String::new(),
                None => {
                    is_named = true;
                    name.to_owned()
                }
            };
            row.push(styled(text, &Runs::default()));
        }
        if !is_explained {
            self.failures.total(totals::no_numbers(name));
        }
        for cell in &mut row {
            *cell = vec![Inline::Strong(std::mem::take(cell))];
        }
        row
    }
}

/// The totals below a table.
struct WantedTotal<'a> {
    total: Total,
    /// The columns; empty for all numbers.
    names: &'a [String],
    /// Its row, counted from the header of the table.
    row: u32,
}

/// The value as text in the notation of its column.
fn text(value: &Value, format: Option<&str>, notation: Option<Notation>) -> String {
    let text = match value {
        Value::Number(number) => number_text::shown(*number, format.unwrap_or("General")),
        Value::Error(error) => return (*error).to_owned(),
        other => return other.text().unwrap_or_default(),
    };
    let Some(notation) = notation else { return text };
    match format.filter(|format| number_text::is_date(format)) {
        None => notation.written(&text),
        Some(lap) if lap.contains("ss.") => notation.written_lap(&text),
        Some(_) => text,
    }
}

fn styled(text: String, runs: &Runs) -> Vec<Inline> {
    if text.is_empty() {
        return Vec::new();
    }
    let style = runs.style().unwrap_or_default();
    let mut content = vec![Inline::Text(text)];
    if style.bold {
        content = vec![Inline::Strong(content)];
    }
    if style.italic {
        content = vec![Inline::Emphasis(content)];
    }
    content
}

fn replaced(blocks: &[Block], tables: &ComputedTables) -> Vec<Block> {
    let all = |blocks: &[Block]| replaced(blocks, tables);
    let one = |block: &Block| match block {
        Block::Table(table) => {
            let shown = tables.get(&std::ptr::from_ref(table)).unwrap_or(table);
            Block::Table(shown.clone())
        }
        Block::List(list) => {
            let items =
                list.items.iter().map(|item| Item { task: item.task, blocks: all(&item.blocks) });
            Block::List(List { items: items.collect(), ..*list })
        }
        Block::Quote { alert, blocks } => Block::Quote { alert: *alert, blocks: all(blocks) },
        Block::Definitions(items) => {
            let items = items.iter().map(|Definition { term, description }| Definition {
                term: term.clone(),
                description: all(description),
            });
            Block::Definitions(items.collect())
        }
        Block::Columns(columns) => Block::Columns(columns.iter().map(|c| all(c)).collect()),
        other => other.clone(),
    };
    blocks.iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::plain_text;
    use crate::markdown;

    fn tables(source: &str) -> Vec<Vec<Vec<String>>> {
        let document = computed(&markdown::read(source).unwrap()).expect("it has formulas");
        let mut tables = Vec::new();
        document.each_block(&mut |block| {
            if let Block::Table(table) = block {
                let rows = table.rows.iter();
                tables.push(
                    rows.map(|row| row.iter().map(|cell| plain_text(cell)).collect()).collect(),
                );
            }
        });
        tables
    }

    #[test]
    fn formulas_show_their_values_and_totals_are_rows() {
        let source = "## Budget 2027\n\n<!-- total: sum -->\n\n| Item | Cost | Share |\n|---|--:|--:|\n\
                      | a | $1,000.00 | 25% |\n| b | =B2*3 | 75% |\n\n## Sum\n\n| What | Value |\n|---|---|\n\
                      | Total | ='Budget 2027'!B4 |\n| **Odd** | =IF(B2>5,\"big\",\"small\") |\n\
                      | Text | = 5 apples |\n";
        let tables = tables(source);
        assert_eq!(tables[0][1], ["b", "$3,000.00", "75%"]);
        assert_eq!(tables[0][2], ["Total", "$4,000.00", ""]);
        assert_eq!(tables[1][0], ["Total", "$4,000.00"]);
        assert_eq!(tables[1][1], ["Odd", "big"]);
        assert_eq!(tables[1][2], ["Text", "= 5 apples"]);
    }

    #[test]
    fn values_have_the_decimal_comma_of_their_column() {
        let source = "---\nlang: de\n---\n\n| a | b |\n|---|---|\n| 1.234,50 € | =A2*2 |\n| 2,00 € | =A3*2 |\n";
        assert_eq!(tables(source)[0][0][1], "2.469,00 €");
    }

    #[test]
    fn values_have_the_separators_of_thousands_of_their_column() {
        for (language, cells, total) in [
            ("fr", ["1 234,50 €", "12 000,00 €"], "13 234,50 €"),
            ("en", ["1 234,50 €", "12 000,00 €"], "13 234,50 €"),
            ("fr", ["1.234,50 €", "12.000,00 €"], "13.234,50 €"),
            ("fr", ["500,00 €", "700,00 €"], "1\u{a0}200,00 €"),
            ("de", ["500,00 €", "700,00 €"], "1.200,00 €"),
            ("de-CH", ["1'234.50", "12'000.00"], "13'234.50"),
            ("en", ["1,234.50", "12,000.00"], "13,234.50"),
        ] {
            let [first, second] = cells;
            let source = format!(
                "---\nlang: {language}\n---\n\n<!-- total: sum -->\n\n| N | A | B |\n|---|---|---|\n\
                 | x | {first} | =SUM(B2:B3) |\n| y | {second} | =C2 |\n"
            );
            let tables = tables(&source);
            let rows = &tables[0];
            assert_eq!((rows[2][1].as_str(), rows[0][2].as_str()), (total, total), "{language}");
        }
    }

    /// The last cell of each row of the last table.
    fn last_cells(source: &str) -> Vec<String> {
        let table = tables(source).pop().unwrap();
        table.into_iter().map(|mut row| row.pop().unwrap()).collect()
    }

    #[test]
    fn calculations_with_dates_are_dates() {
        let table = |formulas: &[&str]| {
            let rows: Vec<String> = formulas
                .iter()
                .zip(["2026-03-05", "2026-04-05"].iter().chain(&[""; 1_000]))
                .map(|(formula, day)| format!("| {day} | {formula} |\n"))
                .collect();
            last_cells(&format!("## Plan\n\n| Day | Due |\n|---|---|\n{}", rows.concat()))
        };
        for (formula, shown) in [
            ("=A2+30", "2026-04-04"),
            ("=WORKDAY(A2,5)", "2026-03-12"),
            ("=EDATE(A2,1)+1", "2026-04-06"),
            ("=MAX(A2:A3)", "2026-04-05"),
            ("=INDEX(A2:A3,1)", "2026-03-05"),
            ("=IF(A3>A2,A3,A2)", "2026-04-05"),
            ("=VLOOKUP(A3,A2:A3,1,FALSE)", "2026-04-05"),
            ("=A3-A2", "31"),
            ("=YEAR(A2)", "2026"),
            ("=Plan!A3", "2026-04-05"),
        ] {
            assert_eq!(table(&[formula, "x"])[0], shown, "{formula}");
        }
        assert_eq!(table(&["=A2", "=B2+7", "=B3+7"])[2], "2026-03-19");
        let chain: Vec<String> = (2..1_000).map(|row| format!("=B{row}+7")).collect();
        let chain: Vec<&str> =
            std::iter::once("=A2").chain(chain.iter().map(String::as_str)).collect();
        assert_eq!(table(&chain)[998], "2045-04-20");
        let german =
            "---\nlang: de\n---\n\n| Tag |\n|---|\n| 05.03.26 |\n| 07.03.26 |\n| =MAX(A2:A3) |\n";
        assert_eq!(last_cells(german)[2], "07.03.2026");
    }

    #[test]
    fn calculations_with_times_are_durations() {
        let source = "| From | To | Time |\n|---|---|---|\n| 09:30 | 12:15 | =B2-A2 |\n\
                      | 08:00 | 18:30 | =B3-A3 |\n| 09:00 | 08:00 | =B4-A4 |\n\
                      | 10:00 | 11:00 | =(B3-A3)*24 |\n| 10:00 | 11:00 | =SUM(B2:B3) |\n\
                      | 10:00 | 11:00 | =MIN(B2:B3) |\n| 10:00 | 11:00 | =A2 |\n";
        let expected = ["2:45", "10:30", "-0.041666667", "10.5", "30:45", "12:15", "09:30"];
        assert_eq!(last_cells(source), expected);
        let moment = "| At |\n|---|\n| 2026-03-05 09:30 |\n| 2026-03-06 10:00 |\n| =A3-A2 |\n";
        assert_eq!(last_cells(moment)[2], "24:30");
        let laps = "| Lap | x |\n|---|---|\n| 1:02 | =A2 |\n| 1:02.5 | =SUM(A2:A3) |\n\
                    | 0:59.5 | =SUM(A2:A4)*30 |\n";
        assert_eq!(last_cells(laps), ["1:02", "2:04.5", "1:32:00.0"]);
        let german = format!("---\nlang: de\n---\n\n{}", laps.replace('.', ","));
        assert_eq!(last_cells(&german), ["1:02", "2:04,5", "1:32:00,0"]);
    }

    #[test]
    fn a_formula_leaves_the_notation_of_its_column_alone() {
        let column = |cells: [&str; 3]| {
            last_cells(&format!("| A |\n|---|\n| {} |\n", cells.join(" |\n| "))).pop().unwrap()
        };
        assert_eq!(column(["09:30", "12:15", "=SUM(A2:A3)"]), "21:45");
        assert_eq!(column(["1 234", "5", "=SUM(A2:A3)"]), "1 239");
        assert_eq!(column(["25.03.26", "05.03.26", "=MAX(A2:A3)"]), "25.03.2026");
    }

    #[test]
    fn number_formats_in_formulas_are_no_links() {
        for (format, shown) in [
            ("0;[Red](0)", "(5)"),
            ("[<0](0);0", "(5)"),
            ("0;[Red](#,##0.00)", "(5.00)"),
            ("[<0]\"\"debt\"\";0", "debt"),
        ] {
            let source = format!("| A | B |\n|---|---|\n| -5 | =TEXT(A2,\"{format}\") |\n");
            assert_eq!(last_cells(&source), [shown], "{format}");
        }
    }

    #[test]
    fn amounts_of_several_currencies_are_added_up_without_one() {
        let source = "| A | B |\n|---|---|\n| 100 € | =A2+A3 |\n| 50 $ | =A2*2 |\n";
        assert_eq!(last_cells(source), ["150", "200 €"]);
        let source = "| A | B |\n|---|---|\n| EUR 1.50 | =A2*2 |\n";
        assert_eq!(last_cells(source), ["EUR 3.00"]);
    }

    #[test]
    fn results_keep_the_currency_of_the_cells_they_are_computed_from() {
        for (formula, shown) in [
            ("=SUM(B2:B3)", "$15.00"),
            ("=SUM(B:B)-B2", "$10.00"),
            ("=B2/7", "$0.71"),
            ("=B2*(1+10%)", "$5.50"),
            ("=B2*(1+C2)^2", "$7.81"),
            ("=IF(D2>3,B2*2,0)", "$10.00"),
            ("=IFERROR(B3/D2,\"\")", "$2.50"),
            ("=SUMIF(D2:D3,\">3\",B2:B3)", "$5.00"),
            ("=SUMPRODUCT(B2:B3,D2:D3)", "$50.00"),
            ("=Sales!B2*2", "$10.00"),
            ("=IFS(D2>9,0,TRUE,B2)", "$5.00"),
            ("=SWITCH(A2,\"a\",B2,0)", "$5.00"),
            ("=VLOOKUP(\"a\",A2:C3,2,FALSE)", "$5.00"),
            ("=VLOOKUP(\"b\",Sales!A:C,3,FALSE)", "50%"),
            ("=IFERROR(XLOOKUP(\"b\",A2:A3,B2:B3,0)*2,\"\")", "$20.00"),
            ("=INDEX(B2:B3,MATCH(\"b\",A2:A3,0))", "$10.00"),
            ("=INDEX(B2:D3,2,3)", "3"),
            ("=INDEX(B2:D3,1,D3)", "4"),
            ("=SUM(C2:C3)/6", "12.5%"),
            ("=B2/B3", "0.5"),
            ("=C2/C3", "0.5"),
            ("=D2/8", "0.5"),
            ("=IF(D2>3,D2,B2)", "4"),
        ] {
            let source = format!(
                "## Sales\n\n| Item | Price | Share | Count | Result |\n|---|---|---|---|---|\n\
                 | a | $5.00 | 25% | 4 | {formula} |\n| b | =B2*2 | 50% | 3 | x |\n"
            );
            assert_eq!(last_cells(&source)[0], shown, "{formula}");
        }
    }

    #[test]
    fn totals_may_name_their_columns() {
        let source = "<!-- total: sum of Qty -->\n\n| Item | Qty | Price |\n|---|---|---|\n| a | 2 | $5 |\n| b | 3 | $7 |\n";
        assert_eq!(tables(source)[0][2], ["Total", "5", ""]);
        let german = format!("---\nlang: de-AT\n---\n\n{source}");
        assert_eq!(tables(&german)[0][2], ["Summe", "5", ""]);
    }

    #[test]
    fn formulas_and_totals_without_a_value_are_reported() {
        let source = "<!-- total: sum of Sum -->\n\n| Item | Value |\n|---|---|\n| a | =TODAY() |\n\
                      | b | =HYPERLINK(\"x\") |\n| c | =Other!B2 |\n| d | =B2+1 |\n| e | =1+1 |\n";
        let document = computed(&markdown::read(source).unwrap()).expect("it has formulas");
        let expected = [
            "“=TODAY()” is kept as text: its value depends on the time",
            "“=Other!B2” is kept as text: no sheet with a table is named “Other”",
            "“=B2+1” is kept as text: it refers to a formula without a value",
            "“=HYPERLINK(\"x\")” is kept as text: HYPERLINK is not allowed",
            "There is no column “Sum” for a total.",
            "There is no numeric column for the total “Total”.",
        ];
        assert_eq!(document.warnings.len(), expected.len(), "{:?}", document.warnings);
        for (warning, expected) in document.warnings.iter().zip(expected) {
            assert!(warning.to_string().starts_with(expected), "{warning}");
        }
    }

    #[test]
    fn further_formulas_without_a_value_are_counted() {
        let rows = (0..9).map(|n| format!("| =NOPE{n}(1) |\n")).collect::<Vec<_>>().concat();
        let document = markdown::read(&format!("| a |\n|---|\n{rows}")).unwrap();
        let warnings = computed(&document).expect("it has formulas").warnings;
        assert_eq!(warnings.len(), NAMED + 1, "{warnings:?}");
        assert!(warnings[NAMED].to_string().starts_with("4 more"), "{warnings:?}");
    }

    #[test]
    fn a_document_without_formulas_is_left_alone() {
        assert_eq!(computed(&markdown::read("| a |\n|---|\n| 1 |\n").unwrap()), None);
    }
}
