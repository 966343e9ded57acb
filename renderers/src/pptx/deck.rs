//! The state of a rendering.

use std::collections::HashMap;

use super::geometry::Geometry;
use crate::Document;
use crate::package::Package;
use crate::package::look::{self, Look};
use crate::package::picture::Album;
use crate::package::warnings::Warnings;
use crate::pdf::fontset::Fonts;

/// A presentation that is being built.
pub struct Deck<'d> {
    pub document: &'d Document,
    pub look: Look<'d>,
    pub geometry: Geometry,
    pub package: Package,
    pub warnings: Warnings,
    pub album: Album<'d>,
    pub fonts: &'d Fonts,
    /// The number of charts written so far.
    pub charts: usize,
    /// The largest scale of text on the slides of the current topic.
    pub scale: f64,
    /// The slide number (counted from one) of each anchor.
    pub anchors: HashMap<String, usize>,
}

impl<'d> Deck<'d> {
    pub fn new(document: &'d Document, fonts: &'d Fonts) -> Self {
        Self {
            document,
            look: look::look(&document.meta),
            geometry: Geometry {
                rtl: look::is_mostly_rtl(document),
                ..Geometry::of(document.meta.slides)
            },
            package: Package::default(),
            warnings: Warnings::from(&document.warnings),
            album: Album::new(fonts),
            fonts,
            charts: 0,
            scale: super::flow::LARGEST,
            anchors: HashMap::new(),
        }
    }
}
