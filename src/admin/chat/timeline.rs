//! A conversation as the page shows it: received and sent messages in one order.

use anyhow::Result;
use channels::{Outgoing, Place, text};
use chrono::{DateTime, Utc};
use serde::Serialize;
use std::collections::HashMap;

use super::{
    activity::{Activity, Trace, TracedCall},
    participant::Participant,
    regenerate::is_repeated,
    timeline_item::{ItemFile, ItemMarkdown, ShownItem, TimelineItem, rendered},
};
use crate::{
    admin::Admin,
    agent::redact::Redactor,
    journal::{
        event::{Entry, Event, Seq},
        ids::{ConversationId, OutboxId},
    },
    store::{
        Store,
        conversations::{
            history::{self, ShownRow},
            journal,
        },
    },
    texts::Language,
};

/// How many outbox rows of the past a page shows initially.
const PAST: usize = 400;
/// How many rows are read to find new ones.
const FRESH: usize = 50;
/// How many rows a page loads at once when a person scrolls back, and how many events.
const OLDER: usize = 200;
/// The maximum number of events that are read at once.
const EVENTS: usize = 5_000;
/// How much is shown of the arguments and of the result of a call.
const CALL_CHARS: usize = 4_000;

/// Items that came before others, and before which event there are more.
#[derive(Debug, Serialize)]
pub struct OlderPage {
    pub items: Vec<TimelineItem>,
    pub before: Option<Seq>,
}

/// What one page shows, and what it still has to load.
pub struct Timeline {
    channel: String,
    place: Place,
    language: Language,
    /// Visitors are not shown what the agent does.
    shows_calls: bool,
    trace: Trace,
    conversation: Option<ConversationId>,
    /// The rows that are shown: their place and time, and the edit that they have.
    shown: HashMap<String, KnownItem>,
    seen_upto: Seq,
    /// Earlier events are not shown, because the answers to them have been deleted.
    since: DateTime<Utc>,
    /// Before which event there are older messages.
    pub before: Option<Seq>,
}

struct KnownItem {
    order: String,
    at: DateTime<Utc>,
    /// The latest edit that the page has.
    edit: String,
}

impl Timeline {
    pub fn new(participant: &Participant, language: Language) -> Self {
        Self {
            channel: participant.channel.clone(),
            place: participant.place(),
            language,
            shows_calls: !participant.is_visitor(),
            trace: Trace::default(),
            conversation: None,
            shown: HashMap::new(),
            seen_upto: 0,
            since: DateTime::UNIX_EPOCH,
            before: None,
        }
    }

    /// The activity of the conversation, after the last call of [`Self::new_items`].
    pub fn activity(&self) -> Activity {
        self.trace.activity()
    }

    /// Whether the page has this row.
    pub fn has(&self, id: &str) -> bool {
        self.shown.contains_key(id)
    }

    /// What is new or changed since the last call; everything, the first time.
    pub async fn new_items(&mut self, admin: &Admin) -> Result<Vec<TimelineItem>> {
        let store = &admin.gateway.store;
        self.since = kept_since(admin);
        let first = self.conversation.is_none();
        let Some(conversation) = self.find(store).await? else { return Ok(Vec::new()) };
        let mut rows = rows(store, &conversation, if first { PAST } else { FRESH }).await?;
        let missed = rows.len() == FRESH && rows.first().is_some_and(|r| !self.knows(r));
        if !first && missed {
            rows = self::rows(store, &conversation, PAST).await?;
        }
        if first && rows.len() == PAST {
            self.seen_upto = rows.first().map_or(0, |row| row.seq);
            self.before = Some(self.seen_upto + 1);
        }
        let range = history::EventRange { after: self.seen_upto, before: Seq::MAX };
        let entries = store.read(move |tx| {
            Box::pin(async move { history::events_within(tx, &conversation, range, EVENTS).await })
        });
        let entries = entries.await?;
        if let Some(begins) = self.cut(&entries) {
            self.before = Some(begins);
            rows.retain(|row| row.seq >= begins);
        }
        let mut items = self.happened(entries, admin.redactor());
        items.extend(rows.into_iter().filter_map(|row| self.show(row)));
        items.sort_by(|a, b| a.order.cmp(&b.order));
        rendered(items).await
    }

    /// What came before the event `before`.
    pub async fn older(mut self, admin: &Admin, before: Seq) -> Result<OlderPage> {
        let store = &admin.gateway.store;
        self.since = kept_since(admin);
        let Some(conversation) = self.find(store).await? else {
            return Ok(OlderPage { items: Vec::new(), before: None });
        };
        let page_request = history::RowsBefore { seq: before, limit: OLDER };
        let read = store.read(move |tx| {
            Box::pin(async move {
                let rows = history::before(tx, &conversation, page_request).await?;
                let begins = rows.first().filter(|_| rows.len() == OLDER).map(|row| row.seq);
                // All rows may be of one event: then the rest of them is skipped.
                let (after, more) = match begins {
                    None => (0, None),
                    Some(begins) if begins + 1 < before => (begins, Some(begins + 1)),
                    Some(begins) => (begins - 1, Some(begins)),
                };
                let range = history::EventRange { after, before };
                let entries = history::events_within(tx, &conversation, range, EVENTS).await?;
                let edits = history::edits_from(tx, &conversation, page_request).await?;
                Ok((rows, more, entries, edits))
            })
        });
        let (mut rows, mut more, entries, edits) = read.await?;
        if let Some(begins) = self.cut(&entries) {
            more = Some(begins);
            rows.retain(|row| row.seq >= begins);
        }
        let mut items = self.happened(entries, admin.redactor());
        items.extend(rows.into_iter().chain(edits).filter_map(|row| self.show(row)));
        items.sort_by(|a, b| a.order.cmp(&b.order));
        Ok(OlderPage { items: rendered(items).await?, before: more })
    }

