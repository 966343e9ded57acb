//! What the users of the platform do, and what they see; and what its operators do to connections.

use std::time::{Duration, Instant};

use bytes::Bytes;
use serde_json::{Value, json};

use super::{
    APPLICATION_ID, BOT_ID, FakeDiscord, GUILD_ID,
    gateway::Out,
    objects,
    state::{Interaction, State, number},
};

/// How long the first answer to an interaction may take.
const PATIENCE: Duration = Duration::from_secs(3);

impl FakeDiscord {
    fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let changed = change(&mut self.shared.state());
        self.shared.changed();
        changed
    }

    /// A person of that name, who is a member of the guild.
    pub fn person(&self, name: &str) -> u64 {
        self.change(|state| {
            let id = state.snowflake();
            state.users.insert(id, objects::user(id, name, false));
            id
        })
    }

    /// The guild's first channel.
    pub fn general(&self) -> u64 {
        let state = self.shared.state();
        let first = state.channels.iter().find(|(_, channel)| channel["type"] == 0);
        *first.expect("the guild has a channel").0
    }

    /// The private chat with a person.
    pub fn private(&self, person: u64) -> u64 {
        self.change(|state| {
            let recipients = json!({ "recipients": [state.users[&person]] });
            state.add_channel(1, "", recipients)
        })
    }

    pub fn thread(&self, parent: u64, person: u64, name: &str) -> u64 {
        self.change(|state| {
            let id = state.add_channel(11, name, objects::thread(parent, person));
            let mut thread = state.channels[&id].clone();
            thread["newly_created"] = true.into();
            state.dispatch("THREAD_CREATE", &thread);
            id
        })
    }

    /// Says something; `<@id>` mentions.
    pub fn says(&self, channel: u64, person: u64, text: &str) -> u64 {
        self.change(|state| {
            let message = said(state, (channel, person), text);
            state.post(channel, message)
        })
    }

    /// Answers a message, without pinging its author.
    pub fn replies(&self, channel: u64, person: u64, (to, text): (u64, &str)) -> u64 {
        self.change(|state| {
            let mut message = said(state, (channel, person), text);
            message["type"] = 19.into();
            message["message_reference"] =
                json!({ "type": 0, "message_id": to.to_string(), "channel_id": channel.to_string() });
            message["referenced_message"] = state.messages[&(channel, to)].clone();
            state.post(channel, message)
        })
    }

    /// Sends a file without a word.
    pub fn attaches(&self, channel: u64, person: u64, (name, bytes): (&str, &[u8])) -> u64 {
        self.change(|state| {
            let id = state.snowflake();
            let url = format!("{}/cdn/{id}/{name}", state.base);
            state.files.insert(id, (name.to_owned(), Bytes::copy_from_slice(bytes)));
            let mut message = said(state, (channel, person), "");
            message["attachments"] = json!([objects::attachment(id, (name, bytes.len()), &url)]);
            state.post(channel, message)
        })
    }

    pub fn edits(&self, channel: u64, message: u64, text: &str) {
        self.change(|state| {
            let now = state.snowflake();
            let stored = state.messages.get_mut(&(channel, message)).expect("it is there");
            stored["content"] = text.into();
            stored["edited_timestamp"] = objects::time(now).into();
            state.announce("MESSAGE_UPDATE", channel, message);
        });
    }

    /// The platform adds a preview of a link: an update that is no edit.
    pub fn unfurls(&self, channel: u64, message: u64) {
        self.change(|state| {
            let stored = state.messages.get_mut(&(channel, message)).expect("it is there");
            stored["embeds"] = json!([{ "type": "link", "url": "https://example.org/" }]);
            state.announce("MESSAGE_UPDATE", channel, message);
        });
    }

    pub fn deletes(&self, channel: u64, message: u64) {
        self.change(|state| state.messages.remove(&(channel, message)));
    }

    /// Takes from the bot what it may do in a channel.
    pub fn closes(&self, channel: u64) {
        self.change(|state| state.closed.insert(channel));
    }

    /// Presses the button with that label: an interaction's id.
    pub fn presses(&self, channel: u64, person: u64, (message, label): (u64, &str)) -> u64 {
        self.presses_with_patience(channel, person, (message, label, PATIENCE))
    }

    pub fn presses_with_patience(
        &self,
        channel: u64,
        person: u64,
        (message, label, patience): (u64, &str, Duration),
    ) -> u64 {
        self.change(|state| {
            let press = press(state, (channel, person), (message, label), patience);
            state.dispatch("INTERACTION_CREATE", &press);
            number(&press["id"])
        })
    }

    /// A press that is not told over the gateway: what the platform would push.
    pub fn pushed_press(&self, channel: u64, person: u64, (message, label): (u64, &str)) -> Value {
        self.change(|state| press(state, (channel, person), (message, label), PATIENCE))
    }

    /// An event of any content.
    pub fn tells(&self, event: &str, content: &Value) {
        self.change(|state| state.dispatch(event, content));
    }

    /// What stands in a channel, oldest first.
    pub fn messages(&self, channel: u64) -> Vec<Value> {
        let state = self.shared.state();
        state.messages.range((channel, 0)..=(channel, u64::MAX)).map(|(_, m)| m.clone()).collect()
    }

    /// The texts of the bot's messages in a channel, oldest first.
    pub fn reads(&self, channel: u64) -> Vec<String> {
        let own = |message: &Value| number(&message["author"]["id"]) == BOT_ID;
        let all = self.messages(channel).into_iter().filter(own);
        all.map(|message| message["content"].as_str().unwrap_or_default().to_owned()).collect()
    }

    /// The bytes of a message's first file.
    pub fn file(&self, message: &Value) -> Option<(String, Bytes)> {
        let id = number(&message["attachments"][0]["id"]);
        self.shared.state().files.get(&id).cloned()
    }

    /// The type of an interaction's first answer, and how long it took.
    pub fn answer(&self, interaction: u64) -> Option<(u64, Duration)> {
        self.shared.state().interactions.get(&interaction)?.answer
    }

    /// What the presser alone was shown.
    pub fn whispers(&self, interaction: u64) -> Vec<String> {
        let state = self.shared.state();
        let whispers = state.interactions.get(&interaction).map(|i| i.whispers.clone());
        let text = |w: Value| w["content"].as_str().unwrap_or_default().to_owned();
        whispers.unwrap_or_default().into_iter().map(text).collect()
    }

    /// A channel takes so many messages in that time.
    pub fn limit(&self, most: usize, within: Duration) {
        self.change(|state| {
            state.pace.most = most;
            state.pace.within = within;
        });
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

    /// The connections stand, and nothing is heard or said on them any more.
    pub fn falls_silent(&self) {
        self.change(|state| {
            for session in state.sessions.values_mut() {
                session.silent = true;
            }
        });
    }
}

