//! Roles that only the platform knows, looked up before a decision: who administers a chat, and
//! whether earlier voters still have their role. The lookup cannot be done inside a transaction.

use anyhow::Result;
use channels::{Incoming, IncomingContent, Place, SendError};
use chrono::{DateTime, Utc};
use std::collections::{BTreeMap, BTreeSet};

use super::{
    Choice, pending,
    persons::{self, VoteEligibility},
    show_votes, voter,
};
use crate::{
    agent::approvers::RoleLookup,
    gateway::{
        Connected, Gateway, commands,
        people::{self, ChannelAccess},
    },
    journal::{
        event::Speaker,
        ids::{ConversationId, OutboxId},
        role::Role,
    },
    store::{
        Tx,
        approvals::{self as approval_store, display, request::Approval, votes},
        audit::{self, AuditKind, Fact},
        conversations::{places, tasks},
    },
};

/// Roles by person, as the platform reports them for the chat of an approval.
pub type PlatformRoles = BTreeMap<String, Vec<String>>;

/// The maximum number of people looked up to find one who may decide.
const MAX_PEOPLE: usize = 50;

/// Runs before a press or a command counts. Discards the votes of people who have lost the right to
/// decide, and looks up the voter's roles in the original chat if the approval was moved to a
/// private one.
pub async fn before(
    gateway: &Gateway,
    channel: &str,
    incoming: &mut Incoming,
) -> Result<RoleLookup> {
    let mut lookup = RoleLookup::Done;
    if !decides(&incoming.what) {
        return Ok(lookup);
    }
    let Some(person) = &mut incoming.person else { return Ok(lookup) };
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
        if recount(gateway, &approval).await? == RoleLookup::Unanswered {
            lookup = RoleLookup::Unanswered;
        }
        let (home, channel, place) = asked_in(gateway, &approval).await?;
        if approval.shown_in == home {
            continue;
        }
        match roles(gateway, &channel, &place, &person.id).await {
            Ok(roles) => person.roles.extend(roles),
            Err(_) => lookup = RoleLookup::Unanswered,
        }
    }
    Ok(lookup)
}

fn decides(what: &IncomingContent) -> bool {
    match what {
        IncomingContent::Press { .. } => true,
        IncomingContent::Text { text, addressed, .. } => *addressed && commands::decides(text),
        _ => false,
    }
}

/// Runs the same check for an approval that is identified by its id.
pub async fn recount_of(gateway: &Gateway, id: &str) -> Result<RoleLookup> {
    let id = id.to_owned();
    let asked =
        gateway.store.read(move |tx| Box::pin(async move { approval_store::by_id(tx, &id).await }));
    match asked.await? {
        Some(approval) => recount(gateway, &approval).await,
        None => Ok(RoleLookup::Done),
    }
}

/// Discards the votes of people who may no longer decide.
async fn recount(gateway: &Gateway, approval: &Approval) -> Result<RoleLookup> {
    if approval.approvers.needed < 2 {
        return Ok(RoleLookup::Done);
    }
    let id = approval.id.clone();
    let cast = gateway.store.read(move |tx| Box::pin(async move { votes::of(tx, &id).await }));
    for (channel, speaker) in cast.await? {
        match counts(gateway, approval, &channel, &speaker).await? {
            Some(true) => continue,
            Some(false) => {}
            None => return Ok(RoleLookup::Unanswered),
        }
        tracing::warn!(
            approval.id = %approval.id, person.id = speaker.id,
            "vote discarded: the voter may no longer decide"
        );
        let (approval, now) = (approval.clone(), gateway.clock.now());
        let discarded = gateway.store.write("discard votes", move |tx| {
            Box::pin(async move { discard(tx, &approval, &channel, &speaker, now).await })
        });
        discarded.await?;
    }
    Ok(RoleLookup::Done)
}

