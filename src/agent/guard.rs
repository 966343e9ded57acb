//! The only place that can allow a call. Pure: judges the resolved name and the final arguments.

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::{
    catalog::{Approval, EffectClass, ToolSpec},
    policy::{Action, Match, Policy},
};
use crate::{
    journal::{
        event::{Asks, Call, Decider, Decision},
        session::{CallState, OpenCall, Session},
    },
    texts,
};

/// A call that passed the guard. Only this module can make one.
#[derive(Debug, Clone, PartialEq)]
pub struct Cleared {
    call: Call,
}

impl Cleared {
    pub fn call(&self) -> &Call {
        &self.call
    }
}

#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    Run(Cleared),
    /// A person has to decide; `reason` says why they are asked.
    Ask {
        asks: Asks,
        reason: String,
    },
    /// A question is open.
    Wait,
    /// Not to run; the model reads why.
    Refuse(String),
}

/// What is to become of this call now.
pub fn judge(open: &OpenCall, spec: &ToolSpec, session: &Session, policy: &Policy) -> Verdict {
    let call = &open.call;
    match &open.state {
        CallState::New => fresh(call, spec, session, policy),
        CallState::Decided { digest, .. } if *digest != digest_of(call) => {
            Verdict::Refuse(texts::CHANGED_SINCE_ASKED.into())
        }
        CallState::Decided { asks, decision, by, .. } => decided(call, *asks, decision, by),
        CallState::Started if spec.effect == EffectClass::AtMostOnce => {
            Verdict::Ask { asks: Asks::Retry, reason: texts::OUTCOME_UNKNOWN.into() }
        }
        CallState::Started => run(call),
        CallState::Asked { .. } | CallState::Ended => Verdict::Wait,
    }
}

/// The strictest of rule and tool wins; a rule's or a person's leave only answers a tool that asks
/// *unless allowed*.
fn fresh(call: &Call, spec: &ToolSpec, session: &Session, policy: &Policy) -> Verdict {
    let ruled = ruling(call, spec, policy);
    if let Some((Action::Deny, name)) = &ruled {
        return Verdict::Refuse(texts::refused_by_rule(&call.tool, name));
    }
    let allowed_before = session.allowed.contains(&call.tool);
    match (spec.approval, ruled) {
        (Approval::Always, _) => ask(texts::tool_always_asks(&call.tool)),
        (_, Some((Action::Ask, name))) if !allowed_before => ask(texts::rule_asks(&name)),
        (Approval::Never, _) | (_, Some(_)) => run(call),
        (Approval::UnlessAllowed, None) if allowed_before => run(call),
        (Approval::UnlessAllowed, None) => match policy.default {
            Action::Allow => run(call),
            Action::Ask => ask(texts::changes_something(&call.tool)),
            Action::Deny => Verdict::Refuse(texts::refused_by_default(&call.tool)),
        },
    }
}

/// What the first matching rule says, and its name. One that cannot be evaluated asks, unless a
/// later one denies.
fn ruling(call: &Call, spec: &ToolSpec, policy: &Policy) -> Option<(Action, String)> {
    let mut unclear = None;
    for rule in &policy.rules {
        match rule.matches(spec, &call.arguments) {
            Match::No => {}
            Match::Yes if unclear.is_some() && rule.action < Action::Deny => return unclear,
            Match::Yes => return Some((rule.action, rule.name.clone())),
            Match::Unclear => {
                unclear.get_or_insert((Action::Ask, rule.name.clone()));
            }
        }
    }
    unclear
}

fn decided(call: &Call, asks: Asks, decision: &Decision, by: &Decider) -> Verdict {
    match decision {
        Decision::Once | Decision::Conversation => run(call),
        Decision::Deny { .. } if asks == Asks::Retry => Verdict::Refuse(texts::SKIPPED.into()),
        Decision::Deny { reason } => Verdict::Refuse(texts::denied(by, reason.as_deref())),
    }
}

fn run(call: &Call) -> Verdict {
    Verdict::Run(Cleared { call: call.clone() })
}

fn ask(reason: String) -> Verdict {
    Verdict::Ask { asks: Asks::Allow, reason }
}

/// Binds a decision to exactly this tool with exactly these arguments.
pub fn digest_of(call: &Call) -> String {
    let bound = json!({ "tool": call.tool, "arguments": call.arguments });
    hex::encode(Sha256::digest(canonical(&bound)))
}

/// JSON with its keys in order: the same value is always the same text.
pub fn canonical(value: &Value) -> String {
    match value {
        Value::Object(fields) => {
            let mut names: Vec<_> = fields.keys().collect();
            names.sort();
            let fields: Vec<_> = names
                .into_iter()
                .map(|name| format!("{}:{}", json!(name), canonical(&fields[name])))
                .collect();
            format!("{{{}}}", fields.join(","))
        }
        Value::Array(items) => {
            format!("[{}]", items.iter().map(canonical).collect::<Vec<_>>().join(","))
        }
        other => other.to_string(),
    }
}
