//! A tool of a server: converts its definition, and makes its calls.

use async_trait::async_trait;
use rmcp::model::{CallToolRequestParams, Tool as Definition};
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};
use std::sync::Arc;

use super::{
    CONNECT_FOR, EXECUTE_FOR, McpConfig, Server, call, client_handler::InFlightCall, content,
    session::Fault,
};
use crate::{
    agent::{
        canonical_json::canonical,
        catalog::{ApprovalMode, Confinement, Domain, EffectClass, ToolSource, ToolSpec},
        naming::NAME_CHARS,
    },
    store::tools::pins::PinState,
    tools::{Context, Output, Tool, ToolError},
};

/// The maximum length of a tool's description, and of an argument's.
const DESCRIPTION_CHARS: usize = 1500;
const ARGUMENT_CHARS: usize = 300;
/// Tools with a larger definition are skipped, because they would fill the prompt.
pub(super) const DEFINITION_BYTES: usize = 64 * 1024;

/// The pinned definition of a tool: everything that a model or the guard relies on.
pub(super) fn definition(tool: &Definition) -> String {
    canonical(&json!({
        "name": tool.name,
        "description": tool.description,
        "inputSchema": tool.input_schema,
        "annotations": tool.annotations,
    }))
}

pub(super) struct McpTool {
    pub server: Arc<Server>,
    pub spec: ToolSpec,
    pub original_name: String,
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
        let _permit = self.server.begin_call()?;
        tokio::select! {
            biased;
            () = context.cancelled.cancelled() => {
                Err(ToolError::ExecutionFailed("Stopped before it had ended.".to_owned()))
            }
            result = self.call(arguments, context) => result,
        }
    }
}

impl McpTool {
    /// Repeats the call over a new connection if the first attempt has not run, or if it is
    /// harmless. If it must not run twice and may have run, its outcome is unknown.
    async fn call(
        &self,
        arguments: Map<String, Value>,
        context: &Context,
    ) -> Result<Output, ToolError> {
        let once = self.spec.effect == EffectClass::AtMostOnce;
        let mut first = true;
        loop {
            let broken = match self.call_once(arguments.clone(), context).await {
                Ok(output) => return Ok(output),
                Err(Fault::Reported(error)) => return Err(error),
                Err(Fault::Insufficient(refused)) => {
                    return Err(self.server.requires_scopes(&refused, context).await);
                }
                Err(Fault::RateLimited(after)) => {
                    return Err(self.server.rate_limited(after.as_deref()));
                }
                Err(Fault::Broken | Fault::TimedOut(_)) if once => return Err(ToolError::Unknown),
                Err(Fault::TimedOut(limit)) => return Err(ToolError::Timeout(limit)),
                Err(Fault::Broken) => "lost the connection twice",
                Err(Fault::NotRun) => "cannot be reached; the call has not run",
            };
            if !first {
                return Err(self.server.config.broken(broken));
            }
            first = false;
        }
    }

    async fn call_once(
        &self,
        arguments: Map<String, Value>,
        context: &Context,
    ) -> Result<Output, Fault> {
        let session = self.server.session().await.map_err(Fault::Reported)?;
        let wanted =
            CallToolRequestParams::new(self.original_name.clone()).with_arguments(arguments);
        let ongoing = InFlightCall::of(&self.server.config.name, &self.spec.name, context);
        let result = call::call(&self.server.config, &session, wanted, &ongoing).await;
        match result {
            Err(Fault::Broken | Fault::NotRun) => self.server.lost(&session).await,
            // Otherwise each further call would wait as long.
            Err(Fault::TimedOut(_)) if !self.server.ping(&session).await => {
                self.server.lost(&session).await;
            }
            _ => {}
        }
        content::output(&result?, &ongoing.unanswered(), context).await.map_err(Fault::Reported)
    }
}

/// A tool that has changed: it says so, and does nothing.
pub(super) struct WithheldTool {
    pub spec: ToolSpec,
}

