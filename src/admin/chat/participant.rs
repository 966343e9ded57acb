//! A person in a web chat: signed in, in the first web channel, or a visitor of another site, in
//! the web channel for that site.

use anyhow::Result;
use axum::{
    extract::{ConnectInfo, FromRequestParts, RawPathParams},
    http::{Method, StatusCode, request::Parts},
};
use channels::{Place, web::Web};
use std::{
    net::{IpAddr, SocketAddr},
    sync::Arc,
};

use super::visitor::{self, Visit};
use crate::{
    admin::{
        Admin,
        auth::{rate_limit::Opened, web_session::Signed},
        place_of,
        problem::{BAD_REQUEST, NO_WEB_CHAT, Problem, TOO_FAST},
    },
    journal::event::Speaker,
    store::people::BrowserSession,
};

/// A person, and their chat.
pub struct Participant {
    pub channel: String,
    pub web: Arc<Web>,
    pub speaker: Speaker,
    /// The conversation that the request is about; `None` is the person's first one.
    pub thread: Option<String>,
    pass: Pass,
    /// The address of a visitor.
    from: Option<IpAddr>,
}

/// What grants access.
enum Pass {
    Session(Signed),
    Visit(Visit),
}

impl Participant {
    /// The place of the conversation.
    pub fn place(&self) -> Place {
        Place { thread: self.thread.clone(), ..place_of(&self.speaker.id) }
    }

    /// Whether they have only a pass, and no account.
    pub fn is_visitor(&self) -> bool {
        matches!(self.pass, Pass::Visit(_))
    }

    /// Whether the access is still valid.
    pub async fn is_still_let_in(&self, admin: &Admin) -> Result<bool> {
        match &self.pass {
            Pass::Session(signed) => signed.is_still_valid(admin).await,
            Pass::Visit(visit) => Ok(visit.holds(admin)),
        }
    }

    /// Registers an open page, if the limit for visitors allows it.
    pub fn open(&self, admin: &Admin) -> Result<Option<Opened>, Problem> {
        let enter = |from| admin.visits.open.enter(from).ok_or_else(too_fast);
        self.from.map(enter).transpose()
    }

    fn signed_in(admin: &Admin, signed: Signed, thread: Option<String>) -> Result<Self, Problem> {
        let none = || Problem::new(StatusCode::NOT_FOUND, NO_WEB_CHAT);
        let (channel, web) = admin.web().ok_or_else(none)?;
        let (channel, web) = (channel.to_owned(), web.clone());
        let BrowserSession { person, name, .. } = signed.session.clone();
        let speaker = Speaker { id: person, name };
        Ok(Self { channel, web, speaker, thread, pass: Pass::Session(signed), from: None })
    }

    async fn visiting(parts: &Parts, admin: &Admin, channel: &str) -> Result<Self, Problem> {
        let visit = visitor::visit(admin, channel, &parts.headers).await?;
        let (visit, web) = visit.ok_or_else(Problem::signed_out)?;
        let peer = parts.extensions.get::<ConnectInfo<SocketAddr>>();
        let from = peer.map(|ConnectInfo(peer)| admin.proxies.address(*peer, &parts.headers));
        let visits = &admin.visits;
        let pace = if parts.method == Method::POST { &visits.did } else { &visits.looked };
        if from.is_some_and(|from| !pace.takes(from, admin.gateway.clock.now())) {
            return Err(too_fast());
        }
        let (channel, speaker) = (channel.to_owned(), visit.speaker(&parts.headers));
        Ok(Self { channel, web, speaker, thread: None, pass: Pass::Visit(visit), from })
    }
}

/// The conversation that the query of a request names.
fn named(parts: &Parts) -> Result<Option<String>, Problem> {
    let query = parts.uri.query().unwrap_or_default();
    let mut pairs = url::form_urlencoded::parse(query.as_bytes());
    let named = pairs.find(|(name, _)| name == "conversation").map(|(_, value)| value.into_owned());
    match named.filter(|thread| !thread.is_empty()) {
        Some(thread) if !is_thread(&thread) => {
            Err(Problem::new(StatusCode::BAD_REQUEST, BAD_REQUEST))
        }
        thread => Ok(thread),
    }
}

/// Whether this is the id of a conversation, which the page creates.
pub fn is_thread(id: &str) -> bool {
    id.len() == 32 && id.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

fn too_fast() -> Problem {
    Problem::new(StatusCode::TOO_MANY_REQUESTS, TOO_FAST)
}

/// The paths of visitors name their chat.
impl FromRequestParts<Arc<Admin>> for Participant {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, admin: &Arc<Admin>) -> Result<Self, Problem> {
        let path = RawPathParams::from_request_parts(parts, admin).await.ok();
        let path = path.as_ref().into_iter().flatten();
        let channel = path.filter(|(name, _)| *name == visitor::CHANNEL).map(|(_, value)| value);
        if let Some(channel) = channel.map(str::to_owned).last() {
            return Self::visiting(parts, admin, &channel).await;
        }
        let signed = Signed::from_request_parts(parts, admin).await?;
        Self::signed_in(admin, signed, named(parts)?)
    }
}
