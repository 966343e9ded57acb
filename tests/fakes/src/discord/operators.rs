//! What the operators of the platform and of its guild do: limits, roles, connections.

use std::time::Duration;

use serde_json::{Value, json};

use super::{
    FakeDiscord, GUILD_ID,
    gateway::Out,
    objects,
    state::{State, number},
};

impl FakeDiscord {
    /// A channel accepts this many messages in that time.
    pub fn limit(&self, messages: usize, within: Duration) {
        self.change(|state| {
            state.rate_limit.messages = messages;
            state.rate_limit.within = within;
        });
    }

    /// An event of any content.
    pub fn tells(&self, event: &str, content: &Value) {
        self.change(|state| state.dispatch(event, content));
    }

    /// Removes the bot's permissions in a channel.
    pub fn closes(&self, channel: u64) {
        self.change(|state| state.closed.insert(channel));
    }

    pub fn beats_every(&self, heartbeat: Duration) {
        self.change(|state| state.gateway.heartbeat = heartbeat);
    }

    /// The portal does not grant the intent to read every message.
    pub fn grants_no_message_content(&self) {
        self.change(|state| state.gateway.reads_all = false);
    }

    /// Whether a session is connected.
    pub fn is_connected(&self) -> bool {
        self.shared.state().sessions.values().any(|session| session.wire.is_some())
    }

    /// How often a session was begun, resumed, and a connection made.
    pub fn introductions(&self) -> (usize, usize, u64) {
        let state = self.shared.state();
        let gateway = &state.gateway;
        (gateway.identifies.len(), gateway.resumes.len(), gateway.connections)
    }

    /// All connections end without a word.
    pub fn hangs_up(&self) {
        self.change(State::hang_up);
    }

    pub fn closes_connections(&self, code: u16) {
        self.change(|state| state.say_to_all(|| Out::Close(code)));
    }

    /// Op 7.
    pub fn asks_to_reconnect(&self) {
        self.change(|state| state.say_to_all(|| Out::Frame(json!({ "op": 7, "d": null }))));
    }

    /// Op 9: all sessions are over.
    pub fn invalidates(&self) {
        self.change(|state| {
            state.say_to_all(|| Out::Frame(json!({ "op": 9, "d": false })));
            state.sessions.clear();
        });
    }

    /// All sessions are over, and their connections too.
    pub fn forgets_sessions(&self) {
        self.change(|state| {
            state.hang_up();
            state.sessions.clear();
        });
    }

    /// The connections stay open, and no more events are exchanged on them.
    pub fn falls_silent(&self) {
        self.change(|state| {
            for session in state.sessions.values_mut() {
                session.silent = true;
            }
        });
    }

    /// Op 9, after which the session can be taken up again all the same.
    pub fn invalidates_for_now(&self) {
        self.change(|state| state.say_to_all(|| Out::Frame(json!({ "op": 9, "d": true }))));
    }

    /// Sets the guild's boost level.
    pub fn boosts(&self, tier: u64) {
        self.change(|state| {
            state.tier = tier;
            let guild = state.guild();
            state.dispatch("GUILD_UPDATE", &guild);
        });
    }

    /// The guild belongs to that person.
    pub fn owns(&self, person: u64) {
        self.change(|state| {
            state.owner = person;
            let guild = state.guild();
            state.dispatch("GUILD_UPDATE", &guild);
        });
    }

    /// A new role, which may do that.
    pub fn role(&self, name: &str, permissions: u64) -> u64 {
        self.change(|state| {
            let id = state.snowflake();
            let role = objects::role(id, name, permissions);
            state.roles.insert(id, role.clone());
            let told = json!({ "guild_id": GUILD_ID.to_string(), "role": role });
            state.dispatch("GUILD_ROLE_CREATE", &told);
            id
        })
    }

    /// The bot's own role.
    pub fn own_role(&self) -> u64 {
        let state = self.shared.state();
        let own = state.roles.iter().find(|(_, role)| role["tags"]["bot_id"].is_string());
        *own.expect("the guild has made one").0
    }

    pub fn gives_role(&self, person: u64, role: u64) {
        self.change(|state| state.given.entry(person).or_default().push(role));
    }

    /// Archives a thread; a locked one cannot be reopened by its members.
    pub fn archives(&self, thread: u64, locked: bool) {
        self.change(|state| {
            let channel = state.channels.get_mut(&thread).expect("it is there");
            channel["thread_metadata"]["archived"] = true.into();
            channel["thread_metadata"]["locked"] = locked.into();
            let told = channel.clone();
            state.dispatch("THREAD_UPDATE", &told);
        });
    }

    /// A channel is no more, nor are its threads.
    pub fn removes(&self, channel: u64) {
        self.change(|state| {
            let gone = state.channels.remove(&channel).expect("it is there");
            state.channels.retain(|_, other| number(&other["parent_id"]) != channel);
            let event = if gone["thread_metadata"].is_object() {
                "THREAD_DELETE"
            } else {
                "CHANNEL_DELETE"
            };
            state.dispatch(event, &gone);
        });
    }

    /// The bot is thrown out of the guild.
    pub fn kicks(&self) {
        self.change(|state| {
            let shut = state.channels.iter().filter(|(_, channel)| channel["type"] != 1);
            state.closed = shut.map(|(id, _)| *id).collect();
            state.dispatch("GUILD_DELETE", &json!({ "id": GUILD_ID.to_string() }));
        });
    }

    /// The bot is added to the guild again.
    pub fn invites(&self) {
        self.change(|state| {
            state.closed.clear();
            let guild = state.guild();
            state.dispatch("GUILD_CREATE", &guild);
        });
    }

    /// Whether an operator's commands are there: as they were registered.
    pub fn commands(&self) -> Vec<Value> {
        self.shared.state().commands.clone()
    }

    /// The addresses of all files that were handed out are good no more; those that are read from
    /// now on are.
    pub fn expires_addresses(&self) {
        self.change(State::sign_again);
    }
}
