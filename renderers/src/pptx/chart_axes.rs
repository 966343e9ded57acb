//! The axes of native charts.

use super::chart_markup::{line, titled, val};
use crate::chart::{Chart, ChartKind, NameLayout};
use crate::package::look::Look;
use crate::package::xml::Xml;

/// The axes of bars, areas, lines and points, and of lines over bars if they have their own: that of
/// the categories, or of the x values, and that of the values.
const IDS: [&str; 2] = ["1001", "1002"];
const RIGHT_IDS: [&str; 2] = ["1003", "1004"];

/// The references to the axes of a group of series.
pub fn axis_ids(xml: &mut Xml, is_right: bool) {
    let ids = if is_right { RIGHT_IDS } else { IDS };
    for id in ids {
        val(xml, "c:axId", id);
    }
}

/// All axes of a chart.
pub fn axes(xml: &mut Xml, chart: &Chart, look: &Look, names: NameLayout) {
    let [across, up] = IDS;
    let kind = if chart.kind == ChartKind::Scatter {
        AxisKind::Values
    } else {
        AxisKind::Categories(names)
    };
    axis(xml, kind, [across, up], chart, look);
    axis(xml, AxisKind::Values, [up, across], chart, look);
    if chart.is_combined() && chart.y2.is_some() {
        right(xml, chart, look);
    }
}

/// What an axis has at its ticks.
#[derive(Clone, Copy)]
enum AxisKind {
    Categories(NameLayout),
    Values,
}

/// An axis with its id and that of the axis that it crosses.
fn axis(xml: &mut Xml, kind: AxisKind, ids: [&str; 2], chart: &Chart, look: &Look) {
    let [own, crossed] = ids;
    let upright = own == IDS[1];
    xml.open(if let AxisKind::Values = kind { "c:valAx" } else { "c:catAx" }, &[]);
    val(xml, "c:axId", own);
    // The first of horizontal bars is at the top.
    let turned = chart.is_horizontal && !upright;
    orientation(xml, if turned { "maxMin" } else { "minMax" });
    val(xml, "c:delete", "0");
    val(xml, "c:axPos", if upright == chart.is_horizontal { "b" } else { "l" });
    if upright {
        xml.open("c:majorGridlines", &[]);
        line(xml, look.line, "6350");
        xml.close();
    }
    let title = if upright { &chart.y } else { &chart.x };
    if let Some(title) = title {
        titled(xml, title, "1200");
    }
    let format = if upright { chart.axis_format() } else { "General" };
    let is_below = chart.is_horizontal && upright;
    ticks(xml, format, if is_below { "high" } else { "low" });
    line(xml, look.line, "9525");
    if let AxisKind::Categories(NameLayout::Slanted) = kind {
        slanted(xml);
    }
    val(xml, "c:crossAx", crossed);
    val(xml, "c:crosses", if is_below { "max" } else { "autoZero" });
    match kind {
        AxisKind::Categories(names) => categories(xml, names),
        AxisKind::Values => {
            let between = if chart.kind == ChartKind::Scatter { "midCat" } else { "between" };
            val(xml, "c:crossBetween", between);
        }
    }
    xml.close();
}

/// The axis of values at the right, and that of the categories that it crosses, which is not drawn.
fn right(xml: &mut Xml, chart: &Chart, look: &Look) {
    let [across, up] = RIGHT_IDS;
    xml.open("c:valAx", &[]);
    val(xml, "c:axId", up);
    orientation(xml, "minMax");
    val(xml, "c:delete", "0");
    val(xml, "c:axPos", "r");
    if let Some(title) = &chart.y2 {
        titled(xml, title, "1200");
    }
    ticks(xml, chart.right_axis_format(), "nextTo");
    line(xml, look.line, "9525");
    val(xml, "c:crossAx", across);
    val(xml, "c:crosses", "max");
    val(xml, "c:crossBetween", "between");
    xml.close();
    xml.open("c:catAx", &[]);
    val(xml, "c:axId", across);
    orientation(xml, "minMax");
    val(xml, "c:delete", "1");
    val(xml, "c:axPos", "b");
    ticks(xml, "General", "nextTo");
    val(xml, "c:crossAx", up);
    val(xml, "c:crosses", "autoZero");
    categories(xml, NameLayout::Automatic);
    xml.close();
}

fn orientation(xml: &mut Xml, orientation: &str) {
    xml.open("c:scaling", &[]);
    val(xml, "c:orientation", orientation);
    xml.close();
}

/// The format of the numbers at an axis, and their side of it.
fn ticks(xml: &mut Xml, format: &str, place: &str) {
    xml.empty("c:numFmt", &[("formatCode", format), ("sourceLinked", "0")]);
    val(xml, "c:majorTickMark", "none");
    val(xml, "c:minorTickMark", "none");
    val(xml, "c:tickLblPos", place);
}

/// Letters at an angle of 45 degrees, in the size of the chart.
fn slanted(xml: &mut Xml) {
    xml.open("c:txPr", &[]);
    xml.raw("<a:bodyPr rot=\"-2700000\" vert=\"horz\"/><a:lstStyle/>");
    xml.raw("<a:p><a:pPr><a:defRPr/></a:pPr><a:endParaRPr lang=\"en-US\"/></a:p>");
    xml.close();
}

fn categories(xml: &mut Xml, names: NameLayout) {
    val(xml, "c:auto", "0");
    val(xml, "c:lblAlgn", "ctr");
    val(xml, "c:lblOffset", "100");
    if names != NameLayout::Automatic {
        // All names are shown.
        val(xml, "c:tickLblSkip", "1");
        val(xml, "c:tickMarkSkip", "1");
    }
    val(xml, "c:noMultiLvlLbl", "1");
}
