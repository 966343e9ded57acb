//! The arguments of the tools that edit files.

use renderers::edit::{
    pdf::{PdfEdit, Rotation},
    word::{Author, WordChange, WordEdit},
    workbook::{NewCell, NewRows, NewSheet, WorkbookEdit},
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::edit_protocol::{DocumentEdit, TemplateFilling};
use crate::tools::{Context, ToolError, contract::arguments::parse};

/// The files of a call, and the edit.
pub struct EditPlan {
    /// The file to write; in a mail merge a pattern for the names.
    pub path: String,
    /// The files to read.
    pub sources: Vec<String>,
    pub edit: DocumentEdit,
}

/// The maximum number of files that one call merges.
const FILES: usize = 50;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FillTemplate {
    /// Path of the file to write. With a list: the pattern of the names, such as
    /// `letters/{{name}}.docx`.
    path: String,
    /// Path of the template, a .docx or .pptx file.
    template: String,
    /// Values of the fields; lists of objects repeat sections.
    #[serde(default)]
    values: Map<String, Value>,
    /// Path of a .csv, .xlsx or .json file: one file is written for each of its rows, whose columns
    /// are fields.
    #[serde(default)]
    list: Option<String>,
    /// Or the rows themselves.
    #[serde(default)]
    rows: Vec<Map<String, Value>>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EditWorkbook {
    /// Path of the .xlsx file to write.
    path: String,
    /// Path of the workbook to edit, if it stays as it is; by default `path`.
    #[serde(default)]
    from: Option<String>,
    /// Values by cell, such as `B2` of the first sheet or `Sales!B2`. Texts that begin with = are
    /// formulas; null clears a cell.
    #[serde(default)]
    cells: Map<String, Value>,
    /// Rows to append, by column names. Columns that are left out take the formula of the row above.
    #[serde(default)]
    rows: Vec<Map<String, Value>>,
    /// The sheet to which rows are appended; by default the first.
    #[serde(default)]
    sheet: Option<String>,
    /// Or the native table.
    #[serde(default)]
    table: Option<String>,
    /// Sheets to add.
    #[serde(default)]
    new_sheets: Vec<SheetArgument>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct SheetArgument {
    name: String,
    /// Rows as objects, whose keys are the columns.
    #[serde(default)]
    rows: Vec<Map<String, Value>>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EditDocument {
    /// Path of the .docx file to write.
    path: String,
    /// Path of the document to edit, if it stays as it is; by default `path`.
    #[serde(default)]
    from: Option<String>,
    /// Texts to replace everywhere.
    #[serde(default)]
    replacements: Vec<TextArgument>,
    /// Table cells to set. Tables, rows and columns are counted from 1, before the call.
    #[serde(default)]
    cells: Vec<CellArgument>,
    /// Table rows to add.
    #[serde(default)]
    new_rows: Vec<RowArgument>,
    /// Table rows to remove.
    #[serde(default)]
    removed_rows: Vec<RemovedRow>,
    /// Paragraphs to add.
    #[serde(default)]
    new_paragraphs: Vec<ParagraphArgument>,
    /// Paragraphs to remove, each by a text that no other paragraph has.
    #[serde(default)]
    removed_paragraphs: Vec<String>,
    /// Make tracked changes, which people accept or reject in Word.
    #[serde(default)]
    tracked: bool,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct TextArgument {
    /// The text as it is there, within one paragraph.
    old: String,
    new: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CellArgument {
    table: usize,
    row: usize,
    column: usize,
    text: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RowArgument {
    table: usize,
    /// The row before it; by default the last.
    #[serde(default)]
    after: usize,
    cells: Vec<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RemovedRow {
    table: usize,
    row: usize,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ParagraphArgument {
    /// A text that only the paragraph before it has.
    after: String,
    text: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EditPdf {
    /// Path of the .pdf file to write.
    path: String,
    /// The files that are merged, in order, or one of which pages are taken; by default `path`
    /// itself.
    #[serde(default)]
    files: Vec<FileArgument>,
    /// Values of form fields by name: texts, or true and false for check boxes.
    #[serde(default)]
    fields: Map<String, Value>,
    /// Pages to rotate.
    #[serde(default)]
    rotations: Vec<RotationArgument>,
    /// A pale text across each page.
    #[serde(default)]
    watermark: Option<String>,
    /// Number the pages at the bottom.
    #[serde(default)]
    page_numbers: bool,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct FileArgument {
    path: String,
    /// Such as `1-3,5` or `4-`; by default all.
    #[serde(default)]
    pages: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RotationArgument {
    /// Such as `1-3,5`; by default all.
    #[serde(default)]
    pages: String,
    /// Clockwise: 90, 180 or 270.
    degrees: i64,
}

pub fn template(arguments: Value) -> Result<EditPlan, ToolError> {
    let it: FillTemplate = parse(arguments)?;
    if it.list.is_some() && !it.rows.is_empty() {
        return wrong("give one of list and rows");
    }
    let is_merge = it.list.is_some() || !it.rows.is_empty();
    let (folder, name) = it.path.rsplit_once('/').unwrap_or(("", &it.path));
    if folder.contains("{{") || !is_merge && name.contains("{{") {
        return wrong("fields in path are for the file name of a list only");
    }
    let rows = it.rows.into_iter().map(Value::Object).collect::<Vec<_>>();
    let filling = TemplateFilling {
        values: it.values,
        rows: Some(rows).filter(|rows| !rows.is_empty()),
        list: it.list.clone(),
        pattern: name.to_owned(),
    };
    let sources = std::iter::once(it.template).chain(it.list).collect();
    Ok(EditPlan { path: it.path, sources, edit: DocumentEdit::Template(filling) })
}

pub fn workbook(arguments: Value) -> Result<EditPlan, ToolError> {
    let it: EditWorkbook = parse(arguments)?;
    if it.cells.is_empty() && it.rows.is_empty() && it.new_sheets.is_empty() {
        return wrong("give cells, rows or newSheets: there is nothing to change");
    }
    let cells = it.cells.into_iter().map(|(place, value)| {
        let (sheet, cell) = match place.rsplit_once('!') {
            Some((sheet, cell)) => {
                let plain = sheet.strip_prefix('\'').and_then(|name| name.strip_suffix('\''));
                let plain = plain.map_or_else(|| sheet.to_owned(), |name| name.replace("''", "'"));
                (Some(plain), cell.to_owned())
            }
            None => (None, place),
        };
        NewCell { sheet, cell, value }
    });
    let rows = it.rows.into_iter().map(Value::Object).collect::<Vec<_>>();
    let edit = WorkbookEdit {
        sheets: it.new_sheets.into_iter().map(new_sheet).collect(),
        cells: cells.collect(),
        rows: vec![NewRows { sheet: it.sheet, table: it.table, rows }],
    };
    let source = it.from.unwrap_or_else(|| it.path.clone());
    Ok(EditPlan { path: it.path, sources: vec![source], edit: DocumentEdit::Workbook(edit) })
}

/// The header, and the rows beneath it.
fn new_sheet(sheet: SheetArgument) -> NewSheet {
    let mut header: Vec<String> = Vec::new();
    for name in sheet.rows.iter().flat_map(Map::keys) {
        if !header.contains(name) {
            header.push(name.clone());
        }
    }
    let cells = |row: &Map<String, Value>| {
        header.iter().map(|name| row.get(name).cloned().unwrap_or_default()).collect()
    };
    let rows: Vec<Vec<Value>> = sheet.rows.iter().map(cells).collect();
    let top: Vec<Value> = header.iter().cloned().map(Value::String).collect();
    let rows = if top.is_empty() { rows } else { std::iter::once(top).chain(rows).collect() };
    NewSheet { name: sheet.name, rows }
}

pub fn document(arguments: Value, context: &Context) -> Result<EditPlan, ToolError> {
    let it: EditDocument = parse(arguments)?;
    let author = it.tracked.then(|| Author {
        name: "Countersign".into(),
        date: context.now.format("%Y-%m-%dT%H:%M:%SZ").to_string(),
    });
    let mut changes = Vec::new();
    let replaced = |it: TextArgument| WordChange::ReplaceText { old: it.old, new: it.new };
    changes.extend(it.replacements.into_iter().map(replaced));
    changes.extend(it.cells.into_iter().map(|it| {
        let CellArgument { table, row, column, text } = it;
        WordChange::SetCell { table, row, column, text }
    }));
    changes.extend(row_changes(it.new_rows, it.removed_rows));
    // Where paragraphs follow the same one, the first given comes first.
    changes.extend(it.new_paragraphs.into_iter().rev().map(|it| {
        let ParagraphArgument { after, text } = it;
        WordChange::InsertParagraph { after, text }
    }));
    let removed = |containing: String| WordChange::RemoveParagraph { containing };
    changes.extend(it.removed_paragraphs.into_iter().map(removed));
    if changes.is_empty() {
        return wrong("there is nothing to change: give replacements, cells, rows or paragraphs");
    }
    let source = it.from.unwrap_or_else(|| it.path.clone());
    let edit = DocumentEdit::Word(WordEdit { changes, author });
    Ok(EditPlan { path: it.path, sources: vec![source], edit })
}

/// The changes of rows in an order in which the numbers before the call hold: at the end first, then
/// from the bottom up.
fn row_changes(new: Vec<RowArgument>, removed: Vec<RemovedRow>) -> Vec<WordChange> {
    let (at_end, within): (Vec<_>, Vec<_>) = new.into_iter().partition(|row| row.after == 0);
    let add = |RowArgument { table, after, cells }: RowArgument| {
        let after = Some(after).filter(|after| *after > 0);
        WordChange::AddRow { table, after, cells }
    };
    let mut changes: Vec<_> = at_end.into_iter().map(add).collect();
    let added =
        within.into_iter().rev().map(|it| (it.after.saturating_mul(2).saturating_add(1), add(it)));
    let removed = removed.into_iter().map(|RemovedRow { table, row }| {
        (row.saturating_mul(2), WordChange::RemoveRow { table, row })
    });
    let mut others: Vec<_> = added.chain(removed).collect();
    others.sort_by_key(|(place, _)| std::cmp::Reverse(*place));
    changes.extend(others.into_iter().map(|(_, change)| change));
    changes
}

pub fn pdf(arguments: Value) -> Result<EditPlan, ToolError> {
    let it: EditPdf = parse(arguments)?;
    if it.files.len() > FILES {
        return wrong("files has more than 50 entries: merge them in several calls");
    }
    let is_edit = !it.fields.is_empty()
        || !it.rotations.is_empty()
        || it.page_numbers
        || it.watermark.as_ref().is_some_and(|text| !text.trim().is_empty());
    if !is_edit
        && it.files.len() < 2
        && it.files.iter().all(|file| all_pages(&file.pages).is_none())
    {
        return wrong("there is nothing to change: give files with pages, or what to change");
    }
    let (mut sources, pages): (Vec<_>, Vec<_>) =
        it.files.into_iter().map(|file| (file.path, all_pages(&file.pages))).unzip();
    if sources.is_empty() {
        sources.push(it.path.clone());
    }
    let rotations = it.rotations.into_iter().map(|it| {
        let RotationArgument { pages, degrees } = it;
        Rotation { pages: all_pages(&pages), degrees }
    });
    let edit = PdfEdit {
        pages,
        fields: it.fields,
        rotations: rotations.collect(),
        watermark: it.watermark,
        page_numbers: it.page_numbers,
    };
    Ok(EditPlan { path: it.path, sources, edit: DocumentEdit::Pdf(edit) })
}

/// `None` is all pages.
fn all_pages(pages: &str) -> Option<String> {
    Some(pages.trim().to_owned()).filter(|pages| !pages.is_empty())
}

fn wrong<T>(why: &str) -> Result<T, ToolError> {
    Err(ToolError::InvalidParameters(why.into()))
}
