//! A conversation as shown to operators: turn by turn, with messages, model replies, approvals and
//! calls, how long each took, who or what allowed it, and its cost. Pure.

use chrono::{DateTime, Utc};
use serde_json::Value;
use std::collections::BTreeMap;

use super::timeline_step::{TimelineKind, TimelineStep, Total, plain, step};
use crate::{
    admin::api::{
        audit::FactView,
        conversations::{EventView, ShownView},
    },
    agent::limits::Price,
    journal::event::{ApprovalPurpose, Call, Decider, Decision, Event, Outcome, ToolResult, Usage},
    store::{audit::AuditKind, outbox::sending::MessageStatus},
    texts::{Language, TimelineTexts, console, filled},
};

/// The input of a timeline.
pub struct TimelineInput<'a> {
    pub events: &'a [EventView],
    pub shown: &'a [ShownView],
    pub facts: &'a [FactView],
    /// The default model, and the prices of all models.
    pub model: String,
    pub prices: &'a BTreeMap<String, Price>,
    pub language: Language,
}

/// The steps in order, with a heading before each turn.
pub fn steps(happened: &TimelineInput<'_>) -> Vec<TimelineStep> {
    let language = happened.language;
    let texts = TimelineTexts::of(language);
    let mut builder =
        TimelineBuilder { model: happened.model.clone(), language, ..TimelineBuilder::default() };
    for fact in happened.facts.iter().rev() {
        let (call, by) = (fact.body.get("call"), fact.body.get("rule"));
        if let (Some(Value::String(call)), Some(by)) = (call, by) {
            let facts = if fact.kind == AuditKind::Asked.as_str() {
                &mut builder.why
            } else {
                &mut builder.allowed_by
            };
            facts.insert(call.clone(), authority(by, texts));
        }
    }
    for view in happened.events {
        let Ok(event) = serde_json::from_value::<Event>(view.event.clone()) else { continue };
        builder.happened(view, event, happened.prices);
        let sent = happened.shown.iter().filter(|shown| shown.event == view.number);
        builder.steps.extend(sent.filter_map(|shown| sent_step(shown, language)));
    }
    builder.steps
}

#[derive(Default)]
struct TimelineBuilder {
    language: Language,
    model: String,
    /// By call: its tool, why an approval was required, who or what allowed or denied it.
    tools: BTreeMap<String, String>,
    why: BTreeMap<String, String>,
    allowed_by: BTreeMap<String, String>,
    /// By approval: when it was requested.
    asked: BTreeMap<String, DateTime<Utc>>,
    before: Option<DateTime<Utc>>,
    /// The heading of the current turn.
    turn: Option<usize>,
    steps: Vec<TimelineStep>,
}

/// A reply of a model, as it was recorded.
struct ModelReply {
    text: String,
    calls: Vec<Call>,
    usage: Usage,
}

impl TimelineBuilder {
    fn happened(&mut self, view: &EventView, event: Event, prices: &BTreeMap<String, Price>) {
        let opened = self.steps.last().is_some_and(|step| step.kind == TimelineKind::Said);
        let mut step = self.describe(view.at, event, prices);
        (step.key, step.at) = (format!("e{}", view.number), view.at);
        if step.kind == TimelineKind::Said && !opened {
            self.turn = Some(self.steps.len());
            self.steps.push(TimelineStep {
                key: format!("t{}", view.number),
                at: view.at,
                kind: TimelineKind::Turn,
                title: step.title.clone(),
                total: Some(Total::default()),
                ..TimelineStep::default()
            });
        }
        let began = self.turn.map(|turn| self.steps[turn].at);
        if let (Some(total), Some(began)) = (self.total(), began) {
            total.took_ms = (view.at - began).num_milliseconds();
        }
        self.steps.push(step);
        self.before = Some(view.at);
    }

    fn total(&mut self) -> Option<&mut Total> {
        self.turn.and_then(|turn| self.steps[turn].total.as_mut())
    }

