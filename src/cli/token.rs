//! `countersign token`: creates, lists and revokes sign-in links and API tokens.

use anyhow::{Context as _, Result, ensure};
use chrono::{DateTime, TimeDelta, Utc};
use clap::{Args, Subcommand};
use serde::Serialize;
use std::io::{self, Write as _};

use super::{OPERATOR, examples, output::OutputFormat, web_access};
use crate::{
    admin::api::{
        sessions::SessionView,
        tokens::{self, TokenView},
    },
    clock::{Clock as _, SystemClock},
    config::Config,
    gateway::secret,
    journal::role::Role,
    store::{
        Store,
        api::tokens::{self as api_tokens, ApiToken},
        audit::{self, AuditKind, Fact},
        lists::PageRequest,
        people::{
            self, AccessTokenKind,
            web_sessions::{self, AccessId, OpenAccess},
        },
    },
};

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct TokenArgs {
    #[command(subcommand)]
    what: Option<TokenCommand>,
    /// The person to sign in
    #[arg(long, default_value = "owner")]
    name: String,
    /// Create an API token with this name instead; requires --role
    #[arg(long, value_name = "NAME", requires = "role")]
    api: Option<String>,
    /// The role of the token: viewer, member (only to talk to agents), approver, operator or owner
    #[arg(long, value_parser = super::pair::role, requires = "api")]
    role: Option<Role>,
    /// The number of days until the token expires, from 1 to 3650 [default: never]
    #[arg(long, requires = "api", value_parser = clap::value_parser!(i64).range(1..=3650))]
    days: Option<i64>,
}

#[derive(Debug, Subcommand)]
enum TokenCommand {
    /// List browser sessions, unused sign-in links and API tokens
    #[command(after_help = examples::TOKEN_LIST)]
    List(OutputFormat),
    /// Revoke a session, a link or a token immediately
    #[command(after_help = examples::TOKEN_REVOKE)]
    Revoke {
        /// The id, as shown by `token list`, or the name of a token
        #[arg(required_unless_present = "sessions_of")]
        which: Option<String>,
        /// All sessions and links of this person instead
        #[arg(long, value_name = "NAME", conflicts_with = "which")]
        sessions_of: Option<String>,
    },
}

/// Returns the link or the token.
pub async fn run(config: &Config, store: &Store, args: TokenArgs) -> Result<String> {
    let TokenArgs { what, name, api, role, days } = args;
    match what {
        Some(TokenCommand::List(output)) => return list(store, output).await,
        Some(TokenCommand::Revoke { sessions_of: Some(person), .. }) => {
            return end_sessions(store, person).await;
        }
        Some(TokenCommand::Revoke { which, .. }) => {
            return revoke(store, which.unwrap_or_default()).await;
        }
        None => {}
    }
    let Some(api) = api else {
        if let Some(warning) = web_access::warning(config, store, &name).await? {
            writeln!(io::stderr(), "warning: {warning}")?;
        }
        return sign_in_link(config, store, name).await;
    };
    let role = role.context("--role says what the token may do")?;
    ensure!(
        tokens::is_name(&api),
        "a name must have 1 to 64 characters, without leading or trailing spaces"
    );
    let now = SystemClock.now();
    let token = tokens::new(&api, role, days, OPERATOR, now);
    let fact = Fact::new(AuditKind::TokenCreated, OPERATOR);
    let secret = tokens::create_token(store, token, fact, now).await?;
    secret.with_context(|| {
        format!("there is already a token `{api}`; revoke it first, or choose another name")
    })
}

/// Lists valid sessions, links and tokens, one per line.
async fn list(store: &Store, output: OutputFormat) -> Result<String> {
    let now = SystemClock.now();
    let (open, tokens) = (open_access(store, now).await?, valid_tokens(store, now).await?);
    let access = AccessList {
        sessions: open.into_iter().map(Into::into).collect(),
        tokens: tokens.into_iter().map(Into::into).collect(),
    };
    output.of(&access, || access.text())
}

/// The number of entries that are read at once.
const AT_ONCE: usize = 1_000;

async fn open_access(store: &Store, now: DateTime<Utc>) -> Result<Vec<OpenAccess>> {
    let (mut all, mut after) = (Vec::new(), String::new());
    loop {
        let page = PageRequest { after, limit: AT_ONCE };
        let read =
            store.read(move |tx| Box::pin(async move { web_sessions::list(tx, &page, now).await }));
        let found = read.await?;
        let Some(last) = found.last() else { return Ok(all) };
        after = last.id.to_string();
        all.extend(found);
    }
}

