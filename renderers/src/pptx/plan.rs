//! Splits the document into slides with their titles and speaker notes.

use super::directives::{self, Setting, apply};
use crate::Document;
use crate::document::{Block, Inline, Meta, each_block_of, each_in};
use crate::package::text::plain;

/// A line of a title slide or below a big number has at most this many characters.
const SHORT: usize = 80;
/// A title that begins with its topic has at most this many characters.
const TOPIC_AND_TITLE: usize = 80;

/// The type of a slide, which decides its layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Class {
    #[default]
    Content,
    /// The first slide, or one of class `lead` or `title`.
    Title,
    /// A large heading with a smaller one below it.
    Section,
    /// A number with at most two lines below it.
    Figure,
}

/// A slide of the source.
#[derive(Debug, Clone, Default)]
pub struct Slide<'d> {
    pub class: Class,
    pub title: Option<Vec<Inline>>,
    /// The heading that became the title.
    pub heading: Option<(u8, &'d [Inline])>,
    /// The headings of topics that have no slide of their own.
    pub above: Vec<&'d [Inline]>,
    pub blocks: Vec<&'d Block>,
    pub notes: Vec<String>,
    pub setting: Setting,
}

/// All slides of a document, preceded by a title slide if no slide shows the title.
pub fn slides(document: &Document) -> Vec<Slide<'_>> {
    let meta = &document.meta;
    let mut following = Setting::of(meta);
    let mut first = following.clone();
    for (key, value) in &meta.directives {
        apply(key, value, &mut first, &mut following);
    }
    let of_all = following.next();
    let (mut slides, mut pending_notes) = (Vec::new(), Vec::new());
    for (at, blocks) in cut(&document.blocks).into_iter().enumerate() {
        let own = if at == 0 { first.clone() } else { following.next() };
        let mut slide = slide(blocks, own, &mut following);
        pending_notes.append(&mut slide.notes);
        // Notes without content are added to the next slide.
        if slide.title.is_some() || !slide.blocks.is_empty() {
            slide.notes = std::mem::take(&mut pending_notes);
            slides.push(slide);
        }
    }
    front(meta, of_all, &mut slides);
    if slides.is_empty() {
        slides.push(Slide { class: Class::Title, setting: first, ..Slide::default() });
    }
    slides.last_mut().expect("there is a slide").notes.append(&mut pending_notes);
    slides
}

impl<'d> Slide<'d> {
    /// The footnotes referenced in the title.
    pub fn notes_of_title(&self) -> Vec<usize> {
        let mut notes = Vec::new();
        each_in(self.title.as_deref().unwrap_or_default(), &mut |inline| {
            if let Inline::Footnote(note) = inline {
                notes.push(*note);
            }
        });
        notes
    }

    /// The slide split at its subheadings; empty if it has none.
    pub fn parts(&self) -> Vec<Slide<'d>> {
        let level = |block: &Block| match block {
            Block::Heading { level, .. } => Some(*level),
            _ => None,
        };
        let Some(highest) = self.blocks.iter().filter_map(|block| level(block)).min() else {
            return Vec::new();
        };
        // The deepest heading above the parts is their topic.
        let topic = self.heading.map(|(_, heading)| heading.to_vec());
        let mut parts: Vec<Slide<'d>> = vec![Slide { blocks: Vec::new(), ..self.clone() }];
        for block in &self.blocks {
            match block {
                Block::Heading { level, content } if *level == highest => parts.push(Slide {
                    title: Some(below(topic.as_deref(), content)),
                    heading: Some((*level, content)),
                    setting: self.setting.next(),
                    ..Slide::default()
                }),
                block => parts.last_mut().expect("there is a part").blocks.push(block),
            }
        }
        // A topic without a text of its own is named by the titles of its parts.
        let is_named = |title: &[Inline]| {
            topic.as_deref().is_none_or(|topic| plain(title).starts_with(plain(topic).trim()))
        };
        if parts[0].blocks.is_empty() && parts[1].title.as_deref().is_some_and(is_named) {
            let empty = parts.remove(0);
            parts[0].notes = empty.notes;
            parts[0].above = empty.above;
            parts[0].above.extend(empty.heading.map(|(_, heading)| heading));
        }
        parts
    }
}

