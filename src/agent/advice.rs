//! Warnings for operators about guard settings that are weaker than they look.

use super::{
    catalog::{Subject, ToolSpec},
    policy::{Action, Policy, Rule},
};

/// The warnings about this policy and these tools, one or two sentences each.
pub fn warnings(policy: &Policy, tools: &[ToolSpec]) -> Vec<String> {
    let is_shell = |tool: &&ToolSpec| {
        matches!(tool.subject, Some(Subject::Command(_))) && tool.unavailable.is_none()
    };
    let unchecked = tools.iter().filter(is_shell).filter(|tool| {
        policy.default == Action::Allow && !policy.rules.iter().any(|rule| asks_always(rule, tool))
    });
    unchecked.map(|tool| shell_warning(&tool.name)).collect()
}

/// The warning about a shell tool under `guard.default = "allow"`.
pub fn shell_warning(tool: &str) -> String {
    format!(
        "guard.default is \"allow\", and `{tool}` is available: every command that no rule matches \
            runs. The shipped rules catch accidents and known tricks; they are not a security \
            boundary. Set guard.default to \"ask\", or add a rule that asks about `{tool}`."
    )
}

/// Whether the rule requires approval for, or denies, every call of the tool.
fn asks_always(rule: &Rule, tool: &ToolSpec) -> bool {
    let patterns = rule.argument.is_some() || rule.command.is_some();
    let when = &rule.when;
    let conditions = [&when.agents, &when.channels, &when.people, &when.roles];
    rule.action != Action::Allow
        && rule.tool.is_match(&tool.name)
        && !patterns
        && rule.fields.is_empty()
        && rule.words.is_empty()
        && conditions.iter().all(|list| list.is_empty())
        && when.times.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::{
        policy::Origin,
        rules::{RuleEntry, compile, shipped},
    };
    use serde_json::json;

    /// The shipped rules are no security boundary if everything else is allowed.
    #[test]
    fn an_open_default_for_a_shell_is_warned_of() {
        let shell = ToolSpec {
            subject: Some(Subject::Command("command")),
            ..ToolSpec::read_only("shell", "Runs a command", json!({}))
        };
        let other = ToolSpec::read_only("read_file", "Reads", json!({}));
        let missing = ToolSpec { unavailable: Some("no sandbox".into()), ..shell.clone() };
        let open = Policy { default: Action::Allow, rules: shipped(&[]), ..Policy::default() };
        let asking = RuleEntry::of("sh*", Action::Ask);
        let narrow = RuleEntry { command: vec!["rm".into()], ..asking.clone() };
        let with = |rule: &RuleEntry| {
            let mut policy = open.clone();
            policy
                .rules
                .extend(compile(std::slice::from_ref(rule), Origin::Configuration).unwrap());
            policy
        };
        for (policy, tool, expected) in [
            (open.clone(), &shell, 1),
            (open.clone(), &other, 0),
            (open.clone(), &missing, 0),
            (Policy::default(), &shell, 0),
            (with(&asking), &shell, 0),
            (with(&narrow), &shell, 1),
        ] {
            let warnings = warnings(&policy, std::slice::from_ref(tool));
            assert_eq!(warnings.len(), expected, "{} {:?}", tool.name, policy.default);
            assert!(warnings.iter().all(|warning| warning.contains("guard.default")));
        }
    }
}
