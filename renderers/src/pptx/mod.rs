//! PowerPoint files (PresentationML, ECMA-376 transitional), written part by part.
//!
//! - `deck`: the state of a rendering; `page`: a slide with placed items
//! - [`plan`]: splits the document into slides and extracts notes and directives; [`reveal`]: the
//!   conventions of reveal.js
//! - [`items`]: a slide's blocks as text, tables, code and pictures
//! - [`fit`], [`flow`], [`bands`]: places items by measured text and continues on further slides
//!   where needed; slides with columns. `geometry`, `heights`: positions and measured heights
//! - [`slide`], [`paragraphs`], [`shapes`], [`charts`]: the XML of a slide, a [`sheet`]
//! - [`markup`]: XML shared by slides, layouts and masters
//! - [`layouts`], [`theme`], [`notes`], [`parts`]: the parts of every file
//!
//! All text is placed in placeholders of a layout, so that the outline view, screen readers and
//! design changes work.

mod bands;
mod charts;
mod deck;
mod fit;
mod flow;
mod geometry;
mod heights;
mod items;
mod layouts;
mod markup;
mod notes;
mod page;
mod paragraphs;
mod parts;
mod plan;
mod reveal;
mod shapes;
mod sheet;
mod slide;
mod theme;

use crate::Document;
use crate::document::Block;
use crate::package::{Relations, limits, properties};
use crate::pdf::fontset::Fonts;
use crate::rendered::{RenderError, Rendered};

use deck::Deck;
use page::Page;
use plan::Slide;

/// The maximum number of slides.
const SLIDES: usize = 300;

/// Renders a presentation; `pages` is the number of its slides.
pub fn render(document: &Document, fonts: &Fonts) -> Result<Rendered, RenderError> {
    limits::check(document)?;
    let adapted = reveal::adapted(document);
    let document = adapted.as_ref().unwrap_or(document);
    let mut deck = Deck::new(document, fonts);
    for sentence in plan::without_effect(document) {
        deck.warnings.say(sentence);
    }
    let pages = deck.pages()?;
    deck.write(&pages);
    let Deck { package, warnings, .. } = deck;
    let dropped = package.dropped;
    let bytes = package.finish();
    limits::output(&bytes)?;
    Ok(Rendered { bytes, pages: pages.len(), warnings: warnings.finish(dropped) })
}

impl<'d> Deck<'d> {
    /// All slides with placed items and unique titles. Stops at the limit, so that a huge text is
    /// not laid out to its end.
    fn pages(&mut self) -> Result<Vec<Page<'d>>, RenderError> {
        let mut pages = Vec::new();
        for slide in plan::slides(self.document) {
            limits::pages(pages.len(), SLIDES, "or more slides")?;
            let room = SLIDES - pages.len();
            pages.extend(self.pages_of(slide, room)?);
        }
        limits::pages(pages.len(), SLIDES, "slides")?;
        fit::name_apart(&mut pages);
        let meta = &self.document.meta;
        if pages.iter().all(|page| page.footer.is_none()) {
            for text in [&meta.header, &meta.footer].into_iter().flatten() {
                self.warnings.say(format!("“{text}” is not shown: a title slide has no footer."));
            }
        }
        for (at, page) in pages.iter().enumerate() {
            for anchor in &page.anchors {
                self.anchors.entry(anchor.clone()).or_insert(at + 1);
            }
        }
        Ok(pages)
    }

    /// The pages of one slide, at most `room`.
    fn pages_of(&mut self, slide: Slide<'d>, room: usize) -> Result<Vec<Page<'d>>, RenderError> {
        if slide.blocks.iter().any(|block| matches!(block, Block::Columns(_))) {
            return Ok(self.fit_bands(slide));
        }
        let items = self.items(&slide);
        let least = flow::slides(&items, self.geometry.body);
        limits::pages(SLIDES - room + least, SLIDES, "or more slides")?;
        Ok(self.fit(slide, items))
    }

    fn write(&mut self, pages: &[Page<'d>]) {
        for (at, page) in pages.iter().enumerate() {
            self.slide(at + 1, page);
        }
        self.constant_parts(pages);
        let mut root = Relations::default();
        root.part("officeDocument", "ppt/presentation.xml");
        properties::add(&mut self.package, &mut root, &self.document.meta);
        self.package.relate("", root);
    }
}

#[cfg(test)]
mod tests;
