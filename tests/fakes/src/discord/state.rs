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
/// What everybody may do: no administration in it.
const EVERYBODY: u64 = 2_248_473_465_835_073;

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
    /// The guild's, by id; who has which.
    pub roles: BTreeMap<u64, Value>,
    pub given: BTreeMap<u64, Vec<u64>>,
    pub owner: u64,
    /// Its level of boosts.
    pub tier: u64,
    /// The application's slash commands.
    pub commands: Vec<Value>,
    /// Changes when the addresses of files run out.
    signature: u64,
    /// Channels in which the bot may not do anything any more.
    pub closed: BTreeSet<u64>,
    pub sessions: BTreeMap<String, Session>,
    pub gateway: Gateway,
    pub rate_limit: RateLimit,
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
pub(super) struct RateLimit {
    pub messages: usize,
    pub within: Duration,
    pub sent: HashMap<(&'static str, u64), VecDeque<Instant>>,
}

/// A press or a call, on its way from the platform to its end.
pub(super) struct Interaction {
    /// 2: a command, 3: a button, 5: a window that was filled.
    pub kind: u64,
    pub token: String,
    pub at: Instant,
    /// How long the first answer may take.
    pub patience: Duration,
    pub channel: u64,
    /// The one with the button.
    pub message: Option<u64>,
    /// The type of the first answer, and how long it took.
    pub answer: Option<(u64, Duration)>,
    /// The message that is the first answer.
    pub original: Option<u64>,
    /// What it is to be filled in, where that was the first answer.
    pub window: Option<Value>,
    /// Its fifteen minutes have passed.
    pub is_over: bool,
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
            roles: BTreeMap::new(),
            given: BTreeMap::new(),
            owner: BOT_ID,
            tier: 0,
            commands: Vec::new(),
            signature: 1,
            closed: BTreeSet::new(),
            sessions: BTreeMap::new(),
            gateway: Gateway {
                heartbeat: Duration::from_millis(41_250),
                reads_all: true,
                identifies: Vec::new(),
                resumes: Vec::new(),
                connections: 0,
            },
            rate_limit: RateLimit {
                messages: 1000,
                within: Duration::from_secs(5),
                sent: HashMap::new(),
            },
            faults: Vec::new(),
            calls: Vec::new(),
        };
        state.users.insert(BOT_ID, objects::user(BOT_ID, "counter_bot", true));
        state.roles.insert(GUILD_ID, objects::role(GUILD_ID, "@everyone", EVERYBODY));
        let mut own = objects::role(state.snowflake(), "counter_bot", 0);
        own["managed"] = true.into();
        own["tags"] = json!({ "bot_id": BOT_ID.to_string() });
        state.roles.insert(number(&own["id"]), own);
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

    /// A message as an event of the gateway: with its guild and the member who wrote it.
    pub(super) fn announce(&mut self, event: &str, channel: u64, id: u64) {
        let mut told = self.messages[&(channel, id)].clone();
        if !self.is_private(channel) {
            told["guild_id"] = GUILD_ID.to_string().into();
            let mut member = self.member(number(&told["author"]["id"]));
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
        let members: Vec<Value> = self.users.keys().map(|user| self.member(*user)).collect();
        let mut guild = objects::guild();
        guild["owner_id"] = self.owner.to_string().into();
        guild["premium_tier"] = self.tier.into();
        guild["roles"] = self.roles.values().cloned().collect();
        guild["channels"] = of(&[0, 15]).into();
        guild["threads"] = of(&[11]).into();
        guild["member_count"] = members.len().into();
        guild["members"] = members.into();
        guild
    }

    pub(super) fn member(&self, person: u64) -> Value {
        let roles = self.given.get(&person).into_iter().flatten();
        let roles: Vec<String> = roles.map(u64::to_string).collect();
        objects::member(&self.users[&person], &roles)
    }

    pub(super) fn permissions(&self, person: u64) -> u64 {
        if person == self.owner {
            return u64::MAX >> 14;
        }
        let roles = self.given.get(&person).into_iter().flatten().chain([&GUILD_ID]);
        roles.fold(0, |all, role| all | number(&self.roles[role]["permissions"]))
    }

    pub(super) fn upload_bytes(&self, channel: u64) -> usize {
        let mib = match self.tier {
            2 if !self.is_private(channel) => 50,
            3 if !self.is_private(channel) => 100,
            _ => 10,
        };
        mib * 1024 * 1024
    }

    /// Where a file is, for as long as the signature counts.
    pub(super) fn address(&self, file: u64, name: &str) -> String {
        format!("{}/cdn/{file}/{name}?hm={}", self.base, self.signature)
    }

    pub(super) fn is_signed(&self, query: &str) -> bool {
        query == format!("hm={}", self.signature)
    }

    /// Every address that is read from now on has a new signature.
    pub(super) fn sign_again(&mut self) {
        let (old, new) =
            (format!("?hm={}\"", self.signature), format!("?hm={}\"", self.signature + 1));
        self.signature += 1;
        for message in self.messages.values_mut() {
            let signed = message.to_string().replace(&old, &new);
            *message = serde_json::from_str(&signed).expect("it was JSON");
        }
    }
}

/// The platform writes its ids as text.
pub(super) fn number(id: &Value) -> u64 {
    id.as_str().and_then(|id| id.parse().ok()).unwrap_or(0)
}
