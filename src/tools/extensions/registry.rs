//! MCP registries, by version 0.1 of their API.

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Deserialize;
use std::collections::BTreeMap;
use url::Url;

use super::{json, server_json::ServerDetail};
use crate::tools::{ToolError, web::client::WebClient};

/// The number of servers that a search asks for.
const PAGE: usize = 30;
/// The maximum number of words of a search.
const WORDS: usize = 3;

#[derive(Deserialize)]
struct ServerList {
    servers: Vec<serde_json::Value>,
}

#[derive(Deserialize)]
struct ServerResponse {
    server: ServerDetail,
    #[serde(rename = "_meta", default)]
    meta: RegistryMeta,
}

#[derive(Default, Deserialize)]
struct RegistryMeta {
    #[serde(rename = "io.modelcontextprotocol.registry/official", default)]
    official: OfficialMeta,
}

#[derive(Default, Deserialize)]
struct OfficialMeta {
    #[serde(default)]
    status: String,
}

impl ServerResponse {
    fn is_deleted(&self) -> bool {
        self.meta.official.status == "deleted"
    }
}

/// The servers whose names contain one of the words. A registry looks for one text only.
pub async fn search(
    web_client: &WebClient,
    registry: &Url,
    query: &str,
) -> Result<Vec<ServerDetail>, ToolError> {
    let mut found = BTreeMap::new();
    for word in query.split_whitespace().take(WORDS) {
        let mut url = api(registry, "servers");
        url.query_pairs_mut()
            .append_pair("search", word)
            .append_pair("version", "latest")
            .append_pair("limit", &PAGE.to_string());
        let list: ServerList = json(web_client, url).await?;
        let each = list.servers.into_iter().take(PAGE);
        let each = each.filter_map(|each| serde_json::from_value::<ServerResponse>(each).ok());
        for response in each.filter(|response| !response.is_deleted()) {
            let server = response.server;
            found.entry(server.name.clone()).or_insert(server);
        }
    }
    Ok(found.into_values().collect())
}

/// Reads the first page, and returns the number of its servers.
pub async fn probe(web_client: &WebClient, registry: &Url) -> Result<usize, ToolError> {
    let list: ServerList = json(web_client, api(registry, "servers")).await?;
    Ok(list.servers.len())
}

/// One version of a server; the latest if none is named. `None` if the registry does not have it.
pub async fn find(
    web_client: &WebClient,
    registry: &Url,
    name: &str,
    version: Option<&str>,
) -> Result<Option<ServerDetail>, ToolError> {
    let encoded = |text: &str| utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
    let version = encoded(version.unwrap_or("latest"));
    let url = api(registry, &format!("servers/{}/versions/{version}", encoded(name)));
    match json::<ServerResponse>(web_client, url).await {
        Err(ToolError::NotFound(_)) => Ok(None),
        Err(problem) => Err(problem),
        Ok(response) if response.is_deleted() || response.server.name != name => Ok(None),
        Ok(response) => Ok(Some(response.server)),
    }
}

fn api(registry: &Url, path: &str) -> Url {
    let mut url = registry.clone();
    url.set_path(&format!("{}/v0.1/{path}", registry.path().trim_end_matches('/')));
    url
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_part_of_the_path() {
        let registry: Url = "https://registry.example/base/".parse().unwrap();
        let name = utf8_percent_encode("io.example/weather", NON_ALPHANUMERIC).to_string();
        assert_eq!(
            api(&registry, &format!("servers/{name}/versions/latest")).as_str(),
            "https://registry.example/base/v0.1/servers/io%2Eexample%2Fweather/versions/latest"
        );
    }
}
