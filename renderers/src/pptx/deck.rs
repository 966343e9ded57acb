//! The state of a rendering.

use std::collections::HashMap;

use super::frames::Frames;
use super::geometry::Geometry;
use super::heights::LARGEST;
use crate::Document;
use crate::document::{Anchors, Block, Inline, SlideTemplate, each_block_of};
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
    pub frames: Frames,
    pub package: Package,
    pub warnings: Warnings,
    pub album: Album<'d>,
    pub fonts: &'d Fonts,
    /// The number of charts written so far.
    pub charts: usize,
    /// The largest scale of text on the slides of the current topic.
    pub scale: f64,
    /// The anchors of all headings, keyed by the address of their text: the document is borrowed and
    /// does not move while it is drawn.
    pub headings: HashMap<*const Inline, String>,
    /// The slide number (counted from one) of each anchor.
    pub anchors: HashMap<String, usize>,
}

impl<'d> Deck<'d> {
    pub fn new(document: &'d Document, fonts: &'d Fonts) -> Self {
        let own =
            Geometry { rtl: look::is_mostly_rtl(document), ..Geometry::of(document.meta.slides) };
        let mut look = look::look(&document.meta);
        let template = template(document);
        let (frames, geometry) = match template.and_then(|t| Some((t, Frames::of(t)?))) {
            Some((template, frames)) => {
                look = on_background(look, template);
                let geometry = frames.geometry(template, &own);
                (frames, geometry)
            }
            None => (Frames::own(&own), own),
        };
        Self {
            document,
            look,
            geometry,
            frames,
            package: Package::default(),
            warnings: Warnings::from(&document.warnings),
            album: Album::new(fonts),
            fonts,
            charts: 0,
            scale: LARGEST,
            headings: headings(document),
            anchors: HashMap::new(),
        }
    }
}

/// The anchors of headings: those of a repeated one have numbers, in the order of the document.
fn headings(document: &Document) -> HashMap<*const Inline, String> {
    let (mut headings, mut names) = (HashMap::new(), Anchors::default());
    each_block_of(&document.blocks, &mut |block| {
        if let Block::Heading { content, .. } = block {
            headings.insert(content.as_ptr(), names.next(content));
        }
    });
    headings
}

/// The masters and layouts of the document's template, unless a master lacks its theme, without which
/// PowerPoint repairs the file.
pub fn template(document: &Document) -> Option<&SlideTemplate> {
    let template = document.meta.brand.as_deref()?.slides.as_deref()?;
    (template.themes >= template.masters.len()).then_some(template)
}

/// The colours of text and lines on the background of a template.
fn on_background<'l>(look: Look<'l>, template: &SlideTemplate) -> Look<'l> {
    let look = Look { ink: template.ink, background: template.background, ..look };
    if look.is_dark() { Look { quiet: "C9D1D9", line: "6E7781", ..look } } else { look }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::document::{Brand, Color};

    #[test]
    fn a_template_without_a_theme_is_not_used() {
        let is_used = |themes: usize| {
            let (ink, background) = (Color::read("101820"), Color::read("FFFFFF"));
            let slides = SlideTemplate {
                parts: Vec::new(),
                masters: vec![1 << 31],
                themes,
                layouts: Vec::new(),
                width: 960.0,
                height: 540.0,
                ink: ink.unwrap(),
                background: background.unwrap(),
            };
            let mut document = Document::default();
            document.wear(Brand { slides: Some(Arc::new(slides)), ..Brand::default() });
            template(&document).is_some()
        };
        assert_eq!([0, 1].map(is_used), [false, true]);
    }
}
