//! Renders documents from Markdown: `render_pdf`, `render_docx`, `render_xlsx`, `render_pptx`, and
//! `…_from_file`. The person gets the file as an attachment; the model gets a receipt. Tools that
//! change existing files are in `editing`.

mod about;
pub mod blob;
mod branding;
pub mod confined_jobs;
mod convert;
mod edit_arguments;
pub mod edit_protocol;
mod editing;
pub mod extract;
pub mod fonts;
pub mod office;
mod pictures;
pub mod pool;
pub mod protocol;
pub mod reader;
pub mod request;

pub use branding::Branding;

use async_trait::async_trait;
use renderers::{Format, Rendered, Warning};
use sandbox::Sandbox;
use serde_json::Value;
use std::{
    collections::{BTreeSet, HashSet},
    path::Path,
    sync::Arc,
    time::Duration,
};

use super::{Context, Output, Tool, ToolError, send, workspace::file_names};
use crate::{
    agent::catalog::{EffectClass, Subject, Tier, ToolSpec},
    journal::event::Attachment,
};
use blob::Blob;
use convert::ConvertDocument;
use office::Office;
use pool::{RenderPool, RenderedDocument};
use protocol::{Names, RenderOptions};
use request::{DocumentRequest, RenderPart, RenderText, TextSource};

const MAX_WARNINGS: usize = 20;

/// The longest rendering, including its picture; what takes longer is too large for a chat.
const TIMEOUT: Duration = Duration::from_secs(140);

const FORMATS: [Format; 4] = [Format::Pdf, Format::Docx, Format::Xlsx, Format::Pptx];

/// All tools that make or change documents. They share a render pool, and `office` for PDFs and, if
/// the branding says so, pictures of Office files.
pub fn tools(
    branding: Branding,
    sandbox: &Arc<Sandbox>,
    office: Option<Arc<Office>>,
) -> Vec<Arc<dyn Tool>> {
    let pool = Arc::new(RenderPool::new(sandbox.clone(), branding.fonts()));
    let editing = editing::tools(&pool);
    let converting: Arc<dyn Tool> = Arc::new(ConvertDocument { office: office.clone() });
    let office = office.filter(|_| branding.office_previews);
    let branding = Arc::new(branding);
    let of = |source: TextSource| {
        FORMATS.map(|format| {
            let (pool, branding, office) = (pool.clone(), branding.clone(), office.clone());
            Arc::new(Rendering { format, source, pool, branding, office }) as Arc<dyn Tool>
        })
    };
    let rendering = [of(TextSource::Text), of(TextSource::File)].into_iter().flatten();
    rendering.chain(editing).chain([converting]).collect()
}

struct Rendering {
    format: Format,
    source: TextSource,
    pool: Arc<RenderPool>,
    branding: Arc<Branding>,
    office: Option<Arc<Office>>,
}

#[async_trait]
impl Tool for Rendering {
    fn spec(&self) -> ToolSpec {
        let ending = self.format.ending();
        let parameters = request::parameters(self.format, self.source);
        let spec = match self.source {
            TextSource::Text => ToolSpec::read_only(
                &format!("render_{ending}"),
                &about::about(self.format),
                parameters,
            ),
            TextSource::File => ToolSpec {
                tier: Tier::Extension,
                subject: Some(Subject::Path("filePath")),
                reads: &["/furtherPaths/*"],
                // Warnings quote the text.
                untrusted: true,
                ..ToolSpec::read_only(
                    &format!("render_{ending}_from_file"),
                    &format!(
                        "Like render_{ending}, from files of the workspace.\nFor texts that are \
                         there already, or over 5 kB."
                    ),
                    parameters,
                )
            },
        };
        ToolSpec { effect: EffectClass::Idempotent, timeout: TIMEOUT, ..spec }
    }