/// The title of a part of a topic.
fn below(topic: Option<&[Inline]>, heading: &[Inline]) -> Vec<Inline> {
    let Some(topic) = topic else { return heading.to_vec() };
    let text = format!("{}: ", plain(topic).trim());
    if text.chars().count() + plain(heading).chars().count() > TOPIC_AND_TITLE {
        return heading.to_vec();
    }
    [&[Inline::Text(text)], heading].concat()
}

/// Whether headings of the first two levels start slides: if there are no breaks, or far fewer than
/// such headings.
pub fn is_cut_at_headings(blocks: &[Block], is_break: impl Fn(&Block) -> bool) -> bool {
    let breaks = blocks.iter().filter(|block| is_break(block)).count();
    let headings = blocks.iter().filter(|block| is_large_heading(block)).count();
    breaks == 0 || headings > 3 * (breaks + 1)
}

/// Whether a block is a heading of the first two levels.
pub fn is_large_heading(block: &Block) -> bool {
    matches!(block, Block::Heading { level: 1 | 2, .. })
}

/// A break starts a slide, and a heading in some documents.
fn cut(blocks: &[Block]) -> Vec<Vec<&Block>> {
    let by_heading = is_cut_at_headings(blocks, |block| matches!(block, Block::Break));
    let mut parts: Vec<Vec<&Block>> = vec![Vec::new()];
    for block in blocks {
        let part = parts.last_mut().expect("there is always a part");
        // A picture before the heading is on its slide.
        let is_before = |block: &&Block| matches!(block, Block::Comment(_)) || is_picture(block);
        match block {
            Block::Break => parts.push(Vec::new()),
            block if by_heading && is_large_heading(block) && !part.iter().all(is_before) => {
                parts.push(vec![block]);
            }
            block => part.push(block),
        }
    }
    parts
}

fn slide<'d>(blocks: Vec<&'d Block>, own: Setting, following: &mut Setting) -> Slide<'d> {
    let mut slide = Slide { setting: own, ..Slide::default() };
    for block in blocks {
        match block {
            Block::Comment(text) => match directives::read(text) {
                Some(all) => {
                    for (key, value) in all {
                        apply(&key, &value, &mut slide.setting, following);
                    }
                }
                None if text.trim().is_empty() => {}
                None => slide.notes.push(text.trim().to_owned()),
            },
            Block::Heading { level, content } if is_title(&slide) => {
                slide.title = Some(content.clone());
                slide.heading = Some((*level, content));
            }
            block => {
                each_block_of(std::slice::from_ref(block), &mut |inside| {
                    if let Block::Comment(text) = inside
                        && directives::read(text).is_none()
                        && !text.trim().is_empty()
                    {
                        slide.notes.push(text.trim().to_owned());
                    }
                });
                slide.blocks.push(block);
            }
        }
    }
    slide.class = class(&slide);
    slide
}

/// Whether a heading that follows is the title: only pictures may precede it.
fn is_title(slide: &Slide<'_>) -> bool {
    slide.title.is_none() && slide.blocks.iter().all(|block| is_picture(block))
}

/// Whether a block has only pictures.
pub fn is_picture(block: &Block) -> bool {
    let Block::Paragraph(content) = block else { return false };
    let is_part = |inline: &Inline| matches!(inline, Inline::Image { .. } | Inline::SoftBreak);
    !content.is_empty() && content.iter().all(is_part)
}

fn class(slide: &Slide<'_>) -> Class {
    if slide.setting.is_lead {
        return Class::Title;
    }
    let rest: Vec<&Block> = slide.blocks.iter().copied().filter(|b| !is_picture(b)).collect();
    let is_number = |content: &[Inline]| is_figure(&plain(content));
    let title_is_number = slide.title.as_deref().is_some_and(is_number);
    match (&rest[..], slide.heading) {
        (lines, _) if title_is_number && are_short(lines) => Class::Figure,
        ([Block::Heading { content, .. }, lines @ ..], Some(_))
            if is_number(content) && are_short(lines) =>
        {
            Class::Figure
        }
        ([Block::Heading { .. }, lines @ ..], Some((1, _)))
            if lines.len() < 2 && are_short(lines) =>
        {
            Class::Section
        }
        _ => Class::Content,
    }
}

