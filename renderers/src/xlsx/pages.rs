//! State shared by all sheets of a workbook: its tables and warnings.

use std::collections::{BTreeMap, HashMap, VecDeque};

use rust_xlsxwriter::Image;

use super::cells::Typed;
use super::formula::{Expr, Grid, Tops, Value};
use super::look::Column;
use super::number_format::yen_of;
use super::pictures::CELL_PICTURE_BYTES;
use super::runs::Runs;
use crate::Document;
use crate::document::Table;
use crate::package::look::{Look, look};
use crate::package::warnings::Warnings;
use crate::pdf::fontset::Fonts;
use crate::pdf::images::{self, Pictures};
use crate::rendered::Warning;

/// The sheets of a workbook, and warnings about lost content.
pub struct Pages<'a> {
    pub document: &'a Document,
    pub pictures: Pictures,
    /// The pictures that have been decoded, by URL, or the reason why that is impossible.
    pub images: HashMap<String, Result<Image, String>>,
    /// The number of bytes that further pictures in cells may have.
    pub cell_bytes_left: usize,
    pub fonts: &'a Fonts,
    pub look: Look<'a>,
    /// Receives the warnings in the end.
    warnings: &'a mut Vec<Warning>,
    added: Warnings,
    pub links: usize,
    /// Whether the current sheet is right-to-left.
    pub rtl: bool,
    /// All tables that have been read and not yet written.
    pub tables: VecDeque<Read>,
    pub grid: Grid,
    pub tops: Tops,
    pub has_math: bool,
    pub formulas_named: usize,
    /// Whether results of formulas have marks, which are to be removed.
    pub has_marked_results: bool,
    /// Warnings, with the number of occurrences.
    losses: BTreeMap<&'static str, usize>,
}

impl<'a> Pages<'a> {
    pub fn new(document: &'a Document, fonts: &'a Fonts, warnings: &'a mut Vec<Warning>) -> Self {
        Self::with(document, fonts, warnings, images::load(&document.assets))
    }

    /// For computing only: no picture is decoded.
    pub fn without_pictures(
        document: &'a Document,
        fonts: &'a Fonts,
        warnings: &'a mut Vec<Warning>,
    ) -> Self {
        Self::with(document, fonts, warnings, images::load(&BTreeMap::new()))
    }

    fn with(
        document: &'a Document,
        fonts: &'a Fonts,
        warnings: &'a mut Vec<Warning>,
        pictures: Pictures,
    ) -> Self {
        Pages {
            document,
            pictures,
            images: HashMap::new(),
            cell_bytes_left: CELL_PICTURE_BYTES,
            fonts,
            look: look(&document.meta),
            added: Warnings::from(warnings),
            warnings,
            links: 0,
            rtl: false,
            tables: VecDeque::new(),
            grid: Grid::with_yen(yen_of(document.meta.language.as_deref())),
            tops: Tops::default(),
            has_math: false,
            formulas_named: 0,
            has_marked_results: false,
            losses: BTreeMap::new(),
        }
    }

    pub fn warn(&mut self, warning: impl Into<Warning>) {
        self.added.add(warning);
    }

    pub fn lose(&mut self, sentence: &'static str) {
        *self.losses.entry(sentence).or_default() += 1;
    }

    pub fn finish(self) {
        *self.warnings = self.added.list();
        if self.has_math {
            self.warnings.push("Mathematical formulas are shown as their LaTeX source.".into());
        }
        self.warnings.extend(self.losses.iter().map(|(sentence, count)| match count {
            1 => Warning::from(*sentence),
            count => format!("{sentence} ({count} times)").into(),
        }));
    }
}

/// The cells of a table, and their meaning if they are not plain text.
pub type Read = Vec<Vec<(Runs, Option<Meaning>)>>;

/// A cell that is not plain text.
pub enum Meaning {
    Typed(Typed),
    Formula(Expr),
}

/// A table in rows `top` to `bottom` of a sheet.
#[derive(Clone, Copy)]
pub struct WrittenTable<'a> {
    pub table: &'a Table,
    pub names: &'a [String],
    pub read: &'a Read,
    pub top: u32,
    pub bottom: u32,
}

/// What a cell contains, and its column.
pub struct CellContent<'a> {
    pub runs: &'a Runs,
    pub meaning: Option<&'a Meaning>,
    pub column: Column,
}

/// A formula and its value; `None` if it cannot be computed.
pub struct Computed<'a> {
    pub formula: &'a Expr,
    pub value: Option<Value>,
}

/// A cell of a table whose header is in row `top` of the sheet; the cell's row is relative to it.
#[derive(Clone, Copy)]
pub struct TablePlace {
    pub top: u32,
    pub row: u32,
    pub column: u16,
}