    async fn run(&self, arguments: Value, context: &Context) -> Result<Output, ToolError> {
        let job = request::read(self.format, self.source, arguments, context).await?;
        let requested_name = job.name.clone();
        let RenderedDocument { file, title, picture } = self.draw(job, context).await?;
        let ending = self.format.ending();
        // A title is not always a valid file name; a requested name was validated before.
        let name = requested_name.or(title).map(|name| name.replace('/', "-"));
        let name = name.and_then(|name| file_names::file_name(&name).ok());
        let name = file_names::with_extension(name.as_deref().unwrap_or("document"), ending);
        let media_type = mime_guess::from_ext(ending).first_or_octet_stream();
        let Rendered { bytes, pages, warnings } = file;
        let office = self.office.as_ref().filter(|_| context.shows_pictures);
        let picture = match (picture, office) {
            (None, Some(office)) if self.format != Format::Pdf => {
                office.first_page(ending, &bytes).await
            }
            (picture, _) => picture,
        };
        let attachment = send::keep(context, &name, media_type.essence_str(), bytes).await?;
        let about = pages_of(self.format, pages);
        let text = send::receipt(&attachment, &about) + &losses(&warnings);
        let picture = first_page(&name, picture, context).await;
        let attachments = picture.into_iter().chain([attachment]).collect();
        Ok(Output { text, attachments, ..Output::default() })
    }
}

/// Stores the picture of the first page; if that fails, the document is sent without it.
async fn first_page(of: &str, png: Option<Vec<u8>>, context: &Context) -> Option<Attachment> {
    let name = Path::new(of).with_extension("png");
    send::keep(context, &name.to_string_lossy(), "image/png", png?).await.ok()
}

impl Rendering {
    /// Loads the pictures that the texts refer to; returns the template that they name.
    async fn load(
        &self,
        parts: &mut [RenderPart],
        context: &Context,
    ) -> Result<Option<Vec<u8>>, ToolError> {
        let texts = parts.iter().map(|part| part.text.clone()).collect();
        let Names { pictures, template } = self.pool.names(texts).await?;
        for (part, urls) in parts.iter_mut().zip(pictures) {
            pictures::load(part, urls, context).await?;
        }
        match (template, parts.first_mut()) {
            (Some(path), Some(first)) => pictures::template(first, path, context).await,
            _ => Ok(None),
        }
    }

    async fn draw(
        &self,
        mut job: DocumentRequest,
        context: &Context,
    ) -> Result<RenderedDocument, ToolError> {
        let mut assets = self.branding.assets();
        if let RenderText::Markdown(parts) = &mut job.text
            && let Some(template) = self.load(parts, context).await?
        {
            assets.template = Some(Blob(template));
        }
        let options = RenderOptions {
            format: self.format,
            text: job.text,
            title: job.title,
            date: Some(context.now.date_naive()),
            aspect: job.aspect,
            assets,
            with_picture: context.shows_pictures,
        };
        self.pool.draw(options).await
    }
}

/// For example `, 3 slides`.
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

