//! `hit_cache`: shows the result of an earlier call again, without running it. It reads the journal,
//! so it also finds calls that a summary has replaced in the prompt.

use anyhow::Result;
use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use std::{collections::BTreeMap, sync::Arc};

use super::{
    Context, Output, Tool, ToolError,
    contract::arguments::{parse, schema},
};
use crate::{
    agent::catalog::{Tier, ToolSpec},
    journal::{
        event::{Call, Entry, Event, Outcome, Seq, ToolResult},
        ids::ConversationId,
    },
    store::{
        Store,
        conversations::history::{self, EventRange},
    },
};

const ABOUT: &str = "Shows an earlier result again.\nThe tool does not run. For results that are no longer \
    in the conversation. Returns null if there is none.";

/// How many events are read at once, and in all. The search goes back to the last `/new`.
const PAGE: usize = 100;
const MAX_EVENTS: usize = 10_000;

/// The tool that reads earlier results.
pub fn tools(store: &Store) -> Vec<Arc<dyn Tool>> {
    vec![Arc::new(HitCache { store: store.clone() })]
}

/// `hit_cache`
struct HitCache {
    store: Store,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CacheArguments {
    /// tool:NAME|input:ARGUMENTS, with the arguments of the call as a JSON object, or as name=value
    /// if there was one only. Without arguments, the last call of the tool.
    key: String,
}

/// The call that a key refers to.
#[derive(Debug, PartialEq)]
struct CallKey {
    tool: String,
    input: CallInput,
}

#[derive(Debug, PartialEq)]
enum CallInput {
    Any,
    Arguments(Value),
    One { name: String, value: String },
}

impl CallKey {
    fn parse(key: &str) -> Result<Self, ToolError> {
        let parts = key.trim().strip_prefix("tool:").and_then(|rest| rest.split_once("|input:"));
        let (tool, input) = parts.filter(|(tool, _)| !tool.trim().is_empty()).ok_or_else(|| {
            let wanted = "tool:NAME|input:ARGUMENTS, for example tool:web_search|input:query=bees";
            ToolError::InvalidParameters(format!("the key must have the form {wanted}"))
        })?;
        let input = input.trim();
        let input = match serde_json::from_str(input) {
            Ok(arguments @ Value::Object(_)) => CallInput::Arguments(arguments),
            _ if input.is_empty() => CallInput::Any,
            _ => match input.split_once('=') {
                Some((name, value)) => {
                    CallInput::One { name: name.trim().into(), value: value.trim().into() }
                }
                None => {
                    return Err(ToolError::InvalidParameters(
                        "the input must be a JSON object, name=value, or empty".into(),
                    ));
                }
            },
        };
        Ok(Self { tool: tool.trim().into(), input })
    }

    fn matches(&self, call: &Call) -> bool {
        call.tool == self.tool
            && match &self.input {
                CallInput::Any => true,
                CallInput::Arguments(arguments) => call.arguments == *arguments,
                CallInput::One { name, value } => {
                    let only = call.arguments.as_object().filter(|all| all.len() == 1);
                    let given = only.and_then(|all| all.get(name));
                    given.is_some_and(|given| match given.as_str() {
                        Some(text) => text == value,
                        None => serde_json::from_str::<Value>(value).is_ok_and(|it| it == *given),
                    })
                }
            }
    }
}

#[async_trait]
impl Tool for HitCache {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            tier: Tier::Extension,
            ..ToolSpec::read_only("hit_cache", ABOUT, schema::<CacheArguments>())
        }
    }

    async fn run(&self, arguments: Value, context: &Context) -> Result<Output, ToolError> {
        let CacheArguments { key } = parse(arguments)?;
        let key = CallKey::parse(&key)?;
        let found = self.find(&context.conversation, &key).await.map_err(|error| {
            tracing::error!(problem = format!("{error:#}"), "the journal is unavailable");
            ToolError::ExecutionFailed("The results are unavailable: try again later".into())
        })?;
        let text = found.map_or_else(|| "null".to_owned(), |result| result.text);
        Ok(Output { uncached: true, ..Output::text(text) })
    }
}

impl HitCache {
    /// The last result of a matching call that succeeded and may be reused. Goes back through the
    /// journal; the results of a reply are recorded after it, and before the next reply.
    async fn find(
        &self,
        conversation: &ConversationId,
        key: &CallKey,
    ) -> Result<Option<ToolResult>> {
        let mut results = BTreeMap::new();
        let mut before = Seq::MAX;
        for _ in 0..MAX_EVENTS / PAGE {
            let page = self.events(conversation, EventRange { after: 0, before }).await?;
            let Some(first) = page.first() else { return Ok(None) };
            before = first.seq;
            for entry in page.into_iter().rev() {
                match entry.event {
                    Event::Restarted { .. } => return Ok(None),
                    Event::ToolFinished { call, result } => {
                        results.insert(call, result);
                    }
                    Event::Replied { calls, .. } => {
                        let ended = std::mem::take(&mut results);
                        let matching = calls.iter().rev().filter(|call| key.matches(call));
                        let found = matching.filter_map(|call| ended.get(&call.id));
                        let mut usable = found.filter(|result| is_usable(result));
                        if let Some(result) = usable.next() {
                            return Ok(Some(result.clone()));
                        }
                    }
                    _ => {}
                }
            }
        }
        Ok(None)
    }

    async fn events(&self, conversation: &ConversationId, range: EventRange) -> Result<Vec<Entry>> {
        let conversation = conversation.clone();
        let page = self.store.read(move |tx| {
            Box::pin(async move { history::events_within(tx, &conversation, range, PAGE).await })
        });
        page.await
    }
}

fn is_usable(result: &ToolResult) -> bool {
    result.outcome == Outcome::Done && !result.uncached
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::ids::CallId;
    use serde_json::json;

    #[test]
    fn a_key_names_a_tool_and_its_arguments() {
        let call = |arguments: Value| Call {
            id: CallId("1".into()),
            model_id: "1".into(),
            tool: "web_search".into(),
            arguments,
        };
        let matches =
            |key: &str, arguments: Value| CallKey::parse(key).unwrap().matches(&call(arguments));
        let bees = || json!({ "query": "wild bees" });
        assert!(matches("tool:web_search|input:query=wild bees", bees()));
        assert!(matches(r#"tool:web_search|input:{"query": "wild bees"}"#, bees()));
        assert!(matches(" tool: web_search |input:", bees()));
        assert!(matches("tool:web_search|input:count=3", json!({ "count": 3 })));
        assert!(!matches("tool:web_search|input:query=bees", bees()));
        assert!(!matches(
            "tool:web_search|input:query=bees",
            json!({ "query": "bees", "count": 3 })
        ));
        assert!(!matches("tool:web_fetch|input:", bees()));
        for wrong in ["", "web_search", "tool:web_search", "tool:|input:", "tool:a|input:bees"] {
            let error = CallKey::parse(wrong).unwrap_err();
            assert!(matches!(error, ToolError::InvalidParameters(_)), "{wrong}: {error}");
        }
    }
}
