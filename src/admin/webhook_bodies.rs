//! Reads the bodies of webhooks. Whether the sender is known is clear only after the body has
//! arrived, so the memory for bodies that are not small is limited.

use axum::{
    body::{Bytes, HttpBody as _},
    extract::{FromRequest as _, Request, rejection::BytesRejection},
    http::{
        StatusCode,
        header::{CONNECTION, CONTENT_LENGTH, RETRY_AFTER},
    },
    response::{IntoResponse, Response},
};
use std::time::Duration;
use tokio::{
    sync::{Semaphore, SemaphorePermit},
    time::timeout,
};

/// Bodies that announce no more than this are always read.
const SMALL_BYTES: usize = 32 * 1024;
/// The maximum number of other bodies at once.
const LARGE_AT_ONCE: usize = 64;
/// How long another body waits until it is read.
const WAITS_FOR: Duration = Duration::from_secs(5);
/// How long another body may take.
const LARGE_WITHIN: Duration = Duration::from_secs(15);
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
        let free = timeout(WAITS_FOR, self.large.acquire()).await;
        let permit = free.ok().and_then(Result::ok).ok_or(BodyError::Busy)?;
        let read = timeout(LARGE_WITHIN, Bytes::from_request(request, &())).await;
        let bytes = read.map_err(|_| BodyError::Slow)?.map_err(BodyError::Rejected)?;
        Ok(WebhookBody { bytes, _permit: Some(permit) })
    }
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
    use axum::body::Body;
    use futures::{FutureExt as _, stream};
    use std::io;
    use tokio::{task::yield_now, time::Instant};

    fn request(length: usize, body: Body) -> Request {
        axum::http::Request::builder().header(CONTENT_LENGTH, length).body(body).unwrap()
    }

    fn silent() -> Request {
        let never = stream::pending::<Result<Bytes, io::Error>>();
        request(SMALL_BYTES + 1, Body::from_stream(never))
    }

    /// Proves S13.
    #[tokio::test(start_paused = true)]
    async fn large_bodies_are_limited_in_number_and_in_time() {
        let bodies = WebhookBodies::default();
        let mut reading = Vec::new();
        for _ in 0..LARGE_AT_ONCE {
            let mut read = Box::pin(bodies.read(silent()));
            assert!((&mut read).now_or_never().is_none());
            reading.push(read);
            yield_now().await;
        }
        let small = bodies.read(request(2, Body::from("{}"))).await.unwrap();
        assert_eq!(&small.bytes[..], b"{}");
        let begun = Instant::now();
        assert!(matches!(bodies.read(silent()).await, Err(BodyError::Busy)));
        assert_eq!(begun.elapsed(), WAITS_FOR);
        let response = BodyError::Busy.into_response();
        assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(response.headers()[RETRY_AFTER], AGAIN_AFTER);

        drop(reading);
        let begun = Instant::now();
        assert!(matches!(bodies.read(silent()).await, Err(BodyError::Slow)));
        assert_eq!(begun.elapsed(), LARGE_WITHIN);
        let large = vec![b'x'; SMALL_BYTES + 1];
        let read = bodies.read(request(large.len(), Body::from(large.clone()))).await.unwrap();
        assert_eq!(read.bytes, large);
        assert_eq!(bodies.large.available_permits(), LARGE_AT_ONCE - 1, "it is still in memory");
        drop(read);
        assert_eq!(bodies.large.available_permits(), LARGE_AT_ONCE);
    }

    /// Whether a body is small cannot be told if its length is not announced.
    #[tokio::test]
    async fn a_body_of_unknown_length_counts_as_large() {
        let bodies = WebhookBodies::default();
        let body = Body::from_stream(stream::iter([Ok::<_, io::Error>("{}")]));
        let read = bodies.read(Request::new(body)).await.unwrap();
        assert_eq!(&read.bytes[..], b"{}");
        assert_eq!(bodies.large.available_permits(), LARGE_AT_ONCE - 1);
        let empty = bodies.read(Request::new(Body::empty())).await.unwrap();
        assert!(empty.bytes.is_empty());
        assert_eq!(bodies.large.available_permits(), LARGE_AT_ONCE - 1, "it has no body");
    }
}
