//! `countersign serve`: runs the gateway until it is stopped.

use anyhow::{Context as _, Result};
use clap::Args;
use std::{collections::BTreeMap, io::IsTerminal as _, path::PathBuf, time::Duration};
use tokio::{
    runtime::Handle,
    signal::unix::{Signal, SignalKind, signal},
};

use super::{doctor, report::Report, say, token};
use crate::{
    admin::reload::{CheckRequest, ProgramRequest},
    agent::redact::Redactor,
    app::reload::Serving,
    clock::stops_within,
    config::{Config, ProviderName, channels, listen},
    gateway::Gateway,
    store::{
        Store,
        audit::{AuditKind, Fact},
        channels::{ChannelState, ChannelStatus},
        people::web_sessions,
    },
};

#[derive(Debug, Default, Args)]
pub(super) struct Serve {
    /// Where to listen, instead of `admin.listen`: an address or host name with a port, or a port of
    /// 127.0.0.1
    #[arg(long, value_name = "ADDRESS", value_parser = address)]
    listen: Option<String>,
}

fn address(text: &str) -> Result<String, String> {
    listen::parse(text).map(|_| text.to_owned())
}

impl Serve {
    /// The environment variable that sets the same address.
    pub(super) fn variable(&self) -> Option<(String, String)> {
        let listen = self.listen.as_ref()?;
        Some(("COUNTERSIGN__ADMIN__LISTEN".to_owned(), listen.clone()))
    }
}

pub async fn run(
    file: Option<PathBuf>,
    config: Config,
    variables: BTreeMap<String, String>,
) -> Result<()> {
    let mut signals = Signals::listen()?;
    let mut serving = tokio::select! {
        started = Serving::start(file, config, variables) => started?,
        _ = signals.next() => return Ok(()),
    };
    let config = serving.config();
    let link = link(config, &serving.app.gateway.store).await?;
    say(&greeting(config, link.as_deref()))?;
    let gateway = serving.app.gateway.clone();
    let redactor = serving.app.worker.redactor.clone();
    let tasks = gateway.tasks.clone();
    tasks.spawn(async move { say_connected(&gateway, &redactor).await });
    loop {
        let request = tokio::select! {
            request = serving.next_request() => request,
            asked = signals.next() => match asked {
                SignalAction::End => break,
                SignalAction::HangUp => tokio::select! {
                    () = read_again(&mut serving) => continue,
                    () = signals.end() => break,
                }
            }
        };
        match request {
            // A reload waits for servers and databases.
            ProgramRequest::Reload(request) => tokio::select! {
                () = serving.answer(request) => {}
                () = signals.end() => break,
            },
            ProgramRequest::File(request) => serving.answer_file(*request),
            ProgramRequest::Check(request) => check(&serving, request),
        }
    }
    tracing::info!("stopping");
    serving.stop().await
}

/// How long to wait for the platforms at startup, and how often to check.
const CONNECT_WITHIN: Duration = Duration::from_secs(30);
const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// Prints the state of each platform channel as soon as it is known. Failing to print ends nothing,
/// because nobody may be reading the output any more.
async fn say_connected(gateway: &Gateway, redactor: &Redactor) {
    let platforms = gateway.channels.iter().filter(|(_, connected)| connected.alone);
    let mut waiting: Vec<_> = platforms.map(|(id, _)| id).collect();
    let mut attempts = CONNECT_WITHIN.as_millis() / POLL_INTERVAL.as_millis();
    while !waiting.is_empty() && attempts > 0 {
        // Polls in real time, because nothing signals what another node reports.
        if stops_within(POLL_INTERVAL, &gateway.stop).await {
            return;
        }
        attempts -= 1;
        // The error is logged elsewhere.
        let Ok(states) = gateway.channel_states().await else { continue };
        waiting.retain(|id| {
            let Some(line) = states.get(*id).and_then(|state| connection(id, state)) else {
                return true;
            };
            let _ = say(redactor.own(&line).as_ref());
            false
        });
    }
    for id in waiting {
        let _ = say(&format!("  {id:<10} not connected yet; the console shows its state"));
    }
}

/// The line for a channel; `None` while there is no result.
fn connection(id: &str, state: &ChannelState) -> Option<String> {
    match (state.status, &state.problem) {
        (ChannelStatus::Connected, _) => {
            Some(format!("  {id:<10} connected; `countersign pair` creates a pairing code"))
        }
        (ChannelStatus::Disconnected, Some(problem)) if state.since.is_some() => {
            Some(format!("  {id:<10} NOT connected: {}", problem.text))
        }
        _ => None,
    }
}

