//! Converts results and calls to the types of other agent frameworks, for tools and hosts that are
//! ported. Each conversion and its inverse keep everything that the other type can represent.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::time::Duration;

use super::{Output, ToolError};
use crate::journal::ids::CallId;

pub use crate::journal::event::{Call, Outcome, ToolResult};

/// A result in the form of Corvus.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlainResult {
    pub success: bool,
    pub output: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl From<ToolResult> for PlainResult {
    fn from(result: ToolResult) -> Self {
        match result.outcome {
            Outcome::Done => Self { success: true, output: result.text, error: None },
            _ => Self { success: false, output: String::new(), error: Some(result.text) },
        }
    }
}

impl From<PlainResult> for Result<Output, ToolError> {
    /// An error keeps the output that precedes it.
    fn from(result: PlainResult) -> Self {
        let PlainResult { success, output, error } = result;
        if success {
            return Ok(Output { raw: error, ..Output::text(output) });
        }
        let parts = [error, Some(output)].into_iter().flatten().filter(|part| !part.is_empty());
        Err(ToolError::ExecutionFailed(parts.collect::<Vec<_>>().join("\n")))
    }
}

/// A result in the form of IronClaw. Costs are in millionths of a currency unit.
#[derive(Debug, Clone, PartialEq)]
pub struct ValueResult {
    pub result: Value,
    pub duration: Duration,
    pub cost_micros: Option<u64>,
    pub raw: Option<String>,
}

impl ValueResult {
    pub fn success(result: Value, duration: Duration) -> Self {
        Self { result, duration, cost_micros: None, raw: None }
    }

    pub fn text(text: impl Into<String>, duration: Duration) -> Self {
        Self::success(Value::String(text.into()), duration)
    }

    #[must_use]
    pub fn with_cost(self, cost_micros: u64) -> Self {
        Self { cost_micros: Some(cost_micros), ..self }
    }

    #[must_use]
    pub fn with_raw(self, raw: impl Into<String>) -> Self {
        Self { raw: Some(raw.into()), ..self }
    }
}

impl From<ValueResult> for Output {
    /// A string becomes the text unchanged, any other value becomes JSON. The duration is dropped:
    /// the gateway measures it.
    fn from(result: ValueResult) -> Self {
        let text = match result.result {
            Value::String(text) => text,
            other => other.to_string(),
        };
        Self { raw: result.raw, cost_micros: result.cost_micros, ..Self::text(text) }
    }
}

impl From<ToolResult> for ValueResult {
    /// Text that is a JSON object or array is parsed; any other text becomes a string.
    fn from(result: ToolResult) -> Self {
        let value = match serde_json::from_str(&result.text) {
            Ok(value @ (Value::Object(_) | Value::Array(_))) => value,
            _ => Value::String(result.text),
        };
        let duration = Duration::from_millis(result.took_ms);
        let (cost_micros, raw) = (result.cost_micros, result.raw);
        Self { result: value, duration, cost_micros, raw }
    }
}

/// A result in the form of crewAI.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnswerResult {
    pub result: String,
    #[serde(default)]
    pub result_as_answer: bool,
}

impl From<AnswerResult> for Output {
    fn from(result: AnswerResult) -> Self {
        Self { is_answer: result.result_as_answer, ..Self::text(result.result) }
    }
}

impl From<Output> for AnswerResult {
    fn from(output: Output) -> Self {
        Self { result: output.text, result_as_answer: output.is_answer }
    }
}

/// A call in the form of crewAI.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ToolCalling {
    pub tool_name: String,
    #[serde(default)]
    pub arguments: Option<Map<String, Value>>,
}

/// An alias of [`ToolCalling`].
pub type InstructorToolCalling = ToolCalling;

impl ToolCalling {
    pub fn new(tool_name: impl Into<String>, arguments: Option<Map<String, Value>>) -> Self {
        Self { tool_name: tool_name.into(), arguments }
    }
}

impl From<ToolCalling> for Call {
    /// Gives the call a new id. A call without arguments gets an empty object.
    fn from(calling: ToolCalling) -> Self {
        let id = CallId::new();
        let arguments = Value::Object(calling.arguments.unwrap_or_default());
        Self { model_id: id.to_string(), id, tool: calling.tool_name, arguments }
    }
}

impl From<Call> for ToolCalling {
    fn from(call: Call) -> Self {
        let arguments = match call.arguments {
            Value::Object(arguments) => Some(arguments),
            _ => None,
        };
        Self { tool_name: call.tool, arguments }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn result(output: Output) -> ToolResult {
        let Output { text, raw, cost_micros, .. } = output;
        ToolResult { raw, cost_micros, took_ms: 5, ..ToolResult::text(Outcome::Done, text) }
    }

    /// Proves CV-03.
    #[test]
    fn success_output_and_error_go_both_ways() {
        let done = PlainResult { success: true, output: "hello".into(), error: None };
        let output = Result::from(done.clone()).unwrap();
        assert_eq!(PlainResult::from(result(output)), done);
        let refused = PlainResult { error: Some("no".into()), ..PlainResult::default() };
        assert_eq!(
            Result::<Output, _>::from(refused.clone()),
            Err(ToolError::ExecutionFailed("no".into()))
        );
        let failed = ToolResult::text(Outcome::Failed, "no".into());
        assert_eq!(PlainResult::from(failed), refused);
        let json = json!({ "success": true, "output": "hello" });
        assert_eq!(serde_json::to_value(&done).unwrap(), json);
    }

    /// The cost is exact.
    /// Proves IC-15 … IC-18.
    #[test]
    fn a_value_keeps_its_time_cost_and_raw_text() {
        let took = Duration::from_millis(5);
        let text = ValueResult::text("Hello, world!", took).with_cost(1_000).with_raw("<p>Hello");
        assert_eq!(text.result, json!("Hello, world!"));
        let output = Output::from(text.clone());
        assert_eq!(output.text, "Hello, world!");
        assert_eq!((output.cost_micros, output.raw.as_deref()), (Some(1_000), Some("<p>Hello")));
        assert_eq!(ValueResult::from(result(output)), text);
        let value = ValueResult::success(json!({ "rows": [1, "2"] }), took);
        assert_eq!(ValueResult::from(result(Output::from(value.clone()))), value);
    }

    /// Proves CA-13.
    #[test]
    fn a_result_may_be_the_answer() {
        let answer = Output::as_answer("The capital of France is Paris.");
        assert_eq!(Output::from(AnswerResult::from(answer.clone())), answer);
        let plain: Output = "some output".into();
        assert_eq!(plain, Output::from(String::from("some output")));
        assert_eq!((plain.to_string().as_str(), plain.is_answer), ("some output", false));
        let stored = serde_json::to_string(&answer).unwrap();
        assert_eq!(serde_json::from_str::<Output>(&stored).unwrap(), answer);
        assert_eq!(serde_json::from_str::<Output>(r#"{"text":"some output"}"#).unwrap(), plain);
    }

    /// Proves CA-14.
    #[test]
    fn a_call_goes_both_ways() {
        let arguments = json!({ "query": "Rust" }).as_object().cloned();
        let calling = InstructorToolCalling::new("web_search", arguments);
        let call = Call::from(calling.clone());
        assert_eq!((call.tool.as_str(), &call.arguments["query"]), ("web_search", &json!("Rust")));
        assert_eq!(ToolCalling::from(call), calling);
        assert_eq!(Call::from(ToolCalling::new("now", None)).arguments, json!({}));
    }
}
