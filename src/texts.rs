//! Every sentence that a person can read, and the fixed ones that the model reads.

use channels::{Choice, text};
use chrono::{DateTime, TimeDelta, Utc};
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use std::fmt::Write as _;

use crate::journal::event::{Asks, Decider, Status};

// --- to the model

pub const CHANGED_SINCE_ASKED: &str =
    "Denied: the call is not the one that was shown for approval. Make it again if it is needed.";
pub const OUTCOME_UNKNOWN: &str = "It was interrupted while it ran: whether it took effect is \
    unknown, and it is not safe to repeat by itself.";
pub const SKIPPED: &str = "The call was interrupted and its outcome is unknown. The person chose \
    not to run it again: check the state before you rely on it.";

pub fn refused_by_rule(tool: &str, rule: &str) -> String {
    format!(
        "Denied: the rule \u{201c}{rule}\u{201d} forbids this call of {tool}. Do not try again."
    )
}

pub fn refused_by_default(tool: &str) -> String {
    format!("Denied: {tool} is not allowed here. Do not try again.")
}

pub fn denied(by: &Decider, reason: Option<&str>) -> String {
    match (by, reason) {
        (Decider::Timeout, _) => "Denied: nobody answered in time.".into(),
        (Decider::Undeliverable, _) => "Denied: nobody could be asked.".into(),
        (Decider::Person(p), None) => format!("Denied by {}.", p.name),
        (Decider::Person(p), Some(why)) => format!("Denied by {}: {why}", p.name),
    }
}

pub fn no_such_tool(name: &str, near: &[String]) -> String {
    if near.is_empty() {
        return format!("There is no tool `{name}`.");
    }
    format!("There is no tool `{name}`. Close to it: {}.", near.join(", "))
}

pub fn tool_gone(tool: &str) -> String {
    format!("Not run: {tool} is not there any more. Its server may be down.")
}

pub fn tools_enabled(names: &[String]) -> String {
    if names.is_empty() {
        return "These tools are callable already.".into();
    }
    format!("Enabled for this conversation: {}.", names.join(", "))
}

// --- why a person is asked

pub fn tool_always_asks(tool: &str) -> String {
    format!("{tool} asks every time.")
}

pub fn rule_asks(rule: &str) -> String {
    format!("The rule \u{201c}{rule}\u{201d} asks.")
}

pub fn changes_something(tool: &str) -> String {
    format!("{tool} changes something, and no rule allows it.")
}

// --- why a turn ends

pub fn out_of_steps(steps: u32) -> String {
    format!(
        "I stopped after {steps} steps, the most that one task may take. Say \u{201c}go on\u{201d} to continue."
    )
}

pub fn out_of_tokens(tokens: u64) -> String {
    format!(
        "I stopped: this task has used up its budget of {tokens} tokens. Say \u{201c}go on\u{201d} to continue."
    )
}

pub fn out_of_time(time: TimeDelta) -> String {
    format!(
        "I stopped: this task took longer than {} minutes. Say \u{201c}go on\u{201d} to continue.",
        time.num_minutes()
    )
}

// --- questions and what becomes of them

/// A question's first line, and what remains of it when it is settled.
pub fn question_title(asks: Asks, tool: &str) -> String {
    match asks {
        Asks::Allow => format!("Allow **{}**?", text::escape(tool)),
        Asks::Retry => format!("**{}** was interrupted. Run it again?", text::escape(tool)),
    }
}

/// What a question shows.
pub struct QuestionParts<'a> {
    pub title: &'a str,
    pub arguments: &'a Value,
    /// The diff of an edit, in Markdown.
    pub preview: Option<&'a str>,
    pub reason: &'a str,
    pub requester: &'a str,
    pub expires_at: DateTime<Utc>,
    /// What a person types to answer without buttons.
    pub code: &'a str,
}

/// The longest arguments that are shown whole, in characters; the rest is told by its digest.
const ARGUMENTS_SHOWN: usize = 1_500;

