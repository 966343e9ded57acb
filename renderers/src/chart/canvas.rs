//! The canvas of a chart: rectangles, lines, dots and texts as elements of SVG.

use std::fmt::Write as _;

use crate::document::Color;
use crate::package::measure::{self, Face};

/// The width of a drawn chart, in pixels.
pub(super) const WIDTH: f64 = 640.0;

/// The size of texts, in pixels.
pub(super) const SIZE: f64 = 12.0;
/// The height of a line of text, in pixels.
pub(super) const LINE: f64 = 18.0;
const INK: &str = "#3a4149";
pub(super) const QUIET: &str = "#6b7580";
pub(super) const GRID: &str = "#dde2e7";

/// The elements drawn so far, in the colours of the series.
pub(super) struct Canvas<'a> {
    pub(super) out: String,
    pub(super) palette: &'a [Color],
    pub(super) has_cut_names: bool,
}

#[derive(Clone, Copy)]
pub(super) enum TextAnchor {
    Start,
    Middle,
    End,
}

/// The role of a text.
#[derive(Clone, Copy)]
pub(super) enum Ink {
    Title,
    Name,
    Quiet,
    /// On a bar of that colour.
    On(Color),
}

/// A point of the canvas: to the right, and down.
#[derive(Clone, Copy)]
pub(super) struct Point(pub f64, pub f64);

/// A rectangle of the canvas.
pub(super) struct Bounds {
    pub x: f64,
    pub y: f64,
    pub width: f64,
    pub height: f64,
}

impl Canvas<'_> {
    pub(super) fn color(&self, at: usize) -> Color {
        self.palette[at % self.palette.len()]
    }

    /// Shortens a text to fit, and notes that it was cut.
    pub(super) fn short(&mut self, text: &str, letters: usize) -> String {
        let short = short(text, letters);
        self.has_cut_names |= short != text;
        short
    }

    pub(super) fn text(&mut self, at: Point, anchor: TextAnchor, text: &str, ink: Ink) {
        let anchor = match anchor {
            TextAnchor::Start => "start",
            TextAnchor::Middle => "middle",
            TextAnchor::End => "end",
        };
        let (color, bold) = match ink {
            Ink::Title => (INK.to_owned(), " font-weight=\"bold\" font-size=\"15\""),
            Ink::Name => (INK.to_owned(), ""),
            Ink::Quiet => (QUIET.to_owned(), ""),
            Ink::On(bar) => (format!("#{}", bar.contrasting()), ""),
        };
        let _ = write!(
            self.out,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\" fill=\"{color}\"{bold}>{}</text>",
            at.0,
            at.1,
            escaped(text)
        );
    }

    /// A text that rises to the right and ends at that point.
    pub(super) fn slanted(&mut self, end: Point, text: &str) {
        let Point(x, y) = end;
        let _ = write!(
            self.out,
            "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"end\" fill=\"{INK}\" \
             transform=\"rotate(-40 {x:.1} {y:.1})\">{}</text>",
            escaped(text)
        );
    }

    pub(super) fn rect(&mut self, bounds: Bounds, color: &str) {
        let Bounds { x, y, width, height } = bounds;
        let _ = write!(
            self.out,
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" fill=\"#{color}\"/>"
        );
    }

    pub(super) fn line(&mut self, from: Point, to: Point, color: &str) {
        let _ = write!(
            self.out,
            "<path d=\"M{:.1} {:.1}L{:.1} {:.1}\" stroke=\"{color}\" stroke-width=\"1\"/>",
            from.0, from.1, to.0, to.1
        );
    }

    pub(super) fn dot(&mut self, center: Point, radius: f64, color: &str) {
        let Point(x, y) = center;
        let _ = write!(
            self.out,
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius:.1}\" fill=\"#{color}\"/>"
        );
    }
}

/// The width of a text, in pixels.
pub(super) fn width(text: &str) -> f64 {
    f64::from(measure::width(text, Face::Text)) * SIZE / 1_000.0
}

/// Shortens a text to fit. The description has the full text.
pub(super) fn short(text: &str, letters: usize) -> String {
    if text.chars().count() <= letters {
        return text.to_owned();
    }
    text.chars().take(letters - 1).chain(['…']).collect()
}

pub(super) fn escaped(text: &str) -> String {
    let text: String = text.chars().filter(|c| !c.is_control()).collect();
    quick_xml::escape::escape(text.as_str()).into_owned()
}
