//! Excel: each sheet as a table. Cells are stored sparsely, so that a single cell far from the
//! others does not allocate all cells before it.

use calamine::{Data, Reader as _, SheetVisible, Sheets, open_workbook_auto_from_rs};
use std::{collections::BTreeMap, fmt::Display, io::Cursor, ops::RangeInclusive};

use super::{
    archive::Archive,
    asides, chart, limits,
    reading::{Kind, ReadError, Reading},
    words::Words,
    workbook::{Rows, SheetCells, Workbook},
    xml::{XmlNode, walk},
};

/// The start of the headers and footers in a sheet part.
const EDGES: &[u8] = b"<headerFooter";

/// The minimum number of cells that are shown of each sheet of a large workbook.
const MIN_CELLS: usize = 500;
/// The number of ranges of hidden rows that are named.
const NAMED: usize = 5;

pub fn read(kind: Kind, bytes: &[u8]) -> Result<Reading, ReadError> {
    if kind == Kind::Xlsx {
        return xlsx(bytes);
    }
    if kind != Kind::Xls {
        Archive::open(bytes)?.check_all()?;
    }
    let mut reading = Reading::of(kind, String::new());
    let mut words = Words::default();
    let mut book = open_workbook_auto_from_rs(Cursor::new(bytes)).map_err(damaged)?;
    for sheet in book.sheets_metadata().to_vec() {
        reading.pages += 1;
        let is_hidden = sheet.visible != SheetVisible::Visible;
        words.heading(2, &title(&sheet.name, is_hidden));
        match range(&mut book, &sheet.name) {
            Ok(rows) => words.table(&table(&rows, &mut reading.warnings, &sheet.name))?,
            Err(too_large @ ReadError::TooLarge(_)) => return Err(too_large),
            Err(problem) => {
                let name = sheet.name;
                reading.warnings.push(format!("The sheet {name} could not be read. {problem}"));
            }
        }
    }
    reading.markdown = words.finish();
    Ok(reading)
}

/// The name of a sheet, with a mark if it is not shown.
pub fn title(name: &str, is_hidden: bool) -> String {
    if is_hidden { format!("{name} (hidden)") } else { name.to_owned() }
}

fn xlsx(bytes: &[u8]) -> Result<Reading, ReadError> {
    let mut archive = Archive::open(bytes)?;
    let book = Workbook::open(&mut archive)?;
    if book.sheets.is_empty() {
        return Err(damaged("it has no sheets"));
    }
    let mut reading = Reading::of(Kind::Xlsx, String::new());
    let mut words = Words::default();
    let mut left = limits::CELLS;
    let (mut uncalculated, mut sizes) = (0, Vec::new());
    for (at, sheet) in book.sheets.iter().enumerate() {
        reading.pages += 1;
        words.heading(2, &title(&sheet.name, sheet.is_hidden));
        let others = (book.sheets.len() - at - 1) * MIN_CELLS;
        let limit = left.saturating_sub(others).max(MIN_CELLS.min(left));
        let cells = match book.cells(&mut archive, sheet, limit) {
            Ok(cells) => cells,
            Err(too_large @ ReadError::TooLarge(_)) => return Err(too_large),
            Err(problem) => {
                let name = &sheet.name;
                reading.warnings.push(format!("The sheet {name} could not be read. {problem}"));
                continue;
            }
        };
        uncalculated += cells.uncalculated;
        let mut rows = table(&cells.rows, &mut reading.warnings, &sheet.name);
        // A table takes all cells up to its widest row.
        let columns = rows.iter().map(Vec::len).max().unwrap_or(0).max(1);
        rows.truncate(left / columns);
        left -= rows.len() * columns;
        sizes.extend(size(&sheet.name, &cells, rows.len()));
        words.table(&rows)?;
        for note in hidden(&cells) {
            words.paragraph(&note);
        }
    }
    reading.warnings.extend(sizes);
    if uncalculated > 0 {
        reading.warnings.push(format!(
            "{uncalculated} formulas have no calculated value and are shown as formulas."
        ));
    }
    chart::all(&mut archive, "xl/charts/", &mut words)?;
    asides::diagrams(&mut archive, "xl/", &mut words)?;
    asides::comments(&mut archive, "xl/", &mut words)?;
    words.edges(&edges(&mut archive)?);
    reading.markdown = words.finish();
    Ok(reading)
}

/// A warning about a sheet of which only some rows are shown.
fn size(name: &str, cells: &SheetCells, shown: usize) -> Option<String> {
    let is_whole = !cells.is_cut && shown == cells.rows.len();
    (!is_whole).then(|| {
        format!(
            "The sheet {name} has {} rows and {} columns; only the first {shown} rows with values \
             are shown.",
            cells.height, cells.width
        )
    })
}

/// Sentences about hidden rows and columns.
fn hidden(cells: &SheetCells) -> Vec<String> {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    let last = cells.rows.last_key_value().map_or(0, |(row, _)| row + 1);
    for row in cells.hidden_rows.iter().filter(|row| **row <= last) {
        match ranges.last_mut() {
            Some((_, end)) if *end + 1 == *row => *end = *row,
            _ => ranges.push((*row, *row)),
        }
    }
    let rows: Vec<String> =
        ranges.iter().map(|(from, to)| span(*from..=*to, |n| n.to_string())).collect();
    let columns = cells.hidden_columns.iter().filter(|(from, _)| *from <= cells.width);
    let columns: Vec<String> =
        columns.map(|(from, to)| span(*from..=(*to).min(cells.width), letters)).collect();
    let sentence = |what: &str, all: Vec<String>| {
        let more = all.len().saturating_sub(NAMED);
        let more = if more > 0 { format!(" and {more} more ranges") } else { String::new() };
        (!all.is_empty())
            .then(|| format!("Hidden {what}: {}{more}.", all[..all.len().min(NAMED)].join(", ")))
    };
    [sentence("rows", rows), sentence("columns", columns)].into_iter().flatten().collect()
}

fn span(range: RangeInclusive<u32>, name: fn(u32) -> String) -> String {
    let (from, to) = range.into_inner();
    if from == to { name(from) } else { format!("{}–{}", name(from), name(to)) }
}

/// The letters of a column, counted from one.
fn letters(column: u32) -> String {
    let (mut letters, mut rest) = (Vec::new(), column);
    while rest > 0 {
        letters.push(char::from(b'A' + ((rest - 1) % 26) as u8));
        rest = (rest - 1) / 26;
    }
    letters.into_iter().rev().collect()
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
                XmlNode::Open(element) => {
                    let name = element.name.as_str();
                    let is_edge = name.ends_with("Header") || name.ends_with("Footer");
                    codes = is_edge.then(String::new);
                }
                XmlNode::Text(text) => codes.iter_mut().for_each(|codes| codes.push_str(text)),
                XmlNode::Close(_) => {
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
    let limit = first + limits::COLUMNS as u32 - 1;
    if last > limit {
        warnings.push(format!("Columns of the sheet {name} after the 256th were skipped."));
    }
    let line = |row: &BTreeMap<u32, String>| {
        let until = row.range(..=limit).next_back().map_or(first, |(column, _)| *column);
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
