//! State that applies beyond one conversation: grants, and the halt.
//!
//! It is neither an event nor part of the fold. The worker reads it each time it judges calls, so a
//! revocation or a halt takes effect immediately.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use strum::{EnumString, IntoStaticStr};

use super::{event::Speaker, ids::GrantId};

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Permissions {
    /// Whether all tools are stopped.
    pub halted: bool,
    /// The grants that currently apply to the requester and this conversation.
    pub grants: Vec<Grant>,
}

/// A permission for later calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    pub id: GrantId,
    pub tool: String,
    pub covers: GrantSubject,
    pub scope: Scope,
    /// The person (`channel/id`) or the conversation that it applies to; empty for everyone.
    pub owner: String,
    pub given_by: Speaker,
    pub expires_at: DateTime<Utc>,
    /// `None` means unlimited.
    pub uses_left: Option<i64>,
}

/// Which calls of the tool a grant covers, by subject.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GrantSubject {
    /// All calls, because the tool declares no subject.
    Everything,
    /// Paths below this folder.
    Below(String),
    /// Exactly this subject.
    Exactly(String),
    /// Addresses of this origin, as `https://host`.
    Origin(String),
    /// Commands that begin with these words.
    Command(Vec<String>),
}

/// Whose calls a grant covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, IntoStaticStr, EnumString)]
#[strum(serialize_all = "snake_case")]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    Person,
    Conversation,
    Bot,
}

impl Scope {
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    pub fn parse(text: &str) -> Option<Self> {
        text.parse().ok()
    }
}
