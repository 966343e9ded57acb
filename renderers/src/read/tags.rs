//! The structure tree of a tagged PDF (ISO 32000-1, 14.7): headings, list items, cells and links by
//! the marked content of each page.

use lopdf::{Dictionary, Document, Object, ObjectId};
use std::{collections::HashMap, rc::Rc};

use super::{
    tag_cells::{CellPlaces, TaggedCell},
    words::Script,
};

/// The maximum number of elements, and of their nesting.
const ELEMENTS: usize = 400_000;
const DEPTH: usize = 100;

/// What a piece of marked content belongs to.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TagMark {
    pub block: Option<TaggedBlock>,
    pub cell: Option<TaggedCell>,
    /// The number of the paragraph, outside of tables and code.
    pub paragraph: Option<usize>,
    pub link: Option<Rc<str>>,
    /// Whether it is the bullet or number of a list item.
    pub is_label: bool,
    /// Whether its letters are raised or lowered.
    pub script: Script,
}

/// A heading or an item, with a number of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TaggedBlock {
    pub number: usize,
    pub kind: BlockKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockKind {
    Heading(usize),
    /// `number` counts the items of a numbered list from one.
    Item {
        depth: usize,
        number: Option<u64>,
    },
}

/// The marks of all pages.
#[derive(Default)]
pub struct Tags {
    marks: HashMap<(ObjectId, i64), TagMark>,
}

impl Tags {
    /// The tags of a document; none if it is not tagged or its tree is damaged.
    pub fn of(document: &Document) -> Self {
        let root = document.catalog().and_then(|root| root.get_deref(b"StructTreeRoot", document));
        let Ok(root) = root.and_then(Object::as_dict) else { return Self::default() };
        let roles = root.get_deref(b"RoleMap", document).and_then(Object::as_dict).ok();
        let mut reader = TagReader {
            document,
            roles,
            tags: Self::default(),
            elements: 0,
            blocks: 0,
            items: 0,
            cells: CellPlaces::default(),
        };
        let place = TagPlace {
            mark: TagMark::default(),
            page: None,
            lists: 0,
            is_numbered: false,
            has_paragraphs: true,
            is_item: false,
            depth: 0,
        };
        if let Ok(kids) = root.get(b"K") {
            reader.kids(kids, &place);
        }
        reader.tags
    }

    pub fn mark(&self, page: ObjectId, content: i64) -> Option<&TagMark> {
        self.marks.get(&(page, content))
    }
}

/// The place of an element in the tree.
#[derive(Clone)]
struct TagPlace {
    mark: TagMark,
    page: Option<ObjectId>,
    /// The number of lists around it, and whether the innermost is numbered.
    lists: usize,
    is_numbered: bool,
    /// Whether its paragraphs are those of the text.
    has_paragraphs: bool,
    /// Whether it is directly in an item.
    is_item: bool,
    depth: usize,
}

struct TagReader<'d> {
    document: &'d Document,
    roles: Option<&'d Dictionary>,
    tags: Tags,
    elements: usize,
    blocks: usize,
    /// The number of items so far in the innermost list.
    items: u64,
    /// The table that is being read.
    cells: CellPlaces,
}

