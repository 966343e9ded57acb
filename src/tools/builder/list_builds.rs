//! `list_builds`: the builds of this conversation, and the code of one of them.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{
    build_software::summary,
    records::{BuildRecord, BuildRecords, BuildState},
    result::BuildResult,
};
use crate::{
    agent::catalog::{Tier, ToolSpec},
    journal::ids::ConversationId,
    tools::{
        Context, Output, Tool, ToolError,
        contract::{
            arguments::{parse, schema},
            blocking,
        },
    },
};

/// `list_builds`
pub struct ListBuilds {
    pub records: BuildRecords,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// The id of a build, to read its code and test results.
    #[serde(default)]
    build: Option<String>,
}

#[async_trait]
impl Tool for ListBuilds {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            tier: Tier::Extension,
            ..ToolSpec::read_only(
                "list_builds",
                "Lists the software builds of this conversation, or shows one with its code and \
                    test results.",
                schema::<Arguments>(),
            )
        }
    }

    async fn run(&self, arguments: Value, context: &Context) -> Result<Output, ToolError> {
        let Arguments { build } = parse(arguments)?;
        if let Some(id) = build {
            let (record, state) = found(&self.records, &context.conversation, id).await?;
            let review = record.result.as_ref().map(BuildResult::review).unwrap_or_default();
            return Ok(Output::text(format!("{}\n{review}", line(&record, state))));
        }
        let (records, conversation) = (self.records.clone(), context.conversation.clone());
        let all = blocking(move || records.all(&conversation)).await?;
        if all.is_empty() {
            return Ok(Output::text("There are no builds in this conversation."));
        }
        let lines: Vec<_> = all.iter().map(|(record, state)| line(record, *state)).collect();
        Ok(Output::text(lines.join("\n")))
    }
}

/// The build with that id.
pub(super) async fn found(
    records: &BuildRecords,
    conversation: &ConversationId,
    id: String,
) -> Result<(BuildRecord, BuildState), ToolError> {
    let (records, conversation, wanted) = (records.clone(), conversation.clone(), id.clone());
    let found = blocking(move || records.find(&conversation, &wanted)).await?;
    found.ok_or_else(|| {
        ToolError::NotFound(format!(
            "this conversation has no build {id:?}: list_builds shows the ids"
        ))
    })
}

fn line(record: &BuildRecord, state: BuildState) -> String {
    let BuildRecord { id, requirement, result, began_at, .. } = record;
    let began = began_at.format("%F %H:%M UTC");
    match (state, result) {
        (BuildState::Works | BuildState::Fails, Some(result)) => summary(id, result),
        (BuildState::Running, _) => {
            format!("Build {id}: {} is running since {began}.", requirement.name)
        }
        (_, Some(result)) => format!(
            "Build {id}: {} was interrupted after {} rounds (began {began}), with {} of {} test \
                cases passed. It cannot be installed: build it again.",
            requirement.name,
            result.info.rounds,
            result.passed(),
            requirement.test_cases.len()
        ),
        (_, None) => format!(
            "Build {id}: {} was interrupted before its first round ended (began {began}). Build it \
                again.",
            requirement.name
        ),
    }
}
