//! Computes the next effect: a pure function of the session, the agent and the time.
//!
//! A turn is a loop: ask the model, judge each call, then run, ask or refuse it, until a reply
//! makes no calls. This function never waits. If a person has to decide, it returns
//! [`Effect::Rest`]; the decision is an event, after which it is called again.

use std::collections::BTreeSet;

use super::{
    Agent,
    approvers::Approvers,
    catalog::{EffectClass, ResolvedTool, Tier, ToolSpec},
    compact,
    delegation::{self, DelegationCall},
    disclosure,
    guard::{self, Cleared, Verdict},
    limits,
    policy::{GuardContext, Severity},
    tool_listing,
};
use crate::{
    journal::{
        event::{ApprovalPurpose, Call, Event, Outcome, Seq, ToolResult},
        ids::CallId,
        session::delegation::Task,
        session::messages::SentFile,
        session::{CallState, OpenCall, Session},
    },
    texts,
};

/// What the worker does next. The worker records the result as events.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Do nothing until an event arrives.
    Rest,
    /// Look again soon: a call waits for its tool, which is being loaded.
    AwaitTools,
    /// Fetch files that came with messages.
    Fetch(Vec<SentFile>),
    /// Ask the model.
    Think,
    /// Summarise everything up to this event.
    Compact { upto: Seq },
    /// Run these calls concurrently.
    Run(Vec<Cleared>),
    /// Start sub-agents for these calls.
    Delegate(Vec<DelegatingCall>),
    /// Request these approvals.
    Ask(Vec<ApprovalNeeded>),
    /// Record events that need no action: refusals, enabled tools, loaded skills.
    Settle(Vec<Event>),
    /// Remind the person that an approval is open.
    Remind,
    /// Send this to the person: the result of a tool whose results are answers.
    Answer(String),
    /// Fail the turn with this reason.
    Fail(String),
}

/// A cleared call with the tasks that it delegates.
#[derive(Debug, Clone, PartialEq)]
pub struct DelegatingCall {
    pub cleared: Cleared,
    pub tasks: Vec<Task>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ApprovalNeeded {
    pub call: Call,
    pub asks: ApprovalPurpose,
    /// Why an approval is required.
    pub reason: String,
    /// Whether the approval offers a permission for more than this call, if the tool supports it.
    pub grantable: bool,
    pub approvers: Approvers,
    pub severity: Severity,
}

/// `running` are the calls that this worker is running. Any other call that has started was
/// interrupted by a crash.
pub fn next(
    session: &Session,
    agent: &Agent,
    running: &BTreeSet<CallId>,
    context: &GuardContext,
) -> Effect {
    if let Some(reason) = limits::looping(session, context.language.words()) {
        return Effect::Fail(reason);
    }
    let plan = Plan::of(session, agent, running, context);
    if !plan.settle.is_empty() {
        return Effect::Settle(plan.settle);
    }
    if !plan.ask.is_empty() {
        return Effect::Ask(plan.ask);
    }
    if !plan.run.is_empty() {
        return Effect::Run(plan.run);
    }
    if !plan.delegate.is_empty() {
        return Effect::Delegate(plan.delegate);
    }
    if session.open_calls().next().is_some() {
        return match while_waiting(session, context) {
            Effect::Rest if plan.awaits_tools => Effect::AwaitTools,
            effect => effect,
        };
    }
    if !session.awaits_model() && !session.has_unread_results() {
        return Effect::Rest;
    }
    if let Some(text) = answer(session, agent) {
        return Effect::Answer(text);
    }
    if let Some(reason) = limits::exhausted(session, &agent.budget, context) {
        return Effect::Fail(reason);
    }
    let files: Vec<_> = session.waiting_files().cloned().collect();
    if !files.is_empty() {
        return Effect::Fetch(files);
    }
    match compact::due(session, &agent.budget) {
        Some(upto) => Effect::Compact { upto },
        None => Effect::Think,
    }
}

/// The result of a tool whose results are answers, unless messages have arrived since.
fn answer(session: &Session, agent: &Agent) -> Option<String> {
    let answers = |call: &Call| match agent.catalog.find(&call.tool) {
        ResolvedTool::Tool(spec) if spec.result_as_answer => session.done.contains(&call.id),
        _ => session.answers.contains(&call.id),
    };
    let text = session.result_of(answers).filter(|_| !session.awaits_model())?;
    Some(text.to_owned())
}

/// An earlier call whose result can be reused. Calls with side effects always run.
fn done_before(session: &Session, spec: &ToolSpec, call: &Call) -> Option<CallId> {
    let keeps = spec.cache && spec.effect == EffectClass::ReadOnly;
    session.done_before(call).filter(|_| keeps).cloned()
}

/// A message is never treated as a decision. It waits, and the person is reminded once.
fn while_waiting(session: &Session, context: &GuardContext) -> Effect {
    let asked_here = session.open_calls().any(|c| matches!(c.state, CallState::Asked { .. }));
    let asked = asked_here || context.asked_below;
    if asked && session.awaits_model() && session.said_upto > session.reminded_upto {
        return Effect::Remind;
    }
    Effect::Rest
}

/// The verdicts on the open calls, by kind.
#[derive(Default)]
struct Plan {
    settle: Vec<Event>,
    ask: Vec<ApprovalNeeded>,
    run: Vec<Cleared>,
    delegate: Vec<DelegatingCall>,
    /// Whether a call waits for its tool.
    awaits_tools: bool,
}

/// The context in which calls are judged.
#[derive(Clone, Copy)]
struct JudgeContext<'a> {
    session: &'a Session,
    agent: &'a Agent,
    context: &'a GuardContext,
}

