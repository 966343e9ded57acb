//! The life of a call between the model and its result.

use async_trait::async_trait;
use countersign::testing::{
    agent::catalog::{EffectClass, ToolSpec},
    journal::event::Event,
    scripted::{call, calls, say},
    tools::{Context, Output, Tool, ToolError},
};
use insta::assert_snapshot;
use serde_json::{Value, json};
use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use crate::{
    story,
    support::{stable_output::stable, world::World},
};

/// Counts its runs and returns the count.
struct Count {
    runs: Arc<AtomicUsize>,
    spec: ToolSpec,
}

impl Count {
    /// Such a tool, and its counter.
    fn with(world: &mut World, like: impl Fn(ToolSpec) -> ToolSpec) -> Arc<AtomicUsize> {
        let runs = Arc::<AtomicUsize>::default();
        let parameters = json!({ "type": "object", "properties": {} });
        let spec = like(ToolSpec::read_only("count", "Counts", parameters));
        world.tools = vec![Arc::new(Self { runs: runs.clone(), spec })];
        runs
    }
}

#[async_trait]
impl Tool for Count {
    fn spec(&self) -> ToolSpec {
        self.spec.clone()
    }

    async fn run(&self, arguments: Value, _context: &Context) -> Result<Output, ToolError> {
        let run = self.runs.fetch_add(1, Ordering::SeqCst) + 1;
        match arguments.get("fail") {
            Some(_) => Err(ToolError::ExecutionFailed(format!("failed {run}"))),
            None => Ok(Output::text(format!("run {run}"))),
        }
    }
}

fn count(arguments: &str) -> countersign::testing::scripted::ScriptStep {
    call("count", serde_json::from_str(arguments).unwrap())
}

