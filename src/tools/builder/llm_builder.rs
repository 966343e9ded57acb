//! A builder that lets a language model write the software. The model only writes files; the gateway
//! checks them, runs the test cases, and tells the model what it found, for a limited number of
//! rounds.

use async_trait::async_trait;
use sandbox::Sandbox;
use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::time::timeout;

use super::{
    BuildError, SoftwareBuilder, draft,
    instructions::{first_prompt, next_prompt},
    package,
    requirement::BuildRequirement,
    result::{BuildDetails, BuildResult, StopReason},
    toolchain::{Toolchain, Toolchains},
    trial::{Trial, TrialResult},
};
use crate::{
    llm::{Model, ModelError},
    tools::ToolError,
};

/// What a builder needs, and its limits.
#[derive(Debug, Clone)]
pub struct BuilderConfig {
    pub sandbox: Arc<Sandbox>,
    pub toolchains: Arc<Toolchains>,
    /// Each build has a folder of its own in it, which is removed when the build has ended.
    pub folder: PathBuf,
    pub limits: BuildLimits,
}

/// The limits of one build.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BuildLimits {
    /// The number of requests to the model.
    pub rounds: u32,
    /// Input and output together.
    pub tokens: u64,
    /// The maximum length of one answer.
    pub output_tokens: u32,
    /// The time for one test case.
    pub command_time: Duration,
    /// The time for all rounds.
    pub total_time: Duration,
}

impl Default for BuildLimits {
    fn default() -> Self {
        Self {
            rounds: 5,
            tokens: 200_000,
            output_tokens: 16_000,
            command_time: Duration::from_secs(20),
            total_time: Duration::from_mins(10),
        }
    }
}

/// Receives the best result so far after each round.
pub type OnRound = dyn Fn(&BuildResult) + Send + Sync;

/// A builder with a language model.
pub struct LlmSoftwareBuilder {
    llm: Arc<dyn Model>,
    config: BuilderConfig,
    on_round: Option<Box<OnRound>>,
}

impl LlmSoftwareBuilder {
    pub fn new(llm: Arc<dyn Model>, config: BuilderConfig) -> Self {
        Self { llm, config, on_round: None }
    }

    /// Passes the best result so far to `on_round` after each round.
    #[must_use]
    pub fn reporting(self, on_round: impl Fn(&BuildResult) + Send + Sync + 'static) -> Self {
        Self { on_round: Some(Box::new(on_round)), ..self }
    }
}

#[async_trait]
impl SoftwareBuilder for LlmSoftwareBuilder {
    async fn build(&self, requirement: &BuildRequirement) -> Result<BuildResult, BuildError> {
        let toolchain = check(requirement, &self.config)?;
        let folder = BuildFolder::create(&self.config.folder).await?;
        let trial = Trial {
            sandbox: &self.config.sandbox,
            toolchain,
            requirement,
            folder: &folder.0,
            command_time: self.config.limits.command_time,
        };
        let mut build = OngoingBuild::new(self, trial);
        let missing = build.trial.missing_dependencies().await?;
        if !missing.is_empty() {
            build.best.errors = missing;
            return Ok(build.result(Some(StopReason::Dependencies)));
        }
        let total = self.config.limits.total_time;
        let stopped = match timeout(total, build.rounds()).await {
            Ok(stopped) => stopped?,
            Err(_) => Some(StopReason::Time(total.as_secs())),
        };
        Ok(build.result(stopped))
    }
}

/// Checks the requirement before anything is spent on it.
pub(super) fn check<'c>(
    requirement: &BuildRequirement,
    config: &'c BuilderConfig,
) -> Result<&'c Toolchain, BuildError> {
    requirement.check().map_err(BuildError::Invalid)?;
    if let Some(why) = config.sandbox.missing() {
        return Err(BuildError::Unavailable(why.to_owned()));
    }
    let toolchain = config.toolchains.of(requirement.language).map_err(BuildError::Unavailable)?;
    let package = package::of(requirement, &<_>::default(), None);
    let package = package.map_err(|problem| BuildError::Invalid(format!("{problem:#}")))?;
    // The description becomes the text of a skill.
    match package::findings(requirement, &package).first() {
        Some(found) => Err(BuildError::Invalid(format!("description: {}", found.message))),
        None => Ok(toolchain),
    }
}

