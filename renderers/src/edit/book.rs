//! A workbook that is edited: its sheets, shared texts and formats.

use serde_json::Value;
use std::collections::BTreeMap;

use super::{
    EditError,
    cells::{Address, CellArea, CellContent, CellValue, Epoch},
    formulas,
    groups::Groups,
    invalid,
    parts::PackageParts,
    sheet,
    tree::{self, Node, TreeElement},
};
use crate::package::cell_escapes;
use crate::read::limits;

pub(super) const BOOK: &str = "xl/workbook.xml";
const BOOK_LINKS: &str = "xl/_rels/workbook.xml.rels";
const TYPES: &str = "[Content_Types].xml";
const OFFICE: &str = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
const MAIN: &str = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";
const SHEET_TYPE: &str =
    "application/vnd.openxmlformats-officedocument.spreadsheetml.worksheet+xml";

/// The maximum length of a sheet's name, in characters of UTF-16.
const NAME_CHARS: usize = 31;

pub struct Book<'f> {
    pub(super) parts: PackageParts<'f>,
    /// Names and parts.
    pub(super) sheets: Vec<(String, String)>,
    /// The names of sheets without cells, such as charts.
    others: Vec<String>,
    /// The sheets that were opened, by part.
    open: BTreeMap<String, Vec<Node>>,
    /// The groups of cells of these sheets.
    groups: BTreeMap<String, Groups>,
    /// The tables of sheets, by the place of the sheet, until one of them grows.
    pub(super) tables: BTreeMap<usize, Vec<NativeTable>>,
    shared: Vec<String>,
    /// The cell formats that show dates.
    dates: Vec<bool>,
    epoch: Epoch,
}

/// A native table of a sheet.
#[derive(Clone)]
pub struct NativeTable {
    pub name: String,
    pub area: CellArea,
    pub has_totals: bool,
    /// The names of the columns, if no row of the area has them.
    pub hidden_header: Option<Vec<String>>,
    pub(super) part: String,
}

impl<'f> Book<'f> {
    pub fn open(mut parts: PackageParts<'f>) -> Result<Self, EditError> {
        let targets = parts.relations(BOOK)?;
        let mut nodes = parts.tree(BOOK)?;
        let root = tree::root(BOOK, &mut nodes)?;
        let id = |sheet: &TreeElement| {
            let prefixed = ["r:id", "d3p1:id", "rel:id"];
            prefixed.iter().find_map(|name| sheet.attribute(name))
        };
        let sheets = root.child("sheets").into_iter().flat_map(TreeElement::elements);
        let (sheets, others): (Vec<_>, Vec<_>) = sheets
            .filter_map(|sheet| Some((sheet.attribute("name")?, targets.get(&id(sheet)?)?.clone())))
            .partition(|(_, part)| part.contains("worksheets/"));
        let others = others.into_iter().map(|(name, _)| name).collect();
        if sheets.is_empty() {
            return invalid("The workbook has no sheets with cells.");
        }
        let start = root.child("workbookPr").and_then(|book| book.attribute("date1904"));
        let is_1904 = matches!(start.as_deref(), Some("1" | "true"));
        let epoch = if is_1904 { Epoch::From1904 } else { Epoch::From1900 };
        let shared = shared(&mut parts)?;
        let dates = dates(&mut parts)?;
        let (open, groups, tables) = <_>::default();
        Ok(Self { parts, sheets, others, open, groups, tables, shared, dates, epoch })
    }

    pub fn names(&self) -> Vec<String> {
        self.sheets.iter().map(|(name, _)| name.clone()).collect()
    }

    /// The place of a sheet by its name; the first without one.
    pub fn sheet(&self, name: Option<&str>) -> Result<usize, EditError> {
        let Some(name) = name else { return Ok(0) };
        let same = |other: &str| other.to_lowercase() == name.to_lowercase();
        self.sheets.iter().position(|(other, _)| same(other)).ok_or_else(|| {
            EditError::Invalid(format!(
                "There is no sheet “{name:.60}”. There are: {}.",
                self.names().join(", ")
            ))
        })
    }

