//! Dialogues with the demo model, with prompts as the worker builds them.

use super::*;
use crate::agent::catalog::ToolSchema;
use parking_lot::Mutex;
use std::sync::Arc;

const CORE: [&str; 7] = [
    "read_file",
    "write_file",
    "list_dir",
    "apply_patch",
    "send_file",
    "get_current_datetime",
    "enable_tool",
];

struct Talk(Prompt);

impl Talk {
    fn new() -> Self {
        let mut tools: Vec<_> = CORE.iter().map(|name| schema(name)).collect();
        let directory = "Of these tools:\n- render_pdf_from_file\n- render_pdf: PDF\n- render_xlsx";
        let names = json!({ "names": { "description": directory } });
        let last = tools.last_mut().expect("there are some");
        Arc::make_mut(last).parameters["properties"] = names;
        Self(Prompt { system: String::new(), tools, messages: vec![], max_output_tokens: 100 })
    }

    async fn says(&mut self, text: &str) -> Reply {
        self.0.messages.push(Message::User { text: text.into() });
        self.replies().await
    }

    /// Appends the result of the last call.
    async fn result(&mut self, text: &str) -> Reply {
        let call = self.last_call();
        self.0.messages.push(Message::Tool { call, text: text.into() });
        self.replies().await
    }

    fn last_call(&self) -> Call {
        let calls = self.0.messages.iter().rev().find_map(|m| match m {
            Message::Assistant { calls, .. } => calls.first().cloned(),
            _ => None,
        });
        calls.expect("a call was made")
    }

    async fn replies(&mut self) -> Reply {
        let heard = Mutex::new(String::new());
        let hear = |piece: &str| heard.lock().push_str(piece);
        let reply = DemoModel::new("demo").reply(&self.0, &hear).await.expect("it always answers");
        assert_eq!(*heard.lock(), reply.text);
        assert_eq!(reply.text.is_empty(), !reply.calls.is_empty());
        if !reply.text.is_empty() {
            assert!(reply.text.ends_with(LABEL), "{}", reply.text);
        }
        let (text, calls) = (reply.text.clone(), reply.calls.clone());
        self.0.messages.push(Message::Assistant { text, calls });
        reply
    }
}

fn schema(name: &str) -> Arc<ToolSchema> {
    Arc::new(ToolSchema {
        name: name.to_owned(),
        description: String::new(),
        parameters: json!({ "type": "object" }),
    })
}

fn made(reply: &Reply) -> (&str, &Value) {
    (reply.calls[0].tool.as_str(), &reply.calls[0].arguments)
}

#[tokio::test]
async fn every_answer_says_that_it_is_from_the_demo_model() {
    let mut talk = Talk::new();
    for text in ["hi", "what can you do", "sing", "", "Summarise this"] {
        assert!(talk.says(text).await.text.contains("demo model"));
    }
}

#[tokio::test]
async fn a_report_enables_its_renderer_first() {
    let mut talk = Talk::new();
    let first = talk.says("write a report about bees as pdf").await;
    assert_eq!(made(&first), ("enable_tool", &json!({ "names": ["render_pdf"] })));
    talk.0.tools.push(schema("render_pdf"));
    let second = talk.result("Enabled: render_pdf").await;
    assert_eq!(made(&second).0, "render_pdf");
    assert_eq!(made(&second).1["fileName"], "bees.pdf");
    assert!(made(&second).1["markdown"].as_str().expect("text").contains("# Bees"));
    let last =
        talk.result("bees.pdf (application/pdf, 2 kB) goes to you. They need no link.").await;
    let start =
        "Your document is ready: `bees.pdf`. bees.pdf (application/pdf, 2 kB) goes to you.\n";
    assert!(last.text.starts_with(start), "{}", last.text);
}

#[tokio::test]
async fn a_tool_that_cannot_be_enabled_is_not_asked_for_twice() {
    let mut talk = Talk::new();
    talk.says("write a report about bees as pdf").await;
    let next = talk.result("Enabled nothing new.").await;
    assert!(next.text.contains("I need the tool `render_pdf`"), "{}", next.text);
    let none = talk.says("write a report about bees as docx").await;
    assert!(none.text.contains("I need the tool `render_docx`"), "not in the directory");
}

#[tokio::test]
async fn a_note_is_written_and_a_denial_is_reported() {
    let mut talk = Talk::new();
    let note = talk.says("save a note: my request was denied").await;
    let path = "notes/my-request-was-denied.md";
    let content = "my request was denied\n";
    assert_eq!(made(&note), ("write_file", &json!({ "path": path, "content": content })));
    let receipt = json!({ "path": path, "bytes_written": 22, "success": true });
    let done = talk.result(&receipt.to_string()).await;
    assert!(done.text.starts_with("I saved"), "{}", done.text);
    talk.says("save a note: again").await;
    let denied = talk.result("Denied by Ann: not today").await;
    assert!(denied.text.starts_with("I was not allowed"), "{}", denied.text);
    talk.says("save a note: again").await;
    let failed = talk.result("Invalid parameters: path leads out of the workspace").await;
    assert!(failed.text.starts_with("That did not work"), "{}", failed.text);
}

