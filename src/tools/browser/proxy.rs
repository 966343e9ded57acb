//! The only network access of a browser: a SOCKS proxy at a socket that is visible in its sandbox.
//! Every host is resolved and checked here, for each connection, so redirects, frames and scripts
//! of a page reach no private address either.
//!
//! SOCKS 5 (RFC 1928), because a browser uses it for all schemes and for one host per connection.
//! An HTTP proxy would have to tell the requests of a kept connection apart.

use sandbox::connections;
use std::{convert::Infallible, io, net::Ipv6Addr, path::Path, time::Duration};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _, copy_bidirectional},
    net::{UnixListener, UnixStream},
    time::timeout,
};

use super::state::SharedState;
use crate::tools::{ToolError, web::client::WebClient};

/// The maximum number of connections of one browser.
const AT_ONCE: usize = 64;
const GREETING_FOR: Duration = Duration::from_secs(10);

const VERSION: u8 = 5;
const NO_AUTHENTICATION: u8 = 0;
const CONNECT: u8 = 1;
const IPV4: u8 = 1;
const NAME: u8 = 3;
const IPV6: u8 = 4;

/// The reply code that is sent to the browser.
#[derive(Clone, Copy)]
enum Reply {
    Succeeded = 0,
    NotAllowed = 2,
    Unreachable = 4,
    Unsupported = 7,
}

/// The proxy of one browser.
pub struct BrowserProxy {
    listener: UnixListener,
    web_client: WebClient,
    state: SharedState,
}

impl BrowserProxy {
    pub fn open(
        socket: &Path,
        web_client: WebClient,
        state: SharedState,
    ) -> Result<Self, ToolError> {
        let listener = UnixListener::bind(socket).map_err(|problem| {
            ToolError::Sandbox(format!("the browser has no network access: {problem}"))
        })?;
        Ok(Self { listener, web_client, state })
    }

    /// Serves connections. Never returns.
    pub async fn serve(self) -> Infallible {
        let Self { listener, web_client, state } = self;
        let pass = move |from| {
            let (web_client, state) = (web_client.clone(), state.clone());
            async move { pass(from, &web_client, &state).await }
        };
        connections::serve(listener, AT_ONCE, pass).await
    }
}

async fn pass(mut from: UnixStream, web_client: &WebClient, state: &SharedState) -> io::Result<()> {
    let target = match timeout(GREETING_FOR, target(&mut from)).await {
        Ok(Ok(Some(target))) => target,
        Ok(Ok(None)) => return answer(&mut from, Reply::Unsupported).await,
        _ => return Ok(()),
    };
    match web_client.dial(&target.host, target.port).await {
        Ok(mut to) => {
            answer(&mut from, Reply::Succeeded).await?;
            copy_bidirectional(&mut from, &mut to).await.map(drop)
        }
        Err(refused @ ToolError::NotAuthorized(_)) => {
            state.blocked(&target.to_string(), &refused);
            answer(&mut from, Reply::NotAllowed).await
        }
        Err(_) => answer(&mut from, Reply::Unreachable).await,
    }
}

struct Target {
    host: String,
    port: u16,
}

impl std::fmt::Display for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

/// The greeting and the request. `None` if it is not a request to connect.
async fn target(from: &mut UnixStream) -> io::Result<Option<Target>> {
    let (_version, methods) = (from.read_u8().await?, from.read_u8().await?);
    let mut offered = vec![0; methods.into()];
    from.read_exact(&mut offered).await?;
    from.write_all(&[VERSION, NO_AUTHENTICATION]).await?;
    let mut head = [0; 4];
    from.read_exact(&mut head).await?;
    let [version, command, _reserved, kind] = head;
    let host = match kind {
        IPV4 => {
            let mut address = [0; 4];
            from.read_exact(&mut address).await?;
            Some(std::net::Ipv4Addr::from(address).to_string())
        }
        IPV6 => {
            let mut address = [0; 16];
            from.read_exact(&mut address).await?;
            Some(format!("[{}]", Ipv6Addr::from(address)))
        }
        NAME => {
            let mut name = vec![0; from.read_u8().await?.into()];
            from.read_exact(&mut name).await?;
            String::from_utf8(name).ok().filter(|name| is_plain(name))
        }
        _ => None,
    };
    let port = from.read_u16().await?;
    let host = host.filter(|_| version == VERSION && command == CONNECT);
    Ok(host.map(|host| Target { host, port }))
}

/// Only what is dialled exactly as it is written: an address would have another form.
fn is_plain(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
    !name.is_empty() && name.bytes().all(plain)
}

async fn answer(from: &mut UnixStream, reply: Reply) -> io::Result<()> {
    from.write_all(&[VERSION, reply as u8, 0, IPV4, 0, 0, 0, 0, 0, 0]).await
}

#[cfg(test)]
mod tests {
    use super::*;
    use fakes::web::FakeWeb;

    /// What the proxy answers to a request for this host and port, and what follows.
    async fn asked(allowed: &[&str], host: &[u8], port: u16) -> (Vec<u8>, Vec<String>) {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("proxy");
        let allowed = allowed.iter().map(|&host| host.to_owned()).collect();
        let state = SharedState::default();
        let web_client = WebClient::new(allowed).unwrap();
        let proxy = BrowserProxy::open(&socket, web_client, state.clone()).unwrap();
        let asking = async {
            let mut stream = UnixStream::connect(&socket).await.unwrap();
            stream.write_all(&[5, 1, 0]).await.unwrap();
            let mut chosen = [9; 2];
            stream.read_exact(&mut chosen).await.unwrap();
            assert_eq!(chosen, [5, 0]);
            let mut request = vec![5, 1, 0, 3, host.len() as u8];
            request.extend_from_slice(host);
            request.extend_from_slice(&port.to_be_bytes());
            request.extend_from_slice(b"GET /echo HTTP/1.0\r\n\r\n");
            stream.write_all(&request).await.unwrap();
            let mut answer = Vec::new();
            stream.read_to_end(&mut answer).await.ok();
            answer
        };
        let answer = tokio::select! {
            answer = asking => answer,
            never = proxy.serve() => match never {},
        };
        (answer, state.take_notices())
    }

    /// Private addresses are refused in every notation and reported; other names are not accepted.
    /// Proves S8.
    #[tokio::test]
    async fn a_browser_reaches_no_private_address() {
        for host in ["localhost", "127.0.0.1", "2130706433", "169.254.169.254", "printer.local"] {
            let (answer, notices) = asked(&[], host.as_bytes(), 80).await;
            assert_eq!(answer[1], Reply::NotAllowed as u8, "{host}");
            assert!(notices.concat().contains("not on the public internet"), "{notices:?}");
        }
        assert_eq!(asked(&[], b"1.1.1.1", 22).await.0[1], Reply::NotAllowed as u8);
        for host in [&b""[..], b"a/b", b"a@b", b"a b", b"\xff", b"[::1]"] {
            assert_eq!(asked(&[], host, 80).await.0[1], Reply::Unsupported as u8, "{host:?}");
        }
    }

    #[tokio::test]
    async fn an_allowed_host_is_reached() {
        let server = FakeWeb::start().await;
        let port = server.url().rsplit_once(':').unwrap().1.parse().unwrap();
        let (answer, _) = asked(&["127.0.0.1"], b"127.0.0.1", port).await;
        assert_eq!(answer[1], Reply::Succeeded as u8);
        assert!(String::from_utf8_lossy(&answer[10..]).contains("GET /echo"));
    }
}
