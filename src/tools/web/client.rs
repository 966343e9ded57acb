//! The only way out: every address is looked up once, checked, and connected to as checked, at
//! each hop again (S8).

use bytes::Bytes;
use reqwest::{
    Method, StatusCode,
    dns::{Addrs, Name, Resolve, Resolving},
    header::{ACCEPT, CONTENT_TYPE, HeaderMap, LOCATION},
    redirect::Policy,
};
use std::{collections::BTreeSet, net::SocketAddr, sync::Arc, time::Duration};
use tokio::net::TcpStream;
use url::{Host, Url};

use super::address::is_public;
use crate::tools::ToolError;

const CONNECT_FOR: Duration = Duration::from_secs(10);
/// For one request with all its redirects.
const ANSWER_FOR: Duration = Duration::from_secs(25);
const MOST_REDIRECTS: usize = 5;
/// Below it stand services that never were the web: mail, shells, databases of old.
const FIRST_FREE_PORT: u16 = 1024;

/// Sends requests to the public internet, and to the inside hosts that the operator has named.
#[derive(Clone)]
pub struct Outside {
    http: reqwest::Client,
    named: Arc<BTreeSet<String>>,
}

/// One request.
pub struct Ask {
    pub method: Method,
    pub url: Url,
    pub headers: HeaderMap,
    pub body: Option<Bytes>,
    /// What is read of the answer's body.
    pub at_most_bytes: usize,
}

/// What came back.
#[derive(Debug)]
pub struct Answer {
    /// Where the answer was found, after redirects.
    pub url: Url,
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Vec<u8>,
    /// The body is longer than what was read of it.
    pub is_cut: bool,
}

impl Ask {
    pub fn get(url: Url, at_most_bytes: usize) -> Self {
        Self { method: Method::GET, url, headers: HeaderMap::new(), body: None, at_most_bytes }
    }
}

impl Answer {
    /// The media type, without its parameters, in lower case.
    pub fn media_type(&self) -> String {
        let value = self.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let media_type = value.unwrap_or_default().split(';').next().unwrap_or_default();
        media_type.trim().to_ascii_lowercase()
    }
}

