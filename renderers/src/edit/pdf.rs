//! Merges, splits, rotates, stamps and fills PDFs.

use lopdf::{Document, LoadOptions, Object, ObjectId};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{
    Change, EditError, Edited, form, invalid,
    pages::{self, inherited, places},
    pdf_work::{Work, odd},
    stamp::{self, Stamps},
};
use crate::read::limits;

/// The maximum unpacked size of each stream that is read when a file is opened.
const LOADED_BYTES: usize = 32 << 20;

/// The changes of a PDF, in this order.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct PdfEdit {
    /// The pages that are taken of each file, such as `1-3,5`; `None` is all of them.
    #[serde(default)]
    pub pages: Vec<Option<String>>,
    /// Form fields by their full names.
    #[serde(default)]
    pub fields: Map<String, Value>,
    /// Rotations of the resulting pages.
    #[serde(default)]
    pub rotations: Vec<Rotation>,
    /// A text across each page.
    #[serde(default)]
    pub watermark: Option<String>,
    /// Whether each page gets its number and the number of pages at the bottom.
    #[serde(default)]
    pub page_numbers: bool,
}

/// A rotation of pages.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Rotation {
    /// The pages, such as `1-3,5`; `None` is all of them.
    #[serde(default)]
    pub pages: Option<String>,
    /// Clockwise: a multiple of 90.
    pub degrees: i64,
}

/// Edits the first file, or merges all of them.
pub fn edit(files: &[&[u8]], edit: &PdfEdit) -> Result<Edited, EditError> {
    let Some(first) = files.first() else { return invalid("There is no PDF to edit.") };
    let selects = files.len() > 1 || edit.pages.iter().any(Option::is_some);
    let mut work = Work::default();
    let mut document = load(first)?;
    let is_edited = !edit.fields.is_empty() || edit.watermark.is_some() || edit.page_numbers;
    if !selects && !is_edited && edit.rotations.is_empty() {
        return Ok(Edited { bytes: first.to_vec(), ..Edited::default() });
    }
    if !edit.fields.is_empty() {
        let is_drawn = form::fill(&mut document, &edit.fields, &mut work)?;
        if selects && !is_drawn {
            return invalid(
                "Some of the values can be drawn by a viewer only, and pages that are selected or \
                 merged keep what is drawn: fill the form without selecting pages or merging.",
            );
        }
    }
    if selects {
        let mut documents = vec![document];
        for file in &files[1..] {
            documents.push(load(file)?);
        }
        document = pages::select(&documents, &edit.pages, &mut work)?;
    }
    let pages: Vec<ObjectId> = document.page_iter().collect();
    for rotation in &edit.rotations {
        rotate(&mut document, &pages, rotation, &mut work)?;
    }
    if edit.watermark.is_some() || edit.page_numbers {
        let stamps =
            Stamps { watermark: edit.watermark.as_deref(), page_numbers: edit.page_numbers };
        stamp::stamp(&mut document, &pages, stamps, &mut work)?;
    }
    if is_edited && document.catalog_mut().map_err(odd)?.remove(b"Metadata").is_some() {
        work.warn("The PDF no longer states that it conforms to PDF/A or PDF/UA.");
    }
    let mut bytes = Vec::new();
    document.save_to(&mut bytes).map_err(|error| odd(error.into()))?;
    Ok(Edited { bytes, name: None, changes: work.changes, warnings: work.warnings })
}

fn load(file: &[u8]) -> Result<Document, EditError> {
    limits::input(file)?;
    let options =
        LoadOptions { max_decompressed_size: Some(LOADED_BYTES), ..LoadOptions::default() };
    let document = Document::load_mem_with_options(file, options).map_err(|error| match error {
        lopdf::Error::InvalidPassword => locked(),
        error => odd(error),
    })?;
    if document.is_encrypted() || document.was_encrypted() {
        return Err(locked());
    }
    if is_signed(&document)? {
        return invalid(
            "The PDF is signed, and an edit would break the signature: ask for a copy without it.",
        );
    }
    let pages = document.get_pages().len();
    limits::within(pages as u64, limits::PAGES as u64, "pages")?;
    if pages == 0 {
        return invalid("The PDF is damaged: it has no pages.");
    }
    Ok(document)
}

/// Whether a signature would break. A place to sign may be empty, which the flag 1 does not tell (ISO
/// 32000-1, table 219).
fn is_signed(document: &Document) -> Result<bool, EditError> {
    const APPEND_ONLY: i64 = 2;
    let catalog = document.catalog().map_err(odd)?;
    let form = catalog.get_deref(b"AcroForm", document).and_then(Object::as_dict);
    let flags = form.and_then(|form| form.get_deref(b"SigFlags", document));
    let is_append_only = flags.and_then(Object::as_i64).is_ok_and(|flags| flags & APPEND_ONLY != 0);
    let is_signature = |object: &Object| {
        object.as_dict().is_ok_and(|dictionary| {
            let kind = dictionary.get_deref(b"FT", document).and_then(Object::as_name);
            let is_signed = kind.is_ok_and(|kind| kind == b"Sig") && dictionary.has(b"V");
            is_signed || dictionary.has(b"ByteRange")
        })
    };
    let has_signature = document.objects.values().any(is_signature);
    Ok(is_append_only || has_signature || catalog.has(b"Perms"))
}

fn locked() -> EditError {
    EditError::Invalid(
        "The PDF is protected by a password or by permissions: ask for a copy without protection."
            .into(),
    )
}

fn rotate(
    document: &mut Document,
    pages: &[ObjectId],
    rotation: &Rotation,
    work: &mut Work,
) -> Result<(), EditError> {
    if rotation.degrees % 90 != 0 {
        return invalid("Pages are rotated by 90, 180 or 270 degrees.");
    }
    for at in places(rotation.pages.as_deref(), pages.len())? {
        let before = inherited(document, pages[at], b"Rotate");
        let before = before.and_then(|before| before.as_i64().ok()).unwrap_or(0);
        // A damaged file may have any number.
        let after = (before % 360 + rotation.degrees % 360).rem_euclid(360);
        document.get_dictionary_mut(pages[at]).map_err(odd)?.set("Rotate", after);
        let place = format!("page {}", at + 1);
        let shown = |degrees: i64| format!("rotated by {degrees} degrees");
        work.changes.push(Change::of(place, &shown(before), &shown(after)));
    }
    Ok(())
}
