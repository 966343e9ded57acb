//! MCP servers in conversations.

use chrono::TimeDelta;
use countersign::testing::{
    app::{App, Overrides},
    journal::{
        event::{Event, VISITOR},
        role::Role,
    },
    scripted::{Gate, call, calls, say},
};
use insta::assert_snapshot;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use std::{
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use super::concurrency::all_presses;
use crate::{
    story,
    support::{
        http::Served,
        process::eventually,
        stable_output::{line, stable},
        tools::Hold,
        world::World,
    },
};

/// A test server that deliberately does what real servers do by accident.
pub(super) struct FaultyServer {
    folder: PathBuf,
}

impl FaultyServer {
    pub fn with(world: &mut World, tools: &Value) -> Self {
        let folder = world.config.data_dir.join("moody");
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(folder.join("tools.json"), tools.to_string()).unwrap();
        let program = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/peers/moody_mcp.py");
        let command = json!(["python3", program, folder]);
        let entry = json!({ "name": "m", "command": command, "sandbox": false, "tier": "core" });
        world.config.mcp = vec![serde_json::from_value(entry).unwrap()];
        Self { folder }
    }

    fn offers_prompts(&self, prompts: &Value) {
        std::fs::write(self.folder.join("prompts.json"), prompts.to_string()).unwrap();
    }

    /// Creates an empty file in the server's folder.
    pub fn has(&self, file: &str) {
        std::fs::write(self.folder.join(file), "").unwrap();
    }

    fn no_longer_has(&self, file: &str) {
        std::fs::remove_file(self.folder.join(file)).unwrap();
    }

    /// How often the server was told that.
    pub fn heard(&self, method: &str) -> usize {
        let heard = std::fs::read_to_string(self.folder.join("heard")).unwrap();
        heard.lines().filter(|line| line.contains(&format!("\"{method}\""))).count()
    }
}

pub(super) fn tool(name: &str) -> Value {
    let annotations = json!({ "readOnlyHint": true });
    json!({ "name": name, "inputSchema": { "type": "object" }, "annotations": annotations })
}

story! {
    /// A start does not wait for a server that stalls. Its tools follow when it answers, over the
    /// same connection.
    async fn a_server_that_stalls_does_not_delay_the_start(world: &mut World) {
        let server = FaultyServer::with(world, &json!([tool("echo")]));
        server.has("stalls");
        // Creates the tables.
        let servers = std::mem::take(&mut world.config.mcp);
        world.node().await;
        world.config.mcp = servers;
        let given = Overrides {
            sandbox: Some(world.sandbox.clone()),
            servers_within: Some(Duration::from_secs(2)),
            ..Overrides::default()
        };
        let begun = Instant::now();
        let app = App::open(&world.config, &world.variables, given).await.unwrap();
        let took = begun.elapsed();
        assert!(took < Duration::from_secs(10), "{took:?}");
        let has_tool = || app.worker.toolbox.specs().iter().any(|spec| spec.name == "m_echo");
        assert!(!has_tool());
        app.start();
        server.no_longer_has("stalls");
        eventually("its tool is there", async || has_tool().then_some(())).await;
        assert_eq!(server.heard("initialize"), 1, "it was not connected again");
        app.stop().await.unwrap();
    }
}

story! {
    /// A call that was approved before its server has listed its tools does not end: it runs when
    /// they are there.
    async fn an_approved_call_waits_for_the_tools_of_its_server(world: &mut World) {
        let server = FaultyServer::with(world, &json!([tool("echo")]));
        world.model_will(call("m_echo", json!({})));
        world.ann_says("echo").await;
        server.has("stalls");
        let patience = std::mem::replace(&mut world.servers_within, Duration::from_millis(200));
        let (app, press) = (world.node().await, world.press("Allow once"));
        world.takes(&app, "1", press).await;
        assert_eq!(app.worker.advance_ready().await.unwrap(), 1);
        assert_eq!(app.worker.advance_ready().await.unwrap(), 0, "not again at once");
        assert_eq!(world.results().await, Vec::<String>::new());
        drop(app);
        server.no_longer_has("stalls");
        world.servers_within = patience;
        world.model_will(say("Echoed."));
        world.time_passes(TimeDelta::seconds(3)).await;
        assert_eq!(world.last(), "Echoed.");
        assert_eq!(server.heard("tools/call"), 1);
    }
}

story! {
    /// A turn whose call waits for the tools of a server does not end before its other calls have.
    async fn calls_go_on_while_another_waits_for_its_tool(world: &mut World) {
        let server = FaultyServer::with(world, &json!([tool("echo")]));
        let gate = Gate::new();
        world.tools = vec![Arc::new(Hold(gate.clone()))];
        world.guard("{ rules = [{ tool = 'hold', action = 'ask' }] }");
        let both = ["m_echo", "hold"].map(|tool| (tool.to_owned(), json!({})));
        world.model_will(calls(both.into()));
        world.ann_says("echo, and hold").await;
        server.has("stalls");
        let patience = std::mem::replace(&mut world.servers_within, Duration::from_millis(200));
        let app = world.node().await;
        for (place, press) in all_presses(world, "Allow once") {
            world.takes_at(place, &app, "1", press).await;
        }
        let meanwhile = async {
            gate.reached().await;
            gate.open();
        };
        let (advanced, ()) = tokio::join!(app.worker.advance_ready(), meanwhile);
        assert_eq!(advanced.unwrap(), 1);
        assert_eq!(world.results().await, ["held"]);
        drop(app);
        server.no_longer_has("stalls");
        world.servers_within = patience;
        world.model_will(say("Both."));
        world.time_passes(TimeDelta::seconds(3)).await;
        assert_eq!(world.last(), "Both.");
        assert_eq!(server.heard("tools/call"), 1);
    }
}

story! {
    /// A call to a tool that its server does not offer ends at once, also shortly after a start.
    async fn a_tool_that_its_server_does_not_offer_is_not_waited_for(world: &mut World) {
        FaultyServer::with(world, &json!([tool("echo")]));
        world.model_will(call("m_other", json!({})));
        world.model_will(say("There is none."));
        world.ann_says("do the other thing").await;
        assert_eq!(world.last(), "There is none.");
    }
}

story! {
    /// An approved call whose server no longer offers the tool ends at once, also shortly after a
    /// start.
    async fn an_approved_call_of_a_tool_that_is_gone_is_not_waited_for(world: &mut World) {
        let server = FaultyServer::with(world, &json!([tool("echo")]));
        world.model_will(call("m_echo", json!({})));
        world.ann_says("echo").await;
        std::fs::write(server.folder.join("tools.json"), json!([tool("other")]).to_string())
            .unwrap();
        world.model_will(say("There is none any more."));
        world.ann_presses("Allow once").await;
        assert_eq!(world.last(), "There is none any more.");
        assert_eq!(server.heard("tools/call"), 0);
    }
}

story! {
    /// A tool that declares itself harmless still needs an approval. If its server dies during the
    /// call, the outcome is unknown: it is not run again until a person allows it.
    /// Proves S16, S1, I4.
    async fn a_call_whose_answer_was_lost_is_asked_about(world: &mut World) {
        let server = FaultyServer::with(world, &json!([tool("die")]));
        world.model_will(call("m_die", json!({})));
        world.ann_says("die").await;
        assert_snapshot!(world.last(), @r"Allow **m\_die**? … Requested by Ann. Open until 2026-05-04 10:30 UTC, code `<code>`. [Allow once] [Allow in this conversation] [Always…] [Deny]");
        world.ann_presses("Allow once").await;
        assert_snapshot!(world.last(), @r"**m\_die** was interrupted. Run it again? … Requested by Ann. Open until 2026-05-04 10:30 UTC, code `<code>`. [Run again] [Skip]");
        assert_eq!(server.heard("tools/call"), 1);
        world.model_will(say("I leave it."));
        world.ann_presses("Skip").await;
        assert_eq!(world.last(), "I leave it.");
        assert_eq!(server.heard("tools/call"), 1);
        assert_snapshot!(stable(&world.results().await[0]), @"The call was interrupted and its outcome is unknown. The person chose not to run it again: check the state before you rely on it.");
    }
}

story! {
    /// The progress of a call is shown in the chat; `/stop` also cancels it at the server.
    /// Proves MC-48.
    async fn the_progress_of_a_call_is_shown_in_the_chat(world: &mut World) {
        world.room.limits.drafts = Some(Duration::from_millis(1));
        let server = FaultyServer::with(world, &json!([tool("slow")]));
        world.model_will(call("m_slow", json!({})));
        world.ann_says("take your time").await;
        let (app, press) = (world.node().await, world.press("Allow once"));
        world.takes(&app, "1", press).await;
        let turn = {
            let worker = app.worker.clone();
            tokio::spawn(async move { worker.advance_ready().await.unwrap() })
        };
        while world.room.drafts().is_empty() {
            world.room.moves().await;
        }
        assert_snapshot!(stable(&world.room.drafts()[0]), @r"⏳ `m_slow` 1/3 · the \*first\*");
        let stop = world.said("/stop");
        world.takes(&app, "1", stop).await;
        turn.await.unwrap();
        world.settle(&app).await;
        assert_eq!(server.heard("notifications/cancelled"), 1);
    }
}

story! {
    /// A server's tools are available without being listed in the configuration, in addition to
    /// built-in tools and skills; a skill's scripts can be run as soon as the skill is available.
    /// Proves MC-02, MC-03.
    async fn server_tools_and_skill_scripts_are_available(world: &mut World) {
        FaultyServer::with(world, &json!([tool("echo")]));
        let skill = world.config.data_dir.join("skills/letters");
        std::fs::create_dir_all(&skill).unwrap();
        let text = "---\nname: letters\ndescription: How we write letters\n---\nBegin with Dear.";
        world.sandbox = std::sync::Arc::new(crate::support::program::sandbox().await);
        std::fs::create_dir_all(skill.join("scripts")).unwrap();
        std::fs::write(skill.join("SKILL.md"), text).unwrap();
        std::fs::write(skill.join("scripts/greet.sh"), "#!/bin/sh\necho \"Dear $1\"\n").unwrap();
        let script = json!({ "skill": "letters", "script": "scripts/greet.sh", "args": ["Ann"] });
        world.model_will(call("run_skill_script", script));
        world.ann_says("hello").await;
        world.model_will(say("Hello."));
        world.ann_presses("Allow once").await;
        let result = world.results().await.pop().unwrap();
        assert!(result.contains("Dear Ann"), "{result}");
        let prompts = world.prompts();
        let names: Vec<_> = prompts[0].tools.iter().map(|tool| tool.name.as_str()).collect();
        for name in ["read_file", "m_echo", "load_skill"] {
            assert!(names.contains(&name), "{name}: {names:?}");
        }
        let prompt = format!("{:?}", prompts[0]);
        assert!(prompt.contains("How we write letters") && prompt.contains("run_skill_script"));
    }
}

story! {
    /// A prompt of a server is a command for people, which `/help` lists. Its text is shown to the
    /// model as that of the server, and is untrusted content. If the server does not provide it, the
    /// person and the model are told.
    async fn a_prompt_is_a_command(world: &mut World) {
        let server = FaultyServer::with(world, &json!([tool("echo")]));
        server.offers_prompts(&json!([
            { "name": "empty" },
            { "name": "gone" },
            { "name": "review", "description": "Reviews\n*code*",
              "arguments": [{ "name": "code", "required": true }, { "name": "style" }] },
        ]));
        world.ann_says("/help").await;
        let help = world.room.messages().last().unwrap().text.clone();
        let listed = "Prompts of tool servers:\n\n- `/m:empty`\n- `/m:gone`\n\
            - `/m:review code=… [style=…]` Reviews \\*code\\*";
        assert!(help.ends_with(listed), "{help}");
        world.ann_says("/m:review style=terse").await;
        assert_snapshot!(world.last(), @"Please write it like this: `/m:review code=… [style=…]`");
        assert_eq!(server.heard("prompts/get"), 0);
        world.model_will(say("Fine code."));
        world.ann_says("/m:review \"x = 1\" very terse").await;
        assert_eq!(world.last(), "Fine code.");
        assert_eq!(server.heard("prompts/get"), 1);
        let prompt = format!("{:?}", world.prompts().last().unwrap().messages.last().unwrap());
        assert!(prompt.contains("/m:review \\\"x = 1\\\" very terse"), "{prompt}");
        let quoted = "`review` of the MCP server `m`, which I have chosen.";
        assert!(prompt.contains(quoted), "{prompt}");
        assert!(prompt.contains("> Please do this:\\n> code: x = 1\\n> style: very terse"), "{prompt}");
        let tainted = |source: &str| Event::Tainted { source: source.to_owned() };
        let events = world.journal().await.into_iter().map(|entry| entry.event);
        assert!(events.clone().any(|event| event == tainted("prompt m/review")));
        world.model_will(say("Then not."));
        world.ann_says("/m:gone").await;
        assert_eq!(world.last(), "Then not.");
        let messages = world.room.messages();
        assert_snapshot!(line(&messages[messages.len() - 2]), @"The tool server m did not provide the prompt gone. Please try again later.");
        let prompt = format!("{:?}", world.prompts().last().unwrap());
        assert!(prompt.contains("not here: the MCP server `m` did not provide it"), "{prompt}");
        world.model_will(say("It is empty."));
        world.ann_says("/m:empty").await;
        assert_eq!(world.last(), "It is empty.");
        let prompt = format!("{:?}", world.prompts().last().unwrap());
        assert!(prompt.contains("not here: it has no text"), "{prompt}");
    }
}

story! {
    /// Visitors of other sites cannot use prompts, nor can people whose agent does not have the
    /// server: the agent reads the text as any other.
    async fn a_prompt_is_for_people_of_its_agent(world: &mut World) {
        let server = FaultyServer::with(world, &json!([tool("echo")]));
        server.offers_prompts(&json!([{ "name": "review" }]));
        world.allow = vec!["*".into()];
        let visitor = format!("{VISITOR}7");
        world.model_will(say("What is that?"));
        let said = world.said("/m:review");
        world.happens(&visitor, said).await;
        world.config.agents[0].mcp = vec!["other".into()];
        world.model_will(say("What is that?"));
        world.ann_says("/m:review").await;
        assert_eq!(server.heard("prompts/get"), 0);
        world.ann_says("/help").await;
        assert!(!world.room.messages().last().unwrap().text.contains("m:review"));
    }
}

story! {
    /// A person who trusts a tool through the API names the description they read; both are in the
    /// audit.
    /// Proves S16.
    async fn somebody_answers_for_a_tool_as_they_read_it(world: &mut World) {
        FaultyServer::with(world, &json!([tool("echo")]));
        let served = Served::of(world).await;
        world.config.mcp.clear();
        let viewer = served.token("vic", Role::Viewer).await;
        let (status, _) = served.ask(&viewer, Method::GET, "/mcp-servers/m/tools", None).await;
        assert_eq!(status, StatusCode::FORBIDDEN);
        let operator = served.token("ops", Role::Operator).await;
        let seen = served.get(&operator, "/mcp-servers/m/tools").await["items"][0].clone();
        assert_eq!((&seen["tool"], &seen["standing"]), (&json!("echo"), &json!("seen")));
        assert_eq!(seen["was"]["annotations"]["readOnlyHint"], true);
        let trust = async |server: &str, tool: &str, digest: &str| {
            let body = json!({ "tool": tool, "digest": digest });
            let path = format!("/mcp-servers/{server}/trust");
            served.ask(&operator, Method::PUT, &path, Some(body)).await
        };
        let read = seen["digest"].as_str().unwrap();
        for (server, tool, digest, status) in [
            ("m", "echo", "something else", StatusCode::CONFLICT),
            ("m", "nothing", read, StatusCode::NOT_FOUND),
            ("other", "echo", read, StatusCode::NOT_FOUND),
        ] {
            assert_eq!(trust(server, tool, digest).await.0, status, "{server} {tool}");
        }
        let (status, trusted) = trust("m", "echo", read).await;
        assert_eq!((status, &trusted["standing"]), (StatusCode::OK, &json!("trusted")));
        assert_eq!(trusted["trusted_by"], "token:ops");
        let facts = served.get(&operator, "/audit?kind=mcp_trusted").await;
        assert_eq!(facts["items"][0]["person"], "token:ops", "{facts}");
    }
}
