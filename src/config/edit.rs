//! Changes one entry of a list in the text of the configuration file. Comments, order and everything
//! else stay as they are.

use anyhow::{Context as _, Result, anyhow, bail, ensure};
use serde_json::Value as Schema;
use std::collections::BTreeMap;
use toml_edit::{
    Array, ArrayOfTables, DocumentMut, InlineTable, Item, Table, TableLike, Value, value,
};

use super::{
    keys::{ConfigKey, keys},
    schema,
};
use crate::admin::settings_file::{EntryList, FieldKind, FileEntry, FormField};

/// Keys that the form does not offer: paths of this machine, and what only a rotation needs.
const LEFT_OUT: [&str; 2] = ["ca_file", "previous_webhook_secret"];

/// The secrets that are sent to an address, and the keys that determine this address. If one of them
/// changes, the secret has to be entered again: otherwise, an owner of the console could send a
/// secret that nobody can read to a server of their own.
const BOUND: [(EntryList, &str, &[&str]); 3] = [
    (EntryList::Models, "api_key", &["provider", "base_url"]),
    (EntryList::Channels, "token", &["kind", "api_url"]),
    (EntryList::Channels, "webhook_secret", &["kind", "api_url", "webhook_url"]),
];

/// Stands for a secret that is written in the file itself.
const MASK: &str = "…";

/// What a new value of a key is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NewValue {
    /// The text of the form; empty removes the key.
    Text(String),
    /// A secret in a file, by its path relative to the configuration file.
    SecretFile(String),
    /// A secret in an environment variable.
    SecretVariable(String),
}

/// The keys of a list, in the order of the reference.
pub fn fields(list: EntryList) -> Vec<FormField> {
    let schema = schema::schema();
    let prefix = format!("{}.", list.as_str());
    let properties = &schema["properties"][list.as_str()]["items"]["properties"];
    let named = keys().filter_map(|key| Some((key.path.strip_prefix(&prefix)?, key)));
    let offered = named.filter(|(name, _)| !name.contains('.') && !LEFT_OUT.contains(name));
    let field = |(name, key): (&str, &ConfigKey)| FormField {
        kind: kind(&properties[name]),
        key: name.to_owned(),
        description: key.description.clone(),
        default: key.default.to_string(),
    };
    offered.map(field).collect()
}

/// How a value with this schema is entered.
fn kind(schema: &Schema) -> FieldKind {
    let variants = || {
        let both = [&schema["anyOf"], &schema["oneOf"]].into_iter();
        both.filter_map(Schema::as_array).flatten()
    };
    let is = |schema: &Schema, wanted: &str| match &schema["type"] {
        Schema::String(one) => one == wanted,
        Schema::Array(several) => several.iter().any(|one| one == wanted),
        _ => false,
    };
    if is_secret(schema) {
        return FieldKind::Secret;
    }
    let listed = schema["enum"].as_array().into_iter().flatten();
    let constants = variants().flat_map(|one| {
        let listed = one["enum"].as_array().into_iter().flatten();
        listed.chain(one.get("const"))
    });
    let choices: Vec<_> =
        listed.chain(constants).filter_map(Schema::as_str).map(str::to_owned).collect();
    if !choices.is_empty() {
        return FieldKind::Choice(choices);
    }
    if is(schema, "array") {
        FieldKind::Lines
    } else if is(schema, "object") {
        FieldKind::Pairs
    } else if is(schema, "boolean") {
        FieldKind::Switch
    } else if is(schema, "number") || is(schema, "integer") {
        FieldKind::Number
    } else {
        FieldKind::Text
    }
}

/// Whether values with this schema may name a variable: no other values do.
fn is_secret(schema: &Schema) -> bool {
    let variants = ["anyOf", "oneOf"].into_iter().filter_map(|key| schema[key].as_array());
    let properties = schema["properties"].as_object();
    let is_variable = properties.is_some_and(|all| all.len() == 1 && all.contains_key("env"));
    is_variable || variants.flatten().any(is_secret)
}

/// The text without the secrets that are written in it, for a difference that people read.
pub fn masked(text: &str) -> Result<String> {
    let mut document = parse(text)?;
    mask_table(document.as_table_mut(), &schema::schema());
    Ok(document.to_string())
}

