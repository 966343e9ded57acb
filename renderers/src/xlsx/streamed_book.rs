//! A workbook whose rows are compressed one at a time, so that they are never in memory together.
//!
//! `rust_xlsxwriter` writes a workbook with the header and a sample cell for each number format.
//! This copies it, and puts the rows in place of the samples.

use std::fmt::{self, Write as _};
use std::io::{self, Cursor, Read as _, Seek, SeekFrom, Write};

use quick_xml::escape::partial_escape;
use rust_xlsxwriter::utility;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

use crate::package::cell_escapes;

/// The only sheet.
const SHEET: &str = "xl/worksheets/sheet1.xml";
const IN_MEMORY: &str = "writing to a string succeeds";

/// Copies the workbook. `rows` writes the rows of its sheet, which follow the header. The error is
/// of the kind [`FileTooLarge`](io::ErrorKind::FileTooLarge) if the result has more bytes.
pub fn with_rows(
    book: Vec<u8>,
    max_bytes: usize,
    rows: impl FnOnce(&Samples<'_>, &mut dyn Write) -> io::Result<()>,
) -> io::Result<Vec<u8>> {
    let mut package = ZipArchive::new(Cursor::new(book))?;
    let mut zip = ZipWriter::new(LimitedBuffer { bytes: Cursor::new(Vec::new()), max_bytes });
    let options = part_options();
    let mut rows = Some(rows);
    for at in 0..package.len() {
        let mut part = package.by_index(at)?;
        zip.start_file(part.name(), options)?;
        match rows.take_if(|_| part.name() == SHEET) {
            None => {
                io::copy(&mut part, &mut zip)?;
            }
            Some(rows) => {
                let mut xml = String::new();
                part.read_to_string(&mut xml)?;
                let (header, rest) = xml.split_once("</row>").ok_or(io::ErrorKind::InvalidData)?;
                let (samples, end) =
                    rest.split_once("</sheetData>").ok_or(io::ErrorKind::InvalidData)?;
                write!(zip, "{header}</row>")?;
                rows(&Samples { xml: samples }, &mut zip)?;
                write!(zip, "</sheetData>{end}")?;
            }
        }
    }
    Ok(zip.finish()?.bytes.into_inner())
}

/// The options of a part: the same at every time.
pub fn part_options() -> SimpleFileOptions {
    SimpleFileOptions::default()
        .compression_method(CompressionMethod::Deflated)
        .last_modified_time(zip::DateTime::default())
        .unix_permissions(0o644)
}

/// The sample cells of the number formats.
pub struct Samples<'x> {
    xml: &'x str,
}

impl Samples<'_> {
    /// The number of the style of a cell; 0 is the default.
    pub fn style(&self, row: u32, column: u16) -> u32 {
        let start = format!("<c r=\"{}\" s=\"", utility::row_col_to_cell(row, column));
        let number = self.xml.split_once(&start).and_then(|(_, rest)| rest.split_once('"'));
        number.and_then(|(number, _)| number.parse().ok()).unwrap_or(0)
    }
}

/// The XML of one row.
pub struct RowXml {
    columns: Vec<String>,
    row: u32,
    xml: String,
}

impl RowXml {
    /// A row with this number of columns.
    pub fn new(columns: usize) -> Self {
        let columns = (0..columns).map(|at| utility::column_number_to_name(at as u16)).collect();
        Self { columns, row: 0, xml: String::new() }
    }

    /// Begins the row with this index.
    pub fn begin(&mut self, row: u32) {
        self.row = row + 1;
        self.xml.clear();
        write!(self.xml, "<row r=\"{}\">", self.row).expect(IN_MEMORY);
    }

    pub fn boolean(&mut self, column: usize, truth: bool) {
        self.cell(column, format_args!(" t=\"b\"><v>{}</v>", u8::from(truth)));
    }

    pub fn number(&mut self, column: usize, value: f64, style: u32) {
        match style {
            0 => self.cell(column, format_args!("><v>{value}</v>")),
            _ => self.cell(column, format_args!(" s=\"{style}\"><v>{value}</v>")),
        }
    }

    /// A text without control characters.
    pub fn text(&mut self, column: usize, text: &str) {
        let is_padded = text.trim_matches([' ', '\t', '\n']).len() < text.len();
        let space = if is_padded { " xml:space=\"preserve\"" } else { "" };
        let text = cell_escapes::stored(text);
        let text = partial_escape(text.as_str());
        self.cell(column, format_args!(" t=\"inlineStr\"><is><t{space}>{text}</t></is>"));
    }

    /// A cell; `rest` is what follows its reference.
    fn cell(&mut self, column: usize, rest: fmt::Arguments<'_>) {
        let (name, row) = (&self.columns[column], self.row);
        write!(self.xml, "<c r=\"{name}{row}\"{rest}</c>").expect(IN_MEMORY);
    }

    /// The whole row.
    pub fn end(&mut self) -> &[u8] {
        self.xml.push_str("</row>");
        self.xml.as_bytes()
    }
}

/// Memory that takes at most this many bytes.
struct LimitedBuffer {
    bytes: Cursor<Vec<u8>>,
    max_bytes: usize,
}

impl Write for LimitedBuffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.bytes.position() + bytes.len() as u64 > self.max_bytes as u64 {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.bytes.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for LimitedBuffer {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.bytes.seek(to)
    }
}

#[cfg(test)]
mod tests {
    use rust_xlsxwriter::{Format, Workbook};

    use super::*;

    fn book() -> Vec<u8> {
        let mut book = Workbook::new();
        let sheet = book.add_worksheet();
        sheet.write_string(0, 0, "</row></sheetData>").unwrap();
        sheet.write_blank(1, 1, &Format::new().set_num_format("0.0")).unwrap();
        book.save_to_buffer().unwrap()
    }

    #[test]
    fn rows_replace_the_samples_and_have_their_styles() {
        let bytes = with_rows(book(), 1 << 20, |samples, sheet| {
            assert_eq!((samples.style(1, 0), samples.style(1, 1)), (0, 1));
            let mut row = RowXml::new(3);
            row.begin(1);
            row.text(0, " <a> & _x0041_ _x_");
            row.boolean(1, true);
            row.number(2, 1.5, samples.style(1, 1));
            sheet.write_all(row.end())
        });
        let mut package = ZipArchive::new(Cursor::new(bytes.unwrap())).unwrap();
        let mut xml = String::new();
        package.by_name(SHEET).unwrap().read_to_string(&mut xml).unwrap();
        let row = "</row><row r=\"2\"><c r=\"A2\" t=\"inlineStr\"><is><t xml:space=\"preserve\"> \
                   &lt;a&gt; &amp; _x005F_x0041_ _x_</t></is></c><c r=\"B2\" t=\"b\"><v>1</v></c>\
                   <c r=\"C2\" s=\"1\"><v>1.5</v></c></row></sheetData>";
        assert!(xml.contains(row), "{xml}");
        assert_eq!(xml.matches("<row ").count(), 2, "{xml}");
    }

    #[test]
    fn a_workbook_over_the_limit_is_not_written_to_its_end() {
        let limited = with_rows(book(), 20_000, |_, sheet| {
            for seed in 0..u64::MAX {
                let noise = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
                sheet.write_all(&noise.to_le_bytes())?;
            }
            Ok(())
        });
        assert_eq!(limited.unwrap_err().kind(), io::ErrorKind::FileTooLarge);
    }
}
