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
};

/// The input of a timeline.
pub struct TimelineInput<'a> {
    pub events: &'a [EventView],
    pub shown: &'a [ShownView],
    pub facts: &'a [FactView],
    /// The default model, and the prices of all models.
    pub model: String,
    pub prices: &'a BTreeMap<String, Price>,
}

/// The steps in order, with a heading before each turn.
pub fn steps(happened: &TimelineInput<'_>) -> Vec<TimelineStep> {
    let mut builder =
        TimelineBuilder { model: happened.model.clone(), ..TimelineBuilder::default() };
    for fact in happened.facts.iter().rev() {
        let (call, by) = (fact.body.get("call"), fact.body.get("rule"));
        if let (Some(Value::String(call)), Some(by)) = (call, by) {
            let facts = if fact.kind == AuditKind::Asked.as_str() {
                &mut builder.why
            } else {
                &mut builder.allowed_by
            };
            facts.insert(call.clone(), authority(by));
        }
    }
    for view in happened.events {
        let Ok(event) = serde_json::from_value::<Event>(view.event.clone()) else { continue };
        builder.happened(view, event, happened.prices);
        let sent = happened.shown.iter().filter(|shown| shown.event == view.number);
        builder.steps.extend(sent.filter_map(sent_step));
    }
    builder.steps
}

#[derive(Default)]
struct TimelineBuilder {
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

    fn tool(&self, call: &str) -> String {
        self.tools.get(call).cloned().unwrap_or_else(|| "a tool".to_owned())
    }

    fn describe(
        &mut self,
        at: DateTime<Utc>,
        event: Event,
        prices: &BTreeMap<String, Price>,
    ) -> TimelineStep {
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
                TimelineStep {
                    title: format!("{}, which summarised the earlier dialogue", step.title),
                    ..step
                }
            }
            Event::ToolStarted { call } => {
                step(TimelineKind::Note, format!("{} began", self.tool(call.as_str())))
            }
            Event::ToolFinished { call, result } => self.ended(call.as_str(), result, prices),
            Event::Delegated { call, children } => {
                let children = children.into_iter().map(|child| child.0).collect();
                TimelineStep {
                    children,
                    ..step(TimelineKind::Note, self.tool(call.as_str()) + " delegated work")
                }
            }
            Event::Reused { call, .. } => step(
                TimelineKind::Note,
                self.tool(call.as_str()) + " reused the result of an earlier call",
            ),
            Event::ApprovalAsked { approval, call, asks, .. } => {
                self.asked.insert(approval.0, at);
                let what = match asks {
                    ApprovalPurpose::Allow => "approval requested",
                    ApprovalPurpose::Retry => "approval requested to run it again",
                    ApprovalPurpose::Answer => "elicitation",
                };
                let title = format!("{}: {what}", self.tool(call.as_str()));
                TimelineStep {
                    facts: guard(&self.why, call.as_str()),
                    ..step(TimelineKind::Asked, title)
                }
            }
            Event::ApprovalDecided { approval, call, decision, by } => {
                let waited = self.asked.get(&approval.0).map(|asked| at - *asked);
                let took_ms = waited.map(|waited| waited.num_milliseconds());
                let title = format!("{}: {}", self.tool(call.as_str()), decided(decision, by));
                TimelineStep { took_ms, ..step(TimelineKind::Asked, title) }
            }
            Event::ModelChosen { by, model } => {
                self.model.clone_from(&model);
                step(TimelineKind::Note, format!("{} chose the model {model}", by.name))
            }
            other => plain(other),
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
        let (kind, how) = match result.outcome {
            Outcome::Done => (TimelineKind::Call, "done"),
            Outcome::Failed => (TimelineKind::Bad, "failed"),
            Outcome::Denied => (TimelineKind::Bad, "not run"),
            Outcome::Withdrawn => (TimelineKind::Bad, "withdrawn"),
        };
        let mut facts = guard(&self.allowed_by, call);
        let files: Vec<_> = result.attachments.into_iter().map(|file| file.name).collect();
        if !files.is_empty() {
            facts.push(("files", files.join(", ")));
        }
        let mut cost = result.cost_micros.unwrap_or_default();
        for (model, usage) in &result.asked {
            cost += prices.get(model).copied().unwrap_or_default().of(usage);
            facts.push(("asked", format!("{model}, {} tokens", usage.input_tokens)));
        }
        if cost > 0 {
            facts.push(("cost", money(cost)));
        }
        if let Some(total) = self.total() {
            total.cost_micros += cost;
        }
        let took_ms = (result.outcome == Outcome::Done).then_some(result.took_ms as i64);
        let title = format!("{}: {how}", self.tool(call));
        TimelineStep { text: result.text, raw: result.raw, facts, took_ms, ..step(kind, title) }
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

fn decided(decision: Decision, by: Decider) -> String {
    let by = match by {
        Decider::Person(person) => format!("by {}", person.name),
        Decider::Timeout => "because nobody decided in time".to_owned(),
        Decider::Undeliverable => "because it could not be shown to anybody".to_owned(),
    };
    match decision {
        Decision::Once => format!("allowed {by}"),
        Decision::Conversation => format!("allowed for the conversation {by}"),
        Decision::Deny { reason: Some(reason) } => format!("denied {by}: {reason}"),
        Decision::Deny { reason: None } => format!("denied {by}"),
        Decision::Answer { text } => format!("answered {by}: {text}"),
    }
}

/// Who or what allowed the call, according to the audit.
fn authority(by: &Value) -> String {
    if let Some(words) = by.as_str() {
        return words.to_owned();
    }
    if let Some(name) = by.get("rule").and_then(Value::as_str) {
        let from = by.get("from").and_then(Value::as_str).unwrap_or("the shipped rules");
        return format!("rule {name} ({from})");
    }
    if let Some(approval) = by.get("conversation").and_then(Value::as_str) {
        let person = by.get("allowed").and_then(|by| by.get("person")?.get("name")?.as_str());
        let person = person.unwrap_or("somebody");
        return format!("allowed in this conversation by {person} (approval {approval})");
    }
    if let Some(grant) = by.get("grant").and_then(Value::as_str) {
        return format!("an earlier grant ({grant})");
    }
    let person = by.get("allowed").and_then(|by| by.get("person")?.get("name")?.as_str());
    person.map_or_else(|| by.to_string(), |name| format!("allowed by {name}"))
}

fn sent_step(shown: &ShownView) -> Option<TimelineStep> {
    let what = &shown.what;
    let title = match what["kind"].as_str()? {
        "text" => "Sent: an answer".to_owned(),
        "question" => "Sent: an approval".to_owned(),
        "settled" => "Sent: the outcome of an approval".to_owned(),
        "file" => format!("Sent: {}", what["name"].as_str().unwrap_or("a file")),
        _ => return None,
    };
    let kind = match shown.status {
        MessageStatus::Refused | MessageStatus::Gone => TimelineKind::Bad,
        MessageStatus::Waiting | MessageStatus::Sent => TimelineKind::Sent,
    };
    // Nothing to add for a message that was sent.
    let facts = match shown.status {
        MessageStatus::Sent => Vec::new(),
        status => vec![("status", status.as_str().to_owned())],
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
            assert_eq!(authority(&by), words);
        }
    }
}
