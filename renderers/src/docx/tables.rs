//! Tables: widths by content, a repeating header row, rows that do not break across pages.

use super::blocks::{Shape, spacer};
use super::draw::{Draw, Place};
use super::inlines::RunFormat;
use crate::document::{Align, CellSpan, Color, Inline, Spans, Table};
use crate::package::fitting::{self, CellForm, Rooms};
use crate::package::measure::Face;
use crate::package::text::{columns, plain, rows};
use crate::package::widths;
use crate::package::xml::Xml;

/// The font sizes of tables, in points.
const SIZES: [f64; 4] = [10.0, 9.0, 7.5, 6.5];
/// The maximum number of columns of each size.
const COLUMNS: [usize; 4] = [6, 9, 14, usize::MAX];
/// A table with at most this many rows and characters is kept on one page.
const KEPT_ROWS: usize = 12;
const KEPT_LETTERS: usize = 1_500;
/// The left and right padding of a cell together, in twips.
pub const PADDING: i64 = 216;
const FORM: CellForm = CellForm { padding: PADDING as f64 / 20.0, widening: 1.0 };

/// The appearance of a single cell that holds code, a quote or an alert.
#[derive(Debug, Clone, Copy, Default)]
pub struct Frame {
    pub fill: Option<Color>,
    /// Colours, RRGGBB.
    pub line: Option<&'static str>,
    pub bar: Option<&'static str>,
}

/// What all rows of a table share.
#[derive(Clone, Copy)]
struct WordRows<'t> {
    table: &'t Table,
    widths: &'t [i64],
    spans: &'t Spans,
    look: RowLook<'t>,
    /// Whether the first column is at the right.
    is_rtl: bool,
}

impl Draw<'_> {
    pub fn table(&mut self, xml: &mut Xml, table: &Table, place: Place) {
        let count = columns(table);
        if count == 0 {
            return;
        }
        let fitting = fit(table, Rooms { upright: points(place.width), landscape: None });
        if !fitting.parts.is_empty() {
            self.warnings.add(fitting.report(count, "page"));
            return fitting.parts.iter().for_each(|part| self.table(xml, part, place));
        }
        if fitting.is_tight {
            self.warnings.add(fitting.report(count, "page"));
        }
        let at = SIZES.iter().position(|size| *size <= fitting.points).unwrap_or(0);
        let size = (fitting.points * 2.0) as i64;
        let alignments = fitting::alignments(table);
        let look = RowLook { styles: STYLES[at], alignments: &alignments };
        let pictures = widths::pictures(table, |url| self.picture_points(url));
        let widths = twips(table, place.width, size, &pictures);
        let rtl = table.header.first().is_some_and(|cell| self.bidi(&plain(cell))) || self.is_rtl;
        open(xml, place, &widths, rtl);
        let (is_short, spans) = (is_short(table), table.spans());
        let of = WordRows { table, widths: &widths, spans: &spans, look, is_rtl: rtl };
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
    fn row(&mut self, xml: &mut Xml, of: WordRows<'_>, number: usize, keep_next: bool) {
        let WordRows { table, widths, spans, is_rtl, .. } = of;
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
            let align = of.look.alignments.get(at).copied().unwrap_or_default();
            let cell = row.get(at).map_or(&[][..], Vec::as_slice);
            let [text, head] = of.look.styles;
            let style = if header { head } else { text };
            let span = spans.at(number, at);
            let align = fitting::cell_alignment(align, span, cell, header);
            let align = if is_rtl && is_neutral(&plain(cell)) { mirrored(align) } else { align };
            let shape = Shape { style, keep_next, align, ..Shape::default() };
            match span {
                CellSpan::CoveredLeft(_) => {}
                span => self.cell(xml, cell, CellPlace { span, widths: &widths[at..] }, shape),
            }
        }
        xml.close();
    }

    fn cell(&mut self, xml: &mut Xml, cell: &[Inline], at: CellPlace<'_>, shape: Shape) {
        let bidi = self.bidi(&plain(cell));
        let (columns, vertical) = match at.span {
            CellSpan::First(merge) => (merge.columns, (merge.rows > 1).then_some("restart")),
            CellSpan::CoveredAbove(merge) => (merge.columns, Some("continue")),
            CellSpan::Single | CellSpan::CoveredLeft(_) => (1, None),
        };
        let width: i64 = at.widths.iter().take(columns).sum();
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
        let format = RunFormat {
            style: shape.style,
            rtl: bidi,
            width: width - PADDING,
            ..RunFormat::default()
        };
        self.inlines(xml, cell, format);
        xml.close();
        xml.close();
    }
}

/// Where a cell is.
struct CellPlace<'a> {
    span: CellSpan,
    /// The widths of its columns and of the columns after it.
    widths: &'a [i64],
}

/// Whether a text has no direction of its own, so that its paragraph runs from left to right.
fn is_neutral(text: &str) -> bool {
    !text.chars().any(char::is_alphabetic)
}

fn mirrored(align: Align) -> Align {
    match align {
        Align::Start => Align::End,
        Align::Center => Align::Center,
        Align::End => Align::Start,
    }
}

/// The styles of text and header for each of [`SIZES`].
const STYLES: [[&str; 2]; 4] = [
    ["TableText", "TableHead"],
    ["TableTextSmall", "TableHeadSmall"],
    ["TableTextTiny", "TableHeadTiny"],
    ["TableTextLeast", "TableHeadLeast"],
];

#[derive(Clone, Copy)]
struct RowLook<'t> {
    styles: [&'static str; 2],
    alignments: &'t [Align],
}

/// Fits a table into the available width.
pub fn fit(table: &Table, rooms: Rooms) -> fitting::Fitting {
    let count = columns(table);
    let from = COLUMNS.iter().position(|limit| count <= *limit).unwrap_or(0);
    fitting::fit(table, rooms, &SIZES[from..], FORM)
}

pub fn points(twips: i64) -> f64 {
    twips as f64 / 20.0
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
pub fn twips(table: &Table, room: i64, half_points: i64, pictures: &[f64]) -> Vec<i64> {
    let em = half_points * 10;
    let room_em = (room * 1000 / em) as u32;
    let padding = (PADDING * 1000 / em) as u32;
    let pictures = pictures.iter().map(|points| (points * 20_000.0 / em as f64) as u32);
    let pictures: Vec<u32> = pictures.collect();
    let shares = widths::with_pictures(table, room_em, padding, Face::Text, &pictures);
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
        xml.empty("w:shd", &[("w:val", "clear"), ("w:color", "auto"), ("w:fill", &fill)]);
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
