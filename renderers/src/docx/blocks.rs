//! Blocks as paragraphs. Larger block types have their own files.

use super::bookmarks;
use super::draw::{Draw, Place};
use super::inlines::RunFormat;
use crate::document::{Align, Block, Definition, Inline};
use crate::package::sections::after_comments;
use crate::package::text::{DEPTH, PictureText, announces, begins_page, flat, plain};
use crate::package::words::{self, TABLE};
use crate::package::xml::Xml;

/// The properties of a paragraph.
#[derive(Debug, Clone, Copy, Default)]
pub struct Shape {
    pub style: &'static str,
    pub keep_next: bool,
    /// Set if the paragraph starts an item.
    pub number: Option<ListNumber>,
    pub indent: i64,
    pub hanging: i64,
    pub bidi: bool,
    pub tight: bool,
    pub align: Align,
}

/// A level of a list, and the id of its numbering.
#[derive(Debug, Clone, Copy)]
pub struct ListNumber {
    pub level: usize,
    pub id: u32,
}

impl Shape {
    pub fn write(self, xml: &mut Xml) {
        xml.open("w:pPr", &[]);
        let style = if self.bidi && self.style == "Quote" { "QuoteRtl" } else { self.style };
        xml.val("w:pStyle", style);
        if self.keep_next {
            xml.empty("w:keepNext", &[]);
        }
        if let Some(ListNumber { level, id }) = self.number {
            xml.open("w:numPr", &[]);
            xml.val("w:ilvl", &level.to_string());
            xml.val("w:numId", &id.to_string());
            xml.close();
        }
        if self.bidi {
            xml.empty("w:bidi", &[]);
        }
        if self.tight {
            xml.empty("w:spacing", &[("w:after", "120")]);
        }
        if self.indent > 0 {
            let (left, hanging) = (self.indent.to_string(), self.hanging.to_string());
            xml.empty("w:ind", &[("w:left", &left), ("w:hanging", &hanging)]);
        }
        if self.tight {
            xml.empty("w:contextualSpacing", &[]);
        }
        match self.align {
            Align::Start => {}
            Align::Center => xml.val("w:jc", "center"),
            Align::End => xml.val("w:jc", "right"),
        }
        xml.close();
    }
}

