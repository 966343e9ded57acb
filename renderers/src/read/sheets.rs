//! Excel: each sheet as a table. Cells are stored sparsely, so that a single cell far from the
//! others does not allocate all cells before it.

use calamine::{
    Data, DataRef, Reader as _, Sheets, Xlsx, open_workbook_auto_from_rs, open_workbook_from_rs,
};
use std::{collections::BTreeMap, fmt::Display, io::Cursor};

use super::{
    archive::Archive,
    asides, chart, limits,
    reading::{Kind, ReadError, Reading},
    words::Words,
    xml::{Node, walk},
};

/// The start of the headers and footers in a sheet part.
const EDGES: &[u8] = b"<headerFooter";

type Rows = BTreeMap<u32, BTreeMap<u32, String>>;

pub fn read(kind: Kind, bytes: &[u8]) -> Result<Reading, ReadError> {
    if kind != Kind::Xls {
        Archive::open(bytes)?.check_all()?;
    }
    let mut reading = Reading::of(kind, String::new());
    let mut words = Words::default();
    let mut put = |name: &str, rows: Result<Rows, ReadError>| -> Result<(), ReadError> {
        reading.pages += 1;
        words.heading(2, name);
        match rows {
            Ok(rows) => words.table(&table(&rows, &mut reading.warnings, name)),
            Err(too_large @ ReadError::TooLarge(_)) => Err(too_large),
            Err(problem) => {
                reading.warnings.push(format!("The sheet {name} could not be read. {problem}"));
                Ok(())
            }
        }
    };
    if kind == Kind::Xlsx {
        let mut book: Xlsx<_> = open_workbook_from_rs(Cursor::new(bytes)).map_err(damaged)?;
        for name in book.sheet_names() {
            put(&name, cells(&mut book, &name))?;
        }
    } else {
        let mut book = open_workbook_auto_from_rs(Cursor::new(bytes)).map_err(damaged)?;
        for name in book.sheet_names() {
            put(&name, range(&mut book, &name))?;
        }
    }
    if kind == Kind::Xlsx {
        let mut archive = Archive::open(bytes)?;
        chart::all(&mut archive, "xl/charts/", &mut words)?;
        asides::diagrams(&mut archive, "xl/", &mut words)?;
        asides::comments(&mut archive, "xl/", &mut words)?;
        words.edges(&edges(&mut archive)?);
    }
    reading.markdown = words.finish();
    Ok(reading)
}

/// Headers and footers of the sheets, each once.
fn edges(archive: &mut Archive) -> Result<Vec<String>, ReadError> {
    let mut texts = Vec::new();
    for part in archive.numbered("xl/worksheets/sheet") {
        let xml = archive.part(&part)?.unwrap_or_default();
        // They follow the cells, which need not be parsed again.
        let Some(from) = xml.windows(EDGES.len()).rposition(|bytes| bytes == EDGES) else {
            continue;
        };
        let mut codes = None;
        let _ = walk(&xml[from..], |node| {
            match node {
                Node::Open(element) => {
                    let name = element.name.as_str();
                    let is_edge = name.ends_with("Header") || name.ends_with("Footer");
                    codes = is_edge.then(String::new);
                }
                Node::Text(text) => codes.iter_mut().for_each(|codes| codes.push_str(text)),
                Node::Close(_) => {
                    let text = codes.take().map(|codes| edge(&codes)).unwrap_or_default();
                    if !text.is_empty() && !texts.contains(&text) {
                        texts.push(text);
                    }
                }
            }
            Ok(())
        });
    }
    Ok(texts)
}

/// Removes the formatting codes: `&L&"Arial,Bold"&12Report&RPage &P` becomes “Report Page #”.
fn edge(codes: &str) -> String {
    let mut text = String::new();
    let mut rest = codes;
    while let Some((before, code)) = rest.split_once('&') {
        text.push_str(before);
        let letter = code.chars().next();
        rest = match letter {
            Some('&') => {
                text.push('&');
                &code[1..]
            }
            Some('"') => code[1..].split_once('"').map_or("", |(_, rest)| rest),
            Some('L' | 'C' | 'R') => {
                text.push(' ');
                &code[1..]
            }
            Some('P' | 'N') => {
                text.push('#');
                &code[1..]
            }
            Some(digit) if digit.is_ascii_digit() => {
                code.trim_start_matches(|c: char| c.is_ascii_digit())
            }
            Some(letter) => &code[letter.len_utf8()..],
            None => "",
        };
    }
    text.push_str(rest);
    text.trim().to_owned()
}

fn cells(book: &mut Xlsx<Cursor<&[u8]>>, name: &str) -> Result<Rows, ReadError> {
    let mut reader = book.worksheet_cells_reader(name).map_err(damaged)?;
    let mut rows = Rows::new();
    let mut count = 0;
    while let Some(cell) = reader.next_cell().map_err(damaged)? {
        count += 1;
        limits::within(count, limits::CELLS as u64, "cells")?;
        let (row, column) = cell.get_position();
        let text = match cell.get_value() {
            DataRef::SharedString(text) => (*text).to_owned(),
            other => shown(&Data::from(other.clone())),
        };
        if !text.is_empty() {
            rows.entry(row).or_default().insert(column, text);
        }
    }
    Ok(rows)
}

fn range(book: &mut Sheets<Cursor<&[u8]>>, name: &str) -> Result<Rows, ReadError> {
    let range = book.worksheet_range(name).map_err(damaged)?;
    let mut rows = Rows::new();
    for (row, column, value) in range.used_cells() {
        rows.entry(row as u32).or_default().insert(column as u32, shown(value));
    }
    Ok(rows)
}

/// Skips rows without a value and columns before the first value.
fn table(rows: &Rows, warnings: &mut Vec<String>, name: &str) -> Vec<Vec<String>> {
    let columns = rows.values().flat_map(BTreeMap::keys);
    let first = columns.clone().min().copied().unwrap_or(0);
    let last = columns.max().copied().unwrap_or(0);
    let most = first + limits::COLUMNS as u32 - 1;
    if last > most {
        warnings.push(format!("Columns of the sheet {name} after the 256th were skipped."));
    }
    let line = |row: &BTreeMap<u32, String>| {
        let until = row.range(..=most).next_back().map_or(first, |(column, _)| *column);
        (first..=until).map(|column| row.get(&column).cloned().unwrap_or_default()).collect()
    };
    rows.values().map(line).collect()
}

pub(crate) fn shown(value: &Data) -> String {
    match value {
        Data::Empty => String::new(),
        Data::String(text) | Data::DateTimeIso(text) | Data::DurationIso(text) => text.clone(),
        Data::Bool(is) => is.to_string().to_uppercase(),
        Data::DateTime(moment) if moment.is_datetime() => {
            let (year, month, day, hour, minute, second, _) = moment.to_ymd_hms_milli();
            let date = format!("{year:04}-{month:02}-{day:02}");
            let time = format!("{hour:02}:{minute:02}:{second:02}");
            match (hour, minute, second) {
                // Serial numbers below one are times without a date.
                _ if moment.as_f64() < 1.0 => time,
                (0, 0, 0) => date,
                _ => format!("{date} {time}"),
            }
        }
        other => other.to_string(),
    }
}

fn damaged(error: impl Display) -> ReadError {
    ReadError::Damaged(format!("The workbook is damaged or protected: {error}."))
}
