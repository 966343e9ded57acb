//! The connection to Chromium: requests and events of the DevTools protocol over two pipes. Each
//! message is JSON, followed by a NUL byte.

use parking_lot::Mutex;
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};
use tokio::{
    io::{AsyncBufRead, AsyncBufReadExt as _, AsyncWrite, AsyncWriteExt as _},
    sync::{mpsc, oneshot},
    time::timeout,
};

use crate::tools::ToolError;

/// How long Chromium may take to answer a request. A page that blocks its process does not answer.
const ANSWER_FOR: Duration = Duration::from_secs(20);
/// The maximum number of requests that have not been written.
const UNWRITTEN: usize = 64;
/// The part of a message that is kept if the message is too large. It contains the id.
const PREFIX_BYTES: usize = 64;

/// A request of the protocol.
#[derive(Debug)]
pub struct CdpRequest {
    pub method: &'static str,
    pub params: Value,
    /// The session of a tab; `None` for the browser itself.
    pub session: Option<String>,
}

/// An event of the protocol.
#[derive(Debug)]
pub struct CdpEvent {
    pub method: String,
    pub params: Value,
    pub session: Option<String>,
}

/// Takes an event. Returns requests whose answers are not needed.
pub type EventSink = Box<dyn FnMut(CdpEvent) -> Vec<CdpRequest> + Send>;

/// Sends requests. The answers are read by [`serve`].
#[derive(Clone)]
pub struct Connection {
    requests: mpsc::Sender<String>,
    answers: Arc<Mutex<Answers>>,
    next_id: Arc<AtomicU64>,
}

#[derive(Default)]
struct Answers {
    waiting: BTreeMap<u64, Caller>,
    is_closed: bool,
}

/// A call that waits for its answer.
struct Caller {
    session: Option<String>,
    answer: oneshot::Sender<Result<Value, CdpError>>,
}

#[derive(Debug)]
enum CdpError {
    Refused(String),
    TooLarge,
    TabClosed,
}

/// The other ends of a connection, to be served.
pub struct CdpEnds {
    unwritten: mpsc::Receiver<String>,
    connection: Connection,
    /// The maximum size of a message. Larger ones are discarded while they are read.
    max_bytes: usize,
}

impl Connection {
    pub fn new(max_bytes: usize) -> (Self, CdpEnds) {
        let (requests, unwritten) = mpsc::channel(UNWRITTEN);
        let connection = Self { requests, answers: Arc::default(), next_id: Arc::default() };
        (connection.clone(), CdpEnds { unwritten, connection, max_bytes })
    }

    /// Sends a request and waits for its answer.
    pub async fn call(&self, request: CdpRequest) -> Result<Value, ToolError> {
        let (method, session) = (request.method, request.session.clone());
        let (id, text) = self.numbered(request);
        let waiting = Waiting { id, answers: &self.answers };
        let answer = {
            let (sender, answer) = oneshot::channel();
            let mut answers = lock(&self.answers);
            if answers.is_closed {
                return Err(ended());
            }
            answers.waiting.insert(id, Caller { session, answer: sender });
            answer
        };
        let exchange = async {
            self.requests.send(text).await.map_err(|_| ended())?;
            answer.await.map_err(|_| ended())
        };
        let answer = timeout(ANSWER_FOR, exchange).await;
        drop(waiting);
        let silent = || ToolError::Timeout(ANSWER_FOR);
        answer.map_err(|_| silent())??.map_err(|error| match error {
            CdpError::Refused(why) => ToolError::ExecutionFailed(format!("{method}: {why}")),
            CdpError::TooLarge => too_large(),
            CdpError::TabClosed => ToolError::ExecutionFailed(
                "The tab was closed, or its page has crashed, while it was used".into(),
            ),
        })
    }

    /// Whether Chromium has ended or closed the connection.
    pub fn is_closed(&self) -> bool {
        lock(&self.answers).is_closed
    }

