//! The arguments of the document tools: the text, from any source, and the options of the file.

use renderers::read::charset;
use renderers::{Format, Warning};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

use super::blob::Blob;
use crate::tools::{
    Context, ToolError,
    contract::arguments::{parse, schema},
    workspace::{self, file_names},
};

const MAX_TEXT_BYTES: u64 = 5 * 1024 * 1024;
const MAX_ROWS_BYTES: u64 = 40 * 1024 * 1024;
const MAX_FILES: usize = 50;

/// The source of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextSource {
    Text,
    File,
}

/// The parsed arguments.
pub struct DocumentRequest {
    pub text: RenderText,
    /// Without extension; `None` if the title determines it.
    pub name: Option<String>,
    pub title: Option<String>,
    pub aspect: Option<Aspect>,
}

#[derive(Debug, Serialize, Deserialize)]
pub enum RenderText {
    /// Several texts, one after the other.
    Markdown(Vec<RenderPart>),
    Csv(String),
    Json(Value),
    /// Rows by the names of their files, each a sheet or a section.
    Files(Vec<(String, RenderText)>),
}

/// One text, and its pictures.
#[derive(Debug, Serialize, Deserialize)]
pub struct RenderPart {
    pub text: String,
    /// The folder to which the paths of its pictures are relative.
    pub folder: String,
    pub pictures: BTreeMap<String, Blob>,
    /// Why other pictures are missing.
    pub warnings: Vec<Warning>,
}

