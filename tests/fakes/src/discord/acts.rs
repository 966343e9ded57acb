//! What requests do.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{
    APPLICATION_ID, BOT_ID, Shared,
    gateway::gateway_url,
    objects,
    rules::{self, Refusal, refusal},
    state::{State, number},
    wire::{Asked, Done},
};

/// How long the platform knows a nonce again.
const NONCE_FOR: Duration = Duration::from_mins(3);
const EPHEMERAL: u64 = 1 << 6;

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
        "typing" => channel(state, asked).map(|_| Value::Null),
        "callback" => callback(state, asked),
        "followup" => followup(state, asked),
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
    check(asked)?;
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

fn check(asked: &Asked) -> Result<(), Refusal> {
    let files: Vec<_> =
        asked.files.iter().map(|(n, name, b)| (*n, name.as_str(), b.len())).collect();
    rules::message(&asked.body, &files)
}

fn nonce(body: &Value) -> Option<String> {
    match &body["nonce"] {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// The bot's message, with what was sent along.
fn compose(state: &mut State, asked: &Asked, (channel, id): (u64, u64)) -> Value {
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
        let url = format!("{}/cdn/{id}/{name}", state.base);
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
    let at = (channel(state, asked)?, asked.id(3));
    let message = state.messages.get(&at).ok_or_else(|| refusal(404, 10008, "Unknown Message"))?;
    if number(&message["author"]["id"]) != BOT_ID {
        return Err(refusal(403, 50005, "Cannot edit a message authored by another user"));
    }
    Ok(at)
}

fn edit(state: &mut State, asked: &Asked) -> Done {
    let at = own(state, asked)?;
    check(asked)?;
    revise(state, asked, at, &asked.body)
}

fn revise(state: &mut State, asked: &Asked, at: (u64, u64), body: &Value) -> Done {
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

/// The first answer to an interaction: within three seconds, and once.
fn callback(state: &mut State, asked: &Asked) -> Done {
    let id = asked.id(1);
    let unknown = || refusal(404, 10062, "Unknown interaction");
    let interaction = state.interactions.get_mut(&id).ok_or_else(unknown)?;
    let took = interaction.at.elapsed();
    if asked.path[2] != interaction.token || took > interaction.patience {
        return Err(unknown());
    }
    if interaction.answer.is_some() {
        return Err(refusal(400, 40060, "Interaction has already been acknowledged."));
    }
    let kind = asked.body["type"].as_u64().unwrap_or(0);
    let at = (interaction.channel, interaction.message);
    match kind {
        4 | 7 => rules::message(&asked.body["data"], &[])?,
        5 | 6 => {}
        _ => return Err(refusal(400, 50035, "Invalid Form Body")),
    }
    if kind == 4 && asked.body["data"]["flags"].as_u64().unwrap_or(0) & EPHEMERAL != 0 {
        interaction.whispers.push(asked.body["data"].clone());
    }
    interaction.answer = Some((kind, took));
    let mut resource = json!({ "type": kind });
    if kind == 7 {
        resource["message"] = revise(state, asked, at, &asked.body["data"])?;
    } else if kind == 4 {
        resource["message"] = whole(state, at.0, &asked.body["data"]);
    }
    if asked.query("with_response").is_none_or(|wanted| wanted != "true" && wanted != "1") {
        return Ok(Value::Null);
    }
    Ok(json!({ "interaction": { "id": id.to_string(), "type": 3 }, "resource": resource }))
}

/// What the presser alone sees, as a message.
fn whole(state: &mut State, channel: u64, data: &Value) -> Value {
    let id = state.snowflake();
    let text = data["content"].as_str().unwrap_or_default();
    let mut message = objects::message(id, channel, &state.users[&BOT_ID].clone(), text);
    message["flags"] = data["flags"].as_u64().unwrap_or(0).into();
    message["webhook_id"] = APPLICATION_ID.to_string().into();
    message["application_id"] = APPLICATION_ID.to_string().into();
    message
}

fn followup(state: &mut State, asked: &Asked) -> Done {
    let unknown = || refusal(404, 10015, "Unknown Webhook");
    if asked.id(1) != APPLICATION_ID {
        return Err(unknown());
    }
    check(asked)?;
    rules::not_empty(&asked.body, asked.files.len())?;
    let interaction = state
        .interactions
        .values_mut()
        .find(|interaction| interaction.token == asked.path[2] && interaction.answer.is_some())
        .ok_or_else(unknown)?;
    if interaction.at.elapsed() > Duration::from_mins(15) {
        return Err(refusal(401, 50027, "Invalid Webhook Token"));
    }
    let channel = interaction.channel;
    if asked.body["flags"].as_u64().unwrap_or(0) & EPHEMERAL != 0 {
        interaction.whispers.push(asked.body.clone());
        return Ok(whole(state, channel, &asked.body));
    }
    let id = state.snowflake();
    let message = compose(state, asked, (channel, id));
    state.post(channel, message.clone());
    Ok(message)
}
