//! The text direction of blocks, given by their first letter (rule P2 of UAX 9) as in Word and
//! PowerPoint, regardless of the document's language.

use typst::foundations::{Content, Smart};
use typst::layout::Dir;
use typst::text::{TextDir, TextElem};

use crate::Document;
use crate::document::{Block, Inline};
use crate::package::look;
use crate::package::measure::{is_rtl, runs_rtl};
use crate::package::text::flat;

/// Whether any text in the document is right-to-left; if not, no directions are set.
pub fn any_rtl(document: &Document) -> bool {
    let mut found = look::is_rtl(look::language(&document.meta));
    document.each_inline(&mut |inline| {
        if let Inline::Text(text) = inline {
            found |= text.chars().any(is_rtl);
        }
    });
    found
}

/// The direction of a text, if it has letters.
pub fn of_text(text: &str) -> Smart<Dir> {
    let letter = text.chars().find(|letter| letter.is_alphabetic());
    letter.map_or(Smart::Auto, |letter| {
        Smart::Custom(if is_rtl(letter) { Dir::RTL } else { Dir::LTR })
    })
}

/// Sets the direction of the rendered block.
pub fn directed(block: &Block, drawn: Content, mostly: bool) -> Content {
    let direction = match block {
        Block::Code { .. } => Smart::Custom(Dir::LTR),
        Block::Heading { .. }
        | Block::Paragraph(_)
        | Block::List(_)
        | Block::Table(_)
        | Block::Quote { .. }
        | Block::Definitions(_) => {
            let text = flat(std::slice::from_ref(block)).join(" ");
            if runs_rtl(&text, mostly) { Smart::Custom(Dir::RTL) } else { of_text(&text) }
        }
        Block::Columns(_) | Block::Chart(_) | Block::Math(_) | Block::Break | Block::Comment(_) => {
            Smart::Auto
        }
    };
    // Text without letters takes the direction of its container.
    if direction == Smart::Auto {
        return drawn;
    }
    drawn.set(TextElem::dir, TextDir(direction))
}
