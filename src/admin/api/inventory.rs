//! Agents, models, skills, hooks, channels and usage.

use anyhow::Result;
use axum::{Json, extract::State};
use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, sync::Arc};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{
    caller::Caller,
    parts::{Page, Params, Slice, sorted},
};
use crate::{
    admin::{Admin, problem::Problem},
    journal::role::Role,
    store::{
        channels::{ChannelState, ChannelStatus},
        lists::outbox::{ChannelTraffic, traffic},
        usage::{self, AccountLine, UsageKind},
    },
};

pub fn routes() -> OpenApiRouter<Arc<Admin>> {
    OpenApiRouter::new()
        .routes(routes!(agents))
        .routes(routes!(models))
        .routes(routes!(skills))
        .routes(routes!(hooks))
        .routes(routes!(channels))
        .routes(routes!(used))
}

/// An agent.
#[derive(Debug, Serialize, ToSchema)]
pub struct AgentView {
    pub id: String,
    /// The id of its model
    pub model: String,
    pub system_prompt: String,
    /// The names of its current tools
    pub tools: Vec<String>,
    pub skills: Vec<String>,
}

pub async fn all_agents(admin: &Admin) -> Result<Vec<AgentView>> {
    let mut views = Vec::new();
    for id in admin.worker.agent_ids() {
        let agent = admin.worker.agent(&id).await?;
        views.push(AgentView {
            model: agent.model.clone(),
            system_prompt: admin.redactor().text(&agent.system_prompt).into_owned(),
            tools: agent.catalog.names().map(str::to_owned).collect(),
            skills: agent.catalog.skills().iter().map(|skill| skill.name.clone()).collect(),
            id,
        });
    }
    Ok(views)
}

/// A configured language model.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct ModelView {
    pub id: String,
    pub provider: String,
    /// The provider's name for the model
    pub model: String,
    /// The models to use if this one does not answer
    pub fallback: Vec<String>,
    /// Per million tokens
    pub input_price: f64,
    pub output_price: f64,
}

pub fn all_models(admin: &Admin) -> Result<Vec<ModelView>> {
    admin.section("models")
}

/// A skill that agents load when they need it.
#[derive(Debug, Serialize, ToSchema)]
pub struct SkillView {
    pub name: String,
    pub description: String,
    /// The agents that can use it
    pub agents: Vec<String>,
    pub files: Vec<String>,
}

pub async fn all_skills(admin: &Admin) -> Result<Vec<SkillView>> {
    let mut skills: BTreeMap<String, SkillView> = BTreeMap::new();
    for id in admin.worker.agent_ids() {
        let agent = admin.worker.agent(&id).await?;
        for skill in agent.catalog.skills() {
            let view = skills.entry(skill.name.clone()).or_insert_with(|| SkillView {
                name: skill.name.clone(),
                description: skill.description.clone(),
                agents: Vec::new(),
                files: skill.files.keys().cloned().collect(),
            });
            view.agents.push(id.clone());
        }
    }
    Ok(skills.into_values().collect())
}

/// A hook.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct HookView {
    pub name: String,
    pub on: String,
    #[serde(rename = "do")]
    pub act: String,
    pub tool: Option<String>,
}

pub fn all_hooks(admin: &Admin) -> Result<Vec<HookView>> {
    admin.section("hooks")
}

/// A channel and its state.
#[derive(Debug, Serialize, ToSchema)]
pub struct ChannelView {
    pub id: String,
    pub kind: String,
    pub agent: String,
    /// Whether it connects to a platform
    pub connects: bool,
    /// Whether it is connected now; the same as `state` being `connected`
    pub listening: bool,
    pub state: StatusView,
    /// Since when it is connected, or cannot connect
    pub since: Option<DateTime<Utc>>,
    /// The last problem and when it occurred, for operators; it may be over
    pub problem: Option<String>,
    pub problem_at: Option<DateTime<Utc>>,
    /// The number of waiting messages, and since when the oldest one waits
    pub waiting: i64,
    pub waiting_since: Option<DateTime<Utc>>,
    /// The number of dead letters
    pub given_up: i64,
}

/// Whether a channel is connected to its platform.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum StatusView {
    Connected,
    /// A node has begun to connect
    Connecting,
    /// The last attempt failed, or no node listens
    Disconnected,
}

impl From<ChannelStatus> for StatusView {
    fn from(status: ChannelStatus) -> Self {
        match status {
            ChannelStatus::Connected => Self::Connected,
            ChannelStatus::Connecting => Self::Connecting,
            ChannelStatus::Disconnected => Self::Disconnected,
        }
    }
}

#[derive(Debug, Deserialize)]
struct Configured {
    id: String,
    kind: String,
}

/// The channels as a person with this role sees them.
pub async fn all_channels(admin: &Admin, role: Role) -> Result<Vec<ChannelView>> {
    let store = &admin.gateway.store;
    let traffic = store.read(|tx| Box::pin(async move { traffic(tx).await })).await?;
    let states = admin.gateway.channel_states().await?;
    let configured: Vec<Configured> = admin.section("channels")?;
    let kinds: BTreeMap<_, _> = configured.into_iter().map(|c| (c.id, c.kind)).collect();
    let view = |(id, connected): (&String, &crate::gateway::Connected)| {
        let ChannelTraffic { waiting, since: waiting_since, given_up } =
            traffic.get(id).cloned().unwrap_or_default();
        let ChannelState { status, since, problem, .. } =
            states.get(id).cloned().unwrap_or_default();
        let problem = problem.filter(|_| role >= Role::Operator);
        ChannelView {
            id: id.clone(),
            kind: kinds.get(id).cloned().unwrap_or_default(),
            agent: connected.agent.clone(),
            connects: connected.alone,
            listening: status == ChannelStatus::Connected,
            state: status.into(),
            since,
            problem_at: problem.as_ref().map(|problem| problem.at),
            problem: problem.map(|problem| admin.redactor().text(&problem.text).into_owned()),
            waiting,
            waiting_since,
            given_up,
        }
    };
    Ok(admin.gateway.channels.iter().map(view).collect())
}

