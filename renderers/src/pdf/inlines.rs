//! Inlines as Typst content.

use typst::foundations::Derived;
use typst::foundations::{Content, Label, NativeElement, Smart};
use typst::layout::Sizing;
use typst::layout::{Abs, BoxElem, Em, Length, Rel};
use typst::loading::{DataSource, LoadSource, Loaded};
use typst::model::{Destination, EmphElem, FootnoteElem, LinkElem, LinkTarget, StrongElem, Url};
use typst::pdf::ArtifactElem;
use typst::syntax::{Span, Spanned};
use typst::text::{
    HighlightElem, LinebreakElem, RawContent, RawElem, SpaceElem, StrikeElem, SubElem, SuperElem,
    TextElem, TextSize, UnderlineElem,
};
use typst::utils::PicoStr;
use typst::visualize::{Color, ImageElem};

use super::drawing::{Drawing, NotePlace, PrintArea, TextVoice};
use super::formula;
use super::images::PdfPicture;
use super::marks::{grounded, is_mark};
use crate::document::{Block, Inline, Mark, leads_to_caption};
use crate::latex;
use crate::package::look::SMALL_SIZE;
use crate::package::picture::missing;
use crate::package::text::{PictureText, named};
use crate::rendered::Warning;

impl<'a> Drawing<'a> {
    pub fn inlines(&mut self, content: &[Inline]) -> Content {
        let mut drawn = Vec::with_capacity(content.len());
        for (at, inline) in content.iter().enumerate() {
            let piece = match inline {
                Inline::SoftBreak if between_cjk(content, at) => continue,
                Inline::SoftBreak if begins_with_mark(content.get(at + 1)) => {
                    TextElem::packed('\u{a0}')
                }
                inline => self.inline(inline),
            };
            drawn.push(piece);
        }
        Content::sequence(drawn)
    }

    fn inline(&mut self, inline: &Inline) -> Content {
        match inline {
            Inline::Text(text) => TextElem::packed(self.breakable(text, TextVoice::Text)),
            Inline::Strong(inner) => StrongElem::new(self.inlines(inner)).pack(),
            Inline::Emphasis(inner) => EmphElem::new(self.inlines(inner)).pack(),
            Inline::Strike(inner) => StrikeElem::new(self.inlines(inner)).pack(),
            Inline::Marked(mark, inner) => self.marked(*mark, inner),
            Inline::Code(code) => {
                RawElem::new(RawContent::Text(self.breakable(code, TextVoice::Code).into())).pack()
            }
            Inline::Link { url, content, .. } => self.link(url, content),
            Inline::Image { url, alt, title } => self.inline_image(url, alt, title),
            Inline::Math(latex) => self.formula(latex, false),
            Inline::Footnote(index) => self.note(*index),
            Inline::SoftBreak => SpaceElem::shared().clone(),
            Inline::LineBreak => LinebreakElem::shared().clone(),
        }
    }

    fn marked(&mut self, mark: Mark, inner: &[Inline]) -> Content {
        let body = self.inlines(inner);
        match mark {
            Mark::Lowered => SubElem::new(body).pack(),
            Mark::Raised => SuperElem::new(body).pack(),
            Mark::Underlined => UnderlineElem::new(body).pack(),
            Mark::Highlighted => HighlightElem::new(body).pack(),
            Mark::Small => body.set(TextElem::size, TextSize(Em::new(SMALL_SIZE).into())),
        }
    }

    fn link(&mut self, url: &str, content: &[Inline]) -> Content {
        let body = self.inlines(content);
        if let Some(anchor) = url.strip_prefix('#').filter(|_| leads_to_caption(url)) {
            if !self.caption_anchors.contains(anchor) {
                return body;
            }
            // References look like the text around them.
            let body = body.set(TextElem::fill, Color::BLACK.into());
            let link = LinkElem::new(LinkTarget::Label(label(anchor)), body).pack();
            return link.labelled(label("reference"));
        }
        if let Some(anchor) = url.strip_prefix('#') {
            let Some(&heading) = self.anchors.get(&anchor.to_lowercase()) else {
                self.warn(format!(
                    "No heading has the anchor #{anchor}, so the link is shown as text."
                ));
                return body;
            };
            return LinkElem::new(LinkTarget::Label(heading_label(heading)), body).pack();
        }
        match Url::new(url) {
            Ok(url) => LinkElem::new(LinkTarget::Dest(Destination::Url(url)), body).pack(),
            Err(_) => body,
        }
    }

    /// The first reference contains the footnote, later ones only its number. In headings and table
    /// headers, which Typst may draw twice, the footnote is postponed to what follows.
    fn note(&mut self, index: usize) -> Content {
        let document = self.document;
        let Some(blocks) = document.notes.get(index) else { return Content::empty() };
        let label = label(&format!("n{index}"));
        match self.note_place {
            NotePlace::Here => {}
            NotePlace::After => {
                self.held_notes.push(index);
                return Content::empty();
            }
            NotePlace::Mentioned => {
                self.held_notes.push(index);
                return FootnoteElem::with_label(label).pack();
            }
        }
        if !self.seen_notes.insert(index) {
            return FootnoteElem::with_label(label).pack();
        }
        let first_heading = self.note_headings.get(index).copied().unwrap_or_default();
        let headings = std::mem::replace(&mut self.headings, first_heading);
        // Also below the caption of a table, which is not drawn as a block.
        self.depth += 1;
        let body = match blocks.split_first() {
            Some((Block::Paragraph(first), rest)) => self.tight(first) + self.blocks(rest),
            _ => self.blocks(blocks),
        };
        self.depth -= 1;
        self.headings = headings;
        FootnoteElem::with_content(body).pack().labelled(label)
    }