    fn texts(&self) -> &'static TimelineTexts {
        TimelineTexts::of(self.language)
    }

    /// A title with the tool of a call.
    fn about(&self, call: &str, template: &str) -> String {
        let tool = self.tools.get(call).map_or(self.texts().a_tool, String::as_str);
        filled(template, &[("tool", tool)])
    }

    fn describe(
        &mut self,
        at: DateTime<Utc>,
        event: Event,
        prices: &BTreeMap<String, Price>,
    ) -> TimelineStep {
        let texts = self.texts();
        let note = |title: String| step(TimelineKind::Note, title);
        match event {
            Event::Replied { text, calls, usage, .. } => {
                self.thought(at, ModelReply { text, calls, usage }, prices)
            }
            Event::Compacted { summary, usage, .. } => {
                let step = self.thought(
                    at,
                    ModelReply { text: summary, calls: Vec::new(), usage },
                    prices,
                );
                let title = filled(texts.summarised, &[("model", &step.title)]);
                TimelineStep { title, ..step }
            }
            Event::ToolStarted { call } => note(self.about(call.as_str(), texts.tool_began)),
            Event::ToolFinished { call, result } => self.ended(call.as_str(), result, prices),
            Event::Delegated { call, children } => {
                let children = children.into_iter().map(|child| child.0).collect();
                let title = self.about(call.as_str(), texts.tool_delegated);
                TimelineStep { children, ..note(title) }
            }
            Event::ResultReused { call, .. } => note(self.about(call.as_str(), texts.tool_reused)),
            Event::ApprovalRequested { approval, call, asks, .. } => {
                self.asked.insert(approval.0, at);
                let template = match asks {
                    ApprovalPurpose::Allow => texts.approval_requested,
                    ApprovalPurpose::Retry => texts.retry_requested,
                    ApprovalPurpose::Answer => texts.elicitation,
                };
                let title = self.about(call.as_str(), template);
                TimelineStep {
                    facts: guard(&self.why, call.as_str()),
                    ..step(TimelineKind::Asked, title)
                }
            }
            Event::ApprovalDecided { approval, call, decision, by } => {
                let waited = self.asked.get(&approval.0).map(|asked| at - *asked);
                let took_ms = waited.map(|waited| waited.num_milliseconds());
                let title = self.decided(call.as_str(), decision, by);
                TimelineStep { took_ms, ..step(TimelineKind::Asked, title) }
            }
            Event::ModelChosen { by, model } => {
                self.model.clone_from(&model);
                note(filled(texts.model_chosen, &[("person", &by.name), ("model", &model)]))
            }
            other => plain(other, texts),
        }
    }

    /// A model's reply, and its cost at the price of the model that was used.
    fn thought(
        &mut self,
        at: DateTime<Utc>,
        reply: ModelReply,
        prices: &BTreeMap<String, Price>,
    ) -> TimelineStep {
        let ModelReply { text, calls, usage } = reply;
        let cost = prices.get(&self.model).copied().unwrap_or_default().of(&usage);
        if let Some(total) = self.total() {
            total.requests += 1;
            total.calls += calls.len() as u32;
            total.input_tokens += usage.input_tokens;
            total.output_tokens += usage.output_tokens;
            total.cost_micros += cost;
        }
        for call in &calls {
            self.tools.insert(call.id.0.clone(), call.tool.clone());
        }
        let mut facts =
            vec![("in", usage.input_tokens.to_string()), ("out", usage.output_tokens.to_string())];
        if usage.cached_tokens > 0 {
            facts.push(("cached", usage.cached_tokens.to_string()));
        }
        if cost > 0 {
            facts.push(("cost", money(cost)));
        }
        let took_ms = self.before.map(|before| (at - before).num_milliseconds());
        TimelineStep {
            text,
            facts,
            calls,
            took_ms,
            ..step(TimelineKind::Model, self.model.clone())
        }
    }

    fn ended(
        &mut self,
        call: &str,
        result: ToolResult,
        prices: &BTreeMap<String, Price>,
    ) -> TimelineStep {
        let texts = self.texts();
        let (kind, template) = match result.outcome {
            Outcome::Done => (TimelineKind::Call, texts.done),
            Outcome::Failed => (TimelineKind::Bad, texts.failed),
            Outcome::Denied => (TimelineKind::Bad, texts.not_run),
            Outcome::Withdrawn => (TimelineKind::Bad, texts.withdrawn),
        };
        let mut facts = guard(&self.allowed_by, call);
        let files: Vec<_> = result.attachments.into_iter().map(|file| file.name).collect();
        if !files.is_empty() {
            facts.push(("files", files.join(", ")));
        }
        let mut cost = result.cost_micros.unwrap_or_default();
        for (model, usage) in &result.asked {
            cost += prices.get(model).copied().unwrap_or_default().of(usage);
            let tokens = usage.input_tokens.to_string();
            let values = [("model", model.as_str()), ("tokens", tokens.as_str())];
            facts.push(("asked", filled(texts.asked_model, &values)));
        }
        if cost > 0 {
            facts.push(("cost", money(cost)));
        }
        if let Some(total) = self.total() {
            total.cost_micros += cost;
        }
        let took_ms = (result.outcome == Outcome::Done).then_some(result.took_ms as i64);
        let title = self.about(call, template);
        TimelineStep { text: result.text, raw: result.raw, facts, took_ms, ..step(kind, title) }
    }

    fn decided(&self, call: &str, decision: Decision, by: Decider) -> String {
        let texts = self.texts();
        let by = match by {
            Decider::Person(person) => filled(texts.by_person, &[("person", &person.name)]),
            Decider::Timeout => texts.by_timeout.to_owned(),
            Decider::Undeliverable => texts.by_nobody.to_owned(),
        };
        let (template, said) = match decision {
            Decision::Once => (texts.allowed, String::new()),
            Decision::Conversation => (texts.allowed_here, String::new()),
            Decision::Deny { reason: Some(reason) } => (texts.denied_because, reason),
            Decision::Deny { reason: None } => (texts.denied, String::new()),
            Decision::Answer { text } => (texts.answered, text),
        };
        let tool = self.tools.get(call).map_or(texts.a_tool, String::as_str);
        filled(template, &[("tool", tool), ("by", &by), ("reason", &said), ("text", &said)])
    }
}

