//! People, their roles, and pairing codes.

use anyhow::Result;
use axum::{Extension, Json, extract::State, http::StatusCode};
use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::{collections::BTreeMap, sync::Arc};
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{
    caller::Caller,
    idempotency::ContainsSecret,
    parts::{Body, Page, Params, PathNames, Slice, none},
};
use crate::{
    admin::{
        Admin,
        problem::{CODE_HOURS, OWN_ACCOUNT, Problem, ProblemText, UNKNOWN_CHANNEL, VISITOR_ROLE},
    },
    gateway::pairing::new_code,
    journal::role::Role,
    store::{
        audit,
        audit::AuditKind,
        jobs,
        lists::{
            PageRequest,
            people::{ListedPerson, list, put, remove},
        },
        people::{
            self,
            identities::{self, Account, NamedAccount},
            pairing::{self, PairingOffer, PairingRole},
            web_sessions,
        },
    },
};

pub fn routes() -> OpenApiRouter<Arc<Admin>> {
    OpenApiRouter::new()
        .routes(routes!(index))
        .routes(routes!(set, show_out))
        .routes(routes!(offer))
        .routes(routes!(link, unlink))
}

/// A person with a stored role. Those named in the configuration are not listed.
#[derive(Debug, Serialize, ToSchema)]
pub struct MemberView {
    pub channel: String,
    /// The platform's id
    pub person: String,
    pub name: String,
    pub role: Role,
    pub since: DateTime<Utc>,
}

impl From<ListedPerson> for MemberView {
    fn from(ListedPerson { channel, person, name, role, since }: ListedPerson) -> Self {
        Self { channel, person, name, role, since }
    }
}

pub async fn page(admin: &Admin, page_request: PageRequest) -> Result<Page<MemberView>> {
    let (rows, page_request) = admin
        .gateway
        .store
        .read(move |tx| Box::pin(async move { Ok((list(tx, &page_request).await?, page_request)) }))
        .await?;
    let key = |row: &ListedPerson| json!([row.channel, row.person]).to_string();
    Ok(Page::of(rows, &page_request, key, Into::into))
}

/// The most people whose names are looked up for a page.
const NAMED: usize = 5_000;

/// The names of people with access, by `channel/id`.
pub async fn names(admin: &Admin) -> Result<BTreeMap<String, String>> {
    let page_request = PageRequest { limit: NAMED, ..PageRequest::default() };
    let read =
        admin.gateway.store.read(move |tx| Box::pin(async move { list(tx, &page_request).await }));
    let named = read.await?.into_iter().filter(|one| !one.name.is_empty());
    Ok(named.map(|one| (format!("{}/{}", one.channel, one.person), one.name)).collect())
}

/// List people with access
#[utoipa::path(get, path = "/people", tag = "people", params(Slice),
    responses((status = 200, body = Page<MemberView>)), extensions(("x-role" = json!("operator"))))]
async fn index(
    State(admin): State<Arc<Admin>>,
    Params(slice): Params<Slice>,
) -> Result<Json<Page<MemberView>>, Problem> {
    Ok(Json(page(&admin, slice.page_request()?).await?))
}

#[derive(Debug, Clone, Copy, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RoleBody {
    pub role: Role,
}

/// Gives a person a role, which applies from their next message on.
async fn create(
    admin: &Admin,
    caller: &Caller,
    channel: &str,
    person: &str,
    role: Role,
) -> Result<()> {
    let (channel, person) = (channel.to_owned(), person.to_owned());
    let fact = caller
        .did(AuditKind::RoleSet)
        .with("channel", channel.as_str())
        .with("whom", person.as_str())
        .with("role", role.as_str());
    let now = admin.gateway.clock.now();
    admin
        .gateway
        .store
        .write("set role", move |tx| {
            Box::pin(async move {
                put(tx, &channel, &person, role, now).await?;
                audit::append(tx, audit::ADMIN, vec![fact], now).await
            })
        })
        .await
}

/// Give a person a role, and access if they had none
#[utoipa::path(put, path = "/people/{channel}/{person}", tag = "people",
    params(("channel" = String, Path), ("person" = String, Path)), request_body = RoleBody,
    responses((status = 204)), extensions(("x-role" = json!("owner"))))]
