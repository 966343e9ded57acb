//! Tools of MCP servers, over stdio or streamable HTTP.

use async_trait::async_trait;
use reqwest::{Url, header};
use rmcp::{
    model::{
        CallToolRequestParams, CallToolResult, ClientCapabilities, ClientConfig, ContentBlock,
        ErrorCode, Implementation, ProtocolVersion, ResourceContents,
    },
    service::{
        ClientInitializeError, ClientLifecycleMode, ClientServiceExt, RoleClient, RunningService,
        ServiceError,
    },
    transport::{
        StreamableHttpClientTransport, TokioChildProcess,
        streamable_http_client::StreamableHttpClientTransportConfig,
    },
};
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Map, Value};
use std::{
    collections::{BTreeMap, HashMap, HashSet},
    ffi::OsString,
    future::Future,
    process::Stdio,
    sync::Arc,
    time::Duration,
};
use tokio::{process::Command, sync::Mutex, time};

use super::{Context, Output, Tool, ToolError, sandbox::server::ServerWalls};
use crate::agent::{
    catalog::{Approval, Domain, EffectClass, Source, Tier, ToolSpec},
    naming::sanitise,
};

const CONNECT_FOR: Duration = Duration::from_secs(15);
const DISCOVER_FOR: Duration = Duration::from_secs(15);
const EXECUTE_FOR: Duration = Duration::from_mins(1);

/// What a server's process gets of our environment: our secrets are not its business.
const INHERITED: [&str; 3] = ["PATH", "HOME", "LANG"];

const NAME_CHARS: usize = 64;

/// One configured server; `command` or `url` says where it is.
#[derive(Debug, Clone)]
pub struct McpConfig {
    pub name: String,
    /// The program and its arguments, for a server over stdio.
    pub command: Option<Vec<String>>,
    /// For a server over streamable HTTP.
    pub url: Option<Url>,
    /// Added to the little that the process inherits.
    pub env: BTreeMap<String, SecretString>,
    pub tier: Tier,
    /// Sent as `Authorization: Bearer …`.
    pub bearer: Option<SecretString>,
    pub headers: BTreeMap<String, SecretString>,
    /// What is around its process.
    pub walls: Option<ServerWalls>,
}

/// Connects and lists. The session lives as long as one of the tools. On failure the caller goes
/// on without these tools and calls again later; the error says what to look at.
pub async fn connect(config: McpConfig) -> Result<Vec<Arc<dyn Tool>>, ToolError> {
    let server = Arc::new(Server { config, session: Mutex::default() });
    let session = server.session().await?;
    let mut listed = bounded(DISCOVER_FOR, session.list_all_tools())
        .await?
        .map_err(|e| server.broken(&format!("does not list its tools: {e}")))?;
    // In an order of ours, so that a suffix stays with its tool.
    listed.sort_by(|a, b| a.name.cmp(&b.name));
    let mut taken = HashSet::new();
    let tools = listed.iter().map(|tool| {
        let spec = spec(&server.config, tool, &mut taken);
        Arc::new(McpTool { server: server.clone(), spec }) as Arc<dyn Tool>
    });
    Ok(tools.collect())
}

type Session = RunningService<RoleClient, ClientConfig>;

struct Server {
    config: McpConfig,
    session: Mutex<Option<Arc<Session>>>,
}

struct McpTool {
    server: Arc<Server>,
    spec: ToolSpec,
}

#[async_trait]
impl Tool for McpTool {
    fn spec(&self) -> ToolSpec {
        self.spec.clone()
    }

    async fn run(&self, arguments: Value, context: &Context) -> Result<Output, ToolError> {
        let Value::Object(arguments) = arguments else {
            return Err(ToolError::InvalidParameters("the arguments must be an object".to_owned()));
        };
        tokio::select! {
            biased;
            () = context.cancelled.cancelled() => {
                Err(ToolError::ExecutionFailed("Stopped before it had ended.".to_owned()))
            }
            result = self.call(arguments) => result,
        }
    }
}

impl McpTool {
    /// Once more after a broken connection, if a second run does no harm.
    async fn call(&self, arguments: Map<String, Value>) -> Result<Output, ToolError> {
        let answer = self.call_once(arguments.clone()).await;
        match answer {
            Err(Fault::Broken(_)) if self.spec.effect != EffectClass::AtMostOnce => {
                self.call_once(arguments).await.map_err(ToolError::from)
            }
            answer => answer.map_err(ToolError::from),
        }
    }

    async fn call_once(&self, arguments: Map<String, Value>) -> Result<Output, Fault> {
        let session = self.server.session().await.map_err(Fault::Told)?;
        let Source::Mcp { original_name, .. } = &self.spec.source else {
            return Err(Fault::Told(self.server.broken("is not where this tool comes from")));
        };
        let request = CallToolRequestParams::new(original_name.clone()).with_arguments(arguments);
        // Dropping the call tells the server that it is cancelled.
        let answer = bounded(EXECUTE_FOR, session.call_tool(request)).await.map_err(Fault::Told)?;
        match answer {
            Ok(result) => output(&result).map_err(Fault::Told),
            Err(error) => Err(self.server.fault(error)),
        }
    }
}

