//! Errors in the form of OpenAI's API, which all responses of these routes use.

use axum::{
    Json,
    http::{
        HeaderValue, StatusCode,
        header::{RETRY_AFTER, WWW_AUTHENTICATE},
    },
    response::{IntoResponse, Response},
};
use serde_json::{Value, json};
use std::time::Duration;

use crate::{admin::problem::Problem, texts::Language};

/// An error response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompletionError {
    status: StatusCode,
    code: &'static str,
    message: String,
    /// The parameter of the request that is wrong.
    param: Option<String>,
    retry_after: Option<Duration>,
}

impl CompletionError {
    pub fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { status, code, message, param: None, retry_after: None }
    }

    /// A parameter of the request is wrong.
    pub fn invalid(param: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid_value", message).about(param)
    }

    /// The request asks for something that the gateway does not support.
    pub fn unsupported(param: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "unsupported_parameter", message).about(param)
    }

    /// The node is being stopped. The turn continues after its start, or on another node.
    pub fn stopping() -> Self {
        let message = "This node is being stopped. Send the same request again.";
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "stopping", message)
            .after(Duration::from_secs(5))
    }

    /// The answer cannot be read. The turn continues.
    pub fn unavailable() -> Self {
        let message = "The answer could not be read within the time limit. Send the same request \
                       again.";
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "unavailable", message)
            .after(Duration::from_secs(5))
    }

    pub fn about(self, param: impl Into<String>) -> Self {
        Self { param: Some(param.into()), ..self }
    }

    pub fn after(self, wait: Duration) -> Self {
        Self { retry_after: Some(wait), ..self }
    }

    /// The kind of the error, which OpenAI's API derives from the status.
    fn kind(&self) -> &'static str {
        match self.status {
            StatusCode::UNAUTHORIZED => "authentication_error",
            StatusCode::FORBIDDEN => "permission_error",
            StatusCode::TOO_MANY_REQUESTS => "rate_limit_error",
            status if status.is_server_error() => "server_error",
            _ => "invalid_request_error",
        }
    }

    /// The body, which is also an event of a stream.
    pub fn body(&self) -> Value {
        let Self { code, message, param, .. } = self;
        let kind = self.kind();
        json!({ "error": { "message": message, "type": kind, "param": param, "code": code } })
    }
}

/// Logged as every internal error; the client gets a reference to the log entry.
impl From<anyhow::Error> for CompletionError {
    fn from(problem: anyhow::Error) -> Self {
        let problem = Problem::from(problem);
        Self::new(problem.status(), "internal_error", problem.detail(Language::default()))
    }
}

impl IntoResponse for CompletionError {
    fn into_response(self) -> Response {
        let mut response = (self.status, Json(self.body())).into_response();
        if let Some(wait) = self.retry_after {
            response.headers_mut().insert(RETRY_AFTER, (wait.as_secs() + 1).into());
        }
        if self.status == StatusCode::UNAUTHORIZED {
            response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}
