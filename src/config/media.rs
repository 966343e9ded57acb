//! The sections `media.…`: services of vendors for speech, pictures and more.

use anyhow::{Result, ensure};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use url::Url;

use super::{generation::GenerationSection, media_service::ServiceKeys, secret::Secret};
use crate::tools::media::{
    MediaConfig, images,
    service::MediaProvider,
    speech::{self, TextToSpeech},
    transcription::{self, Transcriber},
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
