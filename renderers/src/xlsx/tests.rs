//! Tests that read the workbook back part by part.

use std::io::{Cursor, Read};

use super::cells::CELL_CHARS;
use super::*;
use crate::markdown;

pub(super) fn render(document: &Document) -> Result<Rendered, RenderError> {
    super::render(document, &Fonts::default())
}

pub(super) fn rendered(source: &str) -> Rendered {
    render(&markdown::read(source).unwrap()).unwrap()
}

pub(super) fn part(rendered: &Rendered, name: &str) -> String {
    let mut package = zip::ZipArchive::new(Cursor::new(&rendered.bytes)).unwrap();
    let mut text = String::new();
    package.by_name(name).unwrap().read_to_string(&mut text).unwrap();
    text
}

pub(super) fn sheet(rendered: &Rendered, number: usize) -> String {
    part(rendered, &format!("xl/worksheets/sheet{number}.xml"))
}

#[test]
fn a_table_is_native_frozen_and_repeated() {
    let rendered = rendered("## S\n\n| a | a | |\n|---|---|---|\n| 1 | x | |\n");
    let table = part(&rendered, "xl/tables/table1.xml");
    assert!(table.contains("ref=\"A1:C2\"") && table.contains("<autoFilter"), "{table}");
    assert!(table.contains("name=\"a (2)\"") && table.contains("name=\"Column 3\""), "{table}");
    assert!(sheet(&rendered, 1).contains("state=\"frozen\""));
    assert!(part(&rendered, "xl/workbook.xml").contains("_xlnm.Print_Titles"));
    assert_eq!(rendered.warnings, ["The column “a” is named “a (2)”."]);
}

#[test]
fn many_columns_are_printed_on_pages_side_by_side() {
    let table = |columns: usize| {
        let row = |cell: &str| format!("{}|\n", format!("| {cell} ").repeat(columns));
        rendered(&format!("## S\n\n{}{}{}", row("Revenue"), row("---"), row("1,333,466")))
    };
    let few = table(14);
    assert!(sheet(&few, 1).contains("fitToHeight=\"0\"") && !sheet(&few, 1).contains("fitToWidth"));
    let many = table(24);
    assert!(sheet(&many, 1).contains("fitToWidth=\"2\""), "{}", sheet(&many, 1));
    let titles = part(&many, "xl/workbook.xml");
    assert!(titles.contains("S!$A:$A,S!$1:$1"), "{titles}");
}

#[test]
fn formulas_count_from_the_header_of_their_table() {
    let rendered = rendered(
        "## S\n\ntext\n\n| a | b |\n|--:|--:|\n| 2 | =A2*3 |\n| 4 | =SUM(A2:A3) |\n\n| c |\n|---|\n| =A9 |\n",
    );
    let sheet = sheet(&rendered, 1);
    assert!(sheet.contains("<f>A4*3</f><v>6</v>"), "{sheet}");
    assert!(sheet.contains("<f>SUM(A4:A5)</f><v>6</v>"), "{sheet}");
}

#[test]
fn a_formula_in_circles_stays_text() {
    let rendered = rendered("## S\n\n| a |\n|---|\n| =A3 |\n| =A2 |\n");
    assert!(!sheet(&rendered, 1).contains("<f>"));
    assert_eq!(rendered.warnings.len(), 2, "{:?}", rendered.warnings);
    assert!(rendered.warnings[0].to_string().contains("circular"));
}

#[test]
fn prose_lists_and_notes_become_rows() {
    let rendered = rendered(
        "# A\n\nIntro[^n].\n\n- one\n  - two\n- [x] three\n\n3. four\n\n> quote\n\n```\ncode\n```\n\n\
         Term\n: Meaning\n\n[^n]: The note\n",
    );
    let strings = part(&rendered, "xl/sharedStrings.xml");
    for text in ["Intro[1].", "• ", "one", "two", "☒ ", "3. ", "quote", "code", "Term", "Meaning"]
    {
        assert!(strings.contains(text), "{text} in {strings}");
    }
    assert!(strings.contains("The note") && part(&rendered, "xl/workbook.xml").contains("Notes"));
    assert_eq!(rendered.pages, 2);
}