/// To the millionth, as counted.
fn money(micros: u64) -> String {
    let exact = format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000);
    let short = exact.trim_end_matches('0');
    let decimals = short.len() - short.find('.').unwrap_or_default() - 1;
    exact[..short.len() + 4_usize.saturating_sub(decimals)].to_owned()
}

/// The verdict of the guard on a call.
fn guard(said: &BTreeMap<String, String>, call: &str) -> Vec<(&'static str, String)> {
    said.get(call).map(|by| ("guard", by.clone())).into_iter().collect()
}

/// Who or what allowed the call, according to the audit.
fn authority(by: &Value, texts: &TimelineTexts) -> String {
    if let Some(words) = by.as_str() {
        return words.to_owned();
    }
    let person = by.pointer("/allowed/person/name").and_then(Value::as_str);
    if let Some(rule) = by.get("rule").and_then(Value::as_str) {
        let from = by.get("from").and_then(Value::as_str).unwrap_or(texts.shipped_rules);
        return filled(texts.rule, &[("rule", rule), ("from", from)]);
    }
    if let Some(approval) = by.get("conversation").and_then(Value::as_str) {
        let values = [("person", person.unwrap_or(texts.somebody)), ("approval", approval)];
        return filled(texts.conversation_allowed, &values);
    }
    if let Some(grant) = by.get("grant").and_then(Value::as_str) {
        return filled(texts.grant, &[("grant", grant)]);
    }
    let allowed = |name: &str| filled(texts.person_allowed, &[("person", name)]);
    person.map_or_else(|| by.to_string(), allowed)
}

