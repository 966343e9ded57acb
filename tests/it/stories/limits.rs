//! Limits per minute, hour, day and conversation.

use chrono::TimeDelta;
use countersign::testing::{
    agent::{catalog::Rate, policy::Action},
    app::App,
    config::{limits::ToolLimitEntry, models::ModelEntry},
    crash,
    journal::{event::Event, role::Role},
    scripted::{Gate, ScriptedModel, call, calls, say, wait},
    store::usage::{self, RatedCall, spent::UsageScope},
    texts::Language,
    worker::maintenance::{self, Round},
};
use futures::future::join_all;
use insta::assert_snapshot;
use serde_json::json;
use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use crate::{
    stories::delegation,
    story,
    support::{process::PATIENCE, stable_output::stable, world::World},
};

fn limit(tool: &str) -> ToolLimitEntry {
    let tool = tool.to_owned();
    ToolLimitEntry {
        tool,
        per_minute: None,
        per_hour: None,
        max_usage_count: None,
        unlimited: false,
    }
}

fn delete() -> countersign::testing::scripted::ScriptStep {
    call("delete", json!({ "path": "a.txt" }))
}

story! {
    /// The limit holds across restarts, per person and tool; rejected calls do not count, and the
    /// model is told when to retry.
    /// Proves IC-23, IC-30, IC-32, CV-10.
    async fn a_rate_limit_outlives_a_restart(world: &mut World) {
        world.config.guard.default = Action::Allow;
        world.config.limits.tools =
            vec![ToolLimitEntry { per_minute: Some(2), ..limit("del*") }];
        for _ in 0..2 {
            world.model_will(delete());
            world.model_will(say("Done."));
            world.ann_says("delete it").await;
        }
        assert_eq!(world.deletions(), 2);
        world.model_will(calls(vec![
            ("delete".into(), json!({ "path": "a.txt" })),
            ("rare".into(), json!({})),
        ]));
        world.model_will(say("Later, then."));
        world.ann_says("and again").await;
        assert_eq!(world.deletions(), 2);
        let results = world.results().await;
        assert!(results.contains(&"Rate limit exceeded: try again in 60 s".to_owned()), "{results:?}");
        assert!(results.contains(&"rare indeed".to_owned()), "another tool is unaffected");

        world.model_will(delete());
        world.model_will(say("Done."));
        world.bob_says("delete it").await;
        assert_eq!(world.deletions(), 3, "another person is unaffected");

        world.clock.advance(TimeDelta::seconds(61));
        world.model_will(delete());
        world.model_will(say("Done."));
        world.ann_says("now?").await;
        assert_eq!(world.deletions(), 4);
    }
}

story! {
    /// Of a hundred simultaneous calls on two nodes, sixty are admitted.
    /// Proves IC-34.
    async fn two_nodes_share_one_limit(world: &mut World) {
        let (one, two) = (world.node().await, world.node().await);
        let now = "2026-05-04T10:00:00Z".parse().unwrap();
        let asking = (0..100).map(|n| {
            let store = if n % 2 == 0 { &one.gateway.store } else { &two.gateway.store };
            async move {
                let calls = vec![RatedCall { tool: "x".to_owned(), rate: Rate::default() }];
                store.admit("room/1", calls, now).await.unwrap().remove(0).is_ok()
            }
        });
        let admitted = join_all(asking).await.into_iter().filter(|admitted| *admitted).count();
        assert_eq!(admitted, 60);
    }
}

story! {
    /// The twenty-first write within a minute is rejected; invalid calls do not count.
    /// Proves FO-13.
    async fn the_twenty_first_write_in_a_minute_is_refused(world: &mut World) {
        world.config.guard.default = Action::Allow;
        let write = |n: i32| ("write_file".to_owned(), json!({ "path": format!("{n}.txt"), "content": "x" }));
        let outside = ("write_file".to_owned(), json!({ "path": "../x", "content": "x" }));
        world.model_will(calls((0..12).map(write).chain([outside]).collect()));
        world.model_will(calls((12..21).map(write).collect()));
        world.model_will(say("All but one."));
        world.ann_says("write them").await;
        let results = world.results().await;
        let limited = results.iter().filter(|r| r.starts_with("Rate limit exceeded")).count();
        assert_eq!((results.len(), limited), (22, 1), "{results:#?}");
        assert!(results.contains(&"Path not allowed: ../x".to_owned()));
    }
}

story! {
    /// Calls before an approval run once, immediately; the call of the approval runs after the
    /// decision, and nothing runs again.
    /// Proves MC-49.
    async fn the_calls_around_a_question_run_once(world: &mut World) {
        world.model_will(calls(vec![
            ("rare".into(), json!({})),
            ("delete".into(), json!({ "path": "a.txt" })),
            ("write_file".into(), json!({ "path": "b.txt", "content": "x" })),
        ]));
        world.ann_says("all three").await;
        assert_eq!(world.results().await, ["rare indeed"]);
        world.ann_presses("Allow once").await;
        world.model_will(say("Done."));
        world.ann_presses("Allow once").await;
        let results = world.results().await;
        assert_eq!((results.len(), world.deletions()), (3, 1), "{results:?}");
    }
}

