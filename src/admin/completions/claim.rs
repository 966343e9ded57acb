//! Finds the conversation of a request, and stores its message there.

use axum::http::{HeaderMap, HeaderValue, StatusCode};
use channels::{Incoming, IncomingContent, Person, Place, PlaceKind};
use chrono::{DateTime, TimeDelta, Utc};
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use super::{
    error::CompletionError,
    models::AgentModel,
    progress::{TurnEnd, TurnProgress},
    request::CompletionRequest,
};
use crate::{
    admin::{
        Admin,
        api::{caller::Caller, idempotency},
        language,
    },
    gateway::{api_messages::receive_from_api, receive::RateLimited},
    journal::event::Seq,
    store::{
        Tx,
        api::completions::{self, ClaimedCompletion, NewCompletion},
        conversations::journal,
    },
};

/// How long after the answer the same request is a repetition.
const REPEATED_WITHIN: TimeDelta = TimeDelta::minutes(1);
/// The author of quoted messages, in warnings about untrusted content.
const CLIENT: &str = "an API client";

/// Who sends a request, and to which agent.
pub struct CompletionSender<'a> {
    pub caller: &'a Caller,
    pub model: &'a AgentModel,
    pub headers: &'a HeaderMap,
    pub body: &'a [u8],
}

/// The id of the message in the conversation.
pub fn message_of(claimed: &ClaimedCompletion) -> String {
    format!("o{}", claimed.id)
}

/// Claims the request and stores its message. A repeated request gets the same turn.
pub async fn begin(
    admin: &Admin,
    sender: &CompletionSender<'_>,
    request: &CompletionRequest,
) -> Result<ClaimedCompletion, CompletionError> {
    let claimed = claim(admin, sender, request).await?;
    // Repeated too: the node may have stopped before it stored the message. A message that is
    // stored already is recognised by its key.
    let incoming = incoming(admin, sender, request, &claimed);
    let (channel, role) = (sender.model.channel.as_str(), sender.caller.role);
    let stored = receive_from_api(&admin.gateway, channel, incoming, role).await;
    let refused = stored.map_err(|problem| {
        let problem = format!("{problem:#}");
        tracing::error!(
            channel.id = channel,
            problem,
            "could not store a message of an API client"
        );
        let text = "The message could not be stored. Send the same request again.";
        CompletionError::new(StatusCode::SERVICE_UNAVAILABLE, "not_stored", text)
    })?;
    let Some(RateLimited { wait }) = refused else { return Ok(claimed) };
    release(admin, &claimed, claimed.after).await;
    let text = "This token sends messages too quickly.";
    let status = StatusCode::TOO_MANY_REQUESTS;
    Err(CompletionError::new(status, "rate_limit_exceeded", text).after(wait))
}

/// Lets the same request run again. If that fails, the request is repeated within the same turn.
pub async fn release(admin: &Admin, claimed: &ClaimedCompletion, upto: Seq) {
    let own = claimed.clone();
    let released = admin.gateway.store.write("release completion", move |tx| {
        Box::pin(async move { completions::release(tx, &own, upto).await })
    });
    if let Err(problem) = released.await {
        let problem = format!("{problem:#}");
        tracing::warn!(completion.id = claimed.id, problem, "could not release a request");
    }
}

async fn claim(
    admin: &Admin,
    sender: &CompletionSender<'_>,
    request: &CompletionRequest,
) -> anyhow::Result<ClaimedCompletion> {
    let name = sender.caller.name.clone();
    let thread = Uuid::new_v4().simple().to_string();
    let new = NewCompletion {
        id: Uuid::now_v7().simple().to_string(),
        channel: sender.model.channel.clone(),
        place: place(sender.caller, Some(thread)),
        request: digest(sender),
        history: request.history(),
    };
    let now = admin.gateway.clock.now();
    let claim = admin.gateway.store.write("claim completion", move |tx| {
        Box::pin(async move {
            completions::lock_token(tx, &name).await?;
            let person = &new.place.chat;
            let known = completions::find(tx, person, &new.request).await?;
            let earlier = match &known {
                Some(known) => earlier(tx, known, now).await?,
                // A conversation that is being deleted may still have the request.
                None => EarlierTurn::Over,
            };
            match (known, earlier) {
                (Some(known), EarlierTurn::Joined) => return Ok(known),
                (Some(known), EarlierTurn::Failed { upto }) => {
                    completions::release(tx, &known, upto).await?;
                }
                _ => completions::forget_request(tx, person, &new.request).await?,
            }
            completions::claim(tx, &new, now).await
        })
    });
    claim.await
}

/// The same bytes are the same request, unless the client gives it another idempotency key.
fn digest(sender: &CompletionSender<'_>) -> String {
    let key = sender.headers.get(idempotency::KEY).map_or(&b""[..], HeaderValue::as_bytes);
    let digest = Sha256::new().chain_update(key).chain_update([0]);
    hex::encode(digest.chain_update(sender.body).finalize())
}

/// The turn of the same request that was sent earlier.
enum EarlierTurn {
    /// It is running, or was answered only just now: the request is a repetition.
    Joined,
    /// It was answered earlier, or its dialogue has continued: the request starts a new conversation.
    Over,
    Failed {
        upto: Seq,
    },
}

async fn earlier(
    tx: &mut Tx<'_>,
    known: &ClaimedCompletion,
    now: DateTime<Utc>,
) -> anyhow::Result<EarlierTurn> {
    if known.is_continued {
        return Ok(EarlierTurn::Over);
    }
    let mut progress = TurnProgress::of(&message_of(known), known.after);
    for entry in journal::events_after(tx, known.conversation.clone(), known.after).await? {
        progress.apply(&entry);
    }
    Ok(match progress.ended {
        Some((TurnEnd::Failed { .. }, _)) => EarlierTurn::Failed { upto: progress.seen },
        Some((_, at)) if now - at >= REPEATED_WITHIN => EarlierTurn::Over,
        _ => EarlierTurn::Joined,
    })
}

fn place(caller: &Caller, thread: Option<String>) -> Place {
    Place { chat: caller.id.clone(), thread, kind: PlaceKind::Private }
}

fn incoming(
    admin: &Admin,
    sender: &CompletionSender<'_>,
    request: &CompletionRequest,
    claimed: &ClaimedCompletion,
) -> Incoming {
    let CompletionSender { caller, headers, .. } = sender;
    let is_continued = !claimed.previous.is_empty();
    let words = &language::of(headers).words().page.completions;
    let text = if is_continued { request.text() } else { request.first_text(words) };
    // A dialogue that only the client knows may contain answers that the agent never gave.
    let is_quoted = !is_continued && request.has_history();
    let key = message_of(claimed);
    Incoming {
        key: key.clone(),
        at: admin.gateway.clock.now(),
        place: place(caller, Some(claimed.thread.clone())),
        person: Some(Person {
            id: caller.id.clone(),
            name: caller.name.clone(),
            language: language::wanted(headers).map(|language| language.tag().to_owned()),
            is_bot: false,
            roles: vec![],
            roles_unknown: false,
        }),
        what: IncomingContent::Text {
            message: key,
            text,
            reply_to: None,
            addressed: true,
            files: vec![],
            album: None,
            quoted_author: is_quoted.then(|| CLIENT.to_owned()),
        },
    }
}
