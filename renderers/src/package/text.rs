//! Inlines as plain text, and functions based on it: anchors, line joins, text direction.

use std::collections::HashMap;
use std::ops::Range;

use super::backdrop_words::backdrop_text;
use super::measure;
use crate::document::{Block, Inline, Merge, Table};

/// Deeper nesting is flattened to plain text.
pub const DEPTH: usize = 24;
/// Longer URLs are shown as text.
pub const LINK_LETTERS: usize = 2_000;

/// The text without formatting; a picture counts as its alternative text.
pub fn plain(inlines: &[Inline]) -> String {
    let mut text = String::new();
    collect(inlines, &mut text);
    text
}

fn collect(inlines: &[Inline], text: &mut String) {
    for (at, inline) in inlines.iter().enumerate() {
        match inline {
            Inline::Text(part) | Inline::Code(part) | Inline::Math(part) => text.push_str(part),
            Inline::Strong(parts)
            | Inline::Emphasis(parts)
            | Inline::Strike(parts)
            | Inline::Marked(_, parts)
            | Inline::Link { content: parts, .. } => collect(parts, text),
            Inline::Image { alt, .. } => text.push_str(alt),
            Inline::Footnote(_) => {}
            Inline::SoftBreak => text.push_str(joint(text, &inlines[at + 1..])),
            Inline::LineBreak => text.push('\n'),
        }
    }
}

/// The replacement for a line end of the source: a space, or nothing between ideographs.
pub fn joint(before: &str, after: &[Inline]) -> &'static str {
    let next = after.first().and_then(|inline| match inline {
        Inline::Text(text) => text.chars().next(),
        _ => None,
    });
    match (before.chars().next_back(), next) {
        (Some(one), Some(two)) if spaceless(one) && spaceless(two) => "",
        _ => " ",
    }
}

/// Wide scripts without spaces between words; Korean has them.
fn spaceless(letter: char) -> bool {
    measure::is_wide(letter) && !matches!(letter, '\u{1100}'..='\u{11FF}' | '\u{AC00}'..='\u{D7A3}')
}

/// Whether a block introduces the next one and has to stay on the same page.
pub fn announces(block: &Block) -> bool {
    let Block::Paragraph(content) = block else { return false };
    plain(content).trim_end().ends_with([':', '：'])
}

/// The text of a block that may be a caption: the title of a picture, or a paragraph. The entry of a
/// list of captions is a link with the same text.
pub fn caption_of(block: &Block) -> Option<String> {
    let Block::Paragraph(content) = block else { return None };
    match &content[..] {
        [Inline::Image { title, .. }] => Some(title.clone()),
        [Inline::Link { .. }] => None,
        content => Some(plain(content)),
    }
}

/// What a document says of a picture.
#[derive(Debug, Clone, Copy)]
pub struct PictureText<'a> {
    pub url: &'a str,
    pub alt: &'a str,
    /// The caption.
    pub title: &'a str,
}

/// The replacement for a picture that is not drawn: its alternative text or its URL, and its
/// caption.
pub fn named(url: &str, alt: &str, title: &str) -> String {
    let text = backdrop_text(alt);
    let alt = text.as_deref().unwrap_or(alt);
    let name = if alt.is_empty() { url } else { alt };
    if title.is_empty() || title == name { name.to_owned() } else { format!("{name} ({title})") }
}

/// A value without the quotation marks around it. Those of a word in it stay.
pub fn unquoted(value: &str) -> &str {
    let value = value.trim();
    let within = |mark: char| {
        let inside = value.strip_prefix(mark)?.strip_suffix(mark)?;
        // Marks are escaped as in YAML.
        let is_whole = !inside.replace("\\\"", "").replace("''", "").contains(mark);
        is_whole.then_some(inside)
    };
    ['"', '\''].into_iter().find_map(within).unwrap_or(value)
}

/// Whether a comment is a page break.
pub fn begins_page(comment: &str) -> bool {
    matches!(comment.trim(), "pagebreak" | "page-break" | "newpage")
}

