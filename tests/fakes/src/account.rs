//! An API that answers only requests with the right credential, and shows everything that it was
//! sent; with the token endpoint of OAuth 2.0 client credentials.

use axum::{
    Json, Router,
    body::Bytes,
    extract::{Query, Request, State},
    http::{HeaderMap, Method, StatusCode, Uri},
    response::{IntoResponse as _, Response},
    routing::{any, post},
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use parking_lot::Mutex;
use serde_json::json;
use std::{
    collections::BTreeMap,
    fmt::Write as _,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};
use tokio::net::TcpListener;

/// The key that the API takes, in a header or in the query.
pub const KEY: &str = "key-canary-7d1f03b9c2";
pub const CLIENT: &str = "gateway";
pub const CLIENT_SECRET: &str = "client-canary-55aa02e7";
const BODY_BYTES: usize = 64 * 1024;
const TOKEN: &str = "token-canary-b6e1c04d-";

/// The server; it runs as long as the test.
#[derive(Default)]
pub struct Account {
    url: std::sync::OnceLock<String>,
    requests: Mutex<Vec<String>>,
    issued: AtomicUsize,
    /// The tokens up to that number are refused.
    revoked: AtomicUsize,
}

impl Account {
    pub async fn start() -> Arc<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let state = Arc::<Self>::default();
        let url = format!("http://{}", listener.local_addr().expect("it is bound"));
        state.url.set(url).expect("it is set once");
        let app = Router::new()
            .route("/token", post(token))
            .route("/open", any(open))
            .route("/data", any(data))
            .route("/moved", any(moved))
            .with_state(state.clone());
        tokio::spawn(async move { axum::serve(listener, app).await });
        state
    }

    pub fn url(&self) -> &str {
        self.url.get().expect("it was set at the start")
    }

    /// Each request as it came: method, address, headers and body.
    pub fn requests(&self) -> Vec<String> {
        self.requests.lock().clone()
    }

    /// How many tokens were issued.
    pub fn issued(&self) -> usize {
        self.issued.load(Ordering::SeqCst)
    }

    /// Refuses every token that was issued before.
    pub fn revoke(&self) {
        self.revoked.store(self.issued(), Ordering::SeqCst);
    }

    fn note(&self, method: &Method, uri: &Uri, headers: &HeaderMap, body: &[u8]) -> String {
        let mut text = format!("{method} {uri}\n");
        for (name, value) in headers {
            let _ = writeln!(text, "{name}: {}", value.to_str().unwrap_or_default());
        }
        let _ = write!(text, "\n{}", String::from_utf8_lossy(body));
        self.requests.lock().push(text.clone());
        text
    }

    fn accepts(&self, headers: &HeaderMap, query: &BTreeMap<String, String>) -> bool {
        let header =
            |name: &str| headers.get(name).and_then(|v| v.to_str().ok()).unwrap_or_default();
        let bearer = header("authorization").strip_prefix("Bearer ").unwrap_or_default();
        let number = bearer.strip_prefix(TOKEN).and_then(|n| n.parse::<usize>().ok());
        let (issued, revoked) = (self.issued(), self.revoked.load(Ordering::SeqCst));
        number.is_some_and(|n| n > revoked && n <= issued)
            || bearer == KEY
            || header("x-api-key") == KEY
            || query.get("api_key").is_some_and(|key| key == KEY)
    }
}

type Fields = Query<BTreeMap<String, String>>;

/// RFC 6749, sections 2.3.1 and 4.4; nothing but that.
async fn token(State(state): State<Arc<Account>>, headers: HeaderMap, body: Bytes) -> Response {
    state.note(&Method::POST, &Uri::from_static("/token"), &headers, &body);
    let header = |name: &str| headers.get(name).and_then(|v| v.to_str().ok()).unwrap_or_default();
    let client = header("authorization").strip_prefix("Basic ").unwrap_or_default();
    let known = STANDARD.encode(format!("{CLIENT}:{CLIENT_SECRET}")) == client;
    let is_form = header("content-type") == "application/x-www-form-urlencoded";
    let fits = body.as_ref() == b"grant_type=client_credentials&scope=read+list";
    if !(known && is_form && fits) {
        let error = Json(json!({ "error": "invalid_client", "secret": CLIENT_SECRET }));
        return (StatusCode::UNAUTHORIZED, error).into_response();
    }
    let number = state.issued.fetch_add(1, Ordering::SeqCst) + 1;
    let token = json!({
        "access_token": format!("{TOKEN}{number}"), "token_type": "bearer", "expires_in": 600,
    });
    Json(token).into_response()
}

/// Answers everybody with what they have sent.
async fn open(
    State(state): State<Arc<Account>>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> String {
    state.note(&method, &uri, &headers, &body)
}

/// The same, with the right credential only; an echo in several spellings.
async fn data(
    State(state): State<Arc<Account>>,
    Query(query): Fields,
    request: Request,
) -> Response {
    let (parts, body) = request.into_parts();
    let body = axum::body::to_bytes(body, BODY_BYTES).await.unwrap_or_default();
    let headers = parts.headers;
    let sent = state.note(&parts.method, &parts.uri, &headers, &body);
    if !state.accepts(&headers, &query) {
        return (StatusCode::UNAUTHORIZED, sent).into_response();
    }
    let status = match query.get("status").and_then(|status| status.parse().ok()) {
        Some(status) => StatusCode::from_u16(status).expect("a status"),
        None => StatusCode::OK,
    };
    let authorization = headers.get("authorization").or(headers.get("x-api-key"));
    let value = authorization.and_then(|v| v.to_str().ok()).unwrap_or(KEY).to_owned();
    let upper = value.to_uppercase();
    let letters: Vec<_> = value.chars().map(String::from).collect();
    let body = json!({
        "sent": sent,
        "base64": STANDARD.encode(&value),
        "upper": upper,
        "spaced": letters.join(" "),
    });
    (status, [("x-echo", value)], body.to_string()).into_response()
}

/// Redirects to `to`; with `leak` it adds the key to the address.
async fn moved(
    State(state): State<Arc<Account>>,
    Query(query): Fields,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
) -> Response {
    state.note(&method, &uri, &headers, b"");
    let mut to = query.get("to").cloned().unwrap_or_default();
    if query.contains_key("leak") {
        to = format!("{to}?stolen={KEY}");
    }
    (StatusCode::FOUND, [("location", to)]).into_response()
}
