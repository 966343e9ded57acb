//! Hooks that the operator defines before and after model requests and tool calls: their data, and
//! the built-in actions. A hook can change, annotate or stop; no field of its answer can allow a
//! call.

use globset::GlobMatcher;
use regex::Regex;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::time::Duration;

use super::{
    prompt::{Message, Prompt},
    redact::{Redactor, mapped},
};
use crate::journal::event::{HookEffect, HookPoint, Usage};

#[derive(Debug, Clone)]
pub struct Hook {
    pub name: String,
    pub on: HookPoint,
    /// Only for these tools. `None` means all tools.
    pub tool: Option<GlobMatcher>,
    pub act: HookBehaviour,
    pub on_failure: OnFailure,
}

/// What happens when a hook fails or times out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnFailure {
    Stop,
    Continue,
}

#[derive(Debug, Clone)]
pub enum HookBehaviour {
    /// Replaces matches of the pattern with `text`. Without a pattern, redacts everything that
    /// looks like a secret.
    Redact { pattern: Option<Regex>, text: String },
    /// Adds text for the model, or sets an argument.
    Inject { argument: Option<String>, text: String },
    /// Stops unless the pattern matches.
    Validate(Check),
    /// Stops if the pattern matches, or always if there is no pattern.
    Filter(Check),
    /// Adds a remark.
    Annotate { text: String },
    /// Runs a program.
    Run(Program),
}

/// A pattern, the text to match, and the reason to give when the hook stops.
#[derive(Debug, Clone)]
pub struct Check {
    pub pattern: Option<Regex>,
    /// The argument of a call to match. `None` means every text in its arguments.
    pub argument: Option<String>,
    pub text: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    pub command: Vec<String>,
    /// Whether the program runs in the sandbox: without access to the gateway's data or the
    /// network, and without writing outside its folder.
    pub sandbox: bool,
    pub timeout: Duration,
    /// The maximum size of its input, and of its output.
    pub max_bytes: usize,
}

/// The input of a hook.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HookInput {
    /// Depends on the point: the new messages, the reply, the result, or the reason for a failure.
    pub text: String,
    pub tool: Option<String>,
    pub arguments: Option<Value>,
    /// The tokens that the reply used (`after_llm`).
    pub usage: Option<Usage>,
    /// The reply to the person that a hook provides in place of the model's reply or of the failure
    /// notice.
    pub answer: Option<String>,
}

/// The answer of a hook. It has no field that could allow a call.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct HookAnswer {
    /// Replaces the reply, the result or the reason.
    pub text: Option<String>,
    /// Replaces the call's arguments.
    pub arguments: Option<Map<String, Value>>,
    /// A note: for the model, for the approver, or appended to the text.
    pub note: Option<String>,
    /// The reply to the person. For `before_llm` it replaces the model request, for `on_error` the
    /// failure notice.
    pub answer: Option<String>,
    /// The reason to stop.
    pub stop: Option<String>,
}

impl Hook {
    pub fn concerns(&self, on: HookPoint, tool: Option<&str>) -> bool {
        self.on == on
            && match (&self.tool, tool) {
                (Some(pattern), Some(tool)) => pattern.is_match(tool),
                _ => true,
            }
    }

    /// Whether the hook runs once and its answer is recorded. A hook that only redacts the prompt
    /// instead applies to every prompt in the same way.
    pub fn is_asked(&self) -> bool {
        !(self.on == HookPoint::BeforeLlm && matches!(self.act, HookBehaviour::Redact { .. }))
    }

