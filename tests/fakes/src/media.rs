//! Services for speech and pictures: strict about how they are asked, with faults on demand.

use axum::{
    Json, Router,
    body::Bytes,
    extract::{DefaultBodyLimit, FromRequest as _, Multipart, Request, State},
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
    routing::{any, get, post},
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use parking_lot::{Mutex, MutexGuard};
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, VecDeque},
    path::Path,
    sync::Arc,
};
use tokio::{net::TcpListener, task::AbortHandle};

/// The key that the services accept.
pub const KEY: &str = "media-key-canary";
/// What the services hear in every recording.
pub const SPOKEN: &str = "Remind me to\nbuy milk.";

/// The picture that the services make.
pub const PICTURE: &[u8] = include_bytes!("../../../renderers/tests/corpus/img/chart.png");

/// A running server; dropping it ends it.
pub struct FakeMedia {
    url: String,
    shared: Shared,
    task: AbortHandle,
}

type Shared = Arc<Mutex<Seen>>;

#[derive(Default)]
struct Seen {
    asked: Vec<Asked>,
    problems: Vec<String>,
    faults: VecDeque<Fault>,
    /// How often a job is still found running, and how many were submitted.
    polls: u32,
    submitted: u32,
    cancelled: u32,
    /// What a finished job sends, and how it failed.
    made: Bytes,
    failure: Option<String>,
    spoken: Option<String>,
}

/// A request as the service understood it.
#[derive(Debug, Clone, Default)]
pub struct Asked {
    pub path: String,
    /// The fields of a form, or the fields of a JSON object as JSON.
    pub fields: BTreeMap<String, String>,
    /// The files of a form: field, media type, contents.
    pub files: Vec<SentFile>,
    pub json: Value,
}

/// A file of a form.
#[derive(Debug, Clone)]
pub struct SentFile {
    pub field: String,
    pub name: String,
    pub media_type: String,
    pub bytes: Bytes,
}

/// A response instead of the right one.
#[derive(Debug, Clone)]
pub struct Fault {
    pub status: u16,
    pub retry_after: Option<u32>,
    pub body: Value,
}

impl Fault {
    pub fn status(status: u16) -> Self {
        Self { status, retry_after: None, body: json!({}) }
    }

    /// As OpenAI words it.
    pub fn openai(status: u16, code: &str, message: &str) -> Self {
        let error = json!({ "message": message, "type": "an_error", "param": null, "code": code });
        Self { body: json!({ "error": error }), ..Self::status(status) }
    }
}

impl FakeMedia {
    pub async fn start() -> Self {
        let shared = Shared::default();
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let url = format!("http://{}", listener.local_addr().expect("it is bound"));
        let router = Router::new()
            .route("/openai/v1/audio/transcriptions", post(transcribe))
            .route("/openai/v1/audio/speech", post(speak))
            .route("/openai/v1/images/generations", post(draw))
            .route("/openai/v1/images/edits", post(redraw))
            .route("/gemini/v1beta/models/{method}", post(gemini))
            .route("/replicate/v1/{*path}", any(replicate))
            .route("/fal/{*path}", any(fal))
            .route("/files/{name}", get(file))
            .layer(DefaultBodyLimit::max(64 * 1024 * 1024))
            .with_state(shared.clone());
        let serving = tokio::spawn(async move { axum::serve(listener, router).await });
        Self { url, shared, task: serving.abort_handle() }
    }

    /// The base URL of an interface: `openai/v1`, `gemini/v1beta`.
    pub fn base_url(&self, interface: &str) -> String {
        format!("{}/{interface}", self.url)
    }

    pub fn asked(&self) -> Vec<Asked> {
        lock(&self.shared).asked.clone()
    }

    /// What was wrong about how it was asked.
    pub fn problems(&self) -> Vec<String> {
        lock(&self.shared).problems.clone()
    }

    /// The next request is answered like this.
    pub fn fails_next(&self, fault: Fault) {
        lock(&self.shared).faults.push_back(fault);
    }

    /// Jobs are found running this often, and then have made this file.
    pub fn makes(&self, polls: u32, made: impl Into<Bytes>) {
        let mut seen = lock(&self.shared);
        (seen.polls, seen.made) = (polls, made.into());
    }

    /// Jobs fail with this reason.
    pub fn fails_jobs(&self, reason: &str) {
        lock(&self.shared).failure = Some(reason.to_owned());
    }

