//! Files as third-party programs write them. All formats are in one file, because the tests share what
//! makes small packages.

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
fn repeated_cells_and_spaces_of_opendocument_are_expanded() {
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
    let wanted = "## S\n\n| wide | ← | ← | d |\n| --- | --- | --- | --- |\n| 5 | 5 | 5 | y |\n\
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

/// The package with more parts.
fn extended(bytes: Vec<u8>, parts: &[(&str, &str)]) -> Vec<u8> {
    let mut zip = ZipWriter::new_append(Cursor::new(bytes)).expect("we wrote it");
    for (part, text) in parts {
        zip.start_file(*part, SimpleFileOptions::default()).expect("there is room");
        zip.write_all(text.as_bytes()).expect("there is room");
    }
    zip.finish().expect("there is room").into_inner()
}

/// Text of SmartArt diagrams.
/// Proves MC-26.
#[test]
fn diagrams_of_slides_and_texts_are_read() {
    let diagram = "<dgm:dataModel xmlns:dgm='d' xmlns:a='a'><dgm:ptLst><dgm:pt><dgm:t><a:p><a:r>\
        <a:t>Plan</a:t></a:r></a:p></dgm:t></dgm:pt><dgm:pt type='pres'/><dgm:pt><dgm:t><a:p><a:r>\
        <a:t>Do</a:t></a:r></a:p></dgm:t></dgm:pt></dgm:ptLst></dgm:dataModel>";
    for (format, name, part) in [
        (Format::Pptx, "a.pptx", "ppt/diagrams/data1.xml"),
        (Format::Docx, "a.docx", "word/diagrams/data1.xml"),
    ] {
        let whole = render(&markdown::read("# T\n\nx\n").unwrap(), format).unwrap().bytes;
        let read = words(name, &extended(whole, &[(part, diagram)]));
        assert!(read.contains("- Plan\n- Do"), "{read}");
    }
}

/// Comments in the notation before and since 2021.
/// Proves MC-26.
#[test]
fn comments_of_slides_are_read_at_their_slide() {
    let old = "<p:cmLst xmlns:p='p'><p:cm authorId='4'><p:text>Too long</p:text></p:cm></p:cmLst>";
    let new = "<p188:cmLst xmlns:p188='n' xmlns:a='a'><p188:cm authorId='{B}'><p188:replyLst>\
        <p188:reply authorId='{C}'><p188:txBody><a:p><a:r><a:t>Will do</a:t></a:r></a:p></p188:txBody>\
        </p188:reply></p188:replyLst><p188:txBody><a:p><a:r><a:t>Shorter</a:t></a:r></a:p></p188:txBody>\
        </p188:cm></p188:cmLst>";
    let source = markdown::read("# One\n\n---\n\n# Two\n").unwrap();
    let slides = render(&source, Format::Pptx).unwrap().bytes;
    let related = |bytes: &[u8], slide: usize, target: &str| {
        changed(bytes, &format!("ppt/slides/_rels/slide{slide}.xml.rels"), |xml| {
            let more =
                format!("<Relationship Id=\"c\" Target=\"../comments/{target}\"/></Relationships>");
            xml.replace("</Relationships>", &more)
        })
    };
    let slides = related(&related(&slides, 1, "comment1.xml"), 2, "modernComment_1_0.xml");
    let parts = [
        ("ppt/comments/comment1.xml", old),
        ("ppt/comments/modernComment_1_0.xml", new),
        (
            "ppt/comments/comment2.xml",
            "<p:cmLst xmlns:p='p'><p:cm><p:text>Lost</p:text></p:cm></p:cmLst>",
        ),
        (
            "ppt/commentAuthors.xml",
            "<p:cmAuthorLst xmlns:p='p'><p:cmAuthor id='4' name='Ann'/></p:cmAuthorLst>",
        ),
        (
            "ppt/authors.xml",
            "<a:authorLst xmlns:a='a'><a:author id='{B}' name='Ben'/><a:author id='{C}' name='Cy'/></a:authorLst>",
        ),
    ];
    let read = words("a.pptx", &extended(slides, &parts));
    let wanted = "### One\n\n[^comment-1]: Ann: Too long\n\n## Slide 2\n\n### Two\n\n\
                  [^comment-2]: Ben: Shorter\n\n[^comment-3]: Cy: Will do\n\n## Comments\n\n[^comment-4]: Lost";
    assert!(read.ends_with(wanted), "{read}");
}

/// Proves MC-26.
#[test]
fn merged_cells_are_marked_alike_in_all_formats() {
    let source = "<table><thead><tr><th rowspan=\"2\">Region</th><th colspan=\"2\">2025</th></tr>\
        <tr><th>Q1</th><th>Q2</th></tr></thead><tbody><tr><td rowspan=\"2\">North</td><td>1</td><td>2</td></tr>\
        <tr><td>3</td><td>4</td></tr></tbody></table>\n";
    let wanted = "| Region | 2025 | ← |\n| --- | --- | --- |\n| ↑ | Q1 | Q2 |\n| North | 1 | 2 |\n| ↑ | 3 | 4 |";
    for (format, name) in [
        (Format::Docx, "a.docx"),
        (Format::Pptx, "a.pptx"),
        (Format::Xlsx, "a.xlsx"),
        (Format::Pdf, "a.pdf"),
    ] {
        let file = render(&markdown::read(source).unwrap(), format).unwrap().bytes;
        let read = read::to_markdown(name, &file).unwrap();
        let text = read.markdown.replace("**", "");
        assert!(text.contains(wanted), "{name}: {text}");
        assert!(read.warnings.iter().any(|w| w.starts_with("Merged cells")), "{:?}", read.warnings);
    }
}

#[test]
fn a_merged_cell_goes_on_on_the_next_page_of_a_pdf() {
    let rows =
        (0..60).map(|row| format!("<tr><td>row {row}</td></tr>")).collect::<Vec<_>>().concat();
    let source = format!(
        "<table><tr><th>Key</th><th>Row</th></tr><tr><td rowspan=\"61\">Merged</td><td>first</td></tr>\
         {rows}<tr><td>Last</td><td>alone</td></tr></table>\n"
    );
    let file = render(&markdown::read(&source).unwrap(), Format::Pdf).unwrap().bytes;
    let read = words("a.pdf", &file).replace("**", "");
    assert!(read.contains("## Page 2\n\n| Key | Row |"), "{read}");
    for row in 0..60 {
        assert!(read.contains(&format!("| ↑ | row {row} |")), "{read}");
    }
    assert!(read.contains("| Last | alone |"), "{read}");
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

/// Lists whose numbering is in the style, comments in their place, hidden text and fractions.
#[test]
fn structure_of_word_styles_and_comments_in_place_are_read() {
    let styles = "<w:styles xmlns:w='w'><w:style w:styleId='LN'><w:name w:val='List Number'/><w:pPr>\
        <w:numPr><w:numId w:val='1'/></w:numPr></w:pPr></w:style><w:style w:styleId='Own'>\
        <w:name w:val='Own'/><w:basedOn w:val='LN'/></w:style></w:styles>";
    let numbering = "<w:numbering xmlns:w='w'><w:abstractNum w:abstractNumId='0'><w:lvl w:ilvl='0'>\
        <w:numFmt w:val='decimal'/></w:lvl></w:abstractNum><w:num w:numId='1'>\
        <w:abstractNumId w:val='0'/></w:num></w:numbering>";
    let item = |style: &str, text: &str| {
        format!("<w:p><w:pPr><w:pStyle w:val='{style}'/></w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>")
    };
    let document = format!(
        "<w:document xmlns:w='w' xmlns:m='m'><w:body>{}{}<w:p><w:r><w:t>said</w:t></w:r>\
         <w:r><w:commentReference w:id='0'/></w:r><w:r><w:rPr><w:vanish/></w:rPr><w:t>secret</w:t></w:r>\
         <w:r><w:t> end </w:t></w:r><m:oMath><m:f><m:num><m:r><m:t>a</m:t></m:r></m:num><m:den><m:r>\
         <m:t>b</m:t></m:r></m:den></m:f></m:oMath></w:p></w:body></w:document>",
        item("LN", "one"),
        item("Own", "two")
    );
    let comments = "<w:comments xmlns:w='w'><w:comment w:id='0' w:author='Ann'><w:p><w:r>\
        <w:t>Really?</w:t></w:r></w:p></w:comment></w:comments>";
    let file = package(&[
        ("word/document.xml", &document),
        ("word/styles.xml", styles),
        ("word/numbering.xml", numbering),
        ("word/comments.xml", comments),
    ]);
    let wanted = "1. one\n2. two\n\nsaid[^comment-0]{hidden: secret} end (a)/(b)\n\n## Comments\n\n\
                  [^comment-0]: Ann: Really?";
    assert_eq!(words("a.docx", &file), wanted);
}

/// In a Word of another language, the ids of the styles are translated and the names are not.
#[test]
fn titles_and_subtitles_of_word_files_are_headings() {
    let style = |id: &str, name: &str, base: &str| {
        format!(
            "<w:style w:styleId='{id}'><w:name w:val='{name}'/><w:basedOn w:val='{base}'/></w:style>"
        )
    };
    let styles = format!(
        "<w:styles xmlns:w='w'>{}{}{}{}</w:styles>",
        style("Titel", "Title", "Standard"),
        style("Untertitel", "Subtitle", "Titel"),
        style("Own", "Own", "Untertitel"),
        style("Other", "Subtitles", "Standard")
    );
    let paragraph = |style: &str| {
        format!(
            "<w:p><w:pPr><w:pStyle w:val='{style}'/></w:pPr><w:r><w:t>{style}</w:t></w:r></w:p>"
        )
    };
    let paragraphs = ["Titel", "Untertitel", "Own", "Other"].map(paragraph).concat();
    let document = format!("<w:document xmlns:w='w'><w:body>{paragraphs}</w:body></w:document>");
    let file = package(&[("word/document.xml", &document), ("word/styles.xml", &styles)]);
    assert_eq!(words("a.docx", &file), "# Titel\n\n## Untertitel\n\n## Own\n\nOther");
}

#[test]
fn lists_of_word_files_keep_their_numbers() {
    let source = "1. one\n2. two\n   1. inner\n   2. inner\n3. three\n   1. again\n\ntext\n\n7. seven\n8. eight\n";
    let rendered = render(&markdown::read(source).unwrap(), Format::Docx).unwrap();
    let wanted = "1. one\n2. two\n    1. inner\n    2. inner\n3. three\n    1. again\n\ntext\n\n7. seven\n8. eight";
    let read = words("a.docx", &rendered.bytes);
    assert!(read.starts_with(wanted), "{read}");
}

#[test]
fn a_hidden_slide_is_marked() {
    let mut rendered =
        render(&markdown::read("# One\n\n---\n\n# Two\n").unwrap(), Format::Pptx).unwrap();
    rendered.bytes = changed(&rendered.bytes, "ppt/slides/slide2.xml", |xml| {
        xml.replacen("<p:sld ", "<p:sld show=\"0\" ", 1)
    });
    let read = words("a.pptx", &rendered.bytes);
    assert!(read.contains("## Slide 1\n") && read.contains("## Slide 2 (hidden)\n"), "{read}");
}

/// The package with one part changed.
fn changed(bytes: &[u8], part: &str, change: impl Fn(&str) -> String) -> Vec<u8> {
    let mut zip = zip::ZipArchive::new(Cursor::new(bytes)).expect("we wrote it");
    let mut parts = Vec::new();
    for at in 0..zip.len() {
        let mut file = zip.by_index(at).expect("we wrote it");
        let mut bytes = Vec::new();
        std::io::Read::read_to_end(&mut file, &mut bytes).expect("we wrote it");
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let text = if file.name() == part { change(&text) } else { text };
        parts.push((file.name().to_owned(), text));
    }
    let parts: Vec<(&str, &str)> = parts.iter().map(|(name, text)| (&**name, &**text)).collect();
    package(&parts)
}

#[test]
fn an_empty_file_is_an_error() {
    for name in ["a.pdf", "a.docx", "a.xlsx"] {
        let error = read::to_markdown(name, b"").unwrap_err().to_string();
        assert!(error.contains("0 bytes"), "{error}");
    }
    assert_eq!(words("a.txt", b""), "");
}

#[test]
fn json_lines_are_read_as_a_table() {
    let read = words("a.jsonl", b"{\"a\":1}\n{\"a\":2}\n");
    assert_eq!(read, "| a |\n| --- |\n| 1 |\n| 2 |");
}

#[test]
fn the_terms_of_definitions_of_a_pdf_are_read() {
    let source =
        "First term\n: Its meaning\n\nSecond\n: Another meaning\n\n1. one\n2. two\n\n- three\n";
    let rendered = render(&markdown::read(source).unwrap(), Format::Pdf).unwrap();
    let read = words("a.pdf", &rendered.bytes);
    for wanted in
        ["First term: Its meaning", "Second: Another meaning", "1. one\n2. two", "- three"]
    {
        assert!(read.contains(wanted), "{wanted}: {read}");
    }
}

#[test]
fn quotes_of_paragraphs_in_a_word_file_are_read() {
    let source = "Before\n\n> Said one.\n>\n> Said two.\n\nAfter\n";
    let rendered = render(&markdown::read(source).unwrap(), Format::Docx).unwrap();
    let read = words("a.docx", &rendered.bytes);
    assert!(read.starts_with(source), "{read}");
}

/// The structure of a tagged PDF: headings, lists and links.
#[test]
fn the_tags_of_a_pdf_are_read() {
    let source = "# Head\n\nA [link](https://example.org/x) here.\n\n## Below\n\n- one\n- two\n\n3. first\n\
                  4. second\n   1. inner\n   2. next\n\n| a | b |\n|---|---|\n| 1 | 2 |\n";
    let rendered = render(&markdown::read(source).unwrap(), Format::Pdf).unwrap();
    let read = words("a.pdf", &rendered.bytes);
    for part in [
        "### Head\n",
        "A [link](https://example.org/x) here.",
        "#### Below\n",
        "- one\n- two\n",
        "3. first\n4. second\n    a. inner\n    b. next\n",
        "| a | b |",
    ] {
        assert!(read.contains(part), "{part}: {read}");
    }
}

fn open_document(kind: &str, styles: &str, content: &str) -> Vec<u8> {
    let document = |body: &str| {
        format!(
            "<o:document xmlns:o='o' xmlns:t='t' xmlns:table='b' xmlns:s='s' xmlns:d='d' \
             xmlns:p='p'>{body}</o:document>"
        )
    };
    package(&[
        ("mimetype", &format!("application/vnd.oasis.opendocument.{kind}")),
        ("styles.xml", &document(styles)),
        ("content.xml", &document(content)),
    ])
}

#[test]
fn titles_headers_and_footers_of_opendocument_texts_are_read() {
    let styles = "<s:style s:name='Title' s:family='paragraph'/>\
        <s:style s:name='Own' s:family='paragraph' s:parent-style-name='Subtitle'/>\
        <o:master-styles><s:master-page s:name='Standard'><s:header><t:p>Acme</t:p></s:header>\
        <s:header-left s:display='false'><t:p>Old</t:p></s:header-left>\
        <s:footer><t:p>Page <t:page-number>1</t:page-number><t:title>???</t:title></t:p></s:footer>\
        </s:master-page><s:master-page s:name='Other'><s:header><t:p>Unused</t:p></s:header></s:master-page>\
        <s:master-page s:name='Wide' s:next-style-name='Last'><s:header><t:p>Acme</t:p><t:p>Annex</t:p></s:header>\
        </s:master-page><s:master-page s:name='Last'><s:footer><t:p>End</t:p></s:footer></s:master-page>\
        </o:master-styles>";
    let content = "<s:style s:name='P1' s:family='paragraph' s:parent-style-name='Own'/>\
        <s:style s:name='P2' s:family='paragraph' s:parent-style-name='Text' s:master-page-name='Wide'/>\
        <o:body><t:p t:style-name='Title'>Report</t:p><t:p t:style-name='P1'>of all</t:p>\
        <t:p t:style-name='P2'>Text</t:p></o:body>";
    let wanted = "# Report\n\n## of all\n\nText\n\n## Headers and footers\n\nAcme\n\nPage #\n\n\
                  Acme\n\nAnnex\n\nEnd";
    assert_eq!(words("a.odt", &open_document("text", styles, content)), wanted);
}

/// Every sheet of LibreOffice has its name as a header and the number of the page as a footer.
#[test]
fn headers_and_footers_of_sheets_are_read_if_they_are_not_those_of_libreoffice() {
    let ods = |header: &str, footer: &str| {
        let styles = format!(
            "<s:master-page s:name='Default'><s:header><t:p>{header}<t:sheet-name>Sheet1\
             </t:sheet-name></t:p></s:header><s:footer><t:p>{footer}<t:page-number>1\
             </t:page-number></t:p></s:footer></s:master-page>"
        );
        let content = "<table:table table:name='S'/>";
        words("a.ods", &open_document("spreadsheet", &styles, content))
    };
    let xlsx = |header: &str, footer: &str| {
        let sheet = format!(
            "<worksheet><sheetData/><headerFooter><oddHeader>&amp;C&amp;\"Arial,Regular\"&amp;12\
             {header}&amp;A</oddHeader><oddFooter>&amp;C&amp;\"Arial,Regular\"&amp;12{footer}&amp;P\
             </oddFooter></headerFooter></worksheet>"
        );
        words("a.xlsx", &workbook(&[("xl/worksheets/sheet1.xml", &sheet)]))
    };
    for [header, footer, wanted] in [
        ["", "Page ", ""],
        ["", "Seite ", ""],
        ["Acme", "Page ", "\n\n## Headers and footers\n\nAcme"],
        ["", "Draft ", "\n\n## Headers and footers\n\nDraft #"],
        ["", "Acme, page ", "\n\n## Headers and footers\n\nAcme, page #"],
    ] {
        for read in [ods(header, footer), xlsx(header, footer)] {
            assert_eq!(read, format!("## S{wanted}"), "{header}, {footer}");
        }
    }
}

#[test]
fn titles_and_hidden_slides_of_opendocument_are_read() {
    let content = "<s:style s:name='dp2'><s:drawing-page-properties p:visibility='hidden'/></s:style>\
        <d:page><d:frame p:class='title'><d:text-box><t:p>One</t:p></d:text-box></d:frame>\
        <d:frame p:class='outline'><d:text-box><t:p>text</t:p></d:text-box></d:frame></d:page>\
        <d:page d:style-name='dp2'><d:frame p:class='title'><d:text-box><t:p>Two</t:p></d:text-box></d:frame></d:page>";
    let wanted = "## Slide 1\n\n### One\n\ntext\n\n## Slide 2 (hidden)\n\n### Two";
    assert_eq!(words("a.odp", &open_document("presentation", "", content)), wanted);
}

#[test]
fn tables_of_opendocument_that_follow_each_other_stay_apart() {
    let table = |text: &str| {
        format!(
            "<table:table><table:table-row><table:table-cell><t:p>{text}</t:p></table:table-cell>\
             </table:table-row></table:table>"
        )
    };
    let file = open_document("text", "", &(table("a") + &table("b")));
    assert_eq!(words("a.odt", &file), "| a |\n| --- |\n\n| b |\n| --- |");
}

#[test]
fn hidden_rows_and_columns_of_opendocument_are_marked() {
    let cell = "<table:table-cell><t:p>1</t:p></table:table-cell>";
    let row = |attributes: &str| {
        format!("<table:table-row {attributes}>{}</table:table-row>", cell.repeat(3))
    };
    let content = format!(
        "<table:table table:name='S'><table:table-column/><table:table-column \
         table:number-columns-repeated='2' table:visibility='collapse'/>{}{}{}{}<table:table-row \
         table:visibility='collapse' table:number-rows-repeated='1048572'><table:table-cell/>\
         </table:table-row></table:table>",
        row(""),
        row("table:visibility='filter' table:number-rows-repeated='2'"),
        row(""),
        row("table:visibility='collapse'"),
    );
    let read = words("a.ods", &open_document("spreadsheet", "", &content));
    assert!(
        read.ends_with("| 1 | 1 | 1 |\n|  |  |  |\n\nHidden rows: 2–3, 5.\n\nHidden columns: B–C."),
        "{read}"
    );
}

/// A column that is one merged cell has as many rows as the sheet.
#[test]
fn merged_cells_of_large_sheets_are_bounded() {
    let wide = "<table:table-row><table:table-cell table:number-columns-spanned='16384' \
        table:number-rows-spanned='1048576'><t:p>Title</t:p></table:table-cell>\
        <table:covered-table-cell table:number-columns-repeated='16383'/></table:table-row>\
        <table:table-row table:number-rows-repeated='1048575'><table:covered-table-cell/></table:table-row>";
    let content = format!("<table:table table:name='S'>{wide}</table:table>");
    let read = words("a.ods", &open_document("spreadsheet", "", &content));
    assert_eq!(read.replace("\n|  |", ""), "## S\n\n| Title |\n| --- |");
    let sheet = "<worksheet><sheetData><row r='1'><c r='A1'><v>1</v></c></row></sheetData><mergeCells>\
        <mergeCell ref='A1:XFD1048576'/><mergeCell ref='B1:A0'/><mergeCell ref='A0:B1'/></mergeCells></worksheet>";
    let read = words("a.xlsx", &workbook(&[("xl/worksheets/sheet1.xml", sheet)]));
    assert_eq!(read.matches('←').count(), 31, "{read}");
}

/// Characters that change the direction of what follows are invisible.
#[test]
fn controls_of_direction_are_dropped_except_from_plain_text() {
    let text = "a\u{202e}b\u{202c}\u{2066}c\u{2069}";
    assert_eq!(words("a.html", format!("<p>{text}</p>").as_bytes()), "abc");
    assert_eq!(words("a.txt", text.as_bytes()), text);
}

fn word_file(body: &str) -> Vec<u8> {
    let document =
        format!("<w:document xmlns:w='w' xmlns:r='r'><w:body>{body}</w:body></w:document>");
    let links = "<Relationships><Relationship Id='l' Target='https://a.example'/></Relationships>";
    package(&[("word/document.xml", &document), ("word/_rels/document.xml.rels", links)])
}

#[test]
fn a_table_inside_a_paragraph_of_an_opendocument_text_is_a_table() {
    let cell = |text: &str| format!("<table:table-cell><t:p>{text}</t:p></table:table-cell>");
    let table = format!(
        "<table:table><table:table-row>{}{}</table:table-row></table:table>",
        cell("a"),
        cell("b")
    );
    let content = format!(
        "<t:p>before <d:frame><d:text-box>{table}</d:text-box></d:frame>after</t:p><t:p>next</t:p>"
    );
    let wanted = "| a | b |\n| --- | --- |\n\nbefore after\n\nnext";
    assert_eq!(words("a.odt", &open_document("text", "", &content)), wanted);
}

/// Older programs write divided cells of sheets as tables.
#[test]
fn a_table_in_a_cell_of_a_sheet_is_no_sheet() {
    let cell = |text: &str| format!("<table:table-cell><t:p>{text}</t:p></table:table-cell>");
    let row = |cells: &str| format!("<table:table-row>{cells}</table:table-row>");
    let inner = format!(
        "<table:table-cell><table:table table:is-sub-table='true'>{}{}</table:table></table:table-cell>",
        row(&cell("1")),
        row(&cell("2"))
    );
    let content = format!(
        "<table:table table:name='S'><table:table-column/><table:table-column \
         table:visibility='collapse'/>{}</table:table>",
        row(&format!("{inner}{}", cell("b")))
    );
    let wanted = "## S\n\n| 1<br>2 | b |\n| --- | --- |\n\nHidden columns: B.";
    assert_eq!(words("a.ods", &open_document("spreadsheet", "", &content)), wanted);
}

#[test]
fn columns_after_the_256th_are_left_out_with_a_warning() {
    let cells = |text: &str, blank: usize| {
        format!(
            "<table:table-row><table:table-cell><t:p>{text}</t:p></table:table-cell><table:table-cell \
             table:number-columns-repeated='{blank}'/><table:table-cell><t:p>far</t:p></table:table-cell>\
             </table:table-row>"
        )
    };
    let content =
        format!("<table:table table:name='S'>{}{}</table:table>", cells("a", 1), cells("b", 700));
    let read = read::to_markdown("a.ods", &open_document("spreadsheet", "", &content)).unwrap();
    assert_eq!(read.markdown, "## S\n\n| a |  | far |\n| --- | --- | --- |\n| b |  |  |");
    assert_eq!(read.warnings, ["Columns of the sheet S after the 256th were skipped."]);
    let cells = "<w:tc><w:p><w:r><w:t>x</w:t></w:r></w:p></w:tc>".repeat(300);
    let docx = word_file(&format!("<w:tbl><w:tr>{cells}</w:tr></w:tbl>"));
    let rtf = format!("{{\\rtf1 \\intbl {}\\row}}", "x\\cell ".repeat(300)).into_bytes();
    for (name, file) in [("a.docx", docx), ("a.rtf", rtf)] {
        let read = read::to_markdown(name, &file).unwrap();
        assert_eq!(read.markdown.matches('x').count(), 256, "{name}");
        assert_eq!(read.warnings, ["Columns of tables after the 256th were skipped."]);
    }
}

/// Word keeps the properties before a tracked change inside those that replaced them.
#[test]
fn former_properties_of_word_files_are_not_read() {
    let cell = |properties: &str, text: &str| {
        format!("<w:tc><w:tcPr>{properties}</w:tcPr><w:p><w:r><w:t>{text}</w:t></w:r></w:p></w:tc>")
    };
    let was = |old: &str| format!("<w:tcPrChange><w:tcPr>{old}</w:tcPr></w:tcPrChange>");
    let spanned = cell(&was("<w:gridSpan w:val='2'/>"), "x");
    let merged = cell(&was("<w:vMerge/>"), "");
    let rows = format!(
        "<w:tr>{}{}</w:tr><w:tr><w:trPr><w:trPrChange><w:trPr><w:gridBefore w:val='1'/></w:trPr>\
         </w:trPrChange></w:trPr>{spanned}{merged}</w:tr>",
        cell("", "A"),
        cell("", "B"),
    );
    let paragraph = "<w:p><w:pPr><w:pPrChange><w:pPr><w:outlineLvl w:val='0'/></w:pPr></w:pPrChange>\
        </w:pPr><w:r><w:rPr><w:rPrChange><w:rPr><w:b/></w:rPr></w:rPrChange></w:rPr><w:t>text</w:t>\
        </w:r></w:p>";
    let file = word_file(&format!("<w:tbl>{rows}</w:tbl>{paragraph}"));
    assert_eq!(words("a.docx", &file), "| A | B |\n| --- | --- |\n| x |  |\n\ntext");
}

#[test]
fn rows_of_word_files_can_begin_after_the_first_column() {
    let cell = |text: &str| format!("<w:tc><w:p><w:r><w:t>{text}</w:t></w:r></w:p></w:tc>");
    let file = word_file(&format!(
        "<w:tbl><w:tr>{}{}</w:tr><w:tr><w:trPr><w:gridBefore w:val='1'/></w:trPr>{}</w:tr></w:tbl>",
        cell("A"),
        cell("B"),
        cell("below B")
    ));
    assert_eq!(words("a.docx", &file), "| A | B |\n| --- | --- |\n|  | below B |");
}

/// The text of a shape is inside a run.
#[test]
fn the_paragraph_around_a_shape_keeps_its_formatting_link_and_change() {
    let text = |text: &str| format!("<w:t>{text}</w:t>");
    let shape =
        |contents: &str| format!("<w:pict><w:txbxContent>{contents}</w:txbxContent></w:pict>");
    let linked = "<w:p><w:hyperlink r:id='l'><w:r><w:t>in</w:t></w:r></w:hyperlink></w:p>";
    let row = |cell: &str| {
        format!("<w:tbl><w:tr><w:trPr><w:ins/></w:trPr><w:tc>{cell}</w:tc></w:tr></w:tbl>")
    };
    for (inner, shown) in [
        (linked.to_owned(), "[in](https://a.example)"),
        (row(linked), "| [in](https://a.example) |\n| --- |"),
    ] {
        let run = format!("{}{}{}", text("a"), shape(&inner), text("b"));
        let bold = format!("<w:p><w:r><w:rPr><w:b/></w:rPr>{run}</w:r></w:p>");
        assert_eq!(words("a.docx", &word_file(&bold)), format!("{shown}\n\n**ab**"));
        let link = format!("<w:p><w:hyperlink r:id='l'><w:r>{run}</w:r></w:hyperlink></w:p>");
        let wanted = format!("{shown}\n\n[ab](https://a.example)");
        assert_eq!(words("a.docx", &word_file(&link)), wanted);
    }
    let plain = "<w:p><w:r><w:t>in</w:t></w:r></w:p>";
    for (inner, shown) in [(plain.to_owned(), "{++in++}"), (row(plain), "| {++in++} |\n| --- |")] {
        let run = format!("{}{}{}", text("a"), shape(&inner), text("b"));
        let ins = format!("<w:p><w:ins><w:r>{run}</w:r></w:ins><w:r>{}</w:r></w:p>", text("c"));
        assert_eq!(words("a.docx", &word_file(&ins)), format!("{shown}\n\n{{++ab++}}c"));
    }
}

#[test]
fn tables_of_web_pages_keep_their_header_cells_and_places() {
    let page = "<p>Text</p><table><caption>Rivers</caption><thead><tr><th rowspan=5>Name<th colspan=9>Length\
        <tbody><tr><th>Elbe<td>1094<td>km<tr><th>Oder<td><td>|</table>";
    let read = read::to_markdown("a.html", page.as_bytes()).unwrap();
    let wanted = "Text\n\nRivers\n\n| Name | Length | ← |\n| --- | --- | --- |\n| Elbe | 1094 | km |\n\
                  | Oder |  | \\| |";
    assert_eq!(read.markdown, wanted);
    assert!(read.warnings[0].starts_with("Merged cells are marked"), "{:?}", read.warnings);
}

/// E-mails arrange their blocks in tables of one column.
#[test]
fn tables_for_the_layout_of_web_pages_are_no_tables() {
    let inner = "<table><tr><td>a<td>b<tr><td><table><tr><td>c<tr><td>d</table><td>e</table>";
    let page = format!("<table><tr><td><h1>Head</h1><p>one<p>two<tr><td>{inner}</table>");
    let wanted = "# Head\n\none\n\ntwo\n\n| a | b |\n| --- | --- |\n| c<br>d | e |";
    assert_eq!(words("a.html", page.as_bytes()), wanted);
}

/// Proves S14.
#[test]
fn tables_of_web_pages_are_bounded() {
    let wide = format!("<table><tr>{}</table>", "<td>x".repeat(300));
    let read = read::to_markdown("a.html", wide.as_bytes()).unwrap();
    assert_eq!(read.markdown.matches('x').count(), 256);
    assert_eq!(read.warnings, ["Columns of tables after the 256th were skipped."]);
    let tall = format!(
        "<table><tr>{}{}</table>",
        "<td rowspan=9999>".repeat(200),
        "<tr><td>x".repeat(2_000)
    );
    let read = read::to_markdown("a.html", tall.as_bytes()).unwrap();
    assert!(read.markdown.len() < 10_000, "{}", read.markdown.len());
    assert_eq!(read.markdown.matches('x').count(), 2_000);
}
