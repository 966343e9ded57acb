//! `countersign token`: lets a browser or a program in.

use anyhow::{Context as _, Result, ensure};
use chrono::TimeDelta;
use clap::Args;

use super::OPERATOR;
use crate::{
    admin::api::tokens,
    clock::{Clock as _, SystemClock},
    config::Config,
    gateway::secret,
    journal::role::Role,
    store::{
        Store,
        audit::Fact,
        people::{self, Access},
    },
};

#[derive(Debug, Args)]
pub struct Token {
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

fn role(text: &str) -> Result<Role, String> {
    let known = Role::parse(text).filter(|role| *role != Role::Member);
    known.ok_or_else(|| "there are viewer, approver, operator and owner".to_owned())
}

/// What to print: the link, or the token.
pub async fn run(config: &Config, store: &Store, wish: Token) -> Result<String> {
    let Token { name, api, role, days } = wish;
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
