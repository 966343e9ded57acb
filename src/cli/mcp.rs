//! `countersign mcp`: lists tools of MCP servers, trusts them, signs in.

use anyhow::{Result, anyhow, bail};
use clap::Subcommand;
use sandbox::Sandbox;
use std::{collections::BTreeMap, fmt::Write as _, sync::Arc};

use super::{OPERATOR, examples, login, output::OutputFormat, say};
use crate::{
    admin::{api::mcp::PinView, reload::CheckStatus},
    app::{self, database::open_store},
    clock::{Clock as _, SystemClock},
    config::{Config, McpEntry},
    store::{
        Store,
        tools::pins::{self, MODULES, Pin, PinState, Reviewed, TrustOutcome},
    },
    tools::mcp::listing,
};

#[derive(Debug, Subcommand)]
pub enum McpCommand {
    /// List all tools that were ever seen, with their trust and changes
    #[command(after_help = examples::MCP_LIST)]
    List {
        /// Only those of this server
        server: Option<String>,
        #[command(flatten)]
        output: OutputFormat,
    },
    /// Trust a tool as reviewed, or all tools of a server: it is no longer withheld, and its own
    /// claim to be read-only is believed. Without `--digest`, show what is to be reviewed
    #[command(after_help = examples::MCP_TRUST)]
    Trust {
        /// The name of the server in the configuration
        server: String,
        /// The server's name for the tool, as shown by `mcp list`
        tool: Option<String>,
        /// The digest of the reviewed definitions; if they have changed since, nothing is trusted
        #[arg(long)]
        digest: Option<String>,
    },
    /// Sign in to a remote server that requires a user's authorisation
    #[command(after_help = examples::MCP_LOGIN)]
    Login {
        /// The name of the server in the configuration
        server: String,
        /// The browser is on another machine: paste the URL that it shows in the end
        #[arg(long)]
        paste: bool,
    },
}

/// Runs the command and returns its output.
pub async fn run(
    config: &Config,
    variables: &BTreeMap<String, String>,
    command: McpCommand,
) -> Result<()> {
    match command {
        McpCommand::List { server, output } => {
            say(&list(&open_store(config).await?, server, output).await?)
        }
        McpCommand::Trust { server, tool, digest: Some(digest) } => {
            say(&trust(&open_store(config).await?, Reviewed { server, tool, digest }).await?)
        }
        McpCommand::Trust { server, tool, digest: None } => {
            let review = review(&open_store(config).await?, server, tool).await?;
            say(&review.shown)?;
            bail!(
                "nothing was trusted yet. Review the definitions; if they are right, run \
                    `{}`",
                review.command
            )
        }
        McpCommand::Login { server, paste } => login::run(config, variables, &server, paste).await,
    }
}

async fn list(store: &Store, server: Option<String>, output: OutputFormat) -> Result<String> {
    let mut pins = store.read(|tx| Box::pin(pins::all(tx))).await?;
    pins.retain(|pin| pin.server != MODULES);
    pins.retain(|pin| server.as_ref().is_none_or(|server| *server == pin.server));
    let views: Vec<_> = pins.iter().cloned().map(PinView::from).collect();
    let none = "No tools yet: start the gateway, so that it connects to the servers.";
    output.of(&views, || match pins.as_slice() {
        [] => none.to_owned(),
        pins => pins.iter().map(line).collect::<Vec<_>>().join("\n"),
    })
}

fn line(pin: &Pin) -> String {
    let state = match pin.state() {
        PinState::Seen => "as first seen".to_owned(),
        PinState::Trusted => format!("trusted by {}", pin.trusted_by),
        PinState::Changed => "CHANGED, withheld".to_owned(),
    };
    let (tool, digest) = (one_line(&pin.tool), pins::digest(pin.now()));
    let mut line = format!("{} {tool}: {state} ({})", pin.server, &digest[..12]);
    if let Some(offered) = &pin.offered {
        let plain = channels::text::neutralise;
        let (was, is) = (plain(&pin.definition), plain(offered));
        // Writing to a string cannot fail.
        let _ = write!(line, "\n  was {was}\n  is  {is}");
    }
    line
}

/// The name of a tool, which the server chooses.
fn one_line(name: &str) -> String {
    channels::text::neutralise(name).replace(['\n', '\t'], "␤")
}

/// What has to be reviewed before it is trusted, and the command that trusts it then.
struct Review {
    shown: String,
    command: String,
}

async fn review(store: &Store, server: String, tool: Option<String>) -> Result<Review> {
    let of = server.clone();
    let find = store.read(move |tx| Box::pin(async move { pins::of_server(tx, &of).await }));
    let mut pins: Vec<_> = find.await?.into_values().collect();
    pins.retain(|pin| tool.as_ref().is_none_or(|tool| *tool == pin.tool));
    if pins.is_empty() {
        return Err(missing(&server));
    }
    let shown: Vec<_> = pins.iter().map(reviewed).collect();
    let (digest, tool) = (pins::digest_of(&pins), tool.map(|tool| format!(" {tool}")));
    let tool = tool.unwrap_or_default();
    let command = format!("countersign mcp trust {server}{tool} --digest {digest}");
    Ok(Review { shown: shown.join("\n"), command })
}

/// A tool with its current definition.
fn reviewed(pin: &Pin) -> String {
    match pin.offered {
        Some(_) => line(pin),
        None => format!("{}\n  is  {}", line(pin), channels::text::neutralise(&pin.definition)),
    }
}

fn missing(server: &str) -> anyhow::Error {
    anyhow!("there is no such tool of `{server}`; `countersign mcp list` lists the tools")
}

async fn trust(store: &Store, reviewed: Reviewed) -> Result<String> {
    let (server, now) = (reviewed.server.clone(), SystemClock.now());
    let trust = store.write("trust tools", move |tx| {
        let reviewed = reviewed.clone();
        Box::pin(async move { pins::trust(tx, &reviewed, OPERATOR, now).await })
    });
    match trust.await? {
        TrustOutcome::Trusted(tools) => {
            let tools: Vec<_> = tools.iter().map(|tool| one_line(tool)).collect();
            let tools = tools.join(", ");
            Ok(format!("Trusted as reviewed, effective within ten seconds: {tools}."))
        }
        TrustOutcome::Missing => Err(missing(&server)),
        TrustOutcome::Changed => bail!(
            "nothing was trusted: the definitions are not those with this digest. Review them again \
                with `countersign mcp trust {server}`"
        ),
    }
}

/// Checks that an MCP server answers.
pub(super) async fn served(
    entry: &McpEntry,
    config: &Config,
    variables: &BTreeMap<String, String>,
) -> Result<(CheckStatus, String)> {
    let sandbox = Arc::new(Sandbox::probe(&std::env::current_exe()?).await);
    let sandbox = app::tools::server_sandbox(entry, config, &sandbox);
    let server = app::tools::server(entry, config, variables, sandbox)?;
    let (spoken, tools) = listing::probe(&server, Arc::new(SystemClock)).await?;
    Ok((CheckStatus::Fine, format!("answers with protocol {spoken} and {tools} tools")))
}
