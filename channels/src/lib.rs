//! Chat platforms: what happened comes in as [`Incoming`], what is to be shown goes out as
//! [`Outgoing`]. A channel translates, nothing more.
//!
//! - [`incoming`]: what a platform told us
//! - [`outgoing`]: what a platform is to show
//! - [`limits`]: what a channel can show, and how an `Outgoing` is degraded to fit
//! - [`text`]: our Markdown in each platform's dialect, and cutting long texts at good places
//! - [`error`]: failures, named by what the caller does next
//! - [`discord`], [`telegram`], [`terminal`], [`web`]: a module per platform

pub mod discord;
pub mod error;
pub mod incoming;
pub mod limits;
pub mod outgoing;
pub mod telegram;
pub mod terminal;
pub mod text;
pub mod web;

use async_trait::async_trait;
use bytes::Bytes;
use tokio_util::sync::CancellationToken;

pub use error::{CheckError, ListenError, SendError, WebhookError};
pub use incoming::{Batch, FileRef, Incoming, Intake, Person, Place, PlaceKind, What};
pub use limits::Limits;
pub use outgoing::{Choice, Outgoing, Receipt, Shipment};
pub use text::Unit;

/// One connected bot account. Six methods are every platform's; `roles` and `check` are for those
/// that have more to tell.
#[async_trait]
pub trait Channel: Send + Sync {
    /// The id from the configuration; part of every key that the channel's events carry.
    fn id(&self) -> &str;

    /// What this platform can show and take.
    fn limits(&self) -> &Limits;

    /// Receives until `stop`. `from` is the position that was committed last; the platform is told
    /// to forget an event only after [`Intake::commit`] has returned. A platform that is down is
    /// waited for; only what needs a person (a revoked token) ends it with an error.
    async fn listen(
        &self,
        intake: Intake,
        from: Option<String>,
        stop: CancellationToken,
    ) -> Result<(), ListenError>;

    /// Translates one pushed request, after checking that the platform sent it. The caller commits
    /// what it gets before it answers 200.
    async fn webhook(&self, request: &WebhookRequest) -> Result<Vec<Incoming>, WebhookError>;

    /// Shows one thing, or, where the shipment carries a receipt, edits what that names.
    async fn send(&self, shipment: &Shipment) -> Result<Receipt, SendError>;

    /// The bytes of a file that a person sent.
    async fn fetch(&self, file: &FileRef) -> Result<Bytes, SendError>;

    /// What the platform says that somebody is in a place, as in [`Person::roles`]. Nothing where it
    /// has no roles, or does not answer; a stale answer is at most a minute old.
    async fn roles(&self, _place: &Place, _person: &str) -> Vec<String> {
        Vec::new()
    }

    /// Asks the platform whether it knows this account, now. There is nobody to ask where people
    /// talk with the gateway itself.
    async fn check(&self) -> Result<(), CheckError> {
        Ok(())
    }
}

/// A request that a platform pushed to us, as the web server received it.
#[derive(Debug, Clone)]
pub struct WebhookRequest {
    /// Header names in lower case.
    pub headers: Vec<(String, String)>,
    pub body: Bytes,
}

impl WebhookRequest {
    /// The first header of that (lower-case) name.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str())
    }
}
