//! Items in their places; what does not fit goes on to further slides.

use std::collections::{HashMap, HashSet, VecDeque};

use super::Deck;
use super::geometry::Area;
use super::heights::{Columns, GAP, LEAST_PICTURE, code_height, code_size, height, para_height};
use super::items::{Item, Para};
use super::layouts::Layout;
use super::plan::{Class, Slide};
use crate::document::{Block, Inline, Table};
use crate::package::text::{cut, plain, slug};

/// Body text is tried at these scales before a slide is cut.
const SCALES: [f64; 3] = [1.0, 0.9, 0.8];
/// The scale of slides that have been cut.
const CUT_SCALE: f64 = 0.9;
/// A title of more letters is shortened.
const TITLE_LETTERS: usize = 160;

/// A slide with all its things in their places.
#[derive(Debug, Clone)]
pub struct Page<'d> {
    pub layout: Layout,
    pub title: Vec<Inline>,
    /// Titles that nobody wrote are there for screen readers and the outline only.
    pub hidden_title: bool,
    pub pieces: Vec<Piece<'d>>,
    pub notes: Vec<String>,
    pub numbered: bool,
    pub footer: Option<String>,
    /// Anchors of the headings on the slide.
    pub anchors: Vec<String>,
}

/// A thing on a slide.
#[derive(Debug, Clone)]
pub struct Piece<'d> {
    pub item: Item<'d>,
    pub area: Area,
    pub scale: f64,
}

