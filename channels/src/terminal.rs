//! The terminal: a developer talks to the agent line by line. Approvals list the commands to type.
//! Files are saved to a folder, and their names are printed.

use async_trait::async_trait;
use bytes::Bytes;
use chrono::DateTime;
use parking_lot::Mutex;
use std::{
    collections::HashSet,
    io::Write,
    path::{Path, PathBuf},
};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::{
    Channel, ConnectionState, Delivery, FileRef, Incoming, IncomingContent, Intake, Limits,
    ListenError, Outgoing, Person, Place, PlaceKind, Receipt, SendError, Unit, WebhookError,
    WebhookRequest,
    error::rejected,
    incoming::Batch,
    limits::{RateLimits, Repeat},
    text::{self, Style},
};

/// The prefix for sending a file: `/file notes.txt what is this?`.
const FILE: &str = "/file ";

/// A terminal with one person.
pub struct Terminal {
    id: String,
    person: Person,
    limits: Limits,
    lines: tokio::sync::Mutex<mpsc::Receiver<String>>,
    output: Mutex<Output>,
    /// The folder in which files of the agent are saved.
    folder: PathBuf,
    ended: CancellationToken,
}

struct Output {
    to: Box<dyn Write + Send>,
    /// The keys of messages that were shown, so that a repeated send shows nothing twice.
    shown: HashSet<String>,
}

impl Terminal {
    /// A terminal for the person `name`. `lines` is their input, `output` what they see; files from
    /// the agent are saved in `folder`.
    pub fn new(
        id: impl Into<String>,
        name: impl Into<String>,
        lines: mpsc::Receiver<String>,
        output: Box<dyn Write + Send>,
        folder: impl Into<PathBuf>,
    ) -> Self {
        let name = name.into();
        let person = Person {
            id: name.clone(),
            name,
            language: None,
            is_bot: false,
            roles: Vec::new(),
            roles_unknown: false,
        };
        let limits = Limits {
            text: 100_000,
            caption: 100_000,
            unit: Unit::Chars,
            upload_bytes: 1024 * 1024 * 1024,
            buttons: false,
            repeat: Repeat::NativeKey,
            typing_for: None,
            drafts: None,
            supports_drafts: false,
            reasons: false,
            pictures: false,
            reactions: false,
            album: 1,
            rate_limits: RateLimits::default(),
        };
        let output = Output { to: output, shown: HashSet::new() };
        Self {
            id: id.into(),
            person,
            limits,
            lines: tokio::sync::Mutex::new(lines),
            output: Mutex::new(output),
            folder: folder.into(),
            ended: CancellationToken::new(),
        }
    }

    /// Cancelled when the input has ended.
    pub fn ended(&self) -> CancellationToken {
        self.ended.clone()
    }

    /// The only conversation.
    pub fn place() -> Place {
        Place { chat: "terminal".to_owned(), thread: None, kind: PlaceKind::Private }
    }

    fn incoming(&self, line: &str, number: u64) -> Incoming {
        let (text, files) = match line.strip_prefix(FILE) {
            Some(rest) => {
                let (path, text) = rest.split_once(' ').unwrap_or((rest, ""));
                (text.to_owned(), vec![file_of(path)])
            }
            None => (line.to_owned(), Vec::new()),
        };
        Incoming {
            key: number.to_string(),
            // Not used: a channel has no clock.
            at: DateTime::UNIX_EPOCH,
            place: Self::place(),
            person: Some(self.person.clone()),
            what: IncomingContent::Text {
                message: number.to_string(),
                text,
                reply_to: None,
                addressed: true,
                files,
                album: None,
                quoted_author: None,
            },
        }
    }

    fn print(&self, key: &str, text: &str) -> Result<(), SendError> {
        let mut output = self.output.lock();
        if output.shown.contains(key) {
            return Ok(());
        }
        // Text of others must not contain terminal control sequences.
        let is_shown = |c: &char| !c.is_control() || matches!(c, '\n' | '\t');
        let text: String = text.chars().filter(is_shown).collect();
        writeln!(output.to, "{text}\n")
            .and_then(|()| output.to.flush())
            .map_err(|problem| SendError::Gone(problem.to_string()))?;
        output.shown.insert(key.to_owned());
        Ok(())
    }

    fn save(&self, delivery: &Delivery, name: &str) -> Result<String, SendError> {
        let bytes = delivery.bytes.as_deref().unwrap_or_default();
        let failed = |problem: std::io::Error| SendError::Rejected(problem.to_string());
        std::fs::create_dir_all(&self.folder).map_err(failed)?;
        let path = free_path(&self.folder, name, bytes);
        std::fs::write(&path, bytes).map_err(failed)?;
        Ok(format!("[saved: {}]", path.display()))
    }
}

