//! The calls of the last reply and their states.

use serde::{Deserialize, Serialize};

use crate::journal::{
    event::{ApprovalPurpose, Call, Decider, Decision},
    ids::ApprovalId,
};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OpenCall {
    pub call: Call,
    pub state: CallState,
}

/// ```text
/// New ──► Asked ──► Decided ──► Started ──► Ended
///  │                              ▲ │
///  └──────────────────────────────┘ └──► Asked (the outcome is unknown) ──► Decided
/// New, Decided ──► Delegated ──► Ended
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallState {
    New,
    Asked {
        approval: ApprovalId,
        asks: ApprovalPurpose,
        digest: String,
    },
    Decided {
        asks: ApprovalPurpose,
        digest: String,
        decision: Decision,
        by: Decider,
    },
    Started,
    /// Sub-agents are working on it.
    Delegated,
    Ended,
}
