//! Stores what a channel received: a batch in one transaction or, where that fails, each update in
//! its own, so that an update that cannot be stored does not hold up the others.

use anyhow::Result;
use channels::{Batch, Incoming, Outgoing, PlaceKind, What};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use super::{
    Gateway, approvals,
    ephemeral::{self, Ephemeral},
    intake_context::IntakeContext,
    people,
    receive::{self, Prepared},
};
use crate::{
    journal::role::Role,
    store::{inbox, transient::is_transient},
    texts::Language,
};

/// How long to wait before each further try while the database does not answer. After that, the
/// listener is told, and the platform delivers again.
const WAITS: [Duration; 5] = [
    Duration::from_millis(100),
    Duration::from_millis(200),
    Duration::from_millis(400),
    Duration::from_millis(800),
    Duration::from_millis(1_600),
];

/// A platform or a page waits meanwhile: it is not kept much longer than this.
const PATIENCE: Duration = Duration::from_secs(5);

/// Stores a batch and the position behind it. Fails only while the database does not answer.
pub(super) async fn store(gateway: &Arc<Gateway>, desk: IntakeContext, batch: Batch) -> Result<()> {
    match patiently(gateway, &desk, &batch).await {
        Err(problem) if !is_transient(&problem) => {
            let problem = format!("{problem:#}");
            tracing::warn!(channel.id = desk.channel, problem, "storing updates one by one");
            one_by_one(gateway, &desk, batch).await
        }
        stored => stored,
    }
}

async fn one_by_one(gateway: &Arc<Gateway>, desk: &IntakeContext, batch: Batch) -> Result<()> {
    let Batch { incomings, position } = batch;
    for incoming in incomings {
        let alone = Batch { incomings: vec![incoming.clone()], position: None };
        match patiently(gateway, desk, &alone).await {
            Err(problem) if !is_transient(&problem) => {
                let problem = format!("{problem:#}");
                let (channel, delivery) = (&desk.channel, &incoming.key);
                tracing::error!(channel.id = channel, delivery, problem, "an update is set aside");
                set_aside(gateway, desk, incoming).await?;
            }
            stored => stored?,
        }
    }
    patiently(gateway, desk, &Batch { incomings: vec![], position }).await
}

/// Stores all of it or nothing, and tries again while the database does not answer.
async fn patiently(gateway: &Arc<Gateway>, desk: &IntakeContext, batch: &Batch) -> Result<()> {
    let began_at = Instant::now();
    for wait in WAITS {
        match together(gateway, desk, batch).await {
            Err(problem) if is_transient(&problem) && began_at.elapsed() < PATIENCE => {
                let problem = format!("{problem:#}");
                tracing::warn!(channel.id = desk.channel, problem, "storing updates again");
                // In real time: the database is waited for, not our clock.
                let _ = tokio::time::timeout(wait, gateway.stop.cancelled()).await;
            }
            stored => return stored,
        }
    }
    together(gateway, desk, batch).await
}

async fn together(gateway: &Arc<Gateway>, desk: &IntakeContext, batch: &Batch) -> Result<()> {
    let mut updates = Vec::with_capacity(batch.incomings.len());
    for incoming in &batch.incomings {
        let mut incoming = incoming.clone();
        approvals::platform_roles::before(gateway, &desk.channel, &mut incoming).await?;
        let folded = approvals::edits::before(gateway, desk, &incoming).await?;
        updates.push(Prepared { incoming, folded });
    }
    let (channel, desk, position) = (desk.channel.clone(), desk.clone(), batch.position.clone());
    let asides = gateway.store.write("receive", move |tx| {
        Box::pin(async move {
            let mut asides = Vec::new();
            for update in &updates {
                asides.extend(receive::take(tx, &desk, update).await?);
            }
            if let Some(position) = &position {
                inbox::move_position(tx, &desk.channel, position).await?;
            }
            Ok(asides)
        })
    });
    for aside in asides.await? {
        gateway.tasks.spawn(ephemeral::say(gateway.clone(), channel.clone(), aside));
    }
    Ok(())
}

/// Keeps an update that cannot be stored as what it stands for, and tells its sender.
async fn set_aside(
    gateway: &Arc<Gateway>,
    desk: &IntakeContext,
    mut incoming: Incoming,
) -> Result<()> {
    let notice = notice(gateway, desk, &incoming).await;
    if let What::Press { data, .. } = &mut incoming.what {
        // It authorises a decision, and only its hash may be stored.
        "…".clone_into(data);
    }
    let raw = serde_json::to_string(&incoming)?;
    let (desk, delivery) = (desk.clone(), incoming.key.replace('\0', "\u{fffd}"));
    let channel = desk.channel.clone();
    let kept = gateway.store.write("set aside", move |tx| {
        Box::pin(async move {
            inbox::first_seen(tx, &desk.channel, &delivery, desk.now).await?;
            inbox::keep_unparsed(tx, &desk.channel, &delivery, &raw, desk.now).await
        })
    });
    kept.await?;
    if let Some(notice) = notice {
        gateway.tasks.spawn(ephemeral::say(gateway.clone(), channel, notice));
    }
    Ok(())
}

/// Who has pressed a button or written to the bot learns that nothing comes of it; in a group, only
/// those who may talk to it.
async fn notice(gateway: &Gateway, desk: &IntakeContext, incoming: &Incoming) -> Option<Ephemeral> {
    let person = incoming.person.as_ref().filter(|person| !person.is_bot)?;
    let words = Language::of(person.language.as_deref()).words();
    let text = words.failed(words.broken, &incoming.key);
    match &incoming.what {
        What::Press { press, .. } => Some(receive::toast(&incoming.place, press, text)),
        What::Text { message, addressed: true, .. } => {
            let group = incoming.place.kind == PlaceKind::Group;
            if group && !may_talk(gateway, desk, person.clone()).await {
                return None;
            }
            let what = Outgoing::Text { markdown: text, reply_to: group.then(|| message.clone()) };
            Some(Ephemeral { place: incoming.place.clone(), what })
        }
        _ => None,
    }
}

async fn may_talk(gateway: &Gateway, desk: &IntakeContext, person: channels::Person) -> bool {
    let desk = desk.clone();
    let role = gateway.store.read(move |tx| {
        Box::pin(async move {
            let here = (desk.channel.as_str(), &desk.allow);
            people::role(tx, here, &desk.manners.roles, &person).await
        })
    });
    role.await.ok().flatten().is_some_and(|role| role >= Role::Member)
}
