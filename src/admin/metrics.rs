//! Prometheus metrics: counters since the start, and gauges.

use anyhow::Result;
use axum::{
    extract::{ConnectInfo, State},
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse as _, Response},
};
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};
use secrecy::ExposeSecret as _;
use std::{
    fmt::Write as _,
    net::SocketAddr,
    sync::{Arc, OnceLock},
    time::Duration,
};
use subtle::ConstantTimeEq as _;

use super::{Admin, problem::Problem};
use crate::{
    clock::stops_within,
    gateway::{CHANNEL_UP, Gateway, breaker::SUSPENDED},
    store::{
        db::unreadable::UNREADABLE_ROWS,
        metrics::{committed, gauges::Gauges},
    },
    worker::{session_cache::EVENTS_READ, think::LLM_SECONDS},
};

/// How often measurements are aggregated into buckets, even if nobody scrapes them.
const KEEP_EVERY: Duration = Duration::from_secs(10);
/// From a fast tool to an approval that is open for a day.
const BUCKETS: &[f64] =
    &[0.05, 0.25, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 1_800.0, 7_200.0, 86_400.0];
const OUTBOX: &str = "countersign_outbox_waiting";
const OUTBOX_AGE: &str = "countersign_outbox_oldest_seconds";
const PENDING: &str = "countersign_approvals_pending";
const PENDING_AGE: &str = "countersign_approvals_oldest_seconds";
const NOTICES: &str = "countersign_webhooks_waiting";
const NOTICES_AGE: &str = "countersign_webhooks_oldest_seconds";
const NOTICES_DEAD: &str = "countersign_webhooks_dead";
const LEASES: &str = "countersign_leases_held";
const READY: &str = "countersign_conversations_ready";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetricKind {
    Counter,
    Gauge,
    Histogram,
    /// Of the process, read from the system.
    Process,
}

/// All metrics: name, kind, description.
pub const METRICS: &[(&str, MetricKind, &str)] = &[
    (committed::TURNS, MetricKind::Counter, "Turns that have ended"),
    (committed::STEPS, MetricKind::Counter, "Model replies"),
    (committed::TOOL_CALLS, MetricKind::Counter, "Tool calls that have ended"),
    (committed::TOOL_SECONDS, MetricKind::Histogram, "Duration of tool calls"),
    (committed::REQUESTED, MetricKind::Counter, "Approvals requested"),
    (committed::APPROVALS, MetricKind::Counter, "Approvals settled"),
    (committed::APPROVAL_SECONDS, MetricKind::Histogram, "Time until approvals were settled"),
    (committed::SENDS, MetricKind::Counter, "Attempts to send a message to a platform"),
    (
        committed::UNPARSED,
        MetricKind::Counter,
        "Updates set aside because they could not be parsed or stored",
    ),
    (UNREADABLE_ROWS, MetricKind::Counter, "Rows set aside because this release cannot read them"),
    (committed::WEBHOOKS_IN, MetricKind::Counter, "Incoming webhooks"),
    (committed::WEBHOOKS_OUT, MetricKind::Counter, "Attempts to deliver a webhook"),
    (committed::LLM_TOKENS, MetricKind::Counter, "Tokens, as reported by providers"),
    (
        committed::LLM_COST,
        MetricKind::Counter,
        "Cost in millionths of your currency, at the configured prices",
    ),
    (EVENTS_READ, MetricKind::Counter, "Events read to bring sessions up to date"),
    (LLM_SECONDS, MetricKind::Histogram, "Duration of model requests"),
    (OUTBOX, MetricKind::Gauge, "Messages waiting in the outbox"),
    (OUTBOX_AGE, MetricKind::Gauge, "Age of the oldest message waiting in the outbox"),
    (PENDING, MetricKind::Gauge, "Open approvals"),
    (PENDING_AGE, MetricKind::Gauge, "Age of the oldest open approval"),
    (NOTICES, MetricKind::Gauge, "Webhook deliveries waiting"),
    (NOTICES_AGE, MetricKind::Gauge, "Age of the oldest waiting webhook delivery"),
    (NOTICES_DEAD, MetricKind::Gauge, "Dead webhook deliveries that were not replayed or dropped"),
    (LEASES, MetricKind::Gauge, "Leases held by all nodes"),
    (READY, MetricKind::Gauge, "Conversations waiting for a node"),
    (CHANNEL_UP, MetricKind::Gauge, "1 while this node listens on the channel"),
    (SUSPENDED, MetricKind::Gauge, "1 while sending to the platform of a channel is suspended"),
    ("process_resident_memory_bytes", MetricKind::Process, "Resident memory"),
    ("process_open_fds", MetricKind::Process, "Open file descriptors"),
    ("process_cpu_seconds_total", MetricKind::Process, "CPU time of all cores"),
];

/// Label values that are initialised with 0, so that the first increment is visible as a change.
const OUTCOMES: &[(&str, &[&str])] = &[
    (committed::TURNS, &["finished", "failed", "stopped"]),
    (committed::TOOL_CALLS, &["done", "failed", "denied", "withdrawn"]),
    (
        committed::APPROVALS,
        &["allowed", "denied", "expired", "withdrawn", "superseded", "undeliverable"],
    ),
    (committed::SENDS, &["sent", "refused", "gone", "retried"]),
    (committed::WEBHOOKS_IN, &["accepted", "repeated", "refused", "invalid", "rate_limited"]),
    (committed::WEBHOOKS_OUT, &["sent", "failed", "dead"]),
];

