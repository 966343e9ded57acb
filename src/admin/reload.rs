//! Requests to the main loop of the program: reload the configuration, change its file, check the
//! installation.

use anyhow::{Context as _, Result};
use serde::Serialize;
use tokio::sync::{mpsc, oneshot};

use super::{
    Admin,
    settings_file::{EntryChange, FileAction, FileChange, FileRequest, FileView},
};
use crate::{store::audit::Fact, texts::SettingsError};

/// A request to the main loop.
#[derive(Debug)]
pub enum ProgramRequest {
    Reload(Reload),
    /// Boxed, because it contains a whole form.
    File(Box<FileRequest>),
    Check(CheckRequest),
}

/// A request to reload the configuration.
#[derive(Debug)]
pub struct Reload {
    /// The audit record of the person who applies it; `None` only asks what would change.
    pub fact: Option<Fact>,
    /// The changes, one per line, or why there are none.
    pub answer: oneshot::Sender<Result<Vec<String>>>,
}

/// A request to run the checks of `countersign doctor`.
#[derive(Debug)]
pub struct CheckRequest {
    pub extent: CheckExtent,
    pub answer: oneshot::Sender<Result<Vec<CheckResult>>>,
}

/// Whether a check contacts models, platforms and MCP servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CheckExtent {
    Local,
    Live,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum CheckStatus {
    #[serde(rename = "ok")]
    Fine,
    #[serde(rename = "warning")]
    Warning,
    #[serde(rename = "failed")]
    Fault,
}

/// The result of a check.
#[derive(Debug, Clone, Serialize)]
pub struct CheckResult {
    pub check: String,
    pub found: CheckStatus,
    pub says: String,
}

/// The channel for these requests.
pub type Requests = mpsc::Sender<ProgramRequest>;

/// Requests a reload and waits for its result.
pub async fn ask(admin: &Admin, fact: Option<Fact>) -> Result<Vec<String>> {
    request(admin, |answer| ProgramRequest::Reload(Reload { fact, answer })).await
}

/// Runs the checks of `countersign doctor`, without secrets in the results.
pub async fn check(admin: &Admin, extent: CheckExtent) -> Result<Vec<CheckResult>> {
    request(admin, |answer| ProgramRequest::Check(CheckRequest { extent, answer })).await
}

/// Requests the configuration file, as far as it can be changed.
pub async fn view_file(admin: &Admin) -> Result<FileView> {
    request(admin, |answer| ProgramRequest::File(Box::new(FileRequest::View { answer }))).await
}

/// Carries out the action. An error says why the result would be invalid; then nothing changes.
pub async fn change_file(
    admin: &Admin,
    change: EntryChange,
    action: FileAction,
) -> Result<FileChange> {
    let change = Box::new(change);
    let wrap =
        |answer| ProgramRequest::File(Box::new(FileRequest::Change { change, action, answer }));
    request(admin, wrap).await
}

/// Sends a request and waits for its answer.
async fn request<T>(
    admin: &Admin,
    request: impl FnOnce(oneshot::Sender<Result<T>>) -> ProgramRequest,
) -> Result<T> {
    let (answer, answered) = oneshot::channel();
    let requests = admin.requests.as_ref().context(SettingsError::NoFileAccess)?;
    requests.send(request(answer)).await.map_err(|_| SettingsError::NoFileAccess)?;
    answered.await.map_err(|_| SettingsError::NoFileAccess)?
}
