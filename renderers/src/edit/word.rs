//! Changes text, paragraphs and table rows of a Word file, as tracked changes on request.

use serde::{Deserialize, Serialize};

pub use super::revisions::Author;
use super::{
    Change, EditError, Edited, invalid,
    parts::PackageParts,
    revisions::{self, RevisionMarks, Word},
    text::{self, Replacement},
    tree::{self, Node, TreeElement},
    word_tables::{cell, nth_table},
};
use crate::read::limits;

const BODY: &str = "word/document.xml";

/// The maximum number of changes of one edit.
pub const CHANGES: usize = 200;

/// The changes of a Word file, which are made one after the other.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct WordEdit {
    /// The changes.
    pub changes: Vec<WordChange>,
    /// Whose tracked changes they are; without an author they are made at once.
    pub author: Option<Author>,
}

/// One change of a Word file. Tables, rows and columns are counted from 1.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", rename_all_fields = "camelCase", tag = "action")]
pub enum WordChange {
    /// Replaces a text everywhere, in headers, footers and notes too.
    ReplaceText {
        /// The text within a paragraph.
        old: String,
        /// The new text.
        new: String,
    },
    /// Adds a paragraph in the look of the one before it.
    InsertParagraph {
        /// A text that only the paragraph before it has.
        after: String,
        /// The text of the new paragraph.
        text: String,
    },
    /// Removes a paragraph.
    RemoveParagraph {
        /// A text that only this paragraph has.
        containing: String,
    },
    /// Replaces the text of a table cell.
    SetCell {
        /// The table.
        table: usize,
        /// The row.
        row: usize,
        /// The column. A merged cell has the numbers of all of its columns.
        column: usize,
        /// The new text.
        text: String,
    },
    /// Adds a table row in the look of the one before it.
    AddRow {
        /// The table.
        table: usize,
        /// The row before it; by default the last.
        #[serde(default)]
        after: Option<usize>,
        /// The texts of its cells.
        cells: Vec<String>,
    },
    /// Removes a table row.
    RemoveRow {
        /// The table.
        table: usize,
        /// The row.
        row: usize,
    },
}

/// Edits a Word file.
pub fn edit(file: &[u8], edit: &WordEdit) -> Result<Edited, EditError> {
    limits::within(edit.changes.len() as u64, CHANGES as u64, "changes in one call")?;
    let mut parts = PackageParts::open(file)?;
    if !parts.has(BODY) {
        return invalid("Only Word files (.docx) are edited.");
    }
    let mut names: Vec<_> = parts.names().into_iter().filter(|name| has_text(name)).collect();
    // The body comes first.
    names.sort_by_key(|name| (name != BODY, name.clone()));
    let mut trees = Vec::new();
    for name in names {
        trees.push((parts.tree(&name)?, name, false));
    }
    let mut last = 0;
    for (nodes, name, _) in &mut trees {
        last = last.max(revisions::last_mark(tree::root(name, nodes)?));
    }
    let marks = edit.author.as_ref().map(|author| RevisionMarks::after(author, last));
    let mut word = Word { marks, changes: Vec::new() };
    for change in &edit.changes {
        if let WordChange::ReplaceText { old, new } = change {
            let mut count = 0;
            for (nodes, name, is_changed) in &mut trees {
                let found = word.replace(tree::root(name, nodes)?, old, new)?;
                *is_changed |= found > 0;
                count += found;
            }
            if count == 0 {
                return invalid(format!(
                    "The text “{old:.80}” does not occur within a paragraph: read the document, \
                     and give the text as it is there."
                ));
            }
        } else {
            let (nodes, name, is_changed) = &mut trees[0];
            word.change(tree::root(name, nodes)?, change)?;
            *is_changed = true;
        }
    }
    for (nodes, name, is_changed) in &trees {
        if *is_changed {
            parts.put(name, nodes)?;
        }
    }
    Ok(Edited { bytes: parts.finish()?, changes: word.changes, ..Edited::default() })
}

fn has_text(name: &str) -> bool {
    let file = name.strip_prefix("word/").and_then(|name| name.strip_suffix(".xml"));
    file.is_some_and(|file| {
        let starts = ["header", "footer", "footnotes", "endnotes"];
        file == "document" || starts.iter().any(|start| file.starts_with(start))
    })
}

impl Word {
    fn change(&mut self, root: &mut TreeElement, change: &WordChange) -> Result<(), EditError> {
        match change {
            WordChange::ReplaceText { .. } => Ok(()),
            WordChange::InsertParagraph { after, text } => self.insert_paragraph(root, after, text),
            WordChange::RemoveParagraph { containing } => self.remove_paragraph(root, containing),
            WordChange::SetCell { table, row, column, text } => {
                let place = format!("table {table}, row {row}, column {column}");
                self.set_cell(cell(root, *table, *row, *column)?, &place, text);
                Ok(())
            }
            WordChange::AddRow { table, after, cells } => {
                let found = nth_table(root, *table)?;
                self.add_row(found, *after, cells, &format!("table {table}"))
            }
            WordChange::RemoveRow { table, row } => {
                let found = nth_table(root, *table)?;
                self.remove_row(found, *row, &format!("table {table}, row {row}"))
            }
        }
    }

