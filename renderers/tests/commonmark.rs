//! The examples of the CommonMark specification in all formats. Its licence (CC BY-SA) keeps them
//! out of this repository; `tests/documents/check.sh --full` fetches them and runs this test.

use std::io::{Cursor, Read};

use renderers::{Format, Rendered, markdown, render};
use serde_json::Value;

/// The text of the HTML that an example results in.
fn text_of(html: &str) -> String {
    let mut text = String::new();
    let mut rest = html;
    while let Some((before, tag)) = rest.split_once('<') {
        text.push_str(before);
        // A break or the end of a block separates words.
        if tag.starts_with(['/', 'b', 'h', 'l', 'p', 'd']) {
            text.push(' ');
        }
        rest = tag.split_once('>').map_or("", |(_, rest)| rest);
    }
    text + rest
}

/// The contents of the file as text without markup.
fn contents(rendered: &Rendered, format: Format) -> String {
    if format == Format::Pdf {
        let document = lopdf::Document::load_mem(&rendered.bytes).expect("it is our own");
        let pages: Vec<u32> = document.get_pages().keys().copied().collect();
        let text = document.extract_text(&pages).expect("it is our own");
        // The reader separates words wherever the font changes.
        return text.replace(['\n', ' ', '\u{ad}'], "");
    }
    let mut package = zip::ZipArchive::new(Cursor::new(&rendered.bytes)).expect("it is our own");
    let mut text = String::new();
    for at in 0..package.len() {
        let mut part = package.by_index(at).expect("it is our own");
        let mut bytes = Vec::new();
        part.read_to_end(&mut bytes).expect("it is our own");
        let xml = String::from_utf8_lossy(&bytes).into_owned();
        let mut rest = xml.as_str();
        while let Some((before, tag)) = rest.split_once('<') {
            text.push_str(before);
            rest = tag.split_once('>').map_or("", |(_, rest)| rest);
        }
    }
    text
}

/// Whether the words of an example are those of its HTML: raw HTML, entities and pictures, whose
/// alternative texts are attributes, are not compared.
fn is_compared(html: &str) -> bool {
    !["<script", "<style", "<textarea", "<pre lang", "<!", "<?", "&", "<img", "<del", "<table"]
        .iter()
        .any(|mark| html.contains(mark))
}

#[test]
#[ignore = "the examples are fetched by tests/documents/check.sh --full"]
fn every_example_is_drawn_in_all_formats_and_its_words_are_kept() {
    let path = std::env::var_os("COMMONMARK_EXAMPLES").expect("it names the examples as JSON");
    let examples = std::fs::read_to_string(path).expect("the file is readable");
    let examples: Vec<Value> = serde_json::from_str(&examples).expect("it is a list");
    assert!(examples.len() >= 652, "{}", examples.len());
    let mut lost = Vec::new();
    for example in &examples {
        let source = example["markdown"].as_str().expect("it is a text").replace('→', "\t");
        let html = example["html"].as_str().expect("it is a text").replace('→', "\t");
        let document = markdown::read(&source).expect("every text is a document");
        for format in [Format::Docx, Format::Pptx, Format::Xlsx, Format::Pdf] {
            let rendered = render(&document, format).expect("every document can be drawn");
            let found = contents(&rendered, format) + &rendered.warnings.join("\n");
            let text = text_of(&html);
            let words = text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|w| w.len() > 1);
            for word in words.filter(|_| is_compared(&html)) {
                if !found.contains(word) {
                    lost.push(format!("{} in {format:?}: {word}", example["number"]));
                }
            }
        }
    }
    assert_eq!(lost, Vec::<String>::new());
}
