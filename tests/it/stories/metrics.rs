//! Metrics for operators.

use chrono::TimeDelta;
use countersign::testing::{
    admin::metrics::{METRICS, MetricKind},
    config::secret::Secret,
    scripted::{call, say},
    store::webhooks::subscriptions::Topic,
};
use reqwest::StatusCode;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};

use super::webhooks::{
    Hearer, OTHER, SECRET, ask, deliver_webhooks, entry, get, pushes, subscribe,
};
use crate::{story, support::world::World};

/// One sample: its name, labels and value.
type Sample = (String, BTreeMap<String, String>, f64);

/// A strict parser of Prometheus' text format 0.0.4: each family is declared once before its
/// samples, and each sample belongs to it.
fn parsed(text: &str) -> (BTreeMap<String, String>, Vec<Sample>) {
    let (mut kinds, mut samples) = (BTreeMap::new(), Vec::new());
    let mut helped = BTreeSet::new();
    for line in text.lines().filter(|line| !line.is_empty()) {
        if let Some(help) = line.strip_prefix("# HELP ") {
            let (name, _) = help.split_once(' ').expect("a name and a text");
            assert!(helped.insert(name.to_owned()), "{line}");
        } else if let Some(kind) = line.strip_prefix("# TYPE ") {
            let (name, kind) = kind.split_once(' ').expect("a name and a kind");
            assert!(["counter", "gauge", "histogram"].contains(&kind), "{line}");
            assert!(kinds.insert(name.to_owned(), kind.to_owned()).is_none(), "{line}");
        } else {
            let (left, value) = line.rsplit_once(' ').expect("a value");
            let (name, labels) = left.split_once('{').unwrap_or((left, "}"));
            assert!(name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_'), "{line}");
            let labels = labels.strip_suffix('}').expect("an end");
            let label = |pair: &str| {
                let (name, value) = pair.split_once("=\"").expect("a label");
                (name.to_owned(), value.strip_suffix('"').expect("a quote").to_owned())
            };
            let labels = labels.split(',').filter(|pair| !pair.is_empty()).map(label).collect();
            assert!(kinds.contains_key(&family(name, &kinds)), "{line} was not declared");
            samples.push((name.to_owned(), labels, value.parse().expect("a number")));
        }
    }
    assert_eq!(kinds.keys().cloned().collect::<BTreeSet<_>>(), helped);
    (kinds, samples)
}

fn family(name: &str, kinds: &BTreeMap<String, String>) -> String {
    let parts = ["_bucket", "_sum", "_count"].iter().find_map(|end| name.strip_suffix(end));
    match parts.filter(|base| kinds.get(*base).is_some_and(|kind| kind == "histogram")) {
        Some(base) => base.to_owned(),
        None => name.to_owned(),
    }
}

fn value(samples: &[Sample], name: &str, label: Option<(&str, &str)>) -> f64 {
    let fits = |(own, labels, _): &&Sample| {
        own == name && label.is_none_or(|(l, v)| labels.get(l).is_some_and(|own| own == v))
    };
    samples.iter().filter(fits).map(|(_, _, value)| value).sum()
}

story! {
    /// Every documented metric exists in the right format and changes with events; no label names a
    /// person or a chat.
    async fn metrics_say_what_happens(world: &mut World) {
        let before = parsed(&get(world, "/metrics", &[]).await.1).1;
        world.model_will(call("delete", json!({ "path": "a.txt" })));
        world.ann_says("delete a.txt").await;
        world.clock.advance(TimeDelta::minutes(3));
        let (status, text) = get(world, "/metrics", &[]).await;
        assert_eq!(status, StatusCode::OK);
        let (_, asked) = parsed(&text);
        assert!((value(&asked, "countersign_approvals_pending", None) - 1.0).abs() < 1e-9);
        let oldest = value(&asked, "countersign_approvals_oldest_seconds", None);
        assert!((oldest - 180.0).abs() < 1e-9, "{oldest}");
        world.model_will(say("Gone."));
        world.ann_presses("Allow once").await;
        let text = get(world, "/metrics", &[]).await.1;
        let (kinds, after) = parsed(&text);
        for (name, kind, _) in METRICS {
            let told = kinds.get(*name).unwrap_or_else(|| panic!("{name} is missing: {text}"));
            let wanted = match kind {
                MetricKind::Counter => "counter",
                MetricKind::Gauge => "gauge",
                MetricKind::Histogram => "histogram",
                MetricKind::Process => told,
            };
            assert_eq!(told, wanted, "{name}");
        }
        for name in kinds.keys() {
            assert!(METRICS.iter().any(|(known, ..)| known == name), "{name} is not documented");
        }
        for (name, label, by) in [
            ("countersign_turns_total", Some(("outcome", "finished")), 1.0),
            ("countersign_turns_total", Some(("outcome", "failed")), 0.0),
            ("countersign_steps_total", None, 2.0),
            ("countersign_tool_calls_total", Some(("outcome", "done")), 1.0),
            ("countersign_tool_seconds_count", None, 1.0),
            ("countersign_approvals_asked_total", None, 1.0),
            ("countersign_approvals_total", Some(("outcome", "allowed")), 1.0),
            ("countersign_approval_seconds_sum", None, 180.0),
            ("countersign_sends_total", Some(("outcome", "sent")), 3.0),
            ("countersign_llm_seconds_count", Some(("model", "main")), 2.0),
        ] {
            let moved = value(&after, name, label) - value(&before, name, label);
            assert!((moved - by).abs() < 0.001, "{name} {label:?}: {moved} {text}");
        }
        assert!(value(&after, "process_resident_memory_bytes", None) > 1e6);
        assert!(value(&after, "process_open_fds", None) > 3.0);
        for (name, labels, _) in &after {
            for (label, value) in labels {
                let known = ["outcome", "model", "kind", "channel", "le"].contains(&label.as_str());
                assert!(known, "{name} has {label}");
                assert!(label == "le" || value != "7" && value != "1", "{name} names somebody");
            }
        }
    }
}

story! {
    /// Incoming and outgoing webhooks are counted, and the age of the backlog is measured.
    async fn metrics_say_how_webhooks_do(world: &mut World) {
        let figures = async |world: &World| parsed(&get(world, "/metrics", &[]).await.1).1;
        let before = figures(world).await;
        world.ann_says("hello").await;
        world.config.webhooks_in = vec![entry(Some(SECRET))];
        let fits = r#"{"branch":"main"}"#;
        assert_eq!(pushes(world, (SECRET, "m1"), fits).await.0, StatusCode::OK);
        assert_eq!(pushes(world, (SECRET, "m1"), fits).await.0, StatusCode::OK);
        assert_eq!(pushes(world, (OTHER, "m2"), fits).await.0, StatusCode::UNAUTHORIZED);
        let hearer = Hearer::start(&["503 Busy", "410 Gone", "204 Thanks"]).await;
        subscribe(world, &hearer.url, &[Topic::TurnFinished], None);
        world.model_will(say("Hello."));
        world.ann_says("hello").await;
        world.clock.advance(TimeDelta::minutes(3));
        let waits = figures(world).await;
        assert!((value(&waits, "countersign_webhooks_waiting", None) - 1.0).abs() < 1e-9);
        let oldest = value(&waits, "countersign_webhooks_oldest_seconds", None);
        assert!((oldest - 180.0).abs() < 1e-9, "{oldest}");
        assert_eq!(deliver_webhooks(world).await, 1);
        world.clock.advance(TimeDelta::seconds(7));
        assert_eq!(deliver_webhooks(world).await, 1);
        world.model_will(say("Hello again."));
        world.ann_says("hello").await;
        assert_eq!(deliver_webhooks(world).await, 1);
        let after = figures(world).await;
        assert!((value(&after, "countersign_webhooks_dead", None) - 1.0).abs() < 1e-9);
        for (name, outcome) in [
            ("countersign_webhooks_in_total", "accepted"),
            ("countersign_webhooks_in_total", "repeated"),
            ("countersign_webhooks_in_total", "refused"),
            ("countersign_webhooks_out_total", "failed"),
            ("countersign_webhooks_out_total", "dead"),
            ("countersign_webhooks_out_total", "sent"),
        ] {
            let label = Some(("outcome", outcome));
            let moved = value(&after, name, label) - value(&before, name, label);
            assert!((moved - 1.0).abs() < 1e-9, "{name} {outcome}: {moved}");
        }
    }
}

story! {
    /// Metrics are available to this machine or with the token.
    /// Proves O2.
    async fn metrics_are_not_for_everybody(world: &mut World) {
        let proxied = [("x-forwarded-for", "203.0.113.7".to_owned())];
        assert_eq!(get(world, "/metrics", &[]).await.0, StatusCode::OK);
        assert_eq!(get(world, "/metrics", &proxied).await.0, StatusCode::NOT_FOUND);
        world.config.admin.metrics_token = Some(Secret::Plain("a long token".into()));
        let bearing = |token: &str| [("authorization", format!("Bearer {token}"))];
        assert_eq!(get(world, "/metrics", &[]).await.0, StatusCode::NOT_FOUND);
        assert_eq!(get(world, "/metrics", &bearing("a long tokem")).await.0, StatusCode::NOT_FOUND);
        assert_eq!(get(world, "/metrics", &bearing("")).await.0, StatusCode::NOT_FOUND);
        let answer = ask(world, ("GET", "/metrics"), &bearing("a long token"), String::new()).await;
        assert_eq!(answer.0, StatusCode::OK);
    }
}

/// The dashboard and the alerts use only existing metrics, and most of them.
#[test]
fn dashboards_and_alerts_name_metrics_that_there_are() {
    let word = regex::Regex::new(r"\b(?:countersign|process)_[a-z_]+\b").unwrap();
    let known: BTreeSet<_> = METRICS.iter().map(|(name, ..)| *name).collect();
    for file in ["deploy/grafana.json", "deploy/alerts.yaml"] {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
        let text = std::fs::read_to_string(path).unwrap();
        let named: BTreeSet<_> = word.find_iter(&text).map(|found| found.as_str()).collect();
        for name in &named {
            let base = ["_bucket", "_sum", "_count"].iter().find_map(|end| name.strip_suffix(end));
            let there = known.contains(name) || base.is_some_and(|base| known.contains(base));
            assert!(there, "{file} names {name}");
        }
        assert!(named.len() >= 6, "{file}: {named:?}");
        if file.ends_with("json") {
            let dashboard: serde_json::Value = serde_json::from_str(&text).unwrap();
            assert!(dashboard["panels"].as_array().unwrap().len() >= 8);
        }
    }
}
