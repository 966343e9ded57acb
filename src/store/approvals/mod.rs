//! Approvals, and the one update that decides each.
//!
//! ```text
//! pending ──► allowed         a person allowed it, or enough people did
//!         ──► denied          a person denied it
//!         ──► expired         nobody decided in time, which counts as a denial
//!         ──► withdrawn       /stop or /new, its turn failed, or its call has ended
//!         ──► superseded      the request was edited
//!         ──► undeliverable   it could not be shown to anybody who may decide: a denial
//! ```

pub mod attachments;
pub mod display;
pub mod grants;
pub mod request;
pub mod votes;
pub mod withdrawal;

use anyhow::{Context as _, Result};
use channels::Button;
use chrono::{DateTime, Utc};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::{
    Store, Tx, at,
    db::{
        row::row,
        sql,
        unreadable::{self, JsonTable, readable_rows},
    },
    metrics::committed,
    webhooks::subscriptions,
};
use crate::journal::{
    event::Status,
    ids::{ApprovalId, CallId, ConversationId, OutboxId},
};
use request::{Approval, NewApproval, Offers};

row! {
    struct ApprovalRow {
        id: String,
        conversation: String,
        call: String,
        asks: String,
        tool: String,
        arguments: String,
        title: String,
        requester: String,
        message: String,
        status: String,
        expires_at: i64,
        decided_by: Option<String>,
        approvers: String,
        offers: String,
        proposal: Option<String>,
        shown_in: String,
    }
}

/// Selects whole rows. `a` is the alias of the table.
macro_rules! select {
    ($rest:literal) => {
        concat!(
            "
            -- approvals
            SELECT a.id, a.conversation, a.call, a.asks, a.tool, a.arguments, a.title, a.requester,
                   a.question AS message, a.status, a.expires_at, a.decided_by, a.approvers, a.offers,
                   a.proposal, a.shown_in
            FROM approvals a
            ",
            $rest
        )
    };
}

impl Store {
    /// Creates a token for the buttons of an approval. Only its hash is stored.
    pub async fn mint_token(&self, approval: &str, token: &str) -> Result<()> {
        let (approval, hash) = (approval.to_owned(), hash_of(token));
        self.write("mint", move |tx| Box::pin(mint(tx, approval, hash))).await
    }

    /// The arguments of open approvals of an earlier release that offer to show everything.
    /// Approvals of this release have a file instead.
    pub async fn open_arguments(&self) -> Result<Vec<Value>> {
        self.read(|tx| Box::pin(open_arguments(tx))).await
    }

    /// Reads up to `limit` approvals whose deadline has passed, ordered by deadline.
    pub async fn due_approvals(
        &self,
        after: &Deadline,
        now: DateTime<Utc>,
        limit: usize,
    ) -> Result<DuePage> {
        let after = after.clone();
        self.read(move |tx| Box::pin(due(tx, after, now, limit))).await
    }
}

async fn open_arguments(tx: &mut Tx<'_>) -> Result<Vec<Value>> {
    let rows: Vec<(String, String)> = sql!(
        tx,
        fetch_all,
        "
        -- arguments of open approvals
        SELECT arguments, offers FROM approvals
        WHERE status = 'pending' AND file IS NULL"
    );
    let shows_everything = |offers: &str| Offers::parse(offers).has(Button::ShowEverything);
    let rows = rows.into_iter().filter(|(_, offers)| shows_everything(offers));
    rows.map(|(arguments, _)| Ok(serde_json::from_str(&arguments)?)).collect()
}

async fn mint(tx: &mut Tx<'_>, approval: String, hash: String) -> Result<()> {
    sql!(
        tx,
        execute,
        "
        -- insert an approval token
        INSERT INTO approval_tokens (hash, approval)
        VALUES ($1, $2)",
        hash,
        approval
    );
    Ok(())
}

