//! The masters and layouts of a presentation template.

use crate::color::Color;

/// The masters and layouts of a template, with the parts that they need. They have no relationships
/// except to each other, to themes and to pictures.
#[derive(Debug, Clone, PartialEq)]
pub struct SlideTemplate {
    /// The parts under the names that they have in a presentation, without slides.
    pub parts: Vec<TemplatePart>,
    /// The id of each master, in the order of their parts.
    pub masters: Vec<u32>,
    /// The number of themes.
    pub themes: usize,
    /// The layouts of the first master.
    pub layouts: Vec<SlideLayout>,
    /// The width of a slide, in points.
    pub width: f64,
    /// The height of a slide, in points.
    pub height: f64,
    /// The colour of text.
    pub ink: Color,
    /// The colour of the background, or the one below a picture.
    pub background: Color,
}

/// A part of a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TemplatePart {
    /// Its name in the package.
    pub name: String,
    /// `None` for the relationships of a part.
    pub content_type: Option<&'static str>,
    /// Its content.
    pub bytes: Vec<u8>,
}

/// A layout of a template.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SlideLayout {
    /// The number of its part.
    pub number: usize,
    /// The name of its type in the schema, such as `obj`.
    pub kind: String,
    /// Its placeholders for a title, text, the footer and the slide number.
    pub holders: Vec<LayoutHolder>,
}

/// A placeholder of a layout.
#[derive(Debug, Clone, PartialEq)]
pub struct LayoutHolder {
    /// The name of its type in the schema; `None` for any content.
    pub kind: Option<&'static str>,
    /// Its number within the layout.
    pub index: Option<usize>,
    /// Left, top, width and height in points.
    pub area: [f64; 4],
    /// The font size of its first level in points, if the template sets one.
    pub points: Option<f64>,
}
