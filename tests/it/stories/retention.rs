//! Indexed lookups instead of scans, and deletion of old data.

use channels::{Place, PlaceKind};
use chrono::TimeDelta;
use countersign::testing::{
    agent::limits::UsageTotals,
    app::App,
    clock::Clock as _,
    journal::ids::ConversationId,
    scripted::{Gate, call, say, wait},
    store::{
        audit::{AuditKind, Fact},
        conversations::places,
        files,
        retention::{RULES, Retention},
        tools::pins::{self, OfferedTool, Reviewed, TrustOutcome},
        usage::spent::UsageScope,
    },
    worker::{
        erasure,
        maintenance::{self, Round},
    },
};
use insta::assert_snapshot;
use serde_json::json;
use std::{
    collections::BTreeSet,
    fs::File,
    time::{Duration, SystemTime},
};

use crate::{
    stories::delegation,
    story,
    support::{
        process::{PATIENCE, eventually},
        world::World,
    },
};

async fn private_with(world: &World, person: &'static str) -> Option<ConversationId> {
    let store = world.node().await.gateway.store.clone();
    store
        .read(move |tx| Box::pin(async move { places::private_with(tx, "room", person).await }))
        .await
        .unwrap()
}

async fn maintained(world: &World) {
    let app = world.node().await;
    maintenance::run_once(&app.worker, &mut Round::default()).await.unwrap();
    // Lets the next node start without waiting for the lease to expire.
    app.gateway.store.release_duties().await.unwrap();
}

story! {
    /// The owner of a private chat is stored in its row, also if an earlier release created it.
    async fn a_private_chat_knows_its_owner(world: &mut World) {
        world.model_will(say("Hello."));
        world.ann_says("hello").await;
        world.model_will(say("Hello, all."));
        let said = world.said("hello");
        world.happens_at(World::group(), ("2", &[]), said).await;
        let own = private_with(world, "1").await.expect("Ann has a private chat");
        assert_eq!(private_with(world, "7").await, Some(own.clone()), "by the id of the chat too");
        assert_eq!(private_with(world, "2").await, None);
        world.tampers("UPDATE conversations SET owner = NULL").await;
        assert_eq!(private_with(world, "1").await, Some(own));
        assert_eq!(private_with(world, "2").await, None);
    }
}

/// Adds a number of Ann's events to the private chat.
async fn grown(world: &World, events: usize) {
    world
        .tampers(&format!(
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {events})
            INSERT INTO events (conversation, seq, fence, at, body)
            SELECT c.id, c.last_seq + n.i, 0, 0,
                   '{{\"kind\":\"tainted\",\"source\":\"plum\"}}'
            FROM conversations c, n
            WHERE c.chat = '7'"
        ))
        .await;
    world
        .tampers(&format!(
            "UPDATE conversations SET last_seq = last_seq + {events} WHERE chat = '7'"
        ))
        .await;
}

story! {
    /// An erasure continues after a crash, and messages sent in the meantime start a new
    /// conversation.
    async fn an_interrupted_erasure_goes_on(world: &mut World) {
        world.model_will(say("Plums are fine."));
        world.ann_says("I like plum").await;
        world.model_will(say("Noted."));
        let said = world.said("plum for everybody, says Ann");
        world.happens_at(World::group(), ("1", &[]), said).await;
        grown(world, 1_200).await;
        let app = world.node().await;
        let (store, now) = (&app.gateway.store, world.clock.now());
        let fact = Fact::new(AuditKind::Erased, "2");
        let erasure = store.begin_erasure("room", "1", fact, now).await.unwrap().unwrap();
        let steps = store.erasure_steps(&erasure).await.unwrap();
        assert_eq!(steps.len(), 2);
        // The process dies here: nothing has been deleted yet.
        drop(app);
        world.model_will(say("Hello, whoever you are."));
        world.ann_says("hello").await;
        assert_eq!(world.last(), "Hello, whoever you are.");
        assert_eq!(world.journal().await.len(), 2, "it is a new conversation");

        world.clock.advance(TimeDelta::minutes(11));
        maintained(world).await;
        for table in ["events", "outbox"] {
            let rows = world.rows_of(table).await;
            assert!(rows.iter().all(|row| !row.contains("lum")), "{table}: {rows:?}");
        }
        for table in ["erasures", "erasure_steps", "erasure_files", "participants"] {
            assert_eq!(world.rows_of(table).await, [""; 0], "{table}");
        }
        let audit = world.rows_of("audit").await;
        assert!(audit.iter().any(|row| row.contains("erased")), "{audit:?}");
        let verified = world.node().await.gateway.store.verify_audit().await.unwrap();
        assert_eq!(verified.faults, [""; 0]);
        assert_eq!(world.journal().await.len(), 2, "the new one stays");
    }
}

