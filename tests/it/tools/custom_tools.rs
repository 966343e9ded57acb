//! Tools that are made of documented functions.

use countersign::{
    testing::{
        journal::role::Role,
        scripted::{call, say},
    },
    tools::custom::{ApprovalMode, Context, EffectClass, Tool as _, ToolSpec, Variable, tool},
};
use insta::assert_snapshot;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::sync::Arc;

use crate::{
    story,
    support::{http::Served, stable_output::stable, world::World},
};

/// Returns the factorial of a number.
///
/// Of 0 that is 1.
#[tool]
fn factorial(
    /// From 0 to 20
    n: u64,
) -> Result<u64, &'static str> {
    (1..=n).try_fold(1, u64::checked_mul).ok_or("the maximum is 20")
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Point {
    x: f64,
    y: f64,
}

/// Moves a point.
#[tool(effect = EffectClass::AtMostOnce, approval = ApprovalMode::UnlessAllowed)]
async fn move_point(
    context: &Context,
    /// Where it is
    point: Point,
    /// How far to the right; not at all if left out
    right: Option<f64>,
) -> (String, Point) {
    let moved = Point { x: point.x + right.unwrap_or_default(), ..point };
    (std::future::ready(context.person.name.clone()).await, moved)
}

/// Says the same again.
#[tool]
fn say_again(
    /// What to say
    message: String,
) -> String {
    message
}

/// Proves MC-54.
#[test]
fn a_function_declares_everything_about_its_tool() {
    let spec = Factorial.spec();
    assert_eq!(spec.name, "factorial");
    assert_eq!(spec.description, "Returns the factorial of a number.\n\nOf 0 that is 1.");
    let parameters = json!({
        "type": "object",
        "properties": { "n": { "type": "integer", "minimum": 0, "description": "From 0 to 20" } },
        "required": ["n"],
        "additionalProperties": false,
    });
    assert_eq!(spec.parameters, parameters);
    let plain = ToolSpec::read_only(&spec.name, &spec.description, parameters);
    assert_eq!(spec, plain, "it changes nothing, unless it says so");
    let spec = MovePoint.spec();
    assert_eq!((spec.name.as_str(), spec.effect), ("move_point", EffectClass::AtMostOnce));
    assert_eq!(spec.approval, ApprovalMode::UnlessAllowed);
    assert_eq!(spec.parameters["required"], json!(["point"]));
    let right = &spec.parameters["properties"]["right"];
    assert_eq!(right["description"], "How far to the right; not at all if left out");
}

