//! Excel workbooks since 2007: the cells of each sheet as they are displayed, in one pass over its
//! XML. Sheets over the limit are read up to it.

use std::collections::{BTreeMap, HashMap};

use super::{
    archive::Archive,
    cell_texts::{CellText, shared_strings},
    hidden::HiddenParts,
    limits, links,
    reading::ReadError,
    sheet_edges,
    styles::{self, Styles},
    tables::{MERGED_COLUMNS, MERGED_LEFT, MERGED_UP},
    xml::{XmlElement, XmlNode, walk},
};
use crate::number_text::Separators;
use crate::package::cell_escapes;

/// The maximum number of rows without values that a merged cell adds.
const MERGED_ROWS: u32 = 32;

/// The functions that ask for the time.
const TIMES: [&str; 2] = ["TODAY(", "NOW("];

/// The text of cells by row and column.
pub type Rows = BTreeMap<u32, BTreeMap<u32, String>>;

/// A sheet of the workbook.
pub struct SheetPart {
    pub name: String,
    pub part: String,
    /// Whether it is not shown in the list of sheets.
    pub is_hidden: bool,
}

/// What all sheets of a workbook share.
pub struct Workbook {
    pub sheets: Vec<SheetPart>,
    strings: Vec<String>,
    styles: Styles,
    /// Whether days are counted from 1904.
    since_1904: bool,
}

/// The cells of a sheet.
#[derive(Default)]
pub struct SheetCells {
    pub rows: Rows,
    /// The number of rows and columns of the whole sheet.
    pub height: u32,
    pub width: u32,
    /// Whether rows are missing because of the limit.
    pub is_cut: bool,
    pub hidden: HiddenParts,
    /// The number of formulas without a calculated value.
    pub uncalculated: usize,
    /// Whether parts of merged cells are marked.
    pub has_merged: bool,
    /// The headers and footers.
    pub edges: Vec<String>,
}

impl Workbook {
    pub fn open(archive: &mut Archive) -> Result<Self, ReadError> {
        let part = "xl/workbook.xml";
        let xml = archive.part(part)?.unwrap_or_default();
        let targets = links::links(archive, "xl/_rels/workbook.xml.rels")?;
        let (mut sheets, mut since_1904) = (Vec::new(), false);
        walk(&xml, |node| {
            if let XmlNode::Open(element) = node {
                match element.name.as_str() {
                    "sheet" => sheets.extend(sheet_part(element, &targets)),
                    "workbookPr" => {
                        since_1904 = matches!(element.attribute("date1904"), Some("1" | "true"));
                    }
                    _ => {}
                }
            }
            Ok(())
        })?;
        let target = |name: &str| targets.values().find(|target| target.ends_with(name)).cloned();
        let strings = target("sharedStrings.xml").unwrap_or("sharedStrings.xml".to_owned());
        let strings = archive.part(&links::within("xl", &strings))?.unwrap_or_default();
        let look = target("styles.xml").unwrap_or("styles.xml".to_owned());
        let look = archive.part(&links::within("xl", &look))?.unwrap_or_default();
        let (strings, styles) = (shared_strings(&strings)?, styles::read(&look)?);
        Ok(Self { sheets, strings, styles, since_1904 })
    }

    /// The cells of a sheet, at most `limit`.
    pub fn cells(
        &self,
        archive: &mut Archive,
        sheet: &SheetPart,
        limit: usize,
    ) -> Result<SheetCells, ReadError> {
        let (folder, name) = sheet.part.rsplit_once('/').unwrap_or(("", &sheet.part));
        let urls = links::links(archive, &format!("{folder}/_rels/{name}.rels"))?;
        SheetReader { urls, ..SheetReader::of(self, limit) }.read(archive, sheet)
    }

    /// The cells of a sheet as fields of another document, with these separators and without
    /// links, at most `limit`.
    pub fn fields(
        &self,
        archive: &mut Archive,
        sheet: &SheetPart,
        separators: Separators,
        limit: usize,
    ) -> Result<SheetCells, ReadError> {
        let separators = Some(separators);
        SheetReader { separators, ..SheetReader::of(self, limit) }.read(archive, sheet)
    }
}

fn sheet_part(element: &XmlElement, targets: &HashMap<String, String>) -> Option<SheetPart> {
    let target = targets.get(element.exactly("r:id").or_else(|| element.attribute("id"))?)?;
    let is_hidden = matches!(element.attribute("state"), Some("hidden" | "veryHidden"));
    let name = limits::name(element.attribute("name")?);
    Some(SheetPart { name, part: links::within("xl", target), is_hidden })
}

