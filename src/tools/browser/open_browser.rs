//! One running browser: its process, its connection, and its active tab.

use sandbox::run::Stream;
use serde_json::{Value, json};
use std::{path::Path, process::Stdio, time::Duration};
use tempfile::TempDir;
use tokio::{
    io::BufReader,
    process::Child,
    sync::{OwnedSemaphorePermit, watch},
    task::JoinSet,
    time::timeout,
};
use url::Url;

use super::{
    BrowserSettings,
    connection::{self, CdpRequest, Connection},
    page_element::References,
    process,
    proxy::BrowserProxy,
    state::{SharedState, Tab},
};
use crate::tools::ToolError;

const START_FOR: Duration = Duration::from_secs(30);
/// How long a result waits for the page to load. A page that goes on loading is shown as it is.
const LOAD_FOR: Duration = Duration::from_secs(10);
/// How long it takes until a page that reacts to an input begins to load.
const REACT_FOR: Duration = Duration::from_millis(300);
/// How long the process may take to end when it is killed.
const END_FOR: Duration = Duration::from_secs(5);
/// The space that a message needs in addition to the page in it, which is escaped.
const MESSAGE_FACTOR: usize = 4;
/// A message of this size is always accepted: a screenshot, or a small page.
const MIN_MESSAGE_BYTES: usize = 16 * 1024 * 1024;

/// A browser of one conversation. Dropping it kills its processes.
pub struct OpenBrowser {
    connection: Connection,
    pub state: SharedState,
    /// The elements of the last snapshot.
    pub references: References,
    child: Child,
    /// The end of what the process wrote to its standard error, once it has ended.
    complaint: watch::Receiver<String>,
    /// Serve the pipes and the proxy. Dropping them ends them.
    _tasks: JoinSet<()>,
    /// The socket of the proxy, and the files on their way to and from the workspace.
    folder: TempDir,
    /// Counts it among the open browsers.
    _permit: OwnedSemaphorePermit,
}

