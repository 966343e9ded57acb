//! The audit records what was judged, decided and run, and tampering is detected.

use chrono::TimeDelta;
use countersign::testing::{
    cli::audit::{AuditCommand, run},
    scripted::{call, calls, say},
    store::audit::{AuditKind, AuditRecord, Fact, Query},
    worker::maintenance::{self, Round},
};
use futures::future::join_all;
use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::{
    story,
    support::{stable_output::stable, world::World},
};

/// Ann has one file deleted, denies another, and Bob may not decide.
async fn lives(world: &mut World) {
    world.model_will(calls(vec![
        ("delete".into(), json!({ "path": "a.txt", "password": "hunter2hunter2" })),
        ("rare".into(), json!({})),
    ]));
    world.model_will(say("Done."));
    world.ann_says("delete a.txt").await;
    world.bob_presses("Allow once").await;
    world.ann_presses("Allow once").await;
    world.model_will(call("delete", json!({ "path": "b.txt" })));
    world.model_will(say("I leave it."));
    world.ann_says("delete b.txt").await;
    world.ann_presses("Deny").await;
}

async fn rows(world: &World) -> Vec<AuditRecord> {
    let query = Query { limit: 1_000, ..Query::default() };
    let mut rows = world.node().await.gateway.store.audit(query).await.unwrap();
    rows.reverse();
    rows.sort_by_key(|row| (row.chain.clone(), row.n));
    rows
}

async fn verify(world: &World) -> Result<String, String> {
    verify_with(world, None).await
}

async fn verify_with(world: &World, seal: Option<String>) -> Result<String, String> {
    let store = &world.node().await.gateway.store;
    run(store, AuditCommand::Verify { seal }).await.map_err(|problem| problem.to_string())
}

story! {
    /// Who, what, by which rule, with which outcome: redacted, with the digest of what was really
    /// run.
    async fn the_audit_tells_what_happened(world: &mut World) {
        lives(world).await;
        let rows = rows(world).await;
        let told: Vec<_> = rows.iter().map(|row| (row.kind.as_str(), row.tool.as_str())).collect();
        assert_eq!(told, [
            ("asked", "delete"), ("ran", "rare"), ("vote_rejected", "delete"), ("decided", "delete"),
            ("started", "delete"), ("ran", "delete"), ("asked", "delete"), ("decided", "delete"), ("refused", "delete"),
        ]);
        let body = |n: usize| serde_json::from_str::<Value>(&rows[n].body).unwrap();
        assert_eq!(body(0)["arguments"], json!({ "path": "a.txt", "password": "[redacted: secret]" }));
        assert_eq!(body(0)["digest"], body(5)["digest"]);
        assert_eq!(body(5)["rule"]["allowed"]["person"]["name"], "Ann");
        assert_eq!(body(5)["outcome"], "done");
        assert_eq!(body(7)["outcome"], "denied");
        assert_eq!(body(8)["rule"], "Denied by Ann.");
        for (n, row) in rows.iter().enumerate() {
            assert_eq!(row.person, if n == 2 { "2" } else { "1" }, "{row:?}");
        }
        assert_snapshot!(stable(&verify(world).await.unwrap()), @"Verified: 9 records in 1 chains, none altered.");

        let store = &world.node().await.gateway.store;
        let query = Query { tool: "rare".into(), kind: "ran".into(), limit: 9, ..Query::default() };
        assert_eq!(store.audit(query).await.unwrap().len(), 1);
        let later = Query { since: Some(rows[0].at + TimeDelta::days(1)), limit: 9, ..Query::default() };
        assert_eq!(store.audit(later).await.unwrap(), []);
    }
}

