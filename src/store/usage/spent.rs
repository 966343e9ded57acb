//! Running totals of a day's usage, so that one lookup tells whether a limit is reached.
//!
//! The totals are updated by increments in the transaction that records the usage, so that
//! concurrent turns on several nodes do not lose updates. Only the last days are kept;
//! [`crate::store::usage`] has the account of all days.

use anyhow::Result;
use chrono::{DateTime, TimeDelta, Utc};
use sha2::{Digest as _, Sha256};

use super::day;
use crate::{
    agent::limits::{Daily, DailyLimits, UsageTotals},
    journal::ids::ConversationId,
    store::{
        Store, Tx,
        db::{row::row, sql},
    },
};

/// Whose usage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UsageScope {
    Person(String),
    Conversation(ConversationId),
    All,
}

impl UsageScope {
    /// The budgets that limit a person in a conversation.
    pub fn limited(
        limits: &DailyLimits,
        person: String,
        conversation: &ConversationId,
    ) -> Vec<(Daily, Self)> {
        let mut scopes = vec![
            (limits.person, Self::Person(person)),
            (limits.conversation, Self::Conversation(conversation.clone())),
            (limits.all, Self::All),
        ];
        scopes.retain(|(daily, _)| daily.limits_anything());
        scopes
    }

    /// The person or the conversation; empty for all usage.
    pub fn id(&self) -> &str {
        match self {
            Self::Person(person) => person,
            Self::Conversation(conversation) => conversation.as_str(),
            Self::All => "",
        }
    }
}

/// A model request that is about to be made for a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    pub person: String,
    /// The conversation that makes it, which may be that of a sub-agent.
    pub conversation: ConversationId,
    /// The part of its usage that is known in advance.
    pub expected: UsageTotals,
    /// The person's daily budget.
    pub daily: Daily,
}

/// How long a reservation counts if the reply is never recorded, because the node died or the model
/// failed.
const RESERVED_FOR: TimeDelta = TimeDelta::minutes(5);

/// The number of rows of the overall total, since transactions that update the same row wait for
/// each other.
const PARTS: u8 = 16;

impl Store {
    /// The usage of the day so far.
    pub async fn spent(&self, scope: UsageScope, now: DateTime<Utc>) -> Result<UsageTotals> {
        self.read(move |tx| Box::pin(spent(tx, scope, now))).await
    }

    /// The usage of the person's day so far, including requests of their other conversations that
    /// are under way. If the budget is not exhausted, this request is reserved until its reply is
    /// recorded, so that concurrent requests count each other.
    pub async fn reserve(&self, request: Request, now: DateTime<Utc>) -> Result<UsageTotals> {
        self.write("reserve", move |tx| Box::pin(reserve(tx, request, now))).await
    }
}

async fn reserve(tx: &mut Tx<'_>, request: Request, now: DateTime<Utc>) -> Result<UsageTotals> {
    let Request { person, conversation, expected, daily } = request;
    let spent = locked(tx, &person, now).await?;
    let others: Vec<ReservedRow> = sql!(
        tx,
        fetch_all,
        "
        -- running requests
        SELECT messages, tokens, cost_micros FROM reservations
        WHERE person = $1 AND conversation <> $2 AND expires_at > $3",
        person.as_str(),
        conversation.as_str(),
        now.timestamp_millis()
    );
    let others = others.into_iter().map(|row| TotalRow {
        messages: row.messages,
        tokens: row.tokens,
        cost_micros: row.cost_micros,
        tool_ms: 0,
    });
    let spent = sum([spent].into_iter().chain(others));
    if daily.used_up(&spent).is_none() {
        sql!(
            tx,
            execute,
            "
            -- reserve usage
            INSERT INTO reservations (person, conversation, messages, tokens, cost_micros, expires_at)
            VALUES ($1, $2, $3, $4, $5, $6)
            ON CONFLICT (person, conversation) DO UPDATE
            SET messages = $3, tokens = $4, cost_micros = $5, expires_at = $6",
            person.as_str(),
            conversation.as_str(),
            expected.messages as i64,
            expected.tokens as i64,
            expected.cost_micros as i64,
            (now + RESERVED_FOR).timestamp_millis()
        );
    }
    Ok(spent)
}

