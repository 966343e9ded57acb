//! `countersign mcp login`: signs the gateway in to a server of tools.

use anyhow::{Context as _, Result, bail};
use std::{
    collections::BTreeMap,
    io::{self, BufRead as _},
    time::Duration,
};
use tokio::{net::TcpListener, time::timeout};

use super::say;
use crate::{app, config::Config, tools::mcp::login};

/// How long a person has to sign in.
const WAITS_FOR: Duration = Duration::from_mins(10);

/// Prints the address, and waits for the browser; or, for one on another machine, for what it shows
/// in the end.
pub async fn run(
    (config, variables): (&Config, &BTreeMap<String, String>),
    name: &str,
    paste: bool,
) -> Result<()> {
    let Some(entry) = config.mcp.iter().find(|entry| entry.name == name) else {
        bail!("there is no [[mcp]] called `{name}`");
    };
    let server = app::tools::server((entry, config), variables, None)?;
    if paste {
        let begun = login::begin(&server, login::NOWHERE).await?;
        say(&format!(
            "Open this address, sign in, and paste here the address of the page that could not be \
             shown in the end:\n\n{}\n",
            begun.address()
        ))?;
        let line = tokio::task::spawn_blocking(|| {
            let mut line = String::new();
            io::stdin().lock().read_line(&mut line).map(|_| line)
        });
        begun.end(&server, line.await??.trim()).await?;
    } else {
        let listener = TcpListener::bind("127.0.0.1:0").await.context("a port of this machine")?;
        let begun = login::begin(&server, &login::redirect(&listener)?).await?;
        say(&format!(
            "Open this address in a browser on this machine (--paste for one elsewhere):\n\n{}\n",
            begun.address()
        ))?;
        let back = timeout(WAITS_FOR, begun.returned(&listener)).await;
        begun.end(&server, &back.context("nobody has signed in within ten minutes")??).await?;
    }
    say("Signed in. A gateway that runs connects within a minute.")
}