story! {
    /// A call that ends without running is a refusal only if it does not succeed.
    async fn an_enabled_tool_is_no_refusal(world: &mut World) {
        for names in [json!(["json"]), json!(["no such tool"])] {
            world.model_will(call("enable_tool", json!({ "names": names })));
        }
        world.model_will(say("One of them."));
        world.ann_says("enable both").await;
        let rows = rows(world).await;
        let told: Vec<_> = rows.iter().map(|row| (row.kind.as_str(), row.tool.as_str())).collect();
        assert_eq!(told, [("refused", "enable_tool")]);
        assert!(rows[0].body.contains("no such tool"), "{}", rows[0].body);
    }
}

story! {
    /// Rejected people, granted and revoked permissions, the halt.
    /// Proves A13, A11, A12.
    async fn the_audit_tells_who_governs(world: &mut World) {
        world.model_will(call("delete", json!({ "path": "notes/a.txt" })));
        world.model_will(say("Done."));
        world.ann_says("delete it").await;
        world.bob_presses("Always…").await;
        world.ann_says("/always").await;
        world.ann_says("/always yes 2x").await;
        world.ann_presses("Revoke").await;
        world.make_owner("1").await;
        world.ann_says("/panic").await;
        world.ann_says("/panic off").await;
        let kinds = ["vote_rejected", "granted", "revoked", "halted", "lifted"];
        let rows = rows(world).await;
        let told: Vec<_> = kinds
            .iter()
            .map(|kind| rows.iter().filter(|row| row.kind == *kind).collect::<Vec<_>>())
            .collect();
        assert!(told.iter().all(|rows| rows.len() == 1), "{rows:#?}");
        let persons: Vec<_> = told.iter().map(|rows| rows[0].person.as_str()).collect();
        assert_eq!(persons, ["2", "1", "1", "1", "1"]);
        let granted = serde_json::from_str::<Value>(&told[1][0].body).unwrap();
        assert_eq!((&granted["uses"], &granted["owner"]), (&json!(2), &json!("room/1")));
        assert!(verify(world).await.is_ok());
    }
}

story! {
    /// The rule or permission that allowed a call is recorded.
    /// Proves MC-44.
    async fn the_audit_names_what_let_a_call_run(world: &mut World) {
        world.model_will(call("delete", json!({ "path": "notes/a.txt" })));
        world.model_will(say("Done."));
        world.ann_says("delete it").await;
        world.ann_says("/always").await;
        world.ann_says("/always yes").await;
        world.model_will(call("delete", json!({ "path": "notes/b.txt" })));
        world.model_will(say("Done."));
        world.ann_says("and that").await;
        world.guard("{ rules = [{ name = 'tidy', tool = 'delete', action = 'allow' }] }");
        world.model_will(call("delete", json!({ "path": "c.txt" })));
        world.model_will(say("Done."));
        world.ann_says("and c").await;
        let rows = rows(world).await;
        let ran = rows.iter().filter(|row| row.kind == "ran");
        let by: Vec<_> =
            ran.map(|row| serde_json::from_str::<Value>(&row.body).unwrap()["rule"].clone()).collect();
        assert_eq!(by[0]["allowed"]["person"]["name"], "Ann");
        assert!(by[1]["grant"].is_string(), "{by:?}");
        assert_eq!(by[2], json!({ "rule": "tidy", "from": "configuration" }));
    }
}

story! {
    /// A call that runs because of *Allow in this conversation* names the approval and its approver.
    /// Proves MC-44.
    async fn the_audit_names_the_permission_for_a_conversation(world: &mut World) {
        world.model_will(call("delete", json!({ "path": "a.txt" })));
        world.ann_says("delete them").await;
        world.model_will(call("delete", json!({ "path": "b.txt" })));
        world.model_will(say("Done."));
        world.ann_presses("Allow in this conversation").await;
        world.model_will(call("delete", json!({ "path": "c.txt" })));
        world.model_will(say("Done."));
        world.ann_says("and c").await;
        assert_eq!(world.deletions(), 3);
        let rows = rows(world).await;
        let body = |row: &AuditRecord| serde_json::from_str::<Value>(&row.body).unwrap();
        let asked = rows.iter().find(|row| row.kind == "asked").map(body).unwrap();
        let ran: Vec<_> = rows.iter().filter(|row| row.kind == "ran").map(body).collect();
        assert_eq!(ran[0]["rule"]["conversation"], Value::Null, "decided itself");
        for later in &ran[1..] {
            assert_eq!(later["rule"]["conversation"], asked["approval"]);
            assert_eq!(later["rule"]["allowed"]["person"]["name"], "Ann");
        }
    }
}

