//! `find_extension`: lists what is installed, and searches the indexes.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use std::{fmt::Write as _, sync::Arc};

use super::{
    ExtensionKind, Extensions, failed, installed::ServerState, registry, skill_index::SkillEntry,
};
use crate::{
    agent::catalog::{Subject, Tier, ToolSpec},
    tools::{
        Context, Output, Tool, ToolError,
        contract::{
            arguments::{parse, schema},
            one_line::{cut, one_line},
        },
        skills,
    },
};

/// The maximum number of results of each kind.
const MAX_LISTED: usize = 20;
const DESCRIPTION_CHARS: usize = 200;

/// `find_extension`
pub(super) struct FindExtension {
    pub extensions: Arc<Extensions>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// Words to search for. Without them: the installed extensions.
    #[serde(default)]
    query: Option<String>,
    /// Only extensions of this kind.
    #[serde(default)]
    kind: Option<ExtensionKind>,
}

#[async_trait]
impl Tool for FindExtension {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            tier: Tier::Extension,
            subject: Some(Subject::Text("query")),
            untrusted: true,
            outward: true,
            ..ToolSpec::read_only(
                "find_extension",
                "Searches the configured indexes for skills and MCP servers, or lists the installed \
                    ones. manage_extension installs them.",
                schema::<Arguments>(),
            )
        }
    }

    async fn run(&self, arguments: Value, context: &Context) -> Result<Output, ToolError> {
        let Arguments { query, kind } = parse(arguments)?;
        let wants = |wanted| kind.is_none_or(|kind| kind == wanted);
        let query = query.unwrap_or_default();
        let (mut skills, mut servers) = (Section::default(), Section::default());
        if query.trim().is_empty() {
            if wants(ExtensionKind::Skill) {
                skills = self.installed_skills(context)?;
            }
            if wants(ExtensionKind::McpServer) {
                servers = self.installed_servers()?;
            }
        } else {
            if wants(ExtensionKind::Skill) {
                skills = self.find_skills(&query).await;
            }
            if wants(ExtensionKind::McpServer) {
                servers = self.find_servers(&query).await;
            }
        }
        let mut text = String::new();
        for (heading, section) in [("Skills", skills), ("MCP servers", servers)] {
            section.write(heading, &mut text);
        }
        if text.is_empty() {
            text.push_str("Nothing was found.");
        }
        Ok(Output::text(text))
    }
}

/// The lines about one kind of extensions.
#[derive(Default)]
struct Section {
    lines: Vec<String>,
    problems: Vec<ToolError>,
}

impl Section {
    fn write(&self, heading: &str, text: &mut String) {
        if self.lines.is_empty() && self.problems.is_empty() {
            return;
        }
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{heading}:");
        for line in self.lines.iter().take(MAX_LISTED) {
            let _ = writeln!(text, "- {line}");
        }
        if let Some(more) = self.lines.len().checked_sub(MAX_LISTED).filter(|more| *more > 0) {
            let _ = writeln!(text, "- and {more} more: search for a more specific term");
        }
        for problem in &self.problems {
            let _ = writeln!(text, "- {problem}");
        }
    }
}

impl FindExtension {
    fn installed_skills(&self, context: &Context) -> Result<Section, ToolError> {
        let folder = skills::of(&self.extensions.skill_folders, context)?;
        let lines = skills::folder::all_with_disabled(folder).into_iter().map(|installed| {
            let state = match &installed.origin {
                None => "the operator's own".to_owned(),
                Some(origin) if origin.disabled => format!("disabled, from {}", origin.source),
                Some(origin) => format!("from {}", origin.source),
            };
            format!(
                "{} ({state}): {}",
                installed.skill.name,
                described(&installed.skill.description)
            )
        });
        Ok(Section { lines: lines.collect(), problems: Vec::new() })
    }

    fn installed_servers(&self) -> Result<Section, ToolError> {
        let installed = self.extensions.servers.installed().map_err(failed)?;
        let lines = installed.into_iter().map(|(name, server)| {
            let missing = self.extensions.missing_secrets(&name, &server);
            let state = match (server.state == ServerState::Enabled, missing.as_slice()) {
                (false, _) => "disabled".to_owned(),
                (true, []) => "enabled".to_owned(),
                (true, missing) => format!("needs {}", missing.join(", ")),
            };
            format!("{name}: {} {} ({state})", server.server, server.version)
        });
        Ok(Section { lines: lines.collect(), problems: Vec::new() })
    }

    async fn find_skills(&self, query: &str) -> Section {
        let (mut entries, problems) = self.extensions.skill_entries().await;
        entries.retain(|entry| matches(entry, query));
        let lines = entries
            .iter()
            .map(|entry| format!("{}: {}", entry.name, described(&entry.description)));
        Section { lines: lines.collect(), problems }
    }

    async fn find_servers(&self, query: &str) -> Section {
        let mut section = Section::default();
        let Extensions { registries, web_client, packages, .. } = &*self.extensions;
        for registry in registries {
            match registry::search(web_client, registry, query).await {
                Ok(found) => section.lines.extend(found.iter().map(|found| {
                    let (how, about) = (found.summary(packages), described(&found.description));
                    format!("{} {} ({how}): {about}", found.name, found.version)
                })),
                Err(problem) => section.problems.push(problem),
            }
        }
        section
    }
}

/// Whether an entry contains each word.
fn matches(entry: &SkillEntry, query: &str) -> bool {
    let text = format!("{} {}", entry.name, entry.description).to_lowercase();
    query.to_lowercase().split_whitespace().all(|word| text.contains(word))
}

/// The beginning of a description, on one line.
fn described(description: &str) -> String {
    cut(&one_line(description), DESCRIPTION_CHARS)
}
