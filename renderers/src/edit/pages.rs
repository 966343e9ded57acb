//! The pages of a PDF: those that a text names, what they inherit, and a new PDF of them.

use lopdf::{Dictionary, Document, Object, ObjectId, dictionary};
use std::collections::{BTreeMap, BTreeSet};

use super::{
    Change, EditError, form,
    pdf_work::{Work, odd},
};
use crate::read::limits;

/// The maximum nesting of the objects of a page.
const DEPTH: usize = 100;

/// The attributes that pages take from the nodes above them.
const INHERITED: [&[u8]; 4] = [b"Resources", b"MediaBox", b"CropBox", b"Rotate"];

/// The entries of a page that do not depend on the rest of its file.
const OWN: [&[u8]; 12] = [
    b"Type",
    b"Resources",
    b"MediaBox",
    b"CropBox",
    b"BleedBox",
    b"TrimBox",
    b"ArtBox",
    b"Rotate",
    b"Contents",
    b"Group",
    b"UserUnit",
    b"Annots",
];

/// The places of the pages that a text such as `1-3,5` names, from 0.
pub(super) fn places(pages: Option<&str>, count: usize) -> Result<Vec<usize>, EditError> {
    let Some(text) = pages else { return Ok((0..count).collect()) };
    let failed = || {
        EditError::Invalid(format!(
            "“{text:.60}” does not name pages of this PDF, which has {count}: write 1-3,5, or 4- \
             for page 4 and all after it."
        ))
    };
    let number = |text: &str| text.trim().parse().ok().filter(|n| (1..=count).contains(n));
    let mut places = Vec::new();
    for part in text.split(',') {
        let (from, to) = match part.split_once('-') {
            Some((from, to)) if to.trim().is_empty() => (number(from), Some(count)),
            Some((from, to)) => (number(from), number(to)),
            None => (number(part), number(part)),
        };
        let (from, to) = from.zip(to).ok_or_else(failed)?;
        if from <= to {
            places.extend(from - 1..to);
        } else {
            places.extend((to - 1..from).rev());
        }
        limits::within(places.len() as u64, limits::PAGES as u64, "pages")?;
    }
    Ok(places)
}

/// An entry of a page or of a node above it.
pub(super) fn inherited(document: &Document, page: ObjectId, key: &[u8]) -> Option<Object> {
    let mut id = page;
    for _ in 0..DEPTH {
        let node = document.get_dictionary(id).ok()?;
        if let Ok(found) = node.get_deref(key, document) {
            return Some(found.clone());
        }
        id = node.get(b"Parent").and_then(Object::as_reference).ok()?;
    }
    None
}

/// A new document of the selected pages. Nothing else is taken, so that the content of other pages
/// does not stay in the file unseen.
pub(super) fn select(
    documents: &[Document],
    selections: &[Option<String>],
    work: &mut Work,
) -> Result<Document, EditError> {
    let newest = documents.iter().map(|document| document.version.as_str()).max();
    let mut to = Document::with_version(newest.unwrap_or("1.7").max("1.4"));
    let root = to.new_object_id();
    let mut kids = Vec::new();
    for (number, document) in documents.iter().enumerate() {
        let pages: Vec<ObjectId> = document.page_iter().collect();
        let selection = selections.get(number).and_then(Option::as_deref);
        let places = places(selection, pages.len())?;
        let shown: Vec<_> = places.iter().map(|at| (at + 1).to_string()).collect();
        let place = format!("file {} with {} pages", number + 1, pages.len());
        work.changes.push(Change::added(place, &format!("pages {}", shown.join(", "))));
        lost(document, work);
        let mut copy = Copy { from: document, to: &mut to, known: BTreeMap::new(), work };
        let wanted: BTreeSet<_> = places.iter().map(|at| pages[*at]).collect();
        for page in &wanted {
            let id = copy.to.new_object_id();
            copy.known.insert(*page, id);
        }
        for page in &wanted {
            copy.page(*page, root)?;
        }
        let known = copy.known;
        let mut used = BTreeSet::new();
        for at in places {
            let mut id = known[&pages[at]];
            if !used.insert(id) {
                let again = to.get_object(id).map_err(odd)?.clone();
                id = to.add_object(again);
            }
            kids.push(Object::Reference(id));
        }
    }
    limits::within(kids.len() as u64, limits::PAGES as u64, "pages")?;
    let count = kids.len() as i64;
    to.set_object(root, dictionary! { "Type" => "Pages", "Kids" => kids, "Count" => count });
    let mut catalog = dictionary! { "Type" => "Catalog", "Pages" => root };
    if let Ok(language) = documents[0].catalog().and_then(|c| c.get_deref(b"Lang", &documents[0])) {
        catalog.set("Lang", language.clone());
    }
    let catalog = to.add_object(catalog);
    to.trailer.set("Root", catalog);
    Ok(to)
}

/// Names what is not taken from a file.
fn lost(document: &Document, work: &mut Work) {
    let Ok(catalog) = document.catalog() else { return };
    for (key, what) in [
        ("Outlines", "Bookmarks are"),
        ("StructTreeRoot", "Tags for screen readers are"),
        ("AcroForm", "Form fields are"),
        ("OCProperties", "The states of layers are"),
    ] {
        if catalog.has(key.as_bytes()) {
            let kept = if key == "AcroForm" { " kept as pictures only" } else { " not kept" };
            work.warn(&format!("{what}{kept} when pages are selected or merged."));
        }
    }
    let names = catalog.get_deref(b"Names", document).and_then(Object::as_dict);
    if names.is_ok_and(|names| names.has(b"EmbeddedFiles")) {
        work.warn("Attached files are not kept when pages are selected or merged.");
    }
}

