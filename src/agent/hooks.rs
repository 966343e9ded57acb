//! What an operator has done before and after thinking and acting: data, and the ready-made actions.
//! A hook may change, remark or stop; nothing that it can say allows a call.

use globset::GlobMatcher;
use regex::Regex;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::time::Duration;

use super::redact::{Redactor, mapped};
use crate::journal::event::{Did, Point, Usage};

#[derive(Debug, Clone)]
pub struct Hook {
    pub name: String,
    pub on: Point,
    /// Only for these tools; absent is all.
    pub tool: Option<GlobMatcher>,
    pub act: Act,
    pub on_failure: OnFailure,
}

/// What happens when a hook fails or takes too long.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnFailure {
    Stop,
    GoOn,
}

#[derive(Debug, Clone)]
pub enum Act {
    /// Puts `text` where the pattern matches; without one, redacts what looks like a secret.
    Redact { pattern: Option<Regex>, text: String },
    /// Tells the model something, or sets an argument.
    Inject { argument: Option<String>, text: String },
    /// Stops, unless the pattern matches.
    Validate(Check),
    /// Stops, if the pattern matches; without one, always.
    Filter(Check),
    /// Adds a remark.
    Annotate { text: String },
    /// Asks a program.
    Run(Program),
}

/// A pattern, what it is matched against, and what is said where that stops.
#[derive(Debug, Clone)]
pub struct Check {
    pub pattern: Option<Regex>,
    /// Of a call; absent is every text in its arguments.
    pub argument: Option<String>,
    pub text: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    pub command: Vec<String>,
    /// Whether it is kept from our data, from the network, and from writing elsewhere.
    pub sandbox: bool,
    pub timeout: Duration,
    /// Of what it is given, and of what it answers.
    pub max_bytes: usize,
}

/// What a hook is asked about.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Matter {
    /// What is new to the model, what it replied, what a tool returned, why a turn failed.
    pub text: String,
    pub tool: Option<String>,
    pub arguments: Option<Value>,
    /// The tokens that the reply has cost, after the model has replied.
    pub usage: Option<Usage>,
    /// The reply to the person that a hook gives instead of the model, or instead of the notice that
    /// the turn failed.
    pub answer: Option<String>,
}

/// What a hook answers. There is no word for leave.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Answer {
    /// In the place of the reply, the result, the reason.
    pub text: Option<String>,
    /// In the place of the call's arguments.
    pub arguments: Option<Map<String, Value>>,
    /// For the model before it thinks, for the person who is asked, or below the text.
    pub note: Option<String>,
    /// The reply to the person: before the model is asked it is not asked at all; of an error the
    /// person is not told.
    pub answer: Option<String>,
    /// Why it may not go on.
    pub stop: Option<String>,
}

impl Hook {
    pub fn concerns(&self, on: Point, tool: Option<&str>) -> bool {
        self.on == on
            && match (&self.tool, tool) {
                (Some(pattern), Some(tool)) => pattern.is_match(tool),
                _ => true,
            }
    }

    /// Whether it has to be asked, and its answer kept. What only redacts a prompt does so to every
    /// prompt alike.
    pub fn is_asked(&self) -> bool {
        !(self.on == Point::BeforeLlm && matches!(self.act, Act::Redact { .. }))
    }

