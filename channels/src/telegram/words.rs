//! The text of a message: what the person wrote and, marked as such, what others wrote.
//!
//! Text in square brackets is added here. Text of other people is placed in it on one line and
//! without brackets of its own, so that it cannot imitate anything else.

use serde_json::Value;
use teloxide::types::{Message, MessageEntity, MessageEntityKind};

use super::{
    me::Me,
    media::{self, one_line},
};
use crate::{Unit, text};

/// The maximum length of a quoted passage.
const PASSAGE: usize = 1000;

pub(super) struct MessageText {
    pub(super) text: String,
    /// Whether the message is meant for the bot: it is a command, mentions the bot, replies to it,
    /// or is in a private chat.
    pub(super) addressed: bool,
}

/// The text of a message; `None` if it has none.
pub(super) fn message_text(message: &Message, raw: &Value, me: &Me) -> Option<MessageText> {
    let own = message.text().or_else(|| message.caption());
    let described = media::described(raw);
    let quoted_text = quoted_text(raw);
    if own.is_none() && described.is_none() && media::files(raw).is_empty() {
        return None;
    }
    let marks = marks(message);
    // Commands and mentions in text of other people have no effect.
    let (text, to_us) = match (own, &quoted_text) {
        (Some(text), None) => strip_mention(text, &marks, me),
        (text, _) => (text.unwrap_or_default().to_owned(), None),
    };
    let is_command = quoted_text.is_none() && text.starts_with('/');
    let pointed = if is_command { None } else { pointed(message, raw, me) };
    let parts = [quoted_text, Some(text), links(&marks), described, pointed];
    let parts: Vec<String> = parts.into_iter().flatten().filter(|part| !part.is_empty()).collect();
    let answers_us = reply(message).is_some_and(|reply| is_ours(reply, me));
    let addressed = to_us.unwrap_or(answers_us || message.chat.is_private());
    Some(MessageText { text: parts.join("\n"), addressed })
}

/// The mark for text that is not the person's own: forwarded, or made by an inline bot.
fn quoted_text(raw: &Value) -> Option<String> {
    let forwarded = &raw["forward_origin"];
    if forwarded.is_object() {
        return Some(format!("[forwarded from {}]", origin(forwarded)));
    }
    raw["via_bot"].is_object().then(|| format!("[made by {}]", name(&raw["via_bot"])))
}

/// The author of text in the message that is not the person's own.
pub(super) fn others_in(message: &Message, raw: &Value, me: &Me) -> Option<String> {
    let forwarded = &raw["forward_origin"];
    if forwarded.is_object() {
        return Some(origin(forwarded));
    }
    if raw["via_bot"].is_object() {
        return Some(name(&raw["via_bot"]));
    }
    pointed(message, raw, me)?;
    match &raw["external_reply"]["origin"] {
        Value::Null => others(message, raw, me).map(author),
        elsewhere => Some(origin(elsewhere)),
    }
}

/// The targets of links in the text.
fn links(marks: &[Mark<'_>]) -> Option<String> {
    let link = |mark: &Mark<'_>| match mark.kind {
        MessageEntityKind::TextLink { url } => {
            Some(format!("[{}: {}]", one_line(mark.text), one_line(url.as_str())))
        }
        _ => None,
    };
    let links: Vec<String> = marks.iter().filter_map(link).collect();
    (!links.is_empty()).then(|| links.join("\n"))
}

/// The message that this one replies to. In a topic every message formally replies to the one that
/// opened it, which is ignored.
pub(super) fn reply(message: &Message) -> Option<&Message> {
    message.reply_to_message().filter(|reply| reply.forum_topic_created().is_none())
}

fn is_ours(message: &Message, me: &Me) -> bool {
    message.from.as_ref().is_some_and(|from| from.id.0 == me.id)
}

/// The message of another person in a group that this one replies to. The gateway has not received
/// it if it was not addressed to the bot.
pub(super) fn others<'a>(message: &Message, raw: &'a Value, me: &Me) -> Option<&'a Value> {
    let answered = reply(message).filter(|reply| !is_ours(reply, me))?;
    (!answered.chat.is_private()).then(|| &raw["reply_to_message"])
}

