//! The real program as a child process, in its own folder and database, configured only by its
//! configuration file and an explicit environment.

use serde_json::{Value, json};
use sqlx::{Connection as _, PgConnection, SqliteConnection};
use std::{
    collections::BTreeMap,
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    process::{ExitStatus, Stdio},
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};
use tempfile::TempDir;
use tokio::{
    io::AsyncWriteExt as _,
    process::{Child, Command},
};

use crate::support::world::administer;

/// The timeout of every wait. Nothing takes this long, even on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(90);
const POLL_INTERVAL: Duration = Duration::from_millis(20);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum On {
    Sqlite,
    Postgres,
}

/// The folder and database of a gateway, which outlive its processes.
pub struct Site {
    folder: TempDir,
    /// The server, and the name of a separate database.
    postgres: Option<(String, String)>,
    variables: BTreeMap<String, String>,
    starts: AtomicUsize,
}

impl Site {
    pub async fn new(on: On) -> Self {
        // Required before a client is started in this process.
        rustls::crypto::ring::default_provider().install_default().ok();
        let postgres = match on {
            On::Sqlite => None,
            On::Postgres => {
                let server = std::env::var("COUNTERSIGN_TEST_PG").expect(
                    "COUNTERSIGN_TEST_PG names a PostgreSQL server for tests; tests/run starts one",
                );
                let name = format!("cs_{}", uuid::Uuid::new_v4().simple());
                administer(&server, format!("CREATE DATABASE {name}")).await;
                Some((server, name))
            }
        };
        let folder = tempfile::tempdir().unwrap();
        Self { folder, postgres, variables: BTreeMap::new(), starts: AtomicUsize::new(0) }
    }

    /// An empty site on the same kind of database, with the same variables.
    pub async fn elsewhere(&self) -> Self {
        let on = if self.postgres.is_some() { On::Postgres } else { On::Sqlite };
        Self { variables: self.variables.clone(), ..Self::new(on).await }
    }

    /// Runs a command to its end: whether it succeeded, and its output.
    pub async fn run(&self, arguments: &[&str]) -> (bool, String) {
        self.run_in(self.folder.path(), arguments).await
    }

    /// Creates the tables, as the first start does.
    pub async fn migrate(&self) {
        let (good, said) = self.run(&["migrate"]).await;
        assert!(good, "{said}");
    }

    /// Like [`Self::run`], with another working directory.
    pub async fn run_in(&self, folder: &Path, arguments: &[&str]) -> (bool, String) {
        let ran = Command::new(env!("CARGO_BIN_EXE_countersign"))
            .args(arguments)
            .current_dir(folder)
            .env_clear()
            .envs(&self.variables)
            .output()
            .await
            .expect("the program is built before its tests");
        let said = [ran.stdout, ran.stderr].concat();
        (ran.status.success(), String::from_utf8_lossy(&said).into_owned())
    }