    /// The answer of a ready-made action; a program has to be asked elsewhere.
    pub fn answer(&self, matter: &Matter, redactor: &Redactor) -> Option<Answer> {
        let nothing = Answer::default;
        // The call is made: its arguments only matter before it.
        let of_a_call = matter.arguments.as_ref().filter(|_| self.on == Point::BeforeTool);
        Some(match &self.act {
            Act::Redact { pattern, text } => {
                let clean = |old: &str| replaced(pattern.as_ref(), text, redactor, old);
                let arguments = of_a_call.map(|old| mapped(old, &|_, text| clean(text)));
                let arguments = arguments.filter(|new| Some(new) != of_a_call);
                let text = Some(clean(&matter.text)).filter(|new| *new != matter.text);
                Answer { text, arguments: arguments.and_then(object), ..nothing() }
            }
            Act::Inject { argument: Some(name), text } => {
                let mut arguments = of_a_call.cloned().and_then(object).unwrap_or_default();
                arguments.insert(name.clone(), Value::from(text.as_str()));
                Answer { arguments: Some(arguments), ..nothing() }
            }
            Act::Inject { text, .. } | Act::Annotate { text } => {
                Answer { note: Some(text.clone()), ..nothing() }
            }
            Act::Validate(check) if check.matches(&matter.text, of_a_call) => nothing(),
            Act::Filter(check) if !check.matches(&matter.text, of_a_call) => nothing(),
            Act::Validate(Check { text, .. }) | Act::Filter(Check { text, .. }) => {
                Answer { stop: Some(text.clone()), ..nothing() }
            }
            Act::Run(_) => return None,
        })
    }

    /// The prompt's text as this hook leaves it.
    pub fn cleaned(&self, text: &str, redactor: &Redactor) -> Option<String> {
        match &self.act {
            Act::Redact { pattern, text: mark } if self.on == Point::BeforeLlm => {
                Some(replaced(pattern.as_ref(), mark, redactor, text))
            }
            _ => None,
        }
    }
}

fn replaced(pattern: Option<&Regex>, mark: &str, redactor: &Redactor, text: &str) -> String {
    match pattern {
        Some(pattern) => pattern.replace_all(text, regex::NoExpand(mark)).into_owned(),
        None => redactor.text(text).into_owned(),
    }
}

fn object(value: Value) -> Option<Map<String, Value>> {
    match value {
        Value::Object(fields) => Some(fields),
        _ => None,
    }
}

impl Check {
    fn matches(&self, text: &str, arguments: Option<&Value>) -> bool {
        let Some(pattern) = &self.pattern else { return true };
        match (arguments, &self.argument) {
            (None, _) => pattern.is_match(text),
            (Some(arguments), Some(name)) => match arguments.get(name) {
                Some(Value::String(text)) => pattern.is_match(text),
                Some(other) => pattern.is_match(&other.to_string()),
                None => false,
            },
            (Some(arguments), None) => any_text(arguments, pattern),
        }
    }
}

fn any_text(value: &Value, pattern: &Regex) -> bool {
    match value {
        Value::Array(items) => items.iter().any(|item| any_text(item, pattern)),
        Value::Object(fields) => fields.values().any(|field| any_text(field, pattern)),
        Value::String(text) => pattern.is_match(text),
        other => pattern.is_match(&other.to_string()),
    }
}

