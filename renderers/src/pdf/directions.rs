//! Which way blocks run: as the first letter in them does (rule P2 of UAX 9), as in Word and PowerPoint,
//! whatever the language of the document is.

use typst::foundations::{Content, Smart};
use typst::layout::Dir;
use typst::text::{TextDir, TextElem};

use crate::Document;
use crate::document::{Block, Inline};
use crate::package::look;
use crate::package::measure::is_rtl;
use crate::package::text::flat;

/// Whether anything in the document runs from right to left; otherwise there is nothing to say.
pub fn any_rtl(document: &Document) -> bool {
    let mut found = look::is_rtl(look::language(&document.meta));
    document.each_inline(&mut |inline| {
        if let Inline::Text(text) = inline {
            found |= text.chars().any(is_rtl);
        }
    });
    found
}

/// The direction of a text, where it has letters.
pub fn of_text(text: &str) -> Smart<Dir> {
    let letter = text.chars().find(|letter| letter.is_alphabetic());
    letter.map_or(Smart::Auto, |letter| {
        Smart::Custom(if is_rtl(letter) { Dir::RTL } else { Dir::LTR })
    })
}

/// The block, as it was drawn, in its direction.
pub fn directed(block: &Block, drawn: Content) -> Content {
    let direction = match block {
        Block::Code { .. } => Smart::Custom(Dir::LTR),
        Block::Heading { .. }
        | Block::Paragraph(_)
        | Block::List(_)
        | Block::Table(_)
        | Block::Quote { .. }
        | Block::Definitions(_) => of_text(&flat(std::slice::from_ref(block)).join(" ")),
        Block::Columns(_) | Block::Chart(_) | Block::Math(_) | Block::Break | Block::Comment(_) => {
            Smart::Auto
        }
    };
    // What has no letters runs as what it stands in.
    if direction == Smart::Auto {
        return drawn;
    }
    drawn.set(TextElem::dir, TextDir(direction))
}
