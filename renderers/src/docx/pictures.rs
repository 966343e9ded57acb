//! Pictures in the text, and figures with their captions.

use super::blocks::Shape;
use super::draw::{Draw, Place};
use super::inlines::{RunFormat, run as letters};
use crate::chart::{Chart, svg};
use crate::document::{Align, Inline};
use crate::package::picture::{self, EMU_PER_PIXEL, EmuSize, Picture, PictureStores};
use crate::package::text::{PictureText, named};
use crate::package::words::FIGURE;
use crate::package::xml::Xml;
use crate::package::{Package, Relations};

/// English Metric Units in a twip.
const EMU_PER_TWIP: i64 = 635;
/// The maximum height of a picture, in twips.
const MAX_HEIGHT: i64 = 8_000;

impl Draw<'_> {
    /// A picture as a block, with its title as the caption; `false` if it cannot be drawn.
    pub fn figure(&mut self, xml: &mut Xml, image: PictureText<'_>, place: Place) -> bool {
        let PictureText { url, alt, title } = image;
        let document = self.document;
        let Some(picture) = self.album.picture(document, url, &mut self.warnings) else {
            return false;
        };
        xml.open("w:p", &[]);
        let align = if place.level > 0 { Align::Start } else { Align::Center };
        let keep_next = !title.is_empty();
        Shape { style: "Figure", keep_next, indent: place.indent, align, ..Shape::default() }
            .write(xml);
        self.picture(xml, &picture, PictureText { url, alt, title }, place.width);
        xml.close();
        if !title.is_empty() {
            xml.open("w:p", &[]);
            Shape { style: "Caption", indent: place.indent, align, ..Shape::default() }.write(xml);
            self.caption_text(xml, FIGURE, &[Inline::Text(title.to_owned())]);
            xml.close();
        }
        true
    }

    /// The width of a picture in points, as it would be without a limit.
    pub fn picture_points(&self, url: &str) -> f64 {
        let bytes = self.document.assets.get(url);
        bytes.and_then(|bytes| picture::pixels(bytes)).map_or(0.0, |pixels| pixels * 0.75)
    }

    /// A chart as a vector picture, with its full text as the description.
    pub fn chart(&mut self, xml: &mut Xml, chart: &Chart, place: Place) {
        let drawn =
            svg::draw(chart, &self.look.palette(), &format!("{}, sans-serif", self.look.body));
        if drawn.has_cut_names {
            self.warnings.add(svg::CUT);
        }
        match Picture::of_vector(drawn.svg.into(), self.fonts) {
            Ok(picture) => {
                xml.open("w:p", &[]);
                let align = if place.level > 0 { Align::Start } else { Align::Center };
                Shape { style: "Figure", indent: place.indent, align, ..Shape::default() }
                    .write(xml);
                let text = PictureText { url: "", alt: &chart.description(), title: "" };
                self.picture(xml, &picture, text, place.width);
                xml.close();
            }
            Err(why) => {
                self.warnings.add(format!("A chart is shown as its values: {why}."));
                let text = vec![crate::document::Inline::Text(chart.description())];
                self.paragraph(xml, &text, place);
            }
        }
    }

    /// A picture within a line, followed by its caption; its text if it cannot be drawn.
    pub fn inline_picture(&mut self, xml: &mut Xml, image: PictureText<'_>, format: RunFormat) {
        let PictureText { url, alt, title } = image;
        let document = self.document;
        let words = RunFormat { italic: true, ..format };
        match self.album.picture(document, url, &mut self.warnings) {
            Some(picture) => {
                self.picture(xml, &picture, image, format.width);
                if !title.is_empty() {
                    letters(xml, &format!(" {title}"), words);
                }
            }
            None => letters(xml, &format!("[{}]", named(url, alt, title)), words),
        }
    }

    /// A picture without its title.
    fn picture(&mut self, xml: &mut Xml, picture: &Picture<'_>, text: PictureText<'_>, width: i64) {
        let (room, high) = (width.max(200) * EMU_PER_TWIP, MAX_HEIGHT * EMU_PER_TWIP);
        let limit = self.document.heights.get(text.url);
        let high =
            limit.map_or(high, |limit| high.min((limit * EMU_PER_PIXEL as f64) as i64).max(1));
        let size = match self.document.widths.get(text.url) {
            Some(width) => {
                picture.of_width(width.of(room as f64, EMU_PER_PIXEL as f64) as i64, high)
            }
            None => picture.fit(EmuSize { width: room, height: high }),
        };
        let id = self.next_id();
        let stores = stores(&mut self.package, &mut self.relations);
        run(xml, stores, picture, Described { id, alt: text.alt }, size);
    }
}

/// Where Word files store pictures.
pub fn stores<'a>(package: &'a mut Package, relations: &'a mut Relations) -> PictureStores<'a> {
    PictureStores { package, relations, folder: "word", up: "" }
}

/// How a picture is identified in its part, and described for screen readers.
#[derive(Clone, Copy)]
pub struct Described<'a> {
    pub id: u32,
    pub alt: &'a str,
}

/// A picture of that size as a run of any part.
pub fn run(
    xml: &mut Xml,
    stores: PictureStores<'_>,
    picture: &Picture<'_>,
    described: Described<'_>,
    size: EmuSize,
) {
    xml.open("w:r", &[]);
    xml.open("w:drawing", &[]);
    drawing(xml, described, size, |xml| picture::blip(xml, stores, picture));
    xml.close();
    xml.close();
}

/// `wp:inline` around a picture.
fn drawing(xml: &mut Xml, described: Described<'_>, size: EmuSize, blip: impl FnOnce(&mut Xml)) {
    let (cx, cy) = (size.width.to_string(), size.height.to_string());
    let id = described.id.to_string();
    let (name, extent) = (format!("Picture {id}"), [("cx", cx.as_str()), ("cy", cy.as_str())]);
    let named = [("id", id.as_str()), ("name", &name), ("descr", described.alt)];
    xml.open("wp:inline", &[("distT", "0"), ("distB", "0"), ("distL", "0"), ("distR", "0")]);
    xml.empty("wp:extent", &extent);
    xml.empty("wp:docPr", &named);
    xml.raw(
        r#"<wp:cNvGraphicFramePr><a:graphicFrameLocks noChangeAspect="1"/></wp:cNvGraphicFramePr>"#,
    );
    xml.open("a:graphic", &[]);
    let uri = "http://schemas.openxmlformats.org/drawingml/2006/picture";
    xml.open("a:graphicData", &[("uri", uri)]);
    xml.open("pic:pic", &[]);
    xml.open("pic:nvPicPr", &[]);
    xml.empty("pic:cNvPr", &named);
    xml.empty("pic:cNvPicPr", &[]);
    xml.close();
    xml.open("pic:blipFill", &[]);
    blip(xml);
    xml.raw("<a:stretch><a:fillRect/></a:stretch>");
    xml.close();
    xml.open("pic:spPr", &[]);
    xml.open("a:xfrm", &[]);
    xml.raw(r#"<a:off x="0" y="0"/>"#);
    xml.empty("a:ext", &extent);
    xml.close();
    xml.raw(r#"<a:prstGeom prst="rect"><a:avLst/></a:prstGeom>"#);
    for _ in 0..5 {
        xml.close();
    }
}
