//! Approvals, as listed for operators.

use anyhow::{Context as _, Result};
use chrono::{DateTime, Utc};
use serde_json::Value;

use super::PageRequest;
use crate::{
    agent::approvers::Approvers,
    journal::{
        event::{ApprovalPurpose, Speaker, Status},
        ids::{ApprovalId, ConversationId},
    },
    store::{
        Tx,
        approvals::request::Offers,
        at,
        db::{row::row, sql},
    },
};

/// An approval, open or settled.
#[derive(Debug, Clone, PartialEq)]
pub struct ListedApproval {
    pub id: ApprovalId,
    pub conversation: ConversationId,
    pub channel: String,
    pub asks: ApprovalPurpose,
    pub tool: String,
    /// The arguments as they will run, not redacted.
    pub arguments: Value,
    pub title: String,
    pub requester: Speaker,
    pub approvers: Approvers,
    pub offers: Offers,
    pub status: Status,
    pub created_at: DateTime<Utc>,
    pub expires_at: DateTime<Utc>,
    pub decided_at: Option<DateTime<Utc>>,
    pub decided_by: Option<String>,
}

/// A filter; empty fields match everything.
#[derive(Debug, Clone, Default)]
pub struct WantedApprovals {
    pub id: String,
    pub conversation: String,
    /// `Some(true)` for open ones, `Some(false)` for settled ones.
    pub open: Option<bool>,
}

row! {
    struct ListedApprovalRow {
        id: String,
        conversation: String,
        channel: String,
        asks: String,
        tool: String,
        arguments: String,
        title: String,
        requester: String,
        approvers: String,
        offers: String,
        status: String,
        created_at: i64,
        expires_at: i64,
        decided_at: Option<i64>,
        decided_by: Option<String>,
    }
}

/// Lists approvals, newest first.
pub async fn list(
    tx: &mut Tx<'_>,
    wanted: &WantedApprovals,
    page_request: &PageRequest,
) -> Result<Vec<ListedApproval>> {
    let open = wanted.open.map_or(-1, i64::from);
    let rows: Vec<ListedApprovalRow> = sql!(
        tx,
        fetch_all,
        "
        -- list approvals
        SELECT a.id, a.conversation, c.channel, a.asks, a.tool, a.arguments, a.title, a.requester,
               a.approvers, a.offers, a.status, a.created_at, a.expires_at, a.decided_at,
               a.decided_by
        FROM approvals a
        JOIN conversations c ON c.id = a.conversation
        WHERE ($1 = '' OR a.id < $1)
          AND ($2 = '' OR a.id = $2)
          AND ($3 = '' OR a.conversation = $3)
          AND ($4 < 0 OR ($4 = 1 AND a.status = 'pending') OR ($4 = 0 AND a.status <> 'pending'))
        ORDER BY a.id DESC
        LIMIT $5",
        page_request.after.as_str(),
        wanted.id.as_str(),
        wanted.conversation.as_str(),
        open,
        page_request.limit as i64
    );
    rows.into_iter().map(listed_approval).collect()
}

row! {
    struct VersionRow {
        open: i64,
        latest: Option<String>,
        votes: i64,
        voted_at: Option<i64>,
    }
}

/// A text that changes with the number and the newest of the open approvals and of their votes.
pub async fn version(tx: &mut Tx<'_>) -> Result<String> {
    let row: VersionRow = sql!(
        tx,
        fetch_one,
        "
        -- version of the open approvals
        SELECT COUNT(DISTINCT a.id) AS open, MAX(a.id) AS latest, COUNT(v.at) AS votes,
               MAX(v.at) AS voted_at
        FROM approvals a
        LEFT JOIN votes v ON v.approval = a.id
        WHERE a.status = 'pending'"
    );
    let VersionRow { open, latest, votes, voted_at } = row;
    Ok(format!("{open} {} {votes} {}", latest.unwrap_or_default(), voted_at.unwrap_or_default()))
}

fn listed_approval(row: ListedApprovalRow) -> Result<ListedApproval> {
    Ok(ListedApproval {
        id: ApprovalId(row.id),
        conversation: ConversationId(row.conversation),
        channel: row.channel,
        asks: serde_json::from_str(&row.asks)?,
        tool: row.tool,
        arguments: serde_json::from_str(&row.arguments)?,
        title: row.title,
        requester: serde_json::from_str(&row.requester)?,
        approvers: serde_json::from_str(&row.approvers)?,
        offers: Offers::parse(&row.offers),
        status: Status::parse(&row.status).context("an approval's status")?,
        created_at: at(row.created_at),
        expires_at: at(row.expires_at),
        decided_at: row.decided_at.map(at),
        decided_by: row.decided_by,
    })
}