fn sent_step(shown: &ShownView, language: Language) -> Option<TimelineStep> {
    let (what, texts) = (&shown.what, TimelineTexts::of(language));
    let title = match what["kind"].as_str()? {
        "text" => texts.sent_answer.to_owned(),
        "question" => texts.sent_approval.to_owned(),
        "settled" => texts.sent_outcome.to_owned(),
        "file" => {
            let file = what["name"].as_str().unwrap_or(texts.a_file);
            filled(texts.sent_file, &[("file", file)])
        }
        _ => return None,
    };
    let kind = match shown.status {
        MessageStatus::Refused | MessageStatus::Gone => TimelineKind::Bad,
        MessageStatus::Waiting | MessageStatus::Sent => TimelineKind::Sent,
    };
    // Nothing to add for a message that was sent.
    let facts = match shown.status {
        MessageStatus::Sent => Vec::new(),
        status => vec![("status", console::translated(status.as_str(), language).to_owned())],
    };
    Some(TimelineStep { key: format!("o{}", shown.id), at: shown.at, facts, ..step(kind, title) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn at(seconds: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(1_800_000_000 + seconds, 0).unwrap()
    }

    fn describe(events: &[Value], facts: &[FactView]) -> Vec<TimelineStep> {
        describe_in(Language::English, events, facts)
    }

    fn describe_in(language: Language, events: &[Value], facts: &[FactView]) -> Vec<TimelineStep> {
        let events: Vec<_> = events
            .iter()
            .zip(0_i64..)
            .map(|(event, n)| EventView { number: n.to_string(), at: at(n), event: event.clone() })
            .collect();
        let price = Price { input: 2.0, output: 10.0, cached: 0.0 };
        steps(&TimelineInput {
            events: &events,
            shown: &[],
            facts,
            model: "main".into(),
            prices: &[("main".to_owned(), price)].into(),
            language,
        })
    }

    fn fact(kind: &str, rule: Value) -> FactView {
        FactView {
            chain: "c".into(),
            number: "1".into(),
            at: at(0),
            kind: kind.into(),
            person: "1".into(),
            tool: "delete".into(),
            body: json!({ "call": "k", "rule": rule }),
            hash: String::new(),
        }
    }

    #[test]
    fn a_turn_shows_its_cost_and_who_allowed_it() {
        let ann = json!({ "id": "1", "name": "Ann" });
        let call = json!({ "id": "k", "model_id": "m", "tool": "delete", "arguments": {} });
        let usage = json!({ "input_tokens": 100, "output_tokens": 10 });
        let steps = describe(
            &[
                json!({ "kind": "said", "by": ann, "text": "delete it", "message": "1" }),
                json!({ "kind": "said", "by": ann, "text": "please", "message": "2" }),
                json!({ "kind": "replied", "text": "", "calls": [call], "upto": 2, "usage": usage }),
                json!({ "kind": "approval_asked", "approval": "a", "call": "k", "digest": "", "asks": "allow" }),
                json!({ "kind": "approval_decided", "approval": "a", "call": "k",
                        "decision": { "deny": { "reason": "no" } }, "by": { "person": ann } }),
                json!({ "kind": "hooked", "hook": "h", "on": "after_tool", "call": null, "did": { "stopped": "enough" } }),
                json!({ "kind": "said", "by": ann, "text": "then not", "message": "3" }),
            ],
            // Newest first.
            &[
                fact("refused", json!("Ann said no")),
                fact("asked", json!({ "rule": "r", "from": "shipped" })),
            ],
        );
        let titles: Vec<_> = steps.iter().map(|step| (step.kind, step.title.as_str())).collect();
        let wanted = [
            (TimelineKind::Turn, "Ann"),
            (TimelineKind::Said, "Ann"),
            (TimelineKind::Said, "Ann"),
            (TimelineKind::Model, "main"),
            (TimelineKind::Asked, "delete: approval requested"),
            (TimelineKind::Asked, "delete: denied by Ann: no"),
            (TimelineKind::Bad, "The hook h stopped it"),
            (TimelineKind::Turn, "Ann"),
            (TimelineKind::Said, "Ann"),
        ];
        assert_eq!(titles, wanted);
        let total = steps[0].total.as_ref().unwrap();
        assert_eq!((total.requests, total.calls, total.cost_micros), (1, 1, 300));
        assert_eq!((total.took_ms, steps[5].took_ms), (5_000, Some(1_000)));
        assert_eq!(steps[4].facts, [("guard", "rule r (shipped)".to_owned())]);
    }

    /// The cost of a call is shown to the millionth, and what no model has read is shown as well.
    /// Proves IC-17, IC-18.
    #[test]
    fn a_call_shows_its_cost_and_raw_result() {
        let ann = json!({ "id": "1", "name": "Ann" });
        let steps = describe(
            &[
                json!({ "kind": "said", "by": ann, "text": "find it", "message": "1" }),
                json!({ "kind": "tool_finished", "call": "k", "result": {
                    "outcome": "done", "text": "found", "raw": "Serper answered",
                    "cost_micros": 12_345, "took_ms": 5,
                    "asked": { "main": { "input_tokens": 100, "output_tokens": 10 } },
                } }),
            ],
            &[],
        );
        let total = steps[0].total.as_ref().unwrap();
        assert_eq!(total.cost_micros, 12_645);
        assert_eq!(steps[2].raw.as_deref(), Some("Serper answered"));
        let facts = [("asked", "main, 100 tokens"), ("cost", "0.012645")];
        assert_eq!(steps[2].facts, facts.map(|(name, value)| (name, value.to_owned())));
        for (micros, shown) in
            [(1_000, "0.0010"), (1, "0.000001"), (2_500_000, "2.5000"), (70_010, "0.07001")]
        {
            assert_eq!(money(micros), shown);
        }
    }

    #[test]
    fn the_authority_for_a_call_is_described() {
        for (by, words) in [
            (json!("policy"), "policy"),
            (json!({ "grant": "g" }), "an earlier grant (g)"),
            (json!({ "allowed": { "person": { "id": "1", "name": "Ann" } } }), "allowed by Ann"),
            (json!({ "rule": "r", "from": null }), "rule r (the shipped rules)"),
            (
                json!({ "conversation": "q", "allowed": { "person": { "id": "1", "name": "Ann" } } }),
                "allowed in this conversation by Ann (approval q)",
            ),
        ] {
            assert_eq!(authority(&by, TimelineTexts::of(Language::English)), words);
        }
    }

    /// The lines are in the language of the page, also those with a value in braces.
    #[test]
    fn a_timeline_is_in_the_language_of_the_page() {
        let ann = json!({ "id": "1", "name": "Ann" });
        let call = json!({ "id": "k", "model_id": "m", "tool": "delete", "arguments": {} });
        let usage = json!({ "input_tokens": 1, "output_tokens": 1 });
        let deny = json!({ "deny": { "reason": "{tool}" } });
        let steps = describe_in(
            Language::German,
            &[
                json!({ "kind": "said", "by": ann, "text": "delete it", "message": "1" }),
                json!({ "kind": "replied", "text": "", "calls": [call], "upto": 1, "usage": usage }),
                json!({ "kind": "approval_asked", "approval": "a", "call": "k", "digest": "", "asks": "allow" }),
                json!({ "kind": "approval_decided", "approval": "a", "call": "k",
                        "decision": deny, "by": { "person": ann } }),
                json!({ "kind": "approval_decided", "approval": "b", "call": "x",
                        "decision": { "deny": { "reason": null } }, "by": "timeout" }),
                json!({ "kind": "stopped", "by": ann }),
            ],
            &[fact("asked", json!({ "rule": "r", "from": null }))],
        );
        let titles: Vec<_> = steps.iter().skip(3).map(|step| step.title.as_str()).collect();
        let wanted = [
            "delete: Genehmigung angefragt",
            "delete: abgelehnt von Ann: {tool}",
            "ein Werkzeug: abgelehnt, weil niemand rechtzeitig entschieden hat",
            "Ann hat den Durchlauf abgebrochen",
        ];
        assert_eq!(titles, wanted);
        assert_eq!(steps[3].facts, [("guard", "Regel r (mitgelieferte Regeln)".to_owned())]);
    }
}
