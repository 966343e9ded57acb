//! Judges calls by their final arguments. Pure, and the only module that can clear a call.
//!
//! Each program of a shell command is judged separately ([`super::shell`]), and the strictest
//! verdict applies.
//!
//! A decision is bound to what was shown: the tool, its arguments, the folder they refer to and the
//! files that they name ([`digest_of`]). It is not bound to the version of the policy, because then
//! a change of an unrelated rule would void it. Instead, the rules are evaluated again before an
//! allowed call runs, so a new rule that denies the call takes effect.

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;

use super::{
    approvers::Approvers,
    canonical_json::canonical,
    catalog::{ApprovalMode, EffectClass, Subject, ToolSpec},
    grants,
    named_files::NamedFiles,
    policy::{self, Action, GuardContext, Match, Origin, Policy, Rule, RuleInput, Severity},
    shell::Command,
    taint,
};
use crate::{
    journal::{
        event::{ApprovalPurpose, Call, Decider, Decision},
        ids::GrantId,
        session::{CallState, ConversationPermission, OpenCall, Session},
    },
    texts::{self, Messages, UnclearReason},
};

/// A call that passed the guard. Only this module can create one.
#[derive(Debug, Clone, PartialEq)]
pub struct Cleared {
    call: Call,
    grant: Option<GrantId>,
    permission: Option<ConversationPermission>,
}

impl Cleared {
    pub fn call(&self) -> &Call {
        &self.call
    }

    /// The grant that covers the call. Running the call consumes one of its uses.
    pub fn grant(&self) -> Option<&GrantId> {
        self.grant.as_ref()
    }

    /// The permission for the conversation that covers it.
    pub fn permission(&self) -> Option<&ConversationPermission> {
        self.permission.as_ref()
    }
}

#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    Run(Box<Cleared>),
    /// A person has to decide; `reason` says why.
    Ask {
        asks: ApprovalPurpose,
        reason: String,
        /// Whether a permission for more than this call would apply to later calls.
        grantable: bool,
        severity: Severity,
        /// Who can decide.
        approvers: Approvers,
    },
    /// An approval is open.
    Wait,
    /// The call does not run. The model reads this reason.
    Refuse(String),
}

/// The verdict of the rules on a call, and the rule that decided.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Ruling {
    /// `None` if no rule matches.
    pub action: Option<Action>,
    pub rule: Option<String>,
    pub origin: Option<Origin>,
    pub severity: Severity,
    /// Whether the rule names specific tools.
    pub names_tool: bool,
    /// The approvers that the rule names.
    pub approvers: Option<Approvers>,
    /// Whether the call is denied because of who requests it.
    pub excludes_person: bool,
    /// Why the rule could not be evaluated.
    pub unclear: Option<UnclearReason>,
    /// The program of a shell command that the ruling applies to.
    pub program: Option<String>,
}

/// The verdict on a call.
pub fn judge(
    open: &OpenCall,
    spec: &ToolSpec,
    session: &Session,
    policy: &Policy,
    context: &GuardContext,
) -> Verdict {
    let (call, words) = (&open.call, context.language.words());
    let spec = &*spec.on_terms(context.terms.get(&call.id).copied());
    if context.permissions.halted {
        return halted(open);
    }
    let ruled = || ruling(call, spec, session, policy, context);
    match &open.state {
        CallState::New => judge_new(call, spec, session, policy, context),
        CallState::Decided { digest, asks, .. } if *digest != digest_of(call, context) => {
            refuse_call(*asks, texts::CHANGED_SINCE_ASKED.into())
        }
        CallState::Decided { asks, decision, by, .. } => {
            let ruled = ruled();
            if ruled.action == Some(Action::Deny) {
                return refuse_call(*asks, ruled.refusal(&call.tool));
            }
            decided(call, *asks, decision, by)
        }
        CallState::Started if spec.effect == EffectClass::AtMostOnce => Verdict::Ask {
            asks: ApprovalPurpose::Retry,
            reason: words.why.outcome_unknown.into(),
            grantable: false,
            severity: Severity::Medium,
            approvers: ruled().approvers(policy),
        },
        CallState::Started => run(call),
        CallState::Asked { .. } | CallState::Delegated | CallState::Ended => Verdict::Wait,
    }
}

