//! Roles that only the platform knows, looked up before a decision: who administers a chat, and
//! whether earlier voters still have their role. The lookup cannot be done inside a transaction.

use anyhow::Result;
use channels::{Incoming, IncomingContent, Person, Place};
use chrono::{DateTime, Utc};
use std::collections::BTreeMap;

use super::{
    Choice,
    persons::{self, VoteEligibility},
    show_votes, voter,
};
use crate::{
    agent::approvers::Voter,
    gateway::{Gateway, people},
    journal::{
        event::Speaker,
        ids::{ConversationId, OutboxId},
        role::Role,
    },
    store::{
        Tx,
        approvals::{self as approval_store, display, request::Approval, votes},
        audit::{self, AuditKind, Fact},
        conversations::{journal, places, tasks},
    },
};

/// Roles by person, as the platform reports them for the chat of an approval.
pub type PlatformRoles = BTreeMap<String, Vec<String>>;

/// The maximum number of people looked up to find one who may decide.
const ASKED: usize = 50;

/// Runs before a press or a command counts. Discards the votes of people who have lost the right to
/// decide, and looks up the voter's roles in the original chat if the approval was moved to a
/// private one.
pub async fn before(gateway: &Gateway, channel: &str, incoming: &mut Incoming) -> Result<()> {
    if !decides(&incoming.what) {
        return Ok(());
    }
    let Some(person) = &mut incoming.person else { return Ok(()) };
    let (channel, place) = (channel.to_owned(), incoming.place.clone());
    let open = gateway.store.read(move |tx| {
        Box::pin(async move {
            let mut open = Vec::new();
            for known in places::of_chat(tx, &channel, &place.chat).await? {
                open.extend(approval_store::shown_in(tx, &known).await?);
            }
            Ok(open)
        })
    });
    for approval in open.await? {
        recount(gateway, &approval).await?;
        if !approval.approvers.ask_the_platform() {
            continue;
        }
        let (home, channel, place) = asked_in(gateway, &approval).await?;
        if approval.shown_in != home {
            person.roles.extend(roles(gateway, &channel, &place, &person.id).await);
        }
    }
    Ok(())
}

fn decides(what: &IncomingContent) -> bool {
    match what {
        IncomingContent::Press { .. } => true,
        IncomingContent::Text { text, addressed, .. } => *addressed && text.starts_with('/'),
        _ => false,
    }
}

/// Runs the same check for an approval that is identified by its id.
pub async fn recount_of(gateway: &Gateway, id: &str) -> Result<()> {
    let id = id.to_owned();
    let asked =
        gateway.store.read(move |tx| Box::pin(async move { approval_store::by_id(tx, &id).await }));
    match asked.await? {
        Some(approval) => recount(gateway, &approval).await,
        None => Ok(()),
    }
}

/// Discards the votes of people who may no longer decide.
pub async fn recount(gateway: &Gateway, approval: &Approval) -> Result<()> {
    if approval.approvers.needed < 2 {
        return Ok(());
    }
    let id = approval.id.clone();
    let cast = gateway.store.read(move |tx| Box::pin(async move { votes::of(tx, &id).await }));
    for (channel, speaker) in cast.await? {
        if counts(gateway, approval, &channel, &speaker).await? {
            continue;
        }
        tracing::warn!(
            approval.id = %approval.id, person.id = speaker.id,
            "vote discarded: the voter may no longer decide"
        );
        let (approval, now) = (approval.clone(), gateway.clock.now());
        let withdraw_votes = gateway.store.write("discard votes", move |tx| {
            Box::pin(async move { withdraw_votes(tx, &approval, &channel, &speaker, now).await })
        });
        withdraw_votes.await?;
    }
    Ok(())
}

