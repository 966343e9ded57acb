//! The command line.

pub(crate) mod audit;
mod browser;
mod builder;
mod check;
pub(crate) mod configuration;
mod doctor;
mod examples;
mod extensions;
mod extract;
mod guard;
mod init;
mod login;
mod logs;
mod man;
mod mcp;
mod media;
mod output;
mod pair;
mod people;
mod prompt;
mod render;
mod report;
mod serve;
mod skill;
mod token;
mod wasm;
mod web_access;
pub(crate) mod wiki;

use anyhow::Result;
use clap::{Parser, Subcommand};
use std::{
    collections::BTreeMap,
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use sandbox::confine;
use serve::Signals;

use crate::{
    app::{
        self,
        backup::{self, BackupScope},
    },
    config::Config,
    journal::role::Role,
    telemetry,
    tools::documents::confined_jobs,
};

/// The command line.
#[derive(Debug, Parser)]
#[command(name = "countersign", version, about = env!("CARGO_PKG_DESCRIPTION"), long_about = None)]
#[command(after_help = examples::CLI)]
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
    #[command(after_help = examples::SERVE)]
    Serve(serve::Serve),
    /// Ask for a chat platform and a language model, test both, and write a configuration file
    #[command(after_help = examples::INIT)]
    Init,
    /// Talk to the agent in the terminal
    #[command(after_help = examples::CHAT)]
    Chat,
    /// Check the configuration and the database, and print a summary
    #[command(after_help = examples::CHECK)]
    Check(output::OutputFormat),
    /// Check that everything the gateway needs is in place, and suggest fixes
    #[command(after_help = examples::DOCTOR)]
    Doctor(doctor::Doctor),
    /// Migrate the tables of the database
    #[command(after_help = examples::MIGRATE)]
    Migrate,
    /// Show the configuration
    #[command(after_help = examples::CONFIG)]
    Config {
        #[command(subcommand)]
        what: configuration::ConfigCommand,
    },
    /// Back up the SQLite database and the agents' files into one file; the gateway may be running
    #[command(after_help = examples::BACKUP)]
    Backup {
        /// The file to write (tar)
        file: PathBuf,
    },
    /// Restore a backup into an empty data folder
    #[command(after_help = examples::RESTORE)]
    Restore {
        /// A file written by `backup`
        file: PathBuf,
    },
    /// Manage and test guard rules
    #[command(after_help = examples::GUARD)]
    Guard {
        #[command(subcommand)]
        what: guard::GuardCommand,
    },
    /// Render a document from a Markdown, CSV or JSON file
    #[command(after_help = examples::RENDER)]
    Render(render::Render),
    /// Inspect the audit log
    #[command(after_help = examples::AUDIT)]
    Audit {
        #[command(subcommand)]
        what: audit::AuditCommand,
    },
    /// Manage tools of MCP servers
    #[command(after_help = examples::MCP)]
    Mcp {
        #[command(subcommand)]
        what: mcp::McpCommand,
    },
    /// Manage WASM tools
    #[command(after_help = examples::WASM)]
    Wasm {
        #[command(subcommand)]
        what: wasm::WasmCommand,
    },
    /// Manage agent skills
    #[command(after_help = examples::SKILL)]
    Skill(skill::SkillArgs),
    /// Internal: reads a document or runs a program in the sandbox
    #[command(hide = true)]
    Confine {
        #[arg(long)]
        job: String,
    },
    /// Print a one-time sign-in link for the web chat or, with --api, an API token
    #[command(after_help = examples::TOKEN)]
    Token(token::TokenArgs),
    /// Show the log of the gateway: of the systemd unit, a file or a pipe
    #[command(after_help = examples::LOGS)]
    Logs(logs::LogsArgs),
    /// List the people who have access, with their roles
    #[command(after_help = examples::PEOPLE)]
    People(people::PeopleArgs),
    /// Print the text of a document as agents read it, in the sandbox
    #[command(after_help = examples::EXTRACT)]
    Extract(extract::Extract),
    /// Export the wiki of an agent
    #[command(after_help = examples::WIKI)]
    Wiki {
        #[command(subcommand)]
        what: wiki::WikiCommand,
    },
    /// Print a completion script for a shell
    #[command(after_help = examples::COMPLETIONS)]
    Completions {
        /// The shell for which to print the script
        shell: clap_complete::Shell,
    },
    /// Write a man page for each command
    #[command(after_help = examples::MAN)]
    Man {
        /// The folder to write them to
        #[arg(value_name = "DIR")]
        folder: PathBuf,
    },
    /// Print a pairing code that gives one person access to the bot
    #[command(after_help = examples::PAIR)]
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

/// What a command does if the SQLite database does not exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum IfMissing {
    Create,
    Fail,
    /// It works without a database, or reports that there is none.
    GoOn,
}

