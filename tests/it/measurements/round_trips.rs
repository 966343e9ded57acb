//! What a plain turn costs: the statements and round trips on PostgreSQL, counted on the wire.
//!
//! A proxy between the gateway and the server reads the messages of the client. Each round trip is
//! named after the first comment of its statement, so a statement that is added to a turn is found
//! by name. The statements are the same on SQLite.

use channels::Batch;
use countersign::testing::{gateway::receive, scripted::say};
use parking_lot::Mutex;
use std::{
    collections::{BTreeMap, HashMap},
    fmt::Write as _,
    io::Write as _,
    sync::Arc,
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream, tcp::OwnedReadHalf},
};

use crate::support::{process::eventually, world::World};

/// The number of measured turns. Periodic statements occur less often.
const TURNS: usize = 25;
/// The turns before, after which the connections have prepared their statements.
const WARM_UP: usize = 25;

/// The round trips since the last reset, by name.
type Counts = Arc<Mutex<BTreeMap<String, usize>>>;

/// The most round trips that a plain turn may need until its answer is recorded as sent, without
/// those with which the connection pool checks a connection after its use.
const MAX_STATEMENTS: usize = 20;

/// A plain turn stays cheap on PostgreSQL.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plain_turn_needs_few_round_trips() {
    let mut world = World::on_postgres().await;
    let counts = Counts::default();
    let url = world.config.store.url.clone().unwrap();
    world.config.store.url = Some(through_proxy(&url, counts.clone()).await);
    world.config.store.connections = 4;
    world.config.limits.messages_per_minute = 1_000_000;
    world.language = Some("en".into());
    let app = world.node_in_real_time().await;
    app.start();
    for turn in 0..WARM_UP + TURNS {
        if turn == WARM_UP {
            counts.lock().clear();
        }
        world.model_will(say(format!("answer {turn}")));
        let what = world.said("hello");
        let incomings = vec![world.incoming("1", what)];
        let batch = Batch { incomings, position: Some(turn.to_string()) };
        receive::receive(&app.gateway, "room", batch).await.unwrap();
        eventually("it is answered", async || {
            world.room.messages().iter().any(|m| m.text == format!("answer {turn}")).then_some(())
        })
        .await;
    }
    let counts = counts.lock().clone();
    app.stop().await.unwrap();
    world.end().await;
    let (table, statements) = per_turn(&counts);
    writeln!(std::io::stdout(), "{table}").unwrap();
    assert!(statements <= MAX_STATEMENTS, "{statements} round trips per turn:\n{table}");
}

/// A line for each name that occurs in every turn, and the number of round trips of a turn without
/// those of the pool.
fn per_turn(counts: &BTreeMap<String, usize>) -> (String, usize) {
    let (mut table, mut statements) = (String::new(), 0);
    for (name, count) in counts {
        // A complete look, twice a second, takes the place of some claims.
        let each = (count + TURNS / 2) / TURNS;
        if each > 0 {
            let _ = writeln!(table, "{each:>3}  {name}");
        }
        if name != PING && name != PREPARE {
            statements += each;
        }
    }
    let _ = writeln!(table, "{statements:>3}  in total");
    (table, statements)
}

const PING: &str = "(ping of the pool)";
const PREPARE: &str = "(prepare)";

/// Returns the URL of a proxy in front of the server.
async fn through_proxy(url: &str, counts: Counts) -> String {
    let mut proxied = url::Url::parse(url).unwrap();
    let server = format!("{}:{}", proxied.host_str().unwrap(), proxied.port().unwrap_or(5432));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    proxied.set_port(Some(listener.local_addr().unwrap().port())).unwrap();
    proxied.set_host(Some("127.0.0.1")).unwrap();
    proxied.query_pairs_mut().append_pair("sslmode", "disable");
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            let server = TcpStream::connect(&server).await.unwrap();
            client.set_nodelay(true).unwrap();
            server.set_nodelay(true).unwrap();
            let (from_client, mut to_client) = client.into_split();
            let (mut from_server, to_server) = server.into_split();
            let counts = counts.clone();
            tokio::spawn(async move { forward(from_client, to_server, counts).await });
            tokio::spawn(async move { tokio::io::copy(&mut from_server, &mut to_client).await });
        }
    });
    proxied.to_string()
}

/// Forwards the messages of a client and counts its round trips.
async fn forward(
    mut from: OwnedReadHalf,
    mut to: tokio::net::tcp::OwnedWriteHalf,
    counts: Counts,
) -> std::io::Result<()> {
    let (mut pending, mut requests) = (Vec::new(), Requests::default());
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let read = from.read(&mut buffer).await?;
        if read == 0 {
            return Ok(());
        }
        pending.extend_from_slice(&buffer[..read]);
        while let Some(message) = requests.next(&mut pending) {
            if let Some(name) = requests.end(&message) {
                *counts.lock().entry(name).or_default() += 1;
            }
        }
        to.write_all(&buffer[..read]).await?;
    }
}

/// The state of one connection: what its prepared statements are called, and what was sent since
/// the last round trip.
#[derive(Default)]
struct Requests {
    has_started: bool,
    statements: HashMap<Vec<u8>, String>,
    bound: Option<String>,
    has_parsed: bool,
}

impl Requests {
    /// Takes one message off the beginning. Returns `None` if it is not complete.
    fn next(&mut self, pending: &mut Vec<u8>) -> Option<Vec<u8>> {
        // Only the first message has no type.
        let header = usize::from(self.has_started);
        let length = pending.get(header..header + 4)?;
        let length = u32::from_be_bytes(length.try_into().unwrap()) as usize;
        if pending.len() < header + length {
            return None;
        }
        Some(pending.drain(..header + length).collect())
    }

    /// The name of the round trip that ends with this message.
    fn end(&mut self, message: &[u8]) -> Option<String> {
        if !std::mem::replace(&mut self.has_started, true) {
            return None;
        }
        let (kind, body) = (message[0], &message[5..]);
        let mut texts = body.split(|byte| *byte == 0);
        match kind {
            b'P' => {
                let name = texts.next()?.to_vec();
                let statement = String::from_utf8_lossy(texts.next()?).into_owned();
                self.statements.insert(name, title(&statement));
                self.has_parsed = true;
                None
            }
            b'B' => {
                let statement = texts.nth(1)?;
                self.bound = self.statements.get(statement).cloned();
                None
            }
            b'Q' => Some(title(&String::from_utf8_lossy(texts.next()?))),
            b'S' => {
                let has_parsed = std::mem::take(&mut self.has_parsed);
                let idle = if has_parsed { PREPARE } else { PING };
                Some(self.bound.take().unwrap_or_else(|| idle.to_owned()))
            }
            _ => None,
        }
    }
}

/// The first comment of a statement or, without one, its beginning.
fn title(statement: &str) -> String {
    let line = statement.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    line.trim_start_matches("-- ").chars().take(60).collect()
}
