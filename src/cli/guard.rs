//! `countersign guard`: manages and tests the rules of the guard.

use anyhow::{Context as _, Result, bail};
use clap::Subcommand;
use serde_json::{Map, Value};
use std::{collections::BTreeMap, path::PathBuf};

use super::{COMMAND_LINE, examples, output::OutputFormat, say};
use crate::{
    admin::rules::{self, HypotheticalCall},
    agent::catalog::ToolSpec,
    app::{App, Overrides, database::open_store, tools::ALL_SERVERS_WITHIN},
    clock::{Clock as _, SystemClock},
    config::Config,
    journal::role::Role,
};

#[derive(Debug, Subcommand)]
pub(super) enum GuardCommand {
    /// Show what the guard would do with a call, which rule decides, and why
    #[command(after_help = examples::GUARD_TEST)]
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
        /// The role of that person (default: member)
        #[arg(long, value_parser = super::pair::role)]
        role: Option<Role>,
        /// Assume that the conversation contains untrusted content
        #[arg(long)]
        tainted: bool,
    },
    /// List the shipped rules, which `guard.disabled_rules` disables
    #[command(after_help = examples::GUARD_LIST)]
    List(OutputFormat),
    /// Import rules into the database; they take effect immediately on all nodes
    #[command(after_help = examples::GUARD_IMPORT)]
    Import {
        /// A .toml or .json file as written by `guard export`, or a .yaml file of MateClaw
        file: PathBuf,
        /// Replace all existing rules instead of adding to them
        #[arg(long)]
        replace: bool,
    },
    /// Print the rules of the database as one TOML document
    #[command(after_help = examples::GUARD_EXPORT)]
    Export,
    /// Delete a rule from the database
    #[command(after_help = examples::GUARD_REMOVE)]
    Remove {
        /// The rule's name, as `guard export` shows it
        name: String,
    },
}

pub(super) async fn run(
    config: &Config,
    variables: &BTreeMap<String, String>,
    what: GuardCommand,
) -> Result<()> {
    let open = || {
        let servers_within = Some(ALL_SERVERS_WITHIN);
        App::open(config, variables, Overrides { servers_within, ..Overrides::default() })
    };
    match what {
        GuardCommand::Test { tool, arguments, agent, channel, person, role, tainted } => {
            let app = open().await?;
            let Ok(arguments @ Value::Object(_)) = serde_json::from_str(&arguments) else {
                bail!("{}", expected(&app.worker.toolbox.specs(), &tool));
            };
            let supposed = HypotheticalCall {
                tool,
                arguments,
                agent,
                channel,
                person,
                role,
                tainted,
                draft: None,
            };
            say(&rules::explain(&app.worker, supposed).await?.to_string())
        }
        GuardCommand::List(output) => {
            say(&output.list(&rules::shipped_rules(), "", ToString::to_string)?)
        }
        GuardCommand::Import { file, replace } => {
            let text = std::fs::read_to_string(&file)
                .with_context(|| format!("reading {}", file.display()))?;
            let form = file.extension().unwrap_or_default().to_string_lossy();
            let format = rules::ImportFormat::parse(&form)
                .context("rules can be in the formats toml, json and yaml")?;
            let app = open().await?;
            let read = rules::read(format, &text, &rules::tool_names(&app.worker))
                .with_context(|| file.display().to_string())?;
            let store = &app.worker.gateway.store;
            let count =
                rules::import_rules(store, read.document, replace, COMMAND_LINE, SystemClock.now())
                    .await?;
            say(&format!("{count} rules were imported and are active."))?;
            read.notes.iter().try_for_each(|note| say(&format!("  note: {note}")))
        }
        GuardCommand::Export => {
            let (_, document) = rules::export(&open_store(config).await?).await?;
            say(toml::to_string_pretty(&document)?.trim_end())
        }
        GuardCommand::Remove { name } => {
            let store = open_store(config).await?;
            let now = SystemClock.now();
            let removed = rules::remove(&store, name.clone(), COMMAND_LINE, now).await?;
            anyhow::ensure!(removed, "there is no rule `{name}` in the database");
            say("The rule was deleted.")
        }
    }
}

/// The form of a tool's arguments, in quotes for a shell.
fn expected(specs: &[ToolSpec], tool: &str) -> String {
    let schema = specs.iter().find(|spec| spec.name == tool).map(|spec| &spec.parameters);
    let names = schema.and_then(|schema| schema["required"].as_array()).into_iter().flatten();
    let names: Map<_, _> =
        names.filter_map(Value::as_str).map(|name| (name.to_owned(), "…".into())).collect();
    let names =
        if names.is_empty() { Map::from_iter([("name".to_owned(), "…".into())]) } else { names };
    format!(
        "the arguments must be a JSON object: countersign guard test {tool} '{}'",
        Value::Object(names)
    )
}