    /// The root of a sheet's part.
    pub fn root(&mut self, at: usize) -> Result<&mut TreeElement, EditError> {
        let (name, part) = &self.sheets[at];
        if !self.open.contains_key(part) {
            let mut nodes = self.parts.tree(part)?;
            let root = tree::root(part, &mut nodes)?;
            sheet::ordered(root)?;
            let lock = root.child("sheetProtection").and_then(|lock| lock.attribute("sheet"));
            if matches!(lock.as_deref(), Some("1" | "true")) {
                return invalid(format!(
                    "The sheet {name} is protected: ask for a copy without protection."
                ));
            }
            self.groups.insert(part.clone(), Groups::of(root));
            self.open.insert(part.clone(), nodes);
        }
        tree::root(part, self.open.get_mut(part).expect("it was opened"))
    }

    /// Sets a cell of a sheet.
    pub fn set(&mut self, at: usize, address: Address, value: &CellValue) -> Result<(), EditError> {
        self.root(at)?;
        let part = &self.sheets[at].1;
        let nodes = self.open.get_mut(part).expect("it was opened");
        let groups = self.groups.get(part).expect("they were collected when it was opened");
        groups.set(tree::root(part, nodes)?, address, value)
    }

    /// The formula of a cell of an open sheet.
    pub fn formula(&self, at: usize, cell: &TreeElement, address: Address) -> Option<String> {
        self.groups.get(&self.sheets[at].1)?.formula(cell, address)
    }

    /// The value or formula of a cell.
    pub fn content(&mut self, at: usize, address: Address) -> Result<CellContent, EditError> {
        let Some(cell) = sheet::cell(self.root(at)?, address).cloned() else {
            return Ok(CellContent::Value(CellValue::Empty));
        };
        if let Some(formula) = self.formula(at, &cell, address) {
            return Ok(CellContent::Value(CellValue::Formula(formula)));
        }
        let v = cell.child("v").map(TreeElement::text).unwrap_or_default();
        let is_computed = cell.child("f").is_some();
        Ok(CellContent::Value(match cell.attribute("t").as_deref() {
            _ if is_computed => return Ok(CellContent::Other(v)),
            Some("s") => {
                let text = v.parse().ok().and_then(|at: usize| self.shared.get(at).cloned());
                CellValue::Text(text.unwrap_or_default())
            }
            Some("inlineStr") => {
                CellValue::Text(cell.child("is").map(rich_text).unwrap_or_default())
            }
            Some("str") => CellValue::Text(cell_escapes::shown(&v)),
            Some("b") => CellValue::Bool(v == "1"),
            Some("n") | None if v.is_empty() => CellValue::Empty,
            Some("n") | None => CellValue::Number(v),
            _ => return Ok(CellContent::Other(v)),
        }))
    }

    /// The value or formula of a cell as text.
    pub fn shown(&mut self, at: usize, address: Address) -> Result<String, EditError> {
        Ok(self.content(at, address)?.shown())
    }

    /// A JSON value for a cell.
    pub fn value(
        &mut self,
        at: usize,
        address: Address,
        value: &Value,
    ) -> Result<CellValue, EditError> {
        let names = self.names();
        let value = CellValue::of(value, |source| formulas::checked(source, &names))?;
        let style = sheet::cell(self.root(at)?, address).and_then(|cell| cell.number("s"));
        let shows_dates = style.is_some_and(|style| self.dates.get(style as usize) == Some(&true));
        Ok(if shows_dates { value.dated(self.epoch) } else { value })
    }

    /// The first cell with content that fits.
    pub fn first_content(
        &mut self,
        at: usize,
        fits: impl Fn(Address) -> bool,
    ) -> Result<Option<Address>, EditError> {
        let cells = sheet::data(self.root(at)?).elements().flat_map(TreeElement::elements);
        let cells = cells.filter(|cell| sheet::has_content(cell));
        let mut cells = cells.filter_map(|cell| Address::parse(&cell.attribute("r")?));
        Ok(cells.find(|address| fits(*address)))
    }

