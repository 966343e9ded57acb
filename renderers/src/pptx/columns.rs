//! Columns as Pandoc and Marp's friends write them: lines of `::: columns`, `::: column`, `:::`.
//!
//! Markdown does not know these lines: they arrive as text, at times at the end of a list's last
//! item. They are taken out here, and what stood between them is sorted into columns.

use crate::document::{Block, Inline};

/// A slide's blocks without the lines of colons.
#[derive(Debug, Default)]
pub struct Sorted {
    /// What stands outside all columns.
    pub outside: Vec<Block>,
    pub columns: Vec<Vec<Block>>,
}

/// `None` where there are no columns, which is almost always.
pub fn sort(blocks: &[&Block]) -> Option<Sorted> {
    let mut marks = Vec::new();
    let mut sorted = Sorted::default();
    let mut inside = false;
    for block in blocks {
        let mut block = (*block).clone();
        let before = take(&mut block, End::First);
        let after = take(&mut block, End::Last);
        marks.extend(before.iter().chain(&after).cloned());
        step(&before, &mut sorted, &mut inside);
        if !is_empty(&block) {
            match sorted.columns.last_mut().filter(|_| inside) {
                Some(column) => column.push(block),
                None => sorted.outside.push(block),
            }
        }
        step(&after, &mut sorted, &mut inside);
    }
    sorted.columns.retain(|column| !column.is_empty());
    (sorted.columns.len() > 1).then_some(sorted)
}

fn step(marks: &[String], sorted: &mut Sorted, inside: &mut bool) {
    for mark in marks {
        let name = mark.trim_start_matches(':').trim().trim_matches(['{', '}', '.']);
        match name {
            "column" | "col" => {
                sorted.columns.push(Vec::new());
                *inside = true;
            }
            "" => *inside = false,
            _ => {}
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    First,
    Last,
}

/// Takes lines of colons off one end of a block's first or last paragraph.
fn take(block: &mut Block, end: End) -> Vec<String> {
    match block {
        Block::Paragraph(content) => take_lines(content, end),
        Block::List(list) if end == End::Last => {
            let last = list.items.last_mut().and_then(|item| item.blocks.last_mut());
            last.map(|block| take(block, end)).unwrap_or_default()
        }
        Block::Quote { blocks, .. } if end == End::Last => {
            blocks.last_mut().map(|block| take(block, end)).unwrap_or_default()
        }
        _ => Vec::new(),
    }
}

fn take_lines(content: &mut Vec<Inline>, end: End) -> Vec<String> {
    let mut lines: Vec<Vec<Inline>> = vec![Vec::new()];
    for inline in content.drain(..) {
        match inline {
            Inline::SoftBreak | Inline::LineBreak => lines.push(Vec::new()),
            inline => lines.last_mut().expect("there is always a line").push(inline),
        }
    }
    let is_mark = |line: &&Vec<Inline>| crate::package::text::plain(line).starts_with(":::");
    let count = match end {
        End::First => lines.iter().take_while(is_mark).count(),
        End::Last => lines.iter().rev().take_while(is_mark).count(),
    };
    let rest = match end {
        End::First => lines.split_off(count),
        End::Last => {
            let marks = lines.split_off(lines.len() - count);
            std::mem::replace(&mut lines, marks)
        }
    };
    content.extend(
        rest.into_iter()
            .reduce(|mut all, line| {
                all.push(Inline::SoftBreak);
                all.extend(line);
                all
            })
            .unwrap_or_default(),
    );
    lines.iter().map(|line| crate::package::text::plain(line)).collect()
}

fn is_empty(block: &Block) -> bool {
    matches!(block, Block::Paragraph(content) if content.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::markdown;
    use crate::package::text::flat;

    #[test]
    fn lines_of_colons_make_columns() {
        let source = "Before\n\n::: columns\n::: column\n### Pros\n- fast\n- small\n:::\n\
                      ::: column\n### Cons\n- new\n:::\n:::\n\nAfter";
        let document = markdown::read(source).unwrap();
        let sorted = sort(&document.blocks.iter().collect::<Vec<_>>()).unwrap();
        assert_eq!(flat(&sorted.outside), ["Before", "After"]);
        assert_eq!(flat(&sorted.columns[0]), ["Pros", "fast", "small"]);
        assert_eq!(flat(&sorted.columns[1]), ["Cons", "new"]);
    }

    #[test]
    fn other_text_is_left_alone() {
        let document = markdown::read("a\n\n- b\n\n::: note\nc\n:::").unwrap();
        assert!(sort(&document.blocks.iter().collect::<Vec<_>>()).is_none());
    }
}
