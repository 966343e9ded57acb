//! Verifies who sent a webhook, by [Standard Webhooks](https://www.standardwebhooks.com) or the
//! schemes of four platforms.
//!
//! Only signed data can detect a replay: where a platform does not sign its delivery id, the
//! signature is used as the id.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use channels::WebhookRequest;
use chrono::{DateTime, Utc};
use hmac::{Hmac, KeyInit as _, Mac as _};
use schemars::JsonSchema;
use secrecy::{ExposeSecret as _, SecretSlice};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

/// The maximum difference between the sender's clock and ours.
const TOLERANCE_S: i64 = 300;
/// The prefix of a Standard Webhooks secret.
const PREFIX: &str = "whsec_";

/// The signature scheme of a sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verify {
    #[default]
    Standard,
    Github,
    Gitlab,
    Stripe,
    Slack,
}

/// The shared secret.
#[derive(Debug, Clone)]
pub struct SharedSecret(SecretSlice<u8>);

/// Why a request is rejected. The sender learns no more than this.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SignatureError {
    #[error("no signature of a known secret")]
    Unsigned,
    #[error("signed more than five minutes ago, or in the future")]
    Stale,
}

impl SharedSecret {
    /// Parses a Standard Webhooks secret: base64, usually prefixed with `whsec_`.
    pub fn standard(secret: &str) -> Option<Self> {
        let bytes = STANDARD.decode(secret.strip_prefix(PREFIX).unwrap_or(secret)).ok()?;
        (bytes.len() >= 16).then(|| Self(bytes.into()))
    }

    /// The secret of the other schemes: the text itself.
    pub fn plain(secret: &str) -> Self {
        Self(secret.as_bytes().to_vec().into())
    }

    fn mac(&self, parts: &[&[u8]]) -> Hmac<Sha256> {
        let mut mac = Hmac::<Sha256>::new_from_slice(self.0.expose_secret())
            .expect("HMAC takes keys of any length");
        for part in parts {
            mac.update(part);
        }
        mac
    }

    /// The signature header of Standard Webhooks: `v1,<base64>`.
    pub fn sign(&self, id: &str, at: DateTime<Utc>, body: &[u8]) -> String {
        let at = at.timestamp().to_string();
        let mac = self.mac(&[id.as_bytes(), b".", at.as_bytes(), b".", body]);
        format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()))
    }

    /// A signature for use in a URL.
    pub fn seal(&self, text: &str) -> String {
        hex::encode(self.mac(&[text.as_bytes()]).finalize().into_bytes())
    }

    pub fn has_sealed(&self, text: &str, seal: &str) -> bool {
        hex::decode(seal).is_ok_and(|seal| self.has_signed(&[text.as_bytes()], &seal))
    }

    /// Compares in constant time.
    fn has_signed(&self, parts: &[&[u8]], signature: &[u8]) -> bool {
        self.mac(parts).verify_slice(signature).is_ok()
    }
}

/// Verifies a request and returns its id, which is the same for a repeated delivery.
pub fn verified(
    verify: Verify,
    keys: &[SharedSecret],
    request: &WebhookRequest,
    now: DateTime<Utc>,
) -> Result<String, SignatureError> {
    let header = |name| request.header(name).ok_or(SignatureError::Unsigned);
    let body = &request.body[..];
    match verify {
        Verify::Standard => {
            let [id, at, given] = standard_headers(request).ok_or(SignatureError::Unsigned)?;
            let given = given.split_whitespace();
            let given = given.filter_map(|one| STANDARD.decode(one.strip_prefix("v1,")?).ok());
            let signed = [id.as_bytes(), b".", at.as_bytes(), b".", body];
            by_one_of(keys, &signed, given)?;
            in_time(at, now)?;
            Ok(id.to_owned())
        }
        Verify::Github => {
            let given = hex_after(header("x-hub-signature-256")?, "sha256=");
            by_one_of(keys, &[body], given.into_iter())?;
            Ok(digest(&[body]))
        }
        Verify::Gitlab => {
            let token = header("x-gitlab-token")?.as_bytes();
            let known = keys.iter().any(|key| bool::from(key.0.expose_secret().ct_eq(token)));
            let id = request.header("idempotency-key").or(request.header("x-gitlab-event-uuid"));
            let id = id.map_or_else(|| digest(&[body]), str::to_owned);
            if known { Ok(id) } else { Err(SignatureError::Unsigned) }
        }
        Verify::Stripe => {
            let fields = || header("stripe-signature").map(|all| all.split(','));
            let at = fields()?.find_map(|field| field.trim().strip_prefix("t="));
            let at = at.ok_or(SignatureError::Unsigned)?;
            let given = fields()?.filter_map(|field| hex_after(field.trim(), "v1="));
            let signed = [at.as_bytes(), b".", body];
            by_one_of(keys, &signed, given)?;
            in_time(at, now)?;
            Ok(named_in(body, "id").unwrap_or_else(|| digest(&signed)))
        }
        Verify::Slack => {
            let at = header("x-slack-request-timestamp")?;
            let given = hex_after(header("x-slack-signature")?, "v0=");
            let signed = [b"v0:", at.as_bytes(), b":", body];
            by_one_of(keys, &signed, given.into_iter())?;
            in_time(at, now)?;
            Ok(named_in(body, "event_id").unwrap_or_else(|| digest(&signed)))
        }
    }
}

