//! Reports the mistakes in a configuration: all of them at once, each with its line or variable.

use serde_json::Value as Json;
use std::collections::BTreeSet;
use toml::{Table, Value};

use super::{
    Config,
    keys::keys,
    mistake::{KeyPath, Mistake, listed},
    schema::schema,
    source::{ConfigSource, ValueSource},
};

/// The valid values of a table.
pub(super) struct Parsed {
    pub config: Option<Config>,
    pub mistakes: Vec<Mistake>,
}

impl Parsed {
    pub fn of(table: &Table) -> Self {
        let problem = match parse(table) {
            Ok(config) => return Self { config: Some(config), mistakes: Vec::new() },
            Err(problem) => problem,
        };
        let mut mistakes = Vec::new();
        compare(&Value::Table(table.clone()), &schema(), &mut Vec::new(), &mut mistakes);
        if !mistakes.iter().any(|mistake| mistake.overlaps(&problem.key)) {
            mistakes.push(problem);
        }
        // The remaining values may have further mistakes.
        let mut rest = table.clone();
        for mistake in &mistakes {
            remove(&mut rest, &mistake.key);
        }
        let config = match parse(&rest) {
            Ok(config) => Some(config),
            Err(other) => {
                if !mistakes.iter().any(|mistake| mistake.overlaps(&other.key)) {
                    mistakes.push(other);
                }
                None
            }
        };
        Self { config, mistakes }
    }

    /// Adds mistakes, except those that follow from a known mistake.
    pub fn add(&mut self, mut others: Vec<Mistake>) {
        others.retain(|other| !self.mistakes.iter().any(|known| known.overlaps(&other.key)));
        self.mistakes.extend(others);
    }
}

/// Returns the first mistake, as the deserialiser words it.
fn parse(table: &Table) -> Result<Config, Mistake> {
    serde_path_to_error::deserialize(Value::Table(table.clone())).map_err(|problem| {
        use serde_path_to_error::Segment;
        let name = |segment: &Segment| match segment {
            Segment::Seq { index } => Some(index.to_string()),
            Segment::Map { key } => Some(key.clone()),
            Segment::Enum { .. } | Segment::Unknown => None,
        };
        let key: KeyPath = problem.path().iter().filter_map(name).collect();
        let problem = problem.into_inner();
        // The beginning of the message may quote the value, which may be a secret.
        let message = problem.message();
        let message = match message
            .strip_prefix("invalid")
            .and_then(|message| message.split_once("expected "))
        {
            Some((_, expected)) => format!("is not valid: expected {expected}"),
            None => message.to_owned(),
        };
        Mistake::new(&key, message)
    })
}

fn remove(table: &mut Table, key: &[String]) {
    let [first, rest @ ..] = key else { return };
    if rest.is_empty() {
        table.remove(first);
        return;
    }
    match table.get_mut(first) {
        Some(Value::Table(inner)) => remove(inner, rest),
        Some(Value::Array(list)) => {
            let entry = rest[0].parse().ok().and_then(|place: usize| list.get_mut(place));
            if let Some(Value::Table(inner)) = entry {
                remove(inner, &rest[1..]);
            }
        }
        _ => {}
    }
}

/// Compares a value with its schema.
fn compare(value: &Value, schema: &Json, key: &mut KeyPath, found: &mut Vec<Mistake>) {
    let choices = choices(schema);
    let of_type: Vec<_> = choices.iter().copied().filter(|one| has_type(value, one)).collect();
    let fits = |one: &&&Json| required(one).all(|name| value.get(name).is_some());
    match (of_type.as_slice(), value) {
        ([], _) => found.push(Mistake::new(key, must_be(&choices, key))),
        (all, Value::String(text)) => compare_text(text, all, key, found),
        ([one], _) => compare_parts(value, one, key, found),
        (all, _) => match all.iter().find(fits) {
            Some(one) => compare_parts(value, one, key, found),
            None => found.push(Mistake::new(key, must_be(&choices, key))),
        },
    }
}

/// The alternatives of a schema, except for a missing value.
fn choices(schema: &Json) -> Vec<&Json> {
    let nested = ["anyOf", "oneOf"].iter().find_map(|name| schema[*name].as_array());
    match nested {
        Some(nested) => {
            nested.iter().flat_map(choices).filter(|one| one["type"] != "null").collect()
        }
        None => vec![schema],
    }
}

fn types(schema: &Json) -> impl Iterator<Item = &str> {
    let one = schema["type"].as_str().into_iter();
    one.chain(schema["type"].as_array().into_iter().flatten().filter_map(Json::as_str))
}

