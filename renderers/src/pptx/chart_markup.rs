//! XML shared by native charts, their axes and their labels.

use super::markup::fill;
use crate::package::xml::Xml;

/// An element with nothing but a value.
pub fn val(xml: &mut Xml, name: &'static str, value: &str) {
    xml.empty(name, &[("val", value)]);
}

/// A title, in that size in hundredths of a point.
pub fn titled(xml: &mut Xml, text: &str, size: &str) {
    xml.open("c:title", &[]);
    xml.open("c:tx", &[]);
    xml.open("c:rich", &[]);
    xml.raw("<a:bodyPr/><a:lstStyle/>");
    xml.open("a:p", &[]);
    xml.open("a:r", &[]);
    xml.empty("a:rPr", &[("lang", "en-US"), ("sz", size), ("b", "1")]);
    xml.leaf("a:t", &[], text);
    for _ in 0..4 {
        xml.close();
    }
    val(xml, "c:overlay", "0");
    xml.close();
}

/// The properties of a line of that width in EMU.
pub fn line(xml: &mut Xml, color: &str, width: &str) {
    xml.open("c:spPr", &[]);
    xml.open("a:ln", &[("w", width)]);
    fill(xml, color);
    xml.close();
    xml.close();
}
