//! `countersign mcp`: lists tools of MCP servers, trusts them, signs in.

use anyhow::{Result, bail};
use clap::Subcommand;
use std::{collections::BTreeMap, fmt::Write as _};

use super::{OPERATOR, examples, login, output::OutputFormat, say};
use crate::{
    admin::api::mcp::PinView,
    app::database::open_store,
    clock::{Clock as _, SystemClock},
    config::Config,
    store::{
        Store,
        tools::pins::{self, Pin, PinState},
    },
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
    /// Trust a tool as it is now, or all tools of a server: it is no longer withheld, and its own
    /// claim to be read-only is believed
    #[command(after_help = examples::MCP_TRUST)]
    Trust {
        server: String,
        /// The server's name for the tool, as shown by `mcp list`
        tool: Option<String>,
    },
    /// Sign in to a remote server that requires a user's authorisation
    #[command(after_help = examples::MCP_LOGIN)]
    Login {
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
        McpCommand::Trust { server, tool } => {
            say(&trust(&open_store(config).await?, server, tool).await?)
        }
        McpCommand::Login { server, paste } => login::run(config, variables, &server, paste).await,
    }
}

async fn list(store: &Store, server: Option<String>, output: OutputFormat) -> Result<String> {
    let mut pins = store.read(|tx| Box::pin(pins::all(tx))).await?;
    pins.retain(|pin| server.as_ref().is_none_or(|server| *server == pin.server));
    let views: Vec<_> = pins.iter().cloned().map(PinView::from).collect();
    let none = "No tools yet: start the gateway, so that it connects to the servers.";
    output.of(&views, || match pins.as_slice() {
        [] => none.to_owned(),
        pins => pins.iter().map(line).collect::<Vec<_>>().join("\n"),
    })
}

fn line(pin: &Pin) -> String {
    let standing = match pin.standing() {
        PinState::Seen => "as first seen".to_owned(),
        PinState::Vouched => format!("trusted by {}", pin.vouched_by),
        PinState::Changed => "CHANGED, withheld".to_owned(),
    };
    let digest = pins::digest(&pin.definition);
    let mut line = format!("{} {}: {standing} ({})", pin.server, pin.tool, &digest[..12]);
    if let Some(offered) = &pin.offered {
        let plain = channels::text::neutralise;
        let (was, is) = (plain(&pin.definition), plain(offered));
        // Writing to a string cannot fail.
        let _ = write!(line, "\n  was {was}\n  is  {is}");
    }
    line
}

async fn trust(store: &Store, server: String, tool: Option<String>) -> Result<String> {
    let (of, now) = (server.clone(), SystemClock.now());
    let trusted = store.write("trust tools", move |tx| {
        Box::pin(async move { pins::trust(tx, &of, tool.as_deref(), OPERATOR, now).await })
    });
    let trusted = trusted.await?;
    if trusted.is_empty() {
        bail!("there is no such tool of `{server}`; `countersign mcp list` lists the tools");
    }
    Ok(format!("Trusted as they are now, effective within ten seconds: {}.", trusted.join(", ")))
}