    /// How many jobs were submitted, each of which costs money.
    pub fn submitted(&self) -> u32 {
        lock(&self.shared).submitted
    }

    /// How many jobs were cancelled.
    pub fn cancelled(&self) -> u32 {
        lock(&self.shared).cancelled
    }

    /// This is what is said in all recordings.
    pub fn hears(&self, text: &str) {
        lock(&self.shared).spoken = Some(text.to_owned());
    }
}

impl Drop for FakeMedia {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn lock(shared: &Shared) -> MutexGuard<'_, Seen> {
    shared.lock()
}

/// Seconds of silence as Opus in Ogg: the header, and a last page with the position.
pub fn opus(seconds: u32) -> Vec<u8> {
    let mut bytes = page(0, b"OpusHead\x01\x01\x00\x00\x80\xbb\x00\x00\x00\x00\x00");
    bytes.extend(page(i64::from(seconds) * 48_000, &[0; 40]));
    bytes
}

fn page(position: i64, content: &[u8]) -> Vec<u8> {
    let mut page = b"OggS\0\0".to_vec();
    page.extend(position.to_le_bytes());
    page.extend([0; 12]);
    page.extend([1, content.len() as u8]);
    page.extend(content);
    page
}

/// Notes a request, and returns the fault that is due.
fn noted(shared: &Shared, asked: Asked, is_right: bool) -> Option<Response> {
    let mut seen = lock(shared);
    if !is_right {
        seen.problems.push(format!("{asked:?}"));
    }
    seen.asked.push(asked);
    let fault = seen.faults.pop_front()?;
    let status = StatusCode::from_u16(fault.status).expect("a status");
    let mut answer = (status, Json(fault.body)).into_response();
    if let Some(after) = fault.retry_after {
        answer.headers_mut().insert(header::RETRY_AFTER, after.into());
    }
    Some(answer)
}

fn spoken(shared: &Shared) -> String {
    lock(shared).spoken.clone().unwrap_or_else(|| SPOKEN.to_owned())
}

/// Reads a form. Rejects what is no form.
async fn form(request: Request) -> Result<Asked, Response> {
    let path = request.uri().path().to_owned();
    let mut asked = Asked { path, ..Asked::default() };
    let mut form =
        Multipart::from_request(request, &()).await.map_err(IntoResponse::into_response)?;
    while let Some(field) = form.next_field().await.map_err(IntoResponse::into_response)? {
        let name = field.name().unwrap_or_default().to_owned();
        let (file, media_type) = (field.file_name(), field.content_type());
        if let (Some(file), Some(media_type)) = (file, media_type) {
            let (file, media_type) = (file.to_owned(), media_type.to_owned());
            let bytes = field.bytes().await.map_err(IntoResponse::into_response)?;
            asked.files.push(SentFile { field: name, name: file, media_type, bytes });
        } else {
            let text = field.text().await.map_err(IntoResponse::into_response)?;
            asked.fields.insert(name, text);
        }
    }
    Ok(asked)
}

fn has_bearer(headers: &HeaderMap) -> bool {
    headers.get("authorization").is_some_and(|value| value == &format!("Bearer {KEY}"))
}

/// <https://platform.openai.com/docs/api-reference/audio/createTranscription>
async fn transcribe(State(shared): State<Shared>, request: Request) -> Response {
    let may = has_bearer(request.headers());
    let asked = match form(request).await {
        Ok(asked) => asked,
        Err(answer) => return answer,
    };
    let allowed = ["model", "response_format", "language", "prompt", "temperature"];
    let known = asked.fields.keys().all(|field| allowed.contains(&field.as_str()));
    let [file] = asked.files.as_slice() else {
        lock(&shared).problems.push(format!("one file, not {:?}", asked.files));
        return StatusCode::BAD_REQUEST.into_response();
    };
    let ending = file.name.rsplit('.').next().unwrap_or_default();
    let formats = ["flac", "mp3", "mp4", "mpeg", "mpga", "m4a", "ogg", "wav", "webm"];
    let right = may
        && known
        && file.field == "file"
        && formats.contains(&ending)
        && asked.fields.get("model").is_some_and(|model| model == "a-model")
        && asked.fields.get("response_format").is_some_and(|format| format == "json");
    if !may {
        lock(&shared).asked.push(asked);
        let fault = Fault::openai(401, "invalid_api_key", &format!("Incorrect key: {KEY}"));
        return (StatusCode::UNAUTHORIZED, Json(fault.body)).into_response();
    }
    if let Some(answer) = noted(&shared, asked, right) {
        return answer;
    }
    let text = spoken(&shared);
    let usage = json!({ "type": "duration", "seconds": 30 });
    Json(json!({ "text": text, "usage": usage })).into_response()
}

