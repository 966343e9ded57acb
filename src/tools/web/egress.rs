//! The sandbox's network access: a proxy that reaches only the hosts that the operator allows.
//!
//! It is used with `CONNECT` over a socket that is visible inside the sandbox. The traffic between
//! the program and the host is TLS and is not inspected.

#![expect(
    clippy::disallowed_types,
    reason = "`serve` awaits nothing but these futures and the next connection"
)]

use anyhow::{Context as _, Result};
use futures::{FutureExt as _, StreamExt as _, stream::FuturesUnordered};
use globset::{Glob, GlobSet};
use std::{
    net::Ipv6Addr,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};
use tempfile::TempDir;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _, copy_bidirectional},
    net::{UnixListener, UnixStream},
    time::timeout,
};
use tokio_util::task::AbortOnDropHandle;
use url::Url;

use super::client::WebClient;
use crate::tools::ToolError;

/// The maximum size and duration of a request.
const HEAD_BYTES: usize = 8 * 1024;
const HEAD_FOR: Duration = Duration::from_secs(10);
/// The maximum number of connections of one program.
const AT_ONCE: usize = 32;

/// The hosts that programs in the sandbox may reach.
#[derive(Debug, Clone)]
pub struct Egress {
    names: Vec<String>,
    hosts: GlobSet,
    web_client: WebClient,
}

impl Egress {
    /// Allows hosts with these names, by TLS, or at the given port; `*` matches.
    pub fn to(names: &[String], web_client: WebClient) -> Result<Self> {
        let mut hosts = GlobSet::builder();
        for name in names {
            hosts.add(Glob::new(&pattern(name)).with_context(|| name.clone())?);
        }
        Ok(Self { names: names.to_vec(), hosts: hosts.build()?, web_client })
    }

    /// The allowed names.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Opens the proxy at a socket with that path.
    pub fn open(&self, socket: &Path) -> Result<OpenProxy<'_>, ToolError> {
        let listener = UnixListener::bind(socket).map_err(|problem| {
            ToolError::Sandbox(format!("there is no network access: {problem}"))
        })?;
        Ok(OpenProxy { egress: self, listener })
    }

    async fn pass(&self, mut from: UnixStream) -> std::io::Result<()> {
        let Some(head) = timeout(HEAD_FOR, head(&mut from)).await.ok().flatten() else {
            return refuse(&mut from, "400 Bad Request", "invalid request").await;
        };
        let Some(target) = connect_target(&head) else {
            let why = "only CONNECT is supported: use https";
            return refuse(&mut from, "405 Method Not Allowed", why).await;
        };
        let Some((host, port)) = host_and_port(target) else {
            let why = "CONNECT requires a host name or an IP address, and a port";
            return refuse(&mut from, "400 Bad Request", why).await;
        };
        if !self.hosts.is_match(format!("{host}:{port}")) {
            let why = format!("{host}:{port} is not an allowed host");
            return refuse(&mut from, "403 Forbidden", &why).await;
        }
        match self.web_client.dial(&host, port).await {
            Err(why) => refuse(&mut from, "502 Bad Gateway", &why.to_string()).await,
            Ok(mut to) => {
                from.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await?;
                copy_bidirectional(&mut from, &mut to).await.map(drop)
            }
        }
    }
}

impl Egress {
    /// Opens the proxy for a program that keeps running, until the result is dropped.
    pub fn keep_open(self: &Arc<Self>) -> Result<KeptProxy, ToolError> {
        let folder = tempfile::tempdir().map_err(|problem| {
            ToolError::Sandbox(format!("there is no network access: {problem}"))
        })?;
        let socket = folder.path().join("egress");
        let listener = self.open(&socket)?.listener;
        let egress = self.clone();
        #[expect(clippy::disallowed_methods, reason = "it ends with the result of this function")]
        let serving = tokio::spawn(async move {
            let open = OpenProxy { egress: &egress, listener };
            match open.serve().await {}
        });
        Ok(KeptProxy { socket, _folder: folder, _serving: AbortOnDropHandle::new(serving) })
    }
}

/// A proxy that is served by a task of its own.
pub struct KeptProxy {
    pub socket: PathBuf,
    _folder: TempDir,
    _serving: AbortOnDropHandle<()>,
}

