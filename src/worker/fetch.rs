//! Fetches files that were sent with messages into the workspace, where tools can open them, and
//! into the artifact store. After a crash, files without a recorded result are fetched again.

use anyhow::{Context as _, Result};
use bytes::Bytes;
use channels::{FileRef, Outgoing, SendError};
use std::{path::Path, time::Duration};
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio_util::sync::CancellationToken;

use super::{
    think::until_cut_off,
    turn::{Flow, Turn},
    vision::{self, Pictures},
    voice::{self, Transcription},
};
use crate::{
    agent::taint::INBOX,
    crash,
    gateway::prompts::PROMPT_BYTES,
    journal::{
        event::{Attachment, Event, PromptRequest},
        session::messages::SentFile,
    },
    store::{
        conversations::record::{ConversationChange, Precondition},
        usage::UsageRecord,
    },
    tools::workspace::{Workspace, file_names},
};

/// The maximum size of a file.
const MAX_BYTES: u64 = 50 * 1024 * 1024;
/// The maximum total size of concurrent downloads on this node, in units of [`UNIT`] bytes.
const AT_ONCE: u32 = 256 * 1024;
const UNIT: u64 = 1024;

/// Limits the memory used for downloads and pictures on the whole node.
pub struct FetchBudget {
    bytes: Semaphore,
    /// Limits the number of pictures that are prepared for models at once. Each may take 256 MiB.
    pub(super) vision_permits: Semaphore,
    /// The pictures that were most recently shown to models.
    pub(super) pictures: Pictures,
}

impl Default for FetchBudget {
    fn default() -> Self {
        let (bytes, vision_permits) = (Semaphore::new(AT_ONCE as usize), Semaphore::new(2));
        Self { bytes, vision_permits, pictures: Pictures::default() }
    }
}

impl FetchBudget {
    /// Waits until a file of this size fits. A file of unknown size counts as one of the maximum
    /// size.
    async fn take(&self, size_bytes: Option<u64>) -> SemaphorePermit<'_> {
        let units = size_bytes.unwrap_or(MAX_BYTES).div_ceil(UNIT).min(AT_ONCE.into()) as u32;
        self.bytes.acquire_many(units).await.expect("never closed")
    }
}

/// The maximum length of a prompt's text that the model is shown at once; it reads longer ones from
/// the file.
const SHOWN_CHARS: usize = 16_000;

/// The delays before further attempts, if the platform specifies none.
const WAITS: [Duration; 2] = [Duration::from_millis(500), Duration::from_secs(3)];
const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// The outcome of fetching one file.
struct Fetched {
    events: Vec<Event>,
    /// The text for the person, if any.
    message: Option<String>,
    /// The usage of a service that has read the file.
    used: Option<UsageRecord>,
}

pub(super) async fn fetch(turn: &Turn<'_>, files: Vec<SentFile>) -> Result<Flow> {
    let (mut events, mut shows, mut used) = (Vec::new(), Vec::<Outgoing>::new(), Vec::new());
    for sent in files {
        let fetched = tokio::select! {
            fetched = one(turn, &sent) => fetched?,
            () = until_cut_off(turn) => return Ok(Flow::Continue),
            () = turn.worker.gateway.stop.cancelled() => return Ok(Flow::Continue),
        };
        events.extend(fetched.events);
        shows.extend(fetched.message.map(|message| turn.text(message)));
        used.extend(fetched.used);
    }
    crash::point("fetch", "before record");
    let change = turn.change(events, shows);
    turn.record(ConversationChange { terms: Precondition::Always, used, ..change }).await
}

async fn one(turn: &Turn<'_>, sent: &SentFile) -> Result<Fetched> {
    if let Some(request) = &sent.prompt {
        return prompt(turn, sent, request).await;
    }
    let (file, words) = (&sent.file, turn.claimed.words());
    let lost = |reason: String, message| {
        let events = vec![Event::FileLost { file: sent.seq, reason }];
        Ok(Fetched { events, message: Some(message), used: None })
    };
    let too_large = || {
        let reason = format!("it is larger than {} MB", MAX_BYTES / (1024 * 1024));
        lost(reason, words.file_too_large(&file.name, MAX_BYTES))
    };
    if file.size_bytes.is_some_and(|size| size > MAX_BYTES) {
        return too_large();
    }
    let _permit = turn.worker.fetching.take(file.size_bytes).await;
    let bytes = match bytes(turn, file).await {
        Ok(bytes) if bytes.len() as u64 > MAX_BYTES => return too_large(),
        Ok(bytes) => bytes,
        Err(problem) => {
            tracing::warn!(%problem, channel.id = turn.claimed.channel, "could not fetch a file");
            let reason = "the platform no longer provides it".to_owned();
            return lost(reason, words.file_gone(&file.name));
        }
    };
    let (path, attachment) = store(turn, &file.name, bytes.clone()).await?;
    let view = match turn.model() {
        Some(model) => vision::at(turn, model.as_ref(), &path, &bytes).await,
        None => None,
    };
    let source = view.as_ref().map(|view| format!("picture {}", view.name));
    let Transcription { text, events: transcribed, used, message } =
        voice::transcribe(turn, sent, &path, &bytes).await?;
    let taken = Event::FileFetched { file: sent.seq, path, attachment, view, text };
    let mut events = vec![taken];
    // A file may contain text of anyone.
    events.extend(source.map(|source| Event::Tainted { source }));
    events.extend(transcribed);
    Ok(Fetched { events, message, used })
}

