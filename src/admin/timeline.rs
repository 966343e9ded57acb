//! A conversation as the page shows it: received and sent messages in one order.

use anyhow::Result;
use channels::{Choice, Outgoing, text};
use chrono::{DateTime, Utc};
use serde::Serialize;
use std::collections::HashMap;

use super::{files::percent, markdown_html, place_of};
use crate::{
    journal::{
        event::{Entry, Event, Seq},
        ids::{ConversationId, OutboxId},
    },
    store::{
        Store,
        history::{self, ShownRow},
        journal,
    },
};

/// How many outbox rows of the past a page shows initially.
const PAST: usize = 400;
/// How many rows are read to find new ones.
const FRESH: usize = 50;

/// An item of the timeline.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Item {
    pub id: String,
    /// The edit whose content this is, if any. Later edits sort after earlier ones.
    pub edit: String,
    /// Sorts as text.
    pub order: String,
    pub at: DateTime<Utc>,
    #[serde(flatten)]
    pub what: Shown,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Shown {
    /// `message` is the id that the page created.
    Said {
        text: String,
        message: String,
    },
    Text {
        html: String,
    },
    Question {
        html: String,
        approval: String,
        choices: Vec<Choice>,
    },
    /// Replaces the approval with the same id.
    Settled {
        html: String,
    },
    File {
        name: String,
        media_type: String,
        size_bytes: u64,
        url: String,
        html: String,
    },
}

/// What one page has, and what it lacks.
pub struct Timeline {
    channel: String,
    person: String,
    conversation: Option<ConversationId>,
    /// The rows that are shown: their place and time, and the edit that they have.
    shown: HashMap<String, Known>,
    heard: Seq,
    /// Whether older messages are not shown.
    pub begins_late: bool,
}

struct Known {
    order: String,
    at: DateTime<Utc>,
    /// The latest edit that the page has.
    edit: String,
}

impl Timeline {
    pub fn new(channel: &str, person: &str) -> Self {
        Self {
            channel: channel.to_owned(),
            person: person.to_owned(),
            conversation: None,
            shown: HashMap::new(),
            heard: 0,
            begins_late: false,
        }
    }

    /// Whether the page has this row.
    pub fn has(&self, id: &str) -> bool {
        self.shown.contains_key(id)
    }

    /// What is new or changed since the last call; everything, the first time.
    pub async fn news(&mut self, store: &Store) -> Result<Vec<Item>> {
        let first = self.conversation.is_none();
        let Some(conversation) = self.find(store).await? else { return Ok(Vec::new()) };
        let mut rows = rows(store, &conversation, if first { PAST } else { FRESH }).await?;
        let missed = rows.len() == FRESH && rows.first().is_some_and(|r| !self.knows(r));
        if !first && missed {
            rows = self::rows(store, &conversation, PAST).await?;
        }
        if first && rows.len() == PAST {
            self.begins_late = true;
            self.heard = rows.first().map_or(0, |row| row.seq);
        }
        let said = store.events_after(&conversation, self.heard).await?;
        let mut items = self.said(said);
        items.extend(rows.into_iter().filter_map(|row| self.show(row)));
        items.sort_by(|a, b| a.order.cmp(&b.order));
        Ok(items)
    }

    async fn find(&mut self, store: &Store) -> Result<Option<ConversationId>> {
        if self.conversation.is_none() {
            let (channel, place) = (self.channel.clone(), place_of(&self.person));
            self.conversation = store
                .read(move |tx| {
                    Box::pin(async move { journal::find_conversation(tx, &channel, &place).await })
                })
                .await?;
        }
        Ok(self.conversation.clone())
    }

    fn knows(&self, row: &ShownRow) -> bool {
        let id = row.edits.as_ref().unwrap_or(&row.id);
        self.shown.contains_key(id.as_str())
    }

    fn said(&mut self, entries: Vec<Entry>) -> Vec<Item> {
        let mut items = Vec::new();
        for entry in entries {
            self.heard = entry.seq;
            if let Event::Said { text, message, .. } = entry.event {
                items.push(Item {
                    id: format!("e{}", entry.seq),
                    edit: String::new(),
                    order: order(entry.seq, 0, ""),
                    at: entry.at,
                    what: Shown::Said { text, message },
                });
            }
        }
        items
    }

    /// The row as the page shows it, if it is new to the page.
    fn show(&mut self, row: ShownRow) -> Option<Item> {
        if let Some(edited) = &row.edits {
            return self.edit(edited.as_str(), &row.id, row.what);
        }
        if self.shown.contains_key(row.id.as_str()) {
            return None;
        }
        let what = shown(row.what)?;
        let (id, order) = (row.id.to_string(), order(row.seq, 1, row.id.as_str()));
        let known = Known { order: order.clone(), at: row.created_at, edit: String::new() };
        self.shown.insert(id.clone(), known);
        Some(Item { id, edit: String::new(), order, at: row.created_at, what })
    }

    /// An edit is shown in the place of the edited row. The page ignores edits of rows that it does
    /// not have.
    fn edit(&mut self, edited: &str, edit: &OutboxId, what: Outgoing) -> Option<Item> {
        let known = self.shown.get_mut(edited).filter(|k| k.edit.as_str() < edit.as_str())?;
        edit.as_str().clone_into(&mut known.edit);
        let what = shown(what)?;
        let (id, edit, order) = (edited.to_owned(), edit.to_string(), known.order.clone());
        Some(Item { id, edit, order, at: known.at, what })
    }
}

async fn rows(store: &Store, conversation: &ConversationId, most: usize) -> Result<Vec<ShownRow>> {
    let conversation = conversation.clone();
    let read = store
        .read(move |tx| Box::pin(async move { history::history(tx, &conversation, most).await }));
    read.await
}

/// Messages come before the replies to them; ids sort in order of creation.
fn order(seq: Seq, rank: u8, id: &str) -> String {
    format!("{seq:019}.{rank}.{id}")
}

fn shown(what: Outgoing) -> Option<Shown> {
    Some(match what {
        Outgoing::Text { markdown, .. } => {
            Shown::Text { html: markdown_html::from_markdown(&markdown) }
        }
        // A settled approval with remaining buttons is shown as an approval.
        Outgoing::Question { markdown, approval, choices, .. }
        | Outgoing::Settled { markdown, approval: Some(approval), choices } => {
            Shown::Question { html: markdown_html::from_markdown(&markdown), approval, choices }
        }
        Outgoing::Settled { markdown, .. } => {
            Shown::Settled { html: markdown_html::from_markdown(&markdown) }
        }
        Outgoing::File { name, media_type, size_bytes, digest, caption, .. } => Shown::File {
            url: format!("/files/{digest}/{}", percent(&name)),
            name: text::neutralise(&name),
            media_type,
            size_bytes,
            html: markdown_html::from_markdown(&caption.unwrap_or_default()),
        },
        Outgoing::Placeholder { .. }
        | Outgoing::Draft { .. }
        | Outgoing::Removal
        | Outgoing::Typing
        | Outgoing::Reaction { .. }
        | Outgoing::Toast { .. } => return None,
    })
}
