//! Erases a person: their messages, and messages sent to them alone.
//!
//! ```text
//! begin     one transaction: nothing of theirs may be open; their own conversations are retired,
//!           shared conversations start afresh, and each conversation is recorded as a step
//! step      own: rows are deleted; shared: rows are rewritten ([`redaction`])
//! end       files that no other conversation refers to are removed
//! ```
//! Steps run in slices, each a transaction of a few milliseconds. The remaining work is stored in
//! tables, so that an erasure that was interrupted by a crash resumes; every operation can be
//! repeated.
//!
//! The person's own conversations are deleted as a whole, with their files and their audit chain,
//! which is cut behind a seal like an old one, so the audit still verifies. The person's words and
//! names are removed from conversations with other people. Shared memories of an agent are deleted
//! if they were noted for the person; wiki pages are kept, without the name of the person for whom
//! they were written. These remain: messages and notes of other people, the bot's own words without
//! the person's name, files in the workspace of a group, and audit records, which contain only the
//! person's id.

pub(super) mod pending;
pub(super) mod redaction;
mod rewrite;

use anyhow::Result;
use channels::PlaceKind;
use chrono::{DateTime, Utc};
use std::collections::BTreeSet;

use super::{
    Store, Tx,
    approvals::grants,
    audit::Fact,
    conversations::{journal, participants, places, retire, snapshots},
    db::sql,
    memory,
    people::identities::{self, Account},
    usage::spent,
    wiki,
};
use crate::journal::{event::Event, ids::ConversationId};
pub use pending::{Erased, Erasure, ErasureStep, StepKind};
use redaction::nobody;

impl Store {
    /// Begins to erase a person. `None` if they have open approvals or running calls, which have to
    /// be stopped first. `fact` records for the audit who requested it.
    pub async fn begin_erasure(
        &self,
        channel: &str,
        person: &str,
        fact: Fact,
        now: DateTime<Utc>,
    ) -> Result<Option<Erasure>> {
        let (channel, person) = (channel.to_owned(), person.to_owned());
        self.determine_owners(super::OWNERS_AT_ONCE).await?;
        let searched = if self.mentions_are_complete().await? {
            Vec::new()
        } else {
            let (channel, person) = (channel.clone(), person.clone());
            self.read(move |tx| Box::pin(search(tx, channel, person))).await?
        };
        let erasure = Erasure { id: uuid::Uuid::now_v7().simple().to_string(), channel, person };
        self.write("begin erasure", move |tx| {
            Box::pin(async move {
                let begun = begin(tx, &erasure, searched, fact, now).await?;
                Ok(begun.then_some(erasure))
            })
        })
        .await
    }

    /// The erasures that began before the given time and have not finished.
    pub async fn erasures(&self, before: DateTime<Utc>) -> Result<Vec<Erasure>> {
        self.read(move |tx| Box::pin(pending::begun_before(tx, before))).await
    }

    /// The remaining steps of an erasure.
    pub async fn erasure_steps(&self, erasure: &Erasure) -> Result<Vec<ErasureStep>> {
        let erasure = erasure.clone();
        self.read(move |tx| Box::pin(pending::steps(tx, erasure))).await
    }

    /// Deletes or rewrites the rows of a conversation, in slices.
    pub async fn erase_step(&self, step: &ErasureStep, now: DateTime<Utc>) -> Result<()> {
        match step.kind {
            StepKind::Shared { upto } => self.rewrite(step, upto).await,
            StepKind::Own => {
                loop {
                    let own = step.clone();
                    let slice =
                        self.write("erase", move |tx| Box::pin(retire::delete_slice(tx, own)));
                    if slice.await? == 0 {
                        break;
                    }
                }
                let own = step.clone();
                self.write("erase the rest", move |tx| Box::pin(retire::remove(tx, own, now))).await
            }
        }
    }

    /// Records that a step is complete, in the database and outside of it.
    pub async fn end_erasure_step(&self, step: &ErasureStep) -> Result<()> {
        let step = step.clone();
        self.write("end step", move |tx| Box::pin(pending::end_step(tx, step))).await
    }

    /// The files of an erasure that no conversation refers to any more.
    pub async fn erased_files(&self, erasure: &Erasure) -> Result<Vec<String>> {
        let (id, complete) = (erasure.id.clone(), self.mentions_are_complete().await?);
        self.read(move |tx| Box::pin(pending::unnamed(tx, id, complete))).await
    }

    /// Completes an erasure, and returns how much was erased.
    pub async fn end_erasure(
        &self,
        erasure: &Erasure,
        files: usize,
        now: DateTime<Utc>,
    ) -> Result<Erased> {
        let erasure = erasure.clone();
        self.write("end erasure", move |tx| Box::pin(pending::end(tx, erasure, files, now))).await
    }
}

