//! The formats from outside: the content of the source is in the file, for any input.

use std::io::{Cursor, Read};

use renderers::{Document, Format, RenderError, Rendered, markdown, render};

const FEATURES: &str = include_str!("corpus/features.md");
const SHEETS: &str = include_str!("corpus/sheets.md");
const DECK: &str = include_str!("corpus/deck.md");

fn with_pictures(source: &str) -> Document {
    let mut document = markdown::read(source).expect("the corpus is readable");
    for (url, bytes) in [
        ("img/chart.png", include_bytes!("corpus/img/chart.png").as_slice()),
        ("img/dot.png", include_bytes!("corpus/img/dot.png")),
        ("img/diagram.svg", include_bytes!("corpus/img/diagram.svg")),
        ("img/photo.jpg", include_bytes!("corpus/img/photo.jpg")),
    ] {
        document.assets.insert(url.into(), bytes.to_vec());
    }
    document
}

fn pdf_text(rendered: &Rendered) -> String {
    let document = lopdf::Document::load_mem(&rendered.bytes).expect("the corpus is readable");
    let pages: Vec<u32> = document.get_pages().keys().copied().collect();
    assert_eq!(pages.len(), rendered.pages);
    document.extract_text(&pages).expect("the corpus is readable")
}

/// Every part of a package, as text.
fn parts(rendered: &Rendered) -> Vec<(String, String)> {
    let mut package =
        zip::ZipArchive::new(Cursor::new(&rendered.bytes)).expect("the corpus is readable");
    let mut parts = Vec::new();
    for at in 0..package.len() {
        let mut part = package.by_index(at).expect("the corpus is readable");
        let mut bytes = Vec::new();
        part.read_to_end(&mut bytes).expect("the corpus is readable");
        parts.push((part.name().to_owned(), String::from_utf8_lossy(&bytes).into_owned()));
    }
    parts
}

fn xml(rendered: &Rendered) -> String {
    parts(rendered).into_iter().map(|(_, text)| text).collect()
}

fn sentinels(source: &str) -> Vec<&str> {
    let is_sentinel = |word: &&str| {
        word.split_once('-').is_some_and(|(a, b)| {
            (2..=3).contains(&a.len())
                && a.starts_with(|c: char| c.is_ascii_uppercase())
                && a.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit())
                && (2..=4).contains(&b.len())
                && b.chars().all(|c| c.is_ascii_digit())
        })
    };
    source
        .split(|c: char| !(c.is_ascii_alphanumeric() || c == '-'))
        .filter(is_sentinel)
        .filter(|word| !word.starts_with("HID"))
        .collect()
}

#[test]
fn every_sentinel_reaches_the_pdf() {
    let rendered = render(&with_pictures(FEATURES), Format::Pdf).unwrap();
    assert_eq!(rendered, render(&with_pictures(FEATURES), Format::Pdf).unwrap());
    let text = pdf_text(&rendered).replace('\n', "");
    // Alternative texts and link titles are not printed on the page.
    let off_page = ["ALT-50", "ALT-52", "ALT-53", "ALT-54"];
    let missing: Vec<&str> = sentinels(FEATURES)
        .into_iter()
        .filter(|s| !off_page.contains(s) && !text.contains(s))
        .collect();
    assert_eq!(missing, Vec::<&str>::new());
    assert!(!text.contains("HID-"));
    let bytes = String::from_utf8_lossy(&rendered.bytes);
    assert!(bytes.starts_with("%PDF-1.7"));
}

#[test]
fn every_sentinel_reaches_the_workbook() {
    let rendered = render(&with_pictures(FEATURES), Format::Xlsx).unwrap();
    let xml = xml(&rendered);
    // The subtitle is a document property.
    let missing: Vec<&str> =
        sentinels(FEATURES).into_iter().filter(|s| *s != "ALT-53" && !xml.contains(s)).collect();
    assert_eq!(missing, Vec::<&str>::new());
    assert!(!xml.contains("HID-"));
}

