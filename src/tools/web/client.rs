//! The HTTP client with SSRF protection. Every host is resolved once, its addresses are checked,
//! and the connection uses a checked address; again for each redirect.

use async_trait::async_trait;
use bytes::Bytes;
use reqwest::{
    Method, StatusCode,
    dns::{Addrs, Name, Resolve, Resolving},
    header::{ACCEPT, CONTENT_TYPE, HeaderMap, LOCATION},
    redirect::Policy,
};
use sandbox::egress::Dial;
use std::{collections::BTreeSet, io, net::SocketAddr, sync::Arc, time::Duration};
use tokio::net::TcpStream;
use url::{Host, Url};

use super::address::is_outside;
use crate::tools::ToolError;

const CONNECT_FOR: Duration = Duration::from_secs(10);
/// The default timeout of a request with all its redirects.
const ANSWER_FOR: Duration = Duration::from_secs(25);
const MAX_REDIRECTS: usize = 5;
/// Lower ports belong to services other than the web: mail, shells, old databases.
const FIRST_FREE_PORT: u16 = 1024;

/// Sends requests to the public internet, and to private hosts that the operator allows.
#[derive(Clone)]
pub struct WebClient {
    /// Does not connect to private addresses.
    public: reqwest::Client,
    /// Connects to any address; used for allowed private hosts.
    unrestricted: reqwest::Client,
    allowed_hosts: Arc<BTreeSet<String>>,
    resolver: Arc<dyn Resolve>,
    /// The timeout of a request with all its redirects.
    answer_for: Duration,
}

/// Decides whether to follow a redirect to that URL. May add to the URL.
pub type MayFollow<'f> = dyn Fn(&mut Url) -> bool + Send + Sync + 'f;

impl std::fmt::Debug for WebClient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WebClient")
            .field("allowed_hosts", &self.allowed_hosts)
            .finish_non_exhaustive()
    }
}

/// One request.
#[derive(Clone)]
pub struct WebRequest {
    pub method: Method,
    pub url: Url,
    pub headers: HeaderMap,
    pub body: Option<Bytes>,
    /// The maximum size of the body that is read.
    pub max_bytes: usize,
}

/// A response.
#[derive(Debug)]
pub struct WebResponse {
    /// The final URL, after redirects.
    pub url: Url,
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Vec<u8>,
    /// Whether the body is longer than what was read.
    pub is_cut: bool,
}

/// Why a request has no response.
#[derive(Debug)]
pub struct FailedRequest {
    pub error: ToolError,
    /// Whether the server may have received the request, and its method is not a safe one.
    pub may_have_taken_effect: bool,
}

impl FailedRequest {
    fn of(error: &reqwest::Error, method: &Method) -> Self {
        // Nothing of a request is sent before there is a connection.
        let may_have_arrived = !error.is_connect() && !error.is_builder();
        let may_have_taken_effect = may_have_arrived && !method.is_safe();
        Self { error: explained(error), may_have_taken_effect }
    }
}

impl From<ToolError> for FailedRequest {
    /// For a request that was not sent.
    fn from(error: ToolError) -> Self {
        Self { error, may_have_taken_effect: false }
    }
}

impl From<FailedRequest> for ToolError {
    fn from(failed: FailedRequest) -> Self {
        failed.error
    }
}

/// How programs in the sandbox connect to the hosts that they may reach.
#[async_trait]
impl Dial for WebClient {
    async fn connect(&self, host: &str, port: u16) -> io::Result<TcpStream> {
        self.dial(host, port).await.map_err(io::Error::other)
    }
}

impl WebRequest {
    pub fn get(url: Url, max_bytes: usize) -> Self {
        Self { method: Method::GET, url, headers: HeaderMap::new(), body: None, max_bytes }
    }
}

impl WebResponse {
    /// The media type without parameters, in lower case.
    pub fn media_type(&self) -> String {
        let media_type = self.content_type().split(';').next().unwrap_or_default();
        media_type.trim().to_ascii_lowercase()
    }

    /// The declared charset of the body.
    pub fn charset(&self) -> Option<&str> {
        let parameters = self.content_type().split(';').skip(1);
        let mut named = parameters.filter_map(|parameter| parameter.split_once('='));
        let (_, value) = named.find(|(name, _)| name.trim().eq_ignore_ascii_case("charset"))?;
        Some(value.trim().trim_matches('"'))
    }

    fn content_type(&self) -> &str {
        let value = self.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        value.unwrap_or_default()
    }
}