impl Outside {
    /// `named` are the hosts (names or addresses) that may be inside.
    pub fn new(named: BTreeSet<String>) -> Result<Self, reqwest::Error> {
        // Nothing else has begun to talk to anybody yet, in a test; the program did this at its start.
        rustls::crypto::ring::default_provider().install_default().ok();
        let named = Arc::new(named);
        let http = reqwest::Client::builder()
            .user_agent(concat!("Countersign/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(CONNECT_FOR)
            .timeout(ANSWER_FOR)
            .redirect(Policy::none())
            .referer(false)
            // A proxy would look addresses up by itself.
            .no_proxy()
            .dns_resolver(Arc::new(Checked { named: named.clone() }))
            .build()?;
        Ok(Self { http, named })
    }

    /// Only what is fetched follows redirects; what changes something is told where it was sent.
    pub async fn send(&self, ask: Ask) -> Result<Answer, ToolError> {
        let within = tokio::time::timeout(ANSWER_FOR, self.follow(ask));
        within.await.map_err(|_| ToolError::Timeout(ANSWER_FOR))?
    }

    /// Connects to a host, checked as all others are.
    pub async fn dial(&self, host: &str, port: u16) -> Result<TcpStream, ToolError> {
        let url = Url::parse(&format!("https://{host}:{port}/"));
        let url = url.map_err(|_| ToolError::NotAuthorized(format!("{host} is no host")))?;
        self.may_go(&url)?;
        let name = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
        let far = |what: &str| ToolError::ExternalService(format!("{host}:{port} {what}"));
        let mut found = look_up(name, &self.named).await.map_err(|error| {
            error.downcast::<Inside>().map_or_else(
                |_| far("is not known"),
                |inside| ToolError::NotAuthorized(inside.to_string()),
            )
        })?;
        for address in &mut found {
            address.set_port(port);
        }
        let connected = tokio::time::timeout(CONNECT_FOR, TcpStream::connect(&found[..])).await;
        connected.map_err(|_| far("did not answer in time"))?.map_err(|_| far("cannot be reached"))
    }

    async fn follow(&self, mut ask: Ask) -> Result<Answer, ToolError> {
        let fetches = matches!(ask.method, Method::GET | Method::HEAD);
        for _ in 0..=MOST_REDIRECTS {
            self.may_go(&ask.url)?;
            let answer = self.send_once(&ask).await?;
            let next = if fetches { next_hop(&answer) } else { None };
            let Some(next) = next else { return Ok(answer) };
            if next.origin() != ask.url.origin() {
                // What was meant for one host is not another's to read.
                let accept = ask.headers.remove(ACCEPT);
                ask.headers.clear();
                ask.headers.extend(accept.map(|accept| (ACCEPT, accept)));
            }
            ask.url = next;
        }
        Err(ToolError::ExternalService(format!("more than {MOST_REDIRECTS} redirects")))
    }

    async fn send_once(&self, ask: &Ask) -> Result<Answer, ToolError> {
        let mut request =
            self.http.request(ask.method.clone(), ask.url.clone()).headers(ask.headers.clone());
        if let Some(body) = &ask.body {
            request = request.body(body.clone());
        }
        let mut response = request.send().await.map_err(failed)?;
        let (status, headers) = (response.status(), response.headers().clone());
        let (mut body, mut is_cut) = (Vec::new(), false);
        while let Some(piece) = response.chunk().await.map_err(failed)? {
            let room = ask.at_most_bytes - body.len();
            body.extend_from_slice(&piece[..piece.len().min(room)]);
            if piece.len() > room {
                is_cut = true;
                break;
            }
        }
        Ok(Answer { url: ask.url.clone(), status, headers, body, is_cut })
    }

    /// What can be said of an address before it is looked up.
    fn may_go(&self, url: &Url) -> Result<(), ToolError> {
        let refused = |why: &str| Err(ToolError::NotAuthorized(format!("{}: {why}", shown(url))));
        if !matches!(url.scheme(), "http" | "https") {
            return refused("only http and https addresses are asked");
        }
        if !url.username().is_empty() || url.password().is_some() {
            return refused("an address with a name or password in it is not asked");
        }
        let Some(host) = url.host() else { return refused("it names no host") };
        if self.named.contains(&host.to_string()) {
            return Ok(());
        }
        let port = url.port_or_known_default().unwrap_or(0);
        if port < FIRST_FREE_PORT && !matches!(port, 80 | 443) {
            return refused("nothing of the web answers at that port");
        }
        // `url` has read decimal, octal and hexadecimal forms as the addresses that they are.
        match host {
            Host::Ipv4(address) if !is_public(address.into()) => refused(INSIDE),
            Host::Ipv6(address) if !is_public(address.into()) => refused(INSIDE),
            Host::Domain(name) if is_inside(name) => refused(INSIDE),
            _ => Ok(()),
        }
    }
}

const INSIDE: &str = "it does not stand on the public internet. The operator can name hosts that \
                      may be asked all the same (web.inside)";

/// Names that no public server has, however they are looked up here.
fn is_inside(name: &str) -> bool {
    let last = name.trim_end_matches('.').rsplit('.').next().unwrap_or_default();
    matches!(last, "localhost" | "local" | "internal" | "home" | "lan")
}

fn next_hop(answer: &Answer) -> Option<Url> {
    if !matches!(answer.status.as_u16(), 301 | 302 | 303 | 307 | 308) {
        return None;
    }
    answer.url.join(answer.headers.get(LOCATION)?.to_str().ok()?).ok()
}

/// The address without what may be secret in it.
fn shown(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    format!("{}://{host}{port}", url.scheme())
}

fn failed(error: reqwest::Error) -> ToolError {
    let mut cause: Option<&dyn std::error::Error> = Some(&error);
    while let Some(here) = cause {
        if here.is::<Inside>() {
            return ToolError::NotAuthorized(format!("{here}"));
        }
        cause = here.source();
    }
    let place = error.url().map(shown).unwrap_or_default();
    let what = match &error {
        e if e.is_timeout() => "did not answer in time",
        e if e.is_connect() => "cannot be reached",
        e if e.is_decode() => "sent something that cannot be unpacked",
        _ => "broke off",
    };
    ToolError::ExternalService(format!("{place} {what}"))
}

/// Looks names up and gives out only what may be connected to.
struct Checked {
    named: Arc<BTreeSet<String>>,
}

/// A name that leads inside, with all its addresses or with one of them.
#[derive(Debug, thiserror::Error)]
#[error("{0}: {INSIDE}")]
struct Inside(String);

impl Resolve for Checked {
    fn resolve(&self, name: Name) -> Resolving {
        let named = self.named.clone();
        Box::pin(
            async move { Ok(Box::new(look_up(name.as_str(), &named).await?.into_iter()) as Addrs) },
        )
    }
}

/// The addresses of a name, unless one of them leads inside: which one would be taken is not ours
/// to say.
async fn look_up(
    name: &str,
    named: &BTreeSet<String>,
) -> Result<Vec<SocketAddr>, Box<dyn std::error::Error + Send + Sync>> {
    let found: Vec<SocketAddr> = tokio::net::lookup_host((name, 0)).await?.collect();
    if !named.contains(name) && found.iter().any(|address| !is_public(address.ip())) {
        return Err(Inside(name.to_owned()).into());
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outside(named: &[&str]) -> Outside {
        Outside::new(named.iter().map(|&host| host.to_owned()).collect()).unwrap()
    }

    async fn asked(outside: &Outside, url: &str) -> Result<Answer, ToolError> {
        outside.send(Ask::get(url.parse().unwrap(), 1000)).await
    }

    /// S8: each of these is refused before anything is sent.
    #[tokio::test]
    async fn a_hundred_and_fifty_ways_inside_are_closed() {
        let outside = outside(&[]);
        let cases = include_str!("inside.txt").lines().filter(|line| !line.starts_with('#'));
        let mut count = 0;
        for case in cases.filter(|line| !line.is_empty()) {
            count += 1;
            // What is no address at all reaches nobody either.
            let Ok(url) = case.parse::<Url>() else { continue };
            let refused = outside.send(Ask::get(url, 1000)).await;
            assert!(matches!(refused, Err(ToolError::NotAuthorized(_))), "{case}: {refused:?}");
        }
        assert!(count >= 150, "{count}");
    }

    /// The check is what refuses: with the host named, the same address is asked.
    #[tokio::test]
    async fn a_named_host_may_be_inside() {
        let server = fakes::web::FakeWeb::start().await;
        let url = format!("{}/page", server.url());
        assert!(matches!(asked(&outside(&[]), &url).await, Err(ToolError::NotAuthorized(_))));
        let answer = asked(&outside(&["127.0.0.1"]), &url).await.unwrap();
        assert_eq!((answer.status.as_u16(), answer.media_type().as_str()), (200, "text/html"));
        assert_eq!(server.asked(), ["GET /page"]);
    }

    /// S8: a public door that leads inside. `localhost` stands for the inside, the address for
    /// what may be asked.
    #[tokio::test]
    async fn a_redirect_inside_is_refused() {
        let server = fakes::web::FakeWeb::start().await;
        let outside = outside(&["127.0.0.1"]);
        let inside = server.url().replace("127.0.0.1", "localhost");
        let url = format!("{}/redirect?to={inside}/page", server.url());
        let refused = asked(&outside, &url).await;
        assert!(matches!(refused, Err(ToolError::NotAuthorized(_))), "{refused:?}");
        assert_eq!(server.asked().len(), 1, "the second was never asked");
    }

    #[tokio::test]
    async fn redirects_are_followed_so_far_and_secrets_stay_behind() {
        let server = fakes::web::FakeWeb::start().await;
        let outside = outside(&["127.0.0.1", "localhost"]);
        let url = format!("{}/redirect?to=/page", server.url());
        assert_eq!(asked(&outside, &url).await.unwrap().url.path(), "/page");
        let round = format!("{}/round", server.url());
        assert!(matches!(asked(&outside, &round).await, Err(ToolError::ExternalService(_))));

        let elsewhere = server.url().replace("127.0.0.1", "localhost");
        let url = format!("{}/redirect?to={elsewhere}/headers", server.url());
        let mut ask = Ask::get(url.parse().unwrap(), 1000);
        ask.headers.insert("authorization", "Bearer secret".parse().unwrap());
        ask.headers.insert("accept", "text/plain".parse().unwrap());
        let answer = outside.send(ask).await.unwrap();
        let seen = String::from_utf8(answer.body).unwrap();
        assert!(seen.contains("accept: text/plain") && !seen.contains("secret"), "{seen}");
    }

    #[tokio::test]
    async fn a_body_is_read_so_far_also_when_it_was_packed() {
        let server = fakes::web::FakeWeb::start().await;
        let outside = outside(&["127.0.0.1"]);
        for path in ["/large", "/bomb"] {
            let answer = asked(&outside, &format!("{}{path}", server.url())).await.unwrap();
            assert_eq!((answer.body.len(), answer.is_cut), (1000, true), "{path}");
        }
    }
}
