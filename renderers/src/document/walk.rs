//! Visits or changes all blocks or inlines of a document.

use super::{Block, Definition, Inline};

/// Calls `see` for `blocks` and all nested blocks.
pub fn each_block_of<'a>(blocks: &'a [Block], see: &mut dyn FnMut(&'a Block)) {
    for block in blocks {
        see(block);
        match block {
            Block::List(list) => list.items.iter().for_each(|i| each_block_of(&i.blocks, see)),
            Block::Quote { blocks, .. } => each_block_of(blocks, see),
            Block::Definitions(items) => {
                for item in items {
                    each_block_of(&item.description, see);
                }
            }
            Block::Columns(columns) => columns.iter().for_each(|c| each_block_of(c, see)),
            _ => {}
        }
    }
}

pub(super) fn each_in_blocks<'a>(blocks: &'a [Block], see: &mut dyn FnMut(&'a Inline)) {
    for block in blocks {
        match block {
            Block::Heading { content, .. } | Block::Paragraph(content) => each_in(content, see),
            Block::List(list) => {
                list.items.iter().for_each(|item| each_in_blocks(&item.blocks, see));
            }
            Block::Table(table) => {
                table.header.iter().for_each(|cell| each_in(cell, see));
                table.rows.iter().flatten().for_each(|cell| each_in(cell, see));
            }
            Block::Quote { blocks, .. } => each_in_blocks(blocks, see),
            Block::Definitions(items) => {
                for Definition { term, description } in items {
                    each_in(term, see);
                    each_in_blocks(description, see);
                }
            }
            Block::Columns(columns) => columns.iter().for_each(|c| each_in_blocks(c, see)),
            Block::Code { .. }
            | Block::Chart(_)
            | Block::Math(_)
            | Block::Break
            | Block::Comment(_) => {}
        }
    }
}

/// Calls `see` for every inline of `content`, including nested ones.
pub fn each_in<'a>(content: &'a [Inline], see: &mut dyn FnMut(&'a Inline)) {
    for inline in content {
        see(inline);
        match inline {
            Inline::Strong(inner)
            | Inline::Emphasis(inner)
            | Inline::Strike(inner)
            | Inline::Marked(_, inner)
            | Inline::Link { content: inner, .. } => each_in(inner, see),
            _ => {}
        }
    }
}

/// The visible text of `content` without formatting; a picture is its alternative text.
pub fn plain_text(content: &[Inline]) -> String {
    let mut text = String::new();
    each_in(content, &mut |inline| match inline {
        Inline::Text(t) | Inline::Code(t) | Inline::Math(t) | Inline::Image { alt: t, .. } => {
            text.push_str(t);
        }
        Inline::SoftBreak => text.push(' '),
        Inline::LineBreak => text.push('\n'),
        _ => {}
    });
    text
}

/// Calls `change` for every inline of `blocks`, including nested ones.
pub fn change_blocks(blocks: &mut [Block], change: &mut dyn FnMut(&mut Inline)) {
    change_contents(blocks, &mut |content| change_all(content, change));
}

/// Calls `change` for every paragraph, heading, term and cell of `blocks`, including nested ones.
pub fn change_contents(blocks: &mut [Block], change: &mut dyn FnMut(&mut Vec<Inline>)) {
    for block in blocks {
        match block {
            Block::Heading { content, .. } | Block::Paragraph(content) => change(content),
            Block::List(list) => {
                list.items.iter_mut().for_each(|item| change_contents(&mut item.blocks, change));
            }
            Block::Table(table) => {
                let cells = table.rows.iter_mut().flatten().chain(&mut table.header);
                for cell in cells {
                    change(cell);
                }
            }
            Block::Quote { blocks, .. } => change_contents(blocks, change),
            Block::Definitions(items) => {
                for Definition { term, description } in items {
                    change(term);
                    change_contents(description, change);
                }
            }
            Block::Columns(columns) => columns.iter_mut().for_each(|c| change_contents(c, change)),
            Block::Code { .. }
            | Block::Chart(_)
            | Block::Math(_)
            | Block::Break
            | Block::Comment(_) => {}
        }
    }
}

fn change_all(content: &mut [Inline], change: &mut dyn FnMut(&mut Inline)) {
    for inline in content {
        change(inline);
        if let Inline::Strong(inner)
        | Inline::Emphasis(inner)
        | Inline::Strike(inner)
        | Inline::Marked(_, inner)
        | Inline::Link { content: inner, .. } = inline
        {
            change_all(inner, change);
        }
    }
}