/// Why a call has no result.
enum Fault {
    /// The session is gone; whether the call ran is not known.
    Broken(ToolError),
    Told(ToolError),
}

impl From<Fault> for ToolError {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Broken(error) | Fault::Told(error) => error,
        }
    }
}

async fn bounded<T>(limit: Duration, work: impl Future<Output = T>) -> Result<T, ToolError> {
    time::timeout(limit, work).await.map_err(|_| ToolError::Timeout(limit))
}

impl Server {
    /// The open session; a new one if there is none or it has died.
    async fn session(&self) -> Result<Arc<Session>, ToolError> {
        let mut open = self.session.lock().await;
        if let Some(session) = &*open
            && !session.is_closed()
            && !session.is_transport_closed()
        {
            return Ok(session.clone());
        }
        *open = None;
        let session = bounded(CONNECT_FOR, Box::pin(self.open()))
            .await
            .map_err(|_| self.broken(&format!("did not answer within {CONNECT_FOR:?}")))??;
        Ok(open.insert(Arc::new(session)).clone())
    }

    /// By the old handshake, which nearly every server knows; else by the new one. Each on a
    /// connection of its own: a server may close it after a message that it does not know.
    async fn open(&self) -> Result<Session, ToolError> {
        let old = match self.begin(ClientLifecycleMode::Initialize).await? {
            Ok(session) => return Ok(session),
            Err(error) => error,
        };
        let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
        match self.begin(ClientLifecycleMode::Discover { preferred_versions }).await? {
            Ok(session) => Ok(session),
            Err(_) => Err(self.broken(&format!("does not answer as an MCP server: {old}"))),
        }
    }

    async fn begin(
        &self,
        mode: ClientLifecycleMode,
    ) -> Result<Result<Session, ClientInitializeError>, ToolError> {
        let us = Implementation::new("countersign", env!("CARGO_PKG_VERSION"));
        let us = ClientConfig::new(ClientCapabilities::default(), us);
        match (&self.config.command, &self.config.url) {
            (Some(command), None) => {
                Ok(us.serve_with_lifecycle(self.process(command)?, mode).await)
            }
            (None, Some(url)) => Ok(us.serve_with_lifecycle(self.http(url)?, mode).await),
            _ => Err(self.broken("needs either `command` or `url`")),
        }
    }

    fn process(&self, command: &[String]) -> Result<TokioChildProcess, ToolError> {
        let Some((program, arguments)) = command.split_first() else {
            return Err(self.broken("has an empty `command`"));
        };
        let mut command = if let Some(walls) = &self.config.walls {
            walls.command(command).map_err(|error| {
                let name = &self.config.name;
                self.broken(&format!("is off. {error}. mcp.{name}.sandbox = false trusts it"))
            })?
        } else {
            let mut command = Command::new(program);
            command.args(arguments).env_clear();
            let kept = |name: &OsString| INHERITED.iter().any(|i| name == i);
            command.envs(std::env::vars_os().filter(|(name, _)| kept(name)));
            command
        };
        command.kill_on_drop(true);
        command.envs(self.config.env.iter().map(|(name, value)| (name, value.expose_secret())));
        let spawned = TokioChildProcess::builder(command).stderr(Stdio::null()).spawn();
        let (process, _) =
            spawned.map_err(|e| self.broken(&format!("cannot be started (`{program}`): {e}")))?;
        Ok(process)
    }

    fn http(&self, url: &Url) -> Result<StreamableHttpClientTransport<reqwest::Client>, ToolError> {
        // A redirect would carry the headers to another host.
        let client = reqwest::Client::builder()
            .connect_timeout(CONNECT_FOR)
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .map_err(|e| self.broken(&format!("cannot be reached: {e}")))?;
        let mut config = StreamableHttpClientTransportConfig::with_uri(url.as_str())
            .custom_headers(self.headers()?);
        if let Some(token) = &self.config.bearer {
            config = config.auth_header(token.expose_secret());
        }
        Ok(StreamableHttpClientTransport::with_client(client, config))
    }

    fn headers(&self) -> Result<HashMap<header::HeaderName, header::HeaderValue>, ToolError> {
        let read = |(name, value): (&String, &SecretString)| {
            let value = header::HeaderValue::from_str(value.expose_secret()).ok()?;
            Some((header::HeaderName::from_bytes(name.as_bytes()).ok()?, value))
        };
        let headers: Option<_> = self.config.headers.iter().map(read).collect();
        headers.ok_or_else(|| self.broken("has a header that HTTP does not allow"))
    }

