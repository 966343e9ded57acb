//! What can be shown of the configuration file and changed in it. The file remains the source of
//! truth: a change is validated as a whole, written with a backup, and takes effect with the next
//! reload.

use anyhow::Result;
use secrecy::SecretString;
use serde::Serialize;
use std::collections::BTreeMap;
use strum::{EnumString, IntoStaticStr};
use tokio::sync::oneshot;

use crate::store::audit::Fact;

/// A list of the configuration whose entries can be changed.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, IntoStaticStr, EnumString,
)]
#[strum(serialize_all = "snake_case")]
#[serde(rename_all = "snake_case")]
pub enum EntryList {
    Models,
    Channels,
}

impl EntryList {
    pub const ALL: [Self; 2] = [Self::Models, Self::Channels];

    /// The name in the file.
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    pub fn parse(text: &str) -> Option<Self> {
        text.parse().ok()
    }
}

/// How a key is entered in a form.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "kind", content = "choices")]
pub enum FieldKind {
    Text,
    Number,
    /// `true`, `false`, or empty for the default.
    Switch,
    Choice(Vec<String>),
    /// A list of texts, one per line.
    Lines,
    /// A table of texts, one `key = value` per line.
    Pairs,
    /// Never shown. Empty keeps the current one.
    Secret,
}

/// A key of an entry.
#[derive(Debug, Clone, Serialize)]
pub struct FormField {
    pub key: String,
    pub description: String,
    pub default: String,
    #[serde(flatten)]
    pub kind: FieldKind,
}

/// An entry as it is written in the file.
#[derive(Debug, Clone, Serialize)]
pub struct FileEntry {
    pub list: EntryList,
    pub id: String,
    /// The texts of the form by key. For a secret, where it is stored.
    pub values: BTreeMap<String, String>,
}

/// The configuration file, as far as it can be changed.
#[derive(Debug, Clone, Serialize)]
pub struct FileView {
    pub path: String,
    pub exists: bool,
    /// The digest of the file. A change is rejected if it is of another version.
    pub version: String,
    pub entries: Vec<FileEntry>,
    /// The keys of each list.
    pub fields: BTreeMap<&'static str, Vec<FormField>>,
}

/// A change of one entry.
#[derive(Debug)]
pub struct EntryChange {
    pub list: EntryList,
    pub id: String,
    /// The texts of the form by key; `None` removes the entry.
    pub values: Option<BTreeMap<String, String>>,
    /// Secrets that were typed, by key. They are written into files of their own.
    pub secrets: BTreeMap<String, SecretString>,
    /// The version of the file to which the change belongs; `None` for any.
    pub version: Option<String>,
}

/// What is done with a change.
#[derive(Debug)]
pub enum FileAction {
    /// Shows the difference.
    Preview,
    /// Also sends a request to the model or the platform.
    Test,
    /// Writes the file. The fact records who did it.
    Write(Fact),
}

/// The result of a change.
#[derive(Debug, Clone, Default, Serialize)]
pub struct FileChange {
    /// A unified diff, without secrets; empty if nothing changes.
    pub diff: String,
    /// The name of the backup of the previous file.
    pub backup: Option<String>,
}

/// A request about the file.
#[derive(Debug)]
pub enum FileRequest {
    View {
        answer: oneshot::Sender<Result<FileView>>,
    },
    Change {
        change: Box<EntryChange>,
        action: FileAction,
        answer: oneshot::Sender<Result<FileChange>>,
    },
}
