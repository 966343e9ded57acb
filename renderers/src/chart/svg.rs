//! A chart as SVG: 640 × 360 pixels, with real text elements and the colours of the document's
//! theme.

use std::f64::consts::TAU;
use std::fmt::Write as _;

use super::{Chart, Kind, number};
use crate::document::Color;
use crate::package::measure::{self, Face};

/// The width of a drawn chart, in pixels.
pub const WIDTH: f64 = 640.0;
/// The height of a drawn chart, in pixels.
pub const HEIGHT: f64 = 360.0;

const SIZE: f64 = 12.0;
const LINE: f64 = 18.0;
const INK: &str = "#3a4149";
const QUIET: &str = "#6b7580";
const GRID: &str = "#dde2e7";
/// With more bars than this, values are not printed on them.
const VALUED: usize = 16;

/// Draws the chart. `palette` has the colour of each series in order; `faces` lists font names in
/// order of preference.
pub fn draw(chart: &Chart, palette: &[Color], faces: &str) -> Vec<u8> {
    let mut canvas = Canvas { out: String::new(), palette };
    let _ = write!(
        canvas.out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{HEIGHT}\" \
         viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"{}\" font-size=\"{SIZE}\">",
        escaped(faces)
    );
    let _ = write!(canvas.out, "<desc>{}</desc>", escaped(&chart.description()));
    let mut top = 10.0;
    if let Some(title) = &chart.title {
        canvas.text((WIDTH / 2.0, 22.0), Anchor::Middle, &short(title, 80), Ink::Title);
        top = 36.0;
    }
    let bottom = HEIGHT - 8.0 - legend(&mut canvas, chart);
    if chart.kind == Kind::Pie {
        pie(&mut canvas, chart, (top, bottom));
    } else {
        Plot::new(chart, (top, bottom)).draw(&mut canvas);
    }
    canvas.out.push_str("</svg>");
    canvas.out.into_bytes()
}

struct Canvas<'a> {
    out: String,
    palette: &'a [Color],
}

#[derive(Clone, Copy)]
enum Anchor {
    Start,
    Middle,
    End,
}

/// The role of a text.
#[derive(Clone, Copy)]
enum Ink {
    Title,
    Name,
    Quiet,
}

impl Canvas<'_> {
    fn color(&self, at: usize) -> Color {
        self.palette[at % self.palette.len()]
    }

    fn text(&mut self, at: (f64, f64), anchor: Anchor, text: &str, ink: Ink) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let (color, bold) = match ink {
            Ink::Title => (INK, " font-weight=\"bold\" font-size=\"15\""),
            Ink::Name => (INK, ""),
            Ink::Quiet => (QUIET, ""),
        };
        let _ = write!(
            self.out,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\" fill=\"{color}\"{bold}>{}</text>",
            at.0,
            at.1,
            escaped(text)
        );
    }

    fn rect(&mut self, (x, y): (f64, f64), (width, height): (f64, f64), color: &str) {
        let _ = write!(
            self.out,
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" fill=\"#{color}\"/>"
        );
    }

    fn line(&mut self, from: (f64, f64), to: (f64, f64), color: &str) {
        let _ = write!(
            self.out,
            "<path d=\"M{:.1} {:.1}L{:.1} {:.1}\" stroke=\"{color}\" stroke-width=\"1\"/>",
            from.0, from.1, to.0, to.1
        );
    }

    fn dot(&mut self, (x, y): (f64, f64), radius: f64, color: &str) {
        let _ = write!(
            self.out,
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius}\" fill=\"#{color}\"/>"
        );
    }
}

fn width(text: &str) -> f64 {
    f64::from(measure::width(text, Face::Text)) * SIZE / 1_000.0
}

/// Shortens a text to fit. The description has the full text.
fn short(text: &str, letters: usize) -> String {
    if text.chars().count() <= letters {
        return text.to_owned();
    }
    text.chars().take(letters - 1).chain(['…']).collect()
}

fn escaped(text: &str) -> String {
    let text: String = text.chars().filter(|c| !c.is_control()).collect();
    quick_xml::escape::escape(text.as_str()).into_owned()
}

/// Draws the legend at the bottom and returns its height.
fn legend(canvas: &mut Canvas<'_>, chart: &Chart) -> f64 {
    let names: Vec<String> = match chart.kind {
        Kind::Pie => return 0.0,
        _ if chart.series.len() < 2 => return 0.0,
        _ => chart.series.iter().map(|series| short(&series.name, 40)).collect(),
    };
    let mut lines: Vec<Vec<(usize, f64)>> = vec![Vec::new()];
    let mut used = 0.0;
    for (at, name) in names.iter().enumerate() {
        let wide = width(name) + 32.0;
        if used + wide > WIDTH - 40.0 && used > 0.0 {
            lines.push(Vec::new());
            used = 0.0;
        }
        lines.last_mut().expect("there is always a line").push((at, wide));
        used += wide;
    }
    let high = lines.len() as f64 * LINE;
    for (row, line) in lines.iter().enumerate() {
        let mut x = (WIDTH - line.iter().map(|(_, wide)| wide).sum::<f64>()) / 2.0;
        let y = HEIGHT - 8.0 - high + row as f64 * LINE + 12.0;
        for (at, wide) in line {
            canvas.rect((x, y - 9.0), (10.0, 10.0), &canvas.color(*at));
            canvas.text((x + 15.0, y), Anchor::Start, &names[*at], Ink::Name);
            x += wide;
        }
    }
    high + 6.0
}

