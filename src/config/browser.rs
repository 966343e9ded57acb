//! The section on the browser.

use anyhow::{Context as _, Result, ensure};
use sandbox::Sandbox;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{collections::BTreeSet, path::PathBuf, sync::Arc};

use super::{Config, ModelEntry, build};
use crate::tools::{browser::BrowserSettings, web::client::WebClient};

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct BrowserSection {
    /// Whether agents may use web pages with Chromium, in the sandbox: `browser_use` and
    /// `browser_open`.
    pub enabled: bool,
    /// The program; by default Chromium as Debian and others install it. Not a script that starts
    /// it.
    pub program: Option<PathBuf>,
    /// Private hosts that browsers may reach, as `host` or `host:port`; scripts of every page can
    /// send requests there.
    pub allowed_private_hosts: Vec<String>,
    /// How long the browser of a conversation stays open without being used, at least
    /// `10s`.
    pub idle_timeout: String,
    /// Maximum number of open browsers, from 1 to 64. To open another, one that no call uses is
    /// closed.
    pub max_open: usize,
    /// Maximum memory of one browser, from 512 to 65536 MiB.
    pub max_memory_mb: u64,
    /// Maximum size of a page that is read, from 1 to 20 MiB.
    pub max_page_mb: usize,
    /// Maximum size of a file that is downloaded or uploaded, from 1 to 200 MiB.
    pub max_file_mb: u64,
}

impl Default for BrowserSection {
    fn default() -> Self {
        Self {
            enabled: false,
            program: None,
            allowed_private_hosts: Vec::new(),
            idle_timeout: "10m".into(),
            max_open: 4,
            max_memory_mb: 2048,
            max_page_mb: 5,
            max_file_mb: 20,
        }
    }
}

const MIB: u64 = 1024 * 1024;

impl BrowserSection {
    /// The settings, or `None` if there is no browser.
    pub fn build(
        &self,
        config: &Config,
        sandbox: &Arc<Sandbox>,
    ) -> Result<Option<BrowserSettings>> {
        if !self.enabled {
            return Ok(None);
        }
        let idle_for = build::duration(&self.idle_timeout).context("browser.idle_timeout")?;
        Ok(Some(BrowserSettings {
            program: self.program.clone(),
            sandbox: sandbox.clone(),
            web_client: WebClient::new(self.private_hosts())?,
            idle_for: idle_for.to_std().context("browser.idle_timeout")?,
            max_open: self.max_open,
            memory_bytes: self.max_memory_mb * MIB,
            page_bytes: self.max_page_mb * MIB as usize,
            download_bytes: self.max_file_mb * MIB,
            shows_pictures: config.models.iter().any(ModelEntry::sees),
        }))
    }

    /// Scripts of every page can send requests there, so the hosts that tools may reach are not
    /// included.
    fn private_hosts(&self) -> BTreeSet<String> {
        self.allowed_private_hosts.iter().map(|host| host.to_lowercase()).collect()
    }

    pub(super) fn check(&self) -> Result<()> {
        let idle = build::duration(&self.idle_timeout).context("browser.idle_timeout")?;
        ensure!(idle.num_seconds() >= 10, "browser.idle_timeout: at least 10s");
        let bounds = [
            ("max_open", self.max_open as u64, 1..=64),
            ("max_memory_mb", self.max_memory_mb, 512..=65_536),
            ("max_page_mb", self.max_page_mb as u64, 1..=20),
            ("max_file_mb", self.max_file_mb, 1..=200),
        ];
        for (name, value, allowed) in bounds {
            let (min, max) = (allowed.start(), allowed.end());
            ensure!(allowed.contains(&value), "browser.{name}: from {min} to {max}");
        }
        Ok(())
    }
}
