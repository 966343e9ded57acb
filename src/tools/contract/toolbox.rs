//! All tools by name, and running one call within its limits.

use futures::FutureExt as _;
use parking_lot::RwLock;
use sandbox::Sandbox;
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet, btree_map::Entry as Slot},
    panic::AssertUnwindSafe,
    sync::Arc,
    time::{Duration, Instant},
};

use super::{
    arguments,
    attempts::{NO_SANDBOX, ToolRunner},
    entry::{QUOTED_CHARS, RegisteredTool, compiled},
    one_line::cut,
    overflow,
};
use crate::{
    agent::{
        catalog::{CallTerms, Rate, ToolSource, ToolSpec, Variable},
        delegation, disclosure,
        guard::Cleared,
        naming,
        policy::FileDigests,
        redact::Redactor,
    },
    journal::event::{Call, Outcome, ToolResult},
    texts::{self, preview::Preview},
    tools::{Context, Output, Tool, ToolError},
};

pub use super::entry::RegistrationError;

/// The timeout of a preview. It limits how long a preview can delay an approval.
const PREVIEW_FOR: Duration = Duration::from_secs(10);
/// The maximum length of the operators' details of a result.
const RAW_CHARS: usize = 4_000;

/// The tools. Some are added and removed at run time.
#[derive(Default)]
pub struct Toolbox {
    tools: RwLock<BTreeMap<String, RegisteredTool>>,
    pub redactor: Redactor,
    /// The environment. Each tool gets only the variables that it declares.
    environment: BTreeMap<String, String>,
    /// The sandbox for tools that run a program.
    sandbox: Option<Arc<Sandbox>>,
}

impl Toolbox {
    /// A toolbox that redacts all results.
    pub fn with_redactor(redactor: Redactor) -> Self {
        Self { redactor, ..Self::default() }
    }

    /// Sets the environment for the tools.
    #[must_use]
    pub fn with_environment(self, environment: BTreeMap<String, String>) -> Self {
        Self { environment, ..self }
    }

    /// Sets the sandbox for tools that run a program.
    #[must_use]
    pub fn with_sandbox(self, sandbox: Arc<Sandbox>) -> Self {
        Self { sandbox: Some(sandbox), ..self }
    }

    /// Registers a tool. If the name is taken, the first one is kept. A tool that requires a
    /// missing variable is registered as unavailable, with the reason.
    pub fn register(&self, tool: Arc<dyn Tool>) -> Result<(), RegistrationError> {
        let (name, entry) = self.checked(tool)?;
        if let Some(why) = &entry.spec.unavailable {
            tracing::warn!(tool.name = name, why, "a tool is unavailable");
        }
        let mut tools = self.tools.write();
        if is_reserved(&name) || tools.contains_key(&name) {
            return Err(RegistrationError::Taken(name));
        }
        tools.insert(name, entry);
        Ok(())
    }

    /// Replaces the tools of a server. Returns why some were skipped, and whether anything has
    /// changed. A tool with the name of a built-in one gets a number; if two servers have the same
    /// prefix, the first to connect keeps the name.
    pub fn serve(
        &self,
        server: &str,
        offered: Vec<Arc<dyn Tool>>,
    ) -> (Vec<RegistrationError>, bool) {
        self.replace(
            |spec| matches!(&spec.source, ToolSource::Mcp { server: its, .. } if its == server),
            offered,
        )
    }

    /// Replaces the WASM tools, like [`Toolbox::serve`].
    pub fn serve_modules(&self, offered: Vec<Arc<dyn Tool>>) -> (Vec<RegistrationError>, bool) {
        self.replace(|spec| matches!(spec.source, ToolSource::Wasm { .. }), offered)
    }

