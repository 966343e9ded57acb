//! Word files (WordprocessingML, ECMA-376 transitional), written part by part.
//!
//! `docx-rs` is not used: as a writer, that crate produces files that the Open XML SDK rejects, has
//! no repeated header rows and no alternative text, supports PNG only, and is not deterministic.
//! Start reading at [`render`], then [`blocks`].
//!
//! - `draw`: the state of a rendering; `length`: the estimated number of pages
//! - [`blocks`]: paragraphs; `code`, `columns`, `lists`, `pictures`, `quotes`, `tables`: larger blocks
//! - `inlines`: runs; `math`: formulas; `anchors`: headings by their anchors; `bookmarks`;
//!   `captions`; `footnotes`, `comments`
//! - `contents`: title, cover and table of contents; `sections`, `paper`: the pages
//! - `styles`, `numbering`, `parts`: the parts of every file; `namespaces`

mod anchors;
mod blocks;
mod bookmarks;
mod captions;
mod code;
mod columns;
mod comments;
mod contents;
mod draw;
mod footnotes;
mod inlines;
mod length;
mod lists;
mod math;
mod namespaces;
mod numbering;
mod paper;
mod parts;
mod pictures;
mod quotes;
mod sections;
mod styles;
mod tables;

use crate::Document;
use crate::document::Block;
use crate::package::warnings::Warnings;
use crate::package::xml::Xml;
use crate::package::{Package, Relations, limits, properties};
use crate::pdf::fontset::Fonts;
use crate::rendered::{RenderError, Rendered};

use draw::{Draw, Place};
use namespaces::NAMESPACES;
use paper::section_width;
use sections::word_sections;

/// Renders a Word file. `pages` is an estimate from measured text; only Word knows the exact
/// number.
pub fn render(document: &Document, fonts: &Fonts) -> Result<Rendered, RenderError> {
    limits::check(document)?;
    let pages = length::pages(document);
    limits::pages(pages, 500, "pages")?;
    let mut draw = Draw::new(document, fonts);
    let body = draw.document();
    let (package, warnings) = draw.pack(body);
    let dropped = package.dropped;
    let bytes = package.finish();
    limits::output(&bytes)?;
    Ok(Rendered { bytes, pages, warnings: warnings.finish(dropped) })
}

impl Draw<'_> {
    /// The main part, `word/document.xml`.
    fn document(&mut self) -> Xml {
        let mut xml = Xml::new();
        xml.open("w:document", &NAMESPACES);
        xml.open("w:body", &[]);
        let titled = self.front(&mut xml);
        let document = self.document;
        let blocks = &document.blocks;
        let skip = usize::from(titled && self.repeats_title(blocks.first()));
        let sections = word_sections(document);
        let last = sections.len() - 1;
        for (at, section) in sections.into_iter().enumerate() {
            let place = Place {
                style: "BodyText",
                indent: 0,
                width: section_width(document, section.is_landscape),
                depth: 0,
                level: 0,
                tight: false,
            };
            let from = section.blocks.start.max(skip).min(section.blocks.end);
            self.blocks(&mut xml, &blocks[from..section.blocks.end], place);
            if at < last {
                self.inner_section(&mut xml, section.is_landscape);
            } else {
                self.main_section(&mut xml, section.is_landscape);
            }
        }
        xml.close();
        xml.close();
        xml
    }

    /// Whether the first heading repeats the title above it.
    fn repeats_title(&self, first: Option<&Block>) -> bool {
        let title = self.document.meta.title.as_deref().map(str::trim);
        match first {
            Some(Block::Heading { level: 1, content }) => {
                Some(crate::package::text::plain(content).trim()) == title
                    && !self.document.meta.contents
            }
            _ => false,
        }
    }

    /// Assembles all parts.
    fn pack(mut self, body: Xml) -> (Package, Warnings) {
        self.footnotes();
        self.comments();
        self.constant_parts();
        let kind =
            "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml";
        self.package.add("word/document.xml", kind, body);
        self.package.relate("word/document.xml", std::mem::take(&mut self.relations));
        let mut root = Relations::default();
        root.part("officeDocument", "word/document.xml");
        properties::add(&mut self.package, &mut root, &self.document.meta);
        self.package.relate("", root);
        (self.package, self.warnings)
    }
}

#[cfg(test)]
mod tests;
