//! OpenDocument: texts, spreadsheets and presentations share their elements.

use std::collections::BTreeSet;

use super::{
    archive::Archive,
    limits,
    links::escaped,
    odf_comments::OdfComments,
    odf_edges::edges,
    odf_hidden::{OdfSections, is_hidden_now, is_skipped},
    odf_lists::OdfLists,
    odf_sheets::OdfSheet,
    odf_styles::{OdfSpan, OdfStyles},
    odf_tables::{OdfLine, OdfTable},
    reading::{Kind, ReadError, Reading},
    sheet_edges::is_page_number,
    sheets::{CellBudget, CutSheet, skipped_columns, title},
    tables::Tables,
    words::{Line, Words},
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
    let styles = archive.part("styles.xml").ok().flatten().unwrap_or_default();
    body.styles.read_all(&styles, |element| body.lists.read_style(element));
    let mut warnings = Vec::new();
    if let Err(problem) = walk(&xml, |node| body.step(&node)) {
        if body.words.is_empty() || matches!(problem, ReadError::TooLarge(_)) {
            return Err(problem);
        }
        warnings.push(format!("Only the beginning could be read. {problem}"));
    }
    warnings.extend(body.sheets.take().map(|budget| budget.sizes).unwrap_or_default());
    body.write_notes();
    body.comments.write_to(&mut body.words);
    for object in body.objects.iter().take(OBJECTS) {
        add_object(&mut archive, object, &mut body.words);
    }
    if body.objects.len() > OBJECTS {
        warnings.push(format!("Only {OBJECTS} charts and embedded objects were read."));
    }
    // Those of slides are the same on all of them.
    if kind != Kind::Odp {
        let mut texts = edges(&styles, &body.styles.masters);
        texts.retain(|text| kind != Kind::Ods || !is_page_number(text));
        body.words.edges(&texts);
    }
    warnings.extend(body.tables.warnings.iter().map(|warning| (*warning).to_owned()));
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
pub struct OdfBody {
    kind: Option<Kind>,
    words: Words,
    tables: Tables,
    /// The rows of the open tables.
    open_tables: Vec<OdfTable>,
    styles: OdfStyles,
    /// The open paragraphs of the innermost table, or of the text around the tables.
    lines: Vec<OdfLine>,
    spans: Vec<OdfSpan>,
    sections: OdfSections,
    lists: OdfLists,
    comments: OdfComments,
    /// The texts of footnotes, and whether the last one is open.
    notes: Vec<String>,
    in_note: bool,
    /// The folders of embedded objects.
    objects: BTreeSet<String>,
    /// For each open frame, whether it is the title of a slide.
    frames: Vec<bool>,
    /// Whether this is a header or footer.
    is_edge: bool,
    /// Inside an element whose text is not part of the document.
    skipped: usize,
    pages: usize,
    /// The cells that may still be shown, in a spreadsheet.
    sheets: Option<CellBudget>,
    /// The name of the open sheet.
    sheet_name: String,
    sheet: OdfSheet,
    links: Vec<String>,
}

impl OdfBody {
    /// The body of a header or footer.
    pub fn of_edge() -> Self {
        Self { is_edge: true, ..Self::default() }
    }

    pub fn finish(self) -> String {
        self.words.finish()
    }

    pub fn step(&mut self, node: &XmlNode<'_>) -> Result<(), ReadError> {
        let mut mark = None;
        if self.skipped == 0 && self.comments.take(node, &mut mark) {
            if let Some(mark) = mark {
                self.add_mark(&mark);
            }
            return Ok(());
        }
        match node {
            XmlNode::Open(element) if self.skipped > 0 || self.skips(&element.name) => {
                if self.skipped == 0 && self.is_edge && element.name.starts_with("page-") {
                    self.push("#");
                }
                self.skipped += 1;
            }
            // The name of a document that is only known when it is printed.
            XmlNode::Text("???") if self.is_edge => {}
            XmlNode::Close(_) if self.skipped > 0 => self.skipped -= 1,
            XmlNode::Text(_) if self.skipped > 0 => {}
            XmlNode::Open(element) => self.open(element)?,
            XmlNode::Text(text) => self.push(text),
            XmlNode::Close(name) => self.close(name)?,
        }
        Ok(())
    }

    /// Whether an element is no content. The name of a sheet is its heading, and no part of a header.
    fn skips(&self, name: &str) -> bool {
        is_skipped(name) || (self.is_edge && name == "sheet-name")
    }

    fn begin_note(&mut self) {
        self.notes.push(String::new());
        self.in_note = true;
        self.plain(&format!("[^{}]", self.notes.len()));
    }

    /// Writes the footnotes with their marks, as for Word files.
    fn write_notes(&mut self) {
        if self.notes.iter().any(|note| !note.is_empty()) {
            self.words.heading(2, "Footnotes");
        }
        for (at, note) in self.notes.iter().enumerate().filter(|(_, note)| !note.is_empty()) {
            self.words.paragraph(&format!("[^{}]: {note}", at + 1));
        }
    }

    /// The mark of a comment, in its paragraph or below the text of its cell.
    fn add_mark(&mut self, mark: &str) {
        if !self.lines.is_empty() {
            self.plain(mark);
            return;
        }
        match self.open_tables.last_mut().filter(|_| self.tables.is_in_cell()) {
            Some(table) => table.add_comment(mark),
            None => self.words.paragraph(mark),
        }
    }

    fn read_style(&mut self, element: &XmlElement) {
        self.styles.read(element);
        self.lists.read_style(element);
    }

    fn open(&mut self, element: &XmlElement) -> Result<(), ReadError> {
        match element.name.as_str() {
            "h" | "p" => self.begin_paragraph(element),
            "span" => {
                let span = self.styles.span(element);
                self.spans.push(span);
                if span.is_hidden {
                    self.plain("{hidden: ");
                }
            }
            "section" => self.sections.open(element),
            "hidden-paragraph" => {
                if let Some(line) = self.lines.last_mut() {
                    line.is_hidden |= is_hidden_now(element);
                }
            }
            "s" => self.push(&" ".repeat(element.number("c").unwrap_or(1).min(100))),
            "tab" => self.push("\t"),
            "line-break" => self.push("\n"),
            "a" => {
                self.links.push(element.attribute("href").unwrap_or_default().to_owned());
                self.plain("[");
            }
            "note" => self.begin_note(),
            "list" => self.lists.open(element),
            "list-item" => self.lists.item(element),
            "object" => {
                self.objects.extend(element.attribute("href").map(str::to_owned));
            }
            "table" => self.open_table(element),
            "table-column" if self.open_tables.len() == 1 => self.sheet.add_column(element),
            "table-row" => {
                if self.open_tables.len() == 1 {
                    self.sheet.begin_row(element);
                }
                if let Some(table) = self.open_tables.last_mut() {
                    table.begin_row();
                }
                self.tables.row();
                self.tables.repeat_row(element.number("number-rows-repeated").unwrap_or(1));
            }
            "table-cell" | "covered-table-cell" => {
                if let Some(table) = self.open_tables.last_mut() {
                    table.begin_cell(element);
                }
                self.tables.cell();
            }
            "page" if self.kind == Some(Kind::Odp) => {
                self.pages += 1;
                limits::within(self.pages as u64, limits::PAGES as u64, "slides")?;
                let name = format!("Slide {}", self.pages);
                self.words.heading(2, &title(&name, self.styles.is_hidden(element)));
            }
            "frame" => self.frames.push(element.attribute("class") == Some("title")),
            "notes" => self.words.paragraph(NOTES),
            _ => self.read_style(element),
        }
        Ok(())
    }

    fn begin_paragraph(&mut self, element: &XmlElement) {
        let level = match element.name.as_str() {
            "h" => Some(element.number("outline-level").unwrap_or(1)),
            _ => self.styles.title_level(element),
        };
        let is_hidden = self.sections.are_hidden() || self.styles.is_hidden(element);
        self.lines.push(OdfLine { line: Line::default(), level, is_hidden });
    }

    fn open_table(&mut self, element: &XmlElement) {
        if self.open_tables.is_empty() {
            self.begin_sheet(element);
        }
        match &mut self.sheets {
            Some(budget) if self.open_tables.is_empty() => {
                self.tables.open_limited(budget.next_sheet());
            }
            _ => self.tables.open(),
        }
        let outer_lines = std::mem::take(&mut self.lines);
        self.open_tables.push(OdfTable::inside(outer_lines));
    }

    fn close_table(&mut self) -> Result<(), ReadError> {
        self.count_cells();
        self.tables.close(&mut self.words)?;
        self.lines = self.open_tables.pop().unwrap_or_default().outer_lines;
        if self.sheets.is_some() && self.open_tables.is_empty() {
            for note in self.sheet.notes() {
                self.words.paragraph(&note);
            }
        }
        Ok(())
    }

    fn begin_sheet(&mut self, element: &XmlElement) {
        if self.kind == Some(Kind::Ods) {
            self.pages += 1;
            let name = element.attribute("name").unwrap_or("Sheet");
            self.words.heading(2, &title(name, self.styles.is_hidden(element)));
            name.clone_into(&mut self.sheet_name);
            self.sheet = OdfSheet::default();
        }
    }

    fn push(&mut self, text: &str) {
        let OdfSpan { marks, .. } = self.spans.last().copied().unwrap_or_default();
        if let Some(OdfLine { line, .. }) = self.lines.last_mut() {
            line.push(text, marks);
        }
    }

    fn plain(&mut self, text: &str) {
        if let Some(OdfLine { line, .. }) = self.lines.last_mut() {
            line.push_plain(text);
        }
    }

    fn close(&mut self, name: &str) -> Result<(), ReadError> {
        match name {
            "h" | "p" => self.flush_paragraph(),
            "notes" => self.words.retract(NOTES),
            "span" if self.spans.pop().is_some_and(|span| span.is_hidden) => self.plain("}"),
            "section" => self.sections.close(),
            "a" => {
                let target = self.links.pop().unwrap_or_default();
                self.plain(&format!("]({})", escaped(&target)));
            }
            "note" => self.in_note = false,
            "list" => self.lists.close(),
            "frame" => drop(self.frames.pop()),
            "table-cell" | "covered-table-cell" => self.end_cell()?,
            "table-row" => {
                if let Some(table) = self.open_tables.last_mut() {
                    table.end_row(&mut self.tables)?;
                }
            }
            "table" => self.close_table()?,
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
        if table.is_wide {
            budget.sizes.push(skipped_columns(&self.sheet_name));
        }
    }

    fn end_cell(&mut self) -> Result<(), ReadError> {
        let is_outermost = self.open_tables.len() == 1;
        let Some(table) = self.open_tables.last_mut() else { return Ok(()) };
        let columns = table.end_text(&mut self.tables);
        if is_outermost {
            self.sheet.end_cell(columns, self.tables.is_cell_empty());
        }
        table.end_cell(&mut self.tables)
    }

    fn flush_paragraph(&mut self) {
        let Some(line) = self.lines.pop() else { return };
        let (level, text) = (line.level, line.finish());
        if let Some(note) = self.notes.last_mut().filter(|_| self.in_note) {
            let space = if note.is_empty() || text.is_empty() { "" } else { " " };
            note.extend([space, &text]);
        // The text of a shape is inserted at its place.
        } else if let Some(OdfLine { line: outer, .. }) = self.lines.last_mut() {
            outer.push_plain(&format!("({text})"));
        } else if !self.tables.take(&text) {
            let is_title = self.frames.last() == Some(&true);
            // As in other presentations, below the number of the slide.
            let level = level.or(is_title.then_some(3));
            match (level, self.lists.depth()) {
                (Some(level), _) => self.words.heading(level, text.trim_matches('*')),
                (None, Some(depth)) => {
                    let mark = self.lists.mark();
                    self.words.item(depth, &mark, &text);
                }
                (None, None) => self.words.text(&text),
            }
        }
    }
}