impl Matter {
    /// Lets an answer take effect; one that has no meaning at that point is refused.
    pub fn take(&mut self, on: Point, answer: Answer) -> Result<Did, String> {
        let Answer { text, arguments, note, answer, stop } = answer;
        if text.is_some() && matches!(on, Point::BeforeLlm | Point::BeforeTool) {
            return Err("it answers with `text`, which nothing can take the place of here".into());
        }
        if arguments.is_some() && on != Point::BeforeTool {
            return Err("it answers with `arguments`, but the call is made".into());
        }
        if answer.is_some() && !matches!(on, Point::BeforeLlm | Point::OnError) {
            return Err("it answers with `answer`, which is for before_llm and on_error".into());
        }
        let changed = text.is_some() || arguments.is_some() || answer.is_some();
        self.answer = answer.or(self.answer.take());
        if let Some(text) = text {
            self.text = text;
        }
        if let Some(arguments) = arguments {
            self.arguments = Some(Value::Object(arguments));
        }
        if let Some(note) = &note
            && !matches!(on, Point::BeforeLlm | Point::BeforeTool)
        {
            let gap = if self.text.is_empty() { "" } else { "\n\n" };
            self.text = format!("{}{gap}{note}", self.text);
        }
        Ok(Did { changed, note, stopped: stop, failed: None })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn hook(on: Point, act: Act) -> Hook {
        Hook { name: "h".into(), on, tool: None, act, on_failure: OnFailure::Stop }
    }

    fn check(pattern: &str, argument: Option<&str>) -> Check {
        Check {
            pattern: Some(Regex::new(pattern).unwrap()),
            argument: argument.map(Into::into),
            text: "no".into(),
        }
    }

    fn call(arguments: Value) -> Matter {
        Matter { tool: Some("t".into()), arguments: Some(arguments), ..Matter::default() }
    }

    fn done(on: Point, act: Act, mut matter: Matter) -> (Matter, Did) {
        let answer = hook(on, act).answer(&matter, &Redactor::default()).unwrap();
        let did = matter.take(on, answer).unwrap();
        (matter, did)
    }

    #[test]
    fn the_ready_made_actions_change_remark_and_stop() {
        let redact = Act::Redact { pattern: Regex::new(r"\d{4}").ok(), text: "#".into() };
        let (matter, did) = done(
            Point::BeforeTool,
            redact.clone(),
            call(json!({ "to": "1234", "list": ["a 5678"], "n": 1 })),
        );
        assert_eq!(matter.arguments, Some(json!({ "to": "#", "list": ["a #"], "n": 1 })));
        assert!(did.changed);
        let reply = Matter { text: "pin 1234".into(), ..Matter::default() };
        assert_eq!(done(Point::AfterLlm, redact, reply.clone()).0.text, "pin #");
        let inject = Act::Inject { argument: Some("lang".into()), text: "de".into() };
        let (matter, _) = done(Point::BeforeTool, inject, call(json!({ "q": "x" })));
        assert_eq!(matter.arguments, Some(json!({ "q": "x", "lang": "de" })));
        let note = Act::Annotate { text: "Made by a machine.".into() };
        assert_eq!(
            done(Point::AfterLlm, note, reply.clone()).0.text,
            "pin 1234\n\nMade by a machine."
        );
        let (matter, did) =
            done(Point::BeforeLlm, Act::Inject { argument: None, text: "hi".into() }, reply);
        assert_eq!((matter.text.as_str(), did.note.as_deref()), ("pin 1234", Some("hi")));
    }

    #[test]
    fn validate_wants_a_match_and_filter_wants_none() {
        for (act, arguments, stops) in [
            (Act::Validate(check("^a", Some("path"))), json!({ "path": "abc" }), false),
            (Act::Validate(check("^a", Some("path"))), json!({ "path": "xyz" }), true),
            (Act::Validate(check("^a", Some("path"))), json!({}), true),
            (Act::Filter(check("rm", None)), json!({ "deep": [{ "cmd": "rm -rf" }] }), true),
            (Act::Filter(check("rm", None)), json!({ "cmd": "ls" }), false),
        ] {
            let shown = format!("{act:?} {arguments}");
            let (_, did) = done(Point::BeforeTool, act, call(arguments));
            assert_eq!(did.stopped.is_some(), stops, "{shown}");
        }
    }

    /// A hook cannot allow: there is no word for it, and an answer that has one is refused.
    #[test]
    fn a_hook_cannot_allow() {
        for answer in [r#"{"allow": true}"#, r#"{"decision": "once"}"#, r#"{"arguments": []}"#] {
            assert!(serde_json::from_str::<Answer>(answer).is_err(), "{answer}");
        }
        let mut matter = Matter::default();
        let arguments = Some(Map::new());
        for (on, answer) in [
            (Point::BeforeLlm, Answer { text: Some("x".into()), ..Answer::default() }),
            (Point::BeforeTool, Answer { text: Some("x".into()), ..Answer::default() }),
            (Point::AfterTool, Answer { arguments: arguments.clone(), ..Answer::default() }),
            (Point::AfterLlm, Answer { arguments, ..Answer::default() }),
            (Point::AfterLlm, Answer { answer: Some("x".into()), ..Answer::default() }),
            (Point::BeforeTool, Answer { answer: Some("x".into()), ..Answer::default() }),
        ] {
            assert!(matter.take(on, answer.clone()).is_err(), "{on:?} {answer:?}");
        }
    }
}
