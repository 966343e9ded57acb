//! How the model comes to know of tools that are not in every prompt.
//!
//! Up to [`LISTED`] of them stand in a directory, one line each; of more, the directory tells how
//! many there are and where from, and `find_tool` searches them. `enable_tool` puts a schema into
//! the prompt, behind all others and for as long as the conversation lasts. All three tools need
//! no I/O: the catalogue is data.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::{collections::BTreeMap, fmt::Write as _};

use super::catalog::{Catalog, Source, ToolSpec};

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
/// Of what a tool says about itself, in a line.
const LINE_CHARS: usize = 100;
/// Servers whose tools are counted one by one; what the others have is counted together.
const COUNTED: usize = 40;

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

/// What the instructions say about the tools that are not in every prompt.
pub fn directory(catalog: &Catalog) -> String {
    let (own, served): (Vec<_>, Vec<_>) =
        catalog.extensions().partition(|spec| spec.source == Source::Builtin);
    let mut text = String::new();
    if own.is_empty() && served.is_empty() {
        return text;
    }
    text.push_str(HEADING);
    if catalog.is_large() {
        text.push_str(FIND);
        text.push_str(&counts(&served));
    } else {
        text.push_str(ENABLE);
    }
    for spec in own.iter().take(LISTED) {
        let _ = write!(text, "\n- {}: {}", spec.name, line(spec));
    }
    if !catalog.is_large() {
        for (server, specs) in by_server(&served) {
            let _ = write!(text, "\nOf the server {server}:");
            for spec in specs {
                let _ = write!(text, "\n- {}: {}", spec.name, line(spec));
            }
        }
    }
    text
}

const HEADING: &str = "\n\n## More tools\n";
const ENABLE: &str = "Call `enable_tool` with their names before you use them:";
const FIND: &str = "Call `find_tool` with what is to be done, then `enable_tool` with the names of \
    the tools that fit.";

/// What a search has found: enough to choose, and to enable.
pub fn told(catalog: &Catalog, found: &[&ToolSpec], enabled: &[String]) -> String {
    let all = catalog.extensions().count();
    if found.is_empty() {
        return format!("None of {all} tools is about that. Try other words, in English too.");
    }
    let mut text = format!("{} of {all} tools, the best first:", found.len());
    for spec in found {
        let _ = write!(text, "\n- {}: {}", spec.name, line(spec));
        let parameters = parameters(&spec.parameters);
        if !parameters.is_empty() {
            let _ = write!(text, " ({})", parameters.join(", "));
        }
        if enabled.contains(&spec.name) {
            text.push_str(" [callable]");
        }
    }
    text
}

/// `title`, and `labels?` where it can be left out.
fn parameters(schema: &Value) -> Vec<String> {
    let required = schema.get("required").and_then(Value::as_array);
    let needed = |name: &str| required.is_some_and(|all| all.iter().any(|one| one == name));
    let properties = schema.get("properties").and_then(Value::as_object);
    let names = properties.into_iter().flat_map(|properties| properties.keys());
    names.map(|name| if needed(name) { name.clone() } else { format!("{name}?") }).collect()
}

/// ` There are 97 tools of servers: github (40), mail (57).`
fn counts(served: &[&ToolSpec]) -> String {
    let mut text = format!(" There are {} tools of servers: ", served.len());
    let servers = by_server(served);
    let named = servers.iter().take(COUNTED);
    let named: Vec<_> = named.map(|(server, s)| format!("{server} ({})", s.len())).collect();
    text.push_str(&named.join(", "));
    let others: usize = servers.values().skip(COUNTED).map(Vec::len).sum();
    if others > 0 {
        let _ = write!(text, ", others ({others})");
    }
    text.push('.');
    text
}

fn by_server<'a>(specs: &[&'a ToolSpec]) -> BTreeMap<&'a str, Vec<&'a ToolSpec>> {
    let mut servers: BTreeMap<&str, Vec<&ToolSpec>> = BTreeMap::new();
    for spec in specs {
        if let Source::Mcp { server, .. } = &spec.source {
            servers.entry(server).or_default().push(spec);
        }
    }
    servers
}

/// The first line of what it says about itself, cut where a word ends.
fn line(spec: &ToolSpec) -> &str {
    let line = spec.description.lines().next().unwrap_or_default();
    let Some((end, _)) = line.char_indices().nth(LINE_CHARS) else { return line };
    let cut = &line[..end];
    cut.rfind(' ').map_or(cut, |at| &cut[..at])
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
        "Makes tools of the directory callable, from your next step on and for the rest of this \
         conversation.",
        json!({
            "type": "object",
            "properties": {
                "names": {
                    "type": "array",
                    "items": { "type": "string" },
                    "description": "Names from the directory in your instructions"
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
                "file": { "type": "string", "description": "A file that the skill mentions; SKILL.md if left out" }
            },
            "required": ["name"]
        }),
    )
}

#[cfg(test)]
#[path = "disclosure_tests.rs"]
mod tests;
