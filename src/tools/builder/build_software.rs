//! `build_software`: builds software from a requirement, after an approval, and keeps the result for a
//! review. Nothing is installed.

use async_trait::async_trait;
use parking_lot::Mutex;
use serde_json::Value;
use std::{path::Path, sync::Arc, time::Duration};
use tokio::{
    sync::{Semaphore, SemaphorePermit},
    time::timeout,
};

use super::{
    BuildError, BuilderConfig, BuilderTools, LlmSoftwareBuilder, SoftwareBuilder as _,
    charged_model::{ChargedModel, Payer},
    llm_builder,
    records::{BuildRecord, BuildRecords, OpenRecord, build_id},
    requirement::BuildRequirement,
    result::BuildResult,
};
use crate::{
    agent::catalog::{
        ApprovalMode, Confinement, Domain, EffectClass, Rate, Subject, Tier, ToolSpec,
    },
    journal::ids::ConversationId,
    store::conversations::places,
    texts::{self, PreviewNote, preview::Preview},
    tools::{
        Context, Output, Tool, ToolError,
        contract::{
            arguments::{parse, schema},
            blocking,
        },
    },
};

pub(super) const BUILD_SOFTWARE: &str = "build_software";

/// How long a build waits for others to end.
const WAITS_FOR: Duration = Duration::from_mins(5);
/// The number of builds that wait. Further ones are refused.
const MAX_WAITING: usize = 20;
/// The time around the rounds: the check of dependencies, and the end of the last program.
const MARGIN: Duration = Duration::from_mins(1);

/// Limits how many builds run at the same time.
pub struct BuildQueue {
    running: Semaphore,
    /// Those that run or wait.
    all: Semaphore,
}

/// The place of a build that runs.
struct BuildPermit<'q> {
    _running: SemaphorePermit<'q>,
    _place: SemaphorePermit<'q>,
}

impl BuildQueue {
    pub fn new(at_once: usize) -> Self {
        Self { running: Semaphore::new(at_once), all: Semaphore::new(at_once + MAX_WAITING) }
    }

    /// Waits for a place. The caller is a task of its own, which is always polled.
    async fn enter(&self) -> Result<BuildPermit<'_>, ToolError> {
        let busy = || {
            ToolError::ExecutionFailed(
                "Too many builds are running: try again in some minutes".into(),
            )
        };
        let place = self.all.try_acquire().map_err(|_| busy())?;
        let running = timeout(WAITS_FOR, self.running.acquire()).await.map_err(|_| busy())?;
        Ok(BuildPermit { _running: running.map_err(|_| busy())?, _place: place })
    }
}

/// `build_software`
pub struct BuildSoftware {
    pub given: BuilderTools,
    pub records: BuildRecords,
    pub queue: BuildQueue,
}

#[async_trait]
impl Tool for BuildSoftware {
    fn spec(&self) -> ToolSpec {
        let config = &self.given.config;
        ToolSpec {
            effect: EffectClass::AtMostOnce,
            tier: Tier::Extension,
            approval: ApprovalMode::UnlessAllowed,
            subject: Some(Subject::Text("name")),
            timeout: config.limits.total_time + WAITS_FOR + MARGIN,
            rate: Some(Rate::new(5, 20)),
            domain: Domain::Container(Confinement::OWN),
            unavailable: config.sandbox.missing().map(str::to_owned),
            ..ToolSpec::read_only(
                BUILD_SOFTWARE,
                "Builds a small program and tests it in the sandbox, for a task that no tool does \
                    and that recurs.\nAnother model writes the code from the requirement; the \
                    gateway runs the test cases. It knows nothing about this conversation. Write \
                    test cases with exact outputs. The program gets arguments and standard input, \
                    and has no network. Nothing is installed: install_software does that.",
                schema::<BuildRequirement>(),
            )
        }
    }

    async fn preview(&self, arguments: &Value, _context: &Context) -> Option<Preview> {
        let requirement: BuildRequirement = parse(arguments.clone()).ok()?;
        let config = &self.given.config;
        match llm_builder::check(&requirement, config) {
            Ok(_) => Some(Preview::note(PreviewNote::Build {
                minutes: config.limits.total_time.as_secs().div_ceil(60),
                rounds: config.limits.rounds,
                tokens: config.limits.tokens,
            })),
            Err(problem) => Some(Preview::failure(problem)),
        }
    }

    async fn run(&self, arguments: Value, context: &Context) -> Result<Output, ToolError> {
        let requirement: BuildRequirement = parse(arguments)?;
        llm_builder::check(&requirement, &self.given.config)?;
        let model = self.charged_model(context).await?;
        let _permit = self.queue.enter().await?;
        let record = BuildRecord {
            id: build_id(&context.call),
            requirement,
            result: None,
            ended: false,
            began_at: self.given.account.clock.now(),
        };
        let open = self.begin(&context.conversation, record).await?;
        let BuildRecord { id, requirement, .. } = open.record();
        let config = BuilderConfig { folder: open.folder(), ..self.given.config.clone() };
        let builder = LlmSoftwareBuilder::new(Arc::new(model), config);
        let (kept, progress) = (open.clone(), context.progress.clone());
        let limit = f64::from(self.given.config.limits.rounds);
        let builder = builder.reporting(move |result| {
            progress.send_replace(shown(result, limit));
            kept.update(result, false);
        });
        let result = builder.build(&requirement).await?;
        open.update(&result, true);
        output(&id, &result, context).await
    }
}

