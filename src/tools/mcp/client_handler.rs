//! Handles notifications and elicitation requests from an MCP server.

use parking_lot::Mutex;
use rmcp::{
    ClientHandler,
    model::{
        ClientCapabilities, ClientConfig, ElicitRequestParams, ElicitResult, ElicitationAction,
        ElicitationCapability, ErrorData, FormElicitationCapability, Implementation,
        ProgressNotificationParam, ProgressToken, ProtocolVersion, UrlElicitationCapability,
    },
    service::{NotificationContext, RequestContext, RoleClient},
};
use std::{
    collections::HashMap,
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};
use tokio::sync::{Notify, Semaphore, SemaphorePermit, watch};

use super::elicit::{self, ElicitationSource};
use crate::{
    journal::ids::{CallId, ConversationId},
    texts,
    tools::{
        Context,
        contract::{elicit::Elicitor, one_line::cut},
    },
};

/// The maximum number of elicitations of a call: at the same time, and in total. Further ones are
/// declined.
const MAX_OPEN: usize = 4;
const MAX_ELICITATIONS: usize = 20;
/// What the model is told about further ones.
const TOO_MANY: &str = "more than one call may ask";
/// The maximum length of a text that the model is told.
const UNANSWERED_CHARS: usize = 1_000;

/// One for each connection.
pub(super) struct ClientEvents {
    /// Notified when the server's tools may have changed.
    changed: Arc<Notify>,
    calls: Mutex<HashMap<ProgressToken, Arc<InFlightCall>>>,
    /// Running calls, registered before they are sent to the server.
    begun: Mutex<Vec<Weak<InFlightCall>>>,
    abandoned: Mutex<AbandonedCalls>,
    /// Whether an elicitation was declined because it belongs to no single call.
    has_declined: AtomicBool,
}

/// Whose calls ended without an answer from the server, which may still be working on them.
#[derive(Debug, Default)]
enum AbandonedCalls {
    #[default]
    None,
    Of(Requester),
    OfSeveral,
}

/// The person on whose behalf a call runs, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Requester {
    conversation: ConversationId,
    person: String,
}

/// A running call.
pub(super) struct InFlightCall {
    server: String,
    tool: String,
    call: CallId,
    requester: Requester,
    /// Where progress is shown, and whom the server can ask.
    progress: watch::Sender<String>,
    pub people: Elicitor,
    /// Notified on each sign of progress.
    pub alive: Notify,
    /// What the server has asked without getting an answer.
    unanswered: Mutex<Vec<String>>,
    /// One permit for each elicitation that waits for an answer.
    open: Semaphore,
    /// The number of elicitations so far.
    elicitations: AtomicUsize,
    /// Whether there were too many.
    has_declined: AtomicBool,
}

impl InFlightCall {
    pub fn of(server: &str, tool: &str, context: &Context) -> Arc<Self> {
        Arc::new(Self {
            server: server.to_owned(),
            tool: tool.to_owned(),
            call: context.call.clone(),
            requester: Requester {
                conversation: context.conversation.clone(),
                person: context.person.id.clone(),
            },
            progress: context.progress.clone(),
            people: context.people.clone(),
            alive: Notify::new(),
            unanswered: Mutex::default(),
            open: Semaphore::new(MAX_OPEN),
            elicitations: AtomicUsize::default(),
            has_declined: AtomicBool::default(),
        })
    }

    /// Passes an elicitation on to the person on whose behalf the call runs, unless there are too
    /// many.
    pub async fn ask(&self, request: &ElicitRequestParams) -> ElicitResult {
        let Some(_open) = self.admit() else {
            return ElicitResult::new(ElicitationAction::Decline);
        };
        let asker =
            ElicitationSource { server: &self.server, call: &self.call, people: &self.people };
        let (result, unanswered) = elicit::put(&asker, request).await;
        self.alive.notify_one();
        let unanswered = unanswered.map(|prompt| cut(&prompt, UNANSWERED_CHARS));
        self.unanswered.lock().extend(unanswered);
        result
    }