/// An open proxy.
pub struct OpenProxy<'e> {
    egress: &'e Egress,
    listener: UnixListener,
}

impl OpenProxy<'_> {
    /// Serves connections while it is polled. Never returns.
    pub async fn serve(self) -> std::convert::Infallible {
        let mut passing = FuturesUnordered::new();
        loop {
            tokio::select! {
                taken = self.listener.accept(), if passing.len() < AT_ONCE => {
                    if let Ok((from, _)) = taken {
                        // A lost connection is treated like one that ended.
                        passing.push(self.egress.pass(from).map(drop));
                    }
                }
                Some(()) = passing.next() => {}
            }
        }
    }
}

/// The request up to the empty line.
async fn head(from: &mut UnixStream) -> Option<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        // Reads byte by byte, because the bytes after the head belong to the tunnel.
        head.push(from.read_u8().await.ok()?);
        if head.len() > HEAD_BYTES {
            return None;
        }
    }
    String::from_utf8(head).ok()
}

/// The target of `CONNECT host:443 HTTP/1.1`.
fn connect_target(head: &str) -> Option<&str> {
    let mut words = head.lines().next()?.split(' ');
    let (method, target, version) = (words.next()?, words.next()?, words.next()?);
    let fits = method == "CONNECT" && version.starts_with("HTTP/1.") && words.next().is_none();
    fits.then_some(target)
}

/// The host exactly as it is dialled. Only a plain name or an address is accepted: in
/// `1.1.1.1/x.example.org`, the part that a pattern matches is not the part that would be dialled.
fn host_and_port(target: &str) -> Option<(String, u16)> {
    let (host, port) = target.rsplit_once(':')?;
    let port = port.bytes().all(|byte| byte.is_ascii_digit()).then(|| port.parse().ok())??;
    let bracketed = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    let is_plain = match bracketed {
        Some(address) => address.parse::<Ipv6Addr>().is_ok(),
        None => host.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'.' || b == b'-'),
    };
    if !is_plain {
        return None;
    }
    let url = Url::parse(&format!("https://{}:{port}/", host.trim_end_matches('.'))).ok()?;
    Some((url.host_str()?.to_owned(), port))
}

/// A configured name as a glob for `host:port`.
fn pattern(name: &str) -> String {
    let port = if name.ends_with(']') || !name.contains(':') { ":443" } else { "" };
    // The brackets of an IPv6 address are not a character class.
    let name = name.to_lowercase().replace('[', "\\[").replace(']', "\\]");
    format!("{name}{port}")
}

async fn refuse(from: &mut UnixStream, status: &str, why: &str) -> std::io::Result<()> {
    let answer = format!(
        "HTTP/1.1 {status}\r\ncontent-type: text/plain\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{why}",
        why.len()
    );
    from.write_all(answer.as_bytes()).await
}

#[cfg(test)]
mod tests {
    use super::*;

    fn egress(names: &[&str], inside: &[&str]) -> Egress {
        let names: Vec<_> = names.iter().map(|&name| name.to_owned()).collect();
        let inside = inside.iter().map(|&host| host.to_owned()).collect();
        Egress::to(&names, WebClient::new(inside).unwrap()).unwrap()
    }

    /// The first line of the response, and what follows the head.
    async fn asked(egress: &Egress, request: &str) -> (String, String) {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("way");
        let open = egress.open(&socket).unwrap();
        let asking = async {
            let mut stream = UnixStream::connect(&socket).await.unwrap();
            stream.write_all(request.as_bytes()).await.unwrap();
            stream.shutdown().await.unwrap();
            let mut answer = String::new();
            stream.read_to_string(&mut answer).await.unwrap();
            let (first, rest) = answer.split_once("\r\n").unwrap();
            (first.to_owned(), rest.split_once("\r\n\r\n").map_or("", |(_, b)| b).to_owned())
        };
        tokio::select! {
            answer = asking => answer,
            never = open.serve() => match never {},
        }
    }

    fn connect(place: &str) -> String {
        format!("CONNECT {place} HTTP/1.1\r\nHost: {place}\r\n\r\n")
    }