/// Exactly what will run, neutralised: control, bidi and zero-width characters are made visible,
/// and nothing in the arguments acts as Markdown.
pub fn question(parts: &QuestionParts<'_>) -> String {
    let mut markdown = format!("{}\n", parts.title);
    if let Value::Object(fields) = parts.arguments {
        for (name, value) in fields {
            let _ = write!(markdown, "\n{}", argument(name, value, parts.preview.is_some()));
        }
    } else {
        let _ = write!(markdown, "\n{}", fenced(&parts.arguments.to_string()));
    }
    if let Some(preview) = parts.preview {
        let _ = write!(markdown, "\n\n{}", text::neutralise(preview));
    }
    let _ = write!(
        markdown,
        "\n\n{}\nAsked for by {}. Open until {}, code `{}`.",
        parts.reason,
        text::escape(&text::neutralise(parts.requester)),
        parts.expires_at.format("%Y-%m-%d %H:%M UTC"),
        parts.code
    );
    markdown
}

/// Short values stand on their line, long ones in a block; what the preview shows already is told
/// by its size.
fn argument(name: &str, value: &Value, previewed: bool) -> String {
    let shown = match value {
        Value::String(content) => content.clone(),
        other => other.to_string(),
    };
    let name = text::escape(&text::neutralise(name));
    let length = shown.chars().count();
    if length <= 80 && !shown.contains(['\n', '`']) {
        return format!("{name}: `{}`", text::neutralise(&shown));
    }
    let digest = hex::encode(Sha256::digest(&shown));
    let digest = &digest[..16];
    // A path is neither long nor has it lines: what the preview may stand for is content only.
    if previewed && (shown.contains('\n') || length > 1_024) {
        return format!("{name}: {length} characters, SHA-256 `{digest}…`, see below");
    }
    if length <= ARGUMENTS_SHOWN {
        return format!("{name}:\n{}", fenced(&shown));
    }
    let head: String = shown.chars().take(ARGUMENTS_SHOWN).collect();
    format!(
        "{name}: the first {ARGUMENTS_SHOWN} of {length} characters, SHA-256 `{digest}…`\n{}",
        fenced(&head)
    )
}

/// A code block whose fence nothing inside can close.
fn fenced(content: &str) -> String {
    let content = text::neutralise(content);
    let longest = content.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}\n{content}\n{fence}")
}

/// The arguments on one line, for what remains of a question.
pub fn in_short(arguments: &Value) -> String {
    let shown: String = match arguments.as_object().and_then(|fields| fields.values().next()) {
        Some(Value::String(first)) => first.chars().filter(|c| *c != '`').take(80).collect(),
        Some(first) => first.to_string().chars().filter(|c| *c != '`').take(80).collect(),
        None => return String::new(),
    };
    format!("`{}`", text::neutralise(&shown).replace('\n', " "))
}

pub fn settled(status: Status, title: &str, by: &str) -> String {
    let by = text::escape(&text::neutralise(by));
    let end = match status {
        Status::Pending => return title.to_owned(),
        Status::Allowed => format!("✅ Allowed by {by}."),
        Status::Denied => format!("🚫 Denied by {by}."),
        Status::Expired => "⌛ Denied: nobody answered in time.".to_owned(),
        Status::Withdrawn => format!("Withdrawn by {by}."),
    };
    format!("{title}\n\n{end}")
}

/// `lasting`: an answer for the rest of the conversation would count; `cut`: not everything could
/// be shown.
pub fn choices(asks: Asks, lasting: bool, cut: bool) -> Vec<Choice> {
    let choice = |label: &str, key| Choice { label: label.to_owned(), key };
    let everything = cut.then(|| choice("Show everything", 'e'));
    let mut choices = match asks {
        Asks::Allow if lasting => vec![
            choice("Allow once", 'a'),
            choice("Allow in this conversation", 'c'),
            choice("Deny", 'd'),
        ],
        Asks::Allow => vec![choice("Allow once", 'a'), choice("Deny", 'd')],
        Asks::Retry => vec![choice("Run again", 'r'), choice("Skip", 's')],
    };
    choices.extend(everything);
    choices
}

/// Whether a question does not show all of these arguments itself.
pub fn cuts(arguments: &Value) -> bool {
    let long = |value: &Value| match value {
        Value::String(text) => text.chars().count() > ARGUMENTS_SHOWN,
        other => other.to_string().chars().count() > ARGUMENTS_SHOWN,
    };
    arguments.as_object().is_some_and(|fields| fields.values().any(long))
}

