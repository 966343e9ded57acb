//! Hidden rows and columns of a sheet.

/// The number of ranges that are named.
const NAMED: usize = 5;

/// A range of rows or columns, counted from one.
#[derive(Debug)]
struct HiddenRange {
    first: u32,
    last: u32,
}

/// The hidden rows and columns of a sheet.
#[derive(Debug, Default)]
pub struct HiddenParts {
    rows: Vec<HiddenRange>,
    columns: Vec<HiddenRange>,
}

impl HiddenParts {
    /// Adds rows after those that were added before.
    pub fn add_rows(&mut self, first: u32, last: u32) {
        add(&mut self.rows, first, last);
    }

    /// Adds columns after those that were added before.
    pub fn add_columns(&mut self, first: u32, last: u32) {
        add(&mut self.columns, first, last);
    }

    /// Sentences about the hidden rows and columns of a sheet of this size.
    pub fn notes(&self, height: u32, width: u32) -> Vec<String> {
        let rows = named(&self.rows, height, |row| row.to_string());
        let columns = named(&self.columns, width, letters);
        let sentence = |what: &str, named: Option<String>| {
            named.map(|named| format!("Hidden {what}: {named}."))
        };
        [sentence("rows", rows), sentence("columns", columns)].into_iter().flatten().collect()
    }
}

fn add(ranges: &mut Vec<HiddenRange>, first: u32, last: u32) {
    match ranges.last_mut() {
        Some(range) if range.last.saturating_add(1) == first => range.last = last,
        _ => ranges.push(HiddenRange { first, last }),
    }
}

/// The first ranges up to a row or column, and the number of the others.
fn named(ranges: &[HiddenRange], end: u32, name: fn(u32) -> String) -> Option<String> {
    let ranges = ranges.iter().filter(|range| range.first <= end);
    let more = ranges.clone().count().saturating_sub(NAMED);
    let more = if more > 0 { format!(" and {more} more ranges") } else { String::new() };
    let span = |range: &HiddenRange| {
        let (first, last) = (range.first, range.last.min(end));
        if first == last { name(last) } else { format!("{}–{}", name(first), name(last)) }
    };
    let named: Vec<String> = ranges.take(NAMED).map(span).collect();
    (!named.is_empty()).then(|| named.join(", ") + &more)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_joined_and_end_with_the_sheet() {
        let mut hidden = HiddenParts::default();
        for row in [2, 3, 7] {
            hidden.add_rows(row, row);
        }
        hidden.add_rows(9, 1_048_576);
        hidden.add_columns(27, 28);
        assert_eq!(hidden.notes(8, 40), ["Hidden rows: 2–3, 7.", "Hidden columns: AA–AB."]);
        assert_eq!(hidden.notes(12, 27), ["Hidden rows: 2–3, 7, 9–12.", "Hidden columns: AA."]);
        assert_eq!(hidden.notes(1, 1), Vec::<String>::new());
        for row in [20, 22, 24, 26] {
            hidden.add_rows(row, row);
        }
        let rows = "Hidden rows: 2–3, 7, 9–1048576, 20, 22 and 2 more ranges.";
        assert_eq!(hidden.notes(u32::MAX, 1), [rows]);
    }
}
