//! Workbooks from outside, read with a third-party reader.

mod common;

use std::io::Cursor;

use calamine::{Data, Range, Reader as _, Xlsx};
use renderers::{Document, Format, Rendered, markdown, render, rows};
use serde_json::json;

use common::part;

fn book(rendered: &Rendered) -> Xlsx<Cursor<&[u8]>> {
    Xlsx::new(Cursor::new(rendered.bytes.as_slice())).expect("it is our own")
}

fn cells(rendered: &Rendered) -> Range<Data> {
    book(rendered).worksheet_range_at(0).expect("there is a sheet").expect("it is our own")
}

fn cell(rendered: &Rendered, at: (u32, u32)) -> Data {
    cells(rendered).get_value(at).cloned().unwrap_or_default()
}

fn workbook(document: &Document) -> Rendered {
    render(document, Format::Xlsx).expect("it can be drawn")
}

fn drawn(source: &str) -> Rendered {
    workbook(&markdown::read(source).expect("it can be read"))
}

/// Too many rows for a document.
fn long(csv: &str) -> Rendered {
    assert!(rows::is_long(csv));
    let mut document = Document::default();
    document.meta.title = Some("T".to_owned());
    rows::stream(&document, csv).expect("it can be drawn")
}

#[test]
fn computed_decimals_are_numbers() {
    let floats = ["33.333333333333336", "0.1", "0.30000000000000004", "1.2345678901234567e-05"];
    let csv = format!("x\n{}\n", floats.join("\n"));
    let short = workbook(&rows::from_csv("T", &csv).unwrap());
    let streamed = long(&format!("{csv}{}", "1\n".repeat(20_001)));
    let json = json!([[1.0_f64 / 3.0 * 100.0], [33.333_333_333_333_336], [0.1]]);
    let json = workbook(&rows::from_json("T", &json).unwrap());
    for (at, float) in floats.iter().enumerate() {
        let wanted = Data::Float(float.parse().unwrap());
        assert_eq!(cell(&short, (at as u32 + 1, 0)), wanted);
        assert_eq!(cell(&streamed, (at as u32 + 1, 0)), wanted);
    }
    assert_eq!(cell(&json, (1, 0)), Data::Float(33.333_333_333_333_336));
    let sum = drawn("<!-- total: sum -->\n\n| x |\n|--|\n| 33.333333333333336 |\n| 1 |\n");
    assert_eq!(cell(&sum, (3, 0)), Data::Float(34.333_333_333_333_336));
}

#[test]
fn wide_rows_of_a_csv_are_as_welcome_as_many() {
    let csv = format!("{}\n", "1,".repeat(13) + "1").repeat(15_000);
    let rendered = long(&csv);
    assert_eq!(cells(&rendered).get_size(), (15_000, 14));
}

#[test]
fn formulas_lean_on_as_many_others_as_they_like() {
    use std::fmt::Write as _;
    let ledger = |step: &dyn Fn(u32) -> String| {
        let mut source = "## Sum\n\n| end |\n|--|\n| ='Ledger'!B202 |\n| ='Ledger'!B2 |\n\n\
             ## Ledger\n\n| amount | balance |\n|--|--|\n"
            .to_owned();
        for row in 2..=202 {
            writeln!(source, "| 1 | {} |", step(row)).unwrap();
        }
        let rendered = drawn(&source);
        assert_eq!(rendered.warnings, Vec::<&str>::new());
        (cell(&rendered, (1, 0)), cell(&rendered, (2, 0)))
    };
    let one = |row: u32| if row == 2 { "=A2".to_owned() } else { format!("=B{}+A{row}", row - 1) };
    assert_eq!(ledger(&one), (Data::Float(201.0), Data::Float(1.0)));
    let up = |row: u32| {
        if row == 202 { "=A202".to_owned() } else { format!("=B{}+A{row}", row + 1) }
    };
    assert_eq!(ledger(&up), (Data::Float(1.0), Data::Float(201.0)));
    let all = |row: u32| format!("=SUM(A2:A{row})+0*MAX(B1:B{})", row - 1);
    assert_eq!(ledger(&all), (Data::Float(201.0), Data::Float(1.0)));
}