    /// Sets a variable for every process that is started here.
    pub fn variable(&mut self, name: &str, value: &str) {
        self.variables.insert(name.to_owned(), value.to_owned());
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn url(&self) -> String {
        match &self.postgres {
            Some((server, name)) => format!("{server}/{name}"),
            None => format!("sqlite://{}", self.path("countersign.db").display()),
        }
    }

    /// The common configuration of all gateways, followed by `more`.
    pub fn configure(&self, listen: &str, more: &str) {
        let text = format!(
            "data_dir = \"data\"\n[store]\nurl = {:?}\nlease_duration = \"1s\"\n[admin]\nlisten = {listen:?}\n{more}",
            self.url()
        );
        fs::write(self.path("countersign.toml"), text).unwrap();
    }

    /// Starts a process; `more` are variables of this one only.
    pub fn start(&self, more: &[(&str, &str)]) -> Running {
        self.spawn(&["serve"], Stdio::null(), more)
    }

    /// Starts a gateway in its folder, without a configuration file.
    pub fn start_without_a_file(&self) -> Running {
        let mut program = Command::new(env!("CARGO_BIN_EXE_countersign"));
        program.arg("serve");
        self.launch(program, Stdio::null(), &[])
    }

    /// Starts a terminal chat, over pipes.
    pub fn talk(&self) -> Running {
        self.spawn(&["chat"], Stdio::piped(), &[])
    }

    /// Starts a command that reads its input.
    pub fn asks(&self, command: &[&str]) -> Running {
        self.spawn(command, Stdio::piped(), &[])
    }

    /// Starts a process whose output is a terminal.
    pub fn start_on_a_terminal(&self) -> Running {
        let program = env!("CARGO_BIN_EXE_countersign");
        let serve = format!("exec '{program}' serve --config countersign.toml");
        let mut terminal = Command::new("script");
        terminal.args(["-qec", &serve, "/dev/null"]);
        self.launch(terminal, Stdio::null(), &[])
    }

    fn spawn(&self, command: &[&str], keyboard: Stdio, more: &[(&str, &str)]) -> Running {
        let mut program = Command::new(env!("CARGO_BIN_EXE_countersign"));
        program.args(command);
        if !command.contains(&"--config") {
            program.args(["--config", "countersign.toml"]);
        }
        self.launch(program, keyboard, more)
    }

    fn launch(&self, mut command: Command, keyboard: Stdio, more: &[(&str, &str)]) -> Running {
        let number = self.starts.fetch_add(1, Ordering::SeqCst);
        let path = |stream: &str| self.path(&format!("run{number}.{stream}"));
        let child = command
            .current_dir(self.folder.path())
            .env_clear()
            .envs(&self.variables)
            .envs(more.iter().copied())
            .stdin(keyboard)
            .stdout(File::create(path("out")).unwrap())
            .stderr(File::create(path("err")).unwrap())
            .kill_on_drop(true)
            .spawn()
            .expect("the program is built before its tests");
        Running { child, out: path("out"), err: path("err") }
    }

    /// The rows of a table, each an object.
    pub async fn rows(&self, table: &str) -> Vec<Value> {
        if self.postgres.is_some() {
            return self.ask(&format!("SELECT row_to_json(t)::text FROM {table} t")).await;
        }
        let columns = format!("SELECT json_quote(name) FROM pragma_table_info('{table}')");
        let columns = self.ask(&columns).await;
        let pairs = columns.iter().filter_map(Value::as_str).map(|c| format!("'{c}', {c}"));
        let pairs = pairs.collect::<Vec<_>>().join(", ");
        self.ask(&format!("SELECT json_object({pairs}) FROM {table}")).await
    }

    /// The answers to a query of one column of JSON.
    async fn ask(&self, sql: &str) -> Vec<Value> {
        let sql = sqlx::AssertSqlSafe(sql.to_owned());
        let rows: Vec<(String,)> = if self.postgres.is_some() {
            let mut conn = PgConnection::connect(&self.url()).await.unwrap();
            sqlx::query_as(sql).fetch_all(&mut conn).await.unwrap()
        } else {
            let mut conn = SqliteConnection::connect(&self.url()).await.unwrap();
            sqlx::query_as(sql).fetch_all(&mut conn).await.unwrap()
        };
        rows.into_iter().map(|(row,)| serde_json::from_str(&row).unwrap_or(json!(row))).collect()
    }

    /// Executes a statement in the SQLite database, as nobody should.
    pub async fn tampers(&self, sql: &str) {
        let mut conn = SqliteConnection::connect(&self.url()).await.unwrap();
        sqlx::query(sqlx::AssertSqlSafe(sql.to_owned())).execute(&mut conn).await.unwrap();
    }

    /// The database's integrity report: `ok`.
    pub async fn integrity(&self) -> String {
        if self.postgres.is_none() {
            let said = self.ask("SELECT integrity_check FROM pragma_integrity_check").await;
            return said.iter().filter_map(Value::as_str).collect::<Vec<_>>().join("; ");
        }
        let mut conn = PgConnection::connect(&self.url()).await.unwrap();
        let checked = async {
            sqlx::query("CREATE EXTENSION IF NOT EXISTS amcheck").execute(&mut conn).await?;
            sqlx::query(
                "SELECT bt_index_check(c.oid, true) FROM pg_class c
                JOIN pg_am a ON a.oid = c.relam
                WHERE a.amname = 'btree' AND c.relkind = 'i' AND c.relpersistence = 'p'",
            )
            .execute(&mut conn)
            .await
        };
        checked.await.map_or_else(|problem: sqlx::Error| problem.to_string(), |_| "ok".to_owned())
    }

    /// The database rejects new connections and closes the open ones.
    pub async fn lose_database(&self) {
        let (server, name) = self.postgres.as_ref().expect("a server that can be lost");
        administer(server, format!("ALTER DATABASE {name} ALLOW_CONNECTIONS false")).await;
        let all = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname =";
        administer(server, format!("{all} '{name}'")).await;
    }

    pub async fn find_database(&self) {
        let (server, name) = self.postgres.as_ref().expect("a server that can be found");
        administer(server, format!("ALTER DATABASE {name} ALLOW_CONNECTIONS true")).await;
    }

    /// The output of all processes.
    pub fn said(&self) -> String {
        let count = self.starts.load(Ordering::SeqCst);
        let paths = (0..count).flat_map(|n| [format!("run{n}.out"), format!("run{n}.err")]);
        paths.map(|name| read(&self.path(&name))).collect::<Vec<_>>().join("\n")
    }

    /// The output of all processes so far.
    pub fn printed(&self) -> String {
        let count = self.starts.load(Ordering::SeqCst);
        (0..count).map(|n| read(&self.path(&format!("run{n}.out")))).collect()
    }

    /// Every file of the data folder, and the database file.
    pub fn files(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let mut found = Vec::new();
        let mut folders = vec![self.folder.path().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
                let path = entry.path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    match fs::read(&path) {
                        Ok(bytes) => found.push((path, bytes)),
                        // The process has deleted it in the meantime.
                        Err(problem) => assert_eq!(problem.kind(), io::ErrorKind::NotFound),
                    }
                }
            }
        }
        found
    }

    pub async fn end(self) {
        if let Some((server, name)) = &self.postgres {
            administer(server, format!("DROP DATABASE {name} WITH (FORCE)")).await;
        }
    }
}