impl Command {
    fn if_database_is_missing(&self) -> IfMissing {
        use {guard::GuardCommand, mcp::McpCommand};
        match self {
            Self::Serve(_) | Self::Chat | Self::Migrate => IfMissing::Create,
            Self::Restore { .. }
            | Self::Doctor(_)
            | Self::Config { .. }
            | Self::Render(_)
            | Self::Skill(_)
            | Self::Confine { .. }
            | Self::Extract(_)
            | Self::Init
            | Self::Logs(_)
            | Self::Completions { .. }
            | Self::Man { .. }
            | Self::Guard { what: GuardCommand::List(_) }
            | Self::Mcp { what: McpCommand::Login { .. } } => IfMissing::GoOn,
            Self::Check(_)
            | Self::Backup { .. }
            | Self::Guard { .. }
            | Self::Audit { .. }
            | Self::Mcp { .. }
            | Self::Wasm { .. }
            | Self::Token(_)
            | Self::People(_)
            | Self::Wiki { .. }
            | Self::Pair { .. } => IfMissing::Fail,
        }
    }
}

impl Cli {
    /// Performs a job in the sandbox and exits, if this process was started for that.
    pub fn perform_confined_job(&self) {
        if let Some(Command::Confine { job }) = &self.command {
            std::process::exit(confine::run(job, confined_jobs::perform));
        }
    }
}

/// Runs the command. Not `async`: a future is compiled where it is polled, and all that follows from
/// here would be compiled for the binary once more.
pub fn run(cli: Cli, variables: BTreeMap<String, String>) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let ran = runtime.block_on(run_command(cli, variables));
    // Does not wait for files that are being read or written: the call is recorded as started, and
    // is repeated.
    runtime.shutdown_background();
    ran
}