/// A person's usage on one day.
#[derive(Debug, Serialize, ToSchema)]
pub struct UsageView {
    /// In UTC
    pub day: String,
    /// The id of the agent; empty for usage counted by an older version
    pub agent: String,
    /// channel/id
    pub person: String,
    pub kind: UsageKind,
    pub name: String,
    pub times: i64,
    pub input_tokens: u64,
    pub output_tokens: u64,
    pub cached_tokens: u64,
    /// In millionths of your currency
    pub cost_micros: i64,
    pub took_ms: i64,
}

impl From<AccountLine> for UsageView {
    fn from(line: AccountLine) -> Self {
        Self {
            day: line.day,
            agent: line.agent,
            person: line.person,
            kind: line.kind,
            name: line.name,
            times: line.times,
            input_tokens: line.usage.input_tokens,
            output_tokens: line.usage.output_tokens,
            cached_tokens: line.usage.cached_tokens,
            cost_micros: line.cost_micros,
            took_ms: line.took_ms,
        }
    }
}

/// The account of the last days, including today.
pub async fn account(admin: &Admin, days: i64) -> Result<Vec<UsageView>> {
    let since = admin.gateway.clock.now() - TimeDelta::days(days - 1);
    let store = &admin.gateway.store;
    let lines =
        store.read(move |tx| Box::pin(async move { usage::account(tx, since).await })).await?;
    Ok(lines.into_iter().map(Into::into).collect())
}

fn key(line: &UsageView) -> String {
    [&line.day[..], &line.agent, &line.person, line.kind.as_str(), &line.name].join("\u{1}")
}

/// List agents with their current tools
#[utoipa::path(get, path = "/agents", tag = "inventory", params(Slice),
    responses((status = 200, body = Page<AgentView>)), extensions(("x-role" = json!("viewer"))))]
async fn agents(
    State(admin): State<Arc<Admin>>,
    Params(slice): Params<Slice>,
) -> Result<Json<Page<AgentView>>, Problem> {
    Ok(Json(sorted(all_agents(&admin).await?, &slice.page_request()?, |agent| agent.id.clone())))
}

/// List models
#[utoipa::path(get, path = "/models", tag = "inventory", params(Slice),
    responses((status = 200, body = Page<ModelView>)), extensions(("x-role" = json!("viewer"))))]
async fn models(
    State(admin): State<Arc<Admin>>,
    Params(slice): Params<Slice>,
) -> Result<Json<Page<ModelView>>, Problem> {
    Ok(Json(sorted(all_models(&admin)?, &slice.page_request()?, |model| model.id.clone())))
}

/// List skills
#[utoipa::path(get, path = "/skills", tag = "inventory", params(Slice),
    responses((status = 200, body = Page<SkillView>)), extensions(("x-role" = json!("viewer"))))]
async fn skills(
    State(admin): State<Arc<Admin>>,
    Params(slice): Params<Slice>,
) -> Result<Json<Page<SkillView>>, Problem> {
    Ok(Json(sorted(all_skills(&admin).await?, &slice.page_request()?, |skill| skill.name.clone())))
}

/// List hooks
#[utoipa::path(get, path = "/hooks", tag = "inventory", params(Slice),
    responses((status = 200, body = Page<HookView>)), extensions(("x-role" = json!("viewer"))))]
async fn hooks(
    State(admin): State<Arc<Admin>>,
    Params(slice): Params<Slice>,
) -> Result<Json<Page<HookView>>, Problem> {
    Ok(Json(sorted(all_hooks(&admin)?, &slice.page_request()?, |hook| {
        format!("{} {} {}", hook.name, hook.on, hook.act)
    })))
}

/// List channels and their state
#[utoipa::path(get, path = "/channels", tag = "inventory", params(Slice),
    responses((status = 200, body = Page<ChannelView>)), extensions(("x-role" = json!("viewer"))))]
async fn channels(
    State(admin): State<Arc<Admin>>,
    caller: Caller,
    Params(slice): Params<Slice>,
) -> Result<Json<Page<ChannelView>>, Problem> {
    let channels = all_channels(&admin, caller.role).await?;
    Ok(Json(sorted(channels, &slice.page_request()?, |channel| channel.id.clone())))
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct Days {
    /// The number of days, including today
    #[serde(default = "month")]
    #[param(minimum = 1, maximum = 3660, default = 30)]
    days: i64,
}

fn month() -> i64 {
    30
}

/// List usage and cost by day, agent, person and model or tool
#[utoipa::path(get, path = "/usage", tag = "usage", params(Days, Slice),
    responses((status = 200, body = Page<UsageView>)),
    extensions(("x-role" = json!("operator"))))]
async fn used(
    State(admin): State<Arc<Admin>>,
    Params(Days { days }): Params<Days>,
    Params(slice): Params<Slice>,
) -> Result<Json<Page<UsageView>>, Problem> {
    if !(1..=3660).contains(&days) {
        let text = "days must be a number from 1 to 3660.";
        return Err(Problem::new(axum::http::StatusCode::BAD_REQUEST, text));
    }
    let page_request = slice.page_request()?;
    Ok(Json(sorted(account(&admin, days).await?, &page_request, key)))
}
