//! The challenge with which a server refuses a request without a token, or with too few scopes
//! (RFC 6750, RFC 9728).

use reqwest::{StatusCode, Url, header};
use rmcp::{
    model::ProtocolVersion,
    transport::{auth::WWWAuthenticateParams, streamable_http_client::StreamableHttpError},
};
use serde_json::json;
use std::time::Duration;

use super::McpConfig;
use crate::tools::ToolError;

/// The timeout of the request that is expected to be refused.
const ASK_FOR: Duration = Duration::from_secs(10);

/// Sends a real request without a token, and returns the `WWW-Authenticate` header of its refusal,
/// which may say where the metadata of the resource is and which scopes it requires.
pub(super) async fn of(url: &Url) -> Option<String> {
    let client = crate::tls::client_builder()
        .timeout(ASK_FOR)
        .redirect(reqwest::redirect::Policy::none())
        .build()
        .ok()?;
    let version = ProtocolVersion::LATEST_WITH_INITIALIZE;
    let request = json!({
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": version.as_str(),
            "capabilities": {},
            "clientInfo": { "name": "countersign", "version": env!("CARGO_PKG_VERSION") },
        },
    });
    let asked = client
        .post(url.clone())
        .header(header::CONTENT_TYPE, "application/json")
        .header(header::ACCEPT, "application/json, text/event-stream")
        .body(request.to_string());
    let answer = asked.send().await.ok()?;
    let challenge = answer.headers().get(header::WWW_AUTHENTICATE)?.to_str().ok()?;
    (answer.status() == StatusCode::UNAUTHORIZED).then(|| challenge.to_owned())
}

/// The scopes that a challenge names.
pub(super) fn scopes(challenge: &str, url: &Url) -> Vec<String> {
    let named = WWWAuthenticateParams::parse(challenge, url).scope.unwrap_or_default();
    named.split_whitespace().map(str::to_owned).collect()
}

/// The refusal of a call because its token has too few scopes. The call has not run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct InsufficientScope {
    /// The scopes that the server names; may be empty.
    pub required: Vec<String>,
}

/// The maximum number of scopes that a server can require, and their length.
const MAX_SCOPES: usize = 50;
const SCOPE_CHARS: usize = 200;

impl InsufficientScope {
    pub fn of(error: &(dyn std::error::Error + 'static)) -> Option<Self> {
        let Some(StreamableHttpError::InsufficientScope(refused)) =
            error.downcast_ref::<StreamableHttpError<reqwest::Error>>()
        else {
            return None;
        };
        let named = refused.required_scope.as_deref().unwrap_or_default().split_whitespace();
        let named = named.filter(|scope| is_scope(scope)).take(MAX_SCOPES);
        Some(Self { required: named.map(str::to_owned).collect() })
    }

    /// The text for the model, with what a person has to do.
    pub fn error(&self, config: &McpConfig) -> ToolError {
        let name = &config.name;
        let scopes = match self.required.as_slice() {
            [] => "further scopes".to_owned(),
            scopes => format!("the scope `{}`", scopes.join(" ")),
        };
        let how = match (&config.oauth, &config.login) {
            (None, Some(_)) => format!(
                ". The operator has to sign in again with `countersign mcp login {name}`, which \
                    requests it. After that, make the same call again"
            ),
            (Some(_), _) => ". The operator has to add it to `scopes` of its [[mcp]]".to_owned(),
            (None, None) => ", which its token does not have".to_owned(),
        };
        config.broken(&format!("refused the call, which has not run: it requires {scopes}{how}"))
    }
}

/// Whether it is a scope by RFC 6749, section 3.3, of a usual length.
fn is_scope(text: &str) -> bool {
    let allowed = |c: char| c.is_ascii_graphic() && c != '"' && c != '\\' && c != '`';
    text.len() <= SCOPE_CHARS && text.chars().all(allowed)
}
