//! The sections `media.video`, `media.music` and `media.model3d`: services that work on jobs.

use anyhow::{Result, ensure};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::{collections::BTreeMap, time::Duration};
use url::Url;

use super::{media_service::ServiceKeys, secret::Secret};
use crate::tools::media::{
    generation::{self, Generator},
    service::{MediaEndpoint, MediaProvider},
};

/// A service that works on jobs.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct GenerationSection {
    /// The provider: `replicate` or `fal`.
    pub provider: Option<MediaProvider>,
    /// The provider's name of the model, as `owner/name`.
    pub model: String,
    /// The base URL, for compatible servers.
    #[schemars(extend("x-default" = "the provider's"))]
    pub base_url: Option<Url>,
    /// The API key, as a secret.
    pub api_key: Option<Secret>,
    /// Price of one result, in your currency.
    #[schemars(extend("x-default" = "unknown"))]
    pub price: Option<f64>,
    /// The model's name of the field for the text.
    pub prompt_field: String,
    /// The model's name of the field for a picture to start from; empty if it takes none.
    pub image_field: String,
    /// Further fields of the model, such as `duration = 5`.
    pub input: BTreeMap<String, Value>,
    /// How long it may take, in minutes, up to 60.
    pub max_minutes: u32,
}

impl Default for GenerationSection {
    fn default() -> Self {
        Self {
            provider: None,
            model: String::new(),
            base_url: None,
            api_key: None,
            price: None,
            prompt_field: "prompt".into(),
            image_field: String::new(),
            input: BTreeMap::new(),
            max_minutes: 10,
        }
    }
}

impl GenerationSection {
    pub(super) fn keys(&self, section: &'static str) -> ServiceKeys<'_> {
        ServiceKeys {
            section,
            providers: &[MediaProvider::Replicate, MediaProvider::Fal],
            provider: self.provider,
            model: &self.model,
            base_url: self.base_url.as_ref(),
            api_key: self.api_key.as_ref(),
            price: self.price,
        }
    }

    pub(super) fn check(&self, section: &str) -> Result<()> {
        let minutes = self.max_minutes;
        ensure!((1..=60).contains(&minutes), "media.{section}.max_minutes: 1 to 60");
        ensure!(!self.prompt_field.is_empty(), "media.{section}.prompt_field: name a field");
        Ok(())
    }

    pub(super) fn generator(&self, service: MediaEndpoint) -> Generator {
        Generator {
            service: service.answering_within(generation::REQUEST_FOR),
            prompt_field: self.prompt_field.clone(),
            image_field: self.image_field.clone(),
            input: self.input.clone().into_iter().collect(),
            limit: Duration::from_secs(u64::from(self.max_minutes) * 60),
            poll_every: generation::POLL_EVERY,
        }
    }
}
