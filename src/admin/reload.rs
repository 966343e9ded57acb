//! Requests to reload the configuration, carried out by the main loop of the gateway.

use anyhow::{Context as _, Result, anyhow};
use tokio::sync::{mpsc, oneshot};

use super::Admin;
use crate::store::audit::Fact;

/// A request to reload the configuration.
#[derive(Debug)]
pub struct Reload {
    /// The audit record of the person who applies it; `None` only asks what would change.
    pub fact: Option<Fact>,
    /// The changes, one per line, or why there are none.
    pub answer: oneshot::Sender<Result<Vec<String>>>,
}

/// The channel for reload requests.
pub type Reloads = mpsc::Sender<Reload>;

/// Requests a reload and waits for its result.
pub async fn ask(admin: &Admin, fact: Option<Fact>) -> Result<Vec<String>> {
    let nobody = || anyhow!("this process cannot reload its configuration");
    let (answer, answered) = oneshot::channel();
    let reloads = admin.reloads.as_ref().with_context(nobody)?;
    reloads.send(Reload { fact, answer }).await.map_err(|_| nobody())?;
    answered.await.map_err(|_| nobody())?
}
