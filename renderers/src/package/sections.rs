//! Portrait and landscape parts of a document: `<!-- landscape -->` … `<!-- portrait -->`, and pages
//! for tables that are too wide for the paper.

use std::ops::Range;

use super::text::{announces, plain};
use super::words::{TABLE, numbered};
use crate::Document;
use crate::document::{Block, Table};

/// Consecutive blocks on paper of one orientation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    pub is_landscape: bool,
    pub blocks: Range<usize>,
}

/// The sections of a document; `is_wide` tells whether a table needs a landscape page.
pub fn sections(document: &Document, is_wide: impl Fn(&Table) -> bool) -> Vec<Section> {
    let own = document.meta.page.landscape;
    let blocks = &document.blocks;
    if document.meta.page.two_columns {
        return vec![Section { is_landscape: own, blocks: 0..blocks.len() }];
    }
    let mut sections = Sections { all: Vec::new(), is_landscape: own, from: 0 };
    for (at, block) in blocks.iter().enumerate() {
        match block {
            Block::Comment(text) if matches!(text.trim(), "landscape" | "portrait") => {
                sections.turn(at, text.trim() == "landscape");
            }
            Block::Table(table) if !sections.is_landscape && is_wide(table) => {
                let language = document.meta.language.as_deref();
                let begin = introduction(&blocks[sections.from..at], language);
                sections.turn(at - begin, true);
                sections.turn(at + 1, false);
            }
            _ => {}
        }
    }
    sections.turn(blocks.len(), own);
    if sections.all.is_empty() {
        sections.all.push(Section { is_landscape: own, blocks: 0..0 });
    }
    sections.all
}

/// The first block that is not a comment, such as a directive for the table below it.
pub fn after_comments(blocks: &[Block]) -> Option<&Block> {
    blocks.iter().find(|block| !matches!(block, Block::Comment(_)))
}

/// The number of blocks at the end that belong to the table that follows them.
fn introduction(before: &[Block], language: Option<&str>) -> usize {
    let is_part = |block: &&Block| match block {
        Block::Heading { .. } | Block::Comment(_) => true,
        Block::Paragraph(content) if numbered(TABLE, &plain(content), language).is_some() => true,
        block => announces(block),
    };
    before.iter().rev().take_while(is_part).count()
}

struct Sections {
    all: Vec<Section>,
    is_landscape: bool,
    from: usize,
}

impl Sections {
    /// Ends the current section before the block `at`.
    fn turn(&mut self, at: usize, is_landscape: bool) {
        let blocks = self.from..at;
        match self.all.last_mut() {
            _ if blocks.is_empty() => {}
            // Two tables that follow each other share their page.
            Some(last) if last.is_landscape == self.is_landscape => last.blocks.end = at,
            _ => self.all.push(Section { is_landscape: self.is_landscape, blocks }),
        }
        (self.from, self.is_landscape) = (at, is_landscape);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(source: &str) -> Vec<(bool, Range<usize>)> {
        let document = crate::markdown::read(source).unwrap();
        let is_wide = |table: &Table| table.header.len() > 2;
        let all = sections(&document, is_wide);
        all.into_iter().map(|section| (section.is_landscape, section.blocks)).collect()
    }

    #[test]
    fn wide_tables_and_comments_turn_the_page() {
        assert_eq!(read("a\n\nb"), [(false, 0..2)]);
        assert_eq!(read(""), [(false, 0..0)]);
        let wide = "|a|b|c|\n|-|-|-|\n|1|2|3|\n\n";
        let source = format!("a\n\n## H\n\nSee:\n\n{wide}{wide}b");
        assert_eq!(read(&source), [(false, 0..1), (true, 1..5), (false, 5..6)]);
        let source = "a\n\n<!-- landscape -->\n\nb\n\n<!-- portrait -->\n\nc";
        assert_eq!(read(source), [(false, 0..1), (true, 1..3), (false, 3..5)]);
        assert_eq!(read("---\nlandscape: true\n---\na"), [(true, 0..1)]);
    }
}
