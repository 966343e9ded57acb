//! The listing of tools whose schemas are not in every prompt.

use serde_json::Value;
use std::{collections::BTreeMap, fmt::Write as _};

use super::{
    disclosure::{LISTED, is_large},
    spec::{ToolSource, ToolSpec},
    tool_family::{families_of, is_in_family},
};

/// The maximum length of a tool's line.
const LINE_CHARS: usize = 100;
/// The maximum number of servers that are named.
const NAMED_SERVERS: usize = 10;

/// The listing, as part of the description of `enable_tool`'s argument. It precedes the
/// instructions there, so it stays in the provider's cache when a tool is enabled. Unlike the
/// description of a tool, that of an argument may have any length.
pub fn directory(extensions: &[&ToolSpec]) -> String {
    let is_served = |spec: &&ToolSpec| matches!(spec.source, ToolSource::Mcp { .. });
    let (served, own): (Vec<_>, Vec<_>) = extensions.iter().copied().partition(is_served);
    let in_family = |spec: &&&ToolSpec| spec.source == ToolSource::Builtin && is_in_family(spec);
    let families: Vec<_> = own.iter().filter(in_family).copied().collect();
    let mut text = String::new();
    if own.is_empty() && served.is_empty() {
        return text;
    }
    if is_large(extensions.len()) {
        text.push_str(FOUND);
        text.push_str(&servers_of(&served));
    } else {
        text.push_str(THESE);
    }
    for spec in own.iter().filter(|spec| !in_family(spec)).take(LISTED) {
        let _ = write!(text, "\n- {}: {}", spec.name, line(spec));
    }
    for family in families_of(&families) {
        let _ = write!(text, "\n- {}: {}", family.name, family.about);
    }
    if !is_large(extensions.len()) {
        for (server, specs) in by_server(&served) {
            let _ = write!(text, "\nOf the server {server}:");
            for spec in specs {
                let _ = write!(text, "\n- {}: {}", spec.name, line(spec));
            }
        }
    }
    text
}

const THESE: &str = "Of these tools:";
const FOUND: &str = "Of what `find_tool` finds, or of the list below.";

/// The result of a search in this number of tools: what the model needs to choose and enable them.
pub fn search_result(all: usize, found: &[&ToolSpec], enabled: &[String]) -> String {
    if found.is_empty() {
        return format!("No match among {all} tools. Try other words, also in English.");
    }
    let mut text = format!("{} of {all} tools, best match first:", found.len());
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

/// `title`, and `labels?` if it is optional.
fn parameters(schema: &Value) -> Vec<String> {
    let required = schema.get("required").and_then(Value::as_array);
    let needed = |name: &str| required.is_some_and(|all| all.iter().any(|one| one == name));
    let properties = schema.get("properties").and_then(Value::as_object);
    let names = properties.into_iter().flat_map(|properties| properties.keys());
    names.map(|name| if needed(name) { name.clone() } else { format!("{name}?") }).collect()
}

/// For example ` There are 97 tools of these servers: github, mail.`
fn servers_of(served: &[&ToolSpec]) -> String {
    let servers = by_server(served);
    let named: Vec<_> = servers.keys().take(NAMED_SERVERS).copied().collect();
    let mut text = format!(" There are {} tools of these servers: ", served.len());
    text.push_str(&named.join(", "));
    let others = servers.len() - named.len();
    if others > 0 {
        let _ = write!(text, ", and {others} others");
    }
    text.push('.');
    text
}

fn by_server<'a>(specs: &[&'a ToolSpec]) -> BTreeMap<&'a str, Vec<&'a ToolSpec>> {
    let mut servers: BTreeMap<&str, Vec<&ToolSpec>> = BTreeMap::new();
    for spec in specs {
        if let ToolSource::Mcp { server, .. } = &spec.source {
            servers.entry(server).or_default().push(spec);
        }
    }
    servers
}

/// The first line of the description, cut at the end of a word.
fn line(spec: &ToolSpec) -> &str {
    let line = spec.description.lines().next().unwrap_or_default();
    let Some((end, _)) = line.char_indices().nth(LINE_CHARS) else { return line };
    let cut = &line[..end];
    cut.rfind(' ').map_or(cut, |at| &cut[..at])
}

#[cfg(test)]
#[path = "tool_listing_tests.rs"]
mod tests;
