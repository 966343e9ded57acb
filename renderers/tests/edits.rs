//! Edits of files that our own renderers make, read back by other readers.

use calamine::{Reader as _, Xlsx, open_workbook_from_rs};
use lopdf::{Document, Object, dictionary};
use proptest::prelude::*;
use quick_xml::events::Event;
use renderers::{
    Format,
    edit::{
        Change, EditError, Edited, diff,
        fill::{self, Filling, fill},
        pdf::{self, PdfEdit, Rotation},
        word::{self, Author, WordChange, WordEdit},
        workbook::{self, NewCell, NewRows, NewSheet, WorkbookEdit},
    },
    markdown, read, render,
};
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, BTreeSet},
    io::{Cursor, Read as _},
};
use zip::ZipArchive;

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

fn once(template: &[u8], values: Value) -> Edited {
    fill(template, &Filling::Once(values)).expect("we wrote it").remove(0)
}

const LETTER: &str = "---\ntitle: Offer\nheader: For {{client.name}}\n---\n\nDear {{client.name}}, \
    your **offer of {{da**te}} is {{missing}}.\n\n| Item | Price |\n|---|---|\n\
    | {{#items}}{{name}} | {{price}}{{/items}} |\n| Sum | {{sum}} |\n\n{{#notes}}\n\nNote: {{item}}\n\n{{/notes}}\n\nBye.\n";

fn offer() -> Value {
    json!({
        "client": { "name": "Ann & <Co>" },
        "date": "1 May",
        "items": [{ "name": "Boat", "price": 3.5 }, { "name": "Oar", "price": 1 }],
        "sum": "4.50",
        "notes": ["first", "second\nline"],
        "other": 1,
    })
}

#[test]
fn fields_are_filled_over_runs_and_rows_are_repeated() {
    let template = file(LETTER, Format::Docx);
    let edited = once(&template, offer());
    is_well_formed(&edited.bytes);
    let read = text("a.docx", &edited.bytes);
    for words in ["Ann & <Co>", "1 May", "| Boat | 3.5 |", "| Oar | 1 |", "| Sum | 4.50 |"] {
        assert!(read.replace('\\', "").contains(words), "{words} in {read}");
    }
    for words in ["Note: first", "Note: second", "{{missing}}"] {
        assert!(read.replace('\\', "").contains(words), "{words} in {read}");
    }
    assert!(!read.contains("items") && !read.contains("notes"), "{read}");
    assert_eq!(
        edited.warnings,
        [
            "The template has fields without a value: missing.",
            "The template has no fields for: other.",
        ]
    );
    let changed = changed(&template, &edited.bytes);
    assert!(changed.contains(&"word/document.xml".to_owned()), "{changed:?}");
    assert!(
        changed.iter().all(|n| n == "word/document.xml" || n.contains("header")),
        "{changed:?}"
    );
    assert_eq!(once(&template, offer()), edited, "twice is the same as once");
}

