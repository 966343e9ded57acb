//! Fills the fields of a Word or PowerPoint template, once or once for each row of a list.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeSet;

pub use super::list::rows;
use super::{
    Change, EditError, Edited,
    fields::{self, Field, FieldKind, Scope},
    invalid,
    parts::PackageParts,
    sections::{
        as_copy, begin, distinct_drawings, end, joined_tables, keep_joined_tables, without_marks,
    },
    text::{self, Replacement},
    tree::{Node, TreeElement, write},
};
use crate::read::limits;

/// The maximum number of repetitions of sections in a file.
const REPETITIONS: usize = 10_000;

/// The maximum size of all repetitions of sections in a file.
const REPEATED_BYTES: usize = 64 << 20;

/// The maximum nesting of sections. Those that follow each other in a paragraph count too.
const DEPTH: usize = 100;

/// The maximum number of files of a mail merge.
pub const FILES: usize = 500;

/// The maximum length of a file name.
const NAME_BYTES: usize = 255;

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
    if name.len() > NAME_BYTES {
        return invalid(format!(
            "A file name of more than {NAME_BYTES} bytes is too long: “{name:.60}…”. Use other \
             fields in the name."
        ));
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
    let mut filling = Fill::new(REPETITIONS);
    let mut names = parts.names();
    names.sort();
    for name in names.into_iter().filter(|name| is_filled(name)) {
        let bytes = parts.bytes(&name)?.unwrap_or_default();
        if !text::may_contain(&bytes, "{") {
            continue;
        }
        let mut nodes = parts.tree(&name)?;
        let before = filling.found;
        filling.part(&mut nodes, scope)?;
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
    /// The repetitions that are still allowed, and their size.
    left: usize,
    left_bytes: usize,
    /// The fields found so far.
    found: usize,
    changes: Vec<Change>,
}

impl Fill {
    fn new(repetitions: usize) -> Self {
        Self { left: repetitions, left_bytes: REPEATED_BYTES, found: 0, changes: Vec::new() }
    }

    fn part(&mut self, nodes: &mut Vec<Node>, scope: &mut Scope<'_>) -> Result<(), EditError> {
        for element in nodes.iter_mut().filter_map(Node::as_element_mut) {
            text::unbind_where(element, |text| !fields::fields(text).is_empty());
        }
        let left = self.left;
        self.nodes(nodes, scope)?;
        if self.left < left {
            distinct_drawings(nodes);
        }
        Ok(())
    }

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
        keep_joined_tables(&mut element.children);
        self.nodes(&mut element.children, scope)?;
        // A table must have a row.
        element.children.retain(|child| {
            let table = child.as_element().filter(|child| child.name == "w:tbl");
            table.is_none_or(|table| !table.paths("tr").is_empty())
        });
        for at in joined_tables(&element.children).into_iter().rev() {
            element.insert(at, empty_paragraph(element));
        }
        // A container of paragraphs must not be empty, and a cell must not end with a table.
        let is_last = element.elements().last().is_some_and(|last| last.name == "w:tbl");
        let has_none = element.child("p").is_none();
        if had && (has_none || is_last && element.name == "w:tc") {
            // The properties of the last section end a body.
            let end = element.children.iter().position(|child| child.is("sectPr"));
            element.insert(end.unwrap_or(element.children.len()), empty_paragraph(element));
        }
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
        limits::within(scope.depth() as u64, DEPTH as u64, "levels of nested sections")?;
        let end = end(&nodes[at..], name).map(|length| at + length).ok_or_else(|| {
            EditError::Invalid(format!(
                "The template has {{{{#{name}}}}} without {{{{/{name}}}}} after it in the same \
                 table or text."
            ))
        })?;
        self.found += 1;
        let mut block: Vec<Node> = nodes.drain(at..=end).collect();
        without_marks(&mut block, name);
        let Some(value) = scope.find(name) else {
            return invalid(format!("The section {name} has no value: give a list of objects."));
        };
        let repetitions = fields::repetitions(value);
        if repetitions.is_empty() {
            for element in block.iter().filter_map(Node::as_element) {
                for field in fields::fields(&text::below(element)) {
                    scope.mention(&field.name);
                }
            }
        }
        let size = write(&block).len();
        let mut made = Vec::new();
        for (number, value) in repetitions.into_iter().enumerate() {
            self.count(size)?;
            let mut copy = block.clone();
            if number > 0 {
                as_copy(&mut copy);
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

    /// Counts a repetition of this many bytes.
    fn count(&mut self, size: usize) -> Result<(), EditError> {
        let too_many = |what: String| {
            EditError::TooLarge(format!("The sections repeat more than {what}: use fewer rows."))
        };
        self.left =
            self.left.checked_sub(1).ok_or_else(|| too_many(format!("{REPETITIONS} times")))?;
        let megabytes = REPEATED_BYTES >> 20;
        self.left_bytes = self
            .left_bytes
            .checked_sub(size)
            .ok_or_else(|| too_many(format!("{megabytes} MB of text")))?;
        Ok(())
    }
}

fn empty_paragraph(container: &TreeElement) -> TreeElement {
    TreeElement::new(&container.named("p"), &[])
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::tree::parse;
    use super::*;

    fn paragraph(text: &str) -> String {
        format!("<w:p><w:r><w:t>{text}</w:t></w:r></w:p>")
    }

    /// A table with one row.
    fn table(cells: &[&str]) -> String {
        let cells: Vec<String> = cells.iter().map(|cell| format!("<w:tc>{cell}</w:tc>")).collect();
        format!("<w:tbl><w:tr>{}</w:tr></w:tbl>", cells.concat())
    }

    /// The marks of a section around this.
    fn section(content: &str) -> String {
        [&paragraph("{{#a}}"), content, &paragraph("{{/a}}")].concat()
    }

    /// The contents of a body that is filled with this value of `a`.
    fn filled_body(content: &str, value: &Value) -> String {
        filled_within(9, content, value).unwrap()
    }

    /// The same with at most this many repetitions.
    fn filled_within(
        repetitions: usize,
        content: &str,
        value: &Value,
    ) -> Result<String, EditError> {
        let values = json!({ "a": value, "b": "B" });
        let mut nodes = parse("x", format!("<w:body>{content}</w:body>").as_bytes()).unwrap();
        Fill::new(repetitions).part(&mut nodes, &mut Scope::of(&values))?;
        Ok(write(&nodes).replace("<w:body>", "").replace("</w:body>", ""))
    }

    /// These would need more than the stack or the memory.
    #[test]
    fn sections_are_not_nested_or_repeated_without_a_limit() {
        let nested = |depth: usize| ["{{#a}}".repeat(depth), "{{/a}}".repeat(depth)].join("x");
        let filled =
            |content: &str, value: &Value| filled_within(REPETITIONS, &paragraph(content), value);
        assert_eq!(filled(&nested(50), &json!(true)).unwrap(), paragraph("x"));
        let error = filled(&nested(2_000), &json!(true)).unwrap_err().to_string();
        assert!(error.contains("levels of nested sections"), "{error}");
        let long = format!("{{{{#a}}}}{}{{{{/a}}}}", "x".repeat(1 << 20));
        let error = filled(&long, &json!(vec![1; 100])).unwrap_err().to_string();
        assert!(error.contains("64 MB of text"), "{error}");
    }

    #[test]
    fn paragraphs_of_a_cell_are_repeated_without_its_row() {
        let content =
            table(&[&section(&paragraph("{{item}}")), &paragraph("{{b}}"), &paragraph("")]);
        for (value, cell) in [
            (json!(["1", "2"]), paragraph("1") + &paragraph("2")),
            (json!(false), "<w:p/>".to_owned()),
        ] {
            let wanted = table(&[&cell, &paragraph("B"), &paragraph("")]);
            assert_eq!(filled_body(&content, &value), wanted);
        }
    }

    #[test]
    fn unique_marks_are_not_repeated() {
        let mark = "<w:bookmarkStart w:id=\"1\" w:name=\"m\"/><w:bookmarkEnd w:id=\"1\"/>";
        let comment = "<w:p><w:commentRangeStart w:id=\"2\"/><w:r><w:t>{{item}}</w:t></w:r>\
                       <w:commentRangeEnd w:id=\"2\"/></w:p>";
        let first = format!("{mark}{}", comment.replace("{{item}}", "1"));
        let content = section(&format!("{mark}{comment}"));
        assert_eq!(filled_body(&content, &json!(["1", "2"])), first + &paragraph("2"));
        let drawings = |ids: [u32; 3]| {
            let drawing = |id: u32| format!("<w:drawing><wp:docPr id=\"{id}\"/></w:drawing>");
            format!("<w:p>{}</w:p>", ids.map(drawing).concat())
        };
        let mut nodes = parse("x", drawings([7, 1, 7]).as_bytes()).unwrap();
        distinct_drawings(&mut nodes);
        assert_eq!(write(&nodes), drawings([7, 1, 8]));
    }

    #[test]
    fn a_row_may_have_a_section_several_times() {
        let content = table(&[&paragraph("{{#a}}x{{/a}}"), &paragraph("{{#a}}y{{/a}} {{b}}")]);
        let wanted = table(&[&paragraph("x"), &paragraph("y B")]);
        assert_eq!(filled_body(&content, &json!(true)), wanted);
        assert_eq!(filled_body(&(content + &paragraph("z")), &json!(false)), paragraph("z"));
    }

    #[test]
    fn repeated_tables_stay_apart_and_do_not_end_a_cell() {
        let content = section(&table(&[&paragraph("{{item}}")]));
        let [one, two] = ["1", "2"].map(|item| table(&[&paragraph(item)]));
        let value = json!(["1", "2"]);
        assert_eq!(filled_body(&content, &value), format!("{one}<w:p/>{two}"));
        let outer = table(&[&(paragraph("x") + &content)]);
        let wanted = table(&[&format!("{}{one}<w:p/>{two}<w:p/>", paragraph("x"))]);
        assert_eq!(filled_body(&outer, &value), wanted);
    }

    #[test]
    fn rows_of_a_table_in_a_cell_are_repeated_without_the_row_around_it() {
        let inner = |rows: &str| table(&[&(paragraph("x") + rows + &paragraph("y"))]);
        let content = inner(&table(&[&paragraph("{{#a}}{{item}}{{/a}}")]));
        let rows = table(&[&paragraph("1")]) + &table(&[&paragraph("2")]);
        let wanted = inner(&rows.replace("</w:tbl><w:tbl>", ""));
        assert_eq!(filled_body(&content, &json!(["1", "2"])), wanted);
        assert_eq!(filled_body(&content, &json!(false)), inner(""));
    }

    #[test]
    fn a_list_that_a_row_has_several_times_repeats_it_once_for_each_item() {
        let value = json!(["1", "2"]);
        let row = |first: &str, second: &str| table(&[first, &paragraph(second)]);
        let rows = |first: String, second: String| (first + &second).replace("</w:tbl><w:tbl>", "");
        let content = row(&paragraph("{{#a}}{{item}}{{/a}}"), "{{b}}{{#a}}, {{item}}{{/a}}");
        let wanted = rows(row(&paragraph("1"), "B, 1"), row(&paragraph("2"), "B, 2"));
        assert_eq!(filled_body(&content, &value), wanted);
        // The paragraphs of a cell remain a section of their own.
        let content = row(&section(&paragraph("{{item}}")), "{{#a}}{{item}}{{/a}}");
        let list = paragraph("1") + &paragraph("2");
        assert_eq!(filled_body(&content, &value), rows(row(&list, "1"), row(&list, "2")));
        let content = paragraph("{{#a}}{{item}}{{/a}}, {{#a}}{{item}}{{/a}}");
        assert_eq!(filled_body(&content, &value), paragraph("1, 1") + &paragraph("2, 2"));
    }

    #[test]
    fn a_body_whose_paragraphs_are_removed_ends_with_its_properties() {
        let content = section(&paragraph("x")) + "<w:sectPr/>";
        assert_eq!(filled_body(&content, &json!(false)), "<w:p/><w:sectPr/>");
        let outer = table(&[&paragraph("y")]);
        let wanted = format!("{outer}<w:p/><w:sectPr/>");
        assert_eq!(filled_body(&(outer + &content), &json!(false)), wanted);
    }

    #[test]
    fn tables_that_are_joined_in_the_template_stay_joined() {
        let [one, two, three] = ["1", "2", "3"].map(|text| table(&[&paragraph(text)]));
        let joined = format!("{one}{two}");
        let content = format!("{joined}{}{three}", section(&paragraph("x")));
        let wanted = format!("{joined}<w:p/>{three}");
        assert_eq!(filled_body(&content, &json!(false)), wanted);
        let wanted = format!("{joined}<w:p/>{joined}");
        assert_eq!(filled_body(&section(&joined), &json!([1, 2])), wanted);
    }

    /// Word would replace the value by the data, which has the field.
    #[test]
    fn a_content_control_with_a_field_is_not_bound_to_data() {
        let control = |binding: &str, text: &str| {
            format!(
                "<w:p><w:sdt><w:sdtPr><w:alias/>{binding}</w:sdtPr><w:sdtContent><w:r><w:t>{text}\
                 </w:t></w:r></w:sdtContent></w:sdt></w:p>"
            )
        };
        let bound = "<w:dataBinding w:xpath=\"x\"/>";
        let content = control(bound, "{{b}}") + &control(bound, "x");
        let wanted = control("", "B") + &control(bound, "x");
        assert_eq!(filled_body(&content, &json!(1)), wanted);
    }

    #[test]
    fn a_table_with_its_rows_in_a_content_control_is_kept() {
        let controlled = |text: &str| {
            let row = format!("<w:tr><w:tc>{}</w:tc></w:tr>", paragraph(text));
            format!("<w:tbl><w:sdt><w:sdtContent>{row}</w:sdtContent></w:sdt></w:tbl>")
        };
        assert_eq!(filled_body(&controlled("{{b}}"), &json!(1)), controlled("B"));
    }
}
