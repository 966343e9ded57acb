//! Downloads to the workspace and uploads from it.
//!
//! A file passes through a folder that the browser and the gateway share. Chromium gives a download
//! a random name there, and the name that the page suggests is used in the workspace only, after
//! the same checks as any other name.

use serde_json::json;
use std::{io::Read as _, time::Duration};

use super::{
    open_browser::OpenBrowser,
    page_element::PageElement,
    process::{self, DOWNLOADS, UPLOADS},
    state::{Download, DownloadStatus},
};
use crate::tools::{
    Context, ToolError,
    workspace::{self, file_names},
};

/// How long the page may take to begin a download, or to ask for a file.
const BEGIN_FOR: Duration = Duration::from_secs(10);
/// How long a download may take.
const DOWNLOAD_FOR: Duration = Duration::from_secs(30);

/// A file in the workspace.
pub struct SavedFile {
    pub path: String,
    pub size: String,
}

impl OpenBrowser {
    /// Clicks the element and saves the file that the page then sends.
    pub async fn download(
        &self,
        element: &PageElement,
        limit_bytes: u64,
        context: &Context,
    ) -> Result<SavedFile, ToolError> {
        let allowed = json!({
            "behavior": "allowAndName", "downloadPath": DOWNLOADS, "eventsEnabled": true,
        });
        self.state.change(|state| {
            state.download = Some(Download { limit_bytes, ..Download::default() });
        });
        self.on_browser("Browser.setDownloadBehavior", allowed).await?;
        let downloaded = self.downloaded(element).await;
        let ended = self.state.read(|state| state.download.clone());
        let bytes = match downloaded {
            Ok(()) => self.received(ended.as_ref(), limit_bytes),
            Err(error) => Err(error),
        };
        self.end_download().await?;
        let name = ended.map(|download| download.suggested_name).unwrap_or_default();
        keep(&name, "download", bytes?, context).await
    }

    async fn downloaded(&self, element: &PageElement) -> Result<(), ToolError> {
        self.click(element).await?;
        let begun = self.state.wait(BEGIN_FOR, |state| {
            state.download.as_ref().is_none_or(|download| download.guid.is_some())
        });
        if !begun.await {
            return Err(ToolError::ExecutionFailed(
                "The element was clicked, but the page sent no file: take a new snapshot".into(),
            ));
        }
        let ended = self.state.wait(DOWNLOAD_FOR, |state| {
            let status = state.download.as_ref().map(|download| download.status);
            status != Some(DownloadStatus::Running)
        });
        if ended.await {
            return Ok(());
        }
        let guid = self.state.read(|state| state.download.as_ref()?.guid.clone());
        self.on_browser("Browser.cancelDownload", json!({ "guid": guid })).await?;
        Err(ToolError::Timeout(DOWNLOAD_FOR))
    }

    fn received(
        &self,
        download: Option<&Download>,
        limit_bytes: u64,
    ) -> Result<Vec<u8>, ToolError> {
        let failed = |why: String| ToolError::ExecutionFailed(why);
        let too_large = || {
            let limit = file_names::size(limit_bytes);
            failed(format!("The file is larger than {limit}, the limit for a download"))
        };
        let Some(download) = download else { return Err(super::connection::ended()) };
        match download.status {
            DownloadStatus::Completed => {}
            DownloadStatus::TooLarge => return Err(too_large()),
            DownloadStatus::Running | DownloadStatus::Canceled => {
                return Err(failed("The download was interrupted: try again".into()));
            }
        }
        // The browser chose this name. It must not lead out of the folder.
        let guid = download.guid.clone().unwrap_or_default();
        if guid.is_empty() || !guid.chars().all(|c| c.is_ascii_alphanumeric() || c == '-') {
            return Err(super::connection::ended());
        }
        let mut bytes = Vec::new();
        let open = rustix::fs::open(
            process::downloads(self.folder()).join(guid),
            rustix::fs::OFlags::RDONLY
                | rustix::fs::OFlags::NOFOLLOW
                | rustix::fs::OFlags::NONBLOCK,
            rustix::fs::Mode::empty(),
        );
        let open = open.map_err(|problem| failed(format!("The file is missing: {problem}")))?;
        std::fs::File::from(open)
            .take(limit_bytes + 1)
            .read_to_end(&mut bytes)
            .map_err(|problem| failed(format!("The file cannot be read: {problem}")))?;
        if bytes.len() as u64 > limit_bytes { Err(too_large()) } else { Ok(bytes) }
    }

    /// Clicks the element and gives a file of the workspace to the page that asks for one.
    pub async fn upload(
        &self,
        element: &PageElement,
        path: &str,
        bytes: Vec<u8>,
    ) -> Result<(), ToolError> {
        let name = path.rsplit('/').next().unwrap_or(path).to_owned();
        // Each upload has a folder of its own: pages may read the file later.
        let folder = uuid::Uuid::new_v4().simple().to_string();
        let outside = process::uploads(self.folder()).join(&folder);
        std::fs::create_dir(&outside)
            .and_then(|()| std::fs::write(outside.join(&name), bytes))
            .map_err(|problem| {
                ToolError::ExecutionFailed(format!("The file cannot be handed over: {problem}"))
            })?;
        let session = self.tab()?.session;
        let of_tab = |state: &mut super::state::BrowserState,
                      change: &dyn Fn(&mut super::state::Tab)| {
            state.tabs.iter_mut().filter(|tab| tab.session == session).for_each(change);
        };
        self.state.change(|state| of_tab(state, &|tab| tab.chooser = None));
        self.click(element).await?;
        let asked = self
            .state
            .wait(BEGIN_FOR, |state| state.active_tab().is_none_or(|tab| tab.chooser.is_some()));
        let input = if asked.await { self.tab()?.chooser } else { None };
        let Some(input) = input else {
            return Err(ToolError::ExecutionFailed(
                "The element was clicked, but the page did not ask for a file".into(),
            ));
        };
        let files = json!([format!("{UPLOADS}/{folder}/{name}")]);
        let params = json!({ "files": files, "backendNodeId": input });
        self.call("DOM.setFileInputFiles", params).await.map(drop)
    }

    /// Ends a download, so that nothing is left for the next call. The call that began it may have
    /// been stopped.
    pub async fn end_download(&self) -> Result<(), ToolError> {
        if self.state.read(|state| state.download.is_none()) {
            return Ok(());
        }
        self.state.change(|state| state.download = None);
        self.refuse_downloads().await?;
        let files = std::fs::read_dir(process::downloads(self.folder()));
        for file in files.into_iter().flatten().flatten() {
            // The folder is removed with the browser in any case.
            let _ = std::fs::remove_file(file.path());
        }
        Ok(())
    }
}

/// Stores bytes in the workspace, in a folder of the call.
pub async fn keep(
    suggested: &str,
    otherwise: &str,
    bytes: Vec<u8>,
    context: &Context,
) -> Result<SavedFile, ToolError> {
    let last = suggested.rsplit(['/', '\\']).next().unwrap_or_default();
    let name = file_names::file_name(last).or_else(|_| file_names::file_name(otherwise))?;
    let folder: String =
        context.call.as_str().chars().filter(char::is_ascii_alphanumeric).collect();
    let path = format!("downloads/{folder}/{name}");
    let (kept, size) = (path.clone(), file_names::size(bytes.len() as u64));
    workspace::beneath(context, move |workspace, cancelled| {
        workspace.replace(&kept, &bytes, cancelled)
    })
    .await?;
    Ok(SavedFile { path, size })
}