async fn set(
    State(admin): State<Arc<Admin>>,
    caller: Caller,
    PathNames((channel, person)): PathNames<(String, String)>,
    Body(body): Body<RoleBody>,
) -> Result<StatusCode, Problem> {
    set_role(&admin, &caller, &channel, &person, body.role).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Gives a person on a configured channel a role.
pub async fn set_role(
    admin: &Admin,
    caller: &Caller,
    channel: &str,
    person: &str,
    role: Role,
) -> Result<(), Problem> {
    if !admin.gateway.channels.contains_key(channel) {
        return Err(none(|page| page.problems.missing.channel));
    }
    if people::at_most(person, role) < role {
        return Err(Problem::unfit(VISITOR_ROLE));
    }
    Ok(create(admin, caller, channel, person, role).await?)
}

/// Removes a person, and ends their sessions of the web chat. Returns whether they existed.
pub async fn dismiss(admin: &Admin, caller: &Caller, channel: &str, person: &str) -> Result<bool> {
    let (channel, person) = (channel.to_owned(), person.to_owned());
    let fact = caller.did(AuditKind::PersonRemoved);
    let fact = fact.with("channel", channel.as_str()).with("whom", person.as_str());
    let (by, now) = (caller.speaker(), admin.gateway.clock.now());
    let has_sessions = admin.web().is_some_and(|(web, _)| web == channel);
    let whom = person.clone();
    let removed = admin
        .gateway
        .store
        .write("remove person", move |tx| {
            Box::pin(async move {
                let removed = remove(tx, &channel, &person).await?;
                if removed && has_sessions {
                    web_sessions::end_all(tx, &person).await?;
                }
                if removed {
                    jobs::cancel_of_person(tx, &format!("{channel}/{person}"), &by, now).await?;
                    audit::append(tx, audit::ADMIN, vec![fact], now).await?;
                }
                Ok(removed)
            })
        })
        .await?;
    if removed && has_sessions {
        // Open pages check whether their session is still valid.
        admin.changed.send(whom).ok();
    }
    Ok(removed)
}

/// Remove a person; access from the configuration remains
#[utoipa::path(delete, path = "/people/{channel}/{person}", tag = "people",
    params(("channel" = String, Path), ("person" = String, Path)), responses((status = 204)),
    extensions(("x-role" = json!("owner"))))]
async fn show_out(
    State(admin): State<Arc<Admin>>,
    caller: Caller,
    PathNames((channel, person)): PathNames<(String, String)>,
) -> Result<StatusCode, Problem> {
    if dismiss(&admin, &caller, &channel, &person).await? {
        Ok(StatusCode::NO_CONTENT)
    } else {
        Err(none(|page| page.problems.missing.person))
    }
}

#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct OfferBody {
    /// Only valid on this channel; otherwise on any
    #[schema(value_type = Option<String>)]
    pub channel: Option<String>,
    /// For how many hours the code is valid
    #[schema(minimum = 1, maximum = 8760, default = 24)]
    pub hours: Option<i64>,
    /// The role it gives; by default member, or owner as long as there is none
    #[schema(value_type = Option<Role>)]
    pub role: Option<Role>,
}

/// A pairing code, which gives access to one person who sends it to the bot. It is shown only here.
#[derive(Debug, Serialize, ToSchema)]
pub struct OfferView {
    pub code: String,
    /// The role it gives; a visitor of a widget is at most a member
    pub role: Role,
    pub expires_at: DateTime<Utc>,
}

/// The parameters of a new code.
struct PairingCodeRequest {
    /// Empty for any channel.
    channel: String,
    lasts: TimeDelta,
    role: Option<Role>,
}

/// Creates a code that works once.
async fn offer_code(
    admin: &Admin,
    caller: &Caller,
    request: PairingCodeRequest,
) -> Result<OfferView> {
    let (now, owned) = (admin.gateway.clock.now(), admin.gateway.owned());
    let PairingCodeRequest { channel, lasts, role } = request;
    let (code, expires_at) = (new_code(), now + lasts);
    let fact = caller
        .did(AuditKind::PairingOffered)
        .with("channel", channel.as_str())
        .with("expires_at", expires_at.to_rfc3339());
    admin
        .gateway
        .store
        .write("offer pairing", move |tx| {
            Box::pin(async move {
                let makes = match role {
                    Some(role) => PairingRole::Role(role),
                    None => PairingRole::by_default(tx, owned).await?,
                };
                let offer = PairingOffer { channel, code, makes, expires_at };
                pairing::offer_pairing(tx, &offer).await?;
                let fact = fact.with("role", makes.as_str());
                audit::append(tx, audit::ADMIN, vec![fact], now).await?;
                Ok(OfferView { code: offer.code, role: makes.role(), expires_at })
            })
        })
        .await
}

