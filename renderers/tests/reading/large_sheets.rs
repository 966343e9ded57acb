//! Workbooks with more cells than are read: the first rows, and a note.

use renderers::read;

use super::{binary_package, package};

/// Cells of the tables below, which are more than are read.
const COLUMNS: u32 = 250;
const ROWS: u32 = 1_000;

/// Reads a workbook with a large sheet “Many” and a small one “Few”.
fn assert_first_rows(name: &str, file: &[u8]) {
    let read = read::to_markdown(name, file).unwrap_or_else(|error| panic!("{name}: {error}"));
    let (many, few) = read.markdown.split_once("## Few").expect("it has both sheets");
    let rows = many.lines().filter(|line| line.starts_with("| 7 ")).count();
    assert!((750..800).contains(&rows), "{name}: {rows}");
    assert!(few.contains("| 7 |"), "{name}: {few}");
    let said = "The sheet Many has 1000 rows and 250 columns; only the first";
    assert!(read.warnings.iter().any(|w| w.starts_with(said)), "{name}: {:?}", read.warnings);
    let unread = read.warnings.iter().filter(|w| w.starts_with("Number formats, links")).count();
    assert_eq!(unread, usize::from(name != "a.ods"), "{name}: {:?}", read.warnings);
}

#[test]
fn the_first_rows_of_a_large_ods_are_read() {
    let cells = "<table:table-cell><text:p>7</text:p></table:table-cell>";
    let row = format!("<table:table-row>{}</table:table-row>", cells.repeat(COLUMNS as usize));
    let content = format!(
        "<office:document-content xmlns:office='o' xmlns:text='t' xmlns:table='b'><office:body>\
         <table:table table:name='Many'>{}</table:table><table:table table:name='Few'>\
         <table:table-row>{cells}</table:table-row></table:table></office:body>\
         </office:document-content>",
        row.repeat(ROWS as usize)
    );
    let mimetype = "application/vnd.oasis.opendocument.spreadsheet";
    let file = package(&[("mimetype", mimetype), ("content.xml", &content)]);
    assert_first_rows("a.ods", &file);
}

/// A record of a binary part [MS-XLSB 2.1.4].
fn record(kind: u16, data: &[u8]) -> Vec<u8> {
    let number = |mut number: usize| {
        let mut bytes = Vec::new();
        while number >= 0x80 {
            bytes.push((number & 0x7f) as u8 | 0x80);
            number >>= 7;
        }
        bytes.push(number as u8);
        bytes
    };
    [number(usize::from(kind)), number(data.len()), data.to_vec()].concat()
}

fn wide(text: &str) -> Vec<u8> {
    let units: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    [&(units.len() as u32 / 2).to_le_bytes()[..], &units].concat()
}