impl<'d> Deck<'d> {
    /// The pages that a slide takes.
    pub fn fit(&mut self, slide: Slide<'d>, items: Vec<Item<'d>>) -> Vec<Page<'d>> {
        let hidden = slide.title.is_none();
        let title = slide.title.clone().unwrap_or_else(|| first_words(&items));
        let title = self.shorten(title);
        let anchors = anchors(&slide);
        let (layout, placed) = self.place(&slide, items);
        let pages = placed.into_iter().enumerate().map(|(at, pieces)| Page {
            layout: if at > 0 && layout == Layout::Two { Layout::Content } else { layout },
            title: title.clone(),
            hidden_title: hidden,
            pieces,
            notes: if at == 0 { slide.notes.clone() } else { Vec::new() },
            numbered: slide.numbered && layout != Layout::Title,
            footer: slide.footer.clone().filter(|_| layout != Layout::Title),
            anchors: if at == 0 { anchors.clone() } else { Vec::new() },
        });
        pages.map(settle).collect()
    }

    fn shorten(&mut self, title: Vec<Inline>) -> Vec<Inline> {
        if plain(&title).chars().count() <= TITLE_LETTERS {
            return title;
        }
        self.warnings.say(format!("A title of over {TITLE_LETTERS} letters was shortened."));
        let (mut head, _) = cut(&title, TITLE_LETTERS - 1);
        head.push(Inline::Text("…".into()));
        head
    }

    fn place(&self, slide: &Slide<'d>, items: Vec<Item<'d>>) -> (Layout, Vec<Vec<Piece<'d>>>) {
        let body = self.geometry.body;
        let only_text = items.iter().all(|item| matches!(item, Item::Text(_)));
        if only_text {
            let room = Layout::Title.body(&self.geometry);
            let high: f64 = items.iter().map(|item| height(item, room.width, 1.0)).sum();
            let few = high <= room.height;
            let area = |layout: Layout| layout.body(&self.geometry);
            let whole = |items: Vec<Item<'d>>, area| {
                vec![items.into_iter().map(|item| Piece { item, area, scale: 1.0 }).collect()]
            };
            if few && slide.class == Class::Title {
                return (Layout::Title, whole(items, area(Layout::Title)));
            }
            if items.is_empty() {
                return (Layout::Section, vec![Vec::new()]);
            }
            if few && slide.blocks.iter().all(|block| is_quote(block)) {
                return (Layout::Quote, whole(items, area(Layout::Quote)));
            }
        }
        if let Some(pages) = self.beside(&items) {
            return (Layout::Two, pages);
        }
        (Layout::Content, flow(items, body))
    }

    /// Text on the left and one picture on the right.
    fn beside(&self, items: &[Item<'d>]) -> Option<Vec<Vec<Piece<'d>>>> {
        let is_picture = |item: &&Item<'d>| matches!(item, Item::Picture { .. });
        let picture = items.iter().find(is_picture)?;
        let side = matches!(picture, Item::Picture { side: true, .. });
        let rest: Vec<_> = items.iter().filter(|item| !is_picture(item)).cloned().collect();
        let text = matches!(rest[..], [Item::Text(_)]);
        if rest.len() + 1 != items.len() || !(text || side) || rest.is_empty() {
            return None;
        }
        let [left, right] = self.geometry.halves();
        let mut pages = flow(rest, left);
        if pages.len() > 1 && !side {
            return None;
        }
        let piece = Piece { item: picture.clone(), area: right, scale: 1.0 };
        pages.first_mut()?.push(piece);
        Some(pages)
    }
}

fn is_quote(block: &Block) -> bool {
    matches!(block, Block::Quote { alert: None, .. })
}

/// The layout that a page needs for what stands on it in the end.
fn settle(mut page: Page<'_>) -> Page<'_> {
    if page.layout == Layout::Content {
        page.layout = match &page.pieces[..] {
            [Piece { item: Item::Code { .. }, .. }] => Layout::Code,
            [_] | [] => Layout::Content,
            _ => Layout::Mixed,
        };
    }
    page
}

fn anchors(slide: &Slide<'_>) -> Vec<String> {
    let inner = slide.blocks.iter().filter_map(|block| match block {
        Block::Heading { content, .. } => Some(plain(content)),
        _ => None,
    });
    let title = slide.title.as_ref().map(|title| plain(title));
    title.into_iter().chain(inner).map(|text| slug(&text, &mut HashMap::new())).collect()
}

/// A name for a slide that has no heading.
fn first_words(items: &[Item<'_>]) -> Vec<Inline> {
    let text = items.iter().find_map(|item| match item {
        Item::Text(paras) => paras.iter().map(|p| plain(&p.content)).find(|t| !t.is_empty()),
        Item::Table(table) => table.header.first().map(|cell| plain(cell)),
        Item::Code { text, .. } => text.lines().next().map(str::to_owned),
        Item::Picture { alt, .. } => Some(alt.clone()),
    });
    let text = text.map(|text| text.trim().replace('\n', " ")).filter(|text| !text.is_empty());
    let (head, _) = cut(&[Inline::Text(text.unwrap_or_else(|| "Slide".into()))], 60);
    head
}

/// Gives every slide a title of its own: the second of a name gets " (2)".
pub fn name_apart(pages: &mut [Page<'_>]) {
    let mut seen = HashSet::new();
    for page in pages {
        let name = plain(&page.title);
        let mut count = 1;
        let mut unique = name.clone();
        while !seen.insert(unique.clone()) {
            count += 1;
            unique = format!("{name} ({count})");
        }
        if count > 1 {
            page.title.push(Inline::Text(format!(" ({count})")));
        }
    }
}

/// Items under one another: on one slide if some scale allows it, else on several.
fn flow<'d>(items: Vec<Item<'d>>, area: Area) -> Vec<Vec<Piece<'d>>> {
    for scale in SCALES {
        let high: f64 = items.iter().map(|item| height(item, area.width, scale)).sum();
        let gaps = GAP * items.len().saturating_sub(1) as f64;
        if high + gaps <= area.height && items.len() <= super::layouts::BLOCKS {
            return vec![stack(items, area, scale)];
        }
    }
    Flow { area, pages: vec![Vec::new()], used: 0.0, queue: items.into() }.run()
}

/// Places items that are known to fit; pictures share what is left.
fn stack<'d>(items: Vec<Item<'d>>, area: Area, scale: f64) -> Vec<Piece<'d>> {
    let heights: Vec<f64> = items.iter().map(|item| height(item, area.width, scale)).collect();
    let gaps = GAP * items.len().saturating_sub(1) as f64;
    let left = area.height - heights.iter().sum::<f64>() - gaps;
    let pictures = items.iter().filter(|item| matches!(item, Item::Picture { .. })).count();
    let more = if pictures > 0 { left / pictures as f64 } else { 0.0 };
    let alone = items.len() == 1;
    let mut from = 0.0;
    let mut pieces = Vec::with_capacity(items.len());
    for (item, high) in items.into_iter().zip(heights) {
        let high = match item {
            Item::Picture { .. } => high + more,
            Item::Text(_) if alone => area.height,
            _ => high,
        };
        pieces.push(Piece { item, area: area.band(from, high), scale });
        from += high + GAP;
    }
    pieces
}

