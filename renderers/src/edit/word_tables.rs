//! The tables of a Word file: their cells and rows.

use super::{
    Change, EditError, invalid, revisions, text,
    tree::{Node, TreeElement},
    word::Word,
};

impl Word {
    pub fn set_cell(&mut self, cell: &mut TreeElement, place: &str, new: &str) {
        let before = text::below(cell);
        match &mut self.marks {
            Some(marks) => {
                let mut look = None;
                cell.each(&mut |inner| {
                    if look.is_none() && inner.local() == "r" {
                        look = Some(inner.child("rPr").cloned());
                    }
                });
                revisions::delete_runs(cell, marks);
                if let Some(paragraph) = cell.child_mut("p") {
                    revisions::append(paragraph, look.flatten(), new, marks);
                }
            }
            None => text::rewrite_all(cell, new),
        }
        self.changes.push(Change::of(place, &before, new));
    }

    pub fn add_row(
        &mut self,
        table: &mut TreeElement,
        after: Option<usize>,
        cells: &[String],
        place: &str,
    ) -> Result<(), EditError> {
        let rows = places(table, "tr");
        let after = after.unwrap_or(rows.len());
        let at = *after.checked_sub(1).and_then(|after| rows.get(after)).ok_or_else(|| {
            EditError::Invalid(format!("There is no row {after}: {place} has {} rows.", rows.len()))
        })?;
        let mut row = table.children[at].as_element().cloned().expect("it is a row");
        row.each_mut(&mut |inner| {
            inner.unset("w14:paraId");
            inner.unset("w14:textId");
            inner.children.retain(|child| {
                !["bookmarkStart", "bookmarkEnd", "tblHeader", "ins", "del"]
                    .iter()
                    .any(|name| child.is(name))
            });
        });
        let columns = places(&row, "tc");
        if cells.len() > columns.len() {
            return invalid(format!(
                "The row has {} cells, and {} were given.",
                columns.len(),
                cells.len()
            ));
        }
        for (number, column) in columns.iter().enumerate() {
            let cell = row.children[*column].as_element_mut().expect("it is a cell");
            text::rewrite_all(cell, cells.get(number).map_or("", String::as_str));
        }
        if let Some(marks) = &mut self.marks {
            revisions::insert_runs(&mut row, marks);
            revisions::mark_row(&mut row, "w:ins", marks);
        }
        table.children.insert(at + 1, Node::Element(row));
        let place = format!("{place}, row {}", after + 1);
        self.changes.push(Change::added(place, &cells.join(" | ")));
        Ok(())
    }

    pub fn remove_row(
        &mut self,
        table: &mut TreeElement,
        row: usize,
        place: &str,
    ) -> Result<(), EditError> {
        let rows = places(table, "tr");
        let Some(at) = row.checked_sub(1).and_then(|row| rows.get(row)).copied() else {
            return invalid(format!("There is no {place}: the table has {} rows.", rows.len()));
        };
        if rows.len() == 1 {
            return invalid("The last row of a table is not removed: set its cells.");
        }
        let found = table.children[at].as_element_mut().expect("it is a row");
        let before = text::below(found).replace('\n', " | ");
        match &mut self.marks {
            Some(marks) => {
                revisions::delete_runs(found, marks);
                revisions::mark_row(found, "w:del", marks);
            }
            None => drop(table.children.remove(at)),
        }
        self.changes.push(Change::removed(place, &before));
        Ok(())
    }
}

/// The places of the children with this name.
fn places(element: &TreeElement, local: &str) -> Vec<usize> {
    let children = element.children.iter().enumerate();
    children.filter(|(_, child)| child.is(local)).map(|(at, _)| at).collect()
}

/// The table with this number, without those inside others.
pub(super) fn nth_table(
    root: &mut TreeElement,
    number: usize,
) -> Result<&mut TreeElement, EditError> {
    fn find<'e>(element: &'e mut TreeElement, left: &mut usize) -> Option<&'e mut TreeElement> {
        for child in element.elements_mut() {
            if child.local() != "tbl" {
                if let Some(found) = find(child, left) {
                    return Some(found);
                }
                continue;
            }
            *left = left.checked_sub(1)?;
            if *left == 0 {
                return Some(child);
            }
        }
        None
    }
    let mut count = 0;
    count_tables(root, &mut count);
    let mut left = number;
    let found = if number == 0 { None } else { find(root, &mut left) };
    found.ok_or_else(|| {
        EditError::Invalid(format!("There is no table {number}: the document has {count}."))
    })
}

fn count_tables(element: &TreeElement, count: &mut usize) {
    for child in element.elements() {
        if child.local() == "tbl" {
            *count += 1;
        } else {
            count_tables(child, count);
        }
    }
}

pub(super) fn cell(
    root: &mut TreeElement,
    table: usize,
    row: usize,
    column: usize,
) -> Result<&mut TreeElement, EditError> {
    let found = nth_table(root, table)?;
    let rows = places(found, "tr");
    let missing = |what: &str, count: usize| {
        EditError::Invalid(format!("There is no {what} in table {table}: there are {count}."))
    };
    let at = row.checked_sub(1).and_then(|row| rows.get(row)).copied();
    let at = at.ok_or_else(|| missing(&format!("row {row}"), rows.len()))?;
    let found = found.children[at].as_element_mut().expect("it is a row");
    let cells = places(found, "tc");
    let at = column.checked_sub(1).and_then(|column| cells.get(column)).copied();
    let at = at.ok_or_else(|| missing(&format!("column {column} of row {row}"), cells.len()))?;
    Ok(found.children[at].as_element_mut().expect("it is a cell"))
}
