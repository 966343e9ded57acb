//! Limits the connections of the HTTP server in number and in time.
//!
//! A connection on which no request arrives is closed, even if its bytes arrive one by one. While a
//! request is handled, its handler decides how long it waits.

use axum::{
    body::{Body, HttpBody as _},
    extract::{ConnectInfo, Request, connect_info::Connected},
    middleware::Next,
    response::Response,
    serve::{IncomingStream, Listener},
};
use futures::{StreamExt as _, stream};
use rustix::process::{Resource, getrlimit};
use std::{
    io,
    net::SocketAddr,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore},
    time::{Instant, Sleep, sleep_until, timeout_at},
};

/// How long a new connection may take to send the headers of its first request.
const FIRST_REQUEST_WITHIN: Duration = Duration::from_secs(30);
/// How long after the last byte of a response the next request may take, or the client may read
/// nothing. Event streams send something every 15 seconds.
const IDLE_FOR: Duration = Duration::from_secs(75);
/// How long the body of a request may take. Uploads have their own limit.
const BODY_WITHIN: Duration = Duration::from_mins(1);
/// The maximum number of connections, where the operating system allows as many open files.
const CONNECTIONS: usize = 10_000;

/// A listener with a limited number of open connections. When there are too many, new ones wait.
pub struct LimitedListener {
    listener: TcpListener,
    free: Arc<Semaphore>,
}

impl LimitedListener {
    /// Connections may use three quarters of the files that the process may open.
    pub fn new(listener: TcpListener) -> Self {
        let files = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX) / 4 * 3;
        let limit = usize::try_from(files).unwrap_or(CONNECTIONS).clamp(16, CONNECTIONS);
        Self { listener, free: Arc::new(Semaphore::new(limit)) }
    }
}

impl Listener for LimitedListener {
    type Io = LimitedStream<TcpStream>;
    type Addr = Peer;

    async fn accept(&mut self) -> (Self::Io, Peer) {
        if self.free.available_permits() == 0 {
            tracing::warn!("too many HTTP connections are open; new ones wait");
        }
        let permit = self.free.clone().acquire_owned().await.expect("it is never closed");
        let (stream, address) = Listener::accept(&mut self.listener).await;
        let activity = Activity::default();
        let stream =
            LimitedStream { _permit: Some(permit), ..LimitedStream::new(stream, &activity) };
        (stream, Peer { address, activity })
    }

    fn local_addr(&self) -> io::Result<Peer> {
        Ok(Peer { address: self.listener.local_addr()?, activity: Activity::default() })
    }
}

/// How many requests of a connection are being handled. In HTTP/2 there may be several.
#[derive(Debug, Clone, Default)]
struct Activity(Arc<AtomicUsize>);

impl Activity {
    /// Notes that a request is being handled, until the result is dropped.
    fn handle(&self) -> Handling {
        self.0.fetch_add(1, Ordering::AcqRel);
        Handling(self.clone())
    }

    fn is_handling(&self) -> bool {
        self.0.load(Ordering::Acquire) > 0
    }
}

struct Handling(Activity);

impl Drop for Handling {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::AcqRel);
    }
}

/// The other end of a connection.
#[derive(Debug, Clone)]
pub struct Peer {
    address: SocketAddr,
    activity: Activity,
}

impl Connected<IncomingStream<'_, LimitedListener>> for Peer {
    fn connect_info(stream: IncomingStream<'_, LimitedListener>) -> Self {
        stream.remote_addr().clone()
    }
}

/// Handles a request without the limit for waiting requests.
pub async fn handle(
    ConnectInfo(peer): ConnectInfo<Peer>,
    mut request: Request,
    next: Next,
) -> Response {
    request.extensions_mut().insert(ConnectInfo(peer.address));
    let _handling = peer.activity.handle();
    next.run(request).await
}

/// Limits the time that the body of a request takes.
pub async fn limit_body_time(request: Request, next: Next) -> Response {
    let is_empty = request.body().is_end_stream();
    next.run(if is_empty { request } else { request.map(within_time) }).await
}

fn within_time(body: Body) -> Body {
    let until = Instant::now() + BODY_WITHIN;
    let chunks = stream::unfold(body.into_data_stream(), move |mut chunks| async move {
        let chunk = match timeout_at(until, chunks.next()).await {
            Ok(chunk) => chunk?.map_err(axum::BoxError::from),
            Err(_) => Err(axum::BoxError::from(io::Error::from(io::ErrorKind::TimedOut))),
        };
        Some((chunk, chunks))
    });
    Body::from_stream(chunks)
}

/// A connection that fails if it has nothing to do for too long.
pub struct LimitedStream<T> {
    stream: T,
    activity: Activity,
    /// Whether a request was being handled at the last check.
    was_handling: bool,
    deadline: Pin<Box<Sleep>>,
    _permit: Option<OwnedSemaphorePermit>,
}

impl<T> LimitedStream<T> {
    fn new(stream: T, activity: &Activity) -> Self {
        let deadline = Box::pin(sleep_until(Instant::now() + FIRST_REQUEST_WITHIN));
        let activity = activity.clone();
        Self { stream, activity, was_handling: false, deadline, _permit: None }
    }

