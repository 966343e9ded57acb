//! `create_job`, `list_jobs`, `job_status`, `cancel_job`: background jobs of this conversation.
//!
//! A job is a sub-agent that no call waits for, so it can do nothing that the agent could not do
//! itself: each of its calls is judged, and its approvals are shown in the conversation.

use async_trait::async_trait;
use chrono::{DateTime, TimeDelta, Utc};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use std::{collections::BTreeSet, fmt::Write as _, sync::Arc};

use super::{
    Context, Output, Tool, ToolError,
    contract::arguments::{NoArguments, parse, schema},
    files::diff,
};
use crate::{
    agent::catalog::{ApprovalMode, Coworker, EffectClass, Rate, Subject, Tier, ToolSpec},
    journal::{
        event::{JobBudget, Outcome},
        ids::JobId,
        session::{CallState, Session},
    },
    store::{
        Store,
        jobs::{self, BackgroundJob, Created, JobConcurrency, JobState, NewJob},
    },
    texts::{PreviewNote, preview::Preview},
};

const CREATE: &str = "Starts a background job: a sub-agent that works on a task while this \
    conversation goes on.\nFor work that takes long. You return at once, tell the person that the \
    job runs, and receive its report as a message when it has ended. It knows nothing about this \
    conversation, and works in the same workspace.";

/// The tool that creates a job. In a turn that the report of a job began, it needs an approval every
/// time, so that jobs do not follow one another without anybody's consent.
pub const CREATE_JOB: &str = "create_job";

/// The maximum length of a task.
const TASK_CHARS: usize = 8_000;
/// The maximum length of a task in the list.
const LISTED_CHARS: usize = 200;

/// The operator's limits.
#[derive(Debug, Clone)]
pub struct Terms {
    pub limit: JobConcurrency,
    pub budget: JobBudget,
    /// The agents that can work on a job, besides the one that creates it.
    pub agents: Vec<Coworker>,
}

#[derive(Clone)]
struct Jobs {
    store: Store,
    terms: Terms,
}

/// All four tools.
pub fn tools(store: &Store, terms: Terms) -> Vec<Arc<dyn Tool>> {
    let jobs = Jobs { store: store.clone(), terms };
    vec![
        Arc::new(CreateJob(jobs.clone())),
        Arc::new(ListJobs(jobs.clone())),
        Arc::new(JobStatus(jobs.clone())),
        Arc::new(CancelJob(jobs)),
    ]
}

/// `create_job`
struct CreateJob(Jobs);

/// `list_jobs`
struct ListJobs(Jobs);

/// `job_status`
struct JobStatus(Jobs);

/// `cancel_job`
struct CancelJob(Jobs);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NewTask {
    /// What to do, complete, with everything that the job needs to know and what to report.
    task: String,
    /// The agent that works on it; by default you.
    #[serde(default)]
    agent: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct JobArguments {
    /// The id, as shown in the list.
    id: String,
}

#[async_trait]
impl Tool for CreateJob {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            effect: EffectClass::Idempotent,
            approval: ApprovalMode::UnlessAllowed,
            tier: Tier::Extension,
            subject: Some(Subject::Text("task")),
            rate: Some(Rate::default()),
            ..ToolSpec::read_only(CREATE_JOB, CREATE, schema::<NewTask>())
        }
    }

    async fn preview(&self, arguments: &Value, context: &Context) -> Option<Preview> {
        let wanted: NewTask = parse(arguments.clone()).ok()?;
        match self.0.planned(wanted, context) {
            Ok(new) => Some(Preview::note(limits(&new))),
            Err(error) => Some(Preview::failure(error)),
        }
    }

    async fn run(&self, arguments: Value, context: &Context) -> Result<Output, ToolError> {
        let new = self.0.planned(parse(arguments)?, context)?;
        let (limit, now) = (self.0.terms.limit, context.now);
        let create = self.0.store.write("create job", move |tx| {
            Box::pin(async move { jobs::create(tx, &new, limit, now).await })
        });
        let failed = |text: String| Err(ToolError::ExecutionFailed(text));
        match create.await.map_err(|error| broken(&error))? {
            Created::New(job) => Ok(Output::text(format!(
                "The job {} runs. Its report arrives here as a message; do not wait for it.",
                job.id.code()
            ))),
            Created::Existing(job) => Ok(Output::text(line(&job))),
            Created::ConversationFull(limit) => failed(format!(
                "The maximum of {limit} jobs runs in this conversation: wait for one, or cancel one \
                    (list_jobs, cancel_job)"
            )),
            Created::PersonFull(limit) => failed(format!(
                "The maximum of {limit} jobs runs for this person, in all conversations: wait until \
                    one has ended"
            )),
        }
    }
}

