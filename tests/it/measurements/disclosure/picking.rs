//! The scripted model: its goals, its input, its choices.

use countersign::testing::agent::{
    disclosure::{ENABLE_TOOL, FIND_TOOL},
    prompt::{Message, Prompt},
};
use serde_json::{Map, Value, json};
use std::{
    cell::RefCell,
    collections::{BTreeSet, HashMap},
    rc::Rc,
};

/// A step of a task.
#[derive(Debug, Clone)]
pub struct Goal {
    pub says: String,
    /// The tool for the step.
    tool: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    Everything,
    Enable,
    FoundAtOnce,
    Search,
}

impl Way {
    pub fn name(self) -> &'static str {
        match self {
            Self::Everything => "everything",
            Self::Enable => "enable_tool",
            Self::FoundAtOnce => "found at once",
            Self::Search => "search–describe–call",
        }
    }
}

/// One task per line; its steps are separated by `;`.
pub fn tasks() -> Vec<Vec<Goal>> {
    let lines = include_str!("tasks.txt").lines().filter(|line| !line.starts_with('#'));
    let goal = |text: &str| {
        let (says, tool) = text.split_once(" => ").unwrap();
        Goal { says: says.trim().into(), tool: tool.trim().replace('.', "_") }
    };
    lines.map(|line| line.split(" ; ").map(goal).collect()).collect()
}

/// The maximum number of tools that the model tries for one step.
const TRIES: usize = 3;

pub struct Model<'a> {
    goals: &'a [Goal],
    /// Wrong tools that were tried for the current step.
    tried: BTreeSet<String>,
    /// The candidates for the current step: name and description.
    seen: Vec<(String, String)>,
    way: Way,
    described: Option<String>,
    pub wrong: usize,
    pub undone: usize,
}

impl<'a> Model<'a> {
    pub fn new(goals: &'a [Goal], way: Way) -> Self {
        let (tried, seen) = (BTreeSet::new(), Vec::new());
        Self { goals, tried, seen, way, described: None, wrong: 0, undone: 0 }
    }

    /// The result of a tool.
    pub fn ran(&mut self, tool: &str) -> String {
        let Some(goal) = self.goals.first() else { return "Done.".into() };
        if goal.tool == tool {
            self.goes_on();
            return r#"{"ok":true,"id":"b81c7f","url":"https://example.org/b81c7f"}"#.into();
        }
        self.wrong += usize::from(self.tried.is_empty());
        self.tried.insert(tool.to_owned());
        if self.tried.len() == TRIES {
            self.undone += 1;
            self.goes_on();
        }
        r#"{"ok":false,"error":"This is not what was asked for."}"#.into()
    }

    fn goes_on(&mut self) {
        self.goals = &self.goals[1..];
        self.tried.clear();
        self.seen.clear();
        self.described = None;
    }

    /// The next call, if there is a step left.
    pub fn calls(&mut self, prompt: &Prompt) -> Option<(String, Value)> {
        let wanted = self.goals.first()?.says.clone();
        let searches = match self.way {
            Way::Everything => None,
            Way::Enable | Way::FoundAtOnce => Some(FIND_TOOL),
            Way::Search => Some("search_tools"),
        };
        let can = |name: &str| prompt.tools.iter().any(|tool| tool.name == name);
        if let Some(tool) = searches.filter(|tool| can(tool))
            && self.seen.is_empty()
        {
            self.seen = found(prompt, tool, &wanted);
            if self.seen.is_empty() {
                let arguments = match self.way {
                    Way::FoundAtOnce => json!({ "query": wanted, "enable": true }),
                    _ => json!({ "query": wanted }),
                };
                return Some((tool.to_owned(), arguments));
            }
        } else if self.seen.is_empty() {
            self.seen = shown(prompt);
        }
        let name = self.pick(prompt, &wanted)?;
        if self.way == Way::Search {
            return Some(self.by_hand(&name, prompt));
        }
        match prompt.tools.iter().find(|tool| tool.name == name) {
            Some(tool) => Some((name, filled(&tool.parameters))),
            None => Some((ENABLE_TOOL.to_owned(), json!({ "names": [name] }))),
        }
    }

