//! What CommonMark would hide, shown: cells that their table has no column for, and all that follows
//! HTML which nobody closes.
//!
//! comrak finds them. A backslash before a bar makes it a letter of its cell, one before a `<` makes
//! it text; then the text is read again.

use std::borrow::Cow;
use std::ops::Range;

use comrak::nodes::{Node, NodeHtmlBlock, NodeValue};

use super::clean;
use super::losses::Losses;

/// How often a text is mended. What has been mended may show more; the rest of that stays as HTML.
const PASSES: usize = 4;
/// In longer rows no code is looked for.
const ROW_BYTES: usize = 16 * 1024;
/// How much of a row is named.
const NAMED: usize = 60;

/// A text, and what has been mended in it.
pub struct Mending<'s> {
    text: Cow<'s, str>,
    passes: usize,
    /// Rows with cells that became one.
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

    /// Mends what `root`, which was read from the text, shows to hide something; `false` where there
    /// is nothing of the kind.
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

    /// Where backslashes are wanting.
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

    /// The bars of a row that has too many: those in code and formulas, and those between the cells
    /// that are still too many.
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

    pub fn tell(&self, losses: &mut Losses) {
        if self.joined > 0 {
            losses.other(format!(
                "Rows with more cells than their table has columns: {}. What is over stands in their \
                 last cell, as in “{}”.",
                self.joined, self.first
            ));
        }
    }
}

/// How many columns the table of a row has.
fn columns(row: Node) -> usize {
    row.parent().map_or(0, |table| match &table.data().value {
        NodeValue::Table(table) => table.num_columns,
        _ => 0,
    })
}

/// Whether HTML goes on to the end of what it stands in because nobody closes it.
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

/// The bars that part the cells of a row, without one before the first.
fn bars(row: &str) -> Vec<usize> {
    let bars = row.match_indices('|').map(|(at, _)| at);
    bars.filter(|at| *at > 0 && row.as_bytes()[at - 1] != b'\\').collect()
}

/// Those of the bars that have cells behind them which the table has no column for.
fn over(row: &str, bars: &[usize], columns: usize) -> Vec<usize> {
    let end = row.trim_end_matches(['|', ' ', '\t']).len();
    let over = bars.iter().skip(columns.saturating_sub(1)).copied();
    over.filter(|bar| *bar < end).collect()
}

/// Where code and formulas stand.
fn spans(row: &str) -> Vec<Range<usize>> {
    let bytes = row.as_bytes();
    let (mut spans, mut at) = (Vec::new(), 0);
    while at < bytes.len() {
        let run = bytes[at..].iter().take_while(|byte| **byte == bytes[at]).count();
        match bytes[at] {
            b'\\' => at += 2,
            b'`' | b'$' => {
                let end = closing(bytes, at, run);
                spans.extend(end.map(|end| at..end));
                at = end.unwrap_or(at + run);
            }
            _ => at += 1,
        }
    }
    spans
}

/// Where the span ends that so many marks begin; a formula touches its marks, and no figure follows it.
fn closing(row: &[u8], begin: usize, marks: usize) -> Option<usize> {
    let mark = row[begin];
    let is_space = |at: usize| row.get(at).is_none_or(u8::is_ascii_whitespace);
    let mut at = begin + marks;
    if mark == b'$' && is_space(at) {
        return None;
    }
    while at < row.len() {
        let run = row[at..].iter().take_while(|byte| **byte == mark).count();
        let end = at + run;
        let is_formula = || !is_space(at - 1) && !row.get(end).is_some_and(u8::is_ascii_digit);
        if run == marks && (mark == b'`' || is_formula()) {
            return Some(end);
        }
        at += run.max(1);
    }
    None
}
