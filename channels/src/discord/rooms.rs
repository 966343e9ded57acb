//! Tracks how far each known channel has been read, to find messages that a new session has missed.

use std::collections::{BTreeMap, BTreeSet, HashSet, VecDeque};

use chrono::{DateTime, Utc};
use serde_json::Value;

use super::ids::{id, snowflake, time};
use crate::{Incoming, PlaceKind};

/// After a restart, reading begins one minute before the committed position, because events of two
/// channels need not arrive in the order of their ids. Duplicates are recognised by their keys.
const MARGIN: u64 = 60_000 << 22;
/// The maximum number of keys that are remembered.
const REMEMBERED: usize = 4096;

/// Text channels, private chats, voice chats, announcements, threads, stages.
const WITH_MESSAGES: [u64; 8] = [0, 1, 2, 5, 10, 11, 12, 13];

pub(super) struct ChannelStates {
    /// The position that was committed before this start.
    from: Option<u64>,
    highest: u64,
    known: BTreeMap<u64, KnownChannel>,
    /// Guilds that the session has announced and whose messages were not read yet.
    awaited: BTreeSet<u64>,
    seen: Seen,
}

struct KnownChannel {
    kind: PlaceKind,
    /// The newest message that was received, or that existed when the bot joined.
    last: Option<u64>,
}

/// A channel that may have messages newer than `after`.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct MissedChannel {
    pub(super) channel: u64,
    pub(super) after: u64,
}

impl ChannelStates {
    /// `private` are chats to read although no guild announces them.
    pub(super) fn new(from: Option<i64>, private: impl IntoIterator<Item = u64>) -> Self {
        let from = from.and_then(|from| u64::try_from(from).ok());
        let room = |id| (id, KnownChannel { kind: PlaceKind::Private, last: None });
        Self {
            from,
            highest: from.unwrap_or(0),
            known: private.into_iter().map(room).collect(),
            awaited: BTreeSet::new(),
            seen: Seen::default(),
        }
    }

    /// Starts a new session, after which everything since the last one may be missing. Returns the
    /// private chats to read. Channels of a guild follow once it is announced.
    pub(super) fn begin(&mut self, ready: &Value) -> Vec<MissedChannel> {
        if let Some(position) = self.position() {
            self.from = u64::try_from(position).ok();
        }
        let guilds = ready["guilds"].as_array().into_iter().flatten();
        self.awaited = guilds.filter_map(|guild| id(&guild["id"])).collect();
        let private = self.known.iter().filter(|(_, room)| room.kind == PlaceKind::Private);
        let missed = private.filter_map(|(channel, room)| {
            Some(MissedChannel { channel: *channel, after: room.last.or_else(|| self.start())? })
        });
        missed.collect()
    }

    /// Handles the announcement of a guild. Returns its channels with newer messages.
    pub(super) fn arrive(&mut self, guild: &Value) -> Vec<MissedChannel> {
        let lists = [&guild["channels"], &guild["threads"]];
        let channels = lists.into_iter().filter_map(Value::as_array).flatten();
        let awaited = id(&guild["id"]).is_some_and(|id| self.awaited.contains(&id));
        channels.filter_map(|channel| self.compare(channel, awaited)).collect()
    }

    /// Whether there is something to read. `awaited` means that the bot may have been in the guild
    /// before.
    fn compare(&mut self, channel: &Value, awaited: bool) -> Option<MissedChannel> {
        let kind = channel["type"].as_u64().unwrap_or(0);
        let room = id(&channel["id"]).filter(|_| WITH_MESSAGES.contains(&kind))?;
        let newest = id(&channel["last_message_id"]);
        let known = self.known.get(&room).and_then(|room| room.last);
        let after = known.or_else(|| self.start().filter(|_| awaited));
        let last = known.or(newest.filter(|_| after.is_none()));
        self.known.insert(room, KnownChannel { kind: PlaceKind::Group, last });
        let after = after.filter(|after| newest.is_some_and(|newest| newest > *after))?;
        Some(MissedChannel { channel: room, after })
    }

    /// Records that the guild's missed messages were read.
    pub(super) fn caught_up(&mut self, guild: &Value) {
        if let Some(id) = id(&guild["id"]) {
            self.awaited.remove(&id);
        }
    }

    pub(super) fn forget(&mut self, channel: u64) {
        self.known.remove(&channel);
    }

    /// The time of the newest event, by the platform's clock.
    pub(super) fn time(&self) -> DateTime<Utc> {
        time(self.highest)
    }