story! {
    /// Maintenance seals what was recorded, also more chains than fit into one seal.
    async fn maintenance_seals_the_audit(world: &mut World) {
        lives(world).await;
        let chains = "WITH RECURSIVE counted(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM counted WHERE n < 600)
                      SELECT 'chain ' || n, 1, 'hash', 0 FROM counted";
        world.tampers(&format!("INSERT INTO audit_heads (chain, n, hash, sealed) {chains}")).await;
        let sealed = async |world: &World| rows(world).await.iter().any(|row| row.chain == "seals");
        assert!(!sealed(world).await);
        let app = world.node().await;
        maintenance::run_once(&app.worker, &mut Round::default()).await.unwrap();
        assert!(sealed(world).await);
        world.tampers("CREATE VIEW unsealed AS SELECT chain FROM audit_heads WHERE sealed < n AND chain <> 'seals'").await;
        assert_eq!(world.rows_of("unsealed").await, [""; 0]);
    }
}

story! {
    /// Changed, moved or deleted records are named, and so is a missing chain.
    async fn tampering_is_named(world: &mut World) {
        lives(world).await;
        let store = world.node().await.gateway.store.clone();
        let now = "2026-05-04T12:00:00Z".parse().unwrap();
        store.seal(now, None).await.unwrap();
        assert!(verify(world).await.is_ok());
        let chain = rows(world).await[0].chain.clone();
        for (attack, repair, fault) in [
            (
                "UPDATE audit SET person = '9' WHERE n = 4 AND chain <> 'seals'",
                "UPDATE audit SET person = '1' WHERE n = 4 AND chain <> 'seals'",
                "row 4 of",
            ),
            (
                "UPDATE audit SET body = body || ' ' WHERE n = 8",
                "UPDATE audit SET body = trim(body) WHERE n = 8",
                "row 8 of",
            ),
            (
                "UPDATE audit_heads SET n = 7 WHERE chain <> 'seals'",
                "UPDATE audit_heads SET n = 9 WHERE chain <> 'seals'",
                "the head of",
            ),
        ] {
            world.tampers(attack).await;
            let named = verify(world).await.unwrap_err();
            assert!(named.contains(fault) && named.contains(&chain), "{attack}: {named}");
            world.tampers(repair).await;
            assert!(verify(world).await.is_ok(), "{repair}");
        }
        // Two records swap places.
        for swap in ["n = 99 WHERE n = 2", "n = 2 WHERE n = 3", "n = 3 WHERE n = 99"] {
            world.tampers(&format!("UPDATE audit SET {swap} AND chain <> 'seals'")).await;
        }
        let named = verify(world).await.unwrap_err();
        assert_snapshot!(stable(&named), @"
        verification failed:
          row 2 of <digest> was changed or moved
          row 3 of <digest> was changed or moved
          row 4 of <digest> was changed or moved
        ");
        world.tampers("DELETE FROM audit WHERE n = 2 AND chain <> 'seals'").await;
        let named = verify(world).await.unwrap_err();
        assert!(named.contains(&format!("row 2 of {chain} is missing")), "{named}");
        world.tampers("DELETE FROM audit WHERE n > 6 AND chain <> 'seals'").await;
        let named = verify(world).await.unwrap_err();
        assert!(named.contains(&format!("rows 7 to 9 of {chain} are missing")), "{named}");
        world.tampers("DELETE FROM audit WHERE chain <> 'seals'").await;
        world.tampers("DELETE FROM audit_heads WHERE chain <> 'seals'").await;
        let named = verify(world).await.unwrap_err();
        assert!(named.contains(&format!("rows 1 to 9 of {chain} are missing")), "{named}");
    }
}

story! {
    /// A complete rewrite is detected by a seal stored elsewhere.
    async fn a_seal_that_is_kept_elsewhere_finds_a_rewritten_audit(world: &mut World) {
        lives(world).await;
        let store = world.node().await.gateway.store.clone();
        let now = "2026-05-04T12:00:00Z".parse().unwrap();
        assert_eq!(store.seal(now, None).await.unwrap(), 1);
        assert_eq!(store.seal(now, None).await.unwrap(), 0, "nothing is new");
        let said = verify(world).await.unwrap();
        let seal = said.split("is ").nth(1).unwrap().split('.').next().unwrap().to_owned();
        assert!(verify_with(world, Some(seal.clone())).await.is_ok());
        world.tampers("DELETE FROM audit").await;
        world.tampers("DELETE FROM audit_heads").await;
        lives(world).await;
        store.seal(now + TimeDelta::minutes(1), None).await.unwrap();
        assert!(verify(world).await.is_ok(), "in itself it is as good as the first");
        let named = verify_with(world, Some(seal)).await.unwrap_err();
        assert_snapshot!(stable(&named), @"
        verification failed:
          there is no seal <digest>: the audit it sealed was replaced
        ");
    }
}

story! {
    /// Records older than `audit.retention` are deleted once sealed; the rest verifies.
    async fn old_rows_go_when_they_are_sealed(world: &mut World) {
        lives(world).await;
        let store = world.node().await.gateway.store.clone();
        world.clock.advance(TimeDelta::days(10));
        world.model_will(call("rare", json!({})));
        world.model_will(say("Yes."));
        world.ann_says("again").await;
        let now: chrono::DateTime<chrono::Utc> = "2026-05-14T12:00:00Z".parse().unwrap();
        store.seal(now, None).await.unwrap();
        while store.seal(now, Some(now - TimeDelta::days(5))).await.unwrap() > 0 {}
        let left = rows(world).await;
        let kinds: Vec<_> = left.iter().map(|row| row.kind.as_str()).collect();
        assert_eq!(kinds, ["ran", "seal", "cut"]);
        assert_snapshot!(stable(&verify(world).await.unwrap()), @"
        Verified: 1 records in 1 chains, none altered.
        Seal 2 is <digest>. Store it elsewhere, for `--seal` next time.
        ");
        world.model_will(call("rare", json!({})));
        world.model_will(say("Yes."));
        world.ann_says("and again").await;
        assert_snapshot!(stable(&verify(world).await.unwrap()), @"
        Verified: 2 records in 1 chains, none altered.
        Seal 2 is <digest>. Store it elsewhere, for `--seal` next time.
        ");
        world.tampers("DELETE FROM audit WHERE n = 10 AND chain <> 'seals'").await;
        let named = verify(world).await.unwrap_err();
        assert_snapshot!(stable(&named), @"
        verification failed:
          row 10 of <digest> is missing
        ");
    }
}

story! {
    /// Two nodes write to one chain at the same time: numbers are neither missing nor duplicated.
    async fn two_nodes_write_to_one_chain(world: &mut World) {
        let (one, two) = (world.node().await, world.node().await);
        let now = "2026-05-04T10:00:00Z".parse().unwrap();
        let writing = (0..60).map(|n| {
            let store = if n % 2 == 0 { &one.gateway.store } else { &two.gateway.store };
            store.note(Fact::new(AuditKind::ConfigurationReloaded, "owner").with("n", n), now)
        });
        for noted in join_all(writing).await {
            noted.unwrap();
        }
        assert_snapshot!(stable(&verify(world).await.unwrap()), @"Verified: 60 records in 1 chains, none altered.");
    }
}
