//! Supersedes approvals when the requester edits the message that led to them.

use anyhow::Result;
use channels::{Incoming, IncomingContent};
use chrono::{DateTime, Utc};

use super::{ApprovalEnd, pending, resolve};
use crate::{
    gateway::{Gateway, intake_context::IntakeContext},
    journal::{
        event::{Decider, Decision, Event, Speaker, Status},
        ids::ConversationId,
        session::Session,
    },
    store::{
        Tx, approvals as approval_store,
        conversations::{journal, snapshots},
    },
    texts,
};

/// An edit of a message by its author.
pub(in crate::gateway) struct Edit<'a> {
    pub by: Speaker,
    pub message: &'a str,
    pub text: &'a str,
    /// The session as it was before the transaction, if it was loaded.
    pub folded: Option<&'a Session>,
}

/// Loads the session that an edit refers to, so that the transaction that stores the edit has
/// little left to read. `None` if no approval is open.
pub(in crate::gateway) async fn before(
    gateway: &Gateway,
    context: &IntakeContext,
    incoming: &Incoming,
) -> Result<Option<Session>> {
    let Some(person) = incoming.person.as_ref().filter(|_| is_edit(&incoming.what)) else {
        return Ok(None);
    };
    let (context, place, person) = (context.clone(), incoming.place.clone(), person.clone());
    let folded = gateway.store.read(move |tx| {
        Box::pin(async move {
            let key = context.conversation_key(&place, &person);
            let Some(here) = journal::find_conversation(tx, &context.channel, key).await? else {
                return Ok(None);
            };
            if approval_store::pending(tx, &here).await?.is_empty() {
                return Ok(None);
            }
            snapshots::current(tx, &here, None).await.map(Some)
        })
    });
    folded.await
}

fn is_edit(what: &IncomingContent) -> bool {
    matches!(what, IncomingContent::Edited { addressed: true, .. })
}

/// Stores an edit. Open approvals of the turn that read the message are superseded, and the agent
/// continues with the new text.
pub(in crate::gateway) async fn edited(
    tx: &mut Tx<'_>,
    conversation: &ConversationId,
    edit: Edit<'_>,
    now: DateTime<Utc>,
) -> Result<()> {
    let Edit { by, message, text, folded } = edit;
    let event =
        Event::Edited { by: by.clone(), message: message.to_owned(), text: text.to_owned() };
    journal::append(tx, conversation, &event, now).await?;
    let open = approval_store::pending(tx, conversation).await?;
    if open.is_empty() {
        return Ok(());
    }
    let session = snapshots::current(tx, conversation, folded.cloned()).await?;
    if !session.acts_on(message, &by) {
        return Ok(());
    }
    for asked in &open {
        // Another node may have moved or decided it in the meantime.
        let approval = pending(tx, &asked.conversation, &asked.id).await?;
        let Some(approval) = approval else { continue };
        let reason = Some(texts::REQUEST_CHANGED.to_owned());
        let end = ApprovalEnd::new(
            Status::Superseded,
            Decision::Deny { reason },
            Decider::Person(by.clone()),
        );
        resolve(tx, &approval, end, now).await?;
    }
    Ok(())
}
