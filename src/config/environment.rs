//! Environment variables that override the file, and well-known variables that enable models and
//! channels without a file.

use std::collections::BTreeMap;
use toml::{Table, Value};

use super::{
    AgentEntry, BusyPolicy, ChannelEntry, ChannelKind, ChannelMode, MemorySharing, ModelEntry,
    ProviderName, ToolCallStyle,
    agents::default_prompt,
    channels::{default_agent as usual_agent, default_debounce},
    mistake::{KeyPath, Mistake},
    pace::default_pace,
    renamed,
    source::Variables,
};
use crate::agent::disclosure::Disclosure;

/// The prefix of `COUNTERSIGN__SECTION__KEY`. A number in the name is a position in a list, from 0.
const PREFIX: &str = "COUNTERSIGN__";

/// Provider, the variable that enables it, and its default model.
const PROVIDERS: [(&str, &str, &str); 4] = [
    ("openai", "OPENAI_API_KEY", "gpt-5"),
    ("anthropic", "ANTHROPIC_API_KEY", "claude-sonnet-4-5"),
    ("gemini", "GEMINI_API_KEY", "gemini-2.5-flash"),
    ("ollama", "OLLAMA_HOST", "qwen3"),
];

/// Platform, and the variable that enables it.
const PLATFORMS: [(&str, &str); 2] =
    [("telegram", "TELEGRAM_BOT_TOKEN"), ("discord", "DISCORD_BOT_TOKEN")];

/// If the file names no model or channel, uses the well-known variables.
pub(super) fn from_well_known_variables(
    table: &mut Table,
    variables: &BTreeMap<String, String>,
    origins: &mut Variables,
) {
    let set = |name: &str| variables.get(name).is_some_and(|v| !v.trim().is_empty());
    if !table.contains_key("models")
        && let Some((provider, variable, model)) = PROVIDERS.iter().find(|p| set(p.1))
    {
        let mut entry = Table::from_iter([
            ("id".to_owned(), Value::from("main")),
            ("provider".to_owned(), Value::from(*provider)),
            ("model".to_owned(), Value::from(*model)),
        ]);
        if *provider == "ollama" {
            entry.insert("base_url".into(), Value::from(ollama_url(&variables[*variable])));
            origins.insert(base_url(), (*variable).to_owned());
        } else {
            entry.insert("api_key".into(), by_variable(variable));
        }
        if *provider == "openai" && set("OPENAI_BASE_URL") {
            let base = variables["OPENAI_BASE_URL"].trim().to_owned();
            entry.insert("base_url".into(), Value::from(base));
            origins.insert(base_url(), "OPENAI_BASE_URL".to_owned());
        }
        table.insert("models".into(), Value::Array(vec![Value::Table(entry)]));
    }
    if !table.contains_key("channels") {
        let live = PLATFORMS.iter().filter(|(_, variable)| set(variable));
        let channels: Vec<Value> = live.map(|(kind, variable)| channel(kind, variable)).collect();
        if !channels.is_empty() {
            table.insert("channels".into(), Value::Array(channels));
        }
    }
}

fn base_url() -> KeyPath {
    ["models", "0", "base_url"].map(str::to_owned).to_vec()
}

/// A channel named after its platform.
fn channel(kind: &str, variable: &str) -> Value {
    Value::Table(Table::from_iter([
        ("id".to_owned(), Value::from(kind)),
        ("kind".to_owned(), Value::from(kind)),
        ("token".to_owned(), by_variable(variable)),
    ]))
}

fn by_variable(name: &str) -> Value {
    Value::Table(Table::from_iter([("env".to_owned(), Value::from(name))]))
}

/// `OLLAMA_HOST` may omit the scheme and the port. With HTTPS, the port is the usual one, as for
/// Ollama itself.
fn ollama_url(host: &str) -> String {
    let host = host.trim().trim_end_matches('/');
    let (scheme, rest) = host.split_once("://").unwrap_or(("http", host));
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    // Other colons belong to an IPv6 address in brackets, or to a password.
    let has_port = authority.rsplit([']', '@']).next().is_some_and(|end| end.contains(':'));
    let port = if has_port || scheme.eq_ignore_ascii_case("https") { "" } else { ":11434" };
    format!("{scheme}://{authority}{port}{path}")
}

