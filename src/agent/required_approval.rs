//! Approvals that the operator requires for tools without side effects.

use globset::GlobMatcher;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

use super::spec::{ApprovalMode, EffectClass, ToolSpec};
use crate::texts::Messages;

/// The minimum approval that calls of some tools require.
#[derive(Debug, Clone)]
pub struct Required {
    pub tool: GlobMatcher,
    pub approval: RequiredApproval,
}

#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum RequiredApproval {
    /// Required unless a rule or an earlier decision allows the call.
    UnlessAllowed,
    /// Required every time.
    Always,
}

/// The minimum approvals of a policy. If several entries match a tool, the strictest applies.
#[derive(Debug, Clone, Default)]
pub struct RequiredApprovals(pub Vec<Required>);

impl RequiredApprovals {
    /// The spec with the approval that the operator requires, if it is stricter.
    pub fn requiring<'s>(&self, spec: &'s ToolSpec) -> Cow<'s, ToolSpec> {
        let approval = match (spec.approval, self.of(&spec.name)) {
            (own, None) => own,
            (ApprovalMode::Always, _) | (_, Some(RequiredApproval::Always)) => ApprovalMode::Always,
            (_, Some(RequiredApproval::UnlessAllowed)) => ApprovalMode::UnlessAllowed,
        };
        spec.asking(Some(approval))
    }

    /// Why a call requires an approval that no rule allows.
    pub fn why_asked(&self, spec: &ToolSpec, words: &Messages) -> String {
        let reads = spec.effect == EffectClass::ReadOnly && self.of(&spec.name).is_some();
        let why = if reads { words.why.required } else { words.why.changes };
        why(&spec.name)
    }

    fn of(&self, tool: &str) -> Option<RequiredApproval> {
        let fitting = self.0.iter().filter(|required| required.tool.is_match(tool));
        fitting.map(|required| required.approval).max()
    }
}
