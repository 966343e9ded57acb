//! `manage_extension`: installs, enables, disables and removes skills and MCP servers, with
//! approval.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::{fmt::Write as _, path::PathBuf, sync::Arc, time::Duration};

use super::{
    ExtensionKind, Extensions, failed,
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
        contract::{
            arguments::{parse, schema},
            blocking,
        },
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

/// A skill of an agent.
struct AgentSkill {
    /// The folder with all skills of the agent.
    folder: PathBuf,
    name: String,
}

impl AgentSkill {
    fn path(&self) -> PathBuf {
        self.folder.join(&self.name)
    }
}

/// A change that can be made.
enum ExtensionChange {
    InstallSkill {
        resolved: ResolvedSkill,
        skill: AgentSkill,
    },
    InstallServer(Box<ResolvedServer>),
    /// A skill that is installed, and whether it is enabled afterwards; `None` removes it.
    Skill {
        skill: AgentSkill,
        enabled: Option<bool>,
    },
    Server {
        name: String,
        server: Box<InstalledServer>,
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
            Ok(ExtensionChange::InstallSkill { resolved, .. }) => diff::created(&resolved.shown()),
            Ok(ExtensionChange::InstallServer(server)) => diff::created(&server.shown()),
            Ok(ExtensionChange::Server { server, .. }) => diff::created(&format!(
                "{} {} from {}",
                server.server, server.version, server.registry
            )),
            Ok(ExtensionChange::Skill { .. }) => return None,
            Err(problem) => Preview::failure(problem),
        })
    }

    async fn bound(&self, arguments: &Value, context: &Context) -> Result<FileDigests, ToolError> {
        let arguments: Arguments = parse(arguments.clone())?;
        let change = self.change(&arguments, context).await?;
        Ok(FileDigests::from([(key(&arguments.name), change.state()?)]))
    }

    async fn run(&self, arguments: Value, context: &Context) -> Result<Output, ToolError> {
        let arguments: Arguments = parse(arguments)?;
        let change = self.change(&arguments, context).await?;
        let approved = context.approved.as_ref();
        let expected = match approved {
            Some(approved) => approved.get(&key(&arguments.name)).cloned().unwrap_or_default(),
            None => change.state()?,
        };
        let extensions = self.extensions.clone();
        blocking(move || apply(&extensions, &change, &expected)).await?.map(Output::text)
    }
}

/// The name under which the state of an extension is bound to an approval.
fn key(name: &str) -> String {
    format!("extension:{name}")
}

impl ManageExtension {
    /// What a call would do; nothing is changed yet.
    async fn change(
        &self,
        arguments: &Arguments,
        context: &Context,
    ) -> Result<ExtensionChange, ToolError> {
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
                let skill = self.skill(name, context)?;
                if !skill.path().join("SKILL.md").exists() {
                    return Err(ToolError::NotFound(format!("no skill `{name}` is installed")));
                }
                refuse_own(&skill)?;
                Ok(ExtensionChange::Skill { skill, enabled })
            }
            ExtensionKind::McpServer => {
                let all = self.extensions.servers.installed().map_err(failed)?;
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
                Ok(ExtensionChange::Server {
                    name: name.clone(),
                    server: Box::new(server.clone()),
                    enabled,
                })
            }
        }
    }

    async fn installation(
        &self,
        arguments: &Arguments,
        context: &Context,
    ) -> Result<ExtensionChange, ToolError> {
        let Arguments { kind, name, version, .. } = arguments;
        match kind {
            ExtensionKind::Skill if version.is_some() => {
                Err(ToolError::InvalidParameters("version is for servers".into()))
            }
            ExtensionKind::Skill => {
                let resolved = self.extensions.skill(name).await?;
                let skill = self.skill(name, context)?;
                if skill.path().join("SKILL.md").exists() {
                    refuse_own(&skill)?;
                    let origin = folder::kept(&skill.path()).map_err(failed)?.origin;
                    if origin.is_none_or(|origin| origin.source != resolved.source) {
                        return Err(ToolError::ExecutionFailed(format!(
                            "Another skill `{name}` is installed: remove it first."
                        )));
                    }
                }
                Ok(ExtensionChange::InstallSkill { resolved, skill })
            }
            ExtensionKind::McpServer => {
                let server = self.extensions.server(name, version.as_deref()).await?;
                Ok(ExtensionChange::InstallServer(Box::new(server)))
            }
        }
    }

    fn skill(&self, name: &str, context: &Context) -> Result<AgentSkill, ToolError> {
        if !skills::front::is_valid(name) {
            return Err(ToolError::InvalidParameters(format!("`{name}` is not a name of a skill")));
        }
        let folder = skills::of(&self.extensions.skill_folders, context)?.clone();
        Ok(AgentSkill { folder, name: name.to_owned() })
    }
}