story! {
    /// Data of an earlier release is indexed afterwards, twice, a day apart; until then erasures
    /// search the whole history.
    async fn the_people_of_older_rows_are_noted(world: &mut World) {
        world.model_will(say("Noted."));
        let said = world.said("plum");
        world.happens_at(World::group(), ("1", &[]), said).await;
        let before = "UPDATE backfills SET passes = 0, begins_at = 0";
        world.tampers("DELETE FROM participants").await;
        world.tampers(before).await;
        let store = world.node().await.gateway.store.clone();
        maintained(world).await;
        assert_eq!(world.rows_of("participants").await.len(), 1);
        assert!(!store.mentions_are_complete().await.unwrap());
        world.clock.advance(TimeDelta::days(1) + TimeDelta::minutes(1));
        maintained(world).await;
        assert!(store.mentions_are_complete().await.unwrap());

        world.tampers("DELETE FROM participants").await;
        world.tampers(before).await;
        let app = world.node().await;
        let fact = Fact::new(AuditKind::Erased, "2");
        let erased = erasure::erase(&app.worker, "room", "1", fact).await.unwrap().unwrap();
        assert_eq!(erased.events, 1);
        let events = world.rows_of("events").await;
        assert!(events.iter().all(|row| !row.contains("plum")), "{events:?}");
    }
}

story! {
    /// Concurrent conversations of one person count together, and the daily limit applies to all of
    /// them.
    /// Proves S13.
    async fn the_limits_of_a_day_hold_for_conversations_side_by_side(world: &mut World) {
        world.config.limits.person.messages = Some(6);
        let topic = |n: usize| Place {
            chat: "-70".into(),
            thread: Some(n.to_string()),
            kind: PlaceKind::Group,
        };
        let app = world.node().await;
        for n in 0..6 {
            world.model_will(say("Yes."));
            let said = world.said("hello");
            world.takes_at(topic(n), &app, "1", said).await;
        }
        world.settle(&app).await;
        assert_eq!(world.prompts().len(), 6);
        let store = &app.gateway.store;
        let spent = async |scope| store.spent(scope, world.clock.now()).await.unwrap();
        let total = spent(UsageScope::Person("room/1".into())).await;
        assert_eq!(total, UsageTotals { messages: 6, ..total });
        assert_eq!(spent(UsageScope::All).await, total, "the totals agree");
        assert!(total.tokens > 0);
        for n in 0..6 {
            let said = world.said("once more");
            world.takes_at(topic(n), &app, "1", said).await;
        }
        world.settle(&app).await;
        assert_eq!(world.prompts().len(), 6, "nothing is left of the day");
    }
}