/// The part of a cell that the current text belongs to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum WorkbookPlace {
    Value,
    Formula,
    /// A text of runs, if it is one of the cell.
    Runs,
}

struct SheetReader<'w> {
    book: &'w Workbook,
    limit: usize,
    /// Those of the document that the numbers are for, if it is not the text of the workbook.
    separators: Option<Separators>,
    /// The targets of links by their ids.
    urls: HashMap<String, String>,
    found: SheetCells,
    count: usize,
    /// The length of the texts of these cells.
    bytes: usize,
    /// The number of cells that are parts of merged cells.
    merged: usize,
    row: u32,
    column: u32,
    /// The type and the style of the current cell.
    kind: String,
    style: usize,
    value: String,
    /// Whether there is a value, which may be empty.
    has_value: bool,
    formula: String,
    /// The text of runs.
    inline: CellText,
    place: WorkbookPlace,
}

impl<'w> SheetReader<'w> {
    fn of(book: &'w Workbook, limit: usize) -> Self {
        Self {
            book,
            limit,
            separators: None,
            urls: HashMap::new(),
            found: SheetCells::default(),
            count: 0,
            bytes: 0,
            merged: 0,
            row: 0,
            column: 0,
            kind: String::new(),
            style: 0,
            value: String::new(),
            has_value: false,
            formula: String::new(),
            inline: CellText::default(),
            place: WorkbookPlace::Runs,
        }
    }

    fn read(mut self, archive: &mut Archive, sheet: &SheetPart) -> Result<SheetCells, ReadError> {
        let xml = archive.part(&sheet.part)?.unwrap_or_default();
        self.found.edges = sheet_edges::edges(&xml);
        walk(&xml, |node| {
            match node {
                XmlNode::Open(element) => self.open(element),
                XmlNode::Text(text) => self.text(text),
                XmlNode::Close(name) => self.close(name),
            }
            Ok(())
        })?;
        Ok(self.finish())
    }

    fn open(&mut self, element: &XmlElement) {
        match element.name.as_str() {
            "row" => {
                self.row = element.number("r").map_or(self.row + 1, |row| row as u32);
                self.column = 0;
                if is_true(element.attribute("hidden")) || is_zero(element.attribute("ht")) {
                    self.found.hidden.add_rows(self.row, self.row);
                }
            }
            "col"
                if is_true(element.attribute("hidden")) || is_zero(element.attribute("width")) =>
            {
                let end = |name| element.number(name).unwrap_or(1) as u32;
                self.found.hidden.add_columns(end("min"), end("max"));
            }
            "c" => self.begin_cell(element),
            "v" => (self.place, self.has_value) = (WorkbookPlace::Value, true),
            "f" => self.place = WorkbookPlace::Formula,
            "hyperlink" => self.link(element),
            "mergeCell" => drop(self.merge(element)),
            _ => self.inline.open(element),
        }
    }

    fn begin_cell(&mut self, element: &XmlElement) {
        let at = element.attribute("r").and_then(position);
        (self.row, self.column) = at.unwrap_or((self.row, self.column + 1));
        element.attribute("t").unwrap_or("n").clone_into(&mut self.kind);
        self.style = element.number("s").unwrap_or(0);
        self.value.clear();
        self.has_value = false;
        self.formula.clear();
        self.inline = CellText::default();
    }

    fn text(&mut self, text: &str) {
        match self.place {
            WorkbookPlace::Value => self.value.push_str(text),
            WorkbookPlace::Formula => self.formula.push_str(text),
            WorkbookPlace::Runs => self.inline.text(text),
        }
    }

    fn close(&mut self, name: &str) {
        match name {
            "v" | "f" => self.place = WorkbookPlace::Runs,
            "c" => self.end_cell(),
            _ => self.inline.close(name),
        }
    }

    fn end_cell(&mut self) {
        let text = self.shown();
        if text.is_empty() {
            return;
        }
        self.found.height = self.found.height.max(self.row);
        self.found.width = self.found.width.max(self.column);
        // A string or a number format may be that of many cells.
        if self.count >= self.limit || self.bytes > limits::MARKDOWN_BYTES {
            self.found.is_cut = true;
            return;
        }
        self.count += 1;
        self.bytes += text.len();
        let row = self.found.rows.entry(self.row.saturating_sub(1)).or_default();
        row.insert(self.column.saturating_sub(1), text);
    }