    fn replace(
        &mut self,
        root: &mut TreeElement,
        old: &str,
        new: &str,
    ) -> Result<usize, EditError> {
        if old.is_empty() || old == new || old.contains(['\n', '\t']) {
            return invalid(
                "The old text must be within a paragraph, not empty, and differ from the new one.",
            );
        }
        text::unbind_where(root, |text| text.contains(old));
        let mut count = 0;
        root.each_mut(&mut |paragraph| {
            if !text::is_paragraph(paragraph) {
                return;
            }
            let before = text::of(paragraph);
            let found: Vec<_> =
                before.match_indices(old).map(|(at, _)| at..at + old.len()).collect();
            if found.is_empty() {
                return;
            }
            count += found.len();
            let replacements: Vec<_> = found
                .iter()
                .map(|range| Replacement { range: range.clone(), text: new.to_owned() })
                .collect();
            match &mut self.marks {
                Some(marks) => revisions::replace(paragraph, &found, new, marks),
                None => text::replace(paragraph, &replacements),
            }
            self.changes.push(Change::of("text", &before, &before.replace(old, new)));
        });
        Ok(count)
    }

    fn insert_paragraph(
        &mut self,
        root: &mut TreeElement,
        after: &str,
        new: &str,
    ) -> Result<(), EditError> {
        unique(root, after)?;
        self.changes.push(Change::added(format!("after “{after:.60}”"), new));
        let marks = &mut self.marks;
        at_paragraph(root, after, &mut |siblings, at| {
            let Some(before) = siblings[at].as_element() else { return };
            let mut paragraph = before.clone();
            paragraph.each_mut(&mut |inner| {
                // Among them the marks of tracked changes of the paragraph before.
                for other in
                    ["sectPr", "ins", "del", "moveFrom", "moveTo", "pPrChange", "rPrChange"]
                {
                    inner.remove(other);
                }
                inner.unset("w14:paraId");
                inner.unset("w14:textId");
            });
            paragraph.children.retain(|child| child.is("pPr"));
            let look = text::first_look(before);
            if let Some(marks) = marks {
                revisions::append(&mut paragraph, look, new, marks);
                revisions::mark_paragraph(&mut paragraph, "w:ins", marks);
            } else {
                let run = text::run(&paragraph, look, new);
                paragraph.push(run);
            }
            siblings.insert(at + 1, Node::Element(paragraph));
        });
        Ok(())
    }

    fn remove_paragraph(
        &mut self,
        root: &mut TreeElement,
        containing: &str,
    ) -> Result<(), EditError> {
        let before = unique(root, containing)?;
        let mut result = Ok(());
        let marks = &mut self.marks;
        at_paragraph(root, containing, &mut |siblings, at| {
            let others = siblings.iter().filter(|node| node.is("p")).count();
            let is_needed = others == 1 || is_after_table(siblings, at);
            let Some(paragraph) = siblings[at].as_element_mut() else { return };
            let ends_section =
                paragraph.child("pPr").is_some_and(|look| look.child("sectPr").is_some());
            if ends_section {
                result = invalid("This paragraph ends a section of the document: keep it.");
            } else if let Some(marks) = marks {
                revisions::delete_runs(paragraph, marks);
                revisions::mark_paragraph(paragraph, "w:del", marks);
            } else if is_needed {
                // A cell, and a document, must not be empty.
                text::rewrite(paragraph, "");
            } else {
                siblings.remove(at);
            }
        });
        self.changes.push(Change::removed("paragraph", &before));
        result
    }
}

/// Whether a paragraph is between two tables, which would become one without it, or between a table and
/// the end of a cell, which must not be a table.
fn is_after_table(siblings: &[Node], at: usize) -> bool {
    let mut before = siblings[..at].iter().rev().filter_map(text::as_block);
    let mut after = siblings[at + 1..].iter().filter_map(text::as_block);
    let is_table = |element: &TreeElement| element.local() == "tbl";
    before.next().is_some_and(is_table) && after.next().is_none_or(is_table)
}

/// The text of the only paragraph that contains this text.
fn unique(root: &TreeElement, wanted: &str) -> Result<String, EditError> {
    let mut found = Vec::new();
    each_paragraph(root, &mut |paragraph| {
        let text = text::of(paragraph);
        found.extend(Some(text).filter(|text| text.contains(wanted)));
    });
    match (found.len(), found.pop()) {
        (1, Some(text)) if !wanted.trim().is_empty() => Ok(text),
        (count, _) => invalid(format!(
            "The text “{wanted:.80}” is in {count} paragraphs: give a text that only the paragraph \
             meant has."
        )),
    }
}

