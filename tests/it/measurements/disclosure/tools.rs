//! Realistic MCP tools: fifty written by hand, the others from a deterministic generator.

use countersign::testing::agent::catalog::{Tier, ToolSource, ToolSpec};
use serde_json::{Map, Value, json};

/// The number of tools; the written ones come first.
pub fn served(count: usize) -> Vec<ToolSpec> {
    let written = include_str!("tools.txt").lines().filter(|line| !line.starts_with('#'));
    let lines = written.map(str::to_owned).chain(made());
    lines.take(count).map(|line| spec(&line)).collect()
}

/// `server.name | description | parameter: what it is; …`
fn spec(line: &str) -> ToolSpec {
    let [name, description, parameters] = parts(line, " | ")[..] else { panic!("{line}") };
    let (server, original_name) = name.split_once('.').unwrap();
    let (mut properties, mut required) = (Map::new(), vec![]);
    for parameter in parameters.split("; ") {
        let (name, about) = parameter.split_once(": ").unwrap();
        let bare = name.trim_end_matches(['?', '#', '!', '[', ']']);
        let kind = match &name[bare.len()..] {
            kind if kind.starts_with('#') => json!({ "type": "integer", "description": about }),
            kind if kind.starts_with('!') => json!({ "type": "boolean", "description": about }),
            kind if kind.starts_with('[') => {
                json!({ "type": "array", "items": { "type": "string" }, "description": about })
            }
            _ => json!({ "type": "string", "description": about }),
        };
        properties.insert(bare.to_owned(), kind);
        if !name.ends_with('?') {
            required.push(Value::from(bare));
        }
    }
    let parameters = json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
        "$schema": "http://json-schema.org/draft-07/schema#",
    });
    let source = ToolSource::Mcp { server: server.into(), original_name: original_name.into() };
    let name = format!("{server}_{original_name}");
    ToolSpec {
        tier: Tier::Extension,
        source,
        ..ToolSpec::read_only(&name, description, parameters)
    }
}

fn parts<'a>(text: &'a str, by: &str) -> Vec<&'a str> {
    text.split(by).collect()
}

const PRODUCTS: [&str; 24] = [
    "gitlab",
    "bitbucket",
    "linear",
    "asana",
    "trello",
    "teams",
    "zoom",
    "salesforce",
    "zendesk",
    "intercom",
    "shopify",
    "quickbooks",
    "xero",
    "datadog",
    "grafana",
    "pagerduty",
    "snowflake",
    "bigquery",
    "airtable",
    "dropbox",
    "onedrive",
    "mailchimp",
    "figma",
    "okta",
];

const THINGS: [(&str, &str); 12] = [
    ("project", "a project with its members and settings"),
    ("report", "a report over a period"),
    ("customer", "a customer record"),
    ("comment", "a comment with its author"),
    ("attachment", "a file that is attached"),
    ("user", "a user account and its roles"),
    ("webhook", "a webhook subscription"),
    ("dashboard", "a dashboard and its panels"),
    ("order", "an order with its lines"),
    ("template", "a reusable template"),
    ("incident", "an incident and its timeline"),
    ("workflow", "an automated workflow"),
];

const ACTS: [(&str, &str, &str); 8] = [
    (
        "list",
        "List every",
        "filter?: Filter expression; limit#?: Maximum number of results; cursor?: Cursor of the next page",
    ),
    ("get", "Get", "id: Identifier; include[]?: Related records to include"),
    (
        "create",
        "Create",
        "name: Name; description?: Description in plain text; owner?: Who owns it; tags[]?: Tags",
    ),
    (
        "update",
        "Update",
        "id: Identifier; changes: Changed fields as a JSON object; notify!?: Whether watchers are told",
    ),
    ("delete", "Delete", "id: Identifier; permanently!?: Skips the recycle bin"),
    (
        "search",
        "Search by words for",
        "query: Words to search for; sort?: Field to sort by; limit#?: Maximum number of results",
    ),
    (
        "export",
        "Export",
        "id: Identifier; format: csv, json or pdf; time_zone?: IANA time zone of dates",
    ),
    ("archive", "Archive", "id: Identifier; reason?: Why it is archived"),
];

/// All of them in a shuffled order.
fn made() -> impl Iterator<Item = String> {
    let mut all = Vec::new();
    for product in PRODUCTS {
        for (thing, about) in THINGS {
            for (act, says, parameters) in ACTS {
                all.push(format!(
                    "{product}.{act}_{thing} | {says} {thing} in {product}: {about}. Needs a \
                     connected {product} account with the matching permission. | {parameters}"
                ));
            }
        }
    }
    let mut seed = 0x9e37_79b9_7f4a_7c15_u64;
    for place in (1..all.len()).rev() {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        all.swap(place, (seed % (place as u64 + 1)) as usize);
    }
    all.into_iter()
}
