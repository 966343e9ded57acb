//! Rules that apply to some people only.

use super::*;

/// A tool that is allowed to listed people only is refused to everybody else as not authorized.
/// Proves IC-22.
#[test]
fn a_person_outside_the_allow_list_is_not_authorized() {
    let refused = |setting: &Setting| {
        let open = OpenCall { call: call(&mail(), json!({})), state: CallState::New };
        match judge(&open, &mail(), &setting.session, &setting.policy, &setting.context) {
            Verdict::Refuse(text) => text,
            other => panic!("{other:?}"),
        }
    };
    let list = |ids: Value| json!({ "tool": "mail", "people": ids, "action": "allow" });
    let others = json!({ "tool": "mail", "action": "deny", "name": "the rest" });
    let listed = Setting::with(&[list(json!(["7", "8"])), others.clone()]);
    assert_eq!(listed.says(&mail(), json!({})), "run");
    let text = refused(&Setting::with(&[list(json!(["8"])), others.clone()]));
    assert!(text.starts_with("Not authorized: the rule \u{201c}the rest\u{201d}"), "{text}");
    let text = refused(&Setting::with(&[json!({ "people": ["7"], "action": "deny" })]));
    assert!(text.starts_with("Not authorized: "), "{text}");
    // Denied to everybody: it does not matter who asks.
    for rules in [vec![others.clone()], vec![json!({ "tool": "shell", "people": ["8"] }), others]] {
        let text = refused(&Setting::with(&rules));
        assert!(text.starts_with("Denied: "), "{text}");
    }
    let mut joined = Setting::with(&[list(json!(["7"])), json!({ "action": "deny" })]);
    joined.session.joined = vec![Speaker { id: "8".into(), name: "Bob".into() }];
    assert!(refused(&joined).starts_with("Not authorized: "), "Bob has joined");
}
