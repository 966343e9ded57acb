//! A tolerant reader of Word files: a damaged document is read up to the damage.
//!
//! `docx-rs` is not used, because it panics on one of ten damaged files and loops on some.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    rc::Rc,
};

use super::{
    archive::Archive,
    asides, chart,
    docx_chunks::chunks,
    docx_frames::{FramedParagraph, WordFrame, add_table},
    docx_lists::WordLists,
    docx_paragraphs::{WordParagraph, note_name},
    docx_styles::{self, NamedStyle, styles},
    limits,
    links::{escaped, links},
    reading::{Kind, ReadError, Reading},
    symbol_fonts,
    tables::{MERGED_LEFT, MERGED_UP, Tables},
    words::{EdgeTexts, Words},
    xml::{XmlElement, XmlNode, walk},
};

/// The styles of quotes in Word and in the renderers.
const QUOTES: [&str; 3] = ["Quote", "QuoteRtl", "IntenseQuote"];

pub fn read(bytes: &[u8]) -> Result<Reading, ReadError> {
    let mut archive = Archive::open(bytes)?;
    let styles = styles(&mut archive)?;
    let links = links(&mut archive, "word/_rels/document.xml.rels")?;
    let mut body = WordBody {
        chunks: chunks(&mut archive, &links),
        hidden_styles: Rc::new(docx_styles::hidden(&styles)),
        styles,
        lists: WordLists::read(&mut archive)?,
        links,
        ..WordBody::default()
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
        let Some(xml) = archive.part(part)? else { continue };
        match body.notes(&xml, title) {
            Err(too_large @ ReadError::TooLarge(_)) => return Err(too_large),
            Err(problem) => warnings.push(format!("{title} are incomplete. {problem}")),
            Ok(()) => {}
        }
    }
    chart::all(&mut archive, "word/charts/", &mut body.words)?;
    asides::diagrams(&mut archive, "word/", &mut body.words)?;
    body.edges(&mut archive)?;
    if body.has_lost_chunk {
        warnings.push("Embedded documents were skipped.".into());
    }
    if body.has_changes {
        warnings.push("Tracked changes are marked: {++inserted++}, {--deleted--}.".into());
    }
    warnings.extend(symbol_fonts::warning(&body.unknown_fonts));
    warnings.extend(body.tables.warnings.iter().map(|warning| (*warning).to_owned()));
    Ok(Reading { warnings, ..Reading::of(Kind::Docx, body.words.finish()) })
}

#[derive(Default)]
struct WordBody {
    styles: HashMap<String, NamedStyle>,
    /// The ids of the styles whose text is hidden, also in notes, headers and footers.
    hidden_styles: Rc<HashSet<String>>,
    lists: WordLists,
    links: HashMap<String, String>,
    /// The embedded documents that are not in the text so far, by their ids.
    chunks: HashMap<String, String>,
    /// Whether an embedded document could not be read.
    has_lost_chunk: bool,
    words: Words,
    tables: Tables,
    /// What each open table would be if it were none.
    frames: Vec<WordFrame>,
    /// The text of a shape is a paragraph inside a paragraph.
    paragraphs: Vec<WordParagraph>,
    /// Inside an element whose text is not part of the document.
    skipped: usize,
    has_changes: bool,
    /// The fonts of symbols that have no Unicode character.
    unknown_fonts: BTreeSet<String>,
    /// Whether the properties of a row are open.
    in_row_properties: bool,
    /// The bookmark that is open, and the footnotes by the bookmarks around their marks.
    bookmark: Option<String>,
    marked_notes: HashMap<String, String>,
}

impl WordBody {
    fn step(&mut self, node: &XmlNode<'_>) -> Result<(), ReadError> {
        match node {
            XmlNode::Open(element) if self.skips(element) => self.skipped += 1,
            XmlNode::Close(_) if self.skipped > 0 => self.skipped -= 1,
            XmlNode::Text(_) if self.skipped > 0 => {}
            XmlNode::Open(element) => self.open(element),
            XmlNode::Text(text) => {
                if let Some(paragraph) = self.paragraphs.last_mut() {
                    paragraph.run_text(text);
                }
            }
            XmlNode::Close(name) => self.close(name)?,
        }
        Ok(())
    }

    /// Whether an element is not read, or has been.
    fn skips(&mut self, element: &XmlElement) -> bool {
        self.skipped > 0 || is_skipped(&element.name) || self.mentions_note(element)
    }

