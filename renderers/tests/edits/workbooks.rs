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
    for name in ["sales", "", "a/b", "History", &"x".repeat(32), &"😀".repeat(16)] {
        assert!(add(name).is_err(), "{name}");
    }
}

/// Two sheets with one name make a spreadsheet program repair the file.
#[test]
fn a_new_sheet_does_not_have_the_name_of_a_chart() {
    let book = parts(&file(BOOK, Format::Xlsx));
    let part = |name: &str| String::from_utf8(book[name].clone()).expect("we wrote it");
    let sheets = part("xl/workbook.xml")
        .replace("</sheets>", "<sheet name=\"Graph\" sheetId=\"9\" r:id=\"rId99\"/></sheets>");
    let link = "<Relationship Id=\"rId99\" Type=\"t\" Target=\"chartsheets/sheet1.xml\"/>";
    let links = part("xl/_rels/workbook.xml.rels")
        .replace("</Relationships>", &format!("{link}</Relationships>"));
    let book = with_parts(&[("xl/workbook.xml", &sheets), ("xl/_rels/workbook.xml.rels", &links)]);
    for (name, is_free) in [("graph", false), ("Graph 2", true)] {
        let sheets = vec![NewSheet { name: name.into(), rows: Vec::new() }];
        let edit = WorkbookEdit { sheets, ..WorkbookEdit::default() };
        assert_eq!(workbook::edit(&book, &edit).is_ok(), is_free, "{name}");
    }
}

/// The workbook with this content of the first sheet.
fn with_sheet(sheet: &str) -> Vec<u8> {
    with_parts(&[("xl/worksheets/sheet1.xml", sheet)])
}

/// The workbook with these contents of some parts.
pub fn with_parts(changed: &[(&str, &str)]) -> Vec<u8> {
    let mut written = zip::ZipWriter::new(Cursor::new(Vec::new()));
    // Without the link to its table.
    let parts = parts(&file(BOOK, Format::Xlsx));
    for (name, part) in parts.into_iter().filter(|(name, _)| !name.ends_with("sheet1.xml.rels")) {
        written.start_file(&name, zip::write::SimpleFileOptions::default()).expect("a part");
        let new = changed.iter().find(|(changed, _)| *changed == name);
        let part = new.map_or(&*part, |(_, text)| text.as_bytes());
        std::io::Write::write_all(&mut written, part).expect("a part");
    }
    written.finish().expect("a file").into_inner()
}

pub fn sheet(rows: &str) -> String {
    format!(
        "<?xml version=\"1.0\"?><worksheet xmlns=\"http://schemas.openxmlformats.org/\
         spreadsheetml/2006/main\"><sheetData>{rows}</sheetData></worksheet>"
    )
}

/// A cell that a formula elsewhere computes cannot be set: its value would be lost.
#[test]
fn cells_of_an_array_formula_are_rejected() {
    let book = with_sheet(&sheet(
        "<row r=\"1\"><c r=\"A1\"><f t=\"array\" ref=\"A1:A3\">B1:B3*2</f><v>2</v></c></row>\
         <row r=\"2\"><c r=\"A2\"><v>4</v></c><c r=\"C2\"><f t=\"array\" ref=\"C2\">SUM(A1:A3)</f>\
         <v>1</v></c></row>\
         <row r=\"3\"><c r=\"A3\" t=\"inlineStr\"><is><t>x</t></is></c></row>\
         <row r=\"4\"><c r=\"A4\"><f t=\"dataTable\" ref=\"A4:B5\" dt2D=\"1\" dtr=\"1\"/><v>1</v></c>\
         </row><row r=\"5\"><c r=\"B5\"><v>2</v></c></row>",
    ));
    for place in ["A1", "A2", "A3", "A4", "B5"] {
        for value in [json!(9), json!("nine"), Value::Null] {
            let edit = workbook::edit(&book, &cell(&format!("Sales!{place}"), value));
            let error = edit.unwrap_err().to_string();
            assert!(error.contains("also computes the cells"), "{place}: {error}");
        }
    }
    for place in ["C2", "A6", "B2"] {
        let edited = workbook::edit(&book, &cell(&format!("Sales!{place}"), json!(9))).unwrap();
        assert_eq!(edited.changes[0].after.as_deref(), Some("9"), "{place}");
        let sheet = String::from_utf8(parts(&edited.bytes)["xl/worksheets/sheet1.xml"].clone());
        let sheet = sheet.unwrap();
        assert!(sheet.contains(&format!("<c r=\"{place}\"><v>9</v></c>")), "{sheet}");
        // The results of the formula are removed, and no text is left without its kind.
        assert!(sheet.contains("<c r=\"A3\"/>") || sheet.contains("<c r=\"A3\"></c>"), "{sheet}");
    }
}

