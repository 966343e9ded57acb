//! Transcribes recordings that people send, where a service is configured for it.
//!
//! The transcript of a voice note counts as what the person said; that of any other recording is
//! untrusted content, like a file. A recording that cannot be transcribed is still stored.

use anyhow::Result;
use std::time::Duration;

use super::{limits, turn::Turn};
use crate::{
    clock::pause,
    journal::{event::Event, session::messages::SentFile},
    store::usage::UsageRecord,
    tools::{
        ToolError,
        media::{
            audio::Recording,
            transcription::{self, Transcriber, Transcript},
        },
    },
};

/// The maximum length of a transcript that the model is shown at once.
const SHOWN_CHARS: usize = 16_000;
/// The delays before further attempts, if the service specifies none.
const WAITS: [Duration; 2] = [Duration::from_millis(500), Duration::from_secs(3)];
/// The timeout of all attempts.
const GIVE_UP_AFTER: Duration = Duration::from_mins(3);

/// What was done about a recording.
#[derive(Default)]
pub(super) struct Transcription {
    /// The transcript that the model is shown.
    pub text: Option<String>,
    pub events: Vec<Event>,
    pub used: Option<UsageRecord>,
    /// The text for the person, if it could not be transcribed.
    pub message: Option<String>,
}

/// Transcribes a file if it is a recording.
pub(super) async fn transcribe(
    turn: &Turn<'_>,
    sent: &SentFile,
    path: &str,
    bytes: &[u8],
) -> Result<Transcription> {
    let transcriber = turn.worker.transcriber.as_ref().filter(|one| one.incoming);
    let Some(transcriber) = transcriber else { return Ok(Transcription::default()) };
    let declared = sent.file.media_type.as_deref();
    let fits = bytes.len() as u64 <= transcription::MAX_BYTES;
    if Recording::of(bytes, declared).is_none() || !transcriber.is_available() {
        return Ok(Transcription::default());
    }
    let may_spend = limits::affords(turn, transcriber.max_micros().unwrap_or_default()).await?;
    if !(fits && may_spend) {
        return Ok(not_transcribed(
            turn,
            sent,
            "it is too large, or today's budget does not suffice",
        ));
    }
    match attempts(transcriber, bytes, declared).await {
        Ok(transcript) => Ok(transcribed(turn, sent, path, transcript)),
        Err(problem) => Ok(not_transcribed(turn, sent, &problem.to_string())),
    }
}

fn transcribed(
    turn: &Turn<'_>,
    sent: &SentFile,
    path: &str,
    transcript: Transcript,
) -> Transcription {
    let source = (!sent.file.is_voice).then(|| format!("recording {path}"));
    let events = source.map(|source| Event::Tainted { source }).into_iter().collect();
    let used = limits::transcribed(turn, transcript.cost_micros.unwrap_or_default());
    let text = turn.worker.redactor.result(transcript.text);
    let mut shown: String = text.chars().take(SHOWN_CHARS).collect();
    if shown.len() < text.len() {
        shown.push_str(" [… there is more of it: speech_to_text returns all of it]");
    }
    Transcription { text: Some(shown), events, used: Some(used), message: None }
}

/// The reason may quote the service, so the person gets a text of the gateway.
fn not_transcribed(turn: &Turn<'_>, sent: &SentFile, why: &str) -> Transcription {
    let conversation = turn.claimed.lease.conversation();
    tracing::warn!(conversation.id = %conversation, why, "could not transcribe a recording");
    let message = turn.claimed.words().not_transcribed(&sent.file.name);
    Transcription { message: Some(message), ..Transcription::default() }
}

/// Transcribing has no side effects, so it is repeated while the service is unavailable.
async fn attempts(
    transcriber: &Transcriber,
    bytes: &[u8],
    declared: Option<&str>,
) -> Result<Transcript, ToolError> {
    let all = async {
        for wait in WAITS {
            let wait = match transcriber.transcribe(bytes, declared, None).await {
                Err(ToolError::RateLimited(after)) => after.unwrap_or(wait),
                Err(ToolError::ExternalService(_)) => wait,
                ended => return ended,
            };
            // In real time: this waits for a service.
            pause(wait).await;
        }
        transcriber.transcribe(bytes, declared, None).await
    };
    let ended = tokio::time::timeout(GIVE_UP_AFTER, all).await;
    ended.unwrap_or(Err(ToolError::Timeout(GIVE_UP_AFTER)))
}
