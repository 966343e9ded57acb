//! Approvals, as listed for operators.

use anyhow::{Context as _, Result};
use chrono::{DateTime, Utc};
use serde_json::Value;

use super::Stretch;
use crate::{
    agent::approvers::Approvers,
    journal::{
        event::{Asks, Speaker, Status},
        ids::{ApprovalId, ConversationId},
    },
    store::{Tx, at, db::sql},
};

/// An approval, open or settled.
#[derive(Debug, Clone, PartialEq)]
pub struct ListedApproval {
    pub id: ApprovalId,
    pub conversation: ConversationId,
    pub channel: String,
    pub asks: Asks,
    pub tool: String,
    /// The arguments as they will run, not redacted.
    pub arguments: Value,
    pub title: String,
    pub requester: Speaker,
    pub approvers: Approvers,
    /// The keys of the buttons.
    pub offers: String,
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

type Columns = (
    String,
    String,
    String,
    String,
    String,
    String,
    String,
    String,
    String,
    String,
    String,
    i64,
    i64,
    Option<i64>,
    Option<String>,
);

/// Lists approvals, newest first.
pub async fn list(
    tx: &mut Tx<'_>,
    wanted: &WantedApprovals,
    stretch: &Stretch,
) -> Result<Vec<ListedApproval>> {
    let open = wanted.open.map_or(-1, i64::from);
    let rows: Vec<Columns> = sql!(
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
        stretch.after.as_str(),
        wanted.id.as_str(),
        wanted.conversation.as_str(),
        open,
        stretch.most as i64
    );
    rows.into_iter().map(question).collect()
}

fn question(row: Columns) -> Result<ListedApproval> {
    Ok(ListedApproval {
        id: ApprovalId(row.0),
        conversation: ConversationId(row.1),
        channel: row.2,
        asks: serde_json::from_str(&row.3)?,
        tool: row.4,
        arguments: serde_json::from_str(&row.5)?,
        title: row.6,
        requester: serde_json::from_str(&row.7)?,
        approvers: serde_json::from_str(&row.8)?,
        offers: row.9,
        status: Status::parse(&row.10).context("an approval's status")?,
        created_at: at(row.11),
        expires_at: at(row.12),
        decided_at: row.13.map(at),
        decided_by: row.14,
    })
}
