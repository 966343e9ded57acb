//! Calls to Discord's REST API. This is the only module that uses the token, and it redacts the
//! token in all texts. It also enforces the platform's rate limits.
//!
//! serenity's client is not used. Without its limiter it does not report how long to wait. With its
//! limiter it waits inside the call, where the outbox cannot see it, and it does not support a base
//! URL.

use parking_lot::{Mutex, MutexGuard};
use std::{borrow::Cow, fmt::Write, future, iter, net::SocketAddr, sync::Arc, time::Duration};

use bytes::{Bytes, BytesMut};
use reqwest::{
    Client, Method, Response,
    dns::{Addrs, Name, Resolve, Resolving},
    header::AUTHORIZATION,
    multipart::{Form, Part},
    redirect::Policy,
};
use rustls::{ClientConfig, RootCertStore, crypto::ring};
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde_json::Value;
use url::Url;

use super::{
    config::{DiscordConfig, Roots},
    pauses::{Bucket, Pauses, RemainingPause, seconds, seconds_of, text},
};

/// The timeout for requests without a file.
const USUAL: Duration = Duration::from_secs(20);
/// The timeout for a file of the maximum size on a slow connection.
const LARGE: Duration = Duration::from_mins(3);

/// The result of a failed call. The texts never contain a token.
#[derive(Debug)]
pub(super) enum Failure {
    /// The platform rejected the request. `code` is Discord's own error code, or 0. `everywhere`
    /// means that the whole bot has to wait.
    Refused { status: u16, code: u64, message: String, after: Option<Duration>, everywhere: bool },
    /// The request was certainly not sent.
    Unsent(String),
    /// The request may have been sent, but no valid response arrived.
    Lost(String),
}

/// A request without its body.
#[derive(Clone)]
pub(super) struct Route {
    method: Method,
    /// The path below `/api/v10`, without a leading slash.
    path: String,
    query: Option<String>,
    /// Whether the path itself authenticates the request, as for interactions. Then no token is
    /// sent, and the limit of the whole bot does not apply.
    unsigned: bool,
}

#[derive(Clone)]
pub(super) enum Body {
    Empty,
    Json(Value),
    File { fields: Value, name: String, media_type: String, bytes: Bytes },
}

pub(super) struct Api {
    client: Client,
    tls: Arc<ClientConfig>,
    resolve: Option<SocketAddr>,
    base: Url,
    token: SecretString,
    pauses: Mutex<Pauses>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Refusal {
    code: u64,
    message: String,
    retry_after: Option<f64>,
    global: bool,
    errors: Value,
}

impl Route {
    pub(super) fn get(path: String) -> Self {
        Self { method: Method::GET, path, query: None, unsigned: false }
    }

    pub(super) fn post(path: String) -> Self {
        Self { method: Method::POST, ..Self::get(path) }
    }

    pub(super) fn patch(path: String) -> Self {
        Self { method: Method::PATCH, ..Self::get(path) }
    }

    pub(super) fn delete(path: String) -> Self {
        Self { method: Method::DELETE, ..Self::get(path) }
    }

    pub(super) fn put(path: String) -> Self {
        Self { method: Method::PUT, ..Self::get(path) }
    }

    pub(super) fn query(self, query: String) -> Self {
        Self { query: Some(query), ..self }
    }

    pub(super) fn unsigned(self) -> Self {
        Self { unsigned: true, ..self }
    }
}

impl Api {
    pub(super) fn new(config: &DiscordConfig, url: &Url) -> Self {
        let tls = tls(&config.roots);
        let mut client = Client::builder()
            .tls_backend_preconfigured(tls.clone())
            .redirect(Policy::none())
            .referer(false)
            .user_agent(concat!("DiscordBot (countersign, ", env!("CARGO_PKG_VERSION"), ")"));
        if let Some(address) = config.resolve {
            client = client.dns_resolver(At(address));
        }
        let client = client
            .build()
            .expect("a client with built-in roots has nothing to load that could fail");
        let mut base = url.clone();
        if let Ok(mut path) = base.path_segments_mut() {
            path.pop_if_empty().extend(["api", "v10"]);
        }
        let (token, resolve) = (config.token.clone(), config.resolve);
        Self { client, tls: Arc::new(tls), resolve, base, token, pauses: Mutex::default() }
    }

