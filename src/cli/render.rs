//! `countersign render`: renders documents for people and scripts, with the configured branding.

use anyhow::{Context as _, Result, bail};
use renderers::{Format, Rendered, Warning};
use sandbox::Sandbox;
use std::{
    collections::BTreeMap,
    path::PathBuf,
    path::{Component, Path},
    sync::Arc,
};

use crate::{
    config::Config,
    tools::documents::{
        Branding,
        blob::Blob,
        pool::RenderPool,
        protocol::{Names, RenderOptions},
        request::{RenderPart, RenderText},
    },
};

/// Larger pictures are left out, as in the chat.
const PICTURE_BYTES: u64 = 10 * 1024 * 1024;

/// Files that are not sent to a chat may be larger, for example a workbook with the maximum number
/// of rows.
const FILE_BYTES: usize = 65 * 1024 * 1024;

#[derive(Debug, clap::Args)]
pub struct Render {
    /// A Markdown, .csv, .tsv, .json or .jsonl file
    file: PathBuf,
    /// docx, xlsx, pptx or pdf [default: from the output's extension]
    #[arg(long, value_parser = format)]
    to: Option<Format>,
    /// The output file [default: beside the source]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

fn format(name: &str) -> Result<Format, String> {
    Format::of(name).ok_or_else(|| format!("{name} is not a format; use docx, xlsx, pptx or pdf"))
}

/// A document that was written.
pub struct WrittenDocument {
    pub file: PathBuf,
    /// What was lost, one line each.
    pub warnings: Vec<Warning>,
}

/// Renders the file as the gateway would, in the sandbox.
pub async fn run(config: &Config, args: &Render) -> Result<WrittenDocument> {
    let source = SourceFile::read(args)?;
    let rendered = Sandbox::once(&std::env::current_exe()?, async |sandbox| {
        let mut pool = RenderPool::new(Arc::new(sandbox), config.documents.fonts());
        pool.max_bytes = FILE_BYTES;
        source.draw(&pool, &config.documents).await
    })
    .await?;
    source.write(rendered)
}

/// The source, read once: a pipe is empty afterwards, and the sandbox may draw it twice.
struct SourceFile {
    path: PathBuf,
    text: String,
    format: Format,
    output: PathBuf,
}

impl SourceFile {
    fn read(args: &Render) -> Result<Self> {
        let by_name = args.output.as_deref().and_then(ending).and_then(|e| Format::of(&e));
        let Some(format) = args.to.or(by_name) else {
            bail!("specify a format: --to pdf, docx, xlsx or pptx");
        };
        let path = args.file.clone();
        let output = args.output.clone().unwrap_or_else(|| path.with_extension(format.ending()));
        anyhow::ensure!(output != path, "the document would overwrite its source");
        let bytes = std::fs::read(&path).with_context(|| format!("reading {}", path.display()))?;
        let text = renderers::read::charset::decode(&bytes);
        Ok(Self { path, text, format, output })
    }

    fn write(self, rendered: Rendered) -> Result<WrittenDocument> {
        std::fs::write(&self.output, rendered.bytes)
            .with_context(|| format!("writing {}", self.output.display()))?;
        Ok(WrittenDocument { file: self.output, warnings: rendered.warnings })
    }

