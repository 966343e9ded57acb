//! The next thing to do: a pure function of the session, the agent and the time.
//!
//! A turn goes round: think → judge each call → run, ask or refuse → think … until a reply makes
//! no calls. Nothing here waits: where a person has to decide, the answer is [`Effect::Rest`], and
//! the decision is an event that asks this function again.

use std::collections::BTreeSet;

use super::{
    Agent,
    approvers::Approvers,
    catalog::{Found, Tier, ToolSpec},
    compact,
    guard::{self, Cleared, Verdict},
    limits,
    policy::{Scene, Severity},
};
use crate::{
    journal::{
        event::{Asks, Call, Event, Outcome, Seq, ToolResult},
        ids::CallId,
        said::SentFile,
        session::{CallState, OpenCall, Session},
    },
    texts,
};

/// Imperative: what the worker does next, recording what came of it.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Nothing, until something happens.
    Rest,
    /// Fetch what came with the messages.
    Fetch(Vec<SentFile>),
    /// Ask the model.
    Think,
    /// Summarise what stands up to this event.
    Compact { upto: Seq },
    /// Run these side by side.
    Run(Vec<Cleared>),
    /// Put these questions to the people of the place.
    Ask(Vec<Question>),
    /// Record what needs no doing: refusals, enabled tools, loaded skills.
    Settle(Vec<Event>),
    /// Tell the person that a question is open.
    Remind,
    /// Give the turn up, and say why.
    Fail(String),
}

#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    pub call: Call,
    pub asks: Asks,
    /// Why a person is asked.
    pub reason: String,
    /// Whether leave for more than this call is offered, where its tool lets it.
    pub lasting: bool,
    pub approvers: Approvers,
    pub severity: Severity,
}

