//! Changes of Word documents, tracked and not.

use proptest::prelude::*;
use quick_xml::events::Event;
use renderers::{
    Format,
    edit::{
        diff,
        word::{self, Author, WordChange, WordEdit},
    },
};
use std::collections::BTreeSet;

use super::{changed, file, is_well_formed, parts, text};

const LEASE: &str = "---\nheader: House of Rivers\n---\n# Lease\n\nThe **House** of Rivers lets a \
    boat.\n\nIt is old.\n\n| Day | Price |\n|---|---|\n| Monday | 3 |\n| Friday | 4 |\n";

fn lease_changes() -> Vec<WordChange> {
    vec![
        WordChange::ReplaceText { old: "House of Rivers".into(), new: "Ann & Co".into() },
        WordChange::SetCell { table: 1, row: 2, column: 2, text: "5".into() },
        WordChange::AddRow { table: 1, after: Some(3), cells: vec!["Sunday".into(), "9".into()] },
        WordChange::RemoveRow { table: 1, row: 3 },
        WordChange::InsertParagraph { after: "lets a boat".into(), text: "For a year.".into() },
        WordChange::RemoveParagraph { containing: "It is old.".into() },
    ]
}

#[test]
fn a_word_document_is_changed_in_place() {
    let lease = file(LEASE, Format::Docx);
    let edited = word::edit(&lease, &WordEdit { changes: lease_changes(), author: None }).unwrap();
    is_well_formed(&edited.bytes);
    let read = text("a.docx", &edited.bytes);
    for words in
        ["The **Ann & Co** lets a boat.", "For a year.", "| Monday | 5 |", "| Sunday | 9 |"]
    {
        assert!(read.contains(words), "{words} in {read}");
    }
    for gone in ["It is old", "Friday", "House"] {
        assert!(!read.contains(gone), "{gone} in {read}");
    }
    for name in changed(&lease, &edited.bytes) {
        assert!(name == "word/document.xml" || name.contains("header"), "{name}");
    }
    assert_eq!(edited.changes.len(), 7, "{:?}", edited.changes);
    assert!(diff(&edited.changes).contains("@@ table 1, row 2, column 2 @@\n-3\n+5\n"));
    for change in [
        WordChange::ReplaceText { old: "not there".into(), new: String::new() },
        WordChange::SetCell { table: 2, row: 1, column: 1, text: String::new() },
        WordChange::SetCell { table: 1, row: 9, column: 1, text: String::new() },
        WordChange::RemoveRow { table: 1, row: 0 },
        WordChange::AddRow { table: 1, after: None, cells: vec![String::new(); 3] },
        WordChange::RemoveParagraph { containing: "e".into() },
    ] {
        let edit = WordEdit { changes: vec![change.clone()], author: None };
        assert!(word::edit(&lease, &edit).is_err(), "{change:?}");
    }
}

/// The boxes of code, alerts and quotes are tables in the file only.
#[test]
fn tables_have_the_numbers_that_a_reader_counts() {
    let source =
        "> [!NOTE]\n> Look.\n\n```\nlet x;\n```\n\n> said\n>\n> - a\n\n| A |\n|---|\n| 1 |\n";
    let document = file(source, Format::Docx);
    let set = |table: usize| {
        let change = WordChange::SetCell { table, row: 2, column: 1, text: "2".into() };
        word::edit(&document, &WordEdit { changes: vec![change], author: None })
    };
    let read = text("a.docx", &set(1).unwrap().bytes);
    assert!(
        read.contains("| 2 |") && read.contains("> Look.") && read.contains("let x;"),
        "{read}"
    );
    assert!(set(2).unwrap_err().to_string().contains("the document has 1"));
}

/// The text with the insertions and without the deletions, or the other way round.
fn decided(bytes: &[u8], accepted: bool) -> String {
    let part = &parts(bytes)["word/document.xml"];
    let gone: &[u8] = if accepted { b"w:del" } else { b"w:ins" };
    let mut reader = quick_xml::Reader::from_reader(part.as_slice());
    let (mut words, mut path, mut buffer) = (String::new(), Vec::new(), Vec::new());
    loop {
        match reader.read_event_into(&mut buffer).expect("we wrote it") {
            Event::Start(start) => path.push(start.name().as_ref().to_vec()),
            Event::End(_) => drop(path.pop()),
            Event::Eof => return words,
            event => {
                let is_text =
                    path.last().is_some_and(|name| name == b"w:t" || name == b"w:delText");
                if is_text && !path.iter().any(|name| name == gone) {
                    match event {
                        Event::Text(text) => words.push_str(&text.decode().expect("we wrote it")),
                        Event::GeneralRef(name) => {
                            words.extend(["&", &name.decode().expect("we wrote it"), ";"]);
                        }
                        _ => {}
                    }
                }
            }
        }
        buffer.clear();
    }
}

