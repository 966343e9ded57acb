//! The private key of a client, and the assertion with which it authenticates at a token endpoint
//! (`private_key_jwt`: OpenID Connect Core 1.0, section 9; RFC 7523, sections 2.2 and 3).

use anyhow::{Context as _, Result, bail};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use chrono::{DateTime, Utc};
use ring::{
    error::Unspecified,
    rand::SystemRandom,
    signature::{
        ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair,
        Ed25519KeyPair, RSA_PKCS1_SHA256, RSA_PSS_SHA256, RsaEncoding, RsaKeyPair,
    },
};
use rustls::pki_types::{PrivateKeyDer, pem::PemObject as _};
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::json;
use std::{fmt, sync::Arc};

/// How long an assertion is valid, in seconds. It is used at once.
const VALID_FOR: i64 = 60;

/// The type of the assertion in a token request.
pub(super) const ASSERTION_TYPE: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

/// A private key, and its id at the authorization server.
#[derive(Clone)]
pub struct ClientKey {
    pair: Arc<SigningPair>,
    id: Option<String>,
}

enum SigningPair {
    Rsa(RsaKeyPair),
    P256(EcdsaKeyPair),
    P384(EcdsaKeyPair),
    Ed25519(Ed25519KeyPair),
}

impl fmt::Debug for ClientKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ClientKey for {}", self.algorithms().join(" or "))
    }
}

/// The claims of a client assertion (RFC 7523).
pub(super) struct AssertionClaims<'a> {
    pub client_id: &'a str,
    /// The issuer of the authorization server or, where it is unknown, its token endpoint.
    pub audience: &'a str,
    pub now: DateTime<Utc>,
}

impl ClientKey {
    /// Reads an RSA, P-256, P-384 or Ed25519 key from PEM.
    pub fn read(pem: &SecretString, id: Option<String>) -> Result<Self> {
        let der = PrivateKeyDer::from_pem_slice(pem.expose_secret().as_bytes()).ok();
        let der = der.context(
            "not a private key in PEM; `openssl genpkey -algorithm EC -pkeyopt \
             ec_paramgen_curve:P-256` creates one",
        )?;
        let pair = match &der {
            PrivateKeyDer::Pkcs8(key) => pkcs8(key.secret_pkcs8_der()),
            PrivateKeyDer::Pkcs1(key) => {
                RsaKeyPair::from_der(key.secret_pkcs1_der()).ok().map(SigningPair::Rsa)
            }
            _ => bail!("not in PKCS #8; `openssl pkcs8 -topk8 -nocrypt` converts it"),
        };
        let pair = pair
            .context("not an RSA key of 2048 to 4096 bits, nor one for P-256, P-384 or Ed25519")?;
        Ok(Self { pair: Arc::new(pair), id })
    }

    /// The algorithms (RFC 7518, RFC 8037) that this key can sign with, the usual one first.
    pub(super) fn algorithms(&self) -> &'static [&'static str] {
        match &*self.pair {
            SigningPair::Rsa(_) => &["RS256", "PS256"],
            SigningPair::P256(_) => &["ES256"],
            SigningPair::P384(_) => &["ES384"],
            // The second name is that of RFC 9864.
            SigningPair::Ed25519(_) => &["EdDSA", "Ed25519"],
        }
    }

    /// An assertion that is signed with one of [`Self::algorithms`].
    pub(super) fn assertion(
        &self,
        algorithm: &str,
        claims: &AssertionClaims<'_>,
    ) -> Option<String> {
        let mut head = json!({ "alg": algorithm, "typ": "JWT" });
        if let Some(id) = &self.id {
            head["kid"] = id.as_str().into();
        }
        let now = claims.now.timestamp();
        let body = json!({
            "iss": claims.client_id,
            "sub": claims.client_id,
            "aud": claims.audience,
            "jti": uuid::Uuid::new_v4().to_string(),
            "iat": now,
            "exp": now + VALID_FOR,
        });
        let part = |part: serde_json::Value| URL_SAFE_NO_PAD.encode(part.to_string());
        let signed = format!("{}.{}", part(head), part(body));
        let signature = self.sign(algorithm, signed.as_bytes()).ok()?;
        Some(format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature)))
    }

    fn sign(&self, algorithm: &str, message: &[u8]) -> Result<Vec<u8>, Unspecified> {
        let random = SystemRandom::new();
        match &*self.pair {
            SigningPair::Rsa(pair) => {
                let padding: &'static dyn RsaEncoding =
                    if algorithm == "PS256" { &RSA_PSS_SHA256 } else { &RSA_PKCS1_SHA256 };
                let mut signature = vec![0; pair.public().modulus_len()];
                pair.sign(padding, &random, message, &mut signature)?;
                Ok(signature)
            }
            SigningPair::P256(pair) | SigningPair::P384(pair) => {
                Ok(pair.sign(&random, message)?.as_ref().to_vec())
            }
            SigningPair::Ed25519(pair) => Ok(pair.sign(message).as_ref().to_vec()),
        }
    }
}

