//! Tables as Typst content: the largest font size at which no number and no short word is broken.

use std::num::NonZeroUsize;
use std::ops::Range;
use std::sync::Arc;

use typst::foundations::{Content, NativeElement, Packed, Smart, StyleChain};
use typst::layout::{Abs, Alignment, Celled, HAlignment, Length, Rel, Sides, Sizing, TrackSizings};
use typst::model::{StrongElem, TableCell, TableChild, TableElem, TableHeader, TableItem};
use typst::text::{TextElem, TextSize};
use typst::visualize::{Paint, Stroke};

use super::drawing::{Drawing, NotePlace};
use super::lengths;
use crate::document::{Align, CellSpan, Color, Inline, Merge, Spans, Table};
use crate::package::fitting::{self, CellForm, Fitting, Rooms};
use crate::package::look::look;
use crate::package::measure::{Face, widest_word};
use crate::package::text::plain;
use crate::package::widths;

/// The font sizes of tables, in points.
const SIZES: [f64; 7] = [9.5, 9.0, 8.5, 8.0, 7.5, 7.0, 6.5];
/// The left and right padding of a cell, as in the template.
const PADDING: f64 = 12.0;
const FORM: CellForm = CellForm { padding: PADDING, widening: 1.12 };
/// The colour of lines between rows, as in the template.
const LINE: &str = "C3C3C3";
/// A word of this width, in thousandths of an em, may be hyphenated.
const LONG_WORD: u32 = 9_000;

/// What all rows of a table share.
#[derive(Clone, Copy)]
struct PdfRows<'t> {
    widths: &'t [f64],
    spans: &'t Spans,
    alignments: &'t [Align],
    headers: usize,
}

