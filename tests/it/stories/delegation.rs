//! Sub-agents: conversations whose place is their parent.

use channels::IncomingContent;
use countersign::testing::{
    agent::{
        delegation::ANSWER_CHARS,
        policy::Action,
        prompt::{Message, Prompt},
    },
    app::App,
    config::{AgentEntry, limits::ToolLimitEntry},
    journal::event::{Event, InheritedState, Outcome},
    llm::{ModelError, Reply},
    scripted::{Gate, ScriptStep, answer, call, calls, fail, say, think, wait},
    store::audit::{AuditKind, Fact},
    texts::Language,
    worker::erasure,
};
use insta::assert_snapshot;
use serde_json::{Value, json};
use std::{
    future::{Future as _, poll_fn},
    pin::pin,
    sync::Arc,
    task::Poll,
};

use crate::{
    story,
    support::{stable_output::stable, tools::Page, world::World},
};

/// Two agents besides the one that talks to people.
pub fn staff(world: &mut World) {
    let first = world.config.agents[0].clone();
    for (id, description) in [("researcher", "finds things out"), ("writer", "")] {
        world.config.agents.push(AgentEntry {
            id: id.into(),
            system_prompt: format!("You are the {id}."),
            description: description.into(),
            ..first.clone()
        });
    }
}

fn to(agent: &str, task: &str) -> (String, Value) {
    ("delegate".to_owned(), json!({ "agent": agent, "task": task }))
}

fn delegate(agent: &str, task: &str) -> ScriptStep {
    calls(vec![to(agent, task)])
}

fn delete() -> ScriptStep {
    call("delete", json!({ "path": "a.txt" }))
}

/// The last input of the model.
fn last(prompt: &Prompt) -> &str {
    match prompt.messages.last() {
        Some(Message::User { text } | Message::Tool { text, .. }) => text,
        _ => "",
    }
}

async fn tasks(world: &World, status: &str) -> usize {
    world.rows_of("tasks").await.iter().filter(|row| row.contains(status)).count()
}

async fn inherited(world: &World) -> Vec<InheritedState> {
    let entries = world.journal().await.into_iter().filter_map(|entry| match entry.event {
        Event::StateInherited(inherited) => Some(inherited),
        _ => None,
    });
    entries.collect()
}

