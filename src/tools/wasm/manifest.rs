//! The manifest of a WASM tool: the hosts, files and logs that it may access.

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use reqwest::Method;
use serde::{Deserialize, Serialize};
use url::Url;

use crate::tools::web::{
    hosts::HostPattern,
    request::{Access, Verb},
};

/// A manifest as written, in TOML. Without one, a tool has no access.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Manifest {
    pub hosts: Vec<HostGrant>,
    /// Patterns for the files of the workspace that it may read.
    pub read: Vec<String>,
    /// Patterns for the files that it may write.
    pub write: Vec<String>,
    /// Whether its log lines are kept for operators.
    pub log: bool,
}

/// The requests to a host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostGrant {
    /// A pattern as in `[[http.hosts]]`.
    pub host: String,
    #[serde(default = "reading")]
    pub methods: Vec<Verb>,
    /// Whether the gateway adds the credential that `[[http.credentials]]` has for the host.
    #[serde(default)]
    pub credential: bool,
}

fn reading() -> Vec<Verb> {
    vec![Verb::Get, Verb::Head]
}

/// A manifest that was checked.
#[derive(Debug, Clone)]
pub struct Grants {
    pub hosts: Vec<GrantedHost>,
    pub read: GlobSet,
    pub write: GlobSet,
    pub log: bool,
    pub writes_files: bool,
}

#[derive(Debug, Clone)]
pub struct GrantedHost {
    pattern: HostPattern,
    methods: Vec<Method>,
    pub credential: bool,
}

impl Manifest {
    /// Parses a manifest. The error names the key.
    pub fn parse(text: &str) -> Result<Self, String> {
        toml::from_str(text).map_err(|problem| problem.to_string().trim().replace('\n', " "))
    }

    pub fn grants(&self) -> Result<Grants, String> {
        let host = |grant: &HostGrant| -> Result<GrantedHost, String> {
            Ok(GrantedHost {
                pattern: HostPattern::parse(&grant.host).map_err(|why| format!("hosts: {why}"))?,
                methods: grant.methods.iter().map(|verb| verb.method()).collect(),
                credential: grant.credential,
            })
        };
        Ok(Grants {
            hosts: self.hosts.iter().map(host).collect::<Result<_, _>>()?,
            read: globs(&self.read).map_err(|why| format!("read: {why}"))?,
            write: globs(&self.write).map_err(|why| format!("write: {why}"))?,
            log: self.log,
            writes_files: !self.write.is_empty(),
        })
    }
}

/// `*` matches within a folder, `**` across folders.
fn globs(patterns: &[String]) -> Result<GlobSet, String> {
    let mut set = GlobSetBuilder::new();
    for pattern in patterns {
        let relative = pattern.strip_prefix("/workspace/").unwrap_or(pattern);
        let glob = GlobBuilder::new(relative).literal_separator(true).build();
        set.add(glob.map_err(|problem| problem.to_string())?);
    }
    set.build().map_err(|problem| problem.to_string())
}

impl Grants {
    /// The grant for a request.
    pub fn host(&self, method: &Method, url: &Url) -> Option<&GrantedHost> {
        let mut fitting = self.hosts.iter().filter(|host| host.pattern.is_match(url));
        fitting.find(|host| host.methods.contains(method))
    }

    /// Whether a call can change something outside the component.
    pub fn changes_something(&self) -> bool {
        let reads = |method: &Method| matches!(*method, Method::GET | Method::HEAD);
        self.writes_files || self.hosts.iter().any(|host| !host.methods.iter().all(reads))
    }

    /// Whether `[[http.hosts]]` allows all of its requests without an approval.
    pub fn needs_no_approval(&self, access: &Access) -> bool {
        self.hosts.iter().all(|host| {
            let same = |pattern: &HostPattern| pattern.expression() == host.pattern.expression();
            let mut rules = access.hosts.iter().filter(|rule| rule.unasked && same(&rule.pattern));
            rules.any(|rule| host.methods.iter().all(|method| rule.methods.contains(method)))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves IC-44.
    #[test]
    fn a_manifest_grants_what_it_names_and_nothing_else() {
        let text = "
            read = ['notes/*.md']
            write = ['out/**']
            [[hosts]]
            host = '*.example.org'
            methods = ['GET']
        ";
        let grants = Manifest::parse(text).unwrap().grants().unwrap();
        for (path, is_granted) in
            [("notes/a.md", true), ("notes/deep/a.md", false), ("a.md", false), ("out/x", false)]
        {
            assert_eq!(grants.read.is_match(path), is_granted, "{path}");
        }
        assert!(grants.write.is_match("out/deep/x") && !grants.write.is_match("notes/a.md"));
        let granted =
            |method: Method, url: &str| grants.host(&method, &url.parse().unwrap()).is_some();
        assert!(granted(Method::GET, "https://api.example.org/x"));
        assert!(!granted(Method::POST, "https://api.example.org/x"));
        assert!(!granted(Method::GET, "https://example.org.evil.example/"));
        assert!(!grants.log && grants.changes_something());
        let nothing = Manifest::parse("").unwrap().grants().unwrap();
        assert!(!nothing.read.is_match("a.md") && nothing.hosts.is_empty());
        assert!(!nothing.changes_something());
    }

    #[test]
    fn manifest_errors_name_the_field() {
        for (text, wrong) in [
            ("hots = []", "hots"),
            ("[[hosts]]\nhost = 'https://a.org/path'", "hosts: `https://a.org/path` is not a host"),
            ("[[hosts]]\nhost = 'a.org'\nmethods = ['get']", "methods"),
            ("read = ['a[']", "read: "),
        ] {
            let problem = Manifest::parse(text).and_then(|manifest| manifest.grants()).unwrap_err();
            assert!(problem.contains(wrong) && !problem.contains('\n'), "{problem}");
        }
    }
}
