//! Lays out a slide's items as pages: layout, title and positions.

use std::collections::{HashMap, HashSet};

use super::deck::Deck;
use super::flow::flow;
use super::heights::height;
use super::icons::is_icon;
use super::items::{ParaVoice, SlideItem};
use super::layouts::Layout;
use super::page::{Piece, SlidePage};
use super::plan::{Class, Slide};
use crate::document::{Block, Inline, each_block_of};
use crate::package::text::{caption_of, cut, plain};

/// Longer titles are shortened.
const TITLE_LETTERS: usize = 160;

/// A layout and the pieces of each page.
pub type Placed<'d> = (Layout, Vec<Vec<Piece<'d>>>);

impl<'d> Deck<'d> {
    /// The pages of a slide.
    pub fn fit(&mut self, slide: Slide<'d>, items: Vec<SlideItem<'d>>) -> Vec<SlidePage<'d>> {
        let name = first_words(&items);
        let items = if slide.class == Class::Figure { emphasized(items) } else { items };
        let placed = self.place(&slide, items);
        self.paged(slide, name, placed)
    }

    /// `name` is the title of a slide without one.
    pub fn paged(
        &mut self,
        slide: Slide<'d>,
        name: Vec<Inline>,
        placed: Placed<'d>,
    ) -> Vec<SlidePage<'d>> {
        let hidden = slide.title.is_none();
        let footer = slide.setting.edge();
        let title = slide.title.clone().unwrap_or(name);
        let title = self.shorten(title);
        let mut anchors = self.heading_anchors(&slide);
        anchors.extend(self.captions(&slide));
        let (layout, placed) = placed;
        let pages = placed.into_iter().enumerate().map(|(at, pieces)| SlidePage {
            layout: if at > 0 && layout == Layout::Two { Layout::Content } else { layout },
            geometry: self.geometry,
            backdrops: Vec::new(),
            background: None,
            ink: None,
            title: title.clone(),
            hidden_title: hidden,
            pieces,
            notes: if at == 0 { slide.notes.clone() } else { Vec::new() },
            numbered: slide.setting.is_numbered && layout != Layout::Title,
            footer: footer.clone().filter(|_| layout != Layout::Title),
            anchors: if at == 0 { anchors.clone() } else { Vec::new() },
        });
        pages.map(choose_layout).collect()
    }

    fn shorten(&mut self, title: Vec<Inline>) -> Vec<Inline> {
        if plain(&title).chars().count() <= TITLE_LETTERS {
            return title;
        }
        self.warnings
            .add(format!("A title of more than {TITLE_LETTERS} characters was shortened."));
        let (mut head, _) = cut(title, TITLE_LETTERS - 1);
        head.push(Inline::Text("…".into()));
        head
    }

    fn place(&self, slide: &Slide<'d>, items: Vec<SlideItem<'d>>) -> Placed<'d> {
        let body = self.geometry.body;
        let only_text = items.iter().all(|item| matches!(item, SlideItem::Text(_)));
        if only_text {
            let room = Layout::Title.body(&self.geometry);
            let high: f64 = items.iter().map(|item| height(item, room.width, 1.0)).sum();
            let few = high <= room.height;
            let area = |layout: Layout| layout.body(&self.geometry);
            let whole = |items: Vec<SlideItem<'d>>, area| {
                vec![items.into_iter().map(|item| Piece { item, area, scale: 1.0 }).collect()]
            };
            if few && slide.class == Class::Title {
                return (Layout::Title, whole(items, area(Layout::Title)));
            }
            if slide.class == Class::Figure && items.iter().any(is_figure) {
                let middle = self.geometry.body.band(60.0, body.height - 60.0);
                return (Layout::Content, whole(items, middle));
            }
            if slide.class == Class::Figure && few {
                return (Layout::Figure, whole(items, area(Layout::Figure)));
            }
            if items.is_empty() && slide.heading.is_some_and(|(level, _)| level <= 2) {
                return (Layout::Section, vec![Vec::new()]);
            }
            if few && slide.class == Class::Section {
                return (Layout::Section, whole(items, area(Layout::Section)));
            }
            if few && slide.blocks.iter().all(|block| is_quote(block)) {
                return (Layout::Quote, whole(items, area(Layout::Quote)));
            }
        }
        if let Some(pages) = self.beside(&items) {
            return (Layout::Two, pages);
        }
        (Layout::Content, flow(items, body, self.scale))
    }

    /// Text on the left and a single picture on the right, mirrored for right-to-left text.
    fn beside(&self, items: &[SlideItem<'d>]) -> Option<Vec<Vec<Piece<'d>>>> {
        let is_picture = |item: &&SlideItem<'d>| item.is_elastic();
        let picture = items.iter().find(is_picture).filter(|picture| !is_icon(picture))?;
        let side = matches!(picture, SlideItem::Picture { side: true, .. });
        let rest: Vec<_> = items.iter().filter(|item| !is_picture(item)).cloned().collect();
        let text = matches!(rest[..], [SlideItem::Text(_)]);
        if rest.len() + 1 != items.len() || !(text || side) || rest.is_empty() {
            return None;
        }
        let [first, second] = self.geometry.halves();
        let mut pages = flow(rest, first, self.scale);
        if pages.len() > 1 && !side {
            return None;
        }
        let piece = Piece { item: picture.clone(), area: second, scale: 1.0 };
        pages.first_mut()?.push(piece);
        Some(pages)
    }
}

/// The number of a slide of [`Class::Figure`], if it is not the title.
fn is_figure(item: &SlideItem<'_>) -> bool {
    let SlideItem::Text(paras) = item else { return false };
    paras.iter().any(|para| para.voice == ParaVoice::Figure)
}

/// The heading of a slide of [`Class::Figure`] is its number.
fn emphasized(mut items: Vec<SlideItem<'_>>) -> Vec<SlideItem<'_>> {
    if let Some(SlideItem::Text(paras)) = items.first_mut()
        && let Some(first) = paras.first_mut()
        && first.voice == ParaVoice::Heading
    {
        first.voice = ParaVoice::Figure;
    }
    items
}

fn is_quote(block: &Block) -> bool {
    matches!(block, Block::Quote { alert: None, .. })
}

/// Chooses the layout from the final content of a page.
fn choose_layout(mut page: SlidePage<'_>) -> SlidePage<'_> {
    if page.layout == Layout::Content {
        page.layout = match &page.pieces[..] {
            [Piece { item: SlideItem::Code { .. }, .. }] => Layout::Code,
            [_] | [] => Layout::Content,
            _ => Layout::Mixed,
        };
    }
    page
}

impl Deck<'_> {
    /// The anchors of the headings on a slide.
    fn heading_anchors(&self, slide: &Slide<'_>) -> Vec<String> {
        let blocks = slide.blocks.iter().flat_map(|block| match block {
            Block::Columns(columns) => columns.iter().flatten().collect(),
            block => vec![*block],
        });
        let inner = blocks.filter_map(|block| match block {
            Block::Heading { content, .. } => Some(content.as_slice()),
            _ => None,
        });
        let title = slide.above.iter().copied().chain(slide.heading.map(|(_, title)| title));
        let anchor = |heading: &[Inline]| self.headings.get(&heading.as_ptr()).cloned();
        title.chain(inner).filter_map(anchor).collect()
    }

    /// The anchors of the captions on a slide.
    fn captions(&self, slide: &Slide<'_>) -> Vec<String> {
        let mut anchors = Vec::new();
        for block in &slide.blocks {
            each_block_of(std::slice::from_ref(*block), &mut |block| {
                let caption = caption_of(block);
                let anchor = caption.and_then(|text| self.document.captions.get(&text));
                anchors.extend(anchor.cloned());
            });
        }
        anchors
    }
}

/// A name for a slide that has no heading.
fn first_words(items: &[SlideItem<'_>]) -> Vec<Inline> {
    let text = items.iter().find_map(|item| match item {
        SlideItem::Text(paras) | SlideItem::Alert(_, paras) => {
            paras.iter().map(|p| plain(&p.content)).find(|t| !t.is_empty())
        }
        SlideItem::Table(table) => table.header.first().map(|cell| plain(cell)),
        SlideItem::Code { text, .. } => text.lines().next().map(str::to_owned),
        SlideItem::Picture { alt, .. } => Some(alt.clone()),
        SlideItem::Chart(chart) => chart.title.clone(),
    });
    let text = text.map(|text| text.trim().replace('\n', " ")).filter(|text| !text.is_empty());
    let (head, _) = cut(vec![Inline::Text(text.unwrap_or_else(|| "Slide".into()))], 60);
    head
}

/// Makes all slide titles unique: the second one of a name gets " (2)".
pub fn name_apart(pages: &mut [SlidePage<'_>]) {
    let (mut seen, mut counts) = (HashSet::new(), HashMap::new());
    for page in pages {
        let name = plain(&page.title);
        let count = counts.entry(name.clone()).or_insert(0);
        loop {
            *count += 1;
            let unique = if *count == 1 { name.clone() } else { format!("{name} ({count})") };
            if seen.insert(unique) {
                break;
            }
        }
        let count = *count;
        if count > 1 {
            page.title.push(Inline::Text(format!(" ({count})")));
        }
    }
}