/// One recorder per process.
fn handle() -> &'static PrometheusHandle {
    static HANDLE: OnceLock<PrometheusHandle> = OnceLock::new();
    HANDLE.get_or_init(|| {
        let builder = PrometheusBuilder::new().set_buckets(BUCKETS).expect("there are some");
        let recorder = builder.build_recorder();
        let handle = recorder.handle();
        metrics::set_global_recorder(recorder).expect("no other recorder is set");
        for (name, kind, says) in METRICS {
            match kind {
                MetricKind::Counter => metrics::describe_counter!(*name, *says),
                MetricKind::Gauge => metrics::describe_gauge!(*name, *says),
                MetricKind::Histogram => metrics::describe_histogram!(*name, *says),
                MetricKind::Process => {}
            }
        }
        handle
    })
}

/// Initialises the counters.
pub fn begin(gateway: &Gateway) {
    handle();
    for (name, outcomes) in OUTCOMES {
        for outcome in *outcomes {
            metrics::counter!(*name, "outcome" => *outcome).increment(0);
        }
    }
    metrics::counter!(committed::STEPS).increment(0);
    metrics::counter!(committed::REQUESTED).increment(0);
    metrics::counter!(EVENTS_READ).increment(0);
    metrics::counter!(committed::UNPARSED).increment(0);
    metrics::counter!(UNREADABLE_ROWS).increment(0);
    for channel in gateway.channels.keys() {
        metrics::gauge!(CHANNEL_UP, "channel" => channel.clone()).increment(0.0);
        metrics::gauge!(SUSPENDED, "channel" => channel.clone()).increment(0.0);
    }
}

/// Aggregates measurements until shutdown.
pub async fn keep(gateway: Arc<Gateway>) {
    while !stops_within(KEEP_EVERY, &gateway.stop).await {
        handle().run_upkeep();
    }
}

/// Serves the metrics to this machine; other machines, and requests through a proxy, need the
/// token.
pub async fn metrics(
    State(admin): State<Arc<Admin>>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    if !may_read(&admin, peer, &headers) {
        return Ok(StatusCode::NOT_FOUND.into_response());
    }
    let figures = admin.gateway.store.figures(admin.gateway.clock.now()).await?;
    show(&figures);
    let text = format!("{}{}", handle().render(), process()?);
    Ok(([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], text).into_response())
}

fn may_read(admin: &Admin, peer: SocketAddr, headers: &HeaderMap) -> bool {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    match (&admin.metrics_token, text("authorization")) {
        (Some(token), Some(given)) => {
            let given = given.strip_prefix("Bearer ").unwrap_or_default();
            token.expose_secret().as_bytes().ct_eq(given.as_bytes()).into()
        }
        (Some(_), None) => false,
        (None, _) => is_from_here(peer, headers),
    }
}

/// Whether the request comes from this machine, without a proxy between. On a socket for both
/// versions of IP, an IPv4 address is written as one of IPv6.
fn is_from_here(peer: SocketAddr, headers: &HeaderMap) -> bool {
    let forwarded = ["forwarded", "x-forwarded-for", "x-real-ip"];
    let is_direct = !forwarded.iter().any(|name| headers.contains_key(*name));
    is_direct && peer.ip().to_canonical().is_loopback()
}

fn show(figures: &Gauges) {
    let set = |name: &'static str, value: f64| metrics::gauge!(name).set(value);
    set(OUTBOX, figures.outbox.count as f64);
    set(OUTBOX_AGE, figures.outbox.oldest_ms as f64 / 1000.0);
    set(PENDING, figures.approvals.count as f64);
    set(PENDING_AGE, figures.approvals.oldest_ms as f64 / 1000.0);
    set(NOTICES, figures.notices.count as f64);
    set(NOTICES_AGE, figures.notices.oldest_ms as f64 / 1000.0);
    set(NOTICES_DEAD, figures.dead_notices as f64);
    set(READY, figures.ready as f64);
    metrics::gauge!(LEASES, "kind" => "conversation").set(figures.held as f64);
    metrics::gauge!(LEASES, "kind" => "duty").set(figures.duties as f64);
}

/// Process metrics from the operating system.
fn process() -> Result<String> {
    let pages = std::fs::read_to_string("/proc/self/statm")?;
    let pages: u64 = pages.split(' ').nth(1).unwrap_or_default().parse()?;
    let memory = pages * rustix::param::page_size() as u64;
    let files = std::fs::read_dir("/proc/self/fd")?.count();
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    // After the program's name, which may contain spaces.
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    let ticks: u64 = fields.skip(11).take(2).filter_map(|ticks| ticks.parse::<u64>().ok()).sum();
    let cpu = ticks as f64 / rustix::param::clock_ticks_per_second() as f64;
    let mut text = String::new();
    let values = [("gauge", memory as f64), ("gauge", files as f64), ("counter", cpu)];
    let known = METRICS.iter().filter(|(_, kind, _)| *kind == MetricKind::Process);
    for ((name, _, says), (kind, value)) in known.zip(values) {
        writeln!(text, "# HELP {name} {says}\n# TYPE {name} {kind}\n{name} {value}\n")?;
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    #[test]
    fn a_request_of_this_machine_is_recognised_on_every_socket() {
        for (peer, is_here) in [
            ("127.0.0.1:1", true),
            ("[::1]:1", true),
            ("[::ffff:127.0.0.1]:1", true),
            ("[::ffff:192.0.2.1]:1", false),
            ("[2001:db8::1]:1", false),
        ] {
            let (peer, mut headers) = (peer.parse().unwrap(), HeaderMap::new());
            assert_eq!(is_from_here(peer, &headers), is_here, "{peer}");
            headers.insert("x-real-ip", HeaderValue::from_static("127.0.0.1"));
            assert!(!is_from_here(peer, &headers), "{peer}");
        }
    }
}
