//! `ppt/theme/themeN.xml`: the colours and fonts used by master and layouts.

use crate::package::look::Look;
use crate::package::xml::Xml;

pub const KIND: &str = "application/vnd.openxmlformats-officedocument.theme+xml";

pub fn write(look: &Look) -> Xml {
    let mut xml = Xml::new();
    let ns = "http://schemas.openxmlformats.org/drawingml/2006/main";
    xml.open("a:theme", &[("xmlns:a", ns), ("name", "Countersign")]);
    xml.open("a:themeElements", &[]);
    colors(&mut xml, look);
    xml.open("a:fontScheme", &[("name", "Countersign")]);
    for (name, face) in [("a:majorFont", look.headings), ("a:minorFont", look.body)] {
        xml.open(name, &[]);
        xml.empty("a:latin", &[("typeface", face)]);
        xml.empty("a:ea", &[("typeface", look.east_asian)]);
        xml.empty("a:cs", &[("typeface", look.complex)]);
        xml.close();
    }
    xml.close();
    xml.raw(FORMATS);
    xml.close();
    xml.close();
    xml
}

fn colors(xml: &mut Xml, look: &Look) {
    let [two, three, four, five, six] = look.accents;
    xml.open("a:clrScheme", &[("name", "Countersign")]);
    for (name, color) in [
        ("a:dk1", &*look.ink),
        ("a:lt1", &look.background),
        ("a:dk2", &look.accent),
        ("a:lt2", look.paper),
        ("a:accent1", &look.accent),
        ("a:accent2", &two),
        ("a:accent3", &three),
        ("a:accent4", &four),
        ("a:accent5", &five),
        ("a:accent6", &six),
        ("a:hlink", &look.link),
        ("a:folHlink", &look.link),
    ] {
        xml.open(name, &[]);
        xml.empty("a:srgbClr", &[("val", color)]);
        xml.close();
    }
    xml.close();
}

/// Plain fills and lines; the schema requires three of each.
const FORMATS: &str = "<a:fmtScheme name=\"Plain\"><a:fillStyleLst>\
    <a:solidFill><a:schemeClr val=\"phClr\"/></a:solidFill><a:solidFill><a:schemeClr val=\"phClr\"/></a:solidFill>\
    <a:solidFill><a:schemeClr val=\"phClr\"/></a:solidFill></a:fillStyleLst><a:lnStyleLst>\
    <a:ln w=\"9525\"><a:solidFill><a:schemeClr val=\"phClr\"/></a:solidFill></a:ln>\
    <a:ln w=\"9525\"><a:solidFill><a:schemeClr val=\"phClr\"/></a:solidFill></a:ln>\
    <a:ln w=\"9525\"><a:solidFill><a:schemeClr val=\"phClr\"/></a:solidFill></a:ln></a:lnStyleLst>\
    <a:effectStyleLst><a:effectStyle><a:effectLst/></a:effectStyle><a:effectStyle><a:effectLst/></a:effectStyle>\
    <a:effectStyle><a:effectLst/></a:effectStyle></a:effectStyleLst><a:bgFillStyleLst>\
    <a:solidFill><a:schemeClr val=\"phClr\"/></a:solidFill><a:solidFill><a:schemeClr val=\"phClr\"/></a:solidFill>\
    <a:solidFill><a:schemeClr val=\"phClr\"/></a:solidFill></a:bgFillStyleLst></a:fmtScheme>";
