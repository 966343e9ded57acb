//! Edits of existing files in a rendering process: the request and its work.

use renderers::{
    RenderError,
    edit::{EditError, Edited, fill, fill::Filling, pdf, pdf::PdfEdit, word, word::WordEdit},
    edit::{workbook, workbook::WorkbookEdit},
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::blob::Blob;

/// Files, and what is changed in them.
#[derive(Debug, Serialize, Deserialize)]
pub struct EditRequest {
    pub files: Vec<Blob>,
    pub edit: DocumentEdit,
}

#[derive(Debug, Serialize, Deserialize)]
pub enum DocumentEdit {
    Template(TemplateFilling),
    Workbook(WorkbookEdit),
    Word(WordEdit),
    Pdf(PdfEdit),
}

/// What the fields of a template are filled with.
#[derive(Debug, Serialize, Deserialize)]
pub struct TemplateFilling {
    pub values: Map<String, Value>,
    /// One file for each row.
    pub rows: Option<Vec<Value>>,
    /// The name of a file of rows, which is the second file.
    pub list: Option<String>,
    /// The names of the files, with fields.
    pub pattern: String,
}

/// A file in an answer. Its bytes follow the answer.
#[derive(Debug, Serialize, Deserialize)]
pub struct EditedFile {
    pub edited: Edited,
    pub size_bytes: usize,
}

/// Edits the files. Returns them without their bytes, and all bytes.
pub fn answer(request: &EditRequest) -> Result<(Vec<EditedFile>, Vec<u8>), RenderError> {
    let edited = edit(request).map_err(|error| match error {
        EditError::TooLarge(why) => RenderError::TooLarge(why),
        EditError::Invalid(why) => RenderError::Invalid(why),
    })?;
    let bytes = edited.iter().flat_map(|file| file.bytes.iter().copied()).collect();
    let files = edited.into_iter().map(|edited| {
        let size_bytes = edited.bytes.len();
        EditedFile { edited: Edited { bytes: Vec::new(), ..edited }, size_bytes }
    });
    Ok((files.collect(), bytes))
}

fn edit(request: &EditRequest) -> Result<Vec<Edited>, EditError> {
    let files: Vec<&[u8]> = request.files.iter().map(|Blob(bytes)| bytes.as_slice()).collect();
    let first = *files.first().ok_or_else(|| EditError::Invalid("There is no file.".into()))?;
    match &request.edit {
        DocumentEdit::Workbook(edit) => Ok(vec![workbook::edit(first, edit)?]),
        DocumentEdit::Word(edit) => Ok(vec![word::edit(first, edit)?]),
        DocumentEdit::Pdf(edit) => Ok(vec![pdf::edit(&files, edit)?]),
        DocumentEdit::Template(TemplateFilling { values, rows, list, pattern }) => {
            let values = Value::Object(values.clone());
            let rows = match (list, files.get(1)) {
                (Some(name), Some(list)) => Some(fill::rows(name, list, first)?),
                _ => rows.clone(),
            };
            let filling = match rows {
                Some(rows) => Filling::Each { rows, values, pattern: pattern.clone() },
                None => Filling::Once(values),
            };
            fill::fill(first, &filling)
        }
    }
}
