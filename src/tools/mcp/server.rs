//! One MCP server: its connection, tools and health.

use parking_lot::RwLock;
use rmcp::{
    model::{ClientRequest, SubscriptionFilter},
    service::{ServiceError, Subscription},
};
use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};
use tokio::{
    sync::{Mutex, MutexGuard, OwnedSemaphorePermit, Semaphore},
    time::Instant,
};

use super::{
    CONNECT_FOR, ConnectionMode, ConnectionRefused, McpConfig,
    challenge::InsufficientScope,
    prompts::PromptCommand,
    session::{self, Fault, Link, McpSession},
};
use crate::{
    clock::{self, Clock},
    store::Store,
    tools::{Context, ToolError},
};

/// The delays before a call tries again to connect.
const PAUSES: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(2)];
const PING_FOR: Duration = Duration::from_secs(10);
/// The maximum number of calls of a server at the same time. Further ones fail immediately.
const MAX_CALLS: usize = 64;
/// How long calls fail immediately after the server has not answered an attempt to connect.
const REST_FOR: Duration = Duration::from_secs(30);
/// How long calls that were made before a start wait for the tools of a server.
const STARTS_WITHIN: Duration = Duration::from_mins(1);

/// The health of a server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Health {
    pub connected: bool,
    /// The protocol version in use.
    pub protocol: Option<String>,
    /// The current problem.
    pub problem: Option<String>,
    /// The tools that have changed since they were pinned, by their names on the server.
    pub withheld: Vec<String>,
    /// The last lines that its process wrote to its standard error.
    pub stderr: Vec<String>,
}

/// All configured servers, by name.
#[derive(Default)]
pub struct Servers(RwLock<BTreeMap<String, Arc<Server>>>);

impl Servers {
    pub fn add(&self, server: Arc<Server>) {
        let name = server.config.name.clone();
        self.0.write().insert(name, server);
    }

    pub fn remove(&self, name: &str) {
        self.0.write().remove(name);
    }

    pub fn health(&self, name: &str) -> Option<Health> {
        self.find(name).map(|server| server.health())
    }

    pub fn find(&self, name: &str) -> Option<Arc<Server>> {
        self.0.read().get(name).cloned()
    }

    /// The names of the servers that were added a short time ago, and may still have to list their
    /// tools.
    pub fn starting(&self) -> Vec<String> {
        let servers = self.0.read();
        let starting = servers.values().filter(|one| one.added_at.elapsed() < STARTS_WITHIN);
        starting.map(|server| server.config.name.clone()).collect()
    }

    /// The prompts of all servers.
    pub fn prompts(&self) -> Vec<PromptCommand> {
        let servers = self.0.read();
        servers.values().flat_map(|server| server.prompts()).collect()
    }
}

pub struct Server {
    pub config: McpConfig,
    added_at: Instant,
    pub(super) link: Link,
    pub(super) pauses: [Duration; 2],
    pub(super) store: Store,
    pub(super) clock: Arc<dyn Clock>,
    connection: Mutex<Connection>,
    /// The number of attempts to connect that have failed.
    failures: AtomicUsize,
    calls: Arc<Semaphore>,
    /// Whether the token of the connection had too few scopes: the next call uses the current one.
    token_is_insufficient: AtomicBool,
    health: RwLock<Health>,
    pub(super) prompts: RwLock<Vec<PromptCommand>>,
}

#[derive(Default)]
struct Connection {
    session: Option<Arc<McpSession>>,
    /// The last attempt, if it has failed.
    failed: Option<FailedAttempt>,
}

struct FailedAttempt {
    refused: ConnectionRefused,
    ended_at: Instant,
    /// Whether it took as long as it may.
    is_silent: bool,
}

impl Server {
    pub fn new(config: McpConfig, store: Store, clock: Arc<dyn Clock>) -> Arc<Self> {
        let (connection, failures, token_is_insufficient) = <_>::default();
        let (health, prompts) = <_>::default();
        let link = Link::new(clock.clone());
        let calls = Arc::new(Semaphore::new(MAX_CALLS));
        let (pauses, added_at) = (PAUSES, Instant::now());
        Arc::new(Self {
            config,
            added_at,
            link,
            pauses,
            store,
            clock,
            connection,
            failures,
            calls,
            token_is_insufficient,
            health,
            prompts,
        })
    }

