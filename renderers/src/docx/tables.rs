//! Tables: widths by content, a repeating header row, rows that do not break across pages.

use super::blocks::{Shape, spacer};
use super::draw::{Draw, Place};
use super::inlines::Format;
use crate::document::{CellSpan, Inline, Spans, Table};
use crate::package::measure::{Face, begins_rtl};
use crate::package::text::{columns, cut_columns, plain, rows};
use crate::package::widths;
use crate::package::xml::Xml;

/// The maximum number of columns that Word accepts.
const MOST_COLUMNS: usize = 63;
/// A table with at most this many rows and characters is kept on one page.
const KEPT_ROWS: usize = 12;
const KEPT_LETTERS: usize = 1_500;
/// The left and right padding of a cell together, in twips.
const PADDING: i64 = 216;

/// The appearance of a single cell that holds code, a quote or an alert.
#[derive(Debug, Clone, Copy, Default)]
pub struct Frame {
    /// Colours, RRGGBB.
    pub fill: Option<&'static str>,
    pub line: Option<&'static str>,
    pub bar: Option<&'static str>,
}

/// What all rows of a table share.
#[derive(Clone, Copy)]
struct RowsOf<'t> {
    table: &'t Table,
    widths: &'t [i64],
    spans: &'t Spans,
}

impl Draw<'_> {
    pub fn table(&mut self, xml: &mut Xml, table: &Table, place: Place) {
        let parts = cut_columns(table, MOST_COLUMNS);
        if !parts.is_empty() {
            self.warnings.say(format!(
                "A table of {} columns was split into {}: Word supports at most {MOST_COLUMNS} columns.",
                columns(table),
                parts.len()
            ));
            return parts.iter().for_each(|part| self.table(xml, part, place));
        }
        let count = columns(table);
        if count == 0 {
            return;
        }
        let half_points = [(6, 20), (9, 18), (14, 15)].into_iter().find(|(most, _)| count <= *most);
        let size = half_points.map_or(12, |(_, size)| size);
        let widths = twips(table, place.width, size);
        let rtl = table.header.first().is_some_and(|cell| begins_rtl(&plain(cell)));
        open(xml, place, &widths, rtl);
        let (is_short, spans) = (is_short(table), table.spans());
        let of = RowsOf { table, widths: &widths, spans: &spans };
        if !table.header.is_empty() {
            self.row(xml, of, 0, !table.rows.is_empty());
        }
        for at in 0..table.rows.len() {
            self.row(xml, of, at + 1, is_short && at + 1 < table.rows.len());
        }
        xml.close();
        spacer(xml);
    }

    /// A row; the header is row 0.
    fn row(&mut self, xml: &mut Xml, of: RowsOf<'_>, number: usize, keep_next: bool) {
        let RowsOf { table, widths, spans } = of;
        let row = number.checked_sub(1).map_or(&table.header, |at| &table.rows[at]);
        let header = !table.header.is_empty() && number < table.header_rows();
        xml.open("w:tr", &[]);
        xml.open("w:trPr", &[]);
        xml.empty("w:cantSplit", &[]);
        if header {
            xml.empty("w:tblHeader", &[]);
        }
        xml.close();
        for at in 0..widths.len() {
            let align = table.align.get(at).copied().unwrap_or_default();
            let cell = row.get(at).map_or(&[][..], Vec::as_slice);
            let style = match (header, widths.len()) {
                (true, ..=6) => "TableHead",
                (true, _) => "TableHeadSmall",
                (false, ..=6) => "TableText",
                (false, ..=9) => "TableTextSmall",
                (false, _) => "TableTextTiny",
            };
            let shape = Shape { style, keep_next, align, ..Shape::default() };
            match spans.at(number, at) {
                CellSpan::CoveredLeft(_) => {}
                span => self.cell(xml, cell, (span, &widths[at..]), shape),
            }
        }
        xml.close();
    }

    /// A cell; `widths` are those of its columns and of the columns after it.
    fn cell(
        &mut self,
        xml: &mut Xml,
        cell: &[Inline],
        (span, widths): (CellSpan, &[i64]),
        shape: Shape,
    ) {
        let bidi = begins_rtl(&plain(cell));
        let (columns, vertical) = match span {
            CellSpan::First(merge) => (merge.columns, (merge.rows > 1).then_some("restart")),
            CellSpan::CoveredAbove(merge) => (merge.columns, Some("continue")),
            CellSpan::Single | CellSpan::CoveredLeft(_) => (1, None),
        };
        let width: i64 = widths.iter().take(columns).sum();
        xml.open("w:tc", &[]);
        xml.open("w:tcPr", &[]);
        xml.empty("w:tcW", &[("w:w", &width.to_string()), ("w:type", "dxa")]);
        if columns > 1 {
            xml.val("w:gridSpan", &columns.to_string());
        }
        if let Some(vertical) = vertical {
            xml.val("w:vMerge", vertical);
        }
        xml.close();
        xml.open("w:p", &[]);
        Shape { bidi, ..shape }.write(xml);
        let format = Format { rtl: bidi, width: width - PADDING, ..Format::default() };
        self.inlines(xml, cell, format);
        xml.close();
        xml.close();
    }
}

