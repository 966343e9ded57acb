//! What requests do.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{
    APPLICATION_ID, BOT_ID, GUILD_ID, Shared,
    gateway::gateway_url,
    interactions, objects,
    rules::{self, Refusal, refusal},
    state::{State, number},
    wire::{Asked, Done},
};

/// How long the platform knows a nonce again.
const NONCE_FOR: Duration = Duration::from_mins(3);

pub(super) fn perform(shared: &Shared, asked: &Asked) -> Done {
    let mut state = shared.state();
    let state = &mut *state;
    match asked.act {
        "gateway" => Ok(json!({
            "url": gateway_url(state), "shards": 1,
            "session_start_limit": {
                "total": 1000, "remaining": 999, "reset_after": 0, "max_concurrency": 1,
            },
        })),
        "me" => Ok(state.users[&BOT_ID].clone()),
        "application" => Ok(objects::application()),
        "channel" => Ok(state.channels[&channel(state, asked)?].clone()),
        "read" => read(state, asked),
        "send" => send(state, asked),
        "edit" => edit(state, asked),
        "delete" => delete(state, asked),
        "message" => one(state, asked),
        "react" => one(state, asked).map(|_| Value::Null),
        "thread" => reopen(state, asked),
        "typing" => open(state, asked).map(|_| Value::Null),
        "commands" => commands(state, asked),
        "register" => register(state, asked),
        "guild" => guild(state, asked),
        "member" => member(state, asked),
        "callback" => interactions::callback(state, asked),
        "followup" => interactions::followup(state, asked),
        "original" => interactions::revise_original(state, asked),
        _ => Err(refusal(404, 0, "404: Not Found")),
    }
}

fn channel(state: &State, asked: &Asked) -> Result<u64, Refusal> {
    let id = asked.id(1);
    if !state.channels.contains_key(&id) {
        return Err(refusal(404, 10003, "Unknown Channel"));
    }
    if state.closed.contains(&id) {
        return Err(refusal(403, 50001, "Missing Access"));
    }
    Ok(id)
}

/// One in which something can be done: a thread that was laid aside is not.
fn open(state: &State, asked: &Asked) -> Result<u64, Refusal> {
    let id = channel(state, asked)?;
    if state.channels[&id]["thread_metadata"]["archived"] == true {
        return Err(refusal(400, 50083, "Thread is archived"));
    }
    Ok(id)
}

/// The guild, without what only the connection is sent.
fn guild(state: &State, asked: &Asked) -> Done {
    if asked.id(1) != GUILD_ID {
        return Err(refusal(404, 10004, "Unknown Guild"));
    }
    let mut guild = state.guild();
    if let Some(fields) = guild.as_object_mut() {
        fields.retain(|name, _| {
            !["channels", "threads", "members", "member_count"].contains(&name.as_str())
        });
    }
    Ok(guild)
}

/// A person's role in the guild.
fn member(state: &State, asked: &Asked) -> Done {
    if asked.id(1) != GUILD_ID {
        return Err(refusal(404, 10004, "Unknown Guild"));
    }
    let unknown = || refusal(404, 10007, "Unknown Member");
    state.users.contains_key(&asked.id(3)).then(|| state.member(asked.id(3))).ok_or_else(unknown)
}

/// Takes a thread up again.
fn reopen(state: &mut State, asked: &Asked) -> Done {
    let id = channel(state, asked)?;
    let thread = state.channels.get_mut(&id).expect("it is there");
    if !thread["thread_metadata"].is_object() || asked.body != json!({ "archived": false }) {
        return Err(refusal(400, 50035, "Invalid Form Body"));
    }
    if thread["thread_metadata"]["locked"] == true {
        return Err(refusal(403, 50013, "Missing Permissions"));
    }
    thread["thread_metadata"]["archived"] = false.into();
    Ok(thread.clone())
}

fn one(state: &State, asked: &Asked) -> Done {
    let at = (channel(state, asked)?, asked.id(3));
    let unknown = || refusal(404, 10008, "Unknown Message");
    state.messages.get(&at).cloned().ok_or_else(unknown)
}

