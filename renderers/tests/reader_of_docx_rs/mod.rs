//! Word files as docx-rs reads them.

use std::{
    io::{Cursor, Read as _},
    panic::catch_unwind,
};

use quick_xml::events::Event;
use serde_json::Value;
use zip::ZipArchive;

/// The elements whose text docx-rs leaves out.
const GAPS: [&str; 1] = ["m:oMath"];

/// The text that docx-rs finds in the body.
pub fn by_docx_rs(file: &[u8]) -> Result<String, String> {
    let read = catch_unwind(|| docx_rs::read_docx(file).map(|docx| docx.json()));
    let read = read.map_err(|_| "it panics".to_owned())?.map_err(|error| error.to_string())?;
    let read: Value = serde_json::from_str(&read).map_err(|error| error.to_string())?;
    let mut text = String::new();
    collect(&read["document"], &mut text);
    Ok(text)
}

fn collect(value: &Value, text: &mut String) {
    match value {
        Value::Array(items) => {
            for item in items {
                collect(item, text);
            }
        }
        Value::Object(fields) => {
            if let Some(Value::String(words)) = fields.get("text") {
                text.push_str(words);
            }
            for value in fields.values() {
                collect(value, text);
            }
        }
        _ => {}
    }
}

/// The texts of the body without those in gaps.
fn expected(file: &[u8]) -> Vec<String> {
    let mut zip = ZipArchive::new(Cursor::new(file)).expect("we wrote it");
    let mut xml = String::new();
    let mut part = zip.by_name("word/document.xml").expect("we wrote it");
    part.read_to_string(&mut xml).expect("we wrote it");
    let mut reader = quick_xml::Reader::from_str(&xml);
    let (mut path, mut texts) = (Vec::<String>::new(), Vec::new());
    loop {
        let is_text = path.last().is_some_and(|name| name == "w:t");
        let is_gap = path.iter().any(|name| GAPS.contains(&name.as_str()));
        match reader.read_event().expect("we wrote it") {
            Event::Start(start) => {
                path.push(String::from_utf8_lossy(start.name().as_ref()).into_owned());
            }
            Event::End(_) => drop(path.pop()),
            Event::Text(text) if is_text && !is_gap => {
                texts.push(text.decode().expect("we wrote it").into_owned());
            }
            Event::Eof => return texts,
            _ => {}
        }
    }
}

/// Checks that docx-rs finds every text of the body.
pub fn is_read(name: &str, file: &[u8]) {
    let read = by_docx_rs(file).unwrap_or_else(|problem| panic!("{name}: {problem}"));
    let plain = |text: &str| text.split_whitespace().collect::<String>();
    let read = plain(&read);
    let expected = expected(file).into_iter();
    let missing: Vec<_> = expected.filter(|text| !read.contains(&plain(text))).collect();
    assert!(missing.is_empty(), "{name}: docx-rs does not find {missing:?}");
}
