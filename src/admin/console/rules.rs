//! Guard rules: the list, the editor, and a form to test the guard.

use axum::{
    extract::Path,
    response::{IntoResponse as _, Redirect, Response},
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;

use super::{
    page::{self, PageContext, Sent, back},
    rule_form::RuleForm,
};
use crate::{
    admin::{
        Admin,
        api::{
            parts::{Params, none},
            rules::{TestBody, add as add_rule, explained, explained_with, put, take_out},
        },
        problem::{INVALID_ARGUMENTS, Problem, ProblemText},
        rules::{Explained, ImportMode, export, shipped_names, tool_names},
    },
    agent::rules::{RuleEntry, shadowing, unmatched},
    journal::role::Role,
    texts::Language,
};

/// A call to test, from the query string or the editor; an empty tool tests nothing.
#[derive(Debug, Default, Clone, Deserialize, Serialize)]
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
            Problem::unfit(ProblemText::with(INVALID_ARGUMENTS, problem.to_string()))
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

#[derive(Default, Deserialize)]
#[serde(default)]
pub struct RulesQuery {
    /// The name of the rule to edit
    edit: String,
}

pub async fn index(
    context: PageContext,
    Params(tried): Params<TestedCall>,
    Params(query): Params<RulesQuery>,
) -> Result<Response, Problem> {
    let mut shown = RulesView { tried, ..RulesView::default() };
    if !query.edit.is_empty() {
        let rule = find(&context.admin, &query.edit).await?;
        shown.form = RuleForm::of(&rule);
    }
    if !shown.tried.tool.is_empty() {
        let explained = match shown.tried.body() {
            Ok(body) => explained(&context.admin, body).await,
            Err(problem) => Err(problem),
        };
        shown.explain(explained, context.language)?;
    }
    page(&context, shown).await
}

/// What the page shows besides the rules.
#[derive(Default)]
struct RulesView {
    tried: TestedCall,
    explanation: Option<Explained>,
    /// What is wrong with the tested call.
    fault: Option<String>,
    form: RuleForm,
    /// What is wrong with the rule in the editor.
    rejected: Option<String>,
    /// Whether the test is of the rule in the editor.
    is_draft: bool,
}

impl RulesView {
    fn explain(
        &mut self,
        explained: Result<Explained, Problem>,
        language: Language,
    ) -> Result<(), Problem> {
        match explained {
            Ok(explained) => self.explanation = Some(explained),
            Err(problem) => self.fault = Some(page::form_error(problem, language)?),
        }
        Ok(())
    }
}

async fn find(admin: &Admin, name: &str) -> Result<RuleEntry, Problem> {
    let (_, document) = export(&admin.gateway.store).await?;
    let found = document.rules.into_iter().find(|rule| rule.name.as_deref() == Some(name));
    found.ok_or_else(|| none(|page| page.problems.missing.rule))
}

async fn page(context: &PageContext, shown: RulesView) -> Result<Response, Problem> {
    let admin = &context.admin;
    let (_, document) = export(&admin.gateway.store).await?;
    let shadowed: BTreeMap<_, _> = document
        .rules
        .iter()
        .filter_map(|rule| rule.name.as_deref())
        .map(|name| (name, shadowing(&document.rules, name)))
        .collect();
    let channels: Vec<_> = admin.gateway.channels.keys().collect();
    let RulesView { tried, explanation, fault, form, rejected, is_draft } = shown;
    let values = json!({
        "rules": document.rules,
        "shadowed": shadowed,
        "unmatched": unmatched(&document.rules, &tool_names(&admin.worker)),
        "warnings": admin.worker.policy_warnings().await?,
        "configured": admin.configured.pointer("/guard/rules").cloned().unwrap_or(json!([])),
        "shipped": shipped_names(),
        "agents": admin.worker.agent_ids(),
        "channels": channels,
        "tools": tools(admin),
        "tried": tried,
        "explanation": explanation.as_ref().map(ToString::to_string),
        "does": explanation.map(|explained| explained.does),
        "fault": fault,
        "rejected": rejected,
        "draft": is_draft,
        "form": form,
    });
    context.page("rules.html", values).await
}

/// The tools that a rule can be about, each with the names of its arguments.
fn tools(admin: &Admin) -> Vec<Value> {
    let specs = admin.worker.toolbox.specs();
    let mut fields: BTreeMap<String, Vec<String>> =
        tool_names(&admin.worker).into_iter().map(|name| (name, Vec::new())).collect();
    for spec in specs {
        let properties = spec.parameters.get("properties").and_then(Value::as_object);
        let names = properties.into_iter().flat_map(|map| map.keys().cloned());
        fields.insert(spec.name.clone(), names.collect());
    }
    fields.into_iter().map(|(name, fields)| json!({ "name": name, "fields": fields })).collect()
}

/// What the button of the editor does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum EditorAction {
    #[default]
    Save,
    Test,
}