    pub(super) fn kind(&self, channel: u64) -> PlaceKind {
        self.known.get(&channel).map_or(PlaceKind::Group, |room| room.kind)
    }

    /// An event to commit; `None` if it was received before.
    pub(super) fn take(&mut self, incoming: Incoming) -> Option<Incoming> {
        if !self.seen.insert(&incoming.key) {
            return None;
        }
        let at = snowflake(&incoming.key);
        self.highest = self.highest.max(at.unwrap_or(0));
        if let Ok(channel) = incoming.place.chat.parse()
            && incoming.key.starts_with('m')
        {
            let kind = incoming.place.kind;
            let room = self.known.entry(channel).or_insert(KnownChannel { kind, last: None });
            room.last = room.last.max(at);
        }
        Some(incoming)
    }

    /// The position to resume from after a restart. It does not advance until all missed messages
    /// have been read, because a newer message in one channel would otherwise hide missing ones in
    /// another.
    pub(super) fn position(&self) -> Option<i64> {
        let whole = self.awaited.is_empty() && self.highest > 0;
        whole.then(|| i64::try_from(self.highest).unwrap_or(i64::MAX))
    }

    fn start(&self) -> Option<u64> {
        self.from.map(|from| from.saturating_sub(MARGIN))
    }
}

/// The newest keys.
#[derive(Default)]
struct Seen {
    keys: HashSet<String>,
    order: VecDeque<String>,
}

impl Seen {
    fn insert(&mut self, key: &str) -> bool {
        if !self.keys.insert(key.to_owned()) {
            return false;
        }
        self.order.push_back(key.to_owned());
        if self.order.len() > REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.keys.remove(&oldest);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{IncomingContent, Place};

    const NOW: u64 = 1_000_000_000_000_000_000;

    fn said(channel: u64, message: u64) -> Incoming {
        Incoming {
            key: format!("m{message}"),
            at: DateTime::UNIX_EPOCH,
            place: Place { chat: channel.to_string(), thread: None, kind: PlaceKind::Group },
            person: None,
            what: IncomingContent::Edited {
                message: String::new(),
                text: String::new(),
                addressed: true,
            },
        }
    }

    fn guild(newest: u64) -> Value {
        let channel = |id: &str, kind: u8| json!({ "id": id, "type": kind, "last_message_id": newest.to_string() });
        json!({ "id": "1", "channels": [channel("10", 0), channel("11", 15)], "threads": [channel("12", 11)] })
    }

    fn ready() -> Value {
        json!({ "user": { "id": "7" }, "guilds": [{ "id": "1" }] })
    }

    #[test]
    fn a_first_start_reads_nothing_that_was_there_before() {
        let mut rooms = ChannelStates::new(None, []);
        assert_eq!(rooms.begin(&ready()), []);
        assert_eq!(rooms.arrive(&guild(NOW)), []);
        rooms.caught_up(&guild(NOW));
        assert_eq!(rooms.begin(&ready()), []);
        let missed = rooms.arrive(&guild(NOW + 5));
        assert_eq!(
            missed,
            [MissedChannel { channel: 10, after: NOW }, MissedChannel { channel: 12, after: NOW }]
        );
    }

    /// Proves R10.
    #[test]
    fn a_restart_reads_from_the_position_and_private_chats_too() {
        let mut rooms = ChannelStates::new(Some(NOW as i64), [90]);
        assert_eq!(rooms.begin(&ready()), [MissedChannel { channel: 90, after: NOW - MARGIN }]);
        assert!(rooms.arrive(&guild(NOW - MARGIN)).is_empty());
        let missed = rooms.arrive(&guild(NOW + 1));
        assert_eq!(missed.len(), 2);
        assert!(missed.iter().all(|missed| missed.after == NOW - MARGIN));
    }

    /// Proves R10.
    #[test]
    fn the_position_waits_for_what_was_missed() {
        let mut rooms = ChannelStates::new(Some(5), []);
        rooms.begin(&ready());
        assert!(rooms.take(said(10, NOW)).is_some());
        assert_eq!(rooms.position(), None);
        rooms.caught_up(&guild(NOW));
        assert_eq!(rooms.position(), Some(NOW as i64));
    }

    /// Proves M1.
    #[test]
    fn duplicate_and_older_messages_are_dropped() {
        let mut rooms = ChannelStates::new(None, []);
        assert!(rooms.take(said(10, 3)).is_some());
        assert!(rooms.take(said(10, 3)).is_none());
        assert!(rooms.take(said(10, 2)).is_some(), "an older message is dropped, too");
    }
}
