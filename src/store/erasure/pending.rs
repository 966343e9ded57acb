//! Erasures and their steps, and the tables with the remaining work.

use anyhow::Result;
use chrono::{DateTime, Utc};
use serde_json::{Value, json};
use std::collections::BTreeSet;

use crate::{
    journal::{event::Seq, ids::ConversationId},
    store::{
        Tx,
        audit::{self, AuditKind, Fact},
        conversations::mentions,
        db::{row::row, sql},
    },
};

/// The number of rows that one transaction deletes or rewrites.
pub(in crate::store) const SLICE: usize = 500;

/// An erasure that has begun.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Erasure {
    pub id: String,
    pub channel: String,
    pub person: String,
}

/// A remaining step of an erasure: one conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErasureStep {
    pub erasure: Erasure,
    pub conversation: ConversationId,
    pub kind: StepKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepKind {
    /// The whole conversation is deleted.
    Own,
    /// Other people take part: the conversation is rewritten up to that event.
    Shared { upto: Seq },
}

/// How much was erased.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Erased {
    /// The number of deleted conversations.
    pub conversations: i64,
    /// The number of redacted events in other people's conversations.
    pub events: i64,
    pub files: i64,
}

row! {
    struct ErasureRow {
        id: String,
        channel: String,
        person: String,
    }
}

row! {
    struct StepRow {
        conversation: String,
        kind: String,
        upto: i64,
    }
}

row! {
    struct EndedRow {
        fact: String,
        conversations: i64,
        events: i64,
        files: i64,
    }
}

pub(in crate::store) async fn begun_before(
    tx: &mut Tx<'_>,
    before: DateTime<Utc>,
) -> Result<Vec<Erasure>> {
    let rows: Vec<ErasureRow> = sql!(
        tx,
        fetch_all,
        "
        -- erasures
        SELECT id, channel, person FROM erasures
        WHERE began_at < $1
        ORDER BY id",
        before.timestamp_millis()
    );
    let erasure = |ErasureRow { id, channel, person }| Erasure { id, channel, person };
    Ok(rows.into_iter().map(erasure).collect())
}

pub(in crate::store) async fn insert(
    tx: &mut Tx<'_>,
    erasure: &Erasure,
    fact: &Fact,
    now: DateTime<Utc>,
) -> Result<()> {
    let kept = json!({ "person": fact.person, "body": fact.body }).to_string();
    sql!(
        tx,
        execute,
        "
        -- start an erasure
        INSERT INTO erasures (id, channel, person, fact, began_at, conversations, events, files)
        VALUES ($1, $2, $3, $4, $5, 0, 0, 0)",
        erasure.id.as_str(),
        erasure.channel.as_str(),
        erasure.person.as_str(),
        kept,
        now.timestamp_millis()
    );
    if erasure.person.is_empty() {
        return Ok(());
    }
    let begun = Fact { kind: AuditKind::ErasureBegun, ..fact.clone() };
    audit::append(tx, audit::ADMIN, vec![begun], now).await
}

pub(in crate::store) async fn insert_step(
    tx: &mut Tx<'_>,
    erasure: &Erasure,
    conversation: &ConversationId,
    kind: StepKind,
) -> Result<()> {
    let (kind, upto) = match kind {
        StepKind::Own => ("own", 0),
        StepKind::Shared { upto } => ("shared", upto),
    };
    sql!(
        tx,
        execute,
        "
        -- add a step of an erasure
        INSERT INTO erasure_steps (erasure, conversation, kind, upto)
        VALUES ($1, $2, $3, $4)",
        erasure.id.as_str(),
        conversation.as_str(),
        kind,
        upto
    );
    Ok(())
}

pub(in crate::store) async fn steps(tx: &mut Tx<'_>, erasure: Erasure) -> Result<Vec<ErasureStep>> {
    let rows: Vec<StepRow> = sql!(
        tx,
        fetch_all,
        "
        -- steps of an erasure
        SELECT conversation, kind, upto FROM erasure_steps
        WHERE erasure = $1
        ORDER BY conversation",
        erasure.id.as_str()
    );
    let step = |StepRow { conversation, kind, upto }| {
        let kind = if kind == "own" { StepKind::Own } else { StepKind::Shared { upto } };
        ErasureStep { erasure: erasure.clone(), conversation: ConversationId(conversation), kind }
    };
    Ok(rows.into_iter().map(step).collect())
}