    /// The most similar of the candidates not tried. Tools that a search made callable are tried
    /// first.
    fn pick(&self, prompt: &Prompt, wanted: &str) -> Option<String> {
        let untried = || self.seen.iter().filter(|(name, _)| !self.tried.contains(name));
        let callable = |name: &str| prompt.tools.iter().any(|tool| tool.name == name);
        if self.way == Way::FoundAtOnce
            && prompt.tools.iter().any(|tool| tool.name == FIND_TOOL)
            && let Some((name, _)) = untried().next().filter(|(name, _)| callable(name))
        {
            return Some(name.clone());
        }
        let wanted = trigrams(wanted);
        let scored = untried().map(|tool| (likeness(&wanted, tool), tool));
        scored.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, (name, _))| name.clone())
    }

    /// Describes the tool, then calls it.
    fn by_hand(&mut self, name: &str, prompt: &Prompt) -> (String, Value) {
        if self.described.as_deref() != Some(name) {
            self.described = Some(name.to_owned());
            return ("describe_tool".into(), json!({ "name": name }));
        }
        let told = results(prompt, "describe_tool").last().cloned().unwrap_or_default();
        let schema: Value = serde_json::from_str(&told.1).unwrap_or_default();
        let arguments = filled(&schema["parameters"]);
        ("call_tool".into(), json!({ "name": name, "arguments": arguments }))
    }
}

/// The results of a tool's calls, with their arguments.
fn results(prompt: &Prompt, tool: &str) -> Vec<(Value, String)> {
    let results = prompt.messages.iter().filter_map(|message| match message {
        Message::Tool { call, text } if call.tool == tool => {
            Some((call.arguments.clone(), text.clone()))
        }
        _ => None,
    });
    results.collect()
}

/// The results of that search.
fn found(prompt: &Prompt, tool: &str, wanted: &str) -> Vec<(String, String)> {
    let results = results(prompt, tool);
    let result = results.iter().rev().find(|(arguments, _)| arguments["query"] == wanted);
    result.map_or_else(Vec::new, |(_, text)| listed(text))
}

/// `- name: description`, one per line.
fn listed(text: &str) -> Vec<(String, String)> {
    let lines = text.lines().filter_map(|line| line.strip_prefix("- ")?.split_once(": "));
    lines.map(|(name, about)| (name.to_owned(), about.to_owned())).collect()
}

/// All text in the prompt: schemas, and lines of the directory.
fn shown(prompt: &Prompt) -> Vec<(String, String)> {
    let (enable, others): (Vec<_>, Vec<_>) =
        prompt.tools.iter().partition(|tool| tool.name == ENABLE_TOOL);
    let directory =
        enable.iter().map(|tool| &tool.parameters["properties"]["names"]["description"]);
    let lines = directory.filter_map(Value::as_str).flat_map(listed);
    let schemas = others.iter().map(|tool| (tool.name.clone(), tool.description.clone()));
    schemas.chain(lines).collect()
}

type Trigrams = BTreeSet<[char; 3]>;

/// The share of the goal's words in the tool's name and description, and the share of the name in
/// the goal.
fn likeness(wanted: &Trigrams, (name, about): &(String, String)) -> f64 {
    let (name, about) = (trigrams(name), trigrams(about));
    let share = |of: &Trigrams, all: &Trigrams| {
        wanted.intersection(of).count() as f64 / all.len().max(1) as f64
    };
    share(&about, wanted) + share(&name, wanted) + share(&name, &name)
}

/// Each text is cut up once.
fn trigrams(text: &str) -> Rc<Trigrams> {
    thread_local!(static KNOWN: RefCell<HashMap<String, Rc<Trigrams>>> = RefCell::default());
    let known = KNOWN.with_borrow(|known| known.get(text).cloned());
    known.unwrap_or_else(|| {
        let plain = |c: char| if c.is_alphanumeric() { c.to_ascii_lowercase() } else { ' ' };
        let letters = [' '].into_iter().chain(text.chars().take(200).map(plain)).chain([' ']);
        let letters: Vec<_> = letters.collect();
        let cut: Rc<Trigrams> =
            Rc::new(letters.windows(3).map(|three| [three[0], three[1], three[2]]).collect());
        KNOWN.with_borrow_mut(|known| known.insert(text.to_owned(), cut.clone()));
        cut
    })
}

/// Valid arguments: every required one, with some value.
fn filled(schema: &Value) -> Value {
    let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let value = |name: &str| match schema["properties"][name]["type"].as_str() {
        Some("integer") => json!(7),
        Some("boolean") => json!(true),
        Some("array") => json!(["some value"]),
        _ => json!("some value"),
    };
    let filled: Map<_, _> = required.map(|name| (name.to_owned(), value(name))).collect();
    Value::Object(filled)
}