    /// The address for the gateway's connection, if it differs from DNS.
    pub(super) fn resolve(&self) -> Option<SocketAddr> {
        self.resolve
    }

    /// The TLS configuration for the gateway's connection.
    pub(super) fn tls(&self) -> Arc<ClientConfig> {
        Arc::clone(&self.tls)
    }

    pub(super) fn token(&self) -> &str {
        self.token.expose_secret()
    }

    /// Returns `null` for a response without a body.
    pub(super) async fn call(&self, route: Route, body: Body) -> Result<Value, Failure> {
        let bucket = Bucket::of(&route.method, &route.path);
        if let Some(RemainingPause { after, everywhere }) =
            self.pauses().left(&bucket, route.unsigned)
        {
            let (message, after) = ("the platform's rate limit is reached".to_owned(), Some(after));
            return Err(Failure::Refused { status: 429, code: 0, message, after, everywhere });
        }
        let mut request = self.client.request(route.method.clone(), self.url(&route));
        if !route.unsigned {
            request = request.header(AUTHORIZATION, format!("Bot {}", self.token()));
        }
        let request = match body {
            Body::Empty => request.timeout(USUAL),
            Body::Json(body) => request.timeout(USUAL).json(&body),
            Body::File { fields, name, media_type, bytes } => {
                request.timeout(LARGE).multipart(form(&fields, name, &media_type, bytes))
            }
        };
        let sent = request.send().await;
        let response = sent.map_err(|e| self.failure(e.is_connect(), &e.without_url()))?;
        self.read(response, &bucket).await
    }

    async fn read(&self, response: Response, bucket: &Bucket) -> Result<Value, Failure> {
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let body = response.bytes().await.map_err(|e| self.failure(false, &e.without_url()))?;
        self.pauses().note(bucket, &headers);
        if (200..300).contains(&status) {
            return match body.as_ref() {
                [] => Ok(Value::Null),
                body => serde_json::from_slice(body)
                    .map_err(|_| Failure::Lost("the response is not valid".to_owned())),
            };
        }
        let refusal = serde_json::from_slice::<Refusal>(&body);
        // Only two kinds of response concern the whole bot: the global rate limit, and the response
        // of a proxy in front of the platform, which has its own format.
        let everywhere = text(&headers, "x-ratelimit-global") == Some("true") || refusal.is_err();
        let refusal = refusal.unwrap_or_default();
        let everywhere = status == 429 && (refusal.global || everywhere);
        let header = || seconds_of(text(&headers, "retry-after")?);
        let after = refusal.retry_after.and_then(seconds).or_else(header);
        if let (429, Some(after)) = (status, after) {
            if everywhere {
                self.pauses().hold_everything(after);
            } else {
                self.pauses().hold(bucket, after);
            }
        }
        let message = self.redact(&explained(status, &refusal)).into_owned();
        Err(Failure::Refused { status, code: refusal.code, message, after, everywhere })
    }

    /// The contents of a URL of the platform; `None` if they exceed `limit`.
    pub(super) async fn download(&self, url: Url, limit: u64) -> Result<Option<Bytes>, Failure> {
        let sent = self.client.get(url).timeout(LARGE).send().await;
        let mut response = sent.map_err(|e| self.failure(true, &e.without_url()))?;
        let status = response.status().as_u16();
        if status != 200 {
            let message = format!("status {status} for the file");
            let (code, after, everywhere) = (0, None, false);
            return Err(Failure::Refused { status, code, message, after, everywhere });
        }
        let mut bytes = BytesMut::new();
        loop {
            let chunk = response.chunk().await;
            let chunk = chunk.map_err(|e| self.failure(true, &e.without_url()))?;
            let Some(chunk) = chunk else { return Ok(Some(bytes.freeze())) };
            if (bytes.len() + chunk.len()) as u64 > limit {
                return Ok(None);
            }
            bytes.extend_from_slice(&chunk);
        }
    }

