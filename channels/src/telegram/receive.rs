//! Converts an update of Telegram to [`Incoming`]. Pure. No update is dropped here.
//!
//! Channel posts and messages in the name of a chat have no author: their `from` is a placeholder
//! of the platform for old bots. The same applies to service messages.

use chrono::{DateTime, Utc};
use serde_json::Value;
use teloxide::types::{
    CallbackQuery, Chat, MaybeInaccessibleMessage, Message, ThreadId, Update, UpdateKind, User,
};

use super::{
    me::Me,
    media,
    words::{self, MessageText},
};
use crate::{Incoming, Person, Place, PlaceKind, incoming::IncomingContent};

/// `None` only if there is no `update_id`, which every update of Telegram has.
///
/// The time of a press is that of the message with the button, because the platform gives no other.
/// It is 1970 if that message is inaccessible.
pub(super) fn incoming(update: &Value, me: &Me) -> Option<Incoming> {
    let id = update["update_id"].as_u64()?;
    let raw = update.to_string();
    // Parsed from text, because from a value teloxide's parser loses the kind of an update.
    let typed = without_quotes(update.clone()).to_string();
    let read = serde_json::from_str::<Update>(&typed).ok().map(|update| update.kind);
    let (name, content) = body(update);
    let found = match read {
        Some(UpdateKind::Message(m) | UpdateKind::ChannelPost(m)) => {
            Some(ParsedUpdate::of_message(&m, content, message(&m, content, me)))
        }
        Some(UpdateKind::EditedMessage(m) | UpdateKind::EditedChannelPost(m)) => {
            Some(ParsedUpdate::of_message(&m, content, edited(&m, content, me)))
        }
        Some(UpdateKind::CallbackQuery(query)) => Some(press(query)),
        _ if name == "my_chat_member" => membership(content),
        Some(UpdateKind::Error(_)) | None => None,
        Some(_) => Some(ParsedUpdate::of_other(content, name)),
    };
    let ParsedUpdate { at, place, person, what } = found.unwrap_or_else(|| ParsedUpdate {
        what: IncomingContent::Unparsed { raw },
        ..ParsedUpdate::of_other(content, "")
    });
    Some(Incoming { key: format!("{}:{id}", me.id), at, place, person, what })
}

struct ParsedUpdate {
    at: DateTime<Utc>,
    place: Place,
    person: Option<Person>,
    what: IncomingContent,
}

impl ParsedUpdate {
    fn of_message(message: &Message, raw: &Value, what: IncomingContent) -> Self {
        let thread = message.thread_id.filter(|_| message.is_topic_message);
        let mut place = place(&message.chat, thread);
        if let Some(before) = raw["migrate_from_chat_id"].as_i64() {
            place.chat = before.to_string();
        }
        let is_nobodys = message.sender_chat.is_some() || is_service(&what);
        let from = message.from.as_ref().filter(|_| !is_nobodys);
        Self { at: message.date, place, person: from.map(person), what }
    }

    /// The place and person of an update that is not supported, if they are in the usual fields.
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
            what: IncomingContent::Unsupported {
                message: content["message_id"]
                    .as_i64()
                    .map(|id| id.to_string())
                    .unwrap_or_default(),
                content: name.to_owned(),
            },
        }
    }
}

/// The update without fields that are only read from the raw one. teloxide cannot parse most
/// replies to messages of other chats: it requires that these have a file and a public id.
fn without_quotes(mut update: Value) -> Value {
    match &mut update {
        Value::Object(fields) => {
            fields.retain(|name, _| !matches!(name.as_str(), "external_reply" | "quote"));
            fields.values_mut().for_each(|field| *field = without_quotes(field.take()));
        }
        Value::Array(items) => {
            for item in items {
                *item = without_quotes(item.take());
            }
        }
        _ => {}
    }
    update
}

/// The kind of an update and its contents: the only field besides its id.
fn body(update: &Value) -> (&str, &Value) {
    let fields = update.as_object().into_iter().flatten();
    let mut kinds = fields.filter(|(name, _)| *name != "update_id");
    kinds.next().map_or(("", &Value::Null), |(name, content)| (name.as_str(), content))
}

