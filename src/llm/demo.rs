//! The demo model: fixed rules instead of an AI, to try everything else without a key. It sees only
//! the prompt, and every answer says that it is a demo.

use async_trait::async_trait;
use serde_json::{Value, json};

use super::{Model, ModelError, OnText, Reply, demo_document, demo_intent::DemoIntent};
use crate::{
    agent::prompt::{Message, Prompt},
    journal::{
        event::{Call, Usage},
        ids::CallId,
    },
};

/// Appended to every answer.
pub const LABEL: &str = "— demo model: a rule-based stand-in, not an AI. Set OPENAI_API_KEY, \
                         ANTHROPIC_API_KEY, GEMINI_API_KEY or OLLAMA_HOST for a real one.";

const HELP: &str = "I understand a handful of plain requests:

- write a report about bees as pdf (or docx, xlsx, pptx)
- save a note: buy honey
- read notes/buy-honey.md
- replace honey with wax in notes/buy-honey.md
- send me notes/buy-honey.md
- remind me in 5 minutes to call Bob
- remember that I like honey
- list files
- what time is it in Tokyo";

const PIECE_CHARS: usize = 24;
const QUOTED_CHARS: usize = 3000;

#[derive(Debug, Clone)]
pub struct DemoModel {
    id: String,
}

impl DemoModel {
    pub fn new(id: impl Into<String>) -> Self {
        Self { id: id.into() }
    }
}

#[async_trait]
impl Model for DemoModel {
    fn id(&self) -> &str {
        &self.id
    }

    async fn reply(&self, prompt: &Prompt, on_text: &OnText<'_>) -> Result<Reply, ModelError> {
        let (text, calls) = match answer(prompt) {
            Answer::Say(text) => (format!("{text}\n\n{LABEL}"), vec![]),
            Answer::Call(tool, arguments) => (String::new(), vec![call(tool, arguments)]),
        };
        for piece in pieces(&text) {
            on_text(piece);
        }
        let usage = usage(prompt, &text);
        Ok(Reply { text, calls, usage, by: None })
    }
}

enum Answer {
    Say(String),
    Call(&'static str, Value),
}

/// The current turn: the last message and the calls since then.
struct Turn<'a> {
    asked: &'a str,
    done: Vec<(&'a Call, &'a str)>,
    /// Results that no reply has reported yet.
    unreported: Vec<(&'a Call, &'a str)>,
}

impl<'a> Turn<'a> {
    fn of(messages: &'a [Message]) -> Self {
        let mut turn = Self { asked: "", done: Vec::new(), unreported: Vec::new() };
        for message in messages {
            match message {
                Message::User { text } => {
                    turn.asked = text;
                    turn.unreported.append(&mut turn.done);
                }
                Message::Tool { call, text } => turn.done.push((call, text)),
                Message::Assistant { text, .. } if !text.is_empty() => {
                    turn.done.clear();
                    turn.unreported.clear();
                }
                Message::Assistant { .. } | Message::Picture(_) => {}
            }
        }
        turn
    }
}

fn answer(prompt: &Prompt) -> Answer {
    let turn = Turn::of(&prompt.messages);
    let intent = DemoIntent::read(turn.asked, prompt.tools.is_empty());
    if let Some((call, result)) = turn.done.last() {
        return go_on(prompt, &intent, call, result);
    }
    let descriptions: Vec<String> = turn.unreported.iter().map(|(c, r)| describe(c, r)).collect();
    match begin(prompt, &intent) {
        Answer::Say(text) if !descriptions.is_empty() => {
            Answer::Say(format!("{}\n\n{text}", descriptions.join("\n\n")))
        }
        answer => answer,
    }
}

