//! The tables of HTML pages. The converter's own handler leaves out header cells that are not in the
//! first row, ignores that cells are merged, and writes a table in a cell as the source of a table.

use htmd::{
    Element, Node,
    element_handler::{ElementHandler, HandlerResult, Handlers},
};
use markup5ever_rcdom::NodeData;
use std::{
    collections::BTreeSet,
    rc::Rc,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use super::{
    limits::{CELLS, COLUMNS},
    tables::{MERGED, MERGED_LEFT, MERGED_UP, WIDE, lines},
    words::Words,
};

/// The handler of `table` elements. Its copies share their state.
#[derive(Clone, Default)]
pub struct PageTables(Arc<Mutex<PageState>>);

#[derive(Default)]
struct PageState {
    /// The number of tables whose cells are being read, without those for the layout.
    open: usize,
    /// The number of cells of tables so far.
    cells: usize,
    warnings: BTreeSet<&'static str>,
}

/// A row of a table.
struct PageTableRow {
    /// Whether it is the first row of a `thead`, `tbody` or `tfoot`. No merged cell reaches into it.
    begins_group: bool,
    cells: Vec<PageTableCell>,
}

struct PageTableCell {
    node: Rc<Node>,
    text: String,
    is_header: bool,
    columns: usize,
    rows: usize,
}

impl ElementHandler for PageTables {
    fn handle(&self, handlers: &dyn Handlers, element: Element) -> Option<HandlerResult> {
        let mut rows = rows(element.node);
        let is_layout = is_layout(&rows);
        let is_inner = self.state().open > 0;
        self.state().open += usize::from(!is_layout);
        for cell in rows.iter_mut().flat_map(|row| &mut row.cells) {
            cell.text = handlers.walk_children(&cell.node).content;
        }
        self.state().open -= usize::from(!is_layout);
        let mut words = Words::default();
        for caption in children(element.node, &["caption"]) {
            words.paragraph(handlers.walk_children(&caption).content.trim());
        }
        if is_layout && !is_inner {
            let cells = rows.iter().flat_map(|row| &row.cells);
            cells.for_each(|cell| words.paragraph(cell.text.trim()));
        } else {
            match self.placed(&rows) {
                Some(table) if !is_inner => words.table(&table).ok()?,
                table => words.paragraph(&lines(&table.unwrap_or_else(|| texts(&rows)))),
            }
        }
        (!words.is_empty()).then(|| format!("\n\n{}\n\n", words.finish()).into())
    }
}

impl PageTables {
    /// Warnings about the tables so far.
    pub fn warnings(&self) -> Vec<String> {
        self.state().warnings.iter().map(|warning| (*warning).to_owned()).collect()
    }

    /// Whether the cells of a table are being read, which have no blocks.
    pub fn is_open(&self) -> bool {
        self.state().open > 0
    }

    fn state(&self) -> MutexGuard<'_, PageState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The texts of the cells in their rows and columns, with the marks of merged cells; `None` if the
    /// page has too many cells.
    fn placed(&self, rows: &[PageTableRow]) -> Option<Vec<Vec<String>>> {
        let columns = columns(rows);
        // Columns in which no cell begins are left out: a title can span more columns than there are.
        let width = columns.iter().flatten().max().map_or(0, |last| last + 1);
        let mut state = self.state();
        let cells = state.cells.saturating_add(width.saturating_mul(rows.len()));
        if cells > CELLS {
            return None;
        }
        state.cells = cells;
        let mut below = vec![0; width];
        let table: Vec<_> = rows
            .iter()
            .zip(&columns)
            .map(|(row, columns)| row.placed(columns, &mut below))
            .collect();
        let is_mark = |text: &String| matches!(text.as_str(), MERGED_LEFT | MERGED_UP);
        let is_merged = table.iter().flatten().any(is_mark);
        state.warnings.extend(is_merged.then_some(MERGED));
        let is_wide =
            rows.iter().zip(&columns).any(|(row, columns)| row.cells.len() > columns.len());
        state.warnings.extend(is_wide.then_some(WIDE));
        Some(table)
    }
}

impl PageTableRow {
    /// The texts of the row. `columns` are those of its cells. `below` says for each column how many
    /// rows from this one on are covered by a cell above.
    fn placed(&self, columns: &[usize], below: &mut [usize]) -> Vec<String> {
        if self.begins_group {
            below.fill(0);
        }
        let mut texts = Vec::new();
        for (column, rows) in below.iter_mut().enumerate().filter(|(_, rows)| **rows > 0) {
            *rows -= 1;
            texts.resize(column, String::new());
            texts.push(MERGED_UP.to_owned());
        }
        for (cell, column) in self.cells.iter().zip(columns) {
            let end = column.saturating_add(cell.columns).min(below.len());
            below[*column..end].fill(cell.rows - 1);
            texts.resize(texts.len().max(end), String::new());
            texts[*column] = compact(&cell.text);
            for text in texts[column + 1..end].iter_mut().filter(|text| text.is_empty()) {
                MERGED_LEFT.clone_into(text);
            }
        }
        texts
    }
}

/// The columns of the cells, without those beyond the last column.
fn columns(rows: &[PageTableRow]) -> Vec<Vec<usize>> {
    let mut below = [0_usize; COLUMNS];
    let mut columns_of_rows = Vec::with_capacity(rows.len());
    for row in rows {
        if row.begins_group {
            below.fill(0);
        }
        let above = below;
        below = below.map(|rows| rows.saturating_sub(1));
        let (mut at, mut columns) = (0, Vec::new());
        for cell in &row.cells {
            while above.get(at).is_some_and(|rows| *rows > 0) {
                at += 1;
            }
            if at == COLUMNS {
                break;
            }
            columns.push(at);
            let end = at.saturating_add(cell.columns).min(COLUMNS);
            below[at..end].fill(cell.rows - 1);
            at = end;
        }
        columns_of_rows.push(columns);
    }
    columns_of_rows
}

/// The texts of the cells, one after another.
fn texts(rows: &[PageTableRow]) -> Vec<Vec<String>> {
    rows.iter().map(|row| row.cells.iter().map(|cell| compact(&cell.text)).collect()).collect()
}

/// The text without empty lines.
fn compact(text: &str) -> String {
    let lines = text.lines().map(str::trim_end).filter(|line| !line.is_empty());
    lines.collect::<Vec<_>>().join("\n").trim().to_owned()
}

/// Whether the rows only arrange blocks one above the other, as e-mails do.
fn is_layout(rows: &[PageTableRow]) -> bool {
    let is_header = |cell: &PageTableCell| cell.is_header;
    rows.iter().all(|row| row.cells.len() <= 1 && !row.cells.iter().any(is_header))
}

/// The rows of a table, without the texts of their cells.
fn rows(table: &Node) -> Vec<PageTableRow> {
    let mut rows = Vec::new();
    for child in children(table, &["thead", "tbody", "tfoot", "tr"]) {
        let is_row = name(&child) == Some("tr");
        let group = if is_row { vec![child] } else { children(&child, &["tr"]) };
        let cells = group.iter().map(|row| children(row, &["td", "th"]));
        rows.extend(cells.enumerate().map(|(at, cells)| PageTableRow {
            begins_group: at == 0 && !is_row,
            cells: cells.into_iter().map(PageTableCell::of).collect(),
        }));
    }
    rows
}

impl PageTableCell {
    fn of(node: Rc<Node>) -> Self {
        let span =
            |name: &str| attribute(&node, name).and_then(|value| value.parse::<usize>().ok());
        let columns = span("colspan").unwrap_or(1).max(1);
        // A cell of 0 rows reaches to the end of its group.
        let rows = span("rowspan").map_or(1, |rows| if rows == 0 { usize::MAX } else { rows });
        let is_header = name(&node) == Some("th");
        Self { text: String::new(), is_header, columns, rows, node }
    }
}

fn children(node: &Node, names: &[&str]) -> Vec<Rc<Node>> {
    let children = node.children.borrow();
    let is_named = |child: &&Rc<Node>| name(child).is_some_and(|name| names.contains(&name));
    children.iter().filter(is_named).cloned().collect()
}

pub fn name(node: &Node) -> Option<&str> {
    match &node.data {
        NodeData::Element { name, .. } => Some(&name.local),
        _ => None,
    }
}

pub fn attribute(node: &Node, name: &str) -> Option<String> {
    let NodeData::Element { attrs, .. } = &node.data else { return None };
    let attrs = attrs.borrow();
    let attribute = attrs.iter().find(|attribute| &*attribute.name.local == name)?;
    Some(attribute.value.trim().to_owned())
}
