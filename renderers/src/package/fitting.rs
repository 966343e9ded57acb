//! The font size and the paper at which a table fits, so that no number and no short word is broken,
//! and the alignment of columns of numbers.

use super::measure::{Face, is_wide, width};
use super::text::{columns, plain, rows};
use crate::document::{Align, CellSpan, Inline, Merge, Spans, Table};

/// Words with more characters than this may be broken.
const LETTERS: usize = 16;
/// A table with more columns than this is always split; Word supports no more.
const MAX_COLUMNS: usize = 63;

/// A cell in a certain format.
#[derive(Debug, Clone, Copy)]
pub struct CellForm {
    /// The left and right padding together, in points.
    pub padding: f64,
    /// How much wider the font is than the measured one.
    pub widening: f64,
}

/// Where a table may be placed, in points.
#[derive(Debug, Clone, Copy)]
pub struct Rooms {
    pub upright: f64,
    /// Only for tables that may be placed on a landscape page of their own.
    pub landscape: Option<f64>,
}

/// How a table fits.
#[derive(Debug, Clone, PartialEq)]
pub struct Fitting {
    /// The font size.
    pub points: f64,
    pub is_landscape: bool,
    /// The tables into which it has to be split; empty if it fits.
    pub parts: Vec<Table>,
    /// Whether the table does not fit, but stays whole because of cells over several columns.
    pub is_tight: bool,
    /// Whether cells over several columns are divided between the parts.
    pub has_divided_cells: bool,
}

impl Fitting {
    /// A table that fits.
    fn whole(points: f64, is_landscape: bool) -> Self {
        Self { points, is_landscape, parts: Vec::new(), is_tight: false, has_divided_cells: false }
    }

    /// What is reported if the table does not fit on the `surface`, such as “page”.
    pub fn report(&self, columns: usize, surface: &str) -> String {
        if self.is_tight {
            return format!(
                "A table of {columns} columns is too wide for the {surface}; it was not split, \
                 because it has cells that extend over several columns."
            );
        }
        let divided = if self.has_divided_cells {
            " Cells that extend over several columns were divided."
        } else {
            ""
        };
        format!(
            "A table of {columns} columns was split into {} tables, because it is wider than the \
             {surface}.{divided}",
            self.parts.len()
        )
    }
}

/// The largest of `sizes`, in falling order, at which the table fits: first upright, then on a
/// landscape page. A table that fits nowhere is split by columns, unless that would divide cells that
/// extend over several columns.
pub fn fit(table: &Table, rooms: Rooms, sizes: &[f64], form: CellForm) -> Fitting {
    let needs = Needs::of(table);
    let all = [(Some(rooms.upright), false), (rooms.landscape, true)];
    for (room, is_landscape) in all {
        let Some(room) = room else { continue };
        if let Some(points) = needs.size(room, sizes, form) {
            return Fitting::whole(points, is_landscape);
        }
    }
    let points = sizes.last().copied().unwrap_or(8.0);
    let is_merged = table.merges.iter().any(|merge| merge.columns > 1);
    if is_merged && columns(table) <= MAX_COLUMNS {
        let is_landscape = rooms.landscape.is_some();
        return Fitting { is_tight: true, ..Fitting::whole(points, is_landscape) };
    }
    let parts = needs.parts(rooms.upright, points, form);
    let parts = if parts.len() > 1 {
        parts.iter().map(|columns| with_columns(table, columns)).collect()
    } else {
        Vec::new()
    };
    let has_divided_cells = is_merged && !parts.is_empty();
    Fitting { parts, has_divided_cells, ..Fitting::whole(points, false) }
}

/// The largest of `sizes`, in falling order, at which the table fits into `room`.
pub fn size(table: &Table, room: f64, sizes: &[f64], form: CellForm) -> Option<f64> {
    Needs::of(table).size(room, sizes, form)
}

/// The widest unbreakable piece of each column, in thousandths of an em.
struct Needs {
    columns: Vec<u32>,
}

impl Needs {
    fn of(table: &Table) -> Self {
        Self { columns: needs(table) }
    }

    fn size(&self, room: f64, sizes: &[f64], form: CellForm) -> Option<f64> {
        sizes.iter().copied().find(|points| self.width(*points, form) <= room)
    }

    fn column(&self, at: usize, points: f64, form: CellForm) -> f64 {
        f64::from(self.columns[at]) * points * form.widening / 1000.0 + form.padding
    }

    fn width(&self, points: f64, form: CellForm) -> f64 {
        (0..self.columns.len()).map(|at| self.column(at, points, form)).sum()
    }

