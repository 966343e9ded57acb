//! Tables as Typst content: the largest font size at which no number and no short word is broken.

use typst::foundations::{Content, NativeElement, Packed, Smart};
use typst::layout::{Abs, Alignment, Celled, HAlignment, Length, Rel, Sizing, TrackSizings};
use typst::model::{TableCell, TableChild, TableElem, TableHeader, TableItem};
use typst::text::{TextElem, TextSize};

use super::drawing::Drawing;
use super::lengths;
use crate::document::{Align, Inline, Table};
use crate::package::fitting::{self, CellForm, Fitting, Rooms};
use crate::package::measure::{Face, widest_word};
use crate::package::text::plain;
use crate::package::widths;

/// The font sizes of tables, in points.
const SIZES: [f64; 7] = [9.5, 9.0, 8.5, 8.0, 7.5, 7.0, 6.5];
/// The left and right padding of a cell, as in the template.
const PADDING: f64 = 12.0;
const FORM: CellForm = CellForm { padding: PADDING, widening: 1.12 };
/// A word of this width, in thousandths of an em, may be hyphenated.
const LONG_WORD: u32 = 9_000;

/// How a table fits into a room.
pub fn fit(table: &Table, rooms: Rooms) -> Fitting {
    let from = match columns(table) {
        ..=7 => 0,
        8..=10 => 2,
        _ => 4,
    };
    fitting::fit(table, rooms, &SIZES[from..], FORM)
}

/// Typst draws as many columns as the header has.
fn columns(table: &Table) -> usize {
    table.header.len().max(1)
}

impl Drawing<'_> {
    pub fn table(&mut self, table: &Table) -> Content {
        let fitting = fit(table, Rooms { upright: self.room.0, landscape: None });
        if !fitting.parts.is_empty() {
            self.warn(format!(
                "A table of {} columns was split into {} tables, because it is wider than the page.",
                columns(table),
                fitting.parts.len()
            ));
            let parts: Vec<_> = fitting.parts.iter().map(|part| self.table(part)).collect();
            return Content::sequence(parts);
        }
        let pictures = widths::pictures(table, |url| {
            self.drawable(url).map_or(0.0, |picture| picture.width * 0.75)
        });
        let widths = widths(table, self.room.0, fitting.points, &pictures);
        let room = self.room;
        let before = std::mem::replace(&mut self.points, fitting.points);
        let children = self.table_cells(table, &widths);
        (self.room, self.points) = (room, before);
        let tracks =
            widths.iter().map(|width| Sizing::Rel(Rel::from(Length::from(Abs::pt(*width)))));
        let align = fitting::alignments(table).into_iter().map(alignment);
        let drawn = TableElem::new(children)
            .with_columns(TrackSizings(tracks.collect()))
            .with_align(Celled::Array(align.collect()))
            .pack()
            .set(TextElem::size, TextSize(Abs::pt(fitting.points).into()))
            .set(TextElem::hyphenate, Smart::Custom(has_long_words(table)));
        drawn + self.release_notes()
    }

    fn table_cells(&mut self, table: &Table, widths: &[f64]) -> Vec<TableChild> {
        let header = self.holding_notes(|drawing| {
            let cells = table.header.iter().zip(widths);
            let cells = cells.map(|(cell, width)| drawing.cell(cell, *width)).collect();
            // A header that fills a page cannot be repeated.
            let is_short = table.header.iter().flatten().map(lengths::size).sum::<usize>() < 2_000;
            TableHeader::new(cells).with_repeat(is_short).pack()
        });
        let header = header.into_packed::<TableHeader>().map(TableChild::Header);
        let mut children: Vec<TableChild> = header.into_iter().collect();
        for row in &table.rows {
            let blank: &[Inline] = &[];
            for (at, width) in widths.iter().enumerate() {
                let cell = row.get(at).map_or(blank, Vec::as_slice);
                children.push(TableChild::Item(self.cell(cell, *width)));
            }
        }
        children
    }

    fn cell(&mut self, content: &[Inline], width: f64) -> TableItem {
        self.room.0 = (width - PADDING).max(8.0);
        let body = match lengths::cut(content).as_slice() {
            [] => Content::empty(),
            [part] => self.inlines(part),
            _ => self.paragraph(content),
        };
        TableItem::Cell(Packed::new(TableCell::new(body)))
    }
}

/// The width of each column, in points.
fn widths(table: &Table, room: f64, points: f64, pictures: &[f64]) -> Vec<f64> {
    let em = points * FORM.widening;
    let units = |length: f64| (length * 1000.0 / em) as u32;
    let pictures: Vec<u32> = pictures.iter().map(|points| units(*points)).collect();
    let padding = units(PADDING);
    let widths = widths::with_pictures(table, units(room), padding, Face::Text, &pictures);
    let mut widths: Vec<f64> = widths.iter().map(|w| f64::from(*w) * em / 1000.0).collect();
    widths.resize(columns(table), room / columns(table) as f64);
    widths
}

fn has_long_words(table: &Table) -> bool {
    let is_long = |cell: &Vec<Inline>| widest_word(&plain(cell), Face::Text) > LONG_WORD;
    crate::package::text::rows(table).flatten().any(is_long)
}

fn alignment(align: Align) -> Smart<Alignment> {
    Smart::Custom(Alignment::H(match align {
        Align::Start => HAlignment::Start,
        Align::Center => HAlignment::Center,
        Align::End => HAlignment::End,
    }))
}
