//! People and their roles, pairing codes, and grants.

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
            grants,
            parts::{Params, Slice, none},
            people::{self, OfferBody, OfferView},
        },
        problem::Problem,
    },
    journal::role::Role,
};

pub async fn index(visit: PageContext, Params(slice): Params<Slice>) -> Result<Response, Problem> {
    shown(&visit, &slice, None).await
}

async fn shown(
    visit: &PageContext,
    slice: &Slice,
    offer: Option<OfferView>,
) -> Result<Response, Problem> {
    let found = people::page(&visit.admin, slice.stretch()?).await?;
    let channels: Vec<_> = visit.admin.gateway.channels.keys().collect();
    let roles = [Role::Viewer, Role::Member, Role::Approver, Role::Operator, Role::Owner];
    let values = json!({ "found": found, "channels": channels, "roles": roles, "offer": offer });
    visit.page("people.html", values).await
}

#[derive(Deserialize)]
pub struct PairingCodeForm {
    channel: String,
    person: String,
    /// `None` removes the person
    role: Option<Role>,
}

pub async fn set(
    visit: PageContext,
    Sent(made): Sent<PairingCodeForm>,
) -> Result<Redirect, Problem> {
    let (channel, person) = (made.channel.as_str(), made.person.trim());
    let Some(role) = made.role else {
        let there = people::dismiss(&visit.admin, &visit.caller, channel, person).await?;
        return there.then(|| back("people", "removed")).ok_or_else(|| none("person"));
    };
    if person.is_empty() {
        return Err(Problem::unfit("Enter the person’s id on their platform."));
    }
    people::appoint(&visit.admin, &visit.caller, channel, person, role).await?;
    Ok(back("people", "changed"))
}

#[derive(Deserialize)]
pub struct Offered {
    #[serde(default)]
    channel: String,
    hours: i64,
    /// Empty: member, or owner as long as there is none.
    #[serde(default)]
    role: String,
}

/// The code is shown here only.
pub async fn offer(visit: PageContext, Sent(offered): Sent<Offered>) -> Result<Response, Problem> {
    let role = Role::parse(&offered.role);
    let body = OfferBody { channel: Some(offered.channel), hours: Some(offered.hours), role };
    let offer = people::offered(&visit.admin, &visit.caller, body).await?;
    shown(&visit, &Slice::default(), Some(offer)).await
}

pub async fn grants(visit: PageContext, Params(slice): Params<Slice>) -> Result<Response, Problem> {
    let found = grants::page(&visit.admin, slice.stretch()?).await?;
    visit.page("grants.html", json!({ "found": found })).await
}

pub async fn revoke(visit: PageContext, Path(id): Path<String>) -> Result<Redirect, Problem> {
    grants::end(&visit.admin, &visit.caller, &id).await?.ok_or_else(|| none("grant"))?;
    Ok(back("grants", "revoked"))
}
