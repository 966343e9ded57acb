//! `countersign pair`: a code that lets one person in, and the link that sends it.

use anyhow::{Result, ensure};
use chrono::TimeDelta;
use std::collections::BTreeMap;

use super::OPERATOR;
use crate::{
    app,
    clock::{Clock as _, SystemClock},
    config::Config,
    gateway::people,
    store::{audit::Fact, people as remembered},
};

/// What to tell the operator, once the code counts.
pub(super) async fn offer(
    (config, variables): (&Config, &BTreeMap<String, String>),
    channel: Option<String>,
    hours: u32,
) -> Result<String> {
    if let Some(channel) = &channel {
        let known = config.channels.iter().any(|c| c.id == *channel);
        ensure!(known, "there is no channel `{channel}` in the configuration");
    }
    let code = people::new_code();
    let expires_at = SystemClock.now() + TimeDelta::hours(hours.into());
    let (only, offered) = (channel.clone().unwrap_or_default(), code.clone());
    let store = app::open_store(config).await?;
    let fact = Fact::new("pairing_offered", OPERATOR)
        .with("channel", only.as_str())
        .with("expires_at", expires_at.to_rfc3339());
    store.note(fact, SystemClock.now()).await?;
    store
        .write("offer pairing", move |tx| {
            Box::pin(
                async move { remembered::offer_pairing(tx, &only, &offered, expires_at).await },
            )
        })
        .await?;
    let bots = app::channels::telegram_names(config, variables, channel.as_deref()).await;
    let links: Vec<_> =
        bots.iter().map(|bot| format!("https://t.me/{bot}?start={code}\n")).collect();
    let or = if links.is_empty() { "Send this" } else { "Open the link, or send the code" };
    let link = if links.is_empty() { String::new() } else { links.concat() + "\n" };
    Ok(format!("{code}\n\n{link}{or} to the bot. It works once, for {hours} hours."))
}