/// Items going down slide after slide.
struct Flow<'d> {
    area: Area,
    pages: Vec<Vec<Piece<'d>>>,
    /// Height that is taken on the last page.
    used: f64,
    queue: VecDeque<Item<'d>>,
}

impl<'d> Flow<'d> {
    fn run(mut self) -> Vec<Vec<Piece<'d>>> {
        while let Some(item) = self.queue.pop_front() {
            let fresh = self.last().is_empty();
            let left = self.area.height - self.used;
            let full = self.last().len() >= super::layouts::BLOCKS;
            let high = height(&item, self.area.width, CUT_SCALE);
            if full {
                self.turn();
                self.queue.push_front(item);
            } else if let Item::Picture { .. } = item {
                self.picture(item, left, fresh);
            } else if high <= left {
                self.put(item, high);
            } else {
                self.cut(item, left, fresh);
            }
        }
        self.pages.retain(|page| !page.is_empty());
        self.pages
    }

    fn last(&mut self) -> &mut Vec<Piece<'d>> {
        self.pages.last_mut().expect("there is always a page")
    }

    fn turn(&mut self) {
        self.pages.push(Vec::new());
        self.used = 0.0;
    }

    fn put(&mut self, item: Item<'d>, high: f64) {
        let area = self.area.band(self.used, high.min(self.area.height - self.used));
        self.used += high + GAP;
        self.last().push(Piece { item, area, scale: CUT_SCALE });
    }

    fn picture(&mut self, item: Item<'d>, left: f64, fresh: bool) {
        if fresh || left >= LEAST_PICTURE {
            let more_follows = !self.queue.is_empty();
            let high = if more_follows { left.min(260.0) } else { left };
            return self.put(item, high);
        }
        self.turn();
        self.queue.push_front(item);
    }

    /// As much of the item as there is room for; the rest waits for the next page.
    fn cut(&mut self, item: Item<'d>, left: f64, fresh: bool) {
        let (head, tail) = match item {
            Item::Text(paras) => cut_text(paras, self.area.width, left, fresh),
            Item::Table(table) => cut_table(&table, self.area.width, left, fresh),
            Item::Code { language, text } => {
                cut_code(language, &text, (self.area.width, left), fresh)
            }
            Item::Picture { .. } => (None, Some(item)),
        };
        if let Some(head) = head {
            let high = height(&head, self.area.width, CUT_SCALE);
            self.put(head, high);
        }
        if let Some(tail) = tail {
            self.turn();
            self.queue.push_front(tail);
        }
    }
}

type Cut<'d> = (Option<Item<'d>>, Option<Item<'d>>);

