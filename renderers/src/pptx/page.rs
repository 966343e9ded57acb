//! A slide with placed items.

use super::backdrops::Backdrop;
use super::geometry::{Area, Geometry};
use super::items::SlideItem;
use super::layouts::Layout;
use crate::document::{Color, Inline};

/// A slide with placed items.
#[derive(Debug, Clone)]
pub struct SlidePage<'d> {
    pub layout: Layout,
    /// The places of title, text and footer.
    pub geometry: Geometry,
    /// Pictures that reach the edges of the slide.
    pub backdrops: Vec<Backdrop<'d>>,
    /// The background, if it is not the master's.
    pub background: Option<Color>,
    /// The colour of text that does not stand on the master's background.
    pub ink: Option<Color>,
    pub title: Vec<Inline>,
    /// Generated titles are only for screen readers and the outline.
    pub hidden_title: bool,
    pub pieces: Vec<Piece<'d>>,
    pub notes: Vec<String>,
    pub numbered: bool,
    pub footer: Option<String>,
    /// Anchors of the headings on the slide.
    pub anchors: Vec<String>,
}

/// An item on a slide.
#[derive(Debug, Clone)]
pub struct Piece<'d> {
    pub item: SlideItem<'d>,
    pub area: Area,
    pub scale: f64,
}
