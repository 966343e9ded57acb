//! Headings by position and by link anchor.

use std::collections::HashMap;

use crate::Document;
use crate::document::{Anchors, Block};
use crate::package::text::{DEPTH, plain, unescape};

/// The lowest level of headings in the table of contents.
pub const LEVELS: u8 = 3;

/// A heading that links can reference.
#[derive(Debug, Clone)]
pub struct Anchor {
    /// The nesting depth; levels that the author skips are not counted.
    pub level: u8,
    pub text: String,
    /// The number, such as `2.1`, that Word will compute if headings are numbered.
    pub number: String,
    pub bookmark: String,
}

/// All headings, in the order of the document.
#[derive(Debug, Default)]
pub struct HeadingAnchors {
    pub all: Vec<Anchor>,
    counts: [usize; 6],
    /// The levels of the enclosing headings, as the author wrote them.
    above: Vec<u8>,
    by_slug: HashMap<String, usize>,
    /// Keyed by the address of the block: the document is borrowed and does not move while it is
    /// drawn.
    by_block: HashMap<*const Block, usize>,
}

impl HeadingAnchors {
    pub fn of(document: &Document) -> Self {
        let mut anchors = Self::default();
        anchors.walk(&document.blocks, &mut Anchors::default(), 0);
        anchors
    }

    /// The anchor of a heading in the body; headings in footnotes have none.
    pub fn of_heading(&self, heading: &Block) -> Option<&Anchor> {
        let at = self.by_block.get(&std::ptr::from_ref(heading))?;
        Some(&self.all[*at])
    }

    /// The bookmark for `#anchor`, which is passed without its `#`.
    pub fn target(&self, anchor: &str) -> Option<&str> {
        let at = self.by_slug.get(anchor).or_else(|| {
            let plain = unescape(anchor).to_lowercase();
            self.by_slug.get(&plain)
        })?;
        Some(&self.all[*at].bookmark)
    }

    fn count(&mut self, level: usize) -> String {
        self.counts[level - 1] += 1;
        self.counts[level..].fill(0);
        self.counts[..level].iter().map(usize::to_string).collect::<Vec<_>>().join(".")
    }

    fn walk(&mut self, blocks: &[Block], names: &mut Anchors, depth: usize) {
        if depth > DEPTH {
            return;
        }
        for block in blocks {
            match block {
                Block::Heading { level, content } => {
                    let text = plain(content).replace('\n', " ");
                    let at = self.all.len();
                    self.by_slug.insert(names.next(content), at);
                    self.by_block.insert(std::ptr::from_ref(block), at);
                    let bookmark = format!("_Toc{:06}", at + 1);
                    self.above.retain(|above| above < level);
                    self.above.push(*level);
                    let number = self.count(self.above.len());
                    let level = self.above.len() as u8;
                    self.all.push(Anchor { level, text, number, bookmark });
                }
                Block::Quote { blocks, .. } => self.walk(blocks, names, depth + 1),
                Block::Columns(columns) => {
                    for column in columns {
                        self.walk(column, names, depth + 1);
                    }
                }
                Block::List(list) => {
                    list.items.iter().for_each(|item| self.walk(&item.blocks, names, depth + 1));
                }
                Block::Definitions(terms) => {
                    for item in terms {
                        self.walk(&item.description, names, depth + 1);
                    }
                }
                _ => {}
            }
        }
    }
}