    fn numbered(&self, request: CdpRequest) -> (u64, String) {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed) + 1;
        let mut message = json!({ "id": id, "method": request.method, "params": request.params });
        if let Some(session) = request.session {
            message["sessionId"] = session.into();
        }
        (id, message.to_string())
    }

    fn settle(&self, id: u64, answer: Result<Value, CdpError>) {
        if let Some(waiting) = lock(&self.answers).waiting.remove(&id) {
            // The caller may have given up.
            let _ = waiting.answer.send(answer);
        }
    }

    /// A tab that has closed or crashed does not answer any more.
    fn lose(&self, session: &str) {
        let lost: Vec<_> = lock(&self.answers)
            .waiting
            .extract_if(.., |_, caller| caller.session.as_deref() == Some(session))
            .collect();
        for (_, caller) in lost {
            let _ = caller.answer.send(Err(CdpError::TabClosed));
        }
    }

    fn close(&self) {
        let mut answers = lock(&self.answers);
        answers.is_closed = true;
        answers.waiting.clear();
    }
}

/// A request that is no longer waited for when this is dropped.
struct Waiting<'a> {
    id: u64,
    answers: &'a Mutex<Answers>,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        lock(self.answers).waiting.remove(&self.id);
    }
}

fn lock(answers: &Mutex<Answers>) -> parking_lot::MutexGuard<'_, Answers> {
    answers.lock()
}

/// The error of a call whose answer is larger than a message may be.
pub fn too_large() -> ToolError {
    ToolError::ExecutionFailed(
        "The page is too large for the browser tool (browser.max_page_mb)".into(),
    )
}

/// The error of a call whose browser has ended.
pub fn ended() -> ToolError {
    ToolError::ExecutionFailed(
        "The browser has ended unexpectedly. Navigate to the page again to start a new one".into(),
    )
}

/// Writes requests and reads answers and events until a pipe is closed.
pub async fn serve(
    ends: CdpEnds,
    from: impl AsyncBufRead + Unpin,
    to: impl AsyncWrite + Unpin,
    handler: EventSink,
) {
    let CdpEnds { unwritten, connection, max_bytes } = ends;
    tokio::select! {
        () = write(unwritten, to) => {}
        () = read(from, &connection, max_bytes, handler) => {}
    }
    connection.close();
}

async fn write(mut unwritten: mpsc::Receiver<String>, mut to: impl AsyncWrite + Unpin) {
    while let Some(message) = unwritten.recv().await {
        let mut bytes = message.into_bytes();
        bytes.push(0);
        if to.write_all(&bytes).await.is_err() || to.flush().await.is_err() {
            return;
        }
    }
}

async fn read(
    mut from: impl AsyncBufRead + Unpin,
    connection: &Connection,
    max_bytes: usize,
    mut handler: EventSink,
) {
    while let Some(message) = message(&mut from, max_bytes).await {
        let Some(event) = take(connection, message) else { continue };
        let lost = match event.method.as_str() {
            "Target.detachedFromTarget" => event.params["sessionId"].as_str(),
            "Inspector.targetCrashed" => event.session.as_deref(),
            _ => None,
        };
        lost.inspect(|session| connection.lose(session));
        for request in handler(event) {
            let (_, text) = connection.numbered(request);
            // Waiting here for the writer could block both directions.
            if connection.requests.try_send(text).is_err() {
                return;
            }
        }
    }
}

/// Passes an answer to its caller. Returns an event.
fn take(connection: &Connection, message: Message) -> Option<CdpEvent> {
    let bytes = match message {
        Message::Whole(bytes) => bytes,
        Message::TooLarge { prefix } => {
            if let Some(id) = leading_id(&prefix) {
                connection.settle(id, Err(CdpError::TooLarge));
            }
            return None;
        }
    };
    let mut message: Value = serde_json::from_slice(&bytes).ok()?;
    if let Some(id) = message["id"].as_u64() {
        let refused = message["error"]["message"].as_str().map(str::to_owned);
        let answer = match refused {
            Some(why) => Err(CdpError::Refused(why)),
            None => Ok(message["result"].take()),
        };
        connection.settle(id, answer);
        return None;
    }
    Some(CdpEvent {
        method: message["method"].as_str()?.to_owned(),
        params: message["params"].take(),
        session: message["sessionId"].as_str().map(str::to_owned),
    })
}

enum Message {
    Whole(Vec<u8>),
    TooLarge { prefix: Vec<u8> },
}