/// Proves S15.
#[test]
fn only_checked_formulas_become_formulas() {
    let rendered = render(&markdown::read(SHEETS).unwrap(), Format::Xlsx).unwrap();
    let mut formulas = Vec::new();
    for (name, text) in parts(&rendered) {
        assert!(!name.contains("externalLink"), "{name}");
        formulas.extend(
            text.split("<f>")
                .skip(1)
                .filter_map(|f| f.split_once("</f>").map(|(formula, _)| formula.to_owned())),
        );
    }
    let expected = ["B2*C2", "SUM(B2:B3)", "IF(B4&gt;0,\"y\",\"n\")", "1+1"];
    assert_eq!(formulas, expected);
}

#[test]
fn a_workbook_has_its_values_and_no_zeros_in_their_place() {
    let rendered = render(&markdown::read(SHEETS).unwrap(), Format::Xlsx).unwrap();
    let xml = xml(&rendered);
    assert!(xml.contains("<f>SUM(B2:B3)</f><v>-6</v>"));
    assert!(xml.contains("<f>IF(B4&gt;0,\"y\",\"n\")</f><v>y</v>"));
    assert_eq!(rendered.pages, 7);
}

/// The PDF of `FEATURES` is rendered twice, to check for its sentinels.
/// Proves T5.
#[test]
fn the_same_input_gives_the_same_bytes() {
    for source in [SHEETS, DECK, CHART] {
        let first = render(&with_pictures(source), Format::Pdf).unwrap();
        assert_eq!(first, render(&with_pictures(source), Format::Pdf).unwrap());
    }
}

/// Proves T5.
#[test]
fn the_same_input_gives_the_same_office_files() {
    for source in [FEATURES, SHEETS, DECK, CHART] {
        for format in [Format::Xlsx, Format::Docx, Format::Pptx] {
            let first = render(&with_pictures(source), format).unwrap();
            assert_eq!(first, render(&with_pictures(source), format).unwrap());
        }
    }
}

const CHART: &str = "---\ntheme: corporate\ntitle: T\nheader: Head\ncolumns: 2\n---\n\n## A\n\n```chart\n\
    type: pie\ntitle: Harbours\n\nPort,Tonnes\nRotterdam,60\nAntwerp,40\n```\n\n```chart\ntype: odd\nx\n```\n";

#[test]
fn charts_and_the_logo_are_in_all_four_formats_and_a_broken_chart_is_named() {
    let mut document = markdown::read(CHART).unwrap();
    document.logo = Some(include_bytes!("corpus/img/chart.png").to_vec());
    for format in [Format::Docx, Format::Pptx, Format::Xlsx] {
        let rendered = render(&document, format).unwrap();
        let (names, xml): (Vec<_>, Vec<_>) = parts(&rendered).into_iter().unzip();
        let xml = xml.concat();
        for words in ["Rotterdam", "Pie chart “Harbours”", "type: odd"] {
            assert!(xml.contains(words), "{words} in {format:?}");
        }
        assert!(names.iter().any(|name| name.contains("/media/")), "{names:?}");
        let charts = names.iter().filter(|name| name.contains("charts/chart")).count();
        assert_eq!(charts > 0, format != Format::Docx, "{names:?}");
        assert!(rendered.warnings[0].to_string().contains("not “odd”"), "{:?}", rendered.warnings);
    }
    let pdf = render(&document, Format::Pdf).unwrap();
    assert_eq!(pdf.warnings.len(), 1, "{:?}", pdf.warnings);
    assert!(pdf_text(&pdf).contains("Head"));
}

/// The vector is kept, with pixels for programs that do not support vectors.
/// Proves MC-27.
#[test]
fn svg_pictures_are_vectors_with_pixels_behind_them() {
    let document = with_pictures("![alt](img/diagram.svg)");
    for format in [Format::Docx, Format::Pptx] {
        let rendered = render(&document, format).unwrap();
        let names: Vec<String> = parts(&rendered).into_iter().map(|(name, _)| name).collect();
        for ending in [".svg", ".png"] {
            assert!(names.iter().any(|name| name.ends_with(ending)), "{ending}: {names:?}");
        }
        assert!(xml(&rendered).contains("svgBlip"));
        assert_eq!(rendered.warnings, Vec::<&str>::new());
    }
}

