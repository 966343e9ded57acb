//! Templates and their fields.

use renderers::{
    Format,
    edit::{
        EditError, Edited,
        fill::{self, Filling, fill},
    },
};
use serde_json::{Value, json};

use super::{
    changed, file, is_well_formed, text,
    workbooks::{sheet, with_parts},
};

fn once(template: &[u8], values: Value) -> Edited {
    fill(template, &Filling::Once(values)).expect("we wrote it").remove(0)
}

const LETTER: &str = "---\ntitle: Offer\nheader: For {{client.name}}\n---\n\nDear {{client.name}}, \
    your **offer of {{da**te}} is {{missing}}.\n\n| Item | Price |\n|---|---|\n\
    | {{#items}}{{name}} | {{price}}{{/items}} |\n| Sum | {{sum}} |\n\n{{#notes}}\n\nNote: {{item}}\n\n{{/notes}}\n\nBye.\n";

fn offer() -> Value {
    json!({
        "client": { "name": "Ann & <Co>" },
        "date": "1 May",
        "items": [{ "name": "Boat", "price": 3.5 }, { "name": "Oar", "price": 1 }],
        "sum": "4.50",
        "notes": ["first", "second\nline"],
        "other": 1,
    })
}

#[test]
fn fields_are_filled_over_runs_and_rows_are_repeated() {
    let template = file(LETTER, Format::Docx);
    let edited = once(&template, offer());
    is_well_formed(&edited.bytes);
    let read = text("a.docx", &edited.bytes);
    for words in ["Ann & <Co>", "1 May", "| Boat | 3.5 |", "| Oar | 1 |", "| Sum | 4.50 |"] {
        assert!(read.replace('\\', "").contains(words), "{words} in {read}");
    }
    for words in ["Note: first", "Note: second", "{{missing}}"] {
        assert!(read.replace('\\', "").contains(words), "{words} in {read}");
    }
    assert!(!read.contains("items") && !read.contains("notes"), "{read}");
    assert_eq!(
        edited.warnings,
        [
            "The template has fields without a value: missing.",
            "The template has no fields for: other.",
        ]
    );
    let changed = changed(&template, &edited.bytes);
    assert!(changed.contains(&"word/document.xml".to_owned()), "{changed:?}");
    assert!(
        changed.iter().all(|n| n == "word/document.xml" || n.contains("header")),
        "{changed:?}"
    );
    assert_eq!(once(&template, offer()), edited, "twice is the same as once");
}

