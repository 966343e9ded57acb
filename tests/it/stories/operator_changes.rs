//! Operator changes through the API, and their effects.

use async_trait::async_trait;
use channels::{CheckError, Outgoing, SendError};
use countersign::testing::{
    agent::catalog::{ToolSource, ToolSpec},
    app::{App, Overrides},
    clock::Clock as _,
    gateway::{ChannelSettings, Connected, people::Allow},
    journal::{
        event::{Event, Speaker},
        role::Role,
    },
    scripted::{call, say},
    store::{conversations::journal, outbox},
    tools::{Context, Output, Tool, ToolError},
};
use insta::assert_snapshot;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use std::{collections::BTreeMap, sync::Arc};

use crate::{
    story,
    support::{
        fake_channel::Fault,
        http::{Served, answered},
        stable_output::{stable, visible},
        world::World,
    },
};

async fn asks_to_delete(world: &mut World, path: &str) {
    world.model_will(call("delete", json!({ "path": path })));
    world.ann_says(&format!("delete {path}")).await;
}

story! {
    /// A rule created through the API is active immediately on another node, and so is its removal.
    /// Invalid rules are rejected with a message; the audit names the token.
    async fn a_rule_made_through_the_api_is_in_force_at_once(world: &mut World) {
        let served = Served::of(world).await;
        let owner = served.token("rules", Role::Owner).await;
        let rule = json!({ "name": "no deletes", "tool": "delete", "action": "deny" });
        let (status, _) = served.ask(&owner, Method::POST, "/guard/rules", Some(rule.clone())).await;
        assert_eq!(status, StatusCode::CREATED);
        let (status, _) = served.ask(&owner, Method::POST, "/guard/rules", Some(rule)).await;
        assert_eq!(status, StatusCode::CONFLICT);
        world.model_will(call("delete", json!({ "path": "a.txt" })));
        world.model_will(say("It is forbidden."));
        world.ann_says("delete a.txt").await;
        assert_eq!(world.last(), "It is forbidden.");
        assert_snapshot!(stable(&world.results().await[0]), @"Denied: the rule “no deletes” forbids this call of delete. Do not try again.");

        let supposed = json!({ "tool": "delete", "arguments": { "path": "b.txt" }, "channel": "room" });
        let (_, told) = served.ask(&owner, Method::POST, "/guard/test", Some(supposed)).await;
        assert_eq!((&told["does"], &told["rule"]), (&json!("refuses"), &json!("no deletes")), "{told}");
        let document = served.get(&owner, "/guard/export").await;
        let (status, _) = served.ask(&owner, Method::DELETE, "/guard/rules/no%20deletes", None).await;
        assert_eq!(status, StatusCode::NO_CONTENT);
        asks_to_delete(world, "a.txt").await;
        assert_snapshot!(world.last(), @"Allow **delete**? … Requested by Ann. Open until 2026-05-04 10:30 UTC, code `<code>`. [Allow once] [Allow in this conversation] [Always…] [Deny]");

        let import = json!({ "format": "json", "text": document.to_string() });
        let (_, taken) = served.ask(&owner, Method::POST, "/guard/import", Some(import)).await;
        assert_eq!(taken["rules"], 1);
        let changed = json!({ "tool": "delete", "action": "ask", "severity": "critical" });
        let path = "/guard/rules/no%20deletes";
        let (status, _) = served.ask(&owner, Method::PUT, path, Some(changed)).await;
        assert_eq!(status, StatusCode::OK);
        assert_eq!(served.get(&owner, "/guard/rules").await["items"][0]["severity"], "critical");
        let late = json!({ "name": "late", "tool": "*", "action": "allow", "severity": "critical" });
        let (_, placed) = served.ask(&owner, Method::POST, "/guard/rules", Some(late)).await;
        assert_eq!(placed["shadowed_by"], json!(["no deletes"]), "{placed}");
        let first = json!({ "tool": "*", "action": "allow", "severity": "critical", "priority": 1 });
        let (_, placed) = served.ask(&owner, Method::PUT, "/guard/rules/late", Some(first)).await;
        assert_eq!(placed.get("shadowed_by"), None, "{placed}");
        invalid_rules_are_rejected(&served, &owner).await;
        for kind in ["rule_put", "rule_removed", "rules_imported"] {
            let facts = served.get(&owner, &format!("/audit?kind={kind}")).await;
            assert_eq!(facts["items"][0]["person"], "token:rules", "{kind}");
        }
    }
}