story! {
    /// `max_usage_count`: simultaneous calls count like sequential ones; `/new` resets the count.
    /// Proves CA-03, CA-12.
    async fn a_tool_may_run_so_often_in_a_conversation(world: &mut World) {
        world.config.limits.tools =
            vec![ToolLimitEntry { max_usage_count: Some(2), ..limit("rare") }];
        let rare = |n: usize| (0..n).map(|_| ("rare".to_owned(), json!({}))).collect::<Vec<_>>();
        world.model_will(calls(rare(3)));
        world.model_will(say("Twice."));
        world.ann_says("do it three times").await;
        let results = world.results().await;
        assert_eq!(results.iter().filter(|r| *r == "rare indeed").count(), 2, "{results:?}");
        let refused: Vec<_> = results.iter().filter(|r| *r != "rare indeed").collect();
        assert_snapshot!(stable(refused[0]), @"Tool 'rare' has reached its maximum usage limit of 2 times and cannot be used anymore in this conversation. Continue without it; the person can start a new conversation with /new.");
        world.ann_says("/new").await;
        world.model_will(calls(rare(1)));
        world.model_will(say("Again."));
        world.ann_says("and now").await;
        assert_eq!(world.results().await.iter().filter(|r| *r == "rare indeed").count(), 3);
    }
}

story! {
    /// The same call with the same result: the model is told, then the turn ends.
    /// Proves S13, CA-23.
    async fn repeating_the_same_calls_ends_the_turn(world: &mut World) {
        for _ in 0..5 {
            world.model_will(call("rare", json!({})));
        }
        world.ann_says("look").await;
        let results = world.results().await;
        assert_eq!(results.iter().filter(|r| *r == "rare indeed").count(), 3);
        assert_snapshot!(stable(&results[3]), @"I just used the rare tool with the same input. I need to try a different approach or use a different tool. (It has given the same result 3 times, and was not run again.)");
        assert_snapshot!(world.shown(), @"I stopped because rare kept giving the same result. Please tell me how to continue. … Reference: `<reference>`");
        world.model_will(say("I can still talk."));
        world.ann_says("and now?").await;
        assert_eq!(world.last(), "I can still talk.");
    }
}