#[test]
fn broken_pictures_are_sentences_and_good_ones_are_embedded() {
    let mut document = markdown::read("![a](a.png)\n\n![b](b.png)\n\n![c](c.svg)\n").unwrap();
    let chart = include_bytes!("../../tests/corpus/img/chart.png");
    document.assets.insert("a.png".into(), chart.to_vec());
    document.assets.insert("b.png".into(), chart[..400].to_vec());
    let svg = include_bytes!("../../tests/corpus/img/diagram.svg");
    document.assets.insert("c.svg".into(), svg.to_vec());
    let rendered = render(&document).unwrap();
    assert_eq!(rendered.warnings.len(), 1, "{:?}", rendered.warnings);
    let drawing = part(&rendered, "xl/drawings/drawing1.xml");
    assert!(drawing.contains("descr=\"a\"") && drawing.contains("descr=\"c\""), "{drawing}");
    assert!(part(&rendered, "xl/sharedStrings.xml").contains("the file is damaged"));
}

#[test]
fn content_that_does_not_fit_a_cell_is_reported() {
    let long = "z".repeat(CELL_CHARS + 1);
    let rendered = rendered(&format!(
        "## S\n\n| a |\n|---|\n| {long} |\n| $x^2$ |\n| ![p](p.png) |\n| [t](tel:+1) [u](https://u) |\n",
    ));
    let all = rendered.warnings.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
    for words in ["32,767", "LaTeX", "p.png"] {
        assert!(all.contains(words), "{words} in {all}");
    }
}

#[test]
fn the_day_of_the_document_is_the_day_of_the_file() {
    let dated = rendered("---\ntitle: T\nauthor: Ann\ndate: 2026-03-31\n---\nx\n");
    let core = part(&dated, "docProps/core.xml");
    assert!(core.contains("2026-03-31T00:00:00Z") && core.contains("Ann"), "{core}");
    assert!(part(&rendered("x\n"), "docProps/core.xml").contains("1980-01-01"));
}

#[test]
fn too_many_sheets_are_an_error() {
    let source = "# a\n\nx\n\n".repeat(SHEETS + 1);
    let error = render(&markdown::read(&source).unwrap()).unwrap_err();
    assert!(matches!(error, RenderError::TooLarge(_)), "{error}");
}

#[test]
fn formulas_reach_over_sheets_wherever_their_tables_stand() {
    let rendered = rendered(
        "## Sum\n\n| what | value |\n|---|--:|\n| all | =SUM('Data 1'!B2:B3) |\n| odd | =Nowhere!A1 |\n\n\
         ## Data 1\n\ntext first\n\n| k | v |\n|---|--:|\n| a | 2 |\n| b | 5 |\n",
    );
    let sheet = sheet(&rendered, 1);
    assert!(sheet.contains("<f>SUM('Data 1'!B4:B5)</f><v>7</v>"), "{sheet}");
    assert_eq!(sheet.matches("<f>").count(), 1);
    assert!(rendered.warnings[0].to_string().contains("no sheet with a table is named “Nowhere”"));
}

/// A sheet may have another name than its heading, which formulas know nevertheless.
#[test]
fn formulas_reference_sheets_by_their_names_in_the_document() {
    let long = "A heading that is longer than the names of sheets";
    let source = format!(
        "## Q1/Q2 plan\n\n| a |\n|---|\n| 5 |\n\n## {long}\n\n| a |\n|---|\n| 7 |\n\n## Sum\n\n| b |\n\
         |---|\n| ='Q1/Q2 plan'!A2*2 |\n| ='Q1 Q2 plan'!A2 |\n| ='{long}'!A2 |\n"
    );
    let rendered = rendered(&source);
    let sheet = sheet(&rendered, 3);
    assert!(sheet.contains("<f>'Q1 Q2 plan'!A2*2</f><v>10</v>"), "{sheet}");
    assert!(sheet.contains("<f>'Q1 Q2 plan'!A2</f><v>5</v>"), "{sheet}");
    assert!(sheet.contains("'A heading that is longer than t'!A2</f><v>7</v>"), "{sheet}");
    let is_renaming = |warning: &Warning| warning.to_string().contains("was renamed to");
    assert!(rendered.warnings.iter().all(is_renaming), "{:?}", rendered.warnings);
}

