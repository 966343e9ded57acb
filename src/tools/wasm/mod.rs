//! WASM tools: components that an operator has put beside the gateway, each with a manifest of what
//! it may access.
//!
//! A component has no access to files or the network but through the functions of `wit/tool.wit`,
//! which keep to its manifest. Module and manifest are pinned by their digests: a tool is available
//! once an operator trusts both, and no longer when one of them has changed.
//!
//! - [`manifest`]: what a tool may access
//! - [`folder`]: finds components and manifests
//! - [`modules`]: loads them, compares them with the trusted ones, and reports problems
//! - `runtime` and `host`: run a component within limits, and what it can call; `no_runtime` stands
//!   for both in a build without the cargo feature `wasm`

pub mod folder;
#[cfg(feature = "wasm")]
mod host;
pub mod manifest;
pub mod modules;
#[cfg(not(feature = "wasm"))]
#[path = "no_runtime.rs"]
mod runtime;
#[cfg(feature = "wasm")]
mod runtime;
#[cfg(feature = "wasm")]
#[cfg(test)]
mod tests;

use async_trait::async_trait;
use serde_json::Value;
use std::{sync::Arc, time::Duration};
use tokio::sync::Semaphore;

use super::{Context, Output, Tool, ToolError, web::request::HttpRequest};
use crate::agent::{catalog::EffectClass, spec::ToolSpec};
use manifest::Grants;
use runtime::LoadedModule;

/// The maximum number of calls of WASM tools at the same time. Further ones wait.
const MAX_CALLS: usize = 16;

/// The limits of one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WasmLimits {
    /// Including all waiting.
    pub time: Duration,
    /// Of all linear memories together.
    pub memory_bytes: usize,
    /// Instructions, approximately.
    pub fuel: u64,
}

/// What a component says about its tool.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolDescription {
    pub name: String,
    pub description: String,
    pub parameters: Value,
    pub effect: EffectClass,
}

/// What all calls of WASM tools use.
pub struct WasmHost {
    /// Sends the requests of tools.
    pub http: HttpRequest,
    pub limits: WasmLimits,
    calls: Semaphore,
}

impl WasmHost {
    pub fn new(http: HttpRequest, limits: WasmLimits) -> Self {
        Self { http, limits, calls: Semaphore::new(MAX_CALLS) }
    }
}

/// The tool of a component.
struct WasmTool {
    spec: ToolSpec,
    module: Arc<LoadedModule>,
    #[cfg_attr(not(feature = "wasm"), expect(dead_code, reason = "the runtime reads it"))]
    grants: Arc<Grants>,
    host: Arc<WasmHost>,
}

#[async_trait]
impl Tool for WasmTool {
    fn spec(&self) -> ToolSpec {
        self.spec.clone()
    }

    async fn run(&self, arguments: Value, context: &Context) -> Result<Output, ToolError> {
        // Never closed.
        let _running = self.host.calls.acquire().await;
        self.module.run(self, &arguments.to_string(), context).await
    }
}
