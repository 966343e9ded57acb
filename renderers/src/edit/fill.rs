//! Fills the fields of a Word or PowerPoint template, once or once for each row of a list.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::{collections::BTreeSet, mem};

pub use super::list::rows;
use super::{
    Change, EditError, Edited,
    fields::{self, Field, FieldKind, Scope},
    invalid,
    parts::PackageParts,
    text::{self, Replacement},
    tree::{Node, TreeElement},
};
use crate::read::limits;

/// The maximum number of repetitions of sections in a file.
const REPETITIONS: usize = 10_000;

/// The maximum number of files of a mail merge.
pub const FILES: usize = 500;

/// The maximum number of changes that are listed.
const CHANGES: usize = 1_000;

/// What a template is filled with.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Filling {
    /// One file from these values.
    Once(Value),
    /// One file for each item, which is named by filling the pattern. The values are the same in all
    /// files.
    Each {
        /// The rows.
        rows: Vec<Value>,
        /// Values that all files share.
        values: Value,
        /// The file name with fields, without a folder.
        pattern: String,
    },
}

/// Fills a template. Fields without a value stay, and are named in the warnings.
pub fn fill(template: &[u8], filling: &Filling) -> Result<Vec<Edited>, EditError> {
    match filling {
        Filling::Once(values) => {
            let mut scope = Scope::of(values);
            let mut edited = filled(template, &mut scope)?;
            edited.warnings = warnings(&scope.unknown(), &scope.unused());
            Ok(vec![edited])
        }
        Filling::Each { rows, values, pattern } => each(template, rows, values, pattern),
    }
}

fn each(
    template: &[u8],
    rows: &[Value],
    values: &Value,
    pattern: &str,
) -> Result<Vec<Edited>, EditError> {
    limits::within(rows.len() as u64, FILES as u64, "rows for one file each")?;
    if rows.is_empty() {
        return invalid("The list has no rows, so there is nothing to fill.");
    }
    let mut files = Vec::new();
    let mut names = BTreeSet::new();
    let (mut unknown, mut unused) = (BTreeSet::new(), None::<BTreeSet<String>>);
    for (number, row) in (1..).zip(rows) {
        let mut all = values.as_object().cloned().unwrap_or_default();
        let Some(row) = row.as_object() else {
            return invalid(format!("Row {number} of the list has no column names."));
        };
        all.extend(row.clone());
        let all = Value::Object(all);
        let mut scope = Scope::of(&all);
        let name = named(pattern, &mut scope)?;
        if !names.insert(name.to_lowercase()) {
            return invalid(format!(
                "Row {number} gives a file name that an earlier row has: use fields in the name \
                 that differ for each row."
            ));
        }
        let edited = filled(template, &mut scope)?;
        files.push(Edited { name: Some(name), ..edited });
        unknown.extend(scope.unknown());
        let these: BTreeSet<_> = scope.unused().into_iter().collect();
        unused = Some(unused.map_or(these.clone(), |before| &before & &these));
    }
    let unused: Vec<_> = unused.unwrap_or_default().into_iter().collect();
    let unknown: Vec<_> = unknown.into_iter().collect();
    files[0].warnings = warnings(&unknown, &unused);
    Ok(files)
}

/// The file name of a row. Characters that are not allowed in file names become dashes.
fn named(pattern: &str, scope: &mut Scope<'_>) -> Result<String, EditError> {
    let found = fields::fields(pattern);
    if found.is_empty() {
        return invalid(
            "The file name has no field such as {{name}}, so all files would share it.",
        );
    }
    let mut name = pattern.to_owned();
    for field in found.iter().rev() {
        let value = scope.find(&field.name).map(fields::shown);
        let value = value.map(|value| value.trim().to_owned()).filter(|value| !value.is_empty());
        let Some(value) = value else {
            return invalid(format!("The field {} of the file name has no value.", field.name));
        };
        let is_odd = |c: char| c.is_control() || "/\\:*?\"<>|{}[]".contains(c);
        name.replace_range(field.range.clone(), value.replace(is_odd, "-").trim_matches('.'));
    }
    Ok(name)
}