    /// Fails if the connection has had nothing to do for too long. While a request is handled, the
    /// time does not pass.
    fn check_deadline(&mut self, cx: &mut Context<'_>) -> io::Result<()> {
        if self.activity.is_handling() {
            self.was_handling = true;
            return Ok(());
        }
        if std::mem::take(&mut self.was_handling) {
            self.deadline.as_mut().reset(Instant::now() + IDLE_FOR);
        }
        match self.deadline.as_mut().poll(cx) {
            Poll::Ready(()) => Err(io::ErrorKind::TimedOut.into()),
            Poll::Pending => Ok(()),
        }
    }

    /// The result of a write. A write that makes no progress times out, because a client that reads
    /// nothing is not read from.
    fn written<R>(
        &mut self,
        cx: &mut Context<'_>,
        written: Poll<io::Result<R>>,
    ) -> Poll<io::Result<R>> {
        match written {
            Poll::Pending => match self.check_deadline(cx) {
                Ok(()) => Poll::Pending,
                Err(late) => Poll::Ready(Err(late)),
            },
            written @ Poll::Ready(_) => written,
        }
    }

    fn has_written(&mut self, written: &Poll<io::Result<usize>>) {
        if matches!(written, Poll::Ready(Ok(1..))) {
            self.deadline.as_mut().reset(Instant::now() + IDLE_FOR);
        }
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for LimitedStream<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.check_deadline(cx)?;
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for LimitedStream<T> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, buf);
        self.has_written(&written);
        self.written(cx, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, bufs);
        self.has_written(&written);
        self.written(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(cx);
        self.written(cx, flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let shut = Pin::new(&mut self.stream).poll_shutdown(cx);
        self.written(cx, shut)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::{
        io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex},
        time::{advance, timeout},
    };

    fn connection() -> (DuplexStream, LimitedStream<DuplexStream>, Activity) {
        let (client, server) = duplex(64);
        let activity = Activity::default();
        (client, LimitedStream::new(server, &activity), activity)
    }

    async fn reads(stream: &mut LimitedStream<DuplexStream>) -> io::Result<u8> {
        stream.read_u8().await
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_sends_its_request_byte_by_byte_is_disconnected() {
        let (mut client, mut server, _) = connection();
        let begun = Instant::now();
        let failed = loop {
            client.write_all(b"x").await.unwrap();
            if let Err(failed) = reads(&mut server).await {
                break failed;
            }
            advance(Duration::from_secs(7)).await;
        };
        assert_eq!(failed.kind(), io::ErrorKind::TimedOut);
        assert!(begun.elapsed() < FIRST_REQUEST_WITHIN + Duration::from_secs(8));
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_sends_nothing_is_disconnected_and_an_event_stream_is_not() {
        let (_client, mut silent, _) = connection();
        assert_eq!(reads(&mut silent).await.unwrap_err().kind(), io::ErrorKind::TimedOut);

        let (mut client, mut server, _) = connection();
        for _ in 0..20 {
            server.write_all(b"keep-alive").await.unwrap();
            let mut read = [0; 10];
            client.read_exact(&mut read).await.unwrap();
            assert!(timeout(Duration::from_secs(15), reads(&mut server)).await.is_err());
        }
        let begun = Instant::now();
        assert_eq!(reads(&mut server).await.unwrap_err().kind(), io::ErrorKind::TimedOut);
        assert!(begun.elapsed() <= IDLE_FOR);
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_that_is_being_handled_has_no_such_limit() {
        let (mut client, mut server, activity) = connection();
        let handling = activity.handle();
        assert!(timeout(Duration::from_mins(10), reads(&mut server)).await.is_err());
        client.write_all(b"x").await.unwrap();
        assert_eq!(reads(&mut server).await.unwrap(), b'x');
        drop(handling);
        assert_eq!(reads(&mut server).await.unwrap_err().kind(), io::ErrorKind::TimedOut);
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_is_busy_until_its_last_request_ends() {
        let (_client, mut server, activity) = connection();
        let (upload, page) = (activity.handle(), activity.handle());
        drop(page);
        assert!(timeout(Duration::from_mins(10), reads(&mut server)).await.is_err());
        drop(upload);
        let ended = Instant::now();
        assert_eq!(reads(&mut server).await.unwrap_err().kind(), io::ErrorKind::TimedOut);
        assert_eq!(ended.elapsed(), IDLE_FOR, "the time begins when nothing is handled any more");
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_reads_nothing_is_disconnected() {
        let (_client, mut server, _) = connection();
        server.write_all(&[0; 64]).await.unwrap();
        let begun = Instant::now();
        let failed = server.write_all(b"more than the client takes").await.unwrap_err();
        assert_eq!((failed.kind(), begun.elapsed()), (io::ErrorKind::TimedOut, IDLE_FOR));
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_takes_a_limited_time() {
        let slow = stream::unfold((), |()| async {
            advance(Duration::from_secs(20)).await;
            Some((Ok::<_, io::Error>("x"), ()))
        });
        let body = within_time(Body::from_stream(slow));
        assert!(axum::body::to_bytes(body, 1_000).await.is_err());
        let whole = axum::body::to_bytes(within_time(Body::from("ab")), 1_000).await.unwrap();
        assert_eq!(&whole[..], b"ab");
    }
}
