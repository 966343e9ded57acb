//! PowerPoint files (PresentationML, ECMA-376 transitional), written part by part.
//!
//! - `deck`: the state of a rendering; `page`: a slide with placed items
//! - [`plan`]: splits the document into slides and extracts notes; [`directives`]: Marp's settings;
//!   [`reveal`]: the conventions of reveal.js
//! - [`backdrops`]: pictures that reach the edges of a slide, and its background
//! - [`items`]: text, tables, code and pictures; [`itemize`]: a slide's blocks as items; [`icons`]:
//!   small pictures within a sentence
//! - [`fit`], [`flow`], [`bands`]: places items by measured text and continues on further slides
//!   where needed; slides with columns. `geometry`, `heights`: positions and measured heights
//! - [`slide`], [`paragraphs`], [`shapes`], [`charts`], [`chart_axes`], [`chart_labels`]: the XML of a
//!   slide, a [`sheet`]
//! - [`formulas`]: formulas as Office Math; [`formula_heights`]: the lines that they take
//! - [`frames`]: the placeholders of the layouts, which may be those of a template
//! - [`markup`]: XML shared by slides, layouts and masters; [`chart_markup`]: by the parts of charts
//! - [`layouts`], [`theme`], [`notes`], [`parts`]: the parts of every file
//!
//! All text is placed in placeholders of a layout, so that the outline view, screen readers and
//! design changes work.

mod backdrops;
mod bands;
mod chart_axes;
mod chart_labels;
mod chart_markup;
mod charts;
mod deck;
mod directives;
mod fit;
mod flow;
mod formula_heights;
mod formulas;
mod frames;
mod geometry;
mod heights;
mod icons;
mod itemize;
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
use crate::document::{Block, Inline};
use crate::package::{Relations, limits, properties};
use crate::pdf::fontset::Fonts;
use crate::rendered::{RenderError, Rendered};

use deck::Deck;
use page::SlidePage;
use plan::Slide;

/// The maximum number of levels of subheadings at which a slide is split.
const LEVELS: usize = 5;

/// The maximum number of slides.
const SLIDES: usize = 300;

/// Renders a presentation; `pages` is the number of its slides.
pub fn render(document: &Document, fonts: &Fonts) -> Result<Rendered, RenderError> {
    limits::check(document)?;
    let adapted = reveal::adapted(document);
    let document = adapted.as_ref().unwrap_or(document);
    let mut deck = Deck::new(document, fonts);
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
    fn pages(&mut self) -> Result<Vec<SlidePage<'d>>, RenderError> {
        let mut pages = Vec::new();
        for slide in plan::slides(self.document) {
            limits::pages(pages.len(), SLIDES, "or more slides")?;
            let room = SLIDES - pages.len();
            for ignored in &slide.setting.ignored {
                self.warnings.add(ignored.clone());
            }
            self.scale = heights::LARGEST;
            pages.extend(self.topic(slide, room, LEVELS)?);
        }
        limits::pages(pages.len(), SLIDES, "slides")?;
        fit::name_apart(&mut pages);
        let meta = &self.document.meta;
        if pages.iter().all(|page| page.footer.is_none()) {
            for text in [&meta.header, &meta.footer].into_iter().flatten() {
                self.warnings.add(format!("“{text}” is not shown: a title slide has no footer."));
            }
        }
        for (at, page) in pages.iter().enumerate() {
            for anchor in &page.anchors {
                self.anchors.entry(anchor.clone()).or_insert(at + 1);
            }
        }
        Ok(pages)
    }

    /// The pages of a slide, at most `room`. A slide that does not fit on one page is split at its
    /// subheadings, `levels` times at most; the text of its parts has the same size.
    fn topic(
        &mut self,
        slide: Slide<'d>,
        room: usize,
        levels: usize,
    ) -> Result<Vec<SlidePage<'d>>, RenderError> {
        let parts = slide.parts();
        let pages = self.pages_of(slide, room)?;
        if pages.len() < 2 || parts.is_empty() || levels == 0 {
            return Ok(pages);
        }
        let before = self.scale;
        for part in &parts {
            let items = self.items(part);
            let fits = flow::scale(&items, self.geometry.body, self.scale);
            self.scale = fits.unwrap_or(flow::CUT_SCALE);
        }
        let mut all = Vec::new();
        for part in parts {
            let left = room.saturating_sub(all.len());
            all.extend(self.topic(part, left, levels - 1)?);
        }
        self.scale = before;
        Ok(all)
    }

    /// The pages of one slide, at most `room`.
    fn pages_of(
        &mut self,
        slide: Slide<'d>,
        room: usize,
    ) -> Result<Vec<SlidePage<'d>>, RenderError> {
        let whole = self.geometry;
        let (slide, backdrops) = self.with_backdrops(slide);
        let look = self.slide_colors(&slide, &backdrops);
        let pages = self.placed(slide, room);
        self.geometry = whole;
        let mut pages = pages?;
        for page in &mut pages {
            if let (true, Some(first)) =
                (page.pieces.is_empty() && page.hidden_title, backdrops.first())
                && !first.alt.is_empty()
            {
                page.title = vec![Inline::Text(first.alt.clone())];
            }
            page.backdrops.clone_from(&backdrops);
            page.background = look.background;
            page.ink = look.ink.or_else(|| self.ink_of(page.layout));
        }
        Ok(pages)
    }

    /// The pages of one slide in the current geometry, at most `room`.
    fn placed(&mut self, slide: Slide<'d>, room: usize) -> Result<Vec<SlidePage<'d>>, RenderError> {
        if slide.blocks.iter().any(|block| matches!(block, Block::Columns(_))) {
            let bands = self.bands(&slide);
            let least = self.least_slides(&bands);
            limits::pages(SLIDES - room + least, SLIDES, "or more slides")?;
            return Ok(self.fit_bands(slide, bands));
        }
        let items = self.items(&slide);
        let least = flow::slides(&items, self.geometry.body);
        limits::pages(SLIDES - room + least, SLIDES, "or more slides")?;
        Ok(self.fit(slide, items))
    }

    fn write(&mut self, pages: &[SlidePage<'d>]) {
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
