//! The checks of extensions for `countersign doctor`.

use anyhow::{Result, ensure};
use futures::{FutureExt as _, future::BoxFuture};
use sandbox::Sandbox;
use std::{collections::BTreeMap, env, sync::Arc};

use crate::{
    admin::reload::CheckStatus,
    app::{self, tools},
    clock::SystemClock,
    config::Config,
    tools::{
        extensions::{
            Extensions,
            installed::{InstalledServer, ServerState},
            server_json::LaunchTarget,
        },
        mcp::listing,
    },
};

/// A check that contacts another system, with its name.
pub(super) type LiveCheck<'a> = (String, BoxFuture<'a, Result<(CheckStatus, String)>>);

fn extensions(config: &Config) -> Result<Extensions> {
    config.extensions(tools::folders(config))
}

fn enabled(extensions: &Extensions) -> Result<Vec<(String, InstalledServer)>> {
    let installed = extensions.servers.installed()?.into_iter();
    Ok(installed.filter(|(_, server)| server.state == ServerState::Enabled).collect())
}

/// Whether all installed servers can be started.
pub(super) fn check(config: &Config) -> Result<(CheckStatus, String)> {
    let extensions = extensions(config)?;
    let mut count = 0;
    for (name, server) in enabled(&extensions)? {
        count += 1;
        let missing = extensions.missing_secrets(&name, &server);
        ensure!(
            missing.is_empty(),
            "{name} needs {}: set it in extensions.secrets.{name}",
            missing.join(", ")
        );
        if let LaunchTarget::Command(command) = &server.launch.target
            && let Some(program) = command.first()
        {
            ensure!(is_on_path(program), "{name} needs the program {program}: install it");
        }
    }
    let sources = extensions.registries.len() + extensions.skill_indexes.len();
    Ok((CheckStatus::Fine, format!("{count} installed servers enabled; {sources} indexes")))
}

fn is_on_path(program: &str) -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

/// Contacts the indexes and the installed servers.
pub(super) fn live<'a>(
    config: &'a Config,
    variables: &'a BTreeMap<String, String>,
) -> Vec<LiveCheck<'a>> {
    let Ok(extensions) = extensions(config) else { return Vec::new() };
    let extensions = Arc::new(extensions);
    let mut checks: Vec<LiveCheck<'a>> = Vec::new();
    for (place, url) in extensions.indexes().into_iter().enumerate() {
        let extensions = extensions.clone();
        let found = async move {
            let entries = extensions.probe(place).await?;
            Ok((CheckStatus::Fine, format!("answers with {entries} entries")))
        };
        checks.push((format!("index {url}, live"), found.boxed()));
    }
    // A folder that cannot be read is reported by `check`.
    for (name, server) in enabled(&extensions).unwrap_or_default() {
        let check = format!("mcp {name}, live");
        let found = async move {
            let sandbox = Arc::new(Sandbox::probe(&env::current_exe()?).await);
            let server = app::extensions::mcp_config(&name, &server, config, variables)?;
            let server = app::extensions::confined(server, config, &sandbox)?;
            let (spoken, tools) = listing::probe(&server, Arc::new(SystemClock)).await?;
            Ok((CheckStatus::Fine, format!("answers with protocol {spoken} and {tools} tools")))
        };
        checks.push((check, found.boxed()));
    }
    checks
}
