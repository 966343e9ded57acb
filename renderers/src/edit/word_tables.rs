//! The tables of a Word file: their cells and rows. They are counted as the text of the document shows
//! them to those who read it.

use std::mem;

use super::{
    Change, EditError, invalid,
    revisions::{self, Word},
    text,
    tree::{Node, TreeElement},
};

impl Word {
    pub fn set_cell(&mut self, cell: &mut TreeElement, place: &str, new: &str) {
        let before = text::below(cell);
        match &mut self.marks {
            Some(marks) => {
                let look = text::first_look(cell);
                revisions::delete_runs(cell, marks);
                if let Some(path) = cell.paths("p").first() {
                    revisions::append(cell.at_mut(path), look, new, marks);
                }
            }
            None => text::rewrite_all(cell, new),
        }
        self.changes.push(Change::of(place, &before, new));
    }

    pub fn add_row(
        &mut self,
        table: &mut TreeElement,
        after: Option<usize>,
        cells: &[String],
        place: &str,
    ) -> Result<(), EditError> {
        let rows = table.paths("tr");
        let after = after.unwrap_or(rows.len());
        let path = after.checked_sub(1).and_then(|after| rows.get(after)).ok_or_else(|| {
            EditError::Invalid(format!("There is no row {after}: {place} has {} rows.", rows.len()))
        })?;
        let mut row = table.at(path).clone();
        row.each_mut(&mut |inner| {
            inner.unset("w14:paraId");
            inner.unset("w14:textId");
            let children = mem::take(&mut inner.children);
            inner.children = children.into_iter().flat_map(as_new).collect();
        });
        let columns = row.paths("tc");
        if cells.len() > columns.len() {
            return invalid(format!(
                "The row has {} cells, and {} were given.",
                columns.len(),
                cells.len()
            ));
        }
        for (number, column) in columns.iter().enumerate() {
            let (cell, text) = (row.at_mut(column), cells.get(number).map_or("", String::as_str));
            text::rewrite_all(cell, text);
            // The text of a cell that is merged with the one above is not shown.
            if let Some(properties) = cell.child_mut("tcPr").filter(|_| !text.is_empty()) {
                properties.remove("vMerge");
            }
        }
        if let Some(marks) = &mut self.marks {
            revisions::insert_runs(&mut row, marks);
            revisions::mark_row(&mut row, "w:ins", marks);
        }
        let (at, above) = path.split_last().expect("a path has steps");
        table.at_mut(above).children.insert(at + 1, Node::Element(row));
        let place = format!("{place}, row {}", after + 1);
        self.changes.push(Change::added(place, &cells.join(" | ")));
        Ok(())
    }

    pub fn remove_row(
        &mut self,
        table: &mut TreeElement,
        row: usize,
        place: &str,
    ) -> Result<(), EditError> {
        let rows = table.paths("tr");
        let Some(path) = row.checked_sub(1).and_then(|row| rows.get(row)) else {
            return invalid(format!("There is no {place}: the table has {} rows.", rows.len()));
        };
        if rows.len() == 1 {
            return invalid("The last row of a table is not removed: set its cells.");
        }
        let found = table.at_mut(path);
        let before = text::below(found).replace('\n', " | ");
        if let Some(marks) = &mut self.marks {
            revisions::delete_runs(found, marks);
            revisions::mark_row(found, "w:del", marks);
        } else {
            if let Some(below) = rows.get(row) {
                keep_merged(table, path, below);
            }
            remove(table, path);
        }
        self.changes.push(Change::removed(place, &before));
        Ok(())
    }
}

/// What of a row is kept in a new one: no marks of tracked changes, and nothing that refers to a place
/// or belongs to the text.
fn as_new(node: Node) -> Vec<Node> {
    const DROPPED: [&str; 16] = [
        "dataBinding",
        "bookmarkStart",
        "bookmarkEnd",
        "tblHeader",
        "del",
        "moveFrom",
        "cellIns",
        "cellDel",
        "rPrChange",
        "pPrChange",
        "trPrChange",
        "commentRangeStart",
        "commentRangeEnd",
        "commentReference",
        "footnoteReference",
        "endnoteReference",
    ];
    match node {
        Node::Element(inserted) if matches!(inserted.local(), "ins" | "moveTo") => {
            inserted.children.into_iter().flat_map(as_new).collect()
        }
        node if DROPPED.iter().any(|name| node.is(name)) => Vec::new(),
        node => vec![node],
    }
}

