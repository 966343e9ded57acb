//! The plot area of a chart as SVG: axes, bars, lines, areas and points.

use std::fmt::Write as _;
use std::ops::Range;

use super::canvas::{
    Bounds, Canvas, GRID, Ink, LINE, Point, QUIET, TextAnchor, WIDTH, short, width,
};
use super::{Chart, ChartKind, Series, number};
use crate::document::Color;

/// The widest part of a chart that names of categories may take, in pixels.
const NAMES: f64 = 220.0;
/// The highest part of a chart that slanted names may take, in pixels.
const SLANTED: f64 = 120.0;
/// The sine and the cosine of the angle of slanted names.
const SLOPE: f64 = 0.64;
const RUN: f64 = 0.77;

/// The plot area of a chart, and the values at its edges.
pub struct Plot<'a> {
    chart: &'a Chart,
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
    ys: Vec<f64>,
    /// The ticks of the axis at the right, if there is one.
    right_ys: Vec<f64>,
    xs: Vec<f64>,
    /// Whether the names of the categories are slanted, because they are too wide.
    is_slanted: bool,
}

impl<'a> Plot<'a> {
    /// `rows` is the height that the plot may take, in pixels.
    pub fn new(chart: &'a Chart, rows: Range<f64>) -> Self {
        let with_zero = matches!(chart.kind, ChartKind::Bar | ChartKind::Area);
        let ys = ticks(chart.extremes().into_iter(), with_zero);
        let xs = ticks(chart.xs.iter().copied(), false);
        let left = widest(&ys) + 22.0;
        let right_values = chart.right_extremes();
        let right_ys = if right_values.is_empty() {
            Vec::new()
        } else {
            ticks(right_values.into_iter(), false)
        };
        let right = if right_ys.is_empty() { 18.0 } else { widest(&right_ys) + 22.0 };
        let named = |name: &Option<String>| if name.is_some() { LINE } else { 0.0 };
        // The title of the vertical axis is written horizontally above it.
        let has_title = chart.y.is_some() || !right_ys.is_empty();
        let top = rows.start + if has_title { LINE + 2.0 } else { 6.0 };
        let names = chart.categories.iter().map(|name| width(&short(name, 40)));
        let names = names.fold(0.0, f64::max);
        let mut plot = Plot {
            chart,
            left,
            right: WIDTH - right,
            top,
            bottom: rows.end - LINE - named(&chart.x),
            ys,
            right_ys,
            xs,
            is_slanted: false,
        };
        if chart.is_horizontal {
            plot.left = names.min(NAMES) + 22.0;
            plot.right = WIDTH - 40.0;
        } else if chart.kind != ChartKind::Scatter && names + 10.0 > plot.step() {
            plot.is_slanted = true;
            plot.bottom -= (names * SLOPE).min(SLANTED) - 4.0;
            plot.left = plot.left.max(plot.slanted_left());
        }
        plot
    }

    /// The left edge at which no slanted name begins outside the picture. It moves the names less,
    /// the further to the right they are.
    fn slanted_left(&self) -> f64 {
        let count = self.chart.categories.len() as f64;
        let needed = self.chart.categories.iter().enumerate().map(|(at, name)| {
            let long = width(&short(name, 40)).min(SLANTED / SLOPE);
            let from_left = (at as f64 + 0.5) / count;
            (RUN * (long + 5.0) - self.right * from_left) / (1.0 - from_left)
        });
        needed.fold(0.0, f64::max)
    }

    /// The position of a value on its axis, which is horizontal if the bars are.
    fn along(&self, value: f64) -> f64 {
        let share = share(&self.ys, value);
        if self.chart.is_horizontal {
            self.left + share * (self.right - self.left)
        } else {
            self.bottom - share * (self.bottom - self.top)
        }
    }

    /// The height of a value on the axis of its series.
    fn height(&self, series: &Series, value: f64) -> f64 {
        if series.is_line && !self.right_ys.is_empty() {
            self.bottom - share(&self.right_ys, value) * (self.bottom - self.top)
        } else {
            self.along(value)
        }
    }

    fn x(&self, value: f64) -> f64 {
        let (low, high) = (self.xs[0], self.xs[self.xs.len() - 1]);
        self.left + (value - low) / (high - low) * (self.right - self.left)
    }

    /// The centre of a category's band.
    fn band(&self, at: usize) -> f64 {
        let from = if self.chart.is_horizontal { self.top } else { self.left };
        from + (at as f64 + 0.5) * self.step()
    }

    fn step(&self) -> f64 {
        let room =
            if self.chart.is_horizontal { self.bottom - self.top } else { self.right - self.left };
        room / self.chart.categories.len() as f64
    }

