//! What a channel heard becomes events, before the platform may forget it.

use anyhow::{Result, anyhow};
use channels::{
    Batch, FileRef, Incoming, Outgoing, Person, Place, PlaceKind, What, incoming::Batches,
};
use chrono::TimeDelta;
use futures::FutureExt as _;
use std::{panic::AssertUnwindSafe, sync::Arc};

use super::{
    Gateway, Queue, approvals,
    approvals::{Press, edits::Edit},
    commands,
    ephemeral::Ephemeral,
    intake,
    intake_context::{IntakeContext, TypedMessage, answer, is_platform_command},
    language, people,
};
use crate::{
    agent::approvers::Voter,
    crash,
    journal::{
        event::{Event, Speaker},
        ids::ConversationId,
        role::Role,
        session::Session,
    },
    store::{Tx, conversations, inbox, journal, usage},
    texts::{self, Language},
};

/// Takes a channel's batches, in their order, and tells it which are safe.
pub async fn take_batches(gateway: Arc<Gateway>, channel: String, mut batches: Batches) {
    while let Some((batch, committed)) = batches.recv().await {
        let received = AssertUnwindSafe(receive(&gateway, &channel, batch)).catch_unwind().await;
        match received.unwrap_or_else(|_| Err(anyhow!("receiving panicked"))) {
            // The channel has stopped listening; the platform delivers again, and we know it then.
            Ok(()) => drop(committed.send(())),
            Err(problem) => {
                let problem = format!("{problem:#}");
                tracing::error!(channel.id = channel, problem, "not taken, will come again");
            }
        }
    }
}

/// Stores a batch, then answers what wants a private answer. An update that cannot be stored is set
/// aside and holds no other up; an error means that the database took nothing of what is left.
pub async fn receive(gateway: &Arc<Gateway>, channel: &str, batch: Batch) -> Result<()> {
    let Some(connected) = gateway.channels.get(channel) else {
        anyhow::bail!("no channel is called `{channel}`");
    };
    let desk = IntakeContext {
        channel: channel.to_owned(),
        allow: connected.allow.clone(),
        manners: connected.manners.clone(),
        limits: connected.channel.limits().clone(),
        model: connected.model.clone(),
        models: gateway.models.clone(),
        messages_per_minute: gateway.messages_per_minute,
        owned: gateway.owned(),
        now: gateway.clock.now(),
    };
    intake::store(gateway, desk, batch).await
}

/// An update, and what was read for it before the transaction that stores it.
#[derive(Clone)]
pub(super) struct Prepared {
    pub incoming: Incoming,
    /// The session that an edit is about.
    pub folded: Option<Session>,
}

/// Stores one update; what to say to its sender alone.
pub(super) async fn take(
    tx: &mut Tx<'_>,
    desk: &IntakeContext,
    prepared: &Prepared,
) -> Result<Option<Ephemeral>> {
    let incoming = &prepared.incoming;
    if let What::Unparsed { raw } = &incoming.what {
        tracing::warn!(channel.id = desk.channel, delivery = incoming.key, "kept unparsed");
        inbox::keep_unparsed(tx, &desk.channel, &incoming.key, raw, desk.now).await?;
        return Ok(None);
    }
    if !inbox::first_seen(tx, &desk.channel, &incoming.key, desk.now).await? {
        return Ok(None);
    }
    if let What::Moved { to } = &incoming.what {
        let chats = (incoming.place.chat.as_str(), to.as_str());
        approvals::relocation::chat_moved(tx, &desk.channel, chats, desk.now).await?;
        return Ok(None);
    }
    if incoming.what == What::Expelled {
        tracing::warn!(channel.id = desk.channel, "the bot was shown out of a chat");
        approvals::relocation::expelled(tx, &desk.channel, &incoming.place, desk.now).await?;
        return Ok(None);
    }
    match &incoming.person {
        Some(person) if !person.is_bot || crash::planted("bots") => {
            take_from(tx, desk, prepared, person).await
        }
        // Channel posts, service messages and other bots do not talk to us.
        _ => Ok(None),
    }
}

