//! Files that people upload in the web chat.
//!
//! A file is stored before the message that it belongs to. The page gets a signed id for it, which
//! only its owner can send with a message. A file that no message refers to is removed like every
//! artifact without a reference.

use anyhow::Result;
use axum::{
    Json,
    body::Body,
    extract::{Query, State},
    http::StatusCode,
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use bytes::{Bytes, BytesMut};
use channels::FileRef;
use futures::StreamExt as _;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};
use tokio::{
    sync::{OnceCell, Semaphore},
    time::{Instant, timeout, timeout_at},
};

use super::participant::Participant;
use crate::{
    admin::{
        Admin,
        auth::{
            rate_limit::{Client, OpenConnections},
            web_session::new_token,
        },
        problem::{
            BAD_REQUEST, FILE_NOT_STORED, FILE_TOO_LARGE, NOT_A_MEMBER, Problem, ProblemText,
            TOO_FAST, UPLOAD_LIMIT, UPLOAD_TOO_SLOW,
        },
    },
    gateway::webhooks::signature::SharedSecret,
    store::usage::spent,
    tools::workspace::file_names,
};

/// The maximum number of files of one message.
pub const FILES: usize = 10;
/// The maximum size of a file.
pub const FILE_BYTES: usize = 20_000_000;
/// The maximum number of uploads at once, since each is held in memory.
const AT_ONCE: usize = 4;
/// The maximum number of uploads at once of one person.
const AT_ONCE_EACH: usize = 2;
/// How long an upload waits for others to end.
const WAITS_FOR: Duration = Duration::from_secs(30);
/// How long an upload may take, and the number of bytes that must arrive per interval.
const WITHIN: Duration = Duration::from_mins(15);
const INTERVAL: Duration = Duration::from_secs(20);
const INTERVAL_BYTES: usize = 128 * 1024;
/// The longest name, in characters.
const NAME_CHARS: usize = 200;

/// The uploads of this node.
pub struct Uploads {
    key: OnceCell<SharedSecret>,
    running: Semaphore,
    by_person: OpenConnections,
}

impl Default for Uploads {
    fn default() -> Self {
        Self {
            key: OnceCell::new(),
            running: Semaphore::new(AT_ONCE),
            by_person: OpenConnections::of(AT_ONCE_EACH),
        }
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
    participant: Participant,
    Query(UploadQuery { name }): Query<UploadQuery>,
    body: Body,
) -> Result<Json<Value>, Problem> {
    let busy = || Problem::new(StatusCode::TOO_MANY_REQUESTS, TOO_FAST);
    if !participant.is_member(&admin).await? {
        return Err(Problem::new(StatusCode::FORBIDDEN, NOT_A_MEMBER));
    }
    let person = Client::Person(participant.speaker.id.clone());
    let _open = admin.uploads.by_person.enter(person).ok_or_else(busy)?;
    let free = timeout(WAITS_FOR, admin.uploads.running.acquire()).await;
    let _permit = free.ok().and_then(Result::ok).ok_or_else(busy)?;
    let bytes = received(body).await?;
    let size = bytes.len() as u64;
    book(&admin, &participant, size).await?;
    let short: String = name.chars().take(NAME_CHARS).collect();
    let name = file_names::file_name(&short).unwrap_or_else(|_| "file".to_owned());
    let media_type = file_names::media_type(&name, &bytes);
    let stored = admin.gateway.artifacts.put(&name, &media_type, bytes.to_vec()).await;
    let stored = match stored {
        Ok(stored) => stored,
        Err(problem) => {
            tracing::error!(problem = format!("{problem:#}"), "could not store an upload");
            refund(&admin, &participant, size).await;
            return Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, FILE_NOT_STORED));
        }
    };
    let upload = Upload {
        channel: participant.channel,
        person: participant.speaker.id,
        digest: stored.digest,
        name: stored.name,
        media_type: stored.media_type,
        size_bytes: stored.size_bytes,
    };
    Ok(Json(json!({ "id": upload.sealed(key(&admin).await?) })))
}

/// Counts the upload, if the person's day allows it.
async fn book(admin: &Admin, participant: &Participant, bytes: u64) -> Result<(), Problem> {
    let Some(limit) = admin.worker.limits.upload_bytes else { return Ok(()) };
    let upload = spent::NewUpload { person: owner(participant), bytes, limit };
    if admin.gateway.store.book_upload(upload, admin.gateway.clock.now()).await? {
        return Ok(());
    }
    let text = ProblemText::with(UPLOAD_LIMIT, size(limit));
    Err(Problem::new(StatusCode::TOO_MANY_REQUESTS, text))
}

