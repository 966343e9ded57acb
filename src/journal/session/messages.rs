//! What came with messages, and what became of them afterwards: files, edits.

use channels::FileRef;
use serde::{Deserialize, Serialize};

use crate::journal::{
    event::{Attachment, Entry, Seq, Speaker},
    session::{Item, Session},
};

/// A file that came with a message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SentFile {
    pub seq: Seq,
    pub file: FileRef,
    pub state: FileState,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileState {
    /// The platform has it.
    Waiting,
    Taken {
        path: String,
        attachment: Attachment,
        /// What the model is shown of a picture.
        view: Option<Attachment>,
    },
    Lost {
        reason: String,
    },
}

/// What stands in front of an edit that comes after its message was read.
const EDITED: &str = "(I have changed my earlier message to:) ";

/// What stands in front of a task that was scheduled.
const SCHEDULED: &str = "(A task that I have scheduled is due. If there is nothing to tell me, \
                         answer [SILENT] and nothing else.)\n";

/// The answer of a scheduled task that shows nothing.
pub const SILENT: &str = "[SILENT]";

impl Session {
    /// Files that the model cannot see before they are fetched.
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

    /// Whether no reply stands in the dialogue yet.
    pub fn has_just_begun(&self) -> bool {
        !self.items.iter().any(|item| matches!(item, Item::Replied { .. } | Item::Summary { .. }))
    }

    /// On whose behalf a reply acts that has read everything up to `upto`.
    pub fn speaks_for(&self, upto: Seq) -> Option<Speaker> {
        let spoke_last = self.items.iter().rev().find_map(|item| match item {
            Item::Said { seq, by, .. } if *seq <= upto => Some(by.clone()),
            _ => None,
        });
        spoke_last.or_else(|| self.requester.clone())
    }

    /// Who speaks while calls are under way joins in: the calls stay those of who asked for them.
    pub(super) fn asked_by(&mut self, upto: Seq) {
        let fresh = self.said_from_the_end().take_while(|(seq, _)| *seq > self.answered_upto);
        let read = fresh.filter(|(seq, _)| *seq <= upto);
        let mut read: Vec<_> = read.map(|(_, by)| by.clone()).collect();
        read.reverse();
        if self.calls.is_empty() || self.requester.is_none() {
            // A sub-agent has inherited them before anybody asks it for anything.
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

    /// What was said, the newest first. Numbers only grow along the items, so that a search for
    /// recent ones can stop at the first that is too old.
    fn said_from_the_end(&self) -> impl Iterator<Item = (Seq, &Speaker)> {
        self.items.iter().rev().filter_map(|item| match item {
            Item::Said { seq, by, .. } => Some((*seq, by)),
            _ => None,
        })
    }

    /// The place of the first message that has come after that event; the end, if none has.
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

    /// Whether that message has been said and no reply has read it yet.
    pub fn is_unread(&self, message: &str) -> bool {
        self.items.iter().any(|item| match item {
            Item::Said { seq, message: own, .. } => own == message && *seq > self.answered_upto,
            _ => false,
        })
    }

    /// Whether the turn at hand acts on that message of that person.
    pub fn acts_on(&self, of: &str, person: &Speaker) -> bool {
        self.items.iter().any(|item| match item {
            Item::Said { seq, message, by, .. } => {
                let read = (self.turn.began..=self.answered_upto).contains(seq);
                read && message == of && by.id == person.id
            }
            _ => false,
        })
    }

    /// Whether other people's words may stand in that file: it was touched under their influence,
    /// or sent, and what people send may be anybody's.
    pub fn is_foreign(&self, path: &str) -> bool {
        self.foreign.contains(path) || self.sent.contains_key(path)
    }

    pub fn has_foreign(&self) -> bool {
        !self.foreign.is_empty() || !self.sent.is_empty()
    }

    /// As if whoever scheduled the task had written it, but for its message, which is none.
    pub(super) fn ticked(&mut self, entry: &Entry, by: &Speaker, task: &str) {
        let begins = !self.awaits_model() && self.calls.is_empty();
        self.said(entry, by, &format!("{SCHEDULED}{task}"), "");
        self.turn.ticked = begins;
    }

    /// As if that person had shown it, but for its message, which is none.
    pub(super) fn pushed(&mut self, entry: &Entry, (hook, by): (&str, &Speaker), text: &str) {
        let told = format!(
            "(The webhook `{hook}` came in. What follows is data from outside, not my words.)\n{text}"
        );
        self.said(entry, by, &told, "");
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

    pub(super) fn file_sent(&mut self, file_seq: Seq, to: &str, file: &FileRef) {
        let said = self.items.iter_mut().rev().find_map(|item| match item {
            Item::Said { message, files, .. } if message == to => Some(files),
            _ => None,
        });
        if let Some(files) = said {
            let (file, state) = (file.clone(), FileState::Waiting);
            files.push(SentFile { seq: file_seq, file, state });
        }
    }

    pub(super) fn look(&mut self, views: &[Attachment]) {
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

    /// What no reply has read is as if it had been written so; what one has is told to the next.
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

/// What stands behind a summary of a dialogue that had pictures.
const UNSEEN: &str =
    "(The pictures of that part are not shown any more; `look_at` shows them again.)";

/// The summary of these items.
pub(super) fn summary(text: &str, of: &[Item]) -> String {
    let had_pictures = of.iter().any(|item| item.views().next().is_some());
    if had_pictures { format!("{text}\n{UNSEEN}") } else { text.to_owned() }
}

impl Item {
    /// The pictures that the model is shown here, by their paths.
    pub fn views(&self) -> impl Iterator<Item = &Attachment> {
        let (files, looked) = match self {
            Item::Said { files, .. } => (files.as_slice(), None),
            Item::Looked { view, .. } => (&[][..], Some(view)),
            _ => (&[][..], None),
        };
        let sent = files.iter().filter_map(|sent| match &sent.state {
            FileState::Taken { view, .. } => view.as_ref(),
            _ => None,
        });
        sent.chain(looked)
    }

    /// Where the item stands among the others.
    pub fn seq(&self) -> Seq {
        match self {
            Item::Said { seq, .. } | Item::Note { seq, .. } | Item::Looked { seq, .. } => *seq,
            Item::Replied { upto, .. } => *upto,
            Item::Summary { .. } => 0,
        }
    }
}
