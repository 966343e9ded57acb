//! Lists: bullets, restarting numbers, tasks.

use super::blocks::{ListNumber, Shape};
use super::draw::{Draw, Place};
use super::numbering::{BULLET, DONE, LEVELS, OPEN, STEP};
use crate::document::{Block, Item, List};
use crate::package::xml::Xml;

/// The highest number that Word supports.
const HIGHEST: u64 = 32_767;

impl Draw<'_> {
    pub fn list(&mut self, xml: &mut Xml, list: &List, place: Place) {
        if self.list_of_captions(xml, list) {
            return;
        }
        let level = place.level.min(LEVELS - 1);
        if place.level >= LEVELS {
            self.warnings.add(format!("Lists deeper than {LEVELS} levels stay on the last level."));
        }
        let number = list.start.map(|start| {
            if start > HIGHEST {
                self.warnings.add(format!(
                    "A list starts at {HIGHEST}: Word does not support higher numbers."
                ));
            }
            self.numbering.begin(level, start.min(HIGHEST))
        });
        for item in &list.items {
            let number = match item.task {
                Some(true) => DONE,
                Some(false) => OPEN,
                None => number.unwrap_or(BULLET),
            };
            self.item(
                xml,
                item,
                ListNumber { level, id: number },
                Place { tight: list.tight, ..place },
            );
        }
    }

    /// Writes an item: its first paragraph has the bullet or number, the others are indented below
    /// it.
    fn item(&mut self, xml: &mut Xml, item: &Item, number: ListNumber, place: Place) {
        let mark = Shape {
            style: "ListParagraph",
            number: Some(number),
            // Contexts that are indented by something other than a list set their own indent.
            indent: place.indent + STEP,
            hanging: 357,
            tight: place.tight,
            ..Shape::default()
        };
        let inside =
            Place { style: "ListParagraph", level: place.level + 1, ..place.indented(STEP) };
        let rest = if let Some((Block::Paragraph(content), rest)) = item.blocks.split_first() {
            self.shaped(xml, content, mark, inside);
            rest
        } else {
            self.shaped(xml, &[], mark, inside);
            &item.blocks[..]
        };
        self.blocks(xml, rest, inside);
    }
}
