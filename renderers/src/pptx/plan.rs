//! Splits the document into slides with their titles and speaker notes.

use crate::Document;
use crate::document::{Block, Inline, Meta, each_block_of, each_in};
use crate::package::text::{begins_page, plain};

/// The type of a slide, which decides its layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Class {
    #[default]
    Content,
    /// The first slide, or one of class `lead` or `title`.
    Title,
}

/// A slide of the source.
#[derive(Debug, Clone, Default)]
pub struct Slide<'d> {
    pub class: Class,
    pub title: Option<Vec<Inline>>,
    pub blocks: Vec<&'d Block>,
    pub notes: Vec<String>,
    pub numbered: bool,
    pub footer: Option<String>,
}

/// All slides of a document, preceded by a title slide if no slide shows the title.
pub fn slides(document: &Document) -> Vec<Slide<'_>> {
    let meta = &document.meta;
    // Slides have only one line at their edge, so the page header is included in it.
    let edge: Vec<&str> =
        [&meta.header, &meta.footer].into_iter().flatten().map(String::as_str).collect();
    let footer = Some(edge.join("  ·  ")).filter(|text| !text.is_empty());
    let mut state = State { numbered: meta.paginate, footer };
    let (mut slides, mut unsaid) = (Vec::new(), Vec::new());
    for blocks in cut(&document.blocks) {
        let mut slide = slide(blocks, &mut state);
        unsaid.append(&mut slide.notes);
        // Notes without content are added to the next slide.
        if slide.title.is_some() || !slide.blocks.is_empty() {
            slide.notes = std::mem::take(&mut unsaid);
            slides.push(slide);
        }
    }
    front(document, &mut slides);
    if slides.is_empty() {
        slides.push(Slide { class: Class::Title, ..Slide::default() });
    }
    slides.last_mut().expect("there is a slide").notes.append(&mut unsaid);
    slides
}

impl Slide<'_> {
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
}

/// Directives that apply until they are changed.
struct State {
    numbered: bool,
    footer: Option<String>,
}

/// A break starts a slide. If there are no breaks, or far fewer than large headings, each heading
/// of the first two levels starts one too.
fn cut(blocks: &[Block]) -> Vec<Vec<&Block>> {
    let is_heading = |block: &Block| matches!(block, Block::Heading { level: 1 | 2, .. });
    let breaks = blocks.iter().filter(|block| matches!(block, Block::Break)).count();
    let headings = blocks.iter().filter(|block| is_heading(block)).count();
    let by_heading = breaks == 0 || headings > 3 * (breaks + 1);
    let mut parts: Vec<Vec<&Block>> = vec![Vec::new()];
    for block in blocks {
        let part = parts.last_mut().expect("there is always a part");
        let empty = part.iter().all(|block| matches!(block, Block::Comment(_)));
        match block {
            Block::Break => parts.push(Vec::new()),
            block if by_heading && is_heading(block) && !empty => parts.push(vec![block]),
            block => part.push(block),
        }
    }
    parts
}

fn slide<'d>(blocks: Vec<&'d Block>, state: &mut State) -> Slide<'d> {
    let mut slide = Slide::default();
    let (mut numbered, mut footer) = (None, None);
    for block in blocks {
        match block {
            Block::Comment(text) => match directives(text) {
                Some(all) => {
                    for (key, value) in all {
                        match key.as_str() {
                            "class" | "_class" if value.split(' ').any(is_lead) => {
                                slide.class = Class::Title;
                            }
                            "paginate" => state.numbered = value != "false",
                            "_paginate" => numbered = Some(value != "false"),
                            "footer" => state.footer = Some(value),
                            "_footer" => footer = Some(value),
                            _ => {}
                        }
                    }
                }
                None if text.trim().is_empty() => {}
                None => slide.notes.push(text.trim().to_owned()),
            },
            Block::Heading { content, .. } if slide.title.is_none() && slide.blocks.is_empty() => {
                slide.title = Some(content.clone());
            }
            block => {
                each_block_of(std::slice::from_ref(block), &mut |inside| {
                    if let Block::Comment(text) = inside
                        && directives(text).is_none()
                        && !text.trim().is_empty()
                    {
                        slide.notes.push(text.trim().to_owned());
                    }
                });
                slide.blocks.push(block);
            }
        }
    }
    slide.numbered = numbered.unwrap_or(state.numbered);
    slide.footer = footer.or_else(|| state.footer.clone());
    slide
}

