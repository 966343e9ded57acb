//! Excel workbooks.

use renderers::{Format, markdown, read, render};

use super::{package, words, workbook};

/// Cell comments.
/// Proves MC-26.
#[test]
fn comments_of_sheets_are_read() {
    let comments = "<comments xmlns='m'><authors><author>Ann</author></authors><commentList>\
        <comment ref='B2' authorId='0'><text><r><t>Check</t></r><r><t> this sum</t></r></text>\
        </comment></commentList></comments>";
    let sheet = "<worksheet xmlns='http://schemas.openxmlformats.org/spreadsheetml/2006/main'>\
        <sheetData><row r='1'><c r='A1'><v>1</v></c></row></sheetData></worksheet>";
    let book = workbook(&[("xl/worksheets/sheet1.xml", sheet), ("xl/comments1.xml", comments)]);
    let read = words("a.xlsx", &book);
    assert!(read.contains("## Comments\n\nAnn: Check this sum"), "no sheet refers to it: {read}");
    let threads = "<ThreadedComments><threadedComment ref='A1' personId='{P}'><text>Why?</text>\
        </threadedComment></ThreadedComments>";
    let people = "<personList><person displayName='Ben' id='{P}'/></personList>";
    let links = "<Relationships><Relationship Id='r1' Target='../comments1.xml'/>\
        <Relationship Id='r2' Target='../threadedComments/threadedComment1.xml'/></Relationships>";
    let book = workbook(&[
        ("xl/worksheets/sheet1.xml", sheet),
        ("xl/worksheets/_rels/sheet1.xml.rels", links),
        ("xl/comments1.xml", comments),
        ("xl/threadedComments/threadedComment1.xml", threads),
        ("xl/persons/person.xml", people),
    ]);
    let read = words("a.xlsx", &book);
    let wanted = "## Comments\n\nS!B2: Ann: Check this sum\n\nS!A1: Ben: Why?";
    assert!(read.ends_with(wanted), "{read}");
}

/// A file cannot repeat a long text in an unlimited number of places.
#[test]
fn texts_of_many_cells_and_comments_are_bounded() {
    let long = "x".repeat(1 << 20);
    let comment = "<comment ref='A1' authorId='0'><text><t>note</t></text></comment>";
    let comments = format!(
        "<comments><authors><author>{long}</author></authors><commentList>{}</commentList></comments>",
        comment.repeat(20)
    );
    let cell = |row: u32| format!("<row><c r='A{row}' t='s'><v>0</v></c></row>");
    let cells = (1..=20).map(cell).collect::<Vec<_>>().concat();
    let sheet = format!("<worksheet><sheetData>{cells}</sheetData></worksheet>");
    let strings = format!("<sst><si><t>{long}</t></si></sst>");
    let book =
        workbook(&[("xl/worksheets/sheet1.xml", &sheet), ("xl/sharedStrings.xml", &strings)]);
    let read = read::to_markdown("a.xlsx", &book).unwrap();
    let is_cut = |warning: &String| warning.contains("20 rows") && warning.contains("first 8 rows");
    assert!(read.warnings.iter().any(is_cut), "{:?}", read.warnings);
    let sheet =
        "<worksheet><sheetData><row r='1'><c r='A1'><v>1</v></c></row></sheetData></worksheet>";
    let book = workbook(&[("xl/worksheets/sheet1.xml", sheet), ("xl/comments1.xml", &comments)]);
    let read = words("a.xlsx", &book);
    assert!(read.ends_with(&format!("\n\n{}: note", "x".repeat(200))), "{}", read.len());
}

/// Notes on a sheet are often in shapes.
#[test]
fn texts_of_shapes_over_sheets_are_read() {
    let shape = |text: &str| {
        format!(
            "<xdr:sp><xdr:txBody><a:p><a:r><a:t>{text}</a:t></a:r><a:r><a:t> this</a:t></a:r></a:p>\
             <a:p><a:r><a:t># all</a:t></a:r></a:p></xdr:txBody></xdr:sp>"
        )
    };
    let drawing = format!(
        "<xdr:wsDr xmlns:xdr='x' xmlns:a='a'>{}<xdr:sp><xdr:txBody><a:p/></xdr:txBody></xdr:sp>{}</xdr:wsDr>",
        shape("Read"),
        shape("Check")
    );
    let sheet =
        "<worksheet><sheetData><row r='1'><c r='A1'><v>1</v></c></row></sheetData></worksheet>";
    let book =
        workbook(&[("xl/worksheets/sheet1.xml", sheet), ("xl/drawings/drawing1.xml", &drawing)]);
    let wanted =
        "## S\n\n| 1 |\n| --- |\n\n## Text boxes\n\nRead this\n\\# all\n\nCheck this\n\\# all";
    assert_eq!(words("a.xlsx", &book), wanted);
}