/// Applies the strictest of rule, tool and taint. A rule that allows counts only for a tool with
/// [`ApprovalMode::UnlessAllowed`]; a permission for the conversation counts only if no rule
/// matches.
fn judge_new(
    call: &Call,
    spec: &ToolSpec,
    session: &Session,
    policy: &Policy,
    context: &GuardContext,
) -> Verdict {
    let words = context.language.words();
    let ruled = ruling(call, spec, session, policy, context);
    let required = policy.required.requiring(spec);
    let spec = &*required;
    let tainted = taint::concerns(spec, session);
    let grantable = ruled.severity < Severity::Critical;
    let ask = |why: String, grantable| Verdict::Ask {
        asks: ApprovalPurpose::Allow,
        reason: [
            Some(why),
            ruled.severity.note(words),
            tainted.then(|| taint::note(session, words)),
        ]
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join("\n"),
        grantable,
        severity: ruled.severity,
        approvers: ruled.approvers(policy),
    };
    let refused = || Verdict::Refuse(texts::refused_by_default(&call.tool));
    let allowed = ruled.action == Some(Action::Allow);
    match ruled.action {
        Some(Action::Deny) => return Verdict::Refuse(ruled.refusal(&call.tool)),
        _ if spec.approval == ApprovalMode::Always => {
            return ask((words.why.always_asks)(&call.tool), false);
        }
        Some(Action::Ask) => return ask(ruled.reason(words), false),
        _ => {}
    }
    let default = match spec.approval {
        ApprovalMode::UnlessAllowed if !allowed => policy.default,
        _ => Action::Allow,
    };
    // A permission of the requester does not cover people who joined in.
    let alone = session.joined.is_empty();
    let covers = alone && grantable && !grants::runs_anything(spec);
    let permission = permission_for(call, session).filter(|_| covers);
    let tainted_says =
        if tainted && !(allowed && ruled.names_tool) { policy.tainted } else { Action::Allow };
    // The grant was given before the untrusted content was read.
    let granted = || {
        let may = alone && grantable && tainted_says == Action::Allow;
        may.then(|| grants::covering(call, spec, &context.permissions.grants)).flatten()
    };
    match default.max(tainted_says) {
        Action::Deny => refused(),
        Action::Ask if permission.is_some() => {
            Verdict::Run(Box::new(Cleared { permission: permission.cloned(), ..cleared(call) }))
        }
        Action::Ask if let Some(grant) = granted() => {
            Verdict::Run(Box::new(Cleared { grant: Some(grant.id.clone()), ..cleared(call) }))
        }
        Action::Ask if default == Action::Ask => {
            ask(policy.required.why_asked(spec, words), grantable)
        }
        Action::Ask => ask((words.why.outside)(&call.tool), grantable),
        Action::Allow => run(call),
    }
}

/// Nothing starts during a halt. A call that had started is not started again, and its result does
/// not say that it has not run.
fn halted(open: &OpenCall) -> Verdict {
    match open.state {
        CallState::Asked { .. } | CallState::Delegated | CallState::Ended => Verdict::Wait,
        CallState::Started | CallState::Decided { asks: ApprovalPurpose::Retry, .. } => {
            refuse_call(ApprovalPurpose::Retry, texts::HALTED_CALL.into())
        }
        CallState::New | CallState::Decided { .. } => Verdict::Refuse(texts::HALTED_CALL.into()),
    }
}

/// The call does not run now. If its outcome was unknown, it remains unknown.
fn refuse_call(asks: ApprovalPurpose, why: String) -> Verdict {
    Verdict::Refuse(match asks {
        ApprovalPurpose::Allow | ApprovalPurpose::Answer => why,
        ApprovalPurpose::Retry => format!("{why} {}", texts::OUTCOME_UNKNOWN),
    })
}

/// The permission for the conversation that covers a call.
fn permission_for<'s>(call: &Call, session: &'s Session) -> Option<&'s ConversationPermission> {
    let person = session.requester.as_ref().map_or("", |requester| requester.id.as_str());
    session.allowed.iter().find(|one| one.person == person && one.tool == call.tool)
}

