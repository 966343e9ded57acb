//! The current configuration as a commented file.

use anyhow::Result;
use std::fmt::Write as _;

use super::{Config, keys::keys};

/// The configuration as TOML, with a comment for each key. Secrets are left out.
pub fn commented(config: &Config) -> Result<String> {
    let mut text = String::new();
    let mut section = String::new();
    for line in toml::to_string_pretty(config)?.lines() {
        if line.starts_with('[') {
            line.trim_matches(['[', ']']).clone_into(&mut section);
        } else if let Some((name, _)) = line.split_once(" = ") {
            let path =
                if section.is_empty() { name.to_owned() } else { format!("{section}.{name}") };
            if let Some(key) = keys().find(|key| key.path == path) {
                let _ = writeln!(text, "# {}", key.description);
            }
        }
        let _ = writeln!(text, "{line}");
    }
    Ok(text)
}
