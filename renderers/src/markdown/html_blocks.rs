//! HTML blocks as headings, lists, tables, quotes, code and paragraphs.
//!
//! A block of HTML ends at an empty line, so an element may extend over several blocks, with
//! Markdown between them: the builder is fed piece by piece until everything is closed.

use super::figures::Figure;
use super::html::{self, HtmlPiece, Tag, TextAlign};
use super::html_lists::HtmlList;
use super::html_table::HtmlTable;
use super::reader::Reader;
use super::tags::{APART, Open, heading_level, is_apart};
use super::{clean, heading_ids};
use crate::budgets::NESTING;
use crate::document::{Align, Block, Definition, Inline};
use crate::package::text::flat;

/// The blocks built so far, and the elements that are still open.
pub struct Builder {
    depth: usize,
    done: Vec<Block>,
    frames: Vec<OpenTag>,
    open: Open,
}

/// An open element.
enum OpenTag {
    List(HtmlList),
    Quote(Vec<Block>),
    /// Its level and its id.
    Heading(u8, Option<String>),
    Definitions(Vec<Definition>),
    /// A term; its text follows.
    Term,
    Figure(Figure),
    /// The caption of a figure; its text follows.
    Caption,
    Table(HtmlTable),
    /// The verbatim text of `<pre>`, and its language.
    Pre(Option<String>, String),
}

impl OpenTag {
    fn is(&self, name: &str) -> bool {
        match self {
            Self::List(list) => name == list.tag(),
            Self::Quote(_) => name == "blockquote",
            Self::Heading(level, _) => name == format!("h{level}"),
            Self::Definitions(_) => name == "dl",
            Self::Term => name == "dt",
            Self::Figure(_) => name == "figure",
            Self::Caption => name == "figcaption",
            Self::Table(_) => name == "table",
            Self::Pre(..) => name == "pre",
        }
    }

    fn closing(&self) -> &'static str {
        match self {
            Self::List(list) if list.tag() == "ol" => "</ol",
            Self::List(_) => "</ul",
            Self::Quote(_) => "</blockquote",
            Self::Heading(..) => "</h",
            Self::Definitions(_) | Self::Term => "</dl",
            Self::Figure(_) | Self::Caption => "</figure",
            Self::Table(_) => "</table",
            Self::Pre(..) => "</pre",
        }
    }
}

impl Builder {
    pub fn new(depth: usize) -> Self {
        Self { depth, done: Vec::new(), frames: Vec::new(), open: Open::default() }
    }

