//! The command line.

pub mod audit;
mod doctor;
mod login;
pub mod mcp;
mod pair;
mod render;
mod serve;
mod skill;
mod token;
mod web_access;

use anyhow::{Context as _, Result};
use clap::{Parser, Subcommand};
use std::{
    collections::BTreeMap,
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use serve::Signals;

use crate::{
    admin::rules::{self, Supposed},
    agent::redact::Redactor,
    app::{
        self, App, Overrides,
        backup::{self, Holds},
    },
    clock::{Clock as _, SystemClock},
    config::{Config, example, print, schema},
    journal::role::Role,
    telemetry,
};

/// A gateway between chat platforms and an LLM agent that asks before it acts.
#[derive(Debug, Parser)]
#[command(name = "countersign", version)]
pub struct Cli {
    /// Configuration file [default: countersign.toml, if it exists]
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Log filter, for example `info` or `countersign=debug,warn`
    #[arg(
        long,
        global = true,
        env = "COUNTERSIGN_LOG",
        default_value = "info,genai=off,rmcp=warn"
    )]
    log: String,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the gateway (the default)
    Serve,
    /// Talk to the agent in the terminal
    Chat,
    /// Check the configuration and the database, and print a summary
    Check,
    /// Check that everything the gateway needs is in place, and suggest fixes
    Doctor(doctor::Doctor),
    /// Migrate the tables of the database
    Migrate,
    /// Show the configuration
    Config {
        #[command(subcommand)]
        what: ConfigCommand,
    },
    /// Back up all data into one file; the gateway may be running
    Backup {
        /// The file to write (tar)
        file: PathBuf,
    },
    /// Restore a backup into an empty data folder
    Restore {
        /// A file written by `backup`
        file: PathBuf,
    },
    /// Manage and test guard rules
    Guard {
        #[command(subcommand)]
        what: GuardCommand,
    },
    /// Render a document from a Markdown, CSV or JSON file
    Render(render::Render),
    /// Inspect the audit log
    Audit {
        #[command(subcommand)]
        what: audit::AuditCommand,
    },
    /// Manage tools of MCP servers
    Mcp {
        #[command(subcommand)]
        what: mcp::McpCommand,
    },
    /// Manage agent skills
    Skill(skill::Skill),
    /// Internal: reads a document or runs a program in the sandbox
    #[command(hide = true)]
    Confine {
        #[arg(long)]
        job: String,
    },
    /// Print a one-time sign-in link for the web chat or, with --api, an API token
    Token(token::Token),
    /// Print a pairing code that gives one person access to the bot
    Pair {
        /// Only valid on this channel [default: any]
        #[arg(long)]
        channel: Option<String>,
        /// The role that the code gives: viewer, member, approver, operator or owner [default:
        /// member, or owner as long as there is none]
        #[arg(long, value_parser = pair::role)]
        role: Option<Role>,
        /// How many hours the code is valid
        #[arg(long, default_value_t = 24)]
        hours: u32,
    },
}

#[derive(Debug, Subcommand)]
enum ConfigCommand {
    /// Print the current configuration with a comment for each key, without secrets
    Print,
    /// Print a JSON schema of the configuration, for editors
    Schema,
    /// Print a file with every key, its description and its default, all commented out
    Example,
}