/// The first step of a request.
fn begin(prompt: &Prompt, intent: &DemoIntent) -> Answer {
    match intent {
        DemoIntent::Hello => Answer::Say(format!("Hello! {HELP}")),
        DemoIntent::Help => Answer::Say(HELP.to_owned()),
        DemoIntent::Thanks => Answer::Say("You're welcome.".to_owned()),
        DemoIntent::Introduction => {
            Answer::Say(format!("I'm a demo without a language model. {HELP}"))
        }
        DemoIntent::Summary => Answer::Say(summary(prompt)),
        DemoIntent::Unknown => Answer::Say(format!("I did not understand that. {HELP}")),
        DemoIntent::Report { topic, format } => {
            let arguments = json!({
                "markdown": demo_document::compose(topic, *format),
                "fileName": format!("{}.{}", slug(topic), format.extension()),
            });
            want(prompt, format.tool(), arguments)
        }
        DemoIntent::Note { text } if text.is_empty() => Answer::Say(
            "What should the note say? Write it like this: save a note: buy honey".into(),
        ),
        DemoIntent::Note { text } => {
            let title: String = text.split_whitespace().take(6).collect::<Vec<_>>().join(" ");
            let path = format!("notes/{}.md", slug(&title));
            want(prompt, "write_file", json!({ "path": path, "content": format!("{text}\n") }))
        }
        DemoIntent::Read { path } | DemoIntent::Replace { path, .. } => {
            want(prompt, "read_file", json!({ "path": path }))
        }
        DemoIntent::Remind { text, after } => {
            want(prompt, "remind", json!({ "text": text, "in": after }))
        }
        DemoIntent::Remember { text } => {
            let arguments = json!({ "path": "MEMORY.md", "content": text, "append": true });
            want(prompt, "memory_store", arguments)
        }
        DemoIntent::Delete { path } => {
            want(prompt, "shell", json!({ "command": format!("rm -- {}", quoted_word(path)) }))
        }
        DemoIntent::Run { command } => want(prompt, "shell", json!({ "command": command })),
        DemoIntent::List { path } => want(prompt, "list_dir", json!({ "path": path })),
        DemoIntent::Time { zone } => {
            want(prompt, "get_current_datetime", json!({ "timezone": zone }))
        }
        DemoIntent::Send { path } => {
            let name = path.rsplit('/').next().unwrap_or(path);
            want(prompt, "send_file", json!({ "filePath": path, "fileName": name }))
        }
    }
}

