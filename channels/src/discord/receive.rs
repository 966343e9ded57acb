//! An event of the gateway → [`Incoming`]. Pure; what cannot be read is kept as it came.

use chrono::{DateTime, Utc};
use serde_json::Value;
use serenity::model::{
    application::{ComponentInteractionDataKind, Interaction},
    channel::{Message, MessageType},
    event::MessageUpdateEvent,
    user::User,
};

use super::{fold::fold, rooms::id};
use crate::{Incoming, Person, Place, PlaceKind, incoming::What};

/// The first millisecond of Discord's ids.
const EPOCH: u64 = 1_420_070_400_000;

/// `None` for what is no message and no interaction.
pub(super) fn incoming(name: &str, content: &Value, me: u64) -> Option<Incoming> {
    match name {
        "MESSAGE_CREATE" => Some(message(content, here(content), me)),
        "MESSAGE_UPDATE" => edited(content, me),
        "INTERACTION_CREATE" => Some(interaction(content)),
        _ => None,
    }
}

/// A message that was read by REST, which does not say what kind of channel it stands in.
pub(super) fn found(content: &Value, kind: PlaceKind, me: u64) -> Option<Incoming> {
    id(&content["id"])?;
    Some(message(content, Place { kind, ..here(content) }, me))
}

/// The id in a key.
pub(super) fn snowflake(key: &str) -> Option<u64> {
    key.strip_prefix(['m', 'i'])?.parse().ok()
}

/// Whether it is a button that we can read.
pub(super) fn is_press(interaction: &Value) -> bool {
    press(interaction).is_some()
}

fn message(content: &Value, place: Place, me: u64) -> Incoming {
    let Ok(message) = serde_json::from_value::<Message>(content.clone()) else {
        return unparsed('m', content, place);
    };
    let nick = message.member.as_ref().and_then(|member| member.nick.as_deref());
    let mut person = person(&message.author, nick, None);
    person.is_bot |= message.webhook_id.is_some();
    Incoming {
        key: format!("m{}", message.id),
        at: time(message.id.get()),
        what: said(&message, place.kind, me),
        place,
        person: Some(person),
    }
}

fn said(message: &Message, kind: PlaceKind, me: u64) -> What {
    let id = message.id.to_string();
    let spoken = matches!(message.kind, MessageType::Regular | MessageType::InlineReply);
    if !spoken || message.content.is_empty() {
        return What::Unsupported { message: id, content: content_name(message).to_owned() };
    }
    let replied = message.referenced_message.as_deref();
    let reference = message.message_reference.as_ref().and_then(|r| r.message_id);
    let answers = message.kind == MessageType::InlineReply;
    let to_us = replied.is_some_and(|replied| replied.author.id == me) && answers;
    let mentioned = message.mentions.iter().any(|user| user.id == me);
    What::Text {
        message: id,
        text: readable(&message.content, &message.mentions, me),
        reply_to: reference.filter(|_| answers).map(|id| id.to_string()),
        addressed: kind == PlaceKind::Private || to_us || mentioned,
        files: Vec::new(),
        album: None,
    }
}

/// `None` where the text stayed as it was: a link's preview was added, or a thread begun.
fn edited(content: &Value, me: u64) -> Option<Incoming> {
    content["edited_timestamp"].as_str()?;
    content["content"].as_str()?;
    let Ok(edit) = serde_json::from_value::<MessageUpdateEvent>(content.clone()) else {
        return Some(unparsed('e', content, here(content)));
    };
    let at = edit.edited_timestamp?;
    let text = edit.content.unwrap_or_default();
    let mentions = edit.mentions.unwrap_or_default();
    Some(Incoming {
        key: format!("e{}:{}", edit.id, at.timestamp_millis()),
        at: *at,
        place: here(content),
        person: edit.author.map(|author| {
            let mut person = person(&author, None, None);
            person.is_bot |= matches!(edit.webhook_id, Some(Some(_)));
            person
        }),
        what: What::Edited {
            message: edit.id.to_string(),
            text: readable(&text, &mentions, me),
            addressed: here(content).kind == PlaceKind::Private
                || mentions.iter().any(|u| u.id == me),
        },
    })
}

pub(super) fn interaction(content: &Value) -> Incoming {
    press(content).unwrap_or_else(|| unparsed('i', content, here(content)))
}

fn press(content: &Value) -> Option<Incoming> {
    let Ok(Interaction::Component(press)) = serde_json::from_value(content.clone()) else {
        return None;
    };
    if !matches!(press.data.kind, ComponentInteractionDataKind::Button) {
        return None;
    }
    let nick = press.member.as_ref().and_then(|member| member.nick.as_deref());
    let what = What::Press {
        press: format!("{}:{}:{}", press.id, press.token, press.application_id),
        message: press.message.id.to_string(),
        data: press.data.custom_id,
        reason: None,
    };
    Some(Incoming {
        key: format!("i{}", press.id),
        at: time(press.id.get()),
        place: here(content),
        person: Some(person(&press.user, nick, Some(press.locale))),
        what,
    })
}

