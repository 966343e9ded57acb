//! What a local server writes to its standard error: its last lines are kept for people who look
//! for the cause of a problem.

use channels::text::neutralise;
use futures::FutureExt as _;
use parking_lot::Mutex;
use rmcp::{
    RoleClient,
    service::{RxJsonRpcMessage, TxJsonRpcMessage},
    transport::{TokioChildProcess, Transport},
};
use sandbox::egress::KeptProxy;
use secrecy::ExposeSecret;
use std::{
    collections::VecDeque,
    convert::Infallible,
    future::{Future, pending},
    io,
    sync::Arc,
    time::Duration,
};
use tokio::{io::AsyncReadExt as _, process::ChildStderr, time::timeout};

use super::McpConfig;
use crate::{agent::redact::Redactor, tools::ToolError};

/// The maximum number of bytes that are kept for each server.
const KEPT_BYTES: usize = 4 * 1024;
/// The maximum number of lines in an error message, and of characters in one of them.
const TOLD_LINES: usize = 8;
const LINE_CHARS: usize = 300;
/// How long the last output of a process is read after it has closed its standard output.
const REST_FOR: Duration = Duration::from_millis(200);

/// The last lines of a server's standard error, as it wrote them.
#[derive(Debug, Default)]
pub(super) struct LastLines(Mutex<KeptOutput>);

#[derive(Debug, Default)]
struct KeptOutput {
    bytes: VecDeque<u8>,
    /// Whether earlier bytes were dropped, so that the first line is incomplete.
    cut: bool,
}

impl LastLines {
    fn append(&self, bytes: &[u8]) {
        let mut kept = self.0.lock();
        kept.bytes.extend(bytes);
        let excess = kept.bytes.len().saturating_sub(KEPT_BYTES);
        kept.bytes.drain(..excess);
        kept.cut |= excess > 0;
    }

    /// A new process begins with no lines.
    pub fn clear(&self) {
        *self.0.lock() = KeptOutput::default();
    }

    /// The lines without the secrets of the server's configuration, and without anything else that
    /// looks like a secret. An incomplete line is omitted, because a part of a secret would not be
    /// recognised.
    pub fn lines(&self, config: &McpConfig) -> Vec<String> {
        let text = {
            let kept = self.0.lock();
            let bytes: Vec<u8> = kept.bytes.iter().copied().collect();
            let text = String::from_utf8_lossy(&bytes);
            let whole = if kept.cut { text.find('\n').map_or(text.len(), |at| at + 1) } else { 0 };
            text[whole..].to_owned()
        };
        let secrets = config.env.values().map(ExposeSecret::expose_secret);
        let clean = Redactor::new(secrets).text(&text).into_owned();
        let lines = clean.lines().map(str::trim_end).filter(|line| !line.is_empty());
        lines.map(shortened).collect()
    }

    /// The error with the last lines, if there are any.
    pub fn explain(&self, config: &McpConfig, error: ToolError) -> ToolError {
        let lines = self.lines(config);
        let last = &lines[lines.len().saturating_sub(TOLD_LINES)..];
        match error {
            ToolError::ExternalService(what) if !last.is_empty() => ToolError::ExternalService(
                format!("{what}\nThe last lines of its standard error:\n{}", last.join("\n")),
            ),
            other => other,
        }
    }

    /// Reads until the process closes its standard error, and never returns.
    async fn follow(&self, stderr: &mut Option<ChildStderr>) -> Infallible {
        self.drain(stderr).await;
        pending().await
    }

    async fn drain(&self, stderr: &mut Option<ChildStderr>) {
        let mut bytes = Vec::with_capacity(KEPT_BYTES);
        while let Some(open) = stderr {
            bytes.clear();
            match open.read_buf(&mut bytes).await {
                Ok(read) if read > 0 => self.append(&bytes),
                _ => *stderr = None,
            }
        }
    }
}

fn shortened(line: &str) -> String {
    match line.char_indices().nth(LINE_CHARS) {
        Some((at, _)) => format!("{}…", neutralise(&line[..at])),
        None => neutralise(line),
    }
}

/// A server's process, whose standard error is read together with its messages.
pub(super) struct LocalServer {
    process: TokioChildProcess,
    stderr: Option<ChildStderr>,
    lines: Arc<LastLines>,
    /// Open as long as the process runs.
    _proxy: Option<KeptProxy>,
}

impl LocalServer {
    pub fn new(
        process: TokioChildProcess,
        stderr: Option<ChildStderr>,
        lines: Arc<LastLines>,
        proxy: Option<KeptProxy>,
    ) -> Self {
        Self { process, stderr, lines, _proxy: proxy }
    }
}

/// Keeps what was written before a connection that never began has failed.
impl Drop for LocalServer {
    fn drop(&mut self) {
        let lines = self.lines.clone();
        let _ = lines.drain(&mut self.stderr).now_or_never();
    }
}

impl Transport<RoleClient> for LocalServer {
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.process.send(item)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        let message = tokio::select! {
            message = self.process.receive() => message,
            never = self.lines.follow(&mut self.stderr) => match never {},
        };
        if message.is_none() {
            // The reason why a server ends is usually the last thing that it writes.
            let _ = timeout(REST_FOR, self.lines.drain(&mut self.stderr)).await;
        }
        message
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        tokio::select! {
            closed = self.process.close() => closed,
            never = self.lines.follow(&mut self.stderr) => match never {},
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::mcp::testing::config;

    #[test]
    fn the_last_lines_are_kept_within_limits_and_without_secrets() {
        let config =
            McpConfig { env: [("KEY".into(), "hunter2secret".into())].into(), ..config("m") };
        let lines = LastLines::default();
        lines.append(b"starting\n\nusing hunter2");
        lines.append(b"secret\n\x1b[31mcaf\xe9\n");
        let read = lines.lines(&config);
        assert_eq!(read[..2], ["starting".to_owned(), "using …".to_owned()]);
        assert!(!read[2].contains('\u{1b}') && read[2].contains("caf\u{fffd}"), "{read:?}");
        for n in 0..1_000 {
            lines.append(format!("line {n} hunter2secret\n").as_bytes());
        }
        let read = lines.lines(&config);
        assert!(read.len() > 100 && read.len() * 10 < KEPT_BYTES, "{}", read.len());
        assert!(read.iter().all(|line| line.starts_with("line ") && line.ends_with(" …")));
        let failed = lines.explain(&config, ToolError::ExternalService("It died.".into()));
        assert_eq!(failed.to_string().lines().count(), 2 + TOLD_LINES);
        lines.append("x".repeat(10_000).as_bytes());
        assert_eq!(lines.lines(&config), Vec::<String>::new(), "only a part of one line is left");
        lines.clear();
        lines.append("y".repeat(1_000).as_bytes());
        assert_eq!(lines.lines(&config)[0].chars().count(), LINE_CHARS + 1);
    }
}
