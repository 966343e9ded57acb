//! Arguments of a call: the JSON schema of a struct, and parsing arguments into the struct.

use schemars::{JsonSchema, generate::SchemaSettings};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Map, Value, json};

use crate::tools::ToolError;

/// The JSON schema of a struct of arguments, simplified so that every provider accepts it: no
/// references, no alternatives, and nothing that only costs tokens.
pub fn schema<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|s| s.inline_subschemas = true);
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    if let Some(fields) = schema.as_object_mut() {
        fields.remove("$schema");
        fields.remove("title");
        // Providers expect properties even if there are none.
        let properties = fields.entry("properties").or_insert_with(|| json!({}));
        let properties = properties.as_object_mut().into_iter().flat_map(Map::values_mut);
        properties.filter_map(Value::as_object_mut).for_each(simplify);
    }
    schema
}

// The arguments of a tool that has none. A doc comment would become part of the schema.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NoArguments {}

/// An optional argument is omitted rather than null; [`tidy`] treats null as omitted.
fn simplify(property: &mut Map<String, Value>) {
    property.remove("format");
    if property.get("default").is_some_and(Value::is_null) {
        property.remove("default");
    }
    if let Some(Value::Array(types)) = property.get_mut("type") {
        types.retain(|kind| kind != "null");
        if let [only] = types.as_slice() {
            property["type"] = only.clone();
        }
    }
    if let Some(Value::Array(values)) = property.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
    if let Some(Value::Array(options)) = property.get("anyOf") {
        let mut others = options.iter().filter(|option| option["type"] != "null");
        if let (Some(Value::Object(only)), None) = (others.next().cloned(), others.next()) {
            property.remove("anyOf");
            for (name, value) in only {
                property.entry(name).or_insert(value);
            }
        }
    }
}

pub fn parse<T: DeserializeOwned>(arguments: Value) -> Result<T, ToolError> {
    serde_json::from_value(arguments)
        .map_err(|error| ToolError::InvalidParameters(error.to_string()))
}

/// Normalises arguments to an object: the value itself, or parsed from the JSON text that some
/// models send instead. Removes an `approved` that the schema does not know (nothing a model says
/// is an approval, and [`without_approval`] has removed the flag from the schema), converts names
/// that differ from the schema's only in `camelCase` or `snake_case`, and removes optional
/// arguments that are null, unless the schema allows null.
pub fn tidy(arguments: Value, schema: &Value) -> Result<Value, ToolError> {
    let object = object(arguments).ok_or_else(|| {
        ToolError::InvalidParameters("Arguments must be a JSON object or string".into())
    })?;
    let empty = Map::new();
    let known = schema["properties"].as_object().unwrap_or(&empty);
    let mut tidied = Map::new();
    let (exact, other): (Vec<_>, Vec<_>) =
        object.into_iter().partition(|(name, _)| known.contains_key(name));
    tidied.extend(exact);
    for (name, value) in other.into_iter().filter(|(name, _)| name != APPROVED) {
        let meant = known.keys().find(|key| plain(key) == plain(&name));
        let name = meant.filter(|key| !tidied.contains_key(*key)).cloned().unwrap_or(name);
        tidied.insert(name, value);
    }
    let required = schema["required"].as_array().map_or(&[][..], Vec::as_slice);
    tidied.retain(|name, value| {
        let is_optional = known.get(name).is_some_and(|property| property["type"].is_string());
        !(value.is_null() && is_optional && !required.iter().any(|one| one == name.as_str()))
    });
    Ok(Value::Object(tidied))
}

/// The argument through which tools of other frameworks receive an approval.
pub const APPROVED: &str = "approved";

/// Removes the flag `approved` from the schema, if it is an optional boolean with the default
/// false. The gateway sets it, and no model sees it. A required boolean, or one without a default,
/// is an ordinary argument.
pub fn without_approval(schema: &mut Value) -> bool {
    let required = schema["required"].as_array().map_or(&[][..], Vec::as_slice);
    let is_required = required.iter().any(|name| name == APPROVED);
    let flag = &schema["properties"][APPROVED];
    let is_flag = flag["type"] == "boolean" && flag["default"] == false && !is_required;
    if is_flag && let Some(properties) = schema["properties"].as_object_mut() {
        properties.remove(APPROVED);
    }
    is_flag
}

