//! The settings of a company's template.

use std::sync::Arc;

use super::page::Page;
use super::slide_template::SlideTemplate;
use crate::color::Color;

/// The settings of a template. An unset field uses the theme's value.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Brand {
    /// The font of headings.
    pub headings: Option<String>,
    /// The font of the text.
    pub body: Option<String>,
    /// The font of Chinese, Japanese and Korean text.
    pub east_asian: Option<String>,
    /// The font of Arabic, Hebrew and other complex scripts.
    pub complex: Option<String>,
    /// The default text colour.
    pub ink: Option<Color>,
    /// The accent colours; the first one is the main colour.
    pub accents: [Option<Color>; 6],
    /// The colour of links.
    pub link: Option<Color>,
    /// The background colour of slides.
    pub background: Option<Color>,
    /// The style of each heading level, starting with the first.
    pub levels: [Voice; 6],
    /// The style of the title.
    pub title: Voice,
    /// The size of the text, in half points.
    pub half_points: Option<u32>,
    /// The paper.
    pub page: Option<Page>,
    /// Top, right, bottom and left, in twips.
    pub margins: Option<[i64; 4]>,
    /// The text at the top of each page.
    pub header: Option<String>,
    /// The text at the bottom of each page.
    pub footer: Option<String>,
    /// The logo, as it is embedded in the template.
    pub logo: Option<Vec<u8>>,
    /// The masters and layouts of a presentation.
    pub slides: Option<Arc<SlideTemplate>>,
    /// The settings that were ignored.
    pub warnings: Vec<String>,
}

/// The style of one kind of line.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Voice {
    /// The font.
    pub face: Option<String>,
    /// The colour.
    pub color: Option<Color>,
    /// The size, in half points.
    pub half_points: Option<u32>,
    /// Whether it is bold.
    pub bold: Option<bool>,
    /// Whether it is italic.
    pub italic: Option<bool>,
}
