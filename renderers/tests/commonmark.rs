//! Examples of Markdown in all formats: those of this project, and those of the CommonMark
//! specification. The licence of the latter (CC BY-SA) keeps them out of this repository;
//! `tests/documents/check.sh` fetches them and runs that test.

use std::{
    io::{Cursor, Read},
    path::Path,
};

use quick_xml::escape::unescape;
use renderers::{Document, Format, Rendered, markdown, render};
use serde_json::Value;

const FORMATS: [Format; 4] = [Format::Docx, Format::Pptx, Format::Xlsx, Format::Pdf];

/// The number of examples in a PDF, whose fonts take most of the time, unless each has its own; and
/// in the files for other programs.
const TOGETHER: usize = 40;

/// The entities in the HTML of the specification.
const ENTITIES: [(&str, &str); 4] =
    [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&amp;", "&")];

/// The contents of the file as text without markup and spaces: readers of PDFs separate words
/// wherever the font changes.
fn contents(rendered: &Rendered, format: Format) -> String {
    if format == Format::Pdf {
        let document = lopdf::Document::load_mem(&rendered.bytes).expect("it is our own");
        let pages: Vec<u32> = document.get_pages().keys().copied().collect();
        let text = document.extract_text(&pages).expect("it is our own");
        return without_spaces(&text.replace('\u{ad}', ""));
    }
    let mut package = zip::ZipArchive::new(Cursor::new(&rendered.bytes)).expect("it is our own");
    let mut text = String::new();
    for at in 0..package.len() {
        let mut part = package.by_index(at).expect("it is our own");
        if Path::new(part.name()).extension().is_some_and(|ending| ending == "xml") {
            let mut xml = String::new();
            part.read_to_string(&mut xml).expect("it is our own");
            text.push_str(&characters(&xml));
        }
    }
    without_spaces(&text)
}

/// The text of XML without its tags.
fn characters(xml: &str) -> String {
    let mut text = String::new();
    let mut rest = xml;
    while let Some((before, tag)) = rest.split_once('<') {
        text.push_str(before);
        rest = tag.split_once('>').map_or("", |(_, rest)| rest);
    }
    unescape(&text).expect("it is our own").into_owned()
}

fn without_spaces(text: &str) -> String {
    text.split_whitespace().collect()
}

/// Everything that a reader or a warning says, without spaces.
fn found(rendered: &Rendered, format: Format) -> String {
    contents(rendered, format)
        + &without_spaces(
            &rendered.warnings.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"),
        )
}

fn drawn(document: &Document, format: Format) -> Rendered {
    render(document, format).expect("every document can be drawn")
}

fn read(source: &str) -> Document {
    markdown::read(source).expect("every text is a document")
}

/// One document of several.
fn combined(documents: impl Iterator<Item = Document>) -> Document {
    let whole = documents.reduce(|mut whole, document| {
        whole.append(document);
        whole
    });
    whole.unwrap_or_default()
}

/// An example of this project.
struct Example {
    name: String,
    source: String,
    /// Words that are shown.
    words: Vec<String>,
    /// Texts that are not shown.
    markup: Vec<String>,
}

impl Example {
    /// Parses an example: its name and its lines. Its number makes its words unique.
    fn of(number: usize, text: &str) -> Self {
        let (name, body) = text.split_once('\n').expect("a name is followed by lines");
        let is_source = |line: &&str| !line.starts_with("=/");
        let source: String = body.split_inclusive('\n').filter(is_source).collect();
        let source = with_words(&source, number);
        let kinds = ['W', 'U'].into_iter().flat_map(|kind| ('1'..='9').map(move |n| [kind, n]));
        let words = kinds.map(|[kind, n]| word(kind, n, number));
        let words = words.filter(|word| source.contains(word)).collect();
        let markup = body.lines().filter_map(|line| line.strip_prefix("=/"));
        let markup = markup.map(|text| without_spaces(&with_words(text, number))).collect();
        Self { name: name.to_owned(), source, words, markup }
    }
}

/// The word for a placeholder such as `W1` of the example with this number.
fn word(kind: char, n: char, example: usize) -> String {
    match kind {
        'W' => format!("zq{example}w{n}x"),
        'U' => format!("ü{example}ñ{n}é"),
        _ => format!("zh{example}w{n}x"),
    }
}

/// Replaces the placeholders: a capital letter and a digit that are not part of a longer word.
fn with_words(text: &str, example: usize) -> String {
    let mut filled = String::new();
    let mut letters = text.chars().peekable();
    let mut before = ' ';
    while let Some(letter) = letters.next() {
        let is_start = matches!(letter, 'W' | 'U' | 'H') && !before.is_ascii_alphabetic();
        match letters.next_if(|n| is_start && matches!(n, '1'..='9')) {
            Some(n) => filled.push_str(&word(letter, n, example)),
            None => filled.push(letter),
        }
        before = letter;
    }
    filled
}

fn examples() -> Vec<Example> {
    let text = include_str!("corpus/examples.txt");
    let examples = text.split("\n===== ").skip(1).enumerate();
    // The end of the last line of an example precedes the name of the next one.
    examples.map(|(number, text)| Example::of(number, &format!("{text}\n"))).collect()
}

/// All examples are in one document, in which each has words of its own, so that the test is fast.
#[test]
fn the_words_of_every_example_are_shown_and_its_markup_is_not() {
    let examples = examples();
    assert!(examples.len() > 130, "{}", examples.len());
    let whole = combined(examples.iter().map(|example| read(&example.source)));
    let mut wrong = Vec::new();
    for format in FORMATS {
        let rendered = drawn(&whole, format);
        let (shown, found) = (contents(&rendered, format), found(&rendered, format));
        for Example { name, words, markup, .. } in &examples {
            let lost = words.iter().filter(|word| !found.contains(*word));
            wrong.extend(lost.map(|word| format!("{name} in {format:?}: {word} is lost")));
            let kept = markup.iter().filter(|markup| shown.contains(*markup));
            wrong.extend(kept.map(|markup| format!("{name} in {format:?}: {markup} is shown")));
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

/// An example of the specification.
struct SpecExample {
    number: u64,
    document: Document,
    /// The words of its HTML.
    words: Vec<String>,
}

impl SpecExample {
    fn of(example: &Value) -> Self {
        let text = |key: &str| example[key].as_str().expect("it is a text").replace('→', "\t");
        let html = text("html");
        let shown = if has_other_text(&html) { String::new() } else { text_of(&html) };
        let words = shown.split(|c: char| !c.is_alphanumeric());
        // Single letters are everywhere.
        let words = words.filter(|word| word.len() > 1).map(str::to_owned).collect();
        let number = example["number"].as_u64().expect("it is a number");
        Self { number, document: read(&text("markdown")), words }
    }
}

/// Where a tag ends: at the first `>` that is in no quoted value.
fn end_of_tag(tag: &str) -> usize {
    let mut quote = None;
    for (at, c) in tag.char_indices() {
        match (quote, c) {
            (None, '>') => return at,
            (None, '"' | '\'') => quote = Some(c),
            (Some(open), c) if open == c => quote = None,
            _ => {}
        }
    }
    tag.find('>').unwrap_or(tag.len())
}

/// The text of the HTML that an example results in, with the alternative texts of pictures.
fn text_of(html: &str) -> String {
    let mut text = String::new();
    let mut rest = html;
    while let Some((before, tag)) = rest.split_once('<') {
        text.push_str(before);
        let (tag, after) = tag.split_at(end_of_tag(tag));
        let after = after.strip_prefix('>').unwrap_or(after);
        // A break or the end of a block separates words.
        if tag.starts_with(['/', 'b', 'h', 'l', 'p', 'd', 't', 'i']) {
            text.push(' ');
        }
        if let Some((_, alternative)) = tag.split_once("alt=\"") {
            text.push_str(alternative.split_once('"').map_or("", |(alternative, _)| alternative));
            text.push(' ');
        }
        rest = after;
    }
    text.push_str(rest);
    for (entity, character) in ENTITIES {
        text = text.replace(entity, character);
    }
    text
}

/// Whether documents show other words than the HTML of the specification: scripts and styles have
/// none, and in a table with blank lines the tags are tags.
fn has_other_text(html: &str) -> bool {
    ["<script", "<style", "<pre><code>&lt;td&gt;"].iter().any(|mark| html.contains(mark))
}

/// Writes files of several examples each, which `tests/documents/check.sh` validates.
fn save(examples: &[SpecExample], folder: &Path) {
    for (number, examples) in examples.chunks(TOGETHER).enumerate() {
        let whole = combined(examples.iter().map(|example| example.document.clone()));
        for format in FORMATS {
            let name = format!("examples-{number}.{format:?}").to_lowercase();
            let file = drawn(&whole, format).bytes;
            std::fs::write(folder.join(name), file).expect("the folder can be written to");
        }
    }
}

/// PDFs are of several examples, or with `--full` of one.
#[test]
#[ignore = "the examples are fetched by tests/documents/check.sh"]
fn the_words_of_every_example_of_the_specification_are_kept() {
    let path = std::env::var_os("COMMONMARK_EXAMPLES").expect("it names the examples as JSON");
    let examples = std::fs::read_to_string(path).expect("the file is readable");
    let examples: Vec<Value> = serde_json::from_str(&examples).expect("it is a list");
    assert!(examples.len() >= 652, "{}", examples.len());
    let examples: Vec<_> = examples.iter().map(SpecExample::of).collect();
    let is_full = std::env::var_os("COUNTERSIGN_TEST_FULL").is_some();
    let mut lost = Vec::new();
    for format in FORMATS {
        let together = if format == Format::Pdf && !is_full { TOGETHER } else { 1 };
        for examples in examples.chunks(together) {
            let documents = examples.iter().map(|example| example.document.clone());
            let found = found(&drawn(&combined(documents), format), format);
            for SpecExample { number, words, .. } in examples {
                let missing = words.iter().filter(|word| !found.contains(*word));
                lost.extend(missing.map(|word| format!("{number} in {format:?}: {word}")));
            }
        }
    }
    assert_eq!(lost, Vec::<String>::new());
    if let Some(folder) = std::env::var_os("COMMONMARK_FILES") {
        save(&examples, Path::new(&folder));
    }
}
