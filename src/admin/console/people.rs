//! People and their roles, pairing codes, and grants.

use axum::{
    extract::Path,
    response::{IntoResponse as _, Redirect, Response},
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::page::{self, PageContext, Sent, back};
use crate::{
    admin::{
        api::{
            grants,
            parts::{Params, Slice, none},
            people::{self, OfferBody, OfferView},
        },
        problem::{PERSON_ID, Problem},
    },
    journal::role::Role,
};

pub async fn index(
    context: PageContext,
    Params(slice): Params<Slice>,
) -> Result<Response, Problem> {
    shown(&context, &slice, Forms::default()).await
}

/// The forms of the page: their input and its errors, and a new pairing code.
#[derive(Default, Serialize)]
struct Forms {
    offer: Option<OfferView>,
    person_fault: Option<String>,
    person: PairingCodeForm,
    code_fault: Option<String>,
    code: OfferForm,
}

async fn shown(context: &PageContext, slice: &Slice, forms: Forms) -> Result<Response, Problem> {
    let found = people::page(&context.admin, slice.page_request()?).await?;
    let channels: Vec<_> = context.admin.gateway.channels.keys().collect();
    let roles = [Role::Viewer, Role::Member, Role::Approver, Role::Operator, Role::Owner];
    let mut values = json!({ "found": found, "channels": channels, "roles": roles });
    if let (Some(values), Ok(Value::Object(forms))) =
        (values.as_object_mut(), serde_json::to_value(forms))
    {
        values.extend(forms);
    }
    context.page("people.html", values).await
}

#[derive(Default, Deserialize, Serialize)]
pub struct PairingCodeForm {
    channel: String,
    person: String,
    /// `None` removes the person
    role: Option<Role>,
}

/// A person who cannot be added is shown again in the form, with the reason.
pub async fn set(
    context: PageContext,
    Sent(made): Sent<PairingCodeForm>,
) -> Result<Response, Problem> {
    let (channel, person) = (made.channel.as_str(), made.person.trim());
    let Some(role) = made.role else {
        let there = people::dismiss(&context.admin, &context.caller, channel, person).await?;
        let removed = there
            .then(|| back("people", "removed"))
            .ok_or_else(|| none(|page| page.problems.missing.person))?;
        return Ok(removed.into_response());
    };
    let set = if person.is_empty() {
        Err(Problem::unfit(PERSON_ID))
    } else {
        people::set_role(&context.admin, &context.caller, channel, person, role).await
    };
    let Err(problem) = set else { return Ok(back("people", "changed").into_response()) };
    let person_fault = Some(page::form_error(problem.clone(), context.language)?);
    let forms = Forms { person_fault, person: made, ..Forms::default() };
    let shown = shown(&context, &Slice::default(), forms).await?;
    Ok((problem.status(), shown).into_response())
}

#[derive(Clone, Deserialize, Serialize)]
pub struct OfferForm {
    #[serde(default)]
    channel: String,
    hours: i64,
    /// Empty: member, or owner as long as there is none.
    #[serde(default)]
    role: String,
}

impl Default for OfferForm {
    fn default() -> Self {
        Self { channel: String::new(), hours: 24, role: String::new() }
    }
}

/// The code is shown here only.
pub async fn offer(context: PageContext, Sent(code): Sent<OfferForm>) -> Result<Response, Problem> {
    let OfferForm { channel, hours, role } = code.clone();
    let role = Role::parse(&role);
    let body = OfferBody { channel: Some(channel), hours: Some(hours), role };
    match people::offered(&context.admin, &context.caller, body).await {
        Ok(offer) => {
            let forms = Forms { offer: Some(offer), ..Forms::default() };
            shown(&context, &Slice::default(), forms).await
        }
        Err(problem) => {
            let code_fault = Some(page::form_error(problem.clone(), context.language)?);
            let forms = Forms { code_fault, code, ..Forms::default() };
            let shown = shown(&context, &Slice::default(), forms).await?;
            Ok((problem.status(), shown).into_response())
        }
    }
}

pub async fn grants(
    context: PageContext,
    Params(slice): Params<Slice>,
) -> Result<Response, Problem> {
    let found = grants::page(&context.admin, slice.page_request()?).await?;
    let names = people::names(&context.admin).await?;
    context.page("grants.html", json!({ "found": found, "names": names })).await
}

pub async fn revoke(context: PageContext, Path(id): Path<String>) -> Result<Redirect, Problem> {
    grants::end(&context.admin, &context.caller, &id)
        .await?
        .ok_or_else(|| none(|page| page.problems.missing.grant))?;
    Ok(back("grants", "revoked"))
}