/// Calls `each` for all paragraphs. The alternative for old programs has some of them again.
fn each_paragraph(element: &TreeElement, each: &mut impl FnMut(&TreeElement)) {
    if text::is_paragraph(element) {
        each(element);
    }
    for child in element.elements().filter(|child| child.local() != "Fallback") {
        each_paragraph(child, each);
    }
}

/// Calls `act` with the siblings and the place of the paragraph that contains this text.
fn at_paragraph(
    element: &mut TreeElement,
    wanted: &str,
    act: &mut impl FnMut(&mut Vec<Node>, usize),
) -> bool {
    let is_it = |node: &Node| {
        let paragraph = node.as_element().filter(|child| text::is_paragraph(child));
        paragraph.is_some_and(|paragraph| text::of(paragraph).contains(wanted))
    };
    if let Some(at) = element.children.iter().position(is_it) {
        act(&mut element.children, at);
        return true;
    }
    let is_below = element.elements_mut().any(|child| at_paragraph(child, wanted, act));
    if is_below {
        text::unbind(element);
    }
    is_below
}

#[cfg(test)]
mod tests {
    use super::super::tree::{parse, root, write};
    use super::*;

    fn paragraph(text: &str) -> String {
        format!("<w:p><w:r><w:t>{text}</w:t></w:r></w:p>")
    }

    /// The contents of a body after a change.
    fn changed(content: &str, change: &WordChange) -> String {
        let mut nodes = parse("x", format!("<w:body>{content}</w:body>").as_bytes()).unwrap();
        let mut word = Word { marks: None, changes: Vec::new() };
        word.change(root("x", &mut nodes).unwrap(), change).unwrap();
        write(&nodes).replace("<w:body>", "").replace("</w:body>", "")
    }

    #[test]
    fn a_paragraph_after_a_table_is_only_emptied() {
        let change = WordChange::RemoveParagraph { containing: "gone".into() };
        let [one, gone, empty] = ["one", "gone", ""].map(paragraph);
        let table = "<w:tbl><w:tr><w:tc><w:p/></w:tc></w:tr></w:tbl>";
        let mark = "<w:bookmarkEnd w:id=\"1\"/>";
        for (before, after) in [
            (format!("{one}{gone}{table}"), format!("{one}{table}")),
            (format!("{one}{table}{gone}{one}"), format!("{one}{table}{one}")),
            (format!("{one}{table}{gone}{table}"), format!("{one}{table}{empty}{table}")),
            (format!("{one}{table}{gone}"), format!("{one}{table}{empty}")),
            (format!("{table}{gone}{mark}{table}"), format!("{table}{empty}{mark}{table}")),
            (gone.clone(), empty),
        ] {
            assert_eq!(changed(&before, &change), after);
        }
    }

    #[test]
    fn a_paragraph_of_a_shape_is_there_once() {
        let inner = paragraph("in");
        let shape = |inner: &str| {
            format!(
                "<w:p><w:r><mc:AlternateContent><mc:Choice>{inner}</mc:Choice><mc:Fallback>{}\
                 </mc:Fallback></mc:AlternateContent></w:r></w:p>",
                paragraph("in")
            )
        };
        let change = WordChange::InsertParagraph { after: "in".into(), text: "new".into() };
        let wanted = shape(&(inner.clone() + &paragraph("new")));
        assert_eq!(changed(&shape(&inner), &change), wanted);
    }

    #[test]
    fn numbers_of_new_marks_are_free_and_valid() {
        let content = "<w:body><w:tblPrChange w:id=\"7\"/><w:ins w:id=\"4294967295\"/></w:body>";
        let mut nodes = parse("x", content.as_bytes()).unwrap();
        assert_eq!(revisions::last_mark(root("x", &mut nodes).unwrap()), 7);
    }

    #[test]
    fn deleted_fields_and_formulas_keep_their_kind() {
        let content = "<w:p><w:r><w:instrText>PAGE</w:instrText></w:r>\
                       <m:oMath><m:r><m:t>x</m:t></m:r></m:oMath></w:p>";
        let mut nodes = parse("x", content.as_bytes()).unwrap();
        let author = Author { name: "A".into(), date: String::new() };
        let mut marks = RevisionMarks::after(&author, 0);
        revisions::delete_runs(root("x", &mut nodes).unwrap(), &mut marks);
        let deleted = write(&nodes);
        let code = "<w:delInstrText xml:space=\"preserve\">PAGE</w:delInstrText>";
        assert!(deleted.contains(code) && deleted.contains("<m:t>x</m:t>"), "{deleted}");
    }

