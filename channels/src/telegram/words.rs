//! The words of a message: what the person wrote to us, and, marked as such, what others said.
//!
//! What stands in square brackets is ours. Foreign words are put there on one line and without
//! brackets of their own, so that they cannot pretend to be anything else.

use serde_json::Value;
use teloxide::types::{Message, MessageEntity, MessageEntityKind};

use super::{
    me::Me,
    media::{self, one_line},
};
use crate::{Unit, text};

/// Of a passage that is pointed at.
const PASSAGE: usize = 1000;

pub(super) struct Heard {
    pub(super) text: String,
    /// By a command, a mention, or a reply to one of our messages; or nobody else is there.
    pub(super) addressed: bool,
}

/// What a message says. `None`: nothing that has words.
pub(super) fn heard(message: &Message, raw: &Value, me: &Me) -> Option<Heard> {
    let own = message.text().or_else(|| message.caption());
    let described = media::described(raw);
    let foreign = foreign(raw);
    if own.is_none() && described.is_none() && media::files(raw).is_empty() {
        return None;
    }
    let marks = marks(message);
    // Another's words: what they command or mention, nobody here commands or mentions.
    let (text, to_us) = match (own, &foreign) {
        (Some(text), None) => hear(text, &marks, me),
        (text, _) => (text.unwrap_or_default().to_owned(), None),
    };
    let is_command = foreign.is_none() && text.starts_with('/');
    let pointed = if is_command { None } else { pointed(message, raw, me) };
    let parts = [foreign, Some(text), links(&marks), described, pointed];
    let parts: Vec<String> = parts.into_iter().flatten().filter(|part| !part.is_empty()).collect();
    let answers_us = reply(message).is_some_and(|reply| is_ours(reply, me));
    let addressed = to_us.unwrap_or(answers_us || message.chat.is_private());
    Some(Heard { text: parts.join("\n"), addressed })
}

/// Says so where the words are not the person's own: forwarded, or made by an inline bot.
fn foreign(raw: &Value) -> Option<String> {
    let forwarded = &raw["forward_origin"];
    if forwarded.is_object() {
        return Some(format!("[forwarded from {}]", origin(forwarded)));
    }
    raw["via_bot"].is_object().then(|| format!("[made by {}]", name(&raw["via_bot"])))
}

/// Whose words stand in it besides the person's own.
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

/// Where words that can be clicked lead.
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

/// The message that this one answers. In a topic each message "replies" to the one that opened
/// it; that is nobody's wish.
pub(super) fn reply(message: &Message) -> Option<&Message> {
    message.reply_to_message().filter(|reply| reply.forum_topic_created().is_none())
}

fn is_ours(message: &Message, me: &Me) -> bool {
    message.from.as_ref().is_some_and(|from| from.id.0 == me.id)
}

/// What another said in a group, which we have not seen if it was not said to us.
pub(super) fn others<'a>(message: &Message, raw: &'a Value, me: &Me) -> Option<&'a Value> {
    let answered = reply(message).filter(|reply| !is_ours(reply, me))?;
    (!answered.chat.is_private()).then(|| &raw["reply_to_message"])
}

/// The passage that is quoted, or the message of another that is answered.
fn pointed(message: &Message, raw: &Value, me: &Me) -> Option<String> {
    let others = others(message, raw, me);
    let quote = raw["quote"]["text"].as_str().filter(|_| raw["quote"]["is_manual"] == true);
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

/// Who wrote a message.
fn author(message: &Value) -> String {
    match &message["sender_chat"] {
        Value::Null => name(&message["from"]),
        chat => one_line(chat["title"].as_str().unwrap_or("somebody")),
    }
}

/// Where a forwarded message comes from, by what the platform says of it.
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
    let Some(text) = message.text().or_else(|| message.caption()) else { return Vec::new() };
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

/// Takes our name out of a command and off the beginning; says whether the text is for us, or for
/// another bot, if it names somebody.
fn hear(text: &str, marks: &[Mark<'_>], me: &Me) -> (String, Option<bool>) {
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
