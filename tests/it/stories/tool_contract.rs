//! What the author of a tool can declare, and its effects.

use async_trait::async_trait;
use countersign::testing::{
    agent::{
        catalog::{ApprovalMode, Confinement, Domain, EffectClass, Tier, ToolSpec},
        naming,
        policy::Action,
    },
    config::{AgentEntry, limits::ToolLimitEntry},
    scripted::{Gate, call, calls, say},
    tools::{Context, Output, Tool, ToolError},
};
use insta::assert_snapshot;
use parking_lot::Mutex;
use proptest::{
    strategy::{Strategy as _, ValueTree as _},
    test_runner::TestRunner,
};
use serde_json::{Map, Value, json};
use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};
use tokio::sync::Semaphore;

use super::delegation::staff;
use crate::{
    story,
    support::{program::sandbox, stable_output::stable, tools::Hold, world::World},
};

/// A tool made of closures.
struct Made<Run> {
    spec: ToolSpec,
    approval: fn(&Value) -> Option<ApprovalMode>,
    run: Run,
}

impl<Run: Fn(&Value) -> Result<Output, ToolError> + Send + Sync + 'static> Made<Run> {
    fn tool(spec: ToolSpec, run: Run) -> Arc<dyn Tool> {
        Arc::new(Self { spec, approval: |_| None, run })
    }
}

#[async_trait]
impl<Run: Fn(&Value) -> Result<Output, ToolError> + Send + Sync> Tool for Made<Run> {
    fn spec(&self) -> ToolSpec {
        self.spec.clone()
    }

    fn approval(&self, arguments: &Value) -> ApprovalMode {
        (self.approval)(arguments).unwrap_or(self.spec.approval)
    }

    async fn run(&self, arguments: Value, _context: &Context) -> Result<Output, ToolError> {
        (self.run)(&arguments)
    }
}

fn spec(name: &str, properties: &Value) -> ToolSpec {
    let parameters = json!({ "type": "object", "properties": properties });
    ToolSpec::read_only(name, "Does it", parameters)
}