/// <https://ai.google.dev/api/generate-content>
async fn gemini(State(shared): State<Shared>, request: Request) -> Response {
    let path = request.uri().path().to_owned();
    let may = request.headers().get("x-goog-api-key").is_some_and(|value| value == KEY);
    let body = Bytes::from_request(request, &()).await.unwrap_or_default();
    let json: Value = serde_json::from_slice(&body).unwrap_or_default();
    let parts = json["contents"][0]["parts"].as_array().cloned().unwrap_or_default();
    let data = |part: &Value| {
        let data = part["inline_data"]["data"].as_str()?.to_owned();
        STANDARD.decode(data).ok()
    };
    let media: Vec<_> = parts.iter().filter_map(data).collect();
    let known = json.as_object().into_iter().flatten();
    let known = known
        .map(|(name, _)| name.as_str())
        .all(|name| ["contents", "generationConfig", "systemInstruction"].contains(&name));
    let is_audio = parts.iter().any(|part| {
        let kind = part["inline_data"]["mime_type"].as_str().unwrap_or_default();
        ["audio/ogg", "audio/mp3", "audio/wav", "audio/flac", "audio/aac"].contains(&kind)
    });
    let right = may
        && known
        && path.ends_with("/a-model:generateContent")
        && parts.first().is_some_and(|part| part["text"].is_string())
        && media.len() + 1 == parts.len();
    let asked = Asked { path, json: json.clone(), ..Asked::default() };
    if let Some(answer) = noted(&shared, asked, right) {
        return answer;
    }
    let config = &json["generationConfig"];
    let voice = &config["speechConfig"]["voiceConfig"]["prebuiltVoiceConfig"]["voiceName"];
    if config["responseModalities"] == json!(["AUDIO"]) && voice.is_string() {
        let data = STANDARD.encode(vec![1; 48_000]);
        let data = json!({ "mimeType": "audio/L16;codec=pcm;rate=24000", "data": data });
        let content = json!({ "role": "model", "parts": [{ "inlineData": data }] });
        let candidate = json!({ "content": content, "finishReason": "STOP" });
        return Json(json!({ "candidates": [candidate] })).into_response();
    }
    let draws = json["generationConfig"]["responseModalities"] == json!(["TEXT", "IMAGE"]);
    let parts = if draws {
        let data = json!({ "mimeType": "image/png", "data": STANDARD.encode(PICTURE) });
        json!([{ "text": "Here it is." }, { "inlineData": data }])
    } else if is_audio {
        json!([{ "text": "I think.", "thought": true }, { "text": spoken(&shared) }])
    } else {
        json!([{ "text": "Nothing to do." }])
    };
    let content = json!({ "role": "model", "parts": parts });
    let candidate = json!({ "content": content, "finishReason": "STOP", "index": 0 });
    Json(json!({ "candidates": [candidate] })).into_response()
}

/// The sizes of the image models, and the field that their interface does not have.
const SIZES: [&str; 4] = ["auto", "1024x1024", "1536x1024", "1024x1536"];

/// <https://platform.openai.com/docs/api-reference/images/create>
async fn draw(State(shared): State<Shared>, headers: HeaderMap, body: Bytes) -> Response {
    let json: Value = serde_json::from_slice(&body).unwrap_or_default();
    let known = json.as_object().into_iter().flatten().map(|(name, _)| name.as_str());
    let known = known.into_iter().all(|name| {
        ["model", "prompt", "n", "size", "quality", "background", "output_format"].contains(&name)
    });
    let count = json["n"].as_u64().unwrap_or(1);
    let size = json["size"].as_str().unwrap_or("auto");
    let right = has_bearer(&headers)
        && known
        && json["model"] == "a-model"
        && json["prompt"].as_str().is_some_and(|prompt| !prompt.is_empty())
        && (1..=10).contains(&count)
        && SIZES.contains(&size);
    let path = "/openai/v1/images/generations".to_owned();
    let asked = Asked { path, json, ..Asked::default() };
    noted(&shared, asked, right).unwrap_or_else(|| pictures(count))
}

