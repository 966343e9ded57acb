//! A chart as SVG: 640 pixels wide and at least 360 high, with real text elements and the colours of
//! the document's theme.

use std::f64::consts::TAU;
use std::fmt::Write as _;
use std::ops::Range;

use super::canvas::{
    Bounds, Canvas, Ink, LINE, Point, SIZE, TextAnchor, WIDTH, escaped, short, width,
};
use super::plot::Plot;
use super::{Chart, ChartKind, Labels, number};
use crate::document::Color;

/// The least height of a drawn chart, in pixels.
const HEIGHT: f64 = 360.0;
/// The lines of the legend for which a drawn chart of the least height has room.
const LEGEND_LINES: usize = 4;
/// The share of a donut's radius that is empty.
const HOLE: f64 = 0.58;

/// A chart that was drawn.
pub struct DrawnChart {
    /// The picture as SVG.
    pub svg: Vec<u8>,
    /// Whether names had no room, which [`CUT`] reports.
    pub has_cut_names: bool,
}

/// Draws the chart. `palette` has the colour of each series in order; `faces` lists font names in
/// order of preference.
pub fn draw(chart: &Chart, palette: &[Color], faces: &str) -> DrawnChart {
    let high = height(chart);
    let mut canvas = Canvas { out: String::new(), palette, has_cut_names: false };
    let _ = write!(
        canvas.out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{high}\" \
         viewBox=\"0 0 {WIDTH} {high}\" font-family=\"{}\" font-size=\"{SIZE}\">",
        escaped(faces)
    );
    let _ = write!(canvas.out, "<desc>{}</desc>", escaped(&chart.description()));
    let mut top = 10.0;
    if let Some(title) = &chart.title {
        let title = canvas.short(title, 80);
        canvas.text(Point(WIDTH / 2.0, 22.0), TextAnchor::Middle, &title, Ink::Title);
        top = 36.0;
    }
    let bottom = high - 8.0 - legend(&mut canvas, chart, high);
    if chart.is_round() {
        pie(&mut canvas, chart, top..bottom);
    } else {
        Plot::new(chart, top..bottom).draw(&mut canvas);
    }
    canvas.out.push_str("</svg>");
    DrawnChart { svg: canvas.out.into_bytes(), has_cut_names: canvas.has_cut_names }
}

/// What is reported of a chart with names that are cut.
pub const CUT: &str = "Long names of a chart are cut; its description has them in full.";

/// Every row of horizontal bars and every slice needs a line, as do further lines of the legend.
fn height(chart: &Chart) -> f64 {
    let rows = match chart.kind {
        ChartKind::Bar if chart.is_horizontal && chart.is_stacked => chart.categories.len(),
        ChartKind::Bar if chart.is_horizontal => {
            chart.categories.len() * (1 + chart.series.len()).div_ceil(2)
        }
        ChartKind::Pie | ChartKind::Donut => chart.categories.len(),
        _ => 0,
    };
    let further = legend_lines(chart).len().saturating_sub(LEGEND_LINES);
    (rows as f64 * (LINE + 4.0) + 110.0).max(HEIGHT) + further as f64 * LINE
}

/// A series in the legend.
struct LegendEntry {
    series: usize,
    name: String,
    width: f64,
}

/// The lines of the legend at the bottom; none if it is not needed.
fn legend_lines(chart: &Chart) -> Vec<Vec<LegendEntry>> {
    let mut lines: Vec<Vec<LegendEntry>> = Vec::new();
    if chart.is_round() || chart.series.len() < 2 {
        return lines;
    }
    let mut used = 0.0;
    for (series, one) in chart.series.iter().enumerate() {
        let name = short(&one.name, 40);
        let entry = LegendEntry { series, width: width(&name) + 32.0, name };
        if lines.is_empty() || used + entry.width > WIDTH - 40.0 {
            lines.push(Vec::new());
            used = 0.0;
        }
        used += entry.width;
        lines.last_mut().expect("there is always a line").push(entry);
    }
    lines
}

/// Draws the legend at the bottom and returns its height.
fn legend(canvas: &mut Canvas<'_>, chart: &Chart, height: f64) -> f64 {
    let lines = legend_lines(chart);
    if lines.is_empty() {
        return 0.0;
    }
    let high = lines.len() as f64 * LINE;
    for (row, line) in lines.iter().enumerate() {
        let mut x = (WIDTH - line.iter().map(|entry| entry.width).sum::<f64>()) / 2.0;
        let y = height - 8.0 - high + row as f64 * LINE + 12.0;
        for entry in line {
            let series = &chart.series[entry.series];
            let (top, high) = if series.is_line { (5.5, 3.0) } else { (9.0, 10.0) };
            let color = canvas.color(entry.series);
            canvas.rect(Bounds { x, y: y - top, width: 10.0, height: high }, &color);
            canvas.has_cut_names |= entry.name != series.name;
            canvas.text(Point(x + 15.0, y), TextAnchor::Start, &entry.name, Ink::Name);
            x += entry.width;
        }
    }
    high + 6.0
}

