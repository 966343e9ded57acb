//! `remind`, `schedule`, `list_schedules`, `change_schedule`: reminders and scheduled tasks of this
//! chat.
//!
//! A reminder only shows a text in this chat, so it needs no approval; a task for the agent does.

use async_trait::async_trait;
use channels::text::{escape, reveal};
use chrono::{DateTime, Utc};
use chrono_tz::Tz;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use std::{fmt::Write as _, sync::Arc};

use super::{
    Context, Output, Tool, ToolError,
    contract::arguments::{NoArguments, parse, schema},
    files::diff,
    schedule_planner::{
        ScheduleArguments, ScheduleLimits, SchedulePlanner, ScheduleTarget, broken,
    },
};
use crate::{
    agent::catalog::{ApprovalMode, EffectClass, Subject, Tier, ToolSpec},
    journal::ids::ScheduleId,
    store::{
        Store,
        schedules::{self, Schedule, ScheduleChange, ScheduleCreated, ScheduleKind, ScheduleState},
    },
    texts::{PreviewNote, preview::Preview},
};

const REMIND: &str = "Shows a reminder in this chat at a later time, once or repeatedly.\nGive one \
    of at, in, every and cron. The reminder is shown as it is; use schedule for something that \
    you have to do yourself.";

const SCHEDULE: &str = "Schedules a task that you do later (cron), once or repeatedly, such as a \
    weekly report.\nGive one of at, in, every and cron. Your answer then is shown in this chat; \
    answer [SILENT] and nothing else if there is nothing to tell. Use remind to show a fixed \
    text.";

/// The maximum length of a text in the list.
const SUMMARY_CHARS: usize = 200;

/// All four tools.
pub fn tools(store: &Store, terms: ScheduleLimits) -> Vec<Arc<dyn Tool>> {
    let planner = SchedulePlanner::new(store, terms);
    vec![
        Arc::new(ScheduleTool { planner: planner.clone(), does: ScheduleKind::Remind }),
        Arc::new(ScheduleTool { planner: planner.clone(), does: ScheduleKind::Run }),
        Arc::new(ListSchedules(planner.clone())),
        Arc::new(ChangeSchedule(planner)),
    ]
}

/// `remind`, `schedule`
struct ScheduleTool {
    planner: SchedulePlanner,
    does: ScheduleKind,
}

/// `list_schedules`
struct ListSchedules(SchedulePlanner);

/// `change_schedule`
struct ChangeSchedule(SchedulePlanner);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ChangeArguments {
    /// The id, as shown in the list.
    id: String,
    /// What to do with it.
    action: ScheduleAction,
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum ScheduleAction {
    Pause,
    Resume,
    Delete,
}

#[async_trait]
impl Tool for ScheduleTool {
    fn spec(&self) -> ToolSpec {
        let (effect, subject) = (EffectClass::Idempotent, Some(Subject::Text("text")));
        match self.does {
            ScheduleKind::Remind => ToolSpec {
                effect,
                subject,
                tier: Tier::Extension,
                ..ToolSpec::read_only("remind", REMIND, schema::<ScheduleArguments>())
            },
            ScheduleKind::Run => ToolSpec {
                effect,
                subject,
                approval: ApprovalMode::UnlessAllowed,
                tier: Tier::Extension,
                ..ToolSpec::read_only("schedule", SCHEDULE, schema::<ScheduleArguments>())
            },
        }
    }

    async fn preview(&self, arguments: &Value, context: &Context) -> Option<Preview> {
        let wanted: ScheduleArguments = parse(arguments.clone()).ok()?;
        match planned(&self.planner, self.does, wanted, context).await {
            Ok(planned) => Some(Preview::note(next_run(&planned))),
            Err(error) => Some(Preview::failure(error)),
        }
    }

    async fn run(&self, arguments: Value, context: &Context) -> Result<Output, ToolError> {
        let new = planned(&self.planner, self.does, parse(arguments)?, context).await?;
        create(&self.planner, new, context.now).await
    }
}

#[async_trait]
impl Tool for ListSchedules {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            tier: Tier::Extension,
            ..ToolSpec::read_only(
                "list_schedules",
                "Lists the reminders and scheduled tasks of this conversation, with their ids.",
                schema::<NoArguments>(),
            )
        }
    }

    async fn run(&self, arguments: Value, context: &Context) -> Result<Output, ToolError> {
        let NoArguments {} = parse(arguments)?;
        let all = all(&self.0, context).await?;
        if all.is_empty() {
            return Ok(Output::text("Nothing is scheduled in this conversation."));
        }
        let mut text = String::new();
        for schedule in &all {
            let _ = writeln!(text, "{}", summary(schedule));
        }
        let taint = all.into_iter().flat_map(|schedule| schedule.taint).collect();
        Ok(Output { untrusted: taint, ..Output::text(text.trim_end()) })
    }
}

