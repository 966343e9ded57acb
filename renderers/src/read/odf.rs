//! OpenDocument: texts, spreadsheets and presentations share their elements.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::{
    archive::Archive,
    limits,
    odf_comments::OdfComments,
    odf_lists::OdfLists,
    reading::{Kind, ReadError, Reading},
    sheets::{CellBudget, CutSheet, title},
    tables::Tables,
    words::{Line, Marks, Words},
    xml::{XmlElement, XmlNode, walk},
};

/// What the notes of a slide begin with.
const NOTES: &str = "> Notes:";

pub fn read(kind: Kind, bytes: &[u8]) -> Result<Reading, ReadError> {
    let mut archive = Archive::open(bytes)?;
    let xml = archive.part("content.xml")?;
    let xml = xml.ok_or_else(|| ReadError::Damaged("The document has no content.xml.".into()))?;
    let mut body = OdfBody { kind: Some(kind), ..OdfBody::default() };
    if kind == Kind::Ods {
        let tags = xml.split(|byte| *byte == b'<');
        let sheets = tags.filter(|tag| tag.starts_with(b"table:table ")).count();
        body.sheets = Some(CellBudget::of(sheets));
    }
    if let Ok(Some(styles)) = archive.part("styles.xml") {
        // A document with damaged styles is still read.
        let _ = walk(&styles, |node| {
            if let XmlNode::Open(element) = node {
                body.read_style(element);
            }
            Ok(())
        });
    }
    let mut warnings = Vec::new();
    if let Err(problem) = walk(&xml, |node| body.step(&node)) {
        if body.words.is_empty() || matches!(problem, ReadError::TooLarge(_)) {
            return Err(problem);
        }
        warnings.push(format!("Only the beginning could be read. {problem}"));
    }
    warnings.extend(body.sheets.take().map(|budget| budget.sizes).unwrap_or_default());
    body.comments.write_to(&mut body.words);
    for object in body.objects.iter().take(OBJECTS) {
        add_object(&mut archive, object, &mut body.words);
    }
    if body.objects.len() > OBJECTS {
        warnings.push(format!("Only {OBJECTS} charts and embedded objects were read."));
    }
    let reading = Reading::of(kind, body.words.finish());
    Ok(Reading { pages: body.pages, warnings, ..reading })
}

/// Adds the titles and the values of a chart, or the text of another embedded object. One that is
/// damaged is left out.
fn add_object(archive: &mut Archive, object: &str, words: &mut Words) {
    let folder = object.trim_start_matches("./");
    let Ok(Some(xml)) = archive.part(&format!("{folder}/content.xml")) else { return };
    let (mut body, mut is_chart) = (OdfBody::default(), false);
    // A damaged object is read as far as possible.
    let _ = walk(&xml, |node| {
        is_chart |= matches!(&node, XmlNode::Open(element) if element.name == "chart");
        body.step(&node)
    });
    let text = body.words.finish();
    if !text.is_empty() {
        words.heading(3, if is_chart { "Chart" } else { "Embedded object" });
        words.paragraph(&text);
    }
}

/// The maximum number of embedded objects that are read.
const OBJECTS: usize = 100;

#[derive(Default)]
struct OdfBody {
    kind: Option<Kind>,
    words: Words,
    tables: Tables,
    styles: HashMap<String, Marks>,
    style: String,
    lines: Vec<(Line, Option<usize>)>,
    marks: Vec<Marks>,
    lists: OdfLists,
    comments: OdfComments,
    /// The mark of a comment on the open cell.
    cell_mark: String,
    /// The folders of embedded objects.
    objects: BTreeSet<String>,
    /// The styles of tables that are not shown.
    hidden: HashSet<String>,
    /// Inside an element whose text is not part of the document.
    skipped: usize,
    pages: usize,
    /// The cells that may still be shown, in a spreadsheet.
    sheets: Option<CellBudget>,
    /// The name of the open sheet.
    sheet_name: String,
    links: Vec<String>,
    /// The number of columns that the open cell is repeated, and of rows that the open row is.
    wide: usize,
    /// Empty cells that are only written if a non-empty cell follows.
    pending: usize,
    cell_is_empty: bool,
}

impl OdfBody {
    fn step(&mut self, node: &XmlNode<'_>) -> Result<(), ReadError> {
        let mut mark = None;
        if self.skipped == 0 && self.comments.take(node, &mut mark) {
            if let Some(mark) = mark {
                self.add_mark(&mark);
            }
            return Ok(());
        }
        match node {
            XmlNode::Open(element) if self.skipped > 0 || is_skipped(&element.name) => {
                self.skipped += 1;
            }
            XmlNode::Close(_) if self.skipped > 0 => self.skipped -= 1,
            XmlNode::Text(_) if self.skipped > 0 => {}
            XmlNode::Open(element) => self.open(element)?,
            XmlNode::Text(text) => self.push(text),
            XmlNode::Close(name) => self.close(name)?,
        }
        Ok(())
    }

    /// The mark of a comment, in its paragraph or below the text of its cell.
    fn add_mark(&mut self, mark: &str) {
        if !self.lines.is_empty() {
            self.plain(mark);
            self.cell_is_empty = false;
        } else if self.tables.is_in_cell() {
            self.cell_mark.push_str(mark);
        } else {
            self.words.paragraph(mark);
        }
    }

    fn read_style(&mut self, element: &XmlElement) {
        match element.name.as_str() {
            "style" => element.attribute("name").unwrap_or_default().clone_into(&mut self.style),
            "list-style" => {
                // The letters of its levels are not those of a style.
                self.style.clear();
                self.lists.read_style(element);
            }
            "text-properties" => {
                let marks = Marks {
                    strong: element.attribute("font-weight") == Some("bold"),
                    emphasis: element.attribute("font-style") == Some("italic"),
                    strike: element
                        .attribute("text-line-through-style")
                        .is_some_and(|s| s != "none"),
                };
                self.styles.insert(self.style.clone(), marks);
            }
            "table-properties" if element.attribute("display") == Some("false") => {
                self.hidden.insert(self.style.clone());
            }
            _ => self.lists.read_style(element),
        }
    }