    pub fn draw(&self, canvas: &mut Canvas<'_>) {
        self.grid(canvas);
        let middle = f64::midpoint(self.left, self.right);
        let (up, across) = if self.chart.is_horizontal {
            (&self.chart.x, &self.chart.y)
        } else {
            (&self.chart.y, &self.chart.x)
        };
        if let Some(name) = up {
            let name = canvas.short(name, 60);
            canvas.text(Point(14.0, self.top - 10.0), TextAnchor::Start, &name, Ink::Quiet);
        }
        if let Some(name) = self.chart.y2.as_ref().filter(|_| !self.right_ys.is_empty()) {
            let at = Point(WIDTH - 14.0, self.top - 10.0);
            let name = canvas.short(name, 40);
            canvas.text(at, TextAnchor::End, &name, Ink::Quiet);
        }
        if let Some(name) = across {
            let low = if self.is_slanted { self.slanted_height() } else { 0.0 };
            let at = Point(middle, self.bottom + 2.0 * LINE + low);
            let name = canvas.short(name, 80);
            canvas.text(at, TextAnchor::Middle, &name, Ink::Quiet);
        }
        if self.chart.kind == ChartKind::Scatter {
            for tick in &self.xs {
                let at = Point(self.x(*tick), self.bottom + 16.0);
                canvas.text(at, TextAnchor::Middle, &number(*tick), Ink::Quiet);
            }
            self.points(canvas);
        } else {
            self.categories(canvas);
            match self.chart.kind {
                ChartKind::Bar => {
                    self.bars(canvas);
                    self.lines(canvas);
                }
                ChartKind::Area => self.areas(canvas),
                _ => self.lines(canvas),
            }
        }
        let zero = self.along(self.ys[0].max(0.0).min(self.ys[self.ys.len() - 1]));
        if self.chart.is_horizontal {
            canvas.line(Point(zero, self.top), Point(zero, self.bottom), QUIET);
        } else {
            canvas.line(Point(self.left, zero), Point(self.right, zero), QUIET);
        }
    }

    fn slanted_height(&self) -> f64 {
        let names = self.chart.categories.iter().map(|name| width(&short(name, 40)));
        (names.fold(0.0, f64::max) * SLOPE).min(SLANTED) - 4.0
    }

    /// The lines of the value axis and their numbers.
    fn grid(&self, canvas: &mut Canvas<'_>) {
        for tick in &self.ys {
            let at = self.along(*tick);
            if self.chart.is_horizontal {
                canvas.line(Point(at, self.top), Point(at, self.bottom), GRID);
                let below = Point(at, self.bottom + 16.0);
                canvas.text(below, TextAnchor::Middle, &number(*tick), Ink::Quiet);
            } else {
                canvas.line(Point(self.left, at), Point(self.right, at), GRID);
                let beside = Point(self.left - 8.0, at + 4.0);
                canvas.text(beside, TextAnchor::End, &number(*tick), Ink::Quiet);
            }
        }
        for tick in &self.right_ys {
            let y = self.bottom - share(&self.right_ys, *tick) * (self.bottom - self.top);
            let at = Point(self.right + 8.0, y + 4.0);
            canvas.text(at, TextAnchor::Start, &number(*tick), Ink::Quiet);
        }
    }

    /// The names of the categories. Only where there is not even room for a line, as with the days
    /// of a year, they are every second, third, … name.
    fn categories(&self, canvas: &mut Canvas<'_>) {
        let letters = |name: &str, room: f64| {
            let letters = name.chars().count() as f64 * room / width(name).max(1.0);
            (letters as usize).max(2)
        };
        let every = (13.0 / self.step()).ceil().max(1.0) as usize;
        for (at, name) in self.chart.categories.iter().enumerate().step_by(every) {
            let (band, name) = (self.band(at), canvas.short(name, 40));
            if self.chart.is_horizontal {
                let at = Point(self.left - 8.0, band + 4.0);
                let name = canvas.short(&name, letters(&name, NAMES));
                canvas.text(at, TextAnchor::End, &name, Ink::Name);
            } else if self.is_slanted {
                // A name does not rise above the left edge.
                let room = (SLANTED / SLOPE).min(band / RUN - 4.0);
                let name = canvas.short(&name, letters(&name, room));
                canvas.slanted(Point(band + 4.0, self.bottom + 14.0), &name);
            } else {
                canvas.text(Point(band, self.bottom + 16.0), TextAnchor::Middle, &name, Ink::Name);
            }
        }
    }

