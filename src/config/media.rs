//! The sections `media.…`: services of vendors for speech, pictures and more.

use anyhow::{Context as _, Result, ensure};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use url::Url;

use super::{build::micros, generation::GenerationSection, secret::Secret};
use crate::{
    agent::spec::Variable,
    tools::{
        media::{
            MediaConfig, images,
            service::{MediaEndpoint, MediaProvider},
            speech::{self, TextToSpeech},
            transcription::{self, Transcriber},
        },
        web::client::{WebClient, place},
    },
};

/// No service by default.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MediaSection {
    /// Transcription of recordings.
    pub transcription: TranscriptionSection,
    /// Text to speech.
    pub speech: SpeechSection,
    /// Generation of pictures.
    pub images: ImagesSection,
    /// Generation of videos.
    pub video: GenerationSection,
    /// Generation of music.
    pub music: GenerationSection,
    /// Generation of 3D models.
    pub model3d: GenerationSection,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TranscriptionSection {
    /// The provider: `openai` (also compatible servers) or `gemini`.
    pub provider: Option<MediaProvider>,
    /// The provider's name of the model, for example `gpt-4o-mini-transcribe` or
    /// `gemini-2.5-flash`.
    pub model: String,
    /// The base URL, for compatible servers.
    #[schemars(extend("x-default" = "the provider's"))]
    pub base_url: Option<Url>,
    /// The API key, as a secret.
    pub api_key: Option<Secret>,
    /// Price per minute, in your currency.
    #[schemars(extend("x-default" = "unknown"))]
    pub price: Option<f64>,
    /// Whether recordings that people send are transcribed when they arrive.
    pub incoming: bool,
    /// The longest recording, in minutes, up to 120.
    pub max_minutes: u32,
}

impl Default for TranscriptionSection {
    fn default() -> Self {
        Self {
            provider: None,
            model: String::new(),
            base_url: None,
            api_key: None,
            price: None,
            incoming: true,
            max_minutes: 10,
        }
    }
}

#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SpeechSection {
    /// The provider: `openai` (also compatible servers) or `gemini`.
    pub provider: Option<MediaProvider>,
    /// The provider's name of the model, for example `gpt-4o-mini-tts`.
    pub model: String,
    /// The base URL, for compatible servers.
    #[schemars(extend("x-default" = "the provider's"))]
    pub base_url: Option<Url>,
    /// The API key, as a secret.
    pub api_key: Option<Secret>,
    /// Price per million characters, in your currency; with 0, speech needs no approval.
    #[schemars(extend("x-default" = "unknown"))]
    pub price: Option<f64>,
    /// The provider's name of the voice, for example `alloy` or `Kore`.
    pub voice: String,
}

impl SpeechSection {
    fn keys(&self) -> ServiceKeys<'_> {
        ServiceKeys {
            section: "speech",
            providers: &[MediaProvider::OpenAi, MediaProvider::Gemini],
            provider: self.provider,
            model: &self.model,
            base_url: self.base_url.as_ref(),
            api_key: self.api_key.as_ref(),
            price: self.price,
        }
    }
}

#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ImagesSection {
    /// The provider: `openai` (also compatible servers) or `gemini`.
    pub provider: Option<MediaProvider>,
    /// The provider's name of the model, for example `gpt-image-1` or `gemini-3.1-flash-image`.
    pub model: String,
    /// The base URL, for compatible servers.
    #[schemars(extend("x-default" = "the provider's"))]
    pub base_url: Option<Url>,
    /// The API key, as a secret.
    pub api_key: Option<Secret>,
    /// Price per picture, in your currency; with 0, pictures need no approval.
    #[schemars(extend("x-default" = "unknown"))]
    pub price: Option<f64>,
}

impl ImagesSection {
    fn keys(&self) -> ServiceKeys<'_> {
        ServiceKeys {
            section: "images",
            providers: &[MediaProvider::OpenAi, MediaProvider::Gemini],
            provider: self.provider,
            model: &self.model,
            base_url: self.base_url.as_ref(),
            api_key: self.api_key.as_ref(),
            price: self.price,
        }
    }
}

