//! Tables and pictures on a slide.

use super::geometry::{Area, Geometry, emu};
use super::heights::{CELL, Columns};
use super::markup::fill;
use super::page::{Piece, SlidePage};
use super::paragraphs::TextFormat;
use super::sheet::Sheet;
use crate::document::{Align, CellSpan, Spans, Table};
use crate::package::fitting::{alignments, cell_alignment};
use crate::package::measure::begins_rtl;
use crate::package::picture::{self, EMU_PER_PIXEL, EmuSize, Picture, PictureStores};
use crate::package::text::{plain, rows};
use crate::package::xml::Xml;
use crate::package::{Package, Relations};

/// What all rows of a table share.
#[derive(Clone, Copy)]
struct SlideRows<'t> {
    table: &'t Table,
    columns: &'t Columns,
    spans: &'t Spans,
    alignments: &'t [Align],
}

impl Sheet<'_, '_> {
    pub fn table(&mut self, xml: &mut Xml, table: &Table, piece: &Piece<'_>) {
        let columns = Columns::of(table, piece.area.width, piece.scale);
        let width: f64 = columns.widths.iter().sum();
        let height = columns.height(table).min(piece.area.height);
        let id = self.next_id();
        xml.open("p:graphicFrame", &[]);
        xml.open("p:nvGraphicFramePr", &[]);
        xml.empty("p:cNvPr", &[("id", &id), ("name", &format!("Table {id}"))]);
        xml.raw("<p:cNvGraphicFramePr><a:graphicFrameLocks noGrp=\"1\"/></p:cNvGraphicFramePr><p:nvPr/>");
        xml.close();
        let rtl = rows(table).next().and_then(|row| row.first());
        let rtl = self.deck.geometry.rtl || rtl.is_some_and(|cell| begins_rtl(&plain(cell)));
        // A table that is narrower than its place stands where reading begins.
        let x = piece.area.x + if rtl { (piece.area.width - width).max(0.0) } else { 0.0 };
        place(xml, "p:xfrm", Area { x, width, height, ..piece.area });
        xml.open("a:graphic", &[]);
        let uri = "http://schemas.openxmlformats.org/drawingml/2006/table";
        xml.open("a:graphicData", &[("uri", uri)]);
        xml.open("a:tbl", &[]);
        let head = if table.header.is_empty() { "0" } else { "1" };
        let mut properties = vec![("firstRow", head), ("bandRow", "1")];
        if rtl {
            properties.insert(0, ("rtl", "1"));
        }
        xml.empty("a:tblPr", &properties);
        xml.open("a:tblGrid", &[]);
        for width in &columns.widths {
            xml.empty("a:gridCol", &[("w", &emu(*width).to_string())]);
        }
        xml.close();
        let (spans, alignments) = (table.spans(), alignments(table));
        let of = SlideRows { table, columns: &columns, spans: &spans, alignments: &alignments };
        let first = usize::from(table.header.is_empty());
        for at in first..=table.rows.len() {
            self.row(xml, of, at);
        }
        for _ in 0..4 {
            xml.close();
        }
    }

    /// A row; the header is row 0.
    fn row(&mut self, xml: &mut Xml, of: SlideRows<'_>, number: usize) {
        let SlideRows { table, columns, spans, alignments } = of;
        let row = number.checked_sub(1).map_or(&table.header, |at| &table.rows[at]);
        let header = !table.header.is_empty() && number < table.header_rows();
        let height = emu(columns.row_height(row, header)).to_string();
        xml.open("a:tr", &[("h", &height)]);
        for at in 0..columns.widths.len() {
            let cell = row.get(at).map_or(&[][..], Vec::as_slice);
            let align = alignments.get(at).copied().unwrap_or_default();
            let align = cell_alignment(align, spans.at(number, at), cell, header);
            let color = header.then_some(self.deck.look.accent);
            let size = Some(columns.size);
            let merged = merged(spans.at(number, at), number);
            let merged: Vec<_> = merged.iter().map(|(name, value)| (*name, &**value)).collect();
            xml.open("a:tc", &merged);
            let ink = self.ink.take_if(|_| header);
            xml.open("a:txBody", &[]);
            xml.raw("<a:bodyPr/><a:lstStyle/>");
            self.line(
                xml,
                cell,
                align,
                TextFormat { bold: header, color, size, ..TextFormat::default() },
            );
            self.ink = self.ink.or(ink);
            xml.close();
            self.frame(xml, header);
            xml.close();
        }
        xml.close();
    }

    fn frame(&self, xml: &mut Xml, header: bool) {
        let (side, above) = (emu(CELL.0 / 2.0).to_string(), emu(CELL.1 / 2.0).to_string());
        let margins =
            [("marL", side.as_str()), ("marR", &side), ("marT", &above), ("marB", &above)];
        xml.open("a:tcPr", &[&margins[..], &[("anchor", "ctr")]].concat());
        for name in ["a:lnL", "a:lnR", "a:lnT", "a:lnB"] {
            xml.open(name, &[("w", "9525")]);
            fill(xml, self.deck.look.line);
            xml.close();
        }
        if header {
            fill(xml, &self.deck.look.tint);
        } else {
            xml.empty("a:noFill", &[]);
        }
        xml.close();
    }

