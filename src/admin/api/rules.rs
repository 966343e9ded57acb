//! Guard rules of the database, which take effect immediately on all nodes.

use anyhow::Result;
use axum::{
    Json,
    extract::State,
    http::{StatusCode, header::CONTENT_TYPE},
    response::{IntoResponse as _, Response},
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::sync::Arc;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{
    caller::Caller,
    parts::{Body, Page, Params, PathNames, Slice, bad_cursor, none},
};
use crate::{
    admin::{
        Admin,
        problem::{INVALID_RULE, Problem, ProblemText, RULE_EXISTS, RULE_NAME, UNKNOWN_AGENT},
        rules::{self, DraftRule, Explained, HypotheticalCall, ImportFormat, ImportMode},
    },
    agent::rules::{RuleDocument, RuleEntry},
    journal::role::Role,
};

pub fn routes() -> OpenApiRouter<Arc<Admin>> {
    OpenApiRouter::new()
        .routes(routes!(index, create))
        .routes(routes!(replace, remove))
        .routes(routes!(export))
        .routes(routes!(import))
        .routes(routes!(test))
}

/// List the rules of the database, in order
#[utoipa::path(get, path = "/guard/rules", tag = "guard", params(Slice),
    responses((status = 200, body = Page<RuleEntry>)), extensions(("x-role" = json!("operator"))))]
async fn index(
    State(admin): State<Arc<Admin>>,
    Params(slice): Params<Slice>,
) -> Result<Json<Page<RuleEntry>>, Problem> {
    let (_, document) = rules::export(&admin.gateway.store).await?;
    let page_request = slice.page_request()?;
    let name = |rule: &RuleEntry| rule.name.clone().unwrap_or_default();
    // The cursor is the name of the last rule of the previous page, which may have been removed.
    let last = document.rules.iter().position(|rule| name(rule) == page_request.after);
    let begin = match (page_request.after.as_str(), last) {
        ("", _) => 0,
        (_, Some(last)) => last + 1,
        (_, None) => return Err(bad_cursor()),
    };
    let rows = document.rules.into_iter().skip(begin).take(page_request.limit).collect();
    Ok(Json(Page::of(rows, &page_request, name, |rule| rule)))
}

/// Add a rule after the others
#[utoipa::path(post, path = "/guard/rules", tag = "guard", request_body = RuleEntry,
    responses((status = 201, body = Placed)), extensions(("x-role" = json!("owner"))))]
async fn create(
    State(admin): State<Arc<Admin>>,
    caller: Caller,
    Body(rule): Body<RuleEntry>,
) -> Result<(StatusCode, Json<Placed>), Problem> {
    add(&admin, &caller, &rule).await?;
    Ok((StatusCode::CREATED, Json(placed(&admin, rule).await?)))
}

/// A rule, and how others affect it.
#[derive(Debug, Serialize, ToSchema)]
struct Placed {
    #[serde(flatten)]
    rule: RuleEntry,
    /// Rules of the same severity that come first and decide differently when both match a call. A
    /// higher `priority` or `severity` gives this rule precedence
    #[serde(skip_serializing_if = "Vec::is_empty")]
    shadowed_by: Vec<String>,
}

async fn placed(admin: &Admin, rule: RuleEntry) -> Result<Placed, Problem> {
    let name = rule.name.as_deref().unwrap_or_default();
    let shadowed_by = rules::shadowing(&admin.gateway.store, name).await?;
    Ok(Placed { rule, shadowed_by })
}

/// Adds a rule with a new name.
pub async fn add(admin: &Admin, caller: &Caller, rule: &RuleEntry) -> Result<(), Problem> {
    if put(admin, caller, rule, ImportMode::New).await? {
        Ok(())
    } else {
        Err(Problem::conflict(RULE_EXISTS))
    }
}

/// Change the rule with this name in place, or add it
#[utoipa::path(put, path = "/guard/rules/{name}", tag = "guard", params(("name" = String, Path)),
    request_body = RuleEntry, responses((status = 200, body = Placed)),
    extensions(("x-role" = json!("owner"))))]
async fn replace(
    State(admin): State<Arc<Admin>>,
    caller: Caller,
    PathNames(name): PathNames<String>,
    Body(mut rule): Body<RuleEntry>,
) -> Result<Json<Placed>, Problem> {
    if rule.name.get_or_insert_with(|| name.clone()) != &name {
        return Err(Problem::unfit("The name of the rule differs from the name in the URL."));
    }
    put(&admin, &caller, &rule, ImportMode::Any).await?;
    Ok(Json(placed(&admin, rule).await?))
}

/// Validates a rule.
fn check(rule: &RuleEntry) -> Result<(), Problem> {
    if rule.name.as_deref().unwrap_or_default().trim().is_empty() {
        return Err(Problem::unfit(RULE_NAME));
    }
    rules::check(rule).map_err(|problem| invalid(&problem))
}

fn invalid(problem: &anyhow::Error) -> Problem {
    Problem::unfit(ProblemText::with(INVALID_RULE, format!("{problem:#}")))
}

/// Returns whether the rule was stored; it is not if its name is taken.
pub async fn put(
    admin: &Admin,
    caller: &Caller,
    rule: &RuleEntry,
    how: ImportMode,
) -> Result<bool, Problem> {
    check(rule)?;
    let now = admin.gateway.clock.now();
    Ok(rules::put(&admin.gateway.store, rule.clone(), how, &caller.id, now).await?)
}