/// An upload that a person is about to store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewUpload {
    pub person: String,
    pub bytes: u64,
    /// The maximum of a day.
    pub limit: u64,
}

impl Store {
    /// Adds an upload to the person's day, unless it would exceed the maximum. Returns whether it
    /// was added.
    pub async fn book_upload(&self, upload: NewUpload, now: DateTime<Utc>) -> Result<bool> {
        if upload.bytes > upload.limit {
            return Ok(false);
        }
        self.write("count upload", move |tx| Box::pin(book_upload(tx, upload, now))).await
    }

    /// Subtracts an upload that could not be stored.
    pub async fn refund_upload(
        &self,
        person: String,
        bytes: u64,
        now: DateTime<Utc>,
    ) -> Result<()> {
        let refund = self.write("refund upload", move |tx| {
            let person = person.clone();
            Box::pin(async move { refund_upload(tx, &person, bytes, now).await })
        });
        refund.await
    }
}

async fn refund_upload(
    tx: &mut Tx<'_>,
    person: &str,
    bytes: u64,
    now: DateTime<Utc>,
) -> Result<()> {
    sql!(
        tx,
        execute,
        "
        -- refund an upload
        UPDATE spent
        SET upload_bytes = upload_bytes - $3
        WHERE day = $1 AND scope = 'person' AND owner = $2 AND upload_bytes >= $3",
        day(now),
        person,
        bytes as i64
    );
    Ok(())
}

async fn book_upload(tx: &mut Tx<'_>, upload: NewUpload, now: DateTime<Utc>) -> Result<bool> {
    let NewUpload { person, bytes, limit } = upload;
    let booked = sql!(
        tx,
        execute,
        "
        -- count an upload
        INSERT INTO spent
            (day, scope, owner, messages, tokens, cost_micros, tool_ms, upload_bytes)
        VALUES ($1, 'person', $2, 0, 0, 0, 0, $3)
        ON CONFLICT (day, scope, owner) DO UPDATE
        SET upload_bytes = spent.upload_bytes + $3
        WHERE spent.upload_bytes + $3 <= $4",
        day(now),
        person.as_str(),
        bytes as i64,
        limit as i64
    );
    Ok(booked > 0)
}

/// Makes transactions that do something for the same person wait for each other.
pub(in crate::store) async fn lock_person(
    tx: &mut Tx<'_>,
    person: &str,
    now: DateTime<Utc>,
) -> Result<()> {
    locked(tx, person, now).await.map(drop)
}

async fn locked(tx: &mut Tx<'_>, person: &str, now: DateTime<Utc>) -> Result<TotalRow> {
    Ok(sql!(
        tx,
        fetch_one,
        "
        -- lock a person's usage
        INSERT INTO spent (day, scope, owner, messages, tokens, cost_micros, tool_ms)
        VALUES ($1, 'person', $2, 0, 0, 0, 0)
        ON CONFLICT (day, scope, owner) DO UPDATE
        SET messages = spent.messages
        RETURNING messages, tokens, cost_micros, tool_ms",
        day(now),
        person
    ))
}

/// Ends the reservation of a request whose reply is recorded.
pub(in crate::store) async fn release(
    tx: &mut Tx<'_>,
    conversation: &ConversationId,
    person: &str,
) -> Result<()> {
    sql!(
        tx,
        execute,
        "
        -- release a reservation
        DELETE FROM reservations
        WHERE person = $1 AND conversation = $2",
        person,
        conversation.as_str()
    );
    Ok(())
}

