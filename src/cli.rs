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
    /// Configuration file [default: countersign.toml, if it is there]
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
    /// What to log, as in `info` or `countersign=debug,warn`
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
    /// Talk to the agent right here
    Chat,
    /// Check the configuration and reach the database, then say what would run
    Check,
    /// Look whether everything is there that a gateway needs, and say what to do
    Doctor(doctor::Doctor),
    /// Bring the database's tables up to date
    Migrate,
    /// The configuration
    Config {
        #[command(subcommand)]
        what: ConfigCommand,
    },
    /// Write everything that is remembered into one file, while the gateway runs
    Backup {
        /// The file to write, a tar archive
        file: PathBuf,
    },
    /// Put a backup where this configuration wants its data, on a machine that has none
    Restore {
        /// The file that `backup` wrote
        file: PathBuf,
    },
    /// The guard's rules
    Guard {
        #[command(subcommand)]
        what: GuardCommand,
    },
    /// Make a document out of a Markdown, CSV or JSON file
    Render(render::Render),
    /// What was judged, decided and run
    Audit {
        #[command(subcommand)]
        what: audit::AuditCommand,
    },
    /// Tools of other people's servers
    Mcp {
        #[command(subcommand)]
        what: mcp::McpCommand,
    },
    /// Know-how for the agents
    Skill(skill::Skill),
    /// What the gateway starts itself as, to read a document or to run a program in the sandbox
    #[command(hide = true)]
    Confine {
        #[arg(long)]
        job: String,
    },
    /// Print a one-time link that signs in to the web chat; or, with --api, a token for programs
    Token(token::Token),
    /// Print a pairing code that lets one person talk to the bots
    Pair {
        /// Only on this channel [default: any]
        #[arg(long)]
        channel: Option<String>,
        /// What the code makes of that person: viewer, member, approver, operator or owner [default:
        /// member, or owner as long as nobody is]
        #[arg(long, value_parser = pair::role)]
        role: Option<Role>,
        /// How many hours the code works
        #[arg(long, default_value_t = 24)]
        hours: u32,
    },
}

#[derive(Debug, Subcommand)]
enum ConfigCommand {
    /// Print what is in force, with a comment for each key and without secrets
    Print,
    /// Print what may stand in it, as a JSON schema for editors
    Schema,
    /// Print a file with every key, its description and its default, all commented out
    Example,
}

#[derive(Debug, Subcommand)]
enum GuardCommand {
    /// Say what the guard would do with a call, which rule decides, and why
    Test {
        /// The tool's name, as in `shell`
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
        /// That person's role
        #[arg(long)]
        role: Option<String>,
        /// Suppose that the conversation has read other people's words
        #[arg(long)]
        tainted: bool,
    },
    /// Name the shipped rules, which `guard.disabled_rules` turns off
    List,
    /// Take rules into the database, in force at once on all nodes
    Import {
        /// .toml or .json as `guard export` writes them, or .yaml of MateClaw
        file: PathBuf,
        /// Instead of those that are there, rather than besides them
        #[arg(long)]
        replace: bool,
    },
    /// Print the rules of the database as one TOML document
    Export,
    /// Take a rule out of the database
    Remove {
        /// The rule's name, as `guard export` shows it
        name: String,
    },
}

impl Cli {
    /// What is to be done in the sandbox, if that is what this process is for.
    pub fn confined(&self) -> Option<&str> {
        match &self.command {
            Some(Command::Confine { job }) => Some(job),
            _ => None,
        }
    }
}

/// Runs what the command line says.
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
        Command::Confine { .. } => anyhow::bail!("only `main` confines, before anything else runs"),
        Command::Doctor(_) => unreachable!("it loads the configuration itself"),
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

/// The configuration without its secrets, also where somebody has written them into a text.
pub fn printed(config: &Config, variables: &BTreeMap<String, String>) -> Result<String> {
    let secrets = app::secrets(config, variables);
    let redactor = Redactor::new(secrets.iter().map(String::as_str));
    Ok(redactor.own(&print::commented(config)?).into_owned())
}

async fn chat(config: Config, variables: &BTreeMap<String, String>) -> Result<()> {
    let mut signals = Signals::heard()?;
    let talk = app::terminal::open(config, variables).await?;
    let (app, terminal) = (&talk.app, &talk.terminal);
    say("Write to the agent; /help says how, /file PATH sends a file, Ctrl-C ends it.\n")?;
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
    let warnings = config.renamed.iter().cloned().chain(warnings);
    let warnings = warnings.map(|warning| format!("\n  warning   {warning}"));
    say(&format!(
        "The configuration is good and the database answers.\n  models    {}\n  agents    {}\n  channels  {}\n  tools     {usable} of {}{}\n  sandbox   {}{}",
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
        Holds::Everything => say(&format!("{file_name} holds the database and all files.")),
        Holds::OnlyFiles => say(&format!(
            "{file_name} holds the files only. The database is PostgreSQL: dump it before the \
             files, with pg_dump, so that no artifact is missing."
        )),
    }
}

async fn restore(config: &Config, file: &Path) -> Result<()> {
    match backup::restore(config, file).await? {
        Holds::Everything => say("The database and all files are in place. Start the gateway."),
        Holds::OnlyFiles => say(
            "The files are in place. Restore the database with pg_restore, then start the gateway.",
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
            let arguments = serde_json::from_str(&arguments).context("the arguments")?;
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
            say(&format!("{count} rules are in force."))?;
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
            say("It is removed.")
        }
    }
}

/// Who changes rules from here.
const COMMAND_LINE: &str = "command line";
/// Whoever has the command line.
const OPERATOR: &str = "operator";

fn say(text: &str) -> Result<()> {
    Ok(writeln!(io::stdout(), "{text}")?)
}