/// Inserts an approval and shows it in this conversation.
pub(super) async fn ask(
    tx: &mut Tx<'_>,
    conversation: &ConversationId,
    shown_in: &ConversationId,
    asked: NewApproval,
    now: DateTime<Utc>,
) -> Result<()> {
    subscriptions::asked(tx, conversation, &asked, now).await?;
    let message = display::show_parts(tx, &asked.id, shown_in, &asked.shows, now).await?;
    sql!(
        tx,
        execute,
        "
        -- request an approval
        INSERT INTO approvals
            (id, conversation, call, asks, tool, arguments, digest, title, requester, question,
             status, created_at, expires_at, approvers, offers, proposal, shown_in)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 'pending', $11, $12, $13, $14, $15, $16)",
        asked.id.as_str(),
        conversation.as_str(),
        asked.call.as_str(),
        serde_json::to_string(&asked.asks)?,
        asked.tool,
        asked.arguments.to_string(),
        asked.digest,
        asked.title,
        serde_json::to_string(&asked.requester)?,
        message.as_str(),
        now.timestamp_millis(),
        asked.expires_at.timestamp_millis(),
        serde_json::to_string(&asked.approvers)?,
        asked.offers.to_string(),
        asked.proposal.map(|covers| serde_json::to_string(&covers)).transpose()?,
        shown_in.as_str()
    );
    if let Some(file) = &asked.file {
        attachments::attach(tx, conversation, &asked.id, file).await?;
    }
    Ok(())
}

/// The approval whose buttons carry this token.
pub async fn by_token(tx: &mut Tx<'_>, token: &str) -> Result<Option<Approval>> {
    let row: Option<ApprovalRow> = sql!(
        tx,
        fetch_optional,
        select!(
            "JOIN approval_tokens t ON t.approval = a.id
            WHERE t.hash = $1"
        ),
        hash_of(token)
    );
    row.map(approval).transpose()
}

pub async fn by_id(tx: &mut Tx<'_>, id: &str) -> Result<Option<Approval>> {
    let row: Option<ApprovalRow> = sql!(tx, fetch_optional, select!("WHERE a.id = $1"), id);
    row.map(approval).transpose()
}

/// The open approvals of a conversation and its sub-agents, grouped by conversation in the order of
/// [`open`], so that concurrent callers of both, which settle them, cannot deadlock.
pub async fn pending(tx: &mut Tx<'_>, conversation: &ConversationId) -> Result<Vec<Approval>> {
    let rows: Vec<ApprovalRow> = sql!(
        tx,
        fetch_all,
        select!(
            "WHERE a.status = 'pending' AND (a.conversation = $1 OR a.conversation IN (
                SELECT id FROM conversations WHERE root = $1
            ))
            ORDER BY a.conversation, a.id"
        ),
        conversation.as_str()
    );
    Ok(readable(rows))
}

/// The open approvals that are shown in the same place as a conversation, oldest first, including
/// those of other conversations there.
pub async fn shown_beside(tx: &mut Tx<'_>, conversation: &ConversationId) -> Result<Vec<Approval>> {
    let rows: Vec<ApprovalRow> = sql!(
        tx,
        fetch_all,
        select!(
            "JOIN conversations s ON s.id = a.shown_in
            JOIN conversations c
                ON c.channel = s.channel AND c.chat = s.chat AND c.thread = s.thread
            WHERE c.id = $1 AND a.status = 'pending'
            ORDER BY a.id"
        ),
        conversation.as_str()
    );
    Ok(readable(rows))
}

/// The open approvals that are shown in a conversation, oldest first. Another conversation may have
/// requested them.
pub async fn shown_in(tx: &mut Tx<'_>, conversation: &ConversationId) -> Result<Vec<Approval>> {
    let rows: Vec<ApprovalRow> = sql!(
        tx,
        fetch_all,
        select!(
            "WHERE a.shown_in = $1 AND a.status = 'pending'
            ORDER BY a.id"
        ),
        conversation.as_str()
    );
    Ok(readable(rows))
}

/// Up to `limit` open approvals of all conversations, grouped by conversation in a fixed order, so
/// that concurrent callers, which settle them, cannot deadlock.
pub async fn open(tx: &mut Tx<'_>, limit: usize) -> Result<Vec<Approval>> {
    let rows: Vec<ApprovalRow> = sql!(
        tx,
        fetch_all,
        select!(
            "WHERE a.status = 'pending'
            ORDER BY a.conversation, a.id
            LIMIT $1"
        ),
        limit as i64
    );
    Ok(readable(rows))
}