/// Create a pairing code, and show the role it gives
#[utoipa::path(post, path = "/pairing-codes", tag = "people", request_body = OfferBody,
    responses((status = 201, body = OfferView)), extensions(("x-role" = json!("owner"))))]
async fn offer(
    State(admin): State<Arc<Admin>>,
    caller: Caller,
    Body(body): Body<OfferBody>,
) -> Result<(StatusCode, Extension<ContainsSecret>, Json<OfferView>), Problem> {
    let offer = offered(&admin, &caller, body).await?;
    Ok((StatusCode::CREATED, Extension(ContainsSecret), Json(offer)))
}

/// Creates a code, after validating the parameters.
pub async fn offered(
    admin: &Admin,
    caller: &Caller,
    body: OfferBody,
) -> Result<OfferView, Problem> {
    let hours = body.hours.unwrap_or(24);
    if !(1..=8760).contains(&hours) {
        return Err(Problem::unfit(CODE_HOURS));
    }
    let channel = body.channel.unwrap_or_default();
    if !channel.is_empty() && !admin.gateway.channels.contains_key(&channel) {
        return Err(Problem::unfit(ProblemText::with(UNKNOWN_CHANNEL, channel)));
    }
    let request = PairingCodeRequest { channel, lasts: TimeDelta::hours(hours), role: body.role };
    Ok(offer_code(admin, caller, request).await?)
}

/// Another account of the same person.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LinkBody {
    /// The id of a channel, or `api` for a token, whose account is `token:<name>`
    pub channel: String,
    pub person: String,
}

/// Link two accounts, so that they count as one person where several have to agree
#[utoipa::path(put, path = "/people/{channel}/{person}/link", tag = "people",
    params(("channel" = String, Path), ("person" = String, Path)), request_body = LinkBody,
    responses((status = 204)), extensions(("x-role" = json!("owner"))))]
async fn link(
    State(admin): State<Arc<Admin>>,
    caller: Caller,
    PathNames((channel, person)): PathNames<(String, String)>,
    Body(other): Body<LinkBody>,
) -> Result<StatusCode, Problem> {
    if (&channel, &person) == (&other.channel, &other.person) {
        return Err(Problem::unfit(OWN_ACCOUNT));
    }
    let fact = caller
        .did(AuditKind::Linked)
        .with("channel", channel.as_str())
        .with("whom", person.as_str())
        .with("to_channel", other.channel.as_str())
        .with("to", other.person.as_str());
    let now = admin.gateway.clock.now();
    let write = admin.gateway.store.write("link", move |tx| {
        Box::pin(async move {
            let one = Account::new(&channel, &person);
            let other = Account::new(&other.channel, &other.person);
            let one = NamedAccount { account: &one, name: &one.id };
            let other = NamedAccount { account: &other, name: &other.id };
            identities::link(tx, one, other, now).await?;
            audit::append(tx, audit::ADMIN, vec![fact], now).await
        })
    });
    write.await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Unlink an account
#[utoipa::path(delete, path = "/people/{channel}/{person}/link", tag = "people",
    params(("channel" = String, Path), ("person" = String, Path)), responses((status = 204)),
    extensions(("x-role" = json!("owner"))))]
async fn unlink(
    State(admin): State<Arc<Admin>>,
    caller: Caller,
    PathNames((channel, person)): PathNames<(String, String)>,
) -> Result<StatusCode, Problem> {
    let fact = caller.did(AuditKind::Unlinked);
    let fact = fact.with("channel", channel.as_str()).with("whom", person.as_str());
    let now = admin.gateway.clock.now();
    let write = admin.gateway.store.write("unlink", move |tx| {
        Box::pin(async move {
            let unlinked = identities::unlink(tx, &Account::new(&channel, &person)).await?;
            if unlinked {
                audit::append(tx, audit::ADMIN, vec![fact], now).await?;
            }
            Ok(unlinked)
        })
    });
    if write.await? {
        Ok(StatusCode::NO_CONTENT)
    } else {
        Err(none(|page| page.problems.missing.link))
    }
}
