//! Sub-agents: who there is to delegate to, and what a call orders of them.
//!
//! Such a call is judged like any other; when it may run, nothing runs: it begins conversations
//! whose place is this one, and their answers end it.

use serde_json::{Value, json};
use std::fmt::Write as _;

use super::catalog::{Coworker, Rate, ToolSpec};
use crate::{
    journal::{event::Call, session::delegation::Task},
    texts,
};

/// Sub-agents of sub-agents of sub-agents; these do their work themselves.
pub const DEPTH: u32 = 3;
/// Tasks of one call.
pub const AT_ONCE: usize = 8;
/// Those that may be at work for one conversation of people, at any depth.
pub const AT_WORK: usize = 16;
/// The longest answer of a sub-agent; the whole of a longer one is in a file.
pub const ANSWER_CHARS: usize = 4_000;

/// What becomes of a call that may run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Order {
    Tasks(Vec<Task>),
    /// It is answered at once.
    Told(String),
    Refused(String),
}

const DELEGATE: &str = "delegate";
const ASK_COWORKER: &str = "ask_coworker";
const LIST_AGENTS: &str = "list_agents";
/// Names that no other tool may have.
pub const TOOLS: [&str; 3] = [DELEGATE, ASK_COWORKER, LIST_AGENTS];

/// What this call orders, if it is one of these. `depth` says how many agents stand above.
pub fn order(call: &Call, coworkers: &[Coworker], depth: u32) -> Option<Order> {
    if coworkers.is_empty() {
        return None;
    }
    let tasks = match call.tool.as_str() {
        LIST_AGENTS => return Some(Order::Told(listed(coworkers))),
        DELEGATE => match call.arguments.get("tasks").and_then(Value::as_array) {
            Some(tasks) if !tasks.is_empty() => tasks.iter().collect(),
            _ => vec![&call.arguments],
        },
        ASK_COWORKER => vec![&call.arguments],
        _ => return None,
    };
    if depth >= DEPTH {
        return Some(Order::Refused(texts::too_deep(DEPTH)));
    }
    if tasks.len() > AT_ONCE {
        return Some(Order::Refused(texts::too_many_tasks(AT_ONCE)));
    }
    let tasks: Result<_, _> = tasks.into_iter().map(|asked| task(asked, coworkers)).collect();
    Some(tasks.map_or_else(Order::Refused, Order::Tasks))
}

/// In this spelling, and in those of other programs.
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

/// Models put names in quotes, in capitals, over two lines.
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

/// The tools with which an agent gives work to these, if there are any. They change nothing by themselves: what a
/// sub-agent does is judged when it does it.
pub fn specs(coworkers: &[Coworker]) -> Vec<ToolSpec> {
    if coworkers.is_empty() {
        return Vec::new();
    }
    let who = listed(coworkers);
    let text = |says: &str| json!({ "type": "string", "description": says });
    let agent = text("Its name");
    let task = text("What to do, with everything that the agent has to know for it");
    let context = text("What is known already");
    let delegate = json!({
        "type": "object",
        "properties": {
            "agent": agent,
            "task": task,
            "context": context,
            "tasks": {
                "type": "array",
                "maxItems": AT_ONCE,
                "description": "Instead of one task, several, which are done side by side",
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
            "question": text("One question, complete in itself"),
            "context": context,
        },
        "required": ["question"],
    });
    vec![
        limited(ToolSpec::read_only(
            DELEGATE,
            &format!(
                "Gives work to another agent, which does it by itself in this workspace and \
                 answers you. It knows nothing of this conversation. Agents:\n{who}"
            ),
            delegate,
        )),
        limited(ToolSpec::read_only(
            ASK_COWORKER,
            &format!(
                "Asks another agent a question. It knows nothing of this conversation. Agents:\n\
                 {who}"
            ),
            ask,
        )),
        ToolSpec::read_only(
            LIST_AGENTS,
            "Lists the agents that can be given work.",
            json!({ "type": "object", "properties": {} }),
        ),
    ]
}

/// What asks models is not free.
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

    fn ordered(tool: &str, arguments: Value, depth: u32) -> Option<Order> {
        let call = Call { id: "a".into(), model_id: "a".into(), tool: tool.into(), arguments };
        order(&call, &coworkers(), depth)
    }

    /// Names as models write them, in the spellings of other programs.
    /// Proves CA-34, CA-35.
    #[test]
    fn a_coworker_is_known_by_its_name_however_it_is_written() {
        let tasks = |agent: &str, text: &str| {
            Some(Order::Tasks(vec![Task { agent: agent.into(), text: text.into() }]))
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
            Some(Order::Refused(
                "Coworker 'x' not found. Available coworkers: Senior Researcher, writer".into()
            ))
        );
        let Some(Order::Refused(why)) = ordered("delegate", json!({ "agent": "writer" }), 0) else {
            panic!("without a task")
        };
        assert_eq!(why, "Invalid parameters: Missing 'task' parameter");
    }

    /// So deep and no deeper; several at once, but not any number.
    /// Proves MC-37.
    #[test]
    fn depth_and_number_are_bounded() {
        let one = json!({ "agent": "writer", "task": "Go" });
        assert!(matches!(ordered("delegate", one.clone(), 2), Some(Order::Tasks(_))));
        assert!(matches!(ordered("delegate", one.clone(), 3), Some(Order::Refused(_))));
        let many = |n: usize| json!({ "tasks": vec![one.clone(); n] });
        let Some(Order::Tasks(tasks)) = ordered("delegate", many(AT_ONCE), 0) else { panic!() };
        assert_eq!(tasks.len(), AT_ONCE);
        assert!(matches!(ordered("delegate", many(AT_ONCE + 1), 0), Some(Order::Refused(_))));
        let Some(Order::Told(list)) = ordered("list_agents", json!({}), 3) else { panic!() };
        assert_eq!(list, "- Senior Researcher: finds things out\n- writer");
    }
}
