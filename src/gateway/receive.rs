//! Turns updates of a channel into events, before they are acknowledged to the platform.

use anyhow::Result;
use channels::{FileRef, Incoming, IncomingContent as Content, Outgoing, Person, PlaceKind};
use chrono::TimeDelta;
use std::time::Duration;

use super::{
    BusyPolicy,
    approvals::{self, ButtonPress, edits::Edit},
    commands,
    ephemeral::Ephemeral,
    intake_context::{IntakeContext, IntakeOrigin, TypedMessage, answer, is_platform_command},
    language, pairing,
    paste::{continues_paste, is_cut},
    prompts,
};
use crate::{
    agent::approvers::{RoleLookups, Voter},
    journal::{
        event::{Event, Speaker},
        role::Role,
        session::Session,
    },
    store::{
        Tx,
        channels::inbox,
        conversations::{
            self,
            intake::{IntakeState, intake_state},
            journal,
        },
        usage,
    },
    texts::{self, Language},
    tools::mcp::prompts::TypedPrompt,
};

/// A message that the rate limit refused. It was not recorded, and may be sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateLimited {
    pub wait: Duration,
}

/// An update, and the data that was loaded for it before the transaction that stores it.
#[derive(Clone)]
pub(super) struct Prepared {
    pub incoming: Incoming,
    pub lookups: RoleLookups,
    /// The session that an edit refers to.
    pub folded: Option<Session>,
}

/// The result of storing an update.
#[derive(Debug)]
pub(super) enum UpdateOutcome {
    Stored,
    /// With an ephemeral reply to the sender.
    Replied(Ephemeral),
    RateLimited(RateLimited),
}

impl From<Option<Ephemeral>> for UpdateOutcome {
    fn from(reply: Option<Ephemeral>) -> Self {
        reply.map_or(Self::Stored, Self::Replied)
    }
}

/// Stores one update.
pub(super) async fn store_update(
    tx: &mut Tx<'_>,
    context: &IntakeContext,
    prepared: &Prepared,
) -> Result<UpdateOutcome> {
    let incoming = &prepared.incoming;
    if let Content::Unparsed { raw } = &incoming.what {
        tracing::warn!(
            channel.id = context.channel,
            delivery = incoming.key,
            "stored an update that could not be parsed"
        );
        inbox::keep_unparsed(tx, &context.channel, &incoming.key, raw, context.now).await?;
        return Ok(UpdateOutcome::Stored);
    }
    let (channel, key) = (&context.channel, &incoming.key);
    let sender = incoming.person.as_ref().map(|person| &*person.id);
    let Some(delivery) = inbox::first_seen_from(tx, channel, key, sender, context.now).await?
    else {
        return Ok(UpdateOutcome::Stored);
    };
    if let Content::Moved { to } = &incoming.what {
        let from = incoming.place.chat.as_str();
        approvals::relocation::chat_moved(tx, &context.channel, from, to, context.now).await?;
        return Ok(UpdateOutcome::Stored);
    }
    if incoming.what == Content::Expelled {
        tracing::warn!(channel.id = context.channel, "the bot was removed from a chat");
        let access = context.access();
        approvals::relocation::expelled(tx, &access, &incoming.place, context.now).await?;
        return Ok(UpdateOutcome::Stored);
    }
    // Channel posts, service messages and other bots are ignored. Every kind of update of a person
    // passes the same access check.
    let Some(person) = incoming.person.as_ref().filter(|person| !person.is_bot) else {
        return Ok(UpdateOutcome::Stored);
    };
    let role = context.role_with(delivery.role, person);
    let Some(role) = role.filter(|role| *role >= Role::Member) else {
        return reply_to_stranger(tx, context, incoming, person).await.map(Into::into);
    };
    let outcome = store_update_from(tx, context, prepared, Sender { person, role }).await?;
    if matches!(outcome, UpdateOutcome::RateLimited(_)) {
        // The page sends the message again under the same key.
        inbox::forget(tx, &context.channel, &incoming.key).await?;
    }
    Ok(outcome)
}

/// A person who may talk to the bot.
#[derive(Clone, Copy)]
struct Sender<'a> {
    person: &'a Person,
    role: Role,
}

