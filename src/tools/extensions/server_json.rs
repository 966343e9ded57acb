//! An entry of an MCP registry (`server.json`), and how to run the server that it describes: a
//! remote server by its URL, otherwise a package of a kind that the operator allows.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use url::Url;

/// Variables that change which code a program loads, or where packages come from. A `*` stands for
/// any end.
const LOADS_CODE: [&str; 16] = [
    "path", "home", "env", "bash_env", "shell", "ld_*", "dyld_*", "node_*", "npm_*", "python*",
    "pip_*", "uv_*", "perl*", "ruby*", "java_*", "git_*",
];
/// Headers that the client sets itself. `Authorization` is sent as the token of the server.
const SET_BY_CLIENT: [&str; 5] =
    ["accept", "content-type", "host", "mcp-session-id", "mcp-protocol-version"];
/// Arguments of `npx` that change nothing.
const HARMLESS_ARGUMENTS: [&str; 2] = ["-y", "--yes"];

/// A kind of package, by the registry that it comes from.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum PackageKind {
    Npm,
    Pypi,
}

impl PackageKind {
    const ALL: [Self; 2] = [Self::Npm, Self::Pypi];

    pub fn name(self) -> &'static str {
        match self {
            Self::Npm => "npm",
            Self::Pypi => "pypi",
        }
    }

    /// The only registry that packages are installed from.
    fn registry(self) -> &'static str {
        match self {
            Self::Npm => "https://registry.npmjs.org",
            Self::Pypi => "https://pypi.org",
        }
    }

    /// The hosts that its packages are downloaded from.
    pub fn hosts(self) -> &'static [&'static str] {
        match self {
            Self::Npm => &["registry.npmjs.org"],
            Self::Pypi => &["pypi.org", "files.pythonhosted.org"],
        }
    }

    fn program(self) -> &'static str {
        match self {
            Self::Npm => "npx",
            Self::Pypi => "uvx",
        }
    }

    /// The kind of the package that a command starts.
    pub fn of_command(command: &[String]) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| command.first().is_some_and(|p| p == kind.program()))
    }

    fn command(self, identifier: &str, version: &str) -> Vec<String> {
        let package = format!("{identifier}@{version}");
        let program = self.program().to_owned();
        match self {
            Self::Npm => vec![program, "--yes".into(), package],
            Self::Pypi => vec![program, package],
        }
    }
}

#[derive(Debug, Clone, Deserialize)]
pub struct ServerDetail {
    pub name: String,
    #[serde(default)]
    pub description: String,
    pub version: String,
    #[serde(default)]
    packages: Vec<Package>,
    #[serde(default)]
    remotes: Vec<Transport>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Package {
    registry_type: String,
    registry_base_url: Option<String>,
    identifier: String,
    version: Option<String>,
    transport: Transport,
    #[serde(default)]
    runtime_arguments: Vec<Argument>,
    #[serde(default, rename = "packageArguments")]
    arguments: Vec<Argument>,
    #[serde(default)]
    environment_variables: Vec<NamedInput>,
}

#[derive(Debug, Clone, Deserialize)]
struct Transport {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    url: String,
    #[serde(default)]
    headers: Vec<NamedInput>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum Argument {
    Positional {
        #[serde(flatten)]
        input: Input,
    },
    Named {
        name: String,
        #[serde(flatten)]
        input: Input,
    },
}

#[derive(Debug, Clone, Deserialize)]
struct NamedInput {
    name: String,
    #[serde(flatten)]
    input: Input,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Input {
    is_required: bool,
    is_secret: bool,
    value: Option<String>,
    default: Option<String>,
}

/// How a server is run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub struct ServerLaunch {
    #[serde(flatten)]
    pub target: LaunchTarget,
    /// Environment variables of a local server, or headers of a remote one.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub values: BTreeMap<String, String>,
    /// The same, with values that the operator sets as secrets.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub required_secrets: BTreeSet<String>,
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub optional_secrets: BTreeSet<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LaunchTarget {
    Url(Url),
    Command(Vec<String>),
}

impl ServerDetail {
    /// How to run it, or why it cannot be installed.
    pub fn launch(&self, packages: &BTreeSet<PackageKind>) -> Result<ServerLaunch, String> {
        let mut problems = Vec::new();
        let remotes = self.remotes.iter().map(Transport::launch);
        let local = self.packages.iter().map(|package| package.launch(packages));
        for launch in remotes.chain(local) {
            match launch {
                Ok(launch) => return Ok(launch),
                Err(problem) => problems.push(problem),
            }
        }
        if problems.is_empty() {
            problems.push("it has neither a remote server nor a package".into());
        }
        Err(format!(
            "{} {} cannot be installed from here: {}. An operator can add it to the configuration \
                as [[mcp]].",
            self.name,
            self.version,
            problems.join("; ")
        ))
    }