/// The folder of one build, removed with it. It may be removed while a program still runs in it:
/// the programs end with the build.
struct BuildFolder(PathBuf);

impl BuildFolder {
    async fn create(parent: &Path) -> Result<Self, BuildError> {
        let folder = parent.join(format!("work-{}", uuid::Uuid::new_v4().simple()));
        let made = tokio::fs::create_dir_all(&folder).await;
        made.map_err(|problem| BuildError::Failed(format!("{}: {problem}", folder.display())))?;
        Ok(Self(folder))
    }
}

impl Drop for BuildFolder {
    fn drop(&mut self) {
        if let Err(problem) = std::fs::remove_dir_all(&self.0) {
            let folder = self.0.display();
            tracing::warn!(%folder, %problem, "could not remove the folder of a build");
        }
    }
}

/// A build that is under way.
struct OngoingBuild<'a> {
    builder: &'a LlmSoftwareBuilder,
    trial: Trial<'a>,
    best: TrialResult,
    rounds: u32,
    tokens: u64,
    started: Instant,
}

impl<'a> OngoingBuild<'a> {
    fn new(builder: &'a LlmSoftwareBuilder, trial: Trial<'a>) -> Self {
        let (best, started) = (TrialResult::default(), Instant::now());
        Self { builder, trial, best, rounds: 0, tokens: 0, started }
    }

    /// Asks the model until the software works or a limit is reached.
    async fn rounds(&mut self) -> Result<Option<StopReason>, BuildError> {
        let BuildLimits { rounds, tokens, output_tokens, .. } = self.builder.config.limits;
        let mut prompt = first_prompt(self.trial.requirement, &self.trial.toolchain.version);
        loop {
            if self.rounds >= rounds {
                return Ok(Some(StopReason::Rounds(rounds)));
            }
            if self.tokens >= tokens {
                return Ok(Some(StopReason::Tokens(tokens)));
            }
            let left = u32::try_from(tokens - self.tokens).unwrap_or(u32::MAX);
            prompt.max_output_tokens = output_tokens.min(left);
            let reply = match self.builder.llm.reply(&prompt, &|_| ()).await {
                Ok(reply) => reply,
                Err(ModelError::OverBudget(why)) => return Ok(Some(StopReason::Budget(why))),
                Err(problem) => return Ok(Some(StopReason::Model(problem.to_string()))),
            };
            self.rounds += 1;
            self.tokens += reply.usage.input_tokens + reply.usage.output_tokens;
            let attempt = match draft::read(&reply) {
                Ok(files) => self.trial.run_all(files).await?,
                Err(error) => TrialResult { errors: vec![error], ..TrialResult::default() },
            };
            let works = attempt.works();
            let findings = self.with(&attempt, None).findings();
            if self.rounds == 1 || attempt.score() >= self.best.score() {
                self.best = attempt;
            }
            if let Some(on_round) = &self.builder.on_round {
                on_round(&self.result(None));
            }
            if works {
                return Ok(None);
            }
            prompt = next_prompt(&prompt, reply, &findings);
        }
    }

    fn result(&self, stopped: Option<StopReason>) -> BuildResult {
        self.with(&self.best, stopped)
    }

    fn with(&self, attempt: &TrialResult, stopped: Option<StopReason>) -> BuildResult {
        let requirement = self.trial.requirement;
        let attempt = attempt.clone();
        BuildResult {
            source_code: attempt.files,
            info: BuildDetails {
                name: requirement.name.clone(),
                language: requirement.language,
                software_type: requirement.software_type,
                version: self.trial.toolchain.version.clone(),
                entry_point: requirement.language.entry_point().to_owned(),
                dependencies: requirement.dependencies.clone(),
                rounds: self.rounds,
                tokens: self.tokens,
                took_ms: self.started.elapsed().as_millis() as u64,
            },
            test_results: attempt.tests,
            validation_errors: attempt.errors,
            stopped,
            program: attempt.program,
        }
    }
}

impl From<ToolError> for BuildError {
    fn from(error: ToolError) -> Self {
        match error {
            ToolError::Sandbox(why) => Self::Unavailable(why),
            other => Self::Failed(other.to_string()),
        }
    }
}
