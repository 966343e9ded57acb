//! Renders one Markdown file: `render FILE.md FORMAT OUT [FONTS…]`, for a look and for `check.py`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use renderers::{Fonts, Format, markdown};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [source, format, out, fonts @ ..] = arguments.as_slice() else {
        eprintln!("usage: render FILE.md docx|xlsx|pptx|pdf OUT [FONT FILES OR FOLDERS…]");
        return ExitCode::FAILURE;
    };
    match render(Path::new(source), format, Path::new(out), fonts) {
        Ok(warnings) => {
            for warning in warnings {
                eprintln!("warning: {warning}");
            }
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

type Failure = Box<dyn std::error::Error>;

fn render(
    source: &Path,
    format: &str,
    out: &Path,
    fonts: &[String],
) -> Result<Vec<String>, Failure> {
    let format = match format {
        "docx" => Format::Docx,
        "xlsx" => Format::Xlsx,
        "pptx" => Format::Pptx,
        "pdf" => Format::Pdf,
        other => return Err(format!("{other} is no format; take docx, xlsx, pptx or pdf").into()),
    };
    let mut document = markdown::read(&std::fs::read_to_string(source)?)?;
    let folder = source.parent().unwrap_or(Path::new("."));
    for url in markdown::image_urls(&document) {
        let is_local = !url.contains(':') && !url.contains("..") && !url.starts_with('/');
        if let Some(bytes) = is_local.then(|| std::fs::read(folder.join(&url)).ok()).flatten() {
            document.assets.insert(url, bytes);
        }
    }
    let mut files = Vec::new();
    for path in fonts {
        read_fonts(Path::new(path), &mut files)?;
    }
    let rendered = renderers::render_with(&document, format, &Fonts::with(files))?;
    std::fs::write(out, rendered.bytes)?;
    Ok(rendered.warnings)
}

fn read_fonts(path: &Path, files: &mut Vec<Vec<u8>>) -> Result<(), Failure> {
    if !path.is_dir() {
        files.push(std::fs::read(path)?);
        return Ok(());
    }
    let mut inside: Vec<PathBuf> =
        std::fs::read_dir(path)?.map(|entry| entry.map(|e| e.path())).collect::<Result<_, _>>()?;
    inside.sort();
    inside.iter().try_for_each(|path| read_fonts(path, files))
}