#[test]
fn comments_ask_for_totals_and_formats() {
    let rendered = rendered(
        "## S\n\n<!-- total: sum -->\n<!-- format: Net value bars -->\n<!-- format: b < 0 red -->\n\
         <!-- format: c scale -->\n<!-- total: wrong -->\n\n| a | Net value | b |\n|---|--:|--:|\n\
         | x | $2.50 | =B2*2 |\n| y | $1.00 | -4 |\n\n| d |\n|---|\n| 1 |\n",
    );
    let sheet = sheet(&rendered, 1);
    assert!(sheet.contains("<f>SUBTOTAL(109,B2:B3)</f><v>3.5</v>"), "{sheet}");
    assert!(sheet.contains("<f>SUBTOTAL(109,C2:C3)</f><v>1</v>"), "{sheet}");
    assert!(sheet.contains("dataBar") && sheet.contains("operator=\"lessThan\""), "{sheet}");
    assert!(part(&rendered, "xl/tables/table1.xml").contains("ref=\"A1:C3\""));
    assert!(part(&rendered, "xl/tables/table2.xml").contains("ref=\"A6:A7\""));
    assert_eq!(rendered.warnings.len(), 2, "{:?}", rendered.warnings);
    assert!(rendered.warnings[0].to_string().contains("“wrong” is not sum"));
    assert!(rendered.warnings[1].to_string().contains("There is no column “c”"));
}

#[test]
fn charts_are_native_and_look_at_their_cells() {
    let rendered = rendered(
        "## It's\n\ntext\n\n```chart\ntype: line\ntitle: T <1>\nk,S\na,1\nb,2\n```\n\nafter\n",
    );
    let chart = part(&rendered, "xl/charts/chart1.xml");
    assert!(chart.contains("<c:lineChart>") && chart.contains("T &lt;1&gt;"), "{chart}");
    assert!(chart.contains("<c:f>'It''s'!$B$4:$B$5</c:f>"), "{chart}");
    assert!(chart.contains("</c:spPr><c:marker><c:symbol val=\"circle\"/>"), "{chart}");
    assert!(part(&rendered, "xl/drawings/drawing1.xml").contains("Line chart “T &lt;1&gt;”"));
    assert_eq!(rendered.warnings, Vec::<&str>::new());
}

#[test]
fn small_letters_have_the_same_share_of_their_cell_as_elsewhere() {
    let rendered = rendered(
        "## S\n\n| a <small>b</small> |\n|---|\n| <small>c</small> |\n| d <small>e</small> |\n",
    );
    for name in ["xl/styles.xml", "xl/sharedStrings.xml"] {
        let text = part(&rendered, name);
        assert!(text.contains("<sz val=\"9.5\"/>"), "{text}");
    }
}

#[test]
fn results_are_shown_as_what_they_count() {
    let rendered = rendered(
        "| Item | Count | Price | Sum | Share | Note |\n|--|--|--|--|--|--|\n\
         | a | 2 | €1.50 | =B2*C2 | =B2/C2 | x |\n| b | 3 | €2.25 | =B3*C3 | =B3/C3 | y |\n",
    );
    let styles = part(&rendered, "xl/styles.xml");
    let money = styles.matches("#,##0.00").count();
    assert_eq!(money, 1, "one format for prices and sums: {styles}");
    let sheet = sheet(&rendered, 1);
    let style = |cell: &str| {
        let at = sheet.find(&format!("<c r=\"{cell}\"")).unwrap();
        sheet[at..].split('"').nth(3).unwrap().to_owned()
    };
    assert_eq!(style("C2"), style("D2"));
    assert_ne!(style("D2"), style("E2"), "a quotient is no money");
    assert_ne!(style("A1"), style("B1"), "heads stand above their numbers");
    assert!(styles.contains("indent=\"1\""), "text keeps away from numbers: {styles}");
}

