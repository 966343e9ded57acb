//! Paragraphs, marks, lists and tables as Markdown. Words stay as they are: what reads this wants
//! to quote them.

use super::{limits, reading::ReadError};

/// A document as it grows.
#[derive(Debug, Default)]
pub struct Words {
    text: String,
    /// Whether the last block was an entry of a list, which the next one follows closely.
    in_list: bool,
    cells: usize,
}

/// How a run of text looks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Marks {
    pub strong: bool,
    pub emphasis: bool,
    pub strike: bool,
}

/// Text of one paragraph, with its marks.
#[derive(Debug, Default)]
pub struct Line {
    text: String,
    marks: Marks,
}

impl Line {
    pub fn push(&mut self, text: &str, marks: Marks) {
        let bare = text.trim();
        if bare.is_empty() {
            self.text.push_str(text);
            return;
        }
        if marks == self.marks {
            self.text.push_str(text);
            return;
        }
        self.close();
        let (lead, rest) = text.split_at(text.len() - text.trim_start().len());
        self.text.extend([lead, &opening(marks), rest]);
        self.marks = marks;
    }

    /// As it is, without marks: a break, a picture, a note's number.
    pub fn push_plain(&mut self, text: &str) {
        self.close();
        self.text.push_str(text);
    }

    fn close(&mut self) {
        let end = self.text.trim_end().len();
        let closing: String = opening(self.marks).chars().rev().collect();
        self.text.insert_str(end, &closing);
        self.marks = Marks::default();
    }

    pub fn finish(mut self) -> String {
        self.close();
        self.text.trim().to_owned()
    }
}

fn opening(marks: Marks) -> String {
    let parts = [(marks.strike, "~~"), (marks.strong, "**"), (marks.emphasis, "*")];
    parts.iter().filter(|(is, _)| *is).map(|(_, mark)| *mark).collect()
}

impl Words {
    pub fn heading(&mut self, level: usize, text: &str) {
        if !text.is_empty() {
            self.block(&format!("{} {}", "#".repeat(level.clamp(1, 6)), text.replace('\n', " ")));
        }
    }

    pub fn paragraph(&mut self, text: &str) {
        if !text.is_empty() {
            self.block(text);
        }
    }

    /// Headers and footers, each once.
    pub fn edges(&mut self, texts: &[String]) {
        if !texts.is_empty() {
            self.heading(2, "Headers and footers");
        }
        for text in texts {
            self.paragraph(text);
        }
    }

    /// An entry of a list, `depth` from 0.
    pub fn entry(&mut self, depth: usize, numbered: bool, text: &str) {
        if text.is_empty() {
            return;
        }
        let mark = if numbered { "1. " } else { "- " };
        let indent = "  ".repeat(depth.min(9) * if numbered { 2 } else { 1 });
        let more = format!("\n{indent}  ");
        if !self.in_list {
            self.gap();
        }
        self.text.extend([&indent, mark, &text.replace('\n', &more), "\n"]);
        self.in_list = true;
    }

    /// The first row is the header. Rows may be of different length.
    pub fn table(&mut self, rows: &[Vec<String>]) -> Result<(), ReadError> {
        let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
        if columns == 0 {
            return Ok(());
        }
        limits::within(columns as u64, limits::COLUMNS as u64, "columns in a table")?;
        self.cells += columns * rows.len();
        limits::within(self.cells as u64, limits::CELLS as u64, "table cells")?;
        let line = |row: &[String]| {
            let cell = |at: usize| row.get(at).map(|text| in_cell(text)).unwrap_or_default();
            format!("| {} |\n", (0..columns).map(cell).collect::<Vec<_>>().join(" | "))
        };
        let mut table = line(&rows[0]);
        table.extend(["|", &" --- |".repeat(columns), "\n"]);
        table.extend(rows[1..].iter().map(|row| line(row)));
        self.block(table.trim_end());
        Ok(())
    }

    pub fn is_empty(&self) -> bool {
        self.text.trim().is_empty()
    }

    pub fn finish(self) -> String {
        self.text.trim_matches('\n').to_owned()
    }

    fn block(&mut self, text: &str) {
        self.gap();
        self.text.push_str(text);
        self.text.push('\n');
        self.in_list = false;
    }

    fn gap(&mut self) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
    }
}

fn in_cell(text: &str) -> String {
    text.trim().replace('|', "\\|").replace("\r\n", "<br>").replace(['\n', '\r'], "<br>")
}

/// Tables inside one another, as they are read: the outermost becomes a table, those in its cells
/// become lines.
#[derive(Debug, Default)]
pub struct Tables {
    open: Vec<Table>,
    /// Bytes that stand there because something else is repeated.
    repeated: usize,
}

