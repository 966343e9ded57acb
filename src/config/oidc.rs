//! The section `admin.oidc`: the OpenID provider with which operators sign in.

use anyhow::{Context as _, Result, ensure};
use openidconnect::{ClientId, ClientSecret, IssuerUrl, RedirectUrl, Scope};
use schemars::JsonSchema;
use secrecy::ExposeSecret as _;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use url::{Host, Url};

use super::{Config, secret::Secret};
use crate::{
    admin::auth::{oidc, oidc_provider::Issuer},
    journal::role::Role,
    tools::web::client::WebClient,
};

/// Has no effect unless `issuer` is set.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct OidcSection {
    /// The OpenID provider with which operators can sign in besides links, for example
    /// `https://login.example`; its callback URL is `<admin.public_url>/sign-in/oidc/callback`.
    pub issuer: Option<String>,
    /// The client id of this gateway.
    pub client_id: Option<String>,
    /// The client secret, as a secret, if there is one.
    pub client_secret: Option<Secret>,
    /// The scopes to request besides `openid`.
    pub scopes: Vec<String>,
    /// The claim of the ID token that contains the groups.
    pub groups_claim: String,
    /// Maps `group:<name>`, `email:<address>` (verified) or `sub:<id>` to `viewer`, `member`,
    /// `approver`, `operator` or `owner`; nobody else has access.
    pub roles: BTreeMap<String, Role>,
}

impl Default for OidcSection {
    fn default() -> Self {
        Self {
            issuer: None,
            client_id: None,
            client_secret: None,
            scopes: vec!["email".into()],
            groups_claim: "groups".into(),
            roles: BTreeMap::new(),
        }
    }
}

impl OidcSection {
    pub(super) fn check(&self) -> Result<()> {
        let Some(issuer) = &self.issuer else {
            let alone = self.client_id.is_none() && self.roles.is_empty();
            ensure!(alone, "admin.oidc.issuer: is missing");
            return Ok(());
        };
        let is_safe = Url::parse(issuer).is_ok_and(|url| url.scheme() == "https" || is_here(&url));
        ensure!(is_safe, "admin.oidc.issuer: must be an https URL");
        ensure!(self.client_id.is_some(), "admin.oidc.client_id: is missing");
        ensure!(
            !self.roles.is_empty(),
            "admin.oidc.roles: must not be empty, because nobody would have access"
        );
        let kinds = ["group:", "email:", "sub:"];
        let known = |claim: &&String| kinds.iter().any(|kind| claim.starts_with(kind));
        let odd = self.roles.keys().find(|claim| !known(claim));
        let odd = odd.map_or("", String::as_str);
        ensure!(odd.is_empty(), "admin.oidc.roles: `{odd}` is not group:…, email:… or sub:…");
        Ok(())
    }
}

/// Whether the URL's host is this machine.
fn is_here(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        Some(Host::Domain(name)) => name == "localhost",
        None => false,
    }
}

/// The provider, if one is configured. Private addresses are allowed, because the operator chose
/// it.
pub fn issuer(config: &Config, variables: &BTreeMap<String, String>) -> Result<Option<Issuer>> {
    let section = &config.admin.oidc;
    let (Some(issuer), Some(client_id)) = (&section.issuer, &section.client_id) else {
        return Ok(None);
    };
    let issuer = IssuerUrl::new(issuer.clone()).context("admin.oidc.issuer")?;
    let own = issuer.url().host_str().map(str::to_owned);
    let named =
        config.web.allowed_private_hosts.iter().cloned().chain(own).map(|host| host.to_lowercase());
    let secret = section.client_secret.as_ref().map(|secret| secret.reveal(variables));
    let secret = secret.transpose().context("admin.oidc.client_secret")?;
    let lower = |claim: &String| match claim.strip_prefix("email:") {
        Some(address) => format!("email:{}", address.to_lowercase()),
        None => claim.clone(),
    };
    Ok(Some(Issuer {
        url: issuer,
        client_id: ClientId::new(client_id.clone()),
        client_secret: secret.map(|secret| ClientSecret::new(secret.expose_secret().to_owned())),
        scopes: section.scopes.iter().cloned().map(Scope::new).collect(),
        groups_claim: section.groups_claim.clone(),
        roles: section.roles.iter().map(|(claim, role)| (lower(claim), *role)).collect(),
        back: RedirectUrl::new(format!("{}{}", config.web_url(), oidc::BACK))?,
        web_client: WebClient::new(named.collect())
            .context("the HTTP client for the OpenID provider")?,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(toml: &str) -> String {
        let section: OidcSection = toml::from_str(toml).unwrap();
        section.check().map_or_else(|problem| problem.to_string(), |()| "fine".to_owned())
    }

    #[test]
    fn an_issuer_is_safe_and_lets_somebody_in() {
        let with = |issuer: &str, role: &str| {
            refused(&format!("issuer = {issuer:?}\nclient_id = \"x\"\nroles = {{ {role} }}"))
        };
        assert_eq!(refused(""), "fine");
        assert_eq!(with("https://login.example", "\"group:ops\" = \"owner\""), "fine");
        assert_eq!(with("http://127.0.0.1:1", "\"sub:1\" = \"owner\""), "fine");
        assert!(
            with("http://login.example", "\"sub:1\" = \"owner\"").contains("must be an https URL")
        );
        assert!(with("https://login.example", "").contains("nobody"));
        assert!(with("https://login.example", "ops = \"owner\"").contains("`ops`"));
        assert!(refused("client_id = \"x\"").contains("issuer: is missing"));
        assert!(refused("issuer = \"https://x\"").contains("client_id: is missing"));
    }
}
