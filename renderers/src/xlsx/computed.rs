//! The values of formulas and the rows of totals, for the formats that do not compute.

use std::collections::HashMap;

use super::cells::Typed;
use super::column::{Notation, notations};
use super::directives::{self, Directive, Total};
use super::formula::Value;
use super::number_format;
use super::pages::{Meaning, Pages, Read};
use super::plan::{self, PlannedPart};
use super::runs::{Runs, formula_source};
use super::signs::Signs;
use crate::Document;
use crate::document::{Block, Inline, Item, List, Table};
use crate::number_text;
use crate::pdf::fontset::Fonts;

/// Tables by their address in the original document.
type ComputedTables = HashMap<*const Table, Table>;

/// The document with computed values in place of formulas, and with its totals as rows; `None` if
/// it has neither.
pub fn computed(document: &Document) -> Option<Document> {
    let mut has_any = false;
    document.each_block(&mut |block| has_any |= has_formulas(block));
    if !has_any {
        return None;
    }
    let tables = tables(document);
    let blocks = |blocks: &[Block]| replaced(blocks, &tables);
    Some(Document {
        blocks: blocks(&document.blocks),
        notes: document.notes.iter().map(|note| blocks(note)).collect(),
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
fn tables(document: &Document) -> ComputedTables {
    let (fonts, mut warnings, mut tables) = (Fonts::default(), Vec::new(), ComputedTables::new());
    let plan = plan::plan(document);
    let mut pages = Pages::without_pictures(document, &fonts, &mut warnings);
    pages.survey(&plan.sheets);
    for part in plan.sheets.iter().flat_map(|sheet| &sheet.parts) {
        if let PlannedPart::Table(table, directives) = part {
            let read = pages.tables.pop_front().unwrap_or_default();
            let shown = pages.shown(table, &read, directives);
            tables.insert(std::ptr::from_ref(*table), shown);
            pages.grid.here += 1;
        }
    }
    tables
}

impl Pages<'_> {
    fn shown(&mut self, table: &Table, read: &Read, directives: &[Directive]) -> Table {
        let mut shown = table.clone();
        let notations = notations(table, self.document.meta.language.as_deref());
        for (at, row) in read.iter().enumerate() {
            for (column, (runs, meaning)) in row.iter().enumerate() {
                let Some(Meaning::Formula(formula)) = meaning else { continue };
                let value = self.grid.compute(at as u32 + 1, column as u16);
                let Some(value) = value.filter(|_| self.grid.unknown_sheet(formula).is_none())
                else {
                    continue;
                };
                let format = number_format::of(formula, read, Some(&value));
                let text = text(&value, format.as_deref(), notations.get(column).copied());
                shown.rows[at][column] = styled(text, runs);
            }
        }
        for directive in directives {
            if let Directive::Total(total, names) = directive {
                let wanted = WantedTotal { total: *total, names };
                shown.rows.push(self.total_row(table, read, wanted, &notations));
            }
        }
        shown
    }

    fn total_row(
        &mut self,
        table: &Table,
        read: &Read,
        wanted: WantedTotal<'_>,
        notations: &[Notation],
    ) -> Vec<Vec<Inline>> {
        let mut row = Vec::new();
        let mut is_named = false;
        let columns = self.total_columns(table, wanted.names);
        for column in 0..table.header.len() {
            let numbers =
                columns.contains(&column).then(|| self.sum(read, column, wanted.total)).flatten();
            let text = match numbers {
                Some((value, format)) => {
                    let notation = notations.get(column).copied();
                    text(&Value::Number(value), Some(&format), notation)
                }
                None if is_named => String::new(),
                None => {
                    is_named = true;
                    wanted.total.name().0.to_owned()
                }
            };
            row.push(styled(text, &Runs::default()));
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
}

/// The value as text in the notation of its column.
fn text(value: &Value, format: Option<&str>, notation: Option<Notation>) -> String {
    let text = match value {
        Value::Number(number) => number_text::shown(*number, format.unwrap_or("General")),
        Value::Error(error) => return (*error).to_owned(),
        other => return other.text().unwrap_or_default(),
    };
    let has_comma = notation.is_some_and(|n| n.signs == Signs::Either(Some(',')));
    if !has_comma {
        return text;
    }
    let swapped = text.chars().map(|c| match c {
        '.' => ',',
        ',' => '.',
        c => c,
    });
    swapped.collect()
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

/// Whether a column holds numbers and formulas that can be added up, by its formats alone.
pub fn is_summable(read: &Read, column: usize, total: Total) -> bool {
    let (mut numbers, mut others, mut has_share) = (0, 0, false);
    for (runs, meaning) in read.iter().filter_map(|row| row.get(column)) {
        match meaning {
            Some(Meaning::Typed(Typed::Number { format, .. })) => {
                numbers += 1;
                has_share |= format.contains('%');
            }
            Some(Meaning::Formula(_)) => numbers += 1,
            Some(Meaning::Typed(Typed::Moment { .. })) => return false,
            None if runs.pieces.is_empty() => {}
            _ => others += 1,
        }
    }
    numbers > 0 && numbers >= others && !(has_share && total == Total::Sum)
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
            Block::Definitions(items.iter().map(|(term, d)| (term.clone(), all(d))).collect())
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
        assert_eq!(tables[1][0], ["Total", "4000"]);
        assert_eq!(tables[1][1], ["Odd", "big"]);
        assert_eq!(tables[1][2], ["Text", "= 5 apples"]);
    }

    #[test]
    fn values_have_the_decimal_comma_of_their_column() {
        let source = "---\nlang: de\n---\n\n| a | b |\n|---|---|\n| 1.234,50 € | =A2*2 |\n| 2,00 € | =A3*2 |\n";
        assert_eq!(tables(source)[0][0][1], "2.469,00 €");
    }

    #[test]
    fn totals_may_name_their_columns() {
        let source = "<!-- total: sum of Qty -->\n\n| Item | Qty | Price |\n|---|---|---|\n| a | 2 | $5 |\n| b | 3 | $7 |\n";
        assert_eq!(tables(source)[0][2], ["Total", "5", ""]);
    }

    #[test]
    fn a_document_without_formulas_is_left_alone() {
        assert_eq!(computed(&markdown::read("| a |\n|---|\n| 1 |\n").unwrap()), None);
    }
}
