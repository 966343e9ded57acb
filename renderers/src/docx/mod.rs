//! Word files (WordprocessingML, ECMA-376 transitional), written part by part.
//!
//! The writer is our own and not `docx-rs`: as a writer that crate yields files that the Open XML
//! SDK refuses, has no repeated header rows and no alternative text, takes PNG only, and differs
//! from run to run. Start reading at [`render`], then [`blocks`].

mod anchors;
mod blocks;
mod code;
mod columns;
mod contents;
mod footnotes;
mod inlines;
mod length;
mod lists;
mod math;
mod omml;
mod parts;
mod pictures;
mod quotes;
mod sections;
mod styles;
mod tables;

use crate::Document;
use crate::document::{Block, PageSize};
use crate::fonts::Fonts;
use crate::package::look::{self, Look};
use crate::package::picture::Album;
use crate::package::warnings::Warnings;
use crate::package::xml::Xml;
use crate::package::{Package, Relations, limits, properties};
use crate::rendered::{RenderError, Rendered};

use anchors::Anchors;
use lists::Numbering;

/// Draws a Word file. `pages` is an estimate by measured text; Word alone knows.
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

/// The state of one drawing; the XML goes along beside it.
struct Draw<'d> {
    document: &'d Document,
    look: Look<'d>,
    package: Package,
    /// Relationships of the part that is being written.
    relations: Relations,
    warnings: Warnings,
    fonts: &'d Fonts,
    album: Album<'d>,
    numbering: Numbering,
    anchors: Anchors,
    /// For each footnote, whether it was mentioned already.
    mentioned: Vec<bool>,
    in_note: bool,
    /// Ids of drawings and bookmarks, unique in the file.
    last_id: u32,
}

/// Where a block stands: what surrounds it decides how it is drawn.
#[derive(Debug, Clone, Copy)]
struct Place {
    /// Style of its paragraphs.
    style: &'static str,
    /// Twips from the left margin.
    indent: i64,
    /// Twips that are left for it.
    width: i64,
    /// Depth of nesting of any kind.
    depth: usize,
    /// Depth of lists.
    level: usize,
    tight: bool,
}

impl Place {
    /// The same place, `by` twips further in.
    fn indented(self, by: i64) -> Self {
        Self {
            indent: self.indent + by,
            width: (self.width - by).max(1_000),
            depth: self.depth + 1,
            ..self
        }
    }

    /// Inside a cell that takes this place.
    fn cell(self) -> Self {
        Self { indent: 0, width: (self.width - 280).max(1_000), depth: self.depth + 1, ..self }
    }
}

impl<'d> Draw<'d> {
    fn new(document: &'d Document, fonts: &'d Fonts) -> Self {
        Self {
            document,
            look: look::look(&document.meta),
            package: Package::default(),
            relations: Relations::default(),
            warnings: Warnings::from(&document.warnings),
            fonts,
            album: Album::new(fonts),
            numbering: Numbering::default(),
            anchors: Anchors::of(document),
            mentioned: vec![false; document.notes.len()],
            in_note: false,
            last_id: 0,
        }
    }

    fn next_id(&mut self) -> u32 {
        self.last_id += 1;
        self.last_id
    }

    /// The main part, `word/document.xml`.
    fn document(&mut self) -> Xml {
        let mut xml = Xml::new();
        xml.open("w:document", &parts::NAMESPACES);
        xml.open("w:body", &[]);
        let titled = self.front(&mut xml);
        let place = Place {
            style: "BodyText",
            indent: 0,
            width: text_width(self.document),
            depth: 0,
            level: 0,
            tight: false,
        };
        let blocks = &self.document.blocks;
        let skip = usize::from(titled && self.repeats_title(blocks.first()));
        self.blocks(&mut xml, &blocks[skip..], place);
        self.main_section(&mut xml);
        xml.close();
        xml.close();
        xml
    }

    /// A first heading that says what the title above it says already.
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

    /// Puts all parts together.
    fn pack(mut self, body: Xml) -> (Package, Warnings) {
        self.footnotes();
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

/// Width and height of the paper in twips.
fn paper(document: &Document) -> (i64, i64) {
    let page = document.meta.page;
    let (width, height) = match page.size {
        PageSize::A4 => (11_906, 16_838),
        PageSize::Letter => (12_240, 15_840),
    };
    if page.landscape { (height, width) } else { (width, height) }
}

/// Between two columns of text.
const GUTTER: i64 = 482;

fn page_width(document: &Document) -> i64 {
    let [_, right, _, left] = document.meta.margins();
    paper(document).0 - left - right
}

/// What a line of the text has: the page, or one of its two columns.
fn text_width(document: &Document) -> i64 {
    let width = page_width(document);
    if document.meta.page.two_columns { (width - GUTTER) / 2 } else { width }
}

#[cfg(test)]
mod tests;
