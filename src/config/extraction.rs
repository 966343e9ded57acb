//! The section on the documents that agents read.

use anyhow::{Context as _, Result, ensure};
use schemars::JsonSchema;
use secrecy::SecretString;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

use super::secret::Secret;

/// Each attempt takes up to a second.
const MAX_PASSWORDS: usize = 10;

#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ExtractionSection {
    /// Passwords that are tried for protected PDF and Office files which agents read, at most 10,
    /// each as a secret. Everyone who can send a file to an agent can have it opened with them.
    pub passwords: Vec<Secret>,
}

impl ExtractionSection {
    pub fn check(&self) -> Result<()> {
        let count = self.passwords.len();
        ensure!(
            count <= MAX_PASSWORDS,
            "extraction.passwords: at most {MAX_PASSWORDS} passwords are tried, and there are {count}"
        );
        Ok(())
    }

    pub fn passwords(&self, variables: &BTreeMap<String, String>) -> Result<Vec<SecretString>> {
        let revealed = self.passwords.iter().map(|password| password.reveal(variables));
        revealed.collect::<Result<_>>().context("extraction.passwords")
    }
}
