//! A gateway whose configuration can be reloaded at run time, by SIGHUP, the API or the console. A second
//! [`App`] is opened next to the running one, and takes over once it is complete. The previous one
//! stops intake and finishes its work, like a node that shuts down.

use anyhow::{Context as _, Result, bail};
use serde_json::{Map, Value, json};
use std::{
    collections::{BTreeMap, BTreeSet},
    mem, net,
    path::PathBuf,
    sync::Arc,
};
use tokio::{net::TcpListener, sync::mpsc};
use tokio_util::task::TaskTracker;

use super::{App, GRACE, Overrides, secrets, settings_file::SettingsFile, shown};
use crate::{
    admin::{
        reload::{ProgramRequest, Reload, Requests},
        settings_file::FileRequest,
    },
    agent::redact::{Redactor, SECRETS_CHANGED},
    config::Config,
    store::{
        audit::{AuditKind, Fact},
        db::process_lock::ProcessLock,
    },
    telemetry,
};

/// Keys that require a restart, because running turns depend on them.
const FIXED: [&str; 2] = ["data_dir", "store."];

/// The running gateway, and how to build another one.
pub struct Serving {
    pub app: App,
    config: Config,
    secrets: BTreeSet<String>,
    settings: Arc<SettingsFile>,
    listener: net::TcpListener,
    requests: mpsc::Receiver<ProgramRequest>,
    asks: Requests,
    /// Previous apps that are still finishing their work.
    before: TaskTracker,
    /// The process lock, which a reload keeps.
    lock: Option<ProcessLock>,
}

/// A configuration that was read again.
struct NewConfig {
    config: Config,
    secrets: BTreeSet<String>,
    /// One per line.
    changes: Vec<String>,
}

impl Serving {
    /// `file` is the path from which `config` was read.
    pub async fn start(
        file: Option<PathBuf>,
        mut config: Config,
        variables: BTreeMap<String, String>,
    ) -> Result<Self> {
        let lock = super::lock(&config).await?;
        let listener = bind(&config)?;
        // For port 0 the system chooses a port, which sign-in links and the greeting must contain.
        config.admin.listen = listener.local_addr()?;
        let (asks, requests) = mpsc::channel(1);
        let app = open(&config, &variables, &listener, &asks).await?;
        let (before, secrets) = (TaskTracker::new(), secrets(&config, &variables));
        let settings = Arc::new(SettingsFile::new(file, variables));
        Ok(Self { app, config, secrets, settings, listener, requests, asks, before, lock })
    }

    /// The current configuration, with the actual address of the web server.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The configuration file and the variables that override it.
    pub fn settings(&self) -> &Arc<SettingsFile> {
        &self.settings
    }

    /// Waits for a request of the API or the console. Cancel safe.
    pub async fn next_request(&mut self) -> ProgramRequest {
        match self.requests.recv().await {
            Some(request) => request,
            // `asks` keeps the channel open, so this is never reached.
            None => std::future::pending().await,
        }
    }

    /// Carries out a reload. Cancel safe: either the new configuration is in effect, or nothing of
    /// it.
    pub async fn answer(&mut self, Reload { fact, answer }: Reload) {
        let _ = answer.send(self.reload(fact).await);
    }

    /// Carries out a request about the configuration file in the background.
    pub fn answer_file(&self, request: FileRequest) {
        let (settings, store) = (self.settings.clone(), self.app.gateway.store.clone());
        self.app.gateway.tasks.spawn(async move { settings.answer(request, &store).await });
    }

    /// Reloads the configuration, and returns the changes, one per line. After an error, nothing
    /// changes. The audit has a record of who requested it before anything changes, and another one
    /// of the outcome. A first record alone means that the process was interrupted, or that the
    /// second one could not be written.
    pub async fn reload(&mut self, fact: Option<Fact>) -> Result<Vec<String>> {
        let new = self.read()?;
        let Some(fact) = fact else { return Ok(new.changes) };
        let (changes, fact) = (new.changes.clone(), fact.with("changes", json!(new.changes)));
        let redactor = Redactor::new(self.secrets.union(&new.secrets).map(String::as_str));
        let about = |kind| Fact { kind, ..fact.clone() };
        self.note(about(AuditKind::ConfigurationReloadBegun)).await?;
        let replaced = self.replace(new).await;
        let end = match &replaced {
            Ok(()) => about(AuditKind::ConfigurationReloaded),
            Err(problem) => {
                let text = format!("{problem:#}");
                about(AuditKind::ConfigurationReloadFailed).with("problem", &*redactor.text(&text))
            }
        };
        // No reason to report that a configuration which is in effect was not applied.
        if let Err(problem) = self.note(end).await {
            let problem = format!("{problem:#}");
            tracing::error!(problem, "could not record the outcome of a reload");
        }
        replaced?;
        tracing::info!(changes = changes.join("; "), "configuration reloaded");
        Ok(changes)
    }

    async fn note(&self, fact: Fact) -> Result<()> {
        let gateway = &self.app.gateway;
        gateway.store.note(fact, gateway.clock.now()).await
    }

