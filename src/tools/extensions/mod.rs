//! Skills and MCP servers from the indexes that the operator has configured: they are found, and
//! with an approval installed, disabled, enabled and removed, while the gateway runs.
//!
//! What an index says is untrusted content. An approval is bound to what was shown: if the index
//! offers something else when the call runs, nothing is installed. An installed skill is untrusted
//! until an operator trusts it, and each tool of an installed server requires approval every time
//! until an operator trusts it.
//!
//! - [`skill_index`]: indexes of skills; [`registry`]: MCP registries; [`server_json`]: how an entry
//!   of a registry is run
//! - [`installed`]: the folder of installed servers
//! - `find`, `manage`: the tools; [`resolve`]: what a call would install

mod find;
pub mod installed;
mod manage;
pub mod registry;
mod resolve;
pub mod server_json;
pub mod skill_index;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};
use url::Url;

use super::{
    Tool, ToolError,
    skills::Folders,
    web::client::{WebClient, WebRequest},
};
use installed::ServerFolder;
use server_json::PackageKind;

/// The maximum size of a response of an index.
const INDEX_BYTES: usize = 4 * 1024 * 1024;

/// Where extensions come from and where they are put.
pub struct Extensions {
    /// The base URLs of MCP registries.
    pub registries: Vec<Url>,
    /// The URLs of indexes of skills.
    pub skill_indexes: Vec<Url>,
    /// The kinds of packages that may be installed as local servers.
    pub packages: BTreeSet<PackageKind>,
    pub web_client: WebClient,
    pub skill_folders: Folders,
    pub servers: ServerFolder,
    /// The names of servers in the configuration, as the prefix of their tools.
    pub configured: BTreeSet<String>,
    /// The names of the secrets that the operator has set, by the name of the server.
    pub secrets: BTreeMap<String, BTreeSet<String>>,
}

impl Extensions {
    /// The URLs of all indexes.
    pub fn indexes(&self) -> Vec<&Url> {
        self.registries.iter().chain(&self.skill_indexes).collect()
    }

    /// Reads the first page of the index at this position, and returns the number of its entries.
    pub async fn probe(&self, place: usize) -> Result<usize, ToolError> {
        if let Some(registry) = self.registries.get(place) {
            return registry::probe(&self.web_client, registry).await;
        }
        let index = self.skill_indexes.get(place - self.registries.len());
        let index =
            index.ok_or_else(|| ToolError::NotFound(format!("there is no index {place}")))?;
        Ok(skill_index::entries(&self.web_client, index).await?.len())
    }
}

fn failed(problem: anyhow::Error) -> ToolError {
    ToolError::ExecutionFailed(format!("{problem:#}"))
}

/// The kind of an extension.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum ExtensionKind {
    Skill,
    McpServer,
}

/// The tools; none if no index is configured.
pub fn tools(extensions: Extensions) -> Vec<Arc<dyn Tool>> {
    if extensions.registries.is_empty() && extensions.skill_indexes.is_empty() {
        return Vec::new();
    }
    let extensions = Arc::new(extensions);
    vec![
        Arc::new(find::FindExtension { extensions: extensions.clone() }),
        Arc::new(manage::ManageExtension { extensions }),
    ]
}

/// Reads a JSON document.
async fn json<T: DeserializeOwned>(web_client: &WebClient, url: Url) -> Result<T, ToolError> {
    let body = download(web_client, url.clone(), INDEX_BYTES).await?;
    serde_json::from_slice(&body).map_err(|problem| {
        ToolError::ExternalService(format!("{url} sent an unexpected answer: {problem}"))
    })
}

async fn download(
    web_client: &WebClient,
    url: Url,
    max_bytes: usize,
) -> Result<Vec<u8>, ToolError> {
    let answer = web_client.send(WebRequest::get(url, max_bytes)).await?;
    let (url, status) = (&answer.url, answer.status);
    if status == reqwest::StatusCode::NOT_FOUND {
        return Err(ToolError::NotFound(format!("{url} does not exist")));
    }
    if !status.is_success() {
        return Err(ToolError::ExternalService(format!("{url} answered {status}")));
    }
    if answer.is_cut {
        let size = format!("{url} is larger than {max_bytes} bytes");
        return Err(ToolError::ExternalService(size));
    }
    Ok(answer.body)
}
