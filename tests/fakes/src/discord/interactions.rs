//! Interactions: buttons, commands, windows; what answers them, and what people do with them.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{
    APPLICATION_ID, BOT_ID, FakeDiscord, GUILD_ID,
    acts::{check, compose, revise},
    objects,
    rules::{self, Refusal, refusal},
    state::{Interaction, State, number},
    wire::{Asked, Done},
};

/// How long the first answer to an interaction may take.
const PATIENCE: Duration = Duration::from_secs(3);
/// How long more can be said to it.
const LIFE: Duration = Duration::from_mins(15);
const EPHEMERAL: u64 = 1 << 6;
const LOADING: u64 = 1 << 7;

/// The first answer to an interaction: within three seconds, and once.
pub(super) fn callback(state: &mut State, asked: &Asked) -> Done {
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
    let data = &asked.body["data"];
    let fits = match kind {
        4 | 5 => interaction.kind != 4,
        6 | 7 => matches!(interaction.kind, 3 | 5) && interaction.message.is_some(),
        8 => interaction.kind == 4,
        9 => matches!(interaction.kind, 2 | 3),
        _ => false,
    };
    if !fits {
        return Err(refusal(400, 50035, "Invalid Form Body"));
    }
    match kind {
        4 | 7 => rules::message(data, &[], 0)?,
        9 => rules::window(data)?,
        _ => {}
    }
    interaction.answer = Some((kind, took));
    let at = (interaction.channel, interaction.message);
    let mut resource = json!({ "type": kind });
    match (kind, at.1) {
        (9, _) => interaction.window = Some(data.clone()),
        (4 | 5, _) => resource["message"] = begin(state, asked, id),
        (7, Some(message)) => resource["message"] = revise(state, asked, (at.0, message), data)?,
        _ => {}
    }
    if asked.query("with_response").is_none_or(|wanted| wanted != "true" && wanted != "1") {
        return Ok(Value::Null);
    }
    Ok(json!({ "interaction": { "id": id.to_string(), "type": 3 }, "resource": resource }))
}

/// The message that answers: whole, or "is thinking" until it is edited.
fn begin(state: &mut State, asked: &Asked, interaction: u64) -> Value {
    let data = &asked.body["data"];
    let loading = if asked.body["type"] == 5 { LOADING } else { 0 };
    let flags = data["flags"].as_u64().unwrap_or(0);
    let channel = state.interactions[&interaction].channel;
    let mut message = whole(state, channel, data);
    message["flags"] = (flags | loading).into();
    message["type"] = 20.into();
    let interaction = state.interactions.get_mut(&interaction).expect("it is there");
    interaction.original = Some(number(&message["id"]));
    if flags & EPHEMERAL != 0 {
        interaction.whispers.push(message.clone());
    } else {
        state.post(channel, message.clone());
    }
    message
}

/// What the application says for an interaction, as a message.
fn whole(state: &mut State, channel: u64, data: &Value) -> Value {
    let id = state.snowflake();
    let text = data["content"].as_str().unwrap_or_default();
    let mut message = objects::message(id, channel, &state.users[&BOT_ID].clone(), text);
    message["flags"] = data["flags"].as_u64().unwrap_or(0).into();
    message["webhook_id"] = APPLICATION_ID.to_string().into();
    message["application_id"] = APPLICATION_ID.to_string().into();
    message
}

/// The interaction that a path names by application and token.
fn named(state: &State, asked: &Asked) -> Result<u64, Refusal> {
    let unknown = || refusal(404, 10015, "Unknown Webhook");
    let of_token = |(_, i): &(&u64, &Interaction)| i.token == asked.path[2] && i.answer.is_some();
    let found = state.interactions.iter().find(of_token).filter(|_| asked.id(1) == APPLICATION_ID);
    let (id, interaction) = found.ok_or_else(unknown)?;
    if interaction.at.elapsed() > LIFE || interaction.is_over {
        return Err(refusal(401, 50027, "Invalid Webhook Token"));
    }
    Ok(*id)
}

pub(super) fn followup(state: &mut State, asked: &Asked) -> Done {
    let interaction = named(state, asked)?;
    let channel = state.interactions[&interaction].channel;
    check(state, asked, channel)?;
    rules::not_empty(&asked.body, asked.files.len())?;
    if asked.body["flags"].as_u64().unwrap_or(0) & EPHEMERAL != 0 {
        let message = whole(state, channel, &asked.body);
        let interaction = state.interactions.get_mut(&interaction).expect("it is there");
        interaction.whispers.push(message.clone());
        return Ok(message);
    }
    let id = state.snowflake();
    let message = compose(state, asked, (channel, id));
    state.post(channel, message.clone());
    Ok(message)
}

/// The message that answers is edited, and thinks no more.
pub(super) fn revise_original(state: &mut State, asked: &Asked) -> Done {
    let id = named(state, asked)?;
    let Interaction { channel, original, .. } = state.interactions[&id];
    check(state, asked, channel)?;
    let original = original.ok_or_else(|| refusal(404, 10008, "Unknown Message"))?;
    if let Some(message) = state.messages.get_mut(&(channel, original)) {
        message["flags"] = (message["flags"].as_u64().unwrap_or(0) & !LOADING).into();
        return revise(state, asked, (channel, original), &asked.body);
    }
    rules::not_empty(&asked.body, asked.files.len())?;
    let interaction = state.interactions.get_mut(&id).expect("it is there");
    let whisper = interaction.whispers.iter_mut().find(|w| number(&w["id"]) == original);
    let whisper = whisper.ok_or_else(|| refusal(404, 10008, "Unknown Message"))?;
    whisper["content"] = asked.body["content"].clone();
    whisper["flags"] = EPHEMERAL.into();
    Ok(whisper.clone())
}

