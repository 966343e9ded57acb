//! Delegation: the agents that can be delegated to, and the tasks of a delegating call.
//!
//! The guard judges such a call like any other. Once cleared, it runs no tool but starts
//! conversations in the same place, whose answers end the call.

use serde_json::{Value, json};
use std::fmt::Write as _;

use super::catalog::{Coworker, Rate, ToolSpec};
use crate::{
    journal::{event::Call, session::delegation::Task},
    texts,
};

/// The maximum depth of sub-agents. Agents at this depth cannot delegate.
pub const DEPTH: u32 = 3;
/// The maximum number of tasks in one call.
pub const AT_ONCE: usize = 8;
/// The maximum number of running sub-agents per conversation, at any depth.
pub const AT_WORK: usize = 16;
/// The maximum length of a sub-agent's answer; a longer one is stored in a file.
pub const ANSWER_CHARS: usize = 4_000;

/// What a cleared call does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DelegationCall {
    Tasks(Vec<Task>),
    /// Answered immediately with this text.
    Reply(String),
    Refused(String),
}

const DELEGATE: &str = "delegate";
const ASK_COWORKER: &str = "ask_coworker";
const LIST_AGENTS: &str = "list_agents";
/// Reserved tool names.
pub const TOOLS: [&str; 3] = [DELEGATE, ASK_COWORKER, LIST_AGENTS];

/// The tasks of this call, if it is one of these tools. `depth` is the number of agents above this
/// one.
pub fn delegated(call: &Call, coworkers: &[Coworker], depth: u32) -> Option<DelegationCall> {
    if coworkers.is_empty() {
        return None;
    }
    let tasks = match call.tool.as_str() {
        LIST_AGENTS => return Some(DelegationCall::Reply(listed(coworkers))),
        DELEGATE => match call.arguments.get("tasks").and_then(Value::as_array) {
            Some(tasks) if !tasks.is_empty() => tasks.iter().collect(),
            _ => vec![&call.arguments],
        },
        ASK_COWORKER => vec![&call.arguments],
        _ => return None,
    };
    if depth >= DEPTH {
        return Some(DelegationCall::Refused(texts::too_deep(DEPTH)));
    }
    if tasks.len() > AT_ONCE {
        return Some(DelegationCall::Refused(texts::too_many_tasks(AT_ONCE)));
    }
    let tasks: Result<_, _> = tasks.into_iter().map(|asked| task(asked, coworkers)).collect();
    Some(tasks.map_or_else(DelegationCall::Refused, DelegationCall::Tasks))
}

/// Accepts the parameter names of other programs as well.
fn task(asked: &Value, coworkers: &[Coworker]) -> Result<Task, String> {
    let text = |keys: &[&str]| {
        let found = keys.iter().find_map(|key| asked.get(key)?.as_str());
        found.map(str::trim).filter(|text| !text.is_empty())
    };
    let missing = |name: &str| format!("Invalid parameters: Missing '{name}' parameter");
    let name = text(&["agent", "coworker", "agentName", "agent_name", "co_worker"]);
    let name = name.ok_or_else(|| missing("agent"))?;
    let mut words = text(&["task", "question"]).ok_or_else(|| missing("task"))?.to_owned();
    if let Some(context) = text(&["context"]) {
        let _ = write!(words, "\n\nContext:\n{context}");
    }
    let known = coworkers.iter().find(|coworker| plain(&coworker.id) == plain(name));
    let known = known.ok_or_else(|| {
        let ids = coworkers.iter().map(|c| c.id.as_str()).collect::<Vec<_>>().join(", ");
        texts::no_such_coworker(name, &ids)
    })?;
    Ok(Task { agent: known.id.clone(), text: words })
}

