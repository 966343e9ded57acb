//! The roles of people, in ascending order.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Each role includes the permissions of those before it.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema, ToSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Can read, but cannot talk to the bot.
    Viewer,
    /// Can talk to the bot.
    Member,
    /// Can also decide approvals of others.
    Approver,
    /// Can also operate the gateway: choose models, watch activity.
    Operator,
    /// Can do everything.
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