#[async_trait]
impl Tool for WithheldTool {
    fn spec(&self) -> ToolSpec {
        self.spec.clone()
    }

    async fn run(&self, _: Value, _: &Context) -> Result<Output, ToolError> {
        Err(ToolError::NotAuthorized(self.spec.description.clone()))
    }
}

/// The spec of a tool, and whether it is withheld.
pub(super) fn spec(
    config: &McpConfig,
    tool: &Definition,
    pin_state: PinState,
    name: &str,
) -> ToolSpec {
    let source = ToolSource::Mcp {
        server: config.name.clone(),
        original_name: tool.name.clone().into_owned(),
    };
    if pin_state == PinState::Changed {
        let why = withheld(&config.name, &tool.name);
        return ToolSpec {
            source,
            tier: config.tier,
            ..ToolSpec::read_only(name, &why, json!({ "type": "object" }))
        };
    }
    let effect = effect(tool, pin_state);
    let said = tool.description.as_deref().map(str::trim).filter(|d| !d.is_empty());
    let usual = format!("Tool {} from {}", tool.name, config.name);
    let said = plain(said.unwrap_or(&usual), DESCRIPTION_CHARS);
    ToolSpec {
        effect,
        tier: config.tier,
        source,
        approval: match effect {
            EffectClass::ReadOnly => ApprovalMode::Never,
            EffectClass::Idempotent | EffectClass::AtMostOnce => ApprovalMode::UnlessAllowed,
        },
        // A lost connection is reopened within the call.
        timeout: CONNECT_FOR + EXECUTE_FOR,
        untrusted: true,
        // Whatever it claims, its arguments are sent to another program.
        outward: true,
        domain: config.domain(),
        ..ToolSpec::read_only(name, &said, parameters(tool))
    }
}

impl McpConfig {
    /// Where its tools run.
    pub(super) fn domain(&self) -> Domain {
        match self.sandbox {
            Some(_) => Domain::Container(Confinement::OWN),
            None => Domain::Orchestrator,
        }
    }
}

fn withheld(server: &str, tool: &str) -> String {
    format!(
        "Withheld: the server has changed this tool's definition. An operator has to review it \
            (`countersign mcp list`) and trust it (`countersign mcp trust {server} {tool}`)."
    )
}

/// A server's claim that a tool is harmless counts if an operator trusts the tool.
fn effect(tool: &Definition, pin_state: PinState) -> EffectClass {
    let hints = tool.annotations.as_ref().filter(|_| pin_state == PinState::Trusted);
    match hints {
        Some(h) if h.read_only_hint == Some(true) => EffectClass::ReadOnly,
        Some(h) if h.idempotent_hint == Some(true) => EffectClass::Idempotent,
        _ => EffectClass::AtMostOnce,
    }
}

fn parameters(tool: &Definition) -> Value {
    let mut parameters = Value::Object(tool.input_schema.as_ref().clone());
    if parameters.get("type").is_none() {
        parameters["type"] = "object".into();
    }
    tidy(&mut parameters);
    parameters
}

/// Removes invisible characters from the schema's texts, and truncates them.
fn tidy(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            for (key, value) in fields.iter_mut() {
                match value {
                    Value::String(text) if key == "description" || key == "title" => {
                        *text = plain(text, ARGUMENT_CHARS);
                    }
                    other => tidy(other),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(tidy),
        _ => {}
    }
}

fn plain(text: &str, limit: usize) -> String {
    let shown = channels::text::neutralise(text);
    match shown.char_indices().nth(limit) {
        Some((at, _)) => format!("{}…", &shown[..at]),
        None => shown,
    }
}

/// The name of a tool whose name another has or had: with a unique suffix that does not depend on
/// the other tools.
pub(super) fn own_name(name: &str, tool: &str) -> String {
    let sign = &hex::encode(Sha256::digest(tool))[..8];
    let name: String = name.chars().take(NAME_CHARS - 1 - sign.len()).collect();
    format!("{}_{sign}", name.trim_end_matches('_')).trim_start_matches('_').to_owned()
}
