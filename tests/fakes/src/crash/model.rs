//! The model, whose answers depend only on the dialogue in the prompt. It answers the messages that
//! have no answer yet, after calling the tools that they ask for.

use parking_lot::Mutex;
use serde_json::{Value, json};
use std::{collections::BTreeSet, sync::Arc, time::Duration};

use super::{
    history::{Prompt, Request, Tag, answer_to, tags},
    random::Random,
    record::Record,
};
use crate::llm::{self, Answer, Fault, Turn};

/// The name of the tool server in the gateway's configuration.
pub const SERVER: &str = "pad";
/// The one argument of each tool.
pub const ARGUMENT: &str = "id";
/// The calls that one reply makes at most.
const CALLS: usize = 3;

/// Answers requests, some of them late, slowly, in part, or not at all.
pub fn author(record: Arc<Record>, random: Random) -> impl Fn(&llm::Request) -> Answer + Send {
    let random = Mutex::new(random);
    move |request| {
        record.asked.add();
        let conversation = Conversation::read(&request.body["messages"]);
        record.prompt(Prompt { at: record.now(), tags: conversation.said() });
        let turn = conversation.reply();
        let mut random = random.lock();
        if record.is_closing() { turn.into() } else { disturbed(turn, &mut random) }
    }
}

fn disturbed(turn: Turn, random: &mut Random) -> Answer {
    match random.below(100) {
        0..4 => Fault::Cut { turn, after: 1 + random.below(4) }.into(),
        4..7 => Fault::SlowFirstToken { turn, by: random.millis(1_000, 5_000) }.into(),
        7..10 => Fault::SlowHeaders { turn, by: random.millis(500, 2_000) }.into(),
        10..12 => llm::busy("1"),
        12..14 => llm::refuse(500, "server_error", "Something broke."),
        14..50 => Fault::SlowEvents { turn, by: Duration::from_millis(40) }.into(),
        _ => turn.into(),
    }
}

#[derive(Default)]
struct Conversation {
    said: Vec<(Tag, Request)>,
    answered: BTreeSet<Tag>,
    called: BTreeSet<Tag>,
}

impl Conversation {
    fn read(messages: &Value) -> Self {
        let mut conversation = Self::default();
        for message in messages.as_array().into_iter().flatten() {
            let content = text_of(&message["content"]);
            match message["role"].as_str().unwrap_or_default() {
                "user" => {
                    for (tag, word) in tags(&content) {
                        let request = Request::of_word(word).unwrap_or(Request::Say);
                        conversation.said.push((tag, request));
                    }
                }
                "assistant" => {
                    let tags_of = |text: &str| tags(text).into_iter().map(|(tag, _)| tag).collect();
                    let mut answered: BTreeSet<Tag> = tags_of(&content);
                    let mut called: BTreeSet<Tag> = tags_of(&message["tool_calls"].to_string());
                    conversation.answered.append(&mut answered);
                    conversation.called.append(&mut called);
                }
                _ => {}
            }
        }
        conversation
    }

    fn said(&self) -> Vec<Tag> {
        self.said.iter().map(|(tag, _)| *tag).collect()
    }

    fn reply(&self) -> Turn {
        let open = self.said.iter().filter(|(tag, _)| !self.answered.contains(tag));
        let open: Vec<_> = open.collect();
        let wanted = open
            .iter()
            .filter(|(tag, request)| *request != Request::Say && !self.called.contains(tag));
        let calls = wanted.take(CALLS).fold(llm::text(""), |turn, (tag, request)| {
            let name = format!("{SERVER}_{}", request.word());
            let arguments = json!({ ARGUMENT: tag.to_string() }).to_string();
            turn.call(&format!("call_{tag}"), &name, &arguments)
        });
        if !calls.calls.is_empty() {
            return calls;
        }
        if open.is_empty() {
            return llm::text("There is nothing new.");
        }
        llm::text(&answer_to(&open.iter().map(|(tag, _)| *tag).collect::<Vec<_>>()))
    }
}

/// The text of a message's content, which is a text or a list of parts.
fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            parts.iter().filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(messages: Value) -> Turn {
        Conversation::read(&messages).reply()
    }

    #[test]
    fn it_calls_first_and_answers_each_message_once() {
        let user = |text: &str| json!({ "role": "user", "content": text });
        let mut messages = vec![user("please answer c1m1"), user("please launch c1m2")];
        let turn = reply(messages.clone().into());
        assert_eq!(turn.calls.len(), 1);
        assert_eq!(turn.calls[0].name, "pad_launch");
        assert_eq!(turn.calls[0].arguments, r#"{"id":"c1m2"}"#);
        let call = json!({ "id": "call_c1m2", "type": "function",
            "function": { "name": "pad_launch", "arguments": r#"{"id":"c1m2"}"# } });
        messages.push(json!({ "role": "assistant", "content": "", "tool_calls": [call] }));
        messages.push(json!({ "role": "tool", "tool_call_id": "call_c1m2", "content": "Done." }));
        let answer = reply(messages.clone().into());
        assert_eq!(answer.text, "Answer to c1m1, c1m2. Done.");
        messages.push(json!({ "role": "assistant", "content": answer.text }));
        messages.push(user("please answer c1m3"));
        assert_eq!(reply(messages.into()).text, "Answer to c1m3. Done.");
    }
}
