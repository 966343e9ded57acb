//! `countersign mcp login`: signs the gateway in to an MCP server.

use anyhow::{Context as _, Result, bail};
use std::{
    collections::BTreeMap,
    io::{self, BufRead as _},
    time::Duration,
};
use tokio::{net::TcpListener, time::timeout};

use super::say;
use crate::{app, config::Config, tools::mcp::login};

/// The timeout for signing in.
const WAITS_FOR: Duration = Duration::from_mins(10);

/// Prints the URL, and waits for the redirect of the browser. If the browser is on another machine,
/// waits for the final URL as input instead.
pub async fn run(
    config: &Config,
    variables: &BTreeMap<String, String>,
    name: &str,
    paste: bool,
) -> Result<()> {
    let Some(entry) = config.mcp.iter().find(|entry| entry.name == name) else {
        bail!("there is no [[mcp]] with the name `{name}`");
    };
    let server = app::tools::server(entry, config, variables, None)?;
    if paste {
        let begun = login::begin(&server, login::NOWHERE).await?;
        say(&format!(
            "Open this URL and sign in. At the end the browser shows a page that it cannot load; \
                paste its URL here:\n\n{}\n",
            begun.address()
        ))?;
        let line = tokio::task::spawn_blocking(|| {
            let mut line = String::new();
            io::stdin().lock().read_line(&mut line).map(|_| line)
        });
        begun.end(&server, line.await??.trim()).await?;
    } else {
        let listener = TcpListener::bind("127.0.0.1:0").await.context("opening a local port")?;
        let begun = login::begin(&server, &login::redirect(&listener)?).await?;
        say(&format!(
            "Open this URL in a browser on this machine (--paste for a browser elsewhere):\n\n{}\n",
            begun.address()
        ))?;
        let back = timeout(WAITS_FOR, begun.returned(&listener)).await;
        begun.end(&server, &back.context("nobody signed in within ten minutes")??).await?;
    }
    say("Signed in. A running gateway connects within a minute.")
}