#[derive(Debug, Subcommand)]
enum GuardCommand {
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

impl Cli {
    /// The job to run in the sandbox, if this process was started for that.
    pub fn confined(&self) -> Option<&str> {
        match &self.command {
            Some(Command::Confine { job }) => Some(job),
            _ => None,
        }
    }
}

/// Runs the command.
pub async fn run(cli: Cli, variables: BTreeMap<String, String>) -> Result<()> {
    telemetry::tell_panics();
    if let Some(Command::Doctor(wish)) = &cli.command {
        return doctor::run(cli.config.as_deref(), &variables, wish).await;
    }
    let config = Config::load(cli.config.as_deref(), &variables)?;
    let secrets = app::secrets(&config, &variables);
    let _traces = telemetry::start(&cli.log, &secrets, config.admin.otlp_url.as_ref())?;
    match cli.command.unwrap_or(Command::Serve) {
        Command::Serve => Box::pin(serve::run(cli.config, config, variables)).await,
        Command::Confine { .. } => {
            anyhow::bail!("only `main` runs sandbox jobs, before anything else")
        }
        Command::Doctor(_) => unreachable!("this command loads the configuration itself"),
        Command::Chat => chat(config, &variables).await,
        Command::Check => check(&config, &variables).await,
        Command::Migrate => {
            app::database::open_store(&config).await?;
            say("The tables are up to date.")
        }
        Command::Config { what: ConfigCommand::Print } => say(&printed(&config, &variables)?),
        Command::Config { what: ConfigCommand::Schema } => {
            say(&serde_json::to_string_pretty(&schema::schema())?)
        }
        Command::Config { what: ConfigCommand::Example } => say(example::example()?.trim_end()),
        Command::Backup { file } => back_up(&config, &file).await,
        Command::Restore { file } => restore(&config, &file).await,
        Command::Guard { what } => guard(&config, &variables, what).await,
        Command::Render(wish) => {
            for loss in render::run(&config, &wish).await? {
                writeln!(io::stderr(), "warning: {loss}")?;
            }
            Ok(())
        }
        Command::Audit { what } => {
            say(&audit::run(&app::database::open_store(&config).await?, what).await?)
        }
        Command::Mcp { what } => mcp::run((&config, &variables), what).await,
        Command::Skill(wish) => say(&skill::run(&config, wish)?),
        Command::Token(wish) => {
            say(&token::run(&config, &app::database::open_store(&config).await?, wish).await?)
        }
        Command::Pair { channel, role, hours } => {
            let wish = pair::Wish { channel, role, hours };
            say(&pair::offer((&config, &variables), wish).await?)
        }
    }
}

/// Prints the configuration without its secrets, including secrets that were written into other
/// texts.
pub fn printed(config: &Config, variables: &BTreeMap<String, String>) -> Result<String> {
    let secrets = app::secrets(config, variables);
    let redactor = Redactor::new(secrets.iter().map(String::as_str));
    Ok(redactor.own(&print::commented(config)?).into_owned())
}

async fn chat(config: Config, variables: &BTreeMap<String, String>) -> Result<()> {
    let mut signals = Signals::heard()?;
    let talk = app::terminal::open(config, variables).await?;
    let (app, terminal) = (&talk.app, &talk.terminal);
    say("Write to the agent. /help shows the commands, /file PATH sends a file, Ctrl-C quits.\n")?;
    app::terminal::show_open_approvals(app).await?;
    app.start();
    tokio::select! {
        _ = signals.next() => {}
        ended = app::terminal::all_is_said(app, terminal) => ended?,
    }
    app.stop().await
}

async fn check(config: &Config, variables: &BTreeMap<String, String>) -> Result<()> {
    let app = App::open(config, variables, Overrides::default()).await?;
    let list = |ids: Vec<&str>| ids.join(", ");
    let specs = app.worker.toolbox.specs();
    let lacks =
        specs.iter().filter_map(|s| Some(format!("; `{}`: {}", s.name, s.unavailable.as_ref()?)));
    let usable = specs.iter().filter(|spec| spec.unavailable.is_none()).count();
    let warnings = app.worker.policy_warnings().await?;
    let strangers = web_access::warnings(config, &app.gateway.store).await?;
    let warnings = config.renamed.iter().cloned().chain(warnings).chain(strangers);
    let warnings = warnings.map(|warning| format!("\n  warning   {warning}"));
    say(&format!(
        "The configuration is valid and the database answers.\n  models    {}\n  agents    {}\n  \
            channels  {}\n  tools     {usable} of {}{}\n  sandbox   {}{}",
        list(config.models.iter().map(|m| m.id.as_str()).collect()),
        list(config.agents.iter().map(|a| a.id.as_str()).collect()),
        list(config.channels.iter().map(|c| c.id.as_str()).collect()),
        specs.len(),
        lacks.collect::<String>(),
        app.sandbox.missing().unwrap_or("works"),
        warnings.collect::<String>(),
    ))
}

async fn back_up(config: &Config, file: &Path) -> Result<()> {
    let file_name = file.display();
    match backup::back_up(config, file).await? {
        Holds::Everything => say(&format!("{file_name} contains the database and all files.")),
        Holds::OnlyFiles => say(&format!(
            "{file_name} contains only the files. The database is PostgreSQL: dump it with pg_dump \
                before the files, so that no artifact is missing."
        )),
    }
}

async fn restore(config: &Config, file: &Path) -> Result<()> {
    match backup::restore(config, file).await? {
        Holds::Everything => say("The database and all files were restored. Start the gateway."),
        Holds::OnlyFiles => say(
            "The files were restored. Restore the database with pg_restore, then start the gateway.",
        ),
    }
}

async fn guard(
    config: &Config,
    variables: &BTreeMap<String, String>,
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
            let (_, document) = rules::export(&app::database::open_store(config).await?).await?;
            say(toml::to_string_pretty(&document)?.trim_end())
        }
        GuardCommand::Remove { name } => {
            let store = app::database::open_store(config).await?;
            let by = (COMMAND_LINE, SystemClock.now());
            let removed = rules::remove(&store, name.clone(), by).await?;
            anyhow::ensure!(removed, "there is no rule `{name}` in the database");
            say("The rule was deleted.")
        }
    }
}

/// The author of changes made on the command line.
const COMMAND_LINE: &str = "command line";
/// The role of the command line.
const OPERATOR: &str = "operator";

fn say(text: &str) -> Result<()> {
    Ok(writeln!(io::stdout(), "{text}")?)
}
