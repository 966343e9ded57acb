//! Erases a person: what they said and what was said to them alone.
//!
//! Conversations of their own go as a whole, with their files and their chain of the audit, which is
//! cut off behind a seal as an old one is: the check of the audit knows of it and stays good. Where
//! others talk too, their words and names are taken out ([`super::forgotten`]), and the dialogue
//! starts afresh so that no node thinks on with them. What an agent remembers for everybody goes
//! where it was noted for them. What stays: what others have said or noted, what the bot has put in
//! words of its own without their name, files in the workspace of a group, and the audit's rows,
//! which know them by their id alone.

use anyhow::Result;
use channels::PlaceKind;
use chrono::{DateTime, Utc};
use std::collections::BTreeSet;

use super::{
    Tx, approvals, audit,
    db::sql,
    forgotten::{Forgotten, NOBODY, nobody},
    grants, journal, memory, places, sessions, tasks,
};
use crate::journal::{event::Event, ids::ConversationId};

/// What was erased, and what is left to be: files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Erased {
    /// Of which nothing is left.
    pub conversations: Vec<ConversationId>,
    /// Events of others' conversations that say no more what was in them.
    pub events: usize,
    /// Digests of files that nobody shows any more.
    pub files: Vec<String>,
}

/// `None`: something of theirs is open or under way, and has to be stopped first.
pub async fn erase(
    tx: &mut Tx<'_>,
    (channel, person): (&str, &str),
    now: DateTime<Utc>,
) -> Result<Option<Erased>> {
    let own = places::all_private_with(tx, channel, person).await?;
    let own = with_sub_agents(tx, own).await?;
    let shared = spoke_in(tx, channel, person, &own).await?;
    for conversation in own.iter().chain(&shared) {
        journal::lock(tx, conversation).await?;
        if is_busy(tx, conversation).await? {
            return Ok(None);
        }
    }
    let mut erased = Erased::default();
    let mut files = BTreeSet::new();
    for conversation in &own {
        files.extend(digests(tx, conversation).await?);
        let (_, place) = places::place(tx, conversation).await?;
        if place.kind == PlaceKind::Private {
            let shelf = grants::person(channel, &place.chat);
            memory::clear(tx, &shelf, "%").await?;
        }
        memory::clear(tx, conversation.as_str(), "%").await?;
        remove(tx, conversation).await?;
        audit::cut_off(tx, conversation.as_str(), now).await?;
    }
    for conversation in &shared {
        let count = forget(tx, conversation, person, &mut files).await?;
        if count > 0 {
            let restarted = Event::Restarted { by: nobody() };
            let seq = journal::append(tx, conversation, &restarted, now).await?;
            sessions::invalidate(tx, conversation, seq).await?;
        }
        erased.events += count;
    }
    forget_everywhere(tx, (channel, person)).await?;
    memory::clear(tx, "", &mention(person)?).await?;
    for digest in files {
        if !is_shown(tx, &digest).await? {
            erased.files.push(digest);
        }
    }
    erased.conversations = own;
    Ok(Some(erased))
}

/// These conversations, and those that were begun for them.
async fn with_sub_agents(
    tx: &mut Tx<'_>,
    mut all: Vec<ConversationId>,
) -> Result<Vec<ConversationId>> {
    for root in all.clone() {
        let below = tasks::begun_for(tx, &root).await?;
        all.extend(below.into_iter().filter(|child| !all.contains(child)).collect::<Vec<_>>());
    }
    Ok(all)
}

/// Conversations with others in which that person may have spoken.
async fn spoke_in(
    tx: &mut Tx<'_>,
    channel: &str,
    person: &str,
    own: &[ConversationId],
) -> Result<Vec<ConversationId>> {
    let rows: Vec<(String,)> = sql!(
        tx,
        fetch_all,
        "
        -- spoke in
        SELECT DISTINCT e.conversation FROM events e
        JOIN conversations c ON c.id = e.conversation
        WHERE c.channel = $1 AND e.body LIKE $2 ESCAPE '!'
        ORDER BY e.conversation",
        channel,
        mention(person)?
    );
    let all = rows.into_iter().map(|(id,)| ConversationId(id));
    Ok(all.filter(|id| !own.contains(id)).collect())
}

