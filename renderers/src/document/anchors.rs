//! The anchors of headings.

use std::collections::BTreeMap;

use super::{Inline, plain_text};

/// Assigns each heading the anchor that GitHub would assign, so that `[…](#the-heading)` works.
#[derive(Debug, Default)]
pub struct Anchors {
    seen: BTreeMap<String, usize>,
}

impl Anchors {
    /// The anchor of the next heading, in the order of the document.
    pub fn next(&mut self, heading: &[Inline]) -> String {
        let slug: String = plain_text(heading)
            .to_lowercase()
            .chars()
            .filter_map(|c| match c {
                ' ' | '\n' => Some('-'),
                c if c.is_alphanumeric() || c == '-' || c == '_' => Some(c),
                _ => None,
            })
            .collect();
        let repeats = self.seen.entry(slug.clone()).or_insert(0);
        let anchor = if *repeats == 0 { slug } else { format!("{slug}-{repeats}") };
        *repeats += 1;
        anchor
    }
}