    /// A picture centred in its area.
    pub fn picture(&mut self, xml: &mut Xml, picture: &Picture<'_>, alt: &str, area: Area) {
        let limit = EmuSize { width: emu(area.width), height: emu(area.height) };
        let size = picture.fill(limit);
        let points = |units: i64| units as f64 * 0.75 / EMU_PER_PIXEL as f64;
        let (width, height) = (points(size.width), points(size.height));
        let area = Area {
            x: area.x + (area.width - width) / 2.0,
            y: area.y + (area.height - height) / 2.0,
            width,
            height,
        };
        let id = self.next_id();
        xml.open("p:pic", &[]);
        xml.open("p:nvPicPr", &[]);
        xml.empty("p:cNvPr", &[("id", &id), ("name", &format!("Picture {id}")), ("descr", alt)]);
        xml.raw("<p:cNvPicPr><a:picLocks noChangeAspect=\"1\"/></p:cNvPicPr><p:nvPr/>");
        xml.close();
        framed(xml, stores(&mut self.deck.package, &mut self.relations), picture, area);
        xml.close();
    }

    /// The pictures that reach the edges of the slide, behind its text.
    pub fn backdrops(&mut self, xml: &mut Xml, page: &SlidePage<'_>) {
        for backdrop in &page.backdrops {
            let id = self.next_id();
            let (alt, name) = (&backdrop.alt, format!("Picture {id}"));
            xml.open("p:pic", &[]);
            xml.open("p:nvPicPr", &[]);
            xml.empty("p:cNvPr", &[("id", &id), ("name", &name), ("descr", alt)]);
            xml.raw("<p:cNvPicPr><a:picLocks noChangeAspect=\"1\"/></p:cNvPicPr><p:nvPr/>");
            xml.close();
            xml.open("p:blipFill", &[]);
            let stores = stores(&mut self.deck.package, &mut self.relations);
            picture::blip(xml, stores, &backdrop.picture);
            let crop = backdrop.crop().map(|share| ((share * 100_000.0) as i64).to_string());
            let [left, top, right, bottom] = &crop;
            xml.empty("a:srcRect", &[("l", left), ("t", top), ("r", right), ("b", bottom)]);
            xml.raw("<a:stretch><a:fillRect/></a:stretch>");
            xml.close();
            xml.open("p:spPr", &[]);
            place(xml, "a:xfrm", backdrop.area);
            xml.raw("<a:prstGeom prst=\"rect\"><a:avLst/></a:prstGeom>");
            xml.close();
            xml.close();
        }
    }
}

/// The attributes of a merged cell, or of one that is covered.
fn merged(span: CellSpan, number: usize) -> Vec<(&'static str, String)> {
    let (merge, is_left, is_above) = match span {
        CellSpan::Single => return Vec::new(),
        CellSpan::First(merge) => (merge, false, false),
        CellSpan::CoveredLeft(merge) => (merge, true, number > merge.row),
        CellSpan::CoveredAbove(merge) => (merge, false, true),
    };
    let mut attributes = Vec::new();
    if merge.rows > 1 && !is_above {
        attributes.push(("rowSpan", merge.rows.to_string()));
    }
    if merge.columns > 1 && !is_left {
        attributes.push(("gridSpan", merge.columns.to_string()));
    }
    attributes.extend(is_left.then(|| ("hMerge", "1".to_owned())));
    attributes.extend(is_above.then(|| ("vMerge", "1".to_owned())));
    attributes
}

/// Where presentations store pictures.
pub fn stores<'a>(package: &'a mut Package, relations: &'a mut Relations) -> PictureStores<'a> {
    PictureStores { package, relations, folder: "ppt", up: "../" }
}

/// The logo in the upper right corner, above the title.
pub fn logo(xml: &mut Xml, stores: PictureStores<'_>, logo: &Picture<'_>, geometry: &Geometry) {
    let size = logo.fit(EmuSize { width: emu(110.0), height: emu(26.0) });
    let points = |units: i64| units as f64 * 0.75 / EMU_PER_PIXEL as f64;
    let (width, height) = (points(size.width), points(size.height));
    let title = geometry.title;
    let area = Area { x: title.x + title.width - width, y: 12.0, width, height };
    xml.open("p:pic", &[]);
    xml.open("p:nvPicPr", &[]);
    xml.empty("p:cNvPr", &[("id", "9"), ("name", "Logo"), ("descr", "Logo")]);
    xml.raw("<p:cNvPicPr><a:picLocks noChangeAspect=\"1\"/></p:cNvPicPr><p:nvPr userDrawn=\"1\"/>");
    xml.close();
    framed(xml, stores, logo, area);
    xml.close();
}

/// The fill and position of a picture.
fn framed(xml: &mut Xml, stores: PictureStores<'_>, shown: &Picture<'_>, area: Area) {
    xml.open("p:blipFill", &[]);
    picture::blip(xml, stores, shown);
    xml.raw("<a:stretch><a:fillRect/></a:stretch>");
    xml.close();
    xml.open("p:spPr", &[]);
    place(xml, "a:xfrm", area);
    xml.raw("<a:prstGeom prst=\"rect\"><a:avLst/></a:prstGeom>");
    xml.close();
}

pub fn place(xml: &mut Xml, name: &'static str, area: Area) {
    let [x, y, width, height] = area.emu();
    xml.open(name, &[]);
    xml.empty("a:off", &[("x", &x), ("y", &y)]);
    xml.empty("a:ext", &[("cx", &width), ("cy", &height)]);
    xml.close();
}