#[async_trait]
impl Tool for ListJobs {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            tier: Tier::Extension,
            ..ToolSpec::read_only(
                "list_jobs",
                "Lists the background jobs of this conversation, with their ids.",
                schema::<NoArguments>(),
            )
        }
    }

    async fn run(&self, arguments: Value, context: &Context) -> Result<Output, ToolError> {
        let NoArguments {} = parse(arguments)?;
        let all = self.0.all(context).await?;
        if all.is_empty() {
            return Ok(Output::text("There are no jobs in this conversation."));
        }
        let lines: Vec<_> = all.iter().map(line).collect();
        Ok(Output { untrusted: untrusted(&all), ..Output::text(lines.join("\n")) })
    }
}

#[async_trait]
impl Tool for JobStatus {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            tier: Tier::Extension,
            subject: Some(Subject::Text("id")),
            ..ToolSpec::read_only(
                "job_status",
                "Shows what a background job is doing, or its report.\nlist_jobs shows the ids. \
                    Do not ask repeatedly: the report arrives by itself.",
                schema::<JobArguments>(),
            )
        }
    }

    async fn run(&self, arguments: Value, context: &Context) -> Result<Output, ToolError> {
        let JobArguments { id } = parse(arguments)?;
        let job = self.0.find(&id, context).await?;
        let mut text = line(&job);
        let mut untrusted = untrusted(std::slice::from_ref(&job));
        if job.state == JobState::Running {
            let session = self.0.store.current_session(&job.child).await;
            let session = session.map_err(|error| broken(&error))?;
            let _ = write!(text, "\n{}", progress(&session));
        }
        if let Some(answer) = job.answer {
            let _ = write!(text, "\nReport:\n{}", answer.result.text);
            untrusted.extend(answer.inherited.taint);
        }
        Ok(Output { untrusted, ..Output::text(text) })
    }
}

#[async_trait]
impl Tool for CancelJob {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            effect: EffectClass::Idempotent,
            approval: ApprovalMode::UnlessAllowed,
            tier: Tier::Extension,
            subject: Some(Subject::Text("id")),
            ..ToolSpec::read_only(
                "cancel_job",
                "Cancels a running background job of this conversation. It does not report.\n\
                    list_jobs shows the ids.",
                schema::<JobArguments>(),
            )
        }
    }

    async fn preview(&self, arguments: &Value, context: &Context) -> Option<Preview> {
        let JobArguments { id } = parse(arguments.clone()).ok()?;
        match self.0.find(&id, context).await {
            Ok(job) => {
                let state = PreviewNote::Markdown(state(&job).into());
                Some(diff::created(&job.task).after(state))
            }
            Err(error) => Some(Preview::failure(error)),
        }
    }

    async fn run(&self, arguments: Value, context: &Context) -> Result<Output, ToolError> {
        let JobArguments { id } = parse(arguments)?;
        let job = self.0.find(&id, context).await?;
        let (known, by, now) = (job.clone(), context.person.clone(), context.now);
        let cancel = self.0.store.write("cancel job", move |tx| {
            Box::pin(async move { jobs::cancel(tx, &known, &by, now).await })
        });
        cancel.await.map_err(|error| broken(&error))?;
        let job = self.0.find(&id, context).await?;
        // A call that is repeated after a crash finds the job cancelled.
        let text = if job.state == JobState::Cancelled { "Cancelled" } else { "It has ended" };
        let untrusted = untrusted(std::slice::from_ref(&job));
        Ok(Output { untrusted, ..Output::text(format!("{text}: {}", line(&job))) })
    }
}