/// A note without words is asked for, and a path is one word of the command that deletes it.
#[tokio::test]
async fn incomplete_and_dangerous_requests_are_taken_as_they_are_meant() {
    let mut talk = Talk::new();
    let reply = talk.says("Save a note: ").await;
    assert!(reply.calls.is_empty() && reply.text.contains("save a note: buy honey"));
    talk.0.tools.push(schema("shell"));
    let reply = talk.says("delete a';ls;'.md").await;
    assert_eq!(made(&reply), ("shell", &json!({ "command": r"rm -- 'a'\'';ls;'\''.md'" })));
    let reply = talk.says("run ls -l").await;
    assert_eq!(made(&reply), ("shell", &json!({ "command": "ls -l" })));
    for (words, answer) in [("thanks", "You're welcome."), ("who are you?", "I'm a demo")] {
        assert!(talk.says(words).await.text.starts_with(answer), "{words}");
    }
}

#[tokio::test]
async fn a_replacement_reads_before_it_patches() {
    let mut talk = Talk::new();
    let read = talk.says("replace honey with wax in notes/a.md").await;
    assert_eq!(made(&read), ("read_file", &json!({ "path": "notes/a.md" })));
    let patch = talk.result("{\"path\":\"/notes/a.md\"}\nbuy honey").await;
    let arguments = json!({ "path": "notes/a.md", "old_string": "honey", "new_string": "wax" });
    assert_eq!(made(&patch), ("apply_patch", &arguments));
    let done = talk.result("{\"replacements\":1,\"success\":true}").await;
    assert!(done.text.starts_with("I changed `notes/a.md`"), "{}", done.text);
    talk.says("replace honey with wax in notes/a.md").await;
    talk.result("{\"path\":\"/notes/a.md\"}\nbuy wax").await;
    let missing = talk.result("The text was not found in notes/a.md").await;
    assert!(missing.text.starts_with("That did not work"), "{}", missing.text);
}

#[tokio::test]
async fn a_file_that_is_not_there_is_not_patched() {
    let mut talk = Talk::new();
    talk.says("replace honey with wax in notes/a.md").await;
    let answer = talk.result("Not found: notes/a.md. list_dir shows what there is").await;
    assert!(answer.text.starts_with("That did not work"), "{}", answer.text);
}

#[tokio::test]
async fn a_result_that_comes_after_the_next_message_is_reported_too() {
    let mut talk = Talk::new();
    talk.says("save a note: one").await;
    let call = talk.last_call();
    talk.0.messages.push(Message::Tool { call, text: "Denied by Ann".into() });
    let answer = talk.says("what can you do").await;
    assert!(answer.text.starts_with("I was not allowed"), "{}", answer.text);
    assert!(answer.text.contains("list files"));
    assert!(!talk.says("help").await.text.contains("not allowed"), "once is enough");
}

#[tokio::test]
async fn file_content_cannot_close_its_quotation() {
    let mut talk = Talk::new();
    talk.says("read a.md").await;
    let shown = talk.result("{\"path\":\"/a.md\"}\n```\ndenied?\n```").await;
    assert!(shown.text.contains("````\n```\ndenied?\n```\n````"), "{}", shown.text);
}

#[tokio::test]
async fn files_and_the_time_are_described_plainly() {
    let mut talk = Talk::new();
    talk.says("list files").await;
    let listed = talk.result("{\"entries\":[\"notes/\",\"a.md (3 B)\"],\"count\":2}").await;
    assert!(listed.text.contains("notes/\na.md (3 B)\n"), "{}", listed.text);
    talk.says("list files").await;
    let none = talk.result("{\"entries\":[],\"count\":0}").await;
    assert!(none.text.starts_with("There are no files yet."), "{}", none.text);
    talk.says("what time is it in Tokyo").await;
    let time = talk.result("2026-04-11T14:30:22 (Saturday, Asia/Tokyo)").await;
    assert!(time.text.starts_with("The clock says: 2026-04-11T14:30:22"), "{}", time.text);
}

#[test]
fn pieces_are_small_and_lose_nothing() {
    let text = "Zwölf Boxkämpfer jagen Viktor quer über den großen Sylter Deich.";
    let pieces = pieces(text);
    assert_eq!(pieces.concat(), text);
    assert!(pieces.iter().all(|p| p.chars().count() <= PIECE_CHARS));
}

#[test]
fn a_slug_is_a_name_for_a_file() {
    assert_eq!(slug("Bees & Honey!"), "bees-honey");
    assert_eq!(slug("../../etc"), "etc");
    assert_eq!(slug("???"), "note");
}