#[test]
fn a_list_fills_one_file_for_each_row() {
    let template = file("Dear {{First name}}, you owe {{amount}} to {{us}}.", Format::Docx);
    let csv = "First name;amount\nAnn;3,50\nBob/../x;4\n\n";
    let rows = fill::rows("list.csv", csv.as_bytes()).unwrap();
    let each = |rows: &[Value], pattern: &str| {
        let (rows, pattern) = (rows.to_vec(), pattern.to_owned());
        fill(&template, &Filling::Each { rows, values: json!({ "us": "me" }), pattern })
    };
    let files = each(&rows, "{{First name}}.docx").unwrap();
    let names: Vec<_> = files.iter().map(|file| file.name.clone().unwrap()).collect();
    assert_eq!(names, ["Ann.docx", "Bob-..-x.docx"]);
    assert!(text("a.docx", &files[0].bytes).contains("Dear Ann, you owe 3,50 to me."));
    let same = [rows[0].clone(), rows[0].clone()];
    for (rows, pattern, why) in [
        (&rows[..], "letter.docx", "no field"),
        (&same[..], "{{First name}}.docx", "earlier row"),
        (&rows[..], "{{none}}.docx", "no value"),
        (&rows[..0], "{{First name}}.docx", "no rows"),
    ] {
        let error = each(rows, pattern).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
    let sheet = file("## L\n\n| First name | amount |\n|---|---|\n| Ann | 4 |\n", Format::Xlsx);
    assert_eq!(
        fill::rows("l.xlsx", &sheet).unwrap(),
        [json!({ "First name": "Ann", "amount": 4 })]
    );
}

#[test]
fn slides_and_their_notes_are_filled() {
    let deck = "# {{title}}\n\n- {{point}}\n\n| A |\n|---|\n| {{#rows}}{{a}}{{/rows}} |\n\n<!-- say {{title}} -->\n";
    let template = file(deck, Format::Pptx);
    let values =
        json!({ "title": "Rivers", "point": "two\nlines", "rows": [{ "a": 1 }, { "a": 2 }] });
    let edited = once(&template, values);
    is_well_formed(&edited.bytes);
    let read = text("a.pptx", &edited.bytes);
    for words in ["Rivers", "two", "lines", "say Rivers", "| 1 |", "| 2 |"] {
        assert!(read.contains(words), "{words} in {read}");
    }
    assert!(edited.warnings.is_empty(), "{:?}", edited.warnings);
}

#[test]
fn templates_with_mistakes_are_rejected() {
    for (text, why) in [
        ("nothing here", "no fields"),
        ("{{#rows}} without an end", "without {{/rows}}"),
        ("an end {{/rows}}", "without its beginning"),
        ("{{#rows}}x{{/rows}}", "has no value"),
    ] {
        let filling = Filling::Once(json!({}));
        let error = fill(&file(text, Format::Docx), &filling).unwrap_err().to_string();
        assert!(error.contains(why), "{text}: {error}");
    }
    let many = Filling::Once(json!({ "rows": vec![1; 10_001] }));
    let error = fill(&file("{{#rows}}x{{/rows}}", Format::Docx), &many).unwrap_err();
    assert!(matches!(error, EditError::TooLarge(_)), "{error}");
    assert!(fill(b"PK", &Filling::Once(json!({}))).is_err());
}

const BOOK: &str = "## Sales\n\n| Port | Tonnes | Double |\n|---|---|---|\n| Oslo | 5 | =B2*2 |\n\
    | Genoa | 7 | =B3*2 |\n\n## Other\n\n| A |\n|---|\n| =SUM(Sales!B2:B3) |\n";

fn cells(bytes: &[u8], sheet: &str) -> Vec<Vec<String>> {
    let mut book: Xlsx<_> = open_workbook_from_rs(Cursor::new(bytes)).expect("we wrote it");
    let range = book.worksheet_range(sheet).expect("we wrote it");
    range.rows().map(|row| row.iter().map(ToString::to_string).collect()).collect()
}

fn formulas(bytes: &[u8], sheet: &str) -> Vec<String> {
    let mut book: Xlsx<_> = open_workbook_from_rs(Cursor::new(bytes)).expect("we wrote it");
    let range = book.worksheet_formula(sheet).expect("we wrote it");
    range.used_cells().map(|(_, _, formula)| formula.clone()).collect()
}

fn cell(place: &str, value: Value) -> WorkbookEdit {
    let (sheet, cell) = match place.split_once('!') {
        Some((sheet, cell)) => (Some(sheet.to_owned()), cell.to_owned()),
        None => (None, place.to_owned()),
    };
    WorkbookEdit { cells: vec![NewCell { sheet, cell, value }], ..WorkbookEdit::default() }
}

fn append(rows: &[Value]) -> WorkbookEdit {
    let rows = NewRows { sheet: None, table: None, rows: rows.to_vec() };
    WorkbookEdit { rows: vec![rows], ..WorkbookEdit::default() }
}

#[test]
fn cells_are_set_and_no_result_is_out_of_date() {
    let book = file(BOOK, Format::Xlsx);
    let before = cells(&book, "Sales");
    let row = before.iter().position(|row| row[0] == "Oslo").unwrap();
    let edited = workbook::edit(&book, &cell(&format!("Sales!B{}", row + 1), json!(50))).unwrap();
    is_well_formed(&edited.bytes);
    assert_eq!(
        edited.changes,
        [Change {
            place: format!("Sales!B{}", row + 1),
            before: Some("5".into()),
            after: Some("50".into()),
        }]
    );
    let after = cells(&edited.bytes, "Sales");
    assert_eq!(after[row], ["Oslo", "50", ""], "the old result is removed");
    assert_eq!(formulas(&edited.bytes, "Sales"), formulas(&book, "Sales"));
    let parts = parts(&edited.bytes);
    let workbook = String::from_utf8_lossy(&parts["xl/workbook.xml"]).into_owned();
    assert!(workbook.contains("fullCalcOnLoad=\"1\""), "{workbook}");
    let names = changed(&book, &edited.bytes);
    assert!(
        names.iter().all(|name| name.contains("sheet") || name == "xl/workbook.xml"),
        "{names:?}"
    );
    for (place, value, why) in [
        ("Sales!ZZZZ1", json!(1), "not a cell"),
        ("Nowhere!A1", json!(1), "There are: Sales, Other"),
        ("A1", json!("=WEBSERVICE(1)"), "not allowed"),
        ("A1", json!([1]), "a number, a text"),
    ] {
        let error = workbook::edit(&book, &cell(place, value)).unwrap_err().to_string();
        assert!(error.contains(why), "{place}: {error}");
    }
}

#[test]
fn rows_are_appended_with_the_formulas_and_the_table_of_those_above() {
    let book = file(BOOK, Format::Xlsx);
    let rows = [json!({ "Port": "Bergen", "tonnes": 9 }), json!(["Kiel", 1])];
    let edited = workbook::edit(&book, &append(&rows)).unwrap();
    is_well_formed(&edited.bytes);
    let before = cells(&book, "Sales").len();
    let after = cells(&edited.bytes, "Sales");
    assert_eq!(after.len(), before + 2);
    assert_eq!(after[before][..2], ["Bergen", "9"]);
    assert_eq!(after[before + 1][..2], ["Kiel", "1"]);
    let formulas = formulas(&edited.bytes, "Sales");
    assert_eq!(formulas.len(), 4, "{formulas:?}");
    let end = format!("B{}*2", before + 2);
    assert!(formulas.last().unwrap().contains(&end), "{formulas:?}");
    let parts = parts(&edited.bytes);
    let table = String::from_utf8_lossy(&parts["xl/tables/table1.xml"]).into_owned();
    assert_eq!(table.matches(&format!(":C{}\"", before + 2)).count(), 2, "{table}");
    let error = workbook::edit(&book, &append(&[json!({ "Harbour": 1 })])).unwrap_err();
    assert!(error.to_string().contains("Port, Tonnes, Double"), "{error}");
}

#[test]
fn sheets_are_added_and_names_are_checked() {
    let book = file(BOOK, Format::Xlsx);
    let add = |name: &str| {
        let rows = vec![vec![json!("a"), json!("=Sales!B2+1")], vec![json!(true), Value::Null]];
        let sheets = vec![NewSheet { name: name.into(), rows }];
        workbook::edit(&book, &WorkbookEdit { sheets, ..WorkbookEdit::default() })
    };
    let edited = add("New & own").unwrap();
    is_well_formed(&edited.bytes);
    assert_eq!(cells(&edited.bytes, "New & own")[1][0], "true");
    assert_eq!(formulas(&edited.bytes, "New & own"), ["'Sales'!B2+1"]);
    for name in ["sales", "", "a/b", "History", &"x".repeat(32)] {
        assert!(add(name).is_err(), "{name}");
    }
}

#[test]
fn an_edit_that_changes_nothing_gives_the_same_bytes() {
    let book = file(BOOK, Format::Xlsx);
    assert_eq!(workbook::edit(&book, &WorkbookEdit::default()).unwrap().bytes, book);
    let same = cells(&book, "Sales").iter().position(|row| row[0] == "Oslo").unwrap() + 1;
    let edit = cell(&format!("Sales!A{same}"), json!("Oslo"));
    assert_eq!(workbook::edit(&book, &edit).unwrap().bytes, book);
    let word = file("text", Format::Docx);
    assert_eq!(word::edit(&word, &WordEdit::default()).unwrap().bytes, word);
    let page = file("text", Format::Pdf);
    assert_eq!(pdf::edit(&[&page], &PdfEdit::default()).unwrap().bytes, page);
}

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

/// The text of each page.
fn pages(bytes: &[u8]) -> Vec<String> {
    let document = Document::load_mem(bytes).expect("we wrote it");
    let numbers = document.get_pages().into_keys();
    numbers.map(|number| document.extract_text(&[number]).expect("we wrote it")).collect()
}

#[test]
fn pdfs_are_merged_split_rotated_and_stamped() {
    let one = file("# One\n\nfirst\n\n<!-- pagebreak -->\n\nsecond\n", Format::Pdf);
    let two = file("# Two\n\nthird\n", Format::Pdf);
    let edit = PdfEdit {
        pages: vec![Some("2,1".into()), None],
        rotations: vec![Rotation { pages: Some("1".into()), degrees: -90 }],
        watermark: Some("Draft".into()),
        page_numbers: true,
        ..PdfEdit::default()
    };
    let edited = pdf::edit(&[&one, &two], &edit).unwrap();
    let pages = pages(&edited.bytes);
    assert_eq!(pages.len(), 3);
    for (page, words) in pages.iter().zip(["second", "first", "third"]) {
        assert!(page.contains(words) && page.contains("Draft"), "{page}");
    }
    assert!(pages[2].contains("3 / 3"), "{pages:?}");
    let document = Document::load_mem(&edited.bytes).unwrap();
    let first = document.page_iter().next().unwrap();
    let rotation = document.get_dictionary(first).unwrap().get(b"Rotate").unwrap();
    assert_eq!(rotation.as_i64().unwrap(), 270);
    let single = PdfEdit { pages: vec![Some("1".into())], ..PdfEdit::default() };
    let first = pdf::edit(&[&one], &single).unwrap();
    assert!(!first.bytes.windows(6).any(|six| six == b"second"));
    assert_eq!(self::pages(&first.bytes).len(), 1);
    for (pages, why) in [("9", "has 2"), ("0", "has 2"), ("x", "has 2"), ("", "has 2")] {
        let edit = PdfEdit { pages: vec![Some(pages.into())], ..PdfEdit::default() };
        let error = pdf::edit(&[&one], &edit).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
    let odd = PdfEdit { watermark: Some("草稿".into()), ..PdfEdit::default() };
    assert!(pdf::edit(&[&one], &odd).unwrap_err().to_string().contains("Western European"));
}

/// A form with a text, a choice and a check box.
fn form(change: impl FnOnce(&mut Document)) -> Vec<u8> {
    let mut document = Document::load_mem(&file("form", Format::Pdf)).expect("we wrote it");
    let page = document.page_iter().next().expect("we wrote it");
    let rect = |top: i64| vec![50.into(), top.into(), 250.into(), (top + 20).into()];
    let look = document.add_object(lopdf::Stream::new(
        dictionary! {
            "Type" => "XObject", "Subtype" => "Form", "BBox" => rect(0),
        },
        Vec::new(),
    ));
    let fields = [
        dictionary! {
            "FT" => "Tx", "T" => Object::string_literal("name"), "Rect" => rect(500), "MaxLen" => 20,
        },
        dictionary! {
            "FT" => "Ch", "T" => Object::string_literal("color"), "Rect" => rect(450),
            "Opt" => vec![Object::string_literal("red"), Object::string_literal("blue")],
        },
        dictionary! {
            "FT" => "Btn", "T" => Object::string_literal("agreed"), "Rect" => rect(400),
            "AP" => dictionary! { "N" => dictionary! { "On" => look, "Off" => look } },
        },
        dictionary! {
            "FT" => "Tx", "T" => Object::string_literal("fixed"), "Rect" => rect(350), "Ff" => 1,
        },
    ];
    let mut ids: Vec<Object> = Vec::new();
    for mut field in fields {
        field.set("Type", "Annot");
        field.set("Subtype", "Widget");
        field.set("P", page);
        ids.push(document.add_object(field).into());
    }
    document.get_dictionary_mut(page).expect("we wrote it").set("Annots", ids.clone());
    let form = dictionary! { "Fields" => ids };
    document.catalog_mut().expect("we wrote it").set("AcroForm", form);
    change(&mut document);
    let mut bytes = Vec::new();
    document.save_to(&mut bytes).expect("we wrote it");
    bytes
}

#[test]
fn form_fields_are_filled_and_drawn() {
    let form = form(|_| {});
    let fill = |fields: Value| {
        let fields = fields.as_object().unwrap().clone();
        pdf::edit(&[&form], &PdfEdit { fields, ..PdfEdit::default() })
    };
    let edited = fill(json!({ "name": "Ann Müller", "color": "blue", "agreed": true })).unwrap();
    let document = Document::load_mem(&edited.bytes).unwrap();
    let find = |name: &str| {
        let fields = document.objects.values().filter_map(|object| object.as_dict().ok());
        fields
            .into_iter()
            .find(|field| {
                field.get(b"T").is_ok_and(|t| lopdf::decode_text_string(t).unwrap() == name)
            })
            .unwrap()
    };
    let value = |name: &str| find(name).get(b"V").unwrap().clone();
    assert_eq!(lopdf::decode_text_string(&value("name")).unwrap(), "Ann Müller");
    assert_eq!(value("agreed"), Object::Name(b"On".to_vec()));
    assert!(find("name").has(b"AP") && find("color").has(b"AP"));
    let catalog = document.catalog().unwrap();
    let acro = catalog.get_deref(b"AcroForm", &document).unwrap().as_dict().unwrap();
    assert!(!acro.has(b"NeedAppearances"));
    for (fields, why) in [
        (json!({ "nome": "x" }), "There are: agreed, color, fixed, name"),
        (json!({ "color": "green" }), "red, blue"),
        (json!({ "fixed": "x" }), "protects it"),
        (json!({ "name": "x".repeat(21) }), "at most 20"),
        (json!({ "agreed": "maybe" }), "true, false"),
    ] {
        let error = fill(fields).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
    let other = fill(json!({ "name": "安" })).unwrap();
    assert!(other.warnings.iter().any(|warning| warning.contains("drawn by the viewer")));
}

#[test]
fn protected_signed_and_macro_files_are_rejected() {
    let signed = form(|document| {
        let form = document.catalog_mut().unwrap().get_mut(b"AcroForm").unwrap();
        form.as_dict_mut().unwrap().set("SigFlags", 3);
    });
    let numbers = PdfEdit { page_numbers: true, ..PdfEdit::default() };
    let error = pdf::edit(&[&signed], &numbers).unwrap_err().to_string();
    assert!(error.contains("signed"), "{error}");
    let mut document = Document::load_mem(&file("x", Format::Pdf)).unwrap();
    document.trailer.set("ID", vec![Object::string_literal("1"), Object::string_literal("1")]);
    let version = lopdf::EncryptionVersion::V2 {
        document: &document,
        owner_password: "o",
        user_password: "",
        key_length: 128,
        permissions: lopdf::Permissions::empty(),
    };
    let state = lopdf::EncryptionState::try_from(version).unwrap();
    document.encrypt(&state).unwrap();
    let mut locked = Vec::new();
    document.save_to(&mut locked).unwrap();
    let error = pdf::edit(&[&locked], &numbers).unwrap_err().to_string();
    assert!(error.contains("protected"), "{error}");
    for (part, why) in [("xl/vbaProject.bin", "macros"), ("_xmlsignatures/sig1.xml", "signed")] {
        let mut zip = zip::ZipWriter::new_append(Cursor::new(file(BOOK, Format::Xlsx))).unwrap();
        zip.start_file(part, zip::write::SimpleFileOptions::default()).unwrap();
        let bytes = zip.finish().unwrap().into_inner();
        let error = workbook::edit(&bytes, &cell("A1", json!(1))).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// Any text in any cell gives a workbook that others read.
    #[test]
    fn random_cells_give_valid_workbooks(
        edits in prop::collection::vec((9..40_u32, 1..26_u32, "(?s).{0,12}"), 1..8)
    ) {
        let book = file(BOOK, Format::Xlsx);
        let cells: Vec<_> = edits.iter().map(|(row, column, text)| NewCell {
            sheet: Some("Other".into()),
            cell: format!("{}{row}", char::from(b'A' + (*column % 26) as u8)),
            value: json!(text.trim_start_matches('=')),
        }).collect();
        let edit = WorkbookEdit { cells, ..WorkbookEdit::default() };
        let edited = workbook::edit(&book, &edit).unwrap();
        is_well_formed(&edited.bytes);
        let read: Xlsx<_> = open_workbook_from_rs(Cursor::new(edited.bytes)).unwrap();
        prop_assert_eq!(read.sheet_names().len(), 2);
    }

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
