//! Converts rows to the model: CSV text, or JSON as programs write it. Cells are text. A workbook
//! types them like the cells of a Markdown table, except for formulas and JSON strings.

use serde_json::Value;

use crate::budgets::{TABLE_CELLS, TABLE_COLUMNS};
use crate::document::{Align, Block, Given, Inline, Meta, Table};
use crate::markdown::clean;
use crate::records::{RecordSheet, Records, sheets, too_wide};
pub use crate::xlsx::stream;
use crate::xlsx::{self, no_formulas};
use crate::{Document, RenderError, Warning};

/// A document with one table from CSV: fields separated by commas (semicolons or tabs, if the first
/// line has more of those, or the separator named by `sep=`), quotation marks as in RFC 4180, the
/// first line as the header.
pub fn from_csv(title: &str, text: &str) -> Result<Document, RenderError> {
    let (text, _) = clean::source(text);
    let mut records = Records::of(&text);
    let above = records.take_title();
    let header = records.next().ok_or_else(|| {
        RenderError::Invalid("The CSV is empty; its first line must name the columns.".to_owned())
    })?;
    let rows = records.by_ref().collect();
    let sheet = RecordSheet { name: title.to_owned(), header, rows, ..RecordSheet::default() };
    let mut document = document(title, vec![sheet], records.may_have_commas())?;
    document.warnings.extend(records.warning().map(Warning::from));
    if let Some(above) = above {
        // Between the name of the sheet and its table.
        document.blocks.insert(1, Block::Paragraph(cell(&above)));
    }
    Ok(document)
}

/// Input with more lines than this, or more cells than a document may have, is streamed into a
/// workbook.
const STREAMED_LINES: usize = 20_000;

/// Whether this CSV exceeds the limits of a document and has to be [streamed](fn@stream) into a
/// workbook.
pub fn is_long(text: &str) -> bool {
    let (mut lines, mut columns) = (0, 0);
    Records::of(text).any(|record| {
        lines += 1;
        columns = record.len().max(columns);
        lines > STREAMED_LINES || lines * columns > TABLE_CELLS
    })
}

/// A document from JSON: a list of objects, a list of lists (the first is the header), or an object
/// whose members are such lists, each of which becomes a sheet.
pub fn from_json(title: &str, value: &Value) -> Result<Document, RenderError> {
    document(title, sheets(title, value)?, false)
}

/// Parses JSON, or JSON Lines: a value on each line.
pub fn parse_json(text: &str) -> Result<Value, RenderError> {
    crate::records::json(text)
}

fn document(title: &str, sheets: Vec<RecordSheet>, commas: bool) -> Result<Document, RenderError> {
    let meta = Meta { title: Some(clean::line(title)), ..Meta::default() };
    let mut document = Document { meta, ..Document::default() };
    let (mut cells, mut formulas) = (0_usize, 0);
    for RecordSheet { name, header, rows, texts, warning } in sheets {
        document.warnings.extend(warning.map(Into::into));
        let columns = rows.iter().map(Vec::len).max().unwrap_or(0).max(header.len());
        cells = cells.saturating_add(columns.saturating_mul(rows.len() + 1));
        if columns > TABLE_COLUMNS {
            return Err(too_wide(columns));
        }
        if cells > TABLE_CELLS {
            return Err(RenderError::TooLarge(format!(
                "The rows have {cells} cells; the limit is {TABLE_CELLS}. Split them."
            )));
        }
        formulas += rows.iter().flatten().filter(|cell| cell.starts_with('=')).count();
        let is_bare = |(row, column): &(usize, usize)| xlsx::is_bare(&rows[*row][*column]);
        let texts = texts.into_iter().filter(is_bare).collect();
        document.blocks.push(Block::Heading { level: 2, content: cell(&name) });
        document.blocks.push(Block::Table(Table {
            align: vec![Align::Start; columns],
            header: line(&header, columns),
            rows: rows.iter().map(|row| line(row, columns)).collect(),
            given: Some(Given { commas, texts }),
            ..Table::default()
        }));
    }
    if formulas > 0 {
        document.warnings.push(no_formulas(formulas).into());
    }
    Ok(document)
}

