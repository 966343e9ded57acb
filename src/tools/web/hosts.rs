//! The hosts at which `http_request` may act without a person's approval.

use regex::Regex;
use reqwest::Method;
use url::Url;

/// A pattern for origins: `api.example.org`, `*.example.org:8443`, `http://wiki.internal`.
#[derive(Debug, Clone)]
pub struct HostPattern(Regex);

/// The permissions for the hosts of a pattern.
#[derive(Debug, Clone)]
pub struct HostRule {
    pub pattern: HostPattern,
    pub methods: Vec<Method>,
    /// Whether these methods run without an approval.
    pub unasked: bool,
}

impl HostPattern {
    /// Parses a pattern. The scheme is HTTPS unless the text begins with `http://`. `*.` is only
    /// allowed at the beginning and matches one or more labels.
    pub fn parse(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is not a host such as api.example.org or *.example.org");
        let lower = text.trim().to_ascii_lowercase();
        let (scheme, rest, usual) = match lower.split_once("://") {
            None => ("(?:https://)?", lower.as_str(), 443),
            Some(("https", rest)) => ("(?:https://)?", rest, 443),
            Some(("http", rest)) => ("http://", rest, 80),
            Some(_) => return Err(wrong()),
        };
        let (host, port) = match rest.trim_end_matches('/').split_once(':') {
            None => (rest.trim_end_matches('/'), usual),
            Some((host, port)) => (host, port.parse::<u16>().map_err(|_| wrong())?),
        };
        let (any, name) =
            host.strip_prefix("*.").map_or(("", host), |name| (r"(?:[a-z0-9-]+\.)+", name));
        let is_label = |label: &str| {
            !label.is_empty() && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
        };
        if !name.split('.').all(is_label) || (!any.is_empty() && !name.contains('.')) {
            return Err(wrong());
        }
        let port = if port == usual { format!("(?::{port})?") } else { format!(":{port}") };
        let name = regex::escape(name);
        // Between the host and the path, nothing else may occur: a URL that a lenient parser would
        // read as one with a user name, a port or another host does not match, and so needs an
        // approval.
        let whole = format!(r"^(?i-u:{scheme}{any}{name}){port}(?:[/?#][^\\\s]*)?$");
        Regex::new(&whole).map(Self).map_err(|_| wrong())
    }

    /// A regular expression that matches a URL if and only if it is at a host of this pattern.
    pub fn expression(&self) -> &str {
        self.0.as_str()
    }

    pub fn is_match(&self, url: &Url) -> bool {
        self.0.is_match(url.as_str())
    }
}

impl HostRule {
    pub fn covers(&self, method: &Method, url: &Url) -> bool {
        self.unasked && self.methods.contains(method) && self.pattern.is_match(url)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_matches_its_hosts_and_no_look_alikes() {
        let one = HostPattern::parse("api.example.org").unwrap();
        for address in [
            "https://api.example.org",
            "api.example.org/v1",
            "HTTPS://API.example.org:443/v1?x=https://evil.example/@",
            "https://api.example.org?x=1",
        ] {
            assert!(one.0.is_match(address), "{address}");
        }
        for address in [
            "http://api.example.org/",
            "https://api.example.org:8443/",
            "https://api.example.org.evil.example/",
            "https://api.example.org@evil.example/",
            "https://api.example.org:443@evil.example/",
            "https://evil.example/api.example.org",
            "https://xapi.example.org/",
            "https://api.example.org\\@evil.example/",
            "https://api.example.org/\n",
            "https://api.example.org\t.evil.example/",
            "https://api\u{3002}example.org/",
            "https://api.example.org./",
        ] {
            assert!(!one.0.is_match(address), "{address}");
        }
        let group = HostPattern::parse("*.example.org:8443").unwrap();
        assert!(group.0.is_match("https://a.b.example.org:8443/x"));
        assert!(!group.0.is_match("https://example.org:8443/x"));
        assert!(!group.0.is_match("https://a.example.org/x"));
        assert!(
            HostPattern::parse("http://wiki.example.org")
                .unwrap()
                .0
                .is_match("http://wiki.example.org/x")
        );
        for wrong in
            ["", "*", "*.org", "a.*.org", "ftp://a.org", "a.org/path", "a b.org", "a.org:x"]
        {
            assert!(HostPattern::parse(wrong).is_err(), "{wrong}");
        }
    }
}
