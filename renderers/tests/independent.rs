//! Word files that we write, read by docx-rs, an independent reader.

use std::{
    fs,
    io::{Cursor, Read as _},
    panic::catch_unwind,
    path::{Path, PathBuf},
};

use quick_xml::events::Event;
use renderers::{
    Document, Format,
    edit::{
        fill::{Filling, fill},
        word::{self, Author, WordChange, WordEdit},
    },
    markdown, read, render,
};
use serde_json::{Value, json};
use zip::ZipArchive;

/// The elements whose text docx-rs leaves out.
const GAPS: [&str; 1] = ["m:oMath"];

fn corpus_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus")
}

/// The Markdown files of the corpus and of the gallery.
fn corpus() -> Vec<PathBuf> {
    let folder = corpus_folder();
    let gallery = folder.join("../../../tests/documents/gallery/sources");
    let mut files = Vec::new();
    for folder in [folder.clone(), folder.join("hostile"), gallery] {
        for entry in fs::read_dir(folder).expect("the corpus is readable") {
            files.push(entry.expect("the corpus is readable").path());
        }
    }
    files.retain(|path| path.extension().is_some_and(|ending| ending == "md"));
    files.sort();
    files
}

/// The text that docx-rs finds in the body.
fn by_docx_rs(file: &[u8]) -> Result<String, String> {
    let read = catch_unwind(|| docx_rs::read_docx(file).map(|docx| docx.json()));
    let read = read.map_err(|_| "it panics".to_owned())?.map_err(|error| error.to_string())?;
    let read: Value = serde_json::from_str(&read).map_err(|error| error.to_string())?;
    let mut text = String::new();
    collect(&read["document"], &mut text);
    Ok(text)
}

fn collect(value: &Value, text: &mut String) {
    match value {
        Value::Array(items) => {
            for item in items {
                collect(item, text);
            }
        }
        Value::Object(fields) => {
            if let Some(Value::String(words)) = fields.get("text") {
                text.push_str(words);
            }
            for value in fields.values() {
                collect(value, text);
            }
        }
        _ => {}
    }
}

/// The texts of the body without those in gaps.
fn expected(file: &[u8]) -> Vec<String> {
    let mut zip = ZipArchive::new(Cursor::new(file)).expect("we wrote it");
    let mut xml = String::new();
    let mut part = zip.by_name("word/document.xml").expect("we wrote it");
    part.read_to_string(&mut xml).expect("we wrote it");
    let mut reader = quick_xml::Reader::from_str(&xml);
    let (mut path, mut texts) = (Vec::<String>::new(), Vec::new());
    loop {
        let is_text = path.last().is_some_and(|name| name == "w:t");
        let is_gap = path.iter().any(|name| GAPS.contains(&name.as_str()));
        match reader.read_event().expect("we wrote it") {
            Event::Start(start) => {
                path.push(String::from_utf8_lossy(start.name().as_ref()).into_owned());
            }
            Event::End(_) => drop(path.pop()),
            Event::Text(text) if is_text && !is_gap => {
                texts.push(text.decode().expect("we wrote it").into_owned());
            }
            Event::Eof => return texts,
            _ => {}
        }
    }
}

fn is_read(name: &str, file: &[u8]) {
    let read = by_docx_rs(file).unwrap_or_else(|problem| panic!("{name}: {problem}"));
    let plain = |text: &str| text.split_whitespace().collect::<String>();
    let read = plain(&read);
    let expected = expected(file).into_iter();
    let missing: Vec<_> = expected.filter(|text| !read.contains(&plain(text))).collect();
    assert!(missing.is_empty(), "{name}: docx-rs does not find {missing:?}");
}

/// The document of a file, with the pictures of the corpus.
fn document(path: &Path) -> Document {
    let source = fs::read_to_string(path).expect("the corpus is readable");
    let mut document = markdown::read(&source).expect("the corpus is readable");
    for url in markdown::image_urls(&document) {
        if let Ok(picture) = fs::read(corpus_folder().join(&url)) {
            document.assets.insert(url, picture);
        }
    }
    document
}

/// docx-rs reads every Word file of the corpus, and finds every text of its body.
#[test]
fn an_independent_reader_finds_every_text_of_the_corpus() {
    let corpus = corpus();
    assert!(corpus.len() > 12, "{corpus:?}");
    let mut pictures = 0;
    for path in corpus {
        let document = document(&path);
        pictures += document.assets.len();
        let file = render(&document, Format::Docx).unwrap();
        is_read(&path.display().to_string(), &file.bytes);
    }
    assert!(pictures > 5, "{pictures}");
}

/// The same holds for files that were filled and edited.
#[test]
fn an_independent_reader_reads_edited_files() {
    let text = "# Lease\n\nThe **boat** of {{name}}.\n\n| Day | Price |\n|---|---|\n| Monday | 3 |\n\n\
         | Item | Price |\n|---|---|\n| {{#items}}{{thing}} | {{price}}{{/items}} |\n";
    let template = render(&markdown::read(text).unwrap(), Format::Docx).unwrap().bytes;
    let items = json!([{ "thing": "Oar", "price": 5 }, { "thing": "Sail", "price": 70 }]);
    let values = json!({ "name": "Ann", "items": items });
    let filled = fill(&template, &Filling::Once(values)).unwrap().remove(0);
    is_read("filled", &filled.bytes);
    let text = by_docx_rs(&filled.bytes).unwrap();
    assert!(text.contains("Oar") && text.contains("Sail"), "{text}");
    let changes = vec![
        WordChange::ReplaceText { old: "boat of".into(), new: "ship by".into() },
        WordChange::AddRow { table: 1, after: None, cells: vec!["Friday".into(), "4".into()] },
        WordChange::RemoveRow { table: 1, row: 2 },
    ];
    let author = Author { name: "Ann".into(), date: "2026-05-01T12:00:00Z".into() };
    for author in [None, Some(author)] {
        let edit = WordEdit { changes: changes.clone(), author };
        let edited = word::edit(&filled.bytes, &edit).unwrap();
        is_read("edited", &edited.bytes);
        let ours = read::to_markdown("a.docx", &edited.bytes).unwrap().markdown;
        assert!(ours.contains("Friday"), "{ours}");
    }
}
