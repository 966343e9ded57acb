//! The halt (`/panic`): stops all tools and denies all open approvals.

use anyhow::Result;
use chrono::{DateTime, Utc};

use super::{ApprovalEnd, pending, resolve};
use crate::{
    agent::approvers::Voter,
    journal::event::{Decider, Decision, Speaker, Status},
    store::{
        Tx,
        approvals::{self as approval_store, grants},
        audit::{self, AuditKind, Fact},
    },
    texts,
};

/// The number of approvals denied in one transaction; the sweep denies the rest.
const AT_ONCE: usize = 500;

/// Handles `/panic` and `/panic off`, for owners of the bot.
pub async fn typed(
    tx: &mut Tx<'_>,
    rest: &str,
    voter: &Voter,
    now: DateTime<Utc>,
) -> Result<String> {
    if !voter.is_owner() {
        return Ok(voter.words().grant_texts.owner_only.to_owned());
    }
    match rest {
        "" => Ok((voter.words().grant_texts.halted)(halt(tx, &voter.speaker, now).await?)),
        "off" if lift(tx, &voter.speaker, now).await? => {
            Ok(voter.words().grant_texts.lifted.to_owned())
        }
        "off" => Ok(voter.words().grant_texts.not_halted.to_owned()),
        _ => Ok(voter.words().grant_texts.panic_usage.to_owned()),
    }
}

/// Stops the tools of all nodes and denies all open approvals. Returns how many were denied.
pub async fn halt(tx: &mut Tx<'_>, by: &Speaker, now: DateTime<Utc>) -> Result<usize> {
    grants::halt(tx, by, now).await?;
    let denied = deny_open(tx, by, now).await?;
    note(tx, Fact::new(AuditKind::Halted, &by.id).with("denied", denied), now).await?;
    Ok(denied)
}

/// Lifts the halt. Returns whether there was one.
pub async fn lift(tx: &mut Tx<'_>, by: &Speaker, now: DateTime<Utc>) -> Result<bool> {
    let lifted = grants::lift(tx).await?;
    if lifted {
        note(tx, Fact::new(AuditKind::Lifted, &by.id), now).await?;
    }
    Ok(lifted)
}

async fn note(tx: &mut Tx<'_>, fact: Fact, now: DateTime<Utc>) -> Result<()> {
    audit::append(tx, audit::ADMIN, vec![fact], now).await
}

/// Denies approvals that were requested while the halt was taking effect.
pub(super) async fn sweep(tx: &mut Tx<'_>, now: DateTime<Utc>) -> Result<usize> {
    match grants::halted_by(tx).await? {
        Some(by) => deny_open(tx, &by, now).await,
        None => Ok(0),
    }
}

async fn deny_open(tx: &mut Tx<'_>, by: &Speaker, now: DateTime<Utc>) -> Result<usize> {
    let mut denied = 0;
    for asked in approval_store::open(tx, AT_ONCE).await? {
        // Another node may have moved or decided it in the meantime.
        let approval = pending(tx, &asked.conversation, &asked.id).await?;
        let Some(approval) = approval else { continue };
        let decision = Decision::Deny { reason: Some(texts::HALTED_BY_OWNER.to_owned()) };
        let end = ApprovalEnd::new(Status::Denied, decision, Decider::Person(by.clone()));
        denied += usize::from(resolve(tx, &approval, end, now).await?);
    }
    Ok(denied)
}
