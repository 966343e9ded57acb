//! Converts an event of the gateway to [`Incoming`]. Pure. Events that cannot be parsed are kept in
//! raw form.

use chrono::{DateTime, Utc};
use serde_json::Value;
use serenity::model::{
    channel::{Message, MessageType},
    event::MessageUpdateEvent,
    user::User,
};

use super::{
    content::{self, readable, shown_name},
    fold::fold,
    guilds::Guilds,
    ids::{id, time},
};
use crate::{Incoming, Person, Place, PlaceKind, incoming::IncomingContent};

/// `None` for events that are not messages.
pub(super) fn incoming(name: &str, content: &Value, guilds: &Guilds) -> Option<Incoming> {
    match name {
        "MESSAGE_CREATE" => Some(message(content, here(content), guilds)),
        "MESSAGE_UPDATE" => edited(content, guilds),
        _ => None,
    }
}

/// A message that was read by REST, which does not say what kind of channel it is in.
pub(super) fn found(content: &Value, kind: PlaceKind, guilds: &Guilds) -> Option<Incoming> {
    id(&content["id"])?;
    Some(message(content, Place { kind, ..here(content) }, guilds))
}

/// The bot was added to or removed from a channel, by the `mark` of the event.
pub(super) fn moved(room: u64, what: IncomingContent, mark: &str, at: DateTime<Utc>) -> Incoming {
    let place = Place { chat: room.to_string(), thread: None, kind: PlaceKind::Group };
    Incoming { key: format!("g{mark}:{room}"), at, place, person: None, what }
}

fn message(content: &Value, place: Place, guilds: &Guilds) -> Incoming {
    let Ok(message) = serde_json::from_value::<Message>(content.clone()) else {
        return unparsed('m', content, place);
    };
    let mut person = person(&message.author, content, guilds);
    person.is_bot |= message.webhook_id.is_some();
    Incoming {
        key: format!("m{}", message.id),
        at: time(message.id.get()),
        what: said(&message, content, place.kind, guilds),
        place,
        person: Some(person),
    }
}

fn said(message: &Message, content: &Value, kind: PlaceKind, guilds: &Guilds) -> IncomingContent {
    let id = message.id.to_string();
    let spoken = matches!(message.kind, MessageType::Regular | MessageType::InlineReply);
    let (text, files) =
        (content::text(message, content, guilds), content::files(content, guilds.me));
    if !spoken || (text.is_empty() && files.is_empty()) {
        return IncomingContent::Unsupported {
            message: id,
            content: "message without text".to_owned(),
        };
    }
    let answers = message.kind == MessageType::InlineReply;
    let replied = message.referenced_message.as_deref().filter(|_| answers);
    let reference = message.message_reference.as_ref().and_then(|r| r.message_id);
    let roles = message.mention_roles.iter();
    let mentioned = message.mentions.iter().any(|user| user.id == guilds.me)
        || roles.into_iter().any(|role| guilds.is_our_role(role.get()));
    let to_us = replied.is_some_and(|replied| replied.author.id == guilds.me);
    IncomingContent::Text {
        message: id,
        text,
        reply_to: reference.filter(|_| answers).map(|id| id.to_string()),
        addressed: kind == PlaceKind::Private || to_us || mentioned,
        files,
        album: None,
        quoted_author: content::others_in(message, content, guilds.me),
    }
}

/// `None` if the text is unchanged: a link preview was added, or a thread started.
fn edited(content: &Value, guilds: &Guilds) -> Option<Incoming> {
    content["edited_timestamp"].as_str()?;
    content["content"].as_str()?;
    let Ok(edit) = serde_json::from_value::<MessageUpdateEvent>(content.clone()) else {
        return Some(unparsed('e', content, here(content)));
    };
    let at = edit.edited_timestamp?;
    let text = edit.content.unwrap_or_default();
    let mentions = edit.mentions.unwrap_or_default();
    let roles = edit.mention_roles.unwrap_or_default();
    let roles: Vec<u64> = roles.into_iter().map(serenity::model::id::RoleId::get).collect();
    // As for a new message: a reply need not mention its author.
    let answers_us = edit.kind == Some(MessageType::InlineReply)
        && edit.referenced_message.flatten().is_some_and(|other| other.author.id == guilds.me);
    let place = here(content);
    Some(Incoming {
        key: format!("e{}:{}", edit.id, at.timestamp_millis()),
        at: *at,
        person: edit.author.map(|author| {
            let mut person = person(&author, content, guilds);
            person.is_bot |= matches!(edit.webhook_id, Some(Some(_)));
            person
        }),
        what: IncomingContent::Edited {
            message: edit.id.to_string(),
            text: readable(&text, &mentions, &roles, guilds),
            addressed: place.kind == PlaceKind::Private
                || answers_us
                || mentions.iter().any(|user| user.id == guilds.me)
                || roles.iter().any(|role| guilds.is_our_role(*role)),
        },
        place,
    })
}

/// An event that cannot be parsed, with the platform's id as key if it has one.
pub(super) fn unparsed(kind: char, content: &Value, place: Place) -> Incoming {
    let raw = content.to_string();
    let id = id(&content["id"]);
    let author = [&content["author"], &content["user"], &content["member"]["user"]];
    let author = author.into_iter().find_map(|a| serde_json::from_value::<User>(a.clone()).ok());
    Incoming {
        key: id.map_or_else(|| format!("x{}", fold(&raw)), |id| format!("{kind}{id}")),
        at: id.map_or(DateTime::UNIX_EPOCH, time),
        place,
        person: author.map(|author| person(&author, &Value::Null, &Guilds::default())),
        what: IncomingContent::Unparsed { raw },
    }
}

/// A thread has an id like a channel and is written to in the same way.
pub(super) fn here(content: &Value) -> Place {
    let private = content["guild_id"].as_str().is_none();
    Place {
        chat: content["channel_id"].as_str().unwrap_or_default().to_owned(),
        thread: None,
        kind: if private { PlaceKind::Private } else { PlaceKind::Group },
    }
}

fn person(user: &User, content: &Value, guilds: &Guilds) -> Person {
    let member = &content["member"];
    Person {
        id: user.id.to_string(),
        name: member["nick"].as_str().unwrap_or_else(|| shown_name(user)).to_owned(),
        language: None,
        is_bot: user.bot,
        roles: guilds.roles(&content["guild_id"], member, user.id.get()),
        roles_unknown: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves M8.
    #[test]
    fn unparsable_events_are_kept_raw() {
        let odd = serde_json::json!({ "id": "5", "channel_id": "9", "author": 3, "guild_id": "1" });
        let incoming = incoming("MESSAGE_CREATE", &odd, &Guilds::default()).expect("kept");
        assert_eq!((incoming.key.as_str(), incoming.place.chat.as_str()), ("m5", "9"));
        assert!(
            matches!(incoming.what, IncomingContent::Unparsed { raw } if raw.contains("author"))
        );
        let keys = [(); 2].map(|()| unparsed('i', &serde_json::json!({}), here(&Value::Null)).key);
        assert_eq!(keys[0], keys[1]);
    }
}