#[test]
fn no_link_costs_the_workbook() {
    let long = "长".repeat(700);
    for (source, shown) in [
        (format!("| a |\n|--|\n| https://a.b/{long} |\n"), "https://a.b/长长"),
        ("| a |\n|--|\n| [m](Mailto:a@b.c) |\n".to_owned(), "m"),
        ("| a |\n|--|\n| [x](https:/a.b) |\n".to_owned(), "x"),
        ("| a |\n|--|\n| [x](HTTPS://a.b) |\n".to_owned(), "x"),
    ] {
        let Data::String(text) = cell(&drawn(&source), (1, 0)) else { panic!("{source:.60}") };
        assert!(text.starts_with(shown), "{text:.60}");
    }
    let mail = part(&drawn("[m](Mailto:a@b.c)"), "xl/worksheets/_rels/sheet1.xml.rels");
    assert!(mail.contains("mailto:a@b.c"), "{mail}");
}

#[test]
fn a_total_counts_the_numbers_among_gaps() {
    let source = |total: &str| {
        format!(
            "<!-- total: {total} -->\n\n| k | v | w |\n|--|--|--|\n| a | 12 | x |\n| b | n/a | y |\n\
             | c | 7 | z |\n"
        )
    };
    let sum = drawn(&source("sum"));
    assert_eq!(cell(&sum, (4, 1)), Data::Float(19.0));
    assert_eq!(cell(&sum, (4, 2)), Data::Empty);
    assert_eq!(cell(&drawn(&source("average")), (4, 1)), Data::Float(9.5));
    assert_eq!(cell(&drawn(&source("count")), (4, 1)), Data::Float(3.0), "as Excel counts");
    let none = drawn("<!-- total: sum -->\n\n| k | v |\n|--|--|\n| a | x |\n");
    assert!(none.warnings.iter().any(|w| w.to_string().contains("total")), "{:?}", none.warnings);
}

fn text(text: &str) -> Data {
    Data::String(text.to_owned())
}

#[test]
fn numbers_are_read_in_the_documents_language() {
    let german = drawn(
        "---\nlanguage: de\n---\n\n| a | b | c | d |\n|--|--|--|--|\n\
         | 1.234 | 4,125 | 1.234,50 € | 2.500 |\n| 12.345.678 | 0,5 | 12,5 % | 3.125 |\n\
         | 980 | -1,25 | 1,234.50 | 0.75 |\n",
    );
    for (at, value) in [
        ((1, 0), 1_234.0),
        ((2, 0), 12_345_678.0),
        ((3, 0), 980.0),
        ((1, 1), 4.125),
        ((2, 1), 0.5),
        ((3, 1), -1.25),
        ((1, 2), 1_234.5),
        ((2, 2), 0.125),
        ((3, 2), 1_234.5),
        // The unambiguous numbers of a column decide how the others are read.
        ((1, 3), 2.5),
        ((2, 3), 3.125),
    ] {
        assert_eq!(cell(&german, at), Data::Float(value), "{at:?}");
    }
    let english = drawn("| a | b |\n|--|--|\n| 1.234 | 4,125 |\n");
    assert_eq!(cell(&english, (1, 0)), Data::Float(1.234));
    assert_eq!(cell(&english, (1, 1)), Data::Float(4_125.0));
}

#[test]
fn a_csv_of_semicolons_may_mean_either_comma() {
    let csv = "a;b;c\n1.234;2,75;0.5\n5;2,125;1.125\n";
    let long_csv = format!("{csv}{}", "7;8;9\n".repeat(20_001));
    for rendered in [workbook(&rows::from_csv("T", csv).unwrap()), long(&long_csv)] {
        assert_eq!(cell(&rendered, (1, 0)), text("1.234"), "nobody knows");
        assert_eq!(cell(&rendered, (1, 1)), Data::Float(2.75));
        assert_eq!(cell(&rendered, (2, 1)), Data::Float(2.125));
        assert_eq!(cell(&rendered, (2, 2)), Data::Float(1.125));
    }
}

#[test]
fn rows_of_a_csv_are_read_as_people_write_them() {
    let lines = |csv: &str| {
        let rendered = workbook(&rows::from_csv("T", csv).unwrap());
        let cells = cells(&rendered);
        let rows = cells.rows().map(|row| row.iter().map(ToString::to_string).collect());
        (rows.collect::<Vec<Vec<String>>>(), rendered.warnings)
    };
    for (csv, wanted) in [
        ("\"Last, First, M\";Amount\n\"a, b\";2\n", [["Last, First, M", "Amount"], ["a, b", "2"]]),
        ("a,b\n1, \"x, y\" \n", [["a", "b"], ["1", "x, y"]]),
        ("a,b\r1,2\r", [["a", "b"], ["1", "2"]]),
        ("sep=;\na;b,c,d\n1;2\n", [["a", "b,c,d"], ["1", "2"]]),
        ("\n\na;b\n1;2\n", [["a", "b"], ["1", "2"]]),
    ] {
        assert_eq!(
            lines(csv),
            (wanted.map(|row| row.map(str::to_owned).to_vec()).to_vec(), vec![])
        );
    }
    let (rows, warnings) = lines("a,b\n1,\"two\n3,4\n5,\"\"\n");
    assert_eq!(rows.len(), 4, "{rows:?}");
    assert_eq!((rows[1][1].as_str(), rows[2][1].as_str()), ("\"two", "4"));
    assert!(warnings[0].to_string().contains("line 2"), "{warnings:?}");
}