/// Handles an update of a person who may talk to the bot.
async fn store_update_from(
    tx: &mut Tx<'_>,
    context: &IntakeContext,
    prepared: &Prepared,
    Sender { person, role }: Sender<'_>,
) -> Result<UpdateOutcome> {
    let Prepared { incoming, lookups, folded } = prepared;
    let by = Speaker { id: person.id.clone(), name: person.name.clone() };
    let key = context.conversation_key(&incoming.place, person);
    match &incoming.what {
        Content::Text { text, addressed: true, message, reply_to, files, album, quoted_author } => {
            let state = intake_state(tx, &context.channel, key, context.now).await?;
            let language = language::spoken_in(tx, &state, person).await?;
            let group = incoming.place.kind == PlaceKind::Group;
            let (roles, reply_to) = (&person.roles[..], reply_to.as_deref());
            let typed = TypedMessage {
                by: &by,
                roles,
                lookups,
                text,
                message,
                reply_to,
                role,
                group,
                language,
            };
            let more = MessageExtras {
                files,
                album: album.as_deref(),
                quoted_author: quoted_author.as_deref(),
            };
            let limited = record_message(tx, context, &state, typed, more).await?;
            Ok(limited.map_or(UpdateOutcome::Stored, UpdateOutcome::RateLimited))
        }
        Content::Edited { message, text, addressed: true } => {
            let here = journal::find_conversation(tx, &context.channel, key).await?;
            let Some(conversation) = here else { return Ok(UpdateOutcome::Stored) };
            let edit = Edit { by, message, text, folded: folded.as_ref() };
            approvals::edits::edited(tx, &conversation, edit, context.now).await?;
            Ok(context
                .limits
                .reactions
                .then(|| Ephemeral::acknowledgement(&incoming.place, message))
                .into())
        }
        Content::Press { .. } => pressed(tx, context, prepared, Sender { person, role }).await,
        Content::Unsupported { content, .. } if incoming.place.kind == PlaceKind::Private => {
            unsupported(tx, context, incoming, person, content).await?;
            Ok(UpdateOutcome::Stored)
        }
        other => {
            tracing::debug!(
                channel.id = context.channel, kind = ?std::mem::discriminant(other),
                "ignored"
            );
            Ok(UpdateOutcome::Stored)
        }
    }
}

/// Handles the press of a button.
async fn pressed(
    tx: &mut Tx<'_>,
    context: &IntakeContext,
    Prepared { incoming, lookups, .. }: &Prepared,
    Sender { person, role }: Sender<'_>,
) -> Result<UpdateOutcome> {
    let Content::Press { press, message, data, reason } = &incoming.what else {
        return Ok(UpdateOutcome::Stored);
    };
    let (channel, reason) = (context.channel.as_str(), reason.as_deref());
    let pressed = ButtonPress { channel, place: &incoming.place, message, data, reason };
    let voter = Voter {
        speaker: Speaker { id: person.id.clone(), name: person.name.clone() },
        channel: channel.into(),
        role: Some(role),
        platform_roles: person.roles.clone(),
        lookups: lookups.clone(),
        language: language::of_presser(tx, context, incoming, person).await?,
    };
    let text = approvals::press(tx, pressed, &voter, context.now).await?;
    Ok(UpdateOutcome::Replied(Ephemeral::toast(&incoming.place, press, text)))
}

/// The attachments of a message.
struct MessageExtras<'a> {
    files: &'a [FileRef],
    album: Option<&'a str>,
    /// The author of forwarded or quoted text in the message.
    quoted_author: Option<&'a str>,
}