/// The next message; `None` at the end of the stream.
async fn message(from: &mut (impl AsyncBufRead + Unpin), max_bytes: usize) -> Option<Message> {
    let (mut bytes, mut is_cut) = (Vec::new(), false);
    loop {
        let there = from.fill_buf().await.ok().filter(|there| !there.is_empty())?;
        let end = there.iter().position(|byte| *byte == 0);
        let part = &there[..end.unwrap_or(there.len())];
        is_cut |= bytes.len() + part.len() > max_bytes;
        if is_cut {
            let missing = PREFIX_BYTES.saturating_sub(bytes.len()).min(part.len());
            bytes.extend_from_slice(&part[..missing]);
            bytes.truncate(PREFIX_BYTES);
        } else {
            bytes.extend_from_slice(part);
        }
        let read = part.len() + usize::from(end.is_some());
        from.consume(read);
        if end.is_some() {
            let whole = |bytes| Message::Whole(bytes);
            return Some(if is_cut { Message::TooLarge { prefix: bytes } } else { whole(bytes) });
        }
    }
}

/// The id of an answer, which begins with `{"id":7,`.
fn leading_id(prefix: &[u8]) -> Option<u64> {
    let text = String::from_utf8_lossy(prefix);
    let digits = text.strip_prefix("{\"id\":")?;
    digits.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::BufReader;

    fn request(method: &'static str) -> CdpRequest {
        CdpRequest { method, params: json!({}), session: None }
    }

    /// Answers with what `answer` makes of each message.
    async fn with_browser(
        max_bytes: usize,
        answer: impl Fn(Value) -> String,
        test: impl AsyncFnOnce(&Connection),
    ) {
        let (connection, ends) = Connection::new(max_bytes);
        let (ours, theirs) = tokio::io::duplex(1 << 20);
        let (from, to) = tokio::io::split(ours);
        let (requests, mut answers) = tokio::io::split(theirs);
        let browser = async {
            let mut requests = BufReader::new(requests);
            let mut message = Vec::new();
            while requests.read_until(0, &mut message).await.is_ok_and(|read| read > 0) {
                message.pop();
                let mut answer = answer(serde_json::from_slice(&message).unwrap());
                answer.push('\0');
                message.clear();
                if answers.write_all(answer.as_bytes()).await.is_err() {
                    break;
                }
            }
        };
        let handler = Box::new(|_| Vec::new());
        tokio::select! {
            () = test(&connection) => {}
            () = async { tokio::join!(serve(ends, BufReader::new(from), to, handler), browser); } => {}
        }
    }

    /// A message that is too large is discarded, and only its request fails.
    #[tokio::test]
    async fn a_message_that_is_too_large_fails_its_request_only() {
        let answer = |message: Value| {
            let size = if message["method"] == "large" { 5_000 } else { 5 };
            json!({ "id": message["id"], "result": "x".repeat(size) }).to_string()
        };
        with_browser(1_000, answer, async |connection| {
            let error = connection.call(request("large")).await.unwrap_err();
            assert!(error.to_string().contains("too large"), "{error}");
            assert_eq!(connection.call(request("small")).await, Ok(json!("xxxxx")));
            assert!(lock(&connection.answers).waiting.is_empty());
        })
        .await;
    }

    #[tokio::test]
    async fn an_error_names_the_request() {
        let answer = |message: Value| {
            json!({ "id": message["id"], "error": { "message": "no such node" } }).to_string()
        };
        with_browser(1_000, answer, async |connection| {
            let error = connection.call(request("DOM.focus")).await.unwrap_err();
            assert_eq!(error.to_string(), "DOM.focus: no such node");
        })
        .await;
    }

    /// A browser that has ended fails the calls that wait and all later ones.
    #[tokio::test]
    async fn calls_fail_when_the_browser_has_ended() {
        let (connection, ends) = Connection::new(1_000);
        let handler = Box::new(|_| Vec::new());
        let served = serve(ends, BufReader::new(tokio::io::empty()), tokio::io::sink(), handler);
        let (called, ()) = tokio::join!(connection.call(request("x")), served);
        assert_eq!(called, Err(ended()));
        assert_eq!(connection.call(request("x")).await, Err(ended()));
        assert!(connection.is_closed());
    }
}
