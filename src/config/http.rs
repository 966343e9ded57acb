//! The sections `[[http.hosts]]` and `[[http.credentials]]`: the requests that `http_request` may
//! make, and the credentials it uses.

use anyhow::{Context as _, Result, bail, ensure};
use schemars::JsonSchema;
use secrecy::ExposeSecret as _;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use url::Url;

use super::secret::Secret;
use crate::{
    agent::{
        policy::{Action, Origin, Rule},
        rules::{self, Pattern, RuleEntry},
    },
    tools::web::{
        client::{WebClient, place},
        credentials::{Credential, OAuthClient, SHORTEST, SecretPlacement, SecretSource},
        hosts::{HostPattern, HostRule},
        request::{Access, Verb},
    },
};

#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct HttpSection {
    /// Hosts to which `http_request` may send requests without an approval.
    pub hosts: Vec<HostEntry>,
    /// Credentials that are added to requests of `http_request`.
    pub credentials: Vec<CredentialEntry>,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HostEntry {
    /// The hosts, as `api.example.org` or `*.example.org`, also with `:port`; HTTPS unless it begins
    /// with `http://`.
    pub pattern: String,
    /// The methods that this entry allows.
    #[serde(default = "reading")]
    pub methods: Vec<Verb>,
    /// When a request needs an approval: `never`, `untainted` (not until untrusted content was read)
    /// or `ask` (as everywhere else).
    #[serde(default)]
    pub approval: HostApproval,
}

fn reading() -> Vec<Verb> {
    vec![Verb::Get, Verb::Head]
}

/// When a request to the host requires approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HostApproval {
    #[default]
    Never,
    Untainted,
    Ask,
}

/// The header of a credential, unless the entry names another one or a query parameter.
const DEFAULT_HEADER: &str = "Authorization";

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CredentialEntry {
    /// The origin that gets the credential, as `https://api.example.org`; nothing is sent to any
    /// other scheme, host or port.
    pub url: Url,
    /// The agents that may use it; `[]` for all.
    #[serde(default)]
    pub agents: Vec<String>,
    /// The header that carries it.
    #[schemars(extend("default" = DEFAULT_HEADER))]
    pub header: Option<String>,
    /// The text before the secret in the header, including the space.
    #[schemars(extend("x-default" = "Bearer for Authorization"))]
    pub prefix: Option<String>,
    /// The query parameter that carries it instead of a header.
    pub query: Option<String>,
    /// The key or token, as a secret of at least 8 characters.
    pub secret: Option<Secret>,
    /// Instead of `secret`: where a token is fetched by OAuth 2.0 client credentials; it is kept
    /// until it expires.
    pub token_url: Option<Url>,
    /// The client id for `token_url`.
    pub client_id: Option<String>,
    /// The client secret for `token_url`, as a secret.
    pub client_secret: Option<Secret>,
    /// The OAuth scopes for `token_url`.
    #[serde(default)]
    pub scopes: Vec<String>,
}

impl HttpSection {
    pub fn build(
        &self,
        inside: &BTreeSet<String>,
        variables: &BTreeMap<String, String>,
    ) -> Result<Access> {
        let hosts = self.hosts.iter().map(|entry| {
            Ok(HostRule {
                pattern: entry.parsed()?,
                methods: entry.methods.iter().map(|verb| verb.method()).collect(),
                unasked: entry.approval != HostApproval::Ask,
            })
        });
        let credentials = self.credentials.iter().map(|entry| {
            let credential = entry.build(inside, variables);
            credential.with_context(|| format!("http.credentials, {}", shown(&entry.url)))
        });
        Ok(Access {
            hosts: hosts.collect::<Result<_>>()?,
            credentials: credentials.collect::<Result<_>>()?,
        })
    }

    /// Checks everything that can be checked without the secrets.
    pub(super) fn check(&self) -> Result<()> {
        self.hosts.iter().try_for_each(|entry| entry.parsed().map(drop))?;
        let mut origins = BTreeSet::new();
        for entry in &self.credentials {
            let url = shown(&entry.url);
            entry.check().with_context(|| format!("http.credentials, {url}"))?;
            let agents: Vec<_> = if entry.agents.is_empty() {
                vec![None]
            } else {
                entry.agents.iter().map(Some).collect()
            };
            for agent in agents {
                if !origins.insert((place(&entry.url), agent)) {
                    bail!("http.credentials: {url} has two credentials for the same agent");
                }
            }
        }
        Ok(())
    }

