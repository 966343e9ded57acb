//! `text_to_speech`: a voice note or an audio file that speaks a text.
//!
//! - OpenAI and compatible servers:
//!   <https://platform.openai.com/docs/api-reference/audio/createSpeech>
//! - Gemini: <https://ai.google.dev/gemini-api/docs/speech-generation>

use async_trait::async_trait;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use std::time::Duration;

use super::{
    DeliveredFile,
    audio::{self, AudioFormat, Recording},
    deliver,
    service::{MediaEndpoint, MediaProvider},
};
use crate::{
    agent::catalog::{ApprovalMode, EffectClass, Rate, Tier, ToolSpec},
    texts::preview::Preview,
    tools::{
        Context, Output, Tool, ToolError,
        contract::arguments::{parse, schema},
    },
};

/// The timeout of a request.
pub const TIMEOUT: Duration = Duration::from_mins(2);
/// The maximum length of a text: that of OpenAI's interface.
const TEXT_CHARS: usize = 4_096;
/// The maximum size of a recording, a quarter of an hour as WAV.
const AUDIO_BYTES: usize = 20 * 1024 * 1024;
/// The sample rate of Gemini's PCM, if it states none.
const PCM_RATE: u32 = 24_000;

/// `text_to_speech`. Its service is priced by the million characters.
#[derive(Debug, Clone)]
pub struct TextToSpeech {
    pub service: MediaEndpoint,
    /// The voice, unless the call names one.
    pub voice: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// What is spoken, as plain text, up to 4096 characters.
    text: String,
    /// The service's name of the voice; by default the configured one.
    #[serde(default)]
    voice: Option<String>,
    /// How to speak, such as calm or cheerful.
    #[serde(default)]
    style: Option<String>,
    /// voice: a voice note, where the platform has them; file: an audio file. By default voice.
    #[serde(default)]
    format: Option<SpeechFormat>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum SpeechFormat {
    Voice,
    File,
}

impl Arguments {
    fn check(&self) -> Result<(), ToolError> {
        let wrong = |why: String| Err(ToolError::InvalidParameters(why));
        let count = self.text.chars().count();
        if self.text.trim().is_empty() || count > TEXT_CHARS {
            return wrong(format!(
                "the text has {count} characters; 1 to {TEXT_CHARS} are allowed"
            ));
        }
        if self.voice.as_ref().is_some_and(|voice| !is_voice_name(voice)) {
            return wrong("voice: a name of the service, such as alloy".into());
        }
        if self.style.as_ref().is_some_and(|style| style.chars().count() > 500) {
            return wrong("style: at most 500 characters".into());
        }
        Ok(())
    }
}

fn is_voice_name(voice: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    (1..=64).contains(&voice.len()) && voice.chars().all(is_plain)
}

#[async_trait]
impl Tool for TextToSpeech {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            effect: EffectClass::AtMostOnce,
            approval: ApprovalMode::UnlessAllowed,
            tier: Tier::Extension,
            timeout: TIMEOUT + Duration::from_secs(10),
            rate: Some(Rate::new(10, 100)),
            env: self.service.variables(),
            ..ToolSpec::read_only(
                "text_to_speech",
                "Speaks a text: the people here get it as a voice note or an audio file.",
                schema::<Arguments>(),
            )
        }
    }

    /// Speech that costs nothing needs no approval.
    fn approval(&self, _arguments: &Value) -> ApprovalMode {
        self.service.approval()
    }

    fn estimated_cost(&self, arguments: &Value) -> Option<u64> {
        let wanted: Arguments = parse(arguments.clone()).ok()?;
        self.cost(&wanted.text)
    }

    async fn preview(&self, arguments: &Value, _context: &Context) -> Option<Preview> {
        let wanted: Arguments = parse(arguments.clone()).ok()?;
        Some(Preview::note(self.service.terms_at(self.cost(&wanted.text))))
    }

    async fn run(&self, arguments: Value, context: &Context) -> Result<Output, ToolError> {
        let wanted: Arguments = parse(arguments)?;
        wanted.check()?;
        let bytes = match self.service.provider {
            MediaProvider::Gemini => self.by_gemini(&wanted).await?,
            _ => self.by_openai(&wanted).await?,
        };
        let recording = Recording::of(&bytes, Some("audio/*"));
        let recording =
            recording.ok_or_else(|| self.service.failed("sent something that is no recording"))?;
        let is_note = wanted.format != Some(SpeechFormat::File) && audio::is_opus(&bytes);
        let media_type = if is_note { channels::VOICE_NOTE } else { recording.format.media_type() };
        let name = match recording.format {
            AudioFormat::Ogg if is_note => "voice.ogg",
            format => format.file_name(),
        };
        let cost_micros = self.cost(&wanted.text);
        let mut output = Output { cost_micros, ..Output::default() };
        let file = DeliveredFile { name: name.to_owned(), media_type, bytes };
        deliver(file, context, &mut output).await?;
        Ok(output)
    }
}