/// <https://platform.openai.com/docs/api-reference/images/createEdit>
async fn redraw(State(shared): State<Shared>, request: Request) -> Response {
    let may = has_bearer(request.headers());
    let asked = match form(request).await {
        Ok(asked) => asked,
        Err(answer) => return answer,
    };
    let is_field = |file: &SentFile| ["image", "image[]", "mask"].contains(&file.field.as_str());
    let count = |field: &str| asked.files.iter().filter(|file| file.field == field).count();
    let size = asked.fields.get("size").map_or("auto", String::as_str);
    let right = may
        && asked.fields.get("model").is_some_and(|model| model == "a-model")
        && asked.fields.get("prompt").is_some_and(|prompt| !prompt.is_empty())
        && asked.files.iter().all(is_field)
        && asked.files.iter().all(|file| file.media_type == "image/png")
        && asked.files.iter().all(|file| Path::new(&file.name).extension() == Some("png".as_ref()))
        && (count("image") == 1) != (count("image[]") > 1)
        && count("mask") <= 1
        && SIZES.contains(&size);
    let pictures_count = asked.fields.get("n").and_then(|n| n.parse().ok()).unwrap_or(1);
    noted(&shared, asked, right).unwrap_or_else(|| pictures(pictures_count))
}

fn pictures(count: u64) -> Response {
    let picture = json!({ "b64_json": STANDARD.encode(PICTURE) });
    let data: Vec<_> = (0..count).map(|_| picture.clone()).collect();
    Json(json!({ "created": 1_700_000_000, "data": data, "output_format": "png" })).into_response()
}

/// <https://platform.openai.com/docs/api-reference/audio/createSpeech>
async fn speak(State(shared): State<Shared>, headers: HeaderMap, body: Bytes) -> Response {
    let json: Value = serde_json::from_slice(&body).unwrap_or_default();
    let known = json.as_object().into_iter().flatten().map(|(name, _)| name.as_str());
    let known = known.into_iter().all(|name| {
        ["model", "input", "voice", "response_format", "instructions", "speed"].contains(&name)
    });
    let length = json["input"].as_str().unwrap_or_default().chars().count();
    let format = json["response_format"].as_str().unwrap_or("mp3").to_owned();
    let right = has_bearer(&headers)
        && known
        && json["model"] == "a-model"
        && json["voice"].is_string()
        && (1..=4_096).contains(&length)
        && ["mp3", "opus", "aac", "flac", "wav", "pcm"].contains(&format.as_str());
    let asked = Asked { path: "/openai/v1/audio/speech".to_owned(), json, ..Asked::default() };
    if let Some(answer) = noted(&shared, asked, right) {
        return answer;
    }
    match format.as_str() {
        "opus" => ([("content-type", "audio/ogg")], opus(2)).into_response(),
        _ => ([("content-type", "audio/mpeg")], b"ID3 and so on".to_vec()).into_response(),
    }
}

/// Whether the job runs still. Each question brings it closer to its end.
fn still_runs(shared: &Shared) -> bool {
    let mut seen = lock(shared);
    let runs = seen.polls > 0;
    seen.polls = seen.polls.saturating_sub(1);
    runs
}

/// A request, parsed as JSON.
async fn read_json(request: Request) -> Asked {
    let path = request.uri().path().to_owned();
    let body = Bytes::from_request(request, &()).await.unwrap_or_default();
    let json = serde_json::from_slice(&body).unwrap_or_default();
    Asked { path, json, ..Asked::default() }
}

fn host_of(headers: &HeaderMap) -> String {
    let host = headers.get("host").and_then(|host| host.to_str().ok()).unwrap_or_default();
    format!("http://{host}")
}

/// `600s`
fn is_seconds(time: &[u8]) -> bool {
    let digits = time.strip_suffix(b"s").unwrap_or_default();
    !digits.is_empty() && digits.iter().all(u8::is_ascii_digit)
}

