//! XML shared by slides, layouts and masters.

use super::geometry::Area;
use crate::package::xml::Xml;

/// Declared on the root of every part with shapes.
pub const NAMESPACES: [(&str, &str); 3] = [
    ("xmlns:a", "http://schemas.openxmlformats.org/drawingml/2006/main"),
    ("xmlns:r", "http://schemas.openxmlformats.org/officeDocument/2006/relationships"),
    ("xmlns:p", "http://schemas.openxmlformats.org/presentationml/2006/main"),
];

/// The root group, whose transform is required.
pub const TREE: &str = "<p:nvGrpSpPr><p:cNvPr id=\"1\" name=\"\"/><p:cNvGrpSpPr/><p:nvPr/></p:nvGrpSpPr>\
    <p:grpSpPr><a:xfrm><a:off x=\"0\" y=\"0\"/><a:ext cx=\"0\" cy=\"0\"/><a:chOff x=\"0\" y=\"0\"/>\
    <a:chExt cx=\"0\" cy=\"0\"/></a:xfrm></p:grpSpPr>";

/// A placeholder: its type and index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Holder {
    pub kind: Option<&'static str>,
    pub index: Option<usize>,
}

impl Holder {
    pub const TITLE: Self = Self { kind: Some("title"), index: None };
    pub const FOOTER: Self = Self { kind: Some("ftr"), index: Some(11) };
    pub const NUMBER: Self = Self { kind: Some("sldNum"), index: Some(12) };

    pub fn write(self, xml: &mut Xml) {
        let index = self.index.map(|index| index.to_string());
        let mut attributes = Vec::new();
        attributes.extend(self.kind.map(|kind| ("type", kind)));
        if matches!(self.kind, Some("ftr" | "sldNum")) {
            attributes.push(("sz", "quarter"));
        }
        attributes.extend(index.as_deref().map(|index| ("idx", index)));
        xml.empty("p:ph", &attributes);
    }
}

pub fn open_holder(xml: &mut Xml, named: &[(&str, &str)], holder: Holder) {
    xml.open("p:sp", &[]);
    xml.open("p:nvSpPr", &[]);
    xml.empty("p:cNvPr", named);
    xml.raw("<p:cNvSpPr><a:spLocks noGrp=\"1\"/></p:cNvSpPr>");
    xml.open("p:nvPr", &[]);
    holder.write(xml);
    xml.close();
    xml.close();
}

/// A text box up to its body.
pub fn open_text_box(xml: &mut Xml, named: &[(&str, &str)], area: Area) {
    open_text_box_frame(xml, named);
    xml.open("p:spPr", &[]);
    position(xml, area);
    xml.raw(RECTANGLE);
    xml.close();
    xml.open("p:txBody", &[]);
}

/// A text box up to its properties.
pub fn open_text_box_frame(xml: &mut Xml, named: &[(&str, &str)]) {
    xml.open("p:sp", &[]);
    xml.open("p:nvSpPr", &[]);
    xml.empty("p:cNvPr", named);
    xml.raw("<p:cNvSpPr txBox=\"1\"/><p:nvPr/>");
    xml.close();
}

/// The outline of a shape that is not a placeholder.
pub const RECTANGLE: &str = "<a:prstGeom prst=\"rect\"><a:avLst/></a:prstGeom>";

pub fn position(xml: &mut Xml, area: Area) {
    let [x, y, width, height] = area.emu();
    xml.open("a:xfrm", &[]);
    xml.empty("a:off", &[("x", &x), ("y", &y)]);
    xml.empty("a:ext", &[("cx", &width), ("cy", &height)]);
    xml.close();
}

/// A text placeholder up to its body. Without `area` it takes the position of the layout.
pub fn open_shape(xml: &mut Xml, named: &[(&str, &str)], holder: Holder, area: Option<Area>) {
    open_holder(xml, named, holder);
    xml.open("p:spPr", &[]);
    if let Some(area) = area {
        position(xml, area);
    }
    xml.close();
    xml.open("p:txBody", &[]);
}

pub fn close_shape(xml: &mut Xml) {
    xml.close();
    xml.close();
}

pub fn fill(xml: &mut Xml, color: &str) {
    xml.open("a:solidFill", &[]);
    xml.empty("a:srgbClr", &[("val", color)]);
    xml.close();
}