/// Whether this vote would be accepted if it were cast now. Votes that did not come through a
/// platform were authenticated by their own endpoint, and so were those of people whose role
/// depends on their sign-in with an OpenID provider. `None` if the platform does not say.
async fn counts(
    gateway: &Gateway,
    approval: &Approval,
    channel: &str,
    speaker: &Speaker,
) -> Result<Option<bool>> {
    let Some(connected) = gateway.channels.get(channel) else { return Ok(Some(true)) };
    if people::has_signed_in_with_oidc(&speaker.id) {
        return Ok(Some(true));
    }
    let (_, home, place) = asked_in(gateway, approval).await?;
    // Roles of the platform can be named by the policy, or give the role that the policy names.
    let roles = if home == channel {
        match roles(gateway, channel, &place, &speaker.id).await {
            Ok(roles) => roles,
            Err(_) => return Ok(None),
        }
    } else {
        Vec::new()
    };
    let person = people::known_by(&speaker.id, roles);
    let (access, asked) =
        (ChannelAccess::new(channel, &connected.allow, &connected.settings), approval.clone());
    let counts = gateway.store.read(move |tx| {
        Box::pin(async move {
            let voter = voter(tx, &access, person).await?;
            let talks = voter.role.is_some_and(|role| role >= Role::Member);
            let eligibility = persons::eligibility(tx, &asked, &Choice::Once, &voter).await?;
            Ok(talks && eligibility == VoteEligibility::Counts)
        })
    });
    counts.await.map(Some)
}

/// Deletes the vote, unless the approval was decided in the meantime.
async fn discard(
    tx: &mut Tx<'_>,
    asked: &Approval,
    channel: &str,
    speaker: &Speaker,
    now: DateTime<Utc>,
) -> Result<()> {
    let Some(asked) = pending(tx, &asked.conversation, &asked.id).await? else { return Ok(()) };
    votes::discard(tx, &asked.id, channel, &speaker.id).await?;
    let fact = Fact::about(AuditKind::VoteDiscarded, &asked, &speaker.id).with("channel", channel);
    audit::append(tx, asked.conversation.as_str(), vec![fact], now).await?;
    let names = votes::names(tx, &asked.id).await?;
    show_votes(tx, &asked, &names, now).await.map(drop)
}

/// The people, by the platform's roles, to whom the approval that this row belongs to may be shown
/// in private.
pub(super) async fn elsewhere(gateway: &Gateway, row: &OutboxId) -> Result<PlatformRoles> {
    let row = row.clone();
    let maps_roles = |(id, connected): (&String, &Connected)| {
        (!connected.settings.roles.is_empty()).then(|| id.clone())
    };
    let mapping: BTreeSet<String> = gateway.channels.iter().filter_map(maps_roles).collect();
    let known = gateway.store.read(move |tx| {
        Box::pin(async move {
            let (Some(part_of), _) = display::approval_and_edited_row(tx, &row).await? else {
                return Ok(None);
            };
            let approval = approval_store::by_id(tx, part_of.as_str()).await?;
            let Some(approval) = approval else { return Ok(None) };
            let home = tasks::home(tx, &approval.conversation).await?;
            let (channel, place) = places::place(tx, &home).await?;
            if !approval.approvers.ask_the_platform(mapping.contains(&channel)) {
                return Ok(None);
            }
            let people = places::known_people(tx, &channel, MAX_PEOPLE).await?;
            Ok(Some((channel, place, people)))
        })
    });
    let Some((channel, place, people)) = known.await? else { return Ok(PlatformRoles::new()) };
    let mut roles_by_person = PlatformRoles::new();
    for person in people {
        let roles = roles(gateway, &channel, &place, &person).await.unwrap_or_default();
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

async fn roles(
    gateway: &Gateway,
    channel: &str,
    place: &Place,
    person: &str,
) -> Result<Vec<String>, SendError> {
    let Some(connected) = gateway.channels.get(channel) else { return Ok(Vec::new()) };
    let roles = connected.channel.roles(place, person).await;
    roles.inspect_err(|problem| {
        tracing::warn!(channel.id = channel, person.id = person, %problem, "roles are unknown");
    })
}
