//! Tables in cells, with merged and empty cells in every position around them and in them.

use std::fmt::Write as _;

use renderers::read;

use super::package;

/// A table of cells that each format can write.
struct SampleTable {
    height: usize,
    width: usize,
    /// The cells that no merged cell covers.
    cells: Vec<SampleCell>,
}

struct SampleCell {
    row: usize,
    column: usize,
    rows: usize,
    columns: usize,
    contents: Vec<SampleContent>,
}

enum SampleContent {
    Text(String),
    Table(SampleTable),
}

/// What is at a position of a table.
enum Position<'t> {
    Cell(&'t SampleCell),
    /// The first column of a merged cell, below its first row.
    Below(&'t SampleCell),
    /// Another part of a merged cell.
    Part {
        is_first_row: bool,
    },
}

impl SampleTable {
    /// A table with a text in each cell, and merged cells.
    fn of(height: usize, width: usize, merged: &[Merged]) -> Self {
        let mut cells = Vec::new();
        for row in 0..height {
            for column in 0..width {
                let covering = merged.iter().find(|merged| merged.covers(row, column));
                let (rows, columns) =
                    covering.map_or((1, 1), |merged| (merged.rows, merged.columns));
                if covering.is_none_or(|merged| (merged.row, merged.column) == (row, column)) {
                    let contents = vec![SampleContent::Text(format!("r{row}c{column}"))];
                    cells.push(SampleCell { row, column, rows, columns, contents });
                }
            }
        }
        Self { height, width, cells }
    }

    fn cell(&mut self, row: usize, column: usize) -> Option<&mut SampleCell> {
        self.cells.iter_mut().find(|cell| (cell.row, cell.column) == (row, column))
    }

    fn without(mut self, row: usize, column: usize) -> Self {
        self.cell(row, column).expect("it is no part of another").contents.clear();
        self
    }

    fn at(&self, row: usize, column: usize) -> Position<'_> {
        let covers = |cell: &&SampleCell| {
            (cell.row..cell.row + cell.rows).contains(&row)
                && (cell.column..cell.column + cell.columns).contains(&column)
        };
        let cell = self.cells.iter().find(covers).expect("each position has a cell");
        match (cell.row == row, cell.column == column) {
            (true, true) => Position::Cell(cell),
            (false, true) => Position::Below(cell),
            (is_first_row, false) => Position::Part { is_first_row },
        }
    }

    /// The table in a format: the texts of its positions in rows.
    fn write(&self, position: impl Fn(Position<'_>) -> String, row: [&str; 2]) -> String {
        let mut text = String::new();
        for at in 0..self.height {
            let cells = (0..self.width).map(|column| position(self.at(at, column)));
            let cells: String = cells.collect();
            write!(text, "{}{cells}{}", row[0], row[1]).expect("a string takes everything");
        }
        text
    }
}

impl SampleContent {
    fn words(&self) -> Vec<&str> {
        match self {
            Self::Text(text) => vec![text],
            Self::Table(table) => table.cells.iter().flat_map(SampleCell::words).collect(),
        }
    }
}

impl SampleCell {
    /// All texts, in order.
    fn words(&self) -> Vec<&str> {
        self.contents.iter().flat_map(SampleContent::words).collect()
    }

    fn write(
        &self,
        text: impl Fn(&str) -> String,
        table: impl Fn(&SampleTable) -> String,
    ) -> String {
        let write = |content: &SampleContent| match content {
            SampleContent::Text(words) => text(words),
            SampleContent::Table(inner) => table(inner),
        };
        self.contents.iter().map(write).collect()
    }
}

#[derive(Clone, Copy)]
struct Merged {
    row: usize,
    column: usize,
    rows: usize,
    columns: usize,
}

impl Merged {
    fn covers(self, row: usize, column: usize) -> bool {
        (self.row..self.row + self.rows).contains(&row)
            && (self.column..self.column + self.columns).contains(&column)
    }
}

/// The tables of at most one merged cell in a table of this size.
fn merges(height: usize, width: usize) -> Vec<Vec<Merged>> {
    let mut merges = vec![Vec::new()];
    for (rows, columns) in [(1, 2), (2, 1), (2, 2)] {
        for row in 0..=height - rows {
            for column in 0..=width - columns {
                merges.push(vec![Merged { row, column, rows, columns }]);
            }
        }
    }
    merges
}

/// Cells with tables that are full, merged, empty in some cells or in all of them, and nested again.
fn contents() -> Vec<Vec<SampleContent>> {
    let text = |text: &str| SampleContent::Text(text.to_owned());
    let mut contents = Vec::new();
    for (at, merged) in merges(2, 2).iter().enumerate() {
        let table = || SampleTable::of(2, 2, merged);
        contents.push(vec![text("before"), SampleContent::Table(table()), text("after")]);
        let positions: Vec<_> = table().cells.iter().map(|cell| (cell.row, cell.column)).collect();
        for (row, column) in positions {
            let table = SampleContent::Table(table().without(row, column));
            contents.push(if at % 2 == 1 { vec![text("before"), table] } else { vec![table] });
        }
    }
    let empty = SampleTable::of(1, 2, &[]).without(0, 0).without(0, 1);
    contents.push(vec![text("before"), SampleContent::Table(empty), text("after")]);
    let mut outer = SampleTable::of(1, 2, &[]);
    let deep = SampleContent::Table(SampleTable::of(2, 2, &[]).without(1, 1));
    outer.cell(0, 0).expect("it is there").contents.push(deep);
    contents.push(vec![SampleContent::Table(outer), text("after")]);
    contents
}

fn docx(table: &SampleTable) -> String {
    let paragraph = |text: &str| format!("<w:p><w:r><w:t>{text}</w:t></w:r></w:p>");
    let cell = |cell: &SampleCell, merge: &str, contents: &str| {
        let span = format!("<w:gridSpan w:val='{}'/>", cell.columns);
        let merge = if cell.rows > 1 { merge } else { "" };
        format!("<w:tc><w:tcPr>{span}{merge}</w:tcPr>{contents}<w:p/></w:tc>")
    };
    let position = |position: Position<'_>| match position {
        Position::Cell(it) => cell(it, "<w:vMerge w:val='restart'/>", &it.write(paragraph, docx)),
        Position::Below(it) => cell(it, "<w:vMerge/>", ""),
        Position::Part { .. } => String::new(),
    };
    format!("<w:tbl>{}</w:tbl>", table.write(position, ["<w:tr>", "</w:tr>"]))
}

