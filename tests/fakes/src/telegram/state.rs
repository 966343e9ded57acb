//! What the platform remembers.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::{
    BOT_ID, BOT_NAME,
    faults::{Author, Fault},
    rules::Refusal,
};

/// The first second of this platform's time.
const EPOCH: i64 = 1_700_000_000;

#[derive(Default)]
pub(super) struct State {
    pub(super) people: BTreeMap<String, i64>,
    pub(super) chats: BTreeMap<i64, Chat>,
    pub(super) messages: BTreeMap<(i64, i64), Value>,
    pub(super) files: BTreeMap<String, File>,
    /// Not yet confirmed by an offset, or by a 200 to a push.
    pub(super) updates: Vec<Value>,
    /// When the edit of a message was last confirmed.
    pub(super) edits_confirmed: BTreeMap<(i64, i64), Instant>,
    /// Old updates that are delivered once more, whatever the offset.
    pub(super) repeats: Vec<Value>,
    pub(super) history: Vec<Value>,
    pub(super) allowed: Option<Vec<String>>,
    pub(super) webhook: Option<Webhook>,
    /// The poll that may go on waiting; an older one ends with 409.
    pub(super) poll: u64,
    /// Presses that were not answered yet.
    pub(super) presses: BTreeSet<String>,
    pub(super) toasts: Vec<Toast>,
    /// What people are offered to type, by language; the empty one is everybody's.
    pub(super) commands: BTreeMap<String, Value>,
    pub(super) drafts: Vec<Draft>,
    /// Paths of files are those of this machine's disk, as with a server of one's own.
    pub(super) local: bool,
    pub(super) disorder: Disorder,
    pub(super) calls: Vec<Call>,
    pub(super) faults: Vec<Fault>,
    /// Decides what goes wrong where no fault is planned.
    pub(super) author: Option<Author>,
    counter: i64,
}

pub(super) struct Chat {
    pub(super) kind: &'static str,
    pub(super) title: String,
    pub(super) blocked: bool,
    pub(super) moved_to: Option<i64>,
    pub(super) topics: BTreeSet<i64>,
    /// Closed topics.
    pub(super) closed: BTreeSet<i64>,
    /// Who is more than a member: `creator` or `administrator`.
    pub(super) ranks: BTreeMap<i64, &'static str>,
}

/// Every n-th update is duplicated, and every n-th is early. 0 for none.
#[derive(Default)]
pub(super) struct Disorder {
    pub(super) twice: u64,
    pub(super) swapped: u64,
    seen: u64,
}

impl Disorder {
    /// For the next delivery: whether it comes twice, and whether another comes before it.
    pub(super) fn next(&mut self) -> (bool, bool) {
        self.seen += 1;
        let hit = |every: u64| every > 0 && self.seen.is_multiple_of(every);
        (hit(self.twice), hit(self.swapped))
    }
}

#[derive(Clone, PartialEq)]
pub(super) struct Webhook {
    pub(super) url: String,
    pub(super) secret: Option<String>,
}

/// A stored file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    pub name: String,
    pub media_type: String,
    pub bytes: Bytes,
}

/// Unfinished text, as a person sees it while it grows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Draft {
    pub chat: i64,
    pub id: i64,
    pub text: String,
}

/// The answer to a press.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Toast {
    pub press: String,
    pub text: String,
    pub alert: bool,
}

/// A request and what came of it.
#[derive(Debug, Clone)]
pub struct Call {
    /// In the documentation's spelling.
    pub method: String,
    pub fields: Value,
    /// 0 where the connection was cut.
    pub status: u16,
    pub description: String,
}

/// A message as a person sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct Shown {
    pub id: i64,
    pub from_bot: bool,
    /// The text, or the caption.
    pub text: String,
    pub entities: Vec<Value>,
    /// Label and data, in reading order.
    pub buttons: Vec<(String, String)>,
    pub document: Option<String>,
    /// Shown as a picture.
    pub photo: bool,
    pub thread: Option<i64>,
    pub reply_to: Option<i64>,
}

impl State {
    pub(super) fn next(&mut self) -> i64 {
        self.counter += 1;
        self.counter
    }

    pub(super) fn person(&mut self, name: &str) -> i64 {
        let next = 500 + self.people.len() as i64;
        *self.people.entry(name.to_owned()).or_insert(next)
    }

