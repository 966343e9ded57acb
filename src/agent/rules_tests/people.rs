//! Rules for some people only.

use super::*;

/// A tool with a list of people is refused to everybody else as such.
/// Proves IC-22.
#[test]
fn a_person_outside_the_allow_list_is_not_authorized() {
    let refused = |setting: &Setting| {
        let open = OpenCall { call: call(&mail(), json!({})), state: CallState::New };
        match judge(&open, &mail(), &setting.session, &setting.policy, &setting.scene) {
            Verdict::Refuse(text) => text,
            other => panic!("{other:?}"),
        }
    };
    let list = |ids: Value| json!({ "tool": "mail", "people": ids, "action": "allow" });
    let others = json!({ "tool": "mail", "action": "deny", "name": "the rest" });
    let listed = Setting::with(&[list(json!(["7", "8"])), others.clone()]);
    assert_eq!(listed.says(&mail(), json!({})), "run");
    let text = refused(&Setting::with(&[list(json!(["8"])), others.clone()]));
    assert!(text.starts_with("Not authorized: by the rule \u{201c}the rest\u{201d}"), "{text}");
    let text = refused(&Setting::with(&[json!({ "people": ["7"], "action": "deny" })]));
    assert!(text.starts_with("Not authorized: "), "{text}");
    // Nobody may: it does not matter who asks.
    for rules in [vec![others.clone()], vec![json!({ "tool": "shell", "people": ["8"] }), others]] {
        let text = refused(&Setting::with(&rules));
        assert!(text.starts_with("Denied: "), "{text}");
    }
    let mut joined = Setting::with(&[list(json!(["7"])), json!({ "action": "deny" })]);
    joined.session.joined = vec![Speaker { id: "8".into(), name: "Bob".into() }];
    assert!(refused(&joined).starts_with("Not authorized: "), "he has joined in");
}