fn odt(table: &SampleTable) -> String {
    let paragraph = |text: &str| format!("<t:p>{text}</t:p>");
    let position = |position: Position<'_>| match position {
        Position::Cell(it) => format!(
            "<table:table-cell table:number-columns-spanned='{}' table:number-rows-spanned='{}'>{}\
             <t:p/></table:table-cell>",
            it.columns,
            it.rows,
            it.write(paragraph, odt)
        ),
        _ => "<table:covered-table-cell/>".to_owned(),
    };
    let rows = table.write(position, ["<table:table-row>", "</table:table-row>"]);
    format!("<table:table>{rows}</table:table>")
}

fn html(table: &SampleTable) -> String {
    let paragraph = |text: &str| format!("<p>{text}</p>");
    let position = |position: Position<'_>| match position {
        Position::Cell(it) => format!(
            "<td colspan={} rowspan={}>{}</td>",
            it.columns,
            it.rows,
            it.write(paragraph, html)
        ),
        _ => String::new(),
    };
    format!("<table>{}</table>", table.write(position, ["<tr>", "</tr>"]))
}

fn rtf(table: &SampleTable) -> String {
    rtf_at(1, table)
}

fn rtf_at(depth: usize, table: &SampleTable) -> String {
    let paragraph = format!("\\pard\\intbl\\itap{depth} ");
    let text = |text: &str| format!("{paragraph}{text}\\par");
    let end = if depth == 1 { "\\cell" } else { "\\nestcell" };
    let position = |position: Position<'_>| match position {
        Position::Cell(it) => {
            let contents = it.write(text, |inner| rtf_at(depth + 1, inner));
            format!("{contents}{paragraph}{end}")
        }
        _ => format!("{paragraph}{end}"),
    };
    let row = |row: usize| {
        let positions = (0..table.width).map(|column| table.at(row, column));
        let cells: String = positions.map(position).collect();
        let properties = rtf_row(table, row);
        if depth == 1 {
            return format!("{properties}{cells}\\row\n");
        }
        let end = format!("{{\\*\\nesttableprops{properties}\\nestrow}}{{\\nonesttables\\par}}");
        format!("{cells}{end}\n")
    };
    (0..table.height).map(row).collect()
}

