//! Logs to standard error, as text on a terminal and as JSON elsewhere, without any secret of the
//! configuration. Traces ([`traces`]) require the feature `otel`.

#[cfg(feature = "otel")]
mod traces;
#[cfg(not(feature = "otel"))]
#[path = "no_traces.rs"]
mod traces;

use anyhow::Result;
use parking_lot::RwLock;
use std::{
    collections::BTreeSet,
    io::{self, IsTerminal as _, Write},
    sync::{Arc, LazyLock},
};
use tracing_subscriber::{EnvFilter, fmt::MakeWriter, prelude::*};
use url::Url;

pub use traces::Traces;

use crate::agent::redact::Redactor;

/// Redacts the secrets of all configurations that this process has run with.
static HIDDEN: LazyLock<RwLock<Hidden>> = LazyLock::new(RwLock::default);

#[derive(Default)]
struct Hidden {
    secrets: BTreeSet<String>,
    redactor: Arc<Redactor>,
}

/// Adds secrets to redact.
pub fn hide(secrets: &BTreeSet<String>) {
    let mut hidden = HIDDEN.write();
    hidden.secrets.extend(secrets.iter().cloned());
    hidden.redactor = Arc::new(Redactor::new(hidden.secrets.iter().map(String::as_str)));
}

/// Starts logging, and tracing if a URL is given. `filter` has tracing's syntax: `info`,
/// `countersign=debug,warn`. Pending traces are sent when the returned value is dropped.
pub fn start(
    filter: &str,
    secrets: &BTreeSet<String>,
    otlp_url: Option<&Url>,
) -> Result<Option<Traces>> {
    hide(secrets);
    let filter = EnvFilter::try_new(filter)?;
    let logs = tracing_subscriber::fmt::layer().with_writer(Redacted);
    let logs = if io::stderr().is_terminal() {
        logs.with_filter(filter).boxed()
    } else {
        logs.json().with_current_span(false).with_filter(filter).boxed()
    };
    let traces = otlp_url.map(Traces::to).transpose()?;
    let layer = traces.as_ref().map(Traces::layer);
    tracing_subscriber::registry().with(logs).with(layer).try_init()?;
    Ok(traces)
}

/// From now on, panic messages are redacted as well, and logged once logging has started.
pub fn log_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let said = panic.to_string();
        if tracing::enabled!(tracing::Level::ERROR) {
            tracing::error!(problem = said, "panicked");
        } else {
            // Errors are ignored, because standard error itself may be closed.
            let _ = Redacted.write_all(format!("{said}\n").as_bytes());
        }
    }));
}

/// Standard error with secrets redacted.
struct Redacted;

impl<'a> MakeWriter<'a> for Redacted {
    type Writer = Self;

    fn make_writer(&'a self) -> Self::Writer {
        Self
    }
}

/// A log line is written in one piece, so that no secret can span two writes.
impl Write for Redacted {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let hidden = HIDDEN.read();
        let redactor = hidden.redactor.clone();
        drop(hidden);
        let line_text = String::from_utf8_lossy(line);
        io::stderr().write_all(redactor.text(&line_text).as_bytes())?;
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}