/// Models write names in quotes, in capitals or over two lines.
fn plain(name: &str) -> String {
    let name = name.to_lowercase().replace(['"', '\'', '`', '\u{201c}', '\u{201d}'], "");
    name.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn listed(coworkers: &[Coworker]) -> String {
    let line = |Coworker { id, description }: &Coworker| match description.trim() {
        "" => format!("- {id}"),
        says => format!("- {id}: {says}"),
    };
    coworkers.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// The delegation tools, if there are agents to delegate to. They have no side effects of their
/// own: the calls of a sub-agent are judged when it makes them.
pub fn specs(coworkers: &[Coworker]) -> Vec<ToolSpec> {
    if coworkers.is_empty() {
        return Vec::new();
    }
    let who = listed(coworkers);
    let text = |says: &str| json!({ "type": "string", "description": says });
    let agent = text("The name of the agent");
    let task = text("What to do, with all information that the agent needs");
    let context = text("What is already known");
    let delegate = json!({
        "type": "object",
        "properties": {
            "agent": agent,
            "task": task,
            "context": context,
            "tasks": {
                "type": "array",
                "maxItems": AT_ONCE,
                "description": "Several tasks instead of one, which run in parallel",
                "items": {
                    "type": "object",
                    "properties": { "agent": agent, "task": task, "context": context },
                    "required": ["task"],
                },
            },
        },
    });
    let ask = json!({
        "type": "object",
        "properties": {
            "coworker": agent,
            "question": text("A complete, self-contained question"),
            "context": context,
        },
        "required": ["question"],
    });
    vec![
        limited(ToolSpec::read_only(
            DELEGATE,
            &format!(
                "Delegates work to another agent, which works independently in this workspace and \
                    returns its answer. It knows nothing about this conversation. Agents:\n{who}"
            ),
            delegate,
        )),
        limited(ToolSpec::read_only(
            ASK_COWORKER,
            &format!(
                "Asks another agent a question. It knows nothing about this conversation. \
                    Agents:\n{who}"
            ),
            ask,
        )),
        ToolSpec::read_only(
            LIST_AGENTS,
            "Lists the agents that work can be delegated to.",
            json!({ "type": "object", "properties": {} }),
        ),
    ]
}

/// Adds the default rate limit, because these tools cost model requests.
fn limited(spec: ToolSpec) -> ToolSpec {
    ToolSpec { rate: Some(Rate::default()), ..spec }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn coworkers() -> Vec<Coworker> {
        let coworker =
            |id: &str, says: &str| Coworker { id: id.into(), description: says.to_owned() };
        vec![coworker("Senior Researcher", "finds things out"), coworker("writer", "")]
    }

    fn ordered(tool: &str, arguments: Value, depth: u32) -> Option<DelegationCall> {
        let call = Call { id: "a".into(), model_id: "a".into(), tool: tool.into(), arguments };
        delegated(&call, &coworkers(), depth)
    }

    /// Accepts names as models write them and the parameter names of other programs.
    /// Proves CA-34, CA-35.
    #[test]
    fn a_coworker_is_known_by_its_name_however_it_is_written() {
        let tasks = |agent: &str, text: &str| {
            Some(DelegationCall::Tasks(vec![Task { agent: agent.into(), text: text.into() }]))
        };
        for (tool, arguments, expected) in [
            ("delegate", json!({ "agent": "writer", "task": "Go" }), tasks("writer", "Go")),
            (
                "delegate",
                json!({ "coworker": " \"senior\n  RESEARCHER\" ", "task": "Look", "context": "x" }),
                tasks("Senior Researcher", "Look\n\nContext:\nx"),
            ),
            ("delegate", json!({ "agentName": "'Writer'", "task": "Go" }), tasks("writer", "Go")),
            (
                "ask_coworker",
                json!({ "question": "Why?", "context": "y", "coworker": "WRITER" }),
                tasks("writer", "Why?\n\nContext:\ny"),
            ),
            ("shell", json!({}), None),
        ] {
            assert_eq!(ordered(tool, arguments.clone(), 0), expected, "{tool} {arguments}");
        }
        assert_eq!(
            ordered("delegate", json!({ "agent": "x", "task": "Go" }), 0),
            Some(DelegationCall::Refused(
                "Coworker 'x' not found. Available coworkers: Senior Researcher, writer".into()
            ))
        );
        let Some(DelegationCall::Refused(why)) =
            ordered("delegate", json!({ "agent": "writer" }), 0)
        else {
            panic!("without a task")
        };
        assert_eq!(why, "Invalid parameters: Missing 'task' parameter");
    }

    /// The depth and the number of tasks are bounded.
    /// Proves MC-37.
    #[test]
    fn depth_and_number_are_bounded() {
        let one = json!({ "agent": "writer", "task": "Go" });
        assert!(matches!(ordered("delegate", one.clone(), 2), Some(DelegationCall::Tasks(_))));
        assert!(matches!(ordered("delegate", one.clone(), 3), Some(DelegationCall::Refused(_))));
        let many = |n: usize| json!({ "tasks": vec![one.clone(); n] });
        let Some(DelegationCall::Tasks(tasks)) = ordered("delegate", many(AT_ONCE), 0) else {
            panic!()
        };
        assert_eq!(tasks.len(), AT_ONCE);
        assert!(matches!(
            ordered("delegate", many(AT_ONCE + 1), 0),
            Some(DelegationCall::Refused(_))
        ));
        let Some(DelegationCall::Reply(list)) = ordered("list_agents", json!({}), 3) else {
            panic!()
        };
        assert_eq!(list, "- Senior Researcher: finds things out\n- writer");
    }
}
