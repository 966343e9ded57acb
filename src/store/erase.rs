//! Erases a person: what they said and what was said to them alone.
//!
//! ```text
//! begin     one transaction: nothing of theirs may be open; their own conversations are taken out
//!           of use, in those with others the dialogue starts afresh, and each is noted as a step
//! step      own: rows are deleted; shared: rows are rewritten ([`super::redaction`])
//! end       files that no other conversation names are removed
//! ```
//! Steps are done in slices, each a transaction of a few milliseconds. What is left to be done is
//! kept in tables, so that an erasure that a crash has interrupted goes on where it was: everything
//! here can be done twice.
//!
//! Conversations of their own go as a whole, with their files and their chain of the audit, which is
//! cut off behind a seal as an old one is: the check of the audit knows of it and stays good. Where
//! others talk too, their words and names are taken out. What an agent remembers for everybody goes
//! where it was noted for them. What stays: what others have said or noted, what the bot has put in
//! words of its own without their name, files in the workspace of a group, and the audit's rows,
//! which know them by their id alone.

use anyhow::Result;
use channels::PlaceKind;
use chrono::{DateTime, Utc};
use std::collections::BTreeSet;

use super::{
    Store, Tx,
    audit::Fact,
    db::sql,
    erasures, grants,
    identities::{self, Account},
    journal, memory, participants, places,
    redaction::nobody,
    retire, sessions, spent,
};
use crate::journal::{
    event::{Event, Seq},
    ids::ConversationId,
};

/// The rows that one transaction deletes or rewrites.
pub(super) const SLICE: usize = 500;

/// An erasure that has begun.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Erasure {
    pub id: String,
    pub channel: String,
    pub person: String,
}

/// One conversation of an erasure that is left to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    pub erasure: Erasure,
    pub conversation: ConversationId,
    pub kind: StepKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepKind {
    /// The conversation goes as a whole.
    Own,
    /// Others talk there too: it is rewritten up to that event.
    Shared { upto: Seq },
}

/// How much was erased.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Erased {
    /// Conversations of which nothing is left.
    pub conversations: i64,
    /// Events of others' conversations that say no more what was in them.
    pub events: i64,
    pub files: i64,
}

impl Store {
    /// Begins to erase a person. `None`: something of theirs is open or under way, and has to be
    /// stopped first. `fact` says on whose behalf, for the audit.
    pub async fn begin_erasure(
        &self,
        (channel, person): (&str, &str),
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
                let begun = begin(tx, &erasure, (searched, fact), now).await?;
                Ok(begun.then_some(erasure))
            })
        })
        .await
    }

    /// The erasures that were begun before that time and have not come to their end.
    pub async fn erasures(&self, before: DateTime<Utc>) -> Result<Vec<Erasure>> {
        self.read(move |tx| Box::pin(erasures::begun_before(tx, before))).await
    }

    /// What is left to be done of an erasure.
    pub async fn erasure_steps(&self, erasure: &Erasure) -> Result<Vec<Step>> {
        let erasure = erasure.clone();
        self.read(move |tx| Box::pin(erasures::steps(tx, erasure))).await
    }

    /// Deletes or rewrites the rows of a conversation, slice by slice.
    pub async fn erase_step(&self, step: &Step, now: DateTime<Utc>) -> Result<()> {
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

    /// Notes that nothing is left to be done of a step, in the database and outside of it.
    pub async fn end_erasure_step(&self, step: &Step) -> Result<()> {
        let step = step.clone();
        self.write("end step", move |tx| Box::pin(erasures::end_step(tx, step))).await
    }

    /// The files of an erasure that no conversation names any more.
    pub async fn erased_files(&self, erasure: &Erasure) -> Result<Vec<String>> {
        let (id, complete) = (erasure.id.clone(), self.mentions_are_complete().await?);
        self.read(move |tx| Box::pin(erasures::unnamed(tx, id, complete))).await
    }

    /// Ends an erasure: how much it was.
    pub async fn end_erasure(
        &self,
        erasure: &Erasure,
        files: usize,
        now: DateTime<Utc>,
    ) -> Result<Erased> {
        let erasure = erasure.clone();
        self.write("end erasure", move |tx| Box::pin(erasures::end(tx, erasure, files, now))).await
    }
}

/// Conversations with others in which that person may have spoken, by their journals.
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

/// A speaker with that id, as a pattern over JSON.
pub(super) fn mention(person: &str) -> Result<String> {
    let id = format!("\"id\":{}", serde_json::to_string(person)?);
    Ok(format!("%{}%", escaped(&id)))
}

fn escaped(text: &str) -> String {
    text.replace('!', "!!").replace('%', "!%").replace('_', "!_")
}

/// Whether it has begun.
async fn begin(
    tx: &mut Tx<'_>,
    erasure: &Erasure,
    (searched, fact): (Vec<ConversationId>, Fact),
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
    erasures::insert(tx, erasure, &fact, now).await?;
    for conversation in own {
        let (_, place) = places::place(tx, &conversation).await?;
        if place.kind == PlaceKind::Private {
            memory::clear(tx, &grants::person(channel, &place.chat), "%").await?;
        }
        retire::retire(tx, &conversation).await?;
        erasures::insert_step(tx, erasure, &conversation, StepKind::Own).await?;
    }
    for conversation in shared {
        let upto = journal::last_seq(tx, &conversation).await?;
        let restarted = Event::Restarted { by: nobody() };
        let seq = journal::append(tx, &conversation, &restarted, now).await?;
        sessions::invalidate(tx, &conversation, seq).await?;
        erasures::insert_step(tx, erasure, &conversation, StepKind::Shared { upto }).await?;
    }
    forget_everywhere(tx, erasure, now).await?;
    memory::clear(tx, "", &mention(person)?).await?;
    Ok(true)
}

/// Forgets what is kept of them besides conversations.
async fn forget_everywhere(tx: &mut Tx<'_>, erasure: &Erasure, now: DateTime<Utc>) -> Result<()> {
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
    // Sessions know a person of the web chat by the same id.
    sql!(tx, execute, "DELETE FROM access_tokens WHERE name = $1", person);
    sql!(
        tx,
        execute,
        "
        -- forget what could not be read
        DELETE FROM unparsed
        WHERE channel = $1 AND raw LIKE $2 ESCAPE '!'",
        channel,
        format!("%{}%", escaped(person))
    );
    Ok(())
}
