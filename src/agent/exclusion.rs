//! Finds calls that are denied because of the person who requests them.

use super::{
    guard::Ruling,
    policy::{Action, Conditions, Match, Rule, RuleInput},
    shell::Command,
};
use crate::texts;

/// Whether the denial depends on the requester: the rules would allow the call to somebody else, or
/// they deny it to some people or roles only.
fn excludes<'r>(
    mut rules: impl Iterator<Item = &'r Rule>,
    input: &RuleInput<'_>,
    command: Option<&Command>,
) -> bool {
    rules.any(|rule| {
        let is_met = rule.matches(input, command) == Match::Yes;
        match rule.action {
            _ if !rule.names_people() => false,
            Action::Deny => is_met,
            Action::Allow | Action::Ask => {
                !is_met && rule.for_everybody().matches(input, command) == Match::Yes
            }
        }
    })
}

impl Rule {
    fn names_people(&self) -> bool {
        !self.when.people.is_empty() || !self.when.roles.is_empty()
    }

    /// The same rule without its conditions on people and roles.
    fn for_everybody(&self) -> Self {
        let (people, roles) = (Vec::new(), Vec::new());
        Self { when: Conditions { people, roles, ..self.when.clone() }, ..self.clone() }
    }
}

impl Ruling {
    /// Sets `excludes_person`.
    #[must_use]
    pub fn with_exclusion<'r>(
        self,
        rules: impl Iterator<Item = &'r Rule>,
        input: &RuleInput<'_>,
        command: Option<&Command>,
    ) -> Self {
        let excludes_person = self.action == Some(Action::Deny) && excludes(rules, input, command);
        Self { excludes_person, ..self }
    }

    /// The result of a denied call, as text for the model.
    pub fn refusal(&self, tool: &str) -> String {
        let rule = self.rule.as_deref().unwrap_or_default();
        if self.excludes_person {
            texts::not_for_this_person(tool, rule)
        } else {
            texts::refused_by_rule(tool, rule)
        }
    }
}
