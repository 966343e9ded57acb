//! The settings of a company's template.

use super::page::Page;
use crate::color::Color;

/// The settings of a template. An unset field uses the theme's value.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Brand {
    pub headings: Option<String>,
    pub body: Option<String>,
    pub east_asian: Option<String>,
    pub complex: Option<String>,
    pub ink: Option<Color>,
    pub accents: [Option<Color>; 6],
    pub link: Option<Color>,
    /// Of slides.
    pub background: Option<Color>,
    /// The style of each heading level, starting with the first.
    pub levels: [Voice; 6],
    pub title: Voice,
    /// Size of the text.
    pub half_points: Option<u32>,
    pub page: Option<Page>,
    /// Top, right, bottom and left, in twips.
    pub margins: Option<[i64; 4]>,
    pub header: Option<String>,
    pub footer: Option<String>,
    pub logo: Option<Vec<u8>>,
    /// The settings that were ignored.
    pub warnings: Vec<String>,
}

/// The style of one kind of line.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Voice {
    pub face: Option<String>,
    pub color: Option<Color>,
    pub half_points: Option<u32>,
    pub bold: Option<bool>,
    pub italic: Option<bool>,
}
