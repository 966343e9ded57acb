//! Reads `<tool_call>` out of a text that arrives in pieces.

use serde_json::{Value, json};

use crate::journal::{event::Call, ids::CallId};

const OPEN: &str = "<tool_call>";
const CLOSE: &str = "</tool_call>";
/// Enough of a line to see whether it is the edge of a code block.
const HEAD_CHARS: usize = 80;

/// Letter by letter, so that it makes no difference where the pieces were cut.
#[derive(Debug, Default)]
pub(super) struct Scan {
    /// The beginning of what may become an opening tag: not shown yet.
    held: String,
    /// The inside of a call that is open.
    call: Option<Body>,
    line: Line,
    /// The code block that is open: its letter and how many of them.
    block: Option<(char, usize)>,
    calls: Vec<Call>,
}

/// The line so far.
#[derive(Debug, Default)]
struct Line {
    head: String,
    ticks: usize,
}

/// The inside of a call so far.
#[derive(Debug, Default)]
struct Body {
    text: String,
    in_string: bool,
    escaped: bool,
}

impl Scan {
    /// Takes the next piece; gives what of it can be shown.
    pub(super) fn push(&mut self, piece: &str) -> String {
        let mut shown = String::new();
        for letter in piece.chars() {
            self.take(letter, &mut shown);
        }
        shown
    }

    /// The rest that can be shown, and all calls.
    pub(super) fn finish(mut self) -> (String, Vec<Call>) {
        let mut shown = String::new();
        while let Some(body) = self.call.take() {
            // An open quote hid the end of the call: it is the first one after all.
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
            if self.held == OPEN && !self.is_code() {
                self.held.clear();
                self.call = Some(Body::default());
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

    /// What was held is no tag; only its last letter may begin another one.
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
        if letter == '\n' {
            self.block = match (self.block, self.line.edge()) {
                (None, Some(edge)) => Some((edge.letter, edge.count)),
                (Some((c, n)), Some(edge)) if edge.bare && edge.letter == c && edge.count >= n => {
                    None
                }
                (block, _) => block,
            };
            self.line = Line::default();
            return;
        }
        if letter == '`' {
            self.line.ticks += 1;
        }
        if self.line.head.len() < HEAD_CHARS {
            self.line.head.push(letter);
        }
    }

    /// In a code block, or between two ticks: an example, not a call.
    fn is_code(&self) -> bool {
        self.block.is_some() || self.line.ticks % 2 == 1 || self.line.edge().is_some()
    }
}

struct Edge {
    letter: char,
    count: usize,
    /// Nothing else stands on the line.
    bare: bool,
}

impl Line {
    /// The edge of a code block, if this line is one.
    fn edge(&self) -> Option<Edge> {
        let head = self.head.trim();
        let letter = head.chars().next().filter(|c| matches!(c, '`' | '~'))?;
        let count = head.chars().take_while(|c| *c == letter).count();
        let rest = &head[count..];
        // Three ticks that are closed on the same line are code in the line.
        let is_edge = count >= 3 && !(letter == '`' && rest.contains('`'));
        is_edge.then_some(Edge { letter, count, bare: rest.is_empty() })
    }
}

impl Body {
    /// Takes a letter; says whether it ends the call. A tag inside a string ends nothing.
    fn closes(&mut self, letter: char) -> bool {
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

/// The calls of an answer that is nothing but JSON, as long as `is_tool` knows all of them.
pub(super) fn bare(answer: &str, is_tool: impl Fn(&str) -> bool) -> Vec<Call> {
    let is_json = serde_json::from_str::<Value>(unfenced(answer.trim())).is_ok();
    let calls = if is_json { read(answer) } else { Vec::new() };
    if calls.iter().all(|call| is_tool(&call.tool) && call.arguments.is_object()) {
        return calls;
    }
    Vec::new()
}

/// One object or a list of them; else one call with the raw text.
fn read(inside: &str) -> Vec<Call> {
    let raw = unfenced(inside.trim());
    let read = match serde_json::from_str::<Value>(raw) {
        Ok(Value::Array(all)) => all.iter().map(read_one).collect::<Option<Vec<_>>>(),
        Ok(one) => read_one(&one).map(|call| vec![call]),
        Err(_) => None,
    };
    match read {
        Some(calls) if !calls.is_empty() => calls,
        _ => vec![call(&name_in(raw), Value::String(raw.to_owned()))],
    }
}

fn unfenced(text: &str) -> &str {
    let Some(inner) = text.strip_prefix("```").and_then(|t| t.strip_suffix("```")) else {
        return text;
    };
    inner.split_once('\n').map_or(inner, |(_, rest)| rest).trim()
}

/// In the spelling that we ask for, or in one that models know from elsewhere.
fn read_one(value: &Value) -> Option<Call> {
    let name = ["name", "tool_name", "action"].iter().find_map(|key| value.get(key)?.as_str())?;
    let arguments = match ["arguments", "action_input"].iter().find_map(|key| value.get(key)) {
        None | Some(Value::Null) => json!({}),
        Some(Value::Object(object)) => Value::Object(object.clone()),
        Some(Value::String(text)) => match serde_json::from_str(text) {
            Ok(Value::Object(object)) => Value::Object(object),
            _ => return None,
        },
        Some(_) => return None,
    };
    Some(call(name, arguments))
}

fn call(tool: &str, arguments: Value) -> Call {
    let id = CallId::new();
    Call { model_id: id.as_str().to_owned(), id, tool: tool.to_owned(), arguments }
}

/// The name in JSON that is broken elsewhere, so that the answer can say which tool was meant.
fn name_in(raw: &str) -> String {
    let name = raw.split_once("\"name\"").and_then(|(_, rest)| rest.split('"').nth(1));
    name.filter(|n| !n.is_empty() && n.len() <= 64).unwrap_or("tool_call").to_owned()
}