impl Jobs {
    fn planned(&self, wanted: NewTask, context: &Context) -> Result<NewJob, ToolError> {
        let NewTask { task, agent } = wanted;
        if context.depth > 0 {
            return Err(ToolError::NotAuthorized(
                "a sub-agent creates no jobs: do the work yourself, or delegate it".into(),
            ));
        }
        let count = task.chars().count();
        if task.trim().is_empty() || count > TASK_CHARS {
            return Err(ToolError::InvalidParameters(format!(
                "the task has {count} characters; 1 to {TASK_CHARS} are allowed"
            )));
        }
        let agent = agent.unwrap_or_else(|| context.agent.clone());
        if agent != context.agent && !self.terms.agents.iter().any(|known| known.id == agent) {
            let known: Vec<_> = self.terms.agents.iter().map(|known| known.id.as_str()).collect();
            let known =
                if known.is_empty() { "only your own agent".to_owned() } else { known.join(", ") };
            return Err(ToolError::InvalidParameters(format!(
                "there is no agent {agent:?}; available: {known}"
            )));
        }
        Ok(NewJob {
            id: JobId(context.call.to_string()),
            conversation: context.conversation.clone(),
            agent,
            task,
            by: context.person.clone(),
            inherited: context.inherited.clone(),
            succession: context.jobs_before.saturating_add(1),
            budget: self.terms.budget,
        })
    }

    async fn all(&self, context: &Context) -> Result<Vec<BackgroundJob>, ToolError> {
        let conversation = context.conversation.clone();
        let all = self.store.read(move |tx| {
            Box::pin(async move { jobs::of_conversation(tx, &conversation).await })
        });
        all.await.map_err(|error| broken(&error))
    }

    async fn find(&self, id: &str, context: &Context) -> Result<BackgroundJob, ToolError> {
        let all = self.all(context).await?;
        let found = all.into_iter().find(|job| job.id.code() == id.trim());
        found.ok_or_else(|| {
            ToolError::InvalidParameters(format!(
                "this conversation has no job with the id {id:?}: list_jobs shows the ids"
            ))
        })
    }
}

/// The sources of untrusted content that the tasks of these jobs may repeat.
fn untrusted(jobs: &[BackgroundJob]) -> Vec<String> {
    let sources: BTreeSet<_> = jobs.iter().flat_map(|job| job.taint.iter().cloned()).collect();
    sources.into_iter().collect()
}

/// `1a2b3c4d: running since 2026-05-04 10:00 UTC, by default, for Ann: "Compare the offers"`
fn line(job: &BackgroundJob) -> String {
    let mut task: String = job.task.chars().take(LISTED_CHARS).collect();
    if job.task.chars().count() > LISTED_CHARS {
        task.push('…');
    }
    let since =
        minute(if job.state == JobState::Running { job.created_at } else { job.changed_at });
    let (code, agent, by) = (job.id.code(), &job.agent, &job.by.name);
    format!("{code}: {} since {since}, by {agent}, for {by}: {task:?}", state(job))
}

fn state(job: &BackgroundJob) -> &'static str {
    let is_done = job.answer.as_ref().is_some_and(|answer| answer.result.outcome == Outcome::Done);
    match job.state {
        JobState::Running => "running",
        JobState::Cancelled => "cancelled",
        JobState::Ended | JobState::Reported if is_done => "done",
        JobState::Ended | JobState::Reported => "failed",
    }
}

/// What a running job has used, and what it does now.
fn progress(session: &Session) -> String {
    let open: Vec<_> = session.open_calls().collect();
    let names: Vec<_> = open.iter().map(|open| open.call.tool.as_str()).collect();
    let asked = open.iter().any(|open| matches!(open.state, CallState::Asked { .. }));
    let now = match (names.as_slice(), asked) {
        ([], _) => "it is thinking".to_owned(),
        (names, true) => format!("it waits for an approval ({})", names.join(", ")),
        (names, false) => format!("it is running {}", names.join(", ")),
    };
    let (steps, tokens) = (session.turn.steps, session.turn.tokens);
    format!("So far {steps} steps and {tokens} tokens; {now}.")
}

fn limits(new: &NewJob) -> PreviewNote {
    let JobBudget { steps, tokens, time_ms } = new.budget;
    let time = TimeDelta::try_milliseconds(i64::try_from(time_ms).unwrap_or(i64::MAX));
    let minutes = time.unwrap_or(TimeDelta::MAX).num_minutes();
    PreviewNote::BackgroundJob { minutes, steps, tokens }
}

fn minute(at: DateTime<Utc>) -> String {
    at.format("%F %H:%M UTC").to_string()
}

fn broken(error: &anyhow::Error) -> ToolError {
    tracing::error!(problem = format!("{error:#}"), "the jobs are unavailable");
    ToolError::ExecutionFailed("The jobs are unavailable: try again later".into())
}
