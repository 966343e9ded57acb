//! How rules match calls: each kind of pattern and condition.

mod fields;
mod people;
mod shipped;
mod taint;

use chrono::{DateTime, Utc};
use serde_json::{Value, json};

use super::*;
use crate::{
    agent::{
        catalog::{ApprovalMode, EffectClass, Subject, ToolSource, ToolSpec},
        guard::{self, Ruling, Verdict, judge},
        policy::{GuardContext, Policy},
        rule_import,
    },
    journal::{
        event::{Call, Speaker},
        session::{CallState, OpenCall, Session},
    },
};

fn shell() -> ToolSpec {
    let parameters = json!({ "type": "object", "properties": { "command": {} } });
    ToolSpec {
        effect: EffectClass::AtMostOnce,
        approval: ApprovalMode::UnlessAllowed,
        subject: Some(Subject::Command("command")),
        ..ToolSpec::read_only("shell", "Runs a command", parameters)
    }
}

fn mail() -> ToolSpec {
    let properties = json!({ "to": {}, "head": {}, "text": {} });
    let parameters = json!({ "type": "object", "properties": properties });
    ToolSpec {
        effect: EffectClass::AtMostOnce,
        approval: ApprovalMode::UnlessAllowed,
        ..ToolSpec::read_only("mail", "Sends", parameters)
    }
}

fn entry(keys: Value) -> RuleEntry {
    let mut rule = json!({ "name": "a rule", "tool": "*", "action": "ask" });
    for (name, value) in keys.as_object().unwrap() {
        rule[name] = value.clone();
    }
    serde_json::from_value(rule).unwrap()
}

fn call(spec: &ToolSpec, arguments: Value) -> Call {
    Call { id: "c".into(), model_id: "m".into(), tool: spec.name.clone(), arguments }
}

struct Setting {
    policy: Policy,
    context: GuardContext,
    session: Session,
}

impl Setting {
    fn with(rules: &[Value]) -> Self {
        let entries: Vec<_> = rules.iter().cloned().map(entry).collect();
        let rules = compile(&entries, Origin::Configuration).unwrap();
        let requester = Some(Speaker { id: "7".into(), name: "Ann".into() });
        Self {
            policy: Policy { rules, ..Policy::default() },
            context: GuardContext {
                agent: "default".into(),
                channel: "tg".into(),
                ..GuardContext::default()
            },
            session: Session { requester, ..Session::default() },
        }
    }

    /// A policy that allows everything that the shipped rules do not match.
    fn shipped(off: &[&str]) -> Self {
        let off: Vec<_> = off.iter().map(|name| (*name).to_owned()).collect();
        let mut setting = Self::with(&[]);
        setting.policy.rules = shipped(&off);
        setting.policy.default = Action::Allow;
        setting
    }

    fn tainted(mut self) -> Self {
        self.session.taint = vec!["a page".into()];
        self
    }

    fn says(&self, spec: &ToolSpec, arguments: Value) -> &'static str {
        let open = OpenCall { call: call(spec, arguments), state: CallState::New };
        match judge(&open, spec, &self.session, &self.policy, &self.context) {
            Verdict::Run(_) => "run",
            Verdict::Ask { .. } => "ask",
            Verdict::Wait => "wait",
            Verdict::Refuse(_) => "refuse",
        }
    }

    fn ruling(&self, command: &str) -> Ruling {
        let call = call(&shell(), json!({ "command": command }));
        guard::ruling(&call, &shell(), &self.session, &self.policy, &self.context)
    }

    fn runs(&self, command: &str) -> &'static str {
        self.says(&shell(), json!({ "command": command }))
    }
}

