//! Connections of the gateway: HELLO, IDENTIFY, READY, heartbeats, RESUME with replay, and the ways
//! in which they end.

use std::{sync::Arc, time::Instant};

use axum::extract::ws::{CloseFrame, Message, WebSocket};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::{APPLICATION_ID, BOT_ID, GUILD_ID, Shared, TOKEN, state::State};

const MESSAGE_CONTENT: u64 = 1 << 15;

/// The events of a session, connected or not.
pub(super) struct Session {
    intents: u64,
    seq: u64,
    told: Vec<Value>,
    pub(super) wire: Option<Wire>,
    /// The connection is open, but neither side receives anything.
    pub(super) silent: bool,
}

pub(super) type Wire = mpsc::UnboundedSender<Out>;

/// What goes out on a connection.
pub(super) enum Out {
    Frame(Value),
    Close(u16),
    /// Without a word.
    Abort,
}

impl State {
    /// Tells all sessions of an event, if they asked for its kind.
    pub(super) fn dispatch(&mut self, event: &str, content: &Value) {
        for session in self.sessions.values_mut() {
            if let Some(content) = session.may_know(event, content) {
                session.tell(event, content);
            }
        }
    }

    /// All connections get the same last word.
    pub(super) fn say_to_all(&mut self, out: impl Fn() -> Out) {
        for session in self.sessions.values() {
            if let Some(wire) = &session.wire {
                wire.send(out()).ok();
            }
        }
    }

    pub(super) fn hang_up(&mut self) {
        self.say_to_all(|| Out::Abort);
    }
}

impl Session {
    /// By the intents; a text that is not meant for the bot is blank without the privileged one.
    fn may_know(&self, event: &str, content: &Value) -> Option<Value> {
        let private = content["guild_id"].is_null();
        let of_messages = event.starts_with("MESSAGE_");
        let needed = match event {
            _ if of_messages && private => 1 << 12,
            _ if of_messages => 1 << 9,
            _ if event.starts_with("GUILD_") || event.starts_with("THREAD_") => 1,
            _ => 0,
        };
        if self.intents & needed != needed {
            return None;
        }
        let mut content = content.clone();
        let own = BOT_ID.to_string();
        let mentioned =
            content["mentions"].as_array().is_some_and(|all| all.iter().any(|u| u["id"] == own));
        let theirs = content["author"]["id"] == own || mentioned || private;
        if of_messages && self.intents & MESSAGE_CONTENT == 0 && !theirs {
            for (field, blank) in
                [("content", json!("")), ("attachments", json!([])), ("components", json!([]))]
            {
                content[field] = blank;
            }
        }
        Some(content)
    }

    pub(super) fn tell(&mut self, event: &str, content: Value) {
        self.seq += 1;
        let frame = json!({ "op": 0, "t": event, "s": self.seq, "d": content });
        self.told.push(frame.clone());
        self.out(frame);
    }

    fn out(&self, frame: Value) {
        if let Some(wire) = self.wire.as_ref().filter(|_| !self.silent) {
            wire.send(Out::Frame(frame)).ok();
        }
    }
}

pub(super) async fn serve(mut socket: WebSocket, shared: Arc<Shared>) {
    let (wire, mut outs) = mpsc::unbounded_channel();
    let hello = {
        let mut state = shared.state();
        state.gateway.connections += 1;
        let every = state.gateway.heartbeat.as_millis();
        json!({ "op": 10, "d": { "heartbeat_interval": every, "_trace": [] } })
    };
    wire.send(Out::Frame(hello)).ok();
    let mut session = None;
    // Who is silent for so long is taken for dead.
    let patience = 2 * shared.state().gateway.heartbeat;
    let mut heard_at = Instant::now();
    loop {
        tokio::select! {
            () = tokio::time::sleep_until((heard_at + patience).into()) => {
                let frame = CloseFrame { code: 4009, reason: "".into() };
                socket.send(Message::Close(Some(frame))).await.ok();
                break;
            }
            out = outs.recv() => match out {
                Some(Out::Frame(frame)) => {
                    if socket.send(Message::text(frame.to_string())).await.is_err() {
                        break;
                    }
                }
                Some(Out::Close(code)) => {
                    let frame = CloseFrame { code, reason: "".into() };
                    socket.send(Message::Close(Some(frame))).await.ok();
                    break;
                }
                Some(Out::Abort) | None => break,
            },
            heard = socket.recv() => match heard {
                Some(Ok(Message::Text(text))) => {
                    heard_at = Instant::now();
                    hear(&shared, &wire, &mut session, &text);
                }
                Some(Ok(Message::Close(_)) | Err(_)) | None => break,
                Some(Ok(_)) => {}
            },
        }
    }
    let mut state = shared.state();
    if let Some(session) = session.and_then(|id| state.sessions.get_mut(&id))
        && session.wire.as_ref().is_some_and(|own| own.same_channel(&wire))
    {
        session.wire = None;
    }
    drop(state);
    shared.changed();
}

