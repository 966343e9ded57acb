//! How rules match the arguments of calls.

use super::*;

/// Rules match decoded arguments at their path. A list is allowed only as a whole.
#[test]
fn fields_are_matched_where_they_stand() {
    let allow = json!({ "action": "allow", "fields": { "to": "^[^@]+@example\\.org$" } });
    let setting = Setting::with(&[allow]);
    for (arguments, expected) in [
        (json!({ "to": "ann@example.org" }), "run"),
        (json!({ "to": ["ann@example.org", "bob@example.org"] }), "run"),
        (json!({ "to": ["ann@example.org", "x@evil.test"] }), "ask"),
        (json!({ "to": "x@evil.test", "text": "ann@example.org" }), "ask"),
        (json!({ "to": { "a": "ann@example.org" } }), "ask"),
        (json!({ "to": [] }), "ask"),
        (json!({}), "ask"),
    ] {
        assert_eq!(setting.says(&mail(), arguments.clone()), expected, "{arguments}");
    }
    let deny = |key: &str| json!({ "action": "deny", "fields": { key: { "glob": "*evil*" } } });
    for key in ["/head/to", "head.to"] {
        let setting = Setting::with(&[deny(key)]);
        let evil = json!({ "head": { "to": ["a", "x@evil.test"] } });
        assert_eq!(setting.says(&mail(), evil), "refuse");
        assert_eq!(setting.says(&mail(), json!({ "head": { "to": "a" } })), "ask");
    }
    let setting = Setting::with(&[deny("misspelt")]);
    let ruling = guard::ruling(
        &call(&mail(), json!({ "to": "a" })),
        &mail(),
        &setting.session,
        &setting.policy,
        &setting.context,
    );
    assert!(ruling.unclear.is_some(), "a rule about an argument that there is not asks");
}

/// An argument that is left out counts as the default of the tool's schema.
#[test]
fn an_argument_that_is_left_out_is_its_default() {
    let properties = json!({ "method": { "type": "string", "default": "GET" }, "body": {} });
    let parameters = json!({ "type": "object", "properties": properties });
    let spec = ToolSpec { parameters, ..mail() };
    let deny = |field: &str| json!({ "action": "deny", "fields": { field: "^GET$" } });
    let setting = Setting::with(&[deny("method")]);
    assert_eq!(setting.says(&spec, json!({})), "refuse");
    assert_eq!(setting.says(&spec, json!({ "method": "PUT" })), "ask");
    let ruling = |field: &str| {
        let setting = Setting::with(&[deny(field)]);
        let call = call(&spec, json!({}));
        guard::ruling(&call, &spec, &setting.session, &setting.policy, &setting.context)
    };
    assert_eq!(ruling("body").action, None, "there is no default, and nothing matches");
}
