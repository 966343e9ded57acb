//! Markdown to the model.

use crate::Document;

/// Reads CommonMark + GFM with front matter.
pub fn read(_source: &str) -> Document {
    Document::default()
}