story! {
    /// Reserved usage of another conversation counts: with one message left, one of two
    /// simultaneous messages is answered.
    /// Proves S13.
    async fn two_conversations_do_not_share_the_last_message(world: &mut World) {
        world.config.limits.person.messages = Some(1);
        let gate = Gate::new();
        world.model_will(wait(&gate));
        world.model_will(say("Yes."));
        let app = world.node().await;
        let (first, second) = (world.said("hello"), world.said("hello"));
        world.takes(&app, "1", first).await;
        let advancing = app.worker.advance_ready();
        let meanwhile = async {
            gate.reached().await;
            world.takes_at(World::group(), &app, "1", second).await;
            app.worker.advance_ready().await.unwrap();
            gate.open();
        };
        let (advanced, ()) = tokio::join!(advancing, meanwhile);
        advanced.unwrap();
        world.settle(&app).await;
        assert_eq!(world.prompts().len(), 1);
        assert_snapshot!(world.shown(), @"
        You've reached today's message limit. It resets in 14 h (00:00 UTC), or the operator can raise it. … Reference: `<reference>`
        Yes.
        ");
        assert_eq!(world.rows_of("reservations").await, [""; 0]);
    }
}

story! {
    /// Every table has a retention rule, and every rule a table: adding a table requires deciding
    /// how long its rows are kept.
    async fn every_table_has_a_retention(world: &mut World) {
        drop(world.node().await);
        let catalogue = if world.is_on_sqlite() {
            "(SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'
              AND name NOT LIKE 'memory_words_%')"
        } else {
            "(SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public')"
        };
        world.tampers(&format!("CREATE VIEW all_tables AS SELECT name FROM {catalogue} x")).await;
        let tables: BTreeSet<String> = world
            .rows_of("all_tables")
            .await
            .into_iter()
            .map(|row| row.trim_matches(['(', ')']).to_owned())
            .filter(|table| table != "_sqlx_migrations")
            .collect();
        let ruled: BTreeSet<String> =
            RULES.iter().map(|rule| rule.table.to_owned()).collect();
        assert_eq!(tables, ruled);
        assert_eq!(ruled.len(), RULES.len(), "one rule for each table");
        assert!(RULES.iter().all(|rule| !rule.kept.is_empty()));
    }
}

story! {
    /// Old rows are deleted, rows in use are kept: an open approval with its request, a grant that
    /// can be revoked.
    async fn old_rows_are_deleted_and_rows_in_use_stay(world: &mut World) {
        world.config.guard.approval_timeout = "300d".into();
        world.model_will(call("delete", json!({ "path": "a.txt" })));
        world.ann_says("delete a.txt").await;
        world.model_will(say("Done."));
        world.ann_presses("Allow once").await;
        world.model_will(call("delete", json!({ "path": "b.txt" })));
        world.ann_says("delete b.txt").await;
        assert_eq!(world.rows_of("approvals").await.len(), 2);
        let tokens = world.rows_of("approval_tokens").await.len();
        let sent = world.rows_of("outbox").await.len();
        world.clock.advance(TimeDelta::days(8));
        maintained(world).await;
        assert_eq!(world.rows_of("deliveries").await, [""; 0]);
        assert_eq!(world.rows_of("approvals").await.len(), 2);
        assert_eq!(world.rows_of("outbox").await.len(), sent);
        world.clock.advance(TimeDelta::days(90));
        maintained(world).await;
        let approvals = world.rows_of("approvals").await;
        assert_eq!(approvals.len(), 1);
        assert!(approvals[0].contains("b.txt"), "{approvals:?}");
        assert!(world.rows_of("approval_tokens").await.len() < tokens);
        assert_eq!(world.rows_of("outbox").await.len(), 1, "the open request");
        assert!(!world.journal().await.is_empty());
        world.model_will(say("Done."));
        world.ann_presses("Allow once").await;
        assert_eq!(world.deletions(), 2, "its buttons still work");
    }
}

story! {
    /// Each transaction deletes or seals a limited number of rows, and a round continues until there
    /// are none.
    async fn more_than_a_slice_is_deleted_in_several(world: &mut World) {
        drop(world.node().await);
        world
            .tampers(
                "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2500)
                INSERT INTO deliveries (channel, delivery, at)
                SELECT 'room', 'd' || n.i, n.i FROM n",
            )
            .await;
        world
            .tampers(
                "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1100)
                INSERT INTO audit_heads (chain, n, hash, sealed)
                SELECT 'c' || n.i, 1, 'h', 0 FROM n",
            )
            .await;
        let (app, now) = (world.node().await, world.clock.now());
        let kept = Retention::default();
        assert!(app.gateway.store.prune("deliveries", &kept, now).await.unwrap());
        assert_eq!(world.rows_of("deliveries").await.len(), 1_500);
        maintained(world).await;
        assert_eq!(world.rows_of("deliveries").await, [""; 0]);
        assert_eq!(app.gateway.store.seal(now, None).await.unwrap(), 0, "everything is sealed");
    }
}

