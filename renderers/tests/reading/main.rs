//! Files as other programs write them, read as Markdown.

mod large_sheets;
mod nested_tables;
mod opendocument;
mod pdf;
mod slides;
mod web_pages;
mod word;
mod workbooks;

use std::io::{Cursor, Write as _};

use renderers::{Format, markdown, read, render};
use zip::{ZipWriter, write::SimpleFileOptions};

/// A ZIP file with these parts.
fn package(parts: &[(&str, &str)]) -> Vec<u8> {
    let parts: Vec<_> = parts.iter().map(|(name, text)| (*name, text.as_bytes())).collect();
    binary_package(&parts)
}

fn binary_package(parts: &[(&str, &[u8])]) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in parts {
        zip.start_file(*name, SimpleFileOptions::default()).expect("there is room");
        zip.write_all(bytes).expect("there is room");
    }
    zip.finish().expect("there is room").into_inner()
}

fn words(name: &str, bytes: &[u8]) -> String {
    read::to_markdown(name, bytes).expect("it can be read").markdown
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
    all.retain(|(name, _)| parts.iter().all(|(part, _)| part != name));
    all.extend_from_slice(parts);
    package(&all)
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

fn word_file(body: &str) -> Vec<u8> {
    let document =
        format!("<w:document xmlns:w='w' xmlns:r='r'><w:body>{body}</w:body></w:document>");
    let links = "<Relationships><Relationship Id='l' Target='https://a.example'/></Relationships>";
    package(&[("word/document.xml", &document), ("word/_rels/document.xml.rels", links)])
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

/// A superscript that is read without its mark changes the number before it.
#[test]
fn raised_and_lowered_letters_are_marked_in_all_formats() {
    let source = "# Units\n\n10<sup>6</sup> units, H<sub>2</sub>O and 2<sup>-3</sup>.\n\n- item 7[^1]\n\n\
        | Item | EUR |\n|---|---|\n| A | 100[^1] |\n| B | 30[^1] |\n\n[^1]: unaudited\n";
    for (format, name, note) in [
        (Format::Docx, "a.docx", "[^1]"),
        (Format::Pptx, "a.pptx", "<sup>1</sup>"),
        (Format::Pdf, "a.pdf", "<sup>1</sup>"),
    ] {
        let file = render(&markdown::read(source).unwrap(), format).unwrap().bytes;
        let read = words(name, &file);
        for wanted in [
            "10<sup>6</sup> units, H<sub>2</sub>O and 2<sup>-3</sup>.".to_owned(),
            format!("- item 7{note}\n"),
            format!("| A | 100{note} |\n"),
            format!("| B | 30{note} |"),
        ] {
            assert!(read.contains(&wanted), "{name}, {wanted}: {read}");
        }
    }
    let table = "| a | b |\n|---|---|\n| x | 10<sup>6</sup> m H<sub>2</sub>O |\n";
    let file = render(&markdown::read(table).unwrap(), Format::Xlsx).unwrap().bytes;
    let read = words("a.xlsx", &file);
    assert!(read.contains("| 10<sup>6</sup> m H<sub>2</sub>O |"), "{read}");
    let page = "<p>10<sup>6</sup> units, H<sub> 2 </sub>O<sup></sup> a<sup>1</sup><sup>2</sup>";
    let wanted = "10<sup>6</sup> units, H <sub>2</sub> O a<sup>1</sup><sup>2</sup>";
    assert_eq!(words("a.html", page.as_bytes()), wanted);
    let mail = format!("From: a@b.c\r\nSubject: S\r\nContent-Type: text/html\r\n\r\n{page}");
    assert!(words("a.eml", mail.as_bytes()).contains(wanted));
    let styles = |name: &str, position: &str| {
        format!(
            "<s:style s:name='{name}'><s:text-properties s:text-position='{position}'/></s:style>"
        )
    };
    let content = format!(
        "{}{}<t:p>10<t:span t:style-name='T1'>6</t:span> H<t:span t:style-name='T2'>2</t:span>O</t:p>",
        styles("T1", "super 58%"),
        styles("T2", "-33% 58%")
    );
    let read = words("a.odt", &open_document("text", "", &content));
    assert_eq!(read, "10<sup>6</sup> H<sub>2</sub>O");
}

#[test]
fn tasks_are_read_back_as_tasks() {
    let source = "- [x] done\n- [ ] open\n  - [x] inner\n";
    for (format, name) in [(Format::Docx, "a.docx"), (Format::Pptx, "a.pptx")] {
        let file = render(&markdown::read(source).unwrap(), format).unwrap().bytes;
        let read = words(name, &file);
        assert!(read.contains(source.trim_end()), "{name}: {read}");
    }
}

/// What would be a heading or a list in Markdown is a paragraph in the file.
#[test]
fn paragraphs_that_look_like_markdown_are_escaped() {
    let wanted = "\\# 1 priority\n\n\\- no item\n\n2019\\. There was\n\n\\> 5 years";
    let document = markdown::read(wanted).unwrap();
    // In a PDF they are lines of one paragraph, in which 2019 does not begin a list.
    let in_pdf = wanted.replace("\n\n", "\n").replace("2019\\.", "2019.");
    for (format, name, wanted) in [
        (Format::Docx, "a.docx", wanted),
        (Format::Pptx, "a.pptx", wanted),
        (Format::Pdf, "a.pdf", &in_pdf),
    ] {
        let read = words(name, &render(&document, format).unwrap().bytes);
        assert!(read.contains(wanted), "{name}: {read}");
    }
    let content = "<t:p># 1 priority</t:p><t:p>- no item</t:p><t:p>2019. There was</t:p>\
        <t:p>&gt; 5 years</t:p>";
    assert_eq!(words("a.odt", &open_document("text", "", content)), wanted);
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

/// A file cannot make each element read a long name that it shares with others.
/// Proves S14.
#[test]
fn names_that_elements_share_are_bounded() {
    let long = "x".repeat(100_000);
    let numbering = format!(
        "<w:numbering xmlns:w='w'><w:abstractNum w:abstractNumId='{long}'><w:lvl w:ilvl='0'>\
         <w:numFmt w:val='decimal'/><w:lvlText w:val='{long}'/></w:lvl></w:abstractNum><w:num \
         w:numId='1'><w:abstractNumId w:val='{long}'/></w:num></w:numbering>"
    );
    let item = "<w:p><w:pPr><w:numPr><w:numId w:val='1'/></w:numPr></w:pPr><w:r><w:t>item</w:t></w:r></w:p>";
    let document = format!("<w:document xmlns:w='w'><w:body>{item}</w:body></w:document>");
    let docx = package(&[("word/document.xml", &document), ("word/numbering.xml", &numbering)]);
    let content = format!(
        "<t:list-style s:name='{long}'><t:list-level-style-number t:level='1' s:num-prefix='{long}'/>\
         </t:list-style><t:list t:style-name='{long}'><t:list-item><t:p>item</t:p></t:list-item></t:list>"
    );
    let odt = open_document("text", "", &content);
    for (name, file) in [("a.docx", docx), ("a.odt", odt)] {
        let read = words(name, &file);
        assert!(
            read.starts_with(&"x".repeat(200)) && read.ends_with(" item"),
            "{name}: {read:.300}"
        );
        assert!(read.len() < 300, "{name}: {}", read.len());
    }
    let styles = format!(
        "<styleSheet><numFmts><numFmt numFmtId='170' formatCode='0.00&quot;{long}&quot;'/></numFmts>\
         <cellXfs><xf numFmtId='170'/></cellXfs></styleSheet>"
    );
    let sheet =
        "<worksheet><sheetData><row><c r='A1' s='0'><v>1</v></c></row></sheetData></worksheet>";
    let book = workbook(&[("xl/worksheets/sheet1.xml", sheet), ("xl/styles.xml", &styles)]);
    assert_eq!(words("a.xlsx", &book), "## S\n\n| 1 |\n| --- |");
}

/// A parenthesis or a space would end it.
#[test]
fn targets_of_links_are_escaped_in_all_formats() {
    let wanted = "[x](https://a.example/b_%28c%29%20d)";
    let target = "https://a.example/b_(c) d";
    let content = format!("<t:p><t:a d:href='{target}'>x</t:a></t:p>");
    assert_eq!(words("a.odt", &open_document("text", "", &content)), wanted);
    let sheet = "<worksheet xmlns:r='r'><sheetData><row><c r='A1' t='str'><v>x</v></c></row></sheetData>\
        <hyperlinks><hyperlink ref='A1' r:id='r1'/></hyperlinks></worksheet>";
    let links = format!("<Relationships><Relationship Id='r1' Target='{target}'/></Relationships>");
    let book = workbook(&[
        ("xl/worksheets/sheet1.xml", sheet),
        ("xl/worksheets/_rels/sheet1.xml.rels", &links),
    ]);
    assert!(words("a.xlsx", &book).contains(&format!("| {wanted} |")));
}

/// Characters that change the direction of what follows are invisible.
#[test]
fn controls_of_direction_are_dropped_except_from_plain_text() {
    let text = "a\u{202e}b\u{202c}\u{2066}c\u{2069}";
    assert_eq!(words("a.html", format!("<p>{text}</p>").as_bytes()), "abc");
    assert_eq!(words("a.txt", text.as_bytes()), text);
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