    fn replace(
        &self,
        of_it: impl Fn(&ToolSpec) -> bool,
        offered: Vec<Arc<dyn Tool>>,
    ) -> (Vec<RegistrationError>, bool) {
        let checked: Vec<_> = offered.into_iter().map(|tool| self.checked(tool)).collect();
        let mut tools = self.tools.write();
        let specs = |tools: &BTreeMap<String, RegisteredTool>| -> Vec<_> {
            tools.values().map(|entry| entry.spec.clone()).filter(|spec| of_it(spec)).collect()
        };
        let before = specs(&tools);
        tools.retain(|_, entry| !of_it(&entry.spec));
        let offered = checked.iter().flatten().map(|(name, _)| name);
        let mut taken: BTreeSet<_> = tools.keys().chain(offered).cloned().collect();
        let mut unfit = Vec::new();
        for tool in checked {
            let (mut name, mut entry) = match tool {
                Ok(fit) => fit,
                Err(problem) => {
                    unfit.push(problem);
                    continue;
                }
            };
            let is_ours = |there: &RegisteredTool| there.spec.source == ToolSource::Builtin;
            if is_reserved(&name) || tools.get(&name).is_some_and(is_ours) {
                name = naming::free(&name, &mut taken);
                Arc::make_mut(&mut entry.spec).name.clone_from(&name);
            }
            match tools.entry(name) {
                Slot::Vacant(slot) => drop(slot.insert(entry)),
                Slot::Occupied(slot) => unfit.push(RegistrationError::Taken(slot.key().clone())),
            }
        }
        (unfit, before != specs(&tools))
    }

    /// The specs of all tools by name, so that the order is the same after every start.
    pub fn specs(&self) -> Vec<ToolSpec> {
        let tools = self.tools.read();
        tools.values().map(|entry| (*entry.spec).clone()).collect()
    }

    pub fn find(&self, name: &str) -> Option<Arc<dyn Tool>> {
        self.entry(name).ok().map(|entry| entry.tool)
    }

    /// Validates the arguments, as they are, against the tool's schema.
    pub fn validate(&self, name: &str, arguments: &Value) -> Result<(), ToolError> {
        self.entry(name)?.validate(arguments)
    }

    /// Normalises the arguments of a model's call: an object, with the schema's names, without a
    /// made-up approval. Invalid arguments are left for `validate`.
    pub fn normalized(&self, name: &str, arguments: Value) -> Value {
        let Ok(entry) = self.entry(name) else { return arguments };
        arguments::tidy(arguments.clone(), &entry.spec.parameters).map_or(arguments, |normalized| {
            entry.normalised(normalized.clone()).unwrap_or(normalized)
        })
    }

    /// The arguments as they are judged, shown, hashed and run: normalised, with a normalised path,
    /// and validated. Idempotent.
    pub fn prepare(&self, name: &str, arguments: Value) -> Result<Value, ToolError> {
        self.entry(name)?.prepare(arguments)
    }

    /// The estimated cost of this call, in millionths of a currency unit.
    pub fn estimated_cost(&self, call: &Call) -> Option<u64> {
        let entry = self.entry(&call.tool).ok()?;
        entry.tool.estimated_cost(&entry.prepare(call.arguments.clone()).ok()?)
    }

    /// The terms of this call. Returns `None` if there is no such tool or the arguments are
    /// invalid.
    pub fn terms(&self, call: &Call) -> Option<CallTerms> {
        let entry = self.entry(&call.tool).ok()?;
        Some(entry.terms(&entry.prepare(call.arguments.clone()).ok()?))
    }

    /// The part of an approval that is not an argument. `None` if the tool fails to provide it.
    pub async fn preview(&self, call: &Call, context: &Context) -> Option<Preview> {
        let entry = self.entry(&call.tool).ok()?;
        let arguments = entry.prepare(call.arguments.clone()).ok()?;
        let preview = AssertUnwindSafe(entry.tool.preview(&arguments, context)).catch_unwind();
        let preview = tokio::time::timeout(PREVIEW_FOR, preview).await;
        let preview = preview.ok().and_then(Result::ok).flatten();
        preview.map(|preview| preview.in_language(context.language))
    }

    /// The files that an approval of this call is bound to, besides those of its spec.
    pub async fn bound(&self, call: &Call, context: &Context) -> Result<FileDigests, ToolError> {
        let entry = self.entry(&call.tool)?;
        let arguments = entry.prepare(call.arguments.clone())?;
        entry.tool.bound(&arguments, context).await
    }

    /// Runs one call until it completes, times out, is stopped, fails or panics. Only the guard can
    /// create a [`Cleared`]. Returns `None` if the outcome is unknown.
    pub async fn run(&self, cleared: &Cleared, context: &Context) -> Option<ToolResult> {
        let Call { tool, arguments, .. } = cleared.call();
        self.run_call(tool, arguments.clone(), context).await
    }

