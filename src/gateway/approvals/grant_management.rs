//! Grants: shown before they are given, listed and revoked.

use anyhow::Result;
use channels::{Outgoing, PlaceKind};
use chrono::{DateTime, Utc};

use super::{Choice, GrantBounds, code_suffix};
use crate::{
    agent::approvers::{RoleLookups, Voter},
    journal::{
        event::Status,
        grant::{Grant, Scope},
        ids::{ConversationId, GrantId},
        role::Role,
    },
    store::{
        Tx,
        approvals::{self as approval_store, attachments, display, grants, request::Approval},
        audit::{self, AuditKind, Fact},
        conversations::{self, places},
    },
    texts::Language,
};

/// Replaces the approval message with a description of what "always" would allow, and asks for
/// confirmation.
pub(super) async fn propose(
    tx: &mut Tx<'_>,
    approval: &Approval,
    voter: &Voter,
    now: DateTime<Utc>,
) -> Result<String> {
    let Some(grant) = proposed(tx, approval, GrantBounds::default(), voter, now).await? else {
        return Ok(voter.words().grant_texts.not_offered.to_owned());
    };
    attachments::set_proposed(tx, &approval.id, Some(now)).await?;
    let what = display::what(tx, &approval.message).await?;
    let Outgoing::Approval { markdown, approval: id, reply_to, .. } = what else {
        // On platforms without buttons the reply itself shows the proposal.
        return Ok(voter.words().proposal_typed(&grant, code_suffix(approval.id.as_str())));
    };
    let words = conversations::words(tx, &approval.shown_in).await?;
    let markdown = format!("{markdown}\n\n{}", words.proposal(&grant));
    let what = Outgoing::Approval { markdown, approval: id, choices: words.giving(), reply_to };
    display::redraw(tx, approval, what, now).await?;
    Ok(voter.words().grant_texts.proposed.to_owned())
}

/// A grant has to be shown before it can be given: until then, `/always yes` shows the proposal.
pub(in crate::gateway) async fn proposed_first(
    tx: &mut Tx<'_>,
    approval: &Approval,
    choice: Choice,
) -> Result<Choice> {
    let gives = matches!(choice, Choice::Give(_));
    let is_shown = !gives || attachments::is_proposed(tx, &approval.id).await?;
    Ok(if is_shown { choice } else { Choice::Propose })
}

/// Shows the original approval again.
pub(super) async fn back(
    tx: &mut Tx<'_>,
    approval: &Approval,
    voter: &Voter,
    now: DateTime<Utc>,
) -> Result<String> {
    let what = display::what(tx, &approval.message).await?;
    attachments::set_proposed(tx, &approval.id, None).await?;
    display::redraw(tx, approval, what, now).await?;
    Ok(voter.words().grant_texts.not_given.to_owned())
}

/// Describes what a grant on the default terms would cover. `None` if the approval offers no grant.
pub async fn describe_proposal(
    tx: &mut Tx<'_>,
    approval: &Approval,
    now: DateTime<Utc>,
) -> Result<Option<String>> {
    let voter = Voter {
        speaker: approval.requester.clone(),
        channel: String::new(),
        role: None,
        platform_roles: Vec::new(),
        lookups: RoleLookups::new(),
        language: Language::default(),
    };
    let grant = proposed(tx, approval, GrantBounds::default(), &voter, now).await?;
    Ok(grant.map(|grant| voter.words().proposal(&grant)))
}

/// The grant that the approval proposes, on the given terms.
pub(super) async fn proposed(
    tx: &mut Tx<'_>,
    approval: &Approval,
    terms: GrantBounds,
    voter: &Voter,
    now: DateTime<Utc>,
) -> Result<Option<Grant>> {
    let Some(covers) = approval.proposal.clone() else { return Ok(None) };
    let (channel, _) = places::place(tx, &approval.conversation).await?;
    let owner = match terms.scope {
        Scope::Person => grants::person(&channel, &approval.requester.id),
        Scope::Conversation => approval.conversation.to_string(),
        Scope::Bot => String::new(),
    };
    Ok(Some(Grant {
        id: GrantId::new(),
        tool: approval.tool.clone(),
        covers,
        scope: terms.scope,
        owner,
        given_by: voter.speaker.clone(),
        expires_at: now + terms.valid_for,
        uses_left: terms.uses,
    }))
}

/// Explains why this person may not give the grant on these terms. A grant for others requires
/// somebody who may decide for them.
pub(super) async fn refused(
    tx: &mut Tx<'_>,
    approval: &Approval,
    terms: GrantBounds,
    voter: &Voter,
) -> Result<Option<&'static str>> {
    let (_, place) = places::place(tx, &approval.conversation).await?;
    let alone = place.kind == PlaceKind::Private;
    Ok(match terms.scope {
        _ if voter.is_owner() => None,
        Scope::Bot => Some(voter.words().grant_texts.owner_only),
        Scope::Conversation if !alone && !approval.approvers.admit_for_all(voter) => {
            Some(voter.words().grant_texts.not_for_others)
        }
        Scope::Conversation | Scope::Person => None,
    })
}