/// Imports a document with notes, and sends invalid documents and rules.
async fn invalid_rules_are_rejected(served: &Served, owner: &str) {
    let yaml = "approval-timeout: 60\nrules:\n  - { tool: SqlQueryTool, action: deny }";
    let import = json!({ "format": "yaml", "text": yaml });
    let (_, taken) = served.ask(owner, Method::POST, "/guard/import", Some(import)).await;
    assert_eq!(
        (&taken["rules"], taken["notes"].as_array().map(Vec::len)),
        (&json!(1), Some(2)),
        "{taken}"
    );
    let unknown =
        json!({ "format": "yaml", "text": "rules:\n  - { tool: ShelExecuteTool, action: deny }" });
    let (status, problem) = served.ask(owner, Method::POST, "/guard/import", Some(unknown)).await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY);
    assert_snapshot!(stable(problem["detail"].as_str().unwrap()), @"rule 1: there is no tool `ShelExecuteTool`: the rule would match nothing. Similar names: ShellExecuteTool, SendFileTool");
    let mut details = vec![];
    for rule in [
        json!({ "tool": "delete", "action": "deny" }),
        json!({ "name": "x", "tool": "x", "action": "deny", "arg_pattern": "(" }),
    ] {
        let (status, problem) = served.ask(owner, Method::POST, "/guard/rules", Some(rule)).await;
        assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY);
        let detail = problem["detail"].as_str().unwrap();
        details.push(detail.lines().next().unwrap().to_owned());
    }
    assert_snapshot!(details.join("\n"), @"
    a rule in the database needs a name
    the rule “x”, arg_pattern: regex parse error:
    ");
}

/// A tool of a server.
struct OfServer;

#[async_trait]
impl Tool for OfServer {
    fn spec(&self) -> ToolSpec {
        let source = ToolSource::Mcp { server: "files".into(), original_name: "list".into() };
        ToolSpec {
            source,
            ..ToolSpec::read_only("files_list", "Lists", json!({ "type": "object" }))
        }
    }

    async fn run(&self, _: Value, _: &Context) -> Result<Output, ToolError> {
        Ok(Output::text("none"))
    }
}

/// The names of the tools whose schemas were in the last prompt.
fn disclosed(world: &World) -> Vec<String> {
    let prompts = world.prompts();
    prompts.last().unwrap().tools.iter().map(|tool| tool.name.clone()).collect()
}

