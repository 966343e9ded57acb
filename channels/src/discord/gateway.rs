//! One connection to the gateway, from HELLO to its end, and the state that is needed to resume it.
//!
//! ```text
//! HELLO ─ no session ─ IDENTIFY ─ READY ───┐
//!   └─── session ───── RESUME ─── RESUMED ─┴─ dispatches, heartbeats ─┬─ Broken ─── RESUME
//!                                                                    └─ Expired ── IDENTIFY
//! ```
//!
//! serenity's gateway client is not used, because events must arrive in order and must not get lost
//! if they cannot be parsed, and a press must be acknowledged before anything else.

#![expect(
    clippy::disallowed_types,
    reason = "`Acknowledgements::during` polls them beside whatever is awaited"
)]

use std::{
    collections::hash_map::RandomState,
    hash::{BuildHasher, Hasher},
    pin::pin,
    time::Duration,
};

use futures::{
    FutureExt, SinkExt, StreamExt,
    future::BoxFuture,
    stream::{FuturesUnordered, SplitSink, SplitStream},
};
use serde_json::{Value, json};
use tokio::{
    net::TcpStream,
    sync::mpsc,
    time::{Instant, Interval, MissedTickBehavior, interval_at, timeout},
};
use tokio_tungstenite::{
    Connector, MaybeTlsStream, WebSocketStream, client_async_tls_with_config,
    connect_async_tls_with_config,
    tungstenite::{Error, Message},
};
use url::Url;

use super::{
    Discord,
    api::{Api, Body, Failure, Route},
};
use crate::Intake;

/// The timeout of each step of connecting.
const STEP: Duration = Duration::from_secs(20);
/// GUILDS, GUILD_MESSAGES, DIRECT_MESSAGES.
const INTENTS: u64 = 1 | 1 << 9 | 1 << 12;
/// A privileged intent, which has to be enabled in the developer portal.
const MESSAGE_CONTENT: u64 = 1 << 15;

/// One event of the gateway.
#[derive(Debug)]
pub(super) struct Dispatch {
    pub(super) name: String,
    /// A key that stays the same when the event is replayed, and is unique otherwise.
    pub(super) mark: String,
    pub(super) content: Value,
}

/// Why a connection ended.
#[derive(Debug)]
pub(super) enum Ended {
    /// Missed events can be replayed.
    Broken(String),
    /// The session is over. Missed messages have to be read by REST.
    Expired(String),
    /// The platform asks to wait this long.
    Later(Duration, String),
    /// The token is rejected.
    Unauthorized,
    /// The intent to read all messages is not enabled.
    Disallowed,
}

/// State that outlives a connection.
pub(super) struct Line<'a> {
    discord: &'a Discord,
    intake: &'a Intake,
    queue: mpsc::Sender<Dispatch>,
    session: Option<Session>,
    acknowledgements: Acknowledgements<'a>,
    pub(super) reads_all: bool,
    /// Whether the platform has sent READY or RESUMED on the current connection.
    pub(super) is_ready: bool,
}

struct Session {
    id: String,
    url: String,
    seen: u64,
}

type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

impl<'a> Line<'a> {
    pub(super) fn new(
        discord: &'a Discord,
        intake: &'a Intake,
        queue: mpsc::Sender<Dispatch>,
    ) -> Self {
        let (session, acknowledgements) = (None, Acknowledgements::default());
        let (reads_all, is_ready) = (true, false);
        Self { discord, intake, queue, session, acknowledgements, reads_all, is_ready }
    }

    /// Connects, and returns when the connection ends.
    pub(super) async fn hold(&mut self) -> Ended {
        self.is_ready = false;
        let ended = match self.open().await {
            Ok(connection) => self.follow(connection).await,
            Err(ended) => ended,
        };
        if matches!(ended, Ended::Expired(_) | Ended::Disallowed) {
            self.session = None;
        }
        // Each of them ends within the platform's three seconds.
        self.acknowledgements.finish().await;
        ended
    }

    async fn open(&mut self) -> Result<Connection, Ended> {
        let api = &self.discord.api;
        let base = match &self.session {
            Some(session) => session.url.clone(),
            None => address(api).await?,
        };
        let broken = |reason: String| Ended::Broken(api.redact(&reason).into_owned());
        let mut url = Url::parse(&base).map_err(|e| broken(format!("gateway address: {e}")))?;
        url.set_query(Some("v=10&encoding=json"));
        let socket = match timeout(STEP, connect(api, &url)).await {
            Ok(Ok(socket)) => socket,
            Ok(Err(e)) => return Err(broken(api.reason(&e))),
            Err(_) => return Err(broken("no connection within 20 s".to_owned())),
        };
        let (sink, stream) = socket.split();
        let mut connection = Connection { sink, stream, heart: None };
        let hello = connection.receive_in_time().await?;
        let Some(every) = hello["d"]["heartbeat_interval"].as_u64().filter(|_| hello["op"] == 10)
        else {
            return Err(broken("it did not send HELLO".to_owned()));
        };
        connection.send(self.introduction()).await?;
        connection.heart = Some(heart(Duration::from_millis(every.max(10))));
        Ok(connection)
    }

