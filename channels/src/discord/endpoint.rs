//! Interactions that Discord pushes as signed requests instead of sending them over the gateway.
//!
//! A pushed interaction is acknowledged like one from the gateway, by the callback, before it is
//! processed. The platform's PING is not an event: see [`pong`].

use serde_json::Value;
use serenity::interactions_endpoint::Verifier;

use super::Discord;
use crate::{Incoming, WebhookError, WebhookRequest};

/// Larger pushes are rejected.
const PUSH_BYTES: usize = 1024 * 1024;

/// The body of the response to a PING. `None` for everything else, which gets an empty response.
/// Call this only for a request that [`crate::Channel::webhook`] has verified.
pub fn pong(request: &WebhookRequest) -> Option<&'static str> {
    let push: Value = serde_json::from_slice(&request.body).ok()?;
    (push["type"] == 1).then_some(r#"{"type":1}"#)
}

/// The key that verifies pushes.
pub(super) enum Key {
    /// No key is configured, so there is no endpoint.
    Absent,
    /// The configured key is invalid, so every push is rejected.
    Wrong,
    Of(Verifier),
}

impl Key {
    pub(super) fn of(hex: Option<&str>) -> Self {
        let Some(hex) = hex else { return Self::Absent };
        let verifier = bytes(hex.trim()).and_then(|bytes| Verifier::try_new(bytes).ok());
        verifier.map_or(Self::Wrong, Self::Of)
    }

    fn signed(&self, request: &WebhookRequest) -> Result<(), WebhookError> {
        let verifier = match self {
            Self::Absent => return Err(WebhookError::Absent),
            Self::Wrong => return Err(WebhookError::Forbidden),
            Self::Of(verifier) => verifier,
        };
        let shown = |name| request.header(name).unwrap_or_default();
        let (signature, timestamp) = (shown("x-signature-ed25519"), shown("x-signature-timestamp"));
        verifier.verify(signature, timestamp, &request.body).map_err(|()| WebhookError::Forbidden)
    }
}

impl Discord {
    pub(super) async fn take_push(
        &self,
        request: &WebhookRequest,
    ) -> Result<Vec<Incoming>, WebhookError> {
        if request.body.len() > PUSH_BYTES {
            return Err(WebhookError::Malformed("larger than 1 MiB".to_owned()));
        }
        self.key.signed(request)?;
        let push: Value = serde_json::from_slice(&request.body)
            .map_err(|e| WebhookError::Malformed(e.to_string()))?;
        if push["type"] == 1 {
            return Ok(Vec::new());
        }
        self.pending_acknowledgements.begin(&push);
        self.acknowledge(&push).await;
        Ok(self.interaction(&push).into_iter().collect())
    }
}

fn bytes(hex: &str) -> Option<[u8; 32]> {
    let digits = hex.as_bytes();
    if digits.len() != 64 || !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    let mut bytes = [0; 32];
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some(bytes)
}
