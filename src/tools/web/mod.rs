//! The web: pages as Markdown, searches, plain requests. Whatever comes back is somebody else's
//! text and taints the session.
//!
//! - [`address`], [`client`]: what may be asked at all, and the only way out
//! - [`egress`]: the way out of the sandbox
//! - [`fetch`], [`search`], [`request`]: the tools

pub mod address;
pub mod client;
pub mod egress;
pub mod fetch;
pub mod request;
pub mod search;

use std::{collections::BTreeSet, sync::Arc};

use super::Tool;
use crate::agent::spec::Variable;
use client::Outside;
use search::{Provider, WebSearch};

/// What the operator says of the web.
#[derive(Debug, Clone, Default)]
pub struct WebConfig {
    /// Hosts that may be asked although they are inside.
    pub inside: BTreeSet<String>,
    /// Who is asked, one after the other until one answers.
    pub search: Vec<Provider>,
    /// The keys of those who cannot be asked.
    pub missing: Vec<Variable>,
}

/// The tools of the web.
pub fn tools(config: WebConfig) -> Result<Vec<Arc<dyn Tool>>, reqwest::Error> {
    let WebConfig { mut inside, search, missing } = config;
    inside.extend(search.iter().filter_map(Provider::own_host));
    let outside = Outside::new(inside)?;
    Ok(vec![
        Arc::new(fetch::WebFetch { outside: outside.clone() }),
        Arc::new(request::HttpRequest { outside: outside.clone() }),
        Arc::new(WebSearch::new(outside, search).missing(missing)),
    ])
}

/// The tools' addresses are what people and models write.
fn address(text: &str) -> Result<url::Url, super::ToolError> {
    let text = text.trim();
    let whole = if text.contains("://") { text.to_owned() } else { format!("https://{text}") };
    whole.parse().map_err(|problem| {
        super::ToolError::InvalidParameters(format!("`{text}` is no address of the web: {problem}"))
    })
}