    fn introduction(&self) -> Value {
        let token = self.discord.api.token();
        if let Some(Session { id, seen, .. }) = &self.session {
            return json!({ "op": 6, "d": { "token": token, "session_id": id, "seq": seen } });
        }
        let properties = json!({ "os": std::env::consts::OS, "browser": "countersign", "device": "countersign" });
        let intents = if self.reads_all { INTENTS | MESSAGE_CONTENT } else { INTENTS };
        let identity = json!({ "token": token, "intents": intents, "properties": properties });
        json!({ "op": 2, "d": identity })
    }

    async fn follow(&mut self, mut connection: Connection) -> Ended {
        let mut heart = connection.heart.take().expect("an open connection has a heartbeat");
        let mut answered = true;
        let queue = self.queue.clone();
        loop {
            let step = async {
                tokio::select! {
                    biased;
                    _ = heart.tick() => Step::Beat,
                    step = next(&queue, &mut connection.stream) => step,
                }
            };
            let done = match self.acknowledgements.during(step).await {
                Step::Beat if !answered => Err(Ended::Broken("no answer to a heartbeat".into())),
                Step::Beat => {
                    answered = false;
                    let beat = self.beat();
                    self.acknowledgements.during(connection.send(beat)).await
                }
                Step::Closed => Err(Ended::Broken("nothing receives events".into())),
                Step::Frame(permit, frame) => {
                    match frame.and_then(|frame| self.receive_frame(frame, permit)) {
                        Ok(Reply::Nothing) => Ok(()),
                        Ok(Reply::Beat) => {
                            let beat = self.beat();
                            self.acknowledgements.during(connection.send(beat)).await
                        }
                        Ok(Reply::Alive) => {
                            answered = true;
                            Ok(())
                        }
                        Err(ended) => Err(ended),
                    }
                }
            };
            if let Err(ended) = done {
                // Dropped without a close frame, because codes 1000 and 1001 would end the session.
                drop(connection);
                return ended;
            }
        }
    }

    fn beat(&self) -> Value {
        json!({ "op": 1, "d": self.session.as_ref().map(|session| session.seen) })
    }

    fn receive_frame(
        &mut self,
        frame: Value,
        permit: mpsc::Permit<'_, Dispatch>,
    ) -> Result<Reply, Ended> {
        match frame["op"].as_u64() {
            Some(0) => self.dispatch(frame, permit),
            Some(1) => return Ok(Reply::Beat),
            Some(7) => return Err(Ended::Broken("asked to reconnect".to_owned())),
            Some(9) if frame["d"] == true => {
                return Err(Ended::Broken("invalid session, to be resumed".to_owned()));
            }
            Some(9) => return Err(Ended::Expired("invalid session".to_owned())),
            Some(11) => return Ok(Reply::Alive),
            _ => {}
        }
        Ok(Reply::Nothing)
    }

    fn dispatch(&mut self, mut frame: Value, permit: mpsc::Permit<'_, Dispatch>) {
        let name = frame["t"].as_str().unwrap_or_default().to_owned();
        let content = frame["d"].take();
        if matches!(name.as_str(), "READY" | "RESUMED") {
            self.is_ready = true;
            self.intake.report(crate::ConnectionState::Connected);
        }
        if name == "READY" {
            let text = |field: &str| content[field].as_str().unwrap_or_default().to_owned();
            let (id, url) = (text("session_id"), text("resume_gateway_url"));
            self.session = Some(Session { id, url, seen: 0 });
        }
        if let (Some(session), Some(seq)) = (&mut self.session, frame["s"].as_u64()) {
            session.seen = seq;
        }
        if name == "INTERACTION_CREATE" {
            let interaction = content.clone();
            let discord = self.discord;
            discord.pending_acknowledgements.begin(&interaction);
            self.acknowledgements
                .push(async move { discord.acknowledge(&interaction).await }.boxed());
        }
        let session = self.session.as_ref().map_or(("", 0), |s| (s.id.as_str(), s.seen));
        let mark = format!("{}:{}", session.0, session.1);
        permit.send(Dispatch { name, mark, content });
    }
}

/// The acknowledgements in progress. They are polled during every wait of the connection, because
/// the platform allows only three seconds for each, and sending a heartbeat may take longer.
#[derive(Default)]
struct Acknowledgements<'a>(FuturesUnordered<BoxFuture<'a, ()>>);

impl<'a> Acknowledgements<'a> {
    fn push(&self, acknowledgement: BoxFuture<'a, ()>) {
        self.0.push(acknowledgement);
    }

    /// Awaits a future while polling the acknowledgements.
    async fn during<T>(&mut self, awaited: impl Future<Output = T>) -> T {
        let mut awaited = pin!(awaited);
        loop {
            tokio::select! {
                biased;
                Some(()) = self.0.next() => {}
                done = &mut awaited => return done,
            }
        }
    }

    async fn finish(&mut self) {
        while self.0.next().await.is_some() {}
    }
}