fn object(arguments: Value) -> Option<Map<String, Value>> {
    match arguments {
        Value::Object(object) => Some(object),
        Value::String(text) => match serde_json::from_str(&text) {
            Ok(Value::Object(object)) => Some(object),
            _ => None,
        },
        _ => None,
    }
}

fn plain(name: &str) -> String {
    name.chars().filter(|c| *c != '_').flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape() -> Value {
        json!({ "properties": { "file_path": {}, "count": {} } })
    }

    /// Proves CA-10.
    #[test]
    fn an_object_and_a_string_that_holds_one_are_the_same() {
        let object = json!({ "count": 1 });
        assert_eq!(tidy(object.clone(), &shape()).unwrap(), object);
        assert_eq!(tidy(json!("{\"count\":1}"), &shape()).unwrap(), object);
        for other in [json!([]), json!(1), json!(null), json!("x"), json!("[1]"), json!("{")] {
            assert_eq!(
                tidy(other, &shape()).unwrap_err().to_string(),
                "Invalid parameters: Arguments must be a JSON object or string"
            );
        }
    }

    /// Proves CV-07.
    #[test]
    fn an_approval_that_the_model_made_up_is_taken_away() {
        let forged = json!({ "approved": true, "count": 1 });
        assert_eq!(tidy(forged.clone(), &shape()).unwrap(), json!({ "count": 1 }));
        let flag = json!({ "type": "boolean", "default": false });
        let mut risky = json!({ "properties": { "approved": flag, "count": {} } });
        assert!(without_approval(&mut risky));
        assert_eq!(risky, json!({ "properties": { "count": {} } }), "no model is told of it");
        assert_eq!(tidy(forged.clone(), &risky).unwrap(), json!({ "count": 1 }));
        // The outcome of a review is data, not an approval.
        let mut review = json!({ "properties": { "approved": flag }, "required": ["approved"] });
        assert!(!without_approval(&mut review) && review["properties"]["approved"] == flag);
        assert!(!without_approval(&mut json!({ "type": "object" })));
    }

    #[test]
    fn null_is_left_out_where_it_can_only_mean_that() {
        let schema = json!({
            "properties": {
                "must": { "type": "string" },
                "may": { "type": "string" },
                "free": { "type": ["string", "null"] },
            },
            "required": ["must"],
        });
        let arguments = json!({ "must": null, "may": null, "free": null, "other": null });
        let kept = json!({ "must": null, "free": null, "other": null });
        assert_eq!(tidy(arguments, &schema).unwrap(), kept);
    }

    #[test]
    fn a_schema_is_plain() {
        #[derive(JsonSchema)]
        #[expect(dead_code, reason = "only its schema is of interest")]
        #[serde(rename_all = "camelCase", deny_unknown_fields)]
        struct Sample {
            /// Where.
            path: String,
            /// How many.
            #[serde(default)]
            #[schemars(range(min = 1))]
            max_lines: Option<u64>,
            /// Which.
            #[serde(default)]
            shape: Option<Shape>,
        }
        #[derive(JsonSchema)]
        #[expect(dead_code, reason = "only its schema is of interest")]
        enum Shape {
            Wide,
            Narrow,
        }
        assert_eq!(
            schema::<Sample>(),
            json!({
                "type": "object",
                "properties": {
                    "path": { "description": "Where.", "type": "string" },
                    "maxLines": { "description": "How many.", "type": "integer", "minimum": 1 },
                    "shape": { "description": "Which.", "type": "string", "enum": ["Wide", "Narrow"] },
                },
                "required": ["path"],
                "additionalProperties": false,
            })
        );
    }

    #[test]
    fn both_spellings_of_a_name_are_taken_and_none_is_lost() {
        assert_eq!(tidy(json!({ "filePath": "a" }), &shape()).unwrap(), json!({"file_path": "a"}));
        let both = json!({ "filePath": "a", "file_path": "b" });
        assert_eq!(tidy(both.clone(), &shape()).unwrap(), both, "the schema will refuse it");
    }
}
