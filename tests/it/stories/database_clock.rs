//! All nodes use the database's clock.

use chrono::{DateTime, TimeDelta, Utc};
use countersign::testing::{
    clock::{Clock as _, SystemClock},
    journal::event::Event,
};

use crate::support::{process::eventually, world::World};

/// Shifts the database's clock against this machine's, as if this machine's were wrong.
async fn sets_off(world: &World, by: &str) {
    let function = format!(
        "CREATE OR REPLACE FUNCTION public.clock_timestamp() RETURNS timestamptz LANGUAGE sql
        AS $$ SELECT pg_catalog.clock_timestamp() + interval '{by}' $$"
    );
    world.tampers(&function).await;
    let first = "
        DO $$ BEGIN EXECUTE format(
            'ALTER DATABASE %I SET search_path = public, pg_catalog', current_database()
        ); END $$";
    world.tampers(first).await;
}

/// A node with a wrong system clock stores the database's times, starts immediately what is ready
/// by them, and lets nothing end early or late.
async fn a_node_goes_by_the_databases_clock(seconds: i64) {
    let mut world = World::on_postgres().await;
    sets_off(&world, &format!("{seconds} s")).await;
    let app = world.node_in_real_time().await;
    let theirs = || SystemClock::wall() + TimeDelta::seconds(seconds);
    let is_theirs = |at: DateTime<Utc>| (theirs() - at).abs() < TimeDelta::seconds(20);
    assert!(is_theirs(SystemClock.now()), "{}", SystemClock.now());

    // The length at which a message may have been split, so that it waits for the rest.
    let what = world.said(&"x".repeat(4_000));
    world.takes(&app, "1", what).await;
    let journal = world.journal().await;
    assert!(matches!(journal[0].event, Event::Said { .. }));
    assert!(is_theirs(journal[0].at), "{}", journal[0].at);
    let before = app.gateway.store.read(|tx| Box::pin(async move { tx.now_ms().await })).await;
    let due = app.gateway.clock.now() + TimeDelta::seconds(1);
    let late = due.timestamp_millis() - before.unwrap();
    assert!(
        (500..20_000).contains(&late),
        "a second from now is {late} ms from the database's now"
    );
    app.gateway.store.follow_clock().await.unwrap();
    let (one, two) = (SystemClock.now(), SystemClock.now());
    assert!(one <= two, "it never steps back");
    drop(app);
    world.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_whose_clock_is_behind_goes_by_the_databases() {
    a_node_goes_by_the_databases_clock(60).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_whose_clock_is_ahead_goes_by_the_databases() {
    a_node_goes_by_the_databases_clock(-60).await;
}

/// A running node follows the database's clock when that is set.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_running_node_follows_the_databases_clock() {
    let mut world = World::on_postgres().await;
    world.config.store.lease_duration = "1s".into();
    // Sessions that are open already keep their search path.
    sets_off(&world, "0 s").await;
    let app = world.node_in_real_time().await;
    app.start();
    sets_off(&world, "60 s").await;
    let ahead = || SystemClock.now() - SystemClock::wall();
    eventually("the node notices that the clock was set", async || {
        (ahead() > TimeDelta::seconds(40)).then_some(())
    })
    .await;
    app.stop().await.unwrap();
    drop(app);
    world.end().await;
}
