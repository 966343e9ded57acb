//! The setting of a story: two people, a bot and a database. Every step uses a new [`App`], so that
//! nothing can be kept in memory.

use channels::{Batch, Channel, Incoming, IncomingContent, Person, Place, PlaceKind};
use chrono::{DateTime, TimeDelta, Utc};
use countersign::testing::{
    ManualClock,
    agent::prompt::Prompt,
    app::{App, Overrides},
    clock::Clock,
    config::Config,
    gateway::{ChannelSettings, Connected, approvals, deliver, people::Allow, receive},
    journal::{
        event::{Entry, Event},
        role::Role,
    },
    llm::Model,
    scripted::{ScriptStep, ScriptedModel},
    store::{
        conversations::journal,
        people::pairing::{self, Bearer, OwnerSource, Pairing, PairingOffer, PairingRole},
    },
    tools::Tool,
    worker::scheduler,
};
use sandbox::Sandbox;
use sqlx::Connection as _;
use std::{
    collections::BTreeMap,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use crate::support::{
    fake_channel::FakeChannel,
    process::PATIENCE,
    program::BINARY,
    stable_output::{line, stable},
    templates,
    tools::{Delete, Rare},
};

/// One test on SQLite and one on PostgreSQL.
#[macro_export]
macro_rules! story {
    ($(#[$doc:meta])* async fn $name:ident($world:ident: &mut World) $body:block) => {
        $(#[$doc])*
        mod $name {
            use super::*;

            async fn story($world: &mut World) $body

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn on_sqlite() {
                let mut world = World::on_sqlite();
                story(&mut world).await;
                world.end().await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn on_postgres() {
                let mut world = World::on_postgres().await;
                story(&mut world).await;
                world.end().await;
            }
        }
    };
}

pub struct World {
    pub config: Config,
    pub clock: Arc<ManualClock>,
    pub model: Arc<ScriptedModel>,
    pub room: FakeChannel,
    /// How often the tool `delete` has run; it must not run twice.
    pub deleted: Arc<AtomicUsize>,
    pub allow: Vec<String>,
    pub settings: ChannelSettings,
    /// The roles that the platform reports.
    pub roles: Vec<String>,
    /// The platform does not report the roles of people who press.
    pub roles_unknown: bool,
    /// The languages of the people's clients.
    pub language: Option<String>,
    /// Additional models.
    pub more_models: Vec<Arc<ScriptedModel>>,
    /// Additional channels.
    pub more_channels: Vec<Arc<dyn Channel>>,
    /// Additional tools.
    pub tools: Vec<Arc<dyn Tool>>,
    /// Without a sandbox by default: documents are rendered, there is no shell.
    pub sandbox: Arc<Sandbox>,
    /// The environment.
    pub variables: BTreeMap<String, String>,
    /// How long a start waits for the tools of MCP servers.
    pub servers_within: Duration,
    database: Option<Database>,
    _folder: tempfile::TempDir,
    next_key: usize,
}

struct Database {
    server: String,
    name: String,
}

impl World {
    pub fn on_sqlite() -> Self {
        Self::new(None)
    }

    /// Uses a separate database on the server that `tests/run` starts.
    pub async fn on_postgres() -> Self {
        let server = std::env::var("COUNTERSIGN_TEST_PG").expect(
            "COUNTERSIGN_TEST_PG names a PostgreSQL server for tests; tests/run starts one",
        );
        let name = format!("cs_{}", uuid::Uuid::new_v4().simple());
        templates::create_postgres(&server, &name).await;
        Self::new(Some(Database { server, name }))
    }

    fn new(database: Option<Database>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut config = Config::load(None, &BTreeMap::new()).unwrap();
        folder.path().clone_into(&mut config.data_dir);
        config.store.url = database.as_ref().map(|d| format!("{}/{}", d.server, d.name));
        let now: DateTime<Utc> = "2026-05-04T10:00:00Z".parse().unwrap();
        Self {
            config,
            clock: Arc::new(ManualClock::new(now)),
            model: Arc::new(ScriptedModel::new("main")),
            room: FakeChannel::new(),
            deleted: Arc::default(),
            allow: vec!["1".into(), "2".into()],
            settings: ChannelSettings::default(),
            roles: vec![],
            roles_unknown: false,
            language: None,
            more_models: vec![],
            more_channels: vec![],
            tools: vec![],
            sandbox: Arc::new(Sandbox::without_bubblewrap(
                Path::new(BINARY),
                "this story has none",
            )),
            variables: BTreeMap::new(),
            servers_within: PATIENCE,
            database,
            _folder: folder,
            next_key: 1,
        }
    }

    pub fn is_on_sqlite(&self) -> bool {
        self.database.is_none()
    }

    pub async fn end(self) {
        if let Some(Database { server, name }) = &self.database {
            administer(server, format!("DROP DATABASE {name} WITH (FORCE)")).await;
        }
    }

    /// A separate gateway on this world's database: a restart, or another node.
    pub async fn node(&self) -> App {
        self.node_with(vec![]).await
    }

    /// A node with these additional tools.
    pub async fn node_with(&self, more: Vec<Arc<dyn Tool>>) -> App {
        self.open(Some(self.clock.clone()), more).await
    }

    /// A node with the process's own clock.
    pub async fn node_in_real_time(&self) -> App {
        self.open(None, vec![]).await
    }

    async fn open(&self, clock: Option<Arc<dyn Clock>>, more: Vec<Arc<dyn Tool>>) -> App {
        let room: Arc<dyn Channel> = Arc::new(self.room.clone());
        let connected = self.more_channels.iter().chain([&room]).map(|channel| {
            let connected = Connected {
                channel: channel.clone(),
                rate_limits: channel.limits().rate_limits,
                allow: Allow::from_list(&self.allow),
                agent: "default".into(),
                model: "main".into(),
                settings: self.settings.clone(),
                alone: false,
            };
            (channel.id().to_owned(), connected)
        });
        let channels = connected.collect();
        let mut tools: Vec<Arc<dyn Tool>> =
            vec![Arc::new(Delete(self.deleted.clone())), Arc::new(Rare)];
        tools.extend(self.tools.iter().cloned());
        tools.extend(more);
        let models = self.more_models.iter().chain([&self.model]).cloned();
        let given = Overrides {
            clock,
            models: models.map(|model| (model.id().to_owned(), model as Arc<dyn Model>)).collect(),
            tools,
            channels,
            sandbox: Some(self.sandbox.clone()),
            requests: None,
            servers_within: Some(self.servers_within),
        };
        if let Some(path) = self.config.store_url().strip_prefix("sqlite://").map(Path::new)
            && !path.exists()
        {
            templates::create_sqlite(path).await;
        }
        App::open(&self.config, &self.variables, given).await.unwrap()
    }

    pub fn model_will(&self, step: ScriptStep) -> &ScriptedModel {
        self.model.will(step)
    }

    pub async fn ann_says(&mut self, text: &str) {
        let what = self.said(text);
        self.happens("1", what).await;
    }

    pub async fn bob_says(&mut self, text: &str) {
        let what = self.said(text);
        self.happens("2", what).await;
    }

    pub async fn ann_presses(&mut self, label: &str) {
        let what = self.press(label);
        self.happens("1", what).await;
    }

    pub async fn bob_presses(&mut self, label: &str) {
        let what = self.press(label);
        self.happens("2", what).await;
    }

    pub fn said(&mut self, text: &str) -> IncomingContent {
        self.next_key += 1;
        let message = self.next_key.to_string();
        IncomingContent::Text {
            message,
            text: text.into(),
            reply_to: None,
            addressed: true,
            files: vec![],
            album: None,
            quoted_author: None,
        }
    }

    /// The newest button with that label.
    pub fn press(&mut self, label: &str) -> IncomingContent {
        self.press_if_there(label).unwrap_or_else(|| panic!("no button {label}"))
    }

    /// A press on the last message, of a button that does not exist.
    pub fn forged(&mut self, data: &str) -> IncomingContent {
        self.next_key += 1;
        let message = self.room.messages().len().saturating_sub(1).to_string();
        IncomingContent::Press {
            press: self.next_key.to_string(),
            message,
            data: data.into(),
            reason: None,
        }
    }

    pub fn press_if_there(&mut self, label: &str) -> Option<IncomingContent> {
        self.next_key += 1;
        let found = self.room.messages().iter().enumerate().rev().find_map(|(place, message)| {
            let button = message.buttons.iter().find(|(l, _)| l == label)?;
            Some((place.to_string(), button.1.clone()))
        });
        let (message, data) = found?;
        Some(IncomingContent::Press {
            press: self.next_key.to_string(),
            message,
            data,
            reason: None,
        })
    }

    /// Delivers an event, and runs the world until nothing is left to do.
    pub async fn happens(&mut self, person: &str, what: IncomingContent) {
        let app = self.node().await;
        self.takes(&app, person, what).await;
        self.settle(&app).await;
    }

    /// Like [`Self::happens`], in another place, by a person with platform roles.
    pub async fn happens_at(
        &mut self,
        place: Place,
        (person, roles): (&str, &[&str]),
        what: IncomingContent,
    ) {
        let app = self.node().await;
        let mut incoming = self.incoming(person, what);
        incoming.place = place;
        incoming.person.as_mut().unwrap().roles = roles.iter().map(|&r| r.to_owned()).collect();
        let batch = Batch { incomings: vec![incoming], position: None };
        receive::receive(&app.gateway, "room", batch).await.unwrap();
        self.settle(&app).await;
    }

    /// Updates in one batch, of people in these places.
    pub async fn happen_together(&mut self, incomings: Vec<Incoming>) {
        let app = self.node().await;
        let batch = Batch { incomings, position: None };
        receive::receive(&app.gateway, "room", batch).await.unwrap();
        self.settle(&app).await;
    }

    /// Lets a node record an event.
    pub async fn takes(&mut self, app: &App, person: &str, what: IncomingContent) {
        let incoming = self.incoming(person, what);
        self.takes_in(app, incoming).await;
    }

    /// Like [`Self::takes`], in another place.
    pub async fn takes_at(&mut self, place: Place, app: &App, person: &str, what: IncomingContent) {
        let incoming = Incoming { place, ..self.incoming(person, what) };
        self.takes_in(app, incoming).await;
    }

    async fn takes_in(&self, app: &App, incoming: Incoming) {
        let batch = Batch { incomings: vec![incoming], position: None };
        receive::receive(&app.gateway, "room", batch).await.unwrap();
    }

    pub fn incoming(&mut self, person: &str, what: IncomingContent) -> Incoming {
        self.next_key += 1;
        let name = match person {
            "1" => "Ann",
            "2" => "Bob",
            _ => "Eve",
        };
        Incoming {
            key: format!("k{}", self.next_key),
            at: "2026-05-04T10:00:00Z".parse().unwrap(),
            place: Self::place(),
            person: Some(Person {
                id: person.into(),
                name: name.into(),
                language: self.language.clone(),
                is_bot: false,
                roles: self.roles.clone(),
                roles_unknown: self.roles_unknown,
            }),
            what,
        }
    }

    /// Runs until nothing is ready and nothing is waiting to be shown.
    pub async fn settle(&self, app: &App) {
        loop {
            let expired = approvals::sweep(&app.gateway).await.unwrap();
            let advanced = app.worker.advance_ready().await.unwrap();
            let shown = deliver::deliver_ready(&app.gateway).await.unwrap();
            let fired = scheduler::fire_due(&app.worker).await.unwrap();
            if expired + advanced + shown + fired == 0 {
                break;
            }
        }
        app.gateway.tasks.close();
        app.gateway.tasks.wait().await;
        app.gateway.tasks.reopen();
    }

    pub async fn time_passes(&mut self, by: TimeDelta) {
        self.clock.advance(by);
        let app = self.node().await;
        self.settle(&app).await;
    }

    pub fn clock_now(&self) -> DateTime<Utc> {
        self.clock.now()
    }

    pub fn place() -> Place {
        Place { chat: "7".into(), thread: None, kind: PlaceKind::Private }
    }

    pub fn group() -> Place {
        Place { chat: "-70".into(), thread: None, kind: PlaceKind::Group }
    }

    /// Replaces the configuration with this TOML, except for the data folder.
    pub fn guard(&mut self, guard: &str) {
        let variables = [("COUNTERSIGN__GUARD".to_owned(), guard.to_owned())].into();
        self.config.guard = Config::load(None, &variables).unwrap().guard;
    }

    /// Makes that person the owner of the bot.
    pub async fn make_owner(&self, person: &'static str) {
        let store = self.node().await.gateway.store.clone();
        let now = self.clock_now();
        let code = format!("owner code of {person}");
        let pair = store.write("make owner", move |tx| {
            Box::pin(async move {
                let offer = PairingOffer {
                    channel: "room".into(),
                    code: code.clone(),
                    makes: PairingRole::Role(Role::Owner),
                    expires_at: now + TimeDelta::hours(1),
                };
                pairing::offer_pairing(tx, &offer).await?;
                let owned = OwnerSource::NotByConfiguration;
                let bearer = Bearer { channel: "room", id: person, name: "", code: &code, owned };
                pairing::pair(tx, bearer, now).await
            })
        });
        assert_eq!(pair.await.unwrap(), Pairing::Paired(Role::Owner));
    }

    /// The messages of the chat as people see them, a line each.
    pub fn shown(&self) -> String {
        self.room.messages().iter().map(line).collect::<Vec<_>>().join("\n")
    }

    pub fn last(&self) -> String {
        self.room.messages().last().map(line).unwrap_or_default()
    }

    /// The whole text of the last message.
    pub fn last_text(&self) -> String {
        self.room.messages().last().map(|message| stable(&message.text)).unwrap_or_default()
    }

    pub fn deletions(&self) -> usize {
        self.deleted.load(Ordering::SeqCst)
    }

    pub fn prompts(&self) -> Vec<Prompt> {
        self.model.prompts()
    }

    /// The conversation's journal.
    pub async fn journal(&self) -> Vec<Entry> {
        self.journal_at(Self::place()).await
    }

    pub async fn journal_at(&self, place: Place) -> Vec<Entry> {
        let store = self.node().await.gateway.store.clone();
        let conversation = store
            .read(|tx| {
                Box::pin(async move { journal::find_conversation(tx, "room", &place).await })
            })
            .await
            .unwrap()
            .expect("somebody has spoken");
        store.events_after(&conversation, 0).await.unwrap()
    }

    /// The results of a tool's calls, in order.
    pub async fn results(&self) -> Vec<String> {
        let results = self.journal().await.into_iter().filter_map(|entry| match entry.event {
            Event::ToolFinished { result, .. } => Some(result.text),
            _ => None,
        });
        results.collect()
    }
}

impl World {
    /// Tampering by somebody with access to the database.
    pub async fn tampers(&self, sql: &str) {
        let sql = || sqlx::AssertSqlSafe(sql.to_owned());
        let url = self.config.store_url();
        if url.starts_with("sqlite") {
            let mut conn = sqlx::SqliteConnection::connect(&url).await.unwrap();
            sqlx::query(sql()).execute(&mut conn).await.unwrap();
        } else {
            let mut conn = sqlx::PgConnection::connect(&url).await.unwrap();
            // A transaction of a node that counts as dead may still be running.
            let is_deadlock = |problem: &sqlx::Error| {
                problem.as_database_error().is_some_and(|e| e.code().as_deref() == Some("40P01"))
            };
            while let Err(problem) = sqlx::query(sql()).execute(&mut conn).await {
                assert!(is_deadlock(&problem), "{problem}");
            }
        }
    }

    /// Every row of a table, as text.
    pub async fn rows_of(&self, table: &str) -> Vec<String> {
        let url = self.config.store_url();
        if url.starts_with("sqlite") {
            let mut conn = sqlx::SqliteConnection::connect(&url).await.unwrap();
            let columns: Vec<(String,)> = sqlx::query_as("SELECT name FROM pragma_table_info($1)")
                .bind(table)
                .fetch_all(&mut conn)
                .await
                .unwrap();
            let all: Vec<_> =
                columns.iter().map(|(c,)| format!("COALESCE(CAST({c} AS TEXT), '')")).collect();
            let sql = format!("SELECT {} FROM {table}", all.join(" || ' ' || "));
            let rows: Vec<(String,)> =
                sqlx::query_as(sqlx::AssertSqlSafe(sql)).fetch_all(&mut conn).await.unwrap();
            rows.into_iter().map(|(row,)| row).collect()
        } else {
            let mut conn = sqlx::PgConnection::connect(&url).await.unwrap();
            let sql = format!("SELECT CAST(t AS TEXT) FROM {table} t");
            let rows: Vec<(String,)> =
                sqlx::query_as(sqlx::AssertSqlSafe(sql)).fetch_all(&mut conn).await.unwrap();
            rows.into_iter().map(|(row,)| row).collect()
        }
    }
}

pub async fn administer(server: &str, sql: String) {
    let mut conn = sqlx::PgConnection::connect(&format!("{server}/postgres")).await.unwrap();
    sqlx::query(sqlx::AssertSqlSafe(sql)).execute(&mut conn).await.unwrap();
}

/// Waits within a transaction. One of SQLite has a thread of its own, which belongs to no runtime.
pub async fn hold_transaction(until: impl Future<Output = ()>) {
    if tokio::runtime::Handle::try_current().is_ok() {
        until.await;
    } else {
        let own = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        own.block_on(until);
    }
}