story! {
    /// One node at a time does the maintenance, and none that stops.
    async fn one_node_at_a_time_does_the_maintenance(world: &mut World) {
        world.model_will(say("Hello."));
        world.ann_says("hello").await;
        let (one, other) = (world.node().await, world.node().await);
        let run = async |app: &App| {
            maintenance::run_once(&app.worker, &mut Round::default()).await.unwrap();
        };
        run(&one).await;
        world.clock.advance(TimeDelta::days(8));
        run(&other).await;
        one.gateway.stop.cancel();
        run(&one).await;
        assert_ne!(world.rows_of("deliveries").await, [""; 0]);
        one.gateway.store.release_duties().await.unwrap();
        run(&other).await;
        assert_eq!(world.rows_of("deliveries").await, [""; 0]);
    }
}

story! {
    /// A node repeats the maintenance until it stops.
    async fn maintenance_is_repeated_until_the_node_stops(world: &mut World) {
        let app = world.node().await;
        let maintaining = maintenance::maintain(app.worker.clone(), Duration::from_millis(10));
        let maintaining = tokio::spawn(maintaining);
        for _ in 0..2 {
            world.model_will(say("Hello."));
            world.ann_says("hello").await;
            world.clock.advance(TimeDelta::days(8));
            let is_pruned = async || world.rows_of("deliveries").await.is_empty().then_some(());
            eventually("old rows are deleted", is_pruned).await;
        }
        assert!(!maintaining.is_finished());
        app.gateway.stop.cancel();
        tokio::time::timeout(PATIENCE, maintaining).await.expect("it ends").unwrap();
    }
}

story! {
    /// The ids of incoming webhooks are kept for longer than those of platforms: a sender that signs
    /// no time could otherwise be replayed.
    /// Proves S6.
    async fn an_old_webhook_is_still_known(world: &mut World) {
        drop(world.node().await);
        let at = world.clock.now().timestamp_millis();
        for channel in ["room", "hooks/ci", "answers"] {
            world
                .tampers(&format!(
                    "INSERT INTO deliveries (channel, delivery, at) VALUES ('{channel}', 'd', {at})"
                ))
                .await;
        }
        world.clock.advance(TimeDelta::days(60));
        maintained(world).await;
        let kept = world.rows_of("deliveries").await.join(" ");
        assert!(kept.contains("hooks/ci") && kept.contains("answers") && !kept.contains("room"), "{kept}");
        world.clock.advance(TimeDelta::days(401));
        maintained(world).await;
        assert_eq!(world.rows_of("deliveries").await, [""; 0]);
    }
}

story! {
    /// A tool of an MCP server that nobody trusts is forgotten once its server no longer offers it.
    async fn untrusted_tools_of_servers_are_forgotten(world: &mut World) {
        let app = world.node().await;
        let now = world.clock.now();
        let see = app.gateway.store.write("see", move |tx| {
            Box::pin(async move {
                let listed = ["a", "b"].map(|tool| OfferedTool {
                    name: tool.to_owned(),
                    definition: format!("{{{tool}}}"),
                });
                let pins = pins::see(tx, "m", &listed, now).await?;
                let (server, tool) = ("m".to_owned(), Some("b".to_owned()));
                let reviewed = Reviewed { server, tool, digest: pins::digest(pins["b"].now()) };
                pins::trust(tx, &reviewed, "ann", now).await
            })
        });
        assert_eq!(see.await.unwrap(), TrustOutcome::Trusted(vec!["b".to_owned()]));
        drop(app);
        world.clock.advance(TimeDelta::days(399));
        maintained(world).await;
        assert_eq!(world.rows_of("mcp_tools").await.len(), 2);
        world.clock.advance(TimeDelta::days(2));
        maintained(world).await;
        let kept = world.rows_of("mcp_tools").await;
        assert!(kept.len() == 1 && kept[0].contains("ann"), "{kept:?}");
    }
}