#[test]
fn hostile_sources_end_in_a_file_or_a_sentence() {
    are_drawn_or_refused(&[
        include_str!("corpus/hostile/control-chars.md").to_owned(),
        include_str!("corpus/hostile/links.md").to_owned(),
        include_str!("corpus/hostile/typst-injection.md").to_owned(),
        format!("|{}\n|{}\n{}", "a|".repeat(1000), "-|".repeat(1000), "x\n".repeat(2000)),
        (1..500).map(|n| "`".repeat(n) + " ").collect(),
        format!("## S\n\n| a |\n|---|\n| {} |\n", "z".repeat(40_000)),
        (0..200).map(|n| ["a[^x", &n.to_string(), "] "].concat()).collect::<String>()
            + &(0..200).map(|n| ["\n\n[^x", &n.to_string(), "]: n"].concat()).collect::<String>(),
    ]);
}

#[test]
fn deep_nesting_ends_in_a_file_or_a_sentence() {
    let mut sources = Vec::new();
    for n in [1_usize, 30, 1_000] {
        sources.push("> ".repeat(n) + "deep");
        sources.push("- ".repeat(n) + "deep");
        sources.push("[".repeat(n) + "x" + &"](y)".repeat(n));
        sources.push("*a **b ".repeat(n) + "x" + &"b** a*".repeat(n));
        sources.push("$".to_owned() + &"{".repeat(n) + "x" + &"}".repeat(n) + "$");
    }
    are_drawn_or_refused(&sources);
}

fn are_drawn_or_refused(sources: &[String]) {
    for source in sources {
        let shown: String = source.chars().take(60).collect();
        match markdown::read(source) {
            Err(RenderError::TooLarge(sentence)) => assert!(sentence.contains("limit")),
            Err(other) => panic!("{shown}: {other}"),
            Ok(document) => {
                for format in [Format::Pdf, Format::Xlsx] {
                    let rendered = render(&document, format);
                    assert!(rendered.is_ok(), "{shown}: {rendered:?}");
                }
            }
        }
    }
}

#[test]
fn control_characters_never_reach_a_part() {
    let source = include_str!("corpus/hostile/control-chars.md");
    let rendered = render(&markdown::read(source).unwrap(), Format::Xlsx).unwrap();
    for (name, text) in parts(&rendered) {
        let bad = text
            .chars()
            .find(|&c| (c.is_control() && !matches!(c, '\n' | '\r' | '\t')) || c == '\u{ffff}');
        assert_eq!(bad, None, "{name}");
        if !name.starts_with("xl/media/") {
            let mut reader = quick_xml::Reader::from_str(&text);
            while reader.read_event().unwrap() != quick_xml::events::Event::Eof {}
        }
    }
}

/// Tables of HTML with merged cells.
#[test]
fn merged_cells_are_merged_in_all_formats() {
    let source = "<table><tr><th rowspan=2>Region</th><th colspan=2>2025</th></tr><tr><th>Plan</th>\
                  <th>Actual</th></tr><tr><td>North</td><td>10</td><td>11</td></tr></table>\n";
    let document = markdown::read(source).unwrap();
    for (format, marks) in [
        (Format::Docx, &["<w:gridSpan w:val=\"2\"/>", "<w:vMerge w:val=\"restart\"/>"][..]),
        (Format::Pptx, &["rowSpan=\"2\"", "gridSpan=\"2\"", "hMerge=\"1\"", "vMerge=\"1\""]),
        (Format::Xlsx, &["<mergeCell ref=\"A1:A2\"/>", "<mergeCell ref=\"B1:C1\"/>"]),
    ] {
        let rendered = render(&document, format).unwrap();
        let xml = xml(&rendered);
        for mark in marks {
            assert!(xml.contains(mark), "{format:?}: {mark}");
        }
        assert_eq!(rendered.warnings, Vec::<&str>::new(), "{format:?}");
    }
    let rendered = render(&document, Format::Pdf).unwrap();
    let text = pdf_text(&rendered);
    for word in ["Region", "2025", "Plan", "Actual", "North"] {
        assert!(text.contains(word), "{text}");
    }
    assert_eq!(rendered.warnings, Vec::<&str>::new());
}