/// The example document works; a pattern applies to each program, not to the whole line.
/// Proves MC-42.
#[test]
fn mateclaws_rules_behave() {
    let text = "rules:\n  - { tool: ShellExecuteTool, arg-pattern: '^(ls|cat|grep|find)\\s', \
        action: allow }\n  - { tool: WriteFileTool, action: require_approval }";
    let entries = rule_import::mateclaw(text, &[]).unwrap().document.rules;
    let mut setting = Setting::with(&[]);
    setting.policy.rules = compile(&entries, Origin::Configuration).unwrap();
    for (command, expected) in [
        ("ls -la", "run"),
        ("cat a | grep b", "run"),
        ("ls -la && find . -name x", "run"),
        ("ls; rm -rf x", "ask"),
        ("ls\nrm x", "ask"),
        ("ls -la > x", "ask"),
        ("cat a $(rm b)", "ask"),
        ("cat $X", "ask"),
        ("LS_COLORS=x ls -la", "ask"),
        ("find . -exec rm {} +", "ask"),
        ("./ls -la", "ask"),
        ("'ls -la'", "ask"),
        ("ls\t-la", "run"),
        ("find . | xargs rm", "ask"),
    ] {
        assert_eq!(setting.runs(command), expected, "{command}: {:?}", setting.ruling(command));
    }
}

/// The strictest of severities and sources applies; within one, priority, then order.
#[test]
fn the_strictest_severity_and_source_applies() {
    let rule = |name: &str, action: &str, severity: &str, priority: i32| json!({ "name": name, "action": action, "severity": severity, "priority": priority });
    for (rules, expected) in [
        (vec![rule("a", "allow", "low", 0), rule("b", "deny", "low", 0)], ("run", "a")),
        (vec![rule("a", "allow", "low", 0), rule("b", "deny", "low", 1)], ("refuse", "b")),
        (vec![rule("a", "allow", "critical", 9), rule("b", "deny", "low", 0)], ("refuse", "b")),
        (vec![rule("a", "allow", "low", 0), rule("b", "ask", "high", 0)], ("ask", "b")),
    ] {
        let setting = Setting::with(&rules);
        let said = setting.says(&mail(), json!({ "to": "a" }));
        let ruling = setting.ruling("x");
        assert_eq!((said, ruling.rule.as_deref()), (expected.0, Some(expected.1)), "{rules:?}");
    }
    let mut setting = Setting::with(&[rule("a", "allow", "medium", 0)]);
    let stored = compile(&[entry(rule("b", "deny", "medium", -5))], Origin::Database).unwrap();
    setting.context.stored = stored.into();
    assert_eq!(setting.says(&mail(), json!({})), "refuse", "the database forbids at once");
}

/// Shadowed rules are reported, so that a denial that is added in an emergency is not silently
/// ineffective.
#[test]
fn a_rule_that_is_shadowed_is_known() {
    let shadowing = |first: Value, second: Value| {
        let named = |name: &str, mut keys: Value| {
            keys["name"] = name.into();
            entry(keys)
        };
        super::shadowing(&[named("first", first), named("second", second)], "second")
    };
    let deny = |keys: Value| {
        let mut rule = json!({ "tool": "shell", "action": "deny" });
        for (name, value) in keys.as_object().unwrap() {
            rule[name] = value.clone();
        }
        rule
    };
    let allow = json!({ "tool": "shell", "command": ["ls", "cu*"], "action": "allow" });
    for (second, shadowed) in [
        (deny(json!({})), true),
        (deny(json!({ "tool": "*" })), true),
        (deny(json!({ "command": ["curl"] })), true),
        (deny(json!({ "command": ["rm"] })), false),
        (deny(json!({ "tool": "mail" })), false),
        (deny(json!({ "priority": 1 })), false),
        (deny(json!({ "severity": "high" })), false),
        (deny(json!({ "action": "allow" })), false),
        (deny(json!({ "enabled": false })), false),
    ] {
        let found = shadowing(allow.clone(), second.clone());
        assert_eq!(!found.is_empty(), shadowed, "{second}");
    }
    let mut elsewhere = allow.clone();
    elsewhere["channels"] = json!(["tg"]);
    assert!(shadowing(elsewhere.clone(), deny(json!({ "channels": ["web"] }))).is_empty());
    assert_eq!(shadowing(elsewhere, deny(json!({}))), ["first"]);
    let mut setting = Setting::with(&[allow.clone(), deny(json!({}))]);
    assert_eq!(setting.runs("ls x"), "run", "the first of a severity decides, as documented");
    setting = Setting::with(&[allow, deny(json!({ "severity": "high" }))]);
    assert_eq!(setting.runs("ls x"), "refuse");
}

