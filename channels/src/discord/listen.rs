//! The loop over connections, and the processing of their events: in order, each committed before
//! the next, after missed messages have been read by REST.

use std::{
    collections::{BTreeMap, btree_map::Entry},
    time::Duration,
};

use serde_json::Value;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tracing::{error, info, warn};

use super::{
    Discord,
    api::{Body, Failure, Route},
    gateway::{Dispatch, Ended, Line},
    ids::{self, id},
    receive,
    rooms::{ChannelStates, MissedChannel},
};
use crate::{Batch, ConnectionState, Incoming, IncomingContent, Intake, ListenError};

/// The maximum number of events that are received but not yet committed. The platform keeps further
/// ones.
const QUEUE: usize = 1000;
/// The maximum number of events that are committed together.
const TOGETHER: usize = 100;
/// The number of messages per page.
const PAGE: usize = 100;
const SHORTEST_WAIT: Duration = Duration::from_millis(500);
const LONGEST_WAIT: Duration = Duration::from_mins(1);

impl Discord {
    pub(super) async fn run_session(
        &self,
        intake: Intake,
        from: Option<String>,
        stop: CancellationToken,
    ) -> Result<(), ListenError> {
        let (queue, dispatches) = mpsc::channel(QUEUE);
        tokio::select! {
            () = stop.cancelled() => Ok(()),
            ended = self.stay_connected(&intake, queue) => ended,
            ended = self.take(dispatches, &intake, from) => ended,
            never = self.offer_commands() => match never {},
        }
    }

    /// Reconnects until a person has to fix something.
    async fn stay_connected(
        &self,
        intake: &Intake,
        queue: mpsc::Sender<Dispatch>,
    ) -> Result<(), ListenError> {
        let mut line = Line::new(self, intake, queue);
        let lost = |problem: &str| {
            intake.report(ConnectionState::Disconnected { problem: problem.to_owned() });
        };
        let mut wait = Wait::new();
        loop {
            let ended = line.hold().await;
            if line.is_ready {
                wait = Wait::new();
            }
            match ended {
                Ended::Unauthorized => {
                    return Err(ListenError::Unauthorized { channel: self.id.clone() });
                }
                Ended::Disallowed => {
                    line.reads_all = false;
                    error!(
                        channel.id = self.id,
                        "Discord: the bot may not read all messages; continuing with private \
                            messages and mentions. Enable the Message Content Intent in the \
                            developer portal, then restart"
                    );
                }
                Ended::Later(after, reason) => {
                    lost(&reason);
                    warn!(
                        channel.id = self.id,
                        reason, "Discord asked to wait before reconnecting"
                    );
                    idle(after).await;
                    continue;
                }
                Ended::Broken(reason) | Ended::Expired(reason) => {
                    lost(&reason);
                    info!(channel.id = self.id, reason, "Discord: reconnecting");
                }
            }
            wait.once().await;
        }
    }

    async fn take(
        &self,
        mut dispatches: mpsc::Receiver<Dispatch>,
        intake: &Intake,
        from: Option<String>,
    ) -> Result<(), ListenError> {
        let mut rooms =
            ChannelStates::new(from.and_then(|from| from.parse().ok()), self.remembered());
        let mut heard = Vec::new();
        while dispatches.recv_many(&mut heard, TOGETHER).await > 0 {
            let mut taken = Vec::new();
            for dispatch in heard.drain(..) {
                let missed = match dispatch.name.as_str() {
                    "READY" => rooms.begin(&dispatch.content),
                    "GUILD_CREATE" => rooms.arrive(&dispatch.content),
                    _ => Vec::new(),
                };
                let news = self.translate(&dispatch, &mut rooms);
                if !missed.is_empty() {
                    commit(intake, std::mem::take(&mut taken), &rooms).await?;
                    self.catch_up(missed, &mut rooms, intake).await?;
                }
                if matches!(dispatch.name.as_str(), "GUILD_CREATE" | "GUILD_DELETE") {
                    // An unavailable guild comes back and is read then.
                    if dispatch.content["unavailable"] != true {
                        rooms.caught_up(&dispatch.content);
                    }
                }
                taken.extend(news.into_iter().filter_map(|incoming| rooms.take(incoming)));
            }
            commit(intake, taken, &rooms).await?;
        }
        Ok(())
    }

