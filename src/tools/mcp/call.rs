//! One call of a server's tool: completed, cancelled, or interrupted.

use futures::FutureExt as _;
use rmcp::{
    model::{
        CallToolRequest, CallToolRequestParams, CallToolResult, ClientRequest, ElicitRequestParams,
        ElicitationAction, ErrorData, InputRequest, InputRequiredResult, ServerResult,
    },
    service::{PeerRequestOptions, RequestHandle, RoleClient, ServiceError},
};
use std::{collections::BTreeMap, future::pending, sync::Arc};

use super::{
    EXECUTE_FOR, McpConfig, SILENT_FOR,
    client_handler::{ClientEvents, InFlightCall},
    session::{Fault, McpSession},
};
use crate::tools::ToolError;

/// The code of the error that a person has to open a page before the call can run
/// (`URLElicitationRequiredError` of version 2025-11-25).
const PAGE_REQUIRED: i32 = -32042;

/// How often a server may request further input before it answers.
const ROUNDS: usize = 4;

/// Makes the call once. Dropping the future cancels it at the server.
pub(super) async fn call(
    config: &McpConfig,
    session: &McpSession,
    mut wanted: CallToolRequestParams,
    ongoing: &Arc<InFlightCall>,
) -> Result<CallToolResult, Fault> {
    session.service().begins(ongoing);
    let rounds = async {
        for _ in 0..ROUNDS {
            let answer = ask(session, wanted.clone(), ongoing).await?;
            let answer = match answer {
                Err(ServiceError::McpError(error)) if error.code.0 == PAGE_REQUIRED => {
                    return Err(Fault::Reported(page_required(&error, ongoing).await));
                }
                answer => answer.map_err(|error| Fault::of(config, error))?,
            };
            match answer {
                ServerResult::CallToolResult(result) => return Ok(result),
                ServerResult::InputRequiredResult(more) => {
                    fetch(more, ongoing, &mut wanted).await?;
                }
                _ => return Err(Fault::of(config, ServiceError::UnexpectedResponse)),
            }
        }
        Err(Fault::Reported(config.broken("keeps asking for more input without answering")))
    };
    let ended = Box::pin(ongoing.people.bounded(EXECUTE_FOR, rounds)).await;
    ended.unwrap_or(Err(Fault::TimedOut(EXECUTE_FOR)))
}

/// Sends the call and waits for its answer, as long as the server shows progress.
async fn ask(
    session: &McpSession,
    wanted: CallToolRequestParams,
    ongoing: &Arc<InFlightCall>,
) -> Result<Result<ServerResult, ServiceError>, Fault> {
    let request = ClientRequest::CallToolRequest(CallToolRequest::new(wanted));
    let events = session.service();
    let mut under_way = RunningCall { handle: None, has_ended: false, events, ongoing };
    let send = session.send_cancellable_request(request, PeerRequestOptions::no_options());
    // The connection accepts only as many messages as it can send.
    let Some(sent) = ongoing.people.bounded(SILENT_FOR, send).await else {
        return Err(Fault::Broken);
    };
    let Ok(handle) = sent else { return Ok(Err(ServiceError::TransportClosed)) };
    events.follow(handle.progress_token.clone(), ongoing.clone());
    under_way.handle = Some(handle);
    loop {
        tokio::select! {
            biased;
            answer = under_way.answer() => return Ok(answer),
            () = ongoing.alive.notified() => {}
            _ = ongoing.people.bounded(SILENT_FOR, pending::<()>()) => {
                return Err(Fault::TimedOut(SILENT_FOR));
            }
        }
    }
}

/// A running call, which is cancelled at the server when dropped.
struct RunningCall<'e> {
    handle: Option<RequestHandle<RoleClient>>,
    has_ended: bool,
    events: &'e ClientEvents,
    ongoing: &'e InFlightCall,
}

impl RunningCall<'_> {
    async fn answer(&mut self) -> Result<ServerResult, ServiceError> {
        let Some(handle) = &mut self.handle else { return Err(ServiceError::TransportClosed) };
        let answer = (&mut handle.rx).await;
        self.has_ended = true;
        if let Some(handle) = self.handle.take() {
            self.events.forget(&handle.progress_token);
        }
        answer.unwrap_or(Err(ServiceError::TransportClosed))
    }
}

impl Drop for RunningCall<'_> {
    fn drop(&mut self) {
        if !self.has_ended {
            self.events.abandon(self.ongoing);
        }
        let Some(handle) = self.handle.take() else { return };
        self.events.forget(&handle.progress_token);
        // Polled once: that queues the message if there is room, and the connection does the rest.
        let word = handle.cancel(Some("no longer needed".to_owned()));
        let _ = tokio::task::unconstrained(word).now_or_never();
    }
}

/// Shows the pages to the person. The call is not repeated at once, because only the person knows
/// when everything is done there.
async fn page_required(error: &ErrorData, ongoing: &InFlightCall) -> ToolError {
    let pages = error.data.as_ref().and_then(|data| data.get("elicitations")?.as_array());
    let (mut opened, mut not_opened) = (0, 0);
    for page in pages.into_iter().flatten() {
        let page = serde_json::from_value(page.clone());
        let Ok(page @ ElicitRequestParams::UrlElicitationParams { .. }) = page else { continue };
        match ongoing.ask(&page).await.action {
            ElicitationAction::Accept => opened += 1,
            _ => not_opened += 1,
        }
    }
    let how = match (opened, not_opened) {
        (1.., 0) => {
            "The person was shown the address of a page that the server requires, and opens it. \
                Make the same call again once they say that they have finished there."
        }
        _ => "The server requires that a person opens a page, and nobody has agreed to that.",
    };
    ToolError::ExecutionFailed(format!("The call has not run: {} {how}", error.message))
}

/// Elicitation in the new protocol: the answers are sent with the repeated call.
async fn fetch(
    more: InputRequiredResult,
    ongoing: &InFlightCall,
    wanted: &mut CallToolRequestParams,
) -> Result<(), Fault> {
    let mut answers = BTreeMap::new();
    for (key, request) in more.input_requests.unwrap_or_default() {
        let InputRequest::Elicitation(request) = request else {
            let what = "The server requested something that is not available here: our model, or \
                our folders.";
            return Err(Fault::Reported(ToolError::ExecutionFailed(what.to_owned())));
        };
        let answer = ongoing.ask(&request.params).await;
        answers.insert(key, serde_json::to_value(answer).unwrap_or_default());
    }
    wanted.input_responses = Some(answers);
    wanted.request_state = more.request_state;
    Ok(())
}