/// A service that is used.
pub struct UsedEndpoint {
    pub section: &'static str,
    pub provider: &'static str,
    /// The variable that should contain the key.
    pub missing: Option<String>,
}

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

    fn check(&self) -> Result<()> {
        self.provider().map(drop).with_context(|| format!("media.{}", self.section))
    }

    /// `inside` are the private hosts that tools may reach. The operator's own service may be in a
    /// private network as well.
    fn build(
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
    fn missing(&self, variables: &BTreeMap<String, String>) -> Option<Variable> {
        let Some(Secret::Env { env }) = self.api_key else { return None };
        let variable = Variable::required(env);
        variable.value(variables).is_none().then_some(variable)
    }
}

impl TranscriptionSection {
    fn keys(&self) -> ServiceKeys<'_> {
        ServiceKeys {
            section: "transcription",
            providers: &[MediaProvider::OpenAi, MediaProvider::Gemini],
            provider: self.provider,
            model: &self.model,
            base_url: self.base_url.as_ref(),
            api_key: self.api_key.as_ref(),
            price: self.price,
        }
    }
}

impl MediaSection {
    pub(super) fn check(&self) -> Result<()> {
        let minutes = self.transcription.max_minutes;
        ensure!((1..=120).contains(&minutes), "media.transcription.max_minutes: 1 to 120");
        let speaks = self.speech.provider.is_some();
        ensure!(!(speaks && self.speech.voice.is_empty()), "media.speech.voice: name a voice");
        for (section, generation) in self.generation() {
            generation.check(section)?;
        }
        self.sections().iter().try_for_each(ServiceKeys::check)
    }

    fn generation(&self) -> [(&'static str, &GenerationSection); 3] {
        [("video", &self.video), ("music", &self.music), ("model3d", &self.model3d)]
    }

    fn sections(&self) -> Vec<ServiceKeys<'_>> {
        let generation = self.generation().map(|(section, generation)| generation.keys(section));
        let others = [self.transcription.keys(), self.speech.keys(), self.images.keys()];
        others.into_iter().chain(generation).collect()
    }

    /// The services.
    pub fn build(
        &self,
        variables: &BTreeMap<String, String>,
        inside: &BTreeSet<String>,
    ) -> Result<MediaConfig> {
        let service = self.transcription.keys().build(variables, inside)?;
        let transcription = service.map(|service| Transcriber {
            service: service.answering_within(transcription::TIMEOUT),
            incoming: self.transcription.incoming,
            max_minutes: self.transcription.max_minutes,
        });
        let images = self.images.keys().build(variables, inside)?;
        let images = images.map(|service| service.answering_within(images::TIMEOUT));
        let speech = self.speech.keys().build(variables, inside)?.map(|service| TextToSpeech {
            service: service.answering_within(speech::TIMEOUT),
            voice: self.speech.voice.clone(),
        });
        let [video, music, model3d] = self.generation().map(|(section, generation)| {
            let service = generation.keys(section).build(variables, inside)?;
            Ok::<_, anyhow::Error>(service.map(|service| generation.generator(service)))
        });
        let (video, music, model3d) = (video?, music?, model3d?);
        Ok(MediaConfig { transcription, images, speech, video, music, model3d })
    }

    /// The sections that are used, each with its provider and whether its key is missing.
    pub fn used(&self, variables: &BTreeMap<String, String>) -> Vec<UsedEndpoint> {
        let used = |keys: &ServiceKeys<'_>| {
            let provider = keys.provider?.shown();
            let missing = keys.missing(variables).map(|variable| variable.name);
            Some(UsedEndpoint { section: keys.section, provider, missing })
        };
        self.sections().iter().filter_map(used).collect()
    }

    /// The keys, for redaction.
    pub fn secrets(&self) -> impl Iterator<Item = &Secret> {
        self.sections().into_iter().filter_map(|section| section.api_key)
    }
}
