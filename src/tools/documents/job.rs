//! What a call asks for: the text, wherever it comes from, and how the file is to be.

use renderers::Format;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

use super::blob::Blob;
use crate::tools::{
    Context, ToolError,
    arguments::{parse, schema},
    names, workspace,
};

const MAX_TEXT_BYTES: u64 = 5 * 1024 * 1024;
const MAX_ROWS_BYTES: u64 = 40 * 1024 * 1024;
const MAX_FILES: usize = 50;

/// Where the text comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    Text,
    File,
}

/// What a call asks for.
pub struct Job {
    pub text: Text,
    /// Without ending; `None` when the title is to name it.
    pub name: Option<String>,
    pub title: Option<String>,
    pub aspect: Option<Aspect>,
}

#[derive(Debug, Serialize, Deserialize)]
pub enum Text {
    /// Texts that follow each other.
    Markdown(Vec<Part>),
    Csv(String),
    Json(Value),
}

/// One text, and what it shows.
#[derive(Debug, Serialize, Deserialize)]
pub struct Part {
    pub text: String,
    /// Where the paths of its pictures start from.
    pub folder: String,
    pub pictures: BTreeMap<String, Blob>,
    /// Why others are not among them.
    pub warnings: Vec<String>,
}

impl Part {
    pub fn new(text: String, folder: &str) -> Self {
        let folder = folder.to_owned();
        Self { text, folder, pictures: BTreeMap::new(), warnings: Vec::new() }
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct FromText {
    /// The document in Markdown: headings, lists, tables, code, quotes, pictures of the workspace.
    markdown: String,
    /// Name of the file; made out of the title if left out.
    #[serde(default, alias = "file_name", alias = "filename")]
    file_name: Option<String>,
    /// Title of the document, where the front matter has none.
    #[serde(default)]
    title: Option<String>,
    /// Shape of the slides; 16:9 if left out.
    #[serde(default, alias = "aspect_ratio", alias = "aspect")]
    aspect_ratio: Option<Aspect>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct FromRows {
    /// The workbook in Markdown: `## Name` for each sheet, tables.
    #[serde(default)]
    markdown: Option<String>,
    /// Or one sheet as objects, whose keys are the columns.
    #[serde(default)]
    rows: Option<Vec<Map<String, Value>>>,
    /// Or one sheet as CSV; the first line names the columns.
    #[serde(default)]
    csv: Option<String>,
    /// Name of the file; made out of the title if left out.
    #[serde(default, alias = "file_name", alias = "filename")]
    file_name: Option<String>,
    /// Title of the workbook; names the sheet of `rows` and `csv`.
    #[serde(default)]
    title: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct FromFile {
    /// Path of a Markdown file in the workspace; for a workbook also of a .csv or .json file.
    #[serde(alias = "file_path")]
    file_path: String,
    /// Paths of further Markdown files, which follow the first in the same document.
    #[serde(default, alias = "further_paths")]
    further_paths: Vec<String>,
    /// Name of the file that is made; made out of the Markdown file's if left out.
    #[serde(default, alias = "file_name", alias = "filename")]
    file_name: Option<String>,
    /// Title of the document, where the front matter has none.
    #[serde(default)]
    title: Option<String>,
    /// Shape of the slides; 16:9 if left out.
    #[serde(default, alias = "aspect_ratio", alias = "aspect")]
    aspect_ratio: Option<Aspect>,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
pub enum Aspect {
    #[serde(rename = "16:9")]
    Wide,
    #[serde(rename = "4:3")]
    Standard,
}

/// What a tool of that format and source takes.
pub fn parameters(format: Format, source: Source) -> Value {
    let mut schema = match (source, format) {
        (Source::File, _) => schema::<FromFile>(),
        (Source::Text, Format::Xlsx) => return schema::<FromRows>(),
        (Source::Text, _) => schema::<FromText>(),
    };
    if format != Format::Pptx
        && let Some(fields) = schema["properties"].as_object_mut()
    {
        fields.remove("aspectRatio");
    }
    schema
}

/// Reads the arguments, and the files that they name.
pub async fn read(
    (format, source): (Format, Source),
    arguments: Value,
    context: &Context,
) -> Result<Job, ToolError> {
    let job = match (source, format) {
        (Source::File, _) => from_file(format, parse(arguments)?, context).await?,
        (Source::Text, Format::Xlsx) => from_rows(parse(arguments)?)?,
        (Source::Text, _) => {
            let it: FromText = parse(arguments)?;
            Job {
                text: Text::Markdown(vec![Part::new(it.markdown, ".")]),
                name: checked(it.file_name)?,
                title: it.title,
                aspect: it.aspect_ratio,
            }
        }
    };
    match &job.text {
        Text::Markdown(parts) if parts.iter().all(|part| part.text.trim().is_empty()) => {
            Err(ToolError::InvalidParameters("there is no text to draw".into()))
        }
        Text::Markdown(parts)
            if parts.iter().map(|part| part.text.len() as u64).sum::<u64>() > MAX_TEXT_BYTES =>
        {
            Err(ToolError::InvalidParameters("the text is over 5 MB: split it".into()))
        }
        _ => Ok(job),
    }
}

fn from_rows(it: FromRows) -> Result<Job, ToolError> {
    let text = match (it.markdown, it.rows, it.csv) {
        (Some(markdown), None, None) => Text::Markdown(vec![Part::new(markdown, ".")]),
        (None, Some(rows), None) => {
            Text::Json(Value::Array(rows.into_iter().map(Value::Object).collect()))
        }
        (None, None, Some(csv)) => Text::Csv(csv),
        _ => {
            let one = "give one of markdown, rows and csv";
            return Err(ToolError::InvalidParameters(one.into()));
        }
    };
    Ok(Job { text, name: checked(it.file_name)?, title: it.title, aspect: None })
}

async fn from_file(format: Format, it: FromFile, context: &Context) -> Result<Job, ToolError> {
    let (_, own_name) = parts(&it.file_path);
    let (stem, ending) = own_name.rsplit_once('.').unwrap_or((own_name, ""));
    let ending = ending.to_lowercase();
    let name = checked(it.file_name)?.or_else(|| Some(stem.to_owned()));
    let is_rows = format == Format::Xlsx && matches!(ending.as_str(), "csv" | "tsv" | "json");
    if it.further_paths.len() >= MAX_FILES {
        let many = format!("at most {MAX_FILES} files become one document");
        return Err(ToolError::InvalidParameters(many));
    }
    let text = if is_rows {
        let text = bytes(&it.file_path, MAX_ROWS_BYTES, context).await?;
        if ending == "json" {
            let json = serde_json::from_str(&text);
            Text::Json(json.map_err(|error| {
                ToolError::ExecutionFailed(format!("{} is no JSON: {error}", it.file_path))
            })?)
        } else {
            Text::Csv(text)
        }
    } else {
        let mut all = Vec::new();
        for path in std::iter::once(&it.file_path).chain(&it.further_paths) {
            let text = bytes(path, MAX_TEXT_BYTES, context).await?;
            all.push(Part::new(text, parts(path).0));
        }
        Text::Markdown(all)
    };
    let title = it.title.or_else(|| is_rows.then(|| stem.to_owned()));
    Ok(Job { text, name, title, aspect: it.aspect_ratio })
}

/// Folder and name.
fn parts(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or((".", path))
}

/// A name that somebody wished for is refused if it is none, not replaced in silence.
fn checked(name: Option<String>) -> Result<Option<String>, ToolError> {
    name.map(|name| names::file_name(&name)).transpose()
}

async fn bytes(path: &str, most: u64, context: &Context) -> Result<String, ToolError> {
    let path = path.to_owned();
    workspace::beneath(context, move |workspace, _| {
        String::from_utf8(workspace.bytes(&path, most)?)
            .map_err(|_| ToolError::ExecutionFailed(format!("{path} is no UTF-8 text")))
    })
    .await
}