    /// The answer of a built-in action. `None` if a program has to run.
    pub fn answer(&self, input: &HookInput, redactor: &Redactor) -> Option<HookAnswer> {
        let nothing = HookAnswer::default;
        // After the call, its arguments are no longer relevant.
        let of_a_call = input.arguments.as_ref().filter(|_| self.on == HookPoint::BeforeTool);
        Some(match &self.act {
            HookBehaviour::Redact { pattern, text } => {
                let clean = |old: &str| replaced(pattern.as_ref(), text, redactor, old);
                let arguments = of_a_call.map(|old| mapped(old, &|_, text| clean(text)));
                let arguments = arguments.filter(|new| Some(new) != of_a_call);
                let text = Some(clean(&input.text)).filter(|new| *new != input.text);
                HookAnswer { text, arguments: arguments.and_then(object), ..nothing() }
            }
            HookBehaviour::Inject { argument: Some(name), text } => {
                let mut arguments = of_a_call.cloned().and_then(object).unwrap_or_default();
                arguments.insert(name.clone(), Value::from(text.as_str()));
                HookAnswer { arguments: Some(arguments), ..nothing() }
            }
            HookBehaviour::Inject { text, .. } | HookBehaviour::Annotate { text } => {
                HookAnswer { note: Some(text.clone()), ..nothing() }
            }
            HookBehaviour::Validate(check) if check.matches(&input.text, of_a_call) => nothing(),
            HookBehaviour::Filter(check) if !check.matches(&input.text, of_a_call) => nothing(),
            HookBehaviour::Validate(Check { text, .. })
            | HookBehaviour::Filter(Check { text, .. }) => {
                HookAnswer { stop: Some(text.clone()), ..nothing() }
            }
            HookBehaviour::Run(_) => return None,
        })
    }

    /// The text of the prompt after redaction by this hook.
    pub fn cleaned(&self, text: &str, redactor: &Redactor) -> Option<String> {
        match &self.act {
            HookBehaviour::Redact { pattern, text: mark } if self.on == HookPoint::BeforeLlm => {
                Some(replaced(pattern.as_ref(), mark, redactor, text))
            }
            _ => None,
        }
    }
}

