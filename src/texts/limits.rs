//! Texts for the model when a limit is reached, a hook stops something, or arguments contain a
//! secret, in English; and texts for people when a daily budget is used up.

use chrono::TimeDelta;
use strum::IntoStaticStr;

use super::Messages;

pub const CARRIES_SECRET: &str = "Denied: the arguments contain a secret of this gateway, which \
    must not be disclosed. Do it without that secret, or tell the person that it cannot be done.";
pub const HOOK_FAILED: &str = "a required check could not be performed";

pub fn stopped_by_hook(hook: &str, why: &str) -> String {
    format!("Stopped by the hook \u{201c}{hook}\u{201d}: {why}")
}

pub fn withheld(why: &str) -> String {
    format!("The call has run, but its result is withheld. {why}")
}

pub fn repeated(tool: &str, times: usize) -> String {
    format!(
        "I just used the {tool} tool with the same input. I need to try a different approach or use \
         a different tool. (It has given the same result {times} times, and was not run again.)"
    )
}

pub fn too_many_files(limit: usize) -> String {
    format!(
        "Not run: it names more than {limit} files, too many to review. Name a folder, or fewer \
            files."
    )
}

pub fn used_often_enough(tool: &str, limit: u32) -> String {
    format!(
        "Tool '{tool}' has reached its maximum usage limit of {limit} times and cannot be used \
            anymore in this conversation. Continue without it; the person can start a new \
            conversation with /new."
    )
}

pub fn money_used_up(wait: TimeDelta) -> String {
    format!(
        "Action budget exhausted: today's spending limit does not cover this call. Try again in \
            {}. Continue without it, or tell the person.",
        in_words(wait)
    )
}

/// For the model, when the budget of the day ends a build.
pub fn build_budget_used_up(what: UsedUp, wait: TimeDelta) -> String {
    format!("today's limit ({}) is used up. Try again in {}", what.as_str(), in_words(wait))
}

pub fn tool_time_used_up(wait: TimeDelta) -> String {
    format!(
        "Action budget exhausted: today's time for tools is used up. Try again in {}. Continue \
            without tools, or tell the person.",
        in_words(wait)
    )
}

/// A waiting time, rounded up to the next minute.
fn in_words(wait: TimeDelta) -> String {
    let minutes = (wait.num_seconds() + 59).div_euclid(60).max(1);
    match (minutes / 60, minutes % 60) {
        (0, minutes) => format!("{minutes} min"),
        (hours, 0) => format!("{hours} h"),
        (hours, minutes) => format!("{hours} h {minutes} min"),
    }
}

/// The scope of a daily budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum BudgetScope {
    Person,
    Conversation,
    All,
}

impl BudgetScope {
    /// The name in webhooks and in stored keys.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UsedUp {
    Messages,
    Tokens,
    Money,
}

impl UsedUp {
    /// The name in webhooks and in stored keys.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Messages => "messages",
            Self::Tokens => "tokens",
            Self::Money => "cost",
        }
    }
}

impl Messages {
    pub fn daily_limit_reached(&self, whose: BudgetScope, what: UsedUp, wait: TimeDelta) -> String {
        (self.daily_limit_reached)(whose, what, &in_words(wait))
    }
}