fn required(schema: &Json) -> impl Iterator<Item = &str> {
    schema["required"].as_array().into_iter().flatten().filter_map(Json::as_str)
}

fn has_type(value: &Value, schema: &Json) -> bool {
    types(schema).any(|name| match value {
        Value::String(_) => name == "string",
        Value::Integer(_) => matches!(name, "integer" | "number"),
        Value::Float(_) => name == "number",
        Value::Boolean(_) => name == "boolean",
        Value::Array(_) => name == "array",
        Value::Table(_) => name == "object",
        Value::Datetime(_) => false,
    })
}

/// The texts that a schema allows. Empty if it allows any text.
fn options(schema: &Json) -> impl Iterator<Item = &str> {
    let fixed = schema["const"].as_str().into_iter();
    fixed.chain(schema["enum"].as_array().into_iter().flatten().filter_map(Json::as_str))
}

fn compare_text(text: &str, all: &[&Json], key: &KeyPath, found: &mut Vec<Mistake>) {
    let known: Vec<_> = all.iter().flat_map(|one| options(one)).collect();
    let is_free = all.iter().any(|one| options(one).next().is_none());
    let is_url = all.iter().any(|one| one["format"] == "uri");
    if is_url && url::Url::parse(text).is_err() {
        found.push(Mistake::new(key, "must be a URL such as https://example.org"));
    } else if !is_free && !known.contains(&text) {
        let message = format!("must be {}{}", list(&known, "or"), did_you_mean(text, known));
        found.push(Mistake::new(key, message));
    }
}

fn compare_parts(value: &Value, schema: &Json, key: &mut KeyPath, found: &mut Vec<Mistake>) {
    match value {
        Value::Table(table) => compare_table(table, schema, key, found),
        Value::Array(list) => {
            for (place, entry) in list.iter().enumerate() {
                key.push(place.to_string());
                compare(entry, &schema["items"], key, found);
                key.pop();
            }
        }
        Value::Integer(number) => {
            let (min, max) = match schema["format"].as_str() {
                Some("uint16") => (0, i64::from(u16::MAX)),
                Some("uint32") => (0, i64::from(u32::MAX)),
                Some("int32") => (i64::from(i32::MIN), i64::from(i32::MAX)),
                Some("uint" | "uint64") => (0, i64::MAX),
                _ => (i64::MIN, i64::MAX),
            };
            if !(min..=max).contains(number) {
                let message = format!("must be a whole number from {min} to {max}");
                found.push(Mistake::new(key, message));
            }
        }
        _ => {}
    }
}

fn compare_table(table: &Table, schema: &Json, key: &mut KeyPath, found: &mut Vec<Mistake>) {
    let none = serde_json::Map::new();
    let known = schema["properties"].as_object().unwrap_or(&none);
    for (name, value) in table {
        key.push(name.clone());
        let others = Some(&schema["additionalProperties"]).filter(|schema| schema.is_object());
        match known.get(name).or(others) {
            Some(schema) => compare(value, schema, key, found),
            None if schema["additionalProperties"] == false => {
                let near = did_you_mean(name, known.keys().map(String::as_str));
                let near = if near.is_empty() { elsewhere(name) } else { near };
                found.push(Mistake::new(key, format!("there is no such key{near}")));
            }
            None => {}
        }
        key.pop();
    }
    for name in required(schema).filter(|name| !table.contains_key(*name)) {
        key.push(name.to_owned());
        found.push(Mistake::new(key, "is missing"));
        key.pop();
    }
}

fn must_be(choices: &[&Json], key: &KeyPath) -> String {
    if let [one] = choices
        && one["items"]["type"] == "object"
    {
        return format!("must be a list: write [[{}]]", key.join("."));
    }
    let mut all: Vec<String> = Vec::new();
    for one in choices {
        let known: Vec<_> = options(one).map(str::to_owned).collect();
        let words = types(one).filter(|name| *name != "null").map(|name| match name {
            "string" => "text in quotes".to_owned(),
            "integer" => "a whole number".to_owned(),
            "number" => "a number".to_owned(),
            "boolean" => "true or false".to_owned(),
            "array" => "a list in brackets".to_owned(),
            _ => match required(one).next() {
                Some(name) => format!("{{ {name} = … }}"),
                None => "a section".to_owned(),
            },
        });
        all.extend(if known.is_empty() { words.collect() } else { known });
    }
    format!("must be {}", list(&all.iter().map(String::as_str).collect::<Vec<_>>(), "or"))
}

