//! The native tables of a workbook, and the names of areas that grow with its rows.

use super::{
    EditError,
    book::{BOOK, Book, NativeTable},
    cells::{Address, CellArea, letters},
    invalid,
    tree::{self, TreeElement},
};
use crate::package::cell_escapes;

impl Book<'_> {
    /// The tables of a sheet.
    pub fn tables(&mut self, at: usize) -> Result<Vec<NativeTable>, EditError> {
        if let Some(tables) = self.tables.get(&at) {
            return Ok(tables.clone());
        }
        let part = self.sheets[at].1.clone();
        let mut tables = Vec::new();
        for target in self.parts.relations(&part)?.into_values() {
            if !target.starts_with("xl/tables/") || !self.parts.has(&target) {
                continue;
            }
            let mut nodes = self.parts.tree(&target)?;
            let root = tree::root(&target, &mut nodes)?;
            let name = root.attribute("displayName").or_else(|| root.attribute("name"));
            let area = root.attribute("ref").and_then(|area| CellArea::parse(&area));
            if let (Some(name), Some(area)) = (name, area) {
                let has_totals = root.number("totalsRowCount").unwrap_or(0) > 0;
                let hidden_header = hidden_header(root);
                tables.push(NativeTable { name, area, has_totals, hidden_header, part: target });
            }
        }
        self.tables.insert(at, tables.clone());
        Ok(tables)
    }

    /// The sheet of a table, and the table.
    pub fn table(&mut self, name: &str) -> Result<(usize, NativeTable), EditError> {
        let mut names = Vec::new();
        for at in 0..self.sheets.len() {
            for table in self.tables(at)? {
                if table.name.eq_ignore_ascii_case(name) {
                    return Ok((at, table));
                }
                names.push(table.name);
            }
        }
        let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        invalid(format!("There is no table “{name:.60}”. There are: {names}."))
    }

    /// Extends a table and its filter to a row.
    pub fn grow_table(&mut self, table: &NativeTable, to: u32) -> Result<(), EditError> {
        self.tables.clear();
        let grown = CellArea { to: Address { row: to, ..table.area.to }, ..table.area }.to_string();
        self.parts.edit(&table.part, |root| {
            root.set("ref", &grown);
            if let Some(filter) = root.child_mut("autoFilter") {
                filter.set("ref", &grown);
            }
            Ok(())
        })
    }

    /// Extends the filter and the print area of a sheet from the row `last` to `to`.
    pub fn grow_names(&mut self, at: usize, last: u32, to: u32) -> Result<(), EditError> {
        let mut nodes = self.parts.tree(BOOK)?;
        let root = tree::root(BOOK, &mut nodes)?;
        let mut is_changed = false;
        let name = self.sheets[at].0.to_lowercase();
        for defined in
            root.child_mut("definedNames").into_iter().flat_map(TreeElement::elements_mut)
        {
            let is_own = defined.attribute("name").is_some_and(|name| {
                name.starts_with("_xlnm._Filter") || name == "_xlnm.Print_Area"
            });
            let text = defined.text();
            let Some((sheet, area)) = text.rsplit_once('!').filter(|_| is_own) else { continue };
            let plain = sheet.trim_matches('\'').replace("''", "'").to_lowercase();
            let Some(area) = CellArea::parse(area).filter(|area| area.to.row == last) else {
                continue;
            };
            if plain == name && last > 0 {
                let CellArea { from, to: end } = area;
                let fixed = |column: u32, row: u32| format!("${}${row}", letters(column));
                let (from, end) = (fixed(from.column, from.row), fixed(end.column, to));
                defined.set_text(&format!("{sheet}!{from}:{end}"));
                is_changed = true;
            }
        }
        if is_changed { self.parts.put(BOOK, &nodes) } else { Ok(()) }
    }
}

/// The names of the columns of a table whose row of names is hidden.
fn hidden_header(table: &TreeElement) -> Option<Vec<String>> {
    let columns = table.child("tableColumns").filter(|_| table.number("headerRowCount") == Some(0));
    let names = columns?.elements().map(|column| column.attribute("name").unwrap_or_default());
    Some(names.map(|name| cell_escapes::shown(&name)).collect())
}