    fn fault(&self, error: ServiceError) -> Fault {
        match error {
            ServiceError::McpError(error) if error.code == ErrorCode::INVALID_PARAMS => {
                Fault::Told(ToolError::InvalidParameters(error.message.into_owned()))
            }
            ServiceError::McpError(error) => {
                Fault::Told(ToolError::ExecutionFailed(error.message.into_owned()))
            }
            ServiceError::TransportSend(_) | ServiceError::TransportClosed => {
                Fault::Broken(self.broken("broke off; whether the call ran is not known"))
            }
            ServiceError::Timeout { timeout } => Fault::Told(ToolError::Timeout(timeout)),
            other => Fault::Told(self.broken(&format!("answered what was not asked: {other}"))),
        }
    }

    fn broken(&self, what: &str) -> ToolError {
        ToolError::ExternalService(format!("the MCP server `{}` {what}", self.config.name))
    }
}

fn spec(config: &McpConfig, tool: &rmcp::model::Tool, taken: &mut HashSet<String>) -> ToolSpec {
    let hints = tool.annotations.as_ref();
    let effect = match hints {
        Some(h) if h.read_only_hint == Some(true) => EffectClass::ReadOnly,
        Some(h) if h.idempotent_hint == Some(true) => EffectClass::Idempotent,
        _ => EffectClass::AtMostOnce,
    };
    let said = tool.description.as_deref().map(str::trim).filter(|d| !d.is_empty());
    let usual = format!("Tool {} from {}", tool.name, config.name);
    let mut parameters = Value::Object(tool.input_schema.as_ref().clone());
    if parameters.get("type").is_none() {
        parameters["type"] = "object".into();
    }
    let name = free(&format!("{}_{}", sanitise(&config.name), sanitise(&tool.name)), taken);
    ToolSpec {
        effect,
        tier: config.tier,
        source: Source::Mcp {
            server: config.name.clone(),
            original_name: tool.name.clone().into_owned(),
        },
        approval: match effect {
            EffectClass::ReadOnly => Approval::Never,
            EffectClass::Idempotent | EffectClass::AtMostOnce => Approval::UnlessAllowed,
        },
        // A dead session is opened again within the call.
        timeout: CONNECT_FOR + EXECUTE_FOR,
        untrusted: true,
        // Whatever it calls itself: its arguments leave the house.
        outward: true,
        domain: if config.walls.is_some() { Domain::Container } else { Domain::Orchestrator },
        ..ToolSpec::read_only(&name, said.unwrap_or(&usual), parameters)
    }
}

/// The name, cut to fit, with a number if it is taken.
fn free(name: &str, taken: &mut HashSet<String>) -> String {
    let cut = |chars: usize| name.chars().take(chars).collect::<String>();
    let mut free = cut(NAME_CHARS).trim_matches('_').to_owned();
    let mut number = 2;
    while free.is_empty() || !taken.insert(free.clone()) {
        let suffix = format!("_{number}");
        free = format!("{}{suffix}", cut(NAME_CHARS - suffix.len()));
        number += 1;
    }
    free
}

/// CA-33: all of the content, what is not text by its name.
fn output(result: &CallToolResult) -> Result<Output, ToolError> {
    let mut parts: Vec<String> = result.content.iter().map(told).collect();
    if let Some(structured) = &result.structured_content
        && !parts.iter().any(|part| says(part, structured))
    {
        parts.push(structured.to_string());
    }
    let text = parts.join("\n");
    let text = if text.trim().is_empty() { "(no content)".to_owned() } else { text };
    if result.is_error == Some(true) {
        return Err(ToolError::ExecutionFailed(text));
    }
    Ok(Output::text(text))
}

/// Servers repeat what is structured as text, often without the `result` around it.
fn says(part: &str, structured: &Value) -> bool {
    let bare = structured.get("result").unwrap_or(structured);
    let read: Option<Value> = serde_json::from_str(part).ok();
    bare.as_str() == Some(part) || read.is_some_and(|read| &read == structured || &read == bare)
}

fn told(block: &ContentBlock) -> String {
    // Base64 is a third longer than what it holds.
    let size = |base64: &str| base64.len() / 4 * 3;
    match block {
        ContentBlock::Text(text) => text.text.clone(),
        ContentBlock::Image(i) => format!("[image: {}, {} bytes]", i.mime_type, size(&i.data)),
        ContentBlock::Audio(a) => format!("[audio: {}, {} bytes]", a.mime_type, size(&a.data)),
        ContentBlock::ResourceLink(r) => format!("[resource: {} at {}]", r.name, r.uri),
        ContentBlock::Resource(embedded) => match &embedded.resource {
            ResourceContents::TextResourceContents { uri, text, .. } => {
                format!("[resource: {uri}]\n{text}")
            }
            ResourceContents::BlobResourceContents { uri, blob, .. } => {
                format!("[resource: {uri}, {} bytes]", size(blob))
            }
            _ => "[a resource of an unknown kind]".to_owned(),
        },
        _ => "[content of an unknown kind]".to_owned(),
    }
}

#[cfg(test)]
#[path = "mcp_tests.rs"]
mod tests;
