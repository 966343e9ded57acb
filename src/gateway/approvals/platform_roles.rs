//! Roles that only the platform knows, looked up before a decision: who administers a chat, and
//! whether earlier voters still have their role. The lookup cannot be done inside a transaction.

use anyhow::Result;
use channels::{Incoming, IncomingContent, Person, Place};
use chrono::{DateTime, Utc};
use futures::future::join_all;
use std::{collections::BTreeMap, time::Duration};
use tokio::time::timeout;

use super::{
    Choice, pending,
    persons::{self, VoteEligibility},
    show_votes, voter,
};
use crate::{
    agent::approvers::{RoleLookup, RoleLookups},
    gateway::{
        Connected, Gateway, commands,
        people::{self, ChannelAccess},
    },
    journal::{
        event::{Speaker, Status},
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

/// How long a lookup may take.
const WITHIN: Duration = Duration::from_secs(2);

/// Looks up roles for a batch of updates, or for one decision. A platform that has not answered is
/// not asked again, so that it delays the batch only once.
pub struct RoleSource<'a> {
    gateway: &'a Gateway,
    is_silent: bool,
}

/// The place where an approval was requested.
struct Home {
    conversation: ConversationId,
    channel: String,
    place: Place,
}

impl<'a> RoleSource<'a> {
    pub fn new(gateway: &'a Gateway) -> Self {
        Self { gateway, is_silent: false }
    }

    /// Runs before a press or a command counts. Discards the votes of people who have lost the right
    /// to decide, and looks up the voter's roles in the original chat if the approval was moved to a
    /// private one.
    pub async fn before(&mut self, channel: &str, incoming: &Incoming) -> Result<RoleLookups> {
        let mut lookups = RoleLookups::new();
        let Some(person) = &incoming.person else { return Ok(lookups) };
        for approval in self.decided_by(channel, incoming).await? {
            let found = self.of_voter(&approval, person).await?;
            lookups.extend(found.map(|found| (approval.id, found)));
        }
        Ok(lookups)
    }

    /// The approvals that the update may decide.
    async fn decided_by(&self, channel: &str, incoming: &Incoming) -> Result<Vec<Approval>> {
        let (channel, chat) = (channel.to_owned(), incoming.place.chat.clone());
        match &incoming.what {
            IncomingContent::Press { data, .. } => {
                let Some((at, _)) = data.char_indices().next_back() else { return Ok(vec![]) };
                let token = data[..at].to_owned();
                let pressed = self.gateway.store.read(move |tx| {
                    Box::pin(async move { approval_store::by_token(tx, &token).await })
                });
                let is_open = |approval: &Approval| approval.status == Status::Pending;
                Ok(pressed.await?.filter(is_open).into_iter().collect())
            }
            IncomingContent::Text { text, addressed: true, .. } if commands::decides(text) => {
                let open = self.gateway.store.read(move |tx| {
                    Box::pin(async move {
                        let mut open = Vec::new();
                        for known in places::of_chat(tx, &channel, &chat).await? {
                            open.extend(approval_store::shown_in(tx, &known).await?);
                        }
                        Ok(open)
                    })
                });
                open.await
            }
            _ => Ok(vec![]),
        }
    }

    /// Runs the same check for an approval that is identified by its id.
    pub async fn recount_of(&mut self, id: &str) -> Result<RoleLookups> {
        let id = id.to_owned();
        let asked = self
            .gateway
            .store
            .read(move |tx| Box::pin(async move { approval_store::by_id(tx, &id).await }));
        let Some(approval) = asked.await? else { return Ok(RoleLookups::new()) };
        let found = self.recount(&approval).await?;
        Ok(found.map(|found| (approval.id, found)).into_iter().collect())
    }

    async fn of_voter(
        &mut self,
        approval: &Approval,
        person: &Person,
    ) -> Result<Option<RoleLookup>> {
        let unanswered = self.recount(approval).await?;
        if unanswered.is_some() {
            return Ok(unanswered);
        }
        let home = self.home(approval).await?;
        let access = ChannelAccess::to(self.gateway, &home.channel);
        let Some(access) = access.filter(|_| approval.shown_in != home.conversation) else {
            return Ok(None);
        };
        if !approval.approvers.ask_the_platform(access.maps_roles()) {
            return Ok(None);
        }
        let Some(platform_roles) = self.roles(&home.channel, &home.place, &person.id).await else {
            return Ok(Some(RoleLookup::Unanswered));
        };
        let there = people::known_by(&person.id, platform_roles.clone());
        let role = self
            .gateway
            .store
            .read(move |tx| Box::pin(async move { access.role(tx, &there).await }));
        Ok(Some(RoleLookup::Voter { platform_roles, role: role.await? }))
    }

    /// Discards the votes of people who may no longer decide. Returns whether the platform did not
    /// report their roles.
    async fn recount(&mut self, approval: &Approval) -> Result<Option<RoleLookup>> {
        if approval.approvers.needed < 2 {
            return Ok(None);
        }
        let (gateway, id) = (self.gateway, approval.id.clone());
        let cast = gateway.store.read(move |tx| Box::pin(async move { votes::of(tx, &id).await }));
        for (channel, speaker) in cast.await? {
            match self.counts(approval, &channel, &speaker).await? {
                Some(true) => continue,
                Some(false) => {}
                None => return Ok(Some(RoleLookup::Unanswered)),
            }
            let (approval, now) = (approval.clone(), gateway.clock.now());
            let discarded = gateway.store.write("discard votes", move |tx| {
                Box::pin(async move { discard(tx, &approval, &channel, &speaker, now).await })
            });
            discarded.await?;
        }
        Ok(None)
    }

    /// Whether this vote would be accepted if it were cast now. Votes that did not come through a
    /// platform were authenticated by their own endpoint, and so were those of people whose role
    /// depends on their sign-in with an OpenID provider. `None` if the platform did not report the
    /// roles.
    async fn counts(
        &mut self,
        approval: &Approval,
        channel: &str,
        speaker: &Speaker,
    ) -> Result<Option<bool>> {
        let Some(access) = ChannelAccess::to(self.gateway, channel) else { return Ok(Some(true)) };
        if people::has_signed_in_with_oidc(&speaker.id) {
            return Ok(Some(true));
        }
        let home = self.home(approval).await?;
        // Roles of the platform can be named by the policy, or give the role that the policy names,
        // or access to the bot.
        let matter = approval.approvers.ask_the_platform(false) || access.maps_roles();
        let roles = if home.channel == channel && matter {
            match self.roles(channel, &home.place, &speaker.id).await {
                Some(roles) => roles,
                None => return Ok(None),
            }
        } else {
            Vec::new()
        };
        let (person, asked) = (people::known_by(&speaker.id, roles), approval.clone());
        let counts = self.gateway.store.read(move |tx| {
            Box::pin(async move {
                let voter = voter(tx, &access, person).await?;
                let talks = voter.role.is_some_and(|role| role >= Role::Member);
                let eligibility = persons::eligibility(tx, &asked, &Choice::Once, &voter).await?;
                Ok(talks && eligibility == VoteEligibility::Counts)
            })
        });
        counts.await.map(Some)
    }

    async fn home(&self, approval: &Approval) -> Result<Home> {
        let conversation = approval.conversation.clone();
        let found = self.gateway.store.read(move |tx| {
            Box::pin(async move {
                let conversation = tasks::home(tx, &conversation).await?;
                let (channel, place) = places::place(tx, &conversation).await?;
                Ok(Home { conversation, channel, place })
            })
        });
        found.await
    }

    /// A person's roles; `None` if the platform does not answer.
    async fn roles(&mut self, channel: &str, place: &Place, person: &str) -> Option<Vec<String>> {
        if self.is_silent {
            return None;
        }
        let roles = roles(self.gateway, channel, place, person).await;
        self.is_silent = roles.is_none();
        roles
    }
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
    if !votes::discard(tx, &asked.id, channel, &speaker.id).await? {
        return Ok(());
    }
    tracing::warn!(
        approval.id = %asked.id, person.id = speaker.id,
        "vote discarded: the voter may no longer decide"
    );
    let fact = Fact::about(AuditKind::VoteDiscarded, &asked, &speaker.id).with("channel", channel);
    audit::append(tx, asked.conversation.as_str(), vec![fact], now).await?;
    let names = votes::names(tx, &asked.id).await?;
    show_votes(tx, &asked, &names, now).await.map(drop)
}

/// The people, by the platform's roles, to whom the approval that this row belongs to may be shown
/// in private.
pub(super) async fn elsewhere(gateway: &Gateway, row: &OutboxId) -> Result<PlatformRoles> {
    let row = row.clone();
    let maps = |connected: &Connected| !connected.settings.roles.is_empty();
    let maps_roles: BTreeMap<String, bool> =
        gateway.channels.iter().map(|(id, connected)| (id.clone(), maps(connected))).collect();
    let known = gateway.store.read(move |tx| {
        Box::pin(async move {
            let (Some(part_of), _) = display::approval_and_edited_row(tx, &row).await? else {
                return Ok(None);
            };
            let approval = approval_store::by_id(tx, part_of.as_str()).await?;
            let Some(approval) = approval else { return Ok(None) };
            let home = tasks::home(tx, &approval.conversation).await?;
            let (channel, place) = places::place(tx, &home).await?;
            let maps_roles = maps_roles.get(&channel).copied().unwrap_or_default();
            if !approval.approvers.ask_the_platform(maps_roles) {
                return Ok(None);
            }
            let people = places::known_people(tx, &channel, MAX_PEOPLE).await?;
            Ok(Some((channel, place, people)))
        })
    });
    let Some((channel, place, people)) = known.await? else { return Ok(PlatformRoles::new()) };
    let looked_up = people.into_iter().map(|person| async {
        let roles = roles(gateway, &channel, &place, &person).await;
        (person, roles.unwrap_or_default())
    });
    let with_roles = join_all(looked_up).await.into_iter().filter(|(_, roles)| !roles.is_empty());
    Ok(with_roles.collect())
}

/// A person's roles; `None` if the platform does not answer in time.
async fn roles(
    gateway: &Gateway,
    channel: &str,
    place: &Place,
    person: &str,
) -> Option<Vec<String>> {
    let Some(connected) = gateway.channels.get(channel) else { return Some(Vec::new()) };
    let problem = match timeout(WITHIN, connected.channel.roles(place, person)).await {
        Ok(Ok(roles)) => return Some(roles),
        Ok(Err(problem)) => problem.to_string(),
        Err(_) => "the platform did not answer in time".to_owned(),
    };
    tracing::warn!(channel.id = channel, person.id = person, problem, "roles are unknown");
    None
}