    async fn draw(&self, pool: &RenderPool, branding: &Branding) -> Result<Rendered> {
        let mut assets = branding.assets();
        let stem = || Some(self.path.file_stem().unwrap_or_default().to_string_lossy().into());
        let (text, title) = match ending(&self.path).as_deref() {
            Some("csv" | "tsv") => (RenderText::Csv(self.text.clone()), stem()),
            Some("json" | "jsonl" | "ndjson") => {
                (RenderText::Json(renderers::rows::parse_json(&self.text)?), stem())
            }
            _ => {
                let folder = self.path.parent().unwrap_or(Path::new("."));
                let text = self.text.clone();
                let Names { pictures, template } = pool.names(vec![text.clone()]).await?;
                if let Some(path) = template {
                    let path = folder.join(path);
                    let bytes = std::fs::read(&path)
                        .with_context(|| format!("reading the template {}", path.display()))?;
                    assets.template = Some(Blob(bytes));
                }
                let pictures = pictures_below(folder, pictures.into_iter().flatten());
                let part = RenderPart { pictures, ..RenderPart::new(text, ".") };
                (RenderText::Markdown(vec![part]), None)
            }
        };
        let (format, date, aspect, with_picture) = (self.format, None, None, false);
        let options = RenderOptions { format, text, title, date, aspect, assets, with_picture };
        Ok(pool.draw(options).await?.file)
    }
}

fn ending(path: &Path) -> Option<String> {
    path.extension().map(|ending| ending.to_string_lossy().to_lowercase())
}

/// Finds the pictures, which must be in this folder or below. Nothing is downloaded.
fn pictures_below(folder: &Path, urls: impl Iterator<Item = String>) -> BTreeMap<String, Blob> {
    let read = |url: String| {
        let path = Path::new(&url);
        let is_below = path.components().all(|part| matches!(part, Component::Normal(_)));
        let path = folder.join(path);
        let fits = std::fs::metadata(&path).is_ok_and(|file| file.len() <= PICTURE_BYTES);
        let bytes = (is_below && fits).then(|| std::fs::read(&path).ok()).flatten()?;
        Some((url, Blob(bytes)))
    };
    urls.filter_map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(file: PathBuf, to: Option<Format>, output: Option<PathBuf>) -> Render {
        Render { file, to, output }
    }

    async fn run_on(
        pool: &RenderPool,
        branding: &Branding,
        args: &Render,
    ) -> Result<WrittenDocument> {
        let source = SourceFile::read(args)?;
        let rendered = source.draw(pool, branding).await?;
        source.write(rendered)
    }

    #[tokio::test]
    async fn a_file_becomes_a_document_beside_it_or_where_it_is_requested() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("a.md"), "# Hi\n\n![](b.png) ![](../c.png)").unwrap();
        std::fs::write(at("t.csv"), "a,b\n1,2\n").unwrap();
        let (pool, branding) = (RenderPool::real(), Branding::default());
        let written =
            run_on(&pool, &branding, &args(at("a.md"), Some(Format::Docx), None)).await.unwrap();
        assert_eq!(written.file, at("a.docx"));
        assert_eq!(written.warnings.len(), 2, "{:?}", written.warnings);
        assert!(std::fs::read(at("a.docx")).unwrap().starts_with(b"PK"));
        run_on(&pool, &branding, &args(at("a.md"), None, Some(at("x.PDF")))).await.unwrap();
        assert!(std::fs::read(at("x.PDF")).unwrap().starts_with(b"%PDF"));
        run_on(&pool, &branding, &args(at("t.csv"), Some(Format::Xlsx), None)).await.unwrap();
        assert!(std::fs::read(at("t.xlsx")).unwrap().starts_with(b"PK"));
        std::fs::write(at("german.csv"), b"Stra\xdfe;Gr\xf6\xdfe\nH\xe4user;1,5\n").unwrap();
        run_on(&pool, &branding, &args(at("german.csv"), Some(Format::Xlsx), None)).await.unwrap();
        let german = std::fs::read(at("german.xlsx")).unwrap();
        let german = renderers::read::to_markdown("german.xlsx", &german).unwrap().markdown;
        assert!(german.contains("Straße") && german.contains("Häuser"), "{german}");
        std::fs::write(at("rows.jsonl"), "{\"a\":1}\n{\"a\":2}\n").unwrap();
        run_on(&pool, &branding, &args(at("rows.jsonl"), Some(Format::Xlsx), None)).await.unwrap();
        let error = run_on(&pool, &branding, &args(at("a.md"), None, None)).await.err().unwrap();
        assert!(error.to_string().contains("--to"), "{error}");
        let missing = run_on(&pool, &branding, &args(at("none.md"), Some(Format::Pdf), None))
            .await
            .err()
            .unwrap();
        assert!(missing.to_string().contains("none.md"), "{missing}");
    }

    #[tokio::test]
    async fn the_template_that_a_text_names_lies_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("house.md"), "---\nheader: House of Rivers\n---\nx").unwrap();
        std::fs::write(at("a.md"), "---\ntemplate: house.docx\n---\n\n# Hi").unwrap();
        std::fs::write(at("b.md"), "---\ntemplate: none.docx\n---\n\n# Hi").unwrap();
        let (pool, branding) = (RenderPool::real(), Branding::default());
        for name in ["house.md", "a.md"] {
            run_on(&pool, &branding, &args(at(name), Some(Format::Docx), None)).await.unwrap();
        }
        let worn = std::fs::read(at("a.docx")).unwrap();
        let worn = renderers::read::to_markdown("a.docx", &worn).unwrap().markdown;
        assert!(worn.contains("House of Rivers"), "{worn}");
        let missing = run_on(&pool, &branding, &args(at("b.md"), Some(Format::Docx), None)).await;
        assert!(missing.err().unwrap().to_string().contains("none.docx"));
    }
}
