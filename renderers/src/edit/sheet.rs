//! The rows and cells of a sheet part, which are found by binary search.

use super::{
    EditError,
    cells::{Address, CellArea, LAST_COLUMN, LAST_ROW},
    invalid,
    tree::{Node, TreeElement},
};

/// The data of a sheet: rows in order, each with its number; cells in order, each with its address.
pub fn ordered(root: &mut TreeElement) -> Result<(), EditError> {
    let Some(data) = root.child_mut("sheetData") else {
        return invalid("The sheet has no cells that can be edited.");
    };
    data.open();
    data.children.retain(|child| child.as_element().is_some());
    let mut row_before = 0;
    for row in data.elements_mut() {
        let number = row.number("r").unwrap_or(row_before + 1);
        if number > LAST_ROW {
            return invalid("The file is damaged: a sheet has too many rows.");
        }
        if number <= row_before {
            return invalid("The file is damaged: the rows of a sheet are not in order.");
        }
        row.set("r", &number.to_string());
        row.children.retain(|child| child.as_element().is_some());
        let mut before = 0;
        for cell in row.elements_mut().filter(|cell| cell.local() == "c") {
            let known = cell.attribute("r").and_then(|address| Address::parse(&address));
            let column = known.map_or(before + 1, |address| address.column);
            if column > LAST_COLUMN {
                return invalid("The file is damaged: a row has too many cells.");
            }
            if column <= before {
                return invalid("The file is damaged: the cells of a row are not in order.");
            }
            cell.set("r", &Address { row: number, column }.to_string());
            before = column;
        }
        row_before = number;
    }
    Ok(())
}

pub fn data(root: &TreeElement) -> &TreeElement {
    root.child("sheetData").expect("it was checked when the sheet was opened")
}

fn data_mut(root: &mut TreeElement) -> &mut TreeElement {
    root.child_mut("sheetData").expect("it was checked when the sheet was opened")
}

fn row_number(node: &Node) -> u32 {
    node.as_element().and_then(|row| row.number("r")).unwrap_or(0)
}

fn column_number(node: &Node) -> u32 {
    let Some(cell) = node.as_element().filter(|cell| cell.local() == "c") else { return u32::MAX };
    let address = cell.attribute("r").and_then(|address| Address::parse(&address));
    address.map_or(u32::MAX, |address| address.column)
}

pub fn row(root: &TreeElement, number: u32) -> Option<&TreeElement> {
    let rows = &data(root).children;
    let at = rows.partition_point(|row| row_number(row) < number);
    rows.get(at).filter(|row| row_number(row) == number)?.as_element()
}

pub fn cell(root: &TreeElement, at: Address) -> Option<&TreeElement> {
    let cells = &row(root, at.row)?.children;
    let place = cells.partition_point(|cell| column_number(cell) < at.column);
    cells.get(place).filter(|cell| column_number(cell) == at.column)?.as_element()
}

pub fn row_mut(root: &mut TreeElement, number: u32) -> &mut TreeElement {
    let data = data_mut(root);
    let at = data.children.partition_point(|row| row_number(row) < number);
    if data.children.get(at).is_none_or(|row| row_number(row) != number) {
        let row = TreeElement::new(&data.named("row"), &[("r", &number.to_string())]);
        data.insert(at, row);
    }
    data.children[at].as_element_mut().expect("only elements are left in the data")
}

/// The cell, which is added with the format of its row or column if it is missing.
pub fn cell_mut(root: &mut TreeElement, at: Address) -> &mut TreeElement {
    let column_style = column_style(root, at.column);
    let row = row_mut(root, at.row);
    row.unset("spans");
    let place = row.children.partition_point(|cell| column_number(cell) < at.column);
    if row.children.get(place).is_none_or(|cell| column_number(cell) != at.column) {
        let mut cell = TreeElement::new(&row.named("c"), &[("r", &at.to_string())]);
        let is_formatted = matches!(row.attribute("customFormat").as_deref(), Some("1" | "true"));
        let style = row.attribute("s").filter(|_| is_formatted).or(column_style);
        if let Some(style) = style {
            cell.set("s", &style);
        }
        row.insert(place, cell);
    }
    row.children[place].as_element_mut().expect("only elements are left in a row")
}

