//! Web pages, read as an agent would: in the confined process.

use countersign::testing::tools::{
    Tool,
    web::{
        client::WebClient,
        fetch::WebFetch,
        providers::{SearchEngine, SearchProvider},
        search::WebSearch,
    },
};
use fakes::web::FakeWeb;
use serde_json::{Value, json};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use crate::support::{documents::DocumentFixture, program::sandbox};

fn web_client() -> WebClient {
    WebClient::new(["127.0.0.1".to_owned()].into()).unwrap()
}

struct Reader {
    fixture: DocumentFixture,
    server: FakeWeb,
}

impl Reader {
    async fn new() -> Self {
        Self { fixture: DocumentFixture::new().await, server: FakeWeb::start().await }
    }

    async fn uses(&self, tool: impl Tool, arguments: Value) -> String {
        let done = tool.run(arguments, &self.fixture.context).await;
        let text = done.map_or_else(|problem| problem.to_string(), |output| output.text);
        text.replace(&self.server.url(), "http://site")
    }

    async fn fetches(&self, path: &str) -> String {
        let tool = WebFetch { web_client: web_client(), sandbox: Arc::new(sandbox().await) };
        self.uses(tool, json!({ "url": format!("{}{path}", self.server.url()) })).await
    }

    async fn searches(&self) -> String {
        let url = format!("{}/duckduckgo", self.server.url()).parse().unwrap();
        let provider = SearchProvider {
            kind: SearchEngine::Duckduckgo,
            url,
            key: None,
            model: String::new(),
            price_micros: 0,
        };
        let tool = WebSearch::new(web_client(), Arc::new(sandbox().await), vec![provider]);
        let arguments =
            json!({ "query": "rivers", "count": 2, "freshness": "week", "language": "de" });
        self.uses(tool, arguments).await
    }
}

/// A page without its scripts, with its table and links.
#[tokio::test]
async fn a_page_becomes_markdown() {
    let text = Reader::new().await.fetches("/page").await;
    insta::assert_snapshot!(text, @r"
    [http://site/page · text/html]

    # Rivers & lakes

    ## Long ones

    The [Elbe](/elbe) is **long**.

    | River | km |
    | --- | --- |
    | Elbe | 1094 |
    ");
}

/// A service without an API is usable through its page.
/// Proves MC-22.
#[tokio::test]
async fn a_page_of_results_is_understood() {
    let reader = Reader::new().await;
    assert_eq!(
        reader.searches().await,
        "1. The Elbe & others\n   https://example.org/elbe\n   A river in Europe.\n\n\
         2. Second\n   https://example.org/two\n   More.\n\n"
    );
    assert_eq!(reader.server.problems(), Vec::<String>::new());
    reader.server.fails("/duckduckgo", 202);
    let doubted = reader.searches().await;
    assert!(doubted.contains("requires a captcha"), "{doubted}");
}

/// The charset of the response takes precedence over that of the page.
/// Proves MC-25.
#[tokio::test]
async fn pages_in_any_charset_are_read() {
    let reader = Reader::new().await;
    for (charset, page, words) in [
        ("; charset=ISO-8859-1", &b"<p>Gr\xf6\xdfe"[..], "Größe"),
        ("; charset=\"gbk\"", b"<p>\xc4\xe3\xba\xc3", "你好"),
        ("", b"<meta charset=Shift_JIS><p>\x93\xfa\x96\x7b", "日本"),
        ("; charset=utf-8", "<meta charset=gbk><p>你好".as_bytes(), "你好"),
        ("", "<meta charset=gbk><p>你好".as_bytes(), "你好"),
    ] {
        reader.server.says("/page", &format!("text/html{charset}"), page);
        let text = reader.fetches("/page").await;
        assert!(text.contains(words), "{charset}: {text}");
    }
}

/// A hostile page is rejected, in a separate process and in time.
/// Proves S14.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pages_do_no_harm() {
    let reader = Reader::new().await;
    let started = Instant::now();
    reader.server.says("/page", "text/html", "<div></x>".repeat(500_000));
    let deep = reader.fetches("/page").await;
    assert!(deep.contains("levels of nested elements"), "{deep}");
    // Each is compared with all before it.
    let many = (0..250_000).map(|n| format!(" a{n}")).collect::<Vec<_>>().concat();
    reader.server.says("/duckduckgo", "text/html", format!("<p{many}>x"));
    let searched = reader.searches().await;
    assert!(!searched.contains("example.org"), "{searched}");
    assert!(started.elapsed() < Duration::from_secs(30), "{:?}", started.elapsed());
}
