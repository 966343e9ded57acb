//! Widget visitors, and the signed pass that identifies them: their id, and its expiry.

use anyhow::Result;
use axum::http::{HeaderMap, header::AUTHORIZATION};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use channels::web::Web;
use chrono::TimeDelta;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::sync::Arc;
use tokio::sync::OnceCell;

use crate::{
    admin::{
        Admin,
        auth::{
            rate_limit::{AddressLimit, OpenConnections},
            web_session::new_token,
        },
        language,
    },
    gateway::webhooks::signature::SharedSecret,
    journal::event::{Speaker, VISITOR},
};

/// The name of the chat in the paths of visitors.
pub const CHANNEL: &str = "channel";
/// Each visit extends it.
pub const PASS_FOR: TimeDelta = TimeDelta::days(30);

/// Limits for all visitors.
pub struct VisitorLimits {
    key: OnceCell<SharedSecret>,
    /// New passes, by address.
    pub begun: AddressLimit,
    /// Messages and button presses, by address.
    pub did: AddressLimit,
    /// Other requests, by address.
    pub looked: AddressLimit,
    /// Open event streams, by address.
    pub open: OpenConnections,
}

impl Default for VisitorLimits {
    fn default() -> Self {
        Self {
            key: OnceCell::new(),
            begun: AddressLimit::of(10),
            did: AddressLimit::of(60),
            looked: AddressLimit::of(240),
            open: OpenConnections::of(100),
        }
    }
}

/// A visitor, and where they are.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct VisitorPass {
    pub channel: String,
    /// The site whose page they are on.
    pub origin: String,
    pub person: String,
    /// In seconds since the Unix epoch.
    pub until: i64,
}

impl VisitorPass {
    /// Whether it has not expired, and the site may still show this chat.
    pub fn holds(&self, admin: &Admin) -> bool {
        let web = embedded(admin, &self.channel);
        let shown = web.is_some_and(|web| web.origins().contains(&self.origin));
        shown && admin.gateway.clock.now().timestamp() < self.until
    }

    /// Named by the first letters of their id, which reveals nothing about them.
    pub fn speaker(&self, headers: &HeaderMap) -> Speaker {
        let id: String = self.person.chars().skip(VISITOR.len()).take(4).collect();
        let name = format!("{} {id}", language::of(headers).words().page.visitor);
        Speaker { id: self.person.clone(), name }
    }

    pub fn sealed(&self, key: &SharedSecret) -> String {
        let encoded = URL_SAFE_NO_PAD.encode(json!(self).to_string());
        format!("{encoded}.{}", key.seal(&encoded))
    }

    pub fn unsealed(pass: &str, key: &SharedSecret) -> Option<Self> {
        let (encoded, _) =
            pass.split_once('.').filter(|(encoded, seal)| key.has_sealed(encoded, seal))?;
        serde_json::from_slice(&URL_SAFE_NO_PAD.decode(encoded).ok()?).ok()
    }
}

/// The chat with this name, if other sites may show it.
pub fn embedded<'a>(admin: &'a Admin, channel: &str) -> Option<&'a Arc<Web>> {
    admin.webs.get(channel).filter(|web| !web.origins().is_empty())
}

/// The pass of a request and its chat; `None` if the pass is missing or not valid.
pub async fn visit(
    admin: &Admin,
    channel: &str,
    headers: &HeaderMap,
) -> Result<Option<(VisitorPass, Arc<Web>)>> {
    let given = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
    let Some(pass) = given.and_then(|given| given.strip_prefix("Bearer ")) else {
        return Ok(None);
    };
    let visit = VisitorPass::unsealed(pass, key(admin).await?);
    let visit = visit.filter(|visit| visit.channel == channel && visit.holds(admin));
    Ok(visit.zip(embedded(admin, channel).cloned()))
}

/// The signing key, shared by all nodes.
pub async fn key(admin: &Admin) -> Result<&SharedSecret> {
    let made = admin.visits.key.get_or_try_init(async || {
        let secret = admin.gateway.store.signing_key("visits", new_token()).await?;
        anyhow::Ok(SharedSecret::plain(&secret))
    });
    made.await
}
