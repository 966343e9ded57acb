//! `install_software`: installs software that was built as a skill, after a person has reviewed the
//! code and approved it.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use std::path::{Path, PathBuf};

use super::{
    list_builds::found,
    package,
    records::{BuildRecord, BuildRecords, BuildState},
    result::BuildResult,
};
use crate::{
    agent::{
        catalog::{ApprovalMode, EffectClass, Subject, Tier, ToolSpec},
        policy::FileDigests,
    },
    texts::{PreviewNote, preview::Preview},
    tools::{
        Context, Output, Tool, ToolError,
        contract::{
            arguments::{parse, schema},
            blocking,
        },
        files::diff,
        skills::{self, Folders, folder, package::Package},
    },
};

/// `install_software`
pub struct InstallSoftware {
    pub records: BuildRecords,
    pub folders: Folders,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// The id of the build.
    build: String,
}

/// Software that works, as a skill, and where it would be installed.
struct Proposal {
    record: BuildRecord,
    package: Package,
    folder: PathBuf,
}

#[async_trait]
impl Tool for InstallSoftware {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            effect: EffectClass::AtMostOnce,
            tier: Tier::Extension,
            approval: ApprovalMode::Always,
            subject: Some(Subject::Text("build")),
            ..ToolSpec::read_only(
                "install_software",
                "Installs software of build_software as a skill, after a person has reviewed its \
                    code. Later conversations load it with load_skill and run it with \
                    run_skill_script.",
                schema::<Arguments>(),
            )
        }
    }

    /// All code that would be installed, with the test results.
    async fn preview(&self, arguments: &Value, context: &Context) -> Option<Preview> {
        let Arguments { build } = parse(arguments.clone()).ok()?;
        let proposal = match self.proposal(build, context).await {
            Ok(proposal) => proposal,
            Err(problem) => return Some(Preview::failure(problem)),
        };
        let Proposal { record: BuildRecord { requirement, result, .. }, folder, .. } = &proposal;
        let review = result.as_ref().map(BuildResult::review).unwrap_or_default();
        let is_there = folder.join(&requirement.name).exists();
        let note = PreviewNote::InstallsSkill { name: requirement.name.clone(), is_there };
        Some(diff::created(&review).after(note))
    }

    /// The code as it was shown, and the skill that it would replace.
    async fn bound(&self, arguments: &Value, context: &Context) -> Result<FileDigests, ToolError> {
        let Arguments { build } = parse(arguments.clone())?;
        self.proposal(build, context).await.map(|proposal| proposal.state())
    }

    async fn run(&self, arguments: Value, context: &Context) -> Result<Output, ToolError> {
        let Arguments { build } = parse(arguments)?;
        let proposal = self.proposal(build, context).await?;
        let expected = context.approved.clone();
        let install = move || install(&proposal, expected.as_ref());
        blocking(install).await?.map(Output::text).map_err(ToolError::ExecutionFailed)
    }
}

impl InstallSoftware {
    async fn proposal(&self, id: String, context: &Context) -> Result<Proposal, ToolError> {
        let folder = skills::of(&self.folders, context)?.clone();
        let (record, state) = found(&self.records, &context.conversation, id).await?;
        let failed = |why: String| Err(ToolError::ExecutionFailed(why));
        let (BuildState::Works, Some(result)) = (state, &record.result) else {
            return failed(format!(
                "The build {} cannot be installed: not all of its test cases passed",
                record.id
            ));
        };
        if folder::is_own(&folder.join(&record.requirement.name))
            && folder.join(&record.requirement.name).exists()
        {
            return failed(format!(
                "`{}` is a skill of the operator and cannot be replaced: build it under another name",
                record.requirement.name
            ));
        }
        let package = package::skill(&record.requirement, result);
        let package = package.map_err(ToolError::ExecutionFailed)?;
        Ok(Proposal { record, package, folder })
    }
}

impl Proposal {
    /// What an approval is bound to.
    fn state(&self) -> FileDigests {
        let name = &self.record.requirement.name;
        FileDigests::from([
            (format!("build:{}", self.record.id), folder::digest(&self.package)),
            (format!("skill:{name}"), skill_state(&self.folder, name)),
        ])
    }
}

fn skill_state(folder: &Path, name: &str) -> String {
    let place = folder.join(name);
    if place.exists() { folder::state_of(&place) } else { String::new() }
}

/// Installs it, if everything is as it was approved.
fn install(proposal: &Proposal, expected: Option<&FileDigests>) -> Result<String, String> {
    let name = &proposal.record.requirement.name;
    let describe = |problem: anyhow::Error| format!("{problem:#}");
    let lock = folder::lock(&proposal.folder).map_err(describe)?;
    let state = proposal.state();
    let is_approved =
        |expected: &FileDigests| state.iter().all(|(key, state)| expected.get(key) == Some(state));
    if !expected.is_none_or(is_approved) {
        return Err(format!(
            "The build or the skill `{name}` has changed since this call was approved: make a new \
                call if it is still right."
        ));
    }
    let source = format!("build {}", proposal.record.id);
    folder::put(&lock, name, &proposal.package, &source).map_err(describe)?;
    Ok(format!(
        "Installed as the skill `{name}`. It is listed within ten seconds; its SKILL.md says how to \
            run it."
    ))
}