/// Adds to the totals of a person, of a conversation and overall.
pub(in crate::store) async fn add(
    tx: &mut Tx<'_>,
    conversation: &ConversationId,
    person: &str,
    more: UsageTotals,
    now: DateTime<Utc>,
) -> Result<()> {
    if more == UsageTotals::default() {
        return Ok(());
    }
    sql!(
        tx,
        execute,
        "
        -- add usage
        INSERT INTO spent (day, scope, owner, messages, tokens, cost_micros, tool_ms)
        VALUES ($1, 'person', $2, $5, $6, $7, $8),
               ($1, 'conversation', $3, $5, $6, $7, $8),
               ($1, 'all', $4, $5, $6, $7, $8)
        ON CONFLICT (day, scope, owner) DO UPDATE
        SET messages = spent.messages + $5,
            tokens = spent.tokens + $6,
            cost_micros = spent.cost_micros + $7,
            tool_ms = spent.tool_ms + $8",
        day(now),
        person,
        conversation.as_str(),
        part(conversation),
        more.messages as i64,
        more.tokens as i64,
        more.cost_micros as i64,
        more.tool_ms as i64
    );
    Ok(())
}

fn part(conversation: &ConversationId) -> String {
    let digest = Sha256::digest(conversation.as_str());
    (digest[0] % PARTS).to_string()
}

async fn spent(tx: &mut Tx<'_>, scope: UsageScope, now: DateTime<Utc>) -> Result<UsageTotals> {
    let (scope, owner) = match &scope {
        UsageScope::Person(person) => ("person", person.as_str()),
        UsageScope::Conversation(conversation) => ("conversation", conversation.as_str()),
        UsageScope::All => return of_all(tx, now).await,
    };
    let found: Option<TotalRow> = sql!(
        tx,
        fetch_optional,
        "
        -- usage of a day
        SELECT messages, tokens, cost_micros, tool_ms FROM spent
        WHERE day = $1 AND scope = $2 AND owner = $3",
        day(now),
        scope,
        owner
    );
    Ok(found.map(total).unwrap_or_default())
}

async fn of_all(tx: &mut Tx<'_>, now: DateTime<Utc>) -> Result<UsageTotals> {
    let parts: Vec<TotalRow> = sql!(
        tx,
        fetch_all,
        "
        -- usage of a day by all
        SELECT messages, tokens, cost_micros, tool_ms FROM spent
        WHERE day = $1 AND scope = 'all'",
        day(now)
    );
    Ok(sum(parts.into_iter()))
}

fn sum(parts: impl Iterator<Item = TotalRow>) -> UsageTotals {
    parts.map(total).fold(UsageTotals::default(), |sum, part| UsageTotals {
        messages: sum.messages + part.messages,
        tokens: sum.tokens + part.tokens,
        cost_micros: sum.cost_micros + part.cost_micros,
        tool_ms: sum.tool_ms + part.tool_ms,
    })
}

row! {
    struct TotalRow {
        messages: i64,
        tokens: i64,
        cost_micros: i64,
        tool_ms: i64,
    }
}

row! {
    struct ReservedRow {
        messages: i64,
        tokens: i64,
        cost_micros: i64,
    }
}

fn total(row: TotalRow) -> UsageTotals {
    UsageTotals {
        messages: row.messages as u64,
        tokens: row.tokens as u64,
        cost_micros: row.cost_micros as u64,
        tool_ms: row.tool_ms as u64,
    }
}

/// Deletes the totals of a person that any node still considers current.
pub(in crate::store) async fn forget(
    tx: &mut Tx<'_>,
    person: &str,
    now: DateTime<Utc>,
) -> Result<()> {
    for days in -2..=1 {
        sql!(
            tx,
            execute,
            "
            -- delete a person's usage
            DELETE FROM spent
            WHERE day = $1 AND scope = 'person' AND owner = $2",
            day(now + TimeDelta::days(days)),
            person
        );
    }
    Ok(())
}