story! {
    /// A tool is disabled or moved to another tier from the next turn on, on all nodes; a server's
    /// tools are grouped by server.
    /// Proves MC-52, MC-07.
    async fn tools_are_set_through_the_api(world: &mut World) {
        world.tools.push(Arc::new(OfServer));
        let url = "http://127.0.0.1:9/".parse().ok();
        let entry = json!({ "name": "files", "url": url.map(|u: url::Url| u.to_string()) });
        world.config.mcp = vec![serde_json::from_value(entry).unwrap()];
        let served = Served::of(world).await;
        world.config.mcp.clear();
        let token = served.token("tools", Role::Operator).await;
        let put = async |path: &str, body: Value| served.ask(&token, Method::PUT, path, Some(body)).await;
        let (status, _) = served.ask("none", Method::GET, "/tools", None).await;
        assert_eq!(status, StatusCode::UNAUTHORIZED);

        world.model_will(say("Hello."));
        world.ann_says("hello").await;
        assert!(!disclosed(world).contains(&"rare".to_owned()));
        let (status, tool) = put("/tools/rare/disclosure-tier", json!({ "tier": "core" })).await;
        assert_eq!((status, &tool["tier"]), (StatusCode::OK, &json!("core")));
        world.model_will(say("Hello."));
        world.ann_says("again").await;
        assert!(disclosed(world).contains(&"rare".to_owned()), "at the next turn");

        let (status, tool) = put("/tools/rare", json!({ "enabled": false })).await;
        assert_eq!((status, &tool["enabled"]), (StatusCode::OK, &json!(false)));
        world.model_will(call("rare", json!({})));
        world.model_will(say("It is off."));
        world.ann_says("and now").await;
        assert!(!disclosed(world).contains(&"rare".to_owned()));
        assert!(!world.results().await.contains(&"rare indeed".to_owned()));
        put("/tools/rare", json!({ "enabled": true })).await;

        for (path, body) in [
            ("/tools/files_list", json!({ "enabled": false })),
            ("/tools/files_list/disclosure-tier", json!({ "tier": "core" })),
        ] {
            let (status, problem) = put(path, body).await;
            assert_eq!(status, StatusCode::CONFLICT, "{path}: {problem}");
        }
        assert_eq!(served.get(&token, "/tools/files_list").await["locked"], true);
        let (status, server) = put("/mcp-servers/files", json!({ "enabled": false })).await;
        assert_eq!((status, &server["tools"]), (StatusCode::OK, &json!(["files_list"])));
        world.model_will(say("Hello."));
        world.ann_says("once more").await;
        assert!(!disclosed(world).contains(&"files_list".to_owned()));
        let (status, _) = put("/tools/nothing", json!({ "enabled": false })).await;
        assert_eq!(status, StatusCode::NOT_FOUND);
        let changes = served.get(&token, "/settings/changes").await;
        assert_eq!(changes["items"][0]["person"], "token:tools", "{changes}");
    }
}

story! {
    /// A node keeps its agents in memory, and still uses changed settings from the next turn on.
    /// Proves MC-52.
    async fn a_running_node_uses_changed_settings(world: &mut World) {
        let served = Served::of(world).await;
        let token = served.token("tools", Role::Operator).await;
        let app = world.node().await;
        for setting in [None, Some(false), Some(true), Some(false)] {
            if let Some(enabled) = setting {
                let body = Some(json!({ "enabled": enabled }));
                let (status, _) = served.ask(&token, Method::PUT, "/tools/delete", body).await;
                assert_eq!(status, StatusCode::OK);
            }
            world.model_will(say("Hello."));
            let said = world.said("hello");
            world.takes(&app, "1", said).await;
            world.settle(&app).await;
            let is_there = disclosed(world).contains(&"delete".to_owned());
            assert_eq!(is_there, setting != Some(false), "{setting:?}");
        }
    }
}

/// Only the agent runs tools.
/// Proves MC-53.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_address_runs_a_tool() {
    let world = World::on_sqlite();
    let served = Served::of(&world).await;
    let owner = served.token("owner", Role::Owner).await;
    for path in ["/tools/rare/run", "/tools/rare/test", "/tools/rare/execute", "/tools/run"] {
        let (status, _) = served.ask(&owner, Method::POST, path, Some(json!({}))).await;
        let nowhere = [StatusCode::NOT_FOUND, StatusCode::METHOD_NOT_ALLOWED].contains(&status);
        assert!(nowhere, "{path}: {status}");
    }
}

const KEPT: [&str; 14] = [
    "events",
    "outbox",
    "approvals",
    "audit",
    "votes",
    "people",
    "usage",
    "answers",
    "unparsed",
    "drafts",
    "memories",
    "schedules",
    "jobs",
    "grants",
];

