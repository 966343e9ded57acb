//! Parses `<tool_call>` tags in text that arrives in pieces.

use serde_json::{Value, json};

use super::{
    code_state::CodeState,
    decode::{
        calls::{arguments, unreadable},
        json as exact,
    },
};
use crate::journal::{event::Call, ids::CallId};

pub(super) const OPEN: &str = "<tool_call>";
const CLOSE: &str = "</tool_call>";

/// Reads character by character, so that the boundaries of the pieces do not matter.
#[derive(Debug, Default)]
pub(super) struct Scan {
    /// The beginning of a possible opening tag, which is not shown yet.
    held: String,
    /// The contents of an open call.
    call: Option<CallBody>,
    code: CodeState,
    calls: Vec<Call>,
}

/// The contents of a call so far.
#[derive(Debug, Default)]
pub(super) struct CallBody {
    text: String,
    in_string: bool,
    escaped: bool,
}

impl Scan {
    /// Adds a piece; returns the text that can be shown.
    pub(super) fn push(&mut self, piece: &str) -> String {
        let mut shown = String::new();
        for letter in piece.chars() {
            self.take(letter, &mut shown);
        }
        shown
    }

    /// Returns the remaining text that can be shown, and all calls.
    pub(super) fn finish(mut self) -> (String, Vec<Call>) {
        let mut shown = String::new();
        while let Some(body) = self.call.take() {
            // An unclosed quote hid the end tag, so the first end tag ends the call after all.
            match body.text.split_once(CLOSE) {
                Some((inside, rest)) => {
                    self.calls.extend(read(inside));
                    shown.push_str(&self.push(rest));
                }
                None => self.calls.extend(read(&body.text)),
            }
        }
        shown.push_str(&self.held);
        (shown, self.calls)
    }

    fn take(&mut self, letter: char, shown: &mut String) {
        if let Some(body) = &mut self.call {
            if body.closes(letter) {
                let inside = std::mem::take(&mut body.text);
                self.calls.extend(read(inside.strip_suffix(CLOSE).unwrap_or(&inside)));
                self.call = None;
            }
            return;
        }
        if letter == '<' || !self.held.is_empty() {
            self.held.push(letter);
            if self.held == OPEN && !self.code.is_code() {
                self.held.clear();
                self.call = Some(CallBody::default());
                return;
            }
            if OPEN.starts_with(&self.held) && self.held != OPEN {
                return;
            }
            self.give_up(shown);
            return;
        }
        self.show(letter, shown);
    }

    /// The held text is not a tag. Only its last character may begin another one.
    fn give_up(&mut self, shown: &mut String) {
        let held = std::mem::take(&mut self.held);
        let (first, last) = match held.strip_suffix('<') {
            Some(first) if !first.is_empty() => (first, true),
            _ => (held.as_str(), false),
        };
        first.chars().for_each(|c| self.show(c, shown));
        if last {
            self.held.push('<');
        }
    }

    fn show(&mut self, letter: char, shown: &mut String) {
        shown.push(letter);
        self.code.push(letter);
    }
}

impl CallBody {
    /// Adds a character and returns whether it ends the call. Tags inside strings are ignored.
    pub(super) fn closes(&mut self, letter: char) -> bool {
        self.text.push(letter);
        match letter {
            _ if self.escaped => self.escaped = false,
            '\\' if self.in_string => self.escaped = true,
            '"' => self.in_string = !self.in_string,
            _ => {}
        }
        letter == '>' && !self.in_string && self.text.ends_with(CLOSE)
    }
}

/// The calls of an answer that consists of JSON only. Empty if `is_tool` rejects one.
pub(super) fn bare(answer: &str, is_tool: impl Fn(&str) -> bool) -> Vec<Call> {
    let is_json = exact::read(unfenced(answer.trim()).as_bytes()).is_some();
    let calls = if is_json { read(answer) } else { Vec::new() };
    if calls.iter().all(|call| is_tool(&call.tool) && call.arguments.is_object()) {
        return calls;
    }
    Vec::new()
}

/// One object or a list of them; otherwise one call with the raw text.
fn read(inside: &str) -> Vec<Call> {
    let raw = unfenced(inside.trim());
    let read = match exact::read(raw.as_bytes()).filter(exact::is_exact) {
        Some(Value::Array(all)) => all.iter().map(read_one).collect::<Option<Vec<_>>>(),
        Some(one) => read_one(&one).map(|call| vec![call]),
        None => None,
    };
    match read {
        Some(calls) if !calls.is_empty() => calls,
        _ => vec![call(&name_in(raw), unreadable(raw))],
    }
}

fn unfenced(text: &str) -> &str {
    let Some(inner) = text.strip_prefix("```").and_then(|t| t.strip_suffix("```")) else {
        return text;
    };
    inner.split_once('\n').map_or(inner, |(_, rest)| rest).trim()
}

/// Accepts the format of the prompt, and formats that models know from other programs.
fn read_one(value: &Value) -> Option<Call> {
    let name = ["name", "tool_name", "action"].iter().find_map(|key| value.get(key)?.as_str())?;
    let arguments = match ["arguments", "action_input"].iter().find_map(|key| value.get(key)) {
        None | Some(Value::Null) => json!({}),
        Some(Value::Object(object)) => Value::Object(object.clone()),
        Some(Value::String(text)) => Some(arguments(text)).filter(Value::is_object)?,
        Some(_) => return None,
    };
    Some(call(name, arguments))
}

fn call(tool: &str, arguments: Value) -> Call {
    let id = CallId::new();
    Call { model_id: id.as_str().to_owned(), id, tool: tool.to_owned(), arguments }
}

/// The name in a call that is otherwise invalid JSON, so that the error can mention the tool.
fn name_in(raw: &str) -> String {
    let name = raw.split_once("\"name\"").and_then(|(_, rest)| rest.split('"').nth(1));
    name.filter(|n| !n.is_empty() && n.len() <= 64).unwrap_or("tool_call").to_owned()
}