/// The ruling on a call, for the verdict, the audit and explanations.
pub fn ruling(
    call: &Call,
    spec: &ToolSpec,
    session: &Session,
    policy: &Policy,
    context: &GuardContext,
) -> Ruling {
    let everybody = session.requester.iter().chain(&session.joined).map(|by| Some(by.id.as_str()));
    let everybody: Vec<_> = everybody.collect();
    let nobody = [None];
    let people = if everybody.is_empty() { &nobody[..] } else { &everybody[..] };
    let rulings = people.iter().map(|person| {
        let input = RuleInput { spec, arguments: &call.arguments, person: *person, context };
        ruling_for(&input, policy)
    });
    stricter(rulings)
}

/// The ruling if this person alone had made the request.
fn ruling_for(input: &RuleInput<'_>, policy: &Policy) -> Ruling {
    let rules = || policy.rules.iter().chain(input.context.stored.iter());
    let ruling_of = |command: Option<&Command>| {
        ruling_of(rules(), input, command).with_exclusion(rules(), input, command)
    };
    let Some(script) = policy::script(input.spec, input.arguments) else {
        return ruling_of(None);
    };
    let programs = script.commands.iter().map(|command| ruling_of(Some(command)));
    stricter(programs.chain(script.unclear.map(Ruling::unclear)))
}

fn stricter(rulings: impl Iterator<Item = Ruling>) -> Ruling {
    // A call that no rule matches ranks between one that is allowed and one that requires approval.
    let strictness = |ruling: &Ruling| match ruling.action {
        Some(Action::Allow) => 0,
        None => 1,
        Some(Action::Ask) => 2,
        Some(Action::Deny) => 3,
    };
    let strictest = rulings.reduce(|one, other| {
        let weight = |ruling: &Ruling| (strictness(ruling), ruling.weight());
        if weight(&other) > weight(&one) { other } else { one }
    });
    strictest.unwrap_or_default()
}

/// The ruling for one program, or for a call that starts no program.
fn ruling_of<'r>(
    rules: impl Iterator<Item = &'r Rule>,
    input: &RuleInput<'_>,
    command: Option<&Command>,
) -> Ruling {
    let mut groups: BTreeMap<(Origin, Severity), (Ruling, bool)> = BTreeMap::new();
    for rule in rules {
        let group = (rule.origin, rule.severity);
        if groups.get(&group).is_some_and(|(_, settled)| *settled) {
            continue;
        }
        match rule.matches(input, command) {
            Match::No => {}
            // A rule that cannot be evaluated requires approval, unless a later rule denies the
            // call.
            Match::Yes if groups.contains_key(&group) && rule.action < Action::Deny => {
                groups.entry(group).and_modify(|(_, settled)| *settled = true);
            }
            Match::Yes => drop(groups.insert(group, (Ruling::of(rule, command), true))),
            Match::Unclear => {
                groups.entry(group).or_insert_with(|| (Ruling::doubted(rule, command), false));
            }
        }
    }
    let rulings = groups.into_values().map(|(ruling, _)| ruling);
    rulings.max_by_key(|ruling| (ruling.action, ruling.weight())).unwrap_or_default()
}

impl Ruling {
    fn of(rule: &Rule, command: Option<&Command>) -> Self {
        Self {
            action: Some(rule.action),
            rule: Some(rule.name.clone()),
            origin: Some(rule.origin),
            severity: rule.severity,
            names_tool: rule.names_tool,
            approvers: rule.approvers.clone(),
            excludes_person: false,
            unclear: None,
            program: command.map(Command::text),
        }
    }

    fn doubted(rule: &Rule, command: Option<&Command>) -> Self {
        let unclear = Some(UnclearReason::NotThere);
        Self { action: Some(Action::Ask), unclear, ..Self::of(rule, command) }
    }

    fn unclear(why: UnclearReason) -> Self {
        Self { action: Some(Action::Ask), unclear: Some(why), ..Self::default() }
    }

    /// The tie-breaker among equally strict rulings: those that name approvers come first, then
    /// those with a higher severity.
    fn weight(&self) -> (bool, Severity, bool) {
        (self.approvers.is_some(), self.severity, self.unclear.is_none())
    }

    fn approvers(&self, policy: &Policy) -> Approvers {
        self.approvers.as_ref().unwrap_or(&policy.approvers).clone()
    }

    /// Why an approval is required.
    pub fn reason(&self, words: &Messages) -> String {
        words.ruled(self.rule.as_deref(), self.unclear, self.program.as_deref())
    }
}

