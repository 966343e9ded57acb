//! What came with messages, and what became of them afterwards: files, edits.

use channels::FileRef;

use super::{
    event::{Attachment, Seq, Speaker},
    session::{Item, Session},
};

/// A file that came with a message.
#[derive(Debug, Clone, PartialEq)]
pub struct SentFile {
    pub seq: Seq,
    pub file: FileRef,
    pub state: FileState,
}

#[derive(Debug, Clone, PartialEq)]
pub enum FileState {
    /// The platform has it.
    Waiting,
    Taken {
        path: String,
        attachment: Attachment,
    },
    Lost {
        reason: String,
    },
}

/// What stands in front of an edit that comes after its message was read.
const EDITED: &str = "(I have changed my earlier message to:) ";

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

    pub(super) fn file_taken(&mut self, of: Seq, path: &str) {
        let by = self.items.iter().find_map(|item| match item {
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

    pub(super) fn set_file(&mut self, of: Seq, state: FileState) {
        let files = self.items.iter_mut().filter_map(|item| match item {
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