impl ExtensionChange {
    /// The state that an approval is bound to: what is installed, and what that replaces.
    fn state(&self) -> Result<String, ToolError> {
        Ok(match self {
            Self::InstallSkill { resolved, skill } => {
                format!("{} over {}", resolved.state(), folder::state_of(&skill.path()))
            }
            Self::InstallServer(server) => server.state(),
            Self::Skill { skill, .. } => folder::state_of(&skill.path()),
            Self::Server { server, .. } => {
                serde_json::to_string(server).map_err(|problem| failed(problem.into()))?
            }
        })
    }
}

/// Makes a change, if its state is the expected one. Nothing else changes extensions meanwhile.
fn apply(
    extensions: &Extensions,
    change: &ExtensionChange,
    expected: &str,
) -> Result<String, ToolError> {
    match change {
        ExtensionChange::InstallSkill { resolved, skill } => {
            let lock = folder::lock(&skill.folder).map_err(failed)?;
            compare(change.state()? == expected)?;
            if skill.path().join("SKILL.md").exists() {
                refuse_own(skill)?;
            }
            let name = &skill.name;
            folder::put(&lock, name, &resolved.package, &resolved.source).map_err(failed)?;
            Ok(format!("The skill `{name}` was installed. It is listed within ten seconds."))
        }
        ExtensionChange::Skill { skill, enabled } => {
            let lock = folder::lock(&skill.folder).map_err(failed)?;
            compare(change.state()? == expected)?;
            refuse_own(skill)?;
            match enabled {
                Some(enabled) => folder::enable(&lock, &skill.name, *enabled),
                None => folder::remove(&lock, &skill.name),
            }
            .map_err(failed)?;
            Ok(format!("The skill `{}` was {}.", skill.name, done(*enabled)))
        }
        ExtensionChange::InstallServer(resolved) => {
            let lock = extensions.servers.lock().map_err(failed)?;
            let now = extensions.servers.find(&resolved.name).map_err(failed)?;
            compare(change.state()? == expected && now == resolved.replaces)?;
            extensions.servers.put(&lock, &resolved.name, &resolved.server).map_err(failed)?;
            Ok(installed(extensions, resolved))
        }
        ExtensionChange::Server { name, server, enabled } => {
            let lock = extensions.servers.lock().map_err(failed)?;
            let now = extensions.servers.find(name).map_err(failed)?;
            compare(change.state()? == expected && now.as_ref() == Some(&**server))?;
            let state = match enabled {
                Some(true) => ServerState::Enabled,
                Some(false) => ServerState::Disabled,
                None => ServerState::Removed,
            };
            let server = InstalledServer { state, ..(**server).clone() };
            extensions.servers.put(&lock, name, &server).map_err(failed)?;
            let done = done(*enabled);
            Ok(format!("The server `{name}` was {done}. This takes effect within ten seconds."))
        }
    }
}

fn compare(is_same: bool) -> Result<(), ToolError> {
    if is_same {
        return Ok(());
    }
    Err(ToolError::ExecutionFailed(
        "It has changed since this call was approved: look at it, and make a new call if it is \
            still right."
            .into(),
    ))
}

/// What a person has to know about a server that was installed.
fn installed(extensions: &Extensions, resolved: &ResolvedServer) -> String {
    let ResolvedServer { name, server, .. } = resolved;
    let mut text = format!(
        "The server `{name}` was installed. Its tools begin with `{name}_`; they are listed when it \
            has answered, and each requires approval until an operator trusts it."
    );
    let missing = extensions.missing_secrets(name, server);
    if !missing.is_empty() {
        let missing = missing.join(", ");
        // Writing to a string cannot fail.
        let _ = write!(
            text,
            " Before that, an operator has to set extensions.secrets.{name}: {missing}."
        );
    }
    text
}

fn done(enabled: Option<bool>) -> &'static str {
    match enabled {
        Some(true) => "enabled",
        Some(false) => "disabled",
        None => "removed",
    }
}

fn refuse_own(skill: &AgentSkill) -> Result<(), ToolError> {
    if folder::is_own(&skill.path()) {
        return Err(ToolError::ExecutionFailed(format!(
            "`{}` is the operator's own and cannot be changed.",
            skill.name
        )));
    }
    Ok(())
}