impl RenderPart {
    pub fn new(text: String, folder: &str) -> Self {
        let folder = folder.to_owned();
        Self { text, folder, pictures: BTreeMap::new(), warnings: Vec::new() }
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct FromText {
    /// The document.
    markdown: String,
    /// By default derived from the title.
    #[serde(default, alias = "file_name", alias = "filename")]
    file_name: Option<String>,
    /// Unless the front matter has one.
    #[serde(default)]
    title: Option<String>,
    /// Aspect ratio of the slides; default 16:9.
    #[serde(default, alias = "aspect_ratio", alias = "aspect")]
    aspect_ratio: Option<Aspect>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct FromRows {
    /// Sheets and tables.
    #[serde(default)]
    markdown: Option<String>,
    /// Or one sheet as objects, whose keys are the columns.
    #[serde(default)]
    rows: Option<Vec<Map<String, Value>>>,
    /// Or one sheet as CSV; the first line names the columns.
    #[serde(default)]
    csv: Option<String>,
    /// By default derived from the title.
    #[serde(default, alias = "file_name", alias = "filename")]
    file_name: Option<String>,
    /// Also names the sheet of `rows` and `csv`.
    #[serde(default)]
    title: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct FromFile {
    /// Path of a Markdown, .csv, .json or .jsonl file in the workspace.
    #[serde(alias = "file_path")]
    file_path: String,
    /// Paths of further files of the same kind, appended to the same document.
    #[serde(default, alias = "further_paths")]
    further_paths: Vec<String>,
    /// Name of the resulting file; by default derived from the first file.
    #[serde(default, alias = "file_name", alias = "filename")]
    file_name: Option<String>,
    /// Title of the document, if the front matter has none.
    #[serde(default)]
    title: Option<String>,
    /// Aspect ratio of the slides; default 16:9.
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

/// The parameters of the tool for this format and source.
pub fn parameters(format: Format, source: TextSource) -> Value {
    let mut schema = match (source, format) {
        (TextSource::File, _) => schema::<FromFile>(),
        (TextSource::Text, Format::Xlsx) => return schema::<FromRows>(),
        (TextSource::Text, _) => schema::<FromText>(),
    };
    if format != Format::Pptx
        && let Some(fields) = schema["properties"].as_object_mut()
    {
        fields.remove("aspectRatio");
    }
    schema
}

/// Parses the arguments, and reads the files that they name.
pub async fn read(
    format: Format,
    source: TextSource,
    arguments: Value,
    context: &Context,
) -> Result<DocumentRequest, ToolError> {
    let job = match (source, format) {
        (TextSource::File, _) => from_file(parse(arguments)?, context).await?,
        (TextSource::Text, Format::Xlsx) => from_rows(parse(arguments)?)?,
        (TextSource::Text, _) => {
            let it: FromText = parse(arguments)?;
            DocumentRequest {
                text: RenderText::Markdown(vec![RenderPart::new(it.markdown, ".")]),
                name: checked(it.file_name)?,
                title: it.title,
                aspect: it.aspect_ratio,
            }
        }
    };
    match &job.text {
        RenderText::Markdown(parts) if parts.iter().all(|part| part.text.trim().is_empty()) => {
            Err(ToolError::InvalidParameters("there is no text to render".into()))
        }
        RenderText::Markdown(parts)
            if parts.iter().map(|part| part.text.len() as u64).sum::<u64>() > MAX_TEXT_BYTES =>
        {
            Err(ToolError::InvalidParameters("the text is over 5 MB: split it".into()))
        }
        _ => Ok(job),
    }
}

fn from_rows(it: FromRows) -> Result<DocumentRequest, ToolError> {
    let text = match (it.markdown, it.rows, it.csv) {
        (Some(markdown), None, None) => RenderText::Markdown(vec![RenderPart::new(markdown, ".")]),
        (None, Some(rows), None) => {
            RenderText::Json(Value::Array(rows.into_iter().map(Value::Object).collect()))
        }
        (None, None, Some(csv)) => RenderText::Csv(csv),
        _ => {
            let one = "give one of markdown, rows and csv";
            return Err(ToolError::InvalidParameters(one.into()));
        }
    };
    Ok(DocumentRequest { text, name: checked(it.file_name)?, title: it.title, aspect: None })
}

async fn from_file(it: FromFile, context: &Context) -> Result<DocumentRequest, ToolError> {
    let (stem, _) = stem_and_ending(&it.file_path);
    let name = checked(it.file_name)?.or_else(|| Some(stem.to_owned()));
    let paths: Vec<&String> = std::iter::once(&it.file_path).chain(&it.further_paths).collect();
    if paths.len() > MAX_FILES {
        let many = format!("at most {MAX_FILES} files can be combined into one document");
        return Err(ToolError::InvalidParameters(many));
    }
    let of_rows = paths.iter().filter(|path| is_rows(path)).count();
    if of_rows > 0 && of_rows < paths.len() {
        let mixed =
            "Markdown and rows (.csv, .json) cannot be combined into one document".to_owned();
        return Err(ToolError::InvalidParameters(mixed));
    }
    let text = match paths[..] {
        [path] if of_rows > 0 => rows(path, context).await?,
        _ if of_rows > 0 => {
            let mut files = Vec::new();
            for path in paths {
                let (stem, _) = stem_and_ending(path);
                files.push((stem.to_owned(), rows(path, context).await?));
            }
            RenderText::Files(files)
        }
        _ => {
            let mut all = Vec::new();
            for path in paths {
                let text = bytes(path, MAX_TEXT_BYTES, context).await?;
                all.push(RenderPart::new(text, parts(path).0));
            }
            RenderText::Markdown(all)
        }
    };
    let title = it.title.or_else(|| (of_rows > 0).then(|| stem.to_owned()));
    Ok(DocumentRequest { text, name, title, aspect: it.aspect_ratio })
}

async fn rows(path: &str, context: &Context) -> Result<RenderText, ToolError> {
    let text = bytes(path, MAX_ROWS_BYTES, context).await?;
    if matches!(stem_and_ending(path).1.as_str(), "csv" | "tsv") {
        return Ok(RenderText::Csv(text));
    }
    let odd = |error| ToolError::ExecutionFailed(format!("{path} cannot be read: {error}"));
    renderers::rows::parse_json(&text).map(RenderText::Json).map_err(odd)
}

fn is_rows(path: &str) -> bool {
    matches!(stem_and_ending(path).1.as_str(), "csv" | "tsv" | "json" | "jsonl" | "ndjson")
}

/// The name and the lower-case extension.
fn stem_and_ending(path: &str) -> (&str, String) {
    let (_, name) = parts(path);
    let (stem, ending) = name.rsplit_once('.').unwrap_or((name, ""));
    (stem, ending.to_lowercase())
}

/// Folder and name.
fn parts(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or((".", path))
}

/// An invalid name is an error and not silently replaced.
fn checked(name: Option<String>) -> Result<Option<String>, ToolError> {
    name.map(|name| file_names::file_name(&name)).transpose()
}

async fn bytes(path: &str, limit: u64, context: &Context) -> Result<String, ToolError> {
    let path = path.to_owned();
    workspace::beneath(context, move |workspace, _| {
        let bytes = workspace.bytes(&path, limit)?;
        // Other charsets are usual for CSV; binary files are refused.
        match charset::name_of(&bytes) {
            Some(_) => Ok(charset::decode(&bytes)),
            None => Err(ToolError::ExecutionFailed(format!("{path} is not a text file"))),
        }
    })
    .await
}
