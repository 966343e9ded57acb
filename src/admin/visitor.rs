//! Visitors, and the pass by which they are known again: who they are to us, until when, signed.

use anyhow::Result;
use axum::http::{HeaderMap, header::AUTHORIZATION};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use channels::web::Web;
use chrono::TimeDelta;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::sync::Arc;
use tokio::sync::OnceCell;

use super::{
    Admin, language,
    rate_limit::{AddressLimit, Open},
    web_session::new_token,
};
use crate::{
    gateway::webhooks::signature::Key,
    journal::event::{Speaker, VISITOR},
};

/// What the paths of visitors call their chat.
pub const CHANNEL: &str = "channel";
/// Each visit lengthens it.
pub const PASS_FOR: TimeDelta = TimeDelta::days(30);

/// What is remembered of all visits: no more than how many there are at once.
pub struct Visits {
    key: OnceCell<Key>,
    /// New passes, by address.
    pub begun: AddressLimit,
    /// Messages and presses, by address.
    pub did: AddressLimit,
    /// Whatever else is asked for.
    pub looked: AddressLimit,
    /// Pages that are told what happens.
    pub open: Open,
}

impl Default for Visits {
    fn default() -> Self {
        Self {
            key: OnceCell::new(),
            begun: AddressLimit::of(10),
            did: AddressLimit::of(60),
            looked: AddressLimit::of(240),
            open: Open::of(100),
        }
    }
}

/// Who a visitor is to us, and where.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Visit {
    pub channel: String,
    /// The site whose page they are on.
    pub origin: String,
    pub person: String,
    /// In seconds.
    pub until: i64,
}

impl Visit {
    /// Whether its time is not over, and that site may still show this chat.
    pub fn holds(&self, admin: &Admin) -> bool {
        let web = embedded(admin, &self.channel);
        let shown = web.is_some_and(|web| web.origins().contains(&self.origin));
        shown && admin.gateway.clock.now().timestamp() < self.until
    }

    /// Named by the first letters of an id that says nothing of them.
    pub fn speaker(&self, headers: &HeaderMap) -> Speaker {
        let id: String = self.person.chars().skip(VISITOR.len()).take(4).collect();
        let name = format!("{} {id}", language::of(headers).words().page.visitor);
        Speaker { id: self.person.clone(), name }
    }

    pub fn sealed(&self, key: &Key) -> String {
        let told = URL_SAFE_NO_PAD.encode(json!(self).to_string());
        format!("{told}.{}", key.seal(&told))
    }

    pub fn unsealed(pass: &str, key: &Key) -> Option<Self> {
        let (told, _) = pass.split_once('.').filter(|(told, seal)| key.has_sealed(told, seal))?;
        serde_json::from_slice(&URL_SAFE_NO_PAD.decode(told).ok()?).ok()
    }
}

/// The chat of that name, if other sites may show it.
pub fn embedded<'a>(admin: &'a Admin, channel: &str) -> Option<&'a Arc<Web>> {
    admin.webs.get(channel).filter(|web| !web.origins().is_empty())
}

/// The visit that a request shows a pass for, if it holds there.
pub async fn visit(
    admin: &Admin,
    channel: &str,
    headers: &HeaderMap,
) -> Result<Option<(Visit, Arc<Web>)>> {
    let given = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
    let Some(pass) = given.and_then(|given| given.strip_prefix("Bearer ")) else {
        return Ok(None);
    };
    let visit = Visit::unsealed(pass, key(admin).await?);
    let visit = visit.filter(|visit| visit.channel == channel && visit.holds(admin));
    Ok(visit.zip(embedded(admin, channel).cloned()))
}

/// The same on all nodes.
pub async fn key(admin: &Admin) -> Result<&Key> {
    let made = admin.visits.key.get_or_try_init(async || {
        let secret = admin.gateway.store.signing_key("visits", new_token()).await?;
        anyhow::Ok(Key::plain(&secret))
    });
    made.await
}
