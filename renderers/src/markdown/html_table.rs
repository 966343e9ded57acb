//! HTML tables with merged cells.

use super::html::{Tag, TextAlign};
use super::reader::Reader;
use super::tags::{Open, is_apart};
use crate::budgets::{PAGE_COLUMNS, TABLE_CELLS};
use crate::document::{Align, Block, Inline, Merge, Table};

/// The rows read so far.
#[derive(Default)]
pub struct HtmlTable {
    rows: Vec<Vec<HtmlCell>>,
    /// Whether the text belongs to the last cell of the last row.
    in_cell: bool,
    /// Whether the current rows are in a `thead`.
    in_head: bool,
    /// Tables inside the current cell.
    inner: usize,
    /// The alignment of the current row.
    row_align: Option<TextAlign>,
    /// Whether the text is that of a `pre` in a cell.
    in_pre: bool,
    in_caption: bool,
}

struct HtmlCell {
    content: Vec<Inline>,
    rows: usize,
    columns: usize,
    align: Option<TextAlign>,
    is_header: bool,
}

impl HtmlTable {
    /// Whether a table in the current cell is open.
    pub fn has_inner(&self) -> bool {
        self.inner > 0
    }

    /// Whether the line ends of the text are kept.
    pub fn is_verbatim(&self) -> bool {
        self.in_pre && self.in_cell
    }

    /// Whether the caption begins or ends before or with this tag.
    pub fn turns_caption(&self, tag: &Tag) -> bool {
        const PARTS: [&str; 8] = ["thead", "tbody", "tfoot", "tr", "td", "th", "colgroup", "table"];
        let name = tag.name.as_str();
        if self.inner > 0 || self.in_cell {
            return false;
        }
        let is_turn = name == "caption" && tag.closes == self.in_caption;
        is_turn || (self.in_caption && PARTS.contains(&name))
    }

    /// Begins or ends the caption. Returns whether the text so far is its text.
    pub fn turn_caption(&mut self) -> bool {
        let ended = self.in_caption;
        self.in_caption = !ended;
        ended
    }

    /// Handles a tag of this table; `false` if the tag is not specific to tables or cells.
    pub fn tag(&mut self, reader: &mut Reader, tag: &Tag, open: &mut Open) -> bool {
        let name = tag.name.as_str();
        if self.inner > 0 {
            return self.inner_tag(tag, open);
        }
        if matches!(name, "thead" | "tbody" | "tfoot") {
            self.in_head = name == "thead" && !tag.closes;
        }
        match (name, tag.closes) {
            ("table", false) if self.in_cell => {
                self.inner = 1;
                open.line();
            }
            ("table", false) => return false,
            ("tr", false) => {
                self.end_cell(reader, open);
                self.row_align = tag.align();
                self.rows.push(Vec::new());
            }
            ("td" | "th", false) => {
                self.end_cell(reader, open);
                self.begin_cell(tag);
            }
            ("td" | "th" | "tr" | "thead" | "tbody" | "tfoot", true) => {
                self.end_cell(reader, open);
            }
            ("table", true) | ("thead" | "tbody" | "tfoot" | "colgroup" | "col", _) => {}
            _ if !self.in_cell => return false,
            ("li", false) => {
                open.line();
                open.push(Inline::Text("• ".to_owned()));
            }
            (name, closes) if is_apart(name) => {
                if name == "pre" {
                    self.in_pre = !closes;
                }
                if let Some(cell) = self.rows.last_mut().and_then(|row| row.last_mut()) {
                    cell.align = cell.align.or(tag.align());
                }
                open.line();
            }
            _ => return false,
        }
        true
    }

    /// The cells of a table inside a cell are words of that cell.
    fn inner_tag(&mut self, tag: &Tag, open: &mut Open) -> bool {
        match (tag.name.as_str(), tag.closes) {
            ("table", false) => self.inner += 1,
            ("table", true) => self.inner -= 1,
            ("tr", false) => open.line(),
            ("td" | "th", false) => open.space(),
            ("td" | "th" | "tr" | "thead" | "tbody" | "tfoot", _) => {}
            (name, _) if is_apart(name) => open.space(),
            _ => return false,
        }
        true
    }

