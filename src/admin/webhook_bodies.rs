//! Reads the bodies of webhooks. Whether the sender is known is clear only after the body has
//! arrived, so the memory for bodies that are not small is limited. A sender that announces a large
//! body and sends nothing, or stops sending, must not keep others from sending theirs: a body counts
//! only once more has arrived than a small body has, and only while the rest arrives fast enough.

use axum::{
    body::{Body, BodyDataStream, Bytes, HttpBody as _},
    extract::{DefaultBodyLimit, FromRequest as _, Request, rejection::BytesRejection},
    http::{
        StatusCode,
        header::{CONNECTION, CONTENT_LENGTH, RETRY_AFTER},
    },
    response::{IntoResponse, Response},
};
use bytes::BytesMut;
use futures::{StreamExt as _, stream};
use std::time::Duration;
use tokio::{
    sync::{Semaphore, SemaphorePermit},
    time::timeout,
};

/// Bodies that announce no more than this are always read, and as much of others.
const SMALL_BYTES: usize = 32 * 1024;
/// How long this much of another body may take.
const BEGINS_WITHIN: Duration = Duration::from_secs(15);
/// The maximum number of other bodies of which the rest is read at once.
const LARGE_AT_ONCE: usize = 64;
/// How long another body waits until its rest is read.
const WAITS_FOR: Duration = Duration::from_secs(5);
/// How long the rest may take, and the number of bytes that must arrive per interval. The interval
/// is shorter than the time that others wait.
const LARGE_WITHIN: Duration = Duration::from_secs(15);
const INTERVAL: Duration = Duration::from_secs(3);
const INTERVAL_BYTES: usize = 48 * 1024;
/// When the sender may try again, in seconds.
const AGAIN_AFTER: &str = "10";

/// The bodies of webhooks that this node reads.
pub struct WebhookBodies {
    large: Semaphore,
}

impl Default for WebhookBodies {
    fn default() -> Self {
        Self { large: Semaphore::new(LARGE_AT_ONCE) }
    }
}

/// A body, which counts until it is dropped.
#[derive(Debug, Default)]
pub struct WebhookBody<'b> {
    pub bytes: Bytes,
    _permit: Option<SemaphorePermit<'b>>,
}

/// Why a body was not read.
#[derive(Debug)]
pub enum BodyError {
    /// Too many others are being read.
    Busy,
    Slow,
    Rejected(BytesRejection),
}

impl WebhookBodies {
    pub async fn read(&self, request: Request) -> Result<WebhookBody<'_>, BodyError> {
        if is_small(&request) {
            let bytes = Bytes::from_request(request, &()).await.map_err(BodyError::Rejected)?;
            return Ok(WebhookBody { bytes, _permit: None });
        }
        let mut body = ArrivingBody::new(request);
        let begun = timeout(BEGINS_WITHIN, body.read_beyond(SMALL_BYTES)).await;
        let has_ended = begun.map_err(|_| BodyError::Slow)??;
        if has_ended {
            return Ok(WebhookBody { bytes: body.bytes.freeze(), _permit: None });
        }
        let free = timeout(WAITS_FOR, self.large.acquire()).await;
        let permit = free.ok().and_then(Result::ok).ok_or(BodyError::Busy)?;
        timeout(LARGE_WITHIN, body.read_rest()).await.map_err(|_| BodyError::Slow)??;
        Ok(WebhookBody { bytes: body.bytes.freeze(), _permit: Some(permit) })
    }
}

/// A body, as far as it has arrived.
struct ArrivingBody {
    chunks: BodyDataStream,
    bytes: BytesMut,
}

impl ArrivingBody {
    fn new(request: Request) -> Self {
        Self { chunks: request.into_body().into_data_stream(), bytes: BytesMut::new() }
    }