    /// The guard rules for the hosts. They come after the operator's own rules.
    pub(super) fn rules(&self) -> Result<Vec<Rule>> {
        let free = self.hosts.iter().filter(|entry| entry.approval != HostApproval::Ask);
        let mut all = Vec::new();
        for entry in free {
            let methods: Vec<_> =
                entry.methods.iter().map(|verb| verb.method().as_str().to_owned()).collect();
            let address = entry.parsed()?.expression().to_owned();
            let rule = RuleEntry {
                name: Some(format!("http.hosts {}", entry.pattern)),
                fields: BTreeMap::from([
                    ("url".to_owned(), Pattern::Regex(address)),
                    ("method".to_owned(), Pattern::Regex(format!("^({})$", methods.join("|")))),
                ]),
                ..RuleEntry::of("http_request", Action::Allow)
            };
            let mut compiled = rules::compile(&[rule], Origin::Configuration)?;
            for rule in &mut compiled {
                // A rule that names the tool also applies in a tainted conversation.
                rule.names_tool = entry.approval == HostApproval::Never;
            }
            all.extend(compiled);
        }
        Ok(all)
    }

    /// The credentials, for the redaction of secrets.
    pub fn secrets(&self) -> impl Iterator<Item = &Secret> {
        self.credentials.iter().flat_map(|entry| entry.secret.iter().chain(&entry.client_secret))
    }
}

impl HostEntry {
    fn parsed(&self) -> Result<HostPattern> {
        HostPattern::parse(&self.pattern)
            .map_err(|problem| anyhow::anyhow!("http.hosts.pattern: {problem}"))
    }
}

impl CredentialEntry {
    fn check(&self) -> Result<()> {
        let url = &self.url;
        ensure!(matches!(url.scheme(), "http" | "https"), "url: give an http or https origin");
        let bare = url.path() == "/" && url.query().is_none() && url.fragment().is_none();
        let bare = bare && url.username().is_empty() && url.password().is_none();
        ensure!(bare, "url: give scheme, host and port only");
        let oauth =
            [self.token_url.is_some(), self.client_id.is_some(), self.client_secret.is_some()];
        let whole = if self.secret.is_some() { oauth == [false; 3] } else { oauth == [true; 3] };
        ensure!(whole, "give either secret, or token_url, client_id and client_secret");
        let header = self.header.is_some() || self.prefix.is_some();
        ensure!(!(header && self.query.is_some()), "give either header or query");
        Ok(())
    }

    fn build(
        &self,
        inside: &BTreeSet<String>,
        variables: &BTreeMap<String, String>,
    ) -> Result<Credential> {
        let source = match (&self.secret, &self.token_url, &self.client_id, &self.client_secret) {
            (Some(secret), ..) => {
                let secret = secret.reveal(variables).context("secret")?;
                let length = secret.expose_secret().len();
                ensure!(length >= SHORTEST, "secret: it has fewer than {SHORTEST} characters");
                SecretSource::Fixed(secret)
            }
            (None, Some(token_url), Some(id), Some(secret)) => {
                SecretSource::Client(Box::new(OAuthClient {
                    token_url: token_url.clone(),
                    id: id.clone(),
                    secret: secret.reveal(variables).context("client_secret")?,
                    scopes: self.scopes.clone(),
                    web_client: WebClient::new(
                        inside.iter().cloned().chain([place(token_url)]).collect(),
                    )?,
                    kept: parking_lot::Mutex::default(),
                }))
            }
            _ => bail!("give either secret, or token_url, client_id and client_secret"),
        };
        Ok(Credential {
            url: self.url.clone(),
            agents: self.agents.clone(),
            place: self.place()?,
            secret: source,
        })
    }

    fn place(&self) -> Result<SecretPlacement> {
        if let Some(name) = &self.query {
            return Ok(SecretPlacement::Query(name.clone()));
        }
        let name = self.header.as_deref().unwrap_or(DEFAULT_HEADER);
        let usual = if name.eq_ignore_ascii_case("authorization") { "Bearer " } else { "" };
        let prefix = self.prefix.clone().unwrap_or_else(|| usual.to_owned());
        let name = name.parse().ok().with_context(|| format!("header: `{name}` is no name"))?;
        Ok(SecretPlacement::Header { name, prefix })
    }
}

fn shown(url: &Url) -> String {
    format!("{}://{}", url.scheme(), place(url))
}
