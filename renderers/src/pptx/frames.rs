//! Where the layouts of the file have their placeholders: our own layouts, or those of a company's
//! template.

use super::geometry::{Area, Geometry};
use super::layouts::{LAYOUTS, Layout};
use super::markup::Holder;
use crate::document::{LayoutHolder, SlideLayout, SlideTemplate};

/// The padding of placeholders that do not set one: left and right, top and bottom, in points.
const PADDING: [f64; 2] = [7.2, 3.6];
/// The font sizes of titles and texts whose template sets none; the latter is that of DrawingML.
const USUAL: [f64; 2] = [30.0, 18.0];
/// The height of a line of text below a title without a placeholder for it.
const BELOW: f64 = 90.0;

/// A placeholder of a layout.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TextSlot {
    pub holder: Holder,
    pub area: Area,
    /// The font size of the first level, in points.
    pub points: f64,
}

/// The placeholders of one layout.
#[derive(Debug, Clone, PartialEq)]
pub struct LayoutFrame {
    /// The number of the layout's part.
    pub part: usize,
    pub title: TextSlot,
    pub bodies: Vec<TextSlot>,
    pub footer: Option<Holder>,
    pub number: Option<Holder>,
    footer_area: Option<Area>,
    number_area: Option<Area>,
}

/// The placeholders of all layouts.
#[derive(Debug, Clone, PartialEq)]
pub struct Frames {
    layouts: Vec<LayoutFrame>,
    /// Whether they are those of a company's template.
    pub is_template: bool,
}

impl Frames {
    /// Our own layouts.
    pub fn own(geometry: &Geometry) -> Self {
        let frame = |layout: &Layout| LayoutFrame {
            part: *layout as usize + 1,
            title: TextSlot {
                holder: layout.title(),
                area: layout.title_area(geometry),
                points: layout.title_size(),
            },
            bodies: layout
                .places(geometry)
                .into_iter()
                .map(|(holder, area)| TextSlot { holder, area, points: layout.text_size() })
                .collect(),
            footer: Some(Holder::FOOTER),
            number: Some(Holder::NUMBER),
            footer_area: Some(geometry.footer),
            number_area: Some(geometry.number),
        };
        Self { layouts: LAYOUTS.iter().map(frame).collect(), is_template: false }
    }

    /// The layouts of a template, by their types; `None` if none has a title and a text.
    pub fn of(template: &SlideTemplate) -> Option<Self> {
        let frames: Vec<(&str, LayoutFrame)> = template
            .layouts
            .iter()
            .filter_map(|layout| Some((layout.kind.as_str(), frame(layout)?)))
            .collect();
        let with_text = || frames.iter().filter(|(_, frame)| !frame.bodies.is_empty());
        let content = with_text().find(|(kind, _)| matches!(*kind, "obj" | "tx"));
        let content = &content.or_else(|| with_text().next())?.1;
        let find = |names: &[&str]| {
            let named = |name: &&str| frames.iter().find(|(kind, _)| kind == name);
            names.iter().find_map(named).map_or(content, |(_, frame)| frame)
        };
        let chosen = LAYOUTS.iter().map(|layout| match layout {
            Layout::Title => find(&["title"]),
            Layout::Section => find(&["secHead", "title"]),
            Layout::Two | Layout::Comparison => find(&["twoObj"]),
            Layout::TitleOnly | Layout::Blank | Layout::Figure => find(&["titleOnly"]),
            Layout::Content | Layout::Mixed | Layout::Code | Layout::Quote => content,
        });
        Some(Self { layouts: chosen.cloned().collect(), is_template: true })
    }

    pub fn layout(&self, layout: Layout) -> &LayoutFrame {
        &self.layouts[layout as usize]
    }

    /// The geometry of a template's layouts.
    pub fn geometry(&self, template: &SlideTemplate, own: &Geometry) -> Geometry {
        let content = self.layout(Layout::Content);
        let pair = |layout: Layout| {
            let frame = self.layout(layout);
            let body = frame.bodies.first().map_or(below(frame.title.area), |slot| slot.area);
            [inside(frame.title.area), inside(body)]
        };
        let two = self.layout(Layout::Two).bodies.get(..2);
        let halves = two.map(|two| [inside(two[0].area), inside(two[1].area)]);
        let [title, body] = pair(Layout::Content);
        Geometry {
            width: template.width,
            height: template.height,
            title,
            body,
            footer: content.footer_area.unwrap_or(own.footer),
            number: content.number_area.unwrap_or(own.number),
            front: pair(Layout::Title),
            section: pair(Layout::Section),
            columns: halves.filter(|[one, two]| !own.rtl && one.x < two.x),
            ..*own
        }
    }

    /// The area of a placeholder with text in that area.
    pub fn around(&self, area: Area) -> Area {
        if self.is_template { padded(area, 1.0) } else { area }
    }
}

fn inside(area: Area) -> Area {
    padded(area, -1.0)
}

fn padded(area: Area, sign: f64) -> Area {
    let [side, above] = PADDING.map(|padding| padding * sign);
    Area {
        x: area.x - side,
        y: area.y - above,
        width: (area.width + 2.0 * side).max(10.0),
        height: (area.height + 2.0 * above).max(10.0),
    }
}

fn below(title: Area) -> Area {
    Area { y: title.y + title.height, height: BELOW, ..title }
}

/// The placeholders of a layout with a title.
fn frame(layout: &SlideLayout) -> Option<LayoutFrame> {
    let of_kind = |kinds: &[Option<&'static str>]| {
        let kinds = kinds.to_vec();
        layout.holders.iter().filter(move |holder| kinds.contains(&holder.kind))
    };
    let title = of_kind(&[Some("title"), Some("ctrTitle")]).next()?;
    let bodies = of_kind(&[None, Some("body"), Some("subTitle")]);
    let (footer, number) = (of_kind(&[Some("ftr")]).next(), of_kind(&[Some("sldNum")]).next());
    Some(LayoutFrame {
        part: layout.number,
        title: slot(title),
        bodies: bodies.map(slot).collect(),
        footer: footer.map(|footer| slot(footer).holder),
        number: number.map(|number| slot(number).holder),
        footer_area: footer.map(|footer| slot(footer).area),
        number_area: number.map(|number| slot(number).area),
    })
}

fn slot(holder: &LayoutHolder) -> TextSlot {
    let [x, y, width, height] = holder.area;
    let [of_title, of_text] = USUAL;
    let usual = if matches!(holder.kind, Some("title" | "ctrTitle")) { of_title } else { of_text };
    TextSlot {
        holder: Holder { kind: holder.kind, index: holder.index },
        area: Area { x, y, width, height },
        points: holder.points.unwrap_or(usual),
    }
}