/// Records the digests of files that may have to be removed.
pub(in crate::store) async fn keep_files(
    tx: &mut Tx<'_>,
    erasure: &Erasure,
    digests: &BTreeSet<String>,
) -> Result<()> {
    for digest in digests {
        sql!(
            tx,
            execute,
            "
            -- add a file of an erasure
            INSERT INTO erasure_files (erasure, digest)
            VALUES ($1, $2)
            ON CONFLICT (erasure, digest) DO NOTHING",
            erasure.id.as_str(),
            digest.as_str()
        );
    }
    Ok(())
}

/// Adds to the totals of an erasure.
pub(in crate::store) async fn count(
    tx: &mut Tx<'_>,
    erasure: &Erasure,
    more: Erased,
) -> Result<()> {
    sql!(
        tx,
        execute,
        "
        -- count erased rows
        UPDATE erasures
        SET conversations = conversations + $1, events = events + $2, files = files + $3
        WHERE id = $4",
        more.conversations,
        more.events,
        more.files,
        erasure.id.as_str()
    );
    Ok(())
}

pub(in crate::store) async fn end_step(tx: &mut Tx<'_>, step: ErasureStep) -> Result<()> {
    sql!(
        tx,
        execute,
        "
        -- end a step
        DELETE FROM erasure_steps
        WHERE erasure = $1 AND conversation = $2",
        step.erasure.id.as_str(),
        step.conversation.as_str()
    );
    Ok(())
}

pub(in crate::store) async fn unnamed(
    tx: &mut Tx<'_>,
    erasure: String,
    complete: bool,
) -> Result<Vec<String>> {
    let rows: Vec<(String,)> = sql!(
        tx,
        fetch_all,
        "
        -- files of an erasure
        SELECT digest FROM erasure_files
        WHERE erasure = $1
        ORDER BY digest",
        erasure
    );
    let mut unnamed = Vec::new();
    for (digest,) in rows {
        let named =
            mentions::is_named(tx, &digest).await? || (!complete && is_found(tx, &digest).await?);
        if !named {
            unnamed.push(digest);
        }
    }
    Ok(unnamed)
}

/// Searches all text for a digest, which is necessary until all mentions are recorded.
async fn is_found(tx: &mut Tx<'_>, digest: &str) -> Result<bool> {
    let found: Option<(String,)> = sql!(
        tx,
        fetch_optional,
        "
        -- search for a file
        SELECT conversation FROM outbox
        WHERE body LIKE $1
        UNION ALL
        SELECT conversation FROM events
        WHERE body LIKE $1
        LIMIT 1",
        format!("%{digest}%")
    );
    Ok(found.is_some())
}

pub(in crate::store) async fn end(
    tx: &mut Tx<'_>,
    erasure: Erasure,
    files: usize,
    now: DateTime<Utc>,
) -> Result<Erased> {
    count(tx, &erasure, Erased { files: files as i64, ..Erased::default() }).await?;
    sql!(
        tx,
        execute,
        "
        -- delete the files of an erasure
        DELETE FROM erasure_files
        WHERE erasure = $1",
        erasure.id.as_str()
    );
    let row: Option<EndedRow> = sql!(
        tx,
        fetch_optional,
        "
        -- end an erasure
        DELETE FROM erasures
        WHERE id = $1
        RETURNING fact, conversations, events, files",
        erasure.id.as_str()
    );
    // Another node has completed it.
    let Some(EndedRow { fact, conversations, events, files }) = row else {
        return Ok(Erased::default());
    };
    let erased = Erased { conversations, events, files };
    let kept: Value = serde_json::from_str(&fact)?;
    let kind =
        if erasure.person.is_empty() { AuditKind::ConversationsExpired } else { AuditKind::Erased };
    let fact = Fact::new(kind, kept["person"].as_str().unwrap_or_default());
    let fact = Fact { body: kept["body"].clone(), ..fact }
        .with("conversations", erased.conversations)
        .with("events", erased.events)
        .with("files", erased.files);
    audit::append(tx, audit::ADMIN, vec![fact], now).await?;
    Ok(erased)
}
