//! Limits what a server can make its connection keep in memory, and how long closing it takes.

use rmcp::{
    RoleClient,
    model::JsonRpcMessage,
    service::{RxJsonRpcMessage, TxJsonRpcMessage},
    transport::Transport,
};
use std::{borrow::Cow, sync::Arc, time::Duration};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

/// The maximum number of replies that wait to be sent. They are sent one at a time.
const MAX_REPLIES: usize = 256;
/// How long closing may take. After that the connection is dropped, and a local server is killed.
const CLOSE_FOR: Duration = Duration::from_secs(10);

/// A connection that ends if the server sends requests and does not accept the replies.
///
/// It cannot stop reading instead: over HTTP the replies are sent by the task that passes the
/// requests on.
pub(super) struct BoundedTransport<T> {
    transport: T,
    server: String,
    /// Cloned for every reply that waits to be sent.
    replies: Arc<()>,
    /// Cancelled when there are too many.
    exceeded: CancellationToken,
}

impl<T> BoundedTransport<T> {
    pub fn new(transport: T, server: &str) -> Self {
        let (replies, exceeded) = <_>::default();
        Self { transport, server: server.to_owned(), replies, exceeded }
    }

    fn count(&self) -> Arc<()> {
        if Arc::strong_count(&self.replies) > MAX_REPLIES && !self.exceeded.is_cancelled() {
            tracing::warn!(
                mcp.server = self.server,
                "closing the connection to an MCP server: it does not accept the replies to its requests"
            );
            self.exceeded.cancel();
        }
        self.replies.clone()
    }
}

impl<T: Transport<RoleClient> + 'static> Transport<RoleClient> for BoundedTransport<T> {
    type Error = T::Error;

    fn name() -> Cow<'static, str> {
        T::name()
    }

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let is_reply = matches!(item, JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_));
        let counted = is_reply.then(|| self.count());
        let exceeded = self.exceeded.clone();
        let send = self.transport.send(item);
        async move {
            let result = tokio::select! {
                sent = send => sent,
                // Nobody reads the result, because the connection has ended.
                () = exceeded.cancelled() => Ok(()),
            };
            drop(counted);
            result
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        tokio::select! {
            message = self.transport.receive() => message,
            () = self.exceeded.cancelled() => None,
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        // A message that the server does not accept would prevent it.
        timeout(CLOSE_FOR, self.transport.close()).await.unwrap_or(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::{FutureExt as _, future::BoxFuture};
    use rmcp::model::ErrorData;
    use std::{future::pending, io};
    use tokio::time::Instant;

    /// A server that is silent and accepts nothing.
    struct Stuck;

    impl Transport<RoleClient> for Stuck {
        type Error = io::Error;

        fn send(
            &mut self,
            _: TxJsonRpcMessage<RoleClient>,
        ) -> impl Future<Output = io::Result<()>> + Send + 'static {
            pending()
        }

        async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
            pending().await
        }

        async fn close(&mut self) -> io::Result<()> {
            pending().await
        }
    }

    /// A connection keeps a limited number of replies, and it can be closed.
    #[tokio::test(start_paused = true)]
    async fn a_connection_whose_replies_are_not_accepted_ends() {
        let mut transport = BoundedTransport::new(Stuck, "s");
        let reply = || JsonRpcMessage::error(ErrorData::internal_error("no", None), None);
        let mut sends: Vec<BoxFuture<'static, io::Result<()>>> = Vec::new();
        for _ in 0..MAX_REPLIES {
            sends.push(transport.send(reply()).boxed());
        }
        assert!(timeout(CLOSE_FOR, transport.receive()).await.is_err(), "not too many yet");
        sends.push(transport.send(reply()).boxed());
        assert!(transport.receive().await.is_none());
        for sent in futures::future::join_all(sends).await {
            sent.expect("nobody waits for the server");
        }
        let begun = Instant::now();
        transport.close().await.expect("closed");
        assert_eq!(begun.elapsed().as_secs(), CLOSE_FOR.as_secs());
    }
}
