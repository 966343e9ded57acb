//! Editing existing files: the approval shows what changes, nothing is written before it, and
//! nothing is written twice.

use countersign::testing::{
    agent::policy::Action,
    crash,
    journal::event::Event,
    scripted::{call, say},
    texts::Language,
};
use renderers::{Format, markdown};
use serde_json::json;
use std::{fs, path::PathBuf};

use super::messages::with_file;
use crate::{story, support::world::World};

const BOOK: &str = "## Sales\n\n| Port | Tonnes |\n|---|---|\n| Oslo | 5 |\n";

fn file(text: &str, format: Format) -> Vec<u8> {
    renderers::render(&markdown::read(text).unwrap(), format).unwrap().bytes
}

/// Ann sends a file, which is then in the inbox.
async fn sends(world: &mut World, name: &'static str, bytes: &[u8]) {
    world.room.has_file(name, bytes.to_vec());
    let sent = with_file(world, "change this", (name, name));
    world.model_will(say("I have it."));
    world.happens("1", sent).await;
}

/// The folder of the conversation, in which the inbox is.
fn folder(world: &World) -> PathBuf {
    let folders = fs::read_dir(world.config.data_dir.join("workspaces")).unwrap();
    let mut folders = folders.map(|entry| entry.unwrap().path());
    folders.find(|folder| folder.join("inbox").exists()).unwrap()
}

fn text(world: &World, name: &str) -> String {
    let bytes = fs::read(folder(world).join(name)).unwrap();
    renderers::read::to_markdown(name, &bytes).unwrap().markdown
}

/// The outcome of the last call.
async fn result(world: &World) -> String {
    world.results().await.pop().unwrap()
}

story! {
    /// The person sees the cells that change before they do.
    /// Proves S18, MC-20.
    async fn the_approval_of_an_edit_shows_what_changes(world: &mut World) {
        sends(world, "sales.xlsx", &file(BOOK, Format::Xlsx)).await;
        let before = fs::read(folder(world).join("inbox/sales.xlsx")).unwrap();
        let edit = json!({
            "path": "inbox/sales.xlsx",
            "rows": [{ "Port": "Genoa", "Tonnes": 7 }],
            "newSheets": [{ "name": "Notes", "rows": [{ "Note": "checked" }] }],
        });
        world.model_will(call("edit_workbook", edit.clone()));
        world.ann_says("add Genoa").await;
        let question = world.last_text();
        for shown in ["Replaces", "@@ Sales!", "+Genoa | 7", "@@ Notes!2 @@", "+checked"] {
            assert!(question.contains(shown), "{shown} in {question}");
        }
        assert_eq!(fs::read(folder(world).join("inbox/sales.xlsx")).unwrap(), before);
        world.model_will(say("Not done."));
        world.ann_presses("Deny").await;
        assert_eq!(fs::read(folder(world).join("inbox/sales.xlsx")).unwrap(), before);
        world.model_will(call("edit_workbook", edit));
        world.ann_says("do it").await;
        world.model_will(say("Done."));
        world.ann_presses("Allow once").await;
        let receipt = result(world).await;
        assert!(receipt.contains("/workspace/inbox/sales.xlsx"), "{receipt}");
        let after = text(world, "inbox/sales.xlsx");
        assert!(after.contains("| Genoa | 7 |") && after.contains("checked"), "{after}");
    }
}

story! {
    /// A document that has changed since the approval was requested is not edited.
    /// Proves S3.
    async fn an_edit_of_a_file_that_has_changed_is_void(world: &mut World) {
        sends(world, "lease.docx", &file("A boat.", Format::Docx)).await;
        let replacements = json!([{ "old": "boat", "new": "ship" }]);
        let edit = json!({
            "path": "new.docx", "from": "inbox/lease.docx", "replacements": replacements
        });
        world.model_will(call("edit_document", edit));
        world.ann_says("a ship").await;
        let other = file("Another boat.", Format::Docx);
        fs::write(folder(world).join("inbox/lease.docx"), other).unwrap();
        world.model_will(say("It has changed."));
        world.ann_presses("Allow once").await;
        let result = result(world).await;
        assert!(result.contains("differs from the one that was approved"), "{result}");
        assert!(!folder(world).join("new.docx").exists());
    }
}

