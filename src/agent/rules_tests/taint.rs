//! What requires approval after untrusted content was read.

use super::*;
use crate::journal::{
    grant::{Grant, GrantSubject, Scope},
    ids::GrantId,
};

fn fetch() -> ToolSpec {
    ToolSpec { outward: true, untrusted: true, ..ToolSpec::read_only("fetch", "Gets", json!({})) }
}

fn remote(approval: ApprovalMode, effect: EffectClass) -> ToolSpec {
    let source = ToolSource::Mcp { server: "s".into(), original_name: "t".into() };
    ToolSpec { effect, source, approval, ..fetch() }
}

/// Calls with side effects, or to the outside, require approval after untrusted content was read.
/// Proves S1, S16.
#[test]
fn a_tainted_conversation_asks() {
    let clean = Setting::with(&[]);
    let tainted = Setting::with(&[]).tainted();
    let reading = ToolSpec::read_only("read_file", "Reads", json!({}));
    let showing = ToolSpec { effect: EffectClass::Idempotent, ..reading.clone() };
    let harmless = remote(ApprovalMode::Never, EffectClass::ReadOnly);
    for (spec, before, after) in [
        (&reading, "run", "run"),
        (&showing, "run", "run"),
        (&fetch(), "run", "ask"),
        (&harmless, "run", "ask"),
        (&mail(), "ask", "ask"),
    ] {
        assert_eq!(clean.says(spec, json!({})), before, "{}", spec.name);
        assert_eq!(tainted.says(spec, json!({})), after, "{}", spec.name);
    }
    let mut open = Setting::with(&[]).tainted();
    open.policy.default = Action::Allow;
    assert_eq!(open.says(&mail(), json!({})), "ask", "the default frees nobody from asking");
    open.policy.tainted = Action::Allow;
    assert_eq!(open.says(&mail(), json!({})), "run", "it is the taint that asks");
    open.policy.tainted = Action::Deny;
    assert_eq!(open.says(&mail(), json!({})), "refuse");
}

/// After that, only a rule that names the tool can allow it.
#[test]
fn a_rule_that_names_the_tool_applies_in_a_tainted_conversation() {
    let rule = |tool: &str| json!({ "tool": tool, "action": "allow" });
    for (tool, expected) in [("mail", "run"), ("ma*", "run"), ("*", "ask"), ("????", "ask")] {
        let setting = Setting::with(&[rule(tool)]).tainted();
        assert_eq!(setting.says(&mail(), json!({})), expected, "{tool}");
    }
}

/// A grant was given before the untrusted content was read, and by a person who had not seen it.
/// Proves S1, A11.
#[test]
fn a_grant_does_not_apply_in_a_tainted_conversation() {
    let grant = Grant {
        id: GrantId::new(),
        tool: "mail".into(),
        covers: GrantSubject::Everything,
        scope: Scope::Person,
        owner: String::new(),
        given_by: Speaker { id: "7".into(), name: "Ann".into() },
        expires_at: DateTime::UNIX_EPOCH,
        uses_left: None,
    };
    let granted = |mut setting: Setting| {
        setting.context.permissions.grants = vec![grant.clone()];
        setting
    };
    assert_eq!(granted(Setting::with(&[])).says(&mail(), json!({})), "run");
    assert_eq!(granted(Setting::with(&[]).tainted()).says(&mail(), json!({})), "ask");
    let mut joined = granted(Setting::with(&[]));
    joined.session.joined = vec![Speaker { id: "8".into(), name: "Bob".into() }];
    assert_eq!(joined.says(&mail(), json!({})), "ask", "it was given to one person");
}
