//! The sections `media.video`, `media.music` and `media.model3d`: services that work on jobs.

use anyhow::{Result, ensure};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::{collections::BTreeMap, time::Duration};
use url::Url;

use super::{
    key::{ConfigKey, key},
    media::ServiceKeys,
    secret::Secret,
};
use crate::tools::media::{
    generation::{self, Generator},
    service::{MediaEndpoint, MediaProvider},
};

pub(super) const KEYS: &[ConfigKey] = &[
    key("media.video.provider", "", "replicate or fal"),
    key("media.video.model", "", "The provider's name of the model, as owner/name"),
    key("media.video.base_url", "the provider's", "For compatible servers"),
    key("media.video.api_key", "", "The key, as a secret"),
    key("media.video.price", "not known", "Per video, in your currency"),
    key("media.video.prompt_field", "prompt", "The model's name of the field for the text"),
    key(
        "media.video.image_field",
        "",
        "The model's name of the field for a picture to start from; empty if it takes none",
    ),
    key("media.video.input", "{}", "Further fields of the model, such as duration = 5"),
    key("media.video.max_minutes", "10", "How long it may take, up to 60"),
    key("media.music.provider", "", "replicate or fal"),
    key("media.music.model", "", "The provider's name of the model, as owner/name"),
    key("media.music.base_url", "the provider's", "For compatible servers"),
    key("media.music.api_key", "", "The key, as a secret"),
    key("media.music.price", "not known", "Per piece, in your currency"),
    key("media.music.prompt_field", "prompt", "The model's name of the field for the text"),
    key(
        "media.music.image_field",
        "",
        "The model's name of the field for a picture to start from; empty if it takes none",
    ),
    key("media.music.input", "{}", "Further fields of the model, such as duration = 5"),
    key("media.music.max_minutes", "10", "How long it may take, up to 60"),
    key("media.model3d.provider", "", "replicate or fal"),
    key("media.model3d.model", "", "The provider's name of the model, as owner/name"),
    key("media.model3d.base_url", "the provider's", "For compatible servers"),
    key("media.model3d.api_key", "", "The key, as a secret"),
    key("media.model3d.price", "not known", "Per model, in your currency"),
    key("media.model3d.prompt_field", "prompt", "The model's name of the field for the text"),
    key(
        "media.model3d.image_field",
        "",
        "The model's name of the field for a picture to start from; empty if it takes none",
    ),
    key("media.model3d.input", "{}", "Further fields of the model, such as duration = 5"),
    key("media.model3d.max_minutes", "10", "How long it may take, up to 60"),
];

/// A service that works on jobs.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct GenerationSection {
    pub provider: Option<MediaProvider>,
    pub model: String,
    pub base_url: Option<Url>,
    pub api_key: Option<Secret>,
    pub price: Option<f64>,
    pub prompt_field: String,
    pub image_field: String,
    pub input: BTreeMap<String, Value>,
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
