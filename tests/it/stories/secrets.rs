//! Secrets of the configuration are never disclosed, whatever the model and the tools do.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use countersign::testing::{
    cli,
    config::{
        Config,
        hooks::{HookAction as Do, HookEntry},
        secret::Secret,
        webhooks::WebhookOutEntry,
    },
    journal::{event::HookPoint, role::Role},
    scripted::{call, calls, say},
    store::webhooks::subscriptions::Topic,
    telemetry,
};
use insta::assert_snapshot;
use serde_json::json;
use std::{collections::BTreeMap, path::Path, process::Command};

use crate::{
    story,
    support::{http::Served, stable_output::stable, world::World},
};

const CANARY: &str = "canary-4f9c2b7e51aa";

/// A world whose files and model contain the secret.
async fn lives(world: &mut World) {
    let folder = world.config.data_dir.join("workspace");
    std::fs::create_dir_all(&folder).unwrap();
    let long = format!("{}{CANARY}\n", "a line of text\n".repeat(2_000));
    std::fs::write(folder.join("leak.txt"), long.repeat(2)).unwrap();
    world.config.agents[0].workspace = Some(folder);
    world.config.agents[0].system_prompt = format!("Never say {CANARY}.");
    let given = world.config.data_dir.join("hook.given");
    let keep = format!("cat >> {}", given.display());
    world.config.hooks = [
        HookPoint::BeforeLlm,
        HookPoint::AfterLlm,
        HookPoint::BeforeTool,
        HookPoint::AfterTool,
        HookPoint::OnError,
    ]
    .map(|on| HookEntry {
        name: format!("{on:?}"),
        on,
        action: Do::Run,
        tool: None,
        argument: None,
        pattern: None,
        text: None,
        command: Some(vec!["/bin/sh".into(), "-c".into(), keep.clone()]),
        // Writes to the place that the story inspects.
        sandbox: false,
        timeout: None,
        max_bytes: None,
        on_failure: None,
    })
    .into();
    let hidden = STANDARD.encode(format!("x{CANARY}y"));
    world.model_will(call("read_file", json!({ "path": "leak.txt", "offset": 1_990 })));
    world.model_will(calls(vec![
        ("delete".into(), json!({ "path": format!("{CANARY}.txt") })),
        ("delete".into(), json!({ "path": hex::encode(CANARY) })),
        ("delete".into(), json!({ "path": "a.txt", "note": hidden.clone() })),
        ("delete".into(), json!({ "path": "b.txt", "note": "x".repeat(3_000) })),
    ]));
    world.ann_says(&format!("I think the key is {CANARY}")).await;
    world.model_will(say(format!("It is {CANARY}, or {hidden}, I believe.")));
    world.ann_presses("Show everything").await;
    world.ann_presses("Allow once").await;
    world.ann_says("/stop").await;
    world.model_will(say(format!("I said it: {CANARY}")));
    world.ann_says("say it again").await;
}

/// Another program is notified of every approval.
fn listens(world: &mut World) {
    world.config.webhooks_out = vec![WebhookOutEntry {
        name: "ops".into(),
        url: "http://127.0.0.1:9/".parse().unwrap(),
        secret: Secret::Plain("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw".into()),
        previous_secret: None,
        topics: vec![Topic::ApprovalRequested, Topic::ApprovalDecided, Topic::TurnFailed],
        role: None,
    }];
}

/// All files below a folder as one text.
fn files(folder: &Path) -> String {
    let mut all = String::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().map(Result::unwrap) {
        let path = entry.path();
        if path.is_dir() {
            all.push_str(&files(&path));
        } else {
            all.push_str(&String::from_utf8_lossy(&std::fs::read(&path).unwrap()));
        }
    }
    all
}

/// The places in which a secret could appear, and their contents.
async fn sinks(world: &World) -> Vec<(&'static str, String)> {
    let data = &world.config.data_dir;
    let mut sinks = vec![
        ("prompts", format!("{:?}", world.prompts())),
        ("chat", format!("{:?} {:?}", world.room.messages(), world.room.toasts())),
        ("hooks", std::fs::read_to_string(data.join("hook.given")).unwrap()),
        ("artifacts", files(&data.join("artifacts"))),
        (
            "printed configuration",
            cli::configuration::printed(&world.config, &BTreeMap::new()).unwrap(),
        ),
        ("configuration in Debug", format!("{:?}", world.config.models)),
    ];
    sinks.push(("metrics", super::webhooks::get(world, "/metrics", &[]).await.1));
    let served = Served::of(world).await;
    let token = served.token("auditor", Role::Owner).await;
    for (sink, path) in [
        ("API settings", "/settings"),
        ("API questions", "/approvals?status=settled"),
        ("API audit", "/audit"),
    ] {
        sinks.push((sink, served.get(&token, path).await.to_string()));
    }
    served.app.stop().await.unwrap();
    for table in ["outbox", "approvals", "audit", "usage", "unparsed", "notices", "notice_tries"] {
        sinks.push((table, world.rows_of(table).await.join("\n")));
    }
    let journal = world.rows_of("events").await;
    // People's own messages are not redacted.
    let journal = journal.into_iter().filter(|row| !row.contains("I think the key is"));
    sinks.push(("journal", journal.collect::<Vec<_>>().join("\n")));
    sinks
}

