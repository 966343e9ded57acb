//! Edits of files that our own renderers make, read back by other readers.

mod pdf;
mod templates;
mod word;
mod workbooks;

use quick_xml::events::Event;
use renderers::{
    Format,
    edit::{pdf::PdfEdit, word::WordEdit, workbook::WorkbookEdit},
    markdown, read, render,
};
use serde_json::json;
use std::{
    collections::{BTreeMap, BTreeSet},
    io::{Cursor, Read as _},
};
use zip::ZipArchive;

use workbooks::{BOOK, cell, cells};

fn file(text: &str, format: Format) -> Vec<u8> {
    render(&markdown::read(text).expect("we wrote it"), format).expect("we wrote it").bytes
}

fn text(name: &str, bytes: &[u8]) -> String {
    read::to_markdown(name, bytes).expect("we wrote it").markdown
}

/// All parts by name.
fn parts(bytes: &[u8]) -> BTreeMap<String, Vec<u8>> {
    let mut zip = ZipArchive::new(Cursor::new(bytes)).expect("we wrote it");
    let read = |at: usize| {
        let mut file = zip.by_index(at).expect("we wrote it");
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).expect("we wrote it");
        (file.name().to_owned(), bytes)
    };
    (0..ZipArchive::new(Cursor::new(bytes)).expect("we wrote it").len()).map(read).collect()
}

/// The names of the parts that differ.
fn changed(before: &[u8], after: &[u8]) -> Vec<String> {
    let (before, after) = (parts(before), parts(after));
    let names = before.keys().chain(after.keys()).cloned();
    let names: BTreeSet<_> = names.collect();
    names.into_iter().filter(|name| before.get(name) != after.get(name)).collect()
}

/// Every XML part is well-formed.
fn is_well_formed(bytes: &[u8]) {
    for (name, part) in parts(bytes) {
        if [".xml", ".rels"].iter().any(|ending| name.ends_with(ending)) {
            let mut reader = quick_xml::Reader::from_reader(part.as_slice());
            let mut buffer = Vec::new();
            while reader.read_event_into(&mut buffer).expect("we wrote it") != Event::Eof {
                buffer.clear();
            }
        }
    }
}

#[test]
fn an_edit_that_changes_nothing_gives_the_same_bytes() {
    let book = file(BOOK, Format::Xlsx);
    assert_eq!(
        renderers::edit::workbook::edit(&book, &WorkbookEdit::default()).unwrap().bytes,
        book
    );
    let same = cells(&book, "Sales").iter().position(|row| row[0] == "Oslo").unwrap() + 1;
    let edit = cell(&format!("Sales!A{same}"), json!("Oslo"));
    assert_eq!(renderers::edit::workbook::edit(&book, &edit).unwrap().bytes, book);
    let word = file("text", Format::Docx);
    assert_eq!(renderers::edit::word::edit(&word, &WordEdit::default()).unwrap().bytes, word);
    let page = file("text", Format::Pdf);
    assert_eq!(renderers::edit::pdf::edit(&[&page], &PdfEdit::default()).unwrap().bytes, page);
}