story! {
    /// A cached result is returned for the same arguments, in any order, across restarts, for this
    /// conversation; failures and results of undeclared tools are not cached.
    /// Proves CA-04, CA-22, CA-41.
    async fn a_result_is_used_again(world: &mut World) {
        let runs = Count::with(world, |spec| ToolSpec { cache: true, ..spec });
        for arguments in
            [r#"{"a":1,"b":2}"#, r#"{"b":2,"a":1}"#, r#"{"a":1}"#, r#"{"fail":1}"#, r#"{"fail":1}"#]
        {
            world.model_will(count(arguments));
            world.model_will(say("So."));
            world.ann_says("count").await;
        }
        assert_eq!(runs.load(Ordering::SeqCst), 4);
        assert_eq!(world.results().await, ["run 1", "run 2", "failed 3", "failed 4"]);
        let read = format!("{:?}", world.prompts()[3].messages.last());
        assert!(read.contains("run 1"), "{read}");
        let reused = world.journal().await.into_iter()
            .filter(|entry| matches!(entry.event, Event::ResultReused { .. }));
        assert_eq!(reused.count(), 1, "and it can be told from one that has run");

        world.ann_says("/new").await;
        world.model_will(count(r#"{"a":1,"b":2}"#));
        world.model_will(say("Anew."));
        world.ann_says("count").await;
        assert_eq!(runs.load(Ordering::SeqCst), 5);
    }
}

story! {
    /// A tool with side effects runs each time it is called, whatever it declares, and its start is
    /// recorded even without an approval: if it is interrupted, a person is asked.
    /// Proves CA-04, T6.
    async fn calls_with_effects_are_never_cached(world: &mut World) {
        let runs = Count::with(world, |spec| {
            ToolSpec { cache: true, effect: EffectClass::AtMostOnce, ..spec }
        });
        for _ in 0..2 {
            world.model_will(count("{}"));
            world.model_will(say("So."));
            world.ann_says("count").await;
        }
        assert_eq!(runs.load(Ordering::SeqCst), 2);
        let begun = world.journal().await.into_iter()
            .filter(|entry| matches!(entry.event, Event::ToolStarted { .. }));
        assert_eq!(begun.count(), 2);
    }
}

story! {
    /// The start of a call that changes nothing is not recorded: after a crash it simply runs again.
    /// Proves T6.
    async fn the_start_of_a_harmless_call_is_not_recorded(world: &mut World) {
        let runs = Count::with(world, |spec| spec);
        world.model_will(count("{}")).will(say("So."));
        world.ann_says("count").await;
        assert_eq!((runs.load(Ordering::SeqCst), world.last()), (1, "So.".to_owned()));
        let mut journal = world.journal().await.into_iter();
        assert!(!journal.any(|entry| matches!(entry.event, Event::ToolStarted { .. })));
    }
}

story! {
    /// The result of a call that a summary has replaced is read from the journal, without running
    /// the tool. What was never called has none, and `/new` ends what can be read.
    /// Proves CA-30.
    async fn an_earlier_result_is_read_again(world: &mut World) {
        let runs = Count::with(world, |spec| spec);
        world.model_will(count(r#"{"a":1}"#)).will(say("Counted."));
        world.ann_says(&"count ".repeat(500)).await;
        world.config.agents[0].context_tokens = Some(600);
        let look = |key: &str| call("hit_cache", json!({ "key": key }));
        world.model_will(say("It counted."));
        let keys = ["tool:count|input:a=1", r#"tool:count|input:{"a": 1}"#, "tool:count|input:a=2", "count"];
        for key in keys {
            world.model_will(look(key));
        }
        world.model_will(say("Once."));
        world.ann_says("how often?").await;
        assert!(world.prompts().iter().any(|prompt| prompt.tools.is_empty()), "it was summarised");
        let results = world.results().await;
        assert_eq!(results[1..4], ["run 1", "run 1", "null"]);
        assert_snapshot!(stable(&results[4]), @"Invalid parameters: the key must have the form tool:NAME|input:ARGUMENTS, for example tool:web_search|input:query=bees");
        assert_eq!(runs.load(Ordering::SeqCst), 1);

        world.ann_says("/new").await;
        world.model_will(look(keys[0])).will(say("Nothing."));
        world.ann_says("how often?").await;
        assert_eq!(world.results().await.pop().unwrap(), "null");
    }
}

/// Ends when three of its calls are running.
struct Meeting(tokio::sync::Barrier);

#[async_trait]
impl Tool for Meeting {
    fn spec(&self) -> ToolSpec {
        ToolSpec::read_only("meeting", "Meets", json!({ "type": "object" }))
    }

    async fn run(&self, _arguments: Value, _context: &Context) -> Result<Output, ToolError> {
        self.0.wait().await;
        Ok(Output::text("met"))
    }
}

story! {
    /// Independent calls run at the same time: three of a second take a second.
    /// Proves MC-47, T7.
    async fn calls_of_one_reply_run_together(world: &mut World) {
        world.tools = vec![Arc::new(Meeting(tokio::sync::Barrier::new(3)))];
        world.model_will(calls((0..3).map(|n| ("meeting".into(), json!({ "n": n }))).collect()));
        world.model_will(say("We have met."));
        world.ann_says("meet").await;
        assert_eq!(world.results().await, ["met"; 3]);
    }
}

story! {
    /// The result is the answer, and the model is asked once; if the call failed, the model
    /// continues.
    /// Proves CA-02.
    async fn a_result_can_be_the_answer(world: &mut World) {
        Count::with(world, |spec| ToolSpec { result_as_answer: true, ..spec });
        world.model_will(calls(vec![
            ("count".into(), json!({})), ("get_current_datetime".into(), json!({})),
        ]));
        world.ann_says("count").await;
        assert_eq!(world.shown(), "run 1");
        assert_eq!(world.prompts().len(), 1);
        world.model_will(count(r#"{"fail":1}"#));
        world.model_will(say("It did not work."));
        world.ann_says("count").await;
        assert_eq!(world.shown(), "run 1\nIt did not work.");
        assert_eq!(world.prompts().len(), 3);
    }
}

story! {
    /// A call passes through its steps in order: requested, approval requested, decided, started,
    /// ended, read by the model.
    /// Proves MC-01, CA-15.
    async fn a_call_takes_its_steps_in_order(world: &mut World) {
        world.model_will(call("delete", json!({ "path": "a.txt" })));
        world.model_will(say("It is gone."));
        world.ann_says("delete a.txt").await;
        world.ann_presses("Allow once").await;
        let steps = world.journal().await.into_iter().filter_map(|entry| match entry.event {
            Event::Said { .. } => Some("said"),
            Event::Replied { .. } => Some("replied"),
            Event::ApprovalRequested { .. } => Some("asked"),
            Event::ApprovalDecided { .. } => Some("decided"),
            Event::ToolStarted { .. } => Some("started"),
            Event::ToolFinished { .. } => Some("finished"),
            _ => None,
        });
        let steps: Vec<_> = steps.collect();
        let expected = ["said", "replied", "asked", "decided", "started", "finished", "replied"];
        assert_eq!(steps, expected);
        assert_eq!(world.deletions(), 1);
    }
}