    fn begin_cell(&mut self, tag: &Tag) {
        let span = |name: &str, limit: usize| {
            let value = tag.attribute(name).and_then(|value| value.trim().parse().ok());
            value.unwrap_or(1_usize).clamp(1, limit)
        };
        let (rows, columns) = (span("rowspan", TABLE_CELLS), span("colspan", PAGE_COLUMNS));
        let is_header = self.in_head || tag.name == "th";
        let align = tag.align().or(self.row_align);
        let cell = HtmlCell { content: Vec::new(), rows, columns, align, is_header };
        match self.rows.last_mut() {
            Some(row) => row.push(cell),
            None => self.rows.push(vec![cell]),
        }
        self.in_cell = true;
    }

    /// Ends the current cell. Text outside the cells becomes a paragraph above the table.
    pub fn end_cell(&mut self, reader: &mut Reader, open: &mut Open) {
        if !self.in_cell {
            return;
        }
        (self.in_cell, self.in_pre) = (false, false);
        let content = std::mem::take(open).close_block(reader);
        if let Some(cell) = self.rows.last_mut().and_then(|row| row.last_mut()) {
            cell.content = content;
        }
    }

    /// The table, or its cells as paragraphs if it exceeds a limit.
    pub fn blocks(self, reader: &mut Reader) -> Vec<Block> {
        let Self { mut rows, .. } = self;
        rows.retain(|row| !row.is_empty());
        if rows.is_empty() {
            return Vec::new();
        }
        let columns = columns(&rows);
        let cells = columns.saturating_mul(rows.len());
        if columns > PAGE_COLUMNS || cells.saturating_add(reader.html_cells) > TABLE_CELLS {
            reader.losses.other(format!(
                "An HTML table of {} rows and {columns} columns is too large; its cells are shown \
                 as paragraphs.",
                rows.len()
            ));
            let cells = rows.into_iter().flatten().map(|cell| cell.content);
            return cells.filter(|c| !c.is_empty()).map(Block::Paragraph).collect();
        }
        reader.html_cells += cells;
        if rows.iter().flatten().any(|cell| cell.align == Some(TextAlign::Justified)) {
            reader.losses.other("Text in cells of HTML tables is not justified.".to_owned());
        }
        vec![Block::Table(placed(reader, &rows, columns))]
    }
}

/// The number of columns, including those that cells of earlier rows extend into.
fn columns(rows: &[Vec<HtmlCell>]) -> usize {
    let widths = rows.iter().map(|row| row.iter().map(|cell| cell.columns).sum::<usize>());
    let own = widths.max().unwrap_or(0);
    // Cells over several rows push the cells below them to the right.
    let mut covered: Vec<usize> = vec![0; own];
    let mut count = own;
    for row in rows {
        let taken = covered.iter().filter(|rows| **rows > 0).count();
        count = count.max(taken + row.iter().map(|cell| cell.columns).sum::<usize>());
        if count > PAGE_COLUMNS {
            return count;
        }
        covered.resize(count.max(covered.len()), 0);
        place(row, &mut covered, |_, _| {});
    }
    count.max(covered.len())
}

/// Calls `see` for each cell with its column, and records the columns that stay covered below.
fn place<'c>(
    row: &'c [HtmlCell],
    covered: &mut Vec<usize>,
    mut see: impl FnMut(usize, &'c HtmlCell),
) {
    let mut at = 0;
    let before: Vec<bool> = covered.iter().map(|rows| *rows > 0).collect();
    for rows in covered.iter_mut() {
        *rows = rows.saturating_sub(1);
    }
    for cell in row {
        while before.get(at) == Some(&true) {
            at += 1;
        }
        see(at, cell);
        let end = at + cell.columns;
        if covered.len() < end {
            covered.resize(end, 0);
        }
        for rows in &mut covered[at..end] {
            *rows = (*rows).max(cell.rows - 1);
        }
        at = end;
    }
}

/// The number of rows at the top that have only header cells. A table is not all header.
fn header_rows(rows: &[Vec<HtmlCell>]) -> usize {
    let is_header = |row: &&Vec<HtmlCell>| row.iter().all(|cell| cell.is_header);
    let count = rows.iter().take_while(is_header).count();
    if count < rows.len() { count } else { 1 }
}