/// Returns how long the sender has to wait if the rate limit refused the message; the sender is
/// waiting for the result. Other senders get an answer in the conversation.
async fn record_message(
    tx: &mut Tx<'_>,
    context: &IntakeContext,
    state: &IntakeState,
    typed: TypedMessage<'_>,
    MessageExtras { files, album, quoted_author }: MessageExtras<'_>,
) -> Result<Option<RateLimited>> {
    let conversation = &state.conversation;
    if files.is_empty() && commands::execute(tx, context, state, &typed).await? {
        return Ok(None);
    }
    if context.settings.queue == BusyPolicy::Interrupt
        && conversations::is_busy(tx, conversation).await?
    {
        commands::stop(tx, context, conversation, typed.by).await?;
    }
    if let Some(limited) = rate_limited(tx, context, state, &typed, album).await? {
        return Ok(Some(limited).filter(|_| context.source != IntakeOrigin::Platform));
    }
    let prompt = if files.is_empty() { prompts::requested(context, &typed) } else { None };
    if let Some(TypedPrompt::Unfit(usage)) = &prompt {
        let markdown = (typed.words().prompt_usage)(usage);
        answer(tx, context, conversation, markdown, typed.answered()).await?;
        return Ok(None);
    }
    let TypedMessage { by, text, message, .. } = typed;
    let said = Event::Said { by: by.clone(), text: text.to_owned(), message: message.to_owned() };
    let more = album.is_some() || is_cut(text);
    let wait = if more { context.settings.debounce } else { TimeDelta::zero() };
    let not_before = Some(context.now + wait);
    let seq = journal::append_and_wait(tx, conversation, &said, not_before, context.now).await?;
    if is_cut(text) {
        conversations::note_split(tx, conversation, seq).await?;
    }
    for file in files {
        let (message, file) = (message.to_owned(), file.clone());
        let sent = Event::FileSent { message, file, prompt: None };
        journal::append(tx, conversation, &sent, context.now).await?;
    }
    if let Some(TypedPrompt::Request(request)) = prompt {
        let sent = prompts::sent(message, request);
        journal::append(tx, conversation, &sent, context.now).await?;
    }
    if let Some(who) = quoted_author {
        let tainted = Event::Tainted { source: texts::source_sentence(who) };
        journal::append(tx, conversation, &tainted, context.now).await?;
    }
    Ok(None)
}

/// Whether the rate limit refuses the message; the author is told once. An album, or a long paste
/// that a client has split, counts as one message and is accepted or rejected as a whole.
async fn rate_limited(
    tx: &mut Tx<'_>,
    context: &IntakeContext,
    state: &IntakeState,
    typed: &TypedMessage<'_>,
    album: Option<&str>,
) -> Result<Option<RateLimited>> {
    let each = RateLimited { wait: Duration::from_mins(1) / context.messages_per_minute.max(1) };
    let person = format!("{}/{}", context.channel, typed.by.id);
    let [taken, refused] =
        ["taken", "refused"].map(|end| album.map(|album| format!("album {end} {person} {album}")));
    if let (Some(taken), Some(refused)) = (&taken, &refused) {
        if inbox::was_seen(tx, &context.channel, taken).await? {
            return Ok(None);
        }
        if inbox::was_seen(tx, &context.channel, refused).await? {
            return Ok(Some(each));
        }
    } else if continues_paste(tx, context, state, typed.by).await? {
        return Ok(None);
    }
    let flow = usage::flood(tx, &person, context.messages_per_minute, context.now).await?;
    let kept = if flow == usage::Admission::Accepted { taken } else { refused };
    if let Some(kept) = kept {
        inbox::first_seen(tx, &context.channel, &kept, context.now).await?;
    }
    Ok(match flow {
        usage::Admission::Accepted => None,
        usage::Admission::RejectedSilently => Some(each),
        usage::Admission::Rejected(wait) => {
            if context.source == IntakeOrigin::Platform {
                let markdown = (typed.words().too_fast)(wait.as_secs() + 1);
                answer(tx, context, &state.conversation, markdown, typed.answered()).await?;
            }
            Some(RateLimited { wait })
        }
    })
}

async fn unsupported(
    tx: &mut Tx<'_>,
    context: &IntakeContext,
    incoming: &Incoming,
    person: &Person,
    content: &str,
) -> Result<()> {
    let conversation =
        journal::conversation(tx, &context.channel, &incoming.place, context.now).await?;
    let markdown = language::spoken(tx, &conversation, person).await?.words().unsupported(content);
    answer(tx, context, &conversation, markdown, None).await
}

/// Strangers get no reply in groups, except to a native platform command, whose reply only they
/// see.
async fn reply_to_stranger(
    tx: &mut Tx<'_>,
    context: &IntakeContext,
    incoming: &Incoming,
    person: &Person,
) -> Result<Option<Ephemeral>> {
    let place = &incoming.place;
    match &incoming.what {
        Content::Press { press, .. } => Ok(Some(Ephemeral::toast(
            place,
            press,
            Language::of(person.language.as_deref()).words().not_for_you.to_owned(),
        ))),
        Content::Text { text, message, .. }
            if place.kind == PlaceKind::Private || is_platform_command(message) =>
        {
            let markdown = pairing::offer_pairing(tx, context, person, text).await?;
            let reply_to = is_platform_command(message).then(|| message.clone());
            let what = Outgoing::Text { markdown, reply_to };
            Ok(Some(Ephemeral { place: place.clone(), what }))
        }
        _ => Ok(None),
    }
}
