//! What is said where something is used up, stopped by a hook, or carries a secret: in English.

use chrono::TimeDelta;

pub const CARRIES_SECRET: &str = "Denied: the arguments carry a secret of this gateway, which must \
    not go anywhere. Do it without that secret, or tell the person that it cannot be done.";
pub const HOOK_FAILED: &str = "a check that has to be passed could not be made";

pub fn stopped_by_hook(hook: &str, why: &str) -> String {
    format!("Stopped by the hook \u{201c}{hook}\u{201d}: {why}")
}

pub fn withheld(why: &str) -> String {
    format!("The call has run, but its result is withheld. {why}")
}

pub fn repeated(tool: &str, times: usize) -> String {
    format!(
        "Not run again: this very call of {tool} has given the same result {times} times. Do \
         something else, or say what you have found."
    )
}

pub fn used_often_enough(tool: &str, most: u32) -> String {
    format!(
        "Not run: {tool} may run {most} times in one conversation, and it has. Go on without it; \
         the person can start afresh with /new."
    )
}

pub fn tool_time_used_up(wait: TimeDelta) -> String {
    format!(
        "Not run: today's time for tools is used up. Try again in {}. Go on without tools, or say \
         so.",
        in_words(wait)
    )
}

/// A time to wait, to the next minute: never less than one.
fn in_words(wait: TimeDelta) -> String {
    let minutes = (wait.num_seconds() + 59).div_euclid(60).max(1);
    match (minutes / 60, minutes % 60) {
        (0, minutes) => format!("{minutes} min"),
        (hours, 0) => format!("{hours} h"),
        (hours, minutes) => format!("{hours} h {minutes} min"),
    }
}

/// `whose`: you, this conversation, everybody together.
pub fn day_used_up(whose: &str, what: &str, wait: TimeDelta) -> String {
    format!(
        "I cannot go on today: the {what} that {whose} may use in a day are used up. It goes on in \
         {} (at midnight UTC), or when the operator raises the limit.",
        in_words(wait)
    )
}
