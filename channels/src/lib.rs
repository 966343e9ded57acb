//! Adapters for chat platforms. Events arrive as [`Incoming`], messages are sent as [`Outgoing`]. A
//! channel only translates between the two and the platform's API.
//!
//! - [`incoming`]: events of a platform
//! - [`button`]: what the buttons of an approval do
//! - [`message_ref`]: what the id of a message refers to
//! - [`outgoing`]: messages to show on a platform
//! - [`limits`]: what a channel can show, and how an `Outgoing` is degraded to fit
//! - [`text`]: conversion of Markdown to each platform's dialect, and splitting of long texts
//! - [`error`]: errors, named by what the caller does next
//! - [`discord`], [`telegram`], [`terminal`], [`web`]: a module per platform

#![warn(missing_docs)]

pub mod button;
pub mod discord;
pub mod error;
pub mod incoming;
pub mod limits;
pub mod message_ref;
pub mod outgoing;
pub mod telegram;
pub mod terminal;
pub mod text;
pub mod web;

use async_trait::async_trait;
use bytes::Bytes;
use tokio_util::sync::CancellationToken;

pub use button::Button;
pub use error::{CheckError, ListenError, SendError, WebhookError};
pub use incoming::{
    Batch, ConnectionState, FileRef, Incoming, IncomingContent, Intake, Person, Place, PlaceKind,
};
pub use limits::Limits;
pub use message_ref::MessageRef;
pub use outgoing::{Choice, Delivery, Outgoing, Receipt, VOICE_NOTE};
pub use text::Unit;

/// One connected bot account. Six methods apply to every platform; `roles` and `check` are for
/// those that support them.
#[async_trait]
pub trait Channel: Send + Sync {
    /// The id from the configuration; part of the key of each event.
    fn id(&self) -> &str;

    /// What this platform can show and accept.
    fn limits(&self) -> &Limits;

    /// Receives events until `stop` is cancelled. `from` is the position that was committed last.
    /// An event is acknowledged to the platform only after [`Intake::commit`] has returned. If the
    /// platform is unavailable, keeps trying; returns an error only for a problem that a person has
    /// to fix, such as a revoked token. Reports each change of the connection with
    /// [`Intake::report`].
    async fn listen(
        &self,
        intake: Intake,
        from: Option<String>,
        stop: CancellationToken,
    ) -> Result<(), ListenError>;

    /// Parses a pushed request after verifying that the platform sent it. The caller commits the
    /// result before it responds with 200.
    async fn webhook(&self, request: &WebhookRequest) -> Result<Vec<Incoming>, WebhookError>;

    /// Sends one message, or edits the message that the delivery has a receipt for.
    async fn send(&self, delivery: &Delivery) -> Result<Receipt, SendError>;

    /// Downloads a file that a person sent.
    async fn fetch(&self, file: &FileRef) -> Result<Bytes, SendError>;

    /// A person's roles in a place, as in [`Person::roles`]; at most a minute old. Empty if the
    /// platform has no roles. An error means that the platform did not answer, so that the roles
    /// are unknown.
    async fn roles(&self, _place: &Place, _person: &str) -> Result<Vec<String>, SendError> {
        Ok(Vec::new())
    }

    /// Checks whether the platform accepts this account now. Channels without a platform always
    /// succeed.
    async fn check(&self) -> Result<(), CheckError> {
        Ok(())
    }
}

/// A request that a platform pushed, as received by the web server.
#[derive(Debug, Clone)]
pub struct WebhookRequest {
    /// Header names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body, as it was signed.
    pub body: Bytes,
}

impl WebhookRequest {
    /// The first header with this (lower-case) name.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str())
    }
}
