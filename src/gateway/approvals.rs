//! The one door through which a question is decided: buttons, typed commands, the web, the time.
//!
//! Whoever comes through it is checked, then one conditional update decides; with it commit the
//! event that the agent reads and the question's final form.

use anyhow::Result;
use channels::{Outgoing, Place};
use chrono::{DateTime, Utc};

use super::{Gateway, secret};
use crate::{
    agent::approvers::{Approvers, Voter},
    journal::{
        event::{Asks, Decider, Decision, Event, Speaker, Status},
        ids::ApprovalId,
    },
    store::{
        Tx,
        approvals::{self as questions, Approval},
        audit::{self, Fact},
        files, journal, outbox,
    },
    texts,
};

/// What a person chose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Choice {
    Once,
    Conversation,
    Deny { reason: Option<String> },
}

impl Choice {
    /// What a button's key means for a question of that kind.
    pub fn from_key(asks: Asks, key: char) -> Option<Self> {
        match (asks, key) {
            (Asks::Allow, 'a') | (Asks::Retry, 'r') => Some(Self::Once),
            (Asks::Allow, 'c') => Some(Self::Conversation),
            (Asks::Allow, 'd') | (Asks::Retry, 's') => Some(Self::Deny { reason: None }),
            _ => None,
        }
    }

    /// `/allow [code]`, `/always [code]`, `/deny [code] [reason]`: the choice and the code.
    pub fn from_command(command: &str, rest: &str) -> (Self, String) {
        let (word, more) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        let is_code = word.len() == CODE && word.bytes().all(|b| b.is_ascii_hexdigit());
        let (code, reason) = if is_code { (word, more) } else { ("", rest) };
        let reason = Some(reason.trim().to_owned()).filter(|r| !r.is_empty());
        let choice = match command {
            "allow" => Self::Once,
            "always" => Self::Conversation,
            _ => Self::Deny { reason },
        };
        (choice, code.to_lowercase())
    }
}

const CODE: usize = 8;

/// What a person types to name a question: the end of its id, where ids of one second differ.
pub fn code(id: &ApprovalId) -> String {
    id.as_str()[id.as_str().len().saturating_sub(CODE)..].to_owned()
}

/// What goes in front of the choice's key in the buttons of a question: version, kind, secret.
pub fn new_token() -> String {
    format!("1a{}", secret())
}

/// A button that somebody pressed.
pub struct Press<'a> {
    pub channel: &'a str,
    pub place: &'a Place,
    pub message: &'a str,
    pub data: &'a str,
}

/// Decides by a press. The answer is for the presser alone, and says the true state.
pub async fn press(
    tx: &mut Tx<'_>,
    approvers: &Approvers,
    press: Press<'_>,
    by: &Speaker,
    now: DateTime<Utc>,
) -> Result<String> {
    let invalid = || Ok(texts::NO_SUCH_BUTTON.to_owned());
    let Some((at, key)) = press.data.char_indices().next_back() else { return invalid() };
    let Some(approval) = questions::by_token(tx, &press.data[..at]).await? else {
        return invalid();
    };
    let here = journal::find_conversation(tx, press.channel, press.place).await?;
    let shown = outbox::receipt(tx, &approval.question).await?;
    let same_message = shown.is_none_or(|receipt| receipt.message == press.message);
    if here.as_ref() != Some(&approval.conversation) || !same_message {
        return invalid();
    }
    answer(tx, approvers, &approval, (key, by), now).await
}

/// What the button of that key does.
async fn answer(
    tx: &mut Tx<'_>,
    approvers: &Approvers,
    approval: &Approval,
    (key, by): (char, &Speaker),
    now: DateTime<Utc>,
) -> Result<String> {
    if key == 'e' && approval.status == Status::Pending {
        return show_everything(tx, approval, now).await;
    }
    match Choice::from_key(approval.asks, key) {
        Some(choice) => decide(tx, approvers, approval, (choice, by), now).await,
        None => Ok(texts::NO_SUCH_BUTTON.to_owned()),
    }
}

/// Sends the arguments as a file, whose bytes were stored when the question was asked.
async fn show_everything(
    tx: &mut Tx<'_>,
    approval: &Approval,
    now: DateTime<Utc>,
) -> Result<String> {
    let whole = texts::everything(&approval.arguments);
    let file = Outgoing::File {
        name: texts::EVERYTHING_NAME.to_owned(),
        media_type: "application/json".to_owned(),
        size_bytes: whole.len() as u64,
        digest: files::digest_of(whole.as_bytes()),
        caption: None,
        reply_to: None,
    };
    let seq = journal::last_seq(tx, &approval.conversation).await?;
    outbox::put(tx, &approval.conversation, seq, vec![file], now).await?;
    Ok(texts::EVERYTHING_SENT.to_owned())
}

