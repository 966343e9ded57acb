//! The browser: `browser_use` and `browser_open`, with Chromium in the sandbox.
//!
//! The client of the DevTools protocol is our own and small: `chromiumoxide` brings generated types
//! for the whole protocol, which take minutes to compile, for about thirty methods, and it speaks
//! over a port of the machine, which other programs could open. Here, the protocol is spoken over
//! the pipes of the process.
//!
//! - [`process`]: starts Chromium; [`proxy`]: its network access
//! - [`connection`]: requests and events; [`state`]: tabs, dialogs and downloads, from events
//! - [`open_browser`]: one browser and its page; [`snapshot`]: the page as text, from its
//!   `accessibility_tree`; [`page_element`]: its elements; [`extract`]: Markdown and pictures
//! - [`actions`]: inputs; [`transfer`]: downloads and uploads
//! - [`browsers`]: the browsers of all conversations, and their limits
//! - [`browser_use`], [`browser_open`]: the tools; [`arguments`]: what a call asks for

mod accessibility_tree;
pub mod actions;
pub mod arguments;
pub mod browser_open;
pub mod browser_use;
pub mod browsers;
pub mod connection;
pub mod extract;
pub mod open_browser;
pub mod page_element;
pub mod process;
pub mod proxy;
pub mod snapshot;
pub mod state;
pub mod transfer;

use sandbox::Sandbox;
use std::{path::PathBuf, sync::Arc, time::Duration};
use tokio::sync::Semaphore;

use super::{Tool, ToolError, web::client::WebClient};
use browsers::Browsers;
use open_browser::OpenBrowser;

/// The operator's settings for the browser.
pub struct BrowserSettings {
    /// The program; by default, the one that the distribution installs.
    pub program: Option<PathBuf>,
    pub sandbox: Arc<Sandbox>,
    pub web_client: WebClient,
    /// How long a browser stays open without being used.
    pub idle_for: Duration,
    /// The maximum number of open browsers.
    pub max_open: usize,
    /// The maximum memory of one browser.
    pub memory_bytes: u64,
    /// The maximum size of a page.
    pub page_bytes: usize,
    /// The maximum size of a file that is downloaded or uploaded.
    pub download_bytes: u64,
    /// Whether a model can see pictures.
    pub shows_pictures: bool,
}

impl BrowserSettings {
    /// Why there is no browser, if there is none.
    pub fn unavailable(&self) -> Option<String> {
        let sandbox = self.sandbox.missing().map(str::to_owned);
        sandbox.or_else(|| process::installed(self.program.as_deref()).err())
    }

    /// Starts a browser and closes it. Returns its name and version.
    pub async fn probe(&self) -> Result<String, ToolError> {
        let room = Arc::new(Semaphore::new(1)).try_acquire_owned();
        let room = room.map_err(|_| connection::ended())?;
        let browser = OpenBrowser::start(self, room).await?;
        let version = browser.on_browser("Browser.getVersion", serde_json::json!({})).await;
        browser.close().await;
        Ok(version?["product"].as_str().unwrap_or("unknown version").to_owned())
    }
}

/// The tools that share the browsers.
pub fn tools(settings: BrowserSettings) -> Vec<Arc<dyn Tool>> {
    let browsers = Browsers::new(settings);
    vec![
        Arc::new(browser_use::BrowserUse { browsers: browsers.clone() }),
        Arc::new(browser_open::BrowserOpen { browsers }),
    ]
}
