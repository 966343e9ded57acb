//! Detects the type of a file: by its content, or by its name if the content is ambiguous.

use super::{
    archive::Archive,
    reading::{Kind, ReadError},
    rtf,
};

/// The signature of Microsoft's formats before 2007.
pub(super) const COMPOUND: &[u8] = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1";

/// A format of Microsoft Office before 2007.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OldFormat {
    /// Word.
    Word,
    /// Excel.
    Excel,
    /// PowerPoint.
    PowerPoint,
}

/// The streams in which these formats have their contents.
const STREAMS: [(&str, OldFormat); 4] = [
    ("WordDocument", OldFormat::Word),
    ("PowerPoint Document", OldFormat::PowerPoint),
    ("Workbook", OldFormat::Excel),
    ("Book", OldFormat::Excel),
];
/// The size of an entry in the directory of streams ([MS-CFB] 2.6.1), which is also its alignment.
const ENTRY_BYTES: usize = 128;
/// Where an entry has the length of its name.
const NAME_BYTES: usize = 64;

impl OldFormat {
    /// The format of a file, by the names of its streams. If it contains a file of another format,
    /// its own name decides. `None` for all other files, also for newer ones that are protected by
    /// a password.
    pub fn of(name: &str, bytes: &[u8]) -> Option<Self> {
        if !bytes.starts_with(COMPOUND) {
            return None;
        }
        let ending = ending(name);
        let mut formats = bytes.chunks_exact(ENTRY_BYTES).filter_map(stream);
        let first = formats.clone().next()?;
        Some(formats.find(|format| ending.starts_with(format.ending())).unwrap_or(first))
    }

    /// The extension of such files.
    pub fn ending(self) -> &'static str {
        match self {
            Self::Word => "doc",
            Self::Excel => "xls",
            Self::PowerPoint => "ppt",
        }
    }

    /// The extension since 2007.
    pub fn new_ending(self) -> &'static str {
        match self {
            Self::Word => "docx",
            Self::Excel => "xlsx",
            Self::PowerPoint => "pptx",
        }
    }
}

/// The format of which this entry names the stream.
fn stream(entry: &[u8]) -> Option<OldFormat> {
    if !matches!(entry, [b'W' | b'P' | b'B', 0, ..]) {
        return None;
    }
    let is_of = |name: &str| {
        let name: Vec<u8> = name.encode_utf16().chain([0]).flat_map(u16::to_le_bytes).collect();
        let length = (name.len() as u16).to_le_bytes();
        entry.starts_with(&name) && entry[NAME_BYTES..].starts_with(&length)
    };
    STREAMS.iter().find(|(name, _)| is_of(name)).map(|(_, format)| *format)
}

