//! Rewrites a shared conversation without an erased person, in slices.
//!
//! Text that was derived from their words is rewritten first, and their own events last, newest
//! first, so that after a crash the remaining events still determine what to redact.

use anyhow::Result;
use std::collections::BTreeSet;

use super::{
    pending::{self, Erased, ErasureStep, SLICE},
    redaction::{Forgotten, NOBODY, nobody},
};
use crate::{
    journal::event::{Entry, Event, Seq},
    store::{
        Store, Tx,
        approvals::attachments,
        conversations::{journal, mentions, snapshots},
        db::{row::row, sql},
        memory,
    },
};

/// The new contents of a conversation.
struct Rewritten {
    /// Events that are not the person's own.
    derived: Vec<EventBody>,
    /// The person's own events, newest first.
    own: Vec<EventBody>,
    shown: Vec<ShownMessage>,
    /// Their files that nothing refers to any more.
    gone: BTreeSet<String>,
}

#[derive(Clone)]
struct EventBody {
    seq: Seq,
    body: String,
}

row! {
    /// A row of the outbox.
    #[derive(Clone)]
    struct ShownMessage {
        id: String,
        body: String,
    }
}

impl Store {
    /// Rewrites a conversation up to this event.
    pub(in crate::store) async fn rewrite(&self, step: &ErasureStep, upto: Seq) -> Result<()> {
        let conversation = step.conversation.clone();
        let mut entries = self.events_after(&conversation, 0).await?;
        entries.retain(|entry| entry.seq <= upto);
        let forgotten = Forgotten::of(&step.erasure.person, &entries)?;
        let shown = self.read(move |tx| Box::pin(shown(tx, conversation.0))).await?;
        let remaining = remaining(&forgotten, &entries, &shown)?;
        let (own, gone) = (step.clone(), remaining.gone);
        let write = self.write("erase authorship", move |tx| {
            Box::pin(async move {
                pending::keep_files(tx, &own.erasure, &forgotten.digests).await?;
                redact_approvals(tx, &own, &forgotten).await?;
                forget_notes(tx, &own, &forgotten).await
            })
        });
        write.await?;
        self.rewrite_events(step, remaining.derived).await?;
        self.rewrite_shown(remaining.shown).await?;
        self.rewrite_events(step, remaining.own).await?;
        let own = step.clone();
        self.write("erase mentions", move |tx| Box::pin(forget_mentions(tx, own, gone, upto))).await
    }

    async fn rewrite_events(&self, step: &ErasureStep, events: Vec<EventBody>) -> Result<()> {
        for slice in events.chunks(SLICE) {
            let (step, slice) = (step.clone(), slice.to_vec());
            self.write("rewrite events", move |tx| Box::pin(write_events(tx, step, slice))).await?;
        }
        Ok(())
    }

    async fn rewrite_shown(&self, rows: Vec<ShownMessage>) -> Result<()> {
        for slice in rows.chunks(SLICE) {
            let slice = slice.to_vec();
            self.write("rewrite messages", move |tx| Box::pin(write_shown(tx, slice))).await?;
        }
        Ok(())
    }
}

fn remaining(
    forgotten: &Forgotten,
    entries: &[Entry],
    shown: &[ShownMessage],
) -> Result<Rewritten> {
    let mut remaining = Rewritten {
        derived: Vec::new(),
        own: Vec::new(),
        shown: Vec::new(),
        gone: forgotten.digests.clone(),
    };
    for entry in entries.iter().rev() {
        let event: Option<Event> = forgotten.redact(entry);
        let body = serde_json::to_string(event.as_ref().unwrap_or(&entry.event))?;
        for digest in mentions::digests_in(&body) {
            remaining.gone.remove(digest);
        }
        match event {
            Some(_) if forgotten.is_source(entry) => {
                remaining.own.push(EventBody { seq: entry.seq, body });
            }
            Some(_) => remaining.derived.push(EventBody { seq: entry.seq, body }),
            None => {}
        }
    }
    for ShownMessage { id, body } in shown {
        let is = serde_json::from_str(body)?;
        let then = forgotten.redact_shown(&is);
        for digest in mentions::digests_in(body) {
            remaining.gone.remove(digest);
        }
        if then != is {
            remaining.shown.push(ShownMessage { id: id.clone(), body: then.to_string() });
        }
    }
    Ok(remaining)
}

async fn shown(tx: &mut Tx<'_>, conversation: String) -> Result<Vec<ShownMessage>> {
    Ok(sql!(
        tx,
        fetch_all,
        "
        -- shown messages
        SELECT id, body FROM outbox
        WHERE conversation = $1",
        conversation
    ))
}

async fn write_events(tx: &mut Tx<'_>, step: ErasureStep, slice: Vec<EventBody>) -> Result<()> {
    journal::lock(tx, &step.conversation).await?;
    let events = slice.len() as i64;
    for EventBody { seq, body } in slice {
        sql!(
            tx,
            execute,
            "
            -- rewrite an event
            UPDATE events
            SET body = $1
            WHERE conversation = $2 AND seq = $3",
            body,
            step.conversation.as_str(),
            seq
        );
    }
    pending::count(tx, &step.erasure, Erased { events, ..Erased::default() }).await
}

