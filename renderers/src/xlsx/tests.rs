//! Tests that read the workbook back part by part.

use std::io::{Cursor, Read};

use super::cells::CELL_CHARS;
use super::*;
use crate::document::Brand;
use crate::markdown;

fn render(document: &Document) -> Result<Rendered, RenderError> {
    super::render(document, &Fonts::default())
}

fn rendered(source: &str) -> Rendered {
    render(&markdown::read(source).unwrap()).unwrap()
}

fn part(rendered: &Rendered, name: &str) -> String {
    let mut package = zip::ZipArchive::new(Cursor::new(&rendered.bytes)).unwrap();
    let mut text = String::new();
    package.by_name(name).unwrap().read_to_string(&mut text).unwrap();
    text
}

fn sheet(rendered: &Rendered, number: usize) -> String {
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

/// The run with this text among the strings of the workbook: its formats and its text.
fn run(rendered: &Rendered, text: &str) -> String {
    let strings = part(rendered, "xl/sharedStrings.xml");
    let run = strings.split("<r>").find(|run| run.contains(&format!(">{text}</t></r>")));
    run.unwrap_or_else(|| panic!("no run “{text}”: {strings}")).to_owned()
}

#[test]
fn headings_keep_the_formats_of_their_parts() {
    let rendered = rendered(
        "## S\n\n### Plain **bold** *slanted* ~~gone~~ `code` H<sub>2</sub>O <u>line</u> ==mark== \
         <small>less</small> [there](https://a.example/1)\n\n### *All*\n",
    );
    for (text, formats) in [
        ("Plain bold ", "<b/><sz val=\"13\"/><color rgb=\"FF1F4E79\"/>"),
        ("slanted", "<b/><i/><sz val=\"13\"/>"),
        ("gone", "<b/><strike/><sz val=\"13\"/>"),
        ("code", "<rFont val=\"Consolas\"/>"),
        ("2", "<vertAlign val=\"subscript\"/><sz val=\"13\"/>"),
        ("line", "<b/><u/><sz val=\"13\"/>"),
        ("mark", "<color rgb=\"FF9A6700\"/>"),
        ("less", "<b/><sz val=\"11\"/>"),
        ("there", "<b/><u/><sz val=\"13\"/><color rgb=\"FF0563C1\"/>"),
    ] {
        let run = run(&rendered, text);
        assert!(run.contains(formats), "{text}: {run}");
    }
    // A heading with a single format is a plain string in a cell with this format.
    assert!(part(&rendered, "xl/sharedStrings.xml").contains("<si><t>All</t></si>"));
    let styles = part(&rendered, "xl/styles.xml");
    assert!(styles.contains("<font><b/><i/><sz val=\"13\"/>"), "{styles}");
    let links = part(&rendered, "xl/worksheets/_rels/sheet1.xml.rels");
    assert!(links.contains("https://a.example/1"), "{links}");
}

#[test]
fn headers_of_tables_keep_the_formats_of_their_parts() {
    let rendered = rendered(
        "| Plain | *All* | In *part* | CO<sub>2</sub> | See [it](https://a.example/1) | ==New== b |\n\
         |---|---|---|---|---|---|\n| 1 | 2 | 3 | 4 | 5 | 6 |\n",
    );
    let white = "<sz val=\"11\"/><color rgb=\"FFFFFFFF\"/>";
    for (text, formats) in [
        ("In ", format!("<b/>{white}")),
        ("part", format!("<b/><i/>{white}")),
        ("2", format!("<b/><vertAlign val=\"subscript\"/>{white}")),
        ("it", format!("<b/><u/>{white}")),
        ("New", "<b/><sz val=\"11\"/><color rgb=\"FFFFEB9C\"/>".to_owned()),
    ] {
        let run = run(&rendered, text);
        assert!(run.contains(&formats), "{text}: {run}");
    }
    let strings = part(&rendered, "xl/sharedStrings.xml");
    for text in ["Plain", "All"] {
        assert!(strings.contains(&format!("<si><t>{text}</t></si>")), "{text}: {strings}");
    }
    let styles = part(&rendered, "xl/styles.xml");
    assert!(styles.contains(&format!("<font><b/><i/>{white}")), "{styles}");
    // Excel compares the names of the columns with the cells.
    let table = part(&rendered, "xl/tables/table1.xml");
    for name in ["Plain", "All", "In part", "CO2", "See it", "New b"] {
        assert!(table.contains(&format!(" name=\"{name}\"/>")), "{name}: {table}");
    }
    let links = part(&rendered, "xl/worksheets/_rels/sheet1.xml.rels");
    assert!(links.contains("https://a.example/1"), "{links}");
    assert_eq!(rendered.warnings, Vec::<&str>::new());
}

/// A column may have another name than its cell in the source.
#[test]
fn formatted_headers_have_the_names_of_their_columns() {
    let (long, more) = ("x".repeat(200), "y".repeat(100));
    let cut = format!("{long}{}", &more[..55]);
    let rendered = rendered(&format!(
        "| *a* b | *a* b | {long}*{more}* | *c* | *c* |\n|---|---|---|---|---|\n| 1 | 2 | 3 | 4 | 5 |\n"
    ));
    let table = part(&rendered, "xl/tables/table1.xml");
    for name in ["a b (2)", cut.as_str(), "c (2)"] {
        assert!(table.contains(&format!(" name=\"{name}\"/>")), "{name}: {table}");
    }
    for (text, is_slanted) in [(" b (2)", false), (&more[..55], true), ("c", true), (" (2)", false)]
    {
        let run = run(&rendered, text);
        assert_eq!(run.contains("<i/>"), is_slanted, "{text}: {run}");
    }
}

#[test]
fn bold_parts_of_bold_text_make_no_difference() {
    let source = "## S\n\n### A **b** c\n\n| **Name** | Net **sum** |\n|---|---|\n| x | 1 |\n\n| **d** |\n|---|\n";
    let parts = |source: &str| {
        let rendered = rendered(source);
        ["xl/sharedStrings.xml", "xl/styles.xml", "xl/worksheets/sheet1.xml"]
            .map(|name| part(&rendered, name))
    };
    assert_eq!(parts(source), parts(&source.replace("**", "")));
}

/// Headers of several rows are no native ones.
#[test]
fn all_rows_of_a_header_keep_their_formats_and_addresses() {
    let rendered = rendered(
        "<table><thead><tr><th>Region</th><th colspan=2>In <em>two</em> years</th></tr>\
         <tr><td>Name</td><td><em>Plan</em> A</td><td><a href=\"tel:+4930\">Call</a> us</td></tr>\
         </thead><tbody><tr><td>North</td><td>10</td><td>11</td></tr></tbody></table>\n",
    );
    for (text, formats) in [
        ("two", "<b/><i/><sz val=\"11\"/><color rgb=\"FFFFFFFF\"/>"),
        ("Plan", "<b/><i/>"),
        ("Call", "<b/><u/>"),
        (" us (+4930)", "<b/><sz val=\"11\"/>"),
    ] {
        let run = run(&rendered, text);
        assert!(run.contains(formats), "{text}: {run}");
    }
}

#[test]
fn a_cell_with_a_link_keeps_its_formats() {
    let rendered = rendered(
        "| a | b |\n|---|---|\n| **Ask** [us](https://a.example/1) | *or* [call](tel:+4930) |\n",
    );
    for (text, formats) in
        [("Ask", "<b/>"), ("us", "<u/>"), ("or", "<i/>"), (" (+4930)", "<sz val=\"11\"/>")]
    {
        let run = run(&rendered, text);
        assert!(run.contains(formats), "{text}: {run}");
    }
    let links = part(&rendered, "xl/worksheets/_rels/sheet1.xml.rels");
    assert!(links.contains("https://a.example/1"), "{links}");
}

#[test]
fn a_heading_that_does_not_fit_a_cell_is_cut() {
    let rendered = rendered(&format!("## S\n\n### {}\n", "z".repeat(CELL_CHARS + 1)));
    assert_eq!(rendered.warnings, ["A cell can have 32,767 characters; a longer text was cut."]);
}

/// Only the code has a font of its own.
#[test]
fn all_cells_have_the_fonts_of_a_template() {
    let source = "## S\n\n### Head *line*\n\nText *part* `code`\n\n<!-- total: sum -->\n\n\
                  | A *b* | N |\n|---|---|\n| x *y* | 1.50 |\n| **z** | =B2*2 |\n";
    let mut document = markdown::read(source).unwrap();
    let (body, headings) = (Some("Verdana".to_owned()), Some("Georgia".to_owned()));
    document.meta.brand = Some(Box::new(Brand { headings, body, ..Brand::default() }));
    let branded = render(&document).unwrap();
    let rows = stream(&document, "a,b\n1.50,x\n").unwrap();
    let styles = [&branded, &rows].map(|rendered| part(rendered, "xl/styles.xml"));
    for text in [&styles[0], &styles[1], &part(&branded, "xl/sharedStrings.xml")] {
        assert!(text.contains("Verdana") && !text.contains("Calibri"), "{text}");
    }
    for (text, font) in [("line", "Georgia"), ("part", "Verdana"), ("code", "Consolas")] {
        let run = run(&branded, text);
        assert!(run.contains(&format!("<rFont val=\"{font}\"/>")), "{text}: {run}");
    }
}

#[test]
fn text_that_looks_like_an_escape_is_shown_as_it_is() {
    let rendered = rendered("| \\_x0041\\_ | b |\n|---|---|\n| `a_x0042_` *c* | \\_x0043\\_ |\n");
    assert!(run(&rendered, "a_x005F_x0042_").contains("Consolas"));
    let table = part(&rendered, "xl/tables/table1.xml");
    assert!(table.contains(" name=\"_x005F_x0041_\"/>"), "{table}");
    let read = crate::read::to_markdown("a.xlsx", &rendered.bytes).unwrap().markdown;
    for text in ["x0041", "a_x0042", "x0043"] {
        assert!(read.contains(text), "{text}: {read}");
    }
}

/// rust_xlsxwriter limits the length of a text together with its formats.
#[test]
fn a_text_with_too_many_formats_is_shown_without_them() {
    let rendered = rendered(&format!("## S\n\n{}\n", "a `b` ".repeat(400)));
    let strings = part(&rendered, "xl/sharedStrings.xml");
    assert!(strings.contains(&"a b ".repeat(399)), "{strings}");
    assert_eq!(rendered.warnings, ["A cell has too many formats and is shown without them."]);
}

/// rust_xlsxwriter would take these texts for the markup of runs.
#[test]
fn texts_between_tags_of_runs_are_texts() {
    let document = markdown::read(
        "## S\n\n### \\<r>head\\</r>\n\n| \\<r>name\\</r> | b |\n|---|---|\n| `<r>cell & x</r>` | 2 |\n\n\
         ```chart\ntype: bar\n\nk,S\n<r>bar</r>,1\nother,2\n```\n",
    );
    let strings = part(&render(&document.unwrap()).unwrap(), "xl/sharedStrings.xml");
    for text in ["head", "name", "cell &amp; x", "bar"] {
        let item = format!("<si><r><t>&lt;r&gt;{text}&lt;/r&gt;</t></r></si>");
        assert!(strings.contains(&item), "{text}: {strings}");
    }
    let rows = stream(&Document::default(), "<r>name</r>\n1\n").unwrap();
    assert!(part(&rows, "xl/sharedStrings.xml").contains("<t>&lt;r&gt;name&lt;/r&gt;</t>"));
    let long = format!("## S\n\n### \\<r>{}\\</r>\n", "z".repeat(CELL_CHARS - 7));
    let cut = rendered(&long);
    assert_eq!(cut.warnings, ["A cell can have 32,767 characters; a longer text was cut."]);
    assert!(part(&cut, "xl/sharedStrings.xml").contains("z&lt;/r</t>"));
}

#[test]
fn long_names_of_streamed_columns_and_charts_are_cut() {
    let long = "z".repeat(CELL_CHARS + 1);
    let rows = stream(&Document::default(), &format!("{long}\n1\n")).unwrap();
    let chart = rendered(&format!("## S\n\n```chart\ntype: bar\n\nk,S\n{long},1\nb,2\n```\n"));
    for warnings in [rows.warnings, chart.warnings] {
        assert_eq!(warnings, ["A cell can have 32,767 characters; a longer text was cut."]);
    }
}

#[test]
fn a_long_printed_header_is_cut() {
    let (header, footer) = ("h".repeat(300), "&".repeat(200));
    let mut document =
        markdown::read(&format!("---\nheader: {header}\nfooter: \"{footer}\"\n---\nx\n")).unwrap();
    let warning =
        "A printed header or footer can have 255 characters; a longer one was cut. (2 times)";
    let rendered = render(&document).unwrap();
    let cells = sheet(&rendered, 1);
    assert!(cells.contains(&format!("<oddHeader>&amp;L{}</oddHeader>", &header[..253])), "{cells}");
    let footer = "&amp;".repeat(244);
    assert!(cells.contains(&format!("&amp;L{footer}&amp;R&amp;P / &amp;N")), "{cells}");
    assert_eq!(rendered.warnings, [warning]);
    document.logo = Some(include_bytes!("../../tests/corpus/img/chart.png").to_vec());
    assert!(sheet(&render(&document).unwrap(), 1).contains("h&amp;R&amp;G</oddHeader>"));
}

#[test]
fn a_printed_header_with_a_logo_may_have_an_ampersand() {
    let mut document = markdown::read("---\nheader: Smith, H&R &\n---\nx\n").unwrap();
    document.logo = Some(include_bytes!("../../tests/corpus/img/chart.png").to_vec());
    let cells = sheet(&render(&document).unwrap(), 1);
    let header = "&amp;LSmith, H&amp;&amp;&amp;\"-,Regular\"R &amp;&amp;&amp;R&amp;G</oddHeader>";
    assert!(cells.contains(header), "{cells}");
}

#[test]
fn a_column_may_have_several_notes() {
    let rendered = rendered(
        "<!-- note: a = One -->\n<!-- note: A = Two -->\n<!-- note: b = Three -->\n\n\
         | a | b |\n|---|---|\n| 1 | 2 |\n",
    );
    let notes = part(&rendered, "xl/comments1.xml");
    assert_eq!(notes.matches("<comment ").count(), 2, "{notes}");
    assert!(notes.contains("One\nTwo") && notes.contains("Three"), "{notes}");
    assert_eq!(rendered.warnings, Vec::<&str>::new());
}

#[test]
fn pictures_in_all_rows_of_a_header_are_reported() {
    let rendered = rendered(
        "<table><thead><tr><th>A <img src=\"a.png\"></th><th>B</th></tr>\
         <tr><td>C <img src=\"c.png\"></td><td>D</td></tr></thead>\
         <tbody><tr><td>1</td><td>2</td></tr></tbody></table>\n",
    );
    let missing: Vec<_> = rendered.warnings.iter().map(Warning::missing_picture).collect();
    assert_eq!(missing, [Some("a.png"), Some("c.png")], "{:?}", rendered.warnings);
}

#[test]
fn titles_of_charts_are_no_references() {
    for title in ["=Revenue [m]", "=(a)", "=S!$A$1", "Is it?!A1", "x!B5:B1", "x!ABCDEFGHIJKLMN1"] {
        let rendered = rendered(&format!(
            "## S\n\n```chart\ntype: bar\ntitle: {title}\nx: {title}\ny: {title}\n\nk,S\na,1\nb,2\n```\n"
        ));
        let chart = part(&rendered, "xl/charts/chart1.xml");
        assert_eq!(chart.matches(&format!("<a:t> {title} </a:t>")).count(), 3, "{chart}");
    }
}

#[test]
fn long_descriptions_of_pictures_are_cut() {
    for (letter, kept) in [("x", 254), ("😀", 127)] {
        let mut document = markdown::read(&format!("![{}](a.png)\n", letter.repeat(256))).unwrap();
        let chart = include_bytes!("../../tests/corpus/img/chart.png");
        document.assets.insert("a.png".into(), chart.to_vec());
        let drawing = part(&render(&document).unwrap(), "xl/drawings/drawing1.xml");
        assert!(drawing.contains(&format!("descr=\"{}…\"", letter.repeat(kept))), "{drawing}");
    }
}

#[test]
fn names_of_columns_are_at_most_as_long_as_excel_allows() {
    let (plain, wide) = ("x".repeat(300), "😀".repeat(200));
    let rendered =
        rendered(&format!("| {plain} | {plain} | {wide} |\n|---|---|---|\n| 1 | 2 | 3 |\n"));
    let table = part(&rendered, "xl/tables/table1.xml");
    let (second, wide) = (format!("{} (2)", &plain[..251]), "😀".repeat(127));
    for name in [&plain[..255], second.as_str(), wide.as_str()] {
        assert!(table.contains(&format!(" name=\"{name}\"/>")), "{name}: {table}");
    }
}