/// Formats the warnings. A picture that was not loaded is reported once, with the reason found
/// here, which takes precedence over the renderer's.
fn losses(warnings: &[Warning]) -> String {
    let (mut pictures, mut others) = (BTreeSet::new(), HashSet::new());
    let warnings = warnings.iter().filter(|warning| match warning.missing_picture() {
        Some(name) => pictures.insert(name),
        None => others.insert(*warning),
    });
    let warnings: Vec<_> = warnings.collect();
    let mut text = String::new();
    if !warnings.is_empty() {
        text += "\nWarnings; mention them if they matter to the person:";
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
    use crate::tools::{
        documents::protocol::{RenderRequest, RenderResponse},
        testing::ToolFixture,
    };
    use renderers::markdown;
    use serde_json::json;

    /// A pool that returns the request as the document, to inspect it.
    fn pool() -> Arc<RenderPool> {
        Arc::new(RenderPool::here(|order| match order {
            RenderRequest::File(options) => {
                let text = format!("{options:?}");
                if text.contains("bad table") {
                    return (RenderResponse::Refused("Line 1: no columns".into()), Vec::new());
                }
                let warnings = (0..25).map(|n| format!("loss {n}").into()).collect();
                let title = options.title.clone();
                let picture =
                    if options.with_picture && options.format == Format::Pdf { "PNG" } else { "" };
                let answer = RenderResponse::File {
                    title,
                    pages: 3,
                    warnings,
                    picture_bytes: picture.len(),
                };
                (answer, (text + picture).into_bytes())
            }
            other => panic!("{other:?}"),
        }))
    }

    fn tool(format: Format, source: TextSource) -> Rendering {
        Rendering { format, source, pool: pool(), branding: Arc::default(), office: None }
    }

    /// Proves MC-32, MC-55.
    #[tokio::test]
    async fn the_person_gets_the_file_and_the_model_a_receipt() {
        let mut place = ToolFixture::new();
        let arguments = json!({ "markdown": "# Hello", "title": "Q3: Sales/Report" });
        let output =
            place.runs(&tool(Format::Pdf, TextSource::Text), arguments.clone()).await.unwrap();
        let [picture, attachment] = &output.attachments[..] else { panic!("{output:?}") };
        assert_eq!(picture.name, "Q3: Sales-Report.png");
        assert_eq!(picture.media_type, "image/png");
        assert_eq!(attachment.name, "Q3: Sales-Report.pdf");
        assert_eq!(attachment.media_type, "application/pdf");
        let stored = place.context.artifacts.read(&attachment.digest).await.unwrap();
        assert!(String::from_utf8_lossy(&stored).contains("format: Pdf"));
        assert!(output.text.contains("3 pages"), "{}", output.text);
        assert!(output.text.contains("- loss 19\n- and 5 more"), "{}", output.text);
        assert!(!output.text.contains("http"), "{}", output.text);
        let again = place.runs(&tool(Format::Pdf, TextSource::Text), arguments).await.unwrap();
        assert_eq!(again, output, "twice is the same as once");
        place.context.shows_pictures = false;
        let pdf = tool(Format::Pdf, TextSource::Text);
        let bare = place.runs(&pdf, json!({ "markdown": "x" })).await.unwrap();
        assert_eq!(bare.attachments.len(), 1, "no picture is drawn for nobody");
    }

    /// Proves MC-28, MC-30.
    #[tokio::test]
    async fn a_document_is_made_from_a_file_of_the_workspace_only() {
        let mut place = ToolFixture::new();
        place.has("texts/plan.md", "the plan");
        let deck = tool(Format::Pptx, TextSource::File);
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
            let is_missing = matches!(error, ToolError::NotFound(_));
            assert_eq!(is_missing, path == "none.md", "{path}: {error}");
            assert!(is_missing || matches!(error, ToolError::ExecutionFailed(_)), "{error}");
        }
    }

    /// Word files from several texts, workbooks from rows.
    /// Proves MC-28, MC-29.
    #[tokio::test]
    async fn several_files_and_rows_become_one_document() {
        let mut place = ToolFixture::new();
        place.has("a/one.md", "first part");
        place.has("two.md", "second part");
        place.has("data/sales.csv", "id,amount\n007,1\n");
        place.has("data/odd.json", "{");
        let word = tool(Format::Docx, TextSource::File);
        let arguments = json!({ "filePath": "a/one.md", "further_paths": ["two.md"] });
        let output = place.runs(&word, arguments).await.unwrap();
        let stored = place.context.artifacts.read(&output.attachments[0].digest).await.unwrap();
        let stored = String::from_utf8_lossy(&stored).into_owned();
        assert!(stored.find("first part").unwrap() < stored.find("second part").unwrap());
        let book = tool(Format::Xlsx, TextSource::File);
        let output = place.runs(&book, json!({ "filePath": "data/sales.csv" })).await.unwrap();
        assert_eq!(output.attachments[0].name, "sales.xlsx");
        assert!(output.text.contains("3 sheets"), "{}", output.text);
        let error = place.runs(&book, json!({ "filePath": "data/odd.json" })).await.unwrap_err();
        assert!(error.to_string().contains("neither JSON nor JSON Lines"), "{error}");
        let rows = tool(Format::Xlsx, TextSource::Text);
        let arguments = json!({ "rows": [{ "b": 1, "a": "x" }], "title": "T" });
        let output = place.runs(&rows, arguments).await.unwrap();
        assert_eq!(output.attachments[0].name, "T.xlsx");
        assert!(place.runs(&rows, json!({ "csv": "a\n1" })).await.is_ok());
        for both in [json!({}), json!({ "csv": "a\n1", "markdown": "x" })] {
            let error = place.runs(&rows, both).await.unwrap_err();
            assert!(error.to_string().contains("give one of"), "{error}");
        }
    }

    /// Each file of rows becomes a sheet named after the file, in every format.
    /// Proves MC-28, MC-29.
    #[tokio::test]
    async fn files_of_rows_follow_each_other() {
        let mut place = ToolFixture::new();
        place.has("north.csv", "port,tonnes\nOslo,5\n");
        place.has("data/South.JSON", r#"[{ "port": "Genoa", "tonnes": 7 }]"#);
        place.has("text.md", "words");
        let both = json!({ "filePath": "north.csv", "furtherPaths": ["data/South.JSON"] });
        for format in [Format::Xlsx, Format::Docx] {
            let real =
                Rendering { pool: Arc::new(RenderPool::real()), ..tool(format, TextSource::File) };
            let output = place.runs(&real, both.clone()).await.unwrap();
            let drawn = place.context.artifacts.read(&output.attachments[0].digest).await.unwrap();
            let name = format!("a.{}", format.ending());
            let read = renderers::read::to_markdown(&name, &drawn).unwrap().markdown;
            for words in ["north", "| Oslo | 5 |", "South", "| Genoa | 7 |"] {
                assert!(read.contains(words), "{words} in {read}");
            }
        }
        let book = tool(Format::Xlsx, TextSource::File);
        for (first, next) in [("north.csv", "text.md"), ("text.md", "north.csv")] {
            let mixed = json!({ "filePath": first, "furtherPaths": [next] });
            let error = place.runs(&book, mixed).await.unwrap_err();
            assert!(matches!(error, ToolError::InvalidParameters(_)), "{error}");
        }
    }

    /// Proves MC-27, MC-29.
    #[tokio::test]
    async fn each_format_has_its_name_and_its_units() {
        let mut place = ToolFixture::new();
        for (format, name, unit) in
            [(Format::Docx, "a.docx", "3 pages"), (Format::Xlsx, "a.xlsx", "3 sheets")]
        {
            let arguments = json!({ "markdown": "x", "fileName": "a" });
            let output = place.runs(&tool(format, TextSource::Text), arguments).await.unwrap();
            assert_eq!(output.attachments[0].name, name);
            assert!(output.text.contains(unit), "{}", output.text);
            let media_type = &output.attachments[0].media_type;
            assert!(media_type.contains("openxmlformats"), "{media_type}");
        }
    }

    #[tokio::test]
    async fn a_rejected_document_is_an_error_with_the_reason() {
        let mut place = ToolFixture::new();
        let pdf = tool(Format::Pdf, TextSource::Text);
        let error = place.runs(&pdf, json!({ "markdown": "bad table" })).await.unwrap_err();
        assert_eq!(error.to_string(), "Line 1: no columns");
    }

    #[tokio::test]
    async fn invalid_arguments_are_rejected() {
        let mut place = ToolFixture::new();
        let pdf = tool(Format::Pdf, TextSource::Text);
        for arguments in [
            json!({ "markdown": "  \n" }),
            json!({ "markdown": "x", "fileName": "../x" }),
            json!({ "markdown": "x".repeat(5 * 1024 * 1024 + 1) }),
            json!({}),
        ] {
            let error = place.runs(&pdf, arguments).await.unwrap_err();
            assert!(matches!(error, ToolError::InvalidParameters(_)), "{error}");
        }
    }

    #[tokio::test]
    async fn a_pdf_of_the_workspace_with_its_picture() {
        let mut place = ToolFixture::new();
        let picture = include_bytes!("../../../renderers/tests/corpus/img/dot.png");
        place.has("report/img/dot.png", picture);
        place.has(
            "report/q3.md",
            "---\ntitle: Third quarter\n---\n\n# Sales\n\n![dot](img/dot.png)\n\n| a | b |\n|---|---|\n| 1 | 2 |\n",
        );
        let from_file = Rendering {
            format: Format::Pdf,
            source: TextSource::File,
            pool: Arc::new(RenderPool::real()),
            branding: Arc::default(),
            office: None,
        };
        let arguments = json!({ "filePath": "report/q3.md" });
        let output = place.runs(&from_file, arguments).await.unwrap();
        let [picture, pdf] = &output.attachments[..] else { panic!("{output:?}") };
        assert_eq!((picture.name.as_str(), pdf.name.as_str()), ("q3.png", "q3.pdf"));
        let shown = place.context.artifacts.read(&picture.digest).await.unwrap();
        assert!(shown.starts_with(b"\x89PNG"), "the first page");
        assert!(output.text.contains("1 page"), "{}", output.text);
        assert!(!output.text.contains("Warnings"), "nothing is lost: {}", output.text);
        let stored = place.context.artifacts.read(&pdf.digest).await.unwrap();
        assert!(stored.starts_with(b"%PDF-"));
    }

    /// CSV may be in a Windows code page, and JSON may have a value on each line.
    #[tokio::test]
    async fn rows_of_the_workspace_become_workbooks() {
        let mut place = ToolFixture::new();
        place.has("orte.csv", b"Ort;Preis\nK\xf6ln;3\nM\xfcnchen;4\n");
        place.has("rows.jsonl", b"{\"city\":\"Bonn\",\"at\":{\"x\":1}}\n{\"city\":\"Kiel\"}\n");
        let from_file = Rendering {
            format: Format::Xlsx,
            source: TextSource::File,
            pool: Arc::new(RenderPool::real()),
            branding: Arc::default(),
            office: None,
        };
        for (path, words) in [("orte.csv", ["Köln", "München"]), ("rows.jsonl", ["Bonn", "at.x"])]
        {
            let output = place.runs(&from_file, json!({ "filePath": path })).await.unwrap();
            let digest = &output.attachments.last().unwrap().digest;
            let stored = place.context.artifacts.read(digest).await.unwrap();
            let text = renderers::read::to_markdown("a.xlsx", &stored).unwrap().markdown;
            assert!(words.iter().all(|word| text.contains(word)), "{path}: {text}");
        }
    }

    #[tokio::test]
    async fn a_template_of_the_workspace_is_applied_and_a_missing_one_is_named() {
        let mut place = ToolFixture::new();
        let branding = markdown::read("---\nheader: House of Rivers\n---\nx").unwrap();
        let branding = renderers::render(&branding, Format::Docx).unwrap();
        place.has("brand/house.docx", branding.bytes);
        let word = Rendering {
            pool: Arc::new(RenderPool::real()),
            ..tool(Format::Docx, TextSource::Text)
        };
        for (path, is_there) in [("brand/house.docx", true), ("../house.docx", false)] {
            let text = format!("---\ntemplate: {path}\n---\n\n# Hi");
            let output = place.runs(&word, json!({ "markdown": text })).await.unwrap();
            assert_eq!(output.text.contains("is left out"), !is_there, "{}", output.text);
            let drawn = place.context.artifacts.read(&output.attachments[0].digest).await.unwrap();
            let read = renderers::read::to_markdown("a.docx", &drawn).unwrap().markdown;
            assert_eq!(read.contains("House of Rivers"), is_there, "{read}");
        }
    }

    /// Few rows, many rows, and rows as JSON.
    /// Proves MC-29.
    #[tokio::test]
    async fn workbooks_of_rows_have_the_branding_too() {
        let mut place = ToolFixture::new();
        let letter = markdown::read("---\nheader: House of Rivers\n---\nx").unwrap();
        let letter = renderers::render(&letter, Format::Docx).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let template = folder.path().join("house.docx");
        std::fs::write(&template, letter.bytes).unwrap();
        let branding = Branding { template: Some(template), ..Branding::default() };
        let book = Rendering {
            pool: Arc::new(RenderPool::real()),
            branding: Arc::new(branding),
            ..tool(Format::Xlsx, TextSource::Text)
        };
        let many = "a,b\n1,2\n".repeat(10_001);
        for rows in
            [json!({ "csv": "a\n1\n" }), json!({ "csv": many }), json!({ "rows": [{ "a": 1 }] })]
        {
            let output = place.runs(&book, rows).await.unwrap();
            let drawn = place.context.artifacts.read(&output.attachments[0].digest).await.unwrap();
            let read = renderers::read::to_markdown("a.xlsx", &drawn).unwrap().markdown;
            assert!(read.contains("House of Rivers"), "{read:.200}");
        }
    }

    #[test]
    fn a_lost_picture_is_named_once_with_the_better_reason() {
        let why = || "it was not given".to_owned();
        let told = losses(&[
            Warning::PictureLeftOut { name: "a.png".into(), why: "Not found".into() },
            Warning::Other("HTML is not drawn".into()),
            Warning::PictureNotDrawn { name: "a.png".into(), why: why() },
            Warning::PictureNotDrawn { name: "b is c.png".into(), why: why() },
            Warning::PictureInHeader { name: "b is c.png".into() },
        ]);
        assert_eq!(
            told,
            "\nWarnings; mention them if they matter to the person:\n\
             - The picture a.png is left out: Not found\n\
             - HTML is not drawn\n- The picture b is c.png is not drawn: it was not given."
        );
        assert_eq!(losses(&[]), "");
    }

    #[test]
    fn only_decks_have_a_shape() {
        for tool in tools(Branding::default(), &Arc::new(Sandbox::off("a test")), None) {
            let spec = tool.spec();
            let has = spec.parameters["properties"]["aspectRatio"].is_object();
            assert_eq!(has, spec.name.contains("pptx"), "{}", spec.name);
        }
    }
}