async fn write_shown(tx: &mut Tx<'_>, slice: Vec<ShownMessage>) -> Result<()> {
    for ShownMessage { id, body } in slice {
        sql!(
            tx,
            execute,
            "
            -- delete shown messages
            UPDATE outbox
            SET body = $1
            WHERE id = $2",
            body,
            id
        );
    }
    Ok(())
}

async fn forget_mentions(
    tx: &mut Tx<'_>,
    step: ErasureStep,
    gone: BTreeSet<String>,
    upto: Seq,
) -> Result<()> {
    // Prevents a session that was folded before the rewrite from being stored. A negative number
    // matches no snapshot.
    snapshots::invalidate(tx, &step.conversation, -upto).await?;
    for digest in gone {
        mentions::remove(tx, &step.conversation, &digest).await?;
    }
    sql!(
        tx,
        execute,
        "
        -- delete a participant
        DELETE FROM participants
        WHERE channel = $1 AND person = $2 AND conversation = $3",
        step.erasure.channel.as_str(),
        step.erasure.person.as_str(),
        step.conversation.as_str()
    );
    Ok(())
}

/// Redacts their notes and schedules.
async fn forget_notes(tx: &mut Tx<'_>, step: &ErasureStep, forgotten: &Forgotten) -> Result<()> {
    let (conversation, mention) =
        (step.conversation.as_str(), super::mention(&step.erasure.person)?);
    memory::clear(tx, conversation, &mention).await?;
    memory::rewrite(tx, conversation, &|text| forgotten.redact_text(text)).await?;
    sql!(
        tx,
        execute,
        "
        -- delete their schedules
        DELETE FROM schedules
        WHERE conversation = $1 AND by_whom LIKE $2 ESCAPE '!'",
        conversation,
        mention.as_str()
    );
    sql!(
        tx,
        execute,
        "
        -- delete their jobs
        DELETE FROM jobs
        WHERE conversation = $1 AND by_whom LIKE $2 ESCAPE '!'",
        conversation,
        mention
    );
    Ok(())
}

row! {
    struct StoredApprovalText {
        id: String,
        title: String,
        arguments: String,
    }
}

/// Redacts approvals that were requested for them, mention them, or were answered by them.
async fn redact_approvals(
    tx: &mut Tx<'_>,
    step: &ErasureStep,
    forgotten: &Forgotten,
) -> Result<()> {
    let (conversation, mention) =
        (step.conversation.as_str(), super::mention(&step.erasure.person)?);
    let files = attachments::of_conversation(tx, &step.conversation).await?;
    let files: BTreeSet<_> = files.into_iter().collect();
    sql!(
        tx,
        execute,
        "
        -- delete their approvals
        UPDATE approvals
        SET arguments = '{}', title = $1, requester = $2, proposal = NULL, file = NULL
        WHERE conversation = $3 AND requester LIKE $4 ESCAPE '!'",
        NOBODY,
        serde_json::to_string(&nobody())?,
        conversation,
        mention.as_str()
    );
    let rows: Vec<StoredApprovalText> = sql!(
        tx,
        fetch_all,
        "
        -- approvals for others
        SELECT id, title, arguments FROM approvals
        WHERE conversation = $1",
        conversation
    );
    for StoredApprovalText { id, title, arguments } in rows {
        let is = serde_json::from_str(&arguments)?;
        let (title_left, remaining) =
            (forgotten.redact_text(&title), forgotten.redact_json(&is, &[]));
        sql!(
            tx,
            execute,
            "
            -- delete its mentions
            UPDATE approvals
            SET title = $1, arguments = $2, file = NULL,
                proposal = CASE WHEN status = 'pending' THEN proposal END
            WHERE id = $3 AND (title <> $1 OR arguments <> $2 OR proposal IS NOT NULL)",
            title_left,
            remaining.to_string(),
            id.as_str()
        );
    }
    forget_files(tx, step, files).await?;
    forget_decisions(tx, &mention, forgotten).await
}

/// Deletes the files of redacted approvals that no other approval has.
async fn forget_files(
    tx: &mut Tx<'_>,
    step: &ErasureStep,
    mut files: BTreeSet<String>,
) -> Result<()> {
    for digest in attachments::of_conversation(tx, &step.conversation).await? {
        files.remove(&digest);
    }
    for digest in &files {
        mentions::remove(tx, &step.conversation, digest).await?;
    }
    pending::keep_files(tx, &step.erasure, &files).await
}

async fn forget_decisions(tx: &mut Tx<'_>, mention: &str, forgotten: &Forgotten) -> Result<()> {
    for approval in &forgotten.decided {
        sql!(
            tx,
            execute,
            "
            -- delete the decider
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
            -- delete the grantor
            UPDATE grants
            SET given_by = $1
            WHERE approval = $2 AND given_by LIKE $3 ESCAPE '!'",
            serde_json::to_string(&nobody())?,
            approval.as_str(),
            mention
        );
    }
    Ok(())
}
