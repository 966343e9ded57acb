//! Lays out items below each other and continues on further slides if needed.

use std::collections::VecDeque;

use super::geometry::Area;
use super::heights::{Columns, GAP, INSET, LARGEST, code_height, code_size, height, para_height};
use super::items::{Para, ParaMark, ParaVoice, SlideItem};
use super::layouts::BLOCKS;
use super::page::Piece;
use crate::document::{Inline, Merge, Table};
use crate::package::text::{clipped, cut, plain};

/// Scales of body text to try before a slide is split.
const SCALES: [f64; 5] = [LARGEST, 1.2, 1.0, 0.9, 0.8];
/// Text is enlarged only if it leaves that share of the slide free.
const AIR: f64 = 0.15;
/// The scale of split slides.
pub const CUT_SCALE: f64 = 0.9;

/// Lays out items below each other: on one slide if some scale allows it, otherwise on several.
/// Text has at most the scale `max`.
pub fn flow(items: Vec<SlideItem<'_>>, area: Area, max: f64) -> Vec<Vec<Piece<'_>>> {
    if let Some(scale) = scale(&items, area, max) {
        return vec![stack(items, area, scale)];
    }
    Flow { area, pages: vec![Vec::new()], used: 0.0, queue: items.into() }.run()
}

/// The largest scale at which all items fit on one slide.
pub fn scale(items: &[SlideItem<'_>], area: Area, max: f64) -> Option<f64> {
    let has_elastic = items.iter().any(SlideItem::is_elastic);
    let gaps = GAP * items.len().saturating_sub(1) as f64;
    SCALES.into_iter().filter(|scale| *scale <= max).find(|scale| {
        let high: f64 = items.iter().map(|item| height(item, area.width, *scale)).sum();
        let room = if *scale > 1.0 { area.height * (1.0 - AIR) } else { area.height };
        let may_grow = *scale <= 1.0 || !has_elastic;
        high + gaps <= room && items.len() <= BLOCKS && may_grow
    })
}

/// The largest scale at which rows of columns fit on one slide; 1 if none is larger. `high` is their
/// height at a scale, if they may be enlarged.
pub fn row_scale(room: f64, max: f64, high: impl Fn(f64) -> Option<f64>) -> f64 {
    let mut larger = SCALES.into_iter().filter(|scale| *scale > 1.0 && *scale <= max);
    let fits = |scale: &f64| high(*scale).is_some_and(|high| high <= room * (1.0 - AIR));
    larger.find(fits).unwrap_or(1.0)
}

/// A lower bound of the number of slides.
pub fn slides(items: &[SlideItem<'_>], area: Area) -> usize {
    let high = items.iter().filter(|item| !item.is_elastic());
    let high: f64 = high.map(|item| height(item, area.width, SCALES[SCALES.len() - 1])).sum();
    ((high / area.height) as usize).max(items.len().saturating_sub(1) / BLOCKS)
}

/// Places items that are known to fit; pictures share the remaining space.
pub fn stack(items: Vec<SlideItem<'_>>, area: Area, scale: f64) -> Vec<Piece<'_>> {
    let heights: Vec<f64> = items.iter().map(|item| height(item, area.width, scale)).collect();
    let gaps = GAP * items.len().saturating_sub(1) as f64;
    let left = area.height - heights.iter().sum::<f64>() - gaps;
    let pictures = items.iter().filter(|item| item.is_elastic()).count();
    let more = if pictures > 0 { left / pictures as f64 } else { 0.0 };
    let alone = items.len() == 1;
    let mut from = 0.0;
    let mut pieces = Vec::with_capacity(items.len());
    for (item, high) in items.into_iter().zip(heights) {
        let high = match item {
            SlideItem::Picture { .. } | SlideItem::Chart(_) => high + more,
            SlideItem::Text(_) if alone => area.height,
            _ => high,
        };
        pieces.push(Piece { item, area: area.band(from, high), scale });
        from += high + GAP;
    }
    pieces
}

/// Items laid out over several slides.
struct Flow<'d> {
    area: Area,
    pages: Vec<Vec<Piece<'d>>>,
    /// The used height of the last page.
    used: f64,
    queue: VecDeque<SlideItem<'d>>,
}

impl<'d> Flow<'d> {
    fn run(mut self) -> Vec<Vec<Piece<'d>>> {
        while let Some(item) = self.queue.pop_front() {
            let fresh = self.last().is_empty();
            let left = self.area.height - self.used;
            let full = self.last().len() >= BLOCKS;
            let high = height(&item, self.area.width, CUT_SCALE);
            if full {
                self.turn();
                self.queue.push_front(item);
            } else if item.is_elastic() {
                self.elastic(item, left, fresh);
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

    fn put(&mut self, item: SlideItem<'d>, high: f64) {
        let area = self.area.band(self.used, high.min(self.area.height - self.used));
        self.used += high + GAP;
        self.last().push(Piece { item, area, scale: CUT_SCALE });
    }

    fn elastic(&mut self, item: SlideItem<'d>, left: f64, fresh: bool) {
        let min = height(&item, self.area.width, CUT_SCALE);
        if fresh || left >= min {
            let more_follows = !self.queue.is_empty();
            let high = if more_follows { left.min((min * 1.8).max(20.0)) } else { left };
            return self.put(item, high);
        }
        self.turn();
        self.queue.push_front(item);
    }

    /// Places as much of the item as fits and keeps the rest for the next page.
    fn cut(&mut self, item: SlideItem<'d>, left: f64, fresh: bool) {
        let (head, tail) = match item {
            SlideItem::Text(paras) => {
                let (head, tail) = cut_text(paras, self.area.width, left, fresh);
                (head.map(SlideItem::Text), tail.map(SlideItem::Text))
            }
            SlideItem::Alert(alert, paras) => {
                let around = 2.0 * INSET;
                let cut = cut_text(paras, self.area.width - around, left - around, fresh);
                (
                    cut.0.map(|head| SlideItem::Alert(alert, head)),
                    cut.1.map(|tail| SlideItem::Alert(alert, tail)),
                )
            }
            SlideItem::Table(table) => cut_table(&table, self.area.width, left, fresh),
            SlideItem::Code { language, text, size } => {
                let size = size.unwrap_or_else(|| code_size(&text, self.area.width, CUT_SCALE));
                cut_code(language, &text, CodeRoom { width: self.area.width, left, size }, fresh)
            }
            SlideItem::Picture { .. } | SlideItem::Chart(_) => (None, Some(item)),
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

type CutItem<'d> = (Option<SlideItem<'d>>, Option<SlideItem<'d>>);

/// On an empty page at least a part of the first paragraph is placed, so that the loop ends.
fn cut_text(
    mut paras: Vec<Para>,
    width: f64,
    left: f64,
    fresh: bool,
) -> (Option<Vec<Para>>, Option<Vec<Para>>) {
    let (mut used, mut count) = (0.0, 0);
    for para in &paras {
        used += para_height(para, width, CUT_SCALE);
        if used > left {
            break;
        }
        count += 1;
    }
    // A heading moves with the paragraph that follows it.
    let heads = |para: &Para| matches!(para.voice, ParaVoice::Heading | ParaVoice::Alert(_));
    while count > usize::from(fresh) && heads(&paras[count - 1]) {
        count -= 1;
    }
    count = whole_item(&paras, count);
    let mut tail = paras.split_off(count);
    if paras.is_empty() && fresh {
        let first = tail.remove(0);
        let Para { level, mark, voice, .. } = first;
        let share = left / para_height(&first, width, CUT_SCALE) * 0.9;
        let letters = (plain(&first.content).chars().count() as f64 * share) as usize;
        let (one, two) = cut(first.content, letters.max(1));
        // A formula is not cut.
        if !two.is_empty() {
            tail.insert(0, Para { level, mark: ParaMark::None, voice, content: two });
        }
        paras.push(Para { level, mark, voice, content: one });
    }
    let some = |paras: Vec<Para>| Some(paras).filter(|p| !p.is_empty());
    (some(paras), some(tail))
}

/// The number of paragraphs to keep, so that a point of a list is not separated from the one above
/// it, unless its list is long.
fn whole_item(paras: &[Para], count: usize) -> usize {
    const MAX_CHILDREN: usize = 4;
    let is_below = |para: &Para| para.level > 0;
    if count == 0 || !paras.get(count).is_some_and(is_below) {
        return count;
    }
    let parent = paras[..count].iter().rposition(|para| !is_below(para));
    parent.filter(|parent| *parent > 0 && count - parent <= MAX_CHILDREN).unwrap_or(count)
}

/// The header is repeated on every slide, unless it would fill them.
fn cut_table<'d>(table: &Table, width: f64, left: f64, fresh: bool) -> CutItem<'d> {
    let columns = Columns::of(table, width, CUT_SCALE);
    if fresh && !table.header.is_empty() && columns.row_height(&table.header, true) > left * 0.6 {
        let mut plain = table.clone();
        plain.rows.insert(0, std::mem::take(&mut plain.header));
        plain.more_header_rows = 0;
        for merge in &mut plain.merges {
            merge.row += 1;
        }
        return cut_table(&plain, width, left, fresh);
    }
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
    let more = table.header_rows() - 1;
    if count <= more && !fresh {
        return (None, Some(SlideItem::Table(table.clone())));
    }
    let (mut head, mut tail) = (table.clone(), table.clone());
    let repeated = if count > more && !table.header.is_empty() { more } else { 0 };
    tail.rows.drain(repeated..count);
    tail.more_header_rows = repeated;
    head.rows.truncate(count);
    (head.merges, tail.merges) = cut_merges(table, count, repeated);
    if count == 0 && !tail.rows.is_empty() {
        let row = tail.rows.remove(0);
        let high = columns.row_height(&row, false);
        let share = ((left - (used - high)).max(40.0) / high * 0.85).min(0.85);
        let letters = |cell: &Vec<Inline>| plain(cell).chars().count() as f64;
        let halves = row.into_iter().map(|cell| {
            let letters = (letters(&cell) * share) as usize;
            cut(cell, letters.max(12))
        });
        let (one, two): (Vec<_>, Vec<_>) = halves.unzip();
        head.rows = vec![one];
        (head.merges, tail.merges) = (Vec::new(), Vec::new());
        // The remainder of a shorter row is empty and must not be repeated.
        if two.iter().any(|cell: &Vec<Inline>| !cell.is_empty()) {
            tail.rows.insert(0, two);
        }
    }
    let rest = (tail.rows.len() > repeated).then_some(SlideItem::Table(tail));
    (Some(SlideItem::Table(head)), rest)
}

/// The merges of the first `count` rows, and of the header and its `more` repeated rows with the
/// other rows.
fn cut_merges(table: &Table, count: usize, more: usize) -> (Vec<Merge>, Vec<Merge>) {
    let all = 0..usize::MAX;
    let head = clipped(table, 0..count + 1, all.clone());
    let mut tail = clipped(table, count + 1..usize::MAX, all.clone());
    for merge in &mut tail {
        merge.row += 1 + more;
    }
    tail.extend(clipped(table, 0..1 + more, all));
    (head, tail)
}

/// The width and height that are left for code, and its font size.
#[derive(Clone, Copy)]
struct CodeRoom {
    width: f64,
    left: f64,
    size: f64,
}

fn cut_code<'d>(language: Option<String>, text: &str, room: CodeRoom, fresh: bool) -> CutItem<'d> {
    let CodeRoom { width, left, size } = room;
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
        return (None, Some(SlideItem::Code { language, text: text.to_owned(), size: Some(size) }));
    }
    let code = |lines: &[&str]| {
        (!lines.is_empty()).then(|| SlideItem::Code {
            language: language.clone(),
            text: lines.join("\n"),
            size: Some(size),
        })
    };
    if count == 0 {
        return cut_line(language.as_deref(), &lines, room);
    }
    (code(&lines[..count]), code(&lines[count..]))
}

/// Splits a single line that is taller than a slide.
fn cut_line<'d>(language: Option<&str>, lines: &[&str], room: CodeRoom) -> CutItem<'d> {
    let CodeRoom { width, left, size } = room;
    let share = left / code_height(lines[0], width, size) * 0.9;
    let letters = ((lines[0].chars().count() as f64 * share) as usize).max(1);
    let at = lines[0].char_indices().nth(letters).map_or(lines[0].len(), |(at, _)| at);
    let (one, two) = lines[0].split_at(at);
    let two = Some(two).filter(|two| !two.is_empty());
    let rest: Vec<&str> = two.into_iter().chain(lines[1..].iter().copied()).collect();
    let language = language.map(str::to_owned);
    let code =
        |text: String| SlideItem::Code { language: language.clone(), text, size: Some(size) };
    (Some(code(one.to_owned())), (!rest.is_empty()).then(|| code(rest.join("\n"))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_empty_slide_follows_a_formula_that_is_higher_than_a_slide() {
        let source = format!("\\begin{{matrix}}{}1\\end{{matrix}}", r"1\\".repeat(40));
        let para = Para { content: vec![Inline::Math(source)], ..Para::default() };
        let area = Area { width: 800.0, height: 374.0, ..Area::default() };
        assert!(para_height(&para, area.width, CUT_SCALE) > area.height);
        assert_eq!(flow(vec![SlideItem::Text(vec![para])], area, 1.0).len(), 1);
    }

    /// A template may have a place for text that is lower than a line.
    #[test]
    fn code_in_a_place_lower_than_a_line_ends() {
        let code = SlideItem::Code { language: None, text: "ab\n\nc".into(), size: None };
        let area = Area { width: 400.0, height: 10.0, ..Area::default() };
        let text = |page: &Vec<Piece<'_>>| match &page[..] {
            [Piece { item: SlideItem::Code { text, .. }, .. }] => text.clone(),
            _ => panic!("{page:?}"),
        };
        let pages: Vec<String> = flow(vec![code], area, 1.0).iter().map(text).collect();
        assert_eq!(pages, ["a", "b", "", "c"]);
    }
}
