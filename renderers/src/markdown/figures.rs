//! `<figure>` of HTML: its caption becomes the title of its picture or of its table.

use crate::document::{Block, Inline, plain_text};

/// An open figure.
#[derive(Default)]
pub struct Figure {
    pub blocks: Vec<Block>,
    /// The paragraphs of the caption.
    pub caption: Vec<Vec<Inline>>,
}

impl Figure {
    /// The blocks, with the caption as the title of the only picture, or before the only table. Of
    /// anything else it is a paragraph after it.
    pub fn blocks(self) -> Vec<Block> {
        let Self { mut blocks, caption } = self;
        let text: Vec<String> = caption.iter().map(|line| plain_text(line)).collect();
        let text = text.join(" ");
        if text.trim().is_empty() {
            return blocks;
        }
        match &mut blocks[..] {
            [Block::Paragraph(content)] => {
                if let [Inline::Image { title, .. }] = &mut content[..] {
                    *title = text;
                    return blocks;
                }
            }
            [Block::Table(_)] => {
                blocks.insert(0, Block::Paragraph(vec![Inline::Text(format!("Table: {text}"))]));
                return blocks;
            }
            _ => {}
        }
        blocks.extend(caption.into_iter().map(Block::Paragraph));
        blocks
    }
}
