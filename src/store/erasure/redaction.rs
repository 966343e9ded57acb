//! Redacts a person from a conversation with other people: their words and names, and what the bot
//! derived from them. What other people said is kept unchanged.

use anyhow::Result;
use regex::Regex;
use serde_json::Value;
use std::collections::BTreeSet;

use crate::{
    agent::redact,
    journal::{
        event::{Decider, Decision, Entry, Event, Seq, Speaker, ToolResult},
        ids::ApprovalId,
    },
};

/// Replaces the name of the erased person and their words.
pub(in crate::store) const NOBODY: &str = "erased";
/// Shorter quotations, such as "yes" or "thank you", could be anyone's and are kept.
const QUOTE_CHARS: usize = 12;
/// The fields with the bot's words in a sent message.
const SHOWN: [&str; 4] = ["markdown", "caption", "text", "name"];

pub(in crate::store) fn nobody() -> Speaker {
    Speaker { id: NOBODY.to_owned(), name: NOBODY.to_owned() }
}

/// A person, and the names that they have in one conversation.
#[derive(Clone, Default)]
pub(in crate::store) struct Forgotten {
    person: String,
    names: Option<Regex>,
    quotes: BTreeSet<String>,
    messages: BTreeSet<String>,
    /// The events with their files.
    files: BTreeSet<Seq>,
    /// The approvals that they decided.
    pub decided: BTreeSet<ApprovalId>,
    /// The digests of their files.
    pub digests: BTreeSet<String>,
}

impl Forgotten {
    pub fn of(person: &str, entries: &[Entry]) -> Result<Self> {
        let mut found = Self { person: person.to_owned(), ..Self::default() };
        let mut names = BTreeSet::new();
        for entry in entries {
            let known = speakers(&entry.event).into_iter().filter(|by| by.id == person);
            names.extend(known.map(|by| by.name.clone()));
            found.note(entry);
        }
        found.quotes.retain(|quote| quote.chars().count() >= QUOTE_CHARS);
        let names: Vec<_> = names.iter().filter(|name| name.len() > 1).map(|n| whole(n)).collect();
        if !names.is_empty() {
            found.names = Some(Regex::new(&names.join("|"))?);
        }
        Ok(found)
    }

    fn note(&mut self, entry: &Entry) {
        match &entry.event {
            Event::Said { by, text, message } | Event::Edited { by, text, message }
                if by.id == self.person =>
            {
                self.messages.insert(message.clone());
                self.quotes.insert(text.clone());
            }
            Event::FileSent { message, file, .. } if self.messages.contains(message) => {
                self.files.insert(entry.seq);
                self.quotes.insert(file.name.clone());
            }
            Event::FileFetched { file, attachment, view, text, .. }
                if self.files.contains(file) =>
            {
                self.quotes.extend(text.clone());
                self.digests.insert(attachment.digest.clone());
                self.digests.extend(view.as_ref().map(|view| view.digest.clone()));
            }
            Event::ApprovalDecided { approval, by: Decider::Person(by), .. }
                if by.id == self.person =>
            {
                self.decided.insert(approval.clone());
            }
            _ => {}
        }
    }

    /// Whether this event determines what to redact. Such events are rewritten last, so that an
    /// interrupted erasure can resume.
    pub fn is_source(&self, entry: &Entry) -> bool {
        self.files.contains(&entry.seq)
            || speakers(&entry.event).iter().any(|by| by.id == self.person)
            || matches!(&entry.event, Event::FileFetched { file, .. } if self.files.contains(file))
    }

    /// The event without the person; `None` if it contains nothing of theirs.
    pub fn redact(&self, entry: &Entry) -> Option<Event> {
        let mut event = entry.event.clone();
        match &mut event {
            Event::Said { by, text, .. }
            | Event::Edited { by, text, .. }
            | Event::TaskDue { by, text, .. }
            | Event::WebhookReceived { by, text, .. }
                if by.id == self.person =>
            {
                *by = nobody();
                NOBODY.clone_into(text);
            }
            Event::JobReported { by, task, text, .. } if by.id == self.person => {
                *by = nobody();
                NOBODY.clone_into(task);
                NOBODY.clone_into(text);
            }
            Event::FileSent { file, prompt, .. } if self.files.contains(&entry.seq) => {
                NOBODY.clone_into(&mut file.name);
                *prompt = None;
            }
            Event::FileFetched { file, attachment, path, view, text }
                if self.files.contains(file) =>
            {
                NOBODY.clone_into(path);
                NOBODY.clone_into(&mut attachment.name);
                (attachment.digest, *view) = ("0".repeat(attachment.digest.len()), None);
                *text = None;
            }
            // It is unknown whose words these texts were derived from.
            Event::Remembered { text } | Event::Compacted { summary: text, .. } => {
                NOBODY.clone_into(text);
            }
            Event::Stopped { by } | Event::Restarted { by } | Event::ModelChosen { by, .. }
                if by.id == self.person =>
            {
                *by = nobody();
            }
            Event::ApprovalDecided { by: Decider::Person(by), decision, .. }
                if by.id == self.person =>
            {
                *by = nobody();
                forget_reason(decision);
            }
            Event::StateInherited(inherited) => {
                for by in inherited.joined.iter_mut().filter(|by| by.id == self.person) {
                    *by = nobody();
                }
            }
            Event::Failed { cause: Some(text), .. } | Event::Tainted { source: text } => {
                *text = self.redact_text(text);
            }
            Event::Replied { text, calls, .. } => {
                *text = self.redact_text(text);
                for call in calls {
                    call.arguments = self.redact_json(&call.arguments, &[]);
                }
            }
            Event::ToolFinished { result, .. } => self.redact_result(result),
            _ => return None,
        }
        (event != entry.event).then_some(event)
    }

