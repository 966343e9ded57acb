//! What the users of the platform say, and what they see.

use bytes::Bytes;
use serde_json::{Value, json};

use super::{
    BOT_ID, FakeDiscord, objects,
    state::{State, number},
};

impl FakeDiscord {
    pub(super) fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
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

    /// A forum, in which every post is a thread.
    pub fn forum(&self, name: &str) -> u64 {
        self.change(|state| state.add_channel(15, name, json!({ "available_tags": [] })))
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
    pub fn attaches(&self, channel: u64, person: u64, file: (&str, &[u8])) -> u64 {
        self.attaches_all(channel, person, ("", &[file]))
    }

    /// Sends files, with or without a word.
    pub fn attaches_all(
        &self,
        channel: u64,
        person: u64,
        (text, files): (&str, &[(&str, &[u8])]),
    ) -> u64 {
        self.change(|state| {
            let mut attachments = Vec::new();
            for (name, bytes) in files {
                let id = state.snowflake();
                let url = state.address(id, name);
                state.files.insert(id, ((*name).to_owned(), Bytes::copy_from_slice(bytes)));
                attachments.push(objects::attachment(id, (name, bytes.len()), &url));
            }
            let mut message = said(state, (channel, person), text);
            message["attachments"] = attachments.into();
            state.post(channel, message)
        })
    }

    /// Sends what only some messages have: a sticker, a poll.
    pub fn posts(&self, channel: u64, person: u64, (text, more): (&str, &Value)) -> u64 {
        self.change(|state| {
            let mut message = said(state, (channel, person), text);
            for (field, value) in more.as_object().into_iter().flatten() {
                message[field] = value.clone();
            }
            state.post(channel, message)
        })
    }

    /// Forwards a message of another channel.
    pub fn forwards(&self, channel: u64, person: u64, (from, message): (u64, u64)) -> u64 {
        let original = self.shared.state().messages[&(from, message)].clone();
        let mut snapshot = json!({});
        for field in [
            "type",
            "content",
            "embeds",
            "attachments",
            "timestamp",
            "edited_timestamp",
            "flags",
            "mentions",
            "mention_roles",
            "sticker_items",
            "components",
        ] {
            if !original[field].is_null() {
                snapshot[field] = original[field].clone();
            }
        }
        let reference = json!({
            "type": 1, "message_id": message.to_string(), "channel_id": from.to_string(),
        });
        let more = json!({
            "message_reference": reference, "message_snapshots": [{ "message": snapshot }],
        });
        self.posts(channel, person, ("", &more))
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

    /// The messages of a channel, oldest first.
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
    let roles = state.roles.keys().filter(|id| text.contains(&format!("<@&{id}>")));
    message["mention_roles"] = roles.map(u64::to_string).collect::<Vec<_>>().into();
    message
}
