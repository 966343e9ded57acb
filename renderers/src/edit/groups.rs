//! Cells of a sheet that belong together: merged cells, and those that one formula computes. They
//! are collected once, when the sheet is opened: an edit that would change them is rejected.

use std::collections::BTreeMap;

use super::{
    EditError,
    cells::{Address, CellArea, CellValue},
    formulas, invalid, sheet,
    tree::TreeElement,
};

/// The groups of a sheet.
#[derive(Default)]
pub struct Groups {
    merged: Vec<CellArea>,
    /// The cells that one array formula or data table computes.
    computed: Vec<CellArea>,
    /// Formulas that several cells share, by the id of the group.
    shared: BTreeMap<String, SharedFormula>,
}

struct SharedFormula {
    first: Address,
    formula: String,
}

impl Groups {
    pub fn of(root: &TreeElement) -> Self {
        let merged = root.child("mergeCells").into_iter().flat_map(TreeElement::elements);
        let merged = merged.filter_map(|area| CellArea::parse(&area.attribute("ref")?));
        let mut groups = Self { merged: merged.collect(), ..Self::default() };
        for cell in sheet::data(root).elements().flat_map(TreeElement::elements) {
            if let Some(f) = cell.child("f") {
                groups.add(cell, f);
            }
        }
        groups
    }

    fn add(&mut self, cell: &TreeElement, f: &TreeElement) {
        match f.attribute("t").as_deref() {
            Some("array" | "dataTable") => {
                let area = f.attribute("ref").and_then(|area| CellArea::parse(&area));
                self.computed.extend(area.filter(|area| !area.is_one_cell()));
            }
            Some("shared") => {
                let first = cell.attribute("r").and_then(|at| Address::parse(&at));
                let formula = Some(f.text()).filter(|formula| !formula.is_empty());
                if let (Some(id), Some(first), Some(formula)) = (f.attribute("si"), first, formula)
                {
                    self.shared.entry(id).or_insert(SharedFormula { first, formula });
                }
            }
            _ => {}
        }
    }

    /// Sets a cell. Cells that others depend on in a way that would break are rejected.
    pub fn set(
        &self,
        root: &mut TreeElement,
        at: Address,
        value: &CellValue,
    ) -> Result<(), EditError> {
        self.check(at)?;
        let cell = sheet::cell_mut(root, at);
        if let Some(f) = cell.child("f")
            && f.attribute("t").as_deref() == Some("shared")
        {
            let area = f.attribute("ref").and_then(|area| CellArea::parse(&area));
            if let Some(area) = area.filter(|area| !area.is_one_cell()) {
                return computes(at, &area);
            }
        }
        value.put(cell);
        Ok(())
    }

    /// Rejects a cell that must not be set on its own.
    fn check(&self, at: Address) -> Result<(), EditError> {
        let is_part = |area: &&CellArea| area.has(at) && area.from != at;
        if let Some(area) = self.merged.iter().find(is_part) {
            return invalid(format!("{at} is part of the merged cells {area}: set {}.", area.from));
        }
        match self.computed.iter().find(|area| area.has(at)) {
            Some(area) => computes(area.from, area),
            None => Ok(()),
        }
    }

    /// The formula of a cell at a place: its own, or that of the group that shares one.
    pub fn formula(&self, cell: &TreeElement, at: Address) -> Option<String> {
        let f = cell.child("f")?;
        let text = f.text();
        if !text.is_empty() || f.attribute("t").as_deref() != Some("shared") {
            return Some(text).filter(|text| !text.is_empty());
        }
        let SharedFormula { first, formula } = self.shared.get(&f.attribute("si")?)?;
        let by = |to: u32, from: u32| i64::from(to) - i64::from(from);
        Some(formulas::shifted(formula, by(at.row, first.row), by(at.column, first.column)))
    }
}

/// The error for a cell whose formula others depend on.
fn computes(at: Address, area: &CellArea) -> Result<(), EditError> {
    invalid(format!(
        "The formula in {at} also computes the cells {area}, which would break: set the cells in a \
         spreadsheet program."
    ))
}