/// The valid ones among all tokens that were ever created.
async fn valid_tokens(store: &Store, now: DateTime<Utc>) -> Result<Vec<ApiToken>> {
    let (mut valid, mut after) = (Vec::new(), String::new());
    loop {
        let page = PageRequest { after: after.clone(), limit: AT_ONCE };
        let read = store.read(move |tx| Box::pin(async move { api_tokens::list(tx, &page).await }));
        let found = read.await?;
        let Some(last) = found.last() else { return Ok(valid) };
        after.clone_from(&last.id);
        valid.extend(found.into_iter().filter(|token| {
            token.revoked_at.is_none() && token.expires_at.is_none_or(|expires_at| expires_at > now)
        }));
    }
}

/// Everything that currently gives access.
#[derive(Serialize)]
struct AccessList {
    sessions: Vec<SessionView>,
    tokens: Vec<TokenView>,
}

impl AccessList {
    fn text(&self) -> String {
        let sessions = self.sessions.iter().map(|one| {
            let SessionView { id, kind, name, expires_at, .. } = one;
            format!("{id}  {kind} of {name:?}, until {} UTC", expires_at.format("%F %R"))
        });
        let tokens = self.tokens.iter().map(|token| {
            let TokenView { id, name, role, expires_at, .. } = token;
            let until = expires_at.map(|at| at.format("%F %R UTC").to_string());
            let until = until.unwrap_or_else(|| "revoked".to_owned());
            format!("{id}  API token {name:?}, {role}, until {until}")
        });
        let lines: Vec<_> = sessions.chain(tokens).collect();
        if lines.is_empty() { "None yet.".to_owned() } else { lines.join("\n") }
    }
}

async fn end_sessions(store: &Store, person: String) -> Result<String> {
    let (whom, now) = (person.clone(), SystemClock.now());
    let count = store
        .write("end sessions", move |tx| {
            Box::pin(async move {
                let count = web_sessions::end_all(tx, &whom).await?;
                let fact = Fact::new(AuditKind::SessionEnded, OPERATOR).with("whom", whom.as_str());
                audit::append(tx, audit::ADMIN, vec![fact.with("count", count)], now).await?;
                Ok(count)
            })
        })
        .await?;
    Ok(format!("{count} sessions and links of {person:?} were revoked."))
}

async fn revoke(store: &Store, which: String) -> Result<String> {
    let now = SystemClock.now();
    let shown = which.clone();
    let ended = store
        .write("revoke access", move |tx| {
            Box::pin(async move {
                if let Some(id) = AccessId::parse(&which) {
                    let Some(person) = web_sessions::end(tx, &id).await? else { return Ok(None) };
                    let fact =
                        Fact::new(AuditKind::SessionEnded, OPERATOR).with("whom", person.as_str());
                    audit::append(tx, audit::ADMIN, vec![fact], now).await?;
                    return Ok(Some(format!("The session or link of {person:?} was revoked.")));
                }
                let id = api_tokens::id_of(tx, &which).await?.unwrap_or(which);
                let Some(name) = api_tokens::revoke(tx, &id, OPERATOR, now).await? else {
                    return Ok(None);
                };
                let fact = Fact::new(AuditKind::TokenRevoked, OPERATOR).with("name", name.as_str());
                audit::append(tx, audit::ADMIN, vec![fact], now).await?;
                Ok(Some(format!("The token {name:?} was revoked.")))
            })
        })
        .await?;
    ended.with_context(|| format!("there is no session or token {shown:?}; see `token list`"))
}

pub async fn sign_in_link(config: &Config, store: &Store, name: String) -> Result<String> {
    let token = secret();
    let link = format!("{}/sign-in?token={token}", config.web_url());
    let now = SystemClock.now();
    store.note(Fact::new(AuditKind::SignInLink, OPERATOR).with("name", name.as_str()), now).await?;
    store
        .write("sign-in link", move |tx| {
            Box::pin(async move {
                let until = now + TimeDelta::hours(1);
                people::grant_access(
                    tx,
                    people::NewAccess { kind: AccessTokenKind::SignIn, name: &name, token: &token },
                    now,
                    until,
                )
                .await
            })
        })
        .await?;
    Ok(link)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::StoreOptions;

    #[tokio::test]
    async fn a_valid_token_is_listed_however_many_were_revoked_since() {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite://{}/tokens.db", folder.path().display());
        let store = Store::open(&url, StoreOptions::default()).await.unwrap();
        let now = SystemClock.now();
        let write = store.write("test", move |tx| {
            Box::pin(async move {
                for number in 0..=AT_ONCE {
                    let name = number.to_string();
                    let token = tokens::new(&name, Role::Viewer, None, OPERATOR, now);
                    api_tokens::create(tx, &token, &name).await?;
                    if number > 0 {
                        api_tokens::revoke(tx, &token.id, OPERATOR, now).await?;
                    }
                }
                Ok(())
            })
        });
        write.await.unwrap();
        let valid = valid_tokens(&store, now).await.unwrap();
        let names: Vec<_> = valid.iter().map(|token| token.name.as_str()).collect();
        assert_eq!(names, ["0"]);
    }
}
