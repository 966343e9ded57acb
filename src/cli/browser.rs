//! Checks the browser for `countersign doctor`.

use anyhow::{Context as _, Result};
use sandbox::Sandbox;
use std::sync::Arc;

use crate::{admin::reload::CheckStatus, config::Config, tools::browser::BrowserSettings};

/// Starts the browser once, if it is enabled.
pub(super) async fn check(
    config: &Config,
    sandbox: &Arc<Sandbox>,
) -> Option<Result<(CheckStatus, String)>> {
    match config.browser.build(config, sandbox).transpose()? {
        Ok(settings) => Some(probe(&settings).await),
        Err(problem) => Some(Err(problem)),
    }
}

async fn probe(settings: &BrowserSettings) -> Result<(CheckStatus, String)> {
    if let Some(why) = settings.unavailable() {
        return Ok((CheckStatus::Fault, why));
    }
    let version = settings.probe().await.context("it cannot be started")?;
    Ok((CheckStatus::Fine, format!("{version} starts in the sandbox")))
}