/// The plot area of a chart, and the values at its edges.
struct Plot<'a> {
    chart: &'a Chart,
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
    ys: Vec<f64>,
    xs: Vec<f64>,
}

impl<'a> Plot<'a> {
    fn new(chart: &'a Chart, (top, bottom): (f64, f64)) -> Self {
        let values = || chart.series.iter().flat_map(|series| &series.values).flatten().copied();
        let ys = ticks(values(), chart.kind == Kind::Bar);
        let xs = ticks(chart.xs.iter().copied(), false);
        let widest = ys.iter().map(|tick| width(&number(*tick))).fold(0.0, f64::max);
        let named = |name: &Option<String>| if name.is_some() { LINE } else { 0.0 };
        // The title of the vertical axis is written horizontally above it.
        let top = top + if chart.y.is_some() { LINE + 2.0 } else { 6.0 };
        let bottom = bottom - LINE - named(&chart.x);
        Plot { chart, left: widest + 22.0, right: WIDTH - 18.0, top, bottom, ys, xs }
    }

    fn y(&self, value: f64) -> f64 {
        let (low, high) = (self.ys[0], self.ys[self.ys.len() - 1]);
        self.bottom - (value - low) / (high - low) * (self.bottom - self.top)
    }

    fn x(&self, value: f64) -> f64 {
        let (low, high) = (self.xs[0], self.xs[self.xs.len() - 1]);
        self.left + (value - low) / (high - low) * (self.right - self.left)
    }

    /// The centre of a category's band.
    fn band(&self, at: usize) -> f64 {
        self.left + (at as f64 + 0.5) * self.step()
    }

    fn step(&self) -> f64 {
        (self.right - self.left) / self.chart.categories.len() as f64
    }

    fn draw(&self, canvas: &mut Canvas<'_>) {
        for tick in &self.ys {
            let y = self.y(*tick);
            canvas.line((self.left, y), (self.right, y), GRID);
            canvas.text((self.left - 8.0, y + 4.0), Anchor::End, &number(*tick), Ink::Quiet);
        }
        if let Some(name) = &self.chart.y {
            canvas.text((14.0, self.top - 10.0), Anchor::Start, &short(name, 60), Ink::Quiet);
        }
        if let Some(name) = &self.chart.x {
            let at = (f64::midpoint(self.left, self.right), self.bottom + 2.0 * LINE);
            canvas.text(at, Anchor::Middle, &short(name, 80), Ink::Quiet);
        }
        if self.chart.kind == Kind::Scatter {
            for tick in &self.xs {
                let at = (self.x(*tick), self.bottom + 16.0);
                canvas.text(at, Anchor::Middle, &number(*tick), Ink::Quiet);
            }
            self.points(canvas);
        } else {
            self.categories(canvas);
            if self.chart.kind == Kind::Bar { self.bars(canvas) } else { self.lines(canvas) }
        }
        let zero = self.y(self.ys[0].max(0.0).min(self.ys[self.ys.len() - 1]));
        canvas.line((self.left, zero), (self.right, zero), QUIET);
    }

    /// The category names below the axis; if space is short, only every second, third, … name.
    fn categories(&self, canvas: &mut Canvas<'_>) {
        let names: Vec<String> = self.chart.categories.iter().map(|n| short(n, 24)).collect();
        let widest = names.iter().map(|name| width(name)).fold(0.0, f64::max) + 10.0;
        let every = (widest / self.step()).ceil().max(1.0) as usize;
        for (at, name) in names.iter().enumerate().step_by(every) {
            canvas.text((self.band(at), self.bottom + 16.0), Anchor::Middle, name, Ink::Name);
        }
    }

    fn bars(&self, canvas: &mut Canvas<'_>) {
        let count = self.chart.series.len();
        let wide = (self.step() * 0.72 / count as f64).min(56.0);
        let valued = count * self.chart.categories.len() <= VALUED;
        let zero = self.y(0.0);
        for (at, series) in self.chart.series.iter().enumerate() {
            for (band, value) in series.values.iter().enumerate() {
                let Some(value) = value else { continue };
                let x = self.band(band) + (at as f64 - count as f64 / 2.0) * wide;
                let y = self.y(*value);
                canvas.rect((x, y.min(zero)), (wide - 1.0, (y - zero).abs()), &canvas.color(at));
                if valued {
                    let y = if *value < 0.0 { y + 13.0 } else { y - 4.0 };
                    let middle = (x + wide / 2.0, y);
                    canvas.text(middle, Anchor::Middle, &number(*value), Ink::Quiet);
                }
            }
        }
    }

