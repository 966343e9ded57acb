//! The OpenAPI document: what the resources declare, and what holds for every operation. And a page
//! for people, made from it.

use serde_json::{Map, Value, json};
use std::{collections::BTreeMap, fmt::Write as _};
use utoipa::openapi::{Info, OpenApi, OpenApiBuilder};

use super::idempotency::KEY;
use crate::{
    admin::{markdown_html::escape, problem::PROBLEM},
    journal::role::Role,
};

const PAGE: &str = include_str!("../web/api.html");

/// The extension that says the least role of an operation.
const ROLE: &str = "x-role";

const ABOUT: &str = "Lists take `limit` and `cursor` and answer `items` and `next`. Ids are \
    strings. A request that changes something may carry an `Idempotency-Key`: sent again with the \
    same key it is not done again, and gets the same answer for a day. `x-role` is the least role \
    of an operation: viewer, approver, operator, owner. Tokens are made by `countersign token \
    --api NAME --role ROLE`; the session of a browser that is signed in to the web chat counts too.";

pub fn begun() -> OpenApi {
    let mut info = Info::new("Countersign", env!("CARGO_PKG_VERSION"));
    info.description = Some(ABOUT.to_owned());
    OpenApiBuilder::new().info(info).build()
}

/// With what no resource has to declare: who is let in, how things can go wrong.
pub fn complete(declared: &OpenApi) -> Value {
    let mut document = serde_json::to_value(declared).expect("made of strings and maps");
    document["components"]["securitySchemes"] = json!({
        "token": { "type": "http", "scheme": "bearer" },
        "session": { "type": "apiKey", "in": "cookie", "name": "countersign_session" },
    });
    document["components"]["schemas"]["Problem"] = json!({
        "description": "Why something was not done (RFC 9457)",
        "type": "object",
        "required": ["type", "title", "status", "detail"],
        "properties": {
            "type": { "type": "string" },
            "title": { "type": "string" },
            "status": { "type": "integer" },
            "detail": { "type": "string", "description": "What to do about it" },
        },
    });
    for (_, method, operation) in operations_mut(&mut document) {
        let has_body = operation.contains_key("requestBody");
        let named = operation.get("parameters").is_some_and(|parameters| {
            parameters.as_array().into_iter().flatten().any(|p| p["in"] == "path")
        });
        operation.insert("security".into(), json!([{ "token": [] }, { "session": [] }]));
        for status in statuses(&method, has_body, named) {
            let answer = json!({
                "description": meaning(status),
                "content": { PROBLEM: { "schema": { "$ref": "#/components/schemas/Problem" } } },
            });
            operation["responses"][status.to_string()] = answer;
        }
        if method != "get" {
            let parameters = operation.entry("parameters").or_insert_with(|| json!([]));
            parameters.as_array_mut().expect("a list").push(json!({
                "name": KEY.as_str(),
                "in": "header",
                "description": "Makes the request safe to be sent again",
                "schema": { "type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!-~]+$" },
            }));
        }
    }
    document
}

/// How an operation of that kind can go wrong.
fn statuses(method: &str, has_body: bool, named: bool) -> Vec<u16> {
    let mut statuses = vec![400, 401, 403, 500];
    if named {
        statuses.push(404);
    }
    if method != "get" {
        statuses.extend([409, 413, 422]);
    }
    if has_body {
        statuses.push(415);
    }
    statuses
}

fn meaning(status: u16) -> &'static str {
    match status {
        400 => "The request cannot be read",
        401 => "No token that works",
        403 => "Not with this role, or not by this person",
        404 => "There is no such thing",
        409 => "It does not go with how things stand",
        413 => "The body is too long",
        415 => "The body is no JSON",
        422 => "It can be read, and cannot be done as it is",
        _ => "A fault of ours",
    }
}

/// By path and method, the least role.
pub fn locks(document: &Value) -> BTreeMap<String, BTreeMap<String, Role>> {
    let mut locks: BTreeMap<_, BTreeMap<_, _>> = BTreeMap::new();
    for (path, method, operation) in operations(document) {
        let role = operation.get(ROLE).and_then(Value::as_str).and_then(Role::parse);
        // An operation without a role is nobody's: it is not served.
        if let Some(role) = role {
            locks.entry(path.to_owned()).or_default().insert(method.to_owned(), role);
        }
    }
    locks
}

/// Path, method and operation.
fn operations(document: &Value) -> impl Iterator<Item = (&str, &str, &Map<String, Value>)> {
    let paths = document["paths"].as_object().into_iter().flatten();
    paths.flat_map(|(path, item)| {
        let operations = item.as_object().into_iter().flatten();
        operations
            .filter_map(move |(method, o)| Some((path.as_str(), method.as_str(), o.as_object()?)))
    })
}

fn operations_mut(
    document: &mut Value,
) -> impl Iterator<Item = (String, String, &mut Map<String, Value>)> {
    let paths = document["paths"].as_object_mut().into_iter().flatten();
    paths.flat_map(|(path, item)| {
        let operations = item.as_object_mut().into_iter().flatten();
        operations
            .filter_map(move |(method, o)| Some((path.clone(), method.clone(), o.as_object_mut()?)))
    })
}

/// A list of the operations.
pub fn page(document: &Value) -> String {
    let mut rows = String::new();
    let text = |value: Option<&Value>| escape(value.and_then(Value::as_str).unwrap_or_default());
    for (path, method, operation) in operations(document) {
        let _ = writeln!(
            rows,
            "<tr><td><code>{}</code></td><td><code>{}</code></td><td>{}</td><td>{}</td></tr>",
            method.to_uppercase(),
            escape(path),
            text(operation.get("summary")),
            text(operation.get(ROLE)),
        );
    }
    PAGE.replacen("<!-- about -->", &escape(ABOUT), 1).replacen("<!-- operations -->", &rows, 1)
}