fn decided(call: &Call, asks: ApprovalPurpose, decision: &Decision, by: &Decider) -> Verdict {
    match decision {
        Decision::Once | Decision::Conversation => run(call),
        Decision::Deny { reason } if asks != ApprovalPurpose::Retry => {
            Verdict::Refuse(texts::denied(by, reason.as_deref()))
        }
        Decision::Deny { .. } | Decision::Answer { .. } => Verdict::Refuse(texts::SKIPPED.into()),
    }
}

fn run(call: &Call) -> Verdict {
    Verdict::Run(Box::new(cleared(call)))
}

fn cleared(call: &Call) -> Cleared {
    Cleared { call: call.clone(), grant: None, permission: None }
}

/// The digest that binds a decision to the tool, its arguments, the folder and the current contents
/// of the files that it names.
pub fn digest_of(call: &Call, context: &GuardContext) -> String {
    let files = context.files.get(&call.id).cloned().unwrap_or_default();
    let bound = json!({
        "tool": call.tool, "arguments": call.arguments, "folder": context.folder, "files": files,
    });
    hex::encode(Sha256::digest(canonical(&bound)))
}

/// The files that a call names, as paths in the workspace: its subject, and the files that a shell
/// command reads.
pub fn files_named(spec: &ToolSpec, arguments: &Value) -> NamedFiles {
    match &spec.subject {
        Some(Subject::Command(name)) => {
            let text = arguments.get(name).and_then(Value::as_str).unwrap_or_default();
            NamedFiles::of_line(text)
        }
        Some(Subject::Path(_)) => {
            let paths = policy::subject(spec, arguments).into_iter().collect();
            NamedFiles { paths, ..NamedFiles::default() }
        }
        _ => NamedFiles::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        agent::rules::{RuleEntry, compile},
        journal::{event::Speaker, ids::ApprovalId},
    };

    fn spec(approval: ApprovalMode, effect: EffectClass) -> ToolSpec {
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

    fn rule(tool: &str, pattern: Option<&str>, action: Action) -> RuleEntry {
        let name = Some(format!("{action:?}"));
        let arg_pattern = pattern.map(str::to_owned);
        RuleEntry { name, arg_pattern, ..RuleEntry::of(tool, action) }
    }

    fn rules(entries: &[RuleEntry]) -> Vec<Rule> {
        compile(entries, Origin::Configuration).unwrap()
    }

    fn verdict(entries: Vec<RuleEntry>, approval: ApprovalMode, arguments: Value) -> &'static str {
        let policy = Policy { rules: rules(&entries), ..Policy::default() };
        let spec = spec(approval, EffectClass::AtMostOnce);
        verdict_on(&arguments, &spec, &Session::default(), &policy, &GuardContext::default())
    }

    fn verdict_on(
        arguments: &Value,
        spec: &ToolSpec,
        session: &Session,
        policy: &Policy,
        context: &GuardContext,
    ) -> &'static str {
        let open = OpenCall { call: call(arguments.clone()), state: CallState::New };
        match judge(&open, spec, session, policy, context) {
            Verdict::Run(_) => "run",
            Verdict::Ask { .. } => "ask",
            Verdict::Wait => "wait",
            Verdict::Refuse(_) => "refuse",
        }
    }

    /// The strictest of rule and tool applies. Proves IC-26 … IC-28, MC-42.
    #[test]
    fn rules_and_tools_are_weighed() {
        use ApprovalMode::{Always, Never, UnlessAllowed};
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

    /// Patterns match the decoded, normalised subject. Other arguments and indirect paths have no
    /// influence.
    #[test]
    fn patterns_match_only_the_normalized_subject() {
        let allow = || vec![rule("*", Some("^notes/"), Action::Allow)];
        for arguments in [
            json!({ "path": "secret.txt", "content": "notes/x" }),
            json!({ "path": "notes/../secret.txt" }),
            json!({ "path": "/notes/x" }),
            json!({ "path": ["notes/x"] }),
            json!({ "content": "notes/x" }),
        ] {
            let shown = arguments.to_string();
            assert_eq!(verdict(allow(), ApprovalMode::UnlessAllowed, arguments), "ask", "{shown}");
        }
        let notes = json!({ "path": "./notes//x" });
        assert_eq!(verdict(allow(), ApprovalMode::UnlessAllowed, notes), "run");
    }

    /// A rule that cannot be evaluated requires approval, even if a later rule would allow the
    /// call. A later denial applies.
    #[test]
    fn a_rule_that_cannot_be_evaluated_asks() {
        let unclear = || rule("*", Some("x"), Action::Allow);
        let none = json!({});
        let allow = vec![unclear(), rule("*", None, Action::Allow)];
        assert_eq!(verdict(allow, ApprovalMode::Never, none.clone()), "ask");
        let deny = vec![unclear(), rule("*", None, Action::Deny)];
        assert_eq!(verdict(deny, ApprovalMode::Never, none), "refuse");
    }

    fn decided(digest: String, decision: Decision) -> Verdict {
        let person = Speaker { id: "1".into(), name: "Ann".into() };
        let state = CallState::Decided {
            asks: ApprovalPurpose::Allow,
            digest,
            decision,
            by: Decider::Person(person),
        };
        let open = OpenCall { call: call(json!({ "path": "a" })), state };
        let spec = spec(ApprovalMode::Always, EffectClass::AtMostOnce);
        judge(&open, &spec, &Session::default(), &Policy::default(), &GuardContext::default())
    }

    /// A decision is valid for exactly what was shown.
    /// Proves A4, S3.
    #[test]
    fn a_decision_is_bound_to_what_was_shown() {
        let shown = digest_of(&call(json!({ "path": "a" })), &GuardContext::default());
        assert!(matches!(decided(shown.clone(), Decision::Once), Verdict::Run(_)));
        let other = digest_of(&call(json!({ "path": "b" })), &GuardContext::default());
        assert!(matches!(decided(other, Decision::Once), Verdict::Refuse(_)));
        let no = Decision::Deny { reason: Some("because".into()) };
        assert_eq!(decided(shown, no), Verdict::Refuse("Denied by Ann: because".into()));
    }

    #[test]
    fn the_digest_does_not_depend_on_the_order_of_keys() {
        let one = call(json!({ "path": "a", "content": { "x": 1, "y": [1, 2] } }));
        let two = call(json!({ "content": { "y": [1, 2], "x": 1 }, "path": "a" }));
        assert_eq!(
            digest_of(&one, &GuardContext::default()),
            digest_of(&two, &GuardContext::default())
        );
        let three = call(json!({ "path": "a", "content": { "x": 1, "y": [2, 1] } }));
        assert_ne!(
            digest_of(&one, &GuardContext::default()),
            digest_of(&three, &GuardContext::default())
        );
    }

    /// An interrupted call is repeated automatically only if repeating it is harmless.
    /// Proves T6.
    #[test]
    fn an_interrupted_call_needs_a_decision() {
        let open = OpenCall { call: call(json!({})), state: CallState::Started };
        let session = Session::default();
        let once = spec(ApprovalMode::Never, EffectClass::AtMostOnce);
        let asked = judge(&open, &once, &session, &Policy::default(), &GuardContext::default());
        assert!(matches!(asked, Verdict::Ask { asks: ApprovalPurpose::Retry, .. }));
        for harmless in [EffectClass::ReadOnly, EffectClass::Idempotent] {
            let spec = spec(ApprovalMode::Never, harmless);
            let again = judge(&open, &spec, &session, &Policy::default(), &GuardContext::default());
            assert!(matches!(again, Verdict::Run(_)));
        }
    }

    /// A call with an unknown outcome is never reported as not run.
    /// Proves T6, A12.
    #[test]
    fn a_call_that_may_have_run_says_so_when_it_does_not_run_again() {
        let by = Decider::Timeout;
        let retry = |digest: String| {
            let (asks, decision) = (ApprovalPurpose::Retry, Decision::Once);
            let state = CallState::Decided { asks, digest, decision, by: by.clone() };
            OpenCall { call: call(json!({ "path": "a" })), state }
        };
        let spec = spec(ApprovalMode::Always, EffectClass::AtMostOnce);
        let good = digest_of(&retry(String::new()).call, &GuardContext::default());
        let mut halted = GuardContext::default();
        halted.permissions.halted = true;
        let open_context = GuardContext::default();
        let forbids = rules(&[rule("*", None, Action::Deny)]);
        let forbidden = Policy { rules: forbids, ..Policy::default() };
        let (open, session) = (Policy::default(), Session::default());
        for (digest, context, policy) in [
            (good.clone(), &halted, &open),
            (good, &open_context, &forbidden),
            ("another".to_owned(), &open_context, &open),
        ] {
            let verdict = judge(&retry(digest), &spec, &session, policy, context);
            let Verdict::Refuse(text) = verdict else { panic!("{verdict:?}") };
            assert!(text.contains(texts::OUTCOME_UNKNOWN), "{text}");
        }
    }

    #[test]
    fn a_pending_approval_waits() {
        let state = CallState::Asked {
            approval: ApprovalId::from("a"),
            asks: ApprovalPurpose::Allow,
            digest: String::new(),
        };
        let open = OpenCall { call: call(json!({})), state };
        let spec = spec(ApprovalMode::Always, EffectClass::ReadOnly);
        let verdict =
            judge(&open, &spec, &Session::default(), &Policy::default(), &GuardContext::default());
        assert_eq!(verdict, Verdict::Wait);
    }

    /// Whether the approval of a call may offer a permission for more than this call.
    #[test]
    fn some_calls_can_be_allowed_once_only() {
        use ApprovalMode::{Always, UnlessAllowed};
        let allow = |severity| RuleEntry { severity, ..rule("*", None, Action::Allow) };
        for (entries, approval, taint, expected) in [
            (vec![], UnlessAllowed, vec![], true),
            (vec![], Always, vec![], false),
            (vec![rule("*", None, Action::Ask)], UnlessAllowed, vec![], false),
            (vec![allow(Severity::High)], UnlessAllowed, vec!["a page".to_owned()], true),
            (vec![allow(Severity::Critical)], UnlessAllowed, vec!["a page".to_owned()], false),
        ] {
            let shown = format!("{entries:?} {approval:?} {taint:?}");
            let policy = Policy { rules: rules(&entries), ..Policy::default() };
            let session = Session { taint, ..Session::default() };
            let open = OpenCall { call: call(json!({ "path": "a" })), state: CallState::New };
            let spec = spec(approval, EffectClass::AtMostOnce);
            let verdict = judge(&open, &spec, &session, &policy, &GuardContext::default());
            let Verdict::Ask { grantable, .. } = verdict else { panic!("{shown}: {verdict:?}") };
            assert_eq!(grantable, expected, "{shown}");
        }
    }

    #[test]
    fn a_default_that_denies_concerns_tools_that_need_an_approval() {
        let policy = |entries: &[RuleEntry]| Policy {
            default: Action::Deny,
            rules: rules(entries),
            ..Policy::default()
        };
        let (bare, open) = (policy(&[]), policy(&[rule("*", None, Action::Allow)]));
        for (policy, approval, expected) in [
            (&bare, ApprovalMode::UnlessAllowed, "refuse"),
            (&bare, ApprovalMode::Never, "run"),
            (&bare, ApprovalMode::Always, "ask"),
            (&open, ApprovalMode::UnlessAllowed, "run"),
        ] {
            let spec = spec(approval, EffectClass::AtMostOnce);
            let (session, context) = (Session::default(), GuardContext::default());
            let verdict = verdict_on(&json!({ "path": "a" }), &spec, &session, policy, &context);
            assert_eq!(verdict, expected, "{approval:?}");
        }
    }

    /// A permission for the conversation applies to its requester and its tool only, and never to
    /// tools that run arbitrary code.
    #[test]
    fn a_permission_for_the_conversation_is_of_one_person_and_one_tool() {
        let person = |id: &str| Speaker { id: id.into(), name: "Ann".into() };
        let session = |requester: &str, tool: &str| Session {
            requester: Some(person(requester)),
            allowed: vec![ConversationPermission {
                person: "1".into(),
                tool: tool.into(),
                approval: ApprovalId::from("a"),
                by: Decider::Person(person("1")),
            }],
            ..Session::default()
        };
        let paths = spec(ApprovalMode::UnlessAllowed, EffectClass::AtMostOnce);
        let commands = ToolSpec { subject: Some(Subject::Command("path")), ..paths.clone() };
        let joined = Session { joined: vec![person("2")], ..session("1", "write_file") };
        let nobody = Session { requester: None, ..session("1", "write_file") };
        for (session, spec, expected) in [
            (session("1", "write_file"), &paths, "run"),
            (session("2", "write_file"), &paths, "ask"),
            (session("1", "apply_patch"), &paths, "ask"),
            (session("1", "write_file"), &commands, "ask"),
            (joined, &paths, "ask"),
            (nobody, &paths, "ask"),
        ] {
            let (policy, context) = (Policy::default(), GuardContext::default());
            let verdict = verdict_on(&json!({ "path": "a" }), spec, &session, &policy, &context);
            assert_eq!(verdict, expected, "{:?} {:?}", session.requester, session.allowed);
        }
        for (severity, expected) in [(Severity::High, "run"), (Severity::Critical, "ask")] {
            let allow = RuleEntry { severity, ..rule("*", None, Action::Allow) };
            let (policy, context) =
                (Policy { rules: rules(&[allow]), ..Policy::default() }, GuardContext::default());
            let taint = vec!["a page".to_owned()];
            let session = Session { taint, ..session("1", "write_file") };
            let verdict = verdict_on(&json!({ "path": "a" }), &paths, &session, &policy, &context);
            assert_eq!(verdict, expected, "{severity:?}");
        }
    }

    /// Proves A12, T6.
    #[test]
    fn during_a_halt_nothing_starts_and_open_work_waits() {
        let asked = CallState::Asked {
            approval: ApprovalId::from("a"),
            asks: ApprovalPurpose::Allow,
            digest: String::new(),
        };
        let (decision, digest) = (Decision::Once, String::new());
        let by = Decider::Timeout;
        let allowed = CallState::Decided { asks: ApprovalPurpose::Allow, digest, decision, by };
        let unknown = format!("{} {}", texts::HALTED_CALL, texts::OUTCOME_UNKNOWN);
        let refused = |text: &str| Verdict::Refuse(text.to_owned());
        let mut halted = GuardContext::default();
        halted.permissions.halted = true;
        let spec = spec(ApprovalMode::Never, EffectClass::ReadOnly);
        for (state, expected) in [
            (CallState::New, refused(texts::HALTED_CALL)),
            (allowed, refused(texts::HALTED_CALL)),
            (CallState::Started, refused(&unknown)),
            (asked, Verdict::Wait),
            (CallState::Delegated, Verdict::Wait),
            (CallState::Ended, Verdict::Wait),
        ] {
            let open = OpenCall { call: call(json!({})), state };
            let (session, policy) = (Session::default(), Policy::default());
            let verdict = judge(&open, &spec, &session, &policy, &halted);
            assert_eq!(verdict, expected, "{:?}", open.state);
        }
    }

    #[test]
    fn a_decision_applies_only_to_its_purpose() {
        let by = || Decider::Person(Speaker { id: "1".into(), name: "Ann".into() });
        let deny = || Decision::Deny { reason: None };
        let answer = Decision::Answer { text: "red".into() };
        let denied = texts::denied(&by(), None);
        for (asks, decision, refused) in [
            (ApprovalPurpose::Allow, Decision::Once, None),
            (ApprovalPurpose::Allow, Decision::Conversation, None),
            (ApprovalPurpose::Retry, Decision::Once, None),
            (ApprovalPurpose::Allow, deny(), Some(denied.as_str())),
            (ApprovalPurpose::Retry, deny(), Some(texts::SKIPPED)),
            (ApprovalPurpose::Answer, answer, Some(texts::SKIPPED)),
        ] {
            let digest = digest_of(&call(json!({})), &GuardContext::default());
            let shown = format!("{asks:?} {decision:?}");
            let state = CallState::Decided { asks, digest, decision, by: by() };
            let open = OpenCall { call: call(json!({})), state };
            let spec = spec(ApprovalMode::Always, EffectClass::AtMostOnce);
            let (session, policy) = (Session::default(), Policy::default());
            match judge(&open, &spec, &session, &policy, &GuardContext::default()) {
                Verdict::Run(_) => assert_eq!(refused, None, "{shown}"),
                Verdict::Refuse(text) => assert_eq!(Some(text.as_str()), refused, "{shown}"),
                other => panic!("{shown}: {other:?}"),
            }
        }
    }
}