    /// The columns of each part. Every part begins with the first column, which names the rows,
    /// unless that takes too much room.
    fn parts(&self, room: f64, points: f64, form: CellForm) -> Vec<Vec<usize>> {
        let count = self.columns.len();
        let first = if count > 2 { self.column(0, points, form) } else { room };
        let repeats = first < room / 3.0;
        let mut parts: Vec<Vec<usize>> = Vec::new();
        let mut used = room;
        for at in usize::from(repeats)..count {
            let wide = self.column(at, points, form);
            if used + wide > room || parts.is_empty() {
                parts.push(if repeats { vec![0] } else { Vec::new() });
                used = if repeats { first } else { 0.0 };
            }
            used += wide;
            parts.last_mut().expect("there is a part").push(at);
        }
        parts
    }
}

/// The widest number or short word of each column, in thousandths of an em.
pub fn needs(table: &Table) -> Vec<u32> {
    let (mut needs, spans) = (vec![600; columns(table)], table.spans());
    // The header is row 0.
    let first = usize::from(table.header.is_empty());
    for (at, row) in rows(table).enumerate() {
        let is_header = !table.header.is_empty() && at < table.header_rows();
        let face = if is_header { Face::Bold } else { Face::Text };
        for (column, cell) in row.iter().enumerate() {
            let count = spans.at(at + first, column).columns().max(1);
            let text = plain(cell);
            let pieces = text.split(|letter: char| letter.is_whitespace() || letter == '-');
            let pieces = pieces.flat_map(|piece| piece.split_inclusive(is_wide));
            for piece in pieces {
                let is_number = piece.chars().all(|c| !c.is_alphabetic());
                let letters = if is_number { 2 * LETTERS } else { LETTERS };
                let end = piece.char_indices().nth(letters).map_or(piece.len(), |(at, _)| at);
                // Some slack, because other fonts are slightly wider.
                let wide = width(&piece[..end], face);
                // Merged columns share what their cell needs.
                let wide = wide.saturating_add(wide / 25 + 200) / count as u32;
                for need in needs.iter_mut().skip(column).take(count) {
                    *need = (*need).max(wide);
                }
            }
        }
    }
    needs
}

fn with_columns(table: &Table, kept: &[usize]) -> Table {
    let row = |row: &Vec<Vec<Inline>>| -> Vec<Vec<Inline>> {
        kept.iter().map(|at| row.get(*at).cloned().unwrap_or_default()).collect()
    };
    Table {
        align: kept.iter().map(|at| table.align.get(*at).copied().unwrap_or_default()).collect(),
        header: if table.header.is_empty() { Vec::new() } else { row(&table.header) },
        rows: table.rows.iter().map(row).collect(),
        more_header_rows: table.more_header_rows,
        merges: merges(table, kept),
        given: None,
    }
}

/// The merges in some of the columns.
fn merges(table: &Table, kept: &[usize]) -> Vec<Merge> {
    let within = |merge: &Merge| {
        let end = merge.column + merge.columns;
        let is_part = |at: &&usize| (merge.column..end).contains(*at);
        let columns = kept.iter().filter(is_part).count();
        let column = kept.iter().position(|at| is_part(&at))?;
        (columns * merge.rows > 1).then_some(Merge { column, columns, ..*merge })
    };
    table.merges.iter().filter_map(within).collect()
}

/// The alignment of each column: columns of numbers are aligned at their end, as in a workbook.
pub fn alignments(table: &Table) -> Vec<Align> {
    let spans = table.spans();
    (0..columns(table))
        .map(|at| match table.align.get(at).copied().unwrap_or_default() {
            Align::Start if is_numeric(table, &spans, at) => Align::End,
            align => align,
        })
        .collect()
}

/// The alignment of a cell. Over several columns, a header is centred, and text is not aligned with
/// the numbers of its first column.
pub fn cell_alignment(column: Align, span: CellSpan, cell: &[Inline], is_header: bool) -> Align {
    match span {
        CellSpan::First(merge) if merge.columns > 1 && is_header => Align::Center,
        CellSpan::First(merge)
            if merge.columns > 1 && column == Align::End && !is_number(plain(cell).trim()) =>
        {
            Align::Start
        }
        _ => column,
    }
}

/// Cells over several columns say nothing about one of them.
fn is_numeric(table: &Table, spans: &Spans, column: usize) -> bool {
    let mut numbers = 0;
    for (at, row) in table.rows.iter().enumerate().skip(table.header_rows() - 1) {
        if spans.at(at + 1, column).columns() != 1 {
            continue;
        }
        let text = row.get(column).map(|cell| plain(cell)).unwrap_or_default();
        match text.trim() {
            "" | "-" | "–" | "—" | "n/a" | "N/A" => {}
            text if is_number(text) => numbers += 1,
            _ => return false,
        }
    }
    numbers > 0
}