/// `a, b or c`
pub(super) fn list(words: &[&str], and: &str) -> String {
    match words {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [others @ .., last] => format!("{} {and} {last}", others.join(", ")),
    }
}

fn did_you_mean<'k>(name: &str, known: impl IntoIterator<Item = &'k str>) -> String {
    let far = (name.chars().count() / 3).clamp(1, 3);
    let distance = |known: &&str| strsim::osa_distance(&name.to_lowercase(), known);
    let nearest = known.into_iter().min_by_key(distance).filter(|known| distance(known) <= far);
    nearest.map_or(String::new(), |near| format!("; did you mean `{near}`?"))
}

/// The section that has this key, if there is only one.
fn elsewhere(name: &str) -> String {
    let paths = keys().map(|key| key.path.as_str());
    let same: Vec<_> =
        paths.filter(|path| path.rsplit_once('.').is_some_and(|(_, last)| last == name)).collect();
    match same.as_slice() {
        [one] => format!("; did you mean `{one}`?"),
        _ => String::new(),
    }
}

/// Parses `channels.tg.token: what is wrong`, in which entries of lists are identified by name.
pub(super) fn named(text: &str, table: &Table) -> Mistake {
    let (named, mut message) = text.split_once(": ").unwrap_or(("", text));
    let mut key = path_of(named, table);
    // As in `hooks.h: pattern: what is wrong`.
    let is_key = |name: &str| {
        let section = key.first().map_or("", String::as_str);
        let mut same = keys().map(|key| key.path.split('.'));
        same.any(|mut path| path.next() == Some(section) && path.next_back() == Some(name))
    };
    if let Some((name, rest)) =
        message.split_once(": ").filter(|(name, _)| !named.contains(' ') && is_key(name))
    {
        key.push(name.to_owned());
        message = rest;
    }
    let message = match message.split_once("regex parse error:") {
        Some((before, after)) => {
            let why = after.rsplit("error: ").next().unwrap_or(after).trim();
            format!("{before}is not a valid regular expression: {why}")
        }
        None => message.to_owned(),
    };
    Mistake { key, message }
}

/// The name of an entry of a list.
fn name_of(entry: &Value) -> Option<&str> {
    let name = ["id", "name"].iter().find_map(|key| entry.get(key)?.as_str());
    name.filter(|name| !name.is_empty())
}

/// The path with positions, for a key that identifies entries by name.
fn path_of(text: &str, table: &Table) -> KeyPath {
    let (mut path, mut rest) = (KeyPath::new(), text);
    let whole = Value::Table(table.clone());
    let mut here = Some(&whole);
    while !rest.is_empty() {
        let entries = here.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let named = entries.iter().enumerate().find_map(|(place, entry)| {
            let after = rest.strip_prefix(name_of(entry)?)?;
            (after.is_empty() || after.starts_with('.')).then_some((place, after))
        });
        let (next, after) = if let Some((place, after)) = named {
            (place.to_string(), after)
        } else {
            let (next, after) = rest.split_at(rest.find('.').unwrap_or(rest.len()));
            (next.to_owned(), after)
        };
        here = here.and_then(|here| match here {
            Value::Array(list) => list.get(next.parse::<usize>().ok()?),
            here => here.get(&next),
        });
        path.push(next);
        rest = after.strip_prefix('.').unwrap_or(after);
    }
    path
}

/// The key as `channels.tg.token`, or `channels[0].token` if the entry has no name.
fn shown(key: &[String], table: &Table) -> String {
    let mut text = String::new();
    let whole = Value::Table(table.clone());
    let mut here = Some(&whole);
    for name in key {
        let entry = here.and_then(Value::as_array).zip(name.parse::<usize>().ok());
        if let Some((list, place)) = entry {
            here = list.get(place);
            match here.and_then(name_of) {
                Some(name) => text.extend([".", name]),
                None => text.extend(["[", name, "]"]),
            }
        } else {
            here = here.and_then(|here| here.get(name));
            text.extend([if text.is_empty() { "" } else { "." }, name]);
        }
    }
    text
}

/// The mistakes as one error: first those in variables, then those in the file by line.
pub(super) fn error(mistakes: &[Mistake], source: &ConfigSource, table: &Table) -> anyhow::Error {
    let lines: BTreeSet<_> = mistakes
        .iter()
        .map(|Mistake { key, message }| (source.place(key), shown(key, table), message))
        .collect();
    let line = |(place, key, message): &(ValueSource, String, &String)| {
        let place = source.shown(place);
        if key.is_empty() {
            format!("{place}: {message}")
        } else {
            format!("{place}: {key}: {message}")
        }
    };
    listed(lines.iter().map(line).collect())
}
