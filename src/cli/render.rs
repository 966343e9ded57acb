//! `countersign render`: documents for people and scripts, with the house's look.

use anyhow::{Context as _, Result, bail};
use renderers::{Document, Format, markdown, rows};
use std::path::{Path, PathBuf};

use crate::{
    config::Config,
    tools::documents::{self, House},
};

/// A picture larger than this is left out, as it is in the chat.
const PICTURE_BYTES: u64 = 10 * 1024 * 1024;

#[derive(Debug, clap::Args)]
pub struct Render {
    /// A Markdown file; for a workbook also a .csv, .tsv or .json file
    file: PathBuf,
    /// docx, xlsx, pptx or pdf [default: what the output's name ends with]
    #[arg(long, value_parser = format)]
    to: Option<Format>,
    /// Where the document goes [default: beside the source]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

fn format(name: &str) -> Result<Format, String> {
    Format::of(name).ok_or_else(|| format!("{name} is no format; take docx, xlsx, pptx or pdf"))
}

/// Draws the file; says what was lost, a line each.
pub fn run(config: &Config, wish: &Render) -> Result<Vec<String>> {
    let by_name = wish.output.as_deref().and_then(ending).and_then(|e| Format::of(&e));
    let Some(format) = wish.to.or(by_name) else {
        bail!("say which format: --to pdf, docx, xlsx or pptx");
    };
    let output = wish.output.clone().unwrap_or_else(|| wish.file.with_extension(format.ending()));
    anyhow::ensure!(output != wish.file, "the document would overwrite its source");
    let source = std::fs::read_to_string(&wish.file)
        .with_context(|| format!("reading {}", wish.file.display()))?;
    let rendered = draw(&config.documents, &wish.file, &source, format)?;
    std::fs::write(&output, rendered.bytes)
        .with_context(|| format!("writing {}", output.display()))?;
    Ok(rendered.warnings)
}

fn draw(house: &House, file: &Path, source: &str, format: Format) -> Result<renderers::Rendered> {
    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
    let mut document = match ending(file).as_deref() {
        Some("csv" | "tsv") if format == Format::Xlsx => {
            return Ok(rows::workbook(&stem, source)?);
        }
        Some("csv" | "tsv") => rows::from_csv(&stem, source)?,
        Some("json") => rows::from_json(&stem, &serde_json::from_str(source)?)?,
        _ => markdown::read(source)?,
    };
    pictures(&mut document, file.parent().unwrap_or(Path::new(".")));
    let mut dress = house.dress();
    if let Some(path) = &document.meta.template {
        let path = file.parent().unwrap_or(Path::new(".")).join(path);
        let bytes = std::fs::read(&path);
        let bytes = bytes.with_context(|| format!("reading the template {}", path.display()))?;
        dress.template = Some(documents::order::Blob(bytes));
    }
    dress.put_on(&mut document);
    Ok(documents::draw(&document, format, &house.fonts())?)
}

fn ending(path: &Path) -> Option<String> {
    path.extension().map(|ending| ending.to_string_lossy().to_lowercase())
}

/// Pictures are files beside or below the source; nothing is fetched.
fn pictures(document: &mut Document, folder: &Path) {
    for url in markdown::image_urls(document) {
        let path = Path::new(&url);
        let is_below =
            path.components().all(|part| matches!(part, std::path::Component::Normal(_)));
        let path = folder.join(path);
        let fits = std::fs::metadata(&path).is_ok_and(|file| file.len() <= PICTURE_BYTES);
        if is_below
            && fits
            && let Ok(bytes) = std::fs::read(&path)
        {
            document.assets.insert(url, bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    fn wish(file: PathBuf, to: Option<Format>, output: Option<PathBuf>) -> Render {
        Render { file, to, output }
    }

    #[test]
    fn a_file_becomes_a_document_beside_it_or_where_it_is_wished() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("a.md"), "# Hi\n\n![](b.png) ![](../c.png)").unwrap();
        std::fs::write(at("t.csv"), "a,b\n1,2\n").unwrap();
        let config = Config::default();
        let warnings = run(&config, &wish(at("a.md"), Some(Format::Docx), None)).unwrap();
        assert_eq!(warnings.len(), 2, "{warnings:?}");
        assert!(std::fs::read(at("a.docx")).unwrap().starts_with(b"PK"));
        run(&config, &wish(at("a.md"), None, Some(at("x.PDF")))).unwrap();
        assert!(std::fs::read(at("x.PDF")).unwrap().starts_with(b"%PDF"));
        run(&config, &wish(at("t.csv"), Some(Format::Xlsx), None)).unwrap();
        assert!(std::fs::read(at("t.xlsx")).unwrap().starts_with(b"PK"));
        let unsaid = run(&config, &wish(at("a.md"), None, None)).unwrap_err();
        assert!(unsaid.to_string().contains("--to"), "{unsaid}");
        let missing = run(&config, &wish(at("none.md"), Some(Format::Pdf), None)).unwrap_err();
        assert!(missing.to_string().contains("none.md"), "{missing}");
    }
}
