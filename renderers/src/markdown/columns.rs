//! Columns in the syntax of Pandoc and Marp: lines of `::: columns`, `::: column`, `:::`.
//!
//! CommonMark does not know these lines. If the source has columns, each such line is surrounded by
//! empty lines before parsing and removed afterwards, and the blocks between them become
//! [`Block::Columns`]. Other fenced divs are left unchanged, as are groups of fewer than two
//! columns.

use std::borrow::Cow;
use std::collections::HashSet;

use comrak::nodes::{Node, NodeValue};
use comrak::{Arena, Options};

use crate::document::Block;
use crate::package::text::plain;

/// The prefix of a column line.
const MARK: &str = ":::";

/// Separates the column lines with empty lines, because a line directly after a list or quote would
/// belong to it.
pub fn apart(source: &str) -> Cow<'_, str> {
    if !source.lines().any(|line| line_mark(line).is_some_and(opens)) {
        return Cow::Borrowed(source);
    }
    let code = code(source);
    let mut apart = String::with_capacity(source.len() + 64);
    for (at, line) in source.lines().enumerate() {
        let is_mark = line_mark(line).is_some() && !code.contains(&(at + 1));
        let around = if is_mark { "\n" } else { "" };
        apart.extend([around, line, around, "\n"]);
    }
    Cow::Owned(apart)
}

/// The line numbers of fenced code, including the fences.
fn code(source: &str) -> HashSet<usize> {
    let arena = Arena::new();
    let root = comrak::parse_document(&arena, source, &Options::default());
    let fenced = |node: Node<'_>| match (&node.data().value, node.data().sourcepos) {
        (NodeValue::CodeBlock(code), at) if code.fenced => Some(at.start.line..=at.end.line),
        _ => None,
    };
    root.descendants().filter_map(fenced).flatten().collect()
}

/// The trimmed line, if it is a column line and not indented code.
fn line_mark(line: &str) -> Option<&str> {
    let mark = line.trim_start_matches(' ');
    (line.len() - mark.len() < 4 && mark.starts_with(MARK)).then(|| mark.trim_end())
}

/// Groups the blocks into columns.
pub fn gather(blocks: Vec<Block>) -> Vec<Block> {
    let marks: Vec<Option<String>> = blocks.iter().map(block_mark).collect();
    if !marks.iter().flatten().any(|mark| opens(mark)) {
        return blocks;
    }
    let mut gathered = Vec::new();
    let mut at = 0;
    while at < blocks.len() {
        if !marks[at].as_deref().is_some_and(opens) {
            gathered.push(blocks[at].clone());
            at += 1;
            continue;
        }
        let (found, count) = Gathering::from(&blocks[at..], &marks[at..]);
        if found.columns.len() > 1 {
            gathered.extend(found.above);
            gathered.push(Block::Columns(found.columns));
            gathered.extend(found.below);
        } else {
            gathered.extend_from_slice(&blocks[at..at + count]);
        }
        at += count;
    }
    gathered
}

fn block_mark(block: &Block) -> Option<String> {
    let Block::Paragraph(content) = block else { return None };
    Some(plain(content)).filter(|text| text.starts_with(MARK))
}

fn opens(mark: &str) -> bool {
    matches!(name(mark), "columns" | "column")
}

/// `::: {.column}` is `column`.
fn name(mark: &str) -> &str {
    match mark.trim_start_matches(':').trim().trim_matches(['{', '}', '.']) {
        "cols" => "columns",
        "col" => "column",
        name => name,
    }
}

/// The state while columns are collected.
#[derive(Default)]
struct Gathering {
    above: Vec<Block>,
    columns: Vec<Vec<Block>>,
    below: Vec<Block>,
    /// Between `::: columns` and its end.
    is_open: bool,
    /// Within a column.
    is_inside: bool,
    /// Other fenced divs that are open within a column.
    others: usize,
}

impl Gathering {
    /// The columns that start at the first block, and the number of blocks they take.
    fn from(blocks: &[Block], marks: &[Option<String>]) -> (Self, usize) {
        let mut found = Self::default();
        let mut count = 0;
        for (block, mark) in blocks.iter().zip(marks) {
            let begins = mark.as_deref().is_some_and(opens);
            let is_over = count > 0 && !found.is_open && !found.is_inside && !begins;
            if is_over || matches!(block, Block::Break) {
                break;
            }
            match mark {
                Some(mark) => found.mark(mark, block),
                None => found.put(block.clone()),
            }
            count += 1;
        }
        found.columns.retain(|column| !column.is_empty());
        (found, count)
    }

