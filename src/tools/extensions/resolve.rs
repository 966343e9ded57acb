//! What a call would install, and the state that its approval is bound to.

use anyhow::Result;
use sha2::{Digest as _, Sha256};
use std::{collections::BTreeSet, fmt::Write as _};
use url::Url;

use super::{
    Extensions, failed,
    installed::{InstalledServer, ServerState},
    registry,
    server_json::LaunchTarget,
    skill_index::{self, SkillEntry},
};
use crate::{
    agent::naming::sanitise,
    tools::{
        ToolError,
        skills::{front, package::Package, scan},
    },
};

/// A skill of an index, with its files.
pub(super) struct ResolvedSkill {
    /// The URL of the index.
    pub source: String,
    pub package: Package,
}

/// A server of a registry, and the name that it gets here.
pub(super) struct ResolvedServer {
    pub name: String,
    pub server: InstalledServer,
    /// The entry of that name, also of a server that was removed.
    pub replaces: Option<InstalledServer>,
}

impl Extensions {
    /// The entries of all indexes of skills, and the problems of those that could not be read.
    pub(super) async fn skill_entries(&self) -> (Vec<SkillEntry>, Vec<ToolError>) {
        let (mut entries, mut problems) = (Vec::new(), Vec::new());
        for index in &self.skill_indexes {
            match skill_index::entries(&self.web_client, index).await {
                Ok(found) => entries.extend(found),
                Err(problem) => problems.push(problem),
            }
        }
        (entries, problems)
    }

    /// The skill with that name, from the first index that has it.
    pub(super) async fn skill(&self, name: &str) -> Result<ResolvedSkill, ToolError> {
        let (entries, mut problems) = self.skill_entries().await;
        let Some(entry) = entries.into_iter().find(|entry| entry.name == name) else {
            return Err(problems.pop().unwrap_or_else(|| {
                ToolError::NotFound(format!("no index has a skill `{name}`; see find_extension"))
            }));
        };
        let package = skill_index::fetch(&self.web_client, &entry).await?;
        let refused =
            |why: String| ToolError::ExecutionFailed(format!("The skill `{name}`: {why}"));
        if !front::is_valid(name) {
            return Err(refused("its name has characters that are not allowed".into()));
        }
        let main = package.text("SKILL.md").unwrap_or_default();
        let front = front::parse(main).map_err(refused)?;
        if front.name.is_some_and(|own| own != name) {
            return Err(refused("its SKILL.md has a different name".into()));
        }
        let findings = scan::scan(&package);
        if let Some(finding) = findings.iter().find(|finding| finding.severe) {
            let what = finding.what.trim_end_matches('.');
            return Err(refused(format!(
                "{} {what}. An operator can review it and install it with `countersign skill \
                    install`.",
                finding.file
            )));
        }
        let source = entry.index.map(|index| index.to_string()).unwrap_or_default();
        Ok(ResolvedSkill { source, package })
    }

    /// A version of the server with that name in a registry; the latest if none is named.
    pub(super) async fn server(
        &self,
        name: &str,
        version: Option<&str>,
    ) -> Result<ResolvedServer, ToolError> {
        for registry in &self.registries {
            let found = registry::find(&self.web_client, registry, name, version).await?;
            let Some(found) = found else { continue };
            let launch = found.launch(&self.packages).map_err(ToolError::ExecutionFailed)?;
            if let LaunchTarget::Url(url) = &launch.target
                && url.scheme() != "https"
                && !self.web_client.is_allowed_host(url)
            {
                let why = format!("{name} cannot be installed: {url} is not an https URL.");
                return Err(ToolError::ExecutionFailed(why));
            }
            let short = self.short_name(name, registry)?;
            return Ok(ResolvedServer {
                replaces: self.servers.find(&short).map_err(failed)?,
                name: short,
                server: InstalledServer {
                    registry: registry.clone(),
                    server: name.to_owned(),
                    version: found.version,
                    state: ServerState::Enabled,
                    launch,
                },
            });
        }
        let version = version.map(|version| format!(" {version}")).unwrap_or_default();
        Err(ToolError::NotFound(format!(
            "no registry has a server `{name}`{version}; see find_extension"
        )))
    }

    /// The name of the server here, which begins the names of its tools: the last part of its name,
    /// or all of it if another server has that.
    fn short_name(&self, server: &str, registry: &Url) -> Result<String, ToolError> {
        let known = self.servers.all().map_err(failed)?;
        let is_own = |one: &InstalledServer| one.server == server && one.registry == *registry;
        if let Some((name, _)) = known.iter().find(|(_, one)| is_own(one)) {
            return Ok(name.clone());
        }
        // The names of tools begin with it, so it must not begin with that of another server.
        let is_apart = |one: &str, other: &str| {
            let begins = |long: &str, short: &str| {
                long.strip_prefix(short).is_some_and(|rest| rest.starts_with('_'))
            };
            one != other && !begins(one, other) && !begins(other, one)
        };
        let is_free = |name: &String| {
            let mut others = self.configured.iter().chain(known.keys());
            !name.is_empty() && others.all(|other| is_apart(name, other))
        };
        let last = server.rsplit('/').next().unwrap_or(server);
        let name = [sanitise(last), sanitise(server)].into_iter().find(is_free);
        name.ok_or_else(|| {
            ToolError::ExecutionFailed(format!("A server named `{server}` already exists."))
        })
    }

    /// The secrets that a server needs and that the operator has not set.
    pub fn missing_secrets(&self, name: &str, server: &InstalledServer) -> Vec<String> {
        let none = BTreeSet::new();
        let set = self.secrets.get(name).unwrap_or(&none);
        server.launch.required_secrets.difference(set).cloned().collect()
    }
}

impl ResolvedSkill {
    /// All of it, for review.
    pub(super) fn shown(&self) -> String {
        let mut shown = format!("from {}\n", self.source);
        for finding in scan::scan(&self.package) {
            // Writing to a string cannot fail.
            let _ = writeln!(shown, "note: {} {}", finding.file, finding.what);
        }
        for (path, file) in &self.package.files {
            let executable = if file.executable { ", executable" } else { "" };
            let _ = writeln!(shown, "\n=== {path} ({} bytes{executable})", file.bytes.len());
            let digest = || format!("not text; SHA-256 {}", sha256(&file.bytes));
            shown += &self.package.text(path).map_or_else(digest, str::to_owned);
        }
        shown
    }

    pub(super) fn state(&self) -> String {
        sha256(self.shown().as_bytes())
    }
}

impl ResolvedServer {
    /// All of it, for review.
    pub(super) fn shown(&self) -> String {
        // The types serialize without errors.
        serde_json::to_string_pretty(&self.server).unwrap_or_default()
    }

    pub(super) fn state(&self) -> String {
        let Self { name, replaces, .. } = self;
        sha256(format!("{name}\n{}\nover {replaces:?}", self.shown()).as_bytes())
    }
}

fn sha256(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}
