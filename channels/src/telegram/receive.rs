//! An update of Telegram → [`Incoming`]. Pure; nothing is dropped here.

use chrono::{DateTime, Utc};
use serde::Deserialize;
use serde_json::Value;
use teloxide::types::{
    CallbackQuery, Chat, MaybeInaccessibleMessage, Message, MessageEntity, MessageEntityKind,
    ThreadId, Update, UpdateKind, User,
};

use crate::{Incoming, Person, Place, PlaceKind, incoming::What};

/// Our own account, out of `getMe`.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Me {
    pub(super) id: u64,
    pub(super) username: Option<String>,
}

/// `None` only without an `update_id`, which no update of Telegram lacks.
///
/// The time of a press is that of the message under which the button stands (the platform names
/// no other), and 1970 where that message is inaccessible.
pub(super) fn incoming(update: &Value, me: &Me) -> Option<Incoming> {
    let id = update["update_id"].as_u64()?;
    let raw = update.to_string();
    // From text, not from the value: teloxide's reader loses the kind of an update otherwise.
    let read = serde_json::from_str::<Update>(&raw).ok().map(|update| update.kind);
    let (name, content) = body(update);
    let found = match read {
        Some(UpdateKind::Message(m) | UpdateKind::ChannelPost(m)) => {
            Some(Found::of_message(&m, message(&m, content, me)))
        }
        Some(UpdateKind::EditedMessage(m) | UpdateKind::EditedChannelPost(m)) => {
            Some(Found::of_message(&m, edited(&m, content, me)))
        }
        Some(UpdateKind::CallbackQuery(query)) => Some(press(query)),
        Some(UpdateKind::Error(_)) | None => None,
        Some(_) => Some(Found::of_other(content, name)),
    };
    let Found { at, place, person, what } = found
        .unwrap_or_else(|| Found { what: What::Unparsed { raw }, ..Found::of_other(content, "") });
    Some(Incoming { key: format!("u{id}"), at, place, person, what })
}

struct Found {
    at: DateTime<Utc>,
    place: Place,
    person: Option<Person>,
    what: What,
}

impl Found {
    fn of_message(message: &Message, what: What) -> Self {
        let thread = message.thread_id.filter(|_| message.is_topic_message);
        Self {
            at: message.date,
            place: place(&message.chat, thread),
            person: message.from.as_ref().map(person),
            what,
        }
    }

    /// What we do not read ourselves: where and by whom, as far as it says so in the usual places.
    fn of_other(content: &Value, name: &str) -> Self {
        let chat = if content["chat"].is_object() {
            &content["chat"]
        } else {
            &content["message"]["chat"]
        };
        let from = [&content["from"], &content["user"]].into_iter().find(|u| u.is_object());
        let private = chat["type"].as_str().is_none_or(|kind| kind == "private");
        let id = chat["id"].as_i64().or_else(|| from.and_then(|user| user["id"].as_i64()));
        Self {
            at: DateTime::from_timestamp(content["date"].as_i64().unwrap_or(0), 0)
                .unwrap_or_default(),
            place: Place {
                chat: id.map(|id| id.to_string()).unwrap_or_default(),
                thread: None,
                kind: if private { PlaceKind::Private } else { PlaceKind::Group },
            },
            person: from
                .and_then(|user| serde_json::from_value::<User>(user.clone()).ok())
                .map(|user| person(&user)),
            what: What::Unsupported {
                message: content["message_id"]
                    .as_i64()
                    .map(|id| id.to_string())
                    .unwrap_or_default(),
                content: name.to_owned(),
            },
        }
    }
}

/// The kind of an update and what it carries: the one field beside its id.
fn body(update: &Value) -> (&str, &Value) {
    let fields = update.as_object().into_iter().flatten();
    let mut kinds = fields.filter(|(name, _)| *name != "update_id");
    kinds.next().map_or(("", &Value::Null), |(name, content)| (name.as_str(), content))
}

fn message(message: &Message, raw: &Value, me: &Me) -> What {
    let id = message.id.0.to_string();
    if let Some(to) = message.migrate_to_chat_id() {
        return What::Moved { to: to.0.to_string() };
    }
    let Some(text) = text(message) else {
        return What::Unsupported { message: id, content: content_name(raw) };
    };
    let reply = reply(message);
    let reply_to = reply.map(|reply| reply.id.0.to_string());
    let to_us = reply.and_then(|r| r.from.as_ref()).is_some_and(|from| from.id.0 == me.id);
    let Heard { text, addressed } = hear(text, &marks(message), me);
    let addressed = addressed || to_us || message.chat.is_private();
    let text =
        if message.text().is_some() { text } else { with_missing(&text, &content_name(raw)) };
    let (files, album) = (Vec::new(), None);
    What::Text { message: id, text, reply_to, addressed, files, album }
}

/// A caption is text; that there was more must not go unsaid.
fn with_missing(caption: &str, content: &str) -> String {
    format!("{caption}\n\n[with a {content}, which cannot be taken in yet]")
}

