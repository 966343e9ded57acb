//! Pictures that reach the edges of a slide, as in Marp: `![bg]`, `![bg right:40%]`. They are behind
//! the text or beside it.

use super::deck::Deck;
use super::geometry::Area;
use super::layouts::Layout;
use super::plan::Slide;
use crate::document::{Block, Color, Inline};
use crate::package::backdrop_words::BackdropWords;
use crate::package::picture::Picture;

/// A picture with its place.
#[derive(Debug, Clone)]
pub struct Backdrop<'d> {
    pub picture: Picture<'d>,
    pub alt: String,
    pub area: Area,
}

impl Backdrop<'_> {
    /// The shares of the picture that are cut off at the left, top, right and bottom, so that it
    /// fills its place.
    pub fn crop(&self) -> [f64; 4] {
        let (width, height) = (f64::from(self.picture.width), f64::from(self.picture.height));
        let wide = (width / height.max(1.0)) / (self.area.width / self.area.height);
        let cut = |ratio: f64| ((1.0 - 1.0 / ratio) / 2.0).max(0.0);
        let (across, down) = (cut(wide), cut(1.0 / wide));
        [across, down, across, down]
    }
}

/// The colours of a slide that differ from those of the master.
#[derive(Debug, Clone, Copy, Default)]
pub struct SlideColors {
    pub background: Option<Color>,
    /// The colour of text.
    pub ink: Option<Color>,
}

impl<'d> Deck<'d> {
    /// The slide without the pictures that reach its edges, and these pictures. The geometry is that
    /// of the remaining space.
    pub fn with_backdrops(&mut self, mut slide: Slide<'d>) -> (Slide<'d>, Vec<Backdrop<'d>>) {
        let mut found = Vec::new();
        let blocks = std::mem::take(&mut slide.blocks);
        for block in blocks {
            match self.pictures_of(block) {
                Some(mut pictures) => found.append(&mut pictures),
                None => slide.blocks.push(block),
            }
        }
        let side = found.iter().find_map(|(words, _)| words.side);
        let region = self.geometry.region(side);
        if let Some(taken) = side {
            self.geometry = self.geometry.beside(taken);
        }
        if slide.title.is_none() && !slide.blocks.is_empty() {
            self.geometry = self.geometry.untitled();
        }
        let has_text = has_text(&slide);
        let width = region.width / found.len().max(1) as f64;
        let backdrops = found.into_iter().enumerate().map(|(at, (words, picture))| {
            let area = region.column(width * at as f64, width);
            let area = if words.is_whole { inside(&picture, area) } else { area };
            let is_behind_text = side.is_none() && has_text;
            let picture = Picture { is_darkened: is_behind_text, ..picture };
            Backdrop { picture, alt: words.alt, area }
        });
        (slide, backdrops.collect())
    }

    /// The pictures of a block that has nothing else; `None` for other blocks, and for pictures that
    /// are shown as their text.
    fn pictures_of(&mut self, block: &'d Block) -> Option<Vec<(BackdropWords, Picture<'d>)>> {
        let Block::Paragraph(content) = block else { return None };
        let mut found = Vec::new();
        for inline in content {
            match inline {
                Inline::Image { url, alt, .. } => found.push((url, BackdropWords::read(alt)?)),
                Inline::SoftBreak | Inline::LineBreak => {}
                Inline::Text(text) if text.trim().is_empty() => {}
                _ => return None,
            }
        }
        let document = self.document;
        if found.is_empty() {
            return None;
        }
        // A picture that is missing is named by a warning; the words that place it say nothing.
        let has_alt = found.iter().any(|(_, words)| !words.alt.is_empty());
        let read = |(url, words): (&'d String, BackdropWords)| {
            let picture = self.album.picture(document, url, &mut self.warnings)?;
            Some((words, picture))
        };
        let pictures: Vec<_> = found.into_iter().filter_map(read).collect();
        (!pictures.is_empty() || !has_alt).then_some(pictures)
    }

    /// The colours of a slide. Text on a picture is white, and the picture is darkened.
    pub fn slide_colors(&self, slide: &Slide<'d>, backdrops: &[Backdrop<'d>]) -> SlideColors {
        let mut look = SlideColors::default();
        if slide.setting.is_inverted {
            look.background = Some(self.look.ink);
        }
        look.background = slide.setting.background.or(look.background);
        look.ink = look.background.map(Color::contrasting);
        if has_text(slide) && backdrops.iter().any(|backdrop| backdrop.picture.is_darkened) {
            look.ink = Color::read("FFFFFF");
        }
        look
    }

    /// The colour of text on the background of a layout.
    pub fn ink_of(&self, layout: Layout) -> Option<Color> {
        (layout == Layout::Section && !self.frames.is_template)
            .then(|| self.look.accent.contrasting())
    }
}

fn has_text(slide: &Slide<'_>) -> bool {
    slide.title.is_some() || !slide.blocks.is_empty()
}

/// The largest place of a whole picture in an area.
fn inside(picture: &Picture<'_>, area: Area) -> Area {
    let (width, height) = (f64::from(picture.width.max(1)), f64::from(picture.height.max(1)));
    let scale = (area.width / width).min(area.height / height);
    let (width, height) = (width * scale, height * scale);
    let (x, y) = (area.x + (area.width - width) / 2.0, area.y + (area.height - height) / 2.0);
    Area { x, y, width, height }
}
