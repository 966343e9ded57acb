//! Captions, whose numbers are fields that Word counts, references to them, and lists of them.

use super::blocks::Shape;
use super::bookmarks;
use super::contents::{ENTRY_WARNING, entry_form, field, instruction, page_number};
use super::draw::Draw;
use super::inlines::{RunFormat, run};
use super::{length, paper};
use crate::document::{Block, Inline, List, leads_to_caption};
use crate::package::measure::begins_rtl;
use crate::package::text::plain;
use crate::package::words::{self, FIGURE};
use crate::package::xml::Xml;

impl Draw<'_> {
    /// A caption. Its label, such as “Figure 3”, has a bookmark for references.
    pub fn caption_text(&mut self, xml: &mut Xml, kind: usize, content: &[Inline]) {
        let text = plain(content);
        let format = RunFormat { style: "Caption", rtl: self.bidi(&text), ..RunFormat::default() };
        let language = self.document.meta.language.as_deref();
        let Some([word, number, rest]) = words::numbered(kind, &text, language) else {
            return self.inlines(xml, content, format);
        };
        let id = self.begin_caption(xml, &text);
        run(xml, &format!("{word} "), format);
        let name = if kind == FIGURE { "Figure" } else { "Table" };
        xml.open("w:fldSimple", &[("w:instr", &format!(" SEQ {name} \\* ARABIC "))]);
        run(xml, number, format);
        xml.close();
        if let Some(id) = id {
            bookmarks::end(xml, id);
        }
        let mut after = content.to_vec();
        match after.first_mut() {
            Some(Inline::Text(first)) if first.len() >= text.len() - rest.len() => {
                first.drain(..text.len() - rest.len());
            }
            _ => after = vec![Inline::Text(rest.to_owned())],
        }
        self.inlines(xml, &after, format);
    }

    /// Begins the bookmark of a caption, if its text is that of one, and returns its id.
    pub fn begin_caption(&mut self, xml: &mut Xml, text: &str) -> Option<u32> {
        let document = self.document;
        let anchor = document.captions.get(text)?;
        // A second document that follows may have the same captions.
        if !self.marked_captions.insert(text.to_owned()) {
            return None;
        }
        let id = self.next_id();
        bookmarks::begin(xml, id, &bookmark(anchor));
        Some(id)
    }

    /// A reference to a caption, as a field with its label.
    pub fn reference(
        &mut self,
        xml: &mut Xml,
        anchor: &str,
        content: &[Inline],
        format: RunFormat,
    ) {
        field(xml, "begin");
        instruction(xml, &format!(" REF {} \\h ", bookmark(anchor)));
        field(xml, "separate");
        self.inlines(xml, content, format);
        field(xml, "end");
    }

    /// A list of all figures or tables as a field that Word can update; `false` if the list is
    /// something else. Only Word knows the page numbers.
    pub fn list_of_captions(&mut self, xml: &mut Xml, list: &List) -> bool {
        let document = self.document;
        let captions = &document.captions;
        let is_whole = |entry: &CaptionEntry<'_>| {
            captions.get(&entry.text).is_some_and(|anchor| anchor == entry.anchor)
        };
        let entry = |blocks| CaptionEntry::of(blocks).filter(is_whole);
        let entries = list.items.iter().map(|item| entry(&item.blocks[..]));
        let entries = entries.collect::<Option<Vec<_>>>();
        let Some(entries) = entries.filter(|entries| !entries.is_empty()) else { return false };
        self.warnings.add(ENTRY_WARNING);
        let estimate = || length::pages_of_captions(document);
        let pages = self.caption_pages.get_or_insert_with(estimate);
        let width = paper::text_width(document).to_string();
        let last = entries.len() - 1;
        for (at, CaptionEntry { anchor, text }) in entries.iter().enumerate() {
            let bidi = begins_rtl(text);
            xml.open("w:p", &[]);
            entry_form(xml, "TableofFigures", &width, bidi);
            if at == 0 {
                let name = if anchor.starts_with("figure") { "Figure" } else { "Table" };
                field(xml, "begin");
                instruction(xml, &format!(" TOC \\h \\z \\c \"{name}\" "));
                field(xml, "separate");
            }
            let bookmark = bookmark(anchor);
            xml.open("w:hyperlink", &[("w:anchor", &bookmark), ("w:history", "1")]);
            run(xml, text, RunFormat { rtl: bidi, ..RunFormat::default() });
            page_number(xml, &bookmark, pages.get(text).copied().unwrap_or(1));
            xml.close();
            if at == last {
                field(xml, "end");
            }
            xml.close();
        }
        // Space before the text that follows.
        xml.open("w:p", &[]);
        Shape { style: "Spacer", ..Shape::default() }.write(xml);
        xml.close();
        true
    }
}

/// An entry in a list of captions.
struct CaptionEntry<'a> {
    anchor: &'a str,
    text: String,
}

impl<'a> CaptionEntry<'a> {
    fn of(blocks: &'a [Block]) -> Option<Self> {
        let [Block::Paragraph(content)] = blocks else { return None };
        let [Inline::Link { url, content, .. }] = &content[..] else { return None };
        let anchor = url.strip_prefix('#').filter(|_| leads_to_caption(url))?;
        Some(Self { anchor, text: plain(content) })
    }
}

/// The bookmark of an anchor such as `figure:3`. Word hides bookmarks that begin with `_`.
fn bookmark(anchor: &str) -> String {
    match anchor.split_once(':') {
        Some(("figure", number)) => format!("_RefFigure{number}"),
        Some((_, number)) => format!("_RefTable{number}"),
        None => format!("_Ref{anchor}"),
    }
}