/// Decides, if that person may and nobody has: what to tell them.
pub async fn decide(
    tx: &mut Tx<'_>,
    approvers: &Approvers,
    approval: &Approval,
    (choice, by): (Choice, &Speaker),
    now: DateTime<Utc>,
) -> Result<String> {
    let voter = Voter {
        speaker: by.clone(),
        channel: String::new(),
        role: None,
        platform_roles: Vec::new(),
    };
    if !approvers.admit(&voter, &approval.requester.id) {
        tracing::warn!(approval.id = %approval.id, person.id = by.id, "may not decide");
        return Ok(texts::NOT_YOURS.to_owned());
    }
    if approval.status == Status::Pending && approval.expires_at <= now {
        expire(tx, approval, now).await?;
        return Ok(texts::decided(Status::Expired).to_owned());
    }
    let (status, decision) = match choice {
        Choice::Conversation if approval.asks == Asks::Allow => {
            (Status::Allowed, Decision::Conversation)
        }
        Choice::Once | Choice::Conversation => (Status::Allowed, Decision::Once),
        Choice::Deny { reason } => (Status::Denied, Decision::Deny { reason }),
    };
    let decided = (decision, Decider::Person(by.clone()));
    if settle(tx, approval, status, decided, now).await? {
        return Ok(texts::decided(status).to_owned());
    }
    let now_stands = questions::by_id(tx, approval.id.as_str()).await?;
    let (status, by) = now_stands.map_or((Status::Withdrawn, None), |a| (a.status, a.decided_by));
    Ok(texts::already_decided(status, by.as_deref()))
}

/// Nobody has decided in time: that is a no.
async fn expire(tx: &mut Tx<'_>, approval: &Approval, now: DateTime<Utc>) -> Result<bool> {
    let decided = (Decision::Deny { reason: None }, Decider::Timeout);
    settle(tx, approval, Status::Expired, decided, now).await
}

/// The update, the event and the question's final form: together, once.
async fn settle(
    tx: &mut Tx<'_>,
    approval: &Approval,
    status: Status,
    (decision, by): (Decision, Decider),
    now: DateTime<Utc>,
) -> Result<bool> {
    let name = match &by {
        Decider::Person(person) => person.name.clone(),
        Decider::Timeout | Decider::Undeliverable => String::new(),
    };
    // The conversation's row first, as everywhere: two transactions never wait for each other.
    journal::lock(tx, &approval.conversation).await?;
    if !questions::settle(tx, &approval.id, status, &name, now).await? {
        return Ok(false);
    }
    let fact = Fact::decided(approval, status, &decision, &by);
    audit::append(tx, approval.conversation.as_str(), vec![fact], now).await?;
    let event = Event::ApprovalDecided {
        approval: approval.id.clone(),
        call: approval.call.clone(),
        decision,
        by,
    };
    let seq = journal::append(tx, &approval.conversation, &event, now).await?;
    let text = texts::settled(status, &approval.title, &name);
    questions::show_settled(tx, approval, seq, text, now).await?;
    Ok(true)
}

/// Decides a question of that place by its id, for somebody who is signed in: the web chat.
pub async fn decide_by_id(
    gateway: &Gateway,
    (channel, place): (&str, &Place),
    (approval, key): (&str, char),
    by: Speaker,
) -> Result<String> {
    let (channel, place, id) = (channel.to_owned(), place.clone(), approval.to_owned());
    let (approvers, now) = (gateway.approvers.clone(), gateway.clock.now());
    gateway
        .store
        .write("decide", move |tx| {
            Box::pin(async move {
                let here = journal::find_conversation(tx, &channel, &place).await?;
                let found = questions::by_id(tx, &id).await?;
                let Some(approval) = found.filter(|a| here.as_ref() == Some(&a.conversation))
                else {
                    return Ok(texts::NO_SUCH_BUTTON.to_owned());
                };
                answer(tx, &approvers, &approval, (key, &by), now).await
            })
        })
        .await
}

/// Expires what is due, each for itself. How many that was.
pub async fn sweep(gateway: &Gateway) -> Result<usize> {
    let now = gateway.clock.now();
    let due = gateway
        .store
        .read(move |tx| Box::pin(async move { questions::due(tx, now, 100).await }))
        .await?;
    let count = due.len();
    for approval in due {
        gateway
            .store
            .write("expire", move |tx| {
                Box::pin(async move { expire(tx, &approval, now).await.map(drop) })
            })
            .await?;
    }
    Ok(count)
}

/// The platform will never show the question: it counts as denied, and nothing hangs.
pub async fn undeliverable(gateway: &Gateway, approval: String) -> Result<()> {
    let now = gateway.clock.now();
    gateway
        .store
        .write("undeliverable", move |tx| {
            Box::pin(async move {
                if let Some(approval) = questions::by_id(tx, &approval).await? {
                    let decided = (Decision::Deny { reason: None }, Decider::Undeliverable);
                    settle(tx, &approval, Status::Expired, decided, now).await?;
                }
                Ok(())
            })
        })
        .await
}