fn edited(message: &Message, raw: &Value, me: &Me) -> What {
    let id = message.id.0.to_string();
    match text(message) {
        Some(text) => {
            let Heard { text, addressed } = hear(text, &marks(message), me);
            let addressed = addressed || message.chat.is_private();
            What::Edited { message: id, text, addressed }
        }
        None => What::Unsupported { message: id, content: content_name(raw) },
    }
}

fn text(message: &Message) -> Option<&str> {
    message.text().or_else(|| message.caption())
}

/// A marked stretch of a text.
struct Mark<'a> {
    kind: &'a MessageEntityKind,
    text: &'a str,
    start: usize,
    end: usize,
}

/// What the platform marked. teloxide's own reader panics at an offset that is not in the text or
/// not between two characters; such an update would come again and again.
fn marks(message: &Message) -> Vec<Mark<'_>> {
    let Some(text) = text(message) else { return Vec::new() };
    let entities = message.entities().or_else(|| message.caption_entities()).unwrap_or_default();
    entities.iter().filter_map(|entity| mark(text, entity)).collect()
}

fn mark<'a>(text: &'a str, entity: &'a MessageEntity) -> Option<Mark<'a>> {
    let start = byte_at(text, entity.offset)?;
    let end = start + byte_at(&text[start..], entity.length)?;
    Some(Mark { kind: &entity.kind, text: &text[start..end], start, end })
}

/// Where in bytes an offset in UTF-16 units is.
fn byte_at(text: &str, units: usize) -> Option<usize> {
    let mut seen = 0;
    for (at, c) in text.char_indices() {
        if seen >= units {
            return (seen == units).then_some(at);
        }
        seen += c.len_utf16();
    }
    (seen == units).then_some(text.len())
}

/// The message that this one answers. In a topic each message "replies" to the one that opened
/// it; that is nobody's wish.
fn reply(message: &Message) -> Option<&Message> {
    message.reply_to_message().filter(|reply| reply.forum_topic_created().is_none())
}

struct Heard {
    text: String,
    /// By a command or a mention.
    addressed: bool,
}

