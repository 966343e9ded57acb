//! A conversation with the agent in the terminal, for developers. It has its own database, so a
//! running gateway does not know this channel.

use anyhow::Result;
use channels::{limits::RateLimits, terminal::Terminal};
use std::{
    collections::BTreeMap,
    io::{self, BufRead as _},
    sync::Arc,
};
use tokio::sync::mpsc;

use super::{App, Overrides};
use crate::{
    config::Config,
    gateway::{ChannelSettings, Connected, people::Allow},
    journal::role::Role,
    store::{
        approvals::{self, display},
        conversations::{self, journal},
        db::process_lock::ProcessLock,
    },
};

const ID: &str = "terminal";

/// A conversation in the terminal.
pub struct TerminalChat {
    pub app: App,
    pub terminal: Arc<Terminal>,
    _lock: Option<ProcessLock>,
}

/// Opens everything with the terminal as the only channel, whose user is the owner.
pub async fn open(
    mut config: Config,
    variables: &BTreeMap<String, String>,
) -> Result<TerminalChat> {
    config.store.url = Some(format!("sqlite://{}", config.data_dir.join("terminal.db").display()));
    let lock = super::lock(&config).await?;
    config.channels.clear();
    let (typed, lines) = mpsc::channel(16);
    // A thread rather than a task, because a read from the terminal cannot be cancelled.
    std::thread::spawn(move || {
        let lines = io::stdin().lock().split(b'\n').map_while(Result::ok);
        // Invalid UTF-8 does not end the conversation.
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
        settings: ChannelSettings { roles, ..ChannelSettings::default() },
        rate_limits: RateLimits::default(),
        alone: false,
    };
    let channels = BTreeMap::from([(ID.to_owned(), connected)]);
    let app = App::open(&config, variables, Overrides { channels, ..Overrides::default() }).await?;
    Ok(TerminalChat { app, terminal, _lock: lock })
}

/// Shows open approvals again. They cannot be decided before, because the screen that showed them
/// may be gone.
pub async fn show_open_approvals(app: &App) -> Result<()> {
    let now = app.gateway.clock.now();
    let write = app.gateway.store.write("show approvals again", move |tx| {
        Box::pin(async move {
            let place = Terminal::place();
            let Some(conversation) = journal::find_conversation(tx, ID, &place).await? else {
                return Ok(());
            };
            for approval in approvals::shown_beside(tx, &conversation).await? {
                display::show_again(tx, &approval, &conversation, None, now).await?;
            }
            Ok(())
        })
    });
    write.await
}

/// Returns when the input has ended and every message is answered.
pub async fn until_all_answered(app: &App, terminal: &Terminal) -> Result<()> {
    terminal.ended().cancelled().await;
    let store = &app.gateway.store;
    while !store.read(|tx| Box::pin(async move { conversations::is_quiet(tx, ID).await })).await? {
        store.notifier.sent().await;
    }
    Ok(())
}
