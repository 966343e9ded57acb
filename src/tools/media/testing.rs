//! Services for the tests of the tools: those of a fake.

use fakes::media::{FakeMedia, KEY};
use secrecy::SecretString;
use serde_json::Map;
use std::time::Duration;

use super::{
    MediaConfig,
    generation::Generator,
    service::{MediaEndpoint, MediaProvider},
    speech::TextToSpeech,
    transcription::Transcriber,
};
use crate::tools::web::client::{WebClient, place};

/// A service of each kind, which is asked nothing.
pub fn configured() -> MediaConfig {
    let service = service_at("http://127.0.0.1:9", MediaProvider::OpenAi);
    let (images, speech, generating) = (Some(service.clone()), service.clone(), service.clone());
    let transcription = Some(Transcriber { service, incoming: true, max_minutes: 10 });
    let speech = Some(TextToSpeech { service: speech, voice: "alloy".into() });
    let generator = Some(generator(generating));
    let (video, music, model3d) = (generator.clone(), generator.clone(), generator);
    MediaConfig { transcription, images, speech, video, music, model3d }
}

/// A service that works on jobs, with short waits.
pub fn generator(service: MediaEndpoint) -> Generator {
    Generator {
        service,
        prompt_field: "prompt".into(),
        image_field: "start_image".into(),
        input: Map::from_iter([("seconds".to_owned(), 5.into())]),
        limit: Duration::from_secs(20),
        poll_every: Duration::from_millis(20),
    }
}

/// A service at the interface of a fake, with a price of 6,000 millionths.
pub fn service(fake: &FakeMedia, provider: MediaProvider) -> MediaEndpoint {
    let interface = match provider {
        MediaProvider::OpenAi => "openai/v1",
        MediaProvider::Gemini => "gemini/v1beta",
        MediaProvider::Replicate => "replicate/v1",
        MediaProvider::Fal => "fal",
    };
    service_at(&fake.base_url(interface), provider)
}

fn service_at(base_url: &str, provider: MediaProvider) -> MediaEndpoint {
    let base_url: url::Url = base_url.parse().unwrap();
    let web_client = WebClient::new([place(&base_url)].into()).unwrap();
    MediaEndpoint {
        provider,
        base_url,
        key: Some(SecretString::from(KEY)),
        missing: None,
        model: match provider {
            MediaProvider::Replicate | MediaProvider::Fal => "an-owner/a-model".into(),
            _ => "a-model".into(),
        },
        price_micros: Some(6_000),
        web_client: web_client.answering_within(Duration::from_secs(10)),
    }
}
