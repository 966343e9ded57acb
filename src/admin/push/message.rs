//! Encrypts a message for one browser: `aes128gcm` (RFC 8188) with the keys of a subscription
//! (RFC 8291). The push service between cannot read it.

use anyhow::{Result, ensure};
use ring::{
    aead::{AES_128_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey},
    agreement::{self, ECDH_P256, EphemeralPrivateKey, UnparsedPublicKey},
    error::Unspecified,
    hkdf::{HKDF_SHA256, KeyType, Prk, Salt},
    rand::{SecureRandom as _, SystemRandom},
};

/// The length of an uncompressed point of P-256, and of the secret of a subscription.
pub const PUBLIC_KEY_BYTES: usize = 65;
pub const AUTH_BYTES: usize = 16;
const SALT_BYTES: usize = 16;
/// The size of a record. A message has one.
const RECORD_BYTES: u32 = 4096;
/// The delimiter of the last record.
const LAST_RECORD: u8 = 2;
/// The header, the delimiter and the tag leave this much for the text.
const MAX_BYTES: usize = 3_993;

/// The keys of a browser.
pub struct BrowserKeys {
    pub public: Vec<u8>,
    pub auth: Vec<u8>,
}

/// The body of a request to the push service.
pub fn encrypted(keys: &BrowserKeys, text: &[u8]) -> Result<Vec<u8>> {
    ensure!(text.len() <= MAX_BYTES, "the notification is too long");
    let sealed = seal(keys, text);
    sealed.map_err(|_| anyhow::anyhow!("the keys of the subscription are not valid"))
}

fn seal(keys: &BrowserKeys, text: &[u8]) -> Result<Vec<u8>, Unspecified> {
    let random = SystemRandom::new();
    let mut salt = [0; SALT_BYTES];
    random.fill(&mut salt)?;
    let own = EphemeralPrivateKey::generate(&ECDH_P256, &random)?;
    let public = own.compute_public_key()?;
    let browser = UnparsedPublicKey::new(&ECDH_P256, &keys.public);
    let input = agreement::agree_ephemeral(own, &browser, |shared| {
        let prk = Salt::new(HKDF_SHA256, &keys.auth).extract(shared);
        expand::<32>(&prk, &[b"WebPush: info\0", &keys.public, public.as_ref()])
    })??;
    let mut sealed = [text, &[LAST_RECORD]].concat();
    let ContentKeys { key, nonce } = content_keys(&salt, &input)?;
    let nonce = Nonce::assume_unique_for_key(nonce);
    key.seal_in_place_append_tag(nonce, Aad::empty(), &mut sealed)?;
    let size = RECORD_BYTES.to_be_bytes();
    Ok([&salt[..], &size, &[PUBLIC_KEY_BYTES as u8], public.as_ref(), &sealed].concat())
}

/// The key and the nonce of the record.
struct ContentKeys {
    key: LessSafeKey,
    nonce: [u8; NONCE_LEN],
}

fn content_keys(salt: &[u8], input: &[u8]) -> Result<ContentKeys, Unspecified> {
    let prk = Salt::new(HKDF_SHA256, salt).extract(input);
    let key = expand::<16>(&prk, &[b"Content-Encoding: aes128gcm\0"])?;
    let key = LessSafeKey::new(UnboundKey::new(&AES_128_GCM, &key)?);
    Ok(ContentKeys { key, nonce: expand(&prk, &[b"Content-Encoding: nonce\0"])? })
}

/// A number of bytes.
struct Bytes(usize);

impl KeyType for Bytes {
    fn len(&self) -> usize {
        self.0
    }
}

fn expand<const N: usize>(prk: &Prk, info: &[&[u8]]) -> Result<[u8; N], Unspecified> {
    let mut bytes = [0; N];
    prk.expand(info, Bytes(N))?.fill(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads a message as a browser does.
    fn opened(own: EphemeralPrivateKey, auth: &[u8], body: &[u8]) -> Vec<u8> {
        let public = own.compute_public_key().unwrap();
        let (header, sealed) = body.split_at(SALT_BYTES + 5 + PUBLIC_KEY_BYTES);
        let sender = &header[SALT_BYTES + 5..];
        assert_eq!(header[SALT_BYTES..SALT_BYTES + 5], [0, 0, 16, 0, 65]);
        let input = agreement::agree_ephemeral(
            own,
            &UnparsedPublicKey::new(&ECDH_P256, sender),
            |shared| {
                let prk = Salt::new(HKDF_SHA256, auth).extract(shared);
                expand::<32>(&prk, &[b"WebPush: info\0", public.as_ref(), sender]).unwrap()
            },
        );
        let ContentKeys { key, nonce } =
            content_keys(&header[..SALT_BYTES], &input.unwrap()).unwrap();
        let mut sealed = sealed.to_vec();
        let nonce = Nonce::assume_unique_for_key(nonce);
        let text = key.open_in_place(nonce, Aad::empty(), &mut sealed).unwrap();
        text.strip_suffix(&[LAST_RECORD]).unwrap().to_vec()
    }

    #[test]
    fn only_the_browser_reads_a_message() {
        let own = EphemeralPrivateKey::generate(&ECDH_P256, &SystemRandom::new()).unwrap();
        let public = own.compute_public_key().unwrap().as_ref().to_vec();
        let keys = BrowserKeys { public, auth: vec![7; AUTH_BYTES] };
        let text = "Ein Antrag wartet.".repeat(100);
        let body = encrypted(&keys, text.as_bytes()).unwrap();
        assert_ne!(encrypted(&keys, text.as_bytes()).unwrap(), body, "each has a key of its own");
        assert!(!body.windows(6).any(|six| six == b"Antrag"));
        assert_eq!(opened(own, &keys.auth, &body), text.as_bytes());
    }

    #[test]
    fn wrong_keys_and_long_messages_are_errors() {
        for public in [vec![], vec![4; PUBLIC_KEY_BYTES], vec![0; 65]] {
            assert!(encrypted(&BrowserKeys { public, auth: vec![7; AUTH_BYTES] }, b"a").is_err());
        }
        let own = EphemeralPrivateKey::generate(&ECDH_P256, &SystemRandom::new()).unwrap();
        let public = own.compute_public_key().unwrap().as_ref().to_vec();
        let keys = BrowserKeys { public, auth: vec![7; AUTH_BYTES] };
        assert_eq!(encrypted(&keys, &[b'x'; MAX_BYTES]).unwrap().len(), 4_096);
        assert!(encrypted(&keys, &[b'x'; MAX_BYTES + 1]).is_err());
    }
}
