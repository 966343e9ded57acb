//! What a question shows: exactly what will run.

use channels::text;
use chrono::{DateTime, Utc};
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use std::fmt::Write as _;

use super::{Words, plain};
use crate::crash;

/// What a question shows.
pub struct QuestionParts<'a> {
    pub title: &'a str,
    /// What the tool does; its first line is shown.
    pub summary: &'a str,
    pub arguments: &'a Value,
    /// The diff of an edit, in Markdown.
    pub preview: Option<&'a str>,
    pub reason: &'a str,
    pub requester: &'a str,
    pub expires_at: DateTime<Utc>,
    /// What a person types to answer without buttons.
    pub code: &'a str,
}

/// The longest arguments that are shown whole, in characters; the rest is told by its digest.
const ARGUMENTS_SHOWN: usize = 1_500;

impl Words {
    /// Exactly what will run, neutralised: control, bidi and zero-width characters are made
    /// visible, and nothing in the arguments acts as Markdown.
    pub fn question(&self, parts: &QuestionParts<'_>) -> String {
        let mut markdown = format!("{}\n", parts.title);
        if let Some(summary) = parts.summary.lines().next().filter(|line| !line.is_empty()) {
            let summary: String = summary.chars().take(160).collect();
            let _ = writeln!(markdown, "{}", plain(&summary));
        }
        if let Value::Object(fields) = parts.arguments {
            for (name, value) in fields {
                let shown = self.argument(name, value, parts.preview.is_some());
                let _ = write!(markdown, "\n{shown}");
            }
        } else {
            let _ = write!(markdown, "\n{}", fenced(&parts.arguments.to_string()));
        }
        if let Some(preview) = parts.preview {
            let _ = write!(markdown, "\n\n{}", text::neutralise(preview));
        }
        let until = parts.expires_at.format("%Y-%m-%d %H:%M UTC").to_string();
        let asked_for = (self.asked_for)(&plain(parts.requester), &until, parts.code);
        let _ = write!(markdown, "\n\n{}\n{asked_for}", plain(parts.reason));
        markdown
    }

    /// Short values stand on their line, long ones in a block; what the preview shows already is
    /// told by its size.
    fn argument(&self, name: &str, value: &Value, previewed: bool) -> String {
        let shown = match value {
            Value::String(content) => content.clone(),
            other => other.to_string(),
        };
        let name = plain(name);
        let length = shown.chars().count();
        if length <= 80 && !shown.contains(['\n', '`']) {
            return format!("{name}: `{}`", text::neutralise(&shown));
        }
        let digest = hex::encode(Sha256::digest(&shown));
        let digest = &digest[..16];
        // A path is neither long nor has it lines: what the preview may stand for is content only.
        if previewed && (shown.contains('\n') || length > 1_024) {
            return (self.argument_below)(&name, &length.to_string(), digest);
        }
        if length <= ARGUMENTS_SHOWN {
            return format!("{name}:\n{}", fenced(&shown));
        }
        let head: String = shown.chars().take(ARGUMENTS_SHOWN).collect();
        let (shown, length) = (ARGUMENTS_SHOWN.to_string(), length.to_string());
        format!("{}\n{}", (self.argument_cut)(&name, &shown, &length, digest), fenced(&head))
    }
}

/// A code block whose fence nothing inside can close.
fn fenced(content: &str) -> String {
    let content =
        if crash::planted("dressed up") { content.to_owned() } else { text::neutralise(content) };
    let longest = content.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}\n{content}\n{fence}")
}

/// The arguments on one line, for what remains of a question.
pub fn in_short(arguments: &Value) -> String {
    let shown: String = match arguments.as_object().and_then(|fields| fields.values().next()) {
        Some(Value::String(first)) => first.chars().filter(|c| *c != '`').take(80).collect(),
        Some(first) => first.to_string().chars().filter(|c| *c != '`').take(80).collect(),
        None => return String::new(),
    };
    format!("`{}`", text::neutralise(&shown).replace('\n', " "))
}

/// Whether a question does not show all of these arguments itself.
pub fn cuts(arguments: &Value) -> bool {
    let long = |value: &Value| match value {
        Value::String(text) => text.chars().count() > ARGUMENTS_SHOWN,
        other => other.to_string().chars().count() > ARGUMENTS_SHOWN,
    };
    arguments.as_object().is_some_and(|fields| fields.values().any(long))
}

/// All arguments, as the file that the button sends: the same bytes whenever it is pressed.
pub fn everything(arguments: &Value) -> String {
    format!("{arguments:#}\n")
}