/// The plain text of some blocks, one line for each; used for content that is nested too deeply.
pub fn flat(blocks: &[Block]) -> Vec<String> {
    let mut lines = Vec::new();
    let mut todo: Vec<&Block> = blocks.iter().rev().collect();
    while let Some(block) = todo.pop() {
        match block {
            Block::Heading { content, .. } | Block::Paragraph(content) => {
                lines.push(plain(content));
            }
            Block::Code { text, .. } | Block::Math(text) => lines.push(text.clone()),
            Block::List(list) => {
                todo.extend(list.items.iter().rev().flat_map(|item| item.blocks.iter().rev()));
            }
            Block::Quote { blocks, .. } => todo.extend(blocks.iter().rev()),
            Block::Definitions(terms) => {
                lines.extend(terms.iter().map(|item| plain(&item.term)));
                todo.extend(terms.iter().rev().flat_map(|item| item.description.iter().rev()));
            }
            Block::Table(table) => {
                lines.extend(
                    rows(table).map(|row| {
                        row.iter().map(|cell| plain(cell)).collect::<Vec<_>>().join(" | ")
                    }),
                );
            }
            Block::Columns(columns) => {
                todo.extend(columns.iter().rev().flat_map(|c| c.iter().rev()));
            }
            Block::Chart(chart) => lines.push(chart.description()),
            Block::Break | Block::Comment(_) => {}
        }
    }
    lines
}

/// The header, if it has cells, and the rows.
pub fn rows(table: &Table) -> impl Iterator<Item = &Vec<Vec<Inline>>> {
    Some(&table.header).filter(|header| !header.is_empty()).into_iter().chain(&table.rows)
}

/// The number of columns of the widest row.
pub fn columns(table: &Table) -> usize {
    rows(table).map(Vec::len).max().unwrap_or(0)
}

/// The merges in a part of a table, counted from its start; the header is row 0.
pub fn clipped(table: &Table, rows: Range<usize>, columns: Range<usize>) -> Vec<Merge> {
    let parts = table.merges.iter();
    parts.filter_map(|merge| merge.within(rows.clone(), columns.clone())).collect()
}

/// Splits inlines after about `letters` characters, at the end of a word; formatting is kept on
/// both sides.
pub fn cut(mut inlines: Vec<Inline>, letters: usize) -> (Vec<Inline>, Vec<Inline>) {
    let mut left = letters;
    let at = inlines.iter().position(|inline| {
        let length = plain(std::slice::from_ref(inline)).chars().count();
        let ends = length > left || left == 0;
        left -= length.min(if ends { 0 } else { left });
        ends
    });
    let mut tail = inlines.split_off(at.unwrap_or(inlines.len()));
    if left > 0
        && let Some(first) = tail.first().cloned()
    {
        let (one, two) = cut_one(first, left);
        inlines.extend(one);
        tail.splice(0..1, two);
    }
    (inlines, tail)
}

fn cut_one(inline: Inline, letters: usize) -> (Option<Inline>, Option<Inline>) {
    let both = |parts: Vec<Inline>, wrap: &dyn Fn(Vec<Inline>) -> Inline| {
        let (one, two) = cut(parts, letters);
        let some = |parts: Vec<Inline>| Some(parts).filter(|p| !p.is_empty()).map(wrap);
        (some(one), some(two))
    };
    let texts = |text: &str, wrap: &dyn Fn(String) -> Inline| {
        let end = text.char_indices().nth(letters).map_or(text.len(), |(at, _)| at);
        let word = text[..end].rfind(char::is_whitespace).filter(|at| *at > 0).unwrap_or(end);
        (Some(wrap(text[..word].to_owned())), Some(wrap(text[word..].trim_start().to_owned())))
    };
    match inline {
        Inline::Text(text) => texts(&text, &Inline::Text),
        Inline::Code(text) => texts(&text, &Inline::Code),
        Inline::Strong(parts) => both(parts, &Inline::Strong),
        Inline::Emphasis(parts) => both(parts, &Inline::Emphasis),
        Inline::Strike(parts) => both(parts, &Inline::Strike),
        Inline::Marked(mark, parts) => both(parts, &|parts| Inline::Marked(mark, parts)),
        Inline::Link { url, title, content } => both(content, &|content| Inline::Link {
            url: url.clone(),
            title: title.clone(),
            content,
        }),
        whole => (Some(whole), None),
    }
}

/// The anchor of a heading as on GitHub; a repeated one gets `-1`, `-2`, ….
pub fn slug(text: &str, seen: &mut HashMap<String, usize>) -> String {
    let mut slug = String::new();
    for letter in text.trim().chars().flat_map(char::to_lowercase) {
        match letter {
            ' ' => slug.push('-'),
            '-' | '_' => slug.push(letter),
            _ if letter.is_alphanumeric() => slug.push(letter),
            _ => {}
        }
    }
    let count = seen.entry(slug.clone()).and_modify(|n| *n += 1).or_insert(0);
    if *count == 0 { slug } else { format!("{slug}-{count}") }
}

