//! `countersign pair`: creates a pairing code, and a link that sends it.

use anyhow::{Result, ensure};
use chrono::TimeDelta;
use std::collections::BTreeMap;

use super::OPERATOR;
use crate::{
    app,
    clock::{Clock as _, SystemClock},
    config::Config,
    gateway::pairing::new_code,
    journal::role::Role,
    store::{
        audit::{self, AuditKind, Fact},
        people::pairing::{self, OwnerSource, PairingOffer, PairingRole},
    },
};

/// The parameters of a new code.
pub(super) struct PairArgs {
    pub channel: Option<String>,
    pub role: Option<Role>,
    pub hours: u32,
}

pub(super) fn role(text: &str) -> Result<Role, String> {
    let known = "the roles are viewer, member, approver, operator and owner";
    Role::parse(text).ok_or_else(|| known.to_owned())
}

/// Creates the code and returns the instructions for the operator.
pub(super) async fn offer(
    config: &Config,
    variables: &BTreeMap<String, String>,
    PairArgs { channel, role, hours }: PairArgs,
) -> Result<String> {
    if let Some(channel) = &channel {
        let known = config.channels.iter().any(|c| c.id == *channel);
        ensure!(known, "there is no channel `{channel}` in the configuration");
    }
    let code = new_code();
    let expires_at = SystemClock.now() + TimeDelta::hours(hours.into());
    let only = channel.clone().unwrap_or_default();
    let store = app::database::open_store(config).await?;
    let fact = Fact::new(AuditKind::PairingOffered, OPERATOR)
        .with("channel", only.as_str())
        .with("expires_at", expires_at.to_rfc3339());
    let (now, owned) = (SystemClock.now(), owned(config));
    let offered = code.clone();
    let makes = store
        .write("offer pairing", move |tx| {
            Box::pin(async move {
                let makes = match role {
                    Some(role) => PairingRole::Role(role),
                    None => PairingRole::by_default(tx, owned).await?,
                };
                let offer = PairingOffer { channel: only, code: offered, makes, expires_at };
                pairing::offer_pairing(tx, &offer).await?;
                let fact = fact.with("role", makes.as_str());
                audit::append(tx, audit::ADMIN, vec![fact], now).await?;
                Ok(makes)
            })
        })
        .await?;
    let bots = app::channels::telegram_names(config, variables, channel.as_deref()).await;
    let links: Vec<_> =
        bots.iter().map(|bot| format!("https://t.me/{bot}?start={code}\n")).collect();
    let or = if links.is_empty() { "Send this" } else { "Open the link, or send the code" };
    let link = if links.is_empty() { String::new() } else { links.concat() + "\n" };
    let becomes = becomes(makes);
    Ok(format!("{code}\n\n{link}{or} to the bot. It works once, for {hours} hours.\n{becomes}"))
}

/// Whether the configuration names an owner.
fn owned(config: &Config) -> OwnerSource {
    let roles = config.channels.iter().flat_map(|channel| {
        let mut roles = channel.all_roles();
        roles.retain(|id, _| channel.local_owner() != Some(id));
        roles.into_values()
    });
    OwnerSource::by(&roles.collect::<Vec<_>>())
}

fn becomes(makes: PairingRole) -> String {
    match makes {
        PairingRole::FirstOwner => {
            "This gateway has no owner yet: the person who redeems the code becomes its owner and \
                can do everything."
                .to_owned()
        }
        PairingRole::Role(role) => format!(
            "The person who redeems the code gets the role {}. Use --role for a different one. A \
                visitor of a widget is always a member.",
            role.as_str()
        ),
    }
}
