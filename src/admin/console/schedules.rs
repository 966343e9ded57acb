//! Reminders and scheduled tasks.

use axum::{
    extract::Path,
    response::{Redirect, Response},
};
use serde::Deserialize;
use serde_json::json;

use super::page::{PageContext, Sent, back};
use crate::{
    admin::{
        api::{
            parts::{Params, Slice, none},
            schedules::{self, ScheduleFilter},
        },
        problem::Problem,
    },
    store::schedules::ScheduleChange,
};

pub async fn index(
    context: PageContext,
    Params(slice): Params<Slice>,
    Params(filter): Params<ScheduleFilter>,
) -> Result<Response, Problem> {
    let found = schedules::page(&context.admin, filter, slice.page_request()?).await?;
    context.page("schedules.html", json!({ "found": found })).await
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ScheduleCommand {
    Pause,
    Resume,
    Delete,
}

#[derive(Deserialize)]
pub struct SchedulesQuery {
    then: ScheduleCommand,
}

pub async fn change(
    context: PageContext,
    Path(id): Path<String>,
    Sent(changed): Sent<SchedulesQuery>,
) -> Result<Redirect, Problem> {
    let to = match changed.then {
        ScheduleCommand::Pause => ScheduleChange::Pause,
        ScheduleCommand::Resume => ScheduleChange::Resume,
        ScheduleCommand::Delete => ScheduleChange::Delete,
    };
    let there = schedules::change(&context.admin, &context.caller, &id, to).await?;
    there.map(|_| back("schedules", "changed")).ok_or_else(|| none("schedule"))
}
