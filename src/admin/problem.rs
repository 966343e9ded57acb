//! What a request is told that cannot be served: a status and a sentence that says what to do.

use axum::{
    Json,
    http::StatusCode,
    response::{IntoResponse, Response},
};
use serde_json::json;
use std::any::Any;

pub const SIGNED_OUT: &str =
    "You are not signed in. Make a new link with `countersign token` and open it.";
pub const TOO_LONG: &str =
    "The message is longer than 100,000 characters. Shorten it or send it in parts.";
pub const EMPTY: &str = "There is nothing to send: write something first.";
pub const BAD_ID: &str = "The message has no valid id. Reload the page and send it again.";
pub const BAD_REQUEST: &str = "The request cannot be read. Reload the page and try again.";
pub const NOT_SAVED: &str = "Your message was not saved. Please try again in a moment.";
pub const NO_WEB_CHAT: &str =
    "No web chat is configured here. Add a channel of the kind `web` and restart.";
pub const NO_SUCH_PAGE: &str = "There is no such page.";
pub const NO_SUCH_FILE: &str = "There is no such file in your conversation.";
pub const FILE_GONE: &str =
    "The stored bytes of this file are gone or damaged. Ask for the file again.";
pub const FOREIGN: &str = "This request does not come from a page of this server.";

/// An answer that is no success.
#[derive(Debug)]
pub struct Problem {
    status: StatusCode,
    text: String,
}

impl Problem {
    pub fn new(status: StatusCode, text: impl Into<String>) -> Self {
        Self { status, text: text.into() }
    }

    pub fn signed_out() -> Self {
        Self::new(StatusCode::UNAUTHORIZED, SIGNED_OUT)
    }

    pub fn status(&self) -> StatusCode {
        self.status
    }
}

/// Logged here, once; the person gets a reference to that line.
impl From<anyhow::Error> for Problem {
    fn from(problem: anyhow::Error) -> Self {
        let reference = uuid::Uuid::new_v4().simple().to_string()[..8].to_owned();
        tracing::error!(reference, problem = format!("{problem:#}"), "a request failed");
        let text = format!("Something went wrong on our side. Try again. Reference: {reference}");
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, text)
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        (self.status, Json(json!({ "error": self.text }))).into_response()
    }
}

pub async fn no_such_page() -> Problem {
    Problem::new(StatusCode::NOT_FOUND, NO_SUCH_PAGE)
}

/// A panic is a fault of ours, and ends one request only.
pub fn panicked(panic: Box<dyn Any + Send>) -> Response {
    let words = panic.downcast_ref::<String>().map(String::as_str);
    let words = words.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic");
    Problem::from(anyhow::anyhow!("panicked: {words}")).into_response()
}