/// Whether this vote would be accepted if it were cast now. Votes that did not come through a
/// platform were authenticated by their own endpoint, and so were those of people whose role
/// depends on their sign-in with an OpenID provider.
async fn counts(
    gateway: &Gateway,
    approval: &Approval,
    channel: &str,
    speaker: &Speaker,
) -> Result<bool> {
    let Some(connected) = gateway.channels.get(channel) else { return Ok(true) };
    if people::has_signed_in_with_oidc(&speaker.id) {
        return Ok(true);
    }
    let (_, home, place) = asked_in(gateway, approval).await?;
    let roles = if home == channel && approval.approvers.ask_the_platform() {
        roles(gateway, channel, &place, &speaker.id).await
    } else {
        Vec::new()
    };
    let person = Person {
        id: speaker.id.clone(),
        name: speaker.name.clone(),
        language: None,
        is_bot: false,
        roles,
    };
    let (channel, allow) = (channel.to_owned(), connected.allow.clone());
    let (given, speaker) = (connected.settings.roles.clone(), speaker.clone());
    let voter = gateway.store.read(move |tx| {
        Box::pin(async move {
            let role = people::role(tx, &channel, &allow, &given, &person).await?;
            let known = voter(tx, &channel, &speaker, &person.roles).await?;
            Ok(Voter { role, ..known })
        })
    });
    let voter = voter.await?;
    let talks = voter.role.is_some_and(|role| role >= Role::Member);
    let asked = approval.clone();
    let eligibility = gateway.store.read(move |tx| {
        Box::pin(async move { persons::eligibility(tx, &asked, &Choice::Once, &voter).await })
    });
    Ok(talks && eligibility.await? == VoteEligibility::Counts)
}

async fn withdraw_votes(
    tx: &mut Tx<'_>,
    asked: &Approval,
    channel: &str,
    speaker: &Speaker,
    now: DateTime<Utc>,
) -> Result<()> {
    journal::lock(tx, &asked.conversation).await?;
    votes::withdraw_votes(tx, &asked.id, channel, &speaker.id).await?;
    let fact = Fact::about(AuditKind::VoteDiscarded, asked, &speaker.id).with("channel", channel);
    audit::append(tx, asked.conversation.as_str(), vec![fact], now).await?;
    let names = votes::names(tx, &asked.id).await?;
    show_votes(tx, asked, &names, now).await.map(drop)
}

/// The people, by the platform's roles, to whom the approval that this row belongs to may be shown
/// in private.
pub(super) async fn elsewhere(gateway: &Gateway, row: &OutboxId) -> Result<PlatformRoles> {
    let row = row.clone();
    let known = gateway.store.read(move |tx| {
        Box::pin(async move {
            let (Some(part_of), _) = display::approval_and_edited_row(tx, &row).await? else {
                return Ok(None);
            };
            let approval = approval_store::by_id(tx, part_of.as_str()).await?;
            let asks = |approval: &Approval| approval.approvers.ask_the_platform();
            let Some(approval) = approval.filter(asks) else { return Ok(None) };
            let home = tasks::home(tx, &approval.conversation).await?;
            let (channel, place) = places::place(tx, &home).await?;
            let people = places::known_people(tx, &channel, ASKED).await?;
            Ok(Some((channel, place, people)))
        })
    });
    let Some((channel, place, people)) = known.await? else { return Ok(PlatformRoles::new()) };
    let mut roles_by_person = PlatformRoles::new();
    for person in people {
        let roles = roles(gateway, &channel, &place, &person).await;
        if !roles.is_empty() {
            roles_by_person.insert(person, roles);
        }
    }
    Ok(roles_by_person)
}

/// The conversation, channel and place where the approval was requested.
async fn asked_in(
    gateway: &Gateway,
    approval: &Approval,
) -> Result<(ConversationId, String, Place)> {
    let conversation = approval.conversation.clone();
    let found = gateway.store.read(move |tx| {
        Box::pin(async move {
            let home = tasks::home(tx, &conversation).await?;
            let (channel, place) = places::place(tx, &home).await?;
            Ok((home, channel, place))
        })
    });
    found.await
}

async fn roles(gateway: &Gateway, channel: &str, place: &Place, person: &str) -> Vec<String> {
    match gateway.channels.get(channel) {
        Some(connected) => connected.channel.roles(place, person).await,
        None => Vec::new(),
    }
}