impl WebClient {
    /// `allowed_hosts` are the allowed private hosts: `host` for the web's ports and unprivileged ones,
    /// `host:port` for that port.
    pub fn new(allowed_hosts: BTreeSet<String>) -> Result<Self, reqwest::Error> {
        Self::resolving(allowed_hosts, Arc::new(System))
    }

    /// Like [`WebClient::new`], with a different resolver.
    pub fn resolving(
        allowed_hosts: BTreeSet<String>,
        resolver: Arc<dyn Resolve>,
    ) -> Result<Self, reqwest::Error> {
        // Tests have made no other connection yet. The program installs the provider at startup.
        rustls::crypto::ring::default_provider().install_default().ok();
        let public = client(Arc::new(Checked(resolver.clone())))?;
        Ok(Self {
            public,
            unrestricted: client(resolver.clone())?,
            allowed_hosts: Arc::new(allowed_hosts),
            resolver,
            answer_for: ANSWER_FOR,
        })
    }

    /// Sets the timeout of a request, for services that take longer than web pages.
    #[must_use]
    pub fn answering_within(self, answer_for: Duration) -> Self {
        Self { answer_for, ..self }
    }

    /// Sends a request. Only GET requests follow redirects; for others the redirect is the
    /// response.
    pub async fn send(&self, ask: WebRequest) -> Result<WebResponse, ToolError> {
        Ok(self.send_where(ask, &|_| true).await?)
    }

    /// Like [`WebClient::send`]. A redirect that `may_follow` rejects is the response.
    pub async fn send_where(
        &self,
        ask: WebRequest,
        may_follow: &MayFollow<'_>,
    ) -> Result<WebResponse, FailedRequest> {
        let may_have_taken_effect = !ask.method.is_safe();
        let within = tokio::time::timeout(self.answer_for, self.follow(ask, may_follow));
        within.await.unwrap_or_else(|_| {
            let error = ToolError::Timeout(self.answer_for);
            Err(FailedRequest { error, may_have_taken_effect })
        })
    }

    /// Connects to a host, after the same checks.
    pub async fn dial(&self, host: &str, port: u16) -> Result<TcpStream, ToolError> {
        let url = Url::parse(&format!("https://{host}:{port}/"));
        let url = url.map_err(|_| ToolError::NotAuthorized(format!("{host} is not a host")))?;
        self.may_go(&url)?;
        let name = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
        let far = |what: &str| ToolError::ExternalService(format!("{host}:{port} {what}"));
        let checked = Checked(self.resolver.clone());
        let resolver: &dyn Resolve =
            if self.is_allowed_host(&url) { &*self.resolver } else { &checked };
        let resolving = resolver.resolve(name.parse().map_err(|_| far("is not known"))?);
        let found = tokio::time::timeout(CONNECT_FOR, resolving).await;
        let found = found.map_err(|_| far("was not resolved in time"))?.map_err(|error| {
            error.downcast::<PrivateAddress>().map_or_else(
                |_| far("is not known"),
                |private| ToolError::NotAuthorized(private.to_string()),
            )
        })?;
        let found: Vec<_> = found.map(|found| SocketAddr::new(found.ip(), port)).collect();
        let connected = tokio::time::timeout(CONNECT_FOR, TcpStream::connect(&found[..])).await;
        connected.map_err(|_| far("did not answer in time"))?.map_err(|_| far("cannot be reached"))
    }

    /// The client for a URL that another protocol uses. It follows no redirects, and has no limits
    /// of time and size.
    pub fn client_for(&self, url: &Url) -> Result<reqwest::Client, ToolError> {
        self.may_go(url)?;
        Ok(if self.is_allowed_host(url) { &self.unrestricted } else { &self.public }.clone())
    }

    async fn follow(
        &self,
        mut ask: WebRequest,
        may_follow: &MayFollow<'_>,
    ) -> Result<WebResponse, FailedRequest> {
        let fetches = matches!(ask.method, Method::GET | Method::HEAD);
        for _ in 0..=MAX_REDIRECTS {
            self.may_go(&ask.url)?;
            let answer = self.send_once(&ask).await?;
            let next = if fetches { next_hop(&answer) } else { None };
            let Some(mut next) = next else { return Ok(answer) };
            if !may_follow(&mut next) {
                return Ok(answer);
            }
            if next.origin() != ask.url.origin() {
                // Headers for one host must not be sent to another.
                let accept = ask.headers.remove(ACCEPT);
                ask.headers.clear();
                ask.headers.extend(accept.map(|accept| (ACCEPT, accept)));
                ask.body = None;
            }
            ask.url = next;
        }
        Err(ToolError::ExternalService(format!("more than {MAX_REDIRECTS} redirects")).into())
    }