/// Every kind of event passes the same gate.
async fn take_from(
    tx: &mut Tx<'_>,
    desk: &IntakeContext,
    prepared: &Prepared,
    person: &Person,
) -> Result<Option<Ephemeral>> {
    let Prepared { incoming, folded } = prepared;
    let here = (desk.channel.as_str(), &desk.allow);
    let role = people::role(tx, here, &desk.manners.roles, person).await?;
    let Some(role) = role.filter(|role| *role >= Role::Member) else {
        return from_stranger(tx, desk, incoming, person).await;
    };
    let by = Speaker { id: person.id.clone(), name: person.name.clone() };
    let seat = desk.seat(&incoming.place, person);
    match &incoming.what {
        What::Text { text, addressed: true, message, reply_to, files, album, foreign } => {
            let conversation = journal::conversation(tx, &desk.channel, seat, desk.now).await?;
            let language = language::spoken(tx, &conversation, person).await?;
            let group = incoming.place.kind == PlaceKind::Group;
            let (roles, reply_to) = (&person.roles[..], reply_to.as_deref());
            let typed =
                TypedMessage { by: &by, roles, text, message, reply_to, role, group, language };
            let more = More { files, album: album.as_deref(), foreign: foreign.as_deref() };
            say(tx, desk, &conversation, (typed, more)).await?;
            Ok(None)
        }
        What::Edited { message, text, addressed: true } => {
            let here = journal::find_conversation(tx, &desk.channel, seat).await?;
            if let Some(conversation) = here {
                let edit = Edit { by, message, text, folded: folded.as_ref() };
                approvals::edits::edited(tx, &conversation, edit, desk.now).await?;
            }
            Ok(None)
        }
        What::Press { press, message, data, reason } => {
            let (channel, reason) = (desk.channel.as_str(), reason.as_deref());
            let pressed = Press { channel, place: &incoming.place, message, data, reason };
            let roles = person.roles.clone();
            let voter = Voter {
                speaker: by,
                channel: channel.into(),
                role: Some(role),
                platform_roles: roles,
                language: language::of_presser(tx, desk, incoming, person).await?,
            };
            let text = approvals::press(tx, pressed, &voter, desk.now).await?;
            Ok(Some(toast(&incoming.place, press, text)))
        }
        What::Unsupported { content, .. } if incoming.place.kind == PlaceKind::Private => {
            unsupported(tx, desk, incoming, person, content).await?;
            Ok(None)
        }
        other => {
            tracing::debug!(channel.id = desk.channel, kind = ?std::mem::discriminant(other), "left");
            Ok(None)
        }
    }
}

/// What came with a message.
struct More<'a> {
    files: &'a [FileRef],
    album: Option<&'a str>,
    /// Whose words stand in it besides the person's own.
    foreign: Option<&'a str>,
}

async fn say(
    tx: &mut Tx<'_>,
    desk: &IntakeContext,
    conversation: &ConversationId,
    (typed, More { files, album, foreign }): (TypedMessage<'_>, More<'_>),
) -> Result<()> {
    if files.is_empty() && commands::obey(tx, desk, conversation, &typed).await? {
        return Ok(());
    }
    if desk.manners.queue == Queue::Interrupt && conversations::is_busy(tx, conversation).await? {
        commands::stop(tx, desk, conversation, typed.by).await?;
    }
    if !in_time(tx, desk, conversation, (&typed, album)).await? {
        return Ok(());
    }
    let TypedMessage { by, text, message, .. } = typed;
    let said = Event::Said { by: by.clone(), text: text.to_owned(), message: message.to_owned() };
    let seq = journal::append(tx, conversation, &said, desk.now).await?;
    if is_cut(text) {
        conversations::note_split(tx, conversation, seq).await?;
    }
    for file in files {
        let sent = Event::FileSent { message: message.to_owned(), file: file.clone() };
        journal::append(tx, conversation, &sent, desk.now).await?;
    }
    if let Some(who) = foreign.filter(|_| !crash::planted("forwarded")) {
        let tainted = Event::Tainted { source: texts::words_of(who) };
        journal::append(tx, conversation, &tainted, desk.now).await?;
    }
    let more = album.is_some() || is_cut(text);
    let wait = if more { desk.manners.settle } else { TimeDelta::zero() };
    conversations::read_after(tx, conversation, wait, desk.now).await
}

