//! Tests that read the parts back with zip and quick-xml.

mod kept;

use std::collections::HashSet;

use super::layouts::Layout;
use crate::document::{Block, Inline, Mark, Table};
use crate::package::picture::tests::png;
use crate::package::reading::Parts;
use crate::{Document, Format, Rendered, markdown, render};

fn repeated(range: std::ops::Range<usize>, line: impl Fn(usize) -> String) -> String {
    range.map(line).collect::<Vec<_>>().concat()
}

fn read(source: &str) -> Document {
    let mut document = markdown::read(source).unwrap();
    document.assets.insert("a.png".into(), png(400, 200));
    document
}

fn drawn(document: &Document) -> (Parts, Rendered) {
    let rendered = render(document, Format::Pptx).unwrap();
    let parts = Parts::of(&rendered.bytes);
    parts.check_links();
    all_shapes_are_within_the_slide(&parts);
    all_text_stands_in_placeholders(&parts);
    titles_are_unique(&parts);
    (parts, rendered)
}

fn deck(source: &str) -> (Parts, Rendered) {
    drawn(&read(source))
}

fn slides(parts: &Parts) -> Vec<String> {
    let is_slide = |name: &String| name.starts_with("ppt/slides/slide");
    let mut names: Vec<String> = parts.names().into_iter().filter(is_slide).collect();
    names.sort_by_key(|name| (name.len(), name.clone()));
    names
}

fn text(parts: &Parts, number: usize) -> String {
    parts.text(&format!("ppt/slides/slide{number}.xml"), "a:t")
}

/// The text of the title shapes.
fn titles(parts: &Parts) -> Vec<String> {
    let title = |name: &String| {
        let (mut inside, mut text) = (false, String::new());
        for element in parts.elements(name) {
            match element.name.as_str() {
                "p:sp" | "p:graphicFrame" => inside = false,
                "p:ph" => {
                    inside = element.attribute("type").to_lowercase().ends_with("title")
                        && element.attribute("type") != "subTitle";
                }
                "a:t" if inside => text.push_str(&element.text),
                _ => {}
            }
        }
        text
    };
    slides(parts).iter().map(title).collect()
}

fn titles_are_unique(parts: &Parts) {
    let titles = titles(parts);
    assert!(titles.iter().all(|title| !title.trim().is_empty()) || titles.len() == 1, "{titles:?}");
    let unique: HashSet<_> = titles.iter().collect();
    assert_eq!(unique.len(), titles.len(), "{titles:?}");
}

fn all_text_stands_in_placeholders(parts: &Parts) {
    for slide in slides(parts) {
        let all = parts.elements(&slide);
        let shapes = all.iter().filter(|e| e.name == "p:sp").count();
        let places = all.iter().filter(|e| e.name == "p:ph" && e.is_in("p:sp")).count();
        assert_eq!(shapes, places, "{slide}");
        let outside =
            all.iter().filter(|e| e.name == "a:t" && !e.is_in("p:sp") && !e.is_in("a:tbl"));
        assert_eq!(outside.count(), 0, "{slide}");
    }
}

fn all_shapes_are_within_the_slide(parts: &Parts) {
    let number = |text: &str| text.parse::<i64>().unwrap();
    let size = &parts.all("ppt/presentation.xml", "p:sldSz")[0];
    let (width, height) = (number(size.attribute("cx")), number(size.attribute("cy")));
    for slide in slides(parts) {
        let all = parts.elements(&slide);
        let boxes = all.iter().filter(|e| e.name == "a:off" || e.name == "a:ext");
        let boxes: Vec<_> = boxes.filter(|e| !e.is_in("p:grpSpPr")).collect();
        for pair in boxes.chunks(2) {
            let (x, y) = (number(pair[0].attribute("x")), number(pair[0].attribute("y")));
            let (cx, cy) = (number(pair[1].attribute("cx")), number(pair[1].attribute("cy")));
            let inside =
                x >= 0 && y >= 0 && cx > 0 && cy > 0 && x + cx <= width && y + cy <= height;
            assert!(inside, "{slide}: {x} {y} {cx} {cy}");
        }
        let rows = all.iter().filter(|e| e.name == "a:tr").map(|row| number(row.attribute("h")));
        assert!(rows.sum::<i64>() < height, "{slide}: the table is too high");
    }
}

