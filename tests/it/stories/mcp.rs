//! MCP servers in conversations.

use channels::IncomingContent;
use chrono::TimeDelta;
use countersign::testing::{
    agent::{policy::Action as Verdict, rules::RuleEntry},
    gateway::{approvals, deliver},
    journal::{
        event::{Event, VISITOR},
        role::Role,
    },
    scripted::{Gate, call, say, wait},
};
use insta::assert_snapshot;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use std::{path::PathBuf, time::Duration};

use crate::{
    story,
    support::{
        http::Served,
        process::eventually,
        stable_output::{line, stable},
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
    fn has(&self, file: &str) {
        std::fs::write(self.folder.join(file), "").unwrap();
    }

    /// How often the server was told that.
    fn heard(&self, method: &str) -> usize {
        let heard = std::fs::read_to_string(self.folder.join("heard")).unwrap();
        heard.lines().filter(|line| line.contains(&format!("\"{method}\""))).count()
    }
}

pub(super) fn tool(name: &str) -> Value {
    let annotations = json!({ "readOnlyHint": true });
    json!({ "name": name, "inputSchema": { "type": "object" }, "annotations": annotations })
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
            { "name": "gone" },
            { "name": "review", "description": "Reviews\n*code*",
              "arguments": [{ "name": "code", "required": true }, { "name": "style" }] },
        ]));
        world.ann_says("/help").await;
        let help = world.room.messages().last().unwrap().text.clone();
        let listed = "Prompts of tool servers:\n\n- `/m:gone`\n\
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

/// A call that is running together with its world.
struct UnderWay {
    app: countersign::testing::app::App,
    turn: tokio::task::JoinHandle<()>,
}

impl UnderWay {
    /// A test server asks a person for these fields.
    async fn asks(world: &mut World, properties: &Value) -> (FaultyServer, Self) {
        let server = FaultyServer::with(world, &json!([tool("order")]));
        let call = Self::asks_again(world, properties).await;
        (server, call)
    }

    async fn asks_again(world: &mut World, properties: &Value) -> Self {
        let required: Vec<_> = properties.as_object().unwrap().keys().cloned().collect();
        let schema = json!({ "type": "object", "properties": properties, "required": required });
        let question = json!({ "message": "The *shirt*", "requestedSchema": schema });
        world.model_will(call("m_order", question));
        world.ann_says("order it").await;
        let (app, press) = (world.node().await, world.press("Allow once"));
        world.takes(&app, "1", press).await;
        let worker = app.worker.clone();
        let turn = tokio::spawn(async move {
            assert_ne!(worker.advance_ready().await.unwrap(), 0);
        });
        let under_way = Self { app, turn };
        under_way.shows(world, "The tool server **m** asks you:").await;
        under_way
    }

    /// Until the last message asks that.
    async fn shows(&self, world: &World, what: &str) {
        let asks = async || {
            deliver::deliver_ready(&self.app.gateway).await.unwrap();
            let messages = world.room.messages();
            let last = messages.last()?;
            (last.text.contains(what) && !last.buttons.is_empty()).then_some(())
        };
        eventually(what, asks).await;
    }

    async fn ends(self, world: &mut World) {
        self.turn.await.unwrap();
        world.settle(&self.app).await;
    }
}

