//! Logs: to standard error, as text on a terminal and as JSON elsewhere, without any secret that the
//! configuration names.

use std::{
    collections::BTreeSet,
    io::{self, IsTerminal as _, Write},
    sync::Arc,
};
use tracing_subscriber::{EnvFilter, fmt::MakeWriter, prelude::*};

/// A shorter secret would blank out ordinary words.
const SHORTEST: usize = 6;

/// Begins to log. `filter` is in tracing's own form: `info`, `countersign=debug,warn`.
pub fn start(filter: &str, secrets: &BTreeSet<String>) -> anyhow::Result<()> {
    let filter = EnvFilter::try_new(filter)?;
    let writer = Redacted::new(secrets);
    let registry = tracing_subscriber::registry().with(filter);
    if io::stderr().is_terminal() {
        registry.with(tracing_subscriber::fmt::layer().with_writer(writer)).try_init()?;
    } else {
        registry.with(tracing_subscriber::fmt::layer().json().with_writer(writer)).try_init()?;
    }
    Ok(())
}

/// Standard error, with `…` where a secret would stand.
#[derive(Clone)]
struct Redacted {
    secrets: Arc<Vec<String>>,
}

impl Redacted {
    fn new(secrets: &BTreeSet<String>) -> Self {
        let long = secrets.iter().filter(|s| s.len() >= SHORTEST);
        // Longer ones first: one may be a part of another.
        let mut secrets: Vec<_> = long.cloned().collect();
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        Self { secrets: Arc::new(secrets) }
    }

    fn redact(&self, text: &str) -> String {
        self.secrets.iter().fold(text.to_owned(), |text, secret| text.replace(secret, "…"))
    }
}

impl<'a> MakeWriter<'a> for Redacted {
    type Writer = Self;

    fn make_writer(&'a self) -> Self::Writer {
        self.clone()
    }
}

/// A log line is written in one piece, so that no secret can stand across two.
impl Write for Redacted {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let clean = self.redact(&String::from_utf8_lossy(line));
        io::stderr().write_all(clean.as_bytes())?;
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// O1
    #[test]
    fn a_secret_never_reaches_the_log() {
        let secrets = ["123456:abcdef".to_owned(), "123456:abcdef-longer".to_owned()];
        let redacted = Redacted::new(&secrets.into());
        let line = "GET /bot123456:abcdef-longer/getMe and 123456:abcdef";
        assert_eq!(redacted.redact(line), "GET /bot…/getMe and …");
    }
}