    /// How it would run, in a few words.
    pub fn summary(&self, packages: &BTreeSet<PackageKind>) -> String {
        match self.launch(packages) {
            Ok(ServerLaunch { target: LaunchTarget::Url(url), .. }) => url.to_string(),
            Ok(ServerLaunch { target: LaunchTarget::Command(command), .. }) => command.join(" "),
            Err(_) => "cannot be installed from here".to_owned(),
        }
    }
}

impl Transport {
    fn launch(&self) -> Result<ServerLaunch, String> {
        if self.kind != "streamable-http" {
            return Err(format!("the transport {} is not supported", self.kind));
        }
        let url = Url::parse(&self.url).ok().filter(|_| !self.url.contains(['{', '}']));
        let url = url.ok_or_else(|| format!("{} is not a complete URL", self.url))?;
        ServerLaunch::to(LaunchTarget::Url(url)).with(&self.headers)
    }
}

impl Package {
    fn launch(&self, allowed: &BTreeSet<PackageKind>) -> Result<ServerLaunch, String> {
        let named = PackageKind::ALL.into_iter().find(|kind| kind.name() == self.registry_type);
        let Some(kind) = named else {
            return Err(format!("packages of the kind {} are not supported", self.registry_type));
        };
        if !allowed.contains(&kind) {
            let kind = kind.name();
            return Err(format!("the operator does not allow packages from {kind}"));
        }
        if self.transport.kind != "stdio" {
            return Err(format!("a local server over {} is not supported", self.transport.kind));
        }
        let registry = self.registry_base_url.as_deref().map(|url| url.trim_end_matches('/'));
        if registry.is_some_and(|url| url != kind.registry()) {
            return Err(format!("its package is not from {}", kind.registry()));
        }
        let version = self.version.as_deref().unwrap_or_default();
        if !is_identifier(&self.identifier) || !is_version(version) {
            return Err("its package has no valid name and version".into());
        }
        for argument in &self.runtime_arguments {
            let words = argument.words()?;
            if let Some(word) = words.iter().find(|w| !HARMLESS_ARGUMENTS.contains(&w.as_str())) {
                return Err(format!("it needs the argument {word} for {}", kind.name()));
            }
        }
        let mut command = kind.command(&self.identifier, version);
        for argument in &self.arguments {
            command.extend(argument.words()?);
        }
        ServerLaunch::to(LaunchTarget::Command(command)).with(&self.environment_variables)
    }
}

/// A name that no program takes for an option, a path or a URL.
fn is_identifier(name: &str) -> bool {
    let plain = |part: &str| {
        let allowed = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        part.starts_with(|c: char| c.is_ascii_alphanumeric()) && part.chars().all(allowed)
    };
    match name.strip_prefix('@').map(|scoped| scoped.split_once('/')) {
        Some(Some((scope, name))) => plain(scope) && plain(name),
        Some(None) => false,
        None => plain(name),
    }
}

fn is_version(version: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || "-_.+!".contains(c);
    version.starts_with(|c: char| c.is_ascii_digit()) && version.chars().all(allowed)
}

impl Argument {
    /// The words of the command line.
    fn words(&self) -> Result<Vec<String>, String> {
        let (name, input) = match self {
            Self::Positional { input } => (None, input),
            Self::Named { name, input } => (Some(name), input),
        };
        let value = input.fixed();
        match (name, value) {
            (None, Some(value)) => Ok(vec![value.to_owned()]),
            (Some(name), Some("")) => Ok(vec![name.clone()]),
            (Some(name), Some(value)) => Ok(vec![format!("{name}={value}")]),
            (Some(name), None) if !input.is_required => {
                // A flag has no value. One with a value that nobody has set is left out.
                Ok(if input.value.is_none() && input.default.is_none() {
                    vec![name.clone()]
                } else {
                    Vec::new()
                })
            }
            (None, None) if !input.is_required => Ok(Vec::new()),
            _ => Err("one of its arguments has to be chosen".into()),
        }
    }
}

impl Input {
    /// Its value, unless somebody has to choose it.
    fn fixed(&self) -> Option<&str> {
        let value = self.value.as_deref().or(self.default.as_deref())?;
        let is_open = self.is_secret || value.contains(['{', '}']);
        (!is_open).then_some(value)
    }
}

impl ServerLaunch {
    fn to(target: LaunchTarget) -> Self {
        let (values, required_secrets, optional_secrets) = <_>::default();
        Self { target, values, required_secrets, optional_secrets }
    }