/// Without `hidden`, as other programs than Excel may write them.
#[test]
fn rows_and_columns_without_a_size_are_hidden() {
    let cells = |row: u8| format!("<c r='A{row}'><v>1</v></c><c r='B{row}'><v>2</v></c>");
    let sheet = format!(
        "<worksheet><cols><col min='1' max='1' width='8.5'/><col min='2' max='2' width='0'/></cols>\
         <sheetData><row r='1' ht='15'>{}</row><row r='2' ht='0.0'>{}</row></sheetData></worksheet>",
        cells(1),
        cells(2)
    );
    let read = words("a.xlsx", &workbook(&[("xl/worksheets/sheet1.xml", &sheet)]));
    assert!(read.ends_with("Hidden rows: 2.\n\nHidden columns: B."), "{read}");
}

/// A time without a date.
/// Proves MC-26.
#[test]
fn a_time_of_day_is_read_as_one() {
    let sheet = "<worksheet xmlns='http://schemas.openxmlformats.org/spreadsheetml/2006/main'>\
        <sheetData><row r='1'><c r='A1' s='1'><v>0.5</v></c><c r='B1' s='1'><v>46112.5</v></c>\
        <c r='C1' s='1'><v>46112</v></c></row></sheetData></worksheet>";
    let read = words("a.xlsx", &workbook(&[("xl/worksheets/sheet1.xml", sheet)]));
    assert!(read.contains("| 12:00:00 | 2026-03-31 12:00:00 | 2026-03-31 |"), "{read}");
}

/// Times that have elapsed may be longer than a day, and negative. The names of colours and days in
/// other words are no part of a date.
#[test]
fn elapsed_times_are_read_with_all_of_their_hours() {
    let styles = "<styleSheet><numFmts><numFmt numFmtId='170' formatCode='[mm]:ss'/>\
        <numFmt numFmtId='171' formatCode='[h]:mm'/><numFmt numFmtId='172' formatCode='[Red]hh:mm'/>\
        </numFmts><cellXfs><xf numFmtId='170'/><xf numFmtId='171'/><xf numFmtId='172'/></cellXfs>\
        </styleSheet>";
    let sheet = "<worksheet><sheetData><row r='1'><c r='A1' s='0'><v>1.5</v></c>\
        <c r='B1' s='1'><v>-0.01041666667</v></c><c r='C1' s='1'><v>0.9999999</v></c>\
        <c r='D1' s='2'><v>46112.5</v></c></row></sheetData></worksheet>";
    let book = workbook(&[("xl/worksheets/sheet1.xml", sheet), ("xl/styles.xml", styles)]);
    let read = words("a.xlsx", &book);
    assert!(read.contains("| 36:00:00 | -0:15:00 | 24:00:00 | 12:00:00 |"), "{read}");
}

/// The cells as a spreadsheet shows them: number formats, links, hidden parts, and formulas that
/// were never calculated, as scripts write them.
#[test]
fn sheets_are_read_as_they_are_displayed() {
    let main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";
    let office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
    let rels = "http://schemas.openxmlformats.org/package/2006/relationships";
    let book = format!(
        "<workbook xmlns='{main}' xmlns:r='{office}'><sheets><sheet name='A' r:id='rId1'/>\
         <sheet name='B' state='hidden' r:id='rId2'/></sheets></workbook>"
    );
    let styles = format!(
        "<styleSheet xmlns='{main}'><numFmts><numFmt numFmtId='170' formatCode='#,##0.00\\ \
         &quot;€&quot;'/></numFmts><cellXfs><xf numFmtId='0'/><xf numFmtId='9'/>\
         <xf numFmtId='170'/></cellXfs></styleSheet>"
    );
    let first = format!(
        "<worksheet xmlns='{main}' xmlns:r='{office}'><cols><col min='3' max='3' hidden='1'/></cols>\
         <sheetData><row r='1'><c r='A1' s='1'><v>0.1</v></c><c r='B1' s='2'><v>1234.5</v></c>\
         <c r='C1' t='inlineStr'><is><t>x</t></is></c></row><row r='2' hidden='1'>\
         <c r='A2'><f>SUM(A1:A1)</f></c><c r='B2' t='str'><f>B1</f><v>word</v></c></row></sheetData>\
         <hyperlinks><hyperlink ref='C1' r:id='rId1'/></hyperlinks></worksheet>"
    );
    let target = |id: usize, kind: &str, target: &str| {
        format!("<Relationship Id='rId{id}' Type='{office}/{kind}' Target='{target}'/>")
    };
    let sheets = target(1, "worksheet", "worksheets/sheet1.xml")
        + &target(2, "worksheet", "worksheets/sheet2.xml")
        + &target(3, "styles", "styles.xml");
    let links = format!("<Relationships xmlns='{rels}'>{sheets}</Relationships>");
    let url = target(1, "hyperlink", "https://example.org/");
    let urls = format!("<Relationships xmlns='{rels}'>{url}</Relationships>");
    let second = format!("<worksheet xmlns='{main}'><sheetData/></worksheet>");
    let book = package(&[
        ("xl/workbook.xml", &book),
        ("xl/_rels/workbook.xml.rels", &links),
        ("xl/styles.xml", &styles),
        ("xl/worksheets/sheet1.xml", &first),
        ("xl/worksheets/_rels/sheet1.xml.rels", &urls),
        ("xl/worksheets/sheet2.xml", &second),
    ]);
    let read = read::to_markdown("a.xlsx", &book).unwrap();
    let wanted = "## A\n\n| 10% | 1,234.50 € | [x](https://example.org/) |\n| --- | --- | --- |\n\
                  | =SUM(A1:A1) | word |  |\n\nHidden rows: 2.\n\nHidden columns: C.\n\n## B (hidden)";
    assert_eq!(read.markdown, wanted);
    assert!(read.warnings.iter().any(|w| w.contains("no calculated value")), "{:?}", read.warnings);
}

