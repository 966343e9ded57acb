//! The blocks of a PDF page in their order: headings, items, tables and text.

use std::collections::{BTreeMap, HashMap};

use super::{
    bidi,
    grid::{self, PagePart, TextPiece},
    labels::Labels,
    limits,
    lines::LineEdges,
    reading::ReadError,
    tables::{MERGED_LEFT, MERGED_UP},
    tag_cells::TaggedCell,
    tags::BlockKind,
    words::Words,
};

/// The text of a PDF, page by page.
#[derive(Default)]
pub struct PdfText {
    pub words: Words,
    /// Whether a part of a merged cell was marked.
    pub has_merged: bool,
    /// The last table, which may continue on the next page.
    last_table: Option<ContinuedTable>,
}

/// What the rest of a table on the next page needs.
struct ContinuedTable {
    /// The number of the table.
    number: usize,
    header: Vec<Vec<String>>,
    /// The words of the header, sorted.
    header_words: Vec<String>,
    /// The merged cells that reach into the rows that follow.
    reaching: Vec<TaggedCell>,
}

impl ContinuedTable {
    fn of(number: usize, header: Vec<Vec<String>>) -> Self {
        let cells = header.iter().flatten();
        let cells = cells.filter(|cell| !matches!(cell.as_str(), MERGED_LEFT | MERGED_UP));
        let words = cells.flat_map(|cell| cell.split_whitespace());
        let mut header_words: Vec<String> = words.map(str::to_owned).collect();
        header_words.sort_unstable();
        Self { number, header, header_words, reaching: Vec::new() }
    }

    /// The pieces without those at the end that print the header again.
    fn without_header<'p>(&self, pieces: &'p [TextPiece]) -> &'p [TextPiece] {
        let (mut words, mut from) = (Vec::new(), pieces.len());
        while from > 0 && words.len() < self.header_words.len() {
            from -= 1;
            words.extend(pieces[from].text.split_whitespace());
        }
        words.sort_unstable();
        if words == self.header_words { &pieces[..from] } else { pieces }
    }
}

/// What consecutive pieces belong to.
#[derive(PartialEq)]
enum PageBlock {
    /// A heading or an item.
    Block(usize),
    Table(usize),
    Text,
}

fn place(piece: &TextPiece) -> PageBlock {
    match (piece.cell, piece.block) {
        (Some(cell), _) => PageBlock::Table(cell.table),
        (None, Some(block)) => PageBlock::Block(block.number),
        (None, None) => PageBlock::Text,
    }
}

impl PdfText {
    /// Writes a page.
    pub fn add(&mut self, pieces: &[TextPiece], labels: &mut Labels) -> Result<(), ReadError> {
        let edges = LineEdges::of(pieces);
        // The pieces of a table may be apart.
        let mut tables: HashMap<usize, Vec<&TextPiece>> = HashMap::new();
        for piece in pieces {
            if let Some(cell) = piece.cell {
                tables.entry(cell.table).or_default().push(piece);
            }
        }
        let mut blocks = pieces.chunk_by(|one, next| place(one) == place(next)).peekable();
        while let Some(pieces) = blocks.next() {
            match (place(&pieces[0]), pieces[0].block.map(|block| block.kind)) {
                (PageBlock::Table(table), _) => {
                    if let Some(pieces) = tables.remove(&table) {
                        self.table(&pieces, labels)?;
                    }
                }
                // The page itself is a heading of the second level.
                (_, Some(BlockKind::Heading(level))) => {
                    self.words.heading(level + 2, &line(pieces));
                }
                (PageBlock::Block(block), Some(BlockKind::Item { depth, number })) => {
                    let item = labels.item(block, number, line(pieces));
                    self.words.item(depth, &item.mark, &item.text);
                }
                _ => {
                    // The header that is printed again before the rest of a table has no tags.
                    let next = blocks.peek().and_then(|next| next[0].cell);
                    let next = next.filter(|cell| tables.contains_key(&cell.table));
                    let continued = self.last_table.as_ref();
                    let continued = continued
                        .filter(|table| next.is_some_and(|cell| cell.table == table.number));
                    let pieces = continued.map_or(pieces, |table| table.without_header(pieces));
                    self.layout(pieces, &edges)?;
                }
            }
        }
        Ok(())
    }

    /// The content of pieces without tags, by their positions.
    fn layout(&mut self, pieces: &[TextPiece], edges: &LineEdges) -> Result<(), ReadError> {
        for part in grid::parts(pieces, edges) {
            match part {
                PagePart::Text(text) => self.words.paragraph(&text),
                PagePart::Item(item) => self.words.item(item.depth, &item.mark, &item.text),
                PagePart::Table(rows) => self.words.table(&rows)?,
            }
        }
        Ok(())
    }

