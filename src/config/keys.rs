//! The configuration keys by section, for the reference page, the example file and the console.
//! They are read from the JSON schema, so that the doc comment of a field is the only description
//! of its key, and the code the only source of its default.

use serde_json::{Map, Value, json};
use std::{fmt, sync::LazyLock};

use super::schema;

/// A table of the file, or the tables of a list.
pub struct ConfigSection {
    /// Such as `admin.oidc`; empty for the top level.
    pub path: String,
    pub is_list: bool,
    /// Without a full stop.
    pub description: String,
    pub keys: Vec<ConfigKey>,
}

/// A key with its default and description.
pub struct ConfigKey {
    pub path: String,
    pub default: KeyDefault,
    /// Without a full stop.
    pub description: String,
}

/// What applies if a key is not set. Displayed as text for people.
pub enum KeyDefault {
    Nothing,
    Value(Value),
    /// In words, such as “the provider's”.
    Words(String),
}

/// The extension of the schema that contains a default in words.
const WORDS: &str = "x-default";

/// All sections that have keys of their own, in the order of the fields of [`super::Config`].
pub fn sections() -> &'static [ConfigSection] {
    static SECTIONS: LazyLock<Vec<ConfigSection>> = LazyLock::new(|| {
        let schema = schema::with_references();
        let mut reader = SchemaReader { schema: &schema, found: Vec::new() };
        reader.section("", &schema);
        reader.found
    });
    &SECTIONS
}

/// All keys, in the order of the sections.
pub fn keys() -> impl Iterator<Item = &'static ConfigKey> {
    sections().iter().flat_map(|section| &section.keys)
}

/// Reads a schema in which types are references, so that the description of a property is that of
/// the field, and not that of its type.
struct SchemaReader<'s> {
    schema: &'s Value,
    found: Vec<ConfigSection>,
}

/// The schema of a section.
struct TableSchema<'s> {
    properties: &'s Map<String, Value>,
    required: Vec<&'s str>,
    is_list: bool,
}

impl<'s> SchemaReader<'s> {
    /// Adds a section, then those within it.
    fn section(&mut self, path: &str, property: &'s Value) {
        let Some(table) = self.table(property) else { return };
        let (mut keys, mut nested) = (Vec::new(), Vec::new());
        for (name, property) in table.properties {
            let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
            if self.table(property).is_some() {
                nested.push((path, property));
            } else {
                let default = default(property, table.required.contains(&name.as_str()));
                keys.push(ConfigKey { path, default, description: description(property) });
            }
        }
        if !keys.is_empty() {
            self.found.push(ConfigSection {
                path: path.to_owned(),
                is_list: table.is_list,
                description: description(property),
                keys,
            });
        }
        for (path, property) in nested {
            self.section(&path, property);
        }
    }

    /// The table, or the tables of the list, that a property contains. `None` if it contains values.
    fn table(&self, property: &'s Value) -> Option<TableSchema<'s>> {
        let schema = self.resolved(property);
        let entry = schema.get("items").map(|items| self.resolved(items));
        let table = entry.unwrap_or(schema);
        let required = table.get("required").and_then(Value::as_array);
        Some(TableSchema {
            properties: table.get("properties")?.as_object()?,
            required: required.into_iter().flatten().filter_map(Value::as_str).collect(),
            is_list: entry.is_some(),
        })
    }

    fn resolved(&self, schema: &'s Value) -> &'s Value {
        let reference = schema.get("$ref").and_then(Value::as_str);
        let place = reference.and_then(|text| self.schema.pointer(text.strip_prefix('#')?));
        place.unwrap_or(schema)
    }
}

fn description(property: &Value) -> String {
    let text = property.get("description").and_then(Value::as_str).unwrap_or_default();
    text.strip_suffix('.').unwrap_or(text).to_owned()
}

fn default(property: &Value, is_required: bool) -> KeyDefault {
    if let Some(words) = property.get(WORDS).and_then(Value::as_str) {
        return KeyDefault::Words(words.to_owned());
    }
    match (property.get("default"), property.get("type").and_then(Value::as_str)) {
        (Some(Value::Null), _) => KeyDefault::Nothing,
        (Some(value), _) => KeyDefault::Value(value.clone()),
        // A default that is not written when it is serialised is not in the schema.
        (None, Some("array")) if !is_required => KeyDefault::Value(json!([])),
        (None, Some("object")) if !is_required => KeyDefault::Value(json!({})),
        (None, _) => KeyDefault::Nothing,
    }
}

impl KeyDefault {
    /// The default as it would be written in the file.
    pub fn toml(&self) -> Option<String> {
        let Self::Value(value) = self else { return None };
        Some(toml::Value::try_from(value).map_or_else(|_| value.to_string(), |v| v.to_string()))
    }
}

impl fmt::Display for KeyDefault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value(Value::String(text)) | Self::Words(text) => f.write_str(text),
            other => f.write_str(&other.toml().unwrap_or_default()),
        }
    }
}

impl ConfigSection {
    /// The header, as written in the file.
    pub fn header(&self) -> String {
        if self.is_list { format!("[[{}]]", self.path) } else { format!("[{}]", self.path) }
    }
}
