//! Skills: folders of instructions and scripts, as described by agentskills.io.
//!
//! A skill is data. Its text is read when `load_skill` asks for it; its scripts run in the sandbox
//! when a call is cleared, never by themselves. Skills that the operator put into the folder are
//! trusted. A skill that was installed from elsewhere, or written by an agent, is untrusted
//! content: loading it taints the conversation, until the operator trusts exactly these bytes.
//!
//! - [`front`]: the front matter of a `SKILL.md`
//! - [`folder`]: the installed skills, their origin and trust
//! - [`source`]: finds the skills in a folder, a zip file or a git repository
//! - [`package`]: the files of one skill
//! - [`scan`]: findings to review before installation
//! - [`prose`]: phrases within their sentence
//! - [`script`], [`manage`]: the tools

pub mod folder;
pub mod front;
pub mod manage;
pub mod package;
mod prose;
pub mod scan;
pub mod script;
pub mod source;

use sandbox::{Sandbox, egress::Egress};
use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

use super::{Context, Tool, ToolError};

/// A skill inside the sandbox, read-only.
pub(super) const SKILL: &str = "/skill";

/// The skill folder of each agent.
pub type Folders = BTreeMap<String, PathBuf>;

/// The network access of skill scripts, by the name of the skill, as configured.
pub type ScriptNetwork = BTreeMap<String, Arc<Egress>>;

pub fn tools(folders: &Folders, ways: ScriptNetwork, sandbox: &Arc<Sandbox>) -> Vec<Arc<dyn Tool>> {
    let (folders, sandbox) = (folders.clone(), sandbox.clone());
    vec![
        Arc::new(manage::SkillManage { folders: folders.clone() }),
        Arc::new(script::RunSkillScript { folders, ways, sandbox }),
    ]
}

pub(super) fn of<'a>(folders: &'a Folders, context: &Context) -> Result<&'a PathBuf, ToolError> {
    folders
        .get(&context.agent)
        .ok_or_else(|| ToolError::ExecutionFailed(format!("{} has no skill folder", context.agent)))
}
