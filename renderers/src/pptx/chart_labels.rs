//! The labels of bars, lines and slices of native charts.

use super::charts::{fill, val};
use crate::chart::{Chart, Kind};
use crate::package::xml::Xml;

/// The values on bars and lines.
pub fn labels(xml: &mut Xml, chart: &Chart) {
    if !chart.shows_values() {
        return;
    }
    xml.open("c:dLbls", &[]);
    let format = chart.axis_format();
    xml.empty("c:numFmt", &[("formatCode", format), ("sourceLinked", "0")]);
    xml.raw("<c:spPr><a:noFill/><a:ln><a:noFill/></a:ln></c:spPr>");
    if chart.is_stacked && chart.kind == Kind::Bar {
        light_letters(xml);
    }
    shown(xml, "c:showVal");
    xml.close();
}

/// Letters on coloured bars.
pub fn light_letters(xml: &mut Xml) {
    xml.open("c:txPr", &[]);
    xml.raw("<a:bodyPr/><a:lstStyle/>");
    xml.open("a:p", &[]);
    xml.open("a:pPr", &[]);
    xml.open("a:defRPr", &[]);
    fill(xml, "FFFFFF");
    xml.close();
    xml.close();
    xml.empty("a:endParaRPr", &[("lang", "en-US")]);
    xml.close();
    xml.close();
}

/// The only thing that a label shows.
pub fn shown(xml: &mut Xml, what: &str) {
    for name in [
        "c:showLegendKey",
        "c:showVal",
        "c:showCatName",
        "c:showSerName",
        "c:showPercent",
        "c:showBubbleSize",
    ] {
        val(xml, name, if name == what { "1" } else { "0" });
    }
}