    /// Word replaces the text of a control by the data that it is bound to.
    #[test]
    fn content_controls_with_a_new_text_are_not_bound_to_data() {
        let bound = |content: &str| {
            format!(
                "<w:sdt><w:sdtPr><w:alias/><w:dataBinding w:xpath=\"x\"/></w:sdtPr><w:sdtContent>\
                 {content}</w:sdtContent></w:sdt>"
            )
        };
        let run = |text: &str| format!("<w:r><w:t>{text}</w:t></w:r>");
        let content = format!(
            "{}<w:p>{}</w:p>{}",
            bound(&(paragraph("one") + &paragraph("two"))),
            bound(&run("three")),
            bound(&paragraph("other"))
        );
        for (old, count) in [("one", 2), ("three", 2), ("none", 3)] {
            let mut nodes = parse("x", format!("<w:body>{content}</w:body>").as_bytes()).unwrap();
            let mut word = Word { marks: None, changes: Vec::new() };
            word.replace(root("x", &mut nodes).unwrap(), old, "new").unwrap();
            assert_eq!(write(&nodes).matches("dataBinding").count(), count, "{old}");
        }
        let change = WordChange::RemoveParagraph { containing: "two".into() };
        assert_eq!(changed(&content, &change).matches("dataBinding").count(), 2);
        let table = format!("<w:tbl>{}</w:tbl>", bound("<w:tr><w:tc><w:p/></w:tc></w:tr>"));
        let change = WordChange::SetCell { table: 1, row: 1, column: 1, text: "new".into() };
        assert_eq!(changed(&table, &change).matches("dataBinding").count(), 0);
    }

    /// If all runs were visited for each place, this would take minutes instead of a second.
    #[test]
    fn a_text_is_replaced_in_many_runs() {
        let run = |text: &str| format!("<w:r><w:t>{text}</w:t></w:r>");
        let content = |runs: String| format!("<w:body><w:p>{runs}</w:p></w:body>");
        let author = Author { name: "A".into(), date: String::new() };
        for marks in [None, Some(RevisionMarks::after(&author, 0))] {
            let is_tracked = marks.is_some();
            let runs = [run("xa"), run("b"), run("ay")].concat().repeat(20_000);
            let mut nodes = parse("x", content(runs).as_bytes()).unwrap();
            let mut word = Word { marks, changes: Vec::new() };
            let count = word.replace(root("x", &mut nodes).unwrap(), "aba", "new").unwrap();
            assert_eq!(count, 20_000);
            let wanted = content([run("xnew"), run(""), run("y")].concat().repeat(20_000));
            assert!(is_tracked || write(&nodes) == wanted);
        }
    }

    #[test]
    fn an_aligned_tab_is_a_tab() {
        let aligned = "<w:p><w:r><w:t>a</w:t><w:ptab/><w:t>b</w:t></w:r></w:p>";
        let change = WordChange::RemoveParagraph { containing: "a\tb".into() };
        assert_eq!(changed(&(paragraph("one") + aligned), &change), paragraph("one"));
    }

    #[test]
    fn new_texts_may_have_several_lines() {
        let lines = "<w:r><w:t>one</w:t><w:br/><w:t>two</w:t></w:r>";
        let text = "one\ntwo".to_owned();
        let author = Author { name: "A".into(), date: "2026-05-01T12:00:00Z".into() };
        for marks in [None, Some(RevisionMarks::after(&author, 0))] {
            let content = format!("<w:body>{}{}</w:body>", paragraph("old"), paragraph("last"));
            let mut nodes = parse("x", content.as_bytes()).unwrap();
            let root = root("x", &mut nodes).unwrap();
            let mut word = Word { marks, changes: Vec::new() };
            word.replace(root, "old", &text).unwrap();
            let change = WordChange::InsertParagraph { after: "last".into(), text: text.clone() };
            word.change(root, &change).unwrap();
            assert_eq!(write(&nodes).matches(lines).count(), 2, "{}", write(&nodes));
        }
    }

    #[test]
    fn a_new_paragraph_is_no_tracked_change() {
        for mark in ["del", "moveTo", "rPrChange"] {
            let mark = format!("<w:{mark} w:id=\"1\"/>");
            let before = format!(
                "<w:p><w:pPr><w:rPr>{mark}<w:b/></w:rPr></w:pPr><w:r><w:rPr><w:i/>\
                 <w:rPrChange w:id=\"2\"/></w:rPr><w:t>old</w:t></w:r></w:p>"
            );
            let change = WordChange::InsertParagraph { after: "old".into(), text: "new".into() };
            let wanted = before.replace(&mark, "").replace("<w:rPrChange w:id=\"2\"/>", "");
            let wanted = wanted.replace("old", "new");
            assert_eq!(changed(&before, &change), format!("{before}{wanted}"));
        }
    }
}
