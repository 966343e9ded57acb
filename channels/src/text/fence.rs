//! The code fence or table header that a cut interrupts and that has to be repeated after it.

use std::ops::Range;

/// What a cut interrupts.
pub(super) enum Carry {
    /// The lines, without their line ends.
    Fence { opening: String, closing: String },
    /// The header row and the rule below it, each with its line end.
    Header(String),
}

/// What a cut of `text` at byte `at` interrupts.
pub(super) fn carry(text: &str, at: usize) -> Option<Carry> {
    if let Some(fence) = open_fence(&text[..at]) {
        let opening = format!("{}{}", fence.marker(), fence.language);
        return Some(Carry::Fence {
            opening,
            closing: format!("{}{}", fence.prefix, fence.marker()),
        });
    }
    table_header(text, at).map(Carry::Header)
}

/// Whether the text after `head` is code.
pub(super) fn in_fence(head: &str) -> bool {
    open_fence(head).is_some()
}

/// The lines that open or close code blocks, without their line ends.
pub(super) fn fence_lines(text: &str) -> Vec<Range<usize>> {
    lines(text).filter(|line| Fence::opened_by(&text[line.clone()]).is_some()).collect()
}

/// The code blocks, each from its opening to its closing line. The last one may be unclosed.
pub(super) fn code(text: &str) -> Vec<Range<usize>> {
    let (mut blocks, mut open) = (Vec::new(), None);
    for line in lines(text) {
        let shown = &text[line.clone()];
        open = match open {
            Some((start, fence)) if Fence::is_closed_by(&fence, shown) => {
                blocks.push(start..line.end);
                None
            }
            Some(open) => Some(open),
            None => Fence::opened_by(shown).map(|fence| (line.start, fence)),
        };
    }
    blocks.extend(open.map(|(start, _)| start..text.len()));
    blocks
}

fn lines(text: &str) -> impl Iterator<Item = Range<usize>> {
    let mut start = 0;
    text.split('\n').map(move |line| {
        let range = start..start + line.len();
        start = range.end + 1;
        range
    })
}

struct Fence {
    /// The text before the fence on its line: indentation and quote marks.
    prefix: String,
    mark: char,
    length: usize,
    language: String,
}

impl Fence {
    fn marker(&self) -> String {
        self.mark.to_string().repeat(self.length)
    }

    fn opened_by(line: &str) -> Option<Self> {
        let body = line.trim_start_matches([' ', '\t', '>']);
        let mark = body.chars().next().filter(|c| matches!(c, '`' | '~'))?;
        let language = body.trim_start_matches(mark);
        let length = body.len() - language.len();
        let valid = length >= 3 && !(mark == '`' && language.contains('`'));
        let prefix = line[..line.len() - body.len()].to_owned();
        valid.then(|| Self { prefix, mark, length, language: language.trim().to_owned() })
    }

    fn is_closed_by(&self, line: &str) -> bool {
        Self::opened_by(line).is_some_and(|other| {
            other.mark == self.mark && other.length >= self.length && other.language.is_empty()
        })
    }
}

fn open_fence(head: &str) -> Option<Fence> {
    let mut open: Option<Fence> = None;
    for line in head.lines() {
        open = match open {
            Some(fence) if fence.is_closed_by(line) => None,
            Some(fence) => Some(fence),
            None => Fence::opened_by(line),
        };
    }
    open
}

/// The header of the table that continues at `at`, the beginning of a line.
fn table_header(text: &str, at: usize) -> Option<String> {
    let (head, tail) = text.split_at(at);
    if !head.ends_with('\n') || !tail.lines().next()?.contains('|') {
        return None;
    }
    let block = &head[head.rfind("\n\n").map_or(0, |end| end + 2)..];
    let lines: Vec<&str> = block.lines().collect();
    let rule = (1..lines.len()).find(|i| is_rule(lines[*i]) && lines[i - 1].contains('|'))?;
    Some(format!("{}\n{}\n", lines[rule - 1], lines[rule]))
}

fn is_rule(line: &str) -> bool {
    line.contains("--") && line.chars().all(|c| matches!(c, ' ' | '\t' | '|' | '-' | ':'))
}
