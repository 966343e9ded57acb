//! The sections of a template: the rows or paragraphs from `{{#name}}` to `{{/name}}`.

use std::collections::BTreeSet;

use super::{
    fields::{self, Field, FieldKind},
    text::{self, Replacement},
    tree::{Node, TreeElement},
};

/// Elements that refer to a place once.
const UNIQUE: [&str; 7] = [
    "bookmarkStart",
    "bookmarkEnd",
    "commentRangeStart",
    "commentRangeEnd",
    "commentReference",
    "permStart",
    "permEnd",
];

/// Larger ids leave no room for others.
const LAST_ID: u32 = 1 << 30;

/// The first section that begins in a row or paragraph.
pub fn begin(node: &Node) -> Option<Field> {
    let element = node.as_element()?;
    let found = match element.local() {
        "tr" => element.inner("tc").into_iter().flat_map(fields_of_row).collect(),
        "p" => fields::fields(&text::of(element)),
        _ => return None,
    };
    let first = found.into_iter().find(|field| field.kind != FieldKind::Value);
    first.filter(|field| field.kind == FieldKind::Begin)
}

/// The fields of a cell that may belong to sections of rows. The marks of a section of paragraphs are
/// paragraphs of the cell; a table in it may have sections of its own.
fn fields_of_row(cell: &TreeElement) -> Vec<Field> {
    let nodes = &cell.child("txBody").unwrap_or(cell).children;
    let mut found = Vec::new();
    let mut at = 0;
    while at < nodes.len() {
        if let Some(length) = own_section(&nodes[at..]) {
            at += length;
        } else if let Some(element) = nodes[at].as_element() {
            found.extend(fields::fields(&text::below(element)));
        }
        at += 1;
    }
    found
}

/// The place of the last node of the section of paragraphs that begins with the first node, or of the
/// table that this is and that has whole sections only.
fn own_section(nodes: &[Node]) -> Option<usize> {
    let is_whole = nodes.first()?.as_element().is_some_and(is_whole_table);
    if is_whole { Some(0) } else { section_of_paragraphs(nodes) }
}

/// Whether an element is a table in which all of its sections begin and end.
fn is_whole_table(element: &TreeElement) -> bool {
    let mut open = Vec::new();
    element.local() == "tbl"
        && fields::fields(&text::below(element)).into_iter().all(|field| match field.kind {
            FieldKind::Begin => {
                open.push(field.name);
                true
            }
            FieldKind::End => open.pop() == Some(field.name),
            FieldKind::Value => true,
        })
        && open.is_empty()
}

/// The place of the mark that ends the section of paragraphs that begins with the first node.
fn section_of_paragraphs(nodes: &[Node]) -> Option<usize> {
    let name = lone_mark(nodes.first()?, FieldKind::Begin)?;
    let length = end(nodes, &name)?;
    (lone_mark(&nodes[length], FieldKind::End)? == name).then_some(length)
}

/// The name in a mark that is the whole text of a paragraph.
fn lone_mark(node: &Node, kind: FieldKind) -> Option<String> {
    let paragraph = node.as_element().filter(|element| text::is_paragraph(element))?;
    let text = text::of(paragraph);
    let mark = fields::fields(&text).pop()?;
    (mark.kind == kind && text[mark.range] == *text.trim()).then_some(mark.name)
}

/// Separates the tables of a template that follow another one at once with an empty text, for
/// [`joined_tables`] to leave them joined.
pub fn keep_joined_tables(nodes: &mut Vec<Node>) {
    for at in joined_tables(nodes).into_iter().rev() {
        nodes.insert(at, Node::Raw(String::new()));
    }
}

/// The places of the tables that follow another one at once, without an empty text between them. Word
/// shows both as one table.
pub fn joined_tables(nodes: &[Node]) -> Vec<usize> {
    let mut is_after = false;
    let mut found = Vec::new();
    for (at, node) in nodes.iter().enumerate() {
        is_after &= !matches!(node, Node::Raw(text) if text.is_empty());
        let Some(element) = text::as_block(node) else { continue };
        let is_table = element.name == "w:tbl";
        found.extend((is_table && is_after).then_some(at));
        is_after = is_table;
    }
    found
}