/// Whether the request has the headers without which [`verified`] rejects it, whatever its body is.
pub fn has_signature(verify: Verify, request: &WebhookRequest) -> bool {
    let has = |name| request.header(name).is_some();
    match verify {
        Verify::Standard => standard_headers(request).is_some(),
        Verify::Github => has("x-hub-signature-256"),
        Verify::Gitlab => has("x-gitlab-token"),
        Verify::Stripe => has("stripe-signature"),
        Verify::Slack => has("x-slack-request-timestamp") && has("x-slack-signature"),
    }
}

/// The id, the timestamp and the signatures. Senders that use Svix, on which the specification is
/// based, prefix them with `svix` instead of `webhook`.
fn standard_headers(request: &WebhookRequest) -> Option<[&str; 3]> {
    [
        ["webhook-id", "webhook-timestamp", "webhook-signature"],
        ["svix-id", "svix-timestamp", "svix-signature"],
    ]
    .into_iter()
    .find_map(|[id, at, given]| {
        Some([request.header(id)?, request.header(at)?, request.header(given)?])
    })
}

fn by_one_of(
    keys: &[SharedSecret],
    signed: &[&[u8]],
    mut given: impl Iterator<Item = Vec<u8>>,
) -> Result<(), SignatureError> {
    let known = given.any(|one| keys.iter().any(|key| key.has_signed(signed, &one)));
    if known { Ok(()) } else { Err(SignatureError::Unsigned) }
}

fn in_time(at: &str, now: DateTime<Utc>) -> Result<(), SignatureError> {
    let at: i64 = at.parse().map_err(|_| SignatureError::Unsigned)?;
    let near = now.timestamp().abs_diff(at) <= TOLERANCE_S.unsigned_abs();
    if near { Ok(()) } else { Err(SignatureError::Stale) }
}

fn hex_after(text: &str, prefix: &str) -> Option<Vec<u8>> {
    hex::decode(text.strip_prefix(prefix)?).ok()
}

fn digest(parts: &[&[u8]]) -> String {
    let mut digest = Sha256::new();
    for part in parts {
        digest.update(part);
    }
    hex::encode(digest.finalize())
}

