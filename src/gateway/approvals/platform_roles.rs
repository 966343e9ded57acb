//! Roles that only the platform knows, looked up before a decision: who administers a chat, and
//! whether earlier voters still have their role. A lookup cannot be done inside a transaction.
//!
//! Roles only ever give rights. The platform is therefore asked only about a person who may not
//! decide without them.

use anyhow::Result;
use channels::{Incoming, IncomingContent, Person, Place, SendError};
use chrono::{DateTime, Utc};
use futures::future::join_all;
use std::{
    collections::{BTreeMap, HashMap},
    time::{Duration, Instant},
};
use tokio::time::timeout;

use super::{
    Choice,
    persons::{self, VoteEligibility},
    voter,
};
use crate::{
    agent::approvers::{DoubtfulVote, RoleLookup, RoleLookups, VoteDoubt, Voter, VoterRoles},
    gateway::{
        Connected, Gateway, commands,
        people::{self, API, ChannelAccess, WEBHOOK},
    },
    journal::{
        event::Status,
        ids::{ConversationId, OutboxId},
        role::Role,
    },
    store::{
        Tx,
        api::tokens,
        approvals::{
            self as approval_store, display,
            request::Approval,
            votes::{self, CastVote},
        },
        conversations::{places, tasks},
        people::web_sessions,
        webhooks::subscriptions,
    },
    texts::Language,
};

/// Roles by person, as the platform reports them for the chat of an approval.
pub type PlatformRoles = BTreeMap<String, Vec<String>>;

/// The maximum number of people looked up to find one who may decide.
const MAX_PEOPLE: usize = 50;

/// How long the lookups for one batch of updates, or for one decision, may take together.
const WITHIN: Duration = Duration::from_secs(2);

/// Looks up roles for a batch of updates, or for one decision. The batch waits for the platforms for
/// a limited time, and nobody is looked up twice.
pub struct RoleSource<'a> {
    gateway: &'a Gateway,
    left: Duration,
    found: HashMap<LookedUpPerson, Option<Vec<String>>>,
}

/// A person whose roles in a chat were looked up.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct LookedUpPerson {
    channel: String,
    chat: String,
    person: String,
}

/// The place where an approval was requested.
struct Home {
    conversation: ConversationId,
    channel: String,
    place: Place,
}

impl<'a> RoleSource<'a> {
    pub fn new(gateway: &'a Gateway) -> Self {
        Self { gateway, left: WITHIN, found: HashMap::new() }
    }

    /// Runs before a press or a command counts.
    pub async fn before(&mut self, channel: &str, incoming: &Incoming) -> Result<RoleLookups> {
        let mut lookups = RoleLookups::new();
        let Some(person) = &incoming.person else { return Ok(lookups) };
        for approval in self.decided_by(channel, incoming).await? {
            let home = self.home(&approval).await?;
            let doubts = self.doubts(&approval, &home).await?;
            let voter = if home.channel == channel {
                self.of_voter(&approval, &home, person).await?
            } else {
                VoterRoles::Known
            };
            lookups.insert(approval.id, RoleLookup { voter, doubts });
        }
        Ok(lookups)
    }

