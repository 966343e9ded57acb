//! Detects the type of a file: by its content, or by its name if the content is ambiguous.

use super::{
    archive::Archive,
    reading::{Kind, ReadError},
    rtf,
};

/// The signature of Microsoft's formats before 2007.
pub(super) const COMPOUND: &[u8] = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1";

/// Detects the type of a file from its content, then from its extension. Fails if there is no
/// reader for the type.
pub fn of(name: &str, bytes: &[u8]) -> Result<Kind, ReadError> {
    let ending = name.rsplit_once('.').map(|(_, ending)| ending.to_lowercase()).unwrap_or_default();
    let start = &bytes[..bytes.len().min(1024)];
    if start.windows(5).any(|five| five == b"%PDF-") {
        return Ok(Kind::Pdf);
    }
    if bytes.starts_with(b"PK") {
        return package(bytes);
    }
    if bytes.starts_with(COMPOUND) {
        return compound(&ending);
    }
    if start.starts_with(rtf::START) {
        return Ok(Kind::Rtf);
    }
    if infer::is_image(bytes) {
        return Ok(Kind::Picture);
    }
    let wide = bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff");
    if !wide && bytes.contains(&0) {
        return Err(unknown());
    }
    Ok(text(&ending, start))
}

/// Whether files with this extension are never empty.
pub fn is_binary(name: &str) -> bool {
    let ending = name.rsplit_once('.').map(|(_, ending)| ending.to_lowercase());
    let binary = [
        "pdf", "docx", "xlsx", "xlsb", "xls", "pptx", "odt", "ods", "odp", "doc", "ppt", "rtf",
        "png", "jpg", "jpeg", "gif", "webp", "bmp",
    ];
    ending.is_some_and(|ending| binary.contains(&ending.as_str()))
}

/// Uses the parts of the package, because the file name may be wrong.
fn package(bytes: &[u8]) -> Result<Kind, ReadError> {
    let mut archive = Archive::open(bytes)?;
    let has = |part: &str| archive.has(part);
    for (part, kind) in [
        ("word/document.xml", Kind::Docx),
        ("xl/workbook.xml", Kind::Xlsx),
        ("xl/workbook.bin", Kind::Xlsb),
        ("ppt/presentation.xml", Kind::Pptx),
    ] {
        if has(part) {
            return Ok(kind);
        }
    }
    let mimetype = archive.part("mimetype")?.unwrap_or_default();
    let mimetype = String::from_utf8_lossy(&mimetype);
    match mimetype.trim().strip_prefix("application/vnd.oasis.opendocument.") {
        Some(kind) if kind.starts_with("text") => Ok(Kind::Odt),
        Some(kind) if kind.starts_with("spreadsheet") => Ok(Kind::Ods),
        Some(kind) if kind.starts_with("presentation") => Ok(Kind::Odp),
        _ => Err(ReadError::Unknown("Archives cannot be read: unpack it first.".into())),
    }
}

fn compound(ending: &str) -> Result<Kind, ReadError> {
    match ending {
        "xls" | "xlt" | "xla" => Ok(Kind::Xls),
        _ => Err(ReadError::Unknown(
            "This is an Office file from before 2007: save it as .docx, .xlsx or .pptx.".into(),
        )),
    }
}

fn text(ending: &str, start: &[u8]) -> Kind {
    let start = String::from_utf8_lossy(start).trim_start().to_lowercase();
    match ending {
        "html" | "htm" | "xhtml" => Kind::Html,
        "eml" => Kind::Email,
        "csv" | "tsv" => Kind::Csv,
        "json" | "jsonl" | "ndjson" => Kind::Json,
        _ if start.starts_with("<!doctype html") || start.starts_with("<html") => Kind::Html,
        _ => Kind::Text,
    }
}

fn unknown() -> ReadError {
    ReadError::Unknown(
        "This file type is not supported. PDF, Word, Excel, PowerPoint, OpenDocument, HTML, e-mail, \
         RTF, CSV, JSON, text and pictures can be read."
            .into(),
    )
}
