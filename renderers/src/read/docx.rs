//! A tolerant reader of Word files: a damaged document is read up to the damage.
//!
//! `docx-rs` is not used, because it panics on one of ten damaged files and loops on some.

use std::collections::{BTreeMap, HashMap};

use super::{
    archive::Archive,
    asides, chart,
    links::links,
    reading::{Kind, ReadError, Reading},
    words::{Line, Marks, Tables, Words},
    xml::{Element, Node, walk},
};

pub fn read(bytes: &[u8]) -> Result<Reading, ReadError> {
    let mut archive = Archive::open(bytes)?;
    let mut body = Body {
        levels: levels(&mut archive)?,
        numbered: numbered(&mut archive)?,
        links: links(&mut archive, "word/_rels/document.xml.rels")?,
        ..Body::default()
    };
    let mut warnings = Vec::new();
    let main = archive.part("word/document.xml")?.unwrap_or_default();
    if let Err(problem) = walk(&main, |node| body.step(&node)) {
        if body.words.is_empty() || matches!(problem, ReadError::TooLarge(_)) {
            return Err(problem);
        }
        warnings.push(format!("Only the beginning could be read. {problem}"));
    }
    for (part, title) in [
        ("word/footnotes.xml", "Footnotes"),
        ("word/endnotes.xml", "Endnotes"),
        ("word/comments.xml", "Comments"),
    ] {
        if let Some(xml) = archive.part(part)? {
            body.notes(&xml, title)?;
        }
    }
    chart::all(&mut archive, "word/charts/", &mut body.words)?;
    asides::diagrams(&mut archive, "word/", &mut body.words)?;
    body.edges(&mut archive)?;
    if body.deletions > 0 {
        warnings.push("Text deleted with tracked changes was skipped.".into());
    }
    Ok(Reading { warnings, ..Reading::of(Kind::Docx, body.words.finish()) })
}

/// The heading level of each style.
fn levels(archive: &mut Archive) -> Result<HashMap<String, usize>, ReadError> {
    let mut levels = HashMap::new();
    let Some(xml) = archive.part("word/styles.xml")? else { return Ok(levels) };
    let mut style = String::new();
    // A document with damaged styles is still read.
    let _ = walk(&xml, |node| {
        let Node::Open(element) = node else { return Ok(()) };
        let value = element.attribute("val").unwrap_or_default();
        match element.name.as_str() {
            "style" => element.attribute("styleId").unwrap_or_default().clone_into(&mut style),
            "name" => {
                let name = value.to_lowercase();
                let level = name.strip_prefix("heading ").and_then(|level| level.parse().ok());
                let level = if name == "title" { Some(1) } else { level };
                levels.extend(level.map(|level| (style.clone(), level)));
            }
            "outlineLvl" => {
                let level = element.number("val").filter(|level| *level < 9);
                levels.extend(level.map(|level| (style.clone(), level + 1)));
            }
            _ => {}
        }
        Ok(())
    });
    Ok(levels)
}

/// The numbered lists, by number and level.
fn numbered(archive: &mut Archive) -> Result<BTreeMap<(String, usize), bool>, ReadError> {
    let Some(xml) = archive.part("word/numbering.xml")? else { return Ok(BTreeMap::new()) };
    let mut formats: HashMap<(String, usize), bool> = HashMap::new();
    let mut lists: Vec<(String, String)> = Vec::new();
    let (mut kind, mut list, mut level) = (String::new(), String::new(), 0);
    let _ = walk(&xml, |node| {
        let Node::Open(element) = node else { return Ok(()) };
        let value = element.attribute("val").unwrap_or_default();
        match element.name.as_str() {
            "abstractNum" => {
                element.attribute("abstractNumId").unwrap_or_default().clone_into(&mut kind);
            }
            "lvl" => level = element.number("ilvl").unwrap_or(0),
            "numFmt" => {
                formats.insert((kind.clone(), level), !matches!(value, "bullet" | "none"));
            }
            "num" => element.attribute("numId").unwrap_or_default().clone_into(&mut list),
            "abstractNumId" => lists.push((list.clone(), value.to_owned())),
            _ => {}
        }
        Ok(())
    });
    let mut numbered = BTreeMap::new();
    for (list, kind) in lists {
        for level in 0..9 {
            let counts = formats.get(&(kind.clone(), level)).copied().unwrap_or(false);
            numbered.insert((list.clone(), level), counts);
        }
    }
    Ok(numbered)
}

#[derive(Default)]
struct Body {
    levels: HashMap<String, usize>,
    numbered: BTreeMap<(String, usize), bool>,
    links: HashMap<String, String>,
    words: Words,
    tables: Tables,
    /// The text of a shape is a paragraph inside a paragraph.
    paragraphs: Vec<Paragraph>,
    marks: Marks,
    in_run: bool,
    /// Inside an element whose text is not part of the document.
    skipped: usize,
    link: Option<String>,
    wide: usize,
    deletions: usize,
}

#[derive(Default)]
struct Paragraph {
    line: Line,
    style: String,
    outline: Option<usize>,
    list: Option<String>,
    depth: usize,
}

impl Body {
    fn step(&mut self, node: &Node<'_>) -> Result<(), ReadError> {
        match node {
            Node::Open(element) if self.skipped > 0 || is_skipped(&element.name) => {
                self.deletions += usize::from(matches!(element.name.as_str(), "del" | "moveFrom"));
                self.skipped += 1;
            }
            Node::Close(_) if self.skipped > 0 => self.skipped -= 1,
            Node::Text(_) if self.skipped > 0 => {}
            Node::Open(element) => self.open(element),
            Node::Text(text) if self.in_text() => self.push(text),
            Node::Text(_) => {}
            Node::Close(name) => self.close(name)?,
        }
        Ok(())
    }