/// Gives the contents of cells that are merged with those below to these, before the row is removed.
fn keep_merged(table: &mut TreeElement, row: &[usize], below: &[usize]) {
    let row = table.at(row).clone();
    let below = table.at_mut(below);
    let (columns, paths) = (first_columns(below), below.paths("tc"));
    for (cell, column) in row.inner("tc").into_iter().zip(first_columns(&row)) {
        let Some(at) = columns.iter().position(|below| *below == column) else { continue };
        let target = below.at_mut(&paths[at]);
        let marks = [merge_mark(cell), merge_mark(target)];
        if marks.map(Option::unwrap_or_default) != ["restart", "continue"] || !is_covered(target) {
            continue;
        }
        target.children.retain(|child| child.is("tcPr"));
        let contents = cell.children.iter().filter(|child| !child.is("tcPr"));
        target.children.extend(contents.cloned());
        let mark = target.child_mut("tcPr").and_then(|look| look.child_mut("vMerge"));
        if let Some(mark) = mark {
            mark.set("w:val", "restart");
        }
    }
}

/// The kind of the merge of a cell with those above or below.
fn merge_mark(cell: &TreeElement) -> Option<String> {
    let mark = cell.child("tcPr")?.child("vMerge")?;
    Some(mark.attribute("w:val").unwrap_or_else(|| "continue".to_owned()))
}

/// The first column of each cell of a row, from 0.
fn first_columns(row: &TreeElement) -> Vec<usize> {
    let mut next = columns(row.child("trPr"), "gridBefore").unwrap_or(0);
    let first = |cell: &TreeElement| {
        let first = next;
        next = next.saturating_add(columns(cell.child("tcPr"), "gridSpan").unwrap_or(1).max(1));
        first
    };
    row.inner("tc").into_iter().map(first).collect()
}

/// Removes a row, and the content controls that had nothing else.
fn remove(table: &mut TreeElement, path: &[usize]) {
    let Some((at, above)) = path.split_last() else { return };
    let parent = table.at_mut(above);
    parent.children.remove(*at);
    if !above.is_empty() && parent.paths("tr").is_empty() {
        remove(table, above);
    }
}

/// The table with this number, without those inside others. The boxes of code, alerts and quotes are no
/// tables.
pub(super) fn nth_table(
    root: &mut TreeElement,
    number: usize,
) -> Result<&mut TreeElement, EditError> {
    let mut tables = Vec::new();
    collect_tables(root, &mut Vec::new(), &mut tables);
    let path = number.checked_sub(1).and_then(|number| tables.get(number)).ok_or_else(|| {
        let count = tables.len();
        EditError::Invalid(format!("There is no table {number}: the document has {count}."))
    })?;
    unbind_along(root, path);
    Ok(root.at_mut(path))
}

fn collect_tables(element: &TreeElement, path: &mut Vec<usize>, found: &mut Vec<Vec<usize>>) {
    for (at, node) in element.children.iter().enumerate() {
        // The alternative for old programs has the same tables again.
        let child = node.as_element().filter(|child| child.local() != "Fallback");
        let Some(child) = child else { continue };
        path.push(at);
        if child.local() == "tbl" && !is_box(child) {
            found.push(path.clone());
        } else {
            collect_tables(child, path, found);
        }
        path.pop();
    }
}

/// Whether a table is the box of code, an alert or a quote in a file of the renderers.
fn is_box(table: &TreeElement) -> bool {
    let rows = table.inner("tr").into_iter();
    let cells: Vec<&TreeElement> = rows.flat_map(|row| row.inner("tc")).collect();
    let [cell] = cells[..] else { return false };
    let (mut has_code, mut has_text) = (false, !cell.inner("tbl").is_empty());
    for paragraph in cell.inner("p") {
        let style = paragraph.child("pPr").and_then(|look| look.child("pStyle"));
        match style.and_then(|style| style.attribute("w:val")).as_deref() {
            Some("AlertTitle" | "QuoteText") => return true,
            Some("Code") => has_code = true,
            _ => has_text |= !text::of(paragraph).trim().is_empty(),
        }
    }
    has_code && !has_text
}

