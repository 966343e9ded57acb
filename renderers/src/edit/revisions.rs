//! Tracked changes of Word: who inserted and deleted what, for people to accept or reject.

use serde::{Deserialize, Serialize};
use std::ops::Range;

use super::{
    Change, text,
    tree::{Node, TreeElement},
};

/// Who makes tracked changes, and when.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Author {
    /// The name that Word shows.
    pub name: String,
    /// ISO 8601, such as `2026-05-01T12:00:00Z`.
    pub date: String,
}

/// A Word file that is being changed.
pub struct Word {
    /// `None` if changes are not tracked.
    pub marks: Option<RevisionMarks>,
    pub changes: Vec<Change>,
}

/// The marks of tracked changes, each with its number.
pub struct RevisionMarks {
    author: Author,
    next: u32,
}

impl RevisionMarks {
    /// Marks with numbers that the parts do not have yet.
    pub fn after(author: &Author, last: u32) -> Self {
        Self { author: author.clone(), next: last + 1 }
    }

    fn mark(&mut self, name: &str) -> TreeElement {
        let id = self.next.to_string();
        self.next += 1;
        TreeElement::new(
            name,
            &[("w:id", &id), ("w:author", &self.author.name), ("w:date", &self.author.date)],
        )
    }

    fn around(&mut self, name: &str, run: TreeElement) -> Node {
        Node::Element(self.mark(name).with(run))
    }
}

/// Higher numbers leave no room for others.
const LAST_NUMBER: u32 = 1 << 30;

/// The highest number of a mark in a part.
pub fn last_mark(root: &TreeElement) -> u32 {
    let marks = ["ins", "del", "moveFrom", "moveTo", "cellIns", "cellDel", "cellMerge"];
    let mut last = 0;
    root.each(&mut |inner| {
        // Changes of formats are `rPrChange`, `tblPrChange` and the like.
        if marks.contains(&inner.local()) || inner.local().ends_with("Change") {
            let number = inner.number("w:id").filter(|number| *number < LAST_NUMBER);
            last = last.max(number.unwrap_or(0));
        }
    });
    last
}

/// Replaces ranges of a paragraph's text, which are in order, by the same new text.
pub fn replace(
    paragraph: &mut TreeElement,
    ranges: &[Range<usize>],
    new: &str,
    marks: &mut RevisionMarks,
) {
    split_runs(paragraph);
    let mut walk = Walk { at: 0, ranges, new, marks, look: None };
    walk.container(paragraph);
}

/// Inserts a text at the end of a paragraph.
pub fn append(
    paragraph: &mut TreeElement,
    look: Option<TreeElement>,
    new: &str,
    marks: &mut RevisionMarks,
) {
    if !new.is_empty() {
        let run = text::run(paragraph, look, new);
        let inserted = marks.mark("w:ins").with(run);
        paragraph.push(inserted);
    }
}

/// Each run gets a single text, tab or break, so that it can be marked alone.
fn split_runs(container: &mut TreeElement) {
    let mut children = Vec::new();
    for mut node in std::mem::take(&mut container.children) {
        let Some(child) = node.as_element_mut() else {
            children.push(node);
            continue;
        };
        match child.local() {
            "r" if child.child("t").is_some() => {
                let look = child.child("rPr").cloned();
                let content: Vec<_> =
                    child.elements().filter(|c| c.local() != "rPr").cloned().collect();
                for piece in content {
                    let mut run = child.clone();
                    run.children.clear();
                    if let Some(look) = &look {
                        run.push(look.clone());
                    }
                    run.push(piece);
                    children.push(Node::Element(run));
                }
            }
            "p" | "del" | "pPr" | "r" => children.push(node),
            _ => {
                split_runs(child);
                children.push(node);
            }
        }
    }
    container.children = children;
}

struct Walk<'w> {
    /// The place in the paragraph's text.
    at: usize,
    ranges: &'w [Range<usize>],
    new: &'w str,
    marks: &'w mut RevisionMarks,
    /// The format of the first character that is being replaced.
    look: Option<TreeElement>,
}

