//! The text of an approval request, which shows exactly what will run.

use channels::text;
use chrono::{DateTime, Utc};
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use std::fmt::Write as _;

use super::{EVERYTHING_NAME, EVERYTHING_WITH_PREVIEW, Messages, hosts, plain, preview::Preview};
use crate::crash;

/// The contents of an approval request.
pub struct QuestionParts<'a> {
    pub title: &'a str,
    /// What the tool does; the first line is shown.
    pub summary: &'a str,
    pub arguments: &'a Value,
    /// What the tool adds, such as the diff of an edit.
    pub preview: Option<&'a Preview>,
    pub reason: &'a str,
    pub requester: &'a str,
    pub expires_at: DateTime<Utc>,
    /// The code that a person types to decide without buttons.
    pub code: &'a str,
}

/// The text of an approval request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuestionText {
    pub markdown: String,
    /// Whether the text omits a part of what would run.
    pub is_cut: bool,
}

/// The maximum length of arguments that are shown in full, in characters. Longer ones are cut, and
/// shown with their length and digest.
const ARGUMENTS_SHOWN: usize = 1_500;
/// The longest value that is shown on one line with its name.
const LINE_CHARS: usize = 80;

/// One argument, and whether it is shown in full.
struct Shown {
    markdown: String,
    is_cut: bool,
}

impl Messages {
    /// Shows exactly what will run, neutralised: control, bidi and zero-width characters and
    /// unusual spaces are made visible, and nothing in the arguments acts as Markdown.
    pub fn question(&self, parts: &QuestionParts<'_>) -> QuestionText {
        let mut markdown = format!("{}\n", parts.title);
        let mut is_cut = parts.preview.is_some_and(Preview::is_cut);
        if let Some(summary) = parts.summary.lines().next().filter(|line| !line.is_empty()) {
            let summary: String = summary.chars().take(160).collect();
            let _ = writeln!(markdown, "{}", plain(&summary));
        }
        if let Value::Object(fields) = parts.arguments {
            for (name, value) in fields {
                let shown = self.argument(name, value, parts.preview);
                is_cut |= shown.is_cut;
                let _ = write!(markdown, "\n{}", shown.markdown);
            }
        } else {
            let _ = write!(markdown, "\n{}", fenced(&parts.arguments.to_string()));
        }
        for note in self.hosts(parts.arguments) {
            let _ = write!(markdown, "\n{note}");
        }
        if let Some(preview) = parts.preview {
            let _ = write!(markdown, "\n\n{}", text::reveal(&preview.shown()));
        }
        if is_cut {
            let _ = write!(markdown, "\n\n{}", self.not_all_shown);
        }
        let until = parts.expires_at.format("%Y-%m-%d %H:%M UTC").to_string();
        let asked_for = (self.asked_for)(&plain(parts.requester), &until, parts.code);
        let _ = write!(markdown, "\n\n{}\n{asked_for}", plain(parts.reason));
        QuestionText { markdown, is_cut }
    }

    /// Short values are shown on one line, long ones in a block. If the preview shows a value in
    /// full, only its size and digest are shown.
    fn argument(&self, name: &str, value: &Value, preview: Option<&Preview>) -> Shown {
        let value = match value {
            Value::String(content) => content.clone(),
            other => other.to_string(),
        };
        let covered = preview.is_some_and(|preview| preview.covers(name));
        let name = plain(name);
        let length = value.chars().count();
        if length <= LINE_CHARS && !value.contains(['\n', '`']) {
            return Shown::whole(format!("{name}: `{}`", text::reveal(&value)));
        }
        let digest = hex::encode(Sha256::digest(&value));
        let digest = &digest[..16];
        if covered && (value.contains('\n') || length > 1_024) {
            let markdown = (self.argument_below)(&name, &length.to_string(), digest);
            return Shown { markdown, is_cut: true };
        }
        if length <= ARGUMENTS_SHOWN {
            return Shown::whole(format!("{name}:\n{}", fenced(&value)));
        }
        let head: String = value.chars().take(ARGUMENTS_SHOWN).collect();
        let (shown, length) = (ARGUMENTS_SHOWN.to_string(), length.to_string());
        let cut = (self.argument_cut)(&name, &shown, &length, digest);
        Shown { markdown: format!("{cut}\n{}", fenced(&head)), is_cut: true }
    }

    /// A line for each host that differs from the one that would be contacted.
    fn hosts(&self, arguments: &Value) -> Vec<String> {
        let found = hosts::written_differently(arguments);
        let quoted = |text: &str| format!("`{}`", text::reveal(text).replace('`', "\u{2019}"));
        let lines = found.shown.iter();
        let lines = lines
            .map(|host| (self.contacts_host)(&quoted(&host.written), &quoted(&host.contacted)));
        let more = (found.more > 0).then(|| (self.and_more_hosts)(&found.more.to_string()));
        lines.chain(more).collect()
    }
}

impl Shown {
    fn whole(markdown: String) -> Self {
        Self { markdown, is_cut: false }
    }
}

/// A code block whose fence cannot be closed by its contents.
fn fenced(content: &str) -> String {
    let content =
        if crash::planted("dressed up") { content.to_owned() } else { text::reveal(content) };
    let longest = content.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}\n{content}\n{fence}")
}

/// The arguments on one line, for a settled approval.
pub fn in_short(arguments: &Value) -> String {
    let shown: String = match arguments.as_object().and_then(|fields| fields.values().next()) {
        Some(Value::String(first)) => first.chars().filter(|c| *c != '`').take(80).collect(),
        Some(first) => first.to_string().chars().filter(|c| *c != '`').take(80).collect(),
        None => return String::new(),
    };
    format!("`{}`", text::reveal(&shown).replace('\n', " "))
}

/// A file with all details of an approval request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EverythingFile {
    pub name: &'static str,
    pub media_type: &'static str,
    pub text: String,
}

/// All arguments as JSON, followed by the preview if it was cut.
pub fn everything(arguments: &Value, preview: Option<&Preview>) -> EverythingFile {
    let json = text::reveal(&arguments_file(arguments));
    match preview.filter(|preview| preview.is_cut()) {
        None => {
            EverythingFile { name: EVERYTHING_NAME, media_type: "application/json", text: json }
        }
        Some(preview) => EverythingFile {
            name: EVERYTHING_WITH_PREVIEW,
            media_type: "text/plain",
            text: format!("{json}\n{}\n", text::reveal(&preview.everything())),
        },
    }
}

/// All arguments as JSON, as previous releases stored them.
pub fn arguments_file(arguments: &Value) -> String {
    format!("{arguments:#}\n")
}