/// Whether the blocks are at most two short lines.
fn are_short(blocks: &[&Block]) -> bool {
    let lines = blocks.iter().map(|block| match block {
        Block::Paragraph(content) => {
            let text = plain(content);
            let is_short = text.lines().all(|line| line.chars().count() <= SHORT);
            is_short.then(|| text.lines().count())
        }
        _ => None,
    });
    lines.sum::<Option<usize>>().is_some_and(|lines| lines <= 2)
}

/// Whether a text is a number with its unit, such as “42%”, “€4.2M” or “3.5 bn”. A year and the
/// number of a chapter are none.
fn is_figure(text: &str) -> bool {
    let text = text.trim();
    let begins = text.starts_with(|c: char| c.is_ascii_digit() || "+-−±~≈<>≤≥$€£¥×".contains(c));
    let letters = text.chars().filter(|c| c.is_alphabetic()).count();
    let is_year = text.len() == 4 && (text.starts_with("19") || text.starts_with("20"));
    let is_version = text.matches('.').count() > 1 || text.ends_with('.') || text.contains(". ");
    begins
        && text.contains(|c: char| c.is_ascii_digit())
        && text.chars().count() <= 10
        && letters <= 3
        && !is_year
        && !is_version
}

/// Inserts a title slide from the front matter with the setting of all slides, unless the first slide
/// is a title slide or can become one.
fn front(meta: &Meta, setting: Setting, slides: &mut Vec<Slide<'_>>) {
    let title = meta.title.as_deref().map(str::trim).filter(|text| !text.is_empty());
    let more_follow = slides.len() > 1;
    if let Some(first) = slides.first_mut() {
        let own = first.title.as_ref().map(|own| plain(own).trim().to_owned());
        let is_same = title.is_none() || own.as_deref() == title;
        let is_large = matches!(first.heading, Some((1, _)));
        let rest: Vec<&Block> = first.blocks.iter().copied().filter(|b| !is_picture(b)).collect();
        if is_same
            && first.class == Class::Content
            && (title.is_some() && first.blocks.is_empty()
                || is_large && more_follow && are_short(&rest) && !rest.is_empty())
        {
            first.class = Class::Title;
        }
        let names_all = title.is_some() && is_same && byline(meta).is_empty();
        if first.class == Class::Title || names_all {
            return;
        }
    }
    let Some(title) = title else { return };
    let content = vec![Inline::Text(title.to_owned())];
    slides.insert(
        0,
        Slide { class: Class::Title, title: Some(content), setting, ..Slide::default() },
    );
}

