//! What somebody may do, from least to most.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Each may do what those before it may.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema, ToSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Reads along; the bot does not listen to them.
    Viewer,
    /// Talks to the bot.
    Member,
    /// Decides questions that others have caused.
    Approver,
    /// Steers: chooses models, sees what goes on.
    Operator,
    /// Everything.
    Owner,
}

impl Role {
    pub const ALL: [Self; 5] =
        [Self::Viewer, Self::Member, Self::Approver, Self::Operator, Self::Owner];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Viewer => "viewer",
            Self::Member => "member",
            Self::Approver => "approver",
            Self::Operator => "operator",
            Self::Owner => "owner",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.as_str() == text)
    }
}
