//! Column widths based on the content of a table.

use super::fitting::needs;
use super::measure::{Face, widest_word, width};
use super::text::{plain, rows};
use crate::document::{Inline, Table, each_in};

/// Widths in thousandths of an em that add up to at most `room`.
///
/// Every column is at least as wide as its widest word, if that fits. The remaining width is shared
/// in proportion to what each column needs for single-line cells. `padding` is the padding of a
/// cell.
pub fn columns(table: &Table, room: u32, padding: u32, face: Face) -> Vec<u32> {
    with_pictures(table, room, padding, face, &[])
}

/// Like [`columns`], with the width of the pictures of each column.
pub fn with_pictures(
    table: &Table,
    room: u32,
    padding: u32,
    face: Face,
    pictures: &[u32],
) -> Vec<u32> {
    let count = super::text::columns(table);
    let (mut min, mut max) = (vec![600 + padding; count], vec![1_000 + padding; count]);
    for (at, wide) in pictures.iter().enumerate().take(count) {
        let wide = if *wide > 0 { wide.saturating_add(padding) } else { 0 };
        max[at] = max[at].max(wide);
        min[at] = min[at].max(wide.min(room / count.max(1) as u32));
    }
    let spans = table.spans();
    // The header is row 0.
    let first = usize::from(table.header.is_empty());
    let mut merged = Vec::new();
    for (at, row) in rows(table).enumerate() {
        let face = if at == 0 && !table.header.is_empty() { Face::Bold } else { face };
        for (column, cell) in row.iter().enumerate() {
            let captions = captions(cell);
            let text = plain(cell) + &captions;
            let beside = if captions.is_empty() { None } else { pictures.get(column).copied() };
            // Some slack, because other fonts are slightly wider.
            let slack = |units: u32| units.saturating_add(units / 25 + 200 + padding);
            let word = slack(widest_word(&text, face));
            let longest = text.lines().map(|line| width(line, face)).max().unwrap_or(0);
            let longest = slack(longest).saturating_add(beside.unwrap_or_default());
            let columns = spans.at(at + first, column).columns();
            if columns > 1 {
                merged.push((column..(column + columns).min(count), word, longest));
                continue;
            }
            min[column] = min[column].max(word);
            max[column] = max[column].max(longest);
        }
    }
    for (columns, word, longest) in merged {
        widen(&mut min[columns.clone()], word);
        widen(&mut max[columns], longest);
    }
    let short: Vec<u32> = needs(table).iter().map(|need| need + padding).collect();
    share(&min, &max, &short, room)
}

/// Widens columns that are together narrower than the cell over them, each by the same.
fn widen(columns: &mut [u32], wanted: u32) {
    let missing =
        wanted.saturating_sub(columns.iter().fold(0, |sum, one| sum.saturating_add(*one)));
    let each = missing.div_ceil(columns.len().max(1) as u32);
    for column in columns {
        *column = column.saturating_add(each);
    }
}

/// The captions in a cell, which stand beside their pictures.
fn captions(cell: &[Inline]) -> String {
    let mut captions = String::new();
    each_in(cell, &mut |inline| {
        if let Inline::Image { title, .. } = inline
            && !title.is_empty()
        {
            captions.extend([" ", title]);
        }
    });
    captions
}

/// The widest picture of each column, in the unit of `width`, which returns the width of a picture
/// by its URL.
pub fn pictures(table: &Table, width: impl Fn(&str) -> f64) -> Vec<f64> {
    let mut widths = vec![0.0; super::text::columns(table)];
    for row in rows(table) {
        for (widest, cell) in widths.iter_mut().zip(row) {
            each_in(cell, &mut |inline| {
                if let Inline::Image { url, .. } = inline {
                    *widest = f64::max(*widest, width(url));
                }
            });
        }
    }
    widths
}

/// `short` has the widths of numbers and short words, which are kept whole first.
fn share(min: &[u32], max: &[u32], short: &[u32], room: u32) -> Vec<u32> {
    let sum = |all: &[u32]| all.iter().map(|w| u64::from(*w)).sum::<u64>().max(1);
    let (wanted, needed, room) = (sum(max), sum(min), u64::from(room));
    if wanted <= room {
        // Narrow tables stay narrow, but are widened a little.
        let total = room.min(wanted * 3 / 2);
        return max.iter().map(|w| (u64::from(*w) * total / wanted) as u32).collect();
    }
    if needed >= room {
        let kept = sum(short);
        if kept >= room {
            return squeezed(short, room);
        }
        let spare = |at: usize| u64::from(min[at].saturating_sub(short[at]));
        let (left, all) = (room - kept, (0..min.len()).map(spare).sum::<u64>().max(1));
        let wide = |at: usize| short[at] + (left * spare(at) / all) as u32;
        return (0..min.len()).map(wide).collect();
    }
    let spare = |at: usize| u64::from(max[at] - min[at]);
    let (left, all) = (room - needed, (wanted - needed).max(1));
    (0..min.len()).map(|at| min[at] + (left * spare(at) / all) as u32).collect()
}

/// Used if even the widest words do not fit. Reduces the widest columns to a common width.
fn squeezed(min: &[u32], room: u64) -> Vec<u32> {
    let (mut low, mut high) = (1, *min.iter().max().unwrap_or(&1));
    while low < high {
        let cap = low + (high - low).div_ceil(2);
        let total: u64 = min.iter().map(|w| u64::from(*w.min(&cap))).sum();
        if total <= room { low = cap } else { high = cap - 1 }
    }
    min.iter().map(|w| *w.min(&low)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Merge;

    fn widths(cells: &[&str], room: u32) -> Vec<u32> {
        let row = cells.iter().map(|text| vec![Inline::Text((*text).into())]).collect();
        let table = Table { rows: vec![row], ..Table::default() };
        columns(&table, room, 500, Face::Text)
    }

    #[test]
    fn a_long_text_gets_more_room_than_a_number() {
        let long = "many words that will never stand on one line of any page at all, whatever";
        let widths = widths(&["1", long], 20_000);
        assert!(widths[0] < 4_000 && widths[1] > 12_000, "{widths:?}");
        assert!(widths.iter().sum::<u32>() <= 20_000);
    }

    #[test]
    fn a_cell_over_several_columns_widens_none_of_them_alone() {
        let row = |texts: [&str; 3]| texts.map(|text| vec![Inline::Text(text.into())]).to_vec();
        let merge = Merge { row: 2, column: 1, rows: 1, columns: 2 };
        let table = Table {
            header: row(["Name", "Plan", "Actual"]),
            rows: vec![row(["North", "10", "11"]), row(["South", "a long remark on it", ""])],
            merges: vec![merge],
            ..Table::default()
        };
        let widths = columns(&table, 40_000, 500, Face::Text);
        assert!(widths[1] < widths[2] * 5 / 4 && widths[1] + widths[2] > 9_000, "{widths:?}");
    }

    #[test]
    fn one_endless_word_does_not_starve_the_others() {
        let widths = widths(&["number", &"m".repeat(200)], 20_000);
        assert!(widths[0] >= 3_000 && widths.iter().sum::<u32>() <= 20_000, "{widths:?}");
    }
}