/// Whether the table is kept on one page.
fn is_short(table: &Table) -> bool {
    let letters = || rows(table).flatten().map(|cell| plain(cell).len()).sum::<usize>();
    table.rows.len() <= KEPT_ROWS && letters() <= KEPT_LETTERS
}

fn open(xml: &mut Xml, place: Place, widths: &[i64], rtl: bool) {
    let (total, indent) = (widths.iter().sum::<i64>().to_string(), place.indent.to_string());
    xml.open("w:tbl", &[]);
    xml.open("w:tblPr", &[]);
    xml.val("w:tblStyle", "Table");
    if rtl {
        xml.empty("w:bidiVisual", &[]);
    }
    xml.empty("w:tblW", &[("w:w", &total), ("w:type", "dxa")]);
    xml.empty("w:tblInd", &[("w:w", &indent), ("w:type", "dxa")]);
    xml.empty("w:tblLayout", &[("w:type", "fixed")]);
    xml.empty("w:tblLook", &[("w:val", "0020"), ("w:firstRow", "1"), ("w:noVBand", "1")]);
    xml.close();
    grid(xml, widths);
}

pub fn grid(xml: &mut Xml, widths: &[i64]) {
    xml.open("w:tblGrid", &[]);
    for width in widths {
        xml.empty("w:gridCol", &[("w:w", &width.to_string())]);
    }
    xml.close();
}

/// The column widths in twips for text of that size in half points.
fn twips(table: &Table, room: i64, half_points: i64) -> Vec<i64> {
    let em = half_points * 10;
    let room_em = (room * 1000 / em) as u32;
    let shares = widths::columns(table, room_em, (PADDING * 1000 / em) as u32, Face::Text);
    shares.iter().map(|share| i64::from(*share) * em / 1000).collect()
}

/// A table of one cell with the content that `inside` writes, which must end with a paragraph.
pub fn one_cell(xml: &mut Xml, place: Place, frame: Frame, inside: impl FnOnce(&mut Xml)) {
    let (width, indent) = (place.width.to_string(), place.indent.to_string());
    xml.open("w:tbl", &[]);
    xml.open("w:tblPr", &[]);
    xml.empty("w:tblW", &[("w:w", &width), ("w:type", "dxa")]);
    xml.empty("w:tblInd", &[("w:w", &indent), ("w:type", "dxa")]);
    frame.borders(xml);
    xml.empty("w:tblLayout", &[("w:type", "fixed")]);
    xml.raw(r#"<w:tblCellMar><w:top w:w="60" w:type="dxa"/><w:left w:w="140" w:type="dxa"/>"#);
    xml.raw(r#"<w:bottom w:w="60" w:type="dxa"/><w:right w:w="140" w:type="dxa"/></w:tblCellMar>"#);
    xml.close();
    grid(xml, &[place.width]);
    xml.open("w:tr", &[]);
    xml.open("w:tc", &[]);
    xml.open("w:tcPr", &[]);
    xml.empty("w:tcW", &[("w:w", &width), ("w:type", "dxa")]);
    if let Some(fill) = frame.fill {
        xml.empty("w:shd", &[("w:val", "clear"), ("w:color", "auto"), ("w:fill", fill)]);
    }
    xml.close();
    inside(xml);
    xml.close();
    xml.close();
    xml.close();
}

impl Frame {
    fn borders(self, xml: &mut Xml) {
        xml.open("w:tblBorders", &[]);
        for name in ["w:top", "w:left", "w:bottom", "w:right"] {
            let (color, size) = match (name, self.bar) {
                ("w:left", Some(bar)) => (bar, "24"),
                _ => match self.line {
                    Some(line) => (line, "4"),
                    None => continue,
                },
            };
            let attributes =
                [("w:val", "single"), ("w:sz", size), ("w:space", "0"), ("w:color", color)];
            xml.empty(name, &attributes);
        }
        xml.close();
    }
}
