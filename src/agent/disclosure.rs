//! How the model learns about tools whose schemas are not in every prompt.
//!
//! The tool listing has one line for each of up to [`LISTED`] tools. If there are more, it has only
//! their numbers and sources, and `find_tool` searches them. `enable_tool` adds a schema at the end
//! of the schemas in the prompt, for the rest of the conversation. All three tools work without
//! I/O, because the catalog is data.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::spec::ToolSpec;
pub use crate::journal::session::LOAD_SKILL;

pub const ENABLE_TOOL: &str = "enable_tool";
pub const FIND_TOOL: &str = "find_tool";
/// Reserved tool names.
pub const TOOLS: [&str; 3] = [ENABLE_TOOL, FIND_TOOL, LOAD_SKILL];

/// The maximum number of tools that are listed individually.
pub const LISTED: usize = 60;
/// The maximum number of tools in a catalog that counts as small.
const SMALL: usize = 20;
/// The maximum number of tools that a search finds.
pub const FOUND: usize = 8;

/// Which schemas are in the prompt from the beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Disclosure {
    /// The core tools.
    #[default]
    Progressive,
    /// All tools.
    Legacy,
    /// All tools, if the catalog is small.
    Direct,
}

impl Disclosure {
    /// Whether the schemas of this number of extension tools are in every prompt.
    pub fn is_at_once(self, extensions: usize) -> bool {
        match self {
            Self::Progressive => false,
            Self::Legacy => true,
            Self::Direct => extensions <= SMALL,
        }
    }
}

/// Whether there are too many extension tools to list each on a line.
pub fn is_large(extensions: usize) -> bool {
    extensions > LISTED
}

/// Parses `names: […]` and the parameters of other programs: `toolName`, `name`.
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

/// Whether a search should enable the best match.
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
        "Searches all tools, including those that are not listed.",
        json!({
            "type": "object",
            "properties": {
                "query": { "type": "string", "description": "What to do, with what, where" },
                "enable": {
                    "type": "boolean",
                    "description": "Enable the best match, if only one tool can be meant"
                }
            },
            "required": ["query"]
        }),
    )
}

pub fn load_skill() -> ToolSpec {
    ToolSpec::read_only(
        LOAD_SKILL,
        "Loads a skill from the list of skills in your instructions. Load the skill before you \
            begin a task that it describes.",
        json!({
            "type": "object",
            "properties": {
                "name": { "type": "string" },
                "file": { "type": "string", "description": "A file that the skill mentions; default SKILL.md" },
                "line": { "type": "integer", "description": "The line at which to continue in a long file" }
            },
            "required": ["name"]
        }),
    )
}