/// Rows are data: no cell becomes a formula, and strings stay strings.
/// Proves S15.
#[test]
fn rows_are_text_whatever_they_begin_with() {
    let odd = ["=1+1", "+1+cmd", "-1+cmd", "@SUM(1)", "\t=1+1", "\r=1+1"];
    let objects: Vec<_> = odd.iter().map(|text| json!({ "a": text })).collect();
    let json = workbook(&rows::from_json("T", &json!(objects)).unwrap());
    let csv = odd.map(|text| format!("\"{text}\"\n")).concat();
    let csv = format!("a\n{csv}");
    let short = workbook(&rows::from_csv("T", &csv).unwrap());
    let streamed = long(&format!("{csv}{}", "1\n".repeat(20_001)));
    for rendered in [json, short, streamed] {
        assert!(!part(&rendered, "xl/worksheets/sheet1.xml").contains("<f>"));
        for (at, odd) in odd.iter().enumerate() {
            let Data::String(text) = cell(&rendered, (at as u32 + 1, 0)) else { panic!("{odd:?}") };
            assert_eq!(text.trim(), odd.trim());
        }
    }
    // Authors write formulas in Markdown.
    assert!(part(&drawn("| a |\n|--|\n| =1+1 |\n"), "xl/worksheets/sheet1.xml").contains("<f>"));
}

#[test]
fn json_strings_stay_text() {
    let row = json!([{ "zip": "12345", "count": 12345, "is": "true", "so": true, "day": "2026-03-31",
        "price": "$5.00", "share": "-1.5" }]);
    let rendered = workbook(&rows::from_json("T", &row).unwrap());
    let cells = cells(&rendered);
    let row: Vec<_> = cells.rows().nth(1).unwrap().to_vec();
    assert_eq!(row[..4], [text("12345"), Data::Float(12345.0), text("true"), Data::Bool(true)]);
    assert!(matches!(row[4], Data::DateTime(_)), "JSON has no other way to say a day: {row:?}");
    assert_eq!(row[5..], [Data::Float(5.0), text("-1.5")]);
}

