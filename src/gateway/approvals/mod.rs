//! Decides approvals: the only code path for buttons, typed commands, the web and timeouts.
//!
//! The voter is checked first, then one conditional update decides. The event that the agent reads
//! and the final form of the approval message are committed in the same transaction.
//!
//! - [`voting`]: votes that are counted, shown and withdrawn
//! - [`choice`]: the choice that a person made
//! - [`by_id`]: decisions by the approval's id, for callers that are signed in or have a token
//! - [`grant_management`]: grants, shown before they are given
//! - [`relocation`]: approvals that cannot be shown where they were requested
//! - [`persons`]: which accounts belong to one person
//! - [`elicitation`]: answers to elicitations of a running call
//! - [`reply`]: what a person who decided is told
//! - [`platform_roles`]: roles that only the platform knows
//! - [`everything`]: the file with all arguments of an approval
//! - [`edits`]: edited requests, which supersede their approvals
//! - [`expiry`]: approvals that nobody decided in time
//! - [`halt`]: stops all tools

pub mod by_id;
mod choice;
pub mod edits;
pub mod elicitation;
mod everything;
mod expiry;
pub mod grant_management;
pub mod halt;
mod persons;
pub mod platform_roles;
pub mod relocation;
mod reply;
mod voting;

use anyhow::Result;
use channels::{Button, Outgoing, Person, Place};
use chrono::{DateTime, Utc};

use super::secret;
use crate::{
    agent::approvers::{RoleLookups, Voter},
    gateway::people::ChannelAccess,
    journal::{
        event::{ApprovalPurpose, Decider, Decision, Event, Speaker, Status},
        grant::Grant,
        ids::{ApprovalId, ConversationId},
    },
    store::{
        Tx,
        approvals::{self as approval_store, attachments, display, grants, request::Approval},
        audit::{self, AuditKind, Fact},
        conversations::{self, journal, places},
        outbox,
    },
    texts::{self, Language},
};
use choice::code_suffix;
pub use choice::{Choice, DecisionCommand, GrantBounds, code};
pub use expiry::sweep;
use persons::VoteEligibility;
use reply::not_yours;
pub use reply::{DecisionOutcome, DecisionReply};
use voting::{VoteResult, withdraw};

/// Creates the token that precedes the choice's key in the buttons of an approval: version, kind
/// and secret.
pub fn new_token() -> String {
    format!("1a{}", secret())
}

/// A button press.
pub struct ButtonPress<'a> {
    pub channel: &'a str,
    pub place: &'a Place,
    pub message: &'a str,
    pub data: &'a str,
    /// The reason, where the platform asked for one.
    pub reason: Option<&'a str>,
}

/// A person with these roles on the platform, as a voter on approvals.
async fn voter(tx: &mut Tx<'_>, access: &ChannelAccess, person: Person) -> Result<Voter> {
    Ok(Voter {
        channel: access.channel().to_owned(),
        role: access.role(tx, &person).await?,
        speaker: Speaker { id: person.id, name: person.name },
        platform_roles: person.roles,
        lookups: RoleLookups::new(),
        language: Language::default(),
    })
}

/// Decides by a button press. The returned text is shown to this person only and reflects the
/// actual state of the approval.
pub async fn press(
    tx: &mut Tx<'_>,
    press: ButtonPress<'_>,
    voter: &Voter,
    now: DateTime<Utc>,
) -> Result<String> {
    let invalid = || Ok(voter.words().no_such_button.to_owned());
    let Some((at, key)) = press.data.char_indices().next_back() else { return invalid() };
    let Some(approval) = approval_store::by_token(tx, &press.data[..at]).await? else {
        return invalid();
    };
    let here = places::is_current_place(tx, &approval.shown_in, press.channel, press.place).await?;
    let shown = outbox::receipt(tx, &approval.message).await?;
    let same_message = shown.is_none_or(|receipt| receipt.message == press.message);
    if !here || !same_message {
        return invalid();
    }
    answer(
        tx,
        &approval,
        ReasonedButton { button: Button::from_key(key), reason: press.reason },
        voter,
        now,
    )
    .await
}

/// A pressed button, and the reason that was given with it.
#[derive(Debug, Clone, Copy)]
struct ReasonedButton<'a> {
    /// `None` for an unknown key.
    button: Option<Button>,
    reason: Option<&'a str>,
}