/// Overrides the table with `COUNTERSIGN__…` variables. A value is parsed as TOML if possible and
/// is a string otherwise. Records which variable sets which key.
pub(super) fn overlay(
    table: &mut Table,
    variables: &BTreeMap<String, String>,
    origins: &mut Variables,
) -> Vec<Mistake> {
    let mut overrides: Vec<_> =
        variables.iter().filter_map(|(name, text)| Override::of(name, text)).collect();
    // A list is filled in the order of its positions.
    overrides.sort_by_cached_key(Override::order);
    let mut mistakes = Vec::new();
    for Override { path, name, text } in overrides {
        origins.insert(path.clone(), name.to_owned());
        mistakes.extend(put(table, &path, text).err());
    }
    mistakes
}

/// A variable that sets a key.
struct Override<'v> {
    path: KeyPath,
    name: &'v str,
    text: &'v str,
}

impl<'v> Override<'v> {
    fn of(name: &'v str, text: &'v str) -> Option<Self> {
        let path = name.strip_prefix(PREFIX)?;
        let mut path: KeyPath = path.split("__").map(str::to_lowercase).collect();
        if let Some(last) = path.pop() {
            let last = renamed::present_name(&path, &last).to_owned();
            path.push(last);
        }
        Some(Self { path, name, text })
    }

    /// The path with positions that sort as numbers.
    fn order(&self) -> KeyPath {
        let sortable = |part: &String| match part.parse::<usize>() {
            Ok(position) => format!("{position:020}"),
            Err(_) => part.clone(),
        };
        self.path.iter().map(sortable).collect()
    }
}

fn put(table: &mut Table, path: &[String], text: &str) -> Result<(), Mistake> {
    let Some((last, way)) = path.split_last() else { return Ok(()) };
    let mut place = table;
    let mut way = way.iter().enumerate().peekable();
    while let Some((depth, key)) = way.next() {
        let following = way.peek().map(|(_, key)| key.as_str());
        let next = place.entry(key.clone()).or_insert_with(|| empty(following));
        let section = path[..=depth].join(".");
        let wrong = |message: &str| Err(Mistake::new(path, format!("`{section}` {message}")));
        place = match next {
            Value::Table(inner) => inner,
            Value::Array(list) => match way.next().and_then(|(_, index)| element(list, index)) {
                Some(inner) => inner,
                None => return wrong("is a list: a number from 0 must follow, without gaps"),
            },
            _ => return wrong("is a value, not a section"),
        };
    }
    place.insert(last.clone(), value(text));
    Ok(())
}

fn empty(next: Option<&str>) -> Value {
    match next.map(str::parse::<usize>) {
        Some(Ok(_)) => Value::Array(Vec::new()),
        _ => Value::Table(Table::new()),
    }
}

/// The table at this position in the list. The position after the last one appends a table.
fn element<'a>(list: &'a mut Vec<Value>, index: &str) -> Option<&'a mut Table> {
    let index: usize = index.parse().ok()?;
    if index == list.len() {
        list.push(Value::Table(Table::new()));
    }
    list.get_mut(index)?.as_table_mut()
}

fn value(text: &str) -> Value {
    let parsed = format!("value = {text}").parse::<Table>().ok();
    parsed.and_then(|mut t| t.remove("value")).unwrap_or_else(|| Value::from(text))
}

pub(super) fn demo() -> ModelEntry {
    ModelEntry {
        id: "main".into(),
        provider: ProviderName::Demo,
        base_url: None,
        api_key: None,
        model: "demo".into(),
        tools: ToolCallStyle::Native,
        vision: None,
        temperature: None,
        fallback: Vec::new(),
        input_price: 0.0,
        output_price: 0.0,
        cached_price: None,
    }
}

pub(super) fn default_agent(model: &str) -> AgentEntry {
    AgentEntry {
        id: usual_agent(),
        model: model.to_owned(),
        system_prompt: default_prompt(),
        description: String::new(),
        workspace: None,
        skills_dir: None,
        disclosure: Disclosure::default(),
        tools: Vec::new(),
        mcp: Vec::new(),
        memory: MemorySharing::default(),
        max_steps: None,
        max_tokens: None,
        max_minutes: None,
        max_output_tokens: None,
        context_tokens: None,
    }
}

/// Everyone who is signed in may talk, since signing in is restricted.
pub(super) fn web(agent: String) -> ChannelEntry {
    ChannelEntry {
        id: "web".into(),
        kind: ChannelKind::Web,
        agent,
        token: None,
        api_url: None,
        mode: ChannelMode::Poll,
        webhook_url: None,
        webhook_secret: None,
        previous_webhook_secret: None,
        public_key: None,
        ca_file: None,
        origins: Vec::new(),
        allow: vec!["*".into()],
        owners: Vec::new(),
        roles: BTreeMap::new(),
        while_busy: BusyPolicy::default(),
        per_person: false,
        debounce: default_debounce(),
        pace: default_pace(),
    }
}
