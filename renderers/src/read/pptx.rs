//! PowerPoint: slides in presentation order, with their speaker notes.

use std::collections::{BTreeSet, HashMap};

use super::{
    archive::Archive,
    asides::{self, AsideComment, Comments},
    chart,
    docx_lists::task,
    equations::Equation,
    limits,
    links::{escaped, links, within},
    pptx_lists::{Numbering, SlideLists},
    reading::{Kind, ReadError, Reading},
    tables::{MERGED_LEFT, MERGED_UP, Tables},
    words::{ItemMark, Line, Marks, Script, Words},
    xml::{XmlElement, XmlNode, walk},
};
use crate::document::COMMENT_NAME;

pub fn read(bytes: &[u8]) -> Result<Reading, ReadError> {
    let mut archive = Archive::open(bytes)?;
    let slides = slides(&mut archive)?;
    limits::within(slides.len() as u64, limits::PAGES as u64, "slides")?;
    let mut words = Words::default();
    let (mut warnings, mut table_warnings) = (Vec::new(), BTreeSet::new());
    let mut comments = SlideComments::of(&mut archive)?;
    let numbers = numbers(&slides);
    for (at, part) in slides.iter().enumerate() {
        let xml = archive.part(part)?.unwrap_or_default();
        let hidden = if is_hidden(&xml) { " (hidden)" } else { "" };
        words.heading(2, &format!("Slide {}{hidden}", at + 1));
        if xml.is_empty() {
            continue;
        }
        let targets = targets(&mut archive, part, &numbers)?;
        let mut slide = SlideReader { words, targets, ..SlideReader::default() };
        if let Err(problem) = walk(&xml, |node| slide.step(&node)) {
            warnings.push(format!("Slide {} is incomplete. {problem}", at + 1));
        }
        words = slide.words;
        table_warnings.extend(slide.tables.warnings);
        if let Some(notes) = notes(&mut archive, part)? {
            words.paragraph(&format!("> Notes: {}", notes.replace('\n', "\n> ")));
        }
        comments.write_of(part, &mut archive, &mut words)?;
    }
    chart::all(&mut archive, "ppt/charts/", &mut words)?;
    asides::diagrams(&mut archive, "ppt/", &mut words)?;
    comments.write_others(&mut archive, &mut words)?;
    warnings.extend(table_warnings.into_iter().map(str::to_owned));
    let reading = Reading::of(Kind::Pptx, words.finish());
    Ok(Reading { pages: slides.len(), warnings, ..reading })
}

/// The comments of slides, counted over the presentation.
struct SlideComments {
    comments: Comments,
    count: usize,
}

impl SlideComments {
    fn of(archive: &mut Archive) -> Result<Self, ReadError> {
        let authors = ["ppt/commentAuthors.xml", "ppt/authors.xml"].map(str::to_owned);
        Ok(Self { comments: Comments::of(archive, &authors)?, count: 0 })
    }

    /// Writes the comments of a slide.
    fn write_of(
        &mut self,
        slide: &str,
        archive: &mut Archive,
        words: &mut Words,
    ) -> Result<(), ReadError> {
        let comments = self.comments.of_part(archive, slide)?;
        self.write(&comments, words);
        Ok(())
    }

    /// Writes the comments that belong to no slide.
    fn write_others(&mut self, archive: &mut Archive, words: &mut Words) -> Result<(), ReadError> {
        let comments = self.comments.others(archive, "ppt/")?;
        if !comments.is_empty() {
            words.heading(2, "Comments");
        }
        self.write(&comments, words);
        Ok(())
    }

    fn write(&mut self, comments: &[AsideComment], words: &mut Words) {
        for comment in comments {
            self.count += 1;
            words.paragraph(&format!("[^{COMMENT_NAME}{}]: {}", self.count, comment.with_author()));
        }
    }
}

/// Whether a presentation skips the slide, which its first element says.
fn is_hidden(xml: &[u8]) -> bool {
    let mut is_hidden = false;
    let _ = walk(xml, |node| {
        let XmlNode::Open(slide) = node else { return Ok(()) };
        is_hidden = matches!(slide.exactly("show"), Some("0" | "false"));
        // The other elements are not read.
        Err(ReadError::Damaged(String::new()))
    });
    is_hidden
}

/// The slide parts, in order.
pub fn slides(archive: &mut Archive) -> Result<Vec<String>, ReadError> {
    let links = links(archive, "ppt/_rels/presentation.xml.rels")?;
    let xml = archive.part("ppt/presentation.xml")?.unwrap_or_default();
    let mut parts = Vec::new();
    walk(&xml, |node| {
        if let XmlNode::Open(element) = node
            && element.name == "sldId"
            && let Some(target) = element.exactly("r:id").and_then(|id| links.get(id))
        {
            parts.push(within("ppt", target));
        }
        Ok(())
    })?;
    Ok(parts)
}

