//! The only place that can allow a call. Pure: judges the resolved name and the final arguments.

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::{
    approvers::Approvers,
    catalog::{Approval, EffectClass, ToolSpec},
    policy::{Action, Match, Policy, Rule},
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
        /// Whether an answer for the rest of the conversation would count.
        lasting: bool,
        /// Who decides.
        approvers: Approvers,
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
            let approvers = approvers(ruling(call, spec, policy).map(|(_, rule)| rule), policy);
            let reason = texts::OUTCOME_UNKNOWN.into();
            Verdict::Ask { asks: Asks::Retry, reason, lasting: false, approvers }
        }
        CallState::Started => run(call),
        CallState::Asked { .. } | CallState::Ended => Verdict::Wait,
    }
}

/// The strictest of rule and tool wins. A rule's leave only answers a tool that asks *unless
/// allowed*; a person's leave for the conversation only does where no rule speaks.
fn fresh(call: &Call, spec: &ToolSpec, session: &Session, policy: &Policy) -> Verdict {
    let ruled = ruling(call, spec, policy);
    if let Some((Action::Deny, rule)) = ruled {
        return Verdict::Refuse(texts::refused_by_rule(&call.tool, &rule.name));
    }
    let approvers = approvers(ruled.map(|(_, rule)| rule), policy);
    match (spec.approval, ruled) {
        (Approval::Always, _) => ask(texts::tool_always_asks(&call.tool), approvers),
        (_, Some((Action::Ask, rule))) => ask(texts::rule_asks(&rule.name), approvers),
        (Approval::Never, _) | (_, Some(_)) => run(call),
        (Approval::UnlessAllowed, None) if allowed_before(call, session) => run(call),
        (Approval::UnlessAllowed, None) => match policy.default {
            Action::Allow => run(call),
            Action::Ask => {
                let reason = texts::changes_something(&call.tool);
                Verdict::Ask { asks: Asks::Allow, reason, lasting: true, approvers }
            }
            Action::Deny => Verdict::Refuse(texts::refused_by_default(&call.tool)),
        },
    }
}

fn allowed_before(call: &Call, session: &Session) -> bool {
    let person = session.requester.as_ref().map(|requester| requester.id.clone());
    session.allowed.contains(&(person.unwrap_or_default(), call.tool.clone()))
}

