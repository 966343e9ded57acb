//! Quotes and alerts: any content with a bar on the left.

use super::blocks::{Shape, shape, spacer};
use super::draw::{Draw, Place};
use super::inlines::{RunFormat, run};
use super::tables::{Frame, one_cell};
use crate::document::{Alert, Block, Inline};
use crate::package::look;
use crate::package::measure::begins_rtl;
use crate::package::text::DEPTH;
use crate::package::words;
use crate::package::xml::Xml;

/// A quote with at most this many paragraphs is kept on one page.
const KEPT: usize = 4;
/// A quote with at most this many blocks may be in one row of a table.
const ONE_ROW: usize = 8;

impl Draw<'_> {
    /// A quote of paragraphs has the bar in its paragraph style; other quotes are placed in a cell
    /// with a left border.
    pub fn quote(&mut self, xml: &mut Xml, blocks: &[Block], place: Place) {
        let plain = blocks.iter().all(|block| matches!(block, Block::Paragraph(_)));
        // A row of a table moves to the next page as a whole, and Word does not list its headings.
        let has_heading = blocks.iter().any(|block| matches!(block, Block::Heading { .. }));
        if has_heading || (!plain && blocks.len() > ONE_ROW) {
            let inside = Place { style: "Quote", tight: false, ..place.indented(284) };
            return self.blocks(xml, blocks, inside);
        }
        if plain {
            let inside = Place { style: "Quote", tight: false, ..place.indented(284) };
            let (first, last) = blocks.split_at(blocks.len().saturating_sub(1));
            for block in first {
                self.kept(xml, block, inside, blocks.len() <= KEPT);
            }
            return self.blocks(xml, last, inside);
        }
        let frame = Frame { bar: Some(self.look.line), ..Frame::default() };
        one_cell(xml, place, frame, |xml| {
            self.inside(xml, blocks, Place { style: "QuoteText", tight: false, ..place.cell() });
        });
        spacer(xml);
    }

    /// Writes a paragraph, kept on the page of the next one if `keep_next` is set.
    pub fn kept(&mut self, xml: &mut Xml, block: &Block, place: Place, keep_next: bool) {
        match block {
            Block::Paragraph(content) if !matches!(content[..], [Inline::Image { .. }]) => {
                self.shaped(xml, content, Shape { keep_next, ..shape(place) }, place);
            }
            other => self.blocks(xml, std::slice::from_ref(other), place),
        }
    }

    pub fn alert(&mut self, xml: &mut Xml, alert: Alert, blocks: &[Block], place: Place) {
        let title = words::alert(alert, self.document.meta.language.as_deref());
        let color = look::alert(alert);
        let fill = Some(look::alert_fill(alert));
        let frame = Frame { bar: Some(color), fill, ..Frame::default() };
        one_cell(xml, place, frame, |xml| {
            xml.open("w:p", &[]);
            let bidi = begins_rtl(title);
            Shape { style: "AlertTitle", bidi, ..Shape::default() }.write(xml);
            run(xml, title, RunFormat { color: Some(color), rtl: bidi, ..RunFormat::default() });
            xml.close();
            self.inside(xml, blocks, Place { style: "BodyText", tight: false, ..place.cell() });
        });
        spacer(xml);
    }

    /// Writes blocks into a cell and, if needed, the final paragraph that Word requires.
    pub fn inside(&mut self, xml: &mut Xml, blocks: &[Block], place: Place) {
        self.blocks(xml, blocks, place);
        let ends = match blocks.last() {
            Some(Block::Paragraph(_) | Block::Heading { .. } | Block::Math(_)) => true,
            // Of a list that is flattened, nothing may be left.
            Some(Block::List(list)) if place.depth <= DEPTH => {
                list.items.last().is_some_and(|item| item.blocks.len() <= 1)
            }
            _ => false,
        };
        if !ends {
            spacer(xml);
        }
    }
}
