//! Native charts (DrawingML, ECMA-376 part 1, chapter 21): one part each, with an embedded
//! workbook, so that the values can be edited in PowerPoint.

use rust_xlsxwriter::{DocProperties, ExcelDateTime, Workbook, XlsxError};

use super::chart_axes::{axes, axis_ids};
use super::chart_labels::{labels, letters_on, shown};
use super::chart_markup::{line, titled, val};
use super::geometry::Area;
use super::markup::fill;
use super::shapes::place;
use super::sheet::Sheet;
use crate::chart::{Chart, ChartKind, Labels, NameRoom, Series};
use crate::document::Color;
use crate::package::Relations;
use crate::package::look::Look;
use crate::package::xml::Xml;

const KIND: &str = "application/vnd.openxmlformats-officedocument.drawingml.chart+xml";
const WORKBOOK: &str = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet";
const NAMESPACES: [(&str, &str); 3] = [
    ("xmlns:c", "http://schemas.openxmlformats.org/drawingml/2006/chart"),
    ("xmlns:a", "http://schemas.openxmlformats.org/drawingml/2006/main"),
    ("xmlns:r", "http://schemas.openxmlformats.org/officeDocument/2006/relationships"),
];
/// The maximum length of the text of a cell, in UTF-16 units.
const CELL_UNITS: usize = 32_767;
/// The font size, in hundredths of a point.
const LETTERS: &str = "1400";

impl Sheet<'_, '_> {
    pub fn chart(&mut self, xml: &mut Xml, chart: &Chart, area: Area) {
        self.deck.charts += 1;
        let number = self.deck.charts;
        let part = format!("ppt/charts/chart{number}.xml");
        let mut relations = Relations::default();
        let book = workbook(chart).ok().map(|bytes| {
            let name = format!("Microsoft_Excel_Sheet{number}.xlsx");
            self.deck.package.embed(&format!("ppt/embeddings/{name}"), WORKBOOK, bytes);
            relations.part("package", &format!("../embeddings/{name}"))
        });
        let drawn = write(chart, &self.deck.look, area, book.as_deref());
        self.deck.package.add(&part, KIND, drawn);
        self.deck.package.relate(&part, relations);
        let relation = self.relations.part("chart", &format!("../charts/chart{number}.xml"));
        let id = self.next_id();
        let description = chart.description();
        xml.open("p:graphicFrame", &[]);
        xml.open("p:nvGraphicFramePr", &[]);
        let named =
            [("id", id.as_str()), ("name", &format!("Chart {id}")), ("descr", &description)];
        xml.empty("p:cNvPr", &named);
        xml.raw("<p:cNvGraphicFramePr><a:graphicFrameLocks noGrp=\"1\"/></p:cNvGraphicFramePr><p:nvPr/>");
        xml.close();
        place(xml, "p:xfrm", area);
        xml.open("a:graphic", &[]);
        let uri = NAMESPACES[0].1;
        xml.open("a:graphicData", &[("uri", uri)]);
        xml.empty("c:chart", &[("xmlns:c", uri), ("r:id", &relation)]);
        for _ in 0..3 {
            xml.close();
        }
    }
}

/// The workbook that PowerPoint opens to edit the values.
fn workbook(chart: &Chart) -> Result<Vec<u8>, XlsxError> {
    let mut book = Workbook::new();
    let epoch = ExcelDateTime::from_ymd(1980, 1, 1)?;
    book.set_properties(&DocProperties::new().set_creation_datetime(&epoch));
    let sheet = book.add_worksheet();
    sheet.write_string(0, 0, cell(&chart.corner))?;
    for (row, name) in chart.categories.iter().enumerate() {
        match chart.xs.get(row) {
            Some(x) => sheet.write_number(row as u32 + 1, 0, *x)?,
            None => sheet.write_string(row as u32 + 1, 0, cell(name))?,
        };
    }
    for (at, series) in chart.series.iter().enumerate() {
        let column = at as u16 + 1;
        sheet.write_string(0, column, cell(&series.name))?;
        for (row, value) in series.values.iter().enumerate() {
            if let Some(value) = value {
                sheet.write_number(row as u32 + 1, column, *value)?;
            }
        }
    }
    book.save_to_buffer()
}

/// The text of a cell of the workbook, without what does not fit. A space ends a text that begins and
/// ends like the markup of runs, for which it would be taken.
fn cell(text: &str) -> String {
    let mut units = 0;
    let fits = text.chars().take_while(|letter| {
        units += letter.len_utf16();
        units < CELL_UNITS
    });
    let mut cell: String = fits.collect();
    if cell.starts_with("<r>") && cell.ends_with("</r>") {
        cell.push(' ');
    }
    cell
}