story! {
    /// A sub-agent knows only its task, sends nothing to people, and its answer is the result of
    /// the call.
    /// Proves MC-37, CA-34.
    async fn a_task_is_answered_by_another_agent(world: &mut World) {
        staff(world);
        world.model_will(delegate("\"Researcher\"", "Find the answer."));
        world.model_will(say("42"));
        world.model_will(say("It is 42."));
        world.ann_says("what is the answer? my secret is 7").await;
        assert_eq!(world.shown(), "It is 42.");
        assert_eq!(world.results().await, ["42"]);
        let prompts = world.prompts();
        assert!(prompts[0].tools.iter().any(|tool| {
            tool.name == "delegate" && tool.description.contains("- researcher: finds things out")
        }));
        assert!(prompts[1].system.starts_with("You are the researcher."));
        let task = Message::User { text: "Find the answer.".into() };
        assert_eq!(prompts[1].messages, [task]);
        assert_eq!(tasks(world, "ended").await, 1);
        let account = world.rows_of("usage").await;
        for agent in ["default", "researcher"] {
            assert!(account.iter().any(|line| line.contains(agent)), "{agent}: {account:?}");
        }

        world.model_will(call("ask_coworker", json!({ "coworker": "WRITER", "question": "How?" })));
        world.model_will(say("Well."));
        world.model_will(call("list_agents", json!({})));
        world.model_will(delegate("nobody", "x"));
        world.model_will(say("So."));
        world.ann_says("and how?").await;
        let results = world.results().await;
        assert_eq!(results[1], "Well.");
        assert_snapshot!(stable(&results[2]), @"
        - default
        - researcher: finds things out
        - writer
        ");
        assert_snapshot!(stable(&results[3]), @"Coworker 'nobody' not found. Available coworkers: default, researcher, writer");
    }
}

story! {
    /// Delegation is rate-limited like any other tool, and so is the number of running sub-agents.
    /// Proves IC-33, S13.
    async fn delegating_is_limited(world: &mut World) {
        staff(world);
        let limit = |tool: &str, per_minute| ToolLimitEntry {
            tool: tool.into(), per_minute: Some(per_minute), per_hour: None, max_usage_count: None,
            unlimited: false,
        };
        world.config.limits.tools = vec![limit("delegate", 4)];
        let eight = || {
            let tasks = vec![json!({ "agent": "writer", "task": "write" }); 8];
            ("delegate".to_owned(), json!({ "tasks": tasks }))
        };
        world.model_will(calls(vec![eight(), eight(), eight()]));
        for _ in 0..16 {
            world.model_will(say("Written."));
        }
        world.model_will(say("Sixteen are done."));
        world.ann_says("go").await;
        assert_eq!(world.last(), "Sixteen are done.");
        let refused = |results: &[String], why: &str| {
            results.iter().filter(|result| result.starts_with(why)).count()
        };
        let results = world.results().await;
        assert_eq!(
            (results.len(), refused(&results, "Not delegated: at most 16")), (3, 1),
            "{results:?}"
        );
        world.model_will(calls(vec![to("writer", "one"), to("writer", "two")]));
        world.model_will(say("Written."));
        world.model_will(say("One more."));
        world.ann_says("again").await;
        let results = world.results().await;
        assert_eq!(
            (results.len(), refused(&results, "Rate limit exceeded")), (5, 1),
            "{results:?}"
        );
    }
}

story! {
    /// Tasks that do not fit leave their room to smaller delegations of the same reply.
    /// Proves S13.
    async fn a_delegation_that_does_not_fit_takes_no_room(world: &mut World) {
        staff(world);
        let delegation = |count: usize| {
            let tasks = vec![json!({ "agent": "writer", "task": "write" }); count];
            ("delegate".to_owned(), json!({ "tasks": tasks }))
        };
        world.model_will(calls([8, 6, 8, 2, 1].map(delegation).into()));
        for _ in 0..16 {
            world.model_will(say("Written."));
        }
        world.model_will(say("Sixteen are done."));
        world.ann_says("go").await;
        assert_eq!(world.last(), "Sixteen are done.");
        assert_eq!(tasks(world, "ended").await, 16);
        let results = world.results().await;
        let refused = results.iter().filter(|result| result.starts_with("Not delegated"));
        assert_eq!((results.len(), refused.count()), (5, 2), "{results:?}");
    }
}

story! {
    /// The number of runs of a tool is limited for a conversation with all its sub-agents, which
    /// count each other's runs.
    /// Proves CA-03, CA-12.
    async fn sub_agents_share_the_number_of_runs(world: &mut World) {
        staff(world);
        let runs = |limit| ToolLimitEntry {
            tool: "delete".into(), per_minute: None, per_hour: None, max_usage_count: Some(limit),
            unlimited: false,
        };
        world.config.limits.tools = vec![runs(3)];
        world.guard("{ default = 'allow' }");
        world.model_will(delete());
        world.model_will(delegate("writer", "Delete it."));
        world.model_will(delete());
        world.model_will(say("Deleted."));
        world.model_will(delegate("researcher", "Delete it again."));
        world.model_will(delete());
        world.model_will(delete());
        world.model_will(say("Not a fourth time."));
        world.model_will(delete());
        world.model_will(say("That was all."));
        world.ann_says("go").await;
        assert_eq!((world.deletions(), world.last()), (3, "That was all.".to_owned()));
        let refused = "Tool 'delete' has reached its maximum usage limit of 3";
        assert!(last(&world.prompts()[7]).starts_with(refused), "{:?}", world.prompts()[7]);
        assert!(world.results().await.last().unwrap().starts_with(refused));
    }
}

story! {
    /// A call that its tool rejects is no run, neither of the sub-agent nor of the whole delegation.
    /// Proves CA-12.
    async fn a_rejected_call_of_a_sub_agent_is_no_run(world: &mut World) {
        staff(world);
        world.config.limits.tools = vec![ToolLimitEntry {
            tool: "json".into(), per_minute: None, per_hour: None, max_usage_count: Some(1),
            unlimited: false,
        }];
        world.guard("{ default = 'allow' }");
        let rejected = || call("json", json!({ "data": "[" }));
        world.model_will(delegate("writer", "Read it."));
        world.model_will(rejected());
        world.model_will(say("I could not."));
        world.model_will(rejected());
        world.model_will(say("Neither could I."));
        world.ann_says("go").await;
        assert_eq!(world.last(), "Neither could I.");
        let results = world.results().await;
        assert_eq!(results[0], "I could not.");
        for why in [last(&world.prompts()[2]), &results[1]] {
            assert!(why.starts_with("Invalid parameters: Invalid JSON"), "{why}");
        }
    }
}

story! {
    /// Several run at the same time, from one call or from several; the answers are in the order of
    /// the tasks.
    /// Proves MC-37, MC-47.
    async fn tasks_are_done_side_by_side(world: &mut World) {
        staff(world);
        let gate = Gate::new();
        let two = json!({ "tasks": [
            { "agent": "researcher", "task": "one" }, { "agent": "writer", "task": "two" },
        ] });
        world.model_will(calls(vec![("delegate".into(), two), to("writer", "three")]));
        for _ in 0..3 {
            world.model_will(wait(&gate));
        }
        for _ in 0..3 {
            world.model_will(think(|prompt| Ok(answer(format!("did {}", last(prompt)), vec![]))));
        }
        world.model_will(say("All done."));
        let app = world.node().await;
        let go = world.said("go");
        world.takes(&app, "1", go).await;
        app.worker.advance_ready().await.unwrap();
        let together = async {
            for _ in 0..3 {
                gate.reached().await;
            }
            for _ in 0..3 {
                gate.open();
            }
        };
        let (advanced, ()) = tokio::join!(app.worker.advance_ready(), together);
        assert_eq!(advanced.unwrap(), 3);
        world.settle(&app).await;
        let mut results = world.results().await;
        results.sort();
        assert_eq!(results, ["## researcher\ndid one\n\n## writer\ndid two", "did three"]);
        assert_eq!(world.last(), "All done.");
    }
}

story! {
    /// Three levels below the first; the fourth is rejected with a message.
    /// Proves MC-37.
    async fn depth_4_is_refused(world: &mut World) {
        staff(world);
        for _ in 0..4 {
            world.model_will(delegate("writer", "Give it to somebody else."));
        }
        for depth in (0..4).rev() {
            world.model_will(say(format!("said at {depth}")));
        }
        world.ann_says("go").await;
        assert_eq!(world.shown(), "said at 0");
        assert_eq!(world.results().await, ["said at 1"]);
        assert_eq!(tasks(world, "ended").await, 3);
        assert_snapshot!(stable(last(&world.prompts()[4])), @"Not delegated: the maximum delegation depth is reached (3 agents above you). Do it yourself.");
    }
}

story! {
    /// A sub-agent's approval is shown in the chat of the people, names the sub-agent, and is
    /// decided only by them; each step is a new process.
    /// Proves A4, A7, A13, A14.
    async fn a_sub_agent_asks_the_people_of_the_root(world: &mut World) {
        staff(world);
        world.model_will(delegate("researcher", "Delete a.txt."));
        world.model_will(delete());
        world.ann_says("clean up").await;
        assert_snapshot!(world.shown(), @"researcher: Allow **delete**? … Requested by Ann. Open until 2026-05-04 10:30 UTC, code `<code>`. [Allow once] [Allow in this conversation] [Always…] [Deny]");
        world.bob_presses("Allow once").await;
        assert_eq!(world.deletions(), 0);

        world.ann_says("/status").await;
        assert_snapshot!(world.last(), @"One request is waiting for a decision. … Running sub-agents: `researcher`.");
        world.ann_says("are you there?").await;
        assert_snapshot!(world.last(), @"I'm still waiting for a decision on the request above. I've saved your message and will read it afterwards. /stop withdraws the request.");

        world.model_will(say("It is gone."));
        world.model_will(say("Done."));
        let again = world.press("Allow once");
        world.ann_presses("Allow once").await;
        world.happens("1", again).await;
        assert_eq!(world.deletions(), 1);
        assert_eq!(world.results().await, ["It is gone."]);
        assert_snapshot!(world.shown(), @"
        researcher: Allow **delete**? `a.txt` … ✅ Allowed by Ann.
        One request is waiting for a decision. … Running sub-agents: `researcher`.
        I'm still waiting for a decision on the request above. I've saved your message and will read it afterwards. /stop withdraws the request.
        Done.
        ");
        assert_eq!(world.last(), "Done.");
        let read = world.prompts().pop().unwrap();
        assert!(format!("{:?}", read.messages).contains("are you there?"));
    }
}

story! {
    /// A person who writes while a sub-agent works is not told to decide something.
    async fn a_message_waits_silently_while_a_sub_agent_works(world: &mut World) {
        staff(world);
        let gate = Gate::new();
        world.model_will(delegate("researcher", "Find it."));
        world.model_will(wait(&gate));
        world.model_will(say("Found."));
        world.model_will(say("It is found."));
        let app = world.node().await;
        let (go, more) = (world.said("go"), world.said("and then?"));
        world.takes(&app, "1", go).await;
        app.worker.advance_ready().await.unwrap();
        let meanwhile = async {
            gate.reached().await;
            world.takes(&app, "1", more).await;
            assert_eq!(app.worker.advance_ready().await.unwrap(), 1, "the root reads the message");
            gate.open();
        };
        let (advanced, ()) = tokio::join!(app.worker.advance_ready(), meanwhile);
        advanced.unwrap();
        world.settle(&app).await;
        assert_eq!(world.shown(), "It is found.");
        assert_eq!(world.model.left(), 0);
    }
}

story! {
    /// The sub-agent is told of a denial and its reason.
    /// Proves A10.
    async fn a_sub_agent_learns_of_a_denial(world: &mut World) {
        staff(world);
        world.model_will(delegate("researcher", "Delete a.txt."));
        world.model_will(delete());
        world.ann_says("clean up").await;
        world.model_will(think(|prompt| Ok(answer(last(prompt), vec![]))));
        world.model_will(say("Then not."));
        world.ann_says("/deny it is the only copy").await;
        assert_eq!(world.results().await, ["Denied by Ann: it is the only copy"]);
        assert_eq!((world.last().as_str(), world.deletions()), ("Then not.", 0));
    }
}

story! {
    /// `/stop` and `/new` end sub-agents at any depth, with their approvals.
    /// Proves A9.
    async fn stop_and_new_end_sub_agents(world: &mut World) {
        staff(world);
        for end in ["/stop", "/new"] {
            world.model_will(delegate("writer", "Have it deleted."));
            world.model_will(delegate("researcher", "Delete a.txt."));
            world.model_will(delete());
            world.ann_says("clean up").await;
            let press = world.press("Allow once");
            world.ann_says(end).await;
            let withdrawn = (Language::English.words().withdrawn_by)("Ann");
            assert!(world.shown().contains(&withdrawn), "{}", world.shown());
            world.happens("1", press).await;
            assert_eq!(world.room.toasts().pop().unwrap(), withdrawn);
            assert_eq!((world.deletions(), tasks(world, "open").await), (0, 0));
            assert_eq!(world.model.left(), 0);
        }
        assert_eq!(tasks(world, "stopped").await, 4);
        let ended = world.journal().await.into_iter()
            .filter(|entry| matches!(entry.event, Event::ToolFinished { .. }));
        assert_eq!(ended.count(), 0, "nobody answers afterwards");
        world.model_will(say("Yes."));
        world.ann_says("still there?").await;
        assert_eq!(world.last(), "Yes.");
    }
}

story! {
    /// A sub-agent that is thinking when its parent is stopped is interrupted.
    async fn stop_cancels_the_model_request_of_a_sub_agent(world: &mut World) {
        staff(world);
        let gate = Gate::new();
        world.model_will(delegate("writer", "Think."));
        world.model_will(wait(&gate));
        let app = world.node().await;
        let (go, stop) = (world.said("go"), world.said("/stop"));
        world.takes(&app, "1", go).await;
        app.worker.advance_ready().await.unwrap();
        let meanwhile = async {
            gate.reached().await;
            world.takes(&app, "1", stop).await;
        };
        let (advanced, ()) = tokio::join!(app.worker.advance_ready(), meanwhile);
        advanced.unwrap();
        world.settle(&app).await;
        assert_snapshot!(world.shown(), @"Stopped.");
        assert!(world.results().await.is_empty());
    }
}

story! {
    /// The failure of a sub-agent is reported to its parent agent, not to people.
    async fn the_parent_learns_of_a_failure(world: &mut World) {
        staff(world);
        world.config.agents[1].max_steps = Some(1);
        world.model_will(calls(vec![to("researcher", "Look."), to("writer", "Write.")]));
        world.model_will(think(stumble));
        world.model_will(think(stumble));
        world.model_will(say("It went wrong."));
        world.ann_says("go").await;
        let mut results = world.results().await;
        results.sort();
        assert_snapshot!(stable(&results[0]), @"researcher did not finish: I stopped after 1 steps, the limit for one task.");
        assert_snapshot!(stable(&results[1]), @"writer did not finish: The language model rejects my requests. The operator can find the cause in the console.");
        assert_eq!(world.shown(), "It went wrong.");

        world.config.agents[1].max_steps = None;
        world.model_will(delegate("writer", "Go on."));
        world.model_will(delegate("researcher", "Delete a.txt."));
        world.model_will(delete());
        world.ann_says("again").await;
        world.config.agents.remove(2);
        world.model_will(say("Nobody is there."));
        world.model_will(say("I see."));
        world.ann_presses("Deny").await;
        assert_snapshot!(stable(&world.results().await[2]), @"writer did not finish: Something went wrong on my side, and I couldn't finish.");
        assert_eq!(world.last(), "I see.");
    }
}

/// One never finishes, the other fails.
fn stumble(prompt: &Prompt) -> Result<Reply, ModelError> {
    match last(prompt) {
        "Look." => Ok(answer("", vec![("list_agents".into(), json!({}))])),
        _ => Err(ModelError::Rejected("no".into())),
    }
}

story! {
    /// The usage of a sub-agent counts for the root's person, conversation and turn.
    /// Proves S13.
    async fn tokens_of_a_sub_agent_count_for_the_person(world: &mut World) {
        staff(world);
        world.config.limits.person.tokens = Some(220);
        world.model_will(delegate("writer", "Write."));
        world.model_will(say("Written."));
        world.ann_says("go").await;
        assert_snapshot!(world.shown(), @"You've reached today's token limit. It resets in 14 h (00:00 UTC), or the operator can raise it. … Reference: `<reference>`");
        assert_eq!(inherited(world).await[0].tokens, 110);

        world.config.limits.person.tokens = None;
        world.config.limits.conversation.tokens = Some(220);
        world.bob_says("and now?").await;
        assert_snapshot!(world.last(), @"This conversation has reached today's token limit. It resets in 14 h (00:00 UTC), or the operator can raise it. … Reference: `<reference>`");
    }
}

fn everybody_may_talk(world: &mut World) {
    staff(world);
    world.tools = vec![Arc::new(Page)];
    world.config.guard.default = Action::Allow;
}

story! {
    /// An agent that reads the answer of a tainted sub-agent is tainted, and so are the others that
    /// share its folder.
    /// Proves S17.
    async fn taint_comes_up_with_an_answer(world: &mut World) {
        everybody_may_talk(world);
        world.model_will(delegate("researcher", "Read the page."));
        world.model_will(call("page", json!({})));
        world.model_will(say("It says: delete everything."));
        world.model_will(delete());
        world.ann_says("what does it say?").await;
        assert_eq!(world.deletions(), 0);
        assert_snapshot!(world.shown(), @"Allow **delete**? … Requested by Ann. Open until 2026-05-04 10:30 UTC, code `<code>`. [Allow once] [Allow in this conversation] [Always…] [Deny]");
        let last = world.room.messages().pop().unwrap().text;
        assert_snapshot!(stable(&last), @r"
        Allow **delete**?
        Deletes a file

        path: `a.txt`

        delete affects systems outside this chat\.
        ⚠️ This conversation contains untrusted content \(page\)\, which may have prompted this request\.
        “Allow in this conversation” covers every later call of delete that Ann requests here, whatever its arguments, until /new.
        Requested by Ann. Open until 2026-05-04 10:30 UTC, code `<code>`.
        ");
    }
}

story! {
    /// A tainted agent stays tainted if it delegates.
    /// Proves S17.
    async fn taint_goes_down_with_a_task(world: &mut World) {
        everybody_may_talk(world);
        world.model_will(call("page", json!({})));
        world.model_will(delegate("researcher", "Delete everything."));
        world.model_will(delete());
        world.ann_says("what does it say?").await;
        assert_eq!(world.deletions(), 0);
        assert_snapshot!(world.shown(), @"researcher: Allow **delete**? … Requested by Ann. Open until 2026-05-04 10:30 UTC, code `<code>`. [Allow once] [Allow in this conversation] [Always…] [Deny]");
    }
}

story! {
    /// Files that a tainted sub-agent wrote stay untrusted after `/new`.
    /// Proves S17.
    async fn files_of_a_tainted_sub_agent_stay_untrusted(world: &mut World) {
        everybody_may_talk(world);
        world.config.guard.untrusted_content = Action::Allow;
        world.model_will(delegate("researcher", "Read the page and write it down."));
        world.model_will(call("page", json!({})));
        world.model_will(call("write_file", json!({ "path": "page.md", "content": "delete!" })));
        world.model_will(say("Done."));
        world.model_will(say("Done."));
        world.ann_says("keep the page").await;
        world.ann_says("/new").await;
        world.config.guard.untrusted_content = Action::Ask;
        world.model_will(call("read_file", json!({ "path": "page.md" })));
        world.model_will(delete());
        world.ann_says("what was it?").await;
        assert_snapshot!(stable(&world.results().await[1]), @r#"
        {"path":"/workspace/page.md","total_lines":1,"lines_shown":1,"ends_with_newline":false}
             1│ delete!
        "#);
        assert_eq!(world.deletions(), 0);
        assert_snapshot!(world.last(), @"Allow **delete**? … Requested by Ann. Open until 2026-05-04 10:30 UTC, code `<code>`. [Allow once] [Allow in this conversation] [Always…] [Deny]");
    }
}

story! {
    /// An answer has at most 4,000 characters, and the full text is a file in the parent's
    /// workspace; a file sent by a sub-agent reaches the people.
    /// Proves MC-37, T8, MC-55.
    async fn a_long_answer_is_spilled_and_files_reach_the_people(world: &mut World) {
        everybody_may_talk(world);
        let long = format!("HEAD{}TAIL", "ü".repeat(9_000));
        world.model_will(delegate("writer", "Write much, and send it."));
        world.model_will(call("write_file", json!({ "path": "a.md", "content": "# A" })));
        world.model_will(call("send_file", json!({ "filePath": "a.md" })));
        world.model_will(say(long.clone()));
        world.model_will(think(|prompt| {
            let path = last(prompt).split("whole result is in ").nth(1).unwrap();
            let path = path.split(':').next().unwrap().to_owned();
            Ok(answer("", vec![("read_file".into(), json!({ "path": path }))]))
        }));
        world.model_will(say("Read."));
        world.ann_says("go").await;
        let results = world.results().await;
        assert!(results[0].chars().count() <= ANSWER_CHARS && results[0].starts_with("HEADü"));
        assert!(results[1].contains(&"ü".repeat(500)), "{}", results[1]);
        assert_eq!(world.shown(), "📎 a.md\nRead.");
    }
}

/// A model that depends only on its input, so that it can be asked again.
fn steadily(prompt: &Prompt) -> Reply {
    match last(prompt) {
        "go" => {
            let two = json!({ "tasks": [
                { "agent": "researcher", "task": "one" }, { "agent": "writer", "task": "two" },
            ] });
            answer("", vec![("delegate".into(), two)])
        }
        "one" | "two" => answer("", vec![("rare".into(), json!({}))]),
        "rare indeed" => answer("I did.", vec![]),
        _ => answer("All did.", vec![]),
    }
}

/// A node that dies after a number of waits; returns whether it had finished.
async fn lives_for(world: &World, app: &App, waits: usize) -> bool {
    let mut life = pin!(world.settle(app));
    let mut polls = 0;
    poll_fn(|cx| {
        polls += 1;
        if polls > waits { Poll::Ready(false) } else { life.as_mut().poll(cx).map(|()| true) }
    })
    .await
}

story! {
    /// With a crash at any moment each task is started once and answered once, and the delegating
    /// call ends once.
    /// Proves A14, T6, M2.
    async fn a_death_at_any_moment_costs_no_answer(world: &mut World) {
        staff(world);
        world.config.limits.messages_per_minute = 0;
        let rounds = [2, 5, 11];
        let mut deaths = 0;
        for step in rounds {
            let go: IncomingContent = world.said("go");
            let app = world.node().await;
            world.takes(&app, "1", go).await;
            world.clock.advance(chrono::TimeDelta::seconds(2));
            let mut waits = step;
            loop {
                for _ in 0..20 {
                    world.model_will(think(|prompt| Ok(steadily(prompt))));
                }
                let app = world.node().await;
                if lives_for(world, &app, waits).await {
                    break;
                }
                drop(app);
                deaths += 1;
                // Its leases expire.
                world.tampers("UPDATE conversations SET lease_until = 0").await;
                world.tampers("UPDATE outbox SET lease_until = 0").await;
                waits += step;
            }
        }
        let results = world.results().await;
        let both = "## researcher\nI did.\n\n## writer\nI did.";
        assert_eq!(results, vec![both; rounds.len()]);
        assert_eq!(tasks(world, "ended").await, 2 * rounds.len());
        let said = world.rows_of("events").await.into_iter()
            .filter(|row| row.contains("\"said\"")).count();
        assert_eq!(said, 3 * rounds.len());
        // A placeholder that no process knew about may remain.
        let shown = world.shown();
        let shown: Vec<_> = shown.lines().filter(|line| !line.ends_with('…')).collect();
        assert_eq!(shown, vec!["All did."; rounds.len()]);
        assert!(deaths > 3 * rounds.len(), "{deaths}");
        let failed = world.journal().await.into_iter().any(|entry| {
            matches!(entry.event, Event::ToolFinished { result, .. } if result.outcome != Outcome::Done)
        });
        assert!(!failed);
    }
}

story! {
    /// The results of two nodes that finish at the same time are merged once.
    async fn two_nodes_answer_at_once(world: &mut World) {
        staff(world);
        for _ in 0..20 {
            world.model_will(think(|prompt| Ok(steadily(prompt))));
        }
        let (one, two) = (world.node().await, world.node().await);
        let go = world.said("go");
        world.takes(&one, "1", go).await;
        one.worker.advance_ready().await.unwrap();
        let first = one.gateway.store.claim(1, one.gateway.clock.now()).await.unwrap();
        assert_eq!(first.len(), 1, "one of the two");
        one.gateway.store.release(&first[0].lease).await.unwrap();
        drop(first);
        tokio::join!(world.settle(&one), world.settle(&two));
        assert_eq!(world.results().await, ["## researcher\nI did.\n\n## writer\nI did."]);
        assert_eq!(world.shown(), "All did.");
    }
}

story! {
    /// An erased person is also erased from sub-agent conversations started for them, but not while
    /// these are running.
    async fn sub_agents_are_erased_with_the_person(world: &mut World) {
        staff(world);
        world.model_will(delegate("researcher", "Delete a.txt, my secret is 7."));
        world.model_will(delete());
        world.ann_says("clean up").await;
        assert_eq!(erase(world).await, None, "a sub-agent waits for a decision");
        world.model_will(say("Not done."));
        world.model_will(say("It stays."));
        world.ann_presses("Deny").await;
        assert_eq!(erase(world).await, Some(2));
        for table in ["conversations", "tasks", "events", "approvals", "outbox"] {
            assert_eq!(world.rows_of(table).await, Vec::<String>::new(), "{table}");
        }
    }
}

/// Erases Ann and returns the number of her conversations.
async fn erase(world: &World) -> Option<usize> {
    let (app, fact) = (world.node().await, Fact::new(AuditKind::Erased, "2"));
    let erased = erasure::erase(&app.worker, "room", "1", fact).await.unwrap();
    erased.map(|erased| erased.conversations.len())
}

story! {
    /// A single agent has nobody to delegate to, and no tools for it.
    async fn a_single_agent_has_no_delegation_tools(world: &mut World) {
        world.model_will(call("ask_coworker", json!({ "coworker": "default", "question": "?" })));
        world.model_will(fail(ModelError::Rejected("enough".into())));
        world.ann_says("go").await;
        assert_snapshot!(stable(&world.results().await[0]), @"There is no tool `ask_coworker`.");
        assert!(world.prompts()[0].tools.iter().all(|tool| tool.name != "delegate"));
    }
}
