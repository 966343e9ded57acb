//! Sections: paper, margins, header and footer, the cover.

use super::{Draw, MARGIN, paper};
use crate::Document;
use crate::package::measure::begins_rtl;
use crate::package::xml::Xml;

impl Draw<'_> {
    /// The section of the text; it ends the body. Adds the header and the footer it refers to.
    pub fn main_section(&mut self, xml: &mut Xml) {
        let meta = &self.document.meta;
        let header = meta.header.as_deref().filter(|text| !text.trim().is_empty());
        let header_id = header.map(|text| {
            let kind = "application/vnd.openxmlformats-officedocument.wordprocessingml.header+xml";
            self.package.add("word/header1.xml", kind, self.header(text));
            self.relations.part("header", "header1.xml")
        });
        let footer = self.footer(meta.footer.as_deref().unwrap_or_default());
        let kind = "application/vnd.openxmlformats-officedocument.wordprocessingml.footer+xml";
        self.package.add("word/footer1.xml", kind, footer);
        let footer_id = self.relations.part("footer", "footer1.xml");
        xml.open("w:sectPr", &[]);
        if let Some(id) = header_id {
            xml.empty("w:headerReference", &[("w:type", "default"), ("r:id", &id)]);
        }
        xml.empty("w:footerReference", &[("w:type", "default"), ("r:id", &footer_id)]);
        page(xml, self.document);
        xml.close();
    }

    fn header(&self, text: &str) -> Xml {
        let mut xml = Xml::new();
        xml.open("w:hdr", &super::parts::NAMESPACES);
        self.edge(&mut xml, "Header", text, false);
        xml.close();
        xml
    }

    fn footer(&self, text: &str) -> Xml {
        let mut xml = Xml::new();
        xml.open("w:ftr", &super::parts::NAMESPACES);
        self.edge(&mut xml, "Footer", text, true);
        xml.close();
        xml
    }

    /// A line at the edge of the page: text on the left, the page's number on the right.
    fn edge(&self, xml: &mut Xml, style: &'static str, text: &str, numbered: bool) {
        let width = super::text_width(self.document).to_string();
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
        let format = super::inlines::Format { rtl, ..Default::default() };
        super::inlines::run(xml, text.trim(), format);
        if numbered {
            super::inlines::run(xml, "\t", format);
            number(xml, " PAGE ");
            super::inlines::run(xml, " / ", format);
            number(xml, " NUMPAGES ");
        }
        xml.close();
    }
}

fn number(xml: &mut Xml, instruction: &str) {
    xml.open("w:fldSimple", &[("w:instr", instruction)]);
    xml.raw("<w:r><w:t>1</w:t></w:r>");
    xml.close();
}

/// Ends the cover: a section whose first page bears neither header nor footer.
pub fn cover_section(xml: &mut Xml, document: &Document) {
    xml.open("w:p", &[]);
    xml.open("w:pPr", &[]);
    xml.open("w:sectPr", &[]);
    xml.val("w:type", "nextPage");
    page(xml, document);
    xml.empty("w:titlePg", &[]);
    for _ in 0..3 {
        xml.close();
    }
}

fn page(xml: &mut Xml, document: &Document) {
    let (width, height) = paper(document);
    let (width, height, margin) = (width.to_string(), height.to_string(), MARGIN.to_string());
    let mut size = vec![("w:w", width.as_str()), ("w:h", height.as_str())];
    if document.meta.page.landscape {
        size.push(("w:orient", "landscape"));
    }
    xml.empty("w:pgSz", &size);
    xml.empty(
        "w:pgMar",
        &[
            ("w:top", &margin),
            ("w:right", &margin),
            ("w:bottom", &margin),
            ("w:left", &margin),
            ("w:header", "709"),
            ("w:footer", "709"),
            ("w:gutter", "0"),
        ],
    );
}
