//! Who changes what they have asked for takes back the question that came of it.

use anyhow::Result;
use chrono::{DateTime, Utc};

use super::{End, settle};
use crate::{
    journal::{
        event::{Decider, Decision, Event, Speaker, Status},
        ids::ConversationId,
        session::Session,
    },
    store::{Tx, approvals as questions, journal},
    texts,
};

/// Writes an edit down. The questions of the turn that has read the message are superseded, and the
/// agent goes on with what it says now.
pub async fn edited(
    tx: &mut Tx<'_>,
    conversation: &ConversationId,
    (by, message, text): (Speaker, &str, &str),
    now: DateTime<Utc>,
) -> Result<()> {
    let (speaker, of, new) = (by.clone(), message.to_owned(), text.to_owned());
    let event = Event::Edited { by: speaker, message: of, text: new };
    journal::append(tx, conversation, &event, now).await?;
    let open = questions::pending(tx, conversation).await?;
    if open.is_empty() {
        return Ok(());
    }
    let entries = journal::events_after(tx, conversation.clone(), 0).await?;
    if !Session::fold(&entries).acts_on(message, &by) {
        return Ok(());
    }
    for approval in &open {
        let reason = Some(texts::REQUEST_CHANGED.to_owned());
        let end =
            End::new(Status::Superseded, Decision::Deny { reason }, Decider::Person(by.clone()));
        settle(tx, approval, end, now).await?;
    }
    Ok(())
}