/// The numbers of the slides by their parts.
fn numbers(slides: &[String]) -> HashMap<String, usize> {
    // Of several slides with the same part, it is the first.
    let numbered = slides.iter().enumerate().rev();
    numbered.map(|(at, slide)| (slide.clone(), at + 1)).collect()
}

/// The targets of a slide's links by their ids; another slide is the anchor of its heading.
fn targets(
    archive: &mut Archive,
    slide: &str,
    numbers: &HashMap<String, usize>,
) -> Result<HashMap<String, String>, ReadError> {
    let Some((folder, name)) = slide.rsplit_once('/') else { return Ok(HashMap::new()) };
    let mut targets = links(archive, &format!("{folder}/_rels/{name}.rels"))?;
    for target in targets.values_mut() {
        let part = within(folder, target);
        if let Some(number) = numbers.get(&part) {
            *target = format!("#slide-{number}");
        } else {
            *target = escaped(target);
        }
    }
    Ok(targets)
}

fn notes(archive: &mut Archive, slide: &str) -> Result<Option<String>, ReadError> {
    let Some((folder, name)) = slide.rsplit_once('/') else { return Ok(None) };
    let links = links(archive, &format!("{folder}/_rels/{name}.rels"))?;
    let notes = links.values().find(|target| target.contains("notesSlide"));
    let Some(part) = notes.map(|target| within(folder, target)) else { return Ok(None) };
    let Some(xml) = archive.part(&part)? else { return Ok(None) };
    let mut slide = SlideReader { only: Some("body"), ..SlideReader::default() };
    let _ = walk(&xml, |node| slide.step(&node));
    Ok(Some(slide.words.finish()).filter(|text| !text.is_empty()))
}

#[derive(Default)]
struct SlideReader {
    words: Words,
    tables: Tables,
    line: Option<Line>,
    marks: Marks,
    depth: usize,
    bulleted: bool,
    /// For a task, whether it is done.
    task: Option<bool>,
    /// The numbered list that the paragraph belongs to.
    numbering: Option<Numbering>,
    /// How far the lists of this shape are counted.
    lists: SlideLists,
    /// The targets of links by their ids.
    targets: HashMap<String, String>,
    in_run: bool,
    /// The target of the open run, and the one whose text is open.
    run_target: Option<String>,
    open_target: Option<String>,
    /// The type of the open placeholder.
    placeholder: String,
    /// For each open shape and group, whether it is not shown.
    hidden: Vec<bool>,
    /// If set, only this type of placeholder is read.
    only: Option<&'static str>,
    in_text: bool,
    /// The open equation.
    equation: Option<Equation>,
    /// The number of open elements of duplicate content.
    skipped: usize,
}

impl SlideReader {
    fn step(&mut self, node: &XmlNode<'_>) -> Result<(), ReadError> {
        match node {
            XmlNode::Open(element) if self.skipped > 0 || element.name == "Fallback" => {
                self.skipped += 1;
            }
            XmlNode::Close(_) if self.skipped > 0 => self.skipped -= 1,
            XmlNode::Text(_) if self.skipped > 0 => {}
            XmlNode::Open(element) => self.open(element),
            XmlNode::Text(text) if self.in_text => {
                if let Some(equation) = &mut self.equation {
                    equation.text(text);
                    return Ok(());
                }
                self.turn_to(self.run_target.clone());
                if let Some(line) = &mut self.line {
                    line.push(text, self.marks);
                }
            }
            XmlNode::Text(_) => {}
            XmlNode::Close(name) => self.close(name)?,
        }
        Ok(())
    }

