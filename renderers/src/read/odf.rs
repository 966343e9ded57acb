//! OpenDocument: texts, spreadsheets and presentations share their elements.

use std::collections::HashMap;

use super::{
    archive::Archive,
    limits,
    reading::{Kind, ReadError, Reading},
    words::{Line, Marks, Tables, Words},
    xml::{XmlElement, XmlNode, walk},
};

pub fn read(kind: Kind, bytes: &[u8]) -> Result<Reading, ReadError> {
    let mut archive = Archive::open(bytes)?;
    let xml = archive.part("content.xml")?;
    let xml = xml.ok_or_else(|| ReadError::Damaged("The document has no content.xml.".into()))?;
    let mut body = OdfBody { kind: Some(kind), ..OdfBody::default() };
    let mut warnings = Vec::new();
    if let Err(problem) = walk(&xml, |node| body.step(&node)) {
        if body.words.is_empty() || matches!(problem, ReadError::TooLarge(_)) {
            return Err(problem);
        }
        warnings.push(format!("Only the beginning could be read. {problem}"));
    }
    let reading = Reading::of(kind, body.words.finish());
    Ok(Reading { pages: body.pages, warnings, ..reading })
}

#[derive(Default)]
struct OdfBody {
    kind: Option<Kind>,
    words: Words,
    tables: Tables,
    styles: HashMap<String, Marks>,
    style: String,
    lines: Vec<(Line, Option<usize>)>,
    marks: Vec<Marks>,
    lists: usize,
    /// Inside an element whose text is not part of the document.
    skipped: usize,
    pages: usize,
    links: Vec<String>,
    /// The number of columns that the open cell is repeated, and of rows that the open row is.
    wide: usize,
    /// Empty cells that are only written if a non-empty cell follows.
    pending: usize,
    cell_is_empty: bool,
}

impl OdfBody {
    fn step(&mut self, node: &XmlNode<'_>) -> Result<(), ReadError> {
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

    fn open(&mut self, element: &XmlElement) -> Result<(), ReadError> {
        match element.name.as_str() {
            "style" => element.attribute("name").unwrap_or_default().clone_into(&mut self.style),
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
            "list" => self.lists += 1,
            "table" => {
                self.sheet(element);
                self.tables.open();
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
            "notes" => self.words.paragraph("> Notes:"),
            _ => {}
        }
        Ok(())
    }

    fn sheet(&mut self, element: &XmlElement) {
        if self.kind == Some(Kind::Ods) {
            self.pages += 1;
            self.words.heading(2, element.attribute("name").unwrap_or("Sheet"));
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
            "span" => drop(self.marks.pop()),
            "a" => {
                let target = self.links.pop().unwrap_or_default();
                self.plain(&format!("]({target})"));
            }
            "note-citation" => self.plain("]"),
            "list" => self.lists = self.lists.saturating_sub(1),
            "table-cell" | "covered-table-cell" => self.end_cell()?,
            "table-row" => self.tables.end_row()?,
            "table" => self.tables.close(&mut self.words)?,
            _ => {}
        }
        Ok(())
    }

    /// Spreadsheets end with thousands of repeated empty cells. The covered cells of a merged cell
    /// are present as well.
    fn end_cell(&mut self) -> Result<(), ReadError> {
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
            match level {
                Some(level) => self.words.heading(level, text.trim_matches('*')),
                None if self.lists > 0 => self.words.entry(self.lists - 1, false, &text),
                None => self.words.paragraph(&text),
            }
        }
    }
}

/// Deleted content, and metadata.
fn is_skipped(name: &str) -> bool {
    matches!(
        name,
        "tracked-changes"
            | "annotation"
            | "sequence-decls"
            | "scripts"
            | "page-number"
            | "page-count"
    )
}
