//! Converts a slide's blocks to items.

use std::slice;

use super::deck::Deck;
use super::heights::{CELL_FORM, MIN_TABLE};
use super::icons::{has_words, is_icon};
use super::items::{LIST_NUMBERS, Para, ParaMark, ParaVoice, SlideItem};
use super::plan::{Class, Slide, byline};
use crate::document::{Alert, Block, Definition, Inline, Item as ListItem, List, Table, each_in};
use crate::package::fitting::{Rooms, fit};
use crate::package::text::{DEPTH, columns, flat, named, plain, rows};
use crate::package::words;

/// PowerPoint's levels; deeper lists stay on the ninth.
const LEVELS: usize = 9;

impl<'d> Deck<'d> {
    /// The items of a slide, followed by its footnotes.
    pub fn items(&mut self, slide: &Slide<'d>) -> Vec<SlideItem<'d>> {
        let byline = self.byline(slide);
        self.sorted(&slide.blocks, byline, slide.notes_of_title())
    }

    /// The items of a part of a slide, with `notes` in addition to its own footnotes.
    pub fn part(&mut self, blocks: &[&Block], notes: Vec<usize>) -> Vec<SlideItem<'d>> {
        self.sorted(blocks, Vec::new(), notes)
    }

    fn sorted(
        &mut self,
        blocks: &[&Block],
        below: Vec<Para>,
        notes: Vec<usize>,
    ) -> Vec<SlideItem<'d>> {
        let mut sorter =
            ItemCollector { deck: self, items: Vec::new(), lists: 0, notes, has_words: false };
        let at = At { level: 0, voice: ParaVoice::Plain, depth: 0 };
        for block in blocks {
            sorter.block(block, at);
        }
        for para in below {
            sorter.push(para);
        }
        sorter.footnotes();
        sorter.items
    }

    /// Subtitle, author and date below the document's title, unless the slide contains them.
    fn byline(&self, slide: &Slide<'_>) -> Vec<Para> {
        let meta = &self.document.meta;
        let own = slide.title.as_ref().map(|title| plain(title).trim().to_owned());
        if slide.class != Class::Title || own.as_deref() != meta.title.as_deref().map(str::trim) {
            return Vec::new();
        }
        let said: String = slide.blocks.iter().flat_map(|b| flat(slice::from_ref(*b))).collect();
        let left = byline(meta).into_iter().filter(|line| !said.contains(line));
        let para = |text| Para { content: vec![Inline::Text(text)], ..Para::default() };
        left.map(para).collect()
    }
}

/// The context of a block.
#[derive(Debug, Clone, Copy)]
struct At {
    level: usize,
    voice: ParaVoice,
    depth: usize,
}

impl At {
    fn deeper(self) -> Self {
        Self { depth: self.depth + 1, ..self }
    }
}

struct ItemCollector<'a, 'd> {
    deck: &'a mut Deck<'d>,
    items: Vec<SlideItem<'d>>,
    /// The number of ordered lists so far.
    lists: usize,
    /// The footnotes referenced on this slide.
    notes: Vec<usize>,
    /// Whether the current paragraph has anything but pictures.
    has_words: bool,
}