    fn open(&mut self, element: &XmlElement) {
        if let Some(equation) = &mut self.equation {
            equation.open(element);
        }
        match element.name.as_str() {
            name if is_shape(name) => {
                self.placeholder.clear();
                self.hidden.push(self.is_hidden());
            }
            "ph" => element.attribute("type").unwrap_or("body").clone_into(&mut self.placeholder),
            "cNvPr" => self.begin_shape(element),
            "txBody" => self.lists = SlideLists::default(),
            "p" => {
                (self.line, self.depth, self.bulleted) = (Some(Line::default()), 0, false);
                (self.numbering, self.open_target, self.task) = (None, None, None);
            }
            "pPr" => self.depth = element.number("lvl").unwrap_or(0),
            "buChar" => {
                self.bulleted = true;
                self.task = task(element.attribute("char").unwrap_or_default());
            }
            "buAutoNum" => {
                self.bulleted = true;
                self.numbering = Some(Numbering::read(element));
            }
            "rPr" => {
                let is = |name| matches!(element.attribute(name), Some("1" | "true"));
                let strike = element.attribute("strike").is_some_and(|strike| strike != "noStrike");
                let script = element.attribute("baseline").map_or(Script::Level, script);
                self.marks = Marks { strong: is("b"), emphasis: is("i"), strike, script };
            }
            "r" => (self.in_run, self.marks, self.run_target) = (true, Marks::default(), None),
            "hlinkClick" if self.in_run => {
                let target = element.exactly("r:id").and_then(|id| self.targets.get(id));
                self.run_target = target.cloned();
            }
            "t" => self.in_text = true,
            "br" => {
                self.turn_to(None);
                self.plain("\n");
            }
            "oMath" if self.equation.is_none() => self.equation = Some(Equation::begin()),
            "tbl" => self.tables.open(),
            "tr" => self.tables.row(),
            "tc" => {
                self.tables.cell();
                // The parts of a merged cell are cells, too.
                let is = |name| matches!(element.attribute(name), Some("1" | "true"));
                self.tables.merge(match (is("vMerge"), is("hMerge")) {
                    (true, _) => Some(MERGED_UP),
                    (false, true) => Some(MERGED_LEFT),
                    (false, false) => None,
                });
            }
            _ => {}
        }
    }

    /// Reads what a shape is, and its description.
    fn begin_shape(&mut self, element: &XmlElement) {
        if let Some(is_hidden) = self.hidden.last_mut() {
            *is_hidden |= matches!(element.attribute("hidden"), Some("1" | "true"));
        }
        let says = element.attribute("descr").filter(|says| !says.is_empty());
        if let (Some(says), None) = (says, self.only) {
            let text = self.marked(format!("![{says}]"));
            self.words.paragraph(&text);
        }
    }

    fn is_hidden(&self) -> bool {
        self.hidden.last() == Some(&true)
    }

    /// The text with a mark if its shape is not shown.
    fn marked(&self, text: String) -> String {
        if self.is_hidden() && !text.is_empty() { format!("{{hidden: {text}}}") } else { text }
    }

    /// Ends the open link, and begins the one to this target.
    fn turn_to(&mut self, target: Option<String>) {
        if self.open_target == target {
            return;
        }
        if let Some(ended) = std::mem::replace(&mut self.open_target, target) {
            self.plain(&format!("]({ended})"));
        }
        if self.open_target.is_some() {
            self.plain("[");
        }
    }

    fn plain(&mut self, text: &str) {
        if let Some(line) = &mut self.line {
            line.push_plain(text);
        }
    }

    fn close(&mut self, name: &str) -> Result<(), ReadError> {
        if let Some(text) = self.equation.as_mut().and_then(|equation| equation.close(name)) {
            self.equation = None;
            self.plain(&text);
        }
        match name {
            "t" => self.in_text = false,
            "r" => (self.in_run, self.run_target) = (false, None),
            "p" => self.flush_paragraph(),
            name if is_shape(name) => drop(self.hidden.pop()),
            "tc" => self.tables.end_cell(),
            "tbl" => self.tables.close(&mut self.words)?,
            _ => {}
        }
        Ok(())
    }

    fn flush_paragraph(&mut self) {
        self.turn_to(None);
        let Some(line) = self.line.take() else { return };
        if self.only.is_some_and(|only| only != self.placeholder) {
            return;
        }
        let mut text = line.finish();
        // Between two lists, the renderer writes a paragraph that shows nothing.
        if text.chars().all(|c| c == '\u{200b}') {
            text.clear();
        }
        let text = self.marked(text);
        if self.tables.take(&text) {
            return;
        }
        let numbering = self.numbering.take().filter(|_| !text.is_empty());
        let counted = self.lists.mark(self.depth, numbering);
        match self.placeholder.as_str() {
            "title" | "ctrTitle" => self.words.heading(3, text.trim_matches('*')),
            "sldNum" | "dt" | "ftr" => {}
            _ if self.depth > 0 || self.bulleted => {
                let mark = self.task.map_or(counted, ItemMark::Task);
                self.words.item(self.depth, &mark, &text);
            }
            _ => self.words.text(&text),
        }
    }
}

/// Whether an element is a shape or a group, which has its own `cNvPr`.
fn is_shape(name: &str) -> bool {
    matches!(name, "sp" | "pic" | "graphicFrame" | "grpSp" | "cxnSp" | "contentPart")
}

/// What a value of `baseline` says: a part of the font size, such as `30000` or `-25%`.
fn script(baseline: &str) -> Script {
    match baseline.trim_end_matches('%').parse::<f64>() {
        Ok(shift) if shift > 0.0 => Script::Raised,
        Ok(shift) if shift < 0.0 => Script::Lowered,
        _ => Script::Level,
    }
}
