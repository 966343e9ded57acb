//! The sandbox's network access: a proxy that reaches only the hosts that the operator allows.
//!
//! It is used with `CONNECT` over a socket that is visible inside the sandbox. The traffic between
//! the program and the host is TLS and is not inspected.

use async_trait::async_trait;
use globset::{Glob, GlobSet};
use std::{
    convert::Infallible,
    fmt, io,
    net::Ipv6Addr,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};
use tempfile::TempDir;
use thiserror::Error;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _, copy_bidirectional},
    net::{TcpStream, UnixListener, UnixStream},
    time::timeout,
};
use tokio_util::task::AbortOnDropHandle;
use url::Url;

use super::{SandboxError, connections};

/// The maximum size and duration of a request.
const HEAD_BYTES: usize = 8 * 1024;
const HEAD_FOR: Duration = Duration::from_secs(10);
/// The maximum number of connections of one program.
const AT_ONCE: usize = 32;

/// Connects to hosts, and decides which addresses may be reached.
#[async_trait]
pub trait Dial: fmt::Debug + Send + Sync {
    /// Connects to a host, which is a name or an address, an IPv6 address in brackets. The program
    /// reads the text of the error.
    ///
    /// It has to resolve the name itself and to check the address that it connects to: the proxy
    /// has compared the name only.
    async fn connect(&self, host: &str, port: u16) -> io::Result<TcpStream>;
}

/// The hosts that programs in the sandbox may reach.
#[derive(Debug)]
pub struct Egress {
    names: Vec<String>,
    hosts: GlobSet,
    dial: Box<dyn Dial>,
}

/// A name of allowed hosts that is not a pattern.
#[derive(Debug, Error)]
#[error("{name}")]
pub struct InvalidHostName {
    name: String,
    source: globset::Error,
}

impl Egress {
    /// Allows hosts with these names, by TLS, or at the given port; `*` matches.
    pub fn to(names: &[String], dial: impl Dial + 'static) -> Result<Self, InvalidHostName> {
        let mut hosts = GlobSet::builder();
        let invalid = |name: &str, source| InvalidHostName { name: name.to_owned(), source };
        for name in names {
            hosts.add(Glob::new(&pattern(name)).map_err(|source| invalid(name, source))?);
        }
        let hosts = hosts.build().map_err(|source| invalid(&names.join(", "), source))?;
        Ok(Self { names: names.to_vec(), hosts, dial: Box::new(dial) })
    }

    /// The allowed names.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Opens the proxy at a socket with that path.
    pub fn open(self: &Arc<Self>, socket: &Path) -> Result<OpenProxy, SandboxError> {
        let listener = UnixListener::bind(socket).map_err(SandboxError::NoNetwork)?;
        Ok(OpenProxy { egress: self.clone(), listener })
    }

    /// Opens the proxy for a program that keeps running, until the result is dropped.
    pub fn keep_open(self: &Arc<Self>) -> Result<KeptProxy, SandboxError> {
        let folder = tempfile::tempdir().map_err(SandboxError::NoNetwork)?;
        let socket = folder.path().join("egress");
        let open = self.open(&socket)?;
        #[expect(clippy::disallowed_methods, reason = "it ends with the result of this function")]
        let serving = tokio::spawn(async move { match open.serve().await {} });
        Ok(KeptProxy { socket, _folder: folder, _serving: AbortOnDropHandle::new(serving) })
    }

    async fn pass(&self, mut from: UnixStream) -> io::Result<()> {
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
        match self.dial.connect(&host, port).await {
            Err(why) => refuse(&mut from, "502 Bad Gateway", &why.to_string()).await,
            Ok(mut to) => {
                from.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await?;
                copy_bidirectional(&mut from, &mut to).await.map(drop)
            }
        }
    }
}

/// A proxy that is served by a task of its own.
pub struct KeptProxy {
    pub(super) socket: PathBuf,
    _folder: TempDir,
    _serving: AbortOnDropHandle<()>,
}

/// An open proxy.
pub struct OpenProxy {
    egress: Arc<Egress>,
    listener: UnixListener,
}