    /// Runs before a decision on an approval that is identified by its id.
    pub async fn before_deciding(&mut self, id: &str) -> Result<RoleLookups> {
        let id = id.to_owned();
        let asked = self
            .gateway
            .store
            .read(move |tx| Box::pin(async move { approval_store::by_id(tx, &id).await }));
        let Some(approval) = asked.await? else { return Ok(RoleLookups::new()) };
        let home = self.home(&approval).await?;
        let doubts = self.doubts(&approval, &home).await?;
        Ok([(approval.id, RoleLookup { voter: VoterRoles::Known, doubts })].into())
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

    /// The roles in the original chat, if the approval was moved to a private one, or if the
    /// platform has not reported them with the update.
    async fn of_voter(
        &mut self,
        approval: &Approval,
        home: &Home,
        person: &Person,
    ) -> Result<VoterRoles> {
        let is_moved = approval.shown_in != home.conversation;
        let access = ChannelAccess::to(self.gateway, &home.channel);
        let Some(access) = access.filter(|_| is_moved || person.roles_unknown) else {
            return Ok(VoterRoles::Known);
        };
        if !approval.approvers.ask_the_platform(access.maps_roles())
            || self.is_named(approval, &access, person.clone()).await?
        {
            return Ok(VoterRoles::Known);
        }
        let Some(platform_roles) = self.roles(home, &person.id).await else {
            return Ok(VoterRoles::Unknown);
        };
        let there = people::known_by(&person.id, platform_roles.clone());
        let role = self
            .gateway
            .store
            .read(move |tx| Box::pin(async move { access.role(tx, &there).await }));
        Ok(VoterRoles::LookedUp { platform_roles, role: role.await? })
    }

    async fn is_named(
        &self,
        approval: &Approval,
        access: &ChannelAccess,
        person: Person,
    ) -> Result<bool> {
        let (access, asked) = (access.clone(), approval.clone());
        let naming = self.gateway.store.read(move |tx| {
            Box::pin(async move {
                let voter = voter(tx, &access, person).await?;
                persons::naming(tx, &asked, &voter).await
            })
        });
        Ok(naming.await? != VoteEligibility::NotNamed)
    }

    /// The earlier votes that would not be accepted if they were cast now, or may not be.
    async fn doubts(&mut self, approval: &Approval, home: &Home) -> Result<Vec<DoubtfulVote>> {
        let mut doubts = Vec::new();
        if approval.approvers.needed < 2 {
            return Ok(doubts);
        }
        let id = approval.id.clone();
        let cast =
            self.gateway.store.read(move |tx| Box::pin(async move { votes::of(tx, &id).await }));
        for vote in cast.await? {
            if let Some(doubt) = self.doubt(approval, home, &vote).await? {
                let CastVote { channel, person, .. } = vote;
                doubts.push(DoubtfulVote { channel, person, doubt });
            }
        }
        Ok(doubts)
    }

    async fn doubt(
        &mut self,
        approval: &Approval,
        home: &Home,
        vote: &CastVote,
    ) -> Result<Option<VoteDoubt>> {
        if self.counts(approval, vote, Vec::new()).await? {
            return Ok(None);
        }
        // Roles of the platform can be named by the policy, or give the role that the policy names,
        // or access to the bot.
        let access = ChannelAccess::to(self.gateway, &vote.channel);
        let matter = approval.approvers.ask_the_platform(false)
            || access.is_some_and(|access| access.maps_roles());
        if home.channel != vote.channel || !matter {
            return Ok(Some(VoteDoubt::Lost));
        }
        let Some(roles) = self.roles(home, &vote.person).await else {
            return Ok(Some(VoteDoubt::Unknown));
        };
        let counts = self.counts(approval, vote, roles).await?;
        Ok((!counts).then_some(VoteDoubt::Lost))
    }

    /// Whether this vote would be accepted if it were cast now by a person with these roles.
    async fn counts(
        &self,
        approval: &Approval,
        vote: &CastVote,
        roles: Vec<String>,
    ) -> Result<bool> {
        let access = ChannelAccess::to(self.gateway, &vote.channel);
        let (vote, asked, now) = (vote.clone(), approval.clone(), self.gateway.clock.now());
        let counts = self.gateway.store.read(move |tx| {
            Box::pin(async move {
                let Some(access) = access else {
                    return counts_of_program(tx, &asked, &vote, now).await;
                };
                if people::has_signed_in_with_oidc(&vote.person) {
                    // The role depends on claims that only the sign-in knows.
                    return web_sessions::is_signed_in(tx, &vote.person, now).await;
                }
                let person = people::known_by(&vote.person, roles);
                let voter = voter(tx, &access, person).await?;
                may_vote(tx, &asked, &voter).await
            })
        });
        counts.await
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

    /// A person's roles; `None` if the platform does not report them.
    async fn roles(&mut self, home: &Home, person: &str) -> Option<Vec<String>> {
        let key = LookedUpPerson {
            channel: home.channel.clone(),
            chat: home.place.chat.clone(),
            person: person.to_owned(),
        };
        if let Some(found) = self.found.get(&key) {
            return found.clone();
        }
        let began_at = Instant::now();
        let within = self.left;
        let roles = match self.gateway.channels.get(&home.channel) {
            Some(connected) => roles(connected, &home.place, person, within).await,
            None => Some(Vec::new()),
        };
        self.left = self.left.saturating_sub(began_at.elapsed());
        self.found.insert(key, roles.clone());
        roles
    }
}

async fn may_vote(tx: &mut Tx<'_>, asked: &Approval, voter: &Voter) -> Result<bool> {
    let talks = voter.role.is_some_and(|role| role >= Role::Member);
    let eligibility = persons::eligibility(tx, asked, &Choice::Once, voter).await?;
    Ok(talks && eligibility == VoteEligibility::Counts)
}

/// Whether the vote of a program would be accepted: of one with a token, or of a subscriber of
/// webhooks, whose role is known only when it decides. A channel that is not configured has no votes.
async fn counts_of_program(
    tx: &mut Tx<'_>,
    asked: &Approval,
    vote: &CastVote,
    now: DateTime<Utc>,
) -> Result<bool> {
    match (vote.channel.as_str(), vote.person.split_once(':')) {
        (API, Some((_, name))) => {
            let Some(role) = tokens::role_of(tx, name, now).await? else { return Ok(false) };
            let voter = Voter {
                speaker: vote.speaker(),
                channel: vote.channel.clone(),
                role: Some(role),
                platform_roles: Vec::new(),
                lookups: RoleLookups::new(),
                language: Language::default(),
            };
            may_vote(tx, asked, &voter).await
        }
        (WEBHOOK, Some((_, name))) => subscriptions::is_known(tx, name).await,
        _ => Ok(false),
    }
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
    let Some(connected) = gateway.channels.get(&channel) else { return Ok(PlatformRoles::new()) };
    let looked_up = people.into_iter().map(|person| async {
        let roles = roles(connected, &place, &person, WITHIN).await;
        (person, roles.unwrap_or_default())
    });
    let with_roles = join_all(looked_up).await.into_iter().filter(|(_, roles)| !roles.is_empty());
    Ok(with_roles.collect())
}

/// A person's roles; `None` if the platform does not report them in time. A chat that the bot is not
/// in any more gives none.
async fn roles(
    connected: &Connected,
    place: &Place,
    person: &str,
    within: Duration,
) -> Option<Vec<String>> {
    let problem = match timeout(within, connected.channel.roles(place, person)).await {
        Ok(Ok(roles)) => return Some(roles),
        Ok(Err(SendError::Gone(_))) => return Some(Vec::new()),
        Ok(Err(problem)) => problem.to_string(),
        Err(_) => "the platform did not answer in time".to_owned(),
    };
    let channel = connected.channel.id();
    tracing::warn!(channel.id = channel, person.id = person, problem, "roles are unknown");
    None
}