    fn bars(&self, canvas: &mut Canvas<'_>) {
        let bars = || self.chart.series.iter().enumerate().filter(|(_, series)| !series.is_line);
        let count = if self.chart.is_stacked { 1 } else { bars().count() };
        let wide = (self.step() * 0.72 / count as f64).min(56.0);
        let mut ends = vec![[0.0_f64; 2]; self.chart.categories.len()];
        for (nth, (at, series)) in bars().enumerate() {
            let place = if self.chart.is_stacked { 0 } else { nth };
            for (band, value) in series.values.iter().enumerate() {
                let Some(value) = *value else { continue };
                let side = (place as f64 - count as f64 / 2.0) * wide;
                let end = &mut ends[band][usize::from(value < 0.0)];
                let from = if self.chart.is_stacked { *end } else { 0.0 };
                *end = from + value;
                let bar = Bar { from, to: from + value, at: self.band(band) + side, wide };
                self.bar(canvas, bar, canvas.color(at));
            }
        }
    }

    fn bar(&self, canvas: &mut Canvas<'_>, bar: Bar, color: Color) {
        let (from, to) = (self.along(bar.from), self.along(bar.to));
        let (low, long) = (from.min(to), (from - to).abs());
        // The gap between bars is narrower than they are.
        let thick = (bar.wide - 1.0).max(bar.wide * 0.6);
        let value = bar.to - bar.from;
        let text = number(value);
        let is_inside = self.chart.is_stacked;
        let ink = if is_inside { Ink::On(color) } else { Ink::Quiet };
        let has_room = if self.chart.is_horizontal { width(&text) + 4.0 } else { 15.0 } < long;
        let is_shown = self.chart.shows_values() && (has_room || !is_inside);
        let middle = bar.at + bar.wide / 2.0;
        let centre = f64::midpoint(from, to);
        if self.chart.is_horizontal {
            canvas.rect(Bounds { x: low, y: bar.at, width: long, height: thick }, &color);
            let (x, anchor) = match (is_inside, value < 0.0) {
                (true, _) => (centre, TextAnchor::Middle),
                (false, true) => (to - 4.0, TextAnchor::End),
                (false, false) => (to + 4.0, TextAnchor::Start),
            };
            let at = Point(x, middle + 4.0);
            if is_shown {
                canvas.text(at, anchor, &text, ink);
            }
        } else {
            canvas.rect(Bounds { x: bar.at, y: low, width: thick, height: long }, &color);
            let y = match (is_inside, value < 0.0) {
                (true, _) => centre + 4.0,
                (false, true) => to + 13.0,
                (false, false) => to - 4.0,
            };
            if is_shown {
                canvas.text(Point(middle, y), TextAnchor::Middle, &text, ink);
            }
        }
    }