impl OpenProxy {
    /// Serves connections while it is polled. Never returns.
    pub async fn serve(self) -> Infallible {
        let Self { egress, listener } = self;
        let pass = move |from| {
            let egress = egress.clone();
            async move { egress.pass(from).await }
        };
        connections::serve(listener, AT_ONCE, pass).await
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

async fn refuse(from: &mut UnixStream, status: &str, why: &str) -> io::Result<()> {
    let answer = format!(
        "HTTP/1.1 {status}\r\ncontent-type: text/plain\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{why}",
        why.len()
    );
    from.write_all(answer.as_bytes()).await
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::{net::TcpListener, sync::mpsc};

    /// Connects to one address, whatever the name, and reports each name; or to none.
    #[derive(Debug)]
    struct OneAddress {
        address: Option<std::net::SocketAddr>,
        dialled: mpsc::UnboundedSender<String>,
    }

    #[async_trait]
    impl Dial for OneAddress {
        async fn connect(&self, host: &str, port: u16) -> io::Result<TcpStream> {
            self.dialled.send(format!("{host}:{port}")).unwrap();
            match self.address {
                Some(address) => TcpStream::connect(address).await,
                None => Err(io::Error::other("it cannot be reached")),
            }
        }
    }

    fn egress(names: &[&str]) -> Arc<Egress> {
        let (dialled, _) = mpsc::unbounded_channel();
        through(names, OneAddress { address: None, dialled })
    }

    fn through(names: &[&str], dial: OneAddress) -> Arc<Egress> {
        let names: Vec<_> = names.iter().map(|&name| name.to_owned()).collect();
        Arc::new(Egress::to(&names, dial).unwrap())
    }

    /// The first line of the response, and what follows the head.
    async fn asked(egress: &Arc<Egress>, request: &str) -> (String, String) {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("way");
        let open = egress.open(&socket).unwrap();
        let asking = async {
            let mut stream = UnixStream::connect(&socket).await.unwrap();
            stream.write_all(request.as_bytes()).await.unwrap();
            stream.shutdown().await.unwrap();
            let mut answer = String::new();
            stream.read_to_string(&mut answer).await.unwrap();
            let (head, rest) = answer.split_once("\r\n\r\n").unwrap();
            (head.lines().next().unwrap().to_owned(), rest.to_owned())
        };
        tokio::select! {
            answer = asking => answer,
            never = open.serve() => match never {},
        }
    }

    fn connect(place: &str) -> String {
        format!("CONNECT {place} HTTP/1.1\r\nHost: {place}\r\n\r\n")
    }

    /// Proves S8.
    #[tokio::test]
    async fn only_named_hosts_are_reached() {
        let named = egress(&["pypi.org", "*.pythonhosted.org"]);
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
        let named = egress(&["[2001:db8::1]", "[2001:db8::2]:8443"]);
        assert!(named.hosts.is_match("[2001:db8::1]:443"));
        assert!(named.hosts.is_match("[2001:db8::2]:8443"));
        assert!(!named.hosts.is_match("2:443"));
    }

    /// The host that was compared is the one that is dialled; a host that may not be reached is an
    /// error for the program.
    #[tokio::test]
    async fn a_named_host_is_dialled_as_it_was_compared() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = Some(listener.local_addr().unwrap());
        let (dialled, mut seen) = mpsc::unbounded_channel();
        let names = ["127.0.0.1", "*.example:8443"];
        let open = through(&names, OneAddress { address, dialled: dialled.clone() });
        let echo = async {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut words = String::new();
            stream.read_to_string(&mut words).await.unwrap();
            stream.write_all(words.to_uppercase().as_bytes()).await.unwrap();
        };
        let request = format!("{}hello", connect("A.Example.:8443"));
        let ((first, rest), ()) = tokio::join!(asked(&open, &request), echo);
        assert_eq!(
            (first.as_str(), rest.as_str()),
            ("HTTP/1.1 200 Connection established", "HELLO")
        );
        assert_eq!(seen.recv().await.unwrap(), "a.example:8443");

        let closed = through(&names, OneAddress { address: None, dialled });
        let (first, why) = asked(&closed, &connect("2130706433:443")).await;
        assert!(first.contains("502") && why.contains("cannot be reached"), "{first} {why}");
        assert_eq!(seen.recv().await.unwrap(), "127.0.0.1:443");
    }

    #[test]
    fn a_name_that_is_not_a_pattern_is_named() {
        let (dialled, _) = mpsc::unbounded_channel();
        let refused = Egress::to(&["a{b".into()], OneAddress { address: None, dialled });
        assert_eq!(refused.unwrap_err().to_string(), "a{b");
    }
}