/// Whether a text is a quantity, such as `1,234.50`, `-3 %` or `€ 12`. Digits with a zero before
/// them, long rows of digits and dates are none.
pub fn is_number(text: &str) -> bool {
    let is_sign = |c: char| "+-−$€£¥%±~≈ \u{a0}\u{202f}".contains(c) || c.is_whitespace();
    let digits = text.trim_matches(is_sign);
    let inside =
        |c: char| c.is_ascii_digit() || matches!(c, ',' | '.' | '\'' | '\u{a0}' | ' ' | '\u{202f}');
    let begins = digits.starts_with(|c: char| c.is_ascii_digit());
    let ends = digits.ends_with(|c: char| c.is_ascii_digit());
    let (count, points) =
        (digits.chars().filter(char::is_ascii_digit).count(), digits.matches('.').count());
    let is_code =
        digits.len() > 1 && digits.starts_with('0') && !digits[1..].starts_with(['.', ',']);
    // Groups of three, except in the last place; `25.03.2026` and `1.2.3` are no numbers.
    let groups: Vec<&str> = digits.split(|c: char| !c.is_ascii_digit()).collect();
    let middle = groups.get(1..groups.len().saturating_sub(1)).unwrap_or_default();
    let is_grouped = middle.iter().all(|group| group.len() == 3)
        && (groups.len() < 3 || (1..=3).contains(&groups[0].len()));
    let is_version = points > 1 && groups.last().is_some_and(|last| last.len() != 3);
    begins
        && ends
        && digits.chars().all(inside)
        && count <= 15
        && !is_code
        && is_grouped
        && !is_version
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(columns: usize, cell: &str) -> Table {
        let row = |text: &str| vec![vec![Inline::Text(text.into())]; columns];
        Table { header: row("Total"), rows: vec![row(cell)], ..Table::default() }
    }

    const FORM: CellForm = CellForm { padding: 12.0, widening: 1.0 };
    const SIZES: [f64; 4] = [9.5, 8.5, 7.5, 6.5];

    #[test]
    fn a_wide_table_gets_smaller_then_turns_then_is_split() {
        let rooms = Rooms { upright: 451.0, landscape: Some(698.0) };
        let fitting = |columns: usize| fit(&table(columns, "333,466"), rooms, &SIZES, FORM);
        assert_eq!((fitting(5).points, fitting(5).is_landscape), (9.5, false));
        assert!(fitting(10).points < 9.5 && !fitting(10).is_landscape, "{:?}", fitting(10));
        assert!(fitting(14).is_landscape && fitting(14).parts.is_empty());
        let parts = fitting(40).parts;
        assert!(parts.len() > 2 && !fitting(40).is_landscape);
        let shown: usize = parts.iter().map(|part| columns(part) - 1).sum();
        assert_eq!(shown, 39, "each part has the first column");
    }

    #[test]
    fn cells_over_several_columns_are_not_divided() {
        let rooms = Rooms { upright: 451.0, landscape: Some(698.0) };
        let merged = |columns: usize, merge: Merge| Table {
            merges: vec![merge],
            ..table(columns, "333,466")
        };
        let wide = Merge { row: 0, column: 3, rows: 1, columns: 4 };
        let fitting = fit(&merged(40, wide), rooms, &SIZES, FORM);
        assert!(fitting.is_tight && fitting.is_landscape && fitting.parts.is_empty());
        assert!(fitting.report(40, "page").contains("not split"));
        assert!(!fit(&merged(5, wide), rooms, &SIZES, FORM).is_tight);
        let huge = fit(&merged(MAX_COLUMNS + 1, wide), rooms, &SIZES, FORM);
        assert!(huge.has_divided_cells && huge.parts.len() > 1);
        assert!(huge.report(64, "page").contains("were divided"));
        // Cells over several rows stay in their column.
        let tall = Merge { row: 0, column: 0, rows: 2, columns: 1 };
        let parts = fit(&merged(40, tall), rooms, &SIZES, FORM).parts;
        assert!(parts.len() > 2 && parts.iter().all(|part| part.merges == [tall]));
    }

    #[test]
    fn columns_of_numbers_end_at_their_edge() {
        for number in ["12", "1,234.50", "-3 %", "€ 12", "1 234 567", "1.234.567", "+0.5", "1'000"]
        {
            assert!(is_number(number), "{number}");
        }
        for other in
            ["007", "25.03.2026", "1.2.3", "a1", "12 kg", "", "1-2", "12345678901234567890"]
        {
            assert!(!is_number(other), "{other}");
        }
        let cells = |cells: [&str; 2]| cells.map(|text| vec![Inline::Text(text.into())]).to_vec();
        let rows = vec![cells(["a", "1"]), cells(["2", "–"])];
        let table = Table { rows, ..Table::default() };
        assert_eq!(alignments(&table), [Align::Start, Align::End]);
    }
}