#[test]
fn tracked_changes_can_be_accepted_and_rejected() {
    let lease = file(LEASE, Format::Docx);
    let author = Author { name: "Ann \"A\"".into(), date: "2026-05-01T12:00:00Z".into() };
    let edit = WordEdit { changes: lease_changes(), author: Some(author) };
    let edited = word::edit(&lease, &edit).unwrap();
    is_well_formed(&edited.bytes);
    let plain = WordEdit { changes: lease_changes(), author: None };
    let plain = word::edit(&lease, &plain).unwrap();
    assert_eq!(decided(&edited.bytes, false), decided(&lease, false), "all is rejected");
    let accepted = decided(&edited.bytes, true);
    assert!(accepted.contains("Ann &amp; Co lets a boat."), "{accepted}");
    let is_removed = ["It is old.", "Friday4"];
    let expected = decided(&plain.bytes, true);
    let rest = is_removed.iter().fold(accepted, |text, gone| text.replace(gone, ""));
    assert_eq!(rest, expected, "all is accepted");
    let xml = String::from_utf8(parts(&edited.bytes)["word/document.xml"].clone()).unwrap();
    assert!(
        xml.contains("w:author=\"Ann &quot;A&quot;\" w:date=\"2026-05-01T12:00:00Z\""),
        "{xml}"
    );
    let ids: Vec<_> =
        xml.split("w:author=").map(|before| before.rsplit("w:id=\"").next()).collect();
    let unique: BTreeSet<_> = ids.iter().collect();
    assert_eq!(unique.len(), ids.len(), "each mark has its own number");
}

/// The document of someone who has changed it before, in the same paragraphs.
#[test]
fn tracked_changes_of_someone_else_are_kept() {
    let edited = |file: &[u8], who: &str, changes: Vec<WordChange>| {
        let author = Author { name: who.into(), date: "2026-05-01T12:00:00Z".into() };
        let edited = word::edit(file, &WordEdit { changes, author: Some(author) }).unwrap();
        is_well_formed(&edited.bytes);
        edited.bytes
    };
    let replaced =
        |old: &str, new: &str| WordChange::ReplaceText { old: old.into(), new: new.into() };
    let lease = file(LEASE, Format::Docx);
    let ann = edited(&lease, "Ann", vec![replaced("House of Rivers", "Ann and Company")]);
    let changes = vec![
        // Within the words that Ann inserted, and across their edge.
        replaced("and Company", "& Co"),
        replaced("lets a boat", "lets a ship"),
        WordChange::InsertParagraph { after: "lets a ship".into(), text: "For a year.".into() },
    ];
    let ben = edited(&ann, "Ben", changes);
    assert_eq!(decided(&ben, false), decided(&lease, false), "all is rejected");
    let accepted = decided(&ben, true);
    assert!(accepted.contains("The Ann &amp; Co lets a ship.For a year."), "{accepted}");
    let xml = String::from_utf8(parts(&ben)["word/document.xml"].clone()).unwrap();
    for author in ["w:author=\"Ann\"", "w:author=\"Ben\""] {
        assert!(xml.contains(author), "{xml}");
    }
    let read = text("a.docx", &ben);
    assert!(read.contains("{--") && read.contains("{++"), "{read}");
    for words in ["House", "Company", "Co", "boat", "ship"] {
        assert!(read.contains(words), "{words} in {read}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// Any replacement, tracked or not, gives a document that others read, and rejecting it gives
    /// the text before.
    #[test]
    fn random_replacements_can_be_rejected(from in 0..40_usize, length in 1..12_usize, new in ".{0,10}") {
        let lease = file(LEASE, Format::Docx);
        let whole = "The House of Rivers lets a boat.";
        let old: String = whole.chars().skip(from % 30).take(length).collect();
        prop_assume!(!old.is_empty() && old != new);
        let author = Author { name: "A".into(), date: "2026-05-01T12:00:00Z".into() };
        let changes = vec![WordChange::ReplaceText { old, new }];
        let tracked = WordEdit { changes: changes.clone(), author: Some(author) };
        let tracked = word::edit(&lease, &tracked).unwrap();
        is_well_formed(&tracked.bytes);
        prop_assert_eq!(decided(&tracked.bytes, false), decided(&lease, false));
        let plain = word::edit(&lease, &WordEdit { changes, author: None }).unwrap();
        prop_assert_eq!(decided(&tracked.bytes, true), decided(&plain.bytes, true));
    }
}