async fn connect(api: &Api, url: &Url) -> Result<Socket, Error> {
    let connector = Some(Connector::Rustls(api.tls()));
    let (socket, _) = match api.resolve() {
        None => connect_async_tls_with_config(url.as_str(), None, true, connector).await?,
        Some(address) => {
            let stream = TcpStream::connect(address).await?;
            stream.set_nodelay(true)?;
            client_async_tls_with_config(url.as_str(), stream, None, connector).await?
        }
    };
    Ok(socket)
}

async fn address(api: &Api) -> Result<String, Ended> {
    let asked = api.call(Route::get("gateway/bot".to_owned()), Body::Empty).await;
    let answer = asked.map_err(|failure| match failure {
        Failure::Refused { status: 401, .. } => Ended::Unauthorized,
        Failure::Refused { after: Some(after), message, .. } => Ended::Later(after, message),
        Failure::Refused { message, .. } => Ended::Broken(message),
        Failure::Unsent(reason) | Failure::Lost(reason) => Ended::Broken(reason),
    })?;
    let limit = &answer["session_start_limit"];
    if limit["remaining"].as_u64() == Some(0) {
        let after = Duration::from_millis(limit["reset_after"].as_u64().unwrap_or(60_000));
        return Err(Ended::Later(after, "no session starts are left for now".to_owned()));
    }
    let url = answer["url"].as_str().map(str::to_owned);
    url.ok_or_else(|| Ended::Broken("the platform returned no gateway".to_owned()))
}

struct Connection {
    sink: SplitSink<Socket, Message>,
    stream: SplitStream<Socket>,
    heart: Option<Interval>,
}

enum Step<'q> {
    Beat,
    /// Nothing receives events any more.
    Closed,
    Frame(mpsc::Permit<'q, Dispatch>, Result<Value, Ended>),
}

enum Reply {
    Nothing,
    Beat,
    Alive,
}

impl Connection {
    async fn send(&mut self, frame: Value) -> Result<(), Ended> {
        let sent = timeout(STEP, self.sink.send(Message::text(frame.to_string()))).await;
        match sent {
            Ok(Ok(())) => Ok(()),
            Ok(Err(e)) => Err(Ended::Broken(e.to_string())),
            Err(_) => Err(Ended::Broken("the connection is not writable".to_owned())),
        }
    }

    async fn receive_in_time(&mut self) -> Result<Value, Ended> {
        let late = |_| Ended::Broken("no HELLO within 20 s".to_owned());
        timeout(STEP, receive(&mut self.stream)).await.map_err(late)?
    }
}

/// The next frame, once the queue has room for it. Cancel safe.
async fn next<'q>(queue: &'q mpsc::Sender<Dispatch>, stream: &mut SplitStream<Socket>) -> Step<'q> {
    let Ok(permit) = queue.reserve().await else { return Step::Closed };
    Step::Frame(permit, receive(stream).await)
}

async fn receive(stream: &mut SplitStream<Socket>) -> Result<Value, Ended> {
    loop {
        match stream.next().await {
            Some(Ok(Message::Text(text))) => {
                return serde_json::from_str(&text)
                    .map_err(|e| Ended::Broken(format!("a frame that is not JSON: {e}")));
            }
            Some(Ok(Message::Close(frame))) => {
                let (code, reason) =
                    frame.map_or((1005, String::new()), |f| (f.code.into(), f.reason.to_string()));
                return Err(closed(code, &reason));
            }
            Some(Ok(_)) => {}
            Some(Err(Error::ConnectionClosed)) | None => {
                return Err(Ended::Broken("the connection is closed".to_owned()));
            }
            Some(Err(e)) => return Err(Ended::Broken(e.to_string())),
        }
    }
}

/// <https://discord.com/developers/docs/topics/opcodes-and-status-codes#gateway-gateway-close-event-codes>
fn closed(code: u16, reason: &str) -> Ended {
    let said = format!("closed with {code} {reason}");
    match code {
        4004 => Ended::Unauthorized,
        4014 => Ended::Disallowed,
        // Unknown session, invalid sequence number, expired, or an invalid request.
        1000 | 1001 | 4003 | 4007 | 4009 | 4010..=4013 => Ended::Expired(said),
        _ => Ended::Broken(said),
    }
}

/// The interval of heartbeats. The first one is sent at a random time within it, so that not all
/// clients of a restarted gateway send at once.
fn heart(every: Duration) -> Interval {
    let share = RandomState::new().build_hasher().finish() % 1000;
    let first = every.mul_f64(share as f64 / 1000.0);
    let mut heart = interval_at(Instant::now() + first, every);
    heart.set_missed_tick_behavior(MissedTickBehavior::Delay);
    heart
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_close_code_says_what_to_do_next() {
        assert!(matches!(closed(4004, ""), Ended::Unauthorized));
        assert!(matches!(closed(4014, ""), Ended::Disallowed));
        assert!(matches!(closed(4009, ""), Ended::Expired(_)));
        assert!(matches!(closed(4000, ""), Ended::Broken(_)));
        assert!(matches!(closed(1006, ""), Ended::Broken(_)));
    }
}