/// Conversations with other people in which this person may have spoken, according to the journals.
async fn search(tx: &mut Tx<'_>, channel: String, person: String) -> Result<Vec<ConversationId>> {
    let rows: Vec<(String,)> = sql!(
        tx,
        fetch_all,
        "
        -- search for a person
        SELECT DISTINCT e.conversation FROM events e
        JOIN conversations c ON c.id = e.conversation
        WHERE c.channel = $1 AND e.body LIKE $2 ESCAPE '!'",
        channel,
        mention(&person)?
    );
    Ok(rows.into_iter().map(|(id,)| ConversationId(id)).collect())
}

/// A JSON pattern that matches a speaker with this id.
pub(in crate::store) fn mention(person: &str) -> Result<String> {
    let id = format!("\"id\":{}", serde_json::to_string(person)?);
    Ok(format!("%{}%", escaped(&id)))
}

fn escaped(text: &str) -> String {
    text.replace('!', "!!").replace('%', "!%").replace('_', "!_")
}

/// Returns whether the erasure began.
async fn begin(
    tx: &mut Tx<'_>,
    erasure: &Erasure,
    searched: Vec<ConversationId>,
    fact: Fact,
    now: DateTime<Utc>,
) -> Result<bool> {
    let (channel, person) = (erasure.channel.as_str(), erasure.person.as_str());
    let own = places::all_private_with(tx, channel, person).await?;
    let own = retire::with_sub_agents(tx, own).await?;
    let mut shared: BTreeSet<_> = searched.into_iter().collect();
    shared.extend(participants::conversations_of(tx, channel, person).await?);
    shared.retain(|id| !own.contains(id));
    for conversation in own.iter().chain(&shared) {
        journal::lock(tx, conversation).await?;
        if retire::is_busy(tx, conversation).await? {
            return Ok(false);
        }
    }
    let fact = fact.with("channel", channel).with("whom", person);
    pending::insert(tx, erasure, &fact, now).await?;
    for conversation in own {
        let (_, place) = places::place(tx, &conversation).await?;
        if place.kind == PlaceKind::Private {
            memory::clear(tx, &grants::person(channel, &place.chat), "%").await?;
        }
        retire::retire(tx, &conversation).await?;
        pending::insert_step(tx, erasure, &conversation, StepKind::Own).await?;
    }
    for conversation in shared {
        let upto = journal::last_seq(tx, &conversation).await?;
        let restarted = Event::Restarted { by: nobody() };
        let seq = journal::append(tx, &conversation, &restarted, now).await?;
        snapshots::invalidate(tx, &conversation, seq).await?;
        pending::insert_step(tx, erasure, &conversation, StepKind::Shared { upto }).await?;
    }
    delete_outside_conversations(tx, erasure, now).await?;
    memory::clear(tx, "", &mention(person)?).await?;
    let nobody = serde_json::to_string(&nobody())?;
    wiki::forget_author(tx, &mention(person)?, &nobody).await?;
    Ok(true)
}

/// Deletes the person's data outside of conversations.
async fn delete_outside_conversations(
    tx: &mut Tx<'_>,
    erasure: &Erasure,
    now: DateTime<Utc>,
) -> Result<()> {
    let (channel, person) = (erasure.channel.as_str(), erasure.person.as_str());
    let of_person = [
        "DELETE FROM people WHERE channel = $1 AND person = $2",
        "DELETE FROM pairing_failures WHERE channel = $1 AND person = $2",
        "UPDATE votes SET name = '', person = 'erased ' || approval WHERE channel = $1 AND person = $2",
    ];
    for statement in of_person {
        sql!(tx, execute, statement, channel, person);
    }
    let named = grants::person(channel, person);
    let of_name = [
        "DELETE FROM grants WHERE scope = 'person' AND owner = $1",
        "DELETE FROM rates WHERE person = $1",
        "DELETE FROM reservations WHERE person = $1",
        "DELETE FROM floods WHERE person = $1",
        "DELETE FROM usage WHERE person = $1",
    ];
    for statement in of_name {
        sql!(tx, execute, statement, named.as_str());
    }
    spent::forget(tx, &named, now).await?;
    identities::unlink(tx, &Account::new(channel, person)).await?;
    // Sessions identify a person of the web chat by the same id.
    sql!(tx, execute, "DELETE FROM access_tokens WHERE name = $1", person);
    sql!(
        tx,
        execute,
        "
        -- delete unparsed updates
        DELETE FROM unparsed
        WHERE channel = $1 AND raw LIKE $2 ESCAPE '!'",
        channel,
        format!("%{}%", escaped(person))
    );
    Ok(())
}
