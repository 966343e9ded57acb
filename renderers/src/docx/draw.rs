//! The state of a rendering, and the context of a block.

use std::collections::{HashMap, HashSet};

use super::anchors::HeadingAnchors;
use super::numbering::Numbering;
use super::styles::LetterSizes;
use crate::Document;
use crate::package::look::{self, Look};
use crate::package::measure::runs_rtl;
use crate::package::picture::Album;
use crate::package::warnings::Warnings;
use crate::package::{Package, Relations};
use crate::pdf::fontset::Fonts;

/// The state of a rendering; the XML is passed separately.
pub struct Draw<'d> {
    pub document: &'d Document,
    pub look: Look<'d>,
    pub sizes: LetterSizes,
    pub package: Package,
    /// Relationships of the part that is being written.
    pub relations: Relations,
    pub warnings: Warnings,
    pub fonts: &'d Fonts,
    pub album: Album<'d>,
    pub numbering: Numbering,
    /// The anchors of all captions.
    pub caption_anchors: HashSet<&'d str>,
    /// The captions that have a bookmark.
    pub marked_captions: HashSet<String>,
    /// The estimated pages of all captions, once a list of them has been written.
    pub caption_pages: Option<HashMap<String, usize>>,
    pub anchors: HeadingAnchors,
    /// For each footnote, whether it has been referenced.
    pub mentioned: Vec<bool>,
    pub in_note: bool,
    /// Whether the document mostly runs from right to left.
    pub is_rtl: bool,
    /// The relationships of the header and the footer on upright and on landscape paper.
    pub edges: [Option<Edges>; 2],
    /// Ids of drawings and bookmarks, unique in the file.
    pub last_id: u32,
}

/// The relationships of a header and a footer.
pub struct Edges {
    pub header: Option<String>,
    pub footer: String,
}

/// The context of a block, which decides how it is drawn.
#[derive(Debug, Clone, Copy)]
pub struct Place {
    /// Style of its paragraphs.
    pub style: &'static str,
    /// Twips from the left margin.
    pub indent: i64,
    /// Available width in twips.
    pub width: i64,
    /// Depth of nesting of any kind.
    pub depth: usize,
    /// Depth of lists.
    pub level: usize,
    pub tight: bool,
}

impl Place {
    /// The same context, indented by `by` twips.
    pub fn indented(self, by: i64) -> Self {
        Self {
            indent: self.indent + by,
            width: (self.width - by).max(1_000),
            depth: self.depth + 1,
            ..self
        }
    }

    /// The context inside a cell that fills this one.
    pub fn cell(self) -> Self {
        Self { indent: 0, width: (self.width - 280).max(1_000), depth: self.depth + 1, ..self }
    }
}

impl<'d> Draw<'d> {
    pub fn new(document: &'d Document, fonts: &'d Fonts) -> Self {
        let look = look::look(&document.meta);
        Self {
            document,
            sizes: LetterSizes::new(&look, &document.meta),
            look,
            package: Package::default(),
            relations: Relations::default(),
            warnings: Warnings::from(&document.warnings),
            fonts,
            album: Album::new(fonts),
            numbering: Numbering::default(),
            caption_anchors: document.captions.values().map(String::as_str).collect(),
            marked_captions: HashSet::new(),
            caption_pages: None,
            anchors: HeadingAnchors::of(document),
            mentioned: vec![false; document.notes.len()],
            in_note: false,
            is_rtl: look::is_mostly_rtl(document),
            edges: [None, None],
            last_id: 0,
        }
    }

    /// Whether a text runs from right to left.
    pub fn bidi(&self, text: &str) -> bool {
        runs_rtl(text, self.is_rtl)
    }

    pub fn next_id(&mut self) -> u32 {
        self.last_id += 1;
        self.last_id
    }
}
