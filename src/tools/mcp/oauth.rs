//! OAuth client credentials (RFC 6749, 4.4) for one server (RFC 8707). The operator configures the
//! authorization server, because a server's own metadata is not trusted.

use reqwest::Url;
use secrecy::{ExposeSecret as _, SecretString};
use serde::Deserialize;
use std::time::Duration;

use super::{ConnectionRefused, McpConfig};

/// The timeout for the metadata of the authorization server, and their maximum size.
const METADATA_FOR: Duration = Duration::from_secs(5);
const METADATA_BYTES: usize = 64 * 1024;

/// The client's credentials.
#[derive(Debug, Clone)]
pub struct Credentials {
    pub token_url: Url,
    pub client_id: String,
    pub client_secret: SecretString,
    pub scopes: Vec<String>,
}

#[derive(Deserialize)]
struct Granted {
    access_token: SecretString,
}

/// How the client authenticates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Method {
    Basic,
    Post,
}

/// What the metadata of an authorization server (RFC 8414) says about this.
#[derive(Deserialize)]
struct Metadata {
    token_endpoint: Url,
    token_endpoint_auth_methods_supported: Option<Vec<String>>,
}

/// HTTP Basic, which every server has to support and is the default, unless the server's metadata
/// names other methods only.
async fn method(client: &reqwest::Client, token_url: &Url) -> Method {
    let Ok(address) = token_url.join("/.well-known/oauth-authorization-server") else {
        return Method::Basic;
    };
    let asked = async {
        let mut answer = client.get(address).timeout(METADATA_FOR).send().await.ok()?;
        let mut bytes = Vec::new();
        while let Some(chunk) = answer.chunk().await.ok()? {
            bytes.extend_from_slice(&chunk);
            if bytes.len() > METADATA_BYTES {
                return None;
            }
        }
        let metadata: Metadata = serde_json::from_slice(&bytes).ok()?;
        (metadata.token_endpoint == *token_url).then_some(metadata)
    };
    let methods = asked.await.and_then(|metadata| metadata.token_endpoint_auth_methods_supported);
    let supports = |method: &str| methods.iter().flatten().any(|supported| supported == method);
    if supports("client_secret_post") && !supports("client_secret_basic") {
        Method::Post
    } else {
        Method::Basic
    }
}