story! {
    /// A server's question during a call is put to the person for whom it runs, with buttons or as
    /// text, field by field. It names the server, and its formatting has no effect.
    async fn a_server_asks_a_person_during_a_call(world: &mut World) {
        let fields = json!({
            "colour": { "type": "string", "enum": ["red", "green"] },
            "name": { "type": "string", "maxLength": 5 },
        });
        let (server, call) = UnderWay::asks(world, &fields).await;
        assert_snapshot!(world.last(), @"The tool server **m** asks you: … Your answer is sent to that server. Never enter a password or key. [red] [green] [No answer]");
        let shown = world.room.messages().last().unwrap().text.clone();
        assert_snapshot!(stable(&shown), @r"
        The tool server **m** asks you:

        The \*shirt\*

        **colour**

        Your answer is sent to that server. Never enter a password or key.
        ");
        // Only Ann can answer, and her text is not used for a field that has buttons.
        let press = world.press("green");
        world.takes(&call.app, "2", press).await;
        let press = world.press("green");
        world.takes(&call.app, "1", press).await;
        call.shows(world, "your next message is the answer").await;
        let long = world.said("much too long");
        world.takes(&call.app, "1", long).await;
        call.shows(world, "isn't valid").await;
        let name = world.said("Ann");
        world.takes(&call.app, "1", name).await;
        world.model_will(say("Ordered."));
        call.ends(world).await;
        assert_eq!(world.last(), "Ordered.");
        let given = json!({ "action": "accept", "content": { "colour": "green", "name": "Ann" } });
        let result: Value = serde_json::from_str(&world.results().await[0]).unwrap();
        assert_eq!(result, given);
        assert_snapshot!(world.shown(), @r"
        Allow **m\_order**? `The *shirt*` … ✅ Allowed by Ann.
        The tool server **m** asks you: … ✅ Ann answered: green
        The tool server **m** asks you: … ✅ Ann answered: much too long
        Your answer was sent.
        The tool server **m** asks you: … ✅ Ann answered: Ann
        Your answer was sent.
        Ordered.
        ");
        assert_eq!(server.heard("tools/call"), 1);
        let said = world.journal().await.into_iter();
        let said = said.filter(|entry| matches!(entry.event, Event::Said { .. })).count();
        assert_eq!(said, 1, "answers are no messages to the agent");
    }
}

story! {
    /// In a group, where people also write to each other, only a reply to the question answers it,
    /// and only that of the person who is asked.
    async fn in_a_group_an_elicitation_is_answered_by_a_reply(world: &mut World) {
        world.allow = ["1", "2"].map(str::to_owned).to_vec();
        let _server = FaultyServer::with(world, &json!([tool("order")]));
        let properties = json!({ "name": { "type": "string" } });
        let schema =
            json!({ "type": "object", "properties": properties, "required": ["name"] });
        let question = json!({ "message": "The shirt", "requestedSchema": schema });
        world.model_will(call("m_order", question));
        let said = world.said("order it");
        world.happens_at(World::group(), ("1", &[]), said).await;
        let (app, press) = (world.node().await, world.press("Allow once"));
        world.takes_at(World::group(), &app, "1", press).await;
        let worker = app.worker.clone();
        let turn = tokio::spawn(async move {
            assert_ne!(worker.advance_ready().await.unwrap(), 0);
        });
        let call = UnderWay { app, turn };
        call.shows(world, "The tool server **m** asks you:").await;
        let question = (world.room.messages().len() - 1).to_string();
        let reply = |mut said: IncomingContent| {
            if let IncomingContent::Text { reply_to, .. } = &mut said {
                *reply_to = Some(question.clone());
            }
            said
        };
        let (aside, others) = (world.said("Bob"), reply(world.said("Eve")));
        world.takes_at(World::group(), &call.app, "1", aside).await;
        world.takes_at(World::group(), &call.app, "2", others).await;
        let answer = reply(world.said("Ann"));
        world.takes_at(World::group(), &call.app, "1", answer).await;
        world.model_will(say("Ordered."));
        call.ends(world).await;
        let results = world.journal_at(World::group()).await.into_iter();
        let results = results.filter_map(|entry| match entry.event {
            Event::ToolFinished { result, .. } => serde_json::from_str(&result.text).ok(),
            _ => None,
        });
        let given = json!({ "action": "accept", "content": { "name": "Ann" } });
        assert_eq!(results.collect::<Vec<Value>>(), [given]);
    }
}

story! {
    /// A person does not have to answer; the model is told what was asked. After the timeout the
    /// call continues.
    async fn a_person_need_not_answer_an_elicitation(world: &mut World) {
        let (_, call) = UnderWay::asks(world, &json!({ "sure": { "type": "boolean" } })).await;
        let press = world.press("No answer");
        world.takes(&call.app, "1", press).await;
        world.model_will(say("Then not."));
        call.ends(world).await;
        assert_snapshot!(stable(&world.results().await[0]), @r#"
        {"action": "decline"}
        [The server asked, and got no answer: The *shirt*]
        "#);
        let call = UnderWay::asks_again(world, &json!({})).await;
        assert_snapshot!(world.last(), @"The tool server **m** asks you: … Your answer is sent to that server. Never enter a password or key. [Confirm] [No answer]");
        world.clock.advance(TimeDelta::minutes(11));
        approvals::sweep(&call.app.gateway).await.unwrap();
        world.model_will(say("Well."));
        call.ends(world).await;
        assert_snapshot!(stable(&world.results().await[1]), @r#"
        {"action": "cancel"}
        [The server asked, and got no answer: The *shirt*]
        "#);
    }
}

story! {
    /// If the gateway declines on behalf of a person, it says so in the chat, and why.
    async fn a_person_learns_what_was_declined_for_them(world: &mut World) {
        let server = FaultyServer::with(world, &json!([tool("order")]));
        let schema = json!({ "type": "object", "properties": { "password": { "type": "string" } } });
        world.model_will(call("m_order", json!({ "message": "Who?", "requestedSchema": schema })));
        world.ann_says("order it").await;
        world.model_will(say("Then not."));
        world.ann_presses("Allow once").await;
        assert_snapshot!(world.shown(), @r"
        Allow **m\_order**? `Who?` … ✅ Allowed by Ann.
        The tool server **m** asked you something. I declined for you: it wants a password, key or another secret.
        Then not.
        ");
        let result: Value = serde_json::from_str(world.results().await[0].lines().next().unwrap()).unwrap();
        assert_eq!(result, json!({ "action": "decline" }));
        assert_eq!(server.heard("tools/call"), 1);
    }
}

story! {
    /// `/stop` withdraws the question and cancels the call at the server. If a node dies with an
    /// open question, the outcome of the call is unknown; its question is withdrawn, and a press on
    /// it has no effect.
    /// Proves I4.
    async fn a_question_ends_with_its_call(world: &mut World) {
        let (server, call) = UnderWay::asks(world, &json!({ "sure": { "type": "boolean" } })).await;
        let late = world.press("Yes");
        let stop = world.said("/stop");
        world.takes(&call.app, "1", stop).await;
        call.ends(world).await;
        assert_eq!(server.heard("notifications/cancelled"), 1);
        assert!(world.press_if_there("Yes").is_none(), "{}", world.shown());
        world.happens("1", late).await;
        assert_eq!(server.heard("tools/call"), 1);
        world.ann_says("/new").await;
        let call = UnderWay::asks_again(world, &json!({ "sure": { "type": "boolean" } })).await;
        call.turn.abort();
        let _ = call.turn.await;
        call.app.gateway.store.release_all().await.unwrap();
        let next = world.node().await;
        world.settle(&next).await;
        assert_snapshot!(world.last(), @r"**m\_order** was interrupted. Run it again? … Requested by Ann. Open until 2026-05-04 10:30 UTC, code `<code>`. [Run again] [Skip]");
        assert!(world.press_if_there("Yes").is_none(), "{}", world.shown());
    }
}

story! {
    /// If a server does not wait for the answer, its question is withdrawn when the call ends, and
    /// not only with the turn.
    async fn a_question_is_withdrawn_when_its_call_ends(world: &mut World) {
        let server = FaultyServer::with(world, &json!([tool("order")]));
        server.has("impatient");
        let call = UnderWay::asks_again(world, &json!({ "sure": { "type": "boolean" } })).await;
        let gate = Gate::new();
        world.model_will(wait(&gate));
        world.model_will(say("Then not."));
        server.has("bored");
        gate.reached().await;
        deliver::deliver_ready(&call.app.gateway).await.unwrap();
        assert!(world.press_if_there("Yes").is_none(), "{}", world.shown());
        gate.open();
        call.ends(world).await;
        assert_eq!(world.last(), "Then not.");
        assert_eq!(world.results().await, ["Nobody answered."]);
    }
}

story! {
    /// A node that stops withdraws the question: the next text is an ordinary message.
    /// Proves O5.
    async fn a_stop_takes_the_question_back(world: &mut World) {
        let (_, call) = UnderWay::asks(world, &json!({ "name": { "type": "string" } })).await;
        call.app.gateway.stop.cancel();
        call.turn.await.unwrap();
        let next = world.node().await;
        world.model_will(say("Then not."));
        world.settle(&next).await;
        assert_snapshot!(stable(&world.results().await[0]), @r#"
        {"action": "cancel"}
        [The server asked, and got no answer: The *shirt*]
        "#);
        assert!(world.press_if_there("No answer").is_none(), "{}", world.shown());
        world.model_will(say("The hotel, too."));
        world.ann_says("and book the hotel").await;
        assert_eq!(world.last(), "The hotel, too.");
    }
}

story! {
    /// A visitor of another site cannot answer: the server is told so immediately.
    async fn a_visitor_is_not_asked(world: &mut World) {
        let visitor = format!("{VISITOR}7");
        world.allow = vec!["*".into()];
        world.config.guard.rules = vec![RuleEntry::of("*", Verdict::Allow)];
        FaultyServer::with(world, &json!([tool("order")]));
        let schema = json!({ "type": "object", "properties": { "a": { "type": "string" } } });
        world.model_will(call("m_order", json!({ "message": "a?", "requestedSchema": schema })));
        world.model_will(say("Nobody said."));
        let order = world.said("order it");
        world.happens(&visitor, order).await;
        assert_eq!(world.last(), "Nobody said.");
        assert_snapshot!(world.shown(), @"Nobody said.");
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