impl OpenBrowser {
    /// Starts a browser with one empty tab.
    pub async fn start(
        settings: &BrowserSettings,
        permit: OwnedSemaphorePermit,
    ) -> Result<Self, ToolError> {
        let failed = |problem: std::io::Error| {
            ToolError::Sandbox(format!("the browser cannot be started: {problem}"))
        };
        let folder = tempfile::tempdir().map_err(failed)?;
        for transfer in [process::downloads(folder.path()), process::uploads(folder.path())] {
            std::fs::create_dir(&transfer).map_err(failed)?;
        }
        let state = SharedState::default();
        let socket = process::socket(folder.path());
        let proxy = BrowserProxy::open(&socket, settings.web_client.clone(), state.clone())?;
        let mut command = process::command(settings, folder.path())?;
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.process_group(0).kill_on_drop(true).spawn().map_err(failed)?;
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(connection::ended());
        };
        let limit = (settings.page_bytes * MESSAGE_FACTOR).max(MIN_MESSAGE_BYTES);
        let (connection, ends) = Connection::new(limit);
        let (events, mut tasks) = (state.clone(), JoinSet::new());
        let handler = Box::new(move |event| events.handle(&event));
        tasks.spawn(async move {
            connection::serve(ends, BufReader::new(stdout), stdin, handler).await;
        });
        tasks.spawn(async move { match proxy.serve().await {} });
        let (says, complaint) = watch::channel(String::new());
        let stderr = child.stderr.take();
        tasks.spawn(async move {
            let mut said = Stream::keeping(0);
            said.fill(stderr).await;
            says.send_replace(last_words(&said));
        });
        let references = References::default();
        let browser = Self {
            connection,
            state,
            references,
            child,
            complaint,
            _tasks: tasks,
            folder,
            _permit: permit,
        };
        match timeout(START_FOR, browser.prepare()).await {
            Ok(Ok(())) => Ok(browser),
            Ok(Err(error)) => Err(browser.explained(error).await),
            Err(_) => Err(ToolError::Timeout(START_FOR)),
        }
    }

    async fn prepare(&self) -> Result<(), ToolError> {
        let pages = json!([{ "type": "page" }]);
        let attach = json!({
            "autoAttach": true, "waitForDebuggerOnStart": true, "flatten": true, "filter": &pages,
        });
        self.on_browser("Target.setAutoAttach", attach).await?;
        // Says when a page has crashed, and why.
        let discover = json!({ "discover": true, "filter": pages });
        self.on_browser("Target.setDiscoverTargets", discover).await?;
        self.refuse_downloads().await?;
        if !self.state.wait(START_FOR, |state| state.active.is_some()).await {
            return Err(connection::ended());
        }
        Ok(())
    }

    /// Downloads that no call waits for are refused.
    pub async fn refuse_downloads(&self) -> Result<(), ToolError> {
        let denied = json!({ "behavior": "deny", "eventsEnabled": true });
        self.on_browser("Browser.setDownloadBehavior", denied).await.map(drop)
    }

    /// Whether the process has ended.
    pub fn has_ended(&self) -> bool {
        self.connection.is_closed()
    }

    /// Kills the processes and waits until they have ended.
    pub async fn close(mut self) {
        let _ = timeout(END_FOR, self.child.kill()).await;
    }

    /// The error of a call, with the reason if the process has ended.
    pub async fn explained(&self, error: ToolError) -> ToolError {
        if !self.has_ended() {
            return error;
        }
        let mut complaint = self.complaint.clone();
        let said = timeout(END_FOR, complaint.wait_for(|said| !said.is_empty())).await;
        let why = said.ok().and_then(Result::ok).map(|said| said.clone());
        match why {
            Some(why) => {
                ToolError::ExecutionFailed(format!("{}. It said: {why}", connection::ended()))
            }
            None => connection::ended(),
        }
    }

    /// The folder for its files, outside the sandbox.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// A request to the browser itself.
    pub async fn on_browser(
        &self,
        method: &'static str,
        params: Value,
    ) -> Result<Value, ToolError> {
        self.connection.call(CdpRequest { method, params, session: None }).await
    }

    /// A request to the active tab.
    pub async fn call(&self, method: &'static str, params: Value) -> Result<Value, ToolError> {
        let session = Some(self.tab()?.session);
        self.connection.call(CdpRequest { method, params, session }).await
    }

    /// The active tab.
    pub fn tab(&self) -> Result<Tab, ToolError> {
        self.state.active().ok_or_else(|| {
            ToolError::ExecutionFailed("No tab is open: navigate to a page first".into())
        })
    }

    /// Opens an address in the active tab. If the page there crashes meanwhile, it is opened once
    /// more in another tab. Chromium 156 does so now and then on a busy machine: while a navigation
    /// commits and DevTools detaches from the replaced frame, the page follows a null pointer.
    pub async fn navigate(&self, url: &Url) -> Result<(), ToolError> {
        self.ensure_tab().await?;
        match self.navigate_once(url).await {
            Err(_) if self.state.active().is_none() && !self.has_ended() => {
                self.ensure_tab().await?;
                self.navigate_once(url).await
            }
            navigated => navigated,
        }
    }

    /// Opens an empty tab if the last one has closed itself or has crashed.
    async fn ensure_tab(&self) -> Result<(), ToolError> {
        if self.state.active().is_some() {
            return Ok(());
        }
        self.on_browser("Target.createTarget", json!({ "url": "about:blank" })).await?;
        self.state.wait(REACT_FOR.saturating_mul(10), |state| state.active.is_some()).await;
        self.tab().map(drop)
    }

    async fn navigate_once(&self, url: &Url) -> Result<(), ToolError> {
        let params = json!({ "url": url.as_str() });
        let answer = match self.call("Page.navigate", params).await {
            Err(ToolError::Timeout(limit)) if !self.has_ended() => {
                self.call("Page.stopLoading", json!({})).await?;
                return Err(ToolError::ExecutionFailed(format!(
                    "{url} did not answer within {} s",
                    limit.as_secs()
                )));
            }
            answer => answer?,
        };
        self.settle().await;
        if answer["isDownload"] == true {
            return Err(ToolError::ExecutionFailed(format!(
                "{url} is a file, not a page. Use web_fetch to save it, or download with an \
                 element that leads to it"
            )));
        }
        match answer["errorText"].as_str() {
            None => Ok(()),
            Some(why) => Err(ToolError::ExecutionFailed(format!("{url} cannot be opened: {why}"))),
        }
    }

    /// Waits until the page has reacted to an input and has loaded, if it does within a limit.
    pub async fn settle(&self) {
        self.state.wait(REACT_FOR, super::state::BrowserState::is_loading).await;
        self.state.wait(LOAD_FOR, |state| !state.is_loading()).await;
    }

    /// Goes back one page in the history of the tab.
    pub async fn back(&self) -> Result<(), ToolError> {
        let history = self.call("Page.getNavigationHistory", json!({})).await?;
        let current = history["currentIndex"].as_u64().unwrap_or_default() as usize;
        let entry = current.checked_sub(1).map(|before| &history["entries"][before]);
        let Some(entry) = entry.filter(|entry| entry["url"] != "about:blank") else {
            return Err(ToolError::ExecutionFailed("There is no page to go back to".into()));
        };
        self.call("Page.navigateToHistoryEntry", json!({ "entryId": entry["id"] })).await?;
        self.settle().await;
        Ok(())
    }
}

/// The last line that says why the process has ended.
fn last_words(said: &Stream) -> String {
    let end = String::from_utf8_lossy(&said.tail).into_owned();
    let lines = || end.lines().map(str::trim).filter(|line| !line.is_empty());
    let killed = lines().find(|line| line.starts_with("Killed:"));
    killed.or_else(|| lines().next_back()).unwrap_or("nothing").to_owned()
}