/// The text without formatting, each link with its address.
fn plain(markdown: &str) -> String {
    let formatted = text::format(markdown);
    let units: Vec<u16> = formatted.text.encode_utf16().collect();
    let (mut shown, mut printed) = (String::new(), 0);
    for span in &formatted.spans {
        let end = span.offset + span.length;
        let label = String::from_utf16_lossy(&units[span.offset..end]);
        // An address of a mail is always shown.
        let hidden = match &span.style {
            Style::Link(url) if url.scheme() != "mailto" => url.as_str(),
            _ => continue,
        };
        if !label.contains(hidden.trim_end_matches('/')) {
            shown.push_str(&String::from_utf16_lossy(&units[printed..end]));
            shown.extend([" (", hidden, ")"]);
            printed = end;
        }
    }
    shown.push_str(&String::from_utf16_lossy(&units[printed..]));
    shown
}

fn file_of(path: &str) -> FileRef {
    let name = Path::new(path).file_name().unwrap_or_default().to_string_lossy().into_owned();
    FileRef { id: path.to_owned(), name, media_type: None, size_bytes: None, is_voice: false }
}

/// A free file name in the folder, with a number appended if a different file has the name.
fn free_path(folder: &Path, name: &str, bytes: &[u8]) -> PathBuf {
    let plain = name.rsplit(['/', '\\']).next().filter(|name| !matches!(*name, "" | "." | ".."));
    let plain = plain.unwrap_or("file");
    let mut path = folder.join(plain);
    for number in 2.. {
        if std::fs::read(&path).map_or(true, |there| there == bytes) {
            break;
        }
        path = folder.join(format!("{number}-{plain}"));
    }
    path
}

#[async_trait]
impl Channel for Terminal {
    fn id(&self) -> &str {
        &self.id
    }

    fn limits(&self) -> &Limits {
        &self.limits
    }

    /// The position is the number of lines read so far, including earlier runs, so that each line
    /// has its own key.
    async fn listen(
        &self,
        intake: Intake,
        from: Option<String>,
        stop: CancellationToken,
    ) -> Result<(), ListenError> {
        let mut number: u64 = from.and_then(|read| read.parse().ok()).unwrap_or_default();
        let mut lines = self.lines.lock().await;
        intake.report(ConnectionState::Connected);
        loop {
            let line = tokio::select! {
                line = lines.recv() => line,
                () = stop.cancelled() => return Ok(()),
            };
            let Some(line) = line else {
                self.ended.cancel();
                stop.cancelled().await;
                return Ok(());
            };
            if line.trim().is_empty() {
                continue;
            }
            number += 1;
            let incomings = vec![self.incoming(line.trim(), number)];
            intake.commit(Batch { incomings, position: Some(number.to_string()) }).await?;
        }
    }

    async fn webhook(&self, _request: &WebhookRequest) -> Result<Vec<Incoming>, WebhookError> {
        Err(WebhookError::Absent)
    }

    async fn send(&self, delivery: &Delivery) -> Result<Receipt, SendError> {
        let shown = match &delivery.what {
            Outgoing::Text { markdown, .. }
            | Outgoing::Approval { markdown, .. }
            | Outgoing::Settled { markdown, .. } => plain(markdown),
            Outgoing::File { name, caption, .. } => {
                let saved = self.save(delivery, name)?;
                let caption = caption.as_deref().map(plain);
                caption.into_iter().chain([saved]).collect::<Vec<_>>().join("\n")
            }
            Outgoing::Toast { text, .. } => text.clone(),
            Outgoing::Placeholder { .. }
            | Outgoing::Draft { .. }
            | Outgoing::Typing
            | Outgoing::Reaction { .. } => {
                return Ok(Receipt { message: delivery.key.clone() });
            }
            Outgoing::Removal => return Err(rejected("what is printed cannot be deleted")),
        };
        self.print(&delivery.key, &shown)?;
        Ok(Receipt { message: delivery.key.clone() })
    }

