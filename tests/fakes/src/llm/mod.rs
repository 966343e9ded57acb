//! A fake LLM server: the protocols of OpenAI, Anthropic, Gemini and Ollama, with and without
//! streaming. It follows a script, can fail in all common ways, and validates each request.

mod anthropic;
mod check;
mod gemini;
mod ollama;
mod openai;

use axum::{
    Router,
    body::{Body, Bytes},
    extract::State,
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Uri},
    response::{IntoResponse, Response},
};
use futures::{StreamExt, stream};
use parking_lot::{Mutex, MutexGuard};
use serde_json::{Value, json};
use std::{collections::VecDeque, convert::Infallible, io, sync::Arc, time::Duration};
use tokio::task::AbortHandle;

use crate::ports;

/// What the server does with one request.
#[derive(Debug, Clone)]
pub enum Answer {
    Turn(Turn),
    Fault(Fault),
}

/// A whole answer of the model.
#[derive(Debug, Clone, Default)]
pub struct Turn {
    pub text: String,
    pub calls: Vec<ToolCall>,
    /// Input (cached ones included), output, cached.
    pub usage: (u64, u64, u64),
    /// Instead of the usual one.
    pub stop: Option<&'static str>,
}

#[derive(Debug, Clone)]
pub struct ToolCall {
    pub id: String,
    pub name: String,
    /// As the model writes them: JSON, or an attempt at it.
    pub arguments: String,
}

