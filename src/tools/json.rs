//! `json`: validates JSON, shows a part of it, and changes the value at a path.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{
    Context, Output, Tool, ToolError,
    contract::arguments::{parse, schema},
};
use crate::agent::catalog::{Tier, ToolSpec};

/// `json`
pub struct Json;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// The JSON text.
    data: String,
    /// The path: orders[0].total or /orders/0/total. Everything if omitted.
    #[serde(default)]
    path: Option<String>,
    /// The operation at the path. Default get. set replaces or adds a value, merge adds the fields
    /// of an object (null removes one), remove removes the value.
    #[serde(default)]
    action: JsonAction,
    /// The new value for set and merge, as JSON text.
    #[serde(default)]
    value: Option<String>,
}

#[derive(Deserialize, JsonSchema, Default, Clone, Copy, PartialEq)]
#[serde(rename_all = "snake_case")]
enum JsonAction {
    #[default]
    Get,
    Set,
    Merge,
    Remove,
}

#[async_trait]
impl Tool for Json {
    fn spec(&self) -> ToolSpec {
        let about = "Reads and changes JSON.\nValidates it and shows it indented, or the part at a path; \
                     or sets, merges or removes the value there and shows the result.";
        let spec = ToolSpec::read_only("json", about, schema::<Arguments>());
        ToolSpec { tier: Tier::Extension, cache: true, ..spec }
    }

    async fn run(&self, arguments: Value, _context: &Context) -> Result<Output, ToolError> {
        let Arguments { data, path, action, value } = parse(arguments)?;
        let mut data = read(&data)?;
        let pointer = pointer(path.as_deref().unwrap_or_default());
        let shown = match (action, value) {
            (JsonAction::Get, _) => {
                data.pointer(&pointer).ok_or_else(|| nothing_at(&data, &pointer))?
            }
            (JsonAction::Remove, _) => {
                remove(&mut data, &pointer)?;
                &data
            }
            (JsonAction::Set | JsonAction::Merge, None) => {
                let missing = "Missing 'value' parameter: the new value as JSON text";
                return Err(ToolError::InvalidParameters(missing.into()));
            }
            (JsonAction::Set, Some(value)) => {
                set(&mut data, &pointer, read(&value)?)?;
                &data
            }
            (JsonAction::Merge, Some(value)) => {
                let missing = nothing_at(&data, &pointer);
                merge(data.pointer_mut(&pointer).ok_or(missing)?, read(&value)?);
                &data
            }
        };
        Ok(Output::text(format!("{shown:#}")))
    }
}

fn read(text: &str) -> Result<Value, ToolError> {
    serde_json::from_str(text)
        .map_err(|problem| ToolError::InvalidParameters(format!("Invalid JSON: {problem}")))
}

fn nothing_at(data: &Value, pointer: &str) -> ToolError {
    let beside = beside(data, pointer);
    ToolError::ExecutionFailed(format!("There is nothing at {pointer}{beside}"))
}

/// The parent of the value at the pointer, and the last segment of the pointer.
fn holder<'d>(data: &'d mut Value, pointer: &str) -> Result<(&'d mut Value, String), ToolError> {
    let missing = nothing_at(data, pointer);
    let (parent, last) = pointer.rsplit_once('/').unwrap_or_default();
    let last = last.replace("~1", "/").replace("~0", "~");
    Ok((data.pointer_mut(parent).ok_or(missing)?, last))
}

/// Replaces the value, or adds it: a field of an object, or an item at the end of an array (`-`, or
/// its length).
fn set(data: &mut Value, pointer: &str, value: Value) -> Result<(), ToolError> {
    let missing = nothing_at(data, pointer);
    if let Some(there) = data.pointer_mut(pointer) {
        *there = value;
        return Ok(());
    }
    match holder(data, pointer)? {
        (Value::Object(fields), name) => drop(fields.insert(name, value)),
        (Value::Array(items), at) if at == "-" || at == items.len().to_string() => {
            items.push(value);
        }
        _ => return Err(missing),
    }
    Ok(())
}

/// Applies a JSON merge patch (RFC 7396).
fn merge(there: &mut Value, patch: Value) {
    let Value::Object(changes) = patch else {
        *there = patch;
        return;
    };
    if !there.is_object() {
        *there = Value::Object(Map::new());
    }
    let Some(fields) = there.as_object_mut() else { return };
    for (name, change) in changes {
        if change.is_null() {
            fields.remove(&name);
        } else {
            merge(fields.entry(name).or_insert(Value::Null), change);
        }
    }
}

fn remove(data: &mut Value, pointer: &str) -> Result<(), ToolError> {
    let missing = nothing_at(data, pointer);
    let removed = match holder(data, pointer)? {
        (Value::Object(fields), name) => fields.remove(&name),
        (Value::Array(items), at) => {
            let at = at.parse().ok().filter(|at| *at < items.len());
            at.map(|at: usize| items.remove(at))
        }
        _ => None,
    };
    removed.map(drop).ok_or(missing)
}

