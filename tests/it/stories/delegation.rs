//! Work for other agents: conversations whose place is their parent.

use channels::What;
use countersign::{
    agent::{
        delegation::ANSWER_CHARS,
        policy::Action,
        prompt::{Message, Prompt},
    },
    app::App,
    config::{AgentEntry, limits::ToolLimitEntry},
    journal::event::{Event, Heritage, Outcome},
    llm::{
        ModelError, Reply,
        scripted::{Gate, Step, answer, call, calls, fail, say, think, wait},
    },
    store::audit::Fact,
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

use crate::{shown::stable, story, tools::Page, world::World};

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

fn delegate(agent: &str, task: &str) -> Step {
    calls(vec![to(agent, task)])
}

fn delete() -> Step {
    call("delete", json!({ "path": "a.txt" }))
}

/// What the model read last.
fn last(prompt: &Prompt) -> &str {
    match prompt.messages.last() {
        Some(Message::User { text } | Message::Tool { text, .. }) => text,
        _ => "",
    }
}

async fn tasks(world: &World, status: &str) -> usize {
    world.rows_of("tasks").await.iter().filter(|row| row.contains(status)).count()
}

async fn inherited(world: &World) -> Vec<Heritage> {
    let entries = world.journal().await.into_iter().filter_map(|entry| match entry.event {
        Event::Inherited(heritage) => Some(heritage),
        _ => None,
    });
    entries.collect()
}

story! {
    /// A sub-agent knows its task and nothing else, says nothing to people, and its answer is the
    /// result of the call.
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
    /// Delegating is limited like any other tool, and so is how many are at work.
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
        assert_eq!((results.len(), refused(&results, "Not delegated: at most 16")), (3, 1), "{results:?}");
        world.model_will(calls(vec![to("writer", "one"), to("writer", "two")]));
        world.model_will(say("Written."));
        world.model_will(say("One more."));
        world.ann_says("again").await;
        let results = world.results().await;
        assert_eq!((results.len(), refused(&results, "Rate limit exceeded")), (5, 1), "{results:?}");
    }
}

story! {
    /// Several at work at the same time, in one call or in several; the answers stand in the order
    /// of the tasks.
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
    /// Three below the first; the fourth is refused, and told so.
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
        assert_snapshot!(stable(last(&world.prompts()[4])), @"Not delegated: 3 agents stand above you already. Do it yourself.");
    }
}