#[derive(Debug, Clone)]
pub enum Fault {
    /// A refusal before any answer, in the vendor's shape.
    Status { code: u16, kind: &'static str, message: String, headers: Vec<(&'static str, String)> },
    /// The connection breaks after this many events of the answer.
    Cut { turn: Turn, after: usize },
    /// The answer ends in good order after this many events, but long before its end.
    Short { turn: Turn, after: usize },
    /// An error as an event, after this many events of the answer.
    Event { turn: Turn, after: usize, kind: &'static str },
    /// Headers at once, then nothing for so long, then the answer.
    SlowFirstToken { turn: Turn, by: Duration },
    /// Not even headers for so long.
    SlowHeaders { turn: Turn, by: Duration },
    /// Each event of the answer comes so long after the one before.
    SlowEvents { turn: Turn, by: Duration },
    /// This status and exactly these bytes, in small pieces, whatever was asked.
    Raw { status: u16, media_type: &'static str, body: Vec<u8> },
}

pub fn text(text: &str) -> Turn {
    Turn { text: text.to_owned(), usage: (100, 10, 0), ..Turn::default() }
}

impl Turn {
    #[must_use]
    pub fn call(mut self, id: &str, name: &str, arguments: &str) -> Self {
        let (id, name, arguments) = (id.to_owned(), name.to_owned(), arguments.to_owned());
        self.calls.push(ToolCall { id, name, arguments });
        self
    }

    #[must_use]
    pub fn usage(mut self, input: u64, output: u64, cached: u64) -> Self {
        self.usage = (input, output, cached);
        self
    }

    #[must_use]
    pub fn stop(mut self, reason: &'static str) -> Self {
        self.stop = Some(reason);
        self
    }
}

/// A refusal with this status, kind (`type` or `code` of the vendor's error) and message.
pub fn refuse(code: u16, kind: &'static str, message: &str) -> Answer {
    let message = message.to_owned();
    Answer::Fault(Fault::Status { code, kind, message, headers: Vec::new() })
}

/// A response of exactly these bytes.
pub fn raw(media_type: &'static str, body: impl Into<Vec<u8>>) -> Answer {
    raw_with_status(200, media_type, body)
}

/// A response of this status and exactly these bytes.
pub fn raw_with_status(status: u16, media_type: &'static str, body: impl Into<Vec<u8>>) -> Answer {
    Answer::Fault(Fault::Raw { status, media_type, body: body.into() })
}

/// Too many requests, with this `retry-after`.
pub fn busy(retry_after: &str) -> Answer {
    Answer::Fault(Fault::Status {
        code: 429,
        kind: "rate_limit_error",
        message: "Slow down.".to_owned(),
        headers: vec![("retry-after", retry_after.to_owned())],
    })
}

impl From<Turn> for Answer {
    fn from(turn: Turn) -> Self {
        Self::Turn(turn)
    }
}

impl From<Fault> for Answer {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

/// One request as it came.
#[derive(Debug, Clone)]
pub struct Request {
    pub path: String,
    pub headers: HeaderMap,
    pub body: Value,
}

/// Answers by what is asked.
type Author = Box<dyn Fn(&Request) -> Answer + Send>;

#[derive(Default)]
struct Script {
    answers: VecDeque<Answer>,
    always: Option<Answer>,
    author: Option<Author>,
    requests: Vec<Request>,
    /// Requests are answered, and not kept.
    forgetful: bool,
    /// Words that mean the same, for embeddings; without any, these are refused.
    meanings: Vec<Vec<&'static str>>,
    /// The maximum length of a text that is embedded, in characters.
    embedded_chars: Option<usize>,
    problems: Vec<String>,
}

type Shared = Arc<Mutex<Script>>;

/// The server; it stops when this is dropped.
pub struct FakeLlm {
    pub url: String,
    script: Shared,
    task: AbortHandle,
}

impl FakeLlm {
    pub async fn start() -> Self {
        let listener = ports::listen(0).await.expect("a free port");
        let address = listener.local_addr().expect("a bound socket has an address");
        let script = Shared::default();
        let app = Router::new().fallback(serve).with_state(script.clone());
        let server = async move { axum::serve(listener, app).await };
        let task = tokio::spawn(server).abort_handle();
        Self { url: format!("http://{address}"), script, task }
    }

    /// The base of OpenAI's and Anthropic's wire; of the other two it is `url`.
    pub fn base_url(&self) -> String {
        format!("{}/v1", self.url)
    }

    /// Adds an answer to the end of the script.
    pub fn will(&self, answer: impl Into<Answer>) -> &Self {
        open(&self.script).answers.push_back(answer.into());
        self
    }

    /// The answer to whatever comes when the script is over (else a refusal with 400).
    pub fn always(&self, answer: impl Into<Answer>) -> &Self {
        open(&self.script).always = Some(answer.into());
        self
    }

    /// Answers every request by its content, as a model does: for tests with an unknown number of
    /// requests.
    pub fn answers(&self, author: impl Fn(&Request) -> Answer + Send + 'static) -> &Self {
        open(&self.script).author = Some(Box::new(author));
        self
    }

    /// From now on requests are not kept: a long run would fill the memory with them.
    pub fn forgets_requests(&self) -> &Self {
        open(&self.script).forgetful = true;
        self
    }

    /// From now on it knows these words, and which of them mean the same.
    pub fn knows(&self, meanings: &[&[&'static str]]) -> &Self {
        open(&self.script).meanings = meanings.iter().map(|words| words.to_vec()).collect();
        self
    }

    /// From now on it embeds no longer texts, as models with a short context.
    pub fn embeds_at_most(&self, chars: usize) -> &Self {
        open(&self.script).embedded_chars = Some(chars);
        self
    }

    pub fn requests(&self) -> Vec<Request> {
        open(&self.script).requests.clone()
    }

    /// What was wrong with the requests; each of these was also refused with 400.
    pub fn problems(&self) -> Vec<String> {
        open(&self.script).problems.clone()
    }
}

impl Drop for FakeLlm {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn open(script: &Shared) -> MutexGuard<'_, Script> {
    script.lock()
}

/// The four wires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wire {
    OpenAi,
    Anthropic,
    Gemini,
    Ollama,
}

impl Wire {
    fn of(path: &str) -> Option<Self> {
        match path {
            "/v1/chat/completions" => Some(Self::OpenAi),
            "/v1/messages" => Some(Self::Anthropic),
            "/api/chat" => Some(Self::Ollama),
            _ if path.ends_with("enerateContent") => Some(Self::Gemini),
            _ => None,
        }
    }

    fn error(self, kind: &str, message: &str) -> Value {
        match self {
            Self::OpenAi => openai::error(kind, message),
            Self::Anthropic => anthropic::error(kind, message),
            Self::Gemini => gemini::error(kind, message),
            Self::Ollama => ollama::error(message),
        }
    }

    fn events(self, turn: &Turn) -> Vec<String> {
        match self {
            Self::OpenAi => openai::events(turn),
            Self::Anthropic => anthropic::events(turn),
            Self::Gemini => gemini::events(turn),
            Self::Ollama => ollama::events(turn),
        }
    }

    fn whole(self, turn: &Turn) -> Value {
        match self {
            Self::OpenAi => openai::whole(turn),
            Self::Anthropic => anthropic::whole(turn),
            Self::Gemini => gemini::whole(turn),
            Self::Ollama => ollama::whole(turn),
        }
    }

    fn error_event(self, kind: &str) -> String {
        let error = self.error(kind, "It broke off.");
        match self {
            Self::OpenAi => openai::event(&error),
            Self::Anthropic => anthropic::event("error", &error),
            Self::Gemini => gemini::event(&error),
            Self::Ollama => ollama::event(&error),
        }
    }
}

async fn serve(
    State(script): State<Shared>,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    if uri.path() == "/v1/embeddings" {
        return embedded(&script, uri, headers, &body);
    }
    let Some(wire) = Wire::of(uri.path()) else {
        return refusal(404, &Wire::OpenAi.error("not_found_error", "no such path"), &[]);
    };
    let body: Value = serde_json::from_slice(&body).unwrap_or_default();
    let streamed = match wire {
        Wire::Gemini => uri.path().ends_with(":streamGenerateContent"),
        _ => body["stream"].as_bool().unwrap_or(wire == Wire::Ollama),
    };
    let request = Request { path: uri.path().to_owned(), headers, body };
    match next(&script, wire, request) {
        Ok(Answer::Turn(turn)) => turned(wire, &turn, streamed),
        Ok(Answer::Fault(fault)) => failed(wire, fault, streamed).await,
        Err(problem) => refusal(400, &wire.error("invalid_request_error", &problem), &[]),
    }
}

/// Vectors of OpenAI's wire: a direction for each of the meanings that the server knows.
fn embedded(script: &Shared, uri: Uri, headers: HeaderMap, body: &Bytes) -> Response {
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    let request = Request { path: uri.path().to_owned(), headers, body: body.clone() };
    let mut script = open(script);
    script.requests.push(request);
    if script.meanings.is_empty() {
        return refusal(503, &Wire::OpenAi.error("server_error", "no embeddings now"), &[]);
    }
    if body["input"].to_string().contains("<|endoftext|>") {
        return refusal(400, &Wire::OpenAi.error("invalid_request_error", "a special token"), &[]);
    }
    let texts = body["input"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let limit = script.embedded_chars.unwrap_or(usize::MAX);
    if texts.clone().any(|text| text.chars().count() > limit) {
        let problem = "This model's maximum context length is 512 tokens";
        return refusal(400, &Wire::OpenAi.error("invalid_request_error", problem), &[]);
    }
    let means = |text: &str| -> Vec<f32> {
        let says = |words: &Vec<&str>| words.iter().any(|word| text.contains(word));
        script.meanings.iter().map(|words| if says(words) { 1.0 } else { 0.0 }).collect()
    };
    let data = texts.enumerate().map(
        |(index, text)| json!({ "object": "embedding", "index": index, "embedding": means(text) }),
    );
    let data: Vec<_> = data.collect();
    // A token each.
    let usage = json!({ "prompt_tokens": data.len(), "total_tokens": data.len() });
    axum::Json(json!({ "object": "list", "data": data, "model": body["model"], "usage": usage }))
        .into_response()
}

fn next(script: &Shared, wire: Wire, request: Request) -> Result<Answer, String> {
    let problem = match wire {
        Wire::OpenAi => check::openai(&request),
        Wire::Anthropic => check::anthropic(&request),
        Wire::Gemini => check::gemini(&request),
        Wire::Ollama => check::ollama(&request),
    };
    let mut script = open(script);
    if !script.forgetful {
        script.requests.push(request.clone());
    }
    if let Err(problem) = problem {
        script.problems.push(problem.clone());
        return Err(problem);
    }
    let next = script.answers.pop_front().or_else(|| script.always.clone());
    let next = next.or_else(|| script.author.as_ref().map(|author| author(&request)));
    next.ok_or_else(|| "the script is over".to_owned())
}

fn turned(wire: Wire, turn: &Turn, streamed: bool) -> Response {
    if streamed {
        return sse(stream::iter(wire.events(turn)).map(|e| Ok::<_, Infallible>(Bytes::from(e))));
    }
    axum::Json(wire.whole(turn)).into_response()
}

async fn failed(wire: Wire, fault: Fault, streamed: bool) -> Response {
    match fault {
        Fault::Status { code, kind, message, headers } => {
            refusal(code, &wire.error(kind, &message), &headers)
        }
        Fault::Cut { turn, after } => {
            let broken = Err(io::Error::from(io::ErrorKind::ConnectionReset));
            sse(stream::iter(first(wire, &turn, after).map(Ok).chain([broken])))
        }
        Fault::Short { turn, after } => {
            sse(stream::iter(first(wire, &turn, after).map(Ok::<_, Infallible>)))
        }
        Fault::Event { turn, after, kind } => {
            let error = Bytes::from(wire.error_event(kind));
            sse(stream::iter(first(wire, &turn, after).chain([error]).map(Ok::<_, Infallible>)))
        }
        Fault::SlowFirstToken { turn, by } => {
            let wait = stream::once(elapse(by)).filter_map(|()| async { None });
            let events = stream::iter(wire.events(&turn)).map(|e| Ok::<_, Infallible>(e.into()));
            sse(wait.chain(events))
        }
        Fault::SlowHeaders { turn, by } => {
            elapse(by).await;
            turned(wire, &turn, streamed)
        }
        Fault::SlowEvents { turn, by } => {
            let events = stream::iter(wire.events(&turn)).then(move |event| async move {
                elapse(by).await;
                Ok::<_, Infallible>(Bytes::from(event))
            });
            sse(events)
        }
        Fault::Raw { status, media_type, body } => {
            let pieces: Vec<_> = body.chunks(61).map(Bytes::copy_from_slice).collect();
            let mut response = sse(stream::iter(pieces).map(Ok::<_, Infallible>));
            let kind = HeaderValue::from_static(media_type);
            response.headers_mut().insert(axum::http::header::CONTENT_TYPE, kind);
            *response.status_mut() = StatusCode::from_u16(status).expect("a status");
            response
        }
    }
}

fn first(wire: Wire, turn: &Turn, count: usize) -> impl Iterator<Item = Bytes> + use<> {
    wire.events(turn).into_iter().take(count).map(Bytes::from)
}

/// The only place that waits: a slow server is slow.
async fn elapse(by: Duration) {
    let _ = tokio::time::timeout(by, std::future::pending::<()>()).await;
}

fn sse<E>(events: impl stream::Stream<Item = Result<Bytes, E>> + Send + 'static) -> Response
where
    E: Into<Box<dyn std::error::Error + Send + Sync>> + 'static,
{
    let mut response = Response::new(Body::from_stream(events));
    let kind = HeaderValue::from_static("text/event-stream; charset=utf-8");
    response.headers_mut().insert(axum::http::header::CONTENT_TYPE, kind);
    response
}

fn refusal(code: u16, body: &Value, headers: &[(&'static str, String)]) -> Response {
    let status = StatusCode::from_u16(code).expect("a status of the script is one of HTTP");
    let mut response = (status, axum::Json(body)).into_response();
    for (name, value) in headers {
        let value = HeaderValue::from_str(value).expect("a header of the script is one of HTTP");
        response.headers_mut().insert(HeaderName::from_static(name), value);
    }
    response
}

/// Pieces of some letters each, so that words and arguments come split.
fn pieces(text: &str) -> Vec<String> {
    let letters: Vec<char> = text.chars().collect();
    letters.chunks(7).map(|piece| piece.iter().collect()).collect()
}
