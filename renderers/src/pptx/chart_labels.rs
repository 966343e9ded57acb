//! The labels of bars, lines and slices of native charts.

use super::chart_markup::val;
use super::markup::fill;
use crate::chart::{Chart, ChartKind, Series};
use crate::document::Color;
use crate::package::xml::Xml;

/// The values on the bars, the area or the line of a series, which has that colour.
pub fn labels(xml: &mut Xml, chart: &Chart, series: &Series, color: Color) {
    if !chart.shows_values_of(series) {
        return;
    }
    xml.open("c:dLbls", &[]);
    let format = chart.value_format(series);
    xml.empty("c:numFmt", &[("formatCode", format), ("sourceLinked", "0")]);
    xml.raw("<c:spPr><a:noFill/><a:ln><a:noFill/></a:ln></c:spPr>");
    if (chart.kind == ChartKind::Area || chart.is_stacked) && !series.is_line {
        letters_on(xml, color);
    }
    if series.is_line {
        val(xml, "c:dLblPos", "t");
    }
    shown(xml, "c:showVal");
    xml.close();
}

/// Letters on a bar, an area or a slice of that colour.
pub fn letters_on(xml: &mut Xml, color: Color) {
    xml.open("c:txPr", &[]);
    xml.raw("<a:bodyPr/><a:lstStyle/>");
    xml.open("a:p", &[]);
    xml.open("a:pPr", &[]);
    xml.open("a:defRPr", &[]);
    fill(xml, &color.contrasting());
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