impl Plan {
    fn of(
        session: &Session,
        agent: &Agent,
        running: &BTreeSet<CallId>,
        context: &GuardContext,
    ) -> Self {
        let around = JudgeContext { session, agent, context };
        let mut plan = Self::default();
        for open in session.open_calls().filter(|c| !running.contains(&c.call.id)) {
            match agent.catalog.find(&open.call.tool) {
                ResolvedTool::Enable => {
                    if plan.is_cleared(open, &disclosure::enable_tool(), around) {
                        plan.settle.extend(enable(&open.call, agent));
                    }
                }
                ResolvedTool::Find => {
                    if plan.is_cleared(open, &disclosure::find_tool(), around) {
                        plan.settle.extend(find(&open.call, session, agent));
                    }
                }
                ResolvedTool::LoadSkill => {
                    if plan.is_cleared(open, &disclosure::load_skill(), around) {
                        plan.settle.extend(load_skill(&open.call, session, agent));
                    }
                }
                ResolvedTool::Nothing { near } => {
                    let text = texts::no_such_tool(&open.call.tool, &near);
                    // The model can make a new call again.
                    let waits = open.state != CallState::New && context.is_loading(&open.call.tool);
                    match missing(open, text) {
                        Some(_) if waits => plan.awaits_tools = true,
                        end => plan.settle.extend(end),
                    }
                }
                ResolvedTool::Unavailable { why } => {
                    let text = texts::tool_unavailable(&open.call.tool, why);
                    plan.settle.extend(missing(open, text));
                }
                ResolvedTool::Tool(spec) => plan.judge(open, spec, around),
            }
        }
        plan
    }

    fn judge(
        &mut self,
        open: &OpenCall,
        spec: &ToolSpec,
        JudgeContext { session, agent, context }: JudgeContext<'_>,
    ) {
        let call = &open.call;
        if open.state == CallState::New {
            if let Err(problem) = agent.catalog.check(spec, &call.arguments) {
                return self.settle.push(rejected(call, format!("Invalid parameters: {problem}")));
            }
            if let Some(text) = limits::usage_exhausted(session, spec, call) {
                return self.settle.push(ended(call, Outcome::Denied, text));
            }
        }
        let verdict = guard::judge(open, spec, session, &agent.policy, context);
        let hidden = spec.tier == Tier::Extension && !session.enabled.contains(&spec.name);
        if hidden && open.state == CallState::New && !matches!(verdict, Verdict::Refuse(_)) {
            return self.settle.push(Event::ToolsEnabled { names: vec![spec.name.clone()] });
        }
        match verdict {
            Verdict::Run(_) if let Some(from) = done_before(session, spec, call) => {
                self.settle.push(Event::ResultReused { call: call.id.clone(), from });
            }
            Verdict::Run(cleared) => {
                match delegation::delegated(call, &agent.catalog.coworkers, context.depth) {
                    None => self.run.push(*cleared),
                    Some(DelegationCall::Tasks(tasks)) => {
                        self.delegate.push(DelegatingCall { cleared: *cleared, tasks });
                    }
                    Some(DelegationCall::Reply(text)) => {
                        self.settle.push(ended(call, Outcome::Done, text));
                    }
                    Some(DelegationCall::Refused(text)) => self.settle.push(rejected(call, text)),
                }
            }
            other => self.hold(call, other),
        }
    }

