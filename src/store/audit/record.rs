//! A stored record of the audit.

use chrono::{DateTime, Utc};
use serde_json::json;
use sha2::{Digest as _, Sha256};

use super::AuditPosition;
use crate::store::{at, db::row::row};

/// A stored record.
#[derive(Debug, Clone, PartialEq)]
pub struct AuditRecord {
    pub chain: String,
    pub n: i64,
    pub at: DateTime<Utc>,
    pub kind: String,
    pub person: String,
    pub tool: String,
    /// The JSON exactly as stored.
    pub body: String,
    pub hash: String,
}

row! {
    pub(super) struct StoredRecord {
        chain: String,
        n: i64,
        at: i64,
        kind: String,
        person: String,
        tool: String,
        body: String,
        hash: String,
    }
}

impl AuditRecord {
    pub(super) fn read(stored: StoredRecord) -> Self {
        let StoredRecord { chain, n, at: ms, kind, person, tool, body, hash } = stored;
        Self { chain, n, at: at(ms), kind, person, tool, body, hash }
    }

    /// The position of the record, as text.
    pub fn own_place(&self) -> String {
        json!([self.at.timestamp_millis(), self.chain, self.n]).to_string()
    }

    /// Parses a position.
    pub fn place(text: &str) -> Option<AuditPosition> {
        serde_json::from_str(text).ok()
    }

    /// The hash that the record must have after the given previous hash.
    pub(super) fn hash_after(&self, previous: &str) -> String {
        let Self { chain, n, at, kind, person, tool, body, .. } = self;
        let bound = json!([previous, chain, n, at.timestamp_millis(), kind, person, tool, body])
            .to_string();
        hex::encode(Sha256::digest(bound))
    }
}
