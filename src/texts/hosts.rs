//! Finds hosts in a call's arguments that differ from the host that would be contacted.

use serde_json::Value;
use std::collections::BTreeSet;
use url::Url;

/// The maximum number of hosts that are listed.
const MAX_LISTED: usize = 10;

/// A host as written, and as a program contacts it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Host {
    pub written: String,
    pub contacted: String,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub struct HostList {
    pub shown: Vec<Host>,
    pub more: usize,
}

/// Compares hosts after normalisation: look-alike letters become punycode, numbers become
/// addresses, and text before an `@` is recognised as user information.
pub fn written_differently(arguments: &Value) -> HostList {
    let mut found = BTreeSet::new();
    collect(arguments, &mut found);
    let more = found.len().saturating_sub(MAX_LISTED);
    HostList { shown: found.into_iter().take(MAX_LISTED).collect(), more }
}

fn collect(value: &Value, found: &mut BTreeSet<Host>) {
    match value {
        Value::String(text) => found.extend(of_text(text)),
        Value::Array(items) => items.iter().for_each(|item| collect(item, found)),
        Value::Object(fields) => fields.values().for_each(|field| collect(field, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn of_text(text: &str) -> impl Iterator<Item = Host> {
    text.match_indices("://").filter_map(|(at, _)| {
        let rest = &text[at + 3..];
        let ends = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '`' | '<' | '>' | '|');
        let address = &rest[..rest.find(ends).unwrap_or(rest.len())];
        let written = &address[..address.find(['/', '?', '#']).unwrap_or(address.len())];
        let url = Url::parse(&format!("https://{address}")).ok()?;
        let contacted = url.host_str()?;
        let host = match written.rsplit_once(':') {
            Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
            _ => written,
        };
        let differs =
            !host.trim_end_matches('.').eq_ignore_ascii_case(contacted.trim_end_matches('.'));
        differs.then(|| Host { written: written.to_owned(), contacted: contacted.to_owned() })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_host_that_is_not_what_it_looks_like_is_found() {
        for (url, expected) in [
            ("https://\u{430}pple.com/x", Some("xn--pple-43d.com")),
            ("see https://ex\u{e4}mple.org.", Some("xn--exmple-cua.org.")),
            ("http://2130706433:8080/", Some("127.0.0.1")),
            ("http://0x7f.1/", Some("127.0.0.1")),
            ("https://apple.com@evil.example/", Some("evil.example")),
            ("https://evil.example\\@apple.com/", Some("evil.example")),
            ("https://\u{ff11}.1.1.1/", Some("1.1.1.1")),
            ("https://Apple.COM:8443/x", None),
            ("https://apple.com?x=https://pear.com/", None),
            ("https://[2001:db8::1]:443/", None),
            ("no address at all://", None),
        ] {
            let found = written_differently(&json!({ "a": [url] }));
            let contacted: Vec<_> = found.shown.iter().map(|host| &host.contacted[..]).collect();
            assert_eq!(contacted, expected.into_iter().collect::<Vec<_>>(), "{url}");
        }
    }

    #[test]
    fn many_hosts_are_counted() {
        let text = (0..15).map(|n| format!("http://\u{430}{n}.com ")).collect::<Vec<_>>().concat();
        let found = written_differently(&json!({ "a": text }));
        assert_eq!((found.shown.len(), found.more), (10, 5));
    }
}
