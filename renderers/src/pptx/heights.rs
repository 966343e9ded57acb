//! Heights of items on a slide, from measured text; all figures in points.

use super::formula_heights;
use super::items::{Para, ParaMark, ParaVoice, SlideItem};
use crate::document::{Inline, Table};
use crate::package::fitting::{self, CellForm};
use crate::package::measure::{self, Face, is_wide};
use crate::package::picture::Picture;
use crate::package::text::{plain, rows};
use crate::package::widths;

/// The largest scale of body text.
pub const LARGEST: f64 = 1.4;
/// Font sizes of the nine levels of body text at full scale, as in the master.
pub const SIZES: [f64; 9] = [20.0, 18.0, 16.0, 16.0, 16.0, 16.0, 16.0, 16.0, 16.0];
/// The font size of footnotes and captions.
pub const SMALL: f64 = 12.0;
/// The font size of a number that stands out.
pub const FIGURE: f64 = 88.0;
/// Space before a paragraph at full scale.
pub const BEFORE: f64 = 7.0;
/// The indent of a level.
pub const INDENT: f64 = 22.0;
/// The gap between two items.
pub const GAP: f64 = 12.0;
/// The minimum height of a picture, if possible.
const MIN_PICTURE: f64 = 150.0;
/// The minimum height of a chart, if possible.
const MIN_CHART: f64 = 240.0;
/// The padding of a cell: left and right, top and bottom, each together.
pub const CELL: (f64, f64) = (14.4, 8.0);
pub const CELL_FORM: CellForm = CellForm { padding: CELL.0, widening: 1.0 };
/// The smallest font size of a table.
pub const MIN_TABLE: f64 = 9.0;
/// The padding of a box.
pub const INSET: f64 = 10.0;

/// The font size of a paragraph.
pub fn size(para: &Para, scale: f64) -> f64 {
    match para.voice {
        ParaVoice::Small => SMALL * scale.min(1.0),
        ParaVoice::Figure => FIGURE,
        _ => SIZES[para.level.min(8)] * scale,
    }
}

pub fn height(item: &SlideItem<'_>, width: f64, scale: f64) -> f64 {
    match item {
        SlideItem::Text(paras) => paras_height(paras, width, scale),
        SlideItem::Alert(_, paras) => paras_height(paras, width - 2.0 * INSET, scale) + 2.0 * INSET,
        SlideItem::Table(table) => Columns::of(table, width, scale).height(table),
        SlideItem::Code { text, size, .. } => {
            code_height(text, width, size.unwrap_or_else(|| code_size(text, width, scale)))
        }
        SlideItem::Picture { picture, caption, .. } => {
            picture_height(picture) + caption_height(caption, width)
        }
        SlideItem::Chart(_) => MIN_CHART,
    }
}

/// A small picture is not enlarged beyond its own size.
fn picture_height(picture: &Picture<'_>) -> f64 {
    (f64::from(picture.height) * 0.75).clamp(20.0, MIN_PICTURE)
}

pub fn caption_height(caption: &str, width: f64) -> f64 {
    if caption.is_empty() {
        return 0.0;
    }
    lines(caption, width, SMALL, Face::Text) * line_height(caption, SMALL) + BEFORE
}

fn paras_height(paras: &[Para], width: f64, scale: f64) -> f64 {
    paras.iter().map(|para| para_height(para, width, scale)).sum()
}

pub fn para_height(para: &Para, width: f64, scale: f64) -> f64 {
    let size = size(para, scale);
    let room = width - (INDENT * para.level as f64 + hang(para.mark)) * scale.max(1.0);
    let text = plain(&para.content);
    let more = formula_heights::lines(&para.content) - 1.0;
    let lines = lines(&text, room.max(60.0), size, Face::Text) + more;
    lines * line_height(&text, size) + BEFORE * scale
}

/// The room for a bullet or number before the text.
pub fn hang(mark: ParaMark) -> f64 {
    match mark {
        ParaMark::None => 0.0,
        ParaMark::Bullet | ParaMark::Task(_) => INDENT,
        ParaMark::Number { last, .. } => match last {
            ..10 => INDENT,
            10..100 => INDENT + 12.0,
            _ => INDENT + 24.0,
        },
    }
}

fn lines(text: &str, width: f64, size: f64, face: Face) -> f64 {
    measure::lines(text, face, (width * 1000.0 / size) as u32) as f64
}

/// Fonts for ideographs have taller lines.
fn line_height(text: &str, size: f64) -> f64 {
    if text.chars().any(is_wide) { size * 1.45 } else { size * 1.2 }
}

/// The font size at which the longest line of code fits on one line, within bounds.
pub fn code_size(text: &str, width: f64, scale: f64) -> f64 {
    let longest = text.lines().map(|line| measure::width(line, Face::Code)).max().unwrap_or(0);
    let fits = (width - 2.0 * INSET) * 1000.0 / f64::from(longest.max(1_000));
    (fits * 0.98).clamp(11.0, 18.0 * scale).floor()
}

pub fn code_height(text: &str, width: f64, size: f64) -> f64 {
    let room = width - 2.0 * INSET;
    let line = |line| lines(line, room, size, Face::Code) * line_height(line, size);
    text.split('\n').map(line).sum::<f64>() + 2.0 * INSET
}

/// The columns of a table on a slide.
pub struct Columns {
    /// The font size.
    pub size: f64,
    pub widths: Vec<f64>,
}

impl Columns {
    pub fn of(table: &Table, width: f64, scale: f64) -> Self {
        let count = crate::package::text::columns(table);
        let full = match count {
            0..=5 => 16.0,
            6..=8 => 14.0,
            9..=11 => 12.0,
            _ => 10.0,
        };
        let sizes: Vec<f64> = [1.0, 0.9, 0.8, 0.7]
            .iter()
            .map(|part| (full * scale * part).floor().max(MIN_TABLE))
            .collect();
        let size = fitting::size(table, width, &sizes, CELL_FORM).unwrap_or(sizes[3]);
        let em = |points: f64| (points * 1000.0 / size) as u32;
        let widths = widths::columns(table, em(width), em(CELL.0), Face::Text);
        let mut widths: Vec<f64> = widths.iter().map(|w| f64::from(*w) * size / 1000.0).collect();
        // A narrow table is widened on a slide.
        let (sum, least) =
            (widths.iter().sum::<f64>(), width * (0.3 + 0.12 * count as f64).min(1.0));
        if sum > 0.0 && sum < least {
            for width in &mut widths {
                *width *= least / sum;
            }
        }
        Self { size, widths }
    }

    pub fn row_height(&self, row: &[Vec<Inline>], header: bool) -> f64 {
        let face = if header { Face::Bold } else { Face::Text };
        let cell = |(cell, width): (&Vec<Inline>, &f64)| {
            let text = plain(cell);
            let room = (width - CELL.0).max(self.size);
            let more = formula_heights::lines(cell) - 1.0;
            (lines(&text, room, self.size, face) + more) * line_height(&text, self.size)
        };
        row.iter().zip(&self.widths).map(cell).fold(self.size * 1.2, f64::max) + CELL.1
    }

    pub fn height(&self, table: &Table) -> f64 {
        let head = if table.header.is_empty() { 0 } else { table.header_rows() };
        rows(table).enumerate().map(|(at, row)| self.row_height(row, at < head)).sum()
    }
}
