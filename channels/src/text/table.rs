//! Formats a table as lines of equal width, for a monospaced font.

use comrak::nodes::TableAlignment;

/// The first row is the header.
pub(super) fn align(rows: &[Vec<String>], alignments: &[TableAlignment]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns)
        .map(|column| {
            rows.iter().filter_map(|r| r.get(column)).map(|c| width(c)).max().unwrap_or(0)
        })
        .collect();
    let mut lines: Vec<String> = rows.iter().map(|row| line(row, &widths, alignments)).collect();
    if lines.len() > 1 {
        let rule: Vec<String> = widths.iter().map(|width| "-".repeat(*width)).collect();
        lines.insert(1, rule.join("-+-"));
    }
    lines.join("\n")
}

fn line(row: &[String], widths: &[usize], alignments: &[TableAlignment]) -> String {
    let cells: Vec<String> = widths
        .iter()
        .enumerate()
        .map(|(column, width)| {
            let text = row.get(column).map_or("", String::as_str).replace('\n', " ");
            pad(&text, *width, alignments.get(column))
        })
        .collect();
    cells.join(" | ").trim_end().to_owned()
}

fn pad(text: &str, to: usize, alignment: Option<&TableAlignment>) -> String {
    let missing = to.saturating_sub(width(text));
    let before = match alignment {
        Some(TableAlignment::Right) => missing,
        Some(TableAlignment::Center) => missing / 2,
        _ => 0,
    };
    format!("{}{text}{}", " ".repeat(before), " ".repeat(missing - before))
}

fn width(text: &str) -> usize {
    text.chars().count()
}