    async fn send_once(&self, ask: &WebRequest) -> Result<WebResponse, FailedRequest> {
        let failed = |error: reqwest::Error| FailedRequest::of(&error, &ask.method);
        let http = if self.is_allowed_host(&ask.url) { &self.unrestricted } else { &self.public };
        let request = http.request(ask.method.clone(), ask.url.clone());
        let mut request = request.headers(ask.headers.clone()).timeout(self.answer_for);
        if let Some(body) = &ask.body {
            request = request.body(body.clone());
        }
        let mut response = request.send().await.map_err(failed)?;
        let (status, headers) = (response.status(), response.headers().clone());
        let (mut body, mut is_cut) = (Vec::new(), false);
        while let Some(piece) = response.chunk().await.map_err(failed)? {
            let room = ask.max_bytes - body.len();
            body.extend_from_slice(&piece[..piece.len().min(room)]);
            if piece.len() > room {
                is_cut = true;
                break;
            }
        }
        Ok(WebResponse { url: ask.url.clone(), status, headers, body, is_cut })
    }

    /// Checks a URL before its host is resolved.
    fn may_go(&self, url: &Url) -> Result<(), ToolError> {
        let refused = |why: &str| Err(ToolError::NotAuthorized(format!("{}: {why}", shown(url))));
        if !matches!(url.scheme(), "http" | "https") {
            return refused("only http and https URLs are supported");
        }
        if !url.username().is_empty() || url.password().is_some() {
            return refused("a URL with a user name or password is not supported");
        }
        let Some(host) = url.host() else { return refused("it has no host") };
        if self.allowed_hosts.contains(&place(url)) {
            return Ok(());
        }
        let port = url.port_or_known_default().unwrap_or(0);
        if port < FIRST_FREE_PORT && !matches!(port, 80 | 443) {
            return refused(
                "this port is not used by web services; web.allowed_private_hosts can allow it",
            );
        }
        if self.is_allowed_host(url) {
            return Ok(());
        }
        // `url` has converted addresses in decimal, octal and hexadecimal notation.
        match host {
            Host::Ipv4(address) if !is_outside(address.into()) => refused(NOT_PUBLIC),
            Host::Ipv6(address) if !is_outside(address.into()) => refused(NOT_PUBLIC),
            Host::Domain(name) if is_private_name(name) => refused(NOT_PUBLIC),
            _ => Ok(()),
        }
    }

    /// Whether the operator allows this private host.
    pub fn is_allowed_host(&self, url: &Url) -> bool {
        let host = url.host().map(|host| host.to_string()).unwrap_or_default();
        self.allowed_hosts.contains(&host) || self.allowed_hosts.contains(&place(url))
    }
}

/// The host and port, for example `host:443`, as in the list of allowed hosts.
pub fn place(url: &Url) -> String {
    let host = url.host().map(|host| host.to_string()).unwrap_or_default();
    format!("{host}:{}", url.port_or_known_default().unwrap_or(0))
}