#[test]
fn the_numbers_of_rows_are_no_sum_and_sums_have_room() {
    let rows: Vec<String> = (1..=2_000).map(|at| format!("| {at} | 999.99 |\n")).collect();
    let rows = rows.concat();
    let rendered = rendered(&format!("<!-- total: sum -->\n\n| No | Sum |\n|--|--|\n{rows}"));
    let sheet = sheet(&rendered, 1);
    assert!(
        sheet.contains("SUBTOTAL(109,B2:B2001)") && !sheet.contains("A2:A2001"),
        "{rendered:?}"
    );
    let at = sheet.find("<col min=\"2\"").unwrap();
    let width: f64 = sheet[at..].split('"').nth(5).unwrap().parse().unwrap();
    assert!(width > "1,999,980.00".len() as f64, "{width}");
}

#[test]
fn columns_are_as_wide_as_the_values_of_their_formulas() {
    let rows = "| Price | Count | Sum |\n|--:|--:|--:|\n| $12,400.00 | 467,400 | =A2*B2 |\n";
    let sheet = sheet(&rendered(rows), 1);
    let at = sheet.find("<col min=\"3\"").unwrap();
    let width: f64 = sheet[at..].split('"').nth(5).unwrap().parse().unwrap();
    assert!(width > "$5,795,760,000.00".len() as f64, "{width}");
}

#[test]
fn sheets_run_as_their_tables_or_their_language_do() {
    for (source, rtl) in [
        ("| الاسم | 1 |\n|---|---|\n| x | y |", true),
        ("---\nlang: he\n---\n\n| # | 1 |\n|---|---|\n| x | y |", true),
        ("| name | الاسم |\n|---|---|\n| x | y |", false),
    ] {
        let sheet = sheet(&rendered(source), 1);
        assert_eq!(sheet.contains("rightToLeft=\"1\""), rtl, "{source}");
    }
    let prose = rendered("---\nlang: he\n---\n\n# S\n\n### א\n\nא\n\nhello\n");
    let cells = sheet(&prose, 1);
    assert!(cells.contains("<mergeCells count=\"3\">"), "none is cut off: {cells}");
    assert_eq!(part(&prose, "xl/styles.xml").matches("readingOrder=\"2\"").count(), 1);
}

/// The text of a cell of the first sheet, and its number format.
fn said(rendered: &Rendered, cell: &str) -> (String, String) {
    let (sheet, styles) = (sheet(rendered, 1), part(rendered, "xl/styles.xml"));
    let between = |text: &str, from: &str, to: &str| {
        let (_, rest) = text.split_once(from)?;
        Some(rest.split_once(to)?.0.to_owned())
    };
    let cell = between(&sheet, &format!("<c r=\"{cell}\""), "</c>").unwrap();
    let style = between(&cell, " s=\"", "\"").map_or(0, |style| style.parse().unwrap());
    let formats = between(&styles, "<cellXfs", "</cellXfs>").unwrap();
    let id = between(formats.split("<xf ").nth(style + 1).unwrap(), "numFmtId=\"", "\"").unwrap();
    let own = between(&styles, &format!("numFmtId=\"{id}\" formatCode=\""), "\"/>");
    let known = match id.as_str() {
        "0" => "General",
        "1" => "0",
        "2" => "0.00",
        "9" => "0%",
        "10" => "0.00%",
        other => other,
    };
    let format = own.map_or(known.to_owned(), |own| own.replace("&quot;", "\""));
    (between(&cell, "<v>", "</v>").unwrap(), format)
}

