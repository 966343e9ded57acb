//! The few item types of slides.

use std::ops::RangeInclusive;

use crate::chart::Chart;
use crate::document::{Alert, Inline, PictureWidth, Table};
use crate::package::picture::Picture;

/// The numbers with which a list can begin.
pub const LIST_NUMBERS: RangeInclusive<u64> = 1..=32_767;

/// An item with its own position on a slide.
#[derive(Debug, Clone)]
pub enum SlideItem<'d> {
    Text(Vec<Para>),
    /// Drawn in a box.
    Alert(Alert, Vec<Para>),
    Table(Table),
    Code {
        language: Option<String>,
        text: String,
        /// The font size of code that continues from another slide.
        size: Option<f64>,
    },
    Picture {
        picture: Picture<'d>,
        alt: String,
        /// Below the picture.
        caption: String,
        side: bool,
        /// The width that the source asks for.
        width: Option<PictureWidth>,
        /// The maximum height that the source asks for, in pixels.
        height: Option<f64>,
    },
    Chart(Chart),
}

impl SlideItem<'_> {
    /// Whether the item can be scaled.
    pub fn is_elastic(&self) -> bool {
        matches!(self, Self::Picture { .. } | Self::Chart(_))
    }
}

/// A paragraph on a slide.
#[derive(Debug, Clone, Default)]
pub struct Para {
    pub level: usize,
    pub mark: ParaMark,
    pub voice: ParaVoice,
    pub content: Vec<Inline>,
}

/// The bullet or number of a paragraph.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ParaMark {
    #[default]
    None,
    Bullet,
    /// The index of the list, the number, and the last number of the list.
    Number {
        list: usize,
        value: u64,
        last: u64,
    },
    Task(bool),
}

/// The role of a paragraph.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ParaVoice {
    #[default]
    Plain,
    Heading,
    Quote,
    Alert(Alert),
    /// Footnotes and captions.
    Small,
    /// A number that stands out.
    Figure,
}
