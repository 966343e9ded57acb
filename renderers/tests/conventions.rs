//! Notations of other programs and of HTML, in whole files of all formats.

mod common;

use renderers::{Format, Rendered, markdown, read, render};

use common::part;

fn drawn(source: &str, format: Format) -> Rendered {
    let document = markdown::read(source).expect("the source is readable");
    render(&document, format).expect("the document can be rendered")
}

/// The texts of a slide, in their order.
fn texts(deck: &Rendered, number: usize) -> String {
    let slide = part(deck, &format!("ppt/slides/slide{number}.xml"));
    let leaves = slide.split("<a:t>").skip(1).filter_map(|leaf| leaf.split("</").next());
    leaves.collect::<Vec<_>>().join("|")
}

#[test]
fn settings_of_a_slide_of_slidev_are_not_shown() {
    let source = "# A\n\n---\ntransition: slide-up\nlevel: 2\n---\n# B\n\nb\n";
    let deck = drawn(source, Format::Pptx);
    assert_eq!([texts(&deck, 1), texts(&deck, 2)], ["A", "B|b"]);
    assert_eq!(deck.warnings, ["Settings of slides were ignored: transition, level."]);
}

#[test]
fn slots_of_slidev_are_columns_of_a_slide() {
    let source =
        "# A\n\n---\nlayout: two-cols\n---\n\n# B\n\nleft\n\n::right::\n\nright\n\n<Toc/>\n";
    let deck = drawn(source, Format::Pptx);
    assert_eq!(texts(&deck, 2), "B|left|right");
    let slide = part(&deck, "ppt/slides/slide2.xml");
    assert!(slide.matches("<p:sp>").count() >= 3, "two texts below the title: {slide}");
    assert_eq!(deck.warnings, ["Components have no content here and were removed: Toc."]);
}

#[test]
fn notes_and_separators_of_reveal_are_not_shown() {
    let deck = drawn("## A\n\nNote:\nsaid\n\n--\n\n## B\n\nb\n", Format::Pptx);
    assert_eq!((deck.pages, texts(&deck, 1), texts(&deck, 2)), (2, "A".into(), "B|b".into()));
    assert!(part(&deck, "ppt/notesSlides/notesSlide1.xml").contains(">said<"));
}

#[test]
fn marks_of_html_are_formats_in_all_files() {
    let source =
        "# T\n\nH<sub>2</sub>O m<sup>2</sup> <u>under</u> ==marked== <small>less</small> end\n";
    let has = |format: Format, name: &str, wanted: &[&str]| {
        let text = part(&drawn(source, format), name);
        for wanted in wanted {
            assert!(text.contains(wanted), "{wanted}: {text}");
        }
    };
    let scripts = ["<w:vertAlign w:val=\"subscript\"/>", "<w:vertAlign w:val=\"superscript\"/>"];
    has(Format::Docx, "word/document.xml", &scripts);
    let others = ["<w:u w:val=\"single\"/>", "<w:highlight w:val=\"yellow\"/>", "<w:sz w:val="];
    has(Format::Docx, "word/document.xml", &others);
    let all = ["baseline=\"-", "u=\"sng\"", "<a:highlight>"];
    has(Format::Pptx, "ppt/slides/slide1.xml", &all);
    let all = ["<vertAlign val=\"subscript\"/>", "<vertAlign val=\"superscript\"/>", "<u/>"];
    has(Format::Xlsx, "xl/sharedStrings.xml", &all);
    let pdf = drawn(source, Format::Pdf);
    let text = read::to_markdown("a.pdf", &pdf.bytes).unwrap().markdown;
    let words = "H<sub>2</sub>O m<sup>2</sup> under marked less end";
    assert!(text.contains(words), "{text}");
    assert_eq!(pdf.warnings, Vec::<&str>::new());
}

/// Without a language, the direction of a document is that of most of its paragraphs.
#[test]
fn an_item_in_latin_letters_keeps_the_direction_of_its_document() {
    let source = "# שלום עולם\n\nזה טקסט בעברית על מסמכים.\n\n- ראשון\n- API הוא ממשק\n";
    let docx = part(&drawn(source, Format::Docx), "word/document.xml");
    let item = docx.split("<w:p>").find(|text| text.contains("API")).unwrap_or_default();
    assert!(item.contains("<w:bidi/>"), "{item}");
    let pptx = part(&drawn(source, Format::Pptx), "ppt/slides/slide1.xml");
    let item = pptx.split("<a:p>").find(|text| text.contains("API")).unwrap_or_default();
    assert!(item.contains("rtl=\"1\""), "{item}");
}

/// They are comments only in Word.
#[test]
fn comments_of_reviewers_are_footnotes_in_the_other_formats() {
    let source = "# T\n\nSum[^comment-1].\n\n[^comment-1]: Ann: Is this right?\n";
    for format in [Format::Pptx, Format::Xlsx, Format::Pdf] {
        let file = drawn(source, format);
        let name = format!("a.{}", format.ending());
        let text = read::to_markdown(&name, &file.bytes).expect("the file is readable").markdown;
        assert!(text.contains("Ann: Is this right?"), "{format:?}: {text}");
        assert_eq!(file.warnings, [""; 0], "{format:?}");
    }
}
