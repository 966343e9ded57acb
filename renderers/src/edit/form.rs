//! Form fields of a PDF: values, and how they look.

use lopdf::{Dictionary, Document, Object, ObjectId, Stream, dictionary};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet, btree_map::Entry};

use super::{
    Change, EditError,
    field_look::{FieldLook, look},
    invalid,
    pdf_work::{Work, odd},
    stamp::helvetica,
};
use crate::read::limits;

/// The maximum number of fields of a form.
const FIELDS: usize = 5_000;
const DEPTH: usize = 32;

/// Flags of fields (ISO 32000-1, 12.7).
const READ_ONLY: i64 = 1;
const PASSWORD: i64 = 1 << 13;
const PUSH_BUTTON: i64 = 1 << 16;
const EDITABLE: i64 = 1 << 18;
const COMB: i64 = 1 << 24;

/// A field with its attributes, some of which its parents have.
struct FormField {
    /// Several fields with one name are the same field (ISO 32000-1, 12.7.3.2).
    ids: Vec<ObjectId>,
    kind: Vec<u8>,
    flags: i64,
    max_chars: Option<usize>,
    options: Vec<ChoiceOption>,
    value: String,
    /// What is drawn on the pages.
    widgets: Vec<ObjectId>,
}

/// Fills the fields with these names. Returns whether all of them could be drawn.
pub(super) fn fill(
    document: &mut Document,
    values: &Map<String, Value>,
    work: &mut Work,
) -> Result<bool, EditError> {
    let fields = fields(document)?;
    if fields.is_empty() {
        return invalid("The PDF has no form fields.");
    }
    let font = helvetica(document);
    let mut is_drawn = true;
    for (name, value) in values {
        let Some(field) = fields.get(name) else {
            let names: Vec<_> = fields.keys().take(100).map(String::as_str).collect();
            return invalid(format!(
                "There is no form field “{name:.60}”. There are: {}.",
                names.join(", ")
            ));
        };
        let text = match value {
            Value::String(text) => text.clone(),
            Value::Null => String::new(),
            other => other.to_string(),
        };
        let text = check(name, field, text)?;
        is_drawn &= match field.kind.as_slice() {
            b"Btn" => switch(document, field, name, &text)?,
            _ => write(document, field, &text, font)?,
        };
        work.changes.push(Change::of(format!("field {name}"), &field.value, &text));
    }
    let form = form_id(document)?;
    let form = form_mut(document, form)?;
    if !is_drawn {
        form.set("NeedAppearances", true);
        work.warn("Some fields are drawn by the viewer only, not by every program that prints.");
    }
    if form.remove(b"XFA").is_some() {
        work.warn("The form's XFA part was removed; its ordinary fields are filled.");
    }
    Ok(is_drawn)
}

/// Whether a field, or a widget of it, has a value.
pub(super) fn has_value(document: &Document, field: &Dictionary) -> bool {
    let mut node = field;
    for _ in 0..DEPTH {
        if let Ok(value) = node.get_deref(b"V", document) {
            return !matches!(shown(value).as_str(), "" | "Off");
        }
        let parent = node.get_deref(b"Parent", document).and_then(Object::as_dict);
        let Ok(parent) = parent else { break };
        node = parent;
    }
    false
}

/// The form's own object, or `None` if it is a part of the catalog.
fn form_id(document: &Document) -> Result<Option<ObjectId>, EditError> {
    let catalog = document.catalog().map_err(odd)?;
    Ok(catalog.get(b"AcroForm").and_then(Object::as_reference).ok())
}

fn form_mut(document: &mut Document, id: Option<ObjectId>) -> Result<&mut Dictionary, EditError> {
    if let Some(id) = id {
        return document.get_dictionary_mut(id).map_err(odd);
    }
    let catalog = document.catalog_mut().map_err(odd)?;
    catalog.get_mut(b"AcroForm").and_then(Object::as_dict_mut).map_err(odd)
}

fn fields(document: &Document) -> Result<BTreeMap<String, FormField>, EditError> {
    let catalog = document.catalog().map_err(odd)?;
    let form = catalog.get_deref(b"AcroForm", document).and_then(Object::as_dict);
    let roots = form.and_then(|form| form.get_deref(b"Fields", document));
    let roots = roots.and_then(Object::as_array).cloned().unwrap_or_default();
    let mut found = FoundFields::default();
    for root in roots.iter().filter_map(|root| root.as_reference().ok()) {
        collect(document, root, &[], &mut found)?;
    }
    Ok(found.by_name)
}

/// An entry of a list.
struct ChoiceOption {
    value: String,
    /// What people see.
    label: String,
}