    /// Whether a call that is handled here, and not by a tool, may take effect.
    fn is_cleared(
        &mut self,
        open: &OpenCall,
        spec: &ToolSpec,
        JudgeContext { session, agent, context }: JudgeContext<'_>,
    ) -> bool {
        match guard::judge(open, spec, session, &agent.policy, context) {
            Verdict::Run(_) => true,
            other => {
                self.hold(&open.call, other);
                false
            }
        }
    }

    /// Handles a call that does not run now.
    fn hold(&mut self, call: &Call, verdict: Verdict) {
        match verdict {
            Verdict::Ask { asks, reason, grantable, approvers, severity } => {
                let call = call.clone();
                self.ask.push(ApprovalNeeded {
                    call,
                    asks,
                    reason,
                    grantable,
                    approvers,
                    severity,
                });
            }
            Verdict::Run(_) | Verdict::Wait => {}
            Verdict::Refuse(text) => self.settle.push(ended(call, Outcome::Denied, text)),
        }
    }
}

/// A tool may be temporarily unavailable because its server is down. Calls that wait for a person
/// keep waiting, and calls that had started are not reported as failed.
fn missing(open: &OpenCall, why: String) -> Option<Event> {
    let text = match open.state {
        CallState::Asked { .. } | CallState::Delegated | CallState::Ended => return None,
        CallState::New => why,
        CallState::Started | CallState::Decided { asks: ApprovalPurpose::Retry, .. } => {
            texts::OUTCOME_UNKNOWN.to_owned()
        }
        CallState::Decided { .. } => texts::tool_gone(&open.call.tool),
    };
    Some(failed(&open.call, text))
}

/// All or nothing: if one name cannot be enabled, the call only returns an error text.
fn enable(call: &Call, agent: &Agent) -> Vec<Event> {
    match agent.catalog.enabling(&call.arguments) {
        Ok(names) => {
            let text = texts::tools_enabled(&names);
            vec![Event::ToolsEnabled { names }, ended(call, Outcome::Done, text)]
        }
        Err(problem) => vec![rejected(call, problem)],
    }
}

/// Found tools can be enabled by name. If requested, the best match is enabled immediately.
fn find(call: &Call, session: &Session, agent: &Agent) -> Vec<Event> {
    let found = match agent.catalog.finding(&call.arguments) {
        Ok(found) => found,
        Err(problem) => return vec![rejected(call, problem)],
    };
    let all = agent.catalog.extensions().count();
    let text = tool_listing::search_result(all, &found, &session.enabled);
    match found.first().filter(|_| disclosure::enables(&call.arguments)) {
        Some(best) => {
            let names = vec![best.name.clone()];
            let text = format!("{}\n{text}", texts::tools_enabled(&names));
            vec![Event::ToolsEnabled { names }, ended(call, Outcome::Done, text)]
        }
        None => vec![ended(call, Outcome::Done, text)],
    }
}

/// An untrusted skill taints the conversation, like any untrusted content.
fn load_skill(call: &Call, session: &Session, agent: &Agent) -> Vec<Event> {
    let (skill, text) = match agent.catalog.loading(&call.arguments) {
        Ok(found) => found,
        Err(problem) => return vec![rejected(call, problem)],
    };
    let source = format!("{} {}", call.tool, skill.name);
    let taints = skill.untrusted && !session.taint.contains(&source);
    let taint = taints.then_some(Event::Tainted { source });
    taint.into_iter().chain([ended(call, Outcome::Done, text)]).collect()
}

fn failed(call: &Call, text: String) -> Event {
    ended(call, Outcome::Failed, text)
}

/// The failure of a call whose arguments cannot be used.
fn rejected(call: &Call, text: String) -> Event {
    let result = ToolResult { rejected: true, ..ToolResult::text(Outcome::Failed, text) };
    Event::ToolFinished { call: call.id.clone(), result }
}