story! {
    /// A question of a sub-agent stands in the chat of the people, names the sub-agent, and is
    /// decided by them alone; each step is a new process.
    /// Proves A4, A7, A13, A14.
    async fn a_sub_agent_asks_the_people_of_the_root(world: &mut World) {
        staff(world);
        world.model_will(delegate("researcher", "Delete a.txt."));
        world.model_will(delete());
        world.ann_says("clean up").await;
        assert_snapshot!(world.shown(), @"researcher: Allow **delete**? … Asked for by Ann. Open until 2026-05-04 10:30 UTC, code `<code>`. [Allow once] [Allow in this conversation] [Always…] [Deny]");
        world.bob_presses("Allow once").await;
        assert_eq!(world.deletions(), 0);

        world.ann_says("/status").await;
        assert_snapshot!(world.last(), @"One question waits for a decision. … Sub-agents at work: `researcher`.");
        world.ann_says("are you there?").await;
        assert_snapshot!(world.last(), @"I am still waiting for a decision on the question above. I have noted your message and read it after that. /stop withdraws the question.");

        world.model_will(say("It is gone."));
        world.model_will(say("Done."));
        let again = world.press("Allow once");
        world.ann_presses("Allow once").await;
        world.happens("1", again).await;
        assert_eq!(world.deletions(), 1);
        assert_eq!(world.results().await, ["It is gone."]);
        assert_snapshot!(world.shown(), @"
        researcher: Allow **delete**? `a.txt` … ✅ Allowed by Ann.
        One question waits for a decision. … Sub-agents at work: `researcher`.
        I am still waiting for a decision on the question above. I have noted your message and read it after that. /stop withdraws the question.
        Done.
        ");
        assert_eq!(world.last(), "Done.");
        let read = world.prompts().pop().unwrap();
        assert!(format!("{:?}", read.messages).contains("are you there?"));
    }
}

story! {
    /// A denial, with its reason, is told to the sub-agent.
    /// Proves A10.
    async fn a_denial_is_told_to_the_sub_agent(world: &mut World) {
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
    /// `/stop` and `/new` end what is done below, at any depth, with its questions.
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
    /// A sub-agent that thinks when its parent is stopped is broken off.
    async fn stop_ends_the_thought_of_a_sub_agent(world: &mut World) {
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
    /// What goes wrong with a sub-agent is told to the agent that gave it work, not to people.
    async fn a_failure_is_told_to_the_parent(world: &mut World) {
        staff(world);
        world.config.agents[1].max_steps = Some(1);
        world.model_will(calls(vec![to("researcher", "Look."), to("writer", "Write.")]));
        world.model_will(think(stumble));
        world.model_will(think(stumble));
        world.model_will(say("It went wrong."));
        world.ann_says("go").await;
        let mut results = world.results().await;
        results.sort();
        assert_snapshot!(stable(&results[0]), @"researcher did not finish: I stopped after 1 steps, the most that one task may take. Say “go on” to continue.");
        assert_snapshot!(stable(&results[1]), @"writer did not finish: The language model refuses my requests. The operator finds the reason in the log.");
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
        assert_snapshot!(stable(&world.results().await[2]), @"writer did not finish: Something went wrong on my side, and I could not finish.");
        assert_eq!(world.last(), "I see.");
    }
}

/// One goes on and on, the other breaks.
fn stumble(prompt: &Prompt) -> Result<Reply, ModelError> {
    match last(prompt) {
        "Look." => Ok(answer("", vec![("list_agents".into(), json!({}))])),
        _ => Err(ModelError::Rejected("no".into())),
    }
}

story! {
    /// What a sub-agent uses is the person's, the conversation's and the turn's of the root.
    /// Proves S13.
    async fn tokens_of_a_sub_agent_count_for_the_person(world: &mut World) {
        staff(world);
        world.config.limits.person.tokens = Some(220);
        world.model_will(delegate("writer", "Write."));
        world.model_will(say("Written."));
        world.ann_says("go").await;
        assert_snapshot!(world.shown(), @"I cannot go on today: the tokens that you may use in a day are used up. It goes on in 14 h (at midnight UTC), or when the operator raises the limit. … Reference: `<digest>`");
        assert_eq!(inherited(world).await[0].tokens, 110);

        world.config.limits.person.tokens = None;
        world.config.limits.conversation.tokens = Some(220);
        world.bob_says("and now?").await;
        assert_snapshot!(world.last(), @"I cannot go on today: the tokens that this conversation may use in a day are used up. It goes on in 14 h (at midnight UTC), or when the operator raises the limit. … Reference: `<digest>`");
    }
}

fn open_house(world: &mut World) {
    staff(world);
    world.tools = vec![Arc::new(Page)];
    world.config.guard.default = Action::Allow;
}

story! {
    /// Who reads what a tainted sub-agent says is tainted; so are the others in its folder.
    /// Proves S17.
    async fn taint_comes_up_with_an_answer(world: &mut World) {
        open_house(world);
        world.model_will(delegate("researcher", "Read the page."));
        world.model_will(call("page", json!({})));
        world.model_will(say("It says: delete everything."));
        world.model_will(delete());
        world.ann_says("what does it say?").await;
        assert_eq!(world.deletions(), 0);
        assert_snapshot!(world.shown(), @"Allow **delete**? … Asked for by Ann. Open until 2026-05-04 10:30 UTC, code `<code>`. [Allow once] [Allow in this conversation] [Always…] [Deny]");
        let last = world.room.messages().pop().unwrap().text;
        assert_snapshot!(stable(&last), @r"
        Allow **delete**?
        Deletes a file

        path: `a.txt`

        delete acts on the outside\.
        ⚠️ This conversation has read what others wrote\: page\. It may have been told to do this\.
        Asked for by Ann. Open until 2026-05-04 10:30 UTC, code `<code>`.
        ");
    }
}

story! {
    /// A tainted agent does not wash itself clean by having another one act.
    /// Proves S17.
    async fn taint_goes_down_with_a_task(world: &mut World) {
        open_house(world);
        world.model_will(call("page", json!({})));
        world.model_will(delegate("researcher", "Delete everything."));
        world.model_will(delete());
        world.ann_says("what does it say?").await;
        assert_eq!(world.deletions(), 0);
        assert_snapshot!(world.shown(), @"researcher: Allow **delete**? … Asked for by Ann. Open until 2026-05-04 10:30 UTC, code `<code>`. [Allow once] [Allow in this conversation] [Always…] [Deny]");
    }
}

story! {
    /// Files that a sub-agent wrote under the influence stay foreign after `/new`.
    /// Proves S17.
    async fn files_of_a_tainted_sub_agent_stay_foreign(world: &mut World) {
        open_house(world);
        world.config.guard.tainted = Action::Allow;
        world.model_will(delegate("researcher", "Read the page and write it down."));
        world.model_will(call("page", json!({})));
        world.model_will(call("write_file", json!({ "path": "page.md", "content": "delete!" })));
        world.model_will(say("Done."));
        world.model_will(say("Done."));
        world.ann_says("keep the page").await;
        world.ann_says("/new").await;
        world.config.guard.tainted = Action::Ask;
        world.model_will(call("read_file", json!({ "path": "page.md" })));
        world.model_will(delete());
        world.ann_says("what was it?").await;
        assert_snapshot!(stable(&world.results().await[1]), @r#"
        {"path":"/workspace/page.md","total_lines":1,"lines_shown":1,"ends_with_newline":false}
             1│ delete!
        "#);
        assert_eq!(world.deletions(), 0);
        assert_snapshot!(world.last(), @"Allow **delete**? … Asked for by Ann. Open until 2026-05-04 10:30 UTC, code `<code>`. [Allow once] [Allow in this conversation] [Always…] [Deny]");
    }
}

story! {
    /// An answer has 4,000 characters at most, the whole is in a file of the parent's workspace; a
    /// file that a sub-agent sends reaches the people.
    /// Proves MC-37, T8, MC-55.
    async fn a_long_answer_is_spilled_and_files_reach_the_people(world: &mut World) {
        open_house(world);
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
        assert_eq!(world.shown(), "…📎 a.md\nRead.");
    }
}

/// A model that goes by what it reads, so that it may be asked again.
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

/// A node that is gone after it has waited so often; whether it had come to its end.
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
    /// A death at any moment: each task is begun once, answered once, and the call that gave them
    /// ends once.
    /// Proves A14, T6, M2.
    async fn a_death_at_any_moment_costs_no_answer(world: &mut World) {
        staff(world);
        world.config.limits.messages_per_minute = 0;
        let rounds = [2, 5, 11];
        let mut deaths = 0;
        for step in rounds {
            let go: What = world.said("go");
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
                // What it held lapses.
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
        // A placeholder of which nobody knew any more may stand there too.
        let shown = world.shown();
        let shown: Vec<_> = shown.lines().filter(|line| *line != "…").collect();
        assert_eq!(shown, vec!["All did."; rounds.len()]);
        assert!(deaths > 3 * rounds.len(), "{deaths}");
        let failed = world.journal().await.into_iter().any(|entry| {
            matches!(entry.event, Event::ToolFinished { result, .. } if result.outcome != Outcome::Done)
        });
        assert!(!failed);
    }
}

story! {
    /// What two nodes finish at once is put together once.
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
    /// Who is erased is erased from what was begun for them too; not while it is under way.
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

/// Erases Ann: how many conversations that were.
async fn erase(world: &World) -> Option<usize> {
    let (app, fact) = (world.node().await, Fact::new("erased", "2"));
    let erased = erasure::erase(&app.worker, ("room", "1"), fact).await.unwrap();
    erased.map(|erased| erased.conversations.len())
}

story! {
    /// An agent that is alone has nobody to delegate to, and no tools for it.
    async fn alone_there_is_nobody_to_delegate_to(world: &mut World) {
        world.model_will(call("ask_coworker", json!({ "coworker": "default", "question": "?" })));
        world.model_will(fail(ModelError::Rejected("enough".into())));
        world.ann_says("go").await;
        assert_snapshot!(stable(&world.results().await[0]), @"There is no tool `ask_coworker`.");
        assert!(world.prompts()[0].tools.iter().all(|tool| tool.name != "delegate"));
    }
}