fn pkcs8(der: &[u8]) -> Option<SigningPair> {
    let random = SystemRandom::new();
    let ecdsa = |algorithm| EcdsaKeyPair::from_pkcs8(algorithm, der, &random).ok();
    RsaKeyPair::from_pkcs8(der)
        .ok()
        .map(SigningPair::Rsa)
        .or_else(|| ecdsa(&ECDSA_P256_SHA256_FIXED_SIGNING).map(SigningPair::P256))
        .or_else(|| ecdsa(&ECDSA_P384_SHA384_FIXED_SIGNING).map(SigningPair::P384))
        // OpenSSL does not write the public key into the file.
        .or_else(|| Ed25519KeyPair::from_pkcs8_maybe_unchecked(der).ok().map(SigningPair::Ed25519))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use ring::signature::{
        ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, ED25519, KeyPair as _,
        RSA_PKCS1_2048_8192_SHA256, RSA_PSS_2048_8192_SHA256, UnparsedPublicKey,
        VerificationAlgorithm,
    };
    use serde_json::Value;
    use std::process::Command;

    /// A key of this kind in PEM, made by OpenSSL.
    pub fn pem(arguments: &[&str]) -> SecretString {
        let made = Command::new("openssl").args(arguments).output().expect("OpenSSL runs");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        String::from_utf8(made.stdout).expect("PEM").into()
    }

    pub const P256: [&str; 5] =
        ["genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"];
    const P384: [&str; 5] = ["genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-384"];
    const ED25519_KEY: [&str; 3] = ["genpkey", "-algorithm", "ED25519"];
    pub const RSA: [&str; 5] = ["genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"];
    const RSA_OLD: [&str; 3] = ["genrsa", "-traditional", "2048"];

    /// The header and the claims of an assertion, if its signature is that of the key.
    pub fn verified(key: &ClientKey, assertion: &str) -> Option<(Value, Value)> {
        let (signed, signature) = assertion.rsplit_once('.')?;
        let (head, body) = signed.split_once('.')?;
        let read = |part: &str| -> Option<Value> {
            serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).ok()?).ok()
        };
        let (head, body) = (read(head)?, read(body)?);
        let public: &[u8] = match &*key.pair {
            SigningPair::Rsa(pair) => pair.public().as_ref(),
            SigningPair::P256(pair) | SigningPair::P384(pair) => pair.public_key().as_ref(),
            SigningPair::Ed25519(pair) => pair.public_key().as_ref(),
        };
        let algorithm: &'static dyn VerificationAlgorithm = match head["alg"].as_str()? {
            "RS256" => &RSA_PKCS1_2048_8192_SHA256,
            "PS256" => &RSA_PSS_2048_8192_SHA256,
            "ES256" => &ECDSA_P256_SHA256_FIXED,
            "ES384" => &ECDSA_P384_SHA384_FIXED,
            "EdDSA" | "Ed25519" => &ED25519,
            _ => return None,
        };
        let signature = URL_SAFE_NO_PAD.decode(signature).ok()?;
        let public = UnparsedPublicKey::new(algorithm, public);
        public.verify(signed.as_bytes(), &signature).ok().map(|()| (head, body))
    }

    /// Each kind of key signs with each of its algorithms, and an assertion is good for one minute.
    #[test]
    fn an_assertion_is_signed_by_each_kind_of_key() {
        let kinds: [(&[&str], usize); 5] =
            [(&P256, 1), (&P384, 1), (&ED25519_KEY, 2), (&RSA, 2), (&RSA_OLD, 2)];
        for (made_by, algorithms) in kinds {
            let key = ClientKey::read(&pem(made_by), Some("k1".into())).expect("a key");
            assert_eq!(key.algorithms().len(), algorithms, "{made_by:?}");
            for algorithm in key.algorithms() {
                let now = DateTime::from_timestamp(1_000, 0).expect("a time");
                let claims =
                    AssertionClaims { client_id: "us", audience: "https://a.example", now };
                let assertion = key.assertion(algorithm, &claims).expect("signed");
                let (head, body) = verified(&key, &assertion).expect("its signature");
                assert_eq!(head, json!({ "alg": algorithm, "typ": "JWT", "kid": "k1" }));
                assert_eq!((&body["iss"], &body["sub"]), (&json!("us"), &json!("us")));
                assert_eq!(body["aud"], "https://a.example");
                assert_eq!((&body["iat"], &body["exp"]), (&json!(1_000), &json!(1_060)));
                let again = key.assertion(algorithm, &claims).expect("signed");
                assert_ne!(verified(&key, &again).expect("its signature").1["jti"], body["jti"]);
            }
        }
    }

    #[test]
    fn unusable_keys_are_rejected_with_a_reason() {
        let refused = |pem: &SecretString| {
            let problem = ClientKey::read(pem, None).expect_err("no key").to_string();
            assert!(!problem.contains(pem.expose_secret()));
            problem
        };
        assert!(refused(&"secret".into()).starts_with("not a private key in PEM"));
        let old = pem(&["ecparam", "-name", "prime256v1", "-genkey", "-noout"]);
        assert!(refused(&old).starts_with("not in PKCS #8"));
        let small = pem(&["genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:1024"]);
        assert!(refused(&small).starts_with("not an RSA key"));
    }
}