    /// A private host is not reached, whether allowed by name or not, in any notation.
    /// Proves S8.
    #[tokio::test]
    async fn only_named_hosts_of_the_public_internet_are_reached() {
        let all = egress(&["*", "*:*"], &[]);
        for place in [
            "localhost:443",
            "127.0.0.1:443",
            "2130706433:443",
            "0x7f.1:443",
            "[::1]:443",
            "169.254.169.254:443",
            "10.0.0.1:443",
            "[::ffff:127.0.0.1]:443",
            "metadata.internal:443",
            "1.1.1.1:22",
        ] {
            let (first, why) = asked(&all, &connect(place)).await;
            assert!(first.contains("502"), "{place}: {first} {why}");
        }
        let named = egress(&["pypi.org", "*.pythonhosted.org"], &[]);
        for place in [
            "evil.example:443",
            "pypi.org.evil.example:443",
            "evilpypi.org:443",
            "pypi.org:80",
            "pypi.org:22",
        ] {
            let (first, why) = asked(&named, &connect(place)).await;
            assert!(
                first.contains("403") && why.contains("is not an allowed host"),
                "{place}: {first}"
            );
        }
        // The part that the pattern would match is not the part that would be dialled.
        for host in [
            "evil.example/x.pythonhosted.org",
            "1.1.1.1/x.pythonhosted.org",
            "1.1.1.1?.pythonhosted.org",
            "1.1.1.1#.pythonhosted.org",
            "1.1.1.1\\.pythonhosted.org",
            "127.0.0.1/.pythonhosted.org",
            "evil.example@x.pythonhosted.org",
            "x@evil.example:80/.pythonhosted.org",
            "evil.example%2f.pythonhosted.org",
            "evil.example%00.pythonhosted.org",
            "evil.example\t.pythonhosted.org",
            "evil。example.pythonhosted.org",
            "[::1]x.pythonhosted.org",
            "[fe80::1%25eth0]",
            "",
        ] {
            let (first, _) = asked(&named, &connect(&format!("{host}:443"))).await;
            assert!(first.contains("400"), "{host}: {first}");
        }
        for port in ["", "+443", "99999", "443/", " 443"] {
            let (first, _) = asked(&named, &connect(&format!("pypi.org:{port}"))).await;
            assert!(first.contains("400") || first.contains("405"), "{port}: {first}");
        }
        for request in ["GET http://pypi.org/ HTTP/1.1\r\n\r\n", "CONNECT pypi.org:443\r\n\r\n"] {
            assert!(asked(&named, request).await.0.contains("405"), "{request}");
        }
        assert!(asked(&named, &connect("pypi.org")).await.0.contains("400"));
        assert!(asked(&named, "what\r\n\r\n").await.0.contains("405"));
        assert!(asked(&named, &"x".repeat(HEAD_BYTES + 1)).await.0.contains("400"));
    }

    /// Numeric notations are compared as the addresses that they represent.
    #[test]
    fn a_target_is_matched_as_the_host_that_is_dialled() {
        for (target, expected) in [
            ("PyPI.org.:443", Some("pypi.org:443")),
            ("2130706433:443", Some("127.0.0.1:443")),
            ("0x7f.1:443", Some("127.0.0.1:443")),
            ("[2001:DB8::1]:443", Some("[2001:db8::1]:443")),
            ("xn--n3h.example:443", Some("xn--n3h.example:443")),
            ("a_b.example:443", None),
            ("..:443", None),
        ] {
            let found = host_and_port(target).map(|(host, port)| format!("{host}:{port}"));
            assert_eq!(found.as_deref(), expected, "{target}");
        }
        let named = egress(&["[2001:db8::1]", "[2001:db8::2]:8443"], &[]);
        assert!(named.hosts.is_match("[2001:db8::1]:443"));
        assert!(named.hosts.is_match("[2001:db8::2]:8443"));
        assert!(!named.hosts.is_match("2:443"));
    }

    #[tokio::test]
    async fn allowed_hosts_are_reachable() {
        let server = fakes::web::FakeWeb::start().await;
        let place = server.url().trim_start_matches("http://").to_owned();
        let egress = egress(&[&place], &["127.0.0.1"]);
        let through = format!("{}GET /echo HTTP/1.0\r\n\r\n", connect(&place));
        let (first, rest) = asked(&egress, &through).await;
        assert_eq!(first, "HTTP/1.1 200 Connection established");
        assert!(rest.contains("GET /echo"), "{rest}");
    }
}