impl Draw<'_> {
    pub fn blocks(&mut self, xml: &mut Xml, blocks: &[Block], place: Place) {
        if place.depth > DEPTH {
            self.warnings
                .add(format!("Content nested more than {DEPTH} levels deep was flattened."));
            for line in flat(blocks) {
                self.paragraph(xml, &[Inline::Text(line)], place);
            }
            return;
        }
        for (at, block) in blocks.iter().enumerate() {
            if let Some(caption) = self.table_caption(block, &blocks[at + 1..]) {
                let shape = Shape { style: "Caption", keep_next: true, ..shape(place) };
                xml.open("w:p", &[]);
                Shape { bidi: self.bidi(&plain(caption)), ..shape }.write(xml);
                self.caption_text(xml, TABLE, caption);
                xml.close();
            } else if announces(block) && at + 1 < blocks.len() {
                self.kept(xml, block, place, true);
            } else {
                self.block(xml, block, place);
            }
        }
    }

    /// The numbered caption above a table.
    fn table_caption<'b>(&self, block: &'b Block, rest: &[Block]) -> Option<&'b [Inline]> {
        let Block::Paragraph(content) = block else { return None };
        let language = self.document.meta.language.as_deref();
        let is_caption = words::numbered(TABLE, &plain(content), language).is_some()
            && matches!(after_comments(rest), Some(Block::Table(_)));
        is_caption.then_some(content)
    }

    fn block(&mut self, xml: &mut Xml, block: &Block, place: Place) {
        match block {
            Block::Heading { level, content } => self.heading(xml, block, *level, content),
            Block::Paragraph(content) => self.paragraph(xml, content, place),
            Block::List(list) => self.list(xml, list, place),
            Block::Table(table) => self.table(xml, table, place),
            Block::Code { language, text } => self.code(xml, language.as_deref(), text, place),
            Block::Quote { alert: None, blocks } => self.quote(xml, blocks, place),
            Block::Quote { alert: Some(alert), blocks } => self.alert(xml, *alert, blocks, place),
            Block::Definitions(terms) => {
                for Definition { term, description } in terms {
                    self.shaped(
                        xml,
                        term,
                        Shape { style: "DefinitionTerm", ..shape(place) },
                        place,
                    );
                    self.blocks(xml, description, place.indented(567));
                }
            }
            Block::Columns(columns) => self.columns(xml, columns, place),
            Block::Chart(chart) => self.chart(xml, chart, place),
            Block::Math(latex) => self.display_math(xml, latex, place),
            Block::Break => empty(xml, "Rule"),
            Block::Comment(text) => comment(xml, text),
        }
    }

    /// Writes a paragraph; a paragraph with nothing but a picture becomes a figure.
    pub fn paragraph(&mut self, xml: &mut Xml, content: &[Inline], place: Place) {
        if let [Inline::Image { url, alt, title }] = content
            && self.figure(xml, PictureText { url, alt, title }, place)
        {
            return;
        }
        // A picture that is not drawn keeps its bookmark, because references lead to it.
        let title = match content {
            [Inline::Image { title, .. }] => title.as_str(),
            _ => "",
        };
        let caption = self.begin_caption(xml, title);
        self.shaped(xml, content, shape(place), place);
        if let Some(id) = caption {
            bookmarks::end(xml, id);
        }
    }

    /// Writes a paragraph with the given properties. Its direction follows its own text.
    pub fn shaped(&mut self, xml: &mut Xml, content: &[Inline], shape: Shape, place: Place) {
        let bidi = self.bidi(&plain(content));
        xml.open("w:p", &[]);
        Shape { bidi, ..shape }.write(xml);
        let format = RunFormat { style: shape.style, rtl: bidi, ..place.into() };
        self.inlines(xml, content, format);
        xml.close();
    }

    fn heading(&mut self, xml: &mut Xml, block: &Block, level: u8, content: &[Inline]) {
        let styles = ["Heading1", "Heading2", "Heading3", "Heading4", "Heading5", "Heading6"];
        let anchor = self.anchors.of_heading(block).cloned();
        let level = anchor.as_ref().map_or(level, |anchor| anchor.level);
        let style = styles[usize::from(level.clamp(1, 6)) - 1];
        let bidi = self.bidi(&plain(content));
        xml.open("w:p", &[]);
        Shape { style, bidi, ..Shape::default() }.write(xml);
        let id = self.next_id();
        if let Some(anchor) = &anchor {
            bookmarks::begin(xml, id, &anchor.bookmark);
        }
        let width = super::paper::text_width(self.document);
        let format = RunFormat { style, rtl: bidi, width, ..RunFormat::default() };
        self.inlines(xml, content, format);
        if anchor.is_some() {
            bookmarks::end(xml, id);
        }
        xml.close();
    }
}

/// The properties of a plain paragraph in a place.
pub fn shape(place: Place) -> Shape {
    Shape { style: place.style, indent: place.indent, tight: place.tight, ..Shape::default() }
}

/// `<!-- pagebreak -->` begins a page; other comments are for decks.
fn comment(xml: &mut Xml, text: &str) {
    if begins_page(text) {
        xml.open("w:p", &[]);
        xml.open("w:r", &[]);
        xml.empty("w:br", &[("w:type", "page")]);
        xml.close();
        xml.close();
    }
}

/// A short empty paragraph, because Word merges adjacent tables.
pub fn spacer(xml: &mut Xml) {
    empty(xml, "Spacer");
}

fn empty(xml: &mut Xml, style: &'static str) {
    xml.open("w:p", &[]);
    Shape { style, ..Shape::default() }.write(xml);
    xml.close();
}
