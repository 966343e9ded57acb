//! Repairs content that CommonMark would drop: cells beyond the columns of their table, and text
//! after unclosed HTML.
//!
//! The problems are found in the tree of comrak. A backslash before a bar makes it part of its
//! cell, and one before a `<` makes it text; then the source is parsed again.

use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;

use comrak::nodes::{Node, NodeHtmlBlock, NodeValue};

use super::clean;
use super::losses::Losses;

/// The maximum number of repairs. A repair may uncover further problems; the remaining ones stay
/// HTML.
const PASSES: usize = 4;
/// Longer rows are not searched for code.
const ROW_BYTES: usize = 16 * 1024;
/// The length of a row in a warning.
const NAMED: usize = 60;

/// A text and its repairs.
pub struct Mending<'s> {
    text: Cow<'s, str>,
    passes: usize,
    /// Rows whose extra cells were merged.
    joined: usize,
    first: String,
}

impl<'s> Mending<'s> {
    pub fn of(text: &'s str) -> Self {
        Mending { text: Cow::Borrowed(text), passes: 0, joined: 0, first: String::new() }
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// Repairs the text that was parsed to `root`; `false` if there is nothing to repair.
    pub fn mends(&mut self, root: Node) -> bool {
        self.passes += 1;
        if self.passes > PASSES {
            return false;
        }
        let mut escapes = self.escapes(root);
        if escapes.is_empty() {
            return false;
        }
        escapes.sort_unstable();
        let mut mended = String::with_capacity(self.text.len() + escapes.len());
        let mut from = 0;
        for at in &escapes {
            mended.extend([&self.text[from..*at], "\\"]);
            from = *at;
        }
        mended.push_str(&self.text[from..]);
        self.text = mended.into();
        true
    }

    /// The positions where backslashes are needed.
    fn escapes(&mut self, root: Node) -> Vec<usize> {
        let text = self.text.clone();
        let begins = text.match_indices('\n').map(|(at, _)| at + 1);
        let lines: Vec<usize> = std::iter::once(0).chain(begins).collect();
        let mut escapes = Vec::new();
        for node in root.descendants() {
            let data = node.data();
            let start = data.sourcepos.start;
            let line = start.line.checked_sub(1).and_then(|line| lines.get(line));
            let at = line.map_or(text.len(), |line| line + start.column.saturating_sub(1));
            let Some(rest) = text.get(at..) else { continue };
            match &data.value {
                NodeValue::HtmlBlock(html) if is_open(html) => {
                    escapes.extend(rest.starts_with('<').then_some(at));
                }
                NodeValue::TableRow(false) => {
                    let row = rest.lines().next().unwrap_or_default();
                    let bars = self.row(row, columns(node));
                    escapes.extend(bars.into_iter().map(|bar| at + bar));
                }
                _ => {}
            }
        }
        escapes
    }

    /// The bars to escape in a row with too many cells: those in code and formulas, and those
    /// between surplus cells.
    fn row(&mut self, row: &str, columns: usize) -> Vec<usize> {
        let bars = bars(row);
        if over(row, &bars, columns).is_empty() {
            return Vec::new();
        }
        let spans = if row.len() > ROW_BYTES { Vec::new() } else { spans(row) };
        let is_inside = |bar: &usize| spans.iter().any(|span| span.contains(bar));
        let (mut escapes, between): (Vec<usize>, Vec<usize>) =
            bars.into_iter().partition(is_inside);
        let over = over(row, &between, columns);
        if !over.is_empty() {
            self.joined += 1;
            if self.first.is_empty() {
                self.first = clean::line(row).chars().take(NAMED).collect();
            }
        }
        escapes.extend(over);
        escapes
    }

    pub fn report(&self, losses: &mut Losses) {
        if self.joined > 0 {
            losses.other(format!(
                "Rows with more cells than their table has columns: {}. The surplus cells were merged into \
                 the last cell, as in “{}”.",
                self.joined, self.first
            ));
        }
    }
}

/// The number of columns of the row's table.
fn columns(row: Node) -> usize {
    row.parent().map_or(0, |table| match &table.data().value {
        NodeValue::Table(table) => table.num_columns,
        _ => 0,
    })
}

/// Whether unclosed HTML extends to the end of its container.
fn is_open(html: &NodeHtmlBlock) -> bool {
    let ends: &[&str] = match html.block_type {
        1 => &["</script>", "</pre>", "</style>", "</textarea>"],
        2 => &["-->"],
        3 => &["?>"],
        4 => &[">"],
        5 => &["]]>"],
        _ => return false,
    };
    let text = html.literal.to_ascii_lowercase();
    !ends.iter().any(|end| text.contains(end))
}

/// The bars that separate the cells of a row, except a leading one.
fn bars(row: &str) -> Vec<usize> {
    let bars = row.match_indices('|').map(|(at, _)| at);
    bars.filter(|at| *at > 0 && row.as_bytes()[at - 1] != b'\\').collect()
}

/// The bars before cells that have no column.
fn over(row: &str, bars: &[usize], columns: usize) -> Vec<usize> {
    let end = row.trim_end_matches(['|', ' ', '\t']).len();
    let over = bars.iter().skip(columns.saturating_sub(1)).copied();
    over.filter(|bar| *bar < end).collect()
}

/// The ranges of code and formulas.
fn spans(row: &str) -> Vec<Range<usize>> {
    let bytes = row.as_bytes();
    let (mut spans, mut at) = (Vec::new(), 0);
    // Marks that close nothing in the rest, so that they are not searched again.
    let mut absent = HashSet::new();
    while at < bytes.len() {
        let mark = bytes[at];
        if !matches!(mark, b'`' | b'$') {
            at += if mark == b'\\' { 2 } else { 1 };
            continue;
        }
        let run = bytes[at..].iter().take_while(|byte| **byte == mark).count();
        let mut end = None;
        if opens(bytes, at, run) && !absent.contains(&(mark, run)) {
            end = closing(bytes, at, run);
            if end.is_none() {
                absent.insert((mark, run));
            }
        }
        spans.extend(end.map(|end| at..end));
        at = end.unwrap_or(at + run);
    }
    spans
}

fn is_space(row: &[u8], at: usize) -> bool {
    row.get(at).is_none_or(u8::is_ascii_whitespace)
}

/// Whether a span may start with these marks. A formula touches its marks.
fn opens(row: &[u8], begin: usize, marks: usize) -> bool {
    row[begin] == b'`' || !is_space(row, begin + marks)
}

/// The end of a span that starts with `marks` marks. A formula touches its marks and is not
/// followed by a digit.
fn closing(row: &[u8], begin: usize, marks: usize) -> Option<usize> {
    let mark = row[begin];
    let mut at = begin + marks;
    while at < row.len() {
        let run = row[at..].iter().take_while(|byte| **byte == mark).count();
        let end = at + run;
        let is_formula = || !is_space(row, at - 1) && !row.get(end).is_some_and(u8::is_ascii_digit);
        if run == marks && (mark == b'`' || is_formula()) {
            return Some(end);
        }
        at += run.max(1);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_and_formulas_of_a_row_are_found() {
        for (row, wanted) in [
            ("| `a|b` | $c$ |", vec!["`a|b`", "$c$"]),
            ("| $ a$ | ``b` |", vec![]),
            ("| $5 | $6 $x$1 | $y$ |", vec!["$5 | $6 $x$1 | $y$"]),
            ("| `` ` | `b` |", vec!["` | `"]),
        ] {
            let found: Vec<&str> = spans(row).into_iter().map(|span| &row[span]).collect();
            assert_eq!(found, wanted, "{row}");
        }
    }

    /// If each mark were searched for its end, this would take many minutes instead of seconds.
    #[test]
    fn marks_without_an_end_are_read_once() {
        assert_eq!(spans(&"| $a `` ".repeat(200_000)).len(), 100_000);
        assert_eq!(spans(&"x".repeat(1_000_000)).len(), 0);
    }
}
