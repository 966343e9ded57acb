//! Messages about recordings that cannot be transcribed.

use super::{Messages, plain};

impl Messages {
    pub fn not_transcribed(&self, name: &str) -> String {
        (self.not_transcribed)(&plain(name))
    }
}