/// A cell. One that is merged over several columns has the numbers of all of them.
pub(super) fn cell(
    root: &mut TreeElement,
    table: usize,
    row: usize,
    column: usize,
) -> Result<&mut TreeElement, EditError> {
    let found = nth_table(root, table)?;
    let rows = found.paths("tr");
    let missing = |what: &str, count: usize| {
        EditError::Invalid(format!("There is no {what} in table {table}: there are {count}."))
    };
    let path = row.checked_sub(1).and_then(|row| rows.get(row));
    let path = path.ok_or_else(|| missing(&format!("row {row}"), rows.len()))?;
    unbind_along(found, path);
    let found = found.at_mut(path);
    let skipped = columns(found.child("trPr"), "gridBefore").unwrap_or(0);
    let mut end = skipped;
    let path = found.paths("tc").into_iter().find(|path| {
        end = end
            .saturating_add(columns(found.at(path).child("tcPr"), "gridSpan").unwrap_or(1).max(1));
        (skipped + 1..=end).contains(&column)
    });
    let path = path.ok_or_else(|| missing(&format!("column {column} of row {row}"), end))?;
    if is_covered(found.at(&path)) {
        return invalid(format!(
            "Column {column} of row {row} in table {table} is a part of a merged cell: set the first \
             of its cells."
        ));
    }
    unbind_along(found, &path);
    let cell = found.at_mut(&path);
    text::unbind_where(cell, |_| true);
    Ok(cell)
}

/// Unbinds the content controls on the way to an element.
fn unbind_along(element: &mut TreeElement, path: &[usize]) {
    for steps in 0..path.len() {
        text::unbind(element.at_mut(&path[..steps]));
    }
}

/// A number of columns in the properties of a row or a cell.
fn columns(properties: Option<&TreeElement>, name: &str) -> Option<usize> {
    Some(properties?.child(name)?.number("w:val")? as usize)
}

/// Whether a cell has no text because it is merged with the one above or before it.
fn is_covered(cell: &TreeElement) -> bool {
    let Some(properties) = cell.child("tcPr") else { return false };
    let is_continued = properties.elements().any(|mark| {
        matches!(mark.local(), "vMerge" | "hMerge")
            && mark.attribute("w:val").as_deref() != Some("restart")
    });
    is_continued && text::below(cell).trim().is_empty()
}

#[cfg(test)]
mod tests {
    use super::super::tree::{parse, root, write};
    use super::*;

    /// The document after a change of its first table.
    fn changed(
        rows: &str,
        change: impl FnOnce(&mut Word, &mut TreeElement) -> Result<(), EditError>,
    ) -> Result<String, EditError> {
        let xml = format!("<w:body><w:tbl>{rows}</w:tbl></w:body>");
        let mut nodes = parse("x", xml.as_bytes())?;
        let mut word = Word { marks: None, changes: Vec::new() };
        change(&mut word, root("x", &mut nodes)?)?;
        Ok(write(&nodes))
    }

    fn with_cell(rows: &str, row: usize, column: usize) -> Result<String, EditError> {
        changed(rows, |word, root| {
            word.set_cell(cell(root, 1, row, column)?, "", "new");
            Ok(())
        })
    }

    fn paragraph(text: &str) -> String {
        format!("<w:p><w:r><w:t>{text}</w:t></w:r></w:p>")
    }

    fn control(content: &str) -> String {
        format!("<w:sdt><w:sdtPr></w:sdtPr><w:sdtContent>{content}</w:sdtContent></w:sdt>")
    }

    /// A row of three cells. The row, the second cell and the text of the third are in content controls.
    fn controlled() -> String {
        let [a, b, c] = ["a", "b", "c"].map(paragraph);
        let b = control(&format!("<w:tc>{b}</w:tc>"));
        let c = control(&format!("{c}<w:p/>"));
        control(&format!("<w:tr><w:tc>{a}</w:tc>{b}<w:tc>{c}</w:tc></w:tr>"))
    }

