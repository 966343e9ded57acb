//! Positions on a slide, in points.

use crate::document::SlideSize;
use crate::package::backdrop_words::{Side, SideShare};

/// English Metric Units per point.
const EMU: f64 = 12_700.0;

/// The height of our own slides.
const HEIGHT: f64 = 540.0;
/// The share of the width that the margin beside a picture takes at most.
const MAX_MARGIN: f64 = 0.1;
/// The gap between columns.
const GUTTER: f64 = 24.0;

/// A rectangle in points.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Area {
    pub x: f64,
    pub y: f64,
    pub width: f64,
    pub height: f64,
}

impl Area {
    /// x, y, width and height in EMU, as text for attributes.
    pub fn emu(self) -> [String; 4] {
        [self.x, self.y, self.width, self.height].map(|points| emu(points).to_string())
    }

    /// Whether both are the same place, apart from rounding.
    pub fn is_near(self, other: Self) -> bool {
        let sides = |area: Self| [area.x, area.y, area.width, area.height];
        sides(self).iter().zip(sides(other)).all(|(one, two)| (one - two).abs() < 0.05)
    }

    /// The part of the area that starts `from` points right of its left edge.
    pub fn column(self, from: f64, width: f64) -> Self {
        Self { x: self.x + from, width, ..self }
    }

    /// The part of the area that starts `from` points below its upper edge.
    pub fn band(self, from: f64, height: f64) -> Self {
        Self { y: self.y + from, height, ..self }
    }
}

pub fn emu(points: f64) -> i64 {
    (points * EMU).round() as i64
}

/// The boxes that all layouts share.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Geometry {
    pub size: SlideSize,
    pub width: f64,
    pub height: f64,
    pub title: Area,
    pub body: Area,
    pub footer: Area,
    pub number: Area,
    /// Title and text of a title slide.
    pub front: [Area; 2],
    /// Title and text of a section.
    pub section: [Area; 2],
    /// The places of two columns, if they are not the halves of the body.
    pub columns: Option<[Area; 2]>,
    /// Whether the layout is mirrored for right-to-left text.
    pub rtl: bool,
}

impl Geometry {
    /// The left-to-right geometry.
    pub fn of(size: SlideSize) -> Self {
        let (width, margin) = match size {
            SlideSize::Wide => (960.0, 54.0),
            SlideSize::Standard => (720.0, 42.0),
        };
        let inner = width - 2.0 * margin;
        let area = |y: f64, height: f64| Area { x: margin, y, width: inner, height };
        Self {
            size,
            width,
            height: HEIGHT,
            title: area(28.0, 72.0),
            body: area(116.0, 374.0),
            footer: Area { width: inner - 90.0, ..area(502.0, 24.0) },
            number: Area { x: width - margin - 80.0, width: 80.0, ..area(502.0, 24.0) },
            front: [area(150.0, 110.0), area(282.0, 150.0)],
            section: [area(200.0, 110.0), area(334.0, 100.0)],
            columns: None,
            rtl: false,
        }
    }

    /// The two halves of the body, in reading order.
    pub fn halves(&self) -> [Area; 2] {
        self.columns.unwrap_or([0, 1].map(|at| self.column(self.body, at, 2)))
    }

    /// A number that stands out, and the text below it.
    pub fn figure(&self) -> [Area; 2] {
        let title = Area { y: self.down(150.0), height: 120.0, ..self.title };
        let y = title.y + title.height + 16.0;
        let height = (self.height - y - 20.0).clamp(20.0, 150.0);
        [title, Area { y, height, ..self.body }]
    }

    /// The text of a quote.
    pub fn quote(&self) -> Area {
        let area = self.body.column(48.0, self.body.width - 96.0);
        Area { y: self.down(170.0), height: self.down(230.0), ..area }
    }

    /// A length on our own slides as the same share of the height of these, which may be those of a
    /// template.
    fn down(&self, points: f64) -> f64 {
        points * self.height / HEIGHT
    }

    /// The same without a visible title.
    pub fn untitled(self) -> Self {
        let up = (self.body.y - self.title.y - 16.0).max(0.0);
        let body = Area { y: self.body.y - up, height: self.body.height + up, ..self.body };
        Self { body, columns: None, ..self }
    }

    /// The same beside a picture that takes a share of the width.
    pub fn beside(self, taken: SideShare) -> Self {
        let SideShare { side, share } = taken;
        let taken = self.width * share;
        // The titles of a template may begin far from the edge.
        let margin = self.title.x.clamp(0.0, self.width * MAX_MARGIN);
        let width = self.width - taken - margin - GUTTER * 1.5;
        let x = match side {
            Side::Right => margin,
            Side::Left => taken + GUTTER * 1.5,
        };
        let within = |area: Area| Area { x, width, ..area };
        let number = Area { x: x + width - self.number.width, ..self.number };
        let footer = Area { x, width: (width - 90.0).max(60.0), ..self.footer };
        let (title, body) = (within(self.title), within(self.body));
        let (front, section) = (self.front.map(within), self.section.map(within));
        Self { title, body, footer, number, front, section, columns: None, ..self }
    }

    /// The whole slide, or the side that a picture takes.
    pub fn region(&self, taken: Option<SideShare>) -> Area {
        let whole = Area { x: 0.0, y: 0.0, width: self.width, height: self.height };
        let Some(SideShare { side, share }) = taken else { return whole };
        let width = self.width * share;
        let x = if side == Side::Left { 0.0 } else { self.width - width };
        Area { x, width, ..whole }
    }

    /// One of `count` columns of an area, in reading order.
    pub fn column(&self, area: Area, at: usize, count: usize) -> Area {
        // In a narrow area, at least half of it is for the columns.
        let gutter = GUTTER.min(area.width / (2 * count) as f64);
        let width = (area.width - gutter * (count - 1) as f64) / count as f64;
        let from_left = if self.rtl { count - 1 - at } else { at };
        area.column(from_left as f64 * (width + gutter), width)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_beside_a_wide_picture_has_room() {
        let own = Geometry::of(SlideSize::Wide);
        let right = Area { x: 500.0, width: 400.0, ..own.title };
        for side in [Side::Left, Side::Right] {
            let beside = Geometry { title: right, body: right, ..own };
            let beside = beside.beside(SideShare { side, share: 0.7 });
            assert!(beside.title.width > 100.0 && beside.body.width > 100.0, "{beside:?}");
        }
    }

    /// The slides of a template may have a height of 405 points, as those of Google.
    #[test]
    fn places_of_text_are_within_lower_slides() {
        for height in [405.0, HEIGHT] {
            let geometry = Geometry { height, ..Geometry::of(SlideSize::Wide) };
            for area in [geometry.figure()[0], geometry.figure()[1], geometry.quote()] {
                assert!(area.y + area.height <= height, "{area:?}");
            }
        }
    }
}