    async fn fetch(&self, file: &FileRef) -> Result<Bytes, SendError> {
        let read = tokio::fs::read(&file.id).await;
        read.map(Bytes::from)
            .map_err(|problem| SendError::Rejected(format!("{}: {problem}", file.id)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{io, sync::Arc};

    #[derive(Clone, Default)]
    struct Paper(Arc<Mutex<Vec<u8>>>);

    impl Write for Paper {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn terminal(lines: &[&str], folder: &Path) -> (Terminal, Paper) {
        let (paper, (typed, typing)) = (Paper::default(), mpsc::channel(9));
        for line in lines {
            typed.try_send((*line).to_owned()).expect("there is room");
        }
        (Terminal::new("terminal", "ann", typing, Box::new(paper.clone()), folder), paper)
    }

    fn delivery(key: &str, what: Outgoing) -> Delivery {
        Delivery {
            key: key.into(),
            place: Terminal::place(),
            what,
            receipt: None,
            bytes: Some(Bytes::from_static(b"bytes")),
            album: Vec::new(),
            token: None,
        }
    }

    #[tokio::test]
    async fn each_line_is_a_message_that_counts_on_from_the_last_start() {
        let (terminal, _) = terminal(&["hello", "", "/file a/b.txt what is it?"], Path::new("/"));
        let (intake, mut batches) = Intake::new();
        let stop = CancellationToken::new();
        let read = async {
            let expected = [("8", "hello", None), ("9", "what is it?", Some("b.txt"))];
            for (number, said, file) in expected {
                let (batch, committed) = batches.recv().await.expect("a line");
                assert_eq!(batch.position.as_deref(), Some(number));
                let IncomingContent::Text { text, files, .. } = &batch.incomings[0].what else {
                    panic!()
                };
                assert_eq!((text.as_str(), files.first().map(|f| f.name.as_str())), (said, file));
                committed.send(()).expect("it listens");
            }
            terminal.ended().cancelled().await;
            stop.cancel();
        };
        let listening = terminal.listen(intake, Some("7".into()), stop.clone());
        let (listened, ()) = tokio::join!(listening, read);
        listened.expect("it ends well");
    }

    #[tokio::test]
    async fn duplicates_are_dropped_and_escape_codes_removed() {
        let folder = tempfile::tempdir().expect("a folder");
        let (terminal, paper) = terminal(&[], folder.path());
        let text = Outgoing::Text { markdown: "**red** \u{1b}[31m".into(), reply_to: None };
        for _ in 0..2 {
            terminal.send(&delivery("k", text.clone())).await.expect("it prints");
        }
        let shown = String::from_utf8(paper.0.lock().clone()).expect("text");
        assert_eq!(shown, "red [31m\n\n");
    }

    #[tokio::test]
    async fn links_are_printed_with_their_addresses() {
        let folder = tempfile::tempdir().expect("a folder");
        let (terminal, paper) = terminal(&[], folder.path());
        let markdown = "👍 [**one** page](https://x.y/1), <https://x.y> and [m](mailto:a@b.c).";
        let text = Outgoing::Text { markdown: markdown.into(), reply_to: None };
        terminal.send(&delivery("k", text)).await.expect("it prints");
        let shown = String::from_utf8(paper.0.lock().clone()).expect("text");
        assert_eq!(shown, "👍 one page (https://x.y/1), https://x.y and m (a@b.c).\n\n");
    }

    /// As in a Makefile.
    #[tokio::test]
    async fn tabs_are_kept() {
        let folder = tempfile::tempdir().expect("a folder");
        let (terminal, paper) = terminal(&[], folder.path());
        let text = Outgoing::Text { markdown: "```\nall:\n\tmake\n```".into(), reply_to: None };
        terminal.send(&delivery("k", text)).await.expect("it prints");
        let shown = String::from_utf8(paper.0.lock().clone()).expect("text");
        assert_eq!(shown, "all:\n\tmake\n\n");
    }

    #[tokio::test]
    async fn a_file_is_saved_beneath_the_folder_whatever_it_is_called() {
        let folder = tempfile::tempdir().expect("a folder");
        let (terminal, paper) = terminal(&[], folder.path());
        std::fs::write(folder.path().join("a.txt"), "mine").expect("writable");
        for (key, name) in [("1", "a.txt"), ("2", "../../a.txt"), ("3", "..")] {
            let what = Outgoing::File {
                name: name.into(),
                media_type: "text/plain".into(),
                size_bytes: 5,
                digest: String::new(),
                caption: None,
                reply_to: None,
            };
            terminal.send(&delivery(key, what)).await.expect("it saves");
        }
        let shown = String::from_utf8(paper.0.lock().clone()).expect("text");
        assert!(shown.contains("2-a.txt]") && shown.contains("/file]"), "{shown}");
        let mine = std::fs::read_to_string(folder.path().join("a.txt")).expect("there");
        assert_eq!(mine, "mine", "nothing is written over");
    }
}