#[test]
fn columns_stand_as_the_rows_name_them() {
    let rows: serde_json::Value = serde_json::from_str(r#"[{"zeta": 1, "alpha": 2}]"#).unwrap();
    let rendered = workbook(&rows::from_json("T", &rows).unwrap());
    assert_eq!((cell(&rendered, (0, 0)), cell(&rendered, (0, 1))), (text("zeta"), text("alpha")));
}

#[test]
fn streamed_workbooks_use_the_same_theme() {
    let mut document = Document::default();
    document.meta.header = Some("House of Rivers".to_owned());
    document.meta.date = chrono::NaiveDate::from_ymd_opt(2026, 3, 31);
    let rendered = rows::stream(&document, "a,b\n1,2\n").unwrap();
    assert!(part(&rendered, "xl/worksheets/sheet1.xml").contains("&amp;LHouse of Rivers"));
    assert!(part(&rendered, "docProps/core.xml").contains("2026-03-31T00:00:00Z"));
}

#[test]
fn pictures_in_links_are_drawn_and_titles_stand_below() {
    let mut document =
        markdown::read("[![alt](a.png)](https://x.example)\n\n![b](a.png \"Figure 3\")\n").unwrap();
    let bytes = include_bytes!("corpus/img/chart.png").to_vec();
    document.assets.insert("a.png".into(), bytes);
    let rendered = workbook(&document);
    assert_eq!(part(&rendered, "xl/drawings/drawing1.xml").matches("<xdr:pic>").count(), 2);
    assert!(part(&rendered, "xl/sharedStrings.xml").contains("Figure 3"));
}

#[test]
fn no_address_is_lost_in_a_cell_that_cannot_carry_it() {
    let rendered = drawn(
        "### See [it](https://a.example/1)\n\n[call](tel:+1234)\n\n| [h](https://a.example/2) | n |\n\
         |--|--|\n| [phone](tel:+5678) | [+99](tel:+99) |\n",
    );
    let whole = part(&rendered, "xl/sharedStrings.xml")
        + &part(&rendered, "xl/worksheets/_rels/sheet1.xml.rels");
    for address in ["https://a.example/1", "+1234", "https://a.example/2", "+5678"] {
        assert!(whole.contains(address), "{address} in {whole}");
    }
    assert!(whole.contains(">+99<"), "what says its number says it once: {whole}");
}

/// Whole columns, lookups and totals have the values that a spreadsheet computes.
#[test]
fn cached_values_are_those_of_a_spreadsheet() {
    let rendered = drawn(
        "## Prices\n\n<!-- total: sum of Price -->\n\n| Item | Price | Day |\n|---|---|---|\n\
         | a | 5 | 31.03.2026 |\n| b | 7 | 01.04.2026 |\n\n## Use\n\n| What | Value |\n|---|---|\n\
         | b | =VLOOKUP(A2,Prices!A:B,2,FALSE) |\n| total | =Prices!B4 |\n| today | =TODAY() |\n",
    );
    let mut book = book(&rendered);
    let prices = book.worksheet_range("Prices").unwrap();
    assert!(matches!(prices.get_value((1, 2)), Some(Data::DateTime(_))), "{prices:?}");
    assert_eq!(prices.get_value((3, 1)), Some(&Data::Float(12.0)));
    let values = book.worksheet_range("Use").unwrap();
    assert_eq!(values.get_value((1, 1)), Some(&Data::Float(7.0)));
    assert_eq!(values.get_value((2, 1)), Some(&Data::Float(12.0)));
    let sheet = part(&rendered, "xl/worksheets/sheet2.xml");
    assert!(sheet.contains(" t=\"str\"><f>TODAY()</f><v></v>"), "no value is shown: {sheet}");
    let formulas = book.worksheet_formula("Use").unwrap();
    assert_eq!(formulas.get_value((3, 1)).map(String::as_str), Some("TODAY()"));
}

#[test]
fn ambiguous_dates_are_reported() {
    let rendered = drawn("| Due |\n|---|\n| 03/04/2026 |\n");
    assert_eq!(cell(&rendered, (1, 0)), Data::String("03/04/2026".into()));
    assert!(
        rendered.warnings.iter().any(|w| w.to_string().contains("“Due”")),
        "{:?}",
        rendered.warnings
    );
    let rendered = drawn("| At |\n|---|\n| 2026-03-05T10:00+02:00 |\n");
    assert!(
        rendered.warnings.iter().any(|w| w.to_string().contains("“At”")),
        "{:?}",
        rendered.warnings
    );
    let streamed = long(&format!("Due\n{}", "03/04/2026\n".repeat(20_001)));
    assert!(
        streamed.warnings.iter().any(|w| w.to_string().contains("“Due”")),
        "{:?}",
        streamed.warnings
    );
}

/// Excel has 16,384 columns; pages do not.
#[test]
fn workbooks_have_all_columns_that_excel_has() {
    let line = |columns: usize, text: &str| vec![text; columns].join(",");
    let csv = format!("{}\n{}\n", line(16_384, "n"), line(16_384, "7"));
    let names = workbook(&rows::from_csv("T", &csv).unwrap());
    assert_eq!(cells(&names).get_size(), (2, 16_384));
    assert_eq!(cell(&names, (1, 16_383)), Data::Float(7.0));
    let streamed = long(&csv.repeat(8));
    assert_eq!(cells(&streamed).get_size(), (16, 16_384));
    let json = json!([vec!["n"; 300], vec![7; 300]]);
    assert_eq!(cell(&workbook(&rows::from_json("T", &json).unwrap()), (1, 299)), Data::Float(7.0));
    let table = format!("|{}\n|{}\n|{}\n", "n|".repeat(300), "-|".repeat(300), "7|".repeat(300));
    let document = markdown::read(&table).unwrap();
    assert_eq!(cell(&workbook(&document), (1, 299)), Data::Float(7.0));
    for format in [Format::Docx, Format::Pdf, Format::Pptx] {
        let refused = render(&document, format).unwrap_err().to_string();
        assert!(refused.contains("300 columns") && refused.contains("xlsx"), "{refused}");
    }
    let refused = rows::from_csv("T", &format!("{}\n", line(16_385, "n"))).unwrap_err();
    assert!(refused.to_string().contains("the limit is 16384"), "{refused}");
}
