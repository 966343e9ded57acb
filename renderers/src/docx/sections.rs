//! Sections: paper, margins, header and footer, the cover.

use super::draw::{Draw, Edges};
use super::namespaces::NAMESPACES;
use super::paper::{self, section_width, turned};
use super::pictures::{self, Described};
use super::tables;
use crate::Document;
use crate::package::Relations;
use crate::package::fitting::Rooms;
use crate::package::measure::begins_rtl;
use crate::package::picture::{EmuSize, Picture};
use crate::package::sections::{Section, sections};
use crate::package::xml::Xml;

/// Width and height of the logo, in EMU.
const LOGO: EmuSize = EmuSize { width: 1_397_000, height: 330_200 };

/// The sections of a document. Wide tables have a landscape one.
pub fn word_sections(document: &Document) -> Vec<Section> {
    sections(document, |table| tables::fit(table, rooms(document)).is_landscape)
}

/// The widths of portrait and landscape pages.
fn rooms(document: &Document) -> Rooms {
    let width = |is_landscape| tables::points(section_width(document, is_landscape));
    Rooms { upright: width(false), landscape: Some(width(true)) }
}

impl<'d> Draw<'d> {
    /// The section of the body, which ends the document.
    pub fn main_section(&mut self, xml: &mut Xml, is_landscape: bool) {
        xml.open("w:sectPr", &[]);
        self.edges(xml, is_landscape);
        let two = self.document.meta.page.two_columns;
        if two && self.document.meta.title.is_some() && !self.document.meta.cover {
            xml.val("w:type", "continuous");
        }
        page(xml, self.document, is_landscape);
        if two {
            let gutter = paper::GUTTER.to_string();
            xml.empty("w:cols", &[("w:num", "2"), ("w:space", &gutter)]);
        }
        xml.close();
    }

    /// Ends a section before one with another orientation.
    pub fn inner_section(&mut self, xml: &mut Xml, is_landscape: bool) {
        xml.open("w:p", &[]);
        xml.open("w:pPr", &[]);
        xml.val("w:pStyle", "Spacer");
        xml.open("w:sectPr", &[]);
        self.edges(xml, is_landscape);
        page(xml, self.document, is_landscape);
        for _ in 0..3 {
            xml.close();
        }
    }

    /// Ends a title that spans two columns of text.
    pub fn title_section(&mut self, xml: &mut Xml) {
        xml.open("w:p", &[]);
        xml.open("w:pPr", &[]);
        xml.val("w:pStyle", "Spacer");
        xml.open("w:sectPr", &[]);
        let is_landscape = self.document.meta.page.landscape;
        self.edges(xml, is_landscape);
        page(xml, self.document, is_landscape);
        for _ in 0..3 {
            xml.close();
        }
    }

    /// References the header and the footer. Their right edge is that of the paper, so there is
    /// one of each for either orientation.
    fn edges(&mut self, xml: &mut Xml, is_landscape: bool) {
        let known = self.edges[usize::from(is_landscape)].take();
        let edges = known.unwrap_or_else(|| self.add_edges(is_landscape));
        if let Some(id) = &edges.header {
            xml.empty("w:headerReference", &[("w:type", "default"), ("r:id", id)]);
        }
        xml.empty("w:footerReference", &[("w:type", "default"), ("r:id", &edges.footer)]);
        self.edges[usize::from(is_landscape)] = Some(edges);
    }

    fn add_edges(&mut self, is_landscape: bool) -> Edges {
        let meta = &self.document.meta;
        let number = self.edges.iter().flatten().count() + 1;
        let width = paper::turned_width(self.document, is_landscape);
        let text = meta.header.as_deref().map(str::trim).unwrap_or_default();
        let logo = self.logo();
        let header = (!text.is_empty() || logo.is_some()).then(|| {
            let kind = "application/vnd.openxmlformats-officedocument.wordprocessingml.header+xml";
            let mut relations = Relations::default();
            let line = EdgeLine { style: "Header", text, width };
            let drawn = self.header(line, logo.as_ref(), &mut relations);
            let path = format!("word/header{number}.xml");
            self.package.add(&path, kind, drawn);
            self.package.relate(&path, relations);
            self.relations.part("header", &format!("header{number}.xml"))
        });
        let footer = footer(meta.footer.as_deref().unwrap_or_default(), width);
        let kind = "application/vnd.openxmlformats-officedocument.wordprocessingml.footer+xml";
        self.package.add(&format!("word/footer{number}.xml"), kind, footer);
        let footer = self.relations.part("footer", &format!("footer{number}.xml"));
        Edges { header, footer }
    }

