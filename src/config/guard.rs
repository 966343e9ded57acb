//! The section `guard`: which calls need an approval, and who decides.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

use super::key::{ConfigKey, key};
use crate::agent::{
    approvers::Approvers, policy::Action, required_approval::RequiredApproval, rules::RuleEntry,
};

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct GuardConfig {
    pub default: Action,
    pub approval_timeout: String,
    pub approvers: Approvers,
    pub untrusted_content: Action,
    pub link_hosts: Vec<String>,
    pub disabled_rules: Vec<String>,
    pub required_approvals: BTreeMap<String, RequiredApproval>,
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

pub(super) const KEYS: &[ConfigKey] = &[
    key(
        "guard.default",
        "ask",
        "allow, ask or deny: for tools with side effects, if no rule matches",
    ),
    key(
        "guard.approval_timeout",
        "30m",
        "How long an approval stays open before it counts as denied (s, m, h, d)",
    ),
    key(
        "guard.approvers",
        "requester",
        "Who can decide: requester, members (who may talk there), others (members except for the \
            requester), admins (of the chat), a numeric id, <channel>/<id>, role:<name>, \
            platform_role:<id>, a list of these, or { who = [], needed = 2, except_requester = true \
            }",
    ),
    key(
        "guard.untrusted_content",
        "ask",
        "allow, ask or deny: for calls with side effects after the conversation has read untrusted \
            content (pages, servers' answers, received files), if no rule names the tool",
    ),
    key(
        "guard.link_hosts",
        "[]",
        "Hosts that replies may link to after untrusted content was read",
    ),
    key("guard.disabled_rules", "[]", "Names of shipped rules to disable; [\"*\"] for all"),
    key(
        "guard.required_approvals",
        "{}",
        "Tools that require an approval although they have no side effects, by name or pattern: \
            unless_allowed or always",
    ),
    key("guard.rules.name", "rule N", "The name of the rule, shown in approvals"),
    key("guard.rules.tool", "", "Tool name; * and ? are wildcards"),
    key(
        "guard.rules.arg_pattern",
        "",
        "Regular expression for the subject of the call: its path or, for a shell command, each \
            program with its arguments",
    ),
    key(
        "guard.rules.fields",
        "{}",
        "Regular expressions (or { glob = \"…\" }) by argument: \"to.address\" or \"/to/address\"",
    ),
    key("guard.rules.command", "[]", "Programs that a shell command starts; * and ? are wildcards"),
    key(
        "guard.rules.words",
        "[]",
        "Regular expressions; each must match one whole argument of the program",
    ),
    key("guard.rules.severity", "medium", "low, medium, high or critical"),
    key("guard.rules.priority", "0", "Among rules of one severity, the highest priority decides"),
    key("guard.rules.enabled", "true", "false disables the rule"),
    key("guard.rules.agents", "[]", "Ids of agents; empty means all, here and below"),
    key("guard.rules.channels", "[]", "Ids of channels"),
    key("guard.rules.people", "[]", "The requester's numeric platform id"),
    key("guard.rules.roles", "[]", "The requester's role"),
    key("guard.rules.times", "[]", "For example mon-fri 09:00-17:00 Europe/Berlin"),
    key("guard.rules.action", "", "allow, ask or deny"),
    key("guard.rules.approvers", "guard.approvers", "Who can decide approvals of this rule"),
];