    /// The events in a dispatch: a message, a press, or channels that the bot was added to or
    /// removed from.
    fn translate(&self, dispatch: &Dispatch, rooms: &mut ChannelStates) -> Vec<Incoming> {
        let Dispatch { name, mark, content } = dispatch;
        if name == "INTERACTION_CREATE" {
            return self.interaction(content).into_iter().collect();
        }
        let mut guilds = self.guilds();
        let (mark, at) = (mark.as_str(), rooms.time());
        let opened = guilds.apply(name, content);
        let closed = guilds.lose(name, content);
        for room in &closed {
            rooms.forget(*room);
        }
        let opened = opened
            .into_iter()
            .map(|room| receive::moved(room, IncomingContent::Admitted, mark, at));
        let closed = closed
            .into_iter()
            .map(|room| receive::moved(room, IncomingContent::Expelled, mark, at));
        opened.chain(closed).chain(receive::incoming(name, content, &guilds)).collect()
    }

    /// Reads messages that arrived while there was no session, channel by channel, oldest first.
    async fn catch_up(
        &self,
        missed: Vec<MissedChannel>,
        rooms: &mut ChannelStates,
        intake: &Intake,
    ) -> Result<(), ListenError> {
        for MissedChannel { channel, mut after } in missed {
            while let Some(mut page) = self.page(channel, after).await {
                self.name_members(channel, &mut page).await;
                let full = page.len() >= PAGE;
                let kind = rooms.kind(channel);
                let found = |message| receive::found(message, kind, &self.guilds());
                let mut found: Vec<Incoming> = page.iter().filter_map(found).collect();
                found.sort_by_key(|incoming| ids::snowflake(&incoming.key));
                let newest = found.last().and_then(|last| ids::snowflake(&last.key));
                let fresh = found.into_iter().filter_map(|i| rooms.take(i)).collect();
                commit(intake, fresh, rooms).await?;
                match newest.filter(|newest| full && *newest > after) {
                    Some(newest) => after = newest,
                    None => break,
                }
            }
        }
        Ok(())
    }

    /// The messages right after this one; `None` if the channel may not be read.
    async fn page(&self, channel: u64, after: u64) -> Option<Vec<Value>> {
        let route = || {
            Route::get(format!("channels/{channel}/messages"))
                .query(format!("after={after}&limit={PAGE}"))
        };
        match self.read(route).await? {
            Value::Array(messages) => Some(messages),
            _ => None,
        }
    }

    /// Adds the guild and the author's roles, which messages of the gateway contain and messages of
    /// REST do not.
    async fn name_members(&self, channel: u64, messages: &mut [Value]) {
        let Some(guild) = self.guilds().of(channel) else { return };
        let mut members = BTreeMap::new();
        for message in messages {
            let Some(person) = id(&message["author"]["id"]) else { continue };
            if let Entry::Vacant(unknown) = members.entry(person) {
                let route = || Route::get(format!("guilds/{guild}/members/{person}"));
                // Somebody who has left the guild has no roles.
                unknown.insert(self.read(route).await.unwrap_or_default());
            }
            message["guild_id"] = guild.to_string().into();
            message["member"] = members[&person].clone();
        }
    }

    /// Retries until there is an answer; `None` if access is denied.
    async fn read(&self, route: impl Fn() -> Route) -> Option<Value> {
        let mut wait = Wait::new();
        loop {
            match self.api.call(route(), Body::Empty).await {
                Ok(answer) => return Some(answer),
                Err(Failure::Refused { status: 429, after, .. }) => {
                    idle(after.unwrap_or(SHORTEST_WAIT)).await;
                }
                Err(Failure::Refused { status: 400..500, message, .. }) => {
                    info!(
                        channel.id = self.id,
                        reason = message,
                        "Discord: could not read missed messages"
                    );
                    return None;
                }
                Err(
                    Failure::Refused { message: reason, .. }
                    | Failure::Unsent(reason)
                    | Failure::Lost(reason),
                ) => {
                    warn!(
                        channel.id = self.id,
                        reason, "Discord: retrying to read missed messages"
                    );
                    wait.once().await;
                }
            }
        }
    }
}

async fn commit(
    intake: &Intake,
    incomings: Vec<Incoming>,
    rooms: &ChannelStates,
) -> Result<(), ListenError> {
    if incomings.is_empty() {
        return Ok(());
    }
    intake
        .commit(Batch { incomings, position: rooms.position().map(|highest| highest.to_string()) })
        .await
}

/// The delay after a failure, which doubles each time.
pub(super) struct Wait {
    next: Duration,
}

impl Wait {
    pub(super) fn new() -> Self {
        Self { next: SHORTEST_WAIT }
    }

    pub(super) async fn once(&mut self) {
        let wait = self.next;
        self.next = (self.next * 2).min(LONGEST_WAIT);
        idle(wait).await;
    }
}

pub(super) async fn idle(wait: Duration) {
    #[expect(
        clippy::disallowed_methods,
        reason = "the platform does not signal that it recovered"
    )]
    tokio::time::sleep(wait).await;
}