fn write(chart: &Chart, look: &Look, area: Area, book: Option<&str>) -> Xml {
    let mut xml = Xml::new();
    xml.open("c:chartSpace", &NAMESPACES);
    val(&mut xml, "c:date1904", "0");
    val(&mut xml, "c:roundedCorners", "0");
    xml.open("c:chart", &[]);
    if let Some(title) = &chart.title {
        titled(&mut xml, title, "1600");
    }
    val(&mut xml, "c:autoTitleDeleted", if chart.title.is_some() { "0" } else { "1" });
    xml.open("c:plotArea", &[]);
    xml.empty("c:layout", &[]);
    plot(&mut xml, chart, look, area);
    xml.close();
    if chart.series.len() > 1 || chart.is_round() {
        xml.open("c:legend", &[]);
        val(&mut xml, "c:legendPos", if chart.is_round() { "r" } else { "b" });
        val(&mut xml, "c:overlay", "0");
        xml.close();
    }
    val(&mut xml, "c:plotVisOnly", "1");
    val(&mut xml, "c:dispBlanksAs", "gap");
    xml.close();
    letters(&mut xml, look);
    if let Some(id) = book {
        xml.open("c:externalData", &[("r:id", id)]);
        val(&mut xml, "c:autoUpdate", "0");
        xml.close();
    }
    xml.close();
    xml
}

/// The text properties of the whole chart.
fn letters(xml: &mut Xml, look: &Look) {
    xml.open("c:txPr", &[]);
    xml.raw("<a:bodyPr/><a:lstStyle/>");
    xml.open("a:p", &[]);
    xml.open("a:pPr", &[]);
    xml.open("a:defRPr", &[("sz", LETTERS)]);
    fill(xml, &look.ink);
    for _ in 0..2 {
        xml.close();
    }
    xml.empty("a:endParaRPr", &[("lang", "en-US")]);
    xml.close();
    xml.close();
}

/// The chart and its axes; lines over bars are a second chart in the same area.
fn plot(xml: &mut Xml, chart: &Chart, look: &Look, area: Area) {
    group(xml, chart, chart.kind, look);
    if chart.is_combined() {
        group(xml, chart, ChartKind::Line, look);
    }
    if !chart.is_round() {
        let letters = LETTERS.parse::<f64>().map_or(12.0, |hundredths| hundredths / 100.0);
        let room = NameRoom { width: area.width, height: area.height, letters };
        axes(xml, chart, look, chart.name_layout(room));
    }
}

/// The series of one kind: of the whole chart, or its lines over bars.
fn group(xml: &mut Xml, chart: &Chart, kind: ChartKind, look: &Look) {
    match kind {
        ChartKind::Bar => {
            xml.open("c:barChart", &[]);
            val(xml, "c:barDir", if chart.is_horizontal { "bar" } else { "col" });
            val(xml, "c:grouping", if chart.is_stacked { "stacked" } else { "clustered" });
        }
        ChartKind::Area => {
            xml.open("c:areaChart", &[]);
            val(xml, "c:grouping", if chart.is_stacked { "stacked" } else { "standard" });
        }
        ChartKind::Line => {
            xml.open("c:lineChart", &[]);
            val(xml, "c:grouping", "standard");
        }
        ChartKind::Pie => xml.open("c:pieChart", &[]),
        ChartKind::Donut => xml.open("c:doughnutChart", &[]),
        ChartKind::Scatter => {
            xml.open("c:scatterChart", &[]);
            val(xml, "c:scatterStyle", "lineMarker");
        }
    }
    val(xml, "c:varyColors", if chart.is_round() { "1" } else { "0" });
    let is_over_bars = kind != chart.kind;
    for (at, one) in chart.series.iter().enumerate() {
        if one.is_line == is_over_bars {
            series(xml, chart, at, look);
        }
    }
    match kind {
        ChartKind::Bar => {
            val(xml, "c:gapWidth", "60");
            if chart.is_stacked {
                val(xml, "c:overlap", "100");
            }
        }
        ChartKind::Line => val(xml, "c:marker", "1"),
        ChartKind::Pie => val(xml, "c:firstSliceAng", "0"),
        ChartKind::Donut => {
            val(xml, "c:firstSliceAng", "0");
            val(xml, "c:holeSize", "58");
        }
        ChartKind::Scatter | ChartKind::Area => {}
    }
    if !chart.is_round() {
        axis_ids(xml, is_over_bars && chart.y2.is_some());
    }
    xml.close();
}

fn series(xml: &mut Xml, chart: &Chart, at: usize, look: &Look) {
    let series = &chart.series[at];
    let kind = if series.is_line { ChartKind::Line } else { chart.kind };
    let palette = look.palette();
    let color = |at: usize| palette[at % palette.len()];
    xml.open("c:ser", &[]);
    val(xml, "c:idx", &at.to_string());
    val(xml, "c:order", &at.to_string());
    xml.open("c:tx", &[]);
    xml.open("c:strRef", &[]);
    let column = letter(at + 1);
    xml.leaf("c:f", &[], &format!("Sheet1!${column}$1"));
    cache(xml, "c:strCache", [Some(series.name.clone())].iter());
    xml.close();
    xml.close();
    match kind {
        ChartKind::Bar => {
            xml.open("c:spPr", &[]);
            fill(xml, &color(at));
            xml.close();
            val(xml, "c:invertIfNegative", "0");
            labels(xml, chart, series, color(at));
        }
        ChartKind::Area => {
            xml.open("c:spPr", &[]);
            fill(xml, &color(at));
            xml.close();
            labels(xml, chart, series, color(at));
        }
        ChartKind::Pie | ChartKind::Donut => slices(xml, chart, color),
        ChartKind::Line => {
            line(xml, &color(at), "28575");
            marker(xml, &color(at));
            labels(xml, chart, series, color(at));
        }
        ChartKind::Scatter => {
            xml.raw("<c:spPr><a:ln><a:noFill/></a:ln></c:spPr>");
            marker(xml, &color(at));
        }
    }
    values(xml, chart, series, &column);
    if matches!(kind, ChartKind::Line | ChartKind::Scatter) {
        val(xml, "c:smooth", "0");
    }
    xml.close();
}