    fn put(&mut self, block: Block) {
        match self.columns.last_mut() {
            Some(column) if self.is_inside => column.push(block),
            None => self.above.push(block),
            Some(_) => self.below.push(block),
        }
    }

    fn mark(&mut self, mark: &str, block: &Block) {
        match name(mark) {
            "columns" => self.is_open = true,
            "column" => {
                self.columns.push(Vec::new());
                self.is_inside = true;
            }
            "" if self.others > 0 => {
                self.others -= 1;
                self.put(block.clone());
            }
            "" if self.is_inside => self.is_inside = false,
            "" => self.is_open = false,
            _ => {
                self.others += 1;
                self.put(block.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::markdown;
    use crate::package::text::flat;

    fn columns(source: &str) -> (Vec<Block>, Vec<Vec<String>>) {
        let blocks = markdown::read(source).unwrap().blocks;
        let columns = blocks.iter().find_map(|block| match block {
            Block::Columns(columns) => Some(columns.iter().map(|c| flat(c)).collect()),
            _ => None,
        });
        (blocks, columns.unwrap_or_default())
    }

    #[test]
    fn lines_of_colons_make_columns() {
        let source = "Before\n\n::: columns\n::: column\n### Pros\n- fast\n- small\n:::\n\
                      ::: column\n### Cons\n- new\n:::\n:::\n\nAfter";
        let (blocks, found) = columns(source);
        assert_eq!(found, [vec!["Pros", "fast", "small"], vec!["Cons", "new"]]);
        assert_eq!(flat(&blocks[..1]), ["Before"]);
        assert_eq!(flat(&blocks[2..]), ["After"]);
        let (blocks, found) = columns("::: column\na\n:::\n\n::: {.column}\nb\n:::\n\nafter");
        assert_eq!((found.len(), flat(&blocks[1..])), (2, vec!["after".to_owned()]));
        let (_, found) =
            columns("::: columns\n::: column\n- a\n  - b\n:::\n::: column\nc\nd\n:::\n:::");
        assert_eq!(found, [vec!["a", "b"], vec!["c d"]]);
    }

    /// As models write them: text directly after a column line, and a column line directly after a
    /// list.
    #[test]
    fn no_empty_lines_are_needed() {
        let (_, found) = columns(
            "::: columns\n::: column\n**One**\n\n- a\n- b\n:::\n::: column\n**Two**\n\n- c\n> d\n:::\n:::",
        );
        assert_eq!(found, [vec!["One", "a", "b"], vec!["Two", "c", "d"]]);
        let (blocks, found) =
            columns("```text\n::: column\n```\n::: column\na\n:::\n::: column\nb\n:::");
        assert_eq!(found, [["a"], ["b"]]);
        assert_eq!(flat(&blocks[..1]), ["::: column"], "code is left alone");
    }

    /// A line that only looks like a code fence does not hide the columns below it.
    #[test]
    fn a_fence_is_what_commonmark_takes_for_one() {
        let below = "\n\n::: column\na\n:::\n::: column\nb\n:::";
        for above in [
            "```code``` and more",
            "text\n    ```",
            "- ```\n  code\n  ```",
            "```\ncode\n~~~\n```",
            "~~~ `a`\n```\n~~~",
            "text\r```\rcode\r```",
        ] {
            let (_, found) = columns(&format!("{above}{below}"));
            assert_eq!(found, [["a"], ["b"]], "{above}");
        }
        let (_, found) = columns(&format!("````\n```{below}"));
        assert!(found.is_empty(), "a fence that nobody closed");
    }

    #[test]
    fn many_marks_are_read_once() {
        let source = "::: columns\n\n".repeat(20_000);
        assert_eq!(markdown::read(&source).unwrap().blocks.len(), 20_000);
    }

    #[test]
    fn a_break_ends_columns_that_nobody_closed() {
        let (blocks, found) = columns("::: column\na\n\n::: column\nb\n\n---\n\nc");
        assert_eq!(found, [["a"], ["b"]]);
        assert_eq!(blocks[1..].len(), 2);
    }

    #[test]
    fn other_text_is_left_alone() {
        for source in ["a\n\n- b\n\n::: note\nc\n:::", "::: columns\n::: column\nalone\n:::\n:::"] {
            let (blocks, found) = columns(source);
            assert!(found.is_empty());
            assert!(flat(&blocks).concat().contains(":::"), "{blocks:?}");
        }
        let (_, found) = columns("::: column\n::: note\nx\n:::\n\n:::\n\n::: column\ny\n:::");
        assert_eq!(found.len(), 2);
        assert_eq!(found[0].concat(), "::: notex:::");
    }
}
