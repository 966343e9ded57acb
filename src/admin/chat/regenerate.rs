//! A new answer to the last message of a conversation: the message is sent again with its files, and
//! begins a new turn. The earlier answer, and what tools have done for it, stay in the conversation,
//! where the model reads them. In the new turn, tools may run again, under the same rules.

use anyhow::Result;
use axum::{
    Json,
    extract::{State, rejection::JsonRejection},
    http::{HeaderMap, StatusCode},
    response::{IntoResponse as _, Response},
};
use serde::Deserialize;
use std::sync::Arc;

use super::{NewMessage, incoming, message_key, participant::Participant, stored, unreadable};
use crate::{
    admin::{
        Admin,
        problem::{NOT_THE_LAST_MESSAGE, Problem},
    },
    journal::event::{Entry, Event},
    store::conversations::{
        history::{self, EventRange},
        journal,
    },
};

/// The ids of messages that were sent again begin with this, so that pages can say so.
const PREFIX: &str = "again-";
/// How far back the last message is looked for.
const EVENTS: usize = 2_000;

/// Whether the message with this id was sent again for a new answer.
pub fn is_repeated(message: &str) -> bool {
    message.starts_with(PREFIX)
}

#[derive(Deserialize)]
pub struct RepeatedMessage {
    /// Created by the page, like the id of any message.
    id: String,
    /// The message that is the last one for the page.
    message: String,
}

/// Sends the last message again. A request about another message is refused: the person has not seen
/// what came after it.
pub async fn regenerate(
    State(admin): State<Arc<Admin>>,
    participant: Participant,
    headers: HeaderMap,
    repeated: Result<Json<RepeatedMessage>, JsonRejection>,
) -> Result<Response, Problem> {
    let Json(repeated) = repeated.map_err(unreadable)?;
    let key = message_key(PREFIX, &repeated.id)?;
    let last = last_message(&admin, &participant, &key).await?;
    let last = last.filter(|last| last.repeats == repeated.message);
    let last = last.ok_or_else(|| Problem::unfit(NOT_THE_LAST_MESSAGE))?;
    let incoming = incoming(&admin, &participant, &headers, last.new)?;
    if let Some(refused) = stored(&admin, &participant, incoming).await? {
        return Ok(refused);
    }
    admin.changed.send(participant.speaker.id).ok();
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// The last message, to be sent again.
struct LastMessage {
    /// Its id.
    repeats: String,
    new: NewMessage,
}

async fn last_message(
    admin: &Admin,
    participant: &Participant,
    key: &str,
) -> Result<Option<LastMessage>> {
    let (channel, place) = (participant.channel.clone(), participant.place());
    let read = admin.gateway.store.read(move |tx| {
        Box::pin(async move {
            let Some(id) = journal::find_conversation(tx, &channel, &place).await? else {
                return Ok(Vec::new());
            };
            let range = EventRange { after: 0, before: i64::MAX };
            history::events_within(tx, &id, range, EVENTS).await
        })
    });
    Ok(last_of(read.await?, key))
}

/// The last message of these events. A command has no answer that could be given again.
fn last_of(entries: Vec<Entry>, key: &str) -> Option<LastMessage> {
    let mut last: Option<LastMessage> = None;
    for entry in entries {
        match entry.event {
            Event::Said { text, message, .. } => {
                let new = NewMessage { key: key.to_owned(), text, files: Vec::new() };
                last = Some(LastMessage { repeats: message, new });
            }
            Event::FileSent { message, file, prompt: None } => {
                let of = last.as_mut().filter(|last| last.repeats == message);
                if let Some(of) = of {
                    of.new.files.push(file);
                }
            }
            // What came before is not part of the conversation any more.
            Event::Restarted { .. } => last = None,
            _ => {}
        }
    }
    last.filter(|last| !last.new.text.trim_start().starts_with('/'))
}