story! {
    /// A person is erased: their messages are removed everywhere, other people's stay, the audit
    /// verifies, and work continues.
    async fn a_person_is_erased_and_the_audit_stays_good(world: &mut World) {
        let served = Served::of(world).await;
        let owner = served.token("privacy", Role::Owner).await;
        asks_to_delete(world, "plum.txt").await;
        let content = "/people/room/1/content";
        let (status, problem) = served.ask(&owner, Method::DELETE, content, None).await;
        assert_eq!(status, StatusCode::CONFLICT, "something is open: {problem}");
        world.model_will(say("Your plum is gone."));
        world.ann_presses("Allow once").await;
        for (person, text) in [("1", "I like plum"), ("2", "I like pears")] {
            world.model_will(say("Good."));
            let said = world.said(text);
            world.happens_at(World::group(), (person, &[]), said).await;
        }
        let holding = async |world: &World, word: &str| {
            let mut tables = Vec::new();
            for table in KEPT {
                let rows = world.rows_of(table).await;
                tables.extend(rows.iter().any(|row| row.contains(word)).then_some(table));
            }
            tables
        };
        let ann = r#"'{"id":"1","name":"Ann"}'"#;
        let by = format!("{ann}, '[]'");
        world.tampers(&format!(
            "INSERT INTO memories (id, agent, shelf, path, content, by_whom, taint, call, changed_at) \
             VALUES (1, 'default', 'room/7', 'a.md', 'plum', {by}, 'c', 0)"
        )).await;
        world.tampers(&format!(
            "INSERT INTO schedules SELECT 's', id, 'remind', 'plum', '', 'UTC', {by}, 'paused', 0, 0, 0 \
             FROM conversations WHERE chat = '7'"
        )).await;
        world.tampers(&format!(
            "INSERT INTO jobs SELECT 'j', id, 'x', 'room/1', {ann}, 'default', 'plum', 'reported', NULL, 0, 0, '[]', 1 \
             FROM conversations WHERE chat = '7'"
        )).await;
        let everywhere = ["events", "outbox", "approvals", "audit", "memories", "schedules", "jobs"];
        assert_eq!(holding(world, "plum").await, everywhere);
        assert_eq!(served.get(&owner, "/audit/verification").await["good"], true);

        let (status, erased) = served.ask(&owner, Method::DELETE, content, None).await;
        assert_eq!((status, &erased["events"]), (StatusCode::OK, &json!(1)), "{erased}");
        assert_eq!(erased["conversations"].as_array().unwrap().len(), 1);
        let own = erased["conversations"][0].as_str().unwrap();
        let kept = world.rows_of("conversations").await;
        assert!(kept.len() == 1 && !kept[0].contains(own), "{own}: {kept:?}");
        assert_eq!(holding(world, "plum").await, [""; 0]);
        assert_eq!(holding(world, "pears").await, ["events"]);
        let verified = served.get(&owner, "/audit/verification").await;
        assert_eq!(verified["good"], true, "{verified}");
        let facts = served.get(&owner, "/audit?kind=erased").await;
        assert_eq!(facts["items"][0]["person"], "token:privacy");

        world.model_will(say("Hello, whoever you are."));
        world.ann_says("hello").await;
        assert_eq!(world.last(), "Hello, whoever you are.");
        assert!(matches!(&world.journal().await[0].event, Event::Said { text, .. } if text == "hello"));
    }
}

story! {
    /// Undelivered messages are listed, retried or dropped, one by one or all at once.
    async fn dead_letters_are_replayed_or_dropped(world: &mut World) {
        let served = Served::of(world).await;
        let token = served.token("post", Role::Operator).await;
        for word in ["One.", "Two."] {
            world.room.fails_next(Fault::Before(SendError::Rejected("not today".into())));
            world.model_will(say(word));
            world.ann_says("say it").await;
        }
        let letters = served.get(&token, "/dead-letters").await;
        let letters = letters["items"].as_array().unwrap();
        assert_eq!(letters.len(), 2);
        assert!(letters[0]["problem"].as_str().unwrap().contains("not today"));
        assert_eq!(letters[1]["what"]["markdown"], "One.");
        assert_eq!(letters[1]["summary"], "One.");
        let path = |n: usize| format!("/dead-letters/{}", letters[n]["id"].as_str().unwrap());
        let replay = format!("{}/replay", path(1));
        let (status, _) = served.ask(&token, Method::POST, &replay, None).await;
        assert_eq!(status, StatusCode::NO_CONTENT);
        let (status, _) = served.ask(&token, Method::DELETE, &path(0), None).await;
        assert_eq!(status, StatusCode::NO_CONTENT);
        let app = world.node().await;
        world.settle(&app).await;
        assert_eq!(world.shown(), "One.");
        assert_eq!(served.get(&token, "/dead-letters").await["items"], json!([]));
        let (status, _) = served.ask(&token, Method::POST, &replay, None).await;
        assert_eq!(status, StatusCode::NOT_FOUND);

        for word in ["Three.", "Four."] {
            world.room.fails_next(Fault::Before(SendError::Rejected("not today".into())));
            world.model_will(say(word));
            world.ann_says("say it").await;
        }
        for (filter, letters) in [("?channel=nowhere", 0), ("?channel=room", 2), ("", 0)] {
            let path = format!("/dead-letters/replay{filter}");
            let (status, replayed) = served.ask(&token, Method::POST, &path, None).await;
            assert_eq!((status, replayed), (StatusCode::OK, json!({ "letters": letters })));
        }
        world.settle(&app).await;
        assert_eq!(world.shown(), "One.\nThree.\nFour.");
    }
}

