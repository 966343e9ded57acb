//! Connects the configured channels.

use anyhow::{Context as _, Result};
use channels::{
    SendError,
    discord::Admission,
    telegram::{Menu, Mode, Telegram, TelegramConfig},
    web::{ReadUpload, Web},
};
use futures::{FutureExt as _, future::join_all};
use std::{collections::BTreeMap, sync::Arc, time::Duration};

use super::discord;
use crate::{
    config::{ChannelEntry, ChannelKind, ChannelMode, Config, build, pace},
    gateway::{
        ChannelSettings, Connected,
        people::{self, Allow},
    },
    journal::role::Role,
    store::{Store, conversations::places, files::Artifacts},
    texts::{self, Language},
};

type Channels = BTreeMap<String, Connected>;
type Webs = BTreeMap<String, Arc<Web>>;

pub async fn connect(
    config: &Config,
    variables: &BTreeMap<String, String>,
    store: &Store,
    artifacts: &Artifacts,
) -> Result<(Channels, Webs)> {
    let (mut channels, mut webs) = (Channels::new(), Webs::new());
    for entry in &config.channels {
        let channel: Arc<dyn channels::Channel> = match entry.kind {
            ChannelKind::Telegram => Arc::new(
                telegram(entry, variables).with_context(|| format!("channels.{}", entry.id))?,
            ),
            ChannelKind::Discord => {
                let admission = admission(entry, settings(entry)?, store);
                let discord = discord::connect(entry, variables, admission)
                    .with_context(|| format!("channels.{}", entry.id))?;
                discord.remember(private_chats(store, &entry.id).await?);
                Arc::new(discord)
            }
            ChannelKind::Web => {
                let web = Web::new(&entry.id).embedded(entry.origins.clone());
                let web = Arc::new(web.with_uploads(uploads(artifacts.clone())));
                webs.insert(entry.id.clone(), web.clone());
                web
            }
        };
        let platform = channel.limits().rate_limits;
        let rate_limits = pace::rate_limits(&entry.pace, platform)
            .with_context(|| format!("channels.{}.pace", entry.id))?;
        let connected = Connected {
            channel,
            rate_limits,
            allow: Allow::from_list(&entry.allow),
            agent: entry.agent.clone(),
            model: model_of(config, &entry.agent),
            settings: settings(entry)?,
            alone: entry.kind != ChannelKind::Web,
        };
        channels.insert(entry.id.clone(), connected);
    }
    Ok((channels, webs))
}

/// Reads uploaded files, which are stored as artifacts.
fn uploads(artifacts: Artifacts) -> ReadUpload {
    Arc::new(move |digest| {
        let artifacts = artifacts.clone();
        async move {
            let read = artifacts.read(&digest).await;
            read.map_err(|problem| SendError::Gone(format!("{problem:#}")))
        }
        .boxed()
    })
}

fn model_of(config: &Config, agent: &str) -> String {
    let agent = config.agents.iter().find(|entry| entry.id == agent);
    agent.map(|agent| agent.model.clone()).unwrap_or_default()
}

fn settings(entry: &ChannelEntry) -> Result<ChannelSettings> {
    let debounce = build::duration(&entry.debounce)
        .with_context(|| format!("channels.{}.debounce", entry.id))?;
    Ok(ChannelSettings {
        queue: entry.while_busy,
        debounce,
        roles: entry.all_roles(),
        local_owner: entry.local_owner().map(str::to_owned),
        per_person: entry.per_person,
    })
}

/// Admits people who may talk on the channel. If the database is unavailable, everyone is admitted
/// here, because the press of a button is checked again when it is processed.
fn admission(entry: &ChannelEntry, settings: ChannelSettings, store: &Store) -> Admission {
    let (store, channel) = (store.clone(), entry.id.clone());
    let (allow, roles) = (Allow::from_list(&entry.allow), settings.roles);
    Admission::by(move |person| {
        let (store, channel) = (store.clone(), channel.clone());
        let (allow, roles) = (allow.clone(), roles.clone());
        let role = async move {
            let read = store.read(move |tx| {
                Box::pin(async move { people::role(tx, &channel, &allow, &roles, &person).await })
            });
            read.await.map_or(true, |role| role.is_some_and(|role| role >= Role::Member))
        };
        role.boxed()
    })
}

/// The known private chats, which Discord's API does not list.
async fn private_chats(store: &Store, channel: &str) -> Result<Vec<u64>> {
    let channel = channel.to_owned();
    let chats = store
        .read(move |tx| Box::pin(async move { places::private_chats(tx, &channel).await }))
        .await?;
    Ok(chats.iter().filter_map(|chat| chat.parse().ok()).collect())
}

/// Checks whether the platform accepts the account of the channel.
pub async fn check(entry: &ChannelEntry, variables: &BTreeMap<String, String>) -> Result<()> {
    let channel: Box<dyn channels::Channel> = match entry.kind {
        ChannelKind::Telegram => Box::new(telegram(entry, variables)?),
        ChannelKind::Discord => Box::new(discord::connect(entry, variables, Admission::default())?),
        ChannelKind::Web => return Ok(()),
    };
    Ok(channel.check().await?)
}

/// The timeout for reading a bot's name where the name is optional.
const NAME_WITHIN: Duration = Duration::from_secs(5);

/// The names of Telegram bots, of all channels or of one. Bots that do not answer are left out.
pub async fn telegram_names(
    config: &Config,
    variables: &BTreeMap<String, String>,
    channel: Option<&str>,
) -> Vec<String> {
    let asked = config
        .channels
        .iter()
        .filter(|entry| entry.kind == ChannelKind::Telegram)
        .filter(|entry| channel.is_none_or(|channel| entry.id == channel))
        .filter_map(|entry| telegram(entry, variables).ok())
        .map(async |bot| bot.name(NAME_WITHIN).await);
    join_all(asked).await.into_iter().flatten().collect()
}

fn telegram(entry: &ChannelEntry, variables: &BTreeMap<String, String>) -> Result<Telegram> {
    let token = entry.token.as_ref().context("token is missing")?;
    let usual = || "https://api.telegram.org".parse().expect("a constant");
    let mode = match entry.mode {
        ChannelMode::Poll => Mode::Poll,
        ChannelMode::Webhook => {
            let secret = entry.webhook_secret.as_ref().context("webhook_secret is missing")?;
            Mode::Webhook {
                url: entry.webhook_url.clone().context("webhook_url is missing")?,
                secret: secret.reveal(variables).context("webhook_secret")?,
                before: entry
                    .previous_webhook_secret
                    .as_ref()
                    .map(|secret| secret.reveal(variables).context("previous_webhook_secret"))
                    .transpose()?,
            }
        }
    };
    Ok(Telegram::new(TelegramConfig {
        id: entry.id.clone(),
        token: token.reveal(variables).context("token")?,
        api_url: entry.api_url.clone().unwrap_or_else(usual),
        mode,
        menus: menus(),
    }))
}

/// The menus in English as the default, and in each language for its users.
fn menus() -> Vec<Menu> {
    let menu = |language: Option<Language>| {
        let says = language.unwrap_or_default().words().menu;
        let commands =
            texts::MENU.iter().zip(says).map(|(name, says)| ((*name).into(), says.into()));
        Menu { language: language.map(|l| l.tag().into()), commands: commands.collect() }
    };
    let others = Language::ALL.into_iter().filter(|language| *language != Language::English);
    std::iter::once(None).chain(others.map(Some)).map(menu).collect()
}