/// <https://replicate.com/docs/reference/http>
async fn replicate(State(shared): State<Shared>, request: Request) -> Response {
    let (method, headers) = (request.method().clone(), request.headers().clone());
    let asked = read_json(request).await;
    let (path, input) = (asked.path.clone(), asked.json["input"].clone());
    let is_new = method == "POST" && path == "/replicate/v1/models/an-owner/a-model/predictions";
    let is_poll = method == "GET" && path == "/replicate/v1/predictions/job-1";
    let is_cancel = method == "POST" && path == "/replicate/v1/predictions/job-1/cancel";
    let has_input = asked.json.as_object().is_some_and(|body| body.len() == 1)
        && input["prompt"].is_string()
        && input["seconds"] == 5
        && headers.get("cancel-after").is_some_and(|after| is_seconds(after.as_bytes()));
    let right = has_bearer(&headers) && (is_new && has_input || is_poll || is_cancel);
    if let Some(answer) = noted(&shared, asked, right) {
        return answer;
    }
    let job = |status: &str, output: Value, error: Option<String>| {
        json!({
            "id": "job-1", "model": "an-owner/a-model", "status": status, "input": input,
            "output": output, "error": error, "created_at": "2026-01-01T00:00:00Z",
            "urls": { "get": "https://example.org", "cancel": "https://example.org" },
        })
    };
    if is_cancel {
        lock(&shared).cancelled += 1;
        return Json(job("canceled", Value::Null, None)).into_response();
    }
    if is_new {
        lock(&shared).submitted += 1;
        let body = Json(job("starting", Value::Null, None));
        return (StatusCode::CREATED, body).into_response();
    }
    if still_runs(&shared) {
        return Json(job("processing", Value::Null, None)).into_response();
    }
    let failure = lock(&shared).failure.clone();
    Json(match failure {
        Some(reason) => job("failed", Value::Null, Some(reason)),
        None => job("succeeded", json!([format!("{}/files/made", host_of(&headers))]), None),
    })
    .into_response()
}

/// <https://fal.ai/docs/documentation/model-apis/inference/queue>
async fn fal(State(shared): State<Shared>, request: Request) -> Response {
    let (method, headers) = (request.method().clone(), request.headers().clone());
    let asked = read_json(request).await;
    let (path, input) = (asked.path.clone(), asked.json.clone());
    let of_job = "/fal/an-owner/a-model/requests/job-1";
    let is_new = method == "POST" && path == "/fal/an-owner/a-model";
    let is_poll = method == "GET" && path == format!("{of_job}/status");
    let is_result = method == "GET" && path == of_job;
    let is_cancel = method == "PUT" && path == format!("{of_job}/cancel");
    let has_input = input["prompt"].is_string() && input["seconds"] == 5;
    let has_key = headers.get("authorization").is_some_and(|key| key == &format!("Key {KEY}"));
    let right = has_key && (is_new && has_input || is_poll || is_result || is_cancel);
    if let Some(answer) = noted(&shared, asked, right) {
        return answer;
    }
    let url = |end: &str| format!("{}{of_job}{end}", host_of(&headers));
    if is_new {
        lock(&shared).submitted += 1;
        return Json(json!({
            "status": "IN_QUEUE", "request_id": "job-1", "queue_position": 2,
            "response_url": url(""), "status_url": url("/status"), "cancel_url": url("/cancel"),
        }))
        .into_response();
    }
    if is_cancel {
        lock(&shared).cancelled += 1;
        let body = Json(json!({ "status": "CANCELLATION_REQUESTED" }));
        return (StatusCode::ACCEPTED, body).into_response();
    }
    if is_poll {
        let status = if still_runs(&shared) { "IN_PROGRESS" } else { "COMPLETED" };
        return Json(json!({ "status": status, "response_url": url("") })).into_response();
    }
    let failure = lock(&shared).failure.clone();
    if let Some(reason) = failure {
        let detail =
            json!({ "loc": ["body", "prompt"], "msg": reason, "type": "content_policy_violation" });
        let body = Json(json!({ "detail": [detail] }));
        return (StatusCode::UNPROCESSABLE_ENTITY, body).into_response();
    }
    let file = json!({
        "url": format!("{}/files/made", host_of(&headers)), "content_type": "video/mp4",
        "file_name": "made.mp4", "file_size": 1,
    });
    Json(json!({ "video": file, "seed": 7 })).into_response()
}

/// The address of a file needs no key, and gets none.
async fn file(State(shared): State<Shared>, headers: HeaderMap) -> Response {
    let mut seen = lock(&shared);
    if headers.contains_key("authorization") {
        seen.problems.push("the key was sent for a file".to_owned());
    }
    seen.made.clone().into_response()
}
