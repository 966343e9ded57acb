//! What a company's template says about how documents look.

use super::page::Page;
use crate::color::Color;

/// What a template says; where it says nothing, the theme counts.
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
    /// Of headings, from the first level on.
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
    /// What was not taken over.
    pub warnings: Vec<String>,
}

/// How one kind of line looks.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Voice {
    pub face: Option<String>,
    pub color: Option<Color>,
    pub half_points: Option<u32>,
    pub bold: Option<bool>,
    pub italic: Option<bool>,
}