fn ours(asked: &Asked) -> Result<(), Refusal> {
    let known = asked.id(1) == APPLICATION_ID;
    known.then_some(()).ok_or_else(|| refusal(404, 10002, "Unknown Application"))
}

/// The localized names are only returned on request.
fn commands(state: &State, asked: &Asked) -> Done {
    ours(asked)?;
    let mut all = state.commands.clone();
    if asked.query("with_localizations") != Some("true") {
        for command in &mut all {
            command["description_localizations"] = Value::Null;
        }
    }
    Ok(all.into())
}

fn register(state: &mut State, asked: &Asked) -> Done {
    ours(asked)?;
    rules::commands(&asked.body)?;
    let mut all = asked.body.as_array().cloned().unwrap_or_default();
    for command in &mut all {
        command["id"] = state.snowflake().to_string().into();
        command["version"] = state.snowflake().to_string().into();
        command["application_id"] = APPLICATION_ID.to_string().into();
        command["nsfw"] = false.into();
    }
    state.commands.clone_from(&all);
    Ok(all.into())
}

/// The messages right behind an id, or the newest; the newest first.
fn read(state: &State, asked: &Asked) -> Done {
    let channel = channel(state, asked)?;
    let limit: usize = asked.query("limit").and_then(|n| n.parse().ok()).unwrap_or(50);
    if !(1..=100).contains(&limit) {
        return Err(refusal(400, 50035, "Invalid Form Body"));
    }
    let all = state.messages.range((channel, 0)..=(channel, u64::MAX)).map(|(_, message)| message);
    let after: Option<u64> = asked.query("after").and_then(|n| n.parse().ok());
    let mut found: Vec<Value> = if let Some(after) = after {
        all.filter(|m| number(&m["id"]) > after).take(limit).cloned().collect()
    } else {
        let all: Vec<&Value> = all.collect();
        all[all.len().saturating_sub(limit)..].iter().map(|m| (*m).clone()).collect()
    };
    found.reverse();
    Ok(found.into())
}

fn send(state: &mut State, asked: &Asked) -> Done {
    let channel = channel(state, asked)?;
    take_up(state, channel)?;
    check(state, asked, channel)?;
    rules::not_empty(&asked.body, asked.files.len())?;
    let nonce = nonce(&asked.body);
    if let Some((id, at)) = nonce.as_ref().and_then(|n| state.nonces.get(&(channel, n.clone())))
        && asked.body["enforce_nonce"] == true
        && at.elapsed() < NONCE_FOR
    {
        return Ok(state.messages[&(channel, *id)].clone());
    }
    let id = state.snowflake();
    let mut message = compose(state, asked, (channel, id));
    refer(state, &mut message, channel, &asked.body["message_reference"])?;
    message["nonce"] = asked.body["nonce"].clone();
    state.post(channel, message.clone());
    if let Some(nonce) = nonce {
        state.nonces.insert((channel, nonce), (id, Instant::now()));
    }
    Ok(message)
}

/// Whoever writes into a thread that was laid aside takes it up again, if it is not locked.
fn take_up(state: &mut State, channel: u64) -> Result<(), Refusal> {
    let thread = state.channels.get_mut(&channel).expect("it is there");
    if thread["thread_metadata"]["locked"] == true {
        return Err(refusal(400, 160_005, "Thread is locked"));
    }
    if thread["thread_metadata"].is_object() {
        thread["thread_metadata"]["archived"] = false.into();
    }
    Ok(())
}

pub(super) fn check(state: &State, asked: &Asked, channel: u64) -> Result<(), Refusal> {
    let limit = state.upload_bytes(channel);
    let files: Vec<_> =
        asked.files.iter().map(|(n, name, b)| (*n, name.as_str(), b.len())).collect();
    rules::message(&asked.body, &files, limit)
}

