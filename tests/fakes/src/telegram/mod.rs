//! A Bot API with state. It refuses what the platform refuses, and fails when told to.
//!
//! - [`people`]: what the users of the platform do
//! - [`faults`]: what goes wrong
//! - `wire`: requests as they arrive; `rules`: what they may hold; `methods`: what they do
//! - `state`: what the platform remembers
//! - `markdown`: MarkdownV2
//! - `push`: webhook delivery

pub mod faults;
mod markdown;
mod methods;
pub mod people;
mod push;
mod rules;
mod state;
mod wire;

use parking_lot::{Mutex, MutexGuard};
use std::{net::SocketAddr, sync::Arc, time::Duration};

use serde_json::Value;
use tokio::{sync::watch, task::AbortHandle};

use crate::ports;
pub use faults::{Fault, Held, Trouble};
use state::State;
pub use state::{Call, Draft, File, Shown, Toast};

/// The one token that this platform knows.
pub const TOKEN: &str = "12345:AAfakefakefakefakefakefakefakefakefa";
pub const BOT_ID: i64 = 12345;
pub const BOT_NAME: &str = "counter_bot";

/// A running platform; it ends when the last handle is dropped.
#[derive(Clone)]
pub struct FakeTelegram {
    shared: Arc<Shared>,
    running: Arc<Running>,
}

struct Shared {
    state: Mutex<State>,
    /// Moves with every change, for all who wait for one.
    changes: watch::Sender<u64>,
}

struct Running {
    address: SocketAddr,
    tasks: Vec<AbortHandle>,
}

impl Drop for Running {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.abort();
        }
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

impl FakeTelegram {
    /// On a free port of the loopback.
    pub async fn start() -> Self {
        Self::start_on(0).await
    }

    pub async fn start_on(port: u16) -> Self {
        // Others may have installed one already; which one does not matter on the loopback.
        rustls::crypto::ring::default_provider().install_default().ok();
        let listener = ports::listen(port).await.expect("the port is free");
        let address = listener.local_addr().expect("a bound socket has an address");
        let shared = Arc::new(Shared {
            state: Mutex::new(State::default()),
            changes: watch::Sender::new(0),
        });
        let server = tokio::spawn(wire::serve(listener, Arc::clone(&shared)));
        let pushes = tokio::spawn(push::push(Arc::clone(&shared)));
        let tasks = vec![server.abort_handle(), pushes.abort_handle()];
        Self { shared, running: Arc::new(Running { address, tasks }) }
    }

    /// The base URL of the Bot API.
    pub fn url(&self) -> String {
        format!("http://{}", self.running.address)
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

    /// The messages of a chat, oldest first.
    pub fn messages(&self, chat: i64) -> Vec<Shown> {
        self.messages_from(chat, 0)
    }

    /// The messages of a chat from that one on, oldest first.
    pub fn messages_from(&self, chat: i64, first: i64) -> Vec<Shown> {
        self.shared.state().shown(chat, first)
    }

    /// The file that a message shows.
    pub fn document(&self, chat: i64, message: i64) -> Option<File> {
        let state = self.shared.state();
        let stored = state.messages.get(&(chat, message))?;
        let whole =
            [&stored["document"], &stored["voice"]].into_iter().find(|file| file.is_object());
        let file = stored["photo"].as_array().map(|sizes| &sizes[0]).or(whole)?;
        let id = file["file_id"].as_str()?;
        state.files.get(id).cloned()
    }

    /// All requests, with what came of them.
    pub fn calls(&self) -> Vec<Call> {
        self.shared.state().calls.clone()
    }

    /// The requests of one method that were granted.
    pub fn granted(&self, method: &str) -> Vec<Value> {
        let calls = self.calls();
        let granted = calls.into_iter().filter(|c| c.method == method && c.status == 200);
        granted.map(|call| call.fields).collect()
    }

    /// How presses were answered.
    pub fn toasts(&self) -> Vec<Toast> {
        self.shared.state().toasts.clone()
    }

    /// What was shown while it grew.
    pub fn drafts(&self) -> Vec<Draft> {
        self.shared.state().drafts.clone()
    }

    /// The commands that people with that language are offered; the empty one is everybody's.
    pub fn commands(&self, language: &str) -> Value {
        self.shared.state().commands.get(language).cloned().unwrap_or_else(|| Value::Array(vec![]))
    }

    /// From now on every n-th update is duplicated, and every n-th is delivered early.
    pub fn disorders(&self, twice: u64, swapped: u64) {
        let disorder = &mut self.shared.state().disorder;
        (disorder.twice, disorder.swapped) = (twice, swapped);
    }

    /// From now on files are named by paths on this machine's disk.
    pub fn keeps_files_local(&self) {
        self.shared.state().local = true;
    }

    /// The ids of the updates that wait to be fetched or pushed.
    pub fn waiting(&self) -> Vec<i64> {
        let state = self.shared.state();
        state.updates.iter().filter_map(|update| update["update_id"].as_i64()).collect()
    }

    pub fn fault(&self, method: &str, trouble: Trouble) {
        self.faults(method, trouble, 1);
    }

    /// The next `times` requests of a method (`*` for any) go wrong.
    pub fn faults(&self, method: &str, trouble: Trouble, times: u32) {
        let fault = Fault { method: method.to_owned(), trouble, times };
        self.shared.state().faults.push(fault);
    }

    /// From now on `author` decides for each request what goes wrong with it, by its method. Faults
    /// that were planned otherwise come first.
    pub fn goes_wrong(&self, author: impl FnMut(&str) -> Option<Trouble> + Send + 'static) {
        self.shared.state().author = Some(Box::new(author));
    }

    /// From now on nothing goes wrong that was not planned for a single request.
    pub fn goes_well(&self) {
        self.shared.state().author = None;
    }
}
