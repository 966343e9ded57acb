//! The web: pages as Markdown, searches, HTTP requests. All results are untrusted content and taint
//! the session.
//!
//! - [`address`], [`client`]: SSRF protection, and the HTTP client
//! - [`hosts`], [`credentials`]: which hosts need no approval, and the secrets sent to them
//! - [`fetch`], [`search`], [`request`]: the tools
//! - [`providers`]: search providers; `provider_requests`: their requests and responses, with
//!   `regions` and `vendor_search`

pub mod address;
pub mod client;
pub mod credentials;
#[cfg(test)]
mod credentials_tests;
pub mod fetch;
pub mod hosts;
mod provider_requests;
pub mod providers;
mod regions;
pub mod request;
pub mod search;
mod vendor_search;

use sandbox::Sandbox;
use std::{collections::BTreeSet, sync::Arc};

use super::Tool;
use crate::agent::spec::Variable;
use client::WebClient;
use providers::SearchProvider;
use request::Access;
use search::WebSearch;

/// The operator's settings for the web.
#[derive(Debug, Clone, Default)]
pub struct WebConfig {
    /// Allowed private hosts, as `host` or `host:port`.
    pub inside: BTreeSet<String>,
    /// The search providers, tried in order until one answers.
    pub search: Vec<SearchProvider>,
    /// The missing keys of search providers that are not configured.
    pub missing: Vec<Variable>,
    /// The rules and credentials of `http_request`.
    pub access: Arc<Access>,
}

/// The web tools; responses are parsed in the sandbox.
pub fn tools(
    config: WebConfig,
    sandbox: &Arc<Sandbox>,
) -> Result<Vec<Arc<dyn Tool>>, reqwest::Error> {
    let WebConfig { inside, search, missing, access } = config;
    let web_client = WebClient::new(inside.clone())?;
    // The operator's own search service is not available to other tools.
    let own = search.iter().filter_map(SearchProvider::own_place);
    let searching = WebClient::new(inside.into_iter().chain(own).collect())?;
    Ok(vec![
        Arc::new(fetch::WebFetch { web_client: web_client.clone(), sandbox: sandbox.clone() }),
        Arc::new(request::HttpRequest { web_client, access }),
        Arc::new(WebSearch::new(searching, sandbox.clone(), search).missing(missing)),
    ])
}

/// Parses a URL as people and models write it.
pub(super) fn address(text: &str) -> Result<url::Url, super::ToolError> {
    let text = text.trim();
    let whole = if text.contains("://") { text.to_owned() } else { format!("https://{text}") };
    whole.parse().map_err(|problem| {
        super::ToolError::InvalidParameters(format!("`{text}` is not a web URL: {problem}"))
    })
}

#[cfg(test)]
mod tests {
    use super::{providers::SearchEngine, *};
    use crate::tools::{ToolError, testing::ToolFixture};
    use fakes::web::FakeWeb;
    use serde_json::json;

    /// The operator's own search service is reachable by the search, and by no other tool.
    /// Proves S8.
    #[tokio::test]
    async fn a_private_search_service_is_reachable_only_by_the_search() {
        let (server, mut place) = (FakeWeb::start().await, ToolFixture::new());
        let url: url::Url = format!("{}/searxng", server.url()).parse().unwrap();
        let own = SearchProvider {
            kind: SearchEngine::Searxng,
            url,
            key: None,
            model: String::new(),
            price_micros: 0,
        };
        let config = WebConfig { search: vec![own], ..WebConfig::default() };
        for tool in tools(config, &Arc::new(Sandbox::off("not here"))).unwrap() {
            let name = tool.spec().name;
            let arguments = match name.as_str() {
                "web_search" => json!({ "query": "rivers" }),
                _ => json!({ "url": format!("{}/echo", server.url()) }),
            };
            match place.runs(&*tool, arguments).await {
                Ok(found) => assert!(name == "web_search" && found.text.contains("Elbe")),
                Err(refused) => {
                    assert!(matches!(refused, ToolError::NotAuthorized(_)), "{name}: {refused}");
                    assert_ne!(name, "web_search");
                }
            }
        }
        assert_eq!(server.asked(), ["GET /searxng"]);
    }
}