fn mask_table(table: &mut dyn TableLike, schema: &Schema) {
    for (key, item) in table.iter_mut() {
        let known = schema["properties"].get(key.get());
        mask(item, known.unwrap_or(&schema["additionalProperties"]));
    }
}

fn mask(item: &mut Item, schema: &Schema) {
    let is_plain = item.as_str().is_some();
    if is_plain && is_secret(schema) {
        let decor = item.as_value().map(|old| old.decor().clone());
        let mut mask = Value::from(MASK);
        *mask.decor_mut() = decor.unwrap_or_default();
        *item = Item::Value(mask);
    } else if let Some(tables) = item.as_array_of_tables_mut() {
        for table in tables.iter_mut() {
            mask_table(table, &schema["items"]);
        }
    } else if let Some(table) = item.as_table_like_mut() {
        mask_table(table, schema);
    } else if let Some(list) = item.as_array_mut() {
        for entry in list.iter_mut() {
            if let Some(table) = entry.as_inline_table_mut() {
                mask_table(table, &schema["items"]);
            }
        }
    }
}

/// The entries of the lists that can be changed.
pub fn entries(text: &str) -> Result<Vec<FileEntry>> {
    let document = parse(text)?;
    let mut entries = Vec::new();
    for list in EntryList::ALL {
        let Some(tables) = document.get(list.as_str()).and_then(Item::as_array_of_tables) else {
            continue;
        };
        let fields = fields(list);
        for table in tables {
            let shown = fields.iter().filter_map(|field| {
                let written = table.get(&field.key)?;
                Some((field.key.clone(), shown(written, &field.kind)))
            });
            let id = table.get("id").and_then(Item::as_str).unwrap_or_default().to_owned();
            entries.push(FileEntry { list, id, values: shown.collect() });
        }
    }
    Ok(entries)
}

/// The complete error of the parser quotes the line, which may contain a secret.
fn parse(text: &str) -> Result<DocumentMut> {
    text.parse::<DocumentMut>().map_err(|problem| {
        let start = problem.span().map_or(0, |span| span.start);
        let line = text.bytes().take(start).filter(|byte| *byte == b'\n').count() + 1;
        let message = problem.message();
        anyhow!("the configuration file cannot be parsed: line {line}: {message}. Correct it first")
    })
}

/// The text of a value in the form.
fn shown(item: &Item, kind: &FieldKind) -> String {
    let bare = |value: &Value| match value {
        Value::String(text) => text.value().clone(),
        other => other.to_string().trim().to_owned(),
    };
    match (kind, item) {
        (FieldKind::Secret, item) => {
            let place = |key: &str| Some(item.as_table_like()?.get(key)?.as_str()?.to_owned());
            match (place("file"), place("env")) {
                (Some(file), _) => format!("file {file}"),
                (_, Some(variable)) => format!("environment variable {variable}"),
                _ => "in the configuration file".to_owned(),
            }
        }
        (FieldKind::Lines, Item::Value(Value::Array(list))) => {
            list.iter().map(bare).collect::<Vec<_>>().join("\n")
        }
        (FieldKind::Pairs, item) => {
            let pairs = item.as_table_like().into_iter().flat_map(|table| table.iter());
            let line =
                |(key, item): (&str, &Item)| Some(format!("{key} = {}", bare(item.as_value()?)));
            pairs.filter_map(line).collect::<Vec<_>>().join("\n")
        }
        (_, Item::Value(value)) => bare(value),
        _ => String::new(),
    }
}

/// Adds an entry, or changes the one with this id. Returns the new text.
pub fn put(
    text: &str,
    list: EntryList,
    id: &str,
    values: &BTreeMap<String, NewValue>,
) -> Result<String> {
    let mut document = parse(text)?;
    let tables = tables(&mut document, list)?;
    let place = position(tables, id);
    let before = place.and_then(|place| tables.get(place)).cloned().unwrap_or_default();
    let mut table = before.clone();
    if place.is_none() {
        table.insert("id", value(id));
    }
    for field in fields(list).iter().filter(|field| field.key != "id") {
        let Some(new) = values.get(&field.key) else { continue };
        if is_unchanged(table.get(&field.key), &field.kind, new) {
            continue;
        }
        let new =
            item(field, new).with_context(|| format!("{}.{id}.{}", list.as_str(), field.key))?;
        set(&mut table, &field.key, new);
    }
    secrets_stay_where_they_are(list, &before, &table)?;
    match place {
        Some(place) => *tables.get_mut(place).context("an entry")? = table,
        None => tables.push(table),
    }
    Ok(document.to_string())
}