    pub fn health(&self) -> Health {
        let health = self.health.read().clone();
        Health { stderr: self.link.stderr.lines(&self.config), ..health }
    }

    /// The prompts, as they were last listed.
    pub fn prompts(&self) -> Vec<PromptCommand> {
        self.prompts.read().clone()
    }

    /// Counts a call until the permit is dropped.
    pub(super) fn begin_call(&self) -> Result<OwnedSemaphorePermit, ToolError> {
        self.calls.clone().try_acquire_owned().map_err(|_| {
            self.config.broken(&format!("has {MAX_CALLS} calls in progress; try again later"))
        })
    }

    /// The open connection, or a new one if there is none or it has died. Three attempts, or one if
    /// the server does not answer at all. Calls that wait at the same time share the attempts.
    pub(super) async fn session(&self) -> Result<Arc<McpSession>, ToolError> {
        for pause in self.pauses {
            match self.shared().await {
                Err(refused) if !refused.is_permanent => {
                    clock::pause(pause).await;
                }
                done => return done.map_err(|refused| refused.error),
            }
        }
        self.shared().await.map_err(|refused| refused.error)
    }

    async fn shared(&self) -> Result<Arc<McpSession>, ConnectionRefused> {
        let failures = self.failures.load(Ordering::Acquire);
        let connection = self.connection.lock().await;
        let insufficient = self.token_is_insufficient.swap(false, Ordering::AcqRel);
        if let Some(session) = connection.open().filter(|_| !insufficient) {
            return Ok(session);
        }
        let failed_meanwhile = self.failures.load(Ordering::Acquire) != failures;
        if let Some(failed) = &connection.failed
            && (failed_meanwhile || failed.is_silent && failed.ended_at.elapsed() < REST_FOR)
        {
            let is_permanent = failed.refused.is_permanent || failed.is_silent;
            return Err(ConnectionRefused { is_permanent, ..failed.refused.clone() });
        }
        self.connect(connection).await
    }

    /// The open connection, or a new one, with one attempt of its own.
    pub(super) async fn connected(&self) -> Result<Arc<McpSession>, ConnectionRefused> {
        let connection = self.connection.lock().await;
        match connection.open() {
            Some(session) => Ok(session),
            None => self.connect(connection).await,
        }
    }

    /// Others wait for a shared connection. Connections for one call are opened at the same time.
    async fn connect(
        &self,
        connection: MutexGuard<'_, Connection>,
    ) -> Result<Arc<McpSession>, ConnectionRefused> {
        let began = Instant::now();
        let (mut connection, opened) = match self.config.connection {
            ConnectionMode::Shared => (connection, session::open(&self.config, &self.link).await),
            ConnectionMode::PerCall => {
                drop(connection);
                let opened = session::open(&self.config, &self.link).await;
                (self.connection.lock().await, opened)
            }
        };
        let is_silent = began.elapsed() >= CONNECT_FOR;
        let protocol = opened.as_ref().map(version_of).map_err(|refused| refused.error.to_string());
        self.note(|health| {
            health.connected = protocol.is_ok();
            health.problem = protocol.as_ref().err().cloned();
            health.protocol = protocol.ok().flatten();
        });
        *connection = Connection::default();
        match opened {
            Ok(session) => {
                let session = Arc::new(session);
                if self.config.connection == ConnectionMode::Shared {
                    connection.session = Some(session.clone());
                }
                Ok(session)
            }
            Err(refused) => {
                let error = self.link.stderr.explain(&self.config, refused.error);
                let is_permanent = refused.is_permanent || is_silent;
                let refused = ConnectionRefused { error, is_permanent };
                let (kept, ended_at) = (refused.clone(), Instant::now());
                connection.failed = Some(FailedAttempt { refused: kept, ended_at, is_silent });
                self.failures.fetch_add(1, Ordering::Release);
                Err(refused)
            }
        }
    }

