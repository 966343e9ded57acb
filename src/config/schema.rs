//! The configuration as a JSON schema, for editors and programs.

use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use super::{Config, key::ConfigKey, print::keys};

/// JSON Schema, draft 2020-12; each key has the description of the reference page.
pub fn schema() -> Value {
    let settings =
        SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    let mut schema = settings.into_generator().into_root_schema_for::<Config>().to_value();
    schema["title"] = json!("countersign.toml");
    for ConfigKey { path, description, .. } in keys() {
        if let Some(place) = place_of(&mut schema, path) {
            place.insert("description".to_owned(), json!(description));
        }
    }
    schema
}

/// The schema of a key, including keys within lists.
fn place_of<'a>(schema: &'a mut Value, key: &str) -> Option<&'a mut Map<String, Value>> {
    let mut place = schema;
    for name in key.split('.') {
        if place.get("items").is_some() {
            place = place.get_mut("items")?;
        }
        place = place.get_mut("properties")?.get_mut(name)?;
    }
    place.as_object_mut()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The schema contains every key, and rejects unknown ones.
    /// Proves O3.
    #[test]
    fn the_schema_knows_every_key_and_no_other() {
        let mut schema = schema();
        for ConfigKey { path, description, .. } in keys() {
            let place = place_of(&mut schema, path).unwrap_or_else(|| panic!("no {path}"));
            assert_eq!(place["description"], *description, "{path}");
        }
        let validator = jsonschema::validator_for(&schema).unwrap();
        let good = json!({
            "store": { "url": "postgres://x", "lease_duration": "15s" },
            "models": [{ "id": "main", "provider": "openai", "api_key": { "env": "KEY" } }],
            "guard": { "rules": [{ "tool": "*", "action": "ask", "approvers": ["admins"] }] },
        });
        let wrong = validator.iter_errors(&good).map(|e| e.to_string()).collect::<Vec<_>>();
        assert!(wrong.is_empty(), "{wrong:?}");
        for bad in [
            json!({ "mood": "good" }),
            json!({ "guard": { "default": "maybe" } }),
            json!({ "models": [{ "provider": "openai" }] }),
        ] {
            assert!(!validator.is_valid(&bad), "{bad}");
        }
    }
}