    /// Whether the URL belongs to the platform. No other URL is fetched.
    pub(super) fn is_ours(&self, url: &Url) -> bool {
        let cdn = matches!(url.host_str(), Some("cdn.discordapp.com" | "media.discordapp.net"));
        (cdn && url.scheme() == "https") || url.origin() == self.base.origin()
    }

    fn url(&self, route: &Route) -> Url {
        let mut url = self.base.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            path.extend(route.path.split('/'));
        }
        url.set_query(route.query.as_deref());
        url
    }

    fn pauses(&self) -> MutexGuard<'_, Pauses> {
        self.pauses.lock()
    }

    fn failure(&self, unsent: bool, error: &dyn std::error::Error) -> Failure {
        let reason = self.reason(error);
        if unsent { Failure::Unsent(reason) } else { Failure::Lost(reason) }
    }

    /// An error and its causes, without the token.
    pub(super) fn reason(&self, error: &dyn std::error::Error) -> String {
        let mut reason = error.to_string();
        let mut source = error.source();
        while let Some(cause) = source {
            let _ = write!(reason, ": {cause}");
            source = cause.source();
        }
        self.redact(&reason).into_owned()
    }

    pub(super) fn redact<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let token = self.token();
        if token.is_empty() || !text.contains(token) {
            return Cow::Borrowed(text);
        }
        Cow::Owned(text.replace(token, "<token>"))
    }
}

/// Resolves every name to this address.
struct At(SocketAddr);

impl Resolve for At {
    fn resolve(&self, _name: Name) -> Resolving {
        Box::pin(future::ready(Ok(Box::new(iter::once(self.0)) as Addrs)))
    }
}

/// The TLS configuration for REST and the gateway: ring, with the public root certificates and the
/// configured ones.
fn tls(more: &Roots) -> ClientConfig {
    let mut roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    roots.add_parsable_certificates(more.0.iter().cloned());
    ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("ring supports the default versions")
        .with_root_certificates(roots)
        .with_no_client_auth()
}

fn form(fields: &Value, name: String, media_type: &str, bytes: Bytes) -> Form {
    let length = bytes.len() as u64;
    let part = || Part::stream_with_length(bytes.clone(), length).file_name(name.clone());
    let typed = part().mime_str(media_type).unwrap_or_else(|_| part());
    Form::new().text("payload_json", fields.to_string()).part("files[0]", typed)
}

fn explained(status: u16, refusal: &Refusal) -> String {
    let Refusal { code, message, errors, .. } = refusal;
    match (message.as_str(), errors) {
        ("", _) => format!("status {status} without a valid response"),
        (message, Value::Null) => format!("{status}/{code}: {message}"),
        (message, errors) => format!("{status}/{code}: {message} {errors}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn api() -> Api {
        let url = Url::parse("http://127.0.0.1:1/prefix/").expect("a URL");
        Api::new(&DiscordConfig::new("dc", "MTIz.secret.token".into()), &url)
    }

    /// Proves O1.
    #[test]
    fn the_token_is_taken_out_of_any_text() {
        assert_eq!(api().redact("Bot MTIz.secret.token!"), "Bot <token>!");
        assert_eq!(api().redact("nothing"), "nothing");
    }

    #[test]
    fn a_base_url_may_have_a_path_and_a_part_of_ours_cannot_leave_it() {
        let route = Route::post("interactions/1/a?b#c/callback".to_owned());
        let url = api().url(&route);
        assert_eq!(
            url.as_str(),
            "http://127.0.0.1:1/prefix/api/v10/interactions/1/a%3Fb%23c/callback"
        );
    }

    /// Proves S8.
    #[test]
    fn only_the_platforms_own_addresses_are_fetched() {
        let ours = |url: &str| api().is_ours(&Url::parse(url).expect("a URL"));
        assert!(ours("https://cdn.discordapp.com/attachments/1/2/a.png"));
        assert!(ours("http://127.0.0.1:1/cdn/a"));
        assert!(!ours("http://cdn.discordapp.com/a"));
        assert!(!ours("https://cdn.discordapp.com.evil.example/a"));
        assert!(!ours("http://169.254.169.254/latest"));
    }
}