/// A new token. It is requested for each connection and not stored; an expired token ends its
/// connection.
pub(super) async fn token(
    config: &McpConfig,
    credentials: &Credentials,
    client: &reqwest::Client,
    resource: &Url,
) -> Result<SecretString, ConnectionRefused> {
    let (id, secret) = (&credentials.client_id, credentials.client_secret.expose_secret());
    let scopes = credentials.scopes.join(" ");
    let mut form = vec![("grant_type", "client_credentials"), ("resource", resource.as_str())];
    if !scopes.is_empty() {
        form.push(("scope", scopes.as_str()));
    }
    let mut request = client
        .post(credentials.token_url.clone())
        .header("content-type", "application/x-www-form-urlencoded")
        .header("accept", "application/json");
    match method(client, &credentials.token_url).await {
        Method::Basic => {
            // Both are form-encoded first (RFC 6749, section 2.3.1).
            let encoded = |text: &str| -> String {
                url::form_urlencoded::byte_serialize(text.as_bytes()).collect()
            };
            request = request.basic_auth(encoded(id), Some(encoded(secret)));
        }
        Method::Post => form.extend([("client_id", id.as_str()), ("client_secret", secret)]),
    }
    let body = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(form).finish();
    let request = request.body(body);
    let refused = |what: String, for_good| ConnectionRefused {
        error: config.broken(&format!("cannot be used: its authorization server {what}")),
        for_good,
    };
    let answer = request.send().await.map_err(|_| refused("cannot be reached".into(), false))?;
    let status = answer.status();
    if !status.is_success() {
        return Err(refused(
            format!("refuses to issue a token ({status})"),
            status.is_client_error(),
        ));
    }
    let granted = answer.json().await.map(|granted: Granted| granted.access_token);
    granted.map_err(|_| refused("returns no token".into(), true))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::mcp::testing::{McpFixture, config as usual, run};
    use axum::{
        Json, Router,
        extract::State,
        http::{HeaderMap, StatusCode},
        response::{IntoResponse as _, Response},
        routing::{get, post},
    };
    use serde_json::{Value, json};
    use std::sync::{
        Arc, Mutex, OnceLock,
        atomic::{AtomicUsize, Ordering},
    };

    /// A server for tools and tokens, of which the first ones have expired.
    #[derive(Default)]
    struct Guarded {
        granted: AtomicUsize,
        expired: AtomicUsize,
        calls: AtomicUsize,
        /// The methods that its metadata names; without any, there are no metadata.
        methods: Mutex<Vec<&'static str>>,
        at: OnceLock<String>,
    }

    async fn grant(
        State(state): State<Arc<Guarded>>,
        headers: HeaderMap,
        form: String,
    ) -> Response {
        let by_form = "&client_id=us&client_secret=s3%2Bcret";
        // us:s3%2Bcret
        let by_header = "Basic dXM6czMlMkJjcmV0";
        let wants_form = *state.methods.lock().expect("not poisoned") == ["client_secret_post"];
        let begins =
            form.starts_with("grant_type=client_credentials&resource=http%3A%2F%2F127.0.0.1");
        let known = if wants_form {
            form.ends_with(by_form) && !headers.contains_key("authorization")
        } else {
            headers.get("authorization").is_some_and(|value| value == by_header)
                && !form.contains("client_id")
        };
        if !begins || !known || !form.contains("&scope=a+b") {
            return StatusCode::BAD_REQUEST.into_response();
        }
        let n = state.granted.fetch_add(1, Ordering::SeqCst) + 1;
        Json(json!({ "access_token": format!("t{n}"), "token_type": "Bearer" })).into_response()
    }

    async fn metadata(State(state): State<Arc<Guarded>>) -> Response {
        let methods = state.methods.lock().expect("not poisoned").clone();
        if methods.is_empty() {
            return StatusCode::NOT_FOUND.into_response();
        }
        let at = state.at.get().expect("it runs");
        Json(json!({
            "issuer": at, "token_endpoint": format!("{at}/token"),
            "token_endpoint_auth_methods_supported": methods,
        }))
        .into_response()
    }

    async fn answer(
        State(state): State<Arc<Guarded>>,
        headers: HeaderMap,
        Json(body): Json<Value>,
    ) -> Response {
        let expired = state.expired.load(Ordering::SeqCst);
        fakes::guarded::answer(&headers, &body, expired, |_| {
            format!("done {}", state.calls.fetch_add(1, Ordering::SeqCst) + 1)
        })
    }

    /// A token is requested for each connection. When it has expired, the call has not run, and is
    /// repeated once over a new connection. Without a token, or with a wrong secret, the error says
    /// what to do.
    #[tokio::test]
    async fn a_token_is_got_and_got_again_when_it_has_expired() {
        let state = Arc::<Guarded>::default();
        let app = Router::new()
            .route("/mcp", post(answer))
            .route("/token", post(grant))
            .route("/.well-known/oauth-authorization-server", get(metadata))
            .with_state(state.clone());
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let at = format!("http://{}", listener.local_addr().expect("an address"));
        #[expect(clippy::disallowed_methods, reason = "ends with the test")]
        tokio::spawn(async move { axum::serve(listener, app).await });
        state.at.set(at.clone()).expect("once");
        let url: Option<Url> = format!("{at}/mcp").parse().ok();
        let credentials = |secret: &str| Credentials {
            token_url: format!("{at}/token").parse().expect("a URL"),
            client_id: "us".into(),
            client_secret: secret.into(),
            scopes: vec!["a".into(), "b".into()],
        };
        let fixture = McpFixture::new().await;
        let config = McpConfig { url, ..usual("g") };
        let refused =
            fixture.tools(config.clone()).await.err().expect("it wants a token").to_string();
        assert!(refused.contains("401") && refused.contains("token_url"), "{refused}");
        let wrong = McpConfig { oauth: Some(credentials("wrong")), ..config.clone() };
        let refused = fixture.tools(wrong).await.err().expect("no token").to_string();
        assert!(refused.contains("refuses to issue a token (400"), "{refused}");
        let right = McpConfig { oauth: Some(credentials("s3+cret")), ..config };
        for methods in
            [vec!["client_secret_post"], vec!["client_secret_post", "client_secret_basic"]]
        {
            *state.methods.lock().expect("not poisoned") = methods;
            fixture.tools(right.clone()).await.expect("tools");
        }
        state.methods.lock().expect("not poisoned").clear();
        let before = state.granted.load(Ordering::SeqCst);
        state.granted.store(0, Ordering::SeqCst);
        assert_eq!(before, 2);
        let tools = fixture.tools(right).await.expect("tools");
        assert_eq!(run(&tools, "g_act", json!({})).await.expect("a result"), "done 1");
        state.expired.store(1, Ordering::SeqCst);
        assert_eq!(run(&tools, "g_act", json!({})).await.expect("a result"), "done 2");
        assert_eq!(state.granted.load(Ordering::SeqCst), 2);
    }
}