fn client(resolver: Arc<dyn Resolve>) -> Result<reqwest::Client, reqwest::Error> {
    crate::tls::client_builder()
        .user_agent(concat!("Countersign/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(CONNECT_FOR)
        .redirect(Policy::none())
        .referer(false)
        // A proxy would resolve names itself.
        .no_proxy()
        .dns_resolver(resolver)
        .build()
}

const NOT_PUBLIC: &str = "it is not on the public internet. The operator can allow private hosts (web.allowed_private_hosts)";

/// Names that no public server has, regardless of what they resolve to.
pub fn is_private_name(name: &str) -> bool {
    let last = name.trim_end_matches('.').rsplit('.').next().unwrap_or_default();
    matches!(last, "localhost" | "local" | "internal" | "home" | "lan")
}

fn next_hop(answer: &WebResponse) -> Option<Url> {
    if !matches!(answer.status.as_u16(), 301 | 302 | 303 | 307 | 308) {
        return None;
    }
    answer.url.join(answer.headers.get(LOCATION)?.to_str().ok()?).ok()
}

/// The URL without parts that may be secret.
fn shown(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    format!("{}://{host}{port}", url.scheme())
}

fn explained(error: &reqwest::Error) -> ToolError {
    let mut cause: Option<&dyn std::error::Error> = Some(error);
    while let Some(here) = cause {
        if here.is::<PrivateAddress>() {
            return ToolError::NotAuthorized(format!("{here}"));
        }
        cause = here.source();
    }
    let place = error.url().map(shown).unwrap_or_default();
    let what = match error {
        e if e.is_timeout() => "did not answer in time",
        e if e.is_connect() => "cannot be reached",
        e if e.is_decode() => "sent a response that cannot be decompressed",
        _ => "closed the connection early",
    };
    ToolError::ExternalService(format!("Request failed: {place} {what}"))
}

/// The system's resolver.
struct System;

impl Resolve for System {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            let found: Vec<_> = tokio::net::lookup_host((name.as_str(), 0)).await?.collect();
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}

/// Returns the addresses of a name only if all of them are allowed, because the connection may use
/// any of them.
struct Checked(Arc<dyn Resolve>);

/// A name that resolves to a private address.
#[derive(Debug, thiserror::Error)]
#[error("{0}: {NOT_PUBLIC}")]
struct PrivateAddress(String);

impl Resolve for Checked {
    fn resolve(&self, name: Name) -> Resolving {
        let shown = name.as_str().to_owned();
        let found = self.0.resolve(name);
        Box::pin(async move {
            let found: Vec<_> = found.await?.collect();
            if found.iter().any(|address| !is_outside(address.ip())) {
                return Err(PrivateAddress(shown).into());
            }
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn web_client(allowed_hosts: &[&str]) -> WebClient {
        WebClient::new(allowed_hosts.iter().map(|&host| host.to_owned()).collect()).unwrap()
    }

    async fn asked(web_client: &WebClient, url: &str) -> Result<WebResponse, ToolError> {
        web_client.send(WebRequest::get(url.parse().unwrap(), 1000)).await
    }

    /// Each of these is rejected before anything is sent.
    /// Proves S8.
    #[tokio::test]
    async fn a_hundred_and_fifty_private_addresses_are_rejected() {
        let web_client = web_client(&[]);
        let cases = include_str!("inside.txt").lines().filter(|line| !line.starts_with('#'));
        let mut count = 0;
        for case in cases.filter(|line| !line.is_empty()) {
            count += 1;
            // An invalid URL reaches nobody either.
            let Ok(url) = case.parse::<Url>() else { continue };
            let refused = web_client.send(WebRequest::get(url, 1000)).await;
            assert!(matches!(refused, Err(ToolError::NotAuthorized(_))), "{case}: {refused:?}");
        }
        assert!(count >= 150, "{count}");
    }

    /// The check is what rejects: if the host is allowed, the same address is contacted.
    #[tokio::test]
    async fn an_allowed_host_may_be_private() {
        let server = fakes::web::FakeWeb::start().await;
        let url = format!("{}/page", server.url());
        assert!(matches!(asked(&web_client(&[]), &url).await, Err(ToolError::NotAuthorized(_))));
        let answer = asked(&web_client(&["127.0.0.1"]), &url).await.unwrap();
        assert_eq!((answer.status.as_u16(), answer.media_type().as_str()), (200, "text/html"));
        assert_eq!(server.asked(), ["GET /page"]);
    }

    /// A host that is allowed with a port is allowed for that port only.
    /// Proves S8.
    #[tokio::test]
    async fn a_named_port_opens_no_other() {
        let (server, other) =
            (fakes::web::FakeWeb::start().await, fakes::web::FakeWeb::start().await);
        let web_client = web_client(&[server.url().trim_start_matches("http://")]);
        assert!(asked(&web_client, &format!("{}/page", server.url())).await.is_ok());
        let refused = asked(&web_client, &format!("{}/page", other.url())).await;
        assert!(matches!(refused, Err(ToolError::NotAuthorized(_))), "{refused:?}");
        let host = self::web_client(&["127.0.0.1"]);
        let refused = asked(&host, "http://127.0.0.1:22/").await;
        assert!(matches!(refused, Err(ToolError::NotAuthorized(_))), "{refused:?}");
    }

    /// A resolver: `inside.example` has a private address, and `mixed.example` a private and a
    /// public one.
    #[derive(Default)]
    struct FakeResolver {
        asked: parking_lot::Mutex<Vec<String>>,
    }

    impl Resolve for FakeResolver {
        fn resolve(&self, name: Name) -> Resolving {
            self.asked.lock().push(name.as_str().to_owned());
            let found: &[&str] = match name.as_str() {
                "inside.example" => &["127.0.0.1:0"],
                "mixed.example" => &["93.184.215.14:0", "[::ffff:10.0.0.1]:0"],
                _ => &["93.184.215.14:0"],
            };
            let found: Vec<SocketAddr> = found.iter().map(|it| it.parse().unwrap()).collect();
            Box::pin(async move { Ok(Box::new(found.into_iter()) as Addrs) })
        }
    }

    /// A name is resolved once and rejected if one of its addresses is private. If the name is
    /// allowed, the connection uses the resolved address.
    /// Proves S8.
    #[tokio::test]
    async fn a_name_that_resolves_to_a_private_address_is_rejected() {
        let server = fakes::web::FakeWeb::start().await;
        let port = server.url().rsplit_once(':').unwrap().1.to_owned();
        let resolver = Arc::new(FakeResolver::default());
        let of = |allowed_hosts: &[&str]| {
            let allowed_hosts = allowed_hosts.iter().map(|&place| place.to_owned()).collect();
            WebClient::resolving(allowed_hosts, resolver.clone()).unwrap()
        };
        let private = format!("http://inside.example:{port}/page");
        let closed = of(&["127.0.0.1", "inside.example:1"]);
        for url in [private.as_str(), "https://mixed.example/"] {
            let refused = asked(&closed, url).await;
            assert!(matches!(refused, Err(ToolError::NotAuthorized(_))), "{url}: {refused:?}");
        }
        let refused = closed.dial("mixed.example", 443).await;
        assert!(matches!(refused, Err(ToolError::NotAuthorized(_))), "{refused:?}");
        let through = format!("{}/redirect?to={private}", server.url());
        let refused = asked(&closed, &through).await;
        assert!(matches!(refused, Err(ToolError::NotAuthorized(_))), "{refused:?}");
        assert_eq!(server.asked(), ["GET /redirect"]);

        resolver.asked.lock().clear();
        let open = of(&[&format!("inside.example:{port}")]);
        assert_eq!(asked(&open, &private).await.unwrap().status.as_u16(), 200);
        assert!(open.dial("inside.example", port.parse().unwrap()).await.is_ok());
        assert_eq!(*resolver.asked.lock(), ["inside.example", "inside.example"]);
    }

    struct SilentResolver;

    impl Resolve for SilentResolver {
        fn resolve(&self, _: Name) -> Resolving {
            Box::pin(std::future::pending())
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_program_does_not_wait_for_a_silent_resolver() {
        let web_client = WebClient::resolving(BTreeSet::new(), Arc::new(SilentResolver)).unwrap();
        let refused = web_client.dial("example.org", 443).await.unwrap_err().to_string();
        assert!(refused.contains("was not resolved in time"), "{refused}");
    }

    /// A public host redirects to a private one. `localhost` represents the private host, and the
    /// address represents the public one.
    /// Proves S8.
    #[tokio::test]
    async fn a_redirect_to_a_private_address_is_rejected() {
        let server = fakes::web::FakeWeb::start().await;
        let web_client = web_client(&["127.0.0.1"]);
        let private = server.url().replace("127.0.0.1", "localhost");
        let url = format!("{}/redirect?to={private}/page", server.url());
        let refused = asked(&web_client, &url).await;
        assert!(matches!(refused, Err(ToolError::NotAuthorized(_))), "{refused:?}");
        assert_eq!(server.asked().len(), 1, "the second was never asked");
    }

    #[tokio::test]
    async fn redirects_are_followed_so_far_and_secrets_stay_behind() {
        let server = fakes::web::FakeWeb::start().await;
        let web_client = web_client(&["127.0.0.1", "localhost"]);
        let url = format!("{}/redirect?to=/page", server.url());
        assert_eq!(asked(&web_client, &url).await.unwrap().url.path(), "/page");
        let round = format!("{}/round", server.url());
        assert!(matches!(asked(&web_client, &round).await, Err(ToolError::ExternalService(_))));

        let elsewhere = server.url().replace("127.0.0.1", "localhost");
        let url = format!("{}/redirect?to={elsewhere}/echo", server.url());
        let mut ask = WebRequest::get(url.parse().unwrap(), 1000);
        ask.headers.insert("authorization", "Bearer secret".parse().unwrap());
        ask.headers.insert("accept", "text/plain".parse().unwrap());
        ask.body = Some("a secret too".into());
        let answer = web_client.send(ask).await.unwrap();
        let seen = String::from_utf8(answer.body).unwrap();
        assert!(seen.contains("accept: text/plain") && !seen.contains("secret"), "{seen}");
    }

    #[tokio::test]
    async fn a_body_is_read_so_far_also_when_it_was_packed() {
        let server = fakes::web::FakeWeb::start().await;
        let web_client = web_client(&["127.0.0.1"]);
        for path in ["/large", "/bomb"] {
            let answer = asked(&web_client, &format!("{}{path}", server.url())).await.unwrap();
            assert_eq!((answer.body.len(), answer.is_cut), (1000, true), "{path}");
        }
    }
}