story! {
    /// Conversations are kept forever, unless the configuration sets a limit.
    async fn idle_conversations_expire_where_that_is_configured(world: &mut World) {
        world.model_will(say("Hello."));
        world.ann_says("hello").await;
        world.clock.advance(TimeDelta::days(500));
        world.model_will(say("Hello, Bob."));
        let said = world.said("hello");
        world.happens_at(World::group(), ("2", &[]), said).await;
        maintained(world).await;
        assert_eq!(world.rows_of("conversations").await.len(), 2);
        world.config.retention.conversations = Some("400d".into());
        maintained(world).await;
        assert_eq!(world.rows_of("conversations").await.len(), 1);
        assert!(world.rows_of("events").await.iter().all(|row| !row.contains("Ann")));
        world.model_will(say("Who are you?"));
        world.ann_says("hello again").await;
        assert_eq!(world.last(), "Who are you?");
    }
}

/// Lets a stored file appear to be old.
fn make_old(world: &World, digest: &str) {
    let path = world.config.data_dir.join("artifacts").join(&digest[..2]).join(digest);
    let file = File::options().write(true).open(path).unwrap();
    file.set_modified(SystemTime::UNIX_EPOCH).unwrap();
}

story! {
    /// An old file without references is removed; a referenced one is kept.
    async fn unreferenced_files_are_removed(world: &mut World) {
        let app = world.node().await;
        let artifacts = &app.gateway.artifacts;
        let mut digests = Vec::new();
        for content in ["named", "nobody's", "nobody's yet"] {
            let bytes = content.as_bytes().to_vec();
            digests.push(artifacts.put("a.txt", "text/plain", bytes).await.unwrap().digest);
        }
        world.tampers(&format!("INSERT INTO mentions VALUES ('{}', 'c')", digests[0])).await;
        for digest in &digests[..2] {
            make_old(world, digest);
        }
        let mut round = Round::default();
        for _ in 0..16 {
            maintenance::run_once(&app.worker, &mut round).await.unwrap();
        }
        assert!(artifacts.read(&digests[0]).await.is_ok());
        assert!(artifacts.read(&digests[1]).await.is_err(), "nothing names it");
        assert!(artifacts.read(&digests[2]).await.is_ok(), "it is new");
        assert_eq!(digests[1], files::digest_of(b"nobody's"));
    }
}

story! {
    /// The file with the arguments of an approval that an earlier release created, which nothing
    /// names, is kept while the approval is open.
    async fn the_arguments_of_an_older_open_approval_are_kept(world: &mut World) {
        let arguments = json!({ "path": "a.txt", "why": "many words ".repeat(300) });
        world.model_will(call("delete", arguments.clone()));
        world.ann_says("delete it").await;
        world.tampers("UPDATE approvals SET file = NULL").await;
        let app = world.node().await;
        let artifacts = &app.gateway.artifacts;
        let bytes = format!("{arguments:#}\n").into_bytes();
        let put = artifacts.put("arguments.json", "application/json", bytes).await.unwrap();
        world.tampers(&format!("DELETE FROM mentions WHERE digest = '{}'", put.digest)).await;
        make_old(world, &put.digest);
        let mut round = Round::default();
        let mut swept = async || {
            for _ in 0..16 {
                maintenance::run_once(&app.worker, &mut round).await.unwrap();
            }
            artifacts.read(&put.digest).await.is_err()
        };
        assert!(!swept().await, "the approval is open");
        world.ann_says("/stop").await;
        assert!(swept().await);
    }
}

story! {
    /// The conversation of a sub-agent is deleted some time after its answer was delivered.
    async fn conversations_of_sub_agents_expire(world: &mut World) {
        delegation::staff(world);
        world.model_will(call("ask_coworker", json!({ "coworker": "researcher", "question": "?" })));
        world.model_will(say("An answer."));
        world.model_will(say("It says: an answer."));
        world.ann_says("ask it").await;
        assert_eq!(world.rows_of("conversations").await.len(), 2);
        world.clock.advance(TimeDelta::days(31));
        maintained(world).await;
        assert_eq!(world.rows_of("conversations").await.len(), 1);
        assert_eq!(world.rows_of("tasks").await, [""; 0]);
        world.model_will(say("Still here."));
        world.ann_says("are you there?").await;
        assert_eq!(world.last(), "Still here.");
    }
}