    fn open(&mut self, element: &XmlElement) -> Result<(), ReadError> {
        match element.name.as_str() {
            "h" => self
                .lines
                .push((Line::default(), Some(element.number("outline-level").unwrap_or(1)))),
            "p" => self.lines.push((Line::default(), None)),
            "span" => {
                let style = element.attribute("style-name").unwrap_or_default();
                self.marks.push(self.styles.get(style).copied().unwrap_or_default());
            }
            "s" => self.push(&" ".repeat(element.number("c").unwrap_or(1).min(100))),
            "tab" => self.push("\t"),
            "line-break" => self.push("\n"),
            "a" => {
                self.links.push(element.attribute("href").unwrap_or_default().to_owned());
                self.plain("[");
            }
            "note-citation" => self.plain("[^"),
            "list" => self.lists.open(element),
            "list-item" => self.lists.item(element),
            "object" => {
                self.objects.extend(element.attribute("href").map(str::to_owned));
            }
            "table" => {
                self.sheet(element);
                match &mut self.sheets {
                    Some(budget) if self.tables.is_closed() => {
                        self.tables.open_limited(budget.next_sheet());
                    }
                    _ => self.tables.open(),
                }
            }
            "table-row" => {
                self.pending = 0;
                self.tables.row();
                self.tables.repeat_row(element.number("number-rows-repeated").unwrap_or(1));
            }
            "table-cell" | "covered-table-cell" => {
                self.wide = element.number("number-columns-repeated").unwrap_or(1);
                self.cell_is_empty = true;
                self.tables.cell();
            }
            "page" if self.kind == Some(Kind::Odp) => {
                self.pages += 1;
                limits::within(self.pages as u64, limits::PAGES as u64, "slides")?;
                self.words.heading(2, &format!("Slide {}", self.pages));
            }
            "notes" => self.words.paragraph(NOTES),
            _ => self.read_style(element),
        }
        Ok(())
    }

    fn sheet(&mut self, element: &XmlElement) {
        if self.kind == Some(Kind::Ods) {
            self.pages += 1;
            let name = element.attribute("name").unwrap_or("Sheet");
            let style = element.attribute("style-name").unwrap_or_default();
            self.words.heading(2, &title(name, self.hidden.contains(style)));
            name.clone_into(&mut self.sheet_name);
        }
    }

    fn push(&mut self, text: &str) {
        let marks = self.marks.last().copied().unwrap_or_default();
        if let Some((line, _)) = self.lines.last_mut() {
            line.push(text, marks);
            self.cell_is_empty &= text.trim().is_empty();
        }
    }

    fn plain(&mut self, text: &str) {
        if let Some((line, _)) = self.lines.last_mut() {
            line.push_plain(text);
        }
    }

    fn close(&mut self, name: &str) -> Result<(), ReadError> {
        match name {
            "h" | "p" => self.flush_paragraph(),
            "notes" => self.words.retract(NOTES),
            "span" => drop(self.marks.pop()),
            "a" => {
                let target = self.links.pop().unwrap_or_default();
                self.plain(&format!("]({target})"));
            }
            "note-citation" => self.plain("]"),
            "list" => self.lists.close(),
            "table-cell" | "covered-table-cell" => self.end_cell()?,
            "table-row" => self.tables.end_row()?,
            "table" => {
                self.count_cells();
                self.tables.close(&mut self.words)?;
            }
            _ => {}
        }
        Ok(())
    }

    /// Counts the cells of a sheet, and reports it if rows are left out.
    fn count_cells(&mut self) {
        let (Some(budget), Some(table)) = (&mut self.sheets, self.tables.limited()) else { return };
        budget.take(table.shown * table.width);
        if table.is_cut {
            let (name, height, width) = (&self.sheet_name, table.height, table.width);
            budget.report(CutSheet { name, height, width, shown: table.shown });
        }
    }

    /// Spreadsheets end with thousands of repeated empty cells. The covered cells of a merged cell
    /// are present as well.
    fn end_cell(&mut self) -> Result<(), ReadError> {
        let mark = std::mem::take(&mut self.cell_mark);
        if !mark.is_empty() {
            self.tables.take(&mark);
            self.cell_is_empty = false;
        }
        if self.cell_is_empty {
            self.pending = self.pending.saturating_add(self.wide);
            return Ok(());
        }
        if self.pending > 0 {
            self.tables.pad(self.pending);
            self.pending = 0;
        }
        self.tables.end_cell(1);
        self.tables.repeat_cell(self.wide)
    }

    fn flush_paragraph(&mut self) {
        let Some((line, level)) = self.lines.pop() else { return };
        let text = line.finish();
        // The text of a footnote is inserted at its reference.
        if let Some((outer, _)) = self.lines.last_mut() {
            outer.push_plain(&format!("({text})"));
        } else if !self.tables.take(&text) {
            match (level, self.lists.depth()) {
                (Some(level), _) => self.words.heading(level, text.trim_matches('*')),
                (None, Some(depth)) => {
                    let number = self.lists.number();
                    self.words.numbered(depth, number, &text);
                }
                (None, None) => self.words.paragraph(&text),
            }
        }
    }
}

/// Deleted content, and metadata.
fn is_skipped(name: &str) -> bool {
    matches!(name, "tracked-changes" | "sequence-decls" | "scripts" | "page-number" | "page-count")
}
