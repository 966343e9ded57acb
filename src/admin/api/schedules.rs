//! Reminders and scheduled tasks of all conversations: the list, and their states.

use anyhow::Result;
use axum::{Json, extract::State, http::StatusCode};
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{
    caller::Caller,
    parts::{Body, Page, Params, PathNames, PersonView, Slice},
};
use crate::{
    admin::{
        Admin,
        problem::{NO_SUCH_SCHEDULE, Problem},
    },
    store::{
        audit::{self, AuditKind},
        lists::PageRequest,
        schedules::{self, Schedule, ScheduleChange, ScheduleState},
    },
};

pub fn routes() -> OpenApiRouter<Arc<Admin>> {
    OpenApiRouter::new().routes(routes!(index)).routes(routes!(show, set, delete))
}

/// A reminder or scheduled task.
#[derive(Debug, Serialize, ToSchema)]
pub struct ScheduleView {
    pub id: String,
    pub conversation: String,
    /// remind: shows the text; run: gives it to the agent as a task
    pub does: String,
    /// Without secrets
    pub text: String,
    /// once, or how it recurs
    pub rule: String,
    /// The time zone in which its times are displayed
    pub zone: String,
    /// The person on whose behalf it runs
    pub by: PersonView,
    /// The sources of untrusted content that had been read when it was created
    pub taint: Vec<String>,
    pub paused: bool,
    pub due_at: DateTime<Utc>,
}

#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ScheduleFilter {
    /// Only those of one conversation
    #[serde(default)]
    pub conversation: String,
}

#[derive(Debug, Clone, Copy, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PausedBody {
    pub paused: bool,
}

/// The schedule without secrets.
pub fn view(admin: &Admin, schedule: Schedule) -> ScheduleView {
    ScheduleView {
        id: schedule.id.0,
        conversation: schedule.conversation.0,
        does: schedule.does.as_str().to_owned(),
        text: admin.redactor().text(&schedule.text).into_owned(),
        rule: schedule.rule.description(),
        zone: schedule.zone,
        by: schedule.by.into(),
        taint: schedule.taint,
        paused: schedule.state == ScheduleState::Paused,
        due_at: schedule.due_at,
    }
}

/// Lists active schedules, newest first.
pub async fn page<T>(
    admin: &Admin,
    filter: ScheduleFilter,
    page_request: PageRequest,
    view: impl Fn(Schedule) -> T,
) -> Result<Page<T>> {
    let read = admin.gateway.store.read(move |tx| {
        Box::pin(async move {
            Ok((schedules::list(tx, &filter.conversation, &page_request).await?, page_request))
        })
    });
    let (rows, page_request) = read.await?;
    Ok(Page::of(rows, &page_request, |row| row.id.to_string(), view))
}

/// The schedule with this id, unless it has ended.
pub async fn active(admin: &Admin, id: &str) -> Result<Option<Schedule>> {
    let id = id.into();
    let read = admin
        .gateway
        .store
        .read(move |tx| Box::pin(async move { schedules::by_id(tx, &id).await }));
    Ok(read.await?.filter(Schedule::is_active))
}

/// The response if there is no schedule with an id, or it has ended.
pub fn missing() -> Problem {
    Problem::new(StatusCode::NOT_FOUND, NO_SUCH_SCHEDULE)
}

/// Pauses, resumes or deletes a schedule; `None` if there is none or it has ended.
pub async fn change(
    admin: &Admin,
    caller: &Caller,
    id: &str,
    to: ScheduleChange,
) -> Result<Option<ScheduleView>> {
    let (id, now) = (id.to_owned(), admin.gateway.clock.now());
    let kind = match to {
        ScheduleChange::Pause => AuditKind::SchedulePaused,
        ScheduleChange::Resume => AuditKind::ScheduleResumed,
        ScheduleChange::Delete => AuditKind::ScheduleDeleted,
    };
    let fact = caller.did(kind).with("schedule", id.as_str());
    let write = admin.gateway.store.write("change schedule", move |tx| {
        Box::pin(async move {
            let changed = schedules::change_state(tx, &id.as_str().into(), to, now).await?;
            if changed.is_some() {
                audit::append(tx, audit::ADMIN, vec![fact], now).await?;
            }
            Ok(changed)
        })
    });
    Ok(write.await?.map(|schedule| view(admin, schedule)))
}

/// List reminders and scheduled tasks
#[utoipa::path(get, path = "/schedules", tag = "schedules", params(Slice, ScheduleFilter),
    responses((status = 200, body = Page<ScheduleView>)),
    extensions(("x-role" = json!("operator"))))]
async fn index(
    State(admin): State<Arc<Admin>>,
    Params(slice): Params<Slice>,
    Params(filter): Params<ScheduleFilter>,
) -> Result<Json<Page<ScheduleView>>, Problem> {
    Ok(Json(page(&admin, filter, slice.page_request()?, |row| view(&admin, row)).await?))
}

/// Show a reminder or scheduled task that has not ended
#[utoipa::path(get, path = "/schedules/{id}", tag = "schedules", params(("id" = String, Path)),
    responses((status = 200, body = ScheduleView)),
    extensions(("x-role" = json!("operator"))))]
async fn show(
    State(admin): State<Arc<Admin>>,
    PathNames(id): PathNames<String>,
) -> Result<Json<ScheduleView>, Problem> {
    let schedule = active(&admin, &id).await?.ok_or_else(missing)?;
    Ok(Json(view(&admin, schedule)))
}

/// Pause or resume a schedule; occurrences that were missed in the meantime are skipped
#[utoipa::path(put, path = "/schedules/{id}", tag = "schedules", params(("id" = String, Path)),
    request_body = PausedBody, responses((status = 200, body = ScheduleView)),
    extensions(("x-role" = json!("operator"))))]
async fn set(
    State(admin): State<Arc<Admin>>,
    caller: Caller,
    PathNames(id): PathNames<String>,
    Body(body): Body<PausedBody>,
) -> Result<Json<ScheduleView>, Problem> {
    let to = if body.paused { ScheduleChange::Pause } else { ScheduleChange::Resume };
    change(&admin, &caller, &id, to).await?.map(Json).ok_or_else(missing)
}

/// Delete a schedule
#[utoipa::path(delete, path = "/schedules/{id}", tag = "schedules",
    params(("id" = String, Path)), responses((status = 204)),
    extensions(("x-role" = json!("operator"))))]
async fn delete(
    State(admin): State<Arc<Admin>>,
    caller: Caller,
    PathNames(id): PathNames<String>,
) -> Result<StatusCode, Problem> {
    change(&admin, &caller, &id, ScheduleChange::Delete).await?.ok_or_else(missing)?;
    Ok(StatusCode::NO_CONTENT)
}
