//! What Prometheus reads: counted since the start, and how things stand.

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
    gateway::{CHANNEL_UP, Gateway, breaker::SUSPENDED},
    store::{committed_metrics, gauges::Gauges, unreadable::UNREADABLE_ROWS},
    worker::{session_cache::EVENTS_READ, think::LLM_SECONDS},
};

/// How often what was measured is put into its buckets, also if nobody reads it.
const KEEP_EVERY: Duration = Duration::from_secs(10);
/// From a quick tool to a question that stands for a day.
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
pub enum Kind {
    Counter,
    Gauge,
    Histogram,
    /// Of the process, read from the system.
    Process,
}

/// Everything that is shown: name, kind, what it says.
pub const METRICS: &[(&str, Kind, &str)] = &[
    (committed_metrics::TURNS, Kind::Counter, "Turns that have ended"),
    (committed_metrics::STEPS, Kind::Counter, "Answers of models"),
    (committed_metrics::TOOL_CALLS, Kind::Counter, "Calls of tools that have ended"),
    (committed_metrics::TOOL_SECONDS, Kind::Histogram, "How long calls of tools took"),
    (committed_metrics::ASKED, Kind::Counter, "Questions put to people"),
    (committed_metrics::APPROVALS, Kind::Counter, "Questions that have ended"),
    (committed_metrics::APPROVAL_SECONDS, Kind::Histogram, "How long questions stood"),
    (committed_metrics::SENDS, Kind::Counter, "Tries to show something on a platform"),
    (
        committed_metrics::UNPARSED,
        Kind::Counter,
        "Updates set aside: they could not be read or stored",
    ),
    (UNREADABLE_ROWS, Kind::Counter, "Rows set aside: this release cannot read them"),
    (committed_metrics::WEBHOOKS_IN, Kind::Counter, "Webhooks of other programs that have come"),
    (committed_metrics::WEBHOOKS_OUT, Kind::Counter, "Tries to tell other programs"),
    (committed_metrics::LLM_TOKENS, Kind::Counter, "Tokens, as providers count them"),
    (
        committed_metrics::LLM_COST,
        Kind::Counter,
        "Millionths of your currency, by the prices of the models",
    ),
    (EVENTS_READ, Kind::Counter, "Events read to bring sessions up to date"),
    (LLM_SECONDS, Kind::Histogram, "How long models took to answer"),
    (OUTBOX, Kind::Gauge, "What waits to be shown"),
    (OUTBOX_AGE, Kind::Gauge, "How long the oldest of it has waited"),
    (PENDING, Kind::Gauge, "Questions that nobody has answered yet"),
    (PENDING_AGE, Kind::Gauge, "How long the oldest of them has stood"),
    (NOTICES, Kind::Gauge, "What other programs are to be told"),
    (NOTICES_AGE, Kind::Gauge, "How long the oldest of it has waited"),
    (NOTICES_DEAD, Kind::Gauge, "What other programs never took, and nobody has settled"),
    (LEASES, Kind::Gauge, "Leases that all nodes hold"),
    (READY, Kind::Gauge, "Conversations that wait for a node"),
    (CHANNEL_UP, Kind::Gauge, "1 while this node listens on the channel"),
    (SUSPENDED, Kind::Gauge, "1 while the platform of a channel cannot be sent to"),
    ("process_resident_memory_bytes", Kind::Process, "Memory in use"),
    ("process_open_fds", Kind::Process, "Open files and sockets"),
    ("process_cpu_seconds_total", Kind::Process, "Time of all cores"),
];

/// What a counter says from the first moment on, so that a first time can be seen as a change.
const OUTCOMES: &[(&str, &[&str])] = &[
    (committed_metrics::TURNS, &["finished", "failed", "stopped"]),
    (committed_metrics::TOOL_CALLS, &["done", "failed", "denied", "withdrawn"]),
    (
        committed_metrics::APPROVALS,
        &["allowed", "denied", "expired", "withdrawn", "superseded", "undeliverable"],
    ),
    (committed_metrics::SENDS, &["sent", "refused", "gone", "retried"]),
    (committed_metrics::WEBHOOKS_IN, &["taken", "refused", "unreadable", "slowed"]),
    (committed_metrics::WEBHOOKS_OUT, &["sent", "failed", "dead"]),
];

/// One for the process.
fn handle() -> &'static PrometheusHandle {
    static HANDLE: OnceLock<PrometheusHandle> = OnceLock::new();
    HANDLE.get_or_init(|| {
        let builder = PrometheusBuilder::new().set_buckets(BUCKETS).expect("there are some");
        let recorder = builder.build_recorder();
        let handle = recorder.handle();
        metrics::set_global_recorder(recorder).expect("nobody else has set one");
        for (name, kind, says) in METRICS {
            match kind {
                Kind::Counter => metrics::describe_counter!(*name, *says),
                Kind::Gauge => metrics::describe_gauge!(*name, *says),
                Kind::Histogram => metrics::describe_histogram!(*name, *says),
                Kind::Process => {}
            }
        }
        handle
    })
}

/// From here on it is counted.
pub fn begin(gateway: &Gateway) {
    handle();
    for (name, outcomes) in OUTCOMES {
        for outcome in *outcomes {
            metrics::counter!(*name, "outcome" => *outcome).increment(0);
        }
    }
    metrics::counter!(committed_metrics::STEPS).increment(0);
    metrics::counter!(committed_metrics::ASKED).increment(0);
    metrics::counter!(EVENTS_READ).increment(0);
    metrics::counter!(committed_metrics::UNPARSED).increment(0);
    metrics::counter!(UNREADABLE_ROWS).increment(0);
    for channel in gateway.channels.keys() {
        metrics::gauge!(CHANNEL_UP, "channel" => channel.clone()).increment(0.0);
        metrics::gauge!(SUSPENDED, "channel" => channel.clone()).increment(0.0);
    }
}

/// Keeps what is measured small, until the stop.
pub async fn keep(gateway: Arc<Gateway>) {
    while tokio::time::timeout(KEEP_EVERY, gateway.stop.cancelled()).await.is_err() {
        handle().run_upkeep();
    }
}

/// For whoever asks from this machine; from elsewhere, or through a proxy, with the token.
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
        (None, _) => {
            let forwarded = ["forwarded", "x-forwarded-for", "x-real-ip"];
            peer.ip().is_loopback() && !forwarded.iter().any(|name| headers.contains_key(*name))
        }
    }
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

/// As the system tells it.
fn process() -> Result<String> {
    let pages = std::fs::read_to_string("/proc/self/statm")?;
    let pages: u64 = pages.split(' ').nth(1).unwrap_or_default().parse()?;
    let memory = pages * rustix::param::page_size() as u64;
    let files = std::fs::read_dir("/proc/self/fd")?.count();
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    // Behind the program's name, which may hold blanks.
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    let ticks: u64 = fields.skip(11).take(2).filter_map(|ticks| ticks.parse::<u64>().ok()).sum();
    let cpu = ticks as f64 / rustix::param::clock_ticks_per_second() as f64;
    let mut text = String::new();
    let values = [("gauge", memory as f64), ("gauge", files as f64), ("counter", cpu)];
    let known = METRICS.iter().filter(|(_, kind, _)| *kind == Kind::Process);
    for ((name, _, says), (kind, value)) in known.zip(values) {
        writeln!(text, "# HELP {name} {says}\n# TYPE {name} {kind}\n{name} {value}\n")?;
    }
    Ok(text)
}