fn ended(call: &Call, outcome: Outcome, text: String) -> Event {
    let result = ToolResult::text(outcome, text);
    Event::ToolFinished { call: call.id.clone(), result }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        agent::{
            catalog::{Catalog, Skill, ToolSpec},
            limits::Budget,
            policy::{Action, Origin, Policy, Rule},
            prompt::{self, Prompt},
            rules::{RuleEntry, compile},
        },
        journal::{
            event::{Decider, Decision, Entry, Speaker, Usage},
            ids::ApprovalId,
        },
    };
    use chrono::DateTime;
    use proptest::prelude::*;
    use serde_json::json;

    /// An agent with this number of extension tools.
    fn agent_with(extensions: usize) -> Agent {
        let tool = |name: &str, tier| {
            let parameters = json!({ "type": "object", "properties": {} });
            ToolSpec { tier, ..ToolSpec::read_only(name, "Does it", parameters) }
        };
        let mut specs = vec![
            tool("core", Tier::Core),
            tool("rare", Tier::Extension),
            tool("seldom", Tier::Extension),
        ];
        specs.extend((2..extensions).map(|n| tool(&format!("other{n}"), Tier::Extension)));
        let main = ("SKILL.md".to_owned(), "Begin with Dear.".to_owned());
        let skill = Skill {
            name: "letters".into(),
            description: "How we write letters".into(),
            files: [main].into(),
            untrusted: false,
        };
        Agent {
            id: "default".into(),
            model: "main".into(),
            system_prompt: "Be kind.".into(),
            catalog: Catalog::new(specs, vec![skill]).unwrap(),
            policy: Policy::default(),
            budget: Budget { steps: 5, ..Budget::default() },
        }
    }

    /// A journal that is written like the worker does: each effect is recorded as done.
    struct Run {
        agent: Agent,
        journal: Vec<Entry>,
        session: Session,
        prompts: Vec<Prompt>,
    }

    impl Run {
        fn new() -> Self {
            Self::with(agent_with(2))
        }

        fn with(agent: Agent) -> Self {
            Self { agent, journal: vec![], session: Session::default(), prompts: vec![] }
        }

        fn record(&mut self, event: Event) {
            let seq = self.session.seq + 1;
            let entry = Entry { seq, at: DateTime::UNIX_EPOCH, event };
            self.session.apply(&entry);
            self.journal.push(entry);
        }

        /// Simulates another process that reads the journal.
        fn restarts(&mut self) {
            let stored = serde_json::to_string(&self.journal).unwrap();
            self.journal = serde_json::from_str(&stored).unwrap();
            self.session = Session::fold(&self.journal);
        }

        fn compacts(&mut self) {
            if let Some(upto) = compact::cut(&self.session) {
                let (summary, usage) = (format!("all up to {upto}"), Usage::default());
                self.record(Event::Compacted { upto, summary, usage });
            }
        }

        fn says(&mut self, text: &str) {
            let by = Speaker { id: "1".into(), name: "Ann".into() };
            self.record(Event::Said { by, text: text.into(), message: "m".into() });
        }

        /// Carries out effects until there is nothing to do. The model makes `calls`, one per step.
        fn goes(&mut self, calls: &mut Vec<&str>) -> Effect {
            for _ in 0..100 {
                match next(&self.session, &self.agent, &BTreeSet::new(), &GuardContext::default()) {
                    Effect::Think => {
                        self.prompts.push(prompt::build(&self.session, &self.agent, false));
                        let calls = calls.pop().map(|name| self.call(name)).into_iter().collect();
                        let (upto, usage) = (self.session.seq, Usage::default());
                        self.record(Event::Replied { text: "t".into(), calls, upto, usage });
                    }
                    Effect::Run(cleared) => {
                        for call in cleared {
                            let text = format!("done at {}", self.session.seq);
                            self.record(ended(call.call(), Outcome::Done, text));
                        }
                    }
                    Effect::Settle(events) => events.into_iter().for_each(|e| self.record(e)),
                    other => return other,
                }
            }
            panic!("it never rests");
        }

        fn call(&self, name: &str) -> Call {
            let id = format!("{name}{}", self.session.seq);
            let (name, arguments) = match name.split_once(' ') {
                Some(("enable", tool)) => ("enable_tool", json!({ "names": [tool] })),
                Some(("find", query)) => ("find_tool", json!({ "query": query, "enable": true })),
                Some(("load", skill)) => ("load_skill", json!({ "name": skill })),
                _ => (name, json!({})),
            };
            Call { id: id.as_str().into(), model_id: id, tool: name.into(), arguments }
        }
    }

    #[test]
    fn a_turn_ends_when_a_reply_makes_no_calls() {
        let mut run = Run::new();
        assert_eq!(run.goes(&mut vec![]), Effect::Rest);
        run.says("hello");
        assert_eq!(run.goes(&mut vec!["core"]), Effect::Rest);
        assert_eq!(run.prompts.len(), 2);
    }

    #[test]
    fn a_turn_stops_at_the_step_limit() {
        let mut run = Run::new();
        run.says("hello");
        let given_up = run.goes(&mut vec!["core"; 20]);
        assert!(matches!(given_up, Effect::Fail(reason) if reason.contains("5 steps")));
    }

    /// Calls that are handled here pass the guard like any other. Without a rule they need no
    /// approval.
    /// Proves MC-01, MC-42.
    #[test]
    fn rules_apply_to_enabling_finding_and_loading() {
        let rule = |action: Action, keys: serde_json::Value| {
            let mut entry = RuleEntry::of("*_*", action);
            entry.fields = serde_json::from_value(keys).unwrap();
            compile(&[entry], Origin::Configuration).unwrap()
        };
        for (call, keys, other) in [
            ("enable rare", json!({ "names": "rare" }), json!({ "names": "seldom" })),
            ("find does", json!({ "query": "does" }), json!({ "query": "^x" })),
            ("load letters", json!({ "name": "letters" }), json!({ "name": "x" })),
        ] {
            let outcome = |rules: Vec<Rule>| {
                let mut agent = agent_with(2);
                agent.policy.rules = rules;
                let mut run = Run::with(agent);
                run.says("hello");
                let effect = run.goes(&mut vec![call]);
                let ends = run.journal.iter().filter_map(|entry| match &entry.event {
                    Event::ToolFinished { result, .. } => Some(result.outcome),
                    _ => None,
                });
                (effect, ends.collect::<Vec<_>>(), run.session.enabled.len())
            };
            let enables = usize::from(!call.starts_with("load"));
            let done = (Effect::Rest, vec![Outcome::Done], enables);
            assert_eq!(outcome(vec![]), done, "{call} asks nobody");
            assert_eq!(outcome(rule(Action::Deny, other)), done, "{call}");
            let denied = (Effect::Rest, vec![Outcome::Denied], 0);
            assert_eq!(outcome(rule(Action::Deny, keys.clone())), denied, "{call}");
            let (effect, ends, enabled) = outcome(rule(Action::Ask, keys));
            assert!(matches!(effect, Effect::Ask(_)), "{call}: {effect:?}");
            assert!(ends.is_empty() && enabled == 0, "{call} waits");
        }
    }

    #[test]
    fn a_running_call_is_left_alone() {
        let mut run = Run::new();
        run.says("hello");
        let call = run.call("core");
        let (upto, usage) = (run.session.seq, Usage::default());
        run.record(Event::Replied { text: String::new(), calls: vec![call.clone()], upto, usage });
        let running = BTreeSet::from([call.id]);
        assert_eq!(
            next(&run.session, &run.agent, &running, &GuardContext::default()),
            Effect::Rest
        );
    }

    /// A call that was allowed or interrupted before a restart waits while tools are loaded. A new
    /// one ends.
    #[test]
    fn a_call_waits_for_a_tool_that_is_being_loaded() {
        let mut run = Run::new();
        run.says("go");
        let call = run.call("m_echo");
        let (id, upto, usage) = (call.id.clone(), run.session.seq, Usage::default());
        run.record(Event::Replied { text: String::new(), calls: vec![call], upto, usage });
        let effect = |run: &Run, loading: &[&str]| {
            let loading = loading.iter().map(|&beginning| beginning.to_owned()).collect();
            let context = GuardContext { loading, ..GuardContext::default() };
            next(&run.session, &run.agent, &BTreeSet::new(), &context)
        };
        assert!(matches!(effect(&run, &["m_"]), Effect::Settle(_)));
        run.record(Event::ToolStarted { call: id });
        assert_eq!(effect(&run, &["n_", "m_"]), Effect::AwaitTools);
        assert!(matches!(effect(&run, &["n_"]), Effect::Settle(_)));
        assert!(matches!(effect(&run, &[]), Effect::Settle(_)));
    }

    /// What happens between two messages.
    #[derive(Debug, Clone, Copy)]
    enum Between {
        Nothing,
        Restart,
        Compaction,
    }

    proptest! {
        /// Request n+1 has request n as its prefix, except for enabled tools, which are appended
        /// and kept. Only a compaction starts a new prefix, after the loaded skills.
        /// Proves T1, MC-11, MC-12, MC-15.
        #[test]
        fn a_request_begins_with_the_one_before(
            turns in proptest::collection::vec(
                (
                    proptest::collection::vec(
                        prop_oneof![
                            Just("core"), Just("rare"), Just("seldom"), Just("enable rare"),
                            Just("enable nothing"), Just("unknown"), Just("find seldom"),
                            Just("find other3"), Just("find"), Just("load letters"),
                        ],
                        0..4,
                    ),
                    prop_oneof![
                        Just(Between::Nothing), Just(Between::Restart), Just(Between::Compaction),
                    ],
                ),
                1..6,
            ),
            large in any::<bool>(),
        ) {
            let mut run = Run::with(agent_with(if large { 70 } else { 2 }));
            let (mut restarted, mut loaded) = (BTreeSet::new(), false);
            for (mut calls, between) in turns {
                let loads = calls.contains(&"load letters");
                run.says("hello");
                prop_assert_eq!(run.goes(&mut calls), Effect::Rest);
                loaded |= loads;
                match between {
                    Between::Nothing => {}
                    Between::Restart => run.restarts(),
                    Between::Compaction => {
                        run.compacts();
                        restarted.insert(run.prompts.len());
                    }
                }
            }
            for (n, (earlier, later)) in run.prompts.iter().zip(&run.prompts[1..]).enumerate() {
                prop_assert_eq!(&earlier.system, &later.system);
                prop_assert!(later.tools.starts_with(&earlier.tools));
                let again = later.messages.starts_with(&earlier.messages);
                prop_assert!(again || restarted.contains(&(n + 1)));
            }
            let last = prompt::build(&run.session, &run.agent, false);
            let knows = format!("{:?}", last.messages).contains("Begin with Dear.");
            prop_assert_eq!(knows, loaded);
        }
    }

    /// Only existing tools get into the prompt, and a failed call adds nothing.
    /// Proves MC-12, T2.
    #[test]
    fn a_failed_enable_or_search_leaves_no_trace() {
        for call in ["enable nothing", "find", "find zebras", "nothing"] {
            let mut run = Run::new();
            run.says("go");
            run.goes(&mut vec![call]);
            assert!(run.session.enabled.is_empty(), "{call}");
            assert_eq!(run.prompts[0].tools, run.prompts[1].tools, "{call}");
        }
    }

    /// An allowed call runs even if its tool is no longer listed.
    /// Proves T3.
    #[test]
    fn an_allowed_call_runs_if_its_tool_is_no_longer_listed() {
        let mut run = Run::new();
        run.says("go");
        let call = run.call("rare");
        let (upto, usage) = (run.session.seq, Usage::default());
        let (calls, id) = (vec![call.clone()], call.id.clone());
        run.record(Event::Replied { text: String::new(), calls, upto, usage });
        let digest = guard::digest_of(&call, &GuardContext::default());
        let (approval, asks) = (ApprovalId::from("a"), ApprovalPurpose::Allow);
        run.record(Event::ApprovalRequested {
            approval: approval.clone(),
            call: id.clone(),
            digest,
            asks,
        });
        let (decision, by) = (Decision::Once, Decider::Timeout);
        run.record(Event::ApprovalDecided { approval, call: id, decision, by });
        assert!(run.session.enabled.is_empty());
        let effect = next(&run.session, &run.agent, &BTreeSet::new(), &GuardContext::default());
        let Effect::Run(cleared) = effect else { panic!("{effect:?}") };
        assert_eq!(cleared[0].call(), &call);
    }
}
