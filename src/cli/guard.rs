//! `countersign guard`: manages and tests the rules of the guard.

use anyhow::{Context as _, Result};
use clap::Subcommand;
use std::{collections::BTreeMap, path::PathBuf};

use super::{COMMAND_LINE, say};
use crate::{
    admin::rules::{self, Supposed},
    app::{App, Overrides, database::open_store},
    clock::{Clock as _, SystemClock},
    config::Config,
};

#[derive(Debug, Subcommand)]
pub(super) enum GuardCommand {
    /// Show what the guard would do with a call, which rule decides, and why
    Test {
        /// The name of the tool, for example `shell`
        tool: String,
        /// The call's arguments, as JSON: '{"command":"rm -rf x"}'
        arguments: String,
        /// The id of an agent
        #[arg(long, default_value = "default")]
        agent: String,
        /// The id of a channel
        #[arg(long, default_value = "web")]
        channel: String,
        /// The numeric id of the person on whose behalf the agent acts
        #[arg(long, default_value = "0")]
        person: String,
        /// The role of that person
        #[arg(long)]
        role: Option<String>,
        /// Assume that the conversation contains untrusted content
        #[arg(long)]
        tainted: bool,
    },
    /// List the shipped rules, which `guard.disabled_rules` disables
    List,
    /// Import rules into the database; they take effect immediately on all nodes
    Import {
        /// A .toml or .json file as written by `guard export`, or a .yaml file of MateClaw
        file: PathBuf,
        /// Replace all existing rules instead of adding to them
        #[arg(long)]
        replace: bool,
    },
    /// Print the rules of the database as one TOML document
    Export,
    /// Delete a rule from the database
    Remove {
        /// The rule's name, as `guard export` shows it
        name: String,
    },
}

pub(super) async fn run(
    (config, variables): (&Config, &BTreeMap<String, String>),
    what: GuardCommand,
) -> Result<()> {
    let open = || App::open(config, variables, Overrides::default());
    match what {
        GuardCommand::Test { tool, arguments, agent, channel, person, role, tainted } => {
            let arguments = serde_json::from_str(&arguments)
                .context("the arguments must be JSON, for example '{\"command\":\"rm -rf x\"}'")?;
            let supposed = Supposed { tool, arguments, agent, channel, person, role, tainted };
            say(&rules::explain(&open().await?.worker, supposed).await?.to_string())
        }
        GuardCommand::List => say(&rules::shipped_names()),
        GuardCommand::Import { file, replace } => {
            let text = std::fs::read_to_string(&file)
                .with_context(|| format!("reading {}", file.display()))?;
            let form = file.extension().unwrap_or_default().to_string_lossy();
            let app = open().await?;
            let read = rules::read(&form, &text, &rules::tool_names(&app.worker))
                .with_context(|| file.display().to_string())?;
            let by = (COMMAND_LINE, SystemClock.now());
            let store = &app.worker.gateway.store;
            let count = rules::take_in(store, read.document, replace, by).await?;
            say(&format!("{count} rules were imported and are active."))?;
            read.notes.iter().try_for_each(|note| say(&format!("  note: {note}")))
        }
        GuardCommand::Export => {
            let (_, document) = rules::export(&open_store(config).await?).await?;
            say(toml::to_string_pretty(&document)?.trim_end())
        }
        GuardCommand::Remove { name } => {
            let store = open_store(config).await?;
            let by = (COMMAND_LINE, SystemClock.now());
            let removed = rules::remove(&store, name.clone(), by).await?;
            anyhow::ensure!(removed, "there is no rule `{name}` in the database");
            say("The rule was deleted.")
        }
    }
}
