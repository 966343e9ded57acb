//! The section on the software builder.

use anyhow::{Context as _, Result, ensure};
use chrono::TimeDelta;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use super::{Config, build, references::exists};
use crate::tools::builder::BuildLimits;

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct BuilderSection {
    /// Whether agents have `build_software`, which lets a model write small programs and tests them
    /// in the sandbox.
    pub enabled: bool,
    /// The id of the model that writes the code.
    #[schemars(extend("x-default" = "that of the agent"))]
    pub model: Option<String>,
    /// Requests to the model that one build may make, at most 20.
    pub max_rounds: u32,
    /// Tokens that one build may use, input and output together.
    pub max_tokens: u64,
    /// Maximum tokens of one answer of the model.
    pub max_output_tokens: u32,
    /// How long a test case may take (s, m; at most 5m).
    pub command_timeout: String,
    /// How long a build may take (at most 1h).
    pub max_time: String,
    /// Builds at the same time, at most 16; others wait.
    pub at_once: usize,
    /// The folder of a Rust toolchain, which contains `bin/rustc`.
    #[schemars(extend("x-default" = "the stable toolchain of rustup, if there is none in /usr"))]
    pub rust_toolchain: Option<PathBuf>,
}

impl Default for BuilderSection {
    fn default() -> Self {
        Self {
            enabled: false,
            model: None,
            max_rounds: 5,
            max_tokens: 200_000,
            max_output_tokens: 16_000,
            command_timeout: "20s".into(),
            max_time: "10m".into(),
            at_once: 2,
            rust_toolchain: None,
        }
    }
}

/// Where rustup puts toolchains, in the home folder.
const RUSTUP: &str = ".rustup/toolchains";

impl BuilderSection {
    pub(super) fn check(&self, config: &Config) -> Result<()> {
        self.limits()?;
        ensure!((1..=16).contains(&self.at_once), "builder.at_once: from 1 to 16");
        if let Some(model) = &self.model {
            let known: Vec<_> = config.models.iter().map(|model| model.id.as_str()).collect();
            exists("model", model, &known).context("builder.model")?;
        }
        if let Some(folder) = &self.rust_toolchain {
            let shown = folder.display();
            let has_compiler = folder.join("bin/rustc").exists();
            ensure!(has_compiler, "builder.rust_toolchain: {shown} has no bin/rustc");
        }
        Ok(())
    }

    pub fn limits(&self) -> Result<BuildLimits> {
        ensure!((1..=20).contains(&self.max_rounds), "builder.max_rounds: from 1 to 20");
        ensure!(self.max_tokens > 0, "builder.max_tokens: at least 1");
        ensure!(self.max_output_tokens > 0, "builder.max_output_tokens: at least 1");
        Ok(BuildLimits {
            rounds: self.max_rounds,
            tokens: self.max_tokens,
            output_tokens: self.max_output_tokens,
            command_time: time("command_timeout", &self.command_timeout, TimeDelta::minutes(5))?,
            total_time: time("max_time", &self.max_time, TimeDelta::hours(1))?,
        })
    }

    /// The Rust toolchain for a machine without one in `/usr`.
    pub fn rust_toolchain(&self, home: Option<&Path>) -> Option<PathBuf> {
        if self.rust_toolchain.is_some() {
            return self.rust_toolchain.clone();
        }
        let entries = std::fs::read_dir(home?.join(RUSTUP)).ok()?.flatten();
        let stable = entries.filter(|e| e.file_name().to_string_lossy().starts_with("stable-"));
        stable.map(|entry| entry.path()).find(|folder| folder.join("bin/rustc").exists())
    }
}

fn time(name: &str, text: &str, limit: TimeDelta) -> Result<Duration> {
    let time = build::duration(text).with_context(|| format!("builder.{name}"))?;
    let fits = time > TimeDelta::zero() && time <= limit;
    ensure!(fits, "builder.{name}: more than 0, at most {} minutes", limit.num_minutes());
    time.to_std().with_context(|| format!("builder.{name}"))
}