    async fn run_call(
        &self,
        tool: &str,
        arguments: Value,
        context: &Context,
    ) -> Option<ToolResult> {
        let started = Instant::now();
        let attempt = self.attempt(tool, arguments, context).await;
        let rejected = matches!(attempt, Some(Err(ToolError::InvalidParameters(_))));
        let (outcome, output) = match attempt {
            Some(Err(ToolError::Unknown)) => return None,
            Some(Ok(output)) => (Outcome::Done, output),
            Some(Err(ToolError::Billed { error, cost_micros })) => {
                let cost_micros = Some(cost_micros);
                (Outcome::Failed, Output { cost_micros, ..Output::text(error.to_string()) })
            }
            Some(Err(error)) => (Outcome::Failed, Output::text(error.to_string())),
            None => (Outcome::Withdrawn, Output::text("Stopped before it had ended")),
        };
        Some(ToolResult {
            outcome,
            text: overflow::shorten(self.redactor.result(output.text), context).await,
            attachments: output.attachments,
            seen: output.seen,
            untrusted: output.untrusted,
            views: output.views,
            raw: output.raw.map(|raw| cut(&self.redactor.result(raw), RAW_CHARS)),
            cost_micros: output.cost_micros,
            asked: output.asked,
            is_answer: output.is_answer,
            uncached: output.uncached,
            rejected,
            took_ms: started.elapsed().as_millis() as u64,
        })
    }

    /// Returns `None` if the call was stopped.
    async fn attempt(
        &self,
        name: &str,
        arguments: Value,
        context: &Context,
    ) -> Option<Result<Output, ToolError>> {
        let ready = self.entry(name).and_then(|entry| {
            let arguments = entry.prepare(arguments)?;
            Ok((entry, arguments))
        });
        let (entry, arguments) = match ready {
            Ok(ready) => ready,
            Err(error) => return Some(Err(error)),
        };
        if context.cancelled.is_cancelled() {
            return None;
        }
        let context = &entry.with_variables(context);
        let (tool, spec) = (entry.tool.as_ref(), entry.spec.as_ref());
        let once = entry.runs_once(&arguments);
        let arguments = entry.approved(arguments);
        let worker = ToolRunner { tool, spec, sandbox: self.sandbox.as_deref() };
        let run = AssertUnwindSafe(worker.attempt(arguments, context)).catch_unwind();
        tokio::select! {
            // A completed call counts as completed even if it was stopped at the same time.
            biased;
            ended = context.people.bounded(spec.timeout, run) => Some(match ended {
                Some(Ok(result)) => result,
                Some(Err(_panic)) => {
                    tracing::error!(
                        agent.id = context.agent, tool.name = name, call = %context.call,
                        "tool panicked"
                    );
                    Err(ToolError::ExecutionFailed(format!("{name} failed with an internal error and has no result")))
                }
                // It may have taken effect.
                None if once => Err(ToolError::Unknown),
                None => Err(ToolError::Timeout(spec.timeout)),
            }),
            () = context.cancelled.cancelled() => None,
        }
    }

    fn entry(&self, name: &str) -> Result<RegisteredTool, ToolError> {
        let tools = self.tools.read();
        let entry = tools.get(name).cloned().ok_or_else(|| {
            let near = naming::near(name, tools.keys().map(String::as_str));
            ToolError::InvalidParameters(texts::no_such_tool(&cut(name, QUOTED_CHARS), &near))
        })?;
        match &entry.spec.unavailable {
            Some(why) => Err(ToolError::ExecutionFailed(texts::tool_unavailable(name, why))),
            None => Ok(entry),
        }
    }

    /// Checks a tool; an invalid one is not registered.
    fn checked(&self, tool: Arc<dyn Tool>) -> Result<(String, RegisteredTool), RegistrationError> {
        let mut spec = tool.spec();
        let name = spec.name.clone();
        let takes_approval = arguments::without_approval(&mut spec.parameters);
        let schema = compiled(&name, &spec.parameters)?;
        let value = |one: &Variable| Some((one.name.clone(), one.value(&self.environment)?));
        let variables: BTreeMap<_, _> = spec.env.iter().filter_map(value).collect();
        let names = spec.env.iter().map(|variable| variable.name.as_str());
        let missing: Vec<_> = names.filter(|name| !variables.contains_key(*name)).collect();
        if !missing.is_empty() {
            spec.unavailable = Some(texts::variables_missing(&missing));
        } else if spec.domain.program().is_some() {
            spec.unavailable = self.missing_sandbox();
        }
        if spec.rate.is_none() && spec.needs_rate() {
            spec.rate = Some(Rate::default());
        }
        let (spec, schema) = (Arc::new(spec), Arc::new(schema));
        Ok((name, RegisteredTool { tool, spec, schema, variables, takes_approval }))
    }