struct Copy<'d> {
    from: &'d Document,
    to: &'d mut Document,
    /// The new ids.
    known: BTreeMap<ObjectId, ObjectId>,
    work: &'d mut Work,
}

impl Copy<'_> {
    fn page(&mut self, page: ObjectId, root: ObjectId) -> Result<(), EditError> {
        let old = self.from.get_dictionary(page).map_err(odd)?;
        let mut new = Dictionary::new();
        for key in OWN.into_iter().filter(|key| *key != b"Annots") {
            let value = match old.get(key) {
                Ok(value) => Some(value.clone()),
                Err(_) if INHERITED.contains(&key) => inherited(self.from, page, key),
                Err(_) => None,
            };
            if let Some(value) = value {
                new.set(key, self.object(&value, 0)?);
            }
        }
        let id = self.known[&page];
        let annotations = old.get_deref(b"Annots", self.from).and_then(Object::as_array);
        let mut kept: Vec<Object> = Vec::new();
        for annotation in annotations.ok().into_iter().flatten() {
            if let Some(annotation) = self.annotation(annotation, id)? {
                kept.push(self.to.add_object(annotation).into());
            }
        }
        if !kept.is_empty() {
            new.set("Annots", kept);
        }
        new.set("Parent", root);
        self.to.set_object(id, new);
        Ok(())
    }

    /// Links within the file and form fields depend on the rest of it: links that lead elsewhere are
    /// dropped, and fields keep their looks only.
    fn annotation(
        &mut self,
        annotation: &Object,
        page: ObjectId,
    ) -> Result<Option<Dictionary>, EditError> {
        // A reference to nothing is as good as none.
        let annotation = self.from.dereference(annotation).and_then(|(_, found)| found.as_dict());
        let Ok(mut old) = annotation.cloned() else { return Ok(None) };
        let kind = old.get(b"Subtype").and_then(Object::as_name).unwrap_or_default().to_vec();
        if kind == b"Popup" {
            return Ok(None);
        }
        if kind == b"Link" {
            let action = old.get_deref(b"A", self.from).and_then(Object::as_dict).ok();
            let is_address = action
                .and_then(|action| action.get(b"S").and_then(Object::as_name).ok())
                .is_some_and(|name| name == b"URI");
            if !is_address {
                self.work.warn("Links within the document are not kept.");
                return Ok(None);
            }
        }
        for key in ["P", "Popup", "StructParent", "IRT", "Dest", "AA"] {
            old.remove(key.as_bytes());
        }
        if kind == b"Widget" {
            if !old.has(b"AP") {
                if form::has_value(self.from, &old) {
                    self.work.warn("Values of form fields that only a viewer draws are not kept.");
                }
                return Ok(None);
            }
            let looks: [&[u8]; 6] = [b"Type", b"Rect", b"AP", b"AS", b"F", b"Subtype"];
            let mut plain = Dictionary::new();
            for key in looks {
                if let Ok(value) = old.get(key) {
                    plain.set(key, value.clone());
                }
            }
            plain.set("Subtype", Object::Name(b"Stamp".to_vec()));
            old = plain;
        }
        let copied = self.object(&Object::Dictionary(old), 0)?;
        let mut copied = copied.as_dict().map_err(odd)?.clone();
        copied.set("P", page);
        Ok(Some(copied))
    }

    fn object(&mut self, object: &Object, depth: usize) -> Result<Object, EditError> {
        limits::within(depth as u64, DEPTH as u64, "levels of nested objects")?;
        Ok(match object {
            Object::Reference(id) => self.reference(*id, depth)?,
            Object::Array(items) => {
                let items = items.iter().map(|item| self.object(item, depth + 1));
                Object::Array(items.collect::<Result<_, _>>()?)
            }
            Object::Dictionary(old) => Object::Dictionary(self.dictionary(old, depth)?),
            Object::Stream(old) => {
                let mut new = old.clone();
                new.dict = self.dictionary(&old.dict, depth)?;
                Object::Stream(new)
            }
            plain => plain.clone(),
        })
    }

    fn dictionary(&mut self, old: &Dictionary, depth: usize) -> Result<Dictionary, EditError> {
        let mut new = Dictionary::new();
        for (key, value) in old {
            // These lead to the tags of the whole document.
            if !matches!(key.as_slice(), b"StructParent" | b"StructParents") {
                new.set(key.clone(), self.object(value, depth + 1)?);
            }
        }
        Ok(new)
    }

    /// A reference to a page that is not selected, or to nothing, becomes null.
    fn reference(&mut self, id: ObjectId, depth: usize) -> Result<Object, EditError> {
        if let Some(known) = self.known.get(&id) {
            return Ok(Object::Reference(*known));
        }
        let Ok(object) = self.from.get_object(id) else { return Ok(Object::Null) };
        let kind = object.as_dict().and_then(|dict| dict.get(b"Type")).and_then(Object::as_name);
        if kind.is_ok_and(|kind| matches!(kind, b"Page" | b"Pages" | b"Catalog" | b"StructElem")) {
            return Ok(Object::Null);
        }
        let new = self.to.new_object_id();
        self.known.insert(id, new);
        let object = self.object(object, depth + 1)?;
        self.to.set_object(new, object);
        Ok(Object::Reference(new))
    }
}