    fn admit(&self) -> Option<SemaphorePermit<'_>> {
        let admitted = self.open.try_acquire().ok();
        let admitted = admitted
            .filter(|_| self.elicitations.fetch_add(1, Ordering::Relaxed) < MAX_ELICITATIONS);
        if admitted.is_none() && !self.has_declined.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                mcp.server = self.server,
                tool.name = self.tool,
                "declined elicitations: there are too many in this call"
            );
            self.unanswered.lock().push(TOO_MANY.to_owned());
        }
        admitted
    }

    pub fn unanswered(&self) -> Vec<String> {
        self.unanswered.lock().clone()
    }
}

impl ClientEvents {
    pub fn notifying(changed: Arc<Notify>) -> Self {
        let (calls, begun, abandoned, has_declined) = <_>::default();
        Self { changed, calls, begun, abandoned, has_declined }
    }

    pub fn begins(&self, call: &Arc<InFlightCall>) {
        let mut begun = self.begun.lock();
        begun.retain(|call| call.strong_count() > 0);
        begun.push(Arc::downgrade(call));
    }

    /// Records that a call has ended without an answer, because it was cancelled or took too long.
    pub fn abandon(&self, call: &InFlightCall) {
        let mut abandoned = self.abandoned.lock();
        *abandoned = match std::mem::take(&mut *abandoned) {
            AbandonedCalls::None => AbandonedCalls::Of(call.requester.clone()),
            AbandonedCalls::Of(other) if other == call.requester => AbandonedCalls::Of(other),
            _ => AbandonedCalls::OfSeveral,
        };
    }

    /// The running call, if there is exactly one, and no call of somebody else that the server may
    /// still be working on.
    fn only_call(&self) -> Option<Arc<InFlightCall>> {
        let begun = self.begun.lock();
        let mut calls = begun.iter().filter_map(Weak::upgrade);
        let only = calls.next().filter(|_| calls.next().is_none())?;
        let abandoned = self.abandoned.lock();
        let is_certain = match &*abandoned {
            AbandonedCalls::None => true,
            AbandonedCalls::Of(requester) => *requester == only.requester,
            AbandonedCalls::OfSeveral => false,
        };
        is_certain.then_some(only)
    }

    pub fn follow(&self, token: ProgressToken, call: Arc<InFlightCall>) {
        self.calls().insert(token, call);
    }

    pub fn forget(&self, token: &ProgressToken) {
        self.calls().remove(token);
    }

    /// Whether no call is running.
    pub fn rests(&self) -> bool {
        self.calls().is_empty()
    }

    fn calls(&self) -> parking_lot::MutexGuard<'_, HashMap<ProgressToken, Arc<InFlightCall>>> {
        self.calls.lock()
    }
}

impl ClientHandler for ClientEvents {
    fn get_info(&self) -> ClientConfig {
        let us = Implementation::new("countersign", env!("CARGO_PKG_VERSION"));
        let mut able = ClientCapabilities::default();
        let form = FormElicitationCapability::new().with_schema_validation(true);
        let elicitation = ElicitationCapability::new().with_form(form);
        able.elicitation = Some(elicitation.with_url(UrlElicitationCapability::new()));
        // This is the version that `initialize` proposes; `server/discover` has its own.
        ClientConfig::new(able, us).with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.changed.notify_one();
    }

    async fn on_prompt_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.changed.notify_one();
    }

    async fn on_progress(
        &self,
        said: ProgressNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        let Some(call) = self.calls().get(&said.progress_token).cloned() else { return };
        call.alive.notify_one();
        let text = texts::progress(&call.tool, said.progress, said.total, said.message.as_deref());
        call.progress.send_replace(text);
    }

    /// The old protocol does not say which call an elicitation belongs to, so it is only passed on
    /// if there is no doubt. Until the next connection, an elicitation may also belong to a call that
    /// was abandoned.
    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let Some(call) = self.only_call() else {
            if !self.has_declined.swap(true, Ordering::Relaxed) {
                tracing::info!("declined an elicitation: it is unclear which call it belongs to");
            }
            return Ok(ElicitResult::new(ElicitationAction::Decline));
        };
        tokio::select! {
            answer = call.ask(&request) => Ok(answer),
            () = context.ct.cancelled() => Ok(ElicitResult::new(ElicitationAction::Cancel)),
        }
    }
}