impl<'d> ItemCollector<'_, 'd> {
    fn blocks(&mut self, blocks: &[Block], at: At) {
        for block in blocks {
            self.block(block, at);
        }
    }

    fn block(&mut self, block: &Block, at: At) {
        if at.depth > DEPTH {
            let warning = format!("Content nested more than {DEPTH} levels deep was flattened.");
            self.deck.warnings.add(warning);
            let lines = flat(std::slice::from_ref(block));
            return lines.into_iter().for_each(|line| self.para(at, vec![Inline::Text(line)]));
        }
        match block {
            Block::Heading { content, .. } => {
                self.text(At { voice: ParaVoice::Heading, ..at }, ParaMark::None, content);
            }
            Block::Paragraph(content) => self.text(at, ParaMark::None, content),
            Block::List(list) => self.list(list, at),
            Block::Table(table) => self.table(table),
            Block::Code { language, text } => {
                let text = text.trim_end_matches('\n').replace('\t', "    ");
                self.items.push(SlideItem::Code { language: language.clone(), text, size: None });
            }
            Block::Quote { alert, blocks } => self.quote(*alert, blocks, at),
            Block::Definitions(terms) => {
                for Definition { term, description } in terms {
                    self.text(At { voice: ParaVoice::Heading, ..at }, ParaMark::None, term);
                    let inside = At { level: (at.level + 1).min(LEVELS - 1), ..at.deeper() };
                    self.blocks(description, inside);
                }
            }
            Block::Columns(columns) => {
                for column in columns {
                    self.blocks(column, at.deeper());
                }
            }
            Block::Chart(chart) => self.items.push(SlideItem::Chart(chart.clone())),
            Block::Math(latex) => {
                let inside = At { level: (at.level + 1).min(LEVELS - 1), ..at };
                self.text(inside, ParaMark::None, &[Inline::Math(latex.clone())]);
            }
            Block::Break | Block::Comment(_) => {}
        }
    }

    fn para(&mut self, at: At, content: Vec<Inline>) {
        self.push(Para { level: at.level, voice: at.voice, content, ..Para::default() });
    }

    fn push(&mut self, para: Para) {
        match self.items.last_mut() {
            Some(SlideItem::Text(paras)) => paras.push(para),
            _ => self.items.push(SlideItem::Text(vec![para])),
        }
    }

    /// A paragraph; its pictures follow it as separate items.
    fn text(&mut self, at: At, mark: ParaMark, content: &[Inline]) {
        let mut pictures = Vec::new();
        self.has_words = has_words(content);
        let letters = self.split(content, &mut pictures);
        if !plain(&letters).trim().is_empty() || mark != ParaMark::None {
            self.push(Para { level: at.level, mark, voice: at.voice, content: letters });
        }
        self.items.append(&mut pictures);
    }

    /// Extracts drawable pictures from a text; others are replaced by their alternative text.
    fn split(&mut self, content: &[Inline], out: &mut Vec<SlideItem<'d>>) -> Vec<Inline> {
        let mut letters = Vec::with_capacity(content.len());
        for inline in content {
            match inline {
                Inline::Image { url, alt, title } => match self.picture(url, alt, title) {
                    Some(picture) if self.has_words && is_icon(&picture) => {
                        let warning =
                            "Small pictures within a line are shown as their text on slides.";
                        self.deck.warnings.add(warning);
                        // One without any text is a decoration, so it is not named by its URL.
                        letters.push(Inline::Text(named(title, alt, title)));
                    }
                    Some(picture) => out.push(picture),
                    None => {
                        let name = Inline::Text(format!("[{}]", named(url, alt, title)));
                        letters.push(Inline::Emphasis(vec![name]));
                    }
                },
                Inline::Strong(parts) => letters.push(Inline::Strong(self.split(parts, out))),
                Inline::Emphasis(parts) => letters.push(Inline::Emphasis(self.split(parts, out))),
                Inline::Strike(parts) => letters.push(Inline::Strike(self.split(parts, out))),
                Inline::Marked(mark, parts) => {
                    letters.push(Inline::Marked(*mark, self.split(parts, out)));
                }
                Inline::Link { url, title, content } => {
                    let content = self.split(content, out);
                    letters.push(Inline::Link { url: url.clone(), title: title.clone(), content });
                }
                Inline::Footnote(_) => {
                    self.mention(inline);
                    letters.push(inline.clone());
                }
                _ => letters.push(inline.clone()),
            }
        }
        letters
    }

    fn mention(&mut self, inline: &Inline) {
        if let Inline::Footnote(note) = inline
            && !self.notes.contains(note)
        {
            self.notes.push(*note);
        }
    }

    /// Marp's `![bg right](…)` places the picture beside the text.
    fn picture(&mut self, url: &str, alt: &str, title: &str) -> Option<SlideItem<'d>> {
        let document = self.deck.document;
        let picture = self.deck.album.picture(document, url, &mut self.deck.warnings)?;
        let side = alt.split(' ').next() == Some("bg");
        let is_directive = |word: &&str| {
            let name = word.split([':', '%']).next().unwrap_or_default();
            let names =
                ["bg", "right", "left", "fit", "cover", "contain", "w", "h", "width", "height"];
            names.contains(&name) || word.ends_with('%')
        };
        let words: Vec<&str> = if side {
            alt.split(' ').skip_while(|word| is_directive(word)).collect()
        } else {
            vec![alt]
        };
        let width = document.widths.get(url).copied();
        Some(SlideItem::Picture {
            picture,
            alt: words.join(" "),
            caption: title.to_owned(),
            side,
            width,
            height: document.heights.get(url).copied(),
        })
    }

    fn list(&mut self, list: &List, at: At) {
        if at.level >= LEVELS {
            let warning = format!("Lists deeper than {LEVELS} levels stay on the last level.");
            self.deck.warnings.add(warning);
        }
        if let Some(start) = list.start.filter(|start| !LIST_NUMBERS.contains(start)) {
            let shown = start.clamp(*LIST_NUMBERS.start(), *LIST_NUMBERS.end());
            let warning = format!("A list that begins with {start} begins with {shown} on slides.");
            self.deck.warnings.add(warning);
        }
        self.lists += 1;
        let id = self.lists;
        let last =
            list.start.unwrap_or(1).saturating_add((list.items.len() as u64).saturating_sub(1));
        for (count, item) in list.items.iter().enumerate() {
            let mark = match (item.task, list.start) {
                (Some(done), _) => ParaMark::Task(done),
                (None, Some(start)) => {
                    ParaMark::Number { list: id, value: start.saturating_add(count as u64), last }
                }
                (None, None) => ParaMark::Bullet,
            };
            self.item(item, mark, At { level: at.level.min(LEVELS - 1), ..at });
        }
    }

    fn item(&mut self, item: &ListItem, mark: ParaMark, at: At) {
        let rest = if let Some((Block::Paragraph(content), rest)) = item.blocks.split_first() {
            self.text(at, mark, content);
            rest
        } else {
            self.push(Para { level: at.level, mark, ..Para::default() });
            &item.blocks[..]
        };
        let inside = At { level: at.level + 1, ..at.deeper() };
        self.blocks(rest, inside);
    }

    fn table(&mut self, table: &Table) {
        if columns(table) == 0 {
            return;
        }
        for cell in rows(table).flatten() {
            each_in(cell, &mut |inline| self.mention(inline));
        }
        let rooms = Rooms { upright: self.deck.geometry.body.width, landscape: None };
        let fitting = fit(table, rooms, &[MIN_TABLE], CELL_FORM);
        if fitting.is_tight || !fitting.parts.is_empty() {
            self.deck.warnings.add(fitting.report(columns(table), "slide"));
        }
        if fitting.parts.is_empty() {
            return self.items.push(SlideItem::Table(table.clone()));
        }
        self.items.extend(fitting.parts.into_iter().map(SlideItem::Table));
    }

    fn quote(&mut self, alert: Option<Alert>, blocks: &[Block], at: At) {
        let Some(alert) = alert else {
            return self.blocks(blocks, At { voice: ParaVoice::Quote, ..at.deeper() });
        };
        let before = std::mem::take(&mut self.items);
        let title = words::alert(alert, self.deck.document.meta.language.as_deref());
        let title = vec![Inline::Text(title.to_owned())];
        self.para(At { voice: ParaVoice::Alert(alert), ..at }, title);
        self.blocks(blocks, at.deeper());
        let inside = std::mem::replace(&mut self.items, before);
        self.items.extend(inside.into_iter().map(|item| match item {
            SlideItem::Text(paras) => SlideItem::Alert(alert, paras),
            other => other,
        }));
    }

    fn footnotes(&mut self) {
        for note in std::mem::take(&mut self.notes) {
            let document = self.deck.document;
            let Some(blocks) = document.notes.get(note) else { continue };
            let text = format!("{}  {}", note + 1, flat(blocks).join(" "));
            let at = At { level: 0, voice: ParaVoice::Small, depth: 0 };
            self.para(at, vec![Inline::Text(text)]);
        }
    }
}