story! {
    /// Daily tokens, money and messages, per conversation, per person and in total.
    /// Proves S13.
    async fn a_budget_applies_to_one_day(world: &mut World) {
        type Set = fn(&mut countersign::testing::config::Config);
        let sets: [Set; 4] = [
            |c| c.limits.conversation.tokens = Some(200),
            |c| c.limits.person.tokens = Some(200),
            |c| c.limits.all.messages = Some(2),
            |c| c.limits.person.cost = Some(0.000_5),
        ];
        world.config.models[0].input_price = 2.0;
        world.config.models[0].output_price = 10.0;
        let unlimited = world.config.limits.clone();
        let mut refusals = vec![];
        for set in sets {
            set(&mut world.config);
            for _ in 0..2 {
                world.model_will(say("Yes."));
                world.ann_says("hello").await;
                assert_eq!(world.last(), "Yes.", "{refusals:?}");
            }
            world.ann_says("hello").await;
            refusals.push(world.last());
            world.config.limits = unlimited.clone();
            world.clock.advance(TimeDelta::days(1));
        }
        assert_snapshot!(refusals.join("\n"), @"
        This conversation has reached today's token limit. It resets in 14 h (00:00 UTC), or the operator can raise it. … Reference: `<reference>`
        You've reached today's token limit. It resets in 14 h (00:00 UTC), or the operator can raise it. … Reference: `<reference>`
        All users together have reached today's message limit. It resets in 14 h (00:00 UTC), or the operator can raise it. … Reference: `<reference>`
        You've reached today's spending limit. It resets in 14 h (00:00 UTC), or the operator can raise it. … Reference: `<reference>`
        ");
        let account = account(&world.node().await).await;
        assert_eq!(account.len(), 4, "a line a day");
        assert_eq!(account[0].2, 2 * (100 * 2 + 10 * 10), "millionths");
    }
}

story! {
    /// Each message of a person counts once, however many requests its answer takes. The tasks of
    /// sub-agents are no messages.
    /// Proves S13.
    async fn a_message_counts_once(world: &mut World) {
        delegation::staff(world);
        world.model_will(call("rare", json!({})));
        let question = json!({ "coworker": "researcher", "question": "?" });
        world.model_will(call("ask_coworker", question));
        world.model_will(say("An answer."));
        world.model_will(say("Done."));
        let app = world.node().await;
        for text in ["look it up", "and ask the researcher"] {
            let said = world.said(text);
            world.takes(&app, "1", said).await;
        }
        world.settle(&app).await;
        assert_eq!((world.last().as_str(), world.prompts().len()), ("Done.", 4));
        let spent = app.gateway.store.spent(UsageScope::All, world.clock_now()).await.unwrap();
        assert_eq!(spent.messages, 2);
    }
}

story! {
    /// Usage is charged at the price of the model that was chosen in the conversation.
    /// Proves S13.
    async fn each_model_has_its_price(world: &mut World) {
        let main = &mut world.config.models[0];
        (main.input_price, main.output_price) = (2.0, 10.0);
        let dear = ModelEntry { id: "dear".into(), input_price: 20.0, output_price: 100.0, ..main.clone() };
        world.config.models.push(dear);
        world.more_models = vec![Arc::new(ScriptedModel::new("dear"))];
        world.settings.roles = [("1".into(), Role::Operator)].into();
        world.model_will(say("Yes."));
        world.ann_says("hello").await;
        world.ann_says("/model dear").await;
        world.more_models[0].will(say("Indeed."));
        world.ann_says("and again?").await;
        let account = account(&world.node().await).await;
        let costs: Vec<_> = account.iter().map(|(_, name, cost)| (name.as_str(), *cost)).collect();
        assert_eq!(costs, [("dear", 100 * 20 + 10 * 100), ("main", 100 * 2 + 10 * 10)]);
    }
}

story! {
    /// The account is kept as long as the audit.
    async fn old_days_leave_the_account(world: &mut World) {
        world.config.audit.retention = Some("15d".into());
        for _ in 0..2 {
            world.model_will(say("Yes."));
            world.ann_says("hello").await;
            world.clock.advance(TimeDelta::days(10));
        }
        let app = world.node().await;
        assert_eq!(account(&app).await.len(), 2);
        maintenance::run_once(&app.worker, &mut Round::default()).await.unwrap();
        assert_eq!(account(&app).await.len(), 1);
    }
}

async fn account(app: &App) -> Vec<(String, String, i64)> {
    let since = chrono::DateTime::UNIX_EPOCH;
    let lines = app
        .gateway
        .store
        .read(move |tx| Box::pin(async move { usage::account(tx, since).await }))
        .await
        .unwrap();
    lines.into_iter().map(|line| (line.person, line.name, line.cost_micros)).collect()
}

story! {
    /// Tool run time: the model is told, and continues without tools.
    /// Proves S13, CV-11.
    async fn the_time_of_tools_is_limited(world: &mut World) {
        world.config.limits.all.tool_minutes = Some(0);
        world.model_will(call("rare", json!({})));
        world.model_will(say("Without it, then."));
        world.ann_says("look").await;
        assert_eq!(world.last(), "Without it, then.");
        assert_snapshot!(stable(&world.results().await[0]), @"Action budget exhausted: today's time for tools is used up. Try again in 14 h. Continue without tools, or tell the person.");
    }
}

story! {
    /// A flood of messages is rejected with a single notice; others are not affected, and `/stop`
    /// still works.
    /// Proves S13.
    async fn a_flood_is_refused_with_a_word(world: &mut World) {
        world.config.limits.messages_per_minute = 3;
        let app = world.node().await;
        for n in 0..50 {
            let said = world.said(&format!("message {n}"));
            world.takes(&app, "1", said).await;
        }
        let said = world.said("me too");
        world.takes(&app, "2", said).await;
        let taken: Vec<_> = world.journal().await.into_iter().filter_map(|entry| match entry.event {
            Event::Said { text, .. } => Some(text),
            _ => None,
        }).collect();
        assert_eq!(taken, ["message 0", "message 1", "message 2", "me too"]);
        world.model_will(say("I read three."));
        world.settle(&app).await;
        assert_snapshot!(world.shown(), @"
        You're sending messages too quickly, so I ignored your last one. Try again in 21 s.
        I read three.
        ");
        world.clock.advance(TimeDelta::seconds(21));
        world.model_will(say("Welcome back."));
        world.ann_says("again").await;
        assert_eq!(world.last(), "Welcome back.");
    }
}

story! {
    /// A process that was paused for longer than its lease after it recorded the start of a call
    /// does not run the call.
    /// Proves T6, I3.
    async fn a_worker_that_was_paused_does_not_run_what_is_anothers(world: &mut World) {
        world.config.guard.default = Action::Allow;
        let (app, there) = (world.node().await, world.node().await.gateway.store.clone());
        let (here, other, now) = (app.gateway.store.clone(), there.clone(), world.clock_now());
        let taken = Arc::new(AtomicBool::new(false));
        let is_taken = taken.clone();
        crash::interrupt_at("tool/before run", move || {
            // Synchronously: the call is paused meanwhile.
            let take = async {
                here.release_all().await.unwrap();
                is_taken.store(other.claim(1, now).await.unwrap().len() == 1, Ordering::SeqCst);
            };
            tokio::task::block_in_place(|| tokio::runtime::Handle::current().block_on(take));
        });
        world.model_will(delete());
        let said = world.said("delete a.txt");
        world.takes(&app, "1", said).await;
        assert_eq!(app.worker.advance_ready().await.unwrap(), 1);
        assert!(taken.load(Ordering::SeqCst), "another node has the conversation");
        assert_eq!(world.deletions(), 0);

        there.release_all().await.unwrap();
        let next = world.node().await;
        world.settle(&next).await;
        let again = (Language::English.words().run_again)("delete");
        assert!(world.shown().contains(&again), "{}", world.shown());
        world.model_will(say("Done."));
        let press = world.press("Run again");
        world.takes(&next, "1", press).await;
        world.settle(&next).await;
        assert_eq!((world.deletions(), world.last().as_str()), (1, "Done."));
    }
}

story! {
    /// A tool that sets no limit has none, unless it acts on anything outside; an operator can
    /// remove that limit.
    /// Proves IC-09.
    async fn no_limit_is_no_limit(world: &mut World) {
        world.config.guard.default = Action::Allow;
        let many = |tool: &str| -> Vec<_> {
            (0..70).map(|n| (tool.to_owned(), json!({ "path": format!("{n}.txt") }))).collect()
        };
        world.model_will(calls(many("rare")));
        world.model_will(calls(many("delete")));
        world.model_will(say("Seventy and sixty."));
        world.ann_says("go").await;
        let ran = |results: &[String], what: &str| results.iter().filter(|r| r.starts_with(what)).count();
        let results = world.results().await;
        assert_eq!((ran(&results, "rare indeed"), ran(&results, "deleted")), (70, 60));

        world.config.limits.tools = vec![ToolLimitEntry { unlimited: true, ..limit("delete") }];
        world.model_will(calls(many("delete")));
        world.model_will(say("All."));
        world.ann_says("again").await;
        assert_eq!(world.deletions(), 130);
    }
}

story! {
    /// The turn ends after three calls that cannot be parsed; a model that corrects itself
    /// continues.
    /// Proves CA-24.
    async fn calls_that_cannot_be_read_end_the_turn(world: &mut World) {
        for n in 0..3 {
            world.model_will(call("rare", json!(format!("{{\"broken\": {n}"))));
        }
        world.ann_says("look").await;
        assert_eq!(world.prompts().len(), 3, "nobody asks a fourth time");
        assert_snapshot!(world.shown(), @"I stopped because I could not write a valid tool call. Please tell me how to continue, or choose another model with /model. … Reference: `<reference>`");
        assert_snapshot!(stable(&world.results().await[0]), @"Invalid parameters: Arguments must be a JSON object or string");
        for _ in 0..2 {
            world.model_will(call("rare", json!("{")));
        }
        world.model_will(call("rare", json!({})));
        world.model_will(say("There."));
        world.ann_says("try again").await;
        assert_eq!(world.last(), "There.");
    }
}

story! {
    /// A call whose arguments were not read exactly as the model sent them neither runs nor
    /// requests an approval. The model gets an error and may repeat it.
    async fn a_call_that_was_not_read_exactly_is_not_asked_about(world: &mut World) {
        let unreadable = "(cannot be read exactly) {\"path\":\"a\",\"path\":\"b\"}";
        world.model_will(call("delete", json!(unreadable)));
        world.model_will(say("I could not."));
        world.ann_says("delete it").await;
        assert_eq!(world.shown(), "I could not.");
        assert_eq!(world.deletions(), 0);
        assert!(world.results().await[0].contains("Invalid parameters"));
    }
}

story! {
    /// A model that does not answer holds a turn until the time of the turn is used up. The next
    /// message is answered.
    async fn a_request_ends_with_the_time_of_its_turn(world: &mut World) {
        let gate = Gate::new();
        world.model_will(wait(&gate));
        let app = world.node().await;
        let said = world.said("hello");
        world.takes(&app, "1", said).await;
        let passing = async {
            gate.reached().await;
            world.clock.advance(TimeDelta::minutes(15));
        };
        let both = async { tokio::join!(app.worker.advance_ready(), passing) };
        let (advanced, ()) = tokio::time::timeout(PATIENCE, both).await.expect("the turn ends");
        assert_eq!(advanced.unwrap(), 1);
        world.settle(&app).await;
        assert!(world.last().contains("took longer than 15 minutes"), "{}", world.last());
        world.model_will(say("Hello."));
        world.ann_says("hello?").await;
        assert_eq!(world.last(), "Hello.");
    }
}