/// Both rows of a header are header cells in all formats.
#[test]
fn all_rows_of_a_header_look_the_same() {
    let source = "<table><thead><tr><th>Region</th><th colspan=2>2025</th></tr><tr><td>Name</td><td>Plan</td>\
                  <td>Actual</td></tr></thead><tbody><tr><td>North</td><td>10</td><td>11</td></tr></tbody></table>\n";
    let document = markdown::read(source).unwrap();
    let docx = xml(&render(&document, Format::Docx).unwrap());
    assert_eq!(docx.matches("<w:tblHeader/>").count(), 2);
    let pptx = xml(&render(&document, Format::Pptx).unwrap());
    let is_bold = |word: &str| {
        let run = pptx.split("<a:r>").find(|run| run.contains(&format!(">{word}<")));
        run.is_some_and(|run| run.contains("b=\"1\""))
    };
    assert_eq!(["2025", "Plan", "North"].map(is_bold), [true, true, false]);
    let xlsx = parts(&render(&document, Format::Xlsx).unwrap());
    let sheet = xlsx.iter().find(|(name, _)| name.contains("sheet1.xml")).unwrap();
    let style = |cell: &str| {
        let (_, rest) = sheet.1.split_once(&format!("<c r=\"{cell}\" s=\"")).unwrap();
        rest.split('"').next().unwrap().to_owned()
    };
    assert_eq!(style("A1"), style("A2"), "{}", sheet.1);
    assert!(sheet.1.contains("ySplit=\"2\""), "{}", sheet.1);
    let text = pdf_text(&render(&document, Format::Pdf).unwrap());
    assert!(["Region", "Plan", "North"].iter().all(|word| text.contains(word)), "{text}");
}

/// A cell over several columns neither makes a column of numbers one of text nor a wide one.
#[test]
fn cells_over_several_columns_leave_the_columns_as_they_are() {
    let source = "<table><thead><tr><th>Region</th><th colspan=2>2025</th></tr><tr><th></th><th>Plan</th>\
                  <th>Actual</th></tr></thead><tr><td>North</td><td>10</td><td>11</td></tr><tr><td>South</td>\
                  <td colspan=2>A remark that is longer than all numbers</td></tr></table>\n";
    let document = markdown::read(source).unwrap();
    let docx = xml(&render(&document, Format::Docx).unwrap());
    let align = |word: &str| {
        let paragraph =
            docx.split("<w:p>").find(|part| part.contains(&format!(">{word}<"))).unwrap();
        paragraph.split("<w:jc w:val=\"").nth(1).map(|rest| rest.split('"').next().unwrap())
    };
    assert_eq!(["2025", "Plan", "10"].map(align), [Some("center"), Some("right"), Some("right")]);
    assert_eq!(align("A remark that is longer than all numbers"), None);
    let widths: Vec<i64> = docx
        .split("<w:gridCol w:w=\"")
        .skip(1)
        .map(|rest| rest.split('"').next().unwrap().parse().unwrap())
        .collect();
    assert!((widths[1] - widths[2]).abs() < widths[2] / 3, "{widths:?}");
    let xlsx = xml(&render(&document, Format::Xlsx).unwrap());
    assert!(xlsx.contains("horizontal=\"center\""), "{xlsx}");
}

/// Numbers of lists within lists, also within bullets, are letters and Roman numerals in all formats.
#[test]
fn lists_are_numbered_alike_in_all_formats() {
    let source = "1. One\n   1. Two\n   2. Next\n      1. Three\n\n- Bullet\n  1. Below\n";
    let document = markdown::read(source).unwrap();
    let rendered = render(&document, Format::Pdf).unwrap();
    assert_eq!(rendered.warnings, Vec::<&str>::new());
    let text = pdf_text(&rendered);
    let signs = ["1.", "a.", "b.", "i."];
    assert!(signs.iter().all(|sign| text.contains(sign)), "{text}");
    assert_eq!(text.matches("a.").count(), 2, "{text}");
    assert_eq!(text.matches("1.").count(), 1, "{text}");
    let sheet = xml(&render(&document, Format::Xlsx).unwrap());
    for mark in ["1. ", "a. ", "b. ", "i. "] {
        assert!(sheet.contains(&format!("preserve\">{mark}</t>")), "{mark}: {sheet}");
    }
    let slides = xml(&render(&document, Format::Pptx).unwrap());
    assert_eq!(slides.matches("alphaLcPeriod").count(), 3);
    let word = xml(&render(&document, Format::Docx).unwrap());
    assert!(word.contains("<w:numFmt w:val=\"lowerLetter\"/>"));
}

