//! The section on the wiki: which roles may read and change it.

use anyhow::{Result, ensure};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    agent::{
        policy::{Action, Origin, Rule, Severity},
        rules::{self, RuleEntry},
    },
    journal::role::Role,
};

const READING: &str = "wiki_{read_page,read_many,list_pages,search_pages,semantic_search,trace_source,\
    related_pages,explain_relation}";
const CHANGING: &str =
    "wiki_{create_page,compile_page,enrich_page,archive_page,unarchive_page,delete_page}";

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WikiSection {
    /// Role that people need for the agent to read its wiki for them.
    pub read_role: Role,
    /// Role that people need for the agent to change its wiki for them.
    pub edit_role: Role,
}

impl Default for WikiSection {
    fn default() -> Self {
        Self { read_role: Role::Member, edit_role: Role::Member }
    }
}

impl WikiSection {
    /// The rules that deny the tools to people with lower roles.
    pub(super) fn rules(&self) -> Result<Vec<Rule>> {
        ensure!(
            self.read_role <= self.edit_role,
            "wiki.edit_role: must not be lower than wiki.read_role"
        );
        let denied =
            [("read_role", READING, self.read_role), ("edit_role", CHANGING, self.edit_role)];
        let rule = |(key, tools, required): (&str, &str, Role)| {
            let roles: Vec<_> = Role::ALL.into_iter().filter(|role| *role < required).collect();
            (!roles.is_empty()).then(|| RuleEntry {
                name: Some(format!("wiki.{key}")),
                // Takes precedence over rules that allow the tools, independently of their order.
                severity: Severity::High,
                roles: roles.into_iter().map(|role| role.as_str().to_owned()).collect(),
                ..RuleEntry::of(tools, Action::Deny)
            })
        };
        let entries: Vec<_> = denied.into_iter().filter_map(rule).collect();
        Ok(rules::compile(&entries, Origin::Configuration)?)
    }

    pub(super) fn check(&self) -> Result<()> {
        self.rules().map(drop)
    }
}
