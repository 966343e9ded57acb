//! The parts of a displayed approval besides its text: the file with all arguments, a proposed
//! grant.

use anyhow::Result;
use chrono::{DateTime, Utc};

use crate::{
    journal::{
        event::Attachment,
        ids::{ApprovalId, ConversationId},
    },
    store::{Tx, conversations::mentions, db::sql},
};

/// The result of claiming the file of an approval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Claim {
    /// The caller has to send it; `None` if an earlier release created the approval.
    Send(Option<Attachment>),
    /// It was already sent.
    Sent,
}

pub(in crate::store) async fn attach(
    tx: &mut Tx<'_>,
    conversation: &ConversationId,
    id: &ApprovalId,
    file: &Attachment,
) -> Result<()> {
    let file = serde_json::to_string(file)?;
    mentions::note(tx, conversation, &file).await?;
    sql!(
        tx,
        execute,
        "
        -- attach file
        UPDATE approvals
        SET file = $1
        WHERE id = $2",
        file,
        id.as_str()
    );
    Ok(())
}

/// Claims the file for sending. Of any number of concurrent requests, exactly one has to send it.
pub async fn claim(tx: &mut Tx<'_>, id: &ApprovalId, now: DateTime<Utc>) -> Result<Claim> {
    let claimed: Option<(Option<String>,)> = sql!(
        tx,
        fetch_optional,
        "
        -- claim file
        UPDATE approvals
        SET file_sent_at = $1
        WHERE id = $2 AND file_sent_at IS NULL
        RETURNING file",
        now.timestamp_millis(),
        id.as_str()
    );
    let Some((file,)) = claimed else { return Ok(Claim::Sent) };
    Ok(Claim::Send(file.as_deref().map(serde_json::from_str).transpose()?))
}

/// The file of an approval, whether sent or not.
pub async fn file(tx: &mut Tx<'_>, id: &ApprovalId) -> Result<Option<Attachment>> {
    let found: Option<(Option<String>,)> = sql!(
        tx,
        fetch_optional,
        "
        -- file of approval
        SELECT file
        FROM approvals
        WHERE id = $1",
        id.as_str()
    );
    let file = found.and_then(|(file,)| file);
    Ok(file.as_deref().map(serde_json::from_str).transpose()?)
}

/// The digests of the files of all approvals of a conversation.
pub(in crate::store) async fn of_conversation(
    tx: &mut Tx<'_>,
    conversation: &ConversationId,
) -> Result<Vec<String>> {
    let rows: Vec<(String,)> = sql!(
        tx,
        fetch_all,
        "
        -- files of a conversation's approvals
        SELECT file FROM approvals
        WHERE conversation = $1 AND file IS NOT NULL",
        conversation.as_str()
    );
    let digest = |(file,): &(String,)| Ok(serde_json::from_str::<Attachment>(file)?.digest);
    rows.iter().map(digest).collect()
}

/// Records that the proposed grant is being shown or, with `None`, that it no longer is.
pub async fn set_proposed(
    tx: &mut Tx<'_>,
    id: &ApprovalId,
    at: Option<DateTime<Utc>>,
) -> Result<()> {
    sql!(
        tx,
        execute,
        "
        -- set proposed
        UPDATE approvals
        SET proposed_at = $1
        WHERE id = $2",
        at.map(|at| at.timestamp_millis()),
        id.as_str()
    );
    Ok(())
}

pub async fn is_proposed(tx: &mut Tx<'_>, id: &ApprovalId) -> Result<bool> {
    let found: Option<(Option<i64>,)> = sql!(
        tx,
        fetch_optional,
        "
        -- is proposed
        SELECT proposed_at
        FROM approvals
        WHERE id = $1",
        id.as_str()
    );
    Ok(found.is_some_and(|(proposed_at,)| proposed_at.is_some()))
}
