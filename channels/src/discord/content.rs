//! The contents of a message as text and files. Text of other people is quoted.

use serde_json::Value;
use serenity::model::{channel::Message, user::User};

use super::{files, guilds::Guilds};
use crate::FileRef;

/// The maximum number of forwarded messages that are read.
const FORWARDED: usize = 10;

/// The text of a message. The person's own words come first, since a command is recognised at the
/// beginning.
pub(super) fn text(message: &Message, content: &Value, guilds: &Guilds) -> String {
    let roles: Vec<u64> = message.mention_roles.iter().map(|role| role.get()).collect();
    let own = readable(&message.content, &message.mentions, &roles, guilds);
    let is_command = own.starts_with('/');
    let mut parts = vec![own];
    for sticker in list(&content["sticker_items"]) {
        parts.push(format!("[Sticker: {}]", line(&sticker["name"])));
    }
    if content["poll"].is_object() {
        parts.push(poll(&content["poll"]));
    }
    for forwarded in forwarded(content) {
        parts.extend(quoted("Forwarded message", forwarded));
    }
    if let Some(answered) = message.referenced_message.as_deref()
        && answered.author.id != guilds.me
        && !is_command
    {
        let name = line(&Value::from(shown_name(&answered.author)));
        parts.extend(quoted(&format!("In reply to {name}"), &content["referenced_message"]));
    }
    parts.retain(|part| !part.is_empty());
    parts.join("\n\n")
}

/// All files: the person's own, those of forwarded messages, and those of the message that is
/// replied to.
pub(super) fn files(content: &Value, me: u64) -> Vec<FileRef> {
    let (channel, id) = (&content["channel_id"], &content["id"]);
    let answered = &content["referenced_message"];
    let to_others = answered["author"]["id"].as_str().is_some_and(|id| id != me.to_string());
    let mut files: Vec<FileRef> = files::of(content, channel, id).collect();
    files.extend(forwarded(content).flat_map(|forwarded| files::of(forwarded, channel, id)));
    if to_others {
        files.extend(files::of(answered, &answered["channel_id"], &answered["id"]));
    }
    files
}

/// The author of text in the message that is not the person's own. The platform does not name the
/// author of a forwarded message.
pub(super) fn others_in(message: &Message, content: &Value, me: u64) -> Option<String> {
    if forwarded(content).next().is_some() {
        return Some("somebody elsewhere".to_owned());
    }
    let answered = message.referenced_message.as_deref().filter(|other| other.author.id != me)?;
    Some(line(&Value::from(shown_name(&answered.author))))
}

/// Removes a mention of the bot at the beginning, and replaces other mentions with names.
pub(super) fn readable(text: &str, users: &[User], roles: &[u64], guilds: &Guilds) -> String {
    let me = guilds.me;
    let ours = [format!("<@{me}>"), format!("<@!{me}>")];
    let role = roles.iter().filter(|role| guilds.is_our_role(**role)).map(|r| format!("<@&{r}>"));
    let mut own = ours.into_iter().chain(role);
    let spoken = own.find_map(|mention| text.trim_start().strip_prefix(&mention));
    let spoken = spoken.map(|rest| rest.trim_start_matches([' ', ',', ':', '\n']));
    let mut text = spoken.unwrap_or(text).to_owned();
    for user in users {
        let name = format!("@{}", shown_name(user));
        for written in [format!("<@{}>", user.id), format!("<@!{}>", user.id)] {
            text = text.replace(&written, &name);
        }
    }
    text
}

pub(super) fn shown_name(user: &User) -> &str {
    user.global_name.as_deref().unwrap_or(&user.name)
}

fn poll(poll: &Value) -> String {
    let answers = list(&poll["answers"]).map(|a| format!("- {}", line(&a["poll_media"]["text"])));
    let poll_title = format!("[Poll] {}", line(&poll["question"]["text"]));
    [poll_title].into_iter().chain(answers).collect::<Vec<_>>().join("\n")
}

fn forwarded(content: &Value) -> impl Iterator<Item = &Value> {
    list(&content["message_snapshots"]).take(FORWARDED).map(|snapshot| &snapshot["message"])
}

/// Quotes every line, so that nothing in it looks like the person's own words.
fn quoted(title: &str, message: &Value) -> Option<String> {
    let text = message["content"].as_str().unwrap_or_default().trim();
    let files = message["attachments"].as_array().is_some_and(|files| !files.is_empty());
    if text.is_empty() && !files {
        return None;
    }
    let lines = text.lines().map(|line| format!("> {line}"));
    Some([format!("[{title}]")].into_iter().chain(lines).collect::<Vec<_>>().join("\n"))
}

/// Text that other people have chosen, reduced to one line.
fn line(text: &Value) -> String {
    let text = text.as_str().unwrap_or_default();
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace(']', ")")
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn user(id: u64, name: &str) -> User {
        serde_json::from_value(json!({ "id": id.to_string(), "username": name })).expect("a user")
    }

    fn guilds() -> Guilds {
        let mut guilds = Guilds::default();
        guilds.apply("READY", &json!({ "user": { "id": "7" } }));
        let role = json!({ "id": "31", "tags": { "bot_id": "7" } });
        guilds.apply("GUILD_CREATE", &json!({ "id": "1", "roles": [role] }));
        guilds
    }

    #[test]
    fn our_mention_is_taken_off_and_the_others_are_named() {
        let all = [user(7, "bot"), user(8, "bob")];
        let read = |text: &str| readable(text, &all, &[31, 32], &guilds());
        assert_eq!(read("<@7> hi <@8>"), "hi @bob");
        assert_eq!(read("<@!7>: hi"), "hi");
        assert_eq!(read("hi <@7>"), "hi @bot");
        assert_eq!(read("<@78> hi"), "<@78> hi");
        assert_eq!(read("<@&31>, hi"), "hi");
        assert_eq!(read("<@&32> hi"), "<@&32> hi");
    }

    #[test]
    fn forwarded_text_is_quoted_line_by_line() {
        let said = json!({ "content": "one\n\n[Poll] two", "attachments": [] });
        assert_eq!(
            quoted("Forwarded message", &said).as_deref(),
            Some("[Forwarded message]\n> one\n> \n> [Poll] two")
        );
        assert_eq!(quoted("x", &json!({ "content": " " })), None);
        let poll_of = json!({
            "question": { "text": "Tea\nor coffee?" },
            "answers": [{ "poll_media": { "text": "tea" } }, { "poll_media": { "text": "both" } }],
        });
        assert_eq!(poll(&poll_of), "[Poll] Tea or coffee?\n- tea\n- both");
    }
}
