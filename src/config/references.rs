//! References between entries, by id.

use anyhow::{Result, bail};

use super::{Config, mistakes::list};

/// Rejects a name that is not among the known ones.
pub(super) fn exists(what: &str, name: &str, known: &[&str]) -> Result<()> {
    if known.contains(&name) {
        return Ok(());
    }
    match known {
        [] => bail!("there is no {what} `{name}`, and no other"),
        [one] => bail!("there is no {what} `{name}`; the only one is {one}"),
        known => bail!("there is no {what} `{name}`; there are {}", list(known, "and")),
    }
}

impl Config {
    pub(super) fn agent_ids(&self) -> Vec<&str> {
        self.agents.iter().map(|agent| agent.id.as_str()).collect()
    }

    pub(super) fn channel_ids(&self) -> Vec<&str> {
        self.channels.iter().map(|channel| channel.id.as_str()).collect()
    }
}