    /// Adds an empty sheet after the others.
    pub fn add_sheet(&mut self, name: &str) -> Result<usize, EditError> {
        self.check_name(name)?;
        let is_free = |number: &usize| !self.parts.has(&format!("xl/worksheets/sheet{number}.xml"));
        let number = (1..=limits::ENTRIES).find(is_free).expect("a package has few parts");
        let part = format!("xl/worksheets/sheet{number}.xml");
        let declaration = "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?>\n";
        let root = TreeElement::new("worksheet", &[("xmlns", MAIN)])
            .with(TreeElement::new("sheetData", &[]));
        let mut nodes = vec![Node::Raw(declaration.into()), Node::Element(root)];
        sheet::ordered(tree::root(&part, &mut nodes)?)?;
        self.parts.put(&part, &nodes)?;
        let id = self.parts.edit(BOOK_LINKS, |links| {
            let taken: Vec<_> = links.elements().filter_map(|row| row.attribute("Id")).collect();
            let mut ids = (1..=taken.len() + 1).map(|n| format!("rId{n}"));
            let id = ids.find(|id| !taken.contains(id)).expect("one of them is not taken");
            let target = format!("/{part}");
            let kind = format!("{OFFICE}/worksheet");
            let name = links.named("Relationship");
            let row = [("Id", id.as_str()), ("Type", &kind), ("Target", &target)];
            links.push(TreeElement::new(&name, &row));
            Ok(id)
        })?;
        self.parts.edit(BOOK, |root| {
            let Some(sheets) = root.child_mut("sheets") else {
                return invalid("The workbook is damaged: it lists no sheets.");
            };
            let ids = sheets.elements().filter_map(|sheet| sheet.number("sheetId"));
            let number = (ids.max().unwrap_or(0) + 1).to_string();
            let row = [("name", name), ("sheetId", &number), ("xmlns:r", OFFICE), ("r:id", &id)];
            let tag = sheets.named("sheet");
            sheets.push(TreeElement::new(&tag, &row));
            Ok(())
        })?;
        let path = format!("/{part}");
        self.parts.edit(TYPES, |types| {
            let tag = types.named("Override");
            types.push(TreeElement::new(&tag, &[("PartName", &path), ("ContentType", SHEET_TYPE)]));
            Ok(())
        })?;
        self.sheets.push((name.to_owned(), part.clone()));
        self.groups.insert(part.clone(), Groups::default());
        self.open.insert(part, nodes);
        Ok(self.sheets.len() - 1)
    }

    fn check_name(&self, name: &str) -> Result<(), EditError> {
        let is_odd = name.trim().is_empty()
            || name.encode_utf16().count() > NAME_CHARS
            || name.contains(|c: char| c.is_control() || "[]:*?/\\".contains(c))
            || name.starts_with('\'')
            || name.ends_with('\'')
            || name.eq_ignore_ascii_case("history");
        if is_odd {
            return invalid(format!(
                "“{name:.40}” is not a name for a sheet: at most {NAME_CHARS} characters, without \
                 []:*?/\\."
            ));
        }
        let same = |other: &str| other.to_lowercase() == name.to_lowercase();
        let mut names = self.sheets.iter().map(|(other, _)| other).chain(&self.others);
        if names.any(|other| same(other)) {
            return invalid(format!("There is already a sheet “{name}”."));
        }
        Ok(())
    }

    /// Removes the results of all formulas and the order in which they were computed, and lets the
    /// program that opens the file compute them. Returns whether there are formulas.
    pub fn forget_results(&mut self) -> Result<bool, EditError> {
        let mut has_formulas = false;
        for at in 0..self.sheets.len() {
            let part = self.sheets[at].1.clone();
            let mut nodes = match self.open.remove(&part) {
                Some(nodes) => nodes,
                None => self.parts.tree(&part)?,
            };
            let root = tree::root(&part, &mut nodes)?;
            let mut has = false;
            root.each(&mut |inner| has |= inner.local() == "c" && inner.child("f").is_some());
            if has {
                sheet::forget_results(root);
                self.open.insert(part.clone(), nodes);
                has_formulas = true;
            } else if self.parts.has(&part) {
                let is_same =
                    self.parts.bytes(&part)?.as_deref() == Some(tree::write(&nodes).as_bytes());
                if !is_same {
                    self.open.insert(part, nodes);
                }
            }
        }
        self.parts.edit(BOOK, |root| {
            recompute(root);
            Ok(())
        })?;
        self.forget_order()?;
        Ok(has_formulas)
    }

