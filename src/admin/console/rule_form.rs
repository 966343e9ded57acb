//! The form of the rule editor, and the rule that it describes.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;

use crate::{
    admin::problem::{INVALID_APPROVERS, INVALID_PATTERN_LINE, INVALID_PRIORITY, ProblemText},
    agent::{
        policy::{Action, Severity},
        rules::{Pattern, RuleEntry},
    },
};

/// The texts of the form. Lists are separated by spaces or commas, except for those with one entry
/// per line.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(default)]
pub struct RuleForm {
    /// The name of the rule that is edited; empty for a new one.
    pub was: String,
    name: String,
    tool: String,
    arg_pattern: String,
    command: String,
    /// Regular expressions, one per line.
    words: String,
    /// `argument = pattern`, one per line; a pattern after `glob:` is a glob.
    fields: String,
    severity: Severity,
    action: Action,
    priority: String,
    agents: String,
    channels: String,
    people: String,
    roles: String,
    /// Time ranges, one per line.
    times: String,
    approvers: String,
    /// Absent for a new rule, which is enabled.
    disabled: bool,
}

impl Default for RuleForm {
    fn default() -> Self {
        Self {
            was: String::new(),
            name: String::new(),
            tool: String::new(),
            arg_pattern: String::new(),
            command: String::new(),
            words: String::new(),
            fields: String::new(),
            severity: Severity::Medium,
            action: Action::Ask,
            priority: String::new(),
            agents: String::new(),
            channels: String::new(),
            people: String::new(),
            roles: String::new(),
            times: String::new(),
            approvers: String::new(),
            disabled: false,
        }
    }
}

const GLOB: &str = "glob:";

impl RuleForm {
    /// The form for changing a rule.
    pub fn of(rule: &RuleEntry) -> Self {
        let pattern = |(field, pattern): (&String, &Pattern)| match pattern {
            Pattern::Regex(text) => format!("{field} = {text}"),
            Pattern::Glob { glob } => format!("{field} = {GLOB}{glob}"),
        };
        let name = rule.name.clone().unwrap_or_default();
        Self {
            was: name.clone(),
            name,
            tool: rule.tool.clone(),
            arg_pattern: rule.arg_pattern.clone().unwrap_or_default(),
            command: rule.command.join(" "),
            words: rule.words.join("\n"),
            fields: rule.fields.iter().map(pattern).collect::<Vec<_>>().join("\n"),
            severity: rule.severity,
            action: rule.action,
            priority: if rule.priority == 0 { String::new() } else { rule.priority.to_string() },
            agents: rule.agents.join(" "),
            channels: rule.channels.join(" "),
            people: rule.people.join(" "),
            roles: rule.roles.join(" "),
            times: rule.times.join("\n"),
            approvers: rule.approvers.as_ref().map_or_else(String::new, |who| {
                match serde_json::to_value(who).unwrap_or_default() {
                    Value::String(word) => word,
                    other => other.to_string(),
                }
            }),
            disabled: !rule.enabled,
        }
    }

    /// The rule. An error says which field is wrong.
    pub fn entry(&self) -> Result<RuleEntry, ProblemText> {
        let priority = match self.priority.trim() {
            "" => 0,
            text => text.parse().map_err(|_| ProblemText::with(INVALID_PRIORITY, text))?,
        };
        let approvers = match self.approvers.trim() {
            "" => None,
            text => {
                // A word or a JSON value, as in the configuration file.
                let value = serde_json::from_str(text).unwrap_or_else(|_| json!(text));
                let parsed = serde_json::from_value(value)
                    .map_err(|problem| ProblemText::with(INVALID_APPROVERS, problem.to_string()));
                Some(parsed?)
            }
        };
        Ok(RuleEntry {
            name: Some(self.name.trim().to_owned()),
            arg_pattern: Some(self.arg_pattern.clone()).filter(|pattern| !pattern.is_empty()),
            fields: fields(&self.fields)?,
            command: list(&self.command),
            words: lines(&self.words),
            severity: self.severity,
            priority,
            enabled: !self.disabled,
            agents: list(&self.agents),
            channels: list(&self.channels),
            people: list(&self.people),
            roles: list(&self.roles),
            times: lines(&self.times),
            approvers,
            ..RuleEntry::of(self.tool.trim(), self.action)
        })
    }
}

fn list(text: &str) -> Vec<String> {
    let words = text.split(|c: char| c.is_whitespace() || c == ',');
    words.filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

fn lines(text: &str) -> Vec<String> {
    text.lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

fn fields(text: &str) -> Result<BTreeMap<String, Pattern>, ProblemText> {
    let pair = |line: String| {
        let split = line.split_once('=');
        let wrong = || ProblemText::with(INVALID_PATTERN_LINE, line.as_str());
        let (field, pattern) = split.ok_or_else(wrong)?;
        let pattern = pattern.trim();
        let pattern = match pattern.strip_prefix(GLOB) {
            Some(glob) => Pattern::Glob { glob: glob.trim().to_owned() },
            None => Pattern::Regex(pattern.to_owned()),
        };
        Ok((field.trim().to_owned(), pattern))
    };
    lines(text).into_iter().map(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::texts::Language;

    /// Whatever a rule contains, the form shows and keeps it.
    #[test]
    fn a_rule_survives_the_editor() {
        let rule = RuleEntry {
            name: Some("mail, outside".into()),
            arg_pattern: Some(" a|b ".into()),
            fields: BTreeMap::from([
                ("to".into(), Pattern::Regex("=@".into())),
                ("path".into(), Pattern::Glob { glob: "*.txt".into() }),
            ]),
            command: vec!["ls".into(), "cat".into()],
            words: vec!["-r f".into()],
            severity: Severity::High,
            priority: -3,
            enabled: false,
            agents: vec!["default".into()],
            channels: vec!["tg".into(), "dc".into()],
            people: vec!["42".into()],
            roles: vec!["member".into()],
            times: vec!["mon-fri 09:00-17:00 Europe/Berlin".into(), "sat 10:00-12:00".into()],
            approvers: Some(serde_json::from_value(json!("others")).unwrap()),
            ..RuleEntry::of("mail_*", Action::Deny)
        };
        assert_eq!(RuleForm::of(&rule).entry().unwrap(), rule);
        let who = serde_json::from_value(json!({ "who": ["role:approver"], "needed": 2 })).unwrap();
        let several = RuleEntry { approvers: Some(who), ..rule };
        assert_eq!(RuleForm::of(&several).entry().unwrap(), several);
    }

    #[test]
    fn a_field_that_cannot_be_read_is_named() {
        let form = RuleForm { tool: "x".into(), ..RuleForm::default() };
        for (form, says) in [
            (RuleForm { priority: "high".into(), ..form.clone() }, "Priority: `high`"),
            (RuleForm { fields: "to".into(), ..form.clone() }, "Arguments: `to`"),
            (RuleForm { approvers: "[]".into(), ..form.clone() }, "Who can approve: nobody"),
        ] {
            let problem = form.entry().unwrap_err().text(Language::English);
            assert!(problem.starts_with(says), "{problem}");
        }
    }
}