    /// Reads the configuration again. Fails if it contains a mistake or requires a restart.
    fn read(&self) -> Result<NewConfig> {
        let mut config = self.settings.load()?;
        let (listen, bound) = (&mut config.admin.listen, self.config.admin.listen);
        if listen.port() == 0 && listen.ip() == bound.ip() {
            *listen = bound;
        }
        let mut changes = changes(&self.config, &config)?;
        let secrets = secrets(&config, self.settings.variables());
        if secrets != self.secrets {
            changes.push(SECRETS_CHANGED.to_owned());
        }
        let fixed = |key: &str| changes.iter().any(|change| change.starts_with(key));
        if let Some(key) = FIXED.into_iter().find(|key| fixed(key)) {
            bail!("{}: cannot change while the gateway runs", key.trim_end_matches('.'));
        }
        Ok(NewConfig { config, secrets, changes })
    }

    /// Opens an app with this configuration, which then takes over. Nothing fails or waits after
    /// that.
    async fn replace(&mut self, new: NewConfig) -> Result<()> {
        let NewConfig { config, secrets, .. } = new;
        let listener = if config.admin.listen == self.config.admin.listen {
            self.listener.try_clone()?
        } else {
            bind(&config)?
        };
        telemetry::hide(&secrets);
        let app = open(&config, self.settings.variables(), &listener, &self.asks).await?;
        (self.config, self.secrets, self.listener) = (config, secrets, listener);
        let before = mem::replace(&mut self.app, app);
        // Immediately, so that removed secrets no longer authenticate requests.
        before.gateway.stop.cancel();
        self.before.spawn(async move {
            if let Err(problem) = before.drain().await {
                tracing::warn!(
                    problem = format!("{problem:#}"),
                    "could not release leases; they will expire"
                );
            }
        });
        Ok(())
    }

    /// Like [`App::stop`], including previous apps.
    pub async fn stop(self) -> Result<()> {
        self.before.close();
        let (stopped, _) =
            tokio::join!(self.app.stop(), tokio::time::timeout(GRACE, self.before.wait()));
        drop(self.lock);
        stopped
    }
}

/// Builds an app completely before starting it.
async fn open(
    config: &Config,
    variables: &BTreeMap<String, String>,
    listener: &net::TcpListener,
    asks: &Requests,
) -> Result<App> {
    let given = Overrides { requests: Some(asks.clone()), ..Overrides::default() };
    let listener = TcpListener::from_std(listener.try_clone()?)?;
    // Everything that can fail happens before this point. From here on the previous app is
    // replaced.
    let app = App::open(config, variables, given).await?;
    app.start();
    app.serve(listener);
    Ok(app)
}

fn bind(config: &Config) -> Result<net::TcpListener> {
    let listener = net::TcpListener::bind(config.admin.listen).with_context(|| {
        format!(
            "admin.listen: cannot open {}; is another gateway running? `serve --listen` and \
                COUNTERSIGN__ADMIN__LISTEN choose another address",
            config.admin.listen
        )
    })?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// Describes changes as `key: before → after`, without secrets.
fn changes(before: &Config, after: &Config) -> Result<Vec<String>> {
    let mut changes = Vec::new();
    compare("", Some(&shown(before)?), Some(&shown(after)?), &mut changes);
    Ok(changes)
}

fn compare(key: &str, before: Option<&Value>, after: Option<&Value>, changes: &mut Vec<String>) {
    if before == after {
        return;
    }
    let (old, new) = (before.and_then(by_name), after.and_then(by_name));
    if old.is_none() && new.is_none() {
        let text = |value: Option<&Value>| value.map_or("–".to_owned(), Value::to_string);
        changes.push(format!("{key}: {} → {}", text(before), text(after)));
        return;
    }
    let (old, new) = (old.unwrap_or_default(), new.unwrap_or_default());
    let names = old.keys().chain(new.keys().filter(|name| !old.contains_key(*name)));
    for name in names {
        let inner = if key.is_empty() { name.clone() } else { format!("{key}.{name}") };
        compare(&inner, old.get(name), new.get(name), changes);
    }
}

/// A table by its keys. A list of tables by their names, or by their positions if they have none.
fn by_name(value: &Value) -> Option<Map<String, Value>> {
    match value {
        Value::Object(table) => Some(table.clone()),
        Value::Array(list) if list.iter().any(Value::is_object) => {
            let named = list.iter().enumerate().map(|(place, entry)| {
                let name = ["id", "name"].into_iter().find_map(|key| entry[key].as_str());
                (name.map_or_else(|| place.to_string(), str::to_owned), entry.clone())
            });
            Some(named.collect())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Changes are reported by key.
    /// Proves O3.
    #[test]
    fn changed_keys_are_reported() {
        let before = json!({
            "limits": { "messages_per_minute": 30 },
            "channels": [{ "id": "tg", "allow": ["1"] }, { "id": "dc", "allow": [] }],
            "same": [{ "a": 1 }],
        });
        let after = json!({
            "limits": { "messages_per_minute": 60 },
            "channels": [{ "id": "dc", "allow": [] }, { "id": "tg", "allow": ["1", "2"] }],
            "same": [{ "a": 1 }],
            "more": "x",
        });
        let mut changes = Vec::new();
        compare("", Some(&before), Some(&after), &mut changes);
        changes.sort();
        assert_eq!(
            changes,
            [
                r#"channels.tg.allow: ["1"] → ["1","2"]"#,
                "limits.messages_per_minute: 30 → 60",
                r#"more: – → "x""#,
            ]
        );
    }
}