/// `a.b[0]` and `$.a.b[0]` become `/a/b/0`.
fn pointer(path: &str) -> String {
    let path = path.trim();
    if path.starts_with('/') {
        return path.to_owned();
    }
    let parts = path.split(['.', '[', ']']).map(|part| part.trim_matches(['"', '\'']));
    let parts = parts.filter(|part| !part.is_empty() && *part != "$");
    let escaped = parts.map(|part| part.replace('~', "~0").replace('/', "~1"));
    escaped.flat_map(|part| ["/".to_owned(), part]).collect()
}

/// Describes the closest existing object or array on the path.
fn beside(value: &Value, pointer: &str) -> String {
    let mut way = pointer;
    while let Some((parent, _)) = way.rsplit_once('/') {
        match value.pointer(parent) {
            Some(Value::Object(fields)) => {
                let names: Vec<_> = fields.keys().take(20).map(String::as_str).collect();
                return format!("; at {parent}/ there are {}", names.join(", "));
            }
            Some(Value::Array(items)) => {
                return format!("; at {parent}/ there are {} items", items.len());
            }
            _ => way = parent,
        }
    }
    String::new()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::testing::ToolFixture;
    use serde_json::json;

    async fn at(path: &str) -> Result<String, ToolError> {
        let data = json!({ "orders": [{ "total": 7, "a/b": { "c.d": true } }] }).to_string();
        let arguments = json!({ "data": data, "path": path });
        Json.run(arguments, &ToolFixture::new().context).await.map(|output| output.text)
    }

    /// Proves IC-47, CV-20.
    #[tokio::test]
    async fn a_path_leads_into_the_json() {
        for path in ["orders[0].total", "$.orders[0].total", "/orders/0/total", "orders.0['total']"]
        {
            assert_eq!(at(path).await.unwrap(), "7", "{path}");
        }
        assert_eq!(at("/orders/0/a~1b/c.d").await.unwrap(), "true");
        assert!(at("").await.unwrap().starts_with("{\n  \"orders\""));
        let nothing = at("orders[0].sum").await.unwrap_err().to_string();
        assert_eq!(
            nothing,
            "There is nothing at /orders/0/sum; at /orders/0/ there are total, a/b"
        );
        let nothing = at("orders[3]").await.unwrap_err().to_string();
        assert!(nothing.ends_with("at /orders/ there are 1 items"), "{nothing}");
    }

    /// Everything else stays unchanged.
    /// Proves IC-47.
    #[tokio::test]
    async fn json_is_changed_at_a_path() {
        let data = json!({ "a": [1, 2], "b": { "c": 3, "d/e": 4 } });
        for (action, path, value, changed) in [
            ("set", "a[0]", json!(9), json!({ "a": [9, 2], "b": { "c": 3, "d/e": 4 } })),
            ("set", "a[2]", json!(9), json!({ "a": [1, 2, 9], "b": { "c": 3, "d/e": 4 } })),
            ("set", "/a/-", json!(9), json!({ "a": [1, 2, 9], "b": { "c": 3, "d/e": 4 } })),
            (
                "set",
                "b.new",
                json!("x"),
                json!({ "a": [1, 2], "b": { "c": 3, "d/e": 4, "new": "x" } }),
            ),
            ("set", "", json!(null), json!(null)),
            (
                "merge",
                "b",
                json!({ "c": null, "f": { "g": 1 } }),
                json!({ "a": [1, 2], "b": { "d/e": 4, "f": { "g": 1 } } }),
            ),
            ("merge", "", json!({ "a": 0 }), json!({ "a": 0, "b": { "c": 3, "d/e": 4 } })),
            ("remove", "a[0]", json!(null), json!({ "a": [2], "b": { "c": 3, "d/e": 4 } })),
            ("remove", "/b/d~1e", json!(null), json!({ "a": [1, 2], "b": { "c": 3 } })),
        ] {
            let arguments = json!({ "data": data.to_string(), "action": action, "path": path, "value": value.to_string() });
            let output = Json.run(arguments, &ToolFixture::new().context).await.unwrap();
            let whole: Value = serde_json::from_str(&output.text).unwrap();
            assert_eq!(whole, changed, "{action} {path}");
        }
        for (action, path) in [
            ("set", "a[7]"),
            ("set", "x.y"),
            ("remove", "b.x"),
            ("remove", "a[2]"),
            ("remove", ""),
            ("merge", "x"),
        ] {
            let arguments =
                json!({ "data": data.to_string(), "action": action, "path": path, "value": "1" });
            let error =
                Json.run(arguments, &ToolFixture::new().context).await.unwrap_err().to_string();
            assert!(error.starts_with("There is nothing at "), "{action} {path}: {error}");
        }
        let without_value = json!({ "data": "{}", "action": "set", "path": "a" });
        let error =
            Json.run(without_value, &ToolFixture::new().context).await.unwrap_err().to_string();
        assert!(error.contains("Missing 'value' parameter"), "{error}");
    }

    /// Proves IC-47.
    #[tokio::test]
    async fn invalid_json_says_where() {
        let arguments = json!({ "data": "{\"a\":}" });
        let error = Json.run(arguments, &ToolFixture::new().context).await.unwrap_err();
        assert!(
            error.to_string().contains("Invalid JSON: expected value at line 1 column 6"),
            "{error}"
        );
    }
}