    fn logo(&mut self) -> Option<Picture<'d>> {
        let bytes = self.document.logo.as_deref()?;
        match Picture::read(bytes, self.fonts) {
            Ok(picture) => Some(picture),
            Err(why) => {
                self.warnings.add(format!("The logo was omitted: {why}."));
                None
            }
        }
    }

    fn header(
        &mut self,
        line: EdgeLine<'_>,
        logo: Option<&Picture<'_>>,
        relations: &mut Relations,
    ) -> Xml {
        let mut xml = Xml::new();
        xml.open("w:hdr", &NAMESPACES);
        edge_begin(&mut xml, line);
        if let Some(logo) = logo {
            super::inlines::run(&mut xml, "\t", super::inlines::RunFormat::default());
            let id = self.next_id();
            let stores = pictures::stores(&mut self.package, relations);
            let described = Described { id, alt: "Logo" };
            pictures::run(&mut xml, stores, logo, described, logo.fit(LOGO));
        }
        xml.close();
        xml.close();
        xml
    }
}

fn footer(text: &str, width: i64) -> Xml {
    let mut xml = Xml::new();
    xml.open("w:ftr", &NAMESPACES);
    edge_begin(&mut xml, EdgeLine { style: "Footer", text, width });
    let format = super::inlines::RunFormat { rtl: begins_rtl(text), ..Default::default() };
    super::inlines::run(&mut xml, "\t", format);
    number(&mut xml, " PAGE ");
    super::inlines::run(&mut xml, " / ", format);
    number(&mut xml, " NUMPAGES ");
    xml.close();
    xml.close();
    xml
}

/// The text of a header or footer. The width is in twips.
struct EdgeLine<'a> {
    style: &'static str,
    text: &'a str,
    width: i64,
}

/// A header or footer line: text on the left, and text on the right after a tab.
fn edge_begin(xml: &mut Xml, line: EdgeLine<'_>) {
    let EdgeLine { style, text, width } = line;
    let width = width.to_string();
    let rtl = begins_rtl(text);
    xml.open("w:p", &[]);
    xml.open("w:pPr", &[]);
    xml.val("w:pStyle", style);
    xml.open("w:tabs", &[]);
    xml.empty("w:tab", &[("w:val", "right"), ("w:pos", &width)]);
    xml.close();
    if rtl {
        xml.empty("w:bidi", &[]);
    }
    xml.close();
    let format = super::inlines::RunFormat { rtl, ..Default::default() };
    super::inlines::run(xml, text.trim(), format);
}

fn number(xml: &mut Xml, instruction: &str) {
    xml.open("w:fldSimple", &[("w:instr", instruction)]);
    xml.raw("<w:r><w:t>1</w:t></w:r>");
    xml.close();
}

/// Ends the cover: a section whose first page has no header and footer.
pub fn cover_section(xml: &mut Xml, document: &Document) {
    xml.open("w:p", &[]);
    xml.open("w:pPr", &[]);
    xml.open("w:sectPr", &[]);
    xml.val("w:type", "nextPage");
    page(xml, document, document.meta.page.landscape);
    xml.empty("w:titlePg", &[]);
    for _ in 0..3 {
        xml.close();
    }
}

fn page(xml: &mut Xml, document: &Document, is_landscape: bool) {
    let (width, height) = turned(document, is_landscape);
    let (width, height) = (width.to_string(), height.to_string());
    let [top, right, bottom, left] = document.meta.margins().map(|margin| margin.to_string());
    let mut size = vec![("w:w", width.as_str()), ("w:h", height.as_str())];
    if is_landscape {
        size.push(("w:orient", "landscape"));
    }
    xml.empty("w:pgSz", &size);
    xml.empty(
        "w:pgMar",
        &[
            ("w:top", &top),
            ("w:right", &right),
            ("w:bottom", &bottom),
            ("w:left", &left),
            ("w:header", "709"),
            ("w:footer", "709"),
            ("w:gutter", "0"),
        ],
    );
}