fn line(cells: &[String], columns: usize) -> Vec<Vec<Inline>> {
    (0..columns).map(|at| cells.get(at).map(|text| cell(text)).unwrap_or_default()).collect()
}

fn cell(text: &str) -> Vec<Inline> {
    let text = clean::text(text);
    let mut content = Vec::new();
    for line in text.lines() {
        if !content.is_empty() {
            content.push(Inline::LineBreak);
        }
        content.push(Inline::Text(line.to_owned()));
    }
    content
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::document::plain_text;

    fn table(document: &Document, at: usize) -> Vec<Vec<String>> {
        let Block::Table(table) = &document.blocks[at] else { panic!("{document:?}") };
        let line = |row: &Vec<Vec<Inline>>| row.iter().map(|cell| plain_text(cell)).collect();
        std::iter::once(&table.header).chain(&table.rows).map(line).collect()
    }

    #[test]
    fn csv_is_read_with_quotes_and_lines_inside() {
        let document =
            from_csv("T", "\u{feff}a,b\r\n\"x,\"\"y\"\"\",\"two\nlines\"\r\n\r\n1,2,3\n").unwrap();
        let expected = [["a", "b", ""], ["x,\"y\"", "two\nlines", ""], ["1", "2", "3"]];
        assert_eq!(table(&document, 1), expected);
        assert_eq!(table(&from_csv("T", "a;b,c;d\n1;2;3\n").unwrap(), 1)[1], ["1", "2", "3"]);
    }

    #[test]
    fn json_rows_of_three_shapes_are_read() {
        let objects = from_json("T", &json!([{"a": 1, "b": null}, {"c": [2], "a": "x"}])).unwrap();
        assert_eq!(table(&objects, 1), [["a", "b", "c"], ["1", "", ""], ["x", "", "[2]"]]);
        let lists = from_json("T", &json!([["a"], [true], [0.5]])).unwrap();
        assert_eq!(table(&lists, 1), [["a"], ["true"], ["0.5"]]);
        let sheets = from_json("T", &json!({"One": [{"a": 1}], "Two": [["b"], [2]]})).unwrap();
        assert_eq!(sheets.blocks.len(), 4);
        assert_eq!(table(&sheets, 3), [["b"], ["2"]]);
    }

    #[test]
    fn objects_in_cells_become_columns() {
        let rows = json!([
            {"id": 1, "meta": {"x": "a", "deep": {"y": true}}, "tags": ["p"]},
            {"id": 2, "meta": null, "mixed": {"k": 1}},
            {"id": 3, "meta": {"x": "b", "z": 0}, "mixed": "text", "empty": {}}
        ]);
        let document = from_json("T", &rows).unwrap();
        let expected = [
            ["id", "meta.x", "meta.deep.y", "meta.z", "tags", "mixed", "empty"],
            ["1", "a", "true", "", "[\"p\"]", "", ""],
            ["2", "", "", "", "", "{\"k\":1}", ""],
            ["3", "b", "", "0", "", "text", "{}"],
        ];
        assert_eq!(table(&document, 1), expected);
        assert!(document.warnings[0].to_string().contains("“mixed”"), "{:?}", document.warnings);
        let members: serde_json::Map<_, _> =
            (0..65).map(|at| (at.to_string(), json!(at))).collect();
        for row in [
            json!([{"m": members}]),
            json!([{"a": {"b": {"c": {"d": {"e": 1}}}}}]),
            json!([{"a": {"x": 1}, "a.x": 2}]),
        ] {
            let document = from_json("T", &row).unwrap();
            assert_eq!(document.warnings.len(), 1, "{row}");
        }
        assert_eq!(
            table(&from_json("T", &json!([{"a": {"x": 1}, "a.x": 2}])).unwrap(), 1)[1][1],
            "2"
        );
    }

    #[test]
    fn an_empty_object_is_no_value() {
        let rows = json!([{"meta": {"x": 1}}, {"meta": {}}, {"meta": {"x": 3}}]);
        let document = from_json("T", &rows).unwrap();
        assert_eq!(table(&document, 1), [["meta.x"], ["1"], [""], ["3"]]);
        assert_eq!(document.warnings, Vec::<&str>::new());
    }

    #[test]
    fn the_columns_of_objects_have_different_names() {
        let header = |rows: Value| table(&from_json("T", &rows).unwrap(), 1).remove(0);
        assert_eq!(header(json!([{"a": {"b.c": 1, "b": {"c": 2}}}])), ["a.b.c", "a.b"]);
        assert_eq!(header(json!([{"a": {"b.c": 1}, "a.b": {"c": 2}}])), ["a", "a.b"]);
        let other = json!([{"a": {"b.c": 1}, "a.b": {"c": 2}, "d": {"e": 3}}]);
        assert_eq!(header(other), ["a", "a.b", "d.e"]);
    }

    #[test]
    fn objects_stay_whole_if_their_columns_are_over_the_limits() {
        let members: serde_json::Map<_, _> =
            (0..60).map(|at| (at.to_string(), json!(at))).collect();
        let row = |keys: usize| {
            let members = (0..keys).map(|at| (at.to_string(), json!(members)));
            Value::Object(members.collect())
        };
        for rows in [json!([row(TABLE_COLUMNS / 60 + 1)]), json!(vec![row(10); TABLE_CELLS / 600])]
        {
            let document = from_json("T", &rows).unwrap();
            let keys = rows[0].as_object().unwrap().len();
            assert_eq!(table(&document, 1)[0].len(), keys);
            assert_eq!(document.warnings.len(), 1);
        }
        let long = json!([{"k".repeat(300): {"x": 1, "y": 2}}]);
        assert_eq!(table(&from_json("T", &long).unwrap(), 1)[0].len(), 1);
    }

    #[test]
    fn a_title_above_the_header_is_no_header() {
        let document = from_csv("T", "Sales 2026\n\na;b\n1;2\n").unwrap();
        assert_eq!(document.blocks[1], Block::Paragraph(vec![Inline::Text("Sales 2026".into())]));
        assert_eq!(table(&document, 2), [["a", "b"], ["1", "2"]]);
        assert_eq!(table(&from_csv("T", "a|b\n1|2\n").unwrap(), 1), [["a", "b"], ["1", "2"]]);
        assert_eq!(table(&from_csv("T", "a\n1\n2\n").unwrap(), 1), [["a"], ["1"], ["2"]]);
    }

    #[test]
    fn json_lines_are_a_list() {
        let lines = "{\"a\":1}\n\n{\"a\":2}\n";
        assert_eq!(parse_json(lines).unwrap(), json!([{"a": 1}, {"a": 2}]));
        assert_eq!(parse_json("[1]").unwrap(), json!([1]));
        let error = parse_json("{\"a\":1}\n{\"a\":2}\n{").unwrap_err();
        assert!(error.to_string().contains("line 3"), "{error}");
        for text in ["[1,\n1e400]", "{\"a\":1}\n{\"a\":1e400}\n"] {
            let error = parse_json(text).unwrap_err().to_string();
            assert!(error.contains("out of range: line 2"), "{error}");
        }
        assert!(parse_json("{\"a\":").is_err() && parse_json("").is_err());
    }

    #[test]
    fn input_that_is_not_a_table_is_rejected() {
        for value in [json!(1), json!([]), json!([1]), json!([[1], 2]), json!({"a": 1})] {
            let error = from_json("T", &value).unwrap_err();
            assert!(error.to_string().contains("list of"), "{value}: {error}");
        }
        assert!(matches!(from_csv("T", ""), Err(RenderError::Invalid(_))));
        let wide = "x,".repeat(TABLE_COLUMNS + 1);
        assert!(matches!(from_csv("T", &wide), Err(RenderError::TooLarge(_))));
        let long = "a,b\n".repeat(TABLE_CELLS / 2 + 1);
        assert!(matches!(from_csv("T", &long), Err(RenderError::TooLarge(_))));
    }
}
