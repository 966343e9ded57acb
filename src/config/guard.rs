//! The section `guard`: which calls need an approval, and who decides; and the policy that it defines
//! together with other sections.

use anyhow::{Context as _, Result, bail};
use globset::Glob;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

use super::{Config, build::duration, datasources};
use crate::agent::{
    approvers::Approvers,
    policy::{Action, Origin, Policy},
    required_approval::{Required, RequiredApproval, RequiredApprovals},
    rules::{self, RuleEntry},
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

/// The policy of the section `guard`, without the shipped rules, which take milliseconds to compile.
pub fn configured_policy(guard: &GuardConfig) -> Result<Policy> {
    let approval_for =
        duration(&guard.approval_timeout).with_context(|| "guard.approval_timeout")?;
    if let Some(name) = guard.disabled_rules.iter().find(|name| !rules::is_shipped(name)) {
        bail!(
            "guard.disabled_rules: there is no shipped rule `{name}`; `countersign guard list` lists them"
        );
    }
    let rules = rules::compile(&guard.rules, Origin::Configuration).context("guard.rules")?;
    let required = guard.required_approvals.iter().map(|(tool, approval)| -> Result<_> {
        let tool = Glob::new(tool).context("guard.required_approvals")?.compile_matcher();
        Ok(Required { tool, approval: *approval })
    });
    Ok(Policy {
        required: RequiredApprovals(required.collect::<Result<_>>()?),
        default: guard.default,
        tainted: guard.untrusted_content,
        rules,
        link_hosts: guard.link_hosts.clone(),
        approval_for,
        approvers: guard.approvers.clone(),
    })
}

/// The policy, including the shipped rules and those that other sections define.
pub fn policy(config: &Config) -> Result<Policy> {
    let mut policy = configured_policy(&config.guard)?;
    policy.rules.splice(..0, rules::shipped(&config.guard.disabled_rules));
    policy.rules.extend(config.http.rules()?);
    policy.rules.extend(datasources::rules(config)?);
    policy.rules.extend(config.wiki.rules()?);
    Ok(policy)
}