/// Among rules that ask, one that names approvers is not overridden by one that does not, whatever
/// their severities and order are.
#[test]
fn approvers_of_a_rule_are_not_overridden() {
    let rule = |named: bool, severity: &str| {
        let approvers = if named { json!("admins") } else { json!(null) };
        json!({ "name": severity, "approvers": approvers, "severity": severity })
    };
    for [named, other] in [["low", "critical"], ["critical", "low"]] {
        for rules in
            [[rule(true, named), rule(false, other)], [rule(false, other), rule(true, named)]]
        {
            let setting = Setting::with(&rules);
            assert_eq!(setting.runs("rm a"), "ask");
            assert!(setting.ruling("rm a").approvers.is_some(), "{rules:?}");
        }
    }
}

/// Agents, channels, people by number, roles.
#[test]
fn rules_apply_where_and_to_whom_they_say() {
    let says = |keys: Value| {
        let mut rule = json!({ "action": "deny" });
        for (name, value) in keys.as_object().unwrap() {
            rule[name] = value.clone();
        }
        let mut setting = Setting::with(&[rule]);
        setting.context.role = Some("member".into());
        setting.says(&mail(), json!({}))
    };
    for (keys, expected) in [
        (json!({ "agents": ["default"] }), "refuse"),
        (json!({ "agents": ["other"] }), "ask"),
        (json!({ "channels": ["x", "tg"] }), "refuse"),
        (json!({ "channels": ["x"] }), "ask"),
        (json!({ "people": ["7"] }), "refuse"),
        (json!({ "people": ["8"] }), "ask"),
        (json!({ "roles": ["member"] }), "refuse"),
        (json!({ "roles": ["owner"] }), "ask"),
        (json!({ "agents": ["default"], "people": ["8"] }), "ask"),
        (json!({ "enabled": false }), "ask"),
        // It is midnight of a Thursday.
        (json!({ "times": ["thu 00:00-01:00"] }), "refuse"),
        (json!({ "times": ["fri 00:00-01:00"] }), "ask"),
        (json!({ "times": ["fri 00:00-01:00", "thu 00:00-01:00"] }), "refuse"),
    ] {
        assert_eq!(says(keys.clone()), expected, "{keys}");
    }
    let mut unknown = Setting::with(&[json!({ "people": ["7"], "action": "allow" })]);
    unknown.session.requester = None;
    assert_eq!(unknown.says(&mail(), json!({})), "ask", "nobody is not let through");
}

/// Values that people can change themselves do not identify anybody.
/// Proves S5.
#[test]
fn people_are_numbers() {
    for id in ["@ann", "ann", "", "7 "] {
        let fault = compile(&[entry(json!({ "people": [id] }))], Origin::Database).unwrap_err();
        assert_eq!(fault.key, "people");
    }
}

#[test]
fn times_are_hours_of_days_in_a_zone() {
    let at = |text: &str| text.parse::<DateTime<Utc>>().unwrap();
    for (times, now, expected) in [
        ("mon-fri 09:00-17:00", "2026-05-04T09:00:00Z", true),
        ("mon-fri 09:00-17:00", "2026-05-04T17:00:00Z", false),
        ("mon-fri 09:00-17:00", "2026-05-03T10:00:00Z", false),
        ("mon-fri 09:00-17:00 Europe/Berlin", "2026-05-04T07:00:00Z", true),
        ("mon-fri 09:00-17:00 Europe/Berlin", "2026-05-04T16:00:00Z", false),
        ("sun 22:00-06:00", "2026-05-04T05:59:00Z", true),
        ("mon 22:00-06:00", "2026-05-04T05:59:00Z", false),
        ("fri-mon 00:00-24:00", "2026-05-02T12:00:00Z", true),
        ("22:00-24:00", "2026-05-02T23:59:00Z", true),
        ("22:00-24:00", "2026-05-03T00:00:00Z", false),
    ] {
        assert_eq!(hours(times).unwrap().hold(at(now)), expected, "{times} {now}");
    }
    for wrong in [
        "",
        "mon",
        "mon 9-17",
        "mon 09:00-17:00 Nowhere",
        "mon-fro 09:00-17:00",
        "mon 09:00-17:00 UTC x",
    ] {
        assert!(hours(wrong).is_err(), "{wrong}");
    }
}

