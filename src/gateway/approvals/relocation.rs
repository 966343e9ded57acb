//! Moves an approval that cannot be shown where it was requested, or denies it, so that it is never
//! stuck.

use anyhow::{Context as _, Result};
use channels::{Outgoing, Place};
use chrono::{DateTime, Utc};

use super::{
    ApprovalEnd,
    persons::{self, VoteEligibility},
    platform_roles::{self, PlatformRoles},
    resolve, voter,
};
use crate::{
    agent::approvers::ApproverSelector,
    gateway::{
        Gateway,
        people::{ChannelAccess, known_by},
    },
    journal::{
        event::{Decider, Decision, Status},
        ids::ConversationId,
        role::Role,
    },
    store::{
        Tx,
        approvals::{self as approval_store, display, request::Approval},
        conversations::{
            self, journal,
            places::{self, ConversationKey},
            tasks,
        },
        outbox::{
            self,
            sending::{self, SendOutcome, Sending},
        },
        people, schedules,
    },
};

/// Handles a row that the platform will never accept. An approval that the row was a part of moves
/// elsewhere, and an edit is sent as a new message.
pub async fn given_up(
    gateway: &Gateway,
    sending: &Sending,
    ended: SendOutcome,
    reason: String,
) -> Result<()> {
    let roles_by_person = platform_roles::elsewhere(gateway, &sending.id).await?;
    let access =
        ChannelAccess::to(gateway, &sending.channel).context("there is no such channel")?;
    let reach = Reach { access, roles_by_person };
    let (sending, now) = (sending.clone(), gateway.clock.now());
    gateway
        .store
        .write("give up", move |tx| {
            Box::pin(async move {
                if !sending::end(tx, &sending, ended, reason).await? {
                    return Ok(());
                }
                if ended == SendOutcome::Gone {
                    schedules::pause_all(tx, &sending.conversation, now).await?;
                }
                match display::approval_and_edited_row(tx, &sending.id).await? {
                    (Some(part_of), _) => {
                        if let Some(approval) = approval_store::by_id(tx, part_of.as_str()).await? {
                            elsewhere(tx, &approval, &reach, now).await?;
                        }
                        Ok(())
                    }
                    (None, Some(_)) if matches!(sending.what, Outgoing::Settled { .. }) => {
                        display::send_outcome(tx, &sending.conversation, &sending.what, now).await
                    }
                    _ => Ok(()),
                }
            })
        })
        .await
}

/// Handles the removal of the bot from a chat, or the end of a topic: rows that wait to be shown
/// there are given up, schedules are paused, and approvals are moved or denied.
pub async fn expelled(
    tx: &mut Tx<'_>,
    access: &ChannelAccess,
    place: &Place,
    now: DateTime<Utc>,
) -> Result<()> {
    // The platform reports no roles for a chat that the bot is not in.
    let reach = Reach { access: access.clone(), roles_by_person: PlatformRoles::new() };
    for conversation in places::of_chat(tx, access.channel(), &place.chat).await? {
        let (_, there) = places::place(tx, &conversation).await?;
        if place.thread.is_some() && there.thread != place.thread {
            continue;
        }
        conversations::close(tx, &conversation).await?;
        schedules::pause_all(tx, &conversation, now).await?;
        let mut open = approval_store::shown_in(tx, &conversation).await?;
        // Conversations are locked in the order of [`approval_store::open`].
        open.sort_by(|one, other| one.conversation.cmp(&other.conversation));
        for approval in open {
            elsewhere(tx, &approval, &reach, now).await?;
        }
    }
    Ok(())
}

