//! Logs: to standard error, as text on a terminal and as JSON elsewhere, without any secret that the
//! configuration names.

use std::{
    collections::BTreeSet,
    io::{self, IsTerminal as _, Write},
    sync::Arc,
};
use tracing_subscriber::{EnvFilter, fmt::MakeWriter, prelude::*};

use crate::agent::redact::Redactor;

/// Begins to log. `filter` is in tracing's own form: `info`, `countersign=debug,warn`.
pub fn start(filter: &str, secrets: &BTreeSet<String>) -> anyhow::Result<()> {
    let filter = EnvFilter::try_new(filter)?;
    let writer = Redacted(Arc::new(Redactor::new(secrets.iter().map(String::as_str))));
    let registry = tracing_subscriber::registry().with(filter);
    if io::stderr().is_terminal() {
        registry.with(tracing_subscriber::fmt::layer().with_writer(writer)).try_init()?;
    } else {
        registry.with(tracing_subscriber::fmt::layer().json().with_writer(writer)).try_init()?;
    }
    Ok(())
}

/// Standard error, with a mark where a secret would stand.
#[derive(Clone)]
struct Redacted(Arc<Redactor>);

impl<'a> MakeWriter<'a> for Redacted {
    type Writer = Self;

    fn make_writer(&'a self) -> Self::Writer {
        self.clone()
    }
}

/// A log line is written in one piece, so that no secret can stand across two.
impl Write for Redacted {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let line_text = String::from_utf8_lossy(line);
        io::stderr().write_all(self.0.text(&line_text).as_bytes())?;
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}
