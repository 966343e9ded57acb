//! Values that are never shown, given directly or by naming the variable or file that contains
//! them.

use anyhow::{Context as _, Result};
use schemars::JsonSchema;
use secrecy::SecretString;
use serde::{Deserialize, Serialize, Serializer};
use std::{collections::BTreeMap, fmt, path::PathBuf};

/// `"…"`, `{ env = "NAME" }` or `{ file = "path" }`.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Secret {
    Plain(String),
    Env { env: String },
    File { file: PathBuf },
}

impl Secret {
    /// The value. An error says where it was looked up, but never quotes what was found.
    pub fn reveal(&self, variables: &BTreeMap<String, String>) -> Result<SecretString> {
        let value = match self {
            Self::Plain(value) => value.clone(),
            Self::Env { env } => variables
                .get(env)
                .cloned()
                .with_context(|| format!("the environment variable {env} is not set"))?,
            Self::File { file } => std::fs::read_to_string(file)
                .with_context(|| format!("reading the secret file {}", file.display()))?,
        };
        let value = value.trim();
        anyhow::ensure!(!value.is_empty(), "the secret is empty");
        Ok(value.into())
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plain(_) => f.write_str("…"),
            Self::Env { env } => write!(f, "env {env}"),
            Self::File { file } => write!(f, "file {}", file.display()),
        }
    }
}

impl Serialize for Secret {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let one = |key: &str, value: String| BTreeMap::from([(key.to_owned(), value)]);
        match self {
            Self::Plain(_) => serializer.serialize_str("…"),
            Self::Env { env } => one("env", env.clone()).serialize(serializer),
            Self::File { file } => one("file", file.display().to_string()).serialize(serializer),
        }
    }
}