    /// Writes the mark of a footnote that is mentioned again, in place of the number that is its
    /// text.
    fn mentions_note(&mut self, element: &XmlElement) -> bool {
        let field = element.attribute("instr").filter(|_| element.name == "fldSimple");
        let mut words = field.unwrap_or_default().split_whitespace();
        let name = words.next().filter(|field| *field == "NOTEREF").and_then(|_| words.next());
        let note = name.and_then(|name| self.marked_notes.get(name));
        let (Some(note), Some(paragraph)) = (note, self.paragraphs.last_mut()) else {
            return false;
        };
        paragraph.line.push_plain(&format!("[^{note}]"));
        true
    }

    fn open(&mut self, element: &XmlElement) {
        match element.name.as_str() {
            "p" => self.paragraphs.push(WordParagraph::inside(self.paragraphs.last())),
            "tbl" => {
                self.tables.open();
                self.frames.push(WordFrame::default());
            }
            "tr" => self.tables.row(),
            // The columns before the first cell of a row.
            "gridBefore" => self.tables.pad(element.number("val").unwrap_or(0)),
            "tc" => {
                if let Some(frame) = self.frames.last_mut() {
                    frame.open_cell();
                }
                self.tables.cell();
            }
            "gridSpan" => self.tables.span(element.number("val").unwrap_or(1)),
            "hMerge" | "vMerge" if element.attribute("val") != Some("restart") => {
                let is_row = element.name == "hMerge";
                self.tables.merge(Some(if is_row { MERGED_LEFT } else { MERGED_UP }));
            }
            "trPr" => self.in_row_properties = true,
            "del" if self.in_row_properties => {
                if let Some(frame) = self.frames.last_mut() {
                    frame.has_deleted_row = true;
                }
            }
            "bookmarkStart" => self.bookmark = element.attribute("name").map(limits::name),
            "bookmarkEnd" => self.bookmark = None,
            "altChunk" => self.chunk(element.exactly("r:id").unwrap_or_default()),
            "pStyle" | "rStyle" => self.begin_style(element),
            name => {
                let Some(paragraph) = self.paragraphs.last_mut() else { return };
                if let ("footnoteReference" | "endnoteReference", Some(bookmark)) =
                    (name, &self.bookmark)
                {
                    let note = self.marked_notes.entry(bookmark.clone());
                    note.or_insert_with(|| note_name(element));
                }
                if name != "hyperlink" {
                    return paragraph.open(element);
                }
                let id = element.exactly("r:id").unwrap_or_default();
                if let Some(target) = self.links.get(id) {
                    paragraph.begin_link(escaped(target));
                }
            }
        }
    }

    /// Writes an embedded document. It is written once, because many places may refer to it.
    fn chunk(&mut self, id: &str) {
        match self.chunks.remove(id) {
            Some(text) if self.tables.take(&text) => {}
            Some(text) => self.words.paragraph(&text),
            None => self.has_lost_chunk = true,
        }
    }

    /// Applies the style of the open paragraph or run.
    fn begin_style(&mut self, element: &XmlElement) {
        let Some(paragraph) = self.paragraphs.last_mut() else { return };
        let style = limits::name(element.attribute("val").unwrap_or_default());
        let is_hidden = self.hidden_styles.contains(&style);
        if element.name == "rStyle" {
            paragraph.style_run(docx_styles::resolved(&self.styles, &style).script);
            if is_hidden {
                paragraph.hide_run();
            }
        } else {
            paragraph.is_hidden |= is_hidden;
            paragraph.open(element);
        }
    }

    fn close(&mut self, name: &str) -> Result<(), ReadError> {
        match name {
            "p" => self.flush_paragraph(),
            "tc" => self.tables.end_cell(),
            "trPr" => self.in_row_properties = false,
            "tr" => self.end_row(),
            "tbl" => self.end_table()?,
            _ => {
                if let Some(paragraph) = self.paragraphs.last_mut() {
                    paragraph.close(name);
                }
            }
        }
        Ok(())
    }

    /// Ends a row. The text of one that was deleted is usually marked as deleted, but need not be.
    fn end_row(&mut self) {
        let Some(frame) = self.frames.last_mut() else { return };
        if std::mem::take(&mut frame.has_deleted_row) {
            self.has_changes = true;
            self.tables.change_row(|text| {
                if !text.starts_with("{--") {
                    *text = format!("{{--{text}--}}");
                }
            });
        }
    }