    /// Whether a server may set the variable or header.
    fn accepts(&self, name: &str) -> bool {
        let is_name = name.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c));
        let lower = name.to_ascii_lowercase();
        let is_refused = match self.target {
            LaunchTarget::Url(_) => SET_BY_CLIENT.contains(&lower.as_str()),
            LaunchTarget::Command(_) => LOADS_CODE.iter().any(|refused| {
                refused
                    .strip_suffix('*')
                    .map_or(*refused == lower, |start| lower.starts_with(start))
            }),
        };
        !name.is_empty() && is_name && !is_refused
    }

    fn with(mut self, inputs: &[NamedInput]) -> Result<Self, String> {
        for NamedInput { name, input } in inputs {
            if !self.accepts(name) {
                return Err(format!("it sets {name:?}, which is not allowed"));
            }
            match input.fixed() {
                Some(value) => drop(self.values.insert(name.clone(), value.to_owned())),
                None if input.is_required => drop(self.required_secrets.insert(name.clone())),
                None => drop(self.optional_secrets.insert(name.clone())),
            }
        }
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn launch(parts: &Value, allowed: &[PackageKind]) -> Result<ServerLaunch, String> {
        let mut detail = json!({ "name": "io.example/weather", "version": "1.0.2" });
        detail.as_object_mut().unwrap().extend(parts.as_object().unwrap().clone());
        let detail: ServerDetail = serde_json::from_value(detail).unwrap();
        detail.launch(&allowed.iter().copied().collect())
    }

    fn npm(changed: Value) -> Value {
        let mut package = json!({
            "registryType": "npm", "identifier": "@example/weather", "version": "1.0.2",
            "transport": { "type": "stdio" },
        });
        package.as_object_mut().unwrap().extend(changed.as_object().unwrap().clone());
        json!({ "packages": [package] })
    }

    #[test]
    fn a_remote_server_is_preferred() {
        let mut parts = npm(json!({}));
        parts["remotes"] = json!([
            { "type": "sse", "url": "https://weather.example/sse" },
            { "type": "streamable-http", "url": "https://weather.example/mcp", "headers": [
                { "name": "X-Api-Key", "isRequired": true, "isSecret": true },
                { "name": "X-Trace", "isSecret": true },
                { "name": "X-Unit", "value": "metric" },
            ] },
        ]);
        let launch = launch(&parts, &PackageKind::ALL).unwrap();
        assert_eq!(
            serde_json::to_value(launch).unwrap(),
            json!({
                "url": "https://weather.example/mcp",
                "values": { "X-Unit": "metric" },
                "required_secrets": ["X-Api-Key"],
                "optional_secrets": ["X-Trace"],
            })
        );
    }

    #[test]
    fn a_package_is_started_by_its_exact_version() {
        let parts = npm(json!({
            "registryBaseUrl": "https://registry.npmjs.org/",
            "runtimeArguments": [{ "type": "positional", "value": "-y" }],
            "packageArguments": [
                { "type": "positional", "value": "serve" },
                { "type": "named", "name": "--port", "default": "0" },
                { "type": "named", "name": "--quiet" },
                { "type": "positional", "valueHint": "folder" },
            ],
            "environmentVariables": [
                { "name": "UNIT", "default": "metric" },
                { "name": "KEY", "isRequired": true },
            ],
        }));
        let found = launch(&parts, &[PackageKind::Npm]).unwrap();
        let command = ["npx", "--yes", "@example/weather@1.0.2", "serve", "--port=0", "--quiet"];
        assert_eq!(found.target, LaunchTarget::Command(command.map(str::to_owned).into()));
        assert_eq!(found.values["UNIT"], "metric");
        assert!(found.required_secrets.contains("KEY"));
        let pypi = npm(json!({ "registryType": "pypi", "identifier": "weather" }));
        let found = launch(&pypi, &[PackageKind::Pypi]).unwrap();
        assert_eq!(found.target, LaunchTarget::Command(vec!["uvx".into(), "weather@1.0.2".into()]));
    }

    /// An index cannot make the gateway run anything but a named version of a package.
    #[test]
    fn a_hostile_entry_is_refused() {
        for (changed, why) in [
            (json!({ "identifier": "--call=evil" }), "no valid name"),
            (json!({ "identifier": "../evil" }), "no valid name"),
            (json!({ "identifier": "https://evil.example/x.tgz" }), "no valid name"),
            (json!({ "identifier": "@evil" }), "no valid name"),
            (json!({ "version": "latest" }), "no valid name"),
            (json!({ "version": Value::Null }), "no valid name"),
            (json!({ "version": "1.0 || evil" }), "no valid name"),
            (json!({ "registryBaseUrl": "https://evil.example" }), "is not from"),
            (json!({ "registryType": "oci" }), "kind oci"),
            (json!({ "transport": { "type": "streamable-http", "url": "http://x" } }), "local"),
            (
                json!({ "runtimeArguments": [{ "type": "named", "name": "--registry",
                    "value": "https://evil.example" }] }),
                "--registry=",
            ),
            (
                json!({ "packageArguments": [{ "type": "positional", "isRequired": true }] }),
                "has to be chosen",
            ),
            (json!({ "environmentVariables": [{ "name": "A=B" }] }), "not allowed"),
        ] {
            let problem = launch(&npm(changed), &PackageKind::ALL).unwrap_err();
            assert!(problem.contains(why), "{problem}");
        }
        assert!(launch(&npm(json!({})), &[]).unwrap_err().contains("does not allow packages"));
        let open = json!({ "remotes": [
            { "type": "streamable-http", "url": "https://{host}/mcp" }] });
        assert!(launch(&open, &[]).unwrap_err().contains("not a complete URL"));
        assert!(launch(&json!({}), &[]).unwrap_err().contains("neither"));
    }

    /// Some variables change what a program loads.
    #[test]
    fn variables_that_load_code_are_refused() {
        for name in ["LD_PRELOAD", "NODE_OPTIONS", "PYTHONPATH", "npm_config_registry", "PATH"] {
            let parts = npm(json!({ "environmentVariables": [{ "name": name, "value": "x" }] }));
            assert!(launch(&parts, &PackageKind::ALL).is_err(), "{name}");
        }
    }
}
