//! The text of an approval request, which shows exactly what will run.

use channels::text;
use chrono::{DateTime, Utc};
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use std::fmt::Write as _;

use super::{
    EVERYTHING_NAME, EVERYTHING_WITH_PREVIEW, Messages, hosts, plain, preview::Preview,
    tool_sentences::tool_sentence,
};

/// The contents of an approval request.
pub struct ApprovalParts<'a> {
    pub title: &'a str,
    pub tool: &'a str,
    /// The tool's description for the model. Its first sentence is shown if there is no sentence
    /// for people.
    pub description: &'a str,
    pub arguments: &'a Value,
    /// The part added by the tool, such as the diff of an edit.
    pub preview: Option<&'a Preview>,
    pub reason: &'a str,
    pub requester: &'a str,
    /// Whether the tool can be allowed for the rest of the conversation.
    pub for_conversation: bool,
    pub expires_at: DateTime<Utc>,
    /// The code that a person types to decide without buttons.
    pub code: &'a str,
}

/// The text of an approval request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovalText {
    pub markdown: String,
    /// Whether something that would run is not shown literally. If so, all of it is offered as a
    /// file.
    pub is_cut: bool,
}

/// The maximum length of arguments that are shown in full, in characters. Longer ones are cut, and
/// shown with their length and digest.
const ARGUMENTS_SHOWN: usize = 1_500;
/// The maximum length of a value that is shown on one line with its name.
const LINE_CHARS: usize = 80;
/// The maximum length of a summary, and of a value that it shows in part.
const SUMMARY_CHARS: usize = 160;
const SUMMARY_VALUE_CHARS: usize = 60;

/// A sentence about the effect of a call, and the arguments that it shows in full.
#[derive(Default)]
struct Summary<'a> {
    markdown: String,
    shows: Vec<&'a str>,
}

/// How much of an argument the request shows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Extent {
    Whole,
    /// The preview shows the change.
    AsChange,
    Cut,
}

/// One argument.
struct ShownArgument {
    markdown: String,
    extent: Extent,
}

impl Messages {
    /// Shows exactly what will run, neutralised: control, bidi and zero-width characters and
    /// unusual spaces are made visible, and nothing in the arguments acts as Markdown. An argument
    /// that the summary or the preview shows in full is not repeated.
    pub fn approval_text(&self, parts: &ApprovalParts<'_>) -> ApprovalText {
        let summary = self.summary(parts);
        let (mut lines, mut extents) = (Vec::new(), Vec::new());
        if let Value::Object(fields) = parts.arguments {
            let listed = fields.iter().filter(|(name, _)| !summary.shows.contains(&name.as_str()));
            for shown in listed.filter_map(|(name, value)| self.argument(name, value, parts)) {
                extents.push(shown.extent);
                lines.push(shown.markdown);
            }
        } else {
            lines.push(fenced(&parts.arguments.to_string()));
        }
        lines.extend(self.hosts(parts.arguments));
        let omits = parts.preview.is_some_and(Preview::is_cut) || extents.contains(&Extent::Cut);
        let paragraphs = [
            [parts.title, &summary.markdown].join("\n"),
            lines.join("\n"),
            parts.preview.map(|preview| text::reveal(&preview.shown())).unwrap_or_default(),
            if omits { self.not_all_shown.to_owned() } else { String::new() },
            self.context_lines(parts),
        ];
        let paragraphs = paragraphs.iter().map(|text| text.trim_end_matches('\n'));
        let shown = paragraphs.filter(|text| !text.is_empty()).collect::<Vec<_>>();
        ApprovalText {
            markdown: shown.join("\n\n"),
            is_cut: omits || extents.contains(&Extent::AsChange),
        }
    }

    /// The reason why an approval is required, the scope of the choices, the requester and the
    /// deadline.
    fn context_lines(&self, parts: &ApprovalParts<'_>) -> String {
        let requester = plain(parts.requester);
        let until = parts.expires_at.format("%Y-%m-%d %H:%M UTC").to_string();
        let covers = parts
            .for_conversation
            .then(|| (self.conversation_covers)(&text::escape(parts.tool), &requester));
        let asked_for = (self.asked_for)(&requester, &until, parts.code);
        let lines = [Some(plain(parts.reason)), covers, Some(asked_for)];
        lines.into_iter().flatten().collect::<Vec<_>>().join("\n")
    }

