//! Reminders and scheduled tasks: the list, and the form that creates or changes one.

use anyhow::Result;
use axum::{
    extract::Path,
    response::{IntoResponse as _, Redirect, Response},
};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{
    page::{self, PageContext, Sent, back},
    schedule_form::ScheduleForm,
};
use crate::{
    admin::{
        api::{
            parts::{Params, Slice},
            people,
            schedule_plans::{self, NewSchedule},
            schedules::{self, ScheduleFilter, ScheduleView},
        },
        problem::{Problem, SELECT_PERSON},
    },
    journal::role::Role,
    store::{
        lists::schedule_people::{self, SchedulePerson},
        schedules::{Schedule, ScheduleChange},
    },
};

/// The maximum number of people that are offered.
const OFFERED: usize = 200;

#[derive(Default, Deserialize)]
#[serde(default)]
pub struct ScheduleQuery {
    /// The id of the schedule to change
    edit: String,
}

pub async fn index(
    context: PageContext,
    Params(slice): Params<Slice>,
    Params(filter): Params<ScheduleFilter>,
    Params(query): Params<ScheduleQuery>,
) -> Result<Response, Problem> {
    let mut shown = SchedulesView { filter, ..SchedulesView::default() };
    if !query.edit.is_empty() && context.caller.role >= Role::Owner {
        let schedule = schedules::active(&context.admin, &query.edit).await?;
        shown.form = ScheduleForm::of(&schedule.ok_or_else(schedules::missing)?);
        shown.form.text = context.admin.redactor().text(&shown.form.text).into_owned();
    }
    page(&context, &slice, shown).await
}

/// What the page shows besides the schedules.
#[derive(Default)]
struct SchedulesView {
    filter: ScheduleFilter,
    form: ScheduleForm,
    /// What is wrong with the form.
    fault: Option<String>,
}

/// A choice of the form: a person in a conversation.
#[derive(Serialize)]
struct OfferedPerson {
    value: String,
    name: String,
    place: String,
}

/// A schedule of the list.
#[derive(Serialize)]
struct ListedSchedule {
    #[serde(flatten)]
    schedule: ScheduleView,
    /// How it recurs, in the language of the page.
    recurs: String,
}

async fn page(
    context: &PageContext,
    slice: &Slice,
    shown: SchedulesView,
) -> Result<Response, Problem> {
    let only_in = shown.filter.conversation.clone();
    let people = if context.caller.role >= Role::Owner {
        choices(context, &only_in, &shown.form).await?
    } else {
        Vec::new()
    };
    let listed = |schedule: Schedule| ListedSchedule {
        recurs: schedule.rule.description_in(context.language),
        schedule: schedules::view(&context.admin, schedule),
    };
    let found =
        schedules::page(&context.admin, shown.filter, slice.page_request()?, listed).await?;
    let zone = context.admin.planner.zone_name();
    let values = json!({
        "found": found,
        "people": people,
        "form": shown.form,
        "fault": shown.fault,
        "zone": zone,
        "only_in": only_in,
    });
    context.page("schedules.html", values).await
}

/// The people to choose from, with the one that was chosen.
async fn choices(
    context: &PageContext,
    only_in: &str,
    form: &ScheduleForm,
) -> Result<Vec<OfferedPerson>> {
    let mut people = offered(context, only_in.to_owned()).await?;
    if !people.iter().any(|one| one.value == form.target)
        && let Some((conversation, _)) = form.target()
    {
        let others = offered(context, conversation.to_owned()).await?;
        people.extend(others.into_iter().filter(|one| one.value == form.target));
    }
    Ok(people)
}

/// The people of the newest conversations, or of the given one.
async fn offered(context: &PageContext, only_in: String) -> Result<Vec<OfferedPerson>> {
    let names = people::names(&context.admin).await?;
    let read = context.admin.gateway.store.read(move |tx| {
        Box::pin(async move {
            if only_in.is_empty() {
                schedule_people::list(tx, OFFERED).await
            } else {
                schedule_people::of_conversation(tx, &only_in, "", OFFERED).await
            }
        })
    });
    let offer = |one: SchedulePerson| {
        let SchedulePerson { conversation, channel, place, title, person } = one;
        let name = names.get(&format!("{channel}/{person}")).unwrap_or(&person).clone();
        let chat = if place.chat == person { None } else { Some(place.chat) };
        let thread = place.thread.filter(|_| title.is_empty());
        let title = Some(title).filter(|title| !title.is_empty());
        let place = [Some(channel), chat, thread, title].into_iter().flatten().collect::<Vec<_>>();
        OfferedPerson { value: format!("{conversation} {person}"), name, place: place.join(" · ") }
    };
    Ok(read.await?.into_iter().map(offer).collect())
}

/// Creates or changes a schedule. A form that is not accepted is shown again, with the reason.
pub async fn save(
    context: PageContext,
    Sent(form): Sent<ScheduleForm>,
) -> Result<Response, Problem> {
    let Err(problem) = put(&context, &form).await else {
        return Ok(back("schedules", "saved").into_response());
    };
    let fault = Some(page::form_error(problem.clone(), context.language)?);
    let shown = SchedulesView { form, fault, ..SchedulesView::default() };
    let page = page(&context, &Slice::default(), shown).await?;
    Ok((problem.status(), page).into_response())
}

async fn put(context: &PageContext, form: &ScheduleForm) -> Result<(), Problem> {
    let (admin, caller) = (&context.admin, &context.caller);
    let new = NewSchedule { does: form.kind(), arguments: form.arguments() };
    if !form.id.is_empty() {
        return schedule_plans::edit(admin, caller, &form.id, new).await.map(drop);
    }
    let (conversation, person) = form.target().ok_or_else(|| Problem::unfit(SELECT_PERSON))?;
    let target = schedule_plans::target(admin, conversation, person).await?;
    schedule_plans::create(admin, caller, target, new).await.map(drop)
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
    there.map(|_| back("schedules", "changed")).ok_or_else(schedules::missing)
}
