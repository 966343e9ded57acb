//! The roles of people, in ascending order.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{EnumString, IntoStaticStr};
use utoipa::ToSchema;

/// Each role includes the permissions of those before it.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    JsonSchema,
    ToSchema,
    IntoStaticStr,
    EnumString,
)]
#[strum(serialize_all = "snake_case")]
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
        self.into()
    }

    pub fn parse(text: &str) -> Option<Self> {
        text.parse().ok()
    }
}
