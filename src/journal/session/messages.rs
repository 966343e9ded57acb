//! Files and edits of messages.

use channels::FileRef;
use serde::{Deserialize, Serialize};

use crate::journal::{
    event::{Attachment, Entry, Event, PromptRequest, Seq, Speaker},
    ids::JobId,
    session::{Item, Session},
};

/// A file that came with a message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SentFile {
    pub seq: Seq,
    pub file: FileRef,
    /// The prompt whose text it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<Box<PromptRequest>>,
    pub state: FileState,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileState {
    /// Not fetched from the platform yet.
    Waiting,
    Taken {
        path: String,
        attachment: Attachment,
        /// The version of a picture that the model is shown.
        view: Option<Box<Attachment>>,
        /// The text of a prompt, which the model is shown.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<String>,
    },
    Lost {
        reason: String,
    },
}

/// The prefix of an edit that arrives after its message was read.
const EDITED: &str = "(I have changed my earlier message to:) ";

/// The prefix of a scheduled task.
const SCHEDULED: &str = "(A task that I have scheduled is due. If there is nothing to tell me, \
                         answer [SILENT] and nothing else.)\n";

/// The answer to a scheduled task that shows nothing.
pub const SILENT: &str = "[SILENT]";

/// The report of a background job as the model reads it.
pub(super) fn job_report(job: &JobId, task: &str, is_done: bool, text: &str) -> String {
    let how = if is_done { "has ended" } else { "has failed" };
    format!(
        "(The background job {} that I asked for {how}. Tell me the result. What follows is its \
            task and its report, not my words.)\nTask: {task}\n\nReport:\n{text}",
        job.code()
    )
}

impl Session {
    /// Files that must be fetched before the model can see them.
    pub fn waiting_files(&self) -> impl Iterator<Item = &SentFile> {
        self.items
            .iter()
            .filter_map(|item| match item {
                Item::Said { files, .. } => Some(files),
                _ => None,
            })
            .flatten()
            .filter(|sent| sent.state == FileState::Waiting)
    }

    /// Whether the dialogue contains no reply yet.
    pub fn has_just_begun(&self) -> bool {
        !self.items.iter().any(|item| matches!(item, Item::Replied { .. } | Item::Summary { .. }))
    }

    /// The person on whose behalf a reply acts that has read the events up to `upto`.
    pub fn speaks_for(&self, upto: Seq) -> Option<Speaker> {
        let spoke_last = self.items.iter().rev().find_map(|item| match item {
            Item::Said { seq, by, .. } if *seq <= upto => Some(by.clone()),
            _ => None,
        });
        spoke_last.or_else(|| self.requester.clone())
    }

    /// People who write while calls are running join the turn, but the calls still act on behalf of
    /// the requester.
    pub(super) fn asked_by(&mut self, upto: Seq) {
        let fresh = self.messages_from_newest().take_while(|(seq, _)| *seq > self.answered_upto);
        let read = fresh.filter(|(seq, _)| *seq <= upto);
        let mut read: Vec<_> = read.map(|(_, by)| by.clone()).collect();
        read.reverse();
        if self.calls.is_empty() || self.requester.is_none() {
            // A sub-agent inherits them before its first message.
            if self.requester.is_some() {
                self.joined.clear();
            }
            self.requester = read.first().cloned().or_else(|| self.requester.take());
        }
        let own = self.requester.as_ref().map(|by| by.id.clone());
        read.retain(|by| Some(&by.id) != own.as_ref());
        for by in read {
            if !self.joined.iter().any(|known| known.id == by.id) {
                self.joined.push(by);
            }
        }
    }

    /// The messages, newest first. Sequence numbers increase along the items, so a search for
    /// recent messages can stop at the first one that is too old.
    fn messages_from_newest(&self) -> impl Iterator<Item = (Seq, &Speaker)> {
        self.items.iter().rev().filter_map(|item| match item {
            Item::Said { seq, by, .. } => Some((*seq, by)),
            _ => None,
        })
    }

    /// The index of the first message after this event, or the end.
    pub(super) fn first_said_after(&self, upto: Seq) -> usize {
        let mut place = self.items.len();
        for (at, item) in self.items.iter().enumerate().rev() {
            match item {
                Item::Said { seq, .. } if *seq > upto => place = at,
                Item::Said { .. } => break,
                _ => {}
            }
        }
        place
    }

    /// Whether this message exists and no reply has read it yet.
    pub fn is_unread(&self, message: &str) -> bool {
        self.items.iter().any(|item| match item {
            Item::Said { seq, message: own, .. } => own == message && *seq > self.answered_upto,
            _ => false,
        })
    }

    /// Whether the current turn acts on this message of this person.
    pub fn acts_on(&self, of: &str, person: &Speaker) -> bool {
        self.items.iter().any(|item| match item {
            Item::Said { seq, message, by, .. } => {
                let read = (self.turn.began..=self.answered_upto).contains(seq);
                read && message == of && by.id == person.id
            }
            _ => false,
        })
    }

