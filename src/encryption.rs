//! Encryption at rest with ChaCha20-Poly1305 (RFC 8439), for the few secrets that the gateway
//! itself stores: tokens of MCP logins, and signing keys.
//!
//! A value is stored as `enc1:` and the base64 of nonce, ciphertext and tag. Its purpose is
//! authenticated with it, so that a value cannot replace one with another purpose. Without a key,
//! values are stored unencrypted; values that were stored before a key was configured can still be
//! read.

use anyhow::{Context as _, Result, bail, ensure};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use ring::{
    aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey},
    rand::{SecureRandom as _, SystemRandom},
};
use secrecy::{ExposeSecret as _, SecretString};
use std::{fmt, sync::Arc};

const PREFIX: &str = "enc1:";
const KEY_BYTES: usize = 32;

/// The keys of this node: the first encrypts, all decrypt.
#[derive(Clone, Default)]
pub struct Encryption(Arc<Vec<LessSafeKey>>);

impl fmt::Debug for Encryption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Encryption with {} keys", self.0.len())
    }
}

impl Encryption {
    /// Keys of 32 bytes in base64, the current one first.
    pub fn new<'k>(keys: impl IntoIterator<Item = &'k SecretString>) -> Result<Self> {
        let keys = keys.into_iter().map(|key| {
            let bytes = STANDARD.decode(key.expose_secret()).ok();
            let bytes = bytes.filter(|bytes| bytes.len() == KEY_BYTES);
            let bytes =
                bytes.context("not 32 bytes in base64; `openssl rand -base64 32` creates a key")?;
            let key = UnboundKey::new(&CHACHA20_POLY1305, &bytes).ok();
            key.map(LessSafeKey::new).context("the key was refused")
        });
        Ok(Self(Arc::new(keys.collect::<Result<_>>()?)))
    }

    /// Encrypts a value for storage.
    pub fn seal(&self, purpose: &str, value: &str) -> Result<String> {
        let Some(key) = self.0.first() else { return Ok(value.to_owned()) };
        let mut nonce = [0; NONCE_LEN];
        ensure!(SystemRandom::new().fill(&mut nonce).is_ok(), "no random numbers are available");
        let mut bytes = value.as_bytes().to_vec();
        let (at, purpose) = (Nonce::assume_unique_for_key(nonce), Aad::from(purpose));
        let sealed = key.seal_in_place_append_tag(at, purpose, &mut bytes);
        ensure!(sealed.is_ok(), "the value is too long to be encrypted");
        Ok(format!("{PREFIX}{}", STANDARD.encode([&nonce[..], &bytes].concat())))
    }

    /// Decrypts a stored value.
    pub fn open(&self, purpose: &str, stored: &str) -> Result<String> {
        let Some(sealed) = stored.strip_prefix(PREFIX) else { return Ok(stored.to_owned()) };
        ensure!(!self.0.is_empty(), "it is encrypted, and store.encryption_key is not set");
        let bytes = STANDARD.decode(sealed).context("it is damaged")?;
        let (nonce, text) = bytes.split_first_chunk::<NONCE_LEN>().context("it is damaged")?;
        for key in self.0.iter() {
            let (nonce, mut text) = (Nonce::assume_unique_for_key(*nonce), text.to_vec());
            if let Ok(value) = key.open_in_place(nonce, Aad::from(purpose), &mut text) {
                return String::from_utf8(value.to_vec()).context("it is damaged");
            }
        }
        bail!(
            "it is encrypted with another key, or damaged; set the earlier key as \
                store.previous_encryption_key"
        )
    }

    /// Whether a stored value has to be stored again, because it is not encrypted with the current
    /// key.
    pub fn is_outdated(&self, purpose: &str, stored: &str) -> bool {
        let Some(current) = self.0.first() else { return false };
        let current = Self(Arc::new(vec![current.clone()]));
        !stored.starts_with(PREFIX) || current.open(purpose, stored).is_err()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(byte: u8) -> SecretString {
        STANDARD.encode([byte; KEY_BYTES]).into()
    }

    fn encryption(keys: &[SecretString]) -> Encryption {
        Encryption::new(keys).unwrap()
    }

    #[test]
    fn a_value_is_read_with_its_key_and_for_its_purpose_only() {
        let one = encryption(&[key(1)]);
        let (first, second) = (one.seal("p", "secret").unwrap(), one.seal("p", "secret").unwrap());
        assert!(!first.contains("secret") && first != second, "{first}");
        assert_eq!(one.open("p", &first).unwrap(), "secret");
        assert!(one.open("q", &first).is_err());
        assert!(encryption(&[key(2)]).open("p", &first).is_err());
        let refused = Encryption::default().open("p", &first).unwrap_err().to_string();
        assert!(refused.contains("store.encryption_key"), "{refused}");
        for at in PREFIX.len()..first.len() {
            let mut changed = first.clone().into_bytes();
            changed[at] = if changed[at] == b'A' { b'B' } else { b'A' };
            let changed = String::from_utf8(changed).unwrap();
            // The last character of base64 has unused bits.
            assert!(one.open("p", &changed).is_err() || at + 4 > first.len(), "{at}");
        }
        assert!(one.open("p", PREFIX).is_err());
    }

    #[test]
    fn a_key_is_introduced_and_replaced_without_a_loss() {
        let (off, old) = (Encryption::default(), encryption(&[key(1)]));
        let plain = off.seal("p", "v").unwrap();
        assert_eq!((plain.as_str(), off.is_outdated("p", &plain)), ("v", false));
        assert_eq!(
            (old.open("p", &plain).unwrap().as_str(), old.is_outdated("p", &plain)),
            ("v", true)
        );
        let sealed = old.seal("p", "v").unwrap();
        let new = encryption(&[key(2), key(1)]);
        assert_eq!(
            (new.open("p", &sealed).unwrap().as_str(), new.is_outdated("p", &sealed)),
            ("v", true)
        );
        let sealed = new.seal("p", "v").unwrap();
        assert!(!new.is_outdated("p", &sealed));
        assert!(old.open("p", &sealed).is_err());
    }

    #[test]
    fn a_key_that_is_none_is_refused() {
        for wrong in ["", "short", &STANDARD.encode([1; 16])] {
            let refused = Encryption::new([&wrong.to_owned().into()]).unwrap_err().to_string();
            assert!(refused.contains("openssl rand -base64 32"), "{refused}");
        }
    }
}
