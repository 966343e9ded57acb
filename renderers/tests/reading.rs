//! Files as third-party programs write them.

use std::io::{Cursor, Write as _};

use renderers::{Format, markdown, read, render};
use zip::{ZipWriter, write::SimpleFileOptions};

fn package(parts: &[(&str, &str)]) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, text) in parts {
        zip.start_file(*name, SimpleFileOptions::default()).expect("there is room");
        zip.write_all(text.as_bytes()).expect("there is room");
    }
    zip.finish().expect("there is room").into_inner()
}

fn words(name: &str, bytes: &[u8]) -> String {
    read::to_markdown(name, bytes).expect("it can be read").markdown
}

/// Some pages are a single form.
/// Proves MC-26.
#[test]
fn a_page_in_a_form_is_read_without_its_fields() {
    let page = "<html><body><form id='aspnetForm'><input value='hidden'><h1>News</h1><p>Read me.</p>\
        <select><option>Choice</option></select><button>Send</button><textarea>draft</textarea>\
        </form></body></html>";
    assert_eq!(words("a.html", page.as_bytes()), "# News\n\nRead me.");
}

fn sheet(rows: &str) -> Vec<u8> {
    let content = format!(
        "<office:document-content xmlns:office='o' xmlns:text='t' xmlns:table='b'><office:body>\
         <table:table table:name='S'>{rows}</table:table></office:body></office:document-content>"
    );
    let mimetype = "application/vnd.oasis.opendocument.spreadsheet";
    package(&[("mimetype", mimetype), ("content.xml", &content)])
}

/// LibreOffice's encoding of repeated cells, repeated rows and merged cells.
/// Proves MC-26.
#[test]
fn what_opendocument_says_once_stands_as_often_as_it_is_meant() {
    let sheet = sheet(
        "<table:table-row><table:table-cell table:number-columns-spanned='3'><text:p>wide</text:p>\
         </table:table-cell><table:covered-table-cell table:number-columns-repeated='2'/>\
         <table:table-cell><text:p>d</text:p></table:table-cell></table:table-row>\
         <table:table-row table:number-rows-repeated='2'><table:table-cell \
         table:number-columns-repeated='3'><text:p>5</text:p></table:table-cell><table:table-cell>\
         <text:p>y</text:p></table:table-cell></table:table-row>\
         <table:table-row table:number-rows-repeated='1048570'><table:table-cell \
         table:number-columns-repeated='16384'/></table:table-row>",
    );
    let wanted = "## S\n\n| wide |  |  | d |\n| --- | --- | --- | --- |\n| 5 | 5 | 5 | y |\n\
         | 5 | 5 | 5 | y |";
    assert_eq!(words("a.ods", &sheet).trim_end_matches("\n|  |  |  |  |"), wanted);
}

/// A small file cannot produce an unlimited number of cells.
/// Proves S14.
#[test]
fn repeated_cells_are_bounded() {
    let long = "x".repeat(30_000);
    for (columns, rows) in [(16_384, 1), (200, 1_000_000), (1, usize::MAX)] {
        let row = format!(
            "<table:table-row table:number-rows-repeated='{rows}'><table:table-cell \
             table:number-columns-repeated='{columns}'><text:p>{long}</text:p></table:table-cell>\
             </table:table-row>"
        );
        let Err(refused) = read::to_markdown("a.ods", &sheet(&row.repeat(3))) else {
            panic!("{columns} columns and {rows} rows were read");
        };
        assert!(refused.to_string().contains("limit"), "{refused}");
    }
}

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
    assert!(read.contains("## Comments\n\nB2: Check this sum"), "{read}");
}

/// A workbook with one sheet, whose style 1 is a date with time.
fn workbook(parts: &[(&str, &str)]) -> Vec<u8> {
    let main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";
    let office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
    let rels = "http://schemas.openxmlformats.org/package/2006/relationships";
    let book = format!(
        "<workbook xmlns='{main}' xmlns:r='{office}'><sheets><sheet name='S' sheetId='1' \
         r:id='rId1'/></sheets></workbook>"
    );
    let styles = format!(
        "<styleSheet xmlns='{main}'><cellXfs><xf numFmtId='0'/><xf numFmtId='22'/></cellXfs>\
         </styleSheet>"
    );
    let links = format!(
        "<Relationships xmlns='{rels}'><Relationship Id='rId1' Type='{office}/worksheet' \
         Target='worksheets/sheet1.xml'/><Relationship Id='rId2' Type='{office}/styles' \
         Target='styles.xml'/></Relationships>"
    );
    let types = "<Types xmlns='http://schemas.openxmlformats.org/package/2006/content-types'/>";
    let root = format!(
        "<Relationships xmlns='{rels}'><Relationship Id='rId1' Type='{office}/officeDocument' \
         Target='xl/workbook.xml'/></Relationships>"
    );
    let mut all = vec![
        ("[Content_Types].xml", types),
        ("_rels/.rels", root.as_str()),
        ("xl/workbook.xml", book.as_str()),
        ("xl/styles.xml", styles.as_str()),
        ("xl/_rels/workbook.xml.rels", links.as_str()),
    ];
    all.extend_from_slice(parts);
    package(&all)
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

/// Text of SmartArt diagrams, and comments.
/// Proves MC-26.
#[test]
fn diagrams_and_comments_of_slides_and_texts_are_read() {
    let diagram = "<dgm:dataModel xmlns:dgm='d' xmlns:a='a'><dgm:ptLst><dgm:pt><dgm:t><a:p><a:r>\
        <a:t>Plan</a:t></a:r></a:p></dgm:t></dgm:pt><dgm:pt type='pres'/><dgm:pt><dgm:t><a:p><a:r>\
        <a:t>Do</a:t></a:r></a:p></dgm:t></dgm:pt></dgm:ptLst></dgm:dataModel>";
    let old = "<p:cmLst xmlns:p='p'><p:cm authorId='0'><p:text>Too long</p:text></p:cm></p:cmLst>";
    let new = "<p188:cmLst xmlns:p188='n' xmlns:a='a'><p188:cm><p188:replyLst><p188:reply><p188:txBody>\
        <a:p><a:r><a:t>Will do</a:t></a:r></a:p></p188:txBody></p188:reply></p188:replyLst>\
        <p188:txBody><a:p><a:r><a:t>Shorter</a:t></a:r></a:p></p188:txBody></p188:cm></p188:cmLst>";
    for (format, name, folder) in
        [(Format::Pptx, "a.pptx", "ppt"), (Format::Docx, "a.docx", "word")]
    {
        let whole = render(&markdown::read("# T\n\nx\n").unwrap(), format).unwrap().bytes;
        let mut zip = ZipWriter::new_append(Cursor::new(whole)).unwrap();
        let diagram = (format!("{folder}/diagrams/data1.xml"), diagram);
        let old = ("ppt/comments/comment1.xml".to_owned(), old);
        let new = ("ppt/comments/modernComment_100_0.xml".to_owned(), new);
        for (part, text) in [diagram, old, new] {
            zip.start_file(part, SimpleFileOptions::default()).unwrap();
            zip.write_all(text.as_bytes()).unwrap();
        }
        let read = words(name, &zip.finish().unwrap().into_inner());
        assert!(read.contains("- Plan\n- Do"), "{read}");
        let has_comments = read.contains("## Comments\n\nToo long\n\nShorter\n\nWill do");
        assert_eq!(has_comments, format == Format::Pptx, "{read}");
    }
}
