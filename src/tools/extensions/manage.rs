//! `manage_extension`: installs, enables, disables and removes skills and MCP servers, with
//! approval.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::{fmt::Write as _, path::PathBuf, sync::Arc, time::Duration};

use super::{
    ExtensionKind, Extensions,
    installed::{InstalledServer, ServerState},
    resolve::{ResolvedServer, ResolvedSkill},
};
use crate::{
    agent::{
        catalog::{ApprovalMode, EffectClass, Subject, Tier, ToolSpec},
        policy::FileDigests,
    },
    texts::preview::Preview,
    tools::{
        Context, Output, Tool, ToolError,
        contract::arguments::{parse, schema},
        files::diff,
        skills::{self, folder},
    },
};

/// `manage_extension`
pub(super) struct ManageExtension {
    pub extensions: Arc<Extensions>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum ExtensionAction {
    Install,
    Enable,
    Disable,
    Remove,
}

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// The operation. Installing an installed extension updates it.
    action: ExtensionAction,
    kind: ExtensionKind,
    /// The name as find_extension lists it.
    name: String,
    /// The version of a server; default: the latest.
    #[serde(default)]
    version: Option<String>,
}

/// A change that can be made.
enum Change {
    InstallSkill(ResolvedSkill),
    InstallServer(ResolvedServer),
    /// A skill that is installed, and whether it is enabled afterwards; `None` removes it.
    Skill {
        name: String,
        enabled: Option<bool>,
    },
    Server {
        name: String,
        server: InstalledServer,
        enabled: Option<bool>,
    },
}

#[async_trait]
impl Tool for ManageExtension {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            effect: EffectClass::AtMostOnce,
            tier: Tier::Extension,
            approval: ApprovalMode::Always,
            subject: Some(Subject::Text("name")),
            untrusted: true,
            outward: true,
            timeout: Duration::from_mins(2),
            ..ToolSpec::read_only(
                "manage_extension",
                "Installs, enables, disables or removes a skill or an MCP server that \
                    find_extension lists.",
                schema::<Arguments>(),
            )
        }
    }

    async fn preview(&self, arguments: &Value, context: &Context) -> Option<Preview> {
        let arguments: Arguments = parse(arguments.clone()).ok()?;
        Some(match self.change(&arguments, context).await {
            Ok(Change::InstallSkill(skill)) => diff::created(&skill.shown()),
            Ok(Change::InstallServer(server)) => diff::created(&server.shown()),
            Ok(Change::Server { server, .. }) => diff::created(&format!(
                "{} {} from {}",
                server.server, server.version, server.registry
            )),
            Ok(Change::Skill { .. }) => return None,
            Err(problem) => Preview::failure(problem),
        })
    }

    async fn bound(&self, arguments: &Value, context: &Context) -> Result<FileDigests, ToolError> {
        let arguments: Arguments = parse(arguments.clone())?;
        let change = self.change(&arguments, context).await?;
        let state = self.state(&change, context)?;
        Ok(FileDigests::from([(key(&arguments.name), state)]))
    }

    async fn run(&self, arguments: Value, context: &Context) -> Result<Output, ToolError> {
        let arguments: Arguments = parse(arguments)?;
        let change = self.change(&arguments, context).await?;
        let approved = context.approved.as_ref();
        if let Some(approved) = approved
            && approved.get(&key(&arguments.name)) != Some(&self.state(&change, context)?)
        {
            return Err(ToolError::ExecutionFailed(format!(
                "`{}` has changed since this call was approved: look at it, and make a new call if \
                    it is still right.",
                arguments.name
            )));
        }
        self.apply(change, context).map(Output::text)
    }
}

/// The name under which the state of an extension is bound to an approval.
fn key(name: &str) -> String {
    format!("extension:{name}")
}

fn failed(problem: anyhow::Error) -> ToolError {
    ToolError::ExecutionFailed(format!("{problem:#}"))
}

impl ManageExtension {
    /// What a call would do; nothing is changed yet.
    async fn change(&self, arguments: &Arguments, context: &Context) -> Result<Change, ToolError> {
        let Arguments { action, kind, name, version } = arguments;
        let enabled = match action {
            ExtensionAction::Install => return self.installation(arguments, context).await,
            ExtensionAction::Enable => Some(true),
            ExtensionAction::Disable => Some(false),
            ExtensionAction::Remove => None,
        };
        if version.is_some() {
            return Err(ToolError::InvalidParameters("version is for install".into()));
        }
        match kind {
            ExtensionKind::Skill => {
                let place = self.place(name, context)?;
                if !place.join("SKILL.md").exists() {
                    return Err(ToolError::NotFound(format!("no skill `{name}` is installed")));
                }
                refuse_own(name, &place)?;
                Ok(Change::Skill { name: name.clone(), enabled })
            }
            ExtensionKind::McpServer => {
                let all = self.extensions.servers.installed();
                let is_it = |(short, one): &(&String, &InstalledServer)| {
                    *short == name || one.server == *name
                };
                let found = all.iter().find(is_it);
                let Some((name, server)) = found else {
                    return Err(ToolError::NotFound(format!(
                        "no server `{name}` is installed; the operator's own are in the \
                            configuration"
                    )));
                };
                Ok(Change::Server { name: name.clone(), server: server.clone(), enabled })
            }
        }
    }

