//! OAuth client credentials (RFC 6749, 4.4) for one server (RFC 8707). The operator configures the
//! authorization server, because a server's own metadata is not trusted.

use reqwest::Url;
use secrecy::{ExposeSecret as _, SecretString};
use serde::Deserialize;

use super::{ConnectionRefused, McpConfig};

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

/// A new token. It is requested for each connection and not stored; an expired token ends its
/// connection.
pub(super) async fn token(
    config: &McpConfig,
    credentials: &Credentials,
    client: &reqwest::Client,
    resource: &Url,
) -> Result<SecretString, ConnectionRefused> {
    let scopes = credentials.scopes.join(" ");
    let form = [
        ("grant_type", "client_credentials"),
        ("client_id", credentials.client_id.as_str()),
        ("client_secret", credentials.client_secret.expose_secret()),
        ("scope", scopes.as_str()),
        ("resource", resource.as_str()),
    ];
    let form = form.into_iter().filter(|(name, value)| *name != "scope" || !value.is_empty());
    let body = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(form).finish();
    let request = client
        .post(credentials.token_url.clone())
        .header("content-type", "application/x-www-form-urlencoded")
        .header("accept", "application/json")
        .body(body);
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
    use crate::tools::mcp::testing::{Desk, config as usual, run};
    use axum::{
        Json, Router,
        extract::State,
        http::{HeaderMap, StatusCode},
        response::{IntoResponse as _, Response},
        routing::post,
    };
    use serde_json::{Value, json};
    use std::sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    };

    /// A server for tools and tokens, of which the first ones are not valid any more.
    #[derive(Default)]
    struct Guarded {
        granted: AtomicUsize,
        expired: AtomicUsize,
        calls: AtomicUsize,
    }

    async fn grant(State(state): State<Arc<Guarded>>, form: String) -> Response {
        let fits = "grant_type=client_credentials&client_id=us&client_secret=s3%2Bcret&scope=a+b\
                    &resource=http%3A%2F%2F127.0.0.1";
        if !form.starts_with(fits) {
            return StatusCode::BAD_REQUEST.into_response();
        }
        let n = state.granted.fetch_add(1, Ordering::SeqCst) + 1;
        Json(json!({ "access_token": format!("t{n}"), "token_type": "Bearer" })).into_response()
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
        let app = Router::new().route("/mcp", post(answer)).route("/token", post(grant));
        let app = app.with_state(state.clone());
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let at = format!("http://{}", listener.local_addr().expect("an address"));
        #[expect(clippy::disallowed_methods, reason = "ends with the test")]
        tokio::spawn(async move { axum::serve(listener, app).await });
        let url: Option<Url> = format!("{at}/mcp").parse().ok();
        let credentials = |secret: &str| Credentials {
            token_url: format!("{at}/token").parse().expect("a URL"),
            client_id: "us".into(),
            client_secret: secret.into(),
            scopes: vec!["a".into(), "b".into()],
        };
        let desk = Desk::new().await;
        let config = McpConfig { url, ..usual("g") };
        let refused = desk.tools(config.clone()).await.err().expect("it wants a token").to_string();
        assert!(refused.contains("401") && refused.contains("token_url"), "{refused}");
        let wrong = McpConfig { oauth: Some(credentials("wrong")), ..config.clone() };
        let refused = desk.tools(wrong).await.err().expect("no token").to_string();
        assert!(refused.contains("refuses to issue a token (400"), "{refused}");
        let right = McpConfig { oauth: Some(credentials("s3+cret")), ..config };
        let tools = desk.tools(right).await.expect("tools");
        assert_eq!(run(&tools, "g_act", json!({})).await.expect("a result"), "done 1");
        state.expired.store(1, Ordering::SeqCst);
        assert_eq!(run(&tools, "g_act", json!({})).await.expect("a result"), "done 2");
        assert_eq!(state.granted.load(Ordering::SeqCst), 2);
    }
}