#[test]
fn the_deck_of_the_corpus_has_its_slides_notes_and_numbers() {
    let mut document = read(include_str!("../../../tests/corpus/deck.md"));
    for picture in ["img/chart.png", "img/photo.jpg"] {
        document.assets.insert(picture.into(), png(640, 400));
    }
    let (parts, rendered) = drawn(&document);
    assert_eq!(rendered.pages, 16);
    assert_eq!(rendered.warnings, Vec::<&str>::new());
    let all: String = (1..=16).map(|n| text(&parts, n)).collect();
    for sentinel in ["SUB-01", "FTR-1", "LAST-16", "LAST-20", "LAST-DECK", "upsilon"] {
        assert!(all.contains(sentinel), "{sentinel}");
    }
    assert!(!all.contains("NOTE-0") && !all.contains("_class") && !all.contains(":::"));
    assert_eq!(
        parts.text("ppt/notesSlides/notesSlide1.xml", "a:t"),
        "Speaker note for the cover NOTE-01"
    );
    assert!(parts.text("ppt/notesSlides/notesSlide2.xml", "a:t").contains("NOTE-02"));
    let alt = &parts.all("ppt/slides/slide7.xml", "p:cNvPr");
    assert!(alt.iter().any(|shape| shape.attribute("descr") == "Alt beside"));
}

#[test]
fn the_same_document_gives_the_same_bytes() {
    let document = read(include_str!("../../../tests/corpus/features.md"));
    assert_eq!(render(&document, Format::Pptx), render(&document, Format::Pptx));
}

#[test]
fn every_slide_uses_a_layout() {
    let (parts, _) =
        deck("# A\n\ntext\n\n---\n\n# B\n\n```\nx\n```\n\n---\n\n> quote\n\n---\n\n# Only");
    let layouts =
        parts.names().iter().filter(|n| n.starts_with("ppt/slideLayouts/slideLayout")).count();
    assert_eq!(layouts, 11);
    let used = |n: usize| {
        let rels = parts.all(&format!("ppt/slides/_rels/slide{n}.xml.rels"), "Relationship");
        let of = rels.iter().find(|r| r.attribute("Target").contains("slideLayout")).unwrap();
        of.attribute("Target").to_owned()
    };
    let ends = ["1.xml", "6.xml", "7.xml", "3.xml"];
    for (at, end) in ends.iter().enumerate() {
        assert!(used(at + 1).ends_with(end), "{} {}", at + 1, used(at + 1));
    }
}

#[test]
fn long_things_go_on_to_further_slides_and_nothing_is_lost() {
    let items = repeated(0..60, |n| format!("- point number {n} of many\n"));
    let rows = repeated(0..60, |n| format!("| {n} | row {n} |\n"));
    let lines = repeated(0..80, |n| format!("line_{n}();\n"));
    let source =
        format!("# L\n\n{items}\n# T\n\n| a | b |\n|---|---|\n{rows}\n# C\n\n```\n{lines}```\n");
    let (parts, rendered) = deck(&source);
    assert!(rendered.pages > 8, "{}", rendered.pages);
    let all: String = (1..=rendered.pages).map(|n| text(&parts, n) + " ").collect();
    for n in 0..60 {
        assert!(all.contains(&format!("point number {n} of")) && all.contains(&format!("row {n}")));
    }
    (0..80).for_each(|n| assert!(all.contains(&format!("line_{n}()"))));
    // The header is repeated on each slide of the table.
    let tables = slides(&parts).iter().map(|name| parts.all(name, "a:tbl").len()).sum::<usize>();
    assert!(tables > 2 && titles(&parts).contains(&"T (2)".to_owned()));
}

#[test]
fn one_endless_paragraph_cell_or_line_is_cut_too() {
    let words = "word ".repeat(3_000);
    let cell = vec![Inline::Text(words.clone())];
    let table = Table { rows: vec![vec![cell.clone()]], ..Table::default() };
    let document = Document {
        blocks: vec![
            Block::Paragraph(cell),
            Block::Table(table),
            Block::Code { language: None, text: "x".repeat(9_000) },
        ],
        ..Document::default()
    };
    let (parts, rendered) = drawn(&document);
    let all: String = (1..=rendered.pages).map(|n| text(&parts, n) + " ").collect();
    assert_eq!(
        all.matches("word").count(),
        6_000 + titles(&parts).join(" ").matches("word").count()
    );
    assert_eq!(all.matches('x').count(), 9_000);
}