/// Takes our name out of a command and off the beginning; says whether the text is for us.
fn hear(text: &str, marks: &[Mark<'_>], me: &Me) -> Heard {
    let first = marks.iter().find(|e| *e.kind == MessageEntityKind::BotCommand && e.start == 0);
    if let Some(command) = first {
        let rest = &text[command.end..];
        return match command.text.split_once('@') {
            None => Heard { text: text.to_owned(), addressed: true },
            Some((name, bot)) if is_me(bot, me) => {
                Heard { text: format!("{name}{rest}"), addressed: true }
            }
            Some(_) => Heard { text: text.to_owned(), addressed: false },
        };
    }
    let ours: Vec<_> = marks.iter().filter(|e| names_me(e, me)).collect();
    let lead = text.len() - text.trim_start().len();
    let text = match ours.iter().find(|e| e.start == lead) {
        Some(mention) => text[mention.end..].trim_start_matches([' ', ',', ':', '\n']).to_owned(),
        None => text.to_owned(),
    };
    Heard { text, addressed: !ours.is_empty() }
}

fn names_me(mark: &Mark<'_>, me: &Me) -> bool {
    match mark.kind {
        MessageEntityKind::Mention => is_me(mark.text.trim_start_matches('@'), me),
        MessageEntityKind::TextMention { user } => user.id.0 == me.id,
        _ => false,
    }
}

fn is_me(name: &str, me: &Me) -> bool {
    me.username.as_deref().is_some_and(|own| own.eq_ignore_ascii_case(name))
}

fn press(query: CallbackQuery) -> Found {
    let (at, place, message) = match &query.message {
        Some(MaybeInaccessibleMessage::Regular(m)) => {
            let thread = m.thread_id.filter(|_| m.is_topic_message);
            (m.date, place(&m.chat, thread), m.id.0.to_string())
        }
        Some(MaybeInaccessibleMessage::Inaccessible(m)) => {
            (DateTime::UNIX_EPOCH, place(&m.chat, None), m.message_id.0.to_string())
        }
        None => {
            let chat = query.from.id.0.to_string();
            let own = Place { chat, thread: None, kind: PlaceKind::Private };
            (DateTime::UNIX_EPOCH, own, query.inline_message_id.clone().unwrap_or_default())
        }
    };
    let what = match query.data {
        Some(data) => What::Press { press: query.id.0, message, data, reason: None },
        None => What::Unsupported { message, content: "game_short_name".to_owned() },
    };
    Found { at, place, person: Some(person(&query.from)), what }
}

fn place(chat: &Chat, thread: Option<ThreadId>) -> Place {
    Place {
        chat: chat.id.0.to_string(),
        thread: thread.map(|thread| thread.0.0.to_string()),
        kind: if chat.is_private() { PlaceKind::Private } else { PlaceKind::Group },
    }
}

fn person(user: &User) -> Person {
    let last = user.last_name.as_deref().unwrap_or_default();
    Person {
        id: user.id.0.to_string(),
        name: format!("{} {last}", user.first_name).trim_end().to_owned(),
        language: user.language_code.clone(),
        is_bot: user.is_bot,
        roles: Vec::new(),
    }
}

/// Fields that every message may have; what is left names the content, also one that was invented
/// after this was written.
const ENVELOPE: [&str; 34] = [
    "message_id",
    "message_thread_id",
    "from",
    "sender_chat",
    "sender_boost_count",
    "date",
    "chat",
    "sender_business_bot",
    "business_connection_id",
    "forward_origin",
    "is_topic_message",
    "is_automatic_forward",
    "reply_to_message",
    "external_reply",
    "quote",
    "reply_to_story",
    "reply_to_checklist_task_id",
    "via_bot",
    "edit_date",
    "has_protected_content",
    "is_from_offline",
    "is_paid_post",
    "media_group_id",
    "author_signature",
    "paid_star_count",
    "effect_id",
    "reply_markup",
    "caption",
    "caption_entities",
    "show_caption_above_media",
    "has_media_spoiler",
    "entities",
    "link_preview_options",
    "direct_messages_topic",
];

fn content_name(raw: &Value) -> String {
    let fields: Vec<&str> =
        raw.as_object().into_iter().flatten().map(|(name, _)| name.as_str()).collect();
    // An animation is sent as a document too, for old clients; a venue as a location.
    let special = ["animation", "venue"].into_iter().find(|name| fields.contains(name));
    let other = || fields.iter().copied().find(|name| !ENVELOPE.contains(name));
    special.or_else(other).unwrap_or("unknown").to_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn me() -> Me {
        Me { id: 7, username: Some("our_bot".to_owned()) }
    }

    fn update(text: &str, entities: Value) -> Value {
        json!({ "update_id": 1, "message": {
            "message_id": 2, "date": 1_700_000_000, "text": text, "entities": entities,
            "chat": { "id": -5, "type": "supergroup", "title": "T" },
            "from": { "id": 6, "is_bot": false, "first_name": "A", "last_name": "B" },
        }})
    }

    fn heard(text: &str, entities: Value) -> (String, bool) {
        match incoming(&update(text, entities), &me()).map(|incoming| incoming.what) {
            Some(What::Text { text, addressed, .. }) => (text, addressed),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn offsets_count_utf16_and_a_wrong_one_marks_nothing() {
        let mention = |offset: u64, length: u64| json!([{ "type": "mention", "offset": offset, "length": length }]);
        assert_eq!(heard("👍 @our_bot x", mention(3, 8)), ("👍 @our_bot x".to_owned(), true));
        for (offset, length) in [(1, 8), (3, 99), (99, 1), (u64::from(u32::MAX), 1)] {
            assert!(!heard("👍 @our_bot x", mention(offset, length)).1, "{offset} {length}");
        }
    }

    /// M12
    #[test]
    fn a_person_is_mentioned_by_id_where_they_have_no_name() {
        let user = json!({ "id": 7, "is_bot": true, "first_name": "Bot" });
        let entity = json!([{ "type": "text_mention", "offset": 0, "length": 3, "user": user }]);
        assert_eq!(heard("Bot, go", entity), ("go".to_owned(), true));
    }

    /// M8
    #[test]
    fn other_updates_say_where_and_by_whom() {
        let joined = json!({ "update_id": 3, "my_chat_member": {
            "chat": { "id": -5, "type": "supergroup", "title": "T" }, "date": 1_700_000_000,
            "from": { "id": 6, "is_bot": false, "first_name": "A" },
            "old_chat_member": { "status": "left", "user": { "id": 7, "is_bot": true, "first_name": "B" } },
            "new_chat_member": { "status": "member", "user": { "id": 7, "is_bot": true, "first_name": "B" } },
        }});
        let seen = incoming(&joined, &me()).expect("an update");
        assert_eq!(seen.place.chat, "-5");
        assert_eq!(seen.person.map(|p| p.id).as_deref(), Some("6"));
        assert!(
            matches!(seen.what, What::Unsupported { content, .. } if content == "my_chat_member")
        );
    }

    /// Any JSON, in places where an update has something.
    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            "[/@a-z👍]{0,9}".prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 24, 6, |inner| {
            let names = prop::sample::select(vec![
                "message",
                "chat",
                "id",
                "from",
                "date",
                "text",
                "entities",
                "offset",
                "length",
                "type",
                "message_id",
                "data",
                "photo",
                "reply_to_message",
                "is_bot",
                "first_name",
            ]);
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::vec((names, inner), 0..6).prop_map(|fields| {
                    fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
                }),
            ]
        })
    }

    proptest! {
        /// M8
        #[test]
        fn whatever_an_update_holds_it_becomes_an_event(
            kind in "message|edited_message|channel_post|callback_query|poll|x",
            field in "text|entities|from|chat|date|reply_to_message|message_id|sender_chat|x",
            odd in any_json(),
            replace in any::<bool>(),
        ) {
            let mut content = update("/a @our_bot", json!([]))["message"].clone();
            content[field] = odd.clone();
            let content = if replace { odd } else { content };
            let mut update = json!({ "update_id": 9 });
            update[kind] = content;
            prop_assert_eq!(incoming(&update, &me()).map(|i| i.key), Some("u9".to_owned()));
        }
    }
}
