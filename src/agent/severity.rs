//! How serious the calls that a rule matches are.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;
use utoipa::ToSchema;

use crate::texts::Messages;

/// How serious it is if a matching call goes wrong.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
    Default,
    ToSchema,
    IntoStaticStr,
)]
#[strum(serialize_all = "snake_case")]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    Low,
    #[default]
    Medium,
    High,
    /// Every call needs its own approval: permissions and grants are neither offered nor accepted.
    Critical,
}

impl Severity {
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// The line to show in the approval, if the severity is high.
    pub fn note(self, words: &Messages) -> Option<String> {
        match self {
            Self::Low | Self::Medium => None,
            Self::High => Some(words.why.severity_high.to_owned()),
            Self::Critical => Some(words.why.severity_critical.to_owned()),
        }
    }
}