/// A text that looks like a number is not that number, and so on: changing the kind is a change.
#[test]
fn a_change_of_the_kind_is_a_change() {
    let book = with_sheet(&sheet(
        "<row r=\"1\"><c r=\"A1\" t=\"inlineStr\"><is><t>5</t></is></c>\
         <c r=\"B1\" t=\"str\"><v>TRUE</v></c><c r=\"C1\" t=\"b\"><v>1</v></c>\
         <c r=\"D1\"><v>7</v></c><c r=\"E1\" t=\"str\"><v>=A1</v></c>\
         <c r=\"F1\"><f>A1</f><v>5</v></c><c r=\"G1\" t=\"e\"><v>#N/A</v></c>\
         <c r=\"H1\" t=\"str\"><v></v></c></row>",
    ));
    for (place, value, before, after) in [
        ("A1", json!(5), "5 (text)", "5 (number)"),
        ("B1", json!(true), "TRUE (text)", "TRUE (true or false)"),
        ("C1", json!("TRUE"), "TRUE (true or false)", "TRUE (text)"),
        ("D1", json!("7"), "7 (number)", "7 (text)"),
        ("E1", json!("=A1"), "=A1 (text)", "=A1 (formula)"),
        ("G1", json!("#N/A"), "#N/A (other)", "#N/A (text)"),
        ("H1", Value::Null, " (text)", " (empty)"),
        ("D1", json!(8), "7", "8"),
    ] {
        let edited = workbook::edit(&book, &cell(&format!("Sales!{place}"), value)).unwrap();
        let change = &edited.changes[0];
        assert_eq!(
            (change.before.as_deref(), change.after.as_deref()),
            (Some(before), Some(after))
        );
        assert_ne!(edited.bytes, book);
        is_well_formed(&edited.bytes);
    }
    for (place, value) in [
        ("A1", json!("5")),
        ("B1", json!("TRUE")),
        ("C1", json!(true)),
        ("D1", json!(7)),
        ("F1", json!("=A1")),
        ("H1", json!("")),
        ("Z9", json!("")),
        ("Z9", Value::Null),
    ] {
        let edited = workbook::edit(&book, &cell(&format!("Sales!{place}"), value)).unwrap();
        assert!(edited.changes.is_empty() && edited.bytes == book, "{place}");
    }
}

#[test]
fn the_validation_of_the_only_row_is_that_of_new_rows() {
    let row = |number: u32| format!("<row r=\"{number}\"><c r=\"A{number}\"><v>1</v></c></row>");
    let checked = |count: u32, area: &str| {
        let rows: String = (1..=count).map(row).collect();
        let checks = format!(
            "</sheetData><dataValidations><dataValidation sqref=\"{area}\"/></dataValidations>"
        );
        let book = with_sheet(&sheet(&rows).replace("</sheetData>", &checks));
        let edited = workbook::edit(&book, &append(&[json!([2]), json!([3])])).unwrap();
        String::from_utf8(parts(&edited.bytes)["xl/worksheets/sheet1.xml"].clone()).unwrap()
    };
    assert!(checked(2, "A2").contains("sqref=\"A2:A4\""));
    // Of several rows, the format of the last alone may be that of a sum.
    assert!(checked(3, "A3").contains("sqref=\"A3\""));
    assert!(checked(1, "A1").contains("sqref=\"A1\""));
}

/// The first row of a table that does not show the names of its columns is a row like all others.
#[test]
fn tables_without_a_header_are_edited() {
    let book = file(BOOK, Format::Xlsx);
    let mut written = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, part) in parts(&book) {
        let part = match name.as_str() {
            "xl/tables/table1.xml" => String::from_utf8(part)
                .expect("we wrote it")
                .replace("<table ", "<table headerRowCount=\"0\" ")
                .into_bytes(),
            _ => part,
        };
        written.start_file(&name, zip::write::SimpleFileOptions::default()).expect("a part");
        std::io::Write::write_all(&mut written, &part).expect("a part");
    }
    let bare = written.finish().expect("a file").into_inner();
    let first = cells(&book, "Sales").iter().position(|row| row[0] == "Port").unwrap() + 1;
    let set = cell(&format!("Sales!A{first}"), json!("Turku"));
    assert!(workbook::edit(&book, &set).is_err());
    let edit = WorkbookEdit { cells: set.cells, ..append(&[json!({ "Port": "Bergen" })]) };
    let after = cells(&workbook::edit(&bare, &edit).unwrap().bytes, "Sales");
    assert_eq!(
        (after[first - 1][0].as_str(), after.last().unwrap()[0].as_str()),
        ("Turku", "Bergen")
    );
}

