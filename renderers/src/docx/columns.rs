//! Columns side by side, written as the cells of a borderless row: text in section columns would
//! flow from one column into the next.

use super::draw::{Draw, Place};
use super::paper::GUTTER;
use super::tables::grid;
use crate::document::Block;
use crate::package::xml::Xml;

/// The minimum width of a column, in twips.
const LEAST: i64 = 800;

impl Draw<'_> {
    /// Columns in as many rows as they need. Word rejects a row of more than 63 cells, and what is
    /// beyond the paper is not visible.
    pub fn columns(&mut self, xml: &mut Xml, columns: &[Vec<Block>], place: Place) {
        let fitting = ((place.width + GUTTER) / (LEAST + GUTTER)).max(1) as usize;
        let rows = columns.len().div_ceil(fitting).max(1);
        if rows > 1 {
            let count = columns.len();
            self.warnings.add(format!("{count} columns are in {rows} rows, to fit on the page."));
        }
        for row in columns.chunks(columns.len().div_ceil(rows).max(1)) {
            self.row_of_columns(xml, row, place);
        }
    }

    fn row_of_columns(&mut self, xml: &mut Xml, columns: &[Vec<Block>], place: Place) {
        let count = columns.len() as i64;
        let width = ((place.width - GUTTER * (count - 1)) / count.max(1)).max(LEAST);
        let last = columns.len().saturating_sub(1);
        let widths: Vec<i64> =
            (0..columns.len()).map(|at| if at < last { width + GUTTER } else { width }).collect();
        let (total, indent) = (widths.iter().sum::<i64>().to_string(), place.indent.to_string());
        xml.open("w:tbl", &[]);
        xml.open("w:tblPr", &[]);
        xml.empty("w:tblW", &[("w:w", &total), ("w:type", "dxa")]);
        xml.empty("w:tblInd", &[("w:w", &indent), ("w:type", "dxa")]);
        xml.empty("w:tblLayout", &[("w:type", "fixed")]);
        xml.raw(r#"<w:tblCellMar><w:left w:w="0" w:type="dxa"/>"#);
        xml.raw(r#"<w:right w:w="0" w:type="dxa"/></w:tblCellMar>"#);
        xml.close();
        grid(xml, &widths);
        xml.open("w:tr", &[]);
        for (at, column) in columns.iter().enumerate() {
            xml.open("w:tc", &[]);
            xml.open("w:tcPr", &[]);
            xml.empty("w:tcW", &[("w:w", &widths[at].to_string()), ("w:type", "dxa")]);
            if at < last {
                xml.open("w:tcMar", &[]);
                xml.empty("w:right", &[("w:w", &GUTTER.to_string()), ("w:type", "dxa")]);
                xml.close();
            }
            xml.close();
            self.inside(xml, column, Place { indent: 0, width, depth: place.depth + 1, ..place });
            xml.close();
        }
        xml.close();
        xml.close();
        super::blocks::spacer(xml);
    }
}