/// What this program cannot read, under the platform's id where there is one.
fn unparsed(kind: char, content: &Value, place: Place) -> Incoming {
    let raw = content.to_string();
    let id = id(&content["id"]);
    let author = [&content["author"], &content["user"], &content["member"]["user"]];
    let author = author.into_iter().find_map(|a| serde_json::from_value::<User>(a.clone()).ok());
    Incoming {
        key: id.map_or_else(|| format!("x{}", fold(&raw)), |id| format!("{kind}{id}")),
        at: id.map_or(DateTime::UNIX_EPOCH, time),
        place,
        person: author.map(|author| person(&author, None, None)),
        what: What::Unparsed { raw },
    }
}

/// A thread has an id as a channel has, and is written to like one.
fn here(content: &Value) -> Place {
    let private = content["guild_id"].as_str().is_none();
    Place {
        chat: content["channel_id"].as_str().unwrap_or_default().to_owned(),
        thread: None,
        kind: if private { PlaceKind::Private } else { PlaceKind::Group },
    }
}

fn person(user: &User, nick: Option<&str>, language: Option<String>) -> Person {
    Person {
        id: user.id.to_string(),
        name: nick.unwrap_or_else(|| shown_name(user)).to_owned(),
        language,
        is_bot: user.bot,
        roles: Vec::new(),
    }
}

fn shown_name(user: &User) -> &str {
    user.global_name.as_deref().unwrap_or(&user.name)
}

/// When an id was given out.
fn time(snowflake: u64) -> DateTime<Utc> {
    let millis = i64::try_from((snowflake >> 22) + EPOCH).unwrap_or(0);
    DateTime::from_timestamp_millis(millis).unwrap_or_default()
}

/// Our own mention is taken off the beginning; the others become names.
fn readable(text: &str, mentions: &[User], me: u64) -> String {
    let ours = |text: &str| {
        let rest = text.strip_prefix("<@")?;
        let rest = rest.strip_prefix('!').unwrap_or(rest).strip_prefix(&me.to_string())?;
        rest.strip_prefix('>').map(|rest| rest.trim_start_matches([' ', ',', ':', '\n']).to_owned())
    };
    let mut text = ours(text.trim_start()).unwrap_or_else(|| text.to_owned());
    for user in mentions {
        let name = format!("@{}", shown_name(user));
        for written in [format!("<@{}>", user.id), format!("<@!{}>", user.id)] {
            text = text.replace(&written, &name);
        }
    }
    text
}

/// What a message without text holds, in a word.
fn content_name(message: &Message) -> &'static str {
    if let Some(file) = message.attachments.first() {
        let kind = file.content_type.as_deref().unwrap_or_default();
        return match kind.split('/').next() {
            Some("image") => "photo",
            Some("video") => "video",
            Some("audio") if file.waveform.is_some() => "voice message",
            Some("audio") => "audio file",
            _ => "document",
        };
    }
    if !message.sticker_items.is_empty() {
        "sticker"
    } else if message.poll.is_some() {
        "poll"
    } else if !message.message_snapshots.is_empty() {
        "forwarded message"
    } else {
        "message without text"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(id: u64, name: &str) -> User {
        serde_json::from_value(serde_json::json!({ "id": id.to_string(), "username": name }))
            .expect("a user")
    }

    #[test]
    fn our_mention_is_taken_off_and_the_others_are_named() {
        let (me, bob) = (user(7, "bot"), user(8, "bob"));
        let all = [me, bob];
        assert_eq!(readable("<@7> hi <@8>", &all, 7), "hi @bob");
        assert_eq!(readable("<@!7>: hi", &all, 7), "hi");
        assert_eq!(readable("hi <@7>", &all, 7), "hi @bot");
        assert_eq!(readable("<@78> hi", &all, 7), "<@78> hi");
    }

    #[test]
    fn an_id_tells_its_time() {
        assert_eq!(time(175_928_847_299_117_063).to_rfc3339(), "2016-04-30T11:18:25.796+00:00");
    }

    /// M8
    #[test]
    fn what_cannot_be_read_is_kept() {
        let odd = serde_json::json!({ "id": "5", "channel_id": "9", "author": 3, "guild_id": "1" });
        let incoming = incoming("MESSAGE_CREATE", &odd, 7).expect("kept");
        assert_eq!((incoming.key.as_str(), incoming.place.chat.as_str()), ("m5", "9"));
        assert!(matches!(incoming.what, What::Unparsed { raw } if raw.contains("author")));
        let odd = serde_json::json!({ "type": 3, "id": "6", "token": "t", "data": {} });
        assert!(!is_press(&odd));
        assert!(matches!(interaction(&odd).what, What::Unparsed { .. }));
        assert_eq!(
            interaction(&serde_json::json!({})).key,
            interaction(&serde_json::json!({})).key
        );
    }
}
