//! Guard rules of the database, and a form to test the guard.

use axum::{
    extract::Path,
    response::{IntoResponse as _, Redirect, Response},
};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::collections::BTreeMap;

use super::page::{self, PageContext, Sent, back};
use crate::{
    admin::{
        api::{
            parts::{Params, none},
            rules::{TestBody, add as add_rule, explained, put, take_out},
        },
        problem::Problem,
        rules::{Explained, Put, export, shipped_names},
    },
    agent::{
        policy::{Action, Severity},
        rules::{RuleEntry, shadowing},
    },
    journal::role::Role,
};

/// A call to test, from the query string; an empty tool tests nothing.
#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub struct TestedCall {
    tool: String,
    arguments: String,
    agent: String,
    role: String,
    tainted: bool,
}

impl TestedCall {
    fn body(&self) -> Result<TestBody, Problem> {
        let arguments = if self.arguments.trim().is_empty() { "{}" } else { &self.arguments };
        let arguments = serde_json::from_str(arguments).map_err(|problem| {
            Problem::unfit(format!("The arguments are not valid JSON: {problem}."))
        })?;
        Ok(TestBody {
            tool: self.tool.trim().to_owned(),
            arguments,
            agent: self.agent.clone(),
            channel: String::new(),
            person: String::new(),
            role: Role::parse(&self.role),
            tainted: self.tainted,
        })
    }
}

pub async fn index(
    context: PageContext,
    Params(tried): Params<TestedCall>,
) -> Result<Response, Problem> {
    shown(&context, tried, Rejected::default()).await
}

/// A form that was not accepted, with what was typed.
#[derive(Default)]
struct Rejected {
    fault: Option<String>,
    typed: NewRule,
}

async fn shown(
    context: &PageContext,
    tried: TestedCall,
    rejected: Rejected,
) -> Result<Response, Problem> {
    let mut explanation: Option<Explained> = None;
    let mut fault = None;
    if !tried.tool.is_empty() {
        match tried.body() {
            Ok(body) => explanation = Some(explained(&context.admin, body).await?),
            Err(problem) => fault = Some(problem.detail(crate::texts::Language::default())),
        }
    }
    let (_, document) = export(&context.admin.gateway.store).await?;
    let shadowed: BTreeMap<_, _> = document
        .rules
        .iter()
        .filter_map(|rule| rule.name.as_deref())
        .map(|name| (name, shadowing(&document.rules, name)))
        .collect();
    let values = json!({
        "rules": document.rules,
        "shadowed": shadowed,
        "warnings": context.admin.worker.policy_warnings().await?,
        "shipped": shipped_names(),
        "agents": context.admin.worker.agent_ids(),
        "tried": tried,
        "explanation": explanation.as_ref().map(ToString::to_string),
        "does": explanation.map(|explained| explained.does),
        "fault": fault,
        "rejected": rejected.fault,
        "typed": rejected.typed,
    });
    context.page("rules.html", values).await
}

#[derive(Debug, Clone, Deserialize, Serialize)]
pub struct NewRule {
    name: String,
    tool: String,
    #[serde(default)]
    arg_pattern: String,
    /// Programs, separated by spaces
    #[serde(default)]
    command: String,
    severity: Severity,
    action: Action,
}

impl Default for NewRule {
    fn default() -> Self {
        Self {
            name: String::new(),
            tool: String::new(),
            arg_pattern: String::new(),
            command: String::new(),
            severity: Severity::Medium,
            action: Action::Ask,
        }
    }
}

impl NewRule {
    fn entry(&self) -> RuleEntry {
        RuleEntry {
            name: Some(self.name.trim().to_owned()),
            arg_pattern: Some(self.arg_pattern.clone()).filter(|pattern| !pattern.is_empty()),
            command: self.command.split_whitespace().map(str::to_owned).collect(),
            severity: self.severity,
            ..RuleEntry::of(self.tool.trim(), self.action)
        }
    }
}

/// A rule that is not accepted is shown again, with the reason.
pub async fn add(context: PageContext, Sent(new): Sent<NewRule>) -> Result<Response, Problem> {
    match add_rule(&context.admin, &context.caller, &new.entry()).await {
        Ok(()) => Ok(back("rules", "added").into_response()),
        Err(problem) => {
            let fault = Some(page::mistake(problem.clone())?);
            let shown =
                shown(&context, TestedCall::default(), Rejected { fault, typed: new }).await?;
            Ok((problem.status(), shown).into_response())
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum RuleSwitch {
    On,
    Off,
    Remove,
}

#[derive(Deserialize)]
pub struct RulesQuery {
    then: RuleSwitch,
}

pub async fn change(
    context: PageContext,
    Path(name): Path<String>,
    Sent(changed): Sent<RulesQuery>,
) -> Result<Redirect, Problem> {
    if changed.then == RuleSwitch::Remove {
        take_out(&context.admin, &context.caller, name).await?;
        return Ok(back("rules", "removed"));
    }
    let (_, document) = export(&context.admin.gateway.store).await?;
    let found = document.rules.into_iter().find(|rule| rule.name.as_ref() == Some(&name));
    let mut rule = found.ok_or_else(|| none("rule"))?;
    rule.enabled = changed.then == RuleSwitch::On;
    put(&context.admin, &context.caller, &rule, Put::Any).await?;
    Ok(back("rules", "changed"))
}