/// The quoted passage, or the message of another person that is replied to.
fn pointed(message: &Message, raw: &Value, me: &Me) -> Option<String> {
    let others = others(message, raw, me);
    // The platform quotes messages of other chats by itself.
    let is_quoting = raw["quote"]["is_manual"] == true || raw["external_reply"].is_object();
    let quote = raw["quote"]["text"].as_str().filter(|_| is_quoting);
    let said = || others.and_then(|other| other["text"].as_str().or(other["caption"].as_str()));
    let passage =
        quote.or_else(said).map(one_line).or_else(|| others.and_then(media::described))?;
    let passage = text::cut(&passage, PASSAGE, Unit::Chars);
    let who = match &raw["external_reply"]["origin"] {
        Value::Null => author(&raw["reply_to_message"]),
        elsewhere => origin(elsewhere),
    };
    Some(format!("[in answer to {who}: “{passage}”]"))
}

/// The author of a message.
fn author(message: &Value) -> String {
    match &message["sender_chat"] {
        Value::Null => name(&message["from"]),
        chat => one_line(chat["title"].as_str().unwrap_or("somebody")),
    }
}

/// The origin of a forwarded message, according to the platform.
fn origin(origin: &Value) -> String {
    let chat = [&origin["sender_chat"], &origin["chat"]].into_iter().find(|chat| chat.is_object());
    let shown = origin["sender_user_name"].as_str().or_else(|| chat?["title"].as_str());
    shown.map_or_else(|| name(&origin["sender_user"]), one_line)
}

fn name(user: &Value) -> String {
    let parts = ["first_name", "last_name"].map(|part| user[part].as_str().unwrap_or_default());
    let name = one_line(&parts.join(" "));
    if name.is_empty() { "somebody".to_owned() } else { name }
}

/// A marked range of a text.
struct Mark<'a> {
    kind: &'a MessageEntityKind,
    text: &'a str,
    start: usize,
    end: usize,
}

/// The entities of the platform. teloxide's own parser panics at an offset outside the text or
/// within a character, and such an update would be delivered again and again.
fn marks(message: &Message) -> Vec<Mark<'_>> {
    let Some(text) = message.text().or_else(|| message.caption()) else { return Vec::new() };
    let entities = message.entities().or_else(|| message.caption_entities()).unwrap_or_default();
    entities.iter().filter_map(|entity| mark(text, entity)).collect()
}

fn mark<'a>(text: &'a str, entity: &'a MessageEntity) -> Option<Mark<'a>> {
    let start = byte_at(text, entity.offset)?;
    let end = start + byte_at(&text[start..], entity.length)?;
    Some(Mark { kind: &entity.kind, text: &text[start..end], start, end })
}

/// The byte offset of an offset in UTF-16 units.
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

/// Removes the bot's name from a command and from the beginning. Returns whether the text is
/// addressed to this bot (`true`) or to another one (`false`), if it names one.
fn strip_mention(text: &str, marks: &[Mark<'_>], me: &Me) -> (String, Option<bool>) {
    let first = marks.iter().find(|e| *e.kind == MessageEntityKind::BotCommand && e.start == 0);
    if let Some(command) = first {
        let rest = &text[command.end..];
        return match command.text.split_once('@') {
            None => (text.to_owned(), Some(true)),
            Some((name, bot)) if me.is_called(bot) => (format!("{name}{rest}"), Some(true)),
            Some(_) => (text.to_owned(), Some(false)),
        };
    }
    let ours: Vec<_> = marks.iter().filter(|e| names_me(e, me)).collect();
    let lead = text.len() - text.trim_start().len();
    let text = match ours.iter().find(|e| e.start == lead) {
        Some(mention) => text[mention.end..].trim_start_matches([' ', ',', ':', '\n']).to_owned(),
        None => text.to_owned(),
    };
    (text, (!ours.is_empty()).then_some(true))
}

fn names_me(mark: &Mark<'_>, me: &Me) -> bool {
    match mark.kind {
        MessageEntityKind::Mention => me.is_called(mark.text.trim_start_matches('@')),
        MessageEntityKind::TextMention { user } => user.id.0 == me.id,
        _ => false,
    }
}
