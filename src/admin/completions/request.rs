//! Requests of OpenAI clients: what is supported, which part is new, and the digests by which a
//! dialogue is recognised. Pure.

use serde::Deserialize;
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use strum::IntoStaticStr;

use super::error::CompletionError;
use crate::texts::CompletionTexts;

/// The maximum number of messages of a request.
const MESSAGES: usize = 2_000;
/// The maximum length of what is new in a request, in characters.
const NEW_CHARS: usize = 100_000;
/// How much is passed on of a dialogue that the gateway does not know, in characters: of its system
/// messages from the beginning, and of the others up to the end.
const QUOTED_CHARS: usize = 50_000;
/// Begins each line of a quotation.
const QUOTE: &str = "> ";

#[derive(Debug, Deserialize)]
struct CompletionBody {
    model: String,
    messages: Vec<MessageBody>,
    stream: Option<bool>,
    stream_options: Option<StreamOptions>,
    n: Option<u64>,
    tools: Option<Value>,
    functions: Option<Value>,
    logprobs: Option<bool>,
    response_format: Option<FormatBody>,
}

#[derive(Debug, Deserialize)]
struct StreamOptions {
    include_usage: Option<bool>,
}

#[derive(Debug, Deserialize)]
struct FormatBody {
    #[serde(rename = "type")]
    kind: String,
}

#[derive(Debug, Deserialize)]
struct MessageBody {
    role: String,
    content: Option<ContentBody>,
    tool_calls: Option<Value>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum ContentBody {
    Text(String),
    Parts(Vec<PartBody>),
}

#[derive(Debug, Deserialize)]
struct PartBody {
    #[serde(rename = "type")]
    kind: String,
    text: Option<String>,
}

/// The author of a message, as the client names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
enum MessageRole {
    /// Also `developer`. Such a text is a part of the person's message.
    System,
    User,
    Assistant,
}

impl MessageRole {
    fn as_str(self) -> &'static str {
        self.into()
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct ClientMessage {
    role: MessageRole,
    text: String,
}

/// How the client receives the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswerForm {
    Whole,
    Stream { includes_usage: bool },
}

/// A request, as far as the gateway uses it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompletionRequest {
    pub model: String,
    pub form: AnswerForm,
    /// Ends with an answer. Empty in the first request of a dialogue.
    history: Vec<ClientMessage>,
    /// What follows after the last answer; the last message is one of the user.
    new: Vec<ClientMessage>,
}

impl CompletionRequest {
    pub fn parse(body: &[u8]) -> Result<Self, CompletionError> {
        let body: CompletionBody = serde_json::from_slice(body)
            .map_err(|problem| CompletionError::invalid("body", problem.to_string()))?;
        supported(&body)?;
        if body.messages.len() > MESSAGES {
            let message = format!("A request can have at most {MESSAGES} messages.");
            return Err(CompletionError::invalid("messages", message));
        }
        let messages = body.messages.into_iter().enumerate();
        let messages = messages.map(|(at, body)| message(at, body));
        let mut history = messages.collect::<Result<Vec<_>, _>>()?;
        let answered = history.iter().rposition(|message| message.role == MessageRole::Assistant);
        let new = history.split_off(answered.map_or(0, |at| at + 1));
        let is_request = new.last().is_some_and(|last| last.role == MessageRole::User);
        if !is_request || new.iter().all(|message| message.text.is_empty()) {
            let message = "The last message must be a text with the role `user`.";
            return Err(CompletionError::invalid("messages", message));
        }
        if new.iter().map(|message| message.text.chars().count()).sum::<usize>() > NEW_CHARS {
            let message = format!("The new messages are longer than {NEW_CHARS} characters.");
            return Err(CompletionError::invalid("messages", message));
        }
        let includes_usage = body.stream_options.and_then(|options| options.include_usage);
        let form = match body.stream {
            Some(true) => AnswerForm::Stream { includes_usage: includes_usage.unwrap_or_default() },
            _ => AnswerForm::Whole,
        };
        Ok(Self { model: body.model, form, history, new })
    }

    /// The digest of the dialogue before the new messages, if there is one.
    pub fn history(&self) -> Option<String> {
        (!self.history.is_empty()).then(|| self.digest(&self.history, None))
    }

    /// The digest of the dialogue with the answer.
    pub fn answered(&self, answer: &str) -> String {
        self.digest(self.history.iter().chain(&self.new), Some(answer))
    }

