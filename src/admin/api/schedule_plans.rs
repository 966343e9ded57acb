//! Creates and changes schedules: owners do it for people in their conversations.

use anyhow::Result;
use axum::{Json, extract::State, http::StatusCode};
use serde::Deserialize;
use std::sync::Arc;
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{
    caller::Caller,
    parts::{Body, PathNames},
    schedules::{ScheduleView, active, missing, view},
};
use crate::{
    admin::{
        Admin,
        problem::{
            NO_ACCESS, NOT_A_PARTICIPANT, Problem, ProblemText, SCHEDULE_CHANGED, SCHEDULE_EXISTS,
            SELECT_PERSON, TOO_MANY_SCHEDULES,
        },
    },
    journal::{
        event::Speaker,
        ids::{ConversationId, ScheduleId},
    },
    store::{
        audit::{AuditKind, Fact},
        lists::schedule_people::{self, SchedulePerson},
        schedules::{Schedule, ScheduleCreated, ScheduleKind},
    },
    texts::ScheduleError,
    tools::schedule_planner::{self, ScheduleArguments, ScheduleTarget},
    worker::scheduler,
};

pub fn routes() -> OpenApiRouter<Arc<Admin>> {
    OpenApiRouter::new().routes(routes!(create_schedule)).routes(routes!(change_plan))
}

/// What a schedule does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ScheduleKindName {
    /// Shows the text
    Remind,
    /// Gives the text to the agent as a task
    Run,
}

impl From<ScheduleKindName> for ScheduleKind {
    fn from(name: ScheduleKindName) -> Self {
        match name {
            ScheduleKindName::Remind => Self::Remind,
            ScheduleKindName::Run => Self::Run,
        }
    }
}

/// What a schedule does, and when: exactly one of `at`, `in`, `every` and `cron`. `every` may also
/// have `at`, for its first time.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SchedulePlanBody {
    pub does: ScheduleKindName,
    /// The reminder, exactly as people will read it; or the task, complete
    #[schema(min_length = 1, max_length = 4000)]
    pub text: String,
    /// A local date and time such as 2026-05-04T18:00, or one with its offset
    pub at: Option<String>,
    /// How long from now, such as 20m, 2h or 1day 12h
    #[serde(rename = "in")]
    pub after: Option<String>,
    /// Repeats with this interval, such as 2h; first after the interval, or at `at`
    pub every: Option<String>,
    /// Repeats by this cron pattern of five fields, such as 0 9 * * MON-FRI
    pub cron: Option<String>,
    /// The IANA name of a time zone; by default the one that was last used for this person in the
    /// conversation, else that of the configuration
    pub timezone: Option<String>,
}

/// A schedule for a person in one of their conversations.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewScheduleBody {
    /// The id of the conversation
    pub conversation: String,
    /// The platform's id of the person on whose behalf it runs
    pub person: String,
    pub plan: SchedulePlanBody,
}

/// What is to be scheduled, as in a call of the tools.
pub struct NewSchedule {
    pub does: ScheduleKind,
    pub arguments: ScheduleArguments,
}

impl From<SchedulePlanBody> for NewSchedule {
    fn from(body: SchedulePlanBody) -> Self {
        let SchedulePlanBody { does, text, at, after, every, cron, timezone } = body;
        let arguments = ScheduleArguments { text, at, after, every, cron, timezone };
        Self { does: does.into(), arguments }
    }
}

/// The person in the conversation, if they take part in it.
pub async fn target(
    admin: &Admin,
    conversation: &str,
    person: &str,
) -> Result<SchedulePerson, Problem> {
    // An empty id would find anybody.
    if person.is_empty() {
        return Err(Problem::unfit(SELECT_PERSON));
    }
    let (conversation, person) = (conversation.to_owned(), person.to_owned());
    let read = admin.gateway.store.read(move |tx| {
        Box::pin(
            async move { schedule_people::of_conversation(tx, &conversation, &person, 1).await },
        )
    });
    read.await?.pop().ok_or_else(|| Problem::unfit(NOT_A_PARTICIPANT))
}

/// Creates a schedule for a person in a conversation, as `remind` and `schedule` do in a chat.
pub async fn create(
    admin: &Admin,
    caller: &Caller,
    target: SchedulePerson,
    new: NewSchedule,
) -> Result<Schedule, Problem> {
    let SchedulePerson { person, conversation, .. } = target;
    let name = name(admin, &conversation, &person).await?;
    let target = ScheduleTarget {
        id: ScheduleId(uuid::Uuid::now_v7().simple().to_string()),
        conversation,
        by: Speaker { id: person, name },
        // The person who writes it is an owner.
        taint: Vec::new(),
    };
    let now = admin.gateway.clock.now();
    let schedule = admin.planner.planned(new.does, new.arguments, target, now).await;
    let schedule = schedule.map_err(rejected)?;
    if !has_access(admin, &schedule).await? {
        return Err(Problem::unfit(NO_ACCESS));
    }
    let fact = fact(admin, caller, AuditKind::ScheduleCreated, &schedule);
    let created = admin.planner.create(schedule.clone(), Some(fact), now).await;
    match created.map_err(rejected)? {
        ScheduleCreated::New => Ok(schedule),
        ScheduleCreated::There(_) => Err(Problem::conflict(SCHEDULE_EXISTS)),
        ScheduleCreated::Full => {
            let limit = admin.planner.limit().to_string();
            Err(Problem::conflict(ProblemText::with(TOO_MANY_SCHEDULES, limit)))
        }
    }
}

