//! A small web: pages, redirects, answers that are too large, and search services that check how
//! they are asked.

use axum::{
    Router,
    body::{Body, Bytes},
    extract::{Query, State},
    http::{HeaderMap, Method, StatusCode, Uri},
    response::{Html, IntoResponse, Redirect, Response},
    routing::{any, get},
};
use parking_lot::{Mutex, MutexGuard};
use serde_json::{Value, json};
use std::{
    collections::{HashMap, HashSet},
    fmt::Write as _,
    sync::Arc,
};
use tokio::{net::TcpListener, task::AbortHandle};

/// A running server; dropping it ends it.
pub struct FakeWeb {
    url: String,
    shared: Shared,
    task: AbortHandle,
}

type Shared = Arc<Mutex<Seen>>;

#[derive(Default)]
struct Seen {
    asked: Vec<String>,
    problems: Vec<String>,
    fails: HashMap<String, u16>,
    hangs: HashSet<String>,
    says: HashMap<String, (String, Bytes)>,
}

const PAGE: &str = r#"<!doctype html><html><head><title>Rivers &amp; lakes</title>
<style>p { color: red }</style></head><body><h2>Long ones</h2>
<p>The <a href="/elbe">Elbe</a> is <b>long</b>.</p><script>steal()</script>
<table><tr><th>River</th><th>km</th></tr><tr><td>Elbe</td><td>1094</td></tr></table>
</body></html>"#;

impl FakeWeb {
    pub async fn start() -> Self {
        let shared = Shared::default();
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let url = format!("http://{}", listener.local_addr().expect("it is bound"));
        let router = Router::new()
            .route("/page", get(|| async { Html(PAGE) }))
            .route("/redirect", any(redirect))
            .route("/round", get(|| async { Redirect::temporary("/round") }))
            .route("/headers", get(|headers: HeaderMap| async move { written(&headers) }))
            .route("/echo", any(echo))
            .route("/large", get(|| async { Html(vec![b'x'; 6 * 1024 * 1024]) }))
            .route("/bomb", get(bomb))
            .route("/gone", get(|| async { StatusCode::GONE }))
            .route("/report.pdf", get(report))
            .route("/picture.png", get(picture))
            .route("/gemini/{model}", any(search))
            .route("/{service}", any(search))
            .layer(axum::middleware::from_fn_with_state(shared.clone(), note))
            .with_state(shared.clone());
        let serving = tokio::spawn(async move { axum::serve(listener, router).await });
        Self { url, shared, task: serving.abort_handle() }
    }

    pub fn url(&self) -> String {
        self.url.clone()
    }

    /// What was asked for: `GET /page`.
    pub fn asked(&self) -> Vec<String> {
        lock(&self.shared).asked.clone()
    }

    /// What was wrong about how it was asked.
    pub fn problems(&self) -> Vec<String> {
        lock(&self.shared).problems.clone()
    }

    /// From now on this path answers so; 202 is what DuckDuckGo says to programs.
    pub fn fails(&self, path: &str, status: u16) {
        lock(&self.shared).fails.insert(path.to_owned(), status);
    }

    /// From now on this path never answers.
    pub fn hangs(&self, path: &str) {
        lock(&self.shared).hangs.insert(path.to_owned());
    }

    /// From now on this path responds with that media type and body.
    pub fn says(&self, path: &str, kind: &str, body: impl Into<Bytes>) {
        lock(&self.shared).says.insert(path.to_owned(), (kind.to_owned(), body.into()));
    }
}

impl Drop for FakeWeb {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn lock(shared: &Shared) -> MutexGuard<'_, Seen> {
    shared.lock()
}

