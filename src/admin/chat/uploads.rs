//! Files that people upload in the web chat.
//!
//! A file is stored before the message that it belongs to. The page gets a signed id for it, which
//! only its owner can send with a message. A file that no message refers to is removed like every
//! artifact without a reference.

use anyhow::Result;
use axum::{
    Json,
    body::{Body, to_bytes},
    extract::{Query, State},
    http::StatusCode,
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use bytes::Bytes;
use channels::FileRef;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};
use tokio::sync::{OnceCell, Semaphore};

use super::participant::Participant;
use crate::{
    admin::{
        Admin,
        auth::web_session::new_token,
        problem::{BAD_REQUEST, FILE_TOO_LARGE, NOT_SAVED, Problem, TOO_FAST},
    },
    gateway::webhooks::signature::SharedSecret,
    tools::workspace::file_names,
};

/// The maximum number of files of one message.
pub const FILES: usize = 10;
/// The maximum size of a file.
pub const FILE_BYTES: usize = 20_000_000;
/// The maximum number of uploads at once, since each is held in memory.
const AT_ONCE: usize = 4;
/// How long an upload may take.
const WITHIN: Duration = Duration::from_mins(5);
/// The longest name, in characters.
const NAME_CHARS: usize = 200;

/// The uploads of this node.
pub struct Uploads {
    key: OnceCell<SharedSecret>,
    running: Semaphore,
}

impl Default for Uploads {
    fn default() -> Self {
        Self { key: OnceCell::new(), running: Semaphore::new(AT_ONCE) }
    }
}

/// An uploaded file, and whose it is.
#[derive(Debug, Serialize, Deserialize)]
struct Upload {
    channel: String,
    person: String,
    digest: String,
    name: String,
    media_type: String,
    size_bytes: u64,
}

#[derive(Deserialize)]
pub struct UploadQuery {
    name: String,
}

/// Stores a file. The response has the id to send with a message.
pub async fn upload(
    State(admin): State<Arc<Admin>>,
    talker: Participant,
    Query(UploadQuery { name }): Query<UploadQuery>,
    body: Body,
) -> Result<Json<Value>, Problem> {
    let slow = || Problem::new(StatusCode::TOO_MANY_REQUESTS, TOO_FAST);
    let _permit = admin.uploads.running.try_acquire().map_err(|_| slow())?;
    let bytes = received(body).await?;
    let short: String = name.chars().take(NAME_CHARS).collect();
    let name = file_names::file_name(&short).unwrap_or_else(|_| "file".to_owned());
    let media_type = file_names::media_type(&name, &bytes);
    let stored = admin.gateway.artifacts.put(&name, &media_type, bytes.to_vec()).await;
    let stored = stored.map_err(|problem| {
        tracing::error!(problem = format!("{problem:#}"), "could not store an upload");
        Problem::new(StatusCode::SERVICE_UNAVAILABLE, NOT_SAVED)
    })?;
    let upload = Upload {
        channel: talker.channel,
        person: talker.speaker.id,
        digest: stored.digest,
        name: stored.name,
        media_type: stored.media_type,
        size_bytes: stored.size_bytes,
    };
    Ok(Json(json!({ "id": upload.sealed(key(&admin).await?) })))
}

async fn received(body: Body) -> Result<Bytes, Problem> {
    let read = tokio::time::timeout(WITHIN, to_bytes(body, FILE_BYTES)).await;
    let read = read.map_err(|_| Problem::new(StatusCode::REQUEST_TIMEOUT, BAD_REQUEST))?;
    read.map_err(|_| Problem::new(StatusCode::PAYLOAD_TOO_LARGE, FILE_TOO_LARGE))
}

/// The files with these ids, if the person has uploaded all of them.
pub async fn files(
    admin: &Admin,
    talker: &Participant,
    ids: &[String],
) -> Result<Vec<FileRef>, Problem> {
    let refused = || Problem::new(StatusCode::BAD_REQUEST, BAD_REQUEST);
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    if ids.len() > FILES {
        return Err(refused());
    }
    let key = key(admin).await?;
    let uploads = ids.iter().map(|id| Upload::unsealed(id, key).filter(|one| one.is_of(talker)));
    uploads.map(|upload| upload.map(Upload::file).ok_or_else(refused)).collect()
}

impl Upload {
    fn is_of(&self, talker: &Participant) -> bool {
        self.channel == talker.channel && self.person == talker.speaker.id
    }

    fn file(self) -> FileRef {
        let Self { digest, name, media_type, size_bytes, .. } = self;
        FileRef { id: digest, name, media_type: Some(media_type), size_bytes: Some(size_bytes) }
    }

    fn sealed(&self, key: &SharedSecret) -> String {
        let told = URL_SAFE_NO_PAD.encode(json!(self).to_string());
        format!("{told}.{}", key.seal(&told))
    }

    fn unsealed(id: &str, key: &SharedSecret) -> Option<Self> {
        let (told, _) = id.split_once('.').filter(|(told, seal)| key.has_sealed(told, seal))?;
        serde_json::from_slice(&URL_SAFE_NO_PAD.decode(told).ok()?).ok()
    }
}

/// The signing key, shared by all nodes.
async fn key(admin: &Admin) -> Result<&SharedSecret> {
    let made = admin.uploads.key.get_or_try_init(async || {
        let secret = admin.gateway.store.signing_key("uploads", new_token()).await?;
        anyhow::Ok(SharedSecret::plain(&secret))
    });
    made.await
}