/// The lines below the title of a document: subtitle, author and date.
pub fn byline(meta: &Meta) -> Vec<String> {
    let date = meta.date.map(|date| date.format("%Y-%m-%d").to_string());
    [meta.subtitle.clone(), meta.author.clone(), date].into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Color;

    fn heading(level: u8, text: &str) -> Block {
        Block::Heading { level, content: vec![Inline::Text(text.into())] }
    }

    fn titles(blocks: Vec<Block>) -> Vec<String> {
        let document = Document { blocks, ..Document::default() };
        let title = |slide: &Slide<'_>| slide.title.as_ref().map_or("-".into(), |t| plain(t));
        slides(&document).iter().map(title).collect()
    }

    #[test]
    fn headings_begin_slides_where_there_are_no_breaks() {
        let deck = vec![heading(1, "a"), heading(3, "x"), heading(2, "b"), heading(1, "c")];
        assert_eq!(titles(deck), ["a", "b", "c"]);
        let deck = vec![heading(1, "a"), heading(2, "b"), Block::Break, heading(2, "c")];
        assert_eq!(titles(deck), ["a", "c"]);
        assert_eq!(titles(vec![]), ["-"]);
    }

    /// If each block were compared with all before it, this would take many minutes instead of
    /// seconds.
    #[test]
    fn comments_before_a_heading_are_read_once() {
        let comments = std::iter::repeat_n(Block::Comment("x".into()), 500_000);
        let blocks: Vec<Block> = comments.chain([heading(1, "a"), heading(1, "b")]).collect();
        assert_eq!(titles(blocks), ["a", "b"]);
    }

    #[test]
    fn directives_are_not_notes() {
        let comment = |text: &str| Block::Comment(text.into());
        let blocks = vec![
            comment("_class: lead\npaginate: true"),
            heading(1, "a"),
            comment("say: this loudly"),
            Block::Break,
            comment("paginate: false\n_footer: \"x\"\nstyle: a"),
            heading(1, "b"),
        ];
        let document = Document { blocks, ..Document::default() };
        let slides = slides(&document);
        assert_eq!((slides[0].class, slides[0].setting.is_numbered), (Class::Title, true));
        assert_eq!(slides[0].notes, ["say: this loudly"]);
        let setting = &slides[1].setting;
        assert_eq!((setting.is_numbered, setting.edge().as_deref()), (false, Some("x")));
        assert_eq!(setting.ignored.len(), 1);
        assert_eq!(slides[1].notes, Vec::<String>::new());
    }

    fn classes(source: &str) -> Vec<Class> {
        let document = crate::markdown::read(source).unwrap();
        slides(&document).iter().map(|slide| slide.class).collect()
    }

    #[test]
    fn a_first_slide_of_a_title_and_short_lines_is_a_title_slide() {
        let title = "# Q3 review\n\nBoard meeting, October\n\n---\n\n## Next\n\ntext";
        assert_eq!(classes(title), [Class::Title, Class::Content]);
        let long = format!("# Q3 review\n\n{}\n\n---\n\n## Next", "word ".repeat(40));
        assert_eq!(classes(&long)[0], Class::Content);
        assert_eq!(classes("# Q3 review\n\nBoard meeting")[0], Class::Content);
        let front = "---\n_class: lead\n---\n# Q3\n\n- a\n\n---\n\n# B\n\n- c";
        assert_eq!(classes(front), [Class::Title, Class::Content]);
    }

    #[test]
    fn an_added_title_slide_has_the_background_of_all_slides() {
        let front = "---\ntitle: T\nauthor: Ann\nbackgroundColor: navy\n---\n\n";
        let document = crate::markdown::read(&format!("{front}## A\n\ntext")).unwrap();
        let slides = slides(&document);
        let backgrounds: Vec<_> = slides.iter().map(|slide| slide.setting.background).collect();
        assert_eq!(backgrounds, [Color::read("000080"); 2]);
    }

    #[test]
    fn a_large_heading_with_a_smaller_one_is_a_section_and_a_number_stands_out() {
        let source = "# Results\n\n## Revenue grew by 12%\n\n---\n\n## 42%\n\nof customers\n\n---\n\n\
                      # Reach\n\n## €4.2M\n\nin Europe\n\n---\n\n# 2024\n\nA year\n\n---\n\n## 1.2.0\n\nFixes";
        let expected =
            [Class::Section, Class::Figure, Class::Figure, Class::Content, Class::Content];
        assert_eq!(classes(source), expected);
    }

    #[test]
    fn a_heading_after_a_picture_is_the_title() {
        let document = crate::markdown::read("![bg right](p.jpg)\n\n# Title\n\ntext").unwrap();
        let slides = slides(&document);
        assert_eq!(slides[0].title.as_deref().map(plain).as_deref(), Some("Title"));
    }

    #[test]
    fn parts_are_titled_with_their_topic() {
        let document = crate::markdown::read(
            "# Types\n\nintro\n\n### Scalar\n\n#### Integers\n\na\n\n### Compound\n\nb",
        )
        .unwrap();
        let parts = slides(&document)[0].parts();
        let title = |slide: &Slide<'_>| plain(slide.title.as_ref().unwrap());
        let titles: Vec<_> = parts.iter().map(title).collect();
        assert_eq!(titles, ["Types", "Types: Scalar", "Types: Compound"]);
        assert_eq!(title(&parts[1].parts()[0]), "Scalar: Integers");
        assert!(parts[2].parts().is_empty());
    }
}