    #[test]
    fn cells_in_content_controls_are_set() {
        for (column, old) in [(1, "a"), (2, "b"), (3, "c")] {
            let before = controlled().replace("<w:p/>", if column == 3 { "" } else { "<w:p/>" });
            let wanted = before.replace(&paragraph(old), &paragraph("new"));
            let placeholder = controlled().replace("<w:sdtPr>", "<w:sdtPr><w:showingPlcHdr/>");
            let set = with_cell(&placeholder, 1, column).unwrap();
            assert_eq!(set.matches("showingPlcHdr").count(), if column == 3 { 2 } else { 3 });
            let set = set.replace("<w:showingPlcHdr/>", "");
            assert_eq!(set, format!("<w:body><w:tbl>{wanted}</w:tbl></w:body>"));
        }
        let set = with_cell(&control("<w:tr><w:tc/></w:tr>"), 1, 2).unwrap_err().to_string();
        assert!(set.contains("column 2 of row 1"), "{set}");
    }

    #[test]
    fn a_cell_keeps_its_bookmark() {
        let marked = |runs: &str| {
            format!(
                "<w:tr><w:tc><w:p><w:pPr/><w:bookmarkStart w:id=\"1\"/>{runs}\
                 <w:bookmarkEnd w:id=\"1\"/></w:p></w:tc></w:tr>"
            )
        };
        let set = with_cell(&marked("<w:r><w:t>a</w:t><w:tab/></w:r>"), 1, 1).unwrap();
        assert!(set.contains(&marked("<w:r><w:t>new</w:t></w:r>")), "{set}");
    }

    /// The result of a field would replace the new text when Word computes it.
    #[test]
    fn a_cell_keeps_no_signs_and_computed_fields() {
        let row = |runs: &str| format!("<w:tr><w:tc><w:p>{runs}</w:p></w:tc></w:tr>");
        let result = "<w:r><w:t>7</w:t></w:r>";
        for runs in [
            "<w:r><w:t>a</w:t><w:noBreakHyphen/><w:t>b</w:t></w:r>".to_owned(),
            format!("<w:fldSimple w:instr=\" =SUM(ABOVE) \">{result}</w:fldSimple>"),
            format!("<w:r><w:instrText> DATE </w:instrText></w:r>{result}"),
        ] {
            let set = with_cell(&row(&runs), 1, 1).unwrap();
            assert!(set.contains(&row("<w:r><w:t>new</w:t></w:r>")), "{set}");
        }
        let link =
            "<w:r><w:instrText> HYPER</w:instrText><w:instrText>LINK \"x\"</w:instrText></w:r>";
        let set = with_cell(&row(&format!("{link}{result}")), 1, 1).unwrap();
        assert!(set.contains(link) && set.contains(">new<"), "{set}");
    }

    #[test]
    fn rows_in_content_controls_are_added_and_removed() {
        let rows = format!("<w:tr><w:tc>{}</w:tc></w:tr>{}", paragraph("top"), controlled());
        let added = changed(&rows, |word, root| {
            let cells = ["x", "y", "z"].map(str::to_owned);
            word.add_row(nth_table(root, 1)?, None, &cells, "")
        });
        let added = added.unwrap();
        for text in ["c", "x", "y", "z"] {
            assert!(added.contains(&paragraph(text)), "{text}: {added}");
        }
        let removed =
            changed(&rows, |word, root| word.remove_row(nth_table(root, 1)?, 2, "")).unwrap();
        assert!(removed.contains("top") && !removed.contains("w:sdt"), "{removed}");
    }