/// Whether its writer keeps to the pace; otherwise they are told, once. An album and what a client
/// has cut count as one message: all of it is taken, or none.
async fn in_time(
    tx: &mut Tx<'_>,
    desk: &IntakeContext,
    conversation: &ConversationId,
    (typed, album): (&TypedMessage<'_>, Option<&str>),
) -> Result<bool> {
    let person = format!("{}/{}", desk.channel, typed.by.id);
    let [taken, refused] =
        ["taken", "refused"].map(|end| album.map(|album| format!("album {end} {person} {album}")));
    if let (Some(taken), Some(refused)) = (&taken, &refused) {
        if inbox::was_seen(tx, &desk.channel, taken).await? {
            return Ok(true);
        }
        if inbox::was_seen(tx, &desk.channel, refused).await? {
            return Ok(false);
        }
    } else if goes_on(tx, desk, conversation, typed.by).await? {
        return Ok(true);
    }
    let flow = usage::flood(tx, &person, desk.messages_per_minute, desk.now).await?;
    let kept = if flow == usage::Flow::Fine { taken } else { refused };
    if let Some(kept) = kept {
        inbox::first_seen(tx, &desk.channel, &kept, desk.now).await?;
    }
    if let usage::Flow::Tell(wait) = flow {
        let markdown = (typed.words().too_fast)(wait.as_secs() + 1);
        answer(tx, desk, conversation, (markdown, typed.answered())).await?;
    }
    Ok(flow == usage::Flow::Fine)
}

/// The parts of one paste that count as one message; what follows counts again.
const PARTS: usize = 8;

/// Whether this follows so quickly upon what the client of the same person has cut that it is the
/// rest of that.
async fn goes_on(
    tx: &mut Tx<'_>,
    desk: &IntakeContext,
    conversation: &ConversationId,
    by: &Speaker,
) -> Result<bool> {
    let mut next_at = desk.now;
    let lately = conversations::said_lately(tx, conversation, PARTS).await?;
    let parts = lately.into_iter().take_while(|(at, own, text)| {
        let follows = own.id == by.id && is_cut(text) && next_at - *at <= desk.manners.settle;
        next_at = *at;
        follows
    });
    Ok((1..PARTS).contains(&parts.count()))
}

/// Clients cut what is pasted at their platform's longest text; the rest follows.
const CUT_AT: usize = 4_000;

fn is_cut(text: &str) -> bool {
    text.encode_utf16().count() >= CUT_AT
}

async fn unsupported(
    tx: &mut Tx<'_>,
    desk: &IntakeContext,
    incoming: &Incoming,
    person: &Person,
    content: &str,
) -> Result<()> {
    let conversation = journal::conversation(tx, &desk.channel, &incoming.place, desk.now).await?;
    let markdown = language::spoken(tx, &conversation, person).await?.words().unsupported(content);
    answer(tx, desk, &conversation, (markdown, None)).await
}

/// In groups a stranger is not answered, nobody there has asked for it; but for a command of the
/// platform's own kind, whose answer they alone see.
async fn from_stranger(
    tx: &mut Tx<'_>,
    desk: &IntakeContext,
    incoming: &Incoming,
    person: &Person,
) -> Result<Option<Ephemeral>> {
    let place = &incoming.place;
    match &incoming.what {
        What::Press { press, .. } => Ok(Some(toast(
            place,
            press,
            Language::of(person.language.as_deref()).words().not_yours.to_owned(),
        ))),
        What::Text { text, message, .. }
            if place.kind == PlaceKind::Private || is_platform_command(message) =>
        {
            let markdown =
                people::greet_stranger(tx, (&desk.channel, desk.owned), person, text, desk.now)
                    .await?;
            let reply_to = is_platform_command(message).then(|| message.clone());
            let what = Outgoing::Text { markdown, reply_to };
            Ok(Some(Ephemeral { place: place.clone(), what }))
        }
        _ => Ok(None),
    }
}

pub(super) fn toast(place: &Place, press: &str, text: String) -> Ephemeral {
    let what = Outgoing::Toast { press: press.to_owned(), text, alert: false };
    Ephemeral { place: place.clone(), what }
}
