//! Word files.

use renderers::{Format, markdown, read, render};

use super::{package, word_file, words};

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

/// Word aligns the parts of a header with tabs of another kind.
#[test]
fn aligned_tabs_are_between_words() {
    let line = |tab: &str| {
        let run = format!("<w:r><w:t>Left</w:t>{tab}<w:t>right</w:t></w:r>");
        words("a.docx", &word_file(&format!("<w:p>{run}</w:p>")))
    };
    let aligned = line("<w:ptab w:relativeTo='margin' w:alignment='right' w:leader='none'/>");
    assert_eq!(aligned, line("<w:tab/>"));
    assert_ne!(aligned, "Leftright");
}

/// Parentheses, roots and limits are elements of an equation and no text.
#[test]
fn equations_of_word_files_and_slides_keep_their_meaning() {
    let source = r"With $\left(a+b\right)^2+\sqrt{x}+\int_0^1 f$ in a line.";
    for (format, name) in [(Format::Docx, "a.docx"), (Format::Pptx, "a.pptx")] {
        let rendered = render(&markdown::read(source).unwrap(), format).unwrap();
        let read = words(name, &rendered.bytes);
        assert!(read.contains("With (a+b)^(2)+√(x)+∫_(0)^(1)f in a line."), "{read}");
    }
    let run = |text: &str| format!("<m:r><m:t>{text}</m:t></m:r>");
    let document = format!(
        "<w:document xmlns:w='w' xmlns:m='m'><w:body><w:p><m:oMath>{}<w:del>{}</w:del></m:oMath><w:ins>\
         <m:oMath>{}</m:oMath></w:ins></w:p></w:body></w:document>",
        run("a"),
        run("+b"),
        run("c")
    );
    assert_eq!(words("a.docx", &package(&[("word/document.xml", &document)])), "a{--+b--}{++c++}");
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

/// A contract: headings count, and clauses have the numbers of their headings.
#[test]
fn items_of_word_files_keep_their_labels() {
    let level = |at: usize, format: &str, text: &str, more: &str| {
        format!(
            "<w:lvl w:ilvl='{at}'><w:start w:val='1'/><w:numFmt w:val='{format}'/>{more}\
             <w:lvlText w:val='{text}'/></w:lvl>"
        )
    };
    let levels = [
        level(0, "upperRoman", "Article %1", ""),
        level(1, "decimal", "%1.%2", "<w:isLgl/>"),
        level(2, "lowerLetter", "(%3)", ""),
    ];
    let numbering = format!(
        "<w:numbering xmlns:w='w'><w:abstractNum w:abstractNumId='0'>{}</w:abstractNum>\
         <w:num w:numId='1'><w:abstractNumId w:val='0'/></w:num></w:numbering>",
        levels.concat()
    );
    let paragraph = |level: usize, more: &str, text: &str| {
        format!(
            "<w:p><w:pPr><w:numPr><w:ilvl w:val='{level}'/><w:numId w:val='1'/></w:numPr>{more}\
             </w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>"
        )
    };
    let heading = "<w:outlineLvl w:val='0'/>";
    let body = [
        paragraph(0, heading, "Terms"),
        paragraph(1, "", "first"),
        paragraph(1, "", "second"),
        paragraph(0, heading, "Liability"),
        paragraph(1, "", "third"),
        paragraph(2, "", "of one"),
        paragraph(2, "", "of two"),
        paragraph(0, "", "The rest"),
    ];
    let document =
        format!("<w:document xmlns:w='w'><w:body>{}</w:body></w:document>", body.concat());
    let file = package(&[("word/document.xml", &document), ("word/numbering.xml", &numbering)]);
    let wanted = "# Terms\n\n    1.1 first\n    1.2 second\n\n# Liability\n\n    2.1 third\n\
                  \u{20}       (a) of one\n        (b) of two\nArticle III The rest";
    assert_eq!(words("a.docx", &file), wanted);
}

#[test]
fn footnotes_and_endnotes_of_a_word_file_have_names_of_their_own() {
    let body = "<w:p><w:r><w:t>said</w:t></w:r><w:r><w:footnoteReference w:id='2'/></w:r>\
        <w:r><w:t>, done</w:t></w:r><w:r><w:endnoteReference w:id='2'/></w:r></w:p>";
    let document = format!("<w:document xmlns:w='w'><w:body>{body}</w:body></w:document>");
    let notes = |name: &str, text: &str| {
        format!(
            "<w:{name}s xmlns:w='w'><w:{name} w:id='2'><w:p><w:r><w:t>{text}</w:t></w:r></w:p>\
             </w:{name}></w:{name}s>"
        )
    };
    let file = package(&[
        ("word/document.xml", &document),
        ("word/footnotes.xml", &notes("footnote", "below")),
        ("word/endnotes.xml", &notes("endnote", "at the end")),
    ]);
    let wanted = "said[^2], done[^endnote-2]\n\n## Footnotes\n\n[^2]: below\n\n## Endnotes\n\n\
                  [^endnote-2]: at the end";
    assert_eq!(words("a.docx", &file), wanted);
}

#[test]
fn quotes_of_paragraphs_in_a_word_file_are_read() {
    let source = "Before\n\n> Said one.\n>\n> Said two.\n\nAfter\n";
    let rendered = render(&markdown::read(source).unwrap(), Format::Docx).unwrap();
    let read = words("a.docx", &rendered.bytes);
    assert!(read.starts_with(source), "{read}");
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

/// Word before 2007 merged cells of a row as it merges those of a column.
#[test]
fn merged_cells_of_old_word_files_are_marked() {
    let cell = |merge: &str, text: &str| {
        let restart = if text.is_empty() { "" } else { " w:val='restart'" };
        format!(
            "<w:tc><w:tcPr><w:{merge}{restart}/></w:tcPr><w:p><w:r><w:t>{text}</w:t></w:r></w:p></w:tc>"
        )
    };
    let rows = [
        cell("hMerge", "A") + &cell("hMerge", "") + &cell("vMerge", "B"),
        cell("hMerge", "C") + &cell("hMerge", "D") + &cell("vMerge", ""),
    ];
    let file = word_file(&format!("<w:tbl><w:tr>{}</w:tr></w:tbl>", rows.join("</w:tr><w:tr>")));
    assert_eq!(words("a.docx", &file), "| A | ← | B |\n| --- | --- | --- |\n| C | D | ↑ |");
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
fn symbols_of_word_files_have_their_characters() {
    let symbol =
        |font: &str, code: &str| format!("<w:r><w:sym w:font='{font}' w:char='{code}'/></w:r>");
    let typed = "<w:r><w:rPr><w:rFonts w:ascii='Wingdings'/></w:rPr><w:t>\u{f0fb} b</w:t></w:r>";
    let known = symbol("Wingdings", "F0FC") + &symbol("Symbol", "F061") + typed;
    let file = word_file(&format!("<w:p>{known}</w:p>"));
    let read = read::to_markdown("a.docx", &file).unwrap();
    assert_eq!((&*read.markdown, read.warnings), ("✔α✘ b", vec![]));
    let file = word_file(&format!("<w:p>{}</w:p>", symbol("Webdings", "F061")));
    let read = read::to_markdown("a.docx", &file).unwrap();
    assert_eq!(read.markdown, "\u{fffd}");
    assert_eq!(
        read.warnings,
        ["Symbols without a Unicode character are shown as \u{fffd}: Webdings."]
    );
}

/// Also where only a style says so, and where it is tracked.
#[test]
fn hidden_text_of_word_files_is_marked() {
    let styles = "<w:styles xmlns:w='w'><w:style w:styleId='Base'><w:rPr><w:vanish/></w:rPr></w:style>\
        <w:style w:styleId='Secret'><w:basedOn w:val='Base'/></w:style></w:styles>";
    let run = |style: &str, text: &str| {
        format!("<w:r><w:rPr>{style}</w:rPr><w:t xml:space='preserve'>{text}</w:t></w:r>")
    };
    // Long names are cut.
    let with_long_names = |part: &str| part.replace("'Base'", &format!("'{}'", "B".repeat(300)));
    let in_style = "<w:rStyle w:val='Base'/>";
    let paragraph = "<w:pPr><w:pStyle w:val='Secret'/></w:pPr>".to_owned();
    let note = "<w:r><w:footnoteReference w:id='2'/></w:r>";
    let body = [
        paragraph.clone() + &run("", "all ") + &run("<w:b/>", "of it") + note,
        paragraph.clone() + &run("", "a") + &run("<w:vanish w:val='0'/>", " shown"),
        format!("<w:ins>{}{}</w:ins>", run(in_style, "b"), run("", "c")) + &run(in_style, " d"),
        run(&(in_style.to_owned() + "<w:vanish w:val='0'/>"), "e") + &run("<w:vanish/>", "f"),
    ];
    let document = format!(
        "<w:document xmlns:w='w'><w:body><w:p>{}</w:p></w:body></w:document>",
        body.join("</w:p><w:p>")
    );
    let notes = format!(
        "<w:footnotes xmlns:w='w'><w:footnote w:id='2'><w:p>{paragraph}{}</w:p></w:footnote>\
         </w:footnotes>",
        run("", "below")
    );
    let file = package(&[
        ("word/document.xml", &with_long_names(&document)),
        ("word/styles.xml", &with_long_names(styles)),
        ("word/footnotes.xml", &notes),
    ]);
    let wanted = "{hidden: all **of it**}[^2]\n\n{hidden: a} shown\n\n{++{hidden: b}c++}{hidden:  d}\n\n\
        e{hidden: f}\n\n## Footnotes\n\n[^2]: {hidden: below}";
    assert_eq!(words("a.docx", &file), wanted);
}

/// Some programs write a web page into a Word file, and nothing else.
#[test]
fn embedded_documents_of_word_files_are_read() {
    let archive = "MIME-Version: 1.0\r\nContent-Type: multipart/related; boundary=x\r\n\r\n--x\r\n\
        Content-Type: text/html; charset=utf-8\r\n\r\n<p>in <b>an</b> archive</p>\r\n--x--\r\n";
    let links = "<Relationships><Relationship Id='a' Target='/word/a.mht'/><Relationship Id='b' \
        Target='b.html'/><Relationship Id='c' Target='c.docx'/><Relationship Id='d' \
        Target='https://a.example/d.html'/></Relationships>";
    let chunk = |id: &str| format!("<w:altChunk r:id='{id}'/>");
    let body = format!(
        "<w:document xmlns:w='w' xmlns:r='r'><w:body>{}<w:p><w:r><w:t>text</w:t></w:r></w:p>{}{}\
         </w:body></w:document>",
        chunk("a"),
        chunk("b"),
        chunk("c")
    );
    let file = package(&[
        ("word/document.xml", &body),
        ("word/_rels/document.xml.rels", links),
        ("word/a.mht", archive),
        ("word/b.html", "<h1>On</h1><p>a page</p>"),
        ("word/c.docx", "other"),
    ]);
    let read = read::to_markdown("a.docx", &file).unwrap();
    assert_eq!(read.markdown, "in **an** archive\n\ntext\n\n# On\n\na page");
    assert_eq!(read.warnings, ["Embedded documents were skipped."]);
}

/// Those of older forms have no text.
#[test]
fn check_boxes_of_forms_in_word_files_are_read() {
    let field = |state: &str| {
        format!(
            "<w:r><w:fldChar w:fldCharType='begin'><w:ffData><w:checkBox><w:sizeAuto/>{state}\
             </w:checkBox></w:ffData></w:fldChar></w:r><w:r><w:instrText>FORMCHECKBOX</w:instrText></w:r>\
             <w:r><w:fldChar w:fldCharType='end'/></w:r><w:r><w:t xml:space='preserve'> x </w:t></w:r>"
        )
    };
    let states = [
        "<w:default w:val='0'/>",
        "<w:default w:val='0'/><w:checked/>",
        "<w:default w:val='1'/>",
        "<w:default w:val='1'/><w:checked w:val='0'/>",
    ];
    let file = word_file(&format!("<w:p>{}</w:p>", states.map(field).concat()));
    assert_eq!(words("a.docx", &file), "☐ x ☒ x ☒ x ☐ x");
}

#[test]
fn a_word_file_with_damaged_notes_is_read() {
    let note = |id: u8, text: &str| {
        format!("<w:footnote w:id='{id}'><w:p><w:r><w:t>{text}</w:t></w:r></w:p></w:footnote>")
    };
    let notes = format!("<w:footnotes xmlns:w='w'>{}{}", note(1, "whole"), "<w:footnote w:id='2'");
    let body = "<w:document xmlns:w='w'><w:body><w:p><w:r><w:t>text</w:t></w:r></w:p></w:body></w:document>";
    let file = package(&[("word/document.xml", body), ("word/footnotes.xml", &notes)]);
    let read = read::to_markdown("a.docx", &file).unwrap();
    assert_eq!(read.markdown, "text\n\n## Footnotes\n\n[^1]: whole");
    assert!(read.warnings[0].starts_with("Footnotes are incomplete."), "{:?}", read.warnings);
}

#[test]
fn deleted_rows_of_word_files_are_marked() {
    let run = |text: &str| format!("<w:r><w:t>{text}</w:t></w:r>");
    let cell = |content: &str| format!("<w:tc><w:p>{content}</w:p></w:tc>");
    let gone = "<w:del><w:r><w:delText>c</w:delText></w:r></w:del>";
    let rows = format!(
        "<w:tr>{}{}{}</w:tr><w:tr><w:trPr><w:del/></w:trPr>{}{}{}</w:tr>",
        cell(&run("A")),
        cell(&run("B")),
        cell(&run("C")),
        cell(&run("a")),
        cell(""),
        cell(gone)
    );
    let read = read::to_markdown("a.docx", &word_file(&format!("<w:tbl>{rows}</w:tbl>"))).unwrap();
    let wanted = "| A | B | C |\n| --- | --- | --- |\n| {--a--} |  | {--c--} |";
    assert_eq!(read.markdown, wanted);
    assert!(read.warnings[0].starts_with("Tracked changes"), "{:?}", read.warnings);
}