    /// A gap in the values is a gap in the line.
    fn lines(&self, canvas: &mut Canvas<'_>) {
        let is_line = |series: &Series| series.is_line || self.chart.kind != ChartKind::Bar;
        for (at, series) in self.chart.series.iter().enumerate() {
            if !is_line(series) {
                continue;
            }
            let color = canvas.color(at);
            let mut path = String::new();
            let mut pen_is_up = true;
            for (band, value) in series.values.iter().enumerate() {
                if let Some(value) = value {
                    let step = if pen_is_up { 'M' } else { 'L' };
                    let (x, y) = (self.band(band), self.height(series, *value));
                    let _ = write!(path, "{step}{x:.1} {y:.1}");
                    canvas.dot(Point(x, y), 3.0, &color);
                    if self.chart.shows_values_of(series) {
                        canvas.text(
                            Point(x, y - 8.0),
                            TextAnchor::Middle,
                            &number(*value),
                            Ink::Quiet,
                        );
                    }
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

    /// Areas down to zero, or to the series below. A gap counts as zero.
    fn areas(&self, canvas: &mut Canvas<'_>) {
        let mut below = vec![0.0; self.chart.categories.len()];
        let opacity = if self.chart.is_stacked { 0.9 } else { 0.45 };
        for (at, series) in self.chart.series.iter().enumerate() {
            let color = canvas.color(at);
            let values = series.values.iter().zip(&below);
            let base = |low: f64| if self.chart.is_stacked { low } else { 0.0 };
            let above: Vec<f64> =
                values.map(|(value, low)| value.unwrap_or(0.0) + base(*low)).collect();
            let mut path = String::new();
            let point = |at: usize, value: f64| (self.band(at), self.along(value));
            for (at, value) in above.iter().enumerate() {
                let (x, y) = point(at, *value);
                let _ = write!(path, "{}{x:.1} {y:.1}", if at == 0 { 'M' } else { 'L' });
            }
            for (at, low) in below.iter().enumerate().rev() {
                let (x, y) = point(at, base(*low));
                let _ = write!(path, "L{x:.1} {y:.1}");
            }
            let _ = write!(
                canvas.out,
                "<path d=\"{path}Z\" fill=\"#{color}\" fill-opacity=\"{opacity}\" \
                 stroke=\"#{color}\" stroke-width=\"1.5\"/>"
            );
            below = above;
        }
    }

    fn points(&self, canvas: &mut Canvas<'_>) {
        for (at, series) in self.chart.series.iter().enumerate() {
            for (x, value) in self.chart.xs.iter().zip(&series.values) {
                if let Some(value) = value {
                    canvas.dot(Point(self.x(*x), self.along(*value)), 4.0, &canvas.color(at));
                }
            }
        }
    }
}

/// A bar between two values.
#[derive(Clone, Copy)]
struct Bar {
    from: f64,
    to: f64,
    /// The position and the size across the axis of the values.
    at: f64,
    wide: f64,
}

/// The place of a value between the first and the last tick, as a share.
fn share(ticks: &[f64], value: f64) -> f64 {
    let (low, high) = (ticks[0], ticks[ticks.len() - 1]);
    (value - low) / (high - low)
}

/// The width of the widest number at an axis, in pixels.
fn widest(ticks: &[f64]) -> f64 {
    ticks.iter().map(|tick| width(&number(*tick))).fold(0.0, f64::max)
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

#[cfg(test)]
mod tests {
    use crate::chart::{read::read, svg};
    use crate::document::Color;

    #[test]
    fn ticks_are_round_and_hold_all_values() {
        let ticks = |values: &[f64], zero| super::ticks(values.iter().copied(), zero);
        assert_eq!(ticks(&[3.0, 47.0], true), [0.0, 10.0, 20.0, 30.0, 40.0, 50.0]);
        assert_eq!(ticks(&[101.0, 104.0], false), [101.0, 102.0, 103.0, 104.0]);
        assert_eq!(ticks(&[-5.0, 5.0], true), [-6.0, -4.0, -2.0, 0.0, 2.0, 4.0, 6.0]);
        assert_eq!(ticks(&[7.0], false).len(), 2);
    }

    fn drawn(source: &str) -> String {
        let palette = [Color::read("112233").unwrap()];
        String::from_utf8(svg::draw(&read(source).unwrap(), &palette, "A").svg).unwrap()
    }

    #[test]
    fn every_category_has_its_name() {
        let rows: Vec<_> = (1..=15).map(|n| format!("Country with long name {n},{n}")).collect();
        let rows = rows.join("\n");
        for kind in ["bar", "horizontal bar", "line", "area"] {
            let svg = drawn(&format!("type: {kind}\n\nk,S\n{rows}"));
            for n in 1..=15 {
                assert!(
                    svg.contains(&format!(">Country with long name {n}<")),
                    "{kind} {n}: {svg}"
                );
            }
        }
    }

    #[test]
    fn many_bars_have_a_width() {
        let rows: Vec<_> = (0..450).map(|n| format!("{n},5")).collect();
        let svg = drawn(&format!("type: bar\n\nk,S\n{}", rows.join("\n")));
        assert_eq!(svg.matches("<rect ").count(), 450);
        assert!(!svg.contains(" width=\"-") && !svg.contains(" width=\"0.0"), "{svg}");
    }

    #[test]
    fn values_are_printed_where_they_are_wanted() {
        let shown = |labels: &str| {
            drawn(&format!("type: line\nlabels: {labels}\n\nk,S\na,1234\nb,2345"))
                .contains(">1,234<")
        };
        assert_eq!(["values", "none", "auto"].map(shown), [true, false, false]);
        let svg = drawn("type: stacked bar\n\nk,S,T\na,40,30\nb,20,50");
        assert!([">40<", ">30<", ">80<"].iter().all(|value| svg.contains(value)), "{svg}");
    }

    #[test]
    fn lines_over_bars_have_their_axis_at_the_right() {
        let rows = "\n\nk,Sales,Growth\na,1000,5\nb,2000,7";
        let svg = drawn(&format!("type: combo\ny2: Percent{rows}"));
        assert_eq!(svg.matches("<circle").count(), 2, "{svg}");
        assert!([">Percent<", ">2,000<", ">7<"].iter().all(|text| svg.contains(text)), "{svg}");
        let left = drawn(&format!("type: combo{rows}"));
        assert!(left.contains("<circle") && !left.contains(">7<"), "{left}");
    }

    #[test]
    fn values_on_bars_contrast_with_them() {
        let source = "type: stacked bar\n\nk,S,T\na,40,30";
        let palette = ["1F4E79", "E3B23C"].map(|color| Color::read(color).unwrap());
        let svg = String::from_utf8(svg::draw(&read(source).unwrap(), &palette, "A").svg).unwrap();
        for (color, value) in [("FFFFFF", 40), ("1F2328", 30)] {
            assert!(svg.contains(&format!("fill=\"#{color}\">{value}<")), "{svg}");
        }
    }
}