/// Subtracts an upload that was counted and could not be stored.
async fn refund(admin: &Admin, participant: &Participant, bytes: u64) {
    if admin.worker.limits.upload_bytes.is_none() {
        return;
    }
    let now = admin.gateway.clock.now();
    if let Err(problem) = admin.gateway.store.refund_upload(owner(participant), bytes, now).await {
        let problem = format!("{problem:#}");
        tracing::error!(problem, "could not return the quota of a failed upload");
    }
}

fn owner(participant: &Participant) -> String {
    format!("{}/{}", participant.channel, participant.speaker.id)
}

fn size(bytes: u64) -> String {
    match bytes / 1_000_000 {
        mb if mb > 0 && mb.is_multiple_of(1_000) => format!("{} GB", mb / 1_000),
        mb => format!("{mb} MB"),
    }
}

async fn received(body: Body) -> Result<Bytes, Problem> {
    let slow = |_| Problem::new(StatusCode::REQUEST_TIMEOUT, UPLOAD_TOO_SLOW);
    timeout(WITHIN, collected(body)).await.map_err(slow)?
}

async fn collected(body: Body) -> Result<Bytes, Problem> {
    let slow = |_| Problem::new(StatusCode::REQUEST_TIMEOUT, UPLOAD_TOO_SLOW);
    let (mut chunks, mut bytes) = (body.into_data_stream(), BytesMut::new());
    let (mut until, mut expected) = (Instant::now() + INTERVAL, INTERVAL_BYTES);
    while let Some(chunk) = timeout_at(until, chunks.next()).await.map_err(slow)? {
        let chunk = chunk.map_err(|_| Problem::new(StatusCode::BAD_REQUEST, BAD_REQUEST))?;
        if bytes.len() + chunk.len() > FILE_BYTES {
            return Err(Problem::new(StatusCode::PAYLOAD_TOO_LARGE, FILE_TOO_LARGE));
        }
        bytes.extend_from_slice(&chunk);
        if bytes.len() >= expected {
            (until, expected) = (Instant::now() + INTERVAL, bytes.len() + INTERVAL_BYTES);
        }
    }
    Ok(bytes.freeze())
}

/// The files with these ids, if the person has uploaded all of them.
pub async fn files(
    admin: &Admin,
    participant: &Participant,
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
    let uploads =
        ids.iter().map(|id| Upload::unsealed(id, key).filter(|one| one.is_of(participant)));
    uploads.map(|upload| upload.map(Upload::file).ok_or_else(refused)).collect()
}

impl Upload {
    fn is_of(&self, participant: &Participant) -> bool {
        self.channel == participant.channel && self.person == participant.speaker.id
    }

    fn file(self) -> FileRef {
        let Self { digest, name, media_type, size_bytes, .. } = self;
        FileRef {
            id: digest,
            name,
            media_type: Some(media_type),
            size_bytes: Some(size_bytes),
            is_voice: false,
        }
    }

    fn sealed(&self, key: &SharedSecret) -> String {
        let encoded = URL_SAFE_NO_PAD.encode(json!(self).to_string());
        format!("{encoded}.{}", key.seal(&encoded))
    }

    fn unsealed(id: &str, key: &SharedSecret) -> Option<Self> {
        let (encoded, _) =
            id.split_once('.').filter(|(encoded, seal)| key.has_sealed(encoded, seal))?;
        serde_json::from_slice(&URL_SAFE_NO_PAD.decode(encoded).ok()?).ok()
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

#[cfg(test)]
mod tests {
    use super::*;
    use futures::stream;
    use std::{future::pending, io};

    /// Proves S13.
    #[tokio::test(start_paused = true)]
    async fn an_upload_that_stops_or_crawls_is_ended() {
        let stopped = stream::once(async { Ok::<_, io::Error>("a") }).chain(stream::pending());
        let begun = Instant::now();
        let refused = received(Body::from_stream(stopped)).await.unwrap_err();
        assert_eq!(refused.status(), StatusCode::REQUEST_TIMEOUT);
        assert_eq!(begun.elapsed(), INTERVAL);

        // Half the size per half the time is just enough.
        for (size, ends_after) in [(INTERVAL_BYTES / 2 - 1, INTERVAL), (INTERVAL_BYTES / 2, WITHIN)]
        {
            let crawling = stream::unfold((), move |()| async move {
                let pause = (INTERVAL / 2).saturating_sub(Duration::from_millis(1));
                let _ = timeout(pause, pending::<()>()).await;
                Some((Ok::<_, io::Error>(vec![0; size]), ()))
            });
            let begun = Instant::now();
            let refused = received(Body::from_stream(crawling)).await.unwrap_err();
            assert_eq!(refused.status(), StatusCode::REQUEST_TIMEOUT);
            assert!(begun.elapsed() >= ends_after && begun.elapsed() < ends_after + INTERVAL);
        }
        assert_eq!(&received(Body::from("whole")).await.unwrap()[..], b"whole");
    }
}
