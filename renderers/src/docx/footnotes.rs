//! Footnotes: their part, their references, and repeated references.

use super::blocks::Shape;
use super::bookmarks;
use super::draw::{Draw, Place};
use super::inlines::{RunFormat, run};
use super::namespaces::NAMESPACES;
use super::paper::text_width;
use crate::document::{Block, Document};
use crate::package::measure::begins_rtl;
use crate::package::text::plain;
use crate::package::xml::Xml;

const KIND: &str = "application/vnd.openxmlformats-officedocument.wordprocessingml.footnotes+xml";

impl Draw<'_> {
    /// Writes a footnote reference. Word allows one reference per footnote, so later ones are
    /// cross-references to the first.
    pub fn mention(&mut self, xml: &mut Xml, note: usize, format: RunFormat) {
        let id = (note + 1).to_string();
        let shown = (note + 1 - self.document.comments.range(..note).count()).to_string();
        let Some(mentioned) = self.mentioned.get(note).copied() else {
            self.warnings.add(format!("Footnote {shown} has no text."));
            return;
        };
        if self.in_note {
            self.warnings.add("A footnote inside a footnote is shown as its number.");
            return run(xml, &format!("[{shown}]"), format);
        }
        if self.document.comments.contains(&note) {
            return self.comment_mark(xml, note);
        }
        let name = format!("_RefNote{id}");
        if mentioned {
            let instruction = format!(" NOTEREF {name} \\f \\h ");
            xml.open("w:fldSimple", &[("w:instr", &instruction)]);
            xml.open("w:r", &[]);
            xml.raw("<w:rPr><w:rStyle w:val=\"FootnoteReference\"/></w:rPr>");
            xml.leaf("w:t", &[], &shown);
            xml.close();
            return xml.close();
        }
        self.mentioned[note] = true;
        let bookmark = self.next_id();
        bookmarks::begin(xml, bookmark, &name);
        xml.open("w:r", &[]);
        xml.raw("<w:rPr><w:rStyle w:val=\"FootnoteReference\"/></w:rPr>");
        xml.empty("w:footnoteReference", &[("w:id", &id)]);
        xml.close();
        bookmarks::end(xml, bookmark);
    }

    /// Writes `word/footnotes.xml`, with the two separators that Word requires.
    pub fn footnotes(&mut self) {
        self.notes_part("w:footnotes", KIND, Self::write_footnotes);
    }

    /// Writes a part with notes, which has relationships of its own. `root` is its root element.
    pub fn notes_part(
        &mut self,
        root: &'static str,
        kind: &'static str,
        write: impl FnOnce(&mut Self, &mut Xml),
    ) {
        let name = root.trim_start_matches("w:");
        let body_relations = std::mem::take(&mut self.relations);
        self.in_note = true;
        let mut xml = Xml::new();
        xml.open(root, &NAMESPACES);
        write(self, &mut xml);
        xml.close();
        self.package.add(&format!("word/{name}.xml"), kind, xml);
        let relations = std::mem::replace(&mut self.relations, body_relations);
        self.package.relate(&format!("word/{name}.xml"), relations);
        self.relations.part(name, &format!("{name}.xml"));
        self.in_note = false;
    }

    fn write_footnotes(&mut self, xml: &mut Xml) {
        for (id, kind, mark) in [
            ("-1", "separator", "w:separator"),
            ("0", "continuationSeparator", "w:continuationSeparator"),
        ] {
            xml.open("w:footnote", &[("w:type", kind), ("w:id", id)]);
            xml.raw("<w:p><w:pPr><w:spacing w:after=\"0\" w:line=\"240\" w:lineRule=\"auto\"/></w:pPr><w:r>");
            xml.empty(mark, &[]);
            xml.raw("</w:r></w:p>");
            xml.close();
        }
        let Document { notes, comments, .. } = self.document;
        for (at, blocks) in notes.iter().enumerate() {
            if !self.mentioned[at] || comments.contains(&at) {
                continue;
            }
            xml.open("w:footnote", &[("w:id", &(at + 1).to_string())]);
            self.note(xml, blocks);
            xml.close();
        }
    }

    /// The context of the contents of a note.
    pub fn note_place(&self) -> Place {
        Place {
            style: "FootnoteText",
            indent: 0,
            width: text_width(self.document),
            depth: 1,
            level: 0,
            tight: false,
        }
    }

    fn note(&mut self, xml: &mut Xml, blocks: &[Block]) {
        let place = self.note_place();
        let (first, rest) = match blocks.split_first() {
            Some((Block::Paragraph(content), rest)) => (&content[..], rest),
            _ => (&[][..], blocks),
        };
        let bidi = begins_rtl(&plain(first));
        xml.open("w:p", &[]);
        Shape { style: "FootnoteText", bidi, ..Shape::default() }.write(xml);
        xml.raw(
            "<w:r><w:rPr><w:rStyle w:val=\"FootnoteReference\"/></w:rPr><w:footnoteRef/></w:r>",
        );
        run(xml, " ", RunFormat::default());
        self.inlines(xml, first, RunFormat { rtl: bidi, ..place.into() });
        xml.close();
        self.blocks(xml, rest, place);
    }
}