story! {
    /// People are listed, given roles and removed; a code admits one; dialogues and their costs can
    /// be read.
    async fn people_and_conversations_are_looked_after(world: &mut World) {
        world.allow = vec!["1".into()];
        let served = Served::of(world).await;
        let owner = served.token("desk", Role::Owner).await;
        let (status, offer) = served.ask(&owner, Method::POST, "/pairing-codes", Some(json!({ "channel": "room" }))).await;
        assert_eq!(status, StatusCode::CREATED, "{offer}");
        world.bob_says(&format!("/pair {}", offer["code"].as_str().unwrap())).await;
        let people = served.get(&owner, "/people").await;
        assert_eq!((&people["items"][0]["person"], &people["items"][0]["role"]), (&json!("2"), &json!("owner")));
        let role = Some(json!({ "role": "viewer" }));
        let (status, _) = served.ask(&owner, Method::PUT, "/people/room/2", role).await;
        assert_eq!(status, StatusCode::NO_CONTENT);
        assert_eq!(served.get(&owner, "/people").await["items"][0]["role"], "viewer");
        let (status, _) = served.ask(&owner, Method::DELETE, "/people/room/2", None).await;
        assert_eq!(status, StatusCode::NO_CONTENT);
        assert_eq!(served.get(&owner, "/people").await["items"], json!([]));

        world.model_will(say("Hello, Ann."));
        world.ann_says("my key is sk-abcdefghijklmnopqrstuvwxyz123456").await;
        let found = served.get(&owner, "/conversations?channel=room").await;
        let conversation = &found["items"][0];
        assert_eq!((&conversation["chat"], &conversation["private"]), (&json!("7"), &json!(true)));
        let path = format!("/conversations/{}", conversation["id"].as_str().unwrap());
        let events = served.get(&owner, &format!("{path}/events?limit=1")).await;
        assert_eq!(events["items"][0]["event"]["kind"], "said", "{events}");
        let next = events["next"].as_str().unwrap();
        let second = served.get(&owner, &format!("{path}/events?limit=1&cursor={next}")).await;
        assert_eq!(second["items"][0]["event"]["text"], "Hello, Ann.");
        let export = served.get(&owner, &format!("{path}/export")).await;
        assert_eq!(export["shown"][0]["what"]["markdown"], "Hello, Ann.");
        assert!(!export.to_string().contains("sk-abcdef"), "I10: {export}");
        let usage = served.get(&owner, "/usage").await;
        assert_eq!(usage["items"][0]["person"], "room/1", "{usage}");
        assert_eq!(usage["items"][0]["agent"], "default", "{usage}");
        let channels = served.get(&owner, "/channels").await;
        assert!(channels["items"].as_array().unwrap().iter().any(|c| c["id"] == "room"), "{channels}");
        assert_eq!(served.get(&owner, "/agents").await["items"][0]["id"], "default");
    }
}

