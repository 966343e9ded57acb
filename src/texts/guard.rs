//! Why a person is asked: plain text, which the question escapes.

use channels::text;
use std::fmt::Write as _;

/// What the rules say: which of them asks, or why it could not be told, and of which program.
pub fn ruled(rule: Option<&str>, unclear: Option<&str>, program: Option<&str>) -> String {
    let mut why = match (rule, unclear) {
        (Some(rule), None) => format!("The rule \u{201c}{rule}\u{201d} asks"),
        (Some(rule), Some(unclear)) => {
            format!("The rule \u{201c}{rule}\u{201d} cannot be evaluated: {unclear}")
        }
        (None, Some(unclear)) => format!("No rule can judge it: {unclear}"),
        (None, None) => "No rule allows it".to_owned(),
    };
    if let Some(program) = program {
        let short: String = program.chars().filter(|c| *c != '`').take(120).collect();
        let _ = write!(why, " (`{}`)", text::neutralise(&short).replace('\n', " "));
    }
    why + "."
}

/// How bad it would be.
pub fn severity(name: &str) -> String {
    format!("\u{1f534} Severity: {name}.")
}

pub fn acts_on_other_words(tool: &str) -> String {
    format!("{tool} acts on the outside.")
}

/// What a conversation has read that nobody here has written.
pub fn tainted(sources: &[String]) -> String {
    let shown = sources.iter().rev().take(5).map(|source| {
        let short: String = source.chars().take(80).collect();
        text::neutralise(&short).replace('\n', " ")
    });
    let more = sources.len().saturating_sub(5);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!(
        "\u{26a0}\u{fe0f} This conversation has read what others wrote: {}{more}. It may have been told to do this.",
        shown.collect::<Vec<_>>().join(", ")
    )
}