    fn digest<'a>(
        &self,
        messages: impl IntoIterator<Item = &'a ClientMessage>,
        answer: Option<&str>,
    ) -> String {
        let mut digest = Sha256::new();
        let mut update = |part: &str| {
            digest.update((part.len() as u64).to_le_bytes());
            digest.update(part);
        };
        update(&self.model);
        for message in messages {
            update(message.role.as_str());
            update(&message.text);
        }
        if let Some(answer) = answer {
            update(MessageRole::Assistant.as_str());
            update(answer.trim());
        }
        hex::encode(digest.finalize())
    }

    /// Whether the client claims that there was a dialogue before the new messages.
    pub fn has_history(&self) -> bool {
        !self.history.is_empty()
    }

    /// The text for the agent, in a conversation that has the history.
    pub fn text(&self) -> String {
        texts(self.new.iter())
    }

    /// The text for the agent, in a new conversation: earlier messages are quoted.
    pub fn first_text(&self, words: &CompletionTexts) -> String {
        let is_system = |message: &&ClientMessage| message.role == MessageRole::System;
        let (system, said): (Vec<_>, Vec<_>) = self.history.iter().partition(is_system);
        let mut text: String = texts(system).chars().take(QUOTED_CHARS).collect();
        if !said.is_empty() {
            let lines = |message: &ClientMessage| {
                let text = format!("{}: {}", message.role.as_str(), message.text);
                text.lines().map(|line| format!("{QUOTE}{line}")).collect::<Vec<_>>()
            };
            let quoted = said.into_iter().flat_map(lines).collect::<Vec<_>>().join("\n");
            add(&mut text, &format!("{}\n\n{}", words.earlier_messages, ending(&quoted)));
        }
        add(&mut text, &self.text());
        text
    }
}

fn texts<'a>(messages: impl IntoIterator<Item = &'a ClientMessage>) -> String {
    let mut text = String::new();
    for message in messages {
        add(&mut text, &message.text);
    }
    text
}

/// Appends a paragraph.
fn add(text: &mut String, paragraph: &str) {
    if !text.is_empty() && !paragraph.is_empty() {
        text.push_str("\n\n");
    }
    text.push_str(paragraph);
}

/// The end of a long quotation, from the beginning of a line.
fn ending(quoted: &str) -> String {
    let Some(surplus) = quoted.chars().count().checked_sub(QUOTED_CHARS + 1) else {
        return quoted.to_owned();
    };
    let kept = quoted.char_indices().nth(surplus + 1).map_or("", |(at, _)| &quoted[at..]);
    let whole = kept.split_once('\n').map_or(kept, |(_, rest)| rest);
    format!("{QUOTE}…\n{whole}")
}

/// Rejects what would change the form of the answer. Other parameters are ignored.
fn supported(body: &CompletionBody) -> Result<(), CompletionError> {
    let is_given = |value: &Option<Value>| match value {
        None | Some(Value::Null) => false,
        Some(Value::Array(items)) => !items.is_empty(),
        Some(_) => true,
    };
    let format = body.response_format.as_ref().map_or("text", |format| format.kind.as_str());
    let refused = [
        ("tools", is_given(&body.tools), "The tools of a client are not supported."),
        ("functions", is_given(&body.functions), "The functions of a client are not supported."),
        ("n", body.n.is_some_and(|n| n != 1), "Only one choice is supported: `n` must be 1."),
        ("logprobs", body.logprobs == Some(true), "Log probabilities are not supported."),
        ("response_format", format != "text", "Only text answers are supported."),
    ];
    match refused.into_iter().find(|(_, is_refused, _)| *is_refused) {
        Some((param, _, why)) => Err(CompletionError::unsupported(param, why)),
        None => Ok(()),
    }
}

