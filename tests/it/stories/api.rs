//! Operator actions through the API during conversations.

use chrono::TimeDelta;
use countersign::testing::{
    crash,
    journal::role::Role,
    scripted::{call, say},
};
use insta::assert_snapshot;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::{
    story,
    support::{
        http::{Served, answered},
        stable_output::stable,
        world::World,
    },
};

async fn asks_to_delete(world: &mut World, path: &str) {
    world.model_will(call("delete", json!({ "path": path })));
    world.ann_says(&format!("delete {path}")).await;
}

/// The only open approval.
async fn pending(served: &Served, token: &str) -> Value {
    let page = served.get(token, "/approvals?status=pending").await;
    assert_eq!(page["items"].as_array().unwrap().len(), 1, "{page}");
    page["items"][0].clone()
}

/// Another node does the pending work.
async fn settles(world: &World) {
    let app = world.node().await;
    world.settle(&app).await;
}

fn decision(id: &Value) -> String {
    format!("/approvals/{}/decision", id.as_str().unwrap())
}

story! {
    /// An approval is decided through the API, and the chat shows who decided.
    /// Proves A13.
    async fn a_question_is_decided_through_the_api(world: &mut World) {
        world.guard("{ approvers = [\"requester\", \"role:approver\"] }");
        let served = Served::of(world).await;
        let token = served.token("night shift", Role::Approver).await;
        asks_to_delete(world, "a.txt").await;
        let question = pending(&served, &token).await;
        assert_eq!(question["arguments"], json!({ "path": "a.txt" }));
        assert_eq!(question["requester"], json!({ "id": "1", "name": "Ann" }));
        let whole = served.get(&token, &format!("/approvals/{}", question["id"].as_str().unwrap())).await;
        assert_snapshot!(stable(whole["question"].as_str().unwrap()), @r"
        Allow **delete**?
        Deletes a file

        path: `a.txt`

        delete makes changes\, and no rule allows it\.
        “Allow in this conversation” covers every later call of delete that Ann requests here, whatever its arguments, until /new.
        Requested by Ann. Open until 2026-05-04 10:30 UTC, code `<code>`.
        ");

        world.model_will(say("Done."));
        let path = decision(&question["id"]);
        let allow = Some(json!({ "decision": "allow" }));
        let (status, answer) = served.ask(&token, Method::POST, &path, allow.clone()).await;
        assert_eq!((status, &answer["status"]), (StatusCode::OK, &json!("allowed")), "{answer}");
        settles(world).await;
        assert_eq!(world.deletions(), 1);
        assert_snapshot!(world.shown(), @r"
        Allow **delete**? `a.txt` … ✅ Allowed by night shift\, on api.
        Done.
        ");

        let (status, problem) = served.ask(&token, Method::POST, &path, allow).await;
        assert_eq!(status, StatusCode::CONFLICT, "{problem}");
        assert_eq!(world.deletions(), 1);
        let settled = served.get(&token, "/approvals?status=settled").await;
        assert_eq!(settled["items"][0]["status"], "allowed");
        let auditor = served.token("auditor", Role::Operator).await;
        let facts = served.get(&auditor, "/audit?kind=decided").await;
        assert_eq!(facts["items"][0]["person"], "token:night shift");
    }
}

story! {
    /// A vote given in a chat does not count in a decision through the API once its voter may no
    /// longer decide.
    /// Proves A13.
    async fn votes_are_checked_before_a_decision_through_the_api(world: &mut World) {
        world.guard("{ approvers = { who = ['admins', 'role:approver'], needed = 2 } }");
        world.room.calls("-70", "2", &["admin"]);
        world.model_will(call("delete", json!({ "path": "a.txt" })));
        let said = world.said("delete it");
        world.happens_at(World::group(), ("1", &[]), said).await;
        let press = world.press("Allow once");
        world.happens_at(World::group(), ("2", &["admin"]), press).await;
        world.room.calls("-70", "2", &[]);
        let served = Served::of(world).await;
        let owner = served.token("root", Role::Owner).await;
        let token = served.token("bot", Role::Approver).await;
        let (link, eve) = ("/people/api/token:bot/link", json!({ "channel": "room", "person": "3" }));
        let (status, problem) = served.ask(&owner, Method::PUT, link, Some(eve)).await;
        assert!(status.is_success(), "{problem}");
        let path = decision(&pending(&served, &token).await["id"]);
        let allow = Some(json!({ "decision": "allow" }));
        let (status, answer) = served.ask(&token, Method::POST, &path, allow).await;
        assert!(status.is_success(), "{answer}");
        settles(world).await;
        assert_eq!(world.deletions(), 0, "Bob is no administrator any more");
        assert_eq!(pending(&served, &token).await["status"], "pending");
    }
}

story! {
    /// A token may decide only what the approval's policy allows, regardless of its role and name.
    /// Proves A13.
    async fn a_token_decides_only_where_the_policy_lets_it(world: &mut World) {
        let served = Served::of(world).await;
        let owner = served.token("1", Role::Owner).await;
        // A session with the requester's id on another platform.
        world.config.channels[0].owners.push("1".into());
        let again = Served::of(world).await;
        let session = again.session("1").await;
        asks_to_delete(world, "a.txt").await;
        let path = decision(&pending(&served, &owner).await["id"]);
        let allow = json!({ "decision": "allow" });
        let (status, problem) = served.ask(&owner, Method::POST, &path, Some(allow.clone())).await;
        assert_eq!(status, StatusCode::FORBIDDEN, "{problem}");
        let request = again.request(Method::POST, &format!("/api/v1{path}"));
        let (status, problem) = answered(request.header("cookie", session).json(&allow)).await;
        assert_eq!(status, StatusCode::FORBIDDEN, "{problem}");
        settles(world).await;
        assert_eq!(world.deletions(), 0);
        let facts = served.get(&owner, "/audit?kind=vote_rejected").await;
        assert_eq!(facts["items"].as_array().unwrap().len(), 2, "{facts}");
    }
}

story! {
    /// A denial includes a reason, which the model is told.
    async fn a_denial_through_the_api_says_why(world: &mut World) {
        world.guard("{ approvers = \"role:approver\" }");
        let served = Served::of(world).await;
        let token = served.token("ci", Role::Approver).await;
        asks_to_delete(world, "a.txt").await;
        world.model_will(say("Then not."));
        let path = decision(&pending(&served, &token).await["id"]);
        let deny = json!({ "decision": "deny", "reason": "it is needed" });
        let (status, _) = served.ask(&token, Method::POST, &path, Some(deny)).await;
        assert_eq!(status, StatusCode::OK);
        settles(world).await;
        assert_snapshot!(stable(&world.results().await[0]), @"Denied by ci: it is needed");
        assert_eq!(world.deletions(), 0);
    }
}

story! {
    /// A permission revoked through the API ends immediately.
    /// Proves A11.
    async fn a_grant_is_revoked_through_the_api(world: &mut World) {
        world.guard("{ approvers = [\"requester\", \"role:approver\"] }");
        let served = Served::of(world).await;
        let token = served.token("ci", Role::Operator).await;
        asks_to_delete(world, "notes/a.txt").await;
        world.model_will(say("Done."));
        let path = decision(&pending(&served, &token).await["id"]);
        let always = json!({ "decision": "allow_always", "grant": { "days": 7, "uses": 5 } });
        let (status, answer) = served.ask(&token, Method::POST, &path, Some(always)).await;
        assert_eq!(status, StatusCode::OK, "{answer}");
        settles(world).await;
        asks_to_delete(world, "notes/b.txt").await;
        assert_eq!(world.deletions(), 2, "leave was given");
        world.model_will(say("That too."));
        settles(world).await;

        let grants = served.get(&token, "/grants").await;
        let grant = &grants["items"][0];
        assert_eq!(
            (&grant["uses_left"], &grant["owner"]), (&json!(4), &json!("room/1")),
            "{grants}"
        );
        let path = format!("/grants/{}", grant["id"].as_str().unwrap());
        let viewer = served.token("viewer", Role::Approver).await;
        let (status, _) = served.ask(&viewer, Method::DELETE, &path, None).await;
        assert_eq!(status, StatusCode::FORBIDDEN);
        let (status, _) = served.ask(&token, Method::DELETE, &path, None).await;
        assert_eq!(status, StatusCode::NO_CONTENT);
        asks_to_delete(world, "notes/c.txt").await;
        assert_eq!(world.deletions(), 2, "and is no more");
        assert_eq!(served.ask(&token, Method::DELETE, &path, None).await.0, StatusCode::NOT_FOUND);
        assert_eq!(served.get(&token, "/grants").await["items"], json!([]));
        assert_snapshot!(world.shown(), @r"
        Allow **delete**? `notes/a.txt` … ✅ Allowed by ci\, on api. The permission for later calls was revoked by ci.
        Done.
        The language model rejects my requests. The operator can find the cause in the console. … Reference: `<reference>`
        That too.
        ");
    }
}

story! {
    /// A halt through the API denies open approvals and prevents new calls.
    /// Proves A12.
    async fn the_halt_is_called_and_lifted_through_the_api(world: &mut World) {
        let served = Served::of(world).await;
        let token = served.token("alarm", Role::Owner).await;
        asks_to_delete(world, "a.txt").await;
        world.model_will(say("Then not."));
        let (status, state) = served.ask(&token, Method::PUT, "/panic", None).await;
        assert_eq!((status, &state["by"]["name"]), (StatusCode::OK, &json!("alarm")));
        settles(world).await;
        assert_snapshot!(world.shown(), @"
        Allow **delete**? `a.txt` … 🚫 Denied by alarm.
        Then not.
        ");
        world.model_will(call("rare", json!({})));
        world.model_will(say("Nothing runs."));
        world.ann_says("look").await;
        assert!(!world.results().await.iter().any(|result| result == "rare indeed"));

        let (status, state) = served.ask(&token, Method::DELETE, "/panic", None).await;
        assert_eq!((status, &state["halted"]), (StatusCode::OK, &json!(false)));
        asks_to_delete(world, "b.txt").await;
        world.model_will(say("Done."));
        world.ann_presses("Allow once").await;
        assert_eq!(world.deletions(), 1);
        for kind in ["halted", "lifted"] {
            let facts = served.get(&token, &format!("/audit?kind={kind}")).await;
            assert_eq!(facts["items"][0]["person"], "token:alarm");
        }
    }
}

story! {
    /// A token's secret is shown once and stored as a hash. It ends when it is revoked or expires;
    /// the audit names who created and who ended it.
    /// Proves S10.
    async fn tokens_are_made_and_end(world: &mut World) {
        let served = Served::of(world).await;
        let owner = served.token("owner", Role::Owner).await;
        let body = json!({ "name": "week", "role": "viewer", "days": 7 });
        let made = served.request(Method::POST, "/api/v1/tokens").bearer_auth(&owner);
        let (status, token) = answered(made.header("idempotency-key", "1").json(&body)).await;
        assert_eq!(status, StatusCode::CREATED, "{token}");
        let secret = token["secret"].as_str().unwrap();
        assert!(secret.len() >= 64, "256 bits");
        let again = served.request(Method::POST, "/api/v1/tokens").bearer_auth(&owner);
        let (status, problem) = answered(again.header("idempotency-key", "1").json(&body)).await;
        assert_eq!(status, StatusCode::CONFLICT, "{problem}");
        for table in ["api_tokens", "answers", "audit"] {
            let rows = world.rows_of(table).await;
            assert!(!rows.iter().any(|row| row.contains(secret)), "{table}: {rows:?}");
        }

        let unused = served.get(&owner, "/tokens").await["items"][0]["used_at"].clone();
        assert_eq!(unused, Value::Null);
        served.get(secret, "/panic").await;
        let list = served.get(&owner, "/tokens").await;
        assert_eq!(list["items"][0]["used_at"], "2026-05-04T10:00:00Z", "{list}");
        world.clock.advance(TimeDelta::days(7));
        let (status, _) = served.ask(secret, Method::GET, "/panic", None).await;
        assert_eq!(status, StatusCode::UNAUTHORIZED);

        let other = served.token("other", Role::Viewer).await;
        served.get(&other, "/panic").await;
        let list = served.get(&owner, "/tokens").await;
        let path = format!("/tokens/{}", list["items"][0]["id"].as_str().unwrap());
        let (status, _) = served.ask(&owner, Method::DELETE, &path, None).await;
        assert_eq!(status, StatusCode::NO_CONTENT);
        let (status, _) = served.ask(&other, Method::GET, "/panic", None).await;
        assert_eq!(status, StatusCode::UNAUTHORIZED);
        for kind in ["token_created", "token_revoked"] {
            let facts = served.get(&owner, &format!("/audit?person=token:owner&kind={kind}")).await;
            assert_eq!(facts["items"].as_array().unwrap().len(), 1, "{kind}");
        }
        assert_eq!(served.get(&owner, "/audit/verification").await["good"], true);
    }
}

story! {
    /// The same key with the same request is executed once and answered identically; with another
    /// request it is rejected.
    async fn a_request_with_a_key_is_done_once(world: &mut World) {
        world.guard("{ approvers = [\"requester\", \"role:approver\"] }");
        let served = Served::of(world).await;
        let token = served.token("ci", Role::Approver).await;
        asks_to_delete(world, "a.txt").await;
        let path = decision(&pending(&served, &token).await["id"]);
        let decide = |decision: &str| {
            let request = served.request(Method::POST, &format!("/api/v1{path}"));
            let request = request.bearer_auth(&token).header("idempotency-key", "k");
            request.json(&json!({ "decision": decision })).send()
        };
        let first = decide("allow").await.unwrap();
        assert_eq!(first.status(), StatusCode::OK);
        assert!(!first.headers().contains_key("idempotency-replayed"));
        let again = decide("allow").await.unwrap();
        assert_eq!((again.status(), &again.headers()["idempotency-replayed"]), (StatusCode::OK, &"true".parse().unwrap()));
        assert_eq!(first.text().await.unwrap(), again.text().await.unwrap());
        assert_eq!(decide("deny").await.unwrap().status(), StatusCode::UNPROCESSABLE_ENTITY);
        world.clock.advance(TimeDelta::days(1));
        assert_eq!(decide("allow").await.unwrap().status(), StatusCode::CONFLICT, "it is decided");
    }
}

story! {
    /// A request that a crash interrupted between execution and response is not executed twice
    /// under its key, and the response says so; idempotent requests are repeated.
    async fn a_request_that_was_cut_off_is_not_done_twice(world: &mut World) {
        let served = Served::of(world).await;
        let owner = served.token("ops", Role::Owner).await;
        let make = || {
            let request = served.request(Method::POST, "/api/v1/tokens").bearer_auth(&owner);
            let request = request.header("idempotency-key", "make");
            answered(request.json(&json!({ "name": "night", "role": "viewer" })))
        };
        let halt = || {
            let request = served.request(Method::PUT, "/api/v1/panic").bearer_auth(&owner);
            answered(request.header("idempotency-key", "halt"))
        };
        assert_eq!((make().await.0, halt().await.0), (StatusCode::CREATED, StatusCode::OK));
        // The state after a crash: executed, but no response stored.
        world.tampers("UPDATE answers SET status = NULL, body = ''").await;
        let under_way = [make().await, halt().await];
        assert!(under_way.iter().all(|(status, _)| *status == StatusCode::CONFLICT));
        world.clock.advance(TimeDelta::minutes(2));
        let (status, problem) = make().await;
        assert_eq!(status, StatusCode::CONFLICT);
        assert_snapshot!(stable(problem["detail"].as_str().unwrap()), @"An earlier request with this key was interrupted, and it is unknown whether it took effect. Check, and send it again with a new key.");
        assert_eq!(halt().await.0, StatusCode::OK);
        let tokens = served.get(&owner, "/tokens").await;
        assert_eq!(tokens["items"].as_array().unwrap().len(), 2, "{tokens}");
    }
}

story! {
    /// A request that failed may have taken effect. Under its key it is not executed twice, and the
    /// response says so; idempotent requests are repeated.
    async fn a_request_that_failed_is_not_done_twice(world: &mut World) {
        world.model_will(say("Hello."));
        world.ann_says("hello").await;
        let served = Served::of(world).await;
        let owner = served.token("ops", Role::Owner).await;
        let page = served.get(&owner, "/conversations").await;
        let plan = json!({ "does": "remind", "text": "Tea", "in": "20m" });
        let id = &page["items"][0]["id"];
        let body = json!({ "conversation": id, "person": "1", "plan": plan });
        let create = || {
            let request = served.request(Method::POST, "/api/v1/schedules").bearer_auth(&owner);
            answered(request.header("idempotency-key", "tea").json(&body))
        };
        crash::lose_next_answer("create schedule");
        let (status, problem) = create().await;
        assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE, "{problem}");
        let (status, problem) = create().await;
        assert_eq!(status, StatusCode::CONFLICT);
        assert_snapshot!(stable(problem["detail"].as_str().unwrap()), @"An earlier request with this key failed, and it is unknown whether it took effect. Check, and send it again with a new key.");
        world.clock.advance(TimeDelta::minutes(2));
        assert_eq!(create().await.0, StatusCode::CONFLICT);
        let schedules = served.get(&owner, "/schedules").await;
        assert_eq!(schedules["items"].as_array().unwrap().len(), 1, "{schedules}");

        let change = |minutes: u8| {
            let path = format!("/api/v1/schedules/{}/plan", schedules["items"][0]["id"].as_str().unwrap());
            let plan = json!({ "does": "remind", "text": "Tea", "in": format!("{minutes}m") });
            let request = served.request(Method::PUT, &path).bearer_auth(&owner).json(&plan);
            answered(request.header("idempotency-key", "later"))
        };
        crash::refuse_next("edit schedule", 1);
        assert_eq!(change(30).await.0, StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(change(30).await.0, StatusCode::OK);
    }
}

story! {
    /// A list is paged through by its cursor, without duplicates or omissions.
    async fn lists_are_walked_through(world: &mut World) {
        let served = Served::of(world).await;
        let owner = served.token("owner", Role::Owner).await;
        for n in 0..7 {
            served.token(&n.to_string(), Role::Viewer).await;
        }
        for path in ["/tokens", "/audit"] {
            let whole = served.get(&owner, path).await;
            let whole = whole["items"].as_array().unwrap();
            assert_eq!(whole.len(), 8);
            let (mut walked, mut cursor) = (Vec::new(), String::new());
            loop {
                let page = served.get(&owner, &format!("{path}?limit=3{cursor}")).await;
                walked.extend(page["items"].as_array().unwrap().clone());
                let Some(next) = page["next"].as_str() else { break };
                cursor = format!("&cursor={next}");
            }
            assert_eq!(&walked, whole, "{path}");
        }
        let rule = |n: u8| json!({ "name": format!("rule {n}"), "tool": "delete", "action": "ask" });
        for n in [2, 1, 3] {
            served.ask(&owner, Method::POST, "/guard/rules", Some(rule(n))).await;
        }
        for (path, key) in [("/guard/rules", "name"), ("/tools", "id"), ("/agents", "id")] {
            let whole = served.get(&owner, path).await;
            let whole = whole["items"].as_array().unwrap();
            let first = served.get(&owner, &format!("{path}?limit=1")).await;
            assert_eq!(first["items"], json!([whole[0]]), "{path}");
            let Some(next) = first["next"].as_str() else { continue };
            let second = served.get(&owner, &format!("{path}?limit=1&cursor={next}")).await;
            assert_eq!(second["items"][0][key], whole[1][key], "{path}");
        }
        let removed = served.get(&owner, "/guard/rules?limit=1").await["next"].clone();
        served.ask(&owner, Method::DELETE, "/guard/rules/rule%202", None).await;
        let after = format!("/guard/rules?cursor={}", removed.as_str().unwrap());
        let (status, _) = served.ask(&owner, Method::GET, &after, None).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "the cursor names a rule that is gone");
        for query in ["limit=0", "limit=201", "cursor=%00", "cursor=!", "limit=x"] {
            let (status, _) = served.ask(&owner, Method::GET, &format!("/tokens?{query}"), None).await;
            assert_eq!(status, StatusCode::BAD_REQUEST, "{query}");
        }
    }
}
