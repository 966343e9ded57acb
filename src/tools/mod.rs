//! The tools of the agent. [`builtin`] lists those that need no configuration, [`sandboxed`] those
//! that start programs.
//!
//! - [`contract`]: the interface of a tool, and the toolbox that runs cleared calls
//! - [`custom`]: tools made of documented functions
//! - [`conversions`]: the types of other frameworks
//! - [`workspace`]: the only access to files of a conversation; [`atomic_file`], [`folder_lock`]:
//!   changes of files of the gateway
//! - [`skills`]: skills, and their tools; [`builder`]: builds software that becomes a skill
//! - [`schedule_planner`]: plans schedules, for the tools of a chat, the console and the API
//! - [`manual`]: the documentation of this build
//! - [`browser`]: a browser in the sandbox, and its tools
//! - [`datasources`], [`documents`], [`extensions`], [`files`], [`jobs`], [`json`], [`media`], [`memory`],
//!   [`results`], [`schedule`], [`send`], `echo`, [`shell`], [`time`], [`view_image`], [`web`],
//!   [`wiki`]: the tools
//! - [`mcp`]: tools of MCP servers; [`wasm`]: WASM tools

pub(crate) mod atomic_file;
pub(crate) mod browser;
pub mod builder;
pub(crate) mod contract;
pub mod conversions;
pub mod custom;
pub(crate) mod datasources;
pub(crate) mod documents;
pub(crate) mod echo;
pub(crate) mod extensions;
pub(crate) mod files;
pub(crate) mod folder_lock;
pub(crate) mod jobs;
pub(crate) mod json;
pub(crate) mod manual;
pub(crate) mod mcp;
pub(crate) mod media;
pub(crate) mod memory;
#[cfg(test)]
mod reads_tests;
pub(crate) mod results;
pub(crate) mod schedule;
pub(crate) mod schedule_planner;
pub(crate) mod send;
pub(crate) mod shell;
#[cfg(test)]
mod shown_tests;
pub(crate) mod skills;
#[cfg(test)]
mod testing;
pub(crate) mod time;
pub(crate) mod view_image;
pub(crate) mod wasm;
pub(crate) mod web;
pub(crate) mod wiki;
pub(crate) mod workspace;

use sandbox::Sandbox;
use secrecy::SecretString;
use std::sync::Arc;

pub use contract::{Context, Output, Tool, ToolError};

/// The built-in tools.
pub(crate) fn builtin() -> Vec<Arc<dyn Tool>> {
    let mut tools = files::tools();
    tools.push(Arc::new(send::SendFile));
    tools.push(Arc::new(time::CurrentDatetime));
    tools.push(Arc::new(json::Json));
    tools.push(Arc::new(echo::Echo));
    tools.push(Arc::new(manual::Manual));
    tools
}

/// The tools that start programs, if the sandbox supports them. The passwords are those of protected
/// documents.
pub(crate) fn sandboxed(
    sandbox: &Arc<Sandbox>,
    branding: documents::Branding,
    passwords: Vec<SecretString>,
    with_shell: Option<shell::CommandNetwork>,
) -> Vec<Arc<dyn Tool>> {
    let office = documents::office::Office::installed(sandbox).map(Arc::new);
    let mut tools = documents::tools(branding, sandbox, office.clone());
    tools.push(Arc::new(documents::extract::ExtractDocument {
        sandbox: sandbox.clone(),
        passwords,
        office,
    }));
    if let Some(shell::CommandNetwork(egress)) = with_shell {
        tools.push(Arc::new(shell::Shell { sandbox: sandbox.clone(), egress }));
    }
    tools
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use std::collections::BTreeMap;

    use super::{contract::toolbox::Toolbox, *};
    use crate::agent::catalog::{self, Subject, Tier, ToolSpec};

    /// All built-in tools are valid.
    /// Proves IC-03, IC-04, CV-12.
    #[test]
    fn built_in_tools_are_valid() {
        let toolbox = Toolbox::default();
        let sandbox = Arc::new(Sandbox::off("a test"));
        let sandboxed = sandboxed(
            &sandbox,
            documents::Branding::default(),
            Vec::new(),
            Some(shell::CommandNetwork::default()),
        );
        for tool in builtin().into_iter().chain(sandboxed) {
            toolbox.register(tool).unwrap();
        }
        let specs = toolbox.specs();
        assert_eq!(specs.len(), 25);
        for spec in &specs {
            assert!(!spec.description.is_empty() && !spec.name.starts_with("tool_"));
            assert_eq!(spec.parameters["type"], "object", "{}", spec.name);
            assert_eq!(spec.parameters["additionalProperties"], false, "{}", spec.name);
            for (name, field) in spec.parameters["properties"].as_object().unwrap() {
                assert!(field["type"].is_string(), "{}: {name} is not plain: {field}", spec.name);
                let told = field["description"].is_string();
                assert!(told, "MC-54: {} does not tell what {name} is", spec.name);
            }
            if let Some(Subject::Path(field) | Subject::Text(field) | Subject::Command(field)) =
                spec.subject
            {
                assert!(spec.parameters["properties"][field].is_object(), "{}", spec.name);
            }
            let rare = ["detect_file_type", "echo", "json", "manual", "shell"]
                .contains(&spec.name.as_str());
            let edits = ["edit_", "fill_", "convert_"];
            let edits = edits.iter().any(|start| spec.name.starts_with(start));
            let is_core = !spec.name.ends_with("_from_file") && !rare && !edits;
            assert_eq!(spec.tier == Tier::Core, is_core, "{}", spec.name);
        }
    }

    /// Reading needs no approval, writing does, programs run in the sandbox or not at all; without
    /// configuration, no tool controls a browser or an external service.
    /// Proves MC-20, IC-50.
    #[test]
    fn built_in_tools_declare_their_effects() {
        let sandbox = Arc::new(Sandbox::without_bubblewrap(std::path::Path::new("x"), "a test"));
        let all = builtin()
            .into_iter()
            .chain([
                Arc::new(shell::Shell { sandbox: sandbox.clone(), egress: None }) as Arc<dyn Tool>
            ]);
        let specs: BTreeMap<_, _> =
            all.map(|tool| tool.spec()).map(|spec| (spec.name.clone(), spec)).collect();
        for name in ["read_file", "list_dir"] {
            assert_eq!(specs[name].approval, catalog::ApprovalMode::Never, "{name}");
        }
        for name in ["write_file", "apply_patch", "shell"] {
            assert_ne!(specs[name].approval, catalog::ApprovalMode::Never, "{name}");
        }
        assert!(matches!(specs["shell"].domain, catalog::Domain::Container(_)));
        let seconds = |name: &str| specs[name].timeout.as_secs();
        assert_eq!(("read_file", seconds("read_file")), ("read_file", 30), "MC-48");
        let wait = &specs["shell"].parameters["properties"]["timeout"];
        assert_eq!((&wait["minimum"], &wait["maximum"]), (&json!(1), &json!(300)), "MC-23");
        assert!((300..=310).contains(&seconds("shell")), "the cap, and what starts and ends it");
        let unavailable = |spec: &ToolSpec| spec.unavailable.clone();
        assert_eq!(
            unavailable(&specs["shell"]).as_deref(),
            Some("a test"),
            "there is no sandbox here"
        );
        let theirs = |name: &&String| name.starts_with("browser") || name.starts_with("composio");
        assert_eq!(specs.keys().find(theirs), None);
    }
}
