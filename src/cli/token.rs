//! `countersign token`: lets a browser or a program in.

use anyhow::{Context as _, Result, ensure};
use chrono::TimeDelta;
use clap::{Args, Subcommand};

use super::OPERATOR;
use crate::{
    admin::api::tokens,
    clock::{Clock as _, SystemClock},
    config::Config,
    gateway::secret,
    journal::role::Role,
    store::{
        Store,
        audit::{self, Fact},
        lists::Stretch,
        people::{self, Access},
        tokens as api_tokens,
        web_sessions::{self, AccessId},
    },
};

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Token {
    #[command(subcommand)]
    what: Option<TokenCommand>,
    /// Who signs in
    #[arg(long, default_value = "owner")]
    name: String,
    /// A token for the API instead, of this name
    #[arg(long, value_name = "NAME", requires = "role")]
    api: Option<String>,
    /// What the token may do: viewer, approver, operator or owner
    #[arg(long, value_parser = role, requires = "api")]
    role: Option<Role>,
    /// The token ends after so many days [default: never]
    #[arg(long, requires = "api", value_parser = clap::value_parser!(i64).range(1..=3650))]
    days: Option<i64>,
}

#[derive(Debug, Subcommand)]
enum TokenCommand {
    /// List web sessions, unused sign-in links and tokens of the API
    List,
    /// End a session, a link or a token, at once
    Revoke {
        /// Its id, as `token list` shows it; of a token also its name
        #[arg(required_unless_present = "sessions_of")]
        which: Option<String>,
        /// All sessions and links of this person instead
        #[arg(long, value_name = "NAME", conflicts_with = "which")]
        sessions_of: Option<String>,
    },
}

fn role(text: &str) -> Result<Role, String> {
    let known = Role::parse(text).filter(|role| *role != Role::Member);
    known.ok_or_else(|| "there are viewer, approver, operator and owner".to_owned())
}

/// What to print: the link, or the token.
pub async fn run(config: &Config, store: &Store, wish: Token) -> Result<String> {
    let Token { what, name, api, role, days } = wish;
    match what {
        Some(TokenCommand::List) => return list(store).await,
        Some(TokenCommand::Revoke { sessions_of: Some(person), .. }) => {
            return end_sessions(store, person).await;
        }
        Some(TokenCommand::Revoke { which, .. }) => {
            return revoke(store, which.unwrap_or_default()).await;
        }
        None => {}
    }
    let Some(api) = api else { return sign_in_link(config, store, name).await };
    let role = role.context("--role says what the token may do")?;
    ensure!(tokens::is_name(&api), "a name has 1 to 64 characters, and no space at its ends");
    let now = SystemClock.now();
    let token = tokens::new(&api, role, days, (OPERATOR, now));
    let fact = Fact::new("token_created", OPERATOR);
    let secret = tokens::make(store, token, fact, now).await?;
    secret
        .with_context(|| format!("there is a token `{api}`; revoke it first, or take another name"))
}

/// A line for each thing that lets somebody in now.
async fn list(store: &Store) -> Result<String> {
    let now = SystemClock.now();
    let (open, tokens) = store
        .read(move |tx| {
            Box::pin(async move {
                let all = Stretch { most: MOST_LISTED, ..Stretch::default() };
                Ok((web_sessions::list(tx, &all, now).await?, api_tokens::list(tx, &all).await?))
            })
        })
        .await?;
    let open = open.into_iter().map(|one| {
        let (kind, until) = (one.kind.as_str(), one.expires_at.format("%F %R"));
        format!("{}  {kind} of {:?}, until {until} UTC", one.id, one.name)
    });
    let in_force = tokens.into_iter().filter(|token| {
        token.revoked_at.is_none() && token.expires_at.is_none_or(|expires_at| expires_at > now)
    });
    let tokens = in_force.map(|token| {
        let until =
            token.expires_at.map_or("revoked".to_owned(), |at| at.format("%F %R UTC").to_string());
        format!("{}  API token {:?}, {}, until {until}", token.id, token.name, token.role.as_str())
    });
    let lines: Vec<_> = open.chain(tokens).collect();
    Ok(if lines.is_empty() { "There is none.".to_owned() } else { lines.join("\n") })
}

async fn end_sessions(store: &Store, person: String) -> Result<String> {
    let (whom, now) = (person.clone(), SystemClock.now());
    let count = store
        .write("end sessions", move |tx| {
            Box::pin(async move {
                let count = web_sessions::end_all(tx, &whom).await?;
                let fact = Fact::new("session_ended", OPERATOR).with("whom", whom.as_str());
                audit::append(tx, audit::ADMIN, vec![fact.with("count", count)], now).await?;
                Ok(count)
            })
        })
        .await?;
    Ok(format!("{count} sessions and links of {person:?} have ended."))
}

async fn revoke(store: &Store, which: String) -> Result<String> {
    let now = SystemClock.now();
    let shown = which.clone();
    let ended = store
        .write("revoke access", move |tx| {
            Box::pin(async move {
                if let Some(id) = AccessId::parse(&which) {
                    let Some(person) = web_sessions::end(tx, &id).await? else { return Ok(None) };
                    let fact = Fact::new("session_ended", OPERATOR).with("whom", person.as_str());
                    audit::append(tx, audit::ADMIN, vec![fact], now).await?;
                    return Ok(Some(format!("The session or link of {person:?} has ended.")));
                }
                let id = api_tokens::id_of(tx, &which).await?.unwrap_or(which);
                let Some(name) = api_tokens::revoke(tx, &id, OPERATOR, now).await? else {
                    return Ok(None);
                };
                let fact = Fact::new("token_revoked", OPERATOR).with("name", name.as_str());
                audit::append(tx, audit::ADMIN, vec![fact], now).await?;
                Ok(Some(format!("The token {name:?} is revoked.")))
            })
        })
        .await?;
    ended.with_context(|| format!("there is no session and no token {shown:?}: see `token list`"))
}

/// The most of each kind that the list shows.
const MOST_LISTED: usize = 1_000;

pub async fn sign_in_link(config: &Config, store: &Store, name: String) -> Result<String> {
    let token = secret();
    let link = format!("{}/sign-in?token={token}", config.web_url());
    let now = SystemClock.now();
    store.note(Fact::new("sign_in_link", OPERATOR).with("name", name.as_str()), now).await?;
    store
        .write("sign-in link", move |tx| {
            Box::pin(async move {
                let until = now + TimeDelta::hours(1);
                people::grant_access(tx, Access::SignIn, (&name, &token), now, until).await
            })
        })
        .await?;
    Ok(link)
}