/// A pie on the left, and a legend with values and shares on the right.
fn pie(canvas: &mut Canvas<'_>, chart: &Chart, rows: Range<f64>) {
    let (top, bottom) = (rows.start, rows.end);
    let values: Vec<f64> = chart.series[0].values.iter().map(|v| v.unwrap_or(0.0)).collect();
    let total: f64 = values.iter().sum();
    let radius = ((bottom - top) / 2.0 - 8.0).min(140.0);
    let center = Point(190.0, f64::midpoint(top, bottom));
    let mut from = 0.0;
    for (at, value) in values.iter().enumerate() {
        let to = from + value / total;
        let color = canvas.color(at);
        if to - from > 0.9999 {
            canvas.dot(center, radius, &color);
        } else if to > from {
            let edge = |share: f64| {
                let (sin, cos) = (share * TAU).sin_cos();
                (center.0 + radius * sin, center.1 - radius * cos)
            };
            let ((x, y), (x2, y2)) = (edge(from), edge(to));
            let large = u8::from(to - from > 0.5);
            let _ = write!(
                canvas.out,
                "<path d=\"M{:.1} {:.1}L{x:.1} {y:.1}A{radius:.1} {radius:.1} 0 {large} 1 {x2:.1} \
                 {y2:.1}Z\" fill=\"#{color}\" stroke=\"#ffffff\" stroke-width=\"1.5\"/>",
                center.0, center.1
            );
        }
        from = to;
    }
    if chart.kind == ChartKind::Donut {
        canvas.dot(center, radius * HOLE, "ffffff");
    }
    let room = ((bottom - top) / LINE) as usize;
    let shown = values.len().min(room);
    let mut y = center.1 - shown as f64 * LINE / 2.0 + 13.0;
    for (at, value) in values.iter().enumerate().take(shown) {
        let share = (value / total * 1000.0).round() / 10.0;
        let name = canvas.short(&chart.categories[at], 30);
        let text = match chart.labels {
            Labels::None => name,
            _ => format!("{name}: {} ({share} %)", number(*value)),
        };
        canvas.rect(Bounds { x: 370.0, y: y - 9.0, width: 10.0, height: 10.0 }, &canvas.color(at));
        canvas.text(Point(386.0, y), TextAnchor::Start, &text, Ink::Name);
        y += LINE;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::read::read;

    #[test]
    fn every_kind_is_a_well_formed_picture_without_figures_that_are_none() {
        let colors = ["112233", "445566"].map(|text| Color::read(text).unwrap());
        let kinds = [
            "bar",
            "line",
            "pie",
            "scatter",
            "donut",
            "area",
            "stacked bar",
            "horizontal bar",
            "stacked area",
        ];
        for kind in kinds {
            for rows in [
                "k,S <&>\n1,5\n2,\n3,7.5",
                "k,S\n0,1",
                "k,S\n1,0.00001\n2,1e12",
                "k,S\n1,1e-300\n2,1e300",
                "k,S\n1e300,1e-300\n-1e300,1e-300",
            ] {
                let chart =
                    read(&format!("type: {kind}\ntitle: \"T\"\nx: X\ny: Y\n{rows}")).unwrap();
                let svg = String::from_utf8(draw(&chart, &colors, "A").svg).unwrap();
                assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
                let mut reader = quick_xml::Reader::from_str(&svg);
                while reader.read_event().unwrap() != quick_xml::events::Event::Eof {}
            }
        }
    }

    #[test]
    fn a_long_legend_is_within_the_picture() {
        let colors = [Color::read("112233").unwrap()];
        let names: Vec<_> = (0..120).map(|n| format!("Series with a long name {n}")).collect();
        let (names, values) = (names.join(","), ",5".repeat(120));
        let chart = read(&format!("type: bar\n\nk,{names}\na{values}")).unwrap();
        let svg = String::from_utf8(draw(&chart, &colors, "A").svg).unwrap();
        assert!(svg.contains("a long name 119<") && !svg.contains(" y=\"-"), "{svg}");
    }

    #[test]
    fn names_that_are_cut_are_noted_wherever_they_are() {
        let colors = [Color::read("112233").unwrap()];
        let is_cut = |source: &str| draw(&read(source).unwrap(), &colors, "A").has_cut_names;
        let long = "A name without room ".repeat(6);
        for source in [
            format!("type: pie\n\nk,S\n{long},1\nb,2"),
            format!("type: donut\nlabels: none\n\nk,S\n{long},1\nb,2"),
            format!("type: bar\n\nk,S\n{long},1\nb,2"),
            format!("type: horizontal bar\n\nk,S\n{long},1\nb,2"),
            format!("type: line\n\nk,S,{long}\na,1,2"),
            format!("type: bar\ntitle: {long}\n\nk,S\na,1"),
            format!("type: bar\ny: {long}\n\nk,S\na,1"),
        ] {
            assert!(is_cut(&source), "{source}");
        }
        for kind in ["pie", "bar", "horizontal bar"] {
            let source = format!("type: {kind}\ntitle: And …\n\nk,S\nOthers…,1\nb…,2");
            assert!(!is_cut(&source), "{source}");
        }
    }
}
