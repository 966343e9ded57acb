//! The configuration as a JSON schema, for editors and programs.

use schemars::{Schema, generate::SchemaSettings, transform::RecursiveTransform};
use serde_json::{Value, json};

use super::Config;

/// JSON Schema, draft 2020-12. The descriptions are the doc comments of the fields.
pub fn schema() -> Value {
    let mut schema = generated(SchemaSettings::draft2020_12().with(|s| s.inline_subschemas = true));
    schema["title"] = json!("countersign.toml");
    schema
}

/// The same schema with a reference in place of each type.
pub(super) fn with_references() -> Value {
    generated(SchemaSettings::draft2020_12())
}

fn generated(settings: SchemaSettings) -> Value {
    let settings = settings.with_transform(RecursiveTransform(join_lines));
    settings.into_generator().into_root_schema_for::<Config>().to_value()
}

/// Replaces the line breaks of doc comments.
fn join_lines(schema: &mut Schema) {
    if let Some(Value::String(text)) = schema.get_mut("description") {
        *text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::keys::{keys, sections};

    /// The schema of a key, including keys within lists.
    fn place_of<'a>(schema: &'a Value, key: &str) -> Option<&'a Value> {
        key.split('.').try_fold(schema, |place, name| {
            place.get("items").unwrap_or(place).get("properties")?.get(name)
        })
    }

    /// Every key has a description of its own: that of its type is not enough.
    #[test]
    fn every_key_and_section_is_described() {
        for section in sections().iter().skip(1) {
            assert!(!section.description.is_empty(), "[{}] has no doc comment", section.path);
        }
        for key in keys() {
            assert!(!key.description.is_empty(), "{} has no doc comment", key.path);
            assert!(!key.description.contains(['\n', '\r']), "{}", key.path);
        }
        assert!(keys().count() > 250, "only {} keys were found", keys().count());
        assert_eq!(sections()[0].path, "");
    }

    /// An editor shows the doc comment and the default of the code, also for keys in lists.
    #[test]
    fn the_schema_describes_keys_in_words_of_the_reference() {
        let schema = schema();
        let key = |path: &str| place_of(&schema, path).unwrap_or_else(|| panic!("no {path}"));
        for (path, default, begins) in [
            (
                "data_dir",
                json!("./data"),
                "The folder of the SQLite file, artifacts and workspaces.",
            ),
            ("guard.approvers", json!("requester"), "Who can decide: `requester`, `members`"),
            ("guard.rules.tool", Value::Null, "Tool name;"),
            ("guard.rules.severity", json!("medium"), "The severity: `low`, `medium`, `high`"),
            ("agents.max_steps", json!(24), "Model requests per turn."),
            ("hooks.timeout", json!("5s"), "Timeout of the program"),
            ("media.music.prompt_field", json!("prompt"), "The model's name of the field"),
        ] {
            assert_eq!(key(path)["default"], default, "{path}");
            let description = key(path)["description"].as_str().unwrap();
            assert!(description.starts_with(begins), "{path}: {description}");
        }
        for known in keys() {
            let description = key(&known.path)["description"].as_str().unwrap();
            assert_eq!(description.trim_end_matches('.'), known.description, "{}", known.path);
        }
    }

    /// The defaults of keys are values that the configuration may have.
    #[test]
    fn every_default_fits_its_schema() {
        let schema = schema();
        for key in keys() {
            let Some(toml) = key.default.toml() else { continue };
            let table: toml::Table = format!("value = {toml}").parse().unwrap();
            let value = serde_json::to_value(&table["value"]).unwrap();
            let place = place_of(&schema, &key.path).unwrap();
            assert!(jsonschema::is_valid(place, &value), "{} = {toml}", key.path);
        }
    }

    /// The schema rejects unknown keys and values.
    /// Proves O3.
    #[test]
    fn the_schema_accepts_valid_configurations_only() {
        let validator = jsonschema::validator_for(&schema()).unwrap();
        let several = json!({ "who": ["admins"], "needed": 2, "except_requester": true });
        let good = json!({
            "store": { "url": "postgres://x", "lease_duration": "15s" },
            "models": [{ "id": "main", "provider": "openai", "api_key": { "env": "KEY" } }],
            "guard": {
                "approvers": several,
                "rules": [{ "tool": "*", "action": "ask", "approvers": ["admins"] }],
            },
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