impl BuildSoftware {
    /// The agent's model, whose requests the person pays for.
    async fn charged_model(&self, context: &Context) -> Result<ChargedModel, ToolError> {
        let model = self.given.models.get(&context.agent).cloned().ok_or_else(|| {
            ToolError::ExecutionFailed(format!(
                "{} has no model that writes software",
                context.agent
            ))
        })?;
        let (account, conversation) = (self.given.account.clone(), context.conversation.clone());
        let place = account
            .store
            .read(move |tx| Box::pin(async move { places::place(tx, &conversation).await }));
        let (channel, _) = place.await.map_err(|problem| {
            tracing::error!(problem = format!("{problem:#}"), "could not read a place");
            ToolError::ExecutionFailed("The database is unavailable: try again later".into())
        })?;
        let payer = Payer {
            agent: context.agent.clone(),
            person: format!("{channel}/{}", context.person.id),
            conversation: context.conversation.clone(),
            reserved_by: ConversationId(context.call.to_string()),
        };
        Ok(ChargedModel { model, account, payer })
    }

    async fn begin(
        &self,
        conversation: &ConversationId,
        record: BuildRecord,
    ) -> Result<KeptBuild, ToolError> {
        let (records, conversation) = (self.records.clone(), conversation.clone());
        let begin = move || {
            let open = records.begin(&conversation, &record)?;
            anyhow::Ok(KeptBuild(Arc::new(Mutex::new((open, record)))))
        };
        blocking(begin).await?.map_err(|problem| {
            ToolError::ExecutionFailed(format!("the build cannot be recorded: {problem:#}"))
        })
    }
}

/// The record of a build that is under way.
#[derive(Clone)]
struct KeptBuild(Arc<Mutex<(OpenRecord, BuildRecord)>>);

impl KeptBuild {
    fn record(&self) -> BuildRecord {
        self.0.lock().1.clone()
    }

    fn folder(&self) -> std::path::PathBuf {
        let kept = self.0.lock();
        Path::to_owned(kept.0.folder())
    }

    /// A failure is logged: the result is returned in any case.
    fn update(&self, result: &BuildResult, ended: bool) {
        let mut kept = self.0.lock();
        let (open, record) = &mut *kept;
        record.result = Some(result.clone());
        record.ended = ended;
        if let Err(problem) = open.save(record) {
            tracing::error!(problem = format!("{problem:#}"), "could not record a build");
        }
    }
}

/// Progress for the person: the round, and how many test cases pass.
fn shown(result: &BuildResult, limit: f64) -> String {
    let passed = format!("✓ {}/{}", result.passed(), result.test_results.len());
    texts::progress(BUILD_SOFTWARE, f64::from(result.info.rounds), Some(limit), Some(&passed))
}

/// The result for the model, and the code for the person.
async fn output(id: &str, result: &BuildResult, context: &Context) -> Result<Output, ToolError> {
    let name = &result.info.name;
    let mut output = Output::text(format!("{}\n{}", summary(id, result), result.findings()));
    if !result.source_code.is_empty() {
        let (name, review) = (format!("{name}-{id}.txt"), result.review());
        let stored = context.artifacts.put(&name, "text/plain", review.into_bytes()).await;
        output.attachments.push(stored.map_err(|problem| {
            ToolError::ExecutionFailed(format!("the code cannot be stored: {problem:#}"))
        })?);
    }
    Ok(output)
}

/// Whether it works, and what to do next.
pub(super) fn summary(id: &str, result: &BuildResult) -> String {
    let (passed, all) = (result.passed(), result.test_results.len());
    let info = &result.info;
    let cost = format!("{}, {} rounds, {} tokens", info.version, info.rounds, info.tokens);
    let name = &info.name;
    if result.works() {
        return format!(
            "Build {id}: {name} works, all {all} test cases passed ({cost}). It is not installed: \
                install_software asks a person to review the code."
        );
    }
    let why = result.stopped.as_ref().map_or(String::new(), |why| format!(" because {why}"));
    format!(
        "Build {id}: {name} does not work, {passed} of {all} test cases passed ({cost}). It ended{why}. \
            It cannot be installed. Tell the person what fails, or build it again with a clearer \
            requirement."
    )
}

impl From<BuildError> for ToolError {
    fn from(error: BuildError) -> Self {
        match error {
            BuildError::Invalid(why) => Self::InvalidParameters(why),
            BuildError::Unavailable(why) => Self::ExecutionFailed(why),
            BuildError::Failed(why) => Self::ExecutionFailed(format!("The build failed: {why}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use tokio::task::JoinSet;

    /// Of forty builds that begin at once, two run at the same time, twenty wait, and the others
    /// are refused. Nothing is left over at the end.
    #[tokio::test(start_paused = true)]
    async fn the_number_of_builds_that_run_and_wait_is_limited() {
        let (queue, now, peak) =
            (Arc::new(BuildQueue::new(2)), AtomicUsize::new(0), AtomicUsize::new(0));
        let counts = Arc::new((now, peak));
        let mut builds = JoinSet::new();
        for _ in 0..40 {
            let (queue, counts) = (queue.clone(), counts.clone());
            builds.spawn(async move {
                let _permit = queue.enter().await?;
                let (now, peak) = &*counts;
                peak.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                tokio::time::timeout(Duration::from_secs(1), std::future::pending::<()>())
                    .await
                    .ok();
                now.fetch_sub(1, Ordering::SeqCst);
                Ok::<_, ToolError>(())
            });
        }
        let ended = builds.join_all().await;
        assert_eq!(ended.iter().filter(|ended| ended.is_ok()).count(), 22);
        assert_eq!(counts.1.load(Ordering::SeqCst), 2);
        assert_eq!((queue.running.available_permits(), queue.all.available_permits()), (2, 22));
    }
}