    /// The reason why no program can run in the sandbox; `None` if programs can run.
    fn missing_sandbox(&self) -> Option<String> {
        match &self.sandbox {
            Some(sandbox) => sandbox.missing().map(str::to_owned),
            None => Some(NO_SANDBOX.to_owned()),
        }
    }
}

/// Names of tools that the agent handles itself, without the toolbox.
fn is_reserved(name: &str) -> bool {
    [disclosure::TOOLS, delegation::TOOLS].as_flattened().contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        agent::catalog::{self, Subject},
        tools::testing::ToolFixture,
    };
    use async_trait::async_trait;
    use serde_json::json;

    /// A tool that does what its argument says.
    struct Sample(ToolSpec);

    impl Sample {
        fn named(name: &str) -> Self {
            let schema = json!({
                "type": "object",
                "properties": {
                    "do": { "type": "string" },
                    "rows": { "type": "array", "items": { "type": "integer" } },
                    "path": { "type": "string" },
                },
                "required": ["do"],
                "additionalProperties": false,
            });
            let mut spec = ToolSpec::read_only(name, "A sample.", schema);
            spec.timeout = Duration::from_millis(50);
            spec.subject = Some(Subject::Path("path"));
            Self(spec)
        }
    }

    #[async_trait]
    impl Tool for Sample {
        fn spec(&self) -> ToolSpec {
            self.0.clone()
        }

        async fn preview(&self, _arguments: &Value, _context: &Context) -> Option<Preview> {
            panic!("no preview today")
        }

        async fn run(&self, arguments: Value, _context: &Context) -> Result<Output, ToolError> {
            match arguments["do"].as_str().unwrap() {
                "panic" => panic!("as told"),
                "hang" => std::future::pending().await,
                "bill" => {
                    let error = Box::new(ToolError::ExternalService("It found nothing".into()));
                    Err(ToolError::Billed { error, cost_micros: 7 })
                }
                "fail" => Err(ToolError::ExecutionFailed("It failed".into())),
                "long" => Ok(Output::text("x".repeat(20_000))),
                _ => Ok(Output::text(arguments.to_string())),
            }
        }
    }

    fn sample() -> Toolbox {
        let toolbox = Toolbox::default();
        toolbox.register(Arc::new(Sample::named("sample"))).unwrap();
        toolbox
    }

    async fn run(toolbox: &Toolbox, arguments: Value) -> (Outcome, String) {
        let result =
            toolbox.run_call("sample", arguments, &ToolFixture::new().context).await.unwrap();
        (result.outcome, result.text)
    }

    /// What a failed call cost counts, and the call is not repeated at the same price.
    #[tokio::test]
    async fn a_failed_call_can_have_a_cost() {
        let arguments = json!({ "do": "bill" });
        let result =
            sample().run_call("sample", arguments, &ToolFixture::new().context).await.unwrap();
        assert_eq!((result.outcome, result.cost_micros), (Outcome::Failed, Some(7)));
        assert_eq!(result.text, "External service: It found nothing");
    }

    /// Proves IC-02, IC-11.
    #[test]
    fn a_name_is_taken_once_and_the_first_stays() {
        let toolbox = sample();
        let mut other = Sample::named("sample");
        other.0.description = "Another.".into();
        assert_eq!(
            toolbox.register(Arc::new(other)),
            Err(RegistrationError::Taken("sample".into()))
        );
        assert_eq!(toolbox.specs()[0].description, "A sample.");
        for name in ["", "Sample", "a-b", "a b", "ä", &"a".repeat(65)] {
            let taken = toolbox.register(Arc::new(Sample::named(name)));
            assert!(matches!(taken, Err(RegistrationError::Name(_))), "{name:?}");
        }
        let mut broken = Sample::named("broken");
        broken.0.parameters = json!({ "type": "nonsense" });
        assert!(matches!(
            toolbox.register(Arc::new(broken)),
            Err(RegistrationError::Schema { .. })
        ));
    }

    /// Proves IC-10, IC-12, IC-13.
    #[test]
    fn tools_are_listed_in_a_stable_order() {
        let toolbox = Toolbox::default();
        assert!(toolbox.specs().is_empty());
        for name in ["b", "c", "a"] {
            toolbox.register(Arc::new(Sample::named(name))).unwrap();
        }
        let names = || toolbox.specs().into_iter().map(|spec| spec.name).collect::<Vec<_>>();
        assert_eq!(names(), ["a", "b", "c"]);
        assert!(toolbox.find("d").is_none() && toolbox.find("b").is_some());
    }

    /// Proves IC-35, CV-13.
    #[test]
    fn validation_errors_name_the_path() {
        let toolbox = sample();
        let fault = |arguments: Value| toolbox.validate("sample", &arguments).unwrap_err();
        assert_eq!(fault(json!({})).to_string(), "Invalid parameters: Missing 'do' parameter");
        let words = fault(json!({ "do": "x", "rows": [1, "2"] })).to_string();
        assert!(words.contains("/rows/1: \"2\" is not of type \"integer\""), "{words}");
        let words = fault(json!({ "do": "x", "rows": "y".repeat(10_000) })).to_string();
        assert!(words.len() < 400, "a fault does not repeat what was sent: {words}");
        assert!(fault(json!({ "do": "x", "extra": 1 })).to_string().contains("extra"));
    }

    /// Proves CA-10, CV-07.
    #[tokio::test]
    async fn arguments_are_made_ready_before_they_are_judged() {
        let toolbox = sample();
        let ready = toolbox
            .prepare("sample", json!("{\"do\":\"x\",\"path\":\"./a//b\",\"approved\":true}"))
            .unwrap();
        assert_eq!(ready, json!({ "do": "x", "path": "a/b" }));
        assert_eq!(toolbox.prepare("sample", ready.clone()).unwrap(), ready);
        let normalized =
            toolbox.normalized("sample", json!({ "Path": "./a//b", "approved": true }));
        assert_eq!(normalized, json!({ "path": "a/b" }), "that `do` is missing is said later");
        for other in [json!({ "path": "../x" }), json!("no JSON"), json!(1)] {
            assert_eq!(toolbox.normalized("sample", other.clone()), other);
        }
        assert_eq!(
            toolbox.normalized("none", json!({ "approved": true })),
            json!({"approved": true})
        );
        let (outcome, text) = run(&toolbox, json!([1])).await;
        assert_eq!(outcome, Outcome::Failed);
        assert_eq!(text, "Invalid parameters: Arguments must be a JSON object or string");
    }

    /// A tool of a server with the name of a built-in one gets a number, and the built-in one is
    /// kept.
    #[test]
    fn a_server_tool_cannot_replace_a_built_in_tool() {
        let toolbox = sample();
        let of = |server: &str, name: &str| {
            let mut tool = Sample::named(name);
            let (server, original_name) = (server.to_owned(), name.to_owned());
            tool.0.source = ToolSource::Mcp { server, original_name };
            Arc::new(tool) as Arc<dyn Tool>
        };
        let offered = ["sample", "enable_tool", "delegate", "free"].map(|name| of("a", name));
        assert_eq!(toolbox.serve("a", offered.into()), (vec![], true));
        let (unfit, changed) = toolbox.serve("b", vec![of("b", "free")]);
        assert_eq!((unfit, changed), (vec![RegistrationError::Taken("free".into())], false));
        let names: Vec<_> = toolbox.specs().into_iter().map(|spec| spec.name).collect();
        assert_eq!(names, ["delegate_2", "enable_tool_2", "free", "sample", "sample_2"]);
        assert_eq!(toolbox.find("sample").unwrap().spec().source, ToolSource::Builtin);
        let delegate = Arc::new(Sample::named("delegate"));
        assert_eq!(toolbox.register(delegate), Err(RegistrationError::Taken("delegate".into())));
    }

    /// Proves T2.
    #[tokio::test]
    async fn a_name_that_is_not_there_is_answered_with_near_ones() {
        let result =
            sample().run_call("sampel", json!({ "do": "x" }), &ToolFixture::new().context).await;
        let result = result.unwrap();
        assert_eq!(result.outcome, Outcome::Failed);
        assert!(result.text.contains("Similar names: sample"), "{}", result.text);
    }

    /// Proves CV-14.
    #[tokio::test]
    async fn a_panic_is_contained() {
        let toolbox = sample();
        let (outcome, text) = run(&toolbox, json!({ "do": "panic" })).await;
        assert_eq!((outcome, text.contains("internal error")), (Outcome::Failed, true), "{text}");
        assert_eq!(run(&toolbox, json!({ "do": "x" })).await.0, Outcome::Done);
        let place = ToolFixture::new();
        let call = Call {
            id: "1".into(),
            model_id: "1".into(),
            tool: "sample".into(),
            arguments: json!({ "do": "x" }),
        };
        assert_eq!(toolbox.preview(&call, &place.context).await, None);
    }

    /// Each tool has its own timeout.
    /// Proves IC-21, T7, MC-48.
    #[tokio::test]
    async fn concurrent_timeouts_last_as_long_as_the_longest() {
        let toolbox = sample();
        let started = Instant::now();
        let (first, second) = tokio::join!(
            run(&toolbox, json!({ "do": "hang" })),
            run(&toolbox, json!({ "do": "hang" }))
        );
        assert!(started.elapsed() < Duration::from_secs(5));
        assert_eq!(first, (Outcome::Failed, "Timed out after 0 s".to_owned()));
        assert_eq!(second.0, Outcome::Failed);
    }

    /// A running call can be stopped.
    /// Proves MC-48.
    #[tokio::test]
    async fn a_stopped_call_is_withdrawn() {
        let mut tool = Sample::named("sample");
        tool.0.timeout = Duration::from_mins(1);
        let toolbox = Toolbox::default();
        toolbox.register(Arc::new(tool)).unwrap();
        let place = ToolFixture::new();
        let call = toolbox.run_call("sample", json!({ "do": "hang" }), &place.context);
        let (result, ()) = tokio::join!(call, async { place.context.cancelled.cancel() });
        assert_eq!(result.unwrap().outcome, Outcome::Withdrawn);
    }

    /// Results are redacted, including those that are stored in files.
    /// Proves S11.
    #[tokio::test]
    async fn a_result_is_redacted_before_it_is_kept_anywhere() {
        let toolbox = Toolbox::with_redactor(Redactor::new(["xxxxxxxxx"]));
        toolbox.register(Arc::new(Sample::named("sample"))).unwrap();
        let place = ToolFixture::new();
        let result = toolbox.run_call("sample", json!({ "do": "long" }), &place.context).await;
        let result = result.unwrap();
        assert!(!result.text.contains("xxxxxxxxx"), "{}", result.text);
        let (_, text) = run(&toolbox, json!({ "do": "password=hunter2hunter2" })).await;
        assert!(!text.contains("hunter2"), "{text}");
    }

    /// Optional properties of a tool have defaults; a result has an outcome, a text and a duration.
    /// Proves CV-01, CA-01, CV-02, IC-15, IC-16, CV-03.
    #[tokio::test]
    async fn tool_specs_have_defaults() {
        let ToolSpec { source, approval, max_usage_count, result_as_answer, cache, .. } =
            ToolSpec::read_only("a", "A.", json!({ "type": "object" }));
        assert_eq!((source, approval), (ToolSource::Builtin, catalog::ApprovalMode::Never));
        assert_eq!((max_usage_count, result_as_answer, cache), (None, false, false));
        let call =
            sample().run_call("sample", json!({ "do": "x" }), &ToolFixture::new().context).await;
        let result = call.unwrap();
        assert_eq!((result.outcome, result.text.as_str()), (Outcome::Done, r#"{"do":"x"}"#));
        assert!(result.took_ms < 60_000 && result.attachments.is_empty());
    }

    /// Proves MC-51.
    #[tokio::test]
    async fn a_failure_is_a_result() {
        let (outcome, text) = run(&sample(), json!({ "do": "fail" })).await;
        assert_eq!((outcome, text.as_str()), (Outcome::Failed, "It failed"));
    }

    /// Proves T8.
    #[tokio::test]
    async fn a_long_result_is_kept_in_the_workspace() {
        let place = ToolFixture::new();
        let result = sample().run_call("sample", json!({ "do": "long" }), &place.context).await;
        let result = result.unwrap();
        assert_eq!(result.outcome, Outcome::Done);
        assert!(result.text.chars().count() <= overflow::LIMIT_CHARS);
        assert_eq!(place.content(".countersign/results/call1.txt").len(), 20_000);
    }
}