    /// A gap in the values is a gap in the line.
    fn lines(&self, canvas: &mut Canvas<'_>) {
        for (at, series) in self.chart.series.iter().enumerate() {
            let color = canvas.color(at);
            let mut path = String::new();
            let mut pen_is_up = true;
            for (band, value) in series.values.iter().enumerate() {
                if let Some(value) = value {
                    let step = if pen_is_up { 'M' } else { 'L' };
                    let _ = write!(path, "{step}{:.1} {:.1}", self.band(band), self.y(*value));
                    canvas.dot((self.band(band), self.y(*value)), 3.0, &color);
                }
                pen_is_up = value.is_none();
            }
            let _ = write!(
                canvas.out,
                "<path d=\"{path}\" fill=\"none\" stroke=\"#{color}\" stroke-width=\"2.25\" \
                 stroke-linejoin=\"round\"/>"
            );
        }
    }

    fn points(&self, canvas: &mut Canvas<'_>) {
        for (at, series) in self.chart.series.iter().enumerate() {
            for (x, value) in self.chart.xs.iter().zip(&series.values) {
                if let Some(value) = value {
                    canvas.dot((self.x(*x), self.y(*value)), 4.0, &canvas.color(at));
                }
            }
        }
    }
}

/// Round tick values that cover the data, about five of them.
fn ticks(values: impl Iterator<Item = f64>, with_zero: bool) -> Vec<f64> {
    let (mut low, mut high) = values.fold((f64::MAX, f64::MIN), |(l, h), v| (l.min(v), h.max(v)));
    if low > high {
        return vec![0.0, 1.0];
    }
    // A range that starts close to zero is extended to zero.
    if with_zero || (low > 0.0 && low < high * 0.4) {
        (low, high) = (low.min(0.0), high.max(0.0));
    }
    let span = if high > low { high - low } else { high.abs().max(1.0) };
    let rough = span / 5.0;
    let power = 10_f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 2.5, 5.0, 10.0].into_iter().find(|m| m * power >= rough);
    let step = step.unwrap_or(10.0) * power;
    let first = (low / step).floor();
    let last = (high / step).ceil().max(first + 1.0);
    (0..=(last - first) as usize).map(|at| (first + at as f64) * step).collect()
}

/// A pie on the left, and a legend with values and shares on the right.
fn pie(canvas: &mut Canvas<'_>, chart: &Chart, (top, bottom): (f64, f64)) {
    let values: Vec<f64> = chart.series[0].values.iter().map(|v| v.unwrap_or(0.0)).collect();
    let total: f64 = values.iter().sum();
    let radius = ((bottom - top) / 2.0 - 8.0).min(140.0);
    let center = (190.0, f64::midpoint(top, bottom));
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
    let room = ((bottom - top) / LINE) as usize;
    let shown = values.len().min(room);
    let mut y = center.1 - shown as f64 * LINE / 2.0 + 13.0;
    for (at, value) in values.iter().enumerate().take(shown) {
        let share = (value / total * 1000.0).round() / 10.0;
        let name = short(&chart.categories[at], 30);
        let text = format!("{name}: {} ({share} %)", number(*value));
        canvas.rect((370.0, y - 9.0), (10.0, 10.0), &canvas.color(at));
        canvas.text((386.0, y), Anchor::Start, &text, Ink::Name);
        y += LINE;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::read::read;

    #[test]
    fn ticks_are_round_and_hold_all_values() {
        let ticks = |values: &[f64], zero| super::ticks(values.iter().copied(), zero);
        assert_eq!(ticks(&[3.0, 47.0], true), [0.0, 10.0, 20.0, 30.0, 40.0, 50.0]);
        assert_eq!(ticks(&[101.0, 104.0], false), [101.0, 102.0, 103.0, 104.0]);
        assert_eq!(ticks(&[-5.0, 5.0], true), [-6.0, -4.0, -2.0, 0.0, 2.0, 4.0, 6.0]);
        assert_eq!(ticks(&[7.0], false).len(), 2);
    }

    #[test]
    fn every_kind_is_a_well_formed_picture_without_figures_that_are_none() {
        let colors = ["112233", "445566"].map(|text| Color::read(text).unwrap());
        for kind in ["bar", "line", "pie", "scatter"] {
            for rows in ["k,S <&>\n1,5\n2,\n3,7.5", "k,S\n0,1", "k,S\n1,0.00001\n2,1e12"] {
                let chart =
                    read(&format!("type: {kind}\ntitle: \"T\"\nx: X\ny: Y\n{rows}")).unwrap();
                let svg = String::from_utf8(draw(&chart, &colors, "A")).unwrap();
                assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
                let mut reader = quick_xml::Reader::from_str(&svg);
                while reader.read_event().unwrap() != quick_xml::events::Event::Eof {}
            }
        }
    }
}
