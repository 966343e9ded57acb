//! An MCP server that requires a sign-in, and its authorization server: OAuth's authorization code
//! with PKCE, and dynamic client registration.

use axum::{
    Form, Json, Router,
    extract::{Query, State},
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse as _, Redirect, Response},
    routing::{get, post},
};
use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use parking_lot::Mutex;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use std::{
    collections::BTreeMap,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};
use tokio::{net::TcpListener, sync::Notify};

type Fields = BTreeMap<String, String>;

/// The server; it runs as long as the test.
#[derive(Default)]
pub struct Guarded {
    at: OnceLock<String>,
    /// What was asked at the address that the person opened.
    asked: Mutex<Fields>,
    granted: AtomicUsize,
    refreshed: AtomicUsize,
    /// The tokens up to that are not in force any more.
    expired: AtomicUsize,
    /// Whether a token has all but run out when it is granted.
    brief: AtomicBool,
    /// Whether calls require the scope `delete`.
    strict: AtomicBool,
    /// Whether the next new token is kept back.
    holds: AtomicBool,
    rotated: Notify,
    handed_over: Notify,
}

impl Guarded {
    pub async fn start() -> Arc<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let state = Arc::<Self>::default();
        let at = format!("http://{}", listener.local_addr().expect("it is bound"));
        state.at.set(at).expect("nobody else has");
        let app = Router::new()
            // Only the challenge says where this is.
            .route("/about/this-resource", get(resource))
            .route("/.well-known/oauth-authorization-server", get(server))
            .route("/register", post(register))
            .route("/authorize", get(authorize))
            .route("/token", post(token))
            .route("/mcp", post(called))
            .with_state(state.clone());
        tokio::spawn(async move { axum::serve(listener, app).await });
        state
    }

    fn at(&self) -> &str {
        self.at.get().expect("it was set when it started")
    }

    /// Where its tools are.
    pub fn url(&self) -> String {
        format!("{}/mcp", self.at())
    }

    /// What was asked at the address that the person opened.
    pub fn asked(&self) -> BTreeMap<String, String> {
        self.asked.lock().clone()
    }

    /// How often a new token was got for an old one.
    pub fn refreshed(&self) -> usize {
        self.refreshed.load(Ordering::SeqCst)
    }

    /// Rejects the first tokens from now on.
    pub fn expires(&self, tokens: usize) {
        self.expired.store(tokens, Ordering::SeqCst);
    }

    /// From now on calls require a further scope, which a new sign-in has to request.
    pub fn is_strict(&self) {
        self.strict.store(true, Ordering::SeqCst);
    }

    /// Grants the next token, and does not hand it over yet. The earlier ones are void.
    pub fn holds_next_token(&self) {
        self.holds.store(true, Ordering::SeqCst);
    }

    /// Waits until that has happened.
    pub async fn has_rotated(&self) {
        self.rotated.notified().await;
    }

    /// Hands the token over, if somebody still waits for it.
    pub fn hands_over(&self) {
        self.handed_over.notify_one();
    }

    /// From now on tokens are granted for a few seconds.
    pub fn is_brief(&self) {
        self.brief.store(true, Ordering::SeqCst);
    }
}

async fn resource(State(state): State<Arc<Guarded>>) -> Json<Value> {
    Json(json!({ "resource": state.url(), "authorization_servers": [state.at()] }))
}

async fn server(State(state): State<Arc<Guarded>>) -> Json<Value> {
    let at = state.at();
    Json(json!({
        "issuer": at,
        "authorization_endpoint": format!("{at}/authorize"),
        "token_endpoint": format!("{at}/token"),
        "registration_endpoint": format!("{at}/register"),
        "response_types_supported": ["code"],
        "code_challenge_methods_supported": ["S256"],
    }))
}

async fn register(Json(client): Json<Value>) -> (StatusCode, Json<Value>) {
    let uris = client["redirect_uris"].clone();
    (StatusCode::CREATED, Json(json!({ "client_id": "c7", "redirect_uris": uris })))
}

async fn authorize(State(state): State<Arc<Guarded>>, Query(asked): Query<Fields>) -> Redirect {
    let back = format!("{}?code=k1&state={}", asked["redirect_uri"], asked["state"]);
    *state.asked.lock() = asked;
    Redirect::to(&back)
}

