//! What the users of the platform do. A person is known by name and gets an id; a chat by its id.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use serde_json::{Value, json};
use tokio::time::Instant;

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
        self.user_sends(chat, user, ("document", file))
    }

    /// A file as `photo`, `voice`, `audio`, `video`, `video_note`, `animation`, `sticker` or
    /// `document`. Returns the message and the file's id.
    pub fn user_sends(&self, chat: i64, user: &str, (kind, file): (&str, File)) -> (i64, String) {
        let kept = self.shared.state().keep(file);
        let id = kept["file_id"].as_str().unwrap_or_default().to_owned();
        (self.user_posts(chat, user, media(kind, &kept)), id)
    }

    /// Photos sent as an album; the first has the caption. Returns their messages.
    pub fn user_sends_album(
        &self,
        chat: i64,
        user: &str,
        photos: Vec<File>,
        caption: &str,
    ) -> Vec<i64> {
        let mut messages = Vec::new();
        for photo in photos {
            let kept = self.shared.state().keep(photo);
            let mut fields = media("photo", &kept);
            fields["media_group_id"] = "album1".into();
            if messages.is_empty() {
                fields["caption"] = caption.into();
            }
            messages.push(self.user_posts(chat, user, fields));
        }
        messages
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

    /// When the bot confirmed the last edit of a message, after which it cannot get it again.
    pub fn edit_confirmed_at(&self, chat: i64, message: i64) -> Option<Instant> {
        self.shared.state().edits_confirmed.get(&(chat, message)).copied()
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

    /// Delivers every update once more.
    pub fn repeats_all(&self) {
        let mut state = self.shared.state();
        let again = state.history.clone();
        state.repeats.extend(again);
        drop(state);
        self.shared.changed();
    }

    pub fn user_blocks(&self, chat: i64) {
        let name = self.shared.state().chats[&chat].title.clone();
        self.bot_becomes(chat, &name, "kicked");
    }

    /// A person adds the bot (`member`) or removes it (`kicked`, `left`).
    pub fn bot_becomes(&self, chat: i64, by: &str, status: &str) {
        let mut state = self.shared.state();
        let before = state.chats.get_mut(&chat).expect("a chat that was made");
        let was = if before.blocked { "left" } else { "member" };
        before.blocked = status != "member";
        let mut now = json!({ "status": status, "user": State::bot() });
        if status == "kicked" {
            now["until_date"] = 0.into();
        }
        let moment = state.next();
        let change = json!({
            "chat": state.chat_json(chat), "from": from(&mut state, by), "date": 1_700_000_000 + moment,
            "old_chat_member": { "status": was, "user": State::bot() }, "new_chat_member": now,
        });
        state.tell("my_chat_member", change);
        drop(state);
        self.shared.changed();
    }

    /// Makes a person `creator` or `administrator` of a group, or, with `member`, neither.
    pub fn ranks(&self, chat: i64, user: &str, status: &'static str) {
        let mut state = self.shared.state();
        let person = state.person(user);
        state.chats.get_mut(&chat).expect("a chat that was made").ranks.insert(person, status);
    }

    /// Nobody may write in the topic any more.
    pub fn closes_topic(&self, chat: i64, thread: i64, user: &str) {
        let mut state = self.shared.state();
        state.chats.get_mut(&chat).expect("a chat that was made").closed.insert(thread);
        drop(state);
        self.user_posts(
            chat,
            user,
            json!({
                "forum_topic_closed": {}, "message_thread_id": thread, "is_topic_message": true,
            }),
        );
    }

    /// A group becomes a supergroup; returns the new id.
    pub fn migrate(&self, chat: i64) -> i64 {
        let to = self.group("moved");
        let mut state = self.shared.state();
        state.chats.get_mut(&chat).expect("a chat that was made").moved_to = Some(to);
        let message = state.post(chat, State::bot(), json!({ "migrate_to_chat_id": to }));
        state.tell("message", message);
        let message = state.post(to, State::bot(), json!({ "migrate_from_chat_id": chat }));
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
    Chat {
        kind,
        title: title.to_owned(),
        blocked: false,
        moved_to: None,
        topics: BTreeSet::new(),
        closed: BTreeSet::new(),
        ranks: BTreeMap::new(),
    }
}

fn from(state: &mut State, name: &str) -> Value {
    let id = state.person(name);
    json!({ "id": id, "is_bot": name == BOT_NAME, "first_name": name, "language_code": "en" })
}

/// A stored file as a message shows it.
fn media(kind: &str, kept: &Value) -> Value {
    let mut file = kept.clone();
    let mut set = |fields: Value| super::methods::extend(&mut file, fields);
    match kind {
        "photo" => {
            let size = |id: &Value, side: i64| {
                json!({
                    "file_id": id, "file_unique_id": kept["file_unique_id"],
                    "width": side, "height": side, "file_size": kept["file_size"],
                })
            };
            return json!({ "photo": [size(&"thumbnail".into(), 90), size(&kept["file_id"], 800)] });
        }
        "voice" | "audio" => set(json!({ "duration": 1 })),
        "video_note" => set(json!({ "duration": 1, "length": 240 })),
        "video" | "animation" => set(json!({ "duration": 1, "width": 320, "height": 240 })),
        "sticker" => set(json!({
            "type": "regular", "width": 512, "height": 512, "emoji": "👍",
            "is_animated": false, "is_video": false,
        })),
        _ => {}
    }
    // Which kinds keep a name, and a type, is the platform's.
    let fields = file.as_object_mut().expect("a file is an object");
    if matches!(kind, "voice" | "video_note" | "sticker") {
        fields.remove("file_name");
    }
    if matches!(kind, "video_note" | "sticker") {
        fields.remove("mime_type");
    }
    let mut message = json!({ kind: file });
    if kind == "animation" {
        message["document"] = kept.clone();
    }
    message
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