    /// The chat, if the bot may write there.
    pub(super) fn writable(&self, id: i64) -> Result<&Chat, Refusal> {
        let chat = self.chats.get(&id).ok_or_else(|| Refusal::bad("chat not found"))?;
        if let Some(to) = chat.moved_to {
            let refusal = Refusal::bad("group chat was upgraded to a supergroup chat");
            return Err(Refusal { parameters: json!({ "migrate_to_chat_id": to }), ..refusal });
        }
        if chat.blocked {
            let text = match chat.kind {
                "private" => "Forbidden: bot was blocked by the user",
                _ => "Forbidden: bot was kicked from the supergroup chat",
            };
            return Err(Refusal {
                code: 403,
                description: text.to_owned(),
                parameters: Value::Null,
            });
        }
        Ok(chat)
    }

    pub(super) fn chat_json(&self, id: i64) -> Value {
        let chat = &self.chats[&id];
        match chat.kind {
            "private" => json!({ "id": id, "type": "private", "first_name": chat.title }),
            kind => {
                let forum = (!chat.topics.is_empty()).then_some(true);
                let mut json = json!({ "id": id, "type": kind, "title": chat.title });
                if let Some(forum) = forum {
                    json["is_forum"] = forum.into();
                }
                json
            }
        }
    }

    /// An empty message of this sender; `fields` is its content.
    pub(super) fn post(&mut self, chat: i64, from: Value, fields: Value) -> Value {
        let id = self.next();
        let mut message = json!({
            "message_id": id, "from": from, "chat": self.chat_json(chat), "date": EPOCH + id,
        });
        merge(&mut message, fields);
        self.messages.insert((chat, id), message.clone());
        message
    }

    pub(super) fn edit(&mut self, chat: i64, message: i64, fields: Value) -> Value {
        let date = EPOCH + self.next();
        let stored = self.messages.get_mut(&(chat, message)).expect("checked by the caller");
        merge(stored, fields);
        stored["edit_date"] = date.into();
        stored.clone()
    }

    pub(super) fn bot() -> Value {
        json!({ "id": BOT_ID, "is_bot": true, "first_name": "Counter", "username": BOT_NAME })
    }

    /// Puts an update of a kind that the bot asked for into the queue.
    pub(super) fn tell(&mut self, kind: &str, content: Value) -> i64 {
        let id = 100_000 + self.next();
        let wanted = self.allowed.as_ref().is_none_or(|kinds| kinds.iter().any(|k| k == kind));
        if wanted {
            let mut update = json!({ "update_id": id });
            update[kind] = content;
            self.queue(update);
        }
        id
    }

    pub(super) fn queue(&mut self, update: Value) {
        self.history.push(update.clone());
        self.updates.push(update);
    }

    pub(super) fn keep(&mut self, file: File) -> Value {
        let id = format!("file{:08}", self.next());
        let document = json!({
            "file_id": id, "file_unique_id": format!("u{id}"), "file_name": file.name,
            "mime_type": file.media_type, "file_size": file.bytes.len(),
        });
        self.files.insert(id, file);
        document
    }

    /// The messages of a chat, from that one on.
    pub(super) fn shown(&self, chat: i64, first: i64) -> Vec<Shown> {
        let messages = self.messages.range((chat, first)..=(chat, i64::MAX));
        messages.map(|((_, id), message)| show(*id, message)).collect()
    }
}

fn show(id: i64, message: &Value) -> Shown {
    let words = |name: &str| message[name].as_str().map(str::to_owned);
    let list = |name: &str| message[name].as_array().cloned();
    let rows = message["reply_markup"]["inline_keyboard"].as_array().cloned().unwrap_or_default();
    let button = |button: &Value| {
        let part = |name: &str| button[name].as_str().unwrap_or_default().to_owned();
        (part("text"), part("callback_data"))
    };
    Shown {
        id,
        from_bot: message["from"]["is_bot"] == true,
        text: words("text").or_else(|| words("caption")).unwrap_or_default(),
        entities: list("entities").or_else(|| list("caption_entities")).unwrap_or_default(),
        buttons: rows
            .iter()
            .flat_map(|row| row.as_array().into_iter().flatten())
            .map(button)
            .collect(),
        document: message["document"]["file_name"].as_str().map(str::to_owned),
        photo: message["photo"].is_array(),
        thread: message["message_thread_id"].as_i64(),
        reply_to: message["reply_to_message"]["message_id"].as_i64(),
    }
}

/// Sets fields; a null takes one away.
fn merge(into: &mut Value, fields: Value) {
    let Value::Object(fields) = fields else { return };
    let into = into.as_object_mut().expect("a message is an object");
    for (name, value) in fields {
        if value.is_null() {
            into.remove(&name);
        } else {
            into.insert(name, value);
        }
    }
}