/// On a fresh page at least a part of the first paragraph is taken, so that the flow ends.
fn cut_text<'d>(mut paras: Vec<Para>, width: f64, left: f64, fresh: bool) -> Cut<'d> {
    let (mut used, mut count) = (0.0, 0);
    for para in &paras {
        used += para_height(para, width, CUT_SCALE);
        if used > left {
            break;
        }
        count += 1;
    }
    let heads = |para: &Para| matches!(para.voice, super::items::Voice::Heading);
    while count > 1 && heads(&paras[count - 1]) {
        count -= 1;
    }
    let mut tail = paras.split_off(count);
    if paras.is_empty() && fresh {
        let first = tail.remove(0);
        let share = left / para_height(&first, width, CUT_SCALE) * 0.9;
        let letters = (plain(&first.content).chars().count() as f64 * share) as usize;
        let (one, two) = cut(&first.content, letters.max(1));
        tail.insert(0, Para { content: two, mark: super::items::Mark::None, ..first.clone() });
        paras.push(Para { content: one, ..first });
    }
    let some = |paras: Vec<Para>| Some(paras).filter(|p| !p.is_empty()).map(Item::Text);
    (some(paras), some(tail))
}

/// The header stands on every slide again.
fn cut_table<'d>(table: &Table, width: f64, left: f64, fresh: bool) -> Cut<'d> {
    let columns = Columns::of(table, width, CUT_SCALE);
    let mut used = 0.0;
    if !table.header.is_empty() {
        used = columns.row_height(&table.header, true);
    }
    let mut count = 0;
    for row in &table.rows {
        used += columns.row_height(row, false);
        if used > left {
            break;
        }
        count += 1;
    }
    let (mut head, mut tail) = (table.clone(), table.clone());
    tail.rows.drain(..count);
    head.rows.truncate(count);
    if count == 0 && !fresh {
        return (None, Some(Item::Table(tail)));
    }
    if count == 0 && !tail.rows.is_empty() {
        let row = tail.rows.remove(0);
        let high = columns.row_height(&row, false);
        let share = ((left - (used - high)).max(40.0) / high * 0.85).min(0.85);
        let letters = |cell: &Vec<Inline>| plain(cell).chars().count() as f64;
        let halves = row.iter().map(|cell| cut(cell, ((letters(cell) * share) as usize).max(12)));
        let (one, two) = halves.unzip();
        head.rows = vec![one];
        tail.rows.insert(0, two);
    }
    let rest = (!tail.rows.is_empty()).then_some(Item::Table(tail));
    (Some(Item::Table(head)), rest)
}

fn cut_code<'d>(language: Option<String>, text: &str, room: (f64, f64), fresh: bool) -> Cut<'d> {
    let (width, left) = room;
    let size = code_size(text, width, CUT_SCALE);
    let lines: Vec<&str> = text.split('\n').collect();
    let mut count = 0;
    let mut used = code_height("", width, size) - size * 1.2;
    for line in &lines {
        used += code_height(line, width, size) - code_height("", width, size) + size * 1.2;
        if used > left {
            break;
        }
        count += 1;
    }
    if count < 3 && !fresh {
        return (None, Some(Item::Code { language, text: text.to_owned() }));
    }
    let code = |lines: &[&str]| {
        (!lines.is_empty())
            .then(|| Item::Code { language: language.clone(), text: lines.join("\n") })
    };
    if count == 0 {
        return cut_line(&language, &lines, (width, left, size));
    }
    (code(&lines[..count]), code(&lines[count..]))
}

/// A single line that is higher than a slide is cut within.
fn cut_line<'d>(language: &Option<String>, lines: &[&str], room: (f64, f64, f64)) -> Cut<'d> {
    let (width, left, size) = room;
    let share = left / code_height(lines[0], width, size) * 0.9;
    let letters = ((lines[0].chars().count() as f64 * share) as usize).max(1);
    let at = lines[0].char_indices().nth(letters).map_or(lines[0].len(), |(at, _)| at);
    let (one, two) = lines[0].split_at(at);
    let rest: Vec<&str> = std::iter::once(two).chain(lines[1..].iter().copied()).collect();
    let code = |text: String| Some(Item::Code { language: language.clone(), text });
    (code(one.to_owned()), code(rest.join("\n")))
}