#[test]
fn a_header_as_high_as_a_slide_does_not_come_again() {
    let words = vec![vec![Inline::Text("word ".repeat(900))], vec![Inline::Text("b".into())]];
    let rows = vec![vec![vec![Inline::Text("x".into())], vec![]]; 3];
    let table = Table { header: words, rows, ..Table::default() };
    let blocks = vec![Block::Table(table)];
    let (_, rendered) = drawn(&Document { blocks, ..Document::default() });
    assert!(rendered.pages < 12, "{}", rendered.pages);
}

#[test]
fn numbers_go_on_after_a_cut() {
    let items = repeated(3..40, |n| format!("{n}. item\n"));
    let (parts, _) = deck(&format!("# L\n\n{items}"));
    let start = |n: usize| {
        let part = format!("ppt/slides/slide{n}.xml");
        parts.all(&part, "a:buAutoNum")[0].attribute("startAt").parse::<u64>().unwrap()
    };
    assert_eq!(start(1), 3);
    let on_first = parts.all("ppt/slides/slide1.xml", "a:buAutoNum").len() as u64;
    assert_eq!(start(2), 3 + on_first);
}

#[test]
fn lists_that_follow_each_other_begin_again() {
    let source = "# T\n\n1. a\n2. b\n   1. c\n   2. d\n\n<!-- -->\n\n1. e\n   1. f\n2. g\n";
    let (parts, rendered) = deck(source);
    let read = crate::read::to_markdown("a.pptx", &rendered.bytes).unwrap().markdown;
    let wanted = "1. a\n2. b\n    1. c\n    2. d\n1. e\n    1. f\n2. g";
    assert!(read.contains(wanted), "{read}");
    let elements = parts.elements("ppt/slides/slide1.xml");
    let names = elements.iter().map(|element| element.name.as_str());
    let kinds: Vec<&str> = names.filter(|n| matches!(*n, "a:buAutoNum" | "a:buChar")).collect();
    let at = kinds.iter().rposition(|kind| *kind == "a:buChar").unwrap();
    assert_eq!(kinds.len() - at, 4, "{kinds:?}");
}

#[test]
fn links_lead_out_and_to_slides() {
    let (parts, _) = deck("# A\n\n[b](#b-c) and [out](https://e.org \"tip\")\n\n# B c\n\ntext");
    let links = parts.all("ppt/slides/slide1.xml", "a:hlinkClick");
    assert_eq!(links[0].attribute("action"), "ppaction://hlinksldjump");
    assert_eq!(links[1].attribute("tooltip"), "tip");
    let rels = parts.all("ppt/slides/_rels/slide1.xml.rels", "Relationship");
    assert!(rels.iter().any(|r| r.attribute("Target") == "slide2.xml"));
}

#[test]
fn links_lead_to_repeated_headings() {
    for (source, wanted) in [
        ("# A\n\n[b](#b-1)\n\n# B\n\none\n\n## B\n\ntwo", "slide3.xml"),
        ("# A\n\n[b](#b-2)\n\n# B 1\n\none\n\n# B\n\ntwo\n\n# B\n\nthree", "slide4.xml"),
    ] {
        let (parts, rendered) = deck(source);
        let rels = parts.all("ppt/slides/_rels/slide1.xml.rels", "Relationship");
        assert!(rels.iter().any(|r| r.attribute("Target") == wanted), "{rels:?}");
        assert_eq!(rendered.warnings, Vec::<&str>::new());
    }
}

#[test]
fn pictures_stand_beside_text_with_their_alt_and_missing_ones_are_named() {
    let (parts, rendered) = deck("# A\n\n- text\n\n![alt](a.png)\n\n# B\n\n![gone](b.png)");
    let first = "ppt/slides/slide1.xml";
    assert_eq!(parts.all(first, "p:pic").len(), 1);
    assert!(parts.all(first, "p:cNvPr").iter().any(|shape| shape.attribute("descr") == "alt"));
    assert!(text(&parts, 2).contains("[gone]"));
    assert!(rendered.warnings[0].to_string().contains("b.png"), "{:?}", rendered.warnings);
}

#[test]
fn slides_of_the_older_shape_are_four_by_three() {
    let (parts, _) = deck("---\ntitle: T\nsize: 4:3\n---\n# A\n\ntext");
    let size = &parts.all("ppt/presentation.xml", "p:sldSz")[0];
    assert_eq!((size.attribute("cx"), size.attribute("type")), ("9144000", "screen4x3"));
    assert_eq!(titles(&parts), ["T", "A"]);
}