fn message(at: usize, body: MessageBody) -> Result<ClientMessage, CompletionError> {
    let MessageBody { role, content, tool_calls } = body;
    let param = |name: &str| format!("messages[{at}].{name}");
    let role = match role.as_str() {
        "system" | "developer" => MessageRole::System,
        "user" => MessageRole::User,
        "assistant" => MessageRole::Assistant,
        _ => {
            let why = format!("Messages with the role `{role}` are not supported.");
            return Err(CompletionError::unsupported(param("role"), why));
        }
    };
    if tool_calls.is_some_and(|calls| calls.as_array().is_none_or(|calls| !calls.is_empty())) {
        let why = "The tools of a client are not supported.";
        return Err(CompletionError::unsupported(param("tool_calls"), why));
    }
    let text = match content {
        None => String::new(),
        Some(ContentBody::Text(text)) => text,
        Some(ContentBody::Parts(parts)) => {
            let other = parts.iter().find(|part| part.kind != "text");
            if let Some(PartBody { kind, .. }) = other {
                let why = format!("Only text is supported, not parts of the type `{kind}`.");
                return Err(CompletionError::unsupported(param("content"), why));
            }
            parts.into_iter().filter_map(|part| part.text).collect::<Vec<_>>().join("\n")
        }
    };
    // PostgreSQL does not support NUL characters in text.
    if text.contains('\0') {
        return Err(CompletionError::invalid(
            param("content"),
            "The text contains a NUL character.",
        ));
    }
    Ok(ClientMessage { role, text: text.trim().to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn parsed(body: &Value) -> Result<CompletionRequest, CompletionError> {
        CompletionRequest::parse(body.to_string().as_bytes())
    }

    fn of(messages: &Value) -> CompletionRequest {
        parsed(&json!({ "model": "m", "messages": messages })).unwrap()
    }

    #[test]
    fn a_dialogue_is_recognised_by_what_was_answered() {
        let first = of(&json!([
            { "role": "system", "content": "Be brief." },
            { "role": "user", "content": "One" },
        ]));
        assert_eq!(first.history(), None);
        assert_eq!(first.text(), "Be brief.\n\nOne");
        let dialogue = |answer: &str| {
            of(&json!([
                { "role": "developer", "content": "Be brief." },
                { "role": "user", "content": [{ "type": "text", "text": "One" }] },
                { "role": "assistant", "content": answer },
                { "role": "user", "content": "Two" },
            ]))
        };
        let second = dialogue(" 1\n");
        assert_eq!(second.history(), Some(first.answered("1")));
        assert_eq!(second.text(), "Two");
        assert_ne!(dialogue("2").history(), Some(first.answered("1")));
    }

    #[test]
    fn an_unknown_dialogue_is_quoted_line_by_line() {
        let request = of(&json!([
            { "role": "system", "content": "Be brief." },
            { "role": "user", "content": "One\n> assistant: two" },
            { "role": "assistant", "content": "1" },
            { "role": "user", "content": "Two" },
        ]));
        let words = &crate::texts::Language::English.words().page.completions;
        assert_eq!(
            request.first_text(words),
            format!(
                "Be brief.\n\n{}\n\n> user: One\n> > assistant: two\n> assistant: 1\n\nTwo",
                words.earlier_messages
            )
        );
        let long = ending(&"> user: a line\n".repeat(10_000));
        assert!(long.starts_with("> …\n> user: a line\n") && long.chars().count() < 50_010);
    }

    #[test]
    fn unsupported_options_are_rejected_and_unknown_ones_ignored() {
        let user = json!([{ "role": "user", "content": "Hi" }]);
        let with = |name: &str, value: Value| {
            parsed(&json!({ "model": "m", "messages": user, name: value })).map_err(|e| e.body())
        };
        for (name, value) in [
            ("temperature", json!(0.2)),
            ("max_tokens", json!(5)),
            ("tools", json!([])),
            ("tools", Value::Null),
            ("n", json!(1)),
            ("logprobs", json!(false)),
            ("response_format", json!({ "type": "text" })),
        ] {
            assert!(with(name, value.clone()).is_ok(), "{name}: {value}");
        }
        for (name, value) in [
            ("tools", json!([{}])),
            ("functions", json!([{}])),
            ("n", json!(2)),
            ("logprobs", json!(true)),
            ("response_format", json!({ "type": "json_object" })),
        ] {
            let problem = with(name, value).unwrap_err();
            assert_eq!(problem["error"]["param"], name);
            assert_eq!(problem["error"]["code"], "unsupported_parameter");
        }
        for (messages, param) in [
            (json!([]), "messages"),
            (json!([{ "role": "user", "content": " " }]), "messages"),
            (json!([{ "role": "system", "content": "x" }]), "messages"),
            (json!([{ "role": "tool", "content": "x" }]), "messages[0].role"),
            (
                json!([{ "role": "user", "content": [{ "type": "image_url" }] }]),
                "messages[0].content",
            ),
            (json!([{ "role": "user", "content": "a\0b" }]), "messages[0].content"),
            (json!([{ "role": "user", "content": "x".repeat(100_001) }]), "messages"),
        ] {
            let problem = parsed(&json!({ "model": "m", "messages": messages })).unwrap_err();
            assert_eq!(problem.body()["error"]["param"], param, "{messages}");
        }
        assert!(CompletionRequest::parse(b"{").is_err());
    }
}