async fn note(
    State(shared): State<Shared>,
    request: axum::extract::Request,
    next: axum::middleware::Next,
) -> Response {
    let path = request.uri().path().to_owned();
    let (fails, hangs, says) = {
        let mut seen = lock(&shared);
        seen.asked.push(format!("{} {path}", request.method()));
        let hangs = seen.hangs.contains(&path);
        (seen.fails.get(&path).copied(), hangs, seen.says.get(&path).cloned())
    };
    if hangs {
        std::future::pending::<()>().await;
    }
    if let Some((kind, body)) = says {
        return ([("content-type", kind)], body).into_response();
    }
    match fails {
        Some(202) => {
            (StatusCode::ACCEPTED, Html(r#"<form id="challenge-form"></form>"#)).into_response()
        }
        Some(status) => StatusCode::from_u16(status).expect("a status").into_response(),
        None => next.run(request).await,
    }
}

async fn redirect(Query(query): Query<HashMap<String, String>>) -> Response {
    let to = query.get("to").cloned().unwrap_or_default();
    (StatusCode::FOUND, [("location", to)]).into_response()
}

fn written(headers: &HeaderMap) -> String {
    headers.iter().fold(String::new(), |mut text, (name, value)| {
        let _ = writeln!(text, "{name}: {}", value.to_str().unwrap_or_default());
        text
    })
}

async fn echo(method: Method, uri: Uri, headers: HeaderMap, body: Bytes) -> String {
    format!("{method} {uri}\n{}\n{}", written(&headers), String::from_utf8_lossy(&body))
}

/// One mebibyte of zeros in about a kilobyte of gzip.
async fn bomb() -> Response {
    let packed: Vec<u8> = include_bytes!("bomb.gz").to_vec();
    ([("content-encoding", "gzip")], Body::from(packed)).into_response()
}

async fn report() -> Response {
    ([("content-type", "application/pdf")], "%PDF-1.7 not really").into_response()
}

async fn picture() -> Response {
    let picture = include_bytes!("../../../renderers/tests/corpus/img/chart.png");
    ([("content-type", "image/png")], Body::from(picture.as_slice())).into_response()
}

/// What a service wants to see: how, and which fields with which values.
async fn search(
    State(shared): State<Shared>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let service = uri.path().trim_start_matches('/').to_owned();
    let query: Query<HashMap<String, String>> = Query::try_from_uri(&uri).unwrap_or_default();
    let body: Value = serde_json::from_slice(&body).unwrap_or_default();
    let header = |name: &str| headers.get(name).and_then(|v| v.to_str().ok()).unwrap_or_default();
    let field = |name: &str| query.get(name).map(String::as_str);
    let fresh = field("q").is_some_and(|q| q == "rivers");
    let (right, answer) = match service.as_str() {
        "serper" => (
            method == Method::POST && body["q"].is_string() && header("x-api-key") == "k-canary",
            json!({ "organic": hits("link", "snippet") }).to_string(),
        ),
        "tavily" => (
            method == Method::POST
                && body["query"].is_string()
                && header("authorization") == "Bearer k-canary",
            json!({ "results": hits("url", "content") }).to_string(),
        ),
        "brave" => (
            fresh
                && header("x-subscription-token") == "k-canary"
                && field("freshness") != Some("week"),
            json!({ "web": { "results": hits("url", "description") } }).to_string(),
        ),
        "searxng" => (
            fresh && field("format") == Some("json"),
            json!({ "results": hits("url", "content") }).to_string(),
        ),
        "duckduckgo" => (fresh, duckduckgo()),
        service => match vendor(service, &body, &headers) {
            Some(answered) => answered,
            None => return StatusCode::NOT_FOUND.into_response(),
        },
    };
    if !right {
        lock(&shared).problems.push(format!("{method} {uri} {body}"));
    }
    Html(answer).into_response()
}

fn hits(url: &str, snippet: &str) -> Value {
    json!([
        { "title": "The <b>Elbe</b> &amp; others", (url): "https://example.org/elbe", (snippet): "A river\n in Europe." },
        { "title": "The Elbe again", (url): "https://example.org/elbe", (snippet): "Twice." },
        { "title": "Second", (url): "https://example.org/two", (snippet): "More." },
        { "title": "Third", (url): "https://example.org/three", (snippet): "Too many." },
    ])
}

/// Whether a vendor of language models was asked rightly, and its answer.
fn vendor(service: &str, body: &Value, headers: &HeaderMap) -> Option<(bool, String)> {
    let header = |name: &str| headers.get(name).and_then(|v| v.to_str().ok()).unwrap_or_default();
    Some(match service {
        "openai" => (
            body["model"] == "a-model"
                && is_prompt(&body["input"])
                && body["tools"] == json!([{ "type": "web_search" }])
                && body["store"] == false
                && header("authorization") == "Bearer k-canary",
            openai().to_string(),
        ),
        "anthropic" => (
            body["model"] == "a-model"
                && body["max_tokens"].is_u64()
                && is_prompt(&body["messages"][0]["content"])
                && body["tools"][0]["type"] == "web_search_20250305"
                && body["tools"][0]["name"] == "web_search"
                && header("anthropic-version") == "2023-06-01"
                && header("x-api-key") == "k-canary",
            anthropic().to_string(),
        ),
        "gemini/a-model:generateContent" => (
            is_prompt(&body["contents"][0]["parts"][0]["text"])
                && body["tools"] == json!([{ "google_search": {} }])
                && header("x-goog-api-key") == "k-canary",
            gemini().to_string(),
        ),
        _ => return None,
    })
}

fn is_prompt(text: &Value) -> bool {
    let text = text.as_str().unwrap_or_default();
    ["rivers", "2 most relevant", "last week", "`de`"].iter().all(|part| text.contains(part))
}

/// The positions count characters and not bytes.
fn openai() -> Value {
    let cited = |at: usize, page: &str, title: &str| {
        let url = format!("https://example.org/{page}");
        json!({
            "type": "url_citation", "start_index": at, "end_index": at + 3, "url": url,
            "title": title,
        })
    };
    let text = "A river\u{a0}in Europe. [1]\nMore. [2]";
    let annotations = [cited(19, "elbe", "The Elbe & others"), cited(29, "two", "Second")];
    json!({ "output": [
        { "type": "web_search_call", "status": "completed" },
        { "type": "message", "role": "assistant", "content": [
            { "type": "output_text", "text": text, "annotations": annotations },
        ] },
    ] })
}

fn anthropic() -> Value {
    let found = |page: &str, title: &str| {
        let url = format!("https://example.org/{page}");
        json!({
            "type": "web_search_result", "url": url, "title": title, "encrypted_content": "x",
            "page_age": "More.",
        })
    };
    let citation = json!({
        "type": "web_search_result_location", "url": "https://example.org/elbe",
        "title": "The Elbe & others", "cited_text": "A river in Europe.",
    });
    json!({ "stop_reason": "end_turn", "content": [
        { "type": "server_tool_use", "id": "s1", "name": "web_search", "input": { "query": "rivers" } },
        { "type": "web_search_tool_result", "tool_use_id": "s1", "content": [
            found("two", "Second"), found("elbe", "The Elbe & others"),
        ] },
        { "type": "text", "text": "The Elbe is one.", "citations": [citation] },
    ] })
}

fn gemini() -> Value {
    let page = |page: &str, title: &str| json!({ "web": { "uri": format!("https://example.org/{page}"), "title": title } });
    let support = |index: usize, text: &str| json!({ "segment": { "text": text }, "groundingChunkIndices": [index] });
    json!({ "candidates": [{
        "content": { "role": "model", "parts": [{ "text": "A river in Europe. More." }] },
        "groundingMetadata": {
            "groundingChunks": [page("elbe", "The Elbe & others"), page("two", "Second")],
            "groundingSupports": [support(0, "A river in Europe."), support(1, "More.")],
        },
    }] })
}

fn duckduckgo() -> String {
    let hits = hits("url", "snippet");
    let results = hits.as_array().into_iter().flatten().map(|hit| {
        let target = hit["url"].as_str().unwrap_or_default().replace(':', "%3A").replace('/', "%2F");
        format!(
            r#"<div class="result"><a class="result__a" href="//duckduckgo.com/l/?uddg={target}&rut=1">{}</a>
            <a class="result__snippet">{}</a></div>"#,
            hit["title"].as_str().unwrap_or_default(),
            hit["snippet"].as_str().unwrap_or_default()
        )
    });
    let ad = r#"<div class="result result--ad"><a class="result__a" href="https://duckduckgo.com/y.js?ad=1">Ad</a></div>"#;
    format!("<html><body>{ad}{}</body></html>", results.collect::<String>())
}
