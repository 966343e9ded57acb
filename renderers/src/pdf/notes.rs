//! The footnotes of headings and of the paragraphs below them.

use typst::foundations::{Content, NativeElement, Smart};
use typst::layout::{Abs, BlockBody, BlockElem, HideElem, PlaceElem};
use typst::model::ParElem;

use super::drawing::{Drawing, NotePlace};
use crate::document::{Block, Inline, each_in};
use crate::package::text::plain;

/// The space above headings by their level, in points, as in the template.
const ABOVE: [f64; 4] = [28.2, 21.8, 17.6, 16.8];
/// The height of a line and the width of a letter, in points.
const LINE: f64 = 15.0;
const LETTER: f64 = 5.25;
/// The maximum height of a paragraph that is kept together, as a part of the page.
const SHORT: f64 = 0.3;

/// Headings with the paragraph below them, which has a footnote.
///
/// If the footnote has no room, Typst moves the first line of the paragraph to the next page without
/// its heading. A block moves as a whole.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HeadedNote {
    pub blocks: usize,
    above: f64,
    is_breakable: bool,
}

impl HeadedNote {
    pub fn keep(self, content: Content) -> Content {
        BlockElem::new()
            .with_breakable(self.is_breakable)
            .with_above(Smart::Custom(Abs::pt(self.above).into()))
            .with_body(Some(BlockBody::Content(content)))
            .pack()
    }
}

impl Drawing<'_> {
    /// Draws with the footnotes at that place.
    pub fn with_notes(
        &mut self,
        place: NotePlace,
        draw: impl FnOnce(&mut Self) -> Content,
    ) -> Content {
        let outer = std::mem::replace(&mut self.note_place, place);
        let drawn = draw(self);
        self.note_place = outer;
        drawn
    }

    /// The references that were postponed, as a line of their own.
    pub fn release_notes(&mut self) -> Content {
        if self.note_place != NotePlace::Here || self.held_notes.is_empty() {
            return Content::empty();
        }
        let marks: Vec<Inline> = self.held_notes.drain(..).map(Inline::Footnote).collect();
        ParElem::new(self.inlines(&marks)).pack()
    }

    /// The footnotes that were mentioned for the first time, without their marks.
    pub fn mentioned_notes(&mut self) -> Content {
        if self.note_place != NotePlace::Here {
            return Content::empty();
        }
        let mut notes = std::mem::take(&mut self.held_notes);
        notes.sort_unstable();
        notes.dedup();
        notes.retain(|note| !self.seen_notes.contains(note));
        if notes.is_empty() {
            return Content::empty();
        }
        let notes: Vec<Inline> = notes.into_iter().map(Inline::Footnote).collect();
        PlaceElem::new(HideElem::new(self.inlines(&notes)).pack()).pack()
    }

    /// The headings at the beginning of these blocks, if a paragraph with a new footnote follows.
    pub fn headed_note(&self, blocks: &[Block]) -> Option<HeadedNote> {
        let Some(Block::Heading { level, .. }) = blocks.first() else { return None };
        let is_before = |block: &&Block| matches!(block, Block::Heading { .. });
        let headings = blocks.iter().take_while(is_before).count();
        let Some(Block::Paragraph(content)) = blocks.get(headings) else { return None };
        let mut has_note = false;
        each_in(content, &mut |inline| {
            has_note |= matches!(inline, Inline::Footnote(note) if !self.seen_notes.contains(note));
        });
        let lines = plain(content).chars().count() as f64 * LETTER / self.room.width.max(1.0);
        let above = ABOVE[usize::from(level - 1).min(ABOVE.len() - 1)];
        let is_breakable = lines * LINE > self.room.height * SHORT;
        has_note.then_some(HeadedNote { blocks: headings + 1, above, is_breakable })
    }
}