async fn run_command(cli: Cli, mut variables: BTreeMap<String, String>) -> Result<()> {
    telemetry::log_panics();
    if let Some(Command::Serve(args)) = &cli.command {
        // Also applies when the configuration is reloaded.
        variables.extend(args.variable());
    }
    match &cli.command {
        Some(Command::Doctor(args)) => {
            return doctor::run(cli.config.as_deref(), &variables, args).await;
        }
        Some(Command::Init) => return init::run(cli.config.as_deref(), &variables).await,
        Some(Command::Logs(args)) => return logs::run(args),
        Some(Command::Completions { shell }) => return say(&man::completions(*shell)),
        Some(Command::Man { folder }) => return say(&man::write(folder)?),
        _ => {}
    }
    let config = Config::load(cli.config.as_deref(), &variables)?;
    let secrets = app::secrets(&config, &variables);
    let _traces = telemetry::start(&cli.log, &secrets, config.admin.otlp_url.as_ref())?;
    let command = cli.command.unwrap_or(Command::Serve(serve::Serve::default()));
    match command.if_database_is_missing() {
        IfMissing::Create => app::database::not_left_behind(&config)?,
        IfMissing::Fail => app::database::must_exist(&config)?,
        IfMissing::GoOn => {}
    }
    let store = async || app::database::open_store(&config).await;
    match command {
        Command::Serve(_) => Box::pin(serve::run(cli.config, config, variables)).await,
        Command::Confine { .. } => {
            anyhow::bail!("only `main` runs sandbox jobs, before anything else")
        }
        Command::Doctor(_) => unreachable!("this command loads the configuration itself"),
        Command::Chat => Box::pin(chat(config, &variables)).await,
        Command::Check(output) => check::run(&config, &variables, output).await,
        Command::Migrate => {
            store().await?;
            say("The tables are up to date.")
        }
        Command::Config { what } => configuration::run(what, &config, &variables),
        Command::Backup { file } => back_up(&config, &file).await,
        Command::Restore { file } => restore(&config, &file).await,
        Command::Guard { what } => guard::run(&config, &variables, what).await,
        Command::Render(args) => draw(&config, &args).await,
        Command::Audit { what } => say(&audit::run(&store().await?, what).await?),
        Command::Mcp { what } => mcp::run(&config, &variables, what).await,
        Command::Wasm { what } => wasm::run(&config, &variables, &store().await?, what).await,
        Command::Skill(args) => skill::run(&config, args),
        Command::Token(args) => say(&token::run(&config, &store().await?, args).await?),
        Command::People(args) => say(&people::run(&store().await?, args).await?),
        Command::Wiki { what } => say(&wiki::run(&store().await?, what).await?),
        Command::Extract(args) => say(&extract::run(&config, &variables, &args).await?),
        Command::Init | Command::Logs(_) | Command::Completions { .. } | Command::Man { .. } => {
            unreachable!("these commands need no configuration")
        }
        Command::Pair { channel, role, hours } => {
            let args = pair::PairArgs { channel, role, hours };
            say(&pair::offer(&config, &variables, args).await?)
        }
    }
}

async fn draw(config: &Config, args: &render::Render) -> Result<()> {
    let written = render::run(config, args).await?;
    for loss in &written.warnings {
        writeln!(io::stderr(), "warning: {loss}")?;
    }
    say(&format!("Wrote {}.", written.file.display()))
}

async fn chat(config: Config, variables: &BTreeMap<String, String>) -> Result<()> {
    let mut signals = Signals::listen()?;
    let talk = app::terminal::open(config, variables).await?;
    let (app, terminal) = (&talk.app, &talk.terminal);
    say("Write to the agent. /help shows the commands, /file PATH sends a file, Ctrl-C quits.\n")?;
    app::terminal::show_open_approvals(app).await?;
    app.start();
    tokio::select! {
        _ = signals.next() => {}
        ended = app::terminal::until_all_answered(app, terminal) => ended?,
    }
    app.stop().await
}

async fn back_up(config: &Config, file: &Path) -> Result<()> {
    let (file_name, folders) = (file.display(), backup::FOLDERS.join(", "));
    let missing = "It contains neither the configuration and its secrets, nor WASM tools, nor \
        folders outside of data_dir.";
    match backup::back_up(config, file).await? {
        BackupScope::Everything => say(&format!(
            "{file_name} contains the database, and of data_dir: {folders}. {missing}"
        )),
        BackupScope::OnlyFiles => say(&format!(
            "{file_name} contains only these folders of data_dir: {folders}. {missing} The database \
                is PostgreSQL: dump it with pg_dump before the files, so that no artifact is missing."
        )),
    }
}

async fn restore(config: &Config, file: &Path) -> Result<()> {
    match backup::restore(config, file).await? {
        BackupScope::Everything => {
            say("The database and the files of the backup were restored. Start the gateway.")
        }
        BackupScope::OnlyFiles => say(
            "The files of the backup were restored. Restore the database with pg_restore, then start \
                the gateway.",
        ),
    }
}

/// The author of changes made on the command line.
const COMMAND_LINE: &str = "command line";
/// The role of the command line.
const OPERATOR: &str = "operator";

/// Prints a text. It is not an error if nobody reads it to its end, as in `countersign pair | head -1`.
fn say(text: &str) -> Result<()> {
    match writeln!(io::stdout(), "{text}") {
        Err(problem) if problem.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        said => Ok(said?),
    }
}