#[async_trait]
impl Tool for ChangeSchedule {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            effect: EffectClass::Idempotent,
            approval: ApprovalMode::UnlessAllowed,
            tier: Tier::Extension,
            subject: Some(Subject::Text("id")),
            ..ToolSpec::read_only(
                "change_schedule",
                "Pauses, resumes or deletes a reminder or a scheduled task of this \
                    conversation.\nlist_schedules shows the ids.",
                schema::<ChangeArguments>(),
            )
        }
    }

    async fn preview(&self, arguments: &Value, context: &Context) -> Option<Preview> {
        let ChangeArguments { id, .. } = parse(arguments.clone()).ok()?;
        match find(&self.0, &id, context).await {
            Ok(schedule) => {
                let heading = PreviewNote::Markdown(heading(&schedule));
                Some(diff::created(&schedule.text).after(next_run(&schedule)).after(heading))
            }
            Err(error) => Some(Preview::failure(error)),
        }
    }

    async fn run(&self, arguments: Value, context: &Context) -> Result<Output, ToolError> {
        let ChangeArguments { id, action } = parse(arguments)?;
        let found = find(&self.0, &id, context).await?;
        let now = context.now;
        let to = match action {
            ScheduleAction::Pause => ScheduleChange::Pause,
            ScheduleAction::Resume => ScheduleChange::Resume,
            ScheduleAction::Delete => ScheduleChange::Delete,
        };
        let change = self.0.store.write("change schedule", move |tx| {
            Box::pin(async move { schedules::change_state(tx, &found.id, to, now).await })
        });
        let changed = change.await.map_err(|error| broken(&error))?;
        let schedule = changed.ok_or_else(|| missing(&id))?;
        Ok(Output::text(match action {
            ScheduleAction::Delete => format!("Deleted: {}", summary(&schedule)),
            ScheduleAction::Pause | ScheduleAction::Resume => summary(&schedule),
        }))
    }
}

/// Creates a schedule, and says so to the model.
async fn create(
    planner: &SchedulePlanner,
    new: Schedule,
    now: DateTime<Utc>,
) -> Result<Output, ToolError> {
    let text = summary(&new);
    match planner.create(new, None, now).await? {
        ScheduleCreated::New => Ok(Output::text(text)),
        ScheduleCreated::There(there) => {
            Ok(Output::text(format!("It already exists: {}", summary(&there))))
        }
        ScheduleCreated::Full => Err(ToolError::ExecutionFailed(format!(
            "The maximum of {} schedules in this conversation is reached: delete one first \
                (list_schedules, change_schedule)",
            planner.limit()
        ))),
    }
}

/// The schedule of a call, which is for the person who asked for it.
async fn planned(
    planner: &SchedulePlanner,
    does: ScheduleKind,
    wanted: ScheduleArguments,
    context: &Context,
) -> Result<Schedule, ToolError> {
    let target = ScheduleTarget {
        id: ScheduleId(context.call.to_string()),
        conversation: context.conversation.clone(),
        by: context.person.clone(),
        taint: context.taint.clone(),
    };
    Ok(planner.planned(does, wanted, target, context.now).await?)
}

/// The schedules of this conversation.
async fn all(planner: &SchedulePlanner, context: &Context) -> Result<Vec<Schedule>, ToolError> {
    let conversation = context.conversation.clone();
    let all = planner.store.read(move |tx| {
        Box::pin(async move { schedules::of_conversation(tx, &conversation).await })
    });
    all.await.map_err(|error| broken(&error).into())
}

async fn find(
    planner: &SchedulePlanner,
    id: &str,
    context: &Context,
) -> Result<Schedule, ToolError> {
    let all = all(planner, context).await?;
    let found = all.into_iter().find(|schedule| code(schedule) == id.trim());
    found.ok_or_else(|| missing(id))
}

fn missing(id: &str) -> ToolError {
    ToolError::InvalidParameters(format!(
        "nothing with the id {id:?} is scheduled here: list_schedules shows the ids"
    ))
}

/// The last part of the id, which is the part that differs.
fn code(schedule: &Schedule) -> &str {
    let id = schedule.id.as_str();
    &id[id.len().saturating_sub(8)..]
}

/// `1a2b3c4d: reminder "Tea", next 2026-05-04 18:00 (Europe/Berlin), every 1h`
fn summary(schedule: &Schedule) -> String {
    let mut text: String = schedule.text.chars().take(SUMMARY_CHARS).collect();
    let more = schedule.text.chars().count().saturating_sub(SUMMARY_CHARS);
    if more > 0 {
        text = format!("{text}… and {more} more characters");
    }
    line(schedule, &text)
}

fn line(schedule: &Schedule, text: &str) -> String {
    let (kind, by) = (kind(schedule), &schedule.by.name);
    format!("{}: {kind} {text:?} of {by}, {}", code(schedule), when(schedule))
}

/// The code and the author of the schedule, in Markdown.
fn heading(schedule: &Schedule) -> String {
    format!("{}: {}", code(schedule), escape(&reveal(&schedule.by.name)))
}

fn kind(schedule: &Schedule) -> &'static str {
    match schedule.does {
        ScheduleKind::Remind => "reminder",
        ScheduleKind::Run => "task",
    }
}

/// When the schedule is due, for people.
fn next_run(schedule: &Schedule) -> PreviewNote {
    let zone: Tz = schedule.zone.parse().unwrap_or(Tz::UTC);
    let due_at = schedule.due_at.with_timezone(&zone);
    let at =
        format!("{} ({}, UTC{})", due_at.format("%F %H:%M:%S"), zone.name(), due_at.format("%:z"));
    let (rule, is_paused) = (schedule.rule.description(), schedule.state == ScheduleState::Paused);
    PreviewNote::NextRun { at, rule, is_paused }
}

fn when(schedule: &Schedule) -> String {
    let zone: Tz = schedule.zone.parse().unwrap_or(Tz::UTC);
    let due = local(schedule.due_at, zone);
    let state = if schedule.state == ScheduleState::Paused { "paused, was next" } else { "next" };
    format!("{state} {due}, {}", schedule.rule.description())
}

fn local(instant: DateTime<Utc>, zone: Tz) -> String {
    let time = instant.with_timezone(&zone);
    format!("{} ({}, UTC{})", time.format("%A %F %H:%M:%S"), zone.name(), time.format("%:z"))
}