/// An id from the signed body.
fn named_in(body: &[u8], name: &str) -> Option<String> {
    let body: Value = serde_json::from_slice(body).ok()?;
    Some(body.get(name)?.as_str()?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_614_265_330;

    fn request(headers: &[(&str, String)], body: &str) -> WebhookRequest {
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), value.clone()));
        WebhookRequest { headers: headers.collect(), body: body.to_owned().into() }
    }

    fn at(seconds: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(seconds, 0).unwrap()
    }

    /// Follows the example of the specification, and rejects variations of it.
    /// Proves S6.
    #[test]
    fn standard_webhooks_are_verified_as_specified() {
        let key = SharedSecret::standard("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
        let (id, body) = ("msg_p5jXN8AQM9LWM0D4loKWxJek", r#"{"test": 2432232314}"#);
        let right = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";
        assert_eq!(key.sign(id, at(NOW), body.as_bytes()), right);
        let sent = |signature: &str, body: &str| {
            let headers = [
                ("webhook-id", id.to_owned()),
                ("webhook-timestamp", NOW.to_string()),
                ("webhook-signature", signature.to_owned()),
            ];
            request(&headers, body)
        };
        let verify = |request: &WebhookRequest, keys: &[SharedSecret], seconds| {
            verified(Verify::Standard, keys, request, at(seconds))
        };
        let keys = [key.clone()];
        let good = sent(&format!("v1a,xxxx v1,AAAA {right}"), body);
        assert_eq!(verify(&good, &keys, NOW), Ok(id.to_owned()));
        assert_eq!(verify(&good, &keys, NOW + 300), Ok(id.to_owned()));
        assert_eq!(verify(&good, &keys, NOW + 301), Err(SignatureError::Stale));
        assert_eq!(verify(&good, &keys, NOW - 301), Err(SignatureError::Stale));
        assert_eq!(verify(&sent(right, "{}"), &keys, NOW), Err(SignatureError::Unsigned));
        assert_eq!(verify(&sent("", body), &keys, NOW), Err(SignatureError::Unsigned));
        assert_eq!(verify(&request(&[], body), &keys, NOW), Err(SignatureError::Unsigned));
        assert_eq!(verify(&good, &[], NOW), Err(SignatureError::Unsigned));
        let svix = [
            ("svix-id", id.to_owned()),
            ("svix-timestamp", NOW.to_string()),
            ("svix-signature", right.to_owned()),
        ];
        assert_eq!(verify(&request(&svix, body), &keys, NOW), Ok(id.to_owned()));
        assert_eq!(verify(&request(&svix, "{}"), &keys, NOW), Err(SignatureError::Unsigned));
        assert_eq!(verify(&request(&svix, body), &keys, NOW + 301), Err(SignatureError::Stale));
        // A header of one set does not complete the other.
        let mixed = [svix[0].clone(), svix[1].clone(), ("webhook-signature", right.to_owned())];
        assert_eq!(verify(&request(&mixed, body), &keys, NOW), Err(SignatureError::Unsigned));
        let other = SharedSecret::standard("whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA").unwrap();
        assert_eq!(verify(&good, std::slice::from_ref(&other), NOW), Err(SignatureError::Unsigned));
        assert_eq!(verify(&good, &[other, key], NOW), Ok(id.to_owned()), "while keys change");
        assert!(
            SharedSecret::standard("not base64!").is_none()
                && SharedSecret::standard("c2hvcnQ=").is_none()
        );
    }

    /// Follows the example of GitHub's documentation. Its id is not signed, so that a changed id
    /// must not make a replay look new.
    /// Proves S6.
    #[test]
    fn github_is_verified_as_documented() {
        let keys = [SharedSecret::plain("It's a Secret to Everybody")];
        let right = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";
        let sent = |id: &str, signature: &str, body: &str| {
            let headers =
                [("x-github-delivery", id.into()), ("x-hub-signature-256", signature.into())];
            verified(Verify::Github, &keys, &request(&headers, body), at(NOW))
        };
        let first = sent("1", right, "Hello, World!");
        assert!(first.is_ok());
        assert_eq!(sent("2", right, "Hello, World!"), first);
        assert_eq!(sent("1", right, "Hello, world!"), Err(SignatureError::Unsigned));
        assert_eq!(sent("1", "sha256=", "Hello, World!"), Err(SignatureError::Unsigned));
    }

    /// Proves S6.
    #[test]
    fn gitlab_stripe_and_slack_are_verified() {
        let key = SharedSecret::plain("a shared secret");
        let keys = [key.clone()];
        let body = r#"{"id":"evt_1","event_id":"Ev1"}"#;
        let ask = |verify, headers: &[(&str, String)], seconds| {
            verified(verify, &keys, &request(headers, body), at(seconds))
        };
        let token = |token: &str| {
            [("x-gitlab-token", token.to_owned()), ("idempotency-key", "k1".to_owned())]
        };
        assert_eq!(ask(Verify::Gitlab, &token("a shared secret"), NOW), Ok("k1".into()));
        assert_eq!(
            ask(Verify::Gitlab, &token("a shared secreT"), NOW),
            Err(SignatureError::Unsigned)
        );

        let seal =
            |signed: String| hex::encode(key.mac(&[signed.as_bytes()]).finalize().into_bytes());
        let right = seal(format!("{NOW}.{body}"));
        let stripe = [("stripe-signature", format!("t={NOW},v1=00ff,v1={right},v0=ab"))];
        assert_eq!(ask(Verify::Stripe, &stripe, NOW), Ok("evt_1".into()));
        assert_eq!(ask(Verify::Stripe, &stripe, NOW + 301), Err(SignatureError::Stale));
        let moved = [("stripe-signature", format!("t={},v1={right}", NOW + 1))];
        assert_eq!(ask(Verify::Stripe, &moved, NOW), Err(SignatureError::Unsigned));

        let right = seal(format!("v0:{NOW}:{body}"));
        let slack = |at: i64| {
            [
                ("x-slack-request-timestamp", at.to_string()),
                ("x-slack-signature", format!("v0={right}")),
            ]
        };
        assert_eq!(ask(Verify::Slack, &slack(NOW), NOW), Ok("Ev1".into()));
        assert_eq!(ask(Verify::Slack, &slack(NOW), NOW - 301), Err(SignatureError::Stale));
        assert_eq!(ask(Verify::Slack, &slack(NOW + 1), NOW), Err(SignatureError::Unsigned));
    }

    /// A request is rejected early only if it would be rejected with any body.
    #[test]
    fn without_its_signature_a_request_is_rejected_with_any_body() {
        let headers = [
            ("webhook-id", "m1".to_owned()),
            ("webhook-timestamp", NOW.to_string()),
            ("webhook-signature", "v1,AAAA".to_owned()),
            ("x-hub-signature-256", "sha256=00".to_owned()),
            ("x-gitlab-token", "t".to_owned()),
            ("stripe-signature", format!("t={NOW},v1=00")),
            ("x-slack-request-timestamp", NOW.to_string()),
            ("x-slack-signature", "v0=00".to_owned()),
        ];
        let keys = [SharedSecret::plain("a shared secret")];
        for verify in
            [Verify::Standard, Verify::Github, Verify::Gitlab, Verify::Stripe, Verify::Slack]
        {
            assert!(has_signature(verify, &request(&headers, "")), "{verify:?}");
            let mut needed = 0;
            for left_out in 0..headers.len() {
                let mut headers = headers.to_vec();
                headers.remove(left_out);
                if !has_signature(verify, &request(&headers, "")) {
                    needed += 1;
                    let refused = verified(verify, &keys, &request(&headers, "{}"), at(NOW));
                    assert_eq!(refused, Err(SignatureError::Unsigned), "{verify:?}");
                }
            }
            assert!(needed > 0, "{verify:?}");
        }
    }
}
