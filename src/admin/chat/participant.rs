//! A person in a web chat: signed in, in the first web channel, or a visitor of another site, in
//! the web channel for that site.

use anyhow::Result;
use axum::{
    extract::{ConnectInfo, FromRequestParts, RawPathParams},
    http::{HeaderName, HeaderValue, Method, StatusCode, request::Parts},
};
use channels::{Place, web::Web};
use std::{
    net::{IpAddr, SocketAddr},
    sync::Arc,
};

use super::visitor::{self, VisitorPass};
use crate::{
    admin::{
        Admin,
        auth::{rate_limit::Opened, web_session::Signed},
        percent, place_of,
        problem::{BAD_REQUEST, NO_WEB_CHAT, OTHER_PERSON, Problem, TOO_FAST},
    },
    gateway::people::{ChannelAccess, WebPerson},
    journal::{event::Speaker, role::Role},
    store::people::BrowserSession,
};

/// A person, and their chat.
pub struct Participant {
    pub channel: String,
    pub web: Arc<Web>,
    pub speaker: Speaker,
    /// The role that depends on the claims of the OpenID provider.
    pub oidc_role: Option<Role>,
    /// The conversation that the request is about; `None` is the person's first one.
    pub thread: Option<String>,
    pass: Pass,
    /// The address of a visitor.
    from: Option<IpAddr>,
}

/// What grants access.
enum Pass {
    Session(Signed),
    Visit(VisitorPass),
}

impl Participant {
    /// The place of the conversation.
    pub fn place(&self) -> Place {
        Place { thread: self.thread.clone(), ..place_of(&self.speaker.id) }
    }

    pub fn person(&self) -> WebPerson {
        WebPerson { speaker: self.speaker.clone(), oidc_role: self.oidc_role }
    }

    /// Whether they have only a pass, and no account.
    pub fn is_visitor(&self) -> bool {
        matches!(self.pass, Pass::Visit(_))
    }

    /// Whether the access is still valid.
    pub async fn is_still_admitted(&self, admin: &Admin) -> Result<bool> {
        match &self.pass {
            Pass::Session(signed) => signed.is_still_valid(admin).await,
            Pass::Visit(visit) => Ok(visit.holds(admin)),
        }
    }

    /// Registers an open page, if the limit of the person, or of the visitor's address, allows it.
    pub fn open(&self, admin: &Admin) -> Result<Option<Opened>, Problem> {
        let opened = match (&self.pass, self.from) {
            (Pass::Session(signed), _) => Some(admin.open_pages.enter(signed)),
            (Pass::Visit(_), Some(from)) => Some(admin.visits.open.enter(from)),
            (Pass::Visit(_), None) => None,
        };
        opened.map(|opened| opened.ok_or_else(too_fast)).transpose()
    }

    /// Whether the person may use the chat. Others can only send a pairing code.
    pub async fn is_member(&self, admin: &Admin) -> Result<bool> {
        let Some(access) = ChannelAccess::to(&admin.gateway, &self.channel) else {
            return Ok(false);
        };
        let person = self.person();
        let role = admin
            .gateway
            .store
            .read(move |tx| Box::pin(async move { access.role_of(tx, &person).await }));
        Ok(role.await?.is_some_and(|role| role >= Role::Member))
    }

    fn signed_in(admin: &Admin, signed: Signed, thread: Option<String>) -> Result<Self, Problem> {
        let none = || Problem::new(StatusCode::NOT_FOUND, NO_WEB_CHAT);
        let (channel, web) = admin.web().ok_or_else(none)?;
        let (channel, web) = (channel.to_owned(), web.clone());
        let oidc_role = admin.oidc_role(&signed.session);
        let BrowserSession { person, name, .. } = signed.session.clone();
        let speaker = Speaker { id: person, name };
        let pass = Pass::Session(signed);
        Ok(Self { channel, web, speaker, oidc_role, thread, pass, from: None })
    }

    async fn visiting(parts: &Parts, admin: &Admin, channel: &str) -> Result<Self, Problem> {
        let visit = visitor::visit(admin, channel, &parts.headers).await?;
        let (visit, web) = visit.ok_or_else(Problem::signed_out)?;
        let peer = parts.extensions.get::<ConnectInfo<SocketAddr>>();
        let from = peer.map(|ConnectInfo(peer)| admin.proxies.address(*peer, &parts.headers));
        let visits = &admin.visits;
        let limit = if parts.method == Method::POST { &visits.did } else { &visits.looked };
        if from.is_some_and(|from| !limit.takes(from, admin.gateway.clock.now())) {
            return Err(too_fast());
        }
        let (channel, speaker) = (channel.to_owned(), visit.speaker(&parts.headers));
        let pass = Pass::Visit(visit);
        Ok(Self { channel, web, speaker, oidc_role: None, thread: None, pass, from })
    }
}

/// The person of the page that sends a request.
const PERSON: HeaderName = HeaderName::from_static("x-countersign-person");

/// A person's id as the value of that header.
pub fn header_of(person: &str) -> String {
    percent::encoded(person)
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
        // Another person may have signed in since the page was loaded, and must not send what was
        // typed there.
        let of_page = parts.headers.get(PERSON).map(HeaderValue::as_bytes);
        if of_page.is_some_and(|id| id != header_of(&signed.session.person).as_bytes()) {
            return Err(Problem::conflict(OTHER_PERSON));
        }
        Self::signed_in(admin, signed, named(parts)?)
    }
}
