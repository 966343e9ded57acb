//! What a server says without being asked: that its tools have changed, how far a call is, that it
//! would like to question somebody.

use rmcp::{
    ClientHandler,
    model::{
        ClientCapabilities, ClientConfig, ElicitRequestParams, ElicitResult, ElicitationAction,
        ErrorData, Implementation, ProgressNotificationParam, ProgressToken,
    },
    service::{NotificationContext, RequestContext, RoleClient},
};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};
use tokio::sync::{Notify, watch};

use crate::texts;

/// One for each connection.
pub(super) struct Ear {
    /// Rung when the server's tools may be others than they were.
    changed: Arc<Notify>,
    calls: Mutex<HashMap<ProgressToken, Arc<Ongoing>>>,
}

/// A call under way.
#[derive(Default)]
pub(super) struct Ongoing {
    tool: String,
    /// Where people see how far it is.
    progress: watch::Sender<String>,
    /// Rings at each sign of life.
    pub alive: Notify,
    /// What the server would have asked somebody.
    asked: Mutex<Vec<String>>,
}

impl Ongoing {
    pub fn showing(tool: &str, progress: watch::Sender<String>) -> Arc<Self> {
        Arc::new(Self { tool: tool.to_owned(), progress, ..Self::default() })
    }

    /// The question is not put to anybody: its call holds a worker while it waits, and a person may
    /// take days. The model can ask for itself, and call again.
    pub fn decline(&self, question: &str) {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).push(question.to_owned());
    }

    pub fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Ear {
    pub fn ringing(changed: Arc<Notify>) -> Self {
        Self { changed, calls: Mutex::default() }
    }

    pub fn follow(&self, token: ProgressToken, call: Arc<Ongoing>) {
        self.calls().insert(token, call);
    }

    pub fn forget(&self, token: &ProgressToken) {
        self.calls().remove(token);
    }

    /// Whether no call is under way.
    pub fn rests(&self) -> bool {
        self.calls().is_empty()
    }

    fn calls(&self) -> std::sync::MutexGuard<'_, HashMap<ProgressToken, Arc<Ongoing>>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ClientHandler for Ear {
    fn get_info(&self) -> ClientConfig {
        let us = Implementation::new("countersign", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(ClientCapabilities::default(), us)
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.changed.notify_one();
    }

    async fn on_progress(
        &self,
        said: ProgressNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        let Some(call) = self.calls().get(&said.progress_token).cloned() else { return };
        call.alive.notify_one();
        let text =
            texts::progress(&call.tool, (said.progress, said.total), said.message.as_deref());
        call.progress.send_replace(text);
    }

    /// Which of several calls it is for, the old protocol does not say.
    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let question = question(&request);
        self.calls().values().for_each(|call| call.decline(&question));
        Ok(declined())
    }
}

pub(super) fn declined() -> ElicitResult {
    ElicitResult::new(ElicitationAction::Decline)
}

pub(super) fn question(request: &ElicitRequestParams) -> String {
    match request {
        ElicitRequestParams::FormElicitationParams { message, .. } => message.clone(),
        ElicitRequestParams::UrlElicitationParams { message, url, .. } => {
            format!("{message} ({url})")
        }
        _ => "(a question of an unknown kind)".to_owned(),
    }
}