/// Decodes the `%XX` escapes of an anchor.
pub fn unescape(anchor: &str) -> String {
    let bytes = anchor.as_bytes();
    let (mut plain, mut at) = (Vec::with_capacity(bytes.len()), 0);
    while at < bytes.len() {
        let escape = anchor.get(at + 1..at + 3).filter(|_| bytes[at] == b'%');
        match escape.and_then(|two| u8::from_str_radix(two, 16).ok()) {
            Some(byte) => (plain.push(byte), at += 3).0,
            None => (plain.push(bytes[at]), at += 1).0,
        }
    }
    String::from_utf8_lossy(&plain).into_owned()
}

/// Splits a text where its direction changes; `true` is right-to-left.
///
/// Spaces and punctuation between two pieces of the same direction take that direction, others that
/// of the paragraph (a simplified form of rules N1 and N2 of UAX 9).
pub fn directions(text: &str, base: bool) -> Vec<(&str, bool)> {
    let mut pieces: Vec<(&str, bool)> = Vec::new();
    let (mut start, mut current, mut neutral) = (0, None, None);
    for (at, letter) in text.char_indices() {
        let rtl = measure::is_rtl(letter);
        if !rtl && !letter.is_alphabetic() {
            neutral.get_or_insert(at);
            continue;
        }
        if current.is_some_and(|now| now != rtl) {
            let cut = if current == Some(base) { at } else { neutral.unwrap_or(at) };
            pieces.push((&text[start..cut], !rtl));
            start = cut;
        } else if current.is_none() && rtl != base && neutral.is_some() {
            pieces.push((&text[..at], base));
            start = at;
        }
        (current, neutral) = (Some(rtl), None);
    }
    let last = current.unwrap_or(base);
    match neutral.filter(|_| last != base && current.is_some()) {
        Some(cut) => pieces.extend([(&text[start..cut], last), (&text[cut..], base)]),
        None => pieces.push((&text[start..], last)),
    }
    pieces.retain(|(piece, _)| !piece.is_empty());
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_join_with_a_space_but_not_between_ideographs() {
        let text = |a: &str, b: &str| {
            plain(&[Inline::Text(a.into()), Inline::SoftBreak, Inline::Text(b.into())])
        };
        assert_eq!(text("one", "two"), "one two");
        assert_eq!(text("中文", "日本"), "中文日本");
        assert_eq!(text("한국", "어"), "한국 어");
    }

    #[test]
    fn anchors_are_githubs() {
        let mut seen = HashMap::new();
        assert_eq!(slug("Tables TBL-2001", &mut seen), "tables-tbl-2001");
        assert_eq!(slug("Ünï, 中文!", &mut seen), "ünï-中文");
        assert_eq!(slug("Tables TBL-2001", &mut seen), "tables-tbl-2001-1");
        assert_eq!(unescape("%C3%BCn%C3%AF%"), "ünï%");
    }

    #[test]
    fn only_quotation_marks_around_a_value_are_removed() {
        for (value, wanted) in [
            (" \"A: b\" ", "A: b"),
            ("'x'", "x"),
            ("The \"best\"", "The \"best\""),
            ("\"A\" and \"B\"", "\"A\" and \"B\""),
            ("Height of 6'", "Height of 6'"),
            ("\"", "\""),
            ("\"\"", ""),
        ] {
            assert_eq!(unquoted(value), wanted);
        }
    }

    #[test]
    fn a_text_is_cut_where_its_direction_changes() {
        assert_eq!(directions("abc", false), [("abc", false)]);
        let mixed = [("say ", false), ("שלום עולם", true), (" now", false)];
        assert_eq!(directions("say שלום עולם now", false), mixed);
        assert_eq!(
            directions("שלום. RTL-17", true),
            [("שלום. ", true), ("RTL", false), ("-17", true)]
        );
        assert_eq!(directions("…", true), [("…", true)]);
        assert_eq!(directions("", true), []);
    }

    #[test]
    fn a_cut_keeps_words_and_marks() {
        let text = |text: &str| Inline::Text(text.into());
        let (head, tail) = cut(vec![text("a "), Inline::Strong(vec![text("bold words here")])], 9);
        assert_eq!(head, [text("a "), Inline::Strong(vec![text("bold")])]);
        assert_eq!(tail, [Inline::Strong(vec![text("words here")])]);
        let (head, tail) = cut(vec![text(&"字".repeat(10))], 4);
        assert_eq!((plain(&head).chars().count(), plain(&tail).chars().count()), (4, 6));
    }
}
