//! Links within a document lead to their target in all formats that have links.

use std::io::{Cursor, Read};

use renderers::{Document, Format, Rendered, markdown, render};

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
    let losses: Vec<_> =
        rendered.warnings.iter().filter(|sentence| sentence.contains("shown as text")).collect();
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
