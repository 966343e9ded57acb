//! `json`: validates JSON and shows a part of it.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{
    Context, Output, Tool, ToolError,
    arguments::{parse, schema},
};
use crate::agent::catalog::{Tier, ToolSpec};

/// `json`
pub struct Json;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// The JSON text.
    data: String,
    /// What to extract: orders[0].total or /orders/0/total. Everything if omitted.
    #[serde(default)]
    path: Option<String>,
}

#[async_trait]
impl Tool for Json {
    fn spec(&self) -> ToolSpec {
        let about = "Checks JSON and shows it, or the part of it at a path, indented.";
        let spec = ToolSpec::read_only("json", about, schema::<Arguments>());
        ToolSpec { tier: Tier::Extension, cache: true, ..spec }
    }

    async fn run(&self, arguments: Value, _context: &Context) -> Result<Output, ToolError> {
        let Arguments { data, path } = parse(arguments)?;
        let value: Value = serde_json::from_str(&data)
            .map_err(|problem| ToolError::InvalidParameters(format!("Invalid JSON: {problem}")))?;
        let pointer = pointer(path.as_deref().unwrap_or_default());
        let found = value.pointer(&pointer).ok_or_else(|| {
            ToolError::ExecutionFailed(format!(
                "There is nothing at {pointer}{}",
                beside(&value, &pointer)
            ))
        })?;
        Ok(Output::text(format!("{found:#}")))
    }
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

/// What exists on the way there instead.
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
    use crate::tools::testing::Place;
    use serde_json::json;

    async fn at(path: &str) -> Result<String, ToolError> {
        let data = json!({ "orders": [{ "total": 7, "a/b": { "c.d": true } }] }).to_string();
        let arguments = json!({ "data": data, "path": path });
        Json.run(arguments, &Place::new().context).await.map(|output| output.text)
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

    /// Proves IC-47.
    #[tokio::test]
    async fn invalid_json_says_where() {
        let arguments = json!({ "data": "{\"a\":}" });
        let error = Json.run(arguments, &Place::new().context).await.unwrap_err();
        assert!(
            error.to_string().contains("Invalid JSON: expected value at line 1 column 6"),
            "{error}"
        );
    }
}
