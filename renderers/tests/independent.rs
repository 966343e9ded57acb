//! Word files that we write, read by docx-rs, an independent reader.

mod reader_of_docx_rs;

use std::{
    fs,
    path::{Path, PathBuf},
};

use reader_of_docx_rs::{by_docx_rs, is_read};
use renderers::{
    Document, Format,
    edit::{
        fill::{Filling, fill},
        word::{self, Author, WordChange, WordEdit},
    },
    markdown, read, render,
};
use serde_json::json;

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