impl ChoiceOption {
    fn of(document: &Document, option: &Object) -> Self {
        let text = |part: &Object| {
            document.dereference(part).map(|(_, part)| shown(part)).unwrap_or_default()
        };
        match document.dereference(option) {
            Ok((_, Object::Array(pair))) => {
                let value = pair.first().map(text).unwrap_or_default();
                let label = pair.get(1).map_or_else(|| value.clone(), text);
                Self { value, label }
            }
            _ => Self { value: text(option), label: text(option) },
        }
    }
}

#[derive(Default)]
struct FoundFields {
    by_name: BTreeMap<String, FormField>,
    /// The nodes so far: a damaged form can have the same one under many others.
    nodes: BTreeSet<ObjectId>,
}

impl FoundFields {
    fn add(&mut self, name: String, mut field: FormField) {
        match self.by_name.entry(name) {
            Entry::Vacant(entry) => {
                entry.insert(field);
            }
            Entry::Occupied(mut known) if known.get().kind == field.kind => {
                known.get_mut().ids.append(&mut field.ids);
                known.get_mut().widgets.append(&mut field.widgets);
            }
            Entry::Occupied(_) => {}
        }
    }
}

/// `path` is the nodes above.
fn collect(
    document: &Document,
    id: ObjectId,
    path: &[ObjectId],
    found: &mut FoundFields,
) -> Result<(), EditError> {
    limits::within(path.len() as u64, DEPTH as u64, "levels of form fields")?;
    limits::within(found.by_name.len() as u64, FIELDS as u64, "form fields")?;
    if !found.nodes.insert(id) {
        return Ok(());
    }
    // A reference to nothing is as good as none.
    let Ok(node) = document.get_dictionary(id) else { return Ok(()) };
    let path = [path, &[id]].concat();
    let kids = node.get_deref(b"Kids", document).and_then(Object::as_array);
    let kids = kids.into_iter().flatten().filter_map(|kid| kid.as_reference().ok());
    let kids: Vec<_> = kids.filter(|kid| document.get_dictionary(*kid).is_ok()).collect();
    let is_field = |kid: &ObjectId| document.get_dictionary(*kid).is_ok_and(|kid| kid.has(b"T"));
    let (below, widgets): (Vec<_>, Vec<_>) = kids.into_iter().partition(is_field);
    for kid in &below {
        collect(document, *kid, &path, found)?;
    }
    if !below.is_empty() {
        return Ok(());
    }
    let nearest = |key: &[u8]| {
        let nodes = path.iter().rev().filter_map(|id| document.get_dictionary(*id).ok());
        nodes.into_iter().find_map(|node| node.get_deref(key, document).ok())
    };
    let names = path.iter().filter_map(|id| {
        let name = document.get_dictionary(*id).ok()?.get_deref(b"T", document).ok()?;
        lopdf::decode_text_string(name).ok()
    });
    let name = names.collect::<Vec<_>>().join(".");
    let number = |key: &[u8]| nearest(key).and_then(|number| number.as_i64().ok());
    let options = nearest(b"Opt").and_then(|options| options.as_array().ok());
    let option = |option: &Object| ChoiceOption::of(document, option);
    found.add(
        name,
        FormField {
            ids: vec![id],
            kind: nearest(b"FT").and_then(|kind| kind.as_name().ok()).unwrap_or_default().to_vec(),
            flags: number(b"Ff").unwrap_or(0),
            max_chars: number(b"MaxLen").and_then(|limit| usize::try_from(limit).ok()),
            options: options.into_iter().flatten().map(option).collect(),
            value: nearest(b"V").map(shown).unwrap_or_default(),
            widgets: if widgets.is_empty() { vec![id] } else { widgets },
        },
    );
    Ok(())
}

fn shown(value: &Object) -> String {
    match value {
        Object::Name(name) => name_text(name),
        text => lopdf::decode_text_string(text).unwrap_or_default(),
    }
}

/// A name as text. Older programs write names in Latin-1.
fn name_text(name: &[u8]) -> String {
    let latin = || name.iter().map(|byte| char::from(*byte)).collect();
    std::str::from_utf8(name).map_or_else(|_| latin(), str::to_owned)
}