async fn name(admin: &Admin, conversation: &ConversationId, person: &str) -> Result<String> {
    let (conversation, own) = (conversation.clone(), person.to_owned());
    let read = admin.gateway.store.read(move |tx| {
        Box::pin(async move { schedule_people::name(tx, &conversation, &own).await })
    });
    Ok(read.await?.unwrap_or_else(|| person.to_owned()))
}

/// Changes what a schedule does and when. Its conversation, person and sources stay the same.
pub async fn edit(
    admin: &Admin,
    caller: &Caller,
    id: &str,
    mut new: NewSchedule,
) -> Result<Schedule, Problem> {
    let old = active(admin, id).await?.ok_or_else(missing)?;
    // The form and the API show the text without secrets.
    if new.arguments.text == admin.redactor().text(&old.text) {
        new.arguments.text.clone_from(&old.text);
    }
    let target = ScheduleTarget {
        id: old.id.clone(),
        conversation: old.conversation.clone(),
        by: old.by.clone(),
        taint: old.taint.clone(),
    };
    let now = admin.gateway.clock.now();
    let new = admin.planner.planned(new.does, new.arguments, target, now).await;
    let schedule = schedule_planner::edited(&old, new.map_err(rejected)?);
    let fact = fact(admin, caller, AuditKind::ScheduleEdited, &schedule);
    let changed = admin.planner.change(schedule.clone(), old.due_at, fact, now).await;
    if changed.map_err(rejected)? { Ok(schedule) } else { Err(Problem::conflict(SCHEDULE_CHANGED)) }
}

/// Whether the scheduler would run it.
async fn has_access(admin: &Admin, schedule: &Schedule) -> Result<bool> {
    let (worker, schedule) = (admin.worker.clone(), schedule.clone());
    let read = admin.gateway.store.read(move |tx| {
        Box::pin(async move {
            scheduler::has_access(tx, &worker, &schedule.conversation, &schedule.by).await
        })
    });
    read.await
}

fn fact(admin: &Admin, caller: &Caller, kind: AuditKind, schedule: &Schedule) -> Fact {
    caller
        .did(kind)
        .with("schedule", schedule.id.as_str())
        .with("conversation", schedule.conversation.as_str())
        .with("for", schedule.by.id.as_str())
        .with("does", schedule.does.as_str())
        .with("text", admin.redactor().text(&schedule.text).as_ref())
        .with("rule", schedule.rule.description())
        .with("due_at", schedule.due_at.to_rfc3339())
}

fn rejected(error: ScheduleError) -> Problem {
    match error {
        ScheduleError::Unavailable => Problem::new(StatusCode::SERVICE_UNAVAILABLE, error),
        wrong => Problem::unfit(wrong),
    }
}

/// Create a reminder or a scheduled task for a person in one of their conversations
#[utoipa::path(post, path = "/schedules", tag = "schedules", request_body = NewScheduleBody,
    responses((status = 201, body = ScheduleView),
        (status = 503, description = "The schedules are not available")),
    extensions(("x-role" = json!("owner"))))]
async fn create_schedule(
    State(admin): State<Arc<Admin>>,
    caller: Caller,
    Body(body): Body<NewScheduleBody>,
) -> Result<(StatusCode, Json<ScheduleView>), Problem> {
    let target = target(&admin, &body.conversation, &body.person).await?;
    let schedule = create(&admin, &caller, target, body.plan.into()).await?;
    Ok((StatusCode::CREATED, Json(view(&admin, schedule))))
}

/// Change what a schedule does and when; its conversation and person stay the same
#[utoipa::path(put, path = "/schedules/{id}/plan", tag = "schedules",
    params(("id" = String, Path)), request_body = SchedulePlanBody,
    responses((status = 200, body = ScheduleView),
        (status = 503, description = "The schedules are not available")),
    extensions(("x-role" = json!("owner"))))]
async fn change_plan(
    State(admin): State<Arc<Admin>>,
    caller: Caller,
    PathNames(id): PathNames<String>,
    Body(body): Body<SchedulePlanBody>,
) -> Result<Json<ScheduleView>, Problem> {
    let schedule = edit(&admin, &caller, &id, body.into()).await?;
    Ok(Json(view(&admin, schedule)))
}
