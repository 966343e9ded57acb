//! What an edit of a PDF has changed so far, and why it fails.

use super::{Change, EditError};

/// What has changed so far.
#[derive(Default)]
pub(super) struct Work {
    pub changes: Vec<Change>,
    pub warnings: Vec<String>,
}

impl Work {
    pub fn warn(&mut self, warning: &str) {
        if !self.warnings.iter().any(|known| known == warning) {
            self.warnings.push(warning.to_owned());
        }
    }
}

pub(super) fn odd(error: lopdf::Error) -> EditError {
    EditError::Invalid(format!("The PDF is damaged: {error}."))
}
