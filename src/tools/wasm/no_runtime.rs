//! The stub runtime of a build without WASM tools.

use std::sync::Arc;

use super::{ToolDescription, WasmHost, WasmTool};
use crate::tools::{Context, Output, ToolError};

const ABSENT: &str = "this build has no WASM tools: build it with `--features wasm`";

/// Loads nothing.
#[derive(Clone)]
pub struct WasmRuntime;

/// Has no variants: no module is ever loaded.
pub enum LoadedModule {}

impl WasmRuntime {
    pub fn new() -> Result<Self, String> {
        Err(ABSENT.to_owned())
    }

    #[expect(clippy::unused_async, reason = "the signature of the runtime")]
    pub async fn load(&self, _: Vec<u8>, _: &Arc<WasmHost>) -> Result<LoadedModule, String> {
        Err(ABSENT.to_owned())
    }
}

impl LoadedModule {
    pub fn description(&self) -> &ToolDescription {
        match *self {}
    }

    #[expect(clippy::unused_async, reason = "the signature of the runtime")]
    pub async fn run(&self, _: &WasmTool, _: &str, _: &Context) -> Result<Output, ToolError> {
        match *self {}
    }
}