/// The prompt without secrets of the configuration and without text that hooks redact. Redaction is
/// deterministic, so that each prompt begins with the previous one and prompt caching works.
pub fn redacted_prompt(hooks: &[Hook], redactor: &Redactor, mut prompt: Prompt) -> Prompt {
    let hooks: Vec<_> = hooks.iter().filter(|hook| !hook.is_asked()).collect();
    let clean = |text: &str| {
        let own = redactor.own(text).into_owned();
        hooks.iter().fold(own, |text, hook| hook.cleaned(&text, redactor).unwrap_or(text))
    };
    prompt.system = clean(&prompt.system);
    for message in &mut prompt.messages {
        match message {
            Message::User { text } | Message::Tool { text, .. } => *text = clean(text),
            Message::Picture(picture) => picture.path = clean(&picture.path),
            Message::Assistant { text, calls } => {
                *text = clean(text);
                for call in calls.iter_mut().filter(|_| !hooks.is_empty()) {
                    call.arguments = mapped(&call.arguments, &|_, text| clean(text));
                }
            }
        }
    }
    prompt
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

impl HookInput {
    /// Applies an answer. A field that does not apply at this point is an error.
    pub fn take(&mut self, on: HookPoint, answer: HookAnswer) -> Result<HookEffect, String> {
        let HookAnswer { text, arguments, note, answer, stop } = answer;
        if text.is_some() && matches!(on, HookPoint::BeforeLlm | HookPoint::BeforeTool) {
            return Err("its answer has `text`, which cannot replace anything here".into());
        }
        if arguments.is_some() && on != HookPoint::BeforeTool {
            return Err("its answer has `arguments`, but the call was already made".into());
        }
        if answer.is_some() && !matches!(on, HookPoint::BeforeLlm | HookPoint::OnError) {
            return Err(
                "its answer has `answer`, which is only valid for before_llm and on_error".into()
            );
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
            && !matches!(on, HookPoint::BeforeLlm | HookPoint::BeforeTool)
        {
            let gap = if self.text.is_empty() { "" } else { "\n\n" };
            self.text = format!("{}{gap}{note}", self.text);
        }
        Ok(HookEffect { changed, note, stopped: stop, failed: None })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn hook(on: HookPoint, act: HookBehaviour) -> Hook {
        Hook { name: "h".into(), on, tool: None, act, on_failure: OnFailure::Stop }
    }

    fn check(pattern: &str, argument: Option<&str>) -> Check {
        Check {
            pattern: Some(Regex::new(pattern).unwrap()),
            argument: argument.map(Into::into),
            text: "no".into(),
        }
    }

    fn call(arguments: Value) -> HookInput {
        HookInput { tool: Some("t".into()), arguments: Some(arguments), ..HookInput::default() }
    }

    fn done(on: HookPoint, act: HookBehaviour, mut input: HookInput) -> (HookInput, HookEffect) {
        let answer = hook(on, act).answer(&input, &Redactor::default()).unwrap();
        let effect = input.take(on, answer).unwrap();
        (input, effect)
    }

    #[test]
    fn the_ready_made_actions_change_remark_and_stop() {
        let redact = HookBehaviour::Redact { pattern: Regex::new(r"\d{4}").ok(), text: "#".into() };
        let (input, effect) = done(
            HookPoint::BeforeTool,
            redact.clone(),
            call(json!({ "to": "1234", "list": ["a 5678"], "n": 1 })),
        );
        assert_eq!(input.arguments, Some(json!({ "to": "#", "list": ["a #"], "n": 1 })));
        assert!(effect.changed);
        let reply = HookInput { text: "pin 1234".into(), ..HookInput::default() };
        assert_eq!(done(HookPoint::AfterLlm, redact, reply.clone()).0.text, "pin #");
        let inject = HookBehaviour::Inject { argument: Some("lang".into()), text: "de".into() };
        let (input, _) = done(HookPoint::BeforeTool, inject, call(json!({ "q": "x" })));
        assert_eq!(input.arguments, Some(json!({ "q": "x", "lang": "de" })));
        let note = HookBehaviour::Annotate { text: "Made by a machine.".into() };
        assert_eq!(
            done(HookPoint::AfterLlm, note, reply.clone()).0.text,
            "pin 1234\n\nMade by a machine."
        );
        let (input, effect) = done(
            HookPoint::BeforeLlm,
            HookBehaviour::Inject { argument: None, text: "hi".into() },
            reply,
        );
        assert_eq!((input.text.as_str(), effect.note.as_deref()), ("pin 1234", Some("hi")));
    }

    #[test]
    fn validate_wants_a_match_and_filter_wants_none() {
        for (act, arguments, stops) in [
            (HookBehaviour::Validate(check("^a", Some("path"))), json!({ "path": "abc" }), false),
            (HookBehaviour::Validate(check("^a", Some("path"))), json!({ "path": "xyz" }), true),
            (HookBehaviour::Validate(check("^a", Some("path"))), json!({}), true),
            (
                HookBehaviour::Filter(check("rm", None)),
                json!({ "deep": [{ "cmd": "rm -rf" }] }),
                true,
            ),
            (HookBehaviour::Filter(check("rm", None)), json!({ "cmd": "ls" }), false),
        ] {
            let shown = format!("{act:?} {arguments}");
            let (_, effect) = done(HookPoint::BeforeTool, act, call(arguments));
            assert_eq!(effect.stopped.is_some(), stops, "{shown}");
        }
    }

    /// A hook cannot allow: there is no field for it, and an answer with an unknown field is
    /// rejected.
    #[test]
    fn a_hook_cannot_allow() {
        for answer in [r#"{"allow": true}"#, r#"{"decision": "once"}"#, r#"{"arguments": []}"#] {
            assert!(serde_json::from_str::<HookAnswer>(answer).is_err(), "{answer}");
        }
        let mut input = HookInput::default();
        let arguments = Some(Map::new());
        for (on, answer) in [
            (HookPoint::BeforeLlm, HookAnswer { text: Some("x".into()), ..HookAnswer::default() }),
            (HookPoint::BeforeTool, HookAnswer { text: Some("x".into()), ..HookAnswer::default() }),
            (
                HookPoint::AfterTool,
                HookAnswer { arguments: arguments.clone(), ..HookAnswer::default() },
            ),
            (HookPoint::AfterLlm, HookAnswer { arguments, ..HookAnswer::default() }),
            (HookPoint::AfterLlm, HookAnswer { answer: Some("x".into()), ..HookAnswer::default() }),
            (
                HookPoint::BeforeTool,
                HookAnswer { answer: Some("x".into()), ..HookAnswer::default() },
            ),
        ] {
            assert!(input.take(on, answer.clone()).is_err(), "{on:?} {answer:?}");
        }
    }
}
