//! An OpenID provider that lets everybody sign in, and is strict with clients: the registered
//! redirect, PKCE by S256, the client secret, single-use codes.

use axum::{
    Form, Json, Router,
    extract::{Query, State},
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Redirect, Response},
    routing::{get, post},
};
use base64::{
    Engine as _,
    engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD},
};
use ed25519_dalek::{Signer as _, SigningKey};
use parking_lot::{Mutex, MutexGuard};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use std::{collections::HashMap, sync::Arc};
use tokio::{net::TcpListener, task::AbortHandle};

pub const CLIENT: &str = "countersign";
pub const SECRET: &str = "issuer-canary-7d10c2";

/// What is wrong with an ID token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wrong {
    Nonce,
    Audience,
    /// Has further, unknown audiences.
    Audiences,
    Issuer,
    Expired,
    /// Signed with an unpublished key.
    Signature,
    /// Something in it was changed after it was signed.
    Changed,
    /// `alg: none`
    Unsigned,
    /// Signed with the published key, as if that were a shared secret.
    Algorithm,
    Missing,
}

/// A running server; dropping it ends it.
pub struct FakeIssuer {
    url: String,
    shared: Shared,
    task: AbortHandle,
}

type Shared = Arc<Mutex<Known>>;

struct Known {
    url: String,
    /// Where it may send people back to.
    back: String,
    now: i64,
    /// Who signs in next: the claims of their ID token.
    claims: Value,
    wrong: Option<Wrong>,
    codes: HashMap<String, Asked>,
    used: usize,
    problems: Vec<String>,
}

/// A sign-in that has not ended.
struct Asked {
    nonce: String,
    challenge: String,
    claims: Value,
}

impl FakeIssuer {
    /// `back` is the one redirect that is registered; `now` is in seconds.
    pub async fn start(back: &str, now: i64) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let url = format!("http://{}", listener.local_addr().expect("it is bound"));
        let shared = Arc::new(Mutex::new(Known {
            url: url.clone(),
            back: back.to_owned(),
            now,
            claims: json!({}),
            wrong: None,
            codes: HashMap::new(),
            used: 0,
            problems: Vec::new(),
        }));
        let router = Router::new()
            .route("/.well-known/openid-configuration", get(about))
            .route("/keys", get(keys))
            .route("/authorize", get(authorize))
            .route("/token", post(token))
            .with_state(shared.clone());
        let serving = tokio::spawn(async move { axum::serve(listener, router).await });
        Self { url, shared, task: serving.abort_handle() }
    }

    pub fn url(&self) -> String {
        self.url.clone()
    }

    /// Who signs in from now on, as `{ "sub": "1", … }`.
    pub fn knows(&self, claims: Value) {
        lock(&self.shared).claims = claims;
    }

    pub fn is_wrong(&self, wrong: Option<Wrong>) {
        lock(&self.shared).wrong = wrong;
    }

    /// How many codes were exchanged.
    pub fn exchanged(&self) -> usize {
        lock(&self.shared).used
    }

    /// What was wrong about how it was asked.
    pub fn problems(&self) -> Vec<String> {
        lock(&self.shared).problems.clone()
    }
}

impl Drop for FakeIssuer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn lock(shared: &Shared) -> MutexGuard<'_, Known> {
    shared.lock()
}

fn key() -> SigningKey {
    SigningKey::from_bytes(&[7; 32])
}

