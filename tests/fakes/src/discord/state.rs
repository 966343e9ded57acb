//! What there is on the platform.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, VecDeque},
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use bytes::Bytes;
use serde_json::{Value, json};

use super::{BOT_ID, GUILD_ID, faults::Fault, gateway::Session, objects};

/// The first millisecond of Discord's ids.
const EPOCH: u128 = 1_420_070_400_000;

pub(super) struct State {
    pub base: String,
    last: u64,
    pub users: BTreeMap<u64, Value>,
    pub channels: BTreeMap<u64, Value>,
    /// By channel and id, as REST shows them.
    pub messages: BTreeMap<(u64, u64), Value>,
    pub files: BTreeMap<u64, (String, Bytes)>,
    pub interactions: BTreeMap<u64, Interaction>,
    /// By channel and nonce: the message, and when it was sent.
    pub nonces: HashMap<(u64, String), (u64, Instant)>,
    /// Channels in which the bot may not do anything any more.
    pub closed: BTreeSet<u64>,
    pub sessions: BTreeMap<String, Session>,
    pub gateway: Gateway,
    pub pace: Pace,
    pub faults: Vec<Fault>,
    pub calls: Vec<Call>,
}

/// How the gateway behaves.
pub(super) struct Gateway {
    pub heartbeat: Duration,
    /// Whether the portal grants the intent to read every message.
    pub reads_all: bool,
    pub identifies: Vec<Value>,
    pub resumes: Vec<Value>,
    pub connections: u64,
}

/// How many messages a channel takes in how long.
pub(super) struct Pace {
    pub most: usize,
    pub within: Duration,
    pub sent: HashMap<u64, VecDeque<Instant>>,
}

/// A press, on its way from the platform to its end.
pub(super) struct Interaction {
    pub token: String,
    pub at: Instant,
    /// How long the first answer may take.
    pub patience: Duration,
    pub channel: u64,
    pub message: u64,
    /// The type of the first answer, and how long it took.
    pub answer: Option<(u64, Duration)>,
    /// What only the presser sees.
    pub whispers: Vec<Value>,
}

/// A request, with what came of it.
#[derive(Debug, Clone)]
pub struct Call {
    /// What it does: `send`, `edit`, `callback`, …
    pub act: &'static str,
    pub path: String,
    /// JSON, of a form its `payload_json`.
    pub body: Value,
    /// 0: no answer went out.
    pub status: u16,
    pub said: String,
}

impl State {
    pub(super) fn new(base: String) -> Self {
        let mut state = Self {
            base,
            last: 0,
            users: BTreeMap::new(),
            channels: BTreeMap::new(),
            messages: BTreeMap::new(),
            files: BTreeMap::new(),
            interactions: BTreeMap::new(),
            nonces: HashMap::new(),
            closed: BTreeSet::new(),
            sessions: BTreeMap::new(),
            gateway: Gateway {
                heartbeat: Duration::from_millis(41_250),
                reads_all: true,
                identifies: Vec::new(),
                resumes: Vec::new(),
                connections: 0,
            },
            pace: Pace { most: 1000, within: Duration::from_secs(5), sent: HashMap::new() },
            faults: Vec::new(),
            calls: Vec::new(),
        };
        state.users.insert(BOT_ID, objects::user(BOT_ID, "counter_bot", true));
        state.add_channel(0, "general", json!({}));
        state
    }

    /// A new id; later ones are greater.
    pub(super) fn snowflake(&mut self) -> u64 {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_millis();
        let now = u64::try_from(now - EPOCH).expect("before the ids run out") << 22;
        self.last = now.max(self.last + 1);
        self.last
    }

    pub(super) fn add_channel(&mut self, kind: u8, name: &str, more: Value) -> u64 {
        let id = self.snowflake();
        let mut channel = objects::channel(id, kind, name);
        for (key, value) in more.as_object().into_iter().flatten() {
            channel[key] = value.clone();
        }
        self.channels.insert(id, channel);
        id
    }

    pub(super) fn is_private(&self, channel: u64) -> bool {
        self.channels.get(&channel).is_some_and(|channel| channel["type"] == 1)
    }

    /// Stores a message and tells the gateway's sessions of it.
    pub(super) fn post(&mut self, channel: u64, message: Value) -> u64 {
        let id = number(&message["id"]);
        if let Some(room) = self.channels.get_mut(&channel) {
            room["last_message_id"] = message["id"].clone();
        }
        self.messages.insert((channel, id), message);
        self.announce("MESSAGE_CREATE", channel, id);
        id
    }

    /// A message as the gateway tells it: with where in the guild it stands, and who said it there.
    pub(super) fn announce(&mut self, event: &str, channel: u64, id: u64) {
        let mut told = self.messages[&(channel, id)].clone();
        if !self.is_private(channel) {
            told["guild_id"] = GUILD_ID.to_string().into();
            let mut member = objects::member(&told["author"]);
            if let Some(fields) = member.as_object_mut() {
                fields.remove("user");
            }
            told["member"] = member;
        }
        self.dispatch(event, &told);
    }

    pub(super) fn guild(&self) -> Value {
        let of = |kinds: &[u64]| -> Vec<Value> {
            let kind =
                |channel: &&Value| channel["type"].as_u64().is_some_and(|k| kinds.contains(&k));
            self.channels.values().filter(kind).cloned().collect()
        };
        let members: Vec<Value> = self.users.values().map(objects::member).collect();
        objects::guild(of(&[0]), of(&[11]), members)
    }
}

/// The platform writes its ids as text.
pub(super) fn number(id: &Value) -> u64 {
    id.as_str().and_then(|id| id.parse().ok()).unwrap_or(0)
}