/// How many approvals a conversation and its sub-agents have requested since then.
pub async fn requested_since(
    tx: &mut Tx<'_>,
    conversation: &ConversationId,
    since: DateTime<Utc>,
) -> Result<usize> {
    let (count,): (i64,) = sql!(
        tx,
        fetch_one,
        "
        -- asked since
        SELECT COUNT(*) FROM (
            SELECT CAST($1 AS TEXT) AS id
            UNION ALL
            SELECT id FROM conversations WHERE root = $1
        ) c
        JOIN approvals a ON a.conversation = c.id AND a.created_at > $2",
        conversation.as_str(),
        since.timestamp_millis()
    );
    Ok(usize::try_from(count).unwrap_or_default())
}

/// A position in the approvals ordered by deadline.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Deadline {
    expires_at: i64,
    id: String,
}

/// One page of approvals whose deadline has passed.
#[derive(Debug)]
pub struct DuePage {
    pub approvals: Vec<Approval>,
    /// The position of the next page, if there may be one.
    pub next: Option<Deadline>,
}

/// Reads one page of approvals whose deadline has passed. An unreadable row affects only itself.
async fn due(
    tx: &mut Tx<'_>,
    after: Deadline,
    now: DateTime<Utc>,
    limit: usize,
) -> Result<DuePage> {
    let rows: Vec<ApprovalRow> = sql!(
        tx,
        fetch_all,
        select!(
            "WHERE a.status = 'pending' AND a.expires_at <= $1 AND a.expires_at >= $2
            AND (a.expires_at, a.id) > ($2, $3) AND $5 NOT LIKE '%' || a.id || '%'
            ORDER BY a.expires_at, a.id
            LIMIT $4"
        ),
        now.timestamp_millis(),
        after.expires_at,
        after.id,
        limit as i64,
        unreadable::waiting(JsonTable::Approvals)
    );
    let last = rows.last().filter(|_| rows.len() == limit);
    let next = last.map(|row| Deadline { expires_at: row.expires_at, id: row.id.clone() });
    Ok(DuePage { approvals: readable(rows), next })
}

/// Settles an approval. Of any number of concurrent calls, exactly one returns `true`.
pub async fn resolve(
    tx: &mut Tx<'_>,
    id: &ApprovalId,
    status: Status,
    by: &str,
    now: DateTime<Utc>,
) -> Result<bool> {
    let settled: Option<(i64,)> = sql!(
        tx,
        fetch_optional,
        "
        -- resolve an approval
        UPDATE approvals
        SET status = $1, decided_by = $2, decided_at = $3
        WHERE id = $4 AND status = 'pending'
        RETURNING created_at",
        status.as_str(),
        by,
        now.timestamp_millis(),
        id.as_str()
    );
    if let Some((asked_at,)) = settled {
        tx.wakeups
            .counts
            .extend(committed::of_resolved_approval(status, now.timestamp_millis() - asked_at));
    }
    Ok(settled.is_some())
}

/// The approvals that can be read. Others are skipped.
fn readable(rows: Vec<ApprovalRow>) -> Vec<Approval> {
    readable_rows(JsonTable::Approvals, rows, |row| &row.id, approval)
}

fn approval(row: ApprovalRow) -> Result<Approval> {
    let proposal = row.proposal.as_deref().map(serde_json::from_str).transpose()?;
    Ok(Approval {
        id: ApprovalId(row.id),
        conversation: ConversationId(row.conversation),
        call: CallId(row.call),
        asks: serde_json::from_str(&row.asks)?,
        tool: row.tool,
        arguments: serde_json::from_str(&row.arguments)?,
        title: row.title,
        requester: serde_json::from_str(&row.requester)?,
        approvers: serde_json::from_str(&row.approvers)?,
        offers: Offers::parse(&row.offers),
        proposal,
        shown_in: ConversationId(row.shown_in),
        message: OutboxId(row.message),
        status: Status::parse(&row.status).context("an approval's status")?,
        expires_at: at(row.expires_at),
        decided_by: row.decided_by,
    })
}

/// The hash under which a token or code is stored.
pub(super) fn hash_of(secret: &str) -> String {
    hex::encode(Sha256::digest(secret))
}