#[derive(Debug, Default)]
struct Table {
    rows: Vec<Vec<String>>,
    cell: Option<String>,
    /// How often the row stands that is open.
    row_count: usize,
}

impl Tables {
    pub fn open(&mut self) {
        self.open.push(Table::default());
    }

    pub fn row(&mut self) {
        if let Some(table) = self.open.last_mut() {
            table.rows.push(Vec::new());
        }
    }

    pub fn cell(&mut self) {
        if let Some(table) = self.open.last_mut() {
            table.cell = Some(String::new());
        }
    }

    /// Puts the cell down, with `wide - 1` empty ones behind it.
    pub fn end_cell(&mut self, wide: usize) {
        if let Some(table) = self.open.last_mut()
            && let (Some(text), Some(row)) = (table.cell.take(), table.rows.last_mut())
        {
            row.push(text);
            self.pad(wide.saturating_sub(1));
        }
    }

    /// Lets the last cell stand `count` times.
    pub fn repeat_cell(&mut self, count: usize) -> Result<(), ReadError> {
        let Some(row) = self.open.last_mut().and_then(|table| table.rows.last_mut()) else {
            return Ok(());
        };
        let more = count.saturating_sub(1).min(limits::COLUMNS.saturating_sub(row.len()));
        let Some(cell) = row.last().filter(|_| more > 0).cloned() else { return Ok(()) };
        within(&mut self.repeated, std::slice::from_ref(&cell), more)?;
        row.extend(vec![cell; more]);
        Ok(())
    }

    /// Lets the row that is open stand `count` times, once it is whole.
    pub fn repeat_row(&mut self, count: usize) {
        if let Some(table) = self.open.last_mut() {
            table.row_count = count;
        }
    }

    /// An empty row stands once, however often it is said.
    pub fn end_row(&mut self) -> Result<(), ReadError> {
        let Some(table) = self.open.last_mut() else { return Ok(()) };
        let more = std::mem::take(&mut table.row_count).saturating_sub(1);
        let filled = table.rows.last().filter(|row| more > 0 && !row.is_empty());
        let Some(row) = filled.cloned() else { return Ok(()) };
        within(&mut self.repeated, &row, more)?;
        table.rows.extend(vec![row; more]);
        Ok(())
    }

    /// Empty cells.
    pub fn pad(&mut self, count: usize) {
        if let Some(row) = self.open.last_mut().and_then(|table| table.rows.last_mut()) {
            let room = limits::COLUMNS.saturating_sub(row.len());
            row.extend(vec![String::new(); count.min(room)]);
        }
    }

    /// Whether the text went into a cell.
    pub fn take(&mut self, text: &str) -> bool {
        let cell = self.open.last_mut().and_then(|table| table.cell.as_mut());
        let Some(cell) = cell else { return false };
        if !cell.is_empty() && !text.is_empty() {
            cell.push('\n');
        }
        cell.push_str(text);
        true
    }

    pub fn close(&mut self, words: &mut Words) -> Result<(), ReadError> {
        let Some(table) = self.open.pop() else { return Ok(()) };
        if self.open.is_empty() {
            return words.table(&table.rows);
        }
        let lines: Vec<String> = table.rows.iter().map(|row| row.join(" ; ")).collect();
        self.take(&lines.join("\n"));
        Ok(())
    }
}

/// Whether so many more of these cells may stand there; each takes some forty bytes besides its text.
fn within(repeated: &mut usize, cells: &[String], more: usize) -> Result<(), ReadError> {
    let bytes = cells.iter().map(|cell| cell.len() + 40).sum::<usize>().saturating_mul(more);
    *repeated = repeated.saturating_add(bytes);
    let most = limits::MARKDOWN_BYTES as u64;
    limits::within(*repeated as u64, most, "bytes in cells that repeat others")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_hold_words_and_not_the_space_around_them() {
        let strong = Marks { strong: true, ..Marks::default() };
        let mut line = Line::default();
        line.push("a", Marks::default());
        line.push(" b ", strong);
        line.push("c", strong);
        line.push(" d", Marks::default());
        assert_eq!(line.finish(), "a **b c** d");
    }

    #[test]
    fn tables_and_lists_stand_as_markdown() {
        let mut words = Words::default();
        words.heading(2, "T");
        words.entry(0, false, "one");
        words.entry(1, false, "two");
        words.table(&[vec!["a|b".into()], vec!["1\n2".into(), "3".into()]]).unwrap();
        let wanted = "## T\n\n- one\n  - two\n\n| a\\|b |  |\n| --- | --- |\n| 1<br>2 | 3 |";
        assert_eq!(words.finish(), wanted);
    }
}