    fn forget_order(&mut self) -> Result<(), EditError> {
        const CHAIN: &str = "xl/calcChain.xml";
        if !self.parts.has(CHAIN) {
            return Ok(());
        }
        self.parts.remove(CHAIN);
        let without = |attribute: &'static str| {
            move |root: &mut TreeElement| {
                root.children.retain(|child| {
                    let target = child.as_element().and_then(|row| row.attribute(attribute));
                    target.is_none_or(|target| !target.ends_with("calcChain.xml"))
                });
                Ok(())
            }
        };
        self.parts.edit(BOOK_LINKS, without("Target"))?;
        self.parts.edit(TYPES, without("PartName"))
    }

    pub fn finish(mut self) -> Result<Vec<u8>, EditError> {
        for (part, nodes) in &self.open {
            let is_same = self.parts.bytes(part)?.as_deref() == Some(tree::write(nodes).as_bytes());
            if !is_same {
                self.parts.put(part, nodes)?;
            }
        }
        self.parts.finish()
    }
}

/// Asks the program that opens the workbook to compute it.
fn recompute(root: &mut TreeElement) {
    if root.child("calcPr").is_none() {
        let before = ["sheets", "functionGroups", "externalReferences", "definedNames"];
        let last = root.children.iter().rposition(|child| before.iter().any(|name| child.is(name)));
        let calc = TreeElement::new(&root.named("calcPr"), &[]);
        root.insert(last.map_or(root.children.len(), |last| last + 1), calc);
    }
    if let Some(calc) = root.child_mut("calcPr") {
        calc.set("fullCalcOnLoad", "1");
    }
}

/// The text of a rich text, without phonetic hints.
fn rich_text(element: &TreeElement) -> String {
    let text = |child: &TreeElement| match child.local() {
        "t" => child.text(),
        "r" => child.child("t").map(TreeElement::text).unwrap_or_default(),
        _ => String::new(),
    };
    element.elements().map(|child| cell_escapes::shown(&text(child))).collect()
}

fn shared(parts: &mut PackageParts) -> Result<Vec<String>, EditError> {
    const SHARED: &str = "xl/sharedStrings.xml";
    if !parts.has(SHARED) {
        return Ok(Vec::new());
    }
    let mut nodes = parts.tree(SHARED)?;
    Ok(tree::root(SHARED, &mut nodes)?.elements().map(rich_text).collect())
}

/// Whether each cell format shows dates.
fn dates(parts: &mut PackageParts) -> Result<Vec<bool>, EditError> {
    const STYLES: &str = "xl/styles.xml";
    if !parts.has(STYLES) {
        return Ok(Vec::new());
    }
    let mut nodes = parts.tree(STYLES)?;
    let root = tree::root(STYLES, &mut nodes)?;
    let formats = root.child("numFmts").into_iter().flat_map(TreeElement::elements);
    let own: BTreeMap<u32, bool> = formats
        .filter_map(|format| {
            let code = format.attribute("formatCode")?;
            Some((format.number("numFmtId")?, is_date(&code)))
        })
        .collect();
    let cells = root.child("cellXfs").into_iter().flat_map(TreeElement::elements);
    let is_one = |format: &TreeElement| {
        let id = format.number("numFmtId").unwrap_or(0);
        own.get(&id).copied().unwrap_or(matches!(id, 14..=17 | 22))
    };
    Ok(cells.map(is_one).collect())
}

/// Whether a number format shows a day, outside of quoted text and brackets.
fn is_date(code: &str) -> bool {
    let (mut quoted, mut bracketed) = (false, false);
    code.chars().any(|c| {
        match c {
            '"' => quoted = !quoted,
            '[' => bracketed = true,
            ']' => bracketed = false,
            _ => {}
        }
        !quoted && !bracketed && matches!(c, 'd' | 'D' | 'y' | 'Y')
    })
}
