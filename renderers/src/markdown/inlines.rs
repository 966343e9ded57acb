//! Converts the inlines of comrak.

use comrak::nodes::{Node, NodeValue};

use super::clean;
use super::html::{self, HtmlPiece};
use super::pictures;
use super::reader::Reader;
use super::tags::{Open, trimmed};
use crate::budgets::NESTING;
use crate::document::{Inline, Mark, plain_text};

/// A paragraph, or a formula between two paragraphs.
pub enum Cut {
    Text(Vec<Inline>),
    Math(String),
}

/// The inlines inside `node`, which is `depth` levels deep.
pub fn read<'a>(reader: &mut Reader<'a>, node: Node<'a>, depth: usize) -> Vec<Inline> {
    let mut open = Open::default();
    for child in node.children() {
        inline(reader, child, depth, &mut open);
    }
    let content = open.close_all(reader);
    pictures::settle(reader, content)
}

/// Like [`read`], split at display formulas.
pub fn read_cut<'a>(reader: &mut Reader<'a>, node: Node<'a>, depth: usize) -> Vec<Cut> {
    let mut cuts = Vec::new();
    let mut open = Open::default();
    for child in node.children() {
        match &child.data().value {
            NodeValue::Math(math) if math.display_math => {
                push(&mut cuts, std::mem::take(&mut open).close_all(reader));
                cuts.push(Cut::Math(clean::text(math.literal.trim())));
            }
            _ => inline(reader, child, depth, &mut open),
        }
    }
    push(&mut cuts, open.close_all(reader));
    for cut in &mut cuts {
        if let Cut::Text(content) = cut {
            *content = pictures::settle(reader, std::mem::take(content));
        }
    }
    cuts
}

fn push(cuts: &mut Vec<Cut>, content: Vec<Inline>) {
    let content = trimmed(content);
    if !content.is_empty() {
        cuts.push(Cut::Text(content));
    }
}

fn inline<'a>(reader: &mut Reader<'a>, node: Node<'a>, depth: usize, open: &mut Open) {
    if depth >= NESTING && node.first_child().is_some() {
        reader.losses.deep();
        open.extend(flat(node));
        return;
    }
    let read = match &node.data().value {
        NodeValue::Text(text) => Inline::Text(clean::text(text)),
        NodeValue::SoftBreak => Inline::SoftBreak,
        NodeValue::LineBreak => Inline::LineBreak,
        NodeValue::Code(code) => Inline::Code(clean::text(&code.literal)),
        NodeValue::Math(math) => Inline::Math(clean::text(math.literal.trim())),
        NodeValue::Emph => Inline::Emphasis(read(reader, node, depth + 1)),
        NodeValue::Strong => Inline::Strong(read(reader, node, depth + 1)),
        NodeValue::Strikethrough => Inline::Strike(read(reader, node, depth + 1)),
        NodeValue::Highlight => Inline::Marked(Mark::Highlighted, read(reader, node, depth + 1)),
        NodeValue::Link(link) => {
            let content = read(reader, node, depth + 1);
            if !link.url.contains(':') && is_in_formula(node) {
                open.push(Inline::Text("[".to_owned()));
                open.extend(content);
                return open.push(Inline::Text(format!("]({})", clean::line(&link.url))));
            }
            return match content.as_slice() {
                [Inline::Text(text)] if is_bare(&link.url, text) => {
                    push_bare(reader, &link.url, text, open);
                }
                _ => open.link(reader, &link.url, &link.title, content),
            };
        }
        NodeValue::Image(image) => Inline::Image {
            url: clean::line(&image.url),
            alt: alternative_text(reader, node, depth),
            title: clean::line(&image.title),
        },
        NodeValue::FootnoteReference(note) => match reader.note(&note.name) {
            Some(index) => Inline::Footnote(index),
            None => Inline::Text(format!("[{}]", clean::line(&note.name))),
        },
        NodeValue::HtmlInline(html) => return push_html(reader, html, depth, open),
        _ => {
            open.extend(read(reader, node, depth + 1));
            return;
        }
    };
    open.push(read);
}

/// The text in place of a picture. It has no footnotes, so those of it are added at the end.
fn alternative_text<'a>(reader: &mut Reader<'a>, picture: Node<'a>, depth: usize) -> String {
    let in_note = std::mem::replace(&mut reader.in_note, true);
    let content = read(reader, picture, depth + 1);
    reader.in_note = in_note;
    clean::line(&plain_text(&content))
}

/// Whether the node is in a cell that begins as a formula, where `[Red](0)` is a number format.
fn is_in_formula(node: Node<'_>) -> bool {
    let is_cell = |node: &Node<'_>| matches!(node.data().value, NodeValue::TableCell);
    let Some(cell) = node.ancestors().find(is_cell) else { return false };
    let Some(first) = cell.first_child() else { return false };
    match &first.data().value {
        NodeValue::Text(text) => text.trim_start().starts_with('='),
        _ => false,
    }
}

fn is_bare(url: &str, text: &str) -> bool {
    url.strip_prefix("http://").is_some_and(|rest| rest == text) || url == text
}

/// A bare URL; trailing characters that belong to the sentence become text again, except for URLs
/// in them.
fn push_bare(reader: &mut Reader, url: &str, text: &str, open: &mut Open) {
    let (mut url, mut text) = (url, text);
    loop {
        let (shown, rest) = text.split_at(clean::bare_link(text));
        let content = vec![Inline::Text(shown.to_owned())];
        open.link(reader, &url[..url.len() - rest.len()], "", content);
        let is_next =
            |at: &usize| ["https://", "http://"].iter().any(|start| rest[*at..].starts_with(start));
        let next = rest.match_indices("http").map(|(at, _)| at).find(is_next);
        let (between, further) = rest.split_at(next.unwrap_or(rest.len()));
        if !between.is_empty() {
            open.push(Inline::Text(between.to_owned()));
        }
        if further.is_empty() {
            return;
        }
        (url, text) = (further, further);
    }
}

fn push_html(reader: &mut Reader, html: &str, depth: usize, open: &mut Open) {
    match html::piece(html) {
        Some(HtmlPiece::Comment(comment)) => reader.comments.push(clean::text(comment)),
        Some(HtmlPiece::Text(text)) => open.push(Inline::Text(clean::text(&text))),
        Some(HtmlPiece::Tag(tag)) => open.tag(reader, &tag, depth),
        None => {}
    }
}

/// All text below `node`, without recursion and formatting.
pub fn flat(node: Node) -> Vec<Inline> {
    let mut content = Vec::new();
    for below in node.descendants() {
        let text = match &below.data().value {
            NodeValue::Text(text) => clean::text(text),
            NodeValue::Code(code) => clean::text(&code.literal),
            NodeValue::CodeBlock(code) => clean::text(&code.literal),
            NodeValue::Math(math) => clean::text(&math.literal),
            NodeValue::SoftBreak
            | NodeValue::LineBreak
            | NodeValue::Paragraph
            | NodeValue::TableCell => " ".to_owned(),
            _ => continue,
        };
        content.push(Inline::Text(text));
    }
    content
}
