//! Withdraws approvals that are no longer needed, and updates their messages.

use anyhow::Result;
use channels::Outgoing;
use chrono::{DateTime, Utc};

use super::{display, pending, request::Approval, resolve};
use crate::{
    journal::{
        event::{ApprovalPurpose, Status},
        ids::{CallId, ConversationId},
    },
    store::{
        Tx,
        audit::{self, Fact},
        conversations,
        leases::{self, Lease},
    },
    texts::Messages,
};

/// Withdraws all open approvals of a conversation.
pub async fn all(
    tx: &mut Tx<'_>,
    conversation: &ConversationId,
    status: Status,
    by: &str,
    now: DateTime<Utc>,
) -> Result<()> {
    let words = conversations::words(tx, conversation).await?;
    for open in pending(tx, conversation).await? {
        end(tx, &open, Withdrawal { status, by, words }, now).await?;
    }
    Ok(())
}

/// Withdraws the elicitations of one call or of all calls of a conversation. Does nothing if the
/// lease was lost.
pub async fn answers(
    tx: &mut Tx<'_>,
    lease: &Lease,
    call: Option<&CallId>,
    now: DateTime<Utc>,
) -> Result<()> {
    let conversation = lease.conversation();
    // Lock the conversation's row first, as all other code does.
    if !leases::lock(tx, lease).await? {
        return Ok(());
    }
    let words = conversations::words(tx, conversation).await?;
    for open in pending(tx, conversation).await? {
        let own = open.asks == ApprovalPurpose::Answer && open.conversation == *conversation;
        if own && call.is_none_or(|call| open.call == *call) {
            let withdrawal = Withdrawal { status: Status::Withdrawn, by: words.the_bot, words };
            end(tx, &open, withdrawal, now).await?;
        }
    }
    Ok(())
}

/// How an approval ends without a decision, by whom, and the language of its messages.
#[derive(Clone, Copy)]
struct Withdrawal<'a> {
    status: Status,
    by: &'a str,
    words: &'static Messages,
}

async fn end(
    tx: &mut Tx<'_>,
    open: &Approval,
    Withdrawal { status, by, words }: Withdrawal<'_>,
    now: DateTime<Utc>,
) -> Result<()> {
    if !resolve(tx, &open.id, status, by, now).await? {
        return Ok(());
    }
    let fact = Fact::withdrawn(open, status, by);
    audit::append(tx, open.conversation.as_str(), vec![fact], now).await?;
    let markdown = words.settled(status, &open.title, by);
    display::redraw(tx, open, Outgoing::Settled { markdown, approval: None, choices: vec![] }, now)
        .await
}