/// Carries out the choice of the pressed button.
async fn answer(
    tx: &mut Tx<'_>,
    approval: &Approval,
    ReasonedButton { button, reason }: ReasonedButton<'_>,
    voter: &Voter,
    now: DateTime<Utc>,
) -> Result<String> {
    let invalid = || Ok(voter.words().no_such_button.to_owned());
    let Some(button) = button else { return invalid() };
    let offers = |button| approval.offers.buttons.contains(&button);
    match button {
        Button::ShowEverything if approval.status == Status::Pending && offers(button) => {
            everything::show(tx, approval, voter, now).await
        }
        Button::RevokeGrant => grant_management::revoke_pressed(tx, approval, voter, now).await,
        // A grant has to be shown before it can be given.
        Button::GiveGrant
            if offers(Button::ProposeGrant)
                && !attachments::is_proposed(tx, &approval.id).await? =>
        {
            invalid()
        }
        Button::Option(position) => elicitation::pressed(tx, approval, position, voter, now).await,
        _ => match Choice::from_button(approval.asks, button, reason) {
            Some(choice) => Ok(decide(tx, approval, choice, voter, now).await?.text),
            None => invalid(),
        },
    }
}

/// Decides an approval if this person may decide it and nobody has yet. Returns what to tell them.
pub async fn decide(
    tx: &mut Tx<'_>,
    asked: &Approval,
    choice: Choice,
    voter: &Voter,
    now: DateTime<Utc>,
) -> Result<DecisionReply> {
    let voter = &voter.on(&asked.id);
    let eligibility = persons::eligibility(tx, asked, &choice, voter).await?;
    if eligibility != VoteEligibility::Counts {
        if voter.has_unknown_roles(&asked.id) {
            return Ok(DecisionReply::roles_unknown(voter));
        }
        reject_vote(tx, asked, voter, now).await?;
        return Ok(DecisionReply::new(
            DecisionOutcome::Refused,
            not_yours(&asked.approvers, eligibility, voter),
        ));
    }
    // Lock the conversation's row first, as all other code does, so that transactions cannot
    // deadlock.
    journal::lock(tx, &asked.conversation).await?;
    let Some(approval) = approval_store::by_id(tx, asked.id.as_str()).await? else {
        return Ok(DecisionReply::new(DecisionOutcome::Late, voter.words().no_such_button));
    };
    if approval.status != Status::Pending {
        let by = approval.decided_by.as_deref();
        return Ok(DecisionReply::new(
            DecisionOutcome::Late,
            voter.words().already_decided(approval.status, by),
        ));
    }
    if approval.expires_at <= now {
        expire(tx, &approval, now).await?;
        return Ok(DecisionReply::new(
            DecisionOutcome::Late,
            voter.words().decided(Status::Expired),
        ));
    }
    if !choice.is_offered(&approval) {
        return Ok(DecisionReply::not_offered(approval.asks, voter));
    }
    let text = match choice {
        Choice::Propose => grant_management::propose(tx, &approval, voter, now).await?,
        Choice::Back => grant_management::back(tx, &approval, voter, now).await?,
        Choice::Deny { .. } => {
            let name = name(tx, &approval, voter).await?;
            let end = ApprovalEnd::by(voter, Status::Denied, choice.decision(), name);
            resolve(tx, &approval, end, now).await?;
            voter.words().decided(Status::Denied).to_owned()
        }
        Choice::Withdraw => return withdraw(tx, &approval, voter, now).await,
        Choice::Once | Choice::Conversation | Choice::Give(_) | Choice::Answer(_) => {
            return allow(tx, &approval, choice, voter, now).await;
        }
    };
    Ok(DecisionReply::new(DecisionOutcome::Done, text))
}

/// Records that this person may not decide. The refusal is shown to them only.
async fn reject_vote(
    tx: &mut Tx<'_>,
    approval: &Approval,
    voter: &Voter,
    now: DateTime<Utc>,
) -> Result<()> {
    tracing::warn!(approval.id = %approval.id, person.id = voter.speaker.id, "vote rejected");
    journal::lock(tx, &approval.conversation).await?;
    let fact = Fact::about(AuditKind::VoteRejected, approval, &voter.speaker.id)
        .with("channel", voter.channel.as_str());
    audit::append(tx, approval.conversation.as_str(), vec![fact], now).await
}

/// Allows the call, or adds a vote if more people have to agree.
async fn allow(
    tx: &mut Tx<'_>,
    approval: &Approval,
    choice: Choice,
    voter: &Voter,
    now: DateTime<Utc>,
) -> Result<DecisionReply> {
    if grants::halted_by(tx).await?.is_some() {
        return Ok(DecisionReply::new(
            DecisionOutcome::NotNow,
            voter.words().grant_texts.all_halted,
        ));
    }
    let mut name = name(tx, approval, voter).await?;
    if approval.approvers.needed > 1 {
        match voting::vote(tx, approval, voter, now).await? {
            VoteResult::Enough(names) => name = texts::all_of(&names),
            VoteResult::Waits(reply) => return Ok(reply),
        }
    }
    let mut grant = None;
    if let Choice::Give(terms) = choice {
        if let Some(refusal) = grant_management::refused(tx, approval, terms, voter).await? {
            reject_vote(tx, approval, voter, now).await?;
            return Ok(DecisionReply::new(DecisionOutcome::Refused, refusal));
        }
        grant = grant_management::proposed(tx, approval, terms, voter, now).await?;
    }
    let end = ApprovalEnd::by(voter, Status::Allowed, choice.decision(), name);
    let end = ApprovalEnd { grant, ..end };
    resolve(tx, approval, end, now).await?;
    let words = voter.words();
    let answers = approval.asks == ApprovalPurpose::Answer;
    let text = if answers { words.elicitation.answer_sent } else { words.decided(Status::Allowed) };
    Ok(DecisionReply::new(DecisionOutcome::Done, text))
}