#[test]
fn numbers_and_footers_obey_their_directives() {
    let source = "---\npaginate: true\nfooter: FOOT\n---\n# A\n\n- x\n\n---\n\n<!-- _paginate: false -->\n\n# B\n\ny";
    let (parts, _) = deck(source);
    let numbered = |n: usize| !parts.all(&format!("ppt/slides/slide{n}.xml"), "a:fld").is_empty();
    assert!(numbered(1) && !numbered(2));
    assert!(text(&parts, 1).contains("FOOT"));
    let (plain, _) = deck("# A\n\nx");
    assert!(plain.all("ppt/slides/slide1.xml", "a:fld").is_empty());
}

#[test]
fn control_characters_never_reach_a_slide() {
    let content = vec![Inline::Text("a\u{0}b\u{1f}".into())];
    let blocks = vec![
        Block::Heading { level: 1, content: content.clone() },
        Block::Paragraph(content),
        Block::Comment("n\u{7}ote".into()),
    ];
    let (parts, rendered) = drawn(&Document { blocks, ..Document::default() });
    assert_eq!(text(&parts, 1), "abab");
    assert_eq!(parts.text("ppt/notesSlides/notesSlide1.xml", "a:t"), "note");
    assert!(
        rendered.warnings.iter().any(|w| w.to_string().starts_with("5 control")),
        "{:?}",
        rendered.warnings
    );
}

#[test]
fn too_many_slides_are_refused_with_the_figure() {
    let source = repeated(0..301, |n| format!("# {n}\n\n"));
    let error = render(&read(&source), Format::Pptx).unwrap_err().to_string();
    assert!(error.contains("301 slides") && error.contains("300"), "{error}");
}

#[test]
fn an_empty_cell_is_no_higher_than_its_neighbours() {
    let (parts, _) = deck("# T\n\n| a | b |\n|---|---|\n| c | |\n");
    let (slide, size) = (parts.xml("ppt/slides/slide1.xml"), "sz=\"2200\"");
    assert!(slide.contains(&format!("<a:endParaRPr {size}/>")), "{slide}");
}

/// The words that the renderer adds are in the document's language.
#[test]
fn alerts_speak_the_language_of_the_document() {
    let (parts, _) = deck("---\nlang: zh\n---\n\n# T\n\n> [!IMPORTANT]\n> x\n");
    assert!(text(&parts, 1).contains("重要"), "{}", text(&parts, 1));
}

/// An alert is in a box, as in Word and PDF. The text after it is not.
#[test]
fn alerts_stand_in_boxes() {
    let source = "# T\n\nbefore\n\n> [!WARNING]\n> hot\n>\n> - very\n\nafter\n";
    let (parts, _) = deck(source);
    let all = parts.elements("ppt/slides/slide1.xml");
    let named: Vec<_> = all.iter().filter(|e| e.name == "p:cNvPr").collect();
    let names: Vec<_> = named.iter().map(|e| e.attribute("name")).collect();
    let kinds: Vec<_> = names.iter().map(|name| name.split(' ').next().unwrap()).collect();
    assert_eq!(kinds, ["", "Title", "Text", "Alert", "Text"], "{names:?}");
    let slide = parts.xml("ppt/slides/slide1.xml");
    let from = slide.find("name=\"Alert").unwrap();
    let to = from + slide[from..].find("</p:sp>").unwrap();
    let alert = &slide[from..to];
    assert!(alert.contains("<a:ln") && alert.contains("9A6700"), "{alert}");
    assert!(["Warning", "hot", "very"].iter().all(|word| alert.contains(word)), "{alert}");
    assert!(!alert.contains("after"), "{alert}");
}

/// A long alert continues in a box on the next slide, and its title stays with its text.
#[test]
fn a_long_alert_is_cut_with_its_box() {
    let lines = repeated(0..60, |n| format!("> - line {n} of an alert\n"));
    let above = repeated(0..12, |n| format!("- point {n}\n"));
    let (parts, _) = deck(&format!("# T\n\n{above}\n> [!NOTE]\n{lines}"));
    let boxes =
        |number: usize| parts.xml(&format!("ppt/slides/slide{number}.xml")).contains("Alert");
    let count = slides(&parts).len();
    assert!(count > 2 && (2..=count).all(boxes), "{count} slides");
    let all: String = (1..=count).map(|number| text(&parts, number)).collect();
    assert!((0..60).all(|n| all.contains(&format!("line {n} of"))), "{all}");
    let titled: Vec<_> = (1..=count).filter(|n| text(&parts, *n).contains("Note")).collect();
    assert_eq!(titled.len(), 1);
    assert!(text(&parts, titled[0]).contains("line 0 of"), "the title goes with its text");
}

