//! Questions of MCP servers to people (elicitation).

use channels::IncomingContent;
use chrono::TimeDelta;
use countersign::testing::{
    agent::{policy::Action as Verdict, rules::RuleEntry},
    crash,
    gateway::{approvals, deliver},
    journal::event::{Event, VISITOR},
    scripted::{Gate, call, calls, say, wait},
};
use insta::assert_snapshot;
use serde_json::{Value, json};
use std::sync::Arc;

use super::mcp::{FaultyServer, tool};
use crate::{
    story,
    support::{
        process::eventually,
        stable_output::stable,
        tools::{Ask, Tell},
        world::World,
    },
};

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
    /// A text answers a question with buttons only if it is the label of one.
    async fn only_a_label_answers_a_question_with_buttons(world: &mut World) {
        let fields = json!({ "colour": { "type": "string", "enum": ["red", "green"] } });
        let (_, call) = UnderWay::asks(world, &fields).await;
        for text in ["blue", "green"] {
            let said = world.said(text);
            world.takes(&call.app, "1", said).await;
        }
        world.model_will(say("Ordered."));
        call.ends(world).await;
        let given = json!({ "action": "accept", "content": { "colour": "green" } });
        let result: Value = serde_json::from_str(&world.results().await[0]).unwrap();
        assert_eq!(result, given);
        assert_snapshot!(world.shown(), @r"
        Allow **m\_order**? `The *shirt*` … ✅ Allowed by Ann.
        The tool server **m** asks you: … ✅ Ann answered: green
        Your answer was sent.
        Ordered.
        ");
    }
}

story! {
    /// A question takes an answer and no permission, and a request takes a permission and no answer.
    /// Proves A1.
    async fn a_question_takes_only_an_answer(world: &mut World) {
        world.model_will(call("delete", json!({ "path": "a.txt" })));
        world.ann_says("delete a.txt").await;
        world.ann_says("/answer yes").await;
        assert_snapshot!(world.last(), @"This can only be allowed once, or denied.");
        assert_eq!(world.deletions(), 0);
        world.model_will(say("Done."));
        world.ann_presses("Allow once").await;
        assert_eq!(world.deletions(), 1);
        let fields = json!({ "colour": { "type": "string", "enum": ["red", "green"] } });
        let (_, call) = UnderWay::asks(world, &fields).await;
        let mut answers = Vec::new();
        for text in ["/allow", "/answer blue"] {
            let said = world.said(text);
            world.takes(&call.app, "1", said).await;
            deliver::deliver_ready(&call.app.gateway).await.unwrap();
            answers.push(world.last());
        }
        assert_snapshot!(answers.join("\n"), @"
        Answer this question with a button, or with `/answer` and your text.
        Answer this question with a button, or with `/answer` and your text.
        ");
        let said = world.said("/answer green");
        world.takes(&call.app, "1", said).await;
        world.model_will(say("Ordered."));
        call.ends(world).await;
        let given = json!({ "action": "accept", "content": { "colour": "green" } });
        let results = world.results().await;
        let result: Value = serde_json::from_str(&results[1]).unwrap();
        assert_eq!(result, given);
    }
}

story! {
    /// A notice of a running call whose first write failed is shown all the same.
    async fn a_notice_is_recorded_once_the_database_takes_it(world: &mut World) {
        let gate = Gate::new();
        world.tools = vec![Arc::new(Tell(gate.clone()))];
        world.model_will(call("tell", json!({})));
        world.model_will(say("Told."));
        let (app, said) = (world.node().await, world.said("tell me"));
        world.takes(&app, "1", said).await;
        let meanwhile = async {
            gate.reached().await;
            crash::refuse_next("record", 1);
            gate.open();
        };
        let (advanced, ()) = tokio::join!(app.worker.advance_ready(), meanwhile);
        advanced.unwrap();
        world.settle(&app).await;
        assert_eq!(world.shown(), "Sign in, please.\nTold.");
    }
}

story! {
    /// A notice of a running call that was recorded, but whose commit was not acknowledged, is not
    /// recorded again.
    async fn a_notice_whose_acknowledgement_was_lost_is_shown_once(world: &mut World) {
        let gate = Gate::new();
        world.tools = vec![Arc::new(Tell(gate.clone()))];
        world.model_will(call("tell", json!({})));
        world.model_will(say("Told."));
        let (app, said) = (world.node().await, world.said("tell me"));
        world.takes(&app, "1", said).await;
        let meanwhile = async {
            gate.reached().await;
            crash::lose_next_answer("record");
            gate.open();
        };
        let (advanced, ()) = tokio::join!(app.worker.advance_ready(), meanwhile);
        advanced.unwrap();
        world.settle(&app).await;
        assert_eq!(world.shown(), "Sign in, please.\nTold.");
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
    /// When a call ends, the questions of the calls beside it stay open.
    async fn only_the_question_of_the_call_that_ends_is_withdrawn(world: &mut World) {
        let (hasty, patient) = (Gate::new(), Gate::new());
        world.tools =
            vec![Arc::new(Ask("hasty", hasty.clone())), Arc::new(Ask("patient", patient))];
        world.model_will(calls(vec![("hasty".into(), json!({})), ("patient".into(), json!({}))]));
        world.model_will(say("Answered."));
        let (app, said) = (world.node().await, world.said("ask me"));
        world.takes(&app, "1", said).await;
        let worker = app.worker.clone();
        let turn = tokio::spawn(async move {
            assert_ne!(worker.advance_ready().await.unwrap(), 0);
        });
        let call = UnderWay { app, turn };
        let shown = async |world: &World, label: &str| {
            deliver::deliver_ready(&call.app.gateway).await.unwrap();
            let messages = world.room.messages();
            messages.iter().any(|message| message.buttons.iter().any(|(own, _)| own == label))
        };
        for label in ["hasty", "patient"] {
            eventually(label, async || shown(world, label).await.then_some(())).await;
        }
        hasty.open();
        let is_withdrawn = async || (!shown(world, "hasty").await).then_some(());
        eventually("the first question is withdrawn", is_withdrawn).await;
        let press = world.press("patient");
        world.takes(&call.app, "1", press).await;
        call.ends(world).await;
        assert_eq!(world.last(), "Answered.");
        assert_eq!(world.results().await, ["gave up", "Given(\"patient\")"]);
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
