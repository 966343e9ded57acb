//! Writes laid-out pages as a PDF: the strictest standard that the content allows, then compaction.

use std::collections::BTreeSet;

use typst::diag::SourceDiagnostic;
use typst::foundations::Smart;
use typst_layout::PagedDocument;
use typst_pdf::{PdfOptions, PdfStandard, PdfStandards};

use super::compact::compact;
use super::fonts;
use crate::rendered::{RenderError, Warning};

/// The maximum file size, in bytes.
pub const OUTPUT_BYTES: usize = 20 * 1024 * 1024;

/// The PDF standards, from the strictest to none.
const LADDER: &[&[PdfStandard]] = &[
    &[PdfStandard::A_2a, PdfStandard::Ua_1],
    &[PdfStandard::A_2u, PdfStandard::Ua_1],
    &[PdfStandard::Ua_1],
    &[PdfStandard::A_2u],
    &[],
];

/// A file as Typst writes it.
pub struct ExportedPdf {
    bytes: Vec<u8>,
    has_standard: bool,
}

/// Tries the strictest standard first. A fallback causes a warning, never an error.
pub fn write(
    pages: &PagedDocument,
    missing: &BTreeSet<char>,
    warnings: &mut Vec<Warning>,
) -> Result<ExportedPdf, RenderError> {
    let ladder = if missing.is_empty() {
        LADDER
    } else {
        warnings.push(fonts::sentence(missing).into());
        &LADDER[LADDER.len() - 1..]
    };
    let mut failures: Vec<String> = Vec::new();
    for standards in ladder {
        match export(pages, standards) {
            Ok(bytes) => {
                if let Some(why) = failures.first() {
                    let standards = names(standards);
                    warnings.push(format!("The PDF keeps to {standards} only: {why}").into());
                }
                return Ok(ExportedPdf { bytes, has_standard: !standards.is_empty() });
            }
            Err(why) => failures.push(why),
        }
    }
    Err(RenderError::Invalid(format!("The PDF could not be written: {}", failures.join("; "))))
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

fn names(standards: &[PdfStandard]) -> String {
    let names: Vec<&str> = standards
        .iter()
        .map(|standard| match standard {
            PdfStandard::Ua_1 => "PDF/UA-1",
            PdfStandard::A_2a => "PDF/A-2a",
            _ => "PDF/A-2u",
        })
        .collect();
    if names.is_empty() { "no standard".to_owned() } else { names.join(" and ") }
}

/// The first few of Typst's messages.
pub fn reason(errors: &[SourceDiagnostic]) -> String {
    let mut sentences: Vec<&str> = Vec::new();
    for error in errors {
        if !sentences.contains(&error.message.as_str()) && sentences.len() < 3 {
            sentences.push(&error.message);
        }
    }
    sentences.join("; ")
}

impl ExportedPdf {
    /// Moves the many small objects into compressed streams. A file without a standard is not
    /// rewritten, because the result cannot be checked.
    pub fn finish(self) -> Result<Vec<u8>, RenderError> {
        let Self { bytes, has_standard } = self;
        let compacted = if has_standard { compact(&bytes) } else { None };
        let bytes = compacted.filter(|compacted| compacted.len() < bytes.len()).unwrap_or(bytes);
        if bytes.len() > OUTPUT_BYTES {
            return Err(RenderError::TooLarge(format!(
                "The PDF has {} bytes; the limit is {OUTPUT_BYTES}. Use smaller pictures.",
                bytes.len()
            )));
        }
        Ok(bytes)
    }
}
