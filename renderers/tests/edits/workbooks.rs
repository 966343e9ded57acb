//! Cells, rows and sheets of workbooks.

use calamine::{Reader as _, Xlsx, open_workbook_from_rs};
use proptest::prelude::*;
use renderers::{
    Format,
    edit::{
        Change,
        workbook::{self, NewCell, NewRows, NewSheet, WorkbookEdit},
    },
};
use serde_json::{Value, json};
use std::io::Cursor;

use super::{changed, file, is_well_formed, parts};

pub const BOOK: &str = "## Sales\n\n| Port | Tonnes | Double |\n|---|---|---|\n| Oslo | 5 | =B2*2 |\n\
    | Genoa | 7 | =B3*2 |\n\n## Other\n\n| A |\n|---|\n| =SUM(Sales!B2:B3) |\n";

pub fn cells(bytes: &[u8], sheet: &str) -> Vec<Vec<String>> {
    let mut book: Xlsx<_> = open_workbook_from_rs(Cursor::new(bytes)).expect("we wrote it");
    let range = book.worksheet_range(sheet).expect("we wrote it");
    range.rows().map(|row| row.iter().map(ToString::to_string).collect()).collect()
}

fn formulas(bytes: &[u8], sheet: &str) -> Vec<String> {
    let mut book: Xlsx<_> = open_workbook_from_rs(Cursor::new(bytes)).expect("we wrote it");
    let range = book.worksheet_formula(sheet).expect("we wrote it");
    range.used_cells().map(|(_, _, formula)| formula.clone()).collect()
}

pub fn cell(place: &str, value: Value) -> WorkbookEdit {
    let (sheet, cell) = match place.split_once('!') {
        Some((sheet, cell)) => (Some(sheet.to_owned()), cell.to_owned()),
        None => (None, place.to_owned()),
    };
    WorkbookEdit { cells: vec![NewCell { sheet, cell, value }], ..WorkbookEdit::default() }
}

fn append(rows: &[Value]) -> WorkbookEdit {
    let rows = NewRows { sheet: None, table: None, rows: rows.to_vec() };
    WorkbookEdit { rows: vec![rows], ..WorkbookEdit::default() }
}

#[test]
fn cells_are_set_and_no_result_is_out_of_date() {
    let book = file(BOOK, Format::Xlsx);
    let before = cells(&book, "Sales");
    let row = before.iter().position(|row| row[0] == "Oslo").unwrap();
    let edited = workbook::edit(&book, &cell(&format!("Sales!B{}", row + 1), json!(50))).unwrap();
    is_well_formed(&edited.bytes);
    assert_eq!(
        edited.changes,
        [Change {
            place: format!("Sales!B{}", row + 1),
            before: Some("5".into()),
            after: Some("50".into()),
        }]
    );
    let after = cells(&edited.bytes, "Sales");
    assert_eq!(after[row], ["Oslo", "50", ""], "the old result is removed");
    assert_eq!(formulas(&edited.bytes, "Sales"), formulas(&book, "Sales"));
    let parts = parts(&edited.bytes);
    let workbook = String::from_utf8_lossy(&parts["xl/workbook.xml"]).into_owned();
    assert!(workbook.contains("fullCalcOnLoad=\"1\""), "{workbook}");
    let names = changed(&book, &edited.bytes);
    assert!(
        names.iter().all(|name| name.contains("sheet") || name == "xl/workbook.xml"),
        "{names:?}"
    );
    for (place, value, why) in [
        ("Sales!ZZZZ1", json!(1), "not a cell"),
        ("Nowhere!A1", json!(1), "There are: Sales, Other"),
        ("A1", json!("=WEBSERVICE(1)"), "not allowed"),
        ("A1", json!([1]), "a number, a text"),
    ] {
        let error = workbook::edit(&book, &cell(place, value)).unwrap_err().to_string();
        assert!(error.contains(why), "{place}: {error}");
    }
}

#[test]
fn rows_are_appended_with_the_formulas_and_the_table_of_those_above() {
    let book = file(BOOK, Format::Xlsx);
    let rows = [json!({ "Port": "Bergen", "tonnes": 9 }), json!(["Kiel", 1])];
    let edited = workbook::edit(&book, &append(&rows)).unwrap();
    is_well_formed(&edited.bytes);
    let before = cells(&book, "Sales").len();
    let after = cells(&edited.bytes, "Sales");
    assert_eq!(after.len(), before + 2);
    assert_eq!(after[before][..2], ["Bergen", "9"]);
    assert_eq!(after[before + 1][..2], ["Kiel", "1"]);
    let formulas = formulas(&edited.bytes, "Sales");
    assert_eq!(formulas.len(), 4, "{formulas:?}");
    let end = format!("B{}*2", before + 2);
    assert!(formulas.last().unwrap().contains(&end), "{formulas:?}");
    let parts = parts(&edited.bytes);
    let table = String::from_utf8_lossy(&parts["xl/tables/table1.xml"]).into_owned();
    assert_eq!(table.matches(&format!(":C{}\"", before + 2)).count(), 2, "{table}");
    let error = workbook::edit(&book, &append(&[json!({ "Harbour": 1 })])).unwrap_err();
    assert!(error.to_string().contains("Port, Tonnes, Double"), "{error}");
}

#[test]
fn sheets_are_added_and_names_are_checked() {
    let book = file(BOOK, Format::Xlsx);
    let add = |name: &str| {
        let rows = vec![vec![json!("a"), json!("=Sales!B2+1")], vec![json!(true), Value::Null]];
        let sheets = vec![NewSheet { name: name.into(), rows }];
        workbook::edit(&book, &WorkbookEdit { sheets, ..WorkbookEdit::default() })
    };
    let edited = add("New & own").unwrap();
    is_well_formed(&edited.bytes);
    assert_eq!(cells(&edited.bytes, "New & own")[1][0], "true");
    assert_eq!(formulas(&edited.bytes, "New & own"), ["'Sales'!B2+1"]);
    for name in ["sales", "", "a/b", "History", &"x".repeat(32)] {
        assert!(add(name).is_err(), "{name}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// Any text in any cell gives a workbook that others read.
    #[test]
    fn random_cells_give_valid_workbooks(
        edits in prop::collection::vec((9..40_u32, 1..26_u32, "(?s).{0,12}"), 1..8)
    ) {
        let book = file(BOOK, Format::Xlsx);
        let cells: Vec<_> = edits.iter().map(|(row, column, text)| NewCell {
            sheet: Some("Other".into()),
            cell: format!("{}{row}", char::from(b'A' + (*column % 26) as u8)),
            value: json!(text.trim_start_matches('=')),
        }).collect();
        let edit = WorkbookEdit { cells, ..WorkbookEdit::default() };
        let edited = workbook::edit(&book, &edit).unwrap();
        is_well_formed(&edited.bytes);
        let read: Xlsx<_> = open_workbook_from_rs(Cursor::new(edited.bytes)).unwrap();
        prop_assert_eq!(read.sheet_names().len(), 2);
    }
}