/// The value, if the field takes it.
fn check(name: &str, field: &FormField, text: String) -> Result<String, EditError> {
    let rejected = |why: String| invalid(format!("The form field {name} {why}."));
    let has = |flag: i64| field.flags & flag != 0;
    if has(READ_ONLY) {
        return rejected("cannot be changed: the form protects it".into());
    }
    if field.max_chars.is_some_and(|limit| text.chars().count() > limit) {
        let limit = field.max_chars.unwrap_or_default();
        return rejected(format!("takes at most {limit} characters"));
    }
    match field.kind.as_slice() {
        b"Tx" => Ok(text),
        b"Btn" if !has(PUSH_BUTTON) => Ok(text),
        b"Ch" => {
            let options = &field.options;
            let known = options.iter().find(|option| option.value == text);
            let known = known.or_else(|| options.iter().find(|option| option.label == text));
            if let Some(known) = known {
                return Ok(known.value.clone());
            }
            if has(EDITABLE) || text.is_empty() {
                return Ok(text);
            }
            let labels: Vec<_> = options.iter().map(|option| option.label.as_str()).collect();
            rejected(format!("takes one of: {}", labels.join(", ")))
        }
        _ => rejected("is a button or a signature, which is not filled".into()),
    }
}

/// The states of a check box or radio button, other than off.
fn states(document: &Document, widget: ObjectId) -> Vec<Vec<u8>> {
    let looks = document.get_dictionary(widget).and_then(|w| w.get_deref(b"AP", document));
    let looks = looks.and_then(Object::as_dict).and_then(|looks| looks.get_deref(b"N", document));
    let states = looks.and_then(Object::as_dict).ok().into_iter().flat_map(Dictionary::iter);
    states.map(|(name, _)| name.clone()).filter(|name| name != b"Off").collect()
}

/// Sets a check box or radio button. Returns whether its look exists.
fn switch(
    document: &mut Document,
    field: &FormField,
    name: &str,
    text: &str,
) -> Result<bool, EditError> {
    let all: Vec<_> = field.widgets.iter().map(|widget| states(document, *widget)).collect();
    // A state may have the name “no”.
    let known = all.iter().flatten().find(|state| name_text(state) == text);
    let mut states = all.iter().flatten();
    let first = states.next();
    // A check box may be on several pages.
    let is_one =
        field.widgets.len() == 1 || first.is_some() && states.all(|state| Some(state) == first);
    let state = match (known, text) {
        (Some(known), _) => known.clone(),
        (None, "" | "false" | "no" | "Off" | "off") => b"Off".to_vec(),
        (None, "true" | "yes") if is_one => first.cloned().unwrap_or_else(|| b"Yes".to_vec()),
        _ => {
            let states: Vec<_> = all.iter().flatten().map(|state| name_text(state)).collect();
            return invalid(format!(
                "The form field {name} takes true, false or one of: {}.",
                states.join(", ")
            ));
        }
    };
    for (widget, states) in field.widgets.iter().zip(&all) {
        let own = if states.contains(&state) { state.clone() } else { b"Off".to_vec() };
        document.get_dictionary_mut(*widget).map_err(odd)?.set("AS", Object::Name(own));
    }
    for id in &field.ids {
        document.get_dictionary_mut(*id).map_err(odd)?.set("V", Object::Name(state.clone()));
    }
    Ok(state == b"Off" || all.iter().flatten().any(|known| *known == state))
}

/// Sets a text or a choice. Returns whether it could be drawn.
fn write(
    document: &mut Document,
    field: &FormField,
    text: &str,
    font: ObjectId,
) -> Result<bool, EditError> {
    let is_special = field.flags & (PASSWORD | COMB) != 0;
    let chosen = field.options.iter().find(|option| option.value == text);
    let label = chosen.map_or(text, |option| option.label.as_str());
    let mut is_drawn = true;
    for widget in &field.widgets {
        let look = if is_special { None } else { look(document, *widget, label, field.flags) };
        let look = look.map(|FieldLook { area, matrix, drawing }| {
            let fonts = dictionary! { "Font" => dictionary! { "Helv" => font } };
            let form = dictionary! {
                "Type" => "XObject", "Subtype" => "Form", "BBox" => area, "Matrix" => matrix,
                "Resources" => fonts,
            };
            document.add_object(Stream::new(form, drawing.into_bytes()))
        });
        let widget = document.get_dictionary_mut(*widget).map_err(odd)?;
        is_drawn &= look.is_some();
        widget.remove(b"AP");
        if let Some(look) = look {
            widget.set("AP", dictionary! { "N" => look });
        }
    }
    for id in &field.ids {
        let dictionary = document.get_dictionary_mut(*id).map_err(odd)?;
        dictionary.set("V", lopdf::text_string(text));
        // Rich text, and the numbers of the entries that were chosen.
        for outdated in ["RV", "I"] {
            dictionary.remove(outdated.as_bytes());
        }
    }
    Ok(is_drawn)
}
