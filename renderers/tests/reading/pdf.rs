//! PDFs as other programs write them.

use lopdf::{Dictionary, Document, Object, Stream, dictionary};
use renderers::{Format, markdown, read, render};

use super::words;

/// A table from codes to text in which the codes are those of Unicode.
const TO_UNICODE: &str = "/CIDInit /ProcSet findresource begin
12 dict begin
begincmap
/CMapName /X def
/CMapType 2 def
1 begincodespacerange
<0000> <ffff>
endcodespacerange
2 beginbfrange
<0020> <007e> <0020>
<05d0> <05ea> <05d0>
endbfrange
endcmap
CMapName currentdict /CMap defineresource pop
end
end";

/// A text on a page, with its left edge and its distance from the bottom.
struct Drawn(&'static str, usize, usize);

/// A PDF of one page with these texts, whose letters stand from left to right.
fn drawn_from_left(texts: &[Drawn]) -> Vec<u8> {
    let mut document = Document::with_version("1.7");
    let table = document.add_object(Stream::new(Dictionary::new(), TO_UNICODE.into()));
    let letters = document.add_object(dictionary! {
        "Type" => "Font", "Subtype" => "CIDFontType2", "BaseFont" => "X", "DW" => 500,
        // Letters that are not used say that this is no font of code.
        "W" => vec![1.into(), vec![500.into(), 600.into()].into()],
    });
    let font = document.add_object(dictionary! {
        "Type" => "Font", "Subtype" => "Type0", "BaseFont" => "X", "Encoding" => "Identity-H",
        "DescendantFonts" => vec![letters.into()], "ToUnicode" => table,
    });
    let codes = |line: &str| {
        let codes = line.encode_utf16().map(|code| format!("{code:04x}"));
        codes.collect::<Vec<_>>().concat()
    };
    let shown = |Drawn(text, x, y): &Drawn| {
        format!("BT /F 12 Tf 1 0 0 1 {x} {y} Tm <{}> Tj ET ", codes(text))
    };
    let content: String = texts.iter().map(shown).collect();
    let content = document.add_object(Stream::new(Dictionary::new(), content.into_bytes()));
    let pages = document.new_object_id();
    let page = document.add_object(dictionary! {
        "Type" => "Page", "Parent" => pages, "Contents" => content,
        "Resources" => dictionary! { "Font" => dictionary! { "F" => font } },
        "MediaBox" => vec![0.into(), 0.into(), 595.into(), 842.into()],
    });
    let tree = dictionary! { "Type" => "Pages", "Kids" => vec![page.into()], "Count" => 1 };
    document.objects.insert(pages, Object::Dictionary(tree));
    let catalog = document.add_object(dictionary! { "Type" => "Catalog", "Pages" => pages });
    document.trailer.set("Root", catalog);
    saved(document)
}

fn saved(mut document: Document) -> Vec<u8> {
    let mut bytes = Vec::new();
    document.save_to(&mut bytes).expect("there is room");
    bytes
}

#[test]
fn right_to_left_text_is_read_in_its_order() {
    let read = words(
        "a.pdf",
        &drawn_from_left(&[Drawn("12 םלוע םולש", 50, 700), Drawn("plain text", 50, 660)]),
    );
    assert_eq!(read, "## Page 1\n\nשלום עולם 12\n\nplain text");
}

/// A program may raise letters by a state of the text, and not by their position.
#[test]
fn raised_letters_of_pdfs_are_superscripts() {
    let mut document = Document::load_mem(&drawn_from_left(&[Drawn("x", 50, 700)])).unwrap();
    let page = document.get_pages()[&1];
    let content = "BT /F 12 Tf 1 0 0 1 50 700 Tm <00310030> Tj /F 7 Tf 4 Ts <0036> Tj \
        /F 12 Tf 0 Ts <0020006d> Tj ET";
    document.change_page_content(page, content.into()).unwrap();
    assert_eq!(words("a.pdf", &saved(document)), "## Page 1\n\n10<sup>6</sup> m");
}

/// The gaps between letters and the scale of a text move what follows it.
#[test]
fn parts_of_words_with_other_gaps_stay_together() {
    let mut document = Document::load_mem(&drawn_from_left(&[Drawn("x", 50, 700)])).unwrap();
    let page = document.get_pages()[&1];
    let unhapp = "<0075006e0068006100700070> Tj";
    let content = format!(
        "BT /F 12 Tf 2 Tc 1 0 0 1 50 700 Tm {unhapp} 1 0 0 1 98 700 Tm <0079> Tj 0 Tc 50 Tz \
         1 0 0 1 50 660 Tm {unhapp} 1 0 0 1 68 660 Tm <0079> Tj ET"
    );
    document.change_page_content(page, content.into()).unwrap();
    assert_eq!(words("a.pdf", &saved(document)), "## Page 1\n\nunhappy\n\nunhappy");
}

/// Such text may be written for the model alone. On a scanned page it is that of the picture.
#[test]
fn invisible_text_of_pdfs_is_reported() {
    let mut document = Document::load_mem(&drawn_from_left(&[Drawn("x", 50, 700)])).unwrap();
    let page = document.get_pages()[&1];
    let mut read = |content: &str| {
        document.change_page_content(page, content.into()).unwrap();
        read::to_markdown("a.pdf", &saved(document.clone())).unwrap()
    };
    let shown = "BT /F 12 Tf 1 0 0 1 50 700 Tm <0061> Tj";
    let hidden = read(&format!("{shown} 3 Tr <0062> Tj ET"));
    assert_eq!(hidden.markdown, "## Page 1\n\nab");
    assert_eq!(hidden.warnings, ["1 page has text that is invisible."]);
    for content in [format!("{shown} ET"), format!("{shown} 3 Tr <0020> Tj 0 Tr <0062> Tj ET")] {
        assert_eq!(read(&content).warnings, Vec::<String>::new());
    }
}

/// They are no part of the content of the page.
#[test]
fn form_fields_and_comments_of_pdfs_are_read() {
    let text = |text: &str| Object::string_literal(text);
    let mut document = Document::load_mem(&drawn_from_left(&[Drawn("A form", 50, 700)])).unwrap();
    let outer = document.add_object(dictionary! { "T" => text("buyer"), "FT" => "Tx" });
    let values = vec![text("red"), text("blue")];
    let annotations = [
        dictionary! { "Subtype" => "Widget", "Parent" => outer, "T" => text("name"), "V" => text("Ann\rLee") },
        dictionary! { "Subtype" => "Widget", "Parent" => outer, "T" => text("empty"), "V" => text(" ") },
        dictionary! { "Subtype" => "Widget", "FT" => "Btn", "TU" => text("I agree"), "AS" => "Yes" },
        dictionary! { "Subtype" => "Widget", "FT" => "Btn", "T" => text("more"), "AS" => "Off" },
        dictionary! { "Subtype" => "Widget", "FT" => "Btn", "T" => text("Send"), "Ff" => 65_536 },
        dictionary! { "Subtype" => "Widget", "FT" => "Ch", "T" => text("colors"), "V" => values },
        dictionary! { "Subtype" => "Widget", "FT" => "Btn", "T" => text("size"), "Ff" => 32_768, "AS" => "XL" },
        dictionary! { "Subtype" => "Widget", "FT" => "Btn", "T" => text("size"), "Ff" => 32_768, "AS" => "Off" },
        dictionary! { "Subtype" => "FreeText", "Contents" => text("typed") },
        dictionary! { "Subtype" => "Text", "T" => text("Ben"), "Contents" => text("Why?"), "F" => 2 },
        dictionary! { "Subtype" => "Link", "Contents" => text("the target") },
    ];
    let annotations: Vec<Object> = annotations.into_iter().map(Object::Dictionary).collect();
    let page = document.get_pages()[&1];
    let page = document.get_object_mut(page).and_then(Object::as_dict_mut).unwrap();
    page.set("Annots", annotations);
    let wanted = "## Page 1\n\nA form\n\n### Form fields\n\n- buyer.name: Ann\n  Lee\n- [x] I agree\n\
                  - [ ] more\n- colors: red, blue\n- size: XL\n\n### Comments\n\n- typed\n- {hidden: Ben: Why?}";
    assert_eq!(words("a.pdf", &saved(document)), wanted);
}

/// LibreOffice writes neither labels nor the kind of a list.
#[test]
fn lists_of_pdfs_without_labels_are_read() {
    let source = "- one\n- two\n\n3. first\n   1. inner\n   2. next\n4. second\n";
    let rendered = render(&markdown::read(source).unwrap(), Format::Pdf).unwrap();
    let mut pdf = Document::load_mem(&rendered.bytes).unwrap();
    for element in pdf.objects.values_mut() {
        let Ok(element) = element.as_dict_mut() else { continue };
        match element.get(b"S").and_then(Object::as_name).unwrap_or_default() {
            b"Lbl" => element.set("S", Object::Name(b"Span".to_vec())),
            b"L" => drop(element.remove(b"A")),
            _ => {}
        }
    }
    let read = words("a.pdf", &saved(pdf));
    let counted = "3. first\n    a. inner\n    b. next\n4. second";
    assert!(read.contains("- one\n- two\n") && read.contains(counted), "{read}");
}

/// As LibreOffice draws them: each label and each text for itself, also where they touch.
#[test]
fn lists_of_pdfs_without_tags_are_read() {
    let read = words(
        "a.pdf",
        &drawn_from_left(&[
            Drawn("Before it.", 50, 700),
            Drawn("a.", 68, 686),
            Drawn("alpha", 86, 686),
            Drawn("b.", 68, 672),
            Drawn("an item of two lines, because it has so many words", 86, 672),
            Drawn("that it wraps", 86, 658),
            Drawn("(1)", 86, 644),
            Drawn("both", 104, 644),
            Drawn("(2)", 86, 630),
            Drawn("next", 104, 630),
            Drawn("Between.", 50, 616),
            Drawn("iv.", 68, 602),
            Drawn("four", 98, 602),
            Drawn("v.", 68, 588),
            Drawn("five", 98, 588),
            Drawn("A. Smith was here.", 50, 574),
            Drawn("-", 68, 560),
            Drawn("one", 86, 560),
            Drawn("-", 68, 546),
            Drawn("two", 86, 546),
        ]),
    );
    let wanted = "## Page 1\n\nBefore it.\n\na. alpha\nb. an item of two lines, because it has so \
        many words that it wraps\n    (1) both\n    (2) next\n\nBetween.\n\niv. four\nv. five\n\n\
        A. Smith was here.\n\n- one\n- two";
    assert_eq!(read, wanted);
}

/// The headers of a table with merged cells, in several lines, and on each page.
#[test]
fn the_tables_of_tagged_pdfs_are_read_from_their_tags() {
    let row = |row: usize| format!("<tr><td>{row}</td><td>a<br>b</td><td>x</td></tr>");
    let rows = (1..=80).map(row).collect::<Vec<_>>().concat();
    let source = format!(
        "<table><thead><tr><th rowspan=\"2\">Region</th><th colspan=\"2\">2025</th></tr><tr><th>Q1</th>\
         <th>Q2</th></tr></thead><tbody>{rows}</tbody></table>\n"
    );
    let pdf = render(&markdown::read(&source).unwrap(), Format::Pdf).unwrap().bytes;
    let read = words("a.pdf", &pdf);
    assert!(read.contains("## Page 2"), "{read}");
    for page in read.split("## Page ").skip(1) {
        let page = page.replace("**", "");
        let head = "| Region | 2025 | ← |\n| --- | --- | --- |\n| ↑ | Q1 | Q2 |\n";
        assert!(page[1..].trim_start().starts_with(head), "{page}");
    }
}

#[test]
fn right_to_left_tables_are_read_from_the_right() {
    let mut cells = [
        Drawn("םש", 300, 700),
        Drawn("םוכס", 100, 700),
        Drawn("ןופצ", 300, 680),
        Drawn("7", 100, 680),
        Drawn("םורד", 300, 660),
        Drawn("12", 100, 660),
    ];
    let wanted = "| שם | סכום |\n| --- | --- |\n| צפון | 7 |\n| דרום | 12 |";
    let read = words("a.pdf", &drawn_from_left(&cells));
    assert!(read.ends_with(wanted), "{read}");
    // Some programs draw the cells from the left.
    cells.chunks_mut(2).for_each(<[Drawn]>::reverse);
    let read = words("a.pdf", &drawn_from_left(&cells));
    assert!(read.ends_with(wanted), "{read}");
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