async fn token(State(state): State<Arc<Guarded>>, Form(form): Form<Fields>) -> Response {
    let asked = state.asked();
    let fits = match form["grant_type"].as_str() {
        "authorization_code" => {
            let digest = Sha256::digest(form["code_verifier"].as_bytes());
            let proved = BASE64_URL_SAFE_NO_PAD.encode(digest) == asked["code_challenge"];
            proved && asked["code_challenge_method"] == "S256" && form["code"] == "k1"
        }
        "refresh_token" => {
            state.refreshed.fetch_add(1, Ordering::SeqCst);
            // Each is good for one time.
            form["refresh_token"] == format!("r{}", state.granted.load(Ordering::SeqCst))
        }
        _ => false,
    };
    if !fits || form["resource"] != state.url() {
        return (StatusCode::BAD_REQUEST, Json(json!({ "error": "invalid_grant" })))
            .into_response();
    }
    let n = state.granted.fetch_add(1, Ordering::SeqCst) + 1;
    if state.holds.swap(false, Ordering::SeqCst) {
        state.rotated.notify_one();
        state.handed_over.notified().await;
    }
    let lasts = if state.brief.load(Ordering::SeqCst) { 5 } else { 3600 };
    Json(json!({
        "access_token": format!("t{n}"), "token_type": "Bearer", "refresh_token": format!("r{n}"),
        "expires_in": lasts,
    }))
    .into_response()
}

async fn called(
    State(state): State<Arc<Guarded>>,
    headers: HeaderMap,
    Json(body): Json<Value>,
) -> Response {
    let expired = state.expired.load(Ordering::SeqCst);
    let challenge = |rest: &str| {
        let about = format!("{}/about/this-resource", state.at());
        [(header::WWW_AUTHENTICATE, format!("Bearer {rest}, resource_metadata=\"{about}\""))]
    };
    let answer = answer(&headers, &body, expired, |token| format!("done by t{token}"));
    if answer.status() == StatusCode::UNAUTHORIZED {
        return (answer.status(), challenge("scope=\"act\"")).into_response();
    }
    let scopes = state.asked().remove("scope").unwrap_or_default();
    let is_sufficient = scopes.split(' ').any(|scope| scope == "delete");
    let is_strict = state.strict.load(Ordering::SeqCst);
    // An earlier token keeps its scopes.
    let is_earlier = !bears_latest(&headers, &state);
    if body["method"] == "tools/call" && is_strict && (is_earlier || !is_sufficient) {
        let refused = challenge("error=\"insufficient_scope\", scope=\"act delete\"");
        return (StatusCode::FORBIDDEN, refused).into_response();
    }
    answer
}

fn bears_latest(headers: &HeaderMap, state: &Guarded) -> bool {
    let latest = format!("Bearer t{}", state.granted.load(Ordering::SeqCst));
    headers.get("authorization").is_some_and(|value| value.as_bytes() == latest.as_bytes())
}

/// A server with one tool that requires a token: `t1`, `t2`, …, of which the first ones are
/// expired.
pub fn answer(
    headers: &HeaderMap,
    body: &Value,
    expired: usize,
    does: impl FnOnce(usize) -> String,
) -> Response {
    let token = headers.get("authorization").and_then(|value| value.to_str().ok());
    let n = token.and_then(|token| token.strip_prefix("Bearer t")?.parse().ok()).unwrap_or(0);
    if n <= expired {
        return (StatusCode::UNAUTHORIZED, [(header::WWW_AUTHENTICATE, "Bearer")]).into_response();
    }
    let Some(id) = body.get("id") else { return StatusCode::ACCEPTED.into_response() };
    let result = match body["method"].as_str().unwrap_or_default() {
        "initialize" => json!({
            "protocolVersion": "2025-06-18",
            "capabilities": { "tools": {} },
            "serverInfo": { "name": "guarded", "version": "1" },
        }),
        "tools/list" => {
            json!({ "tools": [{ "name": "act", "inputSchema": { "type": "object" } }] })
        }
        _ => json!({ "content": [{ "type": "text", "text": does(n) }] }),
    };
    Json(json!({ "jsonrpc": "2.0", "id": id, "result": result })).into_response()
}