/// Delete a rule
#[utoipa::path(delete, path = "/guard/rules/{name}", tag = "guard",
    params(("name" = String, Path)), responses((status = 204)),
    extensions(("x-role" = json!("owner"))))]
async fn remove(
    State(admin): State<Arc<Admin>>,
    caller: Caller,
    PathNames(name): PathNames<String>,
) -> Result<StatusCode, Problem> {
    take_out(&admin, &caller, name).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub async fn take_out(admin: &Admin, caller: &Caller, name: String) -> Result<(), Problem> {
    let now = admin.gateway.clock.now();
    let removed = rules::remove(&admin.gateway.store, name, &caller.id, now).await?;
    removed.then_some(()).ok_or_else(|| none(|page| page.problems.missing.rule))
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum Form {
    #[default]
    Json,
    Toml,
}

#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct ExportQuery {
    #[serde(default)]
    #[param(inline)]
    format: Form,
}

/// Export all rules of the database as one document
#[utoipa::path(get, path = "/guard/export", tag = "guard", params(ExportQuery),
    responses((status = 200, content((RuleDocument = "application/json"), (String = "application/toml")))),
    extensions(("x-role" = json!("operator"))))]
async fn export(
    State(admin): State<Arc<Admin>>,
    Params(query): Params<ExportQuery>,
) -> Result<Response, Problem> {
    let (_, document) = rules::export(&admin.gateway.store).await?;
    if query.format == Form::Json {
        return Ok(Json(document).into_response());
    }
    let text = toml::to_string_pretty(&document).map_err(anyhow::Error::from)?;
    Ok(([(CONTENT_TYPE, "application/toml")], text).into_response())
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct ImportBody {
    /// The format of the text; yaml is the format of MateClaw
    format: ImportFormat,
    text: String,
    /// Replace all existing rules instead of adding to them
    #[serde(default)]
    replace: bool,
}

/// The result of an import.
#[derive(Debug, Serialize, ToSchema)]
struct Imported {
    rules: usize,
    /// Settings that were not imported, and rules that match no current tool
    notes: Vec<String>,
}

/// Import a document of rules, completely or not at all
#[utoipa::path(post, path = "/guard/import", tag = "guard", request_body = ImportBody,
    responses((status = 200, body = Imported)), extensions(("x-role" = json!("owner"))))]
async fn import(
    State(admin): State<Arc<Admin>>,
    caller: Caller,
    Body(body): Body<ImportBody>,
) -> Result<Json<Imported>, Problem> {
    let tools = rules::tool_names(&admin.worker);
    let read = rules::read(body.format, &body.text, &tools).map_err(|problem| invalid(&problem))?;
    let now = admin.gateway.clock.now();
    let store = &admin.gateway.store;
    let rules = rules::import_rules(store, read.document, body.replace, &caller.id, now).await?;
    Ok(Json(Imported { rules, notes: read.notes }))
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TestBody {
    pub tool: String,
    #[schema(value_type = Object)]
    pub arguments: Value,
    /// The id of an agent
    #[serde(default = "default_agent")]
    #[schema(default = "default")]
    pub agent: String,
    #[serde(default)]
    pub channel: String,
    /// The requester's id on their platform
    #[serde(default)]
    pub person: String,
    /// The requester's role
    pub role: Option<Role>,
    /// Whether to assume that the conversation contains untrusted content
    #[serde(default)]
    pub tainted: bool,
}

fn default_agent() -> String {
    "default".to_owned()
}

/// Show what the guard would do with a call, and why; nothing runs
#[utoipa::path(post, path = "/guard/test", tag = "guard", request_body = TestBody,
    responses((status = 200, body = Explained)), extensions(("x-role" = json!("operator"))))]
async fn test(
    State(admin): State<Arc<Admin>>,
    Body(body): Body<TestBody>,
) -> Result<Json<Explained>, Problem> {
    explained(&admin, body).await.map(Json)
}

/// What the guard would do with the call.
pub async fn explained(admin: &Admin, body: TestBody) -> Result<Explained, Problem> {
    explain(admin, body, None).await
}

/// What the guard would do if the rule were saved, in place of the rule named `replaces`.
pub async fn explained_with(
    admin: &Admin,
    body: TestBody,
    replaces: &str,
    rule: RuleEntry,
) -> Result<Explained, Problem> {
    // The name does not matter for a test.
    let named = RuleEntry { name: Some("editor".to_owned()), ..rule.clone() };
    check(&named)?;
    explain(admin, body, Some(DraftRule { replaces: replaces.to_owned(), rule })).await
}

async fn explain(
    admin: &Admin,
    body: TestBody,
    draft: Option<DraftRule>,
) -> Result<Explained, Problem> {
    let TestBody { tool, arguments, agent, channel, person, role, tainted } = body;
    if !admin.worker.has_agent(&agent) {
        return Err(Problem::unfit(ProblemText::with(UNKNOWN_AGENT, agent)));
    }
    let hypothetical =
        HypotheticalCall { tool, arguments, agent, channel, person, role, tainted, draft };
    Ok(rules::explain(&admin.worker, hypothetical).await?)
}