    /// Writes the rows of a tagged table that are on this page, below its header.
    fn table(&mut self, pieces: &[&TextPiece], labels: &mut Labels) -> Result<(), ReadError> {
        let mut cells: BTreeMap<(usize, usize), (TaggedCell, Vec<TextPiece>)> = BTreeMap::new();
        for piece in pieces {
            let Some(cell) = piece.cell else { continue };
            let found = cells.entry((cell.row, cell.column)).or_insert((cell, Vec::new()));
            found.1.push((*piece).clone());
        }
        let Some(number) = cells.values().next().map(|(cell, _)| cell.table) else {
            return Ok(());
        };
        let mut rows: BTreeMap<usize, BTreeMap<usize, String>> = BTreeMap::new();
        for ((row, column), (_, pieces)) in &cells {
            rows.entry(*row).or_default().insert(*column, cell_text(pieces, labels));
        }
        let continued = self.last_table.take().filter(|table| table.number == number);
        let mut spans = continued.as_ref().map_or(Vec::new(), |table| table.reaching.clone());
        spans.retain(|cell| !cells.contains_key(&(cell.row, cell.column)));
        spans.extend(cells.values().map(|(cell, _)| *cell));
        let columns = spans.iter().map(|cell| cell.column + cell.columns).max().unwrap_or(0);
        limits::within((columns * rows.len()) as u64, limits::CELLS as u64, "table cells")?;
        for cell in &spans {
            self.mark_merged(*cell, &mut rows);
        }
        let last = rows.last_key_value().map_or(0, |(row, _)| *row);
        spans.retain(|cell| cell.row + cell.rows > last + 1);
        // The header ends before the first cell that is none of it.
        let body = cells.values().find(|(cell, _)| !cell.is_header);
        let height = rows.range(..body.map_or(0, |(cell, _)| cell.row)).count();
        let line = |mut row: BTreeMap<usize, String>| {
            (0..columns).map(|column| row.remove(&column).unwrap_or_default()).collect()
        };
        let mut rows: Vec<Vec<String>> = rows.into_values().map(line).collect();
        let table = if let Some(table) = continued {
            rows.splice(0..0, table.header.iter().cloned());
            table
        } else {
            ContinuedTable::of(number, rows[..height].to_vec())
        };
        self.last_table = Some(ContinuedTable { reaching: spans, ..table });
        match rows.as_slice() {
            [row] if row.len() == 1 => self.words.text(&row[0]),
            rows => self.words.table(rows)?,
        }
        Ok(())
    }

    /// Marks the parts of a merged cell in the rows that have text.
    fn mark_merged(
        &mut self,
        cell: TaggedCell,
        rows: &mut BTreeMap<usize, BTreeMap<usize, String>>,
    ) {
        let TaggedCell { row: first, column, rows: height, columns: width, .. } = cell;
        if (width, height) == (1, 1) {
            return;
        }
        self.has_merged = true;
        for (row, cells) in rows.range_mut(first..first.saturating_add(height)) {
            for part in column..column + width {
                if (*row, part) != (first, column) {
                    let mark = if *row == first { MERGED_LEFT } else { MERGED_UP };
                    cells.entry(part).or_insert_with(|| mark.to_owned());
                }
            }
        }
    }
}

/// The text of a cell. Its paragraphs, items and rows of inner tables are lines.
fn cell_text(pieces: &[TextPiece], labels: &mut Labels) -> String {
    let line_of = |piece: &TextPiece| (piece.block, piece.cell.map(|cell| cell.line));
    let lines = pieces.chunk_by(|one, next| line_of(one) == line_of(next));
    let lines = lines.map(|pieces| match pieces[0].block.map(|block| (block.number, block.kind)) {
        Some((block, BlockKind::Item { number, .. })) => {
            let item = labels.item(block, number, line(pieces));
            format!("{} {}", item.mark.written(), item.text)
        }
        _ => line(pieces),
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// The text of a heading, an item or a cell on one line.
fn line(pieces: &[TextPiece]) -> String {
    let pieces = grid::in_order(pieces);
    let words = pieces.iter().flat_map(|piece| piece.text.split_whitespace());
    words.collect::<Vec<_>>().join(" ")
}

/// Brings right-to-left text into its order.
pub fn order(pieces: &mut [TextPiece]) {
    for piece in pieces {
        piece.text = bidi::logical(&bidi::without_controls(&piece.text));
    }
}