    fn end_table(&mut self) -> Result<(), ReadError> {
        let Some(block) = self.frames.pop().and_then(WordFrame::finish) else {
            add_table(self.frames.last_mut(), self.tables.rows())?;
            return self.tables.close(&mut self.words);
        };
        self.tables.discard();
        if let Some(words) = self.frames.last_mut().and_then(WordFrame::content) {
            words.paragraph(&block);
        }
        if !self.tables.take(&block) {
            self.words.paragraph(&block);
        }
        Ok(())
    }

    fn flush_paragraph(&mut self) {
        let Some(mut paragraph) = self.paragraphs.pop() else { return };
        paragraph.end_change();
        self.has_changes |= paragraph.has_changes;
        self.unknown_fonts.append(&mut paragraph.unknown_fonts);
        let style = docx_styles::resolved(&self.styles, &paragraph.style);
        if paragraph.list.is_none()
            && let Some(list) = style.list.filter(|id| id != "0")
        {
            paragraph.list = Some(list);
            paragraph.depth = paragraph.depth.max(style.depth);
        }
        paragraph.list = paragraph.list.filter(|id| id != "0");
        let level = paragraph.outline.filter(|level| *level < 9).map(|level| level + 1);
        let level = level.or(style.level);
        let whole = paragraph.line.verbatim();
        let text = whole.trim();
        let mut words = &mut self.words;
        if self.tables.take(text) {
            let (style, color) = (paragraph.style.as_str(), paragraph.color.as_deref());
            let framed = FramedParagraph { style, color, text: &whole };
            let Some(frame) = self.frames.last_mut() else { return };
            if frame.takes(&framed) {
                return;
            }
            let Some(content) = frame.content() else { return };
            words = content;
        }
        // Headings are counted as well, because labels such as `2.1` contain their numbers.
        let mark = paragraph.list.map(|list| self.lists.mark(&list, paragraph.depth));
        match (level, mark) {
            (Some(level), _) => words.heading(level, text.trim_matches('*')),
            (None, Some(mark)) => words.item(paragraph.depth, &mark, text),
            (None, None) if QUOTES.contains(&paragraph.style.as_str()) => words.quote(text),
            (None, None) => words.text(text),
        }
    }

    /// The reader of a note, a header or a footer.
    fn aside(&self) -> Self {
        Self { hidden_styles: Rc::clone(&self.hidden_styles), ..Self::default() }
    }

    /// Headers and footers, each once.
    fn edges(&mut self, archive: &mut Archive) -> Result<(), ReadError> {
        let mut texts = EdgeTexts::default();
        let parts = ["word/header", "word/footer"].map(|start| archive.numbered(start));
        for part in parts.concat() {
            let mut edge = self.aside();
            let xml = archive.part(&part)?.unwrap_or_default();
            // A damaged header or footer is ignored.
            let _ = walk(&xml, |node| edge.step(&node));
            texts.add(edge.words.finish());
        }
        self.words.edges(&texts);
        Ok(())
    }

    /// Footnotes and comments, each as a paragraph with its number. Fails after those that could be read.
    fn notes(&mut self, xml: &[u8], title: &str) -> Result<(), ReadError> {
        let mut notes = self.aside();
        let mut all: Vec<(String, Words)> = Vec::new();
        let read = walk(xml, |node| {
            match &node {
                XmlNode::Open(element)
                    if matches!(element.name.as_str(), "footnote" | "endnote" | "comment") =>
                {
                    let who = element.attribute("author").map(|who| format!(" {who}"));
                    let id = note_name(element) + &who.unwrap_or_default();
                    all.push((id, Words::default()));
                }
                XmlNode::Close("footnote" | "endnote" | "comment") => {
                    if let Some((_, words)) = all.last_mut() {
                        *words = std::mem::take(&mut notes.words);
                    }
                }
                _ => notes.step(&node)?,
            }
            Ok(())
        });
        all.retain(|(_, words)| !words.is_empty());
        if !all.is_empty() {
            self.words.heading(2, title);
        }
        for (id, words) in all {
            // The author of a comment stands after its mark.
            let (id, who) = id.split_once(' ').unwrap_or((&id, ""));
            let who = if who.is_empty() { String::new() } else { format!("{who}: ") };
            self.words.paragraph(&format!("[^{id}]: {who}{}", words.finish()));
        }
        read
    }
}

/// Duplicate content, former properties such as `tcPrChange`, and content that is not text.
fn is_skipped(name: &str) -> bool {
    matches!(
        name,
        "Fallback" | "instrText" | "delInstrText" | "posOffset" | "pctWidth" | "pctHeight"
    ) || name.ends_with("PrChange")
}
