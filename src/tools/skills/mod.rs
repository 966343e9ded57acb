//! Skills: folders of know-how as agentskills.io describes them.
//!
//! A skill is data. Its text is read when `load_skill` asks for it; its scripts run in the sandbox
//! when a call is cleared, never by themselves. What the operator has laid into the folder is his
//! own word. What was installed from elsewhere, or was written by an agent, is other people's word:
//! to load it taints the conversation, until the operator vouches for exactly these bytes.
//!
//! - [`front`]: the YAML in front of a `SKILL.md`, leniently
//! - [`folder`]: the skills that there are, where they come from, who vouches for them
//! - [`package`]: what is to be installed: a folder, a zip file, a git repository
//! - [`scan`]: what in it deserves a look before
//! - [`script`], [`manage`]: the tools

pub mod folder;
pub mod front;
pub mod manage;
pub mod package;
pub mod scan;
pub mod script;

use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

use super::{Context, Tool, ToolError, sandbox::Sandbox, web::egress::Egress};

/// Where each agent has its skills.
pub type Folders = BTreeMap<String, PathBuf>;

/// How far the scripts of skills get, by the name of the skill: the operator has said so.
pub type Ways = BTreeMap<String, Arc<Egress>>;

pub fn tools(folders: &Folders, ways: Ways, sandbox: &Arc<Sandbox>) -> Vec<Arc<dyn Tool>> {
    let (folders, sandbox) = (folders.clone(), sandbox.clone());
    vec![
        Arc::new(manage::SkillManage { folders: folders.clone() }),
        Arc::new(script::RunSkillScript { folders, ways, sandbox }),
    ]
}

fn of<'a>(folders: &'a Folders, context: &Context) -> Result<&'a PathBuf, ToolError> {
    folders.get(&context.agent).ok_or_else(|| {
        ToolError::ExecutionFailed(format!("{} has no folder for skills", context.agent))
    })
}
