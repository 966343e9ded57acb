//! Examples of request bodies, for the OpenAPI document.

use serde_json::{Value, json};

/// An example of the schema with this name.
pub fn of(schema: &str) -> Option<Value> {
    Some(match schema {
        "DecisionBody" => json!({ "decision": "deny", "reason": "Not on a Friday." }),
        "DigestBody" => json!({
            "digest": "50d11e18c52f1f0a1d3b5b6c0f8e7d6c5b4a39281706f5e4d3c2b1a090807060",
        }),
        "EnabledBody" => json!({ "enabled": false }),
        "ImportBody" => json!({
            "format": "toml",
            "text": "[[rules]]\ntool = \"shell\"\ncommand = [\"ls\"]\naction = \"allow\"\n",
        }),
        "LinkBody" => json!({ "channel": "telegram", "person": "123456789" }),
        "NewScheduleBody" => json!({
            "conversation": "01970d5e4b7a7c1f9a3e5d2b6c8f0a1d",
            "person": "123456789",
            "plan": schedule_plan(),
        }),
        "OfferBody" => json!({ "channel": "telegram", "hours": 24, "role": "member" }),
        "PausedBody" => json!({ "paused": true }),
        "RoleBody" => json!({ "role": "approver" }),
        "RuleEntry" => json!({
            "name": "notes",
            "tool": "write_file",
            "arg_pattern": "^notes/",
            "action": "allow",
        }),
        "SchedulePlanBody" => schedule_plan(),
        "TestBody" => json!({
            "tool": "shell",
            "arguments": { "command": "rm -rf x" },
            "person": "123456789",
            "tainted": true,
        }),
        "TierBody" => json!({ "tier": "core" }),
        "TokenBody" => json!({ "name": "ci", "role": "viewer", "days": 90 }),
        "TrustBody" => json!({
            "tool": "read_file",
            "digest": "50d11e18c52f1f0a1d3b5b6c0f8e7d6c5b4a39281706f5e4d3c2b1a090807060",
        }),
        _ => return None,
    })
}

fn schedule_plan() -> Value {
    json!({
        "does": "remind",
        "text": "Stand-up in ten minutes",
        "cron": "50 8 * * MON-FRI",
        "timezone": "Europe/Berlin",
    })
}