    /// The sentence for people, or the first sentence of the description.
    fn summary<'a>(&self, parts: &ApprovalParts<'a>) -> Summary<'a> {
        let sentence = tool_sentence(parts.tool).map(self.tool_sentence);
        let filled = sentence.and_then(|sentence| filled(sentence, parts.arguments));
        filled.unwrap_or_else(|| Summary {
            markdown: plain(&shortened(first_sentence(parts.description), SUMMARY_CHARS)),
            shows: Vec::new(),
        })
    }

    /// What a call does, for the list of calls: the sentence for people, or the name of the tool.
    pub fn call_summary(&self, tool: &str, arguments: &Value) -> String {
        let sentence = tool_sentence(tool).map(self.tool_sentence);
        let filled = sentence.and_then(|sentence| filled(sentence, arguments));
        filled.map_or_else(|| code(tool, LINE_CHARS), |summary| summary.markdown)
    }

    /// Formats one argument: short values on one line, long ones in a block. `None` if the preview
    /// shows exactly this value.
    fn argument(
        &self,
        name: &str,
        value: &Value,
        parts: &ApprovalParts<'_>,
    ) -> Option<ShownArgument> {
        let value = match value {
            Value::String(content) => content.clone(),
            other => other.to_string(),
        };
        if parts.preview.is_some_and(|preview| preview.shows(name, &value)) {
            return None;
        }
        let covered = parts.preview.is_some_and(|preview| preview.covers(name));
        let name = plain(name);
        let length = value.chars().count();
        if is_one_line(&value) {
            return Some(ShownArgument::whole(format!("{name}: `{}`", text::reveal(&value))));
        }
        if covered && (value.contains('\n') || length > 1_024) {
            let markdown = (self.argument_below)(&name);
            return Some(ShownArgument { markdown, extent: Extent::AsChange });
        }
        if length <= ARGUMENTS_SHOWN {
            return Some(ShownArgument::whole(format!("{name}:\n{}", fenced(&value))));
        }
        let digest = hex::encode(Sha256::digest(&value));
        let head: String = value.chars().take(ARGUMENTS_SHOWN).collect();
        let (shown, length) = (ARGUMENTS_SHOWN.to_string(), length.to_string());
        let cut = (self.argument_cut)(&name, &shown, &length, &digest[..16]);
        Some(ShownArgument { markdown: format!("{cut}\n{}", fenced(&head)), extent: Extent::Cut })
    }

    /// A line for each host that is written differently from the host that would be contacted.
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

impl ShownArgument {
    fn whole(markdown: String) -> Self {
        Self { markdown, extent: Extent::Whole }
    }
}

/// Fills the `{names}` of a sentence with arguments. `None` if one is missing.
fn filled(sentence: &'static str, arguments: &Value) -> Option<Summary<'static>> {
    let mut summary = Summary::default();
    let mut pieces = sentence.split('{');
    summary.markdown += pieces.next().unwrap_or_default();
    for piece in pieces {
        let (name, rest) = piece.split_once('}')?;
        let value = arguments.get(name)?.as_str().filter(|value| !value.trim().is_empty())?;
        if is_one_line(value) {
            summary.shows.push(name);
            let _ = write!(summary.markdown, "`{}`{rest}", text::reveal(value));
        } else {
            let _ = write!(summary.markdown, "{}{rest}", code(value, SUMMARY_VALUE_CHARS));
        }
    }
    Some(summary)
}

/// Whether a value is shown in full on one line, in a code span.
fn is_one_line(value: &str) -> bool {
    value.chars().count() <= LINE_CHARS && !value.contains(['\n', '`'])
}

/// The beginning of a value as a code span on one line.
fn code(value: &str, max_chars: usize) -> String {
    let shown = text::reveal(&shortened(value.trim(), max_chars));
    format!("`{}`", shown.replace('`', "\u{2019}").replace('\n', " "))
}

/// The first sentence of a description, on one line.
fn first_sentence(description: &str) -> &str {
    let line = description.lines().next().unwrap_or_default();
    line.find(". ").map_or(line, |end| &line[..=end])
}

/// The beginning of a text, with an ellipsis if it is longer. A word is cut only if it is long
/// itself.
pub(super) fn shortened(text: &str, max_chars: usize) -> String {
    let Some((end, _)) = text.char_indices().nth(max_chars) else { return text.to_owned() };
    let head = &text[..end];
    let whole_words = head.rfind(char::is_whitespace).filter(|at| *at >= end / 2);
    let kept = whole_words.map_or(head, |at| &head[..at]);
    format!("{}…", kept.trim_end())
}

/// A code block whose fence cannot be closed by its contents.
fn fenced(content: &str) -> String {
    let content = text::reveal(content);
    let longest = content.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}\n{content}\n{fence}")
}

/// The arguments on one line, for a settled approval.
pub fn in_short(arguments: &Value) -> String {
    let shown = match arguments.as_object().and_then(|fields| fields.values().next()) {
        Some(Value::String(first)) => shortened(&first.replace('`', ""), LINE_CHARS),
        Some(first) => shortened(&first.to_string().replace('`', ""), LINE_CHARS),
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
