//! Fixed texts for the model, which are always in English.

use crate::journal::event::{Decider, ToolResult};

pub const CHANGED_SINCE_ASKED: &str =
    "Denied: the call differs from the one that was approved. Make it again if it is still needed.";
pub const OUTCOME_UNKNOWN: &str = "It was interrupted while it ran: it is unknown whether it took \
    effect, and it is not safe to repeat without asking.";
pub const CALL_PANICKED: &str = "It failed with an internal error, and its result is unknown.";
pub const RESULT_NOT_STORED: &str =
    "The call has run, but its result could not be stored and is not available.";
pub const SKIPPED: &str = "The call was interrupted and its outcome is unknown. The person chose \
    not to run it again: check the state before you rely on it.";

pub fn refused_by_rule(tool: &str, rule: &str) -> String {
    format!(
        "Denied: the rule \u{201c}{rule}\u{201d} forbids this call of {tool}. Do not try again."
    )
}

pub fn not_for_this_person(tool: &str, rule: &str) -> String {
    format!(
        "Not authorized: the rule \u{201c}{rule}\u{201d} does not allow the person who asks to \
         make this call of {tool}. Do not try again."
    )
}

pub fn refused_by_default(tool: &str) -> String {
    format!("Denied: {tool} is not allowed here. Do not try again.")
}

pub fn denied(by: &Decider, reason: Option<&str>) -> String {
    match (by, reason) {
        (Decider::Timeout, _) => "Denied: nobody answered in time.".into(),
        (Decider::Undeliverable, _) => "Denied: there was nobody to ask for approval.".into(),
        (Decider::Person(p), None) => format!("Denied by {}.", p.name),
        (Decider::Person(p), Some(why)) => format!("Denied by {}: {why}", p.name),
    }
}

pub fn no_such_tool(name: &str, near: &[String]) -> String {
    if name.trim().is_empty() {
        return "The call has no tool name. Call one of the listed tools by its name.".to_owned();
    }
    if near.is_empty() {
        return format!("There is no tool `{name}`.");
    }
    format!("There is no tool `{name}`. Similar names: {}.", near.join(", "))
}

pub fn tool_unavailable(name: &str, why: &str) -> String {
    format!("`{name}` cannot be used here: {why}. You cannot change that.")
}

/// The reason why a tool cannot be used.
pub fn variables_missing(names: &[&str]) -> String {
    match names {
        [name] => format!("the environment variable {name} is not set"),
        _ => format!("the environment variables {} are not set", names.join(", ")),
    }
}

pub fn tool_gone(tool: &str) -> String {
    format!("Not run: {tool} is no longer available. Its server may be down.")
}

pub fn tools_enabled(names: &[String]) -> String {
    if names.is_empty() {
        return "These tools are already enabled.".into();
    }
    format!("Enabled for this conversation: {}.", names.join(", "))
}

pub const REQUEST_CHANGED: &str = "the request was edited in the meantime; see the new one";

pub fn no_such_coworker(name: &str, all: &str) -> String {
    format!("Coworker '{name}' not found. Available coworkers: {all}")
}

pub fn too_deep(depth: u32) -> String {
    format!(
        "Not delegated: the maximum delegation depth is reached ({depth} agents above you). Do \
        it yourself."
    )
}

pub fn too_many_tasks(limit: usize) -> String {
    format!("Not delegated: at most {limit} tasks at once. Delegate the others afterwards.")
}

pub fn too_many_at_work(limit: usize) -> String {
    format!(
        "Not delegated: at most {limit} tasks can run at once for one conversation. Do it yourself, \
            or delegate it when others have ended."
    )
}

pub fn coworker_failed(agent: &str, reason: &str) -> String {
    format!("{agent} did not finish: {reason}")
}

/// The answer of one of several sub-agents.
pub fn answer_of(agent: &str, result: ToolResult) -> ToolResult {
    ToolResult { text: format!("## {agent}\n{}", result.text), ..result }
}