impl TextToSpeech {
    fn cost(&self, text: &str) -> Option<u64> {
        let characters = text.chars().count() as u64;
        let cost = self.service.price_micros.map(|price| (price * characters).div_ceil(1_000_000));
        cost.filter(|cost| *cost > 0)
    }

    fn voice<'a>(&'a self, wanted: &'a Arguments) -> &'a str {
        wanted.voice.as_deref().unwrap_or(&self.voice)
    }

    async fn by_openai(&self, wanted: &Arguments) -> Result<Vec<u8>, ToolError> {
        let format = if wanted.format == Some(SpeechFormat::File) { "mp3" } else { "opus" };
        let mut body = json!({
            "model": self.service.model,
            "input": wanted.text,
            "voice": self.voice(wanted),
            "response_format": format,
        });
        if let Some(style) = &wanted.style {
            body["instructions"] = style.as_str().into();
        }
        let url = self.service.address(&["audio", "speech"]);
        Ok(self.service.post(url, &body, AUDIO_BYTES).await?.body)
    }

    /// Gemini sends samples without a header.
    async fn by_gemini(&self, wanted: &Arguments) -> Result<Vec<u8>, ToolError> {
        let text = match &wanted.style {
            Some(style) => format!("Say in this style: {style}\n\n{}", wanted.text),
            None => wanted.text.clone(),
        };
        let voice = json!({ "prebuiltVoiceConfig": { "voiceName": self.voice(wanted) } });
        let body = json!({
            "contents": [{ "role": "user", "parts": [{ "text": text }] }],
            "generationConfig": {
                "responseModalities": ["AUDIO"],
                "speechConfig": { "voiceConfig": voice },
            },
        });
        let method = format!("{}:generateContent", self.service.model);
        let url = self.service.address(&["models", &method]);
        let answer = self.service.post(url, &body, AUDIO_BYTES / 3 * 4).await?;
        let body = self.service.json(&answer)?;
        let parts = self.service.gemini_parts(&body)?;
        let sound = parts.iter().find_map(|part| part.get("inlineData"));
        let sound = sound.ok_or_else(|| self.service.failed("sent no recording"))?;
        let data = sound["data"].as_str().unwrap_or_default();
        let samples = STANDARD.decode(data);
        let samples = samples.map_err(|_| self.service.failed("sent invalid Base64"))?;
        let kind = sound["mimeType"].as_str().unwrap_or_default();
        // Samples may begin like the header of an MP3: two bytes 0xff are -1.
        let is_pcm =
            ["audio/l16", "audio/pcm"].iter().any(|of| kind.to_lowercase().starts_with(*of));
        if samples.is_empty() || (!is_pcm && Recording::of(&samples, None).is_some()) {
            return Ok(samples);
        }
        let rate = kind.split(';').find_map(|part| part.trim().strip_prefix("rate=")?.parse().ok());
        Ok(audio::wav(&samples, rate.unwrap_or(PCM_RATE)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::{media::testing::service, testing::ToolFixture};
    use fakes::media::{FakeMedia, Fault};

    fn tool(fake: &FakeMedia, provider: MediaProvider) -> TextToSpeech {
        // 15 for a million characters.
        let service = MediaEndpoint { price_micros: Some(15_000_000), ..service(fake, provider) };
        TextToSpeech { service, voice: "alloy".into() }
    }

    /// OpenAI's Opus is a voice note, everything else an audio file.
    #[tokio::test]
    async fn a_text_becomes_a_voice_note_or_a_file() {
        let fake = FakeMedia::start().await;
        let (openai, gemini) =
            (tool(&fake, MediaProvider::OpenAi), tool(&fake, MediaProvider::Gemini));
        let hello = json!({ "text": "Hello, Ann!" });
        let file =
            json!({ "text": "Hello, Ann!", "format": "file", "voice": "nova", "style": "calm" });
        for (tool, arguments, name, media_type) in [
            (&openai, hello.clone(), "voice.ogg", channels::VOICE_NOTE),
            (&openai, file.clone(), "audio.mp3", "audio/mpeg"),
            (&gemini, hello.clone(), "audio.wav", "audio/wav"),
            (&gemini, file.clone(), "audio.wav", "audio/wav"),
        ] {
            let output = ToolFixture::new().runs(tool, arguments).await.unwrap();
            let [attachment] = &output.attachments[..] else { panic!("{output:?}") };
            assert_eq!(
                (attachment.name.as_str(), attachment.media_type.as_str()),
                (name, media_type)
            );
            assert_eq!(output.cost_micros, Some(165), "11 characters");
        }
        assert_eq!(fake.problems(), Vec::<String>::new());
        let asked = fake.asked();
        assert_eq!(
            (&asked[0].json["voice"], &asked[0].json["response_format"]),
            (&json!("alloy"), &json!("opus"))
        );
        assert_eq!(
            (&asked[1].json["voice"], &asked[1].json["instructions"]),
            (&json!("nova"), &json!("calm"))
        );
        assert_eq!(openai.approval(&hello), ApprovalMode::UnlessAllowed);
    }

    /// The first sample of near silence is often -1, which begins like the header of an MP3.
    #[tokio::test]
    async fn samples_that_begin_like_an_mp3_become_a_wav_file() {
        let fake = FakeMedia::start().await;
        let gemini = tool(&fake, MediaProvider::Gemini);
        let data = STANDARD.encode([0xff, 0xff, 0x00, 0x00]);
        let sound = json!({ "mimeType": "audio/L16;codec=pcm;rate=24000", "data": data });
        let content = json!({ "role": "model", "parts": [{ "inlineData": sound }] });
        let body = json!({ "candidates": [{ "content": content, "finishReason": "STOP" }] });
        fake.fails_next(Fault { body, ..Fault::status(200) });
        let output = ToolFixture::new().runs(&gemini, json!({ "text": "x" })).await.unwrap();
        assert_eq!(output.attachments[0].name, "audio.wav");
    }

    #[tokio::test]
    async fn unsuitable_texts_are_explained() {
        let fake = FakeMedia::start().await;
        let openai = tool(&fake, MediaProvider::OpenAi);
        for (arguments, says) in [
            (json!({ "text": "" }), "1 to 4096"),
            (json!({ "text": "x".repeat(4_097) }), "1 to 4096"),
            (json!({ "text": "x", "voice": "../x" }), "voice"),
            (json!({ "text": "x", "style": "x".repeat(501) }), "style"),
        ] {
            let error = ToolFixture::new().runs(&openai, arguments).await.unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
        }
        assert_eq!(fake.asked().len(), 0);
        for (fault, says) in [
            (Fault::openai(400, "content_policy_violation", "No."), "content policy"),
            (Fault { retry_after: Some(3), ..Fault::status(429) }, "try again in 3 s"),
            (Fault::status(200), "no recording"),
        ] {
            fake.fails_next(fault);
            let error = ToolFixture::new().runs(&openai, json!({ "text": "x" })).await.unwrap_err();
            assert!(error.to_string().contains(says), "{error}");
        }
    }
}
