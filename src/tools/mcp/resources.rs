//! The resources of a server, as one tool: without a URI it lists them, with one it reads it.

use async_trait::async_trait;
use channels::text::neutralise;
use rmcp::{model::ReadResourceRequestParams, service::ServiceError};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use std::{fmt::Write as _, sync::Arc};

use super::{CONNECT_FOR, DISCOVER_FOR, SILENT_FOR, Server, content, session};
use crate::{
    agent::catalog::{ApprovalMode, EffectClass, ToolSource, ToolSpec},
    tools::{
        Context, Output, Tool, ToolError,
        contract::arguments::{parse, schema},
    },
};

/// The name of the tool, after that of the server.
pub(super) const NAME: &str = "resources";
/// The maximum number of resources that are listed, and the length of a line.
const MAX_LISTED: usize = 200;
const LINE_CHARS: usize = 300;

/// `<server>_resources`
pub(super) struct Resources {
    pub server: Arc<Server>,
    pub name: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Arguments {
    /// The URI of the resource to read; omit it to list the resources.
    #[serde(default)]
    uri: Option<String>,
}

#[async_trait]
impl Tool for Resources {
    /// Reading changes nothing by the protocol's definition, but it sends the URI to the server.
    fn spec(&self) -> ToolSpec {
        let server = &self.server.config.name;
        ToolSpec {
            effect: EffectClass::Idempotent,
            tier: self.server.config.tier,
            source: ToolSource::Mcp { server: server.clone(), original_name: NAME.to_owned() },
            approval: ApprovalMode::UnlessAllowed,
            timeout: CONNECT_FOR + DISCOVER_FOR + SILENT_FOR,
            untrusted: true,
            outward: true,
            domain: self.server.config.domain(),
            ..ToolSpec::read_only(
                &self.name,
                &format!("Lists the resources of the server {server}, or reads one by its URI."),
                schema::<Arguments>(),
            )
        }
    }

    async fn run(&self, arguments: Value, context: &Context) -> Result<Output, ToolError> {
        let Arguments { uri } = parse(arguments)?;
        let _permit = self.server.begin_call()?;
        let work = async {
            match uri.filter(|uri| !uri.trim().is_empty()) {
                Some(uri) => self.read(uri, context).await,
                None => self.list(context).await,
            }
        };
        tokio::select! {
            biased;
            () = context.cancelled.cancelled() => {
                Err(ToolError::ExecutionFailed("Stopped before it had ended.".to_owned()))
            }
            result = work => result,
        }
    }
}

impl Resources {
    async fn list(&self, context: &Context) -> Result<Output, ToolError> {
        let session = self.server.session().await?;
        let listed = session::bounded(DISCOVER_FOR, async {
            let resources = session.list_all_resources().await?;
            // Servers without templates often do not implement the request.
            Ok::<_, ServiceError>((
                resources,
                session.list_all_resource_templates().await.unwrap_or_default(),
            ))
        });
        let (resources, templates) = match listed.await? {
            Ok(listed) => listed,
            Err(error) => return Err(self.server.failed(error, context).await),
        };
        let mut lines = Vec::new();
        for one in &resources {
            let about = [one.title.as_ref(), one.description.as_ref()];
            lines.push(line(&one.uri, &one.name, about, one.mime_type.as_deref()));
        }
        for one in &templates {
            let about = [one.title.as_ref(), one.description.as_ref()];
            let uri = format!("{} (a template)", one.uri_template);
            lines.push(line(&uri, &one.name, about, one.mime_type.as_deref()));
        }
        let more = lines.len().saturating_sub(MAX_LISTED);
        lines.truncate(MAX_LISTED);
        let mut text = lines.join("\n");
        if more > 0 {
            let _ = write!(text, "\n… and {more} more");
        }
        Ok(Output::text(if text.is_empty() { "(no resources)".to_owned() } else { text }))
    }

    async fn read(&self, uri: String, context: &Context) -> Result<Output, ToolError> {
        let session = self.server.session().await?;
        let wanted = ReadResourceRequestParams::new(uri);
        let read = session::bounded(SILENT_FOR, session.peer().read_resource(wanted)).await?;
        let contents = match read {
            Ok(read) => read.contents,
            Err(error) => return Err(self.server.failed(error, context).await),
        };
        let mut parts = Vec::new();
        for (one, place) in contents.iter().zip(1..) {
            parts.push(content::resource(one, place, context).await);
        }
        Ok(Output::text(if parts.is_empty() { "(no content)".into() } else { parts.join("\n") }))
    }
}

fn line(uri: &str, name: &str, about: [Option<&String>; 2], kind: Option<&str>) -> String {
    let mut line = format!("- {uri}: {name}");
    for text in about.into_iter().flatten().filter(|text| text.as_str() != name) {
        let _ = write!(line, ", {}", text.replace(['\n', '\r'], " "));
    }
    if let Some(kind) = kind {
        let _ = write!(line, " [{kind}]");
    }
    let shown = neutralise(&line);
    match shown.char_indices().nth(LINE_CHARS) {
        Some((at, _)) => format!("{}…", &shown[..at]),
        None => shown,
    }
}