    /// A broken connection is not reused.
    pub(super) async fn lost(&self, broken: &Arc<McpSession>) {
        let mut connection = self.connection.lock().await;
        if connection.session.as_ref().is_some_and(|session| Arc::ptr_eq(session, broken)) {
            connection.session = None;
            self.note(|health| {
                health.connected = false;
                health.problem = Some("lost the connection to an MCP server".to_owned());
            });
            self.link.changed.notify_one();
        }
    }

    /// A call was refused for too few scopes. A person is told what to do, the next sign-in requests
    /// the scopes, and the next call uses its token.
    pub(super) async fn requires_scopes(
        &self,
        refused: &InsufficientScope,
        context: &Context,
    ) -> ToolError {
        if self.note_scopes(refused).await {
            let words = context.people.language.words();
            let scopes = refused.required.join(" ");
            let notice = (words.elicitation.requires_scopes)(&self.config.name, &scopes);
            context.people.notify(&context.call, notice).await;
        }
        refused.error(&self.config)
    }

    /// Returns whether a sign-in by a person helps.
    pub(super) async fn note_scopes(&self, refused: &InsufficientScope) -> bool {
        self.token_is_insufficient.store(true, Ordering::Release);
        let login = self.config.login.as_ref().filter(|_| self.config.oauth.is_none());
        let Some(login) = login else { return false };
        if let Err(problem) = login.require(&refused.required).await {
            let name = &self.config.name;
            tracing::warn!(mcp.server = name, %problem, "could not store required scopes");
        }
        true
    }

    /// Why a request that is no call has failed.
    pub(super) async fn failed(&self, error: ServiceError, context: &Context) -> ToolError {
        match Fault::of(&self.config, error) {
            Fault::Reported(error) => error,
            Fault::Insufficient(refused) => self.requires_scopes(&refused, context).await,
            Fault::RateLimited(after) => self.rate_limited(after.as_deref()),
            Fault::TimedOut(limit) => ToolError::Timeout(limit),
            Fault::Broken | Fault::NotRun => self.config.broken("lost the connection; try again"),
        }
    }

    /// The error for a request that was refused with this `Retry-After`.
    pub(super) fn rate_limited(&self, after: Option<&str>) -> ToolError {
        self.config.rate_limited(after, self.clock.now())
    }

    pub(super) fn note(&self, change: impl FnOnce(&mut Health)) {
        change(&mut self.health.write());
    }

    /// Checks whether the server still answers. Returns `false` if it does not; the new protocol has
    /// no such request.
    pub(super) async fn ping(&self, session: &Arc<McpSession>) -> bool {
        let old = session.peer_info().is_some_and(|info| info.protocol_version.has_initialize());
        if !old {
            return true;
        }
        let ping = session.send_request(ClientRequest::PingRequest(<_>::default()));
        match session::bounded(PING_FOR, ping).await {
            Ok(Err(error)) if !is_open(session) => {
                tracing::info!(mcp.server = self.config.name, %error, "lost the connection to an MCP server");
                self.lost(session).await;
                false
            }
            Ok(_) => {
                self.note(|health| health.problem = None);
                true
            }
            Err(_) => {
                self.note(|health| {
                    health.problem = Some(format!("it did not answer within {PING_FOR:?}"));
                });
                false
            }
        }
    }

    /// In the new protocol, changes are only reported to subscribers.
    pub(super) async fn subscribe(&self, session: &McpSession) -> Option<Subscription> {
        let old = session.peer_info()?.protocol_version.has_initialize();
        let wanted = SubscriptionFilter::builder().tools_list_changed().build();
        if old {
            return None;
        }
        session::bounded(PING_FOR, session.listen(wanted)).await.ok()?.ok()
    }
}

impl Connection {
    fn open(&self) -> Option<Arc<McpSession>> {
        self.session.as_ref().filter(|session| is_open(session)).cloned()
    }
}

fn is_open(session: &Arc<McpSession>) -> bool {
    !session.is_closed() && !session.is_transport_closed()
}

fn version_of(session: &McpSession) -> Option<String> {
    session.peer_info().map(|info| info.protocol_version.as_str().to_owned())
}
