//! What a power failure undoes on SQLite: the files as they were at the last commit that was
//! flushed.
//!
//! A commit that need not survive a power failure may be on the disk or not. These tests take the
//! worst case: the files are copied at a moment before such a commit, and a new node continues from
//! the copy.

use countersign::testing::{
    crash,
    scripted::{call, say},
    store::db::backup,
};
use insta::assert_snapshot;
use serde_json::json;
use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::support::{stable_output::stable, world::World};

/// The files of a database.
struct Files {
    database: PathBuf,
}

impl Files {
    fn of(world: &World) -> Self {
        Self { database: backup::file_of(&world.config.store_url()).expect("it is a file") }
    }

    /// Without the index of the log, which is not on the disk.
    fn copy(&self, folder: &Path) {
        for end in ["", "-wal"] {
            let from = format!("{}{end}", self.database.display());
            fs::copy(&from, folder.join(format!("copy.db{end}"))).unwrap();
        }
    }
}

/// Copies the files when the named point is passed the next time.
fn copy_at(point: &'static str, world: &World) -> tempfile::TempDir {
    let (folder, files) = (tempfile::tempdir().unwrap(), Files::of(world));
    let to = folder.path().to_owned();
    crash::interrupt_at(point, move || files.copy(&to));
    folder
}

/// Continues from the copy, long enough after for leases to expire.
async fn power_returns(world: &mut World, copy: &Path) {
    world.config.store.url = Some(format!("sqlite://{}", copy.join("copy.db").display()));
    crash::move_database_clock(60_000);
    let app = world.node().await;
    world.settle(&app).await;
}

/// An answer whose end was not flushed is edited into its message again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_is_not_shown_twice_after_a_power_failure() {
    let mut world = World::on_sqlite();
    drop(world.node().await);
    let copy = copy_at("end send/before commit", &world);
    world.model_will(say("Hello."));
    world.ann_says("hello").await;
    assert_snapshot!(world.shown(), @"Hello.");
    power_returns(&mut world, copy.path()).await;
    assert_snapshot!(world.shown(), @"Hello.");
    assert_eq!(world.prompts().len(), 1, "the reply was recorded");
    let sent = world.rows_of("outbox").await;
    assert!(sent.iter().all(|row| row.contains("sent")), "{sent:?}");
}

/// A message is confirmed to the platform after it was flushed, so a claim that is lost is made
/// again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_is_answered_after_a_power_failure() {
    let mut world = World::on_sqlite();
    drop(world.node().await);
    let copy = copy_at("claim/before commit", &world);
    let said = world.said("hello");
    let app = world.node().await;
    world.takes(&app, "1", said).await;
    let claimed = app.gateway.store.claim(1, world.clock_now()).await.unwrap();
    assert_eq!(claimed.len(), 1);
    world.model_will(say("Hello."));
    power_returns(&mut world, copy.path()).await;
    assert_snapshot!(world.shown(), @"Hello.");
}

/// A call that was started is on the disk: a person is asked, and it does not run again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_was_started_does_not_run_twice_after_a_power_failure() {
    let mut world = World::on_sqlite();
    world.model_will(call("delete", json!({ "path": "a.txt" })));
    world.ann_says("delete a.txt").await;
    // The next record is the start of the call, the one after it its result.
    let copy = tempfile::tempdir().unwrap();
    let (files, to) = (Files::of(&world), copy.path().to_owned());
    crash::interrupt_at("record/after commit", move || files.copy(&to));
    world.model_will(say("Done."));
    world.ann_presses("Allow once").await;
    assert_eq!(world.deletions(), 1);
    power_returns(&mut world, copy.path()).await;
    assert_eq!(world.deletions(), 1, "{}", stable(&world.last()));
    assert!(world.last().contains("Run again"), "{}", world.last());
}