/// The sign-in link to print. The output of a service is kept in logs, so a service prints the link
/// only until somebody has signed in for the first time.
async fn link(config: &Config, store: &Store) -> Result<Option<String>> {
    let signed_in = store.read(|tx| Box::pin(web_sessions::has_any_sign_in(tx))).await?;
    if signed_in && !std::io::stdout().is_terminal() {
        return Ok(None);
    }
    token::sign_in_link(config, store, channels::OWNER_NAME.into()).await.map(Some)
}

/// How long the checks for the console may take.
const CHECK_WITHIN: Duration = Duration::from_mins(2);

/// Runs the checks of `countersign doctor` in the background, on a thread of their own: they read
/// files and probe programs.
fn check(serving: &Serving, CheckRequest { extent, answer }: CheckRequest) {
    let (settings, runtime) = (serving.settings().clone(), Handle::current());
    serving.app.gateway.tasks.spawn_blocking(move || {
        let report = doctor::report(settings.path(), settings.variables(), extent);
        let report = runtime.block_on(async { tokio::time::timeout(CHECK_WITHIN, report).await });
        let results = report.map(Report::into_results);
        let _ = answer.send(results.context("the checks did not end within two minutes"));
    });
}

async fn read_again(serving: &mut Serving) {
    let by = Fact::new(AuditKind::ConfigurationReloaded, "").with("through", "SIGHUP");
    if let Err(problem) = serving.reload(Some(by)).await {
        let problem = format!("{problem:#}");
        tracing::error!(problem, "could not reload the configuration; nothing has changed");
    }
}

/// The action that a signal requests.
pub(super) enum SignalAction {
    End,
    /// The terminal was closed, or a reload of the configuration is requested.
    HangUp,
}

/// Handles signals from startup on, so that none is lost and none kills the process.
pub(super) struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hang_up: Signal,
}

impl Signals {
    pub(super) fn listen() -> Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hang_up: signal(SignalKind::hangup())?,
        })
    }

    pub(super) async fn next(&mut self) -> SignalAction {
        tokio::select! {
            _ = self.terminate.recv() => SignalAction::End,
            _ = self.interrupt.recv() => SignalAction::End,
            _ = self.hang_up.recv() => SignalAction::HangUp,
        }
    }

    /// Waits for a request to end. A request to reload waits for [`Self::next`].
    async fn end(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

fn greeting(config: &Config, link: Option<&str>) -> String {
    let web = config.web_url();
    let mut lines = vec![
        "Countersign is running.\n".to_owned(),
        format!("  Web chat   {web}"),
        format!("  Console    {web}/console"),
        format!("  API        {web}/api, health at {web}/readyz"),
    ];
    match link {
        Some(link) => lines.extend([
            format!("  Sign in    {link}"),
            "             (valid once, for an hour; `countersign token` prints another)".to_owned(),
        ]),
        None => lines.push("  Sign in    `countersign token` prints a link".to_owned()),
    }
    for channel in config.channels.iter().filter(|c| c.token.is_some()) {
        let id = &channel.id;
        lines.push(format!("  {id:<10} connecting…"));
    }
    if config.models.iter().any(|m| m.provider == ProviderName::Demo) {
        lines.push(NO_KEY.to_owned());
    }
    if link.is_some() {
        lines.push("\nNext: open the sign-in link, and ask the agent what it can do.".to_owned());
    }
    lines.join("\n")
}

const NO_KEY: &str = "
  No model API key found, so the built-in demo model is answering: a script, not
  a language model. Set OPENAI_API_KEY, ANTHROPIC_API_KEY, GEMINI_API_KEY or
  OLLAMA_HOST, and restart.";

#[cfg(test)]
mod tests {
    use super::*;
    use insta::assert_snapshot;
    use std::collections::BTreeMap;

    #[test]
    fn the_greeting_names_the_addresses_and_the_next_step() {
        let mut config = Config::load(None, &BTreeMap::new()).unwrap();
        assert_snapshot!(greeting(&config, Some("http://127.0.0.1:8642/sign-in?token=x")), @"
        Countersign is running.

          Web chat   http://127.0.0.1:8642
          Console    http://127.0.0.1:8642/console
          API        http://127.0.0.1:8642/api, health at http://127.0.0.1:8642/readyz
          Sign in    http://127.0.0.1:8642/sign-in?token=x
                     (valid once, for an hour; `countersign token` prints another)

          No model API key found, so the built-in demo model is answering: a script, not
          a language model. Set OPENAI_API_KEY, ANTHROPIC_API_KEY, GEMINI_API_KEY or
          OLLAMA_HOST, and restart.

        Next: open the sign-in link, and ask the agent what it can do.
        ");
        config.models[0].provider = ProviderName::Ollama;
        assert_snapshot!(greeting(&config, None), @"
        Countersign is running.

          Web chat   http://127.0.0.1:8642
          Console    http://127.0.0.1:8642/console
          API        http://127.0.0.1:8642/api, health at http://127.0.0.1:8642/readyz
          Sign in    `countersign token` prints a link
        ");
    }
}
