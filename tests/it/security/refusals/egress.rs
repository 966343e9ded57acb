//! Requests of a sandboxed program that the proxy rejects.

use countersign::testing::tools::web::client::WebClient;
use sandbox::egress::Egress;
use std::sync::Arc;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::UnixStream,
};

/// The status line of the response.
async fn asked(names: &[&str], head: &str) -> String {
    let names: Vec<_> = names.iter().map(|&name| name.to_owned()).collect();
    let egress = Arc::new(Egress::to(&names, WebClient::new([].into()).unwrap()).unwrap());
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("proxy");
    let open = egress.open(&socket).unwrap();
    let asking = async {
        let mut stream = UnixStream::connect(&socket).await.unwrap();
        stream.write_all(head.as_bytes()).await.unwrap();
        stream.shutdown().await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer.lines().next().unwrap_or_default().to_owned()
    };
    tokio::select! {
        answer = asking => answer,
        never = open.serve() => match never {},
    }
}

/// 40 requests: other hosts, disguised hosts, other ports, other methods.
#[tokio::test]
async fn a_program_reaches_only_the_hosts_that_are_named() {
    let wild = ["*.pythonhosted.org", "pypi.org"];
    let targets = [
        // Other hosts.
        (403, "evil.example:443"),
        (403, "pythonhosted.org:443"),
        (403, "evilpythonhosted.org:443"),
        (403, "x.pythonhosted.org.evil.example:443"),
        (403, "pypi.org.evil.example:443"),
        (403, "1.1.1.1:443"),
        (403, "16843009:443"),
        (403, "0x01010101:443"),
        (403, "[2606:4700::1111]:443"),
        // The matching name is not the host that would be contacted.
        (400, "1.1.1.1/x.pythonhosted.org:443"),
        (400, "1.1.1.1?.pythonhosted.org:443"),
        (400, "1.1.1.1#.pythonhosted.org:443"),
        (400, "1.1.1.1\\.pythonhosted.org:443"),
        (400, "evil.example/.pythonhosted.org:443"),
        (400, "evil.example/%2f.pythonhosted.org:443"),
        (400, "//evil.example/.pythonhosted.org:443"),
        (400, "https://evil.example/.pythonhosted.org:443"),
        (400, "evil.example:443/.pythonhosted.org:443"),
        (400, "x@evil.example/.pythonhosted.org:443"),
        (400, "x.pythonhosted.org@evil.example:443"),
        (400, "evil.example%2f.pythonhosted.org:443"),
        (400, "evil.example%00.pythonhosted.org:443"),
        (400, "evil.example\t.pythonhosted.org:443"),
        (400, "evil.example;.pythonhosted.org:443"),
        (400, "evil.example,.pythonhosted.org:443"),
        (400, "evil\u{3002}example/.pythonhosted.org:443"),
        (400, "\u{430}.pythonhosted.org:443"),
        (400, "[::1].pythonhosted.org:443"),
        (400, "[::1%25lo]:443"),
        (400, ":443"),
        (400, "pypi.org"),
        (400, "pypi.org:"),
        (400, "pypi.org:+443"),
        (400, "pypi.org:65536"),
        // Other ports.
        (403, "pypi.org:80"),
        (403, "pypi.org:22"),
        (403, "files.pythonhosted.org:25"),
    ];
    for (status, target) in targets {
        let head = format!("CONNECT {target} HTTP/1.1\r\nHost: pypi.org\r\n\r\n");
        let answer = asked(&wild, &head).await;
        assert!(answer.contains(&status.to_string()), "{target}: {answer}");
    }
    for head in [
        "GET https://pypi.org/ HTTP/1.1\r\n\r\n",
        "POST pypi.org:443 HTTP/1.1\r\n\r\n",
        "CONNECT pypi.org:443 x HTTP/1.1\r\n\r\n",
    ] {
        let answer = asked(&wild, head).await;
        assert!(answer.contains("405"), "{head}: {answer}");
    }
}

/// 10 requests, although every name is allowed.
/// Proves S8.
#[tokio::test]
async fn a_program_reaches_no_private_host() {
    for target in [
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
        let head = format!("CONNECT {target} HTTP/1.1\r\n\r\n");
        let answer = asked(&["*", "*:*"], &head).await;
        assert!(answer.contains("502"), "{target}: {answer}");
    }
}