/// The place of the node in which the section ends.
pub fn end(nodes: &[Node], name: &str) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, node) in nodes.iter().enumerate() {
        let Some(element) = node.as_element() else { continue };
        for field in fields::fields(&text::below(element)) {
            match field.kind {
                FieldKind::Begin if field.name == name => depth += 1,
                FieldKind::End if field.name == name => depth = depth.saturating_sub(1),
                _ => {}
            }
        }
        if depth == 0 {
            return Some(at);
        }
    }
    None
}

/// Removes the marks of the sections with this name, and the rows or paragraphs that have nothing else.
/// The sections inside these keep their marks.
pub fn without_marks(block: &mut Vec<Node>, name: &str) {
    let (mut depth, mut marked) = (0, Vec::new());
    for (at, node) in block.iter_mut().enumerate() {
        let Some(element) = node.as_element_mut() else { continue };
        each_of_row(element, &mut |paragraph| {
            let mut marks = Vec::new();
            for field in fields::fields(&text::of(paragraph)) {
                let is_mark = match field.kind {
                    _ if field.name != name => false,
                    FieldKind::Begin => {
                        depth += 1;
                        depth == 1
                    }
                    FieldKind::End => {
                        depth -= 1;
                        depth == 0
                    }
                    FieldKind::Value => false,
                };
                if is_mark {
                    marks.push(Replacement { range: field.range, text: String::new() });
                }
            }
            if !marks.is_empty() {
                text::replace(paragraph, &marks);
                marked.push(at);
            }
        });
    }
    marked.dedup();
    for at in marked.into_iter().rev() {
        let is_empty = block[at].as_element().is_some_and(is_empty);
        if is_empty && block.len() > 1 {
            block.remove(at);
        }
    }
}

/// Calls `each` for the paragraphs of a row or paragraph, but for those in sections of a cell,
/// as in [`fields_of_row`].
fn each_of_row(element: &mut TreeElement, each: &mut impl FnMut(&mut TreeElement)) {
    let is_cell = match element.local() {
        "tc" => element.child("txBody").is_none(),
        local => local == "txBody",
    };
    if !is_cell {
        if text::is_paragraph(element) {
            each(element);
        }
        for child in element.elements_mut() {
            each_of_row(child, each);
        }
        return;
    }
    let mut at = 0;
    while at < element.children.len() {
        if let Some(length) = own_section(&element.children[at..]) {
            at += length;
        } else if let Some(child) = element.children[at].as_element_mut() {
            child.each_mut(&mut |inner| {
                if text::is_paragraph(inner) {
                    each(inner);
                }
            });
        }
        at += 1;
    }
}

/// Whether a row or paragraph has no text and no picture.
fn is_empty(element: &TreeElement) -> bool {
    text::below(element).trim().is_empty() && !has_picture(element)
}

fn has_picture(element: &TreeElement) -> bool {
    let mut has = false;
    element.each(&mut |inner| has |= matches!(inner.local(), "drawing" | "pict" | "blip"));
    has
}

/// Removes what must be unique in a document: bookmarks, the ends of comments, and ids.
pub fn as_copy(nodes: &mut Vec<Node>) {
    nodes.retain(|node| !UNIQUE.iter().any(|name| node.is(name)));
    for element in nodes.iter_mut().filter_map(Node::as_element_mut) {
        for id in ["w14:paraId", "w14:textId"] {
            element.unset(id);
        }
        if element.local() == "sdtPr" {
            element.remove("id");
        }
        // The number of a row of PowerPoint.
        if element.name == "a:tr" {
            element.remove("extLst");
        }
        as_copy(&mut element.children);
    }
}

/// Gives drawings with the id of an earlier one ids of their own.
pub fn distinct_drawings(nodes: &mut [Node]) {
    let is_drawing = |element: &TreeElement| element.local() == "docPr";
    let mut last = 0;
    for element in nodes.iter().filter_map(Node::as_element) {
        element.each(&mut |inner| {
            let id = inner.number("id").filter(|id| is_drawing(inner) && *id < LAST_ID);
            last = last.max(id.unwrap_or(0));
        });
    }
    let mut known = BTreeSet::new();
    for element in nodes.iter_mut().filter_map(Node::as_element_mut) {
        element.each_mut(&mut |inner| {
            let id = inner.number("id").filter(|_| is_drawing(inner));
            if id.is_some_and(|id| !known.insert(id)) {
                last += 1;
                inner.set("id", &last.to_string());
            }
        });
    }
}
