//! Documents out of Markdown: `render_pdf`, `render_docx`, `render_xlsx`, `render_pptx`, and
//! `…_from_file`. The person gets the file as an attachment; the model gets a receipt.

mod draw;
mod fonts;
mod house;
mod pictures;

pub use house::House;

use async_trait::async_trait;
use renderers::{
    Document, Format, Rendered,
    document::{Block, SlideSize, plain_text},
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use std::{collections::BTreeSet, sync::Arc, time::Duration};

use super::{
    Context, Output, Tool, ToolError,
    arguments::{parse, schema},
    names, send, workspace,
};
use crate::agent::catalog::{EffectClass, Subject, Tier, ToolSpec};
use draw::Press;

const MAX_MARKDOWN_BYTES: u64 = 5 * 1024 * 1024;
const MAX_WARNINGS: usize = 20;

/// Longest of all that is drawn; what takes longer is too large for a chat.
const TIMEOUT: Duration = Duration::from_mins(2);

const FORMATS: [Format; 4] = [Format::Pdf, Format::Docx, Format::Xlsx, Format::Pptx];

/// All eight, which draw on one press.
pub fn tools(house: House) -> Vec<Arc<dyn Tool>> {
    let draw = move |document: &Document, format| house.draw(document, format);
    let press = Arc::new(Press::new(renderers::markdown::read, draw));
    let of = |source: Source| {
        FORMATS.map(|format| {
            Arc::new(Rendering { format, source, press: press.clone() }) as Arc<dyn Tool>
        })
    };
    [of(Source::Text), of(Source::File)].into_iter().flatten().collect()
}

struct Rendering {
    format: Format,
    source: Source,
    press: Arc<Press>,
}

/// Where the Markdown comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    Text,
    File,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct FromText {
    /// The document in Markdown: headings, lists, tables, code, quotes, pictures of the workspace.
    markdown: String,
    /// Name of the file; made out of the title if left out.
    #[serde(default, alias = "file_name")]
    file_name: Option<String>,
    /// Title of the document, where the front matter has none.
    #[serde(default)]
    title: Option<String>,
    /// Shape of the slides; 16:9 if left out.
    #[serde(default, alias = "aspect_ratio")]
    aspect_ratio: Option<Aspect>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct FromFile {
    /// Path of a Markdown file in the workspace.
    #[serde(alias = "file_path")]
    file_path: String,
    /// Name of the file that is made; made out of the Markdown file's if left out.
    #[serde(default, alias = "file_name")]
    file_name: Option<String>,
    /// Title of the document, where the front matter has none.
    #[serde(default)]
    title: Option<String>,
    /// Shape of the slides; 16:9 if left out.
    #[serde(default, alias = "aspect_ratio")]
    aspect_ratio: Option<Aspect>,
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
enum Aspect {
    #[serde(rename = "16:9")]
    Wide,
    #[serde(rename = "4:3")]
    Standard,
}

/// What is to be drawn, wherever it came from.
struct Job {
    markdown: String,
    /// Folder that the pictures' paths start from.
    folder: String,
    /// Without ending; `None` when the title is to name it.
    name: Option<String>,
    title: Option<String>,
    aspect: Option<Aspect>,
}

#[async_trait]
impl Tool for Rendering {
    fn spec(&self) -> ToolSpec {
        let ending = extension(self.format);
        let mut spec = match self.source {
            Source::Text => ToolSpec::read_only(
                &format!("render_{ending}"),
                about(self.format),
                schema::<FromText>(),
            ),
            Source::File => ToolSpec {
                tier: Tier::Extension,
                subject: Some(Subject::Path("filePath")),
                ..ToolSpec::read_only(
                    &format!("render_{ending}_from_file"),
                    &format!(
                        "Like render_{ending}, from a Markdown file of the workspace: for long \
                         texts that are there already."
                    ),
                    schema::<FromFile>(),
                )
            },
        };
        if self.format != Format::Pptx
            && let Some(fields) = spec.parameters["properties"].as_object_mut()
        {
            fields.remove("aspectRatio");
        }
        ToolSpec { effect: EffectClass::Idempotent, timeout: TIMEOUT, ..spec }
    }

    async fn run(&self, arguments: Value, context: &Context) -> Result<Output, ToolError> {
        let job = self.job(arguments, context).await?;
        let mut document = document(&self.press, &job, context).await?;
        if matches!(self.format, Format::Pdf | Format::Docx) {
            drop_repeated_title(&mut document);
        }
        let ending = extension(self.format);
        let name = job.name.or_else(|| document.meta.title.clone().map(|t| t.replace('/', "-")));
        // A title need not be a name, a wished name was checked before.
        let name = name.and_then(|name| names::file_name(&name).ok());
        let name = names::with_extension(name.as_deref().unwrap_or("document"), ending);
        let rendered = self.press.draw(document, self.format).await?;
        let media_type = mime_guess::from_ext(ending).first_or_octet_stream();
        let Rendered { bytes, pages, warnings } = rendered;
        let attachment = send::keep(context, &name, media_type.essence_str(), bytes).await?;
        let about = pages_of(self.format, pages);
        let text = send::receipt(&attachment, &about) + &losses(&warnings);
        Ok(Output { text, attachments: vec![attachment], ..Output::default() })
    }
}

impl Rendering {
    async fn job(&self, arguments: Value, context: &Context) -> Result<Job, ToolError> {
        let job = match self.source {
            Source::Text => {
                let it: FromText = parse(arguments)?;
                Job {
                    markdown: it.markdown,
                    folder: ".".to_owned(),
                    name: checked(it.file_name)?,
                    title: it.title,
                    aspect: it.aspect_ratio,
                }
            }
            Source::File => {
                let it: FromFile = parse(arguments)?;
                let (folder, own_name) =
                    it.file_path.rsplit_once('/').unwrap_or((".", &it.file_path));
                let stem = own_name.rsplit_once('.').map_or(own_name, |(stem, _)| stem);
                Job {
                    name: checked(it.file_name)?.or_else(|| Some(stem.to_owned())),
                    folder: folder.to_owned(),
                    markdown: text(it.file_path.clone(), context).await?,
                    title: it.title,
                    aspect: it.aspect_ratio,
                }
            }
        };
        if job.markdown.trim().is_empty() {
            return Err(ToolError::InvalidParameters("there is no text to draw".into()));
        }
        if job.markdown.len() as u64 > MAX_MARKDOWN_BYTES {
            return Err(ToolError::InvalidParameters("the text is over 5 MB: split it".into()));
        }
        Ok(job)
    }
}

/// A name that somebody wished for is refused if it is none, not replaced in silence.
fn checked(name: Option<String>) -> Result<Option<String>, ToolError> {
    name.map(|name| names::file_name(&name)).transpose()
}

async fn text(path: String, context: &Context) -> Result<String, ToolError> {
    workspace::beneath(context, move |workspace, _| {
        String::from_utf8(workspace.bytes(&path, MAX_MARKDOWN_BYTES)?)
            .map_err(|_| ToolError::ExecutionFailed(format!("{path} is no UTF-8 text")))
    })
    .await
}

/// The document with its pictures and with what the call says besides its text.
async fn document(press: &Press, job: &Job, context: &Context) -> Result<Document, ToolError> {
    let document = press.read(job.markdown.clone()).await?;
    let mut document = pictures::load(document, job.folder.clone(), context).await?;
    if document.meta.title.is_none() {
        document.meta.title.clone_from(&job.title);
    }
    document.meta.date.get_or_insert(context.now.date_naive());
    match job.aspect {
        Some(Aspect::Wide) => document.meta.slides = SlideSize::Wide,
        Some(Aspect::Standard) => document.meta.slides = SlideSize::Standard,
        None => {}
    }
    Ok(document)
}

/// Models like to give the title in the front matter and again as the first heading; on paper it
/// would stand twice.
fn drop_repeated_title(document: &mut Document) {
    let repeats = match (&document.meta.title, document.blocks.first()) {
        (Some(title), Some(Block::Heading { level: 1, content })) => {
            plain_text(content).trim() == title.trim()
        }
        _ => false,
    };
    if repeats {
        document.blocks.remove(0);
    }
}

fn extension(format: Format) -> &'static str {
    match format {
        Format::Pdf => "pdf",
        Format::Docx => "docx",
        Format::Xlsx => "xlsx",
        Format::Pptx => "pptx",
    }
}

fn about(format: Format) -> &'static str {
    match format {
        Format::Pdf => {
            "Makes a PDF out of Markdown and sends it to the people of this conversation. For \
             reports, letters and documents to print. Front matter may set title, subtitle, \
             author, date, language, cover, header, footer, theme."
        }
        Format::Docx => {
            "Makes a Word document out of Markdown and sends it to the people of this \
             conversation. For documents that they go on editing."
        }
        Format::Xlsx => {
            "Makes an Excel workbook out of Markdown tables and sends it to the people of this \
             conversation. Each `## Name` begins a sheet."
        }
        Format::Pptx => {
            "Makes a PowerPoint deck out of Markdown and sends it to the people of this \
             conversation. `---` begins a new slide."
        }
    }
}

/// `, 3 slides`
fn pages_of(format: Format, count: usize) -> String {
    let unit = match format {
        Format::Pdf | Format::Docx => "page",
        Format::Xlsx => "sheet",
        Format::Pptx => "slide",
    };
    match count {
        0 => String::new(),
        1 => format!(", 1 {unit}"),
        count => format!(", {count} {unit}s"),
    }
}

/// What was lost on the way. A picture that was not loaded is named once: with the reason that was
/// found here, which comes before the renderer's.
fn losses(warnings: &[String]) -> String {
    let about = |warning: &str| match warning.split_once(" is ") {
        Some((picture, _)) if picture.starts_with("The picture ") => picture.to_owned(),
        _ => warning.to_owned(),
    };
    let mut named = BTreeSet::new();
    let warnings: Vec<_> = warnings.iter().filter(|warning| named.insert(about(warning))).collect();
    let mut text = String::new();
    if !warnings.is_empty() {
        text += "\nTell the person, if it matters:";
    }
    text.extend(warnings.iter().take(MAX_WARNINGS).map(|warning| format!("\n- {warning}")));
    if let more @ 1.. = warnings.len().saturating_sub(MAX_WARNINGS) {
        text.extend([format!("\n- and {more} more")]);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::testing::Place;
    use renderers::{
        RenderError,
        document::{Block, Inline},
    };
    use serde_json::json;

    /// A press whose documents are their own text, to see what goes into it and what comes out.
    fn press() -> Arc<Press> {
        Arc::new(Press::new(
            |source| {
                if source == "bad table" {
                    return Err(RenderError::Invalid("Line 1: the table has no columns".into()));
                }
                let blocks = vec![Block::Paragraph(vec![Inline::Text(source.to_owned())])];
                Ok(Document { blocks, ..Document::default() })
            },
            |document, format| {
                let text = format!("{document:?}");
                assert!(!text.contains("break down"), "as told");
                let warnings = (0..25).map(|n| format!("loss {n}")).collect();
                let bytes = format!("{format:?} {text}").into_bytes();
                Ok(Rendered { bytes, pages: 3, warnings })
            },
        ))
    }

    fn real() -> Arc<Press> {
        Arc::new(Press::new(renderers::markdown::read, renderers::render))
    }

    fn tool(format: Format, source: Source) -> Rendering {
        Rendering { format, source, press: press() }
    }

    #[tokio::test]
    async fn mc_32_mc_55_the_person_gets_the_file_and_the_model_a_receipt() {
        let mut place = Place::new();
        let arguments = json!({ "markdown": "# Hello", "title": "Q3: Sales/Report" });
        let output = place.runs(&tool(Format::Pdf, Source::Text), arguments.clone()).await.unwrap();
        let attachment = &output.attachments[0];
        assert_eq!(attachment.name, "Q3: Sales-Report.pdf");
        assert_eq!(attachment.media_type, "application/pdf");
        let stored = place.context.artifacts.read(&attachment.digest).await.unwrap();
        assert!(String::from_utf8_lossy(&stored).starts_with("Pdf Document"));
        assert!(output.text.contains("3 pages"), "{}", output.text);
        assert!(output.text.contains("- loss 19\n- and 5 more"), "{}", output.text);
        assert!(!output.text.contains("http"), "{}", output.text);
        let again = place.runs(&tool(Format::Pdf, Source::Text), arguments).await.unwrap();
        assert_eq!(again, output, "twice is the same as once");
    }

    #[tokio::test]
    async fn mc_28_mc_30_from_a_file_of_the_workspace_only() {
        let mut place = Place::new();
        place.has("texts/plan.md", "the plan");
        let deck = tool(Format::Pptx, Source::File);
        let arguments = json!({ "file_path": "texts/plan.md", "aspectRatio": "4:3" });
        let output = place.runs(&deck, arguments).await.unwrap();
        assert_eq!(output.attachments[0].name, "plan.pptx");
        assert!(output.attachments[0].media_type.ends_with("presentationml.presentation"));
        assert!(output.text.contains("3 slides"), "{}", output.text);
        let stored = place.context.artifacts.read(&output.attachments[0].digest).await.unwrap();
        let stored = String::from_utf8_lossy(&stored).into_owned();
        assert!(stored.contains("the plan") && stored.contains("Standard"), "{stored}");
        for path in ["../plan.md", "/etc/passwd", "texts", "none.md"] {
            let error = place.runs(&deck, json!({ "filePath": path })).await.unwrap_err();
            assert!(matches!(error, ToolError::ExecutionFailed(_)), "{path}: {error}");
        }
    }

    #[tokio::test]
    async fn mc_27_mc_29_each_format_has_its_name_and_its_units() {
        let mut place = Place::new();
        for (format, name, unit) in
            [(Format::Docx, "a.docx", "3 pages"), (Format::Xlsx, "a.xlsx", "3 sheets")]
        {
            let arguments = json!({ "markdown": "x", "fileName": "a" });
            let output = place.runs(&tool(format, Source::Text), arguments).await.unwrap();
            assert_eq!(output.attachments[0].name, name);
            assert!(output.text.contains(unit), "{}", output.text);
            let media_type = &output.attachments[0].media_type;
            assert!(media_type.contains("openxmlformats"), "{media_type}");
        }
    }

    #[tokio::test]
    async fn a_document_that_cannot_be_drawn_breaks_nothing() {
        let mut place = Place::new();
        let pdf = tool(Format::Pdf, Source::Text);
        for _ in 0..4 {
            let arguments = json!({ "markdown": "break down" });
            let error = place.runs(&pdf, arguments).await.unwrap_err();
            assert!(error.to_string().contains("Simplify"), "{error}");
        }
        let error = place.runs(&pdf, json!({ "markdown": "bad table" })).await.unwrap_err();
        assert_eq!(error.to_string(), "Line 1: the table has no columns");
        assert!(place.runs(&pdf, json!({ "markdown": "fine" })).await.is_ok());
    }

    #[tokio::test]
    async fn what_cannot_be_meant_is_refused() {
        let mut place = Place::new();
        let pdf = tool(Format::Pdf, Source::Text);
        for arguments in [
            json!({ "markdown": "  \n" }),
            json!({ "markdown": "x", "fileName": "../x" }),
            json!({ "markdown": "x".repeat(MAX_MARKDOWN_BYTES as usize + 1) }),
            json!({}),
        ] {
            let error = place.runs(&pdf, arguments).await.unwrap_err();
            assert!(matches!(error, ToolError::InvalidParameters(_)), "{error}");
        }
    }

    #[tokio::test]
    async fn mc_31_a_pdf_of_the_workspace_with_its_picture() {
        let mut place = Place::new();
        let picture = include_bytes!("../../../renderers/tests/corpus/img/dot.png");
        place.has("report/img/dot.png", picture);
        place.has(
            "report/q3.md",
            "---\ntitle: Third quarter\n---\n\n# Sales\n\n![dot](img/dot.png)\n\n| a | b |\n|---|---|\n| 1 | 2 |\n",
        );
        let from_file = Rendering { format: Format::Pdf, source: Source::File, press: real() };
        let arguments = json!({ "filePath": "report/q3.md" });
        let output = place.runs(&from_file, arguments).await.unwrap();
        assert_eq!(output.attachments[0].name, "q3.pdf");
        assert!(output.text.contains("1 page"), "{}", output.text);
        assert!(!output.text.contains("Tell the person"), "nothing is lost: {}", output.text);
        let stored = place.context.artifacts.read(&output.attachments[0].digest).await.unwrap();
        assert!(stored.starts_with(b"%PDF-"));
    }

    #[tokio::test]
    async fn deep_nesting_ends_nothing() {
        let mut place = Place::new();
        let real = Rendering { format: Format::Pdf, source: Source::Text, press: real() };
        for text in [">".repeat(2_000) + " x", "- ".repeat(1_000) + "x", "*".repeat(5_000)] {
            // Drawn or refused: either is an answer.
            let _ = place.runs(&real, json!({ "markdown": text })).await;
        }
        assert!(place.runs(&real, json!({ "markdown": "x" })).await.is_ok());
    }

    #[test]
    fn a_lost_picture_is_named_once_with_the_better_reason() {
        let told = losses(&[
            "The picture a.png is left out: Not found".into(),
            "HTML is not drawn".into(),
            "The picture a.png is not drawn: it was not given.".into(),
            "The picture b.png is not drawn: it was not given.".into(),
        ]);
        assert_eq!(
            told,
            "\nTell the person, if it matters:\n- The picture a.png is left out: Not found\n\
             - HTML is not drawn\n- The picture b.png is not drawn: it was not given."
        );
        assert_eq!(losses(&[]), "");
    }

    #[test]
    fn only_decks_have_a_shape() {
        for tool in tools(House::default()) {
            let spec = tool.spec();
            let has = spec.parameters["properties"]["aspectRatio"].is_object();
            assert_eq!(has, spec.name.contains("pptx"), "{}", spec.name);
        }
    }
}