#[test]
fn no_result_is_shown_with_fewer_decimals_than_it_has() {
    let results = rendered(
        "| a | b | c | d |\n|--|--|--|--|\n| 3 | =A2*1.5 | 7 | 15% |\n| 1 | =AVERAGE(A3:A4) | €250 | =C3*0.19 |\n\
         | 2 | =C2*D2 | 10 | =SUM(C4:C5) |\n| 4 | =A5*0.5 | 2.75 | =C3*2 |\n\
         | 9 | =D2*D2 | ¥1.459 | =C6*0.5 |\n| 1 | =AVERAGE(A3:A5,A7) | +5 | =C7*0.1 |\n\
         | 5 | =ROUND(A8/3,2) | 1.5e-9 | =C8*1.5 |\n| 6 | =SUM(A2:A900) | (€5.00) | =C9*0.001 |\n",
    );
    for (cell, value, format) in [
        ("B2", "4.5", "0.0"),
        ("B3", "1.5", "0.0"),
        ("B4", "1.05", "0.00"),
        ("B5", "2", "0.0"),
        ("B6", "0.0225", "0.00%"),
        ("B7", "2", "0"),
        ("B8", "1.67", "General"),
        ("B9", "31", "0"),
        ("D3", "47.5", "\"€\"#,##0.00"),
        ("D4", "12.75", "0.00"),
        ("D5", "500", "\"€\"#,##0"),
        ("D6", "0.7295", "\"¥\"#,##0.000"),
        ("D7", "0.5", "+0.0;-0.0;0.0"),
        ("D8", "0.00000000225", "General"),
        ("D9", "-0.005", "\"€\"#,##0.00;(\"€\"#,##0.00)"),
    ] {
        assert_eq!(said(&results, cell), (value.to_owned(), format.to_owned()), "{cell}");
    }
    let totals = |total: &str| {
        rendered(&format!(
            "<!-- total: {total} -->\n\n| n | a | b | c |\n|--|--|--|--|\n| x | 1 | 10 | €5 |\n\
             | y | 2 | 2.75 | =C3*2 |\n",
        ))
    };
    let average = totals("average");
    for (cell, value, format) in
        [("B4", "1.5", "0.0"), ("C4", "6.375", "0.000"), ("D4", "5.25", "\"€\"#,##0.00")]
    {
        assert_eq!(said(&average, cell), (value.to_owned(), format.to_owned()), "{cell}");
    }
    assert_eq!(said(&totals("sum"), "C4"), ("12.75".to_owned(), "0.00".to_owned()));
    assert_eq!(said(&totals("count"), "C4"), ("2".to_owned(), "0".to_owned()));
}

#[test]
fn columns_may_have_choices_and_notes() {
    let rendered = rendered(
        "<!-- choices: State = Open, Done -->\n\n<!-- note: Amount = In thousands -->\n\n\
         <!-- choices: Missing = a -->\n\n| State | Amount |\n|---|---|\n| Open | 1 |\n| Done | 2 |\n",
    );
    let sheet = part(&rendered, "xl/worksheets/sheet1.xml");
    assert!(sheet.contains("type=\"list\"") && sheet.contains("sqref=\"A2:A3\""), "{sheet}");
    assert!(sheet.contains("<formula1>\"Open,Done\"</formula1>"), "{sheet}");
    let notes = part(&rendered, "xl/comments1.xml");
    assert!(notes.contains("ref=\"B1\"") && notes.contains("In thousands"), "{notes}");
    assert_eq!(rendered.warnings, ["There is no column “Missing” to format."]);
}

#[test]
fn pictures_of_workbooks_stand_upright_and_are_at_most_as_high_as_a_screen() {
    use crate::package::{picture::tests::png, upright::tests::photo_on_its_side};
    let mut document = markdown::read("![a](a.jpg)\n\n![b](b.png)\n").unwrap();
    document.assets.insert("a.jpg".into(), photo_on_its_side());
    document.assets.insert("b.png".into(), png(500, 2_400));
    let drawing = part(&render(&document).unwrap(), "xl/drawings/drawing1.xml");
    let sizes: Vec<(f64, f64)> = drawing
        .split("<a:ext cx=\"")
        .skip(1)
        .map(|size| {
            let mut numbers = size.split('"');
            let pixels = |text: Option<&str>| text.unwrap().parse::<f64>().unwrap() / 9_525.0;
            (pixels(numbers.next()), pixels(numbers.nth(1)))
        })
        .collect();
    assert_eq!(sizes.len(), 2);
    assert!(sizes[0].0 < sizes[0].1, "the photo is upright: {sizes:?}");
    assert!((sizes[1].1 - 640.0).abs() < 2.0, "{sizes:?}");
}