/// The properties of a row.
fn rtf_row(table: &SampleTable, row: usize) -> String {
    let when = |is: bool, word: &'static str| if is { word } else { "" };
    let mut properties = "\\trowd".to_owned();
    for column in 0..table.width {
        let words = match table.at(row, column) {
            Position::Cell(it) => [when(it.columns > 1, "\\clmgf"), when(it.rows > 1, "\\clvmgf")],
            Position::Below(it) => [when(it.columns > 1, "\\clmgf"), "\\clvmrg"],
            Position::Part { is_first_row } => ["\\clmrg", when(!is_first_row, "\\clvmrg")],
        };
        let right = 1000 * (column + 1);
        write!(properties, "{}\\cellx{right}", words.concat()).expect("a string takes everything");
    }
    properties
}

/// A file with the table, and its name.
fn file(format: &str, table: &SampleTable) -> Vec<u8> {
    match format {
        "docx" => {
            let body = docx(table);
            let document = format!("<w:document xmlns:w='w'><w:body>{body}</w:body></w:document>");
            package(&[("word/document.xml", &document)])
        }
        "odt" => {
            let document =
                format!("<o:d xmlns:o='o' xmlns:t='t' xmlns:table='b'>{}</o:d>", odt(table));
            let kind = "application/vnd.oasis.opendocument.text";
            package(&[("mimetype", kind), ("content.xml", &document)])
        }
        "rtf" => format!("{{\\rtf1\\ansi {}\\pard\\par}}", rtf(table)).into_bytes(),
        _ => format!("<!DOCTYPE html><html><body>{}</body></html>", html(table)).into_bytes(),
    }
}

/// The cells of a Markdown table, without empty ones at the end of rows.
fn grid(markdown: &str) -> Vec<Vec<String>> {
    let rows = markdown.lines().filter(|line| line.starts_with('|') && !line.starts_with("| ---"));
    rows.map(|row| {
        let row = row.trim_matches('|').split(" | ");
        let mut cells: Vec<_> = row.map(|cell| cell.trim().to_owned()).collect();
        cells.truncate(cells.iter().rposition(|cell| !cell.is_empty()).map_or(0, |last| last + 1));
        cells
    })
    .collect()
}

/// The cells as they should be read.
fn expected(table: &SampleTable) -> Vec<Vec<String>> {
    let text = |position| match position {
        Position::Cell(cell) => cell.words().join(" "),
        Position::Part { is_first_row: true } => "←".to_owned(),
        Position::Part { .. } | Position::Below(_) => "↑".to_owned(),
    };
    let rows = (0..table.height).map(|row| {
        let cells = (0..table.width).map(|column| text(table.at(row, column)));
        let mut cells: Vec<String> = cells.collect();
        cells.truncate(cells.iter().rposition(|cell| !cell.is_empty()).map_or(0, |last| last + 1));
        cells
    });
    rows.collect()
}

/// The words of a cell, without what separates the rows and cells of a table in it.
fn words_of(cell: &str) -> String {
    let cell = cell.replace("<br>", " ").replace([';', '←', '↑'], " ");
    cell.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Reads a table whose cell at this position has these contents.
fn check(table: &SampleTable, row: usize, column: usize) {
    for format in ["docx", "odt", "rtf", "html"] {
        let name = format!("a.{format}");
        let read = read::to_markdown(&name, &file(format, table)).expect("it is a document");
        let mut found = grid(&read.markdown);
        if let Some(cell) = found.get_mut(row).and_then(|row| row.get_mut(column)) {
            *cell = words_of(cell);
        }
        assert_eq!(found, expected(table), "{name}: {}", read.markdown);
    }
}

/// The cells around a table in a cell keep their places, spans and texts, and the cell has all words
/// of the table. Each position in each table has some of the contents, in turn.
#[test]
fn a_table_in_a_cell_changes_no_cell_around_it() {
    const STEP: usize = 12;
    let mut turn = 0;
    for merged in merges(3, 3) {
        for (row, column) in (0..9).map(|at| (at / 3, at % 3)) {
            turn += 1;
            for contents in contents().into_iter().skip(turn % STEP).step_by(STEP) {
                let mut table = SampleTable::of(3, 3, &merged);
                let Some(cell) = table.cell(row, column) else { continue };
                cell.contents = contents;
                check(&table, row, column);
                let is_other = |cell: &&mut SampleCell| (cell.row, cell.column) != (row, column);
                table.cells.iter_mut().filter(is_other).for_each(|cell| cell.contents.clear());
                check(&table, row, column);
            }
        }
    }
}