#[test]
fn a_list_fills_one_file_for_each_row() {
    let template = file("Dear {{First name}}, you owe {{amount}} to {{us}}.", Format::Docx);
    let csv = "First name;amount\nAnn;3,50\nBob/../x;4\n\n";
    let rows = fill::rows("list.csv", csv.as_bytes(), &template).unwrap();
    let each = |rows: &[Value], pattern: &str| {
        let (rows, pattern) = (rows.to_vec(), pattern.to_owned());
        fill(&template, &Filling::Each { rows, values: json!({ "us": "me" }), pattern })
    };
    let files = each(&rows, "{{First name}}.docx").unwrap();
    let names: Vec<_> = files.iter().map(|file| file.name.clone().unwrap()).collect();
    assert_eq!(names, ["Ann.docx", "Bob-..-x.docx"]);
    assert!(text("a.docx", &files[0].bytes).contains("Dear Ann, you owe 3,50 to me."));
    let same = [rows[0].clone(), rows[0].clone()];
    for (rows, pattern, why) in [
        (&rows[..], "letter.docx", "no field"),
        (&same[..], "{{First name}}.docx", "earlier row"),
        (&rows[..], "{{none}}.docx", "no value"),
        (&rows[..0], "{{First name}}.docx", "no rows"),
    ] {
        let error = each(rows, pattern).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
    let long = [json!({ "First name": "é".repeat(126) })];
    let error = each(&long, "{{First name}}.docx").unwrap_err().to_string();
    assert!(error.contains("255 bytes"), "{error}");
    let sheet = file("## L\n\n| First name | amount |\n|---|---|\n| Ann | 4 |\n", Format::Xlsx);
    assert_eq!(
        fill::rows("l.xlsx", &sheet, &template).unwrap(),
        [json!({ "First name": "Ann", "amount": 4 })]
    );
}

#[test]
fn numbers_of_a_workbook_are_filled_in_as_it_shows_them() {
    let list = "## L\n\n| Name | Price | Share | Hours |\n|---|---|---|---|\n\
                | Ann | 1,234.50 € | 12% | 7.5 |\n";
    let sheet = file(list, Format::Xlsx);
    for (language, price, hours) in
        [("en", "1,234.50 €", json!(7.5)), ("de", "1.234,50 €", json!("7,5"))]
    {
        let source = format!("---\nlang: {language}\n---\n\n# {{{{Name}}}}\n\n{{{{Price}}}}");
        for format in [Format::Docx, Format::Pptx] {
            let rows = fill::rows("l.xlsx", &sheet, &file(&source, format)).unwrap();
            let wanted = json!({ "Name": "Ann", "Price": price, "Share": "12%", "Hours": hours });
            assert_eq!(rows, [wanted], "{language}");
        }
    }
}

/// A format may hide a number, and its words are the same in all languages.
#[test]
fn numbers_of_a_workbook_have_the_words_of_their_formats() {
    let styles = "<styleSheet><numFmts><numFmt numFmtId='170' formatCode='0;-0;;@'/>\
        <numFmt numFmtId='171' formatCode='000&quot;.&quot;000&quot;.&quot;000&quot;-&quot;00'/>\
        </numFmts><cellXfs><xf numFmtId='0'/><xf numFmtId='170'/><xf numFmtId='171'/></cellXfs>\
        </styleSheet>";
    let header = ["none", "id", "raw"].map(|name| format!("<c t='str'><v>{name}</v></c>"));
    let row = "<c s='1'><v>0</v></c><c s='2'><v>12345678901</v></c><c><v>0.1</v></c>";
    let rows = sheet(&format!("<row>{}</row><row>{row}</row>", header.concat()));
    let list = with_parts(&[("xl/worksheets/sheet1.xml", &rows), ("xl/styles.xml", styles)]);
    let template = file("---\nlang: pt-BR\n---\n\n{{id}}", Format::Docx);
    let wanted = json!({ "none": "", "id": "123.456.789-01", "raw": "0,1" });
    assert_eq!(fill::rows("l.xlsx", &list, &template).unwrap(), [wanted]);
}

#[test]
fn the_values_of_a_section_that_is_left_out_have_a_field() {
    let template = file("{{a}}\n\n{{#rows}}\n\n{{b.c}} {{name}}\n\n{{/rows}}\n", Format::Docx);
    let values = |rows: Value| json!({ "a": 1, "b": { "c": 2 }, "rows": rows, "other": 3 });
    for rows in [json!([]), json!(false), json!([{ "name": "x" }])] {
        let warnings = once(&template, values(rows)).warnings;
        assert_eq!(warnings, ["The template has no fields for: other."]);
    }
}

#[test]
fn slides_and_their_notes_are_filled() {
    let deck = "# {{title}}\n\n- {{point}}\n\n| A |\n|---|\n| {{#rows}}{{a}}{{/rows}} |\n\n<!-- say {{title}} -->\n";
    let template = file(deck, Format::Pptx);
    let values =
        json!({ "title": "Rivers", "point": "two\nlines", "rows": [{ "a": 1 }, { "a": 2 }] });
    let edited = once(&template, values);
    is_well_formed(&edited.bytes);
    let read = text("a.pptx", &edited.bytes);
    for words in ["Rivers", "two", "lines", "say Rivers", "| 1 |", "| 2 |"] {
        assert!(read.contains(words), "{words} in {read}");
    }
    assert!(edited.warnings.is_empty(), "{:?}", edited.warnings);
}

#[test]
fn templates_with_mistakes_are_rejected() {
    for (text, why) in [
        ("nothing here", "no fields"),
        ("{{#rows}} without an end", "without {{/rows}}"),
        ("an end {{/rows}}", "without its beginning"),
        ("{{#rows}}x{{/rows}}", "has no value"),
    ] {
        let filling = Filling::Once(json!({}));
        let error = fill(&file(text, Format::Docx), &filling).unwrap_err().to_string();
        assert!(error.contains(why), "{text}: {error}");
    }
    let many = Filling::Once(json!({ "rows": vec![1; 10_001] }));
    let error = fill(&file("{{#rows}}x{{/rows}}", Format::Docx), &many).unwrap_err();
    assert!(matches!(error, EditError::TooLarge(_)), "{error}");
    assert!(fill(b"PK", &Filling::Once(json!({}))).is_err());
}
