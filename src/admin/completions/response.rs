//! Answers in the form of OpenAI's API, whole or as a stream of chunks.

use axum::{
    Json,
    response::{
        IntoResponse as _, Response,
        sse::{Event, KeepAlive, Sse},
    },
};
use futures::stream;
use serde_json::{Value, json};
use std::{collections::VecDeque, convert::Infallible, time::Duration};

use super::{
    answer::{Answer, AnswerPart},
    error::CompletionError,
    request::AnswerForm,
};
use crate::journal::event::Usage;

/// The interval of comments in a stream, so that proxies keep the connection open.
const ALIVE_EVERY: Duration = Duration::from_secs(15);

/// Responds in the form that the client asked for.
pub async fn respond(mut answer: Answer) -> Result<Response, CompletionError> {
    let AnswerForm::Stream { includes_usage } = answer.request().form else {
        let content = answer.whole().await?;
        return Ok(Json(completion(&answer, &content)).into_response());
    };
    let first = json!({ "role": "assistant", "content": "" });
    let out = VecDeque::from([data(&chunk(&answer, &first, None))]);
    let chunks = Chunks { answer, includes_usage, out, is_over: false };
    let stream = stream::unfold(chunks, |mut chunks| async move {
        let event = chunks.next().await?;
        Some((Ok::<_, Infallible>(event), chunks))
    });
    let sse = Sse::new(stream).keep_alive(KeepAlive::new().interval(ALIVE_EVERY));
    // Tells proxies not to buffer the response.
    Ok(([("x-accel-buffering", "no")], sse).into_response())
}

/// The chunks of an answer.
struct Chunks {
    answer: Answer,
    includes_usage: bool,
    out: VecDeque<Event>,
    is_over: bool,
}

impl Chunks {
    /// Waits for the next chunk; `None` ends the stream.
    async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.out.pop_front() {
                return Some(event);
            }
            if self.is_over {
                return None;
            }
            match self.answer.next().await {
                AnswerPart::Text(text) => {
                    let delta = json!({ "content": text });
                    self.out.push_back(data(&chunk(&self.answer, &delta, None)));
                }
                AnswerPart::End(ended) => self.end(ended),
            }
        }
    }

    /// An error ends the stream without the mark of a complete answer.
    fn end(&mut self, ended: Result<(), CompletionError>) {
        self.is_over = true;
        if let Err(problem) = ended {
            self.out.push_back(data(&problem.body()));
            return;
        }
        self.out.push_back(data(&chunk(&self.answer, &json!({}), Some("stop"))));
        if let Some(usage) = self.answer.usage().filter(|_| self.includes_usage) {
            let mut last = chunk(&self.answer, &json!({}), None);
            last["choices"] = json!([]);
            last["usage"] = tokens(usage);
            self.out.push_back(data(&last));
        }
        self.out.push_back(Event::default().data("[DONE]"));
    }
}

fn data(value: &Value) -> Event {
    Event::default().data(value.to_string())
}

fn head(answer: &Answer, object: &str) -> Value {
    json!({
        "id": format!("chatcmpl-{}", answer.claimed().id),
        "object": object,
        "created": answer.claimed().created_at.timestamp(),
        "model": answer.request().model,
    })
}

fn chunk(answer: &Answer, delta: &Value, finish_reason: Option<&str>) -> Value {
    let mut chunk = head(answer, "chat.completion.chunk");
    chunk["choices"] = json!([{
        "index": 0,
        "delta": delta,
        "logprobs": null,
        "finish_reason": finish_reason,
    }]);
    chunk
}

fn completion(answer: &Answer, content: &str) -> Value {
    let mut completion = head(answer, "chat.completion");
    completion["choices"] = json!([{
        "index": 0,
        "message": { "role": "assistant", "content": content, "refusal": null },
        "logprobs": null,
        "finish_reason": "stop",
    }]);
    if let Some(usage) = answer.usage() {
        completion["usage"] = tokens(usage);
    }
    completion
}

/// The tokens of all model requests of the turn.
fn tokens(usage: Usage) -> Value {
    let Usage { input_tokens, output_tokens, cached_tokens } = usage;
    json!({
        "prompt_tokens": input_tokens,
        "completion_tokens": output_tokens,
        "total_tokens": input_tokens + output_tokens,
        "prompt_tokens_details": { "cached_tokens": cached_tokens },
    })
}