/// One process. Dropping it kills it.
pub struct Running {
    child: Child,
    out: PathBuf,
    err: PathBuf,
}

impl Running {
    /// Waits until it reports that it is running.
    pub async fn greeted(&mut self) {
        assert!(self.starts().await, "it ended while it started: {}", self.said());
    }

    /// Waits for its greeting; `false` if it has ended.
    pub async fn starts(&mut self) -> bool {
        eventually("the gateway starts", async || {
            if self.child.try_wait().unwrap().is_some() {
                return Some(false);
            }
            read(&self.out).contains("Countersign is running").then_some(true)
        })
        .await
    }

    /// Types on the terminal.
    pub async fn types(&mut self, keys: &[u8]) {
        let keyboard = self.child.stdin.as_mut().expect("it was given a keyboard");
        keyboard.write_all(keys).await.expect("it reads");
    }

    /// Ends its input.
    pub fn closes_its_input(&mut self) {
        self.child.stdin = None;
    }

    pub fn said(&self) -> String {
        read(&self.out) + &read(&self.err)
    }

    /// The base URL of its web server, as it printed it.
    pub fn url(&self) -> String {
        let said = read(&self.out);
        let line = said.lines().find_map(|line| line.trim_start().strip_prefix("Web chat"));
        line.expect("it was greeted").trim().to_owned()
    }

    /// The token of the sign-in link that it printed.
    pub fn sign_in_token(&self) -> String {
        let said = read(&self.out);
        let (_, rest) = said.split_once("token=").expect("a sign-in link");
        rest.split_whitespace().next().unwrap_or_default().to_owned()
    }

    /// Waits until it has ended, without a timeout.
    pub async fn died(&mut self) -> ExitStatus {
        self.child.wait().await.unwrap()
    }

    /// Its exit status.
    pub async fn ended(&mut self) -> ExitStatus {
        let ended = tokio::time::timeout(PATIENCE, self.child.wait()).await;
        ended.unwrap_or_else(|_| panic!("it goes on: {}", read(&self.err))).unwrap()
    }

    /// Asks it to stop, as an operator would.
    pub async fn stop(&mut self) -> ExitStatus {
        self.signal("-TERM").await;
        self.ended().await
    }

    /// Asks it to reload its configuration.
    pub async fn hang_up(&self) {
        self.signal("-HUP").await;
    }

    async fn signal(&self, signal: &str) {
        if let Some(id) = self.child.id() {
            let asked = Command::new("kill").args([signal, &id.to_string()]).status().await;
            asked.expect("`kill` is everywhere");
        }
    }

    /// `kill -9`
    pub async fn kill(&mut self) {
        self.child.kill().await.unwrap();
    }
}

fn read(path: &Path) -> String {
    String::from_utf8_lossy(&fs::read(path).unwrap_or_default()).into_owned()
}

/// Polls until there is a value.
pub async fn eventually<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let mut ticks = tokio::time::interval(POLL_INTERVAL);
    let looking = async {
        loop {
            ticks.tick().await;
            if let Some(found) = look().await {
                return found;
            }
        }
    };
    let found = tokio::time::timeout(PATIENCE, looking).await;
    found.unwrap_or_else(|_| panic!("this never happened: {what}"))
}
