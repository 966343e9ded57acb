//! Identifies this gateway to push services (VAPID, RFC 8292): a key pair, whose public key browsers
//! bind their subscriptions to, and a signed token for each request.

use anyhow::{Context as _, Result, anyhow};
use base64::{
    Engine as _,
    engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD},
};
use chrono::{DateTime, TimeDelta, Utc};
use ring::{
    rand::SystemRandom,
    signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _},
};
use serde_json::json;
use url::Url;

use crate::store::Store;

/// The name of the key among the signing keys.
const NAME: &str = "web push";
/// How long a token is valid; push services accept 24 hours at most.
const VALID_FOR: TimeDelta = TimeDelta::hours(12);

/// The key pair of this gateway.
pub struct VapidKey(EcdsaKeyPair);

impl VapidKey {
    /// The key of the database, which is made when it is first needed. All nodes share it.
    pub async fn of(store: &Store) -> Result<Self> {
        let fresh =
            EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &SystemRandom::new());
        let fresh = fresh.map_err(|_| anyhow!("no random numbers are available"))?;
        let key = store.signing_key(NAME, STANDARD.encode(fresh.as_ref())).await?;
        let pkcs8 = STANDARD.decode(key).context("the key for Web Push")?;
        let pair = EcdsaKeyPair::from_pkcs8(
            &ECDSA_P256_SHA256_FIXED_SIGNING,
            &pkcs8,
            &SystemRandom::new(),
        );
        Ok(Self(pair.map_err(|_| anyhow!("the key for Web Push is not valid"))?))
    }

    /// The public key in base64url, as browsers take it.
    pub fn public(&self) -> String {
        URL_SAFE_NO_PAD.encode(self.0.public_key().as_ref())
    }

    /// The value of `Authorization` for a request to that endpoint. `contact` is whom the operator of
    /// the push service can ask.
    pub fn authorization(
        &self,
        endpoint: &Url,
        contact: Option<&str>,
        now: DateTime<Utc>,
    ) -> Result<String> {
        let mut claims = json!({
            "aud": endpoint.origin().ascii_serialization(),
            "exp": (now + VALID_FOR).timestamp(),
        });
        if let Some(contact) = contact {
            claims["sub"] = contact.into();
        }
        let part = |value: String| URL_SAFE_NO_PAD.encode(value);
        let header = part(json!({ "typ": "JWT", "alg": "ES256" }).to_string());
        let signed = format!("{header}.{}", part(claims.to_string()));
        let signature = self.0.sign(&SystemRandom::new(), signed.as_bytes());
        let signature = signature.map_err(|_| anyhow!("could not sign"))?;
        let signature = URL_SAFE_NO_PAD.encode(signature.as_ref());
        Ok(format!("vapid t={signed}.{signature}, k={}", self.public()))
    }
}
