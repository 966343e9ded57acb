//! The anchors of headings and captions.

use std::collections::BTreeMap;

use super::{Block, Inline, each_block_of, plain_text};

/// The anchor of the caption of a figure or a table. That of a heading never has a colon.
pub fn caption_anchor(is_figure: bool, number: usize) -> String {
    format!("{}:{number}", if is_figure { FIGURE } else { TABLE })
}

/// Whether the target of a link is a caption.
pub fn leads_to_caption(url: &str) -> bool {
    let anchor = url.strip_prefix('#').and_then(|anchor| anchor.split_once(':'));
    anchor.is_some_and(|(kind, number)| {
        [FIGURE, TABLE].contains(&kind) && number.bytes().all(|byte| byte.is_ascii_digit())
    })
}

const FIGURE: &str = "figure";
const TABLE: &str = "table";

/// Assigns each heading the anchor that GitHub would assign, so that `[…](#the-heading)` works.
#[derive(Debug, Default)]
pub struct Anchors {
    /// All anchors, and how many further headings had the text of each.
    seen: BTreeMap<String, usize>,
}

impl Anchors {
    /// The anchor of the next heading, in the order of the document.
    pub fn next(&mut self, heading: &[Inline]) -> String {
        let slug: String = plain_text(heading)
            .trim()
            .to_lowercase()
            .chars()
            .filter_map(|c| match c {
                ' ' | '\n' => Some('-'),
                c if c.is_alphanumeric() || c == '-' || c == '_' => Some(c),
                _ => None,
            })
            .collect();
        let mut anchor = slug.clone();
        // The text of another heading may end with the same number.
        while self.seen.contains_key(&anchor) {
            let repeats = self.seen.entry(slug.clone()).or_insert(0);
            *repeats += 1;
            anchor = format!("{slug}-{repeats}");
        }
        self.seen.insert(anchor.clone(), 0);
        anchor
    }

    /// The anchors of the next headings, which are in these blocks.
    pub fn of(&mut self, blocks: &[Block]) -> Vec<String> {
        let mut all = Vec::new();
        each_block_of(blocks, &mut |block| {
            if let Block::Heading { content, .. } = block {
                all.push(self.next(content));
            }
        });
        all
    }
}

/// The anchors that the headings of a text have after another text, by those that they had alone.
pub(super) fn moved(
    alone: Vec<String>,
    before: &[Block],
    text: &[Block],
) -> BTreeMap<String, String> {
    let mut anchors = Anchors::default();
    anchors.of(before);
    let mut moved = anchors.of(text);
    // Without the title, which has become a heading.
    let moved = moved.split_off(moved.len().saturating_sub(alone.len()));
    alone.into_iter().zip(moved).collect()
}
