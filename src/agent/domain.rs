//! What kind of work a tool does, and where.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Where a tool does its work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Domain {
    /// In this process.
    Orchestrator,
    /// In a process of its own within the sandbox; without one, not at all.
    Container,
}

/// What a second run would do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum EffectClass {
    /// Changes nothing.
    ReadOnly,
    /// Changes something; twice is the same as once.
    Idempotent,
    /// Must not run twice.
    AtMostOnce,
}
