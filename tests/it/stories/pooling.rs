//! The gateway uses PostgreSQL through a connection pooler in transaction mode (PgBouncer).

use countersign::testing::{
    scripted::{calls, say},
    store::{Store, StoreOptions},
};
use serde_json::json;
use std::{
    env,
    fs::{self, Permissions},
    iter,
    os::unix::fs::PermissionsExt as _,
    process::{Child, Command},
};
use url::{Position, Url};

use super::concurrency::{all_presses, chat};
use crate::support::world::{World, administer};

/// Fewer connections than a gateway opens, so that each of its transactions may get another one.
const SESSIONS: usize = 3;

/// PgBouncer on a Unix socket in its own folder.
struct Pooler {
    server: String,
    folder: tempfile::TempDir,
    process: Child,
}

impl Pooler {
    fn start(server: &Url) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path();
        // It does not run as root, but as another user, who creates its socket.
        fs::set_permissions(at, Permissions::from_mode(0o777)).unwrap();
        let config = format!(
            "[databases]\n\
            * = host={} port={} user={}\n\
            [pgbouncer]\n\
            unix_socket_dir = {}\n\
            listen_addr =\n\
            auth_type = any\n\
            pool_mode = transaction\n\
            default_pool_size = {SESSIONS}\n",
            server.host_str().unwrap(),
            server.port().unwrap_or(5432),
            server.username(),
            at.display()
        );
        let file = at.join("pgbouncer.ini");
        fs::write(&file, config).unwrap();
        let path = env::var_os("PATH").unwrap();
        let folders = env::split_paths(&path).chain(iter::once("/usr/sbin".into()));
        let mut command = Command::new("pgbouncer");
        command.arg("--quiet").arg(&file).env("PATH", env::join_paths(folders).unwrap());
        if rustix::process::geteuid().is_root() {
            command.args(["--user", "nobody"]);
        }
        let mut process = command.spawn().expect("tests/run installs pgbouncer");
        while !at.join(".s.PGSQL.6432").exists() {
            assert_eq!(process.try_wait().unwrap(), None, "PgBouncer has ended");
            std::thread::yield_now();
        }
        let server = server[..Position::BeforePath].to_owned();
        Self { server, folder, process }
    }

    fn url(&self, database: &str) -> String {
        let folder = self.folder.path().display();
        format!("postgres:///{database}?host={folder}&port=6432&user=postgres")
    }
}

impl Drop for Pooler {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A world whose gateways reach its database through a pooler.
async fn pooled() -> (World, Pooler) {
    let mut world = World::on_postgres().await;
    let server = Url::parse(world.config.store.url.as_ref().unwrap()).unwrap();
    let pooler = Pooler::start(&server);
    world.config.store.url = Some(pooler.url(server.path().trim_start_matches('/')));
    world.config.store.transaction_pooling = true;
    (world, pooler)
}

/// Two gateways share three sessions of the server, while people allow calls on both.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn gateways_share_the_sessions_of_a_pooler() {
    const PEOPLE: usize = 20;
    const CALLS: usize = 3;
    let (mut world, _pooler) = pooled().await;
    world.allow = (0..PEOPLE).map(|person| person.to_string()).collect();
    let nodes = [world.node().await, world.node().await];
    for person in 0..PEOPLE {
        let files = (0..CALLS).map(|n| ("delete".into(), json!({ "path": format!("{n}.txt") })));
        world.model_will(calls(files.collect()));
        let said = world.said("clean up");
        world.takes_at(chat(person), &nodes[person % 2], &person.to_string(), said).await;
    }
    let (first, second) =
        tokio::join!(nodes[0].worker.advance_ready(), nodes[1].worker.advance_ready());
    assert_eq!(first.unwrap() + second.unwrap(), PEOPLE);
    world.settle(&nodes[0]).await;
    for (number, (place, press)) in all_presses(&mut world, "Allow once").into_iter().enumerate() {
        let person = place.chat[1..].to_owned();
        world.takes_at(place, &nodes[number % 2], &person, press).await;
    }
    for _ in 0..PEOPLE {
        world.model_will(say("Cleaned up."));
    }
    let (first, second) =
        tokio::join!(nodes[0].worker.advance_ready(), nodes[1].worker.advance_ready());
    assert_eq!(first.unwrap() + second.unwrap(), PEOPLE);
    world.settle(&nodes[1]).await;
    assert_eq!(world.deletions(), PEOPLE * CALLS);
    assert_eq!(world.shown().matches("Cleaned up.").count(), PEOPLE);
    world.end().await;
}

/// Several nodes that start at the same time migrate an empty database through the pooler once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_is_migrated_through_a_pooler() {
    let (world, pooler) = pooled().await;
    let name = format!("cs_{}", uuid::Uuid::new_v4().simple());
    administer(&pooler.server, format!("CREATE DATABASE {name}")).await;
    let options = StoreOptions { transaction_pooling: true, ..StoreOptions::default() };
    let url = pooler.url(&name);
    let opened = futures::future::join_all((0..4).map(|_| Store::open(&url, options))).await;
    for store in opened {
        let store = store.unwrap();
        assert!(store.claim(9, world.clock_now()).await.unwrap().is_empty());
    }
    administer(&pooler.server, format!("DROP DATABASE {name} WITH (FORCE)")).await;
    world.end().await;
}