/// A formula may have an empty text as its result. One that asks for the time has none in the workbooks
/// that are made here.
#[test]
fn formulas_with_an_empty_result_are_empty_cells() {
    let sheet = "<worksheet><sheetData><row r='1'><c r='A1' t='str'><f>IF(B2=\"\",\"\",1)</f><v></v></c>\
        <c r='B1' t='str'><f>TODAY()+1</f><v/></c><c r='C1' t='str'><f>A2&amp;B2</f></c>\
        <c r='D1'><f>B2*2</f><v></v></c></row></sheetData></worksheet>";
    let book = workbook(&[("xl/worksheets/sheet1.xml", sheet)]);
    let read = read::to_markdown("a.xlsx", &book).unwrap();
    assert!(
        read.markdown.ends_with("\n\n| =TODAY()+1 | =A2&B2 | =B2*2 |\n| --- | --- | --- |"),
        "{}",
        read.markdown
    );
    assert!(read.warnings.iter().any(|w| w.starts_with("3 formulas")), "{:?}", read.warnings);
    let source = "| a | b |\n|---|---|\n| =IF(1=1,\"\",5) | =TODAY() |\n";
    let book = render(&markdown::read(source).unwrap(), Format::Xlsx).unwrap();
    let read = read::to_markdown("a.xlsx", &book.bytes).unwrap();
    assert!(read.markdown.contains("|  | =TODAY() |"), "{}", read.markdown);
}

/// Formats for texts, fractions and escaped characters.
#[test]
fn texts_and_fractions_are_read_as_they_are_displayed() {
    let styles = "<styleSheet><numFmts><numFmt numFmtId='170' formatCode='&quot;Mr. &quot;@'/>\
        <numFmt numFmtId='171' formatCode='[&gt;=60]&quot;pass&quot;;&quot;fail&quot;'/></numFmts>\
        <cellXfs><xf numFmtId='170'/><xf numFmtId='12'/><xf numFmtId='171'/><xf numFmtId='38'/>\
        </cellXfs></styleSheet>";
    let sheet = "<worksheet><sheetData><row r='1'><c r='A1' s='0' t='str'><v>Lee</v></c>\
        <c r='B1' s='1'><v>2.5</v></c><c r='C1' s='2'><v>40</v></c><c r='D1' s='3'><v>-5</v></c>\
        <c r='E1' t='inlineStr'><is><t>a_x0041_</t></is></c><c r='F1' t='inlineStr'><is><r><t>10</t></r>\
        <r><rPr><vertAlign val='superscript'/></rPr><t>6</t></r><r><t> m</t></r><rPh><t>x</t></rPh></is></c>\
        </row></sheetData></worksheet>";
    let book = workbook(&[("xl/worksheets/sheet1.xml", sheet), ("xl/styles.xml", styles)]);
    let read = words("a.xlsx", &book);
    assert!(
        read.contains("| Mr. Lee | 2 1/2 | fail | (5) | Mr. aA | Mr. 10<sup>6</sup> m |"),
        "{read}"
    );
}

/// The rows of a merged cell are marked, also those without other values.
#[test]
fn merged_cells_over_empty_rows_are_marked() {
    let sheet = "<worksheet><sheetData><row r='1'><c r='A1' t='str'><v>x</v></c></row></sheetData>\
        <mergeCells><mergeCell ref='A1:B2'/></mergeCells></worksheet>";
    let read = words("a.xlsx", &workbook(&[("xl/worksheets/sheet1.xml", sheet)]));
    assert!(read.contains("| x | ← |\n| --- | --- |\n| ↑ | ↑ |"), "{read}");
}

/// A workbook over the limit is read up to it, and the rest is described.
#[test]
fn the_first_rows_of_a_large_workbook_are_read() {
    let csv = format!("a,b\n{}", "1,word\n".repeat(150_000));
    let rendered = renderers::rows::stream(&renderers::Document::default(), &csv).unwrap();
    let read = read::to_markdown("a.xlsx", &rendered.bytes).unwrap();
    assert!(read.markdown.lines().count() > 90_000, "{}", read.markdown.len());
    let sizes = read.warnings.iter().any(|w| w.contains("150001 rows and 2 columns"));
    assert!(sizes, "{:?}", read.warnings);
}
