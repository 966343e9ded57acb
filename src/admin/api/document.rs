//! The OpenAPI document, from the declarations of the resources and what applies to all operations;
//! and an HTML page made from it.

use serde_json::{Map, Value, json};
use utoipa::openapi::{Info, OpenApi, OpenApiBuilder};

use super::{Locks, ROOT, examples, idempotency::KEY};
use crate::{
    admin::{problem::PROBLEM, templates},
    journal::role::Role,
};

/// The extension with the required role of an operation.
const ROLE: &str = "x-role";

const ABOUT: &str = "Lists accept `limit` and `cursor` and return `items` and `next`. Ids are \
    strings. A request that changes something can carry an `Idempotency-Key`: if it is sent \
    again with the same key within a day, it is not executed again and gets the same response. \
    After an internal error, a repeated POST gets 409, because it may have taken effect. \
    `x-role` is the role that an operation requires, from lowest to highest: viewer, approver, \
    operator, owner. `countersign token --api NAME --role ROLE` creates tokens; the session of a \
    browser that is signed in to the web chat is accepted as well. A token with the role member is \
    for `/v1`, the endpoint for OpenAI clients, and cannot be used here.";

pub fn begun() -> OpenApi {
    let mut info = Info::new("Countersign", env!("CARGO_PKG_VERSION"));
    info.description = Some(ABOUT.to_owned());
    OpenApiBuilder::new().info(info).build()
}

/// Adds what the resources need not declare: authentication and error responses.
pub fn complete(declared: &OpenApi) -> Value {
    let mut document = serde_json::to_value(declared).expect("made of strings and maps");
    document["components"]["securitySchemes"] = json!({
        "token": { "type": "http", "scheme": "bearer" },
        "session": { "type": "apiKey", "in": "cookie", "name": "countersign_session" },
    });
    document["components"]["schemas"]["Problem"] = json!({
        "description": "An error (RFC 9457)",
        "type": "object",
        "required": ["type", "title", "status", "detail"],
        "properties": {
            "type": { "type": "string" },
            "title": { "type": "string" },
            "status": { "type": "integer" },
            "detail": { "type": "string", "description": "What to do about it" },
        },
    });
    for (path, method, operation) in operations_mut(&mut document) {
        operation.insert("operationId".into(), json!(operation_id(&path, &method)));
        describe(operation);
        let has_body = operation.contains_key("requestBody");
        let named = operation.get("parameters").is_some_and(|parameters| {
            parameters.as_array().into_iter().flatten().any(|p| p["in"] == "path")
        });
        operation.insert("security".into(), json!([{ "token": [] }, { "session": [] }]));
        add_errors(operation, &statuses(&method, has_body, named));
        if method != "get" {
            let parameters = operation.entry("parameters").or_insert_with(|| json!([]));
            parameters.as_array_mut().expect("a list").push(json!({
                "name": KEY.as_str(),
                "in": "header",
                "description": "Makes the request safe to repeat",
                "schema": { "type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!-~]+$" },
            }));
        }
    }
    document
}

/// `get_approvals_by_id`: names of functions are not unique.
fn operation_id(path: &str, method: &str) -> String {
    let parts = path.trim_start_matches(ROOT).split('/').filter(|part| !part.is_empty());
    let mut id = method.to_owned();
    for part in parts {
        id.push('_');
        match part.strip_prefix('{') {
            Some(name) => id.extend(["by_", name.trim_end_matches('}')]),
            None => id.push_str(&part.replace('-', "_")),
        }
    }
    id
}

/// Adds the descriptions that responses must have, and an example of the body.
fn describe(operation: &mut Map<String, Value>) {
    let responses = operation.get_mut("responses").and_then(Value::as_object_mut);
    for (status, response) in responses.into_iter().flatten() {
        if response["description"].as_str().unwrap_or_default().is_empty() {
            response["description"] = json!(result(status));
        }
    }
    let Some(body) = operation.get_mut("requestBody") else { return };
    let body = &mut body["content"]["application/json"];
    let name = body["schema"]["$ref"].as_str().and_then(|name| name.rsplit('/').next());
    if let Some(example) = name.and_then(examples::of) {
        body["example"] = example;
    }
}

/// Adds the error responses with these statuses. Those that the operation declares keep their
/// descriptions.
fn add_errors(operation: &mut Map<String, Value>, statuses: &[u16]) {
    let Some(responses) = operation.get_mut("responses").and_then(Value::as_object_mut) else {
        return;
    };
    for status in statuses {
        let described = || json!({ "description": meaning(*status) });
        responses.entry(status.to_string()).or_insert_with(described);
    }
    let errors = responses.iter_mut().filter(|(status, _)| status.starts_with(['4', '5']));
    for (_, response) in errors {
        let schema = json!({ "schema": { "$ref": "#/components/schemas/Problem" } });
        response["content"] = json!({ PROBLEM: schema });
    }
}

fn result(status: &str) -> &'static str {
    match status {
        "201" => "Created",
        "202" => "Accepted",
        "204" => "Done",
        _ => "The result",
    }
}

/// The error statuses of an operation of this kind.
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
        400 => "The request is not valid",
        401 => "No valid token",
        403 => "The role is too low, or this person may not do this",
        404 => "Not found",
        409 => "The request conflicts with the current state",
        413 => "The body is too large",
        415 => "The body is not JSON",
        422 => "The request is well-formed but cannot be carried out",
        _ => "Internal error",
    }
}

/// Adds the required roles of these operations. They are read from the declarations, because every
/// start needs them, and the complete document takes more memory and is rarely requested.
pub fn add_locks(declared: &OpenApi, locks: &mut Locks) {
    for (path, item) in &declared.paths.paths {
        let methods = [
            ("get", &item.get),
            ("put", &item.put),
            ("post", &item.post),
            ("delete", &item.delete),
            ("patch", &item.patch),
        ];
        for (method, operation) in methods {
            let extensions = operation.as_ref().and_then(|operation| operation.extensions.as_ref());
            let role = extensions.and_then(|them| them.get(ROLE)).and_then(Value::as_str);
            // An operation without a role, or with another method, is not served.
            if let Some(role) = role.and_then(Role::parse) {
                locks.entry(path.clone()).or_default().insert(method.to_owned(), role);
            }
        }
    }
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

/// An HTML list of the operations.
pub fn page(document: &Value) -> String {
    let text = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
    let operations = operations(document).map(|(path, method, operation)| {
        json!({
            "path": path,
            "method": method,
            "summary": text(operation.get("summary")),
            "role": text(operation.get(ROLE)),
        })
    });
    let values = json!({ "about": ABOUT, "operations": operations.collect::<Vec<_>>() });
    templates::rendered("api.html", values).expect("a test renders it")
}