/// Stores the contents of a file as an artifact, and in the workspace under the returned path.
async fn store(turn: &Turn<'_>, name: &str, bytes: Bytes) -> Result<(String, Attachment)> {
    let name = file_names::file_name(name).unwrap_or_else(|_| "file".to_owned());
    let media_type = file_names::media_type(&name, &bytes);
    let artifacts = &turn.worker.gateway.artifacts;
    let attachment = artifacts.put(&name, &media_type, bytes.to_vec()).await?;
    let root = turn.worker.workspace(turn.claimed);
    let path = tokio::task::spawn_blocking(move || write_new(&root, &name, &bytes))
        .await
        .context("writing into a workspace")??;
    Ok((path, attachment))
}

/// Gets the text of a prompt from its server. It is untrusted content.
async fn prompt(turn: &Turn<'_>, sent: &SentFile, request: &PromptRequest) -> Result<Fetched> {
    let PromptRequest { server, prompt, .. } = request;
    let got = match turn.worker.mcp_servers.find(server) {
        Some(found) => found.prompt(request).await.map_err(|problem| {
            // The server's words would be untrusted content.
            tracing::warn!(
                mcp.server = server, mcp.prompt = prompt, %problem,
                "could not get a prompt"
            );
            format!("the MCP server `{server}` did not provide it")
        }),
        None => Err(format!("the MCP server `{server}` is no longer configured")),
    };
    let got = got.and_then(|text| match text.len() {
        0 => Err("it has no text".to_owned()),
        1..=PROMPT_BYTES => Ok(text),
        _ => Err(format!("it is larger than {} KiB", PROMPT_BYTES / 1024)),
    });
    let text = match got {
        Ok(text) => text,
        Err(reason) => {
            let message = turn.claimed.words().prompt_failed(prompt, server);
            let events = vec![Event::FileLost { file: sent.seq, reason }];
            return Ok(Fetched { events, message: Some(message), used: None });
        }
    };
    let (path, attachment) = store(turn, &sent.file.name, text.clone().into()).await?;
    let shown = (text.chars().count() <= SHOWN_CHARS).then_some(text);
    let taken = Event::FileFetched { file: sent.seq, path, attachment, view: None, text: shown };
    let tainted = Event::Tainted { source: format!("prompt {server}/{prompt}") };
    Ok(Fetched { events: vec![taken, tainted], message: None, used: None })
}

async fn bytes(turn: &Turn<'_>, file: &FileRef) -> Result<Bytes, SendError> {
    let Some(connected) = turn.worker.gateway.channels.get(&turn.claimed.channel) else {
        return Err(SendError::Gone("the channel is no longer configured".to_owned()));
    };
    with_retries(|| connected.channel.fetch(file)).await
}

/// Repeats a download while the platform is temporarily unavailable.
async fn with_retries<T, F>(mut download: impl FnMut() -> F) -> Result<T, SendError>
where
    F: Future<Output = Result<T, SendError>>,
{
    for wait in WAITS {
        match download().await {
            Err(SendError::Retry { after, .. }) => pause(after.unwrap_or(wait)).await,
            Err(SendError::Paused { after, .. }) => pause(after).await,
            Err(SendError::Unknown(_)) => pause(wait).await,
            other => return other,
        }
    }
    download().await
}

async fn pause(wait: Duration) {
    // In real time: this waits for a platform.
    let never = std::future::pending::<()>();
    let _ = tokio::time::timeout(wait.min(LONGEST_WAIT), never).await;
}

/// Writes the file under its name. If another file has the name, a number is appended.
fn write_new(root: &Path, name: &str, bytes: &[u8]) -> Result<String> {
    let workspace = Workspace::open(root)?;
    for number in 1..10_000 {
        let path = format!("{INBOX}/{}", numbered(name, number));
        if is_free(&workspace, &path) {
            workspace.replace(&path, bytes, &CancellationToken::new())?;
            return Ok(path);
        }
        // The same contents were already written by an interrupted attempt.
        if workspace.bytes(&path, MAX_BYTES).is_ok_and(|there| there == bytes) {
            return Ok(path);
        }
    }
    anyhow::bail!("{INBOX} contains too many files called {name}")
}