fn nonce(body: &Value) -> Option<String> {
    match &body["nonce"] {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// The bot's message, with what was sent along.
pub(super) fn compose(state: &mut State, asked: &Asked, (channel, id): (u64, u64)) -> Value {
    let author = state.users[&BOT_ID].clone();
    let text = asked.body["content"].as_str().unwrap_or_default().trim().to_owned();
    let mut message = objects::message(id, channel, &author, &text);
    message["flags"] = asked.body["flags"].as_u64().unwrap_or(0).into();
    message["components"] = numbered(&asked.body["components"]);
    message["attachments"] = attach(state, asked);
    let pings = asked.body["allowed_mentions"]["parse"].as_array().is_none_or(|p| !p.is_empty());
    message["mention_everyone"] = (pings && text.contains("@everyone")).into();
    message
}

/// The platform numbers the parts of a message.
fn numbered(components: &Value) -> Value {
    let mut components = components.as_array().cloned().unwrap_or_default();
    let mut next = 1;
    for row in &mut components {
        row["id"] = next.into();
        next += 1;
        for button in row["components"].as_array_mut().into_iter().flatten() {
            button["id"] = next.into();
            next += 1;
        }
    }
    components.into()
}

fn attach(state: &mut State, asked: &Asked) -> Value {
    let mut attachments = Vec::new();
    for (_, name, bytes) in &asked.files {
        let id = state.snowflake();
        let name = name.replace(' ', "_");
        let url = state.address(id, &name);
        attachments.push(objects::attachment(id, (&name, bytes.len()), &url));
        state.files.insert(id, (name, bytes.clone()));
    }
    attachments.into()
}

fn refer(state: &State, message: &mut Value, channel: u64, to: &Value) -> Result<(), Refusal> {
    let id = number(&to["message_id"]);
    if id == 0 {
        return Ok(());
    }
    match state.messages.get(&(channel, id)) {
        Some(referenced) => {
            message["type"] = 19.into();
            message["message_reference"] = json!({ "type": 0, "message_id": id.to_string(), "channel_id": channel.to_string() });
            message["referenced_message"] = referenced.clone();
            Ok(())
        }
        None if to["fail_if_not_exists"] == false => Ok(()),
        None => Err(refusal(400, 50035, "Invalid Form Body: message_reference: Unknown message")),
    }
}

fn own(state: &State, asked: &Asked) -> Result<(u64, u64), Refusal> {
    let at = (open(state, asked)?, asked.id(3));
    let message = state.messages.get(&at).ok_or_else(|| refusal(404, 10008, "Unknown Message"))?;
    if number(&message["author"]["id"]) != BOT_ID {
        return Err(refusal(403, 50005, "Cannot edit a message authored by another user"));
    }
    Ok(at)
}

fn edit(state: &mut State, asked: &Asked) -> Done {
    let at = own(state, asked)?;
    check(state, asked, at.0)?;
    revise(state, asked, at, &asked.body)
}

pub(super) fn revise(state: &mut State, asked: &Asked, at: (u64, u64), body: &Value) -> Done {
    let mut message = state.messages[&at].clone();
    if let Some(text) = body["content"].as_str() {
        message["content"] = text.trim().into();
    }
    if body["components"].is_array() {
        message["components"] = numbered(&body["components"]);
    }
    if let Some(flags) = body["flags"].as_u64() {
        message["flags"] = flags.into();
    }
    if body["attachments"].is_array() || !asked.files.is_empty() {
        message["attachments"] = attach(state, asked);
    }
    let attachments = message["attachments"].as_array().map_or(0, Vec::len);
    rules::not_empty(&message, attachments)?;
    let now = state.snowflake();
    message["edited_timestamp"] = objects::time(now).into();
    state.messages.insert(at, message.clone());
    state.announce("MESSAGE_UPDATE", at.0, at.1);
    Ok(message)
}

fn delete(state: &mut State, asked: &Asked) -> Done {
    let (channel, id) = own(state, asked)?;
    state.messages.remove(&(channel, id));
    Ok(Value::Null)
}
