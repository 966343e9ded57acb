//! WASM tools in conversations.

use countersign::testing::{
    agent::catalog::Domain,
    app::App,
    journal::{event::Event, role::Role},
    scripted::{Gate, call, say, wait},
    store::tools::pins::{self, MODULES, Reviewed, TrustOutcome},
    tools::wasm::modules::ModuleState,
};
use fakes::wasm::{Component, Guest, GuestEffect};
use insta::assert_snapshot;
use reqwest::{Method, StatusCode};
use serde_json::json;
use std::path::PathBuf;

use crate::{
    story,
    support::{http::Served, stable_output::stable, world::World},
};

/// Puts a component with its manifest into the folder for tools.
pub fn drop_in(world: &World, file: &str, bytes: &[u8], manifest: &str) -> PathBuf {
    let folder = world.config.data_dir.join("tools");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join(format!("{file}.toml")), manifest).unwrap();
    let path = folder.join(format!("{file}.wasm"));
    std::fs::write(&path, bytes).unwrap();
    path
}

/// An operator trusts a component as it was last seen.
async fn trust(app: &App, module: &'static str) {
    let (store, now) = (&app.gateway.store, app.gateway.clock.now());
    let pins = store.read(|tx| Box::pin(pins::of_server(tx, MODULES))).await.unwrap();
    let digest = pins::digest_of([&pins[module]]);
    let trust = store.write("test", move |tx| {
        let tool = Some(module.to_owned());
        let reviewed = Reviewed { server: MODULES.to_owned(), tool, digest: digest.clone() };
        Box::pin(async move { pins::trust(tx, &reviewed, "amy", now).await })
    });
    assert_eq!(trust.await.unwrap(), TrustOutcome::Trusted(vec![module.to_owned()]));
}

fn echo(say: &str) -> Vec<u8> {
    Component::new("repeat", Guest::Echo).about(say).bytes()
}