fn hear(shared: &Shared, wire: &Wire, session: &mut Option<String>, text: &str) {
    let mut state = shared.state();
    let close = |code| drop(wire.send(Out::Close(code)));
    let Ok(frame) = serde_json::from_str::<Value>(text) else { return close(4002) };
    let silent = session.as_ref().and_then(|id| state.sessions.get(id)).is_some_and(|s| s.silent);
    if silent {
        return;
    }
    match (frame["op"].as_u64(), session.is_some()) {
        (Some(1), _) => drop(wire.send(Out::Frame(json!({ "op": 11, "d": null })))),
        (Some(2), true) => close(4005),
        (Some(2), false) => match identify(&mut state, wire, &frame["d"]) {
            Ok(id) => *session = Some(id),
            Err(code) => close(code),
        },
        (Some(6), false) => match resume(&mut state, wire, &frame["d"]) {
            Ok(id) => *session = Some(id),
            Err(Some(code)) => close(code),
            Err(None) => drop(wire.send(Out::Frame(json!({ "op": 9, "d": false })))),
        },
        // Presence, voice, members.
        (Some(3 | 4 | 8), true) => {}
        (Some(3 | 4 | 8), false) => close(4003),
        _ => close(4001),
    }
    drop(state);
    shared.changed();
}

fn identify(state: &mut State, wire: &Wire, identity: &Value) -> Result<String, u16> {
    if identity["token"] != TOKEN {
        return Err(4004);
    }
    let intents = identity["intents"].as_u64().ok_or(4013_u16)?;
    if !identity["properties"]["os"].is_string() && !identity["properties"]["$os"].is_string() {
        return Err(4002);
    }
    if intents & MESSAGE_CONTENT != 0 && !state.gateway.reads_all {
        return Err(4014);
    }
    state.gateway.identifies.push(identity.clone());
    let id = format!("session-{}", state.snowflake());
    let mut session =
        Session { intents, seq: 0, told: Vec::new(), wire: Some(wire.clone()), silent: false };
    let mut me = state.users[&BOT_ID].clone();
    for (field, value) in [
        ("mfa_enabled", json!(false)),
        ("verified", json!(true)),
        ("email", json!(null)),
        ("flags", json!(0)),
    ] {
        me[field] = value;
    }
    let ready = json!({
        "v": 10, "user": me, "session_id": id, "shard": [0, 1], "relationships": [],
        "resume_gateway_url": gateway_url(state), "private_channels": [], "presences": [],
        "application": { "id": APPLICATION_ID.to_string(), "flags": 1 << 19 }, "_trace": [],
        "guilds": [{ "id": GUILD_ID.to_string(), "unavailable": true }],
    });
    session.tell("READY", ready);
    if intents & 1 != 0 {
        session.tell("GUILD_CREATE", state.guild());
    }
    state.sessions.insert(id.clone(), session);
    Ok(id)
}

fn resume(state: &mut State, wire: &Wire, request: &Value) -> Result<String, Option<u16>> {
    if request["token"] != TOKEN {
        return Err(Some(4004));
    }
    state.gateway.resumes.push(request.clone());
    let id = request["session_id"].as_str().unwrap_or_default();
    let session = state.sessions.get_mut(id).ok_or(None)?;
    let seen = request["seq"].as_u64().filter(|seen| *seen <= session.seq).ok_or(Some(4007))?;
    session.wire = Some(wire.clone());
    session.silent = false;
    for frame in session.told.iter().filter(|frame| frame["s"].as_u64() > Some(seen)) {
        session.out(frame.clone());
    }
    session.tell("RESUMED", json!({ "_trace": [] }));
    Ok(id.to_owned())
}

pub(super) fn gateway_url(state: &State) -> String {
    format!("{}/gateway", state.base.replacen("http", "ws", 1))
}