story! {
    /// A call whose result was lost is not made again without a person.
    /// Proves T6.
    async fn an_edit_that_may_have_run_is_not_repeated(world: &mut World) {
        world.config.guard.default = Action::Allow;
        sends(world, "sales.xlsx", &file(BOOK, Format::Xlsx)).await;
        let rows = json!([{ "Port": "Genoa", "Tonnes": 7 }]);
        let edit = json!({ "path": "inbox/sales.xlsx", "rows": rows });
        world.model_will(call("edit_workbook", edit));
        let (app, other) = (world.node().await, world.node().await.gateway.store.clone());
        let here = app.gateway.store.clone();
        let now = world.clock_now();
        let taken = other.clone();
        crash::interrupt_at("tool/before run", move || {
            let take = async {
                here.release_all().await.unwrap();
                taken.claim(1, now).await.unwrap();
            };
            tokio::task::block_in_place(|| tokio::runtime::Handle::current().block_on(take));
        });
        let said = world.said("add Genoa");
        world.takes(&app, "1", said).await;
        app.worker.advance_ready().await.unwrap();
        other.release_all().await.unwrap();
        let next = world.node().await;
        world.settle(&next).await;
        let again = (Language::English.words().run_again)("edit\\_workbook");
        assert!(world.shown().contains(&again), "{}", world.shown());
        assert!(!text(world, "inbox/sales.xlsx").contains("Genoa"));
        world.model_will(say("Done."));
        let press = world.press("Run again");
        world.takes(&next, "1", press).await;
        world.settle(&next).await;
        assert_eq!(text(world, "inbox/sales.xlsx").matches("Genoa").count(), 1);
    }
}

story! {
    /// A mail merge writes one file for each row, is the same when it runs again, and replaces no
    /// other file.
    async fn a_list_fills_a_template_once_for_each_row(world: &mut World) {
        world.config.guard.default = Action::Allow;
        sends(world, "letter.docx", &file("Dear {{name}}, you owe {{sum}}.", Format::Docx)).await;
        sends(world, "list.csv", b"name,sum,age\nAnn,3,5\nBob,4,6\n").await;
        let arguments = json!({
            "path": "letters/{{name}}.docx",
            "template": "inbox/letter.docx",
            "list": "inbox/list.csv",
        });
        for _ in 0..2 {
            world.model_will(call("fill_template", arguments.clone())).will(say("Filled."));
            world.ann_says("fill it").await;
            if let Some(press) = world.press_if_there("Allow once") {
                world.happens("1", press).await;
            }
            let result = result(world).await;
            assert!(result.contains("letters/Ann.docx") && result.contains("age"), "{result}");
        }
        assert!(text(world, "letters/Bob.docx").contains("Dear Bob, you owe 4."));
        fs::write(folder(world).join("letters/Ann.docx"), "mine").unwrap();
        world.model_will(call("fill_template", arguments)).will(say("Not filled."));
        world.ann_says("fill it again").await;
        if let Some(press) = world.press_if_there("Allow once") {
            world.happens("1", press).await;
        }
        assert!(result(world).await.contains("letters/Ann.docx exists already"));
        assert_eq!(fs::read(folder(world).join("letters/Ann.docx")).unwrap(), b"mine");
    }
}

/// Whether the conversation was tainted by this source.
async fn is_tainted_by(world: &World, wanted: &str) -> bool {
    let events = world.journal().await;
    let mut sources = events.iter().filter_map(|entry| match &entry.event {
        Event::Tainted { source } => Some(source),
        _ => None,
    });
    sources.any(|source| source == wanted)
}

/// Makes a call, and allows it if that is asked.
async fn calls(world: &mut World, tool: &str, arguments: serde_json::Value) -> String {
    world.model_will(call(tool, arguments)).will(say("Done."));
    world.ann_says("do it").await;
    if let Some(press) = world.press_if_there("Allow once") {
        world.happens("1", press).await;
    }
    result(world).await
}

story! {
    /// A tool that makes a file of an untrusted one taints, since its result and its errors may
    /// quote the file, and what it has made stays untrusted after `/new`.
    /// Proves S1.
    async fn files_made_of_an_untrusted_file_are_untrusted(world: &mut World) {
        world.config.guard.default = Action::Allow;
        sends(world, "evil.docx", &file("A boat.", Format::Docx)).await;
        sends(world, "evil.xlsx", &file(BOOK, Format::Xlsx)).await;
        let replacements = json!([{ "old": "boat", "new": "ship" }]);
        let edit = json!({
            "path": "copy.docx", "from": "inbox/evil.docx", "replacements": replacements
        });
        let receipt = calls(world, "edit_document", edit).await;
        assert!(receipt.contains("/workspace/copy.docx"), "{receipt}");
        assert!(is_tainted_by(world, "edit_document inbox/evil.docx").await);
        // With or without a program that converts it.
        let convert = json!({ "path": "evil.pdf", "from": "inbox/evil.docx" });
        calls(world, "convert_document", convert).await;
        assert!(is_tainted_by(world, "convert_document inbox/evil.docx").await);
        world.ann_says("/new").await;
        // The error names the columns.
        let edit = json!({ "path": "b.xlsx", "from": "inbox/evil.xlsx", "rows": [{ "?": 1 }] });
        let error = calls(world, "edit_workbook", edit).await;
        assert!(error.contains("Port, Tonnes"), "{error}");
        assert!(is_tainted_by(world, "edit_workbook inbox/evil.xlsx").await);
        world.ann_says("/new").await;
        let text = calls(world, "extract_document", json!({ "path": "copy.docx" })).await;
        assert!(text.contains("A ship."), "{text}");
        assert!(is_tainted_by(world, "extract_document copy.docx").await);
    }
}