/// `running` are the calls that this worker runs right now; a started call that is not among them
/// was left behind by a crash.
pub fn next(session: &Session, agent: &Agent, running: &BTreeSet<CallId>, scene: &Scene) -> Effect {
    if let Some(reason) = limits::circling(session, scene.language.words()) {
        return Effect::Fail(reason);
    }
    let plan = Plan::of(session, agent, running, scene);
    if !plan.settle.is_empty() {
        return Effect::Settle(plan.settle);
    }
    if !plan.ask.is_empty() {
        return Effect::Ask(plan.ask);
    }
    if !plan.run.is_empty() {
        return Effect::Run(plan.run);
    }
    if session.open_calls().next().is_some() {
        return while_waiting(session);
    }
    if !session.awaits_model() && !session.has_unread_results() {
        return Effect::Rest;
    }
    if let Some(reason) = limits::exhausted(session, &agent.budget, scene) {
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

/// A message is never taken for a decision: it waits, and the person is told once what for.
fn while_waiting(session: &Session) -> Effect {
    let asked = session.open_calls().any(|c| matches!(c.state, CallState::Asked { .. }));
    if asked && session.awaits_model() && session.said_upto > session.reminded_upto {
        return Effect::Remind;
    }
    Effect::Rest
}

/// What is to become of the open calls, sorted.
#[derive(Default)]
struct Plan {
    settle: Vec<Event>,
    ask: Vec<Question>,
    run: Vec<Cleared>,
}

impl Plan {
    fn of(session: &Session, agent: &Agent, running: &BTreeSet<CallId>, scene: &Scene) -> Self {
        let mut plan = Self::default();
        for open in session.open_calls().filter(|c| !running.contains(&c.call.id)) {
            match agent.catalog.find(&open.call.tool) {
                Found::Enable => plan.settle.extend(enable(&open.call, agent)),
                Found::LoadSkill => plan.settle.push(load_skill(&open.call, agent)),
                Found::Nothing { near } => plan.settle.extend(missing(open, &near)),
                Found::Tool(spec) => plan.judge((open, spec), session, agent, scene),
            }
        }
        plan
    }

    fn judge(
        &mut self,
        (open, spec): (&OpenCall, &ToolSpec),
        session: &Session,
        agent: &Agent,
        scene: &Scene,
    ) {
        let call = &open.call;
        if open.state == CallState::New {
            if let Err(problem) = agent.catalog.check(spec, &call.arguments) {
                return self.settle.push(failed(call, format!("Invalid parameters: {problem}")));
            }
            if spec.tier == Tier::Extension && !session.enabled.contains(&spec.name) {
                return self.settle.push(Event::ToolsEnabled { names: vec![spec.name.clone()] });
            }
            if let Some(text) = limits::worn_out(session, spec, call) {
                return self.settle.push(ended(call, Outcome::Denied, text));
            }
        }
        match guard::judge(open, spec, session, &agent.policy, scene) {
            Verdict::Run(cleared) => self.run.push(cleared),
            Verdict::Ask { asks, reason, lasting, approvers, severity } => {
                let call = call.clone();
                self.ask.push(Question { call, asks, reason, lasting, approvers, severity });
            }
            Verdict::Wait => {}
            Verdict::Refuse(text) => self.settle.push(ended(call, Outcome::Denied, text)),
        }
    }
}

/// A tool may be gone for a while (its server is down). What waits for a person goes on waiting;
/// what had begun is not said to have failed.
fn missing(open: &OpenCall, near: &[String]) -> Option<Event> {
    let text = match open.state {
        CallState::Asked { .. } | CallState::Ended => return None,
        CallState::New => texts::no_such_tool(&open.call.tool, near),
        CallState::Started | CallState::Decided { asks: Asks::Retry, .. } => {
            texts::OUTCOME_UNKNOWN.to_owned()
        }
        CallState::Decided { .. } => texts::tool_gone(&open.call.tool),
    };
    Some(failed(&open.call, text))
}

/// Enabling all or nothing: a failed call leaves no trace but its message.
fn enable(call: &Call, agent: &Agent) -> Vec<Event> {
    match agent.catalog.enabling(&call.arguments) {
        Ok(names) => {
            let text = texts::tools_enabled(&names);
            vec![Event::ToolsEnabled { names }, ended(call, Outcome::Done, text)]
        }
        Err(problem) => vec![failed(call, problem)],
    }
}

fn load_skill(call: &Call, agent: &Agent) -> Event {
    match agent.catalog.skill_text(&call.arguments) {
        Ok(text) => ended(call, Outcome::Done, text),
        Err(problem) => failed(call, problem),
    }
}

fn failed(call: &Call, text: String) -> Event {
    ended(call, Outcome::Failed, text)
}

fn ended(call: &Call, outcome: Outcome, text: String) -> Event {
    let result = ToolResult { outcome, text, attachments: vec![], seen: vec![], took_ms: 0 };
    Event::ToolFinished { call: call.id.clone(), result }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        agent::{
            catalog::{Catalog, ToolSpec},
            limits::Budget,
            policy::Policy,
            prompt::{self, Prompt},
        },
        journal::{
            event::{Decider, Decision, Entry, Speaker, Usage},
            ids::ApprovalId,
        },
    };
    use chrono::DateTime;
    use proptest::prelude::*;
    use serde_json::json;

    fn agent() -> Agent {
        let tool = |name: &str, tier| {
            let parameters = json!({ "type": "object", "properties": {} });
            ToolSpec { tier, ..ToolSpec::read_only(name, "Does it", parameters) }
        };
        let specs = vec![
            tool("core", Tier::Core),
            tool("rare", Tier::Extension),
            tool("seldom", Tier::Extension),
        ];
        Agent {
            id: "default".into(),
            model: "main".into(),
            system_prompt: "Be kind.".into(),
            catalog: Catalog::new(specs, vec![]).unwrap(),
            policy: Policy::default(),
            budget: Budget { steps: 5, ..Budget::default() },
        }
    }

    /// A journal that the loop itself writes: what `next` asks for is recorded as done.
    struct Run {
        agent: Agent,
        session: Session,
        prompts: Vec<Prompt>,
    }

    impl Run {
        fn new() -> Self {
            Self { agent: agent(), session: Session::default(), prompts: vec![] }
        }

        fn record(&mut self, event: Event) {
            let seq = self.session.seq + 1;
            self.session.apply(&Entry { seq, at: DateTime::UNIX_EPOCH, event });
        }

        fn says(&mut self, text: &str) {
            let by = Speaker { id: "1".into(), name: "Ann".into() };
            self.record(Event::Said { by, text: text.into(), message: "m".into() });
        }

        /// Does the effects until there is nothing to do; the model calls these, one a step.
        fn goes(&mut self, calls: &mut Vec<&str>) -> Effect {
            for _ in 0..100 {
                match next(&self.session, &self.agent, &BTreeSet::new(), &Scene::default()) {
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
            let (name, arguments) = match name.strip_prefix("enable ") {
                Some(tool) => ("enable_tool", json!({ "names": [tool] })),
                None => (name, json!({})),
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
    fn a_turn_that_goes_on_and_on_is_given_up() {
        let mut run = Run::new();
        run.says("hello");
        let given_up = run.goes(&mut vec!["core"; 20]);
        assert!(matches!(given_up, Effect::Fail(reason) if reason.contains("5 steps")));
    }

    #[test]
    fn a_running_call_is_left_alone() {
        let mut run = Run::new();
        run.says("hello");
        let call = run.call("core");
        let (upto, usage) = (run.session.seq, Usage::default());
        run.record(Event::Replied { text: String::new(), calls: vec![call.clone()], upto, usage });
        let running = BTreeSet::from([call.id]);
        assert_eq!(next(&run.session, &run.agent, &running, &Scene::default()), Effect::Rest);
    }

    proptest! {
        /// T1: request n+1 has request n as its prefix, but for tools that were enabled, which are
        /// appended.
        #[test]
        fn a_request_begins_with_the_one_before(
            turns in proptest::collection::vec(
                proptest::collection::vec(
                    prop_oneof![
                        Just("core"), Just("rare"), Just("seldom"), Just("enable rare"),
                        Just("enable nothing"), Just("unknown"),
                    ],
                    0..4,
                ),
                1..5,
            ),
        ) {
            let mut run = Run::new();
            for mut calls in turns {
                run.says("hello");
                prop_assert_eq!(run.goes(&mut calls), Effect::Rest);
            }
            for (earlier, later) in run.prompts.iter().zip(&run.prompts[1..]) {
                prop_assert_eq!(&earlier.system, &later.system);
                prop_assert!(later.tools.starts_with(&earlier.tools));
                prop_assert!(later.messages.starts_with(&earlier.messages));
            }
        }
    }

    /// T3: what was allowed runs although its tool has gone out of sight since.
    #[test]
    fn what_was_allowed_runs_although_its_tool_is_out_of_sight() {
        let mut run = Run::new();
        run.says("go");
        let call = run.call("rare");
        let (upto, usage) = (run.session.seq, Usage::default());
        let (calls, id) = (vec![call.clone()], call.id.clone());
        run.record(Event::Replied { text: String::new(), calls, upto, usage });
        let digest = guard::digest_of(&call, &Scene::default());
        let (approval, asks) = (ApprovalId::from("a"), Asks::Allow);
        run.record(Event::ApprovalAsked {
            approval: approval.clone(),
            call: id.clone(),
            digest,
            asks,
        });
        let (decision, by) = (Decision::Once, Decider::Timeout);
        run.record(Event::ApprovalDecided { approval, call: id, decision, by });
        assert!(run.session.enabled.is_empty());
        let effect = next(&run.session, &run.agent, &BTreeSet::new(), &Scene::default());
        let Effect::Run(cleared) = effect else { panic!("{effect:?}") };
        assert_eq!(cleared[0].call(), &call);
    }
}