/// The settings never contain a secret of the configuration.
/// Proves O1, I10, S11.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_settings_show_no_secret() {
    let mut world = World::on_sqlite();
    let variables = [
        ("COUNTERSIGN__MODELS__0__ID", "main"),
        ("COUNTERSIGN__MODELS__0__PROVIDER", "openai"),
        ("COUNTERSIGN__MODELS__0__MODEL", "a-model"),
        ("COUNTERSIGN__MODELS__0__API_KEY", "canary-one-0123456789"),
        ("COUNTERSIGN__MODELS__0__BASE_URL", "https://ann:canary-two@example.com/v1"),
        ("COUNTERSIGN__AGENTS__0__ID", "default"),
        ("COUNTERSIGN__AGENTS__0__MODEL", "main"),
        ("COUNTERSIGN__AGENTS__0__SYSTEM_PROMPT", "The key is canary-one-0123456789, keep it."),
    ];
    let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    let folder = world.config.data_dir.clone();
    world.config = countersign::testing::config::Config::load(None, &variables).unwrap();
    world.config.data_dir = folder;
    let served = Served::of(&world).await;
    let owner = served.token("owner", Role::Owner).await;
    for path in ["/settings", "/models", "/agents", "/mcp-servers", "/hooks", "/channels"] {
        let shown = served.get(&owner, path).await.to_string();
        assert!(!shown.contains("canary"), "{path}: {shown}");
    }
    let settings = served.get(&owner, "/settings").await;
    assert_eq!(settings["configuration"]["models"][0]["id"], "main");
}

/// A node for which the room is a platform that only one node may listen to.
async fn node_alone(world: &World) -> App {
    let connected = Connected {
        channel: Arc::new(world.room.clone()),
        rate_limits: world.room.limits.rate_limits,
        allow: Allow::Everybody,
        agent: "default".into(),
        model: "main".into(),
        settings: ChannelSettings::default(),
        alone: true,
    };
    let given = Overrides {
        channels: [("room".to_owned(), connected)].into(),
        sandbox: Some(world.sandbox.clone()),
        ..Overrides::default()
    };
    App::open(&world.config, &BTreeMap::new(), given).await.unwrap()
}

story! {
    /// The export of a conversation of any length contains each item once, in order.
    async fn a_long_conversation_is_exported_piece_by_piece(world: &mut World) {
        world.model_will(say("Hello."));
        world.ann_says("hello").await;
        let (place, now) = (World::place(), world.clock.now());
        let served = Served::of(world).await;
        let grow = served.app.gateway.store.write("test", move |tx| {
            Box::pin(async move {
                let here = journal::find_conversation(tx, "room", &place).await?.unwrap();
                for n in 0..450 {
                    let by = Speaker { id: "1".into(), name: "Ann".into() };
                    let said = Event::Said { by, text: n.to_string(), message: n.to_string() };
                    journal::append(tx, &here, &said, now).await?;
                    let what = Outgoing::Text { markdown: n.to_string(), reply_to: None };
                    outbox::put(tx, &here, vec![what], now).await?;
                }
                Ok(here)
            })
        });
        let here = grow.await.unwrap();
        let operator = served.token("ops", Role::Operator).await;
        let whole = served.get(&operator, &format!("/conversations/{here}/export")).await;
        let texts = |list: &str, pointer: &str| -> Vec<String> {
            let items = whole[list].as_array().unwrap().iter();
            let texts = items.filter_map(|item| item.pointer(pointer)?.as_str());
            texts.filter(|text| text.parse::<u32>().is_ok()).map(str::to_owned).collect()
        };
        let all: Vec<_> = (0..450).map(|n| n.to_string()).collect();
        assert_eq!(texts("events", "/event/text"), all);
        assert_eq!(texts("shown", "/what/markdown"), all);
        assert_eq!((&whole["approvals"], &whole["conversation"]["id"]), (&json!([]), &json!(here)));
        let nothing = served.ask(&operator, Method::GET, "/conversations/nothing/export", None);
        assert_eq!(nothing.await.0, StatusCode::NOT_FOUND);
    }
}