/// As a speaker with that id stands in JSON.
fn mention(person: &str) -> Result<String> {
    let id = format!("\"id\":{}", serde_json::to_string(person)?);
    let escaped = id.replace('!', "!!").replace('%', "!%").replace('_', "!_");
    Ok(format!("%{escaped}%"))
}

/// Whether somebody works at it, or is asked something there.
async fn is_busy(tx: &mut Tx<'_>, conversation: &ConversationId) -> Result<bool> {
    let asked = !approvals::pending(tx, conversation).await?.is_empty();
    let shown = !approvals::shown_in(tx, conversation).await?.is_empty();
    let (ready,): (i64,) = sql!(
        tx,
        fetch_one,
        "
        -- is under way
        SELECT COUNT(ready_at) FROM conversations
        WHERE id = $1",
        conversation.as_str()
    );
    Ok(asked || shown || ready > 0)
}

/// What looks like the digest of a file, in all that happened and was shown.
async fn digests(tx: &mut Tx<'_>, conversation: &ConversationId) -> Result<BTreeSet<String>> {
    let rows: Vec<(String,)> = sql!(
        tx,
        fetch_all,
        "
        -- bodies with digests
        SELECT body FROM events
        WHERE conversation = $1 AND body LIKE '%\"digest\":%'
        UNION ALL
        SELECT body FROM outbox
        WHERE conversation = $1 AND body LIKE '%\"digest\":%'
        UNION ALL
        SELECT file FROM approvals
        WHERE conversation = $1 AND file IS NOT NULL",
        conversation.as_str()
    );
    let mut found = BTreeSet::new();
    for (body,) in rows {
        let pieces = body.split("\"digest\":\"").skip(1);
        found.extend(pieces.filter_map(|piece| piece.get(..64).map(str::to_owned)));
    }
    Ok(found)
}