fn numbers(numbers: &[u32]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

/// The number 7 as a whole number in 30 bits.
const SEVEN: u32 = 7 << 2 | 2;

#[test]
fn the_first_rows_of_a_large_xlsb_are_read() {
    let sheet = |rows: u32, columns: u32| {
        let mut part = record(0x81, &[]);
        part.extend(record(0x94, &numbers(&[0, rows - 1, 0, columns - 1])));
        part.extend(record(0x91, &[]));
        for row in 0..rows {
            part.extend(record(0, &numbers(&[row, 0, 0])));
            for column in 0..columns {
                part.extend(record(2, &numbers(&[column, 0, SEVEN])));
            }
        }
        part.extend(record(0x92, &[]));
        part.extend(record(0x82, &[]));
        part
    };
    let bundle = |id: u32, name: &str| {
        let data = [numbers(&[0, id]), wide(&format!("r{id}")), wide(name)].concat();
        record(0x9c, &data)
    };
    let book = [bundle(1, "Many"), bundle(2, "Few"), record(0x90, &[]), record(0x9d, &[0; 26])];
    let relations = "<Relationships><Relationship Id='r1' Target='worksheets/sheet1.bin'/>\
                     <Relationship Id='r2' Target='worksheets/sheet2.bin'/></Relationships>";
    let file = binary_package(&[
        ("xl/workbook.bin", &book.concat()),
        ("xl/_rels/workbook.bin.rels", relations.as_bytes()),
        ("xl/worksheets/sheet1.bin", &sheet(ROWS, COLUMNS)),
        ("xl/worksheets/sheet2.bin", &sheet(1, 1)),
    ]);
    assert_first_rows("a.xlsb", &file);
}

/// A record of a workbook [MS-XLS 2.1.4].
fn biff(kind: u16, data: &[u8]) -> Vec<u8> {
    [&kind.to_le_bytes()[..], &(data.len() as u16).to_le_bytes(), data].concat()
}

/// The workbook of a file from before 2007.
fn old_workbook() -> Vec<u8> {
    let begin = |kind: u8| biff(0x809, &[0, 6, kind, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    let sheet = |rows: u32, columns: u32| {
        let mut part = begin(0x10);
        let last = (columns as u16).to_le_bytes();
        part.extend(biff(0x200, &[&numbers(&[0, rows])[..], &[0, 0], &last, &[0, 0]].concat()));
        for row in 0..rows {
            let mut data = [(row as u16).to_le_bytes(), [0, 0]].concat();
            for _ in 0..columns {
                data.extend([0, 0]);
                data.extend(SEVEN.to_le_bytes());
            }
            data.extend((columns as u16 - 1).to_le_bytes());
            part.extend(biff(0xbd, &data));
        }
        part.extend(biff(0x0a, &[]));
        part
    };
    let sheets = [("Many", sheet(ROWS, COLUMNS)), ("Few", sheet(1, 1))];
    let head = begin(5).len() + biff(0x0a, &[]).len();
    let named = |name: &str| 4 + 8 + name.len();
    let mut at = head + sheets.iter().map(|(name, _)| named(name)).sum::<usize>();
    let mut book = begin(5);
    for (name, part) in &sheets {
        let data =
            [&numbers(&[at as u32])[..], &[0, 0, name.len() as u8, 0], name.as_bytes()].concat();
        book.extend(biff(0x85, &data));
        at += part.len();
    }
    book.extend(biff(0x0a, &[]));
    book.extend(sheets.into_iter().flat_map(|(_, part)| part));
    book
}

const SECTOR: usize = 512;
const END: u32 = 0xffff_fffe;
const FREE: u32 = 0xffff_ffff;

/// A compound file with one stream [MS-CFB].
fn compound_file(name: &str, stream: &[u8]) -> Vec<u8> {
    let sectors = stream.len().div_ceil(SECTOR);
    let tables = (sectors + 1).div_ceil(SECTOR / 4 - 1);
    let first = tables + 1;
    let mut file = vec![0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1, 0x1a, 0xe1];
    file.extend([0; 16]);
    file.extend([0x3e, 0, 3, 0, 0xfe, 0xff, 9, 0, 6, 0, 0, 0, 0, 0, 0, 0]);
    file.extend(numbers(&[0, tables as u32, tables as u32, 0, 4_096, END, 0, END, 0]));
    file.extend((0..109).flat_map(|at| if at < tables as u32 { at } else { FREE }.to_le_bytes()));
    let mut table = vec![0xffff_fffd; tables];
    table.push(END);
    table.extend(first as u32 + 1..(first + sectors) as u32);
    table.push(END);
    table.resize(tables * SECTOR / 4, FREE);
    file.extend(numbers(&table));
    let entry = |name: &str, kind: u8, child: u32, start: u32, size: usize| {
        let mut entry: Vec<u8> = name.encode_utf16().flat_map(u16::to_le_bytes).collect();
        entry.resize(64, 0);
        entry.extend((name.len() as u16 * 2 + 2).to_le_bytes());
        entry.extend([kind, 1]);
        entry.extend(numbers(&[FREE, FREE, child]));
        entry.extend([0; 36]);
        entry.extend(numbers(&[start, size as u32, 0]));
        entry
    };
    file.extend(entry("Root Entry", 5, 1, END, 0));
    file.extend(entry(name, 2, FREE, first as u32, stream.len()));
    file.resize((1 + first) * SECTOR, 0);
    file.extend(stream);
    file.resize((1 + first + sectors) * SECTOR, 0);
    file
}

#[test]
fn the_first_rows_of_a_large_xls_are_read() {
    assert_first_rows("a.xls", &compound_file("Workbook", &old_workbook()));
}