fn leaks(text: &str) -> bool {
    let inner = STANDARD.encode(CANARY);
    let shifted = STANDARD.encode(format!("x{CANARY}y"));
    [CANARY, &hex::encode(CANARY), &inner[..20], &shifted[4..24]]
        .iter()
        .any(|way| text.contains(way))
}

story! {
    /// Eighteen places are searched for a canary that the model, a file and a person spread.
    /// Proves S11.
    async fn a_secret_of_the_configuration_is_shown_nowhere(world: &mut World) {
        world.config.models[0].api_key = Some(Secret::Plain(CANARY.into()));
        listens(world);
        lives(world).await;
        assert_eq!(world.deletions(), 1, "calls that carry it do not run: {}", world.shown());
        let found = sinks(world).await;
        assert!(found.len() >= 18);
        for (sink, text) in found {
            let at = text.find(CANARY).map(|at| &text[at.saturating_sub(200)..at + 20]);
            assert!(!leaks(&text), "{sink}: {at:?}");
        }
    }
}

story! {
    /// The search finds it if it is not declared as a secret.
    async fn the_search_for_the_canary_finds_one(world: &mut World) {
        listens(world);
        lives(world).await;
        let found: Vec<_> =
            sinks(world).await.into_iter().filter(|(_, text)| leaks(text)).map(|(sink, _)| sink).collect();
        for sink in [
            "prompts", "chat", "hooks", "outbox", "approvals", "audit", "journal", "notices",
            "printed configuration",
        ] {
            assert!(found.contains(&sink), "{sink} is not searched: {found:?}");
        }
    }
}

story! {
    /// Text that only looks like a secret is shown in an approval and its file, since it may matter
    /// for the decision; not in the settled approval, nor in the result.
    async fn a_question_shows_what_only_looks_like_a_secret(world: &mut World) {
        let path = "ghp_abcdefghijklmnopqrstuvwxyz0123456789";
        world.model_will(call("delete", json!({ "path": path, "note": format!("{} {path}", "x".repeat(2_000)) })));
        world.ann_says("delete that token").await;
        world.ann_presses("Show everything").await;
        let question = &world.room.messages()[0].text;
        assert!(question.contains(&format!("`{path}`")), "{question}");
        assert!(files(&world.config.data_dir.join("artifacts")).contains(path));
        world.model_will(say("Done."));
        world.ann_presses("Allow once").await;
        let texts: Vec<_> = world.room.messages().into_iter().map(|m| m.text).collect();
        let shown = texts.join("\n");
        assert_snapshot!(stable(&shown), @"
        Allow **delete**? `[redacted: GitHub token]`

        ✅ Allowed by Ann.

        Done.
        ");
        assert!(!shown.contains(path), "{shown}");
        assert_eq!(world.deletions(), 1);
        let made = world.rows_of("events").await.join("\n");
        assert!(made.contains(path), "it ran with what was asked for");
        assert_eq!(world.results().await, ["deleted [redacted: GitHub token]"]);
    }
}

/// Unless the operator disabled the redaction of results.
#[test]
fn a_result_may_keep_what_only_looks_like_a_secret() {
    use countersign::testing::agent::redact::{Redactor, Results};
    let redactor = Redactor::new([CANARY]).for_results(Results::Own);
    let text = format!("password=hunter2hunter2 {CANARY}");
    assert_eq!(redactor.result(text), "password=hunter2hunter2 …");
    assert_eq!(Config::default().redaction.results, Results::All);
}

/// Panic messages are redacted too, with and without a log. Both cases panic in a process of their
/// own.
/// Proves S11, O1.
#[test]
fn a_panic_tells_no_secret() {
    const AS: &str = "COUNTERSIGN_TEST_PANICS";
    if let Ok(way) = std::env::var(AS) {
        let secrets = [CANARY.to_owned()].into();
        telemetry::log_panics();
        if way == "in a log" {
            telemetry::start("info", &secrets, None).unwrap();
        } else {
            telemetry::hide(&secrets);
        }
        panic!("the token {CANARY} is odd");
    }
    for way in ["in a log", "without one"] {
        let ran = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "stories::secrets::a_panic_tells_no_secret", "--nocapture"])
            .env(AS, way)
            .output()
            .unwrap();
        let said = [ran.stdout, ran.stderr].concat();
        let said = String::from_utf8_lossy(&said);
        assert!(!ran.status.success() && said.contains("is odd"), "{said}");
        assert!(!leaks(&said), "{said}");
    }
}