    /// Reads until more than this has arrived in all. Returns whether the body has ended before.
    async fn read_beyond(&mut self, length: usize) -> Result<bool, BodyError> {
        while self.bytes.len() <= length {
            match self.chunks.next().await {
                Some(Ok(chunk)) => self.bytes.extend_from_slice(&chunk),
                Some(Err(problem)) => return Err(unreadable(problem).await),
                None => return Ok(true),
            }
        }
        Ok(false)
    }

    /// Reads the rest, as long as it arrives fast enough.
    async fn read_rest(&mut self) -> Result<(), BodyError> {
        loop {
            let expected = self.bytes.len() + INTERVAL_BYTES;
            let read = timeout(INTERVAL, self.read_beyond(expected)).await;
            let has_ended = read.map_err(|_| BodyError::Slow)??;
            if has_ended {
                return Ok(());
            }
        }
    }
}

/// The error of a body that could not be read, for example because it is too large.
async fn unreadable(problem: axum::Error) -> BodyError {
    let failed = Body::from_stream(stream::iter([Err::<Bytes, _>(problem.into_inner())]));
    let mut request = Request::new(failed);
    // A second limit would hide that the first one was exceeded.
    DefaultBodyLimit::disable().apply(&mut request);
    let rejection = Bytes::from_request(request, &()).await;
    BodyError::Rejected(rejection.expect_err("the body consists of an error"))
}

/// The HTTP server accepts no more than the announced length.
fn is_small(request: &Request) -> bool {
    let length = request.headers().get(CONTENT_LENGTH);
    let length = length.and_then(|length| length.to_str().ok()?.parse::<usize>().ok());
    request.body().is_end_stream() || length.is_some_and(|length| length <= SMALL_BYTES)
}

