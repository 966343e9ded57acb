//! `<figure>` of HTML: its caption becomes the title of its picture or of its table.

use crate::document::{Block, Inline, change_blocks, each_in, plain_text};

/// An open figure.
#[derive(Default)]
pub struct Figure {
    pub blocks: Vec<Block>,
    /// The paragraphs of the caption.
    pub caption: Vec<Vec<Inline>>,
}

impl Figure {
    /// The blocks, with the caption as the title of the only picture, or before the only table. Of
    /// anything else, and if a title would lose its links, it is a paragraph after it.
    pub fn blocks(self) -> Vec<Block> {
        let Self { mut blocks, caption } = self;
        if caption.iter().all(|line| plain_text(line).trim().is_empty()) {
            return blocks;
        }
        let mut has_link = false;
        for line in &caption {
            each_in(line, &mut |inline| has_link |= matches!(inline, Inline::Link { .. }));
        }
        match &mut blocks[..] {
            [Block::Paragraph(content)] if !has_link => {
                if let [Inline::Image { title, .. }] = &mut content[..] {
                    let text: Vec<String> = caption.iter().map(|line| plain_text(line)).collect();
                    *title = text.join(" ");
                    return blocks;
                }
            }
            [Block::Table(_)] => {
                let mut content = vec![Inline::Text("Table:".to_owned())];
                for line in caption {
                    content.push(Inline::Text(" ".to_owned()));
                    content.extend(line);
                }
                // A picture cannot be in the caption of a table.
                blocks.insert(0, Block::Paragraph(content));
                change_blocks(&mut blocks[..1], &mut |inline| {
                    if let Inline::Image { alt, .. } = inline {
                        *inline = Inline::Text(std::mem::take(alt));
                    }
                });
                return blocks;
            }
            _ => {}
        }
        blocks.extend(caption.into_iter().map(Block::Paragraph));
        blocks
    }
}