fn is_free(workspace: &Workspace, path: &str) -> bool {
    let (folder, name) = path.split_once('/').expect("the path has a folder");
    workspace.folder(folder).map_or(true, |folder| folder.symlink_metadata(name).is_err())
}

fn numbered(name: &str, number: usize) -> String {
    match (number, name.rsplit_once('.')) {
        (1, _) => name.to_owned(),
        (_, Some((stem, ending))) if !stem.is_empty() => format!("{stem}-{number}.{ending}"),
        _ => format!("{name}-{number}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::time::Instant;

    /// How often a download is tried that always fails like this, and for how many seconds.
    async fn tried(problem: &SendError) -> (usize, u64) {
        let (began, mut tries) = (Instant::now(), 0);
        let failing = with_retries(|| {
            tries += 1;
            std::future::ready(Err::<(), _>(problem.clone()))
        });
        assert_eq!(failing.await.as_ref(), Err(problem));
        (tries, began.elapsed().as_secs())
    }

    #[tokio::test(start_paused = true)]
    async fn a_download_is_repeated_when_the_platform_says_so() {
        let retry = |after| SendError::Retry { after, reason: String::new() };
        let seconds = |count| Some(Duration::from_secs(count));
        let paused = SendError::Paused { after: Duration::from_secs(2), reason: String::new() };
        for (problem, expected) in [
            (retry(None), (3, 3)),
            (retry(seconds(5)), (3, 10)),
            (retry(seconds(31)), (3, 60)),
            (paused, (3, 4)),
            (SendError::Unknown(String::new()), (3, 3)),
            (SendError::Gone(String::new()), (1, 0)),
            (SendError::Rejected(String::new()), (1, 0)),
        ] {
            assert_eq!(tried(&problem).await, expected, "{problem:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_download_that_succeeds_is_not_repeated() {
        let mut outcomes = [Err(SendError::Unknown(String::new())), Ok("bytes")].into_iter();
        let done = with_retries(|| std::future::ready(outcomes.next().expect("an attempt")));
        assert_eq!(done.await, Ok("bytes"));
        assert!(outcomes.next().is_none(), "the second attempt succeeds");
    }

    #[test]
    fn the_number_of_a_name_is_before_its_ending() {
        let names = ["a.txt", "a.tar.gz", "README", ".env"].map(|name| numbered(name, 2));
        assert_eq!(names, ["a-2.txt", "a.tar-2.gz", "README-2", ".env-2"]);
        assert_eq!(numbered(".env", 1), ".env");
    }

    #[test]
    fn two_files_of_one_name_lie_side_by_side_and_the_same_file_once() {
        let root = tempfile::tempdir().unwrap();
        let lay = |name: &str, bytes: &str| write_new(root.path(), name, bytes.as_bytes()).unwrap();
        assert_eq!(lay("a.txt", "one"), "inbox/a.txt");
        assert_eq!(lay("a.txt", "two"), "inbox/a-2.txt");
        assert_eq!(lay("a.txt", "one"), "inbox/a.txt");
        assert_eq!(lay("a", "x"), "inbox/a");
        assert_eq!(lay("a", "y"), "inbox/a-2");
        assert_eq!(std::fs::read_to_string(root.path().join("inbox/a-2.txt")).unwrap(), "two");
    }

    /// Concurrent downloads of a node are bounded by their size; small files pass.
    /// Proves S13.
    #[tokio::test]
    async fn files_of_unknown_size_wait_for_each_other() {
        let room = FetchBudget::default();
        let mut taken = Vec::new();
        for _ in 0..u64::from(AT_ONCE) * UNIT / MAX_BYTES {
            taken.push(room.take(None).await);
        }
        let mut next = std::pin::pin!(room.take(None));
        assert!(futures::poll!(next.as_mut()).is_pending());
        taken.pop();
        assert!(futures::poll!(next).is_ready());
    }

    /// A symbolic link that the agent created is not followed.
    /// Proves S9.
    #[test]
    fn a_link_is_not_followed() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().join("w");
        std::fs::create_dir_all(root.join("inbox")).unwrap();
        std::os::unix::fs::symlink("../../secret", root.join("inbox/a.txt")).unwrap();
        assert_eq!(write_new(&root, "a.txt", b"x").unwrap(), "inbox/a-2.txt");
        assert!(!place.path().join("secret").exists());
    }
}