story! {
    /// The approval depends on the arguments: reading needs none, changing needs one unless it is
    /// allowed, deleting needs one every time.
    /// Proves IC-07, IC-28.
    async fn a_tool_asks_by_its_arguments(world: &mut World) {
        let ran = Arc::<Mutex<Vec<String>>>::default();
        let kept = ran.clone();
        let spec = ToolSpec {
            effect: EffectClass::AtMostOnce,
            approval: ApprovalMode::UnlessAllowed,
            ..spec("api", &json!({ "method": { "type": "string" } }))
        };
        let approval = |arguments: &Value| match arguments["method"].as_str() {
            Some("GET") => Some(ApprovalMode::Never),
            Some("DELETE") => Some(ApprovalMode::Always),
            _ => None,
        };
        let run = move |arguments: &Value| {
            kept.lock().push(arguments["method"].to_string());
            Ok("sent".into())
        };
        world.tools = vec![Arc::new(Made { spec, approval, run })];
        let method = |name: &str| call("api", json!({ "method": name }));
        world.model_will(method("GET"));
        world.model_will(say("Read."));
        world.ann_says("read").await;
        assert_eq!(world.last(), "Read.", "nobody is asked");

        world.model_will(method("PUT"));
        world.ann_says("write").await;
        assert_snapshot!(world.last(), @"Allow **api**? … Requested by Ann. Open until 2026-05-04 10:30 UTC, code `<code>`. [Allow once] [Allow in this conversation] [Always…] [Deny]");
        world.model_will(say("Written."));
        world.ann_presses("Allow in this conversation").await;
        world.model_will(method("PUT"));
        world.model_will(say("Written again."));
        world.ann_says("write again").await;
        assert_eq!(world.last(), "Written again.");

        world.model_will(method("DELETE"));
        world.ann_says("delete").await;
        assert_snapshot!(world.last(), @"Allow **api**? … Requested by Ann. Open until 2026-05-04 10:30 UTC, code `<code>`. [Allow once] [Deny]");
        world.model_will(say("Deleted."));
        world.ann_presses("Allow once").await;
        assert_eq!(*ran.lock(), [r#""GET""#, r#""PUT""#, r#""PUT""#, r#""DELETE""#]);
    }
}

story! {
    /// The gateway sets the flag `approved` of a tool when the call may run; the model neither sees
    /// nor sets it.
    /// Proves CV-07.
    async fn only_the_gateway_approves(world: &mut World) {
        let flags = Arc::<Mutex<Vec<Value>>>::default();
        let kept = flags.clone();
        let flag = json!({ "type": "boolean", "default": false, "description": "Approved" });
        let risky = ToolSpec {
            effect: EffectClass::AtMostOnce,
            approval: ApprovalMode::UnlessAllowed,
            ..spec("risky", &json!({ "approved": flag, "what": { "type": "string" } }))
        };
        world.tools = vec![Made::tool(risky, move |arguments| {
            kept.lock().push(arguments["approved"].clone());
            Ok("done".into())
        })];
        world.model_will(call("risky", json!({ "what": "x", "approved": true })));
        world.ann_says("do it").await;
        assert!(flags.lock().is_empty());
        let question = world.room.messages().pop().unwrap().text;
        assert!(question.contains("what") && !question.contains("approved"), "{question}");
        world.model_will(say("Done."));
        world.ann_presses("Allow once").await;
        assert_eq!(*flags.lock(), [json!(true)], "it has been approved");
        world.model_will(call("risky", json!({ "what": "y", "approved": true })));
        world.model_will(say("Then not."));
        world.ann_says("again").await;
        world.ann_presses("Deny").await;
        assert_eq!(flags.lock().len(), 1);
        assert!(!format!("{:?}", world.prompts()[0].tools).contains("approved"));
    }
}

story! {
    /// A tool of the container domain runs in the sandbox, in the folder of the conversation, or
    /// not at all; its `run` is never called in this process.
    /// Proves IC-08, IC-29.
    async fn a_container_tool_runs_in_the_sandbox_or_not_at_all(world: &mut World) {
        let script = "read arguments; echo \"$arguments\" > given; echo \"ran in $PWD\"; \
                      readlink /proc/self/ns/pid";
        let tool = |name: &str, script: &str| {
            let domain = Domain::Container(Confinement::program(["/bin/sh", "-c", script]));
            let spec = ToolSpec { domain, ..spec(name, &json!({ "n": { "type": "integer" } })) };
            Made::tool(spec, |_| panic!("not in this process"))
        };
        world.tools = vec![tool("boxed", script), tool("failing", "echo broken >&2; exit 3")];
        world.model_will(call("boxed", json!({ "n": 7 })));
        world.model_will(say("It is not there."));
        world.ann_says("go").await;
        assert_snapshot!(stable(&world.results().await[0]), @"`boxed` cannot be used here: this story has none. You cannot change that.");

        world.sandbox = Arc::new(sandbox().await);
        world.model_will(call("boxed", json!({ "n": 7 })));
        world.model_will(call("failing", json!({})));
        world.model_will(call("read_file", json!({ "path": "given" })));
        world.model_will(say("It ran."));
        world.ann_says("and now?").await;
        let results = world.results().await;
        let (first, pid) = results[1].split_once('\n').unwrap();
        assert_eq!(first, "ran in /workspace");
        let ours = std::fs::read_link("/proc/self/ns/pid").unwrap();
        assert_ne!(pid, ours.to_str().unwrap());
        assert_snapshot!(stable(&results[2]), @"The program ended with code 3. broken");
        assert!(results[3].contains(r#"{"n":7}"#), "{}", results[3]);
    }
}

story! {
    /// A tool can exclude a result from reuse.
    /// Proves CA-04.
    async fn a_result_may_refuse_to_be_reused(world: &mut World) {
        let runs = Arc::<AtomicUsize>::default();
        let counted = runs.clone();
        let state = ToolSpec { cache: true, ..spec("state", &json!({ "of": { "type": "string" } })) };
        world.tools = vec![Made::tool(state, move |arguments| {
            let run = counted.fetch_add(1, Ordering::SeqCst);
            // An ended job does not start again.
            let running = arguments["of"] == "job" && run == 0;
            let text = if running { "running" } else { "ended" };
            Ok(Output { uncached: running, ..Output::text(text) })
        })];
        for _ in 0..3 {
            world.model_will(call("state", json!({ "of": "job" })));
            world.model_will(say("So."));
            world.ann_says("how is it?").await;
        }
        assert_eq!(runs.load(Ordering::SeqCst), 2, "what was running was asked again");
    }
}

story! {
    /// A tool can mark a single result as the reply.
    /// Proves CA-13, CA-02.
    async fn a_result_may_be_the_answer(world: &mut World) {
        let lookup = spec("lookup", &json!({ "sure": { "type": "boolean" } }));
        world.tools = vec![Made::tool(lookup, |arguments| {
            Ok(if arguments["sure"] == true { Output::as_answer("42") } else { "maybe 41".into() })
        })];
        world.model_will(call("lookup", json!({ "sure": false })));
        world.model_will(call("lookup", json!({ "sure": true })));
        world.ann_says("how many?").await;
        assert_eq!((world.last().as_str(), world.prompts().len()), ("42", 2));
    }
}

story! {
    /// A read-only tool is retried after an error of an external service. Tools with side effects
    /// and other errors are not retried. All attempts count as one use.
    /// Proves CA-40, IC-24.
    async fn reading_is_tried_again(world: &mut World) {
        world.config.guard.default = Action::Allow;
        let runs = Arc::<AtomicUsize>::default();
        let flaky = |name: &str, effect, fails: usize, error: fn(String) -> ToolError| {
            let (runs, own) = (runs.clone(), AtomicUsize::new(0));
            let spec = ToolSpec { effect, max_usage_count: Some(1), ..spec(name, &json!({})) };
            Made::tool(spec, move |_| {
                runs.fetch_add(1, Ordering::SeqCst);
                if own.fetch_add(1, Ordering::SeqCst) < fails {
                    return Err(error("HTTP 502".into()));
                }
                Ok("there".into())
            })
        };
        let (reads, changes) = (EffectClass::ReadOnly, EffectClass::AtMostOnce);
        world.tools = vec![
            flaky("soon", reads, 2, ToolError::ExternalService),
            flaky("never", reads, 99, ToolError::ExternalService),
            flaky("wrong", reads, 99, ToolError::ExecutionFailed),
            flaky("order", changes, 99, ToolError::ExternalService),
        ];
        for (tool, expected, times) in [
            ("soon", "there", 3),
            ("never", "Tool execution error: HTTP 502", 3),
            ("wrong", "HTTP 502", 1),
            ("order", "External service: HTTP 502", 1),
        ] {
            let before = runs.load(Ordering::SeqCst);
            world.model_will(call(tool, json!({})));
            world.model_will(say("So."));
            world.ann_says("go").await;
            assert_eq!(world.results().await.pop().unwrap(), expected, "{tool}");
            assert_eq!(runs.load(Ordering::SeqCst) - before, times, "{tool}");
        }
        world.model_will(call("soon", json!({})));
        world.model_will(say("So."));
        world.ann_says("once more").await;
        assert!(world.results().await.pop().unwrap().starts_with("Tool 'soon' has reached"));
    }
}

/// A tool that takes effect and does not end.
struct Stalled(Arc<AtomicUsize>);

#[async_trait]
impl Tool for Stalled {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            effect: EffectClass::AtMostOnce,
            approval: ApprovalMode::UnlessAllowed,
            timeout: Duration::from_millis(50),
            ..spec("invoice", &json!({}))
        }
    }

    async fn run(&self, _arguments: Value, _context: &Context) -> Result<Output, ToolError> {
        self.0.fetch_add(1, Ordering::SeqCst);
        std::future::pending().await
    }
}

story! {
    /// A call that takes too long may have taken effect. If it must not run twice, a person is asked
    /// before it runs again, even where such calls need no approval.
    async fn a_call_that_takes_too_long_is_asked_about(world: &mut World) {
        world.config.guard.default = Action::Allow;
        let runs = Arc::<AtomicUsize>::default();
        world.tools = vec![Arc::new(Stalled(runs.clone()))];
        world.model_will(call("invoice", json!({})));
        world.ann_says("send it").await;
        assert_snapshot!(world.last(), @"**invoice** was interrupted. Run it again? … Requested by Ann. Open until 2026-05-04 10:30 UTC, code `<code>`. [Run again] [Skip]");
        assert_eq!(runs.load(Ordering::SeqCst), 1);
        world.model_will(say("Then not."));
        world.ann_presses("Skip").await;
        assert_eq!((world.last().as_str(), runs.load(Ordering::SeqCst)), ("Then not.", 1));
    }
}

/// A tool whose calls continue once this many have started.
struct Together {
    limit: usize,
    begun: Arc<AtomicUsize>,
    go: Arc<Semaphore>,
}

#[async_trait]
impl Tool for Together {
    fn spec(&self) -> ToolSpec {
        spec("together", &json!({ "n": { "type": "integer" } }))
    }

    async fn run(&self, _arguments: Value, _context: &Context) -> Result<Output, ToolError> {
        if self.begun.fetch_add(1, Ordering::SeqCst) + 1 == self.limit {
            self.go.add_permits(1_000);
        }
        let _free = self.go.acquire().await.unwrap();
        Ok("together".into())
    }
}

story! {
    /// Concurrent calls of a person's sub-agents share one limit.
    /// Proves IC-33.
    async fn parallel_conversations_share_a_limit(world: &mut World) {
        const MAX_AT_ONCE: usize = 8;
        staff(world);
        let begun = Arc::<AtomicUsize>::default();
        let go = Arc::new(Semaphore::new(0));
        world.tools = vec![Arc::new(Together { limit: MAX_AT_ONCE, begun: begun.clone(), go })];
        world.config.limits.tools = vec![ToolLimitEntry {
            tool: "together".into(),
            per_minute: Some(MAX_AT_ONCE as u32),
            per_hour: None,
            max_usage_count: None,
            unlimited: false,
        }];
        let tasks = vec![json!({ "agent": "writer", "task": "go" }); 5];
        world.model_will(call("delegate", json!({ "tasks": tasks })));
        // Each conversation alone is far below the limit.
        for n in 0..5 {
            let two = [0, 1].map(|m| ("together".to_owned(), json!({ "n": 2 * n + m })));
            world.model_will(calls(two.into()));
        }
        for _ in 0..5 {
            world.model_will(say("Done."));
        }
        world.model_will(say("All done."));
        world.ann_says("go").await;
        assert_eq!(world.last(), "All done.");
        assert_eq!(begun.load(Ordering::SeqCst), MAX_AT_ONCE, "the ninth and the tenth did not run");
    }
}

story! {
    /// A tool that is added during a turn is offered in the next request to the model.
    /// Proves IC-52.
    async fn a_new_tool_is_there_in_the_same_turn(world: &mut World) {
        let gate = Gate::new();
        world.tools = vec![Arc::new(Hold(gate.clone()))];
        world.model_will(call("hold", json!({})));
        world.model_will(call("fresh", json!({})));
        world.model_will(say("It is there."));
        let app = world.node().await;
        let said = world.said("go");
        world.takes(&app, "1", said).await;
        let meanwhile = async {
            gate.reached().await;
            app.add_tool(Made::tool(spec("fresh", &json!({})), |_| Ok("fresh indeed".into()))).unwrap();
            gate.open();
        };
        let (advanced, ()) = tokio::join!(app.worker.advance_ready(), meanwhile);
        advanced.unwrap();
        world.settle(&app).await;
        assert_eq!(world.last(), "It is there.");
        assert_eq!(world.results().await, ["held", "fresh indeed"]);
        let offered = |n: usize| world.prompts()[n].tools.iter().any(|tool| tool.name == "fresh");
        assert!(!offered(0) && offered(1));
    }
}

/// A world in which every built-in tool is available.
async fn complete(world: &mut World) -> Vec<ToolSpec> {
    staff(world);
    world.sandbox = Arc::new(sandbox().await);
    world.config.models[0].vision = Some(true);
    let skill = world.config.data_dir.join("skills/letters/scripts");
    std::fs::create_dir_all(&skill).unwrap();
    let text = "---\nname: letters\ndescription: How we write letters\n---\nBegin with Dear.";
    std::fs::write(skill.join("../SKILL.md"), text).unwrap();
    std::fs::write(skill.join("a.sh"), "#!/bin/sh\n").unwrap();
    let app = world.node().await;
    let ours = |spec: &ToolSpec| !["delete", "rare"].contains(&spec.name.as_str());
    app.worker.toolbox.specs().into_iter().filter(ours).collect()
}

story! {
    /// Every built-in tool has a name without a prefix, a description of itself and of each
    /// argument, and is found by its names in other frameworks.
    /// Proves CV-08, CV-18, IC-03.
    async fn every_tool_has_a_plain_name(world: &mut World) {
        let specs = complete(world).await;
        assert!(specs.len() >= 30, "{}", specs.len());
        for spec in &specs {
            let name = &spec.name;
            assert!(!name.starts_with("tool_") && !name.ends_with("_tool"), "{name}");
            assert_eq!(naming::sanitise(name), *name);
            assert!(!spec.description.trim().is_empty(), "{name}");
            for (argument, field) in spec.parameters["properties"].as_object().into_iter().flatten() {
                assert!(field["description"].is_string(), "{name}: what is {argument}?");
            }
        }
        let meant = |name: &str| naming::meant(name, specs.iter().map(|spec| spec.name.as_str()));
        for (theirs, ours) in [
            ("shell", "shell"),
            ("file_read", "read_file"),
            ("file_write", "write_file"),
            ("memory_store", "memory_store"),
            ("memory_recall", "memory_recall"),
            ("memory_forget", "memory_forget"),
            ("memory_read", "memory_recall"),
            ("memory_write", "memory_store"),
            ("memory_search", "memory_search"),
            ("http", "http_request"),
            ("time", "get_current_datetime"),
            ("echo", "echo"),
            ("json", "json"),
        ] {
            assert_eq!(meant(theirs), Some(ours), "{theirs}");
        }
    }
}

/// Values of all kinds, some of which are valid.
fn value(runner: &mut TestRunner) -> Value {
    let text = r#"[a-z/._ "{}\\-]{0,12}"#;
    let any = proptest::prop_oneof![
        text.prop_map(Value::from),
        (-5..500_i64).prop_map(Value::from),
        proptest::bool::ANY.prop_map(Value::from),
        proptest::collection::vec(text, 0..3).prop_map(Value::from),
        proptest::strategy::Just(Value::Null),
        text.prop_map(|text| json!({ "a": text })),
        proptest::strategy::Just(json!("nul\0")),
    ];
    any.new_tree(runner).unwrap().current()
}

story! {
    /// Arbitrary arguments for any tool are normalised to the schema or refused before the call
    /// runs; normalising twice changes nothing.
    /// Proves CV-21, IC-35.
    async fn every_input_is_validated_before_work(world: &mut World) {
        let specs = complete(world).await;
        let app = world.node().await;
        let toolbox = &app.worker.toolbox;
        let mut runner = TestRunner::deterministic();
        let (mut fit, mut refused) = (0, 0);
        for spec in &specs {
            let schema = jsonschema_of(spec);
            let names: Vec<_> =
                spec.parameters["properties"].as_object().into_iter().flat_map(Map::keys).collect();
            for round in 0..60 {
                let mut arguments = Map::new();
                for (place, name) in names.iter().enumerate() {
                    if round == 0 || (round >> (place % 6)) & 1 == 1 {
                        arguments.insert((*name).clone(), value(&mut runner));
                    }
                }
                if round % 20 == 19 {
                    arguments.insert("unknown".into(), value(&mut runner));
                }
                let arguments = Value::Object(arguments);
                match toolbox.prepare(&spec.name, arguments.clone()) {
                    Ok(ready) => {
                        fit += 1;
                        assert!(schema.is_valid(&ready), "{}: {arguments} became {ready}", spec.name);
                        assert!(!ready.to_string().contains("\\u0000"), "{ready}");
                        assert_eq!(toolbox.prepare(&spec.name, ready.clone()).as_ref(), Ok(&ready));
                    }
                    Err(ToolError::InvalidParameters(why)) => {
                        refused += 1;
                        assert!(!why.is_empty());
                    }
                    // A path outside the workspace.
                    Err(ToolError::ExecutionFailed(why)) => assert!(why.starts_with("Path not allowed"), "{why}"),
                    Err(other) => panic!("{}: {other}", spec.name),
                }
            }
        }
        assert!(fit > 100 && refused > 500, "both happen: {fit} and {refused}");
    }
}

fn jsonschema_of(spec: &ToolSpec) -> jsonschema::Validator {
    jsonschema::options().offline().build(&spec.parameters).unwrap()
}

story! {
    /// By default an agent gets a few built-in tools with their schemas, and one line for each of
    /// the others.
    /// Proves T1.
    async fn few_schemas_are_in_every_prompt(world: &mut World) {
        let agents: &[AgentEntry] = &world.config.agents;
        assert_eq!(agents.len(), 1);
        let specs = complete(world).await;
        let tokens = |specs: &[&ToolSpec]| -> usize {
            let bpe = tiktoken_rs::cl100k_base().unwrap();
            specs.iter().map(|spec| {
                let schema = json!({ "name": spec.name, "description": spec.description, "parameters": spec.parameters });
                bpe.encode_ordinary(&schema.to_string()).len()
            }).sum()
        };
        let (core, extension): (Vec<_>, Vec<_>) = specs.iter().partition(|spec| spec.tier == Tier::Core);
        let (core, extension) = (tokens(&core), tokens(&extension));
        eprintln!("schemas of core tools: {core} tokens; of extension tools: {extension} tokens");
        assert!(core < 3_000 && extension > core / 2, "{core} and {extension}");
    }
}