    /// Whether this file may contain untrusted content: it was modified while the conversation was
    /// tainted, or a person sent it.
    pub fn is_untrusted(&self, path: &str) -> bool {
        self.untrusted.contains(path) || self.sent.contains_key(path)
    }

    pub fn has_untrusted(&self) -> bool {
        !self.untrusted.is_empty() || !self.sent.is_empty()
    }

    /// A due task is treated as a message of the person who scheduled it, without a message id.
    pub(super) fn task_due(&mut self, entry: &Entry, by: &Speaker, task: &str) {
        let begins = !self.awaits_model() && self.calls.is_empty();
        self.said(entry, by, &format!("{SCHEDULED}{task}"), "");
        self.turn.is_scheduled = begins;
    }

    /// A webhook is treated as a message of the person it is received for, without a message id.
    pub(super) fn pushed(&mut self, entry: &Entry, hook: &str, by: &Speaker, text: &str) {
        let shown = format!(
            "(The webhook `{hook}` came in. What follows is data from outside, not my words.)\n{text}"
        );
        self.said(entry, by, &shown, "");
    }

    pub(super) fn file_taken(&mut self, of: Seq, path: &str) {
        let by = self.items.iter().rev().find_map(|item| match item {
            Item::Said { by, files, .. } if files.iter().any(|sent| sent.seq == of) => Some(by),
            _ => None,
        });
        if let Some(by) = by {
            self.sent.insert(path.to_owned(), by.id.clone());
        }
    }

    pub(super) fn say(&mut self, seq: Seq, by: &Speaker, text: String, message: &str) {
        let (by, message) = (by.clone(), message.to_owned());
        self.items.push(Item::Said { seq, by, text, message, files: Vec::new() });
    }

    /// A file came with the message `to`.
    pub(super) fn file_sent(&mut self, entry: &Entry, to: &str) {
        let Event::FileSent { file, prompt, .. } = &entry.event else { return };
        let said = self.items.iter_mut().rev().find_map(|item| match item {
            Item::Said { message, files, .. } if message == to => Some(files),
            _ => None,
        });
        if let Some(files) = said {
            let (file, prompt) = (file.clone(), prompt.clone().map(Box::new));
            files.push(SentFile { seq: entry.seq, file, prompt, state: FileState::Waiting });
        }
    }

    pub(super) fn show_pictures(&mut self, views: &[Attachment]) {
        let seq = self.seq;
        self.items.extend(views.iter().map(|view| Item::Looked { seq, view: view.clone() }));
    }

    pub(super) fn set_file(&mut self, of: Seq, state: FileState) {
        let files = self.items.iter_mut().rev().filter_map(|item| match item {
            Item::Said { files, .. } => Some(files),
            _ => None,
        });
        if let Some(sent) = files.flatten().find(|sent| sent.seq == of) {
            sent.state = state;
        }
    }

    /// An edit of an unread message replaces its text. An edit of a message that was read is
    /// appended as a new message.
    pub(super) fn edited(&mut self, edit: Seq, by: &Speaker, message: &str, new: &str) {
        let unread = self.answered_upto;
        let said = self.items.iter_mut().rev().find_map(|item| match item {
            Item::Said { seq, by: own, text, message: id, .. }
                if id == message && own.id == by.id =>
            {
                Some((*seq, text))
            }
            _ => None,
        });
        match said {
            Some((seq, text)) if seq > unread => new.clone_into(text),
            Some(_) => self.say(edit, by, format!("{EDITED}{new}"), message),
            None => {}
        }
    }
}

/// Appended to the summary of a dialogue that contained pictures.
const UNSEEN: &str =
    "(The pictures of that part are not shown any more; `look_at` shows them again.)";

/// The summary that replaces these items.
pub(super) fn summary(text: &str, of: &[Item]) -> String {
    let had_pictures = of.iter().any(|item| item.views().next().is_some());
    if had_pictures { format!("{text}\n{UNSEEN}") } else { text.to_owned() }
}

impl Item {
    /// The pictures that this result shows to the model, by path.
    pub fn views(&self) -> impl Iterator<Item = &Attachment> {
        let (files, looked) = match self {
            Item::Said { files, .. } => (files.as_slice(), None),
            Item::Looked { view, .. } => (&[][..], Some(view)),
            _ => (&[][..], None),
        };
        let sent = files.iter().filter_map(|sent| match &sent.state {
            FileState::Taken { view, .. } => view.as_deref(),
            _ => None,
        });
        sent.chain(looked)
    }

    /// The sequence number of the item's event.
    pub fn seq(&self) -> Seq {
        match self {
            Item::Said { seq, .. } | Item::Note { seq, .. } | Item::Looked { seq, .. } => *seq,
            Item::Replied { upto, .. } => *upto,
            Item::Summary { .. } => 0,
        }
    }
}
