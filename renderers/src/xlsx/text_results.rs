//! Results of formulas that are texts, although they look like numbers, truth values or errors.
//!
//! `rust_xlsxwriter` derives the type of a result from its characters: `00712` would be the number
//! 712, `nan` one that no program can read. Such a text gets a mark, which is removed from the
//! finished workbook.

use std::io::{self, Cursor, Read as _, Write as _};

use zip::{ZipArchive, ZipWriter};

use super::formula::Value;
use super::pages::Pages;
use super::streamed_book::part_options;
use crate::package::cell_escapes;

/// A mark after which no text is a number. A text that begins with it gets another one.
const MARK: &str = "'";
/// The start of a marked result. Angle brackets are only markup in a sheet.
const MARKED: &str = "</f><v>'";
const UNMARKED: &str = "</f><v>";

impl Pages<'_> {
    /// A value as stored with its formula.
    pub fn result(&mut self, value: &Value) -> String {
        match value {
            Value::Error(error) => (*error).to_owned(),
            Value::Text(text) => {
                let (result, is_marked) = marked(text);
                self.has_marked_results |= is_marked;
                result
            }
            value => value.text().unwrap_or_default(),
        }
    }
}

/// The text as the result of a formula, and whether it has a mark.
fn marked(text: &str) -> (String, bool) {
    let text = cell_escapes::stored(text);
    let is_other_type =
        text.parse::<f64>().is_ok() || text.starts_with('#') || matches!(&*text, "TRUE" | "FALSE");
    let is_marked = is_other_type || text.starts_with(MARK);
    (if is_marked { format!("{MARK}{text}") } else { text }, is_marked)
}

/// Copies the workbook without the marks.
pub fn without_marks(book: Vec<u8>) -> io::Result<Vec<u8>> {
    let mut package = ZipArchive::new(Cursor::new(book))?;
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for at in 0..package.len() {
        let mut part = package.by_index(at)?;
        if !part.name().starts_with("xl/worksheets/sheet") {
            zip.raw_copy_file(part)?;
            continue;
        }
        zip.start_file(part.name(), part_options())?;
        let mut xml = String::new();
        part.read_to_string(&mut xml)?;
        zip.write_all(xml.replace(MARKED, UNMARKED).as_bytes())?;
    }
    Ok(zip.finish()?.into_inner())
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use proptest::prelude::*;

    use super::*;
    use crate::{Format, markdown, read, render};

    /// A workbook whose formulas have these results.
    fn book(texts: &[String]) -> Vec<u8> {
        let mut source = "| n | text |\n|---|---|\n".to_owned();
        for (row, text) in texts.iter().enumerate() {
            writeln!(source, "| {row} | =\"{text}\" |").unwrap();
        }
        render(&markdown::read(&source).unwrap(), Format::Xlsx).unwrap().bytes
    }

    fn sheet(book: &[u8]) -> String {
        let mut package = ZipArchive::new(Cursor::new(book)).unwrap();
        let mut xml = String::new();
        package.by_name("xl/worksheets/sheet1.xml").unwrap().read_to_string(&mut xml).unwrap();
        xml
    }

    fn text() -> impl Strategy<Value = String> {
        let special = [
            "nan", "NaN", "inf", "-inf", "Infinity", "1e400", "TRUE", "FALSE", "true", "00712",
            "#N/A", "#REF!", "'", "'5", "''x", ".5", "5.", "+5", "-0", "1E5",
        ];
        let special = prop::sample::select(special.to_vec()).prop_map(str::to_owned);
        prop_oneof![
            special,
            "0{0,3}[0-9]{1,4}",
            "[+-]?[0-9]{1,3}[.eE][0-9]{1,4}",
            "[A-Za-z0-9.']{1,6}"
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn a_text_result_stays_a_text(texts in prop::collection::vec(text(), 1..20)) {
            let book = book(&texts);
            let sheet = sheet(&book);
            let results = sheet.matches(" t=\"str\"><f>").count();
            prop_assert_eq!(results, texts.len(), "{}", sheet);
            let read = read::to_markdown("a.xlsx", &book).unwrap().markdown.replace('\\', "");
            for (row, text) in texts.iter().enumerate() {
                let cells = format!("| {row} | {text} |");
                prop_assert!(read.contains(&cells), "{} is missing in {}", cells, read);
            }
        }
    }

    #[test]
    fn a_workbook_without_marks_has_the_same_parts() {
        let marked_texts = sheet(&book(&["007".to_owned(), "x".to_owned()]));
        assert!(marked_texts.contains("<f>\"007\"</f><v>007</v>"), "{marked_texts}");
        assert_eq!(marked("x"), ("x".to_owned(), false));
        assert_eq!(marked("'x"), ("''x".to_owned(), true));
        assert_eq!(marked("_x0041_"), ("_x005F_x0041_".to_owned(), false));
    }
}