/// Handles a chat that continues under a new id. Buttons under the old id can no longer be pressed.
pub async fn chat_moved(
    tx: &mut Tx<'_>,
    channel: &str,
    from: &str,
    to: &str,
    now: DateTime<Utc>,
) -> Result<()> {
    let conversations = places::of_chat(tx, channel, from).await?;
    places::move_chat(tx, channel, from, to).await?;
    for conversation in conversations {
        let (_, place) = places::place(tx, &conversation).await?;
        let person = places::person(tx, &conversation).await?;
        let key = ConversationKey { place: &place, person: &person };
        let there = journal::find_conversation(tx, channel, key).await?;
        let into = there.unwrap_or_else(|| conversation.clone());
        for approval in approval_store::shown_in(tx, &conversation).await? {
            if outbox::receipt(tx, &approval.message).await?.is_some() || into != conversation {
                display::show_again(tx, &approval, &into, None, now).await?;
            }
        }
    }
    Ok(())
}

/// The people who can be asked in private: who may talk on the channel, and the roles that the
/// platform reported.
#[derive(Clone)]
struct Reach {
    access: ChannelAccess,
    roles_by_person: PlatformRoles,
}

/// Moves an approval, once, to the private chat of somebody who may decide it. If there is none,
/// the approval is denied.
async fn elsewhere(
    tx: &mut Tx<'_>,
    approval: &Approval,
    reach: &Reach,
    now: DateTime<Utc>,
) -> Result<()> {
    journal::lock(tx, &approval.conversation).await?;
    let Some(approval) = approval_store::by_id(tx, approval.id.as_str()).await? else {
        return Ok(());
    };
    if approval.status != Status::Pending {
        return Ok(());
    }
    if let Some(into) = private_place(tx, &approval, reach).await? {
        tracing::warn!(approval.id = %approval.id, "approval moved to a private chat");
        let words = conversations::words(tx, &into).await?;
        let ahead = Some(words.grant_texts.moved_here.to_owned());
        return display::show_again(tx, &approval, &into, ahead, now).await;
    }
    display::drop_parts(tx, &approval.id).await?;
    let decision = Decision::Deny { reason: None };
    let end = ApprovalEnd::new(Status::Undeliverable, decision, Decider::Undeliverable);
    resolve(tx, &approval, end, now).await.map(drop)
}

/// The private chat of somebody who may decide alone. An approval is shown in one place only and
/// moves at most once.
async fn private_place(
    tx: &mut Tx<'_>,
    approval: &Approval,
    Reach { access, roles_by_person }: &Reach,
) -> Result<Option<ConversationId>> {
    let home = tasks::home(tx, &approval.conversation).await?;
    if approval.shown_in != home || approval.approvers.needed > 1 {
        return Ok(None);
    }
    let named = named(tx, approval, access).await?;
    for id in named.iter().chain(roles_by_person.keys()) {
        let roles = roles_by_person.get(id).cloned().unwrap_or_default();
        let person = voter(tx, access, known_by(id, roles)).await?;
        if persons::naming(tx, approval, &person).await? != VoteEligibility::Counts {
            continue;
        }
        // Roles of the platform give no access in a private chat.
        let talks = access.role(tx, &known_by(id, Vec::new())).await?;
        if talks.is_none_or(|role| role < Role::Member) {
            continue;
        }
        let chat = places::private_with(tx, access.channel(), id).await?;
        if let Some(chat) = chat.filter(|chat| *chat != approval.shown_in) {
            return Ok(Some(chat));
        }
    }
    Ok(None)
}

/// The maximum number of people with a role who are considered.
const MAX_PEOPLE: usize = 50;

/// The requester and the people whom the policy names.
async fn named(
    tx: &mut Tx<'_>,
    approval: &Approval,
    access: &ChannelAccess,
) -> Result<Vec<String>> {
    let mut ids = vec![approval.requester.id.clone()];
    for who in &approval.approvers.who {
        match who {
            ApproverSelector::Id(id) => ids.push(id.rsplit('/').next().unwrap_or(id).to_owned()),
            ApproverSelector::Role(role) => {
                ids.extend(access.configured(*role).cloned());
                let stored = people::people_with_role(tx, access.channel(), *role, MAX_PEOPLE);
                ids.extend(stored.await?);
            }
            ApproverSelector::Requester
            | ApproverSelector::Members
            | ApproverSelector::Admins
            | ApproverSelector::PlatformRole(_) => {}
        }
    }
    Ok(ids)
}