/// What directives ask for that has no effect, each once.
pub fn without_effect(document: &Document) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    document.each_block(&mut |block| {
        let Block::Comment(text) = block else { return };
        for (key, value) in directives(text).unwrap_or_default() {
            let bare = key.trim_start_matches('_');
            let is_look = matches!(bare, "color" | "style" | "theme" | "headingDivider")
                || bare.starts_with("background")
                || bare == "class" && value.split(' ').any(|class| class == "invert");
            let sentence = format!("The directive “{key}: {value:.30}” has no effect on slides.");
            if is_look && !found.contains(&sentence) && found.len() < 20 {
                found.push(sentence);
            }
        }
    });
    found
}

fn is_lead(class: &str) -> bool {
    matches!(class, "lead" | "title" | "cover")
}

/// The directives of a comment: every line is `key: value` with a key of Marp.
fn directives(comment: &str) -> Option<Vec<(String, String)>> {
    const KEYS: [&str; 19] = [
        // Used only by workbooks.
        "total",
        "format",
        "class",
        "paginate",
        "footer",
        "header",
        "theme",
        "size",
        "color",
        "backgroundColor",
        "backgroundImage",
        "backgroundPosition",
        "backgroundRepeat",
        "backgroundSize",
        "style",
        "headingDivider",
        "math",
        "title",
        "marp",
    ];
    let lines: Vec<&str> = comment.lines().map(str::trim).filter(|l| !l.is_empty()).collect();
    if begins_page(comment) || matches!(lines[..], ["fit"]) {
        return Some(Vec::new());
    }
    let parsed = lines.iter().map(|line| {
        let (key, value) = line.split_once(':')?;
        let key = key.trim();
        let known = KEYS.contains(&key.strip_prefix('_').unwrap_or(key));
        known.then(|| (key.to_owned(), value.trim().trim_matches(['"', '\'']).to_owned()))
    });
    parsed.collect::<Option<Vec<_>>>().filter(|all| !all.is_empty())
}

/// Inserts a title slide from the front matter, unless the first slide is a title slide or can
/// become one.
fn front(document: &Document, slides: &mut Vec<Slide<'_>>) {
    let meta = &document.meta;
    let title = meta.title.as_deref().map(str::trim).filter(|text| !text.is_empty());
    let Some(title) = title else { return };
    if let Some(first) = slides.first_mut() {
        let is_same = first.title.as_ref().is_some_and(|own| plain(own).trim() == title);
        if is_same && first.blocks.is_empty() {
            first.class = Class::Title;
        }
        if first.class == Class::Title || (is_same && byline(meta).is_empty()) {
            return;
        }
    }
    let content = vec![Inline::Text(title.to_owned())];
    slides.insert(0, Slide { class: Class::Title, title: Some(content), ..Slide::default() });
}

/// The lines below the title of a document: subtitle, author and date.
pub fn byline(meta: &Meta) -> Vec<String> {
    let date = meta.date.map(|date| date.format("%Y-%m-%d").to_string());
    [meta.subtitle.clone(), meta.author.clone(), date].into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

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

    #[test]
    fn directives_are_not_notes() {
        let comment = |text: &str| Block::Comment(text.into());
        let blocks = vec![
            comment("_class: lead\npaginate: true"),
            heading(1, "a"),
            comment("say: this loudly"),
            Block::Break,
            comment("paginate: false\n_footer: \"x\""),
            heading(1, "b"),
        ];
        let document = Document { blocks, ..Document::default() };
        let slides = slides(&document);
        assert_eq!((slides[0].class, slides[0].numbered), (Class::Title, true));
        assert_eq!(slides[0].notes, ["say: this loudly"]);
        assert_eq!((slides[1].numbered, slides[1].footer.as_deref()), (false, Some("x")));
        assert_eq!(slides[1].notes, Vec::<String>::new());
    }
}