    async fn installation(
        &self,
        arguments: &Arguments,
        context: &Context,
    ) -> Result<Change, ToolError> {
        let Arguments { kind, name, version, .. } = arguments;
        match kind {
            ExtensionKind::Skill if version.is_some() => {
                Err(ToolError::InvalidParameters("version is for servers".into()))
            }
            ExtensionKind::Skill => {
                let skill = self.extensions.skill(name).await?;
                let place = self.place(name, context)?;
                if place.join("SKILL.md").exists() {
                    refuse_own(name, &place)?;
                    let origin = folder::kept(&place).map_err(failed)?.origin;
                    if origin.is_none_or(|origin| origin.source != skill.source) {
                        return Err(ToolError::ExecutionFailed(format!(
                            "Another skill `{name}` is installed: remove it first."
                        )));
                    }
                }
                Ok(Change::InstallSkill(skill))
            }
            ExtensionKind::McpServer => {
                let server = self.extensions.server(name, version.as_deref()).await?;
                Ok(Change::InstallServer(server))
            }
        }
    }

    fn place(&self, skill: &str, context: &Context) -> Result<PathBuf, ToolError> {
        if !skills::front::is_valid(skill) {
            return Err(ToolError::InvalidParameters(format!(
                "`{skill}` is not a name of a skill"
            )));
        }
        Ok(skills::of(&self.extensions.skill_folders, context)?.join(skill))
    }

    /// The state that an approval is bound to.
    fn state(&self, change: &Change, context: &Context) -> Result<String, ToolError> {
        Ok(match change {
            Change::InstallSkill(skill) => {
                let place = self.place(&skill.name, context)?;
                format!("{} over {}", skill.state(), folder::state_of(&place))
            }
            Change::InstallServer(server) => server.state(),
            Change::Skill { name, .. } => folder::state_of(&self.place(name, context)?),
            Change::Server { server, .. } => {
                serde_json::to_string(server).map_err(|problem| failed(problem.into()))?
            }
        })
    }

    fn apply(&self, change: Change, context: &Context) -> Result<String, ToolError> {
        match change {
            Change::InstallSkill(ResolvedSkill { name, source, package }) => {
                let folder = skills::of(&self.extensions.skill_folders, context)?;
                let lock = folder::lock(folder).map_err(failed)?;
                folder::put(&lock, &name, &package, &source).map_err(failed)?;
                Ok(format!("The skill `{name}` was installed. It is listed within ten seconds."))
            }
            Change::InstallServer(resolved) => self.install_server(&resolved),
            Change::Skill { name, enabled } => {
                let folder = skills::of(&self.extensions.skill_folders, context)?;
                let lock = folder::lock(folder).map_err(failed)?;
                match enabled {
                    Some(enabled) => folder::enable(&lock, &name, enabled),
                    None => folder::remove(&lock, &name),
                }
                .map_err(failed)?;
                Ok(format!("The skill `{name}` was {}.", done(enabled)))
            }
            Change::Server { name, server, enabled } => {
                let state = match enabled {
                    Some(true) => ServerState::Enabled,
                    Some(false) => ServerState::Disabled,
                    None => ServerState::Removed,
                };
                let lock = self.extensions.servers.lock().map_err(failed)?;
                lock.put(&name, &InstalledServer { state, ..server }).map_err(failed)?;
                Ok(format!("The server `{name}` was {}, within ten seconds.", done(enabled)))
            }
        }
    }

    fn install_server(&self, resolved: &ResolvedServer) -> Result<String, ToolError> {
        let ResolvedServer { name, server } = resolved;
        let lock = self.extensions.servers.lock().map_err(failed)?;
        lock.put(name, server).map_err(failed)?;
        let missing = self.extensions.missing_secrets(name, server);
        let mut text = format!(
            "The server `{name}` was installed. Its tools begin with `{name}_`; they are listed \
                when it has answered, and each requires approval until an operator trusts it."
        );
        if !missing.is_empty() {
            let missing = missing.join(", ");
            // Writing to a string cannot fail.
            let _ = write!(
                text,
                " Before that, an operator has to set extensions.secrets.{name}: {missing}."
            );
        }
        Ok(text)
    }
}

fn done(enabled: Option<bool>) -> &'static str {
    match enabled {
        Some(true) => "enabled",
        Some(false) => "disabled",
        None => "removed",
    }
}

fn refuse_own(name: &str, place: &std::path::Path) -> Result<(), ToolError> {
    if folder::is_own(place) {
        return Err(ToolError::ExecutionFailed(format!(
            "`{name}` is the operator's own and cannot be changed."
        )));
    }
    Ok(())
}