impl FakeDiscord {
    /// Presses the button with that label: an interaction's id.
    pub fn presses(&self, channel: u64, person: u64, (message, label): (u64, &str)) -> u64 {
        self.presses_with_patience(channel, person, (message, label, PATIENCE))
    }

    pub fn presses_with_patience(
        &self,
        channel: u64,
        person: u64,
        (message, label, patience): (u64, &str, Duration),
    ) -> u64 {
        self.change(|state| {
            let press = press(state, (channel, person), (message, label), patience);
            state.dispatch("INTERACTION_CREATE", &press);
            number(&press["id"])
        })
    }

    /// A press that is not sent over the gateway: the body that the platform would push.
    pub fn pushed_press(&self, channel: u64, person: u64, (message, label): (u64, &str)) -> Value {
        self.change(|state| press(state, (channel, person), (message, label), PATIENCE))
    }

    /// Calls a command that the application has registered: an interaction's id.
    pub fn calls_command(&self, channel: u64, person: u64, (name, text): (&str, &str)) -> u64 {
        self.change(|state| {
            let command = state.commands.iter().find(|command| command["name"] == name);
            let command = command.unwrap_or_else(|| panic!("there is no command /{name}")).clone();
            let mut data = json!({ "id": command["id"], "name": name, "type": 1 });
            if !text.is_empty() {
                let option = &command["options"][0]["name"];
                data["options"] = json!([{ "name": option, "type": 3, "value": text }]);
            }
            let told = interaction(state, (channel, person), (2, data, None), PATIENCE);
            state.dispatch("INTERACTION_CREATE", &told);
            number(&told["id"])
        })
    }

    /// The window that answered an interaction, if one did.
    pub fn window(&self, interaction: u64) -> Option<Value> {
        self.shared.state().interactions.get(&interaction)?.window.clone()
    }

    /// Fills the one field of the window that answered an interaction: another interaction's id.
    pub fn submits(&self, asked: u64, person: u64, text: &str) -> u64 {
        self.change(|state| {
            let Interaction { channel, message, window, .. } = &state.interactions[&asked];
            let window = window.clone().expect("a window was opened");
            let (channel, message) = (*channel, *message);
            let field = &window["components"][0]["components"][0];
            let filled = json!({ "type": 4, "custom_id": field["custom_id"], "value": text });
            let rows = json!([{ "type": 1, "components": [filled] }]);
            let data = json!({ "custom_id": window["custom_id"], "components": rows });
            let told = interaction(state, (channel, person), (5, data, message), PATIENCE);
            state.dispatch("INTERACTION_CREATE", &told);
            number(&told["id"])
        })
    }

    /// The fifteen minutes of all interactions are over.
    pub fn forgets_interactions(&self) {
        self.change(|state| state.interactions.values_mut().for_each(|i| i.is_over = true));
    }

    /// The type of an interaction's first answer, and how long it took.
    pub fn answer(&self, interaction: u64) -> Option<(u64, Duration)> {
        self.shared.state().interactions.get(&interaction)?.answer
    }

    /// What the presser alone was shown.
    pub fn whispers(&self, interaction: u64) -> Vec<String> {
        let state = self.shared.state();
        let whispers = state.interactions.get(&interaction).map(|i| i.whispers.clone());
        let text = |w: Value| w["content"].as_str().unwrap_or_default().to_owned();
        whispers.unwrap_or_default().into_iter().map(text).collect()
    }
}

fn press(
    state: &mut State,
    (channel, person): (u64, u64),
    (message, label): (u64, &str),
    patience: Duration,
) -> Value {
    let shown = state.messages[&(channel, message)].clone();
    let rows = shown["components"].as_array().into_iter().flatten();
    let mut buttons = rows.flat_map(|row| row["components"].as_array().into_iter().flatten());
    let button = buttons.find(|button| button["label"] == label);
    let button = button.unwrap_or_else(|| panic!("no button says {label}: {shown:#}"));
    let data = json!({ "id": button["id"], "component_type": 2, "custom_id": button["custom_id"] });
    interaction(state, (channel, person), (3, data, Some(message)), patience)
}

fn interaction(
    state: &mut State,
    (channel, person): (u64, u64),
    (kind, data, message): (u64, Value, Option<u64>),
    patience: Duration,
) -> Value {
    let id = state.snowflake();
    let token = format!("aW50ZXJhY3Rpb24-{id}_token");
    let mut told = json!({
        "id": id.to_string(), "application_id": APPLICATION_ID.to_string(), "type": kind,
        "token": token, "version": 1, "channel_id": channel.to_string(),
        "channel": state.channels[&channel], "locale": "de", "data": data,
        "app_permissions": "2248473465835073", "entitlements": [],
        "authorizing_integration_owners": {}, "attachment_size_limit": state.upload_bytes(channel),
    });
    if let Some(message) = message {
        told["message"] = state.messages[&(channel, message)].clone();
    }
    if state.is_private(channel) {
        told["user"] = state.users[&person].clone();
        told["context"] = 1.into();
    } else {
        let mut member = state.member(person);
        member["permissions"] = state.permissions(person).to_string().into();
        told["member"] = member;
        told["guild_id"] = GUILD_ID.to_string().into();
        told["guild_locale"] = "en-US".into();
        told["guild"] = json!({ "id": GUILD_ID.to_string(), "features": [], "locale": "en-US" });
        told["context"] = 0.into();
    }
    let interaction = Interaction {
        kind,
        token,
        at: Instant::now(),
        patience,
        channel,
        message,
        answer: None,
        original: None,
        window: None,
        is_over: false,
        whispers: Vec::new(),
    };
    state.interactions.insert(id, interaction);
    told
}