/// Formulas on slides are Office Math, with a line of text for other programs.
#[test]
fn formulas_on_slides_are_office_math() {
    let source = "# Sums\n\nWith $x^2$ in a line.\n\n$$\\frac{a}{b}$$\n\n| a |\n|---|\n| $y_1$ |\n";
    let rendered = render(&markdown::read(source).unwrap(), Format::Pptx).unwrap();
    assert_eq!(rendered.warnings, Vec::<&str>::new());
    let parts = parts(&rendered);
    let slide = &parts.iter().find(|(name, _)| name == "ppt/slides/slide1.xml").unwrap().1;
    for part in [
        "<mc:Choice xmlns:m14=\"http://schemas.microsoft.com/office/drawing/2010/main\" Requires=\"m14\"><p:sp>",
        "<m14:m><m:oMath xmlns:m=\"http://schemas.openxmlformats.org/officeDocument/2006/math\"><m:sSup>",
        "<m:jc m:val=\"centerGroup\"/>",
        "<a:latin typeface=\"Cambria Math\"/></a:rPr><m:t xml:space=\"preserve\">x</m:t>",
        "<mc:Fallback><p:sp>",
        ">x²<",
        ">a/b<",
    ] {
        assert!(slide.contains(part), "{part}: {slide}");
    }
    // The shape and its replacement are the same shape.
    for (before, after) in [("<mc:Choice", "</mc:Choice>"), ("<mc:Fallback>", "</mc:Fallback>")] {
        let inside = slide.split_once(before).unwrap().1.split_once(after).unwrap().0;
        assert!(inside.contains("<p:cNvPr id=\"3\""), "{inside}");
    }
}

/// An empty comment, which ends a list in CommonMark, makes no notes.
#[test]
fn an_empty_comment_makes_no_notes() {
    let document = markdown::read("# A\n\n- a\n\n<!-- -->\n\n- b\n").unwrap();
    let parts = parts(&render(&document, Format::Pptx).unwrap());
    assert!(!parts.iter().any(|(name, _)| name.contains("notesSlide1")));
}

/// The formulas and totals of a workbook are values elsewhere.
#[test]
fn formats_that_do_not_compute_show_values() {
    let source = "## Sales\n\n<!-- total: sum -->\n\n| Item | Amount |\n|---|---|\n| a | $1,200.00 |\n\
                  | b | =B2*3 |\n\n## Sum\n\n| What | Value |\n|---|---|\n| All | =Sales!B4 |\n";
    let document = markdown::read(source).unwrap();
    for format in [Format::Docx, Format::Pptx] {
        let xml = xml(&render(&document, format).unwrap());
        assert!(xml.contains("$3,600.00") && !xml.contains("=B2"), "{format:?}");
        assert!(
            xml.matches("$4,800.00").count() > 1,
            "the total, and what refers to it: {format:?}"
        );
    }
    let text = pdf_text(&render(&document, Format::Pdf).unwrap());
    assert!(text.contains("3,600.00") && text.contains("4,800.00"), "{text}");
    let sheets = xml(&render(&document, Format::Xlsx).unwrap());
    assert!(sheets.contains("<f>'Sales'!B4</f><v>4800</v>"), "{sheets}");
}

/// The cost of code must be known before it is laid out.
#[test]
fn code_over_the_limit_of_pages_is_refused_before_layout() {
    let code = |lines: usize| format!("```\n{}```\n", "x = 1\n".repeat(lines));
    let refused = render(&markdown::read(&code(30_000)).unwrap(), Format::Pdf).unwrap_err();
    assert!(matches!(refused, RenderError::TooLarge(_)), "{refused}");
    // After the layout, the number of pages would be known.
    assert!(refused.to_string().contains("would fill"), "{refused}");
    let rendered = render(&markdown::read(&code(1_000)).unwrap(), Format::Pdf).unwrap();
    assert_eq!(pdf_text(&rendered).matches("x = 1").count(), 1_000);
}
