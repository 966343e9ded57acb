//! Credentials for hosts: added to outgoing requests, redacted from responses.
//!
//! A credential belongs to one origin: scheme, host and port. It is never part of a call's
//! arguments, a prompt or an approval request, and is not sent to another origin after a redirect.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use chrono::{DateTime, TimeDelta, Utc};
use parking_lot::Mutex;
use reqwest::{
    Method, StatusCode,
    header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue},
};
use secrecy::{ExposeSecret as _, SecretString};
use serde::Deserialize;
use url::{Origin, Url, form_urlencoded::Serializer};

use super::client::{WebClient, WebRequest};
use crate::{agent::redact::Redactor, tools::ToolError};

/// The minimum length of a secret. The redactor cannot tell a shorter one from ordinary words.
pub const SHORTEST: usize = 8;
/// The maximum size of a token response, in bytes.
const TOKEN_BYTES: usize = 64 * 1024;
/// The lifetime of a token if the endpoint does not specify it.
const USUAL_LIFE: TimeDelta = TimeDelta::minutes(5);
const LONGEST_LIFE: TimeDelta = TimeDelta::days(1);
/// How long before its expiry a token is renewed.
const MARGIN: TimeDelta = TimeDelta::seconds(30);

/// The operator's settings for one origin.
#[derive(Debug)]
pub struct Credential {
    /// The origin, such as `https://api.example.org`, without a path.
    pub url: Url,
    /// The agents that may use it; empty means all.
    pub agents: Vec<String>,
    pub place: SecretPlacement,
    pub secret: SecretSource,
}

/// The part of a request that carries the secret.
#[derive(Debug)]
pub enum SecretPlacement {
    Header { name: HeaderName, prefix: String },
    Query(String),
}

#[derive(Debug)]
pub enum SecretSource {
    Fixed(SecretString),
    Client(Box<OAuthClient>),
}

/// An OAuth 2.0 client with the client credentials grant (RFC 6749, section 4.4).
#[derive(Debug)]
pub struct OAuthClient {
    pub token_url: Url,
    pub id: String,
    pub secret: SecretString,
    pub scopes: Vec<String>,
    /// The client for the token endpoint, which may be in a private network.
    pub web_client: WebClient,
    pub kept: Mutex<Option<ClientToken>>,
}

#[derive(Debug, Clone)]
pub struct ClientToken {
    value: SecretString,
    until: DateTime<Utc>,
}

#[derive(Deserialize)]
struct Granted {
    access_token: SecretString,
    token_type: Option<String>,
    expires_in: Option<i64>,
}

/// A secret that is added to one request.
pub struct Injection<'c> {
    credential: &'c Credential,
    secret: SecretString,
    redactor: Redactor,
}

impl Credential {
    pub fn is_for(&self, url: &Url, agent: &str) -> bool {
        let may = self.agents.is_empty() || self.agents.iter().any(|id| id == agent);
        may && self.origin() == url.origin()
    }

    /// Whether the URL addresses the credential's HTTPS host over plain HTTP.
    pub fn is_for_https_of(&self, url: &Url) -> bool {
        self.url.scheme() == "https" && url.scheme() == "http" && self.url.host() == url.host()
    }

    fn origin(&self) -> Origin {
        self.url.origin()
    }

    /// The secret for a request at `now`. A cached token is reused until shortly before it expires.
    pub async fn injection(&self, now: DateTime<Utc>) -> Result<Injection<'_>, ToolError> {
        let (secret, more) = match &self.secret {
            SecretSource::Fixed(secret) => (secret.clone(), decoded(&self.place, secret)),
            SecretSource::Client(client) => {
                (client.token(now).await?, vec![client.secret.expose_secret().to_owned()])
            }
        };
        let hidden = more.iter().map(String::as_str).chain([secret.expose_secret()]);
        Ok(Injection { credential: self, redactor: Redactor::new(hidden), secret })
    }

    /// Drops the cached token after a 401. Returns whether a new token can be requested.
    pub fn renews(&self, status: StatusCode) -> bool {
        let SecretSource::Client(client) = &self.secret else { return false };
        let refused = status == StatusCode::UNAUTHORIZED;
        if refused {
            *client.kept.lock() = None;
        }
        refused
    }
}

/// The decoded secret of HTTP Basic authentication, `user:password`, and the password alone. Both
/// are redacted as well, because servers may repeat them.
fn decoded(place: &SecretPlacement, secret: &SecretString) -> Vec<String> {
    let SecretPlacement::Header { prefix, .. } = place else { return Vec::new() };
    if !prefix.trim().eq_ignore_ascii_case("basic") {
        return Vec::new();
    }
    let plain =
        STANDARD.decode(secret.expose_secret()).ok().and_then(|b| String::from_utf8(b).ok());
    let password =
        plain.as_ref().and_then(|plain| plain.split_once(':')).map(|(_, p)| p.to_owned());
    plain.into_iter().chain(password).collect()
}

