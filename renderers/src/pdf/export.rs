//! From laid-out pages to bytes: the strictest standard that the content allows, then compaction.

use std::collections::BTreeSet;

use lopdf::SaveOptions;
use typst::diag::SourceDiagnostic;
use typst::foundations::Smart;
use typst_layout::PagedDocument;
use typst_pdf::{PdfOptions, PdfStandard, PdfStandards};

use super::fonts;
use crate::RenderError;

/// The largest file, in bytes.
pub const OUTPUT_BYTES: usize = 20 * 1024 * 1024;

/// Tries the strictest standards first; what made it fall back is a warning, never an error.
pub fn write(
    pages: &PagedDocument,
    missing: &BTreeSet<char>,
    warnings: &mut Vec<String>,
) -> Result<Vec<u8>, RenderError> {
    let ladder: &[&[PdfStandard]] =
        &[&[PdfStandard::A_2a, PdfStandard::Ua_1], &[PdfStandard::A_2u], &[]];
    let ladder = if missing.is_empty() {
        ladder
    } else {
        warnings.push(fonts::sentence(missing));
        &ladder[2..]
    };
    let mut last = String::new();
    for standards in ladder {
        match export(pages, standards) {
            Ok(bytes) => return finish(bytes, standards.is_empty()),
            Err(why) => {
                if !standards.is_empty() {
                    warnings.push(format!("The PDF does not keep to {}: {why}", names(standards)));
                }
                last = why;
            }
        }
    }
    Err(RenderError::Invalid(format!("The PDF could not be written: {last}")))
}

fn export(pages: &PagedDocument, standards: &[PdfStandard]) -> Result<Vec<u8>, String> {
    let standards = PdfStandards::new(standards).map_err(|error| error.message().to_string())?;
    let options = PdfOptions {
        creator: Smart::Custom(Some("Countersign".into())),
        standards,
        ..PdfOptions::default()
    };
    typst_pdf::pdf(pages, &options).map_err(|errors| reason(&errors))
}

fn names(standards: &[PdfStandard]) -> &'static str {
    if standards.contains(&PdfStandard::Ua_1) { "PDF/UA-1 and PDF/A-2a" } else { "PDF/A-2u" }
}

/// The first few of Typst's sentences.
pub fn reason(errors: &[SourceDiagnostic]) -> String {
    let mut sentences: Vec<&str> = Vec::new();
    for error in errors {
        if !sentences.contains(&error.message.as_str()) && sentences.len() < 3 {
            sentences.push(&error.message);
        }
    }
    sentences.join("; ")
}

/// Puts the many small objects into compressed streams. Without a standard the file stays as it is:
/// what could not be checked is not rewritten.
fn finish(bytes: Vec<u8>, as_it_is: bool) -> Result<Vec<u8>, RenderError> {
    let bytes = if as_it_is { bytes } else { compact(&bytes).unwrap_or(bytes) };
    if bytes.len() > OUTPUT_BYTES {
        return Err(RenderError::TooLarge(format!(
            "The PDF has {} bytes; the limit is {OUTPUT_BYTES}. Use smaller pictures.",
            bytes.len()
        )));
    }
    Ok(bytes)
}

fn compact(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut document = lopdf::Document::load_mem(bytes).ok()?;
    let options = SaveOptions::builder()
        .use_object_streams(true)
        .use_xref_streams(true)
        .compression_level(9)
        .build();
    let mut compacted = Vec::new();
    document.save_with_options(&mut compacted, options).ok()?;
    (compacted.len() < bytes.len()).then_some(compacted)
}
