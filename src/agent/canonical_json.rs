//! Canonical JSON, so that equal values have equal digests.

use serde_json::{Value, json};

/// Serialises with sorted keys, so that equal values give equal texts.
pub fn canonical(value: &Value) -> String {
    match value {
        Value::Object(fields) => {
            let mut names: Vec<_> = fields.keys().collect();
            names.sort();
            let fields: Vec<_> = names
                .into_iter()
                .map(|name| format!("{}:{}", json!(name), canonical(&fields[name])))
                .collect();
            format!("{{{}}}", fields.join(","))
        }
        Value::Array(items) => {
            format!("[{}]", items.iter().map(canonical).collect::<Vec<_>>().join(","))
        }
        other => other.to_string(),
    }
}
