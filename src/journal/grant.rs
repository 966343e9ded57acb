//! What holds beyond one conversation: leave that people have given for longer, and the halt.
//!
//! It is no event and is not folded: the worker reads it again each time calls are judged, so that
//! what is revoked or halted is so at once.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::{event::Speaker, ids::GrantId};

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Standing {
    /// No tool may run.
    pub halted: bool,
    /// Leave that holds for whom the agent acts, in this conversation, now.
    pub grants: Vec<Grant>,
}

/// Leave for calls to come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    pub id: GrantId,
    pub tool: String,
    pub covers: Covers,
    pub scope: Scope,
    /// The person (`channel/id`) or the conversation that it is for; empty for all.
    pub owner: String,
    pub given_by: Speaker,
    pub expires_at: DateTime<Utc>,
    /// `None`: as often as wanted.
    pub uses_left: Option<i64>,
}

/// Which calls of the tool, by what they act upon.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Covers {
    /// All of them: the tool does not say what it acts upon.
    Everything,
    /// Paths below this folder.
    Below(String),
    /// Exactly this.
    Exactly(String),
    /// Addresses of this origin, as `https://host`.
    Origin(String),
    /// Commands that begin with these words.
    Command(Vec<String>),
}

/// Whose calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    Person,
    Conversation,
    Bot,
}

impl Scope {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Person => "person",
            Self::Conversation => "conversation",
            Self::Bot => "bot",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        [Self::Person, Self::Conversation, Self::Bot].into_iter().find(|s| s.as_str() == text)
    }
}