/// Handles `/grants` and `/grants revoke <code>`.
pub async fn typed(
    tx: &mut Tx<'_>,
    conversation: &ConversationId,
    rest: &str,
    voter: &Voter,
    now: DateTime<Utc>,
) -> Result<String> {
    let seen = seen_by(tx, conversation, voter, now).await?;
    match rest.split_whitespace().collect::<Vec<_>>()[..] {
        [] => Ok(voter.words().grants(&seen, code_suffix)),
        ["revoke", code] => {
            let code = code.to_lowercase();
            match seen.iter().find(|grant| code_suffix(grant.id.as_str()) == code) {
                Some(grant) => revoke(tx, grant, voter, now).await,
                None => Ok(voter.words().grant_texts.no_such_grant.to_owned()),
            }
        }
        _ => Ok(voter.words().grant_texts.grants_usage.to_owned()),
    }
}

/// Owners of the bot see all grants; other people see those that apply to them or to this place.
async fn seen_by(
    tx: &mut Tx<'_>,
    conversation: &ConversationId,
    voter: &Voter,
    now: DateTime<Utc>,
) -> Result<Vec<Grant>> {
    if voter.is_owner() {
        return grants::all(tx, now).await;
    }
    let person = grants::person(&voter.channel, &voter.speaker.id);
    grants::in_force(tx, &person, conversation, now).await
}

/// Handles the revoke button of a settled approval.
pub(super) async fn revoke_pressed(
    tx: &mut Tx<'_>,
    approval: &Approval,
    voter: &Voter,
    now: DateTime<Utc>,
) -> Result<String> {
    match grants::of_approval(tx, &approval.id, now).await? {
        Some(grant) => revoke(tx, &grant, voter, now).await,
        None => Ok(voter.words().grant_texts.no_such_grant.to_owned()),
    }
}

/// Revokes a grant immediately and updates the approval message that gave it.
pub async fn revoke(
    tx: &mut Tx<'_>,
    grant: &Grant,
    voter: &Voter,
    now: DateTime<Utc>,
) -> Result<String> {
    if !may_revoke(grant, voter) {
        return Ok(voter.words().grant_texts.not_your_grant.to_owned());
    }
    let by = &voter.speaker.name;
    let Some(approval) = grants::revoke(tx, &grant.id, by, now).await? else {
        return Ok(voter.words().grant_texts.no_such_grant.to_owned());
    };
    let fact = Fact::grant_changed(AuditKind::Revoked, grant, &voter.speaker.id)
        .with("channel", voter.channel.as_str());
    audit::append(tx, audit::ADMIN, vec![fact], now).await?;
    if let Some(approval) = approval_store::by_id(tx, approval.as_str()).await? {
        let giver = approval.decided_by.as_deref().unwrap_or_default();
        let words = conversations::words(tx, &approval.shown_in).await?;
        let settled = words.settled(Status::Allowed, &approval.title, giver);
        let markdown = words.revoked(&settled, by);
        let what = Outgoing::Settled { markdown, approval: None, choices: Vec::new() };
        display::redraw(tx, &approval, what, now).await?;
    }
    Ok(voter.words().grant_texts.revoked.to_owned())
}

/// A grant may be revoked by the person who gave it, the person it is for, an owner or operator of
/// the bot, and administrators of the chat that it is for.
fn may_revoke(grant: &Grant, voter: &Voter) -> bool {
    grant.given_by.id == voter.speaker.id
        || grant.owner == grants::person(&voter.channel, &voter.speaker.id)
        || grant.scope == Scope::Conversation && voter.administers()
        || voter.role.is_some_and(|role| role >= Role::Operator)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::{event::Speaker, grant::GrantSubject};

    fn speaker(id: &str) -> Speaker {
        Speaker { id: id.into(), name: "Ann".into() }
    }

    /// Proves A11.
    #[test]
    fn a_grant_is_revoked_by_those_whom_it_concerns() {
        let grant = |scope, owner: &str| Grant {
            id: GrantId::new(),
            tool: "delete".into(),
            covers: GrantSubject::Everything,
            scope,
            owner: owner.into(),
            given_by: speaker("9"),
            expires_at: DateTime::UNIX_EPOCH,
            uses_left: None,
        };
        let voter = |id: &str, role: Option<Role>, platform_roles: &[&str]| Voter {
            speaker: speaker(id),
            channel: "tg".into(),
            role,
            platform_roles: platform_roles.iter().map(|&role| role.to_owned()).collect(),
            lookups: RoleLookups::new(),
            language: Language::default(),
        };
        let (person, all) = (grant(Scope::Person, "tg/7"), grant(Scope::Bot, ""));
        let group = grant(Scope::Conversation, "c1");
        for (grant, voter, expected) in [
            (&person, voter("9", None, &[]), true),
            (&person, voter("7", None, &[]), true),
            (&person, voter("8", Some(Role::Approver), &["admin"]), false),
            (&person, voter("8", Some(Role::Operator), &[]), true),
            (&group, voter("8", Some(Role::Member), &["admin"]), true),
            (&group, voter("8", Some(Role::Member), &["7"]), false),
            (&all, voter("8", Some(Role::Member), &["owner"]), false),
            (&all, voter("8", Some(Role::Owner), &[]), true),
        ] {
            assert_eq!(may_revoke(grant, &voter), expected, "{grant:?} {voter:?}");
        }
        let elsewhere = Voter { channel: "discord".into(), ..voter("7", None, &[]) };
        assert!(!may_revoke(&person, &elsewhere));
    }
}