story! {
    /// A component is a tool once an operator trusts it with its manifest. When either changes, it
    /// is withheld; when the trusted ones are back, it is available again. Its results are untrusted
    /// content.
    /// Proves IC-44, S16.
    async fn a_component_is_a_tool_while_it_is_as_trusted(world: &mut World) {
        let says = async |world: &mut World| {
            world.model_will(call("repeat", json!({ "say": "hello" })));
            world.model_will(say("Done."));
            world.ann_says("repeat it").await;
            assert_eq!(world.last(), "Done.");
            stable(&world.results().await.pop().unwrap())
        };
        drop_in(world, "parrot", &echo(""), "");
        assert_snapshot!(says(world).await, @"`repeat` cannot be used here: no operator has trusted it yet; review and trust it with `countersign wasm trust parrot`. You cannot change that.");
        trust(&world.node().await, "parrot").await;
        assert_eq!(says(world).await, r#"{"say":"hello"}"#);
        let events = world.journal().await.into_iter().map(|entry| entry.event);
        let tainted = events.filter(|event| matches!(event, Event::Tainted { .. }));
        assert_eq!(tainted.count(), 1);
        let offered = format!("{:?}", world.prompts().last().unwrap());
        assert!(offered.contains("Does what a test wants."), "it is offered");

        let changed = "`repeat` cannot be used here: it or its manifest has changed since an operator saw it; review and trust it with `countersign wasm trust parrot`. You cannot change that.";
        drop_in(world, "parrot", &echo("changed"), "");
        assert_eq!(says(world).await, changed);
        drop_in(world, "parrot", &echo(""), "read = ['**']");
        assert_eq!(says(world).await, changed);
        drop_in(world, "parrot", &echo(""), "");
        assert_eq!(says(world).await, r#"{"say":"hello"}"#);
        let audit = world.rows_of("audit").await.join("\n");
        assert!(audit.contains("wasm_trusted") && audit.contains("wasm_changed"), "{audit}");
    }
}

story! {
    /// A tool whose manifest lets it write needs an approval, although it says that it only reads.
    /// Proves IC-44.
    async fn a_component_that_may_write_is_asked_about(world: &mut World) {
        let component = Component::new("keep_note", Guest::Write).about("notes/a.txt");
        drop_in(world, "notes", &component.bytes(), "write = ['notes/*']");
        trust(&world.node().await, "notes").await;
        world.model_will(call("keep_note", json!({ "say": "hello" })));
        world.ann_says("note it").await;
        assert_snapshot!(world.last(), @r"Allow **keep\_note**? … Requested by Ann. Open until 2026-05-04 10:30 UTC, code `<code>`. [Allow once] [Allow in this conversation] [Always…] [Deny]");
        world.model_will(say("Noted."));
        world.ann_presses("Allow once").await;
        assert_eq!(world.last(), "Noted.");
        assert_eq!(world.results().await, [r#"{"say":"hello"}"#]);
        let files = walk(&world.config.data_dir.join("workspaces"));
        let note = files.iter().find(|path| path.ends_with("notes/a.txt")).unwrap();
        assert_eq!(std::fs::read_to_string(note).unwrap(), r#"{"say":"hello"}"#);
    }
}

fn walk(folder: &std::path::Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { walk(&path) } else { vec![path] }).collect()
}

story! {
    /// A component that is dropped in while the gateway runs is a tool of that gateway, and a call
    /// that takes too long ends.
    /// Proves IC-44, IC-52, IC-29.
    async fn a_component_is_dropped_in_while_the_gateway_runs(world: &mut World) {
        world.config.wasm.timeout = "1s".into();
        world.config.wasm.max_instructions = u64::MAX / 2;
        let app = world.node().await;
        drop_in(world, "slow", &Component::new("spin", Guest::Loop).bytes(), "");
        app.update_wasm_tools().await.unwrap();
        trust(&app, "slow").await;
        app.update_wasm_tools().await.unwrap();
        let specs = app.worker.toolbox.specs();
        let spin = specs.iter().find(|spec| spec.name == "spin").unwrap();
        assert!(spin.unavailable.is_none() && matches!(spin.domain, Domain::Wasm(_)));
        world.model_will(call("spin", json!({})));
        world.model_will(say("It took too long."));
        let said = world.said("spin");
        world.takes(&app, "1", said).await;
        world.settle(&app).await;
        assert_eq!(world.results().await, ["Timed out after 1 s"]);
    }
}

story! {
    /// Invalid components stop nothing: each is reported with what is wrong, also in the console and
    /// to the people who ask for its tool.
    /// Proves IC-43.
    async fn an_invalid_component_is_reported(world: &mut World) {
        drop_in(world, "broken", b"no component", "");
        drop_in(world, "greedy", &echo(""), "hosts = 'all'");
        drop_in(world, "odd", &Component::new("Not A Name", Guest::Echo).bytes(), "");
        drop_in(world, "twin", &Component::new("read_file", Guest::Echo).bytes(), "");
        let served = Served::of(world).await;
        let found = served.app.wasm.statuses.all();
        let shown = found.iter().map(|one| format!("{}: {:?}", one.module, one.state));
        assert_eq!(
            shown.collect::<Vec<_>>(),
            ["broken: Invalid", "greedy: Invalid", "odd: Invalid", "twin: Untrusted"]
        );
        for (status, says) in
            found.iter().zip(["not a WebAssembly component", "greedy.toml", "is not a name"])
        {
            assert_eq!(status.state, ModuleState::Invalid);
            assert!(status.problem.as_ref().unwrap().contains(says), "{status:?}");
        }
        let specs = served.app.worker.toolbox.specs();
        let own = specs.iter().find(|spec| spec.name == "read_file").unwrap();
        assert!(own.unavailable.is_none(), "a component cannot take the name of another tool");
        let token = served.token("amy", Role::Operator).await;
        let owner = served.session("owner").await;
        let page = served.request(Method::GET, "/console/tools").header("cookie", owner);
        let page = page.send().await.unwrap().text().await.unwrap();
        assert!(page.contains("not a WebAssembly component"), "{page}");
        let list = served.get(&token, "/wasm-tools").await;
        let digest = &list["items"][3]["digest"];
        assert_eq!((&list["items"][0]["digest"], &list["items"][3]["state"]), (&json!(null), &json!("untrusted")));
        for (id, digest, expected) in [
            ("twin", json!("0"), StatusCode::CONFLICT),
            ("twin", digest.clone(), StatusCode::OK),
            ("broken", json!("0"), StatusCode::NOT_FOUND),
        ] {
            let (path, body) = (format!("/wasm-tools/{id}/trust"), json!({ "digest": digest }));
            let (status, said) = served.ask(&token, Method::PUT, &path, Some(body)).await;
            assert_eq!(status, expected, "{said}");
        }
        served.app.update_wasm_tools().await.unwrap();
        assert_eq!(served.get(&token, "/wasm-tools").await["items"][3]["state"], "trusted");
    }
}

story! {
    /// A tool that says it must not run twice is approved first; a read-only one without hosts runs
    /// at once.
    async fn the_effect_of_a_trusted_component_is_believed(world: &mut World) {
        let once = Component::new("launch", Guest::Echo).with_effect(GuestEffect::AtMostOnce);
        drop_in(world, "rocket", &once.bytes(), "");
        trust(&world.node().await, "rocket").await;
        world.model_will(call("launch", json!({ "say": "go" })));
        world.ann_says("launch it").await;
        assert_snapshot!(world.last(), @"Allow **launch**? … Requested by Ann. Open until 2026-05-04 10:30 UTC, code `<code>`. [Allow once] [Allow in this conversation] [Always…] [Deny]");
    }
}

story! {
    /// A tool that is added during a turn can be used in the same turn.
    async fn a_tool_that_is_added_during_a_turn_can_be_used(world: &mut World) {
        let gate = Gate::new();
        world.model_will(wait(&gate));
        world.model_will(call("rare", json!({})));
        world.model_will(call("launch", json!({ "say": "go" })));
        let (app, said) = (world.node().await, world.said("launch it"));
        world.takes(&app, "1", said).await;
        let adding = async {
            gate.reached().await;
            let once = Component::new("launch", Guest::Echo).with_effect(GuestEffect::AtMostOnce);
            drop_in(world, "rocket", &once.bytes(), "");
            app.update_wasm_tools().await.unwrap();
            trust(&app, "rocket").await;
            app.update_wasm_tools().await.unwrap();
            gate.open();
        };
        let (advanced, ()) = tokio::join!(app.worker.advance_ready(), adding);
        advanced.unwrap();
        world.settle(&app).await;
        assert!(world.last().starts_with("Allow **launch**?"), "{}", world.shown());
    }
}