story! {
    /// The model reads the return value of a function, its errors and invalid arguments. A tool
    /// with side effects requires an approval.
    /// Proves MC-54, IC-05, IC-19, CA-05, CA-09, CA-21.
    async fn a_function_is_a_tool(world: &mut World) {
        world.tools = vec![Arc::new(Factorial), Arc::new(MovePoint), Arc::new(SayAgain)];
        for (tool, arguments) in [
            ("factorial", json!({ "n": 5 })),
            ("factorial", json!({ "n": 21 })),
            ("factorial", json!({ "n": "five" })),
            ("factorial", json!({})),
            ("say_again", json!({ "message": "hello" })),
            ("move_point", json!({ "point": { "x": 1.0, "y": 2.0 }, "right": 0.5 })),
        ] {
            world.model_will(call(tool, arguments));
        }
        world.model_will(say("Done."));
        world.ann_says("go").await;
        assert_snapshot!(world.last(), @r"Allow **move\_point**? … Requested by Ann. Open until 2026-05-04 10:30 UTC, code `<code>`. [Allow once] [Allow in this conversation] [Always…] [Deny]");
        world.ann_presses("Allow once").await;
        let results = world.results().await;
        assert_eq!(results[..2], ["120", "the maximum is 20"]);
        assert_snapshot!(stable(&results[2]), @r#"Invalid parameters: /n: "five" is not of type "integer""#);
        assert_snapshot!(stable(&results[3]), @"Invalid parameters: Missing 'n' parameter");
        assert_eq!(results[4..], ["hello", r#"["Ann",{"x":1.5,"y":2.0}]"#]);
    }
}

/// Says how often it may say it.
#[tool(max_usage_count = Some(1), result_as_answer = true)]
fn once(
    /// What to say
    message: String,
) -> String {
    message
}

/// Never runs.
#[tool(max_usage_count = Some(0))]
fn never() -> String {
    unreachable!("its limit is none at all")
}

story! {
    /// The limits and flags of a function apply. A call with invalid arguments does not count. A
    /// limit of zero is valid: the tool never runs.
    /// Proves CA-06, CA-07, CA-11.
    async fn limits_of_a_function_hold(world: &mut World) {
        world.tools = vec![Arc::new(Once), Arc::new(Never)];
        assert_eq!((Once.spec().max_usage_count, Once.spec().result_as_answer), (Some(1), true));
        world.model_will(call("once", json!({ "message": 7 })));
        world.model_will(call("once", json!({ "message": "the answer" })));
        world.ann_says("say it").await;
        assert_eq!(world.last(), "the answer");
        assert_eq!(world.prompts().len(), 2, "nobody was asked about the answer");
        world.model_will(call("once", json!({ "message": "again" })));
        world.model_will(call("never", json!({})));
        world.model_will(say("That was all."));
        world.ann_says("again").await;
        let results = world.results().await;
        assert_snapshot!(stable(&results.join("\n")), @r#"
        Invalid parameters: /message: 7 is not of type "string"
        the answer
        Tool 'once' has reached its maximum usage limit of 1 times and cannot be used anymore in this conversation. Continue without it; the person can start a new conversation with /new.
        Tool 'never' has reached its maximum usage limit of 0 times and cannot be used anymore in this conversation. Continue without it; the person can start a new conversation with /new.
        "#);
    }
}

/// Tells the weather.
#[tool(env = vec![Variable::required("WEATHER_KEY"), Variable::with_default("WEATHER_UNIT", "°C")])]
fn weather(
    context: &Context,
    /// Where
    town: String,
) -> String {
    let read = |name: &str| context.variable(name).unwrap_or("nothing").to_owned();
    let (unit, key, path) = (read("WEATHER_UNIT"), read("WEATHER_KEY"), read("PATH"));
    format!("{town}: 7 {unit}, asked with {key}, found in {path}")
}

story! {
    /// A tool without a required variable is not offered; agents and operators see which one is
    /// missing. With it, the tool can read the variables that it declares and no others. A required
    /// variable is a secret.
    /// Proves CA-29, IC-02.
    async fn a_tool_without_its_variable_is_unavailable_and_says_why(world: &mut World) {
        world.tools = vec![Arc::new(Weather), Arc::new(SayAgain)];
        world.config.agents[0].tools = vec!["weather".into(), "say_again".into()];
        world.variables.insert("PATH".into(), "/usr/bin".into());
        world.variables.insert("WEATHER_KEY".into(), " ".into());
        world.model_will(call("weather", json!({ "town": "Bonn" })));
        world.model_will(call("enable_tool", json!({ "names": ["weather"] })));
        world.model_will(say("I cannot know."));
        world.ann_says("How is the weather?").await;
        let offered = format!("{:?}", world.prompts()[0]);
        assert!(offered.contains("say_again") && !offered.contains("weather\""), "{offered}");
        let results = world.results().await;
        assert_snapshot!(stable(&results[..2].join("\n")), @"
        `weather` cannot be used here: the environment variable WEATHER_KEY is not set. You cannot change that.
        `weather` cannot be used here: the environment variable WEATHER_KEY is not set. You cannot change that.
        ");
        let served = Served::of(world).await;
        let token = served.token("viewer", Role::Viewer).await;
        let tool = served.get(&token, "/tools/weather").await;
        let why = "the environment variable WEATHER_KEY is not set";
        assert_eq!((&tool["enabled"], &tool["unavailable"]), (&json!(true), &json!(why)));
        assert_eq!(served.get(&token, "/tools/say_again").await["unavailable"], json!(null));

        world.variables.insert("WEATHER_KEY".into(), "key-of-the-weather".into());
        world.model_will(call("weather", json!({ "town": "Bonn" })));
        world.model_will(say("It is cold."));
        world.ann_says("And now?").await;
        let told = "Bonn: 7 °C, asked with …, found in nothing";
        assert_eq!(world.results().await.last().map(String::as_str), Some(told));
    }
}