fn message(message: &Message, raw: &Value, me: &Me) -> IncomingContent {
    let id = message.id.0.to_string();
    if let Some(to) = message.migrate_to_chat_id() {
        return IncomingContent::Moved { to: to.0.to_string() };
    }
    if raw["migrate_from_chat_id"].is_i64() {
        return IncomingContent::Moved { to: message.chat.id.0.to_string() };
    }
    if raw["forum_topic_closed"].is_object() {
        return IncomingContent::Expelled;
    }
    if raw["forum_topic_reopened"].is_object() {
        return IncomingContent::Admitted;
    }
    let Some(MessageText { text, addressed }) = words::message_text(message, raw, me) else {
        return IncomingContent::Unsupported { message: id, content: content_name(raw) };
    };
    let reply_to = words::reply(message).map(|reply| reply.id.0.to_string());
    let mut files = media::files(raw);
    // For example the reply "read this" to a file that another person sent here.
    files.extend(words::others(message, raw, me).map(media::files).unwrap_or_default());
    let album = raw["media_group_id"].as_str().map(str::to_owned);
    let quoted_author = words::others_in(message, raw, me);
    IncomingContent::Text { message: id, text, reply_to, addressed, files, album, quoted_author }
}

/// An edit with a new file is described by the file's name. A live location that moves is ignored.
fn edited(message: &Message, raw: &Value, me: &Me) -> IncomingContent {
    let id = message.id.0.to_string();
    let Some(MessageText { mut text, addressed }) = words::message_text(message, raw, me) else {
        return IncomingContent::Unsupported { message: id, content: content_name(raw) };
    };
    if let Some(file) = media::files(raw).first().filter(|_| text.is_empty()) {
        text = format!("[file {}]", file.name);
    }
    let addressed = addressed && !raw["location"].is_object();
    IncomingContent::Edited { message: id, text, addressed }
}

/// The bot's new status in the chat. A bot that may not write counts as removed.
fn membership(content: &Value) -> Option<ParsedUpdate> {
    let member = &content["new_chat_member"];
    let what = match member["status"].as_str()? {
        "left" | "kicked" => IncomingContent::Expelled,
        "restricted" if member["is_member"] == false || member["can_send_messages"] == false => {
            IncomingContent::Expelled
        }
        _ => IncomingContent::Admitted,
    };
    Some(ParsedUpdate { what, ..ParsedUpdate::of_other(content, "") })
}

fn press(query: CallbackQuery) -> ParsedUpdate {
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
        Some(data) => IncomingContent::Press { press: query.id.0, message, data, reason: None },
        None => IncomingContent::Unsupported { message, content: "game_short_name".to_owned() },
    };
    ParsedUpdate { at, place, person: Some(person(&query.from)), what }
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
        roles_unknown: false,
    }
}

/// Fields that any message may have. The remaining field names the content, including kinds that
/// were added to the API later.
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

/// Service messages of the platform, by the prefix of the field's name.
const SERVICES: [&str; 31] = [
    "boost_added",
    "channel_chat_created",
    "chat_background_set",
    "chat_shared",
    "checklist_tasks_",
    "connected_website",
    "delete_chat_photo",
    "direct_message_price_changed",
    "forum_topic_",
    "general_forum_topic_",
    "gift",
    "giveaway",
    "group_chat_created",
    "left_chat_member",
    "message_auto_delete_timer_changed",
    "new_chat_",
    "paid_message_price_changed",
    "passport_data",
    "pinned_message",
    "proximity_alert_triggered",
    "refunded_payment",
    "successful_payment",
    "suggested_post_",
    "supergroup_chat_created",
    "unique_gift",
    "users_shared",
    "video_chat_",
    "voice_chat_",
    "web_app_data",
    "write_access_allowed",
    "managed_bot_created",
];

fn is_service(what: &IncomingContent) -> bool {
    matches!(what, IncomingContent::Unsupported { content, .. }
        if SERVICES.iter().any(|service| content.starts_with(service)))
}

