//! Lists the tools of a server. A tool whose definition is incomplete or invalid does not affect
//! the others.

use rmcp::{
    model::{
        ClientRequest, ListToolsRequest, PaginatedRequestParams, ServerResult, Tool as Definition,
    },
    service::ServiceError,
};
use serde_json::{Map, Value};
use std::sync::Arc;

use super::{
    DISCOVER_FOR, McpConfig,
    session::{self, Link, McpSession},
};
use crate::{clock::Clock, tools::ToolError};

/// The maximum number of pages, for a server that always returns another one.
pub(super) const MAX_PAGES: usize = 100;
/// The maximum number of tools of a server. The others are left out.
pub(super) const MAX_TOOLS: usize = 500;

/// A page of tools, as the server sent them.
struct Page {
    tools: Vec<Definition>,
    /// The names of the tools that cannot be used, with the reason.
    unusable: Vec<(String, String)>,
    next: Option<String>,
}

/// Checks whether a server answers: the protocol, and the number of its tools.
pub async fn probe(
    config: &McpConfig,
    clock: Arc<dyn Clock>,
) -> Result<(String, usize), ToolError> {
    let link = Link::new(clock);
    let opened = session::open(config, &link).await;
    let session = opened.map_err(|refused| link.stderr.explain(config, refused.error))?;
    let spoken = session.peer_info().map(|info| info.protocol_version.to_string());
    let tools = list(config, &session).await;
    let tools = tools.map_err(|error| link.stderr.explain(config, error))?;
    Ok((spoken.unwrap_or_default(), tools.len()))
}

/// All tools, from all pages.
pub(super) async fn list(
    config: &McpConfig,
    session: &McpSession,
) -> Result<Vec<Definition>, ToolError> {
    session::bounded(DISCOVER_FOR, pages(config, session))
        .await?
        .map_err(|e| config.broken(&format!("cannot list its tools: {e}")))
}

async fn pages(config: &McpConfig, session: &McpSession) -> Result<Vec<Definition>, ServiceError> {
    let (mut tools, mut cursor) = (Vec::new(), None);
    for _ in 0..MAX_PAGES {
        let page = page(session, cursor).await?;
        for (tool, problem) in page.unusable {
            tracing::warn!(
                mcp.server = config.name,
                mcp.tool = tool,
                problem,
                "skipped a tool with an invalid definition"
            );
        }
        tools.extend(page.tools);
        cursor = page.next;
        if cursor.is_none() || tools.len() > MAX_TOOLS {
            break;
        }
    }
    if tools.len() > MAX_TOOLS {
        let server = &config.name;
        tracing::warn!(
            mcp.server = server,
            MAX_TOOLS,
            "ignored tools of a server beyond the limit"
        );
        tools.truncate(MAX_TOOLS);
    }
    Ok(tools)
}

async fn page(session: &McpSession, cursor: Option<String>) -> Result<Page, ServiceError> {
    let params = PaginatedRequestParams::default().with_cursor(cursor);
    let request = ListToolsRequest::with_param(params);
    match session.send_request(ClientRequest::ListToolsRequest(request)).await? {
        ServerResult::ListToolsResult(result) => {
            Ok(Page { tools: result.tools, unusable: vec![], next: result.next_cursor })
        }
        // At least one of its tools deviates from the schema.
        ServerResult::CustomResult(result) => {
            lenient(&result.0).ok_or(ServiceError::UnexpectedResponse)
        }
        _ => Err(ServiceError::UnexpectedResponse),
    }
}

/// Reads each tool on its own.
fn lenient(result: &Value) -> Option<Page> {
    let mut page = Page {
        tools: vec![],
        unusable: vec![],
        next: result["nextCursor"].as_str().map(str::to_owned),
    };
    for tool in result["tools"].as_array()? {
        match serde_json::from_value(repaired(tool)) {
            Ok(tool) => page.tools.push(tool),
            Err(problem) => {
                let name = tool["name"].as_str().unwrap_or("(no name)");
                page.unusable.push((name.to_owned(), problem.to_string()));
            }
        }
    }
    Some(page)
}

/// A tool without `inputSchema` has no arguments. Other fields that do not have their type are
/// omitted, except for the name.
fn repaired(tool: &Value) -> Value {
    let Some(fields) = tool.as_object() else { return tool.clone() };
    let mut kept: Map<String, Value> = Map::new();
    for (name, value) in fields {
        let fits = match name.as_str() {
            "name" => true,
            "description" | "title" => value.is_string(),
            "inputSchema" | "outputSchema" | "annotations" => value.is_object(),
            _ => false,
        };
        if fits {
            kept.insert(name.clone(), value.clone());
        }
    }
    kept.entry("inputSchema").or_insert_with(|| Value::Object(Map::new()));
    kept.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn each_tool_is_read_on_its_own() {
        let page = lenient(&json!({ "resultType": "complete", "nextCursor": "2", "tools": [
            { "name": "bare" },
            { "name": "null", "inputSchema": null, "description": 7, "icons": "none" },
            { "name": "whole", "inputSchema": { "type": "object" }, "description": "Reads." },
            { "inputSchema": { "type": "object" } },
            "text",
        ] }));
        let page = page.expect("a page");
        let names: Vec<_> = page.tools.iter().map(|tool| &*tool.name).collect();
        assert_eq!(names, ["bare", "null", "whole"]);
        assert_eq!(page.tools[2].description.as_deref(), Some("Reads."));
        assert_eq!((page.unusable.len(), page.next.as_deref()), (2, Some("2")));
        assert!(lenient(&json!({ "tools": "none" })).is_none());
    }
}