    pub fn formula(&mut self, latex: &str, block: bool) -> Content {
        match formula::draw(latex, block) {
            Ok(content) => {
                for loss in latex::losses(latex) {
                    self.warn(format!("In the formula “{}” {loss}.", short(latex)));
                }
                content
            }
            Err(why) => {
                self.warn(format!("The formula “{}” is shown as its source: {why}.", short(latex)));
                let code =
                    RawElem::new(RawContent::Text((&*grounded(latex)).into())).with_block(block);
                code.pack()
            }
        }
    }

    /// A picture in a line, followed by its caption.
    fn inline_image(&mut self, url: &str, alt: &str, title: &str) -> Content {
        let picture = match self.drawable(url) {
            Ok(picture) => picture,
            Err(why) => return self.no_image(PictureText { url, alt, title }, &why),
        };
        let drawn = BoxElem::new().with_body(Some(self.shown(url, picture, alt))).pack();
        if title.is_empty() {
            return drawn;
        }
        drawn + EmphElem::new(TextElem::packed(grounded(&format!(" {title}")).into_owned())).pack()
    }

    /// A picture in the width and the maximum height that its source sets.
    pub fn shown(&self, url: &str, picture: &PdfPicture, alt: &str) -> Content {
        let limit = self.document.heights.get(url).map_or(f64::INFINITY, |pixels| pixels * 0.75);
        let room = PrintArea { height: self.room.height.min(limit), ..self.room };
        let Some(width) = self.document.widths.get(url) else {
            return image(picture, alt, room);
        };
        let width = width.of(room.width, 0.75);
        let scale = (width / picture.width).min(room.height / picture.height);
        sized(picture, alt, scale)
    }

    /// The picture for that URL, or the reason why it cannot be drawn.
    pub fn drawable(&self, url: &str) -> Result<&'a PdfPicture, String> {
        match self.pictures.get(url) {
            Some(picture) => picture.as_ref().map_err(Clone::clone),
            None => Err(missing(url).to_owned()),
        }
    }

    /// The replacement for a picture.
    pub fn no_image(&mut self, picture: PictureText<'_>, why: &str) -> Content {
        let PictureText { url, alt, title } = picture;
        self.warn(Warning::PictureNotDrawn { name: short(url), why: why.to_owned() });
        let name = named("", alt, title);
        TextElem::packed(self.breakable(&format!("[image: {name} — {why}]"), TextVoice::Text))
    }
}

/// A picture at 96 pixels per inch, scaled down if needed. Without alternative text it is marked as
/// decoration, which screen readers skip.
pub fn image(picture: &PdfPicture, alt: &str, room: PrintArea) -> Content {
    let fitting = (room.width / picture.width).min(room.height / picture.height);
    sized(picture, alt, fitting.min(0.75))
}

/// A picture with that many points per pixel.
fn sized(picture: &PdfPicture, alt: &str, scale: f64) -> Content {
    let length = |points: f64| Rel::<Length>::from(Length::from(Abs::pt(points)));
    let loaded =
        Loaded::new(Spanned::new(LoadSource::Bytes, Span::detached()), picture.bytes.clone());
    let source = Derived::new(DataSource::Bytes(picture.bytes.clone()), loaded);
    let image = ImageElem::new(source)
        .with_format(Smart::Custom(picture.format))
        .with_width(Smart::Custom(length(picture.width * scale)))
        .with_height(Sizing::Rel(length(picture.height * scale)));
    if alt.is_empty() {
        ArtifactElem::new(image.pack()).pack()
    } else {
        image.with_alt(Some(alt.into())).pack()
    }
}

pub fn heading_label(heading: usize) -> Label {
    label(&format!("h{heading}"))
}

/// Typst never frees label names, so they come from a small fixed set and never from a text.
pub fn label(name: &str) -> Label {
    Label::new(PicoStr::intern(name)).expect("names of labels are not empty")
}

pub fn short(text: &str) -> String {
    if text.chars().count() <= 60 {
        return text.to_owned();
    }
    text.chars().take(60).chain(['…']).collect()
}

/// Whether a space for the line end would precede a combining mark.
fn begins_with_mark(next: Option<&Inline>) -> bool {
    matches!(next, Some(Inline::Text(text)) if text.starts_with(is_mark))
}

/// Chinese and Japanese have no spaces between words, so a line end between such characters adds
/// none.
fn between_cjk(content: &[Inline], at: usize) -> bool {
    let edge = |inline: Option<&Inline>, last: bool| match inline {
        Some(Inline::Text(text)) if last => text.chars().next_back(),
        Some(Inline::Text(text)) => text.chars().next(),
        _ => None,
    };
    let is_cjk = |c: char| matches!(c as u32, 0x3000..=0x30ff | 0x3400..=0x9fff | 0xff00..=0xffef);
    let before = at.checked_sub(1).and_then(|at| edge(content.get(at), true));
    before.is_some_and(is_cjk) && edge(content.get(at + 1), false).is_some_and(is_cjk)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_chinese_are_joined_without_a_space() {
        let text = |t: &str| Inline::Text(t.into());
        assert!(between_cjk(&[text("中"), Inline::SoftBreak, text("文")], 1));
        assert!(!between_cjk(&[text("a"), Inline::SoftBreak, text("文")], 1));
        assert!(!between_cjk(&[Inline::SoftBreak, text("文")], 0));
    }
}