fn warnings(unknown: &[String], unused: &[String]) -> Vec<String> {
    let mut warnings = Vec::new();
    if !unknown.is_empty() {
        warnings.push(format!("The template has fields without a value: {}.", unknown.join(", ")));
    }
    if !unused.is_empty() {
        warnings.push(format!("The template has no fields for: {}.", unused.join(", ")));
    }
    warnings
}

/// Whether a part has text with fields.
fn is_filled(name: &str) -> bool {
    let Some(name) = name.strip_suffix(".xml") else { return false };
    let texts = ["document", "header", "footer", "footnotes", "endnotes", "comments"];
    let is_text =
        |file: &str| !file.contains('/') && texts.iter().any(|start| file.starts_with(start));
    name.strip_prefix("word/").is_some_and(is_text)
        || name.starts_with("ppt/slides/slide")
        || name.starts_with("ppt/notesSlides/notesSlide")
}

fn filled(template: &[u8], scope: &mut Scope<'_>) -> Result<Edited, EditError> {
    let mut parts = PackageParts::open(template)?;
    if !parts.has("word/document.xml") && !parts.has("ppt/presentation.xml") {
        return invalid("Only Word (.docx) and PowerPoint (.pptx) files have template fields.");
    }
    let mut filling = Fill { left: REPETITIONS, found: 0, changes: Vec::new() };
    let mut names = parts.names();
    names.sort();
    for name in names.into_iter().filter(|name| is_filled(name)) {
        let bytes = parts.bytes(&name)?.unwrap_or_default();
        if !text::may_contain(&bytes, "{") {
            continue;
        }
        let mut nodes = parts.tree(&name)?;
        let before = filling.found;
        filling.nodes(&mut nodes, scope)?;
        if filling.found > before {
            parts.put(&name, &nodes)?;
        }
    }
    if filling.found == 0 {
        return invalid(
            "The template has no fields. A field is a name in two braces, such as {{name}}.",
        );
    }
    let Fill { changes, .. } = filling;
    Ok(Edited { bytes: parts.finish()?, changes, ..Edited::default() })
}

struct Fill {
    /// The repetitions that are still allowed.
    left: usize,
    /// The fields found so far.
    found: usize,
    changes: Vec<Change>,
}

impl Fill {
    fn nodes(&mut self, nodes: &mut Vec<Node>, scope: &mut Scope<'_>) -> Result<(), EditError> {
        let mut at = 0;
        while at < nodes.len() {
            if let Some(field) = begin(&nodes[at]) {
                at += self.section(nodes, at, &field, scope)?;
                continue;
            }
            if let Node::Element(element) = &mut nodes[at] {
                self.element(element, scope)?;
            }
            at += 1;
        }
        Ok(())
    }

    fn element(
        &mut self,
        element: &mut TreeElement,
        scope: &mut Scope<'_>,
    ) -> Result<(), EditError> {
        if text::is_paragraph(element) {
            self.paragraph(element, scope)?;
        }
        let had = element.children.iter().any(|child| child.is("p"));
        self.nodes(&mut element.children, scope)?;
        // These must not be empty.
        let is_empty = |local: &str| !element.children.iter().any(|child| child.is(local));
        if had && is_empty("p") {
            let paragraph = TreeElement::new(&element.named("p"), &[]);
            element.push(paragraph);
        }
        element.children.retain(|child| {
            let rows = child.as_element().filter(|child| child.name == "w:tbl");
            rows.is_none_or(|table| table.child("tr").is_some())
        });
        Ok(())
    }

    fn paragraph(&mut self, p: &mut TreeElement, scope: &mut Scope<'_>) -> Result<(), EditError> {
        let before = text::of(p);
        let mut replacements = Vec::new();
        for Field { range, kind, name } in fields::fields(&before) {
            if kind == FieldKind::End {
                return invalid(format!("The template has {{{{/{name}}}}} without its beginning."));
            }
            self.found += 1;
            if let Some(value) = scope.find(&name) {
                replacements.push(Replacement { range, text: fields::shown(value) });
            }
        }
        if !replacements.is_empty() {
            text::replace(p, &replacements);
            if self.changes.len() < CHANGES {
                self.changes.push(Change::of("text", &before, &text::of(p)));
            }
        }
        Ok(())
    }