async fn is_shown(tx: &mut Tx<'_>, digest: &str) -> Result<bool> {
    let found: Option<(String,)> = sql!(
        tx,
        fetch_optional,
        "
        -- is shown still
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

/// Takes a conversation out, with all that hangs on it.
async fn remove(tx: &mut Tx<'_>, conversation: &ConversationId) -> Result<()> {
    let id = conversation.as_str();
    let of_questions = [
        "DELETE FROM approval_tokens WHERE approval IN (SELECT id FROM approvals WHERE conversation = $1)",
        "DELETE FROM votes WHERE approval IN (SELECT id FROM approvals WHERE conversation = $1)",
        "DELETE FROM grants WHERE scope = 'conversation' AND owner = $1",
        "DELETE FROM approvals WHERE conversation = $1",
        "DELETE FROM sessions WHERE conversation = $1",
        "DELETE FROM drafts WHERE conversation = $1",
        "DELETE FROM schedules WHERE conversation = $1",
        "DELETE FROM outbox WHERE conversation = $1",
        "DELETE FROM events WHERE conversation = $1",
        "DELETE FROM usage WHERE conversation = $1",
        "DELETE FROM tasks WHERE conversation = $1 OR parent = $1",
        "DELETE FROM conversations WHERE id = $1",
    ];
    for statement in of_questions {
        sql!(tx, execute, statement, id);
    }
    Ok(())
}

/// Takes them out of a conversation with others. How many events that were.
async fn forget(
    tx: &mut Tx<'_>,
    conversation: &ConversationId,
    person: &str,
    files: &mut BTreeSet<String>,
) -> Result<usize> {
    let entries = journal::events_after(tx, conversation.clone(), 0).await?;
    let forgotten = Forgotten::of(person, &entries)?;
    let mut count = 0;
    for entry in &entries {
        let Some(event) = forgotten.left_of(entry) else { continue };
        count += 1;
        sql!(
            tx,
            execute,
            "
            -- forget in the journal
            UPDATE events
            SET body = $1
            WHERE conversation = $2 AND seq = $3",
            serde_json::to_string(&event)?,
            conversation.as_str(),
            entry.seq
        );
    }
    forget_what_was_shown(tx, conversation, &forgotten).await?;
    forget_questions(tx, conversation, person, &forgotten).await?;
    memory::clear(tx, conversation.as_str(), &mention(person)?).await?;
    memory::rewrite(tx, conversation.as_str(), &|text| forgotten.left_of_text(text)).await?;
    sql!(
        tx,
        execute,
        "
        -- forget what they wanted later
        DELETE FROM schedules
        WHERE conversation = $1 AND by_whom LIKE $2 ESCAPE '!'",
        conversation.as_str(),
        mention(person)?
    );
    files.extend(forgotten.digests);
    Ok(count)
}

async fn forget_what_was_shown(
    tx: &mut Tx<'_>,
    conversation: &ConversationId,
    forgotten: &Forgotten,
) -> Result<()> {
    let rows: Vec<(String, String)> = sql!(
        tx,
        fetch_all,
        "
        -- what was shown
        SELECT id, body FROM outbox
        WHERE conversation = $1",
        conversation.as_str()
    );
    for (id, body) in rows {
        let shown = serde_json::from_str(&body)?;
        let left = forgotten.left_of_shown(&shown);
        if left != shown {
            sql!(
                tx,
                execute,
                "
                -- forget what was shown
                UPDATE outbox
                SET body = $1
                WHERE id = $2",
                left.to_string(),
                id.as_str()
            );
        }
    }
    Ok(())
}

/// What was asked for them, or names them, and what they have answered.
async fn forget_questions(
    tx: &mut Tx<'_>,
    conversation: &ConversationId,
    person: &str,
    forgotten: &Forgotten,
) -> Result<()> {
    sql!(
        tx,
        execute,
        "
        -- forget what was asked for them
        UPDATE approvals
        SET arguments = '{}', title = $1, requester = $2, proposal = NULL
        WHERE conversation = $3 AND requester LIKE $4 ESCAPE '!'",
        NOBODY,
        serde_json::to_string(&nobody())?,
        conversation.as_str(),
        mention(person)?
    );
    let rows: Vec<(String, String, String)> = sql!(
        tx,
        fetch_all,
        "
        -- what was asked for others
        SELECT id, title, arguments FROM approvals
        WHERE conversation = $1",
        conversation.as_str()
    );
    for (id, title, arguments) in rows {
        let arguments = serde_json::from_str(&arguments)?;
        sql!(
            tx,
            execute,
            "
            -- forget whom it named
            UPDATE approvals
            SET title = $1, arguments = $2,
                proposal = CASE WHEN status = 'pending' THEN proposal END
            WHERE id = $3",
            forgotten.left_of_text(&title),
            forgotten.left_of_json(&arguments, &[]).to_string(),
            id.as_str()
        );
    }
    forget_decisions(tx, person, forgotten).await
}

async fn forget_decisions(tx: &mut Tx<'_>, person: &str, forgotten: &Forgotten) -> Result<()> {
    for approval in &forgotten.decided {
        sql!(
            tx,
            execute,
            "
            -- forget who decided
            UPDATE approvals
            SET decided_by = $1
            WHERE id = $2",
            NOBODY,
            approval.as_str()
        );
        sql!(
            tx,
            execute,
            "
            -- forget who gave leave
            UPDATE grants
            SET given_by = $1
            WHERE approval = $2 AND given_by LIKE $3 ESCAPE '!'",
            serde_json::to_string(&nobody())?,
            approval.as_str(),
            mention(person)?
        );
    }
    Ok(())
}

/// What is kept of them besides conversations.
async fn forget_everywhere(tx: &mut Tx<'_>, (channel, person): (&str, &str)) -> Result<()> {
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
        "DELETE FROM floods WHERE person = $1",
        "DELETE FROM usage WHERE person = $1",
    ];
    for statement in of_name {
        sql!(tx, execute, statement, named.as_str());
    }
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
        format!("%{}%", person.replace('!', "!!").replace('%', "!%").replace('_', "!_"))
    );
    Ok(())
}