/// PowerPoint mirrors the left margin; a date has the direction of the text above it.
#[test]
fn right_to_left_paragraphs_are_indented_on_the_right() {
    let source = "# سلام\n\nليلى\n\n- بند\n\n12-03\n\n| الاسم | 2 |\n|---|---|\n| نهر | 1 |\n";
    let (parts, _) = deck(source);
    let paragraphs = parts.all("ppt/slides/slide1.xml", "a:pPr");
    let marked: Vec<_> = paragraphs.iter().filter(|p| !p.attribute("marL").is_empty()).collect();
    assert_eq!(marked.len(), 3);
    assert!(marked.iter().all(|p| p.attribute("rtl") == "1" && p.attribute("algn") == "r"));
    assert_ne!(marked[1].attribute("marL"), "0", "the bullet hangs before its text");
    assert_eq!(parts.all("ppt/slides/slide1.xml", "a:tblPr")[0].attribute("rtl"), "1");
}

/// The light text of a dark template is not placed on a light background.
#[test]
fn boxes_on_dark_slides_are_not_light() {
    let mut document = read("# T\n\n> [!NOTE]\n> x\n\n```rust\nlet x = 1;\n```\n");
    let light = drawn(&document).0.xml("ppt/slides/slide1.xml").to_owned();
    let background = crate::document::Color::read("101820");
    document.wear(crate::document::Brand { background, ..Default::default() });
    let dark = drawn(&document).0.xml("ppt/slides/slide1.xml").to_owned();
    // Code, and the alert.
    for fill in ["F6F8FA", "EBF3FC"] {
        assert_eq!(light.matches(fill).count(), 1, "{light}");
        assert_eq!(dark.matches(fill).count(), 0);
    }
    assert!(dark.contains("<a:noFill/>"), "{dark}");
}

#[test]
fn small_letters_below_large_titles_are_smaller_than_those_around_them() {
    let source = "# Review <small>a</small>\n\nBoard <small>b</small>\n\n---\n\n\
                  # Part <small>c</small>\n\n## One <small>d</small>\n\n---\n\n\
                  ## 42 <small>%</small>\n\nof <small>e</small>\n";
    let (parts, _) = deck(source);
    for (slide, wanted) in [(1, ["3400", "2040"]), (2, ["3060", "2040"]), (3, ["7480", "2040"])] {
        let runs = parts.all(&format!("ppt/slides/slide{slide}.xml"), "a:rPr");
        let sizes = runs.iter().map(|run| run.attribute("sz")).filter(|size| !size.is_empty());
        assert_eq!(sizes.collect::<Vec<_>>(), wanted, "{slide}");
    }
}

#[test]
fn small_letters_are_smaller_than_those_around_them() {
    let source = "## A <small>b</small>\n\n- c <small>d</small>\n\n\
                  | x |\n|---|\n| e <small>f</small> |\n";
    let all = deck(source).0.elements("ppt/slides/slide1.xml");
    let size = |text: &str| {
        let at = all.iter().position(|e| e.name == "a:t" && e.text.trim() == text).unwrap();
        let properties = all[..at].iter().rfind(|e| e.name == "a:rPr").unwrap();
        properties.attribute("sz").parse::<f64>().ok()
    };
    for (around, small, inherited) in [("A", "b", 3_000.0), ("c", "d", 2_000.0), ("e", "f", 0.0)] {
        let wanted = size(around).unwrap_or(inherited) * 0.85;
        assert!((size(small).unwrap() - wanted).abs() < 1.0, "{small}: {wanted}");
    }
}

/// The schema has no smaller font size than one point.
#[test]
fn small_letters_within_small_ones_have_a_size() {
    let text = vec![Inline::Text("x".into())];
    let small = (0..30).fold(text, |inner, _| vec![Inline::Marked(Mark::Small, inner)]);
    let (parts, _) =
        drawn(&Document { blocks: vec![Block::Paragraph(small)], ..Document::default() });
    let runs = parts.all("ppt/slides/slide1.xml", "a:rPr");
    assert!(runs.iter().any(|run| run.attribute("sz") == "100"), "{runs:?}");
}