story! {
    /// A channel is reconnected on the node that listens to it, and its token is checked with the
    /// platform; for operators, and with an audit record.
    async fn a_channel_can_be_reconnected_and_is_checked(world: &mut World) {
        world.config.store.lease_duration = "1s".into();
        let listens = node_alone(world).await;
        listens.start();
        world.room.is_listened_to().await;
        // The request is handled by another node.
        let served = Served::on(node_alone(world).await).await;
        let (ops, viewer) =
            (served.token("ops", Role::Operator).await, served.token("vic", Role::Viewer).await);
        let post = async |token: &str, path: &str| {
            served.ask(token, Method::POST, path, None).await
        };
        let (reconnect, check) = ("/channels/room/reconnect", "/channels/room/check");
        for path in [reconnect, check] {
            assert_eq!(post(&viewer, path).await.0, StatusCode::FORBIDDEN);
        }
        let connected = json!({ "state": "connected", "problem": null });
        assert_eq!(post(&ops, reconnect).await, (StatusCode::OK, connected));
        world.room.is_listened_to().await;
        assert_eq!(post(&ops, "/channels/web/reconnect").await.0, StatusCode::CONFLICT);
        assert_eq!(post(&ops, "/channels/nothing/reconnect").await.0, StatusCode::NOT_FOUND);

        assert_eq!(post(&ops, check).await.1, json!({ "known": true, "problem": null }));
        world.room.refuses(CheckError::Refused("401: Unauthorized".into()));
        let (status, found) = post(&ops, check).await;
        assert_eq!((status, &found["known"]), (StatusCode::OK, &json!(false)));
        assert_snapshot!(stable(found["problem"].as_str().unwrap()), @"the platform rejects the token (401: Unauthorized): check that it is correct and has not been revoked");
        world.room.refuses(CheckError::Silent("timed out".into()));
        let (_, found) = post(&ops, check).await;
        assert_eq!(found["known"], json!(null), "a platform that is down knows as much as before");
        let audit = served.get(&ops, "/audit?person=token:ops").await.to_string();
        for kind in ["channel_reconnected", "channel_checked"] {
            assert!(audit.contains(kind), "{audit}");
        }
        served.app.stop().await.unwrap();
        listens.stop().await.unwrap();
    }
}

story! {
    /// A channel that cannot connect is shown as such with the reason, on every node, and a request
    /// to reconnect returns the result.
    async fn a_channel_that_cannot_connect_says_why(world: &mut World) {
        world.config.store.lease_duration = "1s".into();
        world.room.refuses(CheckError::Refused("401: Unauthorized".into()));
        let listens = node_alone(world).await;
        listens.start();
        let served = Served::on(node_alone(world).await).await;
        let (ops, viewer) =
            (served.token("ops", Role::Operator).await, served.token("vic", Role::Viewer).await);
        let reconnects = async || {
            served.ask(&ops, Method::POST, "/channels/room/reconnect", None).await
        };
        let room = async |token: &str| {
            let channels = served.get(token, "/channels").await;
            let mut items = channels["items"].as_array().unwrap().iter();
            items.find(|channel| channel["id"] == "room").unwrap().clone()
        };
        let (status, result) = reconnects().await;
        assert_eq!((status, &result["state"]), (StatusCode::OK, &json!("disconnected")));
        let why = result["problem"].as_str().unwrap().to_owned();
        assert_snapshot!(why, @"the platform rejects the token of channel `room`: correct it in the configuration, then reload the configuration or restart");

        let down = room(&ops).await;
        assert_eq!((&down["state"], &down["listening"]), (&json!("disconnected"), &json!(false)));
        assert_eq!(down["problem"], why);
        assert!(down["since"].is_string() && down["problem_at"].is_string(), "{down}");
        assert_eq!(room(&viewer).await["problem"], json!(null), "the reason is for operators");
        let (status, ready) = answered(served.request(Method::GET, "/readyz")).await;
        assert_eq!((status, &ready["channels"]["room"]), (StatusCode::OK, &json!("disconnected")));
        let owner = served.session("owner").await;
        let page = served.request(Method::GET, "/console/channels").header("cookie", &owner);
        let page = page.send().await.unwrap().text().await.unwrap();
        let row = page.split("<tr>").find(|row| row.contains("<th scope=\"row\">room</th>")).unwrap();
        let row = visible(row);
        assert!(row.contains("disconnected") && row.contains(&why), "{row}");

        world.room.admits();
        let connected = json!({ "state": "connected", "problem": null });
        assert_eq!(reconnects().await, (StatusCode::OK, connected));
        let up = room(&ops).await;
        assert_eq!((&up["state"], &up["problem"]), (&json!("connected"), &json!(why)), "the last one");
        listens.stop().await.unwrap();
        assert_eq!(room(&ops).await["state"], "disconnected", "no node listens any more");
        served.app.stop().await.unwrap();
    }
}
