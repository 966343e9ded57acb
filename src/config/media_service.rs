//! The keys that all sections `media.…` have, and the service that they name.

use anyhow::{Context as _, Result, ensure};
use std::collections::{BTreeMap, BTreeSet};
use url::Url;

use super::{build::micros, secret::Secret};
use crate::{
    agent::spec::Variable,
    tools::{
        media::service::{MediaEndpoint, MediaProvider},
        web::client::{WebClient, place},
    },
};

/// The keys that all sections have.
pub(super) struct ServiceKeys<'c> {
    pub section: &'static str,
    pub providers: &'static [MediaProvider],
    pub provider: Option<MediaProvider>,
    pub model: &'c str,
    pub base_url: Option<&'c Url>,
    pub api_key: Option<&'c Secret>,
    pub price: Option<f64>,
}

impl ServiceKeys<'_> {
    /// The provider; `None` if the section is not used.
    fn provider(&self) -> Result<Option<MediaProvider>> {
        let Some(provider) = self.provider else {
            let is_used = !self.model.is_empty() || self.api_key.is_some();
            ensure!(!is_used, "provider: is missing");
            return Ok(None);
        };
        let known: Vec<_> = self.providers.iter().map(|one| one.shown().to_lowercase()).collect();
        ensure!(self.providers.contains(&provider), "provider: {}", known.join(" or "));
        ensure!(!self.model.trim().is_empty(), "model: name a model of the provider");
        let is_own = self.base_url.is_some_and(|url| *url != provider.usual_url());
        ensure!(self.api_key.is_some() || is_own, "api_key: is missing");
        ensure!(self.price.is_none_or(|price| price >= 0.0), "price: must not be negative");
        Ok(Some(provider))
    }

    pub fn check(&self) -> Result<()> {
        self.provider().map(drop).with_context(|| format!("media.{}", self.section))
    }

    /// `inside` are the private hosts that tools may reach. The operator's own service may be in a
    /// private network as well.
    pub fn build(
        &self,
        variables: &BTreeMap<String, String>,
        inside: &BTreeSet<String>,
    ) -> Result<Option<MediaEndpoint>> {
        let context = || format!("media.{}", self.section);
        let Some(provider) = self.provider().with_context(context)? else { return Ok(None) };
        let usual = provider.usual_url();
        let base_url = self.base_url.cloned().unwrap_or_else(|| usual.clone());
        let own = (base_url != usual).then(|| place(&base_url));
        let web_client = WebClient::new(inside.iter().cloned().chain(own).collect())?;
        let missing = self.missing(variables);
        let key = match self.api_key.filter(|_| missing.is_none()) {
            Some(key) => Some(key.reveal(variables).context("api_key").with_context(context)?),
            None => None,
        };
        let (model, price_micros) = (self.model.to_owned(), self.price.map(micros));
        Ok(Some(MediaEndpoint {
            provider,
            base_url,
            key,
            missing,
            model,
            price_micros,
            web_client,
        }))
    }

    /// The variable for the key, if it is not set.
    pub fn missing(&self, variables: &BTreeMap<String, String>) -> Option<Variable> {
        let Some(Secret::Env { env }) = self.api_key else { return None };
        let variable = Variable::required(env);
        variable.value(variables).is_none().then_some(variable)
    }
}
