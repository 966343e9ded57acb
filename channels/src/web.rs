//! The web chat. Messages are shown on the open pages, and input comes from the admin server.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use bytes::Bytes;
use futures::future::BoxFuture;
use tokio::sync::broadcast;
use tokio_util::sync::CancellationToken;

use crate::{
    Channel, ConnectionState, Delivery, FileRef, Incoming, Intake, Limits, ListenError, Outgoing,
    Receipt, SendError, Unit, WebhookError, WebhookRequest,
    error::rejected,
    limits::{RateLimits, Repeat},
};

/// How many messages a slow page may lag behind before it has to reload its history.
const BACKLOG: usize = 256;

/// Reads an uploaded file by the id of its [`FileRef`].
pub type ReadUpload =
    Arc<dyn Fn(String) -> BoxFuture<'static, Result<Bytes, SendError>> + Send + Sync>;

/// The web chat of one gateway.
pub struct Web {
    id: String,
    origins: Vec<String>,
    uploads: Option<ReadUpload>,
    limits: Limits,
    hub: broadcast::Sender<WebShown>,
}

/// A message that was shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebShown {
    /// The chat: the id of the person.
    pub chat: String,
    /// The conversation of the person. `None` is their first one.
    pub thread: Option<String>,
    /// The id of the outbox row. A page replaces what it shows under the same key.
    pub key: String,
    /// The key of an earlier message that this one replaces.
    pub replaces: Option<String>,
    /// What is shown.
    pub what: Outgoing,
    /// The prefix of the data of an approval's buttons.
    pub token: Option<String>,
}

impl Web {
    /// A web chat that is served by the gateway itself.
    pub fn new(id: impl Into<String>) -> Self {
        let limits = Limits {
            text: 100_000,
            caption: 100_000,
            unit: Unit::Chars,
            upload_bytes: 1024 * 1024 * 1024,
            buttons: true,
            repeat: Repeat::NativeKey,
            typing_for: Some(Duration::from_secs(10)),
            drafts: Some(Duration::from_millis(120)),
            supports_drafts: true,
            reasons: false,
            pictures: true,
            reactions: false,
            album: 1,
            rate_limits: RateLimits::default(),
        };
        let (hub, _) = broadcast::channel(BACKLOG);
        Self { id: id.into(), origins: Vec::new(), uploads: None, limits, hub }
    }

    /// A web chat embedded in pages of these sites (`https://shop.example`), for their visitors.
    pub fn embedded(self, origins: Vec<String>) -> Self {
        Self { origins, ..self }
    }

    /// Sets how uploaded files are read. Without it, no upload can be fetched.
    pub fn with_uploads(self, read: ReadUpload) -> Self {
        Self { uploads: Some(read), ..self }
    }

    /// The sites that may embed it.
    pub fn origins(&self) -> &[String] {
        &self.origins
    }

    /// Receives everything that is shown from now on, in every chat.
    pub fn subscribe(&self) -> broadcast::Receiver<WebShown> {
        self.hub.subscribe()
    }
}

#[async_trait]
impl Channel for Web {
    fn id(&self) -> &str {
        &self.id
    }

    fn limits(&self) -> &Limits {
        &self.limits
    }

    async fn listen(
        &self,
        intake: Intake,
        _from: Option<String>,
        stop: CancellationToken,
    ) -> Result<(), ListenError> {
        intake.report(ConnectionState::Connected);
        stop.cancelled().await;
        Ok(())
    }

    async fn webhook(&self, _request: &WebhookRequest) -> Result<Vec<Incoming>, WebhookError> {
        Err(WebhookError::Absent)
    }

    /// Always succeeds, because a page that is not open loads what it missed from its history.
    async fn send(&self, delivery: &Delivery) -> Result<Receipt, SendError> {
        if matches!(delivery.what, Outgoing::Removal) {
            return Err(rejected("a page keeps what it shows"));
        }
        let shown = WebShown {
            chat: delivery.place.chat.clone(),
            thread: delivery.place.thread.clone(),
            key: delivery.key.clone(),
            replaces: delivery.receipt.as_ref().map(|receipt| receipt.message.clone()),
            what: delivery.what.clone(),
            token: delivery.token.clone(),
        };
        // An error means that no page is open, which is normal.
        self.hub.send(shown).ok();
        Ok(Receipt { message: delivery.key.clone() })
    }

    async fn fetch(&self, file: &FileRef) -> Result<Bytes, SendError> {
        match &self.uploads {
            Some(read) => read(file.id.clone()).await,
            None => Err(SendError::Rejected("this web chat has no files of its own".to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Place, PlaceKind};

    fn place() -> Place {
        Place { chat: "c1".into(), thread: None, kind: PlaceKind::Private }
    }

    fn delivery(receipt: Option<&str>) -> Delivery {
        Delivery {
            key: "k1".into(),
            place: place(),
            what: Outgoing::Settled {
                markdown: "Allowed.".into(),
                approval: None,
                choices: vec![],
            },
            receipt: receipt.map(|message| Receipt { message: message.into() }),
            bytes: None,
            album: Vec::new(),
            token: None,
        }
    }

    #[tokio::test]
    async fn every_open_page_sees_what_is_shown() {
        let web = Web::new("web");
        let (mut one, mut two) = (web.subscribe(), web.subscribe());
        let receipt = web.send(&delivery(Some("k0"))).await.expect("it lives");
        assert_eq!(receipt.message, "k1");
        let shown = one.recv().await.expect("it lives");
        assert_eq!((shown.chat.as_str(), shown.replaces.as_deref()), ("c1", Some("k0")));
        assert_eq!(two.recv().await.expect("it lives"), shown);
    }

    #[tokio::test]
    async fn an_uploaded_file_is_read_by_its_id() {
        let file = FileRef {
            id: "f1".into(),
            name: "a.txt".into(),
            media_type: None,
            size_bytes: None,
            is_voice: false,
        };
        assert!(Web::new("web").fetch(&file).await.is_err(), "nothing was uploaded");
        let read: ReadUpload = Arc::new(|id| Box::pin(async move { Ok(Bytes::from(id)) }));
        let web = Web::new("web").with_uploads(read);
        assert_eq!(web.fetch(&file).await.expect("it is there"), "f1");
    }

    #[tokio::test]
    async fn without_a_page_sending_succeeds() {
        assert!(Web::new("web").send(&delivery(None)).await.is_ok());
    }
}
