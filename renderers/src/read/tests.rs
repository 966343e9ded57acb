//! Round-trip tests with the renderers' own files, and robustness tests with arbitrary bytes.

use proptest::prelude::*;
use std::io::{Cursor, Write as _};
use zip::{ZipWriter, write::SimpleFileOptions};

use super::*;
use crate::{Format, markdown, render};

const SOURCE: &str = "\
# Quarterly figures

The **gross** margin grew *slowly*, see [the page](https://example.org/margins) and Größe.

## What was done

- First entry
  - Inner entry
- Second entry

1. Counted one
2. Counted two

| Region | Amount | Remark |
| --- | ---: | --- |
| North | 1250 | fine |
| South | 980 | a pipe \\| inside |

> Quoted wisdom.

A footnote stands here.[^1]

[^1]: Explained below.
";

fn back(format: Format, ending: &str) -> Reading {
    let document = markdown::read(SOURCE).unwrap();
    let bytes = render(&document, format).unwrap().bytes;
    to_markdown(&format!("report.{ending}"), &bytes).unwrap()
}

fn has_words(reading: &Reading, words: &[&str]) {
    for word in words {
        assert!(reading.markdown.contains(word), "{word} is missing in {}", reading.markdown);
    }
}

const ALL: [&str; 14] = [
    "Quarterly figures",
    "gross",
    "slowly",
    "Größe",
    "What was done",
    "First entry",
    "Inner entry",
    "Counted two",
    "Region",
    "1250",
    "South",
    "Quoted wisdom",
    "footnote stands",
    "Explained below",
];

/// A Word document keeps its headings, lists, marks, links and tables.
/// Proves MC-26.
#[test]
fn word_is_read_back() {
    let reading = back(Format::Docx, "docx");
    has_words(&reading, &ALL);
    has_words(
        &reading,
        &[
            "# Quarterly figures\n",
            "## What was done\n",
            "- First entry\n  - Inner entry\n- Second entry\n",
            "1. Counted one\n",
            "**gross**",
            "*slowly*",
            "[the page](https://example.org/margins)",
            "| --- | --- | --- |\n| North | 1250 | fine |\n| South | 980 | a pipe \\| inside |",
        ],
    );
}

/// The renderers write them as tables of one cell.
#[test]
fn alerts_and_code_of_word_files_are_no_tables() {
    let source = "> [!WARNING]\n> Be *careful*.\n>\n> - one\n> - two\n>\n> ```\n> inner\n> ```\n\n```rust\nfn f() {\n    g();\n}\n```\n\n\
                  > Said:\n>\n> - a\n\n| Table |\n| --- |\n| of one column |\n";
    let document = markdown::read(source).unwrap();
    let bytes = render(&document, Format::Docx).unwrap().bytes;
    let markdown = to_markdown("a.docx", &bytes).unwrap().markdown;
    let wanted = "> [!WARNING]\n> Be *careful*.\n>\n> - one\n> - two\n>\n> ```\n> inner\n> ```\n\n\
                  ```\nfn f() {\n    g();\n}\n```\n\n> Said:\n>\n> - a\n\n| Table |\n| --- |\n| of one column |";
    assert!(markdown.starts_with(wanted), "{markdown}");
}

/// Proves MC-26.
#[test]
fn powerpoint_is_read_back() {
    let reading = back(Format::Pptx, "pptx");
    has_words(&reading, &ALL);
    has_words(&reading, &["## Slide 1\n", "| North | 1250 | fine |"]);
    has_words(&reading, &["1. Counted one\n2. Counted two"]);
    has_words(&reading, &["see [the page](https://example.org/margins) and"]);
    assert!(reading.pages >= 2);
}

/// Proves MC-26.
#[test]
fn excel_is_read_back() {
    let reading = back(Format::Xlsx, "xlsx");
    has_words(&reading, &["Region", "Amount", "| North | 1250 | fine |", "South", "980"]);
}

/// Proves MC-26.
#[test]
fn pdf_is_read_back_page_by_page() {
    let reading = back(Format::Pdf, "pdf");
    has_words(&reading, &ALL);
    let sentence =
        "The gross margin grew slowly, see [the page](https://example.org/margins) and Größe.";
    has_words(&reading, &["## Page 1\n", sentence]);
    has_words(
        &reading,
        &[
            "| Region | Amount | Remark |\n| --- | --- | --- |\n| North | 1250 | fine |\n| South | 980 |",
        ],
    );
    assert_eq!((reading.pages, reading.pictures), (1, 0));
}

/// Line breaks, code and tables stay.
#[test]
fn paragraphs_of_a_pdf_are_lines() {
    let long = "A long paragraph of several words that goes on and on until the width of the page breaks it";
    let source = format!(
        "{long}, and then {long}.\n\nAnn Smith  \n1 Long Street  \nSpringfield\n\n```\none\ntwo\n```\n\n> {long}.\n\n\
         | a | b |\n|---|---|\n| 1 | 2 |\n"
    );
    let bytes = render(&markdown::read(&source).unwrap(), Format::Pdf).unwrap().bytes;
    let reading = to_markdown("a.pdf", &bytes).unwrap();
    has_words(
        &reading,
        &[
            &format!("{long}, and then {long}.\n"),
            "Ann Smith\n1 Long Street\nSpringfield\n",
            "one\ntwo\n",
            &format!("{long}.\n"),
            "| 1 | 2 |",
        ],
    );
}

#[test]
fn numbers_and_links_of_slides_are_kept() {
    let source = "# One\n\n3. three\n4. four\n   1. inner\n   2. inner\n5. [five](#two)\n\n---\n\n# Two\n\n- a\n- [b **c**](https://e.org)\n";
    let document = markdown::read(source).unwrap();
    let bytes = render(&document, Format::Pptx).unwrap().bytes;
    let reading = to_markdown("a.pptx", &bytes).unwrap();
    has_words(
        &reading,
        &[
            "3. three\n4. four\n    1. inner\n    2. inner\n5. [five](#slide-2)",
            "- [b **c**](https://e.org)",
        ],
    );
}

/// Headers, footers and charts.
/// Proves MC-26.
#[test]
fn headers_footers_and_charts_are_read() {
    let source = "---\nheader: Above all\nfooter: Below all\n---\n\n## Freight\n\n```chart\n\
        type: bar\ntitle: Revenue\n\nQuarter,North,South\nQ1,1.2,0.8\nQ2,,1.1\n```\n";
    let document = markdown::read(source).unwrap();
    for (format, ending) in [(Format::Docx, "docx"), (Format::Xlsx, "xlsx"), (Format::Pptx, "pptx")]
    {
        let bytes = render(&document, format).unwrap().bytes;
        let reading = to_markdown(&format!("a.{ending}"), &bytes).unwrap();
        has_words(&reading, &["Revenue", "North"]);
        if format != Format::Pptx {
            has_words(&reading, &["## Headers and footers\n\nAbove all\n\nBelow all"]);
        }
        // Word shows the chart as a picture, whose description has the values.
        let table = "### Revenue\n\n|  | North | South |\n| --- | --- | --- |\n| Q1 | 1.2 | 0.8 |\n| Q2 |  | 1.1 |";
        assert_eq!(
            reading.markdown.contains(table),
            format != Format::Docx,
            "{}",
            reading.markdown
        );
    }
}

fn package(parts: &[(&str, &str)]) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, text) in parts {
        zip.start_file(*name, SimpleFileOptions::default()).unwrap();
        zip.write_all(text.as_bytes()).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

fn open_document(kind: &str, body: &str) -> Vec<u8> {
    let content = format!(
        "<o:document-content xmlns:o='o' xmlns:t='t' xmlns:table='b' xmlns:s='s' xmlns:fo='f'>\
         <o:automatic-styles><s:style s:name='B'><s:text-properties fo:font-weight='bold'/></s:style>\
         </o:automatic-styles><o:body>{body}</o:body></o:document-content>"
    );
    let mimetype = format!("application/vnd.oasis.opendocument.{kind}");
    package(&[("mimetype", &mimetype), ("content.xml", &content)])
}

/// Proves MC-26.
#[test]
fn opendocument_is_read() {
    let text = open_document(
        "text",
        "<t:h t:outline-level='2'>Title</t:h><t:p>a<t:s t:c='2'/>b <t:span t:style-name='B'>c</t:span></t:p>\
         <t:list><t:list-item><t:p>one</t:p><t:list><t:list-item><t:p>two</t:p></t:list-item></t:list>\
         </t:list-item></t:list><t:tracked-changes><t:p>gone</t:p></t:tracked-changes>",
    );
    let reading = to_markdown("x.odt", &text).unwrap();
    assert_eq!(reading.markdown, "## Title\n\na  b **c**\n\n- one\n  - two");
    let sheet = open_document(
        "spreadsheet",
        "<table:table table:name='S'><table:table-row><table:table-cell><t:p>A</t:p></table:table-cell>\
         <table:table-cell table:number-columns-repeated='2'/><table:table-cell><t:p>D</t:p>\
         </table:table-cell><table:table-cell table:number-columns-repeated='16000'/></table:table-row></table:table>",
    );
    let reading = to_markdown("x.ods", &sheet).unwrap();
    assert_eq!(reading.markdown, "## S\n\n| A |  |  | D |\n| --- | --- | --- | --- |");
}

#[test]
fn numbers_comments_charts_and_hidden_sheets_of_opendocument_are_kept() {
    let text = open_document(
        "text",
        "<t:list-style s:name='L'><t:list-level-style-number t:level='1' s:num-format='1'/>\
         <t:list-level-style-bullet t:level='2'/></t:list-style>\
         <t:list t:style-name='L'><t:list-item><t:p>one<o:annotation><d:creator>Ann</d:creator>\
         <d:date>2026-01-01</d:date><t:p>Is this</t:p><t:p>right?</t:p></o:annotation>!</t:p></t:list-item>\
         <t:list-item><t:p>two</t:p><t:list><t:list-item><t:p>in</t:p></t:list-item></t:list></t:list-item>\
         </t:list><t:p>between</t:p><t:list t:style-name='L' t:continue-numbering='true'><t:list-item>\
         <t:p>three</t:p></t:list-item></t:list>",
    );
    let reading = to_markdown("x.odt", &text).unwrap();
    let wanted = "1. one[^comment-1]!\n2. two\n    - in\n\nbetween\n\n3. three\n\n## Comments\n\n\
                  [^comment-1]: Ann: Is this right?";
    assert_eq!(reading.markdown, wanted);
    let chart = "<o:document-content xmlns:o='o' xmlns:t='t' xmlns:table='b' xmlns:c='c'><o:body><c:chart>\
        <c:title><t:p>Sales</t:p></c:title><table:table><table:table-row><table:table-cell><t:p>Q1</t:p>\
        </table:table-cell></table:table-row></table:table></c:chart></o:body></o:document-content>";
    let content = "<o:document-content xmlns:o='o' xmlns:t='t' xmlns:table='b' xmlns:s='s' xmlns:x='x'>\
        <s:style s:name='ta2'><s:table-properties table:display='false'/></s:style>\
        <table:table table:name='A'><table:table-row><table:table-cell><o:annotation><t:p>Why?</t:p>\
        </o:annotation><t:p>1</t:p></table:table-cell></table:table-row></table:table>\
        <table:table table:name='B' table:style-name='ta2'><table:shapes><s:object x:href='./Object 1'/>\
        </table:shapes></table:table></o:document-content>";
    let sheet = package(&[
        ("mimetype", "application/vnd.oasis.opendocument.spreadsheet"),
        ("content.xml", content),
        ("Object 1/content.xml", chart),
    ]);
    let reading = to_markdown("x.ods", &sheet).unwrap();
    let wanted = "## A\n\n| 1<br>[^comment-1] |\n| --- |\n\n## B (hidden)\n\n## Comments\n\n[^comment-1]: Why?\n\n\
                  ### Chart\n\nSales\n\n| Q1 |\n| --- |";
    assert_eq!(reading.markdown, wanted);
}

/// A workbook may unpack to the whole limit: its sheets are not unpacked again for their headers.
#[test]
fn a_sheet_is_unpacked_once() {
    let book = "<workbook xmlns:r='r'><sheets><sheet name='S' r:id='r1'/></sheets></workbook>";
    let links =
        "<Relationships><Relationship Id='r1' Target='worksheets/sheet1.xml'/></Relationships>";
    let sheet = format!(
        "<worksheet><sheetData><row r='1'><c r='A1'><v>1</v></c></row></sheetData><!--{}-->\
         <headerFooter><oddHeader>Acme</oddHeader></headerFooter></worksheet>",
        "x".repeat(10_000)
    );
    let file = package(&[
        ("xl/workbook.xml", book),
        ("xl/_rels/workbook.xml.rels", links),
        ("xl/worksheets/sheet1.xml", &sheet),
    ]);
    let reading = sheets::workbook(archive::Archive::open_within(&file, 15_000).unwrap()).unwrap();
    let wanted = "## S\n\n| 1 |\n| --- |\n\n## Headers and footers\n\nAcme";
    assert_eq!(reading.markdown, wanted);
}

/// Proves MC-26.
#[test]
fn mail_pages_and_rows_are_read() {
    let mail = "From: Ann <ann@example.org>\r\nTo: bob@example.org\r\nSubject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=\r\n\
        MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=x\r\n\r\n--x\r\n\
        Content-Type: text/html; charset=utf-8\r\n\r\n<p>Hello <b>you</b></p>\r\n--x\r\n\
        Content-Type: application/pdf\r\nContent-Disposition: attachment; filename=a.pdf\r\n\r\nabc\r\n--x--\r\n";
    let reading = to_markdown("a.eml", mail.as_bytes()).unwrap();
    has_words(
        &reading,
        &["# Grüße", "From: Ann <ann@example.org>", "Hello **you**", "a.pdf, 3 bytes"],
    );
    let page = "<html><head><title>t</title></head><body><h1>H</h1><script>bad()</script>\
        <table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table></body></html>";
    let reading = to_markdown("a.html", page.as_bytes()).unwrap();
    has_words(&reading, &["# H", "| a", "| 1"]);
    assert!(!reading.markdown.contains("bad()"));
    let reading = to_markdown("a.csv", b"n;v\n\xe4;2\n").unwrap();
    assert_eq!(reading.markdown, "| n | v |\n| --- | --- |\n| ä | 2 |");
    let reading = to_markdown("a.json", br#"[{"a":1},{"a":2}]"#).unwrap();
    assert_eq!(reading.markdown, "| a |\n| --- |\n| 1 |\n| 2 |");
    assert!(to_markdown("a.json", br#"{"a":1}"#).unwrap().markdown.starts_with("```json"));
}

/// Tracked changes are marked, and duplicate content appears once.
#[test]
fn word_says_what_is_there_and_what_was_changed() {
    let document = "<w:document xmlns:w='w' xmlns:mc='m'><w:body>\
        <w:p><w:r><w:t>kept</w:t></w:r><w:del><w:r><w:delText>gone</w:delText></w:r></w:del>\
        <w:ins><w:r><w:t xml:space='preserve'> added</w:t></w:r></w:ins></w:p>\
        <w:p><w:moveFromRangeStart w:id='1' w:name='m'/><w:moveFrom><w:r><w:t>left</w:t></w:r></w:moveFrom>\
        <w:moveFromRangeEnd w:id='1'/><w:r><w:t> between </w:t></w:r><w:moveTo><w:r><w:t>left</w:t></w:r>\
        </w:moveTo></w:p>\
        <mc:AlternateContent><mc:Choice><w:p><w:r><w:t>once</w:t></w:r></w:p></mc:Choice>\
        <mc:Fallback><w:p><w:r><w:t>once</w:t></w:r></w:p></mc:Fallback></mc:AlternateContent>\
        <w:tbl><w:tr><w:tc><w:tcPr><w:gridSpan w:val='2'/></w:tcPr><w:p><w:r><w:t>wide</w:t></w:r></w:p></w:tc></w:tr>\
        <w:tr><w:tc><w:p><w:r><w:t>a</w:t></w:r></w:p></w:tc><w:tc><w:p><w:r><w:t>b</w:t></w:r></w:p></w:tc></w:tr>\
        <w:tr><w:tc><w:tcPr><w:vMerge/></w:tcPr><w:p/></w:tc><w:tc><w:p><w:r><w:t>c</w:t></w:r></w:p></w:tc></w:tr>\
        </w:tbl><w:p><w:r><w:t>cut";
    let reading = to_markdown("x.docx", &package(&[("word/document.xml", document)])).unwrap();
    let wanted = "kept{--gone--}{++ added++}\n\n{--left--} between {++left++}\n\nonce\n\n\
                  | wide | ← |\n| --- | --- |\n| a | b |\n| ↑ | c |";
    assert_eq!(reading.markdown, wanted);
    assert!(reading.warnings.iter().any(|warning| warning.contains("deleted")), "{reading:?}");
}

/// Proves MC-25.
#[test]
fn the_kind_of_a_file_is_detected_by_its_content() {
    for (name, bytes, kind) in [
        ("x.txt", &b"%PDF-1.7"[..], Kind::Pdf),
        ("x.pdf", b"<!DOCTYPE html><p>", Kind::Html),
        ("x.docx", b"\x89PNG\r\n\x1a\n", Kind::Picture),
        ("x", b"plain", Kind::Text),
    ] {
        assert_eq!(kind::of(name, bytes), Ok(kind), "{name}");
    }
    assert!(matches!(kind::of("x.bin", b"a\0b"), Err(ReadError::Unknown(_))));
    let archive = to_markdown("x.zip", &package(&[("a", "b")])).unwrap_err();
    assert!(archive.to_string().contains("unpack it first"));
}

const NAMES: [&str; 10] =
    ["a.pdf", "a.docx", "a.xlsx", "a.xls", "a.pptx", "a.html", "a.eml", "a.csv", "a.json", "a.txt"];

const STARTS: [&[u8]; 7] = [
    b"",
    b"%PDF-1.7\n",
    b"PK\x03\x04",
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
    b"\x89PNG\r\n\x1a\n",
    b"<html>",
    b"\xff\xfe",
];

fn real() -> Vec<(&'static str, Vec<u8>)> {
    let document = markdown::read(SOURCE).unwrap();
    let of = |format| render(&document, format).unwrap().bytes;
    vec![
        ("a.docx", of(Format::Docx)),
        ("a.xlsx", of(Format::Xlsx)),
        ("a.pptx", of(Format::Pptx)),
        ("a.pdf", of(Format::Pdf)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// Arbitrary bytes give a text or an error sentence.
    /// Proves S14, FO-30.
    #[test]
    fn arbitrary_bytes_break_no_reader(
        start in prop::sample::select(&STARTS[..]),
        bytes in prop::collection::vec(any::<u8>(), 0..2000),
    ) {
        let bytes = [start, &bytes].concat();
        for name in NAMES {
            let _ = to_markdown(name, &bytes);
        }
    }

    /// Text of a format's own syntax characters gets further than random bytes.
    /// Proves S14.
    #[test]
    fn arbitrary_signs_break_no_reader(text in "[<>/&;=\"'a-c{}\\[\\],:|#\\r\\n \\-]{0,400}") {
        for name in NAMES {
            let _ = to_markdown(name, text.as_bytes());
        }
        for part in ["word/document.xml", "ppt/presentation.xml", "xl/workbook.xml", "content.xml"] {
            let odt = "application/vnd.oasis.opendocument.text";
            let _ = to_markdown("a", &package(&[(part, &text), ("mimetype", odt)]));
        }
    }
}

/// Real files with a few damaged bytes, deterministic.
/// Proves S14.
#[test]
fn damaged_files_break_no_reader() {
    for (name, whole) in real() {
        let mut seed = 0x9e37_79b9_7f4a_7c15_u64;
        for _ in 0..60 {
            let mut bytes = whole.clone();
            for _ in 0..6 {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let at = (seed >> 20) as usize % bytes.len();
                bytes[at] = (seed >> 56) as u8;
            }
            let cut = (seed >> 33) as usize % (2 * bytes.len());
            bytes.truncate(cut.max(1));
            let _ = to_markdown(name, &bytes);
        }
    }
}