/// The table with each cell in its row and column; covered cells are empty.
fn placed(reader: &mut Reader, rows: &[Vec<HtmlCell>], columns: usize) -> Table {
    let count = rows.len();
    let (mut covered, mut merges) = (vec![0; columns], Vec::new());
    let mut taken = vec![vec![false; columns]; count];
    let mut lines = Vec::with_capacity(count);
    let more_header_rows = header_rows(rows).saturating_sub(1);
    let mut aligns = vec![ColumnAlign::default(); columns];
    for (at, row) in rows.iter().enumerate() {
        let mut line = vec![Vec::new(); columns];
        place(row, &mut covered, |column, cell| {
            if column >= columns {
                return;
            }
            line[column].clone_from(&cell.content);
            if cell.columns == 1 {
                aligns[column].see(cell.align, at <= more_header_rows);
            }
            let merge = Merge {
                row: at,
                column,
                rows: cell.rows.min(count - at),
                columns: cell.columns.min(columns - column),
            };
            // Cells that overlap, which a browser would draw over one another, are not merged.
            let is_free = |taken: &[Vec<bool>]| merge.cells().all(|(row, at)| !taken[row][at]);
            if merge.rows * merge.columns > 1 && is_free(&taken) {
                merge.cells().for_each(|(row, at)| taken[row][at] = true);
                merges.push(merge);
            } else {
                taken[at][column] = true;
            }
        });
        lines.push(line);
    }
    if aligns.iter().any(ColumnAlign::is_mixed) {
        let sentence = "Cells of an HTML table have the alignment of their column.";
        reader.losses.other(sentence.to_owned());
    }
    let align = aligns.iter().map(ColumnAlign::align).collect();
    let header = lines.remove(0);
    Table { align, header, rows: lines, more_header_rows, merges, given: None }
}

/// The alignment of the cells of a column.
#[derive(Clone, Default)]
struct ColumnAlign {
    header: Option<Align>,
    body: Option<Align>,
    differs: bool,
}

impl ColumnAlign {
    fn see(&mut self, align: Option<TextAlign>, is_header: bool) {
        let align = match align {
            Some(TextAlign::Model(align)) => Some(align),
            Some(TextAlign::Justified) => Some(Align::Start),
            None => None,
        };
        if is_header {
            self.header = self.header.or(align);
            return;
        }
        let align = align.unwrap_or_default();
        self.differs |= self.body.is_some_and(|body| body != align);
        self.body = self.body.or(Some(align));
    }

    fn align(&self) -> Align {
        self.body.or(self.header).filter(|_| !self.differs).unwrap_or_default()
    }

    /// Whether a cell loses its alignment.
    fn is_mixed(&self) -> bool {
        self.differs || self.header.is_some_and(|header| header != self.align())
    }
}

#[cfg(test)]
mod tests {
    use crate::document::{Block, plain_text};
    use crate::markdown;
    use crate::package::text::flat;

    #[test]
    fn captions_of_html_tables_are_captions() {
        for [html, wanted] in [
            ["<table><caption>Rivers</caption><tr><th>x</table>", "Rivers / x"],
            [
                "<table><caption>Rivers {#tbl:a}<tr><th>x</table>\n\n@tbl:a",
                "Table 1: Rivers / x / Table 1",
            ],
            ["<ul><li><table><caption>In</caption><tr><th>x</table></ul>", "In / x"],
            ["<table><caption></caption><tr><th>x</table>", "x"],
        ] {
            let document = markdown::read(html).unwrap();
            assert_eq!(flat(&document.blocks).join(" / "), wanted, "{html}");
            assert_eq!(document.warnings, Vec::<&str>::new(), "{html}");
        }
    }

    #[test]
    fn preformatted_text_in_cells_keeps_its_lines() {
        let html = "<table><tr><th>a<tr><td>b<pre>x\n  y\n</pre>c\nd</table>";
        let document = markdown::read(html).unwrap();
        let [Block::Table(table)] = &document.blocks[..] else { panic!("{document:?}") };
        assert_eq!(plain_text(&table.rows[0][0]), "b\nx\n  y\nc d");
    }
}
