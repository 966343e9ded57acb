//! Links within a document lead to their target in all formats that have links.

mod common;

use std::io::{Cursor, Read};

use renderers::{Document, Format, Rendered, markdown, render};

use common::part;

/// The text of all parts of a package.
fn xml(rendered: &Rendered) -> String {
    let mut package = zip::ZipArchive::new(Cursor::new(&rendered.bytes)).expect("it is a package");
    let mut text = String::new();
    for at in 0..package.len() {
        let mut bytes = Vec::new();
        package
            .by_index(at)
            .and_then(|mut part| Ok(part.read_to_end(&mut bytes)?))
            .expect("a part");
        text.push_str(&String::from_utf8_lossy(&bytes));
    }
    text
}

fn drawn(document: &Document, format: Format) -> Rendered {
    let rendered = render(document, format).expect("the document can be rendered");
    let sentences: Vec<_> = rendered.warnings.iter().map(ToString::to_string).collect();
    let losses: Vec<_> =
        sentences.iter().filter(|sentence| sentence.contains("shown as text")).collect();
    assert!(losses.is_empty(), "{format:?}: {losses:?}");
    rendered
}

/// The number of links within a PDF.
fn pdf_links(rendered: &Rendered) -> usize {
    let document = lopdf::Document::load_mem(&rendered.bytes).expect("it is a PDF");
    let is_internal = |object: &lopdf::Object| {
        let Ok(link) = object.as_dict() else { return false };
        let is_link =
            link.get(b"Subtype").and_then(lopdf::Object::as_name).is_ok_and(|n| n == b"Link");
        let action = link.get(b"A").and_then(lopdf::Object::as_dict).ok();
        is_link && action.is_none_or(|action| !action.has(b"URI"))
    };
    document.objects.values().filter(|object| is_internal(object)).count()
}

#[test]
fn links_with_percent_signs_lead_to_their_heading() {
    let source = "# Start\n\n[a](#%C3%BCber-uns) [b](#%C3%9Cber-uns) [c](#m%c3%bc)\n\n\
                  ## Über uns\n\nText.\n\n## Other {#mü}\n\nText.\n";
    let document = markdown::read(source).unwrap();
    assert_eq!(pdf_links(&drawn(&document, Format::Pdf)), 3);
    assert_eq!(xml(&drawn(&document, Format::Docx)).matches("<w:hyperlink w:anchor").count(), 3);
    assert_eq!(xml(&drawn(&document, Format::Pptx)).matches("hlinksldjump").count(), 3);
}

#[test]
fn an_escaped_id_is_text() {
    for heading in ["Set \\{#a}", "Set {\\#a}", "Set {#a\\}", "Set &#123;#a}", "Set \\{#a} ##"] {
        let source =
            format!("## {heading}\n\nText.\n\n> # {heading}\n\nSet \\{{#a}}\n-----\n\nText.\n");
        let document = markdown::read(&source).unwrap();
        for format in [Format::Docx, Format::Pptx] {
            let count = xml(&drawn(&document, format)).matches("Set {#a}").count();
            assert!(count >= 3, "{heading}: {count}");
        }
        let ids = "## One\\\\ {#a}\n\nText [x](#a).\n\nTwo {#b}\n---\n\n[y](#b)\n";
        assert_eq!(pdf_links(&drawn(&markdown::read(ids).unwrap(), Format::Pdf)), 2);
    }
}

const CAPTIONS: &str = "# Start\n\nSee @fig:b, **@tbl:t** and [it, @fig:b](https://example.org).\n\n<!-- figures -->\n\n\
     <!-- tables -->\n\n# Pictures\n\n![A](missing.png \"One\")\n\n![Two](dot.png){#fig:b}\n\n\
     # Rows\n\n|x|\n|-|\n|1|\n\nTable: Results {#tbl:t}\n";

fn with_captions() -> Document {
    let mut document = markdown::read(CAPTIONS).expect("it is Markdown");
    document.assets.insert("dot.png".into(), include_bytes!("corpus/img/dot.png").to_vec());
    document
}

/// References in Word are fields, whose targets exist, even that of a picture that is not drawn.
#[test]
fn references_to_captions_are_fields_in_word() {
    let text = xml(&drawn(&with_captions(), Format::Docx));
    for field in [
        " REF _RefFigure2 \\h ",
        " REF _RefTable1 \\h ",
        " TOC \\h \\z \\c &quot;Figure&quot; ",
        " TOC \\h \\z \\c &quot;Table&quot; ",
        " PAGEREF _RefFigure1 \\h ",
    ] {
        assert!(text.replace('"', "&quot;").contains(field), "{field}: {text}");
    }
    let bookmarks: Vec<_> = text.split("<w:bookmarkStart ").skip(1).collect();
    for name in ["_RefFigure1", "_RefFigure2", "_RefTable1"] {
        let named = format!("w:name=\"{name}\"");
        let count =
            bookmarks.iter().filter(|rest| rest.split('>').next().unwrap().contains(&named));
        assert_eq!(count.count(), 1, "{name}");
    }
    assert!(text.contains("w:anchor=\"_RefFigure1\""));
}

#[test]
fn references_to_captions_are_links_in_the_other_formats() {
    let document = with_captions();
    assert_eq!(pdf_links(&drawn(&document, Format::Pdf)), 5);
    let slides = drawn(&document, Format::Pptx);
    assert_eq!(xml(&slides).matches("hlinksldjump").count(), 5);
    let relations = part(&slides, "ppt/slides/_rels/slide1.xml.rels");
    let leads_to = |slide: usize| relations.contains(&format!("\"slide{slide}.xml\""));
    assert_eq!([1, 2, 3].map(leads_to), [false, true, true], "{relations}");
    let sheets = xml(&drawn(&document, Format::Xlsx));
    assert!(sheets.contains("Figure 2") && !sheets.contains("#figure"), "{sheets}");
}

#[test]
fn a_list_of_references_stays_a_list() {
    let source = format!("{CAPTIONS}\n- @fig:b\n- @tbl:t\n");
    let text = xml(&drawn(&markdown::read(&source).unwrap(), Format::Docx));
    assert_eq!(text.matches(" TOC ").count(), 2, "{text}");
    assert_eq!(text.matches(" REF ").count(), 4, "{text}");
}

/// A caption of a table may refer to a figure.
#[test]
fn captions_with_references_have_their_bookmark() {
    let source =
        "![One](a.png){#fig:a}\n\n|x|\n|-|\n|1|\n\nTable: From @fig:a {#tbl:t}\n\n@tbl:t\n";
    let text = xml(&drawn(&markdown::read(source).unwrap(), Format::Docx));
    assert_eq!(text.matches("w:name=\"_RefTable1\"").count(), 1, "{text}");
}

/// Each text counts its own captions.
#[test]
fn texts_that_follow_each_other_may_have_the_same_captions() {
    let mut document = with_captions();
    document.append(with_captions());
    for format in [Format::Pdf, Format::Docx, Format::Pptx, Format::Xlsx] {
        drawn(&document, format);
    }
    assert_eq!(pdf_links(&drawn(&document, Format::Pdf)), 5);
}