/// Removes the entry with this id. Returns the new text.
pub fn remove(text: &str, list: EntryList, id: &str) -> Result<String> {
    let mut document = parse(text)?;
    let tables = tables(&mut document, list)?;
    let place = position(tables, id);
    tables.remove(place.with_context(|| format!("{} has no entry `{id}`", list.as_str()))?);
    if tables.is_empty() {
        document.remove(list.as_str());
    }
    Ok(document.to_string())
}

fn tables(document: &mut DocumentMut, list: EntryList) -> Result<&mut ArrayOfTables> {
    let name = list.as_str();
    let entry = document.entry(name).or_insert(Item::ArrayOfTables(ArrayOfTables::new()));
    entry.as_array_of_tables_mut().with_context(|| {
        format!("{name} is not written as [[{name}]] tables: change it in the file")
    })
}

fn position(tables: &ArrayOfTables, id: &str) -> Option<usize> {
    tables.iter().position(|table| table.get("id").and_then(Item::as_str) == Some(id))
}

/// Whether the form contains the value as it was shown.
fn is_unchanged(old: Option<&Item>, kind: &FieldKind, new: &NewValue) -> bool {
    let NewValue::Text(text) = new else { return false };
    let old = old.map(|old| shown(old, kind)).unwrap_or_default();
    lines(&old).eq(lines(text))
}

/// Sets a key, keeping the comment behind it. `None` removes it.
fn set(table: &mut Table, key: &str, new: Option<Item>) {
    let Some(mut new) = new else {
        table.remove(key);
        return;
    };
    if let (Some(Item::Value(old)), Item::Value(new)) = (table.get(key), &mut new) {
        *new.decor_mut() = old.decor().clone();
    }
    table.insert(key, new);
}

fn secrets_stay_where_they_are(list: EntryList, before: &Table, after: &Table) -> Result<()> {
    for (_, secret, address) in BOUND.iter().filter(|(of, _, _)| *of == list) {
        let text = |table: &Table, key: &str| table.get(key).map(ToString::to_string);
        let same = |key: &str| text(before, key) == text(after, key);
        let moves = !before.is_empty() && address.iter().any(|key| !same(key));
        ensure!(
            !moves || !after.contains_key(secret) || !same(secret),
            "{secret}: enter it again, because it would be sent to another address"
        );
    }
    Ok(())
}

/// The value for the file; `None` if the key is to be left out.
fn item(field: &FormField, new: &NewValue) -> Result<Option<Item>> {
    let place = |key: &str, text: &str| {
        let mut table = InlineTable::new();
        table.insert(key, text.into());
        Ok(Some(value(table)))
    };
    let text = match new {
        NewValue::SecretFile(file) => return place("file", file),
        NewValue::SecretVariable(variable) => return place("env", variable),
        NewValue::Text(text) => text.trim(),
    };
    if text.is_empty() {
        return Ok(None);
    }
    Ok(Some(match &field.kind {
        FieldKind::Secret => bail!("a secret is never written into the configuration file"),
        FieldKind::Number => match (text.parse::<i64>(), text.parse::<f64>()) {
            (Ok(whole), _) => value(whole),
            (_, Ok(number)) if number.is_finite() => value(number),
            _ => bail!("`{text}` is not a number"),
        },
        FieldKind::Switch => value(text.parse::<bool>().ok().context("true or false")?),
        FieldKind::Lines => value(lines(text).collect::<Array>()),
        FieldKind::Pairs => {
            let mut table = InlineTable::new();
            for line in lines(text) {
                let pair = line
                    .split_once('=')
                    .with_context(|| format!("`{line}` is not a line of the form `key = value`"))?;
                table.insert(pair.0.trim().trim_matches('"'), pair.1.trim().into());
            }
            value(table)
        }
        FieldKind::Text | FieldKind::Choice(_) => value(text),
    }))
}

fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines().map(str::trim).filter(|line| !line.is_empty())
}

#[cfg(test)]
#[path = "edit_tests.rs"]
mod tests;