/// As an ordinary formula, `A3:B3*2` would be one cell times two.
#[test]
fn array_formulas_of_the_row_above_stay_array_formulas() {
    let book = with_sheet(&sheet(
        "<row r=\"1\"><c r=\"A1\"><v>1</v></c></row><row r=\"2\"><c r=\"A2\"><v>1</v></c>\
         <c r=\"B2\"><v>1</v></c><c r=\"C2\" cm=\"1\"><f t=\"array\" ref=\"C2\">SUM(A2:B2*2)</f>\
         <v>4</v></c></row>",
    ));
    let edited = workbook::edit(&book, &append(&[json!([5, 6])])).unwrap();
    let sheet = String::from_utf8(parts(&edited.bytes)["xl/worksheets/sheet1.xml"].clone());
    let formula = "<f ref=\"C3\" t=\"array\">SUM(A3:B3*2)</f>";
    assert!(sheet.as_ref().unwrap().contains(formula), "{sheet:?}");
}

/// Excel repairs a file with cells beyond the last row or column.
#[test]
fn no_cell_is_beyond_the_sheet() {
    let row = |number: u32, cell: &str| {
        with_sheet(&sheet(&format!("<row r=\"{number}\"><c r=\"{cell}\"><v>1</v></c></row>")))
    };
    for (book, why) in [
        (row(1_048_576, "A1048576"), "no room for these rows"),
        (row(1, "XFD1"), "no room for these columns"),
        (row(u32::MAX, "A1"), "too many rows"),
    ] {
        let error = workbook::edit(&book, &append(&[json!([1, 2])])).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
}

/// `_x0041_` in a file is a character by its number.
#[test]
fn texts_that_look_like_escapes_are_shown_as_they_are() {
    let book = with_sheet(&sheet(
        "<row r=\"1\"><c r=\"A1\" t=\"inlineStr\"><is><t>_x005F_x0041_</t></is></c>\
         <c r=\"B1\" t=\"str\"><v>a_x000D_&#10;b</v></c></row>",
    ));
    let same = ["Sales!A1", "Sales!B1"].into_iter().zip(["_x0041_", "a\nb"]);
    for (place, text) in same {
        let edited = workbook::edit(&book, &cell(place, json!(text))).unwrap();
        assert!(edited.changes.is_empty(), "{place}");
    }
    let edited = workbook::edit(&book, &cell("Sales!C1", json!("_x0042_"))).unwrap();
    let sheet = String::from_utf8(parts(&edited.bytes)["xl/worksheets/sheet1.xml"].clone());
    assert!(sheet.unwrap().contains(">_x005F_x0042_</t>"));
}

/// If the sheet were read for each cell, this would take many minutes instead of a second.
#[test]
fn a_large_sheet_is_not_read_for_each_of_many_cells() {
    let rows = (1..=4_000).map(|row| {
        let cells = ["A", "B", "C", "D", "E"]
            .map(|column| format!("<c r=\"{column}{row}\"><v>1</v></c>"))
            .concat();
        let formula = match row {
            1 => "<f t=\"shared\" ref=\"F1:F4000\" si=\"0\">A1+1</f>",
            _ => "<f t=\"shared\" si=\"0\"/>",
        };
        format!("<row r=\"{row}\">{cells}<c r=\"F{row}\">{formula}</c></row>")
    });
    let rows = rows.collect::<Vec<_>>().concat();
    let book = with_sheet(&sheet(&rows));
    let cells = (1..=3_000).map(|row| NewCell {
        sheet: Some("Sales".into()),
        cell: format!("{}{}", if row % 2 == 0 { "A" } else { "F" }, row + 1),
        value: json!(2),
    });
    let edit = WorkbookEdit { cells: cells.collect(), ..WorkbookEdit::default() };
    assert_eq!(workbook::edit(&book, &edit).unwrap().changes.len(), 3_000);
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
