//! The section on WASM tools.

use anyhow::{Context as _, Result, ensure};
use chrono::TimeDelta;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

use super::build;
use crate::tools::wasm::{WasmLimits, folder::ModulePlaces};

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WasmSection {
    /// Whether the components (`*.wasm`) in the folder `tools` of `data_dir` are tools, once an
    /// operator trusts them.
    pub enabled: bool,
    /// Paths of further components, each with its manifest beside it.
    pub modules: Vec<PathBuf>,
    /// How long a call may take, including requests (s, m; at most 10m).
    pub timeout: String,
    /// Memory of one call, from 1 to 1024 MiB.
    pub memory_mb: usize,
    /// Instructions of one call, approximately; a core runs about a billion per second.
    pub max_instructions: u64,
}

impl Default for WasmSection {
    fn default() -> Self {
        Self {
            enabled: true,
            modules: Vec::new(),
            timeout: "30s".into(),
            memory_mb: 64,
            max_instructions: 2_000_000_000,
        }
    }
}

/// The folder for components in `data_dir`.
const FOLDER: &str = "tools";

impl WasmSection {
    pub fn limits(&self) -> Result<WasmLimits> {
        let time = build::duration(&self.timeout).context("wasm.timeout")?;
        let fits = time > TimeDelta::zero() && time <= TimeDelta::minutes(10);
        ensure!(fits, "wasm.timeout: more than 0, at most 10m");
        ensure!((1..=1024).contains(&self.memory_mb), "wasm.memory_mb: from 1 to 1024");
        ensure!(self.max_instructions > 0, "wasm.max_instructions: at least 1");
        Ok(WasmLimits {
            time: time.to_std().context("wasm.timeout")?,
            memory_bytes: self.memory_mb * 1024 * 1024,
            fuel: self.max_instructions,
        })
    }

    /// Where components are, unless WASM tools are disabled.
    pub fn places(&self, data_dir: &Path) -> ModulePlaces {
        if !self.enabled {
            return ModulePlaces::default();
        }
        ModulePlaces { folder: data_dir.join(FOLDER), files: self.modules.clone() }
    }
}
