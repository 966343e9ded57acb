//! A developer talks to the agent on the terminal, in a database of its own: a gateway that runs
//! beside it knows nothing of this channel.

use anyhow::Result;
use channels::terminal::Terminal;
use std::{
    collections::BTreeMap,
    io::{self, BufRead as _},
    sync::Arc,
};
use tokio::sync::mpsc;

use super::{App, Overrides};
use crate::{
    config::Config,
    gateway::{Connected, Manners, people::Allow},
    journal::role::Role,
    store::{conversations, process_lock::ProcessLock},
};

const ID: &str = "terminal";

/// A talk on the terminal, and what it needs.
pub struct Talk {
    pub app: App,
    pub terminal: Arc<Terminal>,
    _lock: Option<ProcessLock>,
}

/// Opens everything with the terminal as the only channel. Whoever sits there is the owner.
pub async fn open(mut config: Config, variables: &BTreeMap<String, String>) -> Result<Talk> {
    config.store.url = Some(format!("sqlite://{}", config.data_dir.join("terminal.db").display()));
    let lock = super::lock(&config).await?;
    config.channels.clear();
    let (typed, lines) = mpsc::channel(16);
    // Not a task: a read of the terminal ends with the process, or never.
    std::thread::spawn(move || {
        let lines = io::stdin().lock().split(b'\n').map_while(Result::ok);
        // Bytes that are no text do not end the talk.
        let mut lines = lines.map(|line| String::from_utf8_lossy(&line).into_owned());
        lines.all(|line| typed.blocking_send(line).is_ok())
    });
    let saved = config.data_dir.join("terminal");
    let terminal = Arc::new(Terminal::new(ID, "owner", lines, Box::new(io::stdout()), saved));
    let agent = &config.agents[0];
    let roles = BTreeMap::from([("owner".to_owned(), Role::Owner)]);
    let connected = Connected {
        channel: terminal.clone(),
        allow: Allow::Everybody,
        agent: agent.id.clone(),
        model: agent.model.clone(),
        manners: Manners { roles, ..Manners::default() },
        alone: false,
    };
    let channels = BTreeMap::from([(ID.to_owned(), connected)]);
    let app = App::open(&config, variables, Overrides { channels, ..Overrides::default() }).await?;
    Ok(Talk { app, terminal, _lock: lock })
}

/// Returns when there is nothing more to read, and all of it is answered.
pub async fn all_is_said(app: &App, terminal: &Terminal) -> Result<()> {
    terminal.ended().cancelled().await;
    let store = &app.gateway.store;
    while !store.read(|tx| Box::pin(async move { conversations::is_quiet(tx, ID).await })).await? {
        store.bell.outbox().await;
    }
    Ok(())
}
