//! The file with all arguments of an approval, sent once to people who may decide it.

use anyhow::Result;
use channels::Outgoing;
use chrono::{DateTime, Utc};

use super::{
    not_yours,
    persons::{self, VoteEligibility},
    reject_vote,
};
use crate::{
    agent::approvers::Voter,
    journal::event::Attachment,
    store::{
        Tx,
        approvals::{attachments, request::Approval},
        files, outbox,
    },
    texts,
};

/// Sends all arguments of an approval as a file, once, to a person who may decide it.
pub(super) async fn show(
    tx: &mut Tx<'_>,
    approval: &Approval,
    voter: &Voter,
    now: DateTime<Utc>,
) -> Result<String> {
    let voter = &voter.on(&approval.id);
    let naming = persons::naming(tx, approval, voter).await?;
    if naming != VoteEligibility::Counts {
        if voter.has_unknown_roles(&approval.id) {
            return Ok(voter.words().grant_texts.roles_unknown.to_owned());
        }
        reject_vote(tx, approval, voter, now).await?;
        return Ok(not_yours(&approval.approvers, naming, voter).to_owned());
    }
    let file = match attachments::claim(tx, &approval.id, now).await? {
        attachments::Claim::Sent => return Ok(voter.words().everything_sent_before.to_owned()),
        attachments::Claim::Send(file) => file.unwrap_or_else(|| arguments_of(approval)),
    };
    let file = Outgoing::File {
        name: file.name,
        media_type: file.media_type,
        size_bytes: file.size_bytes,
        digest: file.digest,
        caption: None,
        reply_to: None,
    };
    outbox::put(tx, &approval.shown_in, vec![file], now).await?;
    Ok(voter.words().everything_sent.to_owned())
}

/// Builds the file for an approval that was created by the previous release.
fn arguments_of(approval: &Approval) -> Attachment {
    let bytes = texts::arguments_file(&approval.arguments).into_bytes();
    Attachment {
        name: texts::EVERYTHING_NAME.to_owned(),
        media_type: "application/json".to_owned(),
        size_bytes: bytes.len() as u64,
        digest: files::digest_of(&bytes),
        caption: None,
    }
}
