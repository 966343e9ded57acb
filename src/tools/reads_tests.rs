//! Whether untrusted files taint, for every argument of a built-in tool that names a file.

use serde_json::{Value, json};
use std::collections::BTreeSet;

use super::{shown_tests::all, testing::ToolFixture};
use crate::{
    agent::{
        catalog::{Subject, ToolSpec},
        taint,
    },
    journal::{event::Call, ids::CallId, session::Session},
    store::{Store, StoreOptions, db::Durability},
};

/// The arguments with paths that do not taint: tool, JSON pointer, and why nothing of the file gets
/// to the model or into a file.
const HARMLESS: [[&str; 3]; 13] = [
    ["apply_patch", "/path", "the agent must have read the file before"],
    ["convert_document", "/path", "the file is written"],
    ["json", "/path", "a path within the JSON"],
    ["list_dir", "/path", "its result says whether it shows untrusted names"],
    ["memory_edit", "/path", "a note of the memory"],
    ["memory_forget", "/path", "a note of the memory"],
    ["memory_recall", "/path", "a note, whose result carries its own taint"],
    ["memory_store", "/path", "a note of the memory"],
    ["send_file", "/filePath", "the file is sent to people only"],
    ["wiki_compile_page", "/sources/*/source", "the source is named, not read"],
    ["wiki_create_page", "/sources/*/source", "the source is named, not read"],
    ["wiki_enrich_page", "/sources/*/source", "the source is named, not read"],
    ["write_file", "/path", "the file is replaced without being read"],
];

const EVIL: &str = "inbox/evil.docx";

/// The pointers of all texts in a schema, `*` for the entries of a list, with what says what they
/// are: the name and the description.
fn texts(schema: &Value, pointer: &str, about: &str, found: &mut Vec<[String; 2]>) {
    let about = format!("{about} {}", schema["description"].as_str().unwrap_or_default());
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        texts(property, &format!("{pointer}/{name}"), name, found);
    }
    if schema["items"].is_object() {
        texts(&schema["items"], &format!("{pointer}/*"), &about, found);
    }
    if schema["type"] == "string" {
        found.push([pointer.to_owned(), about]);
    }
}

fn names_a_file(about: &str) -> bool {
    let about = about.to_lowercase();
    let name = about.split_whitespace().next().unwrap_or_default();
    let of_files = ["path of", "paths of", "a path in", "of the workspace", "in the workspace"];
    name.contains("path") || of_files.iter().any(|words| about.contains(words))
}

/// Arguments with `path` at the pointer.
fn with(pointer: &str, path: &str) -> Value {
    let keys = pointer.rsplit('/').filter(|key| !key.is_empty());
    keys.fold(
        json!(path),
        |inner, key| if key == "*" { json!([inner]) } else { json!({ key: inner }) },
    )
}

fn call(spec: &ToolSpec, pointer: &str, path: &str) -> Call {
    let mut arguments = with(pointer, path);
    // What is written is a file of the agent's own.
    if let Some(Subject::Path(subject)) = &spec.subject
        && arguments.get(*subject).is_none()
    {
        arguments[*subject] = "own.docx".into();
    }
    Call { id: CallId::from("call1"), model_id: String::new(), tool: spec.name.clone(), arguments }
}

/// Any argument of any built-in tool that names a file taints if the file is untrusted, or is known
/// to give nothing away.
/// Proves S1.
#[tokio::test]
async fn every_argument_that_names_an_untrusted_file_taints() {
    let place = ToolFixture::new();
    let url = format!("sqlite://{}", place.folder.path().join("x.db").display());
    let options = StoreOptions { durability: Durability::Normal, ..StoreOptions::default() };
    let store = Store::open(&url, options).await.unwrap();
    let (mut clean, mut harmless, mut taints) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    for spec in all(&place, &store).specs() {
        let mut found = Vec::new();
        texts(&spec.parameters, "", "", &mut found);
        let known: BTreeSet<_> = found.iter().map(|[pointer, _]| pointer.clone()).collect();
        for pointer in spec.reads {
            assert!(known.contains(*pointer), "{} has no argument {pointer}", spec.name);
        }
        for [pointer, about] in found {
            let is_read = spec.reads.contains(&pointer.as_str());
            if !is_read && !names_a_file(&about) {
                continue;
            }
            let is_tainted =
                taint::source(&call(&spec, &pointer, EVIL), &spec, &Session::default()).is_some();
            let is_known =
                HARMLESS.iter().any(|[tool, at, _]| *tool == spec.name && *at == pointer);
            let argument = format!("{} {pointer}", spec.name);
            match (is_tainted, is_known) {
                (true, false) => taints.insert(argument),
                (false, true) => harmless.insert(argument),
                _ => clean.insert(argument),
            };
        }
    }
    assert!(clean.is_empty(), "{clean:?} must name what they read in `ToolSpec::reads`");
    assert_eq!(harmless.len(), HARMLESS.len(), "these are still there: {harmless:?}");
    for argument in [
        "convert_document /from",
        "edit_document /from",
        "edit_pdf /files/*/path",
        "edit_workbook /from",
        "extract_document /path",
        "fill_template /list",
        "fill_template /template",
        "look_at /path",
        "read_file /path",
        "render_docx_from_file /filePath",
        "render_docx_from_file /furtherPaths/*",
    ] {
        assert!(taints.contains(argument), "{argument} is not in {taints:?}");
    }
}

/// Neither the spelling of a path nor a file of the agent's own before it hides an untrusted file;
/// files that were written under taint count as well, and the agent's own do not.
#[test]
fn files_are_recognised_however_they_are_named() {
    let spec = ToolSpec {
        subject: Some(Subject::Path("path")),
        reads: &["/from", "/files/*/path"],
        ..ToolSpec::read_only("edit", "Edits", json!({}))
    };
    let mut session = Session::default();
    session.untrusted.insert("notes/tainted.txt".into());
    for (arguments, source) in [
        (json!({ "path": "a", "from": "own.txt" }), None),
        (json!({ "path": "a" }), None),
        (json!({ "path": "inbox/a", "from": "own.txt" }), None),
        (json!({ "path": "a", "from": 5, "files": "inbox/x" }), None),
        (json!({ "path": "a", "from": "../inbox/x" }), None),
        (json!({ "path": "a", "from": "./inbox/x" }), Some("edit inbox/x")),
        (json!({ "path": "a", "from": "/workspace/inbox//x" }), Some("edit inbox/x")),
        (json!({ "path": "a", "from": "downloads/./x" }), Some("edit downloads/x")),
        (json!({ "path": "a", "from": "notes/tainted.txt" }), Some("edit notes/tainted.txt")),
        (
            json!({ "path": "a", "files": [{ "path": "own" }, { "path": ".countersign/x" }] }),
            Some("edit .countersign/x"),
        ),
    ] {
        let call = Call {
            id: CallId::from("call1"),
            model_id: String::new(),
            tool: "edit".into(),
            arguments: arguments.clone(),
        };
        assert_eq!(taint::source(&call, &spec, &session).as_deref(), source, "{arguments}");
    }
}
