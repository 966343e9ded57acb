//! `countersign config`: prints the configuration, its schema and an example.

use anyhow::Result;
use clap::Subcommand;
use std::collections::BTreeMap;

use super::{examples, say};
use crate::{
    agent::redact::Redactor,
    app,
    config::{Config, example, print, schema},
};

#[derive(Debug, Subcommand)]
pub enum ConfigCommand {
    /// Print the current configuration with a comment for each key, without secrets
    #[command(after_help = examples::CONFIG_PRINT)]
    Print,
    /// Print a JSON schema of the configuration, for editors
    #[command(after_help = examples::CONFIG_SCHEMA)]
    Schema,
    /// Print a file with every key, its description and its default, all commented out
    #[command(after_help = examples::CONFIG_EXAMPLE)]
    Example,
}

pub(super) fn run(
    what: ConfigCommand,
    config: &Config,
    variables: &BTreeMap<String, String>,
) -> Result<()> {
    match what {
        ConfigCommand::Print => say(&printed(config, variables)?),
        ConfigCommand::Schema => say(&serde_json::to_string_pretty(&schema::schema())?),
        ConfigCommand::Example => say(example::example().trim_end()),
    }
}

/// Prints the configuration without its secrets, including secrets that were written into other
/// texts.
pub fn printed(config: &Config, variables: &BTreeMap<String, String>) -> Result<String> {
    let secrets = app::secrets(config, variables);
    let redactor = Redactor::new(secrets.iter().map(String::as_str));
    Ok(redactor.own(&print::commented(config)?).into_owned())
}