fn slices(xml: &mut Xml, chart: &Chart, color: impl Fn(usize) -> Color) {
    for at in 0..chart.categories.len() {
        xml.open("c:dPt", &[]);
        val(xml, "c:idx", &at.to_string());
        val(xml, "c:bubble3D", "0");
        xml.open("c:spPr", &[]);
        fill(xml, &color(at));
        xml.close();
        xml.close();
    }
    xml.open("c:dLbls", &[]);
    let what = if chart.labels == Labels::None { "" } else { "c:showPercent" };
    if chart.kind == ChartKind::Pie {
        val(xml, "c:dLblPos", "outEnd");
    } else {
        for at in 0..chart.categories.len() {
            xml.open("c:dLbl", &[]);
            val(xml, "c:idx", &at.to_string());
            letters_on(xml, color(at));
            shown(xml, what);
            xml.close();
        }
    }
    shown(xml, what);
    val(xml, "c:showLeaderLines", "0");
    xml.close();
}

fn marker(xml: &mut Xml, color: &str) {
    xml.open("c:marker", &[]);
    val(xml, "c:symbol", "circle");
    val(xml, "c:size", "7");
    xml.open("c:spPr", &[]);
    fill(xml, color);
    xml.close();
    xml.close();
}

/// Categories and values, each with a reference to its cells and their cached content.
fn values(xml: &mut Xml, chart: &Chart, series: &Series, column: &str) {
    let last = chart.categories.len() + 1;
    let is_scatter = chart.kind == ChartKind::Scatter;
    let (across, down) = if is_scatter { ("c:xVal", "c:yVal") } else { ("c:cat", "c:val") };
    xml.open(across, &[]);
    xml.open(if is_scatter { "c:numRef" } else { "c:strRef" }, &[]);
    xml.leaf("c:f", &[], &format!("Sheet1!$A$2:$A${last}"));
    if is_scatter {
        let xs: Vec<_> = chart.xs.iter().map(|x| Some(x.to_string())).collect();
        cache(xml, "c:numCache", xs.iter());
    } else {
        let names: Vec<_> = chart.categories.iter().cloned().map(Some).collect();
        cache(xml, "c:strCache", names.iter());
    }
    xml.close();
    xml.close();
    xml.open(down, &[]);
    xml.open("c:numRef", &[]);
    xml.leaf("c:f", &[], &format!("Sheet1!${column}$2:${column}${last}"));
    let values: Vec<_> = series.values.iter().map(|v| v.map(|v| v.to_string())).collect();
    cache(xml, "c:numCache", values.iter());
    xml.close();
    xml.close();
}

fn cache<'t>(
    xml: &mut Xml,
    name: &'static str,
    values: impl ExactSizeIterator<Item = &'t Option<String>>,
) {
    xml.open(name, &[]);
    if name == "c:numCache" {
        xml.leaf("c:formatCode", &[], "General");
    }
    val(xml, "c:ptCount", &values.len().to_string());
    for (at, value) in values.enumerate() {
        if let Some(value) = value {
            xml.open("c:pt", &[("idx", &at.to_string())]);
            xml.leaf("c:v", &[], value);
            xml.close();
        }
    }
    xml.close();
}

/// The name of a column, counted from zero.
fn letter(column: usize) -> String {
    let digit = |at: usize| char::from(b'A' + (at % 26) as u8);
    match column {
        0..26 => digit(column).to_string(),
        26..702 => format!("{}{}", digit(column / 26 - 1), digit(column)),
        _ => format!("A{}{}", digit(column / 26 - 27), digit(column)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::read::read;
    use crate::package::reading::Parts;

    #[test]
    fn the_workbook_has_names_that_are_long_or_like_markup() {
        let long = "n".repeat(40_000);
        let chart = read(&format!("type: bar\n\nk,<r>a & b</r>\n{long},1")).unwrap();
        let book = Parts::of(&workbook(&chart).unwrap());
        let texts = book.all("xl/sharedStrings.xml", "t");
        let texts: Vec<&str> = texts.iter().map(|text| text.text.trim()).collect();
        assert!(texts.contains(&"<r>a & b</r>") && texts.contains(&&long[..32_766]), "{texts:?}");
    }
}
