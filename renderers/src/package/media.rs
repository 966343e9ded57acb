//! The file of a picture, which many places of a document may show.

use std::borrow::Cow;
use std::sync::Arc;

use sha2::{Digest, Sha256};

/// The bytes of a picture and their hash. All copies share the bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MediaFile<'d> {
    bytes: Arc<Cow<'d, [u8]>>,
    hash: [u8; 32],
}

impl<'d> MediaFile<'d> {
    pub fn of(bytes: Cow<'d, [u8]>) -> Self {
        let hash = Sha256::digest(&bytes).into();
        Self { bytes: Arc::new(bytes), hash }
    }

    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub fn hash(&self) -> [u8; 32] {
        self.hash
    }
}