    /// The closing tag of the outermost open element.
    pub fn awaits(&self) -> Option<&'static str> {
        self.frames.first().map(OpenTag::closing)
    }

    pub fn finish(mut self, reader: &mut Reader) -> Vec<Block> {
        while !self.frames.is_empty() {
            self.close_last(reader);
        }
        self.flush(reader);
        self.done
    }

    pub fn html(&mut self, reader: &mut Reader, html: &str) {
        for piece in html::pieces(html) {
            match piece {
                HtmlPiece::Comment(comment) => {
                    let text = clean::text(comment);
                    if !text.trim().is_empty() {
                        self.flush_text(reader);
                        self.push(Block::Comment(text));
                    }
                }
                HtmlPiece::Tag(tag) => self.tag(reader, &tag),
                HtmlPiece::Text(text) => match self.frames.last_mut() {
                    Some(OpenTag::Pre(_, code)) => code.push_str(&text),
                    Some(OpenTag::Table(table)) if table.is_verbatim() => {
                        self.open.verbatim(&text);
                    }
                    _ => self.open.lines(&text),
                },
            }
        }
    }

    /// Markdown between two blocks of HTML.
    pub fn blocks(&mut self, reader: &mut Reader, blocks: Vec<Block>) {
        let Some(OpenTag::Table(_)) = self.frames.last() else {
            self.flush(reader);
            return blocks.into_iter().for_each(|block| self.push(block));
        };
        for block in blocks {
            self.open.line();
            match block {
                Block::Paragraph(content) => self.open.extend(content),
                Block::Heading { mut content, .. } => {
                    heading_ids::take(&mut content);
                    self.open.extend(content);
                }
                other => {
                    for line in flat(std::slice::from_ref(&other)) {
                        self.open.line();
                        self.open.push(Inline::Text(line));
                    }
                }
            }
        }
    }

    fn tag(&mut self, reader: &mut Reader, tag: &Tag) {
        let name = tag.name.as_str();
        if let Some(OpenTag::Pre(..)) = self.frames.last() {
            if name == "pre" && tag.closes {
                self.close_last(reader);
            } else if let (Some(OpenTag::Pre(_, code)), "br") = (self.frames.last_mut(), name) {
                code.push('\n');
            }
            return;
        }
        if let Some(OpenTag::Table(table)) = self.frames.last()
            && table.turns_caption(tag)
        {
            self.caption(reader);
        }
        if let Some(OpenTag::Table(table)) = self.frames.last_mut() {
            if name == "caption" && !table.has_inner() {
                return;
            }
            let ends = name == "table" && tag.closes && !table.has_inner();
            if table.tag(reader, tag, &mut self.open) {
                if ends {
                    self.close_last(reader);
                }
                return;
            }
        }
        if tag.closes { self.closing(reader, tag) } else { self.opening(reader, tag) }
    }

    /// Ends the text before or in the caption of a table. A caption is written as in Markdown, to be
    /// numbered with the others.
    fn caption(&mut self, reader: &mut Reader) {
        let Some(OpenTag::Table(table)) = self.frames.last_mut() else { return };
        let is_caption = table.turn_caption();
        let mut content = std::mem::take(&mut self.open).close_block(reader);
        if content.is_empty() {
            return;
        }
        // Only tables of the text itself are numbered.
        if is_caption && self.depth == 1 && self.frames.len() == 1 {
            content.insert(0, Inline::Text(": ".to_owned()));
        }
        self.push(Block::Paragraph(content));
    }

    fn opening(&mut self, reader: &mut Reader, tag: &Tag) {
        let name = tag.name.as_str();
        let is_aligned = !matches!(tag.align(), None | Some(TextAlign::Model(Align::Start)));
        if is_aligned && name != "table" && is_apart(name) {
            let sentence = "The alignment of HTML paragraphs, headings and lists was ignored.";
            reader.losses.other(sentence.to_owned());
        }
        let frame = match name {
            "ul" | "menu" => OpenTag::List(HtmlList::default()),
            "ol" => {
                let is_list = |frame: &&OpenTag| matches!(frame, OpenTag::List(_));
                let level = self.frames.iter().filter(is_list).count();
                OpenTag::List(HtmlList::numbered(tag, level, reader))
            }
            "blockquote" => OpenTag::Quote(Vec::new()),
            "dl" => OpenTag::Definitions(Vec::new()),
            "table" => OpenTag::Table(HtmlTable::default()),
            "pre" => OpenTag::Pre(None, String::new()),
            "figure" => OpenTag::Figure(Figure::default()),
            "figcaption" if matches!(self.frames.last(), Some(OpenTag::Figure(_))) => {
                OpenTag::Caption
            }
            "hr" => {
                self.flush(reader);
                return self.push(Block::Break);
            }
            "li" => return self.item(reader, tag),
            "dt" | "dd" => return self.definition(reader, name),
            name if heading_level(name).is_some() => {
                let is_word =
                    |id: &String| !id.contains(|c: char| c.is_whitespace() || "{}".contains(c));
                let id = tag.attribute("id").filter(|id| !id.is_empty()).filter(is_word);
                OpenTag::Heading(heading_level(name).unwrap_or(1), id)
            }
            name if APART.contains(&name) => {
                self.flush(reader);
                if name != "p" {
                    reader.losses.tag(name);
                }
                return;
            }
            _ => return self.open.tag(reader, tag, self.depth + self.frames.len()),
        };
        self.flush(reader);
        if self.depth + self.frames.len() >= NESTING {
            return reader.losses.deep();
        }
        self.frames.push(frame);
    }

    fn closing(&mut self, reader: &mut Reader, tag: &Tag) {
        let name = if tag.name == "menu" { "ul" } else { tag.name.as_str() };
        if let Some(at) = self.frames.iter().rposition(|frame| frame.is(name)) {
            while self.frames.len() > at {
                self.close_last(reader);
            }
        } else if is_apart(name) {
            self.flush(reader);
            if APART.contains(&name) && name != "p" {
                reader.losses.tag(name);
            }
        } else {
            self.open.tag(reader, tag, self.depth + self.frames.len());
        }
    }

    fn item(&mut self, reader: &mut Reader, tag: &Tag) {
        self.flush(reader);
        let at = self.frames.iter().rposition(|frame| matches!(frame, OpenTag::List(_)));
        let Some(at) = at else { return };
        while self.frames.len() > at + 1 {
            self.close_last(reader);
        }
        if let Some(OpenTag::List(list)) = self.frames.last_mut() {
            list.item(tag);
        }
    }

    fn definition(&mut self, reader: &mut Reader, name: &str) {
        self.flush(reader);
        let at = self.frames.iter().rposition(|frame| matches!(frame, OpenTag::Definitions(_)));
        let Some(at) = at else { return };
        while self.frames.len() > at + 1 {
            self.close_last(reader);
        }
        if name == "dt" {
            self.frames.push(OpenTag::Term);
        } else if let Some(OpenTag::Definitions(items)) = self.frames.last_mut()
            && items.is_empty()
        {
            items.push(Definition::default());
        }
    }

    fn close_last(&mut self, reader: &mut Reader) {
        if let Some(OpenTag::Table(table)) = self.frames.last_mut() {
            table.end_cell(reader, &mut self.open);
        } else {
            self.flush(reader);
        }
        match self.frames.pop() {
            Some(OpenTag::List(list)) => {
                for list in list.finish() {
                    self.push(Block::List(list));
                }
            }
            Some(OpenTag::Quote(blocks)) => self.push(Block::Quote { alert: None, blocks }),
            Some(OpenTag::Definitions(items)) if !items.is_empty() => {
                self.push(Block::Definitions(items));
            }
            Some(OpenTag::Table(table)) => {
                for block in table.blocks(reader) {
                    self.push(block);
                }
            }
            Some(OpenTag::Figure(figure)) => {
                for block in figure.blocks() {
                    self.push(block);
                }
            }
            Some(OpenTag::Pre(language, code)) => {
                let text = clean::text(code.trim_matches('\n'));
                self.push(Block::Code { language, text });
            }
            _ => {}
        }
    }

    /// Ends the current paragraph, heading or term.
    fn flush(&mut self, reader: &mut Reader) {
        let mut content = std::mem::take(&mut self.open).close_block(reader);
        if content.is_empty() {
            return;
        }
        match self.frames.last_mut() {
            Some(OpenTag::Heading(level, id)) => {
                let level = *level;
                // As in Markdown, to be resolved with the ids of its headings.
                let id = id.take().map(|id| Inline::Text(format!(" {{#{id}}}")));
                content.extend(id);
                self.push(Block::Heading { level, content });
            }
            Some(OpenTag::Term) => {
                let at = self.frames.len().saturating_sub(2);
                if let Some(OpenTag::Definitions(items)) = self.frames.get_mut(at) {
                    items.push(Definition { term: content, description: Vec::new() });
                }
            }
            Some(OpenTag::Caption) => {
                let at = self.frames.len().saturating_sub(2);
                if let Some(OpenTag::Figure(figure)) = self.frames.get_mut(at) {
                    figure.caption.push(content);
                }
            }
            _ => self.push(Block::Paragraph(content)),
        }
    }

    /// Ends the current paragraph, unless it is in a cell.
    fn flush_text(&mut self, reader: &mut Reader) {
        if !matches!(self.frames.last(), Some(OpenTag::Table(_))) {
            self.flush(reader);
        }
    }

    /// Adds a block to the innermost element that holds blocks.
    fn push(&mut self, block: Block) {
        for frame in self.frames.iter_mut().rev() {
            match frame {
                OpenTag::List(list) => return list.push(block),
                OpenTag::Quote(blocks) | OpenTag::Figure(Figure { blocks, .. }) => {
                    return blocks.push(block);
                }
                OpenTag::Definitions(items) => {
                    if items.is_empty() {
                        items.push(Definition::default());
                    }
                    if let Some(item) = items.last_mut() {
                        item.description.push(block);
                    }
                    return;
                }
                OpenTag::Heading(..)
                | OpenTag::Term
                | OpenTag::Caption
                | OpenTag::Table(_)
                | OpenTag::Pre(..) => {}
            }
        }
        self.done.push(block);
    }
}