/// Detects the type of a file from its content, then from its extension. Fails if there is no
/// reader for the type.
pub fn of(name: &str, bytes: &[u8]) -> Result<Kind, ReadError> {
    let ending = ending(name);
    let start = &bytes[..bytes.len().min(1024)];
    if is_pdf(start, bytes) {
        return Ok(Kind::Pdf);
    }
    if bytes.starts_with(b"PK") {
        return package(bytes);
    }
    if bytes.starts_with(COMPOUND) {
        return compound(name, bytes);
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

/// Whether a file is a PDF. Other data may precede its signature, but text and archives may contain the
/// signature, too.
fn is_pdf(start: &[u8], bytes: &[u8]) -> bool {
    let is_other = || start.starts_with(b"PK") || start.starts_with(COMPOUND);
    let has_objects = || bytes.windows(6).any(|six| six == b"endobj");
    match start.windows(5).position(|five| five == b"%PDF-") {
        Some(0) => true,
        Some(_) => !is_other() && has_objects(),
        None => false,
    }
}

/// The extension in lower case.
fn ending(name: &str) -> String {
    name.rsplit_once('.').map(|(_, ending)| ending.to_lowercase()).unwrap_or_default()
}

/// Whether files with this extension are never empty.
pub fn is_binary(name: &str) -> bool {
    let binary = [
        "pdf", "docx", "xlsx", "xlsb", "xls", "pptx", "odt", "ods", "odp", "doc", "ppt", "rtf",
        "png", "jpg", "jpeg", "gif", "webp", "bmp",
    ];
    binary.contains(&ending(name).as_str())
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

fn compound(name: &str, bytes: &[u8]) -> Result<Kind, ReadError> {
    match (OldFormat::of(name, bytes), ending(name).as_str()) {
        (Some(OldFormat::Excel), _) | (None, "xls" | "xlt" | "xla") => Ok(Kind::Xls),
        (Some(format), _) => Err(ReadError::Unknown(format!(
            "This is an Office file from before 2007: save it as .{}.",
            format.new_ending()
        ))),
        (None, "doc" | "dot" | "ppt" | "pot" | "pps") => {
            Err(ReadError::Damaged("The file ends before its content, or has none.".into()))
        }
        (None, _) => Err(ReadError::Unknown(
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A compound file with streams of these names.
    fn compound_file(streams: &[&str]) -> Vec<u8> {
        let mut file = COMPOUND.to_vec();
        file.resize(512, 0);
        for name in streams {
            let name: Vec<u8> = name.encode_utf16().chain([0]).flat_map(u16::to_le_bytes).collect();
            let mut entry = [0; ENTRY_BYTES];
            entry[..name.len()].copy_from_slice(&name);
            entry[NAME_BYTES] = name.len() as u8;
            file.extend(entry);
        }
        file
    }

    #[test]
    fn formats_before_2007_are_told_apart_by_their_streams() {
        let of = |name: &str, streams: &[&str]| OldFormat::of(name, &compound_file(streams));
        assert_eq!(of("a.doc", &["Root Entry", "WordDocument"]), Some(OldFormat::Word));
        assert_eq!(of("a", &["Root Entry", "PowerPoint Document"]), Some(OldFormat::PowerPoint));
        assert_eq!(of("a.doc", &["Root Entry", "Workbook"]), Some(OldFormat::Excel));
        assert_eq!(of("a.xls", &["Book"]), Some(OldFormat::Excel));
        assert_eq!(of("a.xlt", &["WordDocument", "Workbook"]), Some(OldFormat::Word));
        assert_eq!(of("a.xls", &["WordDocument", "Workbook"]), Some(OldFormat::Excel));
        assert_eq!(of("a.doc", &["EncryptedPackage"]), None);
        assert_eq!(of("a.doc", &["WordDocuments"]), None);
        assert_eq!(OldFormat::of("a.doc", b"WordDocument"), None);
    }

    #[test]
    fn a_file_that_mentions_the_signature_of_a_pdf_is_none() {
        let kind = |name: &str, bytes: &[u8]| super::of(name, bytes);
        for (name, bytes, wanted) in [
            ("a.eml", &b"Subject: x\r\n\r\nIt begins with %PDF-1.7."[..], Kind::Email),
            ("a.txt", b"%PDF-1.7", Kind::Pdf),
            ("a", b"\r\njob\r\n%PDF-1.7\n1 0 obj\nnull\nendobj\n", Kind::Pdf),
        ] {
            assert_eq!(kind(name, bytes), Ok(wanted), "{name}");
        }
        assert!(kind("a.zip", b"PK\x03\x04 a.pdf %PDF-1.7 endobj").is_err());
    }

    #[test]
    fn the_format_in_which_to_save_an_old_file_is_named() {
        let kind = |name: &str, streams: &[&str]| super::of(name, &compound_file(streams));
        assert_eq!(kind("a", &["Workbook"]), Ok(Kind::Xls));
        assert_eq!(kind("a.xls", &[]), Ok(Kind::Xls));
        assert!(matches!(kind("a.doc", &[]), Err(ReadError::Damaged(_))), "truncated");
        for (stream, ending) in [("WordDocument", ".docx."), ("PowerPoint Document", ".pptx.")] {
            let refused = kind("a.bin", &[stream]).unwrap_err().to_string();
            assert!(refused.ends_with(ending), "{refused}");
        }
    }
}