/// The voter's name, with the channel if they decided from another one.
async fn name(tx: &mut Tx<'_>, approval: &Approval, voter: &Voter) -> Result<String> {
    let (channel, _) = places::place(tx, &approval.shown_in).await?;
    Ok(if channel == voter.channel {
        voter.speaker.name.clone()
    } else {
        let words = conversations::words(tx, &approval.shown_in).await?;
        (words.grant_texts.from_elsewhere)(&voter.speaker.name, &voter.channel)
    })
}

/// The final state of an approval.
struct ApprovalEnd {
    status: Status,
    decision: Decision,
    by: Decider,
    /// The name that is shown.
    name: String,
    /// The channel of the person who decided.
    channel: String,
    /// The grant that is given with the decision.
    grant: Option<Grant>,
}

impl ApprovalEnd {
    fn new(status: Status, decision: Decision, by: Decider) -> Self {
        let name = match &by {
            Decider::Person(person) => person.name.clone(),
            Decider::Timeout | Decider::Undeliverable => String::new(),
        };
        Self { status, decision, by, name, channel: String::new(), grant: None }
    }

    fn by(voter: &Voter, status: Status, decision: Decision, name: String) -> Self {
        let by = Decider::Person(voter.speaker.clone());
        let channel = voter.channel.clone();
        Self { name, channel, ..Self::new(status, decision, by) }
    }
}

/// The approval as it is now, if nobody has decided it. Locks its conversation.
async fn pending(
    tx: &mut Tx<'_>,
    conversation: &ConversationId,
    id: &ApprovalId,
) -> Result<Option<Approval>> {
    journal::lock(tx, conversation).await?;
    let approval = approval_store::by_id(tx, id.as_str()).await?;
    Ok(approval.filter(|approval| approval.status == Status::Pending))
}

/// Nobody decided in time, which counts as a denial.
async fn expire(tx: &mut Tx<'_>, approval: &Approval, now: DateTime<Utc>) -> Result<bool> {
    let end = ApprovalEnd::new(Status::Expired, Decision::Deny { reason: None }, Decider::Timeout);
    resolve(tx, approval, end, now).await
}

/// Commits the update, the event, the grant and the final form of the message together, exactly
/// once. The caller has locked the conversation.
async fn resolve(
    tx: &mut Tx<'_>,
    approval: &Approval,
    end: ApprovalEnd,
    now: DateTime<Utc>,
) -> Result<bool> {
    let ApprovalEnd { status, decision, by, name, channel, grant } = end;
    let first = approval_store::resolve(tx, &approval.id, status, &name, now).await?;
    if !first {
        return Ok(false);
    }
    let mut facts = vec![Fact::decided(approval, status, &decision, &by)];
    facts.extend(
        grant
            .iter()
            .map(|grant| Fact::grant_changed(AuditKind::Granted, grant, &grant.given_by.id)),
    );
    if !channel.is_empty() {
        facts = facts.into_iter().map(|fact| fact.with("channel", channel.as_str())).collect();
    }
    audit::append(tx, approval.conversation.as_str(), facts, now).await?;
    let words = conversations::words(tx, &approval.shown_in).await?;
    let mut markdown = match &decision {
        Decision::Answer { text } => words.answered(&approval.title, &name, text),
        _ => words.settled(status, &approval.title, &name),
    };
    let (id, call) = (approval.id.clone(), approval.call.clone());
    let event = Event::ApprovalDecided { approval: id, call, decision, by };
    journal::append(tx, &approval.conversation, &event, now).await?;
    let (mut id, mut choices) = (None, Vec::new());
    if let Some(grant) = grant {
        grants::give(tx, &grant, &approval.id, now).await?;
        markdown = words.settled_for_longer(&markdown, &grant);
        (id, choices) = (Some(approval.id.to_string()), words.revoking());
    }
    let what = Outgoing::Settled { markdown, approval: id, choices };
    display::redraw(tx, approval, what, now).await?;
    Ok(true)
}