    /// Repeats the rows or paragraphs from `at` to the end of the section. Returns how many nodes
    /// there are now.
    fn section(
        &mut self,
        nodes: &mut Vec<Node>,
        at: usize,
        field: &Field,
        scope: &mut Scope<'_>,
    ) -> Result<usize, EditError> {
        let name = &field.name;
        let end = end(&nodes[at..], name).map(|length| at + length).ok_or_else(|| {
            EditError::Invalid(format!(
                "The template has {{{{#{name}}}}} without {{{{/{name}}}}} after it in the same \
                 table or text."
            ))
        })?;
        self.found += 1;
        let mut block: Vec<Node> = nodes.drain(at..=end).collect();
        without_mark(&mut block, field.kind, name);
        without_mark(&mut block, FieldKind::End, name);
        let Some(value) = scope.find(name) else {
            return invalid(format!("The section {name} has no value: give a list of objects."));
        };
        let mut made = Vec::new();
        for (number, value) in fields::repetitions(value).into_iter().enumerate() {
            self.left = self.left.checked_sub(1).ok_or_else(|| {
                EditError::TooLarge(format!(
                    "The sections repeat more than {REPETITIONS} times: use fewer rows."
                ))
            })?;
            let mut copy = block.clone();
            if number > 0 {
                copy.iter_mut().filter_map(Node::as_element_mut).for_each(as_copy);
            }
            scope.enter(value);
            let result = self.nodes(&mut copy, scope);
            scope.leave();
            result?;
            made.extend(copy);
        }
        let count = made.len();
        nodes.splice(at..at, made);
        Ok(count)
    }
}

/// The first section that begins in a row or paragraph.
fn begin(node: &Node) -> Option<Field> {
    let element = node.as_element()?;
    let text = match element.local() {
        "tr" => text::below(element),
        "p" => text::of(element),
        _ => return None,
    };
    let first = fields::fields(&text).into_iter().find(|field| field.kind != FieldKind::Value);
    first.filter(|field| field.kind == FieldKind::Begin)
}

/// The place of the node in which the section ends.
fn end(nodes: &[Node], name: &str) -> Option<usize> {
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

/// Removes the mark of a section, and the row or paragraph if it has nothing else.
fn without_mark(block: &mut Vec<Node>, kind: FieldKind, name: &str) {
    let order: Vec<usize> = match kind {
        FieldKind::End => (0..block.len()).rev().collect(),
        _ => (0..block.len()).collect(),
    };
    for at in order {
        let Some(element) = block[at].as_element_mut() else { continue };
        let mut is_removed = false;
        element.each_mut(&mut |inner| {
            if is_removed && kind != FieldKind::End || !text::is_paragraph(inner) {
                return;
            }
            let found = fields::fields(&text::of(inner));
            let mut marks = found.into_iter().filter(|f| f.kind == kind && f.name == name);
            let mark = if kind == FieldKind::End { marks.next_back() } else { marks.next() };
            if let Some(Field { range, .. }) = mark {
                text::replace(inner, &[Replacement { range, text: String::new() }]);
                is_removed = true;
            }
        });
        if is_removed {
            let is_empty = text::below(element).trim().is_empty() && !has_picture(element);
            if is_empty && block.len() > 1 {
                block.remove(at);
            }
            return;
        }
    }
}

fn has_picture(element: &TreeElement) -> bool {
    let mut has = false;
    element.each(&mut |inner| has |= matches!(inner.local(), "drawing" | "pict" | "blip"));
    has
}

/// Removes the ids and bookmarks that must be unique in a document.
fn as_copy(element: &mut TreeElement) {
    element.each_mut(&mut |inner| {
        for id in ["w14:paraId", "w14:textId"] {
            inner.unset(id);
        }
        let is_mark = |node: &Node| node.is("bookmarkStart") || node.is("bookmarkEnd");
        if inner.children.iter().any(is_mark) {
            let children = mem::take(&mut inner.children);
            inner.children = children.into_iter().filter(|node| !is_mark(node)).collect();
        }
    });
}