impl TagReader<'_> {
    fn kids(&mut self, kids: &Object, place: &TagPlace) {
        self.elements += 1;
        if self.elements > ELEMENTS || place.depth > DEPTH {
            return;
        }
        match kids {
            Object::Integer(content) => self.content(*content, place),
            Object::Array(all) => all.iter().for_each(|kid| self.kids(kid, place)),
            Object::Reference(_) | Object::Dictionary(_) => {
                let resolved = self.document.dereference(kids).map(|(_, object)| object);
                match resolved {
                    Ok(Object::Dictionary(kid)) => self.kid(kid, place),
                    // An array that is an object of its own.
                    Ok(all @ Object::Array(_)) if kids.as_reference().is_ok() => {
                        let place = TagPlace { depth: place.depth + 1, ..place.clone() };
                        self.kids(all, &place);
                    }
                    _ => {}
                }
            }
            _ => {}
        }
    }

    fn content(&mut self, content: i64, place: &TagPlace) {
        let is_marked = place.mark != TagMark::default();
        if let Some(page) = place.page.filter(|_| is_marked) {
            self.tags.marks.insert((page, content), place.mark.clone());
        }
    }

    fn kid(&mut self, kid: &Dictionary, place: &TagPlace) {
        let page = kid.get(b"Pg").and_then(Object::as_reference).ok().or(place.page);
        if let Ok(content) = kid.get(b"MCID").and_then(Object::as_i64) {
            return self.content(content, &TagPlace { page, ..place.clone() });
        }
        let Ok(kids) = kid.get(b"K") else { return };
        let role = self.role(kid);
        let (depth, is_item) = (place.depth + 1, role == "LI");
        let mut inside = TagPlace { page, is_item, depth, ..place.clone() };
        let is_code = role == "Code" && inside.mark.paragraph.is_none();
        if is_code || matches!(role.as_str(), "Table" | "TOC" | "L" | "Formula") {
            inside.has_paragraphs = false;
        }
        match role.as_str() {
            "P" if inside.has_paragraphs => {
                self.blocks += 1;
                inside.mark.paragraph = Some(self.blocks);
            }
            "Link" => inside.mark.link = self.url(kids).or(inside.mark.link),
            "L" => {
                inside.lists += 1;
                inside.is_numbered = self.is_numbered(kid);
                let outer = std::mem::take(&mut self.items);
                self.kids(kids, &inside);
                self.items = outer;
                return;
            }
            "LI" => inside.mark.block = Some(self.item(&inside)),
            // The mark of a footnote is a label, too.
            "Lbl" if place.is_item => inside.mark.is_label = true,
            "Span" => inside.mark.script = self.script(kid).unwrap_or(inside.mark.script),
            "Table" if inside.mark.cell.is_none() => {
                self.blocks += 1;
                inside.mark.block = None;
                let outer = std::mem::replace(&mut self.cells, CellPlaces::of(self.blocks));
                self.kids(kids, &inside);
                self.cells = outer;
                return;
            }
            "TOC" => inside.mark.block = None,
            // It stands at the end of the page, wherever its mark is.
            "Note" => inside.mark = TagMark::default(),
            "TR" if inside.mark.cell.is_none() => self.cells.begin_row(),
            "TD" | "TH" if inside.mark.cell.is_none() => {
                (inside.mark.block, inside.lists) = (None, 0);
                inside.mark.cell = self.begin_cell(kid, role == "TH");
            }
            // Paragraphs of a cell, and rows of a table in it, are lines.
            "P" | "TR" => self.begin_line(&mut inside.mark),
            "H" | "Title" => inside.mark.block = Some(self.block(BlockKind::Heading(1))),
            role => {
                let level = role.strip_prefix('H').and_then(|level| level.parse().ok());
                if let Some(level) = level.filter(|level| (1..=6).contains(level)) {
                    inside.mark.block = Some(self.block(BlockKind::Heading(level)));
                }
            }
        }
        self.kids(kids, &inside);
    }

    fn item(&mut self, place: &TagPlace) -> TaggedBlock {
        self.items += 1;
        let number = place.is_numbered.then_some(self.items);
        self.block(BlockKind::Item { depth: place.lists.saturating_sub(1), number })
    }

    fn begin_cell(&mut self, cell: &Dictionary, is_header: bool) -> Option<TaggedCell> {
        let spans = ["ColSpan", "RowSpan"].map(|name| self.span(cell, name));
        self.cells.add(spans).map(|cell| TaggedCell { is_header, ..cell })
    }

    fn begin_line(&mut self, mark: &mut TagMark) {
        if let Some(cell) = &mut mark.cell {
            self.blocks += 1;
            cell.line = self.blocks;
        }
    }

    /// The number of columns or rows of a cell.
    fn span(&self, cell: &Dictionary, name: &str) -> usize {
        let span = self.attribute(cell, name.as_bytes()).and_then(|span| span.as_i64().ok());
        span.and_then(|span| usize::try_from(span).ok()).unwrap_or(1)
    }

    fn block(&mut self, kind: BlockKind) -> TaggedBlock {
        self.blocks += 1;
        TaggedBlock { number: self.blocks, kind }
    }

    /// The standard name of an element's type.
    fn role(&self, element: &Dictionary) -> String {
        let mut name = element.get(b"S").and_then(Object::as_name).unwrap_or_default();
        for _ in 0..4 {
            let mapped = self.roles.and_then(|roles| roles.get(name).ok()?.as_name().ok());
            match mapped {
                Some(mapped) if mapped != name => name = mapped,
                _ => break,
            }
        }
        String::from_utf8_lossy(name).into_owned()
    }

    /// The position of the letters of a span.
    fn script(&self, span: &Dictionary) -> Option<Script> {
        let shift = self.attribute(span, b"BaselineShift")?.as_float().ok()?;
        match shift {
            shift if shift > 0.0 => Some(Script::Raised),
            shift if shift < 0.0 => Some(Script::Lowered),
            _ => None,
        }
    }

    fn is_numbered(&self, list: &Dictionary) -> bool {
        let kind = self.attribute(list, b"ListNumbering").and_then(|kind| kind.as_name().ok());
        matches!(
            kind.unwrap_or_default(),
            b"Decimal" | b"UpperRoman" | b"LowerRoman" | b"UpperAlpha" | b"LowerAlpha"
        )
    }

    /// An attribute of an element, which has one dictionary of them or several.
    fn attribute<'o>(&'o self, element: &'o Dictionary, name: &[u8]) -> Option<&'o Object> {
        let attributes = element.get_deref(b"A", self.document).ok()?;
        let one = std::slice::from_ref(attributes);
        let all = attributes.as_array().map_or(one, Vec::as_slice);
        all.iter().take(64).find_map(|one| {
            let attributes = self.document.dereference(one).ok()?.1.as_dict().ok()?;
            attributes.get_deref(name, self.document).ok()
        })
    }

    /// The target of the annotation among the content of a link.
    fn url(&self, kids: &Object) -> Option<Rc<str>> {
        let kids = self.document.dereference(kids).ok()?.1;
        let one = std::slice::from_ref(kids);
        let all = kids.as_array().map_or(one, Vec::as_slice);
        all.iter().take(64).find_map(|kid| {
            let kid = self.document.dereference(kid).ok()?.1.as_dict().ok()?;
            let annotation = kid.get_deref(b"Obj", self.document).ok()?.as_dict().ok()?;
            let action = annotation.get_deref(b"A", self.document).ok()?.as_dict().ok()?;
            let url = action.get_deref(b"URI", self.document).ok()?.as_str().ok()?;
            let url = String::from_utf8_lossy(url);
            let is_web = ["https://", "http://", "mailto:"].iter().any(|s| url.starts_with(s));
            (is_web && !url.contains(['(', ')', ' '])).then(|| url.into())
        })
    }
}