/// An error in a rule is reported with its name and key.
#[test]
fn a_rule_that_cannot_work_is_refused() {
    for (keys, key) in [
        (json!({ "tool": "[" }), "tool"),
        (json!({ "arg_pattern": "(" }), "arg_pattern"),
        (json!({ "fields": { "a": "(" } }), "fields"),
        (json!({ "fields": { "a": { "glob": "[" } } }), "fields"),
        (json!({ "command": ["["] }), "command"),
        (json!({ "words": ["("] }), "words"),
        (json!({ "times": ["now"] }), "times"),
    ] {
        let fault = compile(&[entry(keys)], Origin::Configuration).unwrap_err();
        assert_eq!((fault.rule.as_str(), fault.key), ("a rule", key));
    }
}

/// Export and import use the same document.
#[test]
fn a_document_reads_as_it_was_written() {
    let all = json!({
        "tool": "shell", "arg_pattern": "x", "fields": { "a": "b", "c": { "glob": "*" } },
        "command": ["rm"], "words": ["-f"], "severity": "high", "priority": 3, "enabled": false,
        "agents": ["a"], "channels": ["c"], "people": ["1"], "roles": ["r"],
        "times": ["mon 09:00-17:00"], "action": "deny", "approvers": "admins",
    });
    let document = RuleDocument { rules: vec![entry(all), entry(json!({}))] };
    let toml = toml::to_string_pretty(&document).unwrap();
    assert_eq!(toml::from_str::<RuleDocument>(&toml).unwrap(), document);
    let json = serde_json::to_string(&document).unwrap();
    assert_eq!(serde_json::from_str::<RuleDocument>(&json).unwrap(), document);
    assert!(toml::from_str::<RuleDocument>("[[rules]]\ntool='x'\naction='ask'\nodd=1").is_err());
}

/// The rules are evaluated again before an allowed call runs.
#[test]
fn a_rule_added_after_the_grant_applies() {
    use crate::journal::event::{ApprovalPurpose, Decider, Decision};
    let mut setting = Setting::with(&[]);
    let by = Decider::Person(Speaker { id: "7".into(), name: "Ann".into() });
    let call = call(&mail(), json!({ "to": "a" }));
    let digest = guard::digest_of(&call, &setting.context);
    let state =
        CallState::Decided { asks: ApprovalPurpose::Allow, digest, decision: Decision::Once, by };
    let open = OpenCall { call, state };
    let says = |setting: &Setting| {
        judge(&open, &mail(), &setting.session, &setting.policy, &setting.context)
    };
    assert!(matches!(says(&setting), Verdict::Run(_)));
    let other = compile(&[entry(json!({ "tool": "x", "action": "deny" }))], Origin::Database);
    setting.context.stored = other.unwrap().into();
    assert!(matches!(says(&setting), Verdict::Run(_)), "an edit elsewhere voids nothing");
    let deny = compile(&[entry(json!({ "tool": "mail", "action": "deny" }))], Origin::Database);
    setting.context.stored = deny.unwrap().into();
    assert!(matches!(says(&setting), Verdict::Refuse(_)));
}

/// A decision is bound to folder and files.
/// Proves S3.
#[test]
fn a_decision_is_bound_to_folder_and_files() {
    let call = call(&shell(), json!({ "command": "bash deploy.sh && cat ../x" }));
    let named = guard::files_named(&shell(), &call.arguments);
    let expected = ["bash", "cat", "deploy.sh"].map(str::to_owned).into();
    assert_eq!((named.paths, named.everything), (expected, false));
    let context = |folder: &str, digest: &str| {
        let files = [("deploy.sh".to_owned(), digest.to_owned())].into();
        let files = [(call.id.clone(), files)].into();
        GuardContext { folder: folder.into(), files, ..GuardContext::default() }
    };
    let shown = guard::digest_of(&call, &context("a", "1"));
    assert_eq!(shown, guard::digest_of(&call, &context("a", "1")));
    assert_ne!(shown, guard::digest_of(&call, &context("b", "1")));
    assert_ne!(shown, guard::digest_of(&call, &context("a", "2")));
}