/// What the first matching rule says, and which it is. One that cannot be evaluated asks, unless a
/// later one denies.
fn ruling<'p>(call: &Call, spec: &ToolSpec, policy: &'p Policy) -> Option<(Action, &'p Rule)> {
    let mut unclear = None;
    for rule in &policy.rules {
        match rule.matches(spec, &call.arguments) {
            Match::No => {}
            Match::Yes if unclear.is_some() && rule.action < Action::Deny => return unclear,
            Match::Yes => return Some((rule.action, rule)),
            Match::Unclear => {
                unclear.get_or_insert((Action::Ask, rule));
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

fn ask(reason: String, approvers: Approvers) -> Verdict {
    Verdict::Ask { asks: Asks::Allow, reason, lasting: false, approvers }
}

/// Whom the rule names, or else the policy.
fn approvers(rule: Option<&Rule>, policy: &Policy) -> Approvers {
    rule.and_then(|rule| rule.approvers.as_ref()).unwrap_or(&policy.approvers).clone()
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        agent::{catalog::Subject, policy::Rule},
        journal::{event::Speaker, ids::ApprovalId},
    };
    use globset::Glob;
    use regex::Regex;

    fn spec(approval: Approval, effect: EffectClass) -> ToolSpec {
        ToolSpec {
            approval,
            effect,
            subject: Some(Subject::Path("path")),
            ..ToolSpec::read_only("write_file", "Writes", json!({ "type": "object" }))
        }
    }

    fn call(arguments: Value) -> Call {
        let tool = "write_file".to_owned();
        Call { id: "c".into(), model_id: "m".into(), tool, arguments }
    }

    fn rule(tool: &str, pattern: Option<&str>, action: Action) -> Rule {
        Rule {
            name: format!("{action:?}"),
            tool: Glob::new(tool).unwrap().compile_matcher(),
            argument: pattern.map(|p| Regex::new(p).unwrap()),
            action,
            approvers: None,
        }
    }

    fn verdict(rules: Vec<Rule>, approval: Approval, arguments: Value) -> &'static str {
        let policy = Policy { rules, ..Policy::default() };
        let open = OpenCall { call: call(arguments), state: CallState::New };
        let spec = spec(approval, EffectClass::AtMostOnce);
        match judge(&open, &spec, &Session::default(), &policy) {
            Verdict::Run(_) => "run",
            Verdict::Ask { .. } => "ask",
            Verdict::Wait => "wait",
            Verdict::Refuse(_) => "refuse",
        }
    }

    /// IC-26 … IC-28, MC-42: the strictest of rule and tool wins.
    #[test]
    fn rules_and_tools_are_weighed() {
        use Approval::{Always, Never, UnlessAllowed};
        let note = json!({ "path": "notes/a.md", "content": "notes/" });
        for (rules, approval, expected) in [
            (vec![], Never, "run"),
            (vec![], UnlessAllowed, "ask"),
            (vec![], Always, "ask"),
            (vec![rule("*", None, Action::Allow)], UnlessAllowed, "run"),
            (vec![rule("*", None, Action::Allow)], Always, "ask"),
            (vec![rule("write_*", None, Action::Ask)], Never, "ask"),
            (vec![rule("write_*", None, Action::Deny)], Never, "refuse"),
            (vec![rule("read_*", None, Action::Deny)], Never, "run"),
            (vec![rule("*", Some("^notes/"), Action::Allow)], UnlessAllowed, "run"),
            (vec![rule("*", Some("^other/"), Action::Allow)], UnlessAllowed, "ask"),
            (
                vec![rule("*", Some("^notes/"), Action::Allow), rule("*", None, Action::Deny)],
                UnlessAllowed,
                "run",
            ),
        ] {
            let shown = format!("{rules:?} {approval:?}");
            assert_eq!(verdict(rules, approval, note.clone()), expected, "{shown}");
        }
    }

    /// A pattern sees the decoded, normalised subject: neither other arguments nor a detour count.
    #[test]
    fn a_pattern_cannot_be_tricked() {
        let allow = || vec![rule("*", Some("^notes/"), Action::Allow)];
        for arguments in [
            json!({ "path": "secret.txt", "content": "notes/x" }),
            json!({ "path": "notes/../secret.txt" }),
            json!({ "path": "/notes/x" }),
            json!({ "path": ["notes/x"] }),
            json!({ "content": "notes/x" }),
        ] {
            let shown = arguments.to_string();
            assert_eq!(verdict(allow(), Approval::UnlessAllowed, arguments), "ask", "{shown}");
        }
        let notes = json!({ "path": "./notes//x" });
        assert_eq!(verdict(allow(), Approval::UnlessAllowed, notes), "run");
    }

    /// What cannot be evaluated asks, even where a later rule would allow; a later no stands.
    #[test]
    fn a_rule_that_cannot_be_evaluated_asks() {
        let unclear = || rule("*", Some("x"), Action::Allow);
        let none = json!({});
        let allow = vec![unclear(), rule("*", None, Action::Allow)];
        assert_eq!(verdict(allow, Approval::Never, none.clone()), "ask");
        let deny = vec![unclear(), rule("*", None, Action::Deny)];
        assert_eq!(verdict(deny, Approval::Never, none), "refuse");
    }

    fn decided(digest: String, decision: Decision) -> Verdict {
        let person = Speaker { id: "1".into(), name: "Ann".into() };
        let state =
            CallState::Decided { asks: Asks::Allow, digest, decision, by: Decider::Person(person) };
        let open = OpenCall { call: call(json!({ "path": "a" })), state };
        let spec = spec(Approval::Always, EffectClass::AtMostOnce);
        judge(&open, &spec, &Session::default(), &Policy::default())
    }

    /// A4, S3: a decision is good for exactly what was shown.
    #[test]
    fn a_decision_is_bound_to_what_was_shown() {
        let shown = digest_of(&call(json!({ "path": "a" })));
        assert!(matches!(decided(shown.clone(), Decision::Once), Verdict::Run(_)));
        let other = digest_of(&call(json!({ "path": "b" })));
        assert!(matches!(decided(other, Decision::Once), Verdict::Refuse(_)));
        let no = Decision::Deny { reason: Some("because".into()) };
        assert_eq!(decided(shown, no), Verdict::Refuse("Denied by Ann: because".into()));
    }

    #[test]
    fn the_digest_does_not_depend_on_the_order_of_keys() {
        let one = call(json!({ "path": "a", "content": { "x": 1, "y": [1, 2] } }));
        let two = call(json!({ "content": { "y": [1, 2], "x": 1 }, "path": "a" }));
        assert_eq!(digest_of(&one), digest_of(&two));
        let three = call(json!({ "path": "a", "content": { "x": 1, "y": [2, 1] } }));
        assert_ne!(digest_of(&one), digest_of(&three));
    }

    /// T6: what was cut off runs again only where repeating is harmless.
    #[test]
    fn a_call_that_was_cut_off_is_put_to_the_person() {
        let open = OpenCall { call: call(json!({})), state: CallState::Started };
        let session = Session::default();
        let once = spec(Approval::Never, EffectClass::AtMostOnce);
        let asked = judge(&open, &once, &session, &Policy::default());
        assert!(matches!(asked, Verdict::Ask { asks: Asks::Retry, .. }));
        for harmless in [EffectClass::ReadOnly, EffectClass::Idempotent] {
            let spec = spec(Approval::Never, harmless);
            let again = judge(&open, &spec, &session, &Policy::default());
            assert!(matches!(again, Verdict::Run(_)));
        }
    }

    #[test]
    fn an_open_question_waits() {
        let state = CallState::Asked {
            approval: ApprovalId::from("a"),
            asks: Asks::Allow,
            digest: String::new(),
        };
        let open = OpenCall { call: call(json!({})), state };
        let spec = spec(Approval::Always, EffectClass::ReadOnly);
        let verdict = judge(&open, &spec, &Session::default(), &Policy::default());
        assert_eq!(verdict, Verdict::Wait);
    }
}
