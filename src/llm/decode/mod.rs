//! Decodes the response of a provider, as it arrives, into a draft of the model's answer.
//!
//! ```text
//! bytes ─► frames ─► one decoder per dialect ─► draft: text, calls, usage, stop
//! ```
//!
//! The `genai` client can read streams as well, but it drops arguments and calls in an unexpected
//! form, ends a stream only at its end mark, and fails at invalid UTF-8. It is therefore used for
//! embeddings only.

mod anthropic;
pub(super) mod calls;
mod frames;
mod gemini;
pub(super) mod json;
mod ollama;
mod openai;
mod surrogates;
mod thoughts;

use serde_json::Value;

use super::vendor::{Provider, ToolCalls};
use crate::journal::event::Usage;
use calls::CallDraft;
use frames::{Frame, Frames};
use surrogates::Joiner;
use thoughts::Thoughts;

/// The maximum size of a response, far more than any model writes.
const MAX_RESPONSE_BYTES: usize = 64 * 1024 * 1024;

/// The decoder for the dialect of a provider.
trait Decoder: Send {
    /// Adds the contents of one object of the response, which is a piece of a stream or all of it.
    fn decode(&mut self, object: &Value, draft: &mut Draft);
}

/// Why an answer ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Stop {
    Complete,
    /// The limit of output tokens was reached.
    Length,
    /// The end of the context window was reached.
    ContextFull,
    /// A content filter blocked it. Contains the provider's name of the reason.
    Filtered(String),
    /// The model wrote a call that its provider could not parse.
    MalformedCall,
    /// The provider failed.
    Failed,
}

/// Why a response cannot be used.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Broken {
    /// It ended before the answer was complete.
    Cut,
    /// It is not in the provider's dialect.
    Invalid,
    TooLarge,
    /// It contains an error in the provider's form.
    Error(Value),
}

/// The part of an answer that has arrived.
pub(super) struct Draft {
    /// Excludes reasoning.
    pub text: String,
    pub calls: Vec<CallDraft>,
    pub usage: Usage,
    pub stop: Option<Stop>,
    error: Option<Value>,
    /// Whether a piece does not fit the ones before it.
    is_invalid: bool,
    /// Whether the end mark has arrived.
    is_ended: bool,
    joiner: Joiner,
    thoughts: Thoughts,
    delta: VisibleDelta,
}

/// The text that has become visible since the last call.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct VisibleDelta {
    pub starts_again: bool,
    pub text: String,
}

impl Draft {
    fn new(tools: ToolCalls) -> Self {
        Self {
            text: String::new(),
            calls: Vec::new(),
            usage: Usage::default(),
            stop: None,
            error: None,
            is_invalid: false,
            is_ended: false,
            // A call that is written as text must not run if characters were lost.
            joiner: match tools {
                ToolCalls::Native => Joiner::default(),
                ToolCalls::Prompted => Joiner::marking(),
            },
            thoughts: Thoughts::new(tools),
            delta: VisibleDelta::default(),
        }
    }

    /// Adds a piece of text.
    fn say(&mut self, piece: &str) {
        let joined = self.joiner.push(piece);
        self.show(&joined);
    }

    fn show(&mut self, joined: &str) {
        let visible = self.thoughts.push(joined);
        if visible.starts_again {
            self.text.clear();
            self.delta = VisibleDelta { starts_again: true, text: String::new() };
        }
        self.reveal(&visible.text);
    }

    fn reveal(&mut self, text: &str) {
        self.text.push_str(text);
        self.delta.text.push_str(text);
    }

    /// Adds the text of a string, or of a list of parts of type `text`.
    fn say_content(&mut self, content: &Value) {
        match content {
            Value::String(text) => self.say(text),
            Value::Array(parts) => {
                let is_text = |part: &&Value| matches!(text(part, "type"), None | Some("text"));
                for part in parts.iter().filter(is_text) {
                    self.say(text(part, "text").unwrap_or_default());
                }
            }
            _ => {}
        }
    }

    fn finish(&mut self) {
        let rest = self.joiner.finish();
        self.show(&rest);
        let rest = self.thoughts.finish();
        self.reveal(&rest);
    }
}

/// A response that is being received.
pub struct ResponseReader {
    frames: Frames,
    decoder: Box<dyn Decoder>,
    draft: Draft,
    size_bytes: usize,
    has_objects: bool,
}

impl ResponseReader {
    pub(super) fn new(provider: Provider, tools: ToolCalls) -> Self {
        let decoder: Box<dyn Decoder> = match provider {
            Provider::OpenAi => Box::new(openai::OpenAi::default()),
            Provider::Anthropic => Box::new(anthropic::Anthropic::default()),
            Provider::Gemini => Box::new(gemini::Gemini),
            Provider::Ollama => Box::new(ollama::Ollama),
        };
        let (frames, draft) = (Frames::default(), Draft::new(tools));
        Self { frames, decoder, draft, size_bytes: 0, has_objects: false }
    }

    /// Adds a piece of the response; returns what becomes visible.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Result<VisibleDelta, Broken> {
        self.size_bytes += bytes.len();
        if self.size_bytes > MAX_RESPONSE_BYTES {
            return Err(Broken::TooLarge);
        }
        let frames = self.frames.push(bytes);
        self.decode(frames)?;
        Ok(std::mem::take(&mut self.draft.delta))
    }

    /// Whether nothing more can follow.
    pub(super) fn is_ended(&self) -> bool {
        self.draft.is_ended
    }

    /// Whether the answer is complete, and only the usage or the end mark may follow.
    pub(super) fn has_stopped(&self) -> bool {
        self.draft.stop.is_some()
    }

    /// The whole answer, after the response has ended. The end is normal if a stop reason or the
    /// end mark has arrived.
    pub(super) fn finish(mut self) -> Result<Finished, Broken> {
        let frames = self.frames.finish();
        self.decode(frames)?;
        if self.draft.stop.is_none() && !self.draft.is_ended {
            let is_other_text = !self.has_objects && self.size_bytes > 0;
            return Err(if is_other_text { Broken::Invalid } else { Broken::Cut });
        }
        self.draft.finish();
        let delta = std::mem::take(&mut self.draft.delta);
        Ok(Finished { draft: self.draft, delta })
    }

    fn decode(&mut self, frames: Vec<Frame>) -> Result<(), Broken> {
        for frame in frames {
            match frame {
                Frame::Object(object) => {
                    self.has_objects = true;
                    self.decoder.decode(&object, &mut self.draft);
                }
                Frame::Done => self.draft.is_ended = true,
                Frame::Invalid if self.has_stopped() => {}
                Frame::Invalid => return Err(Broken::Invalid),
            }
            if let Some(error) = self.draft.error.take() {
                return Err(Broken::Error(error));
            }
            if self.draft.is_invalid {
                return Err(Broken::Invalid);
            }
        }
        Ok(())
    }
}

/// A complete answer, and the last part of it that has become visible.
pub(super) struct Finished {
    pub draft: Draft,
    pub delta: VisibleDelta,
}

/// A field with text that is not empty.
fn text<'a>(object: &'a Value, field: &str) -> Option<&'a str> {
    object.get(field)?.as_str().filter(|text| !text.is_empty())
}

fn number(object: &Value, field: &str) -> u64 {
    object[field].as_u64().unwrap_or(0)
}

/// The error that an object contains, if any.
fn error(object: &Value) -> Option<Value> {
    object.get("error").filter(|error| !error.is_null()).map(|_| object.clone())
}
