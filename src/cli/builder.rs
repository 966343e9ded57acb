//! Checks the languages of the software builder.

use anyhow::Result;
use sandbox::Sandbox;

use crate::{admin::reload::CheckStatus, app, config::Config};

/// Which languages software can be built in, and what to install for the others.
pub(super) async fn check(config: &Config) -> Result<(CheckStatus, String)> {
    if !config.builder.enabled {
        return Ok((CheckStatus::Fine, "is off (builder.enabled)".to_owned()));
    }
    let sandbox = Sandbox::probe(&std::env::current_exe()?).await;
    if let Some(why) = sandbox.missing() {
        return Ok((CheckStatus::Warning, format!("builds nothing: {why}")));
    }
    let found = app::builder::toolchains(config, &sandbox).await;
    let status = if found.are_complete() { CheckStatus::Fine } else { CheckStatus::Warning };
    Ok((status, format!("has {}", found.about())))
}