fn column_style(root: &TreeElement, column: u32) -> Option<String> {
    let mut columns = root.child("cols")?.elements();
    let covers = |col: &TreeElement, name: &str| col.number(name).unwrap_or(0);
    let col = columns.find(|col| (covers(col, "min")..=covers(col, "max")).contains(&column))?;
    col.attribute("style")
}

/// Whether a cell has a value or a formula.
pub fn has_content(cell: &TreeElement) -> bool {
    cell.elements().any(|child| matches!(child.local(), "v" | "f" | "is"))
}

/// The area of the cells with content.
pub fn used(root: &TreeElement) -> Option<CellArea> {
    let mut used: Option<CellArea> = None;
    for cell in data(root).elements().flat_map(TreeElement::elements).filter(|c| has_content(c)) {
        let Some(at) = cell.attribute("r").and_then(|at| Address::parse(&at)) else { continue };
        let area = used.get_or_insert(CellArea { from: at, to: at });
        area.from.row = area.from.row.min(at.row);
        area.from.column = area.from.column.min(at.column);
        area.to.row = area.to.row.max(at.row);
        area.to.column = area.to.column.max(at.column);
    }
    used
}

/// Removes the computed values of all formulas, which would be out of date.
pub fn forget_results(root: &mut TreeElement) {
    let mut areas = Vec::new();
    root.each(&mut |inner| {
        if inner.local() == "f"
            && matches!(inner.attribute("t").as_deref(), Some("array" | "dataTable"))
        {
            let area = inner.attribute("ref").and_then(|area| CellArea::parse(&area));
            areas.extend(area.filter(|area| !area.is_one_cell()));
        }
    });
    root.each_mut(&mut |inner| {
        let is_part = |inner: &TreeElement| {
            let at = inner.attribute("r").and_then(|at| Address::parse(&at));
            at.is_some_and(|at| areas.iter().any(|area| area.has(at)))
        };
        if inner.local() == "c" && (inner.child("f").is_some() || is_part(inner)) {
            inner.remove("v");
            inner.remove("is");
            inner.unset("t");
        }
    });
}

/// Rows of a sheet that get more rows.
#[derive(Clone, Copy)]
pub struct GrownRows {
    /// The first row below the column names, and the last one before.
    pub first: u32,
    pub last: u32,
    /// The last row now.
    pub to: u32,
}

/// Extends the areas that end with the last row: filters, conditional formats, validations. One of the
/// last row alone belongs to it, unless it is the first as well. Updates the dimension.
pub fn grow(root: &mut TreeElement, rows: GrownRows) {
    let GrownRows { first, last, to } = rows;
    let grown = |areas: &str| {
        let grow = |area: &str| match CellArea::parse(area) {
            Some(mut area) if area.to.row == last && (area.from.row < last || first == last) => {
                area.to.row = to;
                area.to_string()
            }
            _ => area.to_owned(),
        };
        areas.split(' ').map(grow).collect::<Vec<_>>().join(" ")
    };
    root.each_mut(&mut |inner| match inner.local() {
        "conditionalFormatting" | "dataValidation" => {
            if let Some(areas) = inner.attribute("sqref") {
                inner.set("sqref", &grown(&areas));
            }
        }
        "sqref" => {
            let areas = grown(&inner.text());
            inner.set_text(&areas);
        }
        "autoFilter" | "dimension" => {
            if let Some(area) = inner.attribute("ref") {
                inner.set("ref", &grown(&area));
            }
        }
        _ => {}
    });
}

/// Widens the dimension to what is used.
pub fn measure(root: &mut TreeElement) {
    let used = used(root);
    if let (Some(used), Some(dimension)) = (used, root.child_mut("dimension")) {
        dimension.set("ref", &used.to_string());
    }
}