fn said(state: &mut State, (channel, person): (u64, u64), text: &str) -> Value {
    let id = state.snowflake();
    let author = state.users[&person].clone();
    let mut message = objects::message(id, channel, &author, text);
    let named =
        |id: &&u64| text.contains(&format!("<@{id}>")) || text.contains(&format!("<@!{id}>"));
    let mentioned: Vec<Value> =
        state.users.keys().filter(named).map(|id| state.users[id].clone()).collect();
    message["mentions"] = mentioned.into();
    message
}

fn press(
    state: &mut State,
    (channel, person): (u64, u64),
    (message, label): (u64, &str),
    patience: Duration,
) -> Value {
    let shown = state.messages[&(channel, message)].clone();
    let rows = shown["components"].as_array().into_iter().flatten();
    let mut buttons = rows.flat_map(|row| row["components"].as_array().into_iter().flatten());
    let button = buttons.find(|button| button["label"] == label);
    let button = button.unwrap_or_else(|| panic!("no button says {label}: {shown:#}"));
    let id = state.snowflake();
    let token = format!("aW50ZXJhY3Rpb24-{id}_token");
    let user = state.users[&person].clone();
    let mut told = json!({
        "id": id.to_string(), "application_id": APPLICATION_ID.to_string(), "type": 3,
        "token": token, "version": 1, "channel_id": channel.to_string(),
        "channel": state.channels[&channel], "message": shown, "locale": "de",
        "data": { "id": button["id"], "component_type": 2, "custom_id": button["custom_id"] },
        "app_permissions": "2248473465835073", "entitlements": [],
        "authorizing_integration_owners": {}, "attachment_size_limit": 10_485_760,
    });
    if state.is_private(channel) {
        told["user"] = user;
        told["context"] = 1.into();
    } else {
        let mut member = objects::member(&user);
        member["permissions"] = "2248473465835073".into();
        told["member"] = member;
        told["guild_id"] = GUILD_ID.to_string().into();
        told["guild_locale"] = "en-US".into();
        told["guild"] = json!({ "id": GUILD_ID.to_string(), "features": [], "locale": "en-US" });
        told["context"] = 0.into();
    }
    let interaction = Interaction {
        token,
        at: Instant::now(),
        patience,
        channel,
        message,
        answer: None,
        whispers: Vec::new(),
    };
    state.interactions.insert(id, interaction);
    told
}
