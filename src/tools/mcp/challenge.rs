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

/// What to do if a server refuses a call because the token has too few scopes; it has not run.
pub(super) fn insufficient(
    config: &McpConfig,
    error: &(dyn std::error::Error + 'static),
) -> Option<ToolError> {
    let Some(StreamableHttpError::InsufficientScope(refused)) =
        error.downcast_ref::<StreamableHttpError<reqwest::Error>>()
    else {
        return None;
    };
    let name = &config.name;
    let wanted = refused.required_scope.as_deref().map(channels::text::neutralise);
    let scopes = match wanted.filter(|scope| !scope.trim().is_empty()) {
        Some(scope) => format!("the scope `{scope}`"),
        None => "further scopes".to_owned(),
    };
    let how = match (&config.oauth, &config.login) {
        (None, Some(_)) => format!(
            ". Add what it names to `scopes` of its [[mcp]], and sign in again with `countersign \
                mcp login {name}`"
        ),
        (Some(_), _) => ". Add what it names to `scopes` of its [[mcp]]".to_owned(),
        (None, None) => ", which its token does not have".to_owned(),
    };
    Some(config.broken(&format!("refused the call, which has not run: it requires {scopes}{how}")))
}
