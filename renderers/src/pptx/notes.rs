//! Speaker notes and their master.

use super::deck::Deck;
use super::layouts::COLORS;
use super::markup::{NAMESPACES, TREE};
use crate::package::Relations;
use crate::package::measure::begins_rtl;
use crate::package::text::directions;
use crate::package::xml::Xml;

const PAGE: &str = "application/vnd.openxmlformats-officedocument.presentationml.notesSlide+xml";

/// The slide image above, the notes below; positions on a portrait page in EMU.
const IMAGE: &str = "<p:sp><p:nvSpPr><p:cNvPr id=\"2\" name=\"Slide Image\"/><p:cNvSpPr><a:spLocks \
    noGrp=\"1\" noRot=\"1\" noChangeAspect=\"1\"/></p:cNvSpPr><p:nvPr><p:ph type=\"sldImg\"/></p:nvPr>\
    </p:nvSpPr><p:spPr/></p:sp>";
const TEXT: &str = "<p:sp><p:nvSpPr><p:cNvPr id=\"3\" name=\"Notes\"/><p:cNvSpPr><a:spLocks noGrp=\"1\"/>\
    </p:cNvSpPr><p:nvPr><p:ph type=\"body\" idx=\"1\"/></p:nvPr></p:nvSpPr>";

impl Deck<'_> {
    pub fn notes(&mut self, number: usize, notes: &[String]) {
        let mut xml = Xml::new();
        xml.open("p:notes", &NAMESPACES);
        xml.open("p:cSld", &[]);
        xml.open("p:spTree", &[]);
        xml.raw(TREE);
        xml.raw(IMAGE);
        xml.raw(TEXT);
        xml.raw("<p:spPr/><p:txBody><a:bodyPr/><a:lstStyle/>");
        for line in notes.iter().flat_map(|note| note.lines()) {
            paragraph(&mut xml, line.trim());
        }
        xml.raw("</p:txBody></p:sp>");
        xml.close();
        xml.close();
        xml.raw("<p:clrMapOvr><a:masterClrMapping/></p:clrMapOvr>");
        xml.close();
        let name = format!("ppt/notesSlides/notesSlide{number}.xml");
        let mut relations = Relations::default();
        relations.part("notesMaster", "../notesMasters/notesMaster1.xml");
        relations.part("slide", &format!("../slides/slide{number}.xml"));
        self.package.add(&name, PAGE, xml);
        self.package.relate(&name, relations);
    }
}

fn paragraph(xml: &mut Xml, line: &str) {
    let rtl = begins_rtl(line);
    xml.open("a:p", &[]);
    if rtl {
        xml.empty("a:pPr", &[("algn", "r"), ("rtl", "1")]);
    }
    for (piece, _) in directions(line, rtl) {
        xml.open("a:r", &[]);
        xml.raw("<a:rPr/>");
        xml.leaf("a:t", &[], piece);
        xml.close();
    }
    xml.close();
}

/// `ppt/notesMasters/notesMaster1.xml`.
pub fn master() -> Xml {
    let mut xml = Xml::new();
    xml.open("p:notesMaster", &NAMESPACES);
    xml.open("p:cSld", &[]);
    xml.raw("<p:bg><p:bgRef idx=\"1001\"><a:schemeClr val=\"bg1\"/></p:bgRef></p:bg>");
    xml.open("p:spTree", &[]);
    xml.raw(TREE);
    let image = "<p:spPr><a:xfrm><a:off x=\"685800\" y=\"1143000\"/><a:ext cx=\"5486400\" cy=\"3086100\"/>\
        </a:xfrm><a:prstGeom prst=\"rect\"><a:avLst/></a:prstGeom><a:noFill/><a:ln w=\"12700\"><a:solidFill>\
        <a:prstClr val=\"black\"/></a:solidFill></a:ln></p:spPr>";
    xml.raw(
        &IMAGE.replace("<p:spPr/>", image).replace("type=\"sldImg\"", "type=\"sldImg\" idx=\"2\""),
    );
    xml.raw(&TEXT.replace("idx=\"1\"", "sz=\"quarter\" idx=\"3\""));
    xml.raw(
        "<p:spPr><a:xfrm><a:off x=\"685800\" y=\"4400550\"/><a:ext cx=\"5486400\" cy=\"3600450\"/></a:xfrm>\
         <a:prstGeom prst=\"rect\"><a:avLst/></a:prstGeom></p:spPr><p:txBody><a:bodyPr/><a:lstStyle/><a:p>\
         <a:r><a:rPr lang=\"en-US\"/><a:t>Notes</a:t></a:r></a:p></p:txBody></p:sp>",
    );
    xml.close();
    xml.close();
    xml.raw(COLORS);
    xml.raw(
        "<p:notesStyle><a:lvl1pPr><a:defRPr sz=\"1200\"><a:solidFill><a:schemeClr val=\"tx1\"/></a:solidFill>\
         <a:latin typeface=\"+mn-lt\"/><a:ea typeface=\"+mn-ea\"/><a:cs typeface=\"+mn-cs\"/></a:defRPr>\
         </a:lvl1pPr></p:notesStyle>",
    );
    xml.close();
    xml
}