async fn about(State(shared): State<Shared>) -> Json<Value> {
    let url = lock(&shared).url.clone();
    Json(json!({
        "issuer": url,
        "authorization_endpoint": format!("{url}/authorize"),
        "token_endpoint": format!("{url}/token"),
        "jwks_uri": format!("{url}/keys"),
        "response_types_supported": ["code"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": ["EdDSA"],
        "code_challenge_methods_supported": ["S256"],
    }))
}

async fn keys() -> Json<Value> {
    let x = URL_SAFE_NO_PAD.encode(key().verifying_key().as_bytes());
    Json(json!({ "keys": [
        { "kty": "OKP", "crv": "Ed25519", "kid": "1", "use": "sig", "alg": "EdDSA", "x": x },
    ] }))
}

/// Where a person would say who they are, and that they want to.
async fn authorize(
    State(shared): State<Shared>,
    Query(query): Query<HashMap<String, String>>,
) -> Response {
    let field = |name: &str| query.get(name).cloned().unwrap_or_default();
    let mut known = lock(&shared);
    let scopes = field("scope");
    let right = [
        ("response_type", field("response_type") == "code"),
        ("client_id", field("client_id") == CLIENT),
        ("redirect_uri", field("redirect_uri") == known.back),
        ("scope", scopes.split(' ').any(|scope| scope == "openid")),
        ("state", field("state").len() >= 32),
        ("nonce", field("nonce").len() >= 32),
        ("code_challenge", field("code_challenge").len() == 43),
        ("code_challenge_method", field("code_challenge_method") == "S256"),
    ];
    if let Some((name, _)) = right.iter().find(|(_, right)| !right) {
        known.problems.push(format!("authorize: {name}"));
        return (StatusCode::BAD_REQUEST, *name).into_response();
    }
    let code = format!("code-{}", known.codes.len() + known.used + 1);
    let claims = known.claims.clone();
    let (nonce, challenge) = (field("nonce"), field("code_challenge"));
    known.codes.insert(code.clone(), Asked { nonce, challenge, claims });
    Redirect::to(&format!("{}?code={code}&state={}", known.back, field("state"))).into_response()
}

async fn token(
    State(shared): State<Shared>,
    headers: HeaderMap,
    Form(form): Form<HashMap<String, String>>,
) -> Response {
    let field = |name: &str| form.get(name).cloned().unwrap_or_default();
    let mut known = lock(&shared);
    let refused = |known: &mut Known, error: &str| {
        known.problems.push(format!("token: {error}"));
        (StatusCode::BAD_REQUEST, Json(json!({ "error": error }))).into_response()
    };
    let basic = format!("Basic {}", STANDARD.encode(format!("{CLIENT}:{SECRET}")));
    if headers.get("authorization").is_none_or(|own| own.as_bytes() != basic.as_bytes()) {
        return refused(&mut known, "invalid_client");
    }
    if field("grant_type") != "authorization_code" || field("redirect_uri") != known.back {
        return refused(&mut known, "invalid_request");
    }
    let Some(asked) = known.codes.remove(&field("code")) else {
        return refused(&mut known, "invalid_grant");
    };
    let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(field("code_verifier")));
    if challenge != asked.challenge {
        return refused(&mut known, "invalid_grant");
    }
    known.used += 1;
    let mut answer = json!({ "access_token": "unused", "token_type": "Bearer", "expires_in": 300 });
    if known.wrong != Some(Wrong::Missing) {
        answer["id_token"] = signed(&known, &asked).into();
    }
    Json(answer).into_response()
}

fn signed(known: &Known, asked: &Asked) -> String {
    let mut claims = asked.claims.clone();
    claims["iss"] = known.url.as_str().into();
    claims["aud"] = CLIENT.into();
    claims["nonce"] = asked.nonce.as_str().into();
    claims["iat"] = known.now.into();
    claims["exp"] = (known.now + 300).into();
    let (mut alg, mut key) = ("EdDSA", key());
    match known.wrong {
        Some(Wrong::Nonce) => claims["nonce"] = "another".into(),
        Some(Wrong::Audience) => claims["aud"] = "another".into(),
        Some(Wrong::Audiences) => claims["aud"] = json!([CLIENT, "another"]),
        Some(Wrong::Issuer) => claims["iss"] = "https://evil.example".into(),
        Some(Wrong::Expired) => claims["exp"] = (known.now - 1).into(),
        Some(Wrong::Signature) => key = SigningKey::from_bytes(&[8; 32]),
        Some(Wrong::Unsigned) => alg = "none",
        Some(Wrong::Algorithm) => alg = "HS256",
        Some(Wrong::Changed | Wrong::Missing) | None => {}
    }
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let head = part(&json!({ "alg": alg, "kid": "1", "typ": "JWT" }));
    let said = format!("{head}.{}", part(&claims));
    let signature = URL_SAFE_NO_PAD.encode(key.sign(said.as_bytes()).to_bytes());
    match known.wrong {
        Some(Wrong::Unsigned) => format!("{said}."),
        Some(Wrong::Changed) => {
            claims["sub"] = "somebody-else".into();
            format!("{head}.{}.{signature}", part(&claims))
        }
        _ => format!("{said}.{signature}"),
    }
}
