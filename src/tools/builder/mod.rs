//! The software builder: a requirement in, tested software out.
//!
//! A model writes the files; the gateway checks them, runs the test cases of the requirement in the
//! sandbox, and tells the model what it found. Software that works becomes a skill, once a person has
//! reviewed the code and approved it.
//!
//! - [`SoftwareBuilder`]: the interface; [`llm_builder`]: the implementation with a language model
//! - [`requirement`], [`result`]: what goes in and what comes out
//! - [`toolchain`]: the languages of this machine
//! - `instructions`, `draft`: what the model is told, and the files that it writes
//! - `trial`: checks, compiles and tests in the sandbox
//! - [`package`]: the skill
//! - [`records`]: the builds of each conversation
//! - [`charged_model`]: charges the requests to a person; [`redacted_model`]: keeps secrets from them
//! - [`build_software`], [`install_software`], [`list_builds`]: the tools

pub mod build_software;
pub mod charged_model;
mod draft;
pub mod install_software;
mod instructions;
pub mod list_builds;
pub mod llm_builder;
pub mod package;
pub mod records;
pub mod redacted_model;
pub mod requirement;
pub mod result;
pub mod toolchain;
mod trial;

use async_trait::async_trait;
use std::{collections::BTreeMap, sync::Arc};
use thiserror::Error;

use super::{Tool, skills::Folders};
use crate::llm::Model;
use build_software::{BuildQueue, BuildSoftware};
use charged_model::UsageAccount;
use install_software::InstallSoftware;
use list_builds::ListBuilds;
pub use llm_builder::{BuildLimits, BuilderConfig, LlmSoftwareBuilder};
use records::BuildRecords;
pub use requirement::BuildRequirement;
pub use result::BuildResult;

/// Builds software.
#[async_trait]
pub trait SoftwareBuilder: Send + Sync {
    /// Builds the software of a requirement. The result says whether it works; software that fails
    /// a test case is a result as well. Dropping the future ends the build.
    async fn build(&self, requirement: &BuildRequirement) -> Result<BuildResult, BuildError>;
}

/// Why there is no result.
#[derive(Debug, Error, Clone, PartialEq, Eq)]
pub enum BuildError {
    /// The requirement has to be changed.
    #[error("{0}")]
    Invalid(String),
    /// This machine cannot build it: something has to be installed.
    #[error("{0}")]
    Unavailable(String),
    /// The build failed for reasons of this machine.
    #[error("{0}")]
    Failed(String),
}

/// What the tools need.
#[derive(Clone)]
pub struct BuilderTools {
    /// The model that writes software for each agent.
    pub models: BTreeMap<String, Arc<dyn Model>>,
    /// `folder` is that of all builds.
    pub config: BuilderConfig,
    pub account: UsageAccount,
    /// The skill folder of each agent.
    pub skills: Folders,
    /// The number of builds at the same time.
    pub at_once: usize,
}

/// The tools of the builder.
pub fn tools(given: &BuilderTools) -> Vec<Arc<dyn Tool>> {
    let records = BuildRecords::new(given.config.folder.clone());
    let (given, queue) = (given.clone(), BuildQueue::new(given.at_once));
    vec![
        Arc::new(InstallSoftware { records: records.clone(), folders: given.skills.clone() }),
        Arc::new(ListBuilds { records: records.clone() }),
        Arc::new(BuildSoftware { given, records, queue }),
    ]
}
