//! Installed skills: what they come from, what the scan finds in them, trusting and removing them.

use anyhow::{Context as _, Result};
use axum::{
    extract::Path,
    response::{Redirect, Response},
};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::{
    collections::BTreeMap,
    path::{self, PathBuf},
};

use super::page::{PageContext, Sent, back};
use crate::{
    admin::{
        Admin,
        api::parts::none,
        problem::{Problem, SKILL_CHANGED},
    },
    store::audit::AuditKind,
    tools::skills::{folder, package::Package, scan},
};

/// The most findings that are shown for a skill.
const FINDINGS: usize = 20;

/// An installed skill.
#[derive(Serialize)]
struct InstalledView {
    /// The position of its folder in the list of folders.
    folder: usize,
    name: String,
    description: String,
    /// Absent for a skill that was not installed from elsewhere.
    source: Option<String>,
    trusted: bool,
    disabled: bool,
    agents: Vec<String>,
    warnings: Vec<String>,
    findings: Vec<FindingView>,
    /// The digest of its files, so that only what was shown is trusted.
    state: String,
}

#[derive(Serialize)]
struct FindingView {
    severe: bool,
    place: String,
    what: String,
}

/// The distinct folders with skills, each with the agents that use it.
fn folders(admin: &Admin) -> Vec<(PathBuf, Vec<String>)> {
    let mut folders: BTreeMap<PathBuf, Vec<String>> = BTreeMap::new();
    for (agent, folder) in &admin.skill_folders {
        folders.entry(folder.clone()).or_default().push(agent.clone());
    }
    folders.into_iter().collect()
}

pub async fn index(context: PageContext) -> Result<Response, Problem> {
    let folders = folders(&context.admin);
    let listed = tokio::task::spawn_blocking(move || {
        let all = folders.iter().enumerate();
        all.flat_map(|(number, (path, agents))| installed(number, path, agents)).collect::<Vec<_>>()
    });
    let skills = listed.await.context("listing the skills")?;
    context.page("skills.html", json!({ "skills": skills })).await
}

fn installed(number: usize, path: &path::Path, agents: &[String]) -> Vec<InstalledView> {
    let view = |one: folder::InstalledSkill| {
        let place = folder::find(path, &one.skill.name).ok()?;
        let findings = Package::of_folder(&place).map(|package| scan::scan(&package));
        let finding = |finding: scan::Finding| FindingView {
            severe: finding.severe,
            place: match finding.line {
                Some(line) => format!("{}:{line}", finding.file),
                None => finding.file,
            },
            what: finding.what,
        };
        Some(InstalledView {
            folder: number,
            trusted: !one.skill.untrusted,
            disabled: one.is_disabled(),
            name: one.skill.name,
            description: one.skill.description,
            source: one.origin.map(|origin| origin.source),
            agents: agents.to_vec(),
            warnings: one.warnings,
            findings: findings
                .unwrap_or_default()
                .into_iter()
                .take(FINDINGS)
                .map(finding)
                .collect(),
            state: folder::state_of(&place),
        })
    };
    folder::all_with_disabled(path).into_iter().filter_map(view).collect()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum SkillAction {
    Trust,
    Remove,
}

#[derive(Deserialize)]
pub struct SkillForm {
    then: SkillAction,
    folder: usize,
    state: String,
}

/// Trusts or removes a skill, unless it has changed since it was shown.
pub async fn change(
    context: PageContext,
    Path(name): Path<String>,
    Sent(form): Sent<SkillForm>,
) -> Result<Redirect, Problem> {
    let (path, _) = folders(&context.admin)
        .into_iter()
        .nth(form.folder)
        .ok_or_else(|| none(|page| page.problems.missing.skill))?;
    let (kind, done) = match form.then {
        SkillAction::Trust => (AuditKind::SkillTrusted, "set"),
        SkillAction::Remove => (AuditKind::SkillRemoved, "removed"),
    };
    let fact = context.caller.did(kind).with("skill", name.as_str());
    let changed = tokio::task::spawn_blocking(move || apply(&path, &name, &form));
    match changed.await.context("changing a skill")?? {
        SkillChanged::Done => {}
        SkillChanged::Missing => return Err(none(|page| page.problems.missing.skill)),
        SkillChanged::Other => return Err(Problem::conflict(SKILL_CHANGED)),
    }
    let (store, now) = (&context.admin.gateway.store, context.admin.gateway.clock.now());
    store.note(fact, now).await?;
    Ok(back("skills", done))
}

/// The result of a change.
enum SkillChanged {
    Done,
    Missing,
    Other,
}

fn apply(path: &path::Path, name: &str, form: &SkillForm) -> Result<SkillChanged> {
    let lock = folder::lock(path)?;
    let Ok(place) = folder::find(path, name) else { return Ok(SkillChanged::Missing) };
    if folder::state_of(&place) != form.state {
        return Ok(SkillChanged::Other);
    }
    match form.then {
        SkillAction::Trust => folder::trust(&lock, name)?,
        SkillAction::Remove => folder::remove(&lock, name)?,
    }
    Ok(SkillChanged::Done)
}