impl IntoResponse for BodyError {
    fn into_response(self) -> Response {
        match self {
            Self::Busy => {
                tracing::warn!("too many large bodies of webhooks are being read");
                let headers = [(RETRY_AFTER, AGAIN_AFTER), (CONNECTION, "close")];
                (StatusCode::SERVICE_UNAVAILABLE, headers).into_response()
            }
            Self::Slow => (StatusCode::REQUEST_TIMEOUT, [(CONNECTION, "close")]).into_response(),
            Self::Rejected(rejection) => rejection.into_response(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::RequestExt as _;
    use futures::{FutureExt as _, Stream};
    use std::io;
    use tokio::{
        task::yield_now,
        time::{Instant, advance},
    };

    fn request(length: usize, body: Body) -> Request {
        axum::http::Request::builder().header(CONTENT_LENGTH, length).body(body).unwrap()
    }

    fn silent() -> Request {
        let never = stream::pending::<io::Result<Bytes>>();
        request(SMALL_BYTES + 1, Body::from_stream(never))
    }

    /// A request whose body counts, and goes on like this.
    fn begun(rest: impl Stream<Item = io::Result<Bytes>> + Send + 'static) -> Request {
        let begin = stream::iter([Ok(Bytes::from(vec![b'x'; SMALL_BYTES + 1]))]);
        request(2 * SMALL_BYTES, Body::from_stream(begin.chain(rest)))
    }

    /// Proves S13.
    #[tokio::test(start_paused = true)]
    async fn large_bodies_are_limited_in_number() {
        let bodies = WebhookBodies::default();
        let mut reading = Vec::new();
        for _ in 0..LARGE_AT_ONCE {
            let mut read = Box::pin(bodies.read(begun(stream::pending())));
            assert!((&mut read).now_or_never().is_none());
            reading.push(read);
            yield_now().await;
        }
        let small = bodies.read(request(2, Body::from("{}"))).await.unwrap();
        assert_eq!(&small.bytes[..], b"{}");
        let waits_since = Instant::now();
        assert!(matches!(bodies.read(begun(stream::pending())).await, Err(BodyError::Busy)));
        assert_eq!(waits_since.elapsed(), WAITS_FOR);
        let response = BodyError::Busy.into_response();
        assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(response.headers()[RETRY_AFTER], AGAIN_AFTER);

        drop(reading);
        let large = vec![b'x'; SMALL_BYTES + 1];
        let read = bodies.read(request(large.len(), Body::from(large.clone()))).await.unwrap();
        assert_eq!(read.bytes, large);
        assert_eq!(bodies.large.available_permits(), LARGE_AT_ONCE - 1, "it is still in memory");
        drop(read);
        assert_eq!(bodies.large.available_permits(), LARGE_AT_ONCE);
    }

    /// Proves S13.
    #[tokio::test(start_paused = true)]
    async fn a_body_does_not_count_before_much_of_it_has_arrived() {
        let bodies = WebhookBodies::default();
        let begun_at = Instant::now();
        let mut read = Box::pin(bodies.read(silent()));
        assert!((&mut read).now_or_never().is_none());
        assert_eq!(bodies.large.available_permits(), LARGE_AT_ONCE);
        assert!(matches!(read.await, Err(BodyError::Slow)));
        assert_eq!(begun_at.elapsed(), BEGINS_WITHIN);
    }

    /// Proves S13.
    #[tokio::test(start_paused = true)]
    async fn a_large_body_that_arrives_too_slowly_is_not_read_to_its_end() {
        let bodies = WebhookBodies::default();
        let slow = stream::unfold((), |()| async {
            advance(Duration::from_secs(1)).await;
            Some((Ok::<_, io::Error>(Bytes::from_static(b"x")), ()))
        });
        for request in [begun(stream::pending()), begun(slow)] {
            let begun_at = Instant::now();
            assert!(matches!(bodies.read(request).await, Err(BodyError::Slow)));
            assert!((INTERVAL..WAITS_FOR).contains(&begun_at.elapsed()));
        }
        let steady = stream::unfold((), |()| async {
            advance(Duration::from_secs(1)).await;
            Some((Ok::<_, io::Error>(Bytes::from(vec![b'x'; INTERVAL_BYTES])), ()))
        });
        let begun_at = Instant::now();
        assert!(matches!(bodies.read(begun(steady)).await, Err(BodyError::Slow)));
        assert!(begun_at.elapsed() >= LARGE_WITHIN);
        assert_eq!(bodies.large.available_permits(), LARGE_AT_ONCE);
    }

    /// Whether a body is small cannot be told in advance if its length is not announced.
    #[tokio::test]
    async fn a_body_of_unknown_length_counts_if_much_arrives() {
        let bodies = WebhookBodies::default();
        for (length, permits) in [(SMALL_BYTES + 1, LARGE_AT_ONCE - 1), (2, LARGE_AT_ONCE)] {
            let body = vec![b'x'; length];
            let chunks = stream::iter([Ok::<_, io::Error>(body.clone())]);
            let read = bodies.read(Request::new(Body::from_stream(chunks))).await.unwrap();
            assert_eq!(read.bytes, body);
            assert_eq!(bodies.large.available_permits(), permits);
        }
        let empty = bodies.read(Request::new(Body::empty())).await.unwrap();
        assert!(empty.bytes.is_empty());
    }

    #[tokio::test]
    async fn a_body_that_cannot_be_read_is_rejected_with_the_reason() {
        let bodies = WebhookBodies::default();
        let lost = stream::iter([Err::<Bytes, _>(io::Error::other("the connection is lost"))]);
        let lost = Request::new(Body::from_stream(lost));
        // By default, axum limits a body to 2 MB.
        let too_large = Request::new(Body::from(vec![b'x'; 3_000_000])).with_limited_body();
        for (request, status) in
            [(lost, StatusCode::BAD_REQUEST), (too_large, StatusCode::PAYLOAD_TOO_LARGE)]
        {
            let unread = bodies.read(request).await.unwrap_err();
            assert_eq!(unread.into_response().status(), status);
        }
    }
}