/// All arguments, as the file that the button sends: the same bytes whenever it is pressed.
pub fn everything(arguments: &Value) -> String {
    format!("{arguments:#}\n")
}

pub const EVERYTHING_NAME: &str = "arguments.json";
pub const EVERYTHING_SENT: &str = "All arguments are on their way as a file.";

/// The private answer to a press, or to a typed command.
pub fn decided(status: Status) -> &'static str {
    match status {
        Status::Pending => "This question is still open.",
        Status::Allowed => "Allowed.",
        Status::Denied => "Denied.",
        Status::Expired => "Too late: the question had expired, which counts as denied.",
        Status::Withdrawn => "The question was withdrawn.",
    }
}

pub fn already_decided(status: Status, by: Option<&str>) -> String {
    match (status, by) {
        (Status::Allowed, Some(by)) => format!("Already allowed by {by}."),
        (Status::Denied, Some(by)) => format!("Already denied by {by}."),
        (Status::Withdrawn, Some(by)) => format!("Withdrawn by {by}."),
        _ => decided(status).to_owned(),
    }
}

pub const NOT_YOURS: &str = "Only the person who asked for this may decide it.";
pub const NO_SUCH_BUTTON: &str = "This button is not valid any more.";
pub const NOTHING_PENDING: &str = "Nothing waits for a decision here.";
pub const WHICH_ONE: &str =
    "Several questions are open. Name one by the code that it shows, as in `/allow 1a2b3c4d`.";
pub const WAITING_FOR_YOU: &str = "I am still waiting for a decision on the question above. I have \
    noted your message and read it after that. /stop withdraws the question.";

/// Who ends a question when a turn breaks.
pub const THE_BOT: &str = "the bot, which had to give the task up";
pub const NOT_SHOWN_YET: &str =
    "A question is on its way to you. Please read it before you decide.";

// --- commands and strangers

pub const HELP: &str = "Write to me in plain words. I ask with buttons before I change anything.\n\n\
    - /new starts a fresh conversation\n\
    - /stop ends what I am doing and withdraws open questions\n\
    - /allow, /always and /deny answer an open question without its buttons\n\
    - /status says what I am waiting for\n\
    - /whoami shows how I know you";
pub const STOPPED: &str = "Stopped.";
pub const FRESH: &str = "A fresh conversation. I have forgotten what was said before.";
pub const PAIRED: &str = "Welcome! You can talk to me now. /help says how.";
pub const WRONG_CODE: &str = "That code is not valid. Ask the operator for a new one.";
pub const LOCKED: &str = "Too many wrong codes. Try again in 15 minutes.";

pub fn stranger(id: &str) -> String {
    format!(
        "I do not know you yet. Ask the operator for a pairing code and send it to me, or have \
         your id `{}` added to `allow`.",
        text::escape(id)
    )
}

pub fn unsupported(content: &str) -> String {
    format!("I cannot take in a {} yet. Please write it as text.", text::escape(content))
}

pub fn whoami(name: &str, id: &str, channel: &str) -> String {
    format!(
        "You are {} (`{}`) on `{}`.",
        text::escape(name),
        text::escape(id),
        text::escape(channel)
    )
}

pub fn status(open: usize) -> String {
    match open {
        0 => "No question is open.".into(),
        1 => "One question waits for a decision.".into(),
        n => format!("{n} questions wait for a decision."),
    }
}

pub fn failed(reason: &str, reference: &str) -> String {
    format!("{reason}\n\nReference: `{reference}`")
}

pub const NO_ANSWER: &str = "The language model gave an empty answer. Please ask again.";
pub const MODEL_UNAVAILABLE: &str =
    "I could not reach the language model, after several tries. Please write again in a while.";
pub const MODEL_REFUSED: &str =
    "The language model refuses my requests. The operator finds the reason in the log.";
pub const BROKEN: &str = "Something went wrong on my side, and I could not finish.";

pub fn file_missing(name: &str) -> String {
    format!("The file {} cannot be sent: its stored bytes are gone or damaged.", text::escape(name))
}