impl Walk<'_> {
    fn container(&mut self, container: &mut TreeElement) {
        let mut children = Vec::new();
        for mut node in std::mem::take(&mut container.children) {
            let Some(child) = node.as_element_mut() else {
                children.push(node);
                continue;
            };
            match child.local() {
                "r" => self.run(child, &mut children),
                "p" | "del" | "pPr" | "moveFrom" => children.push(node),
                _ => {
                    self.container(child);
                    children.push(node);
                }
            }
        }
        container.children = children;
    }

    fn run(&mut self, run: &TreeElement, children: &mut Vec<Node>) {
        let mut holder = run.clone();
        holder.name = "w:p".into();
        let whole = text::of(&holder);
        let start = self.at;
        self.at += whole.len();
        let is_text = run.child("t").is_some();
        let first = self.ranges.partition_point(|range| range.end <= start);
        let touched = self.ranges[first..].iter().take_while(|range| range.start < self.at);
        let touched: Vec<_> = touched.cloned().collect();
        if touched.is_empty() || !is_text {
            children.push(Node::Element(run.clone()));
            return;
        }
        let mut done = 0;
        for range in touched {
            let from = range.start.max(start) - start;
            let to = range.end.min(self.at) - start;
            keep(run, &whole[done..from], children);
            if range.start >= start {
                self.look = text::look(run);
            }
            let deleted = deleted(part(run, &whole[from..to]));
            children.push(self.marks.around("w:del", deleted));
            if range.end <= self.at && !self.new.is_empty() {
                let inserted = text::run(run, self.look.take(), self.new);
                children.push(self.marks.around("w:ins", inserted));
            }
            done = to;
        }
        keep(run, &whole[done..], children);
    }
}

fn keep(run: &TreeElement, text: &str, children: &mut Vec<Node>) {
    if !text.is_empty() {
        children.push(Node::Element(part(run, text)));
    }
}

/// The run with a part of its text.
fn part(run: &TreeElement, text: &str) -> TreeElement {
    text::run(run, run.child("rPr").cloned(), text)
}

/// The run as deleted text.
fn deleted(mut run: TreeElement) -> TreeElement {
    // Texts of formulas, `m:t`, stay as they are.
    for child in run.elements_mut() {
        let name = match child.name.as_str() {
            "w:t" => "w:delText",
            "w:instrText" => "w:delInstrText",
            _ => continue,
        };
        let mut text = TreeElement::new(name, &[("xml:space", "preserve")]);
        text.set_text(&child.text());
        *child = text;
    }
    run
}

/// Marks all runs below an element as deleted.
pub fn delete_runs(container: &mut TreeElement, marks: &mut RevisionMarks) {
    mark_runs(container, "w:del", marks);
}

/// Marks all runs below an element as inserted.
pub fn insert_runs(container: &mut TreeElement, marks: &mut RevisionMarks) {
    mark_runs(container, "w:ins", marks);
}

fn mark_runs(container: &mut TreeElement, mark: &str, marks: &mut RevisionMarks) {
    for node in &mut container.children {
        let Some(child) = node.as_element_mut() else { continue };
        match child.local() {
            "r" => {
                let run = child.clone();
                let run = if mark == "w:del" { deleted(run) } else { run };
                *node = marks.around(mark, run);
            }
            "del" | "moveFrom" | "pPr" | "trPr" | "tcPr" => {}
            _ => mark_runs(child, mark, marks),
        }
    }
}

/// Marks a paragraph itself, so that it disappears or appears with its text.
pub fn mark_paragraph(paragraph: &mut TreeElement, name: &str, marks: &mut RevisionMarks) {
    let mark = marks.mark(name);
    let properties = paragraph.first("pPr");
    if properties.child("rPr").is_none() {
        let late = |child: &Node| child.is("sectPr") || child.is("pPrChange");
        let at = properties.children.iter().position(late);
        let at = at.unwrap_or(properties.children.len());
        properties.insert(at, TreeElement::new("w:rPr", &[]));
    }
    let look = properties.child_mut("rPr").expect("it was added if it was missing");
    look.remove("ins");
    look.remove("del");
    look.insert(0, mark);
}

/// Marks a table row.
pub fn mark_row(row: &mut TreeElement, name: &str, marks: &mut RevisionMarks) {
    let mark = marks.mark(name);
    if row.child("trPr").is_none() {
        let is_later = |child: &Node| child.as_element().is_some() && !child.is("tblPrEx");
        let at = row.children.iter().position(is_later);
        row.insert(at.unwrap_or(row.children.len()), TreeElement::new("w:trPr", &[]));
    }
    let properties = row.child_mut("trPr").expect("it was added if it was missing");
    let at = properties.children.iter().position(|child| child.is("trPrChange"));
    properties.insert(at.unwrap_or(properties.children.len()), mark);
}
