//! Validates the arguments of calls.

use jsonschema::{ValidationError, Validator, error::ValidationErrorKind};
use serde_json::Value;

/// Validates arguments against a schema. The error says what is wrong and where, for example
/// `/rows/0: Missing 'name' parameter`.
pub fn fits(schema: &Validator, arguments: &Value) -> Result<(), String> {
    if holds_nul(arguments) {
        return Err("The arguments contain a NUL character (U+0000)".into());
    }
    let faults: Vec<_> = schema.iter_errors(arguments).take(5).map(|e| fault(&e)).collect();
    if faults.is_empty() { Ok(()) } else { Err(faults.join("; ")) }
}

/// Whether any text contains a NUL character. An approver would not see it, and not all databases
/// can store it.
fn holds_nul(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains('\0'),
        Value::Array(items) => items.iter().any(holds_nul),
        Value::Object(fields) => {
            fields.iter().any(|(name, value)| name.contains('\0') || holds_nul(value))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

fn fault(error: &ValidationError<'_>) -> String {
    let what = match error.kind() {
        ValidationErrorKind::Required { property } => {
            format!("Missing '{}' parameter", property.as_str().unwrap_or_default())
        }
        // Truncated, because the message may quote the arguments.
        _ => error.to_string().chars().take(300).collect(),
    };
    match error.instance_path().as_str() {
        "" => what,
        path => format!("{path}: {what}"),
    }
}