#[derive(Deserialize)]
struct EditorButton {
    #[serde(default)]
    then: EditorAction,
}

/// Saves or tests the rule in the editor. A rule that is not accepted is shown again, with the
/// reason.
pub async fn save(
    context: PageContext,
    Sent(sent): Sent<BTreeMap<String, String>>,
) -> Result<Response, Problem> {
    let form: RuleForm = page::parsed(&sent)?;
    let EditorButton { then } = page::parsed(&sent)?;
    let entry = form.entry().map_err(Problem::unfit);
    let saved = match (entry, then) {
        (Ok(entry), EditorAction::Test) => return tested(&context, form, entry, &sent).await,
        (Ok(entry), EditorAction::Save) => write(&context, &form, &entry).await,
        (Err(problem), _) => Err(problem),
    };
    let Err(problem) = saved else { return Ok(back("rules", "added").into_response()) };
    let rejected = Some(page::form_error(problem.clone(), context.language)?);
    let shown = page(&context, RulesView { form, rejected, ..RulesView::default() }).await?;
    Ok((problem.status(), shown).into_response())
}

/// A new rule needs a new name. A renamed rule replaces the one that was edited.
async fn write(context: &PageContext, form: &RuleForm, entry: &RuleEntry) -> Result<(), Problem> {
    let (admin, caller) = (&context.admin, &context.caller);
    if form.was.is_empty() {
        return add_rule(admin, caller, entry).await;
    }
    find(admin, &form.was).await?;
    if entry.name.as_deref() == Some(form.was.as_str()) {
        return put(admin, caller, entry, ImportMode::Any).await.map(drop);
    }
    add_rule(admin, caller, entry).await?;
    take_out(admin, caller, form.was.clone()).await
}

/// Shows what the guard would do if the rule were saved.
async fn tested(
    context: &PageContext,
    form: RuleForm,
    entry: RuleEntry,
    sent: &BTreeMap<String, String>,
) -> Result<Response, Problem> {
    let prefixed = sent
        .iter()
        .filter_map(|(key, text)| Some((key.strip_prefix("test_")?.to_owned(), text.clone())));
    let mut tried: TestedCall = page::parsed(&prefixed.collect())?;
    if tried.tool.trim().is_empty() {
        tried.tool.clone_from(&entry.tool);
    }
    let mut shown = RulesView { tried, form, is_draft: true, ..RulesView::default() };
    let explained = match shown.tried.body() {
        Ok(body) => explained_with(&context.admin, body, &shown.form.was, entry).await,
        Err(problem) => Err(problem),
    };
    shown.explain(explained, context.language)?;
    page(context, shown).await
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum RuleSwitch {
    On,
    Off,
    Remove,
}

#[derive(Deserialize)]
pub struct SwitchForm {
    then: RuleSwitch,
}

pub async fn change(
    context: PageContext,
    Path(name): Path<String>,
    Sent(changed): Sent<SwitchForm>,
) -> Result<Redirect, Problem> {
    if changed.then == RuleSwitch::Remove {
        take_out(&context.admin, &context.caller, name).await?;
        return Ok(back("rules", "removed"));
    }
    let mut rule = find(&context.admin, &name).await?;
    rule.enabled = changed.then == RuleSwitch::On;
    put(&context.admin, &context.caller, &rule, ImportMode::Any).await?;
    Ok(back("rules", "changed"))
}
