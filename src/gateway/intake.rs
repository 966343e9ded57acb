//! Receives the batches of channels and stores each one: in one transaction or, if that fails, each
//! update in its own, so that one invalid update does not block the others.

use anyhow::{Result, anyhow};
use channels::{Batch, Incoming, IncomingContent, Outgoing, PlaceKind, incoming::Batches};
use futures::FutureExt as _;
use std::{
    panic::AssertUnwindSafe,
    sync::Arc,
    time::{Duration, Instant},
};

use super::{
    Gateway,
    approvals::{self, platform_roles::RoleSource},
    ephemeral::{self, Ephemeral},
    intake_context::{IntakeContext, IntakeOrigin},
    receive::{Prepared, RateLimited, UpdateOutcome, store_update},
};
use crate::{
    clock::stops_within,
    journal::role::Role,
    store::{channels::inbox, db::transient::is_transient},
    texts::Language,
};

/// The delays before each retry while the database is unavailable. After the last one the listener
/// gets an error, and the platform delivers again.
const WAITS: [Duration; 5] = [
    Duration::from_millis(100),
    Duration::from_millis(200),
    Duration::from_millis(400),
    Duration::from_millis(800),
    Duration::from_millis(1_600),
];

/// A platform or a web page waits in the meantime, so retries stop after about this time.
const RETRY_FOR: Duration = Duration::from_secs(5);

/// Receives the batches of a channel in order, and confirms each one once it is stored.
pub async fn receive_batches(gateway: Arc<Gateway>, channel: String, mut batches: Batches) {
    while let Some((batch, committed)) = batches.recv().await {
        let received = AssertUnwindSafe(receive(&gateway, &channel, batch)).catch_unwind().await;
        match received.unwrap_or_else(|_| Err(anyhow!("receiving panicked"))) {
            // If the channel has stopped listening, the platform delivers the batch again, and the
            // duplicate is recognised.
            Ok(()) => drop(committed.send(())),
            Err(problem) => {
                let problem = format!("{problem:#}");
                tracing::error!(
                    channel.id = channel,
                    problem,
                    "could not store a batch; the platform will deliver it again"
                );
            }
        }
    }
}

/// Stores a batch, then sends any ephemeral replies. An update that cannot be stored is set aside
/// so that it does not block the others. An error means that the database was unavailable and
/// stored nothing of the rest.
pub async fn receive(gateway: &Arc<Gateway>, channel: &str, batch: Batch) -> Result<()> {
    let context = IntakeContext::new(gateway, channel, IntakeOrigin::Platform)?;
    store(gateway, context, batch).await.map(drop)
}

/// Stores a message of the web chat. `oidc_role` is the role that depends on the claims of the OpenID
/// provider. Returns whether the rate limit refused the message.
pub async fn receive_from_web(
    gateway: &Arc<Gateway>,
    channel: &str,
    incoming: Incoming,
    oidc_role: Option<Role>,
) -> Result<Option<RateLimited>> {
    let context = IntakeContext::new(gateway, channel, IntakeOrigin::Web { oidc_role })?;
    store(gateway, context, Batch { incomings: vec![incoming], position: None }).await
}

/// Stores a batch and the position after it. Fails only if the database is unavailable.
pub(super) async fn store(
    gateway: &Arc<Gateway>,
    context: IntakeContext,
    batch: Batch,
) -> Result<Option<RateLimited>> {
    match store_with_retries(gateway, &context, &batch).await {
        Err(problem) if !is_transient(&problem) => {
            let problem = format!("{problem:#}");
            tracing::warn!(channel.id = context.channel, problem, "storing updates one by one");
            one_by_one(gateway, &context, batch).await
        }
        stored => stored,
    }
}

async fn one_by_one(
    gateway: &Arc<Gateway>,
    context: &IntakeContext,
    batch: Batch,
) -> Result<Option<RateLimited>> {
    let Batch { incomings, position } = batch;
    let mut refused = None;
    for incoming in incomings {
        let alone = Batch { incomings: vec![incoming.clone()], position: None };
        match store_with_retries(gateway, context, &alone).await {
            Err(problem) if !is_transient(&problem) => {
                let problem = format!("{problem:#}");
                let (channel, delivery) = (&context.channel, &incoming.key);
                tracing::error!(
                    channel.id = channel,
                    delivery,
                    problem,
                    "setting aside an update that could not be stored"
                );
                set_aside(gateway, context, incoming).await?;
            }
            stored => refused = stored?.or(refused),
        }
    }
    store_with_retries(gateway, context, &Batch { incomings: vec![], position }).await?;
    Ok(refused)
}