impl Injection<'_> {
    /// Adds the secret to the request. Fails if the caller has set the same header or parameter,
    /// which would otherwise be replaced silently.
    pub fn apply(&self, ask: &mut WebRequest) -> Result<(), ToolError> {
        let taken = |what: &str| {
            let host = ask.url.host_str().unwrap_or_default();
            let why = format!("{what} is set by the gateway for {host}: leave it out");
            Err(ToolError::InvalidParameters(why))
        };
        match &self.credential.place {
            SecretPlacement::Header { name, .. } if ask.headers.contains_key(name) => {
                return taken(&format!("the header `{name}`"));
            }
            SecretPlacement::Query(name) if ask.url.query_pairs().any(|(key, _)| key == *name) => {
                return taken(&format!("the query parameter `{name}`"));
            }
            SecretPlacement::Header { name, prefix } => {
                let value = format!("{prefix}{}", self.secret.expose_secret());
                let mut value = HeaderValue::from_str(&value).map_err(|_| {
                    ToolError::ExecutionFailed("the credential of this host cannot be sent".into())
                })?;
                value.set_sensitive(true);
                ask.headers.insert(name.clone(), value);
            }
            SecretPlacement::Query(_) => self.add_query(&mut ask.url),
        }
        Ok(())
    }

    /// Whether a redirect to `next` may be followed. Within the origin, the secret is added to the
    /// URL if necessary. A redirect to another origin is rejected if the server put the secret into
    /// its URL.
    pub fn may_follow(&self, next: &mut Url) -> bool {
        if next.origin() == self.credential.origin() {
            self.add_query(next);
            return true;
        }
        !self.is_in(next.as_str())
    }

    fn add_query(&self, url: &mut Url) {
        if let SecretPlacement::Query(name) = &self.credential.place
            && !url.query_pairs().any(|(key, _)| key == *name)
        {
            url.query_pairs_mut().append_pair(name, self.secret.expose_secret());
        }
    }

    fn is_in(&self, text: &str) -> bool {
        self.redactor.reply(text) != text
    }

    /// The text of a response without the secret, in any of its encodings.
    pub fn redacted(&self, text: &str) -> String {
        self.redactor.reply(text).into_owned()
    }

    /// The number of bytes at the end of a truncated body that may be the beginning of the secret.
    pub fn longest(&self) -> usize {
        self.secret.expose_secret().len() * 4
    }
}

impl OAuthClient {
    /// Returns the cached token or requests a new one. The lock is not held during the request, so
    /// two concurrent calls may each request a token.
    async fn token(&self, now: DateTime<Utc>) -> Result<SecretString, ToolError> {
        let kept = self.kept.lock().clone();
        if let Some(token) = kept.filter(|token| token.until > now) {
            return Ok(token.value);
        }
        let token = self.fetch(now).await?;
        *self.kept.lock() = Some(token.clone());
        Ok(token.value)
    }

    async fn fetch(&self, now: DateTime<Utc>) -> Result<ClientToken, ToolError> {
        let failed = |what: &str| {
            let host = self.token_url.host_str().unwrap_or_default();
            ToolError::ExternalService(format!("the token endpoint {host} {what}"))
        };
        let answer = self.web_client.send(self.ask()).await.map_err(|problem| match problem {
            ToolError::Timeout(_) => failed("did not answer in time"),
            _ => failed("cannot be reached"),
        })?;
        if !answer.status.is_success() {
            return Err(failed(&format!("answered {}", answer.status.as_u16())));
        }
        let granted: Granted =
            serde_json::from_slice(&answer.body).map_err(|_| failed("gave no token"))?;
        let is_bearer = granted.token_type.is_none_or(|kind| kind.eq_ignore_ascii_case("bearer"));
        if !is_bearer || granted.access_token.expose_secret().len() < SHORTEST {
            return Err(failed("gave a token that cannot be used"));
        }
        let life = granted.expires_in.and_then(TimeDelta::try_seconds).unwrap_or(USUAL_LIFE);
        let life = life.clamp(TimeDelta::zero(), LONGEST_LIFE);
        // A token with a lifetime shorter than the margin is used for this request only.
        Ok(ClientToken { value: granted.access_token, until: now + life - MARGIN })
    }

    fn ask(&self) -> WebRequest {
        let encoded = |text: &str| -> String {
            url::form_urlencoded::byte_serialize(text.as_bytes()).collect()
        };
        let basic = format!("{}:{}", encoded(&self.id), encoded(self.secret.expose_secret()));
        let basic = format!("Basic {}", STANDARD.encode(basic));
        let mut basic = HeaderValue::from_str(&basic).expect("Base64 is ASCII");
        basic.set_sensitive(true);
        let mut form = Serializer::new(String::new());
        form.append_pair("grant_type", "client_credentials");
        if !self.scopes.is_empty() {
            form.append_pair("scope", &self.scopes.join(" "));
        }
        let headers = HeaderMap::from_iter([
            (AUTHORIZATION, basic),
            (ACCEPT, HeaderValue::from_static("application/json")),
            (CONTENT_TYPE, HeaderValue::from_static("application/x-www-form-urlencoded")),
        ]);
        WebRequest {
            method: Method::POST,
            url: self.token_url.clone(),
            headers,
            body: Some(Bytes::from(form.finish())),
            max_bytes: TOKEN_BYTES,
        }
    }
}