    fn open(&mut self, element: &Element) {
        let value = || element.attribute("val").unwrap_or_default().to_owned();
        match element.name.as_str() {
            "p" => self.paragraphs.push(Paragraph::default()),
            "r" => (self.in_run, self.marks) = (true, Marks::default()),
            "b" if self.in_run => self.marks.strong = element.is_on(),
            "i" if self.in_run => self.marks.emphasis = element.is_on(),
            "strike" | "dstrike" if self.in_run => self.marks.strike = element.is_on(),
            "tab" if self.in_run => self.push("\t"),
            "br" | "cr" if self.in_run => self.push("\n"),
            "noBreakHyphen" => self.push("-"),
            "hyperlink" => {
                let id = element.exactly("r:id").unwrap_or_default();
                self.link = self.links.get(id).cloned();
                if self.link.is_some() {
                    self.plain("[");
                }
            }
            "footnoteReference" | "endnoteReference" => {
                let id = element.attribute("id").unwrap_or_default().to_owned();
                self.plain(&format!("[^{id}]"));
            }
            "docPr" => {
                let says = element.attribute("descr").or_else(|| element.attribute("title"));
                if let Some(says) = says.filter(|says| !says.is_empty()) {
                    self.plain(&format!("![{says}]"));
                }
            }
            "tbl" => self.tables.open(),
            "tr" => self.tables.row(),
            "tc" => {
                self.wide = 1;
                self.tables.cell();
            }
            "gridSpan" => self.wide = element.number("val").unwrap_or(1),
            _ => {
                if let Some(paragraph) = self.paragraphs.last_mut() {
                    match element.name.as_str() {
                        "pStyle" => paragraph.style = value(),
                        "outlineLvl" => paragraph.outline = element.number("val"),
                        "ilvl" => paragraph.depth = element.number("val").unwrap_or(0).min(8),
                        "numId" => paragraph.list = Some(value()).filter(|id| id != "0"),
                        _ => {}
                    }
                }
            }
        }
    }

    fn in_text(&self) -> bool {
        !self.paragraphs.is_empty()
    }

    fn push(&mut self, text: &str) {
        if let Some(paragraph) = self.paragraphs.last_mut() {
            paragraph.line.push(text, self.marks);
        }
    }

    fn plain(&mut self, text: &str) {
        if let Some(paragraph) = self.paragraphs.last_mut() {
            paragraph.line.push_plain(text);
        }
    }

    fn close(&mut self, name: &str) -> Result<(), ReadError> {
        match name {
            "r" => (self.in_run, self.marks) = (false, Marks::default()),
            "hyperlink" => {
                if let Some(target) = self.link.take() {
                    self.plain(&format!("]({target})"));
                }
            }
            "p" => self.flush_paragraph(),
            "tc" => self.tables.end_cell(self.wide),
            "tbl" => self.tables.close(&mut self.words)?,
            _ => {}
        }
        Ok(())
    }

    fn flush_paragraph(&mut self) {
        let Some(paragraph) = self.paragraphs.pop() else { return };
        let level = paragraph.outline.filter(|level| *level < 9).map(|level| level + 1);
        let level = level.or_else(|| self.levels.get(&paragraph.style).copied());
        let text = paragraph.line.finish();
        if self.tables.take(&text) {
            return;
        }
        match (level, paragraph.list) {
            (Some(level), _) => self.words.heading(level, text.trim_matches('*')),
            (None, Some(list)) => {
                let numbered = self.numbered.get(&(list, paragraph.depth)).copied();
                self.words.entry(paragraph.depth, numbered.unwrap_or(false), &text);
            }
            (None, None) => self.words.paragraph(&text),
        }
    }

    /// Headers and footers, each once.
    fn edges(&mut self, archive: &mut Archive) -> Result<(), ReadError> {
        let mut texts: Vec<String> = Vec::new();
        let parts = ["word/header", "word/footer"].map(|start| archive.numbered(start));
        for part in parts.concat() {
            let mut edge = Self::default();
            let xml = archive.part(&part)?.unwrap_or_default();
            // A damaged header or footer is ignored.
            let _ = walk(&xml, |node| edge.step(&node));
            let text = edge.words.finish();
            if !text.is_empty() && !texts.contains(&text) {
                texts.push(text);
            }
        }
        self.words.edges(&texts);
        Ok(())
    }

    /// Footnotes and comments, each as a paragraph with its number.
    fn notes(&mut self, xml: &[u8], title: &str) -> Result<(), ReadError> {
        let mut notes = Self::default();
        let mut all: Vec<(String, Words)> = Vec::new();
        walk(xml, |node| {
            match &node {
                Node::Open(element)
                    if matches!(element.name.as_str(), "footnote" | "endnote" | "comment") =>
                {
                    let who = element.attribute("author").map(|who| format!(" {who}"));
                    let id = element.attribute("id").unwrap_or_default();
                    all.push((format!("{id}{}", who.unwrap_or_default()), Words::default()));
                }
                Node::Close("footnote" | "endnote" | "comment") => {
                    if let Some((_, words)) = all.last_mut() {
                        *words = std::mem::take(&mut notes.words);
                    }
                }
                _ => notes.step(&node)?,
            }
            Ok(())
        })?;
        all.retain(|(_, words)| !words.is_empty());
        if !all.is_empty() {
            self.words.heading(2, title);
        }
        for (id, words) in all {
            self.words.paragraph(&format!("[^{id}]: {}", words.finish()));
        }
        Ok(())
    }
}

/// Duplicate content, deleted content, and content that is not text.
fn is_skipped(name: &str) -> bool {
    matches!(
        name,
        "Fallback" | "del" | "moveFrom" | "instrText" | "posOffset" | "pctWidth" | "pctHeight"
    )
}
