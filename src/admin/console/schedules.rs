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
    store::schedules::Move,
};

pub async fn index(
    visit: PageContext,
    Params(slice): Params<Slice>,
    Params(filter): Params<ScheduleFilter>,
) -> Result<Response, Problem> {
    let found = schedules::page(&visit.admin, filter, slice.stretch()?).await?;
    visit.page("schedules.html", json!({ "found": found })).await
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Then {
    Pause,
    Resume,
    Delete,
}

#[derive(Deserialize)]
pub struct SchedulesQuery {
    then: Then,
}

pub async fn change(
    visit: PageContext,
    Path(id): Path<String>,
    Sent(changed): Sent<SchedulesQuery>,
) -> Result<Redirect, Problem> {
    let to = match changed.then {
        Then::Pause => Move::Pause,
        Then::Resume => Move::Resume,
        Then::Delete => Move::Delete,
    };
    let there = schedules::change(&visit.admin, &visit.caller, &id, to).await?;
    there.map(|_| back("schedules", "changed")).ok_or_else(|| none("schedule"))
}
