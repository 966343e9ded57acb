//! The section `guard`: which calls need an approval, and who decides.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

use crate::agent::{
    approvers::Approvers, policy::Action, required_approval::RequiredApproval, rules::RuleEntry,
};

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct GuardConfig {
    /// What happens to calls with side effects if no rule matches: `allow`, `ask` or `deny`.
    pub default: Action,
    /// How long an approval stays open before it counts as denied.
    pub approval_timeout: String,
    /// Who can decide: `requester`, `members` (who may talk there), `others` (members except for
    /// the requester), `admins` (of the chat), a numeric id, `<channel>/<id>`, `role:<name>`,
    /// `platform_role:<id>`, a list of these, or `{ who = [], needed = 2, except_requester = true
    /// }`.
    pub approvers: Approvers,
    /// What happens to calls with side effects after the conversation has read untrusted content
    /// (pages, servers' answers, received files), if no rule names the tool: `allow`, `ask` or
    /// `deny`.
    pub untrusted_content: Action,
    /// Hosts that replies may link to after untrusted content was read.
    pub link_hosts: Vec<String>,
    /// Names of shipped rules to disable; `["*"]` for all.
    pub disabled_rules: Vec<String>,
    /// Tools that require an approval although they have no side effects, by name or pattern:
    /// `unless_allowed` or `always`.
    pub required_approvals: BTreeMap<String, RequiredApproval>,
    /// Rules for tool calls, in addition to the shipped ones.
    pub rules: Vec<RuleEntry>,
}

impl Default for GuardConfig {
    fn default() -> Self {
        Self {
            default: Action::Ask,
            approval_timeout: "30m".into(),
            approvers: Approvers::default(),
            untrusted_content: Action::Ask,
            link_hosts: Vec::new(),
            disabled_rules: Vec::new(),
            required_approvals: BTreeMap::new(),
            rules: Vec::new(),
        }
    }
}
