//! How the model comes to know of tools that are not in every prompt.
//!
//! Up to [`LISTED`] of them stand in a directory, one line each; of more, the directory tells how
//! many there are and where from, and `find_tool` searches them. `enable_tool` puts a schema into
//! the prompt, behind all others and for as long as the conversation lasts. All three tools need
//! no I/O: the catalogue is data.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::spec::ToolSpec;

pub const ENABLE_TOOL: &str = "enable_tool";
pub const FIND_TOOL: &str = "find_tool";
pub const LOAD_SKILL: &str = "load_skill";
/// Names that no other tool may have.
pub const TOOLS: [&str; 3] = [ENABLE_TOOL, FIND_TOOL, LOAD_SKILL];

/// A directory of more tools than that has no line for each.
pub const LISTED: usize = 60;
/// A small catalogue has no more tools than that.
const SMALL: usize = 20;
/// How many tools a search finds at most.
pub const FOUND: usize = 8;

/// Which schemas are in the prompt from the beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Disclosure {
    /// Those of the core tools.
    #[default]
    Progressive,
    /// All.
    Legacy,
    /// All, as long as there are few.
    Direct,
}

impl Disclosure {
    /// Whether so many extension tools are in every prompt.
    pub fn is_at_once(self, extensions: usize) -> bool {
        match self {
            Self::Progressive => false,
            Self::Legacy => true,
            Self::Direct => extensions <= SMALL,
        }
    }
}

/// `names: […]`, and the spellings of other programs: `toolName`, `name`.
pub fn names_in(arguments: &Value) -> Vec<String> {
    let one = |key: &str| arguments.get(key).and_then(Value::as_str).map(str::to_owned);
    match arguments.get("names") {
        Some(Value::Array(names)) => {
            names.iter().filter_map(|n| n.as_str().map(str::to_owned)).collect()
        }
        Some(Value::String(name)) => vec![name.clone()],
        _ => one("toolName").or_else(|| one("name")).into_iter().collect(),
    }
}

pub fn query_in(arguments: &Value) -> String {
    let query = arguments.get("query").and_then(Value::as_str).unwrap_or_default();
    query.trim().to_owned()
}

/// Whether a search is to enable the best that it finds.
pub fn enables(arguments: &Value) -> bool {
    arguments.get("enable").and_then(Value::as_bool) == Some(true)
}

pub fn enable_tool() -> ToolSpec {
    ToolSpec::read_only(
        ENABLE_TOOL,
        "Makes more tools callable, from your next step on and for the rest of this conversation.",
        json!({
            "type": "object",
            "properties": {
                "names": {
                    "type": "array",
                    "items": { "type": "string" }
                }
            },
            "required": ["names"]
        }),
    )
}

pub fn find_tool() -> ToolSpec {
    ToolSpec::read_only(
        FIND_TOOL,
        "Searches all tools that are not listed to you.",
        json!({
            "type": "object",
            "properties": {
                "query": { "type": "string", "description": "What is to be done, to what, where" },
                "enable": {
                    "type": "boolean",
                    "description": "Make the best one callable at once: when only one can be meant"
                }
            },
            "required": ["query"]
        }),
    )
}

pub fn load_skill() -> ToolSpec {
    ToolSpec::read_only(
        LOAD_SKILL,
        "Loads know-how from the list of skills in your instructions. Load the skill before you \
         begin a task that it describes.",
        json!({
            "type": "object",
            "properties": {
                "name": { "type": "string" },
                "file": { "type": "string", "description": "A file that the skill mentions; SKILL.md if left out" },
                "line": { "type": "integer", "description": "Where to go on in a long file" }
            },
            "required": ["name"]
        }),
    )
}
