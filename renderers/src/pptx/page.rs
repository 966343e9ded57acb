//! A slide with placed items.

use super::geometry::Area;
use super::items::Item;
use super::layouts::Layout;
use crate::document::Inline;

/// A slide with placed items.
#[derive(Debug, Clone)]
pub struct Page<'d> {
    pub layout: Layout,
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
    pub item: Item<'d>,
    pub area: Area,
    pub scale: f64,
}