    /// The cell as it is displayed; a formula that was never calculated is shown itself.
    fn shown(&mut self) -> String {
        let value = self.value.as_str();
        let styled = |text: &str| self.book.styles.shown_text(text, self.style);
        match self.kind.as_str() {
            "s" => {
                let text =
                    value.trim().parse().ok().and_then(|at: usize| self.book.strings.get(at));
                text.map(|text| styled(text)).unwrap_or_default()
            }
            "inlineStr" => styled(&std::mem::take(&mut self.inline).finish()),
            _ if value.is_empty() && !self.formula.trim().is_empty() && !self.is_empty_text() => {
                self.found.uncalculated += 1;
                format!("={}", self.formula.trim().replace("_xlfn.", ""))
            }
            "b" => if value.trim() == "1" { "TRUE" } else { "FALSE" }.to_owned(),
            "str" => styled(&cell_escapes::shown(value)),
            "n" => match value.trim().parse::<f64>() {
                Ok(number) if number.is_finite() => match self.separators {
                    Some(separators) => self.book.styles.exact(number, self.style, separators),
                    None => self.book.styles.shown(number, self.style, self.book.since_1904),
                },
                _ => value.to_owned(),
            },
            _ => value.to_owned(),
        }
    }

    /// Whether the result of the formula is an empty text. The renderer stores one with a formula that
    /// asks for the time, too, which it does not compute.
    fn is_empty_text(&self) -> bool {
        let formula = self.formula.to_ascii_uppercase();
        self.kind == "str" && self.has_value && !TIMES.iter().any(|name| formula.contains(name))
    }

    /// A link of a cell, which follows the cells.
    fn link(&mut self, element: &XmlElement) {
        let url = element.exactly("r:id").or_else(|| element.attribute("id"));
        let url = url.and_then(|id| self.urls.get(id)).filter(|url| url.contains("://"));
        let at = element.attribute("ref").and_then(position);
        if let (Some(url), Some((row, column))) = (url, at)
            && let Some(row) = self.found.rows.get_mut(&row.saturating_sub(1))
            && let Some(text) = row.get_mut(&column.saturating_sub(1))
            && *text != *url
            && self.bytes <= limits::MARKDOWN_BYTES
        {
            self.bytes += url.len();
            *text = format!("[{text}]({})", links::escaped(url));
        }
    }

    /// Marks the parts of a merged cell, which follows the cells. Of a very high one, only the rows
    /// that have values are marked.
    fn merge(&mut self, element: &XmlElement) -> Option<()> {
        let (first, last) = element.attribute("ref")?.split_once(':')?;
        let ((top, left), (bottom, right)) = (position(first)?, position(last)?);
        let (top, left) = (top.checked_sub(1)?, left - 1);
        if !self.found.rows.get(&top)?.contains_key(&left) || bottom <= top {
            return None;
        }
        let right = right.min(left.saturating_add(MERGED_COLUMNS));
        if right <= left {
            return None;
        }
        let added = if self.found.is_cut { 0 } else { MERGED_ROWS };
        let last_added = bottom.min(top.saturating_add(added));
        for row in top..last_added {
            self.merged += 1;
            if self.merged > limits::CELLS {
                return None;
            }
            self.found.rows.entry(row).or_default();
        }
        for (row, cells) in self.found.rows.range_mut(top..bottom) {
            for column in left..right {
                self.merged += 1;
                if self.merged > limits::CELLS {
                    return None;
                }
                let mark = if *row == top { MERGED_LEFT } else { MERGED_UP };
                cells.entry(column).or_insert_with(|| mark.to_owned());
                self.found.has_merged = true;
            }
        }
        Some(())
    }

    /// An incomplete last row is dropped.
    fn finish(mut self) -> SheetCells {
        if self.found.is_cut && self.found.rows.len() > 1 {
            self.found.rows.pop_last();
        }
        self.found
    }
}

fn is_true(value: Option<&str>) -> bool {
    matches!(value, Some("1" | "true"))
}

/// Whether a row or column has no size, which hides it.
fn is_zero(size: Option<&str>) -> bool {
    size.and_then(|size| size.parse().ok()) == Some(0.0_f64)
}

/// Row and column of a cell such as `B7`, counted from one.
fn position(name: &str) -> Option<(u32, u32)> {
    let name = name.split(':').next()?;
    let digits = name.find(|c: char| c.is_ascii_digit())?;
    let (letters, row) = name.split_at(digits);
    let mut column = 0_u32;
    for letter in letters.bytes().filter(|byte| *byte != b'$') {
        let value = u32::from(letter.to_ascii_uppercase().checked_sub(b'A')?) + 1;
        column = column.checked_mul(26)?.checked_add(value)?;
    }
    (column > 0).then_some((row.parse().ok()?, column))
}