fn content_name(raw: &Value) -> String {
    let fields: Vec<&str> =
        raw.as_object().into_iter().flatten().map(|(name, _)| name.as_str()).collect();
    // The platform also sends an animation as a document, for old clients, and a venue as a
    // location.
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

    fn message_text(text: &str, entities: Value) -> (String, bool) {
        match incoming(&update(text, entities), &me()).map(|incoming| incoming.what) {
            Some(IncomingContent::Text { text, addressed, .. }) => (text, addressed),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn offsets_count_utf16_and_a_wrong_one_marks_nothing() {
        let mention = |offset: u64, length: u64| json!([{ "type": "mention", "offset": offset, "length": length }]);
        assert_eq!(
            message_text("👍 @our_bot x", mention(3, 8)),
            ("👍 @our_bot x".to_owned(), true)
        );
        for (offset, length) in [(1, 8), (3, 99), (99, 1), (u64::from(u32::MAX), 1)] {
            assert!(!message_text("👍 @our_bot x", mention(offset, length)).1, "{offset} {length}");
        }
    }

    /// Proves M12.
    #[test]
    fn a_person_is_mentioned_by_id_where_they_have_no_name() {
        let user = json!({ "id": 7, "is_bot": true, "first_name": "Bot" });
        let entity = json!([{ "type": "text_mention", "offset": 0, "length": 3, "user": user }]);
        assert_eq!(message_text("Bot, go", entity), ("go".to_owned(), true));
    }

    /// The author of forwarded text is reported, so that it can be treated as untrusted.
    /// Proves S1.
    #[test]
    fn words_of_others_are_named() {
        let quoted_author = |more: Value| {
            let mut update = update("look", json!([]));
            let message = update["message"].as_object_mut().unwrap();
            message.extend(more.as_object().unwrap().clone());
            match incoming(&update, &me()).map(|incoming| incoming.what) {
                Some(IncomingContent::Text { quoted_author, .. }) => quoted_author,
                other => panic!("{other:?}"),
            }
        };
        let eve = json!({ "id": 9, "is_bot": false, "first_name": "Eve" });
        let bot = json!({ "id": 7, "is_bot": true, "first_name": "Bot" });
        let group = json!({ "id": -5, "type": "supergroup", "title": "T" });
        let said = |by: &Value| json!({ "message_id": 1, "date": 1, "chat": group, "from": by, "text": "x" });
        let origin = json!({ "type": "user", "date": 1, "sender_user": eve });
        assert_eq!(quoted_author(json!({})), None);
        assert_eq!(quoted_author(json!({ "forward_origin": origin })).as_deref(), Some("Eve"));
        assert_eq!(quoted_author(json!({ "via_bot": eve })).as_deref(), Some("Eve"));
        assert_eq!(
            quoted_author(json!({ "reply_to_message": said(&eve) })).as_deref(),
            Some("Eve")
        );
        assert_eq!(quoted_author(json!({ "reply_to_message": said(&bot) })), None, "our own words");
    }

    /// The platform quotes a message of another chat, which the bot cannot see.
    /// Proves M8, S1.
    #[test]
    fn a_reply_to_a_message_of_another_chat_is_read_with_its_quote() {
        let mut answer = update("why?", json!([]));
        let mut update = update("look", json!([]));
        let eve = json!({ "id": 9, "is_bot": false, "first_name": "Eve" });
        let origin = json!({ "type": "user", "date": 1, "sender_user": eve });
        update["message"]["external_reply"] = json!({ "origin": origin });
        update["message"]["quote"] = json!({ "text": "the plan", "position": 0 });
        let read = |update: &Value| match incoming(update, &me()).map(|incoming| incoming.what) {
            Some(IncomingContent::Text { text, quoted_author, .. }) => (text, quoted_author),
            other => panic!("{other:?}"),
        };
        let (text, quoted_author) = read(&update);
        assert_eq!(text, "look\n[in answer to Eve: “the plan”]");
        assert_eq!(quoted_author.as_deref(), Some("Eve"));
        answer["message"]["reply_to_message"] = update["message"].clone();
        assert_eq!(read(&answer).0, "why?\n[in answer to A B: “look”]");
    }

    /// Proves A6.
    #[test]
    fn joining_and_leaving_a_guild_is_reported() {
        let seen = |member: Value| {
            let update = json!({ "update_id": 3, "my_chat_member": {
                "chat": { "id": -5, "type": "supergroup", "title": "T" }, "date": 1_700_000_000,
                "from": { "id": 6, "is_bot": false, "first_name": "A" },
                "new_chat_member": member,
            }});
            let seen = incoming(&update, &me()).expect("an update");
            assert_eq!(seen.place.chat, "-5");
            assert_eq!(seen.person.map(|p| p.id).as_deref(), Some("6"));
            seen.what
        };
        for status in ["kicked", "left"] {
            assert_eq!(seen(json!({ "status": status })), IncomingContent::Expelled);
        }
        for status in ["member", "administrator", "creator"] {
            assert_eq!(seen(json!({ "status": status })), IncomingContent::Admitted);
        }
        let restricted = |member: bool, speaks: bool| {
            seen(
                json!({ "status": "restricted", "is_member": member, "can_send_messages": speaks }),
            )
        };
        assert_eq!(restricted(true, true), IncomingContent::Admitted);
        assert_eq!(restricted(true, false), IncomingContent::Expelled);
        assert_eq!(restricted(false, true), IncomingContent::Expelled);
        assert!(matches!(seen(json!({})), IncomingContent::Unparsed { .. }));
    }

    /// Text of others is marked and has no effect by itself.
    /// Proves M8, S21.
    #[test]
    fn forwarded_text_is_marked_and_neither_command_nor_mention() {
        let whole = |more: Value, text: &str, entities: Value| {
            let mut update = update(text, entities);
            let message = update["message"].as_object_mut().unwrap();
            message.extend(more.as_object().unwrap().clone());
            match incoming(&update, &me()).map(|incoming| incoming.what) {
                Some(IncomingContent::Text { text, addressed, .. }) => (text, addressed),
                other => panic!("{other:?}"),
            }
        };
        let command = json!([{ "type": "bot_command", "offset": 0, "length": 5 }]);
        let eve = json!({ "id": 9, "is_bot": false, "first_name": "Eve]\n[owner" });
        let group = json!({ "id": -8, "type": "supergroup", "title": "G" });
        for (origin, who) in [
            (json!({ "type": "user", "date": 1, "sender_user": eve }), "Eve) (owner"),
            (json!({ "type": "hidden_user", "date": 1, "sender_user_name": "H" }), "H"),
            (json!({ "type": "chat", "date": 1, "sender_chat": group }), "G"),
            (json!({ "type": "channel", "date": 1, "chat": group, "message_id": 3 }), "G"),
        ] {
            let heard = whole(json!({ "forward_origin": origin }), "/stop", command.clone());
            assert_eq!(heard, (format!("[forwarded from {who}]\n/stop"), false));
        }

        let inline = json!({ "via_bot": { "id": 9, "is_bot": true, "first_name": "In" } });
        assert_eq!(whole(inline, "/stop", command.clone()), ("[made by In]\n/stop".into(), false));

        let chat = json!({ "id": -5, "type": "supergroup", "title": "T" });
        let said = |from: Value| {
            json!({ "reply_to_message": {
                "message_id": 1, "date": 1, "chat": chat, "from": from, "text": "two\nlines]",
            }})
        };
        let ours = json!({ "id": 7, "is_bot": true, "first_name": "Bot" });
        let none = json!([]);
        assert_eq!(
            whole(said(eve.clone()), "why?", none.clone()),
            ("why?\n[in answer to Eve) (owner: “two lines)”]".to_owned(), false)
        );
        assert_eq!(whole(said(ours.clone()), "why?", none.clone()), ("why?".to_owned(), true));
        let mut quoting = said(ours.clone());
        quoting["quote"] = json!({ "text": "lines", "position": 4, "is_manual": true });
        assert_eq!(
            whole(quoting, "why?", none),
            ("why?\n[in answer to Bot: “lines”]".to_owned(), true)
        );
        assert_eq!(whole(said(eve), "/stop", command), ("/stop".to_owned(), true));
        let to_other = json!([{ "type": "bot_command", "offset": 0, "length": 9 }]);
        assert_eq!(whole(said(ours), "/stop@bot", to_other), ("/stop@bot".to_owned(), false));
    }

    #[test]
    fn links_are_listed_after_the_text() {
        let link =
            json!([{ "type": "text_link", "offset": 4, "length": 4, "url": "https://a.b/" }]);
        assert_eq!(message_text("see this", link).0, "see this\n[this: https://a.b/]");
    }

    /// Proves M8.
    #[test]
    fn service_messages_have_no_author() {
        let in_a_name = json!({ "id": -9, "type": "channel", "title": "C" });
        for (field, value) in [
            ("sender_chat", in_a_name),
            ("pinned_message", json!({})),
            ("forum_topic_created", json!({ "name": "x", "icon_color": 1 })),
            ("write_access_allowed", json!({})),
        ] {
            let mut update = update("hello", json!([]));
            let message = update["message"].as_object_mut().unwrap();
            if field != "sender_chat" {
                message.remove("text");
                message.remove("entities");
            }
            message.insert(field.to_owned(), value);
            let seen = incoming(&update, &me()).expect("an update");
            assert_eq!(seen.person, None, "{field}");
        }
    }

    #[test]
    fn a_migrated_group_names_its_old_id() {
        let mut update = update("", json!([]));
        update["message"]["migrate_from_chat_id"] = (-4).into();
        update["message"].as_object_mut().unwrap().remove("text");
        let seen = incoming(&update, &me()).expect("an update");
        assert_eq!(
            (seen.place.chat.as_str(), seen.what),
            ("-4", IncomingContent::Moved { to: "-5".into() })
        );
    }

    /// Proves A6.
    #[test]
    fn a_closed_topic_counts_as_a_removal_of_the_bot() {
        for (service, what) in [
            ("forum_topic_closed", IncomingContent::Expelled),
            ("forum_topic_reopened", IncomingContent::Admitted),
        ] {
            let mut update = update("", json!([]));
            let message = update["message"].as_object_mut().unwrap();
            message.remove("text");
            message.insert(service.to_owned(), json!({}));
            message.insert("message_thread_id".to_owned(), 3.into());
            message.insert("is_topic_message".to_owned(), true.into());
            let seen = incoming(&update, &me()).expect("an update");
            assert_eq!((seen.place.thread.as_deref(), seen.what), (Some("3"), what));
        }
    }

    /// Proves M8.
    #[test]
    fn other_updates_say_where_and_by_whom() {
        let left = json!({ "update_id": 3, "chat_member": {
            "chat": { "id": -5, "type": "supergroup", "title": "T" }, "date": 1_700_000_000,
            "from": { "id": 6, "is_bot": false, "first_name": "A" },
            "old_chat_member": { "status": "member", "user": { "id": 8, "is_bot": false, "first_name": "B" } },
            "new_chat_member": { "status": "left", "user": { "id": 8, "is_bot": false, "first_name": "B" } },
        }});
        let seen = incoming(&left, &me()).expect("an update");
        assert_eq!(seen.place.chat, "-5");
        assert_eq!(seen.person.map(|p| p.id).as_deref(), Some("6"));
        assert!(
            matches!(seen.what, IncomingContent::Unsupported { content, .. } if content == "chat_member")
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
        /// Proves M8.
        #[test]
        fn every_update_becomes_an_event(
            kind in "message|edited_message|channel_post|callback_query|my_chat_member|poll|x",
            field in "text|entities|from|chat|date|reply_to_message|message_id|sender_chat|photo|\
                poll|forward_origin|quote|new_chat_member|x",
            odd in any_json(),
            replace in any::<bool>(),
        ) {
            let mut content = update("/a @our_bot", json!([]))["message"].clone();
            content[field] = odd.clone();
            let content = if replace { odd } else { content };
            let mut update = json!({ "update_id": 9 });
            update[kind] = content;
            prop_assert_eq!(incoming(&update, &me()).map(|i| i.key), Some("7:9".to_owned()));
        }
    }
}