/// Fits a table into the available width.
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
        let fitting = fit(table, Rooms { upright: self.room.width, landscape: None });
        if !fitting.parts.is_empty() {
            self.warn(fitting.report(columns(table), "page"));
            let parts: Vec<_> = fitting.parts.iter().map(|part| self.table(part)).collect();
            return Content::sequence(parts);
        }
        if fitting.is_tight {
            self.warn(fitting.report(columns(table), "page"));
        }
        let pictures = widths::pictures(table, |url| {
            self.drawable(url).map_or(0.0, |picture| picture.width * 0.75)
        });
        let widths = widths(table, self.room.width, fitting.points, &pictures);
        let room = self.room;
        let before = std::mem::replace(&mut self.points, fitting.points);
        let (spans, alignments) = (table.spans(), fitting::alignments(table));
        let headers = table.header_rows();
        let rows = PdfRows { widths: &widths, spans: &spans, alignments: &alignments, headers };
        let children = self.table_cells(table, rows);
        (self.room, self.points) = (room, before);
        let tracks =
            widths.iter().map(|width| Sizing::Rel(Rel::from(Length::from(Abs::pt(*width)))));
        let align = alignments.iter().copied().map(alignment);
        let drawn = TableElem::new(children)
            .with_columns(TrackSizings(tracks.collect()))
            .with_align(Celled::Array(align.collect()))
            .pack()
            .set(TextElem::size, TextSize(Abs::pt(fitting.points).into()))
            .set(TextElem::hyphenate, Smart::Custom(has_long_words(table)));
        drawn + self.release_notes()
    }

    fn table_cells(&mut self, table: &Table, of: PdfRows<'_>) -> Vec<TableChild> {
        // Typst extends a header down to the end of its cells, and places all others below it.
        let exceeds = |merge: &Merge| merge.row < of.headers && merge.row + merge.rows > of.headers;
        let has_header = !table.merges.iter().any(exceeds);
        let header = has_header.then(|| self.table_header(table, of));
        let header = header.and_then(|header| header.into_packed::<TableHeader>().ok());
        let mut children: Vec<TableChild> = header.map(TableChild::Header).into_iter().collect();
        let first = if has_header { of.headers } else { 0 };
        for number in first..=table.rows.len() {
            let cells = self.row(number, row_of(table, number), of);
            let cells = cells.into_iter().map(|cell| TableItem::Cell(Packed::new(cell)));
            children.extend(cells.map(TableChild::Item));
        }
        children
    }

    fn table_header(&mut self, table: &Table, of: PdfRows<'_>) -> Content {
        let header_rows = of.headers;
        let accent = look(&self.document.meta).accent;
        self.with_notes(NotePlace::After, |drawing| {
            let rows = (0..header_rows).map(|number| (number, row_of(table, number)));
            let cells = rows.flat_map(|(number, row)| {
                let cells = drawing.row(number, row, of);
                cells.into_iter().map(move |cell| (number, cell))
            });
            let cells = cells.map(|(number, cell)| match header_rows {
                1 => cell,
                _ => header_cell(cell, number..header_rows, accent),
            });
            let cells: Vec<_> = cells.map(|cell| TableItem::Cell(Packed::new(cell))).collect();
            // A header that fills a page cannot be repeated.
            let is_short = table.header.iter().flatten().map(lengths::size).sum::<usize>() < 2_000;
            TableHeader::new(cells).with_repeat(is_short).pack()
        })
    }

    /// The cells of a row, without those that others cover.
    fn row(&mut self, number: usize, row: &[Vec<Inline>], of: PdfRows<'_>) -> Vec<TableCell> {
        let PdfRows { widths, spans, alignments, headers } = of;
        let blank: &[Inline] = &[];
        let mut cells = Vec::new();
        for at in 0..widths.len() {
            let span = spans.at(number, at);
            let (rows, columns) = match span {
                CellSpan::Single => (1, 1),
                CellSpan::First(merge) => (merge.rows, merge.columns),
                CellSpan::CoveredLeft(_) | CellSpan::CoveredAbove(_) => continue,
            };
            let width = widths[at..].iter().take(columns).sum();
            let count = |count| NonZeroUsize::new(count).unwrap_or(NonZeroUsize::MIN);
            let content = row.get(at).map_or(blank, Vec::as_slice);
            let mut cell = self.cell(content, width);
            if columns > 1 {
                let own = alignments.get(at).copied().unwrap_or_default();
                let is_header = number < headers;
                let own = fitting::cell_alignment(own, span, content, is_header);
                cell = cell.with_align(alignment(own));
            }
            cells.push(cell.with_colspan(count(columns)).with_rowspan(count(rows)));
        }
        cells
    }

    fn cell(&mut self, content: &[Inline], width: f64) -> TableCell {
        self.room.width = (width - PADDING).max(8.0);
        TableCell::new(self.tight(content))
    }
}

/// The cells of a row; the header is row 0.
fn row_of(table: &Table, number: usize) -> &[Vec<Inline>] {
    match number.checked_sub(1) {
        Some(at) => &table.rows[at],
        None => &table.header,
    }
}

/// A cell of a header of several rows, in the first of `rows`, which end with the header. The
/// template only knows the first row of a table.
fn header_cell(mut cell: TableCell, rows: Range<usize>, accent: Color) -> TableCell {
    let is_last = cell.rowspan.get(StyleChain::default()).get() >= rows.len();
    let line = |color: &str, points: f64| {
        let paint = paint(color).map_or(Smart::Auto, Smart::Custom);
        let thickness = Smart::Custom(Abs::pt(points).into());
        Some(Some(Arc::new(Stroke { paint, thickness, ..Stroke::default() })))
    };
    let bottom = if is_last { line(&accent, 0.8) } else { line(LINE, 0.4) };
    if rows.start > 0 {
        cell.body = StrongElem::new(std::mem::take(&mut cell.body)).pack();
    }
    cell.with_fill(Smart::Custom(paint(&accent.lightened(0.9))))
        .with_stroke(Sides { bottom, ..Sides::default() })
}

fn paint(color: &str) -> Option<Paint> {
    Some(Paint::Solid(color.parse().ok()?))
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
