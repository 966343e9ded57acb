//! A Discord with state: REST v10, gateway, files. It refuses what the platform refuses, and fails
//! when told to.
//!
//! - [`people`]: what the users of the platform say, and what they see; [`operators`]: what is done
//!   to the guild and to connections; [`interactions`]: buttons, commands, windows
//! - [`faults`]: what goes wrong in REST; `gateway`: connections, and what goes wrong with them
//! - `wire`: requests as they arrive; `rules`: what they may hold; `acts`: what they do
//! - `state`: what there is; `objects`: how the platform writes it

mod acts;
pub mod faults;
mod gateway;
pub mod interactions;
mod objects;
pub mod operators;
pub mod people;
mod rules;
mod state;
mod wire;

use parking_lot::{Mutex, MutexGuard};
use std::{net::SocketAddr, sync::Arc, time::Duration};

use serde_json::Value;
use tokio::{net::TcpListener, sync::watch, task::AbortHandle};

use faults::Fault;
pub use faults::{Held, Trouble};
pub use state::Call;
use state::State;

/// The one token that this platform knows.
pub const TOKEN: &str = "MTAwMDAwMDAwMDAwMDAwMDAx.GfAkEf.fakefakefakefakefakefakefakefakefakefa";
pub const BOT_ID: u64 = 100_000_000_000_000_001;
/// Not the bot's id, as with bots of the early years.
pub const APPLICATION_ID: u64 = 100_000_000_000_000_002;
pub const GUILD_ID: u64 = 100_000_000_000_000_003;

/// A running platform; it ends when the last handle is dropped.
#[derive(Clone)]
pub struct FakeDiscord {
    shared: Arc<Shared>,
    running: Arc<Running>,
}

struct Shared {
    state: Mutex<State>,
    address: SocketAddr,
    /// Moves with every change, for all who wait for one.
    changes: watch::Sender<u64>,
}

struct Running {
    task: AbortHandle,
    shared: Arc<Shared>,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.task.abort();
        self.shared.state().hang_up();
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    fn changed(&self) {
        self.changes.send_modify(|count| *count += 1);
    }
}

impl FakeDiscord {
    /// On a free port of the loopback, with one guild that has one channel, `general`.
    pub async fn start() -> Self {
        Self::start_on(0).await
    }

    pub async fn start_on(port: u16) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", port)).await.expect("the port is free");
        let address = listener.local_addr().expect("a bound socket has an address");
        let state = Mutex::new(State::new(format!("http://{address}")));
        let shared = Arc::new(Shared { state, address, changes: watch::Sender::new(0) });
        let task = tokio::spawn(wire::serve(listener, Arc::clone(&shared))).abort_handle();
        let running = Arc::new(Running { task, shared: Arc::clone(&shared) });
        Self { shared, running }
    }

    /// Stands in for `https://discord.com`.
    pub fn url(&self) -> String {
        format!("http://{}", self.running.shared.address)
    }

    /// Waits until the condition holds; panics after ten seconds with the requests to the platform.
    pub async fn until(&self, claim: impl Fn(&Self) -> bool) {
        let mut changes = self.shared.changes.subscribe();
        let holds = async {
            while !claim(self) {
                changes.changed().await.expect("the sender lives in self");
            }
        };
        let held = tokio::time::timeout(Duration::from_secs(10), holds).await;
        assert!(held.is_ok(), "it never came true; the calls were {:#?}", self.calls());
    }

    /// All requests, with what came of them.
    pub fn calls(&self) -> Vec<Call> {
        self.shared.state().calls.clone()
    }

    /// The bodies of the requests of one act that were granted.
    pub fn granted(&self, act: &str) -> Vec<Value> {
        let granted = self.calls().into_iter().filter(|call| call.act == act && call.status < 300);
        granted.map(|call| call.body).collect()
    }

    pub fn fault(&self, act: &str, trouble: Trouble) {
        self.faults(act, trouble, 1);
    }

    /// The next `times` requests of an act (`*` for any) go wrong.
    pub fn faults(&self, act: &str, trouble: Trouble, times: u32) {
        self.shared.state().faults.push(Fault { act: act.to_owned(), trouble, times });
    }
}
