//! Other people's files from outside, as their programs write them.

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

/// MC-26: many a page is one form from its first word to its last.
#[test]
fn mc_26_a_page_in_a_form_is_read_without_its_fields() {
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

/// MC-26: as LibreOffice writes equal neighbours, equal rows and merged cells.
#[test]
fn mc_26_what_opendocument_says_once_stands_as_often_as_it_is_meant() {
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

/// S14: a few bytes cannot ask for any number of cells.
#[test]
fn s14_repeated_cells_are_bounded() {
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
