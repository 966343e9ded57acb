//! Pages and forms of PDFs, and files that are not edited.

use lopdf::{Document, Object, dictionary};
use renderers::{
    Format,
    edit::{
        pdf::{self, PdfEdit, Rotation},
        workbook,
    },
};
use serde_json::{Value, json};
use std::io::Cursor;

use super::{
    file,
    workbooks::{BOOK, cell},
};

/// The text of each page.
fn pages(bytes: &[u8]) -> Vec<String> {
    let document = Document::load_mem(bytes).expect("we wrote it");
    let numbers = document.get_pages().into_keys();
    numbers.map(|number| document.extract_text(&[number]).expect("we wrote it")).collect()
}

#[test]
fn pdfs_are_merged_split_rotated_and_stamped() {
    let one = file("# One\n\nfirst\n\n<!-- pagebreak -->\n\nsecond\n", Format::Pdf);
    let two = file("# Two\n\nthird\n", Format::Pdf);
    let edit = PdfEdit {
        pages: vec![Some("2,1".into()), None],
        rotations: vec![Rotation { pages: Some("1".into()), degrees: -90 }],
        watermark: Some("Draft".into()),
        page_numbers: true,
        ..PdfEdit::default()
    };
    let edited = pdf::edit(&[&one, &two], &edit).unwrap();
    let pages = pages(&edited.bytes);
    assert_eq!(pages.len(), 3);
    for (page, words) in pages.iter().zip(["second", "first", "third"]) {
        assert!(page.contains(words) && page.contains("Draft"), "{page}");
    }
    assert!(pages[2].contains("3 / 3"), "{pages:?}");
    let document = Document::load_mem(&edited.bytes).unwrap();
    let first = document.page_iter().next().unwrap();
    let rotation = document.get_dictionary(first).unwrap().get(b"Rotate").unwrap();
    assert_eq!(rotation.as_i64().unwrap(), 270);
    let single = PdfEdit { pages: vec![Some("1".into())], ..PdfEdit::default() };
    let first = pdf::edit(&[&one], &single).unwrap();
    assert!(!first.bytes.windows(6).any(|six| six == b"second"));
    assert_eq!(self::pages(&first.bytes).len(), 1);
    for (pages, why) in [("9", "has 2"), ("0", "has 2"), ("x", "has 2"), ("", "has 2")] {
        let edit = PdfEdit { pages: vec![Some(pages.into())], ..PdfEdit::default() };
        let error = pdf::edit(&[&one], &edit).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
    let odd = PdfEdit { watermark: Some("草稿".into()), ..PdfEdit::default() };
    assert!(pdf::edit(&[&one], &odd).unwrap_err().to_string().contains("Western European"));
}

#[test]
fn pages_of_unusual_files_are_selected_and_rotated() {
    let mut document = Document::load_mem(&file("x", Format::Pdf)).unwrap();
    let page = document.page_iter().next().unwrap();
    let page = document.get_dictionary_mut(page).unwrap();
    page.set("Annots", vec![Object::Reference((9_999, 0))]);
    page.set("Rotate", i64::MAX);
    let catalog = document.catalog_mut().unwrap();
    catalog.set("OCProperties", dictionary! { "OCGs" => Object::Array(Vec::new()) });
    catalog.set("Names", dictionary! { "EmbeddedFiles" => lopdf::Dictionary::new() });
    let mut bytes = Vec::new();
    document.save_to(&mut bytes).unwrap();
    let edit = PdfEdit {
        pages: vec![Some("1".into())],
        rotations: vec![Rotation { pages: None, degrees: 90 }],
        ..PdfEdit::default()
    };
    let edited = pdf::edit(&[&bytes], &edit).unwrap();
    for what in ["layers", "Attached files"] {
        let is_told = edited.warnings.iter().any(|warning| warning.contains(what));
        assert!(is_told, "{what}: {:?}", edited.warnings);
    }
}

/// A form with a text, a choice and a check box.
fn form(change: impl FnOnce(&mut Document)) -> Vec<u8> {
    let mut document = Document::load_mem(&file("form", Format::Pdf)).expect("we wrote it");
    let page = document.page_iter().next().expect("we wrote it");
    let rect = |top: i64| vec![50.into(), top.into(), 250.into(), (top + 20).into()];
    let look = document.add_object(lopdf::Stream::new(
        dictionary! {
            "Type" => "XObject", "Subtype" => "Form", "BBox" => rect(0),
        },
        Vec::new(),
    ));
    let fields = [
        dictionary! {
            "FT" => "Tx", "T" => Object::string_literal("name"), "Rect" => rect(500), "MaxLen" => 20,
        },
        dictionary! {
            "FT" => "Ch", "T" => Object::string_literal("color"), "Rect" => rect(450),
            "Opt" => vec![Object::string_literal("red"), Object::string_literal("blue")],
        },
        dictionary! {
            "FT" => "Btn", "T" => Object::string_literal("agreed"), "Rect" => rect(400),
            "AP" => dictionary! { "N" => dictionary! { "On" => look, "Off" => look } },
        },
        dictionary! {
            "FT" => "Tx", "T" => Object::string_literal("fixed"), "Rect" => rect(350), "Ff" => 1,
        },
    ];
    let mut ids: Vec<Object> = Vec::new();
    for mut field in fields {
        field.set("Type", "Annot");
        field.set("Subtype", "Widget");
        field.set("P", page);
        ids.push(document.add_object(field).into());
    }
    document.get_dictionary_mut(page).expect("we wrote it").set("Annots", ids.clone());
    let form = dictionary! { "Fields" => ids };
    document.catalog_mut().expect("we wrote it").set("AcroForm", form);
    change(&mut document);
    let mut bytes = Vec::new();
    document.save_to(&mut bytes).expect("we wrote it");
    bytes
}

#[test]
fn form_fields_are_filled_and_drawn() {
    let form = form(|_| {});
    let fill = |fields: Value| {
        let fields = fields.as_object().unwrap().clone();
        pdf::edit(&[&form], &PdfEdit { fields, ..PdfEdit::default() })
    };
    let edited = fill(json!({ "name": "Ann Müller", "color": "blue", "agreed": true })).unwrap();
    let document = Document::load_mem(&edited.bytes).unwrap();
    let find = |name: &str| {
        let fields = document.objects.values().filter_map(|object| object.as_dict().ok());
        fields
            .into_iter()
            .find(|field| {
                field.get(b"T").is_ok_and(|t| lopdf::decode_text_string(t).unwrap() == name)
            })
            .unwrap()
    };
    let value = |name: &str| find(name).get(b"V").unwrap().clone();
    assert_eq!(lopdf::decode_text_string(&value("name")).unwrap(), "Ann Müller");
    assert_eq!(value("agreed"), Object::Name(b"On".to_vec()));
    assert!(find("name").has(b"AP") && find("color").has(b"AP"));
    let catalog = document.catalog().unwrap();
    let acro = catalog.get_deref(b"AcroForm", &document).unwrap().as_dict().unwrap();
    assert!(!acro.has(b"NeedAppearances"));
    for (fields, why) in [
        (json!({ "nome": "x" }), "There are: agreed, color, fixed, name"),
        (json!({ "color": "green" }), "red, blue"),
        (json!({ "fixed": "x" }), "protects it"),
        (json!({ "name": "x".repeat(21) }), "at most 20"),
        (json!({ "agreed": "maybe" }), "true, false"),
    ] {
        let error = fill(fields).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
    let other = fill(json!({ "name": "安" })).unwrap();
    assert!(other.warnings.iter().any(|warning| warning.contains("drawn by the viewer")));
}

/// The fields of a form, with values to fill in.
fn filled(form: &[u8], fields: Value) -> Document {
    let fields = fields.as_object().expect("an object").clone();
    let edited =
        pdf::edit(&[form], &PdfEdit { fields, ..PdfEdit::default() }).expect("it is a form");
    Document::load_mem(&edited.bytes).expect("we wrote it")
}

/// The fields of the form itself.
fn roots(document: &mut Document) -> &mut Vec<Object> {
    let catalog = document.catalog_mut().expect("a document has one");
    let form = catalog.get_mut(b"AcroForm").and_then(Object::as_dict_mut).expect("a form");
    form.get_mut(b"Fields").and_then(Object::as_array_mut).expect("its fields")
}

/// The form with a second field like the one at this place.
fn with_twin(at: usize) -> Vec<u8> {
    form(|document| {
        let first = roots(document)[at].as_reference().expect("a field");
        let again = document.get_dictionary(first).expect("a field").clone();
        let again = document.add_object(again);
        roots(document).push(again.into());
    })
}

#[test]
fn all_fields_with_one_name_are_filled() {
    let document = filled(&with_twin(0), json!({ "name": "Ann" }));
    let fields = document.objects.values().filter_map(|object| object.as_dict().ok());
    let values = fields.filter_map(|field| field.get(b"V").ok());
    let values: Vec<_> = values.filter_map(|value| lopdf::decode_text_string(value).ok()).collect();
    assert_eq!(values, ["Ann", "Ann"]);
    let document = filled(&with_twin(2), json!({ "agreed": true }));
    let boxes = document.objects.values().filter_map(|object| object.as_dict().ok());
    let states = boxes.filter_map(|field| field.get(b"AS").and_then(Object::as_name).ok());
    assert_eq!(states.collect::<Vec<_>>(), [b"On", b"On"]);
}

#[test]
fn references_of_a_form_to_nothing_are_ignored() {
    let damaged = form(|document| {
        let nothing = Object::Reference((9_999, 0));
        let field = roots(document)[0].as_reference().unwrap();
        let widget = document.get_dictionary(field).unwrap().clone();
        let kids = vec![nothing.clone(), document.add_object(widget).into()];
        document.get_dictionary_mut(field).unwrap().set("Kids", kids);
        roots(document).push(nothing);
    });
    let document = filled(&damaged, json!({ "name.name": "Ann" }));
    assert!(document.objects.values().any(|object| {
        let value = object.as_dict().and_then(|field| field.get(b"V"));
        value.is_ok_and(|value| lopdf::decode_text_string(value).is_ok_and(|text| text == "Ann"))
    }));
}

/// The text goes up along the field, which is 200 points wide and 20 points high on the page.
#[test]
fn fields_are_drawn_rotated_and_with_their_frames() {
    let turned = form(|document| {
        let field = roots(document)[0].as_reference().unwrap();
        let field = document.get_dictionary_mut(field).unwrap();
        let red = vec![1.into(), 0.into(), Object::Integer(0)];
        field.set("MK", dictionary! { "R" => 90, "BG" => vec![Object::Real(0.9)], "BC" => red });
    });
    let document = filled(&turned, json!({ "name": "Ann" }));
    let mut fields = document.objects.values().filter_map(|object| object.as_dict().ok());
    let field = fields.find(|field| field.has(b"V")).unwrap();
    let look = field.get(b"AP").unwrap().as_dict().unwrap().get_deref(b"N", &document).unwrap();
    let numbers = |key: &[u8]| {
        let numbers = look.as_stream().unwrap().dict.get(key).unwrap().as_array().unwrap();
        numbers.iter().map(|number| number.as_float().unwrap() as i64).collect::<Vec<_>>()
    };
    let drawing = String::from_utf8_lossy(&look.as_stream().unwrap().content).into_owned();
    for part in ["q 0.900 g 0 0 20.00 200.00 re f Q", "q 1.000 0.000 0.000 RG 1.00 w 0.50 0.50 19"]
    {
        assert!(drawing.contains(part), "{part}: {drawing}");
    }
    assert_eq!(numbers(b"BBox"), [0, 0, 20, 200]);
    assert_eq!(numbers(b"Matrix"), [0, 1, -1, 0, 200, 0]);
}

#[test]
fn entries_of_a_list_are_chosen_by_value_or_label() {
    let list = form(|document| {
        let field = roots(document)[1].as_reference().unwrap();
        let field = document.get_dictionary_mut(field).unwrap();
        let entry = |value: &str, label: &str| {
            Object::Array(vec![Object::string_literal(value), Object::string_literal(label)])
        };
        field.set("Opt", vec![entry("DE", "Germany"), entry("FR", "France")]);
        field.set("I", vec![Object::Integer(0)]);
    });
    for text in ["FR", "France"] {
        let document = filled(&list, json!({ "color": text }));
        let mut fields = document.objects.values().filter_map(|object| object.as_dict().ok());
        let field = fields.find(|field| field.has(b"V")).unwrap();
        assert_eq!(lopdf::decode_text_string(field.get(b"V").unwrap()).unwrap(), "FR");
        assert!(!field.has(b"I"));
        let look = field.get(b"AP").unwrap().as_dict().unwrap().get_deref(b"N", &document).unwrap();
        let drawing = String::from_utf8_lossy(&look.as_stream().unwrap().content).into_owned();
        assert!(drawing.contains("<4672616E6365>"), "{drawing}");
    }
}

/// “no” is off only where it is no name of a state. Older programs write these in Latin-1.
#[test]
fn buttons_take_the_names_of_their_states() {
    let choice = |states: [&'static [u8]; 2]| {
        form(move |document| {
            let field = roots(document)[2].as_reference().unwrap();
            let kids = states.map(|state| {
                let look = document.get_dictionary(field).unwrap().get(b"AP").unwrap().clone();
                let look = look.as_dict().unwrap().get(b"N").unwrap().as_dict().unwrap().clone();
                let mut looks = lopdf::Dictionary::new();
                looks.set(state, look.get(b"On").unwrap().clone());
                let widget = dictionary! {
                    "Subtype" => "Widget", "AP" => dictionary! { "N" => looks },
                };
                Object::from(document.add_object(widget))
            });
            let field = document.get_dictionary_mut(field).unwrap();
            field.remove(b"AP");
            field.set("Kids", kids.to_vec());
        })
    };
    let check = |states: [&'static [u8]; 2], text: &str, wanted: &[u8]| {
        let document = filled(&choice(states), json!({ "agreed": text }));
        let values: Vec<_> = document
            .objects
            .values()
            .filter_map(|object| object.as_dict().ok()?.get(b"V").ok()?.as_name().ok())
            .collect();
        assert_eq!(values, [wanted], "{text}");
        let is_on = |object: &&Object| {
            object.as_dict().is_ok_and(|widget| {
                widget.get(b"AS").is_ok_and(|on| on.as_name().is_ok_and(|on| on == wanted))
            })
        };
        let count = document.objects.values().filter(is_on).count();
        assert_eq!(count, if wanted == b"Off" { 2 } else { 1 }, "{text}");
    };
    check([b"yes", b"no"], "no", b"no");
    check([b"M\xe4nnlich", b"Weiblich"], "Männlich", b"M\xe4nnlich");
    check([b"a", b"b"], "no", b"Off");
}

/// Selected pages keep what is drawn of a form, and not its values.
#[test]
fn values_of_a_form_are_not_lost_unseen() {
    let one = |fields: Value| PdfEdit {
        pages: vec![Some("1".into())],
        fields: fields.as_object().unwrap().clone(),
        ..PdfEdit::default()
    };
    let form = form(|_| {});
    assert!(pdf::edit(&[&form], &one(json!({ "name": "Ann" }))).is_ok());
    let error = pdf::edit(&[&form], &one(json!({ "name": "安" }))).unwrap_err().to_string();
    assert!(error.contains("fill the form without"), "{error}");
    let mut document = filled(&form, json!({ "name": "安" }));
    let mut bytes = Vec::new();
    document.save_to(&mut bytes).unwrap();
    let edited = pdf::edit(&[&bytes], &one(json!({}))).unwrap();
    assert!(edited.warnings.iter().any(|warning| warning.contains("not kept")), "{edited:?}");
}

/// If each path to a field were followed, this would never end.
#[test]
fn a_form_whose_fields_share_the_ones_below_is_filled() {
    let shared = form(|document| {
        let mut below = roots(document)[0].clone();
        for _ in 0..30 {
            let kids = vec![below.clone(), below];
            let node = dictionary! { "T" => Object::string_literal("n"), "Kids" => kids };
            below = document.add_object(node).into();
        }
        roots(document)[0] = below;
    });
    let name = format!("{}name", "n.".repeat(30));
    filled(&shared, json!({ name: "Ann" }));
}

#[test]
fn protected_signed_and_macro_files_are_rejected() {
    let signed = form(|document| {
        let form = document.catalog_mut().unwrap().get_mut(b"AcroForm").unwrap();
        form.as_dict_mut().unwrap().set("SigFlags", 3);
    });
    let numbers = PdfEdit { page_numbers: true, ..PdfEdit::default() };
    let error = pdf::edit(&[&signed], &numbers).unwrap_err().to_string();
    assert!(error.contains("signed"), "{error}");
    for is_signed in [false, true] {
        let to_sign = form(|document| {
            let mut field = dictionary! { "FT" => "Sig", "T" => Object::string_literal("sign") };
            if is_signed {
                field.set("V", dictionary! { "Type" => "Sig" });
            }
            let field = document.add_object(field);
            roots(document).push(field.into());
            let form = document.catalog_mut().unwrap().get_mut(b"AcroForm").unwrap();
            form.as_dict_mut().unwrap().set("SigFlags", 1);
        });
        assert_eq!(pdf::edit(&[&to_sign], &numbers).is_err(), is_signed);
    }
    let mut document = Document::load_mem(&file("x", Format::Pdf)).unwrap();
    document.trailer.set("ID", vec![Object::string_literal("1"), Object::string_literal("1")]);
    let version = lopdf::EncryptionVersion::V2 {
        document: &document,
        owner_password: "o",
        user_password: "",
        key_length: 128,
        permissions: lopdf::Permissions::empty(),
    };
    let state = lopdf::EncryptionState::try_from(version).unwrap();
    document.encrypt(&state).unwrap();
    let mut locked = Vec::new();
    document.save_to(&mut locked).unwrap();
    let error = pdf::edit(&[&locked], &numbers).unwrap_err().to_string();
    assert!(error.contains("protected"), "{error}");
    for (part, why) in [("xl/vbaProject.bin", "macros"), ("_xmlsignatures/sig1.xml", "signed")] {
        let mut zip = zip::ZipWriter::new_append(Cursor::new(file(BOOK, Format::Xlsx))).unwrap();
        zip.start_file(part, zip::write::SimpleFileOptions::default()).unwrap();
        let bytes = zip.finish().unwrap().into_inner();
        let error = workbook::edit(&bytes, &cell("A1", json!(1))).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
}
