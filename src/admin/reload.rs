//! The configuration is read again: asked for here, done by whoever runs the gateway.

use anyhow::{Context as _, Result, anyhow};
use tokio::sync::{mpsc, oneshot};

use super::Admin;
use crate::store::audit::Fact;

/// To read the configuration again.
#[derive(Debug)]
pub struct Reload {
    /// For the audit, of who applies it; `None` only asks what would change.
    pub fact: Option<Fact>,
    /// What changes, a line each, or why nothing does.
    pub answer: oneshot::Sender<Result<Vec<String>>>,
}

/// Where whoever runs the gateway is asked.
pub type Reloads = mpsc::Sender<Reload>;

/// Asks, and waits for what came of it.
pub async fn ask(admin: &Admin, fact: Option<Fact>) -> Result<Vec<String>> {
    let nobody = || anyhow!("this process cannot read its configuration again");
    let (answer, answered) = oneshot::channel();
    let reloads = admin.reloads.as_ref().with_context(nobody)?;
    reloads.send(Reload { fact, answer }).await.map_err(|_| nobody())?;
    answered.await.map_err(|_| nobody())?
}