/// Stores the batch in one transaction, and retries while the database is unavailable.
async fn store_with_retries(
    gateway: &Arc<Gateway>,
    context: &IntakeContext,
    batch: &Batch,
) -> Result<Option<RateLimited>> {
    let began_at = Instant::now();
    for wait in WAITS {
        match store_batch(gateway, context, batch).await {
            Err(problem) if is_transient(&problem) && began_at.elapsed() < RETRY_FOR => {
                let problem = format!("{problem:#}");
                tracing::warn!(channel.id = context.channel, problem, "retrying to store updates");
                // In real time, because this waits for the database.
                stops_within(wait, &gateway.stop).await;
            }
            stored => return stored,
        }
    }
    store_batch(gateway, context, batch).await
}

/// Returns whether the sender has to wait and send a message again.
async fn store_batch(
    gateway: &Arc<Gateway>,
    context: &IntakeContext,
    batch: &Batch,
) -> Result<Option<RateLimited>> {
    let mut updates = Vec::with_capacity(batch.incomings.len());
    let mut roles = RoleSource::new(gateway);
    for incoming in &batch.incomings {
        let lookups = roles.before(&context.channel, incoming).await?;
        let folded = approvals::edits::before(gateway, context, incoming).await?;
        updates.push(Prepared { incoming: incoming.clone(), lookups, folded });
    }
    let (channel, context, position) =
        (context.channel.clone(), context.clone(), batch.position.clone());
    let outcomes = gateway.store.write("receive", move |tx| {
        Box::pin(async move {
            let mut outcomes = Vec::new();
            for update in &updates {
                outcomes.push(store_update(tx, &context, update).await?);
            }
            if let Some(position) = &position {
                inbox::move_position(tx, &context.channel, position).await?;
            }
            Ok(outcomes)
        })
    });
    let mut refused = None;
    for outcome in outcomes.await? {
        match outcome {
            UpdateOutcome::Stored => {}
            UpdateOutcome::Replied(reply) => {
                gateway.tasks.spawn(ephemeral::say(gateway.clone(), channel.clone(), reply));
            }
            UpdateOutcome::RateLimited(limited) => refused = Some(limited),
        }
    }
    Ok(refused)
}

/// Keeps an update that cannot be stored in its raw form, and tells the sender.
async fn set_aside(
    gateway: &Arc<Gateway>,
    context: &IntakeContext,
    mut incoming: Incoming,
) -> Result<()> {
    let notice = notice(gateway, context, &incoming).await;
    if let IncomingContent::Press { data, .. } = &mut incoming.what {
        // The data authorises a decision, and only its hash may be stored.
        "…".clone_into(data);
    }
    let raw = serde_json::to_string(&incoming)?;
    let (context, delivery) = (context.clone(), incoming.key.replace('\0', "\u{fffd}"));
    let channel = context.channel.clone();
    let kept = gateway.store.write("set aside", move |tx| {
        Box::pin(async move {
            inbox::first_seen(tx, &context.channel, &delivery, context.now).await?;
            inbox::keep_unparsed(tx, &context.channel, &delivery, &raw, context.now).await
        })
    });
    kept.await?;
    if let Some(notice) = notice {
        gateway.tasks.spawn(ephemeral::say(gateway.clone(), channel, notice));
    }
    Ok(())
}

/// Tells people who pressed a button or wrote to the bot that their input could not be handled; in
/// a group, only those who may talk to the bot.
async fn notice(
    gateway: &Gateway,
    context: &IntakeContext,
    incoming: &Incoming,
) -> Option<Ephemeral> {
    let person = incoming.person.as_ref().filter(|person| !person.is_bot)?;
    let words = Language::of(person.language.as_deref()).words();
    let text = words.failed(words.broken, &incoming.key);
    match &incoming.what {
        IncomingContent::Press { press, .. } => {
            Some(Ephemeral::toast(&incoming.place, press, text))
        }
        IncomingContent::Text { message, addressed: true, .. } => {
            let group = incoming.place.kind == PlaceKind::Group;
            if group && !may_talk(gateway, context, person.clone()).await {
                return None;
            }
            let what = Outgoing::Text { markdown: text, reply_to: group.then(|| message.clone()) };
            Some(Ephemeral { place: incoming.place.clone(), what })
        }
        _ => None,
    }
}

async fn may_talk(gateway: &Gateway, context: &IntakeContext, person: channels::Person) -> bool {
    let context = context.clone();
    let role =
        gateway.store.read(move |tx| Box::pin(async move { context.role_of(tx, &person).await }));
    role.await.ok().flatten().is_some_and(|role| role >= Role::Member)
}
