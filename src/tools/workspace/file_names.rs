//! Names and media types of files for people.

use crate::tools::ToolError;

const MAX_CHARS: usize = 120;

/// Converts a name to one that every platform can show and that is not misleading: no folders, no
/// control characters, and no characters that change the text direction and so hide the real
/// extension.
pub fn file_name(requested: &str) -> Result<String, ToolError> {
    let name: String = requested.chars().filter(|c| !misleads(*c)).collect();
    let name = name.trim().trim_start_matches('.').to_owned();
    if name.is_empty() || name.contains(['/', '\\']) {
        return Err(ToolError::InvalidParameters(format!(
            "{requested:?} is not a file name: use a plain one, such as report.pdf"
        )));
    }
    Ok(shortened(&name))
}

/// Adds the extension, unless the name has it already.
pub fn with_extension(name: &str, extension: &str) -> String {
    let ending = format!(".{extension}");
    if name.to_lowercase().ends_with(&ending) && name.len() > ending.len() {
        return name.to_owned();
    }
    shortened(&format!("{name}{ending}"))
}

/// The media type: by the first bytes, then by the extension, then by whether it is text.
pub fn media_type(name: &str, bytes: &[u8]) -> String {
    let by_name = mime_guess::from_path(name).first_raw();
    match (infer::get(bytes).map(|kind| kind.mime_type()), by_name) {
        // Containers whose extension says what they contain.
        (Some("application/zip" | "application/x-ole-storage"), Some(named))
            if named.starts_with("application/") =>
        {
            named.to_owned()
        }
        (Some("text/xml"), Some(named)) if named.ends_with("xml") => named.to_owned(),
        (Some(known), _) => known.to_owned(),
        // The extension claims a type that would be recognised by its first bytes.
        (None, Some(named)) if !infer::is_mime_supported(named) || is_markup(named) => {
            named.to_owned()
        }
        (None, _) if std::str::from_utf8(bytes).is_ok() => "text/plain".to_owned(),
        (None, _) => "application/octet-stream".to_owned(),
    }
}

/// `13B`, `1.2KB`, `26.3MB`.
pub fn size(bytes: u64) -> String {
    const UNITS: [&str; 3] = ["KB", "MB", "GB"];
    if bytes < 1024 {
        return format!("{bytes}B");
    }
    let mut value = bytes as f64 / 1024.0;
    let mut unit = 0;
    // 1023.95 KB and more would be shown as "1024.0KB".
    while value >= 1023.95 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    format!("{value:.1}{}", UNITS[unit])
}

fn is_markup(media_type: &str) -> bool {
    matches!(media_type, "text/html" | "text/xml" | "application/xml")
}

fn misleads(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

/// Shortens the stem and keeps the extension.
fn shortened(name: &str) -> String {
    let count = name.chars().count();
    if count <= MAX_CHARS {
        return name.to_owned();
    }
    let (stem, ending) = match name.rsplit_once('.') {
        Some((stem, ending)) if ending.chars().count() <= 10 => (stem, format!(".{ending}")),
        _ => (name, String::new()),
    };
    let keep = MAX_CHARS - ending.chars().count();
    stem.chars().take(keep).collect::<String>() + &ending
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_plain_and_does_not_mislead() {
        assert_eq!(file_name("report.pdf").unwrap(), "report.pdf");
        assert_eq!(file_name("Übersicht 表.xlsx").unwrap(), "Übersicht 表.xlsx");
        assert_eq!(file_name("invoice\u{202e}fdp.exe\n").unwrap(), "invoicefdp.exe");
        assert_eq!(file_name(".bashrc").unwrap(), "bashrc");
        for bad in ["", "  ", "../a", "a/b", "a\\b", "\u{202e}"] {
            assert!(file_name(bad).is_err(), "{bad:?}");
        }
        let long = file_name(&format!("{}.pdf", "a".repeat(300))).unwrap();
        assert!(long.ends_with("a.pdf") && long.len() == MAX_CHARS, "{long}");
    }

    #[test]
    fn an_extension_appears_once() {
        assert_eq!(with_extension("a", "pdf"), "a.pdf");
        assert_eq!(with_extension("a.PDF", "pdf"), "a.PDF");
        assert_eq!(with_extension("a.md", "pdf"), "a.md.pdf");
        assert_eq!(with_extension(".pdf", "pdf"), ".pdf.pdf");
    }

    #[test]
    fn first_bytes_decide_before_the_name() {
        let png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";
        assert_eq!(media_type("a.txt", png), "image/png");
        assert_eq!(media_type("a.pdf", b"%PDF-1.7\n"), "application/pdf");
        assert_eq!(media_type("a.csv", b"a,b\n1,2\n"), "text/csv");
        assert_eq!(media_type("a.json", b"{}"), "application/json");
        assert_eq!(media_type("a.svg", b"<?xml version=\"1.0\"?><svg/>"), "image/svg+xml");
        assert_eq!(media_type("a.html", b"hello"), "text/html");
        assert_eq!(media_type("a.png", b"no picture"), "text/plain");
        assert_eq!(media_type("a.png", b"\xff\xfe\0"), "application/octet-stream");
        assert_eq!(media_type("noending", b"hello"), "text/plain");
        assert_eq!(media_type("a.zip", b"PK\x03\x04"), "application/zip");
    }

    /// Proves FO-16.
    #[test]
    fn sizes_turn_over_at_the_boundaries() {
        for (bytes, text) in [
            (0, "0B"),
            (1023, "1023B"),
            (1024, "1.0KB"),
            (1229, "1.2KB"),
            (26_931, "26.3KB"),
            (1024 * 1024 - 1, "1.0MB"),
            (1024 * 1024, "1.0MB"),
            (1_572_864, "1.5MB"),
            (1024 * 1024 * 1024, "1.0GB"),
            (5 * 1024 * 1024 * 1024 * 1024, "5120.0GB"),
        ] {
            assert_eq!(size(bytes), text);
        }
    }
}