    #[test]
    fn merged_cells_have_the_numbers_of_their_columns() {
        let cell = |look: &str, text: &str| {
            format!("<w:tc><w:tcPr>{look}</w:tcPr>{}</w:tc>", paragraph(text))
        };
        let wide = cell("<w:gridSpan w:val=\"2\"/>", "wide");
        let covered = cell("<w:vMerge/>", "");
        let row = format!("<w:tr>{wide}{}{covered}</w:tr>", cell("", "narrow"));
        for (column, old) in [(1, "wide"), (2, "wide"), (3, "narrow")] {
            let set = with_cell(&row, 1, column).unwrap();
            assert!(set.contains("new") && !set.contains(old), "{column}: {set}");
        }
        let late = format!("<w:tr><w:trPr><w:gridBefore w:val=\"1\"/></w:trPr>{wide}</w:tr>");
        assert!(with_cell(&late, 1, 3).unwrap().contains("new"));
        for (row, column, why) in [(&row, 4, "merged"), (&row, 5, "there are 4"), (&late, 1, "no")]
        {
            let error = with_cell(row, 1, column).unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
    }

    #[test]
    fn the_mark_of_a_row_precedes_its_cells() {
        let row = format!("<w:tr><w:tblPrEx/>{}<w:tc/></w:tr>", control("<w:tc/>"));
        let mut nodes = parse("x", row.as_bytes()).unwrap();
        let author = revisions::Author { name: "A".into(), date: String::new() };
        let mut marks = revisions::RevisionMarks::after(&author, 0);
        revisions::mark_row(root("x", &mut nodes).unwrap(), "w:del", &mut marks);
        let marked = write(&nodes);
        assert!(marked.starts_with("<w:tr><w:tblPrEx/><w:trPr><w:del "), "{marked}");
    }

    #[test]
    fn the_text_of_a_merged_cell_outlives_its_first_row() {
        let row = |first: &str, second: &str| {
            format!("<w:tr><w:tc>{first}</w:tc><w:tc>{}</w:tc></w:tr>", paragraph(second))
        };
        let start = format!("<w:tcPr><w:vMerge w:val=\"restart\"/></w:tcPr>{}", paragraph("Fruit"));
        let covered = "<w:tcPr><w:vMerge/></w:tcPr><w:p/>";
        let rows = [row(&start, "a"), row(covered, "b"), row(covered, "c")].concat();
        let removed =
            changed(&rows, |word, root| word.remove_row(nth_table(root, 1)?, 1, "")).unwrap();
        let wanted = row(&start, "b") + &row(covered, "c");
        assert_eq!(removed, format!("<w:body><w:tbl>{wanted}</w:tbl></w:body>"));
    }

    #[test]
    fn a_new_row_has_nothing_of_the_text_before_it() {
        let run = |content: &str| format!("<w:r>{content}</w:r>");
        let row = format!(
            "<w:tr><w:tc><w:tcPr><w:vMerge/></w:tcPr><w:p>{}<w:ins w:id=\"1\"><w:del w:id=\"2\">{}\
             </w:del></w:ins><w:commentRangeStart w:id=\"3\"/>{}</w:p></w:tc></w:tr>",
            run("<w:t>old</w:t>"),
            run("<w:delText>gone</w:delText>"),
            run("<w:footnoteReference w:id=\"4\"/>"),
        );
        let added = |text: &str| {
            let added = changed(&row, |word, root| {
                word.add_row(nth_table(root, 1)?, None, &[text.to_owned()], "")
            });
            added.unwrap()
        };
        let new = added("new");
        let once = ["gone", "commentRangeStart", "footnoteReference", "vMerge", ">new<"];
        for once in once {
            assert_eq!(new.matches(once).count(), 1, "{once}: {new}");
        }
        assert_eq!(added("").matches("vMerge").count(), 2);
    }

    #[test]
    fn a_new_row_has_the_format_of_inserted_text() {
        let run = |text: &str| format!("<w:r><w:rPr><w:b/></w:rPr><w:t>{text}</w:t></w:r>");
        let row = format!(
            "<w:tr><w:trPr><w:ins w:id=\"1\"/></w:trPr><w:tc><w:p><w:ins w:id=\"2\">{}</w:ins></w:p>\
             </w:tc></w:tr>",
            run("old")
        );
        let added = changed(&row, |word, root| {
            word.add_row(nth_table(root, 1)?, None, &["new".to_owned()], "")
        });
        let added = added.unwrap();
        assert!(
            added.ends_with(&format!("<w:p>{}</w:p></w:tc></w:tr></w:tbl></w:body>", run("new")))
        );
        assert_eq!(added.matches("<w:ins").count(), 2, "{added}");
    }
}