/// The text as one word of a shell command.
fn quoted_word(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// Calls the tool. Enables it first if its schema is not in the prompt.
fn want(prompt: &Prompt, tool: &'static str, arguments: Value) -> Answer {
    if prompt.tools.iter().any(|t| t.name == tool) {
        return Answer::Call(tool, arguments);
    }
    let tried = Turn::of(&prompt.messages).done.iter().any(|(c, _)| c.tool == "enable_tool");
    let directory = prompt.tools.iter().find(|t| t.name == "enable_tool");
    if !tried && directory.is_some_and(|t| names(&t.parameters.to_string(), tool)) {
        return Answer::Call("enable_tool", json!({ "names": [tool] }));
    }
    Answer::Say(format!("For that I need the tool `{tool}`, which I do not have here."))
}

/// Whether the listing contains exactly this tool name, and not only as the prefix of a longer one.
fn names(directory: &str, tool: &str) -> bool {
    directory.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').any(|word| word == tool)
}

/// The next step after a call has ended.
fn go_on(prompt: &Prompt, intent: &DemoIntent, call: &Call, result: &str) -> Answer {
    let done = DemoOutcome::of(call, result) == DemoOutcome::Done;
    match (call.tool.as_str(), intent) {
        ("enable_tool", _) if done => begin(prompt, intent),
        ("read_file", DemoIntent::Replace { old, new, path }) if done => {
            let arguments = json!({ "path": path, "old_string": old, "new_string": new });
            want(prompt, "apply_patch", arguments)
        }
        _ => Answer::Say(describe(call, result)),
    }
}

/// Describes the result of a call.
fn describe(call: &Call, result: &str) -> String {
    match DemoOutcome::of(call, result) {
        DemoOutcome::Denied => {
            format!("I was not allowed to do that (`{}`): {}", call.tool, first_line(result))
        }
        DemoOutcome::Failed => {
            format!("That did not work (`{}`): {}", call.tool, first_line(result))
        }
        DemoOutcome::Done => describe_done(call, result),
    }
}

fn describe_done(call: &Call, result: &str) -> String {
    let argument = |name: &str| call.arguments[name].as_str().unwrap_or_default().to_owned();
    let sentence = first_line(result).split_inclusive(". ").next().unwrap_or_default().trim();
    match (call.tool.as_str(), receipt(result)) {
        ("read_file", Some((_, content))) => {
            format!("This is `{}`:\n\n{}", argument("path"), quoted(content))
        }
        ("list_dir", Some((about, _))) => listed(&about),
        ("write_file", _) => format!("I saved `{}`.", argument("path")),
        ("apply_patch", _) => format!("I changed `{}`.", argument("path")),
        ("get_current_datetime", _) => format!("The clock says: {}", first_line(result)),
        ("send_file", _) => format!("Here comes `{}`. {sentence}", argument("filePath")),
        (tool, _) if tool.starts_with("render_") => {
            format!("Your document is ready: `{}`. {sentence}", argument("fileName"))
        }
        (tool, _) => format!("`{tool}` says:\n\n{}", quoted(result)),
    }
}

/// File tools return a line of JSON, followed by the contents.
fn receipt(result: &str) -> Option<(Value, &str)> {
    let (first, rest) = result.split_once('\n').unwrap_or((result, ""));
    let about: Value = serde_json::from_str(first).ok()?;
    about.is_object().then_some((about, rest))
}

fn listed(about: &Value) -> String {
    let entries = about["entries"].as_array().cloned().unwrap_or_default();
    if entries.is_empty() {
        return "There are no files yet.".to_owned();
    }
    let lines: Vec<&str> = entries.iter().filter_map(Value::as_str).collect();
    format!("These are the files:\n\n{}", quoted(&lines.join("\n")))
}

/// How a call ended, as far as its result says.
#[derive(Debug, PartialEq, Eq)]
enum DemoOutcome {
    Done,
    Denied,
    Failed,
}

impl DemoOutcome {
    /// Recognises the outcome by the text of the result, because the prompt contains nothing else.
    /// Text from the call itself (a path, a note) is ignored, so that a note about a denied request
    /// is not mistaken for a denial.
    fn of(call: &Call, result: &str) -> Self {
        const FILES: [&str; 4] = ["read_file", "list_dir", "write_file", "apply_patch"];
        const FAILED: [&str; 14] = [
            "error",
            "failed",
            "invalid",
            "timed out",
            "not authorized",
            "not found",
            "path not allowed",
            "rate limit",
            "external service",
            "sandbox",
            "there is no",
            "is empty",
            "cannot",
            "could not",
        ];
        if receipt(result).is_some() {
            return Self::Done;
        }
        let words = words(call, result);
        if words.starts_with("denied") {
            Self::Denied
        } else if FILES.contains(&call.tool.as_str()) || FAILED.iter().any(|s| words.starts_with(s))
        {
            Self::Failed
        } else {
            Self::Done
        }
    }
}

/// The beginning of the result, without text that comes from the call.
fn words(call: &Call, result: &str) -> String {
    let mut words: String = result.chars().take(200).collect::<String>().to_lowercase();
    let said = call.arguments.as_object().into_iter().flatten().filter_map(|(_, v)| v.as_str());
    for said in said.filter(|said| !said.trim().is_empty()) {
        words = words.replace(&said.to_lowercase(), "");
    }
    words.trim_start_matches(|c: char| !c.is_alphabetic()).to_owned()
}

/// Lists what the person has asked for so far, because fixed rules cannot summarise anything else.
fn summary(prompt: &Prompt) -> String {
    let mut requests = Vec::new();
    for message in &prompt.messages {
        if let Message::User { text } = message {
            let line = first_line(text);
            requests.push(format!("- {}", line.chars().take(120).collect::<String>()));
        }
    }
    requests.pop();
    if requests.is_empty() {
        return "Nothing has been asked for yet.".to_owned();
    }
    format!("So far the person asked for this:\n\n{}", requests.join("\n"))
}

fn first_line(text: &str) -> &str {
    text.trim().lines().next().unwrap_or_default()
}

fn quoted(text: &str) -> String {
    let short: String = text.chars().take(QUOTED_CHARS).collect();
    let more = if short.len() < text.len() { "\n…" } else { "" };
    // The fence must be longer than any run of backticks in the text.
    let fence = "`".repeat(3.max(longest_run(&short, '`') + 1));
    format!("{fence}\n{short}{more}\n{fence}")
}

fn longest_run(text: &str, letter: char) -> usize {
    text.split(|c| c != letter).map(str::len).max().unwrap_or(0)
}

/// A file name: `Bees & honey` → `bees-honey`.
fn slug(text: &str) -> String {
    let lower = text.to_lowercase();
    let words = lower.split(|c: char| !c.is_alphanumeric()).filter(|w| !w.is_empty());
    let slug: String = words.collect::<Vec<_>>().join("-").chars().take(48).collect();
    let slug = slug.trim_matches('-');
    if slug.is_empty() { "note".to_owned() } else { slug.to_owned() }
}

fn call(tool: &str, arguments: Value) -> Call {
    let id = CallId::new();
    Call { model_id: id.as_str().to_owned(), id, tool: tool.to_owned(), arguments }
}

/// Splits into words, as a model streams them.
fn pieces(text: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while rest.chars().count() > PIECE_CHARS {
        let near = rest.char_indices().nth(PIECE_CHARS).map_or(rest.len(), |(at, _)| at);
        let cut = rest[..near].rfind(' ').map_or(near, |space| space + 1);
        let (piece, more) = rest.split_at(cut);
        pieces.push(piece);
        rest = more;
    }
    if !rest.is_empty() {
        pieces.push(rest);
    }
    pieces
}

/// About four letters per token.
fn usage(prompt: &Prompt, text: &str) -> Usage {
    let said: usize = prompt
        .messages
        .iter()
        .map(|m| match m {
            Message::User { text }
            | Message::Assistant { text, .. }
            | Message::Tool { text, .. } => text.len(),
            Message::Picture(_) => 0,
        })
        .sum();
    Usage {
        input_tokens: ((prompt.system.len() + said) / 4) as u64,
        output_tokens: (text.len() / 4) as u64,
        cached_tokens: 0,
    }
}

#[cfg(test)]
#[path = "demo_tests.rs"]
mod tests;