    fn redact_result(&self, result: &mut ToolResult) {
        result.text = self.redact_text(&result.text);
        for file in &mut result.attachments {
            file.name = self.redact_text(&file.name);
            let caption = file.caption.as_deref();
            file.caption = caption.map(|text| self.redact_text(text).into_boxed_str());
        }
    }

    /// The bot's text without the person's names and quotations.
    pub fn redact_text(&self, text: &str) -> String {
        let text = self.quotes.iter().rev().fold(text.to_owned(), |text, quote| {
            if text.contains(quote) { text.replace(quote, NOBODY) } else { text }
        });
        match &self.names {
            Some(names) => names.replace_all(&text, NOBODY).into_owned(),
            None => text,
        }
    }

    /// Like [`redact_text`](Self::redact_text), for a sent message.
    pub fn redact_shown(&self, shown: &Value) -> Value {
        self.redact_json(shown, &SHOWN)
    }

    /// Redacts the values of these fields, or of all fields if none is given.
    pub fn redact_json(&self, value: &Value, under: &[&str]) -> Value {
        redact::mapped(value, &|name, text| match name {
            Some(name) if under.is_empty() || under.contains(&name) => self.redact_text(text),
            _ => text.to_owned(),
        })
    }
}

/// Removes a reason that they gave.
fn forget_reason(decision: &mut Decision) {
    match decision {
        Decision::Deny { reason: Some(text) } | Decision::Answer { text } => {
            NOBODY.clone_into(text);
        }
        _ => {}
    }
}

/// The people in an event.
pub(in crate::store) fn speakers(event: &Event) -> Vec<&Speaker> {
    match event {
        Event::Said { by, .. }
        | Event::Edited { by, .. }
        | Event::TaskDue { by, .. }
        | Event::WebhookReceived { by, .. }
        | Event::JobReported { by, .. }
        | Event::Stopped { by }
        | Event::Restarted { by }
        | Event::ModelChosen { by, .. }
        | Event::ApprovalDecided { by: Decider::Person(by), .. } => vec![by],
        Event::StateInherited(inherited) => inherited.joined.iter().collect(),
        _ => vec![],
    }
}

/// A pattern for a name, which does not match within a longer word in scripts that separate words.
fn whole(name: &str) -> String {
    let parts = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() && c < '\u{2e80}');
    let (first, last) = (parts(name.chars().next()), parts(name.chars().last()));
    let edge = |is_there| if is_there { r"\b" } else { "" };
    format!("{}{}{}", edge(first), regex::escape(name), edge(last))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn forgotten(said: &[(&str, &str)]) -> Forgotten {
        let entry = |(seq, (name, text)): (usize, &(&str, &str))| Entry {
            seq: seq as i64,
            at: chrono::DateTime::UNIX_EPOCH,
            event: Event::Said {
                by: Speaker { id: "1".into(), name: (*name).into() },
                text: (*text).into(),
                message: seq.to_string(),
            },
        };
        let entries: Vec<_> = said.iter().enumerate().map(entry).collect();
        Forgotten::of("1", &entries).unwrap()
    }

    #[test]
    fn names_and_quotes_go_and_longer_words_stay() {
        let ann = forgotten(&[("Ann", "my cat is called Whiskers"), ("小安", "yes")]);
        let left = |text| ann.redact_text(text);
        assert_eq!(left("Yes, Ann: Anna knows."), "Yes, erased: Anna knows.");
        assert_eq!(left("\"my cat is called Whiskers\", she says"), "\"erased\", she says");
        assert_eq!(left("请问小安在吗？ yes"), "请问erased在吗？ yes");
        let shown = json!({ "kind": "text", "markdown": "Ann", "choices": [{ "key": "Ann" }] });
        let left = json!({ "kind": "text", "markdown": "erased", "choices": [{ "key": "Ann" }] });
        assert_eq!(ann.redact_shown(&shown), left);
    }

    #[test]
    fn a_name_with_marks_in_it_is_a_name() {
        let odd = forgotten(&[("A. (x)", ""), ("", "")]);
        assert_eq!(odd.redact_text("Ab (x) A. (x)!"), "Ab (x) erased!");
    }
}