    /// The first of these events, if there are earlier ones that were not read and are still shown.
    fn cut(&self, entries: &[Entry]) -> Option<Seq> {
        let begins = entries.first().filter(|entry| entry.at >= self.since)?;
        (entries.len() == EVENTS).then_some(begins.seq)
    }

    async fn find(&mut self, store: &Store) -> Result<Option<ConversationId>> {
        if self.conversation.is_none() {
            let (channel, place) = (self.channel.clone(), self.place.clone());
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

    fn happened(
        &mut self,
        entries: Vec<Entry>,
        redactor: &Redactor,
    ) -> Vec<TimelineItem<ItemMarkdown>> {
        let mut items: Vec<TimelineItem<ItemMarkdown>> = Vec::new();
        for entry in entries {
            self.seen_upto = entry.seq;
            let calls = self.trace.apply(&entry);
            if entry.at < self.since {
                continue;
            }
            if self.shows_calls {
                items.extend(calls.into_iter().map(|call| self.call(call, redactor)));
            }
            match entry.event {
                Event::Said { text, message, .. } => items.push(TimelineItem {
                    id: format!("e{}", entry.seq),
                    edit: String::new(),
                    order: order(entry.seq, 0, ""),
                    at: entry.at,
                    what: ShownItem::Said {
                        again: is_repeated(&message),
                        text,
                        message,
                        files: Vec::new(),
                    },
                }),
                // Recorded together with its message.
                Event::FileSent { message, file, prompt: None } => {
                    let sent = ItemFile { name: file.name, size_bytes: file.size_bytes };
                    let mut said = items.iter_mut().rev();
                    if let Some(files) = said.find_map(|item| item.files_of(&message)) {
                        files.push(sent);
                    }
                }
                _ => {}
            }
        }
        items
    }

    fn call(&self, traced: TracedCall, redactor: &Redactor) -> TimelineItem<ItemMarkdown> {
        let TracedCall { call, status, result, took_ms, made, place, made_at, changed, .. } =
            traced;
        let arguments = redactor.value(&call.arguments);
        let summary = self.language.words().call_summary(&call.tool, &arguments);
        let what = ShownItem::Call {
            summary: ItemMarkdown(summary),
            state: status,
            arguments: beginning(&text::reveal(&format!("{arguments:#}"))),
            result: result.map(|text| beginning(&text::reveal(&redactor.text(&text)))),
            took_ms,
            tool: call.tool,
        };
        let (id, edit) = (format!("c{}", call.id), format!("{changed:019}"));
        TimelineItem { id, edit, order: order(made, 2, &format!("{place:03}")), at: made_at, what }
    }

    /// The row as the page shows it, if it is new to the page.
    fn show(&mut self, row: ShownRow) -> Option<TimelineItem<ItemMarkdown>> {
        if let Some(edited) = &row.edits {
            return self.edit(edited.as_str(), &row.id, row.what);
        }
        if self.shown.contains_key(row.id.as_str()) {
            return None;
        }
        let what = ShownItem::of(row.what)?;
        let (id, order) = (row.id.to_string(), order(row.seq, 1, row.id.as_str()));
        let known = KnownItem { order: order.clone(), at: row.created_at, edit: String::new() };
        self.shown.insert(id.clone(), known);
        Some(TimelineItem { id, edit: String::new(), order, at: row.created_at, what })
    }

    /// An edit is shown in the place of the edited row. The page ignores edits of rows that it does
    /// not have.
    fn edit(
        &mut self,
        edited: &str,
        edit: &OutboxId,
        what: Outgoing,
    ) -> Option<TimelineItem<ItemMarkdown>> {
        let known = self.shown.get_mut(edited).filter(|k| k.edit.as_str() < edit.as_str())?;
        edit.as_str().clone_into(&mut known.edit);
        let what = ShownItem::of(what)?;
        let (id, edit, order) = (edited.to_owned(), edit.to_string(), known.order.clone());
        Some(TimelineItem { id, edit, order, at: known.at, what })
    }
}

/// The time since which all messages of a conversation are stored. The journal is kept for longer
/// than sent messages.
pub fn kept_since(admin: &Admin) -> DateTime<Utc> {
    admin.gateway.clock.now() - admin.worker.retention.messages
}

async fn rows(store: &Store, conversation: &ConversationId, limit: usize) -> Result<Vec<ShownRow>> {
    let conversation = conversation.clone();
    let read = store
        .read(move |tx| Box::pin(async move { history::history(tx, &conversation, limit).await }));
    read.await
}

/// The beginning of a long text.
fn beginning(text: &str) -> String {
    match text.char_indices().nth(CALL_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Messages come before the replies to them; ids sort in order of creation.
fn order(seq: Seq, rank: u8, id: &str) -> String {
    format!("{seq:019}.{rank}.{id}")
}
