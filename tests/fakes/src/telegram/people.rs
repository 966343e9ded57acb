//! What the users of the platform do. A person is known by name and gets an id; a chat by its id.

use std::collections::BTreeSet;

use bytes::Bytes;
use serde_json::{Value, json};

use super::{
    BOT_NAME, FakeTelegram,
    rules::units,
    state::{Chat, File, State},
};

impl FakeTelegram {
    /// The id of a person.
    pub fn person(&self, name: &str) -> i64 {
        self.shared.state().person(name)
    }

    /// The private chat of a person with the bot; its id is the person's.
    pub fn private(&self, name: &str) -> i64 {
        let mut state = self.shared.state();
        let id = state.person(name);
        state.chats.entry(id).or_insert_with(|| chat("private", name));
        id
    }

    pub fn group(&self, title: &str) -> i64 {
        let mut state = self.shared.state();
        let id = -1_000_000_000_000 - state.next();
        state.chats.insert(id, chat("supergroup", title));
        id
    }

    /// Opens a topic in a group and returns its thread id.
    pub fn topic(&self, chat: i64, name: &str) -> i64 {
        let created = json!({ "name": name, "icon_color": 7_322_096 });
        let mut state = self.shared.state();
        let message = state.post(chat, State::bot(), json!({ "forum_topic_created": created }));
        let id = message["message_id"].as_i64().expect("it was just given");
        state.chats.get_mut(&chat).expect("a group that was made").topics.insert(id);
        id
    }

    pub fn user_says(&self, chat: i64, user: &str, text: &str) -> i64 {
        self.user_posts(chat, user, said(text))
    }

    pub fn user_says_in_topic(&self, chat: i64, thread: i64, user: &str, text: &str) -> i64 {
        let opened = self.shared.state().messages[&(chat, thread)].clone();
        let mut fields = said(text);
        fields["message_thread_id"] = thread.into();
        fields["is_topic_message"] = true.into();
        // As the platform does: each message of a topic "answers" the one that opened it.
        fields["reply_to_message"] = opened;
        self.user_posts(chat, user, fields)
    }

    pub fn user_replies(&self, chat: i64, user: &str, to: i64, text: &str) -> i64 {
        let mut fields = said(text);
        fields["reply_to_message"] = self.shared.state().messages[&(chat, to)].clone();
        self.user_posts(chat, user, fields)
    }

    pub fn user_sends_photo(&self, chat: i64, user: &str, caption: Option<&str>) -> i64 {
        let size = json!({
            "file_id": "photo1", "file_unique_id": "p1", "width": 1, "height": 1, "file_size": 1,
        });
        let mut fields = json!({ "photo": [size] });
        if let Some(caption) = caption {
            fields["caption"] = caption.into();
        }
        self.user_posts(chat, user, fields)
    }

    /// Returns the message and the file's id.
    pub fn user_sends_document(&self, chat: i64, user: &str, file: File) -> (i64, String) {
        let document = self.shared.state().keep(file);
        let id = document["file_id"].as_str().unwrap_or_default().to_owned();
        (self.user_posts(chat, user, json!({ "document": document })), id)
    }

    /// A message with any fields; returns its id.
    pub fn user_posts(&self, chat: i64, user: &str, fields: Value) -> i64 {
        let mut state = self.shared.state();
        let from = from(&mut state, user);
        let message = state.post(chat, from, fields);
        state.tell("message", message.clone());
        drop(state);
        self.shared.changed();
        message["message_id"].as_i64().expect("it was just given")
    }

    pub fn user_edits(&self, chat: i64, message: i64, text: &str) {
        let mut state = self.shared.state();
        let edited = state.edit(chat, message, said(text));
        state.tell("edited_message", edited);
        drop(state);
        self.shared.changed();
    }

    /// Presses the button with that label; returns the press's id. Panics if there is none.
    pub fn user_presses(&self, chat: i64, user: &str, message: i64, label: &str) -> String {
        let shown = self.messages(chat).into_iter().find(|shown| shown.id == message);
        let buttons = shown.map(|shown| shown.buttons).unwrap_or_default();
        let data = buttons.iter().find(|(text, _)| text == label).map(|(_, data)| data.clone());
        let data = data.unwrap_or_else(|| panic!("no button {label:?} among {buttons:?}"));
        self.user_forges(chat, user, message, &data)
    }

    /// A press that carries any data; a modified client can send that.
    pub fn user_forges(&self, chat: i64, user: &str, message: i64, data: &str) -> String {
        let mut state = self.shared.state();
        let press = format!("press{}", state.next());
        state.presses.insert(press.clone());
        let query = json!({
            "id": press, "from": from(&mut state, user), "chat_instance": "1", "data": data,
            "message": state.messages[&(chat, message)].clone(),
        });
        state.tell("callback_query", query);
        drop(state);
        self.shared.changed();
        press
    }

    /// Any update, whatever the bot asked for. An `update_id` is added if there is none.
    pub fn push_raw(&self, mut update: Value) -> i64 {
        let mut state = self.shared.state();
        if update["update_id"].is_null() {
            update["update_id"] = (100_000 + state.next()).into();
        }
        let id = update["update_id"].as_i64().unwrap_or_default();
        state.queue(update);
        drop(state);
        self.shared.changed();
        id
    }

    /// Delivers an update once more, also one that was confirmed.
    pub fn repeat(&self, update: i64) {
        let mut state = self.shared.state();
        let old = state.history.iter().find(|old| old["update_id"] == update).cloned();
        state.repeats.extend(old);
        drop(state);
        self.shared.changed();
    }

    pub fn user_blocks(&self, chat: i64) {
        self.shared.state().chats.get_mut(&chat).expect("a chat that was made").blocked = true;
    }

    /// A group becomes a supergroup; returns the new id.
    pub fn migrate(&self, chat: i64) -> i64 {
        let to = self.group("moved");
        let mut state = self.shared.state();
        state.chats.get_mut(&chat).expect("a chat that was made").moved_to = Some(to);
        let message = state.post(chat, State::bot(), json!({ "migrate_to_chat_id": to }));
        state.tell("message", message);
        drop(state);
        self.shared.changed();
        to
    }

    /// A person deletes a message for everybody.
    pub fn user_deletes(&self, chat: i64, message: i64) {
        self.shared.state().messages.remove(&(chat, message));
    }
}

fn chat(kind: &'static str, title: &str) -> Chat {
    let topics = BTreeSet::new();
    Chat { kind, title: title.to_owned(), blocked: false, moved_to: None, topics }
}

fn from(state: &mut State, name: &str) -> Value {
    let id = state.person(name);
    json!({ "id": id, "is_bot": name == BOT_NAME, "first_name": name, "language_code": "en" })
}

/// A text with the entities that the platform finds in what people write.
fn said(text: &str) -> Value {
    let mut entities = Vec::new();
    let mut offset = 0;
    for word in text.split_inclusive(char::is_whitespace) {
        let name = word.trim_end_matches(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        let kind = match name.chars().next() {
            Some('/') if name.len() > 1 => Some("bot_command"),
            Some('@') if name.len() > 1 => Some("mention"),
            _ => None,
        };
        if let Some(kind) = kind {
            entities.push(json!({ "type": kind, "offset": offset, "length": units(name) }));
        }
        offset += units(word);
    }
    let entities = if entities.is_empty() { Value::Null } else { entities.into() };
    json!({ "text": text, "entities": entities })
}

impl File {
    pub fn new(name: &str, media_type: &str, bytes: impl Into<Bytes>) -> Self {
        Self { name: name.to_owned(), media_type: media_type.to_owned(), bytes: bytes.into() }
    }
}
